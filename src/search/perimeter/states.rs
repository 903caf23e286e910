//! A perimeter by states: 56 bits of a hash and the cost of each, 13 bytes in all.
//!
//! About one lookup in 10⁹ of a state outside hits an entry by mistake; a walk to the goal finds that out. (And of 10⁸
//! states, two share an entry in one puzzle of ten.)

use crate::memory;
use crate::puzzle::{Move, Reversible, State};
use crate::workers::{cores, on_own_threads};
use foldhash::quality::FixedState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that a state takes, with what it takes to make the table.
pub(super) const BYTES: u64 = 16;

/// The key of a state.
#[inline]
pub(super) fn key<S: State>(state: &S) -> u64 {
    FixedState::default().hash_one(state)
}

/// What a layer has added.
pub(super) struct Added<S> {
    pub(super) states: Vec<S>,
    pub(super) count: usize,
    /// Whether a state had a neighbour in the layer that it came from.
    pub(super) met_its_own: bool,
}

/// A set of hashes with a cost each, in parts that can be filled side by side.
#[derive(Debug)]
pub(super) struct Table {
    parts: Vec<Part>,
}

impl Default for Table {
    fn default() -> Self {
        Table { parts: (0..Table::PARTS).map(|_| Part::default()).collect() }
    }
}

impl Table {
    const PARTS: usize = 16;
    pub(super) const MOST_COST: u32 = 254;

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

    /// Has the place of a hash loaded into the cache.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.parts[Self::part(hash)].prefetch(hash);
    }

    /// Adds what is one move away from a layer and new: each core makes all of it, and keeps what falls into its parts;
    /// less than all once `stop` is set.
    pub(super) fn add_layer<P: Reversible>(
        &mut self,
        puzzle: &P,
        layer: &[P::State],
        cost: u8,
        expected: usize,
        last: bool,
        stop: &AtomicBool,
    ) -> Added<P::State> {
        let cores = if layer.len() < 1 << 12 { 1 } else { cores() };
        let share = self.parts.len().div_ceil(cores);
        let each = expected / self.parts.len();
        let fill = |first: usize, parts: &mut [Part]| {
            let mut added = Added { states: Vec::new(), count: 0, met_its_own: false };
            parts.iter_mut().for_each(|part| part.reserve(each));
            let mut met = Vec::with_capacity(2 * Part::TOGETHER);
            let mut take_in = |met: &mut Vec<(P::State, u64)>| {
                let place = |hash: u64| Self::part(hash) - first;
                load(parts, first, met.iter().map(|&(_, hash)| hash));
                for (state, hash) in met.drain(..) {
                    let part = &mut parts[place(hash)];
                    if part.insert(hash, cost) {
                        added.count += 1;
                        if !last {
                            added.states.push(state);
                        }
                    } else if !added.met_its_own {
                        added.met_its_own = part.find(hash) == Some(cost - 1);
                    }
                }
            };
            let own = first..first + share;
            for state in layer {
                for action in 0..puzzle.move_count() as Move {
                    // Walking back from the goals: a state one move before this one.
                    let Some(before) = puzzle.apply(state, puzzle.inverse(action)) else { continue };
                    let hash = key(&before);
                    if own.contains(&Self::part(hash)) {
                        met.push((before, hash));
                    }
                }
                if met.len() >= Part::TOGETHER {
                    take_in(&mut met);
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            take_in(&mut met);
            added
        };
        let shares = self.parts.chunks_mut(share).enumerate().collect();
        let mut whole = Added { states: Vec::new(), count: 0, met_its_own: false };
        for added in on_own_threads(cores, shares, |(i, parts)| fill(i * share, parts)) {
            whole.states.extend(added.states);
            whole.count += added.count;
            whole.met_its_own |= added.met_its_own;
        }
        whole
    }
}

/// Has the memory at the places of hashes loaded, all at once, in parts that begin with the `first`.
fn load(parts: &[Part], first: usize, hashes: impl Iterator<Item = u64>) {
    let loaded = hashes.fold(0, |sum, hash| sum ^ parts[Table::part(hash) - first].peek(hash));
    std::hint::black_box(loaded);
}

/// Hashes whose first 4 bits are the same: a table of lines of the cache, in which a hash stands in the first line with
/// room from its own on.
#[derive(Debug, Default)]
struct Part {
    /// Entries: 56 bits of a hash, and the cost plus 1; 0 where there is none. Lines begin at `aligned`.
    slots: Vec<u64>,
    aligned: usize,
    lines: usize,
    len: usize,
}

impl Part {
    /// Hashes whose places are loaded together.
    const TOGETHER: usize = 64;
    /// Entries of a line.
    const LINE: usize = 8;

    /// Makes room for so many more, at five places of eight.
    fn reserve(&mut self, more: usize) {
        let lines = (self.len + more).div_ceil(5);
        if lines > self.lines {
            let slots = vec![0; Self::LINE * (lines + 1)];
            memory::use_large_pages(&slots);
            let aligned = slots.as_ptr().align_offset(64).min(Self::LINE);
            let old = std::mem::replace(self, Part { slots, aligned, lines, len: 0 });
            for entry in old.slots.into_iter().filter(|&entry| entry != 0) {
                self.insert(entry, entry as u8 - 1);
            }
        }
    }

    fn place(&self, hash: u64) -> usize {
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
        if self.lines == 0 { 0 } else { self.line(self.place(hash))[0] }
    }

    fn prefetch(&self, hash: u64) {
        if let Some(entry) = self.slots.get(self.aligned + Self::LINE * self.place(hash)) {
            memory::prefetch(entry);
        }
    }

    fn find(&self, hash: u64) -> Option<u8> {
        if self.lines == 0 {
            return None;
        }
        let mut at = self.place(hash);
        loop {
            let line = self.line(at);
            // No branch an entry: which one it would be cannot be foreseen.
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

    /// Whether it was new.
    fn insert(&mut self, hash: u64, cost: u8) -> bool {
        if self.len >= 7 * self.lines {
            self.reserve(self.len / 4 + Self::LINE);
        }
        let mut at = self.place(hash);
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
