//! Exact distances of all states of a puzzle whose states are [numbered](Ranked): a byte a state, in one flat table.
//!
//! A breadth-first search back from the goals that marks states by number: no hash table, and no state is kept (Korf
//! and Schultze, "Large-scale parallel breadth-first search", AAAI 2005, number states so). Moves are counted, whatever
//! they cost.

use super::PerState;
use crate::puzzle::Ranked;

/// What stands for a state from which no goal can be reached.
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
    /// If a state is 255 moves or more from the goals, or there are 2³² states or more: such puzzles should not be
    /// numbered.
    pub fn of<P: Ranked>(puzzle: &P) -> Exact {
        let count = puzzle.count();
        assert!(u32::try_from(count).is_ok(), "too many states for a table");
        let mut distances = vec![UNREACHED; count];
        let mut reached: Vec<u32> = Vec::with_capacity(count);
        for goal in puzzle.goals() {
            let rank = puzzle.rank(&goal);
            distances[rank] = 0;
            reached.push(rank as u32);
        }
        let mut next = 0;
        while next < reached.len() {
            let rank = reached[next] as usize;
            next += 1;
            let distance = distances[rank] + 1;
            assert!(distance < UNREACHED, "a state is too far from the goals for a table of bytes");
            puzzle.neighbours(rank, |_, neighbour| {
                if distances[neighbour] == UNREACHED {
                    distances[neighbour] = distance;
                    reached.push(neighbour as u32);
                }
            });
        }
        Exact { distances }
    }

    /// The distance of the state with a number; `None` where no goal can be reached.
    ///
    /// # Panics
    /// If no state has this number.
    #[inline]
    pub fn distance(&self, rank: usize) -> Option<u8> {
        Some(self.distances[rank]).filter(|&distance| distance != UNREACHED)
    }

    /// How many states there are at each distance.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; 256];
        self.distances.iter().for_each(|&distance| counts[usize::from(distance)] += 1);
        counts.pop();
        let deepest = counts.iter().rposition(|&count| count > 0);
        counts.truncate(deepest.map_or(0, |deepest| deepest + 1));
        counts
    }
}

/// The estimate `exact`: the true distance, in moves; the table of the whole puzzle is built when it is first asked.
/// Admissible where every move costs at least 1.
pub fn exact<P: Ranked>(puzzle: P) -> PerState<P::State> {
    PerState::deferred("exact", true, move || {
        let table = Exact::of(&puzzle);
        move |state: &P::State| table.distance(puzzle.rank(state)).unwrap_or(UNREACHED).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heuristic::exact_distances;
    use crate::puzzle::Reversible;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::tiles::Puzzle8;

    /// Positions of the 2×2×2 cube by quarter turns (J. Scherphuis, "Mini Cube").
    const CUBE2: [usize; 15] =
        [1, 6, 27, 120, 534, 2256, 8969, 33_058, 114_149, 360_508, 930_588, 1_350_852, 782_536, 90_280, 276];

    /// Every `step`-th number stands for a state that has it.
    fn numbers_are_states<P: Ranked>(puzzle: &P, step: usize) {
        for rank in (0..puzzle.count()).step_by(step) {
            assert_eq!(puzzle.rank(&puzzle.unrank(rank)), rank);
        }
    }

    /// The table agrees with a search that hashes states, and neighbours are what moves lead to.
    fn agrees<P: Ranked>(puzzle: &P, table: &Exact, depth: u32) {
        for (state, distance) in exact_distances(puzzle, depth) {
            let rank = puzzle.rank(&state);
            assert_eq!(puzzle.unrank(rank), state);
            assert_eq!(table.distance(rank), Some(distance), "{state:?}");
            let mut neighbours = Vec::new();
            puzzle.neighbours(rank, |action, neighbour| neighbours.push((action, neighbour)));
            let moves = 0..puzzle.move_count() as u8;
            let child = |action| Some((action, puzzle.rank(&puzzle.apply(&state, action)?)));
            let children: Vec<(u8, usize)> = moves.filter_map(child).collect();
            assert_eq!(neighbours, children, "{state:?}");
        }
    }

    #[test]
    fn all_boards_of_the_eight_puzzle_are_numbered_for_any_goal() {
        for goal in ["1 2 3 4 5 6 7 8 0", "0 1 2 3 4 5 6 7 8", "8 0 6 5 4 7 2 3 1", "2 1 3 8 0 4 7 6 5"] {
            let puzzle = Puzzle8::with_goal(goal).expect("a board");
            numbers_are_states(&puzzle, 1);
            let table = Exact::of(&puzzle);
            assert_eq!(table.counts().iter().sum::<usize>(), 181_440);
            agrees(&puzzle, &table, 31);
        }
        let counts = Exact::of(&Puzzle8::default()).counts();
        assert_eq!((counts.len(), counts[31], &counts[..6]), (32, 2, &[1, 2, 4, 8, 16, 20][..]));
    }

    #[test]
    fn all_positions_of_the_small_cube_are_numbered() {
        numbers_are_states(&Cube2, 7);
        let table = Exact::of(&Cube2);
        assert_eq!(table.counts(), CUBE2);
        agrees(&Cube2, &table, 8);
        assert_eq!(table.distance(Cube2.rank(&Cube2.goals()[0])), Some(0));
    }
}
