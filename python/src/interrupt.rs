//! Work that does not hold the interpreter's lock, and that Ctrl-C ends.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often it is asked whether a signal came.
const PATIENCE: Duration = Duration::from_millis(50);

/// Does some work on a thread of its own, without the interpreter's lock. Where a signal's handler raises an exception, as
/// Ctrl-C does, the flag that the work was given is set, and once the work has ended, the exception is raised.
pub(crate) fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let stop = AtomicBool::new(false);
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
            py.detach(|| thread::park_timeout(PATIENCE));
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
