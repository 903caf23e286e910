//! The training loop, readable from top to bottom: sampler threads → batches → device → step → metrics, checkpoint.
//!
//! A run is exact: stopped and resumed with unchanged settings on the same processor and threads, it ends with the same
//! bits as one that was never stopped.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `mod` | the loop |
//! | [`config`] | what a training is asked for, and the defaults of what is left out |
//! | [`settings`] | what a run was begun with, and the schedule of its learning rate |
//! | [`checkpoint`] | the state of a run on disk |
//! | `folder` | the run's folder: claimed by one training, metrics cut back to a checkpoint |
//! | `clock` | when metrics and checkpoints are due |
//! | `options` | what may change when a run is resumed |
//! | `predictions` | what the network says of scrambles of every depth, and the model's card |
//! | `ranks` | several processes that train one network together |
//! | `speed` | the speed of a training, measured before it begins |
//!
//! # Example: train a network for a small puzzle
//!
//! ```
//! use costar::neural::device::Device;
//! use costar::neural::network::NetworkKind;
//! use costar::puzzle::tiles::Puzzle8;
//! use costar::train::{Ended, RunOptions, Training, config::TrainingConfig};
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("run");
//! let net = Some(NetworkKind::Mlp);
//! let config = TrainingConfig { net, width: Some(64), blocks: Some(1), policy: true, ..TrainingConfig::default() };
//! let options = RunOptions { steps: Some(20_000), ..RunOptions::new(folder) };
//! let stop = AtomicBool::new(false);
//! let training = Training::open(&Puzzle8::default().into(), &config, &options, Device::CPU, &stop)?;
//! assert_eq!(training.run(&stop, &mut |_| ())?, Ended::Finished);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod checkpoint;
mod clock;
pub mod config;
mod folder;
mod options;
mod predictions;
mod ranks;
pub mod settings;
mod speed;

use crate::distributed::Group;
use crate::error::{Context, Error, Result, SettingError};
use crate::files::create_folder_whole;
use crate::memory;
use crate::neural::device::Device;
use crate::neural::learner::Learner;
use crate::neural::model::{ModelConfig, PUZZLE, check_rules};
use crate::puzzle::Puzzle;
use crate::quantity::grouped;
use crate::registry::Entry;
use crate::report::{Metrics, Prediction, append_line};
use crate::sampler::{Batch, Labels, Sampler, Samples, Source};
use crate::search::perimeter::Perimeter;
use checkpoint::{DEFAULT_CHECKPOINT_EVERY, MODEL, Position};
use clock::Clock;
use config::TrainingConfig;
use folder::cut_metrics;
use predictions::model_card;
use settings::Settings;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use folder::claim;
pub use options::RunOptions;
pub use predictions::show_predictions;
pub use ranks::RankSpan;

/// The file of metrics in a run's folder.
pub const METRICS: &str = "metrics.jsonl";

/// The folder in a run's folder that holds the models that are kept ([`RunOptions::snapshot_every`]), by samples.
pub const SNAPSHOTS: &str = "snapshots";

/// Samples of a run where nobody says otherwise.
pub const DEFAULT_STEPS: u64 = 1_000_000_000;

/// How often the losses are read from the device and written down.
const REPORT_EVERY: Duration = Duration::from_secs(5);

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

/// What a training reports while it runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A step is done.
    Step {
        /// Samples seen.
        samples: u64,
        /// Samples in all.
        steps: u64,
    },
    /// The losses were read, every five seconds.
    Metrics(&'a Metrics),
    /// The metrics could not be written; the training goes on.
    MetricsNotWritten(&'a Error),
    /// A checkpoint was written.
    Saved {
        /// Its folder.
        folder: &'a Path,
        /// The network's predictions, by scramble depth.
        predictions: &'a [Prediction],
    },
    /// A checkpoint could not be written; the training goes on, and the last one stays.
    NotSaved(&'a Error),
}

/// A training that can run: on a device, in a folder of its own, fresh or from its last checkpoint.
pub struct Training<P: Puzzle> {
    puzzle: Arc<P>,
    samples: Arc<dyn Samples>,
    options: RunOptions,
    steps: u64,
    position: Position,
    learner: Learner,
    device: Device,
    /// The other processes that train the same network.
    group: Option<Arc<Group>>,
    /// Keeps other trainings out of the folder.
    _lock: Option<fs::File>,
}

impl<P: Puzzle> Training<P> {
    /// Opens a run: a fresh one as `config` asks for, or with [`RunOptions::resume`] the one in the folder, whose
    /// settings are its own. Once `stop` is set, it ends soon.
    ///
    /// # Errors
    /// If a setting is refused, on resumption also one that differs from the run's. If the folder holds something else,
    /// or a checkpoint is damaged.
    pub fn open(
        entry: &Entry<P>,
        config: &TrainingConfig,
        options: &RunOptions,
        device: Device,
        stop: &AtomicBool,
    ) -> Result<Self> {
        let mut training = Training::open_run(entry, config, options, device, stop)?;
        training.note_ranks();
        Ok(training)
    }

    fn open_run(
        entry: &Entry<P>,
        config: &TrainingConfig,
        options: &RunOptions,
        device: Device,
        stop: &AtomicBool,
    ) -> Result<Self> {
        let puzzle = Arc::clone(entry.puzzle());
        let room = || Perimeter::<P::State>::room_in(memory::available());
        let source = |labels, sparse_states| entry.samples(labels, sparse_states, room(), stop);
        folder::check(&options.out)?;
        let newest = if options.resume { checkpoint::newest(&options.out)? } else { None };
        let training = match newest {
            None => {
                // Walks tell the default depth, and cost nothing.
                let Source { default_depth, .. } = source(Labels::Walks, 0.0)?;
                let settings =
                    config.with_perimeter(|| entry.kept_perimeter(room())).settings(&*puzzle, default_depth, device)?;
                config::check_memory(&settings, &puzzle.encoding(), device, memory::available())?;
                let Source { samples, .. } = source(settings.labels, settings.sparse_states)?;
                let lock = claim(&options.out, options.resume)?;
                let init = config.init.as_ref().map(|init| init.folder.as_path());
                let training = Training::fresh(puzzle, samples, settings, options.clone(), device, init)?;
                Training { _lock: Some(lock), ..training }
            }
            Some(folder) => {
                let lock = claim(&options.out, true)?;
                let position = checkpoint::read(&folder)?;
                config.check_same(&puzzle.name(), &position.settings)?;
                check_rules(&*puzzle, &folder.join(MODEL))?;
                let Settings { labels, sparse_states, .. } = position.settings;
                let Source { samples, .. } = source(labels, sparse_states)?;
                let training = Training::resumed(puzzle, samples, &folder, position, options.clone(), device)?;
                Training { _lock: Some(lock), ..training }
            }
        };
        Ok(training)
    }

    /// A run from the start; `init` is a model whose weights it begins with: of this puzzle, or of another one whose states
    /// have the same encoding, of which the policy head is left out where the number of moves is another.
    ///
    /// # Errors
    /// If the network cannot be made, the model not be read, or its encoding is another.
    pub fn fresh(
        puzzle: Arc<P>,
        samples: Arc<dyn Samples>,
        settings: Settings,
        options: RunOptions,
        device: Device,
        init: Option<&Path>,
    ) -> Result<Self> {
        let mut learner = new_learner(&*puzzle, &settings, device)?;
        if let Some(model) = init {
            ModelConfig::read(model)?.check_init(&*puzzle, model)?;
            learner.read_weights(model)?;
        }
        checkpoint::sweep(&options.out)?;
        cut_metrics(&options.out.join(METRICS), 0)?;
        let position = options.applied(Position {
            settings,
            steps: DEFAULT_STEPS,
            checkpoint_every: DEFAULT_CHECKPOINT_EVERY,
            snapshot_every: None,
            tensorboard: None,
            samples: 0,
            batches: 0,
            seconds: 0.0,
            ranks: vec![],
            checksums: Default::default(),
        });
        let steps = position.steps;
        Ok(Training { puzzle, samples, options, steps, position, learner, device, group: None, _lock: None })
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
        options: RunOptions,
        device: Device,
    ) -> Result<Self> {
        let mut learner = new_learner(&*puzzle, &position.settings, device)?;
        learner.read_state(checkpoint)?;
        checkpoint::sweep(&options.out)?;
        cut_metrics(&options.out.join(METRICS), position.samples)?;
        let position = options.applied(position);
        let steps = position.steps;
        Ok(Training { puzzle, samples, options, steps, position, learner, device, group: None, _lock: None })
    }

    /// What the run was begun with.
    pub fn settings(&self) -> &Settings {
        &self.position.settings
    }

    /// How many numbers are trained.
    pub fn parameter_count(&self) -> u64 {
        self.learner.parameter_count()
    }

    /// Samples seen before.
    pub fn samples(&self) -> u64 {
        self.position.samples
    }

    /// Samples in all.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The folder that metrics are to go to for TensorBoard, if the run has one.
    pub fn tensorboard(&self) -> Option<PathBuf> {
        let RunOptions { out, tensorboard, .. } = &self.options;
        let kept = || self.position.tensorboard.as_ref().map(|folder| out.join(folder));
        tensorboard.clone().or_else(kept)
    }

    /// Samples that are still to be seen.
    pub fn samples_left(&self) -> u64 {
        self.steps.saturating_sub(self.position.samples)
    }

    /// Trains until all samples are seen or `stop` is set, and saves; `watch` is told of every [`Event`].
    ///
    /// # Errors
    /// If the loss is no longer finite, or the last checkpoint cannot be written; the one before it stays.
    pub fn run(mut self, stop: &AtomicBool, watch: &mut dyn FnMut(&Event<'_>)) -> Result<Ended> {
        if self.position.samples >= self.steps {
            return Ok(Ended::NothingLeft);
        }
        let (rank, ranks, threads) = (self.rank(), self.ranks(), self.device.sampler_threads());
        let sampler = self.sampler(self.position.settings.batch_size);
        let mut batches = sampler.stream(self.position.batches + rank, ranks, threads);
        let mut clock = Clock::start(&self.position);
        let mut stopped = self.is_stopped(stop)?;
        while self.position.samples < self.steps && !stopped {
            let mut batch = batches.next().ok_or_else(|| Error::Bug("a sampling thread has ended".into()))?;
            self.label(&mut batch)?;
            stopped = self.step(&batch, stop)?;
            self.position.batches += ranks;
            self.position.samples += self.samples_a_step();
            watch(&Event::Step { samples: self.position.samples.min(self.steps), steps: self.steps });
            stopped |= self.group.is_none() && stop.load(Ordering::Relaxed); // ranks agreed on it within the step
            if rank > 0 {
                continue; // files are the first rank's
            }
            let snapshot = self.snapshot_due();
            if snapshot || clock.checkpoint_due(self.position.checkpoint_every, self.position.samples) {
                let saved = self.save(&mut clock, watch);
                match saved.and_then(|()| if snapshot { self.keep_snapshot() } else { Ok(()) }) {
                    // A full disk may have room again by the next time; what is saved already stays.
                    Err(error) if error.is_io() => {
                        watch(&Event::NotSaved(&error));
                        clock.saved(self.position.samples);
                    }
                    saved => saved?,
                }
            } else if clock.reported.elapsed() >= REPORT_EVERY && self.position.samples < self.steps {
                self.report(&mut clock, watch, None)?;
            }
        }
        if rank == 0 && (clock.saved_samples != self.position.samples || self.position.batches == 0) {
            self.save(&mut clock, watch)?;
        }
        if let Some(group) = &self.group {
            group.barrier("saved")?; // a launcher may end all ranks once one has ended
        }
        Ok(if self.position.samples >= self.steps { Ended::Finished } else { Ended::Stopped })
    }

    fn sampler(&self, batch_size: usize) -> Sampler {
        let settings = &self.position.settings;
        let shape = (self.puzzle.encoding().cells, self.puzzle.move_count());
        Sampler::new(Arc::clone(&self.samples), shape, settings.seed, settings.max_depth, batch_size)
    }

    /// Labels a batch by the network itself, where the run is one of value iteration.
    fn label(&mut self, batch: &mut Batch) -> Result<()> {
        let Labels::Bellman { target_every, .. } = self.position.settings.labels else { return Ok(()) };
        if self.learner.steps().is_multiple_of(target_every) {
            self.learner.update_target()?;
        }
        self.learner.relabel(batch)
    }

    fn learning_rate(&self) -> f64 {
        let Settings { schedule, learning_rate, .. } = self.position.settings;
        schedule.learning_rate(learning_rate, self.position.samples, self.steps)
    }

    /// Reads the losses and writes them down.
    fn report(
        &mut self,
        clock: &mut Clock,
        watch: &mut dyn FnMut(&Event<'_>),
        predictions: Option<Vec<Prediction>>,
    ) -> Result<()> {
        let Some(losses) = self.learner.losses()? else { return Ok(()) };
        let samples = self.position.samples;
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
            learning_rate: self.learning_rate(),
            predictions,
        };
        watch(&Event::Metrics(&metrics));
        if let Err(error) = append_line(&self.options.out.join(METRICS), &metrics) {
            watch(&Event::MetricsNotWritten(&error));
        }
        Ok(())
    }

    fn diverged(&self, what: &str) -> Error {
        let samples = grouped(self.position.samples);
        Error::Diverged(format!(
            "{what} after {samples} samples: the run is stopped, and its last checkpoint is kept; start a new run with a \
             lower `lr`"
        ))
    }

    /// Writes a checkpoint, and the line of metrics that stands beside it.
    fn save(&mut self, clock: &mut Clock, watch: &mut dyn FnMut(&Event<'_>)) -> Result<()> {
        let predictions = self.predictions()?;
        self.report(clock, watch, Some(predictions.clone()))?;
        if !self.learner.is_finite()? {
            return Err(self.diverged("a weight is no longer finite"));
        }
        if let Some(group) = &self.group {
            group.heard()?; // what a device has summed means nothing where a rank has died meanwhile
        }
        self.position.seconds = clock.seconds();
        let config = self.model_config()?;
        let (learner, puzzle, out) = (&self.learner, &self.puzzle, &self.options.out);
        let folder = checkpoint::write(out, &mut self.position, |folder| {
            learner.write_state(folder)?;
            let model = folder.join(MODEL);
            fs::create_dir(&model).with_context(|| format!("cannot make {}", model.display()))?;
            learner.write_model(&model, &config)?;
            if let Some(text) = puzzle.file() {
                crate::files::write_synced(&model.join(PUZZLE), text.as_bytes())?;
            }
            crate::files::write_synced(&model.join("README.md"), model_card(&config, &predictions).as_bytes())
        });
        let folder = folder.context(NOT_WRITTEN)?;
        watch(&Event::Saved { folder: &folder, predictions: &predictions });
        clock.saved(self.position.samples);
        Ok(())
    }

    /// Whether the last batch has passed a multiple of what snapshots are kept at.
    fn snapshot_due(&self) -> bool {
        let before = self.position.samples - self.samples_a_step();
        self.position.snapshot_every.is_some_and(|every| self.position.samples / every > before / every)
    }

    /// Copies the model of the checkpoint that was just written, to be kept.
    fn keep_snapshot(&self) -> Result<()> {
        let kept = self.options.out.join(SNAPSHOTS).join(format!("{:015}", self.position.samples));
        if kept.exists() {
            return Ok(()); // of a run that was resumed from before it: the same bits
        }
        let newest = checkpoint::newest(&self.options.out)?.context("there is no checkpoint")?;
        let copied = create_folder_whole(&kept, |folder| {
            let model = newest.join(MODEL);
            let reading = || format!("cannot read {}", model.display());
            for file in fs::read_dir(&model).with_context(reading)? {
                let file = file.with_context(reading)?;
                let bytes = fs::read(file.path()).with_context(reading)?;
                crate::files::write_synced(&folder.join(file.file_name()), &bytes)?;
            }
            Ok(())
        });
        copied.context(NOT_WRITTEN)
    }

    fn model_config(&self) -> Result<ModelConfig> {
        let settings = &self.position.settings;
        let mut training = serde_json::to_value(settings).context("the settings cannot be written as JSON")?;
        training["steps"] = self.steps.into();
        training["seconds"] = self.position.seconds.round().into();
        if !self.position.ranks.is_empty() {
            training["ranks"] = serde_json::to_value(&self.position.ranks).context("the ranks cannot be written")?;
        }
        let network = settings.network.clone();
        Ok(ModelConfig {
            samples: self.position.samples,
            training,
            ..ModelConfig::new(settings.puzzle.clone(), self.puzzle.encoding(), network, settings.precision)
        })
    }
}

const NOT_WRITTEN: &str = "the checkpoint could not be written";

fn new_learner<P: Puzzle>(puzzle: &P, settings: &Settings, device: Device) -> Result<Learner> {
    let network = settings.network.clone();
    let (decay, seed) = (settings.weight_decay, settings.seed);
    let fresh = || Learner::fresh(network, &puzzle.encoding(), device, settings.precision, decay, seed);
    let learner = device.run(fresh)?.map_err(|error| SettingError::new("net", error.0))?;
    Ok(if settings.ema > 0.0 { learner.with_ema(settings.ema) } else { learner })
}
