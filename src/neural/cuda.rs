//! CUDA: its libraries are loaded at run time, a device is tried before it is used, and errors are explained.

use crate::tensors::{caught, host_values, is_out_of_memory};
use crate::waiting::Waiting;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why a CUDA device cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`device` cuda: {0}")]
pub struct NoCuda(pub(super) String);

/// Opens the CUDA device of an index, counted from 0.
pub(super) fn open(index: usize) -> Result<tch::Device, NoCuda> {
    let _waiting = Waiting::during("opening CUDA".into());
    open_library()?;
    let device = tch::Device::Cuda(index);
    if !tch::utils::has_cuda() || !tch::Cuda::is_available() {
        // libtorch gives the reason only to operations on a GPU.
        let reason = caught(|| small_product(device)).err().map(|message| format!(": {}", explain(&message)));
        return Err(NoCuda(format!("libtorch finds no usable GPU{}", reason.unwrap_or_default())));
    }
    let count = tch::Cuda::device_count();
    if index as i64 >= count {
        return Err(NoCuda(format!("there is no device {index}: this machine has {count}, numbered from 0")));
    }
    try_once(index).map(|()| device)
}

/// Opens `libtorch_cuda.so`, once, before the first call that asks libtorch about CUDA: it registers its hooks then, and
/// one program serves machines with and without the CUDA libraries.
fn open_library() -> Result<(), NoCuda> {
    static OPENED: OnceLock<Result<(), NoCuda>> = OnceLock::new();
    let open = || {
        if !has_driver() {
            return Err(NoCuda("there is no NVIDIA driver on this machine (libcuda.so.1 is not found)".into()));
        }
        // SAFETY: a library's initializers run; libtorch_cuda.so is made to be loaded so, and is never closed.
        let library = unsafe {
            use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
            Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL)
        };
        library.map(std::mem::forget).map_err(|error| {
            let cause = root_cause(&error);
            NoCuda(format!("the CUDA libraries do not load ({cause}): install them with scripts/setup --cuda"))
        })
    };
    OPENED.get_or_init(open).clone()
}

/// The memory of an open device in bytes, if CUDA tells; all of it, so that a search takes as much every time.
pub(super) fn memory(index: usize) -> Option<u64> {
    let library = libloading::os::unix::Library::this();
    let (mut free, mut total) = (0usize, 0usize);
    // SAFETY: the types are those of CUDA's headers; CUDA writes two numbers.
    unsafe {
        let select = library.get::<unsafe extern "C" fn(c_int) -> c_int>(b"cudaSetDevice").ok()?;
        let get = library.get::<unsafe extern "C" fn(*mut usize, *mut usize) -> c_int>(b"cudaMemGetInfo").ok()?;
        (select(index as c_int) == 0 && get(&mut free, &mut total) == 0).then_some(total as u64)
    }
}

fn has_driver() -> bool {
    ["/proc/driver/nvidia/version", "/dev/nvidiactl"].iter().any(|path| Path::new(path).exists())
        // SAFETY: the driver's library is made to be loaded so; it is closed again at once.
        || unsafe { libloading::Library::new("libcuda.so.1") }.is_ok()
}

fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

/// The result of a small product on a device, tried once: a listed device may still refuse to work.
fn try_once(index: usize) -> Result<(), NoCuda> {
    static TRIED: Mutex<BTreeMap<usize, Result<(), NoCuda>>> = Mutex::new(BTreeMap::new());
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    tried.entry(index).or_insert_with(|| try_product(tch::Device::Cuda(index), &format!("cuda:{index}"))).clone()
}

fn try_product(device: tch::Device, name: &str) -> Result<(), NoCuda> {
    match caught(|| small_product(device)) {
        Ok(sum) if sum == SMALL_PRODUCT => Ok(()),
        Ok(sum) => Err(NoCuda(format!("{name} computes wrongly: a small product gave {sum}, not {SMALL_PRODUCT}"))),
        Err(message) => Err(NoCuda(format!("{name} does not work: {}", explain(&message)))),
    }
}

/// The sum over a product of two matrices of ones, exact in bf16.
const SMALL_PRODUCT: f32 = 64.0 * 64.0 * 64.0;

fn small_product(device: tch::Device) -> f32 {
    let ones = tch::Tensor::ones([64, 64], (tch::Kind::BFloat16, device));
    host_values(&ones.matmul(&ones).sum(tch::Kind::Float))[0]
}

/// Phrases of CUDA's errors, separated by `|`, and their cause with its remedy.
const CAUSES: [(&str, &str); 6] = [
    (
        "driver version is insufficient|driver on your system is too old|forward compatibility|\
         unsupported display driver|unsupported toolchain",
        "the NVIDIA driver is older than these CUDA libraries need: CUDA 13 needs release 580 or newer (nvidia-smi shows \
         the driver's); update the driver, or install PyTorch's build for CUDA 12.8 and run scripts/setup --use-pytorch",
    ),
    (
        "no kernel image|not compatible with the current pytorch|unsupported architecture|invalid device function|\
         arch_mismatch",
        "these CUDA libraries have no code for this GPU: it is older or newer than they support",
    ),
    (
        "busy or unavailable|exclusive|all cuda-capable devices are busy",
        "another process has it for itself (nvidia-smi shows which): wait for that process, or name another device",
    ),
    (
        "no cuda gpus are available|found no nvidia driver|no cuda-capable device",
        "is there one, does CUDA_VISIBLE_DEVICES name it, and is the NVIDIA driver loaded (nvidia-smi)?",
    ),
    (
        "system not yet initialized",
        "the driver waits for NVIDIA's fabric manager, which joins the GPUs of this machine: start its service \
         (systemctl start nvidia-fabricmanager)",
    ),
    ("ecc error|has fallen off the bus", "the GPU has a fault: nvidia-smi says more"),
];

/// The cause of an error of CUDA and its remedy, with the message; the message alone if the cause is not known.
fn explain(message: &str) -> String {
    if is_out_of_memory(message) {
        return "its memory is full: nvidia-smi shows what uses it".into();
    }
    let lower = message.to_lowercase();
    let known = CAUSES.iter().find(|(phrases, _)| phrases.split('|').any(|phrase| lower.contains(phrase)));
    known.map_or_else(|| message.to_owned(), |(_, cause)| format!("{cause} ({message})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_works_passes_the_trial() {
        assert_eq!(small_product(tch::Device::Cpu), SMALL_PRODUCT);
        assert!(try_product(tch::Device::Cpu, "cpu").is_ok());
    }

    #[test]
    fn errors_of_cuda_are_told_apart() {
        for (message, expected) in [
            ("CUDA driver version is insufficient for CUDA runtime version", "older than these CUDA libraries need"),
            ("CUDA error: no kernel image is available for execution on the device", "have no code for this GPU"),
            ("CUDA error: CUDA-capable device(s) is/are busy or unavailable", "another process has it"),
            ("CUDA out of memory. Tried to allocate 20.00 MiB", "its memory is full"),
            ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "its memory is full"),
            (
                "The NVIDIA driver on your system is too old (found version 12020).",
                "older than these CUDA libraries need",
            ),
            (
                "CUDA error: system has unsupported display driver / cuda driver combination",
                "older than these CUDA libraries need",
            ),
            (
                "CUDA error: the provided PTX was compiled with an unsupported toolchain.",
                "older than these CUDA libraries need",
            ),
            ("CUDA error: CUBLAS_STATUS_ARCH_MISMATCH when calling", "have no code for this GPU"),
            ("CUDA error: system not yet initialized", "fabric manager"),
            ("No CUDA GPUs are available", "is there one, does CUDA_VISIBLE_DEVICES name it"),
            ("CUDA error: something new", "CUDA error: something new"),
        ] {
            let cause = explain(message);
            let has_message = cause.contains(message) || is_out_of_memory(message);
            assert!(cause.contains(expected) && has_message, "{message}: {cause}");
        }
    }
}
