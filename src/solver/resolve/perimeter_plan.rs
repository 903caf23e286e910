//! Which perimeter a search, a proof or a classical search gets.

use super::super::options::SearchOptions;
use super::super::plan::{Facts, PerimeterBudget, PerimeterPlan, SearchPlan};
use crate::error::{SettingError, bail_setting, ensure_setting};
use crate::registry::PuzzleFacts;
use crate::search::perimeter::states_in;

/// States of the perimeter of a proof, for a puzzle without known symmetries: made in a second or two.
const PROOF_PERIMETER: usize = 10_000_000;

/// The perimeter of a proof, or of a proof budget, if either is asked for.
pub(super) fn plan_proof_perimeter(
    search: SearchPlan,
    options: &SearchOptions,
    facts: &Facts<'_>,
) -> Result<Option<PerimeterPlan>, SettingError> {
    let is_exhaustive = search == SearchPlan::Exhaustive;
    let field = match options.proof_budget {
        _ if options.prove => "prove",
        Some(1..) => "proof_budget",
        _ if is_exhaustive => "search",
        _ => return Ok(None),
    };
    let puzzle = &facts.puzzle.name;
    if !facts.puzzle.is_reversible {
        bail_setting!(field, "it needs a perimeter, and the moves of {puzzle} cannot be undone; leave it out");
    }
    if facts.puzzle.has_own_costs {
        bail_setting!(field, "it needs a perimeter, which counts moves, and `move_costs` gives them other costs");
    }
    if !facts.puzzle.has_unit_costs {
        bail_setting!(field, "it needs moves that cost 1, and those of {puzzle} do not; leave it out");
    }
    ensure_setting!(options.perimeter != Some(0), "perimeter", "`{field}` needs one: expected at least 1");
    if is_exhaustive && options.proof_budget.is_some_and(|budget| budget > 0) {
        let reason = "`exhaustive` makes all move sequences: leave it out, or limit them by `max_nodes`";
        return Err(SettingError::new("proof_budget", reason));
    }
    plan_perimeter(options.perimeter, None, PROOF_PERIMETER, facts).map(Some)
}

/// The perimeter of a classical search: the one that was asked for, or else the deepest in the cache.
pub(super) fn plan_cached(options: &SearchOptions, facts: &Facts<'_>) -> Result<PerimeterPlan, SettingError> {
    let PuzzleFacts { is_reversible, has_classes, has_unit_costs, has_own_costs, .. } = *facts.puzzle;
    let has_other_costs = is_reversible && !has_unit_costs && !has_own_costs;
    if options.perimeter.is_some_and(|depth| depth > 0) && has_other_costs {
        let name = &facts.puzzle.name;
        bail_setting!("perimeter", "it needs moves that cost 1, and those of {name} do not; leave it out");
    }
    let states = if has_classes && has_unit_costs { usize::MAX } else { 0 };
    Ok(match plan_perimeter(options.perimeter, None, states, facts)? {
        PerimeterPlan::UpTo(_, budget) => PerimeterPlan::Cached(budget),
        plan => plan,
    })
}

/// The perimeter of the depth that was asked for; else, if moves can be undone, one of at most the model's own depth, or
/// of this many states.
pub(super) fn plan_perimeter(
    asked: Option<u32>,
    own: Option<u32>,
    states: usize,
    facts: &Facts<'_>,
) -> Result<PerimeterPlan, SettingError> {
    let (depth, states) = match asked.or(own) {
        Some(depth) => (depth, usize::MAX),
        None => (u32::MAX, states),
    };
    if depth == 0 || states == 0 {
        return Ok(PerimeterPlan::None);
    }
    let cannot_be = match facts.puzzle {
        puzzle if puzzle.has_own_costs => {
            Some("a perimeter counts moves, and `move_costs` gives them other costs: expected 0".to_owned())
        }
        puzzle if !puzzle.is_reversible => Some(format!("the moves of {} cannot be undone: expected 0", puzzle.name)),
        _ => None,
    };
    let bytes = without_low_bits(facts.perimeter_bytes);
    let budget = match facts.puzzle.has_classes {
        true => PerimeterBudget::Bytes(bytes),
        false => PerimeterBudget::States(states.min(states_in(bytes))),
    };
    match (cannot_be, asked) {
        (Some(reason), Some(_)) => Err(SettingError::new("perimeter", reason)),
        (Some(_), None) => Ok(PerimeterPlan::None),
        (None, Some(_)) => Ok(PerimeterPlan::Exactly(depth, budget)),
        (None, None) => Ok(PerimeterPlan::UpTo(depth, budget)),
    }
}

/// Rounds down, so that small changes of the free memory give the same plan.
fn without_low_bits(number: u64) -> u64 {
    let low = number.checked_ilog2().unwrap_or(0).saturating_sub(2);
    number >> low << low
}
