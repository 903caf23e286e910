//! What a run was begun with, and how its learning rate goes.

use crate::neural::learner::Precision;
use crate::neural::network::NetworkConfig;
use crate::quantity::Interval;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::fmt;
use std::path::PathBuf;

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
    /// How the learning rate goes.
    #[serde(default)]
    pub schedule: Schedule,
    /// The model's weights are averages over steps, in which one counts this many times what the next does; 0: the last.
    #[serde(default)]
    pub average: f64,
    /// The share of samples that only look nearly solved.
    #[serde(default)]
    pub lookalikes: f64,
}

/// What samples are labelled with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Labels {
    /// What the way costs that led to the state: an upper bound of its distance.
    #[default]
    Walks,
    /// The distance within `endgame` moves of the goals, what the way costs beyond.
    Exact {
        /// Distances are known within so many moves.
        endgame: u32,
    },
    /// The distance within `endgame` moves of the goals; beyond, that of the last state on the way whose distance is known,
    /// and what the way costs from there.
    Tightened {
        /// Distances are known within so many moves.
        endgame: u32,
    },
    /// What the best child costs, by the network as it was at the last multiple of `target_every` steps (value
    /// iteration), and exact costs within `endgame` moves of the goals.
    Bellman {
        /// Steps that a target network is kept for.
        target_every: u64,
        /// Costs are known within so many moves.
        endgame: u32,
    },
}

impl Labels {
    /// Within how many moves of the goals distances are known; `None` where none is asked for.
    pub fn endgame(self) -> Option<u32> {
        match self {
            Labels::Walks => None,
            Labels::Exact { endgame } | Labels::Tightened { endgame } | Labels::Bellman { endgame, .. } => {
                Some(endgame)
            }
        }
    }
}

/// How the learning rate goes, after a straight rise over the first 2 % of the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// It falls to 0 as half a cosine (Loshchilov and Hutter 2017).
    #[default]
    Cosine,
    /// It falls to 0 in a straight line.
    Linear,
    /// It stays, and falls to 0 in a straight line over the last fifth (Hu et al. 2024).
    Late,
    /// It stays.
    Constant,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Schedule::Cosine => "cosine",
            Schedule::Linear => "linear",
            Schedule::Late => "late",
            Schedule::Constant => "constant",
        })
    }
}

/// What may change when a run is resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The run's folder.
    pub out: PathBuf,
    /// Samples in all.
    pub steps: u64,
    /// How often the run is saved.
    pub checkpoint_every: Interval,
    /// Keep a copy of the model whenever so many more samples are seen.
    pub snapshot_every: Option<u64>,
    /// Threads that make samples.
    pub sampler_threads: usize,
}

/// The share of the run in which the learning rate rises.
const WARM_UP: f64 = 0.02;

/// The share of the run in which the rate of [`Schedule::Late`] falls.
const LATE: f64 = 0.2;

impl Schedule {
    /// The learning rate after `seen` of `total` samples: a straight rise to `peak` over the first 2 %, times the fall.
    ///
    /// It is a function of where the run is alone. A run that is resumed with more steps takes up the longer schedule at
    /// that place: the rate steps up to it at once (the constant one does not, nor the late one before its fall), and then
    /// falls to 0 at the new end.
    pub fn learning_rate(self, peak: f64, seen: u64, total: u64) -> f64 {
        let progress = (seen as f64 / total as f64).min(1.0);
        let fall = match self {
            Schedule::Cosine => 0.5 * (1.0 + (PI * progress).cos()),
            Schedule::Linear => 1.0 - progress,
            Schedule::Late => ((1.0 - progress) / LATE).min(1.0),
            Schedule::Constant => 1.0,
        };
        peak * (progress / WARM_UP).min(1.0) * fall
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn the_rate_rises_and_where_it_falls_it_ends_at_zero() {
        let rate = |schedule: Schedule, seen| schedule.learning_rate(1.0, seen, 1000);
        for schedule in Schedule::value_variants().iter().copied() {
            assert_eq!(rate(schedule, 0), 0.0);
            assert!((rate(schedule, 10) - 0.5 * rate(schedule, 20)).abs() < 2e-2);
            assert!((rate(schedule, 20) - 1.0).abs() < 3e-2, "{schedule}");
            let end = if schedule == Schedule::Constant { 1.0 } else { 0.0 };
            assert!((rate(schedule, 1000) - end).abs() < 1e-9, "{schedule}");
        }
        let half_way = [Schedule::Cosine, Schedule::Linear, Schedule::Late, Schedule::Constant].map(|s| rate(s, 500));
        half_way
            .into_iter()
            .zip([0.5, 0.5, 1.0, 1.0])
            .for_each(|(rate, expected)| assert!((rate - expected).abs() < 1e-9));
        assert!((rate(Schedule::Late, 900) - 0.5).abs() < 1e-9);
        assert!(Schedule::Cosine.learning_rate(1.0, 1000, 2000) > 0.49, "more steps take the rate up again");
    }
}
