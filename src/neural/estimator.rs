//! A trained network as a [`Heuristic`].
//!
//! The network lives on a thread of its own: the search encodes a chunk and goes on, the thread scores chunks in
//! order. A device that runs out of memory has its chunks halved.

use super::device::{Device, caught};
use super::learner::Precision;
use super::model::Model;
use super::network::Scorer;
use crate::heuristic::{Ask, Estimates, Heuristic, HeuristicError};
use crate::progress::note;
use crate::puzzle::Puzzle;
use ndarray::{Array2, Axis, s};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// A network that estimates the cost-to-go of a puzzle's states.
pub struct NetworkHeuristic<P: Puzzle> {
    puzzle: Arc<P>,
    cells: usize,
    chunk: usize,
    overlap: usize,
    has_preferences: bool,
    requests: Sender<(Array2<u8>, Ask)>,
    answers: Receiver<Result<Estimates, HeuristicError>>,
}

impl<P: Puzzle> NetworkHeuristic<P> {
    /// Starts the thread that scores with a model; it ends when the heuristic is dropped.
    pub fn new(puzzle: Arc<P>, model: Model, device: Device) -> Self {
        let (requests, inbox) = channel::<(Array2<u8>, Ask)>();
        let (outbox, answers) = channel();
        let has_preferences = model.config.network.heads.is_some();
        let chunk = chunk(&model, device);
        let overlap = match model.precision {
            _ if device.is_cuda() => 4,
            // Its cores take tiles one by one, and do not wait for each other as those of libtorch do.
            Precision::Int8 => 2,
            _ => 0,
        };
        thread::spawn(move || {
            let _guard = tch::no_grad_guard();
            let mut worker = Worker { scorer: model.scorer, device, largest: usize::MAX };
            while let Ok((rows, ask)) = inbox.recv() {
                if outbox.send(worker.score(&rows, ask)).is_err() {
                    break;
                }
            }
        });
        NetworkHeuristic { cells: puzzle.encoding().cells, puzzle, chunk, overlap, has_preferences, requests, answers }
    }
}

/// Enough states to fill the device, few enough that activations stay in a CPU's cache and a stop is soon seen.
fn chunk(model: &Model, device: Device) -> usize {
    let network = &model.config.network;
    let grid = model.config.encoding.grid.map_or(1, |grid| grid.rows * grid.columns);
    let positions = if network.kind == super::network::NetworkKind::Resnet { 9 * grid } else { 1 };
    let products = network.width * network.width * (1 + 2 * network.blocks) * positions;
    if device.is_cuda() {
        (1usize << 37).checked_div(products).unwrap_or(1 << 16).clamp(1 << 10, 1 << 16)
    } else {
        (1usize << 35).checked_div(products).unwrap_or(1 << 12).clamp(1 << 4, 1 << 12)
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

    fn has_preferences(&self) -> bool {
        self.has_preferences
    }

    fn submit(&mut self, states: &[P::State], ask: Ask) -> Result<(), HeuristicError> {
        let mut rows = Array2::zeros((states.len(), self.cells));
        for (state, mut row) in states.iter().zip(rows.axis_iter_mut(Axis(0))) {
            self.puzzle.encode(state, row.as_slice_mut().expect("rows are contiguous"));
        }
        self.requests.send((rows, ask)).map_err(|_| gone())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.answers.recv().map_err(|_| gone())?
    }

    fn warm_up(&mut self) -> Result<(), HeuristicError> {
        let rows = Array2::zeros((self.chunk, self.cells));
        self.requests.send((rows, Ask::Values)).map_err(|_| gone())?;
        self.collect().map(drop)
    }
}

fn gone() -> HeuristicError {
    HeuristicError("the network's thread has ended".into())
}

/// What a model says of encoded states, one a row of `states × cells`: the cost-to-go of each, in moves, never negative.
///
/// # Errors
/// If libtorch fails, or an estimate is not finite.
pub fn predict(model: Model, device: Device, rows: &Array2<u8>) -> Result<Vec<f32>, HeuristicError> {
    let _guard = tch::no_grad_guard();
    let largest = chunk(&model, device);
    Ok(Worker { scorer: model.scorer, device, largest }.score(rows, Ask::Values)?.values)
}

struct Worker {
    scorer: Box<dyn Scorer>,
    device: Device,
    /// The most rows that fit the device, as far as is known.
    largest: usize,
}

impl Worker {
    fn score(&mut self, rows: &Array2<u8>, ask: Ask) -> Result<Estimates, HeuristicError> {
        let mut values = Vec::with_capacity(rows.nrows());
        let mut preferences = Vec::new();
        let mut moves = 0;
        let mut done = 0;
        while done < rows.nrows() {
            let count = (rows.nrows() - done).min(self.largest);
            let part = rows.slice(s![done..done + count, ..]);
            // An error of libtorch comes back as its first line.
            match caught(|| self.scorer.score(part, ask == Ask::ValuesAndPreferences)) {
                Ok(scores) => {
                    // Not `max`, which would hide what is not a number.
                    values.extend(scores.values.iter().map(|&value| if value < 0.0 { 0.0 } else { value }));
                    if let Some(rows) = scores.moves {
                        moves = rows.ncols();
                        preferences.extend(rows);
                    }
                    done += count;
                }
                Err(message) if message.contains("out of memory") && count > 1 => {
                    self.largest = count / 2;
                    note!(
                        "costar: {} is out of memory: scoring {} states at a time from now on",
                        self.device,
                        self.largest
                    );
                }
                Err(message) => return Err(HeuristicError(message)),
            }
        }
        if let Some(bad) = values.iter().find(|value| !value.is_finite()) {
            return Err(HeuristicError(format!("the network's estimate is {bad}: its weights are damaged")));
        }
        let preferences = (moves > 0)
            .then(|| Array2::from_shape_vec((rows.nrows(), moves), preferences).expect("a row of preferences a state"));
        Ok(Estimates { values, preferences })
    }
}
