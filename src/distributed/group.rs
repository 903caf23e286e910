//! The group of all ranks: they join, agree on their settings, exchange data and end together.
//!
//! A rank that fails reports it in the store, waits until the others have seen it, and ends; one of them prints the error. A
//! rank that dies without a report is found by its missing heartbeats, and the others name it.

use super::c10d::{Gloo, Store};
use super::launcher::LauncherEnv;
use super::liveness::{HEARTBEAT_INTERVAL, Liveness, POLL_INTERVAL, STOP, heartbeats, left_key, watch};
use super::nccl::{self, Communicator};
use super::rendezvous::{ErrorExit, Round, STARTED, check_not_stopped, leave, not_joined, open};
use crate::error::{Context as _, Error, Result, bail};
use crate::exchange::{DeviceBytes, Exchange};
use serde::{Serialize, de::DeserializeOwned};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long the host of the store waits for the others to leave.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The group of all ranks, as one of them sees it.
#[derive(Debug)]
pub struct Group {
    env: LauncherEnv,
    round: Round,
    gloo: OnceLock<Gloo>,
    /// NCCL, for CUDA devices; `None` if a rank lacks it.
    nccl: OnceLock<Option<Arc<Communicator>>>,
    liveness: Arc<Liveness>,
    stop: Arc<AtomicBool>,
    watcher: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Group {
    /// Opens the store. After [`Group::join`], `stop` is set on all ranks once it is set on one.
    ///
    /// # Errors
    /// If the store cannot be opened; [`Error::OtherRank`] where rank 0 prints the reason.
    pub fn open(env: LauncherEnv, stop: Arc<AtomicBool>) -> Result<Group> {
        let rendezvous = &env.rendezvous;
        let launch = open(rendezvous, rendezvous.is_host(), rendezvous.join_timeout)?;
        let round = Round::find(launch, rendezvous, rendezvous.join_timeout, &stop)?;
        let (gloo, nccl, watcher) = (OnceLock::new(), OnceLock::new(), Mutex::new(None));
        Ok(Group { env, round, gloo, nccl, liveness: Arc::default(), stop, watcher })
    }

    /// Waits for the other ranks, and checks that all have the same `signature`, one setting a line. `false` if rank 0 was
    /// restarted meanwhile: open the group anew.
    ///
    /// # Errors
    /// If a rank does not join in time, has another signature, or has failed ([`Error::OtherRank`]); if two processes have the
    /// same rank.
    pub fn join(&self, signature: &str) -> Result<bool> {
        let rendezvous = &self.env.rendezvous;
        let deadline = Instant::now() + rendezvous.join_timeout;
        self.ask(|store| store.add(&host_key(), 1))?;
        let is_duplicate = self.ask(|store| store.add(&joined_key(self.rank()), 1))? != 1;
        let has_joined = |rank| self.ask(|store| store.has(&joined_key(rank)));
        let mut joined = 0;
        loop {
            while joined < self.size() && has_joined(joined)? {
                check_not_stopped(&self.stop)?;
                joined += 1;
            }
            if joined == self.size() && !is_duplicate {
                break;
            }
            let has_time = Instant::now() < deadline;
            // The first process of this rank may belong to a round whose ranks were killed before all had joined.
            if is_duplicate && !(has_time && rendezvous.outlives_ranks) {
                bail!("two processes have the rank {} of {}", self.rank(), self.size());
            }
            self.check()?;
            if self.round.is_superseded() {
                return Ok(false);
            }
            check_not_stopped(&self.stop)?;
            if !has_time {
                let mut missing = vec![joined];
                for rank in joined + 1..self.size() {
                    check_not_stopped(&self.stop)?;
                    if !has_joined(rank)? {
                        missing.push(rank);
                    }
                }
                let missing = format!("{} of {}", named(&missing), self.size());
                return Err(not_joined(&missing, rendezvous, rendezvous.join_timeout));
            }
            thread::sleep(POLL_INTERVAL);
        }
        self.start_heartbeats()?;
        self.agree("signature", signature)?;
        if self.is_first() {
            self.ask(|store| store.set(STARTED, b""))?;
        }
        Ok(true)
    }

    /// Runs an action on another thread if the store stops answering. Before that, it sets the stop flag, aborts work on the
    /// CUDA device, and waits 10 s for this process to end.
    pub fn when_lost(&self, action: impl FnOnce() + Send + 'static) {
        let (liveness, stop) = (Arc::clone(&self.liveness), Arc::clone(&self.stop));
        let is_lost = |liveness: &Liveness| liveness.is_lost() && !liveness.left.load(Ordering::Relaxed);
        thread::spawn(move || {
            while !is_lost(&liveness) {
                thread::sleep(Duration::from_secs(1));
            }
            stop.store(true, Ordering::Relaxed);
            liveness.abort();
            thread::sleep(Duration::from_secs(10));
            if is_lost(&liveness) {
                action();
            }
        });
    }

    /// The number of ranks on this machine, once all have joined.
    ///
    /// # Errors
    /// If rank 0 has ended.
    pub fn local_size(&self) -> Result<usize> {
        Ok(self.ask(|store| store.add(&host_key(), 0))?.max(1) as usize)
    }

    /// Whether this is rank 0, which writes files and prints.
    pub fn is_first(&self) -> bool {
        self.env.rank == 0
    }

    /// The round of the launch that this group belongs to.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// Refuses a text that differs from rank 0's text of the same name; returns once all ranks have compared theirs.
    ///
    /// # Errors
    /// Names the first line that differs; [`Error::OtherRank`] where another rank's text differs.
    pub fn agree(&self, name: &str, text: &str) -> Result<()> {
        let first = self.publish(&format!("agree/{name}"), text.as_bytes())?;
        let first = String::from_utf8_lossy(&first);
        if first != text {
            let pairs = text.lines().map(Some).chain([None]).zip(first.lines().map(Some).chain([None]));
            let (own, theirs) = pairs.into_iter().find(|(own, theirs)| own != theirs).unwrap_or_default();
            let [own, theirs] = [own, theirs].map(|line| line.map_or("nothing".to_owned(), |line| format!("'{line}'")));
            bail!("rank {} has {own} where rank 0 has {theirs}: start all ranks with the same settings", self.rank());
        }
        self.barrier(name)
    }

    /// Returns once all ranks have called it.
    ///
    /// # Errors
    /// If a rank has failed or died.
    pub fn barrier(&self, name: &str) -> Result<()> {
        let passed = format!("passed/{name}");
        if self.ask(|store| store.add(&format!("barrier/{name}"), 1))? == self.size() as i64 {
            self.ask(|store| store.set(&passed, b""))?;
        }
        self.wait_for(&passed)
    }

    /// Submits work to NCCL, which all ranks join together; `false`, with nothing done, if a rank lacks it.
    fn by_nccl(&self, device: usize, submit: impl FnOnce(&Communicator) -> Result<(), String>) -> Result<bool> {
        let communicator = match self.nccl.get() {
            Some(communicator) => communicator,
            None => {
                let opened = nccl::join(self, device, nccl::Library::find)?;
                self.check_liveness()?;
                *self.liveness.communicator.lock().unwrap_or_else(PoisonError::into_inner) = opened.clone();
                self.nccl.get_or_init(|| opened)
            }
        };
        let Some(communicator) = communicator else { return Ok(false) };
        submit(communicator).map(|()| true).map_err(|why| self.explain(&why))
    }

    /// Copies rank 0's bytes to all ranks; the `bytes` of other ranks are ignored.
    ///
    /// # Errors
    /// If a rank has failed or died.
    pub fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let length = length_of(&self.by_gloo(|gloo| gloo.broadcast(length_bytes(&bytes)))?);
        let bytes = if self.is_first() { bytes } else { vec![0; length] };
        if length == 0 { Ok(bytes) } else { self.by_gloo(|gloo| gloo.broadcast(bytes)) }
    }

    /// The next value of a counter of the group: 0 for the first call on any rank, then 1, and so on.
    ///
    /// # Errors
    /// If rank 0 has ended.
    pub fn next(&self, counter: &str) -> Result<u64> {
        Ok(self.ask(|store| store.add(&format!("next/{counter}"), 1))? as u64 - 1)
    }

    /// Copies rank 0's value to all ranks through the store; other ranks pass `None`. For small values, or if nothing
    /// else needs gloo.
    ///
    /// # Errors
    /// If a rank has failed or died, or rank 0 has another version of costar.
    pub fn share<T: Serialize + DeserializeOwned>(&self, name: &str, value: Option<&T>) -> Result<T> {
        from_json(&self.publish(&format!("share/{name}"), &to_json(&value)?)?)
    }

    /// Stores a value for other ranks.
    ///
    /// # Errors
    /// If rank 0 has ended.
    pub fn put(&self, key: &str, value: &impl Serialize) -> Result<()> {
        let value = to_json(value)?;
        self.ask(|store| store.set(&format!("value/{key}"), &value))
    }

    /// The value that a rank has [put](Group::put) under a key, if any.
    ///
    /// # Errors
    /// If a rank has failed or has another version of costar, or rank 0 has ended.
    pub fn take<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.check()?;
        let key = format!("value/{key}");
        let found = self.ask(|store| if store.has(&key)? { store.get(&key).map(Some) } else { Ok(None) })?;
        found.map(|value| from_json(&value)).transpose()
    }

    /// Ends the group after an error of this rank, with its exit code, or after an error of another rank. Returns once the
    /// others know of it, or after a timeout.
    pub fn fail(&self, is_other_rank: bool, code: u8) -> ErrorExit {
        self.liveness.left.store(true, Ordering::Relaxed);
        if !is_other_rank && self.liveness.lost.load(Ordering::Relaxed) {
            // Without a store the ranks cannot agree on one that prints: one prints on each machine.
            return ErrorExit { prints: self.rank() == 1 || self.env.local_rank == 0, code };
        }
        let store = &self.round.store;
        // Two processes may have joined as one rank.
        let processes = |key: String| if store.has(&key) == Ok(true) { store.add(&key, 0).unwrap_or(1) } else { 0 };
        let joined: i64 = (0..self.size()).map(|rank| processes(joined_key(rank))).sum();
        leave(store, self.env.rendezvous.is_host(), Some(joined), !is_other_rank, code)
    }

    /// The error that ends this rank after another has ended: names that rank, unless it has reported its failure.
    pub fn explain(&self, why: &str) -> Error {
        if self.liveness.is_lost() {
            return self.lost();
        }
        let store = &self.round.store;
        let before = heartbeats(store, self.size());
        let begin = Instant::now();
        while begin.elapsed() < 6 * HEARTBEAT_INTERVAL {
            if self.liveness.failed.load(Ordering::Relaxed) || store.has("failed") == Ok(true) {
                return Error::OtherRank;
            }
            thread::sleep(POLL_INTERVAL);
        }
        let (Ok(before), Ok(after)) = (before, heartbeats(store, self.size())) else {
            self.liveness.lost.store(true, Ordering::Relaxed);
            return self.lost();
        };
        let has_left = |rank: usize| store.has(&left_key(rank)) == Ok(true);
        let is_dead = |&rank: &usize| rank != self.rank() && before[rank] == after[rank] && !has_left(rank);
        let dead: Vec<usize> = (0..self.size()).filter(is_dead).collect();
        let who = if dead.is_empty() { "another rank".into() } else { named(&dead) };
        Error::LostRank(format!("{who} of {} has ended unexpectedly ({why}), so all ranks end", self.size()))
    }

    /// Checks what the heartbeat thread has learned, without a request to the store.
    ///
    /// # Errors
    /// If a rank has failed or died.
    pub fn check_liveness(&self) -> Result<()> {
        if self.liveness.is_over() { self.check() } else { Ok(()) }
    }

    /// Checks that no rank has failed.
    ///
    /// # Errors
    /// If a rank has failed, or rank 0 has ended.
    pub fn check(&self) -> Result<()> {
        if self.liveness.is_lost() {
            return Err(self.lost());
        }
        if self.liveness.failed.load(Ordering::Relaxed) || self.ask(|store| store.has("failed"))? {
            return Err(Error::OtherRank);
        }
        if self.liveness.is_over() { Err(self.explain("it does not answer")) } else { Ok(()) }
    }

    fn lost(&self) -> Error {
        Error::LostRank(format!("rank 0 of {} has ended unexpectedly, so all ranks end", self.size()))
    }

    fn by_gloo<T>(&self, run: impl FnOnce(&Gloo) -> Result<T, String>) -> Result<T> {
        let gloo = match self.gloo.get() {
            Some(gloo) => gloo,
            None => {
                let opened = self.open_gloo()?;
                self.gloo.get_or_init(|| opened)
            }
        };
        run(gloo).map_err(|why| self.explain(&why))
    }

    /// Opens the collectives, together with all other ranks.
    fn open_gloo(&self) -> Result<Gloo> {
        self.barrier("gloo")?;
        Gloo::open(&self.round.store, &self.env, Arc::clone(&self.liveness)).map_err(|why| match self.check() {
            Err(error) => error,
            Ok(()) => Error::Data(format!(
                "the ranks cannot connect to each other ({why}): GLOO_SOCKET_IFNAME names the network interface to use"
            )),
        })
    }

    /// Sets a key to rank 0's value, and returns that on all ranks.
    fn publish(&self, key: &str, value: &[u8]) -> Result<Vec<u8>> {
        if self.is_first() {
            self.ask(|store| store.set(key, value))?;
        }
        self.wait_for(key)?;
        self.ask(|store| store.get(key))
    }

    /// Asks the store. If it fails, its host is lost.
    fn ask<T>(&self, question: impl FnOnce(&Store) -> Result<T, String>) -> Result<T> {
        question(&self.round.store).map_err(|_| {
            self.liveness.lost.store(true, Ordering::Relaxed);
            if self.liveness.failed.load(Ordering::Relaxed) { Error::OtherRank } else { self.lost() }
        })
    }

    /// Waits for a key, as long as no rank fails or dies.
    fn wait_for(&self, key: &str) -> Result<()> {
        while !self.ask(|store| store.has(key))? {
            self.check()?;
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Starts the heartbeat thread.
    fn start_heartbeats(&self) -> Result<()> {
        // It has a connection of its own, since a call of this thread may block the other one.
        let rendezvous = &self.env.rendezvous;
        let launch = open(rendezvous, false, rendezvous.join_timeout)?;
        let store = self.round.within(launch).map_err(|_| self.lost())?;
        let (liveness, stop) = (Arc::clone(&self.liveness), Arc::clone(&self.stop));
        let rank_and_size = (self.rank(), self.size());
        let watcher = thread::spawn(move || watch(&store, &liveness, &stop, rank_and_size));
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
        Ok(())
    }
}

/// Sums and messages of the host's memory go through Gloo, those of a CUDA device through NCCL.
impl Exchange for Group {
    fn rank(&self) -> usize {
        self.env.rank
    }

    fn size(&self) -> usize {
        self.env.size
    }

    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let lengths: Vec<Vec<u8>> = to.iter().map(|message| length_bytes(message)).collect();
        let lengths = self.by_gloo(|gloo| gloo.all_to_all(&lengths, &vec![8; self.size()]))?;
        let lengths: Vec<usize> = lengths.iter().map(|bytes| length_of(bytes)).collect();
        self.by_gloo(|gloo| gloo.all_to_all(&to, &lengths))
    }

    unsafe fn all_to_all_on_device(&self, device: usize, to: &[DeviceBytes], from: &[DeviceBytes]) -> Result<bool> {
        // SAFETY: this function's caller guarantees the same.
        self.by_nccl(device, |communicator| unsafe { communicator.all_to_all(to, from) })
    }

    fn sum(&self, numbers: Vec<f32>) -> Result<Vec<f32>> {
        self.by_gloo(|gloo| gloo.sum(numbers))
    }

    unsafe fn sum_on_device(&self, device: usize, address: *mut f32, count: usize) -> Result<bool> {
        // SAFETY: this function's caller guarantees the same.
        self.by_nccl(device, |communicator| unsafe { communicator.sum(address, count) })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let is_lost = self.liveness.is_lost();
        let has_ended = self.liveness.left.swap(true, Ordering::Relaxed) || is_lost;
        let store = &self.round.store;
        let announce = || -> Result<i64, String> {
            if self.stop.load(Ordering::Relaxed) {
                store.set(STOP, b"")?; // the heartbeat thread may have ended before it set this key
            }
            // A rank that has announced its leave does not count as dead.
            store.set(&left_key(self.env.rank), b"")?;
            store.add("done", 1)
        };
        if !has_ended && announce().is_ok() && self.env.rendezvous.is_host() {
            // The host of the store leaves last.
            let (begin, all) = (Instant::now(), self.env.size as i64);
            while begin.elapsed() < LEAVE_TIMEOUT && store.add("done", 0).is_ok_and(|done| done < all) {
                thread::sleep(POLL_INTERVAL);
            }
        }
        let watcher = self.watcher.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // A heartbeat thread whose store is lost may block for long.
        if let Some(watcher) = watcher.filter(|_| !is_lost) {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
    }
}

/// The key that counts the ranks on this machine.
fn host_key() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("host/{}", name.trim())
}

/// The key that counts the processes that have joined as a rank.
fn joined_key(rank: usize) -> String {
    format!("joined/{rank}")
}

/// Names the first few ranks.
fn named(ranks: &[usize]) -> String {
    const MOST: usize = 8;
    let list: Vec<String> = ranks.iter().take(MOST).map(ToString::to_string).collect();
    match (ranks, ranks.len().saturating_sub(MOST)) {
        ([rank], _) => format!("rank {rank}"),
        (_, 0) => format!("each of the ranks {}", list.join(", ")),
        (_, more) => format!("each of the ranks {} and of {more} more", list.join(", ")),
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).context("a value for other ranks cannot be written as JSON")
}

fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    serde_json::from_slice(text).context("another rank has another version of costar")
}

/// The length of a message as eight bytes.
fn length_bytes(message: &[u8]) -> Vec<u8> {
    (message.len() as u64).to_le_bytes().to_vec()
}

fn length_of(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte))
}
