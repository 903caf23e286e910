//! Ctrl-C, SIGTERM and SIGHUP: the first signal asks for an orderly end, a second one ends the program at once.

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// The flag that asks for an orderly end, and the number of the last signal, 0 without one.
static SIGNALS: OnceLock<(Arc<AtomicBool>, Arc<AtomicUsize>)> = OnceLock::new();

/// Whether there is nothing to save: then the first signal ends the program at once.
static NOTHING_TO_SAVE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Does work that ignores the stop flag and has nothing to save: a signal ends the program at once.
pub fn ends_at_once<T>(work: impl FnOnce() -> T) -> T {
    NOTHING_TO_SAVE.store(true, Ordering::SeqCst);
    if let Some(code) = exit_code() {
        super::end(code);
    }
    let done = work();
    NOTHING_TO_SAVE.store(false, Ordering::SeqCst);
    done
}

/// Installs the signal handlers, and returns the flag that they set.
///
/// # Errors
/// If the system refuses to install a handler.
pub fn install() -> Result<Arc<AtomicBool>> {
    if SIGNALS.get().is_none() {
        // Separate from the stop flag, which other code may set: only a second signal ends the program at once.
        let signalled = Arc::new(AtomicBool::new(false));
        let (stop, last) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        // The order matters: the shutdown needs the flag of an earlier signal, and the number must be set before the stop
        // flag.
        let register = |signal: i32| -> io::Result<()> {
            for may_end in [&signalled, &NOTHING_TO_SAVE] {
                signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(may_end))?;
            }
            signal_hook::flag::register(signal, Arc::clone(&signalled))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&last), signal as usize)?;
            signal_hook::flag::register(signal, Arc::clone(&stop)).map(drop)
        };
        // A process that nohup started ignores SIGHUP, and outlives the terminal.
        let handled = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal));
        // A write beyond the limit of a file's size fails with the reason, and does not end the process.
        let fails_only = signal_hook::flag::register(SIGXFSZ, Arc::default());
        let installed = fails_only.and_then(|_| handled.into_iter().try_for_each(register));
        installed.context("no handler of signals can be installed")?;
        let _ = SIGNALS.set((stop, last));
    }
    Ok(Arc::clone(&SIGNALS.get().expect("it was just set").0))
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: without a new action, sigaction only writes the current one to the struct, which may be all zeros.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut current) == 0 && current.sa_sigaction == libc::SIG_IGN
    }
}

/// The exit code after a signal: 130, 143 or 129; `None` if there was no signal.
pub fn exit_code() -> Option<u8> {
    let last = SIGNALS.get()?.1.load(Ordering::Relaxed);
    (last != 0).then(|| 128 + last as u8)
}
