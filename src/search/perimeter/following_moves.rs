//! The moves that may follow each move, so that a search makes only one of several equal sequences.

use crate::puzzle::{Move, Puzzle};

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
        let has_copy = |action: Move, next: Move| {
            let earlier = (0..=action).flat_map(|first| (0..count).map(move |second| [first, second]));
            let mut earlier = earlier.take_while(|pair| *pair < [action, next]);
            earlier.any(|pair| puzzle.always_same(&pair, &[action, next]))
        };
        let is_one_move = |both: &[Move]| (0..count).any(|single| puzzle.always_same(&[single], both));
        let may_follow = |action: Move, next: Move| {
            next != puzzle.inverse(action) && !is_one_move(&[action, next]) && !has_copy(action, next)
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
