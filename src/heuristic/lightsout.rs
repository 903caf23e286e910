//! The estimate `lights` for Lights Out: a press turns at most five lights off. Admissible.

use super::{Heuristic, PerState, PuzzleHeuristics};
use crate::puzzle::lightsout::LightsOut;

impl<const WORDS: usize> PuzzleHeuristics for LightsOut<WORDS> {
    fn heuristics(&self) -> &'static [&'static str] {
        &["lights"]
    }

    fn heuristic(&self, name: &str) -> Option<Box<dyn Heuristic<[u64; WORDS]>>> {
        let lit = |state: &[u64; WORDS]| state.iter().map(|word| word.count_ones()).sum::<u32>().div_ceil(5) as f32;
        (name == "lights").then(|| Box::new(PerState::new("lights", true, lit)) as _)
    }
}
