//! What requests ask of a puzzle by its name, beside a search: what it offers, whether an instance is possible, a
//! scramble, and whether a wish can be fulfilled.

use super::House;
use super::refusal::Refusal;
use super::wish::Wish;
use crate::cli::choice::check_options;
use crate::cli::estimator::Estimator;
use crate::cli::models;
use crate::cli::reverse::Reverse;
use crate::neural::model::ModelConfig;
use crate::puzzle::{ParseError, Puzzle, Reversible, Visitor, visit};
use crate::sampler::{Walker, generator};
use crate::view::Playback;
use axum::http::StatusCode;
use serde::Serialize;

/// A puzzle, as `GET /puzzles` lists it.
#[derive(Debug, Serialize)]
pub(super) struct Offer {
    /// What requests call it.
    pub(super) puzzle: String,
    /// How instances and moves are written.
    notation: &'static str,
    searches: Vec<&'static str>,
    heuristics: Vec<&'static str>,
    models: Vec<ModelOffer>,
    /// Moves of a scramble by default; `null` where there are no scrambles.
    scramble_depth: Option<u32>,
    /// Whether an instance takes several lines.
    takes_lines: bool,
}

#[derive(Debug, Serialize)]
struct ModelOffer {
    model: String,
    /// Whether it has a second head, which the variant `deferred` of `bwas` needs.
    heads: bool,
}

/// What a puzzle offers.
///
/// # Errors
/// If there is none of that name.
pub(super) fn describe(name: &str) -> Result<Offer, ParseError> {
    visit(name, None, Describe(name))
}

/// Adds the models that only this server offers, where they are of that puzzle.
pub(super) fn with_models(mut offer: Offer, extra: &[String]) -> Offer {
    let folders = extra.iter().filter_map(|model| Some((model, models::find(model).ok()?)));
    for (model, folder) in folders {
        if let Ok(config) = ModelConfig::read(&folder)
            && config.puzzle == offer.puzzle
        {
            offer.models.push(ModelOffer { model: model.clone(), heads: config.network.heads.is_some() });
        }
    }
    offer
}

struct Describe<'a>(&'a str);

impl Visitor for Describe<'_> {
    type Output = Offer;

    fn visit<P: Reversible>(self, puzzle: P) -> Offer {
        Offer { scramble_depth: Some(puzzle.default_depth()), ..self.with(&puzzle, &Reverse::all()) }
    }

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Offer {
        self.with(&puzzle, &Reverse::none())
    }
}

impl Describe<'_> {
    fn with<P: Puzzle>(&self, puzzle: &P, reverse: &Reverse<P>) -> Offer {
        let offered = models::names(&puzzle.name()).into_iter().map(|model| {
            let config = models::find(&model).and_then(|folder| ModelConfig::read(&folder));
            ModelOffer { heads: config.is_ok_and(|config| config.network.heads.is_some()), model }
        });
        Offer {
            puzzle: self.0.into(),
            notation: puzzle.notation(),
            searches: reverse.searches(),
            heuristics: reverse.heuristics(puzzle),
            models: offered.collect(),
            scramble_depth: None,
            takes_lines: puzzle.takes_lines(),
        }
    }
}

/// Refuses files that the server was not started with: a request cannot have it read any file.
pub(super) fn check_offered(name: &str, house: &House) -> Result<(), Refusal> {
    if name.ends_with(".json") && !house.puzzles.iter().any(|puzzle| puzzle == name) {
        let why = format!("puzzle: the file '{name}' is not offered: costar serve --puzzle {name} would offer it");
        return Err(Refusal::of("puzzle", why));
    }
    visit(name, None, Exists).map_err(|refusal| Refusal::of("puzzle", format!("puzzle: {refusal}")))
}

struct Exists;

impl Visitor for Exists {
    type Output = ();
    fn visit<P: Reversible>(self, _: P) {}
    fn visit_irreversible<P: Puzzle>(self, _: P) {}
}

/// Whether an instance is possible, and how it looks.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    possible: bool,
    /// Why not.
    reason: Option<String>,
    /// The state, as text.
    state: Option<String>,
    /// Whether it is solved already.
    solved: bool,
    /// The scramble alone, to be shown.
    playback: Option<Playback>,
}

/// Reads an instance.
///
/// # Errors
/// If there is no such puzzle or goal. An impossible instance is no error.
pub(super) fn check(puzzle: &str, goal: Option<&str>, instance: &str) -> Result<Checked, Refusal> {
    let field = if goal.is_some() { "goal" } else { "puzzle" };
    visit(puzzle, goal, Check(instance)).map_err(|refusal| Refusal::of(field, refusal.to_string()))
}

struct Check<'a>(&'a str);

impl Visitor for Check<'_> {
    type Output = Checked;

    fn visit<P: Reversible>(self, puzzle: P) -> Checked {
        self.with(&puzzle, &Reverse::all())
    }

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Checked {
        self.with(&puzzle, &Reverse::none())
    }
}

impl Check<'_> {
    fn with<P: Puzzle>(self, puzzle: &P, reverse: &Reverse<P>) -> Checked {
        let read = puzzle
            .parse(self.0)
            .and_then(|state| Ok((state, Playback::new(puzzle, &reverse.goals(puzzle), self.0, &[])?)));
        match read {
            Ok((state, playback)) => Checked {
                possible: true,
                reason: None,
                state: Some(puzzle.format(&state)),
                solved: puzzle.is_goal(&state),
                playback: Some(playback),
            },
            Err(refusal) => Checked {
                possible: false,
                reason: Some(refusal.to_string()),
                state: None,
                solved: false,
                playback: None,
            },
        }
    }
}

/// A random instance.
#[derive(Debug, Serialize)]
pub(super) struct Scrambled {
    puzzle: String,
    /// What a search can be asked to solve: the moves, or where instances are written as states, the state.
    instance: String,
    /// The moves from solved.
    scramble: String,
    seed: u64,
}

/// Scrambles a puzzle by so many moves; the same seed gives the same scramble.
///
/// # Errors
/// If there is no such puzzle, or its moves cannot be undone.
pub(super) fn scramble(puzzle: &str, depth: Option<u32>, seed: u64) -> Result<Scrambled, Refusal> {
    let refused = |refusal: ParseError| Refusal::of("puzzle", format!("puzzle: {refusal}"));
    visit(puzzle, None, Scramble { name: puzzle, depth, seed }).map_err(refused)?
}

struct Scramble<'a> {
    name: &'a str,
    depth: Option<u32>,
    seed: u64,
}

impl Visitor for Scramble<'_> {
    type Output = Result<Scrambled, Refusal>;

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Self::Output {
        let name = puzzle.name();
        Err(Refusal::of("puzzle", format!("puzzle: the moves of {name} cannot be undone, so that it has no scrambles")))
    }

    fn visit<P: Reversible>(self, puzzle: P) -> Self::Output {
        let mut generator = generator(self.seed, 0);
        let start = puzzle.goals()[0];
        let mut walker = Walker::new(&puzzle, start);
        let depth = self.depth.unwrap_or_else(|| puzzle.default_depth());
        let moves: Vec<_> = (0..depth).map_while(|_| walker.step(&mut generator)).collect();
        let state = moves.iter().try_fold(start, |state, &action| puzzle.apply(&state, action)).unwrap_or(start);
        let scramble = crate::puzzle::move_names(&puzzle, &moves).join(" ");
        let written_as_moves = puzzle.scramble(&scramble).is_some();
        let instance = if written_as_moves { scramble.clone() } else { puzzle.format(&state) };
        Ok(Scrambled { puzzle: self.name.into(), instance, scramble, seed: self.seed })
    }
}

/// What a search is done with: one at a time of each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Tools {
    pub(super) puzzle: String,
    pub(super) goal: Option<String>,
    pub(super) estimator: Estimator,
}

/// Checks all of a wish that can be checked before anything is loaded.
///
/// # Errors
/// Names the field and what would be accepted.
pub(super) fn check_wish(wish: &Wish) -> Result<Tools, Refusal> {
    let (puzzle, goal) = (&wish.options.puzzle, &wish.options.goal);
    let refused = |refusal: ParseError| Refusal::of("goal", refusal.to_string());
    let estimator = visit(puzzle, goal.as_deref(), CheckWish(wish)).map_err(refused)??;
    Ok(Tools { puzzle: puzzle.clone(), goal: goal.clone(), estimator })
}

struct CheckWish<'a>(&'a Wish);

impl Visitor for CheckWish<'_> {
    type Output = Result<Estimator, Refusal>;

    fn visit<P: Reversible>(self, puzzle: P) -> Self::Output {
        self.with(&puzzle, &Reverse::all())
    }

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Self::Output {
        self.with(&puzzle, &Reverse::none())
    }
}

impl CheckWish<'_> {
    fn with<P: Puzzle>(self, puzzle: &P, reverse: &Reverse<P>) -> Result<Estimator, Refusal> {
        let Wish { instance, options, .. } = self.0;
        let refused = |refusal: ParseError| Refusal::of("instance", format!("instance: {refusal}"));
        let start = puzzle.parse(instance).map_err(refused)?;
        Playback::new(puzzle, &[], instance, &[]).map_err(refused)?;
        let estimator = check_options(puzzle, reverse, options).map_err(|error| Refusal::of_settings(&error))?;
        if let Estimator::Network { folder, .. } = &estimator {
            puzzle.check_encodes(&start).map_err(refused)?;
            check_model(puzzle, folder)?;
        }
        Ok(estimator)
    }
}

/// Refuses a model of another puzzle before it is loaded.
fn check_model<P: Puzzle>(puzzle: &P, folder: &std::path::Path) -> Result<(), Refusal> {
    let config = ModelConfig::read(folder).map_err(|error| Refusal::of("model", format!("model: {error:#}")))?;
    if config.puzzle == puzzle.name() {
        return Ok(());
    }
    let why = format!("model: it was trained for {}, and the puzzle is {}", config.puzzle, puzzle.name());
    Err(Refusal { status: StatusCode::UNPROCESSABLE_ENTITY, error: why, field: Some("model".into()) })
}
