//! Operations of libtorch that tch does not offer: see `fused.cpp`.

use std::ffi::{CStr, c_char, c_void};
use tch::Tensor;

unsafe extern "C" {
    fn costar_fused_adamw(
        values: *const c_void,
        gradient: *const c_void,
        first: *const c_void,
        second: *const c_void,
        steps: *const c_void,
        learning_rate: f64,
        beta1: f64,
        beta2: f64,
        weight_decay: f64,
        epsilon: f64,
    ) -> *mut c_char;
}

/// The numbers of AdamW that are no tensors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    pub(super) learning_rate: f64,
    pub(super) betas: [f64; 2],
    pub(super) weight_decay: f64,
    pub(super) epsilon: f64,
}

/// One step of AdamW, in place; `steps` is their number, this one included, as an f32 on the same device.
///
/// # Panics
/// As operations of tch do: if the device fails, or the tensors do not fit together.
pub(super) fn adamw(values: &Tensor, gradient: &Tensor, moments: &[Tensor; 2], steps: &Tensor, rates: Rates) {
    let pointer = |tensor: &Tensor| tensor.as_ptr().cast::<c_void>();
    let Rates { learning_rate, betas: [beta1, beta2], weight_decay, epsilon } = rates;
    // SAFETY: all are tensors, which live as long as the call; a message ends with a zero, and is ours to free.
    unsafe {
        let message = costar_fused_adamw(
            pointer(values),
            pointer(gradient),
            pointer(&moments[0]),
            pointer(&moments[1]),
            pointer(steps),
            learning_rate,
            beta1,
            beta2,
            weight_decay,
            epsilon,
        );
        if !message.is_null() {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            libc::free(message.cast());
            panic!("{text}");
        }
    }
}
