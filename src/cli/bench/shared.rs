//! A benchmark that several ranks work at: a counter in the store deals out the instances as ranks become free, and rank 0
//! writes all results.

use super::{Done, Instance};
use crate::cli::ranks::weights;
use crate::distributed::Group;
use crate::puzzle::Puzzle;
use crate::solver::Solver;
use anyhow::{Context as _, Result};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

/// How often rank 0 looks for results of the others.
const LOOK: Duration = Duration::from_millis(50);

/// Refuses ranks that have read other instances, or have other weights.
pub(super) fn check_alike<P: Puzzle>(
    group: &Group,
    instances: &[Instance<P::State>],
    solver: &Solver<P>,
) -> crate::Result<()> {
    let mut hash = crc32fast::Hasher::new();
    for instance in instances {
        hash.update(instance.text.as_bytes());
        hash.update(b"\n");
    }
    let weights = weights(solver.template());
    group.agree("bench", &format!("{} instances with the checksum {:08x}\n{weights}", instances.len(), hash.finalize()))
}

/// The instances that are left to do: rank 0 has read the results.
pub(super) fn share_todo(group: &Group, todo: Vec<usize>) -> Result<Vec<usize>> {
    let text = serde_json::to_vec(&todo).context("the list of instances cannot be written as JSON")?;
    let text = group.share("todo", &text)?;
    serde_json::from_slice(&text).context("rank 0 has another version of costar")
}

/// What a rank has sent to rank 0.
pub(super) struct Sent<'a> {
    group: &'a Group,
    count: u64,
}

impl<'a> Sent<'a> {
    pub(super) fn new(group: &'a Group) -> Self {
        Sent { group, count: 0 }
    }

    pub(super) fn send(&mut self, done: &Done) -> Result<()> {
        let text = serde_json::to_vec(done).context("the result cannot be written as JSON")?;
        self.group.put(&key(self.group.rank(), self.count), &text)?;
        self.count += 1;
        Ok(())
    }

    /// Nothing more will come.
    pub(super) fn end(self) -> Result<()> {
        let rank = self.group.rank();
        self.group.check()?; // what is written to a connection that is lost may seem to arrive
        Ok(self.group.put(&end(rank), &self.count.to_le_bytes())?)
    }
}

fn key(rank: usize, count: u64) -> String {
    format!("result/{rank}/{count}")
}

fn end(rank: usize) -> String {
    format!("results/{rank}")
}

/// Passes on what the other ranks send, until all have ended.
///
/// # Errors
/// If one has failed or died.
pub(super) fn collect(group: &Group, sender: &Sender<Result<Done>>) -> Result<()> {
    let mut taken = vec![0; group.size()];
    let mut ended = vec![None; group.size()];
    ended[group.rank()] = Some(0);
    while ended.iter().zip(&taken).any(|(ended, taken)| *ended != Some(*taken)) {
        for rank in (0..group.size()).filter(|&rank| rank != group.rank()) {
            while let Some(text) = group.take(&key(rank, taken[rank]))? {
                taken[rank] += 1;
                let done = serde_json::from_slice(&text).context("a rank has another version of costar");
                if sender.send(done).is_err() {
                    return Ok(()); // taking in has failed
                }
            }
            if let Some(count) = group.take(&end(rank))? {
                ended[rank] = count.try_into().ok().map(u64::from_le_bytes);
            }
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
