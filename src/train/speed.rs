//! How fast a training will be, measured before it begins.

use super::{Training, new_learner};
use crate::error::Result;
use crate::neural::learner::Learner;
use crate::puzzle::Puzzle;
use crate::quantity::grouped;
use crate::sampler::{Batch, Labels};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

impl<P: Puzzle> Training<P> {
    /// Samples a second on this device, measured on a copy of the network for some seconds: by whole steps; where one
    /// takes long, extrapolated from smaller ones, of which the smallest gives the fixed cost of a step. `None` if `stop` is
    /// set before it is known. The parts of a step are measured too where the log takes details.
    ///
    /// # Errors
    /// If the network cannot be made a second time, or libtorch fails.
    pub fn measure_speed(&self, stop: &AtomicBool) -> Result<Option<f64>> {
        let settings = &self.position.settings;
        let mut learner = new_learner(&*self.puzzle, settings, self.device)?;
        if matches!(settings.labels, Labels::Bellman { .. }) {
            learner.update_target()?;
        }
        let speed = self.samples_a_second(&mut learner, stop)?;
        if log::log_enabled!(log::Level::Debug) && !stop.load(Ordering::Relaxed) {
            log::debug!("samples a second, of each part of a step alone: {}", self.stages(&mut learner)?);
        }
        Ok(speed)
    }

    /// What the parts of a step could do on one batch, were there no others.
    fn stages(&self, learner: &mut Learner) -> Result<String> {
        const SECONDS: f64 = 0.2;
        let batch_size = self.position.settings.batch_size;
        let (sampler, begun) = (self.sampler(batch_size), Instant::now());
        let batch = sampler.batch(0);
        let sampling = begun.elapsed().as_secs_f64() / self.device.sampler_threads() as f64;
        let stages = learner.stages(&batch, SECONDS)?;
        let parts = [("sampling", sampling)].into_iter().chain(stages.named());
        let parts = parts.map(|(name, seconds)| format!("{name} {}", grouped((batch_size as f64 / seconds) as u64)));
        Ok(parts.collect::<Vec<_>>().join(", "))
    }

    /// Samples a second by whole steps; `None` if `stop` is set before that is known.
    fn samples_a_second(&self, learner: &mut Learner, stop: &AtomicBool) -> Result<Option<f64>> {
        const ENOUGH: f64 = 2.0;
        let settings = &self.position.settings;
        let mut step = |fresh: &Batch| -> Result<f64> {
            let begun = Instant::now();
            let mut batch = fresh.clone();
            if batch.children.is_some() {
                learner.relabel(&mut batch)?;
            }
            learner.step(&batch, 0.0)?;
            learner.losses()?;
            Ok(begun.elapsed().as_secs_f64())
        };
        let (few, whole) = (settings.batch_size.min(4), settings.batch_size);
        let steps_left = self.samples_left() as f64 / whole as f64;
        let (mut size, mut of_few) = (few, None);
        loop {
            let batch = self.sampler(size).batch(0);
            step(&batch)?; // the first of a size also pays for what is set up once
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
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
                return Ok(Some(whole as f64 / seconds));
            }
            let fixed = *of_few.get_or_insert(seconds);
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if last {
                let each = (seconds - fixed).max(0.0) / (size - few).max(1) as f64;
                return Ok(Some(whole as f64 / (seconds + each * (whole - size) as f64)));
            }
            size = (8 * size).min(whole);
        }
    }
}
