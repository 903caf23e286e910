//! Exact distances from the goals, by breadth-first search backwards: of all states of a puzzle, in a flat table.
//!
//! The table holds a byte per state of a puzzle whose states [have indices](Indexed): no table of hashes, and no state
//! is kept (Korf and Schultze, "Large-scale parallel breadth-first search", AAAI 2005). Distances count moves, whatever
//! they cost.

use super::PerState;
use crate::puzzle::Indexed;

/// Stands for a state from which no goal can be reached.
const UNREACHED: u8 = u8::MAX;

/// The distance, in moves, of every state from the nearest goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    distances: Vec<u8>,
}

impl Exact {
    /// Searches the whole puzzle.
    ///
    /// # Panics
    /// If a state is 255 moves or more from the goals, or there are 2³² states or more: such puzzles should not
    /// offer indices.
    pub fn of<P: Indexed>(puzzle: &P) -> Exact {
        let count = puzzle.count();
        assert!(u32::try_from(count).is_ok(), "too many states for a table");
        let mut distances = vec![UNREACHED; count];
        let mut reached: Vec<u32> = Vec::with_capacity(count);
        for goal in puzzle.goals() {
            let index = puzzle.index(&goal);
            distances[index] = 0;
            reached.push(index as u32);
        }
        let mut next = 0;
        while next < reached.len() {
            let index = reached[next] as usize;
            next += 1;
            let distance = distances[index] + 1;
            assert!(distance < UNREACHED, "a state is too far from the goals for a table of bytes");
            puzzle.neighbours(index, &mut |_, neighbour| {
                if distances[neighbour] == UNREACHED {
                    distances[neighbour] = distance;
                    reached.push(neighbour as u32);
                }
            });
        }
        Exact { distances }
    }

    /// The distance of the state with an index; `None` if no goal can be reached.
    ///
    /// # Panics
    /// If no state has this index.
    #[inline]
    pub fn distance(&self, index: usize) -> Option<u8> {
        Some(self.distances[index]).filter(|&distance| distance != UNREACHED)
    }

    /// The number of states at each distance.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; usize::from(UNREACHED) + 1];
        self.distances.iter().for_each(|&distance| counts[usize::from(distance)] += 1);
        counts.pop();
        counts.truncate(counts.iter().rposition(|&count| count > 0).map_or(0, |deepest| deepest + 1));
        counts
    }
}

/// The estimate `exact`: the true distance, in moves, from a table that is built at the first query. Admissible where every
/// move costs at least 1.
pub fn exact<P: Indexed>(puzzle: P) -> PerState<P::State> {
    PerState::deferred("exact", true, move || {
        let table = Exact::of(&puzzle);
        move |state: &P::State| table.distance(puzzle.index(state)).unwrap_or(UNREACHED).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Rules as _;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::laws::exact_distances;
    use crate::puzzle::tiles::Puzzle8;

    /// Positions of the 2×2×2 cube by quarter turns (J. Scherphuis, "Mini Cube").
    const CUBE2: [usize; 15] =
        [1, 6, 27, 120, 534, 2256, 8969, 33_058, 114_149, 360_508, 930_588, 1_350_852, 782_536, 90_280, 276];

    /// Every `step`-th index stands for a state that has it.
    fn indices_are_states<P: Indexed>(puzzle: &P, step: usize) {
        for index in (0..puzzle.count()).step_by(step) {
            assert_eq!(puzzle.index(&puzzle.state_at(index)), index);
        }
    }

    /// The table agrees with a search that hashes states, and neighbours are what moves lead to.
    fn agrees<P: Indexed>(puzzle: &P, table: &Exact, depth: u32) {
        for (state, distance) in exact_distances(puzzle, depth) {
            let index = puzzle.index(&state);
            assert_eq!(puzzle.state_at(index), state);
            assert_eq!(table.distance(index), Some(distance), "{state:?}");
            let mut neighbours = Vec::new();
            puzzle.neighbours(index, &mut |action, neighbour| neighbours.push((action, neighbour)));
            let moves = 0..puzzle.move_count() as u8;
            let child = |action| Some((action, puzzle.index(&puzzle.apply(&state, action)?)));
            let children: Vec<(u8, usize)> = moves.filter_map(child).collect();
            assert_eq!(neighbours, children, "{state:?}");
        }
    }

    #[test]
    fn all_boards_of_the_eight_puzzle_have_indices_for_any_goal() {
        for goal in ["1 2 3 4 5 6 7 8 0", "0 1 2 3 4 5 6 7 8", "8 0 6 5 4 7 2 3 1", "2 1 3 8 0 4 7 6 5"] {
            let puzzle = Puzzle8::with_goal(goal).expect("a board");
            indices_are_states(&puzzle, 1);
            let table = Exact::of(&puzzle);
            assert_eq!(table.counts().iter().sum::<usize>(), 181_440);
            agrees(&puzzle, &table, 31);
        }
        let counts = Exact::of(&Puzzle8::default()).counts();
        assert_eq!((counts.len(), counts[31], &counts[..6]), (32, 2, &[1, 2, 4, 8, 16, 20][..]));
    }

    #[test]
    fn all_positions_of_the_small_cube_have_indices() {
        indices_are_states(&Cube2, 7);
        let table = Exact::of(&Cube2);
        assert_eq!(table.counts(), CUBE2);
        agrees(&Cube2, &table, 8);
        assert_eq!(table.distance(Cube2.index(&Cube2.goals()[0])), Some(0));
    }
}
