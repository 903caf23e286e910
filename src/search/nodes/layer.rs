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
    /// What the policy prior adds to each value; none without candidates, or once the layer is chosen.
    pub(in crate::search) priors: Vec<f32>,
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
            policy: Vec::new(),
        }
    }
}

impl<S: Copy> Layer<S> {
    /// The most promising, best first; of equals, those that were generated first.
    pub(in crate::search) fn best(&self, count: usize) -> Vec<NodeId> {
        let promise = |id: NodeId| self.values[id as usize] + self.priors.get(id as usize).unwrap_or(&0.0);
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
            priors: if self.priors.is_empty() { Vec::new() } else { pick(&self.priors, ids) },
            policy: ids.iter().flat_map(policy_of).copied().collect(),
        }
    }

    pub(in crate::search) fn take_in(&mut self, estimates: Estimates) {
        self.values.extend(estimates.values);
        self.policy.extend(estimates.policy.into_iter().flatten());
    }

    pub(in crate::search) fn bytes(&self) -> u64 {
        (self.states.capacity() * (size_of::<S>() + 13) + 4 * (self.priors.capacity() + self.policy.capacity())) as u64
    }
}
