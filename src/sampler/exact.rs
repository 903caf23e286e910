//! The costs of all states, for puzzles so small that they can be computed.

use crate::puzzle::{Cost, Move, Puzzle};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

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
    use crate::sampler::{Sampler, SolutionStates};
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
        let known = SolutionStates::exact(Arc::new(jugs.clone()), &jugs.start()).expect("there is a way");
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
        let impossible = Arc::new(Jugs::new("7,5,3").expect("three jugs"));
        assert!(SolutionStates::exact(Arc::clone(&impossible), &impossible.start()).is_none());
    }
}
