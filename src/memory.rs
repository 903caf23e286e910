//! How much memory this process has and may have.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Among how many processes the memory and the cores are divided.
static SHARES: AtomicU64 = AtomicU64::new(1);

/// Bytes that can still be taken: what the system has available, and what the control groups of this process leave;
/// divided where [others](divide_among) take as much. `None` where neither can be told.
pub fn available() -> Option<u64> {
    let system = field("/proc/meminfo", "MemAvailable:");
    Some(system.into_iter().chain(group_room()).min()? / SHARES.load(Ordering::Relaxed))
}

/// Among how many processes the machine [is divided](divide_among).
pub fn processes() -> u64 {
    SHARES.load(Ordering::Relaxed)
}

/// From now on, this process takes its share of the memory and of the cores alone: so many processes with the same task run beside each
/// other, this one included.
pub fn divide_among(processes: usize) {
    SHARES.store(processes.max(1) as u64, Ordering::Relaxed);
}

/// Bytes that this process holds in memory now; 0 where that cannot be told.
pub fn resident() -> u64 {
    field("/proc/self/status", "VmRSS:").unwrap_or(0)
}

/// The most bytes that this process ever held in memory; 0 where that cannot be told.
pub fn peak() -> u64 {
    field("/proc/self/status", "VmHWM:").unwrap_or(0)
}

/// Asks the system to hold memory in pages of 2 MiB: where it is read here and there, most of the time goes to looking up
/// where pages are. To be called before the memory is first written to.
pub fn use_large_pages<T>(memory: &[T]) {
    const PAGE: usize = 2 << 20;
    let bytes = memory.as_ptr_range();
    let (from, to) = ((bytes.start as usize).next_multiple_of(PAGE), bytes.end as usize & !(PAGE - 1));
    if from < to {
        // SAFETY: this changes how the pages are held, not what is in them. If it is refused, nothing changes.
        unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_HUGEPAGE) };
    }
}

/// Has the C library keep freed memory for what is made next, instead of handing it back to the system and having fresh pages
/// cleared a thousand times a second. Measured on two cores: a tenth of a training step.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        // 32 MiB is the largest threshold that glibc takes; larger blocks still go back at once.
        // SAFETY: mallopt only sets numbers that malloc reads.
        ONCE.call_once(|| unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
            libc::mallopt(libc::M_TOP_PAD, 64 << 20);
        });
    }
}

/// Has the processor load the line of the cache where something is: what is read a little later does not wait.
#[inline]
pub fn prefetch<T>(thing: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; nothing is read.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(std::ptr::from_ref(thing).cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = thing;
}

/// A field in kB of a file of the kernel's.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// The least room that the memory limits of this process's control groups leave, version 2 or 1.
fn group_room() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let rooms = groups.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let path = path.trim_start_matches('/');
        match controllers {
            "" => room("/sys/fs/cgroup", path, "memory.max", "memory.current"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                room("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => None,
        }
    });
    rooms.min()
}

/// The least room of a group and of all groups around it.
fn room(root: &str, path: &str, limit: &str, usage: &str) -> Option<u64> {
    let number = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let root = Path::new(root);
    let folder = root.join(path);
    let around = folder.ancestors().take_while(|folder| folder.starts_with(root));
    around.filter_map(|folder| Some(number(folder, limit)?.saturating_sub(number(folder, usage)?))).min()
}
