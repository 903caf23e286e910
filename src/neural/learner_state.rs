//! The state of a learner: all that a training continues from, as the content of files.

use super::learner::{Ema, Learner};
use super::model::{ModelConfig, WEIGHTS};
use super::optimizer::AdamW;
use super::parameters::{ParameterEntry, Parameters};
use super::precision::Precision;
use super::tensor_file::{parameter_bytes, parse_parameters, read_parameters};
use crate::error::{Context, Result};
use crate::files::write_synced;
use std::path::Path;

/// File of the network's parameters.
pub const STATE_WEIGHTS: &str = "weights.safetensors";
/// File of the optimizer.
pub const STATE_OPTIMIZER: &str = "optimizer.safetensors";
/// File of the EMA, if there is one.
pub const STATE_EMA: &str = "ema.safetensors";
/// File of the target network, if labels come from the network itself.
pub const STATE_TARGET: &str = "target.safetensors";
/// All files of the state.
pub const STATE_FILES: [&str; 4] = [STATE_WEIGHTS, STATE_OPTIMIZER, STATE_EMA, STATE_TARGET];

impl Learner {
    /// The content of a file of the state, exact: parameters, statistics and moments in f32. `None` if this training has no such
    /// file.
    ///
    /// # Errors
    /// If the device has failed.
    pub fn state_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.device.run(|| {
            let parameters = match name {
                STATE_WEIGHTS => Some(&self.parameters),
                STATE_OPTIMIZER => return self.optimizer.bytes().map(Some),
                STATE_EMA => self.ema.as_ref().map(|ema| &ema.parameters),
                _ => self.target.as_ref().map(|target| &target.parameters),
            };
            parameters.map(|parameters| parameter_bytes(parameters, Precision::F32)).transpose()
        })?
    }

    /// Writes all files of the state, synced.
    ///
    /// # Errors
    /// If a file cannot be written, or the device has failed.
    pub fn write_state(&self, folder: &Path) -> Result<()> {
        for name in STATE_FILES {
            if let Some(content) = self.state_file(name)? {
                write_synced(&folder.join(name), &content)?;
            }
        }
        Ok(())
    }

    /// Restores the state. `read` gives the content of each of the [`STATE_FILES`] in turn, by its path in `folder`.
    ///
    /// # Errors
    /// If a file is missing, damaged or of another network, or the device fails.
    pub fn read_state(&mut self, folder: &Path, read: &mut dyn FnMut(&Path) -> Result<Option<Vec<u8>>>) -> Result<()> {
        for name in STATE_FILES {
            let path = folder.join(name);
            let content = read(&path)?;
            self.device.run(|| {
                let Some(content) = content else {
                    let is_optional = name == STATE_TARGET || (name == STATE_EMA && self.ema.is_none());
                    return is_optional.then_some(()).with_context(|| format!("{} is missing", path.display()));
                };
                if name == STATE_OPTIMIZER {
                    self.optimizer = AdamW::parse(&path, &content, &self.parameters, self.optimizer.weight_decay)?;
                    return Ok(());
                }
                let parameters = parse_parameters(&path, &content, self.parameters.layout.clone(), self.device.0)?;
                match (name, &mut self.ema) {
                    (STATE_WEIGHTS, _) => self.parameters = parameters,
                    (STATE_EMA, Some(Ema { parameters: own, .. })) => *own = parameters.copy(),
                    (STATE_TARGET, _) => self.set_target(parameters)?,
                    _ => (),
                }
                Ok(())
            })??;
        }
        self.recording.restart();
        Ok(())
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
            self.recording.restart();
            Ok(())
        })?
    }
}
