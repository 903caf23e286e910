//! Explains long waits.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// A wait of this length is explained.
const SILENCE: Duration = Duration::from_secs(2);

/// Logs what the program does once it takes longer than [`SILENCE`].
#[must_use = "it is silent once it is dropped"]
pub(crate) struct Waiting {
    /// Dropped at the end.
    _ended: Sender<()>,
}

impl Waiting {
    /// `work` is a phrase, such as "loading the network".
    pub(crate) fn during(work: String) -> Self {
        let (sender, ended) = mpsc::channel();
        let watch = move || {
            if ended.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                log::info!("{work} …");
            }
        };
        // If no thread can be started, the wait is silent.
        let _ = thread::Builder::new().name("waiting".into()).spawn(watch);
        Waiting { _ended: sender }
    }
}
