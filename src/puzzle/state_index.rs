//! An index of all states (a minimal perfect hash): a flat table can then hold something of each state.

use super::{Move, Puzzle};

/// A puzzle with an index of its states, from 0 without a gap. Every inverse is a move, so neighbours are mutual.
pub trait Indexed: Puzzle {
    /// The number of states.
    fn count(&self) -> usize;

    /// The index of a state, below [`Indexed::count`].
    ///
    /// A state from which no goal can be reached may get the index of another state.
    fn index(&self, state: &Self::State) -> usize;

    /// The state with an index.
    ///
    /// # Panics
    /// May panic if the index is not below [`Indexed::count`].
    fn state_at(&self, index: usize) -> Self::State;

    /// Visits the indices of all states one move away, in the order of the moves.
    fn neighbours(&self, index: usize, visit: &mut dyn FnMut(Move, usize));
}
