//! Which states are stored, and where: hash tables of node numbers, each with half of its state's hash, in shards, so that one
//! grows at a time.

use super::arena::{Arena, Node, NodeId};
use super::bins::{BINS, Bins};
use super::table::Table;
use crate::puzzle::State;
use crate::workers::in_shards;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;

/// How many shards there are: a power of two.
pub const SHARDS: usize = BINS;

/// Words that a thread takes at least.
const LEAST_EACH: usize = 1 << 8;

/// Words whose places are loaded while those before are looked for.
pub const AHEAD: usize = 16;

/// The index of an arena by state.
#[derive(Debug)]
pub struct Closed {
    shards: Vec<Table>,
    hasher: FixedState,
}

impl Default for Closed {
    fn default() -> Self {
        Closed { shards: (0..SHARDS).map(|_| Table::default()).collect(), hasher: FixedState::default() }
    }
}

impl Closed {
    /// Adds a node to the arena, unless one of its state is there. Gives its number (`Ok`), or that of the other (`Err`).
    ///
    /// # Panics
    /// If the arena [is full](Arena::is_full).
    pub fn store<S: State>(&mut self, arena: &mut Arena<S>, node: Node<S>) -> Result<NodeId, NodeId> {
        assert!(!arena.is_full(), "the arena is full");
        let hash = self.hash(&node.state);
        let next = arena.len() as NodeId;
        match self.shards[shard_of(hash)].find_or_insert(word(hash, next), |word| arena[id(word)].state == node.state) {
            Some(word) => Err(id(word)),
            None => Ok(arena.push(node)),
        }
    }

    /// What hashes states for this index.
    pub fn hasher(&self) -> &FixedState {
        &self.hasher
    }

    /// The hash of a state, as this index has it.
    #[inline]
    pub fn hash<S: State>(&self, state: &S) -> u64 {
        self.hasher.hash_one(state)
    }

    /// The node of a state of this hash that is there.
    pub fn find<S: State>(&self, arena: &Arena<S>, hash: u64, state: &S) -> Option<NodeId> {
        self.shards[shard_of(hash)].find(hash, |word| arena[id(word)].state == *state).map(id)
    }

    /// Has the place loaded where a state of this hash is looked for.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.shards[shard_of(hash)].prefetch(hash);
    }

    /// Adds nodes, none of whose states is there, each thread some shards. `pieces` have the numbered hashes of states; `id_of`
    /// gives the node of a piece's number, or none.
    pub(in crate::search) fn insert_all(
        &mut self,
        threads: usize,
        pieces: &[&Bins],
        id_of: impl Fn(usize, u32) -> Option<NodeId> + Sync,
    ) {
        visit(
            threads,
            &mut self.shards,
            pieces,
            |word| word,
            || (),
            |table, piece, known, ()| {
                if let Some(node) = id_of(piece, id(known)) {
                    table.insert_new(word(known, node));
                }
            },
        );
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
            let hash = self.hash(&arena[id].state);
            self.shards[shard_of(hash)].insert_new(word(hash, id));
        }
        Kept { kept, numbers }
    }

    /// Bytes taken, with what the next shard to grow needs for a moment.
    pub fn bytes(&self) -> u64 {
        let sizes = || self.shards.iter().map(Table::bytes);
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

/// Numbered hashes in the order of their shards, as the table has them: each with a number of its own, which is not the highest.
pub(in crate::search) fn by_shard(hashes: impl Iterator<Item = (NodeId, u64)> + Clone) -> Bins {
    Bins::new(hashes.map(|(number, hash)| (shard_of(hash), word(hash, number))))
}

/// Visits entries that are sorted by shard, each thread those of some shards: shard by shard, and within one, piece by piece,
/// in order. `word_of` gives the word of the table that an entry stands for. Tells `visit` the shard's table, the piece and the
/// entry; gives what it has noted, for each run of shards. A table that is empty gets room for all of its entries.
pub(in crate::search) fn visit<T: Copy + Sync, R: Send>(
    threads: usize,
    tables: &mut [Table],
    pieces: &[&Bins<T>],
    word_of: impl Fn(T) -> u64 + Sync,
    nothing: impl Fn() -> R + Sync,
    visit: impl Fn(&mut Table, usize, T, &mut R) + Sync,
) -> Vec<R> {
    let count: usize = pieces.iter().map(|piece| piece.all().len()).sum();
    in_shards(threads.min(count / LEAST_EACH), tables, |first, tables| {
        let mut noted = nothing();
        for (shard, table) in (first..).zip(tables) {
            if table.len() == 0 {
                table.reserve(pieces.iter().map(|piece| piece.of(shard).len()).sum());
            }
            let begin = pieces.first().map_or(&[][..], |piece| piece.of(shard));
            begin.iter().take(AHEAD).for_each(|&first| table.prefetch(word_of(first)));
            for (piece, entries) in pieces.iter().map(|piece| piece.of(shard)).enumerate() {
                let after = pieces.get(piece + 1).map_or(&[][..], |next| next.of(shard));
                for (i, &entry) in entries.iter().enumerate() {
                    if let Some(&ahead) = entries.get(i + AHEAD).or_else(|| after.get(i + AHEAD - entries.len())) {
                        table.prefetch(word_of(ahead));
                    }
                    visit(table, piece, entry, &mut noted);
                }
            }
        }
        noted
    })
}

/// A word of the table: the upper half of a hash, or of another word of it, and the complement of a number, which is not 0,
/// for no node has the highest number.
#[inline]
pub fn word(hash: u64, id: NodeId) -> u64 {
    hash & !u64::from(NodeId::MAX) | u64::from(!id)
}

/// The number in a word of the table.
#[inline]
pub fn id(word: u64) -> NodeId {
    !(word as NodeId)
}

/// The table takes the upper half of a hash: shards take the lowest bits.
#[inline]
pub fn shard_of(hash: u64) -> usize {
    hash as usize & (SHARDS - 1)
}
