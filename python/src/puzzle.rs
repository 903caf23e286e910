//! Puzzles by name, from a file or from a description.

use crate::interruptible;
use crate::{bytes_of_floats, exception};
use costar::neural::device::Device;
use costar::neural::heuristic::RowEvaluator;
use costar::neural::model::Model;
use costar::neural::precision::Precision;
use costar::puzzle::permutation::Description;
use costar::puzzle::{self, Encode as _, Move, Notation as _, Rules as _, move_names, replay};
use costar::registry::{AnyEntry, Entry, find, has_own_rules, of_description, with_entry};
use costar::sampler::{Batch, Sampler, Source};
use costar::solver::models;
use costar::{Result, SettingError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::Path;

/// A request for training samples.
pub(crate) struct SampleRequest {
    count: usize,
    max_depth: Option<u32>,
    seed: u64,
    batch: u64,
}

fn encode<P: puzzle::Puzzle>(puzzle: &P, instances: &[String]) -> Result<Vec<u8>> {
    let cells = puzzle.encoding().cells;
    let mut rows = vec![0; instances.len() * cells];
    for (instance, row) in instances.iter().zip(rows.chunks_exact_mut(cells)) {
        let state = puzzle.parse(instance)?;
        puzzle.check_encodes(&state)?;
        puzzle.encode(&state, row);
    }
    Ok(rows)
}

fn play<P: puzzle::Puzzle>(puzzle: &P, instance: &str, moves: &str) -> Result<(String, bool)> {
    let moves = puzzle.parse_solution(instance, moves)?;
    let (end, _) = replay(puzzle, &puzzle.parse(instance)?, &moves)?;
    Ok((puzzle.format(&end), puzzle.is_goal(&end)))
}

fn samples<P: puzzle::Puzzle>(entry: &Entry<P>, request: &SampleRequest) -> Result<Batch> {
    let Source { samples, default_depth } = entry.samples()?;
    for (field, number) in [("count", request.count), ("max_depth", request.max_depth.unwrap_or(1) as usize)] {
        if number == 0 {
            return Err(SettingError::new(field, "0: expected at least 1").into());
        }
    }
    let sizes = (entry.puzzle().encoding().cells, entry.puzzle().move_count());
    let depth = request.max_depth.unwrap_or(default_depth);
    Ok(Sampler::new(samples, sizes, request.seed, depth, request.count).batch(request.batch))
}

/// The model of a puzzle in a folder.
pub(crate) fn model<P: puzzle::Puzzle>(
    puzzle: &P,
    folder: &Path,
    device: Device,
    precision: Option<Precision>,
) -> Result<RowEvaluator> {
    if !puzzle.has_own_goal() {
        let reason = "a network estimates the way to the goal that it was trained for, and to no other: leave it out";
        return Err(SettingError::new("goal", reason).into());
    }
    let model = models::read_newest(folder, |folder| Model::read(folder, puzzle, device, precision))?;
    Ok(RowEvaluator::new(model, device))
}

/// A puzzle.
#[pyclass(frozen, module = "costar._costar")]
pub(crate) struct Puzzle {
    pub(crate) puzzle: AnyEntry,
}

#[pymethods]
impl Puzzle {
    #[new]
    #[pyo3(signature = (name, goal = None))]
    fn new(name: &str, goal: Option<&str>) -> PyResult<Self> {
        let puzzle = find(name, goal).map_err(|error| exception(&error))?;
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
        Ok(Puzzle { puzzle: of_description(description) })
    }

    #[getter]
    fn name(&self) -> String {
        self.puzzle.name()
    }

    #[getter]
    fn moves(&self) -> Vec<String> {
        with_entry!(&self.puzzle, entry => {
            let moves: Vec<Move> = (0..entry.puzzle().move_count() as Move).collect();
            move_names(&**entry.puzzle(), &moves)
        })
    }

    #[getter]
    fn notation(&self) -> &'static str {
        with_entry!(&self.puzzle, entry => entry.puzzle().notation())
    }

    #[getter]
    fn cells(&self) -> usize {
        with_entry!(&self.puzzle, entry => entry.puzzle().encoding().cells)
    }

    #[getter]
    fn symbols(&self) -> usize {
        with_entry!(&self.puzzle, entry => entry.puzzle().encoding().symbols)
    }

    /// The rows of instances.
    fn encode<'py>(&self, py: Python<'py>, instances: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let encode = || with_entry!(&self.puzzle, entry => encode(&**entry.puzzle(), &instances));
        let rows = py.detach(encode).map_err(|error| exception(&error))?;
        Ok(PyBytes::new(py, &rows))
    }

    /// The state that moves lead to, as text, and whether it is solved.
    fn play(&self, instance: &str, moves: &str) -> PyResult<(String, bool)> {
        let played = with_entry!(&self.puzzle, entry => play(&**entry.puzzle(), instance, moves));
        played.map_err(|error| exception(&error))
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
        let samples = |_: &_| with_entry!(&self.puzzle, entry => samples(entry, &request));
        let batch = interruptible(py, samples)?.map_err(|error| exception(&error))?;
        let bytes = |array: &ndarray::Array2<u8>| PyBytes::new(py, &array.iter().copied().collect::<Vec<u8>>());
        let labels = bytes_of_floats(py, &batch.labels.to_vec());
        Ok((bytes(&batch.states), labels, bytes(&batch.policy_targets)))
    }
}
