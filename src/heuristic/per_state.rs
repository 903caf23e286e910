//! A function of one state as a heuristic.

use super::{Estimates, Heuristic, HeuristicError, Query, Retarget};
use crate::puzzle::State;
use std::cell::LazyCell;
use std::collections::VecDeque;

/// A heuristic that looks at one state at a time.
pub struct PerState<S> {
    name: String,
    admissible: bool,
    estimate: LazyCell<Estimate<S>, Box<dyn FnOnce() -> Estimate<S> + Send>>,
    done: VecDeque<Estimates>,
    retarget: Option<Retarget<S>>,
}

type Estimate<S> = Box<dyn Fn(&S) -> f32 + Send>;

impl<S> PerState<S> {
    /// Wraps a function of a state.
    pub fn new(name: &str, admissible: bool, estimate: impl Fn(&S) -> f32 + Send + 'static) -> Self {
        PerState::deferred(name, admissible, || estimate)
    }

    /// Wraps a function of a state that is made at the first query: a search without queries does not pay for its tables.
    pub fn deferred<F>(name: &str, admissible: bool, make: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Fn(&S) -> f32 + Send + 'static,
    {
        let make: Box<dyn FnOnce() -> Estimate<S> + Send> = Box::new(|| Box::new(make()));
        let (estimate, done) = (LazyCell::new(make), VecDeque::new());
        PerState { name: name.into(), admissible, estimate, done, retarget: None }
    }

    /// Adds the same estimate towards other goals, for searches from both ends.
    pub fn with_goals(self, retarget: Retarget<S>) -> Self {
        PerState { retarget: Some(retarget), ..self }
    }
}

/// The heuristic that is 0 everywhere: A* with it is a search by path cost alone.
pub fn zero<S: State>() -> PerState<S> {
    PerState::new("zero", true, |_| 0.0)
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

    fn submit(&mut self, states: &[S], _query: Query) -> Result<(), HeuristicError> {
        let values = states.iter().map(&**self.estimate).collect();
        self.done.push_back(Estimates { values, policy: None });
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

    fn retarget(&self) -> Option<Retarget<S>> {
        self.retarget.clone()
    }
}
