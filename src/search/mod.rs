//! Searches: from a state to a goal, with or without estimates.
//!
//! A search knows puzzles by [`Puzzle`] and networks by [`Heuristic`]. Only [`device`] sees tensors.
//!
//! | file | content |
//! | --- | --- |
//! | [`best_first`], `frontier` | batch-weighted A*, A* and greedy best-first search in one loop; its nodes |
//! | [`beam`] | beam search |
//! | [`device`] | searches whose states lie on a GPU, or on any device of libtorch |
//! | [`idastar`], [`nbs`], [`breadth_first`], [`bidirectional`], [`random_walk`] | the classical searches |
//! | [`perimeter`] | exact costs of all states near the goals |
//! | [`prove`], `exhaustive` | the proof that a solution is shortest; exhaustive search into the perimeter |
//! | [`symmetric_images`] | any search on several symmetric images of an instance |
//! | [`neighbourhood`] | the shortest path among the states around a known solution |
//! | `limits`, `control`, `result` | limits, control and result of every search |
//! | `children` | duplicates among the children of many nodes, found on all cores |
//! | `nodes`, `chunk_queue` | arena, open list, closed list; states that wait for an evaluation |
//!
//! # Example: A* with an admissible estimate
//!
//! ```
//! use costar::heuristic::tiles::distance::manhattan;
//! use costar::puzzle::{Notation as _, tiles::Puzzle8};
//! use costar::search::{Control, Limits, Search, best_first::BestFirst};
//! use std::sync::atomic::AtomicBool;
//!
//! let puzzle = Puzzle8::default();
//! let start = puzzle.parse("8 6 7 2 5 4 3 0 1")?;
//! let (limits, stop) = (Limits::default(), AtomicBool::new(false));
//! let mut progress = |_: &_| ();
//! let mut control = Control::new(&limits, &stop, &mut progress);
//! let result = BestFirst::a_star().run(&puzzle, &start, &mut manhattan(&puzzle), &mut control)?;
//! assert_eq!((result.cost, result.proven_optimal), (Some(31), true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::error::Result;
use crate::heuristic::Heuristic;
use crate::puzzle::Puzzle;

pub mod beam;
pub mod best_first;
pub mod bidirectional;
pub mod breadth_first;
mod children;
mod chunk_queue;
mod control;
pub mod device;
mod exhaustive;
mod frontier;
pub mod idastar;
mod limits;
pub mod nbs;
pub mod neighbourhood;
mod nodes;
pub mod perimeter;
pub mod prove;
pub mod random_walk;
mod result;
pub mod symmetric_images;

pub use control::Control;
pub use limits::{Limit, Limits, MOST_MOVES};
pub use result::{End, Incumbent, Progress, Proof, ProofProgress, SearchResult, Stats};

/// Expanded nodes between two checks of the clock and the memory.
const CHECK_EVERY: u64 = 1024;

/// The inputs of a search.
pub struct Task<'a, 'c, P: Puzzle> {
    /// The puzzle.
    pub puzzle: &'a P,
    /// The state to solve.
    pub start: &'a P::State,
    /// The estimates.
    pub heuristic: &'a mut dyn Heuristic<P::State>,
    /// The limits, the stop flag and the callbacks.
    pub control: &'a mut Control<'c>,
}

impl<'c, P: Puzzle> Task<'_, 'c, P> {
    /// The same task, for one of several searches.
    pub(crate) fn again(&mut self) -> Task<'_, 'c, P> {
        Task { puzzle: self.puzzle, start: self.start, heuristic: &mut *self.heuristic, control: &mut *self.control }
    }
}

/// A search algorithm, with its settings.
pub trait Search<P: Puzzle>: Send + Sync {
    /// Looks for a path from a state to a goal.
    ///
    /// A search checks [`Control::too_many`] before it generates children, and about every thousand expansions reports its
    /// counts and checks [`Control::reached`]. [`End::NoSolution`] means that every reachable state was seen. A start that
    /// is a goal has the empty solution, proven optimal. Moves may cost 0.
    ///
    /// # Errors
    /// If the heuristic fails, or another rank that shares the search.
    fn solve(&self, task: Task<'_, '_, P>) -> Result<SearchResult>;

    /// As [`Search::solve`], with the parts of the task.
    ///
    /// # Errors
    /// If the heuristic fails, or another rank that shares the search.
    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<SearchResult> {
        self.solve(Task { puzzle, start, heuristic, control })
    }
}
