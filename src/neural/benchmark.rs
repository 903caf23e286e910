//! Measures a device, and the parts of an optimizer step.

use super::device::Device;
use super::learner::Learner;
use super::precision::Precision;
use crate::error::Result;
use crate::sampler::Batch;
use crate::tensors::no_grad;
use std::hint::black_box;
use std::time::Instant;
use tch::Tensor;

/// The rate of matrix products on a device, in floating-point operations per second: the limit of training and evaluation.
///
/// The best of several tries within `seconds`, with products of 8192 × 4096 × 4096 on CUDA, 2048 × 1024 × 1024 on the CPU.
pub fn product_rate(device: Device, precision: Precision, seconds: f64) -> f64 {
    let size = if device.is_cuda() { 4096 } else { 1024 };
    let kind = (precision.kind(), device.0);
    let (a, b) = (Tensor::randn([2 * size, size], kind), Tensor::randn([size, size], kind));
    let started = Instant::now();
    let mut best = 0f64;
    while started.elapsed().as_secs_f64() < seconds {
        let started = Instant::now();
        for _ in 0..16 {
            drop(black_box(a.matmul(&b)));
        }
        device.synchronize();
        best = best.max(16.0 * 4.0 * (size as f64).powi(3) / started.elapsed().as_secs_f64());
    }
    best
}

/// Seconds that each part of an optimizer step takes, by name, in order: transfer of the batch to the device; one-hot
/// encoding; forward pass, with the casting of weights and the loss; backward pass; update by the optimizer. Forward and
/// backward are differences, since they cannot run without the parts before them.
pub type StepTimes = [(&'static str, f64); 5];

impl Learner {
    /// Repeats each part of an optimizer step on one batch for about `seconds`. Disturbs the optimizer's moments and the
    /// running statistics: not for a network that is used later.
    ///
    /// # Errors
    /// If the device fails.
    pub fn step_times(&mut self, batch: &Batch, seconds: f64) -> Result<StepTimes> {
        let device = self.device;
        let uploaded = self.upload(batch)?;
        device.run(|| {
            let time = |part: &mut dyn FnMut()| {
                part();
                device.synchronize();
                let started = Instant::now();
                let mut runs = 0;
                while runs == 0 || started.elapsed().as_secs_f64() < seconds {
                    (0..4).for_each(|_| part());
                    device.synchronize();
                    runs += 4;
                }
                started.elapsed().as_secs_f64() / f64::from(runs)
            };
            let transfer = time(&mut || drop(self.upload(batch)));
            let encoding = no_grad(|| time(&mut || drop(self.network.one_hot().encode(&uploaded.rows))));
            let forward = time(&mut || drop(self.forward(&uploaded)));
            let both = time(&mut || drop(self.backward(&self.forward(&uploaded).0)));
            let gradients = self.backward(&self.forward(&uploaded).0);
            let optimizer = time(&mut || self.optimizer.step(&self.parameters, &gradients, 0.0));
            let rest = |whole: f64, part: f64| (whole - part).max(1e-9);
            let names = ["transfer", "encoding", "forward", "backward", "optimizer"];
            let seconds = [transfer, encoding, rest(forward, encoding), rest(both, forward), optimizer];
            std::array::from_fn(|part| (names[part], seconds[part]))
        })
    }
}
