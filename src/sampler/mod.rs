//! An endless stream of training batches.
//!
//! [`Samples`] defines what a sample is: a scramble walk ([`Walks`]), a state of a known solution ([`SolutionStates`]), or a
//! puzzle's own. Sample `i` of batch `k` has the depth `(k · batch size + i) mod max-depth + 1`: every depth comes equally
//! often; states of given solutions ([`SolutionStates::new`]) come as often as they occur. Batch `k` is a function of the seed
//! and `k` alone, so any number of threads makes the same stream, and a resumed run continues it exactly.
//! [`DeviceWalks`] makes batches on a device by a rule of its own.
//!
//! | file | content |
//! | --- | --- |
//! | `walks`, `move_pruning` | walks back from the goals, and which moves they leave out |
//! | `sparse_states` | states that differ from a goal in few cells, where all moves commute |
//! | `device` | walks on a device |
//! | `solutions` | states on known solutions |
//! | `exact` | all states of a small puzzle, with their costs |
//! | `sokoban` | random rooms played backward |

use crate::random::{Generator, generator};
use ndarray::{Array1, Array2, ArrayViewMut1};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

mod device;
mod exact;
mod move_pruning;
mod sokoban;
mod solutions;
mod sparse_states;
mod walks;

pub use device::{DeviceBatch, DeviceWalks, Stream, WalkRules};
pub use exact::known_costs;
pub use sokoban::{random_level, sokoban};
pub use solutions::{SolutionStates, steps};
pub(crate) use walks::MIN_APART;
pub use walks::{Walker, Walks};

/// Generator of the samples; a run with another one cannot be resumed.
pub const GENERATOR: &str = "xoshiro256++/3";

/// Batches that each thread makes in advance.
const BATCHES_PER_THREAD: usize = 2;

/// States with their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Encoded states, `samples × cells`.
    pub states: Array2<u8>,
    /// Cost of the path that led to each state, an upper bound of its distance, or the distance itself.
    pub labels: Array1<f32>,
    /// 1 for each move that leads back along that path, 0 for the others, `samples × moves`. Several moves do if the
    /// last moves commute, or if several moves are known to be best.
    pub policy_targets: Array2<u8>,
    /// The states one move on, if a network labels the batch.
    pub children: Option<Children>,
}

/// The states one move on from each sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Children {
    /// Cost of each move, plus the distance from there if it is known: `samples × moves`, infinite for illegal moves.
    pub costs: Array2<f32>,
    /// Encoded states of unknown distance, one per row.
    pub unknown: Array2<u8>,
    /// For each of these, its position in `costs`, row by row.
    pub places: Vec<u32>,
    /// Lower bound of the unknown distances.
    pub least_unknown: f32,
}

impl Batch {
    /// Each sample to fill in: row, label and policy targets.
    pub fn samples_mut(&mut self) -> impl Iterator<Item = (ArrayViewMut1<'_, u8>, &mut f32, ArrayViewMut1<'_, u8>)> {
        let labels = self.labels.iter_mut().zip(self.policy_targets.outer_iter_mut());
        self.states.outer_iter_mut().zip(labels).map(|(row, (label, back))| (row, label, back))
    }
}

/// A way to make samples of a puzzle.
pub trait Samples: Send + Sync {
    /// Fills a batch with one sample per depth, or the nearest depth that the puzzle has.
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch);

    /// Fills a batch for training. Override to train on a different mix of states.
    fn fill_to_learn(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        self.fill(depths, generator, batch);
    }

    /// The rules by which a device can make the same kind of samples; `None` if it cannot.
    fn rules(&self) -> Option<WalkRules> {
        None
    }
}

/// A way to make samples, and their greatest depth by default.
#[derive(Clone)]
pub struct Source {
    /// The samples.
    pub samples: Arc<dyn Samples>,
    /// Greatest useful depth, in moves.
    pub default_depth: u32,
}

/// Makes batches.
#[derive(Clone)]
pub struct Sampler {
    samples: Arc<dyn Samples>,
    cells: usize,
    moves: usize,
    seed: u64,
    max_depth: u32,
    batch_size: usize,
}

impl Sampler {
    /// Batches of `batch_size` samples of depth 1 to `max_depth`, for a puzzle with this number of cells and moves.
    ///
    /// # Panics
    /// If `max_depth` or `batch_size` is 0.
    pub fn new(
        samples: Arc<dyn Samples>,
        (cells, moves): (usize, usize),
        seed: u64,
        max_depth: u32,
        batch_size: usize,
    ) -> Self {
        assert!(max_depth > 0 && batch_size > 0);
        Sampler { samples, cells, moves, seed, max_depth, batch_size }
    }

    /// Batch number `k`.
    pub fn batch(&self, k: u64) -> Batch {
        let first = k.wrapping_mul(self.batch_size as u64);
        let depth = |i| ((first.wrapping_add(i)) % u64::from(self.max_depth)) as u32 + 1;
        let depths: Vec<u32> = (0..self.batch_size as u64).map(depth).collect();
        let mut batch = self.empty();
        self.samples.fill_to_learn(&depths, &mut generator(self.seed, k), &mut batch);
        batch
    }

    /// Encoded states of one depth, as many as a batch has, from samples that no batch holds.
    pub fn at_depth(&self, depth: u32) -> Array2<u8> {
        let mut batch = self.empty();
        let depths = vec![depth; self.batch_size];
        self.samples.fill(&depths, &mut generator(self.seed, (1 << 63) | u64::from(depth)), &mut batch);
        batch.states
    }

    fn empty(&self) -> Batch {
        Batch {
            states: Array2::zeros((self.batch_size, self.cells)),
            labels: Array1::zeros(self.batch_size),
            policy_targets: Array2::zeros((self.batch_size, self.moves)),
            children: None,
        }
    }

    /// Batches `first`, `first + stride`, …, made by threads that end when the stream is dropped.
    pub fn stream(self, first: u64, stride: u64, threads: usize) -> impl Iterator<Item = Batch> {
        let threads = threads.max(1);
        let start = |thread: usize| {
            let (sender, receiver) = sync_channel(BATCHES_PER_THREAD);
            let sampler = self.clone();
            let mut numbers = (first + thread as u64 * stride..).step_by(threads * stride as usize);
            thread::spawn(move || numbers.all(|k| sender.send(sampler.batch(k)).is_ok()));
            receiver
        };
        let receivers: Vec<Receiver<Batch>> = (0..threads).map(start).collect();
        // The stream ends only if a sampling thread has panicked.
        (0..threads).cycle().map_while(move |thread| receivers[thread].recv().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube3::{Cube3, Cube3HalfTurns};
    use crate::puzzle::{Encode as _, Notation as _, Rules as _};

    fn walks(seed: u64, batch_size: usize) -> Sampler {
        Sampler::new(Arc::new(Walks::new(Arc::new(Cube3))), (54, 12), seed, 26, batch_size)
    }

    fn sampler(batch_size: usize) -> Sampler {
        walks(7, batch_size)
    }

    #[test]
    fn batches_depend_on_seed_and_number_only() {
        let alone: Vec<Batch> = (0..6).map(|k| sampler(100).batch(k)).collect();
        for threads in [1, 3] {
            let streamed: Vec<Batch> = sampler(100).stream(0, 1, threads).take(6).collect();
            assert_eq!(streamed, alone);
        }
        assert_eq!(sampler(100).stream(4, 1, 2).next(), Some(alone[4].clone()));
        let every_third: Vec<Batch> = sampler(100).stream(2, 3, 2).take(2).collect();
        assert_eq!(every_third, [alone[2].clone(), alone[5].clone()]);
        assert_ne!(alone[0], alone[1]);
        assert_ne!(walks(8, 100).batch(0), alone[0]);
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
    fn samples_of_one_walk_are_as_those_of_many() {
        let puzzle = Arc::new(crate::puzzle::tiles::Puzzle15::default());
        let sampler = |samples| {
            let walks = Walks::new(Arc::clone(&puzzle)).with_walk_samples(samples);
            Sampler::new(Arc::new(walks), (16, 4), 3, 100, 250)
        };
        let mut counts = [0; 101];
        for batch in (0..8).map(|k| sampler(16).batch(k)) {
            for (label, (row, back)) in
                batch.labels.iter().zip(batch.states.rows().into_iter().zip(batch.policy_targets.rows()))
            {
                counts[*label as usize] += 1;
                let tiles: Vec<String> = row.iter().map(u8::to_string).collect();
                let board = puzzle.parse(&tiles.join(" ")).expect("a board that can be solved");
                // The parity of a board is that of its walk, and the way back is a legal move.
                assert_eq!(puzzle.length_parity(&board), Some(*label as u32 % 2));
                let back: Vec<usize> = (0..4).filter(|&action| back[action] == 1).collect();
                assert_eq!(back.len(), 1, "moves of the blank do not commute");
                assert!(puzzle.apply(&board, back[0] as u8).is_some());
            }
        }
        assert!(counts[0] == 0 && counts[1..].iter().all(|&count| count == 20), "{counts:?}");
        assert_eq!(sampler(16).batch(5), sampler(16).batch(5));
        // Samples of equal depth are of different walks.
        let states = sampler(16).at_depth(50);
        assert!(states.rows().into_iter().skip(1).all(|row| row != states.row(0)));
        assert_eq!(
            sampler(1).batch(2),
            Sampler::new(Arc::new(Walks::new(Arc::clone(&puzzle))), (16, 4), 3, 100, 250).batch(2)
        );
    }

    #[test]
    fn policy_targets_lead_back_and_no_move_undoes_the_last() {
        let cube = Cube3;
        let batch = sampler(520).batch(3);
        let mut solved = vec![0; 54];
        cube.encode(&cube.goals()[0], &mut solved);
        for i in 0..520 {
            if batch.labels[i] == 1.0 {
                // One move from solved: some state one move away, whose policy target solves it.
                let text: String =
                    batch.states.row(i).iter().map(|&c| "URFDLB".as_bytes()[c as usize] as char).collect();
                let state = cube.parse(&text).expect("a state of a walk");
                let back = (0..12).find(|&action| batch.policy_targets[[i, usize::from(action)]] == 1);
                assert!(cube.is_goal(&cube.turn(&state, back.expect("a way back"))));
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
        // Two turns of one face are one half turn at most.
        let mut walker = Walker::new(&Cube3HalfTurns, Cube3HalfTurns.goals()[0]);
        let mut faces: Vec<usize> = Vec::new();
        for _ in 0..1000 {
            let action = walker.step(&mut generator).expect("a cube always has a move");
            faces.extend(Cube3HalfTurns.move_name(action).chars().next().and_then(|face| "URFDLB".find(face)));
        }
        assert!(faces.windows(2).all(|pair| pair[0] != pair[1]), "{faces:?}");
    }
}
