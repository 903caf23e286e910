//! Iterative-deepening A*: depth-first searches under a rising bound of f = g + h.
//!
//! - The goal is tested when a state is expanded. The search never goes straight back to the parent's state, nor, if
//!   moves are free, to a state of the same stretch of free moves; it remembers nothing else, so memory is the length of
//!   the path.
//! - With admissible estimates the solution is a cheapest one.
//! - The next bound is the least f above the last. With real-valued estimates nearly every f is distinct and bounds would
//!   creep: a bound rises by at least 1. Costs are whole, so the solution is still a cheapest one.
//! - Time: b^d for b moves and a solution of d, less what the estimates cut off; unsolvable starts are searched for ever.
//!
//! Korf, "Depth-first iterative-deepening" (Artificial Intelligence 27, 1985).

use super::{CHECK_EVERY, Control, End, Incumbent, Limit, Search, SearchResult, Stats, Task};
use crate::error::Result;
use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::{Cost, Move, Puzzle};
use std::time::Instant;

/// The search `idastar`.
#[derive(Debug, Clone, Copy)]
pub struct IterativeDeepening;

impl<P: Puzzle> Search<P> for IterativeDeepening {
    fn solve(&self, task: Task<'_, '_, P>) -> Result<SearchResult> {
        let Task { puzzle, start, heuristic, control } = task;
        let admissible = heuristic.is_admissible();
        let mut run = IdaRun {
            puzzle,
            heuristic,
            control,
            stats: Stats { stored: 1, ..Stats::default() },
            path: Vec::new(),
            free: Vec::new(),
            check_at: 0,
            check_every: 1,
            checked: Instant::now(),
        };
        let mut bound = run.estimate(start)?;
        let (end, cost) = loop {
            run.stats.iterations += 1;
            match run.dive(start, None, 0, bound)? {
                Dive::Goal(cost) => break (End::Solved, Some(cost)),
                Dive::Limit(limit) => break (End::Limit(limit), None),
                Dive::Above(f) if f == f32::INFINITY => break (End::NoSolution, None),
                Dive::Above(f) => bound = f.max(bound + 1.0),
            }
        };
        let stored = run.stats.stored.max(run.path.len() as u64 + 1);
        let stats = Stats { stored, ..run.stats };
        let proven = cost == Some(0) || admissible;
        Ok(SearchResult::new(end, cost.map(|cost| Incumbent { moves: run.path, cost }), proven, stats))
    }
}

struct IdaRun<'a, 'b, P: Puzzle> {
    puzzle: &'a P,
    heuristic: &'a mut dyn Heuristic<P::State>,
    control: &'a mut Control<'b>,
    stats: Stats,
    path: Vec<Move>,
    /// States of the path that the path leaves by a free move, with their path cost.
    free: Vec<(P::State, Cost)>,
    /// Expanded nodes at the next check of the limits.
    check_at: u64,
    /// Expanded nodes from one check to the next: as many as take some milliseconds, however slow an estimate is.
    check_every: u64,
    checked: Instant,
}

enum Dive {
    Goal(Cost),
    /// The least f above the bound.
    Above(f32),
    Limit(Limit),
}

impl<P: Puzzle> IdaRun<'_, '_, P> {
    fn estimate(&mut self, state: &P::State) -> Result<f32, HeuristicError> {
        self.stats.evaluated += 1;
        self.heuristic.estimate(state)
    }

    /// Searches all paths below a state with f up to the bound; `before` is the state that it was reached from.
    fn dive(
        &mut self,
        state: &P::State,
        before: Option<&P::State>,
        g: Cost,
        bound: f32,
    ) -> Result<Dive, HeuristicError> {
        if g as f32 <= bound && self.puzzle.is_goal(state) {
            return Ok(Dive::Goal(g));
        }
        let f = g as f32 + self.estimate(state)?;
        if f > bound {
            return Ok(Dive::Above(f));
        }
        if let Some(limit) = self.limit() {
            return Ok(Dive::Limit(limit));
        }
        self.stats.expanded += 1;
        self.stats.stored = self.stats.stored.max(self.path.len() as u64 + 1);
        let mut least = f32::INFINITY;
        for action in 0..self.puzzle.move_count() as Move {
            let Some(child) = self.puzzle.apply(state, action) else { continue };
            if self.control.too_many(self.stats.generated + 1) {
                return Ok(Dive::Limit(Limit::Nodes));
            }
            self.stats.generated += 1;
            if before == Some(&child) {
                continue;
            }
            let cost = self.puzzle.move_cost(state, action);
            if cost == 0 {
                if self.was_free(&child, g) {
                    continue;
                }
                self.free.push((*state, g));
            }
            self.path.push(action);
            match self.dive(&child, Some(state), g + cost, bound)? {
                Dive::Above(f) => least = least.min(f),
                ended => return Ok(ended),
            }
            self.path.pop();
            if cost == 0 {
                self.free.pop();
            }
        }
        Ok(Dive::Above(least))
    }

    /// True if the current run of free moves already visited this state; prevents an endless loop.
    fn was_free(&self, state: &P::State, g: Cost) -> bool {
        self.free.iter().rev().take_while(|(_, before)| *before == g).any(|(before, _)| before == state)
    }

    fn limit(&mut self) -> Option<Limit> {
        if self.stats.expanded < self.check_at {
            return None;
        }
        let since = self.checked.elapsed();
        self.checked += since;
        self.check_every = match since.as_millis() {
            0 => (2 * self.check_every).min(CHECK_EVERY),
            1..20 => self.check_every,
            _ => (self.check_every / 2).max(1),
        };
        self.check_at = self.stats.expanded + self.check_every;
        self.control.report_counts(&self.stats);
        self.control.reached(&|| (self.path.capacity() + self.free.capacity() * size_of::<(P::State, Cost)>()) as u64)
    }
}
