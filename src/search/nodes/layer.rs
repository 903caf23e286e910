//! The states of a beam's layer, and what is known of each: a column a property.

use super::arena::NodeId;
use crate::heuristic::Estimates;
use crate::puzzle::{Cost, Move};
use crate::workers::in_ranges;

/// States that a thread takes at least.
const STATES: usize = 1 << 12;

/// The states of a layer, best first, or the children that may become one, in the order in which they were generated.
pub(in crate::search) struct Layer<S> {
    pub(in crate::search) states: Vec<S>,
    pub(in crate::search) hashes: Vec<u64>,
    pub(in crate::search) costs: Vec<Cost>,
    /// Whose child each is, in the layer before: none once the layer is chosen.
    pub(in crate::search) parents: Vec<NodeId>,
    /// The ranks whose those are; none where no other rank shares the search.
    pub(in crate::search) owners: Vec<u16>,
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
            hashes: Vec::new(),
            costs: Vec::new(),
            parents: Vec::new(),
            owners: Vec::new(),
            moves: Vec::new(),
            values: Vec::new(),
            priors: Vec::new(),
            ranks: Vec::new(),
            policy: Vec::new(),
        }
    }
}

impl<S: Copy> Layer<S> {
    /// How many states there are.
    pub(in crate::search) fn len(&self) -> usize {
        self.states.len()
    }

    /// What a state is chosen by: its value and what is added to it.
    pub(in crate::search) fn rank(&self, i: usize) -> f32 {
        self.values[i] + self.priors[i]
    }

    /// These states, in this order.
    pub(in crate::search) fn pick(&self, threads: usize, ids: &[NodeId]) -> Self
    where
        S: Send + Sync,
    {
        fn pick<T: Copy>(from: &[T], ids: &[NodeId]) -> Vec<T> {
            if from.is_empty() { Vec::new() } else { ids.iter().map(|&id| from[id as usize]).collect() }
        }
        let moves = self.policy.len() / self.states.len().max(1);
        let mut parts = in_ranges(threads, ids.len(), STATES, |range| {
            let ids = &ids[range];
            let mut policy = Vec::with_capacity(ids.len() * moves);
            ids.iter().for_each(|&id| policy.extend_from_slice(&self.policy[id as usize * moves..][..moves]));
            Layer {
                states: pick(&self.states, ids),
                hashes: pick(&self.hashes, ids),
                costs: pick(&self.costs, ids),
                parents: pick(&self.parents, ids),
                owners: pick(&self.owners, ids),
                moves: pick(&self.moves, ids),
                values: pick(&self.values, ids),
                priors: pick(&self.priors, ids),
                ranks: pick(&self.ranks, ids),
                policy,
            }
        });
        let mut whole = std::mem::take(&mut parts[0]); // there is one at least
        whole.append(&parts[1..]);
        whole
    }

    /// Adds the states of other layers.
    pub(in crate::search) fn append(&mut self, others: &[Self]) {
        fn join<S, T: Copy>(column: &mut Vec<T>, others: &[Layer<S>], of: fn(&Layer<S>) -> &[T]) {
            column.reserve(others.iter().map(|other| of(other).len()).sum());
            others.iter().for_each(|other| column.extend_from_slice(of(other)));
        }
        join(&mut self.states, others, |other| &other.states);
        join(&mut self.hashes, others, |other| &other.hashes);
        join(&mut self.costs, others, |other| &other.costs);
        join(&mut self.parents, others, |other| &other.parents);
        join(&mut self.owners, others, |other| &other.owners);
        join(&mut self.moves, others, |other| &other.moves);
        join(&mut self.values, others, |other| &other.values);
        join(&mut self.priors, others, |other| &other.priors);
        join(&mut self.ranks, others, |other| &other.ranks);
        join(&mut self.policy, others, |other| &other.policy);
    }

    /// Children of other layers, which have no estimates yet, by piece and number.
    pub(in crate::search) fn of_children<'a>(
        threads: usize,
        places: &[(u32, u32)],
        piece: impl Fn(u32) -> &'a Self + Sync,
    ) -> Vec<Self>
    where
        S: Send + Sync + 'a,
    {
        in_ranges(threads, places.len(), STATES, |range| {
            let places = &places[range];
            let mut part = Layer::default();
            part.reserve(places.len());
            places.iter().for_each(|&(at, i)| part.push_from(piece(at), i as usize));
            part
        })
    }

    /// Makes room for children.
    fn reserve(&mut self, count: usize) {
        self.states.reserve(count);
        self.hashes.reserve(count);
        self.costs.reserve(count);
        self.parents.reserve(count);
        self.moves.reserve(count);
        self.priors.reserve(count);
    }

    /// Adds a child of another layer's, which has no estimates yet.
    fn push_from(&mut self, other: &Self, i: usize) {
        self.states.push(other.states[i]);
        self.hashes.push(other.hashes[i]);
        self.costs.push(other.costs[i]);
        self.parents.push(other.parents[i]);
        self.owners.extend(other.owners.get(i));
        self.moves.push(other.moves[i]);
        self.priors.push(other.priors[i]);
    }

    /// Drops all children, which have no estimates yet, but the first `count`.
    pub(in crate::search) fn truncate(&mut self, count: usize) {
        self.states.truncate(count);
        self.hashes.truncate(count);
        self.costs.truncate(count);
        self.parents.truncate(count);
        self.owners.truncate(count);
        self.moves.truncate(count);
        self.priors.truncate(count);
    }

    pub(in crate::search) fn take_in(&mut self, estimates: Estimates) {
        self.values.extend(estimates.values);
        if let Some(policy) = estimates.policy {
            self.policy.extend_from_slice(policy.as_standard_layout().as_slice().unwrap_or_default());
        }
    }

    pub(in crate::search) fn bytes(&self) -> u64 {
        let numbers = self.values.capacity() + self.priors.capacity() + self.ranks.capacity() + self.policy.capacity();
        let each = size_of::<S>() + 17 + if self.owners.is_empty() { 0 } else { 2 };
        (self.states.capacity() * each + 4 * numbers) as u64
    }
}
