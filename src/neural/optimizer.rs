//! AdamW (Loshchilov and Hutter 2019), with its moments in tensors of our own, so that a checkpoint can hold them.

use super::operations::{self, Rates};
use super::parameters::{Parameters, host_values};
use crate::error::{Context, Error, Result, ensure};
use crate::files::write_synced;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::path::Path;
use tch::{Kind, Tensor};

/// Settings of AdamW that no flag changes.
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The optimizer's state: two moments for each of the two flat tensors of [`Parameters`].
#[derive(Debug)]
pub(super) struct AdamW {
    steps: u64,
    pub(super) moments: [[Tensor; 2]; 2],
    pub(super) weight_decay: f64,
}

impl AdamW {
    /// A fresh optimizer; only matrices decay.
    pub(super) fn new(parameters: &Parameters, weight_decay: f64) -> Self {
        let moments = parameters.trained().map(|tensor| [tensor.zeros_like(), tensor.zeros_like()]);
        AdamW { steps: 0, moments: moments.map(|pair| pair.map(|m| m.set_requires_grad(false))), weight_decay }
    }

    /// Steps made so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// One step down the gradients of [`Parameters::trained`].
    pub(super) fn step(&mut self, parameters: &Parameters, gradients: &[Tensor], learning_rate: f64) {
        self.steps += 1;
        super::device::no_grad(|| {
            let steps = Tensor::full([1], self.steps as f64, (Kind::Float, gradients[0].device()));
            let decays = [self.weight_decay, 0.0];
            for (((tensor, gradient), moments), weight_decay) in
                parameters.trained().into_iter().zip(gradients).zip(&self.moments).zip(decays)
            {
                let rates = Rates { learning_rate, betas: [BETA1, BETA2], weight_decay, epsilon: EPSILON };
                operations::adamw(&tensor.detach(), gradient, moments, &steps, rates);
            }
        });
    }

    /// The moments, on the host.
    pub(super) fn values(&self) -> Vec<f32> {
        self.moments.iter().flatten().flat_map(host_values).collect()
    }

    /// Takes such numbers from the front of `values`, and the steps made.
    ///
    /// # Panics
    /// If there are too few.
    pub(super) fn take_values(&mut self, steps: u64, values: &mut &[f32]) {
        self.steps = steps;
        for moment in self.moments.iter_mut().flatten() {
            let (own, rest) = values.split_at(moment.numel());
            moment.copy_(&Tensor::from_slice(own));
            *values = rest;
        }
    }

    /// Writes the moments and the number of steps, exactly.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let mut tensors = vec![(STEPS.to_owned(), Dtype::U64, self.steps.to_le_bytes().to_vec())];
        for (name, moment) in NAMES.iter().zip(self.moments.iter().flatten()) {
            let bytes = host_values(moment).iter().flat_map(|value| value.to_le_bytes()).collect();
            tensors.push((name.to_string(), Dtype::F32, bytes));
        }
        let views = tensors.iter().map(|(name, kind, bytes)| {
            let length = bytes.len() / if *kind == Dtype::U64 { 8 } else { 4 };
            (name.as_str(), TensorView::new(*kind, vec![length], bytes).expect("the bytes were made for this shape"))
        });
        write_synced(path, &safetensors::serialize(views, None).map_err(|error| Error::Bug(error.to_string()))?)
    }

    /// Reads what [`AdamW::write`] wrote for the same parameters.
    pub(super) fn read(path: &Path, parameters: &Parameters, weight_decay: f64) -> Result<AdamW> {
        let name = path.display();
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let file = SafeTensors::deserialize(&bytes)
            .map_err(|error| Error::Data(format!("{name} is truncated, or not a safetensors file ({error})")))?;
        let tensor =
            |part: &str| file.tensor(part).map_err(|_| Error::Data(format!("{name} lacks the tensor '{part}'")));
        let mut optimizer = AdamW::new(parameters, weight_decay);
        let steps: [u8; 8] =
            tensor(STEPS)?.data().try_into().ok().with_context(|| format!("{name} has no step count"))?;
        optimizer.steps = u64::from_le_bytes(steps);
        for (part, moment) in NAMES.iter().zip(optimizer.moments.iter_mut().flatten()) {
            let data = tensor(part)?;
            ensure!(
                data.dtype() == Dtype::F32 && data.shape() == [moment.numel()],
                "the tensor '{part}' in {name} does not fit the network"
            );
            let values: Vec<f32> =
                data.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            *moment = Tensor::from_slice(&values).to_device(moment.device());
        }
        Ok(optimizer)
    }
}

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
        let rates = Rates { learning_rate: 0.01, betas: [BETA1, BETA2], weight_decay: 0.1, epsilon: EPSILON };
        for step in 1..=5 {
            let steps = Tensor::from_slice(&[step as f32]);
            operations::adamw(&own, &Tensor::from_slice(&gradient), &moments, &steps, rates);
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
