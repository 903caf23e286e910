//! Images and classes of the states of a permutation puzzle under its symmetries.

use super::Permutation;
use super::symmetry::{MAX_SYMMETRIES, SymmetryMap};
use crate::puzzle::{Class, Move, SymmetricImage, Symmetries};
use foldhash::quality::FixedState;
use std::hash::BuildHasher as _;

/// The symmetries of a puzzle of at most `N` positions.
#[derive(Debug)]
pub(super) struct StateSymmetries<const N: usize> {
    maps: Vec<SymmetryMap>,
    positions: usize,
    goal: [u8; N],
    tables: Vec<[u16; N]>,
    inverses: Vec<Option<Move>>,
    /// Whether all positions of the goal have different symbols: a state is then a permutation, and has an inverse.
    has_inverses: bool,
}

impl<const N: usize> StateSymmetries<N> {
    /// The symmetries of a puzzle; `None` if the identity is the only one.
    pub(super) fn new(maps: Vec<SymmetryMap>, puzzle: &Permutation<N>) -> Option<Self> {
        let Permutation { description, goal, tables, .. } = puzzle;
        let (positions, inverses) = (description.positions(), description.inverses.clone());
        let has_inverses = description.symbols.len() == positions && description.is_reversible();
        let (goal, tables) = (*goal, tables.clone());
        let symmetries = StateSymmetries { maps, positions, goal, tables, inverses, has_inverses };
        (symmetries.maps.len() > 1 || has_inverses).then_some(symmetries)
    }

    fn image(&self, state: &[u8; N], map: &SymmetryMap) -> [u8; N] {
        let mut image = *state;
        for (to, &from) in map.from.iter().enumerate() {
            image[to] = map.symbols[usize::from(state[usize::from(from)])];
        }
        image
    }

    /// The images of a state, the state itself first, with their renamed moves.
    pub(super) fn images(&self, state: [u8; N]) -> impl Iterator<Item = SymmetricImage<[u8; N]>> {
        let inverse = self.inverse(&state);
        let both = std::iter::once((state, false)).chain(inverse.map(|inverse| (inverse, true)));
        self.maps.iter().flat_map(move |map| {
            both.clone().map(move |(from, inverted)| {
                let mut moves = vec![0; map.moves.len()];
                for (action, &to) in (0..).zip(&map.moves) {
                    let undone = self.inverses[usize::from(action)].unwrap_or(action);
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
        self.maps.len() as u32 * if self.has_inverses { 2 } else { 1 }
    }

    fn has_inversion(&self) -> bool {
        self.has_inverses
    }

    fn inverse(&self, state: &[u8; N]) -> Option<[u8; N]> {
        if !self.has_inverses {
            return None;
        }
        // The state is the goal with its positions permuted: the inverse permutes them back.
        let mut home = [0; 256];
        (0..self.positions).for_each(|place| home[usize::from(self.goal[place])] = place as u16);
        let mut inverse = *state;
        for place in 0..self.positions {
            inverse[usize::from(home[usize::from(state[place])])] = self.goal[place];
        }
        Some(inverse)
    }

    fn child(&self, state: &[u8; N], action: Move) -> [u8; N] {
        let table = &self.tables[usize::from(action)];
        std::array::from_fn(|i| state[usize::from(table[i])])
    }

    /// The canonical image is the first in the order of its symbols.
    fn class(&self, state: &[u8; N]) -> Class<[u8; N]> {
        let inverse = self.inverse(state);
        let sources = [state, inverse.as_ref().unwrap_or(state)];
        let mut alive = [(0u16, 0u8); 2 * MAX_SYMMETRIES];
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
        // The real positions only: the keys of a kept perimeter do not depend on N.
        let key = FixedState::default().hash_one(&image[..self.positions]);
        Class { state: image, key, states: self.count() / count as u32 }
    }
}
