//! The perimeter of a plan: from the cache, or made.

use super::plan::{PerimeterBudget, PerimeterPlan};
use crate::error::{Result, SettingError, bail_setting};
use crate::puzzle::{Puzzle, State, counted};
use crate::quantity;
use crate::registry::Entry;
use crate::search::perimeter::{Extent, Perimeter, PerimeterFolder};
use crate::waiting::Waiting;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time limit of a perimeter that the first solver makes because the cache has none.
const DEFAULT_TIME: Duration = Duration::from_secs(5);

/// A smaller cached perimeter is ignored by default: it was made for a small test, and the default one takes a second.
const MIN_DEFAULT_CLASSES: usize = 500_000;

/// With less memory, no perimeter is made: it would hold next to nothing.
const MIN_BYTES: u64 = 1 << 20;

/// The sizes of the two perimeters from which larger ones are extrapolated: some milliseconds.
const TRIAL_STATES: [usize; 2] = [20_000, 200_000];
/// The same for perimeters of classes, in bytes.
const TRIAL_BYTES: [u64; 2] = [1 << 20, 8 << 20];

/// An extrapolated perimeter must be this many times too large to be refused before it is made.
const REFUSED_SIZE: f64 = 8.0;

/// A perimeter that is one move deeper than the one in use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeeperPerimeter {
    /// Its depth in moves.
    pub depth: u32,
    /// About how many bytes it takes.
    pub bytes: u64,
    /// About how many times sooner a proof ends with it.
    pub gain: f64,
}

/// The last perimeter that was made: the next search may use the same.
pub(super) type PerimeterCache<S> = Option<(PerimeterPlan, Perimeter<S>)>;

/// The speed-up and the cost of one more move, extrapolated from the growth of the last layer; `None` without a perimeter of
/// classes, or if it holds all states.
pub(super) fn deeper<S: State>(cache: &PerimeterCache<S>) -> Option<DeeperPerimeter> {
    let (_, perimeter) = cache.as_ref().filter(|(_, perimeter)| !perimeter.is_whole())?;
    let [.., before, last] = perimeter.counts() else { return None };
    let growth = last.classes as f64 / before.classes.max(1) as f64;
    let bytes = (perimeter.bytes() as f64 * growth) as u64;
    Some(DeeperPerimeter { depth: perimeter.depth() + 1, bytes, gain: perimeter.branching() })
}

/// The perimeter of a plan, read or made unless the cache has it.
///
/// # Errors
/// If the depth that was asked for does not fit the budget.
pub(super) fn perimeter_of<P: Puzzle>(
    cache: &mut PerimeterCache<P::State>,
    plan: PerimeterPlan,
    entry: &Entry<P>,
    stop: &AtomicBool,
) -> Result<Perimeter<P::State>> {
    if plan == PerimeterPlan::None || !entry.puzzle().is_reversible() {
        return Ok(Perimeter::none());
    }
    let may_be_missing = matches!(plan, PerimeterPlan::Cached(_));
    if let Some((last, perimeter)) = cache
        && last.is_same_table(&plan)
        && (may_be_missing || !perimeter.is_empty())
    {
        return Ok(perimeter.clone());
    }
    let _waiting = Waiting::during(format!("reading or making the perimeter of {}", entry.puzzle().name()));
    let made = make(plan, &**entry.puzzle(), stop)?;
    if let PerimeterPlan::Exactly(depth, _) = plan {
        made.check_depth(depth)?;
    }
    if stop.load(Ordering::Relaxed) {
        return Ok(made); // incomplete
    }
    Ok(cache.insert((plan, made)).1.clone())
}

fn make<P: Puzzle>(plan: PerimeterPlan, puzzle: &P, stop: &AtomicBool) -> Result<Perimeter<P::State>> {
    let (depth, budget) = match plan {
        PerimeterPlan::None => return Ok(Perimeter::none()),
        PerimeterPlan::Cached(budget) => (u32::MAX, budget),
        PerimeterPlan::UpTo(depth, budget) | PerimeterPlan::Exactly(depth, budget) => (depth, budget),
    };
    match (PerimeterFolder::new(puzzle, None), budget) {
        (Some(folder), PerimeterBudget::Bytes(bytes)) => from_folder(&folder, &puzzle.name(), plan, depth, bytes, stop),
        (_, PerimeterBudget::States(states)) => {
            let make = |states: usize| Some(Perimeter::within(puzzle, depth, states, stop));
            if let PerimeterPlan::Exactly(..) = plan {
                refuse_out_of_reach(depth, states as f64, TRIAL_STATES.map(make))?;
            }
            Ok(Perimeter::within(puzzle, depth, states, stop))
        }
        (None, PerimeterBudget::Bytes(_)) => Ok(Perimeter::none()),
    }
}

/// The perimeter of classes for a plan: the deepest in the cache, or else one that is made now: of the depth that was asked
/// for, or what some seconds make.
fn from_folder<P: Puzzle>(
    folder: &PerimeterFolder<'_, P>,
    puzzle: &str,
    plan: PerimeterPlan,
    depth: u32,
    bytes: u64,
    stop: &AtomicBool,
) -> Result<Perimeter<P::State>> {
    let is_exact = matches!(plan, PerimeterPlan::Exactly(..));
    let is_enough = |kept: &Perimeter<P::State>| {
        let is_large = kept.is_time_limited() || kept.len() >= MIN_DEFAULT_CLASSES;
        kept.depth() == depth || kept.is_whole() || (!is_exact && is_large)
    };
    if let Some(kept) = folder.load(depth, bytes).filter(is_enough) {
        return Ok(kept);
    }
    if matches!(plan, PerimeterPlan::Cached(_)) || bytes < MIN_BYTES {
        return Ok(Perimeter::none());
    }
    let extent = Extent { depth, bytes, time: (!is_exact).then_some(DEFAULT_TIME), count_last: false };
    if is_exact {
        let trials = TRIAL_BYTES.map(|bytes| folder.make_unsaved(Extent { bytes, ..extent }, stop, &mut |_| ()));
        let class_bytes = |trial: &Perimeter<P::State>| trial.bytes() as f64 / trial.len().max(1) as f64;
        let classes = trials[1].as_ref().map_or(f64::INFINITY, |trial| bytes as f64 / class_bytes(trial));
        refuse_out_of_reach(depth, classes, trials)?;
    }
    let started = Instant::now();
    let Some((perimeter, kept)) = folder.make(extent, stop, &mut |_| ()) else { return Ok(Perimeter::none()) };
    let (moves, size) = (counted(perimeter.depth() as usize, "move"), quantity::bytes(perimeter.bytes()));
    let place = match &kept {
        Ok(path) => format!("kept in {}", path.display()),
        Err(error) => format!("not kept: {error}"),
    };
    let deeper = match perimeter.is_whole() || kept.is_err() {
        true => "",
        false => "; a deeper one finds more of the shortest solutions and proves them sooner: see `costar perimeter`",
    };
    log::info!(
        "made the perimeter of {puzzle}: exact distances of all states within {moves} of the goal ({size}, {:.1} s, \
         {place}){deeper}",
        started.elapsed().as_secs_f64()
    );
    Ok(perimeter)
}

/// Refuses a depth whose perimeter, extrapolated from two small ones, is far larger than what fits, before hours or all
/// memory are spent on it.
fn refuse_out_of_reach<S: State>(
    depth: u32,
    capacity: f64,
    trials: [Option<Perimeter<S>>; 2],
) -> Result<(), SettingError> {
    let [Some(small), Some(large)] = trials else { return Ok(()) };
    if large.is_whole() || large.depth() <= small.depth() || small.is_empty() {
        return Ok(());
    }
    let layers = f64::from(large.depth() - small.depth());
    let growth = (large.len() as f64 / small.len() as f64).powf(1.0 / layers);
    let size = |depth: u32| large.len() as f64 * growth.powf(f64::from(depth.saturating_sub(large.depth())));
    if size(depth) < REFUSED_SIZE * capacity {
        return Ok(());
    }
    let fits = (large.depth()..depth).take_while(|depth| size(*depth) <= capacity).last().unwrap_or(large.depth());
    bail_setting!("perimeter", "{depth} moves take far more than half of the memory: expected at most about {fits}")
}
