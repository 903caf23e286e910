//! The thread that searches with one model: it loads the model once, keeps it, and does one search after the other.

use super::puzzles::Tools;
use super::wish::Wish;
use crate::cli::Failure;
use crate::cli::reverse::Reverse;
use crate::cli::search_options::SearchOptions;
use crate::cli::solver::{Solution, Solver, Watch};
use crate::progress::note;
use crate::puzzle::{Cost, Puzzle, Reversible, Visitor, move_names, visit};
use crate::report::Solved;
use crate::search::{Answer, Progress};
use crate::signal;
use crate::view::Playback;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Sender;

/// Time between two looks at a search.
const LOOK: Duration = Duration::from_millis(100);

/// Events that a client may be behind with: while it is behind further, it is not told of progress.
const BACKLOG: usize = 32;

/// A search to be done.
pub(super) struct Job {
    pub(super) wish: Wish,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) events: Sender<Event>,
    /// The job's place in the queue, its model's turn and its share of the machine; given back when it is done.
    pub(super) permits: [OwnedSemaphorePermit; 3],
}

/// What a client is told of its search.
#[derive(Debug)]
pub(super) enum Event {
    /// The model is loaded, and the search begins.
    Begun,
    /// Where the search is.
    Progress(Progressed),
    /// An answer that is better than those before; the search goes on.
    Better(Better),
    /// The end, with an answer or without.
    Done(Box<Done>),
    /// The search could not be done, and why.
    Failed(String),
}

/// Where a search is.
#[derive(Debug, Serialize)]
pub(super) struct Progressed {
    seconds: f64,
    iterations: u64,
    nodes_generated: u64,
    nodes_stored: u64,
    nodes_expanded: u64,
    nodes_evaluated: u64,
    nodes_dropped: u64,
    nodes_per_second: f64,
    /// The least f = λ·g + h in the open list.
    least_f: Option<f32>,
    /// The least cost-to-go so far, and the path cost of its node.
    best_h: Option<f32>,
    best_g: Option<Cost>,
}

impl From<&Progress> for Progressed {
    fn from(progress: &Progress) -> Self {
        let stats = &progress.stats;
        Progressed {
            seconds: stats.seconds,
            iterations: stats.iterations,
            nodes_generated: stats.generated,
            nodes_stored: stats.stored,
            nodes_expanded: stats.expanded,
            nodes_evaluated: stats.evaluated,
            nodes_dropped: stats.dropped,
            nodes_per_second: stats.generated as f64 / stats.seconds.max(1e-3),
            least_f: progress.least_f,
            best_h: progress.best.map(|(h, _)| h),
            best_g: progress.best.map(|(_, g)| g),
        }
    }
}

/// An answer on the way.
#[derive(Debug, Serialize)]
pub(super) struct Better {
    moves: Vec<String>,
    length: usize,
    cost: Cost,
    seconds: f64,
    playback: Option<Playback>,
}

/// What `solve --json` prints, and the answer to be played.
#[derive(Debug, Serialize)]
pub(super) struct Done {
    #[serde(flatten)]
    report: Solved,
    playback: Option<Playback>,
}

/// Starts the thread; it ends when nobody can send it jobs any more.
///
/// # Errors
/// If the system refuses one.
pub(super) fn start(tools: Tools, jobs: Receiver<Job>) -> std::io::Result<JoinHandle<()>> {
    let name = format!("search {}", tools.puzzle).replace('\0', "");
    thread::Builder::new().name(name).spawn(move || {
        let Tools { puzzle, goal, .. } = tools;
        if let Err(refusal) = visit(&puzzle, goal.as_deref(), Work(jobs)) {
            note!("costar: {puzzle}: {refusal}"); // it was there a moment ago
        }
    })
}

struct Work(Receiver<Job>);

impl Visitor for Work {
    type Output = ();

    fn visit<P: Reversible>(self, puzzle: P) {
        self.with(puzzle, &Reverse::all());
    }

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) {
        self.with(puzzle, &Reverse::none());
    }
}

impl Work {
    fn with<P: Puzzle>(self, puzzle: P, reverse: &Reverse<P>) {
        let mut bench = Bench { puzzle: Arc::new(puzzle), reverse, solver: None };
        while let Ok(Job { wish, stop, events, permits }) = self.0.recv() {
            let last = match bench.search(&wish, &stop, &events) {
                Ok(done) => Event::Done(Box::new(done)),
                Err(error) => Event::Failed(format!("{error:#}")),
            };
            drop(permits);
            // Nobody may be there any more to be told.
            let _ = events.try_send(last);
        }
    }
}

/// A puzzle, and once it was needed, what it is solved with.
struct Bench<'a, P: Puzzle> {
    puzzle: Arc<P>,
    reverse: &'a Reverse<P>,
    solver: Option<Solver<P>>,
}

impl<P: Puzzle> Bench<'_, P> {
    fn search(&mut self, wish: &Wish, stop: &AtomicBool, events: &Sender<Event>) -> anyhow::Result<Done> {
        let reverse = self.reverse;
        let puzzle = Arc::clone(&self.puzzle);
        let solver = self.solver(&wish.options)?;
        solver.limits.memory = Some(wish.memory);
        let start = solver.parse(&wish.instance)?;
        let goals = reverse.goals(&puzzle);
        let play = |moves: &[u8]| Playback::new(&*puzzle, &goals, &wish.instance, moves).ok();
        let _ = events.try_send(Event::Begun);
        let begun = Instant::now();
        let mut last: Option<Instant> = None;
        let mut progress = |progress: &Progress| {
            let is_time = last.is_none_or(|last| last.elapsed() >= LOOK);
            if is_time && events.capacity() > events.max_capacity() - BACKLOG {
                last = Some(Instant::now());
                let _ = events.try_send(Event::Progress(progress.into()));
            }
        };
        let mut answers = |answer: &Answer| {
            let _ = events.try_send(Event::Better(Better {
                moves: move_names(&*puzzle, &answer.moves),
                length: answer.moves.len(),
                cost: answer.cost,
                seconds: begun.elapsed().as_secs_f64(),
                playback: play(&answer.moves),
            }));
        };
        let watch = Watch { stop, progress: &mut progress, answers: &mut answers };
        let Solution { moves, report, .. } = solver.solve_watched(&wish.instance, start, watch)?;
        Ok(Done { report, playback: moves.and_then(|moves| play(&moves)) })
    }

    /// What solves, with these settings; loaded when it is first needed.
    fn solver(&mut self, options: &SearchOptions) -> anyhow::Result<&mut Solver<P>> {
        match &mut self.solver {
            Some(solver) => solver.set(self.reverse, options)?,
            None => {
                let stop = signal::install()?;
                let loaded = Solver::new(Arc::clone(&self.puzzle), self.reverse, options, stop);
                self.solver = Some(loaded.map_err(|(Failure::Input(error) | Failure::Other(error))| error)?);
            }
        }
        self.solver.as_mut().ok_or_else(|| anyhow::anyhow!("nothing was loaded"))
    }
}
