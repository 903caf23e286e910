//! The folder of a training run, which `train` writes and others read: metrics, checkpoints, snapshots.

use crate::error::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Metrics of the run, as JSON lines.
pub const METRICS: &str = "metrics.jsonl";

/// Folder of the models that are kept, by samples.
pub const SNAPSHOTS: &str = "snapshots";

/// Beginning of the name of a checkpoint's folder; the number of samples follows.
pub const CHECKPOINT: &str = "checkpoint-";

/// The model for solving, in a checkpoint's folder.
pub const MODEL: &str = "model";

/// The checkpoints of a run, oldest first.
///
/// # Errors
/// If the folder cannot be read.
pub fn checkpoints(run: &Path) -> Result<Vec<PathBuf>> {
    let samples = |path: &Path| path.file_name()?.to_str()?.strip_prefix(CHECKPOINT)?.parse::<u64>().ok();
    let mut found: Vec<(u64, PathBuf)> =
        entries(run)?.into_iter().filter_map(|path| Some((samples(&path)?, path))).collect();
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// The newest checkpoint of a run, if it has one.
///
/// # Errors
/// If the folder cannot be read.
pub fn newest_checkpoint(run: &Path) -> Result<Option<PathBuf>> {
    Ok(checkpoints(run)?.pop())
}

/// The paths in a folder; none if there is no such folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    if folder.is_dir() { read().with_context(|| format!("cannot read {}", folder.display())) } else { Ok(Vec::new()) }
}
