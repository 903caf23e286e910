//! Additive disjoint pattern databases for the 15-puzzle.
//!
//! The tiles form patterns of six, six and three. A table holds, for every placement of a pattern's tiles, the fewest
//! moves *of those tiles* that bring them home; the other tiles are indistinguishable. A move moves one tile, so the sum
//! over disjoint patterns is never above the true distance (Korf and Felner, "Disjoint pattern database heuristics",
//! Artificial Intelligence 134, 2002; Felner, Korf and Hanan, "Additive pattern database heuristics", JAIR 22, 2004).
//! If the goal's blank is on a diagonal, the board reflected about it uses the same tables, and the larger sum counts.
//!
//! The sum has the parity of the distance. It is not consistent: the tables do not know where the blank is, and a move may
//! change the sum by more than 1.
//!
//! A tile is named by its goal cell, so goals differ only in the blank's cell. Up to rotation and reflection, there are
//! three cells of the blank (a corner, an edge and an inner one), each with its own tables.

use crate::cache::{self, CachedTable};
use crate::heuristic::PerState;
use crate::puzzle::tiles::{Board as _, Packed15, Tiles};

mod table;

/// The tiles in three patterns, each tile named by its goal cell.
#[derive(Debug)]
struct Partition {
    name: &'static str,
    /// The blank's place in words.
    place: &'static str,
    /// The blank's goal cell.
    blank: u8,
    patterns: [&'static [u8]; 3],
}

/// One for each kind of the blank's cell; that of the corner is Korf and Felner's.
const PARTITIONS: [Partition; 3] = [
    partition("corner", "in a corner", 15, [&[0, 4, 5, 8, 9, 12], &[6, 7, 10, 11, 13, 14], &[1, 2, 3]]),
    partition("edge", "at an edge", 1, [&[0, 4, 5, 8, 9, 12], &[7, 10, 11, 13, 14, 15], &[2, 3, 6]]),
    partition("inner", "inside", 5, [&[0, 4, 8, 9, 12, 13], &[6, 7, 10, 11, 14, 15], &[1, 2, 3]]),
];

const fn partition(name: &'static str, place: &'static str, blank: u8, patterns: [&'static [u8]; 3]) -> Partition {
    Partition { name, place, blank, patterns }
}

/// Changes whenever the values of the tables change.
const VERSION: u32 = 1;

/// Entries of the table of a pattern of six tiles: an index has 4 bits for the cell of each.
const SIX: usize = 1 << 24;
/// Entries of the table of a pattern of three tiles.
const THREE: usize = 1 << 12;

/// A cell under one of the eight symmetries of a board: bit 0 exchanges rows and columns, bits 1 and 2 reverse them.
fn reflected(symmetry: u8, cell: u8) -> u8 {
    let (row, column) = (cell / 4, cell % 4);
    let (row, column) = if symmetry & 1 == 0 { (row, column) } else { (column, row) };
    let row = if symmetry & 2 == 0 { row } else { 3 - row };
    let column = if symmetry & 4 == 0 { column } else { 3 - column };
    4 * row + column
}

impl Partition {
    /// The partition for a goal cell of the blank, and the symmetries that map one onto the other.
    fn of(blank: u8) -> (&'static Partition, Vec<u8>) {
        let maps = |partition: &Partition, symmetry| reflected(symmetry, blank) == partition.blank;
        let symmetries = |partition| (0..8).filter(|&symmetry| maps(partition, symmetry)).collect::<Vec<u8>>();
        let mut all = PARTITIONS.iter().map(|partition| (partition, symmetries(partition)));
        all.find(|(_, symmetries)| !symmetries.is_empty()).expect("the partitions cover every cell")
    }

    /// The tables of the three patterns in one; read from the cache, or built in seconds.
    fn tables(&self) -> Vec<u8> {
        let table = CachedTable {
            name: format!("puzzle15-6-6-3-{}", self.name),
            title: format!("the pattern databases of puzzle15 for goals with the blank {}", self.place),
            version: VERSION,
            length: 2 * SIX + THREE,
        };
        table.get(cache::folder().as_deref(), || self.build())
    }

    fn build(&self) -> Vec<u8> {
        self.patterns.map(|pattern| table::build(pattern, self.blank.into())).concat()
    }

    /// The shift of a tile's cell in the three indices, all in one word; `None` for the blank.
    fn shift(&self, home: u8) -> Option<usize> {
        self.patterns.iter().flat_map(|pattern| pattern.iter()).position(|&cell| cell == home).map(|slot| 4 * slot)
    }
}

/// The contribution of each byte of a packed board, two cells, to the indices of the three tables: 24, 24 and 12 bits of a
/// word.
#[derive(Debug)]
struct IndexTable([[u64; 256]; 8]);

impl IndexTable {
    /// For boards under a symmetry; `homes` are the goal cells of the tiles.
    fn new(partition: &Partition, symmetry: u8, homes: &[u8; 16]) -> Self {
        let part = |cell: u8, tile: usize| {
            let shift = partition.shift(reflected(symmetry, homes[tile]));
            shift.map_or(0, |shift| u64::from(reflected(symmetry, cell)) << shift)
        };
        IndexTable(std::array::from_fn(|i| {
            std::array::from_fn(|byte| part(2 * i as u8, byte & 15) | part(2 * i as u8 + 1, byte >> 4))
        }))
    }

    #[inline]
    fn indices(&self, board: Packed15) -> u64 {
        board.0.to_le_bytes().iter().zip(&self.0).map(|(&byte, parts)| parts[usize::from(byte)]).sum()
    }
}

/// The tables for a goal.
#[derive(Debug)]
struct PatternDatabases {
    tables: Vec<u8>,
    index_tables: Vec<IndexTable>,
}

impl PatternDatabases {
    fn new(goal: Packed15, tables: impl FnOnce(&Partition) -> Vec<u8>) -> Self {
        let mut homes = [0; 16];
        for (cell, tile) in goal.tiles().into_iter().enumerate() {
            homes[usize::from(tile)] = cell as u8;
        }
        let (partition, symmetries) = Partition::of(homes[0]);
        let index_tables =
            symmetries.into_iter().map(|symmetry| IndexTable::new(partition, symmetry, &homes)).collect();
        PatternDatabases { tables: tables(partition), index_tables }
    }

    #[inline]
    fn estimate(&self, board: Packed15) -> u8 {
        let (first, rest) = self.tables.split_at(SIX);
        let (second, third) = rest.split_at(SIX);
        let sums = self.index_tables.iter().map(|index_table| {
            let indices = index_table.indices(board) as usize;
            first[indices % SIX] + second[(indices >> 24) % SIX] + third[(indices >> 48) % THREE]
        });
        sums.max().unwrap_or(0)
    }
}

/// The estimate `pattern-databases`: admissible; its tables are read, or built and kept, at the first query.
pub fn pattern_databases(puzzle: &Tiles<Packed15>) -> PerState<Packed15> {
    let goal = puzzle.goal();
    PerState::deferred("pattern-databases", true, move || {
        let databases = PatternDatabases::new(goal, Partition::tables);
        move |board: &Packed15| f32::from(databases.estimate(*board))
    })
}

#[cfg(test)]
mod tests {
    use super::super::distance::manhattan;
    use super::*;
    use crate::heuristic::Heuristic as _;
    use crate::puzzle::laws::exact_distances;
    use crate::puzzle::tiles::Puzzle15;
    use crate::random::{below, generator};
    use std::sync::OnceLock;

    /// Built once for all tests, and not kept.
    fn tables(partition: &Partition) -> Vec<u8> {
        static TABLES: [OnceLock<Vec<u8>>; 3] = [const { OnceLock::new() }; 3];
        let at = PARTITIONS.iter().position(|other| other.name == partition.name).expect("one of them");
        TABLES[at].get_or_init(|| partition.build()).clone()
    }

    /// Goals with the blank in a corner, at an edge and inside, on a diagonal and not; two with the tiles in disorder.
    fn goals() -> Vec<Puzzle15> {
        let texts = [
            "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0",
            "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
            "1 2 3 4 5 6 7 0 8 9 10 11 12 13 14 15",
            "5 1 9 13 2 7 0 3 15 4 6 10 8 14 11 12",
            "15 3 14 1 12 8 2 9 6 13 11 4 10 0 7 5",
        ];
        texts.iter().map(|text| Puzzle15::with_goal(text).expect("a board")).collect()
    }

    #[test]
    fn every_goal_has_disjoint_patterns_of_all_tiles() {
        for partition in &PARTITIONS {
            let mut cells: Vec<u8> = partition.patterns.concat();
            cells.push(partition.blank);
            cells.sort_unstable();
            assert_eq!(cells, (0..16).collect::<Vec<u8>>(), "{}", partition.name);
        }
        let counts: Vec<usize> = (0..16).map(|blank| Partition::of(blank).1.len()).collect();
        assert_eq!(counts, [2, 1, 1, 2, 1, 2, 2, 1, 1, 2, 2, 1, 2, 1, 1, 2], "twice on a diagonal");
    }

    #[test]
    fn it_is_never_above_the_distance_nor_below_manhattan_near_the_goal() {
        for puzzle in goals() {
            let databases = PatternDatabases::new(puzzle.goal(), tables);
            let mut manhattan = manhattan(&puzzle);
            for (board, distance) in exact_distances(&puzzle, 14) {
                let estimate = databases.estimate(board);
                let lower = manhattan.estimate(&board).expect("a number");
                assert!(estimate <= distance && f32::from(estimate) >= lower, "{board:?}: {estimate}, {distance}");
                assert_eq!(estimate % 2, distance % 2, "{board:?}");
            }
            assert_eq!(databases.estimate(puzzle.goal()), 0);
        }
    }

    #[test]
    fn a_move_changes_it_by_an_odd_number_of_moves_of_one_pattern() {
        for puzzle in goals() {
            let databases = PatternDatabases::new(puzzle.goal(), tables);
            let mut manhattan = manhattan(&puzzle);
            let mut board = puzzle.goal();
            let mut generator = generator(15, 0);
            let mut before = 0;
            for _ in 0..100_000 {
                let Some(next) = board.slide(below(&mut generator, 4) as u8) else { continue };
                board = next;
                let estimate = databases.estimate(board);
                assert!(estimate.abs_diff(before) % 2 == 1, "{before}, {estimate} at {board:?}");
                assert!(f32::from(estimate) >= manhattan.estimate(&board).expect("a number"));
                assert!(estimate <= 80, "no board is farther");
                before = estimate;
            }
        }
    }

    #[test]
    fn a_table_holds_the_least_moves_of_its_tiles() {
        // Two tiles of a row: against the search over all places of the two and the blank, one move at a time.
        let table = table::build(&[1, 2], 15);
        let mut costs = vec![u8::MAX; 1 << 12];
        let goal = 1 | 2 << 4 | 15 << 8;
        costs[goal] = 0;
        let mut waiting = std::collections::VecDeque::from([goal]);
        while let Some(node) = waiting.pop_front() {
            let blank = node >> 8;
            for target in
                (0..16).filter(|&cell| (cell / 4usize).abs_diff(blank / 4) + (cell % 4).abs_diff(blank % 4) == 1)
            {
                let tile = (0..2).find(|i| node >> (4 * i) & 15 == target);
                let moved = tile.map_or(node, |i| node ^ (target ^ blank) << (4 * i)) & 0xff | target << 8;
                let cost = costs[node] + u8::from(tile.is_some());
                if cost < costs[moved] {
                    costs[moved] = cost;
                    if tile.is_some() { waiting.push_back(moved) } else { waiting.push_front(moved) }
                }
            }
        }
        for place in (0..256).filter(|place| place >> 4 != place & 15) {
            let least = (0..16).map(|blank| costs[place | blank << 8]).min();
            assert_eq!(Some(table[place]), least, "{place:x}");
        }
    }
}
