//! Symmetries of a puzzle: images of instances, and classes of states that need one entry of a table.

use super::{Move, State};

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
/// to the end of its inverse scramble, is one of them for some puzzles.
///
/// All lists of classes and keys are appended to the given vector, and every given move must be legal.
///
/// Source: Rokicki, Kociemba, Davidson and Dethridge, "The diameter of the Rubik's Cube group is twenty" (SIAM Journal on
/// Discrete Mathematics 27, 2013), section 3.
pub trait Symmetries<S: State>: Send + Sync {
    /// Changes whenever a state would get another canonical image or another key: a table on the disk remembers it.
    fn version(&self) -> u32;

    /// The number of symmetries, the identity included: the most states of a class.
    fn count(&self) -> u32;

    /// Whether inversion is a symmetry.
    fn has_inversion(&self) -> bool;

    /// The inverse of a state, if inversion is a symmetry.
    fn inverse(&self, state: &S) -> Option<S>;

    /// The state after a move.
    fn child(&self, state: &S, action: Move) -> S;

    /// The class of a state.
    fn class(&self, state: &S) -> Class<S>;

    /// The classes of the states one move from a state, and from its inverse if that is another state.
    fn neighbours(&self, state: &S, moves: &[Move], classes: &mut Vec<Class<S>>) {
        classes.extend(states_near(self, state, moves).map(|child| self.class(&child)));
    }

    /// The keys of [`Symmetries::neighbours`], those of the state's own neighbours first.
    fn neighbour_keys(&self, state: &S, moves: &[Move], keys: &mut Vec<u64>) {
        keys.extend(states_near(self, state, moves).map(|child| self.class(&child).key));
    }

    /// With inversion: the classes of the states with one more move at each end of their scrambles. Each of `before` is a
    /// move from the inverse of the state, and each of `after` a move from the inverse of the result.
    fn around(&self, state: &S, before: &[Move], after: &[Move], classes: &mut Vec<Class<S>>) {
        classes.extend(states_around(self, state, before, after).map(|end| self.class(&end)));
    }

    /// The keys of [`Symmetries::around`].
    fn keys_around(&self, state: &S, before: &[Move], after: &[Move], keys: &mut Vec<u64>) {
        keys.extend(states_around(self, state, before, after).map(|end| self.class(&end).key));
    }

    /// The keys of the classes after sequences of two moves. Sequences with the same first move should be adjacent.
    fn keys_after_two(&self, state: &S, sequences: &[[Move; 2]], keys: &mut Vec<u64>) {
        for sequences in sequences.chunk_by(|[one, _], [other, _]| one == other) {
            let between = self.child(state, sequences[0][0]);
            keys.extend(sequences.iter().map(|&[_, second]| self.class(&self.child(&between, second)).key));
        }
    }
}

/// The states one move from a state, and from its inverse if that is another state.
pub(super) fn states_near<S: State>(
    symmetries: &(impl Symmetries<S> + ?Sized),
    state: &S,
    moves: &[Move],
) -> impl Iterator<Item = S> {
    let inverse = symmetries.inverse(state).filter(|inverse| inverse != state);
    let both = [Some(*state), inverse].into_iter().flatten();
    both.flat_map(move |from| moves.iter().map(move |&action| symmetries.child(&from, action)))
}

/// The states with one more move at each end of their scrambles; none without inversion.
pub(super) fn states_around<S: State>(
    symmetries: &(impl Symmetries<S> + ?Sized),
    state: &S,
    before: &[Move],
    after: &[Move],
) -> impl Iterator<Item = S> {
    let inverse = symmetries.inverse(state);
    let led = before.iter().filter_map(move |&first| symmetries.inverse(&symmetries.child(&inverse?, first)));
    led.flat_map(move |from| after.iter().map(move |&action| symmetries.child(&from, action)))
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
