//! The moves of every node in the order of their probabilities, for partial expansion.

use super::arena::NodeId;
use crate::memory;
use crate::puzzle::Move;
use crate::workers::on_each;
use ndarray::{Array2, ArrayView1};

/// The moves of every node, most probable first, and how many of them were taken.
pub(in crate::search) struct MoveOrder {
    count: usize,
    /// For each node: how many moves are left, the moves in their order, and the surprise of each: −ln of its probability, in
    /// steps of 1/[`STEPS`]. A node that has no moves yet has zeros, which nobody writes: the memory is first touched by the
    /// thread that sorts the moves.
    segments: Vec<Vec<u8>>,
    nodes: usize,
}

/// A byte then tells probabilities from 1 to 1/12,000 apart, to 4 %.
const STEPS: f32 = 27.0;

const SEGMENT: usize = 1 << 14;

/// Nodes whose moves a thread sorts at least.
const TOGETHER: usize = 1 << 11;

impl MoveOrder {
    /// Of so many moves a node; of none, it keeps nothing.
    pub(in crate::search) fn new(count: usize) -> Self {
        MoveOrder { count, segments: Vec::new(), nodes: 0 }
    }

    fn width(&self) -> usize {
        1 + 2 * self.count
    }

    /// Makes room for so many more nodes; they have no moves yet.
    pub(in crate::search) fn add(&mut self, nodes: usize) {
        if self.count > 0 {
            self.nodes += nodes;
            let bytes = SEGMENT * self.width();
            self.segments.resize_with(self.nodes.div_ceil(SEGMENT), || vec![0; bytes]);
        }
    }

    fn of(&self, id: NodeId) -> &[u8] {
        let width = self.width();
        &self.segments[id as usize / SEGMENT][id as usize % SEGMENT * width..][..width]
    }

    fn of_mut(&mut self, id: NodeId) -> &mut [u8] {
        let width = self.width();
        &mut self.segments[id as usize / SEGMENT][id as usize % SEGMENT * width..][..width]
    }

    /// Gives `count` nodes their moves, those from `first` on; without policy, all are as probable, in the puzzle's order.
    pub(in crate::search) fn set(&mut self, threads: usize, first: NodeId, count: usize, policy: Option<&Array2<f32>>) {
        let (moves, width) = (self.count, self.width());
        let mut shares = Vec::new();
        let mut done = 0;
        while done < count {
            let from = (first as usize + done) % SEGMENT;
            let end = SEGMENT.min(from + count - done);
            shares.push((from..end, done));
            done += end - from;
        }
        let of_segments = self.segments[first as usize / SEGMENT..].iter_mut().zip(shares);
        let rooms = of_segments.flat_map(|(segment, (nodes, row))| {
            let rooms = segment[nodes.start * width..nodes.end * width].chunks_mut(TOGETHER * width);
            rooms.enumerate().map(move |(i, rooms)| (row + i * TOGETHER, rooms))
        });
        on_each(threads, rooms.collect(), |(row, rooms): (usize, &mut [u8])| {
            for (i, room) in rooms.chunks_exact_mut(width).enumerate() {
                sort(moves, room, policy.map(|policy| policy.row(row + i)));
            }
        });
    }

    /// The most probable move that was not taken, with its surprise.
    pub(in crate::search) fn next(&self, id: NodeId) -> Option<(Move, f32)> {
        self.at(id, self.taken(id))
    }

    /// How many moves of a node were taken; all, where it has none yet.
    pub(in crate::search) fn taken(&self, id: NodeId) -> u8 {
        self.count as u8 - self.of(id)[0]
    }

    /// The move at a place of a node's order, with its surprise.
    pub(in crate::search) fn at(&self, id: NodeId, place: u8) -> Option<(Move, f32)> {
        let (room, place) = (self.of(id), usize::from(place));
        (place < self.count).then(|| (room[1 + place], f32::from(room[1 + self.count + place]) / STEPS))
    }

    /// Has the moves of a node loaded.
    pub(in crate::search) fn prefetch(&self, id: NodeId) {
        memory::prefetch(&self.of(id)[0]);
    }

    /// Takes it; gives how many were taken then.
    pub(in crate::search) fn advance(&mut self, id: NodeId) -> u8 {
        let count = self.count as u8;
        let left = &mut self.of_mut(id)[0];
        *left -= 1;
        count - *left
    }

    /// None of them was taken.
    pub(in crate::search) fn restart(&mut self, id: NodeId) {
        if self.count == 0 {
            return;
        }
        self.of_mut(id)[0] = self.count as u8;
    }

    /// Drops the moves of all nodes that are not kept; the others are numbered anew, in order.
    pub(in crate::search) fn retain(&mut self, kept: &[bool]) {
        if self.count == 0 {
            return;
        }
        let mut next = 0;
        for (id, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
            let moves = self.of(id as NodeId).to_vec();
            self.of_mut(next).copy_from_slice(&moves);
            next += 1;
        }
        self.nodes = next as usize;
        self.segments.truncate(self.nodes.div_ceil(SEGMENT));
        let (end, width) = (self.nodes % SEGMENT, self.width());
        if let Some(last) = self.segments.last_mut().filter(|_| end > 0) {
            last[end * width..].fill(0);
        }
    }

    /// Bytes taken.
    pub(in crate::search) fn bytes(&self) -> u64 {
        (self.segments.len() * SEGMENT * self.width()) as u64
    }
}

/// Writes the moves of a node in their order.
fn sort(count: usize, room: &mut [u8], policy: Option<ArrayView1<'_, f32>>) {
    room[0] = count as u8;
    let (order, surprises) = room[1..].split_at_mut(count);
    let quantized = |action: usize| {
        let probability = policy.map_or(1.0 / count as f32, |policy| policy[action]);
        (-STEPS * probability.ln()).round() as u8
    };
    for action in 0..count {
        // Insertion sort: a dozen moves, and most are improbable.
        let surprise = quantized(action);
        let mut at = action;
        while at > 0 && surprises[at - 1] > surprise {
            (order[at], surprises[at]) = (order[at - 1], surprises[at - 1]);
            at -= 1;
        }
        (order[at], surprises[at]) = (action as u8, surprise);
    }
}
