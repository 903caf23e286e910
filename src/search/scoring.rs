//! States on their way from a search to its heuristic and back, in chunks.

use super::arena::NodeId;
use crate::heuristic::{Ask, Estimates, Heuristic, HeuristicError};
use crate::puzzle::State;

/// States on their way to the heuristic and back.
pub(super) struct Scoring<'a, S> {
    pub(super) heuristic: &'a mut dyn Heuristic<S>,
    pub(super) chunk: usize,
    pub(super) overlap: usize,
    ask: Ask,
    /// New states, not handed over yet; their nodes are numbered one after the other from `first`.
    states: Vec<S>,
    first: NodeId,
    /// The first node of each chunk that is out.
    out: std::collections::VecDeque<NodeId>,
}

impl<'a, S: State> Scoring<'a, S> {
    pub(super) fn new(heuristic: &'a mut dyn Heuristic<S>, ask: Ask) -> Self {
        let chunk = heuristic.chunk().max(1);
        let overlap = heuristic.overlap();
        Scoring { heuristic, chunk, overlap, ask, states: Vec::with_capacity(chunk), first: 0, out: Default::default() }
    }

    pub(super) fn add(&mut self, id: NodeId, state: &S) {
        if self.states.is_empty() {
            self.first = id;
        }
        self.states.push(*state);
    }

    pub(super) fn waiting(&self) -> usize {
        self.states.len()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.out.len()
    }

    /// Hands over one chunk, or what there is of it, and says how many states that were.
    pub(super) fn submit(&mut self) -> Result<usize, HeuristicError> {
        let count = self.states.len().min(self.chunk);
        self.heuristic.submit(&self.states[..count], self.ask)?;
        self.states.drain(..count);
        self.out.push_back(self.first);
        self.first += count as NodeId;
        Ok(count)
    }

    pub(super) fn collect(&mut self) -> Result<(NodeId, Estimates), HeuristicError> {
        let first = self.out.pop_front().expect("a chunk is out");
        Ok((first, self.heuristic.collect()?))
    }

    /// If enough waits for a chunk, hands it over, and takes what the heuristic has finished; counts the states.
    pub(super) fn advance(&mut self, count: &mut u64, take: impl FnOnce(Estimates)) -> Result<(), HeuristicError> {
        if self.waiting() >= self.chunk {
            *count += self.submit()? as u64;
            if self.in_flight() > self.overlap {
                take(self.collect()?.1);
            }
        }
        Ok(())
    }

    /// Hands over all that waits, and takes all that is out; counts the states.
    pub(super) fn finish(&mut self, count: &mut u64, mut take: impl FnMut(Estimates)) -> Result<(), HeuristicError> {
        while self.waiting() > 0 {
            *count += self.submit()? as u64;
        }
        while self.in_flight() > 0 {
            take(self.collect()?.1);
        }
        Ok(())
    }

    /// Has the cost-to-go of all that waits estimated at once; gives the first node.
    pub(super) fn score(&mut self, values: &mut Vec<f32>) -> Result<NodeId, HeuristicError> {
        self.heuristic.estimate_all(&self.states, values)?;
        self.states.clear();
        Ok(self.first)
    }

    /// Waits for what is out and forgets it, so that the heuristic is free for the next search.
    pub(super) fn discard(&mut self) -> Result<(), HeuristicError> {
        self.states.clear();
        while !self.out.is_empty() {
            self.collect()?;
        }
        Ok(())
    }
}
