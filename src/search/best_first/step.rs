//! A step of the search: nodes or moves are expanded, within the limits, and the new states wait for evaluation.

use super::expansion::{MAX_MOVES, MAX_NODES, MIN_PARALLEL};
use super::{BestFirstRun, CHECK_EVERY, CHECK_EVERY_SINGLE};
use crate::puzzle::{Cost, Puzzle};
use crate::search::limits::{Interrupt, stop_at};
use crate::search::nodes::{NO_PARENT, NodeId};
use crate::search::{Control, Limit};

/// A step of deferred evaluation ends when no more than `n` divided by this many new states are missing: the last few would
/// take several rounds on one thread.
const MISSING_DIVISOR: usize = 64;

impl<P: Puzzle> BestFirstRun<'_, P> {
    /// Expands nodes, and queues the new states for evaluation.
    pub(super) fn step(&mut self, batch: &[NodeId], control: &mut Control<'_>) -> Result<(), Interrupt> {
        self.nodes.stats.iterations += 1;
        if self.settings.deferred.is_some() { self.expand_moves(control) } else { self.expand_batch(batch, control) }
    }

    /// Expands a batch; at a limit, puts the rest of it back.
    fn expand_batch(&mut self, batch: &[NodeId], control: &mut Control<'_>) -> Result<(), Interrupt> {
        let children = self.puzzle.move_count() as u64;
        // Most batches of one are too short for a check.
        let mut checks = batch.len() > 1 || self.nodes.stats.expanded.is_multiple_of(CHECK_EVERY_SINGLE);
        let mut rest = batch;
        while !rest.is_empty() {
            let reached = checks.then(|| control.reached(&|| self.nodes.bytes())).flatten();
            if let Some(limit) = reached.or_else(|| self.limit_before(children, control)) {
                self.put_back(rest);
                return Err(Interrupt::Limit(limit));
            }
            let (next, later) = rest.split_at(rest.len().min(self.budget(children, MAX_NODES, control)));
            self.expand(&next.iter().map(|&id| (id, None)).collect::<Vec<_>>(), control);
            self.nodes.stats.expanded += next.len() as u64;
            (rest, checks) = (later, true);
            if self.goals.is_empty()
                && self.nodes.has_full_chunk()
                && let Err(interrupt) = self.nodes.submit_full_chunks(|| control.reached(&|| 0))
            {
                self.put_back(rest);
                return Err(interrupt);
            }
        }
        Ok(())
    }

    /// Puts nodes of a batch that were not expanded back into the open list.
    fn put_back(&mut self, nodes: &[NodeId]) {
        for &id in nodes {
            self.nodes.stored.arena[id].closed = false;
            self.nodes.enter(id);
        }
    }

    /// Takes moves from the open list until they have generated enough new states: `n`, but for a small part.
    fn expand_moves(&mut self, control: &mut Control<'_>) -> Result<(), Interrupt> {
        let (n, before) = (self.settings.n.max(1), self.nodes.stored.arena.len());
        let (mut taken, mut block) = (0, Vec::new());
        loop {
            let missing = n - (self.nodes.stored.arena.len() - before);
            if missing <= n / MISSING_DIVISOR {
                return Ok(());
            }
            let checks = missing >= MIN_PARALLEL || taken % CHECK_EVERY == 0;
            let reached = if checks { control.reached(&|| self.nodes.bytes()) } else { None };
            stop_at(reached.or_else(|| self.limit_before(1, control)))?;
            block.clear();
            self.nodes.take_moves(missing.min(self.budget(1, MAX_MOVES, control)), &mut block);
            if block.is_empty() {
                return Ok(());
            }
            taken += block.len();
            self.expand(&block, control);
            // A block fills many chunks; its memory is taken already.
            self.nodes.submit_full_chunks(|| control.reached(&|| 0))?;
        }
    }

    /// How many nodes with this many children each may be expanded at once: 1 to `most`.
    fn budget(&self, children: u64, most: usize, control: &Control<'_>) -> usize {
        let left = control.nodes_left(self.nodes.stats.generated);
        let left = left.min(u64::from(NO_PARENT).saturating_sub(self.nodes.stored.arena.len() as u64));
        (left / children.max(1)).clamp(1, most as u64) as usize
    }

    /// The limit that this many more children would exceed.
    fn limit_before(&self, children: u64, control: &Control<'_>) -> Option<Limit> {
        if control.too_many(self.nodes.stats.generated + children) {
            Some(Limit::Nodes)
        } else {
            (self.nodes.stored.arena.len() + children as usize >= NO_PARENT as usize).then_some(Limit::Memory)
        }
    }

    /// The least path cost with which a state outside the perimeter cannot lead to a better solution.
    pub(super) fn too_costly(&self) -> Cost {
        let rest = self.settings.perimeter.min_cost_outside();
        self.best.as_ref().map_or(Cost::MAX, |best| best.cost.saturating_sub(rest))
    }
}
