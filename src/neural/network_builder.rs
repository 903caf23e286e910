//! Builds the network that a [`NetworkConfig`] describes, and chooses its precision.

use super::device::Device;
use super::int8;
use super::mlp::Mlp;
use super::network::{Network, NetworkConfig, NetworkKind};
use super::one_hot::OneHot;
use super::parameters::Layout;
use super::precision::Precision;
use super::resnet::ResNet;
use crate::error::{SettingError, ensure_setting};
use crate::puzzle::{Encoding, Grid};
use tch::Kind;

/// A network, and the layout of its parameters.
pub(super) type Built<E = SettingError> = Result<(Box<dyn Network>, Layout), E>;

impl NetworkKind {
    /// True if networks of this kind run in a precision on a device, for solving.
    pub fn can_solve_in(self, precision: Precision, device: Device) -> bool {
        precision != Precision::Int8 || (!device.is_cuda() && self == NetworkKind::Mlp && int8::rounding().is_some())
    }

    /// The default precision for solving: the fastest.
    pub fn fastest_precision(self, device: Device) -> Precision {
        if self.can_solve_in(Precision::Int8, device) { Precision::Int8 } else { Precision::auto(device) }
    }
}

impl Precision {
    /// Multiply-adds a second of a core in dense layers, measured in beams of the cube: bf16 on a Zen 5, f32 on a Zen 3, 8-bit
    /// integers with the kernel of this machine.
    pub(crate) fn core_rate(self) -> f64 {
        const F32: f64 = 17e9;
        match self {
            Precision::Int8 => int8::rounding().map_or(F32, |rounding| rounding.core_rate),
            Precision::Bf16 => 95e9,
            Precision::F32 => F32,
        }
    }
}

impl NetworkConfig {
    /// How many numbers are trained.
    ///
    /// # Errors
    /// If the sizes are out of range, or a convolutional network lacks a grid.
    pub fn parameter_count(&self, encoding: &Encoding) -> Result<u64, SettingError> {
        let (_, layout) = self.build(encoding, tch::Device::Cpu, Kind::Float, 1)?;
        Ok(layout.trained() as u64)
    }

    /// Bytes that an optimizer step keeps for its backward pass, beside the weights: the product of each layer and the output
    /// of its normalization, in 16 bits.
    ///
    /// # Errors
    /// See [`NetworkConfig::parameter_count`].
    pub fn training_bytes(&self, encoding: &Encoding, batch_size: u64) -> Result<u64, SettingError> {
        let cells = self.checked_grid(encoding)?.map_or(1, |grid| grid.rows * grid.columns);
        Ok(2 * 2 * (2 + 2 * self.blocks as u64) * (cells * self.width) as u64 * batch_size)
    }

    /// Checks the sizes and the output's range; the grid of a convolutional network.
    fn checked_grid(&self, encoding: &Encoding) -> Result<Option<Grid>, SettingError> {
        const MAX_WIDTH: usize = 1 << 16;
        const RANGE: f64 = 1e6;
        let NetworkConfig { width, blocks, offset, scale, .. } = *self;
        let is_width = (2..=MAX_WIDTH).contains(&width) && width.is_multiple_of(2);
        ensure_setting!(is_width, "width", "a width of {width}: expected an even one from 2 to {MAX_WIDTH}");
        ensure_setting!(blocks <= 1000, "blocks", "{blocks} blocks: expected at most 1000");
        // Only a model's file names these.
        let is_scale = (1.0 / RANGE..=RANGE).contains(&scale);
        ensure_setting!(is_scale, "init", "a network with \"scale\" {scale:?}: expected 1e-6 to 1e6");
        let is_offset = (-RANGE..=RANGE).contains(&offset);
        ensure_setting!(is_offset, "init", "a network with \"offset\" {offset:?}: expected -1e6 to 1e6");
        let missing = "the network 'resnet' needs cells in a grid, and this puzzle has none: use 'mlp'";
        match self.kind {
            NetworkKind::Mlp => Ok(None),
            NetworkKind::Resnet => encoding.grid.map(Some).ok_or_else(|| SettingError::new("net", missing)),
        }
    }

    /// Makes the network for rows of an encoding, with products in `kind` and padded one-hots, and the layout of its
    /// parameters.
    ///
    /// # Errors
    /// See [`NetworkConfig::parameter_count`].
    pub(super) fn build(&self, encoding: &Encoding, device: tch::Device, kind: Kind, alignment: i64) -> Built {
        let grid = self.checked_grid(encoding)?;
        let one_hot = OneHot::new(encoding, grid, (kind, device), alignment);
        let mut layout = Layout::default();
        let network: Box<dyn Network> = match (self.kind, grid) {
            (NetworkKind::Mlp, _) | (_, None) => Box::new(Mlp::new(self, encoding, one_hot, &mut layout)),
            (NetworkKind::Resnet, Some(grid)) => {
                Box::new(ResNet::new(self, grid.faces * encoding.symbols, grid, one_hot, &mut layout))
            }
        };
        Ok((network, layout))
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluator::NetworkOutput;
    use super::super::network::evaluator;
    use super::super::one_hot::upload;
    use super::super::parameters::Parameters;
    use super::*;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::tiles::Puzzle8;
    use crate::puzzle::{Encode as _, Rules as _};
    use crate::random::{below, generator};
    use crate::tensors::no_grad;
    use ndarray::Array2;
    use tch::Tensor;

    /// Sets all trained numbers to random ones up to `most`: the heads start as zeros, which would hide the layers below. Not
    /// by libtorch's generator, which tests on other threads use at the same time.
    fn randomize(parameters: &Parameters, most: f32) {
        const STEPS: usize = 1000;
        let mut generator = generator(5, 0);
        let mut random = || most * (below(&mut generator, 2 * STEPS + 1) as f32 / STEPS as f32 - 1.0);
        no_grad(|| {
            for numbers in parameters.trained() {
                let random: Vec<f32> = (0..numbers.numel()).map(|_| random()).collect();
                numbers.shallow_clone().copy_(&Tensor::from_slice(&random).view_as(numbers));
            }
        });
    }

    /// Outputs of a network with padded one-hots in training, its gradients, and its outputs in solving.
    fn results(config: &NetworkConfig, encoding: &Encoding, rows: &Tensor, alignment: i64) -> Vec<Tensor> {
        let built = config.build(encoding, tch::Device::Cpu, Kind::Float, alignment);
        let (network, layout) = built.expect("a network");
        let parameters = Parameters::fresh(layout, &mut generator(1, 0), tch::Device::Cpu);
        randomize(&parameters, 0.17);
        let weights = parameters.weights(Kind::Float);
        let NetworkOutput { values, policy } = network.forward(&weights, rows, true);
        let policy = policy.expect("a policy head");
        let loss = values.square().sum(Kind::Float) + policy.square().sum(Kind::Float);
        let gradients = Tensor::run_backward(&[loss], &parameters.trained(), false, false);
        let solved = no_grad(|| network.fold(&parameters.weights(Kind::Float), Kind::Float)(rows, true));
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
                let network = config.build(&encoding, tch::Device::Cpu, built, 1);
                let (network, layout) = network.expect("a network");
                let parameters = Parameters::fresh(layout, &mut generator(1, 0), tch::Device::Cpu);
                randomize(&parameters, 0.5);
                evaluator(&*network, &parameters, precision).begin(rows.view(), true).end().values
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
    fn padded_one_hots_change_nothing() {
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
