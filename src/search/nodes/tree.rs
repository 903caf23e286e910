//! Stored states and how they were reached, for searches that never find a cheaper way to a state again.

use super::arena::{Arena, NO_PARENT, Node, NodeId};
use super::closed::Closed;
use crate::puzzle::{Cost, Move, State};
use crate::search::{End, SearchResult, Stats};
use std::ops::Index;

/// A tree of distinct states.
#[derive(Debug)]
pub struct Tree<S> {
    arena: Arena<S>,
    closed: Closed,
}

impl<S> Default for Tree<S> {
    fn default() -> Self {
        Tree { arena: Arena::default(), closed: Closed::default() }
    }
}

impl<S: State> Tree<S> {
    /// Stores a state; gives its node if it is new.
    pub fn store(&mut self, state: &S, parent: NodeId, action: Move, g: Cost) -> Option<NodeId> {
        self.find_or_store(state, parent, action, g).ok()
    }

    /// Stores a state: gives its node if it is new (`Ok`), or the one that is there (`Err`).
    #[inline]
    pub fn find_or_store(&mut self, state: &S, parent: NodeId, action: Move, g: Cost) -> Result<NodeId, NodeId> {
        let node = Node { state: *state, parent, g, h: 0.0, action, closed: false };
        self.closed.store(&mut self.arena, node)
    }

    /// The state that a node was reached from. Where moves can be undone, a child is often that, and stored already.
    #[inline]
    pub fn before(&self, node: &Node<S>) -> Option<S> {
        (node.parent != NO_PARENT).then(|| self[node.parent].state)
    }

    /// How many states are stored.
    pub fn len(&self) -> usize {
        self.arena.len()
    }

    /// Whether none is stored.
    pub fn is_empty(&self) -> bool {
        self.arena.is_empty()
    }

    /// Bytes taken.
    pub fn bytes(&self) -> u64 {
        self.arena.bytes() + self.closed.bytes()
    }

    /// The moves from the root of a node's tree to it.
    pub fn path(&self, id: NodeId) -> Vec<Move> {
        self.arena.path(id)
    }

    /// What a search found that ends here.
    pub fn outcome(&self, end: End, goal: Option<NodeId>, proven_optimal: bool, stats: Stats) -> SearchResult {
        SearchResult {
            end,
            moves: goal.map(|goal| self.path(goal)),
            cost: goal.map(|goal| self[goal].g),
            proven_optimal: goal.is_some() && proven_optimal,
            stats,
            proof: None,
        }
    }
}

impl<S> Index<NodeId> for Tree<S> {
    type Output = Node<S>;

    fn index(&self, id: NodeId) -> &Node<S> {
        &self.arena[id]
    }
}
