//! A trained network as a [`Heuristic`].
//!
//! The network lives on a thread of its own: the search encodes a chunk and goes on, the thread evaluates chunks in
//! order. The thread is joined when the heuristic is dropped.

use super::device::Device;
use super::model::Model;
use super::network::Evaluator;
use super::precision::Precision;
use super::worker::{Request, Worker, ahead_on, chunk};
use crate::error::{Result, bail, ensure};
use crate::heuristic::{Answers, Estimates, Heuristic, HeuristicError, Query};
use crate::puzzle::{Encoding, Puzzle};
use crate::workers::{cores, on_each};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// States that a thread encodes at least: fewer are sooner encoded than threads are started.
const ENCODED_BY_ONE: usize = 4096;

/// A network that estimates the cost-to-go of a puzzle's states.
pub struct NetworkHeuristic<P: Puzzle> {
    puzzle: Arc<P>,
    cells: usize,
    chunk: usize,
    overlap: usize,
    has_policy: bool,
    /// `None` once the thread is to end.
    requests: Option<Sender<Request>>,
    answers: Answers,
    thread: Option<JoinHandle<()>>,
}

impl<P: Puzzle> NetworkHeuristic<P> {
    /// Starts the thread that evaluates with a model.
    pub fn new(puzzle: Arc<P>, model: Model, device: Device) -> Self {
        let has_policy = model.config.network.policy.is_some();
        let overlap = match model.precision {
            _ if device.is_cuda() => 4,
            // Its cores take tiles one by one, and do not wait for each other as those of libtorch do.
            Precision::Int8 => 2,
            _ => 0,
        };
        Self::of(model.evaluator, puzzle, device, overlap, has_policy)
    }

    fn of(evaluator: Box<dyn Evaluator>, puzzle: Arc<P>, device: Device, overlap: usize, has_policy: bool) -> Self {
        let (requests, inbox) = channel();
        let (outbox, answers) = channel();
        let chunk = chunk(&*evaluator, device);
        let thread = thread::spawn(move || {
            Worker::new(evaluator, device, usize::MAX).serve(ahead_on(device), &inbox, &outbox);
        });
        NetworkHeuristic {
            cells: puzzle.encoding().cells,
            puzzle,
            chunk,
            overlap,
            has_policy,
            requests: Some(requests),
            answers: Answers::new(answers),
            thread: Some(thread),
        }
    }

    fn request(&self, rows: Array2<u8>, ask: Query) -> Result<(), HeuristicError> {
        self.requests.as_ref().ok_or_else(gone)?.send(Request { rows, ask }).map_err(|_| gone())
    }
}

impl<P: Puzzle> Drop for NetworkHeuristic<P> {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // If it has panicked, the searches that asked it have been told.
            let _ = thread.join();
        }
    }
}

impl<P: Puzzle> Heuristic<P::State> for NetworkHeuristic<P> {
    fn name(&self) -> &str {
        "network"
    }

    fn chunk(&self) -> usize {
        self.chunk
    }

    fn overlap(&self) -> usize {
        self.overlap
    }

    fn has_policy(&self) -> bool {
        self.has_policy
    }

    fn submit(&mut self, states: &[P::State], ask: Query) -> Result<(), HeuristicError> {
        let mut rows = Array2::zeros((states.len(), self.cells));
        let parts = states.chunks(ENCODED_BY_ONE).zip(rows.axis_chunks_iter_mut(Axis(0), ENCODED_BY_ONE)).collect();
        on_each(cores(), parts, |(states, mut rows): (&[P::State], ArrayViewMut2<'_, u8>)| {
            for (state, mut row) in states.iter().zip(rows.rows_mut()) {
                self.puzzle.encode(state, row.as_slice_mut().expect("rows are contiguous"));
            }
        });
        self.request(rows, ask)
    }

    fn is_ready(&mut self) -> bool {
        self.answers.is_ready()
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.answers.take().ok_or_else(gone)?
    }

    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        self.request(Array2::zeros((self.chunk, self.cells)), Query::Values)?;
        self.collect().map(drop)
    }
}

fn gone() -> HeuristicError {
    HeuristicError("the network's thread has ended".into())
}

/// A model that is asked about encoded states, by whoever has no searches to run.
pub struct RowEvaluator {
    worker: Worker,
    encoding: Encoding,
}

impl RowEvaluator {
    /// Evaluates with a model on its device.
    pub fn new(model: Model, device: Device) -> Self {
        let largest = chunk(&*model.evaluator, device);
        RowEvaluator { worker: Worker::new(model.evaluator, device, largest), encoding: model.config.encoding }
    }

    /// The estimates of encoded states, one a row of `states × cells`.
    ///
    /// # Errors
    /// If a row has another length or a symbol that is none of the encoding, libtorch fails, or an estimate is not finite.
    pub fn evaluate(&mut self, rows: ArrayView2<'_, u8>, ask: Query) -> Result<Estimates> {
        let Encoding { cells, symbols, .. } = self.encoding;
        ensure!(rows.ncols() == cells, "the rows have {} cells: expected {cells}", rows.ncols());
        if let Some(bad) = rows.iter().find(|&&symbol| usize::from(symbol) >= symbols) {
            bail!("a row holds {bad}: expected symbols from 0 to {}", symbols - 1);
        }
        Ok(self.worker.evaluate(rows, ask)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::worker::tests::Slow;
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn the_thread_has_ended_when_the_heuristic_is_dropped() {
        let puzzle = Arc::new(crate::puzzle::cube3::Cube3);
        let device = Slow::default();
        device.may_end.store(usize::MAX, Ordering::SeqCst);
        let held = Arc::clone(&device.begun);
        let mut heuristic = NetworkHeuristic::of(Box::new(device), puzzle, Device::CPU, 1, false);
        heuristic.warm_up().expect("it evaluates");
        assert_eq!((Arc::strong_count(&held), held.load(Ordering::SeqCst)), (2, 1));
        drop(heuristic);
        assert_eq!(Arc::strong_count(&held), 1, "the evaluator has gone with the thread");
    }
}
