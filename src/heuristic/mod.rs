//! Estimates of the cost-to-go: the trait that searches ask, and the estimates that need no network.
//!
//! The trait is the interface between searches and networks. A search submits chunks of states and collects their estimates
//! later, in order, so that the CPU can expand nodes while a device evaluates. Sharing, caching and mocks are wrappers
//! around this one trait.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `mod` | [`Heuristic`], and what every puzzle has: [`zero`] and [`perimeter_heuristic`] |
//! | `per_state` | [`PerState`]: a function of one state as a heuristic |
//! | `shared` | [`share`]: one heuristic for several searches at once |
//! | `answers` | the answers of a thread that evaluates |
//! | [`exact`] | exact distances of a whole puzzle in a flat table |
//! | [`tiles`], `jugs`, `lightsout`, `sokoban` | estimates for one puzzle |
//!
//! # Example: a heuristic of one's own
//!
//! ```
//! use costar::heuristic::{Heuristic, PerState};
//! use costar::puzzle::Puzzle;
//! use costar::puzzle::tiles::{Board, Puzzle8};
//!
//! // The number of misplaced tiles never exceeds the number of moves.
//! let goal = Puzzle8::default().goal().tiles();
//! let mut misplaced = PerState::new("misplaced", true, move |board: &<Puzzle8 as Puzzle>::State| {
//!     let tiles = board.tiles();
//!     tiles.iter().zip(&goal).filter(|(tile, goal)| **tile != 0 && tile != goal).count() as f32
//! });
//! let board = Puzzle8::default().parse("1 2 3 4 5 6 0 7 8")?;
//! assert_eq!(misplaced.estimate(&board)?, 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod cube2;
pub mod exact;
mod jugs;
mod lightsout;
mod per_state;
mod shared;
mod sokoban;
pub mod tiles;

pub(crate) use answers::Answers;
pub use per_state::PerState;
pub use shared::{PATIENCE, Service, Shared, share, split};

use crate::puzzle::{Move, Puzzle, Reversible, State};
use hashbrown::HashMap;
use ndarray::{Array2, Axis};
use std::sync::Arc;

/// The estimates of a chunk of states.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    /// The cost-to-go of each state, in move-cost units: finite and never negative.
    pub values: Vec<f32>,
    /// The move probabilities, `states × moves`: how probable it is that a move leads back towards the goal. A row adds
    /// up to 1 (of a network on CUDA, to 1 ± 0.001). `None` if nobody asked, or the heuristic has no policy.
    pub policy: Option<Array2<f32>>,
}

impl Estimates {
    /// Adds the estimates of further states.
    ///
    /// # Panics
    /// If their rows of move probabilities have another width: a heuristic has as many moves in every chunk.
    pub(crate) fn append(&mut self, others: Estimates) {
        self.values.extend(others.values);
        match (&mut self.policy, others.policy) {
            (Some(own), Some(rows)) => own.append(Axis(0), rows.view()).expect("as many moves in every chunk"),
            (own, Some(rows)) => *own = Some(rows),
            (_, None) => (),
        }
    }
}

/// What a search asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// The cost-to-go alone.
    Values,
    /// The cost-to-go, and the move probabilities where the heuristic has them.
    ValuesAndPolicy,
}

/// Why a chunk could not be evaluated.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the heuristic failed: {0}")]
pub struct HeuristicError(pub String);

/// An estimate of the cost from a state to the nearest goal.
///
/// Goal tests never depend on it.
pub trait Heuristic<S>: Send {
    /// The name that `--heuristic` takes.
    fn name(&self) -> &str;

    /// How many states a chunk should have.
    fn chunk(&self) -> usize;

    /// How many chunks may be in flight while the search goes on: 0 where the search's own cores evaluate them, for
    /// threads that wait for each other lose more than the overlap gains.
    fn overlap(&self) -> usize {
        0
    }

    /// Whether an estimate is never above the true cost: then A* finds cheapest solutions.
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
    fn submit(&mut self, states: &[S], ask: Query) -> Result<(), HeuristicError>;

    /// Waits for the estimates of the oldest chunk that was not collected yet.
    ///
    /// # Errors
    /// If the device has failed.
    ///
    /// # Panics
    /// If nothing was submitted: that is a mistake in the search.
    fn collect(&mut self) -> Result<Estimates, HeuristicError>;

    /// Whether the oldest chunk is done: whether [`Heuristic::collect`] would not wait. Also `true` where that cannot be told.
    fn is_ready(&mut self) -> bool {
        true
    }

    /// Sets up all that the first chunk would set up, so that it costs a search neither time nor memory.
    ///
    /// # Errors
    /// If the device has failed.
    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        Ok(())
    }

    /// The estimates of one chunk at once, in place of what `values` held; nothing else may be in flight. The same as
    /// submitting and collecting it, but for what that allocates.
    ///
    /// # Errors
    /// If the device has failed.
    fn estimate_all(&mut self, states: &[S], values: &mut Vec<f32>) -> Result<(), HeuristicError> {
        self.submit(states, Query::Values)?;
        *values = self.collect()?.values;
        Ok(())
    }

    /// The estimate of one state, for searches that have no batches; nothing else may be in flight.
    ///
    /// # Errors
    /// If the device has failed.
    fn estimate(&mut self, state: &S) -> Result<f32, HeuristicError> {
        self.submit(std::slice::from_ref(state), Query::Values)?;
        Ok(self.collect()?.values[0])
    }

    /// The same estimate towards another goal, for searches from both ends; `None` where there is none.
    fn retarget(&self) -> Option<Retarget<S>> {
        None
    }
}

/// Makes an estimate towards a given goal.
pub type Retarget<S> = Arc<dyn Fn(&S) -> Option<Box<dyn Heuristic<S>>> + Send + Sync>;

/// The estimates that exist for one puzzle alone, by name.
pub trait PuzzleHeuristics: Puzzle {
    /// The names of the estimates, the default last.
    fn heuristics(&self) -> &'static [&'static str];

    /// One of [`PuzzleHeuristics::heuristics`]; `None` if there is none of that name.
    fn heuristic(&self, name: &str) -> Option<Box<dyn Heuristic<Self::State>>>;
}

/// The heuristic that knows nothing: 0 everywhere. A* with it is a search by cost alone.
pub fn zero<S: State>() -> PerState<S> {
    PerState::new("zero", true, |_| 0.0)
}

/// The distance in moves within `depth` moves of the goals, by breadth-first search, and `depth + 1` beyond, times what the
/// cheapest move costs there: admissible, and exact where all moves cost the same and the table holds the whole puzzle.
pub fn perimeter_heuristic<P: Reversible>(puzzle: &P, depth: u32) -> PerState<P::State> {
    let table = exact_distances(puzzle, depth);
    let goal = puzzle.goals()[0];
    let legal = (0..puzzle.move_count() as Move).filter(|&action| puzzle.apply(&goal, action).is_some());
    // All costs are 1, or a user's, which are the same in all states.
    let least = legal.map(|action| puzzle.move_cost(&goal, action)).min().unwrap_or(1) as f32;
    let beyond = (depth + 1) as f32;
    PerState::new("perimeter", true, move |state| {
        least * table.get(state).map_or(beyond, |&distance| f32::from(distance))
    })
}

/// The distance, in moves, of every state within `depth` moves of a goal.
pub fn exact_distances<P: Reversible>(puzzle: &P, depth: u32) -> HashMap<P::State, u8, foldhash::fast::FixedState> {
    let mut table: HashMap<P::State, u8, _> = HashMap::with_hasher(foldhash::fast::FixedState::default());
    let mut layer = puzzle.goals();
    layer.iter().for_each(|goal| {
        table.insert(*goal, 0);
    });
    for distance in 1..=depth.min(u32::from(u8::MAX)) as u8 {
        let mut next = Vec::new();
        for state in &layer {
            for action in 0..puzzle.move_count() as Move {
                // Walking back from the goals: a state one move before this one.
                let Some(before) = puzzle.apply(state, puzzle.inverse(action)) else { continue };
                if let hashbrown::hash_map::Entry::Vacant(entry) = table.entry(before) {
                    entry.insert(distance);
                    next.push(before);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        layer = next;
    }
    table
}
