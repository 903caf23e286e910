//! Operations of libtorch that tch does not offer: see `operations.cpp`.

use crate::guarded::checked;
use crate::puzzle::Grid;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
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

    fn costar_linear_relu(
        input: *const c_void,
        weight: *const c_void,
        bias: *const c_void,
        made: *mut *mut c_void,
    ) -> *mut c_char;

    fn costar_convolution(
        images: *const c_void,
        taps: *const c_void,
        rows: i64,
        columns: i64,
        made: *mut *mut c_void,
    ) -> *mut c_char;

    fn costar_pinned(like: *const c_void, count: i64, made: *mut *mut c_void) -> *mut c_char;

    fn costar_begin_arrival(numbers: *const c_void, made: *mut *mut c_void) -> *mut c_char;

    fn costar_has_arrived(arriving: *const c_void, has_arrived: *mut bool) -> *mut c_char;

    fn costar_end_arrival(arriving: *const c_void, made: *mut *mut c_void) -> *mut c_char;

    fn costar_drop_arrival(arriving: *mut c_void);
}

fn pointer(tensor: &Tensor) -> *const c_void {
    tensor.as_ptr().cast()
}

/// Panics with a message of libtorch, if there is one, as the operations of tch do.
///
/// # Safety
/// As [`checked`].
unsafe fn check(message: *mut c_char) {
    // SAFETY: as the caller says.
    unsafe { checked(message) }.unwrap_or_else(|text| panic!("{text}"));
}

/// The tensor that a call makes.
///
/// # Safety
/// The call writes a tensor of its own to its argument, or returns what [`check`] takes.
unsafe fn made(call: impl FnOnce(*mut *mut c_void) -> *mut c_char) -> Tensor {
    let mut tensor = null_mut();
    let message = call(&mut tensor);
    // SAFETY: as the caller says.
    unsafe {
        check(message);
        Tensor::from_ptr(tensor.cast())
    }
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
    let Rates { learning_rate, betas: [beta1, beta2], weight_decay, epsilon } = rates;
    // SAFETY: all are tensors, which live as long as the call.
    unsafe {
        check(costar_fused_adamw(
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
        ));
    }
}

/// A dense layer and ReLU: of `samples × inputs`, by weights `outputs × inputs` and a bias for each output. In one kernel
/// where the device has one. Cannot be differentiated.
///
/// # Panics
/// As operations of tch do.
pub(super) fn linear_relu(input: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
    // SAFETY: all are tensors, which live as long as the call.
    unsafe { made(|made| costar_linear_relu(pointer(input), pointer(weight), pointer(bias), made)) }
}

/// A 3×3 convolution with "same" padding, for training: of `samples × (cells · inputs)`, with taps
/// `outputs × 3 × 3 × inputs`, to `samples × (cells · outputs)`.
///
/// # Panics
/// As operations of tch do.
pub(super) fn convolution(images: &Tensor, taps: &Tensor, grid: Grid) -> Tensor {
    let (rows, columns) = (grid.rows as i64, grid.columns as i64);
    // SAFETY: all are tensors, which live as long as the call.
    unsafe { made(|made| costar_convolution(pointer(images), pointer(taps), rows, columns, made)) }
}

/// Numbers of the host on their way to a device: to CUDA without waiting, from memory that it reads by itself and that is
/// not used again before it has.
///
/// # Panics
/// As operations of tch do.
pub(super) fn to_device<T: tch::kind::Element + Copy>(numbers: &[T], device: tch::Device) -> Tensor {
    if !device.is_cuda() || numbers.is_empty() {
        return Tensor::from_slice(numbers).to_device(device);
    }
    let like = Tensor::from_slice(&numbers[..1]);
    // SAFETY: it is a tensor, which lives as long as the call. The one that is made has room for all numbers.
    let pinned = unsafe {
        let pinned = made(|made| costar_pinned(pointer(&like), numbers.len() as i64, made));
        std::ptr::copy_nonoverlapping(numbers.as_ptr(), pinned.data_ptr().cast(), numbers.len());
        pinned
    };
    pinned.to_device_(device, T::KIND, true, false)
}

/// Numbers of a device on their way to the host, which need not wait: they go into memory that the device writes by itself, once
/// all work is done that it was given before.
pub(super) struct Arriving(*mut c_void);

impl Arriving {
    /// Begins to copy a tensor.
    ///
    /// # Panics
    /// As operations of tch do.
    pub(super) fn begin(numbers: &Tensor) -> Self {
        let mut arriving = null_mut();
        // SAFETY: it is a tensor, which lives as long as the call; the call writes what it has made.
        unsafe { check(costar_begin_arrival(pointer(numbers), &mut arriving)) };
        Arriving(arriving)
    }

    /// Whether all numbers are there; also where the device has failed, as [`Arriving::end`] will tell.
    pub(super) fn is_done(&self) -> bool {
        let mut has_arrived = true;
        // SAFETY: it was made by `begin`, and the message is taken.
        let told = unsafe { checked(costar_has_arrived(self.0, &mut has_arrived)) };
        told.is_err() || has_arrived
    }

    /// Waits for the numbers: a tensor of the host.
    ///
    /// # Panics
    /// As operations of tch do.
    pub(super) fn end(&self) -> Tensor {
        // SAFETY: it was made by `begin`; the call makes a tensor.
        unsafe { made(|made| costar_end_arrival(self.0, made)) }
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        // SAFETY: it was made by `begin`, and is not used again.
        unsafe { costar_drop_arrival(self.0) };
    }
}
