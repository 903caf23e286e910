//! Heartbeats: how a rank learns of signals, failures and deaths of the other ranks while it works.

use super::c10d::Store;
use super::nccl::Communicator;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Interval between two looks at the store while something is waited for.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Interval between two heartbeats of a rank.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(250);

/// Interval between two checks of the other ranks' heartbeats.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Checks in a row without a heartbeat after which a rank is dead. Checks are counted, not seconds: a job that was
/// suspended as a whole goes on.
const MAX_MISSED_CHECKS: u32 = 10;

/// State of the group as the heartbeat thread last saw it.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// A rank has failed.
    pub(super) failed: AtomicBool,
    /// The store no longer answers.
    pub(super) lost: AtomicBool,
    /// This rank has left the group.
    pub(super) left: AtomicBool,
    /// A rank has died without reporting a failure.
    died: AtomicBool,
    /// How often the heartbeat thread has heard from the store.
    rounds: AtomicI64,
    /// The last rounds that were checked, and when.
    checked: Mutex<(Heartbeat, Option<Instant>)>,
    /// NCCL's work on a CUDA device, which would wait for a dead rank for ever.
    pub(super) communicator: Mutex<Option<Arc<Communicator>>>,
}

impl Liveness {
    /// Whether this rank must stop waiting for the others.
    pub(super) fn is_over(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.died.load(Ordering::Relaxed) || self.is_lost()
    }

    /// Whether the store is gone, or has not answered the heartbeat thread for about 20 s.
    pub(super) fn is_lost(&self) -> bool {
        let rounds = self.rounds.load(Ordering::Relaxed);
        if rounds > 0 && !self.lost.load(Ordering::Relaxed) {
            let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
            let (heartbeat, last) = &mut *checked;
            if rounds != heartbeat.count || last.is_none_or(|last| last.elapsed() >= CHECK_INTERVAL) {
                *last = Some(Instant::now());
                let missed = heartbeat.missed_after(rounds);
                self.lost.fetch_or(missed > 2 * MAX_MISSED_CHECKS, Ordering::Relaxed);
            }
        }
        self.lost.load(Ordering::Relaxed)
    }

    /// Aborts NCCL's work, on a thread of its own since the abort may block.
    pub(super) fn abort(&self) {
        let communicator = self.communicator.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(communicator) = communicator {
            thread::spawn(move || communicator.abort());
        }
    }
}

/// The key that is set once a rank has got a signal: all stop.
pub(super) const STOP: &str = "stop";

/// The key that is set once a rank has died.
const DIED: &str = "died";

/// The key that a rank sets before it leaves in good order.
pub(super) fn left_key(rank: usize) -> String {
    format!("left/{rank}")
}

/// The number of heartbeats of each rank.
pub(super) fn heartbeats(store: &Store, size: usize) -> Result<Vec<i64>, String> {
    (0..size).map(|rank| store.add(&format!("heartbeat/{rank}"), 0)).collect()
}

/// The heartbeat thread: reports that this rank is alive, and learns of failures, deaths and signals, until the rank leaves.
pub(super) fn watch(store: &Store, liveness: &Liveness, stop: &AtomicBool, (rank, size): (usize, usize)) {
    let (mut stop_shared, mut last_check) = (false, Instant::now());
    // Rank 0 checks all ranks, and the others check rank 0: N ranks make about 2N requests a second, not N².
    let mut seen = vec![Heartbeat::default(); if rank == 0 { size } else { 1 }];
    let mut round = || -> Result<(), String> {
        store.add(&format!("heartbeat/{rank}"), 1)?;
        if store.has("failed")? {
            liveness.failed.store(true, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        } else if store.has(STOP)? {
            stop.store(true, Ordering::Relaxed);
        } else if stop.load(Ordering::Relaxed) && !stop_shared {
            store.set(STOP, b"")?;
            stop_shared = true;
        }
        if last_check.elapsed() >= CHECK_INTERVAL {
            last_check = Instant::now();
            let counts = heartbeats(store, seen.len())?;
            for silent in silent_ranks(&mut seen, &counts) {
                if !store.has(&left_key(silent))? {
                    store.set(DIED, b"")?;
                }
            }
            if store.has(DIED)? {
                liveness.died.store(true, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
            }
        }
        liveness.rounds.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    while !liveness.left.load(Ordering::Relaxed) {
        if round().is_err() {
            if !liveness.left.load(Ordering::Relaxed) {
                liveness.lost.store(true, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
                liveness.abort();
            }
            return;
        }
        if liveness.is_over() {
            liveness.abort();
        }
        thread::park_timeout(HEARTBEAT_INTERVAL);
    }
}

/// A rank's heartbeats at the last check, and how many checks in a row saw no new one.
#[derive(Debug, Clone, Default)]
struct Heartbeat {
    count: i64,
    missed: u32,
}

impl Heartbeat {
    /// Takes the count of a new check; returns how many checks in a row saw this count.
    fn missed_after(&mut self, count: i64) -> u32 {
        self.missed = if self.count == count { self.missed + 1 } else { 0 };
        self.count = count;
        self.missed
    }
}

/// Takes the counts of a new check; returns the ranks that count as dead.
fn silent_ranks(seen: &mut [Heartbeat], counts: &[i64]) -> Vec<usize> {
    let missed: Vec<u32> = seen.iter_mut().zip(counts).map(|(seen, &count)| seen.missed_after(count)).collect();
    (0..missed.len()).filter(|&rank| missed[rank] >= MAX_MISSED_CHECKS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_silent_after_ten_checks_without_a_heartbeat() {
        let mut seen = vec![Heartbeat::default(); 2];
        assert!((0..=i64::from(MAX_MISSED_CHECKS) - 1).all(|now| silent_ranks(&mut seen, &[now, 7]).is_empty()));
        assert_eq!(silent_ranks(&mut seen, &[100, 7]), [1]);
        assert!(silent_ranks(&mut seen, &[101, 8]).is_empty(), "it has a heartbeat again");
    }
}
