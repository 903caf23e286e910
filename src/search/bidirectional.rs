//! Bidirectional breadth-first search: from the start and from the goals at once, until the two meet.
//!
//! - For puzzles whose goals are known and whose moves can be undone.
//! - Start and goals enter one first-in first-out queue; every stored state knows its side. The search ends when a state
//!   of one side makes a state of the other.
//! - Complete, and the solution has the fewest moves: the sides grow by whole layers in turn, so the first meeting is on a
//!   shortest path.
//! - Time and memory: two searches of half the depth, 2·b^(d/2) states for b moves and d steps.
//! - A [perimeter](super::perimeter) replaces the side of the goals: only the side of the start is searched.
//!
//! Pohl, "Bi-directional search" (Machine Intelligence 6, 1971).

use super::breadth_first::BreadthFirst;
use super::{Search, SearchResult, Task};
use crate::error::Result;
use crate::puzzle::{Puzzle, State, assert_reversible};

/// The search `bidirectional`, which uses no heuristic. Panics on a puzzle that is not
/// [reversible](crate::puzzle::Rules::is_reversible).
#[derive(Debug, Clone)]
pub struct Bidirectional<S> {
    /// The start's side.
    pub forward: BreadthFirst<S>,
}

impl<S: State> Default for Bidirectional<S> {
    /// Without a perimeter.
    fn default() -> Self {
        Bidirectional { forward: BreadthFirst::default() }
    }
}

impl<P: Puzzle> Search<P> for Bidirectional<P::State> {
    fn solve(&self, task: Task<'_, '_, P>) -> Result<SearchResult> {
        if !self.forward.perimeter.is_empty() {
            return self.forward.solve(task);
        }
        let Task { puzzle, start, control, .. } = task;
        assert_reversible(puzzle);
        Ok(self.forward.search(puzzle, start, &puzzle.goals(), control))
    }
}
