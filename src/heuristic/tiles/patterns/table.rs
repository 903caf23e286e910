//! How one pattern database is built: a breadth-first search back from the goal, in which only the moves of the
//! pattern's tiles are told apart, and counted.
//!
//! A node is where the pattern's tiles are, and a region of the other cells that the blank can walk in without moving
//! one of them: whole regions are entered at once, as bits of a word. The table drops the region and keeps the least
//! cost, as Korf and Felner's does.

/// A place of the pattern's tiles: the cell of tile `i` in bits `4i..4i + 4`. An index of the table.
type Place = u32;

/// A set of cells, a bit each.
type Cells = u16;

/// What no place of tiles in distinct cells keeps: all can be reached.
const NEVER: u8 = u8::MAX;

/// The cells beside each cell.
const BESIDE: [Cells; 16] = {
    let mut beside = [0; 16];
    let mut cell = 0;
    while cell < 16 {
        beside[cell] = grown(1 << cell) & !(1 << cell);
        cell += 1;
    }
    beside
};

/// A set of cells, and all beside them.
const fn grown(cells: Cells) -> Cells {
    const LEFT: Cells = 0x1111;
    const RIGHT: Cells = 0x8888;
    cells | cells << 4 | cells >> 4 | (cells & !RIGHT) << 1 | (cells & !LEFT) >> 1
}

/// The region of free cells around one of them.
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

/// The least number of moves of a pattern's tiles that brings them home from each place, wherever the blank is.
///
/// `homes` are the goal cells of the pattern's tiles, `blank` is the blank's. The table has 16 to the power of the
/// pattern's size bytes.
pub(super) fn build(homes: &[u8], blank: usize) -> Vec<u8> {
    let mut search = Search {
        size: homes.len(),
        table: vec![NEVER; 1 << (4 * homes.len())],
        entered: vec![0; 1 << (4 * homes.len())],
        next: Vec::new(),
    };
    let goal = homes.iter().rev().fold(0, |place, &home| place << 4 | Place::from(home));
    let taken = homes.iter().fold(0, |taken, &home| taken | 1 << home);
    search.enter(goal, blank, taken, 0);
    for cost in 1.. {
        let layer = std::mem::take(&mut search.next);
        if layer.is_empty() {
            break;
        }
        layer.iter().for_each(|&(place, region)| search.expand(place, region, cost));
    }
    search.table
}

struct Search {
    size: usize,
    table: Vec<u8>,
    /// For each place, the cells of the blank that were reached.
    entered: Vec<Cells>,
    /// The next layer.
    next: Vec<(Place, Cells)>,
}

impl Search {
    /// Makes all moves of the pattern's tiles into a region of the blank.
    fn expand(&mut self, place: Place, region: Cells, cost: u8) {
        let cells = (0..self.size).map(|i| (place >> (4 * i)) as usize & 15);
        let taken = cells.fold(0, |taken, cell| taken | 1 << cell);
        for shift in (0..self.size).map(|i| 4 * i) {
            let from = (place >> shift) as usize & 15;
            let mut targets = BESIDE[from] & region;
            while targets != 0 {
                let to = targets.trailing_zeros();
                targets &= targets - 1;
                let moved = place ^ (from as Place ^ to) << shift;
                if self.entered[moved as usize] >> from & 1 == 0 {
                    self.enter(moved, from, taken ^ 1 << from ^ 1 << to, cost);
                }
            }
        }
    }

    /// Takes note of a place with the blank in a region that was not reached before.
    fn enter(&mut self, place: Place, blank: usize, taken: Cells, cost: u8) {
        let region = region(blank, !taken);
        self.entered[place as usize] |= region;
        let known = &mut self.table[place as usize];
        *known = cost.min(*known);
        self.next.push((place, region));
    }
}
