//! The group that the moves generate: how large it is, and which states it has.

use super::Description;
use super::description::inverted;
use crate::random::{Generator, below, generator};
use foldhash::fast::FixedState;
use std::hash::BuildHasher as _;
use std::sync::Arc;

/// A permutation of positions: i goes to `self[i]`.
type Positions = Vec<u16>;

/// A chain of stabilizers, by the random Schreier-Sims method (Leon, "On an algorithm for finding a base and a strong
/// generating set for a group given by generating permutations", 1980).
#[derive(Debug)]
pub(super) struct PermutationGroup {
    levels: Vec<ChainLevel>,
    /// The orbit of each position under the elements that fix the bases of the levels before, named by its first position; for
    /// no level first, and for all of them last.
    orbits: Vec<Vec<usize>>,
}

/// One step of a chain of stabilizers: the elements that fix the base points of all levels before.
#[derive(Debug)]
struct ChainLevel {
    base: u16,
    generators: Vec<Arc<[u16]>>,
    /// For each point of the orbit, an element that takes the base there.
    to: Vec<Option<Positions>>,
}

impl PermutationGroup {
    pub(super) fn new(description: &Description) -> Self {
        let moves: Vec<Positions> = description.moves.iter().map(|(_, permutation)| permutation.clone()).collect();
        let mut group = PermutationGroup { levels: Vec::new(), orbits: Vec::new() };
        for element in &moves {
            group.add(element.clone());
        }
        let mut random = RandomElements::new(&moves);
        // Half of all random elements show a generator that is missing: after this many without one, none is.
        let enough = moves.len().max(30);
        let mut without = 0;
        while without < enough {
            without = if group.add(random.next()) { 0 } else { without + 1 };
        }
        let of_level = |level: Option<&ChainLevel>| {
            let generators = level.into_iter().flat_map(|level| &level.generators);
            orbits(generators.map(|generator| generator.iter().copied().map(usize::from)), description.positions())
        };
        group.orbits = group.levels.iter().map(Some).chain([None]).map(of_level).collect();
        group
    }

    /// Whether the group of these moves has a small chain: at most 128 MiB.
    pub(super) fn is_small(description: &Description) -> bool {
        const MOST: usize = 1 << 27;
        let positions = description.positions();
        let mut sizes = vec![0usize; positions];
        description.orbits().into_iter().for_each(|orbit| sizes[orbit] += 1);
        sizes.into_iter().map(|size| size * size * positions).sum::<usize>() <= MOST
    }

    /// The logarithm of the number of elements.
    pub(super) fn ln_order(&self) -> f64 {
        self.levels.iter().map(|level| (level.to.iter().flatten().count() as f64).ln()).sum()
    }

    /// Adds what an element has beyond the known elements. Returns whether there is anything.
    fn add(&mut self, mut element: Positions) -> bool {
        let mut at = 0;
        while let Some(level) = self.levels.get(at)
            && let Some(to) = &level.to[usize::from(element[usize::from(level.base)])]
        {
            element = after(&element, &inverted(to));
            at += 1;
        }
        if at == self.levels.len() {
            let Some(base) = (0..=u16::MAX).zip(&element).find(|(from, to)| from != *to).map(|(from, _)| from) else {
                return false;
            };
            let mut to = vec![None; element.len()];
            to[usize::from(base)] = Some((0..=u16::MAX).take(element.len()).collect());
            self.levels.push(ChainLevel { base, generators: Vec::new(), to });
        }
        let element: Arc<[u16]> = element.into();
        self.levels[..=at].iter_mut().for_each(|level| level.add(Arc::clone(&element)));
        true
    }

    /// Whether the moves make a state from the goal. Also true if many pieces are alike, and it would take long to tell.
    pub(super) fn reaches(&self, goal: &[u8], state: &[u8]) -> bool {
        const MOST_TRIALS: u32 = 10_000;
        let hasher = FixedState::default();
        // A beginning of an element of the group is the goal as it looks then, and the number of levels that are done.
        let mut open = vec![(goal.to_vec(), 0)];
        let mut trials = 0;
        while let Some((goal, done)) = open.pop() {
            trials += 1;
            if trials > MOST_TRIALS {
                return true;
            }
            // Symbols stay in the orbits of the elements that are left: sums of hashes differ only if these symbols do.
            let sum = |state: &[u8]| {
                let symbols = self.orbits[done].iter().zip(state);
                symbols.fold(0, |sum: u64, of_orbit| sum.wrapping_add(hasher.hash_one(of_orbit)))
            };
            if sum(&goal) != sum(state) {
                continue;
            }
            let Some(level) = self.levels.get(done) else { return true };
            for (place, to) in level.to.iter().enumerate() {
                if let Some(to) = to.as_ref().filter(|_| goal[place] == state[usize::from(level.base)]) {
                    open.push((to.iter().map(|&from| goal[usize::from(from)]).collect(), done + 1));
                }
            }
        }
        false
    }
}

/// The orbit of each position under permutations, named by its first position.
///
/// # Panics
/// If a permutation has more positions.
pub fn orbits(permutations: impl Iterator<Item = impl Iterator<Item = usize>>, positions: usize) -> Vec<usize> {
    let mut orbits: Vec<usize> = (0..positions).collect();
    for (from, to) in permutations.flat_map(Iterator::enumerate) {
        let [first, other] = [orbits[from].min(orbits[to]), orbits[from].max(orbits[to])];
        if first != other {
            orbits.iter_mut().filter(|orbit| **orbit == other).for_each(|orbit| *orbit = first);
        }
    }
    orbits
}

impl ChainLevel {
    fn add(&mut self, generator: Arc<[u16]>) {
        self.generators.push(generator);
        // The points of the orbit, with the first generator that was not applied to each.
        let known = self.to.iter().enumerate().filter(|(_, to)| to.is_some());
        let mut open: Vec<_> = known.map(|(point, _)| (point, self.generators.len() - 1)).collect();
        while let Some((point, first)) = open.pop() {
            for generator in &self.generators[first..] {
                let next = usize::from(generator[point]);
                if let (None, Some(to)) = (&self.to[next], &self.to[point]) {
                    self.to[next] = Some(after(to, generator));
                    open.push((next, 0));
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
        let pool: Vec<_> = generators.iter().cycle().take(generators.len().max(LEAST)).cloned().collect();
        let mut elements = RandomElements { product: pool[0].clone(), pool, random: generator(0, 1) };
        // Each element of the pool meets some others.
        (0..10 * elements.pool.len()).for_each(|_| drop(elements.next()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::permutation::Permutation;
    use crate::puzzle::{Move, Notation as _, Rules as _};
    use std::path::Path;

    #[test]
    fn states_that_no_moves_make_are_refused() {
        for name in ["pyraminx", "skewb", "megaminx", "professor-tetraminx", "supercube3", "cube4", "hungarian-rings"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/puzzles").join(format!("{name}.json"));
            let puzzle = Permutation::<256>::new(Description::read(&path).expect("a puzzle"));
            let mut random = generator(7, 0);
            for _ in 0..5 {
                let mut state = puzzle.goal;
                for _ in 0..100 {
                    state = puzzle.apply(&state, below(&mut random, puzzle.move_count()) as Move).expect("a move");
                }
                assert_eq!(puzzle.parse(&puzzle.format(&state)), Ok(state), "{name}");
                let [one, other] = [(); 2].map(|()| below(&mut random, puzzle.description.positions()));
                let mut swapped = state;
                swapped.swap(one, other);
                // Beads of one colour on rings can be swapped in any way; the centres of a 4×4×4 hide that two are.
                let may_be = ["cube4", "hungarian-rings"].contains(&name) || swapped == state;
                assert!(may_be || puzzle.parse(&puzzle.format(&swapped)).is_err(), "{name}: {one} and {other}");
            }
        }
    }

    #[test]
    fn no_move_of_many_is_missed() {
        let turn = |block: usize, at: usize| match (at / 6 == block, at % 6) {
            (false, _) => at,
            (true, 0) => at + 1,
            (true, 1) => at - 1,
            (true, 5) => at - 3,
            (true, _) => at + 1,
        };
        let moves: serde_json::Map<_, _> =
            (0..100).map(|block| (format!("m{block}"), (0..600).map(|at| turn(block, at)).collect())).collect();
        let goal: Vec<usize> = (0..600).map(|at| at % 6).collect();
        let text = serde_json::json!({"name": "blocks", "goal": goal, "moves": moves}).to_string();
        let puzzle = Permutation::<768>::new(Description::parse(&text).expect("a puzzle"));
        let mut random = generator(8, 0);
        for _ in 0..50 {
            let moves = [(); 3].map(|()| below(&mut random, 100) as Move);
            let state = moves.iter().fold(puzzle.goal, |state, &action| puzzle.apply(&state, action).expect("a move"));
            assert_eq!(puzzle.parse(&puzzle.format(&state)), Ok(state), "{moves:?}");
        }
    }
}
