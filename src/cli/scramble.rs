//! `costar scramble`: random instances, one a line, as `solve` and `bench` read them.

use super::{Ending, OrInput as _, SUCCESS};
use crate::puzzle::{Puzzle, move_names};
use crate::quantity;
use crate::random::generator;
use crate::registry::{Entry, Visitor, visit};
use anyhow::anyhow;
use std::io::{self, Write as _};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The puzzle
    #[arg(long, default_value = "cube3", value_name = "NAME")]
    puzzle: String,
    /// Moves of a scramble [default: the puzzle's own]
    #[arg(long, value_name = "D", value_parser = quantity::count)]
    depth: Option<u64>,
    /// As moves from the goal, or as the states that they lead to [default: moves]
    #[arg(long = "as", default_value = "moves", value_name = "FORM")]
    form: Form,
    /// How many scrambles
    #[arg(long, default_value = "1", value_name = "N", value_parser = quantity::count)]
    count: u64,
    /// The same seed gives the same scrambles [default: another one each time]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Form {
    /// Moves from the goal
    Moves,
    /// The state, as the puzzle writes it
    State,
}

pub(super) fn run(args: &Args) -> Ending {
    visit(&args.puzzle, None, Scramble(args)).or_input()?
}

struct Scramble<'a>(&'a Args);

impl Visitor for Scramble<'_> {
    type Output = Ending;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Ending {
        let puzzle = &**entry.puzzle();
        let refusal = || anyhow!("--puzzle {}: its moves cannot be undone, so it has no scrambles", puzzle.name());
        let reverse = entry.reverse().ok_or_else(refusal).or_input()?;
        let seed = self.0.seed.unwrap_or_else(rand::random);
        let depth = self.0.depth.unwrap_or_else(|| reverse.default_depth(puzzle).into());
        let mut out = io::BufWriter::new(io::stdout().lock());
        for number in 0..self.0.count {
            let (moves, state) = reverse.scramble(puzzle, depth, &mut generator(seed, number));
            let text = match self.0.form {
                Form::Moves => move_names(puzzle, &moves).join(" "),
                Form::State => puzzle.format(&state),
            };
            writeln!(out, "{text}")?;
        }
        out.flush()?;
        Ok(SUCCESS)
    }
}
