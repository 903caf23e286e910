//! `costar evaluate`: a network's estimates of many states, as JSON lines.

use super::flags::PuzzleFlags;
use super::instances::{self, Written};
use super::progress::note;
use super::solve::print_line;
use super::{BAD_INPUT, Ending, OrInput as _, check_input, signal};
use crate::json::short;
use crate::puzzle::{Move, Puzzle};
use crate::registry::{Entry, with_entry};
use crate::report::Refused;
use crate::solver::{Request, SearchOptions, Solver, shown};
use anyhow::Context as _;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::iter;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// One instance a line, perhaps with its optimal length, or - for standard input
    file: PathBuf,
    #[command(flatten)]
    puzzle: PuzzleFlags,
    /// The estimate of the cost-to-go: network, or one that costar puzzles lists
    #[arg(long, default_value = "network", value_name = "NAME")]
    heuristic: String,
}

pub(super) fn run(args: Args) -> Ending {
    with_entry!(args.puzzle.entry()?, entry => evaluate(entry, &args))
}

fn evaluate<P: Puzzle>(entry: Entry<P>, args: &Args) -> Ending {
    let stop = signal::install()?;
    let input: Box<dyn BufRead + Send> = match args.file.to_str() {
        Some("-") => Box::new(BufReader::new(io::stdin())),
        _ => {
            // A folder can be opened, but not read.
            let start = || {
                let mut file = BufReader::new(File::open(&args.file)?);
                file.fill_buf()?;
                io::Result::Ok(file)
            };
            let file = signal::ends_at_once(start).with_context(|| format!("cannot read {}", args.file.display()));
            Box::new(file.or_input()?)
        }
    };
    // The search is not run: it only has to ask in batches, without a perimeter.
    let options = SearchOptions { perimeter: Some(0), ..SearchOptions::of("bwas") };
    let request = Request { options, heuristic: args.heuristic.as_str().into(), ..args.puzzle.request(true) };
    let builder = Solver::builder(entry, request).stop(Arc::clone(&stop));
    let mut solver = signal::ends_at_once(|| builder.build()).or_input()?;
    let written = instances::stream(input, Arc::clone(solver.puzzle()));
    let (mut code, mut count) = (0, 0);
    let mut waiting: Vec<(String, P::State)> = Vec::new();
    while let Some(first) = instances::next(&written, &stop)? {
        // A person who types instances gets each answer at once; a file is evaluated in chunks.
        let more = iter::from_fn(|| written.recv_timeout(CHUNK_TIMEOUT).ok().filter(|_| !stop.load(Ordering::Relaxed)));
        for instance in iter::once(Ok(first)).chain(more).take(solver.chunk()) {
            let Written { line, text: instance } = instance.context("the instances cannot be read").or_input()?;
            count += 1;
            let read = instances::with_optimum(&**solver.puzzle(), &instance);
            let text = read.as_ref().map_or(&*instance, |(text, _)| text).to_owned();
            match read.and_then(|_| Ok(solver.parse(&text)?)) {
                Ok(state) => {
                    if let Some(reading) = solver.puzzle().read_as(&text) {
                        note!("costar: line {line}: read {reading}");
                    }
                    waiting.push((text, state));
                }
                Err(refusal) => {
                    code = BAD_INPUT;
                    print_all(&mut solver, &mut waiting)?;
                    let (puzzle, error) = (solver.puzzle().name(), refusal.to_string());
                    print_line(&Refused { puzzle, instance: text, error })?;
                }
            }
        }
        print_all(&mut solver, &mut waiting)?;
    }
    let name = args.file.display().to_string();
    let name = if name == "-" { "standard input" } else { &name };
    check_input(count > 0 || stop.load(Ordering::Relaxed), || {
        format!("{name} holds no instance: expected one a line")
    })?;
    Ok(code)
}

/// Time that an unfinished chunk waits for the next instance.
const CHUNK_TIMEOUT: Duration = Duration::from_millis(5);

/// Evaluates the waiting states, and prints a line for each.
fn print_all<P: Puzzle>(solver: &mut Solver<P>, waiting: &mut Vec<(String, P::State)>) -> anyhow::Result<()> {
    if waiting.is_empty() {
        return Ok(());
    }
    let states: Vec<P::State> = waiting.iter().map(|(_, state)| *state).collect();
    let estimates = solver.evaluate(&states)?;
    let puzzle = solver.puzzle();
    let unit = shown(&**puzzle, 1) as f32;
    for (i, (instance, _)) in waiting.drain(..).enumerate() {
        let moves = estimates.policy.as_ref().map(|policy| {
            let named = |(action, &probability)| (puzzle.move_name(action as Move), short(probability));
            policy.row(i).iter().enumerate().map(named).collect::<Value>()
        });
        print_line(&json!({ "instance": instance, "h": short(estimates.values[i] * unit), "moves": moves }))?;
    }
    Ok(())
}
