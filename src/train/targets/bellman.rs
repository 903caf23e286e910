//! Labels come from the network itself: value iteration (Bellman 1957; on a cost-to-go: Agostinelli et al. 2019, Methods).

use super::{ExactCosts, Target};
use crate::error::Result;
use crate::neural::learner::Learner;
use crate::sampler::Batch;
use serde::{Deserialize, Serialize};

/// A label is the cost of the best child by the target network, a copy that is updated now and then; within the perimeter
/// it is the distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bellman {
    /// Optimizer steps between updates of the target network.
    pub target_every: u64,
    /// Depth of the perimeter, in moves.
    pub perimeter: u32,
}

impl Target for Bellman {
    fn exact_costs(&self) -> Option<ExactCosts> {
        Some(ExactCosts { depth: self.perimeter, of_children: true })
    }

    fn label(&self, learner: &mut Learner, batch: &mut Batch) -> Result<()> {
        if learner.optimizer_steps().is_multiple_of(self.target_every) {
            learner.update_target()?;
        }
        learner.relabel(batch)
    }
}
