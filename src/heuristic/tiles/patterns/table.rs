//! Builds one pattern database: a breadth-first search back from the goal that distinguishes, and counts, only the moves of
//! the pattern's tiles.
//!
//! A node is a placement of the pattern's tiles and the region of other cells that the blank can reach without moving one
//! of them. A whole region is entered at once, as bits of a word. The table drops the region and keeps the least cost, as
//! Korf and Felner's does.

use crate::puzzle::bits;

/// A placement of the pattern's tiles: the cell of tile `i` in bits `4i..4i + 4`. An index of the table.
type Placement = u32;

/// A set of cells, a bit each.
type Cells = u16;

/// The initial cost; every placement of tiles in distinct cells is reached.
const UNREACHED: u8 = u8::MAX;

/// The neighbours of each cell.
const NEIGHBOURS: [Cells; 16] = {
    let mut neighbours = [0; 16];
    let mut cell = 0;
    while cell < 16 {
        neighbours[cell] = grown(1 << cell) & !(1 << cell);
        cell += 1;
    }
    neighbours
};

/// A set of cells and their neighbours.
const fn grown(cells: Cells) -> Cells {
    const LEFT: Cells = 0x1111;
    const RIGHT: Cells = 0x8888;
    cells | cells << 4 | cells >> 4 | (cells & !RIGHT) << 1 | (cells & !LEFT) >> 1
}

/// The connected region of free cells that contains `cell`.
fn region(cell: usize, free: Cells) -> Cells {
    let mut cells = 1 << cell;
    loop {
        let more = grown(cells) & free;
        if more == cells {
            return cells;
        }
        cells = more;
    }
}

/// The fewest moves of a pattern's tiles that bring them home from each placement, over all cells of the blank.
///
/// `homes` are the goal cells of the pattern's tiles, `blank` is the blank's. The table has 16ⁿ bytes for n tiles.
pub(super) fn build(homes: &[u8], blank: usize) -> Vec<u8> {
    let mut search = PatternSearch {
        size: homes.len(),
        table: vec![UNREACHED; 1 << (4 * homes.len())],
        entered: vec![0; 1 << (4 * homes.len())],
        next: Vec::new(),
    };
    let goal = homes.iter().rev().fold(0, |placement, &home| placement << 4 | Placement::from(home));
    let taken = homes.iter().fold(0, |taken, &home| taken | 1 << home);
    search.enter(goal, blank, taken, 0);
    for cost in 1.. {
        let layer = std::mem::take(&mut search.next);
        if layer.is_empty() {
            break;
        }
        layer.iter().for_each(|&(placement, region)| search.expand(placement, region, cost));
    }
    search.table
}

struct PatternSearch {
    size: usize,
    table: Vec<u8>,
    /// By placement, the cells of the blank that were reached.
    entered: Vec<Cells>,
    /// The next layer.
    next: Vec<(Placement, Cells)>,
}

impl PatternSearch {
    /// Makes all moves of the pattern's tiles into a region of the blank.
    fn expand(&mut self, placement: Placement, region: Cells, cost: u8) {
        let cells = (0..self.size).map(|i| (placement >> (4 * i)) as usize & 15);
        let taken = cells.fold(0, |taken, cell| taken | 1 << cell);
        for shift in (0..self.size).map(|i| 4 * i) {
            let from = (placement >> shift) as usize & 15;
            for to in bits((NEIGHBOURS[from] & region).into()) {
                let moved = placement ^ (from as Placement ^ to) << shift;
                if self.entered[moved as usize] >> from & 1 == 0 {
                    self.enter(moved, from, taken ^ 1 << from ^ 1 << to, cost);
                }
            }
        }
    }

    /// Records a placement with the blank in a region that was not reached before.
    fn enter(&mut self, placement: Placement, blank: usize, taken: Cells, cost: u8) {
        let region = region(blank, !taken);
        self.entered[placement as usize] |= region;
        let known = &mut self.table[placement as usize];
        *known = cost.min(*known);
        self.next.push((placement, region));
    }
}
