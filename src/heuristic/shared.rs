//! One heuristic for several searches on their own threads: states that they submit at about the same time are evaluated
//! in one pass.
//!
//! A pass begins when its chunk is full, when every search waits, or when one has waited for [`SHARE_TIMEOUT`]. Where the
//! heuristic takes several chunks in flight, the next pass begins before one is done. The estimates that a search gets do
//! not depend on the other searches, as long as the heuristic looks at each state alone.

use super::{Estimates, Heuristic, HeuristicError, Query, Retarget};
use crate::puzzle::State;
use ndarray::s;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a search waits for others that are busy without the heuristic.
const SHARE_TIMEOUT: Duration = Duration::from_millis(5);

/// The estimates that another thread sends, taken in order.
pub(crate) struct EstimateQueue {
    inbox: Receiver<Result<Estimates, HeuristicError>>,
    /// The oldest, if it was received and not taken.
    next: Option<Result<Estimates, HeuristicError>>,
}

impl EstimateQueue {
    pub(crate) fn new(inbox: Receiver<Result<Estimates, HeuristicError>>) -> Self {
        EstimateQueue { inbox, next: None }
    }

    /// Whether [`EstimateQueue::take`] would not wait; also `true` if the thread has ended.
    pub(crate) fn is_ready(&mut self) -> bool {
        if self.next.is_none() {
            match self.inbox.try_recv() {
                Ok(estimates) => self.next = Some(estimates),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => (),
            }
        }
        true
    }

    /// Waits for the oldest; `None` if the thread has ended.
    pub(crate) fn take(&mut self) -> Option<Result<Estimates, HeuristicError>> {
        self.next.take().or_else(|| self.inbox.recv().ok())
    }
}

/// A search's access to a heuristic that several searches share.
pub struct SharedHeuristic<S> {
    facts: Arc<Facts<S>>,
    search: usize,
    requests: Sender<Message<S>>,
    estimates: EstimateQueue,
    /// The thread that serves the searches, if there is one for it.
    _thread: Option<Arc<JoinOnDrop>>,
}

/// A thread that is joined when the last search drops it.
struct JoinOnDrop(Option<JoinHandle<()>>);

impl Drop for JoinOnDrop {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // If it has panicked, its searches know.
            let _ = thread.join();
        }
    }
}

/// The constant properties of a heuristic.
struct Facts<S> {
    name: String,
    chunk: usize,
    max_in_flight: usize,
    retarget: Option<Retarget<S>>,
    is_admissible: bool,
    has_policy: bool,
}

enum Message<S> {
    Evaluate(Request<S>),
    /// A search has ended.
    Leave,
}

struct Request<S> {
    search: usize,
    states: Vec<S>,
    query: Query,
}

/// Shares a heuristic between `searches`; dropping the last part also drops the heuristic, and waits for that.
pub fn share<S: State>(mut heuristic: Box<dyn Heuristic<S>>, searches: usize) -> Vec<SharedHeuristic<S>> {
    let (mut parts, service) = split(&*heuristic, searches);
    let serve = move || service.serve(&mut *heuristic, &mut || ());
    let thread = Arc::new(JoinOnDrop(Some(thread::spawn(serve))));
    parts.iter_mut().for_each(|part| part._thread = Some(Arc::clone(&thread)));
    parts
}

/// Parts of a heuristic for `searches` on other threads, and the service that evaluates for them.
pub fn split<S: State>(heuristic: &dyn Heuristic<S>, searches: usize) -> (Vec<SharedHeuristic<S>>, Service<S>) {
    let facts = Arc::new(Facts {
        name: heuristic.name().to_owned(),
        chunk: heuristic.chunk().max(1),
        max_in_flight: heuristic.max_in_flight(),
        retarget: heuristic.retarget(),
        is_admissible: heuristic.is_admissible(),
        has_policy: heuristic.has_policy(),
    });
    let (requests, inbox) = channel();
    let mut outboxes = Vec::new();
    let part = |search| {
        let (outbox, estimates) = channel();
        outboxes.push(outbox);
        let estimates = EstimateQueue::new(estimates);
        SharedHeuristic { facts: Arc::clone(&facts), search, requests: requests.clone(), estimates, _thread: None }
    };
    let parts = (0..searches).map(part).collect();
    (parts, Service { chunk: facts.chunk, inbox, outboxes })
}

/// Evaluates for the searches that share a heuristic.
pub struct Service<S> {
    chunk: usize,
    inbox: Receiver<Message<S>>,
    outboxes: Vec<Sender<Result<Estimates, HeuristicError>>>,
}

/// States that are evaluated together.
struct Pass<S> {
    requests: Vec<Request<S>>,
    states: Vec<S>,
    query: Query,
    /// States that were submitted.
    submitted: usize,
    /// Chunks in flight.
    in_flight: usize,
    result: Result<Estimates, HeuristicError>,
}

impl<S: State> Service<S> {
    /// Evaluates the states that the searches submit, until all parts are dropped; calls `on_idle` at least every 50 ms.
    pub fn serve(self, heuristic: &mut dyn Heuristic<S>, on_idle: &mut dyn FnMut()) {
        const IDLE_INTERVAL: Duration = Duration::from_millis(50);
        /// Time between two checks of a heuristic that works.
        const POLL_INTERVAL: Duration = Duration::from_micros(50);
        let mut searches = self.outboxes.len();
        let mut waiting: Vec<Request<S>> = Vec::new();
        let mut since = Instant::now();
        let mut passes: VecDeque<Pass<S>> = VecDeque::new();
        while searches > 0 || !passes.is_empty() {
            on_idle();
            let wait = if passes.iter().any(|pass| pass.in_flight > 0) {
                POLL_INTERVAL
            } else if waiting.is_empty() {
                IDLE_INTERVAL
            } else {
                SHARE_TIMEOUT.saturating_sub(since.elapsed())
            };
            let message = match self.inbox.try_recv() {
                Err(_) if collect_ready(heuristic, &mut passes) => Err(RecvTimeoutError::Timeout),
                Err(_) => self.inbox.recv_timeout(wait),
                Ok(message) => Ok(message),
            };
            match message {
                Ok(Message::Evaluate(request)) => {
                    if waiting.is_empty() {
                        since = Instant::now();
                    }
                    waiting.push(request);
                }
                Ok(Message::Leave) => searches -= 1,
                Err(RecvTimeoutError::Disconnected) => searches = 0,
                Err(RecvTimeoutError::Timeout) => (),
            }
            let is_late = since.elapsed() >= SHARE_TIMEOUT;
            if !waiting.is_empty() && (is_late || self.is_due(searches, &waiting, &passes)) {
                passes.push_back(Pass::new(std::mem::take(&mut waiting)));
            }
            submit(heuristic, self.chunk, &mut passes);
            self.send_done(&mut passes);
        }
        on_idle();
    }

    /// Whether the waiting requests fill a chunk, or every search waits.
    fn is_due(&self, searches: usize, waiting: &[Request<S>], passes: &VecDeque<Pass<S>>) -> bool {
        let states: usize = waiting.iter().map(|request| request.states.len()).sum();
        let mut is_served = vec![false; self.outboxes.len()];
        let in_passes = passes.iter().flat_map(|pass| &pass.requests);
        waiting.iter().chain(in_passes).for_each(|request| is_served[request.search] = true);
        states >= self.chunk || is_served.iter().filter(|&&is_served| is_served).count() >= searches
    }

    /// Sends the searches the estimates of the oldest passes that are done.
    fn send_done(&self, passes: &mut VecDeque<Pass<S>>) {
        while passes.front().is_some_and(Pass::is_done)
            && let Some(pass) = passes.pop_front()
        {
            let mut first = 0;
            for request in pass.requests {
                let rows = first..first + request.states.len();
                first = rows.end;
                let part = pass.result.as_ref().map_err(HeuristicError::clone).map(|all| Estimates {
                    values: all.values[rows.clone()].to_vec(),
                    policy: match request.query {
                        Query::Values => None,
                        Query::ValuesAndPolicy => all.policy.as_ref().map(|all| all.slice(s![rows, ..]).to_owned()),
                    },
                });
                // A search that is gone needs no estimates.
                let _ = self.outboxes[request.search].send(part);
            }
        }
    }
}

impl<S: State> Pass<S> {
    fn new(requests: Vec<Request<S>>) -> Self {
        let with_policy = requests.iter().any(|request| request.query == Query::ValuesAndPolicy);
        let states: Vec<S> = requests.iter().flat_map(|request| &request.states).copied().collect();
        let result = Ok(Estimates { values: Vec::with_capacity(states.len()), policy: None });
        let query = if with_policy { Query::ValuesAndPolicy } else { Query::Values };
        Pass { requests, states, query, submitted: 0, in_flight: 0, result }
    }

    /// Whether nothing is left to submit; also if the pass has failed.
    fn is_submitted(&self) -> bool {
        self.submitted == self.states.len() || self.result.is_err()
    }

    fn is_done(&self) -> bool {
        self.is_submitted() && self.in_flight == 0
    }
}

/// Submits chunks of passes, as many as the heuristic takes in flight.
fn submit<S: State>(heuristic: &mut dyn Heuristic<S>, chunk: usize, passes: &mut VecDeque<Pass<S>>) {
    let mut in_flight: usize = passes.iter().map(|pass| pass.in_flight).sum();
    for pass in passes {
        while in_flight <= heuristic.max_in_flight() && !pass.is_submitted() {
            let states = &pass.states[pass.submitted..];
            let states = &states[..states.len().min(chunk)];
            match heuristic.submit(states, pass.query) {
                Ok(()) => {
                    pass.submitted += states.len();
                    pass.in_flight += 1;
                    in_flight += 1;
                }
                Err(error) => pass.result = Err(error),
            }
        }
    }
}

/// Collects the oldest chunk if it is done, or if the heuristic takes no more before; gives whether it did.
fn collect_ready<S: State>(heuristic: &mut dyn Heuristic<S>, passes: &mut VecDeque<Pass<S>>) -> bool {
    let in_flight: usize = passes.iter().map(|pass| pass.in_flight).sum();
    if in_flight == 0 || in_flight <= heuristic.max_in_flight() && !heuristic.is_ready() {
        return false;
    }
    if let Some(pass) = passes.iter_mut().find(|pass| pass.in_flight > 0) {
        pass.in_flight -= 1;
        match (&mut pass.result, heuristic.collect()) {
            (Ok(all), Ok(estimates)) => all.append(estimates),
            (result, Err(error)) => *result = Err(error),
            (Err(_), Ok(_)) => (), // the pass has failed
        }
    }
    true
}

impl<S: State> Heuristic<S> for SharedHeuristic<S> {
    fn name(&self) -> &str {
        &self.facts.name
    }

    fn chunk(&self) -> usize {
        self.facts.chunk
    }

    fn max_in_flight(&self) -> usize {
        self.facts.max_in_flight
    }

    fn is_admissible(&self) -> bool {
        self.facts.is_admissible
    }

    fn has_policy(&self) -> bool {
        self.facts.has_policy
    }

    fn submit(&mut self, states: &[S], query: Query) -> Result<(), HeuristicError> {
        let request = Request { search: self.search, states: states.to_vec(), query };
        self.requests.send(Message::Evaluate(request)).map_err(|_| gone())
    }

    fn is_ready(&mut self) -> bool {
        self.estimates.is_ready()
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.estimates.take().ok_or_else(gone)?
    }

    fn retarget(&self) -> Option<Retarget<S>> {
        self.facts.retarget.clone()
    }
}

impl<S> Drop for SharedHeuristic<S> {
    fn drop(&mut self) {
        // If the thread has ended, nobody needs to know.
        let _ = self.requests.send(Message::Leave);
    }
}

fn gone() -> HeuristicError {
    HeuristicError("the thread of the shared heuristic has ended".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heuristic::PerState;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn estimates_are_taken_in_order_whether_looked_for_or_not() {
        let (outbox, inbox) = channel();
        let mut queue = EstimateQueue::new(inbox);
        assert!(!queue.is_ready());
        for value in [1.0, 2.0, 3.0] {
            outbox.send(Ok(Estimates { values: vec![value], policy: None })).expect("there is an inbox");
        }
        assert!(queue.is_ready() && queue.is_ready());
        let mut taken = || queue.take().map(|estimates| estimates.expect("no error was sent").values);
        assert_eq!([taken(), taken(), taken()], [Some(vec![1.0]), Some(vec![2.0]), Some(vec![3.0])]);
        drop(outbox);
        assert!(queue.is_ready(), "nobody waits for a thread that has ended");
        assert!(queue.take().is_none());
    }

    #[test]
    fn each_search_gets_its_own_estimates() {
        let parts = share::<u64>(Box::new(PerState::new("half", true, |&state: &u64| state as f32 / 2.0)), 5);
        assert!(parts.iter().all(|part| part.name() == "half" && part.is_admissible() && !part.has_policy()));
        let run = |mut part: SharedHeuristic<u64>| {
            let number = part.search as u64;
            for round in 0..40 * (number + 1) {
                let states: Vec<u64> = (0..1 + round % 7).map(|i| 1000 * number + 10 * round + i).collect();
                part.submit(&states, Query::ValuesAndPolicy).expect("the thread lives");
                let estimates = part.collect().expect("it evaluates");
                assert!(estimates.policy.is_none());
                let expected: Vec<f32> = states.iter().map(|&state| state as f32 / 2.0).collect();
                assert_eq!(estimates.values, expected);
            }
        };
        // Searches that end early do not keep the others waiting.
        let threads: Vec<_> = parts.into_iter().map(|part| thread::spawn(move || run(part))).collect();
        for thread in threads {
            thread.join().expect("every estimate is right");
        }
    }

    /// Takes two chunks in flight, and is done with them when `may_end` is set.
    struct Slow {
        submitted: Arc<AtomicUsize>,
        may_end: Arc<AtomicBool>,
        chunks: VecDeque<Vec<u64>>,
    }

    impl Heuristic<u64> for Slow {
        fn name(&self) -> &str {
            "slow"
        }

        fn chunk(&self) -> usize {
            4
        }

        fn max_in_flight(&self) -> usize {
            1
        }

        fn submit(&mut self, states: &[u64], _: Query) -> Result<(), HeuristicError> {
            assert!(states.len() <= 4 && self.chunks.len() < 2, "no more than it takes");
            if states.contains(&13) {
                return Err(HeuristicError("unlucky".into()));
            }
            self.submitted.fetch_add(1, Ordering::SeqCst);
            self.chunks.push_back(states.to_vec());
            Ok(())
        }

        fn is_ready(&mut self) -> bool {
            self.may_end.load(Ordering::SeqCst)
        }

        fn collect(&mut self) -> Result<Estimates, HeuristicError> {
            while !self.is_ready() {
                thread::yield_now();
            }
            let states = self.chunks.pop_front().expect("it was submitted");
            Ok(Estimates { values: states.into_iter().map(|state| state as f32).collect(), policy: None })
        }
    }

    #[test]
    fn the_next_pass_begins_while_the_heuristic_works() {
        let (submitted, may_end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let slow = Slow { submitted: Arc::clone(&submitted), may_end: Arc::clone(&may_end), chunks: VecDeque::new() };
        let mut parts = share::<u64>(Box::new(slow), 2);
        assert!(parts.iter().all(|part| part.max_in_flight() == 1 && part.chunk() == 4));
        let wait_for = |count| {
            let started = Instant::now();
            while submitted.load(Ordering::SeqCst) < count {
                assert!(started.elapsed() < Duration::from_secs(60), "chunk {count} waits for those before");
                thread::yield_now();
            }
        };
        parts[0].submit(&[1, 2, 3, 4], Query::Values).expect("the thread lives");
        wait_for(1);
        parts[1].submit(&[5, 6, 7, 8, 9], Query::Values).expect("the thread lives");
        wait_for(2);
        may_end.store(true, Ordering::SeqCst);
        assert_eq!(parts[0].collect().expect("it evaluates").values, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(parts[1].collect().expect("it evaluates").values, [5.0, 6.0, 7.0, 8.0, 9.0]);
        // Only the search whose chunk failed gets the error.
        parts[0].submit(&[13], Query::Values).expect("the thread lives");
        let failed = parts[0].collect().expect_err("the chunk is refused");
        assert_eq!(failed.0, "unlucky");
        // The last part waits for the thread, and with it for the heuristic to be dropped.
        drop(parts);
        assert_eq!(Arc::strong_count(&submitted), 1);
    }

    #[test]
    fn a_part_is_shared_again_without_waiting_for_each_chunk() {
        let (submitted, may_end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let slow = Slow { submitted: Arc::clone(&submitted), may_end: Arc::clone(&may_end), chunks: VecDeque::new() };
        let mut outer = share::<u64>(Box::new(slow), 1).remove(0);
        assert!(outer.max_in_flight() == 1);
        let (mut parts, service) = split(&outer, 2);
        thread::scope(|scope| {
            // The second chunk is submitted before the first is done.
            scope.spawn(move || {
                let wait_for = |count| {
                    let started = Instant::now();
                    while submitted.load(Ordering::SeqCst) < count && started.elapsed() < Duration::from_secs(60) {
                        thread::yield_now();
                    }
                };
                for part in [0, 1] {
                    parts[part].submit(&[part as u64, 7, 8, 9], Query::Values).expect("it serves");
                    wait_for(part + 1);
                    thread::sleep(Duration::from_millis(5)); // the service has time to wait for the wrong thing
                }
                let both = submitted.load(Ordering::SeqCst);
                may_end.store(true, Ordering::SeqCst);
                assert_eq!(both, 2, "the second chunk waits for the first");
                for (number, mut part) in parts.into_iter().enumerate() {
                    assert_eq!(part.collect().expect("it evaluates").values, [number as f32, 7.0, 8.0, 9.0]);
                }
            });
            service.serve(&mut outer, &mut || ());
        });
    }
}
