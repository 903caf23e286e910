//! `costar puzzles`: what there is.

use super::reverse::Reverse;
use super::{Ending, OrInput as _, SUCCESS, models};
use crate::puzzle::{Puzzle, Reversible, Visitor, catalogue, visit};
use std::io::{self, Write as _};

pub(super) fn run() -> Ending {
    for name in catalogue() {
        let text = visit(name, None, Describe).or_input()?;
        writeln!(io::stdout(), "{text}")?;
    }
    Ok(SUCCESS)
}

struct Describe;

impl Visitor for Describe {
    type Output = String;

    fn visit<P: Reversible>(self, puzzle: P) -> String {
        describe(&puzzle, &Reverse::all())
    }

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> String {
        describe(&puzzle, &Reverse::none())
    }
}

fn describe<P: Puzzle>(puzzle: &P, reverse: &Reverse<P>) -> String {
    let name = puzzle.name();
    let models = models::names(&name);
    let models = if models.is_empty() { "none".into() } else { models.join(", ") };
    format!(
        "{name}\n  notation: {}\n  searches: {}\n  heuristics: network, {}\n  models: {models}",
        puzzle.notation(),
        reverse.searches().join(", "),
        reverse.heuristics(puzzle).join(", "),
    )
}
