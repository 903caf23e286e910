//! Images and classes of the states of a permutation puzzle under its symmetries.

use super::Permutation;
use super::goal_positions::Homes;
use super::symmetry::{MAX_SYMMETRIES, SymmetryMap};
use crate::puzzle::rules::{bits, distinct};
use crate::puzzle::{Class, Move, Rules as _, SymmetricImage, Symmetries};
use foldhash::quality::FixedState;
use std::cmp::Ordering;
use std::hash::BuildHasher as _;

/// The symmetries of a puzzle of at most `N` positions.
#[derive(Debug)]
pub(super) struct StateSymmetries<const N: usize> {
    /// For each symmetry, the image of each move.
    moves: Vec<Vec<Move>>,
    /// For each symmetry, where each position of an image comes from.
    from: Vec<[u16; N]>,
    /// For each symmetry, the image of each symbol.
    symbols: Vec<u8>,
    cosets: Vec<Coset>,
    puzzle: Permutation<N>,
    /// The homes of symbols, if there is one for each: a state is then a permutation, and has an inverse.
    homes: Option<Homes>,
    /// True if classes hold inverses: if all symbols differ. Otherwise it takes so long to find them that a perimeter which
    /// is built in the same time is no deeper, and looking a state up takes twice as long.
    classes_hold_inverses: bool,
}

/// A coset of symmetries: all of them bring the same position to the first place.
#[derive(Debug)]
struct Coset {
    first: u16,
    /// For each symbol there, the least that it becomes.
    least: Vec<u8>,
    maps: Vec<u16>,
}

impl Coset {
    fn all(maps: &[SymmetryMap]) -> Vec<Coset> {
        let first = |map: usize| maps[map].from[0];
        let firsts = distinct((0..maps.len()).map(first));
        let coset = |first_of: u16| {
            let of_coset = (0..maps.len()).filter(|&map| first(map) == first_of);
            let least = |symbol: usize| of_coset.clone().map(|map| maps[map].symbols[symbol]).min().unwrap_or(0);
            let least = (0..maps[0].symbols.len()).map(least).collect();
            Coset { first: first_of, least, maps: of_coset.map(|map| map as u16).collect() }
        };
        firsts.into_iter().map(coset).collect()
    }
}

impl<const N: usize> StateSymmetries<N> {
    /// The symmetries of a puzzle; `None` if the identity is the only one.
    pub(super) fn new(maps: Vec<SymmetryMap>, puzzle: &Permutation<N>) -> Option<Self> {
        let description = &puzzle.description;
        // A state of a cube in any orientation, or with names that may be traded, is several permutations.
        let is_one = description.cube.is_none() && description.free_symbols.is_none();
        let homes = if is_one && description.is_reversible() { Homes::new(description) } else { None };
        let from = |map: &SymmetryMap| std::array::from_fn(|to| map.from.get(to).copied().unwrap_or(to as u16));
        let symmetries = StateSymmetries {
            from: maps.iter().map(from).collect(),
            symbols: maps.iter().flat_map(|map| map.symbols.iter().copied()).collect(),
            cosets: Coset::all(&maps),
            moves: maps.into_iter().map(|map| map.moves).collect(),
            puzzle: puzzle.clone(),
            classes_hold_inverses: homes.is_some() && description.symbols.len() == description.positions(),
            homes,
        };
        (symmetries.moves.len() > 1 || symmetries.homes.is_some()).then_some(symmetries)
    }

    /// The image of each symbol under a symmetry.
    fn symbols(&self, map: usize) -> &[u8] {
        let count = self.symbols.len() / self.moves.len();
        &self.symbols[map * count..][..count]
    }

    fn image(&self, state: &[u8; N], map: usize) -> [u8; N] {
        let (symbols, mut image) = (self.symbols(map), *state);
        for (to, &from) in image[..self.puzzle.description.positions()].iter_mut().zip(&self.from[map]) {
            *to = symbols[usize::from(state[usize::from(from)])];
        }
        image
    }

    /// The images of a state, the state itself first, with their renamed moves.
    pub(super) fn images(&self, state: [u8; N]) -> impl Iterator<Item = SymmetricImage<[u8; N]>> {
        let inverse = self.homes.as_ref().and_then(|homes| homes.inverse(&self.puzzle.goal, &state));
        let both = std::iter::once((state, false)).chain(inverse.map(|inverse| (inverse, true)));
        (0..self.moves.len()).flat_map(move |map| {
            both.clone().map(move |(from, inverted)| {
                let renamed = &self.moves[map];
                let mut moves = vec![0; renamed.len()];
                for (action, &to) in (0..).zip(renamed) {
                    let undone = self.puzzle.description.inverses[usize::from(action)].unwrap_or(action);
                    moves[usize::from(to)] = if inverted { undone } else { action };
                }
                SymmetricImage { start: self.image(&from, map), moves, inverted }
            })
        })
    }
}

impl<const N: usize> Symmetries<[u8; N]> for StateSymmetries<N> {
    fn version(&self) -> u32 {
        2
    }

    fn count(&self) -> u32 {
        self.moves.len() as u32 * if self.classes_hold_inverses { 2 } else { 1 }
    }

    fn has_inversion(&self) -> bool {
        self.classes_hold_inverses
    }

    fn inverse(&self, state: &[u8; N]) -> Option<[u8; N]> {
        if !self.classes_hold_inverses {
            return None;
        }
        // All symbols differ: symbol i is at home at position i.
        let mut inverse = *state;
        (0..self.puzzle.description.positions()).for_each(|place| inverse[usize::from(state[place])] = place as u8);
        Some(inverse)
    }

    fn child(&self, state: &[u8; N], action: Move) -> [u8; N] {
        self.puzzle.apply(state, action).expect("every move is legal")
    }

    /// The canonical image is the first in the order of its symbols.
    fn class(&self, state: &[u8; N]) -> Class<[u8; N]> {
        let inverse = self.inverse(state);
        let mut first = FirstImage { symmetries: self, source: state, map: None, count: 0, least: u8::MAX };
        [Some(state), inverse.as_ref()].into_iter().flatten().for_each(|source| first.look(source));
        let image = self.image(first.source, first.map.unwrap_or(0));
        // The real positions only: the keys of a kept perimeter do not depend on N.
        let key = FixedState::default().hash_one(&image[..self.puzzle.description.positions()]);
        Class { state: image, key, states: self.count() / first.count }
    }
}

/// The first image of a state, and of its inverse, in the order of their symbols.
struct FirstImage<'a, const N: usize> {
    symmetries: &'a StateSymmetries<N>,
    source: &'a [u8; N],
    map: Option<usize>,
    /// The number of images that are equal to it.
    count: u32,
    /// Its first symbol.
    least: u8,
}

impl<'a, const N: usize> FirstImage<'a, N> {
    /// Looks at all images of a source.
    fn look(&mut self, source: &'a [u8; N]) {
        let cosets = &self.symmetries.cosets[..];
        let mut firsts = [u8::MAX; MAX_SYMMETRIES];
        for (first, coset) in firsts.iter_mut().zip(cosets) {
            *first = coset.least[usize::from(source[usize::from(coset.first)])];
        }
        let firsts = &firsts[..cosets.len()];
        let least = firsts.iter().copied().min().unwrap_or(0);
        if least > self.least {
            return;
        }
        if least < self.least {
            (self.least, self.map) = (least, None);
        }
        for (firsts, cosets) in firsts.chunks(64).zip(cosets.chunks(64)) {
            // Bits, because a branch for each would be mispredicted.
            let left = (0..).zip(firsts).fold(0, |bits: u64, (i, &first)| bits | u64::from(first == least) << i);
            for coset in bits(left).map(|i| &cosets[i as usize]) {
                let symbol = usize::from(source[usize::from(coset.first)]);
                for map in coset.maps.iter().map(|&map| usize::from(map)) {
                    if self.symmetries.symbols(map)[symbol] == least {
                        self.compare(source, map);
                    }
                }
            }
        }
    }

    /// Compares an image with the same first symbol.
    fn compare(&mut self, source: &'a [u8; N], map: usize) {
        let symmetries = self.symmetries;
        let symbols = |source: &'a [u8; N], map: usize| {
            let symbols = symmetries.symbols(map);
            symmetries.from[map][1..symmetries.puzzle.description.positions()]
                .iter()
                .map(|&from| symbols[usize::from(source[usize::from(from)])])
        };
        match self.map.map(|kept| symbols(source, map).cmp(symbols(self.source, kept))) {
            Some(Ordering::Greater) => {}
            Some(Ordering::Equal) => self.count += 1,
            Some(Ordering::Less) | None => (self.source, self.map, self.count) = (source, Some(map), 1),
        }
    }
}
