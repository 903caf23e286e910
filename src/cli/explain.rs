//! `costar solve --explain`: a solution, move by move, with the heuristic's estimate of every state on the way.

use super::solve::print_line;
use crate::puzzle::{Puzzle, Style};
use crate::report::{Record, whole};
use crate::solver::{Solution, Solver, shown};
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;

/// A solution and every state on its way, as JSON.
#[derive(Debug, Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    report: &'a Record,
    /// The start, and the state after each move.
    steps: Vec<JsonStep>,
}

/// A state of a solution, as JSON.
#[derive(Debug, Serialize)]
struct JsonStep {
    state: String,
    #[serde(serialize_with = "whole")]
    g: Option<f64>,
    h: f32,
    f: f32,
}

/// A state of a solution.
struct Step<S> {
    state: S,
    /// The path cost: of all moves up to here, as the user counts.
    g: f64,
    /// The estimated cost-to-go, as the user counts.
    h: f64,
}

/// Prints every state of a solution, with g, h and f = λ·g + h; λ is the search's, or 1 where it has none.
///
/// # Errors
/// If the heuristic fails, or nothing can be printed.
pub(super) fn print<P: Puzzle>(
    out: &mut impl Write,
    solver: &mut Solver<P>,
    solution: &Solution<P::State>,
    style: Style,
) -> anyhow::Result<()> {
    let lambda = solution.record.lambda.unwrap_or(1.0);
    let asked = if solution.record.heuristic.is_some() { "" } else { ", which the search did not ask" };
    let name = solver.heuristic_name().to_owned();
    writeln!(out, "\nh is what {name} estimates{asked}; g is the path cost; f = {lambda}·g + h\n")?;
    let names = solution.record.moves.iter().flatten();
    let headings = std::iter::once("the instance".to_owned())
        .chain(names.enumerate().map(|(i, name)| format!("move {}, {name}", i + 1)));
    for (heading, Step { state, g, h }) in headings.zip(steps(solver, solution)?) {
        let f = f64::from(lambda) * g + h;
        writeln!(out, "{heading}: g {g}, h {h:.2}, f {f:.2}\n{}\n", solver.puzzle().draw(&state, style))?;
    }
    Ok(())
}

/// Prints the record of a solution as one JSON object, with `steps`: every state, and its g, h and f as above.
///
/// # Errors
/// If the heuristic fails, or nothing can be printed.
pub(super) fn print_json<P: Puzzle>(solver: &mut Solver<P>, solution: &Solution<P::State>) -> anyhow::Result<()> {
    let lambda = solution.record.lambda.unwrap_or(1.0);
    let steps = steps(solver, solution)?.into_iter();
    let steps = steps.map(|Step { state, g, h }| {
        let state = solver.puzzle().format(&state);
        JsonStep { state, g: Some(g), h: h as f32, f: (f64::from(lambda) * g + h) as f32 }
    });
    print_line(&Explained { report: &solution.record, steps: steps.collect() })
}

fn steps<P: Puzzle>(solver: &mut Solver<P>, solution: &Solution<P::State>) -> anyhow::Result<Vec<Step<P::State>>> {
    let mut state = solution.start;
    let mut g = 0;
    let puzzle = Arc::clone(solver.puzzle());
    let unit = shown(&*puzzle, 1);
    let mut estimate = |state: &P::State| -> anyhow::Result<f64> { Ok(f64::from(solver.estimate(state)?) * unit) };
    let mut steps = vec![Step { state, g: 0.0, h: estimate(&state)? }];
    for &action in solution.moves.iter().flatten() {
        // A solution was replayed before it came here: all its moves are legal.
        let Some(next) = puzzle.apply(&state, action) else { break };
        g += puzzle.move_cost(&state, action);
        state = next;
        steps.push(Step { state, g: shown(&*puzzle, g), h: estimate(&state)? });
    }
    Ok(steps)
}
