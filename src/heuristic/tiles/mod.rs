//! Estimates for sliding tiles.

pub mod distance;
pub mod patterns;

use super::exact::exact;
use super::{Heuristic, PerState, PuzzleHeuristics, Retarget};
use crate::puzzle::tiles::{Board, Bytes, Packed8, Packed15, Packed24, Tiles};
use std::sync::Arc;

/// The estimates of boards of one size.
pub trait BoardHeuristics: Board {
    /// The names of all estimates, the default last.
    const NAMES: &'static [&'static str] = &["manhattan", "linear-conflict"];

    /// An estimate that only this size has.
    fn make(_puzzle: &Tiles<Self>, _name: &str) -> Option<PerState<Self>> {
        None
    }
}

impl BoardHeuristics for Packed8 {
    // With exact distances nothing is left to search for, so the default is linear conflict.
    const NAMES: &'static [&'static str] = &["exact", "manhattan", "linear-conflict"];

    fn make(puzzle: &Tiles<Self>, name: &str) -> Option<PerState<Self>> {
        (name == "exact").then(|| exact(puzzle.clone()))
    }
}

impl BoardHeuristics for Packed15 {
    const NAMES: &'static [&'static str] = &["manhattan", "linear-conflict", "pattern-databases"];

    fn make(puzzle: &Tiles<Self>, name: &str) -> Option<PerState<Self>> {
        (name == "pattern-databases").then(|| patterns::pattern_databases(puzzle))
    }
}

impl BoardHeuristics for Packed24 {}

impl<const SIDE: usize, const CELLS: usize> BoardHeuristics for Bytes<SIDE, CELLS> {}

impl<B: BoardHeuristics> PuzzleHeuristics for Tiles<B> {
    fn heuristics(&self) -> &'static [&'static str] {
        B::NAMES
    }

    fn heuristic(&self, name: &str) -> Option<Box<dyn Heuristic<B>>> {
        let own = estimate(self, name)?;
        let name = name.to_owned();
        let towards: Retarget<B> = Arc::new(move |goal| Some(Box::new(estimate(&Tiles::towards(*goal), &name)?)));
        Some(Box::new(own.with_goals(towards)))
    }
}

fn estimate<B: BoardHeuristics>(puzzle: &Tiles<B>, name: &str) -> Option<PerState<B>> {
    match name {
        "manhattan" => Some(distance::manhattan(puzzle)),
        "linear-conflict" => Some(distance::linear_conflict(puzzle)),
        _ => B::make(puzzle, name),
    }
}
