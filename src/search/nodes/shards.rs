//! Hash tables in shards: one grows at a time, and each thread takes some of them.

use super::arena::NodeId;
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

/// The hash of a state, the same in every process.
#[inline(always)]
pub fn hash<S: State>(state: &S) -> u64 {
    FixedState::default().hash_one(state)
}

/// An empty table for each shard.
pub fn shards() -> Vec<HashTable> {
    (0..SHARDS).map(|_| HashTable::default()).collect()
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
