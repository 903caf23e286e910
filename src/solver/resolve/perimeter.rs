//! How much of the surroundings of the goals is known exactly: what a search, a proof or a classical search gets.

use super::super::plan::{Facts, PerimeterPlan};
use crate::error::SettingError;
use crate::registry::PuzzleFacts;
use crate::search::perimeter::states_in;
use crate::search::settings::Common;

/// States of the perimeter of a proof, of a puzzle that knows no symmetries: made in a second or two.
const PROOF_PERIMETER: usize = 10_000_000;

/// The perimeter of a proof, or of the sequences that look for a shorter solution, where either is asked for.
pub(super) fn plan_proof(
    search: &str,
    common: Common,
    facts: &Facts<'_>,
) -> Result<Option<PerimeterPlan>, SettingError> {
    let field = match common {
        Common { prove: Some(true), .. } => "prove",
        Common { sequences: Some(1..), .. } => "sequences",
        _ if search == "exhaustive" => "search",
        _ => return Ok(None),
    };
    let puzzle = &facts.puzzle.name;
    let refuse = |reason| Err(SettingError::new(field, reason));
    if !facts.puzzle.is_reversible {
        return refuse(format!("it needs a perimeter, and the moves of {puzzle} cannot be undone; leave it out"));
    }
    if facts.puzzle.has_own_costs {
        return refuse("it needs a perimeter, which counts moves, and `move_costs` gives them other costs".into());
    }
    if !facts.puzzle.has_unit_costs {
        return refuse(format!("it needs moves that cost 1, and those of {puzzle} do not; leave it out"));
    }
    if common.perimeter == Some(0) {
        return Err(SettingError::new("perimeter", format!("`{field}` needs one: expected at least 1")));
    }
    if search == "exhaustive" && common.sequences.is_some_and(|sequences| sequences > 0) {
        let reason = "`exhaustive` makes all sequences: leave it out, or limit them by `max_nodes`";
        return Err(SettingError::new("sequences", reason));
    }
    let plan = plan_perimeter(common.perimeter, None, PROOF_PERIMETER, facts)?;
    Ok(Some(PerimeterPlan { for_search: search == "exhaustive", ..plan }))
}

/// The perimeter of a classical search: what was asked for, or else the deepest that is kept.
pub(super) fn plan_kept(common: Common, facts: &Facts<'_>) -> Result<PerimeterPlan, SettingError> {
    let PuzzleFacts { has_classes, has_unit_costs, .. } = *facts.puzzle;
    if common.perimeter.is_some_and(|depth| depth > 0) && !has_unit_costs && !facts.puzzle.has_own_costs {
        let reason = format!("it needs moves that cost 1, and those of {} do not; leave it out", facts.puzzle.name);
        return Err(SettingError::new("perimeter", reason));
    }
    let states = if has_classes && has_unit_costs { usize::MAX } else { 0 };
    let plan = plan_perimeter(common.perimeter, None, states, facts)?;
    Ok(PerimeterPlan { only_kept: !plan.asked && plan.depth > 0, ..plan })
}

/// The perimeter of the depth that was asked for, else of the model's own depth, else of so many states, where moves can be
/// undone.
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
        return Ok(PerimeterPlan::NONE);
    }
    if facts.puzzle.has_own_costs {
        return match asked {
            Some(_) => {
                let reason = "a perimeter counts moves, and `move_costs` gives them other costs: expected 0";
                Err(SettingError::new("perimeter", reason))
            }
            None => Ok(PerimeterPlan::NONE),
        };
    }
    if !facts.puzzle.is_reversible {
        return match asked {
            Some(_) => {
                let reason = format!("the moves of {} cannot be undone: expected 0", facts.puzzle.name);
                Err(SettingError::new("perimeter", reason))
            }
            None => Ok(PerimeterPlan::NONE),
        };
    }
    let room = roughly(facts.room);
    let (states, bytes) = match facts.puzzle.has_classes {
        true => (0, room),
        false => (states.min(states_in(room)), 0),
    };
    Ok(PerimeterPlan {
        depth,
        states,
        bytes,
        asked: asked.is_some(),
        only_kept: false,
        not_whole: false,
        for_search: true,
    })
}

/// A number without its low bits, so that what is available now and in a moment is the same.
fn roughly(number: u64) -> u64 {
    let low = number.checked_ilog2().unwrap_or(0).saturating_sub(2);
    number >> low << low
}
