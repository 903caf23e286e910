//! Trained models that evaluate rows.

use crate::interruptible;
use crate::puzzle::{self, Puzzle};
use crate::{bytes_of_floats, exception, parsed, refusal};
use costar::heuristic::Query;
use costar::neural::device::{Device, DeviceChoice};
use costar::neural::heuristic::RowEvaluator;
use costar::neural::precision::Precision;
use costar::registry::{find, with_entry};
use costar::solver::models;
use costar::{Error, Result};
use ndarray::ArrayView2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

/// A trained network.
#[pyclass(frozen, module = "costar._costar")]
pub(crate) struct Model {
    evaluator: Mutex<RowEvaluator>,
    puzzle: Py<Puzzle>,
}

/// The bytes of the estimates; and the bytes of the move probabilities, with the number of moves.
type Evaluated<'py> = (Bound<'py, PyBytes>, Option<(Bound<'py, PyBytes>, usize)>);

#[pymethods]
impl Model {
    /// Reads the model of a folder, a run, or a name on the search path, for this puzzle, or else for the puzzle that the model
    /// names.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        name: &str,
        device: &str,
        precision: Option<&str>,
        puzzle: Option<&Bound<'_, Puzzle>>,
    ) -> PyResult<Self> {
        let device: DeviceChoice = parsed("device", device)?;
        let precision = precision.map(|text| parsed::<Precision>("precision", text)).transpose()?;
        let given = puzzle.map(|puzzle| puzzle.get().puzzle.clone());
        let load = || -> Result<_> {
            let folder = models::find(name)?;
            let puzzle = match given {
                Some(given) => given,
                None => find(&models::puzzle_of(&folder)?, None)?,
            };
            let device = Device::resolve(device).map_err(|error| Error::Device(error.to_string()))?;
            let model = with_entry!(&puzzle, entry => puzzle::model(&**entry.puzzle(), &folder, device, precision));
            Ok((model?, puzzle))
        };
        let (evaluator, puzzle) = interruptible(py, |_| load())?.map_err(|error| exception(&error))?;
        Ok(Model { evaluator: Mutex::new(evaluator), puzzle: Py::new(py, Puzzle { puzzle })? })
    }

    /// The puzzle of the model.
    #[getter]
    fn puzzle(&self, py: Python<'_>) -> Py<Puzzle> {
        self.puzzle.clone_ref(py)
    }

    /// The estimates of rows.
    fn evaluate<'py>(&self, py: Python<'py>, rows: &[u8], count: usize, cells: usize) -> PyResult<Evaluated<'py>> {
        let rows = ArrayView2::from_shape((count, cells), rows).map_err(refusal)?;
        let evaluated = interruptible(py, |_| {
            self.evaluator.lock().unwrap_or_else(PoisonError::into_inner).evaluate(rows, Query::ValuesAndPolicy)
        });
        let estimates = evaluated?.map_err(|error| exception(&error))?;
        let policy = estimates.policy.map(|policy| {
            let moves = policy.ncols();
            (bytes_of_floats(py, &policy.into_iter().collect::<Vec<f32>>()), moves)
        });
        Ok((bytes_of_floats(py, &estimates.values), policy))
    }
}
