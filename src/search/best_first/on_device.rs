//! Batch-weighted A* whose nodes lie on a device. A step is that of the host; of equal priorities, the device takes any.

use super::BestFirst;
use crate::error::Result;
use crate::puzzle::{Cost, Move, Puzzle, replay};
use crate::search::device::DeviceEngine;
use crate::search::device::nodes::{DeviceNodes, Taken};
use crate::search::limits::{Interrupt, stop_at, unless_failed};
use crate::search::{Control, End, Incumbent, Limit, Progress, SearchResult, Stats};
use std::mem;

/// A running search.
pub(super) struct DeviceRun<'a, P: Puzzle> {
    puzzle: &'a P,
    settings: &'a BestFirst<P::State>,
    start: &'a P::State,
    nodes: DeviceNodes<'a>,
    stats: Stats,
    best: Option<Incumbent>,
}

impl<'a, P: Puzzle> DeviceRun<'a, P> {
    pub(super) fn new(
        puzzle: &'a P,
        settings: &'a BestFirst<P::State>,
        start: &'a P::State,
        engine: &'a DeviceEngine,
    ) -> Result<Self> {
        let nodes = engine.nodes(&puzzle.row(start), settings.lambda)?;
        let stats = Stats { evaluated: 1, stored: 1, ..Stats::default() };
        Ok(DeviceRun { puzzle, settings, start, nodes, stats, best: None })
    }

    /// Searches from a start outside the perimeter.
    pub(super) fn search(mut self, control: &mut Control<'_>) -> Result<SearchResult> {
        let mut steps_left = self.settings.max_stale_steps;
        loop {
            if self.best.is_some() {
                if self.settings.ends_with_first_batch() {
                    return Ok(self.result(End::Solved, false));
                }
                if steps_left == Some(0) {
                    return self.end();
                }
                steps_left = steps_left.map(|steps| steps - 1);
            }
            match unless_failed(self.step(control))? {
                Ok(true) => {}
                Ok(false) => return self.end(),
                Err(Limit::Memory) => {
                    let pruned = match self.nodes.prune_open() {
                        Err(_) if self.best.is_some() => 0,
                        pruned => pruned?,
                    };
                    self.stats.pruned += pruned;
                    if let Some(limit) =
                        control.reached(&|| self.nodes.host_bytes()).or((pruned == 0).then_some(Limit::Memory))
                    {
                        return Ok(self.result(End::Limit(limit), false));
                    }
                }
                Err(limit) => return Ok(self.result(End::Limit(limit), false)),
            }
        }
    }

    /// Takes nodes and expands them; returns whether there were any.
    fn step(&mut self, control: &mut Control<'_>) -> Result<bool, Interrupt> {
        self.stop_at_limit(control)?;
        let moves = self.puzzle.move_count() as u64;
        let left = control.nodes_left(self.stats.generated) / moves.max(1);
        stop_at((left == 0).then_some(Limit::Nodes))?;
        let n = self.settings.n.max(1).min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(taken) = self.nodes.take(n)? else { return Ok(false) };
        self.stats.iterations += 1;
        let mut done = 0;
        while done < taken.count {
            let part = taken.part(done, self.nodes.at_once());
            if let Err(interrupt) = self.expand(&part, control) {
                if matches!(interrupt, Interrupt::Limit(_)) {
                    self.nodes.put_back(&taken.part(done, taken.count))?;
                }
                return Err(interrupt);
            }
            done += part.count;
        }
        Ok(true)
    }

    fn stop_at_limit(&self, control: &Control<'_>) -> Result<(), Interrupt> {
        let limit = control.reached(&|| self.nodes.host_bytes());
        stop_at(limit.or(self.nodes.are_too_many().then_some(Limit::Memory)))
    }

    /// Expands some of the nodes of a step.
    fn expand(&mut self, part: &Taken, control: &mut Control<'_>) -> Result<(), Interrupt> {
        self.stop_at_limit(control)?;
        let mut children = self.nodes.expand(part)?;
        self.stats.generated += children.generated;
        self.stats.expanded += part.count;
        mem::take(&mut children.near).into_iter().for_each(|moves| self.take_solution(moves, control));
        if self.best.is_some() && self.settings.ends_with_first_batch() {
            // Nothing is worth an evaluation any more.
            self.stats.stored += self.nodes.count_new(&children)?;
            return Ok(());
        }
        let too_costly = self.too_costly();
        let (stats, best, bytes) = (self.stats, self.nodes.nearest, self.nodes.host_bytes());
        let reached = |evaluated| {
            let (stats, least_f) = (Stats { evaluated, ..stats }, Some(part.least_f));
            control.report(&Progress { stats, best, least_f, proof: None });
            control.reached(&|| bytes)
        };
        let stored = self.nodes.store(&children.far, too_costly, &mut self.stats.evaluated, reached);
        self.stats.stored = self.nodes.len() + self.stats.pruned;
        stored
    }

    /// The least path cost with which a state that is not near the goals cannot lead to a better solution.
    fn too_costly(&self) -> Cost {
        let rest = self.settings.perimeter.min_cost_outside().min(self.nodes.near_depth() + 1);
        self.best.as_ref().map_or(Cost::MAX, |best| best.cost.saturating_sub(rest))
    }

    /// Takes a path to a state near the goals, if the host finds it there too, and the solution is the best so far.
    fn take_solution(&mut self, mut moves: Vec<Move>, control: &mut Control<'_>) {
        let Ok((child, cost)) = replay(self.puzzle, self.start, &moves) else { return };
        let Some(rest) = self.settings.perimeter.path_to_goal(self.puzzle, &child) else { return };
        let cost = cost + rest.len() as Cost;
        if self.best.as_ref().is_none_or(|best| cost < best.cost) {
            moves.extend(rest);
            let incumbent = Incumbent { cost, moves };
            control.report_incumbent(&incumbent);
            self.best = Some(incumbent);
        }
    }

    /// Ends with an empty open list, or after the last stale step.
    fn end(self) -> Result<SearchResult> {
        // If nothing is open and nothing was pruned, nothing better exists.
        let exhausted = self.stats.pruned == 0 && !self.nodes.has_open()?;
        let end = if exhausted { End::NoSolution } else { End::Limit(Limit::Memory) };
        Ok(self.result(end, exhausted))
    }

    fn result(self, end: End, proven: bool) -> SearchResult {
        SearchResult::new(end, self.best, proven, self.stats)
    }
}
