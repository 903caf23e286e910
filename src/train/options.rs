//! What may change when a run is resumed.

use super::checkpoint::Position;
use super::folder;
use crate::quantity::Interval;
use std::path::PathBuf;

/// What may change when a run is resumed. The run keeps it: what is left out then is as it was last asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// The run's folder.
    pub out: PathBuf,
    /// Samples in all; `None`: those of the run, or [`DEFAULT_STEPS`](super::DEFAULT_STEPS).
    pub steps: Option<u64>,
    /// Whether the run in that folder goes on, if there is one.
    pub resume: bool,
    /// How often the run is saved; `None`: as the run was, or every ten minutes.
    pub checkpoint_every: Option<Interval>,
    /// Keep a copy of the model whenever so many more samples are seen, 0 for never; `None`: as the run did, or never.
    pub snapshot_every: Option<u64>,
    /// The folder that metrics go to for TensorBoard; `None`: that of the run, if it has one. Whoever watches the run
    /// writes them ([`Training::tensorboard`](super::Training::tensorboard)).
    pub tensorboard: Option<PathBuf>,
}

impl RunOptions {
    /// A new run in a folder, saved every ten minutes.
    pub fn new(out: impl Into<PathBuf>) -> Self {
        RunOptions {
            out: out.into(),
            steps: None,
            resume: false,
            checkpoint_every: None,
            snapshot_every: None,
            tensorboard: None,
        }
    }

    /// A position with what is asked for in place of what it has.
    pub(super) fn applied(&self, mut position: Position) -> Position {
        position.steps = self.steps.unwrap_or(position.steps);
        position.checkpoint_every = self.checkpoint_every.unwrap_or(position.checkpoint_every);
        position.snapshot_every = self.snapshot_every.or(position.snapshot_every).filter(|&every| every > 0);
        if let Some(folder) = &self.tensorboard {
            position.tensorboard = folder::seen_from(&self.out, folder);
        }
        position
    }
}
