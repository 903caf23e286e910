//! Best-first search in all its forms, in one loop: greedy, A*, weighted A*, and batch-weighted A* (BWAS; Agostinelli et
//! al. 2019, Methods), which is A* that expands many nodes a step.
//!
//! A step takes the `expand` nodes of least f = λ·g + h from the open list, expands all, drops every child that is
//! stored already at no greater cost, has the rest scored in one forward pass, and puts them into the open list. λ
//! weighs the *path cost* (textbook weighted A* puts its weight on h instead): 1 is A*, 0 is greedy.
//!
//! - `bwas` and `best-first` test a child for the goal when it is *generated*: when a batch meets goals, it is
//!   finished, and its cheapest answer is returned. `astar` tests a node when it is *taken* from the open list.
//! - A stored state that is reached more cheaply gets its new parent and is opened again; its estimate is kept.
//! - Of equal priorities, `bwas` and `astar` take the node that was generated last, `best-first` the first. The answer
//!   is a function of puzzle, start, heuristic and settings, whatever the number of threads; limits cut it off, and
//!   only that of nodes does so at the same place every time.
//!
//! Near the limit of memory, searches that test for goals early forget the worse half of the open nodes and what leads to
//! none of the others, go on with the rest, and say how many nodes they have dropped; `astar` ends there.
//!
//! What is guaranteed: a solution that is returned solves; if the reachable states end without a goal, and none was
//! forgotten, there is none; `astar` with an admissible heuristic returns a cheapest one. What is not: that `bwas` does,
//! for it ends with the first batch that meets a goal, and λ < 1 prefers near to short. With λ = 1 and admissible
//! estimates the least priority before that batch bounds every solution from below; an answer that costs no more is
//! claimed as proven.
//!
//! Memory, for a state of 16 bytes: 32 bytes a node in the arena, 6 to 12 in the closed list, 8 to 16 in the open list.

use super::arena::{Arena, NO_PARENT, Node, NodeId};
use super::closed::Closed;
use super::open::{Open, Ties};
use super::scoring::Scoring;
use super::{Control, End, Limit, Outcome, Progress, Search, Stats};
use crate::heuristic::{Ask, Heuristic, HeuristicError};
use crate::puzzle::{Cost, Move, Puzzle, replay};

/// Expanded nodes between two looks at the clock and the memory.
const LOOK_EVERY: usize = 512;

/// The same where a batch is one node, each of which may take a pass of a network.
const LOOK_BETWEEN: u64 = 16;

/// When a state is tested for the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalTest {
    /// When it is generated: sooner, and not always with the cheapest answer.
    Generated,
    /// When it is taken from the open list: with λ = 1 and admissible estimates the answer is a cheapest one.
    Taken,
}

/// A best-first search and its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestFirst {
    name: &'static str,
    /// Nodes expanded a step, at least 1.
    pub expand: usize,
    /// λ, the weight of the path cost, not negative.
    pub lambda: f32,
    /// When states are tested for the goal.
    pub goal_test: GoalTest,
    /// Which of equal priorities is taken first.
    pub ties: Ties,
}

impl BestFirst {
    /// Batch-weighted A*: `expand` nodes a step, goals tested when generated.
    pub fn bwas(expand: usize, lambda: f32) -> Self {
        BestFirst { name: "bwas", expand, lambda, goal_test: GoalTest::Generated, ties: Ties::NewestFirst }
    }

    /// A* (Hart, Nilsson and Raphael 1968): one node a step, λ = 1, goals tested when taken from the open list.
    pub fn a_star() -> Self {
        BestFirst { name: "astar", expand: 1, lambda: 1.0, goal_test: GoalTest::Taken, ties: Ties::NewestFirst }
    }

    /// Best-first search: one node a step, goals tested when generated, equals in the order of generation. λ = 0 is
    /// greedy.
    pub fn one_by_one(lambda: f32) -> Self {
        BestFirst { name: "best-first", expand: 1, lambda, goal_test: GoalTest::Generated, ties: Ties::OldestFirst }
    }
}

impl<P: Puzzle> Search<P> for BestFirst {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        Run::new(puzzle, start, heuristic, *self).search(control)
    }
}

/// A running search.
struct Run<'a, P: Puzzle> {
    puzzle: &'a P,
    settings: BestFirst,
    arena: Arena<P::State>,
    closed: Closed,
    open: Open,
    scoring: Scoring<'a, P::State>,
    stats: Stats,
    /// The start.
    start: P::State,
    /// The goals that this batch has met, in the order of generation.
    goals: Vec<NodeId>,
    /// The node of least cost-to-go.
    best: Option<(f32, Cost)>,
    /// Room for the estimates of a chunk.
    values: Vec<f32>,
}

impl<'a, P: Puzzle> Run<'a, P> {
    fn new(puzzle: &'a P, start: &P::State, heuristic: &'a mut dyn Heuristic<P::State>, settings: BestFirst) -> Self {
        Run {
            puzzle,
            settings,
            arena: Arena::default(),
            closed: Closed::default(),
            open: Open::new(settings.ties),
            scoring: Scoring::new(heuristic, Ask::Values),
            stats: Stats::default(),
            start: *start,
            goals: Vec::new(),
            best: None,
            values: Vec::new(),
        }
    }

    fn search(mut self, control: &mut Control<'_>) -> Result<Outcome, HeuristicError> {
        let start = self.start;
        self.store(&start, NO_PARENT, 0, 0);
        if self.puzzle.is_goal(&start) {
            return Ok(self.outcome(End::Solved, Some((Vec::new(), 0)), true, control));
        }
        self.score_rest()?;
        let mut batch = Vec::new();
        let mut next_report = 0;
        loop {
            let bound = self.open.least_f().unwrap_or(0.0);
            self.take(&mut batch);
            if let Some(answer) = self.cheapest_answer() {
                let proven = self.proves(bound, answer.1);
                return Ok(self.outcome(End::Solved, Some(answer), proven, control));
            }
            if batch.is_empty() {
                // A goal may be beyond what was forgotten.
                let end = if self.stats.dropped == 0 { End::NoSolution } else { End::Limit(Limit::Memory) };
                return Ok(self.outcome(end, None, false, control));
            }
            self.stats.iterations += 1;
            let reached = self.expand_all(&batch, control)?;
            if let Some(answer) = self.cheapest_answer() {
                self.scoring.discard()?;
                let proven = self.proves(bound, answer.1);
                return Ok(self.outcome(End::Solved, Some(answer), proven, control));
            }
            let may_forget = reached == Some(Limit::Memory) && self.settings.goal_test == GoalTest::Generated;
            if let Some(limit) = reached.filter(|_| !may_forget) {
                self.scoring.discard()?;
                return Ok(self.outcome(End::Limit(limit), None, false, control));
            }
            self.score_rest()?;
            if may_forget {
                self.forget_the_worst();
                if let Some(limit) = control.reached(|| self.bytes()) {
                    return Ok(self.outcome(End::Limit(limit), None, false, control));
                }
            }
            if self.stats.expanded >= next_report {
                next_report = self.stats.expanded + LOOK_EVERY as u64;
                let progress = self.progress(control);
                control.report(&progress);
            }
        }
    }

    /// The cheapest path to a goal that was met, with its cost; of equals, the first that was generated.
    ///
    /// The cost is added up along the path: an ancestor may have found a cheaper parent since the goal was stored.
    fn cheapest_answer(&self) -> Option<(Vec<Move>, Cost)> {
        let answers = self.goals.iter().map(|&goal| {
            let moves = self.arena.path(goal);
            let (_, cost) =
                replay(self.puzzle, &self.start, &moves).expect("the moves were legal when they were stored");
            (moves, cost)
        });
        answers.min_by_key(|(_, cost)| *cost)
    }

    /// Whether a solution of this cost is a cheapest one, where `bound` was the least priority before the batch: with
    /// λ = 1 and admissible estimates, no path can be cheaper than that, nor than the integer above it.
    fn proves(&self, bound: f32, cost: Cost) -> bool {
        let admissible = self.scoring.heuristic.is_admissible();
        // The least priority may lie above the true bound by a rounding error of f32.
        let complete = admissible && self.stats.dropped == 0;
        complete && self.settings.lambda == 1.0 && f64::from(cost) <= (f64::from(bound) - 1e-3).ceil()
    }

    /// Takes the best nodes from the open list, leaving out entries that a cheaper path has outdated; ends at a goal
    /// where goals are tested now.
    fn take(&mut self, batch: &mut Vec<NodeId>) {
        batch.clear();
        while batch.len() < self.settings.expand.max(1) {
            let Some(id) = self.open.pop() else { break };
            let node = &mut self.arena[id];
            if node.closed {
                continue;
            }
            node.closed = true;
            batch.push(id);
            if self.settings.goal_test == GoalTest::Taken && self.puzzle.is_goal(&self.arena[id].state) {
                self.stats.expanded += batch.len() as u64;
                self.goals.push(id);
                break;
            }
        }
    }

    /// Keeps the better half of the open nodes and what leads to them, and forgets all others. All estimates are in.
    fn forget_the_worst(&mut self) {
        let mut waiting = Vec::with_capacity(self.open.len());
        while let Some(id) = self.open.pop() {
            if !std::mem::replace(&mut self.arena[id].closed, true) {
                waiting.push(id);
            }
        }
        waiting.truncate(waiting.len() / 2);
        let left = self.closed.keep(&mut self.arena, &waiting);
        self.open = Open::new(self.settings.ties);
        waiting.into_iter().for_each(|id| self.put_back(left.numbers[id as usize]));
        self.stats.dropped += left.dropped();
    }

    /// Puts a node back that was taken and not expanded.
    fn put_back(&mut self, id: NodeId) {
        let node = &mut self.arena[id];
        node.closed = false;
        self.open.push(self.settings.lambda * node.g as f32 + node.h, id);
    }

    fn bytes(&self) -> u64 {
        self.arena.bytes() + self.closed.bytes() + self.open.bytes()
    }

    /// Expands a batch and hands the new children over for scoring; ends early at a limit, with the rest put back.
    fn expand_all(&mut self, batch: &[NodeId], control: &mut Control<'_>) -> Result<Option<Limit>, HeuristicError> {
        let children = self.puzzle.move_count() as u64;
        // At the start of a batch, now and then, and whenever a chunk was handed over; batches of one are too short.
        let mut look = batch.len() > 1 || self.stats.expanded.is_multiple_of(LOOK_BETWEEN);
        for (i, &id) in batch.iter().enumerate() {
            let looks = look || (i > 0 && i % LOOK_EVERY == 0);
            let reached = looks.then(|| control.reached(|| self.bytes())).flatten();
            let too_many = || control.too_many(self.stats.generated + children).then_some(Limit::Nodes);
            let full = self.arena.len() + children as usize >= NO_PARENT as usize;
            if let Some(limit) = reached.or_else(too_many).or(full.then_some(Limit::Memory)) {
                batch[i..].iter().for_each(|&id| self.put_back(id));
                return Ok(Some(limit));
            }
            self.expand(id);
            look = self.goals.is_empty() && self.scoring.waiting() >= self.scoring.chunk;
            if look {
                self.score_full_chunks()?;
            }
        }
        Ok(None)
    }

    fn expand(&mut self, id: NodeId) {
        self.stats.expanded += 1;
        let Node { state, g, parent, .. } = self.arena[id];
        let before = (parent != NO_PARENT).then(|| self.arena[parent].state);
        for action in 0..self.puzzle.move_count() as Move {
            let Some(child) = self.puzzle.apply(&state, action) else { continue };
            self.stats.generated += 1;
            if before == Some(child) {
                continue; // stored already, and at no greater cost
            }
            let cost = g + self.puzzle.move_cost(&state, action);
            let Some(child_id) = self.store(&child, id, action, cost) else { continue };
            if self.settings.goal_test == GoalTest::Generated && self.puzzle.is_goal(&child) {
                self.goals.push(child_id);
            }
        }
    }

    /// Stores a state that is new or reached more cheaply than before; gives its node, or `None` if it is neither.
    fn store(&mut self, state: &P::State, parent: NodeId, action: Move, g: Cost) -> Option<NodeId> {
        let node = Node { state: *state, parent, g, h: f32::NAN, action, closed: false };
        match self.closed.find_or_insert(&mut self.arena, state, |arena| arena.push(node)) {
            Ok(id) => {
                self.stats.stored += 1;
                if self.goals.is_empty() {
                    self.scoring.add(id, state);
                }
                Some(id)
            }
            Err(id) => {
                let known = &mut self.arena[id];
                if g >= known.g {
                    return None;
                }
                (known.parent, known.action, known.g, known.closed) = (parent, action, g, false);
                // A node that still waits for its estimate enters the open list when that comes.
                if !known.h.is_nan() {
                    self.open.push(self.settings.lambda * g as f32 + known.h, id);
                }
                Some(id)
            }
        }
    }

    /// Hands over the full chunks of what waits.
    fn score_full_chunks(&mut self) -> Result<(), HeuristicError> {
        while self.scoring.waiting() >= self.scoring.chunk {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Hands over all that waits, and takes in all estimates.
    fn score_rest(&mut self) -> Result<(), HeuristicError> {
        if self.scoring.in_flight() == 0 && (1..=self.scoring.chunk).contains(&self.scoring.waiting()) {
            return self.score_at_once();
        }
        while self.scoring.waiting() > 0 {
            self.hand_over()?;
        }
        while self.scoring.in_flight() > 0 {
            self.take_in()?;
        }
        Ok(())
    }

    /// Hands over one chunk, and takes in the oldest if too many are out.
    fn hand_over(&mut self) -> Result<(), HeuristicError> {
        self.stats.evaluated += self.scoring.submit()? as u64;
        if self.scoring.in_flight() > self.scoring.overlap { self.take_in() } else { Ok(()) }
    }

    /// Has all that waits scored, which is one chunk; nothing is out.
    fn score_at_once(&mut self) -> Result<(), HeuristicError> {
        let mut values = std::mem::take(&mut self.values);
        let first = self.scoring.score(&mut values)?;
        self.stats.evaluated += values.len() as u64;
        self.enter(first, &values);
        self.values = values;
        Ok(())
    }

    /// Takes in the estimates of one chunk.
    fn take_in(&mut self) -> Result<(), HeuristicError> {
        let (first, estimates) = self.scoring.collect()?;
        self.enter(first, &estimates.values);
        Ok(())
    }

    /// Nodes that are numbered one after the other got their estimates: they enter the open list.
    fn enter(&mut self, first: NodeId, estimates: &[f32]) {
        for (id, &h) in (first..).zip(estimates) {
            debug_assert!(h >= 0.0 && h.is_finite(), "estimate {h}");
            let node = &mut self.arena[id];
            node.h = h;
            if self.best.is_none_or(|(least, _)| h < least) {
                self.best = Some((h, node.g));
            }
            self.open.push(self.settings.lambda * node.g as f32 + h, id);
        }
    }

    fn progress(&mut self, control: &Control<'_>) -> Progress {
        self.stats.seconds = control.seconds();
        Progress { stats: self.stats, best: self.best, least_f: self.open.least_f() }
    }

    fn outcome(
        mut self,
        end: End,
        answer: Option<(Vec<Move>, Cost)>,
        proven_optimal: bool,
        control: &Control<'_>,
    ) -> Outcome {
        self.stats.seconds = control.seconds();
        let (moves, cost) = answer.unzip();
        Outcome { end, moves, cost, proven_optimal, stats: self.stats }
    }
}
