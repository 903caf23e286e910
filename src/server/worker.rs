//! The thread that searches with one model: it loads the model once, keeps it, and runs one search after the other.

use super::error::ApiError;
use super::request::SolveRequest;
use crate::error::Result;
use crate::json::short;
use crate::puzzle::{Puzzle, move_names};
use crate::registry::{Entry, find, with_entry};
use crate::report::Record;
use crate::search::{Incumbent, Progress};
use crate::solver::{HeuristicPlan, Request, Solution, Solver, Watch};
use crate::view::Playback;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Sender;

/// Time between two progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Events that may wait for a client before it gets no more progress.
const MAX_BACKLOG: usize = 32;

/// The puzzle and the heuristic of a worker, which runs one search at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WorkerKey {
    pub(super) puzzle: String,
    pub(super) goal: Option<String>,
    pub(super) heuristic: HeuristicPlan,
}

/// A search to be done.
pub(super) struct Job {
    pub(super) request: SolveRequest,
    pub(super) stop: Arc<AtomicBool>,
    /// The response if it is stopped before it begins.
    pub(super) stopped: Box<SolveResponse>,
    pub(super) events: Sender<JobEvent>,
    /// Place in the queue, turn of the model and share of the machine; given back at the end.
    pub(super) permits: [OwnedSemaphorePermit; 3],
}

/// A step of a search, for its client.
#[derive(Debug)]
pub(super) enum JobEvent {
    /// An event by name: `started`, `progress`, or `incumbent`.
    Named(&'static str, Value),
    /// The end, with a solution or without.
    Done(Box<SolveResponse>),
    /// The search failed.
    Failed(ApiError),
}

fn progress_event(progress: &Progress) -> JobEvent {
    let stats = &progress.stats;
    let event = json!({
        "seconds": stats.seconds,
        "iterations": stats.iterations,
        "nodes_generated": stats.generated,
        "nodes_stored": stats.stored,
        "nodes_expanded": stats.expanded,
        "nodes_evaluated": stats.evaluated,
        "nodes_pruned": stats.pruned,
        "nodes_per_second": stats.generated as f64 / stats.seconds.max(1e-3),
        "least_f": progress.least_f.map(short),
        // The least cost-to-go so far, and the path cost of its node.
        "best_h": progress.best.map(|(h, _)| short(h)),
        "best_g": progress.best.map(|(_, g)| g),
    });
    JobEvent::Named("progress", event)
}

/// The object that `solve --json` prints, with the playback of the solution.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SolveResponse {
    #[serde(flatten)]
    pub(super) record: Record,
    /// Why there is no solution, in words.
    pub(super) reason: Option<String>,
    pub(super) playback: Option<Playback>,
}

/// Starts the thread of a model. It ends once no sender of jobs is left.
///
/// # Errors
/// If the system refuses a thread.
pub(super) fn start(key: WorkerKey, jobs: Receiver<Job>) -> std::io::Result<JoinHandle<()>> {
    let name = format!("search {}", key.puzzle).replace('\0', "");
    thread::Builder::new().name(name).spawn(move || {
        let WorkerKey { puzzle, goal, .. } = key;
        match find(&puzzle, goal.as_deref()) {
            Ok(entry) => with_entry!(entry, entry => run(entry, &jobs)),
            Err(error) => log::warn!("{puzzle}: {error}"), // the puzzle was there when the request was checked
        }
    })
}

fn run<P: Puzzle>(entry: Entry<P>, jobs: &Receiver<Job>) {
    let mut worker = ModelWorker { entry, solver: None };
    while let Ok(Job { request, stop, stopped, events, permits }) = jobs.recv() {
        let last = match worker.search(&request, &stop, &events) {
            Ok(Some(response)) => JobEvent::Done(Box::new(response)),
            Ok(None) => JobEvent::Done(stopped),
            Err(_) if stop.load(Ordering::Relaxed) => JobEvent::Done(stopped),
            Err(error) if error.setting().is_some() => JobEvent::Failed(error.into()),
            Err(error) => JobEvent::Failed(ApiError::failed(error.to_string())),
        };
        drop(permits);
        // The client may be gone.
        let _ = events.try_send(last);
    }
}

struct ModelWorker<P: Puzzle> {
    entry: Entry<P>,
    /// Made for the first request.
    solver: Option<Solver<P>>,
}

impl<P: Puzzle> ModelWorker<P> {
    /// Searches; `None` if it is stopped before.
    fn search(
        &mut self,
        request: &SolveRequest,
        stop: &Arc<AtomicBool>,
        events: &Sender<JobEvent>,
    ) -> Result<Option<SolveResponse>> {
        let puzzle = Arc::clone(self.entry.puzzle());
        let goals = self.entry.goals();
        let Some(solver) = self.solver(&request.solver, stop)? else { return Ok(None) };
        let start = solver.parse(&request.instance)?;
        let play = |moves: &[u8]| Playback::new(&*puzzle, &goals, &request.instance, moves).ok();
        let _ = events.try_send(JobEvent::Named("started", json!({})));
        let started = Instant::now();
        let mut last: Option<Instant> = None;
        let mut progress = |progress: &Progress| {
            let is_due = last.is_none_or(|last| last.elapsed() >= PROGRESS_INTERVAL);
            if is_due && events.capacity() > events.max_capacity() - MAX_BACKLOG {
                last = Some(Instant::now());
                let _ = events.try_send(progress_event(progress));
            }
        };
        let mut send_incumbent = |incumbent: &Incumbent| {
            let event = json!({
                "moves": move_names(&*puzzle, &puzzle.in_hand(&request.instance, &incumbent.moves)),
                "length": incumbent.moves.len(),
                "cost": incumbent.cost,
                "seconds": started.elapsed().as_secs_f64(),
                "playback": play(&incumbent.moves),
            });
            let _ = events.try_send(JobEvent::Named("incumbent", event));
        };
        let watch = Watch { stop, progress: &mut progress, incumbents: &mut send_incumbent };
        let Solution { moves, record, end, .. } = solver.solve_typed(&request.instance, start, watch)?;
        Ok(Some(SolveResponse { record, reason: end.reason(), playback: moves.and_then(|moves| play(&moves)) }))
    }

    /// The solver of a request; the heuristic is loaded for the first one. `None` once `stop` is set: its parts may then be
    /// incomplete.
    fn solver(&mut self, request: &Request, stop: &Arc<AtomicBool>) -> Result<Option<&mut Solver<P>>> {
        let is_stopped = || stop.load(Ordering::Relaxed);
        match &mut self.solver {
            Some(solver) => {
                solver.reconfigure(request.options.clone(), request.limits.clone(), Arc::clone(stop))?;
                Ok((!is_stopped()).then_some(solver))
            }
            none => {
                let built = Solver::builder(self.entry.clone(), request.clone()).stop(Arc::clone(stop)).build()?;
                Ok(if is_stopped() { None } else { Some(none.insert(built)) })
            }
        }
    }
}
