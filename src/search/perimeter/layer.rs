//! One layer of a perimeter: the classes at one distance, as a set of fingerprints, 2.7 bytes a class.

use super::cache_lines::Lines;
use crate::memory;
use crate::puzzle::bits;
use bytemuck::{Pod, Zeroable};
use std::alloc::{Layout, handle_alloc_error};
use std::ops::Range;

/// A cache line of 32 fingerprints; the used places come first, the others are 0.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Line([u16; Line::CAPACITY]);

impl Line {
    const CAPACITY: usize = 32;
    /// Mean fingerprints per line; above it, more lookups read two lines.
    const MEAN_FILL: usize = 24;

    /// A bit for each place that holds `entry`.
    #[inline]
    fn matches(&self, entry: u16) -> u32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has SSE2.
        return unsafe { matches(&self.0, entry) };
        #[cfg(not(target_arch = "x86_64"))]
        self.0.iter().rev().fold(0, |bits, &place| bits << 1 | u32::from(place == entry))
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.0[Line::CAPACITY - 1] != 0
    }
}

/// A set of 64-bit keys. A key is known by its line and 16 more bits: of the keys outside, 4 in 10,000 seem to be inside.
/// It never misses one inside.
#[derive(Debug)]
pub(super) struct ClassLayer {
    pub(super) lines: Lines,
    /// Lines of a part. Linear probing: a fingerprint takes the first free slot from its own line on, wrapping within its part.
    lines_per_part: usize,
    /// 32 more bits of each key, line by line, in a layer that must tell keys apart for certain.
    extensions: Vec<u32>,
}

/// [`Line::matches`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn matches(line: &[u16; Line::CAPACITY], entry: u16) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: 64 bytes are four vectors of 16.
    let [a, b, c, d] = unsafe { std::mem::transmute::<[u16; Line::CAPACITY], [__m128i; 4]>(*line) };
    let entries = _mm_set1_epi16(entry as i16);
    let low = _mm_packs_epi16(_mm_cmpeq_epi16(a, entries), _mm_cmpeq_epi16(b, entries));
    let high = _mm_packs_epi16(_mm_cmpeq_epi16(c, entries), _mm_cmpeq_epi16(d, entries));
    _mm_movemask_epi8(low) as u32 | (_mm_movemask_epi8(high) as u32) << 16
}

/// Parts of a layer, which threads can fill at the same time.
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
fn extension(key: u64) -> u32 {
    (key >> 16) as u32
}

/// Whether a line holds a key, given its [`Line::matches`]: for certain if there are extensions.
#[inline]
fn line_holds(extensions: &[u32], line: usize, matches: u32, key: u64) -> bool {
    let extension_at = |place: u32| extensions.get(line * Line::CAPACITY + place as usize);
    bits(matches.into()).any(|place| extension_at(place).is_none_or(|&other| other == extension(key)))
}

#[inline]
fn line_in_part(key: u64, lines_per_part: usize) -> usize {
    ((u128::from(key << 6) * lines_per_part as u128) >> 64) as usize
}

impl ClassLayer {
    /// Lines of each part of a layer with this many keys.
    fn lines_per_part(keys: usize) -> usize {
        (keys.div_ceil(PARTS * Line::MEAN_FILL)).max(1) + 1
    }

    /// Bytes of a layer with this many keys; of an `exact` one, while it is made.
    pub(super) fn bytes_for(keys: usize, exact: bool) -> u64 {
        let line = size_of::<Line>() + if exact { Line::CAPACITY * size_of::<u32>() } else { 0 };
        (PARTS * ClassLayer::lines_per_part(keys) * line) as u64
    }

    /// An empty layer for this many keys. Ends the process if there is no memory for it, as a `Vec` does.
    pub(super) fn with_capacity(keys: usize, exact: bool) -> Self {
        let lines_per_part = ClassLayer::lines_per_part(keys);
        let count = PARTS * lines_per_part;
        let layout = || Layout::array::<Line>(count).unwrap_or(Layout::new::<Line>());
        let lines = Lines::empty(count).unwrap_or_else(|_| handle_alloc_error(layout()));
        let extensions = vec![0; if exact { count * Line::CAPACITY } else { 0 }];
        memory::use_large_pages(&extensions);
        ClassLayer { lines, lines_per_part, extensions }
    }

    /// A layer of lines that were made before.
    pub(super) fn from_lines(lines: Lines) -> Self {
        ClassLayer { lines_per_part: lines.len() / PARTS, lines, extensions: Vec::new() }
    }

    /// Bytes that it takes, the extensions included.
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(&self.lines[..]) + size_of_val(&self.extensions[..])) as u64
    }

    /// Drops the extensions, which only the making needs.
    pub(super) fn finish(&mut self) {
        self.extensions = Vec::new();
    }

    /// Whether a key seems to be in the set.
    #[inline]
    pub(super) fn holds(&self, key: u64) -> bool {
        self.any_line(key, |_, matches| matches != 0)
    }

    /// Whether a key is in the set; for an exact layer.
    #[inline]
    pub(super) fn holds_exactly(&self, key: u64) -> bool {
        self.any_line(key, |line, matches| line_holds(&self.extensions, line, matches, key))
    }

    /// Whether `is_found` holds for one of the lines where a key may stand, given its index and [`Line::matches`].
    #[inline(always)]
    fn any_line(&self, key: u64, is_found: impl Fn(usize, u32) -> bool) -> bool {
        let lines = &self.lines;
        let fingerprint = fingerprint(key);
        let first = part(key) * self.lines_per_part;
        let mut at = line_in_part(key, self.lines_per_part);
        loop {
            let line = &lines[first + at];
            if is_found(first + at, line.matches(fingerprint)) {
                return true;
            }
            if !line.is_full() {
                return false;
            }
            at = if at + 1 == self.lines_per_part { 0 } else { at + 1 };
        }
    }

    /// Loads the line of a key into the cache.
    #[inline]
    pub(super) fn prefetch(&self, key: u64) {
        let lines = &self.lines;
        memory::prefetch(&lines[part(key) * self.lines_per_part + line_in_part(key, self.lines_per_part)]);
    }

    /// The parts, divided among `threads`.
    pub(super) fn shares(&mut self, threads: usize) -> Vec<LayerShare<'_>> {
        let (lines_per_part, parts) = (self.lines_per_part, PARTS.div_ceil(threads));
        let mut extensions = self.extensions.chunks_mut(lines_per_part * parts * Line::CAPACITY);
        let lines = self.lines.as_mut().chunks_mut(lines_per_part * parts);
        let share = |(i, lines)| {
            let extensions = extensions.next().unwrap_or_default();
            LayerShare { first: i * parts, lines_per_part, lines, extensions }
        };
        lines.enumerate().map(share).collect()
    }
}

/// Some parts of a layer that one thread fills.
pub(super) struct LayerShare<'a> {
    first: usize,
    lines_per_part: usize,
    lines: &'a mut [Line],
    extensions: &'a mut [u32],
}

impl LayerShare<'_> {
    /// The parts that belong to it.
    pub(super) fn parts(&self) -> Range<usize> {
        self.first..self.first + self.lines.len() / self.lines_per_part
    }

    fn start(&self, key: u64) -> usize {
        (part(key) - self.first) * self.lines_per_part
    }

    /// Loads the line of a key into the cache.
    #[inline]
    pub(super) fn prefetch(&self, key: u64) {
        let line = self.start(key) + line_in_part(key, self.lines_per_part);
        memory::prefetch(&self.lines[line]);
        if let Some(extensions) = self.extensions.get(line * Line::CAPACITY..) {
            extensions.iter().step_by(Line::CAPACITY / 2).take(2).for_each(memory::prefetch);
        }
    }

    /// Adds a key; gives whether it was new, or `None` if its part is full.
    #[inline]
    pub(super) fn insert(&mut self, key: u64) -> Option<bool> {
        let start = self.start(key);
        let first = line_in_part(key, self.lines_per_part);
        let mut at = first;
        let fingerprint = fingerprint(key);
        loop {
            let line = &mut self.lines[start + at];
            if line_holds(self.extensions, start + at, line.matches(fingerprint), key) {
                return Some(false);
            }
            let free = line.matches(0).trailing_zeros() as usize;
            if free < Line::CAPACITY {
                line.0[free] = fingerprint;
                if let Some(place) = self.extensions.get_mut((start + at) * Line::CAPACITY + free) {
                    *place = extension(key);
                }
                return Some(true);
            }
            at = if at + 1 == self.lines_per_part { 0 } else { at + 1 };
            if at == first {
                return None;
            }
        }
    }
}
