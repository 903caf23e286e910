//! `costar bench`: the instances of a file, a result each as soon as it is known, and the summary.

use super::instances::{self, Written};
use super::progress::{SearchLine, note};
use super::puzzle_flags::PuzzleFlags;
use super::signal;
use super::solver_flags::{SolverFlags, why_not_solved};
use super::{Ending, OrInput as _, SUCCESS, ranks, with_flags};
use crate::distributed::Group;
use crate::files::try_lock;
use crate::memory;
use crate::puzzle::Puzzle;
use crate::quantity::{self, grouped};
use crate::registry::{Entry, Visitor};
use crate::report::{Comparison, Record, Summary, append_line, read_lines};
use crate::solver::{Solution, Solver, Watch};
use crate::workers::{Job, Own, beside};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

mod shared;

use shared::{Sent, check_alike, collect, share_todo};

#[derive(Debug, clap::Args)]
#[command(after_help = "bench measures the search: unlike solve, it does not use the inverted scramble as a bound.")]
pub(super) struct Args {
    /// One instance a line, optionally a tab and the known optimal length; # starts a comment (sokoban: an .xsb file,
    /// with blank lines between the levels)
    file: PathBuf,
    #[command(flatten)]
    flags: SolverFlags,
    /// Leave out the first K instances
    #[arg(long, default_value = "0", value_name = "K", value_parser = quantity::count)]
    skip: u64,
    /// At most N instances
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    limit: Option<u64>,
    /// Search K instances at the same time: what they ask of the network is evaluated together, and they share the memory
    #[arg(long, default_value = "1", value_name = "K", value_parser = quantity::positive_count)]
    parallel: u64,
    /// Append each result to this file, as JSON; run again with the same file to go on where it stopped
    #[arg(long, value_name = "results.jsonl")]
    out: Option<PathBuf>,
    /// Compare with the results in this file, of a run with another --out
    #[arg(long, value_name = "other.jsonl")]
    against: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install().context("no handler of signals can be installed")?;
    let group = ranks::join(&stop)?;
    args.flags.puzzle.clone().visit(Bench { args, group, stop })
}

struct Bench {
    args: Args,
    group: Option<Arc<Group>>,
    stop: Arc<AtomicBool>,
}

/// A line of the file.
struct Instance<S> {
    text: String,
    start: S,
    optimum: Option<u32>,
}

impl Visitor for Bench {
    type Output = Ending;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Ending {
        let Bench { args, group, stop } = self;
        let is_first = group.as_ref().is_none_or(|group| group.is_first());
        let mut instances = read(&**entry.puzzle(), &args.file).or_input()?;
        let skipped = usize::try_from(args.skip).unwrap_or(usize::MAX);
        if skipped >= instances.len() {
            let (file, count) = (args.file.display(), instances.len());
            let refusal = anyhow!("--skip {}: no instance is left of the {count} in {file}", args.skip);
            return Err(refusal).or_input();
        }
        instances.drain(..skipped);
        let limit = args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        // An earlier run may have had a larger limit.
        let beyond = instances.split_off(limit.min(instances.len()));
        let solver = args.flags.builder(entry, &stop).and_then(|builder| builder.build()).or_input()?;
        for (i, instance) in instances.iter().enumerate() {
            solver.check(&instance.start).with_context(|| format!("instance {}", i + 1)).or_input()?;
        }
        if let Some(group) = &group {
            check_alike(group, &instances, &solver).or_input()?;
        }
        let PuzzleFlags { goal, move_costs, .. } = &args.flags.puzzle;
        let (mut results, _lock) = match &args.out {
            Some(out) if is_first => {
                let (goal, move_costs) = (goal.clone(), move_costs.clone());
                let template = Record { goal, move_costs, ..solver.template().clone() };
                let (results, lock) = earlier(out, &instances, &beyond, &template).or_input()?;
                (results, Some(lock))
            }
            _ => (vec![None; instances.len()], None),
        };
        let mut todo: Vec<usize> = (0..results.len()).filter(|&i| results[i].is_none()).collect();
        if let Some(group) = &group {
            todo = share_todo(group, todo).or_input()?;
        }
        if is_first && todo.len() < instances.len() {
            let present = instances.len() - todo.len();
            note!("costar: {present} of {} instances are in the file already", instances.len());
        }
        let others = args.against.as_deref().map(others).transpose().or_input()?;
        let puzzle = Arc::clone(solver.puzzle());
        let done = |i: usize, solution: Solution<P::State>| -> Option<Done> {
            if solution.stopped {
                return None; // an interrupted search says nothing of the instance
            }
            let moves = solution.moves.as_deref().map(|moves| puzzle.written(moves).join(" "));
            let why = why_not_solved(&solution.record, solution.end);
            let optimal_length = instances[i].optimum;
            let (goal, move_costs) = (goal.clone(), move_costs.clone());
            let record = Record { optimal_length, goal, move_costs, ..solution.record };
            Some(Done { instance: i, record, moves, why })
        };
        let mut take_in = |done: Done| -> Result<()> {
            if let Some(out) = &args.out {
                append_line(out, &done.record)?;
            }
            if !args.flags.json {
                writeln!(io::stdout(), "{}", describe(instances[done.instance].optimum, &done))?;
            }
            results[done.instance] = Some(done.record);
            Ok(())
        };
        let parallel = usize::try_from(args.parallel).unwrap_or(usize::MAX).clamp(1, todo.len().max(1));
        if let Some(group) = &group {
            let next = || Ok(todo.get(group.next("instance")? as usize).copied());
            let solvers = solver.split(parallel);
            if !is_first {
                let mut sent = Sent::new(group);
                in_parallel(
                    solvers,
                    &Work { instances: &instances, next: &next, done: &done, others: None },
                    &stop,
                    |done| sent.send(&done),
                )?;
                sent.end()?;
                return Ok(SUCCESS);
            }
            let others = |sender: &_| collect(group, sender);
            let work = Work { instances: &instances, next: &next, done: &done, others: Some(&others) };
            in_parallel(solvers, &work, &stop, take_in)?;
        } else if parallel > 1 {
            let count = AtomicUsize::new(0);
            let next = || Ok(todo.get(count.fetch_add(1, Ordering::Relaxed)).copied());
            let work = Work { instances: &instances, next: &next, done: &done, others: None };
            in_parallel(solver.split(parallel), &work, &stop, take_in)?;
        } else {
            let mut solver = solver;
            let mut line = SearchLine::new();
            for i in todo {
                line.instances(format!("{}/{}: ", i + 1, instances.len()));
                let Instance { text, start, .. } = &instances[i];
                let mut progress = |progress: &_| line.show(progress);
                let watch = Watch { stop: &stop, progress: &mut progress, incumbents: &mut |_| () };
                let solution = solver.solve_watched(text, *start, watch);
                line.clear();
                done(i, solution?).map_or(Ok(()), &mut take_in)?;
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        let known =
            results.into_iter().zip(&instances).filter_map(|(result, instance)| Some((result?, instance.optimum)));
        let (results, optima): (Vec<Record>, Vec<Option<u32>>) = known.unzip();
        let summary = Summary {
            against: others.map(|others| Comparison::new(&results, &optima, &others)),
            ..Summary::new(&results, &optima, memory::peak())
        };
        if args.flags.json {
            let text = serde_json::to_string(&summary).context("the summary cannot be written as JSON")?;
            writeln!(io::stdout(), "{text}")?;
        } else {
            let known = optima.iter().flatten().count();
            writeln!(io::stdout(), "\n{}", show(&summary, known))?;
            if let Some(comparison) = &summary.against {
                writeln!(io::stdout(), "\n{}", with_flags(&comparison.to_string()))?;
            }
        }
        Ok(SUCCESS)
    }
}

/// A result on its way to the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// The place of its instance.
    instance: usize,
    record: Record,
    /// The moves as people write them.
    moves: Option<String>,
    /// Why there are none.
    why: String,
}

/// What sends the results of other processes.
type Others<'a> = dyn Fn(&Sender<Result<Done>>) -> Result<()> + Sync + 'a;

/// What several searches at the same time need.
struct Work<'a, S> {
    instances: &'a [Instance<S>],
    /// The place of the next instance; `None` after the last.
    next: &'a (dyn Fn() -> Result<Option<usize>> + Sync),
    /// What a solution gives; `None` of a search that was interrupted.
    done: &'a (dyn Fn(usize, Solution<S>) -> Option<Done> + Sync),
    /// Sends the results of other processes.
    others: Option<&'a Others<'a>>,
}

/// Searches as many instances at the same time as there are solvers; `take_in` is told of each as soon as it is done.
///
/// # Errors
/// The first error of a search, or of `take_in`: all others are stopped then.
fn in_parallel<P: Puzzle>(
    solvers: Vec<Solver<P>>,
    work: &Work<'_, P::State>,
    stop: &AtomicBool,
    mut take_in: impl FnMut(Done) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = channel();
    let search_all = |mut solver: Solver<P>, sender: Sender<Result<Done>>| {
        let mut solve_next = || -> Result<Option<Option<Done>>> {
            let Some(i) = (work.next)()? else { return Ok(None) };
            let watch = Watch { stop, progress: &mut |_| (), incumbents: &mut |_| () };
            let Instance { text, start, .. } = &work.instances[i];
            Ok(Some((work.done)(i, solver.solve_watched(text, *start, watch)?)))
        };
        while !stop.load(Ordering::Relaxed)
            && let Some(solved) = solve_next().transpose()
        {
            let ends = solved.is_err();
            if solved.transpose().is_some_and(|done| sender.send(done).is_err()) || ends {
                break;
            }
        }
    };
    let search_all = &search_all;
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for solver in solvers {
        let sender = sender.clone();
        jobs.push(Box::new(move || search_all(solver, sender)));
    }
    if let Some(others) = work.others {
        let sender = sender.clone();
        jobs.push(Box::new(move || {
            if let Err(error) = others(&sender) {
                let _ = sender.send(Err(error));
            }
        }));
    }
    drop(sender);
    let mut outcome = Ok(());
    let collect: Own<'_> = Box::new(|_| {
        outcome = receiver.iter().try_for_each(|done| take_in(done?));
        if outcome.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
    });
    beside(jobs, collect);
    outcome
}

fn read<P: Puzzle>(puzzle: &P, path: &Path) -> Result<Vec<Instance<P::State>>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let takes_lines = puzzle.takes_lines();
    let instances: Result<Vec<_>> = instances::all(&text, takes_lines)
        .into_iter()
        .map(|Written { line, text }| {
            let place = || format!("line {line} of {}", path.display());
            let (text, optimum) = instances::with_optimum(&text, takes_lines).with_context(place)?;
            let start = puzzle.parse(text).with_context(place)?;
            // An optimum counts moves.
            let optimum = optimum.filter(|_| puzzle.own_costs().is_none());
            Ok(Instance { text: text.into(), start, optimum })
        })
        .collect();
    let instances = instances?;
    ensure!(!instances.is_empty(), "{} holds no instance", path.display());
    Ok(instances)
}

/// The results of an earlier run with the same file, instances and settings: one for each instance that has one. As long as the
/// file is open that comes with them, no other bench writes it.
fn earlier<S>(
    out: &Path,
    instances: &[Instance<S>],
    beyond: &[Instance<S>],
    template: &Record,
) -> Result<(Vec<Option<Record>>, fs::File)> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(parent.is_dir(), "--out: there is no folder {}", parent.display());
    let file = fs::File::options().create(true).append(true).open(out);
    let file = file.with_context(|| format!("--out: cannot write {}", out.display()))?;
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    if is_file && !try_lock(&file) {
        bail!("--out: another bench is writing {}: wait for it, or choose another file", out.display());
    }
    let lines: Vec<Record> = read_lines(out).context("--out goes on with the results of an earlier run")?;
    // Instances that are searched at the same time end in any order, and one may be in the file twice.
    let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (i, instance) in instances.iter().chain(beyond).enumerate() {
        places.entry(&instance.text).or_default().push_back(i);
    }
    let mut results = vec![None; instances.len() + beyond.len()];
    for (i, result) in lines.into_iter().enumerate() {
        let refuse =
            |why: String| anyhow!("{} holds other results, which are kept: {why}; choose another --out", out.display());
        result.check_same_settings(template).map_err(refuse)?;
        match places.get_mut(result.instance.as_str()).and_then(VecDeque::pop_front) {
            Some(place) => results[place] = Some(result),
            None => return Err(refuse(format!("result {} is of the instance '{}'", i + 1, result.instance))),
        }
    }
    results.truncate(instances.len());
    Ok((results, file))
}

/// The results to compare with.
fn others(path: &Path) -> Result<Vec<Record>> {
    ensure!(path.is_file(), "--against: there is no file {}", path.display());
    read_lines(path).context("--against")
}

fn describe(optimum: Option<u32>, done: &Done) -> String {
    let Done { instance, record, moves, why } = done;
    let (Some(moves), Some(length)) = (moves, record.length) else { return format!("{:>4}  {why}", instance + 1) };
    let cost = record.cost.filter(|_| record.has_costs()).map(|cost| format!("cost {cost}, ")).unwrap_or_default();
    let optimum = optimum.map(|optimum| format!(" (optimal {optimum})")).unwrap_or_default();
    format!(
        "{:>4}  {cost}{length} moves{optimum}{}  {:.2} s  {} evaluated  {moves}",
        instance + 1,
        if record.proven_optimal { ", proven" } else { "" },
        record.seconds,
        grouped(record.nodes_evaluated)
    )
}

/// A summary as text; of so many instances, the optimum is known.
fn show(summary: &Summary, known: usize) -> String {
    let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
    let rate = |value: Option<f64>| value.map_or("-".into(), |value| grouped(value as u64));
    let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
    let optimal = summary.optimal.map_or("optimum unknown".into(), |optimal| {
        let of = if known < summary.instances { format!(" of {known}") } else { String::new() };
        format!("{optimal}{of} optimal ({:.1} %)", share(optimal, known))
    });
    let proof = summary.mean_proof_seconds.map(|seconds| {
        let searched = summary.mean_seconds.unwrap_or(0.0) - seconds;
        let (proven, unproven) = (summary.proven, summary.unproven);
        format!(
            "proof    {proven} proven, {unproven} unproven; seconds mean {searched:.2} search, {seconds:.2} proof\n"
        )
    });
    let (length, optima) = (number(summary.mean_length, 2), number(summary.mean_optimal, 2));
    let worth = match summary.mean_cost {
        Some(cost) => format!("cost     mean {cost:.2} (of the optima {optima}); length mean {length}"),
        None => format!("length   mean {length} (of the optima {optima})"),
    };
    format!(
        "{} instances, {} solved ({:.1} %), {optimal}\n\
         {}\
         {worth}\n\
         seconds  mean {}, median {}, 95 % within {}, at most {}\n\
         nodes    {} generated/s, {} evaluated/s\n\
         memory   {} at most",
        summary.instances,
        summary.solved,
        share(summary.solved, summary.instances),
        proof.unwrap_or_default(),
        number(summary.mean_seconds, 2),
        number(summary.median_seconds, 2),
        number(summary.p95_seconds, 2),
        number(summary.max_seconds, 2),
        rate(summary.nodes_generated_per_second),
        rate(summary.nodes_evaluated_per_second),
        quantity::bytes(summary.peak_memory_bytes),
    )
}
