//! Inference: a forward pass, started now and collected later.

use super::one_hot::upload;
use crate::heuristic::Estimates;
use crate::tensors::operations::AsyncDownload;
use crate::tensors::{host_numbers, host_values, no_grad};
use ndarray::{Array2, ArrayView2};
use tch::{Kind, Tensor};

/// A network for inference. Panics, as libtorch does, if the device fails.
pub(super) trait Evaluator: Send {
    /// Begins to evaluate rows of cells on the host; a device goes on while the host does other things.
    fn begin(&self, rows: ArrayView2<'_, u8>, with_policy: bool) -> Box<dyn PassInFlight>;

    /// Evaluates rows on the network's device, where the results stay: the values, f32, not clamped at 0, and the natural
    /// logarithms of the move probabilities, f32. By default through the host.
    fn evaluate(&self, rows: &Tensor, with_policy: bool) -> (Tensor, Option<Tensor>) {
        let shape = (rows.size()[0] as usize, rows.size()[1] as usize);
        let cells: Vec<u8> = host_numbers(rows);
        let cells = ArrayView2::from_shape(shape, &cells).expect("as many cells as the rows have");
        let Estimates { values, policy } = self.begin(cells, with_policy).end();
        let policy = policy.map(|policy| Tensor::try_from(policy).expect("rows are contiguous").log_());
        (Tensor::from_slice(&values), policy)
    }

    /// Multiply-adds of the matrix products for one state.
    fn operations(&self) -> u64;
}

/// A forward pass in flight.
pub(super) trait PassInFlight {
    /// Whether the estimates can be had without waiting.
    fn is_done(&self) -> bool;

    /// Waits for the estimates, whose values are not clamped at 0. Panics, as libtorch does, if the device fails.
    fn end(self: Box<Self>) -> Estimates;
}

/// A pass that finished synchronously.
impl PassInFlight for Estimates {
    fn is_done(&self) -> bool {
        true
    }

    fn end(self: Box<Self>) -> Estimates {
        *self
    }
}

/// The outputs of a network.
pub(super) struct NetworkOutput {
    /// The cost-to-go in move-cost units, f32, one per sample; not clamped.
    pub(super) values: Tensor,
    /// Logits of the policy head, f32, `samples × moves`.
    pub(super) policy: Option<Tensor>,
}

/// The forward pass, of rows on its device, of a network whose normalization is folded into its products.
pub(super) type Folded = Box<dyn Fn(&Tensor, bool) -> NetworkOutput + Send>;

/// A folded network on its device.
pub(super) struct TensorEvaluator {
    pub(super) network: Folded,
    pub(super) device: tch::Device,
    pub(super) operations: u64,
}

impl Evaluator for TensorEvaluator {
    fn begin(&self, rows: ArrayView2<'_, u8>, with_policy: bool) -> Box<dyn PassInFlight> {
        no_grad(|| {
            let output = (self.network)(&upload(rows, self.device), with_policy);
            let policy = output.policy.map(|logits| {
                // From a GPU in 16 bits: the probabilities are most of the download. The minimum stays above 0 in them.
                let (kind, least) = if self.device.is_cuda() { (Kind::Half, 1e-7) } else { (Kind::Float, 0.0) };
                AsyncDownload::begin(&logits.softmax(-1, Kind::Float).clamp_min(least).to_kind(kind))
            });
            Box::new(Downloads { values: AsyncDownload::begin(&output.values), policy })
        })
    }

    fn evaluate(&self, rows: &Tensor, with_policy: bool) -> (Tensor, Option<Tensor>) {
        no_grad(|| {
            let NetworkOutput { values, policy } = (self.network)(rows, with_policy);
            (values, policy.map(|logits| logits.log_softmax(-1, Kind::Float)))
        })
    }

    fn operations(&self) -> u64 {
        self.operations
    }
}

/// Results on their way to the host, the values last.
struct Downloads {
    values: AsyncDownload,
    policy: Option<AsyncDownload>,
}

impl PassInFlight for Downloads {
    fn is_done(&self) -> bool {
        self.values.is_done()
    }

    fn end(self: Box<Self>) -> Estimates {
        let values = host_values(&self.values.end());
        let policy = self.policy.map(|policy| {
            let rows = policy.end();
            let moves = rows.size()[1] as usize;
            Array2::from_shape_vec((values.len(), moves), host_values(&rows)).expect("one row of moves per state")
        });
        Estimates { values, policy }
    }
}
