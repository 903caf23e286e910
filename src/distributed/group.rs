//! The group of all ranks: they meet, agree on what they were started with, and end together.
//!
//! A rank that fails says so in the store, waits until the others have seen it, and ends; one of them prints why. A rank
//! that dies without a word is named by the others: its counter in the store stands still.

use super::c10d::Gloo;
use super::liveness::{BEAT, LOOK, State, beats, goodbye, named, watch};
use super::meeting::{Attempt, BEGUN, PATIENCE_VARIABLE, Verdict, leave, open, patience};
use super::nccl::{self, Communicator};
use super::place::{Meeting, Place};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a sum waits for the slowest rank, while all are alive: the first one writes checkpoints meanwhile.
const SLOWEST: Duration = Duration::from_secs(1800);

/// How long a rank tries to reach the others, which are known to be there.
const CONNECTING: Duration = Duration::from_secs(30);

/// How long rank 0, which may hold the store, waits for the others to leave.
const FAREWELL: Duration = Duration::from_secs(10);

/// The group of all ranks, as one of them has it.
#[derive(Debug)]
pub struct Group {
    place: Place,
    attempt: Attempt,
    gloo: OnceLock<Gloo>,
    /// Sums on CUDA devices; none where NCCL is not to be had on every rank.
    nccl: OnceLock<Option<Arc<Communicator>>>,
    state: Arc<State>,
    stop: Arc<AtomicBool>,
    /// How many ranks are on this machine; known once all are there.
    local_size: OnceLock<usize>,
    watcher: Mutex<Option<thread::JoinHandle<()>>>,
}

/// How the ranks of a group have come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Gathered {
    /// All are there.
    All,
    /// Rank 0 was started again meanwhile: the group is to be opened anew.
    Superseded,
}

impl Group {
    /// Opens the store where the ranks meet. Once [all are there](Group::gather), `stop` is set on all ranks when it is set
    /// on one.
    ///
    /// # Errors
    /// If it cannot be opened; [`Error::Elsewhere`] where rank 0 says why.
    pub fn open(place: Place, stop: Arc<AtomicBool>) -> Result<Group> {
        let attempt = open(&place.meeting, patience())
            .and_then(|launch| Attempt::find(launch, &place.meeting, patience(), &stop))?;
        let (state, watcher) = (Arc::new(State::default()), Mutex::new(None));
        let local_size = OnceLock::new();
        let (gloo, nccl) = (OnceLock::new(), OnceLock::new());
        Ok(Group { place, attempt, gloo, nccl, state, stop, local_size, watcher })
    }

    /// Waits for the other ranks, and has all agree that they were started alike: `signature` is what must be the same, a
    /// line each.
    ///
    /// # Errors
    /// If a rank does not come in time, has another signature, or has failed ([`Error::Elsewhere`]); if two have the same
    /// number.
    pub fn gather(&self, signature: &str) -> Result<Gathered> {
        let deadline = Instant::now() + patience();
        let (rank, Meeting { host, port, .. }) = (self.place.rank, &self.place.meeting);
        let this_host = format!("host/{}", host_name());
        self.add(&this_host)?;
        if self.add(&format!("here/{rank}"))? != 1 {
            // It may be that of an attempt whose ranks were killed before all had come.
            while self.place.meeting.outlives_ranks && Instant::now() < deadline {
                if self.attempt.is_superseded() {
                    return Ok(Gathered::Superseded);
                }
                self.check()?;
                thread::sleep(LOOK);
            }
            return Err(Error::Data(format!("two processes have the rank {rank} of {}", self.size())));
        }
        loop {
            let mut missing = Vec::new();
            for other in 0..self.size() {
                if !self.asked(self.attempt.store.has(&format!("here/{other}")))? {
                    missing.push(other.to_string());
                }
            }
            if missing.is_empty() {
                break;
            }
            self.check()?;
            if self.attempt.is_superseded() {
                return Ok(Gathered::Superseded);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Data("stopped while waiting for the other ranks".into()));
            }
            if Instant::now() > deadline {
                let seconds = patience().as_secs();
                return Err(Error::Data(format!(
                    "{} of {} has not come within {seconds} s: was it started, and does it reach {host}:{port}? \
                     ({PATIENCE_VARIABLE} is how many seconds to wait)",
                    named(&missing),
                    self.size(),
                )));
            }
            thread::sleep(LOOK);
        }
        let _ = self.local_size.set(self.asked(self.attempt.store.add(&this_host, 0))?.max(1) as usize);
        self.watch()?;
        self.agree("signature", signature)?;
        if self.is_first() {
            self.asked(self.attempt.store.set(BEGUN, b""))?;
        }
        Ok(Gathered::All)
    }

    /// A look at whether the store has not answered for long, for a thread that does not ask it itself: then what works on a
    /// CUDA device is ended too.
    pub fn lookout(&self) -> impl Fn() -> bool + Send + 'static {
        let (state, stop) = (Arc::clone(&self.state), Arc::clone(&self.stop));
        move || {
            let is_lost = state.is_lost() && !state.left.load(Ordering::Relaxed);
            if is_lost {
                stop.store(true, Ordering::Relaxed);
                state.abort();
            }
            is_lost
        }
    }

    /// How many ranks are on this machine.
    pub fn local_size(&self) -> usize {
        self.local_size.get().copied().unwrap_or(1)
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.place.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.place.size
    }

    /// Whether this is rank 0, which writes files and prints.
    pub fn is_first(&self) -> bool {
        self.place.rank == 0
    }

    /// The place of this rank.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The attempt of its launch that this group is.
    pub fn attempt(&self) -> &Attempt {
        &self.attempt
    }

    /// Refuses a text that is not what rank 0 has under the same name; returns once all ranks have compared theirs.
    ///
    /// # Errors
    /// Names the first line that differs; [`Error::Elsewhere`] where it is another rank's that does.
    pub fn agree(&self, name: &str, text: &str) -> Result<()> {
        let key = format!("agree/{name}");
        if self.is_first() {
            self.asked(self.attempt.store.set(&key, text.as_bytes()))?;
        }
        self.wait_for(&key)?;
        let first = self.asked(self.attempt.store.get(&key))?;
        let first = String::from_utf8_lossy(&first);
        if first != text {
            let pairs = text.lines().map(Some).chain([None]).zip(first.lines().map(Some).chain([None]));
            let (own, theirs) = pairs.into_iter().find(|(own, theirs)| own != theirs).unwrap_or_default();
            let or_nothing = |line: Option<&str>| line.map_or("nothing".to_owned(), |line| format!("'{line}'"));
            return Err(Error::Data(format!(
                "rank {} has {} where rank 0 has {}: all ranks are to be started alike",
                self.rank(),
                or_nothing(own),
                or_nothing(theirs),
            )));
        }
        self.barrier(name)
    }

    /// Returns once all ranks have come here.
    ///
    /// # Errors
    /// If a rank has failed or died.
    pub fn barrier(&self, name: &str) -> Result<()> {
        let (count, passed) = (format!("barrier/{name}"), format!("passed/{name}"));
        if self.add(&count)? == self.size() as i64 {
            self.asked(self.attempt.store.set(&passed, b""))?;
        }
        self.wait_for(&passed)
    }

    /// The sums over all ranks: the same bits on every rank.
    ///
    /// # Errors
    /// If a rank has failed or died.
    pub fn sum(&self, numbers: Vec<f32>) -> Result<Vec<f32>> {
        self.by_gloo(|gloo| gloo.sum(numbers, &|| self.state.is_over()))
    }

    /// The sums over all ranks of numbers that lie on a CUDA device, in place, after all work that the device was given
    /// before: the same bits on every rank. `false` where NCCL is not to be had on every rank; nothing was done then.
    ///
    /// # Errors
    /// If a rank has failed or died. One that dies later ends the device's work, with any numbers: [`Group::check`] says so.
    ///
    /// # Safety
    /// There are `count` numbers at `address` on the CUDA device, until its work is done.
    pub unsafe fn sum_on_device(&self, device: usize, address: *mut f32, count: usize) -> Result<bool> {
        let communicator = match self.nccl.get() {
            Some(communicator) => communicator,
            None => {
                let opened = nccl::join(self, device, nccl::Library::find)?;
                self.heard()?;
                *self.state.communicator.lock().unwrap_or_else(PoisonError::into_inner) = opened.clone();
                self.nccl.get_or_init(|| opened)
            }
        };
        let Some(communicator) = communicator else { return Ok(false) };
        // SAFETY: as this function's caller says.
        unsafe { communicator.sum(address, count) }.map_err(|why| self.explain(&why))?;
        Ok(true)
    }

    /// What rank 0 has, on all ranks; `bytes` is looked at on rank 0 alone.
    ///
    /// # Errors
    /// If a rank has failed or died.
    pub fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let is_over = || self.state.is_over();
        let length = (bytes.len() as u64).to_le_bytes().to_vec();
        let length = length_of(&self.by_gloo(|gloo| gloo.broadcast(length, 0, &is_over))?);
        let bytes = if self.is_first() { bytes } else { vec![0; length] };
        if length == 0 {
            return Ok(bytes);
        }
        self.by_gloo(|gloo| gloo.broadcast(bytes, 0, &is_over))
    }

    /// Sends `to[r]` to each rank r, and gives what each rank has sent to this one.
    ///
    /// # Errors
    /// If a rank has failed or died.
    ///
    /// # Panics
    /// If there is not one message for each rank.
    pub fn all_to_all(&self, to: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let is_over = || self.state.is_over();
        let lengths: Vec<Vec<u8>> = to.iter().map(|message| (message.len() as u64).to_le_bytes().to_vec()).collect();
        let lengths = self.by_gloo(|gloo| gloo.all_to_all(&lengths, &vec![8; self.size()], &is_over))?;
        let lengths: Vec<usize> = lengths.iter().map(|bytes| length_of(bytes)).collect();
        self.by_gloo(|gloo| gloo.all_to_all(to, &lengths, &is_over))
    }

    fn by_gloo<T>(&self, run: impl FnOnce(&Gloo) -> Result<T, String>) -> Result<T> {
        run(self.gloo()?).map_err(|why| self.explain(&why))
    }

    /// Counts, over all ranks: 0 for the first who asks, then 1, and so on.
    ///
    /// # Errors
    /// If rank 0 has ended.
    pub fn next(&self, counter: &str) -> Result<u64> {
        Ok(self.add(&format!("next/{counter}"))? as u64 - 1)
    }

    /// What rank 0 has, on all ranks, through the store; `value` is looked at on rank 0 alone. For what is small, or where no
    /// sums are needed.
    ///
    /// # Errors
    /// If a rank has failed or died.
    pub fn share(&self, name: &str, value: &[u8]) -> Result<Vec<u8>> {
        let key = format!("share/{name}");
        if self.is_first() {
            self.asked(self.attempt.store.set(&key, value))?;
        }
        self.wait_for(&key)?;
        self.asked(self.attempt.store.get(&key))
    }

    /// Leaves a value for other ranks.
    ///
    /// # Errors
    /// If rank 0 has ended.
    pub fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        self.asked(self.attempt.store.set(&format!("value/{key}"), value))
    }

    /// What a rank has left; `None` if none has yet.
    ///
    /// # Errors
    /// If a rank has failed, or rank 0 has ended.
    pub fn take(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.check()?;
        let key = format!("value/{key}");
        Ok(if self.asked(self.attempt.store.has(&key))? {
            Some(self.asked(self.attempt.store.get(&key))?)
        } else {
            None
        })
    }

    /// Ends the group because of an error of this rank, with an exit code, or of another one that this one has heard of.
    /// Returns once the others know, or soon.
    pub fn fail(&self, is_elsewhere: bool, code: u8) -> Verdict {
        self.state.left.store(true, Ordering::Relaxed);
        if !is_elsewhere && self.state.lost.load(Ordering::Relaxed) {
            // Rank 0 has ended, and nobody can agree any more: one of each machine says so.
            return Verdict { speaks: self.rank() == 1 || self.place.local_rank == 0, code };
        }
        let here = |rank: &usize| self.attempt.store.has(&format!("here/{rank}")) == Ok(true);
        let here = (0..self.size()).filter(here).count();
        leave(&self.attempt.store, self.place.meeting.serves, Some(here), (!is_elsewhere).then_some(code), code)
    }

    /// The error that ends this rank after another has ended: names it, unless it has said itself why.
    pub fn explain(&self, why: &str) -> Error {
        if self.state.is_lost() {
            return self.lost();
        }
        let before = self.beats();
        let begun = Instant::now();
        while begun.elapsed() < 6 * BEAT {
            if self.state.failed.load(Ordering::Relaxed) || self.attempt.store.has("failed") == Ok(true) {
                return Error::Elsewhere;
            }
            thread::sleep(LOOK);
        }
        let (Ok(before), Ok(after)) = (before, self.beats()) else {
            self.state.lost.store(true, Ordering::Relaxed);
            return self.lost();
        };
        let has_left = |rank: usize| self.attempt.store.has(&goodbye(rank)) == Ok(true);
        let is_dead = |&rank: &usize| rank != self.rank() && before[rank] == after[rank] && !has_left(rank);
        let still = (0..self.size()).filter(is_dead);
        let still: Vec<String> = still.map(|rank| rank.to_string()).collect();
        let who = if still.is_empty() { "another rank".into() } else { named(&still) };
        Error::Data(format!("{who} of {} has ended without a word ({why}), and all others end with it", self.size()))
    }

    fn lost(&self) -> Error {
        Error::Data(format!("rank 0 of {} has ended without a word, and all others end with it", self.size()))
    }

    /// The collectives, which all ranks open together.
    fn gloo(&self) -> Result<&Gloo> {
        if let Some(gloo) = self.gloo.get() {
            return Ok(gloo);
        }
        let host = &self.place.meeting.host;
        let is_here = host == "localhost" || host == "::1" || host.starts_with("127.");
        let interface = std::env::var("GLOO_SOCKET_IFNAME").ok();
        let place = (self.rank(), self.size());
        self.barrier("gloo")?;
        let gloo = Gloo::open(
            &self.attempt.store,
            place,
            CONNECTING,
            SLOWEST,
            is_here.then_some("127.0.0.1"),
            interface.as_deref(),
        );
        let gloo = gloo.map_err(|why| match self.check() {
            Err(error) => error,
            Ok(()) => Error::Data(format!(
                "the ranks do not reach each other ({why}): GLOO_SOCKET_IFNAME names the network interface to use"
            )),
        })?;
        Ok(self.gloo.get_or_init(|| gloo))
    }

    /// Says what the watching thread has heard, without asking the store.
    ///
    /// # Errors
    /// If a rank has failed or died.
    pub fn heard(&self) -> Result<()> {
        if self.state.is_over() { self.check() } else { Ok(()) }
    }

    /// Looks whether all is well so far.
    ///
    /// # Errors
    /// If a rank has failed, or rank 0 has ended.
    pub fn check(&self) -> Result<()> {
        if self.state.is_lost() {
            return Err(self.lost());
        }
        if self.state.failed.load(Ordering::Relaxed) || self.asked(self.attempt.store.has("failed"))? {
            return Err(Error::Elsewhere);
        }
        if self.state.is_over() { Err(self.explain("it does not answer")) } else { Ok(()) }
    }

    /// Says that this rank's silence is no death.
    fn say_goodbye(&self) -> Result<i64, String> {
        self.attempt.store.set(&goodbye(self.rank()), b"")?;
        self.attempt.store.add("done", 1)
    }

    fn add(&self, key: &str) -> Result<i64> {
        self.asked(self.attempt.store.add(key, 1))
    }

    fn asked<T>(&self, answer: Result<T, String>) -> Result<T> {
        answer.map_err(|_| {
            self.state.lost.store(true, Ordering::Relaxed);
            if self.state.failed.load(Ordering::Relaxed) { Error::Elsewhere } else { self.lost() }
        })
    }

    /// Waits for a key; ends with an error where a rank has failed or died.
    fn wait_for(&self, key: &str) -> Result<()> {
        while !self.asked(self.attempt.store.has(key))? {
            self.check()?;
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// How often each rank has said that it is alive.
    fn beats(&self) -> Result<Vec<i64>, String> {
        beats(&self.attempt.store, self.size())
    }

    /// Starts the thread that says that this rank is alive, and hears of failures and signals.
    fn watch(&self) -> Result<()> {
        // A connection of its own: another may be waiting in the store.
        let meeting = Meeting { serves: false, ..self.place.meeting.clone() };
        let store = self.attempt.within(open(&meeting, patience())?).map_err(|_| self.lost())?;
        let (state, stop, place) = (Arc::clone(&self.state), Arc::clone(&self.stop), (self.rank(), self.size()));
        let watcher = thread::spawn(move || watch(&store, &state, &stop, place));
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whoever holds the store leaves last.
        let is_lost = self.state.is_lost();
        let is_ended = self.state.left.swap(true, Ordering::Relaxed) || is_lost;
        if !is_ended && self.say_goodbye().is_ok() && self.place.meeting.serves {
            let begun = Instant::now();
            let all = self.size() as i64;
            while begun.elapsed() < FAREWELL && self.attempt.store.add("done", 0).is_ok_and(|done| done < all) {
                thread::sleep(LOOK);
            }
        }
        let watcher = self.watcher.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // One that waits for a store that is gone may wait for long.
        if let Some(watcher) = watcher.filter(|_| !is_lost) {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
    }
}

/// A number that was sent as eight bytes.
fn length_of(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte))
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
