//! The limits of a search.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// When a search gives up; `None`: never for this reason.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Generated nodes, duplicates included.
    pub nodes: Option<u64>,
    /// Bytes for nodes, open and closed list together.
    pub memory: Option<u64>,
    /// Whether to repeat a search of default width, wider each time, until the time is up or the solution is proven.
    pub spend_time: bool,
}

impl Limits {
    /// The limits that are left after `generated` nodes.
    pub(crate) fn after(&self, generated: u64) -> Limits {
        Limits { nodes: self.nodes.map(|nodes| nodes.saturating_sub(generated)), ..self.clone() }
    }

    /// A share of the limits, from the start of the search.
    pub(crate) fn share(&self, parts: u32) -> Limits {
        let time = self.time.map(|time| time / parts);
        Limits { time, nodes: self.nodes.map(|nodes| nodes / u64::from(parts)), ..self.clone() }
    }
}

/// Moves after which a walk gives up by default.
pub const MOST_MOVES: u64 = 10_000;

/// A limit that ended a search; its `Display` is the word of result files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// [`Limits::time`].
    Time,
    /// [`Limits::nodes`].
    Nodes,
    /// [`Limits::memory`].
    Memory,
    /// The width of a beam: no state was left in it, and others had been cut off.
    Width,
    /// The most moves of a random walk.
    Moves,
    /// The caller stopped the search.
    Stopped,
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Why a step of a search breaks off.
#[derive(Debug)]
pub(super) enum Interrupt {
    /// At a limit.
    Limit(Limit),
    /// The heuristic or the exchange failed.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Interrupt {
    fn from(error: E) -> Self {
        Interrupt::Failed(error.into())
    }
}

/// Breaks a step off at a limit, if there is one.
pub(super) fn stop_at(limit: Option<Limit>) -> Result<(), Interrupt> {
    limit.map_or(Ok(()), |limit| Err(Interrupt::Limit(limit)))
}

/// The limit at which a step broke off as its `Err`; fails if the heuristic did.
pub(super) fn unless_failed<T>(step: Result<T, Interrupt>) -> Result<Result<T, Limit>> {
    match step {
        Ok(done) => Ok(Ok(done)),
        Err(Interrupt::Limit(limit)) => Ok(Err(limit)),
        Err(Interrupt::Failed(error)) => Err(error),
    }
}
