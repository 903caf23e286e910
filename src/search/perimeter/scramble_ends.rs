//! The two ends of a shortest scramble: which moves lead from its middle, forwards and backwards, to the last layer.

use super::layer::ClassLayer;
use crate::puzzle::{Move, Puzzle, State, Symmetries};
use std::cmp::Ordering;

/// Above this many moves, duplicate middles are not detected: checking all pairs of move pairs costs too much.
const MAX_MOVES: usize = 32;

/// Finds the moves at the ends.
pub(super) struct EndFinder<'a, S: State> {
    symmetries: &'a dyn Symmetries<S>,
    moves: Vec<Move>,
    /// Other middles of the same scramble, of which one is enough: `[undone, instead, last]`, where `undone`, `instead` and
    /// one more move always lead to the same state as `last`.
    other_middles: Vec<[Move; 3]>,
}

/// The moves at the ends of a state, and buffers that are reused from state to state.
#[derive(Default)]
pub(super) struct EndMoves {
    /// Moves from its inverse.
    pub(super) before: Vec<Move>,
    /// Moves from the state.
    pub(super) after: Vec<Move>,
    keys: Vec<u64>,
    /// Where each move leads, as seen from the goals: nearer (less), within the layer, or further.
    directions: Vec<Ordering>,
    pairs: Vec<[Move; 2]>,
    lasts: Vec<Move>,
}

impl<'a, S: State> EndFinder<'a, S> {
    pub(super) fn new<P: Puzzle<State = S>>(puzzle: &P, symmetries: &'a dyn Symmetries<S>) -> Self {
        let moves: Vec<Move> = (0..puzzle.move_count() as Move).collect();
        let mut other_middles = Vec::new();
        let is_used = symmetries.has_inversion() && moves.len() <= MAX_MOVES;
        let few = if is_used { &moves[..] } else { &[] };
        let two = |&first: &Move| few.iter().map(move |&last| (puzzle.effect(&[first, last]), [first, last]));
        let pairs: Vec<(Option<Vec<u8>>, [Move; 2])> = few.iter().flat_map(two).collect();
        for (effect, pair @ [first, last]) in &pairs {
            let undone = puzzle.inverse(*first);
            let same = pairs.iter().filter(|(other, another)| effect.is_some() && other == effect && another != pair);
            if *last != undone {
                other_middles.extend(same.map(|(_, [instead, _])| [undone, *instead, *last]));
            }
        }
        other_middles.sort_unstable();
        other_middles.dedup();
        EndFinder { symmetries, moves, other_middles }
    }

    /// Finds the moves that lead from a state of the layer before the last, and from its inverse, to the last. Among several
    /// middles of the same scramble, only the one with the least key gets them.
    pub(super) fn find(&self, state: &S, layers: &[ClassLayer], has_level_moves: bool, ends: &mut EndMoves) {
        let EndMoves { before, after, keys, directions, pairs, lasts } = ends;
        // Both layers that tell a direction are small; all other moves lead further. Before a move within a layer was met,
        // none need be looked for: the first such layer is found out when the next is made.
        let own = layers.len() - 2;
        let nearer = own.checked_sub(1).map(|i| &layers[i]);
        let level = has_level_moves.then(|| &layers[own]);
        keys.clear();
        self.symmetries.neighbour_keys(state, &self.moves, keys);
        keys.iter().for_each(|&key| nearer.iter().chain(&level).for_each(|layer| layer.prefetch(key)));
        directions.clear();
        directions.extend(keys.iter().map(|&key| {
            let is_in = |layer: Option<&ClassLayer>| layer.is_some_and(|layer| layer.holds_exactly(key));
            if is_in(nearer) {
                Ordering::Less
            } else if is_in(level) {
                Ordering::Equal
            } else {
                Ordering::Greater
            }
        }));
        let key = self.symmetries.class(state).key;
        let mut further = |state: &S, directions: &mut [Ordering], moves: &mut Vec<Move>| {
            keys.clear();
            pairs.clear();
            lasts.clear();
            let direction = |action: Move| directions[usize::from(action)];
            for &[undone, instead, last] in &self.other_middles {
                if (direction(undone), direction(last)) == (Ordering::Less, Ordering::Greater) {
                    pairs.push([undone, instead]);
                    lasts.push(last);
                }
            }
            self.symmetries.keys_after_two(state, pairs, keys);
            for (&last, _) in lasts.iter().zip(&*keys).filter(|&(_, &other)| other < key) {
                directions[usize::from(last)] = Ordering::Equal;
            }
            let is_further = |action: &&Move| directions[usize::from(**action)] == Ordering::Greater;
            moves.clear();
            moves.extend(self.moves.iter().filter(is_further));
        };
        let (of_state, of_inverse) = directions.split_at_mut(self.moves.len());
        further(state, of_state, after);
        match self.symmetries.inverse(state) {
            Some(inverse) if !of_inverse.is_empty() => further(&inverse, of_inverse, before),
            // A state that is its own inverse has its own neighbours alone.
            _ => before.clone_from(after),
        }
    }
}
