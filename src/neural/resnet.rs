//! The convolutional residual network of the cube article:
//!
//! planes → 1×1 convolution to `width` channels → `blocks` × (norm → 3×3 convolution → norm → ReLU → 3×3 convolution →
//! norm, plus the input) → global average pooling → heads. "Same" padding; no bias in a convolution nor in the cost-to-go.
//!
//! Images are small here, and wide: 3×3 cells of 1024 channels. So a sample is one row of numbers, cell by cell, and a
//! convolution is a product for each cell, of what its neighbours hold with the taps that meet them ([`Kernel`]). Taps
//! beyond the border cost nothing: 49 of 81 are left on 3×3.

use super::encode::OneHot;
use super::heads::{FoldedHeads, Heads};
use super::network::{Folded, Network, NetworkConfig, Norm, Output, TrainingDefaults};
use super::operations::{convolution, linear_relu};
use super::parameters::{Group, Init, Layout, Slot, Weights};
use crate::puzzle::{Encoding, Grid};
use tch::{Kind, Tensor};

/// What a training has by default.
pub(super) const DEFAULTS: TrainingDefaults =
    TrainingDefaults { batch_size: 1024, batch_size_on_cuda: 1024, learning_rate: 1e-3 };

#[derive(Debug)]
struct Block {
    norms: [Norm; 3],
    convolutions: [Slot; 2],
}

/// The network `resnet`.
#[derive(Debug)]
pub(super) struct ResNet {
    one_hot: OneHot,
    grid: Grid,
    input: Slot,
    blocks: Vec<Block>,
    heads: Heads,
    planes: u64,
    width: u64,
}

impl ResNet {
    pub(super) fn new(
        config: &NetworkConfig,
        encoding: &Encoding,
        grid: Grid,
        one_hot: OneHot,
        layout: &mut Layout,
    ) -> Self {
        let (width, planes) = (config.width as i64, (grid.faces * encoding.symbols) as i64);
        let convolution = |layout: &mut Layout, name: String, inputs: i64, size: i64| {
            let init = Init::He { fan_in: inputs * size * size };
            layout.add(name, &[width, inputs, size, size], Group::Matrix, init)
        };
        ResNet {
            one_hot,
            grid,
            input: convolution(layout, "input.weight".into(), planes, 1),
            blocks: (0..config.blocks)
                .map(|block| Block {
                    norms: [0, 1, 2].map(|i| Norm::new(layout, &format!("blocks.{block}.norm{i}"), width)),
                    convolutions: [0, 1]
                        .map(|i| convolution(layout, format!("blocks.{block}.conv{i}.weight"), width, 3)),
                })
                .collect(),
            heads: Heads::new(layout, config, width, false),
            planes: planes as u64,
            width: width as u64,
        }
    }
}

/// The 1×1 convolution, by weights `channels × planes`: `samples × cells × planes` to `samples × (cells · channels)`.
fn widen(planes: &Tensor, weight: &Tensor) -> Tensor {
    planes.linear(weight, None::<Tensor>).flatten(1, -1)
}

/// A 3×3 convolution with "same" padding, as matrices, for a network that is only solved with.
#[derive(Debug)]
struct Kernel {
    grid: Grid,
    inputs: i64,
    /// For each column of cells, the taps that meet one: `outputs × (3 rows · columns met · inputs)`.
    columns: Vec<Tensor>,
}

/// The cells at most one away from `at`, of so many in a line: the first, and how many.
fn near(at: i64, cells: usize) -> (i64, i64) {
    let first = (at - 1).max(0);
    (first, (at + 2).min(cells as i64) - first)
}

impl Kernel {
    /// From weights in their usual order, `outputs × inputs × 3 × 3`.
    fn new(weight: &Tensor, grid: Grid) -> Self {
        let taps = weight.permute([0, 2, 3, 1]);
        let columns = (0..grid.columns as i64).map(|column| {
            let (left, width) = near(column, grid.columns);
            taps.narrow(2, left + 1 - column, width).flatten(1, -1)
        });
        Kernel { grid, inputs: weight.size()[1], columns: columns.collect() }
    }

    /// `samples × (cells · inputs)` to `samples × (cells · outputs)`, and ReLU; `biases` are `cells × outputs`.
    fn apply_relu(&self, images: &Tensor, biases: &Tensor) -> Tensor {
        let outputs = self.products(images, |cell, seen, taps| linear_relu(seen, taps, &biases.get(cell)));
        Tensor::cat(&outputs, 1)
    }

    /// Adds what it makes of images to others, `samples × (cells · outputs)`, within the products.
    fn add_to(&self, sums: &Tensor, images: &Tensor) {
        self.products(images, |cell, seen, taps| {
            let outputs = taps.size()[0];
            sums.narrow(1, cell * outputs, outputs).addmm_(seen, &taps.tr())
        });
    }

    /// `product` is given the number of a cell, what it sees, and the taps that meet that.
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

/// The mean over cells, in f32.
fn pool(images: &Tensor, channels: i64) -> Tensor {
    images.view([images.size()[0], -1, channels]).mean_dim([1i64].as_slice(), false, Kind::Float)
}

impl Network for ResNet {
    fn encode(&self, rows: &Tensor) -> Tensor {
        self.one_hot.grid(rows, self.grid)
    }

    fn forward(&self, weights: &Weights, rows: &Tensor, training: bool) -> Output {
        let weight = &weights[self.input];
        let channels = weight.size()[0];
        let norm = |norm: &Norm, images: &Tensor| {
            norm.forward(weights, &images.view([-1, channels]), training).view(images.size().as_slice())
        };
        let convolve =
            |slot: Slot, images: &Tensor| convolution(images, &weights[slot].permute([0, 2, 3, 1]), self.grid);
        let mut x = widen(&self.encode(rows), &self.one_hot.widened(&weight.flatten(1, -1)));
        for Block { norms, convolutions } in &self.blocks {
            let inner = convolve(convolutions[0], &norm(&norms[0], &x));
            let inner = norm(&norms[1], &inner).relu_();
            x = norm(&norms[2], &convolve(convolutions[1], &inner)) + x;
        }
        self.heads.forward(weights, &pool(&x, channels))
    }

    fn fold(&self, weights: &Weights, kind: Kind) -> Box<dyn Folded> {
        let weight = |slot: Slot| weights[slot].to_kind(Kind::Float);
        let cells = (self.grid.rows * self.grid.columns) as i64;
        // What the blocks so far add to each cell of every sample: it is left out of the images.
        let mut constant = Tensor::zeros([weights[self.input].size()[0]], (Kind::Float, weights[self.input].device()));
        let mut blocks = Vec::new();
        for Block { norms, convolutions } in &self.blocks {
            let [before, between, after] = norms.each_ref().map(|norm| norm.scale_and_shift(weights));
            // The shift of the first norm meets zero padding at the border: convolve it as an image, once.
            let taps = weight(convolutions[0]).permute([0, 2, 3, 1]);
            let shift = &before.1 + &before.0 * &constant;
            let shift = convolution(&shift.tile([1, cells]), &taps, self.grid);
            let first = weight(convolutions[0]) * before.0.view([1, -1, 1, 1]) * between.0.view([-1, 1, 1, 1]);
            let second = weight(convolutions[1]) * after.0.view([-1, 1, 1, 1]);
            blocks.push(FoldedBlock {
                kernels: [first, second].map(|weight| Kernel::new(&weight.to_kind(kind), self.grid)),
                biases: (shift.view([cells, -1]) * &between.0 + &between.1).to_kind(kind),
            });
            constant += after.1;
        }
        let input = self.one_hot.widened(&weights[self.input].to_kind(kind).flatten(1, -1)).copy();
        let (one_hot, heads) = (self.one_hot.in_kind(kind), self.heads.fold(weights, kind).shifted(&constant));
        Box::new(FoldedResNet { one_hot, grid: self.grid, input, blocks, heads })
    }

    /// Taps beyond the border cost nothing.
    fn operations(&self) -> u64 {
        let Grid { rows, columns, .. } = self.grid;
        let met = |cells: usize| (0..cells as i64).map(|at| near(at, cells).1 as u64).sum::<u64>();
        let taps = met(rows) * met(columns);
        self.planes * self.width * (rows * columns) as u64
            + 2 * self.blocks.len() as u64 * taps * self.width * self.width
    }

    /// A layer keeps its product and the output of its normalisation, in 16 bits.
    fn training_bytes(&self, batch_size: u64) -> u64 {
        let cells = (self.grid.rows * self.grid.columns) as u64;
        2 * 2 * (2 + 2 * self.blocks.len() as u64) * cells * self.width * batch_size
    }
}

#[derive(Debug)]
struct FoldedBlock {
    kernels: [Kernel; 2],
    /// Of the first: `cells × outputs`.
    biases: Tensor,
}

#[derive(Debug)]
struct FoldedResNet {
    one_hot: OneHot,
    grid: Grid,
    input: Tensor,
    blocks: Vec<FoldedBlock>,
    heads: FoldedHeads,
}

impl Folded for FoldedResNet {
    fn forward(&self, rows: &Tensor, with_policy: bool) -> Output {
        let x = widen(&self.one_hot.grid(rows, self.grid), &self.input);
        for FoldedBlock { kernels: [first, second], biases } in &self.blocks {
            second.add_to(&x, &first.apply_relu(&x, biases));
        }
        self.heads.forward(&pool(&x, self.input.size()[0]), with_policy)
    }
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
    fn a_kernel_gives_what_a_padded_convolution_does() {
        tch::manual_seed(1);
        let f64s = (Kind::Double, tch::Device::Cpu);
        for (rows, columns) in [(1, 1), (1, 4), (2, 2), (3, 3), (4, 3), (5, 6)] {
            let (weight, bias) = (Tensor::randn([7, 5, 3, 3], f64s), Tensor::randn([7], f64s));
            let images = Tensor::randn([11, 5, rows as i64, columns as i64], f64s);
            let expected = images.conv2d(&weight, Some(&bias), [1, 1], [1, 1], [1, 1], 1);
            let kernel = Kernel::new(&weight, Grid { faces: 1, rows, columns });
            let biases = bias.tile([(rows * columns) as i64, 1]);
            let flat = images.permute([0, 2, 3, 1]).flatten(1, -1);
            let as_images = |outputs: Tensor| outputs.view([11, rows as i64, columns as i64, 7]).permute([0, 3, 1, 2]);
            near(&as_images(kernel.apply_relu(&flat, &biases)), &expected.relu(), 1e-12);
            let sums = bias.tile([11, (rows * columns) as i64]);
            kernel.add_to(&sums, &flat);
            near(&as_images(sums), &expected, 1e-12);
        }
    }
}
