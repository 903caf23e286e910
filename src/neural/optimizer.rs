//! AdamW (Loshchilov and Hutter 2019), with its moments in tensors of our own, so that a checkpoint can hold them.

use super::parameters::Parameters;
use super::tensor_file::{self, StoredTensor, TensorFile};
use crate::error::{Context, Result};
use crate::tensors::operations::{self, Rates};
use crate::tensors::{host_values, no_grad};
use safetensors::Dtype;
use std::path::Path;
use tch::{Kind, Tensor};

/// Settings of AdamW without a flag.
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The optimizer's state: two moments for each of the two flat tensors of [`Parameters::trained`].
pub(super) struct AdamW {
    /// Optimizer steps so far.
    pub(super) steps: u64,
    pub(super) moments: [[Tensor; 2]; 2],
    pub(super) weight_decay: f64,
}

impl AdamW {
    /// A fresh optimizer; only matrices decay.
    pub(super) fn new(parameters: &Parameters, weight_decay: f64) -> Self {
        let zeros = |tensor: &Tensor| tensor.zeros_like().set_requires_grad(false);
        let moments = parameters.trained().map(|tensor| [zeros(tensor), zeros(tensor)]);
        AdamW { steps: 0, moments, weight_decay }
    }

    /// One step down the gradients of [`Parameters::trained`].
    pub(super) fn step(&mut self, parameters: &Parameters, gradients: &[Tensor], learning_rate: f64) {
        self.steps += 1;
        let device = gradients[0].device();
        let number = |number: f64, shape: &[i64]| Tensor::full(shape, number, (Kind::Float, device));
        // On CUDA in f32, as a recorded step has it: the bits are the same then.
        let rate = device.is_cuda().then(|| number(learning_rate, &[]));
        self.descend(parameters, gradients, &number(self.steps as f64, &[1]), rate.as_ref(), learning_rate);
    }

    /// The same step, not counted: `steps` is the number of steps, including this one. A `rate` on the device replaces
    /// `learning_rate`.
    pub(super) fn descend(
        &self,
        parameters: &Parameters,
        gradients: &[Tensor],
        steps: &Tensor,
        rate: Option<&Tensor>,
        learning_rate: f64,
    ) {
        no_grad(|| {
            for (group, weight_decay) in [self.weight_decay, 0.0].into_iter().enumerate() {
                let values = parameters.trained()[group].detach();
                let rates = Rates { learning_rate, beta1: BETA1, beta2: BETA2, weight_decay, epsilon: EPSILON };
                operations::adamw(&values, &gradients[group], &self.moments[group], steps, rate, &rates);
            }
        });
    }

    /// The bytes of a file with the moments and the number of steps, exactly.
    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let bytes = self.steps.to_le_bytes().to_vec();
        let mut tensors = vec![StoredTensor { name: STEPS.into(), kind: Dtype::U64, shape: vec![1], bytes }];
        for (name, moment) in NAMES.iter().zip(self.moments.iter().flatten()) {
            tensors.push(StoredTensor::of_f32(name, vec![moment.numel()], &host_values(moment)));
        }
        tensor_file::bytes(&tensors)
    }

    /// The optimizer in the [`AdamW::bytes`] of a file for the same parameters.
    pub(super) fn parse(path: &Path, bytes: &[u8], parameters: &Parameters, weight_decay: f64) -> Result<AdamW> {
        let file = TensorFile::parse(path, bytes)?;
        let mut optimizer = AdamW::new(parameters, weight_decay);
        let steps = file.tensor(STEPS)?.data().try_into().ok();
        let steps = steps.with_context(|| format!("{} has no step count", path.display()))?;
        optimizer.steps = u64::from_le_bytes(steps);
        for (name, moment) in NAMES.iter().zip(optimizer.moments.iter_mut().flatten()) {
            let values = file.values(name, &[moment.numel() as i64])?;
            *moment = Tensor::from_slice(&values).to_device(moment.device());
        }
        Ok(optimizer)
    }
}

/// Names in files.
const STEPS: &str = "steps";
/// In the order of [`AdamW::moments`].
const NAMES: [&str; 4] = ["matrices.first", "matrices.second", "vectors.first", "vectors.second"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_that_of_the_paper() {
        let gradient = [0.5f32, -2.0, 0.0, 1e-3];
        let [mut values, mut first, mut second] = [[1.0f64, -1.0, 2.0, 0.25], [0.0; 4], [0.0; 4]];
        let tensor = |values: &[f64]| Tensor::from_slice(values).to_kind(Kind::Float);
        let (own, moments) = (tensor(&values), [tensor(&first), tensor(&second)]);
        let rates = Rates { learning_rate: 0.01, beta1: BETA1, beta2: BETA2, weight_decay: 0.1, epsilon: EPSILON };
        for step in 1..=5 {
            let steps = Tensor::from_slice(&[step as f32]);
            operations::adamw(&own, &Tensor::from_slice(&gradient), &moments, &steps, None, &rates);
            for i in 0..4 {
                // Loshchilov and Hutter 2019, Algorithm 2.
                let g = f64::from(gradient[i]);
                first[i] = BETA1 * first[i] + (1.0 - BETA1) * g;
                second[i] = BETA2 * second[i] + (1.0 - BETA2) * g * g;
                let (m, v) = (first[i] / (1.0 - BETA1.powi(step)), second[i] / (1.0 - BETA2.powi(step)));
                values[i] -= 0.01 * (m / (v.sqrt() + EPSILON) + 0.1 * values[i]);
            }
            let near = host_values(&own).iter().zip(values).all(|(&own, value)| (f64::from(own) - value).abs() < 1e-6);
            assert!(near, "step {step}: {own:?} for {values:?}");
        }
    }
}
