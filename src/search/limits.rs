//! When a search gives up.

use crate::heuristic::HeuristicError;
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
}

impl Limits {
    /// What is left of them once so many nodes were generated.
    pub(super) fn after(&self, generated: u64) -> Limits {
        Limits { nodes: self.nodes.map(|nodes| nodes.saturating_sub(generated)), ..self.clone() }
    }

    /// What each of so many searches may take that run at the same time.
    pub(super) fn divided(&self, searches: u64) -> Limits {
        let share = |limit: Option<u64>| limit.map(|limit| limit / searches.max(1));
        Limits { time: self.time, nodes: share(self.nodes), memory: share(self.memory) }
    }
}

/// A limit that ended a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
    /// The caller asked it to stop.
    Stopped,
}

/// Why a step of a search breaks off.
#[derive(Debug)]
pub(super) enum Interrupt {
    /// At a limit.
    Limit(Limit),
    /// The heuristic failed.
    Failed(HeuristicError),
}

impl From<Limit> for Interrupt {
    fn from(limit: Limit) -> Self {
        Interrupt::Limit(limit)
    }
}

impl From<HeuristicError> for Interrupt {
    fn from(error: HeuristicError) -> Self {
        Interrupt::Failed(error)
    }
}
