//! Training targets: how samples get their labels. One target per file, and a variant of [`Labels`] each.
//!
//! | file | content |
//! | --- | --- |
//! | `walks` | the length of the walk |
//! | `exact` | the same, and exact costs near the goals |
//! | `bellman` | the network's own estimates: value iteration |
//! | `solutions` | the rest of a known solution |

use super::options::TrainOptions;
use super::plan::{TrainFacts, TrainPlan};
use crate::error::{Result, SettingError, bail_setting, ensure_setting};
use crate::memory;
use crate::neural::learner::Learner;
use crate::puzzle::Puzzle;
use crate::registry::Entry;
use crate::sampler::{Batch, Samples, Walks};
use crate::search::perimeter::{Extent, Perimeter, PerimeterFolder, states_in};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

mod bellman;
mod exact;
mod solutions;
mod walks;

pub use bellman::Bellman;
pub use exact::ExactLabels;
pub use solutions::{SolutionFacts, Solutions};

/// Depth of the perimeter with exact labels, in moves, if none is in the cache.
const DEFAULT_PERIMETER: u64 = 4;

/// Optimizer steps between updates of the target network by default.
const DEFAULT_TARGET_EVERY: u64 = 100;

/// A target with its settings, as checkpoints store it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Labels {
    /// Length of the walk that led to the state: an upper bound of its distance.
    #[default]
    Walks,
    /// Distance within a perimeter, length of the walk beyond.
    Exact(ExactLabels),
    /// Cost of the best child by the network itself (value iteration), distance within a perimeter.
    Bellman(Bellman),
    /// Cost of the rest of a known solution.
    Solutions(Solutions),
}

/// How samples of a puzzle get their labels.
pub(super) trait Target {
    /// The exact costs near the goals that it needs, if any.
    fn exact_costs(&self) -> Option<ExactCosts> {
        None
    }

    /// Labels a batch by the network, before each optimizer step.
    ///
    /// # Errors
    /// If the device fails.
    fn label(&self, _learner: &mut Learner, _batch: &mut Batch) -> Result<()> {
        Ok(())
    }
}

/// Exact costs near the goals, as labels of samples.
pub(super) struct ExactCosts {
    /// Depth of the perimeter, in moves.
    depth: u32,
    /// Whether each batch also holds the children of its states, with their exact costs.
    of_children: bool,
}

impl Labels {
    /// The target that the options name, with the settings that it has.
    pub(super) fn resolve(options: &TrainOptions, facts: &TrainFacts) -> Result<Labels, SettingError> {
        let default = if options.solutions.is_some() { "solutions" } else { "walks" };
        let name = options.labels.as_deref().unwrap_or(default);
        let perimeter = options.perimeter.or(facts.cached_perimeter.map(u64::from)).unwrap_or(DEFAULT_PERIMETER);
        let perimeter = u32::try_from(perimeter).unwrap_or(u32::MAX);
        let target_every = options.target_every.unwrap_or(DEFAULT_TARGET_EVERY);
        let (labels, settings): (Labels, &[&str]) = match name {
            "walks" => (Labels::Walks, &[]),
            "exact" => (Labels::Exact(ExactLabels { perimeter }), &["perimeter"]),
            "bellman" => (Labels::Bellman(Bellman { target_every, perimeter }), &["target_every", "perimeter"]),
            "solutions" => {
                let Some((file, SolutionFacts { crc32, .. })) = options.solutions.clone().zip(facts.solutions) else {
                    bail_setting!("labels", "solutions: needs `solutions`, a file of results of costar bench");
                };
                (Labels::Solutions(Solutions { solutions: file, solutions_crc32: crc32 }), &["solutions"])
            }
            _ => bail_setting!("labels", "expected walks, exact, bellman or solutions, got '{name}'"),
        };
        for (field, is_given) in [
            ("perimeter", options.perimeter.is_some()),
            ("target_every", options.target_every.is_some()),
            ("solutions", options.solutions.is_some()),
        ] {
            let is_known = !is_given || settings.contains(&field);
            ensure_setting!(is_known, field, "the labels {name} have no such setting: leave it out, or choose others");
        }
        Ok(labels)
    }

    /// The name, as `--labels` takes it.
    pub fn name(&self) -> &'static str {
        match self {
            Labels::Walks => "walks",
            Labels::Exact(_) => "exact",
            Labels::Bellman(_) => "bellman",
            Labels::Solutions(_) => "solutions",
        }
    }

    pub(super) fn target(&self) -> &dyn Target {
        match self {
            Labels::Walks => &walks::WalkLengths,
            Labels::Exact(exact) => exact,
            Labels::Bellman(bellman) => bellman,
            Labels::Solutions(solutions) => solutions,
        }
    }
}

/// Samples of a puzzle as a plan asks for them, without exact costs once `stop` is set.
///
/// # Errors
/// If the puzzle has no such samples, or the perimeter does not fit into memory.
pub(super) fn samples<P: Puzzle>(entry: &Entry<P>, plan: &TrainPlan, stop: &AtomicBool) -> Result<Arc<dyn Samples>> {
    let TrainPlan { ref labels, sparse_states, walk_samples, max_depth, .. } = *plan;
    if let Labels::Solutions(solutions) = labels {
        ensure_setting!(sparse_states == 0.0, "sparse_states", "`labels` solutions has no such setting; leave it out");
        return solutions.samples(entry.puzzle(), max_depth);
    }
    let puzzle = entry.puzzle();
    if !puzzle.is_reversible() {
        let own = entry.samples()?.samples;
        for (field, is_default) in [("labels", *labels == Labels::Walks), ("sparse_states", sparse_states == 0.0)] {
            let name = puzzle.name();
            ensure_setting!(is_default, field, "{name} has training samples of its own; leave it out");
        }
        return Ok(own);
    }
    let walks = Walks::new(Arc::clone(puzzle)).with_walk_samples(walk_samples).with_sparse_states(sparse_states)?;
    let Some(ExactCosts { depth, of_children }) = labels.target().exact_costs() else { return Ok(Arc::new(walks)) };
    let perimeter = perimeter_of(&**puzzle, depth, stop)?;
    Ok(Arc::new(if of_children { walks.with_children(perimeter) } else { walks.with_exact_labels(perimeter) }))
}

/// A perimeter of exactly this depth, or of the whole puzzle: from the cache, or made for this process alone.
fn perimeter_of<P: Puzzle>(puzzle: &P, depth: u32, stop: &AtomicBool) -> Result<Perimeter<P::State>, SettingError> {
    let bytes = Perimeter::<P::State>::memory_budget(memory::available());
    let perimeter = match PerimeterFolder::new(puzzle, None) {
        None => Perimeter::within(puzzle, depth, states_in(bytes), stop),
        Some(folder) => {
            let extent = Extent { depth, bytes, time: None, count_last: false };
            let cached = folder.load(depth, bytes).filter(|cached| cached.depth() == depth || cached.is_whole());
            cached.or_else(|| folder.make_unsaved(extent, stop, &mut |_| ())).unwrap_or_else(Perimeter::none)
        }
    };
    perimeter.check_depth(depth)?;
    Ok(perimeter)
}
