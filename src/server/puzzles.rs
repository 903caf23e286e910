//! What requests ask of a puzzle by its name, beside a search: whether an instance is possible, a scramble, and what a
//! search would do.

use super::error::ApiError;
use super::request::SolveRequest;
use crate::puzzle::{Puzzle, move_names};
use crate::random::generator;
use crate::registry::{Entry, Visitor, visit};
use crate::solver::HeuristicPlan;
use crate::view::Playback;
use serde::Serialize;

/// The deepest perimeter that is made for a request.
const MADE_PERIMETER: u32 = 7;

/// Whether an instance is possible, and how it looks.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    possible: bool,
    /// Why not.
    reason: Option<String>,
    /// The state, as text.
    state: Option<String>,
    /// Whether it is solved already.
    solved: bool,
    /// The scramble alone, to be shown.
    playback: Option<Playback>,
}

/// Reads an instance.
///
/// # Errors
/// If there is no such puzzle or goal. An impossible instance is no error.
pub(super) fn check(puzzle: &str, goal: Option<&str>, instance: &str) -> Result<Checked, ApiError> {
    Ok(visit(puzzle, goal, Check(instance))?)
}

struct Check<'a>(&'a str);

impl Visitor for Check<'_> {
    type Output = Checked;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Checked {
        let puzzle = &**entry.puzzle();
        let read =
            puzzle.parse(self.0).and_then(|state| Ok((state, Playback::new(puzzle, &entry.goals(), self.0, &[])?)));
        match read {
            Ok((state, playback)) => Checked {
                possible: true,
                reason: None,
                state: Some(puzzle.format(&state)),
                solved: puzzle.is_goal(&state),
                playback: Some(playback),
            },
            Err(error) => {
                Checked { possible: false, reason: Some(error.to_string()), state: None, solved: false, playback: None }
            }
        }
    }
}

/// A random instance.
#[derive(Debug, Serialize)]
pub(super) struct Scrambled {
    puzzle: String,
    /// What a search can be asked to solve: the moves, or where instances are written as states, the state.
    instance: String,
    /// The moves from solved; none of a puzzle whose moves cannot be undone.
    scramble: String,
    seed: u64,
}

/// Scrambles a puzzle by so many moves; the same seed gives the same scramble. `name` is what the request calls the
/// puzzle, and `found` what [`visit`] knows it by.
///
/// # Errors
/// If there is no such puzzle, or its moves cannot be undone.
pub(super) fn scramble(name: &str, found: &str, depth: Option<u32>, seed: u64) -> Result<Scrambled, ApiError> {
    visit(found, None, Scramble { name, depth, seed })?
}

struct Scramble<'a> {
    name: &'a str,
    depth: Option<u32>,
    seed: u64,
}

impl Visitor for Scramble<'_> {
    type Output = Result<Scrambled, ApiError>;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Self::Output {
        let puzzle = &**entry.puzzle();
        let Some(reverse) = entry.reverse() else {
            let state = entry.random_state(self.depth.map(u64::from), &mut generator(self.seed, 0));
            let reason = || format!("the moves of {} cannot be undone, so it has no scrambles", puzzle.name());
            let instance = puzzle.format(&state.ok_or_else(|| ApiError::of("puzzle", reason()))?);
            return Ok(Scrambled { puzzle: self.name.into(), instance, scramble: String::new(), seed: self.seed });
        };
        let depth = self.depth.unwrap_or_else(|| reverse.default_depth(puzzle));
        let (moves, state) = reverse.scramble(puzzle, depth.into(), &mut generator(self.seed, 0));
        let scramble = move_names(puzzle, &moves).join(" ");
        let written_as_moves = puzzle.scramble(&scramble).is_some();
        let instance = if written_as_moves { scramble.clone() } else { puzzle.format(&state) };
        Ok(Scrambled { puzzle: self.name.into(), instance, scramble, seed: self.seed })
    }
}

/// What a search is done with: a worker does one at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WorkerKey {
    pub(super) puzzle: String,
    pub(super) goal: Option<String>,
    pub(super) heuristic: HeuristicPlan,
}

/// Checks all of a request that can be checked before anything is loaded.
///
/// # Errors
/// Names the field, and what is expected.
pub(super) fn check_request(request: &SolveRequest) -> Result<WorkerKey, ApiError> {
    let heuristic = visit(&request.puzzle, request.goal.as_deref(), CheckRequest(request))??;
    Ok(WorkerKey { puzzle: request.puzzle.clone(), goal: request.goal.clone(), heuristic })
}

struct CheckRequest<'a>(&'a SolveRequest);

impl Visitor for CheckRequest<'_> {
    type Output = Result<HeuristicPlan, ApiError>;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Self::Output {
        let request = self.0;
        let in_instance = |error: crate::puzzle::ParseError| ApiError::of("instance", error.0);
        let puzzle = &**entry.puzzle();
        let start = puzzle.parse(&request.instance).map_err(in_instance)?;
        Playback::new(puzzle, &[], &request.instance, &[]).map_err(in_instance)?;
        let plan = request.builder(entry.clone()).plan()?;
        let asked = request.search.perimeter.unwrap_or(0);
        let kept = if asked > MADE_PERIMETER { entry.kept_perimeter(plan.perimeter.class_bytes()) } else { None };
        let most = kept.map_or(MADE_PERIMETER, |kept| kept.max(MADE_PERIMETER));
        if asked > most {
            let reason = "none deeper is kept that fits `max_memory`, and to make one takes long; `costar perimeter` makes and keeps it";
            return Err(ApiError::of("perimeter", format!("expected at most {most}, got {asked}: {reason}")));
        }
        if matches!(plan.heuristic, HeuristicPlan::Network { .. }) {
            puzzle.check_encodes(&start).map_err(in_instance)?;
        }
        Ok(plan.heuristic)
    }
}
