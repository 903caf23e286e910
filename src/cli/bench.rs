//! `costar bench`: solves the instances of a file, and prints each result as soon as it is known, then a summary.

use super::contest::{self, Contest, TableInstance};
use super::flags::{PuzzleFlags, SolverFlags};
use super::instances::{self, Written};
use super::output_file;
use super::progress::{SearchLine, note};
use super::solve::{print_line, written};
use super::{Ending, NOT_SOLVED, OrInput as _, SUCCESS, narrow, ranks, signal, with_flags};
use crate::distributed::Group;
use crate::files;
use crate::memory;
use crate::puzzle::{Puzzle, counted, replay};
use crate::quantity::{self, grouped};
use crate::registry::{Entry, with_entry};
use crate::report::{Comparison, Record, Summary, append_line, parse_lines, read_lines};
use crate::solver::{Solver, Watch};
use crate::workers::{Own, Work, beside};
use anyhow::{Context as _, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

mod over_ranks;

use over_ranks::{check_alike, collect, send};

#[derive(Debug, clap::Args)]
#[command(after_help = "bench measures the search: unlike solve, it does not use the inverse scramble as a bound.")]
pub(super) struct Args {
    /// One instance per line, optionally a tab and the known optimal length; # starts a comment (sokoban: an .xsb file,
    /// with blank lines between the levels); or a contest's table, as import writes it; - reads standard input
    file: PathBuf,
    #[command(flatten)]
    flags: SolverFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Skip the first K instances
    #[arg(long, default_value = "0", value_name = "K", value_parser = quantity::count)]
    skip: u64,
    /// Solve at most N instances
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    limit: Option<u64>,
    /// Search K instances at a time: they share the memory and the network, which evaluates the states that wait in one pass
    /// (the device engine searches one at a time)
    #[arg(long, default_value = "1", value_name = "K", value_parser = quantity::positive_count)]
    parallel: u64,
    /// Append each result to this file, as JSON; a second run with the same file continues where the first
    /// stopped
    #[arg(long, value_name = "results.jsonl")]
    out: Option<PathBuf>,
    /// Print the solutions of a contest's table as a file to submit
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["json", "against"])]
    format: Option<OutputFormat>,
    /// Compare with the results in this file, the --out of another run
    #[arg(long, value_name = "other.jsonl")]
    against: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OutputFormat {
    /// id,moves, initial_state_id,path or id,permutation,solution, with dots between the moves
    Submission,
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install()?;
    let group = ranks::join(&stop)?;
    with_entry!(args.flags.puzzle.entry()?, entry => bench(entry, &args, group.as_deref(), &stop))
}

/// An instance of the file.
struct BenchInstance<S> {
    /// The id in a contest's table, and the number of wildcards.
    id: Option<(String, usize)>,
    text: String,
    start: S,
    optimum: Option<u32>,
}

fn bench<P: Puzzle>(entry: Entry<P>, args: &Args, group: Option<&Group>, stop: &Arc<AtomicBool>) -> Ending {
    let is_first = group.is_none_or(Group::is_first);
    let (instances, contest) = read(&**entry.puzzle(), args).or_input()?;
    if args.format.is_some() {
        let why = "--format submission: the instances have no ids: expected a contest's table (costar import)";
        contest.context(why).or_input()?;
        contest::check_names(&**entry.puzzle()).context("--format submission").or_input()?;
    }
    let [instances, beyond] = select(instances, args).or_input()?;
    let builder = Solver::builder(entry, args.flags.request()).stop(Arc::clone(stop));
    let solver = signal::ends_at_once(|| builder.build()).or_input()?;
    for (i, instance) in instances.iter().enumerate() {
        solver.check(&instance.start).with_context(|| format!("instance {}", args.number(i))).or_input()?;
    }
    if let Some(group) = group {
        check_alike(group, &instances, solver.template()).or_input()?;
    }
    let others = args.against.as_deref().map(|path| others(path, solver.template())).transpose().or_input()?;
    let bench = Bench { args, puzzle: Arc::clone(solver.puzzle()), instances, contest, stop };
    let (mut results, _lock) = match &args.out {
        Some(out) if is_first => {
            let template = bench.with_flags_of_puzzle(solver.template().clone());
            let (results, lock) = earlier(out, &bench.instances, &beyond, &template).or_input()?;
            (results, Some(lock))
        }
        _ => (vec![None; bench.instances.len()], None),
    };
    let mut todo: Vec<usize> = (0..results.len()).filter(|&i| results[i].is_none()).collect();
    if let Some(group) = group {
        todo = group.share("todo", Some(&todo)).or_input()?; // rank 0 has read the file of results
    }
    if is_first && todo.len() < results.len() {
        let present = results.len() - todo.len();
        note!("costar: {present} of {} instances are in the file already", results.len());
    }
    let solvers = solver.split(narrow(args.parallel).clamp(1, todo.len().max(1)));
    match group {
        Some(group) if !is_first => {
            send(group, |take_in| bench.solve(solvers, &todo, Some(group), take_in))?;
            return Ok(SUCCESS);
        }
        group => bench.solve(solvers, &todo, group, &mut |done| bench.take_in(done, &mut results))?,
    }
    // Another rank may have got the signal.
    let is_cut = stop.load(Ordering::Relaxed) || results.iter().any(Option::is_none);
    if is_cut {
        let goes_on = if args.out.is_some() { "; the same command continues" } else { "" };
        note!("costar: stopped{goes_on}");
    }
    bench.print(results, others.as_deref())?;
    Ok(if is_cut { NOT_SOLVED } else { SUCCESS })
}

/// A benchmark: its instances and settings, for all searches.
struct Bench<'a, P: Puzzle> {
    args: &'a Args,
    puzzle: Arc<P>,
    instances: Vec<BenchInstance<P::State>>,
    /// The contest if the instances are its table.
    contest: Option<&'static Contest>,
    stop: &'a AtomicBool,
}

impl<P: Puzzle> Bench<'_, P> {
    fn with_flags_of_puzzle(&self, record: Record) -> Record {
        let PuzzleFlags { goal, move_costs, .. } = &self.args.flags.puzzle;
        Record { goal: goal.clone(), move_costs: move_costs.clone(), ..record }
    }

    /// Solves instances, with all solvers at a time; rank 0 of a group also receives the results of the others.
    fn solve(&self, solvers: Vec<Solver<P>>, todo: &[usize], group: Option<&Group>, take_in: TakeIn<'_>) -> Result<()> {
        let is_alone = solvers.len() == 1 && group.is_none();
        let count = AtomicUsize::new(0);
        let next = || -> Result<Option<usize>> {
            let number = match group {
                Some(group) => group.next("instance")? as usize,
                None => count.fetch_add(1, Ordering::Relaxed),
            };
            Ok(todo.get(number).copied())
        };
        let search_all = |mut solver: Solver<P>| -> HandAll<'_> {
            let next = &next;
            Box::new(move |take_in| {
                let mut line = SearchLine::new(is_alone);
                while !self.stop.load(Ordering::Relaxed)
                    && let Some(i) = next()?
                {
                    line.set_prefix(format!("{}/{}: ", i + 1, self.instances.len()));
                    self.solve_one(&mut solver, i, &line)?.map_or(Ok(()), &mut *take_in)?;
                }
                Ok(())
            })
        };
        let mut searches: Vec<HandAll<'_>> = solvers.into_iter().map(search_all).collect();
        if is_alone {
            return searches.remove(0)(take_in);
        }
        if let Some(group) = group.filter(|group| group.is_first()) {
            searches.push(Box::new(|take_in| collect(group, take_in)));
        }
        in_parallel(searches, self.stop, take_in)
    }

    /// Solves an instance; `None` if the search was interrupted, which is not a result.
    fn solve_one(&self, solver: &mut Solver<P>, i: usize, line: &SearchLine) -> Result<Option<Done>> {
        let BenchInstance { text, start, optimum, .. } = &self.instances[i];
        let watch = Watch { stop: self.stop, progress: &mut |progress| line.show(progress), incumbents: &mut |_| () };
        let solution = solver.solve_watched(text, *start, watch);
        line.clear();
        let solution = solution?;
        if solution.stopped {
            return Ok(None);
        }
        let moves = written(&*self.puzzle, &solution);
        let record = self.with_flags_of_puzzle(solution.record);
        let number = self.args.number(i);
        if let Some(reading) = &record.read_as {
            note!("costar: instance {number}: read {reading}");
        }
        let wrong = optimum.filter(|&optimum| record.contradicts(optimum));
        if let Some(optimum) = wrong {
            note!(
                "costar: instance {number}: the known optimum {optimum} contradicts the result, and is not counted: is it of \
                 another metric, or of another instance?"
            );
        }
        let record = Record { optimal_length: optimum.xor(wrong), ..record };
        let line = moves.map_or_else(|why| why, |moves| describe(&record, &moves));
        Ok(Some(Done { instance: i, line: format!("{number:>4}  {line}"), record }))
    }

    /// Keeps a result, in the file too, and prints it.
    fn take_in(&self, done: Done, results: &mut [Option<Record>]) -> Result<()> {
        if let Some(out) = &self.args.out {
            append_line(out, &done.record)?;
        }
        match self.args.format {
            Some(OutputFormat::Submission) => note!("{}", done.line),
            None if !self.args.json => writeln!(io::stdout(), "{}", done.line)?,
            None => {}
        }
        results[done.instance] = Some(done.record);
        Ok(())
    }

    /// Prints the submission, if it was asked for, and the summary, compared with other results.
    fn print(&self, results: Vec<Option<Record>>, others: Option<&[Record]>) -> Result<()> {
        if let (Some(OutputFormat::Submission), Some(contest)) = (self.args.format, self.contest) {
            io::stdout().write_all(&submission(&*self.puzzle, contest, &self.instances, &results)?)?;
        }
        let known = results.into_iter().zip(&self.instances).filter_map(|(result, instance)| {
            let result = result?;
            let optimum = instance.optimum.filter(|&optimum| !result.contradicts(optimum));
            Some((result, optimum))
        });
        let (results, optima): (Vec<Record>, Vec<Option<u32>>) = known.unzip();
        let against = others.map(|others| Comparison::new(&results, &optima, others));
        let summary = Summary { against, ..Summary::new(&results, &optima, memory::peak()) };
        let text = || show(&summary, optima.iter().flatten().count());
        if self.args.json {
            print_line(&summary)?;
        } else if self.args.format.is_some() {
            note!("\n{}", text());
        } else {
            writeln!(io::stdout(), "\n{}", text())?;
            if let Some(comparison) = &summary.against {
                writeln!(io::stdout(), "\n{}", with_flags(&comparison.to_string()))?;
            }
        }
        Ok(())
    }
}

impl Args {
    /// The number in the file, from 1, of an instance that is left after `--skip`.
    fn number(&self, instance: usize) -> usize {
        instance + 1 + narrow(self.skip)
    }
}

/// The instances to solve, from `--skip` on, and the instances beyond `--limit`: an earlier run may have had a larger limit.
fn select<S>(mut instances: Vec<BenchInstance<S>>, args: &Args) -> Result<[Vec<BenchInstance<S>>; 2]> {
    let (count, file) = (instances.len(), args.file.display());
    ensure!(narrow(args.skip) < count, "--skip {}: no instance is left of the {count} in {file}", args.skip);
    instances.drain(..narrow(args.skip));
    let beyond = instances.split_off(args.limit.map_or(usize::MAX, narrow).min(instances.len()));
    Ok([instances, beyond])
}

/// The result of an instance.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// Position of the instance.
    instance: usize,
    record: Record,
    /// The result as a line of text.
    line: String,
}

/// Takes in a result.
type TakeIn<'a> = &'a mut dyn FnMut(Done) -> Result<()>;

/// A job that hands each of its results to its argument: a search, or the collection of other ranks' results.
type HandAll<'a> = Box<dyn FnOnce(TakeIn<'_>) -> Result<()> + Send + 'a>;

/// Runs each job on its own thread. `take_in` receives each result at once.
///
/// # Errors
/// The first error of a job or of `take_in`; it stops all searches.
fn in_parallel<'a>(jobs: Vec<HandAll<'a>>, stop: &AtomicBool, take_in: TakeIn<'_>) -> Result<()> {
    let (results, receiver) = channel::<Result<Done>>();
    let job = |hand_all: HandAll<'a>| -> Work<'a> {
        let results = results.clone();
        Box::new(move || {
            if let Err(error) = hand_all(&mut |done| Ok(results.send(Ok(done))?)) {
                let _ = results.send(Err(error));
            }
        })
    };
    let jobs = jobs.into_iter().map(job).collect();
    drop(results);
    let mut result = Ok(());
    let collect: Own<'_> = Box::new(|_| {
        result = receiver.iter().try_for_each(|done| take_in(done?));
        if result.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
    });
    beside(jobs, collect);
    result
}

/// The instances of a file, and the contest if the file is a contest's table.
#[expect(clippy::type_complexity, reason = "instances of any puzzle")]
fn read<P: Puzzle>(puzzle: &P, args: &Args) -> Result<(Vec<BenchInstance<P::State>>, Option<&'static Contest>)> {
    let path = &args.file;
    let text = instances::read_file(path)?;
    let (written, contest): (Vec<(Option<_>, Written)>, _) =
        match contest::imported_instances(&text).with_context(|| path.display().to_string())? {
            None => (instances::all(&text, puzzle).into_iter().map(|written| (None, written)).collect(), None),
            Some((rows, contest)) => {
                let written = |TableInstance { line, id, text, wildcards, .. }| {
                    (Some((id, wildcards)), Written { line: line as usize, text })
                };
                (rows.into_iter().map(written).collect(), Some(contest))
            }
        };
    let instance = |(id, Written { line, text }): (_, Written)| {
        let in_line = || format!("line {line} of {}{}", path.display(), args.flags.puzzle.unless_named());
        let (text, optimum) = instances::with_optimum(puzzle, &text).with_context(in_line)?;
        let start = puzzle.parse(text).with_context(in_line)?;
        Ok(BenchInstance { id, text: text.into(), start, optimum })
    };
    let instances = written.into_iter().map(instance).collect::<Result<Vec<_>>>()?;
    ensure!(!instances.is_empty(), "{} holds no instance", path.display());
    Ok((instances, contest))
}

/// The solutions as a contest's submission, without the moves that wildcards save; says how many instances have none.
fn submission<P: Puzzle>(
    puzzle: &P,
    contest: &Contest,
    instances: &[BenchInstance<P::State>],
    results: &[Option<Record>],
) -> Result<Vec<u8>> {
    let mut rows = Vec::new();
    for (instance, result) in instances.iter().zip(results) {
        let solution = result.as_ref().and_then(|result| result.moves.as_ref());
        if let (Some((id, wildcards)), Some(names)) = (&instance.id, solution) {
            let moves = puzzle.parse_solution(&instance.text, &names.join(" "))?;
            let (goal, _) = replay(puzzle, &instance.start, &moves)?;
            let is_solved = |state: &P::State| contest::is_solved(puzzle, state, &goal, *wildcards);
            let moves = contest::solving(puzzle, &instance.start, &moves, is_solved).unwrap_or(&moves);
            rows.push([id.clone(), instance.text.clone(), contest::path(puzzle, &instance.text, moves)?]);
        }
    }
    let missing = instances.len() - rows.len();
    if missing > 0 {
        note!("costar: {missing} of {} instances have no solution, and are not in the submission", instances.len());
    }
    contest.submission(&rows)
}

/// The results of an earlier run with the same file, instances and settings, by position, and the open file, which keeps
/// other benches from writing it.
fn earlier<S>(
    out: &Path,
    instances: &[BenchInstance<S>],
    beyond: &[BenchInstance<S>],
    template: &Record,
) -> Result<(Vec<Option<Record>>, File)> {
    let file = output_file::open_locked("bench", out).context("--out")?;
    let lines: Vec<Record> = read_lines(out).context("--out continues the results of an earlier run")?;
    // Parallel searches end in any order, and an instance may be in the file twice.
    let mut positions: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (i, instance) in instances.iter().chain(beyond).enumerate() {
        positions.entry(&instance.text).or_default().push_back(i);
    }
    let mut results = vec![None; instances.len() + beyond.len()];
    for (i, result) in lines.into_iter().enumerate() {
        let refuse =
            |why: String| anyhow!("{} holds other results, which are kept: {why}; choose another --out", out.display());
        result.check_same_settings(template).map_err(refuse)?;
        match positions.get_mut(result.instance.as_str()).and_then(VecDeque::pop_front) {
            Some(position) => results[position] = Some(result),
            None => return Err(refuse(format!("result {} is of the instance '{}'", i + 1, result.instance))),
        }
    }
    results.truncate(instances.len());
    Ok((results, file))
}

/// The results of `--against`.
fn others(path: &Path, template: &Record) -> Result<Vec<Record>> {
    let lines = signal::ends_at_once(|| files::read(path))
        .and_then(|text| parse_lines::<Record>(&text, path))
        .context("--against")?;
    let refuse = |why: String| anyhow!("--against: {} holds results of another puzzle: {why}", path.display());
    lines.iter().try_for_each(|line| line.check_same_puzzle(template)).map_err(refuse)?;
    Ok(lines)
}

/// The line of a solution, with the moves in the puzzle's notation.
fn describe(report: &Record, moves: &str) -> String {
    let cost = report.cost.filter(|_| report.has_costs()).map(|cost| format!("cost {cost}, ")).unwrap_or_default();
    let optimum = report.optimal_length.map(|optimum| format!(" (optimal {optimum})")).unwrap_or_default();
    let (length, proven) = (report.length.unwrap_or(0), if report.proven_optimal { ", proven" } else { "" });
    let (seconds, evaluated) = (report.seconds, grouped(report.nodes_evaluated));
    let length = counted(length, "move");
    format!("{cost}{length}{optimum}{proven}  {seconds:.2} s  {evaluated} evaluated  {moves}")
}

/// A summary as text; `known` instances have a known optimum.
fn show(summary: &Summary, known: usize) -> String {
    let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
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
    let length = number(summary.mean_length);
    let optima = summary.mean_optimal.map(|mean| format!(" (of the optima {mean:.2})")).unwrap_or_default();
    let worth = match summary.mean_cost {
        Some(cost) => format!("cost     mean {cost:.2}{optima}; length mean {length}"),
        None => format!("length   mean {length}{optima}"),
    };
    let &Summary { instances, solved, mean_seconds, median_seconds, p95_seconds, max_seconds, .. } = summary;
    let [mean, median, p95, max] = [mean_seconds, median_seconds, p95_seconds, max_seconds].map(number);
    let [generated, evaluated] = [summary.nodes_generated_per_second, summary.nodes_evaluated_per_second].map(rate);
    let (percent, memory) = (share(solved, instances), quantity::bytes(summary.peak_memory_bytes));
    format!(
        "{}, {solved} solved ({percent:.1} %), {optimal}\n\
         {}\
         {worth}\n\
         seconds  mean {mean}, median {median}, 95 % within {p95}, at most {max}\n\
         nodes    {generated} generated/s, {evaluated} evaluated/s\n\
         memory   {memory} at most",
        counted(instances, "instance"),
        proof.unwrap_or_default(),
    )
}
