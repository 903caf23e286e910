//! Finds where each symbol of a state stands in the goal. Several positions of the goal may hold the same symbol: the other
//! symbols of its piece distinguish them.

use super::Description;
use crate::random::generator;
use foldhash::fast::FixedState;
use rand::RngCore as _;
use std::collections::HashMap;
use std::iter::{once, repeat_with};

/// Finds the home of every symbol of a state: its position in the goal.
#[derive(Debug)]
pub(super) struct Homes {
    pieces: Vec<Piece>,
    /// For each symbol, a random number.
    codes: Vec<u64>,
    /// The home of the symbol with each signature.
    homes: HashMap<u64, usize, FixedState>,
}

/// The positions of a piece.
#[derive(Debug)]
struct Piece {
    /// Those of one orbit, whose homes are found.
    positions: Vec<u16>,
    /// Those of all orbits.
    all: Vec<u16>,
    /// A random number of the orbit.
    orbit: u64,
}

impl Piece {
    /// A number for the symbol at each position of a state, different for all symbols of the orbit.
    fn signatures(&self, codes: &[u64], state: &[u8]) -> impl Iterator<Item = (usize, u64)> {
        let code = move |&place: &u16| codes[usize::from(state[usize::from(place)])];
        let sum = self.all.iter().map(code).fold(self.orbit, u64::wrapping_add);
        self.positions.iter().map(move |place| (usize::from(*place), sum.wrapping_add(code(place).rotate_left(32))))
    }
}

impl Homes {
    /// The homes of a puzzle's symbols; `None` if some pieces look alike.
    pub(super) fn new(description: &Description) -> Option<Homes> {
        let tables: Vec<&[u16]> = description.moves.iter().map(|(_, table)| &table[..]).collect();
        let (goal, positions) = (&description.goal, description.positions());
        let orbits = description.orbits();
        let mut random = generator(0, 0);
        let codes: Vec<u64> = repeat_with(|| random.next_u64()).take(description.symbols.len()).collect();
        let mut pieces = Vec::new();
        for first in (0..positions).filter(|&place| orbits[place] == place) {
            let number = random.next_u64();
            // A position that is its own mate is a piece alone.
            let with = |mate| pieces_with(&tables, &orbits, first, mate, number);
            let tells = |pieces: &Vec<Piece>| {
                let all = pieces.iter().flat_map(|piece| piece.signatures(&codes, goal));
                let mut all: Vec<u64> = all.map(|(_, signature)| signature).collect();
                all.sort_unstable();
                all.windows(2).all(|two| two[0] != two[1])
            };
            pieces.extend(once(first).chain(0..positions).map(with).find(tells)?);
        }
        let signatures = pieces.iter().flat_map(|piece| piece.signatures(&codes, goal));
        let homes = signatures.map(|(place, signature)| (signature, place)).collect();
        Some(Homes { pieces, codes, homes })
    }

    /// The state after the inverse of a scramble that leads to `state`; `None` for some states that no scramble reaches.
    pub(super) fn inverse<const N: usize>(&self, goal: &[u8; N], state: &[u8; N]) -> Option<[u8; N]> {
        // The state is the goal with its positions permuted: the inverse permutes them back.
        let mut inverse = *state;
        for (place, signature) in self.pieces.iter().flat_map(|piece| piece.signatures(&self.codes, state)) {
            inverse[*self.homes.get(&signature)?] = goal[place];
        }
        Some(inverse)
    }
}

/// The pieces of the orbit of `first`, if it and its mate are of one piece, and all others of as few positions as the moves
/// allow: a system of blocks (Atkinson, "An algorithm for finding the blocks of a permutation group", Mathematics of
/// Computation 29, 1975).
fn pieces_with(tables: &[&[u16]], orbits: &[usize], first: usize, mate: usize, number: u64) -> Vec<Piece> {
    let mut names: Vec<usize> = (0..orbits.len()).collect();
    let mut alike = vec![(first, mate)];
    while let Some((one, other)) = alike.pop() {
        let [kept, joined] = [names[one], names[other]];
        if kept != joined {
            names.iter_mut().filter(|name| **name == joined).for_each(|name| *name = kept);
            alike.extend(tables.iter().map(|table| (table[one].into(), table[other].into())));
        }
    }
    let places = || 0..orbits.len() as u16;
    let of_piece = |name| {
        let all: Vec<u16> = places().filter(|&place| names[usize::from(place)] == name).collect();
        let positions = all.iter().copied().filter(|&place| orbits[usize::from(place)] == orbits[first]).collect();
        Piece { positions, all, orbit: number }
    };
    let pieces = (0..orbits.len()).map(of_piece);
    pieces.filter(|piece| !piece.positions.is_empty()).collect()
}
