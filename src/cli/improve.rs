//! `costar improve`: shortens known solutions of a contest's instances.
//!
//! First each solution becomes the shortest path among the states around it. Then windows of the solutions are searched
//! anew, as instances of their own, at random places, until the time is up or nothing more is found.

use super::contest::{self, STATES, Table};
use super::progress::note;
use super::solver_flags::SolverFlags;
use super::{Ending, OrInput as _, SUCCESS, narrow, signal};
use crate::files::write_whole;
use crate::puzzle::{Move, Puzzle, replay};
use crate::quantity::{self, grouped};
use crate::random::{Generator, below, generator};
use crate::registry::{Entry, Visitor};
use crate::search::neighbourhood::shortened;
use crate::solver::{Solver, Watch};
use anyhow::{Context as _, Result, anyhow, ensure};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The lengths of the windows.
const WINDOWS: std::ops::RangeInclusive<usize> = 8..=40;
/// Rounds without a shorter solution before improve ends, without --for.
const LAST_ROUNDS: u32 = 10;
/// The file is written again at most this often.
const WRITE_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The --out file is written every few seconds; after a stop or a kill, the same command goes on from it."
)]
pub(super) struct Args {
    /// The known solutions: a file with the columns id,moves or initial_state_id,path
    solutions: PathBuf,
    /// The instances: a contest's table, as import writes it
    #[arg(long, value_name = "FILE")]
    instances: PathBuf,
    /// File for the shortened solutions; if it exists, the shorter ones of both files are taken
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    flags: SolverFlags,
    /// Stop after this time, such as 10m or 2h [default: after ten rounds that shorten no solution]
    #[arg(long = "for", value_name = "TIME", value_parser = quantity::duration)]
    time: Option<f64>,
    /// States kept around a solution in the search for a shorter path
    #[arg(long, default_value = "3e5", value_name = "N", value_parser = quantity::positive_count)]
    states: u64,
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install().context("no handler of signals can be installed")?;
    args.flags.puzzle.clone().visit(Improve { args, stop })
}

struct Improve {
    args: Args,
    stop: Arc<AtomicBool>,
}

/// An instance with its shortest known solution.
struct Known<S> {
    id: String,
    text: String,
    start: S,
    moves: Vec<Move>,
}

impl Visitor for Improve {
    type Output = Ending;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Ending {
        let Improve { args, stop } = self;
        let is_over = || stop.load(Ordering::Relaxed);
        if entry.puzzle().own_costs().is_some() {
            return Err(anyhow!("--move-costs: improve counts moves: leave it out")).or_input();
        }
        let goal = entry.goals().first().copied().context("this puzzle has no known goal").or_input()?;
        let builder = args.flags.builder(entry, &stop).or_input()?;
        let mut solver = signal::ends_at_once(|| builder.build()).or_input()?;
        let puzzle = Arc::clone(solver.puzzle());
        let (mut known, columns) = read(&*puzzle, &args).or_input()?;
        let mut file = Output { path: &args.out, columns, written: Instant::now(), is_stale: true };
        file.write(&*puzzle, &known).or_input()?;
        if let Some(seconds) = args.time {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs_f64(seconds));
                stop.store(true, Ordering::Relaxed);
            });
        }
        let length = |known: &[Known<P::State>]| known.iter().map(|known| known.moves.len()).sum::<usize>();
        let first = length(&known);
        note!("costar: {} solutions, {} moves in all", known.len(), grouped(first as u64));
        for i in 0..known.len() {
            if is_over() {
                break;
            }
            let Known { start, moves, .. } = &known[i];
            let found = shortened(&*puzzle, start, moves, narrow(args.states), &stop);
            take(&*puzzle, &mut known, i, found, &mut file)?;
        }
        let mut generator = generator(rand::random(), 0);
        let mut rounds = 0;
        while !is_over() && (args.time.is_some() || rounds < LAST_ROUNDS) {
            rounds += 1;
            for i in 0..known.len() {
                if is_over() {
                    break;
                }
                let Known { start, moves, .. } = &known[i];
                let window = Window::random(&*puzzle, start, moves, goal, &mut generator);
                file.write_from_time_to_time(&*puzzle, &known)?;
                let found = window.and_then(|window| window.search(&mut solver, start, moves, &stop).transpose());
                let Some(better) = found else { continue };
                let better = better.inspect_err(|_| drop(file.write(&*puzzle, &known)))?;
                // The new moves and those beside them may have a shorter path together.
                let better = shortened(&*puzzle, start, &better, narrow(args.states), &stop);
                take(&*puzzle, &mut known, i, better, &mut file)?;
                rounds = 0;
            }
        }
        file.write(&*puzzle, &known)?;
        let last = length(&known);
        writeln!(
            io::stdout(),
            "{} moves before, {} now: {}",
            grouped(first as u64),
            grouped(last as u64),
            args.out.display()
        )?;
        Ok(SUCCESS)
    }
}

/// Takes a solution that is shorter, says so, and writes the file from time to time.
fn take<P: Puzzle>(
    puzzle: &P,
    known: &mut [Known<P::State>],
    i: usize,
    moves: Vec<Move>,
    file: &mut Output<'_>,
) -> Result<()> {
    let before = known[i].moves.len();
    if moves.len() < before && solves(puzzle, &known[i].start, &moves) {
        note!("costar: {}: {} moves, before {before}", known[i].id, moves.len());
        known[i].moves = moves;
        file.is_stale = true;
        file.write_from_time_to_time(puzzle, known)?;
    }
    Ok(())
}

fn solves<P: Puzzle>(puzzle: &P, start: &P::State, moves: &[Move]) -> bool {
    replay(puzzle, start, moves).is_ok_and(|(end, _)| puzzle.is_goal(&end))
}

/// The file of the shortened solutions.
struct Output<'a> {
    path: &'a Path,
    columns: [&'static str; 2],
    /// When it was last written.
    written: Instant,
    /// Whether shorter solutions are known than it has.
    is_stale: bool,
}

impl Output<'_> {
    fn write_from_time_to_time<P: Puzzle>(&mut self, puzzle: &P, known: &[Known<P::State>]) -> Result<()> {
        if self.is_stale && self.written.elapsed() > WRITE_EVERY { self.write(puzzle, known) } else { Ok(()) }
    }

    fn write<P: Puzzle>(&mut self, puzzle: &P, known: &[Known<P::State>]) -> Result<()> {
        let row = |known: &Known<_>| Ok((known.id.clone(), contest::path(puzzle, &known.text, &known.moves)?));
        let rows = known.iter().map(row).collect::<Result<Vec<_>>>()?;
        write_whole(self.path, &contest::submission(self.columns, rows)?)?;
        (self.written, self.is_stale) = (Instant::now(), false);
        Ok(())
    }
}

/// Some successive moves of a solution, as an instance: its solutions can replace them.
struct Window<S> {
    moves: std::ops::Range<usize>,
    start: S,
}

impl<S: Copy + Eq> Window<S> {
    /// A window at a random place, also one that ends at the goal. `None` if the solution is too short, or the moves cannot be
    /// undone from the goal.
    fn random<P: Puzzle<State = S>>(
        puzzle: &P,
        start: &S,
        moves: &[Move],
        goal: S,
        generator: &mut Generator,
    ) -> Option<Self> {
        let longest = moves.len().min(*WINDOWS.end());
        let shortest = longest.min(*WINDOWS.start());
        let length = shortest + below(generator, longest - shortest + 1);
        // Places beyond the last one stand for it: the goal is then the end of the window.
        let first = below(generator, moves.len() + 1).min(moves.len() - length);
        let window = first..first + length;
        let mut states = vec![*start];
        for &action in moves {
            states.push(puzzle.apply(states.last()?, action)?);
        }
        if window.end == moves.len() {
            return (length > 1).then_some(Window { start: states[first], moves: window });
        }
        let mut instance = goal;
        for step in window.clone().rev() {
            let undo = |&action: &Move| puzzle.apply(&states[step + 1], action) == Some(states[step]);
            let action = (0..puzzle.move_count() as Move).find(undo)?;
            instance = puzzle.apply(&instance, action)?;
        }
        Some(Window { moves: window, start: instance })
    }

    /// The solution with the window's moves replaced by fewer, if the search finds them.
    fn search<P: Puzzle<State = S>>(
        &self,
        solver: &mut Solver<P>,
        start: &S,
        moves: &[Move],
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Move>>> {
        let watch = Watch { stop, progress: &mut |_| (), incumbents: &mut |_| () };
        let Some(found) = solver.solve_watched("", self.start, watch)?.moves else { return Ok(None) };
        if found.len() >= self.moves.len() {
            return Ok(None);
        }
        let whole = [&moves[..self.moves.start], &found, &moves[self.moves.end..]].concat();
        // Where symbols stand at several positions, a solution of the window may end in another state than the window.
        Ok(solves(&**solver.puzzle(), start, &whole).then_some(whole))
    }
}

/// The instances with the shortest of their known solutions, and the columns of a submission.
#[expect(clippy::type_complexity, reason = "instances of any puzzle")]
fn read<P: Puzzle>(puzzle: &P, args: &Args) -> Result<(Vec<Known<P::State>>, [&'static str; 2])> {
    let is_same =
        fs::canonicalize(&args.out).is_ok_and(|out| fs::canonicalize(&args.solutions).is_ok_and(|own| own == out));
    ensure!(!is_same, "--out is the file of the known solutions, which stays as it is: name another one");
    contest::check_names(puzzle)?;
    let bytes = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let name = args.instances.display();
    let table = Table::read(&bytes(&args.instances)?, STATES).with_context(|| name.to_string())?;
    let table =
        table.with_context(|| format!("{name} has no column {STATES}: expected a contest's table (costar import)"))?;
    let mut sources = vec![&args.solutions];
    sources.extend(args.out.is_file().then_some(&args.out));
    let mut solutions: Vec<(&PathBuf, HashMap<String, String>)> = Vec::new();
    for path in sources {
        let read = contest::read_submission(&bytes(path)?).with_context(|| path.display().to_string())?;
        solutions.push((path, read));
    }
    let mut known = Vec::new();
    for (line, id, text) in table.instances().with_context(|| name.to_string())? {
        let start = puzzle.parse(&text).with_context(|| format!("line {line} of {name}"))?;
        let mut shortest: Option<Vec<Move>> = None;
        for (path, solutions) in &solutions {
            let Some(solution) = solutions.get(&id) else { continue };
            let in_file = || format!("the solution of {id} in {}", path.display());
            let moves = contest::parse_path(puzzle, &text, solution).with_context(in_file)?;
            ensure!(solves(puzzle, &start, &moves), "{} does not solve it", in_file());
            if shortest.as_ref().is_none_or(|shortest| moves.len() < shortest.len()) {
                shortest = Some(moves);
            }
        }
        known.extend(shortest.map(|moves| Known { id, text, start, moves }));
    }
    let path = args.solutions.display();
    if known.is_empty() {
        return Err(anyhow!("{path} has no solution of an instance in {name}: are the ids those of the table?"));
    }
    Ok((known, table.submission_columns()))
}
