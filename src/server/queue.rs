//! The queue of searches: a limited number of places, one search at a time per model, and the workers that keep their
//! models.

use super::error::{ApiError, ApiResult};
use super::puzzle_queries::CheckedRequest;
use super::worker::{self, Job, JobEvent, SolveResponse, WorkerKey};
use super::{ServerConfig, is_set};
use crate::search::{End, Limit};
use axum::http::StatusCode;
use hashbrown::HashMap;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, channel};

/// Workers, each with its model in memory; beyond this number, idle ones are dropped.
const MAX_WORKERS: usize = 4;

/// Events that may wait for a slow client.
const EVENT_CAPACITY: usize = 256;

/// Time for the last events to reach their clients when the server stops.
const LAST_EVENTS_TIMEOUT: Duration = Duration::from_millis(100);

/// The queue and the workers.
pub(super) struct JobQueue {
    pub(super) config: ServerConfig,
    /// Places for searches that run or wait.
    places: Arc<Semaphore>,
    /// Searches that may run at a time.
    running: Arc<Semaphore>,
    workers: Mutex<HashMap<WorkerKey, Arc<WorkerHandle>>>,
    /// The stop flags of the searches that run or wait, by number.
    searches: Mutex<HashMap<u64, Arc<AtomicBool>>>,
}

/// A thread that searches with one model.
struct WorkerHandle {
    jobs: mpsc::Sender<Job>,
    turn: Arc<Semaphore>,
    thread: JoinHandle<()>,
}

/// A search that runs or waits.
pub(super) struct SubmittedSearch {
    /// Searches that ran or waited at the time of the request.
    pub(super) ahead: u64,
    /// The channel closes after the last event.
    pub(super) events: Receiver<JobEvent>,
    pub(super) guard: SearchGuard,
}

/// Ends its search and gives up the place when dropped.
pub(super) struct SearchGuard {
    pub(super) number: u64,
    queue: Arc<JobQueue>,
}

impl Drop for SearchGuard {
    fn drop(&mut self) {
        self.queue.stop(self.number);
        locked(&self.queue.searches).remove(&self.number);
    }
}

impl JobQueue {
    pub(super) fn new(config: ServerConfig) -> Self {
        JobQueue {
            places: Arc::new(Semaphore::new((config.searches + config.queue) as usize)),
            running: Arc::new(Semaphore::new(config.searches as usize)),
            workers: Mutex::default(),
            searches: Mutex::default(),
            config,
        }
    }

    /// Load and limits, as `GET /status` answers.
    pub(super) fn status(&self) -> Value {
        let running = self.config.searches - self.running.available_permits() as u64;
        json!({
            "running": running,
            "waiting": self.taken_places().saturating_sub(running),
            "searches": self.config.searches,
            "queue": self.config.queue,
            "max_seconds": self.config.max_seconds,
            "max_memory": self.config.node_memory(),
        })
    }

    fn taken_places(&self) -> u64 {
        self.config.searches + self.config.queue - self.places.available_permits() as u64
    }

    /// Takes a place in the queue.
    ///
    /// # Errors
    /// If all places are taken, or no thread can be started.
    pub(super) fn submit(self: &Arc<Self>, checked: CheckedRequest) -> ApiResult<SubmittedSearch> {
        let CheckedRequest { key, request, stopped } = checked;
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let ServerConfig { searches, queue, .. } = self.config;
            let why = format!("{searches} running and {queue} waiting are the limit: try again in a while");
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, why));
        };
        let ahead = self.taken_places() - 1;
        let worker = self.worker(key)?;
        let stop = Arc::new(AtomicBool::new(false));
        let number = rand::random();
        locked(&self.searches).insert(number, Arc::clone(&stop));
        if self.places.is_closed() {
            stop.store(true, Ordering::Relaxed); // the server stops, and may have set the flags of the other searches already
        }
        let (sender, events) = channel(EVENT_CAPACITY);
        let reason = End::Limit(Limit::Stopped).reason();
        let stopped = Box::new(SolveResponse { record: *stopped, reason, playback: None });
        let queue = Arc::clone(self);
        tokio::spawn(async move {
            let job = async {
                let turn = Arc::clone(&worker.turn).acquire_owned().await.ok()?;
                let share = Arc::clone(&queue.running).acquire_owned().await.ok()?;
                let (stop, events, stopped) = (Arc::clone(&stop), sender.clone(), stopped.clone());
                Some(Job { request, stop, stopped, events, permits: [place, turn, share] })
            };
            tokio::select! {
                biased;
                () = sender.closed() => (),
                () = is_set(&stop) => {
                    let _ = sender.try_send(JobEvent::Done(stopped.clone()));
                }
                Some(job) = job => if worker.jobs.send(job).is_err() {
                    locked(&queue.workers).retain(|_, other| !Arc::ptr_eq(other, &worker));
                    let why = "the thread of the model has ended: this is a bug in costar; try again";
                    let _ = sender.try_send(JobEvent::Failed(ApiError::failed(why)));
                },
            }
            drop(sender);
            // The permit is free again once the search has ended.
            let _ = worker.turn.acquire().await;
            drop(worker);
            drop_idle(&mut locked(&queue.workers), MAX_WORKERS);
        });
        Ok(SubmittedSearch { ahead, events, guard: SearchGuard { number, queue: Arc::clone(self) } })
    }

    /// Stops the search of this number; `false` if there is none.
    pub(super) fn stop(&self, number: u64) -> bool {
        locked(&self.searches).get(&number).inspect(|stop| stop.store(true, Ordering::Relaxed)).is_some()
    }

    /// Stops all searches, and waits for their threads until `deadline` at most.
    pub(super) async fn close(&self, deadline: Instant) {
        self.places.close();
        locked(&self.searches).values().for_each(|stop| stop.store(true, Ordering::Relaxed));
        let workers: Vec<_> = locked(&self.workers).drain().map(|(_, worker)| worker).collect();
        let is_busy = |worker: &Arc<WorkerHandle>| worker.turn.available_permits() == 0 && !worker.thread.is_finished();
        while workers.iter().any(is_busy) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(LAST_EVENTS_TIMEOUT).await;
    }

    /// The worker of a key; started if there is none.
    fn worker(&self, key: WorkerKey) -> ApiResult<Arc<WorkerHandle>> {
        let mut workers = locked(&self.workers);
        if let Some(worker) = workers.get(&key).filter(|worker| !worker.thread.is_finished()) {
            return Ok(Arc::clone(worker));
        }
        drop_idle(&mut workers, MAX_WORKERS - 1);
        let (jobs, inbox) = mpsc::channel();
        let failed =
            |error| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, format!("no thread can be started: {error}"));
        let thread = worker::start(key.clone(), inbox).map_err(failed)?;
        let worker = Arc::new(WorkerHandle { jobs, turn: Arc::new(Semaphore::new(1)), thread });
        workers.insert(key, Arc::clone(&worker));
        Ok(worker)
    }
}

/// Drops idle workers until there are `most`, or none is idle.
fn drop_idle(workers: &mut HashMap<WorkerKey, Arc<WorkerHandle>>, most: usize) {
    let mut surplus = workers.len().saturating_sub(most);
    workers.retain(|_, worker| {
        let is_idle = Arc::strong_count(worker) == 1 && worker.turn.available_permits() == 1;
        let goes = is_idle && surplus > 0;
        surplus -= usize::from(goes);
        !goes
    });
}

/// The content of a mutex, even after a thread panicked with it: no change here is left half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
