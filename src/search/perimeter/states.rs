//! A perimeter by states: 60 bits of a hash and the cost of each, 13 bytes in all.
//!
//! About one lookup in 10¹⁰ of a state outside hits an entry by mistake; a walk to the goal finds that out. (With 10⁸
//! states, two share an entry in one puzzle of two hundred.)

use crate::puzzle::{Move, Puzzle, State};
use crate::search::nodes::hash_table::HashTable;
use crate::workers::{cores, on_own_threads};
use foldhash::quality::FixedState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes per state while the table is made.
pub(super) const BYTES_WHILE_MADE: u64 = 16;

#[inline]
pub(super) fn key<S: State>(state: &S) -> u64 {
    FixedState::default().hash_one(state)
}

/// The states of a new layer.
pub(super) struct AddedLayer<S> {
    /// Empty for the last layer.
    pub(super) states: Vec<S>,
    pub(super) count: usize,
    /// Whether the layer before has two states that are neighbours.
    pub(super) has_level_moves: bool,
}

/// Hashes whose lines are loaded together.
const LOADED_AT_ONCE: usize = 64;

/// A set of hashes with their costs, in parts that threads fill at the same time: the first 4 bits of a hash give its part.
#[derive(Debug, Default)]
pub(super) struct StateTable {
    parts: [HashTable; StateTable::PARTS],
}

/// The word of a hash in its part: the next 56 bits of the hash, and the cost plus 1.
fn word(hash: u64, cost: u8) -> u64 {
    (hash << 4) & !0xff | (u64::from(cost) + 1)
}

/// The cost of a hash that is in its part; adds the hash with this cost if it is not.
fn find_or_insert(part: &mut HashTable, hash: u64, cost: u8) -> Option<u8> {
    let word = word(hash, cost);
    part.find_or_insert(word, |other| other ^ word < 256).map(|found| found as u8 - 1)
}

impl StateTable {
    const PARTS: usize = 16;
    pub(super) const MAX_COST: u32 = 254;

    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(HashTable::len).sum()
    }

    fn part(hash: u64) -> usize {
        (hash >> 60) as usize
    }

    pub(super) fn find(&self, hash: u64) -> Option<u8> {
        let word = word(hash, 0);
        self.parts[Self::part(hash)].find(word, |other| other ^ word < 256).map(|found| found as u8 - 1)
    }

    pub(super) fn insert(&mut self, hash: u64, cost: u8) -> bool {
        find_or_insert(&mut self.parts[Self::part(hash)], hash, cost).is_none()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes() as u64).sum()
    }

    /// Loads the line of a hash into the cache.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.parts[Self::part(hash)].prefetch(word(hash, 0));
    }

    /// Adds the new states one move from a layer: each core makes all of them, and keeps those of its parts. Ends early,
    /// incomplete, once `stop` is set.
    pub(super) fn add_layer<P: Puzzle>(
        &mut self,
        puzzle: &P,
        layer: &[P::State],
        cost: u8,
        expected: usize,
        last: bool,
        stop: &AtomicBool,
    ) -> AddedLayer<P::State> {
        let cores = if layer.len() < 1 << 12 { 1 } else { cores() };
        let parts_per_core = Self::PARTS.div_ceil(cores);
        let fill = |first: usize, parts: &mut [HashTable]| {
            let mut added = AddedLayer { states: Vec::new(), count: 0, has_level_moves: false };
            parts.iter_mut().for_each(|part| part.reserve_exact(expected / Self::PARTS));
            let mut waiting = Vec::with_capacity(2 * LOADED_AT_ONCE);
            let mut insert_all = |waiting: &mut Vec<(P::State, u64)>| {
                // Loading all lines at once waits for memory once.
                waiting.iter().for_each(|&(_, hash)| parts[Self::part(hash) - first].prefetch(word(hash, 0)));
                for (state, hash) in waiting.drain(..) {
                    match find_or_insert(&mut parts[Self::part(hash) - first], hash, cost) {
                        Some(known) => added.has_level_moves |= known == cost - 1,
                        None => {
                            added.count += 1;
                            if !last {
                                added.states.push(state);
                            }
                        }
                    }
                }
            };
            let own = first..first + parts_per_core;
            for state in layer {
                for action in 0..puzzle.move_count() as Move {
                    // Walking back from the goals: a state one move before this one.
                    let Some(before) = puzzle.apply(state, puzzle.inverse(action)) else { continue };
                    let hash = key(&before);
                    if own.contains(&Self::part(hash)) {
                        waiting.push((before, hash));
                    }
                }
                if waiting.len() >= LOADED_AT_ONCE {
                    insert_all(&mut waiting);
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            insert_all(&mut waiting);
            added
        };
        let shares = self.parts.chunks_mut(parts_per_core).enumerate().collect();
        let mut all = AddedLayer { states: Vec::new(), count: 0, has_level_moves: false };
        for added in on_own_threads(cores, shares, |(i, parts)| fill(i * parts_per_core, parts)) {
            all.states.extend(added.states);
            all.count += added.count;
            all.has_level_moves |= added.has_level_moves;
        }
        all
    }
}
