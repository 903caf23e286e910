//! Labels are exact near the goals.

use super::{ExactCosts, Target};
use serde::{Deserialize, Serialize};

/// A label is the distance within the perimeter, and the length of the walk beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactLabels {
    /// Depth of the perimeter, in moves.
    pub perimeter: u32,
}

impl Target for ExactLabels {
    fn exact_costs(&self) -> Option<ExactCosts> {
        Some(ExactCosts { depth: self.perimeter, of_children: false })
    }
}
