//! A network in training: parameters, optimizer, and one optimizer step.

use super::chunks::{ChunkEvaluator, chunk_size};
use super::cuda_graph_inputs::Recording;
use super::device::Device;
use super::model::{self, ModelConfig};
use super::network::{Network, NetworkConfig, evaluator};
use super::one_hot::{alignment_on, upload};
use super::optimizer::AdamW;
use super::parameters::Parameters;
use super::precision::Precision;
use crate::error::{Error, Result, SettingError};
use crate::exchange::Exchange;
use crate::memory;
use crate::puzzle::Encoding;
use crate::random::generator;
use crate::sampler::{Batch, DeviceBatch, DeviceWalks, Stream, WalkRules};
use crate::tensors::operations::to_device;
use crate::tensors::{caught, host_values, no_grad};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tch::{Kind, Reduction, Tensor};

/// Weight of the squared error of the cost-to-go, in units of the labels' spread, against the cross-entropy of the policy
/// head in nats.
const VALUE_WEIGHT: f64 = 2.0;

/// Rows that the target network evaluates at a time on the CPU.
const TARGET_CHUNK: usize = 1 << 14;

/// Means over the samples since the last reading.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// The minimized sum.
    pub loss: f64,
    /// Squared error of the cost-to-go, in moves².
    pub squared_error: f64,
    /// Absolute error of the cost-to-go, in moves.
    pub absolute_error: f64,
    /// Cross-entropy of the policy head, in nats; `None` without one.
    pub cross_entropy: Option<f64>,
}

/// A network in training.
pub struct Learner {
    config: NetworkConfig,
    pub(super) network: Box<dyn Network>,
    pub(super) parameters: Parameters,
    pub(super) optimizer: AdamW,
    pub(super) device: Device,
    precision: Precision,
    /// Sums of the losses over `summed` optimizer steps. They are read seldom, so that the device need not wait for the host.
    pub(super) loss_sums: Tensor,
    summed: u32,
    pub(super) recording: Recording,
    pub(super) ema: Option<Ema>,
    pub(super) target: Option<TargetNetwork>,
}

/// The exponential moving average of the network over its optimizer steps.
pub(super) struct Ema {
    pub(super) parameters: Parameters,
    pub(super) decay: f64,
}

/// The target network: a copy from some steps ago, which labels come from.
pub(super) struct TargetNetwork {
    pub(super) parameters: Parameters,
    evaluator: ChunkEvaluator,
}

/// Runs a part of an optimizer step.
fn in_step<T>(device: Device, run: impl FnOnce() -> T) -> Result<T> {
    caught(run).map_err(|error| {
        Error::Device(format!("{device} failed: {error}; if memory is short, use a smaller `batch_size` or `width`"))
    })
}

impl Learner {
    /// A fresh network with weights drawn from the seed.
    ///
    /// # Errors
    /// If the sizes are out of range, or a convolutional network lacks a grid.
    pub fn fresh(
        config: NetworkConfig,
        encoding: &Encoding,
        device: Device,
        precision: Precision,
        weight_decay: f64,
        seed: u64,
    ) -> Result<Learner, SettingError> {
        memory::keep_freed();
        let (network, layout) = config.build(encoding, device.0, precision.kind(), alignment_on(device.0))?;
        let parameters = Parameters::fresh(layout, &mut generator(seed, u64::MAX), device.0);
        let optimizer = AdamW::new(&parameters, weight_decay);
        let loss_sums = Tensor::zeros([4], (Kind::Float, device.0));
        let (summed, ema, target) = (0, None, None);
        let recording = Recording::of(config.kind, device);
        Ok(Learner {
            config,
            network,
            parameters,
            optimizer,
            device,
            precision,
            loss_sums,
            summed,
            recording,
            ema,
            target,
        })
    }

    /// Makes the resulting model an exponential moving average (EMA) of the weights and running statistics, in which an
    /// optimizer step weighs `decay` times as much as the next (Polyak and Juditsky 1992).
    ///
    /// # Panics
    /// If `decay` is not from 0 to less than 1.
    pub fn with_ema(self, decay: f64) -> Self {
        assert!((0.0..1.0).contains(&decay));
        Learner { ema: Some(Ema { parameters: self.parameters.copy(), decay }), ..self }
    }

    /// The parameters of the resulting model.
    fn result(&self) -> &Parameters {
        self.ema.as_ref().map_or(&self.parameters, |ema| &ema.parameters)
    }

    /// How many numbers are trained.
    pub fn parameter_count(&self) -> u64 {
        self.parameters.layout.trained() as u64
    }

    /// Makes a copy of the network the target that [`Learner::relabel`] evaluates.
    ///
    /// # Errors
    /// If the device fails.
    pub fn update_target(&mut self) -> Result<()> {
        self.set_target(self.device.run(|| self.parameters.copy())?)
    }

    pub(super) fn set_target(&mut self, parameters: Parameters) -> Result<()> {
        let device = self.device;
        let precision = self.config.kind.fastest_precision(device);
        let evaluator = device.run(|| evaluator(&*self.network, &parameters, precision))?;
        let max_rows = match &self.target {
            Some(target) => target.evaluator.max_rows, // it may have found that fewer fit
            None if device.is_cuda() => chunk_size(&*evaluator, device),
            None => TARGET_CHUNK,
        };
        self.target = Some(TargetNetwork { parameters, evaluator: ChunkEvaluator::new(evaluator, device, max_rows) });
        Ok(())
    }

    /// Labels a batch by one step of value iteration (Bellman 1957; for a cost-to-go: Agostinelli et al. 2019, Methods): a
    /// state's label is the cost of its best move plus the target network's estimate of the child, at most the cost of the
    /// walk that led to the state. The best moves become its policy targets.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If the batch has no children, or there is no target.
    pub fn relabel(&mut self, batch: &mut Batch) -> Result<()> {
        let mut children = batch.children.take().expect("the batch has children");
        let moves = children.costs.ncols();
        let target = self.target.as_mut().expect("there is a target network");
        let evaluated = target.evaluator.evaluate_all(children.unknown.view(), false);
        let evaluated = evaluated.map_err(|error| Error::Device(self.device.failure(&error)))?;
        let values = evaluated.into_iter().flat_map(|chunk| chunk.values);
        let costs = children.costs.as_slice_mut().expect("costs are contiguous");
        for (&place, value) in children.places.iter().zip(values) {
            costs[place as usize] += value.max(children.least_unknown);
        }
        for ((_, label, mut targets), costs) in batch.samples_mut().zip(costs.chunks_exact(moves)) {
            let best = costs.iter().copied().fold(f32::INFINITY, f32::min);
            if best.is_finite() {
                *label = label.min(best);
                targets.iter_mut().zip(costs).for_each(|(target, &cost)| *target = u8::from(cost == best));
            }
        }
        Ok(())
    }

    /// Learns from one batch of the host: see [`Learner::learn`].
    ///
    /// # Errors
    /// If the device fails.
    pub fn step(&mut self, batch: &Batch, learning_rate: f64) -> Result<()> {
        let batch = self.upload(batch)?;
        self.learn(&batch, learning_rate)
    }

    /// Learns from one batch: one optimizer step.
    ///
    /// # Errors
    /// If the device fails, for example because the batch does not fit its memory. The network is unusable then.
    pub fn learn(&mut self, batch: &DeviceBatch, learning_rate: f64) -> Result<()> {
        in_step(self.device, || {
            if !self.start_recorded(batch, learning_rate) {
                let (gradients, losses) = self.gradients(batch);
                self.descend(&gradients, &losses, learning_rate);
            }
        })
    }

    /// Learns from one batch together with other processes that learn from theirs: each makes its optimizer step with the
    /// means of all gradients, running statistics and losses. Returns whether any process gave `stop`, which all learn after
    /// the same step.
    ///
    /// # Errors
    /// See [`Learner::learn`]; and those of `ranks`.
    pub fn learn_together(&mut self, batch: &DeviceBatch, rate: f64, stop: bool, ranks: &dyn Exchange) -> Result<bool> {
        let device = self.device;
        let (own, lengths) = in_step(device, || {
            let (gradients, losses) = self.gradients(batch);
            let parts = [&gradients[0], &gradients[1], self.parameters.statistics(), &losses];
            let lengths = parts.map(|tensor| tensor.numel() as i64);
            (Tensor::cat(&parts.map(Tensor::detach), 0), lengths)
        })?;
        let (summed, is_stopped) = self.sum(own, stop, ranks)?;
        in_step(device, || {
            let means = summed.g_mul_scalar(1.0 / ranks.size() as f64);
            let mut parts = means.split_with_sizes(lengths, 0);
            let [losses, statistics] = [(); 2].map(|()| parts.pop().expect("there are four parts"));
            self.parameters.statistics().shallow_clone().copy_(&statistics);
            self.descend(&parts, &losses, rate);
        })?;
        Ok(is_stopped)
    }

    /// The sums of numbers on the device over all processes, and whether any process gave `stop`.
    fn sum(&self, mut numbers: Tensor, stop: bool, ranks: &dyn Exchange) -> Result<(Tensor, bool)> {
        let flag = if stop { 1.0 } else { 0.0 };
        if let tch::Device::Cuda(device) = self.device.0 {
            let (address, count) = (numbers.data_ptr().cast(), numbers.numel());
            // SAFETY: the tensor is contiguous, and its memory is only reused by later work of the same stream.
            if unsafe { ranks.sum_on_device(device, address, count) }? {
                // The flag goes through the host, which need not wait for the device then.
                let flags = ranks.sum(vec![flag])?;
                return Ok((numbers, flags[0] > 0.0));
            }
        }
        let mut values = in_step(self.device, || host_values(&numbers))?;
        values.push(flag);
        values = ranks.sum(values)?;
        let is_stopped = values.pop().is_some_and(|flags| flags > 0.0);
        in_step(self.device, || numbers.copy_(&Tensor::from_slice(&values)))?;
        Ok((numbers, is_stopped))
    }

    /// Forward and backward pass: the gradients of [`Parameters::trained`], and the [losses](Learner::forward).
    pub(super) fn gradients(&self, batch: &DeviceBatch) -> (Vec<Tensor>, Tensor) {
        let (loss, losses) = self.forward(batch);
        (self.backward(&loss), losses)
    }

    /// One step down the gradients; adds up the losses.
    pub(super) fn descend(&mut self, gradients: &[Tensor], losses: &Tensor, learning_rate: f64) {
        let _ = self.loss_sums.g_add_(losses);
        self.optimizer.step(&self.parameters, gradients, learning_rate);
        self.end_step();
    }

    /// Counts a step of the optimizer, and takes its weights into the moving average.
    pub(super) fn end_step(&mut self) {
        self.summed += 1;
        if let Some(Ema { parameters, decay }) = &self.ema {
            // The mean of the first few steps: otherwise the very first would weigh too much for long.
            let share = (1.0 - decay).max(1.0 / self.optimizer_steps() as f64);
            no_grad(|| parameters.approach(&self.parameters, share));
        }
    }

    /// Optimizer steps so far.
    pub fn optimizer_steps(&self) -> u64 {
        self.optimizer.steps
    }

    /// Copies a batch to the device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn upload(&self, batch: &Batch) -> Result<DeviceBatch> {
        let device = self.device.0;
        in_step(self.device, || DeviceBatch {
            rows: upload(batch.states.view(), device),
            labels: to_device(batch.labels.as_slice().expect("labels are contiguous"), device),
            policy_targets: self.config.policy.map(|_| upload(batch.policy_targets.view(), device)),
        })
    }

    /// Walks on the device of the network.
    ///
    /// # Errors
    /// If the device fails.
    pub fn walks(&self, rules: &WalkRules, stream: Stream) -> Result<DeviceWalks> {
        in_step(self.device, || DeviceWalks::new(rules, stream, self.device.0))
    }

    /// The next batch of walks on the device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn next_batch(&self, walks: &mut DeviceWalks) -> Result<DeviceBatch> {
        in_step(self.device, || walks.next_batch(self.config.policy.is_some()))
    }

    /// The minimized loss; and, without gradients, the four numbers of [`Losses`] in one tensor.
    pub(super) fn forward(&self, batch: &DeviceBatch) -> (Tensor, Tensor) {
        let weights = self.parameters.weights(self.precision.kind());
        let output = self.network.forward(&weights, &batch.rows, true);
        let squared = output.values.mse_loss(&batch.labels, Reduction::Mean);
        let cross_entropy = output.policy.zip(batch.policy_targets.as_ref()).map(|(logits, targets)| {
            let targets = targets.to_kind(Kind::Float);
            let shares = &targets / targets.sum_dim_intlist([1i64].as_slice(), true, Kind::Float).clamp_min(1.0);
            logits.cross_entropy_loss(&shares, None::<Tensor>, Reduction::Mean, -100, 0.0)
        });
        let value_loss = &squared * (VALUE_WEIGHT / self.config.scale.powi(2));
        let loss = match &cross_entropy {
            Some(cross_entropy) => &value_loss + cross_entropy,
            None => value_loss,
        };
        let losses = no_grad(|| {
            let absolute = output.values.l1_loss(&batch.labels, Reduction::Mean);
            let cross_entropy = cross_entropy.unwrap_or_else(|| Tensor::zeros([], (Kind::Float, self.device.0)));
            Tensor::stack(&[&loss, &squared, &absolute, &cross_entropy], 0)
        });
        (loss, losses)
    }

    pub(super) fn backward(&self, loss: &Tensor) -> Vec<Tensor> {
        Tensor::run_backward(&[loss], &self.parameters.trained(), false, false)
    }

    /// Reads the mean losses since the last call; `None` if there was no optimizer step.
    ///
    /// # Errors
    /// If the device has failed, possibly in an earlier step.
    pub fn losses(&mut self) -> Result<Option<Losses>> {
        if self.summed == 0 {
            return Ok(None);
        }
        let sums = self.device.run(|| {
            let sums = host_values(&self.loss_sums);
            let _ = self.loss_sums.zero_();
            sums
        })?;
        let steps = f64::from(std::mem::take(&mut self.summed));
        let [loss, squared_error, absolute_error, cross_entropy] = std::array::from_fn(|i| f64::from(sums[i]) / steps);
        let cross_entropy = self.config.policy.map(|_| cross_entropy);
        Ok(Some(Losses { loss, squared_error, absolute_error, cross_entropy }))
    }

    /// Estimates of rows as a solver would get them, in move-cost units: with running statistics, clamped at 0.
    ///
    /// # Errors
    /// If the device has failed, possibly in an earlier step.
    pub fn predict(&self, rows: &ndarray::Array2<u8>) -> Result<Vec<f32>> {
        let values = || {
            let weights = self.result().weights(self.precision.kind());
            let output = self.network.forward(&weights, &upload(rows.view(), self.device.0), false);
            host_values(&output.values.clamp_min(0.0))
        };
        self.device.run(|| no_grad(values))
    }

    /// Whether every number of the network and the optimizer is finite.
    ///
    /// # Errors
    /// If the device has failed, possibly in an earlier step.
    pub fn is_finite(&self) -> Result<bool> {
        let mut all = self.parameters.flat.iter().chain(self.optimizer.moments.iter().flatten());
        let is_finite = |tensor: &Tensor| host_values(&no_grad(|| tensor.isfinite().all())) == [1.0];
        self.device.run(|| all.all(is_finite))
    }

    /// The description of the network.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Writes the model for solving into an existing folder; matrices in the precision of `config`.
    ///
    /// # Errors
    /// If a file cannot be written, or the device has failed.
    pub fn write_model(&self, folder: &Path, config: &ModelConfig) -> Result<()> {
        self.device.run(|| model::write(folder, config, self.result()))?
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunks::tests::SmallMemory;
    use super::super::network::NetworkKind;
    use super::*;
    use crate::puzzle::Encode as _;
    use crate::puzzle::tiles::Puzzle8;
    use crate::sampler::Children;
    use crate::tensors::tests::reads;
    use ndarray::{Array1, Array2};

    #[test]
    fn steps_leave_their_losses_on_the_device_until_they_are_asked_for() {
        let encoding = Puzzle8::default().encoding();
        for (kind, policy) in [(NetworkKind::Mlp, Some(4)), (NetworkKind::Resnet, None)] {
            let config = NetworkConfig { kind, width: 16, blocks: 1, policy, offset: 9.0, scale: 3.0 };
            let learner = Learner::fresh(config, &encoding, Device::CPU, Precision::F32, 0.1, 1).expect("a network");
            let mut learner = learner.with_ema(0.9);
            let batch = Batch {
                states: Array2::from_shape_fn((20, encoding.cells), |(row, cell)| ((row + cell) % 9) as u8),
                labels: Array1::from_elem(20, 3.0),
                policy_targets: Array2::ones((20, 4)),
                children: None,
            };
            let before = reads();
            for _ in 0..3 {
                learner.step(&batch, 1e-3).expect("the device works");
            }
            assert_eq!(reads(), before, "a step waits for no results");
            let losses = learner.losses().expect("the device works").expect("it has learned");
            assert!(losses.squared_error > 0.0 && losses.cross_entropy.is_some() == policy.is_some(), "{losses:?}");
            assert_eq!(reads(), before + 1, "all losses come at once");
        }
    }

    #[test]
    fn labels_of_value_iteration_are_made_in_chunks_if_memory_is_short() {
        let encoding = Puzzle8::default().encoding();
        let config =
            NetworkConfig { kind: NetworkKind::Mlp, width: 16, blocks: 0, policy: Some(4), offset: 9.0, scale: 3.0 };
        let mut learner = Learner::fresh(config, &encoding, Device::CPU, Precision::F32, 0.0, 1).expect("a network");
        // The target estimates the sum of a row, for ten rows at a time.
        let evaluator = Box::new(SmallMemory { max_rows: 10, message: "CUDA out of memory. Tried" });
        let evaluator = ChunkEvaluator::new(evaluator, Device::CPU, TARGET_CHUNK);
        learner.target = Some(TargetNetwork { parameters: learner.parameters.copy(), evaluator });
        let (samples, moves, cells) = (20, 4, encoding.cells);
        let unknown = Array2::from_shape_fn((samples * moves, cells), |(row, _)| (row * row % 7) as u8);
        let costs = Array2::from_elem((samples, moves), 1.0);
        let places = (0..(samples * moves) as u32).collect();
        let mut batch = Batch {
            states: Array2::zeros((samples, cells)),
            labels: Array1::from_elem(samples, 30.0),
            policy_targets: Array2::zeros((samples, moves)),
            children: Some(Children { costs, unknown, places, least_unknown: 5.0 }),
        };
        learner.relabel(&mut batch).expect("it fits in parts");
        for (sample, (&label, targets)) in batch.labels.iter().zip(batch.policy_targets.outer_iter()).enumerate() {
            let children = (0..moves).map(|action| sample * moves + action).map(|row| (row * row % 7 * cells) as f32);
            let costs: Vec<f32> = children.map(|value| 1.0 + value.max(5.0)).collect();
            let best = costs.iter().copied().fold(f32::INFINITY, f32::min);
            assert_eq!(label, best.min(30.0), "sample {sample}");
            assert!(targets.iter().zip(&costs).all(|(&target, &cost)| (target == 1) == (cost == best)));
        }
        // The next target inherits the number of rows that fit.
        assert_eq!(learner.target.as_ref().map(|target| target.evaluator.max_rows), Some(10));
        learner.update_target().expect("the device works");
        assert_eq!(learner.target.as_ref().map(|target| target.evaluator.max_rows), Some(10));
    }
}
