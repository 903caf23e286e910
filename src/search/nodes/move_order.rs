//! The moves of every node in the order of their probabilities, for partial expansion.

use super::arena::NodeId;
use crate::memory;
use crate::puzzle::Move;
use crate::workers::on_each;
use ndarray::Array2;
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// The moves of every node, most probable first, and how many of them were taken.
pub(in crate::search) struct MoveOrder {
    count: usize,
    /// For each node: the moves in their order, and the surprise of each: −ln of its probability, in steps of 1/[`STEPS`]. Of
    /// nodes that have no moves yet, a segment may have no memory: it gets it from the thread that sorts their moves.
    segments: Vec<Vec<u8>>,
    /// For each node, how many moves are left: none where it has no moves yet.
    left: Vec<Vec<AtomicU8>>,
    nodes: usize,
}

/// A byte then tells probabilities from 1 to 1/12,000 apart, to 4 %.
const STEPS: f32 = 27.0;

/// Nodes whose moves are in one place, and are sorted by one thread.
const SEGMENT: usize = 1 << 10;

impl MoveOrder {
    /// Of so many moves a node; of none, it keeps nothing.
    pub(in crate::search) fn new(count: usize) -> Self {
        MoveOrder { count, segments: Vec::new(), left: Vec::new(), nodes: 0 }
    }

    fn width(&self) -> usize {
        2 * self.count
    }

    /// Makes room for so many more nodes; they have no moves yet.
    pub(in crate::search) fn add(&mut self, nodes: usize) {
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

    /// Gives `count` nodes their moves, those from `first` on; without policy, all are as probable, in the puzzle's order.
    pub(in crate::search) fn set(&mut self, threads: usize, first: NodeId, count: usize, policy: Option<&Array2<f32>>) {
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
            let rooms = segment[nodes.start * width..nodes.end * width].chunks_exact_mut(width);
            for (i, (room, left)) in rooms.zip(&left[nodes]).enumerate() {
                sort(room, policy.map(|policy| &policy[(row + i) * moves..][..moves]));
                left.store(moves as u8, Ordering::Relaxed);
            }
        });
    }

    /// The most probable move that was not taken, with its surprise.
    pub(in crate::search) fn next(&self, id: NodeId) -> Option<(Move, f32)> {
        self.at(id, self.taken(id))
    }

    /// How many moves of a node were taken; all, where it has none yet.
    pub(in crate::search) fn taken(&self, id: NodeId) -> u8 {
        self.count as u8 - self.left(id).load(Ordering::Relaxed)
    }

    /// The move at a place of a node's order, with its surprise.
    pub(in crate::search) fn at(&self, id: NodeId, place: u8) -> Option<(Move, f32)> {
        let place = usize::from(place);
        (place < self.count).then(|| {
            let room = self.of(id);
            (room[place], f32::from(room[self.count + place]) / STEPS)
        })
    }

    /// Has the moves of a node loaded.
    pub(in crate::search) fn prefetch(&self, id: NodeId) {
        if let Some(first) = self.segments[id as usize / SEGMENT].get(id as usize % SEGMENT * self.width()) {
            memory::prefetch(first);
        }
        memory::prefetch(self.left(id));
    }

    /// Takes the next move of a node, of which no other thread takes any now; gives how many were taken then.
    pub(in crate::search) fn advance(&self, id: NodeId) -> u8 {
        let left = self.left(id).load(Ordering::Relaxed) - 1;
        self.left(id).store(left, Ordering::Relaxed);
        self.count as u8 - left
    }

    /// None of them was taken.
    pub(in crate::search) fn restart(&mut self, id: NodeId) {
        if self.count > 0 {
            self.left(id).store(self.count as u8, Ordering::Relaxed);
        }
    }

    /// Drops the moves of all nodes that are not kept; the others are numbered anew, in order.
    pub(in crate::search) fn retain(&mut self, kept: &[bool]) {
        if self.count == 0 {
            return;
        }
        let width = self.width();
        let mut next = 0;
        for (id, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
            if !self.segments[id / SEGMENT].is_empty() {
                let moves = self.of(id as NodeId).to_vec();
                let segment = &mut self.segments[next / SEGMENT];
                if segment.is_empty() {
                    *segment = vec![0; SEGMENT * width];
                }
                segment[next % SEGMENT * width..][..width].copy_from_slice(&moves);
            }
            let left = self.left(id as NodeId).load(Ordering::Relaxed);
            self.left[next / SEGMENT][next % SEGMENT].store(left, Ordering::Relaxed);
            next += 1;
        }
        self.nodes = next;
        self.segments.truncate(next.div_ceil(SEGMENT));
        self.left.truncate(next.div_ceil(SEGMENT));
        if let Some(last) = self.left.last().filter(|_| !next.is_multiple_of(SEGMENT)) {
            last[next % SEGMENT..].iter().for_each(|left| left.store(0, Ordering::Relaxed));
        }
    }

    /// Bytes taken.
    pub(in crate::search) fn bytes(&self) -> u64 {
        (self.segments.len() * SEGMENT * (self.width() + 1)) as u64
    }
}

/// Writes the moves of a node in their order, and the surprise of each.
fn sort(room: &mut [u8], policy: Option<&[f32]>) {
    let count = room.len() / 2;
    let (order, surprises) = room.split_at_mut(count);
    let table = &*SURPRISES;
    // A move has a byte: with its surprise above it, it is a number, and no two are the same.
    let mut keys = [0u16; 1 << 8];
    let keys = &mut keys[..count];
    for (action, key) in keys.iter_mut().enumerate() {
        let surprise = table.of(policy.map_or(1.0 / count as f32, |policy| policy[action]));
        *key = u16::from(surprise) << 8 | action as u16;
    }
    keys.sort_unstable();
    for ((&key, action), surprise) in keys.iter().zip(order).zip(surprises) {
        (*action, *surprise) = (key as u8, (key >> 8) as u8);
    }
}

/// The surprises of probabilities, by the upper half of their bits: where that is the same, at most two surprises are.
struct Surprises(Vec<Step>);

#[derive(Clone, Copy)]
struct Step {
    /// The surprise of the least of these probabilities.
    surprise: u8,
    /// The lower half of the bits of the last probability that has it; it is one less above.
    last: u16,
}

/// The upper half of the bits of a probability that has the greatest surprise, and so have all below.
const LEAST: u32 = 0x3880; // 2⁻¹⁴

/// That of 1.
const CERTAIN: u32 = 0x3f80;

static SURPRISES: LazyLock<Surprises> = LazyLock::new(|| {
    let step = |upper: u32| {
        let of = |lower: u32| surprise(f32::from_bits(upper << 16 | lower));
        let first = of(0);
        let (mut last, mut above) = (0u32, 1 << 16);
        while above - last > 1 {
            let middle = last.midpoint(above);
            *(if of(middle) == first { &mut last } else { &mut above }) = middle;
        }
        Step { surprise: first, last: last as u16 }
    };
    Surprises((LEAST..=CERTAIN).map(step).collect())
});

impl Surprises {
    fn of(&self, probability: f32) -> u8 {
        let bits = probability.to_bits();
        let step = self.0[((bits >> 16).clamp(LEAST, CERTAIN) - LEAST) as usize];
        step.surprise - u8::from(bits as u16 > step.last)
    }
}

/// −ln of a probability, in steps.
fn surprise(probability: f32) -> u8 {
    (-STEPS * probability.ln()).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surprises_are_those_of_the_logarithm() {
        let probabilities = (0..2_000_000u32).map(|i| f32::from_bits(i.wrapping_mul(537) % 0x3f80_0001));
        for probability in probabilities.chain([0.0, 1.0, f32::MIN_POSITIVE, 1e-20, 1.0 - f32::EPSILON / 2.0]) {
            let of_table = SURPRISES.of(probability);
            assert_eq!(of_table, surprise(probability), "{probability}");
        }
        assert_eq!((SURPRISES.of(1.01), SURPRISES.of(0.0)), (0, 255));
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
            let kept: Vec<bool> = (0..first + count).map(|id| id == 7 || id >= first && id % 3 == 0).collect();
            let left: Vec<NodeId> = (0..).zip(&kept).filter(|(_, kept)| **kept).map(|(id, _)| id).collect();
            let expected: Vec<_> = left.into_iter().map(|id| order.next(id)).collect();
            assert!(expected[0].is_none() && expected[1..].iter().all(Option::is_some));
            order.retain(&kept);
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
        order.retain(&[false, true, true]);
        assert_eq!((order.taken(0), order.taken(1), order.taken(2)), (1, 0, 4));
        order.restart(0);
        assert_eq!(order.next(0).map(|next| next.0), Some(1));
    }
}
