//! The flags that `solve` and `bench` share.

use super::puzzle_flags::PuzzleFlags;
use super::with_flags;
use crate::memory;
use crate::quantity::{self, grouped};
use crate::report::Record;
use crate::search::{End, Limit, Limits};
use crate::solver::{Request, SearchOptions};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct SolverFlags {
    #[command(flatten)]
    pub(super) puzzle: PuzzleFlags,
    /// The estimate of the cost-to-go: network, zero (nothing known), perimeter (exact near the goal), or one
    /// of the puzzle's own; auto takes the one that measured best for the puzzle
    #[arg(long, default_value = "auto", value_name = "NAME")]
    heuristic: String,
    #[command(flatten)]
    pub(super) search: SearchOptions,
    /// Give up on an instance after this many seconds; without --search and --n, use all of them to look for a shorter
    /// solution, unless one is proven
    #[arg(long, value_name = "S", value_parser = quantity::seconds)]
    max_seconds: Option<f64>,
    /// Give up on an instance after this many generated nodes
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    max_nodes: Option<u64>,
    /// Give up on an instance when the process would hold more memory than this: 8G, 512M
    /// [default: 80 % of what is available, for the nodes of a search]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    max_memory: Option<u64>,
}

impl SolverFlags {
    /// The request of a solver with these flags.
    pub(super) fn request(&self) -> Request {
        Request {
            options: self.search.clone(),
            heuristic: self.heuristic.as_str().into(),
            limits: Limits {
                time: self.max_seconds.map(Duration::from_secs_f64),
                nodes: self.max_nodes,
                memory: self.max_memory,
                spend_time: true,
            },
            ..self.puzzle.request(true)
        }
    }
}

/// The number of pruned nodes, in words; `None` if there are none.
pub(super) fn pruned(report: &Record) -> Option<String> {
    let pruned = report.nodes_pruned;
    (pruned > 0).then(|| format!("the {} worst pruned for lack of memory (--max-memory)", grouped(pruned)))
}

/// The lengths that an unfinished proof has excluded, in words.
pub(super) fn unproven(report: &Record) -> Option<String> {
    let proof = report.proof.filter(|_| !report.proven_optimal)?;
    let mut said = report.length.map_or("no solution yet".into(), |length| format!("{length} moves"));
    if let Some(excluded) = proof.excluded {
        said += &format!("; no solution of {excluded} or less exists");
    }
    if let Some((target, share)) = proof.target.zip(proof.target_share) {
        said += &format!("; {:.0} % of {target} excluded", 100.0 * share);
    }
    Some(said)
}

/// Why there is no solution, and the counts of the search, in words.
pub(super) fn why_not_solved(report: &Record, end: End) -> String {
    let (generated, stored) = (grouped(report.nodes_generated), grouped(report.nodes_stored));
    let pruned = pruned(report).map(|said| format!(", {said}")).unwrap_or_default();
    let (reason, seconds) = (with_flags(&end.reason().unwrap_or_default()), report.seconds);
    let held = match end {
        End::Limit(Limit::Memory) => format!("; the program holds {}", quantity::bytes(memory::resident())),
        _ => String::new(),
    };
    format!("{reason} ({generated} nodes generated, {stored} stored{pruned}, {seconds:.1} s{held})")
}
