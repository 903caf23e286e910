//! From a request to a plan: every default and every refusal is here. Pure: reads, loads and builds nothing, so that
//! checking a request is the same call as solving it.
//!
//! | file | content |
//! | --- | --- |
//! | `search_plan` | the search, with a default for every setting that is left out |
//! | `heuristic_plan` | the heuristic: the network, one of the puzzle's own, or the caller's |
//! | `perimeter_plan` | the perimeter of the search and of the proof |

use super::options::{Engine, REDUCTION, SearchInfo, SearchOptions};
use super::plan::{Facts, HeuristicChoice, HeuristicPlan, PerimeterPlan, Plan, Request, SearchPlan};
use crate::error::SettingError;

mod heuristic_plan;
mod perimeter_plan;
mod search_plan;

use heuristic_plan::{choose_heuristic, means_reduction, reduction_network};
use perimeter_plan::{plan_perimeter, plan_proof_perimeter};
use search_plan::{check_engine, plan_search};

/// Children that a beam evaluates in a layer, in widths.
pub(super) const CANDIDATES: u64 = 2;

/// The most symmetric images that a beam with candidates searches by default: when only a cheaper solution is sought, a few
/// narrow beams find more than a wide one.
const BEAM_SYMMETRIES: usize = 4;

/// Move sequences into a perimeter of classes after a beam with candidates: two or three seconds on two cores. With a
/// perimeter of depth 11, they prove three solutions of four on the cube.
const PROOF_BUDGET: u64 = 100_000_000;

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
    check_engine(&request.options, facts.puzzle)?; // before a search refuses it, and names others
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
    let (info, options) = choose_search(request, facts, &heuristic)?;
    let symmetries = choose_symmetries(info, &options, facts, &heuristic)?;
    let (search, own_perimeter) = plan_search(info, &options, symmetries, facts, &heuristic)?;
    let proof_perimeter = plan_proof_perimeter(search, &options, facts)?;
    let search_uses_perimeter = own_perimeter != PerimeterPlan::None || search == SearchPlan::Exhaustive;
    let perimeter = match (own_perimeter, proof_perimeter) {
        (PerimeterPlan::None, Some(perimeter)) => perimeter,
        (perimeter, _) => perimeter,
    };
    if perimeter == PerimeterPlan::None && options.perimeter.is_some_and(|depth| depth > 0) {
        plan_perimeter(options.perimeter, None, 0, facts)?; // where no search can use one, that is the reason
        let name = info.name;
        let reason = format!("{name} uses it only with `prove` or `proof_budget`: add one of these, or leave it out");
        return Err(SettingError::new("perimeter", reason));
    }
    let is_default = matches!(perimeter, PerimeterPlan::UpTo(..) | PerimeterPlan::Cached(_));
    Ok(Plan {
        info,
        search,
        heuristic: plan,
        perimeter,
        search_uses_perimeter,
        leaves_out_whole_perimeter: request.model.is_some() && proof_perimeter.is_none() && is_default,
        symmetries,
        proof_budget: plan_proof(search, &options, own_perimeter, facts),
        widens: request.limits.spend_time
            && request.options.search() == "auto"
            && request.options.n.flatten().is_none()
            && matches!(
                search,
                SearchPlan::Beam { .. } | SearchPlan::Bwas { anytime: false, .. } | SearchPlan::Reduction { .. }
            ),
    })
}

/// The budget of the proof that was asked for; a beam with candidates has one by default, if classes make that cheap.
fn plan_proof(search: SearchPlan, options: &SearchOptions, perimeter: PerimeterPlan, facts: &Facts<'_>) -> Option<u64> {
    let is_cheap = matches!(search, SearchPlan::Beam { candidates: 1.., .. })
        && perimeter.class_bytes() > 0
        && facts.puzzle.has_unit_costs;
    let default = if is_cheap { PROOF_BUDGET } else { 0 };
    (!options.prove).then_some(options.proof_budget.unwrap_or(default))
}

/// The name of the search, before the heuristic is chosen: `auto` means `bwas` if `n` or `lambda` is given or a network
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
            options.deferred |= !as_published && options.engine != Some(Engine::Device);
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
        let own = heuristic.beam.and_then(|own| own.symmetries.flatten()).filter(|_| is_beam);
        return Ok(if takes_several { has.clamp(1, own.unwrap_or(BEAM_SYMMETRIES)) } else { 1 });
    };
    if asked > has.max(1) {
        let name = &facts.puzzle.name;
        let reason = match has {
            0 if facts.puzzle.has_own_costs => {
                "a symmetric image has other costs, with `move_costs`; leave it out".into()
            }
            0 => format!("costar knows no symmetries of {name}; leave it out"),
            _ => format!("expected at most {has}, the symmetric images of {name}"),
        };
        return Err(SettingError::new("symmetries", format!("{asked}: {reason}")));
    }
    if asked > 1 && options.anytime {
        let reason = "the search of the first image would have no end with `anytime`; leave out one of the two";
        return Err(SettingError::new("symmetries", reason));
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::super::plan::ModelFacts;
    use super::*;
    use crate::registry::PuzzleFacts;
    use crate::search::beam::HashSlots;
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
        let proof = |search, settings| plan(search, settings, &cube, Some(&model(true))).expect("a plan").proof_budget;
        assert_eq!(proof("auto", "{}"), Some(PROOF_BUDGET));
        assert_eq!(proof("beam", r#"{"proof_budget": 5}"#), Some(5));
        for without in [r#"{"proof_budget": 0}"#, r#"{"perimeter": 0}"#, r#"{"candidates": 0}"#] {
            assert_eq!(proof("beam", without), Some(0), "{without}");
        }
        assert_eq!(proof("beam", r#"{"prove": true}"#), None);
        assert_eq!(proof("bwas", r#"{"deferred": true}"#), Some(0));
    }

    #[test]
    fn the_model_says_what_its_beam_does_best_and_settings_go_before_it() {
        let own = r#"{"search":"beam","n":40,"candidates":1,"policy_weight":2.5,"perimeter":2,"symmetries":8}"#;
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
        assert_eq!((plan.search, plan.symmetries), (beam, 8));
        assert!(matches!(plan.perimeter, PerimeterPlan::UpTo(2, _)), "{plan:?}");
        assert_eq!(resolved(r#"{"symmetries": 2}"#).symmetries, 2);
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
        // An eighth of 1 GiB; what depends on the memory is not a setting of a result.
        assert_eq!(slots(r#"{"engine": "device"}"#), (HashSlots::UpTo(1 << 24), None));
        let asked = slots(r#"{"engine": "device", "hash_slots": 77}"#);
        assert_eq!(asked, (HashSlots::Exactly(77), Some(77)));
    }

    #[test]
    fn a_puzzle_that_no_device_holds_is_the_reason_whatever_the_search() {
        let jugs = PuzzleFacts { has_move_table: false, search: "astar", prefers_network: false, ..puzzle() };
        for search in ["auto", "bwas"] {
            let error = plan(search, r#"{"engine": "device"}"#, &jugs, None).expect_err(search);
            assert!(error.reason.contains("not fixed changes of cells"), "{search}: {error}");
        }
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
