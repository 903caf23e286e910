//! A beam's layer: its states and what is known of each, a column a property.

use super::cut::Key;
use super::ranks::StateId;
use crate::heuristic::Estimates;
use crate::puzzle::{Cost, Move};
use crate::search::nodes::NodeId;
use crate::workers::{GRAIN, extend, extend_parts, extend_rows};

/// The states of a layer, best first; or the children that may become one, in the order of generation.
pub(super) struct BeamLayer<S> {
    pub(super) states: Vec<S>,
    pub(super) hashes: Vec<u64>,
    /// Path costs.
    pub(super) costs: Vec<Cost>,
    /// Parent of each child in the layer before; empty once the layer is chosen.
    pub(super) parents: Vec<NodeId>,
    /// Process (rank) that owns each parent; empty if no other rank shares the search.
    pub(super) owners: Vec<u16>,
    pub(super) moves: Vec<Move>,
    /// Estimated costs-to-go.
    pub(super) values: Vec<f32>,
    /// Added to each value for its score; empty once the layer is chosen.
    pub(super) priors: Vec<f32>,
    /// The scores by which the layer was chosen; empty before.
    pub(super) scores: Vec<f32>,
    /// The move probabilities, a row a state; or empty.
    pub(super) policy: Vec<f32>,
    /// The first part of each child's place in the order: the key of its parent, or in a refinement its own candidate key. Empty
    /// if the children are generated in order, and once the layer is chosen.
    pub(super) order: Vec<Key>,
    /// The indices of the goals among children that one thread has generated.
    pub(super) goals: Vec<usize>,
}

impl<S> Default for BeamLayer<S> {
    fn default() -> Self {
        BeamLayer {
            states: Vec::new(),
            hashes: Vec::new(),
            costs: Vec::new(),
            parents: Vec::new(),
            owners: Vec::new(),
            moves: Vec::new(),
            values: Vec::new(),
            priors: Vec::new(),
            scores: Vec::new(),
            policy: Vec::new(),
            order: Vec::new(),
            goals: Vec::new(),
        }
    }
}

impl<S: Copy> BeamLayer<S> {
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// The place of a scored state in the order of all ranks' states.
    pub(super) fn key(&self, i: usize) -> Key {
        Key::new(self.scores[i], self.hashes[i])
    }

    /// The parent of a child.
    pub(super) fn parent(&self, i: usize) -> StateId {
        StateId::of_parent(&self.owners, &self.parents, i)
    }

    /// The place of a child in the order of children.
    pub(super) fn place(&self, i: usize) -> (Key, Move) {
        (self.order[i], self.moves[i])
    }

    /// The children in their order, without the marks of goals.
    pub(super) fn sorted(self) -> Self {
        let mut ids: Vec<(usize, usize)> = (0..self.len()).map(|i| (0, i)).collect();
        ids.sort_unstable_by_key(|&(_, i)| self.place(i));
        BeamLayer::collected(&ids, |_| &self)
    }

    /// These states, in this order, without priors.
    pub(super) fn pick(&self, threads: usize, ids: &[NodeId]) -> Self
    where
        S: Send + Sync,
    {
        let mut picked = BeamLayer::default();
        macro_rules! pick {
            ($($column:ident)*) => {
                $(
                    let count = if self.$column.is_empty() { 0 } else { ids.len() };
                    extend(threads, &mut picked.$column, count, GRAIN, |i| self.$column[ids[i] as usize]);
                )*
            };
        }
        pick!(states hashes costs parents owners moves values scores);
        let moves = self.policy.len() / self.states.len().max(1);
        let row = |i: usize| &self.policy[ids[i] as usize * moves..][..moves];
        extend_rows(threads, &mut picked.policy, (ids.len(), moves), GRAIN, row);
        picked
    }

    /// Children of other layers, without estimates; `ids` are pairs of a layer and an index in it.
    pub(super) fn collected<'a>(ids: &[(usize, usize)], layer: impl Fn(usize) -> &'a Self) -> Self
    where
        S: 'a,
    {
        let mut collected = BeamLayer::default();
        macro_rules! collect {
            ($($column:ident)*) => {
                $(if ids.first().is_some_and(|&(from, _)| !layer(from).$column.is_empty()) {
                    collected.$column = ids.iter().map(|&(from, i)| layer(from).$column[i]).collect();
                })*
            };
        }
        collect!(states hashes costs parents owners moves priors order);
        collected
    }

    /// Adds children of other layers, without estimates; each layer comes with the indices of its children to add.
    pub(super) fn add_children(&mut self, threads: usize, pieces: &[(&Self, &[u32])])
    where
        S: Send + Sync,
    {
        let lengths: Vec<usize> = pieces.iter().map(|(_, indices)| indices.len()).collect();
        let threads = threads.min(lengths.iter().sum::<usize>() / GRAIN);
        macro_rules! add {
            ($($column:ident)*) => {
                $(extend_parts(threads, &mut self.$column, &lengths, |piece, i| {
                    let (piece, indices) = pieces[piece];
                    piece.$column[indices[i] as usize]
                });)*
            };
        }
        add!(states hashes costs parents moves priors);
        if pieces.iter().any(|(piece, _)| !piece.owners.is_empty()) {
            add!(owners);
        }
    }

    /// Drops all states, and reserves memory for `count` children.
    pub(super) fn reset(&mut self, count: usize) {
        reset(&mut self.states, count);
        reset(&mut self.hashes, count);
        reset(&mut self.costs, count);
        reset(&mut self.parents, count);
        reset(&mut self.moves, count);
        reset(&mut self.priors, count);
        self.owners.clear();
        self.scores.clear();
        self.order.clear();
        self.goals.clear();
    }

    /// The same, with memory for their estimates, of which `moves` are move probabilities.
    pub(super) fn reset_with_estimates(&mut self, count: usize, moves: usize) {
        self.reset(count);
        reset(&mut self.values, count);
        reset(&mut self.policy, count * moves);
    }

    /// The memory that [`BeamLayer::reset_with_estimates`] needs, in bytes.
    pub(super) fn bytes_for(count: usize, moves: usize) -> u64 {
        (count * (size_of::<S>() + 17 + 4 * (2 + moves))) as u64
    }

    /// Drops all children, which have no estimates yet, but the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        self.states.truncate(count);
        self.hashes.truncate(count);
        self.costs.truncate(count);
        self.parents.truncate(count);
        self.owners.truncate(count);
        self.moves.truncate(count);
        self.priors.truncate(count);
        self.order.truncate(count);
        self.goals.retain(|&i| i < count);
    }

    /// Appends the estimates of the next states.
    pub(super) fn add_estimates(&mut self, threads: usize, estimates: Estimates) {
        extend(threads, &mut self.values, estimates.values.len(), GRAIN, |i| estimates.values[i]);
        if let Some(policy) = estimates.policy {
            let policy = policy.as_standard_layout();
            let row = |i: usize| policy.row(i).to_slice().expect("rows in standard layout are slices");
            extend_rows(threads, &mut self.policy, policy.dim(), GRAIN, row);
        }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let numbers = self.values.capacity() + self.priors.capacity() + self.scores.capacity() + self.policy.capacity();
        let each = size_of::<S>() + 17 + if self.owners.is_empty() { 0 } else { 2 };
        (self.states.capacity() * each + 4 * numbers) as u64
    }
}

/// Empties a column and reserves memory. Growing one would copy, so a column that is too small is freed first.
fn reset<T>(column: &mut Vec<T>, count: usize) {
    column.clear();
    if column.capacity() < count {
        *column = Vec::new();
        column.reserve_exact(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_layer_is_known_before_it_is_taken() {
        let mut layer = BeamLayer::<[u64; 3]>::default();
        layer.reset_with_estimates(1000, 7);
        assert_eq!(layer.bytes(), BeamLayer::<[u64; 3]>::bytes_for(1000, 7));
    }
}
