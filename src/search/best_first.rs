//! Best-first search in all its forms, in one loop: greedy, A*, weighted A*, and batch-weighted A* (BWAS; Agostinelli et
//! al. 2019, Methods), which is A* that expands many nodes a step.
//!
//! A step takes the `n` nodes of least f = λ·g + h from the open list, expands them, drops every child that is stored at no
//! greater cost, has the rest evaluated in one forward pass, and puts them into the open list. λ weighs the *path cost*
//! (textbook weighted A* weighs h instead): 1 is A*, 0 is greedy.
//!
//! - `bwas` and `best-first` test a child for the goal when it is *generated*: a batch that reaches goals is finished, and its
//!   cheapest solution is returned. `astar` tests a node when it is *taken* from the open list.
//! - A stored state that is reached more cheaply gets its new parent and is opened again; its estimate is kept.
//! - Among equal priorities, `bwas` and `astar` take the node generated last, `best-first` the first, a device any. The
//!   solution is a function of puzzle, start, heuristic and settings, whatever the number of threads. Limits cut the search
//!   off, and only the limit of nodes does so at the same place every time.
//! - With a [`Perimeter`], reaching one of its states gives a solution. With `max_stale_steps`, the search continues for that
//!   many steps after the first solution, and drops every state that cannot lead to a better one.
//!
//! # Deferred evaluation
//!
//! Full expansion generates all children of a node at once, though hardly one in ten is ever expanded. [Deferred
//! evaluation](BestFirst::deferred) orders the children by the network's move probabilities before they are generated. The
//! open list then holds *moves*: (node, move) with the priority
//!
//! ```text
//! f = max(λ·g + h, λ·(g + 1) + h − 1 − c·ln p)
//! ```
//!
//! for a move of probability p from a node of path cost g and cost-to-go h: a certain move is expected to bring the cost-to-go
//! down by 1, and no move comes before its node. c is the policy weight. Only the best move of each node waits; when it is
//! taken, the next best takes its place (partial expansion: Yoshizumi, Miura and Ishida 2000). A step takes moves until `n` new
//! states are generated, or up to 1/64 fewer, and evaluates these. Dropped duplicates cost no evaluation.
//!
//! # Guarantees
//!
//! Every solution returned solves the puzzle. If the reachable states end without a goal and no node was pruned, there is no
//! solution. `astar` with an admissible heuristic returns a cheapest one. `bwas` need not: it ends with the first batch that
//! reaches a goal, and λ < 1 prefers near to short. A solution is claimed as proven in two cases: with λ = 1 and admissible
//! estimates, if it costs no more than the least priority before its batch, which is a lower bound; and with
//! `max_stale_steps`, if nothing in the open list could be better.
//!
//! At the memory limit, the worse half of the open nodes is pruned, with all nodes that lead to none of the others; the search
//! continues and reports how many nodes it has pruned. `astar` ends there.
//!
//! Memory, for a state of 16 bytes: 32 bytes a node in the arena, 10 to 20 in the closed list, 8 to 16 in the open list.
//! Deferred evaluation takes 25 more a node, for 12 moves, but stores only evaluated states.
//!
//! | file | content |
//! | --- | --- |
//! | `step` | a step: nodes or moves are expanded, within the limits |
//! | `expansion` | children are made and taken in |
//! | `on_device` | batch-weighted A* whose nodes lie on a device |

use super::device::DeviceEngine;
use super::frontier::Frontier;
use super::limits::unless_failed;
use super::nodes::{NO_PARENT, NodeId};
use super::perimeter::Perimeter;
use super::{Control, End, Incumbent, Limit, Progress, Search, SearchResult, Task};
use crate::error::Result;
use crate::memory;
use crate::puzzle::{Cost, Move, Puzzle, State};
use on_device::DeviceRun;
use std::sync::Arc;

mod expansion;
mod on_device;
mod step;

pub use super::nodes::Ties;

/// Nodes taken between two checks of the clock and the memory.
const CHECK_EVERY: usize = 512;

/// The same for batches of one node, each of which may take a forward pass.
const CHECK_EVERY_SINGLE: u64 = 16;

/// When a state is tested for the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalTest {
    /// When it is generated: sooner, and not always with the cheapest solution.
    Generated,
    /// When it is taken from the open list: with λ = 1 and admissible estimates the solution is a cheapest one.
    Taken,
}

/// A best-first search and its settings.
#[derive(Debug, Clone)]
pub struct BestFirst<S> {
    /// Nodes expanded a step, at least 1; with deferred evaluation, new states a step.
    pub n: usize,
    /// λ, the weight of the path cost, not negative.
    pub lambda: f32,
    /// When states are tested for the goal.
    pub goal_test: GoalTest,
    /// Which of equal priorities is taken first.
    pub ties: Ties,
    /// The policy weight c of deferred evaluation: children are generated one at a time, in the order of their move
    /// probabilities p; c weighs −ln p, in moves. `None`: full expansion.
    pub deferred: Option<f32>,
    /// Steps after the first solution; `None`: until a limit, or until nothing better can exist.
    pub max_stale_steps: Option<u64>,
    /// The states with known exact cost.
    pub perimeter: Perimeter<S>,
    /// The device that holds the nodes, with full expansion, goals tested when generated, and moves that cost 1; `None`: the
    /// host's memory.
    pub device: Option<Arc<DeviceEngine>>,
}

impl<S: State> BestFirst<S> {
    /// Batch-weighted A* as published: `n` nodes a step, goals tested when generated, the first batch with a goal is the
    /// last.
    pub fn bwas(n: usize, lambda: f32) -> Self {
        BestFirst {
            n,
            lambda,
            goal_test: GoalTest::Generated,
            ties: Ties::NewestFirst,
            deferred: None,
            max_stale_steps: Some(0),
            perimeter: Perimeter::none(),
            device: None,
        }
    }

    /// A* (Hart, Nilsson and Raphael 1968): one node a step, λ = 1, goals tested when taken from the open list.
    pub fn a_star() -> Self {
        BestFirst { goal_test: GoalTest::Taken, ..Self::bwas(1, 1.0) }
    }

    /// Best-first search: one node a step, goals tested when generated, equals in the order of generation. λ = 0 is
    /// greedy.
    pub fn one_by_one(lambda: f32) -> Self {
        BestFirst { ties: Ties::OldestFirst, ..Self::bwas(1, lambda) }
    }

    /// True if the first batch with a solution is the last. It is finished, since its paths may become cheaper.
    fn ends_with_first_batch(&self) -> bool {
        self.deferred.is_none() && self.max_stale_steps == Some(0) && self.perimeter.is_empty()
    }
}

impl<P: Puzzle> Search<P> for BestFirst<P::State> {
    fn solve(&self, task: Task<'_, '_, P>) -> Result<SearchResult> {
        let Task { puzzle, start, heuristic, control } = task;
        memory::keep_freed();
        if let Some(engine) = &self.device
            && self.perimeter.path_to_goal(puzzle, start).is_none()
        {
            return DeviceRun::new(puzzle, self, start, engine)?.search(control);
        }
        let BestFirst { lambda, deferred, ties, .. } = *self;
        let nodes = Frontier::new(puzzle, heuristic, lambda, deferred, ties, control.threads);
        let (start, goals) = (*start, Vec::new());
        BestFirstRun { puzzle, settings: self, nodes, start, goals, best: None, free_moves: false }.search(control)
    }
}

/// A running best-first search.
struct BestFirstRun<'a, P: Puzzle> {
    puzzle: &'a P,
    settings: &'a BestFirst<P::State>,
    nodes: Frontier<'a, P>,
    start: P::State,
    /// The goals reached, in the order of generation, if the first batch with a solution is the last.
    goals: Vec<NodeId>,
    best: Option<Incumbent>,
    /// Whether some move cost nothing: a child may then be worth as much as its parent.
    free_moves: bool,
}

impl<P: Puzzle> BestFirstRun<'_, P> {
    fn search(mut self, control: &mut Control<'_>) -> Result<SearchResult> {
        let start = self.start;
        if let Some(moves) = self.settings.perimeter.path_to_goal(self.puzzle, &start) {
            self.nodes.stats.stored = 1;
            self.best = Some(Incumbent { cost: moves.len() as Cost, moves });
            return Ok(self.result(End::Solved, true));
        }
        self.nodes.store(&start, NO_PARENT, 0, 0, true);
        self.nodes.end_step()?;
        let mut steps_left = self.settings.max_stale_steps;
        let mut batch = Vec::new();
        let mut next_report = 0;
        loop {
            if self.best.is_some() {
                if steps_left == Some(0) {
                    return Ok(self.end());
                }
                steps_left = steps_left.map(|steps| steps - 1);
            }
            let bound = self.nodes.least_f();
            let is_proven = |best: &Incumbent| {
                // Children that cost a move less than the solution were left out, as if no move were free.
                let is_exact = self.settings.deferred.is_none() && !self.free_moves;
                is_exact && bound.is_some_and(|bound| self.proves(bound, best.cost))
            };
            if self.best.as_ref().is_some_and(is_proven) {
                return Ok(self.result(End::Solved, true));
            }
            self.take_batch(&mut batch);
            let is_exhausted = if self.settings.deferred.is_some() { bound.is_none() } else { batch.is_empty() };
            if is_exhausted {
                return Ok(self.end());
            }
            let step = if self.goals.is_empty() { unless_failed(self.step(&batch, control))? } else { Ok(()) };
            if let Some(cheapest) = self.cheapest_goal() {
                self.nodes.queue.discard();
                let proven = self.proves(bound.unwrap_or(0.0), cheapest.cost);
                self.best = Some(cheapest);
                return Ok(self.result(End::Solved, proven));
            }
            let prunes = self.settings.goal_test == GoalTest::Generated;
            match step {
                Err(Limit::Memory) if prunes => {
                    self.nodes.end_step()?;
                    let pruned = unless_failed(self.nodes.prune_open(|| control.reached(&|| 0)))?;
                    if let Some(limit) = pruned.err().or_else(|| control.reached(&|| self.nodes.bytes())) {
                        return Ok(self.result(End::Limit(limit), false));
                    }
                }
                Err(limit) => {
                    self.nodes.queue.discard();
                    return Ok(self.result(End::Limit(limit), false));
                }
                Ok(()) => self.nodes.end_step()?,
            }
            if self.nodes.stats.expanded >= next_report {
                next_report = self.nodes.stats.expanded + CHECK_EVERY as u64;
                let Frontier { stats, nearest: best, ref mut open, .. } = self.nodes;
                control.report(&Progress { stats, best, least_f: open.least_f(), proof: None });
            }
        }
    }

    /// Takes the nodes that a step of full expansion expands, and tests them for the goal if the setting says so.
    fn take_batch(&mut self, batch: &mut Vec<NodeId>) {
        batch.clear();
        if self.settings.deferred.is_some() {
            return;
        }
        let n = self.settings.n.max(1);
        if self.settings.goal_test == GoalTest::Generated {
            self.nodes.take_and_close(n, batch);
            return;
        }
        while batch.len() < n {
            let Some(id) = self.nodes.take() else { break };
            self.nodes.stored.arena[id].closed = true;
            batch.push(id);
            if self.puzzle.is_goal(&self.nodes.stored.arena[id].state) {
                self.nodes.stats.expanded += batch.len() as u64;
                self.goals.push(id);
                break;
            }
        }
    }

    /// Takes a solution if it is the best so far: the path to a node, a move, and the path from the child to a goal.
    fn take_solution(&mut self, id: NodeId, action: Move, child: &P::State, cost: Cost, control: &mut Control<'_>) {
        if self.best.as_ref().is_some_and(|best| cost >= best.cost) {
            return;
        }
        let Some(rest) = self.settings.perimeter.path_to_goal(self.puzzle, child) else { return };
        let mut moves = self.nodes.stored.arena.path(id);
        moves.push(action);
        moves.extend(rest);
        let incumbent = self.incumbent(moves);
        control.report_incumbent(&incumbent);
        self.best = Some(incumbent);
    }

    /// The cheapest path to a goal of this batch; ties go to the one generated first.
    fn cheapest_goal(&self) -> Option<Incumbent> {
        let paths = self.goals.iter().map(|&goal| self.incumbent(self.nodes.stored.arena.path(goal)));
        paths.min_by_key(|incumbent| incumbent.cost)
    }

    /// A solution with its cost, summed along the path: an ancestor may have got a cheaper parent after its descendants were
    /// stored.
    fn incumbent(&self, moves: Vec<Move>) -> Incumbent {
        Incumbent::replayed(self.puzzle, &self.start, moves)
    }

    /// Whether a solution of this cost is a cheapest one; `bound` is the least priority before the batch. With λ = 1 and
    /// admissible estimates, no path is cheaper than that, nor than the next integer.
    fn proves(&self, bound: f32, cost: Cost) -> bool {
        let complete = self.nodes.queue.heuristic.is_admissible() && self.nodes.stats.pruned == 0;
        // The least priority may lie above the true bound by a rounding error of f32.
        complete && self.settings.lambda == 1.0 && f64::from(cost) <= (f64::from(bound) - 1e-3).ceil()
    }

    /// Ends with an empty open list, or after the last stale step.
    fn end(self) -> SearchResult {
        // If nothing is open and nothing was pruned, nothing better exists.
        let exhausted = self.nodes.open.is_empty() && self.nodes.stats.pruned == 0;
        // A goal may be among the pruned states.
        let end = if exhausted { End::NoSolution } else { End::Limit(Limit::Memory) };
        let proven = exhausted && !self.free_moves;
        self.result(end, proven)
    }

    fn result(self, end: End, proven: bool) -> SearchResult {
        SearchResult::new(end, self.best, proven, self.nodes.stats)
    }
}
