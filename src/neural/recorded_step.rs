//! The optimizer step as a CUDA graph: a step of a dense network starts a hundred short kernels, and below batches of some ten
//! thousand samples a GPU waits for their launches. Recorded once, they are one launch.
//!
//! The record is made after some steps, and tried at once: it must do what the same step does without it. Otherwise, and where
//! recording fails, every kernel is launched on its own, as before.

use super::device::Device;
use super::learner::Learner;
use super::network::NetworkKind;
use crate::sampler::DeviceBatch;
use crate::tensors::cuda_graph::CudaGraph;
use crate::tensors::{caught, host_values, no_grad};
use tch::{Kind, Tensor};

/// Steps with batches of one size before the record is made: libtorch sets up its libraries in the first ones.
const STEPS_BEFORE: u32 = 3;

/// How far the weights may lie from those of the same step without the record, relative to the step.
const MAX_DIFFERENCE: f32 = 0.05;

/// Whether the step is recorded.
pub(super) enum Recording {
    /// It is not, and will not be.
    Off,
    /// Not yet: the size of the last batches, and their number.
    After(i64, u32),
    On(RecordedStep),
}

/// A record, and what it reads.
pub(super) struct RecordedStep {
    graph: CudaGraph,
    inputs: Inputs,
}

/// What a step reads, where it lies on the device.
struct Inputs {
    batch: DeviceBatch,
    learning_rate: Tensor,
    /// The number of steps so far, f32.
    steps: Tensor,
}

impl Inputs {
    fn new(batch: &DeviceBatch, learning_rate: f64, steps: u64) -> Self {
        let number = |number: f64, shape: &[i64]| Tensor::full(shape, number, (Kind::Float, batch.rows.device()));
        Inputs {
            batch: DeviceBatch {
                rows: batch.rows.copy(),
                labels: batch.labels.copy(),
                policy_targets: batch.policy_targets.as_ref().map(Tensor::copy),
            },
            learning_rate: number(learning_rate, &[]),
            steps: number(steps as f64, &[1]),
        }
    }

    fn set(&mut self, batch: &DeviceBatch, learning_rate: f64) {
        self.batch.rows.copy_(&batch.rows);
        self.batch.labels.copy_(&batch.labels);
        if let (Some(own), Some(targets)) = (&mut self.batch.policy_targets, &batch.policy_targets) {
            own.copy_(targets);
        }
        let _ = self.learning_rate.fill_(learning_rate);
    }
}

impl Recording {
    /// Dense networks are recorded on CUDA; the convolutions of a residual network keep a GPU busy.
    pub(super) fn of(kind: NetworkKind, device: Device) -> Self {
        if device.is_cuda() && kind == NetworkKind::Mlp { Recording::After(0, 0) } else { Recording::Off }
    }
}

impl Learner {
    /// Makes a recorded step; returns `false`, with nothing done, if there is none for a batch of this size.
    pub(super) fn start_recorded(&mut self, batch: &DeviceBatch, learning_rate: f64) -> bool {
        let size = batch.rows.size()[0];
        match &mut self.recording {
            Recording::On(RecordedStep { graph, inputs }) if inputs.batch.rows.size()[0] == size => {
                inputs.set(batch, learning_rate);
                graph.start();
                self.optimizer.steps += 1;
                self.end_step();
                true
            }
            Recording::After(last, steps) if *steps < STEPS_BEFORE => {
                *steps = if *last == size { *steps + 1 } else { 1 };
                *last = size;
                false
            }
            Recording::After(..) => self.record(batch, learning_rate),
            _ => false,
        }
    }

    /// Records the step, and makes it once; returns `false`, with nothing done, if it cannot be recorded.
    fn record(&mut self, batch: &DeviceBatch, learning_rate: f64) -> bool {
        let tch::Device::Cuda(index) = self.device.0 else { return false };
        let inputs = Inputs::new(batch, learning_rate, self.optimizer.steps);
        self.device.synchronize();
        let off = |reason: &str| {
            log::warn!("the optimizer step cannot be one launch ({reason}): its kernels are launched one by one");
            Recording::Off
        };
        match CudaGraph::record(index, || self.step_in_place(&inputs)) {
            Err(reason) => {
                self.recording = off(&reason);
                false
            }
            Ok(graph) => {
                let is_same = self.try_step(batch, learning_rate, &|_| graph.start());
                self.recording = match is_same {
                    Ok(()) => {
                        log::debug!("an optimizer step of {} samples is one launch from now on", batch.rows.size()[0]);
                        Recording::On(RecordedStep { graph, inputs })
                    }
                    Err(reason) => off(&reason),
                };
                true
            }
        }
    }

    /// A step that reads all its numbers on the device, and neither waits for it nor copies to it.
    fn step_in_place(&self, inputs: &Inputs) {
        let (gradients, losses) = self.gradients(&inputs.batch);
        let _ = self.loss_sums.shallow_clone().g_add_(&losses);
        let _ = inputs.steps.shallow_clone().g_add_scalar_(1);
        self.optimizer.step_on_device(&self.parameters, &gradients, &inputs.steps, &inputs.learning_rate);
    }

    /// Makes a step as usual and, from the same state, by `start`. The second step counts, unless its weights are not those of
    /// the first: then the first counts, and the error says how far they are apart.
    fn try_step(&mut self, batch: &DeviceBatch, learning_rate: f64, start: &dyn Fn(&Learner)) -> Result<(), String> {
        let state = self.step_state();
        let copies = || state.iter().map(Tensor::copy).collect::<Vec<_>>();
        let set = |to: &[Tensor]| no_grad(|| state.iter().zip(to).for_each(|(own, to)| own.shallow_clone().copy_(to)));
        let before = copies();
        let (gradients, losses) = self.gradients(batch);
        self.descend(&gradients, &losses, learning_rate);
        let usual = copies();
        set(&before);
        let started = caught(|| start(self));
        let far = |a: &Tensor, b: &Tensor| host_values(&no_grad(|| (a - b).norm()))[0];
        let apart = state.iter().zip(&usual).zip(&before).map(|((own, usual), before)| {
            let (difference, step) = (far(own, usual), far(usual, before));
            if difference <= MAX_DIFFERENCE * step { 0.0 } else { difference / step }
        });
        let is_same = started.and_then(|()| match apart.fold(0.0, f32::max) {
            0.0 => Ok(()),
            apart => Err(format!("it differs by {apart} of the step")),
        });
        if is_same.is_err() {
            set(&usual);
        }
        is_same
    }

    /// What a step changes: weights, running statistics, the sums of the losses, moments.
    fn step_state(&self) -> Vec<Tensor> {
        let tensors =
            self.parameters.flat.iter().chain([&self.loss_sums]).chain(self.optimizer.moments.iter().flatten());
        tensors.map(Tensor::detach).filter(|tensor| tensor.numel() > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::NetworkConfig;
    use super::super::precision::Precision;
    use super::*;
    use crate::puzzle::Encode as _;
    use crate::puzzle::tiles::Puzzle8;
    use crate::sampler::Batch;
    use ndarray::{Array1, Array2};

    #[test]
    fn a_step_that_reads_its_numbers_on_the_device_is_the_same_step() {
        let encoding = Puzzle8::default().encoding();
        let config =
            NetworkConfig { kind: NetworkKind::Mlp, width: 16, blocks: 1, policy: Some(4), offset: 9.0, scale: 3.0 };
        let mut learner = Learner::fresh(config, &encoding, Device::CPU, Precision::F32, 0.1, 1).expect("a network");
        let batch = Batch {
            states: Array2::from_shape_fn((20, encoding.cells), |(row, cell)| ((row * cell + row) % 9) as u8),
            labels: Array1::from_shape_fn(20, |row| row as f32),
            policy_targets: Array2::from_shape_fn((20, 4), |(row, action)| u8::from(row % 4 == action)),
            children: None,
        };
        let batch = learner.upload(&batch).expect("the device works");
        for _ in 0..5 {
            learner.learn(&batch, 1e-3).expect("the device works");
        }
        let inputs = |rate, steps| Inputs::new(&batch, rate, steps);
        let (same, faster, younger) = (inputs(1e-3, 5), inputs(2e-3, 6), inputs(1e-3, 1));
        assert_eq!(learner.try_step(&batch, 1e-3, &|learner| learner.step_in_place(&same)), Ok(()));
        assert_eq!((learner.optimizer_steps(), host_values(&same.steps)), (6, vec![6.0]));
        // Another rate or number of steps is noticed, and the usual step counts.
        let other = |learner: &mut Learner, inputs: &Inputs| {
            let weights = learner.parameters.copy();
            let refused = learner.try_step(&batch, 1e-3, &|learner| learner.step_in_place(inputs));
            assert!(refused.is_err_and(|reason| reason.contains("differs")));
            let step = no_grad(|| (&learner.parameters.flat[0] - &weights.flat[0]).abs().max());
            assert!(host_values(&step)[0] < 1.5e-3, "a step at the usual rate");
        };
        other(&mut learner, &faster);
        other(&mut learner, &younger);
        let failed = learner.try_step(&batch, 1e-3, &|_| panic!("no launch"));
        assert_eq!((failed, learner.optimizer_steps()), (Err("no launch".into()), 9));
        assert!(matches!(learner.recording, Recording::Off), "nothing is recorded on the CPU");
    }
}
