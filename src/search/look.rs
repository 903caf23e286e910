//! A look from states near the end, without scores: all ways of some moves into what the [`Endgame`] knows.

use super::arena::NodeId;
use super::endgame::Endgame;
use crate::puzzle::{Move, Puzzle, State};

/// Of one state, at most about so many are made.
const MOST_STATES: f64 = 1000.0;

/// So many are looked up together.
const TOGETHER: usize = 64;

/// How many moves a look may go on.
pub(super) fn most_moves<S: State>(endgame: &Endgame<S>) -> usize {
    (MOST_STATES.ln() / endgame.branching().max(1.5).ln()) as usize
}

/// All that comes of a state in some moves, made move by move; kept from state to state for its memory.
pub(super) struct Sight<S> {
    /// After each move but the last, no move included: the states, and of each the one that it came from, and the move.
    after: Vec<Vec<(S, NodeId, Option<Move>)>>,
    /// Children made.
    pub(super) made: u64,
    /// The number of the first state from which the endgame was met, and the way from there to a goal.
    pub(super) found: Option<(usize, Vec<Move>)>,
}

impl<S> Default for Sight<S> {
    fn default() -> Self {
        Sight { after: Vec::new(), made: 0, found: None }
    }
}

impl<S: State> Sight<S> {
    /// Looks from each state until the endgame is met in exactly so many moves.
    pub(super) fn look<P: Puzzle<State = S>>(&mut self, puzzle: &P, endgame: &Endgame<S>, states: &[S], moves: usize) {
        let way = |(i, state)| Some((i, self.way_from(puzzle, endgame, state, moves)?));
        self.found = states.iter().enumerate().find_map(way);
    }

    fn way_from<P: Puzzle<State = S>>(
        &mut self,
        puzzle: &P,
        endgame: &Endgame<S>,
        state: &S,
        moves: usize,
    ) -> Option<Vec<Move>> {
        let Some(last) = moves.checked_sub(1) else { return endgame.way_home(puzzle, state) };
        self.after.resize_with(moves, Vec::new);
        self.after.iter_mut().for_each(Vec::clear);
        self.after[0].push((*state, 0, None));
        for depth in 0..last {
            let (before, after) = self.after.split_at_mut(depth + 1);
            for (id, (parent, _, action)) in before[depth].iter().enumerate() {
                for &next in endgame.following(*action) {
                    let Some(child) = puzzle.apply(parent, next) else { continue };
                    after[0].push((child, id as NodeId, Some(next)));
                    self.made += 1;
                }
            }
        }
        let mut keys = [0; TOGETHER];
        let mut origins = [(0, 0); TOGETHER];
        let mut waiting = 0;
        for (id, (parent, _, action)) in self.after[last].iter().enumerate() {
            for &next in endgame.following(*action) {
                let Some(child) = puzzle.apply(parent, next) else { continue };
                (keys[waiting], origins[waiting]) = (Endgame::key(&child), (id, next));
                waiting += 1;
                if waiting == TOGETHER {
                    self.made += TOGETHER as u64;
                    waiting = 0;
                    if let Some(at) = endgame.first_of(&keys) {
                        return self.way_through(puzzle, endgame, origins[at]);
                    }
                }
            }
        }
        self.made += waiting as u64;
        self.way_through(puzzle, endgame, origins[endgame.first_of(&keys[..waiting])?])
    }

    /// The way that a last move ends, and from there home.
    fn way_through<P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        endgame: &Endgame<S>,
        (mut at, action): (usize, Move),
    ) -> Option<Vec<Move>> {
        let (parent, ..) = self.after.last()?[at];
        let home = endgame.way_home(puzzle, &puzzle.apply(&parent, action)?)?;
        let mut way = vec![action];
        for states in self.after[1..].iter().rev() {
            let (_, parent, action) = states[at];
            way.extend(action);
            at = parent as usize;
        }
        way.reverse();
        way.extend(home);
        Some(way)
    }
}
