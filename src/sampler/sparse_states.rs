//! States that look nearly solved and may be far from it, for puzzles whose moves all commute.
//!
//! If moves commute, the distance of a state may be the parity of half its cells: one light that is on, on a board of
//! Lights Out, takes two dozen presses. No network finds such a function among random states, where a single cell tells
//! nothing, and short walks teach it to recognise presses instead. A network finds the function among states that differ
//! from the goal in few cells, and keeps it for all others (a curriculum of sparse inputs: Abbe, Cornacchia and Lotfi 2023,
//! "Provable advantage of curriculum learning on parity targets with mixed inputs").
//!
//! Such states come from walks alone, in two steps. A Metropolis walk, whose energy is the number of cells that differ
//! from the goal and whose temperature falls and rises, collects paths that change few cells. A sample then joins paths:
//! from one, which looks nearly solved, to a third of the number of moves, which looks like nearly any state. Moves that
//! cancel are removed; since all commute, the end stays the same.

use super::Walks;
use super::move_pruning::MovePruning;
use crate::puzzle::{Move, Puzzle};
use crate::random::{Generator, below, generator};
use rand::RngCore;
use std::collections::HashMap;
use std::f64::consts::PI;

/// Inverse temperature at its coldest: one more differing cell is accepted once in 33 times.
const COLDEST: f64 = 3.5;

/// Steps per period of the temperature and per move of the puzzle: a walk that cools fast is caught where many cells
/// differ.
const PERIOD_PER_MOVE: usize = 600;

/// Steps of the Metropolis walk: about a second.
const STEPS: usize = 10_000_000;

/// Most paths in a sample, per move of the puzzle: more paths give states that look like any other.
const MAX_PATHS_PER_MOVE: f64 = 1.0 / 3.0;

/// Paths to keep.
const PATHS: usize = 512;

/// Paths that change few cells.
#[derive(Debug)]
pub(super) struct SparseStates {
    paths: Vec<Vec<Move>>,
}

impl SparseStates {
    /// Collects paths from a goal, always the same ones.
    pub(super) fn collect<P: Puzzle>(puzzle: &P, pruning: &MovePruning, goal: P::State) -> Self {
        let mut generator = generator(0, 1);
        let goal_row = puzzle.row(&goal);
        let mut row = goal_row.clone();
        let mut path = Path { puzzle, pruning, state: goal, made: Vec::new() };
        let mut differing = 0;
        let mut found: HashMap<P::State, (usize, Vec<Move>)> = HashMap::new();
        let mut bound = goal_row.len() + 1;
        let period = (PERIOD_PER_MOVE * puzzle.move_count()) as f64;
        for step in 0..STEPS {
            let coldness = COLDEST * 0.5 * (1.0 - (2.0 * PI * step as f64 / period).cos());
            let action = below(&mut generator, puzzle.move_count()) as Move;
            let Some(next) = puzzle.apply(&path.state, action) else { continue };
            puzzle.encode(&next, &mut row);
            let next_differing = row.iter().zip(&goal_row).filter(|(cell, goal)| cell != goal).count();
            let chance = (-coldness * next_differing.saturating_sub(differing) as f64).exp();
            if f64::from(generator.next_u32()) > chance * f64::from(u32::MAX) || !path.go(action) {
                continue;
            }
            differing = next_differing;
            if differing < bound && !puzzle.is_goal(&path.state) && !found.contains_key(&path.state) {
                found.insert(path.state, (differing, path.made.clone()));
                if found.len() >= 4 * PATHS {
                    let mut sorted: Vec<usize> = found.values().map(|(differing, _)| *differing).collect();
                    sorted.sort_unstable();
                    bound = sorted[PATHS - 1];
                    found.retain(|_, (differing, _)| *differing <= bound);
                }
            }
        }
        let mut paths: Vec<(usize, Vec<Move>)> = found.into_values().collect();
        paths.sort_unstable();
        SparseStates { paths: paths.into_iter().take(PATHS).map(|(_, path)| path).collect() }
    }

    /// A state other than a goal, and the moves that lead to it from one. The logarithm of the number of paths is uniform.
    ///
    /// # Panics
    /// If no path was found: the puzzle has no move.
    pub(super) fn sample<P: Puzzle>(&self, walks: &Walks<P>, generator: &mut Generator) -> (P::State, Vec<Move>) {
        let Walks { puzzle, pruning, goals, .. } = walks;
        let mut path = Path { puzzle: &**puzzle, pruning, state: goals[0], made: Vec::new() };
        let max_paths = (MAX_PATHS_PER_MOVE * puzzle.move_count() as f64).max(1.0);
        while puzzle.is_goal(&path.state) {
            let share = f64::from(generator.next_u32()) / f64::from(u32::MAX);
            for _ in 0..max_paths.powf(share) as usize {
                for &action in &self.paths[below(generator, self.paths.len())] {
                    path.go(action);
                }
            }
        }
        (path.state, path.made)
    }
}

/// A walk without moves that cancel.
struct Path<'a, P: Puzzle> {
    puzzle: &'a P,
    pruning: &'a MovePruning,
    state: P::State,
    made: Vec<Move>,
}

impl<P: Puzzle> Path<'_, P> {
    /// Makes a move, unless it is illegal or the walk would be shorter with its inverses.
    fn go(&mut self, action: Move) -> bool {
        let undone = self.made.iter().position(|&made| made == self.pruning.inverse(action));
        if undone.is_none() && !self.pruning.allow(&self.made, action) {
            return false;
        }
        let Some(next) = self.puzzle.apply(&self.state, action) else { return false };
        self.state = next;
        match undone {
            Some(i) => drop(self.made.swap_remove(i)),
            None => self.made.push(action),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sampler, Walks};
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::lightsout::LightsOut;
    use crate::puzzle::{Notation as _, Rules as _};
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
        // One in 2200 random boards of 25 lights has this few.
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
            refused.to_string().contains("`sparse_states`: 0.1: only puzzles whose moves all commute"),
            "{refused}"
        );
    }
}
