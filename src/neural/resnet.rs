//! The convolutional residual network of the cube article:
//!
//! planes → 1×1 convolution to `width` channels → `blocks` × (norm → 3×3 convolution → norm → ReLU → 3×3 convolution →
//! norm, plus the input) → global average pooling → heads. "Same" padding; no bias in a convolution nor in the cost-to-go.

use super::encode::OneHot;
use super::network::{Folded, FoldedHeads, Heads, Network, NetworkConfig, Norm, Output};
use super::parameters::{Group, Init, Layout, Slot, Weights};
use crate::puzzle::{Encoding, Grid};
use tch::{Kind, Tensor};

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
        }
    }
}

/// "Same" padding for the sizes of kernel used here.
fn convolve(input: &Tensor, weight: &Tensor) -> Tensor {
    let padding = weight.size()[2] / 2;
    input.conv2d(weight, None::<Tensor>, [1, 1], [padding, padding], [1, 1], 1)
}

fn pool(features: &Tensor) -> Tensor {
    features.mean_dim([2i64, 3].as_slice(), false, Kind::Float)
}

impl Network for ResNet {
    fn encode(&self, rows: &Tensor) -> Tensor {
        self.one_hot.grid(rows, self.grid)
    }

    fn forward(&self, weights: &Weights, rows: &Tensor, training: bool) -> Output {
        let norm = |norm: &Norm, input: &Tensor| norm.forward(weights, input, training);
        let mut x = convolve(&self.encode(rows), &weights[self.input]);
        for Block { norms, convolutions } in &self.blocks {
            let inner = convolve(&norm(&norms[0], &x), &weights[convolutions[0]]);
            let inner = norm(&norms[1], &inner).relu_();
            x = norm(&norms[2], &convolve(&inner, &weights[convolutions[1]])) + x;
        }
        self.heads.forward(weights, &pool(&x))
    }

    fn fold(&self, weights: &Weights, kind: Kind) -> Box<dyn Folded> {
        let weight = |slot: Slot| weights[slot].to_kind(Kind::Float);
        let blocks = self.blocks.iter().map(|Block { norms, convolutions }| {
            let [before, between, after] = norms.each_ref().map(|norm| norm.scale_and_shift(weights));
            // The shift of the first norm meets zero padding at the border: convolve it as an image, once.
            let (rows, columns) = (self.grid.rows as i64, self.grid.columns as i64);
            let shift = before.1.view([1, -1, 1, 1]).expand([1, -1, rows, columns], false).contiguous();
            let map = convolve(&shift, &weight(convolutions[0])) * per_channel(&between.0) + per_channel(&between.1);
            let first = weight(convolutions[0]) * before.0.view([1, -1, 1, 1]) * between.0.view([-1, 1, 1, 1]);
            let second = weight(convolutions[1]) * after.0.view([-1, 1, 1, 1]);
            FoldedBlock {
                first: channels_last(&first, kind),
                map: channels_last(&map, kind),
                second: channels_last(&second, kind),
                bias: per_channel(&after.1).to_kind(kind),
            }
        });
        Box::new(FoldedResNet {
            one_hot: self.one_hot.shallow_clone(),
            grid: self.grid,
            input: weights[self.input].to_kind(kind).copy(),
            blocks: blocks.collect(),
            heads: self.heads.fold(weights, kind),
        })
    }
}

fn per_channel(values: &Tensor) -> Tensor {
    values.view([1, -1, 1, 1])
}

fn channels_last(tensor: &Tensor, kind: Kind) -> Tensor {
    let tensor = tensor.to_kind(kind);
    tensor.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2])
}

#[derive(Debug)]
struct FoldedBlock {
    first: Tensor,
    map: Tensor,
    second: Tensor,
    bias: Tensor,
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
    fn forward(&self, rows: &Tensor, moves: bool) -> Output {
        let planes = self.one_hot.grid(rows, self.grid);
        let mut x = convolve(&channels_last(&planes, planes.kind()), &self.input);
        for block in &self.blocks {
            let inner = (convolve(&x, &block.first) + &block.map).relu_();
            x += convolve(&inner, &block.second) + &block.bias;
        }
        self.heads.forward(&pool(&x), moves)
    }
}
