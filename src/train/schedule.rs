//! Schedules of the learning rate.

use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Schedule of the learning rate, after a linear warm-up over the first 2 % of the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// Half a cosine to 0 (Loshchilov and Hutter 2017).
    #[default]
    Cosine,
    /// A straight line to 0.
    Linear,
    /// Warmup-stable-decay: constant, then a straight line to 0 over the last fifth (Hu et al. 2024).
    Wsd,
    /// No decay.
    Constant,
}

impl Schedule {
    /// The learning rate after a share of the samples, or of the time.
    ///
    /// It depends on nothing else: a run that is resumed with more samples takes up the longer schedule at that place.
    /// The rate steps up to it at once (not with `constant`, nor with `wsd` before its decay), then falls to 0 at the new
    /// end.
    pub fn learning_rate(self, peak: f64, progress: f64) -> f64 {
        /// Share of the run in which the learning rate rises.
        const WARM_UP: f64 = 0.02;
        /// Share of the run in which the rate of [`Schedule::Wsd`] decays.
        const DECAY: f64 = 0.2;
        let progress = progress.min(1.0);
        let decayed = match self {
            Schedule::Cosine => 0.5 * (1.0 + (PI * progress).cos()),
            Schedule::Linear => 1.0 - progress,
            Schedule::Wsd => ((1.0 - progress) / DECAY).min(1.0),
            Schedule::Constant => 1.0,
        };
        peak * (progress / WARM_UP).min(1.0) * decayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULES: [Schedule; 4] = [Schedule::Cosine, Schedule::Linear, Schedule::Wsd, Schedule::Constant];

    #[test]
    fn the_rate_rises_and_where_it_falls_it_ends_at_zero() {
        let rate = |schedule: Schedule, seen| schedule.learning_rate(1.0, f64::from(seen) / 1000.0);
        for schedule in SCHEDULES {
            assert_eq!(rate(schedule, 0), 0.0);
            assert!((rate(schedule, 10) - 0.5 * rate(schedule, 20)).abs() < 2e-2);
            assert!((rate(schedule, 20) - 1.0).abs() < 3e-2, "{schedule:?}");
            let end = if schedule == Schedule::Constant { 1.0 } else { 0.0 };
            assert!((rate(schedule, 1000) - end).abs() < 1e-9, "{schedule:?}");
        }
        let half_way = SCHEDULES.map(|schedule| rate(schedule, 500));
        half_way
            .into_iter()
            .zip([0.5, 0.5, 1.0, 1.0])
            .for_each(|(rate, expected)| assert!((rate - expected).abs() < 1e-9));
        assert!((rate(Schedule::Wsd, 900) - 0.5).abs() < 1e-9);
        assert!(Schedule::Cosine.learning_rate(1.0, 0.5) > 0.49, "more samples raise the rate again");
    }
}
