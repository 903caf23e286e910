//! The folder of a run: which process may write into it, and what is cleaned up before it is resumed.

use super::checkpoint::is_half_written;
use crate::error::{Context, Result, bail, ensure};
use crate::files::{read_if_there, try_lock, write_whole};
use crate::report::Metrics;
use crate::report::run_folder::{METRICS, entries, newest_checkpoint};
use std::fs;
use std::path::{Path, PathBuf};

/// File that keeps a second training out.
const LOCK: &str = "lock";

/// Beginning of the names of TensorBoard's files of events.
const EVENTS: &str = "events.out.tfevents.";

/// Refuses a folder that holds something other than a run; nothing is written there.
///
/// # Errors
/// Names a file that no run leaves before its first checkpoint.
pub(super) fn check(out: &Path) -> Result<()> {
    if newest_checkpoint(out)?.is_some() {
        return Ok(());
    }
    if let Some(other) = entries(out)?.iter().find(|path| !is_of_unsaved_run(path)) {
        bail!(
            "{} is not empty (it holds {}), and no run is in it: expected a run's folder, or an empty one, as `out`",
            out.display(),
            other.file_name().unwrap_or_default().to_string_lossy()
        );
    }
    Ok(())
}

/// Whether a run without a checkpoint leaves this: its lock, its metrics, half a checkpoint, events for TensorBoard.
fn is_of_unsaved_run(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_metrics = name.strip_suffix(".tmp").unwrap_or(&name) == METRICS;
    name == LOCK || is_metrics || is_half_written(path) || is_events(path)
}

/// Whether this is a file of events, or a folder of nothing else (or empty).
fn is_events(path: &Path) -> bool {
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let inside = entries(path).unwrap_or_default();
        return inside.iter().all(|path| is_events(path));
    }
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(EVENTS))
}

/// Locks a run's folder against a second training, for as long as the returned file is open.
///
/// # Errors
/// If the folder cannot be made, holds something other than a run, or a run (unless `resume`), or if another training
/// works in it.
pub fn claim(out: &Path, resume: bool) -> Result<fs::File> {
    check(out)?;
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let lock_path = out.join(LOCK);
    let lock = fs::File::options().create(true).truncate(false).write(true).open(&lock_path);
    let lock = lock.with_context(|| format!("cannot write {}", lock_path.display()))?;
    ensure!(try_lock(&lock), "another training is at work in {}: wait for it, or choose another `out`", out.display());
    let mut others = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?.flatten();
    if let Some(other) = others.find(|entry| entry.file_name() != LOCK).filter(|_| !resume) {
        bail!(
            "{} is not empty (it holds {}): `resume` continues the run in it, another `out` starts a new one",
            out.display(),
            other.file_name().to_string_lossy()
        );
    }
    Ok(lock)
}

/// The path of a folder as a checkpoint stores it: relative to the run's folder if it is inside, since that may be
/// moved. `None` if the path is not UTF-8, which JSON cannot hold.
pub(super) fn relative_to(out: &Path, folder: &Path) -> Option<PathBuf> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute(folder);
    folder.strip_prefix(absolute(out)).unwrap_or(&folder).to_str().map(PathBuf::from)
}

/// Removes the lines past a checkpoint from the metrics, since they will be written again, and torn lines.
pub(super) fn cut_metrics(path: &Path, samples: u64) -> Result<()> {
    let Some(text) = read_if_there(path)? else { return Ok(()) };
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
        let seen = |out: &str, folder: &str| relative_to(Path::new(out), Path::new(folder)).expect("text");
        assert_eq!(seen("runs/a", "runs/a/board"), Path::new("board"));
        assert_eq!(seen("/runs/a", "/boards/a"), Path::new("/boards/a"));
        let beside = seen("runs/a", "boards");
        assert!(beside.is_absolute() && beside.ends_with("boards"), "{}", beside.display());
    }
}
