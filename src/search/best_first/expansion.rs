//! A step of the search: nodes are expanded, and their new children wait for evaluation.

use super::{BestFirstRun, CHECK_EVERY, CHECK_EVERY_SINGLE, GoalTest, blocks};
use crate::puzzle::{Cost, Move, Puzzle};
use crate::search::limits::{Interrupt, stop_at};
use crate::search::nodes::{NO_PARENT, Node, NodeId};
use crate::search::{Control, Limit};

/// A step of deferred evaluation ends when no more than `n` divided by this many new states are missing: the last few would
/// take several rounds on one thread.
const MISSING_DIVISOR: usize = 64;

impl<P: Puzzle> BestFirstRun<'_, P> {
    /// Expands nodes, and queues the new states for evaluation.
    pub(super) fn step(&mut self, batch: &[NodeId], control: &mut Control<'_>) -> Result<(), Interrupt> {
        self.nodes.stats.iterations += 1;
        if self.settings.expansion.is_deferred() {
            self.expand_moves(control)
        } else {
            self.expand_batch(batch, control)
        }
    }

    /// Expands a batch; at a limit, puts the rest of it back.
    fn expand_batch(&mut self, batch: &[NodeId], control: &mut Control<'_>) -> Result<(), Interrupt> {
        let children = self.puzzle.move_count() as u64;
        let by_blocks = batch.len() >= blocks::MIN_BLOCK;
        // Checks at the start of a batch, now and then, and after each submitted chunk; batches of one are too short.
        let mut check = batch.len() > 1 || self.nodes.stats.expanded.is_multiple_of(CHECK_EVERY_SINGLE);
        let mut done = 0;
        while done < batch.len() {
            let checks = check || by_blocks || (done > 0 && done.is_multiple_of(CHECK_EVERY));
            let reached = checks.then(|| control.reached(&|| self.nodes.bytes())).flatten();
            if let Some(limit) = reached.or_else(|| self.limit_before(children, control)) {
                self.put_back(&batch[done..]);
                return Err(Interrupt::Limit(limit));
            }
            let before = done;
            if by_blocks {
                done = batch.len().min(before + self.budget(children, blocks::MAX_NODES, control));
                let block: Vec<_> = batch[before..done].iter().map(|&id| (id, None)).collect();
                self.expand_block(&block, control);
            } else {
                done += 1;
                self.expand(batch[before], None, control);
            }
            self.nodes.stats.expanded += (done - before) as u64;
            check = self.goals.is_empty() && self.nodes.has_full_chunk();
            if check && let Err(interrupt) = self.nodes.submit_full_chunks(|| control.reached(&|| 0)) {
                self.put_back(&batch[done..]);
                return Err(interrupt);
            }
        }
        Ok(())
    }

    /// Puts nodes of a batch that were not expanded back into the open list.
    fn put_back(&mut self, nodes: &[NodeId]) {
        for &id in nodes {
            self.nodes.arena[id].closed = false;
            self.nodes.enter(id);
        }
    }

    /// Takes moves from the open list until they have generated enough new states: `n`, but for a small part.
    fn expand_moves(&mut self, control: &mut Control<'_>) -> Result<(), Interrupt> {
        let (n, before) = (self.settings.n.max(1), self.nodes.arena.len());
        let (mut taken, mut block) = (0, Vec::new());
        loop {
            let missing = n - (self.nodes.arena.len() - before);
            if missing <= n / MISSING_DIVISOR {
                return Ok(());
            }
            let checks = missing >= blocks::MIN_BLOCK || taken % CHECK_EVERY == 0;
            let reached = if checks { control.reached(&|| self.nodes.bytes()) } else { None };
            stop_at(reached.or_else(|| self.limit_before(1, control)))?;
            block.clear();
            self.nodes.take_moves(missing.min(self.budget(1, blocks::MAX_MOVES, control)), &mut block);
            if block.is_empty() {
                return Ok(());
            }
            taken += block.len();
            if block.len() >= blocks::MIN_BLOCK {
                self.expand_block(&block, control);
            } else {
                block.iter().for_each(|&(id, action)| self.expand(id, action, control));
            }
            // A block fills many chunks; its memory is taken already.
            self.nodes.submit_full_chunks(|| control.reached(&|| 0))?;
        }
    }

    /// How many nodes with this many children each may be expanded at once: 1 to `most`.
    fn budget(&self, children: u64, most: usize, control: &Control<'_>) -> usize {
        let left = control.nodes_left(self.nodes.stats.generated);
        let left = left.min(u64::from(NO_PARENT).saturating_sub(self.nodes.arena.len() as u64));
        (left / children.max(1)).clamp(1, most as u64) as usize
    }

    /// The limit that this many more children would exceed.
    fn limit_before(&self, children: u64, control: &Control<'_>) -> Option<Limit> {
        if control.too_many(self.nodes.stats.generated + children) {
            Some(Limit::Nodes)
        } else {
            (self.nodes.arena.len() + children as usize >= NO_PARENT as usize).then_some(Limit::Memory)
        }
    }

    /// Generates the children of a node, by one move or by all.
    fn expand(&mut self, id: NodeId, action: Option<Move>, control: &mut Control<'_>) {
        let Node { state, g, parent, .. } = self.nodes.arena[id];
        let before = (parent != NO_PARENT).then(|| self.nodes.arena[parent].state);
        for action in action.map_or(0..self.puzzle.move_count() as Move, |action| action..action + 1) {
            let Some(child) = self.puzzle.apply(&state, action) else { continue };
            self.nodes.stats.generated += 1;
            if before == Some(child) {
                continue; // stored already, at no greater cost
            }
            let cost = self.puzzle.move_cost(&state, action);
            self.free_moves |= cost == 0;
            self.reach(id, action, &child, g + cost, control);
        }
    }

    /// Takes in a child: a solution, or a state to be evaluated.
    fn reach(&mut self, id: NodeId, action: Move, child: &P::State, cost: Cost, control: &mut Control<'_>) {
        let tests_goals = self.settings.goal_test == GoalTest::Generated;
        let rest = if tests_goals && self.puzzle.is_goal(child) {
            Some(0)
        } else {
            self.settings.perimeter.cost_on_rim(self.puzzle, child)
        };
        match rest {
            Some(_) if self.settings.ends_with_first_batch() => {
                // This batch is the last: after its first goal, nothing is worth an evaluation.
                let goal = self.nodes.store(child, id, action, cost, false);
                self.goals.extend(goal);
            }
            Some(rest) => self.take_solution(id, action, child, cost + rest, control),
            None if cost < self.too_costly() => drop(self.nodes.store(child, id, action, cost, self.goals.is_empty())),
            None => {}
        }
    }

    /// The least path cost with which a state outside the perimeter cannot lead to a better solution.
    pub(super) fn too_costly(&self) -> Cost {
        let rest = self.settings.perimeter.min_cost_outside();
        self.best.as_ref().map_or(Cost::MAX, |best| best.cost.saturating_sub(rest))
    }
}
