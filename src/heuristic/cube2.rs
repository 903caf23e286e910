//! The estimate `exact` for the 2×2×2 cube.

use super::exact::exact;
use super::{Heuristic, PuzzleHeuristics};
use crate::puzzle::cube2::{Corners, Cube2};

impl PuzzleHeuristics for Cube2 {
    fn heuristics(&self) -> &'static [&'static str] {
        &["exact"]
    }

    fn heuristic(&self, name: &str) -> Option<Box<dyn Heuristic<Corners>>> {
        (name == "exact").then(|| Box::new(exact(*self)) as _)
    }
}
