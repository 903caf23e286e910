//! From a puzzle and options to solutions: the interface of the command line, the server, Python and other programs.
//!
//! ```text
//! Request       ─┐
//! puzzle facts  ─┼─► resolve (pure) ─► Plan ─► heuristic loaded, perimeter made ─► Solver ─► Solution ─► Record
//! model facts   ─┘                                                        instance ──┘
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | [`options`] | [`SearchOptions`]: every setting of every search |
//! | [`plan`] | the [`Request`] of a user, the other inputs of `resolve`, and the [`Plan`] that it returns |
//! | [`resolve`](resolve()) | every default and every refusal, as a pure function |
//! | [`models`] | where models are found |
//! | `builder` | [`Builder`]: makes a solver from a request |
//! | `auto_device` | whether `auto` takes a GPU |
//! | `reduction` | the search in stages, with a solver for each |
//! | `perimeter_cache` | the perimeter of a plan, read or made |
//! | `mod` | [`Solver`]: solves, replays, reports |
//!
//! # Example: solve a board with A* and the Manhattan distance, and watch
//!
//! ```
//! use costar::puzzle::tiles::Puzzle8;
//! use costar::search::{Limits, Progress};
//! use costar::solver::{Request, SearchOptions, Solver, Watch};
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//!
//! let request = Request {
//!     options: SearchOptions::of("astar"),
//!     heuristic: "manhattan".into(),
//!     limits: Limits { time: Some(Duration::from_secs(10)), ..Limits::default() },
//!     ..Request::default()
//! };
//! let mut solver = Solver::builder(Puzzle8::default(), request).build()?;
//! let board = "8 6 7 2 5 4 3 0 1"; // without a watch: solver.solve(board)
//! let mut progress = |progress: &Progress| eprintln!("{} nodes", progress.stats.generated);
//! let watch = Watch { stop: &AtomicBool::new(false), progress: &mut progress, incumbents: &mut |_| () };
//! let solution = solver.solve_typed(board, solver.parse(board)?, watch)?;
//! assert_eq!((solution.record.length, solution.record.proven_optimal), (Some(31), true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod auto_device;
mod builder;
pub mod models;
pub mod options;
mod perimeter_cache;
pub mod plan;
mod reduction;
mod resolve;

pub use builder::Builder;
pub use options::{Engine, SearchInfo, SearchOptions};
pub use plan::{HeuristicChoice, HeuristicPlan, PerimeterPlan, Plan, Request, SearchPlan};
pub use resolve::resolve;

use crate::error::{Error, Result, bail_setting, ensure_setting};
use crate::exchange::Exchange;
use crate::heuristic::{Estimates, Heuristic, Query};
use crate::memory;
use crate::neural::device::Device;
use crate::neural::precision::Precision;
use crate::puzzle::{Cost, Move, ParseError, Puzzle, move_names, replay};
use crate::registry::Entry;
use crate::report::{self, ProofRecord, Record};
use crate::search::{Control, End, Incumbent, Limits, Progress, Proof, Search, SearchResult};
use builder::build_search;
pub use perimeter_cache::DeeperPerimeter;
use perimeter_cache::{PerimeterCache, deeper};
use reduction::SharedStages;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The largest share of the available memory that a search takes.
const MEMORY_SHARE: f64 = 0.8;

/// The loaded network.
#[derive(Debug, Clone)]
struct LoadedNetwork {
    device: Device,
    precision: Precision,
    model: String,
    weights_crc32: u32,
}

impl Request {
    /// The limit of the bytes for the nodes: unless it is given, that of the process less what it holds already.
    fn node_memory(&self) -> Option<u64> {
        let held = if self.memory_of_nodes { 0 } else { memory::resident() };
        self.limits.memory.map(|most| most.saturating_sub(held))
    }

    /// The limits of a search: without a limit of memory, its nodes may take a share of what is available.
    fn search_limits(&self) -> Limits {
        let share = || memory::available().map(|available| (available as f64 * MEMORY_SHARE) as u64);
        Limits { memory: self.node_memory().or_else(share), ..self.limits.clone() }
    }
}

/// A puzzle, a heuristic and a search, ready for instances.
pub struct Solver<P: Puzzle> {
    entry: Entry<P>,
    heuristic: Box<dyn Heuristic<P::State>>,
    search: Arc<dyn Search<P>>,
    plan: Plan,
    perimeter_depth: u32,
    network: Option<LoadedNetwork>,
    stages: Option<SharedStages>,
    request: Request,
    limits: Limits,
    perimeters: PerimeterCache<P::State>,
    /// The fields that all records have in common.
    template: Record,
    stop: Arc<AtomicBool>,
    exchange: Arc<dyn Exchange>,
}

/// An instance after its search.
#[derive(Debug, Clone)]
pub struct Solution<S> {
    /// The state that the instance stands for.
    pub start: S,
    /// The solution; `None` if there is none.
    pub moves: Option<Vec<Move>>,
    /// How the search ended.
    pub end: End,
    /// Whether a stop flag ended the search early: an undisturbed search may find another solution.
    pub stopped: bool,
    /// The record: the moves by name, counts, and settings.
    pub record: Record,
}

impl<S> fmt::Display for Solution<S> {
    /// The moves with spaces between, or why there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.record.moves {
            Some(moves) => f.write_str(&moves.join(" ")),
            None => f.write_str(&self.end.reason().unwrap_or_default()),
        }
    }
}

/// The stop flag and the callbacks of a search.
pub struct Watch<'a> {
    /// The flag that stops it.
    pub stop: &'a AtomicBool,
    /// Receives the progress, now and then.
    pub progress: &'a mut dyn FnMut(&Progress),
    /// Receives each better solution, from searches that go on after the first.
    pub incumbents: &'a mut dyn FnMut(&Incumbent),
}

impl<P: Puzzle> Solver<P> {
    /// A solver with the defaults of everything but the search; [`Solver::builder`] takes a whole request.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new(puzzle: impl Into<Entry<P>>, options: SearchOptions) -> Result<Self> {
        Self::builder(puzzle, Request { options, ..Request::default() }).build()
    }

    /// The builder of a solver, for a puzzle of costar, or for any other, made by [`Entry::new`].
    pub fn builder(puzzle: impl Into<Entry<P>>, request: Request) -> Builder<P> {
        Builder { entry: puzzle.into(), request, own_heuristic: None, stop: Arc::default() }
    }

    /// Changes the search, the limits, and the flag that ends the making of tables. A loaded heuristic stays, unless the new search runs its network on another device.
    ///
    /// # Errors
    /// If a setting is refused, or another heuristic would be needed; if a network moves, as [`Builder::build`]. The
    /// solver is then unchanged.
    pub fn reconfigure(&mut self, options: SearchOptions, limits: Limits, stop: Arc<AtomicBool>) -> Result<()> {
        let request = Request { options, limits, ..self.request.clone() };
        let mut builder = Self::builder(self.entry.clone(), request).stop(Arc::clone(&stop));
        let (plan, device) = builder.decide()?;
        if plan.heuristic != self.plan.heuristic {
            return Err(Error::Bug("another heuristic is loaded than the search needs".into()));
        }
        // `auto` chooses the device by the search.
        let is_elsewhere = self.network.as_ref().is_some_and(|network| network.device != device);
        let stages = if is_elsewhere { builder.stages(&plan, device)? } else { self.stages.clone() };
        let moved = if is_elsewhere { Some(builder.load(&plan, device, stages.as_ref())?) } else { None };
        let parts = builder.parts(&plan, device, stages.clone())?;
        let (search, perimeter_depth) = build_search(&plan, &self.entry, parts, &mut self.perimeters, &stop)?;
        if let Some(moved) = moved {
            (self.heuristic, self.network) = moved;
            self.stages = stages;
        }
        self.limits = builder.request.search_limits();
        (self.request, self.stop) = (builder.request, stop);
        (self.plan, self.perimeter_depth, self.search) = (plan, perimeter_depth, search);
        self.template = self.common_fields();
        Ok(())
    }

    /// Shares the search among processes: each has an equal solver, and solves the same instances in the same order.
    ///
    /// # Errors
    /// If the search cannot be shared, or the puzzle's states have no form as bytes.
    pub fn share(&mut self, exchange: Arc<dyn Exchange>) -> Result<()> {
        let (name, size) = (self.plan.info.name, exchange.size());
        let is_beam = matches!(self.plan.search, SearchPlan::Beam { .. });
        ensure_setting!(is_beam, "search", "{name} runs as one process, and {size} share this one: expected beam");
        if self.puzzle().state_bytes().is_none() {
            let name = self.puzzle().name();
            bail_setting!("puzzle", "the states of {name} cannot be sent between processes: start one");
        }
        self.template.ranks = Some(exchange.size());
        self.exchange = exchange;
        Ok(())
    }

    /// Several solvers that search at the same time, sharing the heuristic and the memory; a single one if the heuristic or
    /// the device engine serves one search at a time.
    pub fn split(self, count: usize) -> Vec<Self> {
        let count = if self.stages.is_some() || self.plan.search.is_on_device() { 1 } else { count };
        let mut parts: Vec<_> = (1..count).map_while(|_| self.heuristic.share()).collect();
        parts.push(self.heuristic);
        let memory = self.limits.memory.map(|memory| memory / parts.len() as u64);
        let solver = |heuristic| Solver {
            entry: self.entry.clone(),
            heuristic,
            search: Arc::clone(&self.search),
            plan: self.plan.clone(),
            perimeter_depth: self.perimeter_depth,
            network: self.network.clone(),
            stages: self.stages.clone(),
            request: self.request.clone(),
            limits: Limits { memory, ..self.limits.clone() },
            perimeters: self.perimeters.clone(),
            template: self.template.clone(),
            stop: Arc::clone(&self.stop),
            exchange: Arc::clone(&self.exchange),
        };
        parts.into_iter().map(solver).collect()
    }

    /// The puzzle whose instances it solves.
    pub fn puzzle(&self) -> &Arc<P> {
        self.entry.puzzle()
    }

    /// All settings, defaults included.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The depth of the perimeter, in moves; 0 without one.
    pub fn perimeter_depth(&self) -> u32 {
        self.perimeter_depth
    }

    /// The fields that all records have in common.
    pub fn template(&self) -> &Record {
        &self.template
    }

    fn common_fields(&self) -> Record {
        let (options, network) = (self.plan.options(self.perimeter_depth), self.network.as_ref());
        Record {
            device: network.map(|network| network.device.to_string()),
            precision: network.map(|network| network.precision.to_string()),
            weights_crc32: network.map(|network| network.weights_crc32),
            model: network.map(|network| network.model.clone()),
            heuristic: self.plan.info.asks_heuristic.then(|| self.heuristic.name().into()),
            ..planned_record(&**self.puzzle(), &options, &self.request.limits)
        }
    }

    /// The heuristic's name, as `--heuristic` takes it.
    pub fn heuristic_name(&self) -> &str {
        self.heuristic.name()
    }

    /// The heuristic's estimate of a state.
    ///
    /// # Errors
    /// If the heuristic fails.
    pub fn estimate(&mut self, state: &P::State) -> Result<f32> {
        Ok(self.heuristic.estimate(state)?)
    }

    /// The speed-up and the cost of a deeper perimeter; `None` without a perimeter of classes, or if it holds all states.
    pub fn deeper_perimeter(&self) -> Option<DeeperPerimeter> {
        deeper(&self.perimeters)
    }

    /// The best number of states to evaluate at once.
    pub fn chunk(&self) -> usize {
        self.heuristic.chunk().max(1)
    }

    /// The heuristic's estimates of states, with move probabilities if it has them.
    ///
    /// # Errors
    /// If the heuristic fails.
    pub fn evaluate(&mut self, states: &[P::State]) -> Result<Estimates> {
        self.heuristic.submit(states, Query::ValuesAndPolicy)?;
        Ok(self.heuristic.collect()?)
    }

    /// Reads an instance.
    ///
    /// # Errors
    /// If the text is refused, or the network cannot encode the state.
    pub fn parse(&self, text: &str) -> Result<P::State, ParseError> {
        let start = self.puzzle().parse(text)?;
        self.check(&start)?;
        Ok(start)
    }

    /// Refuses a state that the network cannot encode.
    ///
    /// # Errors
    /// Says why.
    pub fn check(&self, start: &P::State) -> Result<(), ParseError> {
        if self.network.is_some() { self.puzzle().check_encodes(start) } else { Ok(()) }
    }

    /// Searches an instance, and replays the solution from its start. The solution of a scramble is never longer than the
    /// inverse scramble.
    ///
    /// # Errors
    /// If the text is refused, or the heuristic fails. An instance that is not solved is not an error: see [`Solution::end`].
    pub fn solve(&mut self, text: &str) -> Result<Solution<P::State>> {
        let start = self.parse(text)?;
        let stop = Arc::clone(&self.stop);
        self.solve_typed(text, start, Watch { stop: &stop, progress: &mut |_| (), incumbents: &mut |_| () })
    }

    /// Solves an instance that was read, under another watch. If the inverse scramble is shorter than the search's own
    /// solution, returns it, and the record has the other length.
    ///
    /// # Errors
    /// If the heuristic fails.
    pub fn solve_typed(&mut self, text: &str, start: P::State, watch: Watch<'_>) -> Result<Solution<P::State>> {
        let mut solution = self.solve_watched(text, start, watch)?;
        let puzzle = &**self.puzzle();
        if let Some((found, shortest)) = solution.record.cost.zip(solution.moves.as_ref())
            && let Some(moves) = undo_scramble(puzzle, text)
            && let Ok((end, cost)) = replay(puzzle, &start, &moves)
            && puzzle.is_goal(&end)
            // At equal cost, the solution with fewer words wins: U2 is one word.
            && (shown(puzzle, cost), puzzle.written(&moves).len()) < (found, puzzle.written(shortest).len())
        {
            let cost = shown(puzzle, cost);
            let (names, length) = (move_names(puzzle, &puzzle.in_hand(text, &moves)), moves.len());
            let search_length = solution.record.length.filter(|&own| own > moves.len() || cost < found);
            solution.record =
                Record { moves: Some(names), length: Some(length), search_length, cost: Some(cost), ..solution.record };
            solution.moves = Some(moves);
        }
        Ok(solution)
    }

    /// Searches an instance as a measurement does: does not use the inverse scramble as a bound.
    ///
    /// # Errors
    /// If the heuristic fails.
    pub fn solve_watched(&mut self, text: &str, start: P::State, watch: Watch<'_>) -> Result<Solution<P::State>> {
        let puzzle = Arc::clone(self.puzzle());
        let mut control = Control::new(&self.limits, watch.stop, watch.progress)
            .with_incumbents(watch.incumbents)
            .with_exchange(&*self.exchange);
        let mut result = self.search.run(&*puzzle, &start, &mut *self.heuristic, &mut control)?;
        result.stats.seconds = control.seconds();
        let stopped = control.was_stopped();
        if let Some(moves) = &result.moves {
            check_solution(&*puzzle, &start, moves, result.cost)?;
        }
        let record = record(&*puzzle, text, &result, &self.template);
        Ok(Solution { start, moves: result.moves, end: result.end, stopped, record })
    }
}

/// The inverse scramble, without loops; `None` if the instance is not a scramble.
fn undo_scramble<P: Puzzle>(puzzle: &P, text: &str) -> Option<Vec<Move>> {
    let scramble = puzzle.scramble(text)?;
    let mut path = vec![puzzle.normalized(&scramble.start)];
    let mut places = HashMap::from([(path[0], 0)]);
    for (_, state) in scramble.moves {
        let state = puzzle.normalized(&state);
        if let Some(&place) = places.get(&state) {
            for skipped in path.drain(place + 1..) {
                places.remove(&skipped);
            }
        } else {
            places.insert(state, path.len());
            path.push(state);
        }
    }
    let back = |pair: &[P::State]| puzzle.move_between(&pair[1], &pair[0]);
    path.windows(2).rev().map(back).collect()
}

/// A cost in the user's units.
pub(crate) fn shown<P: Puzzle>(puzzle: &P, cost: Cost) -> f64 {
    puzzle.own_costs().map_or(cost.into(), |costs| costs.shown(cost))
}

/// Replays a solution: a wrong one is never given.
fn check_solution<P: Puzzle>(puzzle: &P, start: &P::State, moves: &[Move], cost: Option<u32>) -> Result<()> {
    let solves =
        replay(puzzle, start, moves).is_ok_and(|(end, replayed)| puzzle.is_goal(&end) && Some(replayed) == cost);
    if solves { Ok(()) } else { Err(Error::Bug("a search gave a wrong solution, which is not shown".into())) }
}

fn record<P: Puzzle>(puzzle: &P, text: &str, result: &SearchResult, template: &Record) -> Record {
    let stats = &result.stats;
    let moves = result.moves.as_deref();
    Record {
        instance: text.into(),
        solved: moves.is_some(),
        read_as: puzzle.read_as(text),
        moves: moves.map(|moves| move_names(puzzle, &puzzle.in_hand(text, moves))),
        length: moves.map(<[Move]>::len),
        cost: result.cost.map(|cost| shown(puzzle, cost)),
        proven_optimal: result.proven_optimal,
        nodes_generated: stats.generated,
        nodes_stored: stats.stored,
        nodes_expanded: stats.expanded,
        nodes_evaluated: stats.evaluated,
        iterations: stats.iterations,
        nodes_pruned: stats.pruned,
        seconds: stats.seconds,
        ended_by: (result.end != End::Solved).then(|| result.end.to_string()),
        proof: result.proof.map(proof_record),
        date: report::utc_now(),
        ..template.clone()
    }
}

fn proof_record(proof: Proof) -> ProofRecord {
    let Proof { excluded, target, share, sequences, seconds } = proof;
    let target_share = target.map(|_| share);
    ProofRecord { excluded, target, target_share, sequences, seconds }
}

/// The fields of a record that are known before anything is loaded.
pub(crate) fn planned_record<P: Puzzle>(puzzle: &P, options: &SearchOptions, limits: &Limits) -> Record {
    Record {
        puzzle: puzzle.name(),
        rules_crc32: puzzle.rules_crc32(),
        search: options.search().into(),
        n: options.n.flatten(),
        lambda: options.lambda,
        config: options.to_json().into(),
        max_seconds: limits.time.map(|time| time.as_secs_f64()),
        max_nodes: limits.nodes,
        max_memory: limits.memory,
        version: Some(env!("CARGO_PKG_VERSION").into()),
        date: report::utc_now(),
        processor: Some(report::processor()),
        ..Record::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_memory_is_that_of_the_process_or_of_the_nodes() {
        let limits = |memory| Limits { memory, ..Limits::default() };
        let bytes = |memory_of_nodes, memory| {
            Request { limits: limits(memory), memory_of_nodes, ..Request::default() }.node_memory()
        };
        assert_eq!((bytes(true, Some(1 << 40)), bytes(false, None)), (Some(1 << 40), None));
        assert!(bytes(false, Some(1 << 40)).is_some_and(|bytes| bytes < 1 << 40), "the process holds some");
        assert_eq!(bytes(false, Some(1)), Some(0));
    }
}
