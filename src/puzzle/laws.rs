//! The laws that every puzzle keeps, as checks that each puzzle's tests call.

use super::{Move, Reversible};
use std::collections::{HashMap, HashSet};

/// Checks, on every state within `depth` moves of the goals: parse∘format is the identity, rows are in range and
/// tell states apart, inverses undo; and that the counts of states by depth are `expected`.
///
/// # Panics
/// On the first law that is broken, saying where.
pub fn check<P: Reversible>(puzzle: &P, expected: &[usize]) {
    let encoding = puzzle.encoding();
    let mut rows: HashMap<Vec<u8>, P::State> = HashMap::new();
    let mut counts = Vec::new();
    by_depth(
        puzzle,
        expected.len().saturating_sub(1),
        |state| {
            let text = puzzle.format(state);
            assert_eq!(puzzle.parse(&text).as_ref(), Ok(state), "parse does not undo format: {text}");
            let mut row = vec![u8::MAX; encoding.cells];
            puzzle.encode(state, &mut row);
            assert!(row.iter().all(|&symbol| usize::from(symbol) < encoding.symbols), "{text} encodes to {row:?}");
            if let Some(other) = rows.insert(row, *state) {
                panic!("{other:?} and {state:?} have the same row");
            }
            for action in 0..puzzle.move_count() as Move {
                let Some(next) = puzzle.apply(state, action) else { continue };
                assert_eq!(puzzle.apply(&next, puzzle.inverse(action)), Some(*state), "move {action} is not undone");
            }
        },
        &mut counts,
    );
    assert_eq!(counts, expected, "states by depth of {}", puzzle.name());
    for action in 0..puzzle.move_count() as Move {
        let name = puzzle.move_name(action);
        assert_eq!(puzzle.parse_moves(&name), Ok(vec![action]), "the move {name}");
    }
}

/// Counts states by their distance from the goals, up to a depth.
pub fn states_by_depth<P: Reversible>(puzzle: &P, depth: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    by_depth(puzzle, depth, |_| {}, &mut counts);
    counts
}

fn by_depth<P: Reversible>(puzzle: &P, depth: usize, mut each: impl FnMut(&P::State), counts: &mut Vec<usize>) {
    let mut layer = puzzle.goals();
    let mut seen: HashSet<P::State> = layer.iter().copied().collect();
    for level in 0..=depth {
        layer.iter().for_each(&mut each);
        counts.push(layer.len());
        if level == depth {
            break;
        }
        let mut next = Vec::new();
        for state in &layer {
            for action in 0..puzzle.move_count() as Move {
                next.extend(puzzle.apply(state, action).filter(|child| seen.insert(*child)));
            }
        }
        layer = next;
    }
}
