//! The speed of a training step, part by part.

use super::device::no_grad;
use super::learner::Learner;
use crate::error::Result;
use crate::sampler::Batch;
use std::time::Instant;

/// The seconds that the parts of a training step take on one batch, each over and over; forward and backward are
/// differences, for they cannot run without what comes before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stages {
    /// The batch's way to the device.
    pub transfer: f64,
    /// The one-hot of its rows.
    pub encoding: f64,
    /// The forward pass, the casting of weights and the loss with it.
    pub forward: f64,
    /// The backward pass.
    pub backward: f64,
    /// The optimizer's step.
    pub optimizer: f64,
}

impl Stages {
    /// Each part with its name, in the order of a step.
    pub fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("transfer", self.transfer),
            ("encoding", self.encoding),
            ("forward", self.forward),
            ("backward", self.backward),
            ("optimizer", self.optimizer),
        ]
    }
}

impl Learner {
    /// Measures the parts of a step on one batch, each over and over for about so many seconds. It disturbs the
    /// optimizer's moments and the running statistics: not for a network that is to be used.
    ///
    /// # Errors
    /// If the device fails.
    pub fn stages(&mut self, batch: &Batch, seconds: f64) -> Result<Stages> {
        let device = self.device;
        device.run(|| {
            let uploaded = self.upload(batch);
            let time = |part: &mut dyn FnMut()| {
                part();
                device.synchronize();
                let begun = Instant::now();
                let mut runs = 0;
                while runs == 0 || begun.elapsed().as_secs_f64() < seconds {
                    (0..4).for_each(|_| part());
                    device.synchronize();
                    runs += 4;
                }
                begun.elapsed().as_secs_f64() / f64::from(runs)
            };
            let transfer = time(&mut || drop(self.upload(batch)));
            let encoding = no_grad(|| time(&mut || drop(self.network.encode(&uploaded.rows))));
            let forward = time(&mut || drop(self.forward(&uploaded)));
            let both = time(&mut || drop(self.backward(&self.forward(&uploaded))));
            let gradients = self.backward(&self.forward(&uploaded));
            let optimizer = time(&mut || self.optimizer.step(&self.parameters, &gradients, 0.0));
            let rest = |whole: f64, part: f64| (whole - part).max(1e-9);
            let (forward, backward) = (rest(forward, encoding), rest(both, forward));
            Stages { transfer, encoding, forward, backward, optimizer }
        })
    }
}
