//! `costar puzzles`: what there is.

use super::{Ending, OrInput as _, SUCCESS, models};
use crate::puzzle::{Reversible, Visitor, catalogue, visit};
use std::io::{self, Write as _};

pub(super) fn run() -> Ending {
    for name in catalogue() {
        let text = visit(name, Describe).or_input()?;
        writeln!(io::stdout(), "{text}")?;
    }
    Ok(SUCCESS)
}

struct Describe;

impl Visitor for Describe {
    type Output = String;

    fn visit<P: Reversible>(self, puzzle: P) -> String {
        let name = puzzle.name();
        let models = models::names(&name);
        let models = if models.is_empty() { "none".into() } else { models.join(", ") };
        format!(
            "{name}\n  notation: {}\n  searches: bwas\n  heuristics: network, ball, zero\n  models: {models}",
            puzzle.notation()
        )
    }
}
