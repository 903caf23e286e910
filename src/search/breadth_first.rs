//! Breadth-first search: all states in the order of their distance from the start.
//!
//! - The goal is tested when a state is *taken from the queue*; the goal itself counts as expanded.
//! - Complete: without an answer, there is none. The answer has the fewest moves, and so is optimal where every move
//!   costs 1.
//! - Moves are tried in the puzzle's order; of several shortest answers, the first in that order is given.
//! - Time and memory grow with the number of states nearer than the goal: bᵈ for b moves and d steps.
//! - With a [`Perimeter`], the search ends at the first state inside it, D steps earlier, D being its depth: the first
//!   that is met stands on the rim, and a path through it is a shortest one.
//!
//! The queue is the list of stored nodes itself: what was stored first is taken first. Where the puzzle's states are
//! numbered without a gap ([`Numbers`]), numbers stand for states, and a byte for each says by which move it was reached:
//! no state is hashed, and a stored one takes 5 bytes (Korf and Schultze, AAAI 2005).

use super::nodes::arena::{NO_PARENT, NodeId};
use super::nodes::tree::Tree;
use super::perimeter::Perimeter;
use super::{CHECK_EVERY, Control, End, Limit, Search, SearchResult, Stats};
use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::{Cost, Move, Numbers, Puzzle, State};

/// The search `bfs`; it asks no heuristic.
#[derive(Debug, Clone)]
pub struct BreadthFirst<S> {
    /// Where it is not empty, every move of the puzzle costs 1.
    pub perimeter: Perimeter<S>,
}

impl<S: State> Default for BreadthFirst<S> {
    /// Without a perimeter.
    fn default() -> Self {
        BreadthFirst { perimeter: Perimeter::none() }
    }
}

impl<P: Puzzle> Search<P> for BreadthFirst<P::State> {
    fn name(&self) -> &'static str {
        "bfs"
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        _heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<SearchResult, HeuristicError> {
        let has_perimeter = !self.perimeter.is_empty();
        if !has_perimeter
            && let Some(numbers) = puzzle.numbers()
            && let Some(start) = numbers.number(start)
        {
            return Ok(by_number(numbers, start, puzzle.move_count(), control));
        }
        let mut tree = Tree::default();
        let mut stats = Stats::default();
        tree.store(start, NO_PARENT, 0, 0);
        let mut next: NodeId = 0;
        let mut unit_costs = true;
        // A solution by way of the perimeter.
        let mut inside = if has_perimeter { self.perimeter.path_to_goal(puzzle, start) } else { None };
        let (end, goal) = loop {
            if inside.is_some() {
                break (End::Solved, None);
            }
            if next as usize == tree.len() {
                break (End::NoSolution, None);
            }
            if stats.expanded % CHECK_EVERY == 0 {
                control.report_counts(&stats);
                if let Some(limit) = control.reached(&|| tree.bytes()) {
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
                if before == Some(child) {
                    continue;
                }
                let stored = tree.store(&child, id, action, node.g + cost);
                if has_perimeter
                    && let Some(stored) = stored
                    && self.perimeter.cost_on_rim(puzzle, &child).is_some()
                {
                    let rest = self.perimeter.path_to_goal(puzzle, &child).unwrap_or_default();
                    inside = Some([tree.path(stored), rest].concat());
                    break;
                }
            }
            stats.stored = tree.len() as u64;
        };
        stats.stored = tree.len() as u64;
        stats.seconds = control.seconds();
        let outcome = tree.outcome(end, goal, unit_costs, stats);
        Ok(match inside {
            Some(moves) => {
                SearchResult { cost: Some(moves.len() as Cost), moves: Some(moves), proven_optimal: true, ..outcome }
            }
            None => outcome,
        })
    }
}

/// No move: the state was not reached.
const UNREACHED: Move = Move::MAX;
/// No move: the search started here.
const START: Move = Move::MAX - 1;

/// The same search over the numbers of states, each move at a cost of 1.
fn by_number<S>(numbers: &dyn Numbers<S>, start: usize, moves: usize, control: &mut Control<'_>) -> SearchResult {
    let goals = numbers.goals();
    let mut reached_by = vec![UNREACHED; numbers.count()];
    let mut queue: Vec<u32> = vec![start as u32];
    reached_by[start] = START;
    let mut stats = Stats::default();
    let end = loop {
        let Some(&number) = queue.get(stats.expanded as usize) else { break End::NoSolution };
        if stats.expanded.is_multiple_of(CHECK_EVERY) {
            stats.stored = queue.len() as u64;
            control.report_counts(&stats);
            let bytes = || (reached_by.len() + 4 * queue.capacity()) as u64;
            if let Some(limit) = control.reached(&bytes) {
                break End::Limit(limit);
            }
        }
        stats.expanded += 1;
        if goals.contains(&(number as usize)) {
            break End::Solved;
        }
        if control.too_many(stats.generated + moves as u64) {
            break End::Limit(Limit::Nodes);
        }
        numbers.visit_neighbours(number as usize, &mut |action, child| {
            stats.generated += 1;
            if reached_by[child] == UNREACHED {
                reached_by[child] = action;
                queue.push(child as u32);
            }
        });
    };
    stats.stored = queue.len() as u64;
    stats.seconds = control.seconds();
    let goal = (end == End::Solved).then(|| queue[stats.expanded as usize - 1] as usize);
    let moves = goal.map(|goal| way_to(numbers, goal, &reached_by));
    SearchResult {
        end,
        cost: moves.as_ref().map(|moves| moves.len() as Cost),
        proven_optimal: goal.is_some(),
        moves,
        stats,
        proof: None,
    }
}

/// The moves by which a state was reached, found by undoing them.
fn way_to<S>(numbers: &dyn Numbers<S>, mut number: usize, reached_by: &[Move]) -> Vec<Move> {
    let mut moves = Vec::new();
    while reached_by[number] != START {
        let action = reached_by[number];
        let undo = numbers.inverse(action);
        let mut before = number;
        numbers.visit_neighbours(number, &mut |action, neighbour| {
            if action == undo {
                before = neighbour;
            }
        });
        moves.push(action);
        number = before;
    }
    moves.reverse();
    moves
}
