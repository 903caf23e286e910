//! The nodes of a best-first search: stored, in the open list, or waiting for their estimates.

use super::chunk_queue::ChunkQueue;
use super::limits::{Interrupt, stop_at};
use super::nodes::{Arena, Bins, MoveOrder, Node, NodeId, Open, PREFETCH_AHEAD, Stored, Ties};
use super::{Limit, Stats};
use crate::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use crate::memory;
use crate::puzzle::{Cost, Move, Puzzle};
use crate::workers::{GRAIN, extend, in_ranges};
use deferred::MovesPerNode;

mod deferred;

/// Drop submitted states once they outnumber the waiting ones by this factor.
const DROP_SUBMITTED: usize = 8;

/// Open nodes that are pruned between two checks of the limits: taking as many takes about a tenth of a second.
const PRUNE_BLOCK: usize = 1 << 20;

/// The nodes of a running search.
pub(super) struct Frontier<'a, P: Puzzle> {
    priority: Priority<'a, P>,
    pub(super) stored: Stored<P::State>,
    pub(super) open: Open,
    /// The moves of every node by probability, for deferred evaluation.
    pub(super) order: MoveOrder,
    pub(super) queue: ChunkQueue<'a, P::State>,
    /// The new states of the step, in the order of their nodes; those submitted come first.
    new: Vec<P::State>,
    /// The first node of the step. Its nodes enter the open list at its end, however it is cut into chunks.
    first_new: NodeId,
    /// The first node whose estimate is not collected.
    next_estimate: NodeId,
    pub(super) stats: Stats,
    /// The least cost-to-go so far, and the path cost of its node.
    pub(super) nearest: Option<(f32, Cost)>,
    /// Reused memory for the estimates of a chunk.
    values: Vec<f32>,
    /// How many moves of a node were candidates when moves were taken.
    moves_per_node: MovesPerNode,
    threads: usize,
}

impl<'a, P: Puzzle> Frontier<'a, P> {
    pub(super) fn new(
        puzzle: &'a P,
        heuristic: &'a mut dyn Heuristic<P::State>,
        lambda: f32,
        deferred: Option<f32>,
        ties: Ties,
        threads: usize,
    ) -> Self {
        let is_deferred = deferred.is_some();
        Frontier {
            priority: Priority { puzzle, lambda, deferred },
            stored: Stored::default(),
            open: Open::new(ties),
            order: MoveOrder::new(if is_deferred { puzzle.move_count() } else { 0 }),
            queue: ChunkQueue::new(heuristic, if is_deferred { Query::ValuesAndPolicy } else { Query::Values }),
            new: Vec::new(),
            first_new: 0,
            next_estimate: 0,
            stats: Stats::default(),
            nearest: None,
            values: Vec::new(),
            moves_per_node: MovesPerNode::default(),
            threads,
        }
    }

    /// Takes the first node; drops entries that a cheaper path has outdated.
    pub(super) fn take(&mut self) -> Option<NodeId> {
        let is_deferred = self.priority.deferred.is_some();
        loop {
            let f = if is_deferred { self.open.least_f() } else { None };
            let id = self.open.pop()?;
            let is_current = if is_deferred { self.priority(id) == f } else { !self.stored.arena[id].closed };
            if is_current {
                return Some(id);
            }
        }
    }

    /// The least priority of all open nodes. Outdated entries do not count: their priorities bound nothing.
    pub(super) fn least_f(&mut self) -> Option<f32> {
        loop {
            let (f, id) = self.open.first()?;
            if self.priority.deferred.is_some() || !self.stored.arena[id].closed {
                return Some(f);
            }
            self.open.pop();
        }
    }

    /// Takes the first nodes until there are `count`, and closes them; drops outdated entries. For full expansion.
    pub(super) fn take_and_close(&mut self, count: usize, taken: &mut Vec<NodeId>) {
        let (mut popped, ties) = (Vec::new(), self.open.ties);
        while taken.len() < count {
            popped.clear();
            self.open.take(count - taken.len(), &mut popped);
            if popped.is_empty() {
                return;
            }
            self.close(&popped, |entry| taken.push(ties.id(entry)));
        }
    }

    /// Closes the nodes of entries that were taken from the open list; outdated entries are not `current`.
    fn close(&mut self, taken: &[u64], mut current: impl FnMut(u64)) {
        let (ties, is_deferred) = (self.open.ties, self.priority.deferred.is_some());
        for (i, &entry) in taken.iter().enumerate() {
            if let Some(&next) = taken.get(i + PREFETCH_AHEAD) {
                memory::prefetch(&self.stored.arena[ties.id(next)].closed);
            }
            let id = ties.id(entry);
            let is_current = match is_deferred {
                true => self.priority(id).is_some_and(|f| ties.entry(f, id) == entry),
                false => !self.stored.arena[id].closed,
            };
            self.stored.arena[id].closed = true;
            if is_current {
                current(entry);
            }
        }
    }

    /// The priority of a node; with deferred evaluation, of its best move not taken yet. `None` if it is closed.
    fn priority(&self, id: NodeId) -> Option<f32> {
        self.priority.of(&self.stored.arena, &self.order, id)
    }

    /// Puts a node into the open list, unless it is closed.
    pub(super) fn enter(&mut self, id: NodeId) {
        if let Some(f) = self.priority(id) {
            self.open.push(f, id);
        }
    }

    /// Stores a new state, or opens a stored one again that is reached more cheaply. Returns its node, or `None` if it is
    /// neither. With `evaluate`, a new state waits for evaluation.
    pub(super) fn store(
        &mut self,
        state: &P::State,
        parent: NodeId,
        action: Move,
        g: Cost,
        evaluate: bool,
    ) -> Option<NodeId> {
        match self.stored.store(Node::new(*state, parent, action, g)) {
            Ok(id) => {
                self.stats.stored += 1;
                self.order.add(1);
                if evaluate {
                    self.new.push(*state);
                }
                Some(id)
            }
            Err(id) => self.reach_again(id, parent, action, g),
        }
    }

    /// Stores `count` new states, which wait for evaluation; `node` makes a node from its number among them. `pieces` and
    /// `id_of` are as [`Stored::insert_all`] takes them.
    pub(super) fn store_new(
        &mut self,
        count: usize,
        node: impl Fn(usize) -> Node<P::State> + Sync,
        pieces: &[&Bins],
        id_of: impl Fn(usize, u32) -> Option<NodeId> + Sync,
    ) {
        self.stored.arena.extend(self.threads, count, &node);
        self.stored.insert_all(self.threads, pieces, id_of);
        extend(self.threads, &mut self.new, count, GRAIN, |i| node(i).state);
        self.order.add(count);
        self.stats.stored += count as u64;
    }

    /// Opens a stored state again if it is reached more cheaply; returns its node then.
    pub(super) fn reach_again(&mut self, id: NodeId, parent: NodeId, action: Move, g: Cost) -> Option<NodeId> {
        let known = &mut self.stored.arena[id];
        if g >= known.g {
            return None;
        }
        (known.parent, known.action, known.g, known.closed) = (parent, action, g, false);
        if id < self.first_new {
            self.order.restart(id);
            self.enter(id);
        }
        Some(id)
    }

    /// Ends a step: evaluates all states that wait, and puts the new nodes into the open list.
    pub(super) fn end_step(&mut self) -> Result<(), HeuristicError> {
        let rest = &self.new[self.queue.next..];
        let fits_one_chunk = self.queue.is_idle() && (1..=self.queue.chunk).contains(&rest.len());
        if self.priority.deferred.is_none() && fits_one_chunk {
            let mut values = std::mem::take(&mut self.values);
            self.queue.heuristic.estimate_all(rest, &mut values)?;
            self.stats.evaluated += values.len() as u64;
            self.take_values(&values);
            self.values = values;
        } else {
            while let Some(estimates) = self.queue.finish(&self.new, &mut self.stats.evaluated)? {
                self.take_estimates(estimates);
            }
        }
        self.new.clear();
        self.queue.next = 0;
        let (priority, arena, order) = (&self.priority, &self.stored.arena, &self.order);
        let (first, ties) = (self.first_new, self.open.ties);
        self.first_new = self.stored.arena.len() as NodeId;
        self.open.extend(self.threads, (self.first_new - first) as usize, |i| {
            let id = first + i as NodeId;
            Some(ties.entry(priority.of(arena, order, id)?, id))
        });
        Ok(())
    }

    /// Whether the states that wait for evaluation fill a chunk.
    pub(super) fn has_full_chunk(&self) -> bool {
        self.queue.is_full(&self.new)
    }

    /// Submits the states that fill whole chunks, and frees their memory for the next ones. `reached` is asked before each
    /// chunk.
    pub(super) fn submit_full_chunks(&mut self, mut reached: impl FnMut() -> Option<Limit>) -> Result<(), Interrupt> {
        while self.has_full_chunk() {
            stop_at(reached())?;
            if let Some(estimates) = self.queue.advance(&self.new, &mut self.stats.evaluated)? {
                self.take_estimates(estimates);
            }
        }
        if self.new.len() <= self.queue.next + self.queue.next / DROP_SUBMITTED {
            self.new.drain(..self.queue.next);
            self.queue.next = 0;
        }
        Ok(())
    }

    /// Takes the estimates of a chunk.
    fn take_estimates(&mut self, Estimates { values, policy }: Estimates) {
        if self.priority.deferred.is_some() {
            self.order.set(self.threads, self.next_estimate, values.len(), policy.as_ref());
        }
        self.take_values(&values);
    }

    fn take_values(&mut self, values: &[f32]) {
        debug_assert!(values.iter().all(|&h| h >= 0.0 && h.is_finite()), "an estimate is not a cost");
        let first = self.next_estimate;
        self.stored.arena.set_estimates(self.threads, first, values);
        self.next_estimate += values.len() as NodeId;
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]).then(a.cmp(b));
        let least = in_ranges(self.threads, values.len(), GRAIN, |range| range.min_by(by_value));
        if let Some(i) = least.into_iter().flatten().min_by(by_value)
            && self.nearest.is_none_or(|(least, _)| values[i] < least)
        {
            self.nearest = Some((values[i], self.stored.arena[first + i as NodeId].g));
        }
    }

    /// Prunes the worse half of the open nodes, and all nodes that lead to none of the others. To be called between steps.
    /// `reached` is asked before each block of nodes.
    ///
    /// # Errors
    /// At a limit: no node is dropped, but the search must end, since the open list is incomplete.
    pub(super) fn prune_open(&mut self, mut reached: impl FnMut() -> Option<Limit>) -> Result<(), Interrupt> {
        let (mut open, mut taken, ties) = (Vec::with_capacity(self.open.len()), Vec::new(), self.open.ties);
        while !self.open.is_empty() {
            stop_at(reached())?;
            taken.clear();
            self.open.take(PRUNE_BLOCK, &mut taken);
            self.close(&taken, |entry| open.push(entry));
        }
        open.truncate(open.len() / 2);
        let mut kept = vec![false; self.stored.arena.len()];
        for block in open.chunks(PRUNE_BLOCK) {
            stop_at(reached())?;
            for id in block.iter().map(|&entry| ties.id(entry)) {
                self.stored.arena[id].closed = false;
                kept[id as usize] = true;
            }
        }
        let indices = self.stored.keep(kept);
        self.order.retain(&indices);
        self.first_new = self.stored.arena.len() as NodeId;
        self.next_estimate = self.first_new;
        self.open = Open::new(ties);
        self.open.extend(self.threads, open.len(), |i| Some(ties.renamed(open[i], &indices)));
        self.stats.pruned += (indices.len() - self.stored.arena.len()) as u64;
        Ok(())
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.stored.bytes() + self.open.bytes() + self.order.bytes()
    }
}

/// The order in which nodes, or their moves, are taken.
struct Priority<'a, P> {
    puzzle: &'a P,
    lambda: f32,
    /// The policy weight, with deferred evaluation.
    deferred: Option<f32>,
}

impl<P: Puzzle> Priority<'_, P> {
    /// The priority of a node; with deferred evaluation, of its best move not taken yet. `None` if it is closed.
    fn of(&self, arena: &Arena<P::State>, order: &MoveOrder, id: NodeId) -> Option<f32> {
        let node = &arena[id];
        match self.deferred {
            None => (!node.closed).then_some(self.lambda * node.g as f32 + node.h),
            Some(policy_weight) => order.next(id).map(|next| self.of_move(node, policy_weight, next)),
        }
    }

    /// The priority of a move of a node, which is given with its surprisal.
    fn of_move(&self, node: &Node<P::State>, policy_weight: f32, (action, surprisal): (Move, f32)) -> f32 {
        let Node { state, g, h, .. } = node;
        let (lambda, cost) = (self.lambda, self.puzzle.move_cost(state, action));
        let expected = lambda * (g + cost) as f32 + h + cost as f32 * (policy_weight * surprisal - 1.0);
        (lambda * *g as f32 + h).max(expected).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heuristic::zero;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::{Notation as _, Rules as _};
    use crate::search::nodes::{NO_PARENT, hash};
    use std::cmp::Reverse;

    #[test]
    fn the_better_half_of_the_open_nodes_stays_with_its_ancestors() {
        for threads in [1, 2] {
            let mut heuristic = zero();
            let mut nodes = Frontier::new(&Cube2, &mut heuristic, 1.0, None, Ties::NewestFirst, threads);
            let start = Cube2.parse("R U F").expect("three moves");
            nodes.store(&start, NO_PARENT, 0, 0, true);
            let mut next = 0;
            while nodes.stored.arena.len() < 40_000 {
                let Node { state, g, .. } = nodes.stored.arena[next];
                for (action, child) in Cube2.children(&state) {
                    nodes.store(&child, next, action, g + 1 + Cost::from(action % 3), true);
                }
                next += 1;
            }
            nodes.end_step().expect("it does not fail");
            // Some are expanded, others are reached again: their first entries are outdated.
            nodes.take_and_close(1000, &mut Vec::new());
            for id in 5000..6000 {
                nodes.reach_again(id, 0, 0, id % 20);
            }
            let arena = &nodes.stored.arena;
            let mut open: Vec<NodeId> = (0..arena.len() as NodeId).filter(|&id| !arena[id].closed).collect();
            open.sort_unstable_by_key(|&id| (arena[id].g, Reverse(id)));
            open.truncate(open.len() / 2);
            let (count, better) = (arena.len(), open.iter().map(|&id| arena[id].state).collect::<Vec<_>>());
            let mut kept = vec![false; count];
            for mut id in open {
                while id != NO_PARENT && !std::mem::replace(&mut kept[id as usize], true) {
                    id = arena[id].parent;
                }
            }
            let kept: Vec<_> = (0..count as NodeId).filter(|&id| kept[id as usize]).map(|id| arena[id].state).collect();
            assert!(nodes.prune_open(|| Some(Limit::Stopped)).is_err());
            assert_eq!((nodes.stored.arena.len(), nodes.stats.pruned), (count, 0));
            assert!(nodes.prune_open(|| None).is_ok());
            let arena = &nodes.stored.arena;
            assert!((0..arena.len() as NodeId).map(|id| arena[id].state).eq(kept.iter().copied()));
            assert_eq!(nodes.stats.pruned, (count - kept.len()) as u64);
            assert!(kept.iter().all(|state| nodes.stored.find(hash(state), state).is_some()));
            let taken = std::iter::from_fn(|| {
                let id = nodes.take()?;
                nodes.stored.arena[id].closed = true;
                Some(nodes.stored.arena[id].state)
            });
            assert!(taken.eq(better), "{threads} threads");
        }
    }
}
