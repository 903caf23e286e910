//! Work on several threads at once. The results do not depend on the number of threads.

use crate::memory;
use pool::Pool;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::{process, thread};

mod pool;

/// The fewest items that are worth another thread where each takes some nanoseconds: a copy, a comparison, a look-up. Work on
/// dearer items has a number of its own.
pub(crate) const GRAIN: usize = 1 << 12;

/// The work of one thread.
pub(crate) type Work<'a> = Box<dyn FnOnce() + Send + 'a>;

/// The work of the calling thread meanwhile. Its argument tells whether all jobs have ended.
pub(crate) type Own<'a> = Box<dyn FnOnce(&dyn Fn() -> bool) + 'a>;

/// The number of threads for this process: one a core, divided among the local processes.
pub(crate) fn cores() -> usize {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    (cores / memory::processes() as usize).max(1)
}

/// Runs each job on its own thread, and `own` on this one.
///
/// Not generic, unlike its callers: threads are compiled once, not for each puzzle.
///
/// # Panics
/// If a job panics.
pub(crate) fn beside(jobs: Vec<Work<'_>>, own: Own<'_>) {
    thread::scope(move |scope| {
        // If a thread cannot be started, dropping `own` ends the jobs that wait for it.
        let own = own;
        let threads: Vec<_> = jobs.into_iter().map(|job| scope.spawn(job)).collect();
        own(&|| threads.iter().all(|thread| thread.is_finished()));
        for thread in threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// The process's id, and one worker per core, minus the calling thread; no pool if no thread can be started. A forked child
/// has no threads, so the id tells whether the pool is its own.
static POOL: LazyLock<(u32, Option<Arc<Pool>>)> = LazyLock::new(|| {
    let others = thread::available_parallelism().map_or(1, |cores| cores.get()) - 1;
    (process::id(), Pool::start(others))
});

fn pool() -> Option<&'static Pool> {
    let (owner, pool) = &*POOL;
    pool.as_deref().filter(|_| *owner == process::id())
}

/// Calls `work` with each number below `count`, on at most `threads` threads, this one included. A thread starts with its own
/// share of the numbers, the same in each call if possible, so that its data stay in its cache; then it steals from the
/// others.
fn for_all(threads: usize, count: usize, work: &(dyn Fn(usize) + Sync)) {
    let helpers = threads.min(count).saturating_sub(1);
    if helpers == 0 {
        return (0..count).for_each(work);
    }
    let shares = Shares::new(helpers + 1, count);
    let take_part = &|thread| shares.take_all(thread, work);
    match pool() {
        Some(pool) => pool.call(helpers, take_part),
        None => started_beside(helpers, take_part),
    }
}

/// Calls `work` on `helpers` new threads and on this one, with the number of the thread: 0 is this one.
fn started_beside(helpers: usize, work: &(dyn Fn(usize) + Sync)) {
    beside((1..=helpers).map(|thread| Box::new(move || work(thread)) as Work<'_>).collect(), Box::new(|_| work(0)));
}

/// The numbers below a count, divided into shares.
struct Shares {
    count: usize,
    shares: Vec<ThreadShare>,
}

/// Aligned to its own cache lines: only its thread writes it until others help.
#[repr(align(128))]
struct ThreadShare {
    /// The first number that is not taken.
    next: AtomicUsize,
    /// Whether a thread has started with it.
    has_thread: AtomicBool,
}

impl Shares {
    /// # Panics
    /// If there are no shares.
    fn new(shares: usize, count: usize) -> Self {
        let next = |share: usize| AtomicUsize::new(share * count / shares);
        let share = |share: usize| ThreadShare { next: next(share), has_thread: AtomicBool::new(false) };
        Shares { count, shares: (0..shares).map(share).collect() }
    }

    /// The first share of a thread: share 0 for the caller, another one for each other thread.
    fn of(&self, thread: usize) -> usize {
        let others = self.shares.len() - 1;
        let Some(thread) = thread.checked_sub(1).filter(|_| others > 0) else { return 0 };
        let is_free = |&share: &usize| !self.shares[share].has_thread.swap(true, Ordering::Relaxed);
        (0..others).map(|i| 1 + (thread + i) % others).find(is_free).unwrap_or(0)
    }

    /// Calls `work` with each number that no other thread has taken, this thread's share first.
    fn take_all(&self, thread: usize, work: &(dyn Fn(usize) + Sync)) {
        let (shares, own) = (self.shares.len(), self.of(thread));
        for share in (own..own + shares).map(|share| share % shares) {
            let end = (share + 1) * self.count / shares;
            loop {
                let number = self.shares[share].next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    break;
                }
                work(number);
            }
        }
    }
}

/// Works on all items on at most `threads` threads of the pool; returns the results in order. The whole process shares the
/// pool: one item should take some milliseconds at most.
///
/// # Panics
/// If `work` panics.
pub(crate) fn on_each<T: Send, R: Send>(threads: usize, things: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    by_number(threads, things, work, for_all)
}

/// The same on new threads, for longer work. A thread takes the first item that is left.
///
/// # Panics
/// If `work` panics.
pub(crate) fn on_own_threads<T: Send, R: Send>(threads: usize, things: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    by_number(threads, things, work, |threads, count, work| {
        let all = Shares::new(1, count);
        started_beside(threads.min(count).saturating_sub(1), &|_| all.take_all(0, work));
    })
}

/// `(threads, count, work)`: calls `work` for `0..count`, on at most `threads` threads.
type ForAll = fn(usize, usize, &(dyn Fn(usize) + Sync));

/// Works on numbered items. It is compiled a thousand times, for each `work`, so it is short and has no iterators.
fn by_number<T: Send, R: Send>(
    threads: usize,
    mut things: Vec<T>,
    work: impl Fn(T) -> R + Sync,
    for_all: ForAll,
) -> Vec<R> {
    let count = things.len();
    let mut results = Vec::<R>::with_capacity(count);
    let (given, done) = (Items(things.as_mut_ptr()), Items(results.as_mut_ptr()));
    // SAFETY: from here on, items belong to the calls below. After a panic, some are never dropped.
    unsafe { things.set_len(0) };
    for_all(threads, count, &|i| {
        // SAFETY: `i` is below `count`, and no other call has it.
        unsafe { done.at(i).write(work(given.at(i).read())) };
    });
    // SAFETY: each number had its call, which wrote its result.
    unsafe { results.set_len(count) };
    results
}

/// The items of a vector, by number.
struct Items<T>(*mut T);

// SAFETY: each item is used by one thread.
unsafe impl<T: Send> Sync for Items<T> {}

impl<T> Items<T> {
    /// Unsafe unless the vector has memory for this item.
    unsafe fn at(&self, i: usize) -> *mut T {
        // SAFETY: see above.
        unsafe { self.0.add(i) }
    }
}

/// Cuts `0..count` into ranges of at least `min_chunk`, works on them in parallel, and returns the results in order.
pub(crate) fn in_ranges<T: Send>(
    threads: usize,
    count: usize,
    min_chunk: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    on_each(threads, ranges(threads, count, min_chunk), work)
}

/// The most parts of work per thread, and the halvings of a thread's share: a thread that is done early takes more parts.
const PARTS: usize = 4;

/// The number of parts for `count` items, each of at least `min_chunk`.
pub(crate) fn parts(threads: usize, count: usize, min_chunk: usize) -> usize {
    let most = if threads > 1 { PARTS * threads } else { 1 };
    (count / min_chunk.max(1)).clamp(1, most)
}

/// Cuts `0..count` into ranges of at least `min_chunk` for parallel threads. Each range of a thread's share takes half of the
/// rest, if there is enough: the last ranges are small, so the threads end at about the same time (guided self-scheduling:
/// Polychronopoulos and Kuck, 1987).
pub(crate) fn ranges(threads: usize, count: usize, min_chunk: usize) -> Vec<Range<usize>> {
    const LAST: usize = 1 << PARTS;
    if threads < 2 || count < threads * LAST * min_chunk.max(1) {
        let parts = parts(threads, count, min_chunk);
        return (0..parts).map(|i| i * count / parts..(i + 1) * count / parts).collect();
    }
    let (mut ranges, mut start) = (Vec::with_capacity(threads * (PARTS + 1)), 0);
    for share in 1..=threads {
        let end = share * count / threads;
        let mut left = end - start;
        for _ in 0..PARTS {
            left /= 2;
            ranges.push(start..end - left);
            start = end - left;
        }
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// Appends `count` values, each made from its number: threads write ranges of at least `min_chunk`.
pub(crate) fn extend<T: Copy + Send>(
    threads: usize,
    to: &mut Vec<T>,
    count: usize,
    min_chunk: usize,
    value: impl Fn(usize) -> T + Sync,
) {
    let ranges = ranges(threads, count, min_chunk);
    extend_parts(threads, to, &lengths(&ranges), |part, i| value(ranges[part].start + i));
}

/// Appends the values of parts, in order. A thread writes whole parts. `value` gets the part and a number below its length.
pub(crate) fn extend_parts<T: Copy + Send>(
    threads: usize,
    to: &mut Vec<T>,
    lengths: &[usize],
    value: impl Fn(usize, usize) -> T + Sync,
) {
    extend_by(threads, to, lengths, 1, &|part, i, place| {
        place[0].write(value(part, i));
    });
}

fn lengths(ranges: &[Range<usize>]) -> Vec<usize> {
    ranges.iter().map(Range::len).collect()
}

/// Rows prefetched before they are copied: they may lie anywhere.
const ROWS_AHEAD: usize = 16;

/// Appends rows of `width` values, as [`extend`] appends values.
///
/// # Panics
/// If a row has another width.
pub(crate) fn extend_rows<'a, T: Copy + Send + Sync + 'a>(
    threads: usize,
    to: &mut Vec<T>,
    (count, width): (usize, usize),
    min_chunk: usize,
    row: impl Fn(usize) -> &'a [T] + Sync,
) {
    let ranges = ranges(threads, count, min_chunk);
    extend_by(threads, to, &lengths(&ranges), width, &|part, i, places| {
        let i = ranges[part].start + i;
        if i + ROWS_AHEAD < ranges[part].end
            && let [first, .., last] = row(i + ROWS_AHEAD)
        {
            memory::prefetch(first);
            memory::prefetch(last); // it may lie on the next cache line
        }
        let row = row(i);
        assert_eq!(row.len(), places.len());
        places.iter_mut().zip(row).for_each(|(place, &value)| {
            place.write(value);
        });
    });
}

/// Appends parts of `lengths` rows; `write` gets the part, the number of a row in it, and its slots, and must write each.
fn extend_by<T: Copy + Send>(
    threads: usize,
    to: &mut Vec<T>,
    lengths: &[usize],
    width: usize,
    write: &(impl Fn(usize, usize, &mut [MaybeUninit<T>]) + Sync),
) {
    let all = lengths.iter().sum::<usize>() * width;
    if all == 0 {
        return;
    }
    to.reserve(all);
    let mut rest = &mut to.spare_capacity_mut()[..all];
    let mut take = |length: &usize| rest.split_off_mut(..length * width).expect("the lengths were summed");
    let places = lengths.iter().map(&mut take).enumerate().collect();
    on_each(threads, places, |(part, places): (usize, &mut [MaybeUninit<T>])| {
        places.chunks_mut(width).enumerate().for_each(|(i, row)| write(part, i, row));
    });
    // SAFETY: `reserve` made the capacity, and all callers write every slot of a row; a panic does not come here.
    unsafe { to.set_len(to.len() + all) };
}

/// Works on shards in parallel, in runs: `work` gets the number of the first shard, and the run. The results are in the order
/// of the runs.
pub(crate) fn in_shards<T: Send, R: Send>(
    threads: usize,
    shards: &mut [T],
    work: impl Fn(usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    let (ranges, mut rest) = (ranges(threads, shards.len(), 1), shards);
    let run = |range: Range<usize>| (range.start, rest.split_off_mut(..range.len()).expect("ranges cover all"));
    let runs = ranges.into_iter().map(run).collect();
    on_each(threads, runs, |(first, shards)| work(first, shards))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn ranges_cover_everything_in_order() {
        for threads in [1, 2, 3, 16] {
            for count in [0, 1, 5, 100, 1000] {
                let ranges = in_ranges(threads, count, 2, |range| range.collect::<Vec<_>>());
                assert!(ranges.len() <= if threads > 1 { (PARTS + 1) * threads } else { 1 }, "{threads} threads");
                assert!(ranges.len() == 1 || ranges.iter().all(|range| range.len() >= 2), "{count} in {ranges:?}");
                assert_eq!(ranges.concat(), (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_ranges_of_a_share_become_smaller() {
        let lengths = |threads, count, min_chunk| lengths(&ranges(threads, count, min_chunk));
        assert_eq!(lengths(1, 1000, 1), [1000]);
        assert_eq!(lengths(2, 320, 10), [80, 40, 20, 10, 10, 80, 40, 20, 10, 10]);
        assert_eq!(lengths(2, 319, 10), [39, 40, 40, 40, 40, 40, 40, 40], "too few for that");
        assert_eq!(lengths(3, 64, 1), [11, 5, 3, 1, 1, 11, 5, 3, 1, 1, 11, 6, 3, 1, 1]);
    }

    #[test]
    fn a_thread_takes_its_share_first_and_then_what_others_left() {
        for (shares, thread, expected) in [
            (3, 1, [2, 3, 4, 5, 6, 0, 1]),
            (3, 2, [4, 5, 6, 0, 1, 2, 3]),
            (1, 0, [0, 1, 2, 3, 4, 5, 6]),
            (7, 2, [2, 3, 4, 5, 6, 0, 1]),
        ] {
            let (all, taken) = (Shares::new(shares, 7), Mutex::new(Vec::new()));
            let take = |number| taken.lock().expect("no panic").push(number);
            all.take_all(thread, &take);
            all.take_all(0, &take);
            assert_eq!(taken.into_inner().expect("no panic"), expected, "{shares} shares");
        }
        Shares::new(4, 0).take_all(0, &|_| panic!("there is nothing"));
    }

    #[test]
    fn each_thread_has_a_share_of_its_own() {
        // Some of many threads come, in any order; the caller's share is left to it.
        for came in [[1, 2, 3], [15, 7, 3], [4, 8, 12], [3, 2, 1]] {
            let all = Shares::new(4, 100);
            let mut shares = came.map(|thread| all.of(thread));
            assert_eq!(all.of(0), 0);
            shares.sort_unstable();
            assert_eq!(shares, [1, 2, 3], "{came:?}");
        }
        assert_eq!([3, 1, 2].map(|thread| Shares::new(4, 100).of(thread)), [3, 1, 2]);
        assert_eq!(Shares::new(1, 100).of(5), 0);
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
                extend_parts(threads, &mut values, &[0, count, 0, 2], |part, i| 1000 * part + i);
                let parts = [(1000..1000 + count).collect(), vec![3000, 3001]].concat();
                assert_eq!(values[1 + count..], parts);
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
