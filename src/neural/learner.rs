//! A network that learns: parameters, optimizer, and one training step.

use super::device::{Device, caught, no_grad};
use super::encode::upload;
use super::model::{self, ModelConfig};
use super::network::{Network, NetworkConfig, NetworkError, evaluator};
use super::operations::to_device;
use super::optimizer::AdamW;
use super::parameters::{Parameters, host_values};
use super::precision::Precision;
use super::worker::{Worker, chunk};
use crate::error::{Error, Result};
use crate::memory;
use crate::puzzle::Encoding;
use crate::random::generator;
use crate::sampler::Batch;
use serde::{Deserialize, Serialize};
use std::path::Path;
use tch::{Kind, Reduction, Tensor};

pub use super::stages::Stages;

/// The weight of the squared error of the cost-to-go, in units of the labels' spread, against the cross-entropy of the
/// policy head in nats.
const VALUE_WEIGHT: f64 = 2.0;

/// Rows that the target network evaluates at a time on the CPU.
const ROWS: usize = 1 << 14;

/// The numbers that a step adds up, read seldom: the device need not wait for the host.
const MEASURES: i64 = 4;

/// Means over the samples since they were last read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// What is minimised.
    pub loss: f64,
    /// Squared error of the cost-to-go, in moves².
    pub squared_error: f64,
    /// Absolute error of the cost-to-go, in moves.
    pub absolute_error: f64,
    /// Cross-entropy of the policy head, in nats; `None` without one.
    pub cross_entropy: Option<f64>,
}

/// A batch on the device.
pub(super) struct Uploaded {
    pub(super) rows: Tensor,
    labels: Tensor,
    targets: Option<Tensor>,
}

/// What a forward pass in training gives.
pub(super) struct Pass {
    loss: Tensor,
    squared: Tensor,
    absolute: Tensor,
    cross_entropy: Option<Tensor>,
}

/// What adds up the numbers of processes that learn together.
pub trait Sums {
    /// How many processes there are.
    fn size(&self) -> usize;

    /// Makes `count` numbers on the CUDA device their sums, after all work that it was given before; `false` if that cannot
    /// be done here, and nothing was.
    ///
    /// # Errors
    /// If a process has failed.
    ///
    /// # Safety
    /// So many numbers are there until the device's work is done.
    unsafe fn on_device(&mut self, device: usize, address: *mut f32, count: usize) -> Result<bool>;

    /// The sums of numbers in the host's memory.
    ///
    /// # Errors
    /// If a process has failed.
    fn on_host(&mut self, numbers: Vec<f32>) -> Result<Vec<f32>>;
}

/// A network in training.
pub struct Learner {
    config: NetworkConfig,
    pub(super) network: Box<dyn Network>,
    pub(super) parameters: Parameters,
    pub(super) optimizer: AdamW,
    pub(super) device: Device,
    precision: Precision,
    sums: Tensor,
    summed: u32,
    pub(super) ema: Option<Ema>,
    pub(super) target: Option<Target>,
}

/// The exponential moving average of the network over its steps.
pub(super) struct Ema {
    pub(super) parameters: Parameters,
    pub(super) decay: f64,
}

/// The network as it was some steps ago, which says what labels are.
pub(super) struct Target {
    pub(super) parameters: Parameters,
    worker: Worker,
}

impl Learner {
    /// A fresh network, its start drawn from the seed.
    ///
    /// # Errors
    /// As [`NetworkConfig`]: sizes that make no sense, or no grid to convolve.
    pub fn fresh(
        config: NetworkConfig,
        encoding: &Encoding,
        device: Device,
        precision: Precision,
        weight_decay: f64,
        seed: u64,
    ) -> Result<Learner, NetworkError> {
        memory::keep_freed();
        let (network, layout) = config.build(encoding, device.0, precision.kind())?;
        let parameters = Parameters::fresh(layout, &mut generator(seed, u64::MAX), device.0);
        let optimizer = AdamW::new(&parameters, weight_decay);
        let sums = Tensor::zeros([MEASURES], (Kind::Float, device.0));
        let (summed, ema, target) = (0, None, None);
        Ok(Learner { config, network, parameters, optimizer, device, precision, sums, summed, ema, target })
    }

    /// The model that comes out is then an exponential moving average (EMA) of the weights and running statistics over the
    /// steps, in which a step counts `decay` times what the next does (Polyak and Juditsky 1992).
    ///
    /// # Panics
    /// If `decay` is not from 0 to less than 1.
    pub fn with_ema(self, decay: f64) -> Self {
        assert!((0.0..1.0).contains(&decay));
        Learner { ema: Some(Ema { parameters: self.parameters.copy(), decay }), ..self }
    }

    /// The parameters of the model that comes out.
    fn result(&self) -> &Parameters {
        self.ema.as_ref().map_or(&self.parameters, |ema| &ema.parameters)
    }

    /// How many numbers are trained.
    pub fn parameter_count(&self) -> u64 {
        self.parameters.layout().trained() as u64
    }

    /// Lets labels come from the network as it is now, from here on ([`Learner::relabel`]).
    ///
    /// # Errors
    /// If the device fails.
    pub fn update_target(&mut self) -> Result<()> {
        self.set_target(self.device.run(|| self.parameters.copy())?)
    }

    pub(super) fn set_target(&mut self, parameters: Parameters) -> Result<()> {
        let (device, before) = (self.device, self.target.take());
        let precision = Precision::for_solving(device, self.config.kind);
        let evaluator = device.run(|| evaluator(&*self.network, &parameters, device.0, precision))?;
        let largest = match before {
            Some(target) => target.worker.largest(), // it may have found that fewer fit
            None if device.is_cuda() => chunk(&*evaluator, device),
            None => ROWS,
        };
        self.target = Some(Target { parameters, worker: Worker::new(evaluator, device, largest) });
        Ok(())
    }

    /// Labels a batch by one step of value iteration (Bellman 1957; on a cost-to-go: Agostinelli et al. 2019, Methods): a
    /// state costs what its best move does, and what the target network says of the child, but no more than the walk
    /// that led to it. The best moves become its policy targets.
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
        let evaluated = target.worker.evaluate_parts(children.unknown.view(), false);
        let evaluated = evaluated.map_err(|error| Error::Device(format!("{} failed: {error}", self.device)))?;
        let values = evaluated.into_iter().flat_map(|part| part.values);
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

    /// Learns from one batch.
    ///
    /// # Errors
    /// If the device fails: it has too little memory for the batch, say. The network is not to be used any more then.
    pub fn step(&mut self, batch: &Batch, learning_rate: f64) -> Result<()> {
        let step = caught(|| {
            let (gradients, measures) = self.gradients(batch);
            self.descend(&gradients, &measures, learning_rate);
        });
        step.map_err(|error| self.failed(&error))
    }

    /// Learns from one batch together with other processes that learn from theirs: each makes its step with the means of
    /// all gradients, running statistics and losses. Whether any of them is told to `stop`, which all hear of after the same
    /// step.
    ///
    /// # Errors
    /// As [`Learner::step`], and those of `sums`.
    pub fn step_together(
        &mut self,
        batch: &Batch,
        learning_rate: f64,
        stop: bool,
        sums: &mut dyn Sums,
    ) -> Result<bool> {
        let own = caught(|| {
            let (gradients, measures) = self.gradients(batch);
            let parts = [&gradients[0], &gradients[1], self.parameters.statistics(), &measures];
            let lengths = parts.map(|tensor| tensor.numel() as i64);
            (Tensor::cat(&parts.map(Tensor::detach), 0), lengths)
        });
        let (own, lengths) = own.map_err(|error| self.failed(&error))?;
        let (summed, is_stopped) = self.sum(own, stop, sums)?;
        let share = 1.0 / sums.size() as f64;
        let step = caught(|| {
            let mut parts = summed.g_mul_scalar(share).split_with_sizes(lengths, 0);
            let [measures, statistics] = [(); 2].map(|()| parts.pop().expect("there are four parts"));
            self.parameters.statistics().shallow_clone().copy_(&statistics);
            self.descend(&parts, &measures, learning_rate);
        });
        step.map(|()| is_stopped).map_err(|error| self.failed(&error))
    }

    /// The sums over all processes of numbers on the device, and whether any of them is told to stop.
    fn sum(&self, mut numbers: Tensor, stop: bool, sums: &mut dyn Sums) -> Result<(Tensor, bool)> {
        let flag = if stop { 1.0 } else { 0.0 };
        if let tch::Device::Cuda(device) = self.device.0 {
            let (address, count) = (numbers.data_ptr().cast(), numbers.numel());
            // SAFETY: the tensor is contiguous, and its memory goes to later work of the same stream alone.
            if unsafe { sums.on_device(device, address, count) }? {
                // Through the host, which need not wait for the device then.
                let flags = sums.on_host(vec![flag])?;
                return Ok((numbers, flags[0] > 0.0));
            }
        }
        let mut values = caught(|| host_values(&numbers)).map_err(|error| self.failed(&error))?;
        values.push(flag);
        values = sums.on_host(values)?;
        let is_stopped = values.pop().is_some_and(|flags| flags > 0.0);
        let back = caught(|| numbers.copy_(&Tensor::from_slice(&values)));
        back.map(|()| (numbers, is_stopped)).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &str) -> Error {
        Error::Device(format!(
            "{} failed: {error}; if memory is short, use a smaller `batch_size` or `width`",
            self.device
        ))
    }

    /// Forward and backward pass: the gradients of [`Parameters::trained`], and the losses.
    fn gradients(&self, batch: &Batch) -> (Vec<Tensor>, Tensor) {
        let pass = self.forward(&self.upload(batch));
        let gradients = self.backward(&pass);
        let measures = no_grad(|| {
            let cross_entropy = pass.cross_entropy.unwrap_or_else(|| Tensor::zeros([], (Kind::Float, self.device.0)));
            Tensor::stack(&[pass.loss, pass.squared, pass.absolute, cross_entropy], 0)
        });
        (gradients, measures)
    }

    /// One step down the gradients; adds up the losses.
    fn descend(&mut self, gradients: &[Tensor], measures: &Tensor, learning_rate: f64) {
        let _ = self.sums.g_add_(measures);
        self.summed += 1;
        self.optimizer.step(&self.parameters, gradients, learning_rate);
        if let Some(Ema { parameters, decay }) = &self.ema {
            // Of few steps, the mean of all: the first would count for long.
            let steps = self.optimizer.steps() as f64;
            no_grad(|| parameters.approach(&self.parameters, (1.0 - decay).max(1.0 / steps)));
        }
    }

    /// Steps made so far.
    pub fn steps(&self) -> u64 {
        self.optimizer.steps()
    }

    pub(super) fn upload(&self, batch: &Batch) -> Uploaded {
        let device = self.device.0;
        Uploaded {
            rows: upload(batch.states.view(), device),
            labels: to_device(batch.labels.as_slice().expect("labels are contiguous"), device),
            targets: self.config.policy.map(|_| upload(batch.policy_targets.view(), device)),
        }
    }

    pub(super) fn forward(&self, batch: &Uploaded) -> Pass {
        let weights = self.parameters.weights(self.precision.kind());
        let output = self.network.forward(&weights, &batch.rows, true);
        let squared = output.values.mse_loss(&batch.labels, Reduction::Mean);
        let absolute = no_grad(|| output.values.l1_loss(&batch.labels, Reduction::Mean));
        let cross_entropy = output.policy.zip(batch.targets.as_ref()).map(|(logits, targets)| {
            let targets = targets.to_kind(Kind::Float);
            let shares = &targets / targets.sum_dim_intlist([1i64].as_slice(), true, Kind::Float).clamp_min(1.0);
            logits.cross_entropy_loss(&shares, None::<Tensor>, Reduction::Mean, -100, 0.0)
        });
        let value_loss = &squared * (VALUE_WEIGHT / self.config.scale.powi(2));
        let loss = match &cross_entropy {
            Some(cross_entropy) => &value_loss + cross_entropy,
            None => value_loss,
        };
        Pass { loss, squared, absolute, cross_entropy }
    }

    pub(super) fn backward(&self, pass: &Pass) -> Vec<Tensor> {
        Tensor::run_backward(&[&pass.loss], &self.parameters.trained(), false, false)
    }

    /// The means since the last call, read from the device; `None` if nothing was learned since.
    ///
    /// # Errors
    /// If the device has failed, also in a step before.
    pub fn losses(&mut self) -> Result<Option<Losses>> {
        if self.summed == 0 {
            return Ok(None);
        }
        let sums = self.device.run(|| {
            let sums = host_values(&self.sums);
            let _ = self.sums.zero_();
            sums
        })?;
        let means: Vec<f64> = sums.iter().map(|sum| f64::from(*sum) / f64::from(self.summed)).collect();
        self.summed = 0;
        Ok(Some(Losses {
            loss: means[0],
            squared_error: means[1],
            absolute_error: means[2],
            cross_entropy: self.config.policy.map(|_| means[3]),
        }))
    }

    /// What the network says of rows, as a solver would see it: running statistics, clamped at 0.
    ///
    /// One number a row, in move-cost units.
    ///
    /// # Errors
    /// If the device has failed, also in a step before.
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
    /// If the device has failed, also in a step before.
    pub fn is_finite(&self) -> Result<bool> {
        let [matrices, vectors] = self.parameters.trained();
        let moments = self.optimizer.moments.iter().flatten();
        let mut all = [matrices, vectors, self.parameters.statistics()].into_iter().chain(moments);
        let is_finite = |tensor: &Tensor| host_values(&no_grad(|| tensor.isfinite().all())) == [1.0];
        self.device.run(|| all.all(is_finite))
    }

    /// What the network is made from.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Writes the model for solving into a folder that is there; matrices in the precision that `config` names.
    ///
    /// # Errors
    /// If a file cannot be written, or the device has failed.
    pub fn write_model(&self, folder: &Path, config: &ModelConfig) -> Result<()> {
        self.device.run(|| model::write(folder, config, self.result()))?
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::NetworkKind;
    use super::super::parameters::tests::reads;
    use super::super::worker::tests::Narrow;
    use super::*;
    use crate::puzzle::Puzzle as _;
    use crate::puzzle::tiles::Puzzle8;
    use crate::sampler::Children;
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
            assert_eq!(reads(), before, "a step waits for what the device tells");
            let losses = learner.losses().expect("the device works").expect("it has learned");
            assert!(losses.squared_error > 0.0 && losses.cross_entropy.is_some() == policy.is_some(), "{losses:?}");
            assert_eq!(reads(), before + 1, "all losses come at once");
        }
    }

    #[test]
    fn labels_of_value_iteration_are_made_in_parts_where_memory_is_short() {
        let encoding = Puzzle8::default().encoding();
        let config =
            NetworkConfig { kind: NetworkKind::Mlp, width: 16, blocks: 0, policy: Some(4), offset: 9.0, scale: 3.0 };
        let mut learner = Learner::fresh(config, &encoding, Device::CPU, Precision::F32, 0.0, 1).expect("a network");
        // The target says the sum of a row, of ten rows at a time.
        let evaluator = Box::new(Narrow { most: 10, message: "CUDA out of memory. Tried" });
        let worker = Worker::new(evaluator, Device::CPU, ROWS);
        learner.target = Some(Target { parameters: learner.parameters.copy(), worker });
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
        // What fits is remembered for the next target.
        assert_eq!(learner.target.as_ref().map(|target| target.worker.largest()), Some(10));
        learner.update_target().expect("the device works");
        assert_eq!(learner.target.as_ref().map(|target| target.worker.largest()), Some(10));
    }
}
