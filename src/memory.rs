//! The memory of this process: how much it holds, how much it may take, and how the system manages it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of local processes that share the machine.
static PROCESSES: AtomicU64 = AtomicU64::new(1);

/// This process's memory budget in bytes: the smaller of the system's available memory and the rest of its control groups'
/// limits, [divided](divide_among) among the local processes, or the rest of its own limit (`ulimit -v`) if that is less.
/// `None` if none is known.
pub fn available() -> Option<u64> {
    let system = field("/proc/meminfo", "MemAvailable:").into_iter().chain(control_group_budget());
    let shared = system.min().map(|bytes| bytes / PROCESSES.load(Ordering::Relaxed));
    shared.into_iter().chain(address_space()).min()
}

/// The number of local processes that [share](divide_among) the machine.
pub fn processes() -> u64 {
    PROCESSES.load(Ordering::Relaxed)
}

/// Divides memory and cores among the local processes.
pub fn divide_among(processes: usize) {
    PROCESSES.store(processes.max(1) as u64, Ordering::Relaxed);
}

/// Resident memory of this process in bytes; 0 if unknown.
pub fn resident() -> u64 {
    field("/proc/self/status", "VmRSS:").unwrap_or(0)
}

/// Peak resident memory of this process in bytes; 0 if unknown.
pub fn peak() -> u64 {
    field("/proc/self/status", "VmHWM:").unwrap_or(0)
}

/// Asks the system for pages of 2 MiB, which save address translations on random reads. Call it before the first write to the
/// memory.
pub fn use_large_pages<T>(memory: &[T]) {
    const PAGE: usize = 2 << 20;
    let bytes = memory.as_ptr_range();
    let (from, to) = ((bytes.start as usize).next_multiple_of(PAGE), bytes.end as usize & !(PAGE - 1));
    if from < to {
        // SAFETY: this changes the size of the pages, not their content. A refusal changes nothing.
        unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_HUGEPAGE) };
    }
}

/// Tells the C library to reuse freed memory instead of returning it to the system, which would clear fresh pages for each
/// allocation. Measured on two cores: a tenth of a training step.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        // 32 MiB is the largest threshold that glibc accepts; larger blocks still return at once.
        // SAFETY: mallopt only sets parameters of malloc.
        ONCE.call_once(|| unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
            libc::mallopt(libc::M_TOP_PAD, 64 << 20);
        });
    }
}

/// Loads the cache line of a value, so that a later read does not wait.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that reads nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(std::ptr::from_ref(value).cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// A field in kB of a file in /proc, in bytes.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Address space mapped but unused, in bytes: the C library reserves 64 MiB for the blocks of a thread, and takes 64 MiB more
/// at a time ([`keep_freed`]).
const UNUSED_ADDRESSES: u64 = 128 << 20;

/// The rest of the limit of this process's address space, if it has one.
fn address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = limit.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(field("/proc/self/status", "VmSize:")? + UNUSED_ADDRESSES))
}

/// The smallest rest of the memory limits of this process's control groups, version 2 or 1.
fn control_group_budget() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let budgets = groups.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let path = path.trim_start_matches('/');
        match controllers {
            "" => rest_of_limit("/sys/fs/cgroup", path, "memory.max", "memory.current"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                rest_of_limit("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => None,
        }
    });
    budgets.min()
}

/// The smallest rest of the limits of a group and its ancestors.
fn rest_of_limit(root: &str, path: &str, limit: &str, usage: &str) -> Option<u64> {
    let number = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let root = Path::new(root);
    let group = root.join(path);
    let groups = group.ancestors().take_while(|group| group.starts_with(root));
    groups.filter_map(|group| Some(number(group, limit)?.saturating_sub(number(group, usage)?))).min()
}
