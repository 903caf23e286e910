//! The laws of every puzzle, as checks for tests.

use super::{Move, Puzzle, assert_reversible};
use crate::random::{Generator, below, generator};
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};

/// Checks all laws of a [reversible](super::Rules::is_reversible) puzzle on every state near the goals: parse∘format is the
/// identity; rows are in range and different; inverses undo; lengths have the given parity; symmetric images are equally far
/// from the goals, and moves map from image to image; there are `expected[d]` states at each depth d; the
/// [move table](super::MoveTable), if there is one, moves rows as the rules move states.
///
/// # Panics
/// On the first broken law, with the place.
pub fn check<P: Puzzle>(puzzle: &P, expected: &[usize]) {
    assert!(puzzle.is_reversible() && puzzle.default_depth() > 0, "{} can be scrambled", puzzle.name());
    check_from(puzzle, &puzzle.goals(), expected);
    let layers = layers(puzzle, puzzle.goals(), expected.len() - 1);
    for state in layers.iter().flatten() {
        for (action, next) in puzzle.children(state) {
            let inverse = puzzle.inverse(action);
            assert_eq!(puzzle.apply(&next, inverse), Some(*state), "move {action} is not undone");
            let cost = puzzle.move_cost(state, action);
            assert!(cost >= 1 && puzzle.move_cost(&next, inverse) == cost, "move {action} costs {cost}");
        }
    }
    assert!(puzzle.goals().iter().all(|goal| puzzle.is_goal(goal)), "every goal counts as solved");
    check_symmetries(puzzle, &layers);
    check_images(puzzle);
    check_effects(puzzle);
    check_walk(puzzle);
}

/// Hashes of children are those of their states, and moving a row gives the row of the child, for all moves of random states.
/// Move tables are for moves of cost 1.
fn check_walk<P: Puzzle>(puzzle: &P) {
    const STATES: usize = 1000;
    let table = puzzle.move_table();
    assert!(table.as_ref().is_none_or(|table| table.moves() == puzzle.move_count()));
    let row = |state: &P::State| puzzle.row(state);
    let (mut generator, mut state) = (generator(7, 0), puzzle.goals()[0]);
    for _ in 0..STATES {
        let before = row(&state);
        let moves = 0..puzzle.move_count() as Move;
        for (action, child) in moves.map(|action| (action, puzzle.apply(&state, action))) {
            let hash = puzzle.child_hash(&state, puzzle.state_hash(&state), action);
            assert_eq!(hash, child.as_ref().map(|child| puzzle.state_hash(child)), "move {action} of {state:?}");
            let Some(table) = &table else { continue };
            assert_eq!(table.apply(&before, action), child.as_ref().map(row), "move {action} of {state:?}");
            assert!(child.is_none() || puzzle.move_cost(&state, action) == 1, "move {action} of {state:?}");
        }
        (_, state) = random_child(puzzle, &state, &mut generator);
    }
}

fn random_child<P: Puzzle>(puzzle: &P, state: &P::State, generator: &mut Generator) -> (Move, P::State) {
    let children: Vec<_> = puzzle.children(state).collect();
    children[below(generator, children.len())]
}

/// Sequences of moves with the same [effect](crate::puzzle::Rules::effect) lead to the same state, from every goal and from other
/// states.
fn check_effects<P: Puzzle>(puzzle: &P) {
    /// The most moves that are tried: there are too many pairs of pairs.
    const MOVES: usize = 24;
    const WALKS: usize = 16;
    let moves = 0..puzzle.move_count().min(MOVES) as Move;
    let mut generator = generator(9, 0);
    let walk = |_| (0..WALKS).fold(puzzle.goals()[0], |state, _| random_child(puzzle, &state, &mut generator).1);
    let states: Vec<P::State> = (0..WALKS).map(walk).chain(puzzle.goals()).collect();
    let ends = |sequence: &[Move]| -> Vec<Option<P::State>> {
        let end = |state: &P::State| sequence.iter().try_fold(*state, |state, &action| puzzle.apply(&state, action));
        states.iter().map(end).collect()
    };
    let pairs = || moves.clone().flat_map(|first| moves.clone().map(move |second| vec![first, second]));
    let sequences: Vec<Vec<Move>> = pairs().chain(moves.clone().map(|action| vec![action])).collect();
    let ends: Vec<_> = sequences.iter().map(|sequence| ends(sequence)).collect();
    let effects: Vec<_> = sequences.iter().map(|sequence| puzzle.effect(sequence)).collect();
    for (i, one) in sequences.iter().enumerate() {
        for (k, other) in sequences.iter().enumerate() {
            let are_same = effects[i].is_some() && effects[i] == effects[k];
            assert!(!are_same || ends[i] == ends[k], "{one:?} and {other:?} are not the same");
        }
    }
}

fn check_symmetries<P: Puzzle>(puzzle: &P, layers: &[Vec<P::State>]) {
    /// The most states of a layer whose images are checked: images are slow.
    const STATES_A_LAYER: usize = 5;
    let depths = layers.iter().enumerate().flat_map(|(depth, layer)| layer.iter().map(move |state| (*state, depth)));
    let depths: HashMap<P::State, usize> = depths.collect();
    for (state, depth) in &depths {
        let is_odd = |(_, child)| depths.get(&child).is_none_or(|other| (depth + other) % 2 == 1);
        assert!(!puzzle.moves_change_parity() || puzzle.children(state).all(is_odd), "{state:?} has a level move");
        let parity = puzzle.length_parity(state);
        assert!(parity.is_none_or(|parity| parity as usize == depth % 2), "{state:?} is {depth} moves from a goal");
    }
    for state in layers.iter().flat_map(|layer| layer.iter().take(STATES_A_LAYER)) {
        let images: Vec<_> = puzzle.symmetric_images(state).collect();
        assert!(images.is_empty() || images[0].start == *state, "the first image of {state:?} is another");
        let child_images =
            |action| puzzle.apply(state, action).map(|child| puzzle.symmetric_images(&child).collect::<Vec<_>>());
        let children: Vec<_> = (0..puzzle.move_count() as Move).map(child_images).collect();
        for (i, image) in images.iter().enumerate() {
            assert_eq!(image.moves.len(), puzzle.move_count(), "every move of an image of {state:?} has an original");
            let (own, of_image) = (depths.get(state), depths.get(&image.start));
            assert_eq!(of_image, own, "{:?} as an image of {state:?}", image.start);
            for (move_of_image, &action) in image.moves.iter().enumerate().filter(|_| !image.inverted) {
                let child = children[usize::from(action)].as_ref().map(|images| images[i].start);
                let child_of_image = puzzle.apply(&image.start, move_of_image as Move);
                assert_eq!(child_of_image, child, "move {action} of {state:?}, in the image");
            }
        }
    }
}

/// The moves that undo a random walk solve its images, renamed and, if an image is inverted, reversed.
fn check_images<P: Puzzle>(puzzle: &P) {
    /// The most images of a walk.
    const IMAGES: usize = 100;
    let mut generator = generator(11, 0);
    for length in 0..20 {
        let (mut state, mut undoing) = (puzzle.goals()[0], Vec::new());
        for _ in 0..length {
            let (action, child) = random_child(puzzle, &state, &mut generator);
            undoing.insert(0, puzzle.inverse(action));
            state = child;
        }
        for image in puzzle.symmetric_images(&state).take(IMAGES) {
            let renamed = |action: &Move| image.moves.iter().position(|of_image| of_image == action);
            let mut solution: Vec<Move> = undoing.iter().filter_map(renamed).map(|action| action as Move).collect();
            if image.inverted {
                solution.reverse();
            }
            assert_eq!(image.solution(&solution), undoing);
            let end = solution.iter().try_fold(image.start, |state, &action| puzzle.apply(&state, action));
            assert!(end.is_some_and(|end| puzzle.is_goal(&end)), "the image {image:?} of {state:?}, {undoing:?}");
        }
    }
}

/// Checks the laws of a puzzle with moves that cannot be undone, on every state near the `starts`.
///
/// # Panics
/// On the first broken law, with the place.
pub fn check_from<P: Puzzle>(puzzle: &P, starts: &[P::State], expected: &[usize]) {
    let encoding = puzzle.encoding();
    let mut rows: HashMap<Vec<u8>, P::State> = HashMap::new();
    let layers = layers(puzzle, starts.to_vec(), expected.len().saturating_sub(1));
    for state in layers.iter().flatten() {
        let text = puzzle.format(state);
        assert_eq!(puzzle.parse(&text).as_ref(), Ok(state), "parse does not undo format: {text}");
        assert_eq!(puzzle.check_encodes(state), Ok(()), "{text}");
        let mut row = vec![u8::MAX; encoding.cells];
        puzzle.encode(state, &mut row);
        assert!(row.iter().all(|&symbol| usize::from(symbol) < encoding.symbols), "{text} encodes to {row:?}");
        if let Some(other) = rows.insert(row, *state) {
            panic!("{other:?} and {state:?} have the same row");
        }
    }
    let counts: Vec<usize> = layers.iter().map(Vec::len).collect();
    assert_eq!(counts, expected, "states by depth of {}", puzzle.name());
    for action in 0..puzzle.move_count() as Move {
        let name = puzzle.move_name(action);
        assert_eq!(puzzle.parse_moves(&name), Ok(vec![action]), "the move {name}");
    }
}

/// Counts states by their distance from the goals, up to a depth.
pub fn states_by_depth<P: Puzzle>(puzzle: &P, depth: usize) -> Vec<usize> {
    layers(puzzle, puzzle.goals(), depth).iter().map(Vec::len).collect()
}

/// The distance, in moves, of every state within `depth` moves of a goal, at most 255.
///
/// # Panics
/// Unless the puzzle is [reversible](super::Rules::is_reversible).
pub fn exact_distances<P: Puzzle>(puzzle: &P, depth: u32) -> HashMap<P::State, u8, FixedState> {
    assert_reversible(puzzle);
    let layers = layers(puzzle, puzzle.goals(), depth.min(255) as usize).into_iter().zip(0..=u8::MAX);
    layers.flat_map(|(layer, distance)| layer.into_iter().map(move |state| (state, distance))).collect()
}

/// The states by their distance from the starts, up to a depth.
fn layers<P: Puzzle>(puzzle: &P, starts: Vec<P::State>, depth: usize) -> Vec<Vec<P::State>> {
    let mut seen: HashSet<P::State, FixedState> = starts.iter().copied().collect();
    let mut layers = vec![starts];
    for before in 0..depth {
        let children = layers[before].iter().flat_map(|state| puzzle.children(state));
        let next = children.map(|(_, child)| child).filter(|child| seen.insert(*child)).collect();
        layers.push(next);
    }
    layers
}
