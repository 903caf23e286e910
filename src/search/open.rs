//! The open list: nodes that wait, least priority first.
//!
//! Priorities fall into buckets by their leading bits (steps of 1/128 of their size); each bucket is a small binary
//! heap. Pushing is cheap wherever the front is, popping works in a heap that fits the cache, an entry takes 8 bytes,
//! and the order is exact: by priority, and among equals the newest first, which is seldom the farther from a goal.

use super::arena::NodeId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A priority and a node, in the order in which they are taken: of equal priorities, the newest node comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting(u64);

impl Waiting {
    /// # Panics
    /// In debug builds, if the priority is negative or NaN: the bits of other floats are in their order.
    pub fn new(f: f32, id: NodeId) -> Self {
        debug_assert!(f >= 0.0, "priority {f}");
        // -0.0 would be the largest of all.
        Waiting(u64::from((f + 0.0).to_bits()) << 32 | u64::from(!id))
    }

    /// The priority.
    pub fn f(self) -> f32 {
        f32::from_bits((self.0 >> 32) as u32)
    }

    /// The node.
    pub fn id(self) -> NodeId {
        !(self.0 as NodeId)
    }

    fn bucket(self) -> usize {
        (self.0 >> 48) as usize
    }
}

/// The open list.
#[derive(Debug, Default)]
pub struct Open {
    buckets: Vec<BinaryHeap<Reverse<Waiting>>>,
    /// No bucket before this one holds anything.
    front: usize,
    length: usize,
    bytes: u64,
    largest: u64,
}

impl Open {
    /// How many entries wait, outdated ones included.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds an entry.
    pub fn push(&mut self, waiting: Waiting) {
        let bucket = waiting.bucket();
        if bucket >= self.buckets.len() {
            self.buckets.resize_with(bucket + 1, BinaryHeap::new);
        }
        let heap = &mut self.buckets[bucket];
        let before = heap.capacity();
        heap.push(Reverse(waiting));
        if heap.capacity() != before {
            let size = (heap.capacity() * size_of::<Waiting>()) as u64;
            self.bytes += size - (before * size_of::<Waiting>()) as u64;
            self.largest = self.largest.max(size);
        }
        self.front = if self.length == 0 { bucket } else { self.front.min(bucket) };
        self.length += 1;
    }

    /// Takes the entry of least priority.
    pub fn pop(&mut self) -> Option<Waiting> {
        self.advance()?;
        self.length -= 1;
        let heap = &mut self.buckets[self.front];
        let Reverse(least) = heap.pop()?;
        if heap.is_empty() {
            // What was popped to the last is seldom filled again: give it back.
            self.bytes -= (heap.capacity() * size_of::<Waiting>()) as u64;
            *heap = BinaryHeap::new();
        }
        Some(least)
    }

    /// The entry of least priority.
    pub fn peek(&mut self) -> Option<Waiting> {
        self.advance()?;
        self.buckets[self.front].peek().map(|Reverse(least)| *least)
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
        self.bytes + self.largest + (self.buckets.len() * size_of::<BinaryHeap<Waiting>>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};

    #[test]
    fn it_pops_in_the_exact_order_of_a_sorted_list() {
        let mut generator = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        let mut open = Open::default();
        let mut sorted = Vec::new();
        for id in 0..20_000u32 {
            let f = match id % 4 {
                0 => generator.random_range(0.0..40.0),
                1 => generator.random_range(10.0..10.01),
                2 => 17.0,
                _ => 0.0,
            };
            open.push(Waiting::new(f, id));
            sorted.push(Waiting::new(f, id));
            if id % 3 == 0 {
                sorted.sort_unstable_by(|a, b| b.cmp(a));
                assert_eq!(open.peek(), sorted.last().copied());
                assert_eq!(open.pop(), sorted.pop());
            }
        }
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        while let Some(expected) = sorted.pop() {
            assert_eq!(open.pop(), Some(expected));
        }
        assert_eq!((open.pop(), open.peek(), open.len()), (None, None, 0));
        open.push(Waiting::new(3.0, 9));
        assert_eq!(open.pop().map(Waiting::id), Some(9));
    }
}
