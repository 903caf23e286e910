//! A trained network as a [`Heuristic`].
//!
//! The network lives on a thread of its own: a search encodes a chunk and goes on, the thread evaluates chunks in order.
//! Several searches may [share](Heuristic::share) it; chunks that wait at the same time are evaluated in one pass. Dropping
//! the last heuristic of a network joins its thread.

use super::chunks::{ChunkEvaluator, ChunkRequest, Evaluated, chunk_size};
use super::device::Device;
use super::evaluator::Evaluator;
use super::model::Model;
use super::precision::Precision;
use crate::error::{Result, bail, ensure};
use crate::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use crate::puzzle::{Encoding, Puzzle};
use crate::search::device::RowNetwork;
use crate::workers::{GRAIN, cores, on_each};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use tch::Tensor;

/// A network that estimates the cost-to-go of a puzzle's states.
pub struct NetworkHeuristic<P: Puzzle> {
    puzzle: Arc<P>,
    cells: usize,
    chunk: usize,
    max_in_flight: usize,
    has_policy: bool,
    requests: Sender<ChunkRequest>,
    in_flight: VecDeque<Receiver<Evaluated>>,
    /// Declared after `requests`: the thread ends when the last sender is dropped.
    thread: Arc<JoinOnDrop>,
}

/// A thread that is joined when its last owner is dropped.
struct JoinOnDrop(Option<JoinHandle<()>>);

impl Drop for JoinOnDrop {
    fn drop(&mut self) {
        // If the thread has panicked, its searches have got an error.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

impl<P: Puzzle> NetworkHeuristic<P> {
    /// Starts the thread that evaluates with a model.
    pub fn new(puzzle: Arc<P>, model: Model, device: Device) -> Self {
        let mut heuristic = Self::with_evaluator(model.evaluator, puzzle, device);
        heuristic.has_policy = model.config.network.policy.is_some();
        heuristic.max_in_flight = match model.precision {
            _ if device.is_cuda() => 4,
            // The threads of the 8-bit products take tiles one by one; those of libtorch wait for each other.
            Precision::Int8 => 2,
            _ => 0,
        };
        heuristic
    }

    /// Without a policy, and with nothing in flight while the search goes on.
    fn with_evaluator(evaluator: Box<dyn Evaluator>, puzzle: Arc<P>, device: Device) -> Self {
        let (requests, inbox) = channel();
        let chunk = chunk_size(&*evaluator, device);
        let mut evaluator = ChunkEvaluator::new(evaluator, device, usize::MAX);
        let thread = thread::spawn(move || evaluator.serve(&inbox, chunk));
        NetworkHeuristic {
            cells: puzzle.encoding().cells,
            puzzle,
            chunk,
            max_in_flight: 0,
            has_policy: false,
            requests,
            in_flight: VecDeque::new(),
            thread: Arc::new(JoinOnDrop(Some(thread))),
        }
    }

    fn request(&mut self, rows: Array2<u8>, query: Query) -> Result<(), HeuristicError> {
        let (reply, estimates) = channel();
        self.in_flight.push_back(estimates);
        self.requests.send(ChunkRequest { rows, query, reply }).map_err(|_| gone())
    }
}

impl<P: Puzzle> Heuristic<P::State> for NetworkHeuristic<P> {
    fn name(&self) -> &str {
        "network"
    }

    fn chunk(&self) -> usize {
        self.chunk
    }

    fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    fn has_policy(&self) -> bool {
        self.has_policy
    }

    fn submit(&mut self, states: &[P::State], query: Query) -> Result<(), HeuristicError> {
        let mut rows = Array2::zeros((states.len(), self.cells));
        let parts = states.chunks(GRAIN).zip(rows.axis_chunks_iter_mut(Axis(0), GRAIN)).collect();
        on_each(cores(), parts, |(states, mut rows): (&[P::State], ArrayViewMut2<'_, u8>)| {
            for (state, mut row) in states.iter().zip(rows.rows_mut()) {
                self.puzzle.encode(state, row.as_slice_mut().expect("rows are contiguous"));
            }
        });
        self.request(rows, query)
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.in_flight.pop_front().expect("a chunk was submitted").recv().map_err(|_| gone())?
    }

    fn share(&self) -> Option<Box<dyn Heuristic<P::State>>> {
        Some(Box::new(NetworkHeuristic {
            puzzle: Arc::clone(&self.puzzle),
            requests: self.requests.clone(),
            in_flight: VecDeque::new(),
            thread: Arc::clone(&self.thread),
            ..*self
        }))
    }

    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        self.request(Array2::zeros((self.chunk, self.cells)), Query::Values)?;
        self.collect().map(drop)
    }
}

fn gone() -> HeuristicError {
    HeuristicError("the network's thread has ended".into())
}

/// For searches whose states lie on the model's device.
impl RowNetwork for Model {
    fn device(&self) -> tch::Device {
        self.device.0
    }

    fn has_policy(&self) -> bool {
        self.config.network.policy.is_some()
    }

    /// On CUDA, larger chunks than if rows come from the host: fewer calls.
    fn chunk(&self) -> usize {
        let operations = usize::try_from(self.evaluator.operations()).unwrap_or(usize::MAX);
        if self.device.is_cuda() {
            return (1usize << 39).checked_div(operations).unwrap_or(1 << 17).clamp(1 << 15, 1 << 17);
        }
        // The threads of the 8-bit products work through their own tiles, and wait for each other once a chunk.
        let chunks = if self.precision == Precision::Int8 { 4 } else { 1 };
        chunks * chunk_size(&*self.evaluator, self.device)
    }

    fn evaluate(&self, rows: &Tensor, with_policy: bool) -> (Tensor, Option<Tensor>) {
        self.evaluator.evaluate(rows, with_policy)
    }
}

/// A model that evaluates encoded states, without a search.
pub struct RowEvaluator {
    evaluator: ChunkEvaluator,
    encoding: Encoding,
    /// The moves of the policy head, if there is one.
    policy: Option<usize>,
}

impl RowEvaluator {
    /// Evaluates with a model on its device.
    pub fn new(model: Model, device: Device) -> Self {
        let max_rows = chunk_size(&*model.evaluator, device);
        let evaluator = ChunkEvaluator::new(model.evaluator, device, max_rows);
        RowEvaluator { evaluator, encoding: model.config.encoding, policy: model.config.network.policy }
    }

    /// The estimates of encoded states, `states × cells`.
    ///
    /// # Errors
    /// If a row has another length or a symbol outside the encoding, libtorch fails, or an estimate is not finite.
    pub fn evaluate(&mut self, rows: ArrayView2<'_, u8>, query: Query) -> Result<Estimates> {
        let Encoding { cells, symbols, .. } = self.encoding;
        ensure!(rows.ncols() == cells, "the rows have {} cells: expected {cells}", rows.ncols());
        if let Some(bad) = rows.iter().find(|&&symbol| usize::from(symbol) >= symbols) {
            bail!("a row holds {bad}: expected symbols from 0 to {}", symbols - 1);
        }
        // Without rows, no pass gives the policy.
        let moves = self.policy.filter(|_| rows.nrows() == 0 && query == Query::ValuesAndPolicy);
        let estimates = self.evaluator.evaluate(rows, query)?;
        Ok(Estimates { policy: estimates.policy.or(moves.map(|moves| Array2::zeros((0, moves)))), ..estimates })
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunks::tests::SlowDevice;
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn the_thread_has_ended_when_the_heuristic_is_dropped() {
        let puzzle = Arc::new(crate::puzzle::cube3::Cube3);
        let device = SlowDevice::default();
        device.may_end.store(usize::MAX, Ordering::SeqCst);
        let held = Arc::clone(&device.started);
        let mut heuristic = NetworkHeuristic::with_evaluator(Box::new(device), puzzle, Device::CPU);
        heuristic.warm_up().expect("it evaluates");
        assert_eq!((Arc::strong_count(&held), held.load(Ordering::SeqCst)), (2, 1));
        drop(heuristic);
        assert_eq!(Arc::strong_count(&held), 1, "the evaluator has gone with the thread");
    }
}
