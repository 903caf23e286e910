//! The refinement after a beam search: from states near the end, all paths of a few moves into the [`Perimeter`], without
//! evaluation.

use super::nodes::arena::NodeId;
use super::perimeter::Perimeter;
use crate::puzzle::{Move, Puzzle, State};

/// From one state, at most about so many are generated.
const MOST_STATES: f64 = 1000.0;

/// So many are looked up together.
const TOGETHER: usize = 64;

/// The most moves between a layer and the perimeter.
pub(super) fn most_moves<S: State>(perimeter: &Perimeter<S>) -> usize {
    (MOST_STATES.ln() / perimeter.branching().max(1.5).ln()) as usize
}

/// Generates the descendants of states layer by layer; kept from state to state for its memory.
pub(super) struct Refiner<S> {
    /// After each move but the last, no move included: the states, and of each the one that it came from, and the move.
    after: Vec<Vec<(S, NodeId, Option<Move>)>>,
    /// Children generated.
    pub(super) generated: u64,
    /// The number of the first state from which the perimeter was reached, and the path from there to a goal.
    pub(super) found: Option<(usize, Vec<Move>)>,
}

impl<S> Default for Refiner<S> {
    fn default() -> Self {
        Refiner { after: Vec::new(), generated: 0, found: None }
    }
}

impl<S: State> Refiner<S> {
    /// Expands each state until the perimeter is reached in exactly so many moves.
    pub(super) fn run<P: Puzzle<State = S>>(
        &mut self,
        puzzle: &P,
        perimeter: &Perimeter<S>,
        states: &[S],
        moves: usize,
    ) {
        let path = |(i, state)| Some((i, self.path_from(puzzle, perimeter, state, moves)?));
        self.found = states.iter().enumerate().find_map(path);
    }

    fn path_from<P: Puzzle<State = S>>(
        &mut self,
        puzzle: &P,
        perimeter: &Perimeter<S>,
        state: &S,
        moves: usize,
    ) -> Option<Vec<Move>> {
        let Some(last) = moves.checked_sub(1) else { return perimeter.path_to_goal(puzzle, state) };
        self.after.resize_with(moves, Vec::new);
        self.after.iter_mut().for_each(Vec::clear);
        self.after[0].push((*state, 0, None));
        for depth in 0..last {
            let (before, after) = self.after.split_at_mut(depth + 1);
            for (id, (parent, _, action)) in before[depth].iter().enumerate() {
                for &next in perimeter.following(*action) {
                    let Some(child) = puzzle.apply(parent, next) else { continue };
                    after[0].push((child, id as NodeId, Some(next)));
                    self.generated += 1;
                }
            }
        }
        let mut keys = [0; TOGETHER];
        let mut origins = [(0, 0); TOGETHER];
        let mut waiting = 0;
        for (id, (parent, _, action)) in self.after[last].iter().enumerate() {
            for &next in perimeter.following(*action) {
                let Some(child) = puzzle.apply(parent, next) else { continue };
                (keys[waiting], origins[waiting]) = (Perimeter::key(&child), (id, next));
                waiting += 1;
                if waiting == TOGETHER {
                    self.generated += TOGETHER as u64;
                    waiting = 0;
                    if let Some(at) = perimeter.first_of(&keys) {
                        return self.path_through(puzzle, perimeter, origins[at]);
                    }
                }
            }
        }
        self.generated += waiting as u64;
        self.path_through(puzzle, perimeter, origins[perimeter.first_of(&keys[..waiting])?])
    }

    /// The path that ends with a last move, and goes on to a goal.
    fn path_through<P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        perimeter: &Perimeter<S>,
        (mut at, action): (usize, Move),
    ) -> Option<Vec<Move>> {
        let (parent, ..) = self.after.last()?[at];
        let rest = perimeter.path_to_goal(puzzle, &puzzle.apply(&parent, action)?)?;
        let mut path = vec![action];
        for states in self.after[1..].iter().rev() {
            let (_, parent, action) = states[at];
            path.extend(action);
            at = parent as usize;
        }
        path.reverse();
        path.extend(rest);
        Some(path)
    }
}
