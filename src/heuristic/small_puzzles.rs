//! Estimates for the small puzzles: the 2×2×2 cube, Lights Out and water jugs.

use super::PerState;
use super::exact::exact;
use crate::puzzle::cube2::{Corners, Cube2};
use crate::puzzle::jugs::{Jugs, Volumes};
use crate::puzzle::lightsout::LightsOut;

/// `exact`, from a table of all positions.
pub(crate) fn cube2(puzzle: &Cube2) -> Vec<PerState<Corners>> {
    vec![exact(*puzzle)]
}

/// `lights`: a press turns at most five lights off. Admissible.
pub(crate) fn lights<const WORDS: usize>(_: &LightsOut<WORDS>) -> Vec<PerState<[u64; WORDS]>> {
    let lit = |state: &[u64; WORDS]| state.iter().map(|word| word.count_ones()).sum::<u32>().div_ceil(5) as f32;
    vec![PerState::new("lights", true, lit)]
}

/// The scores of the article that the puzzle comes from, as costs: `sum` counts every jug, `nearest` the one whose volume is
/// nearest to the goal's. Neither is admissible.
pub(crate) fn jugs(puzzle: &Jugs) -> Vec<PerState<Volumes>> {
    let Some(goal) = puzzle.goal_volume() else { return Vec::new() };
    let count = puzzle.count();
    let away = move |volumes: &Volumes, jug: usize| f32::from(volumes[jug].abs_diff(goal));
    let sum = move |volumes: &Volumes| {
        // Σ (10 if the goal's volume divides the jug's) − |goal − volume|, below the highest possible value.
        let is_multiple = |jug: usize| volumes[jug].checked_rem(goal).is_none_or(|rest| rest == 0);
        (0..count).map(|jug| if is_multiple(jug) { 0.0 } else { 10.0 } + away(volumes, jug)).sum()
    };
    let nearest = move |volumes: &Volumes| (0..count).map(|jug| away(volumes, jug)).fold(f32::INFINITY, f32::min);
    vec![PerState::new("sum", false, sum), PerState::new("nearest", false, nearest)]
}
