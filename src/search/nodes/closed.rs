//! Which states are stored, and where: a hash table of node numbers, in shards, so that one grows at a time.

use super::arena::{Arena, NodeId};
use crate::puzzle::State;
use crate::workers::in_shards;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

const SHARD_BITS: u32 = 6;

/// How many shards there are.
pub const SHARDS: usize = 1 << SHARD_BITS;

/// Nodes that a thread adds at least.
const LEAST_EACH: usize = 1 << 10;

/// Room that a shard begins with: small tables would be made anew again and again.
const FIRST: usize = 28;

/// The index of an arena by state.
#[derive(Debug)]
pub struct Closed {
    shards: Vec<HashTable<NodeId>>,
    hasher: FixedState,
}

impl Default for Closed {
    fn default() -> Self {
        Closed { shards: (0..SHARDS).map(|_| HashTable::new()).collect(), hasher: FixedState::default() }
    }
}

impl Closed {
    /// The node of a state: one that is there (`Err`), or the one that `insert` adds to the arena (`Ok`).
    pub fn find_or_insert<S: State>(
        &mut self,
        arena: &mut Arena<S>,
        state: &S,
        insert: impl FnOnce(&mut Arena<S>) -> NodeId,
    ) -> Result<NodeId, NodeId> {
        let hash = self.hasher.hash_one(state);
        let shard = &mut self.shards[shard_of(hash)];
        let hasher = &self.hasher;
        if shard.capacity() == 0 {
            shard.reserve(FIRST, |_| 0);
        }
        match shard.entry(hash, |&id| arena[id].state == *state, |&id| hasher.hash_one(arena[id].state)) {
            Entry::Occupied(entry) => Err(*entry.get()),
            Entry::Vacant(entry) => {
                let id = insert(arena);
                entry.insert(id);
                Ok(id)
            }
        }
    }

    /// The hash of a state, as this index has it.
    #[inline]
    pub fn hash<S: State>(&self, state: &S) -> u64 {
        self.hasher.hash_one(state)
    }

    /// The node of a state of this hash that is there.
    pub fn find<S: State>(&self, arena: &Arena<S>, hash: u64, state: &S) -> Option<NodeId> {
        self.shards[shard_of(hash)].find(hash, |&id| arena[id].state == *state).copied()
    }

    /// Adds nodes by the hashes of their states, none of which is there, each thread some shards.
    pub fn insert_all<S: State>(&mut self, threads: usize, arena: &Arena<S>, nodes: &[(u64, NodeId)]) {
        let hasher = &self.hasher;
        in_shards(threads.min(nodes.len() / LEAST_EACH), &mut self.shards, |first, shards| {
            for &(hash, id) in nodes {
                let shard = shard_of(hash).wrapping_sub(first);
                if let Some(shard) = shards.get_mut(shard) {
                    if shard.capacity() == 0 {
                        shard.reserve(FIRST, |_| 0);
                    }
                    shard.insert_unique(hash, id, |&id| hasher.hash_one(arena[id].state));
                }
            }
        });
    }

    /// Drops all nodes but the start, `ends` and what leads to them; those are numbered anew, in order.
    pub fn keep<S: State>(&mut self, arena: &mut Arena<S>, ends: &[NodeId]) -> Kept {
        let mut kept = vec![false; arena.len()];
        kept[0] = true; // the start
        for &end in ends {
            let mut id = end;
            while !std::mem::replace(&mut kept[id as usize], true) {
                id = arena[id].parent;
            }
        }
        let numbers = arena.retain(&kept);
        *self = Closed::default();
        for id in 0..arena.len() as NodeId {
            let state = arena[id].state;
            let _ = self.find_or_insert(arena, &state, |_| id);
        }
        Kept { kept, numbers }
    }

    /// Bytes taken, with what the next shard to grow needs for a moment.
    pub fn bytes(&self) -> u64 {
        let sizes = || self.shards.iter().map(HashTable::allocation_size);
        (sizes().sum::<usize>() + 2 * sizes().max().unwrap_or(0)) as u64
    }
}

/// What is left of the nodes of a search after pruning.
#[derive(Debug)]
pub struct Kept {
    /// Of each node, whether it was kept.
    pub kept: Vec<bool>,
    /// The new number of each node that was.
    pub numbers: Vec<NodeId>,
}

impl Kept {
    /// How many nodes were pruned.
    pub fn pruned(&self) -> u64 {
        self.kept.iter().filter(|&&kept| !kept).count() as u64
    }
}

/// The table takes the lowest bits for its buckets and the seven highest for its tags: shards take those below.
pub fn shard_of(hash: u64) -> usize {
    (hash >> (64 - 7 - SHARD_BITS)) as usize & (SHARDS - 1)
}
