//! Walks on a device: walkers are rows of one tensor, and one gather moves all of them.
//!
//! Batch k comes from the walkers of lane `k mod lanes`, in round `k div lanes`: one walker per sample. A walker gives a
//! sample each round, some moves further on, and starts again from a goal after [`Walks::with_walk_samples`] of them. The
//! walkers of a lane start in different rounds, so every batch has samples of all depths, and every depth comes equally often.
//! All numbers are integers, and the random ones are hashes of seed, round, walker and move: batch k depends on the seed, k
//! and the number of ranks alone. Since each walker starts again within some rounds, a run resumes from the rounds before.

use super::Walks;
use super::move_pruning::MovePruning;
use super::walks::MIN_APART;
use crate::puzzle::{Encoding, Move, MoveTable, Puzzle};
use crate::random::generator;
use crate::tensors::moves::DeviceMoves;
use crate::tensors::no_grad;
use rand::RngCore as _;
use tch::{Device, Kind, Tensor};

/// Walkers per rank, roughly: enough that launches cost little.
const WALKERS: usize = 1 << 18;

/// Lanes of a rank, at most.
const MAX_LANES: usize = 64;

/// Codes from here on mark merging moves; smaller ones count repetitions.
const MERGES: i64 = 1 << 16;

/// Bits of a random number.
const RANDOM_BITS: u32 = 24;

/// A batch on the device.
#[derive(Debug)]
pub struct DeviceBatch {
    /// Encoded states, u8, `samples × cells`.
    pub rows: Tensor,
    /// Labels, f32, `samples`.
    pub labels: Tensor,
    /// Moves that lead back, 1 or 0, u8, `samples × moves`; for a network with a policy head.
    pub policy_targets: Option<Tensor>,
}

/// A puzzle's moves, goals and move pruning as data, for walks on a device.
#[derive(Debug, Clone)]
pub struct WalkRules {
    table: MoveTable,
    encoding: Encoding,
    pruning: MovePruning,
    goals: Vec<u8>,
    walk_samples: usize,
}

/// Which batches to make.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// Seed of the walks.
    pub seed: u64,
    /// Longest walk, in moves.
    pub max_depth: u32,
    /// Samples in a batch.
    pub batch_size: usize,
    /// The first batch.
    pub first: u64,
    /// Stride between batches: the number of ranks.
    pub stride: u64,
}

impl WalkRules {
    /// The rules of walks as data; `None` if they have other labels than their lengths, or the puzzle has no [`MoveTable`].
    pub(super) fn of<P: Puzzle>(walks: &Walks<P>) -> Option<Self> {
        let is_plain = walks.exact.is_none() && walks.sparse_states.is_none();
        let table = walks.puzzle.move_table().filter(|_| is_plain)?;
        Some(WalkRules {
            table,
            encoding: walks.puzzle.encoding(),
            pruning: walks.pruning.clone(),
            goals: walks.goals.iter().flat_map(|goal| walks.puzzle.row(goal)).collect(),
            walk_samples: walks.walk_samples,
        })
    }
}

/// An endless stream of batches, made on a device.
pub struct DeviceWalks {
    moves: DeviceMoves,
    /// `goals × cells`.
    goals: Tensor,
    /// `(moves + 1) × moves`, by the move made (last row: none) and a move: 1 if this move's code stays, else 0; the addend.
    keeps: Tensor,
    adds: Tensor,
    /// The greatest code of each move that a walk may make.
    limits: Tensor,
    inverses: Tensor,
    /// Samples of a walk, and its longest length.
    walk_samples: i64,
    max_depth: i64,
    batch_size: i64,
    lanes: u64,
    /// Mixed into all random numbers.
    key: i64,
    /// The number of each walker among those of all ranks; the round in which it starts; the offset of its samples.
    walkers: Tensor,
    phases: Tensor,
    offsets: Tensor,
    /// The walkers: rows, codes of all moves, and the number of moves made.
    rows: Tensor,
    codes: Tensor,
    made: Tensor,
    /// The next round.
    round: i64,
    /// The next lane of the round before it.
    lane: u64,
}

impl DeviceWalks {
    /// Walks on a device, from a batch on.
    ///
    /// # Panics
    /// As libtorch does, if the device fails.
    pub fn new(rules: &WalkRules, stream: Stream, device: Device) -> Self {
        let Stream { seed, max_depth, batch_size, first, stride } = stream;
        let walk_samples = rules.walk_samples.min((max_depth / MIN_APART) as usize).max(1) as i64;
        let lanes = (WALKERS / batch_size).clamp(1, MAX_LANES);
        let (batch_size, max_depth) = (batch_size as i64, i64::from(max_depth));
        let rank = first % stride;
        let all_lanes = lanes as u64 * stride;
        let on_device = |numbers: Vec<i64>| Tensor::from_slice(&numbers).to_device(device);
        // By lane and place in the batch.
        let of_walkers = |number: &dyn Fn(i64, i64) -> i64| {
            let lanes = (0..lanes as u64).map(|lane| (lane * stride + rank) as i64);
            on_device(lanes.flat_map(|lane| (0..batch_size).map(move |i| number(lane, i))).collect())
        };
        let offset =
            |lane, i| i / walk_samples * max_depth * walk_samples / batch_size + lane * max_depth / all_lanes as i64;
        let moves = DeviceMoves::new(&rules.table, &rules.encoding, device);
        let count = moves.count;
        // By the move that is made, the last one for none, and by the next move.
        let codes = |code: &dyn Fn(Option<Move>, Move) -> i64| {
            let made = (0..count as Move).map(Some).chain([None]);
            let numbers = made.flat_map(|made| (0..count as Move).map(move |next| code(made, next)));
            on_device(numbers.collect()).to_kind(Kind::Int).view([count + 1, count])
        };
        let pruning = &rules.pruning;
        let keeps = codes(&|made, next| i64::from(made.is_none_or(|made| made == next || pruning.commute(made, next))));
        let adds = codes(&|made, next| {
            made.map_or(0, |made| i64::from(made == next) + MERGES * i64::from(pruning.merge(made, next)))
        });
        let limit = |next| pruning.max_repeats(next).map_or(MERGES, i64::from) - 1;
        let limits = (0..count as Move).map(limit).collect();
        let inverses = (0..count as Move).map(|action| pruning.inverse(action).into()).collect();
        let goals = Tensor::from_slice(&rules.goals).view([-1, rules.encoding.cells as i64]).to_device(device);
        let all = lanes as i64 * batch_size;
        let round = (first / all_lanes) as i64;
        let mut walks = DeviceWalks {
            rows: goals.narrow(0, 0, 1).repeat([all, 1]),
            codes: Tensor::zeros([all, count], (Kind::Int, device)),
            made: Tensor::zeros([all], (Kind::Int64, device)),
            goals,
            keeps,
            adds,
            limits: on_device(limits).to_kind(Kind::Int),
            inverses: on_device(inverses),
            walk_samples,
            max_depth,
            batch_size,
            lanes: lanes as u64,
            key: generator(seed, 1 << 62).next_u64() as i64,
            walkers: of_walkers(&|lane, i| lane * batch_size + i),
            phases: of_walkers(&|_, i| i % walk_samples),
            offsets: of_walkers(&offset),
            moves,
            round: round + 1 - walk_samples,
            lane: first % all_lanes / stride,
        };
        (0..walk_samples).for_each(|_| walks.go_on());
        walks
    }

    /// Batches of a round.
    pub fn lanes(&self) -> u64 {
        self.lanes
    }

    /// The next batch.
    ///
    /// # Panics
    /// As libtorch does, if the device fails.
    pub fn next_batch(&mut self, with_policy: bool) -> DeviceBatch {
        if self.lane == self.lanes {
            self.lane = 0;
            self.go_on();
        }
        let first = self.lane as i64 * self.batch_size;
        self.lane += 1;
        no_grad(|| {
            let part = |all: &Tensor| all.narrow(0, first, self.batch_size);
            let policy_targets = || {
                // A move that commutes with all later moves could have been the last one.
                let lasts = part(&self.codes).bitwise_and(MERGES - 1).gt(0);
                lasts.index_select(1, &self.inverses).to_kind(Kind::Uint8)
            };
            DeviceBatch {
                rows: part(&self.rows),
                labels: part(&self.made).to_kind(Kind::Float),
                policy_targets: with_policy.then(policy_targets),
            }
        })
    }

    /// Makes a round: every walker goes to its next sample.
    fn go_on(&mut self) {
        no_grad(|| {
            let most = (self.max_depth + self.walk_samples - 1) / self.walk_samples;
            // Sample `at` of a walk lies in its part of the depths, at a place that changes from walk to walk.
            let rounds = &self.phases + (self.round + self.walk_samples);
            let at = rounds.remainder(self.walk_samples);
            let walk = rounds.divide_scalar_mode(self.walk_samples, "floor");
            let place = (&self.offsets + walk).remainder(self.max_depth);
            let depths = (&at * self.max_depth + place).divide_scalar_mode(self.walk_samples, "floor") + 1;
            let starts = at.eq(0);
            let goals = scaled(&self.random(most, most + 1), &Tensor::from(self.goals.size()[0]));
            let goals = self.goals.index_select(0, &goals);
            self.rows = goals.where_self(&starts.unsqueeze(1), &self.rows);
            self.codes = self.codes.masked_fill(&starts.unsqueeze(1), 0);
            self.made = self.made.masked_fill(&starts, 0);
            (0..most).for_each(|step| self.step(&self.random(step, most + 1), &depths));
        });
        self.round += 1;
    }

    /// Moves the walkers that are not at their depth yet, each by one of the moves that its walk may make, if there is one.
    fn step(&mut self, random: &Tensor, depths: &Tensor) {
        let mut allowed = self.codes.le_tensor(&self.limits);
        if let Some(legal) = self.moves.legal(&self.rows) {
            allowed = allowed.logical_and(&legal);
        }
        // Draws one of the allowed moves by its cumulative count.
        let counts = allowed.cumsum(1, Kind::Int);
        let count = counts.select(1, self.moves.count - 1);
        let chosen = scaled(random, &count);
        let action = counts.le_tensor(&chosen.unsqueeze(1)).sum_dim_intlist(1, false, Kind::Int64);
        let moves = self.made.less_tensor(depths).logical_and(&count.gt(0));
        let children = self.moves.children(&self.rows, &action.clamp_max(self.moves.count - 1));
        self.rows = children.where_self(&moves.unsqueeze(1), &self.rows);
        let action = action.where_scalarother(&moves, self.moves.count);
        self.codes = self.adds.index_select(0, &action).addcmul(&self.codes, &self.keeps.index_select(0, &action));
        self.made += moves;
    }

    /// A random number for each walker: number `number` of the `numbers` that it gets in this round. They are hashes by the
    /// finalizer of SplitMix64 (Steele, Lea and Flood 2014).
    fn random(&self, number: i64, numbers: i64) -> Tensor {
        let round = self.round + self.walk_samples;
        let counter = &self.walkers * numbers + number;
        let start = self.key.wrapping_add(round.wrapping_mul(-0x4b47_d0c5_5d4a_1b1d));
        let shifted = |bits: &Tensor, by: u32| {
            bits.bitwise_right_shift_tensor_scalar(i64::from(by)).bitwise_and((1i64 << (64 - by)) - 1)
        };
        let mut bits = counter * -0x61c8_8646_80b5_83ebi64 + start;
        for (by, factor) in [(30, -0x40a7_b892_e31b_1a47i64), (27, -0x6b2f_b644_ecce_ee15)] {
            bits = bits.bitwise_xor_tensor(&shifted(&bits, by)) * factor;
        }
        shifted(&bits, 64 - RANDOM_BITS)
    }
}

/// Random numbers below each count.
fn scaled(random: &Tensor, counts: &Tensor) -> Tensor {
    (random * counts).bitwise_right_shift_tensor_scalar(i64::from(RANDOM_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube3::{Cube3, Cube3HalfTurns};
    use crate::puzzle::lightsout::LightsOut;
    use crate::puzzle::tiles::Puzzle15;
    use crate::sampler::{Sampler, Samples as _};
    use crate::tensors::host_numbers;
    use std::sync::Arc;

    /// Rows, labels and policy targets, one of each per sample.
    type Samples = Vec<(Vec<u8>, f32, Vec<u8>)>;

    fn walks<P: Puzzle>(puzzle: P, samples: u64) -> Walks<P> {
        Walks::new(Arc::new(puzzle)).with_walk_samples(samples)
    }

    fn stream(max_depth: u32, batch_size: usize) -> Stream {
        Stream { seed: 5, max_depth, batch_size, first: 0, stride: 1 }
    }

    fn made<P: Puzzle>(walks: &Walks<P>, stream: Stream, batches: usize) -> Vec<Samples> {
        let rules = walks.rules().expect("the moves are data");
        let mut walks = DeviceWalks::new(&rules, stream, Device::Cpu);
        let batch = |batch: DeviceBatch| {
            let labels: Vec<f32> = host_numbers(&batch.labels);
            let [rows, targets] = [batch.rows, batch.policy_targets.expect("they were asked for")].map(|numbers| {
                let columns = numbers.size()[1] as usize;
                host_numbers::<u8>(&numbers).chunks(columns).map(<[u8]>::to_vec).collect::<Vec<_>>()
            });
            rows.into_iter().zip(labels).zip(targets).map(|((row, label), back)| (row, label, back)).collect()
        };
        (0..batches).map(|_| batch(walks.next_batch(true))).collect()
    }

    #[test]
    fn every_depth_comes_equally_often() {
        let (depth, samples) = (12, 3);
        // After this many batches, every walker has had every depth the same number of times.
        let batches = depth * samples * MAX_LANES;
        let mut counts = vec![0; depth + 1];
        for batch in made(&walks(Cube3, 3), stream(depth as u32, 24), batches) {
            let mut own = vec![0; depth + 1];
            batch.iter().for_each(|(_, label, _)| own[*label as usize] += 1);
            assert!(own[1..].iter().all(|&count| (1..=3).contains(&count)), "{own:?}");
            counts.iter_mut().zip(own).for_each(|(count, own)| *count += own);
        }
        assert!(counts[0] == 0 && counts[1..].iter().all(|&count| count == batches * 24 / depth), "{counts:?}");
    }

    #[test]
    fn a_batch_depends_on_its_number_alone() {
        let walks = walks(Puzzle15::default(), 8);
        let all = made(&walks, stream(50, 20), 200);
        for first in [1, 63, 64, 130] {
            let stream = Stream { first, ..stream(50, 20) };
            assert_eq!(made(&walks, stream, 4), all[first as usize..][..4], "{first}");
        }
        assert_ne!(all[0], all[MAX_LANES], "the walkers go on");
        assert_ne!(made(&walks, Stream { seed: 6, ..stream(50, 20) }, 1)[0], all[0]);
        let of_rank =
            |rank: u64, first: u64| made(&walks, Stream { first: 2 * first + rank, stride: 2, ..stream(50, 20) }, 3);
        assert_ne!(of_rank(0, 0), of_rank(1, 0));
        assert_eq!(of_rank(1, 1)[..2], of_rank(1, 0)[1..]);
    }

    /// Each policy target is a legal move, which changes the label by one: what a network learns of a walk is true.
    fn check_ways_back<P: Puzzle>(puzzle: P, depth: u32, distance: impl Fn(&P, &P::State) -> Option<u32>) {
        let mut seen = std::collections::HashMap::new();
        let walks = walks(puzzle, 2);
        let puzzle = Arc::clone(&walks.puzzle);
        for goal in puzzle.goals() {
            seen.insert(puzzle.row(&goal), goal);
        }
        for _ in 0..depth {
            let known: Vec<P::State> = seen.values().copied().collect();
            for state in known {
                for action in 0..puzzle.move_count() as Move {
                    if let Some(child) = puzzle.apply(&state, action) {
                        seen.insert(puzzle.row(&child), child);
                    }
                }
            }
        }
        let mut checked = 0;
        for (row, label, back) in made(&walks, stream(depth, 100), 10).into_iter().flatten() {
            let state = seen.get(&row).expect("a state within the depth");
            assert_eq!(distance(&puzzle, state), Some(label as u32), "{}", puzzle.name());
            assert!(back.contains(&1));
            for action in (0..back.len()).filter(|&action| back[action] == 1) {
                let before = puzzle.apply(state, action as Move).expect("a legal move");
                assert_eq!(distance(&puzzle, &before), Some(label as u32 - 1), "{}", puzzle.name());
                checked += 1;
            }
        }
        assert!(checked >= 1000);
    }

    #[test]
    fn labels_and_policy_targets_of_short_walks_are_exact() {
        fn distance<P: Puzzle>(puzzle: &P, state: &P::State) -> Option<u32> {
            let mut layer = vec![*state];
            for depth in 0..=3 {
                if layer.iter().any(|state| puzzle.is_goal(state)) {
                    return Some(depth);
                }
                let children = |state: &P::State| {
                    let state = *state;
                    (0..puzzle.move_count() as Move).filter_map(move |action| puzzle.apply(&state, action))
                };
                layer = layer.iter().flat_map(children).collect();
            }
            None
        }
        check_ways_back(Cube3, 2, distance);
        check_ways_back(Cube3HalfTurns, 2, distance);
        check_ways_back(Puzzle15::default(), 3, distance);
        check_ways_back(LightsOut::<1>::new(5), 2, distance);
    }

    #[test]
    fn walks_are_as_those_of_the_host() {
        let walks = walks(Cube3, 1);
        let targets = |depth: usize, samples: &mut dyn Iterator<Item = (f32, u32)>| {
            let (mut sums, mut counts) = (vec![0.0; depth + 1], vec![0.0; depth + 1]);
            for (label, back) in samples {
                sums[label as usize] += f64::from(back);
                counts[label as usize] += 1.0;
            }
            sums.into_iter().zip(counts).skip(1).map(|(sum, count)| sum / count).collect::<Vec<f64>>()
        };
        let sum = |back: &[u8]| back.iter().map(|&target| u32::from(target)).sum::<u32>();
        let device = made(&walks, stream(8, 4000), 10).into_iter().flatten();
        let device = targets(8, &mut device.map(|(_, label, back)| (label, sum(&back))));
        let sampler = Sampler::new(Arc::new(walks), (54, 12), 1, 8, 40_000);
        let batch = sampler.batch(0);
        let backs = batch.policy_targets.rows().into_iter().map(|back| back.iter().map(|&t| u32::from(t)).sum());
        let host = targets(8, &mut batch.labels.iter().copied().zip(backs));
        // 5000 samples of each depth; the number of ways back deviates by 0.4 from its mean, so a mean by 0.006.
        let near = device.iter().zip(&host).all(|(device, host)| (device - host).abs() < 0.03);
        assert!(near && device[3] > 1.1, "{device:?}, {host:?}");
    }

    #[test]
    fn a_walk_ends_where_nothing_is_left_to_press() {
        let walks = walks(LightsOut::<1>::new(3), 2);
        let longest = |walks: &Walks<_>| {
            let samples = made(walks, stream(14, 50), 70).into_iter().flatten();
            samples.map(|(_, label, _)| label).fold(0.0, f32::max)
        };
        assert_eq!(longest(&walks), 9.0, "each light once");
        assert!(walks.rules().is_some());
        let sparse = walks.with_sparse_states(0.5).expect("moves commute");
        assert!(sparse.rules().is_none(), "the device has no such samples");
    }
}
