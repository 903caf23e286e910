//! Moves that make a walk longer than it need be, found by trying.
//!
//! A label is better the nearer it is to the distance. `U D U'` leads where `D` does, and `U U U` where `U'` does: a walk
//! with such a detour has a label that is too high by 2, and nearly every random walk of 26 quarter turns has one. Walks
//! here never make a move that undoes an earlier one, that merges with it into one move (`U2` after `U`), or that makes a
//! power which is shorter the other way round, if all moves in between commute with it. (If all moves commute, as in
//! Lights Out, labels are then exact.) Commuting moves keep their order: no way of writing a state is preferred. Every move
//! that could as well have been the last, because it commutes with all later ones, leads back as the last one does.

use super::Walker;
use crate::puzzle::{Move, Puzzle};
use crate::random::{Generator, below, generator};

/// Random states that a law must hold for.
const TRIED: usize = 64;

/// Highest power of a move that is tried.
const MAX_POWER: usize = 12;

/// One bit per move.
type MoveSet = [u64; 4];

#[inline]
fn has(set: &MoveSet, action: Move) -> bool {
    set[usize::from(action) / 64] >> (action % 64) & 1 == 1
}

/// Which moves of a puzzle commute, merge, and repeat.
#[derive(Debug, Clone)]
pub(super) struct MovePruning {
    /// For each move, the moves that commute with it.
    commuting: Vec<MoveSet>,
    inverses: Vec<Move>,
    /// For each move, the earlier moves with which it merges into one move or none.
    merging: Vec<MoveSet>,
    /// Repetitions of a move before it is shorter the other way round; 0 for no limit.
    max_repeats: Vec<u8>,
}

impl MovePruning {
    /// Tries all pairs of moves, and the powers of all moves, in random states.
    pub(super) fn of<P: Puzzle>(puzzle: &P, start: P::State) -> Self {
        let moves = puzzle.move_count();
        let states = random_states(puzzle, start, &mut generator(0, 0));
        let one = |state: &P::State, action: usize| puzzle.apply(state, action as Move);
        let two = |state: &P::State, a: usize, b: usize| one(state, a).and_then(|state| one(&state, b));
        let commute = |a: usize, b: usize| {
            // If only one order is legal, the moves do not commute; if neither is, nothing is learned.
            let mut legal = false;
            let equal = states.iter().map(|state| (two(state, a, b), two(state, b, a))).all(|(ab, ba)| {
                legal |= ab.is_some();
                ab == ba
            });
            equal && legal
        };
        let max_repeats = |action: usize| {
            let end = |state: &P::State, power: usize| (0..power).try_fold(*state, |state, _| one(&state, action));
            let is_identity = |&power: &usize| {
                let mut ends = states.iter().filter_map(|state| Some((state, end(state, power)?))).peekable();
                ends.peek().is_some() && ends.all(|(state, end)| *state == end)
            };
            let order = (2..=MAX_POWER).find(is_identity);
            order.map_or(0, |order| (order / 2) as u8)
        };
        // One state tells which single move a pair may be; the others check it.
        let probe = states[TRIED - 1];
        let neighbours: Vec<_> = (0..moves).map(|action| one(&probe, action)).collect();
        let merge = |a: usize, b: usize| {
            let is_single = |single: usize| states.iter().all(|state| two(state, a, b) == one(state, single));
            let single = || {
                let end = Some(two(&probe, a, b)?);
                neighbours.iter().position(|neighbour| *neighbour == end)
            };
            puzzle.inverse(b as Move) == a as Move || single().is_some_and(is_single)
        };
        let sets = |holds: &dyn Fn(usize, usize) -> bool| -> Vec<MoveSet> {
            let set = |a: usize| {
                let mut set = MoveSet::default();
                (0..moves).filter(|&b| holds(a, b)).for_each(|b| set[b / 64] |= 1 << (b % 64));
                set
            };
            (0..moves).map(set).collect()
        };
        MovePruning {
            commuting: sets(&commute),
            inverses: (0..moves as Move).map(|action| puzzle.inverse(action)).collect(),
            merging: sets(&|b, a| merge(a, b)),
            max_repeats: (0..moves).map(max_repeats).collect(),
        }
    }

    /// The move that undoes a move.
    pub(super) fn inverse(&self, action: Move) -> Move {
        self.inverses[usize::from(action)]
    }

    /// Whether two moves commute.
    pub(super) fn commute(&self, a: Move, b: Move) -> bool {
        has(&self.commuting[usize::from(a)], b)
    }

    /// Whether a move merges with one made before into one move or none.
    pub(super) fn merge(&self, made: Move, next: Move) -> bool {
        has(&self.merging[usize::from(next)], made)
    }

    /// The most repetitions of a move, if there is a limit.
    pub(super) fn max_repeats(&self, action: Move) -> Option<u8> {
        Some(self.max_repeats[usize::from(action)]).filter(|&repeats| repeats > 0)
    }

    /// Whether all moves commute.
    pub(super) fn all_commute(&self) -> bool {
        let moves = self.commuting.len();
        self.commuting.iter().all(|set| (0..moves).all(|action| has(set, action as Move)))
    }

    /// True if a walk that ends with this move has no known detour.
    #[inline]
    pub(super) fn allow(&self, walk: &[Move], next: Move) -> bool {
        let mut repeats = 1;
        for &made in walk.iter().rev() {
            if has(&self.merging[usize::from(next)], made) {
                return false;
            }
            if made == next {
                repeats += 1;
                let max = self.max_repeats[usize::from(next)];
                if max != 0 && repeats > max {
                    return false;
                }
            } else if !has(&self.commuting[usize::from(next)], made) {
                return true;
            }
        }
        true
    }

    /// The moves that lead back from the end of a walk: inverses of its last move, and of all that could as well have been
    /// the last.
    #[inline]
    pub(super) fn back<'a>(&'a self, walk: &'a [Move]) -> impl Iterator<Item = Move> + 'a {
        let mut free = [u64::MAX; 4]; // what commutes with all later moves
        let moves = walk.iter().rev().map_while(move |&made| {
            let last = has(&free, made);
            free.iter_mut().zip(&self.commuting[usize::from(made)]).for_each(|(free, set)| *free &= set);
            (last || free != [0; 4]).then_some((last, made))
        });
        moves.filter(|(last, _)| *last).map(|(_, made)| self.inverse(made))
    }
}

/// States at the ends of random walks.
fn random_states<P: Puzzle>(puzzle: &P, start: P::State, generator: &mut Generator) -> Vec<P::State> {
    let mut walker = Walker::new(puzzle, start);
    let mut states = vec![start];
    while states.len() < TRIED {
        for _ in 0..8 + below(generator, 8) {
            walker.step(generator);
        }
        states.push(walker.state);
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::{Notation as _, Rules as _};

    #[test]
    fn detours_of_the_cube_are_known() {
        let pruning = MovePruning::of(&Cube3, Cube3.goals()[0]);
        let allowed = |text: &str| {
            let moves = Cube3.parse_moves(text).expect("moves");
            let (next, walk) = moves.split_last().expect("a move");
            pruning.allow(walk, *next)
        };
        for detour in ["U U'", "U D U'", "U U U", "U D U U", "D U D'", "R U D U'", "U D D U D"] {
            assert!(!allowed(detour), "{detour}");
        }
        let back = |text: &str| {
            let mut moves: Vec<Move> = pruning.back(&Cube3.parse_moves(text).expect("moves")).collect();
            moves.sort_unstable();
            moves
        };
        let same = |walk: &str, moves: &str| {
            let mut moves = Cube3.parse_moves(moves).expect("moves");
            moves.sort_unstable();
            assert_eq!(back(walk), moves, "{walk}");
        };
        same("R U", "U'");
        same("R U D'", "U' D");
        same("U R L", "R' L'");
        same("R D U R", "R'");
        for way in ["U U", "U R U'", "U D", "D U", "U D U", "U' U'", "U U R U", "R U D R'"] {
            assert!(allowed(way), "{way}");
        }
    }
}
