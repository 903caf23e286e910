//! Labels are exact near the goals.

use super::Target;
use crate::puzzle::Puzzle;
use crate::sampler::Walks;
use crate::search::perimeter::Perimeter;
use serde::{Deserialize, Serialize};

/// A label is the distance within the perimeter, and the length of the walk beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exact {
    /// Depth of the perimeter, in moves.
    pub perimeter: u32,
}

impl<P: Puzzle> Target<P> for Exact {
    fn perimeter(&self) -> Option<u32> {
        Some(self.perimeter)
    }

    fn samples(&self, walks: Walks<P>, perimeter: Perimeter<P::State>) -> Walks<P> {
        walks.with_exact_labels(perimeter)
    }
}
