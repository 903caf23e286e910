//! What only puzzles have whose moves can be undone: goals, scrambles, searches from both ends, perimeters.

use crate::error::Result;
use crate::heuristic::{Heuristic, PerState, perimeter_heuristic};
use crate::memory;
use crate::puzzle::{Move, Puzzle, Reversible};
use crate::random::Generator;
use crate::sampler::{Labels, Samples, Source, Walker, Walks};
use crate::search::Search;
use crate::search::bidirectional::Bidirectional;
use crate::search::breadth_first::BreadthFirst;
use crate::search::nbs::NearOptimalBidirectional;
use crate::search::perimeter::{Extent, Perimeter, PerimeterShelf, Shelf, states_in};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The depth of the heuristic `perimeter`: 100,000 states of the cube.
const PERIMETER_DEPTH: u32 = 5;

/// What only puzzles have whose moves can be undone, for those who know a puzzle as a [`Puzzle`].
pub trait Reverse<P: Puzzle>: Send + Sync {
    /// [`Reversible::goals`].
    fn goals(&self, puzzle: &P) -> Vec<P::State>;

    /// [`Reversible::default_depth`].
    fn default_depth(&self, puzzle: &P) -> u32;

    /// A random walk from a goal: its moves, and where it ends. Shorter where it comes to a dead end.
    fn scramble(&self, puzzle: &P, depth: u64, generator: &mut Generator) -> (Vec<Move>, P::State);

    /// The search `bidirectional`.
    fn bidirectional(&self, perimeter: Perimeter<P::State>) -> Box<dyn Search<P>>;

    /// The search `nbs`.
    fn nbs(&self) -> Box<dyn Search<P>>;

    /// The heuristic `perimeter`.
    fn perimeter_heuristic(&self, puzzle: &Arc<P>) -> Box<dyn Heuristic<P::State>>;

    /// [`Perimeter::within`].
    fn perimeter(&self, puzzle: &P, depth: u32, room: usize, stop: &AtomicBool) -> Perimeter<P::State>;

    /// Where perimeters by classes are kept, of a puzzle that knows its symmetries.
    fn shelf<'a>(&self, puzzle: &'a P) -> Option<Box<dyn PerimeterShelf<P::State> + 'a>>;

    /// See [`Entry::samples`](super::Entry::samples).
    ///
    /// # Errors
    /// If the puzzle has no such samples.
    fn samples(
        &self,
        puzzle: Arc<P>,
        labels: Labels,
        sparse_states: f64,
        room: u64,
        stop: &AtomicBool,
    ) -> Result<Source>;
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
        let room = memory::available().unwrap_or(u64::MAX) / 2;
        let kept = Shelf::new(&**puzzle, None).and_then(|shelf| shelf.load(u32::MAX, room));
        let Some(perimeter) = kept else { return Box::new(perimeter_heuristic(&**puzzle, PERIMETER_DEPTH)) };
        let (puzzle, beyond) = (Arc::clone(puzzle), perimeter.least_outside() as f32);
        let estimate = move |state: &P::State| perimeter.cost(&*puzzle, state).map_or(beyond, |cost| cost as f32);
        Box::new(PerState::new("perimeter", true, estimate))
    }

    fn perimeter(&self, puzzle: &P, depth: u32, room: usize, stop: &AtomicBool) -> Perimeter<P::State> {
        Perimeter::within(puzzle, depth, room, stop)
    }

    fn shelf<'a>(&self, puzzle: &'a P) -> Option<Box<dyn PerimeterShelf<P::State> + 'a>> {
        Some(Box::new(Shelf::new(puzzle, None)?))
    }

    fn samples(
        &self,
        puzzle: Arc<P>,
        labels: Labels,
        sparse_states: f64,
        room: u64,
        stop: &AtomicBool,
    ) -> Result<Source> {
        let default_depth = puzzle.default_depth();
        let walks = Walks::new(Arc::clone(&puzzle)).with_sparse_states(sparse_states)?;
        let Some(depth) = labels.perimeter() else {
            return Ok(Source { samples: Arc::new(walks), default_depth });
        };
        let perimeter = exact_labels(&*puzzle, depth, room, stop);
        perimeter.check_reached(depth)?;
        let samples: Arc<dyn Samples> = Arc::new(match labels {
            Labels::Bellman { .. } => walks.with_children(perimeter),
            labels => walks.with_exact_labels(perimeter, matches!(labels, Labels::Tightened { .. })),
        });
        Ok(Source { samples, default_depth })
    }
}

/// The perimeter that gives exact labels: of classes where the puzzle knows its symmetries.
fn exact_labels<P: Reversible>(puzzle: &P, depth: u32, bytes: u64, stop: &AtomicBool) -> Perimeter<P::State> {
    let extent = Extent { depth, bytes, time: None, count_last: false };
    let Some(shelf) = Shelf::new(puzzle, None) else { return Perimeter::within(puzzle, depth, states_in(bytes), stop) };
    let kept = shelf.load(depth, bytes).filter(|kept| kept.depth() == depth || kept.is_whole());
    let make = || shelf.make_unkept(extent, stop, &mut |_| ());
    kept.or_else(make).unwrap_or_else(Perimeter::none)
}
