//! Scramble walks, turned into training batches without end.
//!
//! Sample `i` of batch `k` is a walk of its own from a goal, of `(k · batch size + i) mod max-depth + 1` moves, none
//! undoing the one before: every depth comes equally often. Batch `k` is a function of the seed and `k` alone, so any
//! number of threads makes the same stream, and a resumed run goes on in it exactly.

use crate::puzzle::{Move, Reversible};
use ndarray::{Array1, Array2};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// The generator of the walks; runs that were sampled by another one cannot be resumed.
pub const GENERATOR: &str = "xoshiro256++/1";

/// How many batches a thread makes ahead of the training.
const AHEAD: usize = 2;

/// Samples: states with their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// One encoded state a row, `samples × cells`.
    pub states: Array2<u8>,
    /// The length of the walk that led to each state, in moves: an upper bound of its distance.
    pub labels: Array1<f32>,
    /// The move that undoes the walk's last one.
    pub back_moves: Array1<u8>,
}

/// Where batches come from.
#[derive(Debug)]
pub struct Sampler<P: Reversible> {
    puzzle: Arc<P>,
    goals: Vec<P::State>,
    seed: u64,
    max_depth: u32,
    batch_size: usize,
}

impl<P: Reversible> Sampler<P> {
    /// Walks of 1 to `max_depth` moves, `batch_size` of them a batch.
    ///
    /// # Panics
    /// If `max_depth` or `batch_size` is 0, or the puzzle has no goal.
    pub fn new(puzzle: Arc<P>, seed: u64, max_depth: u32, batch_size: usize) -> Self {
        let goals = puzzle.goals();
        assert!(max_depth > 0 && batch_size > 0 && !goals.is_empty());
        Sampler { puzzle, goals, seed, max_depth, batch_size }
    }

    /// Batch number `k`.
    pub fn batch(&self, k: u64) -> Batch {
        let cells = self.puzzle.encoding().cells;
        let mut states = vec![0; self.batch_size * cells];
        let mut labels = Vec::with_capacity(self.batch_size);
        let mut back_moves = Vec::with_capacity(self.batch_size);
        let mut generator = generator(self.seed, k);
        let first = k.wrapping_mul(self.batch_size as u64) % u64::from(self.max_depth);
        let mut depth = first as u32;
        for row in states.chunks_exact_mut(cells) {
            depth = depth % self.max_depth + 1;
            let goal = self.goals[below(&mut generator, self.goals.len())];
            let (state, last) = walk(&*self.puzzle, goal, depth, &mut generator);
            self.puzzle.encode(&state, row);
            labels.push(depth as f32);
            back_moves.push(last.map_or(0, |action| self.puzzle.inverse(action)));
        }
        Batch {
            states: Array2::from_shape_vec((self.batch_size, cells), states).expect("a row a sample"),
            labels: Array1::from_vec(labels),
            back_moves: Array1::from_vec(back_moves),
        }
    }

    /// As many states as a batch has, all of one depth, from walks that no batch holds: one encoded state a row.
    pub fn at_depth(&self, depth: u32) -> Array2<u8> {
        let mut states = Array2::zeros((self.batch_size, self.puzzle.encoding().cells));
        let mut generator = generator(self.seed, (1 << 63) | u64::from(depth));
        for mut row in states.outer_iter_mut() {
            let goal = self.goals[below(&mut generator, self.goals.len())];
            let (state, _) = walk(&*self.puzzle, goal, depth, &mut generator);
            self.puzzle.encode(&state, row.as_slice_mut().expect("rows are contiguous"));
        }
        states
    }

    /// Batches `first`, `first + 1`, …, made ahead by `threads` threads, which end when the stream is dropped.
    pub fn stream(self, first: u64, threads: usize) -> Stream {
        let (threads, sampler) = (threads.max(1), Arc::new(self));
        let receivers = (0..threads)
            .map(|thread| {
                let (sender, receiver) = sync_channel(AHEAD);
                let sampler = Arc::clone(&sampler);
                thread::spawn(move || {
                    let mut k = first + thread as u64;
                    while sender.send(sampler.batch(k)).is_ok() {
                        k += threads as u64;
                    }
                });
                receiver
            })
            .collect();
        Stream { receivers, next: 0 }
    }
}

/// The endless stream of batches, in order.
#[derive(Debug)]
pub struct Stream {
    receivers: Vec<Receiver<Batch>>,
    next: usize,
}

impl Iterator for Stream {
    type Item = Batch;

    /// The next batch; `None` only if a sampling thread has panicked.
    fn next(&mut self) -> Option<Batch> {
        let batch = self.receivers[self.next].recv().ok()?;
        self.next = (self.next + 1) % self.receivers.len();
        Some(batch)
    }
}

/// The generator of a numbered stream of a seed.
pub fn generator(seed: u64, stream: u64) -> Xoshiro256PlusPlus {
    let mut mixer = rand_xoshiro::SplitMix64::seed_from_u64(seed);
    Xoshiro256PlusPlus::seed_from_u64(mixer.next_u64() ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Walks `depth` legal moves from a state, none undoing the one before unless there is no other; gives the end and
/// the last move. Stops short where there is no legal move at all.
pub fn walk<P: Reversible>(
    puzzle: &P,
    start: P::State,
    depth: u32,
    generator: &mut impl RngCore,
) -> (P::State, Option<Move>) {
    let mut walker = Walker::new(puzzle, start);
    for _ in 0..depth {
        if walker.step(generator).is_none() {
            break;
        }
    }
    (walker.state, walker.last)
}

/// A random walk, move by move.
#[derive(Debug)]
pub struct Walker<'a, P: Reversible> {
    puzzle: &'a P,
    /// Where the walk is.
    pub state: P::State,
    last: Option<Move>,
}

impl<'a, P: Reversible> Walker<'a, P> {
    /// A walk that begins at a state.
    pub fn new(puzzle: &'a P, state: P::State) -> Self {
        Walker { puzzle, state, last: None }
    }

    /// Makes a random legal move, not the one that undoes the last unless there is no other.
    #[inline]
    pub fn step(&mut self, generator: &mut impl RngCore) -> Option<Move> {
        let moves = self.puzzle.move_count();
        // A few random picks nearly always meet a legal move; only then is it worth listing them all.
        for _ in 0..32 {
            let action = below(generator, moves) as Move;
            if self.last.is_some_and(|last| action == self.puzzle.inverse(last)) {
                continue;
            }
            if let Some(next) = self.puzzle.apply(&self.state, action) {
                return Some(self.go(action, next));
            }
        }
        let legal: Vec<(Move, P::State)> =
            (0..moves as Move).filter_map(|action| Some((action, self.puzzle.apply(&self.state, action)?))).collect();
        let undo = self.last.map(|last| self.puzzle.inverse(last));
        let others: Vec<_> = legal.iter().filter(|(action, _)| Some(*action) != undo).collect();
        let pick = match (others.len(), legal.len()) {
            (0, 0) => return None,
            (0, count) => legal[below(generator, count)],
            (count, _) => *others[below(generator, count)],
        };
        Some(self.go(pick.0, pick.1))
    }

    #[inline]
    fn go(&mut self, action: Move, next: P::State) -> Move {
        self.state = next;
        self.last = Some(action);
        action
    }
}

/// A number below `count`: the high half of a product (Lemire 2019, without the rejection: the bias is below
/// `count` in 2³²).
#[inline]
fn below(generator: &mut impl RngCore, count: usize) -> usize {
    ((u64::from(generator.next_u32()) * count as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Puzzle as _;
    use crate::puzzle::cube3::Cube3;

    fn sampler(batch_size: usize) -> Sampler<Cube3> {
        Sampler::new(Arc::new(Cube3), 7, 26, batch_size)
    }

    #[test]
    fn batches_depend_on_seed_and_number_only() {
        let alone: Vec<Batch> = (0..6).map(|k| sampler(100).batch(k)).collect();
        for threads in [1, 3] {
            let streamed: Vec<Batch> = sampler(100).stream(0, threads).take(6).collect();
            assert_eq!(streamed, alone);
        }
        assert_eq!(sampler(100).stream(4, 2).next(), Some(alone[4].clone()));
        assert_ne!(alone[0], alone[1]);
        assert_ne!(Sampler::new(Arc::new(Cube3), 8, 26, 100).batch(0), alone[0]);
    }

    #[test]
    fn every_depth_comes_equally_often() {
        let mut counts = [0; 27];
        for k in 0..26 {
            for label in sampler(100).batch(k).labels {
                counts[label as usize] += 1;
            }
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|&count| count == 100), "{counts:?}");
    }

    #[test]
    fn back_moves_lead_back_and_no_move_undoes_the_last() {
        let cube = Cube3;
        let batch = sampler(520).batch(3);
        let mut solved = vec![0; 54];
        cube.encode(&cube.goals()[0], &mut solved);
        for i in 0..520 {
            if batch.labels[i] == 1.0 {
                // One move from solved: some state one move away, whose back move solves it.
                let text: String =
                    batch.states.row(i).iter().map(|&c| "URFDLB".as_bytes()[c as usize] as char).collect();
                let state = cube.parse(&text).expect("a state of a walk");
                assert!(cube.is_goal(&cube.turn(&state, batch.back_moves[i])));
            }
        }
        let mut walker = Walker::new(&cube, cube.goals()[0]);
        let mut generator = generator(1, 1);
        let mut last = None;
        for _ in 0..10_000 {
            let action = walker.step(&mut generator).expect("a cube always has a move");
            assert_ne!(last, Some(cube.inverse(action)));
            last = Some(action);
        }
    }
}
