//! What every search shares: limits, statistics, and what comes out.
//!
//! A search knows puzzles by [`Puzzle`] and networks by [`Heuristic`]; it never sees a tensor.

use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::{Cost, Move, Puzzle};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub mod arena;
pub mod beam;
pub mod best_first;
pub mod bidirectional;
pub mod breadth_first;
pub mod closed;
pub mod deferred;
pub mod endgame;
pub mod idastar;
mod layer;
mod look;
pub mod nbs;
pub mod open;
pub mod random;
mod scoring;
pub mod tree;
pub mod views;

/// Expanded nodes between two looks at the clock and the memory.
const LOOK_EVERY: u64 = 1024;

/// When a search gives up.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Generated nodes, duplicates included.
    pub nodes: Option<u64>,
    /// Bytes for nodes, open and closed list together.
    pub memory: Option<u64>,
}

/// A limit that ended a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// [`Limits::time`].
    Time,
    /// [`Limits::nodes`].
    Nodes,
    /// [`Limits::memory`].
    Memory,
    /// What a beam keeps: no state was left in it, and others had fallen out.
    Width,
    /// The caller asked it to stop.
    Stopped,
}

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

/// What a search counted; each number is counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// Every child made, duplicates included.
    pub generated: u64,
    /// Distinct states kept, the start included.
    pub stored: u64,
    /// Nodes taken from the open list.
    pub expanded: u64,
    /// States scored by the heuristic.
    pub evaluated: u64,
    /// Batches.
    pub iterations: u64,
    /// Stored states that were forgotten again, for want of memory.
    pub dropped: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

impl Stats {
    /// The counts of two searches together; the time is not added up.
    fn and(&self, other: &Stats) -> Stats {
        Stats {
            generated: self.generated + other.generated,
            stored: self.stored + other.stored,
            expanded: self.expanded + other.expanded,
            evaluated: self.evaluated + other.evaluated,
            iterations: self.iterations + other.iterations,
            dropped: self.dropped + other.dropped,
            seconds: other.seconds,
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// The solution, if there is one.
    pub moves: Option<Vec<Move>>,
    /// What it costs.
    pub cost: Option<Cost>,
    /// Whether no cheaper solution exists; `true` only where that is proven.
    pub proven_optimal: bool,
    /// What it took.
    pub stats: Stats,
}

/// Where a running search is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// What it counted so far.
    pub stats: Stats,
    /// The least cost-to-go among all nodes scored so far, and the path cost of the node that has it.
    pub best: Option<(f32, Cost)>,
    /// The least priority in the open list.
    pub least_f: Option<f32>,
}

/// A search.
pub trait Search<P: Puzzle>: Send + Sync {
    /// The name that `--search` takes.
    fn name(&self) -> &'static str;

    /// Looks for a path from a state to a goal.
    ///
    /// # Errors
    /// If the heuristic fails.
    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError>;
}

/// What a search is run under: limits, the flag that stops it, and someone who watches.
pub struct Control<'a> {
    limits: &'a Limits,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(&Progress),
    answers: Option<&'a mut dyn FnMut(&Answer)>,
    begun: Instant,
    /// What an answer must cost less than to be of use.
    bound: Option<Cost>,
    /// Whether the search was told to stop.
    told: Cell<bool>,
}

/// A solution that a search has met on its way to a better one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The solution.
    pub moves: Vec<Move>,
    /// What it costs.
    pub cost: Cost,
}

impl<'a> Control<'a> {
    /// The clock starts now.
    pub fn new(limits: &'a Limits, stop: &'a AtomicBool, watch: &'a mut dyn FnMut(&Progress)) -> Self {
        Control { limits, stop, watch, answers: None, begun: Instant::now(), bound: None, told: Cell::new(false) }
    }

    /// Also tells of every answer that is better than those before, when it is met.
    pub fn with_answers(self, answers: &'a mut dyn FnMut(&Answer)) -> Self {
        Control { answers: Some(answers), ..self }
    }

    /// Tells of an answer that is better than those before.
    pub fn answer(&mut self, answer: &Answer) {
        if let Some(answers) = &mut self.answers {
            answers(answer);
        }
    }

    /// Seconds since the search began.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Lets the watcher look.
    pub fn report(&mut self, progress: &Progress) {
        (self.watch)(progress);
    }

    /// Lets the watcher look at a search that has counts and no estimates.
    pub fn report_counts(&mut self, stats: &Stats) {
        let stats = Stats { seconds: self.seconds(), ..*stats };
        self.report(&Progress { stats, best: None, least_f: None });
    }

    /// The limit that is reached, if one is: by the clock, the flag, and the bytes in use.
    pub fn reached(&self, bytes: impl FnOnce() -> u64) -> Option<Limit> {
        if self.stop.load(Ordering::Relaxed) {
            self.told.set(true);
            Some(Limit::Stopped)
        } else if self.limits.time.is_some_and(|time| self.begun.elapsed() >= time) {
            Some(Limit::Time)
        } else if self.limits.memory.is_some_and(|memory| bytes() >= memory) {
            Some(Limit::Memory)
        } else {
            None
        }
    }

    /// Whether the search has learned that it is to stop: what it has found by then need not be what it would have found.
    pub fn was_stopped(&self) -> bool {
        self.told.get()
    }

    /// Whether this many generated nodes are more than allowed.
    pub fn too_many(&self, generated: u64) -> bool {
        self.limits.nodes.is_some_and(|nodes| generated > nodes)
    }
}
