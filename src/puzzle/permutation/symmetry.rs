//! The symmetries of a permutation puzzle, found from its moves and its goal.
//!
//! A symmetry is a permutation of the positions that maps the set of moves onto itself, and the goal to the goal with its
//! symbols renamed. They are found by backtracking: one position is mapped, then one move after the other, and what
//! follows from each choice is propagated (as in McKay and Piperno, "Practical graph isomorphism, II", Journal of
//! Symbolic Computation 60, 2014, but for such small graphs).

use crate::puzzle::{Class, Move, SymmetricImage, Symmetries};
use foldhash::quality::FixedState;
use std::hash::BuildHasher as _;

/// Choices that are tried before the search for symmetries is given up: about a second.
const MOST_CHOICES: usize = 200_000;
/// The most symmetries: with more, the canonical image takes too long.
const MOST_SYMMETRIES: usize = 512;
/// What stands for a position, a symbol or a move that is not mapped yet.
const OPEN: u16 = u16::MAX;

/// One symmetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Map {
    /// For each position of the image, the position that it comes from.
    from: Vec<u8>,
    /// For each symbol, its image.
    symbols: Vec<u8>,
    /// For each move, its image.
    moves: Vec<Move>,
}

/// A puzzle as the search sees it.
pub(super) struct Rules<'a> {
    pub(super) goal: &'a [u8],
    pub(super) symbols: usize,
    pub(super) moves: Vec<&'a [u8]>,
}

/// All symmetries, the identity first.
///
/// # Errors
/// Says why there are too many, or too many choices.
pub(super) fn find(rules: &Rules<'_>) -> Result<Vec<Map>, String> {
    let matters = places_that_matter(rules);
    let mut search = Search {
        rules,
        inverses: rules.moves.iter().map(|table| super::inverted(table)).collect(),
        kinds: rules.moves.iter().map(|table| cycles(table, &matters)).collect(),
        matters,
        found: Vec::new(),
        choices: 0,
    };
    let positions = rules.goal.len();
    let partial = Partial {
        positions: vec![OPEN; positions],
        taken: vec![false; positions],
        symbols: vec![OPEN; rules.symbols],
        symbol_taken: vec![false; rules.symbols],
        moves: vec![OPEN; rules.moves.len()],
        move_taken: vec![false; rules.moves.len()],
    };
    search.extend(partial)?;
    search.found.sort_by_key(|map| map.from.iter().enumerate().any(|(to, &from)| to != usize::from(from)));
    Ok(search.found)
}

/// Which positions hold different symbols in different states: those from which moves lead to positions with other symbols
/// of the goal.
fn places_that_matter(rules: &Rules<'_>) -> Vec<bool> {
    let mut orbit: Vec<usize> = (0..rules.goal.len()).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (to, &from) in rules.moves.iter().flat_map(|table| table.iter().enumerate()) {
            let least = orbit[to].min(orbit[usize::from(from)]);
            changed |= orbit[to] != least || orbit[usize::from(from)] != least;
            (orbit[to], orbit[usize::from(from)]) = (least, least);
        }
    }
    let differs = |place: usize| {
        (0..orbit.len()).any(|other| orbit[other] == orbit[place] && rules.goal[other] != rules.goal[place])
    };
    (0..orbit.len()).map(differs).collect()
}

/// How many cycles of each length a permutation has among some positions.
fn cycles(table: &[u8], among: &[bool]) -> Vec<usize> {
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

/// A symmetry that is not whole yet.
#[derive(Clone)]
struct Partial {
    positions: Vec<u16>,
    taken: Vec<bool>,
    symbols: Vec<u16>,
    symbol_taken: Vec<bool>,
    moves: Vec<u16>,
    move_taken: Vec<bool>,
}

struct Search<'a> {
    rules: &'a Rules<'a>,
    inverses: Vec<Vec<u8>>,
    kinds: Vec<Vec<usize>>,
    /// Positions that hold different symbols in different states; the others are mapped by their symbol alone.
    matters: Vec<bool>,
    found: Vec<Map>,
    choices: usize,
}

impl Search<'_> {
    /// Tries every way to go on from a partial symmetry.
    fn extend(&mut self, partial: Partial) -> Result<(), String> {
        self.choices += 1;
        if self.choices > MOST_CHOICES {
            return Err(format!("there are more than {MOST_CHOICES} choices"));
        }
        let rules = self.rules;
        // A move that moves a position that is mapped, then any other; a position only where no such move is left.
        let mapped = |place: usize| partial.positions[place] != OPEN;
        let touches = |action: usize| {
            (0..rules.goal.len()).any(|place| mapped(place) && usize::from(rules.moves[action][place]) != place)
        };
        let open_move = (0..rules.moves.len()).find(|&action| partial.moves[action] == OPEN && touches(action));
        if let Some(action) = open_move {
            for to in 0..rules.moves.len() {
                if !partial.move_taken[to] && self.kinds[action] == self.kinds[to] {
                    let mut next = partial.clone();
                    next.moves[action] = to as u16;
                    next.move_taken[to] = true;
                    if self.propagate(&mut next) {
                        self.extend(next)?;
                    }
                }
            }
            return Ok(());
        }
        if let Some(place) = (0..rules.goal.len()).find(|&place| !mapped(place) && self.matters[place]) {
            for to in 0..rules.goal.len() {
                let mut next = partial.clone();
                if self.matters[to] && self.map(&mut next, place, to) && self.propagate(&mut next) {
                    self.extend(next)?;
                }
            }
            return Ok(());
        }
        self.finish(partial)
    }

    /// Maps a position, and with it, its symbol.
    fn map(&self, partial: &mut Partial, from: usize, to: usize) -> bool {
        match partial.positions[from] {
            OPEN if partial.taken[to] => return false,
            OPEN => {
                partial.positions[from] = to as u16;
                partial.taken[to] = true;
            }
            there => return usize::from(there) == to,
        }
        let (symbol, image) = (usize::from(self.rules.goal[from]), usize::from(self.rules.goal[to]));
        match partial.symbols[symbol] {
            OPEN if partial.symbol_taken[image] => false,
            OPEN => {
                partial.symbols[symbol] = image as u16;
                partial.symbol_taken[image] = true;
                true
            }
            there => usize::from(there) == image,
        }
    }

    /// Maps what follows from what is mapped: where a move takes a mapped position, its image takes the image.
    fn propagate(&self, partial: &mut Partial) -> bool {
        let mut changed = true;
        while changed {
            changed = false;
            for action in 0..self.rules.moves.len() {
                let image = partial.moves[action];
                if image == OPEN {
                    continue;
                }
                let image = usize::from(image);
                for place in 0..self.rules.goal.len() {
                    let to = partial.positions[place];
                    if to == OPEN {
                        continue;
                    }
                    let to = usize::from(to);
                    for (table, other) in [
                        (self.rules.moves[action], self.rules.moves[image]),
                        (&self.inverses[action][..], &self.inverses[image][..]),
                    ] {
                        let (from, to) = (usize::from(table[place]), usize::from(other[to]));
                        if partial.positions[from] != to as u16 {
                            if !self.map(partial, from, to) {
                                return false;
                            }
                            changed = true;
                        }
                    }
                }
            }
        }
        true
    }

    /// Maps what no move moves, by its symbol, and keeps the symmetry.
    fn finish(&mut self, mut partial: Partial) -> Result<(), String> {
        for place in 0..self.rules.goal.len() {
            let fits = |partial: &Partial, to: usize| {
                let (symbol, image) = (partial.symbols[usize::from(self.rules.goal[place])], self.rules.goal[to]);
                match symbol {
                    OPEN => !partial.symbol_taken[usize::from(image)],
                    there => there == u16::from(image),
                }
            };
            if partial.positions[place] == OPEN {
                // Its own place first: then the identity is found as such.
                let mut places = std::iter::once(place).chain(0..self.rules.goal.len());
                let Some(to) = places.find(|&to| !partial.taken[to] && fits(&partial, to)) else { return Ok(()) };
                if !self.map(&mut partial, place, to) {
                    return Ok(());
                }
            }
        }
        // A move that changes no state has no image.
        let moves = partial
            .moves
            .iter()
            .enumerate()
            .map(|(action, &to)| if to == OPEN { action } else { usize::from(to) } as Move);
        let moves = moves.collect();
        let mut from = vec![0; self.rules.goal.len()];
        partial.positions.iter().enumerate().for_each(|(place, &to)| from[usize::from(to)] = place as u8);
        let symbols = partial.symbols.iter().map(|&symbol| symbol as u8).collect();
        self.found.push(Map { from, symbols, moves });
        if self.found.len() > MOST_SYMMETRIES { Err(format!("there are more than {MOST_SYMMETRIES}")) } else { Ok(()) }
    }
}

/// The symmetries of a puzzle of at most `N` positions.
#[derive(Debug)]
pub(super) struct Found<const N: usize> {
    maps: Vec<Map>,
    positions: usize,
    goal: [u8; N],
    tables: Vec<[u8; N]>,
    inverses: Vec<Option<Move>>,
    /// Whether no two positions of the goal have the same symbol: then a state is a permutation, and has an inverse.
    has_inverses: bool,
}

impl<const N: usize> Found<N> {
    /// The symmetries of a puzzle; `None` if there are none but the identity.
    pub(super) fn new(
        maps: Vec<Map>,
        goal: [u8; N],
        positions: usize,
        tables: &[[u8; N]],
        inverses: &[Option<Move>],
    ) -> Option<Self> {
        let mut sorted = goal[..positions].to_vec();
        sorted.sort_unstable();
        let has_inverses = sorted.windows(2).all(|pair| pair[0] != pair[1]) && inverses.iter().all(Option::is_some);
        let found = Found { maps, positions, goal, tables: tables.to_vec(), inverses: inverses.to_vec(), has_inverses };
        (found.maps.len() > 1 || has_inverses).then_some(found)
    }

    fn image(&self, state: &[u8; N], map: &Map) -> [u8; N] {
        let mut image = *state;
        for (to, &from) in map.from.iter().enumerate() {
            image[to] = map.symbols[usize::from(state[usize::from(from)])];
        }
        image
    }

    fn child(&self, state: &[u8; N], action: Move) -> [u8; N] {
        let table = &self.tables[usize::from(action)];
        std::array::from_fn(|i| state[usize::from(table[i])])
    }

    fn child_class(&self, state: &[u8; N], action: Move) -> Class<[u8; N]> {
        self.class(&self.child(state, action))
    }

    /// The classes of the neighbours of a state and of its inverse.
    fn each_neighbour(&self, state: &[u8; N], moves: &[Move], mut each: impl FnMut(Class<[u8; N]>)) {
        for from in [Some(*state), self.inverse(state).filter(|inverse| inverse != state)].into_iter().flatten() {
            moves.iter().for_each(|&action| each(self.child_class(&from, action)));
        }
    }

    /// The classes of states with one more move at each end of their scrambles.
    fn each_around(&self, state: &[u8; N], before: &[Move], after: &[Move], mut each: impl FnMut(Class<[u8; N]>)) {
        let Some(inverse) = self.inverse(state) else { return };
        for &first in before {
            let Some(from) = self.inverse(&self.child(&inverse, first)) else { return };
            after.iter().for_each(|&action| each(self.child_class(&from, action)));
        }
    }

    /// The images of a state, the state itself first, and how their moves are renamed.
    pub(super) fn images(&self, state: &[u8; N]) -> Vec<SymmetricImage<[u8; N]>> {
        let mut images = Vec::new();
        for map in &self.maps {
            for (from, inverted) in [(Some(*state), false), (self.inverse(state), true)] {
                let Some(from) = from else { continue };
                let mut moves = vec![0; map.moves.len()];
                for (action, &to) in map.moves.iter().enumerate() {
                    let action = action as Move;
                    let undone = self.inverses[usize::from(action)].unwrap_or(action);
                    moves[usize::from(to)] = if inverted { undone } else { action };
                }
                images.push(SymmetricImage { start: self.image(&from, map), moves, inverted });
            }
        }
        images
    }
}

impl<const N: usize> Symmetries<[u8; N]> for Found<N> {
    fn version(&self) -> u32 {
        2
    }

    fn count(&self) -> u32 {
        self.maps.len() as u32 * if self.has_inverses { 2 } else { 1 }
    }

    fn has_inversion(&self) -> bool {
        self.has_inverses
    }

    fn inverse(&self, state: &[u8; N]) -> Option<[u8; N]> {
        if !self.has_inverses {
            return None;
        }
        // The state is the goal with its positions permuted: the same with the inverse permutation.
        let mut home = [0; 256];
        (0..self.positions).for_each(|place| home[usize::from(self.goal[place])] = place as u8);
        let mut inverse = *state;
        for place in 0..self.positions {
            inverse[usize::from(home[usize::from(state[place])])] = self.goal[place];
        }
        Some(inverse)
    }

    /// The image that is first in the order of its symbols.
    fn class(&self, state: &[u8; N]) -> Class<[u8; N]> {
        let inverse = self.inverse(state);
        let sources = [state, inverse.as_ref().unwrap_or(state)];
        let mut alive = [(0u16, 0u8); 2 * MOST_SYMMETRIES];
        let mut count = 0;
        for source in 0..if inverse.is_some() { 2 } else { 1 } {
            for map in 0..self.maps.len() {
                alive[count] = (map as u16, source);
                count += 1;
            }
        }
        for place in 0..self.positions {
            if count == 1 {
                break;
            }
            let symbol = |(map, source): (u16, u8)| {
                let map = &self.maps[usize::from(map)];
                map.symbols[usize::from(sources[usize::from(source)][usize::from(map.from[place])])]
            };
            let least = alive[..count].iter().map(|&one| symbol(one)).min().unwrap_or(0);
            let mut kept = 0;
            for i in 0..count {
                if symbol(alive[i]) == least {
                    alive[kept] = alive[i];
                    kept += 1;
                }
            }
            count = kept;
        }
        let (map, source) = alive[0];
        let image = self.image(sources[usize::from(source)], &self.maps[usize::from(map)]);
        // Of the positions that there are: whatever N is, the keys of a kept perimeter are the same.
        let key = FixedState::default().hash_one(&image[..self.positions]);
        Class { state: image, key, states: self.count() / count as u32 }
    }

    fn neighbours(&self, state: &[u8; N], moves: &[Move], classes: &mut Vec<Class<[u8; N]>>) {
        self.each_neighbour(state, moves, |class| classes.push(class));
    }

    fn neighbour_keys(&self, state: &[u8; N], moves: &[Move], keys: &mut Vec<u64>) {
        self.each_neighbour(state, moves, |class| keys.push(class.key));
    }

    fn around(&self, state: &[u8; N], before: &[Move], after: &[Move], classes: &mut Vec<Class<[u8; N]>>) {
        self.each_around(state, before, after, |class| classes.push(class));
    }

    fn keys_around(&self, state: &[u8; N], before: &[Move], after: &[Move], keys: &mut Vec<u64>) {
        self.each_around(state, before, after, |class| keys.push(class.key));
    }

    fn keys_after_two(&self, state: &[u8; N], sequences: &[[Move; 2]], keys: &mut Vec<u64>) {
        let (mut between, mut last) = (*state, None);
        for &[first, second] in sequences {
            if last != Some(first) {
                (between, last) = (self.child(state, first), Some(first));
            }
            keys.push(self.child_class(&between, second).key);
        }
    }
}
