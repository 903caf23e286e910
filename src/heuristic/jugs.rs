//! Estimates for water jugs: the scores of the article that the puzzle comes from, as costs. Neither is admissible.

use super::{Heuristic, PerState, PuzzleHeuristics};
use crate::puzzle::jugs::{Jugs, Volumes};

impl PuzzleHeuristics for Jugs {
    /// `sum` counts every jug, `nearest` the one that is nearest to the goal's volume.
    fn heuristics(&self) -> &'static [&'static str] {
        if self.goal_volume().is_some() { &["sum", "nearest"] } else { &[] }
    }

    fn heuristic(&self, name: &str) -> Option<Box<dyn Heuristic<Volumes>>> {
        let goal = self.goal_volume()?;
        let count = self.count();
        let away = move |volumes: &Volumes, jug: usize| f32::from(volumes[jug].abs_diff(goal));
        match name {
            "sum" => Some(Box::new(PerState::new("sum", false, move |volumes: &Volumes| {
                // Σ (10 where the goal's volume divides the jug's) − |goal − volume|, from the highest that it can be.
                let whole = |jug: usize| volumes[jug].checked_rem(goal).is_none_or(|rest| rest == 0);
                (0..count).map(|jug| if whole(jug) { 0.0 } else { 10.0 } + away(volumes, jug)).sum()
            }))),
            "nearest" => Some(Box::new(PerState::new("nearest", false, move |volumes: &Volumes| {
                (0..count).map(|jug| away(volumes, jug)).fold(f32::INFINITY, f32::min)
            }))),
            _ => None,
        }
    }
}
