//! Packed boards.

use super::Tiles;
use crate::puzzle::{Indexed, Move, State};

/// A board of a sliding-tile puzzle.
pub trait Board: State + PartialOrd + Ord {
    /// Rows, and columns.
    const SIDE: usize;
    /// The number of cells.
    const CELLS: usize = Self::SIDE * Self::SIDE;
    /// [`Rules::state_index`](crate::puzzle::Rules::state_index) of this size.
    fn state_index(_puzzle: &Tiles<Self>) -> Option<&dyn Indexed<State = Self>> {
        None
    }

    /// Packs tiles, row by row, `0` the blank: a permutation of `0..CELLS`.
    fn pack(tiles: &[u8]) -> Self;

    /// Writes the tiles, row by row.
    fn write_tiles(&self, tiles: &mut [u8]);

    /// The board after the blank has moved, or `None` at the border.
    fn slide(&self, action: Move) -> Option<Self>;

    /// The tiles, row by row.
    fn tiles(&self) -> Vec<u8> {
        let mut tiles = vec![0; Self::CELLS];
        self.write_tiles(&mut tiles);
        tiles
    }
}

/// The blank's cell after each move: `TARGETS[blank][move]`, 255 at the border.
const fn targets<const CELLS: usize>(side: usize) -> [[u8; 4]; CELLS] {
    let mut table = [[255; 4]; CELLS];
    let mut cell = 0;
    while cell < CELLS {
        let (row, column) = (cell / side, cell % side);
        table[cell] = [
            if row > 0 { cell - side } else { 255 } as u8,
            if row + 1 < side { cell + side } else { 255 } as u8,
            if column + 1 < side { cell + 1 } else { 255 } as u8,
            if column > 0 { cell - 1 } else { 255 } as u8,
        ];
        cell += 1;
    }
    table
}

/// A board in one word.
macro_rules! packed {
    ($(#[$doc:meta])* $name:ident($word:ty), side $side:literal, bits $bits:literal $(, $($extra:tt)*)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $word);

        impl $name {
            const TILE: $word = (1 << $bits) - 1;
            /// The lowest bit of every cell.
            const ONES: $word = {
                let mut ones = 0;
                let mut cell = 0;
                while cell < $side * $side {
                    ones |= 1 << ($bits * cell);
                    cell += 1;
                }
                ones
            };

            /// The blank's cell.
            #[inline]
            pub(super) fn blank(self) -> usize {
                let zeros = self.0.wrapping_sub(Self::ONES) & !self.0 & Self::ONES << ($bits - 1);
                zeros.trailing_zeros() as usize / $bits
            }
        }

        impl Board for $name {
            const SIDE: usize = $side;

            $($($extra)*)?

            fn pack(tiles: &[u8]) -> Self {
                $name(tiles.iter().rev().fold(0, |packed, &tile| packed << $bits | <$word>::from(tile)))
            }

            #[inline]
            fn write_tiles(&self, tiles: &mut [u8]) {
                for (cell, tile) in tiles.iter_mut().enumerate() {
                    *tile = (self.0 >> ($bits * cell) & Self::TILE) as u8;
                }
            }

            #[inline]
            fn slide(&self, action: Move) -> Option<Self> {
                const TARGETS: [[u8; 4]; $side * $side] = targets($side);
                let blank = self.blank();
                let target = usize::from(TARGETS[blank][usize::from(action)]);
                if target == 255 {
                    return None;
                }
                let tile = self.0 >> ($bits * target) & Self::TILE;
                Some($name(self.0 & !(Self::TILE << ($bits * target)) | tile << ($bits * blank)))
            }
        }
    };
}

packed! {
    /// The 8-puzzle in 36 of 64 bits, 4 a tile.
    Packed8(u64), side 3, bits 4,
    fn state_index(puzzle: &Tiles<Self>) -> Option<&dyn Indexed<State = Self>> {
        Some(puzzle)
    }
}
packed! {
    /// The 15-puzzle in 64 bits, 4 a tile.
    Packed15(u64), side 4, bits 4
}
packed! {
    /// The 24-puzzle in 128 bits, 5 a tile.
    Packed24(u128), side 5, bits 5
}

/// A board of any size, a byte a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bytes<const SIDE: usize, const CELLS: usize> {
    tiles: [u8; CELLS],
    blank: u8,
}

impl<const SIDE: usize, const CELLS: usize> Bytes<SIDE, CELLS> {
    const TARGETS: [[u8; 4]; CELLS] = targets(SIDE);
}

impl<const SIDE: usize, const CELLS: usize> Board for Bytes<SIDE, CELLS> {
    const SIDE: usize = SIDE;

    fn pack(tiles: &[u8]) -> Self {
        let blank = tiles.iter().position(|&tile| tile == 0).expect("a board has a blank") as u8;
        Bytes { tiles: tiles.try_into().expect("a board has its number of cells"), blank }
    }

    fn write_tiles(&self, tiles: &mut [u8]) {
        tiles.copy_from_slice(&self.tiles);
    }

    #[inline]
    fn slide(&self, action: Move) -> Option<Self> {
        let blank = usize::from(self.blank);
        let target = usize::from(Self::TARGETS[blank][usize::from(action)]);
        if target == 255 {
            return None;
        }
        let mut next = *self;
        next.tiles.swap(blank, target);
        next.blank = target as u8;
        Some(next)
    }
}
