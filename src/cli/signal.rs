//! Ctrl-C, SIGTERM and a closed terminal: the first asks for an orderly end, a second one ends the program at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

struct Signals {
    stop: Arc<AtomicBool>,
    which: Arc<AtomicUsize>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// From now on, signals set the flag that this returns.
///
/// # Errors
/// If the system refuses to install a handler.
pub fn install() -> io::Result<Arc<AtomicBool>> {
    if SIGNALS.get().is_none() {
        // Others may set the stop flag too; only a second signal ends the program at once.
        let signalled = Arc::new(AtomicBool::new(false));
        let signals = Signals { stop: Arc::new(AtomicBool::new(false)), which: Arc::new(AtomicUsize::new(0)) };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && is_ignored(signal) {
                continue; // started by nohup: goes on when the terminal closes
            }
            // In this order: the shutdown happens only if the flag was set by an earlier signal, and whoever sees the
            // flag can tell which signal set it.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&signalled))?;
            signal_hook::flag::register(signal, Arc::clone(&signalled))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&signals.which), signal as usize)?;
            signal_hook::flag::register(signal, Arc::clone(&signals.stop))?;
        }
        let _ = SIGNALS.set(signals);
    }
    Ok(Arc::clone(&SIGNALS.get().expect("it was just set").stop))
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction with no new action only writes the present one into the struct, which is ours and all bytes
    // of which may be zero.
    unsafe {
        let mut present: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut present) == 0 && present.sa_sigaction == libc::SIG_IGN
    }
}

/// The exit code that the signal asks for, 130, 143 or 129; `None` if there was none.
pub fn exit_code() -> Option<u8> {
    let which = SIGNALS.get()?.which.load(Ordering::Relaxed);
    (which != 0).then(|| 128 + which as u8)
}
