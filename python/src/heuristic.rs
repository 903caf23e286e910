//! A function in Python as a heuristic.

use crate::floats_of_bytes;
use costar::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use costar::puzzle::Puzzle;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The exception of the function, kept until the caller of the search raises it again.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn put(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// The exception, once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A function from `(rows, states, cells)` to the bytes of one estimate per state.
pub(crate) struct Function {
    pub(crate) call: Py<PyAny>,
    /// States per call.
    pub(crate) chunk: usize,
    pub(crate) raised: Raised,
}

/// The function as a heuristic of a puzzle.
pub(crate) struct PythonHeuristic<P: Puzzle> {
    puzzle: Arc<P>,
    cells: usize,
    function: Function,
    estimates: VecDeque<Estimates>,
}

impl<P: Puzzle> PythonHeuristic<P> {
    pub(crate) fn new(puzzle: Arc<P>, function: Function) -> Self {
        PythonHeuristic { cells: puzzle.encoding().cells, puzzle, function, estimates: VecDeque::new() }
    }
}

impl<P: Puzzle> Heuristic<P::State> for PythonHeuristic<P> {
    fn name(&self) -> &str {
        "python"
    }

    fn chunk(&self) -> usize {
        self.function.chunk
    }

    fn submit(&mut self, states: &[P::State], _: Query) -> Result<(), HeuristicError> {
        let mut rows = vec![0; states.len() * self.cells];
        for (state, row) in states.iter().zip(rows.chunks_exact_mut(self.cells)) {
            self.puzzle.encode(state, row);
        }
        let called = Python::attach(|py| -> PyResult<Vec<f32>> {
            let arguments = (PyBytes::new(py, &rows), states.len(), self.cells);
            let bytes = self.function.call.bind(py).call1(arguments)?;
            Ok(floats_of_bytes(bytes.cast::<PyBytes>()?.as_bytes()))
        });
        let values = called.map_err(|error| {
            let message = error.to_string();
            self.function.raised.put(error);
            HeuristicError(message)
        })?;
        if values.len() != states.len() {
            return Err(HeuristicError(format!("it gave {} estimates of {} states", values.len(), states.len())));
        }
        self.estimates.push_back(Estimates { values, policy: None });
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.estimates.pop_front().ok_or_else(|| HeuristicError("nothing was submitted".into()))
    }
}
