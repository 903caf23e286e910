//! The Python module `costar._costar`: a thin layer over the library. `python/costar/__init__.py` has what users see.
//!
//! Rows of states cross the border as bytes, in row-major order, and results as JSON: the package in Python makes arrays and
//! dataclasses of them.

use pyo3::prelude::*;

mod convert;
mod heuristic;
mod interrupt;
mod model;
mod puzzle;
mod solver;

#[pymodule]
fn _costar(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<puzzle::Puzzle>()?;
    module.add_class::<solver::Solver>()?;
    module.add_class::<model::Model>()
}
