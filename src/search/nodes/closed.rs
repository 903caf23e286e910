//! The stored states: all nodes, and the closed list, which finds a node by its state. The list is sharded hash tables of
//! node indices, each beside the upper half of its state's hash, so that one shard grows at a time.

use super::arena::{Arena, NO_PARENT, Node, NodeId};
use super::bins::{BINS, Bins};
use super::hash_table::HashTable;
use crate::puzzle::State;
use crate::workers::in_shards;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;

/// The number of shards, a power of two.
const SHARDS: usize = BINS;

/// The fewest entries worth a thread.
const MIN_ENTRIES: usize = 1 << 8;

/// How many entries in advance memory is prefetched.
pub const PREFETCH_AHEAD: usize = 16;

/// The nodes of a search, each with a state of its own.
#[derive(Debug)]
pub struct Stored<S> {
    /// The nodes.
    pub arena: Arena<S>,
    /// Their indices by state.
    shards: Vec<HashTable>,
}

impl<S> Default for Stored<S> {
    fn default() -> Self {
        Stored { arena: Arena::default(), shards: shards() }
    }
}

/// The hash of a state, the same in every process.
#[inline(always)]
pub fn hash<S: State>(state: &S) -> u64 {
    FixedState::default().hash_one(state)
}

/// An empty table for each shard.
pub fn shards() -> Vec<HashTable> {
    (0..SHARDS).map(|_| HashTable::default()).collect()
}

impl<S: State> Stored<S> {
    /// Adds a node, unless its state is stored. Returns its index (`Ok`), or that of the stored state (`Err`).
    ///
    /// # Panics
    /// If the arena [is full](Arena::is_full).
    #[inline]
    pub fn store(&mut self, node: Node<S>) -> Result<NodeId, NodeId> {
        let Stored { arena, shards } = self;
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

    /// Adds the indices of nodes whose states are not stored; each thread takes some shards. `pieces` hold the hashes of the
    /// states by shard, and `id_of` gives the node of a piece's entry, or none.
    pub fn insert_all(
        &mut self,
        threads: usize,
        pieces: &[&Bins],
        id_of: impl Fn(usize, u32) -> Option<NodeId> + Sync,
    ) {
        let insert = |table: &mut HashTable, piece, entry, (): &mut ()| {
            if let Some(node) = id_of(piece, id(entry)) {
                table.insert_new(word(entry, node));
            }
        };
        visit(threads, &mut self.shards, pieces, |word| word, || (), insert);
    }

    /// Keeps the start, the nodes that are marked in `kept`, and their ancestors, and drops the rest. Returns the new indices as
    /// [`Arena::retain`] does.
    pub fn keep(&mut self, mut kept: Vec<bool>) -> Vec<NodeId> {
        let arena = &mut self.arena;
        kept[0] = true; // the start
        // In the order of the nodes, whose parents mostly lie together, too.
        for id in 0..arena.len() as NodeId {
            let mut parent = if kept[id as usize] { arena[id].parent } else { NO_PARENT };
            while parent != NO_PARENT && !std::mem::replace(&mut kept[parent as usize], true) {
                parent = arena[parent].parent;
            }
        }
        let indices = arena.retain(&kept);
        self.shards = shards();
        let hash_of = |id: usize| hash(&self.arena[id as NodeId].state);
        for id in 0..self.arena.len() {
            if id + PREFETCH_AHEAD < self.arena.len() {
                self.prefetch(hash_of(id + PREFETCH_AHEAD));
            }
            let hash = hash_of(id);
            self.shards[shard_of(hash)].insert_new(word(hash, id as NodeId));
        }
        indices
    }

    /// Memory in use, in bytes, with what the largest shard needs for a moment when it grows.
    pub fn bytes(&self) -> u64 {
        let sizes = || self.shards.iter().map(HashTable::bytes);
        self.arena.bytes() + (sizes().sum::<usize>() + 2 * sizes().max().unwrap_or(0)) as u64
    }
}

/// Hashes by shard, as words of the table. Each comes with its number, which is not the highest one.
pub fn by_shard(hashes: impl Iterator<Item = (NodeId, u64)> + Clone) -> Bins {
    Bins::new(hashes.map(|(number, hash)| (shard_of(hash), word(hash, number))))
}

/// Visits entries that are sorted by shard, in order: shard by shard, and within a shard, piece by piece. Each thread takes a
/// range of shards; an empty table is reserved for all of its entries.
///
/// `word_of` gives an entry's word in the table. `visit` gets the table, the piece, the entry, and the range's notes, which
/// start as `notes()`. Returns the notes of each range.
pub fn visit<T: Copy + Sync, R: Send>(
    threads: usize,
    tables: &mut [HashTable],
    pieces: &[&Bins<T>],
    word_of: impl Fn(T) -> u64 + Sync,
    notes: impl Fn() -> R + Sync,
    visit: impl Fn(&mut HashTable, usize, T, &mut R) + Sync,
) -> Vec<R> {
    let count: usize = pieces.iter().map(|piece| piece.all().len()).sum();
    in_shards(threads.min(count / MIN_ENTRIES), tables, |first, tables| {
        let mut notes = notes();
        for (shard, table) in (first..).zip(tables) {
            if table.len() == 0 {
                table.reserve(pieces.iter().map(|piece| piece.of(shard).len()).sum());
            }
            let begin = pieces.first().map_or(&[][..], |piece| piece.of(shard));
            begin.iter().take(PREFETCH_AHEAD).for_each(|&first| table.prefetch(word_of(first)));
            for (piece, entries) in pieces.iter().map(|piece| piece.of(shard)).enumerate() {
                let after = pieces.get(piece + 1).map_or(&[][..], |next| next.of(shard));
                for (i, &entry) in entries.iter().enumerate() {
                    let next = entries.get(i + PREFETCH_AHEAD);
                    if let Some(&next) = next.or_else(|| after.get(i + PREFETCH_AHEAD - entries.len())) {
                        table.prefetch(word_of(next));
                    }
                    visit(table, piece, entry, &mut notes);
                }
            }
        }
        notes
    })
}

/// A word of the table: the upper half of a hash (or of another word), and the complement of an index, which is never 0
/// because no node has the highest index.
#[inline]
pub fn word(hash: u64, id: NodeId) -> u64 {
    hash & !u64::from(NodeId::MAX) | u64::from(!id)
}

/// The index in a word of the table.
#[inline]
pub fn id(word: u64) -> NodeId {
    !(word as NodeId)
}

/// The shard of a hash, by its lowest bits: the table takes the upper half.
#[inline]
pub fn shard_of(hash: u64) -> usize {
    hash as usize & (SHARDS - 1)
}
