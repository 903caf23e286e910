//! How ranks find each other in the store, and how they leave it after a failure.

use super::c10d::Store;
use super::launcher::{JOIN_TIMEOUT_VARIABLE, Rendezvous, restarts};
use super::liveness::POLL_INTERVAL;
use crate::error::{Error, Result, bail, ensure};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// How long a failed rank that hosts the store waits for the others to see the failure.
const FAILURE_SEEN_TIMEOUT: Duration = Duration::from_secs(4);

/// The key that rank 0 sets once all ranks have joined.
pub(super) const STARTED: &str = "started";

/// The key under which rank 0 names the current round. Rank 0 numbers the rounds, because a launcher counts restarts on each
/// machine separately.
const ROUND: &str = "round";

/// Counts the ranks 0 that found the store of another launch at their port.
const REFUSED: &str = "refused";

/// The key that rank 0 sets once it has opened the run in a folder: later rounds resume that run.
fn opened_key(folder: &Path) -> String {
    format!("opened/{}", folder.display())
}

/// How a rank exits after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorExit {
    /// Whether this rank prints the error.
    pub prints: bool,
    /// The exit code, which is that of the rank that failed first.
    pub code: u8,
}

/// Tells the other ranks that this one cannot join, with its exit code.
pub fn fail_before_joining(rendezvous: &Rendezvous, ranks: Option<usize>, code: u8) -> ErrorExit {
    let timeout = rendezvous.join_timeout / 2;
    let never = AtomicBool::new(false);
    let store = open(rendezvous, rendezvous.is_host(), timeout).and_then(|launch| match Round::current(&launch) {
        Ok(Some((store, _))) if !rendezvous.is_rank_0 => Ok(store),
        _ => Round::find(launch, rendezvous, timeout, &never).map(|round| round.store),
    });
    match store {
        // A group that has started does not depend on this process.
        Ok(store) if store.has(STARTED) != Ok(true) => {
            leave(&store, rendezvous.is_host(), ranks.map(|ranks| ranks as i64), true, code)
        }
        _ => ErrorExit { prints: true, code },
    }
}

/// One start of all ranks of a launch. A launcher that restarts the ranks starts a new round.
#[derive(Debug)]
pub struct Round {
    /// Keys that all rounds of the launch share.
    launch: Store,
    name: String,
    /// Keys of this round.
    pub(super) store: Store,
    /// Whether the launcher restarted the ranks, but the store did not outlive the earlier round.
    is_restart_without_store: bool,
}

impl Round {
    /// The round of a [single rank](Rendezvous::of_single_rank); `None` if its launcher keeps no store.
    pub fn of_single_rank() -> Option<Round> {
        let rendezvous = Rendezvous::of_single_rank()?;
        let launch = open(&rendezvous, false, rendezvous.join_timeout).ok()?;
        Round::find(launch, &rendezvous, rendezvous.join_timeout, &AtomicBool::new(false)).ok()
    }

    /// Keys and name of the round that rank 0 opened last, if any.
    fn current(launch: &Store) -> Result<Option<(Store, String)>, String> {
        if !launch.has(ROUND)? {
            return Ok(None);
        }
        let name = String::from_utf8_lossy(&launch.get(ROUND)?).into_owned();
        Ok(Some((launch.within(&name)?, name)))
    }

    /// On rank 0, opens a new round; on another rank, waits for a round that has not started yet.
    ///
    /// # Errors
    /// If there is none in time, or `stop` is set; if the store does not answer; [`Error::OtherRank`] where rank 0 prints
    /// the reason.
    pub(super) fn find(launch: Store, rendezvous: &Rendezvous, timeout: Duration, stop: &AtomicBool) -> Result<Round> {
        let lost = |_| Error::LostRank("rank 0 has ended unexpectedly, so all ranks end".into());
        let is_restart_without_store = !rendezvous.outlives_ranks && restarts() > 0;
        if rendezvous.is_rank_0 {
            let name = launch.add("rounds", 1).map_err(lost)?.to_string();
            let store = launch.within(&name).map_err(lost)?;
            launch.set(ROUND, name.as_bytes()).map_err(lost)?;
            return Ok(Round { launch, name, store, is_restart_without_store });
        }
        let refused = launch.add(REFUSED, 0).map_err(lost)?;
        let (begin, mut has_started, mut failed) = (Instant::now(), false, false);
        loop {
            if let Some((store, name)) = Round::current(&launch).map_err(lost)? {
                has_started = store.has(STARTED).map_err(lost)?;
                // A store that outlives the ranks may still name an earlier round, which failed.
                failed = rendezvous.outlives_ranks && store.has("failed").map_err(lost)?;
                if !has_started && !failed {
                    return Ok(Round { launch, name, store, is_restart_without_store });
                }
            }
            if launch.add(REFUSED, 0).map_err(lost)? > refused {
                return Err(Error::OtherRank);
            }
            check_not_stopped(stop)?;
            // A store that ends with its group gets no later round.
            let is_other_group = has_started && !rendezvous.outlives_ranks;
            let timeout = if is_other_group { timeout / 4 } else { timeout };
            if begin.elapsed() > timeout {
                let Rendezvous { host, port, .. } = rendezvous;
                return Err(if failed && restarts() == 0 {
                    Error::OtherRank
                } else if is_other_group {
                    Error::Data(format!("another group of ranks is at work at {host}:{port}: name another MASTER_PORT"))
                } else {
                    not_joined("rank 0", rendezvous, timeout)
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Whether an earlier round of this launch [opened](Round::note_opened) the run in a folder.
    pub fn was_opened(&self, folder: &Path) -> bool {
        self.is_restart_without_store || self.launch.has(&opened_key(folder)) == Ok(true)
    }

    /// Notes for later rounds that the run in a folder was opened.
    pub fn note_opened(&self, folder: &Path) {
        // If the store is gone, there is no later round.
        let _ = self.launch.set(&opened_key(folder), b"");
    }

    /// Keys of this round over another connection.
    pub(super) fn within(&self, launch: Store) -> Result<Store, String> {
        launch.within(&self.name)
    }

    /// Whether rank 0 has opened a later round.
    pub(super) fn is_superseded(&self) -> bool {
        self.launch.get(ROUND).is_ok_and(|name| name != self.name.as_bytes())
    }
}

/// Leaves a group that has failed. A rank with an error of its own marks the group as failed with its exit code; the first
/// such rank prints its error. The host of the store waits until as many processes have left as `joined`, itself included, or
/// for a few seconds if their number is unknown.
pub(super) fn leave(store: &Store, is_host: bool, joined: Option<i64>, own_error: bool, code: u8) -> ErrorExit {
    let prints = own_error && store.add("errors", 1).map_or(true, |errors| errors == 1);
    if prints {
        let _ = store.set("failed", &[code]);
    }
    let failed = if store.has("failed") == Ok(true) { store.get("failed").ok() } else { None };
    let code = failed.and_then(|code| code.first().copied()).unwrap_or(code);
    let begin = Instant::now();
    let mut left = store.add("left", 1);
    let is_complete = |left: i64| joined.is_some_and(|joined| left >= joined);
    while is_host && begin.elapsed() < FAILURE_SEEN_TIMEOUT && left.is_ok_and(|left| !is_complete(left)) {
        thread::sleep(POLL_INTERVAL);
        left = store.add("left", 0);
    }
    ErrorExit { prints, code }
}

/// Opens the store: hosts it, or connects to it.
///
/// # Errors
/// If nobody answers, or the port is taken; [`Error::OtherRank`] where rank 0 prints the reason.
pub(super) fn open(rendezvous: &Rendezvous, serve: bool, timeout: Duration) -> Result<Store> {
    let Rendezvous { host, port, .. } = rendezvous;
    match open_store(rendezvous, serve, timeout) {
        Ok(store) => Ok(store),
        Err(Some(why)) if serve => {
            // The ranks that wait at the store of another launch learn that their rank 0 was refused.
            if let Ok(store) = open_store(rendezvous, false, Duration::from_secs(1)) {
                let _ = store.add(REFUSED, 1);
            }
            bail!("rank 0 cannot listen on {host}:{port} ({why}): MASTER_PORT names another port")
        }
        Err(_) if !someone_listens(host, *port) => bail!(
            "nobody answers at {host}:{port} within {} s, where rank 0 should be ({JOIN_TIMEOUT_VARIABLE} is how many \
             seconds to wait)",
            timeout.as_secs()
        ),
        Err(_) if rendezvous.is_rank_0 => bail!(
            "{host}:{port} answers, but not as the store where the ranks meet: MASTER_ADDR names the host of rank 0, and \
             MASTER_PORT a port that no other program uses there"
        ),
        // Rank 0 found its port taken, or has failed; it prints why.
        Err(_) => Err(Error::OtherRank),
    }
}

/// Opens the store on a thread of its own, because another program at this address may never answer. The error is `None`
/// after a timeout.
fn open_store(rendezvous: &Rendezvous, serve: bool, timeout: Duration) -> Result<Store, Option<String>> {
    let (sender, receiver) = channel();
    let Rendezvous { host, port, prefix, .. } = rendezvous.clone();
    thread::spawn(move || sender.send(Store::open(&host, port, serve, timeout, &prefix)));
    receiver.recv_timeout(timeout).map_err(|_| None)?.map_err(Some)
}

fn someone_listens(host: &str, port: u16) -> bool {
    let mut addresses = (host, port).to_socket_addrs().into_iter().flatten();
    addresses.any(|address| TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok())
}

/// The error of a rank whose wait for others has timed out.
pub(super) fn not_joined(missing: &str, Rendezvous { host, port, .. }: &Rendezvous, timeout: Duration) -> Error {
    Error::Data(format!(
        "{missing} has not come within {} s: was it started, and does it reach {host}:{port}? ({JOIN_TIMEOUT_VARIABLE} is \
         how many seconds to wait)",
        timeout.as_secs()
    ))
}

/// Fails if this rank is stopped while it waits for the others.
pub(super) fn check_not_stopped(stop: &AtomicBool) -> Result<()> {
    ensure!(!stop.load(Ordering::Relaxed), "stopped while waiting for the other ranks");
    Ok(())
}
