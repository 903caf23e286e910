//! The open list: nodes that wait, least priority first.
//!
//! Priorities fall into buckets by their leading bits: steps of 1/128 of their size, and one bucket below 1/2. Each bucket is
//! a small binary heap. Pushing is cheap anywhere, popping works in a heap that fits the cache, an entry takes 8 bytes, and the
//! order is exact: by priority, and among equals by age.

use super::arena::NodeId;
use super::bins::{BINS, Bins};
use crate::workers::{GRAIN, in_ranges, on_each};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which of equal priorities comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The node stored last, which is seldom the farther from a goal.
    NewestFirst,
    /// The node stored first.
    OldestFirst,
}

impl Ties {
    /// A priority and a node as one number; the least one is taken first.
    ///
    /// # Panics
    /// In debug builds, if the priority is negative or NaN: only the bits of other floats are in order.
    pub(in crate::search) fn entry(self, f: f32, id: NodeId) -> u64 {
        debug_assert!(f >= 0.0, "priority {f}");
        // -0.0 would be the greatest of all.
        u64::from((f + 0.0).to_bits()) << 32 | u64::from(id ^ self.mask())
    }

    /// The node of an entry.
    pub(in crate::search) fn id(self, entry: u64) -> NodeId {
        entry as NodeId ^ self.mask()
    }

    /// An entry whose node has got a new index, of equal priority.
    pub(in crate::search) fn renamed(self, entry: u64, indices: &[NodeId]) -> u64 {
        entry >> 32 << 32 | u64::from(indices[self.id(entry) as usize] ^ self.mask())
    }

    fn mask(self) -> NodeId {
        if self == Ties::NewestFirst { NodeId::MAX } else { 0 }
    }
}

/// The leading bits of 1/2: all below share the first bucket.
const FIRST: usize = 0x3f00;

/// Entries are popped one by one if the bucket holds more than this many times as many; otherwise it is partitioned.
const MIN_SPLIT_SHARE: usize = 16;

/// An empty bucket keeps this many bytes of memory at most.
const KEPT_BYTES: u64 = 8192;

/// The entries of a bucket: a run that was pushed in the reverse order of taking, and a heap of the rest. If many
/// priorities are equal and the newest comes first, the run holds everything, and the heap costs nothing.
#[derive(Debug, Default)]
struct Bucket {
    run: Vec<u64>,
    heap: BinaryHeap<Reverse<u64>>,
}

impl Bucket {
    fn push(&mut self, entry: u64) {
        if self.run.last().is_none_or(|&last| entry <= last) {
            self.run.push(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    fn peek(&self) -> Option<u64> {
        let (run, heap) = (self.run.last().copied(), self.heap.peek().map(|Reverse(entry)| *entry));
        run.into_iter().chain(heap).min()
    }

    fn pop(&mut self) -> Option<u64> {
        match (self.run.last(), self.heap.peek()) {
            (Some(run), Some(Reverse(heap))) if heap < run => self.heap.pop().map(|Reverse(entry)| entry),
            (Some(_), _) => self.run.pop(),
            (None, _) => self.heap.pop().map(|Reverse(entry)| entry),
        }
    }

    /// Takes the first `count` entries in order, in one pass. There must be more.
    fn split(&mut self, count: usize, to: &mut Vec<u64>) {
        let mut all = std::mem::take(&mut self.run);
        all.extend(self.heap.drain().map(|Reverse(entry)| entry));
        all.select_nth_unstable(count);
        let start = to.len();
        to.extend(all.drain(..count));
        to[start..].sort_unstable();
        let mut left = std::mem::take(&mut self.heap).into_vec();
        left.extend(all.drain(..).map(Reverse));
        self.heap = BinaryHeap::from(left);
        self.run = all; // its memory is used again
    }

    fn len(&self) -> usize {
        self.run.len() + self.heap.len()
    }

    fn bytes(&self) -> u64 {
        ((self.run.capacity() + self.heap.capacity()) * size_of::<u64>()) as u64
    }
}

/// The open list.
#[derive(Debug)]
pub struct Open {
    buckets: Vec<Bucket>,
    pub ties: Ties,
    /// All buckets before this one are empty.
    front: usize,
    length: usize,
    bytes: u64,
    largest: u64,
}

impl Open {
    /// An empty list.
    pub fn new(ties: Ties) -> Self {
        Open { buckets: Vec::new(), ties, front: 0, length: 0, bytes: 0, largest: 0 }
    }

    /// The number of entries, outdated ones included.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a node with its priority f.
    ///
    /// # Panics
    /// As [`Ties::entry`].
    pub fn push(&mut self, f: f32, id: NodeId) {
        self.add(self.ties.entry(f, id));
    }

    fn add(&mut self, entry: u64) {
        let bucket = bucket_of(entry);
        if bucket >= self.buckets.len() {
            self.buckets.resize_with(bucket + 1, Bucket::default);
        }
        let entries = &mut self.buckets[bucket];
        let before = entries.bytes();
        entries.push(entry);
        let size = entries.bytes();
        if size != before {
            self.bytes += size - before;
            self.largest = self.largest.max(size);
        }
        self.front = if self.length == 0 { bucket } else { self.front.min(bucket) };
        self.length += 1;
    }

    /// Adds `count` [entries](Ties::entry) as if one by one; `None` adds nothing.
    pub fn extend(&mut self, threads: usize, count: usize, entry: impl Fn(usize) -> Option<u64> + Sync) {
        if threads.min(count / GRAIN) < 2 {
            return (0..count).filter_map(entry).for_each(|entry| self.add(entry));
        }
        let parts = in_ranges(threads, count, GRAIN, |range| {
            let entries: Vec<u64> = range.filter_map(&entry).collect();
            Bins::new(entries.iter().map(|&entry| (bucket_of(entry) % BINS, entry)))
        });
        let Some(&last) = parts.iter().flat_map(Bins::all).max() else { return };
        let buckets = self.buckets.len().max(bucket_of(last) + 1);
        self.buckets.resize_with(buckets, Bucket::default);
        let mut shares: Vec<Vec<&mut Bucket>> = Vec::new();
        shares.resize_with(BINS, || Vec::with_capacity(buckets.div_ceil(BINS)));
        self.buckets.iter_mut().enumerate().for_each(|(i, bucket)| shares[i % BINS].push(bucket));
        let fronts = on_each(threads, shares.into_iter().enumerate().collect(), |(bin, mut buckets)| {
            let mut front = usize::MAX;
            for &entry in parts.iter().flat_map(|part| part.of(bin)) {
                let bucket = bucket_of(entry);
                buckets[bucket / BINS].push(entry);
                front = front.min(bucket);
            }
            front
        });
        let front = fronts.into_iter().min().unwrap_or(usize::MAX);
        self.front = if self.length == 0 { front } else { self.front.min(front) };
        self.length += parts.iter().map(|part| part.all().len()).sum::<usize>();
        self.bytes = self.buckets.iter().map(Bucket::bytes).sum();
        self.largest = self.buckets.iter().map(Bucket::bytes).max().unwrap_or(0).max(self.largest);
    }

    /// Takes the node of least priority.
    pub fn pop(&mut self) -> Option<NodeId> {
        self.advance()?;
        self.length -= 1;
        let least = self.buckets[self.front].pop()?;
        self.shrink();
        Some(self.ties.id(least))
    }

    /// Takes the first `count` entries, or all, and appends them in order.
    pub fn take(&mut self, mut count: usize, to: &mut Vec<u64>) {
        while count > 0 && self.advance().is_some() {
            let (bucket, start) = (&mut self.buckets[self.front], to.len());
            let (length, before) = (bucket.len(), bucket.bytes());
            if length <= count {
                to.append(&mut bucket.run);
                to.extend(bucket.heap.drain().map(|Reverse(entry)| entry));
                to[start..].sort_unstable();
            } else if count < length / MIN_SPLIT_SHARE {
                to.extend((0..count).map_while(|_| bucket.pop()));
            } else {
                bucket.split(count, to);
            }
            let size = bucket.bytes();
            self.bytes = self.bytes - before + size;
            self.largest = self.largest.max(size);
            self.length -= to.len() - start;
            count -= to.len() - start;
            self.shrink();
        }
    }

    /// Frees the memory of the first bucket if it is empty: it is seldom filled again.
    fn shrink(&mut self) {
        let bucket = &mut self.buckets[self.front];
        if bucket.len() == 0 && bucket.bytes() > KEPT_BYTES {
            self.bytes -= bucket.bytes();
            *bucket = Bucket::default();
        }
    }

    /// The least priority.
    pub fn least_f(&mut self) -> Option<f32> {
        self.first().map(|(f, _)| f)
    }

    /// The least priority and its node.
    pub fn first(&mut self) -> Option<(f32, NodeId)> {
        self.advance()?;
        let least = self.buckets[self.front].peek()?;
        Some((f32::from_bits((least >> 32) as u32), self.ties.id(least)))
    }

    /// Moves the front to the first bucket that is not empty.
    fn advance(&mut self) -> Option<()> {
        if self.length == 0 {
            return None;
        }
        while self.buckets[self.front].len() == 0 {
            self.front += 1;
        }
        Some(())
    }

    /// Memory in use, in bytes, with what the largest bucket needs for a moment when it grows.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.largest + (self.buckets.len() * size_of::<Bucket>()) as u64
    }
}

/// The bucket of an entry.
fn bucket_of(entry: u64) -> usize {
    ((entry >> 48) as usize).saturating_sub(FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};

    #[test]
    fn many_enter_as_if_one_by_one() {
        let priority = |id: NodeId| (!id.is_multiple_of(7)).then(|| (id.wrapping_mul(0x9e37_79b9) >> 20) as f32 / 64.0);
        for ties in [Ties::NewestFirst, Ties::OldestFirst] {
            let entry = |first| move |i| priority(first + i as NodeId).map(|f| ties.entry(f, first + i as NodeId));
            let mut expected = Open::new(ties);
            (0..40_000).for_each(|id| priority(id).into_iter().for_each(|f| expected.push(f, id)));
            let expected: Vec<_> = std::iter::from_fn(|| expected.pop()).collect();
            for threads in [1, 2, 3, 16] {
                let mut open = Open::new(ties);
                for first in (0..40_000).step_by(10_000) {
                    open.extend(threads, 10_000, entry(first));
                }
                assert_eq!(open.len(), expected.len());
                assert!(open.bytes() >= 8 * expected.len() as u64);
                let popped: Vec<_> = std::iter::from_fn(|| open.pop()).collect();
                assert!(popped == expected, "{threads} threads");
            }
            let mut open = Open::new(ties);
            open.extend(2, 40_000, entry(0));
            let mut taken = Vec::new();
            for count in [0, 1, 3, 1000, 20_000, 50_000] {
                let before = taken.len();
                open.take(count, &mut taken);
                assert_eq!(taken.len() - before, count.min(expected.len() - before));
                assert_eq!(open.len(), expected.len() - taken.len());
                assert!(open.bytes() >= 8 * open.len() as u64);
            }
            assert!(taken.iter().map(|&entry| ties.id(entry)).eq(expected.iter().copied()));
            let mut open = Open::new(ties);
            open.extend(2, 10_000, |_| None);
            assert!(open.is_empty() && open.pop().is_none());
        }
    }

    #[test]
    fn it_pops_in_the_exact_order_of_a_sorted_list() {
        for ties in [Ties::NewestFirst, Ties::OldestFirst] {
            let order =
                |&(f, id): &(f32, NodeId)| Reverse((f.to_bits(), if ties == Ties::NewestFirst { !id } else { id }));
            let mut generator = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
            let mut open = Open::new(ties);
            let mut sorted: Vec<(f32, NodeId)> = Vec::new();
            for id in 0..10_000u32 {
                let f = match id % 4 {
                    0 => generator.random_range(0.0..40.0),
                    1 => generator.random_range(10.0..10.01),
                    2 => 17.0,
                    _ => 0.0,
                };
                open.push(f, id);
                sorted.push((f, id));
                if id % 3 == 0 {
                    sorted.sort_unstable_by_key(order);
                    assert_eq!(open.least_f(), sorted.last().map(|(f, _)| *f));
                    assert_eq!(open.pop(), sorted.pop().map(|(_, id)| id));
                }
            }
            sorted.sort_unstable_by_key(order);
            while let Some((_, expected)) = sorted.pop() {
                assert_eq!(open.pop(), Some(expected));
            }
            assert_eq!((open.pop(), open.least_f(), open.len()), (None, None, 0));
            open.push(3.0, 9);
            assert_eq!(open.pop(), Some(9));
        }
    }
}
