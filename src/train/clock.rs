//! Time of a run, and when metrics and checkpoints are due.

use super::checkpoint::Position;
use crate::quantity::Interval;
use std::time::Instant;

/// Time of a run since it was opened, and when it last reported and saved.
pub(super) struct Clock {
    started: Instant,
    /// Seconds of training before that.
    before: f64,
    pub(super) reported: Instant,
    reported_samples: u64,
    saved: Instant,
    pub(super) saved_samples: u64,
}

impl Clock {
    /// The clock of a run that was opened at some time: what comes before the first step counts as well.
    pub(super) fn start(position: &Position, opened: Instant) -> Self {
        let (now, samples) = (Instant::now(), position.samples);
        Clock {
            started: opened,
            before: position.seconds,
            reported: now,
            reported_samples: samples,
            saved: now,
            saved_samples: samples,
        }
    }

    /// Seconds of training, over all resumed parts.
    pub(super) fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }

    /// Samples a second since the last call.
    pub(super) fn rate(&mut self, samples: u64) -> f64 {
        let rate = (samples - self.reported_samples) as f64 / self.reported.elapsed().as_secs_f64().max(1e-9);
        (self.reported, self.reported_samples) = (Instant::now(), samples);
        rate
    }

    pub(super) fn checkpoint_due(&self, every: Interval, samples: u64) -> bool {
        match every {
            Interval::Time(time) => self.saved.elapsed() >= time,
            Interval::Samples(count) => samples - self.saved_samples >= count,
        }
    }

    pub(super) fn saved(&mut self, samples: u64) {
        (self.saved, self.saved_samples) = (Instant::now(), samples);
    }
}
