//! The dense residual network, after DeepCubeA (Agostinelli et al. 2019, Methods), with a policy head beside the value:
//!
//! one-hot → dense `width` → dense `width / 2` → `blocks` × (dense, dense, plus the input) → heads,
//! batch normalization and ReLU after every dense layer; in a block the last ReLU comes after the sum.

use super::evaluator::{Evaluator, Folded, NetworkOutput};
use super::int8::{self, FloatLayer, FloatMlp, Rounding};
use super::layers::{Heads, Norm, SlotLayer};
use super::network::{Network, NetworkConfig};
use super::one_hot::{OneHot, moving_cells};
use super::parameters::{Init, Layout, ParameterGroup, Slot, Weights};
use crate::puzzle::Encoding;
use crate::tensors::operations::linear_relu;
use tch::{Kind, Tensor};

/// A dense layer without a bias, and its normalization.
struct DenseLayer {
    weight: Slot,
    norm: Norm,
}

impl DenseLayer {
    fn new(layout: &mut Layout, name: &str, inputs: i64, outputs: i64) -> Self {
        DenseLayer {
            weight: layout.add(format!("{name}.weight"), &[outputs, inputs], ParameterGroup::Matrix, Init::He(inputs)),
            norm: Norm::new(layout, &format!("{name}.norm"), outputs),
        }
    }

    fn fold(&self, weights: &Weights, kind: Kind) -> FoldedLayer {
        let (scale, shift) = self.norm.scale_and_shift(weights);
        let weight = weights[self.weight].to_kind(Kind::Float) * scale.unsqueeze(1);
        FoldedLayer { weight: weight.to_kind(kind), bias: shift.to_kind(kind) }
    }
}

/// The network `mlp`.
pub(super) struct Mlp {
    one_hot: OneHot,
    /// The cells of a flat row.
    cells: Vec<i64>,
    operations: u64,
    input: DenseLayer,
    hidden: DenseLayer,
    blocks: Vec<[DenseLayer; 2]>,
    heads: Heads<SlotLayer>,
}

impl Mlp {
    pub(super) fn new(config: &NetworkConfig, encoding: &Encoding, one_hot: OneHot, layout: &mut Layout) -> Self {
        let cells = moving_cells(encoding);
        let inputs = (cells.len() * encoding.symbols) as i64;
        let (wide, narrow) = (config.width as i64, config.width as i64 / 2);
        Mlp {
            one_hot,
            cells,
            operations: (inputs * wide + wide * narrow + 2 * config.blocks as i64 * narrow * narrow) as u64,
            input: DenseLayer::new(layout, "input", inputs, wide),
            hidden: DenseLayer::new(layout, "hidden", wide, narrow),
            blocks: (0..config.blocks)
                .map(|block| [0, 1].map(|i| DenseLayer::new(layout, &format!("blocks.{block}.{i}"), narrow, narrow)))
                .collect(),
            heads: Heads::new(layout, config, narrow, true),
        }
    }
}

impl Network for Mlp {
    fn one_hot(&self) -> &OneHot {
        &self.one_hot
    }

    fn forward(&self, weights: &Weights, rows: &Tensor, training: bool) -> NetworkOutput {
        let dense = |layer: &DenseLayer, weight: &Tensor, input: &Tensor| {
            layer.norm.forward(weights, &input.linear(weight, None::<Tensor>), training)
        };
        let layer = |layer: &DenseLayer, input: &Tensor| dense(layer, &weights[layer.weight], input);
        let first = self.one_hot.padded(&weights[self.input.weight]);
        let mut x = dense(&self.input, &first, &self.one_hot.encode(rows)).relu_();
        x = layer(&self.hidden, &x).relu_();
        for [first, second] in &self.blocks {
            let inner = layer(first, &x).relu_();
            x = (layer(second, &inner) + x).relu_();
        }
        self.heads.with(weights).forward(&x, true)
    }

    fn fold(&self, weights: &Weights, kind: Kind) -> Folded {
        let fold = |layer: &DenseLayer| layer.fold(weights, kind);
        let input = fold(&self.input);
        let input = FoldedLayer { weight: self.one_hot.padded(&input.weight), ..input };
        let hidden = fold(&self.hidden);
        let block = |block: &[DenseLayer; 2]| FoldedBlock::new(block.each_ref().map(fold), self.one_hot.alignment);
        let blocks: Vec<FoldedBlock> = self.blocks.iter().map(block).collect();
        let (one_hot, heads) = (self.one_hot.in_kind(kind), self.heads.with(weights).fold(kind));
        Box::new(move |rows, with_policy| {
            let first = hidden.forward_relu(&input.forward_relu(&one_hot.encode(rows)));
            let x = blocks.iter().fold(first, |x, block| block.forward(x));
            heads.forward(&x, with_policy)
        })
    }

    fn quantize(&self, weights: &Weights) -> Option<Box<dyn Evaluator>> {
        let Rounding { round, .. } = int8::rounding()?;
        let layer = |layer: &DenseLayer| {
            let FoldedLayer { weight, bias } = layer.fold(weights, Kind::Float);
            FloatLayer::new(&weight, Some(&bias))
        };
        Some(round(FloatMlp {
            cells: self.cells.iter().map(|&cell| cell as usize).collect(),
            input: layer(&self.input),
            hidden: layer(&self.hidden),
            blocks: self.blocks.iter().map(|block| block.each_ref().map(layer)).collect(),
            heads: self.heads.with(weights).map(|(weight, bias)| FloatLayer::new(weight, bias.as_ref())),
            operations: self.operations,
        }))
    }

    fn operations(&self) -> u64 {
        self.operations
    }
}

/// A dense layer with a bias.
struct FoldedLayer {
    weight: Tensor,
    bias: Tensor,
}

impl FoldedLayer {
    fn forward_relu(&self, input: &Tensor) -> Tensor {
        linear_relu(input, &self.weight, &self.bias)
    }
}

/// A residual block in three kernels: x ← ReLU(x + W₁ · ReLU(W₀ · x + b₀) + b₁).
///
/// The first layer has one more output, which its bias makes 1; the weight of that output in the second layer is b₁, so
/// that product, bias and sum are one matrix product. Zeros pad the first layer to a width that the device is fast with.
struct FoldedBlock {
    first: FoldedLayer,
    /// `outputs × (inputs + 1 + zeros)`.
    second: Tensor,
}

impl FoldedBlock {
    fn new([first, second]: [FoldedLayer; 2], alignment: i64) -> Self {
        let bias = first.bias.constant_pad_nd([0, alignment]);
        let _ = bias.narrow(0, first.bias.size()[0], 1).fill_(1.0);
        let first = FoldedLayer { weight: first.weight.constant_pad_nd([0, 0, 0, alignment]), bias };
        let with_bias = Tensor::cat(&[second.weight, second.bias.unsqueeze(1)], 1);
        FoldedBlock { first, second: with_bias.constant_pad_nd([0, alignment - 1]) }
    }

    fn forward(&self, mut x: Tensor) -> Tensor {
        x.addmm_(&self.first.forward_relu(&x), &self.second.tr()).relu_()
    }
}
