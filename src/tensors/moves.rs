//! A [`MoveTable`] as tensors: the hashes of all children of a layer, without making them, and the children of some.
//!
//! A hash is a sum, over the cells of a row, of the cell's coefficient times its symbol.
//!
//! - Where a move permutes or toggles cells, the hashes of all children of all rows are one matrix product, with coefficients
//!   that each move has changed. They are integers so small that every sum is below 2⁵³: in f64 the product is exact, on every
//!   device and in any order of summation. Such a sum and the multiple of another make a hash of 64 bits.
//! - Where a blank slides, one tile moves, and the hash changes by the tile's number times the difference of two
//!   coefficients, modulo 2⁶⁴.

use crate::puzzle::{Encoding, MoveTable};
use crate::random::generator;
use rand::RngCore as _;
use tch::{Device, Kind, Tensor};

/// The odd factor of the second sum, which spreads it over 64 bits.
const FACTOR: i64 = 0x2545_f491_4f6c_dd1d;

/// The moves of a puzzle on a device.
pub(crate) struct DeviceMoves {
    table: Table,
    /// The coefficient of each cell, modulo 2⁶⁴: `1 × cells`.
    coefficients: Tensor,
    /// [`FACTOR`].
    factor: Tensor,
    /// A part of every hash where all cells may be 0: no state has the hash 0, which stands for none.
    offset: i64,
    /// The number of moves.
    pub(crate) count: i64,
}

enum Table {
    Permutations {
        /// `moves × cells`: the parent's cell that each cell of the child comes from.
        from: Tensor,
        /// `cells × (2 · moves)`, for one sum, then the other: the coefficient that a cell of the parent meets in the child.
        coefficients: Tensor,
    },
    Slides {
        /// `(cells · moves) × cells`, by the cell of the blank and the move: the parent's cell that each cell of the child
        /// comes from. If a move is not legal, nothing moves.
        from: Tensor,
        /// `cells × (3 · moves)`, by the cell of the blank: the cell that the blank goes to by each move; the change of the
        /// hash if tile 1 is there; and 1 where the move is legal, else 0.
        slides: Tensor,
        /// The number of moves.
        count: Tensor,
    },
    Toggles {
        /// `moves × cells`, 1 where a move toggles.
        toggles: Tensor,
        /// `cells × (2 · moves)`, for each sum: the coefficient of a cell, negative if the move toggles it.
        coefficients: Tensor,
        /// `2 · moves`: the sums of the coefficients of the cells that each move toggles, and the part that all hashes have.
        biases: Tensor,
    },
}

impl DeviceMoves {
    pub(crate) fn new(table: &MoveTable, encoding: &Encoding, device: Device) -> Self {
        let (cells, moves) = (encoding.cells, table.moves());
        let mut generator = generator(2, 0);
        // Random, and so small that the sum over all cells is exact.
        let most = (1u64 << 53) / (cells * encoding.symbols) as u64;
        let mut coefficients =
            |count| -> Vec<f64> { (0..count).map(|_| (generator.next_u64() % most) as f64).collect() };
        let sums = [coefficients(cells), coefficients(cells)];
        let offsets = match table {
            MoveTable::Toggles(_) => coefficients(2),
            _ => vec![0.0; 2],
        };
        let sums_on_device = sums.each_ref().map(|sum| Tensor::from_slice(sum).to_device(device));
        let integers = |numbers: Vec<i64>, columns: usize| {
            Tensor::from_slice(&numbers).view([-1, columns as i64]).to_device(device)
        };
        let number = |number: i64| Tensor::from(number).to_device(device);
        let hash = |[one, other]: [f64; 2]| (one as i64).wrapping_add((other as i64).wrapping_mul(FACTOR));
        // The coefficients of both sums of a cell, in one.
        let both = |cell: usize| hash([sums[0][cell], sums[1][cell]]);
        let table = match table {
            MoveTable::Permutations(permutations) => {
                let from = integers(permutations.concat().into_iter().map(i64::from).collect(), cells);
                let to = from.argsort(1, false); // the inverse permutations
                let coefficients = sums_on_device.map(|sum| sum.take(&to).tr());
                Table::Permutations { from, coefficients: Tensor::cat(&coefficients, 1) }
            }
            MoveTable::Slides(targets) => {
                let (mut from, mut slides) = (Vec::new(), Vec::new());
                for (blank, legal) in targets.iter().enumerate() {
                    let to: Vec<usize> = legal.iter().map(|to| to.map_or(blank, usize::from)).collect();
                    for &to in &to {
                        let mut order: Vec<i64> = (0..cells as i64).collect();
                        order.swap(blank, to);
                        from.extend(order);
                    }
                    slides.extend(to.iter().map(|&to| to as i64));
                    slides.extend(to.iter().map(|&to| both(blank).wrapping_sub(both(to))));
                    slides.extend(legal.iter().map(|to| i64::from(to.is_some())));
                }
                Table::Slides {
                    from: integers(from, cells),
                    slides: integers(slides, 3 * moves),
                    count: number(moves as i64),
                }
            }
            MoveTable::Toggles(toggles) => {
                let toggles =
                    Tensor::from_slice(&toggles.concat()).view([moves as i64, cells as i64]).to_device(device);
                let toggled = toggles.to_kind(Kind::Double);
                let signs = &toggled * -2.0 + 1.0;
                let coefficients = sums_on_device.each_ref().map(|sum| (&signs * sum).tr());
                let biases = [0, 1].map(|sum| toggled.mv(&sums_on_device[sum]) + offsets[sum]);
                let (coefficients, biases) = (Tensor::cat(&coefficients, 1), Tensor::cat(&biases, 0));
                Table::Toggles { toggles, coefficients, biases }
            }
        };
        let coefficients = integers((0..cells).map(both).collect(), cells);
        let offset = hash([offsets[0], offsets[1]]);
        DeviceMoves { table, coefficients, factor: number(FACTOR), offset, count: moves as i64 }
    }

    /// The hash of each row.
    pub(crate) fn hashes(&self, rows: &Tensor) -> Tensor {
        (rows * &self.coefficients).sum_dim_intlist(1, false, Kind::Int64) + self.offset
    }

    /// Whether the hashes of children follow from those of their parents.
    pub(crate) fn changes_hashes(&self) -> bool {
        matches!(self.table, Table::Slides { .. })
    }

    /// The hash of each child of each row, row by row, move by move; and 1 where the move is legal, else 0, `rows × moves`,
    /// `None` if all are. The hashes of the rows save time if those of the children [follow](DeviceMoves::changes_hashes) from
    /// them; elsewhere they are ignored.
    pub(crate) fn child_hashes(&self, rows: &Tensor, hashes: Option<&Tensor>) -> (Tensor, Option<Tensor>) {
        let sums = match &self.table {
            Table::Permutations { coefficients, .. } => rows.to_kind(Kind::Double).mm(coefficients),
            Table::Slides { slides, .. } => {
                let [targets, changes, legal] = self.slides(slides, rows);
                let tiles = rows.gather(1, &targets, false);
                let hashes = hashes.map_or_else(|| self.hashes(rows), Tensor::shallow_clone).unsqueeze(1);
                return (hashes.addcmul(&tiles, &changes).flatten(0, 1), Some(legal));
            }
            Table::Toggles { coefficients, biases, .. } => biases.addmm(&rows.to_kind(Kind::Double), coefficients),
        };
        // 64 bits of two exact sums, which lie side by side.
        let sums = sums.to_kind(Kind::Int64);
        let [one, other] = [0, self.count].map(|from| sums.narrow(1, from, self.count));
        (one.addcmul(&other, &self.factor).flatten(0, 1), None)
    }

    /// The three parts of the table of slides for each row.
    fn slides(&self, slides: &Tensor, rows: &Tensor) -> [Tensor; 3] {
        let slides = slides.index_select(0, &blanks(rows));
        [0, 1, 2].map(|part| slides.narrow(1, part * self.count, self.count))
    }

    /// Which moves are legal in each row, `rows × moves`; `None` if all are.
    pub(crate) fn legal(&self, rows: &Tensor) -> Option<Tensor> {
        let Table::Slides { slides, .. } = &self.table else { return None };
        let [.., legal] = self.slides(slides, rows);
        Some(legal)
    }

    /// The children of rows by one legal move each.
    pub(crate) fn children(&self, rows: &Tensor, moves: &Tensor) -> Tensor {
        match &self.table {
            Table::Permutations { from, .. } => rows.gather(1, &from.index_select(0, moves), false),
            Table::Slides { from, count, .. } => {
                let slides = moves.addcmul(&blanks(rows), count);
                rows.gather(1, &from.index_select(0, &slides), false)
            }
            Table::Toggles { toggles, .. } => rows.bitwise_xor_tensor(&toggles.index_select(0, moves)),
        }
    }
}

/// The cell of the blank in each row.
fn blanks(rows: &Tensor) -> Tensor {
    rows.argmin(1, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::cube3::{Cube3, Cube3HalfTurns};
    use crate::puzzle::lightsout::LightsOut;
    use crate::puzzle::tiles::{Puzzle8, Puzzle24, Puzzle48};
    use crate::puzzle::{Move, Puzzle};
    use crate::random::below;
    use crate::tensors::host_numbers;

    /// Hashes of children and rows of children agree with those of the rules, in integers, on random states.
    fn check<P: Puzzle>(puzzle: &P) {
        const STATES: usize = 50;
        let (encoding, moves) = (puzzle.encoding(), puzzle.move_count());
        let table = puzzle.move_table().expect("the puzzle has a table");
        let tensors = DeviceMoves::new(&table, &encoding, Device::Cpu);
        let mut generator = generator(5, 0);
        let mut state = puzzle.goals()[0];
        let mut states = Vec::new();
        while states.len() < STATES {
            if let Some(next) = puzzle.apply(&state, below(&mut generator, moves) as Move) {
                state = next;
                states.push(state);
            }
        }
        let row = |state: &P::State| puzzle.row(state);
        let tensor = |rows: Vec<Vec<u8>>| Tensor::from_slice(&rows.concat()).view([-1, encoding.cells as i64]);
        let rows = tensor(states.iter().map(row).collect());
        // The same sums one by one.
        let coefficients: Vec<i64> = host_numbers(&tensors.coefficients);
        let exact = |state: &P::State| {
            let products = coefficients.iter().zip(row(state)).map(|(c, symbol)| c.wrapping_mul(i64::from(symbol)));
            products.fold(tensors.offset, i64::wrapping_add)
        };
        let own: Vec<i64> = host_numbers(&tensors.hashes(&rows));
        assert_eq!(own, states.iter().map(exact).collect::<Vec<_>>());
        let (hashes, legal) = tensors.child_hashes(&rows, None);
        let hashes: Vec<i64> = host_numbers(&hashes);
        let legal: Option<Vec<i64>> = legal.map(|legal| host_numbers(&legal.flatten(0, 1)));
        let actions = Tensor::arange(moves as i64, (Kind::Int64, Device::Cpu));
        let all =
            tensors.children(&rows.repeat_interleave_self_int(moves as i64, 0, None), &actions.repeat([STATES as i64]));
        let all: Vec<u8> = host_numbers(&all);
        for (i, hash) in hashes.iter().enumerate() {
            let child = puzzle.apply(&states[i / moves], (i % moves) as Move);
            assert_eq!(legal.as_ref().is_none_or(|legal| legal[i] == 1), child.is_some(), "{}: {i}", puzzle.name());
            if let Some(child) = child {
                assert_eq!(*hash, exact(&child), "{}: {i}", puzzle.name());
                assert_eq!(all[i * encoding.cells..][..encoding.cells], row(&child), "{}: {i}", puzzle.name());
            }
        }
    }

    #[test]
    fn tensors_move_rows_as_the_rules_move_states() {
        check(&Cube3);
        check(&Cube3HalfTurns);
        check(&Cube2);
        check(&Puzzle8::default());
        check(&Puzzle24::default());
        check(&Puzzle48::default());
        check(&LightsOut::<1>::new(5));
    }
}
