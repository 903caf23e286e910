//! `costar scramble`: random instances as `solve` and `bench` read them, one per line or in blocks with blank lines between.

use super::flags::{PuzzleOrModel, check_model};
use super::{Ending, OrInput as _, SUCCESS};
use crate::puzzle::{Move, Puzzle, move_names};
use crate::quantity;
use crate::random::{Generator, generator};
use crate::registry::{Entry, with_entry};
use anyhow::{anyhow, ensure};
use std::io::{self, Write as _};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    puzzle: PuzzleOrModel,
    /// Moves per scramble, at most a million [default: the puzzle's own]
    #[arg(long, value_name = "D", value_parser = depth)]
    depth: Option<u64>,
    /// Form of the output: moves from the goal, or the state that they lead to [default: moves; state for puzzles whose moves
    /// cannot be undone]
    #[arg(long = "as", value_name = "FORM")]
    form: Option<Form>,
    /// Number of scrambles
    #[arg(long, default_value = "1", value_name = "N", value_parser = quantity::positive_count)]
    count: u64,
    /// Seed: the same one gives the same scrambles [default: random]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Form {
    /// Moves from the goal
    Moves,
    /// The state in the puzzle's notation
    State,
}

/// Reads the moves of a scramble: more than a million are refused wherever a scramble is read.
fn depth(text: &str) -> Result<u64, String> {
    const MOST: u64 = 1_000_000;
    let depth = quantity::count(text)?;
    if depth <= MOST { Ok(depth) } else { Err(format!("{text} is too large: expected at most {MOST}")) }
}

pub(super) fn run(args: &Args) -> Ending {
    with_entry!(args.puzzle.entry(None)?, entry => scramble(&entry, args))
}

fn scramble<P: Puzzle>(entry: &Entry<P>, args: &Args) -> Ending {
    check_model(&**entry.puzzle(), args.puzzle.model.as_deref()).or_input()?;
    let seed = args.seed.unwrap_or_else(rand::random);
    let mut out = io::BufWriter::new(io::stdout().lock());
    for number in 0..args.count {
        if number > 0 && entry.puzzle().takes_lines() {
            writeln!(out)?;
        }
        writeln!(out, "{}", instance(entry, args, &mut generator(seed, number)).or_input()?)?;
    }
    out.flush()?;
    Ok(SUCCESS)
}

/// The text of a random instance.
fn instance<P: Puzzle>(entry: &Entry<P>, args: &Args, generator: &mut Generator) -> anyhow::Result<String> {
    let puzzle = &**entry.puzzle();
    let Args { depth, form, .. } = args;
    if let Some((moves, _)) = entry.scramble(*depth, generator) {
        let moves = puzzle.in_hand("", &moves);
        let play = |state, &action: &Move| puzzle.apply(&state, action).unwrap_or(state);
        return Ok(match form.unwrap_or(Form::Moves) {
            Form::Moves => move_names(puzzle, &moves).join(" "),
            Form::State => puzzle.format(&moves.iter().fold(entry.goals()[0], play)),
        });
    }
    let name = puzzle.name();
    ensure!(
        !matches!(form, Some(Form::Moves)),
        "--as moves: the moves of {name} cannot be undone, so it has no scrambles; expected --as state"
    );
    let state = entry.random_state(*depth, generator);
    let refusal =
        || anyhow!("--puzzle {name}: its moves cannot be undone, and costar knows no other way to random states");
    Ok(puzzle.format(&state.ok_or_else(refusal)?))
}
