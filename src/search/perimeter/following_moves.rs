//! The moves that may follow each move, so that a search makes only one of several equal sequences.

use crate::puzzle::{Move, Puzzle};
use std::collections::HashSet;

/// The moves that may follow each move, and at the end, the first moves: see [`Perimeter::following`].
///
/// [`Perimeter::following`]: super::Perimeter::following
#[derive(Default)]
pub(super) struct Successors {
    moves: Vec<Vec<Move>>,
    /// Pairs of moves; those with the same first move are neighbours.
    pairs: Vec<Vec<[Move; 2]>>,
}

impl Successors {
    pub(super) fn new<P: Puzzle>(puzzle: &P) -> Self {
        let count = puzzle.move_count() as Move;
        let mut effects: HashSet<Vec<u8>> = (0..count).filter_map(|single| puzzle.effect(&[single])).collect();
        let mut may_follow = |action: Move, next: Move| {
            let is_new = puzzle.effect(&[action, next]).is_none_or(|effect| effects.insert(effect));
            is_new && next != puzzle.inverse(action)
        };
        let after = |action: Move| (0..count).filter(|&next| may_follow(action, next)).collect();
        let moves: Vec<Vec<Move>> = (0..count).map(after).chain([(0..count).collect()]).collect();
        let two = |&first: &Move| moves[usize::from(first)].iter().map(move |&second| [first, second]);
        let pairs = moves.iter().map(|firsts| firsts.iter().flat_map(two).collect()).collect();
        Successors { moves, pairs }
    }

    fn index(&self, last: Option<Move>) -> usize {
        last.map_or(self.moves.len() - 1, usize::from)
    }

    pub(super) fn moves(&self, last: Option<Move>) -> &[Move] {
        &self.moves[self.index(last)]
    }

    pub(super) fn pairs(&self, last: Option<Move>) -> &[[Move; 2]] {
        &self.pairs[self.index(last)]
    }

    /// The mean number of moves that may follow a move.
    pub(super) fn branching(&self) -> f64 {
        let moves = self.moves.len().saturating_sub(1);
        self.moves.iter().take(moves).map(Vec::len).sum::<usize>() as f64 / moves.max(1) as f64
    }
}
