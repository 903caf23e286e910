//! All nodes of a search, in segments: a node never moves, and growing copies nothing.

use crate::puzzle::{Cost, Move, State};
use crate::workers::{GRAIN, extend, on_each};
use std::ops::{Index, IndexMut};

/// The index of a node.
pub type NodeId = u32;

/// The parent of the start.
pub const NO_PARENT: NodeId = NodeId::MAX;

/// A stored state, and how it was reached.
#[derive(Debug, Clone, Copy)]
pub struct Node<S> {
    /// The state.
    pub state: S,
    /// The node it was reached from.
    pub parent: NodeId,
    /// The path cost.
    pub g: Cost,
    /// The estimated cost-to-go; NaN until it is evaluated.
    pub h: f32,
    /// The move that reached it.
    pub action: Move,
    /// Whether it was expanded at this path cost.
    pub closed: bool,
}

impl<S> Node<S> {
    /// A node that is neither evaluated nor expanded.
    pub fn new(state: S, parent: NodeId, action: Move, g: Cost) -> Self {
        Node { state, parent, g, h: f32::NAN, action, closed: false }
    }
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
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if no index is left for another node.
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
            // The first segment grows as needed: many searches are short.
            self.segments.push(if self.length == 0 { Vec::new() } else { Vec::with_capacity(SEGMENT) });
        }
        self.segments[self.length >> SEGMENT_BITS].push(node);
        self.length += 1;
        (self.length - 1) as NodeId
    }

    /// Adds `count` nodes; `node` makes each from its number among them. Returns the index of the first.
    ///
    /// # Panics
    /// If they do not fit into the arena.
    pub fn extend(&mut self, threads: usize, count: usize, node: impl Fn(usize) -> Node<S> + Sync) -> NodeId {
        assert!(count < NO_PARENT as usize - self.length, "the arena is full");
        let (first, mut done) = (self.length as NodeId, 0);
        while done < count {
            if self.length.is_multiple_of(SEGMENT) {
                self.segments.push(Vec::with_capacity(SEGMENT));
            }
            let segment = &mut self.segments[self.length >> SEGMENT_BITS];
            let added = (SEGMENT - segment.len()).min(count - done);
            extend(threads, segment, added, GRAIN, |i| node(done + i));
            (self.length, done) = (self.length + added, done + added);
        }
        first
    }

    /// Sets the estimates of consecutive nodes, from `first` on.
    pub fn set_estimates(&mut self, threads: usize, first: NodeId, values: &[f32]) {
        let from = first as usize & (SEGMENT - 1);
        let segments = self.segments[first as usize >> SEGMENT_BITS..].iter_mut();
        let mut rest = values;
        let parts = segments.enumerate().flat_map(|(i, segment)| {
            let nodes = &mut segment[if i == 0 { from } else { 0 }..];
            let count = nodes.len().min(rest.len());
            let (some, left) = rest.split_at(count);
            rest = left;
            nodes[..count].chunks_mut(GRAIN).zip(some.chunks(GRAIN))
        });
        on_each(threads, parts.collect(), |(nodes, values): (&mut [Node<S>], &[f32])| {
            nodes.iter_mut().zip(values).for_each(|(node, &h)| node.h = h);
        });
    }

    /// Drops all nodes that are not kept, and moves the others together in order. Returns the new index of each node, and
    /// [`NO_PARENT`] for a dropped one.
    ///
    /// # Panics
    /// If a node is kept and its parent is not, or if `kept` has another length than the arena.
    pub fn retain(&mut self, kept: &[bool]) -> Vec<NodeId> {
        assert_eq!(kept.len(), self.length);
        let mut next = 0;
        let indices: Vec<NodeId> = kept
            .iter()
            .map(|&kept| {
                next += NodeId::from(kept);
                if kept { next - 1 } else { NO_PARENT }
            })
            .collect();
        for id in (0..self.length as NodeId).filter(|&id| kept[id as usize]) {
            let mut node = self[id];
            if node.parent != NO_PARENT {
                node.parent = indices[node.parent as usize];
                assert!(node.parent != NO_PARENT, "a node is kept without its parent");
            }
            self[indices[id as usize]] = node;
        }
        self.length = next as usize;
        self.segments.truncate(self.length.div_ceil(SEGMENT));
        if let Some(last) = self.segments.last_mut() {
            last.truncate((self.length - 1) % SEGMENT + 1);
        }
        indices
    }

    /// Memory in use, in bytes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_nodes_are_added_and_estimated_as_if_one_by_one() {
        let node = |i: usize| Node::new(i as u64, i as NodeId, 1, 7);
        let values: Vec<f32> = (0..2 * SEGMENT).map(|i| i as f32).collect();
        for threads in [1, 2, 3, 16] {
            let mut arena = Arena::default();
            arena.push(node(0));
            let mut count = 1;
            for more in [0, 1, 100, SEGMENT, 3 * SEGMENT] {
                assert_eq!(arena.extend(threads, more, |i| node(count + i)), count as NodeId);
                count += more;
            }
            let first = SEGMENT as NodeId - 10;
            arena.set_estimates(threads, first, &values);
            assert_eq!(arena.len(), count);
            for id in 0..count as NodeId {
                assert_eq!((arena[id].state, arena[id].parent), (u64::from(id), id));
                let estimate = id.checked_sub(first).and_then(|i| values.get(i as usize));
                assert!(estimate.map_or(arena[id].h.is_nan(), |h| arena[id].h == *h), "node {id}");
            }
        }
    }
}
