//! States that look nearly solved and may be far from it, of puzzles whose moves all commute.
//!
//! Where moves commute, how far a state is from solved may be the parity of half its cells: one light that is on, on a
//! board of Lights Out, takes two dozen presses. No network finds such a function among states where a cell alone tells
//! nothing, as in random ones, and walks of few moves teach it to recognise presses, which is another thing. It is found
//! among states of which few cells differ from the goal, and then kept for all others (a curriculum of sparse inputs:
//! Abbe, Cornacchia and Lotfi 2023, "Provable advantage of curriculum learning on parity targets with mixed inputs").
//!
//! Such states are come by in two steps, by walking and nothing else. A Metropolis walk whose energy is the number of
//! cells that differ from the goal, and whose temperature falls and rises, collects ways that change few cells. A sample
//! then is a few of these one after another, or many: from one, which looks nearly solved, to a third as many as the
//! puzzle has moves, which looks like nearly any state. Moves that cancel are taken out, which leaves the way the same, for
//! all commute.

use super::move_pruning::MovePruning;
use crate::puzzle::{Move, Reversible};
use crate::random::{Generator, below, generator};
use rand::RngCore;
use std::collections::HashMap;
use std::f64::consts::PI;

/// The inverse temperature at its coldest: a cell more is accepted once in 33 times.
const COLDEST: f64 = 3.5;

/// Steps of one fall and rise of the temperature, for each move that the puzzle has: a walk that is cooled fast is caught
/// where many cells differ.
const STEPS_A_MOVE: usize = 600;

/// Steps in all: a second or so.
const STEPS: usize = 10_000_000;

/// Of a puzzle's moves, the share that a sample has ways at most: of so many ways hardly more of a state is left that looks
/// solved than of any number.
const MOST_WAYS: f64 = 1.0 / 3.0;

/// How many ways are kept.
const KEPT: usize = 512;

/// Ways that change few cells.
#[derive(Debug)]
pub(super) struct SparseStates {
    ways: Vec<Vec<Move>>,
}

impl SparseStates {
    /// Collects ways from a goal, always the same ones.
    pub(super) fn collect<P: Reversible>(puzzle: &P, pruning: &MovePruning, goal: P::State) -> Self {
        let mut generator = generator(0, 1);
        let mut goal_row = vec![0; puzzle.encoding().cells];
        puzzle.encode(&goal, &mut goal_row);
        let mut row = goal_row.clone();
        let mut way = Way { puzzle, pruning, state: goal, made: Vec::new() };
        let mut here = 0;
        let mut found: HashMap<P::State, (usize, Vec<Move>)> = HashMap::new();
        let mut too_many = goal_row.len() + 1;
        let period = (STEPS_A_MOVE * puzzle.move_count()) as f64;
        for step in 0..STEPS {
            let coldness = COLDEST * 0.5 * (1.0 - (2.0 * PI * step as f64 / period).cos());
            let action = below(&mut generator, puzzle.move_count()) as Move;
            let Some(next) = puzzle.apply(&way.state, action) else { continue };
            puzzle.encode(&next, &mut row);
            let there = row.iter().zip(&goal_row).filter(|(cell, goal)| cell != goal).count();
            let chance = (-coldness * there.saturating_sub(here) as f64).exp();
            if f64::from(generator.next_u32()) > chance * f64::from(u32::MAX) || !way.go(action) {
                continue;
            }
            here = there;
            if here < too_many && !puzzle.is_goal(&way.state) && !found.contains_key(&way.state) {
                found.insert(way.state, (here, way.made.clone()));
                if found.len() >= 4 * KEPT {
                    let mut sorted: Vec<usize> = found.values().map(|(differing, _)| *differing).collect();
                    sorted.sort_unstable();
                    too_many = sorted[KEPT - 1];
                    found.retain(|_, (differing, _)| *differing <= too_many);
                }
            }
        }
        let mut ways: Vec<(usize, Vec<Move>)> = found.into_values().collect();
        ways.sort_unstable();
        ways.truncate(KEPT);
        SparseStates { ways: ways.into_iter().map(|(_, way)| way).collect() }
    }

    /// A state, not a goal, and the moves that lead to it from one: of so many ways that the logarithm of their number is
    /// spread evenly.
    ///
    /// # Panics
    /// If no way was found: the puzzle has no move.
    pub(super) fn sample<P: Reversible>(
        &self,
        puzzle: &P,
        pruning: &MovePruning,
        goal: P::State,
        generator: &mut Generator,
    ) -> (P::State, Vec<Move>) {
        let mut way = Way { puzzle, pruning, state: goal, made: Vec::new() };
        let most_ways = (MOST_WAYS * puzzle.move_count() as f64).max(1.0);
        while puzzle.is_goal(&way.state) {
            let share = f64::from(generator.next_u32()) / f64::from(u32::MAX);
            for _ in 0..most_ways.powf(share) as usize {
                for &action in &self.ways[below(generator, self.ways.len())] {
                    way.go(action);
                }
            }
        }
        (way.state, way.made)
    }
}

/// A walk out of which moves that cancel are taken.
struct Way<'a, P: Reversible> {
    puzzle: &'a P,
    pruning: &'a MovePruning,
    state: P::State,
    made: Vec<Move>,
}

impl<P: Reversible> Way<'_, P> {
    /// Makes a move, unless it is illegal or would be shorter the other way round.
    fn go(&mut self, action: Move) -> bool {
        let undone = self.made.iter().position(|&made| made == self.puzzle.inverse(action));
        if undone.is_none() && !self.pruning.allow(&self.made, action) {
            return false;
        }
        let Some(next) = self.puzzle.apply(&self.state, action) else { return false };
        self.state = next;
        match undone {
            Some(place) => drop(self.made.swap_remove(place)),
            None => self.made.push(action),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sampler, Walks};
    use crate::puzzle::Puzzle as _;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::lightsout::LightsOut;
    use std::sync::Arc;

    #[test]
    fn sparse_states_look_nearly_solved_and_are_labelled_with_their_one_solution() {
        let puzzle = LightsOut::<1>::new(5);
        let walks = Walks::new(Arc::new(puzzle.clone())).with_sparse_states(0.5).expect("presses commute");
        let batch = Sampler::new(Arc::new(walks), (25, 25), 3, 25, 400).batch(2);
        let mut nearly = 0;
        for i in 0..400 {
            let text: String = batch.states.row(i).iter().map(u8::to_string).collect();
            let state = puzzle.parse(&text).expect("a board that presses make");
            let pressed = batch.policy_targets.row(i);
            let end = (0..25)
                .filter(|&action| pressed[action] == 1)
                .fold(state, |state, action| puzzle.apply(&state, action as u8).expect("every press is legal"));
            assert!(puzzle.is_goal(&end), "the moves back lead back");
            assert_eq!(pressed.iter().map(|&back| f32::from(back)).sum::<f32>(), batch.labels[i]);
            assert!(!puzzle.is_goal(&state));
            let lights = batch.states.row(i).iter().filter(|&&cell| cell == 1).count();
            nearly += usize::from(i >= 200 && lights <= 4 && batch.labels[i] >= 6.0);
        }
        // Of random boards of 25 lights, 1 in 2200 has so few.
        assert!(nearly > 20, "{nearly} of 200");
    }

    #[test]
    fn a_share_of_nothing_changes_nothing_and_predictions_are_of_walks() {
        let puzzle = Arc::new(LightsOut::<1>::new(3));
        let sampler = |share| {
            let walks = Walks::new(Arc::clone(&puzzle)).with_sparse_states(share).expect("presses commute");
            Sampler::new(Arc::new(walks), (9, 9), 3, 9, 100)
        };
        let plain = Sampler::new(Arc::new(Walks::new(Arc::clone(&puzzle))), (9, 9), 3, 9, 100);
        assert_eq!(sampler(0.0).batch(5), plain.batch(5));
        assert_ne!(sampler(0.3).batch(5), plain.batch(5));
        assert_eq!(sampler(0.3).batch(5), sampler(0.3).batch(5));
        assert_eq!(sampler(1.0).at_depth(4), plain.at_depth(4));
    }

    #[test]
    fn moves_must_commute() {
        let refused = Walks::new(Arc::new(Cube3)).with_sparse_states(0.1).map(|_| ()).expect_err("U R is not R U");
        assert!(
            refused.to_string().contains("`sparse_states`: 0.1: the moves of cube3 do not all commute"),
            "{refused}"
        );
    }
}
