//! The two ends of a shortest scramble: which moves lead from the middle of it, forwards and backwards, to the last layer.

use super::layer::Layer;
use crate::puzzle::{Move, Reversible, Symmetries};

/// Of a puzzle with more moves, no detours are looked for: there are too many pairs of pairs of moves.
const MOST_MOVES: usize = 32;

/// Finds the ends.
pub(super) struct Ends<'a, S> {
    symmetries: &'a dyn Symmetries<S>,
    moves: Vec<Move>,
    detours: Vec<Detour>,
}

/// Another middle of the same scramble, of which one is enough: to make `undone`, `instead` and one move more is always the
/// same as to make `last`.
struct Detour {
    undone: Move,
    instead: Move,
    last: Move,
}

/// What was found for a state; its room is used for the next one too.
#[derive(Default)]
pub(super) struct Found {
    /// Moves from its inverse.
    pub(super) before: Vec<Move>,
    /// Moves from the state.
    pub(super) after: Vec<Move>,
    keys: Vec<u64>,
    ways: Vec<Way>,
    pairs: Vec<[Move; 2]>,
    lasts: Vec<Move>,
}

/// Where a move leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Nearer,
    Level,
    Further,
}

/// The layers that tell where a move leads: all other moves lead further. Both are small.
#[derive(Clone, Copy)]
struct Around<'a> {
    nearer: Option<&'a Layer>,
    /// The state's own, once a move within a layer was met: the first such layer is found out when the next is made.
    level: Option<&'a Layer>,
}

impl<'a, S> Ends<'a, S> {
    pub(super) fn new<P: Reversible<State = S>>(puzzle: &P, symmetries: &'a dyn Symmetries<S>) -> Self {
        let moves: Vec<Move> = (0..puzzle.move_count() as Move).collect();
        let mut detours = Vec::new();
        let is_used = symmetries.has_inversion() && moves.len() <= MOST_MOVES;
        let few = if is_used { &moves[..] } else { &[] };
        for &first in few {
            for &last in few.iter().filter(|&&last| last != puzzle.inverse(first)) {
                for &instead in few {
                    let is_same = |&end: &Move| {
                        [instead, end] != [first, last] && puzzle.always_same(&[first, last], &[instead, end])
                    };
                    if few.iter().any(is_same) {
                        detours.push(Detour { undone: puzzle.inverse(first), instead, last });
                    }
                }
            }
        }
        detours.sort_by_key(|detour| (detour.undone, detour.instead));
        Ends { symmetries, moves, detours }
    }

    /// The moves that lead from a state of the layer before the last, and from its inverse, to the last. Of those that end
    /// the same scrambles with other middles, only those of the middle with the least key.
    pub(super) fn find(&self, state: &S, layers: &[Layer], has_own: bool, found: &mut Found) {
        let Found { before, after, keys, ways, pairs, lasts } = found;
        let own = layers.len() - 2;
        let around = Around { nearer: own.checked_sub(1).map(|i| &layers[i]), level: has_own.then(|| &layers[own]) };
        keys.clear();
        self.symmetries.neighbour_keys(state, &self.moves, keys);
        keys.iter().for_each(|&key| around.prefetch(key));
        ways.clear();
        ways.extend(keys.iter().map(|&key| around.way(key)));
        let key = self.symmetries.class(state).key;
        let mut further = |state: &S, ways: &mut [Way], to: &mut Vec<Move>| {
            keys.clear();
            pairs.clear();
            lasts.clear();
            to.clear();
            let way = |action: Move| ways[usize::from(action)];
            for &Detour { undone, instead, last } in &self.detours {
                if (way(undone), way(last)) == (Way::Nearer, Way::Further) {
                    pairs.push([undone, instead]);
                    lasts.push(last);
                }
            }
            self.symmetries.keys_after_two(state, pairs, keys);
            for (&last, _) in lasts.iter().zip(&*keys).filter(|&(_, &other)| other < key) {
                ways[usize::from(last)] = Way::Level;
            }
            to.extend(self.moves.iter().filter(|&&action| ways[usize::from(action)] == Way::Further));
        };
        let (of_state, of_inverse) = ways.split_at_mut(self.moves.len());
        further(state, of_state, after);
        match self.symmetries.inverse(state) {
            Some(inverse) if !of_inverse.is_empty() => further(&inverse, of_inverse, before),
            // A state that is its own inverse has its own neighbours alone.
            _ => before.clone_from(after),
        }
    }
}

impl Around<'_> {
    fn prefetch(&self, key: u64) {
        self.nearer.iter().chain(&self.level).for_each(|layer| layer.prefetch(key));
    }

    fn way(&self, key: u64) -> Way {
        let holds = |layer: Option<&Layer>| layer.is_some_and(|layer| layer.holds_exactly(key));
        if holds(self.nearer) {
            Way::Nearer
        } else if holds(self.level) {
            Way::Level
        } else {
            Way::Further
        }
    }
}
