//! The state of a learner: all that a training continues from, as files, and as bytes for another process.

use super::learner::{Ema, Learner};
use super::model::{ModelConfig, WEIGHTS};
use super::optimizer::AdamW;
use super::parameters::{ParameterEntry, Parameters};
use super::precision::Precision;
use super::tensor_file::{f32_values, read_parameters, write_parameters};
use crate::error::{Error, Result};
use crate::tensors::{host_values, no_grad};
use std::path::Path;
use tch::Tensor;

/// File of the network's parameters.
pub const STATE_WEIGHTS: &str = "weights.safetensors";
/// File of the optimizer.
pub const STATE_OPTIMIZER: &str = "optimizer.safetensors";
/// File of the EMA, if there is one.
pub const STATE_EMA: &str = "ema.safetensors";
/// File of the target network, if labels come from the network itself.
pub const STATE_TARGET: &str = "target.safetensors";

impl Learner {
    /// Writes the state exactly: parameters, statistics and moments in f32.
    ///
    /// # Errors
    /// If a file cannot be written, or the device has failed.
    pub fn write_state(&self, folder: &Path) -> Result<()> {
        self.device.run(|| {
            let files = [STATE_WEIGHTS, STATE_EMA, STATE_TARGET];
            for (file, parameters) in files.into_iter().zip(self.all_parameters()) {
                if let Some(parameters) = parameters {
                    write_parameters(&folder.join(file), parameters, Precision::F32)?;
                }
            }
            self.optimizer.write(&folder.join(STATE_OPTIMIZER))
        })?
    }

    /// The network, the EMA and the target network.
    fn all_parameters(&self) -> [Option<&Parameters>; 3] {
        let ema = self.ema.as_ref().map(|ema| &ema.parameters);
        [Some(&self.parameters), ema, self.target.as_ref().map(|target| &target.parameters)]
    }

    /// Restores the state from the files of [`Learner::write_state`].
    ///
    /// # Errors
    /// If a file is missing, damaged or of another network, or the device fails.
    pub fn read_state(&mut self, folder: &Path) -> Result<()> {
        self.device.run(|| {
            self.parameters = self.read_own(&folder.join(STATE_WEIGHTS))?;
            self.optimizer = AdamW::read(&folder.join(STATE_OPTIMIZER), &self.parameters, self.optimizer.weight_decay)?;
            if let Some(decay) = self.ema.as_ref().map(|ema| ema.decay) {
                let parameters = self.read_own(&folder.join(STATE_EMA))?.copy();
                self.ema = Some(Ema { parameters, decay });
            }
            let target = folder.join(STATE_TARGET);
            if target.exists() {
                self.set_target(self.read_own(&target)?)?;
            }
            Ok(())
        })?
    }

    /// Reads parameters of this network.
    fn read_own(&self, path: &Path) -> Result<Parameters> {
        Ok(read_parameters(path, self.parameters.layout.clone(), self.device.0, None)?.0)
    }

    /// Takes the weights of a model with the same layers, for a fresh optimizer. Keeps a policy head with another number of
    /// moves as it is.
    ///
    /// # Errors
    /// If a file is missing, damaged or of another network, or the device fails.
    pub fn read_weights(&mut self, model: &Path) -> Result<()> {
        self.device.run(|| {
            let config = ModelConfig::read(model)?;
            let (_, layout) = config.build(model, self.device, Precision::F32)?;
            let (theirs, _) = read_parameters(&model.join(WEIGHTS), layout, self.device.0, config.weights_crc32)?;
            let layout = self.parameters.layout.clone();
            let mut values = self.parameters.values();
            for (entry, theirs) in theirs.layout.entries.iter().zip(theirs.values()) {
                let is_same = |own: &ParameterEntry| (&own.name, &own.shape) == (&entry.name, &entry.shape);
                if let Some(same) = layout.entries.iter().position(is_same) {
                    values[same] = theirs;
                }
            }
            self.parameters = Parameters::from_values(layout, values, self.device.0);
            if let Some(ema) = &mut self.ema {
                ema.parameters = self.parameters.copy();
            }
            Ok(())
        })?
    }

    /// All tensors of the state, with shared memory.
    fn tensors(&self) -> impl Iterator<Item = Tensor> {
        let parameters = self.all_parameters().into_iter().flatten().flat_map(|parameters| &parameters.flat);
        parameters.chain(self.optimizer.moments.iter().flatten()).map(Tensor::detach)
    }

    /// The state as bytes, for a learner of the same network in another process.
    ///
    /// # Errors
    /// If the device has failed.
    pub fn state(&self) -> Result<Vec<u8>> {
        self.device.run(|| {
            let header = [self.optimizer_steps(), self.target.is_some().into()];
            let numbers = self.tensors().flat_map(|tensor| host_values(&tensor)).flat_map(f32::to_le_bytes);
            header.into_iter().flat_map(u64::to_le_bytes).chain(numbers).collect()
        })
    }

    /// Takes the state of [`Learner::state`].
    ///
    /// # Errors
    /// If it is of another network, or the device fails.
    pub fn take_state(&mut self, state: &[u8]) -> Result<()> {
        let other = || Error::Data("the state of the training is of another network".into());
        let (header, numbers) = state.split_first_chunk::<16>().ok_or_else(other)?;
        let [steps, has_target] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte])));
        self.device.run(|| {
            if has_target != 0 {
                self.set_target(self.parameters.copy())?;
            }
            let mut numbers = f32_values(numbers);
            if numbers.len() != self.tensors().map(|tensor| tensor.numel()).sum::<usize>() {
                return Err(other());
            }
            no_grad(|| {
                for mut tensor in self.tensors() {
                    let rest = numbers.split_off(tensor.numel());
                    tensor.copy_(&Tensor::from_slice(&numbers));
                    numbers = rest;
                }
            });
            self.optimizer.steps = steps;
            // The evaluator holds a copy of the parameters.
            let target = self.target.as_ref().map(|target| target.parameters.copy());
            target.map_or(Ok(()), |parameters| self.set_target(parameters))
        })?
    }
}
