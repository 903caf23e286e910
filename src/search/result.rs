//! The result of a search: how it ended, the solution, and the counts.

use super::limits::{Limit, MOST_MOVES};
use crate::puzzle::{Cost, Move, Puzzle, replay};
use crate::quantity::grouped;
use std::fmt::{self, Display, Formatter};

/// How a search ended; its `Display` is the word of result files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With a solution.
    Solved,
    /// Every reachable state was seen, and none is a goal.
    NoSolution,
    /// At a limit, without a solution.
    Limit(Limit),
}

impl Display for End {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            End::Solved => f.pad("solved"),
            End::NoSolution => f.pad("no solution"),
            End::Limit(limit) => limit.fmt(f),
        }
    }
}

impl End {
    /// Why there is no solution, in words, with settings in backticks; `None` if there is one.
    pub fn reason(self) -> Option<String> {
        let limit = match self {
            End::Solved => return None,
            End::NoSolution => return Some("there is no solution: every state that can be reached was seen".into()),
            End::Limit(Limit::Time) => "the time (`max_seconds`) is up",
            End::Limit(Limit::Nodes) => "the nodes (`max_nodes`) are used up",
            End::Limit(Limit::Memory) => "the memory (`max_memory`) is used up",
            End::Limit(Limit::Width) => {
                "no new state is left, or none came nearer for long; the same `search` with a larger `n` goes further"
            }
            End::Limit(Limit::Moves) => {
                &format!("the walk has made all its {} moves; another `seed` gives another walk", grouped(MOST_MOVES))
            }
            End::Limit(Limit::Stopped) => return Some("stopped before a solution was found".into()),
        };
        Some(format!("not solved: {limit}"))
    }
}

/// The counts of a search; each is counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// Children made, duplicates included.
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
    /// Wall-clock time; set by [`Control::report`](super::Control::report), and for the result by the solver.
    pub seconds: f64,
}

impl Stats {
    /// Adds the counts of two searches, but not their time.
    pub(crate) fn and(&self, other: &Stats) -> Stats {
        Stats {
            generated: self.generated + other.generated,
            stored: self.stored + other.stored,
            expanded: self.expanded + other.expanded,
            evaluated: self.evaluated + other.evaluated,
            iterations: self.iterations + other.iterations,
            pruned: self.pruned + other.pruned,
            seconds: 0.0,
        }
    }
}

/// The result of a search: how it ended, the best solution, the counts.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// How it ended.
    pub end: End,
    /// The solution, if there is one.
    pub moves: Option<Vec<Move>>,
    /// The cost of the solution.
    pub cost: Option<Cost>,
    /// Whether it is proven that no cheaper solution exists.
    pub proven_optimal: bool,
    /// The counts and the time.
    pub stats: Stats,
    /// The extent of the proof after the search, if there was one.
    pub proof: Option<Proof>,
}

impl SearchResult {
    /// A result without a proof; `end` counts only without a solution, `proven_optimal` only with one.
    pub fn new(end: End, solution: Option<Incumbent>, proven_optimal: bool, stats: Stats) -> Self {
        let end = if solution.is_some() { End::Solved } else { end };
        let (moves, cost) = solution.map(|solution| (solution.moves, solution.cost)).unzip();
        SearchResult { end, proven_optimal: proven_optimal && moves.is_some(), moves, cost, stats, proof: None }
    }
}

/// The extent of a [proof](super::prove).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// No solution costs this much or less.
    pub excluded: Option<Cost>,
    /// The cost that was being excluded when an unfinished proof ended.
    pub target: Option<Cost>,
    /// The share of that cost's move sequences that were looked up.
    pub share: f64,
    /// Move sequences that were looked up, for all costs together.
    pub sequences: u64,
    /// Time of the proof alone.
    pub seconds: f64,
}

/// The progress of a [proof](super::prove).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProofProgress {
    /// The cost of the best solution so far.
    pub best: Option<Cost>,
    /// No solution costs this much or less.
    pub excluded: Option<Cost>,
    /// The cost that is being excluded.
    pub target: Cost,
    /// The share of that cost's move sequences that were looked up.
    pub share: f64,
    /// Estimated time for the rest of them.
    pub seconds_left: f64,
}

/// The progress of a search.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The counts so far.
    pub stats: Stats,
    /// The least cost-to-go of all evaluated nodes, and the path cost of its node.
    pub best: Option<(f32, Cost)>,
    /// The least priority in the open list.
    pub least_f: Option<f32>,
    /// The progress of the proof after the search.
    pub proof: Option<ProofProgress>,
}

/// The best solution so far, on the way to a better one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incumbent {
    /// Legal moves from the start to a goal.
    pub moves: Vec<Move>,
    /// The sum of the moves' costs.
    pub cost: Cost,
}

impl Incumbent {
    /// A solution with its cost.
    ///
    /// # Panics
    /// If a move is not legal.
    pub(crate) fn replayed<P: Puzzle>(puzzle: &P, start: &P::State, moves: Vec<Move>) -> Self {
        let replayed = replay(puzzle, start, &moves);
        Incumbent { cost: replayed.expect("the moves were legal when they were made").1, moves }
    }
}
