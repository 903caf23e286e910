//! Files of named tensors in the safetensors format.

use super::parameters::{Layout, ParameterEntry, ParameterGroup, Parameters, VARIANCE};
use super::precision::Precision;
use crate::error::{Context, Error, Result, bail};
use crate::files;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::path::Path;

/// The limit of a parameter's absolute value: beyond it, products of layers overflow.
const MAX_NUMBER: f32 = 1e8;

/// A tensor as a file holds it.
pub(super) struct StoredTensor {
    pub(super) name: String,
    pub(super) kind: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl StoredTensor {
    pub(super) fn of_f32(name: &str, shape: Vec<usize>, values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        StoredTensor { name: name.to_owned(), kind: Dtype::F32, shape, bytes }
    }
}

/// The bytes of a file with these tensors.
pub(super) fn bytes(tensors: &[StoredTensor]) -> Result<Vec<u8>> {
    let views = tensors.iter().map(|StoredTensor { name, kind, shape, bytes }| {
        let view = TensorView::new(*kind, shape.clone(), bytes).expect("the bytes were made for this shape");
        (name.as_str(), view)
    });
    safetensors::serialize(views, None).map_err(|error| Error::Bug(error.to_string()))
}

/// A file of tensors that has been read.
pub(super) struct TensorFile<'a> {
    path: &'a Path,
    tensors: SafeTensors<'a>,
}

impl<'a> TensorFile<'a> {
    /// The tensors in the bytes of a file.
    pub(super) fn parse(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| {
            let name = path.display();
            Error::Data(format!("{name} is truncated, or not a safetensors file ({error}): copy or train it again"))
        })?;
        Ok(TensorFile { path, tensors })
    }

    pub(super) fn tensor(&self, name: &str) -> Result<TensorView<'a>> {
        self.tensors.tensor(name).ok().with_context(|| format!("{} lacks the tensor '{name}'", self.path.display()))
    }

    /// The numbers of a tensor, whose shape and finiteness are checked.
    pub(super) fn values(&self, name: &str, expected: &[i64]) -> Result<Vec<f32>> {
        let (tensor, file) = (self.tensor(name)?, self.path.display());
        let shape: Vec<i64> = tensor.shape().iter().map(|&size| size as i64).collect();
        if shape != expected {
            bail!("the tensor '{name}' in {file} has shape {shape:?}, and the network needs {expected:?}");
        }
        let data = tensor.data();
        let values: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => f32_values(data),
            Dtype::BF16 => data.chunks_exact(2).map(|b| half::bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
            other => bail!("the tensor '{name}' in {file} has the type {other:?}: expected F32 or BF16"),
        };
        if let Some(bad) = values.iter().find(|value| value.is_nan() || value.abs() > MAX_NUMBER) {
            bail!("the tensor '{name}' in {file} holds {bad:e}, and is damaged: copy or train the model again");
        }
        Ok(values)
    }
}

/// The numbers in little-endian bytes.
pub(super) fn f32_values(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// The bytes of a file of parameters: matrices in the precision, vectors and statistics in f32.
pub(super) fn parameter_bytes(parameters: &Parameters, precision: Precision) -> Result<Vec<u8>> {
    let entries = parameters.layout.entries.iter().zip(parameters.values());
    let tensors: Vec<_> = entries
        .map(|(entry, values)| {
            let shape = entry.shape.iter().map(|&size| size as usize).collect();
            if (entry.group, precision) != (ParameterGroup::Matrix, Precision::Bf16) {
                return StoredTensor::of_f32(&entry.name, shape, &values);
            }
            let bytes = values.iter().flat_map(|&value| half::bf16::from_f32(value).to_le_bytes()).collect();
            StoredTensor { name: entry.name.clone(), kind: Dtype::BF16, shape, bytes }
        })
        .collect();
    bytes(&tensors)
}

/// Reads the parameters of a layout, and the CRC-32 of the file. Refuses a file with another checksum or other tensors.
pub(super) fn read_parameters(
    path: &Path,
    layout: Layout,
    device: tch::Device,
    expected: Option<u32>,
) -> Result<(Parameters, u32)> {
    let missing = || format!("{} is missing: copy or train the model again", path.display());
    let bytes = files::read_if_there(path)?.with_context(missing)?;
    let parameters = parse_parameters(path, &bytes, layout, device)?;
    let crc32 = crc32fast::hash(&bytes);
    if let Some(expected) = expected.filter(|&expected| expected != crc32) {
        bail!(
            "{} is damaged: its checksum is {crc32}, and \"weights_crc32\" in config.json is {expected}: copy or train the \
             model again",
            path.display()
        );
    }
    Ok((parameters, crc32))
}

/// The parameters of a layout in the bytes of a file. Refuses other tensors.
pub(super) fn parse_parameters(path: &Path, bytes: &[u8], layout: Layout, device: tch::Device) -> Result<Parameters> {
    let file = TensorFile::parse(path, bytes)?;
    let is_known = |name: &&&str| layout.entries.iter().any(|entry| entry.name == **name);
    if let Some(extra) = file.tensors.names().iter().find(|name| !is_known(name)) {
        bail!("{} holds a tensor '{extra}' that the network does not have", path.display());
    }
    let read = |entry: &ParameterEntry| {
        let values = file.values(&entry.name, &entry.shape)?;
        if let Some(bad) = values.iter().find(|&&value| entry.name.ends_with(VARIANCE) && value < 0.0) {
            let (name, file) = (&entry.name, path.display());
            bail!("the variance '{name}' in {file} holds {bad}, and is damaged: copy or train the model again");
        }
        Ok(values)
    };
    let values = layout.entries.iter().map(read).collect::<Result<_>>()?;
    Ok(Parameters::from_values(layout, values, device))
}
