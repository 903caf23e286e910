//! Puzzles by name, from a file or from a description.

use crate::heuristic::Function;
use crate::interruptible;
use crate::solver::{AnySolver, build};
use crate::{bytes_of_floats, exception};
use costar::neural::device::Device;
use costar::neural::heuristic::RowEvaluator;
use costar::neural::model::Model;
use costar::neural::precision::Precision;
use costar::puzzle::permutation::Description;
use costar::puzzle::{self, Encoding, Move, move_names, replay};
use costar::registry::{Entry, Visitor, has_own_rules, visit, visit_description};
use costar::sampler::{Batch, Sampler, Source};
use costar::solver::Request;
use costar::{Result, SettingError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A puzzle of any type of states.
pub(crate) trait AnyPuzzle: Send + Sync {
    fn name(&self) -> String;
    fn moves(&self) -> Vec<String>;
    fn notation(&self) -> &'static str;
    fn encoding(&self) -> Encoding;
    fn encode(&self, instances: &[String]) -> Result<Vec<u8>>;
    fn play(&self, instance: &str, moves: &str) -> Result<(String, bool)>;
    fn samples(&self, request: &SampleRequest) -> Result<Batch>;
    fn solver(
        &self,
        request: Request,
        function: Option<Function>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn AnySolver>>;
    fn model(&self, folder: &Path, device: Device, precision: Option<Precision>) -> Result<RowEvaluator>;
}

/// A request for training samples.
pub(crate) struct SampleRequest {
    count: usize,
    max_depth: Option<u32>,
    seed: u64,
    batch: u64,
}

impl<P: puzzle::Puzzle> AnyPuzzle for Entry<P> {
    fn name(&self) -> String {
        self.puzzle().name()
    }

    fn moves(&self) -> Vec<String> {
        move_names(&**self.puzzle(), &(0..self.puzzle().move_count() as Move).collect::<Vec<_>>())
    }

    fn notation(&self) -> &'static str {
        self.puzzle().notation()
    }

    fn encoding(&self) -> Encoding {
        self.puzzle().encoding()
    }

    fn encode(&self, instances: &[String]) -> Result<Vec<u8>> {
        let puzzle = self.puzzle();
        let cells = puzzle.encoding().cells;
        let mut rows = vec![0; instances.len() * cells];
        for (instance, row) in instances.iter().zip(rows.chunks_exact_mut(cells)) {
            let state = puzzle.parse(instance)?;
            puzzle.check_encodes(&state)?;
            puzzle.encode(&state, row);
        }
        Ok(rows)
    }

    fn play(&self, instance: &str, moves: &str) -> Result<(String, bool)> {
        let puzzle = self.puzzle();
        let moves = puzzle.parse_solution(instance, moves)?;
        let (end, _) = replay(&**puzzle, &puzzle.parse(instance)?, &moves)?;
        Ok((puzzle.format(&end), puzzle.is_goal(&end)))
    }

    fn samples(&self, request: &SampleRequest) -> Result<Batch> {
        let Source { samples, default_depth } = Entry::samples(self)?;
        for (field, number) in [("count", request.count), ("max_depth", request.max_depth.unwrap_or(1) as usize)] {
            if number == 0 {
                return Err(SettingError::new(field, "0: expected at least 1").into());
            }
        }
        let sizes = (self.puzzle().encoding().cells, self.puzzle().move_count());
        let depth = request.max_depth.unwrap_or(default_depth);
        Ok(Sampler::new(samples, sizes, request.seed, depth, request.count).batch(request.batch))
    }

    fn solver(
        &self,
        request: Request,
        function: Option<Function>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn AnySolver>> {
        build(self.clone(), request, function, stop)
    }

    fn model(&self, folder: &Path, device: Device, precision: Option<Precision>) -> Result<RowEvaluator> {
        if !self.puzzle().has_own_goal() {
            let reason =
                "a network estimates the way to the goal that it was trained for, and to no other: leave it out";
            return Err(SettingError::new("goal", reason).into());
        }
        Ok(RowEvaluator::new(Model::read(folder, &**self.puzzle(), device, precision)?, device))
    }
}

/// Erases the type of a puzzle.
pub(crate) struct Boxed;

impl Visitor for Boxed {
    type Output = Arc<dyn AnyPuzzle>;

    fn visit<P: puzzle::Puzzle>(self, entry: Entry<P>) -> Self::Output {
        Arc::new(entry)
    }
}

/// A puzzle.
#[pyclass(frozen, module = "costar._costar")]
pub(crate) struct Puzzle {
    pub(crate) puzzle: Arc<dyn AnyPuzzle>,
}

#[pymethods]
impl Puzzle {
    #[new]
    #[pyo3(signature = (name, goal = None))]
    fn new(name: &str, goal: Option<&str>) -> PyResult<Self> {
        let puzzle = visit(name, goal, Boxed).map_err(|error| exception(&error))?;
        Ok(Puzzle { puzzle })
    }

    /// A permutation puzzle from the text of its file.
    #[staticmethod]
    fn described(text: &str) -> PyResult<Self> {
        let description = Description::parse(text).map_err(|error| exception(&error.into()))?;
        if has_own_rules(description.name()) {
            let reason = format!("there is a puzzle {} already: give it another one", description.name());
            return Err(exception(&SettingError::new("name", reason).into()));
        }
        Ok(Puzzle { puzzle: visit_description(description, Boxed) })
    }

    #[getter]
    fn name(&self) -> String {
        self.puzzle.name()
    }

    #[getter]
    fn moves(&self) -> Vec<String> {
        self.puzzle.moves()
    }

    #[getter]
    fn notation(&self) -> &'static str {
        self.puzzle.notation()
    }

    #[getter]
    fn cells(&self) -> usize {
        self.puzzle.encoding().cells
    }

    #[getter]
    fn symbols(&self) -> usize {
        self.puzzle.encoding().symbols
    }

    /// The rows of instances.
    fn encode<'py>(&self, py: Python<'py>, instances: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let rows = py.detach(|| self.puzzle.encode(&instances)).map_err(|error| exception(&error))?;
        Ok(PyBytes::new(py, &rows))
    }

    /// The state that moves lead to, as text, and whether it is solved.
    fn play(&self, instance: &str, moves: &str) -> PyResult<(String, bool)> {
        self.puzzle.play(instance, moves).map_err(|error| exception(&error))
    }

    /// A batch of training samples: rows, labels, and for each move, whether it leads back.
    #[allow(clippy::type_complexity)]
    fn samples<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        max_depth: Option<u32>,
        seed: u64,
        batch: u64,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let request = SampleRequest { count, max_depth, seed, batch };
        let batch = interruptible(py, |_| self.puzzle.samples(&request))?.map_err(|error| exception(&error))?;
        let bytes = |array: &ndarray::Array2<u8>| PyBytes::new(py, &array.iter().copied().collect::<Vec<u8>>());
        let labels = bytes_of_floats(py, &batch.labels.to_vec());
        Ok((bytes(&batch.states), labels, bytes(&batch.policy_targets)))
    }
}
