//! Estimates of the cost-to-go, a batch at a time, and those that need no network.
//!
//! This is the wall between searches and networks: a search hands over chunks of states and collects their estimates
//! later, in order, so that the cores can expand nodes while a device scores. Splitting, caching and mocks are
//! wrappers around the one trait.

mod shared;

pub use shared::{Shared, share};

use crate::puzzle::{Move, Reversible, State};
use hashbrown::HashMap;
use ndarray::Array2;
use std::cell::LazyCell;
use std::collections::VecDeque;

/// What a heuristic says of a chunk of states.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    /// The cost-to-go of each state, in move-cost units: finite and never negative.
    pub values: Vec<f32>,
    /// For each state and each move, how probable it is that the move leads back towards the goal (a row adds up
    /// to 1); `None` if nobody asked, or the heuristic cannot tell.
    pub preferences: Option<Array2<f32>>,
}

/// What a search wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// The cost-to-go alone.
    Values,
    /// The cost-to-go, and the preferences where the heuristic has them.
    ValuesAndPreferences,
}

/// Why a chunk could not be scored.
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

    /// How many chunks may be out while the search goes on: none where the search's own cores do the scoring, for
    /// threads that wait for each other lose more than the overlap gains.
    fn overlap(&self) -> usize {
        0
    }

    /// Whether an estimate is never above the true cost: then A* finds cheapest solutions.
    fn is_admissible(&self) -> bool {
        false
    }

    /// Whether it can give preferences over the moves.
    fn has_preferences(&self) -> bool {
        false
    }

    /// Hands over a chunk.
    ///
    /// # Errors
    /// If the device has failed.
    fn submit(&mut self, states: &[S], ask: Ask) -> Result<(), HeuristicError>;

    /// Waits for the estimates of the oldest chunk that was not collected yet.
    ///
    /// # Errors
    /// If the device has failed.
    ///
    /// # Panics
    /// If nothing was submitted: that is a mistake in the search.
    fn collect(&mut self) -> Result<Estimates, HeuristicError>;

    /// Sets up all that the first chunk would set up, so that it costs a search neither time nor memory.
    ///
    /// # Errors
    /// If the device has failed.
    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        Ok(())
    }

    /// The estimates of one chunk at once, in place of what `values` held; nothing else may be out. The same as handing
    /// it over and collecting it, but for what that allocates.
    ///
    /// # Errors
    /// If the device has failed.
    fn estimate_all(&mut self, states: &[S], values: &mut Vec<f32>) -> Result<(), HeuristicError> {
        self.submit(states, Ask::Values)?;
        *values = self.collect()?.values;
        Ok(())
    }

    /// The estimate of one state, for searches that have no batches; nothing else may be out.
    ///
    /// # Errors
    /// If the device has failed.
    fn estimate(&mut self, state: &S) -> Result<f32, HeuristicError> {
        self.submit(std::slice::from_ref(state), Ask::Values)?;
        Ok(self.collect()?.values[0])
    }
}

/// A heuristic that looks at one state at a time.
pub struct PerState<S> {
    name: String,
    admissible: bool,
    estimate: LazyCell<Estimate<S>, Box<dyn FnOnce() -> Estimate<S> + Send>>,
    done: VecDeque<Estimates>,
}

type Estimate<S> = Box<dyn Fn(&S) -> f32 + Send>;

impl<S> PerState<S> {
    /// Wraps a function of a state.
    pub fn new(name: &str, admissible: bool, estimate: impl Fn(&S) -> f32 + Send + 'static) -> Self {
        PerState::deferred(name, admissible, || estimate)
    }

    /// Wraps a function of a state that is made when it is first needed: a search that asks nothing does not pay for
    /// its tables.
    pub fn deferred<F>(name: &str, admissible: bool, make: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Fn(&S) -> f32 + Send + 'static,
    {
        let make = Box::new(|| Box::new(make()) as Estimate<S>);
        PerState { name: name.into(), admissible, estimate: LazyCell::new(make), done: VecDeque::new() }
    }
}

impl<S: State> Heuristic<S> for PerState<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn chunk(&self) -> usize {
        4096
    }

    fn is_admissible(&self) -> bool {
        self.admissible
    }

    fn submit(&mut self, states: &[S], _ask: Ask) -> Result<(), HeuristicError> {
        let values = states.iter().map(&**self.estimate).collect();
        self.done.push_back(Estimates { values, preferences: None });
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        Ok(self.done.pop_front().expect("a chunk was submitted"))
    }

    fn estimate_all(&mut self, states: &[S], values: &mut Vec<f32>) -> Result<(), HeuristicError> {
        values.clear();
        values.extend(states.iter().map(&**self.estimate));
        Ok(())
    }

    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        LazyCell::force(&self.estimate);
        Ok(())
    }

    fn estimate(&mut self, state: &S) -> Result<f32, HeuristicError> {
        Ok((self.estimate)(state))
    }
}

/// The heuristic that knows nothing: 0 everywhere. A* with it is a search by cost alone.
pub fn zero<S: State>() -> PerState<S> {
    PerState::new("zero", true, |_| 0.0)
}

/// Exact costs within `depth` moves of the goals, by breadth-first search, and `depth + 1` beyond: admissible where
/// every move costs at least 1, and exact where the table holds the whole puzzle.
pub fn ball<P: Reversible>(puzzle: &P, depth: u32) -> PerState<P::State> {
    let table = exact_distances(puzzle, depth);
    let beyond = (depth + 1) as f32;
    PerState::new("ball", true, move |state| table.get(state).map_or(beyond, |&distance| f32::from(distance)))
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
