//! The children of a layer: made, freed of duplicates, and looked up in the perimeter, all by ranges on all cores.
//!
//! Children are taken in one order, which depends neither on the number of threads nor on that of ranks: that of their
//! parents (by rank, and of equal rank, by hash), and of one parent's, that of the moves. Of several with the same state,
//! the first counts.

use super::cut::Key;
use super::{Place, Run, Shortlist};
use crate::heuristic::HeuristicError;
use crate::puzzle::{Cost, Move, Puzzle, State, StateBytes};
use crate::search::nodes::arena::NodeId;
use crate::search::nodes::closed::{SHARDS, shard_of};
use crate::search::nodes::layer::Layer;
use crate::search::nodes::table::Table;
use crate::workers::{in_shards, on_each, ranges};
use std::hash::BuildHasher as _;
use std::ops::Range;

/// Parents that a thread takes at least.
const PARENTS: usize = 256;

/// Children that a thread takes at least.
const CHILDREN: usize = 1 << 11;

/// Children that were made together.
pub(super) struct Made<S> {
    pub(super) children: Layer<S>,
    /// The places in the order of children, where they are not made in it.
    pub(super) order: Vec<Key>,
    /// Which of them are goals.
    goals: Vec<usize>,
}

impl<S> Default for Made<S> {
    fn default() -> Self {
        Made { children: Layer::default(), order: Vec::new(), goals: Vec::new() }
    }
}

impl<S: Copy> Made<S> {
    /// Drops all children; their room stays.
    fn clear(&mut self) {
        self.children.clear();
        self.order.clear();
        self.goals.clear();
    }

    /// Brings the children into their order.
    pub(super) fn sort(&mut self, threads: usize)
    where
        S: Send + Sync,
    {
        let mut ids: Vec<NodeId> = (0..self.children.len() as NodeId).collect();
        // Stable, and so soon done where sorted parts were put together.
        ids.sort_by_key(|&id| (self.order[id as usize], self.children.moves[id as usize]));
        self.children = self.children.pick(threads, &ids);
        self.order = ids.iter().map(|&id| self.order[id as usize]).collect();
    }
}

/// A child that is a goal or in the perimeter.
pub(super) struct Found<S> {
    /// The cost of the solution by way of it.
    pub(super) cost: Cost,
    pub(super) parent: Place,
    /// Its place in the order of children.
    pub(super) order: (Key, Move),
    pub(super) state: S,
}

impl<P: Puzzle> Run<'_, P> {
    /// The children of some states of the layer that are on the shortlist, in the room of others that were made before.
    pub(super) fn make(
        &self,
        parents: Range<usize>,
        shortlist: &Shortlist,
        mut room: Vec<Made<P::State>>,
    ) -> Vec<Made<P::State>> {
        let (puzzle, layer) = (self.puzzle, &self.layer);
        let each = self.children_each(shortlist);
        let ranges = ranges(self.threads, parents.len(), PARENTS);
        room.resize_with(ranges.len(), Made::default);
        on_each(self.threads, ranges.into_iter().zip(room).collect(), |(range, mut made)| {
            made.clear();
            let Made { children, order, goals } = &mut made;
            children.reserve(range.len() * each);
            for parent in range.start + parents.start..range.end + parents.start {
                let state = &layer.states[parent];
                for action in 0..puzzle.move_count() as Move {
                    if !shortlist.has(layer, parent, action) {
                        continue;
                    }
                    let Some(child) = puzzle.apply(state, action) else { continue };
                    if puzzle.is_goal(&child) {
                        goals.push(children.len());
                    }
                    children.states.push(child);
                    children.hashes.push(self.hasher.hash_one(child));
                    children.costs.push(layer.costs[parent] + puzzle.move_cost(state, action));
                    children.parents.push(parent as NodeId);
                    children.moves.push(action);
                    let prior = shortlist.prior(parent, action).unwrap_or(0.0);
                    children.priors.push(super::PRIOR_WEIGHT * prior + super::PATH_WEIGHT * layer.ranks[parent]);
                    if !self.exchange.is_alone() {
                        order.push(self.key(parent));
                    }
                }
            }
            made
        })
    }

    /// About how many children of a parent are on the shortlist.
    pub(super) fn children_each(&self, shortlist: &Shortlist) -> usize {
        let moves = self.puzzle.move_count();
        if shortlist.last.is_some() { self.settings.candidates.clamp(1, moves) } else { moves }
    }

    /// The place of a state of the layer in the order of all.
    pub(super) fn key(&self, i: usize) -> Key {
        Key::new(self.layer.ranks[i], self.layer.hashes[i])
    }

    /// Takes the goals among the children that were just made from this rank's layer.
    pub(super) fn take_goals(&mut self, made: &[Made<P::State>]) {
        for Made { children, goals, .. } in made {
            for &i in goals.iter().take_while(|&&i| i < children.len()) {
                let parent = Place { rank: self.exchange.rank() as u16, id: children.parents[i] };
                let order = (self.key(parent.id as usize), children.moves[i]);
                self.take_found(Found { cost: children.costs[i], parent, order, state: children.states[i] });
            }
        }
    }

    /// Takes a child that ends the layers, if it is the cheapest so far; of equals, the first.
    fn take_found(&mut self, found: Found<P::State>) {
        if self.found.as_ref().is_none_or(|best| (found.cost, found.order) < (best.cost, best.order)) {
            self.found = Some(found);
        }
    }

    /// Sends the children to the ranks that their states belong to; gives those that belong to this one.
    pub(super) fn exchanged(&self, made: Vec<Made<P::State>>) -> Result<Vec<Made<P::State>>, HeuristicError> {
        if self.exchange.is_alone() {
            return Ok(made);
        }
        let bytes = self.state_bytes()?;
        let mut to = vec![Vec::new(); self.exchange.size()];
        for Made { children, order, .. } in &made {
            for (i, &hash) in children.hashes.iter().enumerate() {
                write(children, i, order[i], &bytes, &mut to[self.exchange.owner(hash)]);
            }
        }
        drop(made);
        let mut arrived = Made::default();
        for (rank, from) in self.exchange.all_to_all(to)?.into_iter().enumerate() {
            for record in from.chunks_exact(RECORD + bytes.size) {
                read(record, &bytes, &mut arrived);
                arrived.children.owners.push(rank as u16);
            }
        }
        let hash = |state| self.hasher.hash_one(state);
        arrived.children.hashes = arrived.children.states.iter().map(hash).collect();
        arrived.sort(self.threads);
        Ok(vec![arrived])
    }

    /// Looks up children in the perimeter.
    pub(super) fn look_up(&mut self, made: &[Made<P::State>], fresh: &[(u32, u32)]) {
        let (puzzle, perimeter) = (self.puzzle, &self.settings.perimeter);
        let state = |i: usize| {
            let (piece, i) = fresh[i];
            &made[piece as usize].children.states[i as usize]
        };
        for (i, rest) in perimeter.costs(puzzle, self.threads, fresh.len(), state) {
            let (piece, i) = fresh[i];
            let (Made { children, order, .. }, i) = (&made[piece as usize], i as usize);
            let (rank, id) = (children.owners.get(i).copied().unwrap_or(0), children.parents[i]);
            let order = order.get(i).copied().unwrap_or_else(|| self.key(id as usize));
            self.take_found(Found {
                cost: children.costs[i] + rest,
                parent: Place { rank, id },
                order: (order, children.moves[i]),
                state: children.states[i],
            });
        }
    }
}

/// The bytes of a child that travels, beside those of its state.
const RECORD: usize = 12 + 1 + 4 + 4 + 4;

fn write<S>(children: &Layer<S>, i: usize, order: Key, bytes: &StateBytes<S>, to: &mut Vec<u8>) {
    let start = to.len();
    to.extend_from_slice(&order.to_bytes());
    to.push(children.moves[i]);
    to.extend_from_slice(&children.parents[i].to_le_bytes());
    to.extend_from_slice(&children.costs[i].to_le_bytes());
    to.extend_from_slice(&children.priors[i].to_le_bytes());
    (bytes.write)(&children.states[i], to);
    debug_assert_eq!(to.len() - start, RECORD + bytes.size);
}

fn read<S>(record: &[u8], bytes: &StateBytes<S>, to: &mut Made<S>) {
    let word = |at: usize| [record[at], record[at + 1], record[at + 2], record[at + 3]];
    to.order.push(Key::from_bytes(&record[..12]));
    to.children.moves.push(record[12]);
    to.children.parents.push(u32::from_le_bytes(word(13)));
    to.children.costs.push(u32::from_le_bytes(word(17)));
    to.children.priors.push(f32::from_le_bytes(word(21)));
    to.children.states.push((bytes.read)(&record[RECORD..]));
}

/// Hashes of all states that were evaluated, in shards: a thread has some of them, and one grows at a time.
pub(super) struct Evaluated {
    shards: Vec<Table>,
}

impl Default for Evaluated {
    fn default() -> Self {
        Evaluated { shards: (0..SHARDS).map(|_| Table::default()).collect() }
    }
}

impl Evaluated {
    /// Whether a state is new; it is not any more.
    pub(super) fn insert(&mut self, hash: u64) -> bool {
        self.shards[shard_of(hash)].insert_hash(hash)
    }

    /// The children whose states are new, by piece and number, in order; they are not new any more.
    pub(super) fn insert_all<S: State>(&mut self, threads: usize, made: &[Made<S>]) -> Vec<(u32, u32)> {
        let count: usize = made.iter().map(|piece| piece.children.len()).sum();
        let threads = (count / CHILDREN).clamp(1, threads.max(1));
        // Of each run of shards, for each piece, a bit a child.
        let new: Vec<Vec<Vec<u64>>> = in_shards(threads, &mut self.shards, |first, shards| {
            made.iter().map(|piece| insert_own(first, shards, &piece.children.hashes)).collect()
        });
        let fresh = |piece: usize| {
            let words = (0..made[piece].children.len().div_ceil(AT_ONCE))
                .map(|at| new.iter().fold(0, |all, new| all | new[piece][at]));
            let bits = (0..).step_by(AT_ONCE).zip(words).flat_map(|(first, word)| bits(word).map(move |i| first + i));
            bits.map(|i| (piece as u32, i)).collect::<Vec<_>>()
        };
        on_each(threads, (0..made.len()).collect(), fresh).concat()
    }

    pub(super) fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len() as u64).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes() as u64).sum()
    }
}

/// Hashes whose lines are loaded while those before are added: as many as a word has bits.
const AT_ONCE: usize = u64::BITS as usize;

/// Adds the hashes that belong to some shards, of which the first has this number; a bit for each hash, whether it is new.
fn insert_own(first: usize, shards: &mut [Table], hashes: &[u64]) -> Vec<u64> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn with_avx2(first: usize, shards: &mut [Table], hashes: &[u64]) -> Vec<u64> {
            insert_own_by_any(first, shards, hashes)
        }
        // SAFETY: the processor has it.
        return unsafe { with_avx2(first, shards, hashes) };
    }
    insert_own_by_any(first, shards, hashes)
}

/// The same, compiled for the processor of the function that it becomes part of: with plain loops, which do so too.
#[inline(always)]
fn insert_own_by_any(first: usize, shards: &mut [Table], hashes: &[u64]) -> Vec<u64> {
    let mut blocks = hashes.chunks(AT_ONCE);
    let mut new = Vec::with_capacity(blocks.len());
    let mut block = blocks.next().unwrap_or_default();
    let mut own = own_of(first, shards, block);
    while !block.is_empty() {
        let next = blocks.next().unwrap_or_default();
        let own_next = own_of(first, shards, next);
        let mut bits = 0;
        while own != 0 {
            let hash = block[own.trailing_zeros() as usize];
            let is_new = shards[shard_of(hash) - first].insert_hash(hash);
            bits |= u64::from(is_new) << own.trailing_zeros();
            own &= own - 1;
        }
        new.push(bits);
        (block, own) = (next, own_next);
    }
    new
}

/// Which of at most [`AT_ONCE`] hashes belong to some shards, of which the first has this number; has their lines loaded.
#[inline(always)]
fn own_of(first: usize, shards: &[Table], hashes: &[u64]) -> u64 {
    let mut own = 0;
    for (i, &hash) in hashes.iter().enumerate() {
        own |= u64::from(shard_of(hash).wrapping_sub(first) < shards.len()) << i;
    }
    let mut left = own;
    while left != 0 {
        let hash = hashes[left.trailing_zeros() as usize];
        shards[shard_of(hash) - first].prefetch(hash);
        left &= left - 1;
    }
    own
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit)
    })
}
