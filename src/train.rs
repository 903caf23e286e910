//! The training loop, readable from top to bottom: sampler threads → batches → device → step → metrics, checkpoint.
//!
//! A run is exact: stopped and resumed with unchanged settings on the same processor and threads, it ends with the
//! same bits as one that was never stopped.

pub mod checkpoint;
pub mod settings;

use crate::files::create_folder_whole;
use crate::neural::device::Device;
use crate::neural::learner::{Learner, Losses};
use crate::neural::model::ModelConfig;
use crate::progress::TrainingBar;
use crate::puzzle::Puzzle;
use crate::quantity::{Interval, Roughly, grouped};
use crate::report::{Metrics, Prediction, append_line};
use crate::sampler::{Batch, Sampler, Samples};
use anyhow::{Context, Result, bail, ensure};
use checkpoint::{MODEL, Position};
use settings::{Labels, Plan, Settings};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The file of metrics in a run's folder.
pub const METRICS: &str = "metrics.jsonl";

/// The folder in a run's folder that holds the models that are kept ([`Plan::snapshot_every`]), by samples.
pub const SNAPSHOTS: &str = "snapshots";

/// How often the losses are read from the device and written down.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Scrambles of each depth that predictions are reported for.
const PREDICTED: usize = 64;

/// Of deep scrambles, predictions are reported for so many depths, evenly spaced.
const MOST_DEPTHS: u32 = 64;

/// How a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All samples were seen.
    Finished,
    /// It was asked to stop, and saved.
    Stopped,
    /// All samples had been seen before.
    NothingLeft,
}

/// A training that can run: on a device, in a folder of its own, fresh or from its last checkpoint.
pub struct Training<P: Puzzle> {
    puzzle: Arc<P>,
    samples: Arc<dyn Samples>,
    plan: Plan,
    position: Position,
    learner: Learner,
    device: Device,
}

impl<P: Puzzle> Training<P> {
    /// A run from the start; `init` is a model whose weights it begins with.
    ///
    /// # Errors
    /// If the network cannot be made, or the model not be read.
    pub fn fresh(
        puzzle: Arc<P>,
        samples: Arc<dyn Samples>,
        settings: Settings,
        plan: Plan,
        device: Device,
        init: Option<&Path>,
    ) -> Result<Self> {
        let mut learner = new_learner(&*puzzle, &settings, device)?;
        if let Some(model) = init {
            ModelConfig::read(model)?.check_puzzle(&settings.puzzle, &puzzle.encoding(), puzzle.move_count(), model)?;
            learner.read_weights(model)?;
        }
        checkpoint::sweep(&plan.out)?;
        cut_metrics(&plan.out.join(METRICS), 0)?;
        let position = Position {
            settings,
            steps: plan.steps,
            samples: 0,
            batches: 0,
            seconds: 0.0,
            checksums: Default::default(),
        };
        Ok(Training { puzzle, samples, plan, position, learner, device })
    }

    /// A run from a checkpoint, whose [`Position`] was read from there.
    ///
    /// # Errors
    /// If the checkpoint is damaged, or the metrics cannot be cut back to it.
    pub fn resumed(
        puzzle: Arc<P>,
        samples: Arc<dyn Samples>,
        checkpoint: &Path,
        position: Position,
        plan: Plan,
        device: Device,
    ) -> Result<Self> {
        let mut learner = new_learner(&*puzzle, &position.settings, device)?;
        learner.read_state(checkpoint)?;
        checkpoint::sweep(&plan.out)?;
        cut_metrics(&plan.out.join(METRICS), position.samples)?;
        let position = Position { steps: plan.steps, ..position };
        Ok(Training { puzzle, samples, plan, position, learner, device })
    }

    /// How many numbers are trained.
    pub fn parameter_count(&self) -> u64 {
        self.learner.parameter_count()
    }

    /// Samples seen before.
    pub fn samples(&self) -> u64 {
        self.position.samples
    }

    /// Samples that are still to be seen.
    pub fn samples_left(&self) -> u64 {
        self.plan.steps.saturating_sub(self.position.samples)
    }

    /// Samples a second on this device, tried out on a copy of the network for some seconds: by whole steps; where one
    /// takes long, by smaller ones, of which the smallest tells what a step takes whatever its size.
    ///
    /// # Errors
    /// If the network cannot be made a second time, or libtorch fails.
    pub fn measure_speed(&self, stop: &AtomicBool) -> Result<f64> {
        const ENOUGH: f64 = 2.0;
        let settings = &self.position.settings;
        let mut learner = new_learner(&*self.puzzle, settings, self.device)?;
        if matches!(settings.labels, Labels::Bellman { .. }) {
            learner.update_target();
        }
        let mut step = |fresh: &Batch| -> Result<f64> {
            let begun = Instant::now();
            let mut batch = fresh.clone();
            if batch.children.is_some() {
                learner.relabel(&mut batch)?;
            }
            learner.step(&batch, 0.0)?;
            learner.losses();
            Ok(begun.elapsed().as_secs_f64())
        };
        let (few, whole) = (settings.batch_size.min(4), settings.batch_size);
        let steps_left = self.samples_left() as f64 / whole as f64;
        let (mut size, mut of_few) = (few, None);
        loop {
            let batch = self.sampler(size).batch(0);
            step(&batch)?; // the first of a size also pays for what is set up once
            let (mut seconds, mut steps) = (step(&batch)?, 1.0);
            let last = size == whole || seconds > ENOUGH;
            // Of a short run, for a tenth of what it will take.
            let enough = ENOUGH.min(0.1 * steps_left * seconds);
            while last && seconds < enough && !stop.load(Ordering::Relaxed) {
                seconds += step(&batch)?;
                steps += 1.0;
            }
            seconds /= steps;
            if size == whole {
                return Ok(whole as f64 / seconds);
            }
            let fixed = *of_few.get_or_insert(seconds);
            if last || stop.load(Ordering::Relaxed) {
                let each = (seconds - fixed).max(0.0) / (size - few).max(1) as f64;
                return Ok(whole as f64 / (seconds + each * (whole - size) as f64));
            }
            size = (8 * size).min(whole);
        }
    }

    fn sampler(&self, batch_size: usize) -> Sampler {
        let settings = &self.position.settings;
        let shape = (self.puzzle.encoding().cells, self.puzzle.move_count());
        Sampler::new(Arc::clone(&self.samples), shape, settings.seed, settings.max_depth, batch_size)
    }

    /// Trains until all samples are seen or `stop` is set, and saves.
    ///
    /// # Errors
    /// If the loss is no longer finite, or the last checkpoint cannot be written; the one before it stays.
    pub fn run(mut self, stop: &AtomicBool) -> Result<Ended> {
        if self.position.samples >= self.plan.steps {
            return Ok(Ended::NothingLeft);
        }
        let batch_size = self.position.settings.batch_size;
        let mut batches = self.sampler(batch_size).stream(self.position.batches, self.plan.sampler_threads);
        let bar = TrainingBar::new(self.plan.steps, self.position.samples);
        let mut clock = Clock::start(&self.position);
        while self.position.samples < self.plan.steps && !stop.load(Ordering::Relaxed) {
            let mut batch = batches.next().context("a sampling thread has ended")?;
            self.label(&mut batch)?;
            let rate = self.learning_rate();
            self.learner.step(&batch, rate)?;
            self.position.batches += 1;
            self.position.samples += batch_size as u64;
            bar.seen(self.position.samples.min(self.plan.steps));
            let snapshot = self.snapshot_due();
            if snapshot || clock.checkpoint_due(self.plan.checkpoint_every, self.position.samples) {
                let saved = self.save(&mut clock, &bar);
                if let Err(error) = saved.and_then(|()| if snapshot { self.keep_snapshot() } else { Ok(()) }) {
                    if !is_about_writing(&error) {
                        return Err(error);
                    }
                    // A full disk may be emptied by the next time; what is saved already stays.
                    bar.note(&format!("costar: not saved: {error:#}; going on"));
                    clock.saved(self.position.samples);
                }
            } else if clock.reported.elapsed() >= REPORT_EVERY && self.position.samples < self.plan.steps {
                self.report(&mut clock, &bar, None)?;
            }
        }
        if clock.saved_samples != self.position.samples || self.position.batches == 0 {
            self.save(&mut clock, &bar)?;
        }
        Ok(if self.position.samples >= self.plan.steps { Ended::Finished } else { Ended::Stopped })
    }

    /// Labels a batch by the network itself, where the run is one of value iteration.
    fn label(&mut self, batch: &mut Batch) -> Result<()> {
        let Labels::Bellman { target_every, .. } = self.position.settings.labels else { return Ok(()) };
        if self.position.batches.is_multiple_of(target_every) {
            self.learner.update_target();
        }
        self.learner.relabel(batch)
    }

    fn learning_rate(&self) -> f64 {
        let Settings { schedule, learning_rate, .. } = self.position.settings;
        schedule.learning_rate(learning_rate, self.position.samples, self.plan.steps)
    }

    /// Reads the losses and writes them down.
    fn report(&mut self, clock: &mut Clock, bar: &TrainingBar, predictions: Option<Vec<Prediction>>) -> Result<()> {
        let Some(losses) = self.learner.losses() else { return Ok(()) };
        let samples = self.position.samples;
        ensure!(
            losses.loss.is_finite(),
            "the loss is {} after {} samples: the run is stopped, and its last checkpoint is kept; \
             a lower --lr, in a new run, may help",
            losses.loss,
            grouped(samples)
        );
        self.position.seconds = clock.seconds();
        let rate = clock.rate(samples);
        bar.say(describe(&losses, rate, self.learning_rate()));
        let metrics = Metrics {
            samples,
            seconds: self.position.seconds,
            samples_per_second: rate,
            loss: losses.loss,
            squared_error: losses.squared_error,
            absolute_error: losses.absolute_error,
            cross_entropy: losses.cross_entropy,
            learning_rate: self.learning_rate(),
            predictions,
        };
        if let Err(error) = append_line(&self.plan.out.join(METRICS), &metrics) {
            bar.note(&format!("costar: the metrics are not written: {error:#}"));
        }
        Ok(())
    }

    /// Writes a checkpoint, and the line of metrics that stands beside it.
    fn save(&mut self, clock: &mut Clock, bar: &TrainingBar) -> Result<()> {
        let predictions = self.predictions();
        let table = show_predictions(&predictions);
        self.report(clock, bar, Some(predictions))?;
        ensure!(
            self.learner.is_finite(),
            "a weight is no longer finite after {} samples: the run is stopped, and its last checkpoint is kept; \
             a lower --lr, in a new run, may help",
            grouped(self.position.samples)
        );
        self.position.seconds = clock.seconds();
        let config = self.model_config()?;
        let (learner, out) = (&self.learner, &self.plan.out);
        let folder = checkpoint::write(out, &mut self.position, |folder| {
            learner.write_state(folder)?;
            let model = folder.join(MODEL);
            fs::create_dir(&model).with_context(|| format!("cannot make {}", model.display()))?;
            learner.write_model(&model, &config)?;
            crate::files::write_synced(&model.join("README.md"), model_card(&config, &table).as_bytes())
        });
        let folder = folder.context(NOT_WRITTEN)?;
        bar.note(&format!("{table}\ncostar: saved in {}", folder.display()));
        clock.saved(self.position.samples);
        Ok(())
    }

    /// Whether the last batch has passed a multiple of what snapshots are kept at.
    fn snapshot_due(&self) -> bool {
        let before = self.position.samples - self.position.settings.batch_size as u64;
        self.plan.snapshot_every.is_some_and(|every| self.position.samples / every > before / every)
    }

    /// Copies the model of the checkpoint that was just written, to be kept.
    fn keep_snapshot(&self) -> Result<()> {
        let kept = self.plan.out.join(SNAPSHOTS).join(format!("{:015}", self.position.samples));
        if kept.exists() {
            return Ok(()); // of a run that was resumed from before it: the same bits
        }
        let newest = checkpoint::newest(&self.plan.out)?.context("there is no checkpoint")?;
        let copied = create_folder_whole(&kept, |folder| {
            for file in fs::read_dir(newest.join(MODEL))? {
                let file = file?;
                crate::files::write_synced(&folder.join(file.file_name()), &fs::read(file.path())?)?;
            }
            Ok(())
        });
        copied.context(NOT_WRITTEN)
    }

    /// What the network says of fresh scrambles of every depth.
    fn predictions(&self) -> Vec<Prediction> {
        let deepest = self.position.settings.max_depth;
        let depths = deepest.min(MOST_DEPTHS);
        let sampler = self.sampler(PREDICTED);
        (1..=depths)
            .map(|i| {
                let depth = u64::from(i) * u64::from(deepest) / u64::from(depths);
                let depth = u32::try_from(depth).unwrap_or(deepest);
                let states = sampler.at_depth(depth);
                let values: Vec<f64> = self.learner.predict(&states).into_iter().map(f64::from).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
                Prediction { depth, mean, deviation: variance.sqrt() }
            })
            .collect()
    }

    fn model_config(&self) -> Result<ModelConfig> {
        let settings = &self.position.settings;
        let mut training = serde_json::to_value(settings).context("the settings cannot be written as JSON")?;
        training["steps"] = self.plan.steps.into();
        training["seconds"] = self.position.seconds.round().into();
        let network = settings.network.clone();
        Ok(ModelConfig {
            samples: self.position.samples,
            training,
            ..ModelConfig::new(settings.puzzle.clone(), self.puzzle.encoding(), network, settings.precision)
        })
    }
}

const NOT_WRITTEN: &str = "the checkpoint could not be written";

fn is_about_writing(error: &anyhow::Error) -> bool {
    error.to_string() == NOT_WRITTEN
}

fn new_learner<P: Puzzle>(puzzle: &P, settings: &Settings, device: Device) -> Result<Learner> {
    let network = settings.network.clone();
    let (decay, seed) = (settings.weight_decay, settings.seed);
    let learner = Learner::fresh(network, &puzzle.encoding(), device, settings.precision, decay, seed)?;
    Ok(if settings.average > 0.0 { learner.averaging(settings.average) } else { learner })
}

/// Takes the lines past a checkpoint off the metrics, for they will be written again, and those that are torn.
fn cut_metrics(path: &Path, samples: u64) -> Result<()> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let text = String::from_utf8_lossy(&text);
    let known = |line: &&str| serde_json::from_str::<Metrics>(line).is_ok_and(|line| line.samples <= samples);
    let kept: String = text.lines().filter(known).flat_map(|line| [line, "\n"]).collect();
    if kept == text { Ok(()) } else { crate::files::write_whole(path, kept.as_bytes()) }
}

fn describe(losses: &Losses, rate: f64, learning_rate: f64) -> String {
    format!(
        "{}/s  loss {:.4}  error {:.2} moves  rate {learning_rate:.1e}",
        grouped(rate as u64),
        losses.loss,
        losses.absolute_error
    )
}

/// Predictions by depth, a few depths a line.
fn show_predictions(predictions: &[Prediction]) -> String {
    let cells: Vec<String> = predictions
        .iter()
        .map(|Prediction { depth, mean, deviation }| format!("{depth:>3}: {mean:>5.2} ± {deviation:.2}"))
        .collect();
    let lines: Vec<String> = cells.chunks(6).map(|line| format!("  {}", line.join("  "))).collect();
    format!("scramble depth: predicted moves, mean ± deviation\n{}", lines.join("\n"))
}

fn model_card(config: &ModelConfig, predictions: &str) -> String {
    let network = &config.network;
    format!(
        "# {} for {}\n\nA network `{}` of width {} with {} blocks{}, trained by costar {} on {} samples in {}.\n\n\
         Settings: `config.json`, under `training`.\n\n```text\n{predictions}\n```\n",
        network.kind,
        config.puzzle,
        network.kind,
        network.width,
        network.blocks,
        if network.heads.is_some() { " and a head of moves" } else { "" },
        config.crate_version,
        grouped(config.samples),
        Roughly(config.training["seconds"].as_f64().unwrap_or(0.0)),
    )
}

/// The time of a run.
struct Clock {
    begun: Instant,
    before: f64,
    reported: Instant,
    reported_samples: u64,
    saved: Instant,
    saved_samples: u64,
}

impl Clock {
    fn start(position: &Position) -> Self {
        let now = Instant::now();
        Clock {
            begun: now,
            before: position.seconds,
            reported: now,
            reported_samples: position.samples,
            saved: now,
            saved_samples: position.samples,
        }
    }

    /// Seconds of training, over all resumed parts.
    fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }

    /// Samples a second since this was last asked.
    fn rate(&mut self, samples: u64) -> f64 {
        let rate = (samples - self.reported_samples) as f64 / self.reported.elapsed().as_secs_f64().max(1e-9);
        (self.reported, self.reported_samples) = (Instant::now(), samples);
        rate
    }

    fn checkpoint_due(&self, every: Interval, samples: u64) -> bool {
        match every {
            Interval::Time(time) => self.saved.elapsed() >= time,
            Interval::Samples(count) => samples - self.saved_samples >= count,
        }
    }

    fn saved(&mut self, samples: u64) {
        (self.saved, self.saved_samples) = (Instant::now(), samples);
    }
}

/// Refuses a folder that holds something else, and keeps a second training out of a run that is going on: the lock is
/// held as long as the returned file is.
///
/// # Errors
/// If the folder cannot be made, is not empty (unless `resume`), or another training works in it.
pub fn claim(out: &Path, resume: bool) -> Result<fs::File> {
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let lock_path = out.join("lock");
    let lock = fs::File::options().create(true).truncate(false).write(true).open(&lock_path);
    let lock = lock.with_context(|| format!("cannot write {}", lock_path.display()))?;
    match lock.try_lock() {
        Err(fs::TryLockError::WouldBlock) => {
            bail!("another training is at work in {}: wait for it, or choose another --out", out.display())
        }
        // Some file systems have no locks: then nobody looks after us.
        Err(fs::TryLockError::Error(_)) | Ok(()) => {}
    }
    let mut others = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?.flatten();
    if let Some(other) = others.find(|entry| entry.file_name() != "lock").filter(|_| !resume) {
        bail!(
            "{} is not empty (it holds {}): --resume goes on with the run in it, another --out starts a new one",
            out.display(),
            other.file_name().to_string_lossy()
        );
    }
    Ok(lock)
}
