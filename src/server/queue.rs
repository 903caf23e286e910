//! The queue of searches: its places, one search at a time of a model, and the workers that keep their models.

use super::ServerConfig;
use super::error::ApiError;
use super::puzzles::WorkerKey;
use super::request::SolveRequest;
use super::worker::{self, Event, Job};
use axum::http::StatusCode;
use hashbrown::HashMap;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Notify, Semaphore};

/// Models that are kept; of more, one that is idle is dropped.
const KEPT: usize = 4;

/// Events that wait for a slow client at most.
const EVENTS: usize = 256;

/// The queue and the workers.
pub(super) struct JobQueue {
    pub(super) config: ServerConfig,
    /// Ends all that the workers do.
    stop: Arc<AtomicBool>,
    /// Places for searches that run or wait.
    places: Arc<Semaphore>,
    /// Searches that may run at a time.
    machine: Arc<Semaphore>,
    workers: Mutex<HashMap<WorkerKey, Arc<Worker>>>,
    /// All that run or wait, by number.
    searches: Mutex<HashMap<u64, Arc<JobHandle>>>,
}

/// A thread that searches with one model.
struct Worker {
    jobs: mpsc::Sender<Job>,
    turn: Arc<Semaphore>,
    thread: JoinHandle<()>,
}

/// What ends a search.
#[derive(Debug, Default)]
struct JobHandle {
    stop: Arc<AtomicBool>,
    stopped: Notify,
}

impl JobHandle {
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stopped.notify_one();
    }
}

/// A search that runs or waits; dropped, it ends, and gives up its place.
pub(super) struct SubmittedSearch {
    pub(super) number: u64,
    /// How many others ran or waited when it came.
    pub(super) ahead: usize,
    events: Receiver<Event>,
    handle: Arc<JobHandle>,
    queue: Arc<JobQueue>,
}

impl SubmittedSearch {
    /// What happens next; `None` after the end.
    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

impl Drop for SubmittedSearch {
    fn drop(&mut self) {
        self.handle.stop();
        locked(&self.queue.searches).remove(&self.number);
    }
}

/// How busy the server is, and what it is held to.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    running: usize,
    waiting: usize,
    /// How many may run, and how many wait.
    searches: usize,
    queue: usize,
    max_seconds: f64,
    max_memory: u64,
}

impl JobQueue {
    pub(super) fn new(config: ServerConfig, stop: Arc<AtomicBool>) -> Self {
        JobQueue {
            places: Arc::new(Semaphore::new(config.searches + config.queue)),
            machine: Arc::new(Semaphore::new(config.searches)),
            workers: Mutex::default(),
            searches: Mutex::default(),
            config,
            stop,
        }
    }

    /// Places in all.
    fn size(&self) -> usize {
        self.config.searches + self.config.queue
    }

    /// How busy the server is.
    pub(super) fn status(&self) -> Status {
        let taken = self.size() - self.places.available_permits();
        let running = self.config.searches - self.machine.available_permits();
        Status {
            running,
            waiting: taken.saturating_sub(running),
            searches: self.config.searches,
            queue: self.config.queue,
            max_seconds: self.config.max_seconds,
            max_memory: self.config.node_memory(),
        }
    }

    /// Takes a place in the queue.
    ///
    /// # Errors
    /// If all places are taken.
    pub(super) fn submit(self: &Arc<Self>, key: WorkerKey, request: SolveRequest) -> Result<SubmittedSearch, ApiError> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let why = format!(
                "{} searches run, and {} requests wait, which is the limit: try again in a while",
                self.config.searches, self.config.queue
            );
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, why));
        };
        let ahead = self.size() - self.places.available_permits() - 1;
        let worker = self.worker(key)?;
        let handle = Arc::new(JobHandle::default());
        let number = rand::random();
        locked(&self.searches).insert(number, Arc::clone(&handle));
        let (events, inbox) = channel(EVENTS);
        let (queue, own_handle) = (Arc::clone(self), Arc::clone(&handle));
        tokio::spawn(async move {
            let job = async {
                let turn = Arc::clone(&worker.turn).acquire_owned().await.ok()?;
                let share = Arc::clone(&queue.machine).acquire_owned().await.ok()?;
                let stop = Arc::clone(&own_handle.stop);
                Some(Job { request, stop, events: events.clone(), permits: [place, turn, share] })
            };
            tokio::select! {
                biased;
                () = events.closed() => (),
                () = own_handle.stopped.notified() => tell(&events, "stopped before its turn came"),
                Some(job) = job => if worker.jobs.send(job).is_err() {
                    queue.dismiss(&worker);
                    tell(&events, "the thread of the model has ended: this is a bug in costar; try again");
                },
            }
        });
        Ok(SubmittedSearch { number, ahead, events: inbox, handle, queue: Arc::clone(self) })
    }

    /// Ends a search; whether there was one of that number.
    pub(super) fn stop(&self, number: u64) -> bool {
        let handle = locked(&self.searches).get(&number).cloned();
        handle.inspect(|handle| handle.stop()).is_some()
    }

    /// Ends all searches, and waits for the threads, but not longer than until then.
    pub(super) async fn close(&self, until: Instant) {
        self.places.close();
        locked(&self.searches).values().for_each(|handle| handle.stop());
        let workers: Vec<_> = locked(&self.workers).drain().map(|(_, worker)| worker).collect();
        let is_busy = |worker: &Arc<Worker>| worker.turn.available_permits() == 0 && !worker.thread.is_finished();
        while workers.iter().any(is_busy) && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The last events are on their way.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// The worker of that key; started where there is none.
    fn worker(&self, key: WorkerKey) -> Result<Arc<Worker>, ApiError> {
        let mut workers = locked(&self.workers);
        if let Some(worker) = workers.get(&key).filter(|worker| !worker.thread.is_finished()) {
            return Ok(Arc::clone(worker));
        }
        if workers.len() >= KEPT {
            let idle = |worker: &Arc<Worker>| Arc::strong_count(worker) == 1 && worker.turn.available_permits() == 1;
            let name = workers.iter().find(|(_, worker)| idle(worker)).map(|(key, _)| key.clone());
            name.map(|name| workers.remove(&name));
        }
        let (jobs, inbox) = mpsc::channel();
        let failed =
            |error| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, format!("no thread can be started: {error}"));
        let thread = worker::start(key.clone(), Arc::clone(&self.stop), inbox).map_err(failed)?;
        let worker = Arc::new(Worker { jobs, turn: Arc::new(Semaphore::new(1)), thread });
        workers.insert(key, Arc::clone(&worker));
        Ok(worker)
    }

    fn dismiss(&self, gone: &Arc<Worker>) {
        locked(&self.workers).retain(|_, worker| !Arc::ptr_eq(worker, gone));
    }
}

fn tell(events: &Sender<Event>, why: &str) {
    let _ = events.try_send(Event::Failed(why.into()));
}

/// What a mutex holds, also when a thread has panicked with it: nothing here is left half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
