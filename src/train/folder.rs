//! The folder of a run: who may write into it, and what is cleaned up before it goes on.

use super::{METRICS, checkpoint};
use crate::error::{Context, Result, bail};
use crate::files::{try_lock, write_whole};
use crate::report::Metrics;
use std::fs;
use std::path::{Path, PathBuf};

/// The file that keeps a second training out.
const LOCK: &str = "lock";

/// How TensorBoard has files of events begin.
const EVENTS: &str = "events.out.tfevents.";

/// Refuses a folder that holds something and no run; nothing is written there.
///
/// # Errors
/// If there is something that no run leaves before its first checkpoint: names it.
pub(super) fn check(out: &Path) -> Result<()> {
    if checkpoint::newest(out)?.is_some() {
        return Ok(());
    }
    if let Some(other) = checkpoint::entries(out)?.iter().find(|path| !is_of_unsaved_run(path)) {
        bail!(
            "{} is not empty (it holds {}), and no run is in it: expected a run's folder, or an empty one, as `out`",
            out.display(),
            other.file_name().unwrap_or_default().to_string_lossy()
        );
    }
    Ok(())
}

/// Whether a run leaves this that has not saved yet: its lock, its metrics, half a checkpoint, events for TensorBoard.
fn is_of_unsaved_run(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_metrics = name.strip_suffix(".tmp").unwrap_or(&name) == METRICS;
    name == LOCK || is_metrics || checkpoint::is_half_written(path) || is_events(path)
}

/// Whether this is a file of events, or a folder of nothing else, which may be empty.
fn is_events(path: &Path) -> bool {
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let inside = checkpoint::entries(path).unwrap_or_default();
        return inside.iter().all(|path| is_events(path));
    }
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(EVENTS))
}

/// Refuses a folder that holds something else, and keeps a second training out of a run that is going on: the lock is
/// held as long as the returned file is.
///
/// # Errors
/// If the folder cannot be made, holds something and no run, or a run (unless `resume`), or if another training works
/// in it.
pub fn claim(out: &Path, resume: bool) -> Result<fs::File> {
    check(out)?;
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let lock_path = out.join(LOCK);
    let lock = fs::File::options().create(true).truncate(false).write(true).open(&lock_path);
    let lock = lock.with_context(|| format!("cannot write {}", lock_path.display()))?;
    if !try_lock(&lock) {
        bail!("another training is at work in {}: wait for it, or choose another `out`", out.display());
    }
    let mut others = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?.flatten();
    if let Some(other) = others.find(|entry| entry.file_name() != LOCK).filter(|_| !resume) {
        bail!(
            "{} is not empty (it holds {}): `resume` goes on with the run in it, another `out` starts a new one",
            out.display(),
            other.file_name().to_string_lossy()
        );
    }
    Ok(lock)
}

/// How a run keeps the name of a folder: as seen from its own where it is in there, for that may be moved. `None` where
/// the name is not text, which a checkpoint cannot hold.
pub(super) fn seen_from(out: &Path, folder: &Path) -> Option<PathBuf> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute(folder);
    let seen = folder.strip_prefix(absolute(out)).unwrap_or(&folder);
    seen.to_str().map(PathBuf::from)
}

/// Takes the lines past a checkpoint off the metrics, for they will be written again, and those that are torn.
pub(super) fn cut_metrics(path: &Path, samples: u64) -> Result<()> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let text = String::from_utf8_lossy(&text);
    let known = |line: &&str| serde_json::from_str::<Metrics>(line).is_ok_and(|line| line.samples <= samples);
    let kept: String = text.lines().filter(known).flat_map(|line| [line, "\n"]).collect();
    if kept == text { Ok(()) } else { write_whole(path, kept.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_unsaved_run_leaves_is_taken_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("run");
        check(&out).expect("a new folder");
        let half = out.join("checkpoint-000000000000640.tmp/model");
        for made in [&half, &out.join("board")] {
            fs::create_dir_all(made).expect("a folder");
        }
        for file in ["lock", METRICS, "metrics.jsonl.tmp", "events.out.tfevents.1.a", "board/events.out.tfevents.2.a"] {
            fs::write(out.join(file), "").expect("a file");
        }
        check(&out).expect("a run that has not saved yet");
        for other in ["config.json", "board/notes.txt"] {
            fs::write(out.join(other), "").expect("a file");
            let refusal = check(&out).expect_err("no run leaves this").to_string();
            let named = other.split('/').next().expect("a name");
            assert!(refusal.contains(named) && refusal.contains("`out`"), "{refusal}");
            fs::remove_file(out.join(other)).expect("it is there");
        }
        fs::write(out.join("notes.txt"), "").expect("a file");
        fs::create_dir(out.join("checkpoint-000000000000640")).expect("a folder");
        check(&out).expect("a run, and notes beside it");
    }

    #[test]
    fn a_folder_in_the_runs_own_is_kept_as_seen_from_there() {
        let seen = |out: &str, folder: &str| seen_from(Path::new(out), Path::new(folder)).expect("text");
        assert_eq!(seen("runs/a", "runs/a/board"), Path::new("board"));
        assert_eq!(seen("/runs/a", "/boards/a"), Path::new("/boards/a"));
        let beside = seen("runs/a", "boards");
        assert!(beside.is_absolute() && beside.ends_with("boards"), "{}", beside.display());
    }
}
