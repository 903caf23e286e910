//! Work that is cut into ranges, one a thread. The results do not depend on the number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many processes share this machine's cores.
static PROCESSES: AtomicUsize = AtomicUsize::new(1);

/// Tells how many processes of a group share this machine's cores.
pub fn divide_among(processes: usize) {
    PROCESSES.store(processes.max(1), Ordering::Relaxed);
}

/// How many threads this process should have at work: one for each core, or a share of that.
pub fn cores() -> usize {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    (cores / PROCESSES.load(Ordering::Relaxed)).max(1)
}

/// Cuts `0..count` into a range a thread, none shorter than `least`, works on them at once, and gives the results in order.
pub(super) fn in_ranges<T: Send>(
    threads: usize,
    count: usize,
    least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = (count / least.max(1)).clamp(1, threads.max(1));
    let part = |i: usize| i * count / parts..(i + 1) * count / parts;
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = (1..parts).map(|i| scope.spawn(move || work(part(i)))).collect();
        let first = work(part(0));
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    })
}

/// Works on shards at once, each thread on a run of them: `work` is given the number of the first, and the run.
pub(super) fn in_shards<T: Send>(threads: usize, shards: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    let threads = threads.clamp(1, shards.len().max(1));
    let each = shards.len().div_ceil(threads).max(1);
    let work = &work;
    thread::scope(|scope| {
        let mut runs = shards.chunks_mut(each).enumerate();
        let own = runs.next();
        runs.for_each(|(run, shards)| drop(scope.spawn(move || work(run * each, shards))));
        if let Some((_, shards)) = own {
            work(0, shards);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_everything_in_order() {
        for threads in [1, 2, 3, 16] {
            for count in [0, 1, 5, 100] {
                let ranges = in_ranges(threads, count, 2, |range| range.collect::<Vec<_>>());
                assert!(ranges.len() <= threads, "{threads} threads");
                assert_eq!(ranges.concat(), (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn every_shard_is_worked_on_once() {
        for threads in [1, 2, 3, 16, 100] {
            let mut shards = vec![0; 64];
            in_shards(threads, &mut shards, |first, shards| {
                shards.iter_mut().enumerate().for_each(|(i, shard)| *shard += first + i + 1);
            });
            assert_eq!(shards, (1..=64).collect::<Vec<_>>());
        }
    }
}
