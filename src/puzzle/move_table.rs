//! The moves of a puzzle as data: how each move changes the rows of [`Encode`](super::Encode), so that a device can make
//! moves on many rows at once.

use super::Move;

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
}
