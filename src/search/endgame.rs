//! The end of the game by heart: exact costs of all states near the goals, and the way home from each.

use crate::heuristic::exact_distances;
use crate::puzzle::{Cost, Move, Reversible, State};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::sync::Arc;

/// All states within some moves of a goal, with their exact cost. Copies share the table.
#[derive(Debug, Clone)]
pub struct Endgame<S> {
    table: Arc<HashMap<S, u8, FixedState>>,
    depth: Cost,
}

impl<S: State> Endgame<S> {
    /// Every state within `depth` moves of the goals of a puzzle whose moves cost 1, by breadth-first search.
    ///
    /// Takes time and memory in proportion to their number: 984,000 of the cube at depth 6, 9.2 million at 7.
    pub fn new<P: Reversible<State = S>>(puzzle: &P, depth: u32) -> Self {
        Endgame { table: Arc::new(exact_distances(puzzle, depth)), depth }
    }

    /// No state at all.
    pub fn none() -> Self {
        Endgame { table: Arc::new(HashMap::with_hasher(FixedState::default())), depth: 0 }
    }

    /// How many states are known.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The exact cost of a state, if it is known.
    #[inline]
    pub fn cost(&self, state: &S) -> Option<Cost> {
        self.table.get(state).map(|&cost| Cost::from(cost))
    }

    /// What any state costs at least that is not known.
    pub fn least_beyond(&self) -> Cost {
        if self.is_empty() { 1 } else { self.depth + 1 }
    }

    /// A cheapest way home from a state that is known.
    pub fn way_home(&self, apply: impl Fn(&S, Move) -> Option<S>, moves: usize, state: &S) -> Vec<Move> {
        let mut way = Vec::new();
        let mut state = *state;
        while let Some(cost @ 1..) = self.cost(&state) {
            let next = (0..moves as Move).find_map(|action| {
                let next = apply(&state, action)?;
                (self.cost(&next)? + 1 == cost).then_some((action, next))
            });
            let Some((action, next)) = next else { break };
            way.push(action);
            state = next;
        }
        way
    }
}
