//! The symmetries of a permutation puzzle, found from its moves and its goal.
//!
//! A symmetry is a permutation of the positions that maps the set of moves onto itself, and the goal to the goal with its
//! symbols renamed. They are found by backtracking: one position is mapped, then one move after the other, and the
//! consequences of each choice are propagated (as in McKay and Piperno, "Practical graph isomorphism, II", Journal of
//! Symbolic Computation 60, 2014, but for such small graphs).

use super::description::{Description, inverted};
use crate::puzzle::Move;

/// The most choices of the search: a second at most.
const MAX_CHOICES: usize = 200_000;
/// The most symmetries: with more, the canonical image takes too long.
pub(super) const MAX_SYMMETRIES: usize = 512;

/// One symmetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SymmetryMap {
    /// For each position of the image, the position that it comes from.
    pub(super) from: Vec<u16>,
    /// For each symbol, its image.
    pub(super) symbols: Vec<u8>,
    /// For each move, its image.
    pub(super) moves: Vec<Move>,
}

/// All symmetries, the identity first.
///
/// # Errors
/// If there are too many symmetries, or too many choices.
pub(super) fn find(puzzle: &Description) -> Result<Vec<SymmetryMap>, String> {
    /// Inner layers of larger cubes can change places: there are too many symmetries, and looking for them takes seconds.
    const LARGEST_CUBE: usize = 7;
    if puzzle.cube.as_ref().is_some_and(|cube| cube.size() > LARGEST_CUBE) {
        return Err(format!("they are not looked for in cubes of more than {LARGEST_CUBE} layers"));
    }
    let matters = positions_that_matter(puzzle);
    let mut search = SymmetrySearch {
        goal: &puzzle.goal,
        tables: puzzle.moves.iter().map(|(_, table)| &table[..]).collect(),
        inverses: puzzle.moves.iter().map(|(_, table)| inverted(table)).collect(),
        cycles: puzzle.moves.iter().map(|(_, table)| cycles(table, &matters)).collect(),
        matters,
        found: Vec::new(),
        choices: 0,
    };
    search.extend(PartialSymmetry {
        positions: PartialMap::new(puzzle.goal.len()),
        symbols: PartialMap::new(puzzle.symbols.len()),
        moves: PartialMap::new(puzzle.moves.len()),
    })?;
    search.found.sort_by_key(|map| map.moves.iter().zip(0..).any(|(&image, action)| image != action));
    Ok(search.found)
}

/// Whether each position holds different symbols in different states: moves connect it with positions of other symbols.
fn positions_that_matter(description: &Description) -> Vec<bool> {
    let (goal, orbit) = (&description.goal, description.orbits());
    let differs =
        |place: usize| (0..orbit.len()).any(|other| orbit[other] == orbit[place] && goal[other] != goal[place]);
    (0..orbit.len()).map(differs).collect()
}

/// The sorted lengths of a permutation's cycles among some positions.
fn cycles(table: &[u16], among: &[bool]) -> Vec<usize> {
    let mut seen: Vec<bool> = among.iter().map(|among| !among).collect();
    let mut lengths = Vec::new();
    for start in 0..table.len() {
        let (mut at, mut length) = (start, 0);
        while !std::mem::replace(&mut seen[at], true) {
            at = usize::from(table[at]);
            length += 1;
        }
        lengths.push(length);
    }
    lengths.sort_unstable();
    lengths
}

/// A one-to-one map of indices that is not complete yet.
#[derive(Clone)]
struct PartialMap {
    images: Vec<Option<u16>>,
    /// Whether each index is an image.
    taken: Vec<bool>,
}

impl PartialMap {
    fn new(size: usize) -> Self {
        PartialMap { images: vec![None; size], taken: vec![false; size] }
    }

    fn image(&self, from: usize) -> Option<usize> {
        self.images[from].map(usize::from)
    }

    /// Whether an index is mapped so, or can be.
    fn allows(&self, from: usize, to: usize) -> bool {
        self.image(from).map_or(!self.taken[to], |image| image == to)
    }

    /// Maps an index; `false` if the map does not allow it.
    fn map(&mut self, from: usize, to: usize) -> bool {
        let allowed = self.allows(from, to);
        if allowed {
            self.images[from] = Some(to as u16);
            self.taken[to] = true;
        }
        allowed
    }
}

/// A symmetry that is not complete yet.
#[derive(Clone)]
struct PartialSymmetry {
    positions: PartialMap,
    symbols: PartialMap,
    moves: PartialMap,
}

struct SymmetrySearch<'a> {
    goal: &'a [u8],
    /// The permutation of each move, and its inverse.
    tables: Vec<&'a [u16]>,
    inverses: Vec<Vec<u16>>,
    /// The cycle lengths of each move: a move is mapped only to moves with the same.
    cycles: Vec<Vec<usize>>,
    /// Positions that hold different symbols in different states. The others are mapped by their symbol alone.
    matters: Vec<bool>,
    found: Vec<SymmetryMap>,
    choices: usize,
}

impl SymmetrySearch<'_> {
    /// A copy for another choice, which is counted.
    fn copy_of(&mut self, partial: &PartialSymmetry) -> Result<PartialSymmetry, String> {
        self.choices += 1;
        if self.choices > MAX_CHOICES {
            return Err(format!("there are more than {MAX_CHOICES} choices"));
        }
        Ok(partial.clone())
    }

    /// Tries every extension of a partial symmetry.
    fn extend(&mut self, partial: PartialSymmetry) -> Result<(), String> {
        // Moves that move a mapped position come first, then positions: each choice then has the most consequences.
        let is_mapped = |place: usize| partial.positions.image(place).is_some();
        let touches = |action: usize| {
            (0..self.goal.len()).any(|place| is_mapped(place) && usize::from(self.tables[action][place]) != place)
        };
        let mut moves = 0..self.tables.len();
        if let Some(action) = moves.find(|&action| partial.moves.image(action).is_none() && touches(action)) {
            for to in 0..self.tables.len() {
                if !partial.moves.taken[to] && self.cycles[action] == self.cycles[to] {
                    let (mut next, mut new) = (self.copy_of(&partial)?, Vec::new());
                    let mut mapped = (0..self.goal.len()).filter(|&place| is_mapped(place));
                    if next.moves.map(action, to)
                        && mapped.all(|place| self.follow(&mut next, action, place, &mut new))
                        && self.propagate(&mut next, new)
                    {
                        self.extend(next)?;
                    }
                }
            }
            return Ok(());
        }
        if let Some(place) = (0..self.goal.len()).find(|&place| !is_mapped(place) && self.matters[place]) {
            for to in 0..self.goal.len() {
                if self.matters[to] {
                    let mut next = self.copy_of(&partial)?;
                    if self.map(&mut next, place, to) && self.propagate(&mut next, vec![place]) {
                        self.extend(next)?;
                    }
                }
            }
            return Ok(());
        }
        self.finish(partial)
    }

    /// Maps a position and its symbol; `false` if that contradicts the map.
    fn map(&self, partial: &mut PartialSymmetry, from: usize, to: usize) -> bool {
        let (symbol, image) = (usize::from(self.goal[from]), usize::from(self.goal[to]));
        partial.positions.map(from, to) && partial.symbols.map(symbol, image)
    }

    /// Maps all that follows from new positions; `false` if it contradicts the map.
    fn propagate(&self, partial: &mut PartialSymmetry, mut new: Vec<usize>) -> bool {
        while let Some(place) = new.pop() {
            if !(0..self.tables.len()).all(|action| self.follow(partial, action, place, &mut new)) {
                return false;
            }
        }
        true
    }

    /// Maps the positions before and after a mapped one: where a move takes it, the move's image takes its image. Adds those
    /// that were not mapped to `new`; `false` if they contradict the map.
    fn follow(&self, partial: &mut PartialSymmetry, action: usize, place: usize, new: &mut Vec<usize>) -> bool {
        let (Some(image), Some(to)) = (partial.moves.image(action), partial.positions.image(place)) else {
            return true;
        };
        for (table, other) in
            [(self.tables[action], self.tables[image]), (&self.inverses[action][..], &self.inverses[image][..])]
        {
            let (from, to) = (usize::from(table[place]), usize::from(other[to]));
            if partial.positions.image(from) != Some(to) {
                if !self.map(partial, from, to) {
                    return false;
                }
                new.push(from);
            }
        }
        true
    }

    /// Maps positions that no move moves, by their symbols, and keeps the symmetry, unless another one maps the moves in the
    /// same way: both then have the same image of every state that can be reached.
    fn finish(&mut self, mut partial: PartialSymmetry) -> Result<(), String> {
        let goal = self.goal;
        for place in 0..goal.len() {
            if partial.positions.image(place).is_none() {
                // The position itself first: the identity is then found as such.
                let mut places = std::iter::once(place).chain(0..goal.len());
                let fits = |to: usize| partial.symbols.allows(goal[place].into(), goal[to].into());
                let Some(to) = places.find(|&to| !partial.positions.taken[to] && fits(to)) else { return Ok(()) };
                if !self.map(&mut partial, place, to) {
                    return Ok(());
                }
            }
        }
        // A move that changes no state has no image.
        let moves = (0..self.tables.len()).map(|action| partial.moves.image(action).unwrap_or(action) as Move);
        let moves: Vec<Move> = moves.collect();
        if self.found.iter().any(|other| other.moves == moves) {
            return Ok(());
        }
        let mut from = vec![0; goal.len()];
        (0..goal.len()).for_each(|place| from[partial.positions.image(place).unwrap_or(place)] = place as u16);
        let symbols =
            (0..partial.symbols.images.len()).map(|symbol| partial.symbols.image(symbol).unwrap_or(symbol) as u8);
        self.found.push(SymmetryMap { from, symbols: symbols.collect(), moves });
        if self.found.len() > MAX_SYMMETRIES { Err(format!("there are more than {MAX_SYMMETRIES}")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A board of numbers, whose moves shift a row or a column by one.
    fn torus(side: usize) -> Description {
        let cell = |row: usize, column: usize| row % side * side + column % side;
        let shifted = |row: usize, column: usize| -> Vec<usize> {
            let from = |i: usize| {
                let (r, c) = (i / side, i % side);
                cell(r + side - usize::from(c == column), c + side - usize::from(r == row))
            };
            (0..side * side).map(from).collect()
        };
        let rows = (0..side).map(|row| (format!("R{row}"), shifted(row, side).into()));
        let columns = (0..side).map(|column| (format!("C{column}"), shifted(side, column).into()));
        let moves: serde_json::Map<String, serde_json::Value> = rows.chain(columns).collect();
        let goal: Vec<usize> = (0..side * side).collect();
        let text = serde_json::json!({ "name": "torus", "goal": goal, "symmetric": true, "moves": moves });
        Description::parse(&text.to_string()).expect("a puzzle")
    }

    #[test]
    fn the_search_ends_on_large_boards() {
        let found = find(&torus(5)).expect("200 symmetries are not too many");
        assert_eq!(found.len(), 25 * 8, "shifts, turns and reflections");
        let many = find(&torus(10)).expect_err("800 symmetries are too many");
        assert!(many.contains("more than"), "{many}");
    }
}
