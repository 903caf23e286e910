//! The cut of a beam: which states are among the best of all ranks.

use crate::heuristic::HeuristicError;
use crate::search::exchange::Exchange;
use crate::search::nodes::arena::NodeId;
use crate::workers::{in_ranges, on_each};

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

    fn bits(self) -> u128 {
        u128::from(self.number) << 64 | u128::from(self.tie)
    }
}

const BITS: u32 = 96;

/// Bits that are looked at in a round.
const DIGIT: u32 = 12;

/// Keys that a thread takes at least.
const LEAST: usize = 1 << 14;

/// The greatest of the `count` least keys of all ranks, of which this one has `own`; `None` if there are not more. Of many,
/// by one histogram of all ranks for each twelve bits, until the bin that the cut falls into ends there.
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
            return Ok(Some(Key { number: (last >> 64) as u32, tie: last as u64 }));
        }
        let is_left = |key: &u128| digit(*key, shift) == bin;
        left = Some(match left.take() {
            Some(mut left) => {
                left.retain(is_left);
                left
            }
            None => {
                let part = |range: std::ops::Range<usize>| range.map(|i| key(i).bits()).filter(is_left).collect();
                in_ranges(threads, own, LEAST, part).into_iter().flat_map(|part: Vec<u128>| part).collect()
            }
        });
        shift -= DIGIT;
    }
}

/// Keys of which one is looked at, to cut the rest into parts of about the same size.
const SAMPLED: usize = 64;

/// The numbers of the keys below `count` up to `last`, the least key first. No two keys are the same.
pub(super) fn sorted(
    threads: usize,
    count: usize,
    last: Option<Key>,
    key: impl Fn(usize) -> Key + Sync,
) -> Vec<NodeId> {
    let kept = |range: std::ops::Range<usize>| {
        let keys = range.map(|i| (key(i), i as NodeId));
        keys.filter(|(key, _)| last.is_none_or(|last| *key <= last)).collect::<Vec<_>>()
    };
    let kept = in_ranges(threads, count, LEAST, kept);
    let mut sample: Vec<Key> = kept.iter().flat_map(|kept| kept.iter().step_by(SAMPLED)).map(|(key, _)| *key).collect();
    sample.sort_unstable();
    let parts = threads.clamp(1, sample.len().max(1));
    // Each part has the keys from a start up to the next one.
    let start = |part: usize| (part > 0).then(|| sample[part * sample.len() / parts]);
    let ends: Vec<_> =
        (0..parts).map(|part| (start(part), (part + 1 < parts).then(|| start(part + 1)).flatten())).collect();
    let parts = on_each(threads, ends, |(from, to)| {
        let is_within = |key: &Key| from.is_none_or(|from| *key >= from) && to.is_none_or(|to| *key < to);
        let mut keys: Vec<(Key, NodeId)> = kept.iter().flatten().filter(|(key, _)| is_within(key)).copied().collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, i)| i).collect::<Vec<NodeId>>()
    });
    parts.concat()
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
