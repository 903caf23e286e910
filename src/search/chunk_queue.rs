//! The queue between a search and its heuristic: chunks of states in flight.

use crate::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use std::thread;

/// Submits states that the search holds in a slice, in their order, and collects their estimates in the same order.
pub(super) struct ChunkQueue<'a, S> {
    pub(super) heuristic: &'a mut dyn Heuristic<S>,
    /// States of a chunk.
    pub(super) chunk: usize,
    /// Chunks that may be in flight while the search goes on.
    pub(super) max_in_flight: usize,
    pub(super) query: Query,
    /// The first state of the slice that is not submitted yet.
    pub(super) next: usize,
    /// Chunks that are submitted and not collected yet.
    in_flight: usize,
}

impl<'a, S> ChunkQueue<'a, S> {
    pub(super) fn new(heuristic: &'a mut dyn Heuristic<S>, query: Query) -> Self {
        let (chunk, max_in_flight) = (heuristic.chunk().max(1), heuristic.max_in_flight());
        ChunkQueue { heuristic, chunk, max_in_flight, query, next: 0, in_flight: 0 }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// Whether a whole chunk waits.
    pub(super) fn is_full(&self, states: &[S]) -> bool {
        states.len() - self.next >= self.chunk
    }

    /// Submits the next chunk, and adds its length to `count`. Collects the oldest chunk if too many are in flight.
    pub(super) fn advance(&mut self, states: &[S], count: &mut u64) -> Result<Option<Estimates>, HeuristicError> {
        let end = states.len().min(self.next + self.chunk);
        self.heuristic.submit(&states[self.next..end], self.query)?;
        *count += (end - self.next) as u64;
        (self.next, self.in_flight) = (end, self.in_flight + 1);
        if self.in_flight > self.max_in_flight { self.collect().map(Some) } else { Ok(None) }
    }

    /// Submits all that is left, and collects chunk after chunk; `None` when nothing is in flight any more. The queue is then
    /// ready for another slice.
    pub(super) fn finish(&mut self, states: &[S], count: &mut u64) -> Result<Option<Estimates>, HeuristicError> {
        while self.next < states.len() {
            if let Some(estimates) = self.advance(states, count)? {
                return Ok(Some(estimates));
            }
        }
        if !self.is_idle() {
            return self.collect().map(Some);
        }
        self.next = 0;
        Ok(None)
    }

    /// Waits for the oldest chunk in flight.
    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.in_flight -= 1;
        self.heuristic.collect()
    }

    /// Drops everything in flight, errors included. The queue is then ready for another slice.
    pub(super) fn discard(&mut self) {
        self.next = 0;
        for _ in 0..std::mem::take(&mut self.in_flight) {
            let _ = self.heuristic.collect();
        }
    }
}

impl<S> Drop for ChunkQueue<'_, S> {
    /// Leaves no chunk of this search to the next one.
    fn drop(&mut self) {
        if !thread::panicking() {
            self.discard();
        }
    }
}
