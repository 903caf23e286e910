//! Layers of every network: batch normalization, and the heads on top of the trunk.

use super::evaluator::NetworkOutput;
use super::network::NetworkConfig;
use super::parameters::{Init, Layout, ParameterGroup, Slot, VARIANCE, Weights};
use tch::{Kind, Tensor};

/// Batch normalization (Ioffe and Szegedy 2015).
pub(super) struct Norm {
    /// Weight, bias, running mean and running variance.
    slots: [Slot; 4],
}

const EPSILON: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;

impl Norm {
    pub(super) fn new(layout: &mut Layout, name: &str, features: i64) -> Self {
        let mut add =
            |part: &str, group, value| layout.add(format!("{name}.{part}"), &[features], group, Init::Constant(value));
        let slots = [
            add("weight", ParameterGroup::Vector, 1.0),
            add("bias", ParameterGroup::Vector, 0.0),
            add("running_mean", ParameterGroup::Statistic, 0.0),
            add(VARIANCE, ParameterGroup::Statistic, 1.0),
        ];
        Norm { slots }
    }

    pub(super) fn forward(&self, weights: &Weights, input: &Tensor, training: bool) -> Tensor {
        let [weight, bias, mean, variance] = self.slots.map(|slot| Some(&weights[slot]));
        input.batch_norm(weight, bias, mean, variance, training, MOMENTUM, EPSILON, true)
    }

    /// Scale and shift of each feature at inference.
    pub(super) fn scale_and_shift(&self, weights: &Weights) -> (Tensor, Tensor) {
        let [weight, bias, mean, variance] = self.slots.map(|slot| &weights[slot]);
        let scale = weight / (variance + EPSILON).sqrt();
        let shift = bias - mean * &scale;
        (scale, shift)
    }
}

/// The outputs on top of a trunk: the cost-to-go, `offset + scale · value`, and the policy head if there is one.
pub(super) struct Heads<L> {
    pub(super) value: L,
    pub(super) policy: Option<L>,
    pub(super) offset: f64,
    pub(super) scale: f64,
}

impl<L> Heads<L> {
    /// The same heads with other layers.
    pub(super) fn map<M>(&self, layer: impl Fn(&L) -> M) -> Heads<M> {
        let (value, policy) = (layer(&self.value), self.policy.as_ref().map(layer));
        Heads { value, policy, offset: self.offset, scale: self.scale }
    }
}

/// The parameters of an output layer: weights `outputs × features`, and a bias unless it has none.
pub(super) type SlotLayer = (Slot, Option<Slot>);
/// See [`SlotLayer`].
pub(super) type TensorLayer = (Tensor, Option<Tensor>);

impl Heads<SlotLayer> {
    /// With `bias`, the cost-to-go has one beside the fixed offset.
    pub(super) fn new(layout: &mut Layout, config: &NetworkConfig, features: i64, bias: bool) -> Self {
        // Zero weights: a fresh network estimates the mean label, and nothing is dead. The value's weights stay f32.
        let zeros = Init::Constant(0.0);
        let mut dense = |name: &str, outputs: i64, group, bias: bool| {
            let weight = layout.add(format!("{name}.weight"), &[outputs, features], group, zeros);
            (weight, bias.then(|| layout.add(format!("{name}.bias"), &[outputs], ParameterGroup::Vector, zeros)))
        };
        let value = dense("value", 1, ParameterGroup::Vector, bias);
        let policy = config.policy.map(|moves| dense("policy", moves as i64, ParameterGroup::Matrix, true));
        Heads { value, policy, offset: config.offset, scale: config.scale }
    }

    /// Heads with parameters that share memory with the weights.
    pub(super) fn with(&self, weights: &Weights) -> Heads<TensorLayer> {
        self.map(|&(weight, bias)| (weights[weight].shallow_clone(), bias.map(|bias| weights[bias].shallow_clone())))
    }
}

impl Heads<TensorLayer> {
    /// A copy for solving, with the logits' product in `kind`; offset and scale move into the value's layer.
    pub(super) fn fold(&self, kind: Kind) -> Self {
        let (weight, bias) = &self.value;
        let zero = || Tensor::zeros([1], (weight.kind(), weight.device()));
        let bias = bias.as_ref().map_or_else(zero, |bias| bias * self.scale) + self.offset;
        let copy = |(weight, bias): &TensorLayer| {
            (weight.to_kind(kind).copy(), bias.as_ref().map(|bias| bias.to_kind(kind).copy()))
        };
        let (value, policy) = ((weight * self.scale, Some(bias)), self.policy.as_ref().map(copy));
        Heads { value, policy, offset: 0.0, scale: 1.0 }
    }

    /// Heads for features that lack a constant, f32: it moves into the biases.
    pub(super) fn shifted(&self, constant: &Tensor) -> Self {
        self.map(|(weight, bias)| {
            let share = weight.to_kind(Kind::Float).mv(constant);
            (weight.shallow_clone(), Some(bias.as_ref().map_or_else(|| share.shallow_clone(), |bias| bias + &share)))
        })
    }

    /// The value's product and sum are done in f32, because half precision is coarse near 20; the logits' product in the
    /// precision of its weights.
    pub(super) fn forward(&self, features: &Tensor, with_policy: bool) -> NetworkOutput {
        let (weight, bias) = &self.value;
        let values = features.to_kind(Kind::Float).linear(weight, bias.as_ref());
        let policy = self.policy.as_ref().filter(|_| with_policy).map(|(weight, bias)| {
            let kind = weight.kind();
            let bias = bias.as_ref().map(|bias| bias.to_kind(kind));
            features.to_kind(kind).linear(weight, bias).to_kind(Kind::Float)
        });
        let values = values.squeeze_dim(1);
        let is_folded = (self.scale, self.offset) == (1.0, 0.0);
        NetworkOutput { values: if is_folded { values } else { values * self.scale + self.offset }, policy }
    }
}
