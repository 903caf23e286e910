//! Breadth-first search: all states in the order of their distance from the start.
//!
//! - The goal is tested when a state is *taken from the queue*; the goal itself counts as expanded.
//! - Complete: without an answer, there is none. The answer has the fewest moves, and so is optimal where every move
//!   costs 1.
//! - Moves are tried in the puzzle's order; of several shortest answers, the first in that order is given.
//! - Time and memory grow with the number of states nearer than the goal: bᵈ for b moves and d steps.
//!
//! The queue is the list of stored nodes itself: what was stored first is taken first.

use super::arena::{NO_PARENT, NodeId};
use super::tree::Tree;
use super::{Control, End, LOOK_EVERY, Limit, Outcome, Search, Stats};
use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::{Move, Puzzle};

/// The search `bfs`; it asks no heuristic.
#[derive(Debug, Clone, Copy, Default)]
pub struct BreadthFirst;

impl<P: Puzzle> Search<P> for BreadthFirst {
    fn name(&self) -> &'static str {
        "bfs"
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        _heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        let mut tree = Tree::default();
        let mut stats = Stats::default();
        tree.store(start, NO_PARENT, 0, 0);
        let mut next: NodeId = 0;
        let mut unit_costs = true;
        let (end, goal) = loop {
            if next as usize == tree.len() {
                break (End::NoSolution, None);
            }
            if stats.expanded % LOOK_EVERY == 0 {
                control.report_counts(&stats);
                if let Some(limit) = control.reached(|| tree.bytes()) {
                    break (End::Limit(limit), None);
                }
            }
            let (id, node) = (next, tree[next]);
            next += 1;
            stats.expanded += 1;
            if puzzle.is_goal(&node.state) {
                break (End::Solved, Some(id));
            }
            if control.too_many(stats.generated + puzzle.move_count() as u64) {
                break (End::Limit(Limit::Nodes), None);
            }
            let before = tree.before(&node);
            for action in 0..puzzle.move_count() as Move {
                let Some(child) = puzzle.apply(&node.state, action) else { continue };
                stats.generated += 1;
                let cost = puzzle.move_cost(&node.state, action);
                unit_costs &= cost == 1;
                if before != Some(child) {
                    tree.store(&child, id, action, node.g + cost);
                }
            }
            stats.stored = tree.len() as u64;
        };
        stats.stored = tree.len() as u64;
        stats.seconds = control.seconds();
        Ok(tree.outcome(end, goal, unit_costs, stats))
    }
}
