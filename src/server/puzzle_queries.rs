//! Questions that need a puzzle's rules: whether an instance is possible, a random instance, and the plan of a search.

use super::error::{ApiError, ApiResult};
use super::request::SolveRequest;
use super::worker::WorkerKey;
use crate::puzzle::{ParseError, Puzzle, move_names};
use crate::random::generator;
use crate::registry::{Entry, find, with_entry};
use crate::report::Record;
use crate::search::{End, Limit};
use crate::solver::{HeuristicPlan, Solver, planned_record};
use crate::view::Playback;
use serde_json::{Value, json};

/// The deepest perimeter that is built for a request.
const MAX_NEW_PERIMETER: u32 = 7;

/// Whether an instance is possible, and its state and picture, or the reason. An impossible one is not an error.
pub(super) fn check_instance<P: Puzzle>(entry: &Entry<P>, instance: &str) -> Value {
    let puzzle = &**entry.puzzle();
    let check = || {
        let state = puzzle.parse(instance)?;
        let (text, solved) = (puzzle.format(&state), puzzle.is_goal(&state));
        let scramble = Playback::new(puzzle, &entry.goals(), instance, &[])?;
        Ok(json!({ "possible": true, "reason": null, "state": text, "solved": solved, "playback": scramble }))
    };
    check().unwrap_or_else(|ParseError(reason)| {
        json!({ "possible": false, "reason": reason, "state": null, "solved": false, "playback": null })
    })
}

/// The most moves of a scramble, unless the puzzle's own scrambles have more.
const MAX_SCRAMBLE: u64 = 1000;

/// A random instance, `depth` moves from solved, and these moves; the same seed gives the same instance. The instance is the
/// moves, or the state if the puzzle writes instances as states. Without inverses of its moves, there are no moves.
pub(super) fn scramble<P: Puzzle>(entry: &Entry<P>, depth: Option<u64>, seed: u64) -> ApiResult<(String, String)> {
    let puzzle = &**entry.puzzle();
    let mut generator = generator(seed, 0);
    let default_depth = if puzzle.is_reversible() { puzzle.default_depth() } else { 0 };
    let most = MAX_SCRAMBLE.max(default_depth.into());
    if depth.is_some_and(|depth| depth > most) {
        return Err(ApiError::of("depth", format!("expected at most {most} moves")));
    }
    let Some((moves, state)) = entry.scramble(depth, &mut generator) else {
        let state = entry.random_state(depth, &mut generator);
        let reason = || format!("the moves of {} cannot be undone, so it has no scrambles", puzzle.name());
        return Ok((puzzle.format(&state.ok_or_else(|| ApiError::of("puzzle", reason()))?), String::new()));
    };
    let scramble = move_names(puzzle, &puzzle.in_hand("", &moves)).join(" ");
    let reads_moves = puzzle.scramble(&scramble).is_some();
    Ok((if reads_moves { scramble.clone() } else { puzzle.format(&state) }, scramble))
}

/// A request to solve that was found correct.
pub(super) struct CheckedRequest {
    pub(super) key: WorkerKey,
    pub(super) request: SolveRequest,
    /// The record if the request is stopped before its turn.
    pub(super) stopped: Box<Record>,
}

/// Checks everything about a request that can be checked before anything is loaded.
///
/// # Errors
/// Names the field, and what is expected.
pub(super) fn check_request(request: SolveRequest) -> ApiResult<CheckedRequest> {
    let entry = find(&request.puzzle, request.goal.as_deref())?;
    with_entry!(entry, entry => check(&entry, request))
}

fn check<P: Puzzle>(entry: &Entry<P>, request: SolveRequest) -> ApiResult<CheckedRequest> {
    let in_instance = |error: ParseError| ApiError::of("instance", error.0);
    let puzzle = &**entry.puzzle();
    let start = puzzle.parse(&request.instance).map_err(in_instance)?;
    Playback::new(puzzle, &[], &request.instance, &[]).map_err(in_instance)?;
    let plan = Solver::builder(entry.clone(), request.solver.clone()).plan()?;
    let asked = request.solver.options.perimeter.unwrap_or(0);
    let kept = if asked > MAX_NEW_PERIMETER { entry.cached_perimeter(plan.perimeter.class_bytes()) } else { None };
    let most = kept.map_or(MAX_NEW_PERIMETER, |kept| kept.max(MAX_NEW_PERIMETER));
    if asked > most {
        let reason = "the cache holds no deeper one that fits `max_memory`, and building one takes long: \
                      `costar perimeter` builds and keeps it";
        return Err(ApiError::of("perimeter", format!("expected at most {most}, got {asked}: {reason}")));
    }
    let model = if let HeuristicPlan::Network { name, .. } = &plan.heuristic { Some(name.clone()) } else { None };
    if model.is_some() {
        puzzle.check_encodes(&start).map_err(in_instance)?;
    }
    let stopped = Record {
        instance: request.instance.clone(),
        model,
        ended_by: Some(End::Limit(Limit::Stopped).to_string()),
        ..planned_record(puzzle, &plan.options(0), &request.solver.limits)
    };
    let (puzzle, goal) = (request.puzzle.clone(), request.goal.clone());
    let key = WorkerKey { puzzle, goal, heuristic: plan.heuristic };
    Ok(CheckedRequest { key, request, stopped: Box::new(stopped) })
}
