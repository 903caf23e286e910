//! Symbols that may trade names: states that differ by an even permutation of these names are one, held with the names in the
//! order of their first appearance.

use super::Description;
use crate::puzzle::rules::distinct;

/// The symbols of a puzzle that may trade names.
#[derive(Debug, Clone)]
pub(super) struct FreeSymbols {
    /// For each symbol, whether its name is free.
    is_free: Vec<bool>,
    /// For each other symbol, its index among these.
    indices: Vec<u8>,
    /// The free symbols in the order of their first appearance in the goal.
    order: Vec<u8>,
    /// The positions that hold free symbols which appear twice or more: they come first.
    paired: usize,
}

impl FreeSymbols {
    /// The most symbols.
    const MOST: usize = 64;

    /// Those of a puzzle; `None` if it has none.
    ///
    /// # Panics
    /// If there are more than 64 symbols, or if a free symbol that appears once precedes one that appears more often.
    pub(super) fn new(description: &Description) -> Option<FreeSymbols> {
        let is_free = description.free_symbols.clone()?;
        assert!(is_free.len() <= Self::MOST);
        let order = distinct(description.goal.iter().copied().filter(|&symbol| is_free[usize::from(symbol)]));
        let count = |symbol: u8| description.goal.iter().filter(|&&other| other == symbol).count();
        let is_paired = |&symbol: &u8| is_free[usize::from(symbol)] && count(symbol) > 1;
        let paired = description.goal.iter().filter(|symbol| is_paired(symbol)).count();
        assert!(description.goal[..paired].iter().all(is_paired));
        let index = |symbol| is_free[..symbol].iter().filter(|free| !**free).count() as u8;
        Some(FreeSymbols { indices: (0..is_free.len()).map(index).collect(), is_free, order, paired })
    }

    /// Gives the free symbols their names in the order of their first appearance; if that would be an odd permutation of the
    /// names, the last two change places.
    #[inline]
    pub(super) fn normalize(&self, symbols: &mut [u8]) {
        let mut names: [u8; Self::MOST] = std::array::from_fn(|symbol| symbol as u8);
        let (mut seen, mut count, mut swaps, mut last) = (0u64, 0, 0, [0; 2]);
        for &symbol in &*symbols {
            let at = usize::from(symbol);
            if self.is_free[at] && seen >> at & 1 == 0 {
                names[at] = self.order[count];
                // Those that appear before this one, and whose names come after its name.
                swaps += (seen >> at).count_ones();
                seen |= 1 << at;
                (count, last) = (count + 1, [last[1], at]);
            }
        }
        if swaps % 2 == 1 {
            names.swap(last[0], last[1]);
        }
        symbols.iter_mut().for_each(|symbol| *symbol = names[usize::from(*symbol)]);
    }

    /// The cells that are 0 in every row: those of free symbols that appear once.
    pub(super) fn empty_cells(&self, goal: &[u8]) -> impl Iterator<Item = usize> {
        (self.paired..goal.len()).filter(|&cell| self.is_free[usize::from(goal[cell])])
    }

    /// Writes the row of a state: for a free symbol, the next position that holds it; for another, its index among these.
    pub(super) fn encode(&self, symbols: &[u8], row: &mut [u8]) {
        let (mut first, mut last) = ([u8::MAX; Self::MOST], [0u8; Self::MOST]);
        for (&symbol, place) in symbols[..self.paired].iter().zip(0..) {
            let symbol = usize::from(symbol);
            if first[symbol] == u8::MAX {
                first[symbol] = place;
            } else {
                row[usize::from(last[symbol])] = place;
            }
            (last[symbol], row[usize::from(place)]) = (place, first[symbol]);
        }
        for (cell, &symbol) in row.iter_mut().zip(symbols).skip(self.paired) {
            let symbol = usize::from(symbol);
            *cell = if self.is_free[symbol] { 0 } else { self.indices[symbol] };
        }
    }

    /// The number of values of a cell of a row.
    pub(super) fn values(&self) -> usize {
        self.paired.max(self.is_free.iter().filter(|free| !**free).count())
    }
}
