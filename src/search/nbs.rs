//! Bidirectional A*: from the start and from the goals at once, guided by a heuristic.
//!
//! Each step takes the *pair* of open states, one from each side, with the least bound: a path through both costs at least
//! lb(u, v) = max(f(u), f(v), g(u) + g(v) + ε), with ε the least cost of a move. Both are expanded. Any search must expand
//! one state of every pair whose bound is below the cost of the solution; this one expands at most twice as many states
//! as the best possible.
//!
//! - For puzzles whose goals are known and whose moves can be undone. The backward side needs estimates towards the start
//!   ([`Heuristic::retarget`]); without them, it uses 0.
//! - A solution is known when one side stores a state of the other. The search ends when no pair can lead to a cheaper
//!   one: with admissible estimates it is a cheapest one. At a limit, the solution known so far is given.
//! - A state that is reached more cheaply again is opened again, so estimates need not be consistent.
//! - Time and memory: between those of A* and of bidirectional breadth-first search, depending on the estimates.
//!
//! NBS: Chen, Holte, Zilles and Sturtevant, "Front-to-end bidirectional heuristic search with near-optimal node
//! expansions" (IJCAI 2017), algorithms 1 and 2.

use super::nodes::arena::{NO_PARENT, Node, NodeId};
use super::nodes::closed::{Stored, hash};
use super::nodes::open::{Open, Ties};
use super::{Control, End, Incumbent, Limit, Progress, Search, SearchResult, Stats, Task};
use crate::error::Result;
use crate::heuristic::{Heuristic, HeuristicError, zero};
use crate::puzzle::{Cost, Move, Puzzle, State, assert_reversible};

/// The least cost of a move of a reversible puzzle.
const MIN_COST: f32 = 1.0;

/// The search `nbs`. Panics on a puzzle that is not [reversible](crate::puzzle::Rules::is_reversible).
#[derive(Debug, Clone, Copy, Default)]
pub struct NearOptimalBidirectional;

impl<P: Puzzle> Search<P> for NearOptimalBidirectional {
    fn solve(&self, task: Task<'_, '_, P>) -> Result<SearchResult> {
        let Task { puzzle, start, heuristic, control } = task;
        assert_reversible(puzzle);
        // The same estimate, towards the start.
        let back = heuristic.retarget().and_then(|retarget| retarget(start));
        let mut back = back.unwrap_or_else(|| Box::new(zero()));
        let admissible = heuristic.is_admissible() && back.is_admissible();
        let sides = [Side::new(heuristic), Side::new(&mut *back)];
        let mut run = NbsRun { puzzle, sides, bound: 0.0, best: None, stats: Stats::default() };
        let end = run.search(start, control)?;
        let stats = Stats { stored: run.stored(), ..run.stats };
        let solution = run.path().map(|moves| Incumbent::replayed(puzzle, start, moves));
        let is_empty = solution.as_ref().is_some_and(|solution| solution.moves.is_empty());
        let proven = is_empty || admissible && end == End::Solved;
        Ok(SearchResult::new(end, solution, proven, stats))
    }
}

/// One of the two searches.
struct Side<'a, S> {
    heuristic: &'a mut dyn Heuristic<S>,
    stored: Stored<S>,
    /// Open states with f of at least the bound, ordered by f.
    by_f: Open,
    /// Open states by g that may be part of a pair now.
    by_g: Open,
}

impl<'a, S: State> Side<'a, S> {
    fn new(heuristic: &'a mut dyn Heuristic<S>) -> Self {
        let [by_f, by_g] = [Ties::NewestFirst; 2].map(Open::new);
        Side { heuristic, stored: Stored::default(), by_f, by_g }
    }

    /// Drops outdated entries from the top: nodes that are closed, or were reached more cheaply since.
    fn clean(&mut self) {
        let clean = |open: &mut Open, priority: fn(&Node<S>) -> f32| {
            while let Some((f, id)) = open.first() {
                let node = &self.stored.arena[id];
                if !node.closed && f == priority(node) {
                    break;
                }
                open.pop();
            }
        };
        clean(&mut self.by_f, |node| node.g as f32 + node.h);
        clean(&mut self.by_g, |node| node.g as f32);
    }

    /// Makes the open state of least f ready for a pair.
    fn ready(&mut self) {
        if let Some(id) = self.by_f.pop() {
            self.by_g.push(self.stored.arena[id].g as f32, id);
            self.clean();
        }
    }

    fn bytes(&self) -> u64 {
        self.stored.bytes() + self.by_f.bytes() + self.by_g.bytes()
    }
}

/// Expanded states between two checks of the limits: each may be a dozen passes of a network.
const CHECK_EVERY: u64 = 64;

const FORWARD: usize = 0;
const BACKWARD: usize = 1;

struct NbsRun<'a, P: Puzzle> {
    puzzle: &'a P,
    sides: [Side<'a, P::State>; 2],
    /// No solution costs less.
    bound: f32,
    /// The cost of the cheapest meeting so far, and the node of each side.
    best: Option<(Cost, [NodeId; 2])>,
    stats: Stats,
}

impl<P: Puzzle> NbsRun<'_, P> {
    fn search(&mut self, start: &P::State, control: &mut Control<'_>) -> Result<End> {
        self.store(FORWARD, start, NO_PARENT, 0, 0)?;
        for goal in self.puzzle.goals() {
            self.store(BACKWARD, &goal, NO_PARENT, 0, 0)?;
        }
        while self.next_pair() {
            if self.best.is_some_and(|(cost, _)| self.bound >= cost as f32) {
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
        // No pair is left, so no other solution.
        Ok(if self.best.is_some() { End::Solved } else { End::NoSolution })
    }

    /// Raises the bound until a pair of open states lies at it (algorithm 2); `false` if there is no pair any more.
    fn next_pair(&mut self) -> bool {
        loop {
            self.sides.iter_mut().for_each(Side::clean);
            if self.sides.iter().any(|side| side.by_f.is_empty() && side.by_g.is_empty()) {
                return false;
            }
            let least_f = self.sides.each_mut().map(|side| side.by_f.least_f());
            if let Some(side) = least_f.iter().position(|f| f.is_some_and(|f| f < self.bound)) {
                self.sides[side].ready();
                continue;
            }
            let [g, other] = self.sides.each_mut().map(|side| side.by_g.least_f());
            let pair = g.zip(other).map(|(g, other)| g + other + MIN_COST);
            if pair.is_some_and(|pair| pair <= self.bound) {
                return true;
            }
            match least_f.iter().position(|f| f.is_some_and(|f| f <= self.bound)) {
                Some(side) => self.sides[side].ready(),
                None => self.bound = least_f.into_iter().chain([pair]).flatten().fold(f32::INFINITY, f32::min),
            }
        }
    }

    fn limit(&mut self, control: &mut Control<'_>) -> Option<Limit> {
        if self.stats.expanded.is_multiple_of(CHECK_EVERY) {
            self.stats.stored = self.stored();
            control.report(&Progress { stats: self.stats, best: None, least_f: Some(self.bound), proof: None });
            if let Some(limit) = control.reached(&|| self.sides.iter().map(Side::bytes).sum()) {
                return Some(limit);
            }
        }
        if self.sides.iter().any(|side| side.stored.arena.len() + 256 >= NO_PARENT as usize) {
            return Some(Limit::Memory);
        }
        control.too_many(self.stats.generated + self.puzzle.move_count() as u64).then_some(Limit::Nodes)
    }

    fn stored(&self) -> u64 {
        self.sides.iter().map(|side| side.stored.arena.len() as u64).sum()
    }

    /// Expands the ready state of least g.
    fn expand(&mut self, side: usize) -> Result<(), HeuristicError> {
        let Some(id) = self.sides[side].by_g.pop() else { return Ok(()) };
        let node = &mut self.sides[side].stored.arena[id];
        if node.closed {
            return Ok(());
        }
        node.closed = true;
        let Node { state, g, .. } = *node;
        self.stats.expanded += 1;
        for (action, child) in self.puzzle.children(&state) {
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
        let id = match this.stored.store(Node::new(*state, parent, action, g)) {
            Ok(id) => {
                self.stats.evaluated += 1;
                this.stored.arena[id].h = this.heuristic.estimate(state)?;
                id
            }
            Err(id) => {
                let known = &mut this.stored.arena[id];
                if g >= known.g {
                    return Ok(());
                }
                (known.parent, known.action, known.g, known.closed) = (parent, action, g, false);
                id
            }
        };
        this.by_f.push(g as f32 + this.stored.arena[id].h, id);
        let other = &self.sides[1 - side];
        if let Some(met) = other.stored.find(hash(state), state) {
            let cost = g + other.stored.arena[met].g;
            if self.best.is_none_or(|(best, _)| cost < best) {
                self.best = Some((cost, if side == FORWARD { [id, met] } else { [met, id] }));
            }
        }
        Ok(())
    }

    /// The moves of the cheapest meeting.
    fn path(&self) -> Option<Vec<Move>> {
        let (_, [forward, backward]) = self.best?;
        let mut moves = self.sides[FORWARD].stored.arena.path(forward);
        let back = self.sides[BACKWARD].stored.arena.path(backward);
        moves.extend(back.iter().rev().map(|&action| self.puzzle.inverse(action)));
        Some(moves)
    }
}
