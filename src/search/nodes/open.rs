//! The open list: nodes that wait, least priority first.
//!
//! Priorities fall into buckets by their leading bits (steps of 1/128 of their size; all below 1/2 into one); each
//! bucket is a small binary heap. Pushing is cheap wherever the front is, popping works in a heap that fits the cache,
//! an entry takes 8 bytes, and the order is exact: by priority, and among equals by age.

use super::arena::NodeId;
use super::bins::{BINS, Bins};
use crate::workers::{in_ranges, on_each};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which of equal priorities comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The node that was stored last: seldom the farther from a goal.
    NewestFirst,
    /// The node that was stored first.
    OldestFirst,
}

/// A priority and a node, in the order in which they are taken.
type Waiting = Reverse<u64>;

/// The leading bits of 1/2: all below share the first bucket, so that the others begin where priorities do.
const FIRST: usize = 0x3f00;

/// Entries that a thread takes at least.
const LEAST_EACH: usize = 1 << 11;

/// Of a bucket with so many times as many entries, those that come first are taken one by one.
const MANY: usize = 16;

/// So many bytes are kept in an empty bucket.
const KEPT: u64 = 8192;

/// The entries of a bucket: a run that came in the order in which it will be taken, last first, and a heap of the rest.
/// Where many priorities are equal and the newest comes first, all are in the run, and a heap's work is spared.
#[derive(Debug, Default)]
struct Bucket {
    run: Vec<u64>,
    heap: BinaryHeap<Waiting>,
}

impl Bucket {
    fn push(&mut self, waiting: u64) {
        if self.run.last().is_none_or(|&last| waiting <= last) {
            self.run.push(waiting);
        } else {
            self.heap.push(Reverse(waiting));
        }
    }

    fn peek(&self) -> Option<u64> {
        let (run, heap) = (self.run.last().copied(), self.heap.peek().map(|Reverse(waiting)| *waiting));
        run.into_iter().chain(heap).min()
    }

    fn pop(&mut self) -> Option<u64> {
        match (self.run.last(), self.heap.peek()) {
            (Some(run), Some(Reverse(heap))) if heap < run => self.heap.pop().map(|Reverse(waiting)| waiting),
            (Some(_), _) => self.run.pop(),
            (None, _) => self.heap.pop().map(|Reverse(waiting)| waiting),
        }
    }

    /// Takes the entries that come first, in their order: so many, and fewer than there are. In one pass, and not one by one.
    fn split(&mut self, count: usize, to: &mut Vec<u64>) {
        let mut all = std::mem::take(&mut self.run);
        all.extend(self.heap.drain().map(|Reverse(waiting)| waiting));
        all.select_nth_unstable(count);
        let start = to.len();
        to.extend(all.drain(..count));
        to[start..].sort_unstable();
        let mut left = std::mem::take(&mut self.heap).into_vec();
        left.extend(all.drain(..).map(Reverse));
        self.heap = BinaryHeap::from(left);
        self.run = all; // its room stays
    }

    fn is_empty(&self) -> bool {
        self.run.is_empty() && self.heap.is_empty()
    }

    fn bytes(&self) -> u64 {
        ((self.run.capacity() + self.heap.capacity()) * size_of::<Waiting>()) as u64
    }
}

/// The open list.
#[derive(Debug)]
pub struct Open {
    buckets: Vec<Bucket>,
    /// Turns a node's number into its rank among equals, and back.
    mask: NodeId,
    /// No bucket before this one holds anything.
    front: usize,
    length: usize,
    bytes: u64,
    largest: u64,
}

impl Open {
    /// An empty one.
    pub fn new(ties: Ties) -> Self {
        let mask = if ties == Ties::NewestFirst { NodeId::MAX } else { 0 };
        Open { buckets: Vec::new(), mask, front: 0, length: 0, bytes: 0, largest: 0 }
    }

    /// How many entries wait, outdated ones included.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a node with its priority f.
    ///
    /// # Panics
    /// In debug builds, if the priority is negative or NaN: the bits of other floats are in their order.
    pub fn push(&mut self, f: f32, id: NodeId) {
        self.add(self.entry(f, id));
    }

    fn add(&mut self, waiting: u64) {
        let bucket = bucket_of(waiting);
        if bucket >= self.buckets.len() {
            self.buckets.resize_with(bucket + 1, Bucket::default);
        }
        let entries = &mut self.buckets[bucket];
        let before = entries.bytes();
        entries.push(waiting);
        let size = entries.bytes();
        if size != before {
            self.bytes += size - before;
            self.largest = self.largest.max(size);
        }
        self.front = if self.length == 0 { bucket } else { self.front.min(bucket) };
        self.length += 1;
    }

    /// A priority and a node as one number: the lesser one is taken first.
    ///
    /// # Panics
    /// As [`Open::push`].
    pub fn entry(&self, f: f32, id: NodeId) -> u64 {
        debug_assert!(f >= 0.0, "priority {f}");
        // -0.0 would be the largest of all.
        u64::from((f + 0.0).to_bits()) << 32 | u64::from(id ^ self.mask)
    }

    /// Adds so many nodes, those from `first` on that have a priority, as if one after the other.
    ///
    /// # Panics
    /// As [`Open::push`].
    pub fn extend(
        &mut self,
        threads: usize,
        first: NodeId,
        count: usize,
        priority: impl Fn(NodeId) -> Option<f32> + Sync,
    ) {
        if threads.min(count / LEAST_EACH) < 2 {
            for id in first..first + count as NodeId {
                if let Some(f) = priority(id) {
                    self.push(f, id);
                }
            }
            return;
        }
        let parts = in_ranges(threads, count, LEAST_EACH, |range| {
            let entries = range.filter_map(|i| {
                let id = first + i as NodeId;
                Some(self.entry(priority(id)?, id))
            });
            binned(&entries.collect::<Vec<_>>())
        });
        self.add_binned(threads, &parts);
    }

    /// Adds entries, as if one after the other.
    pub fn add_all(&mut self, threads: usize, entries: &[u64]) {
        if threads.min(entries.len() / LEAST_EACH) < 2 {
            entries.iter().for_each(|&entry| self.add(entry));
        } else {
            let parts = in_ranges(threads, entries.len(), LEAST_EACH, |range| binned(&entries[range]));
            self.add_binned(threads, &parts);
        }
    }

    /// Adds entries by the bins of their buckets, each thread some bins.
    fn add_binned(&mut self, threads: usize, parts: &[Bins]) {
        let Some(&last) = parts.iter().flat_map(Bins::all).max() else { return };
        let most = self.buckets.len().max(bucket_of(last) + 1);
        self.buckets.resize_with(most, Bucket::default);
        let mut shares: Vec<Vec<&mut Bucket>> = Vec::new();
        shares.resize_with(BINS, || Vec::with_capacity(most.div_ceil(BINS)));
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
        self.give_back();
        Some(self.id(least))
    }

    /// Takes the entries that come first, so many if there are, and adds them in their order.
    pub fn take(&mut self, mut count: usize, to: &mut Vec<u64>) {
        while count > 0 && self.advance().is_some() {
            let (bucket, start) = (&mut self.buckets[self.front], to.len());
            let (length, before) = (bucket.run.len() + bucket.heap.len(), bucket.bytes());
            if length <= count {
                to.append(&mut bucket.run);
                to.extend(bucket.heap.drain().map(|Reverse(waiting)| waiting));
                to[start..].sort_unstable();
            } else if count < length / MANY {
                to.extend((0..count).map_while(|_| bucket.pop()));
            } else {
                bucket.split(count, to);
            }
            let size = bucket.bytes();
            self.bytes = self.bytes - before + size;
            self.largest = self.largest.max(size);
            self.length -= to.len() - start;
            count -= to.len() - start;
            self.give_back();
        }
    }

    /// Gives back the memory of the first bucket, if it is empty: it is seldom filled again.
    fn give_back(&mut self) {
        let bucket = &mut self.buckets[self.front];
        if bucket.is_empty() && bucket.bytes() > KEPT {
            self.bytes -= bucket.bytes();
            *bucket = Bucket::default();
        }
    }

    /// The node of an entry.
    pub fn id(&self, entry: u64) -> NodeId {
        entry as NodeId ^ self.mask
    }

    /// The least priority.
    pub fn least_f(&mut self) -> Option<f32> {
        self.first().map(|(f, _)| f)
    }

    /// The node of least priority, and that priority.
    pub fn first(&mut self) -> Option<(f32, NodeId)> {
        self.advance()?;
        let least = self.buckets[self.front].peek()?;
        Some((f32::from_bits((least >> 32) as u32), self.id(least)))
    }

    /// Moves the front to the first bucket that holds something.
    fn advance(&mut self) -> Option<()> {
        if self.length == 0 {
            return None;
        }
        while self.buckets[self.front].is_empty() {
            self.front += 1;
        }
        Some(())
    }

    /// Bytes taken, with what the largest bucket needs for a moment when it grows.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.largest + (self.buckets.len() * size_of::<Bucket>()) as u64
    }
}

/// Entries by the bins of their buckets.
fn binned(entries: &[u64]) -> Bins {
    Bins::new(entries.iter().map(|&entry| (bucket_of(entry) % BINS, entry)))
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
    fn many_enter_as_if_one_after_the_other() {
        let priority = |id: NodeId| (!id.is_multiple_of(7)).then(|| (id.wrapping_mul(0x9e37_79b9) >> 20) as f32 / 64.0);
        for ties in [Ties::NewestFirst, Ties::OldestFirst] {
            let mut expected = Open::new(ties);
            (0..40_000).for_each(|id| priority(id).into_iter().for_each(|f| expected.push(f, id)));
            let expected: Vec<_> = std::iter::from_fn(|| expected.pop()).collect();
            for threads in [1, 2, 3, 16] {
                let mut open = Open::new(ties);
                for first in (0..40_000).step_by(10_000) {
                    open.extend(threads, first, 10_000, priority);
                }
                assert_eq!(open.len(), expected.len());
                assert!(open.bytes() >= 8 * expected.len() as u64);
                let popped: Vec<_> = std::iter::from_fn(|| open.pop()).collect();
                assert!(popped == expected, "{threads} threads");
            }
            let mut open = Open::new(ties);
            open.extend(2, 0, 40_000, priority);
            let mut taken = Vec::new();
            for count in [0, 1, 3, 1000, 20_000, 50_000] {
                let before = taken.len();
                open.take(count, &mut taken);
                assert_eq!(taken.len() - before, count.min(expected.len() - before));
                assert_eq!(open.len(), expected.len() - taken.len());
                assert!(open.bytes() >= 8 * open.len() as u64);
            }
            assert!(taken.iter().map(|&entry| open.id(entry)).eq(expected.iter().copied()));
            let mut open = Open::new(ties);
            open.extend(2, 0, 10_000, |_| None);
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
