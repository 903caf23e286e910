//! How ranks come to the store, and how they leave it when one has failed.

use super::c10d::Store;
use super::liveness::LOOK;
use super::place::{self, Meeting, Place};
use crate::error::{Error, Result};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a rank waits for the others to come, unless [`PATIENCE_VARIABLE`] says otherwise.
const PATIENCE: Duration = Duration::from_secs(8);

/// The variable that says how many seconds a rank waits for the others to come.
pub const PATIENCE_VARIABLE: &str = "COSTAR_JOIN_SECONDS";

/// How long a rank that fails waits until the others have seen it.
const FAREWELL: Duration = Duration::from_secs(4);

/// The key that rank 0 sets once all ranks are there.
pub(super) const BEGUN: &str = "begun";

/// The key under which rank 0 names the attempt that the others are to join: a launcher may start the ranks again, and counts
/// that on each machine apart.
const ATTEMPT: &str = "attempt";

/// The key that counts the ranks 0 that found a store of others at their port.
const REFUSED: &str = "refused";

/// The key that rank 0 sets once it has opened the run in a folder: an attempt after that goes on with it.
fn opened(folder: &Path) -> String {
    format!("opened/{}", folder.display())
}

/// How a rank ends because of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether this rank is the one to say what it was.
    pub speaks: bool,
    /// The exit code: that of the rank whose error it is.
    pub code: u8,
}

/// Tells the other ranks that this one cannot come. `ranks` is how many there are, where that is known.
pub fn fail_alone(meeting: &Meeting, ranks: Option<usize>, code: u8) -> Verdict {
    let Ok(launch) = open(meeting, patience() / 2) else { return Verdict { speaks: true, code } };
    let never = AtomicBool::new(false);
    let store = match Attempt::current(&launch) {
        Some(store) if !meeting.is_rank_0 => Ok(store),
        _ => Attempt::find(launch, meeting, patience() / 2, &never).map(|attempt| attempt.store),
    };
    match store {
        // A group that is at work has nothing to do with this process.
        Ok(store) if store.has(BEGUN) != Ok(true) => leave(&store, meeting.serves, ranks, Some(code), code),
        _ => Verdict { speaks: true, code },
    }
}

/// One start of the ranks of a launch.
#[derive(Debug)]
pub struct Attempt {
    /// The keys of all attempts of this launch.
    launch: Store,
    number: Vec<u8>,
    /// The keys of this attempt.
    pub(super) store: Store,
    /// Whether the launcher has started the ranks before, and its store does not tell what became of that.
    is_untold_restart: bool,
}

impl Attempt {
    /// The attempt of a process that was [started alone](Place::meeting_alone); `None` where nothing outlives that.
    pub fn alone() -> Option<Attempt> {
        let meeting = Place::meeting_alone()?;
        let never = AtomicBool::new(false);
        open(&meeting, patience()).and_then(|launch| Attempt::find(launch, &meeting, patience(), &never)).ok()
    }

    /// The keys of the attempt that rank 0 has begun last; `None` if it has begun none.
    fn current(launch: &Store) -> Option<Store> {
        launch.has(ATTEMPT).ok().filter(|&has| has)?;
        launch.within(&String::from_utf8_lossy(&launch.get(ATTEMPT).ok()?)).ok()
    }

    /// Begins an attempt, as rank 0; as another rank, waits for one that has not begun without it.
    ///
    /// # Errors
    /// If there is none within this time, or `stop` is set; if the store does not answer; [`Error::Elsewhere`] where rank 0
    /// says why.
    pub(super) fn find(launch: Store, meeting: &Meeting, patience: Duration, stop: &AtomicBool) -> Result<Attempt> {
        let gone = |_| Error::Data("rank 0 has ended without a word, and all others end with it".into());
        let is_untold_restart = !meeting.outlives_ranks && place::restarts() > 0;
        if meeting.is_rank_0 {
            let number = launch.add("attempts", 1).map_err(gone)?.to_string();
            let store = launch.within(&number).map_err(gone)?;
            launch.set(ATTEMPT, number.as_bytes()).map_err(gone)?;
            return Ok(Attempt { launch, number: number.into_bytes(), store, is_untold_restart });
        }
        let refused = launch.add(REFUSED, 0).map_err(gone)?;
        let (begun, mut at_work, mut failed) = (Instant::now(), false, false);
        loop {
            if launch.has(ATTEMPT).map_err(gone)? {
                let number = launch.get(ATTEMPT).map_err(gone)?;
                let store = launch.within(&String::from_utf8_lossy(&number)).map_err(gone)?;
                at_work = store.has(BEGUN).map_err(gone)?;
                // Where the store lasts, it may be an earlier attempt that has failed.
                failed = meeting.outlives_ranks && store.has("failed").map_err(gone)?;
                if !at_work && !failed {
                    return Ok(Attempt { launch, number, store, is_untold_restart });
                }
            }
            if launch.add(REFUSED, 0).map_err(gone)? > refused {
                return Err(Error::Elsewhere);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Data("stopped while waiting for the other ranks".into()));
            }
            // A store that ends with its group has no later attempts.
            let patience = if at_work && !meeting.outlives_ranks { patience / 4 } else { patience };
            if begun.elapsed() > patience {
                let Meeting { host, port, .. } = meeting;
                let seconds = patience.as_secs();
                return Err(if failed && place::restarts() == 0 {
                    Error::Elsewhere
                } else if at_work && !meeting.outlives_ranks {
                    Error::Data(format!("another group of ranks is at work at {host}:{port}: name another MASTER_PORT"))
                } else {
                    Error::Data(format!(
                        "rank 0 has not come within {seconds} s: was it started, and does it reach {host}:{port}? \
                         ({PATIENCE_VARIABLE} is how many seconds to wait)"
                    ))
                });
            }
            thread::sleep(LOOK);
        }
    }

    /// Whether an earlier attempt of this launch [opened](Attempt::note_opened) the run in a folder.
    pub fn was_opened(&self, folder: &Path) -> bool {
        self.is_untold_restart || self.launch.has(&opened(folder)) == Ok(true)
    }

    /// Notes for later attempts that the run in a folder was opened.
    pub fn note_opened(&self, folder: &Path) {
        // A store that is gone has no later attempts.
        let _ = self.launch.set(&opened(folder), b"");
    }

    /// The keys of this attempt, over another connection.
    pub(super) fn within(&self, launch: Store) -> Result<Store, String> {
        launch.within(&String::from_utf8_lossy(&self.number))
    }

    /// Whether rank 0 was started again since.
    pub(super) fn is_superseded(&self) -> bool {
        self.launch.get(ATTEMPT).is_ok_and(|number| number != self.number)
    }
}

/// Leaves a group that has failed. With an `error`, its exit code, marks the group as failed first, and gives the word to the
/// first who asks for it. Whoever holds the store waits until so many have left, this one included; where that number is
/// not known, for a while.
pub(super) fn leave(store: &Store, serves: bool, ranks: Option<usize>, error: Option<u8>, code: u8) -> Verdict {
    let mut verdict = Verdict { speaks: false, code };
    if let Some(code) = error {
        verdict.speaks = store.add("speaker", 1).map_or(true, |asked| asked == 1);
        if verdict.speaks {
            let _ = store.set("failed", &[code]);
        }
    }
    if store.has("failed") == Ok(true) {
        verdict.code = store.get("failed").ok().and_then(|code| code.first().copied()).unwrap_or(code);
    }
    let left = store.add("left", 1);
    let begun = Instant::now();
    while serves && left.is_ok() && begun.elapsed() < FAREWELL {
        if store.add("left", 0).map_or(true, |left| ranks.is_some_and(|ranks| left >= ranks as i64)) {
            break;
        }
        thread::sleep(LOOK);
    }
    verdict
}

/// Opens the store, or says why it is not to be had: nobody is there, or somebody else.
pub(super) fn open(meeting: &Meeting, patience: Duration) -> Result<Store> {
    let (sender, receiver) = channel();
    let wanted = meeting.clone();
    // Another program at the other end may never answer.
    thread::spawn(move || {
        let Meeting { host, port, serves, prefix, .. } = &wanted;
        let _ = sender.send(Store::open(host, *port, *serves, patience, prefix));
    });
    let Meeting { host, port, serves, .. } = meeting;
    match receiver.recv_timeout(patience) {
        Ok(Ok(store)) => Ok(store),
        Ok(Err(why)) if *serves => {
            tell_refusal(meeting);
            Err(Error::Data(format!("rank 0 cannot listen on {host}:{port} ({why}): MASTER_PORT names another port")))
        }
        Err(RecvTimeoutError::Disconnected) => Err(Error::Bug("the thread that opens the store has ended".into())),
        Ok(Err(_)) | Err(RecvTimeoutError::Timeout) if someone_listens(host, *port) => {
            // Rank 0 has found its port taken, and says so; or it is there, and has failed.
            Err(Error::Elsewhere)
        }
        Ok(Err(_)) | Err(RecvTimeoutError::Timeout) => Err(Error::Data(format!(
            "nobody answers at {host}:{port} within {} s, where rank 0 should be ({PATIENCE_VARIABLE} is how many seconds \
             to wait)",
            patience.as_secs()
        ))),
    }
}

/// Tells the ranks that have reached a store of others at the port of theirs, if it is one.
fn tell_refusal(meeting: &Meeting) {
    const PATIENCE: Duration = Duration::from_secs(1);
    let (sender, receiver) = channel();
    let other = Meeting { serves: false, ..meeting.clone() };
    thread::spawn(move || {
        let store = Store::open(&other.host, other.port, false, PATIENCE, &other.prefix);
        let _ = sender.send(store.and_then(|store| store.add(REFUSED, 1)));
    });
    let _ = receiver.recv_timeout(PATIENCE);
}

fn someone_listens(host: &str, port: u16) -> bool {
    let addresses = (host, port).to_socket_addrs().into_iter().flatten();
    addresses.into_iter().any(|address| TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok())
}

pub(super) fn patience() -> Duration {
    let seconds = std::env::var(PATIENCE_VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    seconds.filter(|&seconds| seconds > 0).map_or(PATIENCE, Duration::from_secs)
}
