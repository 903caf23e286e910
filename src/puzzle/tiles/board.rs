//! Packed boards.

use super::Tiles;
use crate::puzzle::{Move, State, StateIndex};

/// A board of a sliding-tile puzzle.
pub trait Board: State + PartialOrd + Ord {
    /// Rows, and columns.
    const SIDE: usize;
    /// The number of cells.
    const CELLS: usize = Self::SIDE * Self::SIDE;
    /// [`Rules::state_index`](crate::puzzle::Rules::state_index) of this size.
    fn state_index(_puzzle: &Tiles<Self>) -> Option<&dyn StateIndex<Self>> {
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

/// The 8-puzzle in 32 bits: eight tiles of 4 bits; the ninth follows, for all nine add up to 36.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Packed8(pub u32);

impl Packed8 {
    /// The blank's cell: the first of eight cells that holds 0, or 8, the ninth.
    #[inline]
    pub(super) fn blank(self) -> usize {
        // A 4-bit field is 0 exactly where the lowest borrow of x - 0x1111... comes from.
        let zeros = self.0.wrapping_sub(0x1111_1111) & !self.0 & 0x8888_8888;
        zeros.trailing_zeros() as usize / 4
    }

    #[inline]
    fn ninth(self) -> u32 {
        let pairs = (self.0 & 0x0f0f_0f0f) + (self.0 >> 4 & 0x0f0f_0f0f);
        36 - (pairs.wrapping_mul(0x0101_0101) >> 24)
    }
}

impl Board for Packed8 {
    const SIDE: usize = 3;

    fn state_index(puzzle: &Tiles<Self>) -> Option<&dyn StateIndex<Self>> {
        Some(puzzle)
    }

    fn pack(tiles: &[u8]) -> Self {
        Packed8(tiles.iter().take(8).rev().fold(0, |packed, &tile| packed << 4 | u32::from(tile)))
    }

    #[inline]
    fn write_tiles(&self, tiles: &mut [u8]) {
        for (cell, tile) in tiles.iter_mut().enumerate() {
            *tile = if cell < 8 { self.0 >> (4 * cell) & 15 } else { self.ninth() } as u8;
        }
    }

    #[inline]
    fn slide(&self, action: Move) -> Option<Self> {
        const TARGETS: [[u8; 4]; 9] = targets(3);
        let blank = self.blank();
        let target = usize::from(TARGETS[blank][usize::from(action)]);
        match (blank, target) {
            (_, 255) => None,
            // The ninth cell is not stored: only the other cell changes.
            (_, 8) => Some(Packed8(self.0 | self.ninth() << (4 * blank))),
            (8, _) => Some(Packed8(self.0 & !(15 << (4 * target)))),
            _ => {
                let tile = self.0 >> (4 * target) & 15;
                Some(Packed8(self.0 & !(15 << (4 * target)) | tile << (4 * blank)))
            }
        }
    }
}

/// A board in one word.
macro_rules! packed {
    ($(#[$doc:meta])* $name:ident($word:ty), side $side:literal, bits $bits:literal) => {
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

            #[inline]
            fn blank(self) -> usize {
                let zeros = self.0.wrapping_sub(Self::ONES) & !self.0 & Self::ONES << ($bits - 1);
                zeros.trailing_zeros() as usize / $bits
            }
        }

        impl Board for $name {
            const SIDE: usize = $side;

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
