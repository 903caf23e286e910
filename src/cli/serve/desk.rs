//! Who searches when: the queue with its places, one search at a time of a model, and the models that are kept.

use super::House;
use super::puzzles::Tools;
use super::refusal::Refusal;
use super::wish::Wish;
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
pub(super) struct Desk {
    pub(super) house: House,
    /// Places for searches that run or wait.
    places: Arc<Semaphore>,
    /// Searches that may run at a time.
    machine: Arc<Semaphore>,
    workers: Mutex<HashMap<Tools, Arc<Worker>>>,
    /// All that run or wait, by number.
    searches: Mutex<HashMap<u64, Arc<Ticket>>>,
}

/// A thread that searches with one model.
struct Worker {
    jobs: mpsc::Sender<Job>,
    turn: Arc<Semaphore>,
    thread: JoinHandle<()>,
}

/// What ends a search.
#[derive(Debug, Default)]
struct Ticket {
    stop: Arc<AtomicBool>,
    stopped: Notify,
}

impl Ticket {
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stopped.notify_one();
    }
}

/// A search that runs or waits; dropped, it ends, and gives up its place.
pub(super) struct Search {
    pub(super) number: u64,
    /// How many others ran or waited when it came.
    pub(super) ahead: usize,
    events: Receiver<Event>,
    ticket: Arc<Ticket>,
    desk: Arc<Desk>,
}

impl Search {
    /// What happens next; `None` after the end.
    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.ticket.stop();
        locked(&self.desk.searches).remove(&self.number);
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

impl Desk {
    pub(super) fn new(house: House) -> Self {
        Desk {
            places: Arc::new(Semaphore::new(house.places)),
            machine: Arc::new(Semaphore::new(house.searches)),
            workers: Mutex::default(),
            searches: Mutex::default(),
            house,
        }
    }

    /// How busy the server is.
    pub(super) fn status(&self) -> Status {
        let taken = self.house.places - self.places.available_permits();
        let running = self.house.searches - self.machine.available_permits();
        Status {
            running,
            waiting: taken.saturating_sub(running),
            searches: self.house.searches,
            queue: self.house.places - self.house.searches,
            max_seconds: self.house.max_seconds,
            max_memory: self.house.max_memory,
        }
    }

    /// Lines up for a search.
    ///
    /// # Errors
    /// If all places are taken.
    pub(super) fn line_up(self: &Arc<Self>, tools: Tools, wish: Wish) -> Result<Search, Refusal> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let why = format!(
                "{} searches run, and {} requests wait, which is the limit: try again in a while",
                self.house.searches,
                self.house.places - self.house.searches
            );
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why));
        };
        let ahead = self.house.places - self.places.available_permits() - 1;
        let worker = self.worker(tools)?;
        let ticket = Arc::new(Ticket::default());
        let number = rand::random();
        locked(&self.searches).insert(number, Arc::clone(&ticket));
        let (events, inbox) = channel(EVENTS);
        let (desk, own_ticket) = (Arc::clone(self), Arc::clone(&ticket));
        tokio::spawn(async move {
            let job = async {
                let turn = Arc::clone(&worker.turn).acquire_owned().await.ok()?;
                let share = Arc::clone(&desk.machine).acquire_owned().await.ok()?;
                let stop = Arc::clone(&own_ticket.stop);
                Some(Job { wish, stop, events: events.clone(), permits: [place, turn, share] })
            };
            tokio::select! {
                biased;
                () = events.closed() => (),
                () = own_ticket.stopped.notified() => tell(&events, "stopped before its turn came"),
                Some(job) = job => if worker.jobs.send(job).is_err() {
                    desk.dismiss(&worker);
                    tell(&events, "the thread of the model has ended: this is a bug in costar; try again");
                },
            }
        });
        Ok(Search { number, ahead, events: inbox, ticket, desk: Arc::clone(self) })
    }

    /// Ends a search; whether there was one of that number.
    pub(super) fn stop(&self, number: u64) -> bool {
        let ticket = locked(&self.searches).get(&number).cloned();
        ticket.inspect(|ticket| ticket.stop()).is_some()
    }

    /// Ends all searches, and waits for the threads, but not longer than until then.
    pub(super) async fn close(&self, until: Instant) {
        self.places.close();
        locked(&self.searches).values().for_each(|ticket| ticket.stop());
        let workers: Vec<_> = locked(&self.workers).drain().map(|(_, worker)| worker).collect();
        let is_busy = |worker: &Arc<Worker>| worker.turn.available_permits() == 0 && !worker.thread.is_finished();
        while workers.iter().any(is_busy) && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The last words are on their way.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// The worker with those tools; started where there is none.
    fn worker(&self, tools: Tools) -> Result<Arc<Worker>, Refusal> {
        let mut workers = locked(&self.workers);
        if let Some(worker) = workers.get(&tools).filter(|worker| !worker.thread.is_finished()) {
            return Ok(Arc::clone(worker));
        }
        if workers.len() >= KEPT {
            let idle = |worker: &Arc<Worker>| Arc::strong_count(worker) == 1 && worker.turn.available_permits() == 1;
            let name = workers.iter().find(|(_, worker)| idle(worker)).map(|(tools, _)| tools.clone());
            name.map(|name| workers.remove(&name));
        }
        let (jobs, inbox) = mpsc::channel();
        let failed =
            |error| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, format!("no thread can be started: {error}"));
        let thread = worker::start(tools.clone(), inbox).map_err(failed)?;
        let worker = Arc::new(Worker { jobs, turn: Arc::new(Semaphore::new(1)), thread });
        workers.insert(tools, Arc::clone(&worker));
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
