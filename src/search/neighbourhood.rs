//! A shorter solution near a known one: the shortest path through the states around it.
//!
//! Source: Nakhost and Müller, "Action Elimination and Plan Neighborhood Graph Search: Two Algorithms for Plan Improvement"
//! (ICAPS 2010), section 4.

use super::CHECK_EVERY;
use crate::puzzle::{Move, Puzzle};
use hashbrown::HashTable;
use std::sync::atomic::{AtomicBool, Ordering};

/// The states around a path, each with how it was first reached from the start.
struct Neighbourhood<'a, P: Puzzle> {
    puzzle: &'a P,
    states: Vec<P::State>,
    indices: HashTable<u32>,
}

impl<P: Puzzle> Neighbourhood<'_, P> {
    fn index(&self, state: &P::State) -> Option<u32> {
        let found = self.indices.find(self.puzzle.state_hash(state), |&index| self.states[index as usize] == *state);
        found.copied()
    }

    /// Adds a state, unless it is there.
    fn add(&mut self, state: P::State) {
        if self.index(&state).is_none() {
            let states = &self.states;
            let hash = |&index: &u32| self.puzzle.state_hash(&states[index as usize]);
            self.indices.insert_unique(self.puzzle.state_hash(&state), states.len() as u32, hash);
            self.states.push(state);
        }
    }

    /// The shortest path from the first state to one that is solved.
    fn shortest_path(&self, is_solved: impl Fn(&P::State) -> bool) -> Option<Vec<Move>> {
        let mut parents: Vec<Option<(u32, Move)>> = vec![None; self.states.len()];
        let mut queue = vec![0u32];
        let mut next = 0;
        while let Some(&index) = queue.get(next) {
            next += 1;
            if is_solved(&self.states[index as usize]) {
                let steps = std::iter::successors(parents[index as usize], |&(parent, _)| parents[parent as usize]);
                let mut moves: Vec<Move> = steps.map(|(_, action)| action).collect();
                moves.reverse();
                return Some(moves);
            }
            for (action, child) in self.puzzle.children(&self.states[index as usize]) {
                if let Some(child) = self.index(&child)
                    && child != 0
                    && parents[child as usize].is_none()
                {
                    parents[child as usize] = Some((index, action));
                    queue.push(child);
                }
            }
        }
        None
    }
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
    let mut around = Neighbourhood { puzzle, states: Vec::new(), indices: HashTable::new() };
    let mut state = *start;
    around.add(state);
    for &action in moves {
        let Some(next) = puzzle.apply(&state, action) else { return moves.to_vec() };
        state = next;
        around.add(state);
    }
    let mut next = 0;
    while next < around.states.len() && around.states.len() < most_states {
        if (next as u64).is_multiple_of(CHECK_EVERY) && stop.load(Ordering::Relaxed) {
            return moves.to_vec();
        }
        let state = around.states[next];
        puzzle.children(&state).for_each(|(_, child)| around.add(child));
        next += 1;
    }
    around.shortest_path(is_solved).filter(|path| path.len() < moves.len()).unwrap_or_else(|| moves.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::tiles::Puzzle8;
    use crate::puzzle::{Notation as _, Rules as _, replay};

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
        stop.store(true, Ordering::Relaxed);
        assert_eq!(shortened(&board, &start, &walk, is_solved, 200_000, &stop), walk);
    }
}
