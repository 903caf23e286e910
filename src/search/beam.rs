//! Beam search: layer by layer, of each only the most promising states.
//!
//! - A step makes the children of the whole layer, drops every one that was scored before, scores the rest, and keeps
//!   the `width` of least cost-to-go for the next layer; of equals, those that were made first.
//! - With a `shortlist` of k, and a heuristic that prefers moves, only the k · `width` most promising children are made
//!   and scored at all: those of least h(parent) − c·ln p, for a move of probability p. (The network's second head
//!   says p; a child that it thinks improbable is hardly ever among the best.) Their parent's word then still counts
//!   beside their own score: the layer keeps those of least h − c/5·ln p, a second opinion that costs nothing.
//! - With `twins`, the states near the beam's edge get a second opinion: each is scored again as its
//!   [twin](Puzzle::twin), whose mistakes are others, and the mean of both decides.
//! - A child is tested for the goal when it is made, and looked up in the [`Endgame`]; the cheapest answer of the first
//!   layer that has one ends the search.
//! - Neither complete nor optimal: what falls out of the beam is gone. With a width that no layer exceeds it is
//!   breadth-first search, unless there is a shortlist.
//! - Of a layer that is left behind, each state's parent and move are kept, and of every state that was scored 64 bits
//!   of its hash, not to make it again: 5 bytes a node of the beam, and 9 to 18 a scored one. Two states of one hash
//!   are taken for one, which may cost a beam one state in 10⁷ searches of a million states each.
//!
//! Lowerre, "The Harpy speech recognition system" (1976); on a learned cost-to-go, as the cube article's repository.

use super::arena::NodeId;
use super::endgame::Endgame;
use super::scoring::Scoring;
use super::{Answer, Control, End, LOOK_EVERY, Limit, Outcome, Progress, Search, Stats};
use crate::heuristic::{Ask, Estimates, Heuristic, HeuristicError};
use crate::puzzle::{Cost, Move, Puzzle, State};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault};

/// How much of a parent's opinion of its child still counts when the child has a score of its own.
const HEARSAY: f32 = 0.2;

/// No move is held to be less probable than this.
const LEAST_PROBABILITY: f32 = 1e-4;

/// The search `beam`.
#[derive(Debug, Clone)]
pub struct Beam<S> {
    /// How many states a layer keeps (`--n`), at least 1.
    pub width: usize,
    /// How many children are scored, in widths, where the heuristic prefers moves; 0: all.
    pub shortlist: usize,
    /// How much a probability counts against the cost-to-go: c above, in moves.
    pub confidence: f32,
    /// How far from the beam's edge, to either side, states are scored again as their twins, in widths; 0: none.
    pub twins: f32,
    /// What is known by heart.
    pub endgame: Endgame<S>,
}

impl<S: State> Beam<S> {
    /// A beam that scores all children.
    pub fn new(width: usize) -> Self {
        Beam { width, shortlist: 0, confidence: 0.0, twins: 0.0, endgame: Endgame::none() }
    }
}

impl<P: Puzzle> Search<P> for Beam<P::State> {
    fn name(&self) -> &'static str {
        "beam"
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        let mut run = Run {
            puzzle,
            settings: self,
            start: *start,
            ask: if self.shortlist > 0 { Ask::ValuesAndPreferences } else { Ask::Values },
            layer: Layer { states: vec![*start], costs: vec![0], ..Layer::default() },
            behind: Vec::new(),
            scored: HashSet::default(),
            hasher: FixedState::default(),
            stats: Stats::default(),
            fell_out: false,
            least: None,
            best: None,
        };
        let end = run.search(heuristic, control)?;
        run.stats.stored = run.scored.len() as u64;
        run.stats.seconds = control.seconds();
        let (moves, cost) = run.best.map(|answer| (answer.moves, answer.cost)).unzip();
        let proven_optimal = end == End::Solved && run.stats.iterations == 0;
        Ok(Outcome { end, moves, cost, proven_optimal, stats: run.stats })
    }
}

/// A running search.
struct Run<'a, P: Puzzle> {
    puzzle: &'a P,
    settings: &'a Beam<P::State>,
    start: P::State,
    ask: Ask,
    layer: Layer<P::State>,
    /// Of each layer, the last one included: whose child each state is, in the layer before, by which move.
    behind: Vec<(Vec<NodeId>, Vec<Move>)>,
    /// Hashes of all states that were scored.
    scored: HashSet<u64, BuildHasherDefault<Unhashed>>,
    hasher: FixedState,
    stats: Stats,
    /// Whether any state was left out.
    fell_out: bool,
    /// The least cost-to-go so far, and the path cost of the state that has it.
    least: Option<(f32, Cost)>,
    best: Option<Answer>,
}

/// The states of a layer, best first, or the children that may become one, in the order in which they were made.
struct Layer<S> {
    states: Vec<S>,
    costs: Vec<Cost>,
    parents: Vec<NodeId>,
    moves: Vec<Move>,
    values: Vec<f32>,
    /// What the parent's word adds to each value; none without a shortlist, or once the layer is chosen.
    hints: Vec<f32>,
    /// As many a state as there are moves, or none.
    preferences: Vec<f32>,
}

impl<S> Default for Layer<S> {
    fn default() -> Self {
        Layer {
            states: Vec::new(),
            costs: Vec::new(),
            parents: Vec::new(),
            moves: Vec::new(),
            values: Vec::new(),
            hints: Vec::new(),
            preferences: Vec::new(),
        }
    }
}

impl<P: Puzzle> Run<'_, P> {
    fn search(
        &mut self,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<End, HeuristicError> {
        let start = self.start;
        self.remember(&start);
        let known = if self.puzzle.is_goal(&start) { Some(0) } else { self.settings.endgame.cost(&start) };
        if known.is_some() {
            let moves = self.way_home(&start);
            self.best = Some(Answer { cost: known.unwrap_or(0), moves });
            return Ok(End::Solved);
        }
        if self.settings.shortlist > 0 {
            heuristic.submit(&[start], self.ask)?;
            let estimates = heuristic.collect()?;
            self.stats.evaluated += 1;
            self.layer.take_in(estimates);
        }
        while !self.layer.states.is_empty() {
            self.stats.iterations += 1;
            let limit = self.step(heuristic, control)?;
            if let Some(answer) = &self.best {
                control.answer(answer);
                return Ok(End::Solved);
            }
            if let Some(limit) = limit {
                return Ok(End::Limit(limit));
            }
        }
        Ok(if self.fell_out { End::Limit(Limit::Width) } else { End::NoSolution })
    }

    /// From one layer to the next, unless an answer or a limit is met.
    fn step(
        &mut self,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Option<Limit>, HeuristicError> {
        let mut scoring = Scoring::new(heuristic, self.ask);
        let children = match self.make_and_score(&mut scoring, control)? {
            Ok(children) => children,
            Err(limit) => {
                scoring.discard()?;
                return Ok(Some(limit));
            }
        };
        if self.best.is_some() {
            return Ok(None);
        }
        Ok(match self.ask_twins(children, heuristic, control)? {
            Ok(children) => {
                self.go_on(children);
                None
            }
            Err(limit) => Some(limit),
        })
    }

    /// Makes the layer's children and has them scored, while the next are made where the heuristic can.
    fn make_and_score(
        &mut self,
        scoring: &mut Scoring<'_, P::State>,
        control: &mut Control<'_>,
    ) -> Result<Result<Layer<P::State>, Limit>, HeuristicError> {
        let mut children = Layer::default();
        for (i, (parent, action)) in self.promising().into_iter().enumerate() {
            if i.is_multiple_of(LOOK_EVERY as usize) {
                self.stats.stored = self.scored.len() as u64;
                let stats = Stats { seconds: control.seconds(), ..self.stats };
                control.report(&Progress { stats, best: self.least, least_f: None });
                if let Some(limit) = control.reached(|| self.bytes() + children.bytes()) {
                    return Ok(Err(limit));
                }
            }
            if control.too_many(self.stats.generated + 1) {
                return Ok(Err(Limit::Nodes));
            }
            let state = self.layer.states[parent as usize];
            let Some(child) = self.puzzle.apply(&state, action) else { continue };
            self.stats.generated += 1;
            let cost = self.layer.costs[parent as usize] + self.puzzle.move_cost(&state, action);
            let home = if self.puzzle.is_goal(&child) { Some(0) } else { self.settings.endgame.cost(&child) };
            if let Some(home) = home {
                self.meet(parent, action, &child, cost + home);
            }
            // An answer ends the search with this layer: nothing is worth a score any more.
            if self.best.is_some() || !self.remember(&child) {
                continue;
            }
            let id = children.states.len() as NodeId;
            children.states.push(child);
            children.costs.push(cost);
            children.parents.push(parent);
            children.moves.push(action);
            children.hints.extend(self.opinion(parent, action).map(|opinion| HEARSAY * opinion));
            scoring.add(id, &child);
            scoring.advance(&mut self.stats.evaluated, |estimates| children.take_in(estimates))?;
        }
        if self.best.is_some() {
            scoring.discard()?;
            return Ok(Ok(children));
        }
        scoring.finish(&mut self.stats.evaluated, |estimates| children.take_in(estimates))?;
        Ok(Ok(children))
    }

    /// The children that are worth a score, by parent and move, in that order.
    fn promising(&mut self) -> Vec<(NodeId, Move)> {
        let layer = &self.layer;
        let all = (0..layer.states.len() as NodeId)
            .flat_map(|parent| (0..self.puzzle.move_count() as Move).map(move |action| (parent, action)));
        self.stats.expanded += layer.states.len() as u64;
        let room = self.settings.shortlist.saturating_mul(self.settings.width.max(1));
        if room >= layer.preferences.len() {
            return all.collect();
        }
        let rank = |child: (NodeId, Move)| {
            let opinion = self.opinion(child.0, child.1).unwrap_or(0.0);
            (layer.values[child.0 as usize] + opinion, child)
        };
        let mut ranked: Vec<_> = all.map(rank).collect();
        ranked.select_nth_unstable_by(room, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ranked.truncate(room);
        self.fell_out = true;
        let mut chosen: Vec<_> = ranked.into_iter().map(|(_, child)| child).collect();
        chosen.sort_unstable();
        chosen
    }

    /// What a parent expects of its child beyond its own cost-to-go, in moves: −c·ln p, if it was asked.
    fn opinion(&self, parent: NodeId, action: Move) -> Option<f32> {
        let p = self.layer.preferences.get(parent as usize * self.puzzle.move_count() + action as usize)?;
        Some(-self.settings.confidence * p.max(LEAST_PROBABILITY).ln())
    }

    /// Scores the children near the beam's edge again, as their twins, and takes the means; what is beyond falls out.
    fn ask_twins(
        &mut self,
        children: Layer<P::State>,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Result<Layer<P::State>, Limit>, HeuristicError> {
        let width = self.settings.width.max(1);
        let aside = (width as f32 * self.settings.twins) as usize;
        if aside == 0 || children.states.len() <= width {
            return Ok(Ok(children));
        }
        let best = children.best(width.saturating_add(aside));
        let near = width.saturating_sub(aside)..best.len();
        let twin = |&id: &NodeId| self.puzzle.twin(&children.states[id as usize]);
        let Some(twins) = best[near.clone()].iter().map(twin).collect::<Option<Vec<_>>>() else {
            return Ok(Ok(children));
        };
        self.fell_out |= best.len() < children.states.len();
        let mut chosen = children.pick(&best);
        drop(children);
        let mut opinions = Vec::with_capacity(twins.len());
        let mut scoring = Scoring::new(heuristic, Ask::Values);
        for (i, twin) in twins.iter().enumerate() {
            if i.is_multiple_of(LOOK_EVERY as usize)
                && let Some(limit) = control.reached(|| self.bytes() + chosen.bytes())
            {
                scoring.discard()?;
                return Ok(Err(limit));
            }
            scoring.add(0, twin);
            scoring.advance(&mut self.stats.evaluated, |estimates| opinions.extend(estimates.values))?;
        }
        scoring.finish(&mut self.stats.evaluated, |estimates| opinions.extend(estimates.values))?;
        for (value, opinion) in chosen.values[near].iter_mut().zip(opinions) {
            *value = 0.5 * (*value + opinion);
        }
        Ok(Ok(chosen))
    }

    /// Keeps the best children as the next layer.
    fn go_on(&mut self, children: Layer<P::State>) {
        let best = children.best(self.settings.width.max(1));
        self.fell_out |= best.len() < children.states.len();
        let Layer { states, costs, parents, moves, values, preferences, .. } = children.pick(&best);
        self.behind.push((parents, moves));
        let nearest = values.iter().copied().zip(costs.iter().copied()).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(nearest) = nearest
            && self.least.is_none_or(|least| nearest.0 < least.0)
        {
            self.least = Some(nearest);
        }
        self.layer = Layer { states, costs, values, preferences, ..Layer::default() };
    }

    /// Takes note of an answer, if it is the cheapest so far.
    fn meet(&mut self, parent: NodeId, action: Move, child: &P::State, cost: Cost) {
        if self.best.as_ref().is_some_and(|best| best.cost <= cost) {
            return;
        }
        let mut moves = vec![action];
        let mut at = parent as usize;
        for (parents, actions) in self.behind.iter().rev() {
            moves.push(actions[at]);
            at = parents[at] as usize;
        }
        moves.reverse();
        moves.extend(self.way_home(child));
        self.best = Some(Answer { moves, cost });
    }

    fn way_home(&self, state: &P::State) -> Vec<Move> {
        let puzzle = self.puzzle;
        self.settings.endgame.way_home(|state, action| puzzle.apply(state, action), puzzle.move_count(), state)
    }

    /// Whether a state is new.
    fn remember(&mut self, state: &P::State) -> bool {
        self.scored.insert(self.hasher.hash_one(state))
    }

    fn bytes(&self) -> u64 {
        let behind: usize = self.behind.iter().map(|(parents, _)| 5 * parents.len()).sum();
        behind as u64 + self.layer.bytes() + self.scored.allocation_size() as u64
    }
}

impl<S: Copy> Layer<S> {
    /// The most promising, best first; of equals, those that were made first.
    fn best(&self, count: usize) -> Vec<NodeId> {
        let promise = |id: NodeId| self.values[id as usize] + self.hints.get(id as usize).unwrap_or(&0.0);
        let order = |a: &NodeId, b: &NodeId| promise(*a).total_cmp(&promise(*b)).then(a.cmp(b));
        let mut best: Vec<NodeId> = (0..self.states.len() as NodeId).collect();
        if best.len() > count {
            best.select_nth_unstable_by(count, order);
            best.truncate(count);
        }
        best.sort_unstable_by(order);
        best
    }

    /// These states, in this order.
    fn pick(&self, ids: &[NodeId]) -> Self {
        fn pick<T: Copy>(from: &[T], ids: &[NodeId]) -> Vec<T> {
            ids.iter().map(|&id| from[id as usize]).collect()
        }
        let moves = self.preferences.len() / self.states.len().max(1);
        let preferences = |&id: &NodeId| &self.preferences[id as usize * moves..][..moves];
        Layer {
            states: pick(&self.states, ids),
            costs: pick(&self.costs, ids),
            parents: pick(&self.parents, ids),
            moves: pick(&self.moves, ids),
            values: pick(&self.values, ids),
            hints: if self.hints.is_empty() { Vec::new() } else { pick(&self.hints, ids) },
            preferences: ids.iter().flat_map(preferences).copied().collect(),
        }
    }

    fn take_in(&mut self, estimates: Estimates) {
        self.values.extend(estimates.values);
        self.preferences.extend(estimates.preferences.into_iter().flatten());
    }

    fn bytes(&self) -> u64 {
        (self.states.capacity() * (size_of::<S>() + 13) + 4 * (self.hints.capacity() + self.preferences.capacity()))
            as u64
    }
}

/// What is hashed already.
#[derive(Default)]
struct Unhashed(u64);

impl std::hash::Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only whole hashes are stored");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
