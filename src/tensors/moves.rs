//! A [`MoveTable`] as tensors: the hashes of all children of a layer, without making them, and the children of some.
//!
//! A hash is a sum, over the cells of a row, of the cell's coefficient times its symbol. So the hashes of all children of all
//! rows are one matrix product with coefficients that each move has permuted. Coefficients are integers so small that every
//! sum is below 2⁵³: in f64 the product is exact, on every device and in any order of summation. Two such sums make a hash of
//! 64 bits.

use crate::puzzle::{Encoding, MoveTable};
use crate::random::generator;
use rand::RngCore as _;
use tch::{Device, Kind, Tensor};

/// Odd factors that spread the two sums over 64 bits.
const FACTORS: [i64; 2] = [0x1e37_79b9_7f4a_7c15, 0x2545_f491_4f6c_dd1d];

/// Added to every hash: no state has the hash 0, which stands for none; the board of zeros would.
const OFFSET: i64 = 0x6a09_e667_f3bc_c909;

/// The moves of a puzzle on a device.
pub(crate) struct Moves {
    table: Table,
    /// The coefficients of the two sums, `cells × 2`, f64.
    coefficients: Tensor,
    /// [`FACTORS`] and [`OFFSET`].
    factors: [Tensor; 2],
    offset: Tensor,
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
        /// `cells × moves`: where the blank goes from each cell; where a move is not legal, it stays.
        targets: Tensor,
        /// `cells × (2 · moves)`: the change of each sum for a tile of number 1 that goes to the blank.
        changes: Tensor,
    },
    Toggles {
        /// `moves × cells`, 1 where a move toggles.
        toggles: Tensor,
        /// `cells × (2 · moves)`, for each sum: the coefficient of a cell, negative where the move toggles it.
        coefficients: Tensor,
        /// `2 · moves`: the sums of the coefficients of the cells that each move toggles.
        biases: Tensor,
    },
}

impl Moves {
    pub(crate) fn new(table: &MoveTable, encoding: &Encoding, device: Device) -> Self {
        let (cells, moves) = (encoding.cells, table.moves());
        let mut generator = generator(2, 0);
        // Random, and so small that the sum over all cells is exact.
        let most = (1u64 << 53) / (cells * encoding.symbols) as u64;
        let mut coefficients = || -> Vec<f64> { (0..cells).map(|_| (generator.next_u64() % most) as f64).collect() };
        let sums = [coefficients(), coefficients()];
        let matrix = |number: &dyn Fn(usize, usize) -> f64| {
            let numbers: Vec<f64> = (0..cells * moves).map(|i| number(i / moves, i % moves)).collect();
            Tensor::from_slice(&numbers).view([cells as i64, moves as i64]).to_device(device)
        };
        let integers = |numbers: Vec<i64>, columns: usize| {
            Tensor::from_slice(&numbers).view([-1, columns as i64]).to_device(device)
        };
        let table = match table {
            MoveTable::Permutations(permutations) => {
                let mut to = vec![vec![0; cells]; moves];
                for (to, permutation) in to.iter_mut().zip(permutations) {
                    permutation.iter().enumerate().for_each(|(child, &parent)| to[usize::from(parent)] = child);
                }
                let coefficients = sums.each_ref().map(|sum| matrix(&|cell, action| sum[to[action][cell]]));
                let coefficients = Tensor::cat(&coefficients, 1);
                let from = permutations.concat().into_iter().map(i64::from).collect();
                Table::Permutations { from: integers(from, cells), coefficients }
            }
            MoveTable::Slides(targets) => {
                let target = |blank: usize, action: usize| targets[blank][action].map_or(blank, usize::from);
                let changes =
                    sums.each_ref().map(|sum| matrix(&|blank, action| sum[blank] - sum[target(blank, action)]));
                let changes = Tensor::cat(&changes, 1);
                let targets = (0..cells * moves).map(|i| target(i / moves, i % moves) as i64).collect();
                Table::Slides { targets: integers(targets, moves), changes }
            }
            MoveTable::Toggles(toggles) => {
                let toggled = |cell: usize, action: usize| f64::from(toggles[action][cell]);
                let coefficients =
                    sums.each_ref().map(|sum| matrix(&|cell, action| sum[cell] * (1.0 - 2.0 * toggled(cell, action))));
                let biases = sums.each_ref().map(|sum| {
                    matrix(&|cell, action| sum[cell] * toggled(cell, action)).sum_dim_intlist(0, false, Kind::Double)
                });
                let toggles =
                    Tensor::from_slice(&toggles.concat()).view([moves as i64, cells as i64]).to_device(device);
                let (coefficients, biases) = (Tensor::cat(&coefficients, 1), Tensor::cat(&biases, 0));
                Table::Toggles { toggles, coefficients, biases }
            }
        };
        let coefficients = Tensor::stack(&sums.map(|sum| Tensor::from_slice(&sum).to_device(device)), 1);
        let number = |number: i64| Tensor::from(number).to_device(device);
        Moves { table, coefficients, factors: FACTORS.map(number), offset: number(OFFSET), count: moves as i64 }
    }

    /// The hash of each row.
    pub(crate) fn hashes(&self, rows: &Tensor) -> Tensor {
        self.hash(&rows.to_kind(Kind::Double).mm(&self.coefficients)).flatten(0, 1)
    }

    /// The hash of each child of each row, and which of these moves are legal, `None` if all are; row by row, move by move.
    pub(crate) fn child_hashes(&self, rows: &Tensor) -> (Tensor, Option<Tensor>) {
        let rows_of_numbers = rows.to_kind(Kind::Double);
        let (sums, legal) = match &self.table {
            Table::Permutations { coefficients, .. } => (rows_of_numbers.mm(coefficients), None),
            Table::Slides { targets, changes } => {
                let blank = blanks(rows);
                let targets = targets.index_select(0, &blank);
                let tiles = rows_of_numbers.gather(1, &targets, false);
                let sums = rows_of_numbers.mm(&self.coefficients).unsqueeze(2);
                let changes = changes.index_select(0, &blank).view([-1, 2, self.count]);
                let sums = sums.addcmul(&tiles.unsqueeze(1), &changes).flatten(1, 2);
                (sums, Some(targets.ne_tensor(&blank.unsqueeze(1)).flatten(0, 1)))
            }
            Table::Toggles { coefficients, biases, .. } => (biases.addmm(&rows_of_numbers, coefficients), None),
        };
        (self.hash(&sums).flatten(0, 1), legal)
    }

    /// 64 bits of two exact sums, which lie side by side: `rows × moves` from `rows × (2 · moves)`.
    fn hash(&self, sums: &Tensor) -> Tensor {
        let (sums, count) = (sums.to_kind(Kind::Int64), sums.size()[1] / 2);
        let first = self.offset.addcmul(&sums.narrow(1, 0, count), &self.factors[0]);
        first.addcmul(&sums.narrow(1, count, count), &self.factors[1])
    }

    /// Which moves are legal in each row, `rows × moves`; `None` if all are.
    pub(crate) fn legal(&self, rows: &Tensor) -> Option<Tensor> {
        let Table::Slides { targets, .. } = &self.table else { return None };
        let blank = blanks(rows);
        Some(targets.index_select(0, &blank).ne_tensor(&blank.unsqueeze(1)))
    }

    /// The children of rows by one legal move each.
    pub(crate) fn children(&self, rows: &Tensor, moves: &Tensor) -> Tensor {
        match &self.table {
            Table::Permutations { from, .. } => rows.gather(1, &from.index_select(0, moves), false),
            Table::Slides { targets, .. } => {
                let blank = blanks(rows);
                let target = targets.index_select(0, &blank).gather(1, &moves.unsqueeze(1), false);
                let tile = rows.gather(1, &target, false);
                rows.scatter(1, &blank.unsqueeze(1), &tile).scatter_value(1, &target, 0)
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
    use crate::puzzle::{Move, Reversible};
    use crate::random::below;
    use crate::tensors::host_numbers;

    /// Hashes of children and rows of children agree with those of the rules, in integers, on random states.
    fn check<P: Reversible>(puzzle: &P) {
        const STATES: usize = 50;
        let (encoding, moves) = (puzzle.encoding(), puzzle.move_count());
        let table = puzzle.move_table().expect("the puzzle has a table");
        let tensors = Moves::new(&table, &encoding, Device::Cpu);
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
        // The same sums in integers.
        let coefficients: [Vec<f64>; 2] = [0, 1].map(|sum| host_numbers(&tensors.coefficients.select(1, sum)));
        let exact = |state: &P::State| {
            let sum =
                |sum: &Vec<f64>| sum.iter().zip(row(state)).map(|(c, symbol)| *c as i64 * i64::from(symbol)).sum();
            let [one, other]: [i64; 2] = coefficients.each_ref().map(sum);
            one.wrapping_mul(FACTORS[0]).wrapping_add(other.wrapping_mul(FACTORS[1])).wrapping_add(OFFSET)
        };
        let own: Vec<i64> = host_numbers(&tensors.hashes(&rows));
        assert_eq!(own, states.iter().map(exact).collect::<Vec<_>>());
        let (hashes, legal) = tensors.child_hashes(&rows);
        let hashes: Vec<i64> = host_numbers(&hashes);
        let legal: Option<Vec<bool>> = legal.map(|legal| host_numbers(&legal));
        let actions = Tensor::arange(moves as i64, (Kind::Int64, Device::Cpu));
        let all =
            tensors.children(&rows.repeat_interleave_self_int(moves as i64, 0, None), &actions.repeat([STATES as i64]));
        let all: Vec<u8> = host_numbers(&all);
        for (i, hash) in hashes.iter().enumerate() {
            let child = puzzle.apply(&states[i / moves], (i % moves) as Move);
            assert_eq!(legal.as_ref().is_none_or(|legal| legal[i]), child.is_some(), "{}: {i}", puzzle.name());
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
