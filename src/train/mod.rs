//! The training loop: sampler threads → batches → device → optimizer step → metrics, checkpoint.
//!
//! A run is exact: stopped and resumed with unchanged settings on the same processor and threads, it ends with the same
//! bits as one that was never stopped.
//!
//! | file | content |
//! | --- | --- |
//! | `mod` | a training, and its loop |
//! | [`options`] | options: flags and JSON |
//! | [`plan`] | options → plan: defaults and refusals |
//! | [`targets`] | how samples get their labels, one target per file |
//! | [`checkpoint`] | the state of a run on disk |
//! | [`schedule`] | how the learning rate falls |
//! | `saving` | metrics, checkpoints, snapshots and the model's card |
//! | `folder` | the run's folder: its lock, metrics cut back to a checkpoint |
//! | `clock` | when metrics and checkpoints are due |
//! | `data_parallel` | several processes that train one network |
//! | `speed_estimate` | samples a second, measured before the run |
//!
//! # Example: train a network for a small puzzle
//!
//! ```
//! use costar::neural::device::Device;
//! use costar::neural::network::NetworkKind;
//! use costar::puzzle::tiles::Puzzle8;
//! use costar::registry::Entry;
//! use costar::train::{Ended, TrainOptions, Training};
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("run");
//! let options = TrainOptions {
//!     net: Some(NetworkKind::Mlp),
//!     width: Some(64),
//!     blocks: Some(1),
//!     policy: Some(true),
//!     samples: Some(20_000),
//!     out: Some(folder),
//!     ..TrainOptions::default()
//! };
//! let stop = AtomicBool::new(false);
//! let training = Training::open(&Entry::from(Puzzle8::default()), &options, Device::CPU, &stop)?;
//! assert_eq!(training.run(&stop, &mut |_| ())?, Ended::Finished);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod checkpoint;
mod clock;
mod data_parallel;
mod folder;
pub mod options;
pub mod plan;
mod saving;
pub mod schedule;
mod speed_estimate;
pub mod targets;

use crate::distributed::Group;
use crate::error::{Error, Result, ensure_setting};
use crate::files;
use crate::memory;
use crate::neural::device::Device;
use crate::neural::learner::Learner;
use crate::neural::model::{Learnable, ModelConfig, check_rules};
use crate::puzzle::Puzzle;
use crate::registry::Entry;
use crate::report::run_folder::{METRICS, MODEL, newest_checkpoint};
use crate::report::{Metrics, Prediction};
use crate::sampler::{Batch, DeviceBatch, DeviceWalks, Sampler, Samples, Stream};
use crate::search::perimeter::Perimeter;
use crate::waiting::Waiting;
use checkpoint::RunPosition;
use clock::Clock;
use folder::cut_metrics;
use plan::{SamplerKind, TrainFacts, TrainPlan, resolve};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use targets::SolutionFacts;

pub use data_parallel::RankSpan;
pub use folder::claim;
pub use options::TrainOptions;
pub use saving::show_predictions;

/// How a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All samples were seen.
    Finished,
    /// It was stopped, and saved.
    Stopped,
    /// All samples had been seen before.
    NothingLeft,
}

/// Progress of a training.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An optimizer step is done.
    Step {
        /// Samples seen.
        samples: u64,
    },
    /// The losses were read, every five seconds.
    Metrics(&'a Metrics),
    /// The metrics could not be written; the training goes on.
    MetricsNotWritten(&'a Error),
    /// A checkpoint was written.
    Saved {
        /// Its folder.
        folder: &'a Path,
        /// Predictions of the network, by scramble depth.
        predictions: &'a [Prediction],
    },
    /// A checkpoint could not be written; the training goes on, and the last one stays.
    NotSaved(&'a Error),
}

/// A training that can run, on a device and in a folder of its own.
pub struct Training {
    puzzle: Arc<dyn Learnable>,
    samples: Arc<dyn Samples>,
    out: PathBuf,
    tensorboard: Option<PathBuf>,
    position: RunPosition,
    learner: Learner,
    device: Device,
    /// The processes that train the same network.
    group: Option<Arc<Group>>,
    /// Whether the last snapshot could not be written.
    owes_snapshot: bool,
    opened: Instant,
    /// Keeps other trainings out of the folder.
    _lock: Option<fs::File>,
}

/// A puzzle that a network can be trained for: any [`Entry`].
pub trait Trainable {
    /// The puzzle.
    fn learnable(&self) -> Arc<dyn Learnable>;

    /// Whether its samples are walks from the goals.
    fn takes_walks(&self) -> bool;

    /// The facts that a plan is resolved by.
    ///
    /// # Errors
    /// If the puzzle has no samples, or the model to begin with cannot be read or does not fit.
    fn train_facts(&self, options: &TrainOptions, device: Device) -> Result<TrainFacts>;

    /// Samples as a plan asks for them, without exact costs once `stop` is set.
    ///
    /// # Errors
    /// If the puzzle has no such samples, or the perimeter does not fit into memory.
    fn train_samples(&self, plan: &TrainPlan, stop: &AtomicBool) -> Result<Arc<dyn Samples>>;
}

impl<P: Puzzle> Trainable for Entry<P> {
    fn learnable(&self) -> Arc<dyn Learnable> {
        Arc::clone(self.puzzle()) as _
    }

    fn takes_walks(&self) -> bool {
        self.puzzle().is_reversible()
    }

    fn train_facts(&self, options: &TrainOptions, device: Device) -> Result<TrainFacts> {
        let puzzle = self.puzzle();
        let encoding = puzzle.encoding();
        if let Some(model) = options.init_folder() {
            ModelConfig::read(model)?.check_init(&**puzzle, model)?;
        }
        let solutions = options.solutions.as_deref().map(SolutionFacts::read).transpose()?;
        Ok(TrainFacts {
            puzzle: puzzle.name(),
            moves: puzzle.move_count(),
            inputs: encoding.symbols * (encoding.cells - encoding.fixed.len()),
            walks: self.takes_walks(),
            has_move_table: puzzle.move_table().is_some(),
            default_depth: match solutions {
                Some(solutions) => solutions.cost,
                None => self.samples()?.default_depth,
            },
            solutions,
            cached_perimeter: self.cached_perimeter(Perimeter::<P::State>::memory_budget(memory::available())),
            device,
            init: options.init_network()?,
        })
    }

    fn train_samples(&self, plan: &TrainPlan, stop: &AtomicBool) -> Result<Arc<dyn Samples>> {
        targets::samples(self, plan, stop)
    }
}

impl Training {
    /// Opens a run: a new one, or with [`TrainOptions::resume`] the one in the folder, with its own settings. Ends soon once
    /// `stop` is set.
    ///
    /// # Errors
    /// If an option is refused, or differs from the resumed run's. If the folder holds something else, or a checkpoint is
    /// damaged.
    pub fn open(entry: &dyn Trainable, options: &TrainOptions, device: Device, stop: &AtomicBool) -> Result<Self> {
        let mut training = Training::open_folder(entry, options, device, stop)?;
        training.note_ranks();
        Ok(training)
    }

    fn open_folder(entry: &dyn Trainable, options: &TrainOptions, device: Device, stop: &AtomicBool) -> Result<Self> {
        let opened = Instant::now();
        let puzzle = entry.learnable();
        let out = options.folder(&puzzle.name())?;
        folder::check(&out)?;
        let _waiting = Waiting::during(format!("opening the run in {}", out.display()));
        let checkpoint = if options.resume { newest_checkpoint(&out)? } else { None };
        let (position, samples, lock) = match &checkpoint {
            None => {
                let plan = resolve(options, &entry.train_facts(options, device)?)?;
                plan.check_memory(&puzzle.encoding(), device, memory::available())?;
                let samples = entry.train_samples(&plan, stop)?;
                (RunPosition::start(plan), samples, claim(&out, options.resume)?)
            }
            Some(checkpoint) => {
                let lock = claim(&out, true)?;
                let position = checkpoint::read(checkpoint)?;
                position.plan.check_resume(&puzzle.name(), options)?;
                check_rules(&*puzzle, &checkpoint.join(MODEL))?;
                let samples = entry.train_samples(&position.plan, stop)?;
                (position, samples, lock)
            }
        };
        if let Some(seconds) = options.seconds {
            ensure_setting!(seconds > 0.0 && seconds.is_finite(), "for", "{seconds}: expected a time above 0");
        }
        if let Some(share) = options.decay {
            ensure_setting!(share > 0.0 && share.is_finite(), "decay", "{share}: expected a share above 0");
            let can_decay = position.decay.is_some() || position.samples > 0 && position.learning_rate() > 0.0;
            ensure_setting!(can_decay, "decay", "the run has not begun, or its rate is 0 already: leave it out");
            let end = position.decay.map(|decay| decay.end(share));
            let is_ahead = end.is_none_or(|end| end == position.total_samples || end > position.samples);
            ensure_setting!(is_ahead, "decay", "{share}: the decay is beyond that already: expected a larger share");
        }
        let training = Training::at(position, checkpoint.as_deref(), puzzle, samples, options, device)?;
        Ok(Training { opened, _lock: Some(lock), ..training })
    }

    /// A run at the position of a checkpoint, or at its [start](RunPosition::start), with the weights of
    /// [`TrainOptions::init`] if given. That model may be of another puzzle with the same encoding; its policy head is left
    /// out if the number of moves differs.
    ///
    /// # Errors
    /// If the network cannot be made, the checkpoint is damaged, the model does not fit, or the metrics cannot be cut back.
    pub fn at(
        position: RunPosition,
        checkpoint: Option<&Path>,
        puzzle: Arc<dyn Learnable>,
        samples: Arc<dyn Samples>,
        options: &TrainOptions,
        device: Device,
    ) -> Result<Self> {
        let mut training = Training::new(position, puzzle, samples, options, device)?;
        if let Some(checkpoint) = checkpoint {
            training.learner.read_state(checkpoint, &mut files::read_if_there)?;
        } else if let Some(model) = options.init_folder() {
            ModelConfig::read(model)?.check_init(&*training.puzzle, model)?;
            training.learner.read_weights(model)?;
        }
        checkpoint::sweep(&training.out)?;
        cut_metrics(&training.out.join(METRICS), training.samples())?;
        Ok(training)
    }

    fn new(
        position: RunPosition,
        puzzle: Arc<dyn Learnable>,
        samples: Arc<dyn Samples>,
        options: &TrainOptions,
        device: Device,
    ) -> Result<Self> {
        let out = options.folder(&position.plan.puzzle)?;
        let stored = position.tensorboard.as_ref().map(|folder| out.join(folder));
        let tensorboard = options.tensorboard.clone().or(stored);
        let position = position.with_options(options, &out);
        let learner = new_learner(&*puzzle, &position.plan, device)?;
        Ok(Training {
            puzzle,
            samples,
            out,
            tensorboard,
            position,
            learner,
            device,
            group: None,
            owes_snapshot: false,
            opened: Instant::now(),
            _lock: None,
        })
    }

    /// Settings of the run.
    pub fn plan(&self) -> &TrainPlan {
        &self.position.plan
    }

    /// Number of trained parameters.
    pub fn parameter_count(&self) -> u64 {
        self.learner.parameter_count()
    }

    /// Samples seen.
    pub fn samples(&self) -> u64 {
        self.position.samples
    }

    /// Samples in all.
    pub fn total_samples(&self) -> u64 {
        self.position.total_samples
    }

    /// Samples that are still to be seen; `None` if the run ends by the clock.
    pub fn samples_left(&self) -> Option<u64> {
        self.position.total_seconds.is_none().then(|| self.total_samples().saturating_sub(self.samples()))
    }

    /// Seconds that are left, if the run ends by the clock.
    pub fn seconds_left(&self) -> Option<f64> {
        self.position.total_seconds.map(|total| (total - self.position.seconds).max(0.0))
    }

    /// Whether nothing is left to do.
    pub fn is_finished(&self) -> bool {
        self.position.is_finished()
    }

    /// Folder for TensorBoard's metrics, if the run has one. The caller writes them.
    pub fn tensorboard(&self) -> Option<&Path> {
        self.tensorboard.as_deref()
    }

    /// Trains until all samples are seen or `stop` is set, and saves. Calls `watch` with every [`Event`].
    ///
    /// # Errors
    /// If the loss is no longer finite, or the last checkpoint cannot be written; the one before it stays.
    pub fn run(mut self, stop: &AtomicBool, watch: &mut dyn FnMut(&Event<'_>)) -> Result<Ended> {
        if self.is_finished() {
            return Ok(Ended::NothingLeft);
        }
        let (rank, ranks) = (self.rank(), self.ranks());
        if rank == 0 {
            self.save_start()?;
        }
        let mut batches = self.batches()?;
        let mut clock = Clock::start(&self.position, self.opened);
        let mut stopped = self.is_stopped(stop)?;
        while !self.is_finished() && !stopped {
            let batch = self.next_batch(&mut batches)?;
            stopped = self.step(&batch, stop)?;
            self.position.batches += ranks;
            self.position.samples += self.samples_per_step();
            self.position.seconds = clock.seconds();
            let most = self.samples_left().map_or(u64::MAX, |_| self.total_samples());
            watch(&Event::Step { samples: self.samples().min(most) });
            stopped |= self.group.is_none() && stop.load(Ordering::Relaxed); // ranks agreed on it within the step
            if rank == 0 {
                self.save_or_report(&mut clock, watch)?;
            }
        }
        if rank == 0 && clock.saved != self.samples() {
            self.save(&mut clock, watch)?;
        }
        if let Some(group) = &self.group {
            group.barrier("saved")?; // a launcher may end all ranks once one has ended
        }
        Ok(if self.is_finished() { Ended::Finished } else { Ended::Stopped })
    }

    fn sampler(&self, batch_size: usize) -> Sampler {
        let plan = self.plan();
        let shape = (self.puzzle.encoding().cells, self.puzzle.move_count());
        Sampler::new(Arc::clone(&self.samples), shape, plan.seed, plan.max_depth, batch_size)
    }

    /// The batches of this rank, from the next one on.
    fn batches(&self) -> Result<Batches> {
        let plan = self.plan();
        Ok(match plan.sampler {
            SamplerKind::Host => {
                let (first, threads) = (self.position.batches + self.rank(), self.device.sampler_threads());
                Batches::Host(Box::new(self.sampler(plan.batch_size).stream(first, self.ranks(), threads)))
            }
            SamplerKind::Device => Batches::Device(self.device_walks()?),
        })
    }

    fn device_walks(&self) -> Result<DeviceWalks> {
        let TrainPlan { seed, max_depth, batch_size, .. } = *self.plan();
        let _waiting = Waiting::during("making the first walks on the device".into());
        let rules = self.samples.rules().ok_or_else(|| Error::Bug("the device cannot make these samples".into()))?;
        let (first, stride) = (self.position.batches + self.rank(), self.ranks());
        self.learner.walks(&rules, Stream { seed, max_depth, batch_size, first, stride })
    }

    fn next_batch(&mut self, batches: &mut Batches) -> Result<DeviceBatch> {
        match batches {
            Batches::Host(batches) => {
                let mut batch = batches.next().ok_or_else(|| Error::Bug("a sampling thread has ended".into()))?;
                self.position.plan.labels.target().label(&mut self.learner, &mut batch)?;
                self.learner.upload(&batch)
            }
            Batches::Device(walks) => self.learner.next_batch(walks),
        }
    }
}

/// Where batches come from.
enum Batches {
    Host(Box<dyn Iterator<Item = Batch>>),
    Device(DeviceWalks),
}

fn new_learner(puzzle: &dyn Learnable, plan: &TrainPlan, device: Device) -> Result<Learner> {
    let (network, decay, seed) = (plan.network.clone(), plan.weight_decay, plan.seed);
    let fresh = || Learner::fresh(network, &puzzle.encoding(), device, plan.precision, decay, seed);
    let learner = device.run(fresh)??;
    Ok(if plan.ema > 0.0 { learner.with_ema(plan.ema) } else { learner })
}
