//! AdamW (Loshchilov and Hutter 2019), with its moments in tensors of our own, so that a checkpoint can hold them.

use super::parameters::Parameters;
use tch::Tensor;

/// Settings of AdamW that no flag changes.
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The optimizer's state: two moments for each of the two flat tensors of [`Parameters`].
#[derive(Debug)]
pub(super) struct AdamW {
    pub(super) steps: u64,
    pub(super) moments: [[Tensor; 2]; 2],
    weight_decay: f64,
}

impl AdamW {
    /// A fresh optimizer; only matrices decay.
    pub(super) fn new(parameters: &Parameters, weight_decay: f64) -> Self {
        let moments = parameters.trained().map(|tensor| [tensor.zeros_like(), tensor.zeros_like()]);
        AdamW { steps: 0, moments: moments.map(|pair| pair.map(|m| m.set_requires_grad(false))), weight_decay }
    }

    /// One step down the gradients of [`Parameters::trained`].
    pub(super) fn step(&mut self, parameters: &Parameters, gradients: &[Tensor], learning_rate: f64) {
        self.steps += 1;
        let correction1 = 1.0 - BETA1.powf(self.steps as f64);
        let correction2 = 1.0 - BETA2.powf(self.steps as f64);
        let rate = learning_rate * correction2.sqrt() / correction1;
        let decays = [self.weight_decay, 0.0];
        tch::no_grad(|| {
            for (((tensor, gradient), moments), decay) in
                parameters.trained().into_iter().zip(gradients).zip(&mut self.moments).zip(decays)
            {
                let [first, second] = moments;
                let mut tensor = tensor.detach();
                if decay > 0.0 {
                    let _ = tensor.g_mul_scalar_(1.0 - learning_rate * decay);
                }
                let _ = first.lerp_(gradient, 1.0 - BETA1);
                let scaled = gradient * (1.0 - BETA2).sqrt();
                let _ = second.g_mul_scalar_(BETA2).addcmul_(&scaled, &scaled);
                let divisor = second.sqrt().g_add_scalar_(EPSILON * correction2.sqrt());
                let _ = tensor.addcdiv_(&(&*first * -rate), &divisor);
            }
        });
    }
}
