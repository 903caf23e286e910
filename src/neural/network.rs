//! What every network is: a description that files name, a forward pass for training, and a folded one for solving.

use super::device::no_grad;
use super::encode::{OneHot, aligned_on, upload};
use super::operations::Arriving;
use super::parameters::{Group, Init, Layout, Parameters, Slot, Weights, host_values};
use super::precision::Precision;
use super::{mlp, resnet};
use crate::puzzle::Encoding;
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tch::{Kind, Tensor};

/// The kinds of networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkKind {
    /// Residual blocks of 3×3 convolutions on the grid's planes: for a GPU.
    Resnet,
    /// Residual blocks of dense layers on the flat row: far stronger per operation on a CPU.
    Mlp,
}

/// What a training of a kind of network has by default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainingDefaults {
    /// Samples a step on the CPU.
    pub batch_size: usize,
    /// Samples a step on CUDA.
    pub batch_size_on_cuda: usize,
    /// The peak of the learning rate.
    pub learning_rate: f64,
}

impl NetworkKind {
    /// All kinds, with their names.
    pub const ALL: [(&'static str, NetworkKind); 2] = [("resnet", NetworkKind::Resnet), ("mlp", NetworkKind::Mlp)];

    /// What a training has by default.
    pub fn defaults(self) -> TrainingDefaults {
        match self {
            NetworkKind::Resnet => resnet::DEFAULTS,
            NetworkKind::Mlp => mlp::DEFAULTS,
        }
    }
}

impl FromStr for NetworkKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = NetworkKind::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, kind)| *kind).ok_or_else(|| format!("unknown network '{text}': expected resnet or mlp"))
    }
}

impl fmt::Display for NetworkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NetworkKind::Resnet => "resnet",
            NetworkKind::Mlp => "mlp",
        })
    }
}

/// What a network is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// Which network.
    pub kind: NetworkKind,
    /// Channels of the convolutions, or units of the first dense layer (the others have half as many).
    pub width: usize,
    /// How many residual blocks.
    pub blocks: usize,
    /// How many moves the policy head has; `None` for a network without a policy head.
    pub policy: Option<usize>,
    /// The cost-to-go is `offset + scale · output`: a fresh network starts at the mean label.
    pub offset: f64,
    /// See `offset`.
    pub scale: f64,
}

/// Why a network cannot be made.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct NetworkError(pub String);

/// What a forward pass gives.
#[derive(Debug)]
pub(super) struct Output {
    /// The cost-to-go, in move-cost units, f32, one a sample; not clamped.
    pub(super) values: Tensor,
    /// Logits of the policy head, f32, `samples × moves`.
    pub(super) policy: Option<Tensor>,
}

/// A network: what it computes, without its numbers.
pub(super) trait Network: Send {
    /// What the first layer reads: the one-hot of rows.
    fn encode(&self, rows: &Tensor) -> Tensor;

    /// The forward pass; with `training`, normalisation uses the batch and updates the running statistics.
    fn forward(&self, weights: &Weights, rows: &Tensor, training: bool) -> Output;

    /// The same network for solving: normalisation folded into the products, which are done in `kind`.
    fn fold(&self, weights: &Weights, kind: Kind) -> Box<dyn Folded>;

    /// The same network for solving, in 8-bit integers on this CPU; `None` if it cannot be done so.
    fn round(&self, _weights: &Weights) -> Option<Box<dyn Evaluator>> {
        None
    }

    /// Multiply-adds of the matrix products for one state.
    fn operations(&self) -> u64;

    /// Bytes that a training step keeps for its backward pass, of a batch of so many samples.
    fn training_bytes(&self, batch_size: u64) -> u64;
}

/// A folded network as tensors.
pub(super) trait Folded: Send {
    /// The forward pass, of rows on the network's device.
    fn forward(&self, rows: &Tensor, with_policy: bool) -> Output;
}

/// What an evaluator gives for rows.
#[derive(Debug)]
pub(super) struct Evaluation {
    /// The cost-to-go, in move-cost units, one a row; not clamped.
    pub(super) values: Vec<f32>,
    /// The move probabilities, `rows × moves`.
    pub(super) policy: Option<Array2<f32>>,
}

/// The forward pass of a network that is only solved with, wherever it runs. It panics, as libtorch does, if the
/// device fails.
pub(super) trait Evaluator: Send {
    /// Begins to evaluate rows of cells on the host; a device goes on while the host does other things.
    fn begin(&self, rows: ArrayView2<'_, u8>, with_policy: bool) -> Box<dyn Begun>;

    /// Multiply-adds of the matrix products for one state.
    fn operations(&self) -> u64;
}

/// An evaluation that was begun.
pub(super) trait Begun {
    /// Whether the results are there.
    fn is_done(&self) -> bool;

    /// Waits for the results; panics, as libtorch does, if the device fails.
    fn end(self: Box<Self>) -> Evaluation;
}

impl Begun for Evaluation {
    fn is_done(&self) -> bool {
        true
    }

    fn end(self: Box<Self>) -> Evaluation {
        *self
    }
}

/// The results of a device on their way to the host. The values come last.
struct Results {
    values: Arriving,
    policy: Option<Arriving>,
}

impl Begun for Results {
    fn is_done(&self) -> bool {
        self.values.is_done()
    }

    fn end(self: Box<Self>) -> Evaluation {
        let values = host_values(&self.values.end());
        let policy = self.policy.map(|policy| {
            let rows = policy.end();
            let moves = rows.size()[1] as usize;
            Array2::from_shape_vec((values.len(), moves), host_values(&rows)).expect("a row of moves a state")
        });
        Evaluation { values, policy }
    }
}

/// A folded network on its device.
struct OnDevice {
    network: Box<dyn Folded>,
    device: tch::Device,
    operations: u64,
}

impl Evaluator for OnDevice {
    fn begin(&self, rows: ArrayView2<'_, u8>, with_policy: bool) -> Box<dyn Begun> {
        no_grad(|| {
            let output = self.network.forward(&upload(rows, self.device), with_policy);
            let policy = output.policy.map(|logits| {
                // From a GPU in 16 bits: these are the most numbers that come back.
                let kind = if self.device.is_cuda() { Kind::Half } else { Kind::Float };
                // None becomes 0 there.
                let probabilities =
                    logits.softmax(-1, Kind::Float).clamp_min(if kind == Kind::Half { 1e-7 } else { 0.0 });
                Arriving::begin(&probabilities.to_kind(kind))
            });
            Box::new(Results { values: Arriving::begin(&output.values), policy })
        })
    }

    fn operations(&self) -> u64 {
        self.operations
    }
}

/// A network made ready to evaluate, its products done in `precision`; in bf16 where 8 bits were asked for and cannot be
/// had ([`Precision::for_solving`]).
pub(super) fn evaluator(
    network: &dyn Network,
    parameters: &Parameters,
    device: tch::Device,
    precision: Precision,
) -> Box<dyn Evaluator> {
    no_grad(|| {
        let weights = parameters.weights(Kind::Float);
        let rounded = (precision == Precision::Int8).then(|| network.round(&weights)).flatten();
        rounded.unwrap_or_else(|| {
            let operations = network.operations();
            Box::new(OnDevice { network: network.fold(&weights, precision.kind()), device, operations })
        })
    })
}

impl NetworkConfig {
    /// How many numbers of such a network are trained.
    ///
    /// # Errors
    /// As building it: sizes that make no sense, or no grid to convolve.
    pub fn parameter_count(&self, encoding: &Encoding) -> Result<u64, NetworkError> {
        let (_, layout) = self.build(encoding, tch::Device::Cpu, Kind::Float)?;
        Ok(layout.trained() as u64)
    }

    /// Bytes that a training of such a network takes beside the weights: what a step of so many samples keeps for its
    /// backward pass.
    ///
    /// # Errors
    /// As building it: sizes that make no sense, or no grid to convolve.
    pub fn training_bytes(&self, encoding: &Encoding, batch_size: u64) -> Result<u64, NetworkError> {
        let (network, _) = self.build(encoding, tch::Device::Cpu, Kind::Float)?;
        Ok(network.training_bytes(batch_size))
    }

    /// Makes the network for rows of an encoding, whose products are done in `kind`, and the list of its parameters.
    ///
    /// # Errors
    /// If the sizes make no sense, or a convolutional network is asked for where cells form no grid.
    pub(super) fn build(
        &self,
        encoding: &Encoding,
        device: tch::Device,
        kind: Kind,
    ) -> Result<(Box<dyn Network>, Layout), NetworkError> {
        self.build_aligned(encoding, device, kind, aligned_on(device))
    }

    /// The same, its one-hots filled up to a multiple of `aligned` numbers.
    fn build_aligned(
        &self,
        encoding: &Encoding,
        device: tch::Device,
        kind: Kind,
        aligned: i64,
    ) -> Result<(Box<dyn Network>, Layout), NetworkError> {
        const LARGEST: usize = 1 << 16;
        if self.width < 2 || self.width > LARGEST || self.blocks > 1000 || !self.width.is_multiple_of(2) {
            return Err(NetworkError(format!(
                "a network of width {} and {} blocks is refused: expected an even width from 2 to {LARGEST} and at most \
                 1000 blocks",
                self.width, self.blocks
            )));
        }
        let mut layout = Layout::default();
        let network: Box<dyn Network> = match self.kind {
            NetworkKind::Mlp => {
                let one_hot = OneHot::flat(encoding, device, kind, aligned);
                Box::new(mlp::Mlp::new(self, encoding, one_hot, &mut layout))
            }
            NetworkKind::Resnet => {
                let grid = encoding.grid.ok_or_else(|| {
                    NetworkError(
                        "the network 'resnet' needs cells in a grid, and this puzzle has none: use 'mlp'".into(),
                    )
                })?;
                let one_hot = OneHot::planes(encoding, device, kind, aligned);
                Box::new(resnet::ResNet::new(self, encoding, grid, one_hot, &mut layout))
            }
        };
        Ok((network, layout))
    }
}

/// Batch normalisation (Ioffe and Szegedy 2015).
#[derive(Debug, Clone, Copy)]
pub(super) struct Norm {
    weight: Slot,
    bias: Slot,
    mean: Slot,
    variance: Slot,
}

const EPSILON: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;

impl Norm {
    pub(super) fn new(layout: &mut Layout, name: &str, features: i64) -> Self {
        let mut add =
            |part: &str, group, value| layout.add(format!("{name}.{part}"), &[features], group, Init::Constant(value));
        Norm {
            weight: add("weight", Group::Vector, 1.0),
            bias: add("bias", Group::Vector, 0.0),
            mean: add("running_mean", Group::Statistic, 0.0),
            variance: add("running_var", Group::Statistic, 1.0),
        }
    }

    pub(super) fn forward(&self, weights: &Weights, input: &Tensor, training: bool) -> Tensor {
        input.batch_norm(
            Some(&weights[self.weight]),
            Some(&weights[self.bias]),
            Some(&weights[self.mean]),
            Some(&weights[self.variance]),
            training,
            MOMENTUM,
            EPSILON,
            true,
        )
    }

    /// What it does at inference: multiply by the first, add the second, a number a feature.
    pub(super) fn scale_and_shift(&self, weights: &Weights) -> (Tensor, Tensor) {
        let scale = &weights[self.weight] / (&weights[self.variance] + EPSILON).sqrt();
        let shift = &weights[self.bias] - &weights[self.mean] * &scale;
        (scale, shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Puzzle;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::tiles::Puzzle8;
    use crate::random::generator;

    /// What a network with one-hots of a width gives in training, its gradients, and what it gives in solving.
    fn results(config: &NetworkConfig, encoding: &Encoding, rows: &Tensor, aligned: i64) -> Vec<Tensor> {
        let built = config.build_aligned(encoding, tch::Device::Cpu, Kind::Float, aligned);
        let (network, layout) = built.expect("a network");
        let parameters = Parameters::fresh(layout, &mut generator(1, 0), tch::Device::Cpu);
        tch::manual_seed(5);
        // The heads begin as zeros, which would hide what is below.
        no_grad(|| drop(parameters.trained().map(|numbers| numbers.shallow_clone().normal_(0.0, 0.1))));
        let weights = parameters.weights(Kind::Float);
        let Output { values, policy } = network.forward(&weights, rows, true);
        let policy = policy.expect("a policy head");
        let loss = values.square().sum(Kind::Float) + policy.square().sum(Kind::Float);
        let gradients = Tensor::run_backward(&[loss], &parameters.trained(), false, false);
        let solved = no_grad(|| network.fold(&parameters.weights(Kind::Float), Kind::Float).forward(rows, true));
        let mut results = vec![values, policy, solved.values, solved.policy.expect("a policy head")];
        results.extend(gradients);
        results
    }

    /// A network of each kind, with the encoding of its puzzle and twenty rows.
    fn networks() -> [(NetworkConfig, Encoding, Array2<u8>); 2] {
        let puzzle8 = Puzzle8::default();
        [
            (NetworkKind::Mlp, puzzle8.encoding(), puzzle8.move_count()),
            (NetworkKind::Resnet, Cube3.encoding(), Cube3.move_count()),
        ]
        .map(|(kind, encoding, moves)| {
            let config = NetworkConfig { kind, width: 16, blocks: 2, policy: Some(moves), offset: 9.0, scale: 3.0 };
            let symbol = |(row, cell): (usize, usize)| ((row * row + cell * (row + 1)) % encoding.symbols) as u8;
            let rows = Array2::from_shape_fn((20, encoding.cells), symbol);
            (config, encoding, rows)
        })
    }

    #[test]
    fn a_network_is_evaluated_in_another_precision_than_it_was_built_for() {
        for (config, encoding, rows) in networks() {
            let values = |built: Kind, precision: Precision| {
                let network = config.build(&encoding, tch::Device::Cpu, built);
                let (network, layout) = network.expect("a network");
                let parameters = Parameters::fresh(layout, &mut generator(1, 0), tch::Device::Cpu);
                tch::manual_seed(5);
                no_grad(|| drop(parameters.trained().map(|numbers| numbers.shallow_clone().normal_(0.0, 0.3))));
                evaluator(&*network, &parameters, tch::Device::Cpu, precision).begin(rows.view(), true).end().values
            };
            let exact = values(Kind::Float, Precision::F32);
            let scale = exact.iter().fold(0.0f32, |most, value| most.max((value - exact[0]).abs()));
            for (built, precision) in [(Kind::Float, Precision::Bf16), (Kind::BFloat16, Precision::F32)] {
                let apart = exact.iter().zip(values(built, precision)).map(|(a, b)| (a - b).abs());
                let apart = apart.fold(0.0f32, f32::max);
                assert!(apart < 0.1 * scale, "{} {built:?} {precision}: {apart} of {scale}", config.kind);
            }
        }
    }

    #[test]
    fn one_hots_that_are_filled_up_change_nothing() {
        for (config, encoding, rows) in networks() {
            let rows = upload(rows.view(), tch::Device::Cpu);
            let (narrow, wide) = (results(&config, &encoding, &rows, 1), results(&config, &encoding, &rows, 8));
            assert_eq!(narrow.len(), wide.len());
            for (narrow, wide) in narrow.iter().zip(&wide) {
                assert_eq!(narrow.size(), wide.size());
                let scale = narrow.abs().max().double_value(&[]);
                let apart = (narrow - wide).abs().max().double_value(&[]);
                assert!(scale > 0.0 && apart < 1e-5 * scale, "{}: {apart} of {scale}", config.kind);
            }
        }
    }
}
