//! `costar scramble`: random scrambles, one a line.

use super::{Ending, OrInput as _, SUCCESS};
use crate::puzzle::{Puzzle, Reversible, Visitor, visit};
use crate::quantity;
use crate::sampler::{Walker, generator};
use anyhow::anyhow;
use std::io::{self, Write as _};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The puzzle
    #[arg(long, default_value = "cube3", value_name = "NAME")]
    puzzle: String,
    /// Moves of a scramble [default: as many as the hardest state needs]
    #[arg(long, value_name = "D", value_parser = quantity::count)]
    depth: Option<u64>,
    /// How many scrambles
    #[arg(long, default_value = "1", value_name = "N", value_parser = quantity::count)]
    count: u64,
    /// The same seed gives the same scrambles [default: another one each time]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    seed: Option<u64>,
}

pub(super) fn run(args: &Args) -> Ending {
    visit(&args.puzzle, None, Scramble(args)).or_input()?
}

struct Scramble<'a>(&'a Args);

impl Visitor for Scramble<'_> {
    type Output = Ending;

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Ending {
        Err(anyhow!("--puzzle {}: its moves cannot be undone, so that it has no scrambles", puzzle.name())).or_input()
    }

    fn visit<P: Reversible>(self, puzzle: P) -> Ending {
        let seed = self.0.seed.unwrap_or_else(rand::random);
        let depth = self.0.depth.unwrap_or_else(|| puzzle.default_depth().into());
        let mut out = io::BufWriter::new(io::stdout().lock());
        for number in 0..self.0.count {
            let mut generator = generator(seed, number);
            let mut walker = Walker::new(&puzzle, puzzle.goals()[0]);
            for i in 0..depth {
                let Some(action) = walker.step(&mut generator) else { break };
                write!(out, "{}{}", if i > 0 { " " } else { "" }, puzzle.move_name(action))?;
            }
            writeln!(out)?;
        }
        out.flush()?;
        Ok(SUCCESS)
    }
}
