//! An index of all states (a minimal perfect hash): a flat table can then hold something of each state.

use super::{Move, Reversible};

/// A puzzle with an index of its states, from 0 without a gap. Every inverse is a move, so neighbours are mutual.
pub trait Indexed: Reversible {
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
    #[inline]
    fn neighbours(&self, index: usize, mut visit: impl FnMut(Move, usize)) {
        let state = self.state_at(index);
        self.children(&state).for_each(|(action, child)| visit(action, self.index(&child)));
    }
}

/// [`Indexed`] behind a pointer, for callers that know only a [`Puzzle`](super::Puzzle).
pub trait StateIndex<S> {
    /// [`Indexed::count`].
    fn count(&self) -> usize;

    /// [`Indexed::index`]; `None` for a state that has the index of another one.
    fn index(&self, state: &S) -> Option<usize>;

    /// [`Indexed::neighbours`].
    fn visit_neighbours(&self, index: usize, visit: &mut dyn FnMut(Move, usize));

    /// [`Reversible::inverse`].
    fn inverse(&self, action: Move) -> Move;

    /// The indices of the goals.
    fn goals(&self) -> Vec<usize>;
}

impl<P: Indexed> StateIndex<P::State> for P {
    fn count(&self) -> usize {
        Indexed::count(self)
    }

    fn index(&self, state: &P::State) -> Option<usize> {
        Some(Indexed::index(self, state)).filter(|&index| self.state_at(index) == *state)
    }

    fn visit_neighbours(&self, index: usize, visit: &mut dyn FnMut(Move, usize)) {
        self.neighbours(index, visit);
    }

    fn inverse(&self, action: Move) -> Move {
        Reversible::inverse(self, action)
    }

    fn goals(&self) -> Vec<usize> {
        Reversible::goals(self).iter().map(|goal| Indexed::index(self, goal)).collect()
    }
}
