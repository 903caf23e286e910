//! Beam search: layer by layer, keeping only the most promising states of each.
//!
//! - A step generates the children of the whole layer, drops every one that was evaluated before, evaluates the rest,
//!   and keeps the `n` of least cost-to-go as the next layer; of equals, those that were generated first.
//! - With `candidates` k, and a heuristic that has move probabilities, only the k · `n` most promising children are
//!   generated and evaluated: those of least h(parent) − c·ln p, for a move of probability p and a policy weight c. (A
//!   child that the policy head thinks improbable is hardly ever among the best.)
//! - The layer keeps those of least rank: h, and a share of the policy prior and of the parent's rank.
//! - With `symmetry_averaging`, the states near the beam's edge are evaluated a second time, as their
//!   [symmetric state](Puzzle::symmetric_state), whose errors are different, and the mean of both decides.
//! - A child is tested for the goal when it is generated, and looked up in the [`Perimeter`]; the cheapest answer of the
//!   first layer that has one ends the layers.
//! - Where there is a perimeter, a beam of an eighth of the width gives a first answer. From then on only cheaper ones are
//!   looked for. Such a one would have to pass, a known number of moves before its end, through the layer of that number:
//!   the layers end there, and the refinement begins. From the most promising children of that layer to the perimeter the
//!   moves are so few that all their descendants can be generated and looked up without evaluation: what is on the cheaper
//!   path need not stay in the beam that long. This is repeated for the next cheaper answer, until there is none.
//! - Neither complete nor optimal: what is cut off is lost. With a width that no layer exceeds it is breadth-first
//!   search, unless `candidates` are limited.
//! - Of the layers behind, each state's parent and move are kept, and of every state that was evaluated 64 bits of its
//!   hash: 5 bytes a node of the beam, and 9 to 18 an evaluated state. Two states with the same hash are taken for one,
//!   which may cost a beam one state in 10⁷ searches of a million states each.
//!
//! Lowerre, "The Harpy speech recognition system" (1976); on a learned cost-to-go, as the cube article's repository.

use super::chunk_queue::ChunkQueue;
use super::limits::Interrupt;
use super::nodes::arena::NodeId;
use super::nodes::layer::Layer;
use super::perimeter::Perimeter;
use super::settings::{Share, Weight, settings};
use super::{Answer, CHECK_EVERY, Control, End, Limit, Outcome, Progress, Search, Stats};
use crate::heuristic::{Ask, Heuristic, HeuristicError};
use crate::puzzle::{Cost, Move, Puzzle, State, replay};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::cmp::Ordering;
use std::hash::{BuildHasher as _, BuildHasherDefault};
use std::num::NonZeroUsize;

mod refinement;

/// The share of the policy prior that still counts once a child has been evaluated.
const PRIOR_WEIGHT: f32 = 0.2;

/// The share of a parent's rank that counts for its child. Estimates along a path err in different ways, and what is on no
/// short path was behind before.
const PATH_WEIGHT: f32 = 0.25;

/// The first answer comes from a beam of this share of the width.
const FIRST: usize = 8;

/// The beam of the first answer gives up after so many layers that came no nearer to the goal.
const FIRST_PATIENCE: u32 = 12;

/// Move probabilities below this count as this.
const LEAST_PROBABILITY: f32 = 1e-4;

settings! {
    /// The settings of `beam`.
    pub struct BeamSettings {
        /// The width, the number of states that a layer keeps [default: the model's own, or 24000 (on CUDA 100000) divided
        /// by the symmetric images, by 4 at most; with `candidates` 0 or without a policy head 1000 (10000)]
        n: NonZeroUsize,
        /// Children evaluated in a layer, as a multiple of its width, in the order of the move probabilities; 0 for all;
        /// needs a model with a policy head [default: 2]
        candidates: u64,
        /// The weight of −ln p, in moves, for a move of probability p [default: the model's own, or 1.5]
        policy_weight: Weight,
        /// Share of the width, on either side of the cut-off of a layer, in which states are evaluated again as their
        /// symmetric state (a cube's inverse, a board's mirror image), and the mean is taken [default: 0]
        symmetry_averaging: Share,
    }
}

/// The search `beam`.
#[derive(Debug, Clone)]
pub struct Beam<S> {
    /// The width: how many states a layer keeps, at least 1.
    pub n: usize,
    /// Children evaluated in a layer, as a multiple of the width, where the heuristic has move probabilities; 0: all.
    pub candidates: usize,
    /// c: the weight of −ln p, in moves, for a move of probability p.
    pub policy_weight: f32,
    /// How far from the beam's edge, to either side, states are evaluated again as their symmetric state, in widths.
    pub symmetry_averaging: f32,
    /// The states whose exact cost is known.
    pub perimeter: Perimeter<S>,
}

impl<S: State> Beam<S> {
    /// A beam of width `n` that evaluates all children.
    pub fn new(n: usize) -> Self {
        Beam { n, candidates: 0, policy_weight: 0.0, symmetry_averaging: 0.0, perimeter: Perimeter::none() }
    }
}

impl<S: State> Beam<S> {
    /// With settings; one that is left out has no effect.
    pub fn from_settings(settings: &BeamSettings, perimeter: Perimeter<S>) -> Self {
        Beam {
            n: settings.n.map_or(1, NonZeroUsize::get),
            candidates: usize::try_from(settings.candidates.unwrap_or(0)).unwrap_or(usize::MAX),
            policy_weight: settings.policy_weight.map_or(0.0, |weight| weight.get() as f32),
            symmetry_averaging: settings.symmetry_averaging.map_or(0.0, |share| share.get() as f32),
            perimeter,
        }
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
        let Some(first) = self.first_answer(puzzle, start, heuristic, control)? else {
            return Run::new(puzzle, self, start).outcome(heuristic, control);
        };
        let is_decided = first.proven_optimal || first.end == End::NoSolution;
        if is_decided || control.reached(|| 0).is_some() || control.too_many(first.stats.generated + 1) {
            return Ok(first);
        }
        let limits = control.limits().after(first.stats.generated);
        let mut control = control.child(&limits, first.cost, |answer| Some(answer.clone()));
        let outcome = Run::new(puzzle, self, start).outcome(heuristic, &mut control)?;
        let stats = Stats { seconds: control.seconds(), ..first.stats.and(&outcome.stats) };
        let best = if outcome.cost.is_some() || first.cost.is_none() { outcome } else { first };
        Ok(Outcome { stats, ..best })
    }
}

impl<S: State> Beam<S> {
    /// The answer of a narrower beam, where none is known and a perimeter can refine it.
    fn first_answer<P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        start: &S,
        heuristic: &mut dyn Heuristic<S>,
        control: &mut Control<'_>,
    ) -> Result<Option<Outcome>, HeuristicError> {
        if self.perimeter.is_empty() || control.bound().is_some() || self.n < FIRST {
            return Ok(None);
        }
        let narrow = Beam { n: self.n / FIRST, ..self.clone() };
        let run = Run { patience: FIRST_PATIENCE, ..Run::new(puzzle, &narrow, start) };
        run.outcome(heuristic, control).map(Some)
    }
}

/// How promising a child is, less for more; its parent, and the move.
type Promising = (f32, (NodeId, Move));

/// The more promising first; of equals, by parent and move.
fn by_promise(a: &Promising, b: &Promising) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
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
    /// Hashes of all states that were evaluated.
    evaluated: HashSet<u64, BuildHasherDefault<Unhashed>>,
    hasher: FixedState,
    stats: Stats,
    /// Whether any state was cut off.
    cut_off: bool,
    /// The least cost-to-go so far, and the path cost of the state that has it.
    least: Option<(f32, Cost)>,
    /// How many layers in succession may come no nearer to the goal, and how many have.
    patience: u32,
    stale: u32,
    best: Option<Answer>,
}

impl<'a, P: Puzzle> Run<'a, P> {
    fn new(puzzle: &'a P, settings: &'a Beam<P::State>, start: &P::State) -> Self {
        Run {
            puzzle,
            settings,
            start: *start,
            ask: if settings.candidates > 0 { Ask::ValuesAndPolicy } else { Ask::Values },
            layer: Layer { states: vec![*start], costs: vec![0], ranks: vec![0.0], ..Layer::default() },
            behind: Vec::new(),
            evaluated: HashSet::default(),
            hasher: FixedState::default(),
            stats: Stats::default(),
            cut_off: false,
            least: None,
            patience: u32::MAX,
            stale: 0,
            best: None,
        }
    }

    fn outcome(
        mut self,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        let end = self.search(heuristic, control)?;
        self.stats.stored = self.evaluated.len() as u64;
        self.stats.seconds = control.seconds();
        let (moves, cost) = self.best.map(|answer| (answer.moves, answer.cost)).unzip();
        let proven_optimal = end == End::Solved && self.stats.iterations == 0;
        Ok(Outcome { end, moves, cost, proven_optimal, stats: self.stats, proof: None })
    }

    fn search(
        &mut self,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<End, HeuristicError> {
        let start = self.start;
        self.remember(&start);
        if let Some(moves) = self.settings.perimeter.path_to_goal(self.puzzle, &start) {
            self.best = Some(Answer { cost: moves.len() as Cost, moves });
            return Ok(End::Solved);
        }
        if self.settings.candidates > 0 {
            heuristic.submit(&[start], self.ask)?;
            let estimates = heuristic.collect()?;
            self.stats.evaluated += 1;
            self.layer.take_in(estimates);
        }
        while !self.layer.states.is_empty() {
            if let Some(bound) = control.bound()
                && self.refinement_for(bound).is_some_and(|from| from.layer <= self.behind.len())
            {
                self.cut_off = true;
                self.refine(bound, heuristic, control)?;
                break;
            }
            if self.stale > self.patience {
                break;
            }
            self.stats.iterations += 1;
            match self.step(heuristic, control) {
                Ok(()) => {}
                Err(Interrupt::Limit(limit)) => return Ok(End::Limit(limit)),
                Err(Interrupt::Failed(error)) => return Err(error),
            }
            if let Some(answer) = &self.best {
                control.answer(answer);
                let bound = answer.cost;
                self.refine(bound, heuristic, control)?;
                break;
            }
        }
        Ok(match self.best {
            Some(_) => End::Solved,
            None if self.cut_off => End::Limit(Limit::Width),
            None => End::NoSolution,
        })
    }

    /// From one layer to the next, unless an answer is found.
    fn step(&mut self, heuristic: &mut dyn Heuristic<P::State>, control: &mut Control<'_>) -> Result<(), Interrupt> {
        let mut queue = ChunkQueue::new(heuristic, self.ask);
        let children = match self.generate(&mut queue, control) {
            Err(Interrupt::Limit(limit)) if self.best.is_none() => {
                queue.discard()?;
                return Err(limit.into());
            }
            // An answer that was found before the limit is one.
            Err(Interrupt::Limit(_)) => {
                queue.discard()?;
                return Ok(());
            }
            children => children?,
        };
        if self.best.is_none() {
            let children = self.average_symmetric(children, heuristic, control)?;
            self.keep_best(children);
        }
        Ok(())
    }

    /// Generates the layer's children and has them evaluated, while the next are generated where the heuristic can.
    fn generate(
        &mut self,
        queue: &mut ChunkQueue<'_, P::State>,
        control: &mut Control<'_>,
    ) -> Result<Layer<P::State>, Interrupt> {
        let mut children = Layer::default();
        for (i, (parent, action)) in self.candidates().into_iter().enumerate() {
            if i.is_multiple_of(CHECK_EVERY as usize) {
                self.stats.stored = self.evaluated.len() as u64;
                self.report(control);
                if let Some(limit) = control.reached(|| self.bytes() + children.bytes()) {
                    return Err(limit.into());
                }
            }
            if control.too_many(self.stats.generated + 1) {
                return Err(Limit::Nodes.into());
            }
            let state = self.layer.states[parent as usize];
            let Some(child) = self.puzzle.apply(&state, action) else { continue };
            self.stats.generated += 1;
            let cost = self.layer.costs[parent as usize] + self.puzzle.move_cost(&state, action);
            let rest = if self.puzzle.is_goal(&child) {
                Some(0)
            } else {
                self.settings.perimeter.cost_on_rim(self.puzzle, &child)
            };
            if let Some(rest) = rest {
                self.take_answer(parent, action, &child, cost + rest);
            }
            // An answer ends the layers: nothing is worth an evaluation any more.
            if self.best.is_some() || !self.remember(&child) {
                continue;
            }
            let id = children.states.len() as NodeId;
            children.states.push(child);
            children.costs.push(cost);
            children.parents.push(parent);
            children.moves.push(action);
            let prior = self.policy_prior(&self.layer, parent, action).unwrap_or(0.0);
            children.priors.push(PRIOR_WEIGHT * prior + PATH_WEIGHT * self.layer.ranks[parent as usize]);
            queue.add(id, &child);
            queue.advance(&mut self.stats.evaluated, |estimates| children.take_in(estimates))?;
        }
        if self.best.is_some() {
            queue.discard()?;
        } else {
            queue.finish(&mut self.stats.evaluated, |estimates| children.take_in(estimates))?;
        }
        Ok(children)
    }

    /// The children that are worth an evaluation, by parent and move, in that order.
    fn candidates(&mut self) -> Vec<(NodeId, Move)> {
        let layer = &self.layer;
        self.stats.expanded += layer.states.len() as u64;
        let room = self.settings.candidates.saturating_mul(self.settings.n.max(1));
        if room >= layer.policy.len() {
            return self.all_children(layer).collect();
        }
        self.cut_off = true;
        let mut chosen: Vec<_> = self.promising(layer, room).into_iter().map(|(_, child)| child).collect();
        chosen.sort_unstable();
        chosen
    }

    fn all_children(&self, layer: &Layer<P::State>) -> impl Iterator<Item = (NodeId, Move)> + use<P> {
        let moves = self.puzzle.move_count() as Move;
        (0..layer.states.len() as NodeId).flat_map(move |parent| (0..moves).map(move |action| (parent, action)))
    }

    /// The most promising children of a layer that has move probabilities, in no order, and how promising each is.
    fn promising(&self, layer: &Layer<P::State>, count: usize) -> Vec<Promising> {
        let rank = |(parent, action): (NodeId, Move)| {
            let prior = self.policy_prior(layer, parent, action).unwrap_or(0.0);
            (layer.values[parent as usize] + prior, (parent, action))
        };
        let mut ranked: Vec<_> = self.all_children(layer).map(rank).collect();
        if ranked.len() > count {
            ranked.select_nth_unstable_by(count, by_promise);
            ranked.truncate(count);
        }
        ranked
    }

    /// The policy prior of a child, in moves: −c·ln p, where its parent has move probabilities.
    fn policy_prior(&self, layer: &Layer<P::State>, parent: NodeId, action: Move) -> Option<f32> {
        let p = layer.policy.get(parent as usize * self.puzzle.move_count() + action as usize)?;
        Some(-self.settings.policy_weight * p.max(LEAST_PROBABILITY).ln())
    }

    /// Evaluates the children near the beam's edge again, as their symmetric state, and takes the means; what is beyond
    /// is cut off.
    fn average_symmetric(
        &mut self,
        children: Layer<P::State>,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Layer<P::State>, Interrupt> {
        let width = self.settings.n.max(1);
        let aside = (width as f32 * self.settings.symmetry_averaging) as usize;
        if aside == 0 || children.states.len() <= width {
            return Ok(children);
        }
        let best = children.best(width.saturating_add(aside));
        let near = width.saturating_sub(aside)..best.len();
        let image = |&id: &NodeId| self.puzzle.symmetric_state(&children.states[id as usize]);
        let Some(images) = best[near.clone()].iter().map(image).collect::<Option<Vec<_>>>() else {
            return Ok(children);
        };
        self.cut_off |= best.len() < children.states.len();
        let mut chosen = children.pick(&best);
        drop(children);
        let mut values = Vec::with_capacity(images.len());
        let mut queue = ChunkQueue::new(heuristic, Ask::Values);
        for (i, image) in images.iter().enumerate() {
            if i.is_multiple_of(CHECK_EVERY as usize)
                && let Some(limit) = control.reached(|| self.bytes() + chosen.bytes())
            {
                queue.discard()?;
                return Err(limit.into());
            }
            queue.add(0, image);
            queue.advance(&mut self.stats.evaluated, |estimates| values.extend(estimates.values))?;
        }
        queue.finish(&mut self.stats.evaluated, |estimates| values.extend(estimates.values))?;
        for (value, other) in chosen.values[near].iter_mut().zip(values) {
            *value = 0.5 * (*value + other);
        }
        Ok(chosen)
    }

    /// Keeps the best children as the next layer.
    fn keep_best(&mut self, children: Layer<P::State>) {
        let best = children.best(self.settings.n.max(1));
        self.cut_off |= best.len() < children.states.len();
        let Layer { states, costs, parents, moves, values, ranks, policy, .. } = children.pick(&best);
        self.behind.push((parents, moves));
        let nearest = values.iter().copied().zip(costs.iter().copied()).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(nearest) = nearest
            && self.least.is_none_or(|least| nearest.0 < least.0)
        {
            self.least = Some(nearest);
            self.stale = 0;
        } else {
            self.stale = self.stale.saturating_add(1);
        }
        self.layer = Layer { states, costs, values, ranks, policy, ..Layer::default() };
    }

    /// Takes an answer, if it is the cheapest so far.
    fn take_answer(&mut self, parent: NodeId, action: Move, child: &P::State, cost: Cost) {
        if self.best.as_ref().is_some_and(|best| best.cost <= cost) {
            return;
        }
        let Some(rest) = self.settings.perimeter.path_to_goal(self.puzzle, child) else { return };
        let mut moves = self.path_to(self.behind.len(), parent as usize);
        moves.push(action);
        moves.extend(rest);
        self.best = Some(Answer { moves, cost });
    }

    /// The moves from the start to a state of a layer.
    fn path_to(&self, layer: usize, mut at: usize) -> Vec<Move> {
        let mut moves = Vec::with_capacity(layer);
        for (parents, actions) in self.behind[..layer].iter().rev() {
            moves.push(actions[at]);
            at = parents[at] as usize;
        }
        moves.reverse();
        moves
    }

    fn report(&self, control: &mut Control<'_>) {
        let stats = Stats { seconds: control.seconds(), ..self.stats };
        control.report(&Progress { stats, best: self.least, least_f: None, proof: None });
    }

    /// Whether a state is new.
    fn remember(&mut self, state: &P::State) -> bool {
        self.evaluated.insert(self.hasher.hash_one(state))
    }

    fn bytes(&self) -> u64 {
        let behind: usize = self.behind.iter().map(|(parents, _)| 5 * parents.len()).sum();
        behind as u64 + self.layer.bytes() + self.evaluated.allocation_size() as u64
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
