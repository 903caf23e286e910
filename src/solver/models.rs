//! Finds models by name.

use super::options::SearchOptions;
use super::plan::ModelFacts;
use crate::error::{Error, Result, SettingError, bail_setting, ensure_setting};
use crate::neural::model::{CONFIG, ModelConfig, PUZZLE, WEIGHTS, check_rules, serves};
use crate::puzzle::{Puzzle, distinct};
use crate::registry::has_own_rules;
use crate::report::run_folder::{CHECKPOINT, METRICS, MODEL, newest_checkpoint};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static INSTALLED: OnceLock<PathBuf> = OnceLock::new();

/// Adds the folder of models that an installed program brings to the search path. Only the first call counts.
pub fn add_installed(folder: PathBuf) {
    let _ = INSTALLED.set(folder);
}

/// The folders in which a model is looked up by name.
pub fn search_path() -> Vec<PathBuf> {
    let variable = std::env::var_os("COSTAR_MODELS").filter(|value| !value.is_empty()).map(PathBuf::from);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    // The program lies beside the models of a release, and in target/release of a checkout, wherever that was moved to.
    let program = std::env::current_exe().ok();
    let around =
        [1, 3].into_iter().filter_map(|above| Some(program.as_deref()?.ancestors().nth(above)?.join("models")));
    let folders = variable.into_iter().chain([PathBuf::from("models")]).chain(INSTALLED.get().cloned());
    distinct(folders.chain([built]).chain(around))
}

/// The folder of a model: a path, or a name on the search path, where `:` in a puzzle's name is `-`. A run's folder means its
/// newest checkpoint.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<PathBuf> {
    let file = if name.contains('/') { name.to_owned() } else { name.replace(':', "-") };
    let by_name = search_path().into_iter().map(|folder| folder.join(&file));
    let candidates = std::iter::once(PathBuf::from(name)).chain(by_name).collect();
    find_among(candidates, || {
        format!(
            "there is no model '{name}', neither as a folder nor in {}: expected a folder that holds one, or a name that costar puzzles lists",
            places()
        )
    })
}

/// The folder of a puzzle's own model on the search path, else of a model that [serves] it. It has the puzzle's name, with `-`
/// for `:`; a folder of that name in the current one does not count.
///
/// # Errors
/// If there is none.
pub fn find_for(puzzle: &str) -> Result<PathBuf> {
    let own = puzzle.replace(':', "-");
    let names = [own.clone(), format!("{own}-oriented")];
    let names = names.into_iter().take(if serves(&format!("{puzzle}:oriented"), puzzle) { 2 } else { 1 });
    let folders = names.flat_map(|name| search_path().into_iter().map(move |folder| folder.join(&name)));
    find_among(folders.collect(), || {
        format!(
            "{puzzle} needs a model, and '{own}' is in none of {}: train one with costar train, name one with `model`, \
             or name another `heuristic` (costar puzzles lists those of each puzzle)",
            places()
        )
    })
}

/// The search path as text.
fn places() -> String {
    search_path().iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The first folder that holds a model; `missing` words the error if there is none.
fn find_among(candidates: Vec<PathBuf>, missing: impl FnOnce() -> String) -> Result<PathBuf> {
    for candidate in &candidates {
        if candidate.join(CONFIG).is_file() {
            return Ok(candidate.clone());
        }
        let newest = newest_checkpoint(candidate)?.unwrap_or_else(|| candidate.clone());
        if newest.join(MODEL).join(CONFIG).is_file() {
            return Ok(newest.join(MODEL));
        }
    }
    if let Some(there) = candidates.iter().find(|candidate| candidate.is_dir()) {
        let folder = there.display();
        let is_unsaved = there.join(METRICS).is_file() && newest_checkpoint(there)?.is_none();
        ensure_setting!(!is_unsaved, "model", "the run in {folder} has saved no checkpoint yet");
        bail_setting!("model", "{folder} holds no model: expected a folder with a {CONFIG}, or the folder of a run");
    }
    bail_setting!("model", "{}", missing())
}

/// Reads the model in a folder; once more, from the run's newest checkpoint, if a training has removed the folder's
/// checkpoint meanwhile.
///
/// # Errors
/// Those of `read`.
pub fn read_newest<T, E>(folder: &Path, read: impl Fn(&Path) -> Result<T, E>) -> Result<T, E> {
    let newest = || {
        let checkpoint = folder.parent()?;
        checkpoint.file_name()?.to_str()?.strip_prefix(CHECKPOINT)?;
        newest_checkpoint(checkpoint.parent()?).ok()?.map(|newest| newest.join(MODEL))
    };
    read(folder).or_else(|error| {
        let is_whole = [CONFIG, WEIGHTS].iter().all(|file| folder.join(file).is_file());
        newest().filter(|newest| !is_whole && newest != folder).map_or(Err(error), |newest| read(&newest))
    })
}

/// The puzzle of the model in a folder, as [`find`](crate::registry::find) takes it: its name, or the file beside the
/// model.
///
/// # Errors
/// If its `config.json` cannot be read, or the puzzle's file is missing.
pub fn puzzle_of(folder: &Path) -> Result<String> {
    let file = folder.join(PUZZLE);
    if file.is_file() {
        return Ok(file.display().to_string());
    }
    let name = read_newest(folder, ModelConfig::read)?.puzzle;
    if !has_own_rules(&name) {
        bail_setting!(
            "model",
            "{} is of the puzzle {name}, which does not come with costar, and there is no {PUZZLE} beside it: put the puzzle's \
             file there, or name it as `puzzle`",
            folder.display()
        );
    }
    Ok(name)
}

/// The facts of the named model, or else of the puzzle's own.
///
/// # Errors
/// If there is none, or its `config.json` is damaged.
pub fn facts(name: Option<&str>, puzzle: &str) -> Result<ModelFacts> {
    let folder = match name {
        Some(name) => find(name),
        None => find_for(puzzle),
    }?;
    let config = read_newest(&folder, ModelConfig::read)?;
    let search = config.search.map(|search| match search {
        Value::Object(fields) => SearchOptions::from_json(fields),
        other => Err(SettingError::new("search", format!("expected an object, got {other}"))),
    });
    let in_file = |error| Error::Data(format!("{}: {error}", folder.join(CONFIG).display()));
    let search = search.transpose().map_err(in_file)?;
    let own_name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.map(str::to_owned).or(own_name).unwrap_or_else(|| folder.display().to_string());
    Ok(ModelFacts { name, puzzle: config.puzzle, has_policy: config.network.policy.is_some(), search, folder })
}

/// The models on the search path for a puzzle and the first stage of its [reduction](crate::puzzle::Rules::reduction): their
/// names, and whether they have a policy head.
pub fn list<P: Puzzle>(puzzle: &P) -> Vec<(String, bool)> {
    let (name, stages) = (puzzle.name(), puzzle.reduction());
    let is_of_puzzle = |config: &ModelConfig| {
        serves(&config.puzzle, &name) || stages.first().is_some_and(|first| *first == config.puzzle)
    };
    let entries = search_path().into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let model = |entry: std::fs::DirEntry| {
        let config = ModelConfig::read(&entry.path()).ok().filter(is_of_puzzle)?;
        check_rules(puzzle, &entry.path()).ok()?;
        Some((entry.file_name().to_string_lossy().into_owned(), config.network.policy.is_some()))
    };
    let mut models: Vec<(String, bool)> = entries.filter_map(model).collect();
    models.sort();
    models.dedup_by(|a, b| a.0 == b.0);
    models
}

/// An error of a look-up as one of the setting `model`.
pub(super) fn missing(error: Error) -> SettingError {
    match error {
        Error::Setting(error) => error,
        error => SettingError::new("model", error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_that_is_removed_before_it_is_read_gives_way_to_the_newest() {
        let run = tempfile::tempdir().expect("a folder");
        let model = |samples: u32| run.path().join(format!("checkpoint-{samples}/{MODEL}"));
        let read = |folder: &Path| std::fs::read_to_string(folder.join(CONFIG));
        std::fs::create_dir_all(model(64)).expect("a folder");
        std::fs::write(model(64).join(CONFIG), "64").expect("a file");
        assert_eq!(read_newest(&model(32), read).expect("the newest"), "64");
        assert!(read_newest(&run.path().join("snapshots/32"), read).is_err(), "only a training removes checkpoints");
        std::fs::remove_file(model(64).join(CONFIG)).expect("it was there");
        assert!(read_newest(&model(64), read).is_err(), "there is no other");
    }
}
