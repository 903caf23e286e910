//! Which moves make a walk longer than it need be, found by trying.
//!
//! A label is better the nearer it is to the distance. `U D U'` leads where `D` does, and `U U U` where `U'` does: a
//! walk that takes such detours has a label that is too high by 2, and they are so many that of random walks of 26
//! quarter turns hardly one has none. Here a walk never makes a move that undoes an earlier one, that makes one move of
//! the two (`U2` after `U`), or that makes a power which is shorter the other way round, where all moves in between
//! commute with it. (For moves that all commute, as in Lights Out, labels are then exact.) Orders of commuting moves stay as they come: no way of writing a state is
//! preferred. But every move that could as well have been the last, because it commutes with all that came after it,
//! leads back as the last one does.

use super::Walker;
use crate::puzzle::{Move, Reversible};
use crate::random::{Generator, below, generator};

/// Random states that a law must hold for.
const TRIED: usize = 64;

/// Powers of a move up to this are looked at.
const HIGHEST_POWER: usize = 12;

/// A bit a move.
type MoveSet = [u64; 4];

#[inline]
fn has(set: &MoveSet, action: Move) -> bool {
    set[usize::from(action) / 64] >> (action % 64) & 1 == 1
}

/// What is known of a puzzle's moves.
#[derive(Debug, Clone)]
pub(super) struct MovePruning {
    /// For each move, those that it commutes with.
    commuting: Vec<MoveSet>,
    inverse: Vec<Move>,
    /// For each move, those that it makes one move of, or none, when it follows them.
    merging: Vec<MoveSet>,
    /// How often a move can be made in a row before it is shorter the other way round; 0 where that never is.
    most: Vec<u8>,
}

impl MovePruning {
    /// Tries all pairs of moves, and the powers of all moves, in random states.
    pub(super) fn of<P: Reversible>(puzzle: &P, start: P::State) -> Self {
        let moves = puzzle.move_count();
        let states = scattered(puzzle, start, &mut generator(0, 0));
        let two = |state: &P::State, a: usize, b: usize| {
            puzzle.apply(state, a as Move).and_then(|state| puzzle.apply(&state, b as Move))
        };
        let commute = |a: usize, b: usize| {
            // Where only one order is legal the moves do not commute; where neither is, nothing is learned.
            let mut seen = states.iter().map(|state| (two(state, a, b), two(state, b, a)));
            let mut legal = false;
            let equal = seen.all(|(ab, ba)| {
                legal |= ab.is_some();
                ab == ba
            });
            equal && legal
        };
        let most = |action: usize| {
            let back = |state: &P::State, power: usize| {
                let end = (0..power).try_fold(*state, |state, _| puzzle.apply(&state, action as Move));
                end == Some(*state)
            };
            (2..=HIGHEST_POWER)
                .find(|&power| states.iter().all(|state| back(state, power)))
                .map_or(0, |power| power / 2)
        };
        let commuting = |a: usize| {
            let mut set = MoveSet::default();
            (0..moves).filter(|&b| commute(a, b)).for_each(|b| set[b / 64] |= 1 << (b % 64));
            set
        };
        let one = |state: &P::State, action: usize| puzzle.apply(state, action as Move);
        // What may be one move is told by one state; the others check it.
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
        let merging = |b: usize| {
            let mut set = MoveSet::default();
            (0..moves).filter(|&a| merge(a, b)).for_each(|a| set[a / 64] |= 1 << (a % 64));
            set
        };
        MovePruning {
            merging: (0..moves).map(merging).collect(),
            commuting: (0..moves).map(commuting).collect(),
            inverse: (0..moves as Move).map(|action| puzzle.inverse(action)).collect(),
            most: (0..moves).map(|action| most(action) as u8).collect(),
        }
    }

    /// Whether all moves commute.
    pub(super) fn all_commute(&self) -> bool {
        let moves = self.commuting.len();
        self.commuting.iter().all(|set| (0..moves).all(|action| has(set, action as Move)))
    }

    /// Whether a walk need not be shorter with this move at its end.
    #[inline]
    pub(super) fn allow(&self, walk: &[Move], next: Move) -> bool {
        let mut powers = 1;
        for &made in walk.iter().rev() {
            if has(&self.merging[usize::from(next)], made) {
                return false;
            }
            if made == next {
                powers += 1;
                if self.most[usize::from(next)] != 0 && powers > self.most[usize::from(next)] {
                    return false;
                }
            } else if !has(&self.commuting[usize::from(next)], made) {
                return true;
            }
        }
        true
    }

    /// The moves that go back from the end of a walk: the inverses of its last move, and of all that could as well have
    /// been the last.
    #[inline]
    pub(super) fn back<'a>(&'a self, walk: &'a [Move]) -> impl Iterator<Item = Move> + 'a {
        let mut free = [u64::MAX; 4]; // what commutes with all moves since
        let moves = walk.iter().rev().map_while(move |&made| {
            let last = has(&free, made);
            free.iter_mut().zip(&self.commuting[usize::from(made)]).for_each(|(free, set)| *free &= set);
            (last || free != [0; 4]).then_some((last, made))
        });
        moves.filter(|(last, _)| *last).map(|(_, made)| self.inverse[usize::from(made)])
    }
}

/// States at the ends of random walks.
fn scattered<P: Reversible>(puzzle: &P, start: P::State, generator: &mut Generator) -> Vec<P::State> {
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
    use crate::puzzle::Puzzle as _;
    use crate::puzzle::cube3::Cube3;

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
