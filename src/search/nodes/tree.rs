//! The stored nodes of a search: all nodes, and the node of each state.
//!
//! Sharded hash tables hold the indices of nodes, each with the upper half of its state's hash.

use super::arena::{Arena, NO_PARENT, Node, NodeId};
use super::bins::Bins;
use super::hash_table::HashTable;
use super::shards::{hash, id, shard_of, shards, visit, word};
use crate::puzzle::State;

/// A tree of distinct states, and how each was reached.
#[derive(Debug)]
pub struct Tree<S> {
    /// The nodes.
    pub arena: Arena<S>,
    /// Their indices, by state.
    shards: Vec<HashTable>,
}

impl<S> Default for Tree<S> {
    fn default() -> Self {
        Tree { arena: Arena::default(), shards: shards() }
    }
}

impl<S: State> Tree<S> {
    /// Adds a node, unless its state is stored. Returns its index (`Ok`), or that of the stored state (`Err`).
    ///
    /// # Panics
    /// If the arena [is full](Arena::is_full).
    pub fn store(&mut self, node: Node<S>) -> Result<NodeId, NodeId> {
        let Tree { arena, shards } = self;
        assert!(!arena.is_full(), "the arena is full");
        let hash = hash(&node.state);
        let next = arena.len() as NodeId;
        match shards[shard_of(hash)].find_or_insert(word(hash, next), |word| arena[id(word)].state == node.state) {
            Some(word) => Err(id(word)),
            None => Ok(arena.push(node)),
        }
    }

    /// The node of a state with this hash, if it is stored.
    pub fn find(&self, hash: u64, state: &S) -> Option<NodeId> {
        self.shards[shard_of(hash)].find(hash, |word| self.arena[id(word)].state == *state).map(id)
    }

    /// Prefetches the line where a state with this hash is looked for.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.shards[shard_of(hash)].prefetch(hash);
    }

    /// Whether a state is stored.
    pub fn contains(&self, state: &S) -> bool {
        self.find(hash(state), state).is_some()
    }

    /// The state of a node's parent. If moves can be undone, a child often has this state, which is stored already.
    #[inline]
    pub fn before(&self, node: &Node<S>) -> Option<S> {
        (node.parent != NO_PARENT).then(|| self.arena[node.parent].state)
    }

    /// Adds `count` nodes with states that are not stored; `node` makes each from its number among them. `pieces` hold the
    /// hashes of states by shard, and `id_of` gives the node of a piece's entry, or none.
    pub fn extend(
        &mut self,
        threads: usize,
        count: usize,
        node: impl Fn(usize) -> Node<S> + Sync,
        pieces: &[&Bins],
        id_of: impl Fn(usize, u32) -> Option<NodeId> + Sync,
    ) {
        self.arena.extend(threads, count, node);
        let insert = |table: &mut HashTable, piece, entry, (): &mut ()| {
            if let Some(node) = id_of(piece, id(entry)) {
                table.insert_new(word(entry, node));
            }
        };
        visit(threads, &mut self.shards, pieces, |word| word, || (), insert);
    }

    /// Drops all nodes but the start, `ends` and their ancestors. Returns the new indices as [`Arena::retain`] does.
    pub fn keep(&mut self, ends: &[NodeId]) -> Vec<NodeId> {
        let mut kept = vec![false; self.arena.len()];
        kept[0] = true; // the start
        for &end in ends {
            let mut id = end;
            while !std::mem::replace(&mut kept[id as usize], true) {
                id = self.arena[id].parent;
            }
        }
        let indices = self.arena.retain(&kept);
        self.shards = shards();
        for id in 0..self.arena.len() as NodeId {
            let hash = hash(&self.arena[id].state);
            self.shards[shard_of(hash)].insert_new(word(hash, id));
        }
        indices
    }

    /// Memory in use, in bytes, with what the largest shard needs for a moment when it grows.
    pub fn bytes(&self) -> u64 {
        let sizes = || self.shards.iter().map(HashTable::bytes);
        self.arena.bytes() + (sizes().sum::<usize>() + 2 * sizes().max().unwrap_or(0)) as u64
    }
}
