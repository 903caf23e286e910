//! Beam search: layer by layer, keeping only the most promising states of each.
//!
//! - A step generates the children of the whole layer, drops every one that was evaluated before, evaluates the rest,
//!   and keeps the `n` of least cost-to-go as the next layer.
//! - With `candidates` k, and a heuristic that has move probabilities, only the k · `n` most promising children are
//!   generated and evaluated: those of least h(parent) − c·ln p, for a move of probability p and a policy weight c. (A
//!   child that the policy head thinks improbable is hardly ever among the best.)
//! - The layer keeps those of least rank: h, and a share of the policy prior and of the parent's rank.
//! - A child is tested for the goal when it is generated, and looked up in the [`Perimeter`]; the cheapest answer of the
//!   first layer that has one ends the layers.
//! - Where there is a perimeter, a beam of an eighth of the width gives a first answer. From then on only cheaper ones are
//!   looked for. Such a one would have to pass, a known number of moves before its end, through the layer of that number:
//!   the layers end there, and the refinement begins. From the most promising children of that layer to the perimeter the
//!   moves are so few that all their descendants can be generated and looked up without evaluation: what is on the cheaper
//!   path need not stay in the beam that long. This is repeated for the next cheaper answer, until there is none, or until
//!   an answer is so cheap that what follows the search proves it, or finds a cheaper one, in less time.
//! - Neither complete nor optimal: what is cut off is lost. With a width that no layer exceeds it is breadth-first
//!   search, unless `candidates` are limited.
//! - Of the layers behind, each state's parent and move are kept, and of every state that was evaluated 64 bits of its
//!   hash: 5 bytes a node of the beam, and 10 to 20 an evaluated state. Two states with the same hash are taken for one,
//!   which may cost a beam one state in 10⁷ searches of a million states each.
//! - Several processes (ranks) may share a beam, each with the states whose hash falls to it. The children travel to the
//!   rank of their state, and the cut is by one histogram of all ranks. Of equals, the one with the least hash comes
//!   first: the answer does not depend on the number of ranks, nor on that of threads, as long as an estimate does not
//!   depend on the states that are evaluated with it.
//!
//! Lowerre, "The Harpy speech recognition system" (1976); on a learned cost-to-go, as the cube article's repository.

use super::children::Hashes;
use super::chunk_queue::ChunkQueue;
use super::exchange::Exchange;
use super::limits::Interrupt;
use super::nodes::arena::NodeId;
use super::nodes::layer::Layer;
use super::perimeter::Perimeter;
use super::{Control, End, Incumbent, Limit, Progress, Search, SearchResult, Stats};
use crate::heuristic::{Heuristic, HeuristicError, Query};
use crate::memory;
use crate::puzzle::{Cost, Move, Puzzle, State, replay};
use crate::workers::{extend, in_ranges};
use cut::{Key, cut, sorted};
use foldhash::fast::FixedState;
use offspring::{Found, Made, hashes};
use serde::{Deserialize, Serialize};
use shortlist::Shortlist;
use std::hash::BuildHasher as _;
use std::ops::Range;

mod cut;
mod offspring;
mod refinement;
mod sharing;
mod shortlist;
mod travel;

/// The share of the policy prior that still counts once a child has been evaluated.
const PRIOR_WEIGHT: f32 = 0.2;

/// The share of a parent's rank that counts for its child. Estimates along a path err in different ways, and what is on no
/// short path was behind before.
const PATH_WEIGHT: f32 = 0.25;

/// The first answer comes from a beam of this share of the width.
const FIRST: usize = 8;

/// The beam of the first answer gives up after so many layers that came no nearer to the goal.
const FIRST_PATIENCE: u32 = 12;

/// Children that are made before those before them are evaluated, about: the most, and the least where that goes on meanwhile.
const BLOCK: usize = 1 << 17;
const LEAST_BLOCK: usize = 1 << 15;

/// A layer gets room for a part more children than the layer before it has led to: one in so many.
const MORE_ROOM: usize = 8;

/// Children whose ranks a thread takes at least.
const SORTED: usize = 1 << 13;

/// The search `beam`.
#[derive(Debug, Clone)]
pub struct Beam<S> {
    /// The width: how many states a layer keeps, at least 1.
    pub n: usize,
    /// Children evaluated in a layer, as a multiple of the width, where the heuristic has move probabilities; 0: all.
    pub candidates: usize,
    /// c: the weight of −ln p, in moves, for a move of probability p.
    pub policy_weight: f32,
    /// The states whose exact cost is known.
    pub perimeter: Perimeter<S>,
}

impl<S: State> Beam<S> {
    /// A beam of width `n` that evaluates all children.
    pub fn new(n: usize) -> Self {
        Beam { n, candidates: 0, policy_weight: 0.0, perimeter: Perimeter::none() }
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
    ) -> Result<SearchResult, HeuristicError> {
        let Some(first) = self.first_answer(puzzle, start, heuristic, control)? else {
            return Run::new(puzzle, self, start, Shared::of(control)).outcome(heuristic, control);
        };
        let is_decided = first.proven_optimal || first.end == End::NoSolution || control.is_enough(first.cost);
        if is_decided || control.too_many(first.stats.generated + 1) || control.agreed()?.is_some() {
            return Ok(first);
        }
        let limits = control.limits().after(first.stats.generated);
        let mut control = control.child(&limits, first.cost, |answer| Some(answer.clone()));
        let outcome = Run::new(puzzle, self, start, Shared::of(&control)).outcome(heuristic, &mut control)?;
        let stats = Stats { seconds: control.seconds(), ..first.stats.and(&outcome.stats) };
        let best = if outcome.cost.is_some() || first.cost.is_none() { outcome } else { first };
        Ok(SearchResult { stats, ..best })
    }

    /// The answer of a narrower beam, where none is known and a perimeter can refine it.
    fn first_answer(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Option<SearchResult>, HeuristicError> {
        if self.perimeter.is_empty() || control.bound().is_some() || self.n < FIRST {
            return Ok(None);
        }
        let narrow = Beam { n: self.n / FIRST, ..self.clone() };
        let run = Run { patience: FIRST_PATIENCE, ..Run::new(puzzle, &narrow, start, Shared::of(control)) };
        run.outcome(heuristic, control).map(Some)
    }
}

/// A state of a layer: whose it is, and its number there.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Place {
    rank: u16,
    id: NodeId,
}

/// Of a layer behind, whose child each state is, in the layer before, by which move.
struct Behind {
    parents: Vec<NodeId>,
    /// Empty where no other rank shares the search.
    owners: Vec<u16>,
    moves: Vec<Move>,
}

/// Who works at a search.
struct Shared<'a> {
    exchange: &'a dyn Exchange,
    threads: usize,
}

impl<'a> Shared<'a> {
    fn of(control: &Control<'a>) -> Self {
        Shared { exchange: control.exchange(), threads: control.threads() }
    }
}

/// A running search.
struct Run<'a, P: Puzzle> {
    puzzle: &'a P,
    settings: &'a Beam<P::State>,
    start: P::State,
    ask: Query,
    exchange: &'a dyn Exchange,
    threads: usize,
    /// This rank's part.
    layer: Layer<P::State>,
    /// Room for the children of the next layer, and for those that are made together: memory that is given back and taken
    /// again costs more than what is done with it.
    room: Layer<P::State>,
    made: Vec<Made<P::State>>,
    /// How many states the layer before had on this rank, and how many new children.
    before: (usize, usize),
    /// How many states the layer has on all ranks.
    width: u64,
    /// Of each layer, the last one included.
    behind: Vec<Behind>,
    /// The hashes of all states that were evaluated.
    evaluated: Hashes,
    hasher: FixedState,
    stats: Stats,
    /// Whether any state was cut off.
    cut_off: bool,
    /// The least cost-to-go so far, and the path cost of the state that has it.
    least: Option<(f32, Cost)>,
    /// How many layers in succession may come no nearer to the goal, and how many have.
    patience: u32,
    stale: u32,
    /// This rank's best answer in the layer that is being generated.
    found: Option<Found<P::State>>,
    best: Option<Incumbent>,
}

impl<'a, P: Puzzle> Run<'a, P> {
    fn new(puzzle: &'a P, settings: &'a Beam<P::State>, start: &P::State, shared: Shared<'a>) -> Self {
        memory::keep_freed();
        Run {
            puzzle,
            settings,
            start: *start,
            ask: Query::Values,
            exchange: shared.exchange,
            threads: shared.threads,
            layer: Layer::default(),
            room: Layer::default(),
            made: Vec::new(),
            before: (0, 0),
            width: 1,
            behind: Vec::new(),
            evaluated: Hashes::default(),
            hasher: FixedState::default(),
            stats: Stats::default(),
            cut_off: false,
            least: None,
            patience: u32::MAX,
            stale: 0,
            found: None,
            best: None,
        }
    }

    fn outcome(
        mut self,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<SearchResult, HeuristicError> {
        let end = self.search(heuristic, control)?;
        self.stats.stored = self.evaluated.len();
        let stats = Stats { seconds: control.seconds(), ..self.stats_of_all()? };
        let (moves, cost) = self.best.map(|answer| (answer.moves, answer.cost)).unzip();
        let proven_optimal = end == End::Solved && stats.iterations == 0;
        Ok(SearchResult { end, moves, cost, proven_optimal, stats, proof: None })
    }

    fn search(
        &mut self,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<End, HeuristicError> {
        let start = self.start;
        if let Some(moves) = self.settings.perimeter.path_to_goal(self.puzzle, &start) {
            self.best = Some(Incumbent { cost: moves.len() as Cost, moves });
            return Ok(End::Solved);
        }
        if self.settings.candidates > 0 && heuristic.has_policy() {
            self.ask = Query::ValuesAndPolicy;
        }
        self.begin(&start, heuristic)?;
        while self.width > 0 {
            if let Some(bound) = control.bound()
                && self.refinement_for(bound).is_some_and(|from| from.layer <= self.behind.len())
            {
                self.cut_off = true;
                self.refine(bound, heuristic, control)?;
                break;
            }
            if self.stale > self.patience {
                self.cut_off = true; // what is left was not seen
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

    /// The first layer: the start, on the rank that it belongs to.
    fn begin(&mut self, start: &P::State, heuristic: &mut dyn Heuristic<P::State>) -> Result<(), HeuristicError> {
        let hash = self.hasher.hash_one(start);
        if self.exchange.owner(hash) != self.exchange.rank() {
            return Ok(());
        }
        self.evaluated.insert(hash);
        self.layer =
            Layer { states: vec![*start], hashes: vec![hash], costs: vec![0], ranks: vec![0.0], ..Layer::default() };
        if self.ask == Query::ValuesAndPolicy {
            heuristic.submit(&[*start], self.ask)?;
            let estimates = heuristic.collect()?;
            self.stats.evaluated += 1;
            self.layer.take_in(self.threads, estimates);
        }
        Ok(())
    }

    /// From one layer to the next, unless an answer is found.
    fn step(&mut self, heuristic: &mut dyn Heuristic<P::State>, control: &mut Control<'_>) -> Result<(), Interrupt> {
        let shortlist = self.shortlist()?;
        let mut queue = ChunkQueue::new(heuristic, self.ask);
        let mut children = std::mem::take(&mut self.room);
        let policy = if self.ask == Query::ValuesAndPolicy { self.puzzle.move_count() } else { 0 };
        children.make_room_with_estimates(self.likely_children(&shortlist), policy);
        let mut ended = Ok(());
        let together = if queue.overlap > 0 { queue.chunk.clamp(LEAST_BLOCK, BLOCK) } else { BLOCK };
        for parents in self.blocks(together, &shortlist)? {
            match self.generate(parents, &shortlist, &mut children, &mut queue, control) {
                Ok(()) => {}
                // The other ranks still count on this one.
                Err(Interrupt::Limit(limit)) if !self.exchange.is_alone() => ended = Err(limit.into()),
                Err(other) => {
                    ended = Err(other);
                    break;
                }
            }
        }
        drop(shortlist);
        match ended {
            Ok(()) if self.found.is_none() => {
                let states = std::mem::take(&mut children.states);
                let counted = &mut self.stats.evaluated;
                queue.finish(&states, counted, |estimates| children.take_in(self.threads, estimates))?;
                children.states = states;
            }
            _ => queue.discard(),
        }
        drop(queue);
        self.agree(ended, control)?;
        self.before = (self.layer.len(), children.len());
        if self.best.is_none() {
            self.keep_best(children)?;
        }
        Ok(())
    }

    /// How many new children the layer is likely to have.
    fn likely_children(&self, shortlist: &Shortlist) -> usize {
        let all = self.layer.len() * self.children_each(shortlist);
        let (parents, children) = self.before;
        let as_before = self.layer.len() * children / parents.max(1);
        all.min(as_before + as_before / MORE_ROOM)
    }

    /// Generates children, and submits those that are new for evaluation; on a device, the next are generated meanwhile.
    fn generate(
        &mut self,
        parents: Range<usize>,
        shortlist: &Shortlist,
        children: &mut Layer<P::State>,
        queue: &mut ChunkQueue<'_, P::State>,
        control: &mut Control<'_>,
    ) -> Result<(), Interrupt> {
        let mut reached = self.reached(children, control);
        let parents = if reached.is_some() { 0..0 } else { parents };
        self.stats.expanded += parents.len() as u64;
        let room = std::mem::take(&mut self.made);
        let mut made = self.make(parents, shortlist, room);
        let mut room = if self.exchange.is_alone() { control.nodes_left(self.stats.generated) } else { u64::MAX };
        for piece in &mut made {
            if piece.children.len() as u64 > room {
                reached = reached.or(Some(Limit::Nodes));
                piece.children.truncate(room as usize);
            }
            room -= piece.children.len() as u64;
            self.stats.generated += piece.children.len() as u64;
        }
        self.take_goals(&made);
        let made = self.exchanged(made)?;
        let fresh = self.evaluated.insert_all(self.threads, &hashes(&made));
        self.look_up(&made, &fresh);
        if let Some(limit) = reached {
            return Err(limit.into());
        }
        if self.found.is_some() {
            return Ok(()); // an answer ends the layers: nothing is worth an evaluation any more
        }
        let fresh: Vec<_> = made.iter().zip(&fresh).map(|(made, fresh)| (&made.children, fresh.as_slice())).collect();
        children.add_children(self.threads, &fresh);
        self.made = made;
        while queue.is_full(&children.states) {
            if let Some(limit) = self.reached(children, control) {
                return Err(limit.into());
            }
            let mut estimates = None;
            queue.advance(&children.states, &mut self.stats.evaluated, |collected| estimates = Some(collected))?;
            if let Some(estimates) = estimates {
                children.take_in(self.threads, estimates);
            }
        }
        Ok(())
    }

    /// Reports, and looks at the limits.
    fn reached(&mut self, children: &Layer<P::State>, control: &mut Control<'_>) -> Option<Limit> {
        self.stats.stored = self.evaluated.len();
        self.report(control);
        control.reached(&|| self.bytes() + children.bytes())
    }

    /// Which children of the layer are worth an evaluation.
    fn shortlist(&mut self) -> Result<Shortlist, HeuristicError> {
        let room = self.settings.candidates.saturating_mul(self.settings.n.max(1));
        let mut shortlist = Shortlist::new(self.puzzle, self.settings, self.threads, &self.layer);
        if self.ask == Query::Values {
            return Ok(shortlist);
        }
        shortlist.last = shortlist.cut(self.exchange, self.threads, &self.layer, room as u64)?;
        self.cut_off |= shortlist.last.is_some();
        Ok(shortlist)
    }

    /// Keeps the best children as the next layer.
    fn keep_best(&mut self, mut children: Layer<P::State>) -> Result<(), HeuristicError> {
        let mut ranks = Vec::new();
        extend(self.threads, &mut ranks, children.len(), SORTED, |i| children.rank(i));
        children.ranks = ranks;
        children.priors.clear();
        let key = |i: usize| Key::new(children.ranks[i], children.hashes[i]);
        let last = cut(self.exchange, self.threads, self.settings.n.max(1) as u64, children.len(), key)?;
        let best = sorted(self.threads, children.len(), last, key);
        self.cut_off |= last.is_some();
        let layer = children.pick(self.threads, &best);
        self.room = children;
        let Layer { states, hashes, costs, parents, owners, moves, values, ranks, policy, .. } = layer;
        self.behind.push(Behind { parents, owners, moves });
        let nearest_of = |range: Range<usize>| range.map(|i| (values[i], costs[i])).min_by(nearer);
        let nearest = in_ranges(self.threads, costs.len(), SORTED, nearest_of).into_iter().flatten().min_by(nearer);
        self.layer = Layer { states, hashes, costs, values, ranks, policy, ..Layer::default() };
        let layers = self.exchange.gather((self.layer.len() as u64, nearest))?;
        self.width = layers.iter().map(|(width, _)| width).sum();
        let nearest = layers.into_iter().filter_map(|(_, nearest)| nearest).min_by(nearer);
        if let Some(nearest) = nearest
            && self.least.is_none_or(|least| nearest.0 < least.0)
        {
            self.least = Some(nearest);
            self.stale = 0;
        } else {
            self.stale = self.stale.saturating_add(1);
        }
        Ok(())
    }

    fn report(&self, control: &mut Control<'_>) {
        let stats = Stats { seconds: control.seconds(), ..self.stats };
        control.report(&Progress { stats, best: self.least, least_f: None, proof: None });
    }

    fn bytes(&self) -> u64 {
        let each = |behind: &Behind| 5 * behind.parents.len() + 2 * behind.owners.len();
        let behind = self.behind.iter().map(each).sum::<usize>() as u64;
        let made: u64 = self.made.iter().map(|piece| piece.children.bytes()).sum();
        behind + self.layer.bytes() + self.room.bytes() + made + self.evaluated.bytes()
    }
}

/// The nearer to the goal, and of equally near ones, the cheaper.
fn nearer(a: &(f32, Cost), b: &(f32, Cost)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}
