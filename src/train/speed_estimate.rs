//! Speed of a training, estimated before it begins.

use super::plan::SamplerKind;
use super::{Training, new_learner};
use crate::error::Result;
use crate::neural::benchmark::product_rate;
use crate::neural::learner::Learner;
use crate::quantity::grouped;
use crate::sampler::Batch;
use crate::waiting::Waiting;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Longest time that one batch size is measured for, in seconds.
const MAX_SECONDS: f64 = 2.0;

/// Samples of the smallest batch that is measured.
const MIN_BATCH: usize = 4;

impl Training {
    /// Samples a second on this device, measured on a copy of the network for some seconds. If a whole step takes long,
    /// it is extrapolated from smaller batches, the smallest of which gives the fixed cost of a step. `None` if `stop` is
    /// set before it is known. Logs the speed of each part of a step if the log takes details.
    ///
    /// # Errors
    /// If the network cannot be made a second time, or libtorch fails.
    pub fn measure_speed(&self, stop: &AtomicBool) -> Result<Option<f64>> {
        let _waiting = Waiting::during("taking the first steps, to measure the speed".into());
        let learner = new_learner(&*self.puzzle, self.plan(), self.device)?;
        // Ranks that learn together record no step.
        let mut learner = if self.ranks() > 1 { learner.without_record() } else { learner };
        let speed = self.samples_a_second(&mut learner, stop)?;
        if log::log_enabled!(log::Level::Debug) && !stop.load(Ordering::Relaxed) {
            log::debug!("samples a second, of each part of a step alone: {}", self.parts_of_a_step(&mut learner)?);
            let products = product_rate(self.device, self.plan().precision, 0.2);
            log::debug!("matrix products: {:.2} TFLOP/s in {}", products / 1e12, self.plan().precision);
        }
        Ok(speed)
    }

    /// Samples a second that each part of a step could do alone, as text.
    fn parts_of_a_step(&self, learner: &mut Learner) -> Result<String> {
        const SECONDS_PER_PART: f64 = 0.2;
        let batch_size = self.plan().batch_size;
        let (sampler, started) = (self.sampler(batch_size), Instant::now());
        let batch = sampler.batch(0);
        let sampling = match self.plan().sampler {
            SamplerKind::Host => started.elapsed().as_secs_f64() / self.device.sampler_threads() as f64,
            SamplerKind::Device => {
                let (mut walks, started) = (self.device_walks()?, Instant::now());
                let round = walks.lanes();
                for _ in 0..=round {
                    learner.next_batch(&mut walks)?;
                }
                self.device.synchronize();
                started.elapsed().as_secs_f64() / round as f64
            }
        };
        let times = learner.step_times(&batch, SECONDS_PER_PART)?;
        let parts = [("sampling", sampling)].into_iter().chain(times);
        let parts = parts.map(|(name, seconds)| format!("{name} {}", grouped((batch_size as f64 / seconds) as u64)));
        Ok(parts.collect::<Vec<_>>().join(", "))
    }

    /// Samples a second by whole steps; `None` if `stop` is set before it is known.
    fn samples_a_second(&self, learner: &mut Learner, stop: &AtomicBool) -> Result<Option<f64>> {
        let is_stopped = || stop.load(Ordering::Relaxed);
        let labels = self.plan().labels.clone();
        let mut step = |batch: &Batch| -> Result<f64> {
            let started = Instant::now();
            let mut batch = batch.clone();
            labels.target().label(learner, &mut batch)?;
            learner.step(&batch, 0.0)?;
            learner.losses()?;
            Ok(started.elapsed().as_secs_f64())
        };
        let whole = self.plan().batch_size;
        let smallest = whole.min(MIN_BATCH);
        let steps_left = self.samples_left().map_or(f64::INFINITY, |samples| samples as f64 / whole as f64);
        let (mut size, mut fixed) = (smallest, None);
        loop {
            let batch = self.sampler(size).batch(0);
            step(&batch)?; // the first of a size also sets up caches and buffers
            if is_stopped() {
                return Ok(None);
            }
            let (mut seconds, mut steps) = (step(&batch)?, 1.0);
            let is_last = size == whole || seconds > MAX_SECONDS;
            // At most a tenth of the time that the run will take.
            let run = self.seconds_left().unwrap_or(steps_left * seconds);
            let enough = MAX_SECONDS.min(0.1 * run);
            while is_last && seconds < enough && !is_stopped() {
                seconds += step(&batch)?;
                steps += 1.0;
            }
            seconds /= steps;
            if size < whole && is_stopped() {
                return Ok(None);
            }
            let fixed = *fixed.get_or_insert(seconds);
            if is_last {
                let each = (seconds - fixed).max(0.0) / (size - smallest).max(1) as f64;
                return Ok(Some(whole as f64 / (seconds + each * (whole - size) as f64)));
            }
            size = (8 * size).min(whole);
        }
    }
}
