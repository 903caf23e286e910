//! Writes metrics, checkpoints, snapshots, and the model's card.

use super::clock::Clock;
use super::{Event, Training, checkpoint};
use crate::error::{Context, Error, Result};
use crate::files::{create_folder_whole, write_synced};
use crate::neural::model::{ModelConfig, PUZZLE};
use crate::neural::network::NetworkConfig;
use crate::quantity::{grouped, roughly};
use crate::report::run_folder::{METRICS, MODEL, SNAPSHOTS, newest_checkpoint};
use crate::report::{Metrics, Prediction, append_line};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often the losses are read from the device and written down.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Scrambles of each depth that predictions are reported for.
const PREDICTED: usize = 64;

/// Most depths that predictions are reported for; they are evenly spaced.
const MAX_DEPTHS: u32 = 64;

type OnEvent<'a> = &'a mut dyn FnMut(&Event<'_>);

impl Training {
    /// Saves a checkpoint or a snapshot, or reports metrics, if one is due.
    pub(super) fn save_or_report(&mut self, clock: &mut Clock, watch: OnEvent<'_>) -> Result<()> {
        if self.snapshot_due() || clock.checkpoint_due(self.position.checkpoint_every, self.samples()) {
            match self.save(clock, watch) {
                // A full disk may have space again by the next time; earlier checkpoints stay.
                Err(error) if error.is_io() => {
                    watch(&Event::NotSaved(&error));
                    clock.tried(self.samples());
                }
                saved => saved?,
            }
        } else if clock.reported.time.elapsed() >= REPORT_EVERY && !self.is_finished() {
            self.report(clock, watch, None)?;
        }
        Ok(())
    }

    /// Writes the first checkpoint of a new run, so that the run resumes with its own settings whenever it is ended.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save_start(&mut self) -> Result<()> {
        let is_new = self.position.batches == 0 && newest_checkpoint(&self.out)?.is_none();
        if !is_new {
            return Ok(());
        }
        let mut clock = Clock::start(&self.position, self.opened);
        self.save(&mut clock, &mut |_| ())?;
        self.opened = Instant::now(); // the checkpoint holds the seconds until now
        Ok(())
    }

    /// Writes a checkpoint, a snapshot if one is due, and a line of metrics beside it.
    pub(super) fn save(&mut self, clock: &mut Clock, watch: OnEvent<'_>) -> Result<()> {
        const NOT_WRITTEN: &str = "the checkpoint could not be written";
        let predictions = if self.position.batches == 0 { Vec::new() } else { self.predictions()? };
        self.report(clock, watch, Some(predictions.clone()))?;
        if !self.learner.is_finite()? {
            return Err(self.diverged("a weight is no longer finite"));
        }
        if let Some(group) = &self.group {
            group.check_liveness()?; // sums on a device are worthless if a rank has died meanwhile
        }
        self.position.seconds = clock.seconds();
        let config = self.model_config()?;
        let snapshot = self.out.join(SNAPSHOTS).join(format!("{:015}", self.samples()));
        let keeps_snapshot = (self.snapshot_due() || self.owes_snapshot) && !snapshot.exists();
        let (learner, puzzle) = (&self.learner, &self.puzzle);
        let write_model = |folder: &Path| {
            learner.write_model(folder, &config)?;
            if let Some(text) = puzzle.file() {
                write_synced(&folder.join(PUZZLE), text.as_bytes())?;
            }
            write_synced(&folder.join("README.md"), model_card(&config, &predictions).as_bytes())
        };
        // Written before the checkpoint: resuming from this checkpoint skips the snapshot; resuming from the one before
        // rewrites the same bytes.
        if keeps_snapshot {
            self.owes_snapshot = true;
            create_folder_whole(&snapshot, write_model).context(NOT_WRITTEN)?;
            self.owes_snapshot = false;
        }
        let folder = checkpoint::write(&self.out, &mut self.position, |folder| {
            learner.write_state(folder)?;
            let model = folder.join(MODEL);
            fs::create_dir(&model).with_context(|| format!("cannot make {}", model.display()))?;
            write_model(&model)
        });
        let folder = folder.context(NOT_WRITTEN)?;
        watch(&Event::Saved { folder: &folder, predictions: &predictions });
        clock.tried(self.samples());
        clock.saved = self.samples();
        Ok(())
    }

    /// Reads the losses and writes them down.
    fn report(&mut self, clock: &mut Clock, watch: OnEvent<'_>, predictions: Option<Vec<Prediction>>) -> Result<()> {
        let Some(losses) = self.learner.losses()? else { return Ok(()) };
        let samples = self.samples();
        if !losses.loss.is_finite() {
            return Err(self.diverged(&format!("the loss is {}", losses.loss)));
        }
        self.position.seconds = clock.seconds();
        let metrics = Metrics {
            samples,
            seconds: self.position.seconds,
            samples_per_second: clock.rate(samples),
            loss: losses.loss,
            squared_error: losses.squared_error,
            absolute_error: losses.absolute_error,
            cross_entropy: losses.cross_entropy,
            learning_rate: self.position.learning_rate(),
            predictions,
        };
        watch(&Event::Metrics(&metrics));
        if let Err(error) = append_line(&self.out.join(METRICS), &metrics) {
            watch(&Event::MetricsNotWritten(&error));
        }
        Ok(())
    }

    fn diverged(&self, reason: &str) -> Error {
        let samples = grouped(self.samples());
        Error::Diverged(format!(
            "{reason} after {samples} samples: the run is stopped, and its last checkpoint is kept; start a new run with a lower `lr`"
        ))
    }

    /// Predictions of the network for fresh scrambles of every depth.
    fn predictions(&self) -> Result<Vec<Prediction>> {
        let deepest = self.plan().max_depth;
        let depths = deepest.min(MAX_DEPTHS);
        let sampler = self.sampler(PREDICTED);
        let predict = |i: u32| {
            let depth = (u64::from(i) * u64::from(deepest) / u64::from(depths)) as u32;
            let states = sampler.at_depth(depth);
            let values: Vec<f64> = self.learner.predict(&states)?.into_iter().map(f64::from).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
            Ok(Prediction { depth, mean, deviation: variance.sqrt() })
        };
        (1..=depths).map(predict).collect()
    }

    /// Whether the last step has passed a multiple of [`TrainOptions::snapshot_every`](super::TrainOptions).
    fn snapshot_due(&self) -> bool {
        let before = self.samples().saturating_sub(self.samples_per_step());
        let has_passed = |every| self.samples() / every > before / every;
        self.position.snapshot_every.is_some_and(has_passed)
    }

    fn model_config(&self) -> Result<ModelConfig> {
        let (plan, ranks) = (self.plan(), &self.position.ranks);
        let mut training = serde_json::to_value(plan).context("the plan cannot be written as JSON")?;
        training["steps"] =
            if self.position.total_seconds.is_some() { self.samples() } else { self.total_samples() }.into();
        training["seconds"] = self.position.seconds.round().into();
        if !ranks.is_empty() {
            training["ranks"] = serde_json::to_value(ranks).context("the ranks cannot be written as JSON")?;
        }
        let config =
            ModelConfig::new(plan.puzzle.clone(), self.puzzle.encoding(), plan.network.clone(), plan.precision);
        Ok(ModelConfig { samples: self.samples(), training, ..config })
    }
}

/// Predictions by depth as text, six depths per line.
pub fn show_predictions(predictions: &[Prediction]) -> String {
    let cells: Vec<String> = predictions
        .iter()
        .map(|Prediction { depth, mean, deviation }| format!("{depth:>3}: {mean:>5.2} ± {deviation:.2}"))
        .collect();
    let lines: Vec<String> = cells.chunks(6).map(|line| format!("  {}", line.join("  "))).collect();
    format!("scramble depth: predicted moves, mean ± deviation\n{}", lines.join("\n"))
}

fn model_card(config: &ModelConfig, predictions: &[Prediction]) -> String {
    let ModelConfig { crate_version, puzzle, network, .. } = config;
    let NetworkConfig { kind, width, blocks, policy, .. } = network;
    let head = if policy.is_some() { " and a policy head" } else { "" };
    let (samples, time) = (grouped(config.samples), roughly(config.training["seconds"].as_f64().unwrap_or(0.0)));
    format!(
        "# {kind} for {puzzle}\n\nA network `{kind}` of width {width} with {blocks} blocks{head}, trained by costar \
         {crate_version} on {samples} samples in {time}.\n\n\
         Settings: `config.json`, under `training`.\n\n```text\n{}\n```\n",
        show_predictions(predictions)
    )
}
