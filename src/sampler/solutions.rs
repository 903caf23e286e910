//! States on known solutions.

use super::{Batch, Samples, known_costs};
use crate::puzzle::{Cost, Move, Puzzle, Rules, SymmetricImage};
use crate::random::{Generator, below};
use ndarray::ArrayViewMut1;
use std::collections::HashMap;
use std::sync::Arc;

/// States of solutions as samples: each in any of its symmetric images, labelled with the cost of the rest of its solution. The
/// policy target is the next move, or with [`SolutionStates::exact`] every best move (`M`). The label is an upper bound of the
/// distance; it is exact if the solution is a cheapest one.
///
/// Source: Arfaee, Zilles and Holte, "Learning heuristic functions for large state spaces" (Artificial Intelligence 175,
/// 2011), section 3.
#[derive(Debug)]
pub struct SolutionStates<P: Puzzle, M = [Move; 1]> {
    puzzle: Arc<P>,
    /// Cost of the rest, state and next moves, in the order of the cost; not empty.
    states: Vec<(Cost, P::State, M)>,
    /// The number of symmetric images of a state, inversions left out: after those, another move is next.
    images: usize,
    /// Whether training samples are drawn by depth too, and not evenly from all states.
    by_depth: bool,
}

impl<P: Puzzle> SolutionStates<P, Vec<Move>> {
    /// Samples with exact labels, by depth: all states that can be reached from `start` and from which a goal can be
    /// reached, with the cheapest cost and every first move of a cheapest path; `None` if none of them needs a move. Takes
    /// time and memory in proportion to their number.
    pub fn exact(puzzle: Arc<P>, start: &P::State) -> Option<Self> {
        let known = known_costs(&*puzzle, start);
        let cost_of: HashMap<_, _> = known.iter().map(|(state, cost, _)| (*state, *cost)).collect();
        let with_best_moves = |(state, cost, _): (P::State, Cost, _)| {
            let is_best = |&action: &Move| {
                let rest = puzzle.apply(&state, action).and_then(|child| cost_of.get(&child));
                rest.is_some_and(|rest| rest + puzzle.move_cost(&state, action) == cost)
            };
            (cost.max(1), state, (0..puzzle.move_count() as Move).filter(is_best).collect())
        };
        let states = known.into_iter().filter(|(.., first)| first.is_some()).map(with_best_moves).collect();
        Some(SolutionStates { by_depth: true, ..Self::new(puzzle, states, Cost::MAX)? })
    }
}

impl<P: Puzzle, M: AsRef<[Move]>> SolutionStates<P, M> {
    /// Samples of these [steps], except states from which the rest costs more than `max_cost`; `None` if no state is
    /// left.
    pub fn new(puzzle: Arc<P>, mut states: Vec<(Cost, P::State, M)>, max_cost: Cost) -> Option<Self> {
        states.retain(|&(cost, ..)| cost <= max_cost);
        states.sort_by_key(|&(cost, ..)| cost);
        let images = puzzle.symmetric_images(&states.first()?.1).filter(|image| !image.inverted).count();
        Some(SolutionStates { puzzle, states, images, by_depth: false })
    }

    /// The greatest cost.
    pub fn greatest(&self) -> Cost {
        self.states.last().map_or(0, |&(cost, ..)| cost)
    }

    fn write(&self, i: usize, generator: &mut Generator, sample: (ArrayViewMut1<u8>, &mut f32, ArrayViewMut1<u8>)) {
        let (cost, state, actions) = &self.states[i];
        let image = (self.images > 1).then(|| {
            let mut images = self.puzzle.symmetric_images(state).filter(|image| !image.inverted);
            images.nth(below(generator, self.images)).expect("as many images of each state")
        });
        let (mut row, label, mut back) = sample;
        let state = image.as_ref().map_or(state, |image| &image.start);
        self.puzzle.encode(state, row.as_slice_mut().expect("rows are contiguous"));
        *label = *cost as f32;
        for &action in actions.as_ref() {
            let moved = |image: &SymmetricImage<_>| image.moves.iter().position(|&original| original == action);
            let action = image.as_ref().map_or(Some(usize::from(action)), moved);
            back[action.expect("an image of each move")] = 1;
        }
    }
}

/// A step of a solution: cost of the rest, state and next move.
type SolutionStep<P> = (Cost, <P as Rules>::State, [Move; 1]);

/// The steps of a solution; `None` if it does not lead to a goal.
pub fn steps<P: Puzzle>(puzzle: &P, start: P::State, solution: &[Move]) -> Option<Vec<SolutionStep<P>>> {
    let (mut state, mut made, mut steps) = (start, 0, Vec::with_capacity(solution.len()));
    for &action in solution {
        steps.push((made, state, [action]));
        made += puzzle.move_cost(&state, action);
        state = puzzle.apply(&state, action)?;
    }
    steps.iter_mut().for_each(|(cost, ..)| *cost = made - *cost);
    puzzle.is_goal(&state).then_some(steps)
}

impl<P: Puzzle, M: AsRef<[Move]> + Send + Sync> Samples for SolutionStates<P, M> {
    /// A state of each cost, or of the nearest lower one.
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        for (&depth, sample) in depths.iter().zip(batch.samples_mut()) {
            let end = self.states.partition_point(|&(cost, ..)| cost <= depth);
            let nearest = self.states[end.saturating_sub(1)].0;
            let [first, end] = [0, 1].map(|more| self.states.partition_point(|&(cost, ..)| cost < nearest + more));
            self.write(first + below(generator, end - first), generator, sample);
        }
    }

    /// By depth, or evenly from all states: costs then come as often as in the solutions.
    fn fill_to_learn(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        if self.by_depth {
            return self.fill(depths, generator, batch);
        }
        for sample in batch.samples_mut() {
            self.write(below(generator, self.states.len()), generator, sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Notation as _;
    use crate::puzzle::cube3::Cube3;
    use crate::sampler::Sampler;

    #[test]
    fn samples_are_images_of_the_states_of_a_solution() {
        let cube = Cube3;
        let (start, moves) =
            (cube.parse("U R F D").expect("a scramble"), cube.parse_moves("D' F' R' U'").expect("moves"));
        let states = steps(&cube, start, &moves).expect("a solution");
        assert_eq!(states.iter().map(|step| step.0).collect::<Vec<_>>(), [4, 3, 2, 1]);
        assert_eq!(steps(&cube, start, &moves[..3]), None);
        assert!(SolutionStates::new(Arc::new(Cube3), states.clone(), 0).is_none());

        let samples = SolutionStates::new(Arc::new(Cube3), states, 3).expect("states");
        let sampler = Sampler::new(Arc::new(samples), (54, 12), 1, 3, 600);
        let batch = sampler.batch(0);
        let mut seen = std::collections::HashSet::new();
        for ((row, &label), back) in batch.states.outer_iter().zip(&batch.labels).zip(batch.policy_targets.outer_iter())
        {
            let text: String = row.iter().map(|&c| "URFDLB".as_bytes()[usize::from(c)] as char).collect();
            let state = cube.parse(&text).expect("a state of the cube");
            let next: Vec<usize> = (0..12).filter(|&action| back[action] == 1).collect();
            assert_eq!(next.len(), 1);
            let after = cube.apply(&state, next[0] as Move).expect("a legal move");
            assert_eq!(cube.is_goal(&after), label == 1.0);
            seen.insert((text, label as u32));
        }
        // Three of the four states are cheap enough; U' alone has 12 images.
        assert!(seen.len() > 60 && (1..=3).all(|cost| seen.iter().any(|(_, label)| *label == cost)), "{}", seen.len());
        // By depth, all samples have that cost, or the nearest.
        let solved_by_one = |row: &[u8]| {
            let text: String = row.iter().map(|&c| "URFDLB".as_bytes()[usize::from(c)] as char).collect();
            let state = cube.parse(&text).expect("a state of the cube");
            cube.children(&state).any(|(_, child)| cube.is_goal(&child))
        };
        let near = sampler.at_depth(1);
        assert!(near.outer_iter().all(|row| solved_by_one(row.as_slice().expect("a row"))));
    }
}
