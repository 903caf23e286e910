//! What a run was begun with, and the schedule of its learning rate.

use crate::neural::network::NetworkConfig;
use crate::neural::precision::Precision;
use crate::sampler::Labels;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

/// What makes a run what it is: fixed at its start, kept in its checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The puzzle's name.
    pub puzzle: String,
    /// The network.
    pub network: NetworkConfig,
    /// Samples a step.
    pub batch_size: usize,
    /// The longest walk.
    pub max_depth: u32,
    /// The highest learning rate of the schedule.
    pub learning_rate: f64,
    /// How strongly matrices are pulled to zero, times the learning rate, a step.
    pub weight_decay: f64,
    /// How products are done.
    pub precision: Precision,
    /// Of the walks and of the network's start.
    pub seed: u64,
    /// The generator of the walks.
    pub generator: String,
    /// The model whose weights the run began with.
    pub init: Option<String>,
    /// What samples are labelled with.
    #[serde(default)]
    pub labels: Labels,
    /// The schedule of the learning rate.
    #[serde(default)]
    pub schedule: Schedule,
    /// The decay of the exponential moving average of the weights; 0: the model has the last step's weights.
    #[serde(default)]
    pub ema: f64,
    /// The share of samples from the sparse-state curriculum.
    #[serde(default)]
    pub sparse_states: f64,
}

/// The schedule of the learning rate, after a linear warm-up over the first 2 % of the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// It falls to 0 as half a cosine (Loshchilov and Hutter 2017).
    #[default]
    Cosine,
    /// It falls to 0 in a straight line.
    Linear,
    /// Warmup-stable-decay: it stays, and falls to 0 in a straight line over the last fifth (Hu et al. 2024).
    Wsd,
    /// It stays.
    Constant,
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Schedule::ALL.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, schedule)| *schedule)
            .ok_or_else(|| format!("unknown schedule '{text}': expected cosine, linear, wsd or constant"))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Schedule::Cosine => "cosine",
            Schedule::Linear => "linear",
            Schedule::Wsd => "wsd",
            Schedule::Constant => "constant",
        })
    }
}

/// The share of the run in which the learning rate rises.
const WARM_UP: f64 = 0.02;

/// The share of the run in which the rate of [`Schedule::Wsd`] decays.
const DECAY: f64 = 0.2;

impl Schedule {
    /// All schedules, with their names.
    pub const ALL: [(&'static str, Schedule); 4] = [
        ("cosine", Schedule::Cosine),
        ("linear", Schedule::Linear),
        ("wsd", Schedule::Wsd),
        ("constant", Schedule::Constant),
    ];

    /// The learning rate after `seen` of `total` samples: a straight rise to `peak` over the first 2 %, times the fall.
    ///
    /// It is a function of where the run is alone. A run that is resumed with more steps takes up the longer schedule at
    /// that place: the rate steps up to it at once (the constant one does not, nor `wsd` before its decay), and then
    /// falls to 0 at the new end.
    pub fn learning_rate(self, peak: f64, seen: u64, total: u64) -> f64 {
        let progress = (seen as f64 / total as f64).min(1.0);
        let fall = match self {
            Schedule::Cosine => 0.5 * (1.0 + (PI * progress).cos()),
            Schedule::Linear => 1.0 - progress,
            Schedule::Wsd => ((1.0 - progress) / DECAY).min(1.0),
            Schedule::Constant => 1.0,
        };
        peak * (progress / WARM_UP).min(1.0) * fall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_and_where_it_falls_it_ends_at_zero() {
        let rate = |schedule: Schedule, seen| schedule.learning_rate(1.0, seen, 1000);
        for (_, schedule) in Schedule::ALL {
            assert_eq!(rate(schedule, 0), 0.0);
            assert!((rate(schedule, 10) - 0.5 * rate(schedule, 20)).abs() < 2e-2);
            assert!((rate(schedule, 20) - 1.0).abs() < 3e-2, "{schedule}");
            let end = if schedule == Schedule::Constant { 1.0 } else { 0.0 };
            assert!((rate(schedule, 1000) - end).abs() < 1e-9, "{schedule}");
        }
        let half_way = [Schedule::Cosine, Schedule::Linear, Schedule::Wsd, Schedule::Constant].map(|s| rate(s, 500));
        half_way
            .into_iter()
            .zip([0.5, 0.5, 1.0, 1.0])
            .for_each(|(rate, expected)| assert!((rate - expected).abs() < 1e-9));
        assert!((rate(Schedule::Wsd, 900) - 0.5).abs() < 1e-9);
        assert!(Schedule::Cosine.learning_rate(1.0, 1000, 2000) > 0.49, "more steps take the rate up again");
    }
}
