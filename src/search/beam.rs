//! Beam search: layer by layer, keeping only the most promising states of each.
//!
//! - A step generates the children of the whole layer, drops every child that was evaluated before, evaluates the rest, and
//!   keeps the `n` of least score as the next layer. The score is h plus a share of the policy prior and of the parent's score.
//! - With `candidates` k, and a heuristic with move probabilities, only the k · `n` most promising children are generated and
//!   evaluated: those of least h(parent) − c·ln p, for a move of probability p and a policy weight c, of all states that were
//!   not evaluated before.
//! - A child is tested for the goal when it is generated, and looked up in the [`Perimeter`]. The first layer with a solution
//!   is the last; its cheapest solution counts.
//! - With a perimeter, a beam of an eighth of the width gives a first solution. From then on, only cheaper ones count. A
//!   cheaper solution would pass through a certain layer, a known number of moves before its end: the layers end there, and the
//!   refinement begins. It generates all descendants of that layer's most promising children down to the perimeter, which is
//!   near, and looks them up without evaluation: so a cheaper path need not survive in the beam until then. This repeats for
//!   each cheaper solution, until none is found or the proof after the search would be quicker.
//! - Neither complete nor optimal: what is cut off is lost. With a width that no layer exceeds, it is breadth-first search,
//!   unless `candidates` are limited. A beam that has cut states off gives up after 1000 layers without progress.
//! - Memory: 5 bytes a node of earlier layers (parent and move), and 10 to 20 bytes an evaluated state (64 bits of its hash).
//!   Two states with equal hashes count as one, which may cost a beam one state in 10⁷ searches of a million states each.
//! - Several processes (ranks) may share a beam; each owns the states with certain hashes. Children are sent to the rank that
//!   owns their state, and the cut is made by one histogram over all ranks. Ties go to the smaller hash: the solution does not
//!   depend on the number of ranks or threads, as long as an estimate does not depend on the other states of its chunk.
//!
//! | file | content |
//! | --- | --- |
//! | `layer` | the states of a layer, a column a property |
//! | `candidates` | the children that are evaluated at all, by the move probabilities |
//! | `offspring` | the children of a layer, and the solutions among them |
//! | `cut` | which states are among the best of all ranks |
//! | `refinement` | the exhaustive search for a cheaper solution, from a layer into the perimeter |
//! | `ranks`, `messages` | agreement of the ranks that share a beam, and the states that they send each other |
//! | `on_device` | a step of a beam whose layers lie on a device |
//!
//! Lowerre, "The Harpy speech recognition system" (1976); on a learned cost-to-go, as in the repository of DeepCubeA
//! (Agostinelli et al. 2019).

use super::children::Hashes;
use super::chunk_queue::ChunkQueue;
use super::device::DeviceEngine;
use super::limits::{Interrupt, stop_at, unless_failed};
use super::nodes::{BackPointers, NodeId};
use super::perimeter::Perimeter;
use super::{Control, End, Incumbent, Limit, Progress, Search, SearchResult, Stats, Task};
use crate::error::Result;
use crate::exchange::Exchange;
use crate::heuristic::Query;
use crate::memory;
use crate::puzzle::{Cost, Puzzle, State};
use crate::workers::{GRAIN, extend, in_ranges};
use candidates::Candidates;
use cut::{cut, sorted};
use layer::BeamLayer;
use offspring::hashes;
use ranks::LayerSolution;
use std::ops::Range;
use std::sync::Arc;

mod candidates;
mod cut;
mod layer;
mod messages;
mod offspring;
mod on_device;
mod ranks;
mod refinement;

/// The share of the policy prior in the score of an evaluated child.
const PRIOR_WEIGHT: f32 = 0.2;

/// The share of the parent's score in the score of a child. Errors along a path partly cancel, so the parent's score carries
/// information.
const PATH_WEIGHT: f32 = 0.25;

/// The first solution comes from a beam of the width divided by this.
const FIRST_WIDTH_DIVISOR: usize = 8;

/// The beam of the first solution gives up after this many layers that come no nearer to the goal.
const FIRST_MAX_STALE_LAYERS: u32 = 12;

/// A beam that has cut states off gives up after this many layers that come no nearer to the goal. Nearly every layer of a
/// large puzzle has new states, so that a narrow beam that has lost its way would wander until another limit.
const MAX_STALE_LAYERS: u32 = 1000;

/// Size of each rank's table of evaluated hashes, in slots of 8 bytes, for a beam on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashSlots {
    /// Given by the user.
    Exactly(u64),
    /// As many as the width needs, and at most this many.
    UpTo(u64),
}

impl HashSlots {
    /// The slots of one of several ranks that share a beam of a width.
    fn on_rank(self, n: usize, ranks: usize) -> u64 {
        /// For each state of the width: a search rarely has more layers than half of this.
        const EACH: u64 = 256;
        match self {
            HashSlots::Exactly(slots) => slots,
            HashSlots::UpTo(most) => {
                let all = (n.div_ceil(ranks) as u64).saturating_mul(EACH);
                all.checked_next_power_of_two().unwrap_or(u64::MAX).min(most)
            }
        }
    }
}

/// Bounds of the number of children generated before evaluation, roughly; the lower one applies if the heuristic evaluates
/// meanwhile.
const MAX_BLOCK: usize = 1 << 17;
const MIN_BLOCK: usize = 1 << 15;

/// The search `beam`.
#[derive(Debug, Clone)]
pub struct Beam<S> {
    /// The width, the number of states that a layer keeps; at least 1.
    pub n: usize,
    /// Children evaluated in a layer, as a multiple of the width, if the heuristic has move probabilities; 0: all.
    pub candidates: usize,
    /// c: the weight of −ln p, in moves, for a move of probability p.
    pub policy_weight: f32,
    /// The states with known exact cost.
    pub perimeter: Perimeter<S>,
    /// The device that holds the layers; `None`: host memory; the heuristic gets the states in chunks.
    pub device: Option<Arc<DeviceEngine>>,
    /// The size of the device's table of evaluated states.
    pub hash_slots: HashSlots,
}

impl<S: State> Beam<S> {
    /// A beam of width `n` that evaluates all children.
    pub fn new(n: usize) -> Self {
        Beam {
            n,
            candidates: 0,
            policy_weight: 0.0,
            perimeter: Perimeter::none(),
            device: None,
            hash_slots: HashSlots::UpTo(u64::MAX),
        }
    }
}

impl<P: Puzzle> Search<P> for Beam<P::State> {
    fn solve(&self, mut task: Task<'_, '_, P>) -> Result<SearchResult> {
        if self.perimeter.is_empty() || task.control.bound.is_some() || self.n < FIRST_WIDTH_DIVISOR {
            return BeamRun::run(self, false, task.again());
        }
        // A narrower beam, which the perimeter refines, gives a bound.
        let narrow = Beam { n: self.n / FIRST_WIDTH_DIVISOR, ..self.clone() };
        let first = BeamRun::run(&narrow, true, task.again())?;
        let Task { puzzle, start, heuristic, control } = task;
        let is_decided = first.proven_optimal || first.end == End::NoSolution || control.is_good_enough(first.cost);
        if is_decided || control.too_many(first.stats.generated + 1) || control.agreed()?.is_some() {
            return Ok(first);
        }
        let limits = control.limits.after(first.stats.generated);
        let control = &mut control.child(&limits, first.cost, |incumbent| Some(incumbent.clone()));
        let result = BeamRun::run(self, false, Task { puzzle, start, heuristic, control })?;
        let stats = first.stats.and(&result.stats);
        let best = if result.cost.is_some() || first.cost.is_none() { result } else { first };
        Ok(SearchResult { stats, ..best })
    }
}

/// A running beam, as one rank has it.
struct BeamRun<'a, P: Puzzle> {
    puzzle: &'a P,
    settings: &'a Beam<P::State>,
    start: P::State,
    queue: ChunkQueue<'a, P::State>,
    exchange: &'a dyn Exchange,
    threads: usize,
    /// Whether this is the narrow beam of the first solution.
    is_first: bool,
    /// The part of the layer that this rank owns.
    layer: BeamLayer<P::State>,
    /// Reused memory of the next layer's children, and of children that are generated together: allocating it anew would cost
    /// more than the work on it.
    layer_buffer: BeamLayer<P::State>,
    offspring_buffers: Vec<BeamLayer<P::State>>,
    /// The length of the last layer on this rank, and the number of its new children.
    last_yield: (usize, usize),
    /// The length of the layer on all ranks.
    width: u64,
    /// Back pointers of each layer; those of the current one are perhaps on the way from the device.
    back_pointers: Vec<BackPointers>,
    /// The hashes of all evaluated states.
    evaluated: Hashes,
    stats: Stats,
    /// Whether any state was cut off.
    cut_off: bool,
    /// The least cost-to-go so far, and the path cost of its state.
    nearest: Option<(f32, Cost)>,
    /// Layers in succession that came no nearer to the goal.
    stale_layers: u32,
    /// This rank's best solution in the layer that is being generated.
    solution: Option<LayerSolution>,
    best: Option<Incumbent>,
}

impl<'a, P: Puzzle> BeamRun<'a, P> {
    /// Runs a beam; `is_first` tells whether it is the narrow one of the first solution.
    fn run(
        settings: &'a Beam<P::State>,
        is_first: bool,
        Task { puzzle, start, heuristic, control }: Task<'a, '_, P>,
    ) -> Result<SearchResult> {
        memory::keep_freed();
        let has_policy = settings.candidates > 0 && heuristic.has_policy();
        let query = if has_policy { Query::ValuesAndPolicy } else { Query::Values };
        let mut run = BeamRun {
            puzzle,
            settings,
            start: *start,
            queue: ChunkQueue::new(heuristic, query),
            exchange: control.exchange,
            threads: control.threads,
            is_first,
            layer: BeamLayer::default(),
            layer_buffer: BeamLayer::default(),
            offspring_buffers: Vec::new(),
            last_yield: (0, 0),
            width: 1,
            back_pointers: Vec::new(),
            evaluated: Hashes::default(),
            stats: Stats::default(),
            cut_off: false,
            nearest: None,
            stale_layers: 0,
            solution: None,
            best: None,
        };
        let end = run.search(control)?;
        if settings.device.is_none() {
            run.stats.stored = run.evaluated.len();
        }
        let stats = run.stats_of_all()?;
        Ok(SearchResult::new(end, run.best, stats.iterations == 0, stats))
    }

    fn search(&mut self, control: &mut Control<'_>) -> Result<End> {
        if let Some(moves) = self.settings.perimeter.path_to_goal(self.puzzle, &self.start) {
            self.best = Some(Incumbent { cost: moves.len() as Cost, moves });
            return Ok(End::Solved);
        }
        let mut on_device = match &self.settings.device {
            Some(engine) => Some(self.begin_on_device(engine)?),
            None => {
                self.begin()?;
                None
            }
        };
        while self.width > 0 {
            if let Some(bound) = control.bound
                && self.refinement_for(bound).is_some_and(|from| from.layer <= self.depth())
            {
                self.cut_off = true;
                if let Some(layers) = &mut on_device {
                    layers.end_download(&mut self.back_pointers)?;
                }
                self.refine(bound, control)?;
                break;
            }
            if self.is_stale() || control.bound.is_some_and(|bound| self.is_beyond(bound)) {
                self.cut_off = true; // the rest of the layer is not expanded
                break;
            }
            self.stats.iterations += 1;
            let step = match &mut on_device {
                Some(layers) => self.step_on_device(layers, control).map_err(|error| layers.with_fitting_width(error)),
                None => self.step(control),
            };
            if let Err(limit) = unless_failed(step)? {
                return Ok(End::Limit(limit));
            }
            if let Some(best) = &self.best {
                control.report_incumbent(best);
                let bound = best.cost;
                self.refine(bound, control)?;
                break;
            }
        }
        Ok(match self.best {
            Some(_) => End::Solved,
            None if self.cut_off => End::Limit(Limit::Width),
            None => End::NoSolution,
        })
    }

    /// The number of moves from the start to the states of the layer.
    fn depth(&self) -> usize {
        self.stats.iterations as usize
    }

    /// True if too many layers came no nearer to the goal, so that the beam gives up. As long as nothing was cut off, a whole
    /// beam is a breadth-first search, and continues.
    fn is_stale(&self) -> bool {
        if self.is_first {
            self.stale_layers > FIRST_MAX_STALE_LAYERS
        } else {
            // A device may forget evaluated states, and go round in circles.
            (self.cut_off || self.settings.device.is_some()) && self.stale_layers > MAX_STALE_LAYERS
        }
    }

    /// True if every solution of a later layer costs at least `bound`.
    fn is_beyond(&self, bound: Cost) -> bool {
        match self.settings.device {
            // There, every move costs 1.
            Some(_) => self.depth() as Cost >= bound,
            // The layer of one rank says nothing of the others.
            None => self.exchange.is_alone() && self.layer.costs.iter().all(|&cost| cost >= bound),
        }
    }

    /// Makes the first layer: the start, on the rank that owns it.
    fn begin(&mut self) -> Result<()> {
        let hash = self.puzzle.state_hash(&self.start);
        if self.exchange.owner(hash) == self.exchange.rank() {
            self.evaluated.insert(hash);
            self.layer = self.layer_of(vec![self.start])?;
        }
        Ok(())
    }

    /// States as a layer without costs or scores; evaluated, if move probabilities are used.
    fn layer_of(&mut self, states: Vec<P::State>) -> Result<BeamLayer<P::State>> {
        let hashes = states.iter().map(|state| self.puzzle.state_hash(state)).collect();
        let (costs, scores) = (vec![0; states.len()], vec![0.0; states.len()]);
        let mut layer = BeamLayer { states, hashes, costs, scores, ..BeamLayer::default() };
        if self.queue.query == Query::ValuesAndPolicy {
            self.evaluate_rest(&mut layer)?;
        }
        Ok(layer)
    }

    /// Goes from one layer to the next, unless a solution is found.
    fn step(&mut self, control: &mut Control<'_>) -> Result<(), Interrupt> {
        // Before the allocations, which would end the program if the address space is limited.
        if self.exchange.is_alone() {
            stop_at(control.reached(&|| self.bytes() + Candidates::bytes_for(self.layer.policy.len())))?;
        }
        let candidates = self.candidates(&self.layer, self.settings.candidates, true)?;
        self.cut_off |= candidates.last.is_some();
        let mut children = std::mem::take(&mut self.layer_buffer);
        let policy = if self.queue.query == Query::ValuesAndPolicy { self.puzzle.move_count() } else { 0 };
        let likely = self.likely_children(&candidates);
        let children_bytes = BeamLayer::<P::State>::bytes_for(likely, policy);
        let mut limit = control.reached(&|| self.bytes() + candidates.bytes() + children_bytes);
        children.reset_with_estimates(if limit.is_none() { likely } else { 0 }, policy);
        let evaluates_meanwhile = self.queue.max_in_flight > 0;
        let block = if evaluates_meanwhile { self.queue.chunk.clamp(MIN_BLOCK, MAX_BLOCK) } else { MAX_BLOCK };
        for parents in self.blocks(block, &candidates)? {
            let parents = if limit.is_some() { 0..0 } else { parents };
            let step = self.generate(parents, &candidates, &mut children, control);
            limit = unless_failed(step)?.err().or(limit);
            // Other ranks still expect messages of this one.
            if limit.is_some() && self.exchange.is_alone() {
                break;
            }
        }
        drop(candidates);
        if limit.is_none() && self.solution.is_none() {
            self.evaluate_rest(&mut children)?;
        } else {
            self.queue.discard();
        }
        self.agree(limit, control)?;
        self.last_yield = (self.layer.len(), children.len());
        if self.best.is_none() {
            self.keep_best(children)?;
        }
        Ok(())
    }

    /// Generates children, and submits the new ones for evaluation.
    fn generate(
        &mut self,
        parents: Range<usize>,
        candidates: &Candidates,
        children: &mut BeamLayer<P::State>,
        control: &mut Control<'_>,
    ) -> Result<(), Interrupt> {
        let mut reached = self.reached(children, candidates, control);
        let parents = if reached.is_some() { 0..0 } else { parents };
        self.stats.expanded += parents.len() as u64;
        let buffers = std::mem::take(&mut self.offspring_buffers);
        let (is_shared, layer) = (!self.exchange.is_alone(), &self.layer);
        let key = |i: usize, _| is_shared.then(|| layer.key(i));
        let mut made = self.make(layer, parents, candidates, buffers, key);
        let mut budget = if self.exchange.is_alone() { control.nodes_left(self.stats.generated) } else { u64::MAX };
        for piece in &mut made {
            if piece.len() as u64 > budget {
                reached = reached.or(Some(Limit::Nodes));
                piece.truncate(budget as usize);
            }
            budget -= piece.len() as u64;
            self.stats.generated += piece.len() as u64;
        }
        self.take_goals(&made);
        let made = self.exchanged(made)?;
        let fresh = self.evaluated.insert_all(self.threads, &hashes(&made));
        self.look_up(&made, &fresh);
        stop_at(reached)?;
        if self.solution.is_some() {
            return Ok(()); // the layers end: no child is worth an evaluation
        }
        let fresh: Vec<_> = made.iter().zip(&fresh).map(|(made, fresh)| (made, fresh.as_slice())).collect();
        children.add_children(self.threads, &fresh);
        self.offspring_buffers = made;
        while self.queue.is_full(&children.states) {
            stop_at(self.reached(children, candidates, control))?;
            if let Some(estimates) = self.queue.advance(&children.states, &mut self.stats.evaluated)? {
                children.add_estimates(self.threads, estimates);
            }
        }
        Ok(())
    }

    /// Evaluates the states of a layer that are not submitted yet, and collects all estimates.
    fn evaluate_rest(&mut self, layer: &mut BeamLayer<P::State>) -> Result<()> {
        while let Some(estimates) = self.queue.finish(&layer.states, &mut self.stats.evaluated)? {
            layer.add_estimates(self.threads, estimates);
        }
        Ok(())
    }

    /// Reports progress, and checks the limits.
    fn reached(
        &mut self,
        children: &BeamLayer<P::State>,
        candidates: &Candidates,
        control: &mut Control<'_>,
    ) -> Option<Limit> {
        self.stats.stored = self.evaluated.len();
        self.report(control);
        control.reached(&|| self.bytes() + candidates.bytes() + children.bytes())
    }

    /// Keeps the best children as the next layer.
    fn keep_best(&mut self, mut children: BeamLayer<P::State>) -> Result<()> {
        let mut scores = Vec::new();
        let score = |i: usize| children.values[i] + children.priors[i];
        extend(self.threads, &mut scores, children.len(), GRAIN, score);
        children.scores = scores;
        let key = |i: usize| children.key(i);
        let last = cut(self.exchange, self.threads, self.settings.n.max(1) as u64, children.len(), key)?;
        let best = sorted(self.threads, children.len(), last, key);
        self.cut_off |= last.is_some();
        let mut layer = children.pick(self.threads, &best);
        self.layer_buffer = children;
        self.back_pointers.push(BackPointers {
            parents: std::mem::take(&mut layer.parents),
            owners: std::mem::take(&mut layer.owners),
            moves: std::mem::take(&mut layer.moves),
        });
        let nearest_of = |range: Range<usize>| range.map(|i| (layer.values[i], layer.costs[i])).min_by(nearer);
        let nearest = in_ranges(self.threads, layer.len(), GRAIN, nearest_of).into_iter().flatten().min_by(nearer);
        self.layer = layer;
        self.note_layer(self.layer.len() as u64, nearest)
    }

    /// Notes the next layer's length, least cost-to-go and that state's path cost on all ranks, from this rank's part.
    fn note_layer(&mut self, width: u64, nearest: Option<(f32, Cost)>) -> Result<()> {
        let layers = self.exchange.gather((width, nearest))?;
        self.width = layers.iter().map(|(width, _)| width).sum();
        if let Some(nearest) = layers.into_iter().filter_map(|(_, nearest)| nearest).min_by(nearer)
            && self.nearest.is_none_or(|before| nearest.0 < before.0)
        {
            self.nearest = Some(nearest);
            self.stale_layers = 0;
        } else {
            self.stale_layers = self.stale_layers.saturating_add(1);
        }
        Ok(())
    }

    fn report(&self, control: &mut Control<'_>) {
        control.report(&Progress { stats: self.stats, best: self.nearest, least_f: None, proof: None });
    }

    /// Memory in use, in bytes.
    fn bytes(&self) -> u64 {
        let each = |pointers: &BackPointers| 5 * pointers.parents.len() + 2 * pointers.owners.len();
        let back_pointers = self.back_pointers.iter().map(each).sum::<usize>() as u64;
        let buffers: u64 = self.offspring_buffers.iter().map(BeamLayer::bytes).sum();
        back_pointers + self.layer.bytes() + self.layer_buffer.bytes() + buffers + self.evaluated.bytes()
    }
}

/// Orders by cost-to-go, then by path cost.
fn nearer(a: &(f32, Cost), b: &(f32, Cost)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}
