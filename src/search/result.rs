//! What comes out of a search: how it ended, the solution, and what was counted.

use super::limits::Limit;
use crate::puzzle::{Cost, Move};

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With a solution.
    Solved,
    /// Everything that can be reached was seen, and no goal is among it.
    NoSolution,
    /// At a limit, without a solution.
    Limit(Limit),
}

/// The counts of a search; each is counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// Every child made, duplicates included.
    pub generated: u64,
    /// Distinct states kept, the start included.
    pub stored: u64,
    /// Nodes taken from the open list.
    pub expanded: u64,
    /// States evaluated by the heuristic.
    pub evaluated: u64,
    /// Batches, layers, or rounds of iterative deepening.
    pub iterations: u64,
    /// Stored states that were pruned for lack of memory.
    pub pruned: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

impl Stats {
    /// The counts of two searches together; the time is not added up.
    pub(super) fn and(&self, other: &Stats) -> Stats {
        Stats {
            generated: self.generated + other.generated,
            stored: self.stored + other.stored,
            expanded: self.expanded + other.expanded,
            evaluated: self.evaluated + other.evaluated,
            iterations: self.iterations + other.iterations,
            pruned: self.pruned + other.pruned,
            seconds: other.seconds,
        }
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// How it ended.
    pub end: End,
    /// The solution, if there is one.
    pub moves: Option<Vec<Move>>,
    /// What it costs.
    pub cost: Option<Cost>,
    /// Whether no cheaper solution exists; `true` only where that is proven.
    pub proven_optimal: bool,
    /// Its counts and its time.
    pub stats: Stats,
    /// What a proof after the search has excluded, where there was one.
    pub proof: Option<Proof>,
}

impl SearchResult {
    /// Of no search at all.
    pub(super) fn none() -> Self {
        let stats = Stats::default();
        SearchResult { end: End::NoSolution, moves: None, cost: None, proven_optimal: false, stats, proof: None }
    }
}

/// What a [proof](super::prove) has excluded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// There is no solution of this cost or less.
    pub excluded: Option<Cost>,
    /// The cost that was being excluded, where the proof was not ended.
    pub target: Option<Cost>,
    /// The share of the sequences that were made for that cost.
    pub share: f64,
    /// Sequences of moves whose ends were looked up, for all costs together.
    pub sequences: u64,
    /// Its part of the time.
    pub seconds: f64,
}

/// Where a [proof](super::prove) is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProofProgress {
    /// The cost of the best solution so far.
    pub best: Option<Cost>,
    /// There is no solution of this cost or less.
    pub excluded: Option<Cost>,
    /// The cost that is being excluded.
    pub target: Cost,
    /// The share of the sequences that were made for it.
    pub share: f64,
    /// What the rest of them will take.
    pub seconds_left: f64,
}

/// The state of a running search.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The counts so far.
    pub stats: Stats,
    /// The least cost-to-go among all nodes evaluated so far, and the path cost of the node that has it.
    pub best: Option<(f32, Cost)>,
    /// The least priority in the open list.
    pub least_f: Option<f32>,
    /// Where the proof is, after the search.
    pub proof: Option<ProofProgress>,
}

/// A solution that a search has met on its way to a better one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incumbent {
    /// The solution.
    pub moves: Vec<Move>,
    /// What it costs.
    pub cost: Cost,
}
