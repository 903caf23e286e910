//! `costar bench`: the instances of a file, a result each as soon as it is known, and the summary.

use super::instances::{self, Written};
use super::reverse::Reverse;
use super::search_options::SearchOptions;
use super::solver::{Solver, why_not_solved};
use super::{Ending, OrInput as _, SUCCESS};
use crate::progress::{SearchLine, note};
use crate::puzzle::{Puzzle, Reversible, Visitor, visit};
use crate::quantity::{self, grouped};
use crate::report::{Comparison, Solved, Summary, append_line, read_lines};
use crate::{memory, signal};
use anyhow::{Context as _, Result, anyhow, ensure};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// One instance a line, optionally a tab and the known optimal length; # starts a comment (sokoban: an .xsb file,
    /// with blank lines between the levels)
    file: PathBuf,
    #[command(flatten)]
    options: SearchOptions,
    /// Leave out the first K instances
    #[arg(long, default_value = "0", value_name = "K", value_parser = quantity::count)]
    skip: u64,
    /// At most N instances
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    limit: Option<u64>,
    /// Append each result to this file, as JSON; run again with the same file to go on where it stopped
    #[arg(long, value_name = "results.jsonl")]
    out: Option<PathBuf>,
    /// Compare with the results in this file, of a run with another --out
    #[arg(long, value_name = "other.jsonl")]
    against: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install().context("no handler of signals can be installed")?;
    let (name, goal) = (args.options.puzzle.clone(), args.options.goal.clone());
    visit(&name, goal.as_deref(), Bench { args, stop }).or_input()?
}

struct Bench {
    args: Args,
    stop: &'static AtomicBool,
}

/// A line of the file.
struct Instance<S> {
    text: String,
    start: S,
    optimum: Option<u32>,
}

impl Visitor for Bench {
    type Output = Ending;

    fn visit<P: Reversible>(self, puzzle: P) -> Ending {
        self.with(puzzle, Reverse::all())
    }

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Ending {
        self.with(puzzle, Reverse::none())
    }
}

impl Bench {
    fn with<P: Puzzle>(self, puzzle: P, reverse: Reverse<P>) -> Ending {
        let Bench { args, stop } = self;
        let mut instances = read(&puzzle, &args.file).or_input()?;
        instances.drain(..usize::try_from(args.skip).unwrap_or(usize::MAX).min(instances.len()));
        instances.truncate(args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)));
        let mut solver = Solver::new(puzzle, &reverse, &args.options, stop)?;
        for (i, instance) in instances.iter().enumerate() {
            solver.check(&instance.start).with_context(|| format!("instance {}", i + 1)).or_input()?;
        }
        let mut results = match &args.out {
            Some(out) => earlier(out, &instances, solver.template()).or_input()?,
            None => Vec::new(),
        };
        if !results.is_empty() {
            note!("costar: {} of {} instances are in the file already", results.len(), instances.len());
        }
        let others = args.against.as_deref().map(others).transpose().or_input()?;
        let mut line = SearchLine::new();
        for (i, instance) in instances.iter().enumerate().skip(results.len()) {
            line.instances(format!("{}/{}: ", i + 1, instances.len()));
            let mut solution = solver.solve(&instance.text, instance.start, &mut line)?;
            solution.report.optimal_length = instance.optimum;
            if stop.load(Ordering::Relaxed) && solution.moves.is_none() {
                break; // an interrupted search says nothing of the instance
            }
            if let Some(out) = &args.out {
                append_line(out, &solution.report)?;
            }
            if !args.options.json {
                let why = || why_not_solved(&solution.report, solution.end);
                writeln!(io::stdout(), "{}", describe(i, instance, &solution.report, why))?;
            }
            results.push(solution.report);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        drop(line);
        let optima: Vec<Option<u32>> = instances[..results.len()].iter().map(|instance| instance.optimum).collect();
        let summary = Summary {
            against: others.map(|others| Comparison::new(&results, &optima, &others)),
            ..Summary::new(&results, &optima, memory::peak())
        };
        if args.options.json {
            let text = serde_json::to_string(&summary).context("the summary cannot be written as JSON")?;
            writeln!(io::stdout(), "{text}")?;
        } else {
            writeln!(io::stdout(), "\n{}", show(&summary))?;
            if let Some(comparison) = &summary.against {
                writeln!(io::stdout(), "\n{comparison}")?;
            }
        }
        Ok(SUCCESS)
    }
}

fn read<P: Puzzle>(puzzle: &P, path: &Path) -> Result<Vec<Instance<P::State>>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let takes_lines = puzzle.takes_lines();
    let written = match takes_lines {
        true => instances::all(&text, true),
        // A comment may stand behind an instance.
        false => instances::all(&instances::without_comments(&text), false),
    };
    let instances: Result<Vec<_>> = written
        .into_iter()
        .map(|Written { line, text }| {
            let place = || format!("line {line} of {}", path.display());
            let (text, optimum) = match takes_lines {
                true => (text.as_str(), None),
                false => instances::with_optimum(&text).with_context(place)?,
            };
            let start = puzzle.parse(text).with_context(place)?;
            Ok(Instance { text: text.into(), start, optimum })
        })
        .collect();
    let instances = instances?;
    ensure!(!instances.is_empty(), "{} holds no instance", path.display());
    Ok(instances)
}

/// The results of an earlier run with the same file, instances and settings.
fn earlier<S>(out: &Path, instances: &[Instance<S>], template: &Solved) -> Result<Vec<Solved>> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(parent.is_dir(), "--out: there is no folder {}", parent.display());
    let writable = fs::File::options().create(true).append(true).open(out);
    writable.with_context(|| format!("--out: cannot write {}", out.display()))?;
    let mut results: Vec<Solved> = read_lines(out).context("--out goes on with the results of an earlier run")?;
    results.truncate(instances.len());
    for (i, (result, instance)) in results.iter().zip(instances).enumerate() {
        let refuse =
            |why: String| anyhow!("{} holds other results, which are kept: {why}; choose another --out", out.display());
        result.check_same_settings(template).map_err(refuse)?;
        if result.instance != instance.text {
            return Err(refuse(format!("result {} is of the instance '{}'", i + 1, result.instance)));
        }
    }
    Ok(results)
}

/// The results to compare with.
fn others(path: &Path) -> Result<Vec<Solved>> {
    ensure!(path.is_file(), "--against: there is no file {}", path.display());
    read_lines(path).context("--against")
}

fn describe<S>(i: usize, instance: &Instance<S>, result: &Solved, why: impl FnOnce() -> String) -> String {
    let Some(moves) = &result.moves else { return format!("{:>4}  {}", i + 1, why()) };
    let optimum = instance.optimum.map(|optimum| format!(" (optimal {optimum})")).unwrap_or_default();
    format!(
        "{:>4}  {} moves{optimum}  {:.2} s  {} evaluated  {}",
        i + 1,
        moves.len(),
        result.seconds,
        grouped(result.nodes_evaluated),
        moves.join(" ")
    )
}

fn show(summary: &Summary) -> String {
    let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
    let rate = |value: Option<f64>| value.map_or("-".into(), |value| grouped(value as u64));
    let share = |count: usize| 100.0 * count as f64 / summary.instances.max(1) as f64;
    let optimal = summary
        .optimal
        .map_or("optimum unknown".into(), |optimal| format!("{optimal} optimal ({:.1} %)", share(optimal)));
    format!(
        "{} instances, {} solved ({:.1} %), {optimal}\n\
         length   mean {} (of the optima {})\n\
         seconds  mean {}, median {}, 95 % within {}, at most {}\n\
         nodes    {} generated/s, {} evaluated/s\n\
         memory   {} at most",
        summary.instances,
        summary.solved,
        share(summary.solved),
        number(summary.mean_length, 2),
        number(summary.mean_optimal, 2),
        number(summary.mean_seconds, 2),
        number(summary.median_seconds, 2),
        number(summary.p95_seconds, 2),
        number(summary.max_seconds, 2),
        rate(summary.nodes_generated_per_second),
        rate(summary.nodes_evaluated_per_second),
        quantity::bytes(summary.peak_memory_bytes),
    )
}
