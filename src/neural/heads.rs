//! The output layers on top of a network's trunk: the cost-to-go, and the policy head.

use super::int8;
use super::network::{NetworkConfig, Output};
use super::parameters::{Group, Init, Layout, Slot, Weights, host_values};
use tch::{Kind, Tensor};

/// An output layer: weights, and a bias where it has one.
type Outputs = (Slot, Option<Slot>);

/// The outputs on top of a trunk: the cost-to-go, and where there is one, the policy head.
#[derive(Debug)]
pub(super) struct Heads {
    value: Outputs,
    policy: Option<Outputs>,
    offset: f64,
    scale: f64,
}

impl Heads {
    /// With `bias`, the cost-to-go has one beside the fixed offset.
    pub(super) fn new(layout: &mut Layout, config: &NetworkConfig, features: i64, bias: bool) -> Self {
        // Zero weights: a fresh network says the mean label, and nothing is dead. The value's weights stay f32.
        let zeros = Init::Constant(0.0);
        let mut dense = |name: &str, outputs: i64, group, bias: bool| {
            let weight = layout.add(format!("{name}.weight"), &[outputs, features], group, zeros);
            (weight, bias.then(|| layout.add(format!("{name}.bias"), &[outputs], Group::Vector, zeros)))
        };
        Heads {
            value: dense("value", 1, Group::Vector, bias),
            policy: config.policy.map(|moves| dense("policy", moves as i64, Group::Matrix, true)),
            offset: config.offset,
            scale: config.scale,
        }
    }

    pub(super) fn forward(&self, weights: &Weights, features: &Tensor) -> Output {
        let layer = |(weight, bias): Outputs| (&weights[weight], bias.map(|bias| &weights[bias]));
        apply_heads(features, layer(self.value), self.policy.map(layer), self.offset, self.scale)
    }

    pub(super) fn round(&self, weights: &Weights) -> int8::Outputs {
        let layer = |(weight, bias): Outputs| {
            let outputs = weights[weight].size()[0] as usize;
            let biases = bias.map_or_else(|| vec![0.0; outputs], |bias| host_values(&weights[bias]));
            int8::Dense { weights: host_values(&weights[weight]), biases }
        };
        int8::Outputs {
            value: layer(self.value),
            policy: self.policy.map(layer),
            offset: self.offset as f32,
            scale: self.scale as f32,
        }
    }

    pub(super) fn fold(&self, weights: &Weights, kind: Kind) -> FoldedHeads {
        let copy = |(weight, bias): Outputs| (weights[weight].copy(), bias.map(|bias| weights[bias].copy()));
        FoldedHeads {
            value: copy(self.value),
            policy: self.policy.map(copy).map(|(weight, bias)| (weight.to_kind(kind), bias)),
            offset: self.offset,
            scale: self.scale,
        }
    }
}

/// [`Heads`] with their numbers.
#[derive(Debug)]
pub(super) struct FoldedHeads {
    value: (Tensor, Option<Tensor>),
    policy: Option<(Tensor, Option<Tensor>)>,
    offset: f64,
    scale: f64,
}

impl FoldedHeads {
    /// For features from which a constant, f32, was left out: it is added to the biases.
    pub(super) fn shifted(self, constant: &Tensor) -> Self {
        let layer = |(weight, bias): (Tensor, Option<Tensor>)| {
            let share = weight.to_kind(Kind::Float).mv(constant);
            let bias = bias.map_or_else(|| share.shallow_clone(), |bias| bias + &share);
            (weight, Some(bias))
        };
        FoldedHeads { value: layer(self.value), policy: self.policy.map(layer), ..self }
    }

    pub(super) fn forward(&self, features: &Tensor, with_policy: bool) -> Output {
        let policy = self.policy.as_ref().filter(|_| with_policy).map(|(weight, bias)| (weight, bias.as_ref()));
        apply_heads(features, (&self.value.0, self.value.1.as_ref()), policy, self.offset, self.scale)
    }
}

/// The value's product and sum are done in f32, for half precision is coarse near 20; the logits' product in the
/// precision of its weights.
fn apply_heads(
    features: &Tensor,
    value: (&Tensor, Option<&Tensor>),
    policy: Option<(&Tensor, Option<&Tensor>)>,
    offset: f64,
    scale: f64,
) -> Output {
    let values = features.to_kind(Kind::Float).linear(value.0, value.1);
    Output {
        values: values.squeeze_dim(1) * scale + offset,
        policy: policy.map(|(weight, bias)| {
            let logits = features.to_kind(weight.kind()).linear(weight, None::<Tensor>).to_kind(Kind::Float);
            match bias {
                Some(bias) => logits + bias,
                None => logits,
            }
        }),
    }
}
