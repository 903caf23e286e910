//! An index of the boards of the 8-puzzle: 9 cells for the blank × 20,160 orders of the tiles.
//!
//! The order of the eight tiles, read row by row without the blank, keeps its parity: a move along a row changes nothing, one
//! along a column takes a tile past two others. So six digits of the permutation's factorial code determine it (Korf and
//! Schultze, "Large-scale parallel breadth-first search", AAAI 2005).

use super::{Board as _, Packed8, Puzzle8};
use crate::puzzle::{Indexed, Move};
use std::sync::OnceLock;

/// Orders of eight tiles with one parity.
const ORDERS: usize = 20_160;

/// The tiles of a board row by row without the blank, 4 bits each, and the blank's cell.
#[inline]
fn without_blank(board: Packed8) -> (u32, usize) {
    let blank = board.blank();
    let before = (1u64 << (4 * blank)) - 1;
    ((board.0 & before | board.0 >> 4 & !before) as u32, blank)
}

/// For each of the first `N` tiles, the count of smaller tiles after it.
#[inline]
fn smaller_behind<const N: usize>(tiles: u32) -> [u32; N] {
    // The 4 bits of each tile count the smaller tiles that were not met yet.
    let mut smaller: u32 = 0x7654_3210;
    std::array::from_fn(|i| {
        let shift = 4 * ((tiles >> (4 * i) & 15) - 1);
        let count = smaller >> shift & 15;
        smaller = smaller.wrapping_sub(0x1111_1110 << shift);
        count
    })
}

impl Indexed for Puzzle8 {
    fn count(&self) -> usize {
        9 * ORDERS
    }

    #[inline]
    fn index(&self, board: &Packed8) -> usize {
        let (tiles, blank) = without_blank(*board);
        let [a, b, c, d, e, f] = smaller_behind(tiles);
        let order = ((((a * 7 + b) * 6 + c) * 5 + d) * 4 + e) * 3 + f;
        blank * ORDERS + order as usize
    }

    fn state_at(&self, index: usize) -> Packed8 {
        let (blank, mut order) = (index / ORDERS, index % ORDERS);
        let mut digits = [0; 7];
        for (digit, base) in digits[..6].iter_mut().rev().zip(3..9) {
            *digit = order % base;
            order /= base;
        }
        digits[6] = (digits.iter().sum::<usize>() + self.parity()) % 2;
        let (mut left, mut tiles) = (0x8765_4321u64, 0);
        for (i, digit) in digits.into_iter().chain([0]).enumerate() {
            tiles |= (left >> (4 * digit) & 15) << (4 * i);
            let before = (1 << (4 * digit)) - 1;
            left = left & before | left >> 4 & !before;
        }
        let before = (1u64 << (4 * blank)) - 1;
        Packed8(tiles & before | (tiles & !before) << 4)
    }

    #[inline]
    fn neighbours(&self, index: usize, visit: &mut dyn FnMut(Move, usize)) {
        let (blank, order) = (index / ORDERS, index % ORDERS);
        let steps = &self.column_steps()[order];
        if blank >= 3 {
            visit(0, (blank - 3) * ORDERS + usize::from(steps.up[blank - 3]));
        }
        if blank < 6 {
            visit(1, (blank + 3) * ORDERS + usize::from(steps.down[blank]));
        }
        if blank % 3 < 2 {
            visit(2, index + ORDERS);
        }
        if blank % 3 > 0 {
            visit(3, index - ORDERS);
        }
    }
}

impl Puzzle8 {
    /// The parity of the orders that lead to the goal.
    fn parity(&self) -> usize {
        let (goal, _) = without_blank(self.goal());
        smaller_behind::<7>(goal).iter().sum::<u32>() as usize % 2
    }

    /// The steps from every order that leads to the goal, made once for each parity.
    fn column_steps(&self) -> &'static [ColumnSteps] {
        static TABLES: [OnceLock<Vec<ColumnSteps>>; 2] = [const { OnceLock::new() }; 2];
        TABLES[self.parity()].get_or_init(|| {
            let mut table = vec![ColumnSteps::default(); ORDERS];
            for place in 0..6 {
                for order in 0..ORDERS {
                    let moved = self.state_at((place + 3) * ORDERS + order).slide(0).expect("a row is above the blank");
                    let after = self.index(&moved) % ORDERS;
                    table[order].up[place] = after as u16;
                    table[after].down[place] = order as u16;
                }
            }
            table
        })
    }
}

/// The orders after the blank's steps along columns: a tile goes past two others.
#[derive(Debug, Clone, Copy, Default)]
struct ColumnSteps {
    /// The blank goes up: the first of three tiles, from each of six places, goes after the other two.
    up: [u16; 6],
    /// The blank goes down: the last of the three goes before the others.
    down: [u16; 6],
}
