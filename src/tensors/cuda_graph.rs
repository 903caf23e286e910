//! CUDA graphs: see `cuda_graph.cpp`.

use super::caught;
use crate::error::checked;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

unsafe extern "C" {
    fn costar_begin_graph(device: i64, made: *mut *mut c_void) -> *mut c_char;

    fn costar_end_graph(graph: *mut c_void) -> *mut c_char;

    fn costar_start_graph(graph: *mut c_void) -> *mut c_char;

    fn costar_drop_graph(graph: *mut c_void);
}

/// Work of a CUDA device that is recorded, to be started again by one launch. It works on the tensors that were used while it
/// was recorded, where they lie.
pub(crate) struct CudaGraph(*mut c_void);

impl CudaGraph {
    /// Records what `run` starts on a device; the kernels do not run yet.
    ///
    /// # Errors
    /// If this libtorch has no CUDA graphs, or `run` does what cannot be recorded, such as waiting for the device.
    pub(crate) fn record(device: usize, run: impl FnOnce()) -> Result<Self, String> {
        let mut graph = null_mut();
        // SAFETY: the call writes its result, or returns a message.
        unsafe { checked(costar_begin_graph(device as i64, &mut graph))? };
        let graph = CudaGraph(graph);
        let ran = caught(run);
        // SAFETY: it has begun.
        let ended = unsafe { checked(costar_end_graph(graph.0)) };
        ran.and(ended).map(|()| graph)
    }

    /// Starts what was recorded, after all earlier work of the device.
    ///
    /// # Panics
    /// If the device fails.
    pub(crate) fn start(&self) {
        // SAFETY: it was recorded.
        unsafe { checked(costar_start_graph(self.0)) }.unwrap_or_else(|text| panic!("{text}"));
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        // SAFETY: `record` made it, and it is not used again.
        unsafe { costar_drop_graph(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cuda_nothing_is_recorded() {
        let mut has_run = false;
        let failed = CudaGraph::record(0, || has_run = true).err().expect("no CUDA");
        assert!(!failed.is_empty() && !has_run, "{failed}");
    }
}
