//! Estimates of the cost-to-go: the trait that searches use, and the estimates that need no network.
//!
//! The trait is the interface between searches and networks. A search submits chunks of states and collects their estimates
//! later, in order, so that the CPU can expand nodes while a device evaluates.
//!
//! | file | content |
//! | --- | --- |
//! | `mod` | [`Heuristic`], its queries and estimates |
//! | `per_state` | [`PerState`]: a function of one state as a heuristic; [`zero`] |
//! | [`exact`] | exact distances: a whole puzzle in a flat table |
//! | [`tiles`], `sokoban`, `small_puzzles` | estimates for one puzzle |
//!
//! # Example: your own heuristic
//!
//! ```
//! use costar::heuristic::{Heuristic, PerState};
//! use costar::puzzle::{Notation as _, Rules};
//! use costar::puzzle::tiles::{Board, Puzzle8};
//!
//! // The number of misplaced tiles never exceeds the number of moves.
//! let goal = Puzzle8::default().goal().tiles();
//! let mut misplaced = PerState::new("misplaced", true, move |board: &<Puzzle8 as Rules>::State| {
//!     let tiles = board.tiles();
//!     tiles.iter().zip(&goal).filter(|(tile, goal)| **tile != 0 && tile != goal).count() as f32
//! });
//! let board = Puzzle8::default().parse("1 2 3 4 5 6 0 7 8")?;
//! assert_eq!(misplaced.estimate(&board)?, 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod exact;
mod per_state;
pub(crate) mod small_puzzles;
pub(crate) mod sokoban;
pub mod tiles;

pub use per_state::{PerState, zero};

use ndarray::{Array2, Axis};
use std::sync::Arc;

/// The estimates of a chunk of states.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    /// The cost-to-go of each state, in move-cost units: finite and never negative.
    pub values: Vec<f32>,
    /// The move probabilities, `states × moves`: how likely a move leads back towards the goal. A row adds up to 1 (from a
    /// network on CUDA, to 1 ± 0.001). `None` if the query did not include them, or the heuristic has none.
    pub policy: Option<Array2<f32>>,
}

impl Estimates {
    /// Adds the estimates of further states.
    ///
    /// # Panics
    /// If their rows of move probabilities have another width.
    pub(crate) fn append(&mut self, others: Estimates) {
        self.values.extend(others.values);
        match (&mut self.policy, others.policy) {
            (Some(own), Some(rows)) => own.append(Axis(0), rows.view()).expect("as many moves in every chunk"),
            (own, Some(rows)) => *own = Some(rows),
            (_, None) => (),
        }
    }

    /// Takes the estimates of the first states; all of them without a copy.
    ///
    /// # Panics
    /// If there are not as many.
    pub(crate) fn split_front(&mut self, count: usize) -> Estimates {
        let rest = self.values.split_off(count);
        let values = std::mem::replace(&mut self.values, rest);
        let policy = self.policy.take().map(|all| {
            if all.nrows() == count {
                return all;
            }
            let (first, rest) = all.view().split_at(Axis(0), count);
            self.policy = Some(rest.to_owned());
            first.to_owned()
        });
        Estimates { values, policy }
    }
}

/// The estimates that a search needs of the states that it submits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// The cost-to-go alone.
    Values,
    /// The cost-to-go, and the move probabilities if the heuristic has them.
    ValuesAndPolicy,
}

/// Why a chunk could not be evaluated.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the heuristic failed: {0}")]
pub struct HeuristicError(pub String);

impl From<HeuristicError> for crate::Error {
    fn from(error: HeuristicError) -> Self {
        crate::Error::Heuristic(error.to_string())
    }
}

/// An estimate of the cost from a state to the nearest goal.
///
/// Goal tests never depend on it.
pub trait Heuristic<S>: Send {
    /// The name that `--heuristic` takes.
    fn name(&self) -> &str;

    /// The number of states that a chunk should have.
    fn chunk(&self) -> usize;

    /// The most chunks in flight while the search goes on: 0 if the search's own cores evaluate them, because threads
    /// that wait for each other lose more than working at the same time gains.
    fn max_in_flight(&self) -> usize {
        0
    }

    /// True if no estimate is above the true cost: then A* finds cheapest solutions.
    fn is_admissible(&self) -> bool {
        false
    }

    /// Whether it has move probabilities.
    fn has_policy(&self) -> bool {
        false
    }

    /// Submits a chunk.
    ///
    /// # Errors
    /// If the device has failed.
    fn submit(&mut self, states: &[S], query: Query) -> Result<(), HeuristicError>;

    /// Waits for the estimates of the oldest chunk in flight.
    ///
    /// # Errors
    /// If the device has failed.
    ///
    /// # Panics
    /// If nothing is in flight: that is a mistake in the search.
    fn collect(&mut self) -> Result<Estimates, HeuristicError>;

    /// The same heuristic for a search on another thread, without a second copy of its tables or its network. Always `None` if
    /// it can serve only one search at a time.
    fn share(&self) -> Option<Box<dyn Heuristic<S>>> {
        None
    }

    /// Sets up in advance what the first chunk would set up, so that it costs a search neither time nor memory.
    ///
    /// # Errors
    /// If the device has failed.
    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        Ok(())
    }

    /// Replaces `values` by the estimates of one chunk; nothing else may be in flight. Like submitting and collecting it,
    /// but without allocating.
    ///
    /// # Errors
    /// If the device has failed.
    fn estimate_all(&mut self, states: &[S], values: &mut Vec<f32>) -> Result<(), HeuristicError> {
        self.submit(states, Query::Values)?;
        *values = self.collect()?.values;
        Ok(())
    }

    /// The estimate of one state, for searches without batches; nothing else may be in flight.
    ///
    /// # Errors
    /// If the device has failed.
    fn estimate(&mut self, state: &S) -> Result<f32, HeuristicError> {
        self.submit(std::slice::from_ref(state), Query::Values)?;
        Ok(self.collect()?.values[0])
    }

    /// Makes the same estimate towards another goal, for searches from both ends; `None` if that is impossible.
    fn retarget(&self) -> Option<Retarget<S>> {
        None
    }
}

/// Makes an estimate towards a given goal.
pub type Retarget<S> = Arc<dyn Fn(&S) -> Option<Box<dyn Heuristic<S>>> + Send + Sync>;
