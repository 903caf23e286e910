//! `costar compare`: every search with every heuristic that fits, on one instance.

use super::flags::PuzzleFlags;
use super::solve::print_line;
use super::with_flags;
use super::{Ending, OrInput as _, SUCCESS, signal};
use crate::error::Error;
use crate::puzzle::Puzzle;
use crate::quantity::{self, grouped};
use crate::registry::{Entry, has_unit_costs, with_entry};
use crate::report::Record;
use crate::search::Limits;
use crate::solver::{Request, SearchInfo, SearchOptions, Solution, Solver, Watch};
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "compare measures the searches: unlike solve, it does not use the inverse scramble as a bound.")]
pub(super) struct Args {
    #[command(flatten)]
    puzzle: PuzzleFlags,
    /// Seconds for each search
    #[arg(long, default_value = "5", value_name = "S", value_parser = quantity::seconds)]
    max_seconds: f64,
    /// Give up on a search when the process would hold more memory than this: 8G, 512M
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    max_memory: Option<u64>,
    /// Print a JSON object for each search, as solve does
    #[arg(long)]
    json: bool,
    /// The instance as people write it
    #[arg(required = true, value_name = "INSTANCE")]
    instance: Vec<String>,
}

pub(super) fn run(args: Args) -> Ending {
    with_entry!(args.puzzle.entry()?, entry => compare(&entry, &args))
}

fn compare<P: Puzzle>(entry: &Entry<P>, args: &Args) -> Ending {
    let stop = signal::install()?;
    let instance = args.instance.join(" ");
    let start = entry.puzzle().parse(&instance).or_input()?;
    let has_costs = !has_unit_costs(&**entry.puzzle(), start);
    if !args.json {
        let mut out = io::stdout().lock();
        let worth = if has_costs { "cost" } else { "length" };
        writeln!(out, "{}\n", row(["search", "heuristic", worth, "proven", "nodes", "seconds"]))?;
    }
    let (asking, blind): (Vec<&SearchInfo>, Vec<&SearchInfo>) =
        SearchInfo::allowed(entry).partition(|search| search.asks_heuristic);
    // A search by stages asks in batches, but not the heuristic of the puzzle.
    let (staged, blind): (Vec<_>, Vec<_>) = blind.into_iter().partition(|search| search.in_batches);
    let heuristics = entry.heuristics().into_iter().chain(["network"]).map(|name| (name, &asking));
    for (heuristic, searches) in [("zero", &blind), ("auto", &staged)].into_iter().chain(heuristics) {
        let mut solver: Option<Solver<P>> = None;
        for search in searches {
            if stop.load(Ordering::Relaxed) {
                return Ok(SUCCESS);
            }
            let options = SearchOptions::of(search.name);
            let limits = Limits {
                time: Some(Duration::from_secs_f64(args.max_seconds)),
                memory: args.max_memory,
                ..Limits::default()
            };
            let ready = match &mut solver {
                Some(solver) => solver.reconfigure(options, limits, Arc::clone(&stop)),
                None => {
                    let flags = args.puzzle.request(heuristic == "network");
                    let request = Request { options, heuristic: heuristic.into(), limits, ..flags };
                    let builder = Solver::builder(entry.clone(), request).stop(Arc::clone(&stop));
                    signal::ends_at_once(|| builder.build()).map(|built| solver = Some(built))
                }
            };
            // A named model must work; others may be missing, and a search may not fit.
            let is_named = heuristic == "network" && args.puzzle.model.is_some() && solver.is_none();
            let fits = match ready {
                Ok(()) => true,
                Err(Error::Setting(_)) if !is_named => false,
                Err(error) => return Err(error).or_input(),
            };
            if let Some(solver) = solver.as_mut().filter(|solver| fits && solver.check(&start).is_ok()) {
                let watch = Watch { stop: &stop, progress: &mut |_| (), incumbents: &mut |_| () };
                let solution = solver.solve_watched(&instance, start, watch)?;
                show(&solution, has_costs, args.json)?;
            }
        }
    }
    Ok(SUCCESS)
}

fn row(cells: [&str; 6]) -> String {
    let [search, heuristic, length, proven, nodes, seconds] = cells;
    format!("{search:<14}{heuristic:<17}{length:>6}  {proven:<7}{nodes:>14}{seconds:>9}")
}

/// Prints the line of a search.
fn show<S>(solution: &Solution<S>, has_costs: bool, json: bool) -> anyhow::Result<()> {
    let report: &Record = &solution.record;
    if json {
        return print_line(report);
    }
    let worth = if has_costs { report.cost } else { report.length.map(|length| length as f64) };
    let worth = worth.map_or("-".into(), |worth| worth.to_string());
    let (nodes, seconds) = (grouped(report.nodes_generated), format!("{:.2}", report.seconds));
    let heuristic = report.heuristic.as_deref().unwrap_or("-");
    let proven = if report.proven_optimal { "yes" } else { "no" };
    let end = solution.end;
    let why = end.reason().map_or_else(String::new, |reason| format!("  {}", with_flags(&reason)));
    writeln!(io::stdout(), "{}{why}", row([&report.search, heuristic, &worth, proven, &nodes, &seconds]))?;
    Ok(())
}
