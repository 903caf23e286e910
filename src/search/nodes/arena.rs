//! The nodes of a search, in segments: an index never moves, and growing copies nothing.

use crate::puzzle::{Cost, Move, State};
use std::ops::{Index, IndexMut};

/// The number of a node.
pub type NodeId = u32;

/// The parent of the start.
pub const NO_PARENT: NodeId = NodeId::MAX;

/// A stored state, and how it was reached.
#[derive(Debug, Clone, Copy)]
pub struct Node<S> {
    /// The state.
    pub state: S,
    /// The node that it was reached from.
    pub parent: NodeId,
    /// The path cost.
    pub g: Cost,
    /// The cost-to-go; NaN until it is evaluated.
    pub h: f32,
    /// The move that reached it.
    pub action: Move,
    /// Whether it was expanded at this path cost.
    pub closed: bool,
}

const SEGMENT_BITS: u32 = 14;
const SEGMENT: usize = 1 << SEGMENT_BITS;

/// All nodes of a search.
#[derive(Debug)]
pub struct Arena<S> {
    segments: Vec<Vec<Node<S>>>,
    length: usize,
}

impl<S> Default for Arena<S> {
    fn default() -> Self {
        Arena { segments: Vec::new(), length: 0 }
    }
}

impl<S: State> Arena<S> {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether another node would have no number.
    pub fn is_full(&self) -> bool {
        self.length >= NO_PARENT as usize
    }

    /// Adds a node.
    ///
    /// # Panics
    /// If the arena [is full](Arena::is_full).
    pub fn push(&mut self, node: Node<S>) -> NodeId {
        assert!(!self.is_full(), "the arena is full");
        if self.length.is_multiple_of(SEGMENT) {
            // The first one grows as it is needed: many searches are short.
            self.segments.push(if self.length == 0 { Vec::new() } else { Vec::with_capacity(SEGMENT) });
        }
        self.segments[self.length >> SEGMENT_BITS].push(node);
        self.length += 1;
        (self.length - 1) as NodeId
    }

    /// Drops all nodes that are not kept; the others are numbered anew, in order. Gives the new number of each node
    /// that was kept.
    ///
    /// # Panics
    /// If a node is kept whose parent is not, or `kept` has not an entry for each node.
    pub fn retain(&mut self, kept: &[bool]) -> Vec<NodeId> {
        assert_eq!(kept.len(), self.length);
        let mut next = 0;
        let numbers: Vec<NodeId> = kept
            .iter()
            .map(|&kept| {
                next += NodeId::from(kept);
                if kept { next - 1 } else { NO_PARENT }
            })
            .collect();
        for id in (0..self.length as NodeId).filter(|&id| kept[id as usize]) {
            let mut node = self[id];
            if node.parent != NO_PARENT {
                node.parent = numbers[node.parent as usize];
                assert!(node.parent != NO_PARENT, "a node is kept without its parent");
            }
            self[numbers[id as usize]] = node;
        }
        self.length = next as usize;
        self.segments.truncate(self.length.div_ceil(SEGMENT));
        if let Some(last) = self.segments.last_mut() {
            last.truncate((self.length - 1) % SEGMENT + 1);
        }
        numbers
    }

    /// Bytes taken.
    pub fn bytes(&self) -> u64 {
        (self.segments.len() * SEGMENT * size_of::<Node<S>>()) as u64
    }

    /// The moves from the start to a node.
    pub fn path(&self, mut id: NodeId) -> Vec<Move> {
        let mut moves = Vec::new();
        while self[id].parent != NO_PARENT {
            moves.push(self[id].action);
            id = self[id].parent;
        }
        moves.reverse();
        moves
    }
}

impl<S> Index<NodeId> for Arena<S> {
    type Output = Node<S>;

    #[inline]
    fn index(&self, id: NodeId) -> &Node<S> {
        &self.segments[(id >> SEGMENT_BITS) as usize][id as usize & (SEGMENT - 1)]
    }
}

impl<S> IndexMut<NodeId> for Arena<S> {
    #[inline]
    fn index_mut(&mut self, id: NodeId) -> &mut Node<S> {
        &mut self.segments[(id >> SEGMENT_BITS) as usize][id as usize & (SEGMENT - 1)]
    }
}
