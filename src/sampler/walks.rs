//! Scramble walks back from the goals.

use super::{Batch, Generator, Samples, below};
use crate::puzzle::{Move, Reversible};
use rand::RngCore;
use std::sync::Arc;

/// Samples of a puzzle whose moves can be undone: each is a walk of its own from a goal, of as many moves as its depth,
/// none undoing the one before; its label is that number, an upper bound of the distance.
#[derive(Debug)]
pub struct Walks<P: Reversible> {
    puzzle: Arc<P>,
    goals: Vec<P::State>,
}

impl<P: Reversible> Walks<P> {
    /// Walks from the puzzle's goals.
    ///
    /// # Panics
    /// If it has none.
    pub fn new(puzzle: Arc<P>) -> Self {
        let goals = puzzle.goals();
        assert!(!goals.is_empty(), "a puzzle has a goal");
        Walks { puzzle, goals }
    }
}

impl<P: Reversible> Samples for Walks<P> {
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        for (&depth, (mut row, label, back)) in depths.iter().zip(batch.samples_mut()) {
            let goal = self.goals[below(generator, self.goals.len())];
            let (state, last) = walk(&*self.puzzle, goal, depth, generator);
            self.puzzle.encode(&state, row.as_slice_mut().expect("rows are contiguous"));
            *label = depth as f32;
            *back = last.map_or(0, |action| self.puzzle.inverse(action));
        }
    }
}

/// Walks `depth` legal moves from a state, none undoing the one before unless there is no other; gives the end and
/// the last move. Stops short where there is no legal move at all.
pub fn walk<P: Reversible>(
    puzzle: &P,
    start: P::State,
    depth: u32,
    generator: &mut impl RngCore,
) -> (P::State, Option<Move>) {
    let mut walker = Walker::new(puzzle, start);
    for _ in 0..depth {
        if walker.step(generator).is_none() {
            break;
        }
    }
    (walker.state, walker.last)
}

/// A random walk, move by move.
#[derive(Debug)]
pub struct Walker<'a, P: Reversible> {
    puzzle: &'a P,
    /// Where the walk is.
    pub state: P::State,
    last: Option<Move>,
}

impl<'a, P: Reversible> Walker<'a, P> {
    /// A walk that begins at a state.
    pub fn new(puzzle: &'a P, state: P::State) -> Self {
        Walker { puzzle, state, last: None }
    }

    /// Makes a random legal move, not the one that undoes the last unless there is no other.
    #[inline]
    pub fn step(&mut self, generator: &mut impl RngCore) -> Option<Move> {
        let moves = self.puzzle.move_count();
        // A few random picks nearly always meet a legal move; only then is it worth listing them all.
        for _ in 0..32 {
            let action = below(generator, moves) as Move;
            if self.last.is_some_and(|last| action == self.puzzle.inverse(last)) {
                continue;
            }
            if let Some(next) = self.puzzle.apply(&self.state, action) {
                return Some(self.go(action, next));
            }
        }
        let legal: Vec<(Move, P::State)> =
            (0..moves as Move).filter_map(|action| Some((action, self.puzzle.apply(&self.state, action)?))).collect();
        let undo = self.last.map(|last| self.puzzle.inverse(last));
        let others: Vec<_> = legal.iter().filter(|(action, _)| Some(*action) != undo).collect();
        let pick = match (others.len(), legal.len()) {
            (0, 0) => return None,
            (0, count) => legal[below(generator, count)],
            (count, _) => *others[below(generator, count)],
        };
        Some(self.go(pick.0, pick.1))
    }

    #[inline]
    fn go(&mut self, action: Move, next: P::State) -> Move {
        self.state = next;
        self.last = Some(action);
        action
    }
}
