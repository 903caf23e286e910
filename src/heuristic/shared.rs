//! One heuristic for several searches at once, each on a thread of its own: what they submit at about the same time is
//! evaluated in one pass.
//!
//! A pass begins when its chunk is full, when every search waits, or when one has waited as long as it may. The estimates
//! that a search gets do not depend on the other searches, as long as the heuristic looks at each state alone.

use super::{Ask, Estimates, Heuristic, HeuristicError, Retarget};
use crate::puzzle::State;
use ndarray::{Array2, Axis, s};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// A part in a heuristic that several searches share.
pub struct Shared<S> {
    facts: Arc<Facts<S>>,
    number: usize,
    requests: Sender<Message<S>>,
    answers: Receiver<Result<Estimates, HeuristicError>>,
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
    ask: Ask,
}

/// Shares a heuristic between `searches`; it is dropped with the last part.
pub fn share<S: State>(mut heuristic: Box<dyn Heuristic<S>>, searches: usize) -> Vec<Shared<S>> {
    let (parts, service) = split(&*heuristic, searches);
    thread::spawn(move || service.serve(&mut *heuristic, None, &mut || ()));
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
            Shared { facts: Arc::clone(&facts), number, requests: requests.clone(), answers }
        })
        .collect();
    (parts, Service { chunk: facts.chunk, inbox, outboxes })
}

/// The other end of the parts of a heuristic.
pub struct Service<S> {
    chunk: usize,
    inbox: Receiver<Message<S>>,
    outboxes: Vec<Sender<Result<Estimates, HeuristicError>>>,
}

impl<S: State> Service<S> {
    /// Evaluates what the searches ask, until all parts are dropped. With `patience`, a search waits no longer than that for
    /// another that is busy with other things. `meanwhile` is called now and then.
    pub fn serve(self, heuristic: &mut dyn Heuristic<S>, patience: Option<Duration>, meanwhile: &mut dyn FnMut()) {
        /// How often `meanwhile` is called at least, where nothing is asked.
        const OFTEN: Duration = Duration::from_millis(50);
        let mut searches = self.outboxes.len();
        let mut waiting: Vec<Request<S>> = Vec::new();
        while searches > 0 {
            meanwhile();
            let mut is_over = false;
            let patience = patience.filter(|_| !waiting.is_empty());
            match self.inbox.recv_timeout(patience.unwrap_or(OFTEN)) {
                Ok(Message::Score(request)) => waiting.push(request),
                Ok(Message::Leave) => searches -= 1,
                Err(RecvTimeoutError::Timeout) => is_over = patience.is_some(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let states: usize = waiting.iter().map(|request| request.states.len()).sum();
            let is_due = is_over || waiting.len() >= searches || states >= self.chunk;
            if waiting.is_empty() || !is_due {
                continue;
            }
            let together = evaluate(heuristic, self.chunk, &waiting);
            let mut from = 0;
            for request in waiting.drain(..) {
                let rows = from..from + request.states.len();
                from = rows.end;
                let part = together.as_ref().map_err(HeuristicError::clone).map(|all| Estimates {
                    values: all.values[rows.clone()].to_vec(),
                    policy: match request.ask {
                        Ask::Values => None,
                        Ask::ValuesAndPolicy => all.policy.as_ref().map(|all| all.slice(s![rows, ..]).to_owned()),
                    },
                });
                // A search that is gone needs no answer.
                let _ = self.outboxes[request.from].send(part);
            }
        }
        meanwhile();
    }
}

/// Scores all that was asked, in chunks, of which as many are submitted ahead as the heuristic takes.
fn evaluate<S: State>(
    heuristic: &mut dyn Heuristic<S>,
    chunk: usize,
    requests: &[Request<S>],
) -> Result<Estimates, HeuristicError> {
    let with_policy = requests.iter().any(|request| request.ask == Ask::ValuesAndPolicy);
    let ask = if with_policy { Ask::ValuesAndPolicy } else { Ask::Values };
    let states: Vec<S> = requests.iter().flat_map(|request| &request.states).copied().collect();
    let mut all = Estimates { values: Vec::with_capacity(states.len()), policy: None };
    let mut chunks = states.chunks(chunk);
    let (ahead, mut in_flight) = (heuristic.overlap() + 1, 0);
    loop {
        for part in chunks.by_ref().take(ahead - in_flight) {
            heuristic.submit(part, ask)?;
            in_flight += 1;
        }
        if in_flight == 0 {
            break;
        }
        let estimates = heuristic.collect()?;
        in_flight -= 1;
        all.values.extend(estimates.values);
        if let Some(rows) = estimates.policy {
            let room = || Array2::zeros((0, rows.ncols()));
            let fits = all.policy.get_or_insert_with(room).append(Axis(0), rows.view());
            fits.expect("a heuristic prefers among as many moves in every chunk");
        }
    }
    Ok(all)
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

    fn submit(&mut self, states: &[S], ask: Ask) -> Result<(), HeuristicError> {
        let request = Request { from: self.number, states: states.to_vec(), ask };
        self.requests.send(Message::Score(request)).map_err(|_| gone())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.answers.recv().map_err(|_| gone())?
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

    #[test]
    fn each_search_is_told_what_it_asked() {
        let parts = share::<u64>(Box::new(PerState::new("half", true, |&state: &u64| state as f32 / 2.0)), 5);
        assert!(parts.iter().all(|part| part.name() == "half" && part.is_admissible() && !part.has_policy()));
        let ask = |mut part: Shared<u64>| {
            let number = part.number as u64;
            for round in 0..40 * (number + 1) {
                let states: Vec<u64> = (0..1 + round % 7).map(|i| 1000 * number + 10 * round + i).collect();
                part.submit(&states, Ask::ValuesAndPolicy).expect("the thread lives");
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
}
