//! The search `reduction`: a large cube is solved in stages. Each has few enough states for its network, and the last is a
//! 3×3×3.
//!
//! The states of a 4×4×4 are too many for one network: beyond some 35 moves they look alike to it. So a beam first
//! leads to [a state that can be solved as a 3×3×3](crate::puzzle::cube_n::stages::reduction), some 25 moves away
//! (docs/experiments/reduction.md). On a 5×5×5, that way has two parts: [centres](crate::puzzle::cube_n::stages::centres), then
//! [edges](crate::puzzle::cube_n::stages::edges).

use super::builder::{SearchParts, build_search};
use super::options::{Engine, SearchOptions};
use super::plan::{Plan, Request};
use super::{LoadedNetwork, Solver};
use crate::error::{Error, Result};
use crate::puzzle::cube_n::stages::facelets_of_cube3;
use crate::puzzle::cube_n::{CubeN, Metric};
use crate::puzzle::{Cost, Move, ParseError, Puzzle, move_names, replay};
use crate::registry::Entry;
use crate::search::neighbourhood::shortened;
use crate::search::perimeter::Perimeter;
use crate::search::{Control, End, Incumbent, Limits, Search, SearchResult, Stats, Task};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// States around the solution of all stages that are searched for a shorter path.
const AROUND: usize = 50_000;

/// The width of a beam towards a stage's goal, as a multiple of the width of the search of the 3×3×3: its network is smaller.
const STAGE_WIDTH: usize = 2;

/// The longest solution that the network of the whole cube looks for, before the stages.
const WHOLE_MOVES: Cost = 30;

/// The limits and the width of its search are those of the reduction, divided by this.
const WHOLE_DIVISOR: u32 = 4;

/// The solvers of a reduction. They serve one search at a time.
pub(super) type SharedStages = Arc<Mutex<Stages>>;

/// The solvers of a reduction.
pub(super) struct Stages {
    /// The solver of the whole cube, if there is a network for it.
    pub(super) whole: Option<Stage>,
    pub(super) stages: Vec<Stage>,
}

impl Stages {
    /// The first network, with a checksum of the weights of all.
    pub(super) fn network(&self) -> Option<LoadedNetwork> {
        let networks = self.stages.iter().chain(&self.whole).filter_map(|stage| stage.network.as_ref());
        let mut sum = crc32fast::Hasher::new();
        networks.for_each(|network| sum.update(&network.weights_crc32.to_le_bytes()));
        Some(LoadedNetwork { weights_crc32: sum.finalize(), ..self.stages.first()?.network.clone()? })
    }

    /// Looks for a short solution with the network of the whole cube; `None` without such a network, or if a solution
    /// below the bound may be longer.
    fn near(&mut self, text: &str, n: usize, control: &mut Control<'_>) -> Result<Option<StageResult>> {
        let bound = control.bound.unwrap_or(WHOLE_MOVES + 1);
        let Some(whole) = self.whole.as_mut().filter(|_| bound <= WHOLE_MOVES + 1) else { return Ok(None) };
        let limits = control.limits.clone();
        let limits = if control.bound.is_some() { limits } else { limits.share(WHOLE_DIVISOR) };
        (whole.solve)(text, n.div_ceil(WHOLE_DIVISOR as usize), Some(bound), &limits, control).map(Some)
    }

    /// Searches stage by stage, and adds to the counts; returns the moves, or how the stage without a solution ended.
    fn in_turn<P: Puzzle>(
        &mut self,
        puzzle: &P,
        start: &P::State,
        n: usize,
        control: &mut Control<'_>,
        stats: &mut Stats,
    ) -> Result<Result<Vec<Move>, End>> {
        let (mut state, mut moves) = held_upright(puzzle, *start).map_err(failed)?;
        let last = self.stages.len() - 1;
        for (number, stage) in self.stages.iter_mut().enumerate() {
            let facelets = puzzle.format(&state);
            let (text, n) = match number == last {
                true => (facelets_of_cube3(&facelets), n),
                false => (facelets, STAGE_WIDTH * n),
            };
            let limits = control.limits.after(stats.generated);
            let (result, names) = (stage.solve)(&text, n, None, &limits, control)?;
            *stats = stats.and(&result.stats);
            let Some(names) = names else { return Ok(Err(result.end)) };
            let part = puzzle.read_moves(&names).map_err(failed)?;
            state = replay(puzzle, &state, &part).map_err(failed)?.0;
            moves.extend(part);
        }
        Ok(Ok(moves))
    }
}

/// The result of a search, and the names of the moves.
type StageResult = (SearchResult, Option<String>);

/// Searches an instance with a width, for a solution below a bound.
type Solve = dyn FnMut(&str, usize, Option<Cost>, &Limits, &mut Control<'_>) -> Result<StageResult> + Send;

/// The solver of one stage.
pub(super) struct Stage {
    network: Option<LoadedNetwork>,
    solve: Box<Solve>,
}

/// The options of a stage. The engine is the host: a stage builds its search for each instance, and has no network for a search
/// on the device. A proof of a part proves nothing of the whole, and instead of a perimeter, a wider beam finds shorter
/// solutions in the same time (docs/experiments/reduction.md).
pub(super) fn stage_options(is_last: bool) -> SearchOptions {
    let options = SearchOptions { proof_budget: Some(0), engine: Some(Engine::Host), ..SearchOptions::default() };
    if is_last {
        return options;
    }
    let (search, symmetries) = (Some("beam".into()), Some(Some(1)));
    SearchOptions { search, symmetries, perimeter: Some(0), ..options }
}

/// Builds the solver of a stage.
pub(super) fn build_stage<P: Puzzle>(entry: Entry<P>, request: Request, stop: &Arc<AtomicBool>) -> Result<Stage> {
    let mut solver = Solver::builder(entry, request).stop(Arc::clone(stop)).build()?;
    let network = solver.network.clone();
    let solve: Box<Solve> = Box::new(move |text, n, bound, limits, control| {
        let puzzle = Arc::clone(solver.puzzle());
        let plan = Plan { search: solver.plan.search.with_width(|_| n), ..solver.plan.clone() };
        let built = build_search(&plan, &solver.entry, SearchParts::default(), &mut solver.perimeters, control.stop);
        let (search, _) = built.map_err(failed)?;
        let start = puzzle.parse(text).map_err(failed)?;
        let mut control = control.child(limits, bound, |_| None);
        if bound.is_none() {
            // The solution of a stage is only a part: it may cost anything.
            (control.bound, control.good_enough) = (None, None);
        }
        let result = search.run(&*puzzle, &start, &mut *solver.heuristic, &mut control)?;
        let names = result.moves.as_ref().map(|moves| move_names(&*puzzle, moves).join(" "));
        Ok((result, names))
    });
    Ok(Stage { network, solve })
}

/// Turns the middle centres of a cube `:oriented` home by the fewest turns of middle layers, since no stage turns these. Other
/// cubes stay as they are.
///
/// # Errors
/// If the centres are not those of a cube.
fn held_upright<P: Puzzle>(puzzle: &P, start: P::State) -> Result<(P::State, Vec<Move>), ParseError> {
    let is_still = matches!(CubeN::parse_name(&puzzle.name()), Some((_, Metric::Oriented)));
    let is_upright = |state: &P::State| {
        let facelets = puzzle.format(state);
        let face = facelets.len() / 6;
        !is_still || face % 2 == 0 || facelets.bytes().skip(face / 2).step_by(face).eq(*b"URFDLB")
    };
    let mut paths = VecDeque::from([(start, Vec::new())]);
    while let Some((state, moves)) = paths.pop_front() {
        if is_upright(&state) {
            return Ok((state, moves));
        }
        if moves.len() == 3 {
            continue; // that many turns lead to any way to hold a cube
        }
        for turn in puzzle.read_moves("3R 3U 3F 3R' 3U' 3F'")? {
            let next = puzzle.apply(&state, turn).map(|next| (next, [&moves[..], &[turn]].concat()));
            paths.extend(next);
        }
    }
    Err(ParseError("the centres in the middle are not those of a cube".into()))
}

/// The search `reduction`.
pub(super) struct Reduction<S> {
    /// The width of the search of the 3×3×3.
    pub(super) n: usize,
    /// The states with known exact cost, which need no stages.
    pub(super) perimeter: Perimeter<S>,
    pub(super) stages: SharedStages,
}

impl<P: Puzzle> Search<P> for Reduction<P::State> {
    fn solve(&self, task: Task<'_, '_, P>) -> Result<SearchResult> {
        let Task { puzzle, start, control, .. } = task;
        if let Some(moves) = self.perimeter.path_to_goal(puzzle, start) {
            let solution = Incumbent::replayed(puzzle, start, moves);
            return Ok(SearchResult::new(End::Solved, Some(solution), true, Stats::default()));
        }
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        let (near, mut stats) = match stages.near(&puzzle.format(start), self.n, control)? {
            Some((result, None)) if control.bound.is_some() => return Ok(result),
            Some((result, names)) => (names, result.stats),
            None => (None, Stats::default()),
        };
        let found = match near {
            Some(names) => puzzle.read_moves(&names).map_err(failed)?,
            None => match stages.in_turn(puzzle, start, self.n, control, &mut stats)? {
                Ok(moves) => moves,
                Err(end) => return Ok(SearchResult::new(end, None, false, stats)),
            },
        };
        let moves = shortened(puzzle, start, &found, |state| puzzle.is_goal(state), AROUND, control.stop);
        let solution = Incumbent::replayed(puzzle, start, moves);
        if control.bound.is_none_or(|bound| solution.cost < bound) {
            control.report_incumbent(&solution);
        }
        Ok(SearchResult::new(End::Solved, Some(solution), false, stats))
    }
}

/// A stage fails as a heuristic of the whole search would.
fn failed(error: impl std::fmt::Display) -> Error {
    Error::Heuristic(error.to_string())
}
