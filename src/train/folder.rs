//! The folder of a run: who may write into it, and what is cleaned up before it goes on.

use crate::error::{Context, Result, bail};
use crate::report::Metrics;
use std::fs;
use std::path::Path;

/// Refuses a folder that holds something else, and keeps a second training out of a run that is going on: the lock is
/// held as long as the returned file is.
///
/// # Errors
/// If the folder cannot be made, is not empty (unless `resume`), or another training works in it.
pub fn claim(out: &Path, resume: bool) -> Result<fs::File> {
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let lock_path = out.join("lock");
    let lock = fs::File::options().create(true).truncate(false).write(true).open(&lock_path);
    let lock = lock.with_context(|| format!("cannot write {}", lock_path.display()))?;
    match lock.try_lock() {
        Err(fs::TryLockError::WouldBlock) => {
            bail!("another training is at work in {}: wait for it, or choose another `out`", out.display())
        }
        // Some file systems have no locks: then nobody looks after us.
        Err(fs::TryLockError::Error(_)) | Ok(()) => {}
    }
    let mut others = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?.flatten();
    if let Some(other) = others.find(|entry| entry.file_name() != "lock").filter(|_| !resume) {
        bail!(
            "{} is not empty (it holds {}): `resume` goes on with the run in it, another `out` starts a new one",
            out.display(),
            other.file_name().to_string_lossy()
        );
    }
    Ok(lock)
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
    if kept == text { Ok(()) } else { crate::files::write_whole(path, kept.as_bytes()) }
}
