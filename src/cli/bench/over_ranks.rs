//! A benchmark that several ranks share: a counter in the store hands the next instance to the next free rank, and rank 0
//! writes all results.

use super::{BenchInstance, TakeIn};
use crate::cli::ranks;
use crate::distributed::Group;
use crate::exchange::Exchange as _;
use crate::report::Record;
use anyhow::Result;
use std::thread;
use std::time::Duration;

/// Interval at which rank 0 looks for results of the others.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Checks that all ranks have read the same instances and have the same weights.
pub(super) fn check_alike<S>(group: &Group, instances: &[BenchInstance<S>], template: &Record) -> crate::Result<()> {
    let texts: String = instances.iter().map(|instance| instance.text.clone() + "\n").collect();
    let checksum = crc32fast::hash(texts.as_bytes());
    let settings = format!("{} instances with the checksum {checksum:08x}", instances.len());
    ranks::check_alike(group, "bench", &settings, template)
}

/// Sends the results of a rank to rank 0: `search` hands each to its argument. Last goes how many there are.
pub(super) fn send(group: &Group, search: impl FnOnce(TakeIn<'_>) -> Result<()>) -> Result<()> {
    let mut count = 0;
    search(&mut |done| {
        group.put(&result_key(group.rank(), count), &done)?;
        count += 1;
        Ok(())
    })?;
    group.check()?; // a write to a lost connection may seem to succeed
    Ok(group.put(&count_key(group.rank()), &count)?)
}

fn result_key(rank: usize, count: u64) -> String {
    format!("result/{rank}/{count}")
}

fn count_key(rank: usize) -> String {
    format!("results/{rank}")
}

/// Passes on the results of the other ranks, until all ranks have ended.
///
/// # Errors
/// If one has failed or died.
pub(super) fn collect(group: &Group, take_in: TakeIn<'_>) -> Result<()> {
    let mut received = vec![0; group.size()];
    let mut counts = vec![None; group.size()];
    counts[group.rank()] = Some(0);
    while counts.iter().zip(&received).any(|(count, received)| *count != Some(*received)) {
        for rank in (0..group.size()).filter(|&rank| rank != group.rank()) {
            while let Some(done) = group.take(&result_key(rank, received[rank]))? {
                received[rank] += 1;
                take_in(done)?;
            }
            counts[rank] = group.take(&count_key(rank))?;
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
