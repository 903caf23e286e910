//! A perimeter by states: 56 bits of a hash and the cost of each, 13 bytes in all.
//!
//! About one lookup in 10⁹ of a state outside hits an entry by mistake; a walk to the goal finds that out. (With 10⁸
//! states, two share an entry in one puzzle of ten.)

use crate::memory;
use crate::puzzle::{Move, Reversible, State};
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

/// A set of hashes with their costs, in parts that threads fill at the same time.
#[derive(Debug, Default)]
pub(super) struct StateTable {
    parts: [HashPart; StateTable::PARTS],
}

impl StateTable {
    const PARTS: usize = 16;
    pub(super) const MAX_COST: u32 = 254;

    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len).sum()
    }

    fn part(hash: u64) -> usize {
        (hash >> 60) as usize
    }

    pub(super) fn find(&self, hash: u64) -> Option<u8> {
        self.parts[Self::part(hash)].find(hash)
    }

    pub(super) fn insert(&mut self, hash: u64, cost: u8) -> bool {
        self.parts[Self::part(hash)].insert(hash, cost)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| size_of_val(&part.slots[..]) as u64).sum()
    }

    /// Loads the line of a hash into the cache.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.parts[Self::part(hash)].prefetch(hash);
    }

    /// Adds the new states one move from a layer: each core makes all of them, and keeps those of its parts. Ends early,
    /// incomplete, once `stop` is set.
    pub(super) fn add_layer<P: Reversible>(
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
        let fill = |first: usize, parts: &mut [HashPart]| {
            let mut added = AddedLayer { states: Vec::new(), count: 0, has_level_moves: false };
            parts.iter_mut().for_each(|part| part.reserve(expected / Self::PARTS));
            let mut waiting = Vec::with_capacity(2 * HashPart::LOADED_AT_ONCE);
            let mut insert_all = |waiting: &mut Vec<(P::State, u64)>| {
                // Reading all lines at once waits for memory once.
                let loaded = waiting.iter().fold(0, |sum, &(_, hash)| sum ^ parts[Self::part(hash) - first].peek(hash));
                std::hint::black_box(loaded);
                for (state, hash) in waiting.drain(..) {
                    let part = &mut parts[Self::part(hash) - first];
                    if part.insert(hash, cost) {
                        added.count += 1;
                        if !last {
                            added.states.push(state);
                        }
                    } else if !added.has_level_moves {
                        added.has_level_moves = part.find(hash) == Some(cost - 1);
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
                if waiting.len() >= HashPart::LOADED_AT_ONCE {
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

/// The hashes with the same first 4 bits: a table of cache lines, in which a hash stands in the first line that is not
/// full from its own on.
#[derive(Debug, Default)]
struct HashPart {
    /// Entries: 56 bits of a hash, and the cost plus 1; 0 if empty. Lines begin at `aligned`.
    slots: Vec<u64>,
    aligned: usize,
    lines: usize,
    len: usize,
}

impl HashPart {
    /// Hashes whose lines are loaded together.
    const LOADED_AT_ONCE: usize = 64;
    /// Entries of a line.
    const LINE: usize = 8;

    /// Makes space for `more` entries, at five of eight per line.
    fn reserve(&mut self, more: usize) {
        let lines = (self.len + more).div_ceil(5);
        if lines > self.lines {
            let slots = vec![0; Self::LINE * (lines + 1)];
            memory::use_large_pages(&slots);
            let aligned = slots.as_ptr().align_offset(64).min(Self::LINE);
            let old = std::mem::replace(self, HashPart { slots, aligned, lines, len: 0 });
            for entry in old.slots.into_iter().filter(|&entry| entry != 0) {
                self.insert(entry, entry as u8 - 1);
            }
        }
    }

    fn home(&self, hash: u64) -> usize {
        ((u128::from((hash & !0xff) << 4) * self.lines as u128) >> 64) as usize
    }

    fn line(&self, at: usize) -> &[u64; Self::LINE] {
        let slots = &self.slots[self.aligned + Self::LINE * at..][..Self::LINE];
        slots.try_into().expect("that many")
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.lines { 0 } else { at + 1 }
    }

    fn peek(&self, hash: u64) -> u64 {
        if self.lines == 0 { 0 } else { self.line(self.home(hash))[0] }
    }

    fn prefetch(&self, hash: u64) {
        if let Some(entry) = self.slots.get(self.aligned + Self::LINE * self.home(hash)) {
            memory::prefetch(entry);
        }
    }

    fn find(&self, hash: u64) -> Option<u8> {
        if self.lines == 0 {
            return None;
        }
        let mut at = self.home(hash);
        loop {
            let line = self.line(at);
            // No branch per entry: the processor could not predict it.
            let entry = line.iter().fold(0, |found, &entry| if entry ^ hash < 256 { entry } else { found });
            if entry != 0 {
                return Some(entry as u8 - 1);
            }
            if line[Self::LINE - 1] == 0 {
                return None;
            }
            at = self.next(at);
        }
    }

    /// Gives whether it was new.
    fn insert(&mut self, hash: u64, cost: u8) -> bool {
        if self.len >= 7 * self.lines {
            self.reserve(self.len / 4 + Self::LINE);
        }
        let mut at = self.home(hash);
        loop {
            let first = self.aligned + Self::LINE * at;
            for entry in &mut self.slots[first..first + Self::LINE] {
                if *entry == 0 {
                    *entry = hash & !0xff | (u64::from(cost) + 1);
                    self.len += 1;
                    return true;
                }
                if (*entry ^ hash) < 256 {
                    return false;
                }
            }
            at = self.next(at);
        }
    }
}
