//! States of known cost, for puzzles so small that all costs can be computed.

use super::{Batch, Samples};
use crate::puzzle::{Cost, Move, Puzzle};
use crate::random::{Generator, below};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// Samples with exact labels: the cheapest cost to a goal, and every first move of a cheapest path.
#[derive(Debug)]
pub struct ExactSamples {
    /// States by their cost; not empty.
    by_cost: BTreeMap<Cost, Vec<SolvedRow>>,
}

/// An encoded state, and its best moves.
type SolvedRow = (Vec<u8>, Vec<Move>);

impl ExactSamples {
    /// All states that can be reached from `start` and from which a goal can be reached; `None` if none of them needs a
    /// move. Takes time and memory in proportion to their number.
    pub fn from<P: Puzzle>(puzzle: &P, start: &P::State) -> Option<Self> {
        let known = known_costs(puzzle, start);
        let cost_of: HashMap<_, _> = known.iter().map(|(state, cost, _)| (*state, *cost)).collect();
        let mut by_cost: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (state, cost, _) in known.into_iter().filter(|(.., first)| first.is_some()) {
            let is_best = |&action: &Move| {
                let rest = puzzle.apply(&state, action).and_then(|child| cost_of.get(&child));
                rest.is_some_and(|rest| rest + puzzle.move_cost(&state, action) == cost)
            };
            let best = (0..puzzle.move_count() as Move).filter(is_best).collect();
            by_cost.entry(cost.max(1)).or_default().push((puzzle.row(&state), best));
        }
        (!by_cost.is_empty()).then_some(ExactSamples { by_cost })
    }

    /// The greatest cost.
    pub fn greatest(&self) -> Cost {
        self.by_cost.last_key_value().map_or(0, |(cost, _)| *cost)
    }
}

impl Samples for ExactSamples {
    /// A state of each cost, or of the nearest lower one.
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        for (&depth, (mut row, label, mut back)) in depths.iter().zip(batch.samples_mut()) {
            let nearest = self.by_cost.range(..=depth).next_back().or(self.by_cost.first_key_value());
            let (cost, states) = nearest.expect("there is a state");
            let (state, best) = &states[below(generator, states.len())];
            row.iter_mut().zip(state).for_each(|(cell, &symbol)| *cell = symbol);
            *label = *cost as f32;
            best.iter().for_each(|&action| back[usize::from(action)] = 1);
        }
    }
}

/// Every state that can be reached from `start` and from which a goal can be reached, in the order of its cheapest cost to
/// a goal: the state, that cost, and the first move of a cheapest path (none at a goal).
///
/// Moves need not be reversible: states are found forward, and their costs backward along the moves that were met
/// (Dijkstra 1959). Ties go to the first move.
pub fn known_costs<P: Puzzle>(puzzle: &P, start: &P::State) -> Vec<(P::State, Cost, Option<Move>)> {
    let mut states = vec![*start];
    let mut indices = HashMap::from([(*start, 0usize)]);
    // The moves that lead to each state: parent, move, and its cost.
    let mut parents: Vec<Vec<(usize, Move, Cost)>> = vec![Vec::new()];
    let mut next = 0;
    while next < states.len() {
        let state = states[next];
        for (action, child) in puzzle.children(&state) {
            let index = *indices.entry(child).or_insert(states.len());
            if index == states.len() {
                states.push(child);
                parents.push(Vec::new());
            }
            parents[index].push((next, action, puzzle.move_cost(&state, action)));
        }
        next += 1;
    }
    let mut is_known = vec![false; states.len()];
    let goals = (0..states.len()).filter(|&index| puzzle.is_goal(&states[index]));
    let mut queue: BinaryHeap<_> = goals.map(|index| Reverse((0, index, None))).collect();
    let mut known = Vec::new();
    while let Some(Reverse((cost, index, first))) = queue.pop() {
        if std::mem::replace(&mut is_known[index], true) {
            continue;
        }
        known.push((states[index], cost, first));
        for &(parent, action, step) in parents[index].iter().filter(|(parent, ..)| !is_known[*parent]) {
            queue.push(Reverse((cost + step, parent, Some(action))));
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Rules as _;
    use crate::puzzle::jugs::Jugs;
    use crate::sampler::Sampler;
    use std::sync::Arc;

    #[test]
    fn costs_are_those_of_the_cheapest_ways() {
        let jugs = Jugs::new("8,5,3").expect("three jugs");
        let known = known_costs(&jugs, &jugs.start());
        assert!(known.iter().any(|(state, cost, _)| *state == jugs.start() && *cost == 6));
        let cost_of: HashMap<_, _> = known.iter().map(|(state, cost, _)| (*state, *cost)).collect();
        for (state, cost, action) in &known {
            assert_eq!(jugs.is_goal(state), *cost == 0);
            let Some(action) = action else { continue };
            let next = jugs.apply(state, *action).expect("the best move is legal");
            assert_eq!(cost_of[&next] + 1, *cost);
            let ways = (0..6).filter_map(|action| jugs.apply(state, action)).filter_map(|next| cost_of.get(&next));
            assert_eq!(ways.min(), Some(&(cost - 1)));
        }
    }

    #[test]
    fn samples_have_exact_labels() {
        let jugs = Jugs::new("8,5,3").expect("three jugs");
        let cost_of: HashMap<_, _> =
            known_costs(&jugs, &jugs.start()).into_iter().map(|(state, cost, _)| (state, cost)).collect();
        let known = ExactSamples::from(&jugs, &jugs.start()).expect("there is a way");
        let greatest = known.greatest();
        assert_eq!(greatest, *cost_of.values().max().expect("there are states"));
        let batch = Sampler::new(Arc::new(known), (3, 6), 1, greatest, 100).batch(3);
        for ((row, label), back) in batch.states.outer_iter().zip(&batch.labels).zip(batch.policy_targets.outer_iter())
        {
            let mut state = jugs.start();
            state.iter_mut().zip(row).for_each(|(volume, &symbol)| *volume = symbol);
            assert_eq!(cost_of[&state] as f32, *label);
            for (action, &leads) in back.indexed_iter() {
                let next = jugs.apply(&state, action as Move).and_then(|next| cost_of.get(&next));
                assert_eq!(leads == 1, next.is_some_and(|next| next + 1 == cost_of[&state]), "{state:?}, {action}");
            }
        }
        let impossible = Jugs::new("7,5,3").expect("three jugs");
        assert!(ExactSamples::from(&impossible, &impossible.start()).is_none());
    }
}
