//! `costar perimeter`: builds the table of exact distances near the goals, and keeps it in the cache.

use super::flags::check_model;
use super::progress::{note, perimeter_bar};
use super::{Ending, NOT_SOLVED, OrInput as _, SUCCESS, check_input, puzzle_name, signal};
use crate::cache;
use crate::memory;
use crate::puzzle::Puzzle;
use crate::quantity::{self, grouped};
use crate::registry::{Entry, find, with_entry};
use crate::search::perimeter::{Count, Extent, PerimeterFile, PerimeterFolder};
use anyhow::{anyhow, bail};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes per class in the table.
const TABLE_BYTES: f64 = 2.7;
/// Extra bytes per class of the last layer but one while the table is built: its classes are compared exactly.
const BUILD_BYTES: f64 = 5.4;
/// Bytes of keys that wait to be merged.
const PENDING_BYTES: f64 = (64 << 20) as f64;
/// With less memory, not even the first layer is built.
const MIN_BYTES: u64 = 2 << 20;
/// Size that no machine has: 10¹⁵ bytes.
const HUGE_BYTES: f64 = 1e15;
/// A layer that grows less, relative to the layer before it, is near the end of the puzzle.
const MIN_RELATIVE_GROWTH: f64 = 0.95;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The puzzle [default: the model's, or cube3]
    #[arg(value_name = "PUZZLE")]
    puzzle: Option<String>,
    /// A model, which names the puzzle: a folder, or a name under $COSTAR_MODELS, ./models or the checkout's models
    #[arg(long, value_name = "DIR")]
    model: Option<String>,
    /// Greatest distance, in moves; without it, the command lists the perimeters in the cache
    #[arg(long, value_name = "D", value_parser = quantity::depth)]
    depth: Option<u32>,
    /// Most memory of the whole process: 8G, 512M [default: build it with 80 % of what is available]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    max_memory: Option<u64>,
    /// Count the states of the last distance too: builds the table again with 5 more bytes per class, and keeps nothing
    #[arg(long, requires = "depth")]
    count: bool,
}

pub(super) fn run(args: Args) -> Ending {
    let name = puzzle_name(args.puzzle.as_deref(), args.model.as_deref()).or_input()?;
    with_entry!(find(&name, None).or_input()?, entry => perimeter(&entry, args))
}

fn perimeter<P: Puzzle>(entry: &Entry<P>, args: Args) -> Ending {
    check_model(&**entry.puzzle(), args.model.as_deref()).or_input()?;
    let stop = signal::install()?;
    let name = entry.puzzle().name();
    let one_way = || format!("the moves of {name} cannot be undone, so it has no perimeter");
    check_input(entry.puzzle().is_reversible(), one_way)?;
    let no_symmetries = || {
        anyhow!(
            "no perimeter of {name} is kept, for there are no symmetries to join its states by: solve builds its own each time"
        )
    };
    let folder = PerimeterFolder::new(&**entry.puzzle(), None).ok_or_else(no_symmetries).or_input()?;
    let no_cache = || anyhow!("there is no cache: set COSTAR_CACHE, XDG_CACHE_HOME or HOME");
    cache::folder().ok_or_else(no_cache).or_input()?;
    let Some(depth) = args.depth else {
        let typed = args.puzzle.or_else(|| args.model.map(|model| format!("--model {model}")));
        return list(&folder, &name, typed.as_ref().unwrap_or(&name));
    };
    check_input(depth > 0, || "--depth 0: expected at least 1".into())?;
    let bytes = match args.max_memory {
        Some(most) => {
            let (held, bytes) = (memory::resident(), quantity::bytes);
            let (given, least) = (bytes(most), bytes(held + MIN_BYTES));
            let refusal =
                || format!("--max-memory {given}: the program itself takes {}: expected {least}", bytes(held));
            check_input(most >= held + MIN_BYTES, refusal)?;
            most - held
        }
        None => memory::available().map_or(u64::MAX, |bytes| bytes / 5 * 4),
    };
    if args.count || folder.files().iter().all(|kept| kept.depth < depth) {
        announce(&folder, &name, depth, &stop).or_input()?;
    }
    let started = Instant::now();
    let extent = Extent { depth, bytes, time: None, count_last: args.count };
    let mut show = perimeter_bar();
    let built = match args.count {
        true => folder.make_unsaved(extent, &stop, &mut show).map(|built| (built, None)),
        false => folder.make(extent, &stop, &mut show).map(|(built, kept)| (built, Some(kept))),
    };
    drop(show);
    let Some((perimeter, kept)) = built else {
        note!("costar: stopped; nothing is kept");
        return Ok(NOT_SOLVED);
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{:>8}  {:>15}  {:>19}", "distance", "classes", "states")?;
    for (distance, Count { classes, states }) in perimeter.counts().iter().enumerate() {
        let states = states.map_or("not counted".into(), grouped);
        writeln!(out, "{distance:>8}  {:>15}  {states:>19}", grouped(*classes))?;
    }
    let (size, seconds) = (quantity::bytes(perimeter.bytes()), started.elapsed().as_secs_f64());
    writeln!(out, "\ndepth {}, {size}, {seconds:.1} s", perimeter.depth())?;
    match kept {
        Some(Ok(path)) => {
            let is_deeper = |file: &PerimeterFile| file.path == path && file.depth > perimeter.depth();
            let deeper = folder.files().into_iter().find(is_deeper);
            let part =
                deeper.map_or_else(String::new, |file| format!("part of the perimeter to depth {}, ", file.depth));
            writeln!(out, "{part}kept in {}", path.display())?;
        }
        Some(Err(error)) => {
            return Err(anyhow!(error).context("the perimeter is built, but cannot be kept").into());
        }
        None => {}
    }
    if perimeter.is_whole() {
        writeln!(out, "this is the whole puzzle: no state is further from the goal")?;
    } else if perimeter.depth() < depth {
        let (reached, bytes) = (perimeter.depth(), quantity::bytes(args.max_memory.unwrap_or(bytes)));
        note!("costar: depth {depth} does not fit into {bytes} (--max-memory); {reached} is the deepest that does");
        return Ok(NOT_SOLVED);
    }
    Ok(SUCCESS)
}

/// Lists the perimeters in the cache. `typed` is the puzzle as the command line names it.
fn list<P: Puzzle>(folder: &PerimeterFolder<'_, P>, name: &str, typed: &str) -> Ending {
    let mut out = io::stdout().lock();
    let kept = folder.files();
    if kept.is_empty() {
        writeln!(out, "no perimeter of {name} is in the cache; costar perimeter {typed} --depth D builds one")?;
    }
    for kept in kept {
        writeln!(out, "depth {:>2}  {:>9}  {}", kept.depth, quantity::bytes(kept.bytes), kept.path.display())?;
    }
    Ok(SUCCESS)
}

/// How many times the last layer is as large as the one before it. `None` if the next ones do not grow like this: towards the
/// end of a puzzle, layers grow less and less.
fn growth(layers: &[Count]) -> Option<f64> {
    let [.., first, before, last] = layers else { return None };
    let growth = |smaller: &Count, larger: &Count| larger.classes as f64 / smaller.classes.max(1) as f64;
    let (earlier, growth) = (growth(first, before), growth(before, last));
    (growth > 1.0 && growth > MIN_RELATIVE_GROWTH * earlier).then_some(growth)
}

/// Logs the size, memory and time of a perimeter, extrapolated from the layers that one second builds; refuses one that fits
/// into no memory.
fn announce<P: Puzzle>(
    folder: &PerimeterFolder<'_, P>,
    name: &str,
    depth: u32,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let extent = Extent { depth, bytes: u64::MAX, time: Some(Duration::from_secs(1)), count_last: false };
    let started = Instant::now();
    let Some(sample) = folder.make_unsaved(extent, stop, &mut |_| ()) else { return Ok(()) };
    let seconds = started.elapsed().as_secs_f64();
    if sample.depth() >= depth || sample.is_whole() || stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    let (Some(last), Some(growth)) = (sample.counts().last(), growth(sample.counts())) else { return Ok(()) };
    let more = f64::from(depth - sample.depth());
    let bytes = TABLE_BYTES * last.classes as f64 * growth / (growth - 1.0);
    let excess = more + (bytes / HUGE_BYTES).ln() / growth.ln();
    if excess > 0.0 {
        let most = depth - excess.ceil() as u32;
        bail!("--depth {depth} of {name} is far too large for any memory: expected at most {most}");
    }
    let factor = growth.powf(more);
    let classes = last.classes as f64 * factor;
    // States that the last layer is built from.
    let states = match folder.symmetries().has_inversion() {
        true => classes / growth.powi(2),
        false => classes / growth * (1.0 + 1.0 / growth),
    };
    let bytes = bytes * factor;
    let building = PENDING_BYTES + bytes + BUILD_BYTES * classes / growth + states * size_of::<P::State>() as f64;
    let memory = memory::resident() as f64 + building;
    let (classes, each, seconds) = (grouped(classes as u64), folder.symmetries().count(), seconds * factor);
    let [cache, memory] = [bytes, memory].map(|bytes| quantity::bytes(bytes as u64));
    note!(
        "costar: the perimeter of {name} to depth {depth} will have up to about {classes} classes of up to {each} states: about \
         {cache} in the cache, {memory} of memory while it is built, and {seconds:.0} s"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_near_the_end_of_a_puzzle_tell_no_growth() {
        let growth = |layers: [u64; 3]| growth(&layers.map(|classes| Count { classes, states: None }));
        // The 3×3×3 and the 2×2×2 in quarter turns.
        assert_eq!(growth([93_840, 878_880, 8_221_632]).map(|growth| (growth * 100.0).round()), Some(935.0));
        assert_eq!(growth([8969, 33_058, 114_149]), None);
        assert_eq!(growth([930_588, 1_350_852, 782_536]), None);
    }
}
