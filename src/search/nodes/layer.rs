//! The states of a beam's layer, and what is known of each: a column a property.

use super::arena::NodeId;
use crate::heuristic::Estimates;
use crate::puzzle::{Cost, Move};

/// The states of a layer, best first, or the children that may become one, in the order in which they were generated.
pub(in crate::search) struct Layer<S> {
    pub(in crate::search) states: Vec<S>,
    pub(in crate::search) costs: Vec<Cost>,
    pub(in crate::search) parents: Vec<NodeId>,
    pub(in crate::search) moves: Vec<Move>,
    pub(in crate::search) values: Vec<f32>,
    /// What is added to each value for its rank; none once the layer is chosen.
    pub(in crate::search) priors: Vec<f32>,
    /// The rank that each was chosen by; none before.
    pub(in crate::search) ranks: Vec<f32>,
    /// The move probabilities, as many a state as there are moves, or none.
    pub(in crate::search) policy: Vec<f32>,
}

impl<S> Default for Layer<S> {
    fn default() -> Self {
        Layer {
            states: Vec::new(),
            costs: Vec::new(),
            parents: Vec::new(),
            moves: Vec::new(),
            values: Vec::new(),
            priors: Vec::new(),
            ranks: Vec::new(),
            policy: Vec::new(),
        }
    }
}

impl<S: Copy> Layer<S> {
    /// The most promising, best first; of equals, those that were generated first.
    pub(in crate::search) fn best(&self, count: usize) -> Vec<NodeId> {
        let order = |a: &NodeId, b: &NodeId| self.rank(*a).total_cmp(&self.rank(*b)).then(a.cmp(b));
        let mut best: Vec<NodeId> = (0..self.states.len() as NodeId).collect();
        if best.len() > count {
            best.select_nth_unstable_by(count, order);
            best.truncate(count);
        }
        best.sort_unstable_by(order);
        best
    }

    fn rank(&self, id: NodeId) -> f32 {
        self.values[id as usize] + self.priors[id as usize]
    }

    /// These states, in this order, and their ranks.
    pub(in crate::search) fn pick(&self, ids: &[NodeId]) -> Self {
        fn pick<T: Copy>(from: &[T], ids: &[NodeId]) -> Vec<T> {
            ids.iter().map(|&id| from[id as usize]).collect()
        }
        let moves = self.policy.len() / self.states.len().max(1);
        let policy_of = |&id: &NodeId| &self.policy[id as usize * moves..][..moves];
        Layer {
            states: pick(&self.states, ids),
            costs: pick(&self.costs, ids),
            parents: pick(&self.parents, ids),
            moves: pick(&self.moves, ids),
            values: pick(&self.values, ids),
            priors: pick(&self.priors, ids),
            ranks: ids.iter().map(|&id| self.rank(id)).collect(),
            policy: ids.iter().flat_map(policy_of).copied().collect(),
        }
    }

    pub(in crate::search) fn take_in(&mut self, estimates: Estimates) {
        self.values.extend(estimates.values);
        self.policy.extend(estimates.policy.into_iter().flatten());
    }

    pub(in crate::search) fn bytes(&self) -> u64 {
        let numbers = self.values.capacity() + self.priors.capacity() + self.ranks.capacity() + self.policy.capacity();
        (self.states.capacity() * (size_of::<S>() + 9) + 4 * numbers) as u64
    }
}
