//! What the network says of scrambles of every depth, and the model's card with it.

use super::Training;
use crate::error::Result;
use crate::neural::model::ModelConfig;
use crate::puzzle::Puzzle;
use crate::quantity::{Roughly, grouped};
use crate::report::Prediction;

/// Scrambles of each depth that predictions are reported for.
const PREDICTED: usize = 64;

/// Of deep scrambles, predictions are reported for so many depths, evenly spaced.
const MOST_DEPTHS: u32 = 64;

impl<P: Puzzle> Training<P> {
    /// The network's predictions for fresh scrambles of every depth.
    ///
    /// # Errors
    /// If the device has failed.
    pub(super) fn predictions(&self) -> Result<Vec<Prediction>> {
        let deepest = self.position.settings.max_depth;
        let depths = deepest.min(MOST_DEPTHS);
        let sampler = self.sampler(PREDICTED);
        (1..=depths)
            .map(|i| {
                let depth = u64::from(i) * u64::from(deepest) / u64::from(depths);
                let depth = u32::try_from(depth).unwrap_or(deepest);
                let states = sampler.at_depth(depth);
                let values: Vec<f64> = self.learner.predict(&states)?.into_iter().map(f64::from).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
                Ok(Prediction { depth, mean, deviation: variance.sqrt() })
            })
            .collect()
    }
}

/// Predictions by depth as text, a few depths a line.
pub fn show_predictions(predictions: &[Prediction]) -> String {
    let cells: Vec<String> = predictions
        .iter()
        .map(|Prediction { depth, mean, deviation }| format!("{depth:>3}: {mean:>5.2} ± {deviation:.2}"))
        .collect();
    let lines: Vec<String> = cells.chunks(6).map(|line| format!("  {}", line.join("  "))).collect();
    format!("scramble depth: predicted moves, mean ± deviation\n{}", lines.join("\n"))
}

pub(super) fn model_card(config: &ModelConfig, predictions: &[Prediction]) -> String {
    let network = &config.network;
    format!(
        "# {} for {}\n\nA network `{}` of width {} with {} blocks{}, trained by costar {} on {} samples in {}.\n\n\
         Settings: `config.json`, under `training`.\n\n```text\n{}\n```\n",
        network.kind,
        config.puzzle,
        network.kind,
        network.width,
        network.blocks,
        if network.policy.is_some() { " and a policy head" } else { "" },
        config.crate_version,
        grouped(config.samples),
        Roughly(config.training["seconds"].as_f64().unwrap_or(0.0)),
        show_predictions(predictions),
    )
}
