//! The search of a plan, with a default for every setting that is left out, and the perimeter that the search gets.

use super::super::options::{Engine, REDUCTION, SearchInfo, SearchOptions};
use super::super::plan::{Facts, PerimeterPlan, SearchPlan};
use super::perimeter_plan::{plan_cached, plan_perimeter};
use super::{BEAM_SYMMETRIES, HeuristicFacts};
use crate::error::{SettingError, bail_setting};
use crate::quantity::grouped;
use crate::registry::PuzzleFacts;
use crate::search::beam::HashSlots;

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

/// Steps after the first solution with a perimeter, which is hit early; without one, the first goal is rarely beaten soon.
const STALE_STEPS: u64 = 4;

/// The search with the default of every setting that is left out, and its perimeter.
pub(super) fn plan_search(
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
        bail_setting!("policy_weight", "it has no effect without `candidates`; leave it out");
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
        bail_setting!("hash_slots", "it is a setting of a beam on the device: add `engine` device, or leave it out");
    }
    let most = facts.device_bytes / 8;
    let hash_slots = match options.hash_slots {
        Some(slots) if slots > most => {
            let (slots, most) = (grouped(slots), grouped(most));
            bail_setting!("hash_slots", "{slots} of 8 bytes do not fit the device's memory: expected at most {most}");
        }
        Some(slots) => HashSlots::Exactly(slots),
        None => HashSlots::UpTo(most / HASHES_DIVISOR),
    };
    Ok((SearchPlan::Beam { n, candidates, policy_weight, on_device, hash_slots }, perimeter))
}

/// Whether the states of a search lie on the network's device. On CUDA they do if possible: the host's cores make children
/// at a hundredth of the rate at which a GPU evaluates them. `obstacle` is the search's own reason against it.
fn choose_engine(
    options: &SearchOptions,
    facts: &Facts<'_>,
    heuristic: &HeuristicFacts<'_>,
    obstacle: Option<String>,
) -> Result<bool, SettingError> {
    let no_network = || (!heuristic.is_model).then(|| "it asks a network, and none is used".into());
    let obstacle = obstacle_of_puzzle(facts.puzzle).or_else(no_network).or(obstacle);
    match (options.engine.unwrap_or(Engine::Auto), obstacle) {
        (Engine::Auto, None) if heuristic.on_cuda => {
            log::debug!("`engine` auto takes the device: it makes children at a hundred times the rate of the cores");
            Ok(true)
        }
        (Engine::Auto, obstacle) => {
            let reason = obstacle.unwrap_or_else(|| "with the network on the CPU, they are faster there".into());
            log::debug!("`engine` auto takes the host: {reason}");
            Ok(false)
        }
        (Engine::Device, None) => Ok(true),
        (Engine::Device, Some(reason)) => Err(refuse_device(&reason)),
        (Engine::Host, _) => Ok(false),
    }
}

/// Refuses the device for a puzzle that no search keeps there.
pub(super) fn check_engine(options: &SearchOptions, puzzle: &PuzzleFacts) -> Result<(), SettingError> {
    match obstacle_of_puzzle(puzzle) {
        Some(reason) if options.engine == Some(Engine::Device) => Err(refuse_device(&reason)),
        _ => Ok(()),
    }
}

fn obstacle_of_puzzle(puzzle: &PuzzleFacts) -> Option<String> {
    let name = &puzzle.name;
    if puzzle.has_own_costs {
        Some("every move costs 1 there, and `move_costs` sets other costs".into())
    } else if !puzzle.has_move_table {
        Some(format!("the moves of {name} are not fixed changes of cells, which a device could make"))
    } else if !puzzle.is_reversible {
        Some(format!("the moves of {name} cannot be undone, and the device looks back from the goals"))
    } else {
        None
    }
}

fn refuse_device(reason: &str) -> SettingError {
    SettingError::new("engine", format!("device: {reason}: expected host"))
}

fn needs_policy(field: &str) -> SettingError {
    SettingError::new(field, "the heuristic has no policy: expected a model that was trained with a `policy` head")
}
