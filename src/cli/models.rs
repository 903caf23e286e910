//! Where models are looked for.

use crate::neural::model::CONFIG;
use crate::train::checkpoint::{self, MODEL};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// The folders that models are looked for in, by name.
pub(super) fn shelves() -> Vec<PathBuf> {
    let variable = std::env::var_os("COSTAR_MODELS").filter(|value| !value.is_empty()).map(PathBuf::from);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    // target/release/costar stands in the checkout, also in one that was moved since it was built.
    let program = std::env::current_exe().ok();
    let around = program.as_deref().and_then(|path| path.ancestors().nth(3)).map(|checkout| checkout.join("models"));
    let shelves = variable.into_iter().chain([PathBuf::from("models"), built]).chain(around);
    let mut distinct: Vec<PathBuf> = Vec::new();
    for shelf in shelves {
        if !distinct.contains(&shelf) {
            distinct.push(shelf);
        }
    }
    distinct
}

/// The folder of a model: of that path, or of that name on a shelf. A run's folder stands for its newest checkpoint.
pub(super) fn find(name: &str) -> Result<PathBuf> {
    let on_shelves = shelves().into_iter().map(|shelf| shelf.join(name));
    find_among(name, std::iter::once(PathBuf::from(name)).chain(on_shelves).collect())
}

/// The folder of a puzzle's own model: on a shelf, whatever folder of that name lies here.
pub(super) fn find_for(puzzle: &str) -> Result<PathBuf> {
    find_among(puzzle, shelves().into_iter().map(|shelf| shelf.join(puzzle)).collect())
}

fn find_among(name: &str, candidates: Vec<PathBuf>) -> Result<PathBuf> {
    for candidate in &candidates {
        if candidate.join(CONFIG).is_file() {
            return Ok(candidate.clone());
        }
        let newest = checkpoint::newest(candidate)?.unwrap_or_else(|| candidate.clone());
        if newest.join(MODEL).join(CONFIG).is_file() {
            return Ok(newest.join(MODEL));
        }
    }
    if let Some(there) = candidates.iter().find(|candidate| candidate.is_dir()) {
        bail!(
            "{} holds no model: a folder with a {CONFIG}, or the folder of a run, would be accepted",
            there.display()
        );
    }
    let places: Vec<String> = shelves().iter().map(|shelf| shelf.display().to_string()).collect();
    bail!(
        "there is no model '{name}', neither as a folder nor in {}: train one with costar train, name one with --model, \
         or do without (--heuristic ball)",
        places.join(", ")
    )
}

/// The names of the models on the shelves that were trained for a puzzle.
pub(super) fn names(puzzle: &str) -> Vec<String> {
    let mut names: Vec<String> = shelves()
        .iter()
        .filter_map(|shelf| std::fs::read_dir(shelf).ok())
        .flatten()
        .flatten()
        .filter(|entry| {
            crate::neural::model::ModelConfig::read(&entry.path()).is_ok_and(|config| config.puzzle == puzzle)
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}
