//! The dense residual network, after DeepCubeA (Agostinelli et al. 2019, Methods), with a policy head beside the value:
//!
//! one-hot → dense `width` → dense `width / 2` → `blocks` × (dense, dense, plus the input) → heads,
//! batch normalisation and ReLU after every dense layer; in a block the last ReLU comes after the sum.

use super::encode::{OneHot, flat_inputs, moving_cells};
use super::heads::{FoldedHeads, Heads};
use super::int8::{self, Int8Mlp};
use super::network::{Evaluator, Folded, Network, NetworkConfig, Norm, Output, TrainingDefaults};
use super::operations::linear_relu;
use super::parameters::{Group, Init, Layout, Slot, Weights, host_values};
use crate::puzzle::Encoding;
use tch::{Kind, Tensor};

/// What a training has by default.
pub(super) const DEFAULTS: TrainingDefaults =
    TrainingDefaults { batch_size: 2048, batch_size_on_cuda: 8192, learning_rate: 4e-3 };

/// A dense layer without a bias and the normalisation behind it.
#[derive(Debug)]
struct Layer {
    weight: Slot,
    norm: Norm,
}

impl Layer {
    fn new(layout: &mut Layout, name: &str, inputs: i64, outputs: i64) -> Self {
        let init = Init::He { fan_in: inputs };
        Layer {
            weight: layout.add(format!("{name}.weight"), &[outputs, inputs], Group::Matrix, init),
            norm: Norm::new(layout, &format!("{name}.norm"), outputs),
        }
    }

    fn forward(&self, weights: &Weights, input: &Tensor, training: bool) -> Tensor {
        self.norm.forward(weights, &input.linear(&weights[self.weight], None::<Tensor>), training)
    }

    /// The forward pass of the first layer.
    fn forward_first(&self, weights: &Weights, one_hot: &OneHot, rows: &Tensor, training: bool) -> Tensor {
        let product = one_hot.rows(rows).linear(&one_hot.widened(&weights[self.weight]), None::<Tensor>);
        self.norm.forward(weights, &product, training)
    }

    fn fold(&self, weights: &Weights, kind: Kind) -> FoldedLayer {
        let (scale, shift) = self.norm.scale_and_shift(weights);
        let weight = weights[self.weight].to_kind(Kind::Float) * scale.unsqueeze(1);
        FoldedLayer { weight: weight.to_kind(kind), bias: shift.to_kind(kind) }
    }

    fn round(&self, weights: &Weights) -> int8::Dense {
        let FoldedLayer { weight, bias } = self.fold(weights, Kind::Float);
        int8::Dense { weights: host_values(&weight), biases: host_values(&bias) }
    }
}

/// The network `mlp`.
#[derive(Debug)]
pub(super) struct Mlp {
    one_hot: OneHot,
    cells: Vec<i64>,
    input: Layer,
    hidden: Layer,
    blocks: Vec<[Layer; 2]>,
    heads: Heads,
    inputs: u64,
    width: u64,
}

impl Mlp {
    pub(super) fn new(config: &NetworkConfig, encoding: &Encoding, one_hot: OneHot, layout: &mut Layout) -> Self {
        let (wide, narrow) = (config.width as i64, config.width as i64 / 2);
        Mlp {
            one_hot,
            cells: moving_cells(encoding),
            input: Layer::new(layout, "input", flat_inputs(encoding) as i64, wide),
            hidden: Layer::new(layout, "hidden", wide, narrow),
            blocks: (0..config.blocks)
                .map(|block| [0, 1].map(|i| Layer::new(layout, &format!("blocks.{block}.{i}"), narrow, narrow)))
                .collect(),
            heads: Heads::new(layout, config, narrow, true),
            inputs: flat_inputs(encoding) as u64,
            width: config.width as u64,
        }
    }
}

impl Network for Mlp {
    fn encode(&self, rows: &Tensor) -> Tensor {
        self.one_hot.rows(rows)
    }

    fn forward(&self, weights: &Weights, rows: &Tensor, training: bool) -> Output {
        let layer = |layer: &Layer, input: &Tensor| layer.forward(weights, input, training);
        let mut x = self.input.forward_first(weights, &self.one_hot, rows, training).relu_();
        x = layer(&self.hidden, &x).relu_();
        for [first, second] in &self.blocks {
            let inner = layer(first, &x).relu_();
            x = (layer(second, &inner) + x).relu_();
        }
        self.heads.forward(weights, &x)
    }

    fn fold(&self, weights: &Weights, kind: Kind) -> Box<dyn Folded> {
        let FoldedLayer { weight, bias } = self.input.fold(weights, kind);
        let aligned = self.one_hot.aligned();
        Box::new(FoldedMlp {
            one_hot: self.one_hot.in_kind(kind),
            input: FoldedLayer { weight: self.one_hot.widened(&weight), bias },
            hidden: self.hidden.fold(weights, kind),
            blocks: self
                .blocks
                .iter()
                .map(|block| FoldedBlock::new(block.each_ref().map(|layer| layer.fold(weights, kind)), aligned))
                .collect(),
            heads: self.heads.fold(weights, kind),
        })
    }

    fn round(&self, weights: &Weights) -> Option<Box<dyn Evaluator>> {
        if !int8::is_available() {
            return None;
        }
        let blocks = self.blocks.iter().map(|block| block.each_ref().map(|layer| layer.round(weights)));
        let (input, hidden) = (self.input.round(weights), self.hidden.round(weights));
        let rounded = Int8Mlp::new(&self.cells, &input, &hidden, blocks, self.heads.round(weights), self.operations());
        rounded.map(|rounded| Box::new(rounded) as Box<dyn Evaluator>)
    }

    fn operations(&self) -> u64 {
        let (wide, narrow) = (self.width, self.width / 2);
        self.inputs * wide + wide * narrow + 2 * self.blocks.len() as u64 * narrow * narrow
    }

    /// A layer keeps its product and the output of its normalisation, in 16 bits.
    fn training_bytes(&self, batch_size: u64) -> u64 {
        2 * 2 * (2 + 2 * self.blocks.len() as u64) * self.width * batch_size
    }
}

/// A dense layer with a bias.
#[derive(Debug)]
struct FoldedLayer {
    weight: Tensor,
    bias: Tensor,
}

impl FoldedLayer {
    fn forward_relu(&self, input: &Tensor) -> Tensor {
        linear_relu(input, &self.weight, &self.bias)
    }
}

/// A residual block in three kernels: x ← ReLU(x + W₁ · ReLU(W₀ · x + b₀) + b₁). The first layer has one more output, which is
/// always 1, by its bias; its weight in the second is b₁, so that product, bias and sum are one matrix product. Zeros beside
/// it fill the layer up to a width that the device is fast with.
#[derive(Debug)]
struct FoldedBlock {
    first: FoldedLayer,
    /// `outputs × (inputs + 1 + zeros)`.
    second: Tensor,
}

impl FoldedBlock {
    fn new([first, second]: [FoldedLayer; 2], aligned: i64) -> Self {
        let added = aligned.max(1);
        let bias = first.bias.constant_pad_nd([0, added]);
        let _ = bias.narrow(0, first.bias.size()[0], 1).fill_(1.0);
        let first = FoldedLayer { weight: first.weight.constant_pad_nd([0, 0, 0, added]), bias };
        let with_bias = Tensor::cat(&[second.weight, second.bias.unsqueeze(1)], 1);
        FoldedBlock { first, second: with_bias.constant_pad_nd([0, added - 1]) }
    }

    fn forward(&self, mut x: Tensor) -> Tensor {
        x.addmm_(&self.first.forward_relu(&x), &self.second.tr()).relu_()
    }
}

#[derive(Debug)]
struct FoldedMlp {
    one_hot: OneHot,
    input: FoldedLayer,
    hidden: FoldedLayer,
    blocks: Vec<FoldedBlock>,
    heads: FoldedHeads,
}

impl Folded for FoldedMlp {
    fn forward(&self, rows: &Tensor, with_policy: bool) -> Output {
        let mut x = self.hidden.forward_relu(&self.input.forward_relu(&self.one_hot.rows(rows)));
        for block in &self.blocks {
            x = block.forward(x);
        }
        self.heads.forward(&x, with_policy)
    }
}
