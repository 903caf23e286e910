//! How many states a puzzle has, and how long walks must be to come to all of them.

use super::Permutation;
use crate::puzzle::{Move, Rules as _};
use crate::random::{Generator, below, generator};
use std::collections::HashSet;

/// Walks are longer than the moves that most states need, because they go back and forth: on the cube, whose walks of 26 moves
/// make good networks, 1.3 times.
const WALK_FACTOR: f64 = 1.3;

/// The layers around the goal are counted up to this many states, and none that would have more than four times as many.
const COUNTED_STATES: usize = 50_000;
const MAX_LAYER: f64 = 4.0 * COUNTED_STATES as f64;

/// A permutation of positions: i goes to `self[i]`.
type Positions = Vec<u16>;

/// The moves of walks from the goal that reach most states: all layers of a small puzzle; else as many as it takes to reach
/// all states if each layer grows as the first ones do.
pub(super) fn walk_length<const N: usize>(puzzle: &Permutation<N>) -> u32 {
    let (mut layer, mut seen) = (vec![puzzle.goal], HashSet::from([puzzle.goal]));
    let (mut depth, mut growth) = (0, 1.0);
    while !layer.is_empty() && seen.len() < COUNTED_STATES && growth * (layer.len() as f64) < MAX_LAYER {
        let mut next = Vec::new();
        for state in &layer {
            let children = (0..puzzle.move_count() as Move).filter_map(|action| puzzle.apply(state, action));
            next.extend(children.filter(|child| seen.insert(*child)));
        }
        growth = next.len() as f64 / layer.len() as f64;
        (layer, depth) = (next, depth + 1);
    }
    let moves = if layer.is_empty() { f64::from(depth - 1) } else { ln_states(puzzle) / growth.max(1.1).ln() };
    (WALK_FACTOR * moves).ceil().clamp(2.0, 2000.0) as u32
}

/// The logarithm of a bound on the number of states: the order of the group of the moves, or the arrangements of the symbols
/// on the positions that move.
fn ln_states<const N: usize>(puzzle: &Permutation<N>) -> f64 {
    let description = &puzzle.description;
    if let Some(cube) = &description.cube {
        return cube.ln_states();
    }
    let moves: Vec<Positions> = description.moves.iter().map(|(_, permutation)| permutation.clone()).collect();
    let moving = |&at: &usize| moves.iter().any(|permutation| usize::from(permutation[at]) != at);
    let mut counts = vec![0u32; description.symbols.len()];
    let mut positions = 0;
    for at in (0..description.positions()).filter(moving) {
        counts[usize::from(description.goal[at])] += 1;
        positions += 1;
    }
    let ln_factorial = |n: u32| (1..=n).map(|k| f64::from(k).ln()).sum::<f64>();
    let arrangements = ln_factorial(positions) - counts.into_iter().map(ln_factorial).sum::<f64>();
    arrangements.min(ln_order(&moves))
}

/// One step of a chain of stabilizers: the elements that fix the base points of all levels before.
struct Level {
    base: u16,
    generators: Vec<Positions>,
    /// For each point of the orbit, an element that takes the base there.
    to: Vec<Option<Positions>>,
}

/// The logarithm of the order of the group that permutations generate, by the random Schreier-Sims method (Leon, "On an
/// algorithm for finding a base and a strong generating set for a group given by generating permutations", 1980).
fn ln_order(generators: &[Positions]) -> f64 {
    /// After this many random elements in a row without a new generator, none is missing: it would show in half of them.
    const ENOUGH: u32 = 30;
    let mut levels: Vec<Level> = Vec::new();
    generators.iter().for_each(|generator| add(&mut levels, generator.clone()));
    let mut random = RandomElements::new(generators);
    let mut without = 0;
    while without < ENOUGH {
        let before: usize = levels.iter().map(|level| level.generators.len()).sum();
        add(&mut levels, random.next());
        let is_new = levels.iter().map(|level| level.generators.len()).sum::<usize>() > before;
        without = if is_new { 0 } else { without + 1 };
    }
    levels.iter().map(|level| (level.to.iter().flatten().count() as f64).ln()).sum()
}

/// Adds what an element has beyond the known elements.
fn add(levels: &mut Vec<Level>, mut element: Positions) {
    let mut at = 0;
    while let Some(level) = levels.get(at)
        && let Some(to) = &level.to[usize::from(element[usize::from(level.base)])]
    {
        element = after(&element, &inverse(to));
        at += 1;
    }
    if at == levels.len() {
        let Some(base) = (0..=u16::MAX).zip(&element).find(|(from, to)| from != *to).map(|(from, _)| from) else {
            return;
        };
        let mut to = vec![None; element.len()];
        to[usize::from(base)] = Some((0..=u16::MAX).take(element.len()).collect());
        levels.push(Level { base, generators: Vec::new(), to });
    }
    levels[..=at].iter_mut().for_each(|level| level.add(element.clone()));
}

impl Level {
    fn add(&mut self, generator: Positions) {
        self.generators.push(generator);
        let mut open: Vec<usize> = (0..self.to.len()).filter(|&point| self.to[point].is_some()).collect();
        while let Some(point) = open.pop() {
            for generator in &self.generators {
                let next = usize::from(generator[point]);
                if let (None, Some(to)) = (&self.to[next], &self.to[point]) {
                    self.to[next] = Some(after(to, generator));
                    open.push(next);
                }
            }
        }
    }
}

/// Nearly uniform elements of a group, by product replacement (Celler et al., "Generating random elements of a finite
/// group", 1995).
struct RandomElements {
    pool: Vec<Positions>,
    product: Positions,
    random: Generator,
}

impl RandomElements {
    fn new(generators: &[Positions]) -> Self {
        const LEAST: usize = 10;
        const WARM_UP: usize = 100;
        let pool: Vec<_> = generators.iter().cycle().take(generators.len().max(LEAST)).cloned().collect();
        let mut elements = RandomElements { product: pool[0].clone(), pool, random: generator(0, 1) };
        (0..WARM_UP).for_each(|_| drop(elements.next()));
        elements
    }

    fn next(&mut self) -> Positions {
        let changed = below(&mut self.random, self.pool.len());
        let other = (changed + 1 + below(&mut self.random, self.pool.len() - 1)) % self.pool.len();
        self.pool[changed] = after(&self.pool[changed], &self.pool[other]);
        self.product = after(&self.product, &self.pool[changed]);
        self.product.clone()
    }
}

/// One permutation after another.
fn after(first: &[u16], then: &[u16]) -> Positions {
    first.iter().map(|&to| then[usize::from(to)]).collect()
}

fn inverse(permutation: &[u16]) -> Positions {
    let mut inverse = vec![0; permutation.len()];
    (0..=u16::MAX).zip(permutation).for_each(|(from, &to)| inverse[usize::from(to)] = from);
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::permutation::Description;
    use std::path::Path;

    fn puzzle(name: &str) -> Permutation<128> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/puzzles").join(format!("{name}.json"));
        Permutation::new(Description::read(&path).expect("a puzzle"))
    }

    #[test]
    fn known_numbers_of_states_are_found() {
        // Of the cube, a fact; of the Megaminx, Scherphuis; without turning tips, the pyraminx has 933,120.
        let known = [
            ("cube3-quarter-turns", 43_252_003_274_489_856_000.0),
            ("megaminx", 1.006_696_163_335_708_9e68),
            ("pyraminx", 933_120.0 * 81.0),
            ("skewb", 3_149_280.0),
            ("topspin20", (1..=20).map(f64::from).product()),
        ];
        for (name, states) in known {
            let found = ln_states(&puzzle(name));
            assert!((found - f64::ln(states)).abs() < 1e-6, "{name}: e^{found}, not {states}");
        }
    }

    #[test]
    fn walks_are_somewhat_longer_than_most_solutions() {
        for (name, lengths) in
            [("cube3-quarter-turns", 24..=28), ("lrx9", 40..=70), ("pyraminx", 13..=20), ("megaminx", 60..=80)]
        {
            let length = walk_length(&puzzle(name));
            assert!(lengths.contains(&length), "{name}: {length}");
        }
    }
}
