//! The search `reduction`: a beam leads a 4×4×4 to a state that turns like a 3×3×3, and the default search of the 3×3×3 solves
//! that.
//!
//! The states of the 4×4×4 are too many for one network: beyond some 35 moves they look alike to it. The
//! [first stage](crate::puzzle::cube_n::reduction) has 10²⁷, some 25 moves from their goal, so that a small network orders them well
//! (docs/experiments/reduction.md).

use super::Solver;
use super::options::REDUCTION;
use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::cube_n::reduction::facelets_of_cube3;
use crate::puzzle::cube3::Cube3;
use crate::puzzle::permutation::Permutation;
use crate::puzzle::{Puzzle, move_names, replay};
use crate::search::neighbourhood::shortened;
use crate::search::perimeter::Perimeter;
use crate::search::{Control, End, Incumbent, Search, SearchResult, Stats};
use std::sync::{Arc, Mutex, PoisonError};

/// States around the solution of both stages that are searched for a shorter path.
const AROUND: usize = 50_000;

/// The solvers of both stages.
pub(super) struct Stages {
    pub(super) first: Solver<Permutation<64>>,
    /// The perimeter of the first stage.
    pub(super) perimeter: Perimeter<[u8; 64]>,
    pub(super) last: Solver<Cube3>,
}

/// The search `reduction`.
pub(super) struct Reduction<S> {
    /// The search of each stage.
    pub(super) first: Box<dyn Search<Permutation<64>>>,
    pub(super) last: Arc<dyn Search<Cube3>>,
    /// The states with known exact cost, which need no stages.
    pub(super) perimeter: Perimeter<S>,
    pub(super) stages: Arc<Mutex<Stages>>,
}

impl<P: Puzzle> Search<P> for Reduction<P::State> {
    fn name(&self) -> &'static str {
        REDUCTION
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        _heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<SearchResult, HeuristicError> {
        if let Some(moves) = self.perimeter.path_to_goal(puzzle, start) {
            let stats = Stats { seconds: control.seconds(), ..Stats::default() };
            return Ok(SearchResult::new(End::Solved, Some(Incumbent::replayed(puzzle, start, moves)), true, stats));
        }
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        let Stages { first, last, .. } = &mut *stages;
        let (result, names) = solve(first, &*self.first, &puzzle.format(start), Stats::default(), control)?;
        let Some(names) = names else { return Ok(result) };
        let stats = result.stats;
        let mut moves = puzzle.read_moves(&names).map_err(failed)?;
        let (reduced, _) = replay(puzzle, start, &moves).map_err(failed)?;
        let (result, names) = solve(last, &*self.last, &facelets_of_cube3(&puzzle.format(&reduced)), stats, control)?;
        let stats = stats.and(&result.stats);
        let Some(names) = names else { return Ok(SearchResult { stats, ..result }) };
        moves.extend(puzzle.read_moves(&names).map_err(failed)?);
        let moves = shortened(puzzle, start, &moves, |state| puzzle.is_goal(state), AROUND, control.stop());
        let solution = Incumbent::replayed(puzzle, start, moves);
        if control.bound().is_none_or(|bound| solution.cost < bound) {
            control.report_incumbent(&solution);
        }
        // A cube that is solved needs no move.
        let is_shortest = solution.cost == 0;
        let stats = Stats { seconds: control.seconds(), ..stats };
        Ok(SearchResult::new(End::Solved, Some(solution), is_shortest, stats))
    }
}

/// Searches an instance of one stage, with what `before` leaves of the limits. Also returns the names of the moves.
fn solve<P: Puzzle>(
    solver: &mut Solver<P>,
    search: &dyn Search<P>,
    text: &str,
    before: Stats,
    control: &mut Control<'_>,
) -> Result<(SearchResult, Option<String>), HeuristicError> {
    let puzzle = Arc::clone(solver.puzzle());
    let start = puzzle.parse(text).map_err(failed)?;
    let limits = control.limits().after(before.generated);
    let mut control = control.child(&limits, None, |_| None).without_bound();
    let result = search.run(&*puzzle, &start, &mut *solver.heuristic, &mut control)?;
    let names = result.moves.as_ref().map(|moves| move_names(&*puzzle, moves).join(" "));
    Ok((result, names))
}

/// A stage fails as a heuristic of the whole search would.
fn failed(error: impl std::fmt::Display) -> HeuristicError {
    HeuristicError(error.to_string())
}
