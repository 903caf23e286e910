//! Rows of symbols to one-hot tensors, on the device.

use super::operations::to_device;
use crate::puzzle::{Encoding, Grid};
use tch::{Kind, Tensor};

/// A GPU multiplies 16-bit matrices fast if their rows are a multiple of so many numbers long.
const ALIGNED_ON_CUDA: i64 = 8;

/// Makes one-hot tensors of rows of one encoding, on one device, in one kind.
///
/// A row's one-hot is laid out symbol by symbol (all cells of symbol 0, then of symbol 1, …): the comparison then runs
/// along contiguous cells.
#[derive(Debug)]
pub(super) struct OneHot {
    symbols: Tensor,
    cells: Option<Tensor>,
    kind: Kind,
    /// The numbers of a row, or of a cell of a grid, are filled up with zeros to a multiple of this.
    aligned: i64,
}

impl OneHot {
    /// For a network that reads a flat row: without the cells that never change.
    pub(super) fn flat(encoding: &Encoding, device: tch::Device, kind: Kind, aligned: i64) -> Self {
        let cells = moving_cells(encoding);
        let all = cells.len() == encoding.cells;
        OneHot {
            symbols: symbols(encoding, device).view([1, -1, 1]),
            cells: (!all).then(|| Tensor::from_slice(&cells).to_device(device)),
            kind,
            aligned,
        }
    }

    /// For a convolutional network: all cells, as planes.
    pub(super) fn planes(encoding: &Encoding, device: tch::Device, kind: Kind, aligned: i64) -> Self {
        let symbols = symbols(encoding, device).view([1, 1, 1, -1]);
        OneHot { symbols, cells: None, kind, aligned }
    }

    /// The same one-hots, in another kind.
    pub(super) fn in_kind(&self, kind: Kind) -> Self {
        OneHot {
            symbols: self.symbols.shallow_clone(),
            cells: self.cells.as_ref().map(Tensor::shallow_clone),
            kind,
            aligned: self.aligned,
        }
    }

    /// The numbers of a row are filled up to a multiple of this.
    pub(super) fn aligned(&self) -> i64 {
        self.aligned
    }

    /// So many numbers of zeros stand beside `width` numbers.
    fn zeros_beside(&self, width: i64) -> i64 {
        (self.aligned - width % self.aligned) % self.aligned
    }

    /// The weights of the first layer, with zeros for the zeros that stand beside a one-hot: `outputs × inputs`.
    pub(super) fn widened(&self, weights: &Tensor) -> Tensor {
        match self.zeros_beside(weights.size()[1]) {
            0 => weights.shallow_clone(),
            zeros => weights.constant_pad_nd([0, zeros]),
        }
    }

    /// Flags as numbers, with zeros beside them.
    fn numbers(&self, flags: &Tensor) -> Tensor {
        let mut size = flags.size();
        let width = size.pop().expect("rows have a width");
        let zeros = self.zeros_beside(width);
        if zeros == 0 {
            return flags.to_kind(self.kind);
        }
        size.push(width + zeros);
        let numbers = Tensor::zeros(&size, (self.kind, flags.device()));
        numbers.narrow(-1, 0, width).copy_(flags);
        numbers
    }

    /// `samples × cells` to `samples × (symbols · moving cells)`, and zeros beside them.
    pub(super) fn rows(&self, rows: &Tensor) -> Tensor {
        let rows = match &self.cells {
            Some(cells) => rows.index_select(1, cells),
            None => rows.shallow_clone(),
        };
        self.numbers(&rows.unsqueeze(1).eq_tensor(&self.symbols).flatten(1, -1))
    }

    /// `samples × cells` to `samples × (rows · columns) × (faces · symbols)`, and zeros beside them: plane = face and
    /// symbol.
    pub(super) fn grid(&self, rows: &Tensor, grid: Grid) -> Tensor {
        let faces = rows.view([-1, grid.faces as i64, (grid.rows * grid.columns) as i64]);
        self.numbers(&faces.transpose(1, 2).unsqueeze(-1).eq_tensor(&self.symbols).flatten(2, -1))
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

/// To a multiple of what the one-hots of a device are filled up.
pub(super) fn aligned_on(device: tch::Device) -> i64 {
    if device.is_cuda() { ALIGNED_ON_CUDA } else { 1 }
}

fn symbols(encoding: &Encoding, device: tch::Device) -> Tensor {
    let symbols: Vec<u8> = (0..encoding.symbols).map(|symbol| symbol as u8).collect();
    Tensor::from_slice(&symbols).to_device(device)
}

/// Rows on the host to a tensor on the device.
pub(super) fn upload(rows: ndarray::ArrayView2<'_, u8>, device: tch::Device) -> Tensor {
    let (samples, cells) = rows.dim();
    let slice = rows.to_slice().expect("rows are laid out one after the other");
    to_device(slice, device).view([samples as i64, cells as i64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_beside_a_one_hot_change_no_product() {
        let grid = Grid { faces: 1, rows: 1, columns: 3 };
        let encoding = Encoding { version: 1, cells: 3, symbols: 3, fixed: Vec::new(), grid: Some(grid) };
        let rows = Tensor::from_slice(&[0u8, 1, 2, 2, 0, 1]).view([2, 3]);
        let exact = (Kind::Double, tch::Device::Cpu);
        let flat = OneHot::flat(&encoding, tch::Device::Cpu, Kind::Double, 1);
        let planes = OneHot::planes(&encoding, tch::Device::Cpu, Kind::Double, 1);
        for (plain, inputs, width) in [(flat, 9, 16), (planes, 3, 8)] {
            let aligned = OneHot { aligned: 8, ..plain.in_kind(Kind::Double) };
            let weights = Tensor::randn([5, inputs], exact);
            let one_hot = |one_hot: &OneHot| if inputs == 9 { one_hot.rows(&rows) } else { one_hot.grid(&rows, grid) };
            let (narrow, wide) = (one_hot(&plain), one_hot(&aligned));
            assert_eq!((narrow.size().last(), wide.size().last()), (Some(&inputs), Some(&width)));
            assert_eq!(wide.sum(Kind::Double).double_value(&[]), 6.0, "one symbol a cell");
            let product = |one_hot: &OneHot, row: &Tensor| row.linear(&one_hot.widened(&weights), None::<Tensor>);
            let error = (product(&plain, &narrow) - product(&aligned, &wide)).abs().max();
            assert!(error.double_value(&[]) < 1e-12);
        }
    }
}
