//! Stored states and how they were reached, for searches that never find a cheaper path to a stored state.

use super::arena::{Arena, NO_PARENT, Node, NodeId};
use super::closed::{Closed, hash};
use crate::puzzle::{Cost, Move, State};

/// A tree of distinct states.
#[derive(Debug)]
pub struct Tree<S> {
    /// The nodes.
    pub arena: Arena<S>,
    closed: Closed,
}

impl<S> Default for Tree<S> {
    fn default() -> Self {
        Tree { arena: Arena::default(), closed: Closed::default() }
    }
}

impl<S: State> Tree<S> {
    /// Stores a state; returns its node if it is new.
    pub fn store(&mut self, state: &S, parent: NodeId, action: Move, g: Cost) -> Option<NodeId> {
        self.find_or_store(state, parent, action, g).ok()
    }

    /// Stores a state; returns its node if it is new (`Ok`), or the stored one (`Err`).
    #[inline]
    pub fn find_or_store(&mut self, state: &S, parent: NodeId, action: Move, g: Cost) -> Result<NodeId, NodeId> {
        let node = Node { state: *state, parent, g, h: 0.0, action, closed: false };
        self.closed.store(&mut self.arena, node)
    }

    /// Whether a state is stored.
    pub fn contains(&self, state: &S) -> bool {
        self.closed.find(&self.arena, hash(state), state).is_some()
    }

    /// The state of a node's parent. If moves can be undone, a child often has this state, which is stored already.
    #[inline]
    pub fn before(&self, node: &Node<S>) -> Option<S> {
        (node.parent != NO_PARENT).then(|| self.arena[node.parent].state)
    }

    /// Memory in use, in bytes.
    pub fn bytes(&self) -> u64 {
        self.arena.bytes() + self.closed.bytes()
    }
}
