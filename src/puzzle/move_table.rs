//! The moves of a puzzle as data: how each move changes the rows of [`Encode`], so that a device can make moves on many rows
//! at once.

use super::{Encode, Move};
use crate::random::{below, generator};
use std::collections::HashMap;

/// How the moves change a row of cells. The row of the child is the row of the parent, changed so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveTable {
    /// Every move permutes the cells: `child[i] = parent[permutations[move][i]]`.
    Permutations(Vec<Vec<u16>>),
    /// Every move exchanges the cell of symbol 0, the blank, with a neighbour: `targets[blank][move]`, `None` if the
    /// move is not legal. Exactly one cell holds the blank.
    Slides(Vec<Vec<Option<u16>>>),
    /// Every move exchanges the symbols 0 and 1 in some cells: those where `toggles[move][i]` is 1.
    Toggles(Vec<Vec<u8>>),
}

impl MoveTable {
    /// The number of moves.
    pub fn moves(&self) -> usize {
        match self {
            MoveTable::Permutations(permutations) => permutations.len(),
            MoveTable::Slides(targets) => targets.first().map_or(0, Vec::len),
            MoveTable::Toggles(toggles) => toggles.len(),
        }
    }

    /// The row after a move; `None` if it is not legal.
    ///
    /// # Panics
    /// If there is no such move, or the row has another length.
    pub fn apply(&self, row: &[u8], action: Move) -> Option<Vec<u8>> {
        let action = usize::from(action);
        Some(match self {
            MoveTable::Permutations(permutations) => {
                permutations[action].iter().map(|&from| row[usize::from(from)]).collect()
            }
            MoveTable::Slides(targets) => {
                let blank = row.iter().position(|&symbol| symbol == 0).expect("a row has a blank");
                let mut row = row.to_vec();
                row.swap(blank, usize::from(targets[blank][action]?));
                row
            }
            MoveTable::Toggles(toggles) => {
                row.iter().zip(&toggles[action]).map(|(symbol, toggle)| symbol ^ toggle).collect()
            }
        })
    }

    /// The permutations of a puzzle whose moves permute the cells of its rows and are all legal, read off states on a walk
    /// from `start`: a cell comes from where its symbol comes from in all of them.
    ///
    /// # Panics
    /// If the states do not tell all cells apart, or a move is not a permutation.
    pub(super) fn permutations_of<P: Encode>(puzzle: &P, start: P::State) -> MoveTable {
        /// With this many states, no two cells have the same symbols by chance.
        const STATES: usize = 64;
        let (moves, cells) = (puzzle.move_count(), puzzle.encoding().cells);
        let apply = |state: &P::State, action: usize| puzzle.apply(state, action as Move).expect("every move is legal");
        let mut generator = generator(1, 0);
        let walk = std::iter::successors(Some(start), |state| Some(apply(state, below(&mut generator, moves))));
        let states: Vec<P::State> = walk.take(STATES).collect();
        // The symbols of each cell in all states.
        let columns = |states: &[P::State]| {
            let mut columns = vec![Vec::with_capacity(STATES); cells];
            let mut row = vec![0; cells];
            for state in states {
                puzzle.encode(state, &mut row);
                columns.iter_mut().zip(&row).for_each(|(column, &symbol)| column.push(symbol));
            }
            columns
        };
        let cell_of: HashMap<Vec<u8>, u16> = columns(&states).into_iter().zip(0..).collect();
        assert_eq!(cell_of.len(), cells, "the states tell all cells apart");
        let permutation = |action| {
            let moved: Vec<P::State> = states.iter().map(|state| apply(state, action)).collect();
            columns(&moved).iter().map(|column| cell_of[column]).collect()
        };
        MoveTable::Permutations((0..moves).map(permutation).collect())
    }
}
