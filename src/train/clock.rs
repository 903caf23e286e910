//! Time of a run, and when metrics and checkpoints are due.

use super::checkpoint::RunPosition;
use crate::quantity::Interval;
use std::time::Instant;

/// A moment of a run, and the samples seen by then.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) time: Instant,
    pub(super) samples: u64,
}

/// Time of a run since it was opened, and when it last reported and saved.
pub(super) struct Clock {
    started: Instant,
    /// Seconds of training before that.
    before: f64,
    pub(super) reported: Moment,
    /// The last attempt to save a checkpoint.
    tried: Moment,
    /// The samples of the last checkpoint that was written.
    pub(super) saved: u64,
}

impl Clock {
    /// The clock of a run that was opened at some time: what comes before the first step counts as well.
    pub(super) fn start(position: &RunPosition, opened: Instant) -> Self {
        let now = Moment { time: Instant::now(), samples: position.samples };
        Clock { started: opened, before: position.seconds, reported: now, tried: now, saved: now.samples }
    }

    /// Seconds of training, over all resumed parts.
    pub(super) fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }

    /// Samples a second since the last call.
    pub(super) fn rate(&mut self, samples: u64) -> f64 {
        let seconds = self.reported.time.elapsed().as_secs_f64().max(1e-9);
        let before = std::mem::replace(&mut self.reported, Moment { time: Instant::now(), samples });
        (samples - before.samples) as f64 / seconds
    }

    pub(super) fn checkpoint_due(&self, every: Interval, samples: u64) -> bool {
        match every {
            Interval::Time(time) => self.tried.time.elapsed() >= time,
            Interval::Samples(count) => samples - self.tried.samples >= count,
        }
    }

    /// Counts the time or samples to the next checkpoint from now.
    pub(super) fn tried(&mut self, samples: u64) {
        self.tried = Moment { time: Instant::now(), samples };
    }
}
