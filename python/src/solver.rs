//! A solver of any puzzle.

use crate::heuristic::{Function, PythonHeuristic, Raised};
use crate::interruptible;
use crate::puzzle::Puzzle;
use crate::{exception, parsed, refusal};
use costar::puzzle::Puzzle as Rules;
use costar::registry::{Entry, with_entry};
use costar::search::Limits;
use costar::solver::{Request, SearchOptions, Solver as Library, Watch};
use costar::{Error, Result};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

/// Time between two looks whether another thread has ended its search.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A solver of some puzzle.
trait AnySolver: Send {
    /// The record of an instance, as JSON.
    fn solve(&mut self, instance: &str, stop: &AtomicBool) -> Result<String>;

    /// The search and its settings, as JSON.
    fn config(&self) -> Result<String>;
}

impl<P: Rules> AnySolver for Library<P> {
    fn solve(&mut self, instance: &str, stop: &AtomicBool) -> Result<String> {
        let start = self.parse(instance)?;
        let watch = Watch { stop, progress: &mut |_| (), incumbents: &mut |_| () };
        json(&self.solve_typed(instance, start, watch)?.record)
    }

    fn config(&self) -> Result<String> {
        json(&self.plan().options(self.perimeter_depth()).to_json())
    }
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Bug(error.to_string()))
}

/// Builds the solver of a puzzle.
fn build<P: Rules>(
    entry: Entry<P>,
    request: Request,
    function: Option<Function>,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn AnySolver>> {
    let puzzle = Arc::clone(entry.puzzle());
    let mut builder = Library::builder(entry, request).stop(Arc::clone(stop));
    if let Some(function) = function {
        builder = builder.own_heuristic(PythonHeuristic::new(puzzle, function));
    }
    Ok(Box::new(builder.build()?))
}

/// A puzzle, a heuristic and a search, ready for instances.
#[pyclass(frozen, module = "costar._costar")]
pub(crate) struct Solver {
    solver: Mutex<Box<dyn AnySolver>>,
    raised: Raised,
}

#[pymethods]
impl Solver {
    #[new]
    #[pyo3(signature = (puzzle, search, settings, heuristic, function, chunk, model, device, precision, max_seconds, max_nodes, max_memory))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        puzzle: &Puzzle,
        search: &str,
        settings: &str,
        heuristic: Option<&str>,
        function: Option<Py<PyAny>>,
        chunk: usize,
        model: Option<String>,
        device: &str,
        precision: Option<&str>,
        max_seconds: Option<f64>,
        max_nodes: Option<u64>,
        max_memory: Option<u64>,
    ) -> PyResult<Self> {
        let mut given: serde_json::Map<String, serde_json::Value> = serde_json::from_str(settings).map_err(refusal)?;
        given.insert("search".into(), search.into());
        let seconds = max_seconds.map(Duration::try_from_secs_f64).transpose();
        let request = Request {
            options: SearchOptions::from_json(given).map_err(refusal)?,
            heuristic: heuristic.unwrap_or("auto").into(),
            model,
            device: parsed("device", device)?,
            precision: precision.map(|text| parsed("precision", text)).transpose()?,
            limits: Limits {
                time: seconds.map_err(|error| refusal(format!("`max_seconds`: {error}")))?,
                nodes: max_nodes,
                memory: max_memory,
                spend_time: true,
            },
            ..Request::default()
        };
        let raised = Raised::default();
        let function = function.map(|call| Function { call, chunk, raised: raised.clone() });
        let entry = puzzle.puzzle.clone();
        let build = |stop: &Arc<_>| with_entry!(entry, entry => build(entry, request, function, stop));
        let built = interruptible(py, build)?;
        let solver = built.map_err(|error| raised.take().unwrap_or_else(|| exception(&error)))?;
        Ok(Solver { solver: Mutex::new(solver), raised })
    }

    /// The record of an instance, as JSON.
    fn solve(&self, py: Python<'_>, instance: &str) -> PyResult<String> {
        let solved = interruptible(py, |stop| {
            let mut solver = self.lock(stop)?;
            // An exception of an interrupted search has been raised already, or never will be.
            self.raised.take();
            solver.solve(instance, stop)
        })?;
        solved.map_err(|error| self.raised.take().unwrap_or_else(|| exception(&error)))
    }

    /// The search and its settings, as JSON.
    fn config(&self, py: Python<'_>) -> PyResult<String> {
        interruptible(py, |stop| self.lock(stop)?.config())?.map_err(|error| exception(&error))
    }
}

impl Solver {
    /// Waits until no other thread searches, or `stop` is set.
    fn lock(&self, stop: &AtomicBool) -> Result<MutexGuard<'_, Box<dyn AnySolver>>> {
        loop {
            match self.solver.try_lock() {
                Ok(solver) => return Ok(solver),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if stop.load(Ordering::Relaxed) => {
                    return Err(Error::Data("interrupted while another thread searched".into()));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(POLL_INTERVAL),
            }
        }
    }
}
