//! The Python module `costar._costar`: a thin layer over the library. Users see `python/costar/__init__.py`.
//!
//! Rows of states cross the border as bytes in row-major order, results as JSON. The Python package turns them into arrays
//! and dataclasses.

use costar::Error;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

mod heuristic;
mod model;
mod puzzle;
mod solver;

#[pymodule]
fn _costar(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A wheel has the models beside the files of the package.
    let package = module.py().import("costar")?.filename()?;
    let models = Path::new(package.to_str()?).with_file_name("models");
    if models.is_dir() {
        costar::solver::models::add_installed(models);
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<puzzle::Puzzle>()?;
    module.add_class::<solver::Solver>()?;
    module.add_class::<model::Model>()
}

/// Time between two looks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs work on another thread, without the interpreter's lock. If a signal handler raises an exception, as Ctrl-C does,
/// the flag that `work` receives is set, and the exception is raised once the work has ended.
fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Arc<AtomicBool>) -> T + Send) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let caller = thread::current();
    thread::scope(|scope| {
        let stop = &stop;
        let worker = scope.spawn(move || {
            let result = work(stop);
            caller.unpark();
            result
        });
        let mut interrupt = Ok(());
        while !worker.is_finished() {
            py.detach(|| thread::park_timeout(SIGNAL_INTERVAL));
            if interrupt.is_ok() {
                interrupt = py.check_signals();
                stop.store(interrupt.is_err(), Ordering::Relaxed);
            }
        }
        let result = worker.join();
        interrupt?;
        result.map_err(|_| PyRuntimeError::new_err("a thread of costar panicked: this is a bug in costar"))
    })
}

/// The exception of a library error: `RuntimeError` for a bug or a device that failed, `ValueError` for all others.
fn exception(error: &Error) -> PyErr {
    match error {
        Error::Bug(_) | Error::Device(_) => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A setting from its text.
fn parsed<T: FromStr<Err = String>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| refusal(format!("`{name}`: {error}")))
}

/// The exception of a text that is not a value of a setting.
fn refusal(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Numbers as little-endian bytes.
fn bytes_of_floats<'py>(py: Python<'py>, numbers: &[f32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Numbers from little-endian bytes.
fn floats_of_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
