//! Admissible estimates for sliding tiles: Manhattan distance, and linear conflict on top of it.

use crate::heuristic::PerState;
use crate::puzzle::tiles::{Board, Tiles};

/// The goal cell of each tile.
fn homes<B: Board>(puzzle: &Tiles<B>) -> Vec<usize> {
    let mut homes = vec![0; B::CELLS];
    for (cell, tile) in puzzle.goal().tiles().into_iter().enumerate() {
        homes[usize::from(tile)] = cell;
    }
    homes
}

/// Twice the number of tiles that must leave a row or column and come back (Hansson, Mayer and Yung 1992).
fn conflicts<B: Board>(homes: &[usize], tiles: &[u8]) -> usize {
    let home = |cell: usize| (tiles[cell] != 0).then(|| homes[usize::from(tiles[cell])]);
    let mut count = 0;
    for line in 0..B::SIDE {
        let of_row = (0..B::SIDE).filter_map(|i| home(line * B::SIDE + i));
        count += out_of_order(of_row.filter(|home| home / B::SIDE == line).map(|home| home % B::SIDE));
        let of_column = (0..B::SIDE).filter_map(|i| home(i * B::SIDE + line));
        count += out_of_order(of_column.filter(|home| home % B::SIDE == line).map(|home| home / B::SIDE));
    }
    2 * count
}

/// The fewest tiles to take out of a line so that the others stand in the order of their goal cells: all that belong in
/// the line, at these places, except a longest increasing run of them.
fn out_of_order(places_of_tiles: impl Iterator<Item = usize>) -> usize {
    let mut runs = [0usize; 8];
    let mut places = [0usize; 8];
    let mut count = 0;
    for place in places_of_tiles {
        let before = (0..count).filter(|&i| places[i] < place).map(|i| runs[i]).max().unwrap_or(0);
        (places[count], runs[count]) = (place, before + 1);
        count += 1;
    }
    count - runs[..count].iter().max().copied().unwrap_or(0)
}

/// The sum of the rows and columns between each tile and its goal cell.
#[derive(Debug, Clone)]
pub struct Manhattan {
    /// By cell, the distance of each tile there; 0 for the blank.
    distances: Vec<u8>,
}

impl Manhattan {
    /// The distances from the goal of a puzzle.
    pub fn of<B: Board>(puzzle: &Tiles<B>) -> Self {
        let homes = homes(puzzle);
        let away = |cell: usize, tile: usize| {
            let home = homes[tile];
            (cell / B::SIDE).abs_diff(home / B::SIDE) + (cell % B::SIDE).abs_diff(home % B::SIDE)
        };
        let cells = (0..B::CELLS).flat_map(|cell| (0..B::CELLS).map(move |tile| (cell, tile)));
        Manhattan { distances: cells.map(|(cell, tile)| if tile == 0 { 0 } else { away(cell, tile) as u8 }).collect() }
    }

    /// The distance of a board from the goal.
    #[inline]
    pub fn distance<B: Board>(&self, board: &B) -> u32 {
        self.of_tiles(&tiles(board)[..B::CELLS])
    }

    #[inline]
    fn of_tiles(&self, tiles: &[u8]) -> u32 {
        let rows = self.distances.chunks_exact(tiles.len());
        rows.zip(tiles).map(|(away, &tile)| u32::from(away[usize::from(tile)])).sum()
    }
}

/// The Manhattan distance: admissible and consistent.
pub fn manhattan<B: Board>(puzzle: &Tiles<B>) -> PerState<B> {
    let manhattan = Manhattan::of(puzzle);
    PerState::new("manhattan", true, move |board: &B| manhattan.distance(board) as f32)
}

/// The Manhattan distance and the linear conflicts: admissible and consistent.
pub fn linear_conflict<B: Board>(puzzle: &Tiles<B>) -> PerState<B> {
    let (homes, manhattan) = (homes(puzzle), Manhattan::of(puzzle));
    PerState::new("linear-conflict", true, move |board: &B| {
        let tiles = &tiles(board)[..B::CELLS];
        (manhattan.of_tiles(tiles) + conflicts::<B>(&homes, tiles) as u32) as f32
    })
}

fn tiles<B: Board>(board: &B) -> [u8; 49] {
    let mut tiles = [0; 49];
    board.write_tiles(&mut tiles[..B::CELLS]);
    tiles
}
