//! The cut of a beam: which states are among the best of all ranks.

use crate::heuristic::HeuristicError;
use crate::search::exchange::Exchange;
use crate::search::nodes::arena::NodeId;
use crate::workers::{extend, in_ranges, on_each, parts, ranges};
use std::ops::Range;

/// A place in a total order: by a number, and of equal numbers, by a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(super) struct Key {
    number: u32,
    tie: u64,
}

impl Key {
    pub(super) fn new(number: f32, tie: u64) -> Self {
        let bits = number.to_bits();
        // The order of `f32::total_cmp`, as that of integers.
        let number = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        Key { number, tie }
    }

    pub(super) fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4..].copy_from_slice(&self.tie.to_le_bytes());
        bytes
    }

    /// # Panics
    /// If there are not twelve bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let (number, tie) = bytes.split_at(4);
        let (number, tie) = (number.try_into().expect("four bytes"), tie.try_into().expect("eight bytes"));
        Key { number: u32::from_le_bytes(number), tie: u64::from_le_bytes(tie) }
    }

    /// As a number, in the same order.
    fn bits(self) -> u128 {
        u128::from(self.number) << 64 | u128::from(self.tie)
    }

    fn from_bits(bits: u128) -> Self {
        Key { number: (bits >> 64) as u32, tie: bits as u64 }
    }
}

/// The first of so many that is not before some place, where all that are before it come first.
pub(super) fn first_after(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

const BITS: u32 = 96;

/// Bits that are looked at in a round.
const DIGIT: u32 = 12;

/// Keys that a thread takes at least.
const LEAST: usize = 1 << 14;

/// Keys that are looked at first, to tell about where others are.
const SAMPLED: usize = 1 << 12;

/// Of these, a thread takes at least so many.
const LEAST_SAMPLED: usize = 1 << 9;

/// Some keys of so many, from everywhere: their numbers are multiples of the golden ratio, modulo 1, of the count.
fn sample(threads: usize, count: usize, key: &(impl Fn(usize) -> Key + Sync)) -> Vec<Key> {
    let number = |i: usize| (u128::from((i as u32).wrapping_mul(0x9e37_79b9)) * count as u128) >> 32;
    let mut sample = Vec::new();
    extend(threads, &mut sample, SAMPLED.min(count), LEAST_SAMPLED, |i| key(number(i) as usize));
    sample
}

/// What the `count` least keys of all ranks, of which this one has `own`, do not exceed, and all others do; `None` if there are
/// not more. A process alone first looks [near that of a sample](near_sample). Otherwise, one histogram of all ranks is made for
/// each twelve bits, until the bin that the cut falls into ends there.
pub(super) fn cut(
    exchange: &dyn Exchange,
    threads: usize,
    count: u64,
    own: usize,
    key: impl Fn(usize) -> Key + Sync,
) -> Result<Option<Key>, HeuristicError> {
    if exchange.gather(own as u64)?.iter().sum::<u64>() <= count {
        return Ok(None);
    }
    if exchange.is_alone() && own < LEAST {
        let mut keys: Vec<Key> = (0..own).map(key).collect();
        return Ok(Some(*keys.select_nth_unstable(count.max(1) as usize - 1).1));
    }
    if exchange.is_alone()
        && let Some(last) = near_sample(threads, count.max(1) as usize, own, &key)
    {
        return Ok(Some(last));
    }
    let digit = |key: u128, shift: u32| (key >> shift) as usize & ((1 << DIGIT) - 1);
    let (mut rest, mut prefix, mut shift) = (count.max(1), 0, BITS - DIGIT);
    let mut left: Option<Vec<u128>> = None;
    loop {
        let histogram = |keys: &mut dyn Iterator<Item = u128>| {
            let mut bins = vec![0u64; 1 << DIGIT];
            keys.for_each(|key| bins[digit(key, shift)] += 1);
            bins
        };
        let parts = match &left {
            Some(left) => vec![histogram(&mut left.iter().copied())],
            None => in_ranges(threads, own, LEAST, |range| histogram(&mut range.map(|i| key(i).bits()))),
        };
        let bins = exchange.gather(sum(parts))?;
        let bins = sum(bins);
        let mut bin = 0;
        while bins[bin] < rest {
            rest -= bins[bin];
            bin += 1;
        }
        prefix = prefix << DIGIT | bin as u128;
        if bins[bin] == rest || shift == 0 {
            let last = ((prefix + 1) << shift) - 1;
            return Ok(Some(Key::from_bits(last)));
        }
        let is_left = |key: &u128| digit(*key, shift) == bin;
        left = Some(match left.take() {
            Some(mut left) => {
                left.retain(is_left);
                left
            }
            None => {
                let part = |range: Range<usize>| range.map(|i| key(i).bits()).filter(is_left).collect();
                in_ranges(threads, own, LEAST, part).into_iter().flat_map(|part: Vec<u128>| part).collect()
            }
        });
        shift -= DIGIT;
    }
}

/// The greatest of the `count` least of `own` keys, if it lies between two keys of a sample that very likely have it between
/// them: only what lies there is looked at closely (Floyd and Rivest, "Expected time bounds for selection", 1975).
fn near_sample(threads: usize, count: usize, own: usize, key: &(impl Fn(usize) -> Key + Sync)) -> Option<Key> {
    // As numbers, keys are compared without a branch.
    let mut sample: Vec<u128> = sample(threads, own, key).into_iter().map(Key::bits).collect();
    // Four standard deviations of how many of a sample lie below the cut.
    let length = sample.len() as f64;
    let (place, apart) = (length * count as f64 / own as f64, 2.0 * length.sqrt());
    let mut at = |place: f64| *sample.select_nth_unstable(place as usize).1;
    let from = if place > apart { at(place - apart) } else { 0 };
    let to = if place + apart < length { at(place + apart) } else { u128::MAX };
    let look = |range: Range<usize>| {
        let (mut before, mut between) = (0, Vec::new());
        for key in range.map(|i| key(i).bits()) {
            before += usize::from(key < from);
            if (key >= from) & (key <= to) {
                between.push(key);
            }
        }
        (before, between)
    };
    // Of the children of the best parents, which come first, more lie between. Smaller ranges are more even.
    let ranges = ranges(if threads > 1 { 4 * threads } else { 1 }, own, LEAST);
    let (before, between): (Vec<usize>, Vec<Vec<u128>>) = on_each(threads, ranges, look).into_iter().unzip();
    let mut between = between.concat();
    let place = count.checked_sub(before.iter().sum::<usize>() + 1)?;
    (place < between.len()).then(|| Key::from_bits(*between.select_nth_unstable(place).1))
}

/// The numbers of the keys below `count` up to `last`, the least key first. No two keys are the same.
pub(super) fn sorted(
    threads: usize,
    count: usize,
    last: Option<Key>,
    key: impl Fn(usize) -> Key + Sync,
) -> Vec<NodeId> {
    let last = last.map_or(u128::MAX, Key::bits);
    let parts = parts(threads, count, LEAST);
    // Where each part but the first begins: they are about equally long.
    let sample = if parts > 1 { sample(threads, count, &key) } else { Vec::new() };
    let mut sample: Vec<u128> = sample.into_iter().map(Key::bits).filter(|&key| key <= last).collect();
    sample.sort_unstable();
    let start = |part: usize| sample.get(part * sample.len() / parts);
    let starts: Vec<u128> = (1..parts).filter_map(start).copied().collect();
    // A key with its number behind it fills 128 bits: what is sorted is small, and compared without a branch.
    let kept = in_ranges(threads, count, LEAST, |range| {
        let mut kept = vec![Vec::new(); parts];
        for (key, i) in range.map(|i| (key(i).bits(), i)).filter(|&(key, _)| key <= last) {
            kept[starts.partition_point(|&start| start <= key)].push(key << NodeId::BITS | i as u128);
        }
        kept
    });
    let of_part = |part: usize| {
        let mut keys = kept.iter().map(|kept| kept[part].as_slice()).collect::<Vec<&[u128]>>().concat();
        keys.sort_unstable();
        keys.into_iter().map(|key| key as NodeId).collect::<Vec<NodeId>>()
    };
    on_each(threads, (0..parts).collect(), of_part).concat()
}

fn sum(histograms: Vec<Vec<u64>>) -> Vec<u64> {
    let mut histograms = histograms.into_iter();
    let mut sums = histograms.next().unwrap_or_default();
    for histogram in histograms {
        sums.iter_mut().zip(histogram).for_each(|(sum, count)| *sum += count);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::exchange::Alone;

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
        let of = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let scattered = |i: usize| Key::new((of(i as u64) >> 58) as f32, of(i as u64));
        let ascending = |i: usize| Key::new(i as f32, i as u64);
        // Those that a sample sees are the least: it tells nothing of the others.
        let own = 3 * LEAST;
        let seen = std::sync::Mutex::new(std::collections::HashSet::new());
        let of_one_thread = sample(1, own, &|i| {
            seen.lock().expect("no panic").insert(i);
            ascending(i)
        });
        assert!(sample(3, own, &ascending) == of_one_thread);
        let seen = seen.into_inner().expect("no panic");
        assert!(seen.len() > SAMPLED / 2);
        let misleading = |i: usize| Key::new(if seen.contains(&i) { 0.0 } else { 1.0 + i as f32 }, i as u64);
        let keys: [&(dyn Fn(usize) -> Key + Sync); 3] = [&scattered, &ascending, &misleading];
        for (which, key) in keys.into_iter().enumerate() {
            for count in [1, 2, 100, SAMPLED, own / 2, own - 100, own - 1] {
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
    fn keys_are_sorted_alike_on_any_number_of_threads() {
        let keys: Vec<Key> = (0..5 * LEAST as u64)
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
