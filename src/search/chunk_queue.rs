//! States on their way from a search to its heuristic and back, in chunks.

use super::nodes::arena::NodeId;
use crate::heuristic::{Ask, Estimates, Heuristic, HeuristicError};
use crate::puzzle::State;
use std::collections::VecDeque;

/// States that wait for their estimates: first in the queue, then in flight.
pub(super) struct ChunkQueue<'a, S> {
    pub(super) heuristic: &'a mut dyn Heuristic<S>,
    chunk: usize,
    /// How many chunks may be in flight while the search goes on.
    pub(super) overlap: usize,
    ask: Ask,
    /// New states, not submitted yet; their nodes are numbered one after the other from `first`.
    states: Vec<S>,
    first: NodeId,
    /// The first node of each chunk in flight.
    submitted: VecDeque<NodeId>,
}

impl<'a, S: State> ChunkQueue<'a, S> {
    pub(super) fn new(heuristic: &'a mut dyn Heuristic<S>, ask: Ask) -> Self {
        let chunk = heuristic.chunk().max(1);
        let overlap = heuristic.overlap();
        let states = Vec::with_capacity(chunk);
        ChunkQueue { heuristic, chunk, overlap, ask, states, first: 0, submitted: VecDeque::new() }
    }

    pub(super) fn add(&mut self, id: NodeId, state: &S) {
        if self.states.is_empty() {
            self.first = id;
        }
        self.states.push(*state);
    }

    /// Adds the first of some states, whose nodes are numbered one after the other, until a whole chunk waits; gives how many.
    pub(super) fn add_some(&mut self, first: NodeId, states: &[S]) -> usize {
        if self.states.is_empty() {
            self.first = first;
        }
        let count = self.chunk.saturating_sub(self.states.len()).min(states.len());
        self.states.extend_from_slice(&states[..count]);
        count
    }

    /// How many states were not submitted yet.
    pub(super) fn waiting(&self) -> usize {
        self.states.len()
    }

    /// Whether a whole chunk waits.
    pub(super) fn is_full(&self) -> bool {
        self.states.len() >= self.chunk
    }

    /// How many chunks were submitted and not collected yet.
    pub(super) fn in_flight(&self) -> usize {
        self.submitted.len()
    }

    /// Whether all that is to be evaluated waits, and is one chunk at most.
    pub(super) fn fits_one_chunk(&self) -> bool {
        self.submitted.is_empty() && (1..=self.chunk).contains(&self.states.len())
    }

    /// Submits one chunk, or what there is of it, and gives its number of states.
    pub(super) fn submit(&mut self) -> Result<usize, HeuristicError> {
        let count = self.states.len().min(self.chunk);
        self.heuristic.submit(&self.states[..count], self.ask)?;
        self.states.drain(..count);
        self.submitted.push_back(self.first);
        self.first += count as NodeId;
        Ok(count)
    }

    /// Waits for the oldest chunk in flight; gives its first node.
    pub(super) fn collect(&mut self) -> Result<(NodeId, Estimates), HeuristicError> {
        let first = self.submitted.pop_front().expect("a chunk is in flight");
        Ok((first, self.heuristic.collect()?))
    }

    /// If a whole chunk waits, submits it, and collects the oldest if too many are in flight; counts the states.
    pub(super) fn advance(&mut self, count: &mut u64, take: impl FnOnce(Estimates)) -> Result<(), HeuristicError> {
        if self.is_full() {
            *count += self.submit()? as u64;
            if self.in_flight() > self.overlap {
                take(self.collect()?.1);
            }
        }
        Ok(())
    }

    /// Submits all that waits, and collects all that is in flight; counts the states.
    pub(super) fn finish(&mut self, count: &mut u64, mut take: impl FnMut(Estimates)) -> Result<(), HeuristicError> {
        while self.waiting() > 0 {
            *count += self.submit()? as u64;
        }
        while self.in_flight() > 0 {
            take(self.collect()?.1);
        }
        Ok(())
    }

    /// The cost-to-go of all that waits, which [fits one chunk](Self::fits_one_chunk); gives the first node.
    pub(super) fn evaluate(&mut self, values: &mut Vec<f32>) -> Result<NodeId, HeuristicError> {
        self.heuristic.estimate_all(&self.states, values)?;
        self.states.clear();
        Ok(self.first)
    }

    /// Drops all that waits or is in flight, so that the heuristic is free for the next search.
    pub(super) fn discard(&mut self) -> Result<(), HeuristicError> {
        self.states.clear();
        while !self.submitted.is_empty() {
            self.collect()?;
        }
        Ok(())
    }
}
