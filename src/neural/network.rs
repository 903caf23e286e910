//! The interface of all networks: the description that files hold, the forward pass for training, and the evaluator made
//! from it for solving.

use super::evaluator::{Evaluator, Folded, NetworkOutput, TensorEvaluator};
use super::one_hot::OneHot;
use super::parameters::{Parameters, Weights};
use super::precision::Precision;
use crate::tensors::no_grad;
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

impl FromStr for NetworkKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_value(text.into()).map_err(|_| format!("unknown network '{text}': expected resnet or mlp"))
    }
}

impl fmt::Display for NetworkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The description of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// Its kind.
    pub kind: NetworkKind,
    /// Channels of the convolutions, or units of the first dense layer (the others have half as many).
    pub width: usize,
    /// Residual blocks.
    pub blocks: usize,
    /// Moves of the policy head; `None` for a network without one.
    pub policy: Option<usize>,
    /// The cost-to-go is `offset + scale · output`: a fresh network starts at the mean label.
    pub offset: f64,
    /// See `offset`.
    pub scale: f64,
}

/// The computation of a network, without its numbers.
pub(super) trait Network: Send {
    /// The encoder of the first layer's input.
    fn one_hot(&self) -> &OneHot;

    /// The forward pass; with `training`, normalization uses the batch and updates the running statistics.
    fn forward(&self, weights: &Weights, rows: &Tensor, training: bool) -> NetworkOutput;

    /// The network for solving: normalization folded into the products, which are done in `kind`.
    fn fold(&self, weights: &Weights, kind: Kind) -> Folded;

    /// The network for solving in 8-bit integers on this CPU; `None` if that cannot be done.
    fn quantize(&self, _weights: &Weights) -> Option<Box<dyn Evaluator>> {
        None
    }

    /// Multiply-adds of the matrix products for one state.
    fn operations(&self) -> u64;
}

/// Prepares a network for solving in a precision; in bf16 if 8-bit integers
/// [cannot be used](NetworkKind::can_solve_in).
pub(super) fn evaluator(network: &dyn Network, parameters: &Parameters, precision: Precision) -> Box<dyn Evaluator> {
    no_grad(|| {
        let weights = parameters.weights(Kind::Float);
        let quantized = (precision == Precision::Int8).then(|| network.quantize(&weights)).flatten();
        quantized.unwrap_or_else(|| {
            let (device, operations) = (parameters.statistics().device(), network.operations());
            Box::new(TensorEvaluator { network: network.fold(&weights, precision.kind()), device, operations })
        })
    })
}
