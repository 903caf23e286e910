//! A model is a folder: `config.json`, `model.safetensors`, `README.md`.

use super::device::Device;
use super::evaluator::Evaluator;
use super::network::{NetworkConfig, evaluator};
use super::network_builder::Built;
use super::one_hot::alignment_on;
use super::parameters::Parameters;
use super::precision::Precision;
use super::tensor_file::{parameter_bytes, read_parameters};
use crate::error::{Context, Error, Result, bail, ensure, ensure_setting};
use crate::files::write_synced;
use crate::memory;
use crate::puzzle::cube_n::{CubeN, Metric};
use crate::puzzle::permutation::Description;
use crate::puzzle::{Encode, Encoding, Puzzle, Rules};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The version of the folder's format.
const FORMAT: u32 = 2;

/// File name in a model's folder: the configuration.
pub const CONFIG: &str = "config.json";
/// File name in a model's folder: the weights.
pub const WEIGHTS: &str = "model.safetensors";
/// File name in a model's folder: the puzzle, if it came from a file.
pub const PUZZLE: &str = "puzzle.json";

/// The part of a puzzle that networks and their files need. It does not depend on the type of the states; every puzzle has
/// it.
pub trait Learnable: Send + Sync {
    /// [`Rules::name`].
    fn name(&self) -> String;
    /// [`Rules::move_count`].
    fn move_count(&self) -> usize;
    /// [`Rules::file`].
    fn file(&self) -> Option<&str>;
    /// [`Rules::rules_crc32`].
    fn rules_crc32(&self) -> Option<u32>;
    /// [`Encode::encoding`].
    fn encoding(&self) -> Encoding;
}

impl<P: Puzzle> Learnable for P {
    fn name(&self) -> String {
        Rules::name(self)
    }

    fn move_count(&self) -> usize {
        Rules::move_count(self)
    }

    fn file(&self) -> Option<&str> {
        Rules::file(self)
    }

    fn rules_crc32(&self) -> Option<u32> {
        Rules::rules_crc32(self)
    }

    fn encoding(&self) -> Encoding {
        Encode::encoding(self)
    }
}

/// The content of `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// The version of the folder's format.
    pub format: u32,
    /// The version of the crate that wrote it.
    pub crate_version: String,
    /// The puzzle that the model was trained on.
    pub puzzle: String,
    /// The encoding of states.
    pub encoding: Encoding,
    /// Kind and sizes of the network.
    pub network: NetworkConfig,
    /// The precision of the matrix products in training, and of the stored matrices.
    pub precision: Precision,
    /// CRC-32 of `model.safetensors`; models of earlier versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights_crc32: Option<u32>,
    /// Samples seen in training.
    pub samples: u64,
    /// The settings of its training, for the record.
    pub training: serde_json::Value,
    /// The search that measured best with the model, if not the default: a search configuration with optional fields, which
    /// flags override.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<serde_json::Value>,
}

impl ModelConfig {
    /// A configuration in the current format.
    pub fn new(puzzle: String, encoding: Encoding, network: NetworkConfig, precision: Precision) -> Self {
        ModelConfig {
            format: FORMAT,
            crate_version: env!("CARGO_PKG_VERSION").into(),
            puzzle,
            encoding,
            network,
            precision,
            weights_crc32: None,
            samples: 0,
            training: serde_json::Value::Null,
            search: None,
        }
    }

    /// Reads `config.json` of a folder.
    ///
    /// # Errors
    /// If it is missing, damaged, or of another format.
    pub fn read(folder: &Path) -> Result<ModelConfig> {
        let path = folder.join(CONFIG);
        let file = path.display();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        let damaged = || format!("{file} is not a model's configuration");
        let text = text.trim_start_matches('\u{feff}');
        let version: serde_json::Value = serde_json::from_str(text).with_context(damaged)?;
        let (format, crate_version) = (&version["format"], version["crate_version"].as_str().unwrap_or("unknown"));
        ensure!(
            *format == FORMAT,
            "{file} has format {format}, and this version of costar reads format {FORMAT}: use the version of costar that it \
             came with ({crate_version}), or train it anew"
        );
        serde_json::from_str(text).with_context(damaged)
    }

    /// The network, and the layout of its parameters.
    pub(super) fn build(&self, folder: &Path, device: Device, precision: Precision) -> Built<Error> {
        let built = self.network.build(&self.encoding, device.0, precision.kind(), alignment_on(device.0));
        built.map_err(|error| Error::Data(format!("{}: {}", folder.join(CONFIG).display(), error.reason)))
    }

    /// Checks that training for this puzzle can start from the model's weights: like [`ModelConfig::check_puzzle`], but the
    /// model may be for another puzzle with the same encoding.
    ///
    /// # Errors
    /// Names the difference.
    pub fn check_init(&self, puzzle: &dyn Learnable, folder: &Path) -> Result<()> {
        let (own, name) = (&self.puzzle, puzzle.name());
        if *own == name && other_rules(puzzle, folder)?.is_none() {
            return self.check_inputs(puzzle, folder);
        }
        let folder = folder.display();
        ensure_setting!(
            self.encoding == puzzle.encoding(),
            "init",
            "the model in {folder} is for {own}, not for {name}, and the encodings of their states differ: leave it out, or \
             name a model of a puzzle with the same encoding"
        );
        Ok(())
    }

    /// Refuses a model for another puzzle, other rules or another encoding.
    ///
    /// # Errors
    /// Names the difference.
    pub fn check_puzzle(&self, puzzle: &dyn Learnable, folder: &Path) -> Result<()> {
        let (own, name) = (&self.puzzle, puzzle.name());
        ensure!(serves(own, &name), "the model in {} is for {own}, not for {name}", folder.display());
        check_rules(puzzle, folder)?;
        self.check_inputs(puzzle, folder)
    }

    /// Refuses a model for this puzzle that reads another encoding, or has another number of moves.
    fn check_inputs(&self, puzzle: &dyn Learnable, folder: &Path) -> Result<()> {
        let (name, expected, own) = (puzzle.name(), puzzle.encoding(), &self.encoding);
        for (what, own_count, count) in [
            ("cells", own.cells, expected.cells),
            ("symbols", own.symbols, expected.symbols),
            ("fixed cells", own.fixed.len(), expected.fixed.len()),
        ] {
            ensure!(
                own.version != expected.version || own_count == count,
                "{} says {own_count} {what}, and {name} has {count}: the file is damaged, or of another puzzle",
                folder.join(CONFIG).display()
            );
        }
        let folder = folder.display();
        ensure!(
            *own == expected,
            "the model in {folder} reads encoding version {} of {name}, and this version of costar writes version {}: \
             train it anew, or use the version of costar that it came with ({})",
            own.version,
            expected.version,
            self.crate_version
        );
        let moves = puzzle.move_count();
        if let Some(own) = self.network.policy.filter(|&own| own != moves) {
            bail!("the model in {folder} has a policy of {own} moves, and {name} has {moves}");
        }
        Ok(())
    }
}

/// Whether a network for one puzzle can evaluate another: the same one, or `cubeN` with a network for `cubeN:oriented`, whose
/// states and moves have the same form.
pub fn serves(trained_for: &str, puzzle: &str) -> bool {
    let are_cubes = CubeN::parse_name(puzzle).is_some_and(|(size, metric)| {
        metric == Metric::Quarter && CubeN::parse_name(trained_for) == Some((size, Metric::Oriented))
    });
    trained_for == puzzle || are_cubes
}

/// Refuses a puzzle from a file whose rules differ from those of the puzzle of the same name that a model is for.
///
/// # Errors
/// If the rules differ, or the file beside the model is not a puzzle.
pub fn check_rules(puzzle: &dyn Learnable, folder: &Path) -> Result<()> {
    other_rules(puzzle, folder)?.map_or(Ok(()), |refusal| Err(Error::Data(refusal)))
}

/// The refusal of a puzzle whose rules are not those of the file beside a model; without a file, of one that has the name of
/// a cube of costar. `None` if the rules are the same.
///
/// # Errors
/// If the file is not a puzzle.
pub(crate) fn other_rules(puzzle: &dyn Learnable, folder: &Path) -> Result<Option<String>> {
    let (name, file) = (puzzle.name(), folder.join(PUZZLE));
    let Some(rules) = puzzle.rules_crc32() else { return Ok(None) };
    let (is_same, whose, or) = if file.is_file() {
        let description = Description::read(&file).map_err(|error| Error::Data(error.to_string()))?;
        (description.rules_crc32() == rules, format!("its {PUZZLE}"), ", or take that file")
    } else {
        let is_same = puzzle.file().is_none() || CubeN::parse_name(&name).is_none();
        (is_same, "the one that comes with costar".to_owned(), "")
    };
    let folder = folder.display();
    Ok((!is_same).then(|| {
        format!("the model in {folder} is for a puzzle {name} with other rules, those of {whose}: give yours another name{or}")
    }))
}

/// A trained network that evaluates encoded states.
pub struct Model {
    /// Its `config.json`.
    pub config: ModelConfig,
    /// CRC-32 of the file of weights.
    pub weights_crc32: u32,
    /// The precision of its products.
    pub precision: Precision,
    pub(super) device: Device,
    pub(super) evaluator: Box<dyn Evaluator>,
}

impl Model {
    /// Reads a model of a puzzle for solving, in `precision`, or else in the fastest one.
    ///
    /// # Errors
    /// If a file is missing, damaged or foreign (names the file and the tensor), the model is for another puzzle or encoding,
    /// the precision is not available here, or the device fails.
    pub fn read(folder: &Path, puzzle: &dyn Learnable, device: Device, precision: Option<Precision>) -> Result<Model> {
        memory::keep_freed();
        let config = ModelConfig::read(folder)?;
        let precision = precision.unwrap_or(config.network.kind.fastest_precision(device));
        ensure_setting!(
            config.network.kind.can_solve_in(precision, device),
            "precision",
            "{precision} is for networks of the kind mlp, on a CPU with AVX-512 VNNI or AVX2; leave it out for the fastest that \
             this machine has"
        );
        config.check_puzzle(puzzle, folder)?;
        let (network, layout) = config.build(folder, device, precision)?;
        let (evaluator, weights_crc32) = device.run(|| -> Result<_> {
            let (parameters, crc32) = read_parameters(&folder.join(WEIGHTS), layout, device.0, config.weights_crc32)?;
            Ok((evaluator(&*network, &parameters, precision), crc32))
        })??;
        Ok(Model { config, weights_crc32, precision, device, evaluator })
    }
}

/// Writes `model.safetensors` and `config.json`, with the weights' checksum, into an existing folder.
pub(super) fn write(folder: &Path, config: &ModelConfig, parameters: &Parameters) -> Result<()> {
    let weights = parameter_bytes(parameters, config.precision)?;
    write_synced(&folder.join(WEIGHTS), &weights)?;
    let crc32 = crc32fast::hash(&weights);
    let config = ModelConfig { weights_crc32: Some(crc32), ..config.clone() };
    let text = serde_json::to_string_pretty(&config).context("the configuration cannot be written as JSON")?;
    write_synced(&folder.join(CONFIG), (text + "\n").as_bytes())
}
