//! Work on several threads at once. The results do not depend on the number of threads.

use crate::memory;
use pool::Pool;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{process, thread};

mod pool;

/// What one thread is to do.
pub(crate) type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// What the thread that started others is to do meanwhile, given a way to ask whether all of them have ended.
pub(crate) type Own<'a> = Box<dyn FnOnce(&dyn Fn() -> bool) + 'a>;

/// How many threads this process should have at work: one for each core, or a share of that.
pub(crate) fn cores() -> usize {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    (cores / memory::processes() as usize).max(1)
}

/// Does each job on a thread of its own, and `own` on this one.
///
/// Not generic, unlike its callers, so that threads are compiled once and not for each puzzle.
///
/// # Panics
/// If a job panics.
pub(crate) fn beside(jobs: Vec<Job<'_>>, own: Own<'_>) {
    thread::scope(move |scope| {
        // Where a thread cannot be started, what the jobs wait for goes with `own`.
        let own = own;
        let threads: Vec<_> = jobs.into_iter().map(|job| scope.spawn(job)).collect();
        own(&|| threads.iter().all(|thread| thread.is_finished()));
        for thread in threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// The threads that wait for work, one fewer than there are cores: whoever has work for them works too. None where none can
/// be started. With the id of the process that started them, because a forked child has no threads.
static POOL: LazyLock<(u32, Option<Pool>)> = LazyLock::new(|| {
    let others = thread::available_parallelism().map_or(1, |cores| cores.get()) - 1;
    (process::id(), Pool::start(others))
});

fn pool() -> Option<&'static Pool> {
    let (owner, pool) = &*POOL;
    pool.as_ref().filter(|_| *owner == process::id())
}

/// Calls `work` with each number below `count`, on at most so many threads, this one among them; a thread that has done one
/// takes the next.
fn for_all(threads: usize, count: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let take_all = &|| take_all(&next, count, work);
    let helpers = threads.min(count).saturating_sub(1);
    match pool() {
        _ if helpers == 0 => take_all(),
        Some(pool) => pool.call(helpers, take_all),
        None => started_beside(helpers, take_all),
    }
}

/// Does the same on so many threads that are started for it, and on this one.
fn started_beside(helpers: usize, work: &(dyn Fn() + Sync)) {
    beside((0..helpers).map(|_| Box::new(work) as Job<'_>).collect(), Box::new(|_| work()));
}

/// Calls `work` with each number from `next` on, below `count`, that no other thread has taken.
fn take_all(next: &AtomicUsize, count: usize, work: &(dyn Fn(usize) + Sync)) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return;
        }
        work(number);
    }
}

/// Values that threads put in and take out by number.
struct Slots<T>(Vec<Mutex<Option<T>>>);

impl<T> Slots<T> {
    fn empty(count: usize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(count, || Mutex::new(None));
        Slots(slots)
    }

    fn put(&self, at: usize, value: T) {
        *self.0[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    fn take(&self, at: usize) -> T {
        let value = self.0[at].lock().unwrap_or_else(PoisonError::into_inner).take();
        value.expect("each is put in once and taken out once")
    }
}

/// Works on all things at once, on at most so many threads. The results are in the order of the things. The threads are shared
/// with all of the process: each thing should take no longer than others may wait, some milliseconds.
///
/// # Panics
/// If `work` panics.
pub(crate) fn on_each<T: Send, R: Send>(threads: usize, things: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    by_number(things, work, |count, work| for_all(threads, count, work))
}

/// The same with threads that are started for it: for work that takes longer.
///
/// # Panics
/// If `work` panics.
pub(crate) fn on_own_threads<T: Send, R: Send>(threads: usize, things: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    by_number(things, work, |count, work| {
        let next = AtomicUsize::new(0);
        let take_all = &|| take_all(&next, count, work);
        started_beside(threads.min(count).saturating_sub(1), take_all);
    })
}

/// Works on things that are numbered; `all` calls what it is given with each number.
fn by_number<T: Send, R: Send>(
    things: Vec<T>,
    work: impl Fn(T) -> R + Sync,
    all: impl FnOnce(usize, &(dyn Fn(usize) + Sync)),
) -> Vec<R> {
    let count = things.len();
    let (given, done) = (Slots::empty(count), Slots::empty(count));
    for (i, thing) in things.into_iter().enumerate() {
        given.put(i, thing);
    }
    all(count, &|i| done.put(i, work(given.take(i))));
    (0..count).map(|i| done.take(i)).collect()
}

/// Cuts `0..count` into ranges, none shorter than `least`, works on them at once, and gives the results in order.
pub(crate) fn in_ranges<T: Send>(
    threads: usize,
    count: usize,
    least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    on_each(threads, ranges(threads, count, least), work)
}

/// Into so many parts a thread work is cut at most: a thread that is done sooner takes more of them.
const PARTS: usize = 4;

/// Into how many parts work on so many things is cut, none smaller than `least`.
pub(crate) fn parts(threads: usize, count: usize, least: usize) -> usize {
    let most = if threads > 1 { PARTS * threads } else { 1 };
    (count / least.max(1)).clamp(1, most)
}

/// Cuts `0..count` into ranges for threads that work at once, none shorter than `least`.
pub(crate) fn ranges(threads: usize, count: usize, least: usize) -> Vec<Range<usize>> {
    let parts = parts(threads, count, least);
    (0..parts).map(|i| i * count / parts..(i + 1) * count / parts).collect()
}

/// Adds values to a vector, each made from its number: threads write ranges of them, none shorter than `least`.
pub(crate) fn extend<T: Copy + Send>(
    threads: usize,
    to: &mut Vec<T>,
    count: usize,
    least: usize,
    value: impl Fn(usize) -> T + Sync,
) {
    extend_by(threads, to, (count, 1), least, &|i, place| {
        place[0].write(value(i));
    });
}

/// Adds rows of `width` values to a vector, as [`extend`] adds values.
///
/// # Panics
/// If a row has another width.
pub(crate) fn extend_rows<'a, T: Copy + Send + Sync + 'a>(
    threads: usize,
    to: &mut Vec<T>,
    (count, width): (usize, usize),
    least: usize,
    row: impl Fn(usize) -> &'a [T] + Sync,
) {
    extend_by(threads, to, (count, width), least, &|i, places| {
        let row = row(i);
        assert_eq!(row.len(), places.len());
        places.iter_mut().zip(row).for_each(|(place, &value)| {
            place.write(value);
        });
    });
}

/// Adds rows to a vector; `write` is given the number of a row and its places, and must write each of them.
fn extend_by<T: Copy + Send>(
    threads: usize,
    to: &mut Vec<T>,
    (count, width): (usize, usize),
    least: usize,
    write: &(impl Fn(usize, &mut [MaybeUninit<T>]) + Sync),
) {
    let all = count * width;
    if all == 0 {
        return;
    }
    to.reserve(all);
    let each = count.div_ceil(parts(threads, count, least));
    let places = to.spare_capacity_mut()[..all].chunks_mut(each * width).enumerate().collect();
    on_each(threads, places, |(part, places): (usize, &mut [MaybeUninit<T>])| {
        places.chunks_mut(width).enumerate().for_each(|(i, row)| write(part * each + i, row));
    });
    // SAFETY: there is room for them, and both callers write every place of a row; a panic does not come here.
    unsafe { to.set_len(to.len() + all) };
}

/// Works on shards at once, cut into runs, of which a thread takes one after the other: `work` is given the number of the
/// first, and the run. The results are in the order of the runs.
pub(crate) fn in_shards<T: Send, R: Send>(
    threads: usize,
    shards: &mut [T],
    work: impl Fn(usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    let each = shards.len().div_ceil(parts(threads, shards.len(), 1)).max(1);
    let runs = shards.chunks_mut(each).enumerate().collect();
    on_each(threads, runs, |(run, shards)| work(run * each, shards))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_everything_in_order() {
        for threads in [1, 2, 3, 16] {
            for count in [0, 1, 5, 100] {
                let ranges = in_ranges(threads, count, 2, |range| range.collect::<Vec<_>>());
                assert!(ranges.len() <= if threads > 1 { PARTS * threads } else { 1 }, "{threads} threads");
                assert!(ranges.len() == 1 || ranges.iter().all(|range| range.len() >= 2), "{count} in {ranges:?}");
                assert_eq!(ranges.concat(), (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_panic_of_any_thread_is_passed_on() {
        for bad in 0..4 {
            let work = |i: usize| assert_ne!(i, bad, "the bad one");
            assert!(std::panic::catch_unwind(|| on_each(2, (0..4).collect(), work)).is_err(), "thing {bad}");
            assert!(std::panic::catch_unwind(|| on_own_threads(2, (0..4).collect(), work)).is_err(), "thing {bad}");
        }
    }

    #[test]
    fn this_thread_sees_the_end_of_the_others() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let mut seen = Vec::new();
        let wait = move || receiver.recv().unwrap_or_default();
        let own: Own<'_> = Box::new(|ended| {
            seen.push(ended());
            sender.send(()).expect("the other thread waits");
            while !ended() {
                thread::yield_now();
            }
            seen.push(true);
        });
        beside(vec![Box::new(wait)], own);
        assert_eq!(seen, [false, true]);
    }

    #[test]
    fn vectors_grow_by_values_and_rows_in_order() {
        for threads in [1, 2, 3, 16] {
            for count in [0, 1, 5, 100] {
                let (mut values, mut rows) = (vec![7], vec![7, 7]);
                extend(threads, &mut values, count, 2, |i| i);
                assert_eq!(values, [vec![7], (0..count).collect()].concat());
                let table: Vec<usize> = (0..3 * count).collect();
                extend_rows(threads, &mut rows, (count, 3), 2, |i| &table[3 * i..3 * i + 3]);
                assert_eq!(rows, [vec![7, 7], table].concat());
                extend_rows(threads, &mut rows, (count, 0), 2, |_| &[]);
                assert_eq!(rows.len(), 2 + 3 * count);
            }
        }
    }

    #[test]
    fn every_shard_is_worked_on_once() {
        for threads in [0, 1, 2, 3, 16, 100] {
            let mut shards = vec![0; 64];
            in_shards(threads, &mut shards, |first, shards| {
                shards.iter_mut().enumerate().for_each(|(i, shard)| *shard += first + i + 1);
            });
            assert_eq!(shards, (1..=64).collect::<Vec<_>>());
        }
    }
}
