//! The device that tensors live on: the CPU or a CUDA device, chosen by name and never silently.

pub use super::cuda::NoCuda;

use super::cuda;
use crate::cpu_features::{Instructions, may_use};
use crate::error::{Error, Result};
use crate::tensors::{caught, is_out_of_memory};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A value of `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// CUDA if it works, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this process: the first, unless [`use_local_device`] names another.
    LocalCuda,
    /// The CUDA device of an index.
    Cuda(usize),
}

/// The index of this process's own CUDA device.
static LOCAL: AtomicUsize = AtomicUsize::new(0);

/// Makes `cuda` and `auto` mean the CUDA device of this index: each of several processes takes one.
pub fn use_local_device(index: usize) {
    LOCAL.store(index, Ordering::Relaxed);
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
                .and_then(|index| index.parse().ok())
                .map(DeviceChoice::Cuda)
                .ok_or_else(|| format!("unknown device '{text}': expected auto, cpu, cuda or cuda:I")),
        }
    }
}

/// A device that exists and works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device(pub(crate) tch::Device);

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            tch::Device::Cuda(index) => write!(f, "cuda:{index}"),
            _ => f.write_str("cpu"),
        }
    }
}

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
            DeviceChoice::Cuda(index) => cuda::open(index).map(Device),
            DeviceChoice::LocalCuda => Self::local_cuda(),
            DeviceChoice::Auto => Ok(Self::local_cuda().unwrap_or(Device::CPU)),
        }
    }

    fn local_cuda() -> Result<Device, NoCuda> {
        cuda::open(LOCAL.load(Ordering::Relaxed)).map(Device)
    }

    /// Logs the device that `auto` has taken, once per device; at debug level also why it is not CUDA.
    pub fn log_choice(self, choice: DeviceChoice) {
        static LOGGED: Mutex<Vec<Device>> = Mutex::new(Vec::new());
        let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
        if choice != DeviceChoice::Auto || logged.contains(&self) {
            return;
        }
        logged.push(self);
        log::info!("running on {self}");
        if !log::log_enabled!(log::Level::Debug) {
            return; // opening CUDA takes seconds
        }
        match Self::local_cuda() {
            Err(NoCuda(reason)) => log::debug!("`device` auto takes the CPU: {reason}"),
            Ok(found) if found != self => {
                log::debug!(
                    "`device` auto takes the CPU: the search asks for a few states at a time, or is faster there"
                );
            }
            Ok(_) => (),
        }
    }

    /// The choice of this device.
    pub fn choice(self) -> DeviceChoice {
        match self.0 {
            tch::Device::Cuda(index) => DeviceChoice::Cuda(index),
            _ => DeviceChoice::Cpu,
        }
    }

    /// Whether this is a CUDA device.
    pub fn is_cuda(self) -> bool {
        matches!(self.0, tch::Device::Cuda(_))
    }

    /// The memory of a CUDA device, in bytes, if CUDA tells; `None` on the CPU.
    pub fn cuda_memory(self) -> Option<u64> {
        match self.0 {
            tch::Device::Cuda(index) => cuda::memory(index),
            _ => None,
        }
    }

    /// Whether matrix products in bf16 are faster here than in f32.
    pub fn has_fast_bf16(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let cpu = may_use(Instructions::Avx512) && is_x86_feature_detected!("avx512bf16");
        #[cfg(not(target_arch = "x86_64"))]
        let cpu = false;
        self.is_cuda() || cpu
    }

    /// Threads that keep the device fed with samples; on the CPU these cost 1 % of the training.
    pub fn sampler_threads(self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        if self.is_cuda() { cores.saturating_sub(2).clamp(1, 16) } else { 1 }
    }

    /// Runs code that uses the device.
    ///
    /// # Errors
    /// If the device fails: the start of libtorch's message.
    pub(crate) fn run<T>(self, run: impl FnOnce() -> T) -> Result<T> {
        caught(run).map_err(|message| Error::Device(self.failure(&message)))
    }

    /// Text of an error of the device, with a remedy if its memory is full.
    pub(super) fn failure(self, message: &str) -> String {
        if is_out_of_memory(message) {
            return format!(
                "{self} is out of memory: train with a smaller `batch_size` or `width`, search with a smaller `n`, free some of \
                 its memory, or choose another `device`"
            );
        }
        format!("{self} failed: {message}")
    }

    /// Waits until the device has done all its work.
    pub fn synchronize(self) {
        if let tch::Device::Cuda(index) = self.0 {
            tch::Cuda::synchronize(index as i64);
        }
    }
}

/// Sets how many threads an operation on the CPU may use; by default all cores. Results are bit-identical only for the
/// same number.
pub fn set_cpu_threads(threads: usize) {
    tch::set_num_threads(threads.clamp(1, 1024) as i32);
}
