//! States whose cost is known, for puzzles so small that all of it can be.

use super::{Batch, Samples};
use crate::puzzle::{Cost, Move, Puzzle};
use crate::random::{Generator, below};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Samples with exact labels: the cheapest cost to a goal, and every first move of a cheapest way.
#[derive(Debug)]
pub struct ExactSamples {
    /// By cost, from 1: the rows of the states that have it, each with its best moves.
    by_cost: Vec<Vec<(Vec<u8>, Vec<Move>)>>,
}

impl ExactSamples {
    /// All states that can be reached from `start` and from which a goal can be; `None` if none of them needs a move.
    ///
    /// Takes time and memory in proportion to the number of states.
    pub fn from<P: Puzzle>(puzzle: &P, start: &P::State) -> Option<Self> {
        let cells = puzzle.encoding().cells;
        let mut by_cost: Vec<Vec<(Vec<u8>, Vec<Move>)>> = Vec::new();
        let known = known_costs(puzzle, start);
        let cost_of: HashMap<_, _> = known.iter().map(|(state, cost, _)| (*state, *cost)).collect();
        for (state, cost, best) in known {
            if best.is_none() {
                continue; // a goal
            }
            let leads_on = |&action: &Move| {
                let rest = puzzle.apply(&state, action).and_then(|child| cost_of.get(&child));
                rest.is_some_and(|rest| rest + puzzle.move_cost(&state, action) == cost)
            };
            let best = (0..puzzle.move_count() as Move).filter(leads_on).collect();
            let mut row = vec![0; cells];
            puzzle.encode(&state, &mut row);
            let cost = (cost as usize).max(1);
            if by_cost.len() < cost {
                by_cost.resize_with(cost, Vec::new);
            }
            by_cost[cost - 1].push((row, best));
        }
        (!by_cost.is_empty()).then_some(ExactSamples { by_cost })
    }

    /// The greatest cost.
    pub fn greatest(&self) -> u32 {
        self.by_cost.len() as u32
    }
}

impl Samples for ExactSamples {
    /// A state of the cost that is asked for, or of the greatest below it.
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        for (&depth, (mut row, label, mut back)) in depths.iter().zip(batch.samples_mut()) {
            let asked = (depth as usize).clamp(1, self.by_cost.len());
            let there = self.by_cost[..asked].iter().rposition(|states| !states.is_empty());
            let cost = there.or_else(|| self.by_cost.iter().position(|states| !states.is_empty())).unwrap_or(0);
            let states = &self.by_cost[cost];
            let (state, best) = &states[below(generator, states.len())];
            row.iter_mut().zip(state).for_each(|(cell, &symbol)| *cell = symbol);
            *label = (cost + 1) as f32;
            best.iter().for_each(|&action| back[usize::from(action)] = 1);
        }
    }
}

/// The state, its cheapest cost to a goal, and the first move of a cheapest way there (none at a goal).
pub type KnownState<S> = (S, Cost, Option<Move>);

/// Every state that can be reached from `start` and from which a goal can be, in the order of its cost.
///
/// Moves need not be reversible: the states are found forward, and their costs backward along the moves that were
/// met (Dijkstra 1959). Of equally good moves, the first is given.
pub fn known_costs<P: Puzzle>(puzzle: &P, start: &P::State) -> Vec<KnownState<P::State>> {
    let mut states = vec![*start];
    let mut numbers = HashMap::from([(*start, 0usize)]);
    // For each state, where it was reached from: the state, the move, and what that costs.
    let mut sources: Vec<Vec<(usize, Move, Cost)>> = vec![Vec::new()];
    let mut next = 0;
    while next < states.len() {
        let state = states[next];
        for action in 0..puzzle.move_count() as Move {
            let Some(child) = puzzle.apply(&state, action) else { continue };
            let number = *numbers.entry(child).or_insert(states.len());
            if number == states.len() {
                states.push(child);
                sources.push(Vec::new());
            }
            sources[number].push((next, action, puzzle.move_cost(&state, action)));
        }
        next += 1;
    }
    let mut best: Vec<Option<(Cost, Option<Move>)>> = vec![None; states.len()];
    let goals = (0..states.len()).filter(|&number| puzzle.is_goal(&states[number]));
    let mut queue: BinaryHeap<Reverse<(Cost, usize, Option<Move>)>> =
        goals.map(|number| Reverse((0, number, None))).collect();
    let mut known = Vec::new();
    while let Some(Reverse((cost, number, action))) = queue.pop() {
        if best[number].is_some() {
            continue;
        }
        best[number] = Some((cost, action));
        known.push((states[number], cost, action));
        for &(source, action, step) in sources[number].iter().filter(|(source, ..)| best[*source].is_none()) {
            queue.push(Reverse((cost + step, source, Some(action))));
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
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
