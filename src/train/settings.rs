//! What a run was begun with, and how its learning rate goes.

use crate::neural::learner::Precision;
use crate::neural::network::NetworkConfig;
use crate::quantity::Interval;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
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
    /// What the best child costs, by the network as it was at the last multiple of `target_every` steps (value
    /// iteration), and exact costs within `endgame` moves of the goals.
    Bellman {
        /// Steps that a target network is kept for.
        target_every: u64,
        /// Costs are known within so many moves.
        endgame: u32,
    },
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

/// The learning rate after `seen` of `total` samples: a straight rise to `peak` over the first 2 %, times half a cosine
/// down to 0 over all.
///
/// It is a function of where the run is alone. A run that is resumed with more steps takes up the longer schedule at
/// that place: the rate steps up to it at once, and then falls to 0 at the new end.
pub fn learning_rate(peak: f64, seen: u64, total: u64) -> f64 {
    let progress = (seen as f64 / total as f64).min(1.0);
    peak * (progress / WARM_UP).min(1.0) * 0.5 * (1.0 + (PI * progress).cos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_falls_and_ends_at_zero() {
        assert_eq!(learning_rate(1.0, 0, 1000), 0.0);
        assert!(learning_rate(1.0, 10, 1000) < learning_rate(1.0, 20, 1000));
        assert!((learning_rate(1.0, 20, 1000) - 1.0).abs() < 2e-3);
        assert!((learning_rate(1.0, 500, 1000) - 0.5).abs() < 1e-9);
        assert!(learning_rate(1.0, 1000, 1000).abs() < 1e-9);
        assert!(learning_rate(1.0, 1000, 2000) > 0.49, "more steps take the rate up again");
    }
}
