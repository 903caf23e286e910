//! Calls of libtorch: without gradients, with errors as values, and numbers read on the host. `operations` has what tch
//! lacks; `moves` makes the moves of a puzzle on rows of a tensor; `cuda_graph` records
//! what runs on a GPU, and starts it again.

pub(crate) mod cuda_graph;
pub(crate) mod moves;
pub(crate) mod operations;

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use tch::kind::Element;
use tch::{Kind, Tensor};

/// Runs without recording gradients. Restores the previous setting after a panic too, which `tch::no_grad` does not.
pub(crate) fn no_grad<T>(run: impl FnOnce() -> T) -> T {
    let _guard = tch::no_grad_guard();
    run()
}

/// Runs code that calls libtorch, whose errors come as panics: returns a short form of the error, and prints nothing.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                print(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    // Unwind safe: after an error, callers give up or start the operation again.
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    QUIET.set(before);
    result.map_err(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        short_message(message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("libtorch failed"))
    })
}

/// The first line of an error of libtorch; if memory is short, its first three sentences, without PyTorch's advice.
///
/// tch panics with the error as a Rust literal: in quotes, on one line.
fn short_message(message: &str) -> String {
    let literal = message.split_once("Torch(\"").map(|(_, text)| text.trim_end_matches("\")"));
    let line = match literal {
        Some(text) => text.split("\\n").next().unwrap_or_default().replace("\\\"", "\""),
        None => message.lines().next().unwrap_or_default().to_owned(),
    };
    if is_out_of_memory(&line) { line.split(". ").take(3).collect::<Vec<_>>().join(". ") } else { line }
}

/// Whether libtorch's message says, in one of its forms, that a device or the system has too little memory.
pub(crate) fn is_out_of_memory(message: &str) -> bool {
    const FORMS: [&str; 7] = [
        "out of memory",
        "alloc_failed", // cuBLAS, cuDNN
        "allocation_failed",
        "cublas_status_not_initialized", // no memory for its handle
        "can't allocate memory",
        "not enough memory",
        "bad_alloc",
    ];
    let lower = message.to_lowercase();
    FORMS.iter().any(|form| lower.contains(form))
}

/// The numbers of a tensor as f32 on the host. Waits for the device.
pub(crate) fn host_values(tensor: &Tensor) -> Vec<f32> {
    host_numbers(&tensor.to_kind(Kind::Float))
}

/// The numbers of a tensor of this kind on the host. Waits for the device.
///
/// # Panics
/// If the tensor is of another kind.
pub(crate) fn host_numbers<T: Element>(tensor: &Tensor) -> Vec<T> {
    #[cfg(test)]
    tests::count_read();
    let tensor = tensor.detach().to_device(tch::Device::Cpu).contiguous();
    let mut numbers = vec![T::ZERO; tensor.numel()];
    let count = numbers.len();
    tensor.copy_data(&mut numbers, count);
    numbers
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    thread_local!(static READS: Cell<usize> = const { Cell::new(0) });

    pub(crate) fn count_read() {
        READS.set(READS.get() + 1);
    }

    /// How often this thread has read a tensor's numbers.
    pub(crate) fn reads() -> usize {
        READS.get()
    }

    #[test]
    fn gradients_are_recorded_after_an_error() {
        let ones = Tensor::ones([2], (Kind::Float, tch::Device::Cpu)).set_requires_grad(true);
        let failed = caught(|| no_grad(|| ones.view([3])));
        let message = failed.expect_err("two numbers have no view of three");
        assert_eq!(message, "shape '[3]' is invalid for input of size 2", "its first line, and nothing else");
        assert!((&ones * 2.0).requires_grad());
        assert!(!no_grad(|| &ones * 2.0).requires_grad());
    }

    #[test]
    fn lack_of_memory_is_recognized() {
        assert!(!is_out_of_memory("CUDA error: device-side assert triggered"));
        for message in [
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
            "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
            "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
            "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
            "C10 Out of Memory",
            "std::bad_alloc",
        ] {
            assert!(is_out_of_memory(message), "{message}");
        }
    }

    #[test]
    fn advice_of_pytorch_is_cut() {
        let facts = "CUDA out of memory. Tried to allocate 20.00 GiB. \
                     GPU 0 has a total capacity of 79.19 GiB of which 1.02 GiB is free";
        let advice = "Including non-PyTorch memory, this process has 78.17 GiB memory in use. Of the allocated memory \
                      77.00 GiB is allocated by PyTorch. Try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
        assert_eq!(short_message(&format!("{facts}. {advice}")), facts);
    }
}
