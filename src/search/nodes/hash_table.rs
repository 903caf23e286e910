//! A hash table of words in cache lines.
//!
//! A line has eight words. A word is nearly always in the one line where its hash puts it, and that line can be prefetched
//! ([`HashTable::prefetch`]). The lines are in the order of the hashes, so a table grows in one pass. Nothing is removed.
//!
//! A word has 64 bits and is not 0. Its upper half is that of a hash and gives its line; the lower half is the rest of the
//! hash, or what the table stores for it. Linear probing: Knuth, "The Art of Computer Programming", volume 3, section 6.4.

use crate::memory;

const WORDS: usize = 8;

/// An empty slot.
const FREE: u64 = 0;

/// The table grows when more than this many sixteenths of its slots are taken.
const MAX_SIXTEENTHS: usize = 13;

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct HashLine([u64; WORDS]);

impl HashLine {
    const EMPTY: HashLine = HashLine([FREE; WORDS]);

    /// The number of words, which take the first slots. Counted without a branch.
    #[inline(always)]
    fn length(&self) -> usize {
        let mut length = 0;
        for word in self.0 {
            length += usize::from(word != FREE);
        }
        length
    }

    /// True if any word matches; computed without a branch.
    #[inline(always)]
    fn has_any(&self, matches: impl Fn(u64) -> bool) -> bool {
        let mut any = false;
        for word in self.0 {
            any |= matches(word);
        }
        any
    }
}

/// A hash table of words.
#[derive(Debug, Default)]
pub struct HashTable {
    lines: Vec<HashLine>,
    length: usize,
}

impl HashTable {
    /// The number of words.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<HashLine>()
    }

    /// Adds a hash and returns whether it is new. 0 counts as 1.
    #[inline(always)]
    pub fn insert_hash(&mut self, hash: u64) -> bool {
        let hash = hash.max(1);
        self.find_or_insert(hash, |word| word == hash).is_none()
    }

    /// Whether a hash was added. 0 counts as 1.
    #[inline(always)]
    pub fn contains_hash(&self, hash: u64) -> bool {
        let hash = hash.max(1);
        self.find(hash, |word| word == hash).is_some()
    }

    /// The word with the same upper half for which `is_same` holds; adds the given one if there is none.
    #[inline(always)]
    pub fn find_or_insert(&mut self, word: u64, is_same: impl FnMut(u64) -> bool) -> Option<u64> {
        debug_assert_ne!(word, FREE);
        self.reserve(1);
        match self.probe(word, is_same) {
            Ok(found) => Some(found),
            Err((line, slot)) => {
                self.lines[line].0[slot] = word;
                self.length += 1;
                None
            }
        }
    }

    /// The word with the same upper half for which `is_same` holds.
    #[inline]
    pub fn find(&self, word: u64, is_same: impl FnMut(u64) -> bool) -> Option<u64> {
        if self.lines.is_empty() {
            return None;
        }
        self.probe(word, is_same).ok()
    }

    /// The word with the same upper half for which `is_same` holds (`Ok`), or the line and slot where a new word belongs
    /// (`Err`). There must be a free slot.
    #[inline(always)]
    fn probe(&self, word: u64, mut is_same: impl FnMut(u64) -> bool) -> Result<u64, (usize, usize)> {
        let matches = |other: u64| (other ^ word) >> 32 == 0;
        let mut at = home(word, self.lines.len());
        loop {
            let line = &self.lines[at];
            if line.has_any(matches)
                && let Some(&same) = line.0.iter().find(|&&other| matches(other) && other != FREE && is_same(other))
            {
                return Ok(same);
            }
            let length = line.length();
            if length < WORDS {
                return Err((at, length));
            }
            at = after(at, self.lines.len());
        }
    }

    /// Adds a word that is not in the table.
    #[inline]
    pub fn insert_new(&mut self, word: u64) {
        self.find_or_insert(word, |_| false);
    }

    /// Reserves slots for `more` words.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) {
        if self.length + more > self.lines.len() * WORDS * MAX_SIXTEENTHS / 16 {
            let least = (self.length + more).div_ceil(WORDS * MAX_SIXTEENTHS / 16);
            self.grow(least.max(2 * self.lines.len()));
        }
    }

    /// Reserves slots for `more` words, and does not double: five words a line, so that a lookup rarely goes on to the next.
    pub fn reserve_exact(&mut self, more: usize) {
        let count = (self.length + more).div_ceil(5);
        if count > self.lines.len() {
            self.grow(count);
        }
    }

    /// Grows to this many lines.
    #[cold]
    fn grow(&mut self, count: usize) {
        let mut lines = Vec::with_capacity(count);
        memory::use_large_pages(lines.spare_capacity_mut());
        lines.resize(count, HashLine::EMPTY);
        let mut lengths = vec![0; count];
        for &word in self.lines.iter().flat_map(|line| line.0.iter().take_while(|&&word| word != FREE)) {
            let mut at = home(word, count);
            while usize::from(lengths[at]) == WORDS {
                at = after(at, count);
            }
            lines[at].0[usize::from(lengths[at])] = word;
            lengths[at] += 1u8;
        }
        self.lines = lines;
    }

    /// Prefetches the line where a word is looked for.
    #[inline(always)]
    pub fn prefetch(&self, word: u64) {
        if let Some(line) = self.lines.get(home(word, self.lines.len())) {
            memory::prefetch(line);
        }
    }
}

/// The first line, of `lines`, where a word is looked for.
#[inline(always)]
fn home(word: u64, lines: usize) -> usize {
    (((word >> 32) * lines as u64) >> 32) as usize
}

#[inline]
fn after(line: usize, lines: usize) -> usize {
    if line + 1 == lines { 0 } else { line + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use std::collections::HashSet;

    /// Random hashes, and hashes that crowd a few lines.
    fn hashes() -> impl Iterator<Item = u64> {
        let mut generator = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        (0..40_000).map(move |i| match i % 4 {
            0 => generator.random(),
            1 => generator.random_range(0..3000) << 32 | 7,
            2 => u64::MAX - generator.random_range(0..3000),
            _ => generator.random_range(0..3000),
        })
    }

    #[test]
    fn each_hash_is_new_once() {
        let (mut table, mut expected) = (HashTable::default(), HashSet::new());
        for hash in hashes() {
            table.prefetch(hash);
            assert_eq!(table.insert_hash(hash), expected.insert(hash.max(1)), "{hash:x}");
            assert_eq!(table.len(), expected.len());
        }
        assert!(expected.len() > 10_000);
        assert!(expected.iter().all(|&hash| !table.insert_hash(hash)));
    }

    #[test]
    fn words_with_the_same_upper_half_are_distinguished() {
        let mut table = HashTable::default();
        let word = |tag: u64, low: u64| tag << 32 | low;
        for low in 1..=100 {
            for tag in [0, 5, u64::from(u32::MAX)] {
                assert_eq!(table.find(word(tag, 0), |found| found == word(tag, low)), None);
                let added = table.find_or_insert(word(tag, low), |found| found == word(tag, low));
                assert_eq!(added, None);
            }
        }
        table.reserve(10_000);
        for low in 1..=100 {
            let mut asked = 0;
            let found = table.find(word(5, 0), |found| {
                asked += 1;
                found == word(5, low)
            });
            assert_eq!((found, table.len()), (Some(word(5, low)), 300));
            assert!(asked <= 100, "other tags are never asked for");
        }
    }

    #[test]
    fn it_takes_at_most_twenty_bytes_a_word_once_it_is_large() {
        let mut table = HashTable::default();
        for hash in hashes() {
            table.insert_hash(hash);
            assert!(
                table.len() < 1000 || table.bytes() <= 20 * table.len() + 1000,
                "{} for {}",
                table.bytes(),
                table.len()
            );
        }
    }
}
