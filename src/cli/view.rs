//! `costar view`: a page that plays a solution.

use super::flags::{PuzzleOrModel, check_model};
use super::progress::note;
use super::{Ending, NOT_SOLVED, OrInput as _, SUCCESS, output_file};
use crate::puzzle::Puzzle;
use crate::registry::{Entry, with_entry};
use crate::view::{Playback, page};
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    puzzle: PuzzleOrModel,
    /// The goal, if not the puzzle's own
    #[arg(long, value_name = "STATE")]
    goal: Option<String>,
    /// The file of the page
    #[arg(long, default_value = "costar-view.html", value_name = "FILE")]
    out: PathBuf,
    /// The instance (cube: a scramble "U U F' R2", or 54 facelets)
    #[arg(value_name = "INSTANCE")]
    instance: String,
    /// The moves that solve it
    #[arg(value_name = "SOLUTION")]
    solution: String,
}

pub(super) fn run(args: &Args) -> Ending {
    output_file::check_page(&args.out).or_input()?;
    with_entry!(args.puzzle.entry(args.goal.as_deref())?, entry => view(&entry, args))
}

fn view<P: Puzzle>(entry: &Entry<P>, args: &Args) -> Ending {
    let puzzle = &**entry.puzzle();
    let Args { instance, solution, out, .. } = args;
    check_model(puzzle, args.puzzle.model.as_deref()).or_input()?;
    // How a solution is read may depend on the instance, which is refused first.
    puzzle.parse(instance).or_input()?;
    let moves = puzzle.parse_solution(instance, solution).context("the solution").or_input()?;
    let playback = Playback::new(puzzle, &entry.goals(), instance, &moves).or_input()?.written_as(puzzle, solution);
    if let Some(reading) = puzzle.read_as(instance) {
        note!("costar: read {reading}");
    }
    write(out, &playback).or_input()?;
    if playback.solves {
        return Ok(SUCCESS);
    }
    match playback.illegal() {
        Some(number) => {
            let name = &playback.moves[playback.scramble + number - 1];
            note!("costar: the solution is wrong: its move {number}, {name}, is not possible there");
        }
        None => note!("costar: the solution is wrong: it does not lead to a goal"),
    }
    Ok(NOT_SOLVED)
}

/// Writes the page of a playback, and logs its path.
pub(super) fn write(path: &Path, playback: &Playback) -> Result<()> {
    let page = page(playback).context("the page cannot be built")?;
    output_file::write(path, page.as_bytes())?;
    note!("costar: the page is {}: open it in a browser", path.display());
    Ok(())
}
