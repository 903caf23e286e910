//! Rows of symbols as one-hot tensors, made on the device.

use crate::puzzle::{Encoding, Grid};
use crate::tensors::operations::to_device;
use tch::{Kind, Tensor};

/// The lengths of a one-hot's rows are padded with zeros to a multiple of this: a GPU multiplies 16-bit matrices fast only
/// then.
pub(super) fn alignment_on(device: tch::Device) -> i64 {
    if device.is_cuda() { 8 } else { 1 }
}

/// Makes one-hot tensors from rows of one encoding, on one device, in one kind.
pub(super) struct OneHot {
    symbols: Tensor,
    /// The cells of a flat row, unless these are all.
    cells: Option<Tensor>,
    grid: Option<Grid>,
    kind: Kind,
    /// Rows are padded to a multiple of this.
    pub(super) alignment: i64,
}

impl OneHot {
    /// Planes of a grid for a convolutional network; without one, flat rows of the [`moving_cells`].
    pub(super) fn new(encoding: &Encoding, grid: Option<Grid>, on: (Kind, tch::Device), alignment: i64) -> Self {
        let (kind, device) = on;
        let symbols = Tensor::arange(encoding.symbols as i64, (Kind::Uint8, device));
        let symbols = if grid.is_some() { symbols } else { symbols.view([-1, 1]) };
        let cells = Some(moving_cells(encoding)).filter(|cells| grid.is_none() && cells.len() < encoding.cells);
        let cells = cells.map(|cells| Tensor::from_slice(&cells).to_device(device));
        OneHot { symbols, cells, grid, kind, alignment }
    }

    /// The same one-hots, in another kind.
    pub(super) fn in_kind(&self, kind: Kind) -> Self {
        let cells = self.cells.as_ref().map(Tensor::shallow_clone);
        OneHot { symbols: self.symbols.shallow_clone(), cells, kind, ..*self }
    }

    /// Rows padded as those of a one-hot are: for the weights of the first layer, `outputs × inputs`.
    pub(super) fn padded(&self, rows: &Tensor) -> Tensor {
        match rows.size().last().map_or(0, |width| (-width).rem_euclid(self.alignment)) {
            0 => rows.shallow_clone(),
            zeros => rows.constant_pad_nd([0, zeros]),
        }
    }

    /// From `samples × cells`: flat, `samples × (symbols · moving cells)`, all cells of symbol 0 first, so that the comparison
    /// runs along contiguous cells. For a grid: `samples × (rows · columns) × (faces · symbols)`. Rows are padded.
    pub(super) fn encode(&self, rows: &Tensor) -> Tensor {
        let flags = match self.grid {
            Some(Grid { faces, rows: height, columns }) => {
                let faces = rows.view([-1, faces as i64, (height * columns) as i64]);
                faces.transpose(1, 2).unsqueeze(-1).eq_tensor(&self.symbols).flatten(2, -1)
            }
            None => {
                let cells =
                    self.cells.as_ref().map_or_else(|| rows.shallow_clone(), |cells| rows.index_select(1, cells));
                cells.unsqueeze(1).eq_tensor(&self.symbols).flatten(1, -1)
            }
        };
        self.padded(&flags).to_kind(self.kind)
    }
}

/// The cells that may change, in order: a flat row holds these.
pub(super) fn moving_cells(encoding: &Encoding) -> Vec<i64> {
    (0..encoding.cells).filter(|cell| !encoding.fixed.contains(cell)).map(|cell| cell as i64).collect()
}

/// Copies rows of the host to a device.
pub(super) fn upload(rows: ndarray::ArrayView2<'_, u8>, device: tch::Device) -> Tensor {
    let (samples, cells) = rows.dim();
    let slice = rows.to_slice().expect("rows are contiguous");
    to_device(slice, device).view([samples as i64, cells as i64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_changes_no_product() {
        let grid = Grid { faces: 1, rows: 1, columns: 3 };
        let encoding = Encoding { version: 1, cells: 3, symbols: 3, fixed: Vec::new(), grid: Some(grid) };
        let rows = Tensor::from_slice(&[0u8, 1, 2, 2, 0, 1]).view([2, 3]);
        let exact = (Kind::Double, tch::Device::Cpu);
        for (grid, inputs, width) in [(None, 9, 16), (Some(grid), 3, 8)] {
            let one_hot = |alignment| OneHot::new(&encoding, grid, (Kind::Double, tch::Device::Cpu), alignment);
            let (plain, aligned) = (one_hot(1), one_hot(8));
            let weights = Tensor::randn([5, inputs], exact);
            let (narrow, wide) = (plain.encode(&rows), aligned.encode(&rows));
            assert_eq!((narrow.size().last(), wide.size().last()), (Some(&inputs), Some(&width)));
            assert_eq!(wide.sum(Kind::Double).double_value(&[]), 6.0, "one symbol a cell");
            let product = |one_hot: &OneHot, row: &Tensor| row.linear(&one_hot.padded(&weights), None::<Tensor>);
            let error = (product(&plain, &narrow) - product(&aligned, &wide)).abs().max();
            assert!(error.double_value(&[]) < 1e-12);
        }
    }
}
