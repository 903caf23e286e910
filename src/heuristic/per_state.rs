//! A function of one state as a heuristic.

use super::{Estimates, Heuristic, HeuristicError, Query, Retarget};
use crate::puzzle::State;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

/// A heuristic that looks at one state at a time.
pub struct PerState<S> {
    pub(crate) name: &'static str,
    admissible: bool,
    estimate: Arc<LazyEstimate<S>>,
    done: VecDeque<Estimates>,
    retarget: Option<Retarget<S>>,
}

type EstimateState<S> = Box<dyn Fn(&S) -> f32 + Send + Sync>;
type LazyEstimate<S> = LazyLock<EstimateState<S>, Box<dyn FnOnce() -> EstimateState<S> + Send>>;

impl<S> PerState<S> {
    /// Wraps a function of a state.
    pub fn new(name: &'static str, admissible: bool, estimate: impl Fn(&S) -> f32 + Send + Sync + 'static) -> Self {
        PerState::deferred(name, admissible, || estimate)
    }

    /// Wraps a function of a state that is made at the first query: a search without queries does not pay for its tables.
    pub fn deferred<F>(name: &'static str, admissible: bool, make: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Fn(&S) -> f32 + Send + Sync + 'static,
    {
        let make: Box<dyn FnOnce() -> EstimateState<S> + Send> = Box::new(|| Box::new(make()));
        let (estimate, done) = (Arc::new(LazyLock::new(make)), VecDeque::new());
        PerState { name, admissible, estimate, done, retarget: None }
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
        self.name
    }

    fn chunk(&self) -> usize {
        4096
    }

    fn is_admissible(&self) -> bool {
        self.admissible
    }

    fn submit(&mut self, states: &[S], _query: Query) -> Result<(), HeuristicError> {
        let values = states.iter().map(&***self.estimate).collect();
        self.done.push_back(Estimates { values, policy: None });
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        Ok(self.done.pop_front().expect("a chunk was submitted"))
    }

    fn estimate_all(&mut self, states: &[S], values: &mut Vec<f32>) -> Result<(), HeuristicError> {
        values.clear();
        values.extend(states.iter().map(&***self.estimate));
        Ok(())
    }

    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        LazyLock::force(&self.estimate);
        Ok(())
    }

    fn estimate(&mut self, state: &S) -> Result<f32, HeuristicError> {
        Ok((self.estimate)(state))
    }

    fn share(&self) -> Option<Box<dyn Heuristic<S>>> {
        let (estimate, retarget) = (Arc::clone(&self.estimate), self.retarget.clone());
        Some(Box::new(PerState { estimate, done: VecDeque::new(), retarget, ..*self }))
    }

    fn retarget(&self) -> Option<Retarget<S>> {
        self.retarget.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn each_search_gets_its_own_estimates_from_one_table() {
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let half = PerState::deferred("half", true, move || {
            count.fetch_add(1, Ordering::SeqCst);
            |&state: &u64| state as f32 / 2.0
        });
        let run = |number: u64, mut part: Box<dyn Heuristic<u64>>| {
            for round in 0..40 * (number + 1) {
                let states: Vec<u64> = (0..1 + round % 7).map(|i| 1000 * number + 10 * round + i).collect();
                part.submit(&states, Query::ValuesAndPolicy).expect("it evaluates");
                let estimates = part.collect().expect("it evaluates");
                assert!(estimates.policy.is_none());
                let expected: Vec<f32> = states.iter().map(|&state| state as f32 / 2.0).collect();
                assert_eq!(estimates.values, expected);
            }
        };
        let parts: Vec<_> = (0..5).filter_map(|_| half.share()).collect();
        assert!(parts.iter().all(|part| part.name() == "half" && part.is_admissible() && !part.has_policy()));
        thread::scope(|scope| {
            (0..).zip(parts).for_each(|(number, part)| drop(scope.spawn(move || run(number, part))));
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }
}
