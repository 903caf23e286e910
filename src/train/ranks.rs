//! Several processes that train one network together: each learns from batches of its own, and all make the same step, with
//! the mean of their gradients.
//!
//! Rank r of N takes batches r, r + N, …: together they see what one process would with N times the batch. Gradients, running
//! statistics, losses and the stop flag travel in one sum a step. Batch normalisation is over a rank's own batch. Rank 0
//! alone writes: it holds the folder's lock, metrics and checkpoints, and the others begin with what it has read.

use super::checkpoint::Position;
use super::config::{self, TrainingConfig};
use super::{RunOptions, Training, new_learner};
use crate::distributed::Group;
use crate::error::{Context, Result};
use crate::memory;
use crate::neural::device::Device;
use crate::neural::learner::Sums;
use crate::neural::model::WEIGHTS;
use crate::puzzle::Puzzle;
use crate::registry::Entry;
use crate::sampler::{Batch, Source};
use crate::search::perimeter::Perimeter;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// From some sample on, so many ranks trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSpan {
    /// Samples that were seen before.
    pub from: u64,
    /// The number of ranks.
    pub ranks: u64,
}

impl<P: Puzzle> Training<P> {
    /// Opens a run that all ranks of a group train together: as [`Training::open`] on rank 0, and on the others, with what
    /// that has read.
    ///
    /// # Errors
    /// Those of [`Training::open`]; if a rank has failed or died.
    pub fn open_together(
        entry: &Entry<P>,
        config: &TrainingConfig,
        options: &RunOptions,
        device: Device,
        group: Arc<Group>,
        stop: &AtomicBool,
    ) -> Result<Self> {
        group.agree("device", if device.is_cuda() { "a CUDA device" } else { "the CPU" })?;
        if let Some(init) = &config.init {
            let path = init.folder.join(WEIGHTS);
            let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            group.agree("init", &format!("a model with the checksum {:08x}", crc32fast::hash(&bytes)))?;
        }
        if group.is_first() {
            let mut training = Training::open_run(entry, config, options, device, stop)?;
            training.group = Some(Arc::clone(&group));
            training.note_ranks();
            let position = serde_json::to_vec(&training.position).context("the position cannot be written as JSON")?;
            group.share("position", &position)?;
            group.barrier("opened")?;
            group.broadcast(training.learner.state()?)?;
            return Ok(training);
        }
        let position = group.share("position", b"")?;
        let position: Position = serde_json::from_slice(&position).context("rank 0 has another version of costar")?;
        let puzzle = Arc::clone(entry.puzzle());
        let settings = &position.settings;
        config::check_memory(settings, &puzzle.encoding(), device, memory::available())?;
        let room = Perimeter::<P::State>::room_in(memory::available());
        let Source { samples, .. } = entry.samples(settings.labels, settings.sparse_states, room, stop)?;
        let mut learner = new_learner(&*puzzle, settings, device)?;
        group.barrier("opened")?; // which may take the ranks different times
        learner.take_state(&group.broadcast(Vec::new())?)?;
        let (options, steps) = (options.clone(), position.steps);
        let group = Some(group);
        Ok(Training { puzzle, samples, options, steps, position, learner, device, group, _lock: None })
    }

    /// Notes in the run how many ranks train it from now on.
    pub(super) fn note_ranks(&mut self) {
        let (ranks, samples) = (self.ranks(), self.position.samples);
        let spans = &mut self.position.ranks;
        let before = spans.last().map_or(1, |span| span.ranks);
        if ranks != before {
            if spans.is_empty() && samples > 0 {
                spans.push(RankSpan { from: 0, ranks: 1 });
            }
            spans.push(RankSpan { from: samples, ranks });
        }
    }

    /// How many ranks the run had so far; `None` where it begins, or where as many train it now: then the same bits come
    /// out as of a run that was never stopped.
    pub fn ranks_before(&self) -> Option<u64> {
        let samples = self.position.samples;
        let [.., before, now] = self.position.ranks.as_slice() else { return None };
        (samples > 0 && now.from == samples).then_some(before.ranks)
    }

    /// How many processes train together.
    pub fn ranks(&self) -> u64 {
        self.group.as_ref().map_or(1, |group| group.size() as u64)
    }

    pub(super) fn rank(&self) -> u64 {
        self.group.as_ref().map_or(0, |group| group.rank() as u64)
    }

    /// Samples that all ranks see in a step.
    pub fn samples_a_step(&self) -> u64 {
        self.position.settings.batch_size as u64 * self.ranks()
    }

    /// Whether this process is to stop, or any other rank.
    pub(super) fn is_stopped(&self, stop: &AtomicBool) -> Result<bool> {
        let flag = if stop.load(Ordering::Relaxed) { 1.0 } else { 0.0 };
        let flags = match &self.group {
            Some(group) => group.sum(vec![flag])?,
            None => vec![flag],
        };
        Ok(flags[0] > 0.0)
    }

    /// Learns from a batch, with the other ranks if there are any; whether they are to stop after it, all at the same step.
    pub(super) fn step(&mut self, batch: &Batch, stop: &AtomicBool) -> Result<bool> {
        let rate = self.learning_rate();
        let Some(group) = self.group.clone() else {
            self.learner.step(batch, rate)?;
            return Ok(false);
        };
        let is_told = stop.load(Ordering::Relaxed);
        self.learner.step_together(batch, rate, is_told, &mut OverRanks(&group))
    }
}

/// Sums over the ranks of a group.
struct OverRanks<'a>(&'a Group);

impl Sums for OverRanks<'_> {
    fn size(&self) -> usize {
        self.0.size()
    }

    unsafe fn on_device(&mut self, device: usize, address: *mut f32, count: usize) -> Result<bool> {
        // SAFETY: as the caller says.
        unsafe { self.0.sum_on_device(device, address, count) }
    }

    fn on_host(&mut self, numbers: Vec<f32>) -> Result<Vec<f32>> {
        self.0.sum(numbers)
    }
}
