//! Reversible puzzles: goals, scrambles, searches from both ends, perimeters.

use crate::heuristic::{Heuristic, PerState, perimeter_heuristic};
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

/// The depth of the heuristic `perimeter`: 100,000 states of the cube.
const PERIMETER_DEPTH: u32 = 5;

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
        let Some(perimeter) = kept else { return Box::new(perimeter_heuristic(&**puzzle, PERIMETER_DEPTH)) };
        let (puzzle, beyond) = (Arc::clone(puzzle), perimeter.min_cost_outside() as f32);
        let estimate = move |state: &P::State| perimeter.cost(&*puzzle, state).map_or(beyond, |cost| cost as f32);
        Box::new(PerState::new("perimeter", true, estimate))
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
