//! A step of the search: nodes are expanded, and their new children wait for evaluation.

use super::{CHECK_BETWEEN, CHECK_EVERY, GoalTest, Run, blocks};
use crate::puzzle::{Cost, Move, Puzzle};
use crate::search::limits::Interrupt;
use crate::search::nodes::arena::{NO_PARENT, Node, NodeId};
use crate::search::{Control, Limit};

/// A step of partial expansion ends where no more than this part of its new states is missing: to take the last few would be
/// several rounds on one thread.
const MISSING: usize = 64;

impl<P: Puzzle> Run<'_, P> {
    /// Expands, and queues the new states for evaluation.
    pub(super) fn step(&mut self, batch: &[NodeId], control: &mut Control<'_>) -> Result<(), Interrupt> {
        self.nodes.stats.iterations += 1;
        if self.settings.expansion.is_partial() {
            self.expand_partially(control)
        } else {
            self.expand_batch(batch, control)
        }
    }

    /// Expands a batch; at a limit, puts back what is left of it.
    fn expand_batch(&mut self, batch: &[NodeId], control: &mut Control<'_>) -> Result<(), Interrupt> {
        let children = self.puzzle.move_count() as u64;
        let by_blocks = batch.len() >= blocks::LEAST;
        // At the start of a batch, now and then, and whenever a chunk was submitted; batches of one are too short.
        let mut check = batch.len() > 1 || self.nodes.stats.expanded.is_multiple_of(CHECK_BETWEEN);
        let mut done = 0;
        while done < batch.len() {
            let checks = check || by_blocks || (done > 0 && done.is_multiple_of(CHECK_EVERY));
            let reached = checks.then(|| control.reached(&|| self.nodes.bytes())).flatten();
            if let Some(limit) = reached.or_else(|| self.too_many(children, control)) {
                batch[done..].iter().for_each(|&id| {
                    self.nodes.arena[id].closed = false;
                    self.nodes.enter(id);
                });
                return Err(limit.into());
            }
            let before = done;
            if by_blocks {
                done = batch.len().min(before + self.room_for(children, blocks::BLOCK, control));
                let block: Vec<_> = batch[before..done].iter().map(|&id| (id, None)).collect();
                self.expand_block(&block, control);
            } else {
                done += 1;
                self.expand(batch[before], control);
            }
            self.nodes.stats.expanded += (done - before) as u64;
            check = self.goals.is_empty() && self.nodes.has_full_chunk();
            if check {
                self.nodes.submit_full_chunks()?;
            }
        }
        Ok(())
    }

    /// Takes moves from the open list until enough new states are generated: the batch size, but for a small part.
    fn expand_partially(&mut self, control: &mut Control<'_>) -> Result<(), Interrupt> {
        let (n, before) = (self.settings.n.max(1), self.nodes.arena.len());
        let (mut taken, mut block) = (0, Vec::new());
        loop {
            let wanted = n - (self.nodes.arena.len() - before);
            if wanted <= n / MISSING {
                return Ok(());
            }
            let checks = wanted >= blocks::LEAST || taken % CHECK_EVERY == 0;
            let reached = if checks { control.reached(&|| self.nodes.bytes()) } else { None };
            if let Some(limit) = reached.or_else(|| self.too_many(1, control)) {
                return Err(limit.into());
            }
            block.clear();
            self.nodes.take_moves(wanted.min(self.room_for(1, blocks::MOVES, control)), &mut block);
            if block.is_empty() {
                return Ok(());
            }
            taken += block.len();
            if block.len() >= blocks::LEAST {
                self.expand_block(&block, control);
            } else {
                block.iter().for_each(|&(id, action)| self.expand_by(id, action, control));
            }
            self.nodes.submit_full_chunks()?;
        }
    }

    /// How many nodes may be expanded at once, of at most so many, that have so many children: one at least.
    fn room_for(&self, children: u64, most: usize, control: &Control<'_>) -> usize {
        let left = control.nodes_left(self.nodes.stats.generated);
        let left = left.min(u64::from(NO_PARENT).saturating_sub(self.nodes.arena.len() as u64));
        (left / children.max(1)).clamp(1, most as u64) as usize
    }

    /// The limit that so many more children would exceed.
    fn too_many(&self, children: u64, control: &Control<'_>) -> Option<Limit> {
        if control.too_many(self.nodes.stats.generated + children) {
            Some(Limit::Nodes)
        } else {
            (self.nodes.arena.len() + children as usize >= NO_PARENT as usize).then_some(Limit::Memory)
        }
    }

    /// Generates all children of a node.
    fn expand(&mut self, id: NodeId, control: &mut Control<'_>) {
        let Node { state, g, parent, .. } = self.nodes.arena[id];
        let before = (parent != NO_PARENT).then(|| self.nodes.arena[parent].state);
        for action in 0..self.puzzle.move_count() as Move {
            let Some(child) = self.puzzle.apply(&state, action) else { continue };
            self.nodes.stats.generated += 1;
            if before == Some(child) {
                continue; // stored already, and at no greater cost
            }
            self.reach(id, action, &state, &child, g, control);
        }
    }

    /// Generates the child of a node by a move.
    fn expand_by(&mut self, id: NodeId, action: Option<Move>, control: &mut Control<'_>) {
        let (Node { state, g, .. }, Some(action)) = (self.nodes.arena[id], action) else { return };
        let Some(child) = self.puzzle.apply(&state, action) else { return };
        self.nodes.stats.generated += 1;
        self.reach(id, action, &state, &child, g, control);
    }

    /// Takes in a child: an answer, or a state to be evaluated.
    fn reach(
        &mut self,
        id: NodeId,
        action: Move,
        state: &P::State,
        child: &P::State,
        g: Cost,
        control: &mut Control<'_>,
    ) {
        let step = self.puzzle.move_cost(state, action);
        self.free_moves |= step == 0;
        let cost = g + step;
        let tested = self.settings.goal_test == GoalTest::Generated;
        let rest = if tested && self.puzzle.is_goal(child) {
            Some(0)
        } else {
            self.settings.perimeter.cost_on_rim(self.puzzle, child)
        };
        match rest {
            Some(_) if self.settings.ends_with_first_batch() => {
                // This batch is the last: after its first goal, nothing is worth an evaluation any more.
                let goal = self.nodes.store(child, id, action, cost, false);
                self.goals.extend(goal);
            }
            Some(rest) => self.take_answer(id, action, child, cost + rest, control),
            None if cost < self.too_costly() => drop(self.nodes.store(child, id, action, cost, self.goals.is_empty())),
            None => {}
        }
    }

    /// What a path costs, to a state outside the perimeter, that cannot become better than the best answer: so much or more.
    pub(super) fn too_costly(&self) -> Cost {
        let rest = self.settings.perimeter.least_outside();
        self.best.as_ref().map_or(Cost::MAX, |best| best.cost.saturating_sub(rest))
    }
}
