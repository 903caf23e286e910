//! The moves of every node by probability, for deferred evaluation.

use super::arena::{NO_PARENT, NodeId};
use crate::memory;
use crate::puzzle::Move;
use crate::workers::on_each;
use ndarray::Array2;
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// The moves of every node, most probable first, and how many of them were taken.
pub struct MoveOrder {
    /// The number of a node's moves.
    count: usize,
    /// For each node its moves in order, then the surprisal of each: −ln p in steps of 1/[`STEPS`]. The first thread
    /// that sorts one of its nodes allocates a segment.
    segments: Vec<Vec<u8>>,
    /// For each node the number of moves not taken yet: 0 while it has no moves.
    left: Vec<Vec<AtomicU8>>,
    nodes: usize,
}

/// A byte then spans probabilities from 1 to 1/12,000 with a resolution of 4 %.
const STEPS: f32 = 27.0;

/// Nodes of a segment, sorted by one thread.
const SEGMENT: usize = 1 << 10;

impl MoveOrder {
    /// For nodes with `count` moves each; with 0, it stores nothing.
    pub fn new(count: usize) -> Self {
        MoveOrder { count, segments: Vec::new(), left: Vec::new(), nodes: 0 }
    }

    fn width(&self) -> usize {
        2 * self.count
    }

    /// Adds nodes, which have no moves yet.
    pub fn add(&mut self, nodes: usize) {
        if self.count > 0 {
            self.nodes += nodes;
            let segments = self.nodes.div_ceil(SEGMENT);
            self.segments.resize_with(segments, Vec::new);
            self.left.resize_with(segments, || (0..SEGMENT).map(|_| AtomicU8::new(0)).collect());
        }
    }

    fn of(&self, id: NodeId) -> &[u8] {
        let width = self.width();
        &self.segments[id as usize / SEGMENT][id as usize % SEGMENT * width..][..width]
    }

    fn left(&self, id: NodeId) -> &AtomicU8 {
        &self.left[id as usize / SEGMENT][id as usize % SEGMENT]
    }

    /// Gives moves to `count` nodes from `first` on. Without policy, all moves are equally probable, in the puzzle's order.
    pub fn set(&mut self, threads: usize, first: NodeId, count: usize, policy: Option<&Array2<f32>>) {
        let (moves, width) = (self.count, self.width());
        let policy = policy.map(|policy| policy.as_standard_layout());
        let policy = policy.as_ref().map(|policy| policy.as_slice().expect("in standard layout"));
        let (first, mut row) = (first as usize, 0);
        let segments = self.segments[first / SEGMENT..].iter_mut().zip(&self.left[first / SEGMENT..]);
        let parts = segments.enumerate().map_while(|(i, (segment, left))| {
            let from = if i == 0 { first % SEGMENT } else { 0 };
            let nodes = from..SEGMENT.min(from + count - row);
            row += nodes.len();
            (!nodes.is_empty()).then(|| (row - nodes.len(), nodes, segment, left))
        });
        on_each(threads, parts.collect(), |(row, nodes, segment, left): (_, Range<usize>, &mut Vec<u8>, &Vec<_>)| {
            if segment.is_empty() {
                *segment = vec![0; SEGMENT * width];
            }
            let entries = segment[nodes.start * width..nodes.end * width].chunks_exact_mut(width);
            for (i, (entry, left)) in entries.zip(&left[nodes]).enumerate() {
                sort(entry, policy.map(|policy| &policy[(row + i) * moves..][..moves]));
                left.store(moves as u8, Ordering::Relaxed);
            }
        });
    }

    /// The most probable move not taken yet, with its surprisal.
    pub fn next(&self, id: NodeId) -> Option<(Move, f32)> {
        self.at(id, self.taken(id))
    }

    /// The number of moves taken; all of them, while the node has none.
    pub fn taken(&self, id: NodeId) -> u8 {
        self.count as u8 - self.left(id).load(Ordering::Relaxed)
    }

    /// The move at a position of a node's order, with its surprisal.
    pub fn at(&self, id: NodeId, position: u8) -> Option<(Move, f32)> {
        let position = usize::from(position);
        (position < self.count).then(|| {
            let entry = self.of(id);
            (entry[position], f32::from(entry[self.count + position]) / STEPS)
        })
    }

    /// Prefetches the moves of a node.
    pub fn prefetch(&self, id: NodeId) {
        if let Some(first) = self.segments[id as usize / SEGMENT].get(id as usize % SEGMENT * self.width()) {
            memory::prefetch(first);
        }
        memory::prefetch(self.left(id));
    }

    /// Takes the next move of a node, and returns how many were taken by then. No other thread may take one at the same time.
    pub fn advance(&self, id: NodeId) -> u8 {
        let left = self.left(id).load(Ordering::Relaxed) - 1;
        self.left(id).store(left, Ordering::Relaxed);
        self.count as u8 - left
    }

    /// Makes all moves of a node available again.
    pub fn restart(&mut self, id: NodeId) {
        if self.count > 0 {
            self.left(id).store(self.count as u8, Ordering::Relaxed);
        }
    }

    /// Moves the entries of all nodes to their new indices, as [`Arena::retain`](super::arena::Arena::retain) gives them.
    pub fn retain(&mut self, indices: &[NodeId]) {
        if self.count == 0 {
            return;
        }
        let (width, mut end) = (self.width(), 0);
        for (id, &index) in indices.iter().enumerate().filter(|(_, index)| **index != NO_PARENT) {
            let index = index as usize;
            if !self.segments[id / SEGMENT].is_empty() {
                let moves = self.of(id as NodeId).to_vec();
                let segment = &mut self.segments[index / SEGMENT];
                if segment.is_empty() {
                    *segment = vec![0; SEGMENT * width];
                }
                segment[index % SEGMENT * width..][..width].copy_from_slice(&moves);
            }
            let left = self.left(id as NodeId).load(Ordering::Relaxed);
            self.left[index / SEGMENT][index % SEGMENT].store(left, Ordering::Relaxed);
            end = index + 1;
        }
        self.nodes = end;
        self.segments.truncate(end.div_ceil(SEGMENT));
        self.left.truncate(end.div_ceil(SEGMENT));
        if let Some(last) = self.left.last().filter(|_| !end.is_multiple_of(SEGMENT)) {
            last[end % SEGMENT..].iter().for_each(|left| left.store(0, Ordering::Relaxed));
        }
    }

    /// Memory in use, in bytes.
    pub fn bytes(&self) -> u64 {
        (self.segments.len() * SEGMENT * (self.width() + 1)) as u64
    }
}

/// Writes the moves of a node in order, then the surprisal of each.
fn sort(entry: &mut [u8], policy: Option<&[f32]>) {
    let count = entry.len() / 2;
    let (order, surprisals) = entry.split_at_mut(count);
    let table = &**SURPRISALS;
    // Surprisal and move make one number; no two are equal.
    let mut keys = [0u16; 1 << 8];
    let keys = &mut keys[..count];
    for (action, key) in keys.iter_mut().enumerate() {
        let surprisal = surprisal_in(table, policy.map_or(1.0 / count as f32, |policy| policy[action]));
        *key = u16::from(surprisal) << 8 | action as u16;
    }
    keys.sort_unstable();
    for ((&key, action), surprisal) in keys.iter().zip(order).zip(surprisals) {
        (*action, *surprisal) = (key as u8, (key >> 8) as u8);
    }
}

/// The upper half of the bits of 2⁻¹⁴: this and all below have the greatest surprisal.
const LEAST: u32 = 0x3880;

/// The upper half of the bits of 1.
const CERTAIN: u32 = 0x3f80;

/// Surprisals by the upper half of a probability's bits: each is that of the middle of its probabilities, and at most a step
/// off.
static SURPRISALS: LazyLock<Vec<u8>> =
    LazyLock::new(|| (LEAST..=CERTAIN).map(|upper| surprisal(f32::from_bits(upper << 16 | 1 << 15))).collect());

/// The surprisal of a probability in a table.
fn surprisal_in(table: &[u8], probability: f32) -> u8 {
    table[((probability.to_bits() >> 16).clamp(LEAST, CERTAIN) - LEAST) as usize]
}

/// −ln of a probability, in steps.
fn surprisal(probability: f32) -> u8 {
    (-STEPS * probability.ln()).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surprisals_are_those_of_the_logarithm() {
        let probabilities = (0..2_000_000u32).map(|i| f32::from_bits(i.wrapping_mul(537) % 0x3f80_0001));
        for probability in probabilities.chain([0.0, 1.0, f32::MIN_POSITIVE, 1e-20, 1.0 - f32::EPSILON / 2.0]) {
            assert!(surprisal_in(&SURPRISALS, probability).abs_diff(surprisal(probability)) <= 1, "{probability}");
        }
        assert_eq!([1.01, 1.0, 0.0].map(|probability| surprisal_in(&SURPRISALS, probability)), [0, 0, 255]);
    }

    #[test]
    fn nodes_get_their_moves_on_any_number_of_threads() {
        let (first, count) = (SEGMENT + 100, 3 * SEGMENT);
        let policy = Array2::from_shape_fn((count, 4), |(i, action)| [0.4, 0.3, 0.2, 0.1][(i / 7 + action) % 4]);
        for threads in [1, 2, 3, 16] {
            let mut order = MoveOrder::new(4);
            order.add(first + count + SEGMENT);
            order.set(threads, first as NodeId, count, Some(&policy));
            let first_move = |id: usize| order.next(id as NodeId).map(|(action, _)| usize::from(action));
            assert!((0..first).all(|id| first_move(id).is_none()));
            assert!((0..count).all(|i| first_move(first + i) == Some((4 - i / 7 % 4) % 4)), "{threads} threads");
            assert!((first + count..first + count + SEGMENT).all(|id| first_move(id).is_none()));
            order.prefetch((first + count + SEGMENT - 1) as NodeId);
            // Nodes with moves come to the first segment, which had no memory; one without moves stays.
            let kept: Vec<usize> = (0..first + count).filter(|&id| id == 7 || id >= first && id % 3 == 0).collect();
            let expected: Vec<_> = kept.iter().map(|&id| order.next(id as NodeId)).collect();
            assert!(expected[0].is_none() && expected[1..].iter().all(Option::is_some));
            let mut indices = vec![NO_PARENT; first + count];
            (0..).zip(&kept).for_each(|(index, &id)| indices[id] = index);
            order.retain(&indices);
            assert!((0..).zip(&expected).all(|(id, next)| order.next(id) == *next));
        }
    }

    #[test]
    fn moves_come_in_the_order_of_their_probabilities() {
        let mut order = MoveOrder::new(4);
        order.add(3);
        assert_eq!((order.taken(1), order.next(1)), (4, None));
        let policy =
            Array2::from_shape_vec((2, 4), vec![0.1, 0.6, 0.2, 0.1, 0.25, 0.25, 0.25, 0.25]).expect("8 numbers");
        order.set(2, 1, 2, Some(&policy));
        let all = |id: NodeId| (0..4).filter_map(|place| order.at(id, place).map(|next| next.0)).collect::<Vec<_>>();
        assert_eq!((all(1), all(2)), (vec![1, 2, 0, 3], vec![0, 1, 2, 3]));
        assert!((order.at(1, 0).expect("a move").1 + 0.6f32.ln()).abs() < 0.5 / STEPS);
        assert_eq!((order.advance(1), order.next(1).map(|next| next.0)), (1, Some(2)));
        order.retain(&[NO_PARENT, 0, 1]);
        assert_eq!((order.taken(0), order.taken(1), order.taken(2)), (1, 0, 4));
        order.restart(0);
        assert_eq!(order.next(0).map(|next| next.0), Some(1));
    }
}
