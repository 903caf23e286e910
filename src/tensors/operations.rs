//! Operations of libtorch that tch lacks: see `operations.cpp`. They panic as operations of tch do: if the device
//! fails, or the tensors do not fit together.

use crate::error::{CppMessage, checked};
use crate::puzzle::Grid;
use std::ffi::c_void;
use std::ptr::null_mut;
use tch::Tensor;

/// The place for a call's result.
type Made = *mut *mut c_void;

unsafe extern "C" {
    fn costar_fused_adamw(tensors: *const [*const c_void; 6], rates: *const Rates) -> CppMessage;

    fn costar_linear_relu(tensors: *const [*const c_void; 3], made: Made) -> CppMessage;

    fn costar_convolution(
        images: *const c_void,
        taps: *const c_void,
        rows: i64,
        columns: i64,
        made: Made,
    ) -> CppMessage;

    fn costar_pinned(like: *const c_void, count: i64, made: Made) -> CppMessage;

    fn costar_begin_download(tensor: *const c_void, made: Made) -> CppMessage;

    fn costar_is_downloaded(download: *const c_void, is_done: *mut bool) -> CppMessage;

    fn costar_end_download(download: *const c_void, made: Made) -> CppMessage;

    fn costar_drop_download(download: *mut c_void);
}

fn pointer(tensor: &Tensor) -> *const c_void {
    tensor.as_ptr().cast()
}

/// Panics if a call returned a message of libtorch.
///
/// # Safety
/// See [`checked`].
unsafe fn check(message: CppMessage) {
    // SAFETY: the caller's promise.
    unsafe { checked(message) }.unwrap_or_else(|text| panic!("{text}"));
}

/// The tensor that a call makes.
///
/// # Safety
/// The call writes an owned tensor to its argument, or returns a message for [`check`].
unsafe fn made(call: impl FnOnce(Made) -> CppMessage) -> Tensor {
    let mut tensor = null_mut();
    let message = call(&mut tensor);
    // SAFETY: the caller's promise.
    unsafe {
        check(message);
        Tensor::from_ptr(tensor.cast())
    }
}

/// The settings of AdamW.
#[repr(C)]
pub(crate) struct Rates {
    /// Used if [`adamw`] gets no `learning_rate`.
    pub(crate) learning_rate: f64,
    pub(crate) beta1: f64,
    pub(crate) beta2: f64,
    pub(crate) weight_decay: f64,
    pub(crate) epsilon: f64,
}

/// One step of AdamW, in place; `steps` is the number of steps, including this one, as an f32 on the same device; so is
/// `learning_rate`, which replaces that of `rates`.
pub(crate) fn adamw(
    values: &Tensor,
    gradient: &Tensor,
    moments: &[Tensor; 2],
    steps: &Tensor,
    learning_rate: Option<&Tensor>,
    rates: &Rates,
) {
    let [values, gradient, first, second, steps] = [values, gradient, &moments[0], &moments[1], steps].map(pointer);
    let tensors = [values, gradient, first, second, steps, learning_rate.map_or(std::ptr::null(), pointer)];
    // SAFETY: all are tensors, which outlive the call, or null for none.
    unsafe { check(costar_fused_adamw(&tensors, rates)) };
}

/// A dense layer and ReLU on `samples × inputs`, with weights `outputs × inputs` and one bias per output; one kernel if
/// the device has one. Not differentiable.
pub(crate) fn linear_relu(input: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
    let tensors = [input, weight, bias].map(pointer);
    // SAFETY: all are tensors, which outlive the call.
    unsafe { made(|made| costar_linear_relu(&tensors, made)) }
}

/// A 3×3 convolution with "same" padding, for training: from `samples × (cells · inputs)`, with taps
/// `outputs × 3 × 3 × inputs`, to `samples × (cells · outputs)`.
pub(crate) fn convolution(images: &Tensor, taps: &Tensor, grid: Grid) -> Tensor {
    let (rows, columns) = (grid.rows as i64, grid.columns as i64);
    // SAFETY: all are tensors, which outlive the call.
    unsafe { made(|made| costar_convolution(pointer(images), pointer(taps), rows, columns, made)) }
}

/// Copies numbers to a device; to CUDA through pinned memory, without waiting.
pub(crate) fn to_device<T: tch::kind::Element + Copy>(numbers: &[T], device: tch::Device) -> Tensor {
    if !device.is_cuda() || numbers.is_empty() {
        return Tensor::from_slice(numbers).to_device(device);
    }
    let like = Tensor::from_slice(&numbers[..1]);
    // SAFETY: `like` is a tensor, which outlives the call; the new one holds as many numbers of the same type.
    let pinned = unsafe {
        let pinned = made(|made| costar_pinned(pointer(&like), numbers.len() as i64, made));
        std::ptr::copy_nonoverlapping(numbers.as_ptr(), pinned.data_ptr().cast(), numbers.len());
        pinned
    };
    pinned.to_device_(device, T::KIND, true, false)
}

/// Copies a tensor to pinned memory without waiting. The device writes it after all earlier work.
pub(crate) struct AsyncDownload(*mut c_void);

impl AsyncDownload {
    /// Begins the copy.
    pub(crate) fn begin(tensor: &Tensor) -> Self {
        let mut download = null_mut();
        // SAFETY: it is a tensor, which outlives the call; the call writes its result.
        unsafe { check(costar_begin_download(pointer(tensor), &mut download)) };
        AsyncDownload(download)
    }

    /// Whether the copy is done, or has failed, which [`AsyncDownload::end`] reports.
    pub(crate) fn is_done(&self) -> bool {
        let mut is_done = true;
        // SAFETY: `begin` made it, and the message is taken.
        let checked = unsafe { checked(costar_is_downloaded(self.0, &mut is_done)) };
        checked.is_err() || is_done
    }

    /// Waits for the tensor on the host.
    pub(crate) fn end(&self) -> Tensor {
        // SAFETY: `begin` made it; the call makes a tensor.
        unsafe { made(|made| costar_end_download(self.0, made)) }
    }
}

impl Drop for AsyncDownload {
    fn drop(&mut self) {
        // SAFETY: `begin` made it, and it is not used again.
        unsafe { costar_drop_download(self.0) };
    }
}
