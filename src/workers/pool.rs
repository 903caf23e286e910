//! The thread pool of the process.
//!
//! An idle thread spins for a moment before it sleeps: waking it takes 40 to 70 µs on two cores of
//! a Zen 4, a call to an awake thread 2 µs, and many calls are shorter than that. docs/experiments/thread-pool.md compares the
//! pool with rayon.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The time that a thread spins for work, or for the end of the others' work, before it sleeps.
const SPIN_TIME: Duration = Duration::from_micros(200);

/// The state that the threads share. They live as long as the process.
#[derive(Default)]
pub(super) struct Pool {
    calls: Mutex<Calls>,
    /// The number of calls so far: a change is seen without the lock.
    count: AtomicUsize,
    called: Condvar,
}

#[derive(Default)]
struct Calls {
    /// Calls that take more threads, and how many.
    open: Vec<(Arc<Call>, usize)>,
    /// The number of sleeping threads.
    sleeping: usize,
}

/// Work that threads join until the caller has done its own part.
struct Call {
    work: ErasedWork,
    /// The number of threads that have joined and not ended.
    active: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
}

/// The work of each thread, a function of its number.
struct ErasedWork(*const (dyn Fn(usize) + Sync));

// SAFETY: several threads may call the target; the caller stays until none does.
unsafe impl Send for ErasedWork {}
// SAFETY: see above.
unsafe impl Sync for ErasedWork {}

impl Pool {
    /// Starts up to `threads` threads; `None` if none can be started.
    pub(super) fn start(threads: usize) -> Option<Arc<Pool>> {
        let pool = Arc::new(Pool::default());
        let start = |i: usize| {
            let pool = Arc::clone(&pool);
            thread::Builder::new().name(format!("worker-{i}")).spawn(move || pool.serve(i + 1))
        };
        let started = (0..threads).map_while(|i| start(i).ok()).count();
        (started > 0).then_some(pool)
    }

    /// Calls `work` on this thread and on up to `threads` idle others; returns when all have returned. `work` gets the number
    /// of the thread: 0 is this one, and the others keep theirs in all calls.
    ///
    /// # Panics
    /// If `work` panics.
    pub(super) fn call(&self, threads: usize, work: &(dyn Fn(usize) + Sync)) {
        // SAFETY: the lifetime is erased, but no thread calls the work after `withdraw`, before this function returns.
        let erased =
            unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync), *const (dyn Fn(usize) + Sync)>(work) };
        let call = Arc::new(Call {
            work: ErasedWork(erased),
            active: AtomicUsize::new(0),
            panic: Mutex::new(None),
            caller: thread::current(),
        });
        self.open(&call, threads);
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        self.withdraw(&call);
        let others = call.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = own.err().or(others) {
            resume_unwind(panic);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `threads` threads join a call.
    fn open(&self, call: &Arc<Call>, threads: usize) {
        let mut calls = self.lock();
        calls.open.push((Arc::clone(call), threads));
        self.count.fetch_add(1, Ordering::Release);
        let sleeping = calls.sleeping;
        drop(calls);
        (0..sleeping.min(threads)).for_each(|_| self.called.notify_one());
    }

    /// Lets no more threads join a call, and waits for the joined threads.
    fn withdraw(&self, call: &Arc<Call>) {
        self.lock().open.retain(|(other, _)| !Arc::ptr_eq(other, call));
        let is_done = || call.active.load(Ordering::Acquire) == 0;
        if !spin_until(is_done) {
            while !is_done() {
                thread::park();
            }
        }
    }

    /// Joins calls, for ever, as thread number `thread`.
    fn serve(&self, thread: usize) {
        loop {
            let before = self.count.load(Ordering::Acquire);
            let joined = self.lock().join(); // the lock is held no longer
            if let Some(call) = joined {
                call.take_part(thread);
            } else if !spin_until(|| self.count.load(Ordering::Acquire) != before) {
                let mut calls = self.lock();
                calls.sleeping += 1;
                while calls.open.is_empty() {
                    calls = self.called.wait(calls).unwrap_or_else(PoisonError::into_inner);
                }
                calls.sleeping -= 1;
            }
        }
    }
}

impl Calls {
    /// Joins the oldest open call.
    fn join(&mut self) -> Option<Arc<Call>> {
        let (call, places) = self.open.first_mut()?;
        let call = Arc::clone(call);
        call.active.fetch_add(1, Ordering::Relaxed);
        *places -= 1;
        if *places == 0 {
            self.open.remove(0);
        }
        Some(call)
    }
}

impl Call {
    fn take_part(&self, thread: usize) {
        // SAFETY: the caller waits for this thread, which counts as active.
        let work = unsafe { &*self.work.0 };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(thread))) {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
        if self.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.caller.unpark();
        }
    }
}

/// Spins until a condition holds, for [`SPIN_TIME`] at most; returns whether it holds.
fn spin_until(holds: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    loop {
        for _ in 0..16 {
            if holds() {
                return true;
            }
            std::hint::spin_loop();
        }
        if started.elapsed() > SPIN_TIME {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;

    #[test]
    fn as_many_threads_as_were_called_work_at_once() {
        let pool = Pool::start(3).expect("threads");
        for threads in [1, 2, 3] {
            // Each waits for the others, so none can take the part of another.
            let (barrier, ids) = (Barrier::new(threads + 1), Mutex::new(HashSet::new()));
            pool.call(threads, &|_| {
                ids.lock().expect("no panic").insert(thread::current().id());
                barrier.wait();
            });
            assert_eq!(ids.into_inner().expect("no panic").len(), threads + 1);
        }
    }

    #[test]
    fn threads_that_sleep_are_woken() {
        let pool = Pool::start(1).expect("a thread");
        for _ in 0..20 {
            thread::sleep(2 * SPIN_TIME);
            let barrier = Barrier::new(2);
            pool.call(1, &|_| {
                barrier.wait();
            });
        }
    }

    #[test]
    fn calls_from_several_threads_and_within_calls_all_end() {
        let pool = Pool::start(2).expect("threads");
        let count = AtomicUsize::new(0);
        let one = |_| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..500).for_each(|_| pool.call(2, &|_| pool.call(2, &one))));
            }
        });
        // At least the caller works, at most the two with it.
        assert!((2000..=2000 * 9).contains(&count.into_inner()));
    }

    #[test]
    fn a_panic_leaves_the_threads_alive() {
        let pool = Pool::start(1).expect("a thread");
        for _ in 0..3 {
            let barrier = Barrier::new(2);
            let work = |_| {
                barrier.wait();
                panic!("on both threads");
            };
            assert!(catch_unwind(AssertUnwindSafe(|| pool.call(1, &work))).is_err());
        }
        let barrier = Barrier::new(2);
        pool.call(1, &|_| {
            barrier.wait();
        });
    }
}
