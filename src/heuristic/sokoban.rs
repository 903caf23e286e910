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
    // The player's steps do not change the assignment, so the last one is kept.
    let last: Mutex<Option<(u32, Squares, i64)>> = Mutex::default();
    move |position| {
        let last = || last.lock().unwrap_or_else(PoisonError::into_inner);
        let level = levels.of(position);
        if position.boxes.is_subset(&level.goals) {
            return 0.0;
        }
        let known = last().filter(|(number, boxes, _)| (*number, *boxes) == (position.level, position.boxes));
        let pushes = known.map_or_else(|| pushes(level, &position.boxes), |(.., pushes)| pushes);
        *last() = Some((position.level, position.boxes, pushes));
        let Ok(pushes) = u32::try_from(pushes) else { return HOPELESS };
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

/// The cost of a box and a goal that it cannot be pushed to.
const UNREACHABLE_COST: i64 = 1 << 32;

/// The least sum of pushes; more than a `u32` holds if a box finds no goal.
fn pushes(level: &Level, boxes: &Squares) -> i64 {
    let boxes: Vec<u8> = boxes.iter().collect();
    cheapest(boxes.len(), level.pushes.len(), |row, column| match level.pushes[column][usize::from(boxes[row])] {
        UNREACHABLE => UNREACHABLE_COST,
        pushes => pushes.into(),
    })
}

/// The cost of the cheapest assignment of each row to its own column; `rows` ≤ `columns`. By the Hungarian method with
/// potentials (Kuhn 1955, Munkres 1957; in the O(n³) form of Jonker and Volgenant 1987). Inside, rows and columns count from
/// 1, 0 stands for none, and `previous` has the column before each column on the augmenting path.
fn cheapest(rows: usize, columns: usize, cost: impl Fn(usize, usize) -> i64) -> i64 {
    let (mut row_potential, mut column_potential) = (vec![0; rows + 1], vec![0; columns + 1]);
    let (mut matched, mut previous) = (vec![0; columns + 1], vec![0; columns + 1]);
    for row in 1..=rows {
        matched[0] = row;
        let (mut least, mut used) = (vec![i64::MAX; columns + 1], vec![false; columns + 1]);
        let mut column = 0;
        while matched[column] != 0 {
            used[column] = true;
            let (from, mut delta, mut next) = (matched[column], i64::MAX, 0);
            for to in (1..=columns).filter(|&to| !used[to]) {
                let reduced = cost(from - 1, to - 1) - row_potential[from] - column_potential[to];
                if reduced < least[to] {
                    (least[to], previous[to]) = (reduced, column);
                }
                if least[to] < delta {
                    (delta, next) = (least[to], to);
                }
            }
            for to in 0..=columns {
                if used[to] {
                    row_potential[matched[to]] += delta;
                    column_potential[to] -= delta;
                } else {
                    least[to] -= delta;
                }
            }
            column = next;
        }
        while column != 0 {
            matched[column] = matched[previous[column]];
            column = previous[column];
        }
    }
    -column_potential[0]
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
        for _ in 0..500 {
            let columns = 1 + below(&mut generator, 5);
            let rows = 1 + below(&mut generator, columns);
            let costs: Vec<i64> = (0..rows * columns).map(|_| below(&mut generator, 20) as i64).collect();
            fn best(costs: &[i64], columns: usize, row: usize, taken: u32) -> i64 {
                if row * columns == costs.len() {
                    return 0;
                }
                let free = (0..columns).filter(|column| taken >> column & 1 == 0);
                free.map(|column| costs[row * columns + column] + best(costs, columns, row + 1, taken | 1 << column))
                    .min()
                    .expect("there are enough columns")
            }
            let found = cheapest(rows, columns, |row, column| costs[row * columns + column]);
            assert_eq!(found, best(&costs, columns, 0, 0), "{costs:?}");
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
