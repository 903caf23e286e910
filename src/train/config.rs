//! What a training is asked for, and the defaults of what is left out.

use super::settings::{Schedule, Settings};
use crate::error::{Result, SettingError, ensure_setting};
use crate::neural::device::Device;
use crate::neural::model::ModelConfig;
use crate::neural::network::{NetworkConfig, NetworkKind};
use crate::neural::precision::Precision;
use crate::puzzle::{Encoding, Puzzle};
use crate::quantity::{self, grouped};
use crate::sampler::{GENERATOR, Labels};
use std::fmt::{self, Display};
use std::path::PathBuf;
use std::str::FromStr;

/// The weight decay of AdamW.
const WEIGHT_DECAY: f64 = 1e-3;

/// The greatest scramble depth: deeper ones cost time, and a network learns no more from them.
const DEEPEST: u32 = 10_000;

/// The depth of the perimeter that gives exact labels, where none is kept.
const PERIMETER: u64 = 4;

/// Steps that a target network is kept for, by default.
const TARGET_EVERY: u64 = 100;

/// What a training is asked for; whatever is left out has a default. On resumption, whatever is given must be the run's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingConfig {
    /// The kind of network.
    pub net: Option<NetworkKind>,
    /// Channels of the convolutions, or units of the first dense layer.
    pub width: Option<u64>,
    /// Residual blocks.
    pub blocks: Option<u64>,
    /// Whether the network has a policy head.
    pub policy: bool,
    /// Samples a step.
    pub batch_size: Option<u64>,
    /// The longest scramble.
    pub max_depth: Option<u64>,
    /// The peak of the learning rate.
    pub lr: Option<f64>,
    /// The schedule of the learning rate.
    pub schedule: Option<Schedule>,
    /// The decay of the exponential moving average of the weights, from 0 (none) to less than 1.
    pub ema: Option<f64>,
    /// How products are done; `None`: what is fastest.
    pub precision: Option<Precision>,
    /// The seed of the scrambles and of the network's initial weights.
    pub seed: Option<u64>,
    /// A model to begin with.
    pub init: Option<Init>,
    /// The kind of labels.
    pub labels: Option<LabelKind>,
    /// Of value iteration: steps that a target network is kept for.
    pub target_every: Option<u64>,
    /// Of labels that are exact near the goals: the depth of the perimeter.
    pub perimeter: Option<u64>,
    /// The share of samples from the sparse-state curriculum.
    pub sparse_states: Option<f64>,
}

/// A model to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Init {
    /// What it is called, for the record.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// The kind of labels; see [`Labels`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelKind {
    /// [`Labels::Walks`].
    Walks,
    /// [`Labels::Exact`].
    Exact,
    /// [`Labels::Tightened`].
    Tightened,
    /// [`Labels::Bellman`].
    Bellman,
}

impl LabelKind {
    /// All kinds, with their names.
    pub const ALL: [(&'static str, LabelKind); 4] = [
        ("walks", LabelKind::Walks),
        ("exact", LabelKind::Exact),
        ("tightened", LabelKind::Tightened),
        ("bellman", LabelKind::Bellman),
    ];
}

impl From<Labels> for LabelKind {
    fn from(labels: Labels) -> Self {
        match labels {
            Labels::Walks => LabelKind::Walks,
            Labels::Exact { .. } => LabelKind::Exact,
            Labels::Tightened { .. } => LabelKind::Tightened,
            Labels::Bellman { .. } => LabelKind::Bellman,
        }
    }
}

impl FromStr for LabelKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = LabelKind::ALL.iter().find(|(name, _)| *name == text);
        let expected = || format!("unknown labels '{text}': expected walks, exact, tightened or bellman");
        found.map(|(_, kind)| *kind).ok_or_else(expected)
    }
}

impl Display for LabelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = LabelKind::ALL.iter().find(|(_, kind)| kind == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

impl TrainingConfig {
    /// The kind of network that a new run will have.
    ///
    /// # Errors
    /// If the model to begin with cannot be read.
    pub fn network_kind(&self) -> Result<NetworkKind> {
        Ok(match &self.init {
            Some(init) => ModelConfig::read(&init.folder)?.network.kind,
            None => self.net.unwrap_or(NetworkKind::Resnet),
        })
    }

    /// With the perimeter that is kept, where exact labels are asked for and no depth is.
    pub(super) fn with_perimeter(&self, kept: impl FnOnce() -> Option<u32>) -> TrainingConfig {
        let mut config = self.clone();
        if config.perimeter.is_none() && config.labels.is_some_and(|labels| labels != LabelKind::Walks) {
            config.perimeter = kept().map(u64::from);
        }
        config
    }

    /// The settings of a new run on a puzzle whose scrambles have `default_depth` moves by default; a model to begin with
    /// brings its network.
    ///
    /// # Errors
    /// If a setting is refused, or the model to begin with cannot be read.
    pub fn settings<P: Puzzle>(&self, puzzle: &P, default_depth: u32, device: Device) -> Result<Settings> {
        let max_depth = narrow("max_depth", self.max_depth.unwrap_or(default_depth.into()))?;
        let network = match &self.init {
            Some(init) => {
                let model = ModelConfig::read(&init.folder)?;
                let fixed = Fixed { whose: "the network of `init` has", remedy: "leave it out" };
                self.check_network(&model.network, &fixed)?;
                let policy = model.network.policy.map(|_| puzzle.move_count());
                NetworkConfig { policy, ..model.network }
            }
            None => NetworkConfig {
                kind: self.net.unwrap_or(NetworkKind::Resnet),
                width: narrow("width", self.width.unwrap_or(1024))?,
                blocks: narrow("blocks", self.blocks.unwrap_or(4))?,
                policy: self.policy.then(|| puzzle.move_count()),
                // The middle of the labels, and a third of their range: outputs begin near 0 and stay of the order of 1.
                offset: f64::from(max_depth) / 2.0,
                scale: f64::from(max_depth) / 2.6,
            },
        };
        let defaults = network.kind.defaults();
        let best_batch = if device.is_cuda() { defaults.batch_size_on_cuda } else { defaults.batch_size };
        let batch_size = narrow("batch_size", self.batch_size.unwrap_or(best_batch as u64))?;
        ensure_setting!((2..=1 << 24).contains(&batch_size), "batch_size", "{batch_size}: expected 2 to 16777216");
        ensure_setting!(max_depth <= DEEPEST, "max_depth", "{max_depth}: expected at most {DEEPEST}");
        Ok(Settings {
            labels: self.labels()?,
            puzzle: puzzle.name(),
            network,
            batch_size,
            max_depth,
            learning_rate: self.lr.unwrap_or(defaults.learning_rate),
            schedule: self.schedule.unwrap_or_default(),
            ema: self.ema.unwrap_or(0.0),
            weight_decay: WEIGHT_DECAY,
            precision: self.precision.unwrap_or(Precision::auto(device)),
            seed: self.seed.unwrap_or(1),
            generator: GENERATOR.into(),
            init: self.init.as_ref().map(|init| init.name.clone()),
            sparse_states: self.sparse_states.unwrap_or(0.0),
        })
    }

    fn labels(&self) -> Result<Labels> {
        let kind = self.labels.unwrap_or(LabelKind::Walks);
        ensure_setting!(
            self.target_every.is_none() || kind == LabelKind::Bellman,
            "target_every",
            "it is a setting of `labels` bellman: add that, or leave it out"
        );
        ensure_setting!(
            self.perimeter.is_none() || kind != LabelKind::Walks,
            "perimeter",
            "it is a setting of `labels` exact, tightened and bellman: add one of them, or leave it out"
        );
        let perimeter = narrow("perimeter", self.perimeter.unwrap_or(PERIMETER))?;
        Ok(match kind {
            LabelKind::Walks => Labels::Walks,
            LabelKind::Exact => Labels::Exact { perimeter },
            LabelKind::Tightened => Labels::Tightened { perimeter },
            LabelKind::Bellman => {
                Labels::Bellman { target_every: self.target_every.unwrap_or(TARGET_EVERY), perimeter }
            }
        })
    }

    /// Refuses whatever differs from the settings of a run that is resumed.
    ///
    /// # Errors
    /// Names the setting.
    pub fn check_same(&self, puzzle: &str, settings: &Settings) -> Result<()> {
        let fixed = Fixed { whose: "the run has", remedy: "leave it out, or start a new run with another `out`" };
        fixed.check("puzzle", Some(puzzle), &settings.puzzle)?;
        ensure_setting!(
            settings.generator == GENERATOR,
            "resume",
            "the run was sampled with the generator {}, and this version of costar has {GENERATOR}: it cannot be resumed",
            settings.generator
        );
        self.check_network(&settings.network, &fixed)?;
        fixed.check("batch_size", self.batch_size, settings.batch_size as u64)?;
        fixed.check("max_depth", self.max_depth, u64::from(settings.max_depth))?;
        fixed.check("lr", self.lr, settings.learning_rate)?;
        fixed.check("schedule", self.schedule, settings.schedule)?;
        fixed.check("ema", self.ema, settings.ema)?;
        fixed.check("precision", self.precision, settings.precision)?;
        fixed.check("seed", self.seed, settings.seed)?;
        self.check_labels(settings.labels, &fixed)?;
        fixed.check("sparse_states", self.sparse_states, settings.sparse_states)?;
        let init = self.init.as_ref().map(|init| init.name.as_str());
        fixed.check("init", init, settings.init.as_deref().unwrap_or("fresh weights"))
    }

    fn check_labels(&self, labels: Labels, fixed: &Fixed) -> Result<()> {
        let kind = LabelKind::from(labels);
        fixed.check("labels", self.labels, kind)?;
        let target_every = if let Labels::Bellman { target_every, .. } = labels { Some(target_every) } else { None };
        let perimeter = labels.perimeter().map(u64::from);
        for (field, given, of_run) in
            [("target_every", self.target_every, target_every), ("perimeter", self.perimeter, perimeter)]
        {
            match of_run {
                Some(value) => fixed.check(field, given, value)?,
                None => {
                    ensure_setting!(
                        given.is_none(),
                        field,
                        "the run has `labels` {kind}, without it; {}",
                        fixed.remedy
                    );
                }
            }
        }
        Ok(())
    }

    fn check_network(&self, network: &NetworkConfig, fixed: &Fixed) -> Result<()> {
        fixed.check("net", self.net, network.kind)?;
        fixed.check("width", self.width, network.width as u64)?;
        fixed.check("blocks", self.blocks, network.blocks as u64)?;
        let has_policy = network.policy.is_some();
        ensure_setting!(!self.policy || has_policy, "policy", "{} no policy head; {}", fixed.whose, fixed.remedy);
        Ok(())
    }
}

/// Settings that are fixed already.
struct Fixed {
    whose: &'static str,
    remedy: &'static str,
}

impl Fixed {
    fn check<T: PartialEq<U> + Display, U: Display>(&self, field: &str, given: Option<T>, fixed: U) -> Result<()> {
        match given {
            Some(given) if given != fixed => {
                let reason = format!("{given}: {} {fixed}; {}", self.whose, self.remedy);
                Err(SettingError::new(field, reason).into())
            }
            _ => Ok(()),
        }
    }
}

fn narrow<T: TryFrom<u64>>(field: &str, number: u64) -> Result<T> {
    T::try_from(number).map_err(|_| SettingError::new(field, format!("{number} is too large")).into())
}

/// Refuses what does not fit into the available memory, before anything is allocated; on CUDA, weights that do not fit into that of
/// the host, where they are drawn. What does not fit into its own, the device itself refuses.
///
/// # Errors
/// Says how much is needed.
pub(super) fn check_memory(
    settings: &Settings,
    encoding: &Encoding,
    device: Device,
    available: Option<u64>,
) -> Result<()> {
    let in_net = |error: crate::neural::network::NetworkError| SettingError::new("net", error.0);
    let parameters = settings.network.parameter_count(encoding).map_err(in_net)?;
    // Weights, gradients, two moments and the EMA, in f32; and once more while the speed is measured.
    let held = 2 * 4 * (4 + u64::from(settings.ema > 0.0)) * parameters;
    let kept = settings.network.training_bytes(encoding, settings.batch_size as u64).map_err(in_net)?;
    let needed = if device.is_cuda() { 2 * 4 * parameters } else { held.saturating_add(kept) };
    match available {
        Some(available) if needed > available => Err(SettingError::new(
            "batch_size",
            format!(
                "training {} parameters in batches of {} takes about {} of memory, and {} are available: expected a smaller \
                 `width`, `blocks` or `batch_size`",
                grouped(parameters),
                grouped(settings.batch_size as u64),
                quantity::bytes(needed),
                quantity::bytes(available)
            ),
        )
        .into()),
        _ => Ok(()),
    }
}
