//! The inputs of [`resolve`](super::resolve()), a user's request and the facts, and the plan that it returns.

use super::options::{Engine, SearchInfo, SearchOptions};
use crate::error::SettingError;
use crate::neural::device::DeviceChoice;
use crate::neural::precision::Precision;
use crate::registry::PuzzleFacts;
use crate::search::Limits;
use crate::search::beam::HashSlots;
use std::path::PathBuf;

/// A user's request for a [`Solver`](super::Solver): the search, the estimate, the network, the limits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The search and its settings.
    pub options: SearchOptions,
    /// The estimate of the cost-to-go.
    pub heuristic: HeuristicChoice,
    /// The model: a folder, or a name on the [search path](super::models::search_path); by default, the puzzle's own.
    pub model: Option<String>,
    /// Whether estimates are shown beside the solution: the puzzle's best heuristic is loaded even if the search asks for
    /// none.
    pub shows_estimates: bool,
    /// The device that the network runs on.
    pub device: DeviceChoice,
    /// The precision of the network's products; by default, the fastest.
    pub precision: Option<Precision>,
    /// The limits of a search. A limit of memory is that of the whole process; without one, a search takes at most 80 % of
    /// what is available.
    pub limits: Limits,
    /// Whether the limit of memory is that of the nodes alone, without the rest of the process.
    pub memory_of_nodes: bool,
}

/// Which estimate of the cost-to-go is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HeuristicChoice {
    /// The network if there is a model and it measured better, else the best of the puzzle's own.
    #[default]
    Auto,
    /// One by name: `network`, or one of [`Entry::heuristics`](crate::registry::Entry::heuristics).
    Named(String),
    /// A heuristic of the caller: [`Builder::own_heuristic`](super::Builder::own_heuristic) takes it, and sets this.
    Given {
        /// Whether it has move probabilities.
        has_policy: bool,
    },
}

impl From<&str> for HeuristicChoice {
    /// `auto` is [`HeuristicChoice::Auto`], any other name [`HeuristicChoice::Named`].
    fn from(name: &str) -> Self {
        if name == "auto" { HeuristicChoice::Auto } else { HeuristicChoice::Named(name.into()) }
    }
}

/// The facts by which a request is resolved.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The registry's facts about the puzzle.
    pub puzzle: &'a PuzzleFacts,
    /// The model that was named, or the puzzle's own; or why there is none.
    pub model: Result<&'a ModelFacts, &'a SettingError>,
    /// The model that was named, or that of the puzzle's reduction; or why there is none.
    pub reduction_model: Result<&'a ModelFacts, &'a SettingError>,
    /// Whether the network would run on CUDA.
    pub on_cuda: bool,
    /// The memory of the network's device, in bytes: all of a GPU's, or what is available on the host.
    pub device_bytes: u64,
    /// The most bytes that a perimeter may take.
    pub perimeter_bytes: u64,
}

/// Facts from a model's `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// The folder with its weights.
    pub folder: PathBuf,
    /// The name that results give it.
    pub name: String,
    /// The puzzle that it was trained for.
    pub puzzle: String,
    /// Whether it has a policy head.
    pub has_policy: bool,
    /// The search that measured best with it, if it says so.
    pub search: Option<SearchOptions>,
}

/// Every setting of a solver, decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The search's name and needs.
    pub info: &'static SearchInfo,
    /// The search, with its own settings.
    pub search: SearchPlan,
    /// The estimate of the cost-to-go.
    pub heuristic: HeuristicPlan,
    /// The perimeter, for the search or for the proof after it.
    pub perimeter: PerimeterPlan,
    /// Whether the search uses the perimeter, and not only the proof after it.
    pub search_uses_perimeter: bool,
    /// True if a perimeter that holds the whole puzzle is left out, so that the search asks the named model.
    pub leaves_out_whole_perimeter: bool,
    /// How many symmetric images of an instance are searched, at least 1.
    pub symmetries: usize,
    /// Move sequences of the proof after the search; 0 for no proof, `None` for as many as it takes.
    pub proof_budget: Option<u64>,
    /// True if wider searches follow until the time is up or the solution is proven.
    pub widens: bool,
}

/// A search with all its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchPlan {
    /// Batch-weighted A*.
    Bwas {
        /// Nodes expanded a step.
        n: usize,
        /// The weight of the path cost.
        lambda: f64,
        /// Whether children enter the open list unevaluated.
        deferred: bool,
        /// With deferred evaluation, the weight of −ln p in moves.
        policy_weight: f64,
        /// Steps after the first solution.
        max_stale_steps: u64,
        /// Whether the search goes on until nothing better can exist.
        anytime: bool,
        /// Whether its nodes lie on the network's device.
        on_device: bool,
    },
    /// Beam search.
    Beam {
        /// The width.
        n: usize,
        /// Children evaluated in a layer, in widths; 0 for all.
        candidates: u64,
        /// The weight of −ln p in moves; 0 without candidates.
        policy_weight: f64,
        /// Whether its states lie on the network's device.
        on_device: bool,
        /// The size of its table of evaluated states there.
        hash_slots: HashSlots,
    },
    /// A*.
    AStar,
    /// Iterative-deepening A*.
    IdaStar,
    /// Bidirectional A*.
    Nbs,
    /// Best-first search, one node at a time.
    BestFirst {
        /// The weight of the path cost.
        lambda: f64,
    },
    /// Breadth-first search.
    Bfs,
    /// Bidirectional breadth-first search.
    Bidirectional,
    /// A random walk.
    Random {
        /// The seed of the walk.
        seed: u64,
    },
    /// Exhaustive search into the perimeter.
    Exhaustive,
    /// A beam to a state that turns like a 3×3×3, and the default search of that.
    Reduction {
        /// The width of the beam.
        n: usize,
    },
}

impl Plan {
    /// The plan as options, with the depth of the perimeter that was made: what result files say of the settings.
    pub fn options(&self, perimeter_depth: u32) -> SearchOptions {
        let common = SearchOptions {
            perimeter: Some(perimeter_depth).filter(|depth| *depth > 0),
            symmetries: (self.symmetries > 1).then_some(Some(self.symmetries)),
            proof_budget: self.proof_budget.filter(|budget| *budget > 0),
            prove: self.proof_budget.is_none(),
            ..SearchOptions::of(self.info.name)
        };
        let engine = |on_device| Some(if on_device { Engine::Device } else { Engine::Host });
        match self.search {
            SearchPlan::Bwas { n, lambda, deferred, policy_weight, max_stale_steps, anytime, on_device } => {
                let as_published = !deferred && !anytime && max_stale_steps == 0 && common.perimeter.is_none();
                SearchOptions {
                    n: Some(Some(n)),
                    engine: engine(on_device),
                    lambda: Some(lambda),
                    deferred,
                    policy_weight: deferred.then_some(policy_weight),
                    max_stale_steps: (!anytime && !as_published).then_some(max_stale_steps),
                    anytime,
                    ..common
                }
            }
            SearchPlan::Beam { n, candidates, policy_weight, on_device, hash_slots } => SearchOptions {
                n: Some(Some(n)),
                engine: engine(on_device),
                hash_slots: match hash_slots {
                    HashSlots::Exactly(slots) => Some(slots),
                    HashSlots::UpTo(_) => None,
                },
                candidates: (candidates > 0).then_some(candidates),
                policy_weight: (candidates > 0).then_some(policy_weight),
                ..common
            },
            SearchPlan::Reduction { n } => SearchOptions { n: Some(Some(n)), ..common },
            SearchPlan::BestFirst { lambda } => SearchOptions { lambda: Some(lambda), ..common },
            SearchPlan::Random { seed } => SearchOptions { seed: Some(seed), ..common },
            _ => common,
        }
    }
}

impl SearchPlan {
    /// The same search, wider by a factor; the same, if it has no width.
    pub(super) fn widened(self, factor: usize) -> SearchPlan {
        self.with_width(|n| n.saturating_mul(factor))
    }

    /// The same search with another width; the same, if it has none.
    pub(super) fn with_width(mut self, width: impl Fn(usize) -> usize) -> SearchPlan {
        if let SearchPlan::Beam { n, .. } | SearchPlan::Bwas { n, .. } | SearchPlan::Reduction { n } = &mut self {
            *n = width(*n);
        }
        self
    }

    /// Whether its states lie on the network's device.
    pub(super) fn is_on_device(&self) -> bool {
        matches!(self, SearchPlan::Beam { on_device: true, .. } | SearchPlan::Bwas { on_device: true, .. })
    }
}

/// The estimate of the cost-to-go, found and not loaded yet.
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
    /// A heuristic of the caller.
    Given,
}

/// Which perimeter a search or a proof gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerimeterPlan {
    /// No perimeter.
    None,
    /// The deepest in the cache that fits the budget; none is made.
    Cached(PerimeterBudget),
    /// The deepest that the budget allows, of at most this depth in moves: from the cache, or made in seconds.
    UpTo(u32, PerimeterBudget),
    /// Exactly this depth in moves, or the search is refused.
    Exactly(u32, PerimeterBudget),
}

/// How large a perimeter may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerimeterBudget {
    /// States, in a table of states.
    States(usize),
    /// Bytes, in a table of classes of symmetric states.
    Bytes(u64),
}

impl PerimeterPlan {
    /// Whether both plans mean the same table; a plan for the cache alone means any table of its budget.
    pub(super) fn is_same_table(&self, other: &PerimeterPlan) -> bool {
        let table = |plan: &PerimeterPlan| match *plan {
            PerimeterPlan::Cached(budget) => PerimeterPlan::UpTo(u32::MAX, budget),
            plan => plan,
        };
        table(self) == table(other)
    }

    /// The most bytes of a table of classes; 0 if none may be used.
    pub fn class_bytes(&self) -> u64 {
        match self {
            PerimeterPlan::Cached(PerimeterBudget::Bytes(bytes))
            | PerimeterPlan::UpTo(_, PerimeterBudget::Bytes(bytes))
            | PerimeterPlan::Exactly(_, PerimeterBudget::Bytes(bytes)) => *bytes,
            _ => 0,
        }
    }
}
