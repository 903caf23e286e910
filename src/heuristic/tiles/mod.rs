//! Estimates for sliding tiles.
//!
//! | file | content |
//! | --- | --- |
//! | `distance` | Manhattan distance and linear conflict |
//! | `patterns` | additive disjoint pattern databases for the 15-puzzle |

pub mod distance;
pub mod patterns;

use super::PerState;
use super::exact::exact;
use crate::puzzle::tiles::{Board, Bytes, Packed8, Packed15, Packed24, Tiles};
use distance::{linear_conflict, manhattan};
use std::sync::Arc;

/// The estimates of boards of one size.
pub trait BoardHeuristics: Board {
    /// All estimates towards the puzzle's own goal, the default last.
    fn heuristics(puzzle: &Tiles<Self>) -> Vec<PerState<Self>> {
        vec![manhattan(puzzle), linear_conflict(puzzle)]
    }
}

impl BoardHeuristics for Packed8 {
    // With exact distances nothing is left to search for, so the default is linear conflict.
    fn heuristics(puzzle: &Tiles<Self>) -> Vec<PerState<Self>> {
        vec![exact(puzzle.clone()), manhattan(puzzle), linear_conflict(puzzle)]
    }
}

impl BoardHeuristics for Packed15 {
    fn heuristics(puzzle: &Tiles<Self>) -> Vec<PerState<Self>> {
        vec![manhattan(puzzle), linear_conflict(puzzle), patterns::pattern_databases(puzzle)]
    }
}

impl BoardHeuristics for Packed24 {}

impl<const SIDE: usize, const CELLS: usize> BoardHeuristics for Bytes<SIDE, CELLS> {}

/// All estimates of a puzzle, the default last, each of which can be made towards another goal.
pub(crate) fn heuristics<B: BoardHeuristics>(puzzle: &Tiles<B>) -> Vec<PerState<B>> {
    let with_goals = |own: PerState<B>| {
        let name = own.name;
        own.with_goals(Arc::new(move |goal| {
            let found = heuristics(&Tiles::towards(*goal)).into_iter().find(|heuristic| heuristic.name == name)?;
            Some(Box::new(found))
        }))
    };
    B::heuristics(puzzle).into_iter().map(with_goals).collect()
}
