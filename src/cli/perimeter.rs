//! `costar perimeter`: makes the table of exact distances near the goals, and keeps it in the cache.

use super::progress::{PerimeterBar, note};
use super::puzzle_flags::visit_checked;
use super::{Ending, NOT_SOLVED, OrInput as _, SUCCESS, signal};
use crate::cache;
use crate::memory;
use crate::puzzle::Puzzle;
use crate::quantity::{self, grouped};
use crate::registry::{Entry, Visitor};
use crate::search::perimeter::{Count, Extent, PerimeterShelf};
use anyhow::{Context as _, anyhow, ensure};
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a class in the table.
const TABLE_BYTES: f64 = 2.7;
/// Bytes more of a class of the last layer but one, whose classes are told apart for certain while it is made.
const MADE_BYTES: f64 = 5.4;
/// No machine has so many bytes: 10¹⁵.
const BEYOND: f64 = 1e15;
/// Bytes of keys that wait to be taken in.
const WAITING: f64 = (64 << 20) as f64;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The puzzle [default: the model's, or cube3]
    #[arg(value_name = "PUZZLE")]
    puzzle: Option<String>,
    /// A model of the puzzle, which tells what puzzle it is: a folder, or a name under $COSTAR_MODELS, ./models or the
    /// checkout's models
    #[arg(long, value_name = "DIR")]
    model: Option<String>,
    /// The greatest distance, in moves. Without it, lists what is in the cache
    #[arg(long, value_name = "D")]
    depth: Option<u32>,
    /// The most memory that the making may take: 8G, 512M [default: 80 % of what is available]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    max_memory: Option<u64>,
    /// Count the states of the last distance too (it takes 5 bytes a class more while it is made), make the table again,
    /// and keep nothing
    #[arg(long, requires = "depth")]
    count: bool,
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install().context("no handler of signals can be installed")?;
    let (puzzle, model) = (args.puzzle.clone(), args.model.clone());
    visit_checked(puzzle.as_deref(), model.as_deref(), None, Make { args, stop })
}

struct Make {
    args: Args,
    stop: Arc<AtomicBool>,
}

impl Visitor for Make {
    type Output = Ending;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Ending {
        let Make { args, stop } = self;
        let name = entry.puzzle().name();
        let refuse = || {
            anyhow!(
                "{name} knows no symmetries that a perimeter could use: solve makes its own perimeter of states each time"
            )
        };
        let shelf = entry.reverse().and_then(|reverse| reverse.shelf(entry.puzzle())).ok_or_else(refuse).or_input()?;
        let Some(depth) = args.depth else {
            let typed = match (&args.puzzle, &args.model) {
                (Some(puzzle), _) => puzzle.clone(),
                (None, Some(model)) => format!("--model {model}"),
                (None, None) => name.clone(),
            };
            return list(&*shelf, &name, &typed);
        };
        (|| {
            ensure!(depth > 0, "--depth 0: expected at least 1");
            ensure!(cache::folder().is_some(), "there is no cache: set COSTAR_CACHE, XDG_CACHE_HOME or HOME");
            Ok(())
        })()
        .or_input()?;
        let bytes = args.max_memory.or_else(|| memory::available().map(|bytes| bytes / 5 * 4)).unwrap_or(u64::MAX);
        if args.count || shelf.kept().iter().all(|kept| kept.depth < depth) {
            announce(&*shelf, &name, depth, &stop);
        }
        let begun = Instant::now();
        let bar = PerimeterBar::new();
        let extent = Extent { depth, bytes, time: None, count_last: args.count };
        let made = match args.count {
            true => shelf.make_unkept(extent, &stop, &mut |making| bar.show(making)).map(|made| (made, None)),
            false => shelf.make(extent, &stop, &mut |making| bar.show(making)).map(|(made, kept)| (made, Some(kept))),
        };
        drop(bar);
        let Some((perimeter, kept)) = made else {
            note!("costar: stopped; nothing is kept");
            return Ok(ExitCode::from(NOT_SOLVED));
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{:>8}  {:>15}  {:>19}", "distance", "classes", "states")?;
        for (distance, Count { classes, states }) in perimeter.counts().iter().enumerate() {
            let states = states.map_or("not counted".into(), grouped);
            writeln!(out, "{distance:>8}  {:>15}  {states:>19}", grouped(*classes))?;
        }
        let (size, seconds) = (quantity::bytes(perimeter.bytes()), begun.elapsed().as_secs_f64());
        writeln!(out, "\ndepth {}, {size}, {seconds:.1} s", perimeter.depth())?;
        match kept {
            Some(Ok(path)) => writeln!(out, "kept in {}", path.display())?,
            Some(Err(error)) => return Err(anyhow!(error).context("the perimeter is made, and cannot be kept").into()),
            None => {}
        }
        if perimeter.depth() < depth && !perimeter.is_whole() {
            let (reached, bytes) = (perimeter.depth(), quantity::bytes(bytes));
            note!("costar: depth {depth} does not fit into {bytes} (--max-memory); {reached} is the deepest that does");
            return Ok(ExitCode::from(NOT_SOLVED));
        }
        if perimeter.is_whole() {
            writeln!(out, "this is the whole puzzle: no state is further from the goal")?;
        }
        Ok(SUCCESS)
    }
}

/// What is in the cache, of a puzzle that the command line names so.
fn list<S>(shelf: &dyn PerimeterShelf<S>, name: &str, typed: &str) -> Ending {
    let mut out = io::stdout().lock();
    let kept = shelf.kept();
    if kept.is_empty() {
        writeln!(out, "no perimeter of {name} is in the cache; costar perimeter {typed} --depth D makes one")?;
    }
    for kept in kept {
        writeln!(out, "depth {:>2}  {:>9}  {}", kept.depth, quantity::bytes(kept.bytes), kept.path.display())?;
    }
    Ok(SUCCESS)
}

/// Says what the making will take, as extrapolated from the layers that take a second.
fn announce<S: crate::puzzle::State>(shelf: &dyn PerimeterShelf<S>, name: &str, depth: u32, stop: &AtomicBool) {
    let extent = Extent { depth, bytes: u64::MAX, time: Some(Duration::from_secs(1)), count_last: false };
    let begun = Instant::now();
    let Some(tried) = shelf.make_unkept(extent, stop, &mut |_| ()) else { return };
    let seconds = begun.elapsed().as_secs_f64();
    if tried.depth() >= depth || tried.is_whole() || stop.load(Ordering::Relaxed) {
        return;
    }
    let [.., before, last] = tried.counts() else { return };
    let growth = last.classes as f64 / before.classes.max(1) as f64;
    let times = growth.powi((depth - tried.depth()) as i32);
    let classes = last.classes as f64 * times;
    // The states that the last layer is made from.
    let states = match shelf.has_inversion() {
        true => classes / growth.powi(2),
        false => classes / growth * (1.0 + 1.0 / growth),
    };
    let bytes = TABLE_BYTES * classes * growth / (growth - 1.0);
    if bytes > BEYOND {
        note!("costar: depth {depth} of {name} is far beyond what fits into memory: the deepest that fits is made");
        return;
    }
    note!(
        "costar: the perimeter of {name} to depth {depth} will have about {} classes of up to {} states: about {} in the \
         cache, {} of memory while it is made, and {:.0} s",
        grouped(classes as u64),
        shelf.symmetries(),
        quantity::bytes(bytes as u64),
        quantity::bytes((WAITING + bytes + MADE_BYTES * classes / growth + states * size_of::<S>() as f64) as u64),
        seconds * times
    );
}
