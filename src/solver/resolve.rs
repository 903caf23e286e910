//! From what is asked for to a plan: every default and every refusal is here. Pure: nothing is read, loaded or built, so
//! that checking a request is the same call as solving it.

use super::config::{Given, SearchConfig};
use super::plan::{Facts, HeuristicChoice, HeuristicPlan, PerimeterPlan, Plan, Request};
use crate::error::SettingError;
use crate::search::beam::BeamSettings;
use crate::search::best_first::BwasSettings;
use crate::search::settings::{Common, Share, Weight};
use serde_json::{Map, Value};
use std::num::NonZeroUsize;

mod perimeter;

use perimeter::{plan_kept, plan_perimeter, plan_proof};

/// The weight of the path cost, as published.
const LAMBDA: f64 = 0.6;

/// Nodes a step of batch-weighted A*: on the CPU, on CUDA.
const BWAS_N: [usize; 2] = [1_000, 10_000];
/// The same with deferred evaluation.
const DEFERRED_N: [usize; 2] = [20_000, 100_000];
/// The width of a beam that evaluates all children.
const BEAM_N: [usize; 2] = [1_000, 10_000];
/// The width of a beam with candidates, over all symmetric images together.
const CANDIDATES_N: [usize; 2] = [24_000, 100_000];

/// Children of a beam that are evaluated, in widths.
const CANDIDATES: u64 = 2;

/// Symmetric images that a beam with candidates searches, where there are as many: where only a cheaper answer is
/// looked for, a few narrow beams find more than a wide one.
const BEAM_SYMMETRIES: usize = 4;

/// The policy weight of a beam.
const BEAM_POLICY_WEIGHT: f64 = 1.5;
/// The policy weight with deferred evaluation, which comes back to what it put off.
const DEFERRED_POLICY_WEIGHT: f64 = 1.0;

/// States of the perimeter with deferred evaluation: the cube's within 6 moves.
const DEFERRED_PERIMETER: usize = 1_000_000;

/// States of a beam's perimeter, for each state of its width and each symmetric image: making one takes less than a
/// thousandth of the time that a state takes in all layers. The cube's within 7 moves for the default width, within 8
/// for widths of 90,000 over all images.
const BEAM_PERIMETER: usize = 1_000;

/// Sequences of moves into a perimeter by classes that are made after a beam with candidates: two or three seconds on two
/// cores. With a perimeter of depth 11, they prove three answers of four on the cube.
const BEAM_SEQUENCES: u64 = 100_000_000;

/// Steps after the first answer, with a perimeter: a goal that is reached without one is seldom beaten soon, and a
/// perimeter is reached early.
const PATIENCE: u64 = 4;

/// What estimates the cost-to-go, as far as a search cares.
#[derive(Clone, Copy)]
struct HeuristicFacts<'a> {
    /// Whether it is a network, or brought by the caller: then `auto` is a search that was made for it.
    is_network: bool,
    has_policy: bool,
    on_cuda: bool,
    /// What the model's own search configuration says of a beam.
    beam: Option<&'a BeamSettings>,
}

/// Decides which search and which heuristic a request means, with which settings.
///
/// # Errors
/// Names the setting that cannot be, and what is expected.
pub fn resolve(request: &Request, facts: &Facts<'_>) -> Result<Plan, SettingError> {
    let heuristic = choose_heuristic(request, facts)?;
    let model = if matches!(heuristic, HeuristicPlan::Network { .. }) { facts.model.ok() } else { None };
    let of_heuristic = HeuristicFacts {
        is_network: model.is_some() || heuristic == HeuristicPlan::Given,
        has_policy: match request.heuristic {
            HeuristicChoice::Given { has_policy } => has_policy,
            _ => model.is_some_and(|model| model.has_policy),
        },
        on_cuda: model.is_some() && facts.on_cuda,
        beam: match model.and_then(|model| model.search.as_ref()) {
            Some(SearchConfig::Beam(settings)) => Some(settings),
            _ => None,
        },
    };
    let mut search = choose_search(request, facts, &of_heuristic)?;
    let symmetries = choose_symmetries(&search, facts, &of_heuristic)?;
    let mut perimeter = complete(&mut search, symmetries, facts, &of_heuristic)?;
    let mut common = search.common();
    let proof = plan_proof(search.name(), common, facts)?;
    let makes_sequences = match &search {
        SearchConfig::Beam(beam) => beam.candidates.is_some() && perimeter.bytes > 0 && facts.puzzle.has_unit_costs,
        _ => false,
    };
    if makes_sequences {
        common.sequences = common.sequences.or(Some(BEAM_SEQUENCES));
    }
    if let Some(proof) = proof.filter(|_| perimeter.depth == 0) {
        perimeter = proof;
    } else if perimeter.depth == 0 && common.perimeter.is_some_and(|depth| depth > 0) {
        plan_perimeter(common.perimeter, None, 0, facts)?; // where no search can use one, that is the reason
        let name = search.name();
        let reason = format!("{name} uses it only with `prove` or `sequences`: add one of these, or leave it out");
        return Err(SettingError::new("perimeter", reason));
    }
    perimeter.not_whole = request.names_model && proof.is_none() && !perimeter.asked && perimeter.depth > 0;
    search.set_common(Common {
        symmetries: NonZeroUsize::new(symmetries).filter(|count| count.get() > 1),
        sequences: common.sequences.filter(|&sequences| sequences > 0 && common.prove != Some(true)),
        prove: common.prove.filter(|&prove| prove),
        perimeter: None,
    });
    Ok(Plan { search, heuristic, perimeter, images_together: of_heuristic.on_cuda })
}

/// The name of the search, as far as it can be told before the heuristic is chosen: `auto` means `bwas` where its settings
/// are given or a network is used.
fn search_name(request: &Request, facts: &Facts<'_>, with_network: bool) -> &'static str {
    match &request.search {
        SearchConfig::Auto(given) if given.has("n") || given.has("lambda") || with_network => "bwas",
        SearchConfig::Auto(_) => facts.puzzle.search,
        config => config.name(),
    }
}

/// Whether the search of a name asks a heuristic.
pub(super) fn asks_heuristic(search: &str) -> bool {
    SearchConfig::needs_of(search).is_some_and(|needs| needs.heuristic)
}

fn choose_heuristic(request: &Request, facts: &Facts<'_>) -> Result<HeuristicPlan, SettingError> {
    let own = &facts.puzzle.heuristics;
    let best = own.last().copied().unwrap_or("zero");
    let name = match &request.heuristic {
        HeuristicChoice::Given { .. } => return Ok(HeuristicPlan::Given),
        HeuristicChoice::Named(name) => name.as_str(),
        HeuristicChoice::Auto if prefers_network(request, facts) => "network",
        // With nothing better, an error is better that says how to get a model.
        HeuristicChoice::Auto
            if best == "perimeter"
                && !facts.puzzle.has_own_costs
                && asks_heuristic(search_name(request, facts, false)) =>
        {
            "network"
        }
        // A search that asks no heuristic loads no perimeter for one.
        HeuristicChoice::Auto if best == "perimeter" && !asks_heuristic(search_name(request, facts, false)) => "zero",
        HeuristicChoice::Auto => best,
    };
    if name == "network" {
        return choose_network(facts);
    }
    if request.names_model {
        return Err(SettingError::new("model", format!("the heuristic '{name}' needs none; leave out one of the two")));
    }
    if !own.contains(&name) {
        let (puzzle, own) = (&facts.puzzle.name, own.join(", "));
        let reason = format!("{puzzle} has no heuristic '{name}': expected auto, network, {own}");
        return Err(SettingError::new("heuristic", reason));
    }
    Ok(HeuristicPlan::Named(name.into()))
}

fn choose_network(facts: &Facts<'_>) -> Result<HeuristicPlan, SettingError> {
    if !facts.puzzle.has_own_goal {
        let reason = format!(
            "a network estimates the way to the goal that it was trained for, and to no other: expected a `heuristic` of \
             {}",
            facts.puzzle.heuristics.join(" or ")
        );
        return Err(SettingError::new("goal", reason));
    }
    if facts.puzzle.has_own_costs {
        let reason = format!(
            "a network estimates the cost of moves that it was trained with, and of no others: expected a `heuristic` of {}",
            facts.puzzle.heuristics.join(" or ")
        );
        return Err(SettingError::new("move_costs", reason));
    }
    let model = facts.model.map_err(Clone::clone)?;
    if model.puzzle != facts.puzzle.name {
        let (folder, trained, puzzle) = (model.folder.display(), &model.puzzle, &facts.puzzle.name);
        return Err(SettingError::new("model", format!("the model in {folder} is for {trained}, not for {puzzle}")));
    }
    Ok(HeuristicPlan::Network { folder: model.folder.clone(), name: model.name.clone() })
}

/// Whether `auto` is the network: where a model was named, or there is one that would be asked and that measured better
/// than the puzzle's own estimates, or that the search was made for.
fn prefers_network(request: &Request, facts: &Facts<'_>) -> bool {
    let prefers = facts.puzzle.prefers_network;
    let asked = match search_name(request, facts, prefers) {
        "bwas" | "beam" => true,
        name => prefers && asks_heuristic(name),
    };
    request.names_model || (asked && facts.puzzle.has_own_goal && !facts.puzzle.has_own_costs && facts.model.is_ok())
}

/// The search, with the settings that were given.
fn choose_search(
    request: &Request,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<SearchConfig, SettingError> {
    let config = match &request.search {
        SearchConfig::Auto(given) => choose_by_settings(given, request, facts, heuristic)?,
        config => config.clone(),
    };
    let needs_inverses = SearchConfig::needs_of(config.name()).is_some_and(|needs| needs.inverses);
    if needs_inverses && !facts.puzzle.is_reversible {
        let reason = format!(
            "{}: the moves of {} cannot be undone, so it cannot be searched from its goals: expected {}",
            config.name(),
            facts.puzzle.name,
            SearchConfig::allowed(false).join(", ")
        );
        return Err(SettingError::new("search", reason));
    }
    Ok(config)
}

/// The search that settings mean where none is named. With a policy head, a beam measured best; `n` or `lambda` alone mean
/// batch-weighted A* as it was published.
fn choose_by_settings(
    given: &Given,
    request: &Request,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<SearchConfig, SettingError> {
    let name = search_name(request, facts, heuristic.is_network);
    let as_published = given.has("n") || given.has("lambda");
    let of_bwas = ["deferred", "patience", "anytime"].iter().any(|name| given.has(name));
    let of_beam = given.has("candidates") || given.has("symmetry_averaging");
    let (name, deferred) = match name {
        "bwas" if heuristic.has_policy && (of_beam || (!as_published && !of_bwas)) => ("beam", false),
        "bwas" if heuristic.has_policy => ("bwas", !as_published),
        name => (name, false),
    };
    let mut settings: Map<String, Value> = match serde_json::to_value(given) {
        Ok(Value::Object(settings)) => settings,
        _ => Map::new(),
    };
    if deferred {
        settings.insert("deferred".into(), true.into());
    }
    SearchConfig::from_given(name, settings)
}

fn choose_symmetries(
    search: &SearchConfig,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<usize, SettingError> {
    let has = facts.puzzle.symmetries;
    let Some(asked) = search.common().symmetries else {
        let takes_several = match search {
            SearchConfig::Beam(settings) => heuristic.has_policy && settings.candidates != Some(0),
            _ => false,
        };
        return Ok(if takes_several { has.clamp(1, BEAM_SYMMETRIES) } else { 1 });
    };
    let asked = asked.get();
    if asked > has.max(1) {
        let name = &facts.puzzle.name;
        let reason = match has {
            0 if facts.puzzle.has_own_costs => "a symmetric image has other costs, with `move_costs`".into(),
            0 => format!("costar knows no symmetries of {name}"),
            _ => format!("{name} has {has} symmetric images"),
        };
        let reason = format!("{asked}: {reason}; leave it out");
        return Err(SettingError::new("symmetries", reason));
    }
    if asked > 1 && matches!(search, SearchConfig::Bwas(settings) if settings.anytime == Some(true)) {
        let reason = "the search of the first image would have no end with `anytime`; leave out one of the two";
        return Err(SettingError::new("symmetries", reason));
    }
    Ok(asked)
}

/// Fills in what is left out of a search's settings.
fn complete(
    search: &mut SearchConfig,
    symmetries: usize,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<PerimeterPlan, SettingError> {
    match search {
        SearchConfig::Bwas(settings) => complete_bwas(settings, facts, heuristic),
        SearchConfig::Beam(settings) => complete_beam(settings, symmetries, facts, heuristic),
        SearchConfig::BestFirst(settings) => {
            settings.lambda = settings.lambda.or(Weight::new(0.0));
            Ok(PerimeterPlan::NONE)
        }
        SearchConfig::Bfs(_) | SearchConfig::Bidirectional(_) => plan_kept(search.common(), facts),
        SearchConfig::Random(settings) => {
            settings.seed = settings.seed.or(Some(1));
            Ok(PerimeterPlan::NONE)
        }
        _ => Ok(PerimeterPlan::NONE),
    }
}

fn complete_bwas(
    settings: &mut BwasSettings,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<PerimeterPlan, SettingError> {
    let deferred = settings.deferred == Some(true);
    let anytime = settings.anytime == Some(true);
    if settings.policy_weight.is_some() && !deferred {
        let reason = "it is a setting of beam, and of bwas with `deferred`: add one of these, or leave it out";
        return Err(SettingError::new("policy_weight", reason));
    }
    if deferred && !heuristic.has_policy {
        let reason = "the heuristic has no policy: expected a model that was trained with a `policy` head";
        return Err(SettingError::new("deferred", reason));
    }
    if anytime && settings.patience.is_some() {
        let reason = "with `anytime`, the search does not end after so many steps; leave out one of the two";
        return Err(SettingError::new("patience", reason));
    }
    let as_published = !deferred && !anytime && settings.perimeter.is_none() && settings.patience.is_none();
    let default = (if deferred { DEFERRED_N } else { BWAS_N })[usize::from(heuristic.on_cuda)];
    settings.n = settings.n.or(NonZeroUsize::new(default));
    settings.lambda = settings.lambda.or(Weight::new(LAMBDA));
    if as_published {
        return Ok(PerimeterPlan::NONE);
    }
    if deferred {
        settings.policy_weight = settings.policy_weight.or(Weight::new(DEFERRED_POLICY_WEIGHT));
    }
    let states = if deferred { DEFERRED_PERIMETER } else { 0 };
    let perimeter = plan_perimeter(settings.perimeter, None, states, facts)?;
    let patience = settings.patience.unwrap_or(if perimeter.depth > 0 { PATIENCE } else { 0 });
    settings.patience = (!anytime).then_some(patience);
    Ok(perimeter)
}

fn complete_beam(
    settings: &mut BeamSettings,
    symmetries: usize,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<PerimeterPlan, SettingError> {
    let candidates = settings.candidates.unwrap_or(if heuristic.has_policy { CANDIDATES } else { 0 });
    if candidates > 0 && !heuristic.has_policy {
        let reason = "the heuristic has no policy: expected a model that was trained with a `policy` head";
        return Err(SettingError::new("candidates", reason));
    }
    if candidates == 0 && settings.policy_weight.is_some() {
        return Err(SettingError::new("policy_weight", "it has no effect without `candidates`; leave it out"));
    }
    let averages = settings.symmetry_averaging.is_some_and(|share| share > Share::default());
    if averages && !facts.puzzle.has_symmetric_states {
        let reason = match facts.puzzle.has_own_costs {
            true => "a symmetric state has another cost, with `move_costs`: expected 0".into(),
            false => format!("{}, with this goal, has no symmetric states: expected 0", facts.puzzle.name),
        };
        return Err(SettingError::new("symmetry_averaging", reason));
    }
    let own = heuristic.beam;
    let on_cuda = usize::from(heuristic.on_cuda);
    let default = match candidates {
        0 => BEAM_N[on_cuda],
        _ => CANDIDATES_N[on_cuda] / symmetries.min(BEAM_SYMMETRIES),
    };
    let n = settings.n.or(own.and_then(|own| own.n)).map_or(default, NonZeroUsize::get);
    let own_depth = own.and_then(|own| own.perimeter).filter(|_| candidates > 0);
    let states = if candidates > 0 { BEAM_PERIMETER.saturating_mul(n).saturating_mul(symmetries) } else { 0 };
    let perimeter = plan_perimeter(settings.perimeter, own_depth, states, facts)?;
    settings.n = NonZeroUsize::new(n);
    settings.candidates = (candidates > 0).then_some(candidates);
    let weight = settings.policy_weight.or(own.and_then(|own| own.policy_weight)).or(Weight::new(BEAM_POLICY_WEIGHT));
    settings.policy_weight = weight.filter(|_| candidates > 0);
    settings.symmetry_averaging = settings.symmetry_averaging.filter(|_| averages);
    Ok(perimeter)
}

#[cfg(test)]
mod tests {
    use super::super::plan::ModelFacts;
    use super::*;
    use crate::registry::PuzzleFacts;

    fn puzzle() -> PuzzleFacts {
        PuzzleFacts {
            name: "cube3".into(),
            is_reversible: true,
            symmetries: 96,
            has_symmetric_states: true,
            has_classes: false,
            has_unit_costs: true,
            has_own_goal: true,
            has_own_costs: false,
            search: "bwas",
            prefers_network: true,
            heuristics: vec!["zero", "perimeter"],
        }
    }

    fn model(has_policy: bool) -> ModelFacts {
        ModelFacts { folder: "m".into(), name: "m".into(), puzzle: "cube3".into(), has_policy, search: None }
    }

    fn plan(
        search: &str,
        settings: &str,
        puzzle: &PuzzleFacts,
        model: Option<&ModelFacts>,
    ) -> Result<Plan, SettingError> {
        let given = serde_json::from_str(settings).expect("an object");
        let request = Request { search: SearchConfig::from_given(search, given)?, ..Request::default() };
        let missing = SettingError::new("model", "there is none");
        let facts = Facts { puzzle, model: model.ok_or(&missing), on_cuda: false, room: u64::MAX };
        resolve(&request, &facts)
    }

    fn config(search: &str, settings: &str, has_policy: bool) -> String {
        let plan = plan(search, settings, &puzzle(), Some(&model(has_policy))).expect("a plan");
        serde_json::to_string(&plan.search).expect("JSON")
    }

    #[test]
    fn auto_is_what_measured_best() {
        let beam = r#"{"search":"beam","n":6000,"candidates":2,"policy_weight":1.5,"symmetries":4}"#;
        assert_eq!(config("auto", "{}", true), beam);
        assert_eq!(config("auto", "{}", false), r#"{"search":"bwas","n":1000,"lambda":0.6}"#);
        assert_eq!(config("auto", r#"{"n": 500}"#, true), r#"{"search":"bwas","n":500,"lambda":0.6}"#);
        assert_eq!(config("auto", r#"{"n": null}"#, true), r#"{"search":"bwas","n":1000,"lambda":0.6}"#);
        let deferred = r#"{"search":"bwas","n":20000,"lambda":0.6,"deferred":true,"policy_weight":1.0,"patience":4}"#;
        for settings in [r#"{"deferred": true}"#, r#"{"patience": 4}"#] {
            assert_eq!(config("auto", settings, true), deferred);
        }
        let wide = config("auto", r#"{"n": 8000, "candidates": 2, "symmetries": 1}"#, true);
        assert_eq!(wide, r#"{"search":"beam","n":8000,"candidates":2,"policy_weight":1.5}"#);
        let without = plan("auto", "{}", &PuzzleFacts { search: "astar", ..puzzle() }, None);
        assert_eq!(without.expect_err("a model is missing").field, "model");
    }

    #[test]
    fn a_beam_looks_for_a_shorter_answer_where_classes_make_that_cheap() {
        let cube = PuzzleFacts { has_classes: true, ..puzzle() };
        let sequences = |search, settings| {
            let plan = plan(search, settings, &cube, Some(&model(true))).expect("a plan");
            plan.search.common().sequences
        };
        assert_eq!(sequences("auto", "{}"), Some(BEAM_SEQUENCES));
        assert_eq!(sequences("beam", r#"{"sequences": 5}"#), Some(5));
        for without in [r#"{"sequences": 0}"#, r#"{"perimeter": 0}"#, r#"{"prove": true}"#, r#"{"candidates": 0}"#] {
            assert_eq!(sequences("beam", without), None, "{without}");
        }
        assert_eq!(sequences("bwas", r#"{"deferred": true}"#), None);
    }

    #[test]
    fn the_model_says_what_its_beam_does_best_and_settings_go_before_it() {
        let own = r#"{"search":"beam","n":40,"policy_weight":2.5,"perimeter":2}"#;
        let model = ModelFacts { search: serde_json::from_str(own).expect("a configuration"), ..model(true) };
        let resolved = |settings| plan("beam", settings, &puzzle(), Some(&model)).expect("a plan");
        let plan = resolved("{}");
        let SearchConfig::Beam(beam) = &plan.search else { panic!("{plan:?}") };
        assert_eq!((beam.n, beam.policy_weight), (NonZeroUsize::new(40), Weight::new(2.5)));
        assert_eq!((plan.perimeter.depth, plan.perimeter.asked), (2, false));
        assert_eq!(resolved(r#"{"perimeter": 3}"#).perimeter.depth, 3);
        assert_eq!(resolved(r#"{"perimeter": 0}"#).perimeter, PerimeterPlan::NONE);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let one_way = PuzzleFacts { is_reversible: false, symmetries: 0, has_symmetric_states: false, ..puzzle() };
        for (search, settings, puzzle, has_policy, field) in [
            ("bwas", r#"{"deferred": true}"#, puzzle(), false, "deferred"),
            ("beam", r#"{"candidates": 3}"#, puzzle(), false, "candidates"),
            ("beam", r#"{"candidates": 0, "policy_weight": 1}"#, puzzle(), true, "policy_weight"),
            ("bwas", r#"{"policy_weight": 1}"#, puzzle(), true, "policy_weight"),
            ("bwas", r#"{"anytime": true, "patience": 3}"#, puzzle(), true, "patience"),
            ("bwas", r#"{"anytime": true, "symmetries": 2}"#, puzzle(), true, "symmetries"),
            ("beam", r#"{"symmetries": 97}"#, puzzle(), true, "symmetries"),
            ("beam", r#"{"symmetries": 2}"#, one_way.clone(), true, "symmetries"),
            ("beam", r#"{"symmetry_averaging": 0.5}"#, one_way.clone(), true, "symmetry_averaging"),
            ("beam", r#"{"perimeter": 3}"#, one_way.clone(), true, "perimeter"),
            ("bidirectional", "{}", one_way.clone(), true, "search"),
            ("nbs", "{}", one_way, true, "search"),
        ] {
            let error = plan(search, settings, &puzzle, Some(&model(has_policy))).expect_err(settings);
            assert_eq!(error.field, field, "{search} {settings}: {error}");
        }
    }
}
