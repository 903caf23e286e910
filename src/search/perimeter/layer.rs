//! The classes at one distance, as a set of fingerprints: 2.7 bytes a class.

use super::lines::Lines;
use crate::memory;
use std::alloc::{Layout, handle_alloc_error};
use std::ops::Range;

/// A line of the cache: 32 fingerprints; 0 where there is none. Those that are there come first.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Line([u16; Line::ROOM]);

impl Line {
    const ROOM: usize = 32;
    /// Fingerprints of a line, on average: with more, more lines are full, and more lookups take two.
    const FILL: usize = 24;

    /// A bit for each place that holds this.
    #[inline]
    fn places_of(&self, entry: u16) -> u32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has SSE2.
        return unsafe { places_of(&self.0, entry) };
        #[cfg(not(target_arch = "x86_64"))]
        self.0.iter().rev().fold(0, |bits, &there| bits << 1 | u32::from(there == entry))
    }

    #[inline]
    fn holds(&self, fingerprint: u16) -> bool {
        self.places_of(fingerprint) != 0
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.0[Line::ROOM - 1] != 0
    }
}

/// A set of 64-bit keys, of which each is known by the line where it stands and 16 bits more: of the keys that are not in
/// it, 4 in 10,000 seem to be. It never misses one that is.
#[derive(Debug, Default)]
pub(super) struct Layer {
    lines: Lines,
    /// Lines of a part: a fingerprint stands in the first line with room from its own on, around its part.
    of_part: usize,
    /// 32 bits more of each key, a line after the other, where keys must be told apart for certain.
    rest: Vec<u32>,
}

/// [`Line::places_of`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn places_of(line: &[u16; Line::ROOM], entry: u16) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: 64 bytes are four vectors of 16, and no alignment is needed.
    let vectors: [__m128i; 4] =
        std::array::from_fn(|i| unsafe { _mm_loadu_si128(line.as_ptr().cast::<__m128i>().add(i)) });
    let wanted = _mm_set1_epi16(entry as i16);
    let same = vectors.map(|vector| _mm_cmpeq_epi16(vector, wanted));
    let bits = |low, high| _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32;
    bits(same[0], same[1]) | bits(same[2], same[3]) << 16
}

/// The places whose bits are set.
#[inline]
fn places(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (place < Line::ROOM).then_some(place)
    })
}

/// Parts of a layer, which can be filled side by side.
pub(super) const PARTS: usize = 64;

/// The part of a key.
#[inline]
pub(super) fn part(key: u64) -> usize {
    (key >> 58) as usize
}

#[inline]
fn fingerprint(key: u64) -> u16 {
    (key as u16).max(1)
}

#[inline]
fn rest(key: u64) -> u32 {
    (key >> 16) as u32
}

/// What is there of the keys of a line.
#[inline]
fn rest_of(rest: &[u32], line: usize) -> &[u32] {
    &rest[line * Line::ROOM..][..Line::ROOM]
}

#[inline]
fn line_in_part(key: u64, of_part: usize) -> usize {
    ((u128::from(key << 6) * of_part as u128) >> 64) as usize
}

impl Layer {
    /// Lines of each part for so many keys.
    fn lines_for(keys: usize) -> usize {
        (keys.div_ceil(PARTS * Line::FILL)).max(1) + 1
    }

    /// Bytes that a layer of so many keys takes; with `exact`, while it is made.
    pub(super) fn bytes_for(keys: usize, exact: bool) -> u64 {
        let line = size_of::<Line>() + if exact { Line::ROOM * size_of::<u32>() } else { 0 };
        (PARTS * Layer::lines_for(keys) * line) as u64
    }

    /// An empty layer with room for so many keys. Ends the process if there is no memory for it, as a `Vec` does.
    pub(super) fn with_room(keys: usize, exact: bool) -> Self {
        let of_part = Layer::lines_for(keys);
        let count = PARTS * of_part;
        let layout = || Layout::array::<Line>(count).unwrap_or(Layout::new::<Line>());
        let lines = Lines::empty(count).unwrap_or_else(|_| handle_alloc_error(layout()));
        let rest = vec![0; if exact { count * Line::ROOM } else { 0 }];
        memory::use_large_pages(&rest);
        Layer { lines, of_part, rest }
    }

    /// A layer whose lines were made before.
    pub(super) fn from_lines(lines: Lines) -> Self {
        Layer { of_part: lines.len() / PARTS, lines, rest: Vec::new() }
    }

    /// Whether other processes that read the same file share the lines.
    pub(super) fn is_shared(&self) -> bool {
        self.lines.are_shared()
    }

    /// All lines.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Bytes that it takes, with what only the making needs.
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(self.lines()) + size_of_val(&self.rest[..])) as u64
    }

    /// Forgets what only the making needs.
    pub(super) fn finish(&mut self) {
        self.rest = Vec::new();
    }

    /// Whether a key seems to be in the set.
    #[inline]
    pub(super) fn holds(&self, key: u64) -> bool {
        let lines = &self.lines;
        if lines.is_empty() {
            return false;
        }
        let fingerprint = fingerprint(key);
        let first = part(key) * self.of_part;
        let mut at = line_in_part(key, self.of_part);
        loop {
            let line = &lines[first + at];
            if line.holds(fingerprint) {
                return true;
            }
            if !line.is_full() {
                return false;
            }
            at = if at + 1 == self.of_part { 0 } else { at + 1 };
        }
    }

    /// Whether a key is in the set, of a layer that is exact.
    #[inline]
    pub(super) fn holds_exactly(&self, key: u64) -> bool {
        if !self.holds(key) {
            return false;
        }
        let lines = &self.lines;
        let first = part(key) * self.of_part;
        let mut at = line_in_part(key, self.of_part);
        loop {
            let (line, more) = (&lines[first + at], rest_of(&self.rest, first + at));
            if places(line.places_of(fingerprint(key))).any(|place| more[place] == rest(key)) {
                return true;
            }
            if !line.is_full() {
                return false;
            }
            at = if at + 1 == self.of_part { 0 } else { at + 1 };
        }
    }

    /// Has the line of a key loaded into the cache.
    #[inline]
    pub(super) fn prefetch(&self, key: u64) {
        let lines = &self.lines;
        if !lines.is_empty() {
            memory::prefetch(&lines[part(key) * self.of_part + line_in_part(key, self.of_part)]);
        }
    }

    /// The parts, each to be filled by one thread, in `shares` shares.
    pub(super) fn shares(&mut self, shares: usize) -> Vec<Share<'_>> {
        let (of_part, parts) = (self.of_part, PARTS.div_ceil(shares));
        let mut rest = self.rest.chunks_mut(of_part * parts * Line::ROOM);
        let lines = self.lines.as_mut().chunks_mut(of_part * parts);
        let share = |(i, lines)| Share { first: i * parts, of_part, lines, rest: rest.next().unwrap_or_default() };
        lines.enumerate().map(share).collect()
    }
}

/// Some parts of a layer that is being filled.
pub(super) struct Share<'a> {
    first: usize,
    of_part: usize,
    lines: &'a mut [Line],
    rest: &'a mut [u32],
}

impl Share<'_> {
    /// The parts that belong to it.
    pub(super) fn parts(&self) -> Range<usize> {
        self.first..self.first + self.lines.len() / self.of_part
    }

    fn start(&self, key: u64) -> usize {
        (part(key) - self.first) * self.of_part
    }

    /// Has the line of a key loaded into the cache.
    #[inline]
    pub(super) fn prefetch(&self, key: u64) {
        let line = self.start(key) + line_in_part(key, self.of_part);
        memory::prefetch(&self.lines[line]);
        if let Some(rest) = self.rest.get(line * Line::ROOM..) {
            rest.iter().step_by(Line::ROOM / 2).take(2).for_each(memory::prefetch);
        }
    }

    /// Adds a key; whether it was new. `None` if its part is full.
    #[inline]
    pub(super) fn insert(&mut self, key: u64) -> Option<bool> {
        let start = self.start(key);
        let first = line_in_part(key, self.of_part);
        let mut at = first;
        let fingerprint = fingerprint(key);
        loop {
            let line = &mut self.lines[start + at];
            let same = line.places_of(fingerprint);
            let is_there = match self.rest.is_empty() {
                true => same != 0,
                false => {
                    let more = rest_of(self.rest, start + at);
                    places(same).any(|place| more[place] == rest(key))
                }
            };
            if is_there {
                return Some(false);
            }
            let free = line.places_of(0).trailing_zeros() as usize;
            if free < Line::ROOM {
                line.0[free] = fingerprint;
                if let Some(more) = self.rest.get_mut((start + at) * Line::ROOM + free) {
                    *more = rest(key);
                }
                return Some(true);
            }
            at = if at + 1 == self.of_part { 0 } else { at + 1 };
            if at == first {
                return None;
            }
        }
    }
}
