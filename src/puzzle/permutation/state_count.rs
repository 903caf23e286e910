//! The number of states of a puzzle, and the walk length that reaches all states.

use super::Permutation;
use crate::puzzle::Rules as _;
use std::collections::HashSet;

/// Walks are longer than the moves that most states need, because they go back and forth: on the cube, whose walks of 26 moves
/// make good networks, 1.3 times.
const WALK_FACTOR: f64 = 1.3;

/// The layers around the goal are counted up to this many states, and none that would have more than four times as many.
const COUNTED_STATES: usize = 50_000;
const MAX_LAYER: f64 = 4.0 * COUNTED_STATES as f64;

/// The moves of walks from the goal that reach most states: all layers of a small puzzle; else as many as it takes to reach
/// all states if each layer grows as the first ones do.
pub(super) fn walk_length<const N: usize>(puzzle: &Permutation<N>) -> u32 {
    let (mut layer, mut seen) = (vec![puzzle.goal], HashSet::from([puzzle.goal]));
    let (mut depth, mut growth) = (0, 1.0);
    while !layer.is_empty() && seen.len() < COUNTED_STATES && growth * (layer.len() as f64) < MAX_LAYER {
        let mut next = Vec::new();
        for state in &layer {
            next.extend(puzzle.children(state).map(|(_, child)| child).filter(|child| seen.insert(*child)));
        }
        growth = next.len() as f64 / layer.len() as f64;
        (layer, depth) = (next, depth + 1);
    }
    let moves = if layer.is_empty() { f64::from(depth - 1) } else { ln_states(puzzle) / growth.max(1.1).ln() };
    (WALK_FACTOR * moves).ceil().clamp(2.0, 2000.0) as u32
}

/// The logarithm of a bound on the number of states: the order of the group of the moves, or the arrangements of the symbols
/// on the positions that move.
fn ln_states<const N: usize>(puzzle: &Permutation<N>) -> f64 {
    let description = &puzzle.description;
    if let Some(cube) = &description.cube {
        return cube.ln_states();
    }
    let moving = |&at: &usize| description.moves.iter().any(|(_, permutation)| usize::from(permutation[at]) != at);
    let mut counts = vec![0u32; description.symbols.len()];
    let mut positions = 0;
    for at in (0..description.positions()).filter(moving) {
        counts[usize::from(description.goal[at])] += 1;
        positions += 1;
    }
    let ln_factorial = |n: u32| (1..=n).map(|k| f64::from(k).ln()).sum::<f64>();
    let arrangements = ln_factorial(positions) - counts.into_iter().map(ln_factorial).sum::<f64>();
    arrangements.min(puzzle.group().ln_order())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::permutation::Description;
    use std::path::Path;

    fn puzzle(name: &str) -> Permutation<128> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/puzzles").join(format!("{name}.json"));
        Permutation::new(Description::read(&path).expect("a puzzle"))
    }

    #[test]
    fn known_numbers_of_states_are_found() {
        // The number of the cube is a fact, that of the Megaminx by Scherphuis; without turning tips, the pyraminx has 933,120.
        let known = [
            ("cube3-quarter-turns", 43_252_003_274_489_856_000.0),
            ("megaminx", 1.006_696_163_335_708_9e68),
            ("pyraminx", 933_120.0 * 81.0),
            ("skewb", 3_149_280.0),
            ("topspin20", (1..=20).map(f64::from).product()),
        ];
        for (name, states) in known {
            let found = ln_states(&puzzle(name));
            assert!((found - f64::ln(states)).abs() < 1e-6, "{name}: e^{found}, not {states}");
        }
    }

    #[test]
    fn walks_are_somewhat_longer_than_most_solutions() {
        for (name, lengths) in
            [("cube3-quarter-turns", 24..=28), ("lrx9", 40..=70), ("pyraminx", 13..=20), ("megaminx", 60..=80)]
        {
            let length = walk_length(&puzzle(name));
            assert!(lengths.contains(&length), "{name}: {length}");
        }
    }
}
