//! Classes of states under the symmetries of a puzzle: all states of a class are equally far from the goals, so that a
//! table needs one entry for all of them.

use super::Move;

/// The symmetries of a puzzle: maps of its states, and of the moves with them, that keep every distance to the goals.
/// Where inversion is one of them (a state and the state that the inverse of its scramble leads to), it is included.
///
/// After Rokicki, Kociemba, Davidson and Dethridge, "The diameter of the Rubik's Cube group is twenty" (SIAM Journal on
/// Discrete Mathematics 27, 2013), section 3.
pub trait Symmetries<S>: Send + Sync {
    /// Changes whenever a state would get another canonical image or another key: a table on the disk remembers it.
    fn version(&self) -> u32;

    /// How many symmetries there are, the identity included: the most states that a class can have.
    fn count(&self) -> u32;

    /// Whether inversion is one of them.
    fn has_inversion(&self) -> bool;

    /// The inverse of a state, where inversion is a symmetry.
    fn inverse(&self, state: &S) -> Option<S>;

    /// The class of a state.
    fn class(&self, state: &S) -> Class<S>;

    /// The classes of the states that moves lead to from a state, behind those that `classes` holds; where inversion is a
    /// symmetry, and the inverse is another state, also of those from its inverse. Every move must be legal.
    fn neighbours(&self, state: &S, moves: &[Move], classes: &mut Vec<Class<S>>);

    /// The keys of these classes, behind those that `keys` holds: those of the state's own neighbours first.
    fn neighbour_keys(&self, state: &S, moves: &[Move], keys: &mut Vec<u64>);

    /// Where inversion is a symmetry: the classes of the states with one more move at each end of their scrambles, behind those
    /// that `classes` holds. Each of `before` is a move from the inverse of the state, and each of `after` a move from the
    /// inverse of what it leads to. Every move must be legal.
    fn around(&self, state: &S, before: &[Move], after: &[Move], classes: &mut Vec<Class<S>>);

    /// The keys of these classes, behind those that `keys` holds.
    fn keys_around(&self, state: &S, before: &[Move], after: &[Move], keys: &mut Vec<u64>);

    /// The keys of the classes of the states that sequences of two moves lead to, behind those that `keys` holds. Sequences
    /// with the same first move should stand next to each other. Every move must be legal.
    fn keys_after_two(&self, state: &S, sequences: &[[Move; 2]], keys: &mut Vec<u64>);
}

/// A class of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class<S> {
    /// The canonical image: one state of the class, the same for all of them.
    pub state: S,
    /// A hash of the canonical image.
    pub key: u64,
    /// How many states the class has.
    pub states: u32,
}
