//! The estimate `matching` for Sokoban: the cheapest assignment of boxes to goals, a lower bound of the pushes.

use super::PerState;
use crate::puzzle::Move;
use crate::puzzle::sokoban::level::{Level, NOWHERE, UNREACHABLE};
use crate::puzzle::sokoban::{Levels, Position, Sokoban, Squares};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The estimate if a box has no goal that it can be pushed to: above the cost of any solvable level.
const HOPELESS: f32 = 1e6;

/// The estimates of the puzzle.
pub(crate) fn heuristics(puzzle: &Sokoban) -> Vec<PerState<Position>> {
    vec![PerState::new("matching", true, estimate(Arc::clone(&puzzle.levels), !puzzle.pushes))]
}

/// The estimate of a level: the pushes of the cheapest matching of boxes to goals; if steps count, also the steps that
/// the player needs to a box. Admissible: boxes are pushed as if nothing else stood in the way.
fn estimate(levels: Arc<Levels>, by_moves: bool) -> impl Fn(&Position) -> f32 + Send + Sync {
    // One for each thread that estimates at the same time.
    let matchings: Mutex<Vec<Matching>> = Mutex::default();
    move |position| {
        let idle = || matchings.lock().unwrap_or_else(PoisonError::into_inner);
        let level = levels.of(position);
        if position.boxes.is_subset(&level.goals) {
            return 0.0;
        }
        let mut matching = idle().pop().unwrap_or_default();
        let pushes = matching.pushes(level, position);
        idle().push(matching);
        let Some(pushes) = pushes else { return HOPELESS };
        (pushes + if by_moves { steps_to_a_box(level, position) } else { 0 }) as f32
    }
}

/// Steps until the player stands next to a box.
fn steps_to_a_box(level: &Level, position: &Position) -> u32 {
    let mut seen = Squares::default();
    let mut queue = VecDeque::from([(position.player, 0)]);
    seen.insert(position.player);
    while let Some((square, steps)) = queue.pop_front() {
        for direction in 0..4 as Move {
            let to = level.side(square, direction);
            if to == NOWHERE || seen.contains(to) {
                continue;
            }
            if position.boxes.contains(to) {
                return steps;
            }
            seen.insert(to);
            queue.push_back((to, steps + 1));
        }
    }
    0
}

/// The assignment problem, by the Hungarian method with potentials (Kuhn 1955, Munkres 1957; in the O(n³) form of Jonker
/// and Volgenant 1987). The player's steps do not change it, so the last result is kept.
#[derive(Debug, Default)]
struct Matching {
    last: Option<(u32, Squares, Option<u32>)>,
    costs: Vec<i64>,
    row_potential: Vec<i64>,
    column_potential: Vec<i64>,
    matched: Vec<usize>,
    /// The column before each column on the augmenting path.
    previous: Vec<usize>,
    least: Vec<i64>,
    used: Vec<bool>,
}

/// The cost of a box and a goal that it cannot be pushed to.
const UNREACHABLE_COST: i64 = 1 << 32;

/// Fills a buffer anew.
fn reset<T: Clone>(buffer: &mut Vec<T>, length: usize, value: T) {
    buffer.clear();
    buffer.resize(length, value);
}

impl Matching {
    /// The least sum of pushes; `None` if a box finds no goal.
    fn pushes(&mut self, level: &Level, position: &Position) -> Option<u32> {
        if let Some((number, boxes, pushes)) = self.last
            && number == position.level
            && boxes == position.boxes
        {
            return pushes;
        }
        self.costs.clear();
        for square in position.boxes.iter() {
            self.costs.extend(level.pushes.iter().map(|pushes| match pushes[usize::from(square)] {
                UNREACHABLE => UNREACHABLE_COST,
                pushes => i64::from(pushes),
            }));
        }
        let cost = self.solve(position.boxes.len(), level.pushes.len());
        let pushes = u32::try_from(cost).ok();
        self.last = Some((position.level, position.boxes, pushes));
        pushes
    }

    /// The cost of the cheapest assignment of each row to its own column; `rows` ≤ `columns`. Rows and columns count from 1,
    /// 0 stands for none.
    fn solve(&mut self, rows: usize, columns: usize) -> i64 {
        reset(&mut self.row_potential, rows + 1, 0);
        reset(&mut self.column_potential, columns + 1, 0);
        reset(&mut self.matched, columns + 1, 0);
        reset(&mut self.previous, columns + 1, 0);
        (1..=rows).for_each(|row| self.add(row, columns));
        -self.column_potential[0]
    }

    /// Adds a row along the shortest augmenting path.
    fn add(&mut self, row: usize, columns: usize) {
        self.matched[0] = row;
        reset(&mut self.least, columns + 1, i64::MAX);
        reset(&mut self.used, columns + 1, false);
        let mut column = 0;
        while self.matched[column] != 0 {
            self.used[column] = true;
            let from = self.matched[column];
            let (mut delta, mut next) = (i64::MAX, 0);
            for to in (1..=columns).filter(|&to| !self.used[to]) {
                let reduced =
                    self.costs[(from - 1) * columns + to - 1] - self.row_potential[from] - self.column_potential[to];
                if reduced < self.least[to] {
                    (self.least[to], self.previous[to]) = (reduced, column);
                }
                if self.least[to] < delta {
                    (delta, next) = (self.least[to], to);
                }
            }
            for to in 0..=columns {
                if self.used[to] {
                    self.row_potential[self.matched[to]] += delta;
                    self.column_potential[to] -= delta;
                } else if to > 0 {
                    self.least[to] -= delta;
                }
            }
            column = next;
        }
        while column != 0 {
            let before = self.previous[column];
            self.matched[column] = self.matched[before];
            column = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Notation as _;
    use crate::puzzle::sokoban::Sokoban;
    use crate::random::{below, generator};
    use crate::registry::Entry;
    use crate::sampler::known_costs;

    #[test]
    fn the_assignment_is_the_cheapest_of_all() {
        let mut generator = generator(4, 0);
        let mut matching = Matching::default();
        for _ in 0..500 {
            let columns = 1 + below(&mut generator, 5);
            let rows = 1 + below(&mut generator, columns);
            matching.costs = (0..rows * columns).map(|_| below(&mut generator, 20) as i64).collect();
            let costs = matching.costs.clone();
            fn best(costs: &[i64], columns: usize, row: usize, taken: u32) -> i64 {
                if row * columns == costs.len() {
                    return 0;
                }
                let free = (0..columns).filter(|column| taken >> column & 1 == 0);
                free.map(|column| costs[row * columns + column] + best(costs, columns, row + 1, taken | 1 << column))
                    .min()
                    .expect("there are enough columns")
            }
            assert_eq!(matching.solve(rows, columns), best(&costs, columns, 0, 0), "{costs:?}");
        }
    }

    #[test]
    fn it_is_never_above_the_cost() {
        let level = "########\n#   .  #\n# $ #$ #\n#  @   #\n# .#   #\n########";
        for puzzle in [Sokoban::by_moves(), Sokoban::by_pushes()] {
            let start = puzzle.parse(level).expect("a level");
            let mut heuristic = Entry::from(puzzle.clone()).heuristic("matching").expect("it has it");
            let known = known_costs(&puzzle, &start);
            assert!(known.len() > 1000, "{}", known.len());
            let (mut sum, mut costs) = (0.0, 0.0);
            for (state, cost, _) in &known {
                let estimate = heuristic.estimate(state).expect("it does not fail");
                assert!(estimate <= *cost as f32, "{estimate} of {cost}\n{}", puzzle.format(state));
                sum += estimate;
                costs += *cost as f32;
            }
            assert!(sum > 0.3 * costs, "it says something: {sum} of {costs}");
        }
    }
}
