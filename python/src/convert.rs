//! Errors and numbers, as Python has them.

use costar::Error;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fmt::Display;

/// An error of the library as an exception: a bug and a device that failed as `RuntimeError`, all else as `ValueError`.
pub(crate) fn exception(error: &Error) -> PyErr {
    match error {
        Error::Bug(_) | Error::Device(_) => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Text that could not be read as a setting's value.
pub(crate) fn refusal(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Numbers as bytes, little-endian.
pub(crate) fn bytes_of_floats<'py>(py: Python<'py>, numbers: &[f32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Numbers from little-endian bytes.
pub(crate) fn floats_of_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
