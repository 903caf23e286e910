//! One heuristic for several searches at once, each on a thread of its own: what they submit at about the same time is
//! evaluated in one pass.
//!
//! A pass begins when its chunk is full, when every search waits, or when one has waited as long as it may; where the heuristic
//! works while others go on, the next pass begins before it is done with one. The estimates that a search gets do not depend on
//! the other searches, as long as the heuristic looks at each state alone.

use super::answers::{Answers, Told};
use super::{Estimates, Heuristic, HeuristicError, Query, Retarget};
use crate::puzzle::State;
use ndarray::s;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a search waits for others that are busy without the heuristic.
pub const PATIENCE: Duration = Duration::from_millis(5);

/// A part in a heuristic that several searches share.
pub struct Shared<S> {
    facts: Arc<Facts<S>>,
    number: usize,
    requests: Sender<Message<S>>,
    answers: Answers,
    /// Where a thread of its own serves the parts.
    _thread: Option<Arc<Thread>>,
}

/// A thread that ends when all parts are dropped.
struct Thread(Option<JoinHandle<()>>);

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // If it has panicked, the searches that asked have been told.
            let _ = thread.join();
        }
    }
}

/// The heuristic's description of itself.
struct Facts<S> {
    name: String,
    chunk: usize,
    overlap: usize,
    retarget: Option<Retarget<S>>,
    is_admissible: bool,
    has_policy: bool,
}

enum Message<S> {
    Score(Request<S>),
    /// A search asks no more.
    Leave,
}

struct Request<S> {
    from: usize,
    states: Vec<S>,
    ask: Query,
}

/// Shares a heuristic between `searches`; it is dropped with the last part, which waits for that.
pub fn share<S: State>(mut heuristic: Box<dyn Heuristic<S>>, searches: usize) -> Vec<Shared<S>> {
    let (mut parts, service) = split(&*heuristic, searches);
    let serve = move || service.serve(&mut *heuristic, Some(PATIENCE), &mut || ());
    let thread = Arc::new(Thread(Some(thread::spawn(serve))));
    parts.iter_mut().for_each(|part| part._thread = Some(Arc::clone(&thread)));
    parts
}

/// Parts of a heuristic for `searches` on other threads, which it answers while it [serves](Service::serve) them.
pub fn split<S: State>(heuristic: &dyn Heuristic<S>, searches: usize) -> (Vec<Shared<S>>, Service<S>) {
    let facts = Arc::new(Facts {
        name: heuristic.name().to_owned(),
        chunk: heuristic.chunk().max(1),
        overlap: heuristic.overlap(),
        retarget: heuristic.retarget(),
        is_admissible: heuristic.is_admissible(),
        has_policy: heuristic.has_policy(),
    });
    let (requests, inbox) = channel();
    let mut outboxes = Vec::new();
    let parts = (0..searches)
        .map(|number| {
            let (outbox, answers) = channel();
            outboxes.push(outbox);
            let answers = Answers::new(answers);
            Shared { facts: Arc::clone(&facts), number, requests: requests.clone(), answers, _thread: None }
        })
        .collect();
    (parts, Service { chunk: facts.chunk, inbox, outboxes })
}

/// The other end of the parts of a heuristic.
pub struct Service<S> {
    chunk: usize,
    inbox: Receiver<Message<S>>,
    outboxes: Vec<Sender<Told>>,
}

/// States that are evaluated together.
struct Pass<S> {
    requests: Vec<Request<S>>,
    states: Vec<S>,
    ask: Query,
    /// How many of the states were submitted, and how many chunks of them were not collected yet.
    submitted: usize,
    in_flight: usize,
    told: Told,
}

impl<S: State> Service<S> {
    /// Evaluates what the searches ask, until all parts are dropped. With `patience`, a search waits no longer than that for
    /// another that is busy with other things. `meanwhile` is called now and then.
    pub fn serve(self, heuristic: &mut dyn Heuristic<S>, patience: Option<Duration>, meanwhile: &mut dyn FnMut()) {
        /// How often `meanwhile` is called at least, where nothing is asked.
        const OFTEN: Duration = Duration::from_millis(50);
        /// How often the heuristic is looked at while it works.
        const SOON: Duration = Duration::from_micros(50);
        let mut searches = self.outboxes.len();
        let mut waiting: Vec<Request<S>> = Vec::new();
        let mut since = Instant::now();
        let mut passes: VecDeque<Pass<S>> = VecDeque::new();
        while searches > 0 || !passes.is_empty() {
            meanwhile();
            let wait = match patience {
                _ if passes.iter().any(|pass| pass.in_flight > 0) => SOON,
                Some(patience) if !waiting.is_empty() => patience.saturating_sub(since.elapsed()),
                _ => OFTEN,
            };
            let message = match self.inbox.try_recv() {
                Err(_) if collect_ready(heuristic, &mut passes) => Err(RecvTimeoutError::Timeout),
                Err(_) => self.inbox.recv_timeout(wait),
                Ok(message) => Ok(message),
            };
            match message {
                Ok(Message::Score(request)) => {
                    if waiting.is_empty() {
                        since = Instant::now();
                    }
                    waiting.push(request);
                }
                Ok(Message::Leave) => searches -= 1,
                Err(RecvTimeoutError::Disconnected) => searches = 0,
                Err(RecvTimeoutError::Timeout) => (),
            }
            let is_over = patience.is_some_and(|patience| since.elapsed() >= patience);
            if !waiting.is_empty() && (is_over || self.is_due(searches, &waiting, &passes)) {
                passes.push_back(Pass::new(std::mem::take(&mut waiting)));
            }
            submit(heuristic, self.chunk, &mut passes);
            self.answer(&mut passes);
        }
        meanwhile();
    }

    /// Whether what waits fills a chunk, or no other search can ask for more now.
    fn is_due(&self, searches: usize, waiting: &[Request<S>], passes: &VecDeque<Pass<S>>) -> bool {
        let states: usize = waiting.iter().map(|request| request.states.len()).sum();
        let mut is_served = vec![false; self.outboxes.len()];
        let in_work = passes.iter().flat_map(|pass| &pass.requests);
        waiting.iter().chain(in_work).for_each(|request| is_served[request.from] = true);
        states >= self.chunk || is_served.iter().filter(|&&is_served| is_served).count() >= searches
    }

    /// Gives the searches what the oldest passes tell, those that are done.
    fn answer(&self, passes: &mut VecDeque<Pass<S>>) {
        while passes.front().is_some_and(Pass::is_done)
            && let Some(pass) = passes.pop_front()
        {
            let mut from = 0;
            for request in pass.requests {
                let rows = from..from + request.states.len();
                from = rows.end;
                let part = pass.told.as_ref().map_err(HeuristicError::clone).map(|all| Estimates {
                    values: all.values[rows.clone()].to_vec(),
                    policy: match request.ask {
                        Query::Values => None,
                        Query::ValuesAndPolicy => all.policy.as_ref().map(|all| all.slice(s![rows, ..]).to_owned()),
                    },
                });
                // A search that is gone needs no answer.
                let _ = self.outboxes[request.from].send(part);
            }
        }
    }
}

impl<S: State> Pass<S> {
    fn new(requests: Vec<Request<S>>) -> Self {
        let with_policy = requests.iter().any(|request| request.ask == Query::ValuesAndPolicy);
        let states: Vec<S> = requests.iter().flat_map(|request| &request.states).copied().collect();
        let told = Ok(Estimates { values: Vec::with_capacity(states.len()), policy: None });
        let ask = if with_policy { Query::ValuesAndPolicy } else { Query::Values };
        Pass { requests, states, ask, submitted: 0, in_flight: 0, told }
    }

    /// Whether all that is worth submitting was submitted.
    fn is_submitted(&self) -> bool {
        self.submitted == self.states.len() || self.told.is_err()
    }

    fn is_done(&self) -> bool {
        self.is_submitted() && self.in_flight == 0
    }
}

/// Submits chunks of passes, as many ahead as the heuristic takes.
fn submit<S: State>(heuristic: &mut dyn Heuristic<S>, chunk: usize, passes: &mut VecDeque<Pass<S>>) {
    let mut in_flight: usize = passes.iter().map(|pass| pass.in_flight).sum();
    for pass in passes {
        while in_flight <= heuristic.overlap() && !pass.is_submitted() {
            let states = &pass.states[pass.submitted..];
            let states = &states[..states.len().min(chunk)];
            match heuristic.submit(states, pass.ask) {
                Ok(()) => {
                    pass.submitted += states.len();
                    pass.in_flight += 1;
                    in_flight += 1;
                }
                Err(error) => pass.told = Err(error),
            }
        }
    }
}

/// Collects the oldest chunk if it is done, or if the heuristic takes no more before; gives whether there is one to collect.
fn collect_ready<S: State>(heuristic: &mut dyn Heuristic<S>, passes: &mut VecDeque<Pass<S>>) -> bool {
    let in_flight: usize = passes.iter().map(|pass| pass.in_flight).sum();
    if in_flight == 0 || in_flight <= heuristic.overlap() && !heuristic.is_ready() {
        return false;
    }
    if let Some(pass) = passes.iter_mut().find(|pass| pass.in_flight > 0) {
        pass.in_flight -= 1;
        match (&mut pass.told, heuristic.collect()) {
            (Ok(all), Ok(estimates)) => all.append(estimates),
            (told, Err(error)) => *told = Err(error),
            (Err(_), Ok(_)) => (), // of a pass that has failed, nothing is told
        }
    }
    true
}

impl<S: State> Heuristic<S> for Shared<S> {
    fn name(&self) -> &str {
        &self.facts.name
    }

    fn chunk(&self) -> usize {
        self.facts.chunk
    }

    fn overlap(&self) -> usize {
        self.facts.overlap
    }

    fn is_admissible(&self) -> bool {
        self.facts.is_admissible
    }

    fn has_policy(&self) -> bool {
        self.facts.has_policy
    }

    fn submit(&mut self, states: &[S], ask: Query) -> Result<(), HeuristicError> {
        let request = Request { from: self.number, states: states.to_vec(), ask };
        self.requests.send(Message::Score(request)).map_err(|_| gone())
    }

    fn is_ready(&mut self) -> bool {
        self.answers.is_ready()
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.answers.take().ok_or_else(gone)?
    }

    fn retarget(&self) -> Option<Retarget<S>> {
        self.facts.retarget.clone()
    }
}

impl<S> Drop for Shared<S> {
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
    fn each_search_is_told_what_it_asked() {
        let parts = share::<u64>(Box::new(PerState::new("half", true, |&state: &u64| state as f32 / 2.0)), 5);
        assert!(parts.iter().all(|part| part.name() == "half" && part.is_admissible() && !part.has_policy()));
        let ask = |mut part: Shared<u64>| {
            let number = part.number as u64;
            for round in 0..40 * (number + 1) {
                let states: Vec<u64> = (0..1 + round % 7).map(|i| 1000 * number + 10 * round + i).collect();
                part.submit(&states, Query::ValuesAndPolicy).expect("the thread lives");
                let told = part.collect().expect("it evaluates");
                assert!(told.policy.is_none());
                let expected: Vec<f32> = states.iter().map(|&state| state as f32 / 2.0).collect();
                assert_eq!(told.values, expected);
            }
        };
        // Those who leave early do not keep the others waiting.
        let asking: Vec<_> = parts.into_iter().map(|part| thread::spawn(move || ask(part))).collect();
        for thread in asking {
            thread.join().expect("every answer is right");
        }
    }

    /// Evaluates two chunks at a time, and is done when it is told to be.
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

        fn overlap(&self) -> usize {
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
        assert!(parts.iter().all(|part| part.overlap() == 1 && part.chunk() == 4));
        let wait_for = |count| {
            let begun = Instant::now();
            while submitted.load(Ordering::SeqCst) < count {
                assert!(begun.elapsed() < Duration::from_secs(60), "chunk {count} waits for those before");
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
        // What fails is told to those who asked for it, and nobody else.
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
        assert!(outer.overlap() == 1);
        let (mut parts, service) = split(&outer, 2);
        thread::scope(|scope| {
            // The second chunk is asked for, and is in work, before the first is done.
            scope.spawn(move || {
                let wait_for = |count| {
                    let begun = Instant::now();
                    while submitted.load(Ordering::SeqCst) < count && begun.elapsed() < Duration::from_secs(60) {
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
            service.serve(&mut outer, Some(PATIENCE), &mut || ());
        });
    }
}
