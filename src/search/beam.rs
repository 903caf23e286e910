//! Beam search: layer by layer, of each only the most promising states.
//!
//! - A step expands the whole layer, drops every child that was ever stored, scores the rest in one go, and keeps the
//!   `width` children of least cost-to-go for the next layer; of equals, those that were generated first.
//! - A child is tested for the goal when it is *generated*; the first goal ends the search.
//! - Neither complete nor optimal: what falls out of the beam is gone. With a width that no layer exceeds it is
//!   breadth-first search.
//! - Time and memory grow with width times depth: the states that were dropped are remembered, not to be made again.
//!
//! Lowerre, "The Harpy speech recognition system" (1976); on a learned cost-to-go, as the cube article's repository.

use super::arena::{NO_PARENT, NodeId};
use super::tree::Tree;
use super::{Control, End, LOOK_EVERY, Limit, Outcome, Search, Stats};
use crate::heuristic::{Ask, Heuristic, HeuristicError};
use crate::puzzle::{Move, Puzzle};

/// The search `beam`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beam {
    /// How many states a layer keeps (`--n`), at least 1.
    pub width: usize,
}

impl<P: Puzzle> Search<P> for Beam {
    fn name(&self) -> &'static str {
        "beam"
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        let mut tree = Tree::default();
        let mut stats = Stats::default();
        let root = tree.store(start, NO_PARENT, 0, 0).expect("the first state is new");
        let mut layer = vec![root];
        let (end, goal) = if puzzle.is_goal(start) {
            (End::Solved, Some(root))
        } else {
            loop {
                match step(self.width.max(1), puzzle, &mut tree, &mut layer, &mut stats, heuristic, control)? {
                    Some(ended) => break ended,
                    None if layer.is_empty() => break (End::NoSolution, None),
                    None => {}
                }
            }
        };
        stats.stored = tree.len() as u64;
        stats.seconds = control.seconds();
        let solved_at_once = stats.iterations == 0;
        Ok(tree.outcome(end, goal, solved_at_once, stats))
    }
}

type Ended = Option<(End, Option<NodeId>)>;

fn step<P: Puzzle>(
    width: usize,
    puzzle: &P,
    tree: &mut Tree<P::State>,
    layer: &mut Vec<NodeId>,
    stats: &mut Stats,
    heuristic: &mut dyn Heuristic<P::State>,
    control: &mut Control<'_>,
) -> Result<Ended, HeuristicError> {
    stats.iterations += 1;
    let mut children = Vec::new();
    for (i, &id) in layer.iter().enumerate() {
        if (i as u64).is_multiple_of(LOOK_EVERY) {
            stats.stored = tree.len() as u64;
            control.report_counts(stats);
            if let Some(limit) = control.reached(|| tree.bytes()) {
                return Ok(Some((End::Limit(limit), None)));
            }
        }
        if control.too_many(stats.generated + puzzle.move_count() as u64) {
            return Ok(Some((End::Limit(Limit::Nodes), None)));
        }
        stats.expanded += 1;
        let node = tree[id];
        for action in 0..puzzle.move_count() as Move {
            let Some(child) = puzzle.apply(&node.state, action) else { continue };
            stats.generated += 1;
            let cost = puzzle.move_cost(&node.state, action);
            let Some(child_id) = tree.store(&child, id, action, node.g + cost) else { continue };
            if puzzle.is_goal(&child) {
                return Ok(Some((End::Solved, Some(child_id))));
            }
            children.push((child_id, child));
        }
    }
    let mut scored: Vec<(f32, NodeId)> = Vec::with_capacity(children.len());
    for chunk in children.chunks(heuristic.chunk().max(1)) {
        if let Some(limit) = control.reached(|| tree.bytes()) {
            return Ok(Some((End::Limit(limit), None)));
        }
        let states: Vec<P::State> = chunk.iter().map(|(_, state)| *state).collect();
        heuristic.submit(&states, Ask::Values)?;
        let estimates = heuristic.collect()?;
        stats.evaluated += chunk.len() as u64;
        scored.extend(estimates.values.into_iter().zip(chunk.iter().map(|(id, _)| *id)));
    }
    // Node numbers are in the order of generation.
    let order = |a: &(f32, NodeId), b: &(f32, NodeId)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if scored.len() > width {
        scored.select_nth_unstable_by(width, order);
        scored.truncate(width);
    }
    scored.sort_unstable_by(order);
    layer.clear();
    layer.extend(scored.into_iter().map(|(_, id)| id));
    Ok(None)
}
