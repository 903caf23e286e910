//! The heuristic `perimeter` of reversible puzzles.

use crate::heuristic::PerState;
use crate::memory;
use crate::puzzle::{Puzzle, assert_reversible};
use crate::search::perimeter::{Perimeter, PerimeterFolder};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The depth of the heuristic `perimeter`, 100,000 states of the cube, and the most states: they are made for each solver.
const PERIMETER_DEPTH: u32 = 5;
const PERIMETER_STATES: usize = 1 << 20;

/// The heuristic `perimeter` by default: with the deepest perimeter in the cache, or else a small one.
///
/// # Panics
/// Unless the puzzle is reversible.
pub(super) fn default_heuristic<P: Puzzle>(puzzle: &Arc<P>) -> PerState<P::State> {
    let budget = Perimeter::<P::State>::memory_budget(memory::available());
    let kept = PerimeterFolder::new(&**puzzle, None).and_then(|folder| folder.load(u32::MAX, budget));
    let perimeter = kept
        .unwrap_or_else(|| Perimeter::within(&**puzzle, PERIMETER_DEPTH, PERIMETER_STATES, &AtomicBool::new(false)));
    perimeter_heuristic(puzzle, perimeter)
}

/// The estimate `perimeter`: the cost of the cheapest move times the distance in moves; outside the perimeter, times its depth
/// + 1. Admissible; exact if all moves cost the same and the perimeter holds the whole puzzle.
///
/// # Panics
/// Unless the puzzle is [reversible](crate::puzzle::Rules::is_reversible).
pub fn perimeter_heuristic<P: Puzzle>(puzzle: &Arc<P>, perimeter: Perimeter<P::State>) -> PerState<P::State> {
    assert_reversible(&**puzzle);
    let (puzzle, goal) = (Arc::clone(puzzle), puzzle.goals()[0]);
    // All costs are 1, or given by the user and the same in all states.
    let costs = puzzle.children(&goal).map(|(action, _)| puzzle.move_cost(&goal, action));
    let (least, beyond) = (costs.min().unwrap_or(1) as f32, perimeter.min_cost_outside());
    PerState::new("perimeter", true, move |state| least * perimeter.cost(&*puzzle, state).unwrap_or(beyond) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heuristic::Heuristic as _;
    use crate::puzzle::Rules as _;
    use crate::puzzle::cube3::{Cube3HalfTurns, CubeState};
    use crate::puzzle::move_costs::MoveCosts;
    use crate::search::perimeter::Extent;

    #[test]
    fn every_perimeter_counts_the_cost_of_the_cheapest_move() {
        // In tenths.
        let costs = MoveCosts::parse("U=0.4,R=2.5", &Cube3HalfTurns).expect("costs");
        let puzzle = Arc::new(Cube3HalfTurns.with_costs(costs));
        let (symmetries, stop) = (Cube3HalfTurns.symmetries().expect("it has symmetries"), AtomicBool::new(false));
        let extent = Extent { depth: 2, bytes: u64::MAX, time: None, count_last: false };
        let kept = Perimeter::of_classes(&Cube3HalfTurns, symmetries, extent, &stop, &mut |_| ());
        let kept = perimeter_heuristic(&puzzle, kept.expect("it was not stopped"));
        let near = puzzle.turn(&CubeState::SOLVED, 0);
        for mut heuristic in [default_heuristic(&puzzle), kept] {
            assert_eq!(heuristic.estimate(&near).expect("nothing fails"), 4.0);
        }
    }
}
