//! The inputs of [`resolve`](super::resolve()), and the plan that it returns.

use super::config::SearchConfig;
use crate::error::SettingError;
use crate::registry::PuzzleFacts;
use std::path::PathBuf;

/// What a solver is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The search.
    pub search: SearchConfig,
    /// What estimates the cost-to-go.
    pub heuristic: HeuristicChoice,
    /// Whether a model was named.
    pub names_model: bool,
}

/// What is to estimate the cost-to-go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HeuristicChoice {
    /// The network where there is a model and it measured better, else the best of the puzzle's own.
    #[default]
    Auto,
    /// One by name: `network`, or one that the puzzle offers.
    Named(String),
    /// One that the caller brings.
    Given {
        /// Whether it has move probabilities.
        has_policy: bool,
    },
}

/// What a request is resolved by.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The puzzle.
    pub puzzle: &'a PuzzleFacts,
    /// The model that was named, or the puzzle's own; or why there is none.
    pub model: Result<&'a ModelFacts, &'a SettingError>,
    /// Whether the network would run on CUDA.
    pub on_cuda: bool,
    /// How many bytes a perimeter may take at most.
    pub room: u64,
}

/// What matters of a model, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// Its folder.
    pub folder: PathBuf,
    /// The name that results give it.
    pub name: String,
    /// The puzzle that it was trained for.
    pub puzzle: String,
    /// Whether it has a policy head.
    pub has_policy: bool,
    /// The search that measured best with it, where it says so.
    pub search: Option<SearchConfig>,
}

/// What a solver will do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The search, with all its settings; a setting that is left out has no effect. The depth of a perimeter that is
    /// bounded by its number of states is known once it is made.
    pub search: SearchConfig,
    /// What estimates the cost-to-go.
    pub heuristic: HeuristicPlan,
    /// The perimeter that is made.
    pub perimeter: PerimeterPlan,
    /// Whether symmetric images are searched at the same time: on CUDA, which is fast with many states at a time.
    pub images_together: bool,
}

/// What estimates the cost-to-go, found and not loaded yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HeuristicPlan {
    /// The network in a folder.
    Network {
        /// The model's folder.
        folder: PathBuf,
        /// The name that results give it.
        name: String,
    },
    /// One of the puzzle's, by name.
    Named(String),
    /// One that the caller brings.
    Given,
}

/// How much of the surroundings of the goals is known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerimeterPlan {
    /// The depth, in moves; 0 for none. Of classes, at most so deep: the deepest that is kept on the disk.
    pub depth: u32,
    /// The most states, of the form by states.
    pub states: usize,
    /// The most bytes, of the form by classes; 0 for the form by states.
    pub bytes: u64,
    /// Whether that depth was asked for, and nothing less will do.
    pub asked: bool,
    /// Whether none is made where none is kept that is deep enough to be of use.
    pub only_kept: bool,
    /// Whether one that holds the whole puzzle is left out: a network that was named is to be asked.
    pub not_whole: bool,
    /// Whether the search uses it, and not only the proof after it.
    pub for_search: bool,
}

impl PerimeterPlan {
    /// Whether both plans mean the same table, whatever it is used for.
    pub(super) fn is_same_table(&self, other: &PerimeterPlan) -> bool {
        let key = |plan: &PerimeterPlan| (plan.depth, plan.states, plan.bytes, plan.asked);
        key(self) == key(other)
    }

    /// No perimeter.
    pub const NONE: PerimeterPlan = PerimeterPlan {
        depth: 0,
        states: 0,
        bytes: 0,
        asked: false,
        only_kept: false,
        not_whole: false,
        for_search: false,
    };
}
