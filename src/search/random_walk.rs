//! A random walk: random legal moves until the goal is met, or a number of moves is made.
//!
//! A baseline for the other searches. The same seed gives the same walk. A walk that runs into a state without legal
//! moves starts again.

use super::{End, Incumbent, Limit, Search, SearchResult, Stats, Task};
use crate::error::Result;
use crate::puzzle::{Move, Puzzle};
use rand::Rng as _;

/// The search `random`, which uses no heuristic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomWalk {
    /// The seed of the walk.
    pub seed: u64,
    /// The walk gives up after this many moves.
    pub most_moves: u64,
}

impl<P: Puzzle> Search<P> for RandomWalk {
    fn solve(&self, task: Task<'_, '_, P>) -> Result<SearchResult> {
        let Task { puzzle, start, control, .. } = task;
        let mut generator = crate::random::generator(self.seed, 0);
        let mut stats = Stats { stored: 1, ..Stats::default() };
        let (mut state, mut moves, mut cost) = (*start, Vec::new(), 0);
        let mut legal: Vec<(Move, P::State)> = Vec::with_capacity(puzzle.move_count());
        let end = loop {
            if puzzle.is_goal(&state) {
                break End::Solved;
            }
            if stats.expanded == self.most_moves {
                break End::Limit(Limit::Moves);
            }
            if let Some(limit) = control.limit_at(&stats, puzzle.move_count(), &|| moves.capacity() as u64) {
                break End::Limit(limit);
            }
            legal.clear();
            legal.extend(puzzle.children(&state));
            stats.expanded += 1;
            stats.generated += legal.len() as u64;
            if legal.is_empty() {
                if moves.is_empty() {
                    break End::NoSolution;
                }
                (state, cost) = (*start, 0);
                moves.clear();
                continue;
            }
            let (action, next) = legal[generator.random_range(0..legal.len())];
            cost += puzzle.move_cost(&state, action);
            state = next;
            moves.push(action);
        };
        let proven = moves.is_empty();
        let solution = (end == End::Solved).then_some(Incumbent { moves, cost });
        Ok(SearchResult::new(end, solution, proven, stats))
    }
}
