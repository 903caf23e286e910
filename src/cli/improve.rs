//! `costar improve`: shortens known solutions of a contest's instances.
//!
//! First each solution becomes the shortest path among the states around it. Then windows of the solutions are searched
//! anew, as instances of their own, at random places, until the time is up or nothing more is found.

use super::contest::{self, Contest, TableInstance};
use super::flags::SolverFlags;
use super::progress::note;
use super::{Ending, OrInput as _, SUCCESS, check_input, narrow, signal};
use super::{instances, output_file};
use crate::puzzle::{Move, Puzzle, counted, replay};
use crate::quantity::{self, grouped};
use crate::random::{Generator, below, generator};
use crate::registry::{Entry, with_entry};
use crate::search::neighbourhood::shortened;
use crate::solver::{Solver, Watch, models};
use anyhow::{Context as _, Result, ensure};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The lengths of the windows, the longest at first: they become shorter when a search of one ends at its limit.
const WINDOWS: RangeInclusive<usize> = 8..=40;
/// The limit of the search of a window, without a limit among the flags.
const WINDOW_TIME: Duration = Duration::from_secs(5);
/// The solution of an unsolved instance in a contest's sample.
const UNSOLVED: &str = "UNSOLVED";
/// Rounds without a shorter solution before improve ends, without --for.
const LAST_ROUNDS: u32 = 10;
/// The file is written again at most this often.
const WRITE_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The --out file is written every few seconds; after a stop or a kill, the same command continues from it. \
                  It has all rows of SOLUTIONS, also those of other instances. The search of a window ends after \
                  5 s, or at --max-seconds or --max-nodes; windows become shorter if it finds nothing by then."
)]
pub(super) struct Args {
    /// The known solutions: a file with the columns id,moves, initial_state_id,path or id,permutation,solution
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
    with_entry!(args.flags.puzzle.entry()?, entry => improve(entry, args))
}

/// An instance with its shortest known solution.
struct Known<S> {
    /// Its row in the file of solutions.
    row: usize,
    text: String,
    start: S,
    moves: Vec<Move>,
    wildcards: usize,
}

/// The puzzle and the settings, for all instances.
struct Improvement<'a, P: Puzzle> {
    puzzle: &'a P,
    goal: P::State,
    states: usize,
    stop: &'a AtomicBool,
}

fn improve<P: Puzzle>(entry: Entry<P>, mut args: Args) -> Ending {
    let stop = signal::install()?;
    if !entry.puzzle().reduction().is_empty() {
        // Between two states of a solution, the way through a reduced one is long.
        let has_network = models::facts(None, &entry.puzzle().name()).is_ok();
        args.flags.search.search.get_or_insert(if has_network { "beam" } else { "bidirectional" }.into());
    }
    let is_over = || stop.load(Ordering::Relaxed);
    let has_own_costs = entry.puzzle().own_costs().is_some();
    check_input(!has_own_costs, || "--move-costs: improve counts moves: leave it out".into())?;
    let other =
        || "this puzzle has moves that cannot be undone, and improve searches between the states of a solution".into();
    check_input(entry.puzzle().is_reversible(), other)?;
    let goal = entry.goals().first().copied().context("this puzzle has no known goal").or_input()?;
    let mut request = args.flags.request();
    let limits = &mut request.limits;
    limits.time = limits.time.or(limits.nodes.is_none().then_some(WINDOW_TIME));
    limits.spend_time = false;
    let puzzle = Arc::clone(entry.puzzle());
    let builder = Solver::builder(entry, request).stop(Arc::clone(&stop));
    // Files and settings are refused before a perimeter is made.
    builder.plan().or_input()?;
    let improvement = Improvement { puzzle: &*puzzle, goal, states: narrow(args.states), stop: &stop };
    let (mut known, mut file) = improvement.read(&args).or_input()?;
    file.write(&*puzzle, &known).or_input()?;
    let mut solver = signal::ends_at_once(|| builder.build()).or_input()?;
    if let Some(seconds) = args.time {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs_f64(seconds));
            stop.store(true, Ordering::Relaxed);
        });
    }
    let length = |known: &[Known<P::State>]| known.iter().map(|known| known.moves.len()).sum::<usize>();
    let first = length(&known);
    note!("costar: {}, {} moves in all", counted(known.len(), "solution"), grouped(first as u64));
    for i in (0..known.len()).take_while(|_| !is_over()) {
        let found = improvement.shortened(&known[i], &known[i].moves);
        improvement.take(&mut known, i, &found, &mut file)?;
    }
    let mut generator = generator(rand::random(), 0);
    let (mut rounds, mut longest) = (0, *WINDOWS.end());
    while !is_over() && (args.time.is_some() || rounds < LAST_ROUNDS) {
        rounds += 1;
        if known.iter().all(|known| known.moves.len() < 2) {
            break; // no solution has a window
        }
        for i in (0..known.len()).take_while(|_| !is_over()) {
            let Some((start, window)) = improvement.window(&known[i], longest, &mut generator) else { continue };
            file.write_from_time_to_time(&*puzzle, &known)?;
            let watch = Watch { stop: &stop, progress: &mut |_| (), incumbents: &mut |_| () };
            let found = solver.solve_watched("", start, watch);
            let found = found.inspect_err(|_| drop(file.write(&*puzzle, &known)))?;
            let length = window.len();
            longest = match &found.moves {
                None => (*WINDOWS.start()).midpoint(length).clamp(*WINDOWS.start(), longest),
                Some(_) if length == longest => (longest + 1).min(*WINDOWS.end()),
                Some(_) => longest,
            };
            let Some(better) = found.moves else { continue };
            let moves = &known[i].moves;
            let whole = [&moves[..window.start], &better, &moves[window.end..]].concat();
            // The new moves and those beside them may have a shorter path together.
            let whole = if better.len() < length { improvement.shortened(&known[i], &whole) } else { whole };
            if improvement.take(&mut known, i, &whole, &mut file)? {
                rounds = 0;
            }
        }
    }
    file.write(&*puzzle, &known)?;
    let last = length(&known);
    let [first, last] = [first, last].map(|length| grouped(length as u64));
    writeln!(io::stdout(), "{first} moves before, {last} now: {}", args.out.display())?;
    Ok(SUCCESS)
}

impl<P: Puzzle> Improvement<'_, P> {
    fn is_solved(&self, wildcards: usize) -> impl Fn(&P::State) -> bool {
        move |state| contest::is_solved(self.puzzle, state, &self.goal, wildcards)
    }

    /// The shortest path near a solution.
    fn shortened(&self, known: &Known<P::State>, moves: &[Move]) -> Vec<Move> {
        shortened(self.puzzle, &known.start, moves, self.is_solved(known.wildcards), self.states, self.stop)
    }

    /// Takes a solution, without the moves that wildcards save, if it is shorter; says so, and writes the file from time to
    /// time. If symbols stand at several positions, moves that replace a window may solve no longer.
    fn take(&self, known: &mut [Known<P::State>], i: usize, moves: &[Move], file: &mut ImprovedTable) -> Result<bool> {
        let before = known[i].moves.len();
        let moves = contest::solving(self.puzzle, &known[i].start, moves, self.is_solved(known[i].wildcards));
        let Some(moves) = moves.filter(|moves| moves.len() < before) else { return Ok(false) };
        note!("costar: {}: {}, before {before}", file.rows[known[i].row][0], counted(moves.len(), "move"));
        known[i].moves = moves.to_vec();
        file.is_stale = true;
        file.write_from_time_to_time(self.puzzle, known)?;
        Ok(true)
    }

    /// Some successive moves of a solution at a random place, also at the goal, and the start of an instance whose solutions
    /// can replace them. `None` if the solution is too short, or the moves cannot be undone from the goal.
    fn window(
        &self,
        known: &Known<P::State>,
        longest: usize,
        generator: &mut Generator,
    ) -> Option<(P::State, Range<usize>)> {
        let Known { start, moves, .. } = known;
        let longest = moves.len().min(longest);
        let shortest = longest.min(*WINDOWS.start());
        let length = shortest + below(generator, longest - shortest + 1);
        if length < 2 {
            return None;
        }
        // Places beyond the last one stand for it: the goal is then the end of the window.
        let first = below(generator, moves.len() + 1).min(moves.len() - length);
        let window = first..first + length;
        let mut states = vec![*start];
        for &action in moves {
            states.push(self.puzzle.apply(states.last()?, action)?);
        }
        if states[window.end] == self.goal {
            return Some((states[first], window));
        }
        let mut instance = self.goal;
        for step in window.clone().rev() {
            let undo = self.puzzle.move_between(&states[step + 1], &states[step])?;
            instance = self.puzzle.apply(&instance, undo)?;
        }
        Some((instance, window))
    }

    /// The instances with the shortest of their known solutions, and the file that they are written to.
    fn read(&self, args: &Args) -> Result<(Vec<Known<P::State>>, ImprovedTable)> {
        let is_same =
            fs::canonicalize(&args.out).is_ok_and(|out| fs::canonicalize(&args.solutions).is_ok_and(|own| own == out));
        ensure!(!is_same, "--out is the file of the known solutions, which stays as it is: name another one");
        let is_other = fs::metadata(&args.out).is_ok_and(|metadata| !metadata.is_file());
        ensure!(!is_other, "--out: {} is not a file: name one", args.out.display());
        contest::check_names(self.puzzle)?;
        let name = args.instances.display();
        let table =
            contest::imported_instances(&instances::read_file(&args.instances)?).with_context(|| name.to_string())?;
        let (instances, contest) = table
            .with_context(|| format!("{name} has no states with ids: expected a contest's table (costar import)"))?;
        let mut solutions = KnownSolutions { rows: Vec::new(), of_rows: Vec::new(), places: HashMap::new() };
        solutions.add(&args.solutions, &instances::read_file(&args.solutions)?)?;
        // An empty cell stands for no solution there, and in improve's own file for one without moves.
        solutions.rows.iter_mut().filter(|row| row[2].is_empty()).for_each(|row| row[2] = UNSOLVED.into());
        let is_new = !args.out.exists();
        let lock = output_file::open_locked("improve", &args.out).context("--out")?;
        let earlier = instances::read_file(&args.out)?;
        if !earlier.is_empty() {
            let other = solutions.add(&args.out, &earlier)?;
            let [own, other] = [contest, other].map(|contest| contest.solution);
            ensure!(
                own == other,
                "--out: {} has the column {other} of another contest: expected {own}",
                args.out.display()
            );
        }
        let known = self.known(args, instances, &mut solutions).inspect_err(|_| {
            if is_new && earlier.is_empty() {
                let _ = fs::canonicalize(&args.out).and_then(fs::remove_file);
            }
        })?;
        // The target of a link is replaced; the link stays.
        let path = fs::canonicalize(&args.out).with_context(|| format!("cannot find {}", args.out.display()))?;
        Ok((
            known,
            ImprovedTable { path, contest, rows: solutions.rows, written: Instant::now(), is_stale: true, lock },
        ))
    }

    /// The instances that have a solution, each with its shortest one.
    ///
    /// # Errors
    /// If a solution does not solve its instance, or none is of an instance.
    fn known(
        &self,
        args: &Args,
        instances: Vec<TableInstance>,
        solutions: &mut KnownSolutions<'_>,
    ) -> Result<Vec<Known<P::State>>> {
        let KnownSolutions { rows, of_rows, places } = solutions;
        let (path, name) = (args.solutions.display(), args.instances.display());
        let mut known = Vec::new();
        for TableInstance { line, id, text, wildcards, .. } in instances {
            let in_line = || format!("line {line} of {name}{}", args.flags.puzzle.unless_named());
            let start = self.puzzle.parse(&text).with_context(in_line)?;
            let Some(&row) = places.get(&id) else { continue };
            rows[row][1].clone_from(&text);
            let mut solutions = Vec::new();
            for (path, solution) in &of_rows[row] {
                let in_file = || format!("the solution of {id} in {}", path.display());
                let moves = contest::parse_path(self.puzzle, &text, solution).with_context(in_file)?;
                let solves = replay(self.puzzle, &start, &moves).is_ok_and(|(end, _)| self.is_solved(wildcards)(&end));
                if !solves && moves.is_empty() {
                    continue; // as UNSOLVED
                }
                ensure!(solves, "{} does not solve it", in_file());
                solutions.push(moves);
            }
            let shortest = solutions.into_iter().min_by_key(Vec::len);
            known.extend(shortest.map(|moves| Known { row, text, start, moves, wildcards }));
        }
        let expected = "expected ids of the table, and a solution of one of them";
        ensure!(!known.is_empty(), "{path} has no solution of an instance in {name}: {expected}");
        Ok(known)
    }
}

/// The known solutions of both files.
struct KnownSolutions<'a> {
    /// See [`ImprovedTable::rows`].
    rows: Vec<[String; 3]>,
    /// The solutions of each row, with their files.
    of_rows: Vec<Vec<(&'a Path, String)>>,
    /// The row of each id.
    places: HashMap<String, usize>,
}

impl<'a> KnownSolutions<'a> {
    /// Adds the solutions of a file; gives the contest that has its columns.
    fn add(&mut self, path: &'a Path, text: &str) -> Result<&'static Contest> {
        let is_unsolved = |solution: &str| solution.eq_ignore_ascii_case(UNSOLVED);
        let count = |solution: &str| solution.split(['.', ' ']).filter(|name| !name.is_empty()).count();
        let mut ids = HashSet::new();
        let (contest, rows) = Contest::read_submission(text).with_context(|| path.display().to_string())?;
        for row in rows {
            let [id, _, solution] = row.clone();
            ensure!(ids.insert(id.clone()), "{}: the id {id} is there twice", path.display());
            let place = *self.places.entry(id).or_insert_with(|| {
                self.rows.push(row);
                self.of_rows.push(Vec::new());
                self.of_rows.len() - 1
            });
            if is_unsolved(&solution) {
                continue;
            }
            // An instance that is not in the table keeps the shorter row of both files.
            let known = &mut self.rows[place][2];
            if is_unsolved(known) || count(&solution) < count(known) {
                known.clone_from(&solution);
            }
            self.of_rows[place].push((path, solution));
        }
        Ok(contest)
    }
}

/// The file of the shortened solutions.
struct ImprovedTable {
    path: PathBuf,
    contest: &'static Contest,
    /// Id, state and moves of each instance, in the table or not.
    rows: Vec<[String; 3]>,
    /// When it was last written.
    written: Instant,
    /// Whether shorter solutions are known than it has.
    is_stale: bool,
    /// The open file, which keeps other processes from writing it.
    lock: File,
}

impl ImprovedTable {
    fn write_from_time_to_time<P: Puzzle>(&mut self, puzzle: &P, known: &[Known<P::State>]) -> Result<()> {
        if self.is_stale && self.written.elapsed() > WRITE_EVERY { self.write(puzzle, known) } else { Ok(()) }
    }

    fn write<P: Puzzle>(&mut self, puzzle: &P, known: &[Known<P::State>]) -> Result<()> {
        for known in known {
            self.rows[known.row][2] = contest::path(puzzle, &known.text, &known.moves)?;
        }
        self.lock = output_file::replace_locked(&self.path, &self.contest.submission(&self.rows)?)?;
        (self.written, self.is_stale) = (Instant::now(), false);
        Ok(())
    }
}
