//! The cut of a beam: which states are among the best of all ranks.

use crate::error::Result;
use crate::exchange::{DIGIT, Exchange};
use crate::search::nodes::arena::NodeId;
use crate::workers::{extend, in_ranges, on_each, parts, ranges};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A place in a total order: by a number, and among equal numbers, by a hash. One integer, compared without a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Key(u128);

impl Key {
    const BITS: u32 = 96;
    pub(super) const BYTES: usize = Self::BITS as usize / 8;

    pub(super) fn new(number: f32, tie: u64) -> Self {
        let bits = number.to_bits();
        // Integers in the order of `f32::total_cmp`.
        let number = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        Key(u128::from(number) << 64 | u128::from(tie))
    }

    pub(super) fn write(self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.0.to_le_bytes()[..Self::BYTES]);
    }

    /// # Panics
    /// If there are fewer than [`Key::BYTES`].
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut word = [0; 16];
        word[..Self::BYTES].copy_from_slice(&bytes[..Self::BYTES]);
        Key(u128::from_le_bytes(word))
    }
}

/// The fewest keys worth a thread.
const MIN_CHUNK: usize = 1 << 14;

/// Keys of a sample, and the fewest of them worth a thread.
const SAMPLE: usize = 1 << 12;
const MIN_SAMPLE_CHUNK: usize = 1 << 9;

/// Ranges of keys for each thread: several, for keys near the cut cluster at the front.
const SHARES_PER_THREAD: usize = 4;

/// A sample of `count` keys, spread evenly: multiples of the golden ratio, modulo 1, of the count.
fn sample(threads: usize, count: usize, key: &(impl Fn(usize) -> Key + Sync)) -> Vec<Key> {
    let index = |i: usize| (u128::from((i as u32).wrapping_mul(0x9e37_79b9)) * count as u128) >> 32;
    let mut sample = Vec::new();
    extend(threads, &mut sample, SAMPLE.min(count), MIN_SAMPLE_CHUNK, |i| key(index(i) as usize));
    sample
}

/// A key that exactly the `count` least keys of all ranks do not exceed; `None` if there are not more keys. This rank has `own`
/// keys.
///
/// A process alone first looks [near that of a sample](near_sample). Otherwise the ranks sum histograms, of twelve bits a
/// round, until the cut falls on the border of a bin.
pub(super) fn cut(
    exchange: &dyn Exchange,
    threads: usize,
    count: u64,
    own: usize,
    key: impl Fn(usize) -> Key + Sync,
) -> Result<Option<Key>> {
    if exchange.gather(own as u64)?.iter().sum::<u64>() <= count {
        return Ok(None);
    }
    let count = count.max(1);
    if exchange.is_alone() && own < MIN_CHUNK {
        let mut keys: Vec<Key> = (0..own).map(key).collect();
        return Ok(Some(*keys.select_nth_unstable(count as usize - 1).1));
    }
    if exchange.is_alone()
        && let Some(last) = near_sample(threads, count as usize, own, &key)
    {
        return Ok(Some(last));
    }
    let digit = |key: u128, from: u32| (key >> from) as usize & ((1 << DIGIT) - 1);
    let mut left: Option<Vec<u128>> = None;
    let last = exchange.split(count, Key::BITS, |from, before| {
        let count_digits = |keys: &mut dyn Iterator<Item = u128>| {
            let mut bins = vec![0u64; 1 << DIGIT];
            keys.for_each(|key| bins[digit(key, from)] += 1);
            bins
        };
        let Some(before) = before else {
            let parts = in_ranges(threads, own, MIN_CHUNK, |range| count_digits(&mut range.map(|i| key(i).0)));
            return (0..1 << DIGIT).map(|i| parts.iter().map(|bins| bins[i]).sum()).collect();
        };
        let in_bin = |key: &u128| digit(*key, from + DIGIT) == before;
        let keys = match left.take() {
            Some(left) => left.into_iter().filter(in_bin).collect(),
            None => {
                let part = |range: Range<usize>| range.map(|i| key(i).0).filter(in_bin).collect();
                in_ranges::<Vec<u128>>(threads, own, MIN_CHUNK, part).concat()
            }
        };
        let bins = count_digits(&mut keys.iter().copied());
        left = Some(keys);
        bins
    })?;
    Ok(Some(Key(last)))
}

/// The greatest of the `count` least of `own` keys, if it lies between two keys of a sample where it is very likely; only the
/// keys between these two are sorted out (Floyd and Rivest, "Expected time bounds for selection", 1975).
fn near_sample(threads: usize, count: usize, own: usize, key: &(impl Fn(usize) -> Key + Sync)) -> Option<Key> {
    let mut sample = sample(threads, own, key);
    // Four standard deviations of the number of sampled keys below the cut.
    let length = sample.len() as f64;
    let (place, apart) = (length * count as f64 / own as f64, 2.0 * length.sqrt());
    let mut at = |place: f64| *sample.select_nth_unstable(place as usize).1;
    let from = if place > apart { at(place - apart) } else { Key(0) };
    let to = if place + apart < length { at(place + apart) } else { Key(u128::MAX) };
    let look = |range: Range<usize>| {
        let (mut before, mut between) = (0, Vec::new());
        for key in range.map(key) {
            before += usize::from(key < from);
            if (key >= from) & (key <= to) {
                between.push(key);
            }
        }
        (before, between)
    };
    let ranges = ranges(if threads > 1 { SHARES_PER_THREAD * threads } else { 1 }, own, MIN_CHUNK);
    let (before, between): (Vec<usize>, Vec<Vec<Key>>) = on_each(threads, ranges, look).into_iter().unzip();
    let mut between = between.concat();
    let place = count.checked_sub(before.iter().sum::<usize>() + 1)?;
    (place < between.len()).then(|| *between.select_nth_unstable(place).1)
}

/// The indices of the keys below `count` that do not exceed `last`, the least key first. No two keys are equal.
pub(super) fn sorted(
    threads: usize,
    count: usize,
    last: Option<Key>,
    key: impl Fn(usize) -> Key + Sync,
) -> Vec<NodeId> {
    let last = last.unwrap_or(Key(u128::MAX));
    let parts = parts(threads, count, MIN_CHUNK);
    // Where each part but the first starts, so that they are about equally long.
    let mut sample = if parts > 1 { sample(threads, count, &key) } else { Vec::new() };
    sample.retain(|key| *key <= last);
    sample.sort_unstable();
    let start = |part: usize| sample.get(part * sample.len() / parts);
    let starts: Vec<Key> = (1..parts).filter_map(start).copied().collect();
    // A key and its index fill 128 bits, which are quickly sorted.
    let kept = in_ranges(threads, count, MIN_CHUNK, |range| {
        let mut kept = vec![Vec::new(); parts];
        for (key, i) in range.map(|i| (key(i), i)).filter(|&(key, _)| key <= last) {
            kept[starts.partition_point(|&start| start <= key)].push(key.0 << NodeId::BITS | i as u128);
        }
        kept
    });
    let sort = |part: usize| {
        let mut keys = kept.iter().map(|kept| kept[part].as_slice()).collect::<Vec<&[u128]>>().concat();
        keys.sort_unstable();
        keys.into_iter().map(|key| key as NodeId).collect::<Vec<NodeId>>()
    };
    on_each(threads, (0..parts).collect(), sort).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Alone;

    #[test]
    fn the_cut_keeps_the_least_keys() {
        let numbers = [3.5, -0.0, 0.0, 7.25, -2.0, 0.0, 0.0, 12.0, f32::MIN_POSITIVE, 7.25];
        let keys: Vec<Key> =
            (0..500).map(|i| Key::new(numbers[i % 10], (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]), "no two are the same");
        assert!(Key::new(-2.0, 9) < Key::new(-0.0, 3) && Key::new(-0.0, 9) < Key::new(0.0, 3));
        for count in 1..520 {
            let last = cut(&Alone, 2, count, keys.len(), |i| keys[i]).expect("nobody else is asked");
            let kept = keys.iter().filter(|key| last.is_none_or(|last| **key <= last)).count();
            assert_eq!(kept as u64, count.min(500));
        }
    }

    #[test]
    fn the_cut_of_many_keys_is_exact_wherever_it_lies() {
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let scattered = |i: usize| Key::new((hash(i as u64) >> 58) as f32, hash(i as u64));
        let ascending = |i: usize| Key::new(i as f32, i as u64);
        // The keys of the sample are the least: it says nothing of the others.
        let own = 3 * MIN_CHUNK;
        let seen = std::sync::Mutex::new(std::collections::HashSet::new());
        let of_one_thread = sample(1, own, &|i| {
            seen.lock().expect("no panic").insert(i);
            ascending(i)
        });
        assert!(sample(3, own, &ascending) == of_one_thread);
        let seen = seen.into_inner().expect("no panic");
        assert!(seen.len() > SAMPLE / 2);
        let misleading = |i: usize| Key::new(if seen.contains(&i) { 0.0 } else { 1.0 + i as f32 }, i as u64);
        let keys: [&(dyn Fn(usize) -> Key + Sync); 3] = [&scattered, &ascending, &misleading];
        for (which, key) in keys.into_iter().enumerate() {
            for count in [1, 2, 100, SAMPLE, own / 2, own - 100, own - 1] {
                for threads in [1, 3] {
                    let last = cut(&Alone, threads, count as u64, own, key).expect("nobody else is asked");
                    let kept = (0..own).map(key).filter(|key| last.is_some_and(|last| *key <= last)).count();
                    assert_eq!(kept, count, "order {which}");
                }
            }
            let near = |count| near_sample(2, count, own, &key);
            assert_eq!(near(own / 2).is_some(), which < 2, "order {which}");
        }
    }

    #[test]
    fn keys_are_sorted_the_same_on_any_number_of_threads() {
        let keys: Vec<Key> = (0..5 * MIN_CHUNK as u64)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .map(|hash| Key::new((hash >> 58) as f32, hash))
            .collect();
        for last in [None, Some(keys[7]), keys.iter().min().copied()] {
            let kept = |&i: &NodeId| last.is_none_or(|last| keys[i as usize] <= last);
            let mut expected: Vec<NodeId> = (0..keys.len() as NodeId).filter(kept).collect();
            expected.sort_by_key(|&i| keys[i as usize]);
            for threads in [1, 2, 3, 16] {
                assert_eq!(sorted(threads, keys.len(), last, |i| keys[i]), expected, "{threads} threads");
            }
        }
        assert!(sorted(2, 0, None, |i| keys[i]).is_empty());
    }
}
