//! What a rank hears of the others while it works: signals, failures, and silence.

use super::c10d::Store;
use super::nccl::Communicator;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the store is looked at while something is waited for.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// How often a rank says that it is alive, and looks whether the others are.
pub(super) const BEAT: Duration = Duration::from_millis(250);

/// How often a rank looks whether the others' counters have moved.
const COUNTERS_EVERY: Duration = Duration::from_secs(1);

/// A rank whose counter has stood still for so many looks is dead. Looks are counted, not seconds: a job that was
/// suspended as a whole goes on.
const LOOKS_UNTIL_DEAD: u32 = 10;

/// What the watching thread knows.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Some rank has failed.
    pub(super) failed: AtomicBool,
    /// The store does not answer any more.
    pub(super) lost: AtomicBool,
    /// This rank has left the group.
    pub(super) left: AtomicBool,
    /// Some rank has died without a word.
    silent: AtomicBool,
    /// How often the watching thread has heard from the store.
    rounds: AtomicU64,
    /// What is known of these rounds: their number, and how many looks saw the same.
    looks: Mutex<(u64, u32, Option<Instant>)>,
    /// What works on a CUDA device, and would wait for a dead rank for ever.
    pub(super) communicator: Mutex<Option<Arc<Communicator>>>,
}

impl State {
    /// Whether this rank is to wait for the others no longer.
    pub(super) fn is_over(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.silent.load(Ordering::Relaxed) || self.is_lost()
    }

    /// Whether the store is gone, or has not answered the watching thread for long.
    pub(super) fn is_lost(&self) -> bool {
        if self.lost.load(Ordering::Relaxed) {
            return true;
        }
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let rounds = self.rounds.load(Ordering::Relaxed);
        if rounds == 0 || rounds != looks.0 {
            *looks = (rounds, 0, None);
        } else if looks.2.is_none_or(|last| last.elapsed() >= COUNTERS_EVERY) {
            *looks = (rounds, looks.1 + 1, Some(Instant::now()));
        }
        let is_stuck = looks.1 > 2 * LOOKS_UNTIL_DEAD;
        if is_stuck {
            self.lost.store(true, Ordering::Relaxed);
        }
        is_stuck
    }

    /// Ends what works on a CUDA device, on a thread of its own: it may be stuck.
    pub(super) fn abort(&self) {
        let communicator = self.communicator.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(communicator) = communicator {
            thread::spawn(move || communicator.abort());
        }
    }
}

/// The key that is set once a rank has died without a word.
const SILENT: &str = "silent";

/// The key that a rank sets before it leaves in good order.
pub(super) fn goodbye(rank: usize) -> String {
    format!("goodbye/{rank}")
}

/// How often each rank has said that it is alive.
pub(super) fn beats(store: &Store, size: usize) -> Result<Vec<i64>, String> {
    (0..size).map(|rank| store.add(&format!("beat/{rank}"), 0)).collect()
}

/// Says again and again that this rank is alive, and hears of failures, deaths and signals, until it has left.
pub(super) fn watch(store: &Store, state: &State, stop: &AtomicBool, (rank, size): (usize, usize)) {
    let (mut passed_on, mut silence, mut looked) = (false, Silence::new(size), Instant::now());
    let mut round = || -> Result<(), String> {
        store.add(&format!("beat/{rank}"), 1)?;
        if store.has("failed")? {
            state.failed.store(true, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        } else if store.has("stop")? {
            stop.store(true, Ordering::Relaxed);
        } else if stop.load(Ordering::Relaxed) && !passed_on {
            store.set("stop", b"")?;
            passed_on = true;
        }
        if looked.elapsed() >= COUNTERS_EVERY {
            looked = Instant::now();
            // Rank 0 looks after all, and the others after rank 0: else each would ask for each.
            let watched = if rank == 0 { size } else { 1 };
            for silent in silence.after(&beats(store, watched)?) {
                if !store.has(&goodbye(silent))? {
                    store.set(SILENT, b"")?;
                }
            }
            if store.has(SILENT)? {
                state.silent.store(true, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
            }
        }
        state.rounds.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    while !state.left.load(Ordering::Relaxed) {
        if round().is_err() {
            if !state.left.load(Ordering::Relaxed) {
                state.lost.store(true, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
                state.abort();
            }
            return;
        }
        if state.is_over() {
            state.abort();
        }
        thread::park_timeout(BEAT);
    }
}

/// Which ranks' counters stand still.
#[derive(Debug)]
struct Silence {
    /// What each rank's counter was, and how many looks saw it so.
    beats: Vec<(i64, u32)>,
}

impl Silence {
    fn new(size: usize) -> Self {
        Silence { beats: vec![(-1, 0); size] }
    }

    /// Takes the counters of a further look; the ranks that are silent.
    fn after(&mut self, now: &[i64]) -> Vec<usize> {
        for ((beats, looks), &now) in self.beats.iter_mut().zip(now) {
            *looks = if *beats == now { *looks + 1 } else { 0 };
            *beats = now;
        }
        (0..self.beats.len()).filter(|&rank| self.beats[rank].1 >= LOOKS_UNTIL_DEAD).collect()
    }
}

/// Ranks by their numbers.
pub(super) fn named(ranks: &[String]) -> String {
    match ranks {
        [rank] => format!("rank {rank}"),
        _ => format!("each of the ranks {}", ranks.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_silent_after_ten_looks_at_one_number() {
        let mut silence = Silence::new(2);
        assert!((0..=i64::from(LOOKS_UNTIL_DEAD) - 1).all(|now| silence.after(&[now, 7]).is_empty()));
        assert_eq!(silence.after(&[100, 7]), [1]);
        assert!(silence.after(&[101, 8]).is_empty(), "it speaks again");
    }
}
