//! Plan of a training: every setting decided.
//!
//! [`resolve`] makes it from the options, and checkpoints store it. A new setting is a field of
//! [`TrainOptions`] and of [`TrainPlan`], a line in [`resolve`], and its use.

use super::options::{TrainOptions, default_net};
use super::schedule::Schedule;
use super::targets::{Labels, SolutionFacts};
use crate::error::{Result, SettingError, bail_setting, ensure_setting};
use crate::neural::device::Device;
use crate::neural::network::{NetworkConfig, NetworkKind};
use crate::neural::precision::Precision;
use crate::puzzle::Encoding;
use crate::quantity::{bytes, grouped};
use crate::sampler::{GENERATOR, MIN_APART};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Weight decay of AdamW.
const WEIGHT_DECAY: f64 = 1e-3;

/// Greatest scramble depth, in moves: deeper ones cost time, and teach a network nothing more.
const MAX_DEPTH: u64 = 10_000;

/// Largest batch, in samples.
const MAX_BATCH_SIZE: u64 = 1 << 24;

/// Options that a resumed run may change.
const MAY_CHANGE: [&str; 8] =
    ["samples", "for", "decay", "out", "resume", "checkpoint_every", "snapshot_every", "tensorboard"];

/// Settings of a run: fixed at its start, and stored in its checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainPlan {
    /// Name of the puzzle.
    pub puzzle: String,
    /// Kind and sizes of the network.
    pub network: NetworkConfig,
    /// Samples per optimizer step.
    pub batch_size: usize,
    /// Longest walk, in moves.
    pub max_depth: u32,
    /// Highest learning rate of the schedule.
    pub learning_rate: f64,
    /// Weight decay per optimizer step, in units of the learning rate.
    pub weight_decay: f64,
    /// Precision of the matrix products.
    pub precision: Precision,
    /// Seed of the walks and of the initial weights.
    pub seed: u64,
    /// Random generator of the walks.
    pub generator: String,
    /// Name of the model whose weights the run began with.
    pub init: Option<String>,
    /// How samples are labelled.
    #[serde(default)]
    pub labels: Labels,
    /// Schedule of the learning rate.
    #[serde(default)]
    pub schedule: Schedule,
    /// Decay of the exponential moving average of the weights; 0: the model has the weights of the last step.
    #[serde(default)]
    pub ema: f64,
    /// Share of samples from the sparse-state curriculum.
    #[serde(default)]
    pub sparse_states: f64,
    /// Samples of each walk. Not written if it is 1, as in earlier versions.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub walk_samples: u64,
    /// Where samples are made. Not written for the host, as in earlier versions.
    #[serde(default, skip_serializing_if = "SamplerKind::is_host")]
    pub sampler: SamplerKind,
}

/// Where samples are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SamplerKind {
    /// By threads of the host.
    #[default]
    Host,
    /// On the network's device, as tensors.
    Device,
}

impl SamplerKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_host(&self) -> bool {
        *self == SamplerKind::Host
    }

    /// The sampler that the options name; `auto` is the device if that is a GPU and can make the samples.
    fn resolve(options: &TrainOptions, facts: &TrainFacts, labels: &Labels) -> Result<SamplerKind, SettingError> {
        let name = &facts.puzzle;
        let obstacles = [
            (!facts.walks, format!("{name} has training samples of its own")),
            (
                !facts.has_move_table,
                format!("the moves of {name} are not fixed changes of cells, which a device could make"),
            ),
            (*labels != Labels::Walks, "the device makes samples for `labels` walks alone".to_owned()),
            (options.sparse_states.is_some_and(|share| share > 0.0), "the device makes no sparse states".to_owned()),
        ];
        let obstacle = obstacles.into_iter().find_map(|(is_there, obstacle)| is_there.then_some(obstacle));
        match (options.sampler.as_deref().unwrap_or("auto"), obstacle) {
            ("auto", None) if facts.device.is_cuda() => Ok(SamplerKind::Device),
            ("auto" | "host", _) => Ok(SamplerKind::Host),
            ("device", None) => Ok(SamplerKind::Device),
            ("device", Some(obstacle)) => bail_setting!("sampler", "device: {obstacle}: choose host, or leave it out"),
            (other, _) => bail_setting!("sampler", "unknown sampler '{other}': expected auto, host or device"),
        }
    }
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(number: &u64) -> bool {
    *number == 1
}

/// Samples of each walk by default: measured in docs/experiments/walk-samples.md. On a device, those of one walk are in
/// batches far apart.
fn default_walk_samples(max_depth: u64, sampler: SamplerKind) -> u64 {
    match sampler {
        SamplerKind::Host if max_depth < 40 => 1,
        SamplerKind::Host => (max_depth / 7).min(16),
        SamplerKind::Device => (max_depth / u64::from(MIN_APART)).max(1),
    }
}

/// Units of the first layer of a dense network by default, for a number of inputs (cells × symbols).
fn default_width(inputs: usize) -> usize {
    match inputs {
        0..100 => 256,
        100..250 => 512,
        _ => 1024,
    }
}

/// Facts that [`resolve`] needs beside the options.
#[derive(Debug, Clone)]
pub struct TrainFacts {
    /// Name of the puzzle.
    pub puzzle: String,
    /// Number of the puzzle's moves.
    pub moves: usize,
    /// Inputs of a dense network: symbols of all cells that are not fixed.
    pub inputs: usize,
    /// Whether its samples are walks from the goals.
    pub walks: bool,
    /// Whether its moves are data, so that a device can make them.
    pub has_move_table: bool,
    /// Moves of the longest scramble by default; with solutions, the cost that 99 % of them do not exceed.
    pub default_depth: u32,
    /// The file of solutions, if labels come from one.
    pub solutions: Option<SolutionFacts>,
    /// Depth of the deepest perimeter in the cache that fits into memory.
    pub cached_perimeter: Option<u32>,
    /// Where the network is trained.
    pub device: Device,
    /// Network of the model that the run begins with.
    pub init: Option<NetworkConfig>,
}

/// Decides every setting of a new run.
///
/// # Errors
/// Names the option that is refused.
pub fn resolve(options: &TrainOptions, facts: &TrainFacts) -> Result<TrainPlan, SettingError> {
    let max_depth = options.max_depth.unwrap_or(facts.default_depth.into());
    ensure_setting!((1..=MAX_DEPTH).contains(&max_depth), "max_depth", "{max_depth}: expected 1 to {MAX_DEPTH}");
    let labels = Labels::resolve(options, facts)?;
    // The middle of the labels, and a third of their range: outputs begin near 0 and stay of the order of 1.
    let (offset, scale) = (max_depth as f64 / 2.0, max_depth as f64 / 2.6);
    let network = match &facts.init {
        Some(network) => {
            let fixed = as_options(network)?;
            let is_fixed = |field: &str| ["net", "width", "blocks", "policy"].contains(&field);
            check_same(options, &fixed, is_fixed, "the network of `init` has", "leave it out")?;
            // Walks are much longer than solutions.
            let is_same = !matches!(labels, Labels::Solutions(_));
            let (offset, scale) = if is_same { (network.offset, network.scale) } else { (offset, scale) };
            NetworkConfig { policy: network.policy.map(|_| facts.moves), offset, scale, ..network.clone() }
        }
        None => {
            let kind = options.net.unwrap_or_else(|| default_net(&facts.puzzle));
            let (width, blocks, has_policy) = match kind {
                NetworkKind::Resnet => (1024, 4, false),
                NetworkKind::Mlp => (default_width(facts.inputs), 2, true),
            };
            NetworkConfig {
                kind,
                width: options.width.map_or(width, |width| width as usize),
                blocks: options.blocks.map_or(blocks, |blocks| blocks as usize),
                policy: options.policy.unwrap_or(has_policy).then_some(facts.moves),
                offset,
                scale,
            }
        }
    };
    let (on_cpu, on_cuda, default_lr) = match network.kind {
        NetworkKind::Resnet => (1024, 1024, 1e-3),
        NetworkKind::Mlp => (2048, 8192, 4e-3),
    };
    let batch_size = options.batch_size.unwrap_or(if facts.device.is_cuda() { on_cuda } else { on_cpu });
    let is_possible = (2..=MAX_BATCH_SIZE).contains(&batch_size);
    ensure_setting!(is_possible, "batch_size", "{batch_size}: expected 2 to {MAX_BATCH_SIZE}");
    let lr = options.lr.unwrap_or(default_lr);
    ensure_setting!(lr > 0.0 && lr.is_finite(), "lr", "{lr}: expected a number above 0, such as 2e-3");
    let precision = match options.precision.as_deref() {
        None | Some("auto") => Precision::auto(facts.device),
        Some("f32") => Precision::F32,
        Some("bf16") => Precision::Bf16,
        Some(other) => bail_setting!("precision", "unknown precision '{other}': expected auto, f32 or bf16"),
    };
    let ema = options.ema.unwrap_or(0.0);
    ensure_setting!((0.0..1.0).contains(&ema), "ema", "{ema}: expected a number from 0 to less than 1, such as 0.999");
    let sparse_states = options.sparse_states.unwrap_or(0.0);
    let is_share = (0.0..=1.0).contains(&sparse_states);
    ensure_setting!(is_share, "sparse_states", "'{sparse_states}' is not a share: expected a number from 0 to 1");
    let sampler = SamplerKind::resolve(options, facts, &labels)?;
    let takes_walks = facts.walks && facts.solutions.is_none();
    let walk_samples = match options.walk_samples {
        Some(samples) => {
            let name = &facts.puzzle;
            ensure_setting!(takes_walks, "walk_samples", "{name} has other training samples than walks; leave it out");
            samples
        }
        None if takes_walks => default_walk_samples(max_depth, sampler),
        None => 1,
    };
    Ok(TrainPlan {
        puzzle: facts.puzzle.clone(),
        network,
        batch_size: batch_size as usize,
        max_depth: max_depth as u32,
        learning_rate: lr,
        weight_decay: WEIGHT_DECAY,
        precision,
        seed: options.seed.unwrap_or(1),
        generator: GENERATOR.into(),
        init: options.init.clone(),
        labels,
        schedule: options.schedule.unwrap_or_default(),
        ema,
        sparse_states,
        walk_samples,
        sampler,
    })
}

impl TrainPlan {
    /// Refuses to resume a run with other settings than its own.
    ///
    /// # Errors
    /// Names the option that differs.
    pub fn check_resume(&self, puzzle: &str, options: &TrainOptions) -> Result<(), SettingError> {
        const REMEDY: &str = "leave it out, or start a new run with another `out`";
        ensure_setting!(puzzle == self.puzzle, "puzzle", "{puzzle}: the run has {}; {REMEDY}", self.puzzle);
        ensure_setting!(
            self.generator == GENERATOR,
            "resume",
            "the run was sampled with the generator {}, and this version of costar has {GENERATOR}: it cannot be resumed",
            self.generator
        );
        check_same(options, &as_options(self)?, |field| !MAY_CHANGE.contains(&field), "the run has", REMEDY)
    }

    /// Refuses a training that does not fit into the available memory, before anything is allocated. On CUDA, it checks the
    /// memory of the host, where the weights are drawn: the device itself refuses what is too large for it.
    ///
    /// # Errors
    /// Says how much is needed, or why there is no such network.
    pub(super) fn check_memory(&self, encoding: &Encoding, device: Device, available: Option<u64>) -> Result<()> {
        let parameters = self.network.parameter_count(encoding)?;
        // Weights, gradients, two moments and the EMA, in f32; and once more while the speed is measured.
        let held = 2 * 4 * (4 + u64::from(self.ema > 0.0)) * parameters;
        let backward = self.network.training_bytes(encoding, self.batch_size as u64)?;
        let needed = if device.is_cuda() { 2 * 4 * parameters } else { held.saturating_add(backward) };
        if let Some(available) = available.filter(|&available| needed > available) {
            let (parameters, batch_size) = (grouped(parameters), grouped(self.batch_size as u64));
            let (needed, available) = (bytes(needed), bytes(available));
            bail_setting!(
                "batch_size",
                "training {parameters} parameters in batches of {batch_size} takes about {needed} of memory, and {available} \
                 are available: expected a smaller `width`, `blocks` or `batch_size`"
            );
        }
        Ok(())
    }
}

/// The options that a plan, or its network alone, was made from.
fn as_options(plan: &impl Serialize) -> Result<TrainOptions, SettingError> {
    let mut fields = Map::new();
    flatten(as_json(plan), &mut fields);
    let has_policy = fields.get("policy").is_some_and(|moves| !moves.is_null());
    fields.insert("policy".into(), has_policy.into());
    fields.entry("walk_samples").or_insert(1.into());
    fields.entry("sampler").or_insert("host".into());
    serde_json::from_value(fields.into()).map_err(|error| SettingError::new("resume", error.to_string()))
}

/// Collects the fields of a plan and of its parts.
fn flatten(part: Map<String, Value>, fields: &mut Map<String, Value>) {
    for (field, value) in part {
        let Value::Object(inner) = value else {
            fields.insert(field, value);
            continue;
        };
        // `"labels": {"exact": {"perimeter": 4}}` gives `"labels": "exact"` and `"perimeter": 4`.
        fields
            .extend(inner.iter().filter(|(_, value)| value.is_object()).map(|(name, _)| (field.clone(), json!(name))));
        flatten(inner, fields);
    }
}

/// Refuses an option that is given and differs from the fixed one.
fn check_same(
    options: &TrainOptions,
    fixed: &TrainOptions,
    is_fixed: impl Fn(&str) -> bool,
    owner: &str,
    remedy: &str,
) -> Result<(), SettingError> {
    // JSON holds no path that is not UTF-8.
    let options = as_json(&TrainOptions { out: None, tensorboard: None, ..options.clone() });
    let fixed = as_json(fixed);
    let is_given = |value: &Value| !(value.is_null() || *value == "auto");
    let show = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        value => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    };
    let differs = |(field, value): &(String, Value)| is_fixed(field) && is_given(value) && fixed[field] != *value;
    if let Some((field, value)) = options.into_iter().find(differs) {
        bail_setting!(&field, "{}: {owner} {}; {remedy}", show(&value), show(&fixed[&field]));
    }
    Ok(())
}

/// Settings as a JSON object.
fn as_json(settings: &impl Serialize) -> Map<String, Value> {
    json!(settings).as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::targets::{Bellman, ExactLabels};
    use super::*;

    fn facts() -> TrainFacts {
        TrainFacts {
            puzzle: "cube3".into(),
            moves: 12,
            inputs: 288,
            walks: true,
            has_move_table: true,
            default_depth: 26,
            solutions: None,
            cached_perimeter: None,
            device: Device::CPU,
            init: None,
        }
    }

    /// Options that give every setting a value other than its default.
    fn every_option() -> TrainOptions {
        TrainOptions {
            net: Some(NetworkKind::Mlp),
            width: Some(64),
            blocks: Some(2),
            policy: Some(true),
            samples: Some(1000),
            batch_size: Some(32),
            max_depth: Some(20),
            lr: Some(0.25),
            schedule: Some(Schedule::Wsd),
            ema: Some(0.5),
            precision: Some("f32".into()),
            seed: Some(7),
            init: Some("other".into()),
            labels: Some("bellman".into()),
            target_every: Some(5),
            perimeter: Some(3),
            sparse_states: Some(0.5),
            walk_samples: Some(3),
            sampler: Some("host".into()),
            ..TrainOptions::default()
        }
    }

    #[test]
    fn the_options_of_a_plan_are_those_that_it_was_made_from() {
        let options = every_option();
        let plan = resolve(&options, &facts()).expect("a plan");
        assert_eq!(as_options(&plan), Ok(TrainOptions { samples: None, ..options.clone() }));
        plan.check_resume("cube3", &options).expect("the same options");
        plan.check_resume("cube3", &TrainOptions::default()).expect("no options");
        let plain = resolve(&TrainOptions::default(), &facts()).expect("a plan");
        for (field, value) in as_json(&options).into_iter().filter(|(_, value)| !value.is_null() && *value != false) {
            let one: TrainOptions = serde_json::from_value(json!({ &field: value })).expect("an option");
            let refused = plain.check_resume("cube3", &one).map_err(|error| error.field);
            let is_free = ["samples", "precision", "sampler"].contains(&field.as_str()); // these may be the default
            assert!(is_free || refused == Err(field.clone()), "{field}: {refused:?}");
        }
    }

    #[test]
    fn only_the_included_cubes_have_convolutions_by_default() {
        let kind = |puzzle: &str| {
            let facts = TrainFacts { puzzle: puzzle.into(), ..facts() };
            resolve(&TrainOptions::default(), &facts).expect("a plan").network.kind
        };
        assert_eq!(["cube3", "cube3:htm"].map(kind), [NetworkKind::Resnet; 2]);
        assert_eq!(["cube3-file", "cube4", "torus4"].map(kind), [NetworkKind::Mlp; 3]);
    }

    #[test]
    fn labels_have_their_own_settings_alone() {
        let resolved = |labels: &str, perimeter, target_every| {
            let labels = Some(labels.to_owned());
            resolve(&TrainOptions { labels, perimeter, target_every, ..TrainOptions::default() }, &facts())
                .map(|plan| plan.labels)
                .map_err(|error| error.field)
        };
        assert_eq!(resolved("walks", None, None), Ok(Labels::Walks));
        assert_eq!(resolved("exact", None, None), Ok(Labels::Exact(ExactLabels { perimeter: 4 })));
        assert_eq!(
            resolved("bellman", Some(2), None),
            Ok(Labels::Bellman(Bellman { target_every: 100, perimeter: 2 }))
        );
        for (labels, perimeter, target_every, refused) in [
            ("walks", Some(2), None, "perimeter"),
            ("exact", None, Some(5), "target_every"),
            ("tightened", None, None, "labels"),
            ("solutions", None, None, "labels"),
        ] {
            assert_eq!(resolved(labels, perimeter, target_every), Err(refused.to_owned()), "{labels}");
        }
    }
}
