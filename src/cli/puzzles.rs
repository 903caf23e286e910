//! `costar puzzles`: lists the puzzles with their searches, heuristics and models.

use super::{Ending, OrInput as _, SUCCESS};
use crate::puzzle::{Move, Puzzle, move_names, visible};
use crate::registry::{Entry, NAMES, OTHERS, find, with_entry};
use crate::solver::{SearchInfo, models};
use std::io::{self, Write as _};

pub(super) fn run() -> Ending {
    for name in NAMES {
        let text = with_entry!(find(name, None).or_input()?, entry => describe(&entry));
        writeln!(io::stdout(), "{}", visible(&text))?;
    }
    writeln!(io::stdout(), "or {OTHERS}, or the file of a puzzle (….json)")?;
    Ok(SUCCESS)
}

fn describe<P: Puzzle>(entry: &Entry<P>) -> String {
    let name = entry.puzzle().name();
    let models: Vec<String> = models::list(&**entry.puzzle()).into_iter().map(|(name, _)| name).collect();
    let models = if models.is_empty() { "none".into() } else { models.join(", ") };
    let (notation, searches) = (entry.puzzle().notation(), SearchInfo::allowed_names(entry).join(", "));
    let heuristics = entry.heuristics().join(", ");
    // A user of an included puzzle does not have its file.
    let names = move_names(&**entry.puzzle(), &(0..entry.puzzle().move_count() as Move).collect::<Vec<_>>());
    let moves = entry.puzzle().file().map_or_else(String::new, |_| format!("\n  moves: {}", names.join(" ")));
    format!(
        "{name}\n  notation: {notation}{moves}\n  searches: {searches}\n  heuristics: network, {heuristics}\n  models: {models}"
    )
}
