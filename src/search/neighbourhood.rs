//! A shorter solution near a known one: the shortest path through the states around it.
//!
//! Source: Nakhost and Müller, "Action Elimination and Plan Neighborhood Graph Search: Two Algorithms for Plan Improvement"
//! (ICAPS 2010), section 4.

use super::CHECK_EVERY;
use super::nodes::{NO_PARENT, Node, NodeId, Stored, hash};
use crate::puzzle::{Move, Puzzle};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a search of many states is to end before its state `next`.
fn is_stopped(next: NodeId, stop: &AtomicBool) -> bool {
    u64::from(next).is_multiple_of(CHECK_EVERY) && stop.load(Ordering::Relaxed)
}

/// The shortest path from the first of some states to one that is solved, through these states alone; `None` also if `stop`
/// is set.
fn shortest_path<P: Puzzle>(
    puzzle: &P,
    around: &Stored<P::State>,
    is_solved: impl Fn(&P::State) -> bool,
    stop: &AtomicBool,
) -> Option<Vec<Move>> {
    let mut reached = Stored::default();
    let _ = reached.store(Node::new(around.arena[0].state, NO_PARENT, 0, 0));
    let mut next: NodeId = 0;
    while (next as usize) < reached.arena.len() && !is_stopped(next, stop) {
        let state = reached.arena[next].state;
        if is_solved(&state) {
            return Some(reached.arena.path(next));
        }
        for (action, child) in puzzle.children(&state) {
            if around.find(hash(&child), &child).is_some() {
                let _ = reached.store(Node::new(child, next, action, 0));
            }
        }
        next += 1;
    }
    None
}

/// The shortest solution among the states around a known one: those of its path, and the nearest others until there are about
/// `most_states`. Moves count 1 each. Returns `moves` if no path is shorter, if `stop` is set, or if `moves` does not solve.
pub fn shortened<P: Puzzle>(
    puzzle: &P,
    start: &P::State,
    moves: &[Move],
    is_solved: impl Fn(&P::State) -> bool,
    most_states: usize,
    stop: &AtomicBool,
) -> Vec<Move> {
    let mut around = Stored::default();
    let mut state = *start;
    let node = |state| Node::new(state, NO_PARENT, 0, 0);
    let _ = around.store(node(state));
    for &action in moves {
        let Some(next) = puzzle.apply(&state, action) else { return moves.to_vec() };
        state = next;
        let _ = around.store(node(state));
    }
    let mut next: NodeId = 0;
    while (next as usize) < around.arena.len() && around.arena.len() < most_states && !is_stopped(next, stop) {
        let state = around.arena[next].state;
        for (_, child) in puzzle.children(&state) {
            let _ = around.store(node(child));
        }
        next += 1;
    }
    let path = shortest_path(puzzle, &around, is_solved, stop);
    path.filter(|path| path.len() < moves.len()).unwrap_or_else(|| moves.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::tiles::Puzzle8;
    use crate::puzzle::{Notation as _, Rules as _, replay};
    use std::cell::Cell;

    #[test]
    fn detours_near_a_solution_are_cut_off() {
        let stop = AtomicBool::new(false);
        let start = Cube3.parse("R U F'").expect("a scramble");
        for detour in ["F U' R'", "L L' F U' R'", "F U' D F F' D' R'", "F R R R R U' R'", "F U U U R'"] {
            let moves = Cube3.parse_moves(detour).expect("moves");
            let found = shortened(&Cube3, &start, &moves, |state| Cube3.is_goal(state), 2000, &stop);
            assert_eq!(found.len(), 3, "{detour}");
            assert!(replay(&Cube3, &start, &found).is_ok_and(|(end, _)| Cube3.is_goal(&end)));
        }
        // A wandering walk back from the hardest board.
        let board = Puzzle8::default();
        let start = board.parse("8 6 7 2 5 4 3 0 1").expect("a board");
        let is_solved = |state: &_| board.is_goal(state);
        let (mut state, mut walk, mut generator) = (start, Vec::new(), crate::random::generator(5, 0));
        while !board.is_goal(&state) {
            let action = crate::random::below(&mut generator, 4) as Move;
            if let Some(next) = board.apply(&state, action) {
                state = next;
                walk.push(action);
            }
        }
        assert!(walk.len() > 1000);
        assert_eq!(shortened(&board, &start, &walk, is_solved, 200_000, &stop).len(), 31);
        assert!(
            shortened(&board, &start, &walk, is_solved, 0, &stop).len() < walk.len(),
            "loops are cut off without any detour"
        );
        let tried = Cell::new(0);
        let stopped_at_first = |state: &_| {
            stop.store(true, Ordering::Relaxed);
            tried.set(tried.get() + 1);
            board.is_goal(state)
        };
        assert_eq!(shortened(&board, &start, &walk, stopped_at_first, 200_000, &stop), walk);
        assert_eq!(tried.get(), CHECK_EVERY, "it ends soon");
        assert_eq!(shortened(&board, &start, &walk, is_solved, 200_000, &stop), walk);
    }
}
