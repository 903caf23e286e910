//! What a server offers: puzzles, with their searches, heuristics and models.

use super::ServerConfig;
use super::error::ApiError;
use crate::error::Result;
use crate::puzzle::Puzzle;
use crate::registry::{Entry, NAMES, Visitor, takes_goal, visit};
use crate::solver::{SearchConfig, models};
use serde::Serialize;

/// A puzzle, as `GET /puzzles` lists it.
#[derive(Debug, Serialize)]
pub(super) struct Offer {
    /// What requests call it.
    puzzle: String,
    /// What the puzzle calls itself, and models know it by: another name than the first where it is from a file.
    name: String,
    /// How instances and moves are written.
    notation: &'static str,
    searches: Vec<&'static str>,
    heuristics: Vec<&'static str>,
    models: Vec<ModelOffer>,
    /// Moves of a scramble by default; `null` where moves have no inverses, and a random state takes a scramble's place.
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
    let own = config.puzzles.iter().map(String::as_str);
    let offers = NAMES.iter().copied().chain(own).filter_map(|name| describe(name).ok());
    offers.map(|offer| with_models(offer, &config.models)).collect()
}

/// What a puzzle offers.
///
/// # Errors
/// If there is none of that name.
pub(super) fn describe(name: &str) -> Result<Offer> {
    visit(name, None, Describe(name))
}

/// The puzzle's file that is kept beside a model, unless a puzzle of its name is offered already.
///
/// # Errors
/// If the model or the file cannot be read.
pub(super) fn puzzle_of(model: &str, offered: &[String]) -> Result<Option<String>> {
    let file = models::puzzle_of(&models::find(model)?)?;
    let named = |file: &str| describe(file).map(|offer| offer.name);
    if !file.ends_with(".json") {
        return Ok(None);
    }
    let name = named(&file)?;
    Ok((!offered.iter().any(|other| named(other).is_ok_and(|other| other == name))).then_some(file))
}

/// Adds the models that only this server offers, where they are of that puzzle.
fn with_models(mut offer: Offer, extra: &[String]) -> Offer {
    let facts = extra.iter().filter_map(|model| models::facts(Some(model), &offer.puzzle).ok());
    let own: Vec<_> = facts.filter(|facts| facts.puzzle == offer.name).collect();
    offer.models.extend(own.into_iter().map(|facts| ModelOffer { model: facts.name, policy: facts.has_policy }));
    offer
}

struct Describe<'a>(&'a str);

impl Visitor for Describe<'_> {
    type Output = Offer;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Offer {
        let puzzle = &**entry.puzzle();
        let models = models::list(&puzzle.name()).into_iter();
        Offer {
            puzzle: self.0.into(),
            name: puzzle.name(),
            notation: puzzle.notation(),
            searches: SearchConfig::allowed(entry.reverse().is_some()),
            heuristics: entry.heuristics(),
            models: models.map(|(model, policy)| ModelOffer { model, policy }).collect(),
            scramble_depth: entry.reverse().map(|reverse| reverse.default_depth(puzzle)),
            takes_lines: puzzle.takes_lines(),
            takes_goal: takes_goal(self.0),
        }
    }
}

/// Refuses files that the server was not started with: a request cannot have it read any file.
pub(super) fn check_puzzle(name: &str, config: &ServerConfig) -> Result<(), ApiError> {
    if name.ends_with(".json") && !config.puzzles.iter().any(|puzzle| puzzle == name) {
        let reason = format!("the file '{name}' is not offered; costar serve offers it if it is started with it");
        return Err(ApiError::of("puzzle", reason));
    }
    Ok(visit(name, None, Exists)?)
}

struct Exists;

impl Visitor for Exists {
    type Output = ();
    fn visit<P: Puzzle>(self, _: Entry<P>) {}
}

/// A request names a model that is offered; it cannot have the server read any other folder.
pub(super) fn check_model(model: &str, puzzle: &str, config: &ServerConfig) -> Result<(), ApiError> {
    let mut offered: Vec<String> = describe(puzzle)?.models.into_iter().map(|offer| offer.model).collect();
    offered.extend(config.models.iter().cloned());
    if offered.iter().any(|offered| offered == model) {
        return Ok(());
    }
    let offered = if offered.is_empty() { "none".into() } else { offered.join(", ") };
    Err(ApiError::of("model", format!("unknown model '{model}' of {puzzle}: expected {offered}")))
}
