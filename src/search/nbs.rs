//! Bidirectional A*: from the start and from the goals at once, guided by a heuristic.
//!
//! Each step takes a *pair* of open states, one of each side, that no cheaper answer can be ruled out for: a path
//! through both costs at least lb(u, v) = max(f(u), f(v), g(u) + g(v) + ε), with ε the least cost of a move. The pair of
//! least lb is expanded on both sides. Of any search that must expand one state of every such pair, this one expands
//! at most twice as many states as the best possible.
//!
//! - For puzzles whose goals are known and whose moves can be undone. The backward side needs estimates towards the start
//!   ([`Heuristic::retarget`]); where there are none, it uses 0.
//! - An answer is known when one side stores a state of the other; it is given when no pair can lead to a cheaper one.
//!   With admissible estimates it is a cheapest one.
//! - A state that is reached more cheaply again is opened again, so estimates need not be consistent.
//! - Time and memory: between those of A* and of bidirectional breadth-first search, depending on the estimates.
//!
//! NBS: Chen, Holte, Zilles and Sturtevant, "Front-to-end bidirectional heuristic search with near-optimal node
//! expansions" (IJCAI 2017), algorithms 1 and 2.

use super::nodes::arena::{Arena, NO_PARENT, Node, NodeId};
use super::nodes::closed::Closed;
use super::{Control, End, Limit, Progress, Search, SearchResult, Stats};
use crate::heuristic::{Heuristic, HeuristicError, zero};
use crate::puzzle::{Cost, Move, Reversible, replay};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The least cost of a move of a reversible puzzle.
const LEAST_COST: f32 = 1.0;

/// The search `nbs`.
#[derive(Debug, Clone, Copy, Default)]
pub struct NearOptimalBidirectional;

impl<P: Reversible> Search<P> for NearOptimalBidirectional {
    fn name(&self) -> &'static str {
        "nbs"
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<SearchResult, HeuristicError> {
        // The same estimate, towards the start.
        let back = heuristic.retarget().and_then(|retarget| retarget(start));
        let mut back = back.unwrap_or_else(|| Box::new(zero()));
        let admissible = heuristic.is_admissible() && back.is_admissible();
        let sides = [Side::new(heuristic), Side::new(&mut *back)];
        let mut run = Run { puzzle, sides, bound: 0.0, best: None, stats: Stats::default() };
        let end = run.search(start, control)?;
        let solved = end == End::Solved;
        let moves = run.answer().filter(|_| solved);
        run.stats.stored = run.stored();
        run.stats.seconds = control.seconds();
        Ok(SearchResult {
            end,
            cost: moves.as_ref().map(|moves| replay(puzzle, start, moves).expect("both halves were legal").1),
            proven_optimal: moves.as_ref().is_some_and(|moves| moves.is_empty() || admissible),
            moves,
            stats: run.stats,
            proof: None,
        })
    }
}

/// A priority and a node; heaps take the least, and of equals the newest.
type Waiting = Reverse<(u32, Reverse<NodeId>)>;

/// The bits of a float that is not negative are in its order.
fn waiting(priority: f32, id: NodeId) -> Waiting {
    Reverse(((priority + 0.0).to_bits(), Reverse(id)))
}

fn priority(waiting: &Waiting) -> f32 {
    f32::from_bits(waiting.0.0)
}

/// One of the two searches.
struct Side<'a, S> {
    heuristic: &'a mut dyn Heuristic<S>,
    arena: Arena<S>,
    closed: Closed,
    /// Open states by f: those whose f is not below the bound.
    by_f: BinaryHeap<Waiting>,
    /// Open states by g: those that may be part of a pair now.
    by_g: BinaryHeap<Waiting>,
}

impl<'a, S: crate::puzzle::State> Side<'a, S> {
    fn new(heuristic: &'a mut dyn Heuristic<S>) -> Self {
        Side {
            heuristic,
            arena: Arena::default(),
            closed: Closed::default(),
            by_f: BinaryHeap::new(),
            by_g: BinaryHeap::new(),
        }
    }

    /// Drops entries from the top that are outdated: closed, or reached more cheaply since.
    fn clean(&mut self) {
        let arena = &self.arena;
        let is_current = |top: &Waiting, by_f: bool| {
            let Reverse((_, Reverse(id))) = *top;
            let node = &arena[id];
            let now = if by_f { node.g as f32 + node.h } else { node.g as f32 };
            !node.closed && priority(top) == now
        };
        while self.by_f.peek().is_some_and(|top| !is_current(top, true)) {
            self.by_f.pop();
        }
        while self.by_g.peek().is_some_and(|top| !is_current(top, false)) {
            self.by_g.pop();
        }
    }

    fn least_f(&self) -> Option<f32> {
        self.by_f.peek().map(priority)
    }

    fn least_g(&self) -> Option<f32> {
        self.by_g.peek().map(priority)
    }

    /// Makes the open state of least f ready for a pair.
    fn ready(&mut self) {
        if let Some(Reverse((_, Reverse(id)))) = self.by_f.pop() {
            self.by_g.push(waiting(self.arena[id].g as f32, id));
            self.clean();
        }
    }

    fn is_exhausted(&self) -> bool {
        self.by_f.is_empty() && self.by_g.is_empty()
    }

    fn bytes(&self) -> u64 {
        let heaps = (self.by_f.capacity() + self.by_g.capacity()) * size_of::<Waiting>();
        self.arena.bytes() + self.closed.bytes() + heaps as u64
    }
}

/// The cheapest meeting so far.
#[derive(Clone, Copy)]
struct Meeting {
    cost: Cost,
    /// The node of each side.
    nodes: [NodeId; 2],
}

/// States expanded between two looks at the limits: each may be a dozen passes of a network.
const CHECK_EVERY: u64 = 64;

const FORWARD: usize = 0;
const BACKWARD: usize = 1;

struct Run<'a, P: Reversible> {
    puzzle: &'a P,
    sides: [Side<'a, P::State>; 2],
    /// No answer costs less.
    bound: f32,
    best: Option<Meeting>,
    stats: Stats,
}

impl<P: Reversible> Run<'_, P> {
    fn search(&mut self, start: &P::State, control: &mut Control<'_>) -> Result<End, HeuristicError> {
        self.store(FORWARD, start, NO_PARENT, 0, 0)?;
        for goal in self.puzzle.goals() {
            self.store(BACKWARD, &goal, NO_PARENT, 0, 0)?;
        }
        while self.next_pair() {
            if self.best.is_some_and(|best| self.bound >= best.cost as f32) {
                return Ok(End::Solved);
            }
            self.stats.iterations += 1;
            for side in [FORWARD, BACKWARD] {
                if let Some(limit) = self.limit(control) {
                    return Ok(End::Limit(limit));
                }
                self.expand(side)?;
            }
        }
        // No pair is left: what is known is all that there is.
        Ok(if self.best.is_some() { End::Solved } else { End::NoSolution })
    }

    /// Raises the bound until a pair of open states lies at it (algorithm 2); `false` if there is no pair any more.
    fn next_pair(&mut self) -> bool {
        loop {
            self.sides.iter_mut().for_each(Side::clean);
            if self.sides.iter().any(Side::is_exhausted) {
                return false;
            }
            if let Some(side) = self.sides.iter_mut().find(|side| side.least_f().is_some_and(|f| f < self.bound)) {
                side.ready();
                continue;
            }
            let [forward, backward] = &mut self.sides;
            let pair = forward.least_g().zip(backward.least_g()).map(|(g, other)| g + other + LEAST_COST);
            if pair.is_some_and(|pair| pair <= self.bound) {
                return true;
            }
            if forward.least_f().is_some_and(|f| f <= self.bound) {
                forward.ready();
            } else if backward.least_f().is_some_and(|f| f <= self.bound) {
                backward.ready();
            } else {
                let bounds = [forward.least_f(), backward.least_f(), pair];
                let least = bounds.into_iter().flatten().fold(f32::INFINITY, f32::min);
                self.bound = least;
            }
        }
    }

    fn limit(&mut self, control: &mut Control<'_>) -> Option<Limit> {
        if self.stats.expanded.is_multiple_of(CHECK_EVERY) {
            self.stats.stored = self.stored();
            let stats = Stats { seconds: control.seconds(), ..self.stats };
            control.report(&Progress { stats, best: None, least_f: Some(self.bound), proof: None });
            if let Some(limit) = control.reached(&|| self.sides.iter().map(Side::bytes).sum()) {
                return Some(limit);
            }
        }
        if self.sides.iter().any(|side| side.arena.len() + 256 >= NO_PARENT as usize) {
            return Some(Limit::Memory);
        }
        control.too_many(self.stats.generated + self.puzzle.move_count() as u64).then_some(Limit::Nodes)
    }

    fn stored(&self) -> u64 {
        self.sides.iter().map(|side| side.arena.len() as u64).sum()
    }

    /// Expands the ready state of least g.
    fn expand(&mut self, side: usize) -> Result<(), HeuristicError> {
        let Some(Reverse((_, Reverse(id)))) = self.sides[side].by_g.pop() else { return Ok(()) };
        let node = &mut self.sides[side].arena[id];
        if node.closed {
            return Ok(());
        }
        node.closed = true;
        let Node { state, g, .. } = *node;
        self.stats.expanded += 1;
        for action in 0..self.puzzle.move_count() as Move {
            let Some(child) = self.puzzle.apply(&state, action) else { continue };
            self.stats.generated += 1;
            // Undoing a move costs as much as making it.
            let cost = g + self.puzzle.move_cost(&state, action);
            self.store(side, &child, id, action, cost)?;
        }
        Ok(())
    }

    /// Stores a state that is new or reached more cheaply, opens it, and looks for it on the other side.
    fn store(
        &mut self,
        side: usize,
        state: &P::State,
        parent: NodeId,
        action: Move,
        g: Cost,
    ) -> Result<(), HeuristicError> {
        let this = &mut self.sides[side];
        let node = Node { state: *state, parent, g, h: 0.0, action, closed: false };
        let id = match this.closed.store(&mut this.arena, node) {
            Ok(id) => {
                self.stats.evaluated += 1;
                this.arena[id].h = this.heuristic.estimate(state)?;
                id
            }
            Err(id) => {
                let known = &mut this.arena[id];
                if g >= known.g {
                    return Ok(());
                }
                (known.parent, known.action, known.g, known.closed) = (parent, action, g, false);
                id
            }
        };
        let f = g as f32 + this.arena[id].h;
        this.by_f.push(waiting(f, id));
        let other = &self.sides[1 - side];
        if let Some(met) = other.closed.find(&other.arena, other.closed.hash(state), state) {
            let cost = g + other.arena[met].g;
            if self.best.is_none_or(|best| cost < best.cost) {
                let nodes = if side == FORWARD { [id, met] } else { [met, id] };
                self.best = Some(Meeting { cost, nodes });
            }
        }
        Ok(())
    }

    /// The moves of the cheapest meeting.
    fn answer(&self) -> Option<Vec<Move>> {
        let [forward, backward] = self.best?.nodes;
        let mut moves = self.sides[FORWARD].arena.path(forward);
        let home = self.sides[BACKWARD].arena.path(backward);
        moves.extend(home.iter().rev().map(|&action| self.puzzle.inverse(action)));
        Some(moves)
    }
}
