//! Rows of symbols to one-hot tensors, on the device.

use crate::puzzle::{Encoding, Grid};
use tch::{Kind, Tensor};

/// Makes one-hot tensors of rows of one encoding, on one device, in one kind.
///
/// A row's one-hot is laid out symbol by symbol (all cells of symbol 0, then of symbol 1, …): the comparison then runs
/// along contiguous cells.
#[derive(Debug)]
pub(super) struct OneHot {
    symbols: Tensor,
    cells: Option<Tensor>,
    kind: Kind,
}

impl OneHot {
    /// For a network that reads a flat row: without the cells that never change.
    pub(super) fn flat(encoding: &Encoding, device: tch::Device, kind: Kind) -> Self {
        let cells = moving_cells(encoding);
        let all = cells.len() == encoding.cells;
        OneHot {
            symbols: symbols(encoding, device).view([1, -1, 1]),
            cells: (!all).then(|| Tensor::from_slice(&cells).to_device(device)),
            kind,
        }
    }

    /// For a convolutional network: all cells, as planes.
    pub(super) fn planes(encoding: &Encoding, device: tch::Device, kind: Kind) -> Self {
        OneHot { symbols: symbols(encoding, device).view([1, 1, 1, -1]), cells: None, kind }
    }

    pub(super) fn shallow_clone(&self) -> Self {
        OneHot {
            symbols: self.symbols.shallow_clone(),
            cells: self.cells.as_ref().map(Tensor::shallow_clone),
            kind: self.kind,
        }
    }

    /// `samples × cells` to `samples × (symbols · moving cells)`.
    pub(super) fn rows(&self, rows: &Tensor) -> Tensor {
        let rows = match &self.cells {
            Some(cells) => rows.index_select(1, cells),
            None => rows.shallow_clone(),
        };
        rows.unsqueeze(1).eq_tensor(&self.symbols).to_kind(self.kind).flatten(1, -1)
    }

    /// `samples × cells` to `samples × (rows · columns) × (faces · symbols)`: plane = face and symbol.
    pub(super) fn grid(&self, rows: &Tensor, grid: Grid) -> Tensor {
        let faces = rows.view([-1, grid.faces as i64, (grid.rows * grid.columns) as i64]);
        let planes = faces.transpose(1, 2).unsqueeze(-1).eq_tensor(&self.symbols);
        planes.to_kind(self.kind).flatten(2, -1)
    }
}

/// The inputs of a network that reads a flat row.
pub(super) fn flat_inputs(encoding: &Encoding) -> usize {
    moving_cells(encoding).len() * encoding.symbols
}

/// The cells that may change, in order: what a flat row is made of.
pub(super) fn moving_cells(encoding: &Encoding) -> Vec<i64> {
    (0..encoding.cells).filter(|cell| !encoding.fixed.contains(cell)).map(|cell| cell as i64).collect()
}

fn symbols(encoding: &Encoding, device: tch::Device) -> Tensor {
    let symbols: Vec<u8> = (0..encoding.symbols).map(|symbol| symbol as u8).collect();
    Tensor::from_slice(&symbols).to_device(device)
}

/// Rows on the host to a tensor on the device.
pub(super) fn upload(rows: ndarray::ArrayView2<'_, u8>, device: tch::Device) -> Tensor {
    let (samples, cells) = rows.dim();
    let slice = rows.to_slice().expect("rows are laid out one after the other");
    Tensor::from_slice(slice).view([samples as i64, cells as i64]).to_device(device)
}
