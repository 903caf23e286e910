//! The offer of a server: puzzles with their searches, heuristics and models.

use super::ServerConfig;
use super::error::{ApiError, ApiResult};
use crate::error::Result;
use crate::neural::model::{check_rules, serves};
use crate::puzzle::Puzzle;
use crate::registry::{Entry, NAMES, OTHERS, find as find_entry, has_own_rules, takes_goal, with_entry};
use crate::solver::plan::ModelFacts;
use crate::solver::{SearchInfo, models};
use serde::Serialize;
use std::collections::HashSet;

/// A puzzle, as `GET /puzzles` lists it.
#[derive(Debug, Serialize)]
pub(super) struct Offer {
    /// Its name in requests.
    puzzle: String,
    /// Its own name, which models know; it differs from the first for a puzzle from a file.
    name: String,
    /// How instances and moves are written.
    notation: &'static str,
    searches: Vec<&'static str>,
    heuristics: Vec<&'static str>,
    models: Vec<ModelOffer>,
    /// The puzzle's own model, which is asked if a request names none.
    own_model: Option<ModelOffer>,
    /// Moves of a scramble by default; `null` if moves have no inverses, and a random state takes a scramble's place.
    scramble_depth: Option<u32>,
    /// Whether an instance takes several lines.
    takes_lines: bool,
    /// Whether `goal` may be given.
    takes_goal: bool,
}

#[derive(Debug, Serialize)]
struct ModelOffer {
    model: String,
    /// Whether it has a policy head, which `deferred` and `candidates` need.
    policy: bool,
}

/// All puzzles that a server offers.
pub(super) fn list(config: &ServerConfig) -> Vec<Offer> {
    let given = config.puzzles.iter().map(String::as_str);
    let offers = NAMES.iter().copied().chain(given).filter_map(|name| describe(name, &config.models).ok());
    let kept = kept_beside_models(config).into_iter();
    let kept = kept.filter_map(|(name, file)| Some(Offer { puzzle: name, ..describe(&file, &config.models).ok()? }));
    offers.chain(kept).collect()
}

/// The offer for a puzzle that a request names, also one that is not in the list.
pub(super) fn find(name: &str, config: &ServerConfig) -> ApiResult<Offer> {
    Ok(Offer { puzzle: name.into(), ..describe(&find_puzzle(name, config)?, &config.models)? })
}

/// The offer for one puzzle.
///
/// # Errors
/// If there is none of that name.
pub(super) fn describe(name: &str, models: &[String]) -> Result<Offer> {
    Ok(with_entry!(find_entry(name, None)?, entry => describe_entry(name, &entry, models)))
}

/// The name of the puzzle whose file is kept beside a model, and the file; `None` if no file is kept.
///
/// # Errors
/// If the model or the file cannot be read.
pub(super) fn puzzle_of(model: &str) -> Result<Option<(String, String)>> {
    let file = models::puzzle_of(&models::find(model)?)?;
    if !file.ends_with(".json") {
        return Ok(None);
    }
    Ok(Some((find_entry(&file, None)?.name(), file)))
}

/// Refuses a model that cannot be read, or whose puzzle neither comes with costar, nor is kept beside it, nor is among these
/// files.
///
/// # Errors
/// Says which it is.
pub(super) fn check_puzzle_of(model: &str, files: &[String]) -> Result<()> {
    let ModelFacts { puzzle, folder, .. } = models::facts(Some(model), "")?;
    let is_given = || files.iter().any(|file| find_entry(file, None).is_ok_and(|given| given.name() == puzzle));
    match models::puzzle_of(&folder) {
        Ok(own) => find_entry(&own, None).map(drop),
        Err(_) if is_given() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The puzzles that only models bring along: their names, and their files. The file of a run is another one after each
/// checkpoint; the name stays.
fn kept_beside_models(config: &ServerConfig) -> Vec<(String, String)> {
    let mut offered: HashSet<String> =
        config.puzzles.iter().filter_map(|file| Some(find_entry(file, None).ok()?.name())).collect();
    let kept = config.models.iter().filter_map(|model| puzzle_of(model).ok()?);
    kept.filter(|(name, _)| offered.insert(name.clone())).collect()
}

fn describe_entry<P: Puzzle>(asked: &str, entry: &Entry<P>, extra: &[String]) -> Offer {
    let puzzle = &**entry.puzzle();
    let name = puzzle.name();
    let offer = |facts: ModelFacts| ModelOffer { model: facts.name, policy: facts.has_policy };
    let is_own = |facts: &ModelFacts| serves(&facts.puzzle, &name) && check_rules(puzzle, &facts.folder).is_ok();
    let own = |model: Option<&str>| models::facts(model, &name).ok().filter(is_own).map(offer);
    let own_model = own(None);
    let models = models::list(puzzle).into_iter().map(|(model, policy)| ModelOffer { model, policy });
    let models = models.chain(extra.iter().filter_map(|model| own(Some(model)))).collect();
    Offer {
        puzzle: asked.into(),
        name,
        notation: puzzle.notation(),
        searches: SearchInfo::allowed_names(entry),
        heuristics: entry.heuristics(),
        models,
        own_model,
        scramble_depth: puzzle.is_reversible().then(|| puzzle.default_depth()),
        takes_lines: puzzle.takes_lines(),
        takes_goal: takes_goal(asked),
    }
}

/// The name by which [`find_entry`] knows the puzzle of a request. Files that the server was not started with are refused: a
/// request cannot make it read any file.
pub(super) fn find_puzzle(name: &str, config: &ServerConfig) -> ApiResult<String> {
    if !has_own_rules(name) {
        let (kept, given) = (kept_beside_models(config), &config.puzzles);
        if let Some((_, file)) = kept.iter().find(|(kept, _)| kept == name) {
            return Ok(file.clone());
        }
        if !name.ends_with(".json") {
            let own = NAMES.iter().copied().chain(given.iter().map(String::as_str));
            let offered: Vec<&str> = own.chain(kept.iter().map(|(kept, _)| kept.as_str())).chain([OTHERS]).collect();
            return Err(ApiError::of("puzzle", format!("unknown puzzle '{name}': expected {}", offered.join(", "))));
        }
        if !given.iter().any(|puzzle| puzzle == name) {
            let reason = format!("the file '{name}' is not offered; costar serve offers it if it is started with it");
            return Err(ApiError::of("puzzle", reason));
        }
    }
    find_entry(name, None)?;
    Ok(name.into())
}

/// A request names a model that is offered; it cannot have the server read any other folder.
pub(super) fn check_model(model: &str, puzzle: &str, config: &ServerConfig) -> ApiResult<()> {
    let Offer { name, models, .. } = describe(puzzle, &config.models)?;
    let offered: Vec<String> = models.into_iter().map(|offer| offer.model).collect();
    if offered.iter().chain(&config.models).any(|offered| offered == model) {
        return Ok(());
    }
    let offered = if offered.is_empty() { "none".into() } else { offered.join(", ") };
    Err(ApiError::of("model", format!("unknown model '{model}' of {name}: expected {offered}")))
}
