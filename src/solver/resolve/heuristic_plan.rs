//! Which heuristic a request means: the network, one of the puzzle's own, or the caller's.

use super::super::options::{REDUCTION, SearchInfo};
use super::super::plan::{Facts, HeuristicChoice, HeuristicPlan, ModelFacts, Request};
use super::search_name;
use crate::error::{SettingError, ensure_setting};
use crate::neural::model::serves;

/// Whether the search of a name asks a heuristic.
fn asks_heuristic(search: &str) -> bool {
    SearchInfo::find(search).is_some_and(|search| search.asks_heuristic)
}

/// The heuristic that a request means, for any search but `reduction`.
///
/// # Errors
/// Names the setting that is refused.
pub(super) fn choose_heuristic(request: &Request, facts: &Facts<'_>) -> Result<HeuristicPlan, SettingError> {
    let own = &facts.puzzle.heuristics;
    let best = own.last().copied().unwrap_or("zero");
    let name = match &request.heuristic {
        HeuristicChoice::Given { .. } => return Ok(HeuristicPlan::Given),
        HeuristicChoice::Named(name) => name.as_str(),
        HeuristicChoice::Auto if prefers_network(request, facts) => "network",
        HeuristicChoice::Auto if best != "perimeter" => best,
        HeuristicChoice::Auto => match asks_heuristic(search_name(request, facts, false)) {
            // Nothing better is known: the error says how to get a model.
            true if !facts.puzzle.has_own_costs => "network",
            // A search that asks no heuristic loads no perimeter for one.
            false if !request.shows_estimates => "zero",
            _ => best,
        },
    };
    if name == "network" {
        return choose_network(facts);
    }
    ensure_setting!(request.model.is_none(), "model", "the heuristic '{name}' needs none; leave out one of the two");
    let (puzzle, is_own, own) = (&facts.puzzle.name, own.contains(&name), own.join(", "));
    ensure_setting!(is_own, "heuristic", "{puzzle} has no heuristic '{name}': expected auto, network, {own}");
    Ok(HeuristicPlan::Named(name.into()))
}

/// Whether a request means the search `reduction`: by name, or because `auto` may choose it, and there is a model for it.
pub(super) fn means_reduction(request: &Request, facts: &Facts<'_>) -> bool {
    let Request { options, heuristic, .. } = request;
    if options.search() != "auto" {
        return options.search() == REDUCTION;
    }
    let has_its_settings = SearchInfo::named(REDUCTION).is_ok_and(|search| options.check_for(search).is_ok());
    let may_choose = options.n.is_none() && has_its_settings && *heuristic == HeuristicChoice::Auto;
    may_choose && reduction_network(request, facts).is_ok()
}

/// The network of the puzzle's reduction.
///
/// # Errors
/// Names the setting that is refused.
pub(super) fn reduction_network(request: &Request, facts: &Facts<'_>) -> Result<HeuristicPlan, SettingError> {
    let Some(reduction) = facts.puzzle.reduction.first() else {
        let name = &facts.puzzle.name;
        let reason = format!("reduction: {name} has none: expected cube4 or cube5, also with :htm, :obtm or :oriented");
        return Err(SettingError::new("search", reason));
    };
    let is_network = [HeuristicChoice::Auto, HeuristicChoice::Named("network".into())].contains(&request.heuristic);
    ensure_setting!(is_network, "heuristic", "the search reduction asks networks: expected auto or network");
    let model = facts.reduction_model.map_err(Clone::clone)?;
    network_of(model, reduction, model.puzzle == *reduction)
}

/// The network of a model; refuses one that does not fit the puzzle.
fn network_of(model: &ModelFacts, puzzle: &str, fits: bool) -> Result<HeuristicPlan, SettingError> {
    let ModelFacts { folder, name, puzzle: trained, .. } = model;
    ensure_setting!(fits, "model", "the model in {} is for {trained}, not for {puzzle}", folder.display());
    Ok(HeuristicPlan::Network { folder: folder.clone(), name: name.clone() })
}

fn choose_network(facts: &Facts<'_>) -> Result<HeuristicPlan, SettingError> {
    let own = facts.puzzle.heuristics.join(", ");
    for (field, is_changed, knows) in [
        ("goal", !facts.puzzle.has_own_goal, "the way to the goal that it was trained for, and to no other"),
        ("move_costs", facts.puzzle.has_own_costs, "the cost of moves that it was trained with, and of no others"),
    ] {
        ensure_setting!(!is_changed, field, "a network estimates {knows}: expected a `heuristic` of {own}");
    }
    let model = facts.model.map_err(|missing| match facts.puzzle.heuristics.last() {
        Some(&best) if best != "zero" && best != "perimeter" => {
            let reason = format!("{}; {best} is the best of {}", missing.reason, facts.puzzle.name);
            SettingError::new(&missing.field, reason)
        }
        _ => missing.clone(),
    })?;
    network_of(model, &facts.puzzle.name, serves(&model.puzzle, &facts.puzzle.name))
}

/// True if `auto` means the network: a model was named, or the search would ask a model that exists, and this measured better
/// than the puzzle's own estimates or the search was made for it.
fn prefers_network(request: &Request, facts: &Facts<'_>) -> bool {
    let prefers = facts.puzzle.prefers_network;
    let asked = match search_name(request, facts, prefers) {
        "bwas" | "beam" => true,
        name => prefers && asks_heuristic(name),
    };
    request.model.is_some()
        || (asked && facts.puzzle.has_own_goal && !facts.puzzle.has_own_costs && facts.model.is_ok())
}
