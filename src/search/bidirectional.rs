//! Bidirectional breadth-first search: from the start and from the goals at once, until the two meet.
//!
//! - For puzzles whose goals are known and whose moves can be undone.
//! - Start and goals enter one first-in first-out queue; every stored state knows its side. The search ends when a state
//!   of one side makes a state of the other.
//! - Complete, and the solution has the fewest moves: the sides grow by whole layers in turn, so the first meeting is on a
//!   shortest path.
//! - Time and memory: two searches of half the depth, 2·b^(d/2) states for b moves and d steps.
//! - A [perimeter](super::perimeter) replaces the side of the goals: only the side of the start is searched.
//!
//! Pohl, "Bi-directional search" (Machine Intelligence 6, 1971).

use super::breadth_first::BreadthFirst;
use super::nodes::arena::{NO_PARENT, NodeId};
use super::nodes::tree::Tree;
use super::{CHECK_EVERY, Control, End, Incumbent, Limit, Search, SearchResult, Stats};
use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::{Move, Reversible, State};

/// The search `bidirectional`, which uses no heuristic.
#[derive(Debug, Clone)]
pub struct Bidirectional<S> {
    /// The start's side.
    pub forward: BreadthFirst<S>,
}

impl<S: State> Default for Bidirectional<S> {
    /// Without a perimeter.
    fn default() -> Self {
        Bidirectional { forward: BreadthFirst::default() }
    }
}

impl<P: Reversible> Search<P> for Bidirectional<P::State> {
    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<SearchResult, HeuristicError> {
        if !self.forward.perimeter.is_empty() {
            return self.forward.run(puzzle, start, heuristic, control);
        }
        let (tree, stats) = (Tree::default(), Stats::default());
        let mut run = BidirectionalRun { puzzle, tree, backward: Vec::new(), stats, unit_costs: true };
        let (end, moves) = run.search(start, control);
        let stats = Stats { stored: run.tree.arena.len() as u64, ..run.stats };
        let solution = moves.map(|moves| Incumbent::replayed(puzzle, start, moves));
        Ok(SearchResult::new(end, solution, run.unit_costs, stats))
    }
}

struct BidirectionalRun<'a, P: Reversible> {
    puzzle: &'a P,
    tree: Tree<P::State>,
    /// Whether each node was reached from a goal.
    backward: Vec<bool>,
    stats: Stats,
    unit_costs: bool,
}

impl<P: Reversible> BidirectionalRun<'_, P> {
    fn search(&mut self, start: &P::State, control: &mut Control<'_>) -> (End, Option<Vec<Move>>) {
        self.tree.store(start, NO_PARENT, 0, 0);
        self.backward.push(false);
        for goal in self.puzzle.goals() {
            if goal == *start {
                return (End::Solved, Some(Vec::new()));
            }
            if self.tree.store(&goal, NO_PARENT, 0, 0).is_some() {
                self.backward.push(true);
            }
        }
        // Nodes of each side that wait to be expanded: once a side has none, the two cannot meet any more.
        let mut waiting = [1, self.tree.arena.len() - 1];
        let mut next: NodeId = 0;
        while waiting[0] > 0 && waiting[1] > 0 {
            if self.stats.expanded.is_multiple_of(CHECK_EVERY) {
                self.stats.stored = self.tree.arena.len() as u64;
                control.report_counts(&self.stats);
                if let Some(limit) = control.reached(&|| self.tree.bytes() + self.backward.capacity() as u64) {
                    return (End::Limit(limit), None);
                }
            }
            if control.too_many(self.stats.generated + self.puzzle.move_count() as u64) {
                return (End::Limit(Limit::Nodes), None);
            }
            if let Some(moves) = self.expand(next, &mut waiting) {
                return (End::Solved, Some(moves));
            }
            next += 1;
        }
        (End::NoSolution, None)
    }

    /// Expands a node; gives the path if it meets the other side.
    fn expand(&mut self, id: NodeId, waiting: &mut [usize; 2]) -> Option<Vec<Move>> {
        let node = self.tree.arena[id];
        let backward = self.backward[id as usize];
        self.stats.expanded += 1;
        waiting[usize::from(backward)] -= 1;
        let before = self.tree.before(&node);
        // From a goal's side, the inverse of `action` leads from the child to this node.
        for (action, child) in self.puzzle.children(&node.state) {
            self.stats.generated += 1;
            self.unit_costs &= self.puzzle.move_cost(&node.state, action) == 1;
            if before == Some(child) {
                continue;
            }
            match self.tree.find_or_store(&child, id, action, node.g + 1) {
                Ok(_) => {
                    self.backward.push(backward);
                    waiting[usize::from(backward)] += 1;
                }
                Err(other) if self.backward[other as usize] != backward => {
                    let (forward, back) = if backward { (other, id) } else { (id, other) };
                    let middle = if backward { self.puzzle.inverse(action) } else { action };
                    let mut moves = self.tree.arena.path(forward);
                    moves.push(middle);
                    let back = self.tree.arena.path(back);
                    moves.extend(back.iter().rev().map(|&action| self.puzzle.inverse(action)));
                    return Some(moves);
                }
                Err(_) => {}
            }
        }
        None
    }
}
