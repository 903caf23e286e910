//! States on their way from a search to its heuristic and back, in chunks.
//!
//! The states stay where the search has them, in the order of their numbers; the queue knows which of them it has submitted.

use super::nodes::arena::NodeId;
use crate::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use crate::puzzle::State;
use std::collections::VecDeque;
use std::thread;

/// The chunks in flight to a heuristic.
pub(super) struct ChunkQueue<'a, S> {
    pub(super) heuristic: &'a mut dyn Heuristic<S>,
    pub(super) chunk: usize,
    /// How many chunks may be in flight while the search goes on.
    pub(super) overlap: usize,
    ask: Query,
    /// The first state that was not submitted.
    pub(super) next: NodeId,
    /// The first state of each chunk in flight.
    submitted: VecDeque<NodeId>,
}

impl<'a, S: State> ChunkQueue<'a, S> {
    pub(super) fn new(heuristic: &'a mut dyn Heuristic<S>, ask: Query) -> Self {
        let chunk = heuristic.chunk().max(1);
        let overlap = heuristic.overlap();
        ChunkQueue { heuristic, chunk, overlap, ask, next: 0, submitted: VecDeque::new() }
    }

    /// How many chunks were submitted and not collected yet.
    pub(super) fn in_flight(&self) -> usize {
        self.submitted.len()
    }

    /// Submits one chunk of states, or what there is of it; gives how many those are. The first has the number `next`.
    pub(super) fn submit(&mut self, states: &[S]) -> Result<usize, HeuristicError> {
        let count = states.len().min(self.chunk);
        self.heuristic.submit(&states[..count], self.ask)?;
        self.submitted.push_back(self.next);
        self.next += count as NodeId;
        Ok(count)
    }

    /// Waits for the oldest chunk in flight; gives its first state's number.
    pub(super) fn collect(&mut self) -> Result<(NodeId, Estimates), HeuristicError> {
        let first = self.submitted.pop_front().expect("a chunk is in flight");
        Ok((first, self.heuristic.collect()?))
    }

    /// Of states that are numbered from 0, whether a whole chunk was not submitted.
    pub(super) fn is_full(&self, states: &[S]) -> bool {
        states.len() - self.next as usize >= self.chunk
    }

    /// Of states that are numbered from 0, submits the next chunk, and collects the oldest if too many are in flight; counts
    /// the states.
    pub(super) fn advance(
        &mut self,
        states: &[S],
        count: &mut u64,
        take: impl FnOnce(Estimates),
    ) -> Result<(), HeuristicError> {
        *count += self.submit(&states[self.next as usize..])? as u64;
        if self.in_flight() > self.overlap {
            take(self.collect()?.1);
        }
        Ok(())
    }

    /// Of states that are numbered from 0, submits all that are left, and collects all that is in flight; counts the states.
    pub(super) fn finish(
        &mut self,
        states: &[S],
        count: &mut u64,
        mut take: impl FnMut(Estimates),
    ) -> Result<(), HeuristicError> {
        while (self.next as usize) < states.len() {
            self.advance(states, count, &mut take)?;
        }
        while self.in_flight() > 0 {
            take(self.collect()?.1);
        }
        Ok(())
    }
}

impl<S> ChunkQueue<'_, S> {
    /// Drops all that is in flight, errors too, so that the heuristic is free for the next search.
    pub(super) fn discard(&mut self) {
        while self.submitted.pop_front().is_some() {
            let _ = self.heuristic.collect();
        }
    }
}

impl<S> Drop for ChunkQueue<'_, S> {
    /// What is in flight where a search breaks off is no answer to the next one.
    fn drop(&mut self) {
        if !thread::panicking() {
            self.discard();
        }
    }
}
