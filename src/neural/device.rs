//! Where tensors live: the CPU or a CUDA device, chosen by name and never silently.

use super::parameters::host_values;
use crate::error::{Error, Result};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What `--device` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// CUDA where it works, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this process: the first, unless it [was told](use_local_device) another.
    LocalCuda,
    /// A CUDA device by number.
    Cuda(usize),
}

/// The number of this process's own CUDA device.
static LOCAL: AtomicUsize = AtomicUsize::new(0);

/// From now on, `cuda` and `auto` mean the CUDA device of this number: each of several processes takes one.
pub fn use_local_device(number: usize) {
    LOCAL.store(number, Ordering::Relaxed);
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::LocalCuda),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|number| number.parse().ok())
                .map(DeviceChoice::Cuda)
                .ok_or_else(|| format!("unknown device '{text}': expected auto, cpu, cuda or cuda:I")),
        }
    }
}

/// A device that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device(pub(crate) tch::Device);

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            tch::Device::Cuda(number) => write!(f, "cuda:{number}"),
            _ => f.write_str("cpu"),
        }
    }
}

/// Why a CUDA device cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`device` cuda: {0}")]
pub struct NoCuda(String);

impl Device {
    /// The CPU.
    pub const CPU: Device = Device(tch::Device::Cpu);

    /// Resolves a choice.
    ///
    /// # Errors
    /// If CUDA was asked for and cannot be used: says why. `auto` takes the CPU then.
    pub fn resolve(choice: DeviceChoice) -> Result<Device, NoCuda> {
        match choice {
            DeviceChoice::Cpu => Ok(Device::CPU),
            DeviceChoice::Cuda(number) => cuda(number),
            DeviceChoice::LocalCuda => cuda(LOCAL.load(Ordering::Relaxed)),
            DeviceChoice::Auto => Ok(cuda(LOCAL.load(Ordering::Relaxed)).unwrap_or(Device::CPU)),
        }
    }

    /// Says in the log, once for each device, what `auto` has taken, and among the details, why it was not CUDA.
    pub fn log_choice(self, choice: DeviceChoice) {
        static SAID: Mutex<Vec<Device>> = Mutex::new(Vec::new());
        if choice == DeviceChoice::Auto {
            let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
            if said.contains(&self) {
                return;
            }
            said.push(self);
            log::info!("running on {self}");
            if !log::log_enabled!(log::Level::Debug) {
                return; // it takes seconds to ask
            }
            match cuda(LOCAL.load(Ordering::Relaxed)) {
                Err(NoCuda(why)) => log::debug!("`device` auto takes the CPU: {why}"),
                Ok(found) if found != self => {
                    log::debug!("`device` auto takes the CPU: the search asks for a few states at a time");
                }
                Ok(_) => (),
            }
        }
    }

    /// A CUDA device that need not be there.
    #[cfg(test)]
    pub(crate) fn for_tests(number: usize) -> Device {
        Device(tch::Device::Cuda(number))
    }

    /// Whether this is a CUDA device.
    pub fn is_cuda(self) -> bool {
        matches!(self.0, tch::Device::Cuda(_))
    }

    /// Whether matrix products in bf16 are faster here than in f32.
    pub fn has_fast_bf16(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let cpu = is_x86_feature_detected!("avx512bf16");
        #[cfg(not(target_arch = "x86_64"))]
        let cpu = false;
        self.is_cuda() || cpu
    }

    /// How many threads keep it fed with samples; on the CPU these cost 1 % of the training.
    pub fn sampler_threads(self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        if self.is_cuda() { cores.saturating_sub(2).clamp(1, 16) } else { 1 }
    }

    /// Runs what uses the device.
    ///
    /// # Errors
    /// If the device fails: the first line of what libtorch says.
    pub(crate) fn run<T>(self, run: impl FnOnce() -> T) -> Result<T> {
        caught(run).map_err(|error| Error::Device(format!("{self} failed: {error}")))
    }

    /// Waits until the device has done all that it was given.
    pub fn synchronize(self) {
        if let tch::Device::Cuda(number) = self.0 {
            tch::Cuda::synchronize(number as i64);
        }
    }
}

fn cuda(number: usize) -> Result<Device, NoCuda> {
    open_cuda_library()?;
    if !tch::utils::has_cuda() || !tch::Cuda::is_available() {
        return Err(no_gpu(number));
    }
    let count = tch::Cuda::device_count();
    if number as i64 >= count {
        return Err(NoCuda(format!("there is no device {number}: this machine has {count}, numbered from 0")));
    }
    let device = Device(tch::Device::Cuda(number));
    try_out(device)?;
    Ok(device)
}

/// Why libtorch counts no GPU: only what uses one is told the reason.
fn no_gpu(number: usize) -> NoCuda {
    let why = match caught(|| small_product(Device(tch::Device::Cuda(number)))) {
        Ok(_) => String::new(),
        Err(message) => format!(": {}", cause_of(&message)),
    };
    NoCuda(format!("libtorch finds no usable GPU{why}"))
}

/// Runs a small product on a device, once: a device that is listed may still refuse to work.
fn try_out(device: Device) -> Result<(), NoCuda> {
    static TRIED: Mutex<Vec<(Device, Result<(), NoCuda>)>> = Mutex::new(Vec::new());
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = tried.iter().find(|(other, _)| *other == device) {
        return known.clone();
    }
    let sum = caught(|| small_product(device));
    let result = match sum {
        Ok(sum) if sum == SMALL_PRODUCT => Ok(()),
        Ok(sum) => Err(NoCuda(format!("{device} computes wrongly: a small product gave {sum}, not {SMALL_PRODUCT}"))),
        Err(message) => Err(NoCuda(format!("{device} does not work: {}", cause_of(&message)))),
    };
    tried.push((device, result.clone()));
    result
}

/// The sum over a product of two matrices of ones, exact in bf16.
const SMALL_PRODUCT: f64 = 64.0 * 64.0 * 64.0;

fn small_product(device: Device) -> f64 {
    let ones = tch::Tensor::ones([64, 64], (tch::Kind::BFloat16, device.0));
    let sum = host_values(&ones.matmul(&ones).sum(tch::Kind::Float));
    device.synchronize();
    f64::from(sum[0])
}

/// What an error of CUDA means, and what to do about it; the message itself where that is not known.
fn cause_of(message: &str) -> String {
    const CAUSES: [(&[&str], &str); 6] = [
        (
            &[
                "driver version is insufficient",
                "driver on your system is too old",
                "forward compatibility",
                "unsupported display driver",
                "unsupported toolchain",
            ],
            "the NVIDIA driver is older than these CUDA libraries need: CUDA 13 needs release 580 or newer (nvidia-smi shows \
             the driver's); update the driver, or install PyTorch's build for CUDA 12.8 and run scripts/setup --use-pytorch",
        ),
        (
            &[
                "no kernel image",
                "not compatible with the current pytorch",
                "unsupported architecture",
                "invalid device function",
                "arch_mismatch",
            ],
            "these CUDA libraries have no code for this GPU: it is older or newer than they know",
        ),
        (
            &["busy or unavailable", "exclusive", "all cuda-capable devices are busy"],
            "another process has it for itself (nvidia-smi shows which): wait for that, or name another device",
        ),
        (
            &["no cuda gpus are available", "found no nvidia driver", "no cuda-capable device"],
            "is there one, does CUDA_VISIBLE_DEVICES name it, and is the NVIDIA driver loaded (nvidia-smi)?",
        ),
        (
            &["system not yet initialized"],
            "the driver waits for NVIDIA's fabric manager, which joins the GPUs of this machine: start its service \
             (systemctl start nvidia-fabricmanager)",
        ),
        (&["ecc error", "has fallen off the bus"], "the GPU has a fault: nvidia-smi says more"),
    ];
    if is_out_of_memory(message) {
        return format!("its memory is full ({message}): nvidia-smi shows what uses it");
    }
    let lower = message.to_lowercase();
    let known = CAUSES.iter().find(|(words, _)| words.iter().any(|word| lower.contains(word)));
    known.map_or_else(|| message.to_owned(), |(_, cause)| format!("{cause} ({message})"))
}

/// Whether libtorch's message says, in one of its forms, that a device or the system has too little memory.
pub(super) fn is_out_of_memory(message: &str) -> bool {
    const FORMS: [&str; 7] = [
        "out of memory",
        "alloc_failed", // of cuBLAS and cuDNN
        "allocation_failed",
        "cublas_status_not_initialized", // where its handle finds no room
        "can't allocate memory",
        "not enough memory",
        "bad_alloc",
    ];
    let lower = message.to_lowercase();
    FORMS.iter().any(|form| lower.contains(form))
}

/// Opens `libtorch_cuda.so`, once, before the first call that asks libtorch about CUDA: its hooks register then, and
/// one program serves machines with and without the CUDA libraries.
fn open_cuda_library() -> Result<(), NoCuda> {
    static OPENED: OnceLock<Result<(), NoCuda>> = OnceLock::new();
    OPENED
        .get_or_init(|| {
            if !has_driver() {
                return Err(NoCuda("there is no NVIDIA driver on this machine (libcuda.so.1 is not found)".into()));
            }
            // SAFETY: a library's initialisers run; libtorch_cuda.so is made to be loaded so, and lives on for ever.
            let library = unsafe {
                use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
                Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL)
            };
            match library {
                Ok(library) => {
                    std::mem::forget(library);
                    Ok(())
                }
                Err(error) => Err(NoCuda(format!(
                    "the CUDA libraries do not load ({}): install them with scripts/setup --cuda",
                    root_cause(&error)
                ))),
            }
        })
        .clone()
}

fn has_driver() -> bool {
    let loaded = PathBuf::from("/proc/driver/nvidia/version").exists() || PathBuf::from("/dev/nvidiactl").exists();
    // SAFETY: the driver's library is made to be loaded so; it is closed again at once.
    loaded || unsafe { libloading::Library::new("libcuda.so.1") }.is_ok()
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// How many threads an operation on the CPU may use; all cores if this is never called. Results are the same bit by
/// bit only for the same number.
pub fn set_cpu_threads(threads: usize) {
    tch::set_num_threads(threads.clamp(1, 1024) as i32);
}

/// Runs without recording gradients; whether they are recorded afterwards is as before, also where an error of libtorch breaks
/// off, which the function of this name in tch forgets.
pub(super) fn no_grad<T>(run: impl FnOnce() -> T) -> T {
    let _guard = tch::no_grad_guard();
    run()
}

/// Runs what calls libtorch, whose errors come as panics: gives the first line of the error, and prints nothing.
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    use std::cell::Cell;
    use std::panic::{self, AssertUnwindSafe};
    thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                print(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    // What was at work when it broke off is not used again: callers give up, or begin the operation anew.
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    QUIET.set(before);
    result.map_err(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("libtorch failed");
        first_line(message)
    })
}

/// The first line of an error of libtorch. Where tch panics with it, it is written as in a program: in quotes, on one line.
fn first_line(message: &str) -> String {
    let quoted = message.split_once("Torch(\"").map(|(_, text)| text.trim_end_matches("\")"));
    let first = match quoted {
        Some(text) => text.split("\\n").next().map(|line| line.replace("\\\"", "\"")),
        None => message.lines().next().map(str::to_owned),
    };
    first.unwrap_or_default()
}

/// The rate of matrix products on a device, in floating-point operations a second: the limit of training and evaluation.
///
/// A square product of 4096 on CUDA, of 2048 × 1024 × 1024 on the CPU; the best of a few tries of `seconds` in all.
pub fn product_rate(device: Device, precision: super::precision::Precision, seconds: f64) -> f64 {
    let size = if device.is_cuda() { 4096 } else { 1024 };
    let kind = (precision.kind(), device.0);
    let (a, b) = (tch::Tensor::randn([2 * size, size], kind), tch::Tensor::randn([size, size], kind));
    let begun = std::time::Instant::now();
    let mut best = 0f64;
    while begun.elapsed().as_secs_f64() < seconds {
        let tried = std::time::Instant::now();
        for _ in 0..16 {
            drop(std::hint::black_box(a.matmul(&b)));
        }
        device.synchronize();
        best = best.max(16.0 * 4.0 * (size as f64).powi(3) / tried.elapsed().as_secs_f64());
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_works_passes_the_trial() {
        assert_eq!(small_product(Device::CPU), SMALL_PRODUCT);
        assert!(try_out(Device::CPU).is_ok());
    }

    #[test]
    fn gradients_are_recorded_after_an_error() {
        let ones = tch::Tensor::ones([2], (tch::Kind::Float, tch::Device::Cpu)).set_requires_grad(true);
        let failed = caught(|| no_grad(|| ones.view([3])));
        let message = failed.expect_err("two numbers have no view of three");
        assert_eq!(message, "shape '[3]' is invalid for input of size 2", "its first line, and nothing else");
        assert!((&ones * 2.0).requires_grad());
        assert!(!no_grad(|| &ones * 2.0).requires_grad());
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
            let cause = cause_of(message);
            assert!(cause.contains(expected) && cause.contains(message), "{message}: {cause}");
        }
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
}
