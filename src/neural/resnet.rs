//! The convolutional residual network, after DeepCubeA (Agostinelli et al. 2019).
//!
//! planes → 1×1 convolution to `width` channels → `blocks` × (norm → 3×3 convolution → norm → ReLU → 3×3 convolution →
//! norm, plus the input) → global average pooling → heads. "Same" padding; no bias in a convolution nor in the cost-to-go.
//!
//! Images are small and deep: 3×3 cells of 1024 channels. A sample is one row of numbers, cell by cell, and a convolution is
//! one product per cell: its neighbours times the taps that meet them ([`FoldedConvolution`]). Taps beyond the border cost
//! nothing: 49 of 81 are left on 3×3.

use super::evaluator::{Folded, NetworkOutput};
use super::layers::{Heads, Norm, SlotLayer};
use super::network::{Network, NetworkConfig};
use super::one_hot::OneHot;
use super::parameters::{Init, Layout, ParameterGroup, Slot, Weights};
use crate::puzzle::Grid;
use crate::tensors::operations::{convolution, linear_relu};
use tch::{Kind, Tensor};

struct ResidualBlock {
    norms: [Norm; 3],
    convolutions: [Slot; 2],
}

/// The network `resnet`.
pub(super) struct ResNet {
    one_hot: OneHot,
    grid: Grid,
    input: Slot,
    blocks: Vec<ResidualBlock>,
    heads: Heads<SlotLayer>,
    operations: u64,
}

impl ResNet {
    pub(super) fn new(config: &NetworkConfig, planes: usize, grid: Grid, one_hot: OneHot, layout: &mut Layout) -> Self {
        let (width, planes) = (config.width as i64, planes as i64);
        let cells = (grid.rows * grid.columns) as i64;
        // Taps that meet cells: those beyond the border cost nothing.
        let near_cells = |cells: usize| (0..cells as i64).map(|at| near(at, cells).1).sum::<i64>();
        let met = near_cells(grid.rows) * near_cells(grid.columns);
        let convolution = |layout: &mut Layout, name: String, inputs: i64, size: i64| {
            layout.add(name, &[width, inputs, size, size], ParameterGroup::Matrix, Init::He(inputs * size * size))
        };
        ResNet {
            one_hot,
            grid,
            input: convolution(layout, "input.weight".into(), planes, 1),
            blocks: (0..config.blocks)
                .map(|block| ResidualBlock {
                    norms: [0, 1, 2].map(|i| Norm::new(layout, &format!("blocks.{block}.norm{i}"), width)),
                    convolutions: [0, 1]
                        .map(|i| convolution(layout, format!("blocks.{block}.conv{i}.weight"), width, 3)),
                })
                .collect(),
            heads: Heads::new(layout, config, width, false),
            operations: (width * (planes * cells + 2 * config.blocks as i64 * met * width)) as u64,
        }
    }
}

/// The 1×1 convolution, by weights `channels × planes`: from `samples × cells × planes` to `samples × (cells · channels)`.
fn widen(planes: &Tensor, weight: &Tensor) -> Tensor {
    planes.linear(weight, None::<Tensor>).flatten(1, -1)
}

/// A 3×3 convolution with "same" padding as matrices, not differentiable.
struct FoldedConvolution {
    grid: Grid,
    inputs: i64,
    /// For each column of cells, the taps that meet it: `outputs × (3 rows · columns met · inputs)`.
    columns: Vec<Tensor>,
}

/// The cells of a line within a distance of one from `at`: the first, and their number.
fn near(at: i64, cells: usize) -> (i64, i64) {
    let first = (at - 1).max(0);
    (first, (at + 2).min(cells as i64) - first)
}

impl FoldedConvolution {
    /// From weights `outputs × inputs × 3 × 3`.
    fn new(weight: &Tensor, grid: Grid) -> Self {
        let taps = weight.permute([0, 2, 3, 1]);
        let columns = (0..grid.columns as i64).map(|column| {
            let (left, width) = near(column, grid.columns);
            taps.narrow(2, left + 1 - column, width).flatten(1, -1)
        });
        FoldedConvolution { grid, inputs: weight.size()[1], columns: columns.collect() }
    }

    /// From `samples × (cells · inputs)` to `samples × (cells · outputs)`, with ReLU; `biases` are `cells × outputs`.
    fn apply_relu(&self, images: &Tensor, biases: &Tensor) -> Tensor {
        let outputs = self.products(images, |cell, seen, taps| linear_relu(seen, taps, &biases.get(cell)));
        Tensor::cat(&outputs, 1)
    }

    /// Adds the convolution of images to `sums`, `samples × (cells · outputs)`, within the products.
    fn add_to(&self, sums: &Tensor, images: &Tensor) {
        self.products(images, |cell, seen, taps| {
            let outputs = taps.size()[0];
            sums.narrow(1, cell * outputs, outputs).addmm_(seen, &taps.tr())
        });
    }

    /// Calls `product` with each cell's index, the inputs that it sees, and the taps that meet them.
    fn products(&self, images: &Tensor, product: impl Fn(i64, &Tensor, &Tensor) -> Tensor) -> Vec<Tensor> {
        let Grid { rows, columns, .. } = self.grid;
        let cells = images.view([-1, rows as i64, columns as i64, self.inputs]);
        let strips: Vec<Tensor> = (0..columns as i64)
            .map(|column| {
                let (left, width) = near(column, columns);
                cells.narrow(2, left, width).flatten(1, -1)
            })
            .collect();
        let outputs = (0..rows * columns).map(|cell| {
            let (row, column) = ((cell / columns) as i64, cell % columns);
            let line = self.inputs * near(column as i64, columns).1;
            let (top, height) = near(row, rows);
            let seen = strips[column].narrow(1, top * line, height * line);
            let taps = self.columns[column].narrow(1, (top + 1 - row) * line, height * line);
            product(cell as i64, &seen, &taps)
        });
        outputs.collect()
    }
}

/// Mean over the cells, in f32.
fn pool(images: &Tensor, channels: i64) -> Tensor {
    images.view([images.size()[0], -1, channels]).mean_dim([1i64].as_slice(), false, Kind::Float)
}

impl Network for ResNet {
    fn one_hot(&self) -> &OneHot {
        &self.one_hot
    }

    fn forward(&self, weights: &Weights, rows: &Tensor, training: bool) -> NetworkOutput {
        let weight = &weights[self.input];
        let channels = weight.size()[0];
        let norm = |norm: &Norm, images: &Tensor| {
            norm.forward(weights, &images.view([-1, channels]), training).view(images.size().as_slice())
        };
        let convolve =
            |slot: Slot, images: &Tensor| convolution(images, &weights[slot].permute([0, 2, 3, 1]), self.grid);
        let mut x = widen(&self.one_hot.encode(rows), &self.one_hot.padded(&weight.flatten(1, -1)));
        for ResidualBlock { norms, convolutions } in &self.blocks {
            let inner = convolve(convolutions[0], &norm(&norms[0], &x));
            let inner = norm(&norms[1], &inner).relu_();
            x = norm(&norms[2], &convolve(convolutions[1], &inner)) + x;
        }
        self.heads.with(weights).forward(&pool(&x, channels), true)
    }

    fn fold(&self, weights: &Weights, kind: Kind) -> Folded {
        let weight = |slot: Slot| weights[slot].to_kind(Kind::Float);
        let cells = (self.grid.rows * self.grid.columns) as i64;
        // Sum of the shifts of the blocks so far, the same in each cell of every sample: left out of the images.
        let mut constant = Tensor::zeros([weights[self.input].size()[0]], (Kind::Float, weights[self.input].device()));
        let mut blocks = Vec::new();
        for ResidualBlock { norms, convolutions } in &self.blocks {
            let [before, between, after] = norms.each_ref().map(|norm| norm.scale_and_shift(weights));
            // The shift of the first norm meets zero padding at the border: it is convolved as an image, once.
            let taps = weight(convolutions[0]).permute([0, 2, 3, 1]);
            let shift = &before.1 + &before.0 * &constant;
            let shift = convolution(&shift.tile([1, cells]), &taps, self.grid);
            let first = weight(convolutions[0]) * before.0.view([1, -1, 1, 1]) * between.0.view([-1, 1, 1, 1]);
            let second = weight(convolutions[1]) * after.0.view([-1, 1, 1, 1]);
            blocks.push(FoldedConvolutions {
                convolutions: [first, second].map(|weight| FoldedConvolution::new(&weight.to_kind(kind), self.grid)),
                biases: (shift.view([cells, -1]) * &between.0 + &between.1).to_kind(kind),
            });
            constant += after.1;
        }
        let input = self.one_hot.padded(&weights[self.input].to_kind(kind).flatten(1, -1)).copy();
        let heads = self.heads.with(weights).fold(kind).shifted(&constant);
        let one_hot = self.one_hot.in_kind(kind);
        Box::new(move |rows, with_policy| {
            let x = widen(&one_hot.encode(rows), &input);
            for FoldedConvolutions { convolutions: [first, second], biases } in &blocks {
                second.add_to(&x, &first.apply_relu(&x, biases));
            }
            heads.forward(&pool(&x, input.size()[0]), with_policy)
        })
    }

    fn operations(&self) -> u64 {
        self.operations
    }
}

struct FoldedConvolutions {
    convolutions: [FoldedConvolution; 2],
    /// Biases of the first convolution, `cells × outputs`.
    biases: Tensor,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &Tensor, expected: &Tensor, tolerance: f64) {
        assert_eq!(found.size(), expected.size());
        let error = (found - expected).abs().max().double_value(&[]) / expected.abs().max().double_value(&[]);
        assert!(error <= tolerance, "{:?}: {error}", found.size());
    }

    #[test]
    fn a_convolution_and_its_gradients_are_those_of_libtorch() {
        tch::manual_seed(1);
        for (kind, tolerance) in [(Kind::Double, 1e-12), (Kind::Float, 1e-5), (Kind::BFloat16, 0.03)] {
            for (rows, columns) in [(1, 1), (1, 4), (2, 2), (3, 3), (4, 3), (5, 6)] {
                let options = (kind, tch::Device::Cpu);
                let grid = Grid { faces: 1, rows, columns };
                let (rows, columns) = (rows as i64, columns as i64);
                let draw = |size: &[i64]| Tensor::randn(size, options).set_requires_grad(true);
                let (weight, images) = (draw(&[8, 5, 3, 3]), draw(&[11, rows * columns * 5]));
                let direction = Tensor::randn([11, rows * columns * 8], options);
                let found = convolution(&images, &weight.permute([0, 2, 3, 1]), grid);
                let planes = images.view([11, rows, columns, 5]).permute([0, 3, 1, 2]);
                let expected = planes.conv2d(&weight, None::<Tensor>, [1, 1], [1, 1], [1, 1], 1);
                let expected = expected.permute([0, 2, 3, 1]).flatten(1, -1);
                near(&found, &expected, tolerance);
                let gradients = |outputs: &Tensor| {
                    Tensor::run_backward(&[(outputs * &direction).sum(Kind::Double)], &[&images, &weight], false, false)
                };
                for (found, expected) in gradients(&found).iter().zip(gradients(&expected)) {
                    near(found, &expected, tolerance);
                }
            }
        }
    }

    #[test]
    fn a_folded_convolution_is_that_of_libtorch() {
        tch::manual_seed(1);
        let f64s = (Kind::Double, tch::Device::Cpu);
        for (rows, columns) in [(1, 1), (1, 4), (2, 2), (3, 3), (4, 3), (5, 6)] {
            let (weight, bias) = (Tensor::randn([7, 5, 3, 3], f64s), Tensor::randn([7], f64s));
            let images = Tensor::randn([11, 5, rows as i64, columns as i64], f64s);
            let expected = images.conv2d(&weight, Some(&bias), [1, 1], [1, 1], [1, 1], 1);
            let folded = FoldedConvolution::new(&weight, Grid { faces: 1, rows, columns });
            let biases = bias.tile([(rows * columns) as i64, 1]);
            let flat = images.permute([0, 2, 3, 1]).flatten(1, -1);
            let as_images = |outputs: Tensor| outputs.view([11, rows as i64, columns as i64, 7]).permute([0, 3, 1, 2]);
            near(&as_images(folded.apply_relu(&flat, &biases)), &expected.relu(), 1e-12);
            let sums = bias.tile([11, (rows * columns) as i64]);
            folded.add_to(&sums, &flat);
            near(&as_images(sums), &expected, 1e-12);
        }
    }
}
