//! Whether an optimizer step is recorded, the record and its inputs: see `cuda_graph_step`.

use super::device::Device;
use super::network::NetworkKind;
use crate::sampler::DeviceBatch;
use crate::tensors::cuda_graph::CudaGraph;
use tch::{Kind, Tensor};

/// Whether the step is recorded.
pub(super) enum Recording {
    /// It is not, and will not be.
    Off,
    /// Not yet: the size of the last batches, and their number.
    After(i64, u32),
    /// The record, and its inputs.
    On(CudaGraph, Inputs),
}

/// The inputs of a recorded step, at fixed addresses on the device.
pub(super) struct Inputs {
    pub(super) batch: DeviceBatch,
    pub(super) learning_rate: Tensor,
    /// The number of steps so far, f32.
    pub(super) steps: Tensor,
}

impl Inputs {
    pub(super) fn new(batch: &DeviceBatch, learning_rate: f64, steps: u64) -> Self {
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

    pub(super) fn set(&mut self, batch: &DeviceBatch, learning_rate: f64, steps: u64) {
        self.batch.rows.copy_(&batch.rows);
        self.batch.labels.copy_(&batch.labels);
        if let (Some(own), Some(targets)) = (&mut self.batch.policy_targets, &batch.policy_targets) {
            own.copy_(targets);
        }
        let _ = self.learning_rate.fill_(learning_rate);
        let _ = self.steps.fill_(steps as f64);
    }
}

impl Recording {
    /// Dense networks are recorded on CUDA; the convolutions of a residual network keep a GPU busy.
    pub(super) fn of(kind: NetworkKind, device: Device) -> Self {
        if device.is_cuda() && kind == NetworkKind::Mlp { Recording::After(0, 0) } else { Recording::Off }
    }

    /// Drops the record: the tensors that it changes have been replaced.
    pub(super) fn restart(&mut self) {
        if let Recording::On(..) = self {
            *self = Recording::After(0, 0);
        }
    }
}
