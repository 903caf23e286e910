//! The state of a training: all that it goes on from, as files and as bytes for another process.

use super::learner::{Ema, Learner};
use super::model::{self, ModelConfig};
use super::optimizer::AdamW;
use super::parameters::Parameters;
use super::precision::Precision;
use crate::error::{Error, Result};
use std::path::Path;
use tch::Kind;

/// The files of a training's state.
pub const STATE_WEIGHTS: &str = "weights.safetensors";
/// See [`STATE_WEIGHTS`].
pub const STATE_OPTIMIZER: &str = "optimizer.safetensors";
/// See [`STATE_WEIGHTS`]; with an EMA.
pub const STATE_EMA: &str = "ema.safetensors";
/// See [`STATE_WEIGHTS`]; where labels come from the network itself.
pub const STATE_TARGET: &str = "target.safetensors";

impl Learner {
    /// Writes all that training goes on from, exactly: parameters, statistics and moments in f32.
    ///
    /// # Errors
    /// If a file cannot be written, or the device has failed.
    pub fn write_state(&self, folder: &Path) -> Result<()> {
        self.device.run(|| {
            model::write_tensors(&folder.join(STATE_WEIGHTS), &self.parameters, Precision::F32)?;
            if let Some(ema) = &self.ema {
                model::write_tensors(&folder.join(STATE_EMA), &ema.parameters, Precision::F32)?;
            }
            if let Some(target) = &self.target {
                model::write_tensors(&folder.join(STATE_TARGET), &target.parameters, Precision::F32)?;
            }
            self.optimizer.write(&folder.join(STATE_OPTIMIZER))
        })?
    }

    /// Takes up what [`Learner::write_state`] wrote.
    ///
    /// # Errors
    /// If a file is missing, damaged or of another network, or the device fails.
    pub fn read_state(&mut self, folder: &Path) -> Result<()> {
        self.device.run(|| {
            self.parameters = self.read_tensors(&folder.join(STATE_WEIGHTS))?;
            self.optimizer = AdamW::read(&folder.join(STATE_OPTIMIZER), &self.parameters, self.optimizer.weight_decay)?;
            if let Some(decay) = self.ema.as_ref().map(|ema| ema.decay) {
                let parameters = self.read_tensors(&folder.join(STATE_EMA))?;
                self.ema = Some(Ema { parameters: parameters.copy(), decay });
            }
            let target = folder.join(STATE_TARGET);
            if target.exists() {
                let target = self.read_tensors(&target)?;
                self.set_target(target)?;
            }
            Ok(())
        })?
    }

    /// Takes the weights of a model with the same layers, and keeps the optimizer fresh. A policy head of another number of
    /// moves is left as it is.
    ///
    /// # Errors
    /// If a file is missing, damaged or of another network, or the device fails.
    pub fn read_weights(&mut self, model: &Path) -> Result<()> {
        self.device.run(|| {
            let config = ModelConfig::read(model)?;
            let built = config.network.build(&config.encoding, self.device.0, Kind::Float);
            let (_, layout) = built.map_err(|error| Error::Data(format!("{}: {error}", model.display())))?;
            let theirs = model::read_tensors(&model.join(model::WEIGHTS), &layout)?;
            let own = self.parameters.layout().clone();
            let mut values = self.parameters.values();
            for (entry, theirs) in layout.entries().iter().zip(theirs) {
                let same = own.entries().iter().position(|own| own.name == entry.name && own.shape == entry.shape);
                if let Some(same) = same {
                    values[same] = theirs;
                }
            }
            self.parameters = Parameters::from_values(own, values, self.device.0);
            if let Some(ema) = &mut self.ema {
                ema.parameters = self.parameters.copy();
            }
            Ok(())
        })?
    }

    fn read_tensors(&self, path: &Path) -> Result<Parameters> {
        let layout = self.parameters.layout().clone();
        let values = model::read_tensors(path, &layout)?;
        Ok(Parameters::from_values(layout, values, self.device.0))
    }

    /// All that training goes on from, as bytes, for a learner of the same network in another process.
    ///
    /// # Errors
    /// If the device has failed.
    pub fn state(&self) -> Result<Vec<u8>> {
        self.device.run(|| {
            let others = [self.ema.as_ref().map(|ema| &ema.parameters), self.target.as_ref().map(|it| &it.parameters)];
            let mut numbers = self.parameters.flat_values();
            numbers.extend(self.optimizer.values());
            others.into_iter().flatten().for_each(|parameters| numbers.extend(parameters.flat_values()));
            let header = [self.steps(), self.target.is_some().into()];
            let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
            header.into_iter().flat_map(u64::to_le_bytes).chain(numbers).collect()
        })
    }

    /// Takes up what [`Learner::state`] gave.
    ///
    /// # Errors
    /// If it is of another network, or the device fails.
    pub fn take_state(&mut self, state: &[u8]) -> Result<()> {
        self.device.run(|| {
            let of =
                |parameters: &Parameters| parameters.layout().entries().iter().map(|entry| entry.len()).sum::<i64>();
            let words = |at: usize| state.get(8 * at..8 * at + 8).and_then(|bytes| bytes.try_into().ok());
            let [steps, has_target] = [words(0), words(1)].map(|bytes| bytes.map_or(0, u64::from_le_bytes));
            let all = of(&self.parameters) as u64;
            let moments = 2 * self.parameter_count();
            let expected = all * (1 + u64::from(self.ema.is_some()) + has_target.min(1)) + moments;
            let numbers: Vec<f32> = state
                .get(16..)
                .unwrap_or_default()
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            if numbers.len() as u64 != expected {
                return Err(Error::Data("the state of the training is of another network".into()));
            }
            let mut rest = numbers.as_slice();
            let target = super::device::no_grad(|| {
                self.parameters.take_values(&mut rest);
                self.optimizer.take_values(steps, &mut rest);
                if let Some(ema) = &self.ema {
                    ema.parameters.take_values(&mut rest);
                }
                (has_target != 0).then(|| {
                    let target = self.parameters.copy();
                    target.take_values(&mut rest);
                    target
                })
            });
            if let Some(target) = target {
                self.set_target(target)?;
            }
            Ok(())
        })?
    }
}
