//! `costar solve`: one instance, or many from standard input.

use super::flags::SolverFlags;
use super::instances::{self, Written};
use super::progress::{SearchLine, note};
use super::ranks::{self, check_alike};
use super::signal;
use super::{
    BAD_INPUT, Ending, Failure, NOT_SOLVED, OrInput as _, SUCCESS, check_input, explain, output_file, view, with_flags,
};
use crate::distributed::Group;
use crate::exchange::Exchange;
use crate::memory;
use crate::puzzle::{ParseError, Puzzle, Scramble, Style, visible};
use crate::quantity::{self, grouped};
use crate::registry::{Entry, has_own_rules, with_entry};
use crate::report::{Record, Refused};
use crate::search::{End, Incumbent, Limit};
use crate::solver::{DeeperPerimeter, Request, Solution, Solver, Watch};
use crate::view::Playback;
use anyhow::{Context as _, anyhow};
use serde::Serialize;
use std::io::{self, BufReader, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: SolverFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a page that plays the solution (for a single instance)
    #[arg(long, value_name = "FILE.html")]
    view: Option<PathBuf>,
    /// Print every state of the solution (for a single instance), with g, h and f
    #[arg(long)]
    explain: bool,
    /// Give the search's own solution, even if the inverse scramble is shorter
    #[arg(long)]
    own_solution: bool,
    /// The instance as people write it (cube: a scramble "U U F' R2", or 54 facelets), or - for standard input, one a
    /// line
    #[arg(required = true, value_name = "INSTANCE")]
    instance: Vec<String>,
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install()?;
    let group = ranks::join(&stop)?;
    with_entry!(args.flags.puzzle.entry()?, entry => solve(entry, &args, group, &stop))
}

fn solve<P: Puzzle>(entry: Entry<P>, args: &Args, group: Option<Arc<Group>>, stop: &Arc<AtomicBool>) -> Ending {
    let instance = args.instance.join(" ");
    let is_stream = instance == "-";
    let flags = [("--view", args.view.is_some()), ("--explain", args.explain)];
    if let Some((flag, _)) = flags.iter().find(|(_, is_given)| is_stream && *is_given) {
        return Err(anyhow!("{flag} is for one instance, and - stands for many; give the one")).or_input();
    }
    let prints = group.as_ref().is_none_or(|group| group.is_first());
    // Refuse bad input before a model is loaded.
    let start = if is_stream { None } else { Some(read(&entry, args, &instance, prints)?) };
    let request = Request { shows_estimates: args.explain, ..args.flags.request() };
    let builder = Solver::builder(entry.clone(), request).stop(Arc::clone(stop));
    let mut solver = signal::ends_at_once(|| builder.build()).or_input()?;
    group.as_ref().map_or(Ok(()), |group| share(&mut solver, group)).or_input()?;
    let mut session = Session { entry, solver, args, group, prints, stop };
    let Some(start) = start else { return session.all() };
    session.solver.check(&start).or_input()?;
    let prints_each = args.flags.search.anytime && !args.json;
    let solution = session.solve(&instance, start, &SearchLine::new(prints), prints_each)?;
    if prints { session.present(&instance, &solution) } else { Ok(SUCCESS) }
}

/// Reads the instance. The rank that prints says how it was read, and refuses a page that cannot be written.
fn read<P: Puzzle>(entry: &Entry<P>, args: &Args, instance: &str, prints: bool) -> Result<P::State, Failure> {
    let start = entry.puzzle().parse(instance).map_err(|refusal| in_file(refusal, instance)).or_input()?;
    if let Some(reading) = entry.puzzle().read_as(instance).filter(|_| prints) {
        note!("costar: read {reading}");
    }
    if let Some(path) = args.view.as_ref().filter(|_| prints) {
        output_file::check_page(path).context("--view").or_input()?;
        Playback::new(&**entry.puzzle(), &[], instance, &[]).context("--view").or_input()?;
    }
    Ok(start)
}

/// Lets all ranks of a group share the search of a solver.
fn share<P: Puzzle>(solver: &mut Solver<P>, group: &Arc<Group>) -> crate::Result<()> {
    solver.share(Arc::clone(group) as Arc<dyn Exchange>)?;
    // Each rank has chosen for itself what was left to it: the perimeter, the engine, the device.
    let (depth, template) = (solver.perimeter_depth(), solver.template());
    let device = template.device.as_deref().map_or("no device", |device| device.split(':').next().unwrap_or(device));
    let settings = format!("--perimeter {depth}\n--device {device}\n{}", template.config);
    check_alike(group, "solve", &settings, template)
}

/// The refusal of an instance; if it is the name of a file, says how to give one.
fn in_file(refusal: ParseError, instance: &str) -> anyhow::Error {
    let file = Path::new(instance.trim()).is_file();
    let refusal = anyhow::Error::from(refusal);
    let how = || format!("{instance} is a file: to solve its instances, costar solve … - < FILE, or costar bench FILE");
    if file { refusal.context(how()) } else { refusal }
}

/// A solver, and the command that it works for.
struct Session<'a, P: Puzzle> {
    entry: Entry<P>,
    solver: Solver<P>,
    args: &'a Args,
    /// With the other ranks, if several share the search.
    group: Option<Arc<Group>>,
    /// Whether this rank prints.
    prints: bool,
    stop: &'a AtomicBool,
}

impl<P: Puzzle> Session<'_, P> {
    /// Shows the result as the flags say.
    fn present(&mut self, instance: &str, solution: &Solution<P::State>) -> Ending {
        let Session { entry, solver, args, .. } = self;
        if args.json && args.explain {
            explain::print_json(solver, solution)?;
        } else if args.json {
            print_line(&solution.record)?;
        } else {
            show(&**solver.puzzle(), solution)?;
            if let Some(said) = pruned(&solution.record).filter(|_| solution.moves.is_some()) {
                note!("costar: {} nodes stored, {said}", grouped(solution.record.nodes_stored));
            }
        }
        let perimeter_was_enough =
            solution.record.length.is_some_and(|length| length > 0) && solution.record.nodes_evaluated == 0;
        if perimeter_was_enough && args.flags.puzzle.model.is_some() && !args.json {
            note!("costar: the perimeter was enough: the model was not asked");
        }
        let stopped = (solution.stopped && solution.moves.is_some()).then(|| "stopped".to_owned());
        let notes = [stopped, unproven(&solution.record), deeper(solver, solution)];
        for said in notes.iter().flatten().filter(|_| !args.json) {
            note!("costar: {said}");
        }
        let Some(moves) = &solution.moves else {
            if !args.json {
                note!("costar: {}", why_not_solved(&solution.record, solution.end));
            }
            return Ok(NOT_SOLVED);
        };
        if args.explain && !args.json {
            explain::print(solver, solution, style())?;
        }
        if let Some(path) = &args.view {
            let playback = Playback::new(&**entry.puzzle(), &entry.goals(), instance, moves);
            view::write(path, &playback.context("--view").or_input()?).or_input()?;
        }
        Ok(SUCCESS)
    }

    /// Solves an instance as the flags say, with a progress line. If `prints_each`, prints each better solution as soon as it
    /// is found.
    fn solve(
        &mut self,
        instance: &str,
        start: P::State,
        line: &SearchLine,
        prints_each: bool,
    ) -> anyhow::Result<Solution<P::State>> {
        let puzzle = Arc::clone(self.solver.puzzle());
        let (started, mut has_printed) = (Instant::now(), false);
        let mut incumbents = |incumbent: &Incumbent| {
            if !prints_each {
                return;
            }
            line.clear();
            let moves = puzzle.in_hand(instance, &incumbent.moves);
            let (moves, length) = (puzzle.written(&moves).join(" "), puzzle.counted(&moves));
            // A closed pipe is noticed again when the final solution is printed.
            let seconds = started.elapsed().as_secs_f64();
            let _ = writeln!(io::stdout(), "{length} after {seconds:.1} s: {moves}");
            has_printed = true;
        };
        let watch =
            Watch { stop: self.stop, progress: &mut |progress| line.show(progress), incumbents: &mut incumbents };
        let solution = match self.args.own_solution {
            true => self.solver.solve_watched(instance, start, watch),
            false => self.solver.solve_typed(instance, start, watch),
        };
        line.clear();
        if has_printed {
            writeln!(io::stdout())?;
        }
        Ok(solution?)
    }

    /// Solves each instance of standard input, which rank 0 reads if several ranks share the search. A bad instance gives an
    /// error line or object, and the others are still solved.
    fn all(mut self) -> Ending {
        let (stop, json, prints) = (self.stop, self.args.json, self.prints);
        let group = self.group.clone();
        let puzzle = Arc::clone(self.solver.puzzle());
        let stream = prints.then(|| instances::stream(Box::new(BufReader::new(io::stdin())), Arc::clone(&puzzle)));
        let mut line = SearchLine::new(prints);
        let (mut worst, mut count) = (0, 0);
        loop {
            let text = stream.as_ref().map(|stream| instances::next(stream, stop)).transpose()?.flatten();
            let text = match &group {
                Some(group) => group.share(&format!("instance {count}"), Some(&text))?,
                None => text,
            };
            let Some(Written { line: number, text }) = text else {
                let has_instance = count > 0 || stop.load(Ordering::Relaxed);
                check_input(has_instance, || "standard input holds no instance: expected one a line".into())?;
                // Another rank has died, or got a signal: the rest of the input is not solved.
                let is_cut = stop.load(Ordering::Relaxed) && signal::exit_code().is_none();
                if let Some(group) = group.filter(|_| is_cut && prints) {
                    group.check()?;
                    return Ok(NOT_SOLVED);
                }
                return Ok(worst);
            };
            count += 1;
            line.set_prefix(format!("line {number}: "));
            let read = instances::with_optimum(&*puzzle, &text);
            let instance = read.as_ref().map_or(&*text, |(text, _)| text).to_owned();
            match read.and_then(|(text, optimum)| Ok((text, optimum, self.solver.parse(text)?))) {
                Ok((text, optimum, start)) => {
                    let mut solution = self.solve(text, start, &line, false)?;
                    solution.record.optimal_length = optimum.filter(|&optimum| !solution.record.contradicts(optimum));
                    if let Some(reading) = solution.record.read_as.as_ref().filter(|_| prints) {
                        note!("costar: line {number}: read {reading}");
                    }
                    if let Some(optimum) = optimum.xor(solution.record.optimal_length).filter(|_| prints) {
                        note!(
                            "costar: line {number}: the known optimum {optimum} contradicts the result, and is left out"
                        );
                    }
                    if prints {
                        worst = worst.max(print_solution(&*puzzle, &solution, json)?);
                    }
                }
                Err(refusal) if prints => {
                    worst = BAD_INPUT;
                    let (puzzle, error) = (puzzle.name(), refusal.to_string());
                    if json {
                        print_line(&Refused { puzzle, instance, error })?;
                    } else {
                        writeln!(io::stdout(), "error: line {number}: {}", visible(&error))?;
                    }
                }
                Err(_) => (),
            }
        }
    }
}

/// After a long proof, the speed-up and the cost of a deeper perimeter.
fn deeper<P: Puzzle>(solver: &Solver<P>, solution: &Solution<P::State>) -> Option<String> {
    const LONG: f64 = 3.0;
    solution.record.proof.filter(|proof| proof.seconds > LONG)?;
    let DeeperPerimeter { depth, bytes, gain } = solver.deeper_perimeter()?;
    // A file is not known by its name.
    let is_file = solver.puzzle().file().is_some() && !has_own_rules(&solver.puzzle().name());
    let name = if is_file { "FILE".into() } else { solver.puzzle().name() };
    let size = quantity::bytes(bytes);
    let free = memory::available().map_or(String::new(), |free| format!(" ({} are free)", quantity::bytes(free)));
    Some(format!(
        "a perimeter of depth {depth} would make such a proof about {gain:.0} times faster and takes about {size} of memory{free}: \
         costar perimeter {name} --depth {depth} makes it once"
    ))
}

/// Prints a line or an object for one of many instances; gives its exit code.
fn print_solution<P: Puzzle>(puzzle: &P, solution: &Solution<P::State>, json: bool) -> anyhow::Result<u8> {
    if json {
        print_line(&solution.record)?;
    } else {
        writeln!(io::stdout(), "{}", written(puzzle, solution).unwrap_or_else(|why| why))?;
    }
    Ok(if solution.moves.is_none() { NOT_SOLVED } else { SUCCESS })
}

/// The moves of a solution as one line, or why there are none.
pub(super) fn written<P: Puzzle>(puzzle: &P, solution: &Solution<P::State>) -> Result<String, String> {
    let record = &solution.record;
    let moves = solution.moves.as_deref().ok_or_else(|| why_not_solved(record, solution.end))?;
    Ok(puzzle.written(&puzzle.in_hand(&record.instance, moves)).join(" "))
}

pub(super) fn print_line(record: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string(record).context("a result cannot be written as JSON")?;
    writeln!(io::stdout(), "{text}")?;
    Ok(())
}

/// Colours in a terminal, without `NO_COLOR`.
fn style() -> Style {
    let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if coloured { Style::Coloured } else { Style::Plain }
}

/// Prints the start, the solution in groups of five moves, and its last state.
fn show<P: Puzzle>(puzzle: &P, solution: &Solution<P::State>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let report = &solution.record;
    let start = puzzle.state_in_hand(&report.instance).unwrap_or(solution.start);
    writeln!(out, "{}\n", puzzle.draw(&start, style()))?;
    let Some(moves) = &solution.moves else { return Ok(()) };
    let moves = &puzzle.in_hand(&report.instance, moves);
    if moves.is_empty() {
        return writeln!(out, "already solved: 0 moves");
    }
    let fives: Vec<String> = puzzle.written(moves).chunks(5).map(|five| five.join(" ")).collect();
    writeln!(out, "{}\n", fives.join("   "))?;
    let end = Scramble::play(puzzle, start, moves).end();
    writeln!(out, "{}\n", puzzle.draw(&end, style()))?;
    let seconds = format!("{:.1} s", report.seconds);
    let has_costs = report.has_costs() || puzzle.own_costs().is_some();
    let whose = match (report.search_length, report.proven_optimal, has_costs) {
        (Some(length), ..) => {
            format!(": the inverse scramble (the search's own solution has {length} moves), after {seconds}")
        }
        (None, false, _) => format!(", found in {seconds}"),
        (None, true, false) => format!(" (no solution is shorter), found in {seconds}"),
        (None, true, true) => format!(" (no solution is cheaper), found in {seconds}"),
    };
    let [generated, evaluated] = [report.nodes_generated, report.nodes_evaluated].map(grouped);
    let rate = grouped((report.nodes_evaluated as f64 / report.seconds.max(1e-9)) as u64);
    let counted = puzzle.counted(moves);
    // Costs that a user has given are counted with the moves.
    let cost = report.cost.filter(|_| report.has_costs() && puzzle.own_costs().is_none());
    let cost = cost.map_or(String::new(), |cost| format!("cost {cost}, "));
    writeln!(out, "{cost}{counted}{whose}: {generated} nodes generated, {evaluated} evaluated ({rate}/s)")
}

/// The number of pruned nodes, in words; `None` if there are none.
fn pruned(report: &Record) -> Option<String> {
    let pruned = report.nodes_pruned;
    (pruned > 0).then(|| format!("the {} worst pruned for lack of memory (--max-memory)", grouped(pruned)))
}

/// The lengths that an unfinished proof has excluded, in words.
fn unproven(report: &Record) -> Option<String> {
    let proof = report.proof.filter(|_| !report.proven_optimal)?;
    let mut said = report.length.map_or("no solution yet".into(), |length| format!("{length} moves"));
    if let Some(excluded) = proof.excluded {
        said += &format!("; no solution of {excluded} or less exists");
    }
    if let Some((target, share)) = proof.target.zip(proof.target_share) {
        said += &format!("; {:.0} % of {target} excluded", 100.0 * share);
    }
    Some(said)
}

/// Why there is no solution, and the counts of the search, in words.
fn why_not_solved(report: &Record, end: End) -> String {
    let (generated, stored) = (grouped(report.nodes_generated), grouped(report.nodes_stored));
    let pruned = pruned(report).map(|said| format!(", {said}")).unwrap_or_default();
    let (reason, seconds) = (with_flags(&end.reason().unwrap_or_default()), report.seconds);
    let held = match end {
        End::Limit(Limit::Memory) => format!("; the program held {} at most", quantity::bytes(memory::peak())),
        _ => String::new(),
    };
    format!("{reason} ({generated} nodes generated, {stored} stored{pruned}, {seconds:.1} s{held})")
}
