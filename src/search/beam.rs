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
//!   layer that has one ends the layers.
//! - Then comes a last look. A cheaper answer would have to pass, so many moves before its end, through the layer of that
//!   number: and so few moves before the endgame's edge, all that can come of all states of the layer can be made and
//!   looked up, without a score: a state on the way need not have stayed in the beam that long. The next cheaper answer
//!   is looked for in the same way, until there is none. Where an answer is known from elsewhere (another
//!   [view](super::views)), the layers end where the last look begins.
//! - Neither complete nor optimal: what falls out of the beam is gone. With a width that no layer exceeds it is
//!   breadth-first search, unless there is a shortlist.
//! - Of a layer that is left behind, each state's parent and move are kept, and of every state that was scored 64 bits
//!   of its hash, not to make it again: 5 bytes a node of the beam, and 9 to 18 a scored one. Two states of one hash
//!   are taken for one, which may cost a beam one state in 10⁷ searches of a million states each.
//!
//! Lowerre, "The Harpy speech recognition system" (1976); on a learned cost-to-go, as the cube article's repository.

use super::arena::NodeId;
use super::endgame::Endgame;
use super::layer::Layer;
use super::look::{Sight, most_moves};
use super::scoring::Scoring;
use super::{Answer, Control, End, LOOK_EVERY, Limit, Outcome, Progress, Search, Stats};
use crate::heuristic::{Ask, Heuristic, HeuristicError};
use crate::puzzle::{Cost, Move, Puzzle, State, replay};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault};
use std::thread;

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

impl<P: Puzzle> Run<'_, P> {
    fn search(
        &mut self,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<End, HeuristicError> {
        let start = self.start;
        self.remember(&start);
        if let Some(moves) = self.settings.endgame.way_home(self.puzzle, &start) {
            self.best = Some(Answer { cost: moves.len() as Cost, moves });
            return Ok(End::Solved);
        }
        if self.settings.shortlist > 0 {
            heuristic.submit(&[start], self.ask)?;
            let estimates = heuristic.collect()?;
            self.stats.evaluated += 1;
            self.layer.take_in(estimates);
        }
        while !self.layer.states.is_empty() {
            if let Some(bound) = control.bound
                && self.last_look_for(bound).is_some_and(|(layer, _)| layer <= self.behind.len())
            {
                self.fell_out = true;
                self.look(bound, control);
                break;
            }
            self.stats.iterations += 1;
            let limit = self.step(heuristic, control)?;
            if let Some(answer) = &self.best {
                control.answer(answer);
                self.look(answer.cost, control);
                break;
            }
            if let Some(limit) = limit {
                return Ok(End::Limit(limit));
            }
        }
        Ok(match self.best {
            Some(_) => End::Solved,
            None if self.fell_out => End::Limit(Limit::Width),
            None => End::NoSolution,
        })
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
                self.report(control);
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
        let Some(home) = self.settings.endgame.way_home(self.puzzle, child) else { return };
        let mut moves = self.way_to(self.behind.len(), parent as usize);
        moves.push(action);
        moves.extend(home);
        self.best = Some(Answer { moves, cost });
    }

    /// The moves from the start to a state of a layer.
    fn way_to(&self, layer: usize, mut at: usize) -> Vec<Move> {
        let mut moves = Vec::with_capacity(layer);
        for (parents, actions) in self.behind[..layer].iter().rev() {
            moves.push(actions[at]);
            at = parents[at] as usize;
        }
        moves.reverse();
        moves
    }

    /// The states of a layer, made again.
    fn states_of(&self, layer: usize) -> Vec<P::State> {
        let mut states = vec![self.start];
        for (parents, actions) in &self.behind[..layer] {
            let made = |(&parent, &action): (&NodeId, &Move)| {
                self.puzzle.apply(&states[parent as usize], action).expect("the move was legal before")
            };
            states = parents.iter().zip(actions).map(made).collect();
        }
        states
    }

    /// Where the last look for an answer that costs less than `bound` begins: the layer, and how many moves it goes on.
    fn last_look_for(&self, bound: Cost) -> Option<(usize, usize)> {
        let endgame = &self.settings.endgame;
        let before_endgame = bound.checked_sub(endgame.step() + endgame.depth())? as usize;
        let moves = before_endgame.min(most_moves(endgame));
        (!endgame.is_empty()).then_some((before_endgame - moves, moves))
    }

    /// Looks for cheaper answers without scores, from layers that are there, until there is none.
    fn look(&mut self, mut bound: Cost, control: &mut Control<'_>) {
        while let Some((layer, moves)) = self.last_look_for(bound)
            && layer <= self.behind.len()
            && let Some(answer) = self.look_from(layer, moves, control)
            && answer.cost < bound
        {
            bound = answer.cost;
            control.answer(&answer);
            self.best = Some(answer);
        }
    }

    /// The first way into the endgame in exactly so many moves from a layer's states; `None` also at a limit.
    fn look_from(&mut self, layer: usize, moves: usize, control: &mut Control<'_>) -> Option<Answer> {
        const AT_ONCE: usize = 256;
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        let states = self.states_of(layer);
        let mut sights: Vec<Sight<P::State>> = (0..cores).map(|_| Sight::default()).collect();
        for (batch, states) in states.chunks(AT_ONCE * cores).enumerate() {
            self.report(control);
            if control.reached(|| self.bytes()).is_some() || control.too_many(self.stats.generated) {
                return None;
            }
            let (puzzle, endgame) = (self.puzzle, &self.settings.endgame);
            thread::scope(|scope| {
                for (states, sight) in states.chunks(AT_ONCE).zip(&mut sights) {
                    scope.spawn(move || sight.look(puzzle, endgame, states, moves));
                }
            });
            self.stats.generated += sights.iter_mut().map(|sight| std::mem::take(&mut sight.made)).sum::<u64>();
            let found = sights.iter_mut().map(|sight| sight.found.take()).enumerate();
            if let Some((share, (at, way))) = found.filter_map(|(i, found)| Some((i, found?))).next() {
                let mut moves = self.way_to(layer, (batch * cores + share) * AT_ONCE + at);
                moves.extend(way);
                let (_, cost) = replay(self.puzzle, &self.start, &moves).ok()?;
                return Some(Answer { moves, cost });
            }
        }
        None
    }

    fn report(&self, control: &mut Control<'_>) {
        let stats = Stats { seconds: control.seconds(), ..self.stats };
        control.report(&Progress { stats, best: self.least, least_f: None });
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
