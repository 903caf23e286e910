//! A trained network as a [`Heuristic`].
//!
//! The network lives on a thread of its own: the search encodes a chunk and goes on, the thread evaluates chunks in
//! order. If a device runs out of memory, its chunks are halved. The thread is joined when the heuristic is dropped.

use super::device::{Device, caught, is_out_of_memory};
use super::model::Model;
use super::network::Evaluator;
use super::precision::Precision;
use crate::error::{Result, bail, ensure};
use crate::heuristic::{Ask, Estimates, Heuristic, HeuristicError};
use crate::puzzle::{Encoding, Puzzle};
use crate::workers::{cores, on_each};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
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
    requests: Option<Sender<(Array2<u8>, Ask)>>,
    answers: Receiver<Result<Estimates, HeuristicError>>,
    thread: Option<JoinHandle<()>>,
}

impl<P: Puzzle> NetworkHeuristic<P> {
    /// Starts the thread that evaluates with a model.
    pub fn new(puzzle: Arc<P>, model: Model, device: Device) -> Self {
        let (requests, inbox) = channel::<(Array2<u8>, Ask)>();
        let (outbox, answers) = channel();
        let has_policy = model.config.network.policy.is_some();
        let chunk = chunk(&*model.evaluator, device);
        let overlap = match model.precision {
            _ if device.is_cuda() => 4,
            // Its cores take tiles one by one, and do not wait for each other as those of libtorch do.
            Precision::Int8 => 2,
            _ => 0,
        };
        let thread = thread::spawn(move || {
            let _guard = tch::no_grad_guard();
            let mut worker = Worker { evaluator: model.evaluator, device, largest: usize::MAX };
            while let Ok((rows, ask)) = inbox.recv() {
                if outbox.send(worker.evaluate(rows.view(), ask)).is_err() {
                    break;
                }
            }
        });
        NetworkHeuristic {
            cells: puzzle.encoding().cells,
            puzzle,
            chunk,
            overlap,
            has_policy,
            requests: Some(requests),
            answers,
            thread: Some(thread),
        }
    }

    fn request(&self, rows: Array2<u8>, ask: Ask) -> Result<(), HeuristicError> {
        self.requests.as_ref().ok_or_else(gone)?.send((rows, ask)).map_err(|_| gone())
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

/// Enough states to fill the device, few enough that activations stay in a CPU's cache and a stop is soon seen.
fn chunk(evaluator: &dyn Evaluator, device: Device) -> usize {
    let operations = usize::try_from(evaluator.operations()).unwrap_or(usize::MAX);
    if device.is_cuda() {
        (1usize << 38).checked_div(operations).unwrap_or(1 << 16).clamp(1 << 15, 1 << 17)
    } else {
        (1usize << 35).checked_div(operations).unwrap_or(1 << 12).clamp(1 << 4, 1 << 12)
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

    fn submit(&mut self, states: &[P::State], ask: Ask) -> Result<(), HeuristicError> {
        let mut rows = Array2::zeros((states.len(), self.cells));
        let parts = states.chunks(ENCODED_BY_ONE).zip(rows.axis_chunks_iter_mut(Axis(0), ENCODED_BY_ONE)).collect();
        on_each(cores(), parts, |(states, mut rows): (&[P::State], ArrayViewMut2<'_, u8>)| {
            for (state, mut row) in states.iter().zip(rows.rows_mut()) {
                self.puzzle.encode(state, row.as_slice_mut().expect("rows are contiguous"));
            }
        });
        self.request(rows, ask)
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.answers.recv().map_err(|_| gone())?
    }

    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        self.request(Array2::zeros((self.chunk, self.cells)), Ask::Values)?;
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
        let worker = Worker { evaluator: model.evaluator, device, largest };
        RowEvaluator { worker, encoding: model.config.encoding }
    }

    /// The estimates of encoded states, one a row of `states × cells`.
    ///
    /// # Errors
    /// If a row has another length or a symbol that is none of the encoding, libtorch fails, or an estimate is not finite.
    pub fn evaluate(&mut self, rows: ArrayView2<'_, u8>, ask: Ask) -> Result<Estimates> {
        let Encoding { cells, symbols, .. } = self.encoding;
        ensure!(rows.ncols() == cells, "the rows have {} cells: expected {cells}", rows.ncols());
        if let Some(bad) = rows.iter().find(|&&symbol| usize::from(symbol) >= symbols) {
            bail!("a row holds {bad}: expected symbols from 0 to {}", symbols - 1);
        }
        let _guard = tch::no_grad_guard();
        Ok(self.worker.evaluate(rows, ask)?)
    }
}

struct Worker {
    evaluator: Box<dyn Evaluator>,
    device: Device,
    /// The most rows that fit the device, as far as is known.
    largest: usize,
}

impl Worker {
    fn evaluate(&mut self, rows: ArrayView2<'_, u8>, ask: Ask) -> Result<Estimates, HeuristicError> {
        let mut values = Vec::with_capacity(rows.nrows());
        let mut probabilities = Vec::new();
        let mut moves = 0;
        let mut done = 0;
        while done < rows.nrows() {
            let count = (rows.nrows() - done).min(self.largest);
            let part = rows.slice(s![done..done + count, ..]);
            // An error of libtorch comes back as its first line.
            match caught(|| self.evaluator.evaluate(part, ask == Ask::ValuesAndPolicy)) {
                Ok(evaluation) => {
                    // Not `max`, which would hide what is not a number.
                    values.extend(evaluation.values.iter().map(|&value| if value < 0.0 { 0.0 } else { value }));
                    if let Some(rows) = evaluation.policy {
                        moves = rows.ncols();
                        probabilities.extend(rows);
                    }
                    done += count;
                }
                Err(message) if is_out_of_memory(&message) && count > 1 => {
                    self.largest = count / 2;
                    log::warn!(
                        "{} is out of memory: it evaluates {} states at a time from now on",
                        self.device,
                        count / 2
                    );
                }
                Err(message) => return Err(HeuristicError(message)),
            }
        }
        if let Some(bad) = values.iter().find(|value| !value.is_finite()) {
            return Err(HeuristicError(format!("the network's estimate is {bad}: its weights are damaged")));
        }
        let policy = (moves > 0).then(|| {
            Array2::from_shape_vec((rows.nrows(), moves), probabilities).expect("a row of probabilities a state")
        });
        Ok(Estimates { values, policy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neural::network::Evaluation;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The sum of each row, of so many rows at a time.
    struct Narrow {
        most: usize,
        message: &'static str,
        calls: AtomicUsize,
    }

    impl Evaluator for Narrow {
        fn evaluate(&self, rows: ArrayView2<'_, u8>, _: bool) -> Evaluation {
            self.calls.fetch_add(1, Ordering::Relaxed);
            assert!(rows.nrows() <= self.most, "{}", self.message);
            Evaluation { values: rows.rows().into_iter().map(|row| f32::from(row.sum())).collect(), policy: None }
        }

        fn operations(&self) -> u64 {
            1
        }
    }

    fn evaluate(message: &'static str) -> Result<Vec<f32>, HeuristicError> {
        let evaluator = Box::new(Narrow { most: 10, message, calls: AtomicUsize::new(0) });
        let mut worker = Worker { evaluator, device: Device::CPU, largest: usize::MAX };
        let rows = Array2::from_shape_fn((100, 2), |(row, _)| row as u8);
        let values = worker.evaluate(rows.view(), Ask::Values).map(|estimates| estimates.values);
        assert!(values.is_err() || worker.largest <= 10, "it remembers what fits");
        values
    }

    #[test]
    fn a_device_without_memory_is_asked_for_less_at_a_time() {
        for message in ["CUDA out of memory. Tried", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"] {
            let values = evaluate(message).expect("it fits in parts");
            assert!(values.iter().enumerate().all(|(row, &value)| value == 2.0 * row as f32), "{values:?}");
        }
        let failed = evaluate("CUDA error: device-side assert triggered").expect_err("it is not the memory");
        assert!(failed.0.contains("device-side"), "{failed}");
    }
}
