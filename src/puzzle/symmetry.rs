//! Symmetries of a puzzle: images of instances, and classes of states that need one entry of a table.

use super::Move;

/// The symmetric images of an instance, each made when it is taken.
pub type SymmetricImages<'a, S> = Box<dyn Iterator<Item = SymmetricImage<S>> + 'a>;

/// An image of an instance under a symmetry of the puzzle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymmetricImage<S> {
    /// The image of the instance.
    pub start: S,
    /// For each move of the image, the move of the original that it stands for.
    pub moves: Vec<Move>,
    /// Whether the symmetry is an inversion: a solution of the image, reversed, solves the original.
    pub inverted: bool,
}

impl<S> SymmetricImage<S> {
    /// The image under the identity, of a puzzle with `move_count` moves.
    pub fn identity(start: S, move_count: usize) -> Self {
        SymmetricImage { start, moves: (0..move_count as Move).collect(), inverted: false }
    }

    /// A solution of the image, as a solution of the original.
    pub fn solution(&self, moves: &[Move]) -> Vec<Move> {
        let original = moves.iter().map(|&action| self.moves[usize::from(action)]);
        if self.inverted { original.rev().collect() } else { original.collect() }
    }
}

/// The symmetries of a puzzle: maps of states and moves that keep every distance to the goals. Inversion, which maps a state
/// to the end of its inverted scramble, is one of them for some puzzles.
///
/// All lists of classes and keys are appended to the given vector, and every given move must be legal.
///
/// Source: Rokicki, Kociemba, Davidson and Dethridge, "The diameter of the Rubik's Cube group is twenty" (SIAM Journal on
/// Discrete Mathematics 27, 2013), section 3.
pub trait Symmetries<S>: Send + Sync {
    /// Changes whenever a state would get another canonical image or another key: a table on the disk remembers it.
    fn version(&self) -> u32;

    /// The number of symmetries, the identity included: the most states of a class.
    fn count(&self) -> u32;

    /// Whether inversion is a symmetry.
    fn has_inversion(&self) -> bool;

    /// The inverse of a state, if inversion is a symmetry.
    fn inverse(&self, state: &S) -> Option<S>;

    /// The class of a state.
    fn class(&self, state: &S) -> Class<S>;

    /// The classes of the states one move from a state, and from its inverse if that is another state.
    fn neighbours(&self, state: &S, moves: &[Move], classes: &mut Vec<Class<S>>);

    /// The keys of [`Symmetries::neighbours`], those of the state's own neighbours first.
    fn neighbour_keys(&self, state: &S, moves: &[Move], keys: &mut Vec<u64>);

    /// With inversion: the classes of the states with one more move at each end of their scrambles. Each of `before` is a
    /// move from the inverse of the state, and each of `after` a move from the inverse of the result.
    fn around(&self, state: &S, before: &[Move], after: &[Move], classes: &mut Vec<Class<S>>);

    /// The keys of [`Symmetries::around`].
    fn keys_around(&self, state: &S, before: &[Move], after: &[Move], keys: &mut Vec<u64>);

    /// The keys of the classes after sequences of two moves. Sequences with the same first move should be adjacent.
    fn keys_after_two(&self, state: &S, sequences: &[[Move; 2]], keys: &mut Vec<u64>);
}

/// A class of states: all of them are equally far from the goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class<S> {
    /// The canonical image: one state of the class, the same for all of them.
    pub state: S,
    /// A hash of the canonical image.
    pub key: u64,
    /// The number of states.
    pub states: u32,
}
