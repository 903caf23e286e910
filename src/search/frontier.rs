//! The nodes of a best-first search: those that are stored, those that wait in the open list, and those that wait for
//! their estimates.

use super::Stats;
use super::chunk_queue::ChunkQueue;
use super::nodes::arena::{Arena, Node, NodeId};
use super::nodes::bins::Bins;
use super::nodes::closed::{AHEAD, Closed};
use super::nodes::move_order::MoveOrder;
use super::nodes::open::{Open, Ties};
use crate::heuristic::{Heuristic, HeuristicError, Query};
use crate::memory;
use crate::puzzle::{Cost, Move, Puzzle};
use crate::workers::{extend, in_ranges};
use moves::MovesEach;

mod moves;

/// New nodes that a thread takes at least.
const LEAST_EACH: usize = 1 << 11;

/// Submitted states are dropped when no more than this part of them is left behind them.
const FEW: usize = 8;

/// How a node is expanded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expansion {
    /// All children at once.
    Full,
    /// A child at a time, in the order of the move probabilities.
    Partial {
        /// c: the weight of −ln p, in moves, for a move of probability p.
        policy_weight: f32,
    },
}

impl Expansion {
    pub(super) fn is_partial(&self) -> bool {
        matches!(self, Expansion::Partial { .. })
    }
}

/// The nodes of a running search.
pub(super) struct Frontier<'a, P: Puzzle> {
    puzzle: &'a P,
    lambda: f32,
    expansion: Expansion,
    ties: Ties,
    pub(super) arena: Arena<P::State>,
    pub(super) closed: Closed,
    pub(super) open: Open,
    /// The moves of every node in the order of their probabilities, for partial expansion.
    pub(super) order: MoveOrder,
    pub(super) queue: ChunkQueue<'a, P::State>,
    /// New states, the first of which were submitted; their nodes are numbered one after the other.
    new: Vec<P::State>,
    /// How many of them were submitted.
    submitted: usize,
    pub(super) stats: Stats,
    /// The least cost-to-go so far, and the path cost of its node.
    pub(super) nearest: Option<(f32, Cost)>,
    /// Nodes from this one on belong to the current step: they enter the open list at its end, however it is cut into
    /// chunks.
    entered: NodeId,
    /// Room for the estimates of a chunk.
    values: Vec<f32>,
    /// How many moves of a node were candidates when some were taken.
    moves_each: MovesEach,
    /// How many threads sort moves, take in estimates, and fill the open list.
    pub(super) threads: usize,
}

impl<'a, P: Puzzle> Frontier<'a, P> {
    pub(super) fn new(
        puzzle: &'a P,
        heuristic: &'a mut dyn Heuristic<P::State>,
        lambda: f32,
        expansion: Expansion,
        ties: Ties,
    ) -> Self {
        let is_partial = expansion.is_partial();
        Frontier {
            puzzle,
            lambda,
            expansion,
            ties,
            arena: Arena::default(),
            closed: Closed::default(),
            open: Open::new(ties),
            order: MoveOrder::new(if is_partial { puzzle.move_count() } else { 0 }),
            queue: ChunkQueue::new(heuristic, if is_partial { Query::ValuesAndPolicy } else { Query::Values }),
            new: Vec::new(),
            submitted: 0,
            stats: Stats::default(),
            nearest: None,
            entered: 0,
            values: Vec::new(),
            moves_each: MovesEach::default(),
            threads: 1,
        }
    }

    /// Takes the node that comes first; leaves out entries that a cheaper path has outdated.
    pub(super) fn take(&mut self) -> Option<NodeId> {
        let is_partial = self.expansion.is_partial();
        loop {
            let f = if is_partial { self.open.least_f() } else { None };
            let id = self.open.pop()?;
            let is_current = if is_partial { self.priority(id) == f } else { !self.arena[id].closed };
            if is_current {
                return Some(id);
            }
        }
    }

    /// The least priority of all open nodes. Entries that a cheaper path has outdated do not count: their priorities bound nothing.
    pub(super) fn least_f(&mut self) -> Option<f32> {
        loop {
            let (f, id) = self.open.first()?;
            if self.expansion.is_partial() || !self.arena[id].closed {
                return Some(f);
            }
            self.open.pop();
        }
    }

    /// Takes the nodes that come first, so many if there are, and closes them; leaves out entries that are outdated. Of full
    /// expansion.
    pub(super) fn take_and_close(&mut self, count: usize, taken: &mut Vec<NodeId>) {
        let mut popped = Vec::new();
        while taken.len() < count {
            popped.clear();
            self.open.take(count - taken.len(), &mut popped);
            if popped.is_empty() {
                return;
            }
            for (i, &entry) in popped.iter().enumerate() {
                if let Some(&ahead) = popped.get(i + AHEAD) {
                    memory::prefetch(&self.arena[self.open.id(ahead)].closed);
                }
                let id = self.open.id(entry);
                if !std::mem::replace(&mut self.arena[id].closed, true) {
                    taken.push(id);
                }
            }
        }
    }

    /// The priority of a node; with partial expansion, of its best move that was not taken yet. `None` if it is closed.
    fn priority(&self, id: NodeId) -> Option<f32> {
        priority(self.puzzle, &self.arena, &self.order, (self.lambda, self.expansion), id)
    }

    /// Puts a node into the open list, unless it is closed.
    pub(super) fn enter(&mut self, id: NodeId) {
        if let Some(f) = self.priority(id) {
            self.open.push(f, id);
        }
    }

    /// Stores a state that is new, or opens one again that is reached more cheaply; gives its node, or `None` if it is
    /// neither. With `evaluate`, a new state is queued for evaluation.
    pub(super) fn store(
        &mut self,
        state: &P::State,
        parent: NodeId,
        action: Move,
        g: Cost,
        evaluate: bool,
    ) -> Option<NodeId> {
        let node = Node { state: *state, parent, g, h: f32::NAN, action, closed: false };
        match self.closed.store(&mut self.arena, node) {
            Ok(id) => {
                self.added(id, evaluate);
                Some(id)
            }
            Err(id) => self.reach_again(id, parent, action, g),
        }
    }

    /// Adds nodes of states that are not stored, so many, each made from its number among them. `pieces` have the numbered hashes
    /// of states, and `id_of` gives the node of a piece's number, if it is one of these. Queues their states for evaluation.
    pub(super) fn add_all(
        &mut self,
        threads: usize,
        count: usize,
        node: impl Fn(usize) -> Node<P::State> + Sync,
        pieces: &[&Bins],
        id_of: impl Fn(usize, u32) -> Option<NodeId> + Sync,
    ) {
        let first = self.arena.extend(threads, count, &node);
        self.closed.insert_all(threads, pieces, id_of);
        if self.waiting().is_empty() {
            self.queue.next = first;
        }
        extend(threads, &mut self.new, count, LEAST_EACH, |i| node(i).state);
        self.order.add(count);
        self.stats.stored += count as u64;
    }

    fn added(&mut self, id: NodeId, evaluate: bool) {
        self.stats.stored += 1;
        self.order.add(1);
        if evaluate {
            if self.waiting().is_empty() {
                self.queue.next = id;
            }
            self.new.push(self.arena[id].state);
        }
    }

    /// Opens a stored state again that is reached more cheaply; gives its node, or `None` if it is not.
    pub(super) fn reach_again(&mut self, id: NodeId, parent: NodeId, action: Move, g: Cost) -> Option<NodeId> {
        let known = &mut self.arena[id];
        if g >= known.g {
            return None;
        }
        (known.parent, known.action, known.g, known.closed) = (parent, action, g, false);
        // A node of this step enters the open list at its end.
        if id < self.entered {
            self.order.restart(id);
            self.enter(id);
        }
        Some(id)
    }

    /// Ends a step: all that is queued is evaluated, and the new nodes enter the open list.
    pub(super) fn evaluate_rest(&mut self) -> Result<(), HeuristicError> {
        let fits_one_chunk = self.queue.in_flight() == 0 && (1..=self.queue.chunk).contains(&self.waiting().len());
        if !self.expansion.is_partial() && fits_one_chunk {
            let (mut values, first) = (std::mem::take(&mut self.values), self.queue.next);
            self.queue.heuristic.estimate_all(&self.new[self.submitted..], &mut values)?;
            self.submitted_some(self.waiting().len());
            self.stats.evaluated += values.len() as u64;
            self.take_estimates(first, &values);
            self.values = values;
        } else {
            while !self.waiting().is_empty() {
                self.submit()?;
            }
            while self.queue.in_flight() > 0 {
                self.collect()?;
            }
        }
        let (puzzle, arena, order, by) = (self.puzzle, &self.arena, &self.order, (self.lambda, self.expansion));
        let new = arena.len() - self.entered as usize;
        self.open.extend(self.threads, self.entered, new, |id| priority(puzzle, arena, order, by, id));
        self.entered = self.arena.len() as NodeId;
        Ok(())
    }

    /// The new states that were not submitted yet.
    fn waiting(&self) -> &[P::State] {
        &self.new[self.submitted..]
    }

    /// So many more new states were submitted. They are dropped once few are left behind them, which are then moved.
    fn submitted_some(&mut self, count: usize) {
        self.submitted += count;
        if self.waiting().len() <= self.submitted / FEW {
            self.new.drain(..self.submitted);
            self.submitted = 0;
        }
    }

    /// Whether what waits for evaluation fills a chunk.
    pub(super) fn has_full_chunk(&self) -> bool {
        self.waiting().len() >= self.queue.chunk
    }

    /// Drops all that waits for evaluation or is evaluated now.
    pub(super) fn discard(&mut self) {
        self.submitted_some(self.waiting().len());
        self.queue.discard();
    }

    /// Submits what fills whole chunks.
    pub(super) fn submit_full_chunks(&mut self) -> Result<(), HeuristicError> {
        while self.has_full_chunk() {
            self.submit()?;
        }
        Ok(())
    }

    /// Submits one chunk, and collects the oldest if too many are in flight.
    fn submit(&mut self) -> Result<(), HeuristicError> {
        let count = self.queue.submit(&self.new[self.submitted..])?;
        self.submitted_some(count);
        self.stats.evaluated += count as u64;
        if self.queue.in_flight() > self.queue.overlap { self.collect() } else { Ok(()) }
    }

    /// Collects the estimates of one chunk.
    fn collect(&mut self) -> Result<(), HeuristicError> {
        let (first, estimates) = self.queue.collect()?;
        if self.expansion.is_partial() {
            self.order.set(self.threads, first, estimates.values.len(), estimates.policy.as_ref());
        }
        self.take_estimates(first, &estimates.values);
        Ok(())
    }

    /// Takes the estimates of the nodes from `first` on.
    fn take_estimates(&mut self, first: NodeId, values: &[f32]) {
        debug_assert!(values.iter().all(|&h| h >= 0.0 && h.is_finite()), "an estimate is no cost");
        self.arena.set_estimates(self.threads, first, values);
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]).then(a.cmp(b));
        let least = in_ranges(self.threads, values.len(), LEAST_EACH, |range| range.min_by(by_value));
        if let Some(i) = least.into_iter().flatten().min_by(by_value)
            && self.nearest.is_none_or(|(least, _)| values[i] < least)
        {
            self.nearest = Some((values[i], self.arena[first + i as NodeId].g));
        }
    }

    /// Prunes the worse half of the open nodes, and all that leads to none of the others. All estimates are in.
    pub(super) fn prune_open(&mut self) {
        let mut open = Vec::with_capacity(self.open.len());
        while let Some(id) = self.take() {
            self.arena[id].closed = true;
            open.push(id);
        }
        open.truncate(open.len() / 2);
        let left = self.closed.keep(&mut self.arena, &open);
        self.order.retain(&left.kept);
        self.entered = self.arena.len() as NodeId;
        self.open = Open::new(self.ties);
        for id in open.into_iter().map(|id| left.numbers[id as usize]) {
            self.arena[id].closed = false;
            self.enter(id);
        }
        self.stats.pruned += left.pruned();
    }

    /// The bytes of all nodes.
    pub(super) fn bytes(&self) -> u64 {
        self.arena.bytes() + self.closed.bytes() + self.open.bytes() + self.order.bytes()
    }
}

/// The priority of a node by λ and the way of expansion; with partial expansion, of its best move that was not taken yet.
/// `None` if it is closed.
fn priority<P: Puzzle>(
    puzzle: &P,
    arena: &Arena<P::State>,
    order: &MoveOrder,
    (lambda, expansion): (f32, Expansion),
    id: NodeId,
) -> Option<f32> {
    let node = &arena[id];
    match expansion {
        Expansion::Full => (!node.closed).then_some(lambda * node.g as f32 + node.h),
        Expansion::Partial { policy_weight } => {
            order.next(id).map(|next| priority_of_move(puzzle, node, (lambda, policy_weight), next))
        }
    }
}

/// The priority of a move of a node, with its surprise, by λ and the policy weight.
fn priority_of_move<P: Puzzle>(
    puzzle: &P,
    node: &Node<P::State>,
    (lambda, policy_weight): (f32, f32),
    (action, surprise): (Move, f32),
) -> f32 {
    let Node { state, g, h, .. } = node;
    let cost = puzzle.move_cost(state, action);
    let expected = lambda * (g + cost) as f32 + h + cost as f32 * (policy_weight * surprise - 1.0);
    (lambda * *g as f32 + h).max(expected).max(0.0)
}
