//! Searches: from a state to a goal, with or without estimates.
//!
//! A search knows puzzles by [`Puzzle`] and networks by [`Heuristic`]; it never sees a tensor.
//!
//! | file | what is in it |
//! | --- | --- |
//! | [`best_first`], `frontier` | batch-weighted A*, A* and greedy best-first search in one loop; its nodes |
//! | [`beam`], `exhaustive` | beam search; exhaustive search into the perimeter, which shortens its solution |
//! | [`idastar`], [`nbs`], [`breadth_first`], [`bidirectional`], [`random`] | the classical searches |
//! | [`perimeter_heuristic`] | exact costs of all states near the goals |
//! | [`symmetry`] | any search on several symmetric images of an instance |
//! | `limits`, `control`, `result` | what every search shares |
//! | [`exchange`] | the processes that share a search |
//! | `children` | children of many nodes, made and freed of duplicates on all cores |
//! | [`nodes`], `chunk_queue` | arena, open list, closed list; states that wait for an evaluation |
//!
//! # Example: A* with an admissible estimate
//!
//! ```
//! use costar::heuristic::tiles::distance::manhattan;
//! use costar::puzzle::{Puzzle, tiles::Puzzle8};
//! use costar::search::{Control, Limits, Search, best_first::BestFirst};
//! use std::sync::atomic::AtomicBool;
//!
//! let puzzle = Puzzle8::default();
//! let start = puzzle.parse("8 6 7 2 5 4 3 0 1")?;
//! let (limits, stop) = (Limits::default(), AtomicBool::new(false));
//! let mut progress = |_: &_| ();
//! let mut control = Control::new(&limits, &stop, &mut progress);
//! let outcome = BestFirst::a_star().run(&puzzle, &start, &mut manhattan(&puzzle), &mut control)?;
//! assert_eq!((outcome.cost, outcome.proven_optimal), (Some(31), true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::Puzzle;

pub mod beam;
pub mod best_first;
pub mod bidirectional;
pub mod breadth_first;
mod children;
mod chunk_queue;
mod control;
pub mod exchange;
mod exhaustive;
mod frontier;
pub mod idastar;
mod limits;
pub mod nbs;
pub mod nodes;
pub mod perimeter;
pub mod prove;
pub mod random;
mod result;
pub mod symmetry;

pub use control::Control;
pub use limits::{Limit, Limits};
pub use result::{End, Incumbent, Progress, Proof, ProofProgress, SearchResult, Stats};

/// Expanded nodes between two checks of the clock and the memory.
const CHECK_EVERY: u64 = 1024;

/// A search.
pub trait Search<P: Puzzle>: Send + Sync {
    /// The name that `--search` takes.
    fn name(&self) -> &'static str;

    /// Looks for a path from a state to a goal.
    ///
    /// Before it generates children, a search asks [`Control::too_many`] with their number; every thousand expansions or
    /// so, it reports its counts and asks [`Control::reached`]. [`End::NoSolution`] means that every reachable state was
    /// seen. A start that is a goal is solved by no moves, and that is proven optimal. Moves may cost 0.
    ///
    /// # Errors
    /// If the heuristic fails.
    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<SearchResult, HeuristicError>;

    /// A quick answer that [`Search::run`] begins with, to look for cheaper ones, where no answer is known; `None` where it
    /// does not begin so. It may hold no solution.
    ///
    /// # Errors
    /// If the heuristic fails.
    fn first_answer(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Option<SearchResult>, HeuristicError> {
        let _ = (puzzle, start, heuristic, control);
        Ok(None)
    }
}
