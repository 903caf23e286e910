//! Breadth-first search: all states in the order of their distance from the start.
//!
//! - The goal is tested when a state is *taken from the queue*; the goal itself counts as expanded.
//! - Complete: no solution means that none exists. The solution has the fewest moves, and is optimal if every move
//!   costs 1.
//! - Moves are tried in the puzzle's order; ties go to the first solution in that order.
//! - Time and memory grow with the number of states nearer than the goal: bᵈ for b moves and d steps.
//! - With a [`Perimeter`] of depth D, the search ends D steps earlier, at the first state inside: it stands on the rim,
//!   and a path through it is a shortest one.
//!
//! The queue is the list of stored nodes itself: what was stored first is taken first. If the puzzle's states have
//! indices without a gap ([`Indexed`]), indices stand for states: a byte for each says by which move it was reached, and the
//! queue holds its index and the place of its parent, 8 bytes. No state is hashed (Korf and Schultze, AAAI 2005).

use super::nodes::{NO_PARENT, Node, NodeId, Stored};
use super::perimeter::Perimeter;
use super::{Control, End, Incumbent, Search, SearchResult, Stats, Task};
use crate::error::Result;
use crate::puzzle::{Cost, Indexed, Move, Puzzle, State};

/// The search `bfs`, which uses no heuristic.
#[derive(Debug, Clone)]
pub struct BreadthFirst<S> {
    /// Empty, unless every move of the puzzle costs 1.
    pub perimeter: Perimeter<S>,
}

impl<S: State> Default for BreadthFirst<S> {
    /// Without a perimeter.
    fn default() -> Self {
        BreadthFirst { perimeter: Perimeter::none() }
    }
}

impl<P: Puzzle> Search<P> for BreadthFirst<P::State> {
    fn solve(&self, task: Task<'_, '_, P>) -> Result<SearchResult> {
        let Task { puzzle, start, control, .. } = task;
        if self.perimeter.is_empty()
            && let Some(states) = puzzle.state_index()
            && let index = states.index(start)
            && states.state_at(index) == *start
        {
            return Ok(by_index(states, index, control));
        }
        Ok(self.search(puzzle, start, &[], control))
    }
}

impl<S: State> BreadthFirst<S> {
    /// Searches from the start; if there are `goals`, from them at the same time, until the two sides meet. Only then must
    /// the puzzle be reversible.
    pub(super) fn search<P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        start: &S,
        goals: &[S],
        control: &mut Control<'_>,
    ) -> SearchResult {
        let (has_perimeter, has_goals) = (!self.perimeter.is_empty(), !goals.is_empty());
        let mut stored = Stored::default();
        let mut stats = Stats::default();
        let mut unit_costs = true;
        let mut known = if has_perimeter { self.perimeter.path_to_goal(puzzle, start) } else { None };
        let root = |state: &S| Node::new(*state, NO_PARENT, 0, 0);
        let _ = stored.store(root(start));
        // Whether each node was reached from a goal.
        let mut backward = vec![false];
        for goal in goals {
            match stored.store(root(goal)) {
                Ok(_) => backward.push(true),
                Err(other) if !backward[other as usize] => known = Some(Vec::new()),
                Err(_) => {}
            }
        }
        // Nodes of each side that wait to be expanded: once a side has none, the two cannot meet any more.
        let mut waiting = [1, backward.len() - 1];
        let (end, moves) = 'search: loop {
            if known.is_some() {
                break (End::Solved, known);
            }
            if waiting[0] == 0 || (has_goals && waiting[1] == 0) {
                break (End::NoSolution, None);
            }
            let id = stats.expanded as NodeId;
            let (node, is_backward) = (stored.arena[id], backward[id as usize]);
            if !has_goals && puzzle.is_goal(&node.state) {
                stats.expanded += 1;
                break (End::Solved, Some(stored.arena.path(id)));
            }
            let bytes = || stored.bytes() + backward.capacity() as u64;
            if let Some(limit) = control.limit_at(&stats, puzzle.move_count(), &bytes) {
                break (End::Limit(limit), None);
            }
            stats.expanded += 1;
            waiting[usize::from(is_backward)] -= 1;
            // If moves can be undone, a child often has this state, which is stored already.
            let before = (node.parent != NO_PARENT).then(|| stored.arena[node.parent].state);
            for (action, child) in puzzle.children(&node.state) {
                stats.generated += 1;
                let cost = puzzle.move_cost(&node.state, action);
                unit_costs &= cost == 1;
                if before == Some(child) {
                    continue;
                }
                match stored.store(Node::new(child, id, action, node.g + cost)) {
                    Ok(new) => {
                        backward.push(is_backward);
                        waiting[usize::from(is_backward)] += 1;
                        if has_perimeter
                            && self.perimeter.reaches(self.perimeter.key(&child))
                            && let Some(rest) = self.perimeter.path_to_goal(puzzle, &child)
                        {
                            break 'search (End::Solved, Some([stored.arena.path(new), rest].concat()));
                        }
                    }
                    Err(other) if has_goals && backward[other as usize] != is_backward => {
                        // From a goal's side, the inverse of `action` leads from the child to this node.
                        let (forward, middle, back) =
                            if is_backward { (other, puzzle.inverse(action), id) } else { (id, action, other) };
                        let rest =
                            stored.arena.path(back).into_iter().rev().map(|action| puzzle.inverse(action)).collect();
                        break 'search (End::Solved, Some([stored.arena.path(forward), vec![middle], rest].concat()));
                    }
                    Err(_) => {}
                }
            }
            stats.stored = stored.arena.len() as u64;
        };
        stats.stored = stored.arena.len() as u64;
        let solution = moves.map(|moves| Incumbent::replayed(puzzle, start, moves));
        SearchResult::new(end, solution, unit_costs, stats)
    }
}

/// No move: the state was not reached.
const UNREACHED: Move = Move::MAX;

/// The same search over the indices of states, with moves that cost 1.
fn by_index<S: State>(states: &dyn Indexed<State = S>, start: usize, control: &mut Control<'_>) -> SearchResult {
    let goals: Vec<usize> = states.goals().iter().map(|goal| states.index(goal)).collect();
    let mut reached_by = vec![UNREACHED; states.count()];
    // The index of each state, and the place of the state before it.
    let mut queue = vec![[start as u32, 0]];
    // Any move: a path ends there.
    reached_by[start] = 0;
    let mut stats = Stats::default();
    let end = loop {
        let place = stats.expanded as u32;
        let Some(&[index, _]) = queue.get(place as usize) else { break End::NoSolution };
        if goals.contains(&(index as usize)) {
            break End::Solved;
        }
        stats.stored = queue.len() as u64;
        let bytes = || (reached_by.len() + 8 * queue.capacity()) as u64;
        if let Some(limit) = control.limit_at(&stats, states.move_count(), &bytes) {
            break End::Limit(limit);
        }
        stats.expanded += 1;
        states.neighbours(index as usize, &mut |action, child| {
            stats.generated += 1;
            if reached_by[child] == UNREACHED {
                reached_by[child] = action;
                queue.push([child as u32, place]);
            }
        });
    };
    stats.stored = queue.len() as u64;
    let solution = (end == End::Solved).then(|| {
        let (mut moves, mut place) = (Vec::new(), stats.expanded as usize);
        while place > 0 {
            let [index, before] = queue[place];
            moves.push(reached_by[index as usize]);
            place = before as usize;
        }
        moves.reverse();
        Incumbent { cost: moves.len() as Cost, moves }
    });
    stats.expanded += u64::from(solution.is_some());
    SearchResult::new(end, solution, true, stats)
}
