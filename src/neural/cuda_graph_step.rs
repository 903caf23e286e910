//! The optimizer step as a CUDA graph: a step of a dense network starts a hundred short kernels, and below batches of some ten
//! thousand samples a GPU waits for their launches. Recorded once, they are one launch.
//!
//! The record is made after some steps, and tried at once: it must give the bits of the same step without it, so that a resumed
//! run, which begins without a record, ends with the bits of one that was never stopped. Otherwise, and if recording fails,
//! every kernel is launched on its own, as before.

use super::cuda_graph_inputs::{Inputs, Recording};
use super::learner::Learner;
use crate::sampler::DeviceBatch;
use crate::tensors::cuda_graph::CudaGraph;
use crate::tensors::{caught, host_values, no_grad};
use tch::Tensor;

/// Steps with batches of one size before the record is made: libtorch sets up its libraries in the first ones.
const STEPS_BEFORE: u32 = 3;

impl Learner {
    /// Makes a recorded step; returns `false`, with nothing done, if there is none for a batch of this size.
    pub(super) fn start_recorded(&mut self, batch: &DeviceBatch, learning_rate: f64) -> bool {
        let size = batch.rows.size()[0];
        match &mut self.recording {
            Recording::On(graph, inputs) if inputs.batch.rows.size()[0] == size => {
                inputs.set(batch, learning_rate, self.optimizer.steps);
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
            Recording::After(last, _) if *last == size => self.record(batch, learning_rate),
            _ => false,
        }
    }

    /// Records the step, and makes it once; returns `false`, with nothing done, if it cannot be recorded.
    fn record(&mut self, batch: &DeviceBatch, learning_rate: f64) -> bool {
        let tch::Device::Cuda(index) = self.device.0 else { return false };
        self.device.synchronize();
        let recorded = caught(|| (Inputs::new(batch, learning_rate, self.optimizer.steps), self.copies())).and_then(
            |(inputs, before)| Ok((CudaGraph::record(index, || self.step_in_place(&inputs))?, inputs, before)),
        );
        let (made, recording) = match recorded {
            Err(reason) => (false, Err(reason)),
            Ok((graph, inputs, before)) => {
                let tried = self.try_step(batch, learning_rate, &before, &|_| graph.start());
                (true, tried.map(|()| Recording::On(graph, inputs)))
            }
        };
        match &recording {
            Ok(_) => log::debug!("an optimizer step of {} samples is one launch from now on", batch.rows.size()[0]),
            Err(reason) => {
                log::warn!("the optimizer step cannot be one launch ({reason}): its kernels are launched one by one");
            }
        }
        self.recording = recording.unwrap_or(Recording::Off);
        made
    }

    /// Launches every kernel on its own.
    pub fn without_record(mut self) -> Self {
        self.recording = Recording::Off;
        self
    }

    /// A step that reads all its numbers on the device, and neither waits for it nor copies to it.
    fn step_in_place(&self, inputs: &Inputs) {
        let (gradients, losses) = self.gradients(&inputs.batch);
        let _ = self.loss_sums.shallow_clone().g_add_(&losses);
        let _ = inputs.steps.shallow_clone().g_add_scalar_(1);
        self.optimizer.descend(&self.parameters, &gradients, &inputs.steps, Some(&inputs.learning_rate), 0.0);
    }

    /// Makes a step as usual and, from the same state, by `start`; `before` is a copy of the state. If the bits differ, the
    /// error says how far, and the usual step counts.
    fn try_step(
        &mut self,
        batch: &DeviceBatch,
        learning_rate: f64,
        before: &[Tensor],
        start: &dyn Fn(&Learner),
    ) -> Result<(), String> {
        let state = self.step_state();
        let set = |to: &[Tensor]| no_grad(|| state.iter().zip(to).for_each(|(own, to)| own.shallow_clone().copy_(to)));
        let (gradients, losses) = self.gradients(batch);
        self.descend(&gradients, &losses, learning_rate);
        let usual = caught(|| self.copies())?;
        let tried = caught(|| {
            set(before);
            start(self);
            let far = |a: &Tensor, b: &Tensor| host_values(&no_grad(|| (a - b).norm()))[0];
            let differs = state.iter().zip(&usual).zip(before).find(|((own, usual), _)| !own.equal(usual));
            differs.map(|((own, usual), before)| far(own, usual) / far(usual, before))
        });
        let differs = |apart| Err(format!("it differs by {apart} of the step"));
        tried.and_then(|apart| apart.map_or(Ok(()), differs)).inspect_err(|_| set(&usual))
    }

    fn copies(&self) -> Vec<Tensor> {
        self.step_state().iter().map(Tensor::copy).collect()
    }

    /// The tensors that a step changes: weights, running statistics, sums of the losses, and moments.
    fn step_state(&self) -> Vec<Tensor> {
        let tensors =
            self.parameters.flat.iter().chain([&self.loss_sums]).chain(self.optimizer.moments.iter().flatten());
        tensors.map(Tensor::detach).filter(|tensor| tensor.numel() > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::device::Device;
    use super::super::network::{NetworkConfig, NetworkKind};
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
        let rate = 1.0 / 1024.0; // the same number in f32
        for _ in 0..5 {
            learner.learn(&batch, rate).expect("the device works");
        }
        let inputs = |rate, steps| Inputs::new(&batch, rate, steps);
        let (same, faster, younger) = (inputs(rate, 5), inputs(2.0 * rate, 6), inputs(rate, 1));
        let try_step = |learner: &mut Learner, start: &dyn Fn(&Learner)| {
            let before = learner.copies();
            learner.try_step(&batch, rate, &before, start)
        };
        assert_eq!(try_step(&mut learner, &|learner| learner.step_in_place(&same)), Ok(()));
        assert_eq!((learner.optimizer_steps(), host_values(&same.steps)), (6, vec![6.0]));
        // Another rate or number of steps is noticed, and so is NaN; the usual step counts.
        let spoils = |learner: &Learner| no_grad(|| drop(learner.step_state()[0].fill_(f64::NAN)));
        let others: [&dyn Fn(&Learner); 3] =
            [&|learner| learner.step_in_place(&faster), &|learner| learner.step_in_place(&younger), &spoils];
        for other in others {
            let weights = learner.parameters.copy();
            let refused = try_step(&mut learner, other);
            assert!(refused.is_err_and(|reason| reason.contains("differs")));
            let step = no_grad(|| (&learner.parameters.flat[0] - &weights.flat[0]).abs().max());
            assert!(host_values(&step)[0] < 1.5e-3, "a step at the usual rate");
        }
        let failed = try_step(&mut learner, &|_| panic!("no launch"));
        assert_eq!((failed, learner.optimizer_steps()), (Err("no launch".into()), 10));
        assert!(matches!(learner.recording, Recording::Off), "nothing is recorded on the CPU");
    }
}
