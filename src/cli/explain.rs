//! `costar solve --explain`: a solution, move by move, with the heuristic's estimate of every state on the way.

use crate::puzzle::{Cost, Puzzle, Style};
use crate::solver::{Solution, Solver};
use std::io::Write;

/// A state of a solution.
struct Step<S> {
    state: S,
    /// The path cost: of all moves up to here.
    g: Cost,
    /// The estimated cost-to-go.
    h: f32,
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
    let lambda = solution.report.lambda.unwrap_or(1.0);
    let asked = if solution.report.heuristic.is_some() { "" } else { ", which the search did not ask" };
    let name = solver.heuristic_name().to_owned();
    writeln!(out, "\nh is what {name} estimates{asked}; g is the path cost; f = {lambda}·g + h\n")?;
    let names = solution.report.moves.iter().flatten();
    let headings = std::iter::once("the instance".to_owned())
        .chain(names.enumerate().map(|(i, name)| format!("move {}, {name}", i + 1)));
    for (heading, Step { state, g, h }) in headings.zip(steps(solver, solution)?) {
        let f = lambda * g as f32 + h;
        writeln!(out, "{heading}: g {g}, h {h:.2}, f {f:.2}\n{}\n", solver.puzzle().draw(&state, style))?;
    }
    Ok(())
}

fn steps<P: Puzzle>(solver: &mut Solver<P>, solution: &Solution<P::State>) -> anyhow::Result<Vec<Step<P::State>>> {
    let mut state = solution.start;
    let mut g = 0;
    let mut steps = vec![Step { state, g, h: solver.estimate(&state)? }];
    for &action in solution.moves.iter().flatten() {
        // A solution was replayed before it came here: all its moves are legal.
        let Some(next) = solver.puzzle().apply(&state, action) else { break };
        g += solver.puzzle().move_cost(&state, action);
        state = next;
        steps.push(Step { state, g, h: solver.estimate(&state)? });
    }
    Ok(steps)
}
