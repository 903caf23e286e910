//! Reversible puzzles: goals, scrambles, searches from both ends, perimeters.

use crate::heuristic::{Heuristic, PerState};
use crate::memory;
use crate::puzzle::{Move, Puzzle, Reversible};
use crate::random::Generator;
use crate::sampler::{Walker, Walks};
use crate::search::Search;
use crate::search::bidirectional::Bidirectional;
use crate::search::breadth_first::BreadthFirst;
use crate::search::nbs::NearOptimalBidirectional;
use crate::search::perimeter::{Perimeter, PerimeterFolder, PerimeterStore};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The depth of the heuristic `perimeter`, 100,000 states of the cube, and the most states: they are made for each solver.
const PERIMETER_DEPTH: u32 = 5;
const PERIMETER_STATES: usize = 1 << 20;

/// The methods of a [`Reversible`] puzzle that is known as a [`Puzzle`] only.
pub trait Reverse<P: Puzzle>: Send + Sync {
    /// [`Reversible::goals`].
    fn goals(&self, puzzle: &P) -> Vec<P::State>;

    /// [`Reversible::default_depth`].
    fn default_depth(&self, puzzle: &P) -> u32;

    /// A random walk from a goal: its moves and its last state. A dead end makes it shorter.
    fn scramble(&self, puzzle: &P, depth: u64, generator: &mut Generator) -> (Vec<Move>, P::State);

    /// The search `bidirectional`.
    fn bidirectional(&self, perimeter: Perimeter<P::State>) -> Box<dyn Search<P>>;

    /// The search `nbs`.
    fn nbs(&self) -> Box<dyn Search<P>>;

    /// The heuristic `perimeter`.
    fn perimeter_heuristic(&self, puzzle: &Arc<P>) -> Box<dyn Heuristic<P::State>>;

    /// [`Perimeter::within`].
    fn perimeter(&self, puzzle: &P, depth: u32, capacity: usize, stop: &AtomicBool) -> Perimeter<P::State>;

    /// The perimeters on the disk, for a puzzle that knows its symmetries.
    fn perimeter_store<'a>(&self, puzzle: &'a P) -> Option<Box<dyn PerimeterStore<P::State> + 'a>>;

    /// Random walks from the goals, as training samples.
    fn walks(&self, puzzle: &Arc<P>) -> Walks<P>;
}

/// [`Reverse`] of every reversible puzzle.
pub(super) struct ByInverses;

impl<P: Reversible> Reverse<P> for ByInverses {
    fn goals(&self, puzzle: &P) -> Vec<P::State> {
        puzzle.goals()
    }

    fn default_depth(&self, puzzle: &P) -> u32 {
        puzzle.default_depth()
    }

    fn scramble(&self, puzzle: &P, depth: u64, generator: &mut Generator) -> (Vec<Move>, P::State) {
        let mut walker = Walker::new(puzzle, puzzle.goals()[0]);
        let moves = (0..depth).map_while(|_| walker.step(generator)).collect();
        (moves, walker.state)
    }

    fn bidirectional(&self, perimeter: Perimeter<P::State>) -> Box<dyn Search<P>> {
        Box::new(Bidirectional { forward: BreadthFirst { perimeter } })
    }

    fn nbs(&self) -> Box<dyn Search<P>> {
        Box::new(NearOptimalBidirectional)
    }

    fn perimeter_heuristic(&self, puzzle: &Arc<P>) -> Box<dyn Heuristic<P::State>> {
        let budget = Perimeter::<P::State>::memory_budget(memory::available());
        let kept = PerimeterFolder::new(&**puzzle, None).and_then(|folder| folder.load(u32::MAX, budget));
        let perimeter = kept.unwrap_or_else(|| {
            Perimeter::within(&**puzzle, PERIMETER_DEPTH, PERIMETER_STATES, &AtomicBool::new(false))
        });
        Box::new(perimeter_heuristic(puzzle, perimeter))
    }

    fn perimeter(&self, puzzle: &P, depth: u32, capacity: usize, stop: &AtomicBool) -> Perimeter<P::State> {
        Perimeter::within(puzzle, depth, capacity, stop)
    }

    fn perimeter_store<'a>(&self, puzzle: &'a P) -> Option<Box<dyn PerimeterStore<P::State> + 'a>> {
        Some(Box::new(PerimeterFolder::new(puzzle, None)?))
    }

    fn walks(&self, puzzle: &Arc<P>) -> Walks<P> {
        Walks::new(Arc::clone(puzzle))
    }
}

/// The estimate `perimeter`: the cost of the cheapest move times the distance in moves; outside the perimeter, times its depth
/// + 1. Admissible; exact if all moves cost the same and the perimeter holds the whole puzzle.
pub fn perimeter_heuristic<P: Reversible>(puzzle: &Arc<P>, perimeter: Perimeter<P::State>) -> PerState<P::State> {
    let (puzzle, goal) = (Arc::clone(puzzle), puzzle.goals()[0]);
    // All costs are 1, or given by the user and the same in all states.
    let costs = puzzle.children(&goal).map(|(action, _)| puzzle.move_cost(&goal, action));
    let (least, beyond) = (costs.min().unwrap_or(1) as f32, perimeter.min_cost_outside());
    PerState::new("perimeter", true, move |state| least * perimeter.cost(&*puzzle, state).unwrap_or(beyond) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        for mut heuristic in [ByInverses.perimeter_heuristic(&puzzle), Box::new(kept)] {
            assert_eq!(heuristic.estimate(&near).expect("nothing fails"), 4.0);
        }
    }
}
