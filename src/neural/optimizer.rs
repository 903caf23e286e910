//! AdamW (Loshchilov and Hutter 2019), with its moments in tensors of our own, so that a checkpoint can hold them.

use super::parameters::{Parameters, host_values};
use crate::error::{Context, Error, Result, ensure};
use crate::files::write_synced;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::path::Path;
use tch::Tensor;

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
