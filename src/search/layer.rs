//! The states of a beam's layer, and what is known of each: a column a property.

use super::arena::NodeId;
use crate::heuristic::Estimates;
use crate::puzzle::{Cost, Move};

/// The states of a layer, best first, or the children that may become one, in the order in which they were made.
pub(super) struct Layer<S> {
    pub(super) states: Vec<S>,
    pub(super) costs: Vec<Cost>,
    pub(super) parents: Vec<NodeId>,
    pub(super) moves: Vec<Move>,
    pub(super) values: Vec<f32>,
    /// What the parent's word adds to each value; none without a shortlist, or once the layer is chosen.
    pub(super) hints: Vec<f32>,
    /// As many a state as there are moves, or none.
    pub(super) preferences: Vec<f32>,
}

impl<S> Default for Layer<S> {
    fn default() -> Self {
        Layer {
            states: Vec::new(),
            costs: Vec::new(),
            parents: Vec::new(),
            moves: Vec::new(),
            values: Vec::new(),
            hints: Vec::new(),
            preferences: Vec::new(),
        }
    }
}

impl<S: Copy> Layer<S> {
    /// The most promising, best first; of equals, those that were made first.
    pub(super) fn best(&self, count: usize) -> Vec<NodeId> {
        let promise = |id: NodeId| self.values[id as usize] + self.hints.get(id as usize).unwrap_or(&0.0);
        let order = |a: &NodeId, b: &NodeId| promise(*a).total_cmp(&promise(*b)).then(a.cmp(b));
        let mut best: Vec<NodeId> = (0..self.states.len() as NodeId).collect();
        if best.len() > count {
            best.select_nth_unstable_by(count, order);
            best.truncate(count);
        }
        best.sort_unstable_by(order);
        best
    }

    /// These states, in this order.
    pub(super) fn pick(&self, ids: &[NodeId]) -> Self {
        fn pick<T: Copy>(from: &[T], ids: &[NodeId]) -> Vec<T> {
            ids.iter().map(|&id| from[id as usize]).collect()
        }
        let moves = self.preferences.len() / self.states.len().max(1);
        let preferences = |&id: &NodeId| &self.preferences[id as usize * moves..][..moves];
        Layer {
            states: pick(&self.states, ids),
            costs: pick(&self.costs, ids),
            parents: pick(&self.parents, ids),
            moves: pick(&self.moves, ids),
            values: pick(&self.values, ids),
            hints: if self.hints.is_empty() { Vec::new() } else { pick(&self.hints, ids) },
            preferences: ids.iter().flat_map(preferences).copied().collect(),
        }
    }

    pub(super) fn take_in(&mut self, estimates: Estimates) {
        self.values.extend(estimates.values);
        self.preferences.extend(estimates.preferences.into_iter().flatten());
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.states.capacity() * (size_of::<S>() + 13) + 4 * (self.hints.capacity() + self.preferences.capacity()))
            as u64
    }
}
