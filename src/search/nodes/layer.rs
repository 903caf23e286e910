//! The states of a beam's layer, and what is known of each: a column a property.

use super::arena::NodeId;
use crate::heuristic::Estimates;
use crate::puzzle::{Cost, Move};
use crate::workers::{extend, extend_parts, extend_rows};

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
        fn pick<T: Copy + Send + Sync>(threads: usize, from: &[T], ids: &[NodeId]) -> Vec<T> {
            let (mut picked, count) = (Vec::new(), if from.is_empty() { 0 } else { ids.len() });
            extend(threads, &mut picked, count, STATES, |i| from[ids[i] as usize]);
            picked
        }
        let moves = self.policy.len() / self.states.len().max(1);
        let mut policy = Vec::new();
        let row = |i: usize| &self.policy[ids[i] as usize * moves..][..moves];
        extend_rows(threads, &mut policy, (ids.len(), moves), STATES, row);
        Layer {
            states: pick(threads, &self.states, ids),
            hashes: pick(threads, &self.hashes, ids),
            costs: pick(threads, &self.costs, ids),
            parents: pick(threads, &self.parents, ids),
            owners: pick(threads, &self.owners, ids),
            moves: pick(threads, &self.moves, ids),
            values: pick(threads, &self.values, ids),
            priors: pick(threads, &self.priors, ids),
            ranks: pick(threads, &self.ranks, ids),
            policy,
        }
    }

    /// Children of other layers, which have no estimates yet: the layer and the number there of each.
    pub(in crate::search) fn collected<'a>(ids: &[(usize, usize)], layer: impl Fn(usize) -> &'a Self) -> Self
    where
        S: 'a,
    {
        macro_rules! column {
            ($column:ident) => {
                ids.iter().map(|&(of, i)| layer(of).$column[i]).collect()
            };
        }
        let has_owners = ids.first().is_some_and(|&(of, _)| !layer(of).owners.is_empty());
        Layer {
            states: column!(states),
            hashes: column!(hashes),
            costs: column!(costs),
            parents: column!(parents),
            moves: column!(moves),
            priors: column!(priors),
            owners: if has_owners { column!(owners) } else { Vec::new() },
            ..Layer::default()
        }
    }

    /// Adds children of other layers, which have no estimates yet: of each, those of these numbers.
    pub(in crate::search) fn add_children(&mut self, threads: usize, pieces: &[(&Self, &[u32])])
    where
        S: Send + Sync,
    {
        let lengths: Vec<usize> = pieces.iter().map(|(_, numbers)| numbers.len()).collect();
        let threads = threads.min(lengths.iter().sum::<usize>() / STATES);
        macro_rules! add {
            ($($column:ident)*) => {
                $(extend_parts(threads, &mut self.$column, &lengths, |piece, i| {
                    let (piece, numbers) = pieces[piece];
                    piece.$column[numbers[i] as usize]
                });)*
            };
        }
        add!(states hashes costs parents moves priors);
        if pieces.iter().any(|(piece, _)| !piece.owners.is_empty()) {
            add!(owners);
        }
    }

    /// Drops all states, and makes room for so many children.
    pub(in crate::search) fn make_room(&mut self, count: usize) {
        self.clear();
        make_room(&mut self.states, count);
        make_room(&mut self.hashes, count);
        make_room(&mut self.costs, count);
        make_room(&mut self.parents, count);
        make_room(&mut self.moves, count);
        make_room(&mut self.priors, count);
    }

    /// Drops all states, and makes room for so many children and their estimates, of which so many are move probabilities each.
    pub(in crate::search) fn make_room_with_estimates(&mut self, count: usize, policy: usize) {
        self.make_room(count);
        make_room(&mut self.values, count);
        make_room(&mut self.policy, count * policy);
    }

    /// Drops all states; their room stays.
    pub(in crate::search) fn clear(&mut self) {
        self.truncate(0);
        self.values.clear();
        self.ranks.clear();
        self.policy.clear();
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

    pub(in crate::search) fn take_in(&mut self, threads: usize, estimates: Estimates) {
        extend(threads, &mut self.values, estimates.values.len(), STATES, |i| estimates.values[i]);
        if let Some(policy) = estimates.policy {
            let policy = policy.as_standard_layout();
            let row = |i: usize| policy.row(i).to_slice().expect("rows in standard layout are slices");
            extend_rows(threads, &mut self.policy, policy.dim(), STATES, row);
        }
    }

    pub(in crate::search) fn bytes(&self) -> u64 {
        let numbers = self.values.capacity() + self.priors.capacity() + self.ranks.capacity() + self.policy.capacity();
        let each = size_of::<S>() + 17 + if self.owners.is_empty() { 0 } else { 2 };
        (self.states.capacity() * each + 4 * numbers) as u64
    }
}

/// Makes room in an empty vector: nothing is copied, as it is where one grows.
fn make_room<T>(empty: &mut Vec<T>, count: usize) {
    debug_assert!(empty.is_empty());
    if empty.capacity() < count {
        *empty = Vec::new(); // what is there goes first
        empty.reserve_exact(count);
    }
}
