//! States as rows of small integers, for networks.

use super::{MoveTable, ParseError, Rules};

/// How a network reads states.
pub trait Encode: Rules {
    /// The form of a row.
    fn encoding(&self) -> Encoding;

    /// Writes a state's row, of [`Encoding::cells`] symbols.
    ///
    /// # Panics
    /// If `row` has another length.
    fn encode(&self, state: &Self::State, row: &mut [u8]);

    /// A state's row.
    fn row(&self, state: &Self::State) -> Vec<u8> {
        let mut row = vec![0; self.encoding().cells];
        self.encode(state, &mut row);
        row
    }

    /// The moves as changes of rows, for a search on a device; `None` if they have no such form, or do not all cost 1.
    fn move_table(&self) -> Option<MoveTable> {
        None
    }

    /// Checks that a row can hold a state.
    ///
    /// # Errors
    /// Says what does not fit.
    fn check_encodes(&self, _state: &Self::State) -> Result<(), ParseError> {
        Ok(())
    }
}

/// A row of `cells` small integers, each below `symbols`. The network makes its one-hot, on the device.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Encoding {
    /// Changes whenever a state would get another row: a model remembers the version that it was trained on.
    pub version: u32,
    /// Length of a row.
    pub cells: usize,
    /// Number of values of a cell.
    pub symbols: usize,
    /// Cells that are the same in every state: a network without a grid leaves them out.
    pub fixed: Vec<usize>,
    /// The grid that the cells form, if they form one.
    pub grid: Option<Grid>,
}

impl Encoding {
    /// Version 1 of an encoding without fixed cells and without a grid.
    pub fn row(cells: usize, symbols: usize) -> Encoding {
        Encoding { version: 1, cells, symbols, fixed: Vec::new(), grid: None }
    }

    /// Version 1 of an encoding of a flat board with `rows` × `columns` cells.
    pub fn board(rows: usize, columns: usize, symbols: usize) -> Encoding {
        let grid = Some(Grid { faces: 1, rows, columns });
        Encoding { grid, ..Encoding::row(rows * columns, symbols) }
    }
}

/// Cells in the order face, row, column: `faces × rows × columns` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Grid {
    /// Number of faces: 1 for a flat board.
    pub faces: usize,
    /// Rows of a face.
    pub rows: usize,
    /// Columns of a face.
    pub columns: usize,
}
