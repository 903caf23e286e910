//! `costar solve --explain`: a solution move by move, with the heuristic's estimate of every state on the way.

use super::solve::print_line;
use crate::json::short;
use crate::puzzle::{Puzzle, Style};
use crate::report::whole;
use crate::solver::{Solution, Solver, shown};
use anyhow::Result;
use serde_json::json;
use std::io::{self, Write as _};
use std::sync::Arc;

/// A state of a solution, and its g, h and f in the user's units.
type ExplainedState<S> = (S, f64, f32, f32);

/// Prints every state of a solution, with g, h and f = λ·g + h; λ is the search's, or 1 if it has none.
///
/// # Errors
/// If the heuristic fails, or nothing can be printed.
pub(super) fn print<P: Puzzle>(solver: &mut Solver<P>, solution: &Solution<P::State>, style: Style) -> Result<()> {
    let mut out = io::stdout().lock();
    let report = &solution.record;
    let unused = if report.heuristic.is_some() { "" } else { ", which the search did not ask" };
    let (name, lambda) = (solver.heuristic_name().to_owned(), report.lambda.unwrap_or(1.0));
    writeln!(out, "\nh is the estimate of the heuristic {name}{unused}; g is the path cost; f = {lambda}·g + h\n")?;
    let moves = report.moves.iter().flatten().enumerate();
    let headings =
        std::iter::once("the instance".to_owned()).chain(moves.map(|(i, name)| format!("move {}, {name}", i + 1)));
    for (heading, (state, g, h, f)) in headings.zip(steps(solver, solution)?) {
        writeln!(out, "{heading}: g {g}, h {h:.2}, f {f:.2}\n{}\n", solver.puzzle().draw(&state, style))?;
    }
    Ok(())
}

/// Prints the record of a solution as one JSON object, with `steps`: every state, and its g, h and f as above.
///
/// # Errors
/// If the heuristic fails, or nothing can be printed.
pub(super) fn print_json<P: Puzzle>(solver: &mut Solver<P>, solution: &Solution<P::State>) -> Result<()> {
    let steps = steps(solver, solution)?.into_iter().map(|(state, g, h, f)| {
        json!({ "state": solver.puzzle().format(&state), "g": whole(g), "h": short(h), "f": short(f) })
    });
    let mut record = json!(solution.record);
    record["steps"] = steps.collect();
    print_line(&record)
}

fn steps<P: Puzzle>(solver: &mut Solver<P>, solution: &Solution<P::State>) -> Result<Vec<ExplainedState<P::State>>> {
    let puzzle = Arc::clone(solver.puzzle());
    let (unit, lambda) = (shown(&*puzzle, 1), solution.record.lambda.unwrap_or(1.0));
    let mut step = |state: P::State, g: u32| -> Result<ExplainedState<P::State>> {
        let (g, h) = (shown(&*puzzle, g), f64::from(solver.estimate(&puzzle.normalized(&state))?) * unit);
        Ok((state, g, h as f32, (lambda * g + h) as f32))
    };
    // The puzzle in the hand, for which the moves are named.
    let instance = &solution.record.instance;
    let start = puzzle.state_in_hand(instance).unwrap_or(solution.start);
    let moves = puzzle.in_hand(instance, solution.moves.as_deref().unwrap_or_default());
    let (mut state, mut g) = (start, 0);
    let mut steps = vec![step(state, g)?];
    for action in moves {
        // The solution was replayed before: all its moves are legal.
        let Some(next) = puzzle.apply(&state, action) else { break };
        g += puzzle.move_cost(&state, action);
        state = next;
        steps.push(step(state, g)?);
    }
    Ok(steps)
}
