//! Data-parallel training: several processes train one network, each on batches of its own, and all make the same
//! optimizer step, with the mean of their gradients.
//!
//! Rank r of N takes batches r, r + N, …: together they see what one process would with N times the batch. Gradients,
//! running statistics, losses and the stop flag travel in one sum per step. Batch normalisation is over a rank's own batch.
//! Rank 0 alone holds the folder's lock, and writes metrics and checkpoints. The others receive the state that it has read.

use super::checkpoint::RunPosition;
use super::{TrainOptions, Trainable, Training};
use crate::distributed::Group;
use crate::error::{Result, bail_setting};
use crate::exchange::Exchange as _;
use crate::files;
use crate::memory;
use crate::neural::device::Device;
use crate::neural::learner_state::STATE_FILES;
use crate::neural::model::WEIGHTS;
use crate::sampler::DeviceBatch;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of ranks that train from some sample on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSpan {
    /// Samples seen before.
    pub from: u64,
    /// Number of ranks.
    pub ranks: u64,
}

impl Training {
    /// Opens a run that all ranks of a group train together: rank 0 as [`Training::open`], the others with its state.
    ///
    /// # Errors
    /// Those of [`Training::open`]; if a rank has failed or died.
    pub fn open_together(
        entry: &dyn Trainable,
        options: &TrainOptions,
        device: Device,
        group: Arc<Group>,
        stop: &AtomicBool,
    ) -> Result<Self> {
        group.agree("device", if device.is_cuda() { "a CUDA device" } else { "the CPU" })?;
        if let Some(init) = options.init_folder() {
            let checksum = crc32fast::hash(&files::read(&init.join(WEIGHTS))?);
            group.agree("init", &format!("a model with the checksum {checksum:08x}"))?;
        }
        if group.is_first() {
            let mut training = Training::open_folder(entry, options, device, stop)?;
            if training.position.total_seconds.is_some() {
                let ranks = group.size();
                bail_setting!("for", "{ranks} ranks train together, and each has its own clock: give `samples`");
            }
            training.group = Some(Arc::clone(&group));
            training.note_ranks();
            group.share("position", Some(&training.position))?;
            group.barrier("opened")?;
            for file in STATE_FILES {
                group.broadcast(training.learner.state_file(file)?.unwrap_or_default())?;
            }
            return Ok(training);
        }
        let position: RunPosition = group.share("position", None)?;
        let puzzle = entry.learnable();
        position.plan.check_memory(&puzzle.encoding(), device, memory::available())?;
        let samples = entry.train_samples(&position.plan, stop)?;
        let mut training = Training::new(position, puzzle, samples, options, device)?;
        group.barrier("opened")?; // the ranks may take different times
        let mut receive = |_: &Path| Ok(Some(group.broadcast(Vec::new())?).filter(|content| !content.is_empty()));
        training.learner.read_state(&training.out, &mut receive)?;
        Ok(Training { group: Some(group), ..training })
    }

    /// Notes in the run how many ranks train it from now on.
    pub(super) fn note_ranks(&mut self) {
        let (ranks, samples) = (self.ranks(), self.samples());
        let spans = &mut self.position.ranks;
        if ranks != spans.last().map_or(1, |span| span.ranks) {
            if spans.is_empty() && samples > 0 {
                spans.push(RankSpan { from: 0, ranks: 1 });
            }
            spans.push(RankSpan { from: samples, ranks });
        }
    }

    /// Number of ranks before the run was resumed, if it has changed: the bits then differ from those of a run that was never
    /// stopped.
    pub fn ranks_before(&self) -> Option<u64> {
        let [.., before, now] = self.position.ranks.as_slice() else { return None };
        (now.from > 0 && now.from == self.samples()).then_some(before.ranks)
    }

    /// Number of processes that train together.
    pub fn ranks(&self) -> u64 {
        self.group.as_ref().map_or(1, |group| group.size() as u64)
    }

    pub(super) fn rank(&self) -> u64 {
        self.group.as_ref().map_or(0, |group| group.rank() as u64)
    }

    /// Samples that all ranks see in an optimizer step.
    pub fn samples_per_step(&self) -> u64 {
        self.plan().batch_size as u64 * self.ranks()
    }

    /// Whether this process or any other rank is stopped.
    pub(super) fn is_stopped(&self, stop: &AtomicBool) -> Result<bool> {
        let stop = stop.load(Ordering::Relaxed);
        let Some(group) = &self.group else { return Ok(stop) };
        Ok(group.sum(vec![f32::from(u8::from(stop))])?[0] > 0.0)
    }

    /// Learns from a batch, together with the other ranks. Returns whether one of them is stopped, the same on all
    /// ranks; `false` without a group.
    pub(super) fn step(&mut self, batch: &DeviceBatch, stop: &AtomicBool) -> Result<bool> {
        let rate = self.position.learning_rate();
        match &self.group {
            None => self.learner.learn(batch, rate).map(|()| false),
            Some(group) => self.learner.learn_together(batch, rate, stop.load(Ordering::Relaxed), &**group),
        }
    }
}
