//! Deferred batch-weighted A*: BWAS that scores a child only when its turn comes.
//!
//! In BWAS every child of an expanded node is scored, though hardly one in ten is ever expanded. Here the network's
//! second head, which says how probable it is that each move leads back towards the goal, ranks the children before
//! they are made. What waits in the open list are *moves*: (node, move) with the priority
//!
//! ```text
//! f = max(λ·g + h, λ·(g + 1) + h − 1 − c·ln p)
//! ```
//!
//! for a move of probability p from a node of path cost g and cost-to-go h: a sure move is expected to bring the
//! cost-to-go down by 1, and no move comes before its node. Of each node only its
//! best move waits; when that is taken, the next best takes its place (partial expansion: Yoshizumi, Miura and Ishida
//! 2000). A step takes moves until `expand` new states are made, scores them in one forward pass, and goes on. Dropped
//! duplicates cost no score.
//!
//! - Every state that costs more to look at than the best answer known, at least, is dropped.
//! - With `eager`, all children of a node are made when it is taken, and scored at once: BWAS with all that follows.
//! - Near the limit of memory the worst half of the open nodes is forgotten, and what leads to none of the others; the
//!   search goes on with the rest, and says how many nodes it has dropped.
//! - With an [`Endgame`], the exact cost of states near the goal is known: meeting one is an answer. The first answer
//!   does not end the search: it goes on for `patience` more steps, in which others come in that are shorter.
//! - An answer is proven to be cheapest only if the search comes to its end: what may be better was all looked at. That
//!   is, it needs no estimate to be admissible, and small puzzles. Without an answer at the end there is none.
//!
//! Memory, for a state of 16 bytes and 12 moves: 32 bytes a node in the arena, 24 for its moves, 6 to 12 in the closed
//! list, 8 to 16 in the open list; but only what is scored is stored, a tenth of what BWAS keeps.

use super::arena::{Arena, NO_PARENT, Node, NodeId};
use super::closed::Closed;
use super::endgame::Endgame;
use super::open::{Open, Ties};
use super::scoring::Scoring;
use super::{Answer, Control, End, Limit, Outcome, Progress, Search, Stats};
use crate::heuristic::{Ask, Heuristic, HeuristicError};
use crate::puzzle::{Cost, Move, Puzzle, replay};
use ndarray::ArrayView1;

/// States made between two looks at the clock and the memory.
const LOOK_EVERY: usize = 512;

/// The search `bwas` with `--deferred`.
#[derive(Debug, Clone)]
pub struct Deferred<S> {
    /// New states a step, at least 1.
    pub expand: usize,
    /// λ, the weight of the path cost, not negative.
    pub lambda: f32,
    /// How much a probability counts against the cost-to-go: c above, in moves.
    pub confidence: f32,
    /// Whether all children of a node are made and scored at once; then `expand` counts the nodes taken.
    pub eager: bool,
    /// Steps after the first answer; `None`: until limits, or until nothing better can exist.
    pub patience: Option<u64>,
    /// What is known by heart.
    pub endgame: Endgame<S>,
}

impl<P: Puzzle> Search<P> for Deferred<P::State> {
    fn name(&self) -> &'static str {
        "bwas"
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        let run = Run {
            puzzle,
            settings: self,
            arena: Arena::default(),
            closed: Closed::default(),
            open: Open::new(Ties::NewestFirst),
            moves: Moves::new(if self.eager { 0 } else { puzzle.move_count() }),
            scoring: Scoring::new(heuristic, if self.eager { Ask::Values } else { Ask::ValuesAndPreferences }),
            stats: Stats::default(),
            start: *start,
            best: None,
            nearest: None,
            entered: 0,
            free_moves: false,
            exhausted: false,
        };
        run.search(control)
    }
}

/// A running search.
struct Run<'a, P: Puzzle> {
    puzzle: &'a P,
    settings: &'a Deferred<P::State>,
    arena: Arena<P::State>,
    closed: Closed,
    open: Open,
    moves: Moves,
    scoring: Scoring<'a, P::State>,
    stats: Stats,
    start: P::State,
    best: Option<Answer>,
    /// The least cost-to-go so far, and the path cost of its node.
    nearest: Option<(f32, Cost)>,
    /// Nodes from this one on are of the step that goes on: they enter the open list at its end, however it is cut into
    /// chunks.
    entered: NodeId,
    /// Whether some move cost nothing: then a state may be worth as much as its parent.
    free_moves: bool,
    /// Whether the search has come to its end.
    exhausted: bool,
}

impl<P: Puzzle> Run<'_, P> {
    fn search(mut self, control: &mut Control<'_>) -> Result<Outcome, HeuristicError> {
        let start = self.start;
        if self.puzzle.is_goal(&start) {
            self.stats.stored = 1;
            self.best = Some(Answer { moves: Vec::new(), cost: 0 });
            return Ok(self.outcome(End::Solved, control));
        }
        if let Some(moves) = self.settings.endgame.way_home(self.puzzle, &start) {
            self.stats.stored = 1;
            self.best = Some(Answer { cost: moves.len() as Cost, moves });
            return Ok(self.outcome(End::Solved, control));
        }
        self.store(&start, NO_PARENT, 0, 0);
        self.score_rest()?;
        let mut steps_left = self.settings.patience;
        while !self.open.is_empty() {
            if self.best.is_some()
                && let Some(steps) = &mut steps_left
            {
                if *steps == 0 {
                    break;
                }
                *steps -= 1;
            }
            self.stats.iterations += 1;
            if control.reached(|| self.bytes()) == Some(Limit::Memory) {
                self.forget_the_worst();
            }
            let limit = self.step(control)?;
            if let Some(limit) = limit {
                self.scoring.discard()?;
                let end = if self.best.is_some() { End::Solved } else { End::Limit(limit) };
                return Ok(self.outcome(end, control));
            }
            self.score_rest()?;
            let progress = self.progress(control);
            control.report(&progress);
        }
        // Nothing is left that could be better: if nothing was forgotten, nothing better exists.
        self.exhausted = self.open.is_empty() && self.stats.dropped == 0;
        let end = match self.best {
            Some(_) => End::Solved,
            None if self.exhausted => End::NoSolution,
            None => End::Limit(Limit::Memory), // a goal may be beyond what was forgotten
        };
        Ok(self.outcome(end, control))
    }

    /// Takes moves from the open list until enough new states are made, and hands them over for scoring.
    fn step(&mut self, control: &mut Control<'_>) -> Result<Option<Limit>, HeuristicError> {
        let before = self.arena.len();
        let children = if self.settings.eager { self.puzzle.move_count() } else { 1 };
        let mut taken = 0;
        while (if self.settings.eager { taken } else { self.arena.len() - before }) < self.settings.expand.max(1) {
            if taken.is_multiple_of(LOOK_EVERY) {
                match control.reached(|| self.bytes()) {
                    // Between two steps, room can be made.
                    Some(Limit::Memory) if taken > 0 => break,
                    Some(limit) => return Ok(Some(limit)),
                    None => {}
                }
            }
            if control.too_many(self.stats.generated + children as u64) {
                return Ok(Some(Limit::Nodes));
            }
            if self.arena.len() + children >= NO_PARENT as usize {
                return Ok(Some(Limit::Memory));
            }
            let Some(id) = self.take() else { break };
            taken += 1;
            if self.settings.eager {
                self.make_all(id, control);
            } else {
                self.make_next(id, control);
            }
            if self.scoring.waiting() >= self.scoring.chunk {
                self.hand_over()?;
            }
        }
        Ok(None)
    }

    /// The node whose best waiting move comes first; leaves out entries that a cheaper path has outdated.
    fn take(&mut self) -> Option<NodeId> {
        loop {
            let f = self.open.least_f()?;
            let id = self.open.pop()?;
            if self.priority(id) == Some(f) {
                return Some(id);
            }
        }
    }

    /// The priority of the best move of a node that was not taken yet; `None` if all were.
    fn priority(&self, id: NodeId) -> Option<f32> {
        let Node { state, g, h, closed, .. } = self.arena[id];
        if self.settings.eager {
            return (!closed).then_some(self.settings.lambda * g as f32 + h);
        }
        let (action, surprise) = self.moves.next(id)?;
        let Deferred { lambda, confidence, .. } = *self.settings;
        let cost = self.puzzle.move_cost(&state, action);
        let expected = lambda * (g + cost) as f32 + h + cost as f32 * (confidence * surprise - 1.0);
        Some((lambda * g as f32 + h).max(expected).max(0.0))
    }

    fn enter(&mut self, id: NodeId) {
        if let Some(f) = self.priority(id) {
            self.open.push(f, id);
        }
    }

    /// Makes the child of a node's best move, and lets the next best wait.
    fn make_next(&mut self, id: NodeId, control: &mut Control<'_>) {
        let Some((action, _)) = self.moves.next(id) else { return };
        if self.moves.advance(id) == 1 {
            self.stats.expanded += 1;
        }
        self.enter(id);
        self.make(id, action, control);
    }

    /// Makes all children of a node.
    fn make_all(&mut self, id: NodeId, control: &mut Control<'_>) {
        self.stats.expanded += 1;
        self.arena[id].closed = true;
        for action in 0..self.puzzle.move_count() as Move {
            self.make(id, action, control);
        }
    }

    /// Makes a child: an answer, or a state to be scored.
    fn make(&mut self, id: NodeId, action: Move, control: &mut Control<'_>) {
        let Node { state, g, .. } = self.arena[id];
        let Some(child) = self.puzzle.apply(&state, action) else { return };
        self.stats.generated += 1;
        let step = self.puzzle.move_cost(&state, action);
        self.free_moves |= step == 0;
        let cost = g + step;
        if self.puzzle.is_goal(&child) {
            self.meet(id, action, &child, cost, control);
        } else if let Some(rest) = self.settings.endgame.cost(&child) {
            self.meet(id, action, &child, cost + rest, control);
        } else if self.is_of_use(cost) {
            self.store(&child, id, action, cost);
        }
    }

    /// Whether a way of this cost, to a state that is not known by heart, may become better than the best answer.
    fn is_of_use(&self, cost: Cost) -> bool {
        self.best.as_ref().is_none_or(|best| cost + self.settings.endgame.least_beyond() < best.cost)
    }

    /// Takes note of an answer: the way to a node, a move from there, and the way home.
    fn meet(&mut self, id: NodeId, action: Move, child: &P::State, cost: Cost, control: &mut Control<'_>) {
        if self.best.as_ref().is_some_and(|best| cost >= best.cost) {
            return;
        }
        let Some(home) = self.settings.endgame.way_home(self.puzzle, child) else { return };
        let mut moves = self.arena.path(id);
        moves.push(action);
        moves.extend(home);
        // Ancestors may have found cheaper parents since: what counts is what the moves cost.
        let (_, cost) = replay(self.puzzle, &self.start, &moves).expect("the moves were legal when they were stored");
        let answer = Answer { moves, cost };
        control.answer(&answer);
        self.best = Some(answer);
    }

    /// Stores a state that is new, or opens one again that is reached more cheaply.
    fn store(&mut self, state: &P::State, parent: NodeId, action: Move, g: Cost) {
        let node = Node { state: *state, parent, g, h: f32::NAN, action, closed: false };
        match self.closed.find_or_insert(&mut self.arena, state, |arena| arena.push(node)) {
            Ok(id) => {
                self.stats.stored += 1;
                self.moves.add();
                self.scoring.add(id, state);
            }
            Err(id) => {
                let known = &mut self.arena[id];
                if g >= known.g {
                    return;
                }
                (known.parent, known.action, known.g, known.closed) = (parent, action, g, false);
                if id < self.entered {
                    if !self.settings.eager {
                        self.moves.restart(id);
                    }
                    self.enter(id);
                }
            }
        }
    }

    /// Ends a step: all that waits is scored, and the best move of each new node enters the open list.
    fn score_rest(&mut self) -> Result<(), HeuristicError> {
        while self.scoring.waiting() > 0 {
            self.hand_over()?;
        }
        while self.scoring.in_flight() > 0 {
            self.take_in()?;
        }
        for id in self.entered..self.arena.len() as NodeId {
            self.enter(id);
        }
        self.entered = self.arena.len() as NodeId;
        Ok(())
    }

    /// Hands over one chunk, and takes in the oldest if too many are out.
    fn hand_over(&mut self) -> Result<(), HeuristicError> {
        self.stats.evaluated += self.scoring.submit()? as u64;
        if self.scoring.in_flight() > self.scoring.overlap { self.take_in() } else { Ok(()) }
    }

    /// Takes in the estimates of one chunk.
    fn take_in(&mut self) -> Result<(), HeuristicError> {
        let (first, estimates) = self.scoring.collect()?;
        let preferences = estimates.preferences.as_ref();
        for (i, (id, h)) in (first..).zip(estimates.values).enumerate() {
            let node = &mut self.arena[id];
            node.h = h;
            if self.nearest.is_none_or(|(least, _)| h < least) {
                self.nearest = Some((h, node.g));
            }
            if !self.settings.eager {
                self.moves.set(id, preferences.map(|preferences| preferences.row(i)));
            }
        }
        Ok(())
    }

    /// Keeps the better half of the open nodes and what leads to them, and forgets all others.
    fn forget_the_worst(&mut self) {
        let mut waiting = Vec::with_capacity(self.open.len());
        while let Some(id) = self.take() {
            waiting.push(id);
        }
        waiting.truncate(waiting.len() / 2);
        let left = self.closed.keep(&mut self.arena, &waiting);
        self.moves.retain(&left.kept);
        self.entered = self.arena.len() as NodeId;
        self.open = Open::new(Ties::NewestFirst);
        waiting.into_iter().for_each(|id| self.enter(left.numbers[id as usize]));
        self.stats.dropped += left.dropped();
    }

    fn bytes(&self) -> u64 {
        self.arena.bytes() + self.closed.bytes() + self.open.bytes() + self.moves.bytes()
    }

    fn progress(&mut self, control: &Control<'_>) -> Progress {
        self.stats.seconds = control.seconds();
        Progress { stats: self.stats, best: self.nearest, least_f: self.open.least_f() }
    }

    fn outcome(mut self, end: End, control: &Control<'_>) -> Outcome {
        self.stats.seconds = control.seconds();
        let proves = self.stats.iterations == 0 || (self.exhausted && !self.free_moves);
        let proven_optimal = self.best.is_some() && proves;
        let (moves, cost) = self.best.map(|answer| (answer.moves, answer.cost)).unzip();
        Outcome { end, moves, cost, proven_optimal, stats: self.stats }
    }
}

/// The moves of every node, most probable first, and how many of them were taken.
struct Moves {
    count: usize,
    /// For each node: how many moves were taken, the moves in their order, and the surprise of each: −ln of its
    /// probability, in steps of 1/[`STEPS`].
    segments: Vec<Vec<u8>>,
    nodes: usize,
}

/// A byte then tells probabilities from 1 to 1/12,000 apart, to 4 %.
const STEPS: f32 = 27.0;

const SEGMENT: usize = 1 << 14;

impl Moves {
    fn new(count: usize) -> Self {
        Moves { count, segments: Vec::new(), nodes: 0 }
    }

    fn width(&self) -> usize {
        1 + 2 * self.count
    }

    /// Makes room for the next node; it has no moves yet.
    fn add(&mut self) {
        if self.nodes.is_multiple_of(SEGMENT) {
            self.segments.push(vec![0; SEGMENT * self.width()]);
        }
        let id = self.nodes as NodeId;
        self.nodes += 1;
        let count = self.count as u8;
        self.of_mut(id)[0] = count;
    }

    fn of(&self, id: NodeId) -> &[u8] {
        let width = self.width();
        &self.segments[id as usize / SEGMENT][id as usize % SEGMENT * width..][..width]
    }

    fn of_mut(&mut self, id: NodeId) -> &mut [u8] {
        let width = self.width();
        &mut self.segments[id as usize / SEGMENT][id as usize % SEGMENT * width..][..width]
    }

    /// Gives a node its moves; without preferences, all are as probable, in the puzzle's order.
    fn set(&mut self, id: NodeId, preferences: Option<ArrayView1<'_, f32>>) {
        let count = self.count;
        let room = self.of_mut(id);
        room[0] = 0;
        let (order, surprises) = room[1..].split_at_mut(count);
        let quantized = |action: usize| {
            let probability = preferences.map_or(1.0 / count as f32, |preferences| preferences[action]);
            (-STEPS * probability.ln()).round() as u8
        };
        for action in 0..count {
            // Insertion sort: a dozen moves, and most are improbable.
            let surprise = quantized(action);
            let mut at = action;
            while at > 0 && surprises[at - 1] > surprise {
                (order[at], surprises[at]) = (order[at - 1], surprises[at - 1]);
                at -= 1;
            }
            (order[at], surprises[at]) = (action as u8, surprise);
        }
    }

    /// The most probable move that was not taken, with its surprise.
    fn next(&self, id: NodeId) -> Option<(Move, f32)> {
        let room = self.of(id);
        let taken = usize::from(room[0]);
        (taken < self.count).then(|| (room[1 + taken], f32::from(room[1 + self.count + taken]) / STEPS))
    }

    /// Takes it; gives how many were taken then.
    fn advance(&mut self, id: NodeId) -> u8 {
        let room = self.of_mut(id);
        room[0] += 1;
        room[0]
    }

    /// None of them was taken.
    fn restart(&mut self, id: NodeId) {
        self.of_mut(id)[0] = 0;
    }

    /// Forgets the moves of all nodes that are not kept; the others are numbered anew, in order.
    fn retain(&mut self, kept: &[bool]) {
        let mut next = 0;
        for (id, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
            let moves = self.of(id as NodeId).to_vec();
            self.of_mut(next).copy_from_slice(&moves);
            next += 1;
        }
        self.nodes = next as usize;
        self.segments.truncate(self.nodes.div_ceil(SEGMENT));
    }

    fn bytes(&self) -> u64 {
        (self.segments.len() * SEGMENT * self.width()) as u64
    }
}
