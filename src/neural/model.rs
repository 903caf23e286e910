//! A model is a folder: `config.json`, `model.safetensors`, `README.md`.

use super::device::{Device, caught};
use super::network::{Evaluator, NetworkConfig, evaluator};
use super::parameters::{Group, Layout, Parameters};
use super::precision::Precision;
use crate::error::{Context, Error, Result, bail, ensure, ensure_setting};
use crate::files::write_synced;
use crate::memory;
use crate::puzzle::permutation::Description;
use crate::puzzle::{Encoding, Puzzle};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The version of the folder's form.
const FORMAT: u32 = 2;

/// The file names in a model's folder.
pub const CONFIG: &str = "config.json";
/// See [`CONFIG`].
pub const WEIGHTS: &str = "model.safetensors";
/// See [`CONFIG`]: the puzzle that it was trained for, where that is one from a file.
pub const PUZZLE: &str = "puzzle.json";

/// What `config.json` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// The version of the folder's form.
    pub format: u32,
    /// The version of the crate that wrote it.
    pub crate_version: String,
    /// The puzzle that it was trained on.
    pub puzzle: String,
    /// How states were encoded.
    pub encoding: Encoding,
    /// The network.
    pub network: NetworkConfig,
    /// How the matrix products were done, and how the matrices are stored.
    pub precision: Precision,
    /// How many samples it has seen.
    pub samples: u64,
    /// The settings of its training, for the record.
    pub training: serde_json::Value,
    /// The search that measured best with it, where that is not the default of all models: a search configuration of
    /// which every field may be left out. Flags go before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<serde_json::Value>,
}

/// The version of a folder's form, which is read first.
#[derive(Debug, Deserialize)]
struct Version {
    format: u32,
    crate_version: String,
}

impl ModelConfig {
    /// A configuration in this version's form.
    pub fn new(puzzle: String, encoding: Encoding, network: NetworkConfig, precision: Precision) -> Self {
        ModelConfig {
            format: FORMAT,
            crate_version: env!("CARGO_PKG_VERSION").into(),
            puzzle,
            encoding,
            network,
            precision,
            samples: 0,
            training: serde_json::Value::Null,
            search: None,
        }
    }

    /// Reads `config.json` of a folder.
    ///
    /// # Errors
    /// If it is not there, not readable, or of another form.
    pub fn read(folder: &Path) -> Result<ModelConfig> {
        let path = folder.join(CONFIG);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let version: Version = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a model's configuration", path.display()))?;
        ensure!(
            version.format == FORMAT,
            "{} has format {}, and this version of costar reads format {FORMAT}: use the version of costar that it came \
             with ({}), or train it anew",
            path.display(),
            version.format,
            version.crate_version
        );
        let config: ModelConfig = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a model's configuration", path.display()))?;
        Ok(config)
    }

    /// Refuses a model whose weights cannot be the first ones of a network for this puzzle: as [`ModelConfig::check_puzzle`],
    /// but the model may be of another puzzle that has the same encoding.
    ///
    /// # Errors
    /// Names what differs.
    pub fn check_init<P: Puzzle>(&self, puzzle: &P, folder: &Path) -> Result<()> {
        let name = puzzle.name();
        if self.puzzle == name && has_rules_of(puzzle, folder)? {
            return self.check_inputs(puzzle, folder);
        }
        ensure!(
            self.encoding == puzzle.encoding(),
            "the model in {} is for {}, not for {name}, and the encodings of their states differ: leave it out, or name a \
             model of a puzzle with the same encoding",
            folder.display(),
            self.puzzle
        );
        Ok(())
    }

    /// Refuses a model of another puzzle, of other rules or of another encoding.
    ///
    /// # Errors
    /// Names what differs.
    pub fn check_puzzle<P: Puzzle>(&self, puzzle: &P, folder: &Path) -> Result<()> {
        let name = puzzle.name();
        ensure!(self.puzzle == name, "the model in {} is for {}, not for {name}", folder.display(), self.puzzle);
        check_rules(puzzle, folder)?;
        self.check_inputs(puzzle, folder)
    }

    /// Refuses a model of this puzzle that reads another encoding, or gives other moves.
    fn check_inputs<P: Puzzle>(&self, puzzle: &P, folder: &Path) -> Result<()> {
        let (name, encoding, moves) = (puzzle.name(), puzzle.encoding(), puzzle.move_count());
        ensure!(
            self.encoding == encoding,
            "the model in {} reads encoding version {} of {name}, and this version of costar writes version {}: \
             train it anew, or use the version of costar that it came with ({})",
            folder.display(),
            self.encoding.version,
            encoding.version,
            self.crate_version
        );
        ensure!(
            self.network.policy.is_none_or(|policy| policy == moves),
            "the model in {} has a policy of {} moves, and {name} has {moves}",
            folder.display(),
            self.network.policy.unwrap_or(0)
        );
        Ok(())
    }
}

/// Refuses a puzzle from a file with other rules than that of a model, or a run's, which has the same name.
///
/// # Errors
/// If the rules differ, or the file beside the model is no puzzle.
pub fn check_rules<P: Puzzle>(puzzle: &P, folder: &Path) -> Result<()> {
    ensure!(
        has_rules_of(puzzle, folder)?,
        "the model in {} is for a puzzle {} with other rules, those of its {PUZZLE}: give yours another name, or take that file",
        folder.display(),
        puzzle.name()
    );
    Ok(())
}

/// Whether a puzzle has the rules of the file beside a model, where both are from files.
fn has_rules_of<P: Puzzle>(puzzle: &P, folder: &Path) -> Result<bool> {
    let file = folder.join(PUZZLE);
    let Some(rules) = puzzle.rules_crc32().filter(|_| file.is_file()) else { return Ok(true) };
    let kept = Description::read(&file).map_err(|error| Error::Data(error.to_string()))?;
    Ok(kept.rules_crc32() == rules)
}

/// A trained network that evaluates encoded states.
pub struct Model {
    /// What it is.
    pub config: ModelConfig,
    /// CRC-32 of the file of weights.
    pub weights_crc32: u32,
    /// How its products are done.
    pub precision: Precision,
    pub(super) evaluator: Box<dyn Evaluator>,
}

impl Model {
    /// Reads a model of a puzzle for solving, its products done in `precision`, or as is fastest here.
    ///
    /// # Errors
    /// If a file is missing, truncated or foreign: names the file and the tensor. If it is of another puzzle or
    /// encoding, its products cannot be done so here, or the device fails.
    pub fn read<P: Puzzle>(folder: &Path, puzzle: &P, device: Device, precision: Option<Precision>) -> Result<Model> {
        memory::keep_freed();
        let config = ModelConfig::read(folder)?;
        let precision = precision.unwrap_or(Precision::for_solving(device, config.network.kind));
        ensure_setting!(
            precision.serves(device, config.network.kind),
            "precision",
            "{precision} is for networks of the kind mlp, on a CPU with AVX-512 VNNI or AVX2; leave it out for the fastest that \
             this machine has"
        );
        config.check_puzzle(puzzle, folder)?;
        let built = config.network.build(&config.encoding, device.0, precision.kind());
        let (network, layout) =
            built.map_err(|error| Error::Data(format!("{}: {error}", folder.join(CONFIG).display())))?;
        let (values, weights_crc32) = read_tensors_and_checksum(&folder.join(WEIGHTS), &layout)?;
        let evaluator = device.run(|| {
            let parameters = Parameters::from_values(layout, values, device.0);
            evaluator(&*network, &parameters, device.0, precision)
        })?;
        Ok(Model { config, weights_crc32, precision, evaluator })
    }
}

/// Writes `config.json` and `model.safetensors` into a folder that is there.
pub(super) fn write(folder: &Path, config: &ModelConfig, parameters: &Parameters) -> Result<()> {
    let text = serde_json::to_string_pretty(config).context("the configuration cannot be written as JSON")?;
    write_synced(&folder.join(CONFIG), (text + "\n").as_bytes())?;
    write_tensors(&folder.join(WEIGHTS), parameters, config.precision)
}

/// Writes parameters; matrices in the given precision, vectors and statistics in f32.
pub(super) fn write_tensors(path: &Path, parameters: &Parameters, precision: Precision) -> Result<()> {
    let entries = parameters.layout().entries();
    let values = caught(|| parameters.values());
    let values =
        values.map_err(|error| Error::Device(format!("the parameters cannot be read from the device: {error}")))?;
    let bytes: Vec<(Dtype, Vec<u8>)> = entries
        .iter()
        .zip(values)
        .map(|(entry, values)| match (entry.group, precision) {
            (Group::Matrix, Precision::Bf16) => {
                (Dtype::BF16, values.iter().flat_map(|&value| half::bf16::from_f32(value).to_le_bytes()).collect())
            }
            _ => (Dtype::F32, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        })
        .collect();
    let views = entries.iter().zip(&bytes).map(|(entry, (kind, bytes))| {
        let shape = entry.shape.iter().map(|&size| size as usize).collect();
        let view = TensorView::new(*kind, shape, bytes).expect("the bytes were made for this shape");
        (entry.name.as_str(), view)
    });
    let file = safetensors::serialize(views, None).map_err(|error| Error::Bug(error.to_string()))?;
    write_synced(path, &file)
}

/// Reads the numbers of every entry of a layout, and nothing else.
pub(super) fn read_tensors(path: &Path, layout: &Layout) -> Result<Vec<Vec<f32>>> {
    Ok(read_tensors_and_checksum(path, layout)?.0)
}

/// The same, with the CRC-32 of the file.
fn read_tensors_and_checksum(path: &Path, layout: &Layout) -> Result<(Vec<Vec<f32>>, u32)> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| {
        Error::Data(format!("{name} is truncated, or not a safetensors file ({error}): copy or train it again"))
    })?;
    let entries = layout.entries();
    if let Some(extra) = file.names().iter().find(|name| !entries.iter().any(|entry| entry.name == **name)) {
        bail!("{name} holds a tensor '{extra}' that the network in {CONFIG} does not have");
    }
    let values: Result<_> = entries
        .iter()
        .map(|entry| {
            let tensor = file
                .tensor(&entry.name)
                .map_err(|_| Error::Data(format!("{name} lacks the tensor '{}'", entry.name)))?;
            let shape: Vec<i64> = tensor.shape().iter().map(|&size| size as i64).collect();
            ensure!(
                shape == entry.shape,
                "the tensor '{}' in {name} has shape {shape:?}, and the network in {CONFIG} needs {:?}",
                entry.name,
                entry.shape
            );
            let values = decode(&tensor).with_context(|| format!("the tensor '{}' in {name}", entry.name))?;
            ensure!(
                values.iter().all(|value| value.is_finite()),
                "the tensor '{}' in {name} is not finite",
                entry.name
            );
            Ok(values)
        })
        .collect();
    Ok((values?, crc32fast::hash(&bytes)))
}

fn decode(tensor: &TensorView<'_>) -> Result<Vec<f32>> {
    let data = tensor.data();
    match tensor.dtype() {
        Dtype::F32 => Ok(data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()),
        Dtype::BF16 => Ok(data.chunks_exact(2).map(|b| half::bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect()),
        other => bail!("has the type {other:?}: expected F32 or BF16"),
    }
}
