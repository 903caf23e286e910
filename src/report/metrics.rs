//! The metrics of a training.

use serde::{Deserialize, Serialize};

/// A line of `metrics.jsonl`: means since the previous line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Samples seen since the start of the run.
    pub samples: u64,
    /// Wall-clock time of training, over all resumed parts.
    pub seconds: f64,
    /// Samples a second since the previous line.
    pub samples_per_second: f64,
    /// The loss.
    pub loss: f64,
    /// Squared error of the cost-to-go, in moves².
    pub squared_error: f64,
    /// Absolute error of the cost-to-go, in moves.
    pub absolute_error: f64,
    /// Cross-entropy of the policy head, in nats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_entropy: Option<f64>,
    /// Learning rate of the next step.
    pub learning_rate: f64,
    /// At checkpoints: predictions for new scrambles by depth, for at most 64 depths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Vec<Prediction>>,
}

/// The network's predictions for scrambles of one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Length of the random walks.
    pub depth: u32,
    /// Mean prediction, in moves.
    pub mean: f64,
    /// Standard deviation of the predictions.
    pub deviation: f64,
}
