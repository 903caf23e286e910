//! `costar view`: a page that plays a solution.

use super::progress::note;
use super::puzzle_flags::OfPuzzle;
use super::{Ending, NOT_SOLVED, OrInput as _, SUCCESS};
use crate::files;
use crate::puzzle::Puzzle;
use crate::registry::{Entry, Visitor};
use crate::view::{Playback, page};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    puzzle: OfPuzzle,
    /// Another goal than the puzzle's own
    #[arg(long, value_name = "STATE")]
    goal: Option<String>,
    /// Where the page goes
    #[arg(long, default_value = "costar-view.html", value_name = "FILE")]
    out: PathBuf,
    /// The instance as people write it (cube: a scramble "U U F' R2", or 54 facelets)
    #[arg(value_name = "INSTANCE")]
    instance: String,
    /// The moves that are to solve it
    #[arg(value_name = "SOLUTION")]
    solution: String,
}

pub(super) fn run(args: &Args) -> Ending {
    check_place(&args.out).or_input()?;
    args.puzzle.visit(args.goal.as_deref(), View(args))
}

struct View<'a>(&'a Args);

impl Visitor for View<'_> {
    type Output = Ending;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Ending {
        let puzzle = &**entry.puzzle();
        let Args { instance, solution, out, .. } = self.0;
        let moves = puzzle.parse_moves(solution).context("the solution").or_input()?;
        let playback = Playback::new(puzzle, &entry.goals(), instance, &moves).or_input()?;
        write(out, &playback).or_input()?;
        if playback.solves {
            return Ok(SUCCESS);
        }
        match playback.illegal() {
            Some(number) => {
                let name = &playback.moves[playback.scramble + number - 1];
                note!("costar: the solution is wrong: its move {number}, {name}, is not legal where it is made");
            }
            None => note!("costar: the solution is wrong: it does not lead to a goal"),
        }
        Ok(ExitCode::from(NOT_SOLVED))
    }
}

/// Refuses a place that no page can be written to, before any work is done for it.
pub(super) fn check_place(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(folder.is_dir(), "the page {} cannot be written: there is no folder {}", path.display(), folder.display());
    ensure!(
        !path.is_dir() && path.file_name().is_some(),
        "the page {} cannot be written: it is a folder",
        path.display()
    );
    Ok(())
}

/// Writes the page of a playback, and says where it is.
pub(super) fn write(path: &Path, playback: &Playback) -> Result<()> {
    let page = page(playback).context("the page cannot be made")?;
    // What is no file (a pipe, a device) is written to, and not replaced.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    } else {
        files::write_whole(path, page.as_bytes())?;
    }
    note!("costar: the page is {}: open it in a browser", path.display());
    Ok(())
}
