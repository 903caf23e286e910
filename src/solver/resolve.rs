//! From a request to a plan: every default and every refusal is here. Pure: reads, loads and builds nothing, so that
//! checking a request is the same call as solving it.

use super::options::{Engine, REDUCTION, SearchInfo, SearchOptions};
use super::plan::{Facts, HeuristicChoice, HeuristicPlan, PerimeterPlan, Plan, ProofPlan, Request, SearchPlan};
use crate::error::SettingError;
use crate::search::beam::HashSlots;

mod heuristic_plan;
mod perimeter_plan;

pub(super) use heuristic_plan::asks_heuristic;
use heuristic_plan::{choose_heuristic, means_reduction, reduction_network};
use perimeter_plan::{plan_cached, plan_perimeter, plan_proof_perimeter};

/// The weight of the path cost, as published.
const BWAS_LAMBDA: f64 = 0.6;

/// Nodes a step of batch-weighted A*: on the CPU, on CUDA.
const BWAS_N: [usize; 2] = [1_000, 10_000];
/// The same with deferred evaluation.
const DEFERRED_N: [usize; 2] = [20_000, 100_000];
/// The width of a beam that evaluates all children.
const BEAM_N: [usize; 2] = [1_000, 10_000];
/// The width of a beam with candidates, over all symmetric images together.
const CANDIDATES_N: [usize; 2] = [24_000, 100_000];

/// Children that a beam evaluates in a layer, in widths.
pub(super) const CANDIDATES: u64 = 2;

/// The most symmetric images that a beam with candidates searches by default: where only a cheaper solution is sought, a
/// few narrow beams find more than a wide one.
const BEAM_SYMMETRIES: usize = 4;

/// The hashes of a beam on a device take at most its memory divided by this.
const HASHES_DIVISOR: u64 = 8;

/// The policy weight of a beam.
const BEAM_POLICY_WEIGHT: f64 = 1.5;
/// The policy weight with deferred evaluation, which returns to the children that it deferred.
const DEFERRED_POLICY_WEIGHT: f64 = 1.0;

/// States of the perimeter with deferred evaluation, and of a reduction: the cube's states within 6 moves.
const DEFERRED_PERIMETER: usize = 1_000_000;

/// States of a beam's perimeter for each state of its width and each symmetric image: making one takes less than a
/// thousandth of the time of a state in all layers. On the cube, these are the states within 7 moves for the default width,
/// within 8 for widths of 90,000 over all images.
const BEAM_PERIMETER: usize = 1_000;

/// Move sequences into a perimeter of classes after a beam with candidates: two or three seconds on two cores. With a
/// perimeter of depth 11, they prove three solutions of four on the cube.
const PROOF_BUDGET: u64 = 100_000_000;

/// Steps after the first solution with a perimeter, which is hit early; without one, the first goal is rarely beaten soon.
const STALE_STEPS: u64 = 4;

/// Facts about the heuristic that choose the search.
#[derive(Clone, Copy)]
struct HeuristicFacts<'a> {
    /// Whether it is for the first stage of the search `reduction`.
    in_stages: bool,
    /// Whether it is a network or the caller's: `auto` then takes a search that asks in batches.
    is_network: bool,
    is_model: bool,
    has_policy: bool,
    on_cuda: bool,
    /// The settings of a beam that measured best with the model.
    beam: Option<&'a SearchOptions>,
}

impl HeuristicFacts<'_> {
    /// The children that a beam evaluates in a layer, in widths; 0: all.
    fn candidates(&self, options: &SearchOptions) -> u64 {
        let own = || self.beam.and_then(|own| own.candidates).unwrap_or(CANDIDATES);
        options.candidates.unwrap_or_else(|| if self.has_policy { own() } else { 0 })
    }

    /// The width of a beam: the model's, which was measured on two cores, or the default; on CUDA, the larger of the two.
    fn width(&self, options: &SearchOptions, default: usize) -> usize {
        let own = self.beam.and_then(|own| own.n.flatten()).unwrap_or(default);
        options.n.flatten().unwrap_or(if self.on_cuda { own.max(default) } else { own })
    }
}

/// Decides which search and which heuristic a request means, with which settings.
///
/// # Errors
/// Names the setting that cannot be, and what is expected.
pub fn resolve(request: &Request, facts: &Facts<'_>) -> Result<Plan, SettingError> {
    request.options.check()?;
    let in_stages = means_reduction(request, facts);
    let (plan, model) = match in_stages {
        true => (reduction_network(request, facts)?, facts.reduction_model),
        false => (choose_heuristic(request, facts)?, facts.model),
    };
    let model = if matches!(plan, HeuristicPlan::Network { .. }) { model.ok() } else { None };
    let heuristic = HeuristicFacts {
        in_stages,
        is_network: model.is_some() || plan == HeuristicPlan::Given,
        is_model: model.is_some(),
        has_policy: match request.heuristic {
            HeuristicChoice::Given { has_policy } => has_policy,
            _ => model.is_some_and(|model| model.has_policy),
        },
        on_cuda: model.is_some() && facts.on_cuda,
        beam: model.and_then(|model| model.search.as_ref()).filter(|options| options.search() == "beam"),
    };
    let (search, options) = choose_search(request, facts, &heuristic)?;
    let symmetries = choose_symmetries(search, &options, facts, &heuristic)?;
    let (search, own_perimeter) = plan_search(search, &options, symmetries, facts, &heuristic)?;
    let proof_perimeter = plan_proof_perimeter(search, &options, facts)?;
    let search_uses_perimeter = own_perimeter != PerimeterPlan::None || search == SearchPlan::Exhaustive;
    let perimeter = match (own_perimeter, proof_perimeter) {
        (PerimeterPlan::None, Some(perimeter)) => perimeter,
        (perimeter, _) => perimeter,
    };
    if perimeter == PerimeterPlan::None && options.perimeter.is_some_and(|depth| depth > 0) {
        plan_perimeter(options.perimeter, None, 0, facts)?; // where no search can use one, that is the reason
        let name = search.name();
        let reason = format!("{name} uses it only with `prove` or `proof_budget`: add one of these, or leave it out");
        return Err(SettingError::new("perimeter", reason));
    }
    let is_default = matches!(perimeter, PerimeterPlan::UpTo(..) | PerimeterPlan::Cached(_));
    Ok(Plan {
        search,
        heuristic: plan,
        perimeter,
        search_uses_perimeter,
        leaves_out_whole_perimeter: request.names_model && proof_perimeter.is_none() && is_default,
        symmetries,
        // A search on the device fills it alone, and the stages of a reduction serve one search at a time.
        images_together: heuristic.on_cuda && !search.is_on_device() && !matches!(search, SearchPlan::Reduction { .. }),
        proof: plan_proof(search, &options, own_perimeter, facts),
        widens: facts.spends_time
            && request.options.search() == "auto"
            && request.options.n.flatten().is_none()
            && matches!(
                search,
                SearchPlan::Beam { .. } | SearchPlan::Bwas { anytime: false, .. } | SearchPlan::Reduction { .. }
            ),
    })
}

/// The proof that was asked for; a beam with candidates has a budget by default, where classes make that cheap.
fn plan_proof(search: SearchPlan, options: &SearchOptions, perimeter: PerimeterPlan, facts: &Facts<'_>) -> ProofPlan {
    let is_cheap = matches!(search, SearchPlan::Beam { candidates: 1.., .. })
        && perimeter.class_bytes() > 0
        && facts.puzzle.has_unit_costs;
    match options.proof_budget {
        _ if options.prove => ProofPlan::Whole,
        Some(0) => ProofPlan::None,
        Some(budget) => ProofPlan::Budget(budget),
        None if is_cheap => ProofPlan::Budget(PROOF_BUDGET),
        None => ProofPlan::None,
    }
}

/// The name of the search, before the heuristic is chosen: `auto` means `bwas` where `n` or `lambda` is given or a network
/// is used.
fn search_name<'a>(request: &'a Request, facts: &Facts<'a>, with_network: bool) -> &'a str {
    let options = &request.options;
    match options.search() {
        "auto" if options.n.is_some() || options.lambda.is_some() || with_network => "bwas",
        "auto" => facts.puzzle.search,
        name => name,
    }
}

/// The search, and the settings that were given for it. With a policy head, `auto` is a beam, which measured best; `n` or
/// `lambda` alone mean batch-weighted A* as published.
fn choose_search(
    request: &Request,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<(&'static SearchInfo, SearchOptions), SettingError> {
    let mut options = request.options.clone();
    let mut name = if heuristic.in_stages { REDUCTION } else { search_name(request, facts, heuristic.is_network) };
    if options.search() == "auto" && name == "bwas" && heuristic.has_policy {
        let as_published = options.n.is_some() || options.lambda.is_some();
        let of_bwas = options.deferred || options.anytime || options.max_stale_steps.is_some();
        if options.candidates.is_some() || !(as_published || of_bwas) {
            name = "beam";
        } else {
            options.deferred |= !as_published;
        }
    }
    let search = SearchInfo::named(name)?;
    options.check_for(search)?;
    if search.needs_inverses && !facts.puzzle.is_reversible {
        let (puzzle, others) = (&facts.puzzle.name, SearchInfo::possible(false, false).map(|search| search.name));
        let others = others.collect::<Vec<_>>().join(", ");
        let reason = format!(
            "{name}: the moves of {puzzle} cannot be undone, so it cannot be searched from its goals: expected {others}"
        );
        return Err(SettingError::new("search", reason));
    }
    Ok((search, options))
}

fn choose_symmetries(
    search: &SearchInfo,
    options: &SearchOptions,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<usize, SettingError> {
    let has = facts.puzzle.symmetries;
    let Some(asked) = options.symmetries.flatten() else {
        let is_beam = search.name == "beam" && heuristic.candidates(options) > 0;
        let takes_several = is_beam || search.name == REDUCTION;
        return Ok(if takes_several { has.clamp(1, BEAM_SYMMETRIES) } else { 1 });
    };
    if asked > has.max(1) {
        let name = &facts.puzzle.name;
        let reason = match has {
            0 if facts.puzzle.has_own_costs => "a symmetric image has other costs, with `move_costs`".into(),
            0 => format!("costar knows no symmetries of {name}"),
            _ => format!("{name} has {has} symmetric images"),
        };
        return Err(SettingError::new("symmetries", format!("{asked}: {reason}; leave it out")));
    }
    if asked > 1 && options.anytime {
        let reason = "the search of the first image would have no end with `anytime`; leave out one of the two";
        return Err(SettingError::new("symmetries", reason));
    }
    Ok(asked)
}

/// The search with the default of every setting that is left out, and its perimeter.
fn plan_search(
    search: &SearchInfo,
    options: &SearchOptions,
    symmetries: usize,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<(SearchPlan, PerimeterPlan), SettingError> {
    let plan = match search.name {
        "bwas" => return plan_bwas(options, facts, heuristic),
        "beam" => return plan_beam(options, symmetries, facts, heuristic),
        "bfs" => return Ok((SearchPlan::Bfs, plan_cached(options, facts)?)),
        "bidirectional" => return Ok((SearchPlan::Bidirectional, plan_cached(options, facts)?)),
        "astar" => SearchPlan::AStar,
        "idastar" => SearchPlan::IdaStar,
        "nbs" => SearchPlan::Nbs,
        "best-first" => SearchPlan::BestFirst { lambda: options.lambda.unwrap_or(0.0) },
        "random" => SearchPlan::Random { seed: options.seed.unwrap_or(1) },
        "exhaustive" => SearchPlan::Exhaustive,
        REDUCTION => {
            let default_n = CANDIDATES_N[usize::from(heuristic.on_cuda)] / symmetries.min(BEAM_SYMMETRIES);
            let search = SearchPlan::Reduction { n: heuristic.width(options, default_n) };
            return Ok((search, plan_perimeter(options.perimeter, None, DEFERRED_PERIMETER, facts)?));
        }
        name => return Err(SearchInfo::unknown(name)),
    };
    Ok((plan, PerimeterPlan::None))
}

fn plan_bwas(
    options: &SearchOptions,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<(SearchPlan, PerimeterPlan), SettingError> {
    let &SearchOptions { deferred, anytime, max_stale_steps, .. } = options;
    if options.policy_weight.is_some() && !deferred {
        let reason = "it is a setting of beam, and of bwas with `deferred`: add one of these, or leave it out";
        return Err(SettingError::new("policy_weight", reason));
    }
    if deferred && !heuristic.has_policy {
        return Err(needs_policy("deferred"));
    }
    if anytime && max_stale_steps.is_some() {
        let reason = "with `anytime`, the search does not end after a number of steps; leave out one of the two";
        return Err(SettingError::new("max_stale_steps", reason));
    }
    let as_published = !deferred && !anytime && options.perimeter.is_none() && max_stale_steps.is_none();
    let perimeter = match as_published {
        true => PerimeterPlan::None,
        false => plan_perimeter(options.perimeter, None, if deferred { DEFERRED_PERIMETER } else { 0 }, facts)?,
    };
    let default_n = (if deferred { DEFERRED_N } else { BWAS_N })[usize::from(heuristic.on_cuda)];
    let default_steps = if perimeter == PerimeterPlan::None { 0 } else { STALE_STEPS };
    let obstacle = match (deferred, facts.puzzle.has_unit_costs) {
        (true, _) => Some("`deferred` keeps its moves on the host".to_owned()),
        (false, false) => Some("the moves have different costs".to_owned()),
        (false, true) => None,
    };
    let on_device = choose_engine(options, facts, heuristic, obstacle)?;
    let search = SearchPlan::Bwas {
        n: options.n.flatten().unwrap_or(default_n),
        lambda: options.lambda.unwrap_or(BWAS_LAMBDA),
        deferred,
        policy_weight: if deferred { options.policy_weight.unwrap_or(DEFERRED_POLICY_WEIGHT) } else { 0.0 },
        max_stale_steps: max_stale_steps.unwrap_or(default_steps),
        anytime,
        on_device,
    };
    Ok((search, perimeter))
}

fn plan_beam(
    options: &SearchOptions,
    symmetries: usize,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
) -> Result<(SearchPlan, PerimeterPlan), SettingError> {
    let candidates = heuristic.candidates(options);
    if candidates > 0 && !heuristic.has_policy {
        return Err(needs_policy("candidates"));
    }
    if candidates == 0 && options.policy_weight.is_some() {
        return Err(SettingError::new("policy_weight", "it has no effect without `candidates`; leave it out"));
    }
    let own = heuristic.beam;
    let on_cuda = usize::from(heuristic.on_cuda);
    let default_n = match candidates {
        0 => BEAM_N[on_cuda],
        _ => CANDIDATES_N[on_cuda] / symmetries.min(BEAM_SYMMETRIES),
    };
    let n = heuristic.width(options, default_n);
    let own_depth = own.and_then(|own| own.perimeter).filter(|_| candidates > 0);
    let states = if candidates > 0 { BEAM_PERIMETER.saturating_mul(n).saturating_mul(symmetries) } else { 0 };
    let perimeter = plan_perimeter(options.perimeter, own_depth, states, facts)?;
    let policy_weight = options.policy_weight.or(own.and_then(|own| own.policy_weight)).unwrap_or(BEAM_POLICY_WEIGHT);
    let policy_weight = if candidates > 0 { policy_weight } else { 0.0 };
    let on_device = choose_engine(options, facts, heuristic, None)?;
    if options.hash_slots.is_some() && !on_device {
        let reason = "it is a setting of a beam on the device: add `engine` device, or leave it out";
        return Err(SettingError::new("hash_slots", reason));
    }
    let most = facts.device_bytes / 8;
    let hash_slots = match options.hash_slots {
        Some(slots) if slots > most => {
            let reason = format!("{slots} of 8 bytes do not fit the device's memory: expected at most {most}");
            return Err(SettingError::new("hash_slots", reason));
        }
        Some(slots) => HashSlots::Exactly(slots),
        None => HashSlots::UpTo(most / HASHES_DIVISOR),
    };
    Ok((SearchPlan::Beam { n, candidates, policy_weight, on_device, hash_slots }, perimeter))
}

/// Whether the states of a search lie on the network's device. On CUDA they do where they can: the host's cores make children
/// at a hundredth of the rate at which a GPU evaluates them. `obstacle` is the search's own reason against it.
fn choose_engine(
    options: &SearchOptions,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
    obstacle: Option<String>,
) -> Result<bool, SettingError> {
    let name = &facts.puzzle.name;
    let obstacle = if facts.puzzle.has_own_costs {
        Some("every move costs 1 there, and `move_costs` sets other costs".into())
    } else if !facts.puzzle.has_move_table {
        Some(format!("the moves of {name} are no fixed changes of cells that a device could make"))
    } else if !heuristic.is_model {
        Some("it asks a network, and none is used".into())
    } else {
        obstacle
    };
    match (options.engine.unwrap_or(Engine::Auto), obstacle) {
        (Engine::Auto, None) if heuristic.on_cuda => Ok(true),
        (Engine::Auto, obstacle) => {
            let reason = obstacle.unwrap_or_else(|| "with the network on the CPU, they are faster there".into());
            log::debug!("the states of the search stay on the host: {reason}");
            Ok(false)
        }
        (Engine::Device, None) => Ok(true),
        (Engine::Device, Some(reason)) => Err(SettingError::new("engine", format!("device: {reason}: expected host"))),
        (Engine::Host, _) => Ok(false),
    }
}

fn needs_policy(field: &str) -> SettingError {
    SettingError::new(field, "the heuristic has no policy: expected a model that was trained with a `policy` head")
}

#[cfg(test)]
mod tests {
    use super::super::plan::ModelFacts;
    use super::*;
    use crate::registry::PuzzleFacts;
    use serde_json::{Map, Value};

    fn puzzle() -> PuzzleFacts {
        PuzzleFacts {
            name: "cube3".into(),
            is_reversible: true,
            symmetries: 96,
            has_classes: false,
            has_unit_costs: true,
            has_own_goal: true,
            has_own_costs: false,
            has_move_table: true,
            reduction: &[],
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
        plan_on(false, search, settings, puzzle, model)
    }

    fn plan_on(
        on_cuda: bool,
        search: &str,
        settings: &str,
        puzzle: &PuzzleFacts,
        model: Option<&ModelFacts>,
    ) -> Result<Plan, SettingError> {
        let mut given: Map<String, Value> = serde_json::from_str(settings).expect("an object");
        let is_auto_n = given.get("n").is_some_and(Value::is_null);
        given.insert("search".into(), search.into());
        let mut options = SearchOptions::from_json(given)?;
        if is_auto_n {
            options.n = Some(None);
        }
        let request = Request { options, ..Request::default() };
        let missing = SettingError::new("model", "there is none");
        let facts = Facts {
            puzzle,
            model: model.ok_or(&missing),
            reduction_model: model.ok_or(&missing),
            on_cuda,
            device_bytes: 1 << 30,
            perimeter_bytes: u64::MAX,
            spends_time: false,
        };
        resolve(&request, &facts)
    }

    fn config(search: &str, settings: &str, has_policy: bool) -> String {
        let plan = plan(search, settings, &puzzle(), Some(&model(has_policy))).expect("a plan");
        serde_json::to_string(&plan.options(0).to_json()).expect("JSON")
    }

    #[test]
    fn auto_is_what_measured_best() {
        let beam = r#"{"search":"beam","n":6000,"engine":"host","candidates":2,"policy_weight":1.5,"symmetries":4}"#;
        assert_eq!(config("auto", "{}", true), beam);
        assert_eq!(config("auto", "{}", false), r#"{"search":"bwas","n":1000,"lambda":0.6,"engine":"host"}"#);
        assert_eq!(config("auto", r#"{"n": 500}"#, true), r#"{"search":"bwas","n":500,"lambda":0.6,"engine":"host"}"#);
        assert_eq!(
            config("auto", r#"{"n": null}"#, true),
            r#"{"search":"bwas","n":1000,"lambda":0.6,"engine":"host"}"#
        );
        let deferred = r#"{"search":"bwas","n":20000,"lambda":0.6,"engine":"host","deferred":true,"policy_weight":1.0,"max_stale_steps":4}"#;
        for settings in [r#"{"deferred": true}"#, r#"{"max_stale_steps": 4}"#] {
            assert_eq!(config("auto", settings, true), deferred);
        }
        let wide = config("auto", r#"{"n": 8000, "candidates": 2, "symmetries": 1}"#, true);
        assert_eq!(wide, r#"{"search":"beam","n":8000,"engine":"host","candidates":2,"policy_weight":1.5}"#);
        let without = plan("auto", "{}", &PuzzleFacts { search: "astar", ..puzzle() }, None);
        assert_eq!(without.expect_err("a model is missing").field, "model");
    }

    #[test]
    fn a_puzzle_with_a_reduction_is_solved_by_it_where_there_is_a_model_for_that() {
        let cube = PuzzleFacts { reduction: &["cube3", "cube3"], ..puzzle() };
        let reduced = |settings| plan("auto", settings, &cube, Some(&model(true))).expect("a plan");
        assert_eq!(reduced("{}").search, SearchPlan::Reduction { n: 6000 });
        let one = reduced(r#"{"symmetries": 1}"#);
        assert_eq!((one.search, one.symmetries), (SearchPlan::Reduction { n: 24_000 }, 1));
        // Another setting is for a search that goes all the way.
        assert!(matches!(reduced(r#"{"n": 500}"#).search, SearchPlan::Bwas { .. }));
        assert!(matches!(reduced(r#"{"candidates": 3}"#).search, SearchPlan::Beam { .. }));
        let named = plan("reduction", r#"{"n": 70}"#, &cube, Some(&model(true))).expect("a plan");
        assert_eq!(named.search, SearchPlan::Reduction { n: 70 });
        let foreign = PuzzleFacts { reduction: &["cube4:reduction", "cube3"], ..puzzle() };
        for (puzzle, field) in [(&puzzle(), "search"), (&foreign, "model")] {
            assert_eq!(plan("reduction", "{}", puzzle, Some(&model(true))).expect_err("a refusal").field, field);
        }
        assert!(matches!(
            plan("auto", "{}", &foreign, Some(&model(true))).expect("a plan").search,
            SearchPlan::Beam { .. }
        ));
    }

    #[test]
    fn a_beam_looks_for_a_shorter_answer_where_classes_make_that_cheap() {
        let cube = PuzzleFacts { has_classes: true, ..puzzle() };
        let proof = |search, settings| plan(search, settings, &cube, Some(&model(true))).expect("a plan").proof;
        assert_eq!(proof("auto", "{}"), ProofPlan::Budget(PROOF_BUDGET));
        assert_eq!(proof("beam", r#"{"proof_budget": 5}"#), ProofPlan::Budget(5));
        for without in [r#"{"proof_budget": 0}"#, r#"{"perimeter": 0}"#, r#"{"candidates": 0}"#] {
            assert_eq!(proof("beam", without), ProofPlan::None, "{without}");
        }
        assert_eq!(proof("beam", r#"{"prove": true}"#), ProofPlan::Whole);
        assert_eq!(proof("bwas", r#"{"deferred": true}"#), ProofPlan::None);
    }

    #[test]
    fn the_model_says_what_its_beam_does_best_and_settings_go_before_it() {
        let own = r#"{"search":"beam","n":40,"candidates":1,"policy_weight":2.5,"perimeter":2}"#;
        let of_model = |has_policy| ModelFacts {
            search: serde_json::from_str(own).expect("a configuration"),
            ..model(has_policy)
        };
        let resolved = |settings| plan("beam", settings, &puzzle(), Some(&of_model(true))).expect("a plan");
        let plan = resolved("{}");
        let beam = SearchPlan::Beam {
            n: 40,
            candidates: 1,
            policy_weight: 2.5,
            on_device: false,
            hash_slots: HashSlots::UpTo(1 << 24),
        };
        assert_eq!(plan.search, beam);
        assert!(matches!(plan.perimeter, PerimeterPlan::UpTo(2, _)), "{plan:?}");
        assert!(matches!(resolved(r#"{"perimeter": 3}"#).perimeter, PerimeterPlan::Exactly(3, _)));
        assert_eq!(resolved(r#"{"perimeter": 0}"#).perimeter, PerimeterPlan::None);
        let width = |on_cuda, settings| {
            let plan = plan_on(on_cuda, "beam", settings, &puzzle(), Some(&of_model(true))).expect("a plan");
            let SearchPlan::Beam { n, .. } = plan.search else { panic!("{plan:?}") };
            n
        };
        assert_eq!([width(false, "{}"), width(true, "{}"), width(true, r#"{"n": 40}"#)], [40, 25_000, 40]);
        let all = resolved(r#"{"candidates": 0}"#);
        assert!(matches!(all.search, SearchPlan::Beam { candidates: 0, .. }), "{all:?}");
        let without = plan_on(false, "beam", "{}", &puzzle(), Some(&of_model(false))).expect("a plan");
        assert!(matches!(without.search, SearchPlan::Beam { candidates: 0, .. }), "without a policy head: {without:?}");
    }

    #[test]
    fn the_hashes_on_a_device_take_a_part_of_its_memory() {
        let slots = |settings| {
            let plan = plan("beam", settings, &puzzle(), Some(&model(true))).expect("a plan");
            let SearchPlan::Beam { hash_slots, .. } = plan.search else { panic!("{plan:?}") };
            (hash_slots, plan.options(0).hash_slots)
        };
        // An eighth of 1 GiB; what depends on the memory is no setting of a result.
        assert_eq!(slots(r#"{"engine": "device"}"#), (HashSlots::UpTo(1 << 24), None));
        let asked = slots(r#"{"engine": "device", "hash_slots": 77}"#);
        assert_eq!(asked, (HashSlots::Exactly(77), Some(77)));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let without_table = PuzzleFacts { has_move_table: false, ..puzzle() };
        let one_way = PuzzleFacts { is_reversible: false, symmetries: 0, ..puzzle() };
        for (search, settings, puzzle, has_policy, field) in [
            ("bwas", r#"{"deferred": true}"#, puzzle(), false, "deferred"),
            ("beam", r#"{"candidates": 3}"#, puzzle(), false, "candidates"),
            ("beam", r#"{"candidates": 0, "policy_weight": 1}"#, puzzle(), true, "policy_weight"),
            ("bwas", r#"{"policy_weight": 1}"#, puzzle(), true, "policy_weight"),
            ("bwas", r#"{"anytime": true, "max_stale_steps": 3}"#, puzzle(), true, "max_stale_steps"),
            ("bwas", r#"{"anytime": true, "symmetries": 2}"#, puzzle(), true, "symmetries"),
            ("beam", r#"{"symmetries": 97}"#, puzzle(), true, "symmetries"),
            ("beam", r#"{"symmetries": 2}"#, one_way.clone(), true, "symmetries"),
            ("beam", r#"{"perimeter": 3}"#, one_way.clone(), true, "perimeter"),
            ("beam", r#"{"engine": "device"}"#, without_table, true, "engine"),
            ("beam", r#"{"hash_slots": 1000}"#, puzzle(), true, "hash_slots"),
            ("beam", r#"{"engine": "device", "hash_slots": 1000000000}"#, puzzle(), true, "hash_slots"),
            ("bwas", r#"{"engine": "device", "hash_slots": 1000}"#, puzzle(), true, "hash_slots"),
            ("bwas", r#"{"engine": "device", "deferred": true}"#, puzzle(), true, "engine"),
            ("astar", r#"{"engine": "device"}"#, puzzle(), true, "engine"),
            ("bidirectional", "{}", one_way.clone(), true, "search"),
            ("nbs", "{}", one_way, true, "search"),
        ] {
            let error = plan(search, settings, &puzzle, Some(&model(has_policy))).expect_err(settings);
            assert_eq!(error.field, field, "{search} {settings}: {error}");
        }
    }
}
