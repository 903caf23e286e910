//! The thread that searches with one model: it loads the model once, keeps it, and does one search after the other.

use super::puzzles::WorkerKey;
use super::request::SolveRequest;
use crate::error::{Error, Result};
use crate::puzzle::{Cost, Puzzle, move_names};
use crate::registry::{Entry, Visitor, visit};
use crate::report::Record;
use crate::search::{Incumbent, Progress};
use crate::solver::{Solution, Solver, Watch};
use crate::view::Playback;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Sender;

/// Time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Events that a client may be behind with: while it is behind further, it is not told of progress.
const BACKLOG: usize = 32;

/// A search to be done.
pub(super) struct Job {
    pub(super) request: SolveRequest,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) events: Sender<Event>,
    /// The job's place in the queue, its model's turn and its share of the machine; given back when it is done.
    pub(super) permits: [OwnedSemaphorePermit; 3],
}

/// What a client is told of its search.
#[derive(Debug)]
pub(super) enum Event {
    /// The model is loaded, and the search starts.
    Started,
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
    nodes_pruned: u64,
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
            nodes_pruned: stats.pruned,
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
    record: Record,
    playback: Option<Playback>,
}

/// Starts the thread; it ends when nobody can send it jobs any more.
///
/// # Errors
/// If the system refuses one.
pub(super) fn start(key: WorkerKey, stop: Arc<AtomicBool>, jobs: Receiver<Job>) -> std::io::Result<JoinHandle<()>> {
    let name = format!("search {}", key.puzzle).replace('\0', "");
    thread::Builder::new().name(name).spawn(move || {
        let WorkerKey { puzzle, goal, .. } = key;
        if let Err(error) = visit(&puzzle, goal.as_deref(), Work { jobs, stop }) {
            log::warn!("{puzzle}: {error}"); // it was there a moment ago
        }
    })
}

struct Work {
    jobs: Receiver<Job>,
    stop: Arc<AtomicBool>,
}

impl Visitor for Work {
    type Output = ();

    fn visit<P: Puzzle>(self, entry: Entry<P>) {
        let mut worker = Worker { entry, stop: self.stop, solver: None };
        while let Ok(Job { request, stop, events, permits }) = self.jobs.recv() {
            let last = match worker.search(&request, &stop, &events) {
                Ok(done) => Event::Done(Box::new(done)),
                Err(error) => Event::Failed(error.to_string()),
            };
            drop(permits);
            // Nobody may be there any more to be told.
            let _ = events.try_send(last);
        }
    }
}

/// A puzzle, and once it was needed, its solver.
struct Worker<P: Puzzle> {
    entry: Entry<P>,
    stop: Arc<AtomicBool>,
    solver: Option<Solver<P>>,
}

impl<P: Puzzle> Worker<P> {
    fn search(&mut self, request: &SolveRequest, stop: &AtomicBool, events: &Sender<Event>) -> Result<Done> {
        let puzzle = Arc::clone(self.entry.puzzle());
        let goals = self.entry.goals();
        let solver = self.solver(request)?;
        let start = solver.parse(&request.instance)?;
        let play = |moves: &[u8]| Playback::new(&*puzzle, &goals, &request.instance, moves).ok();
        let _ = events.try_send(Event::Started);
        let begun = Instant::now();
        let mut last: Option<Instant> = None;
        let mut progress = |progress: &Progress| {
            let is_time = last.is_none_or(|last| last.elapsed() >= REPORT_EVERY);
            if is_time && events.capacity() > events.max_capacity() - BACKLOG {
                last = Some(Instant::now());
                let _ = events.try_send(Event::Progress(progress.into()));
            }
        };
        let mut incumbents = |answer: &Incumbent| {
            let _ = events.try_send(Event::Better(Better {
                moves: move_names(&*puzzle, &answer.moves),
                length: answer.moves.len(),
                cost: answer.cost,
                seconds: begun.elapsed().as_secs_f64(),
                playback: play(&answer.moves),
            }));
        };
        let watch = Watch { stop, progress: &mut progress, incumbents: &mut incumbents };
        let Solution { moves, record, .. } = solver.solve_typed(&request.instance, start, watch)?;
        Ok(Done { record, playback: moves.and_then(|moves| play(&moves)) })
    }

    /// The solver with a request's settings; its heuristic is loaded when it is first needed.
    fn solver(&mut self, request: &SolveRequest) -> Result<&mut Solver<P>> {
        if let Some(solver) = &mut self.solver {
            solver.reconfigure(request.search.clone(), request.limits.clone())?;
        } else {
            self.solver = Some(request.builder(self.entry.clone()).stop(Arc::clone(&self.stop)).build()?);
        }
        let solver = self.solver.as_mut().ok_or_else(|| Error::Bug("the solver was not kept".into()))?;
        solver.limit_node_memory(request.memory);
        Ok(solver)
    }
}
