//! The [`children`] of a layer, and which of them are answers.
//!
//! Children are taken in one order, which depends neither on the number of threads nor on that of ranks: that of their
//! parents (by rank, and of equal rank, by hash), and of one parent's, that of the moves. Of several with the same state,
//! the first counts.

use super::cut::Key;
use super::{Place, Run, Shortlist};
use crate::heuristic::HeuristicError;
use crate::puzzle::{Cost, Move, Puzzle, StateBytes};
use crate::search::children::{self, Parent, in_pieces};
use crate::search::nodes::arena::NodeId;
use crate::search::nodes::layer::Layer;
use crate::workers::on_each;
use std::hash::BuildHasher as _;
use std::ops::Range;

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

    /// Whose child one is, among those of all ranks.
    pub(super) fn parent(&self, i: usize) -> Place {
        Place { rank: self.children.owners.get(i).copied().unwrap_or(0), id: self.children.parents[i] }
    }

    /// The children in their order, in pieces.
    pub(super) fn sorted(self, threads: usize) -> Vec<Self>
    where
        S: Send + Sync,
    {
        let mut ids: Vec<NodeId> = (0..self.children.len() as NodeId).collect();
        // Stable, and so soon done where sorted parts were put together.
        ids.sort_by_key(|&id| (self.order[id as usize], self.children.moves[id as usize]));
        in_pieces(threads, 0..ids.len(), 1, Vec::new(), |range, piece: &mut Self| {
            let ids = &ids[range];
            piece.children = self.children.pick(1, ids);
            piece.order = ids.iter().map(|&id| self.order[id as usize]).collect();
        })
    }
}

/// The hashes of children, piece by piece.
pub(super) fn hashes<S>(made: &[Made<S>]) -> Vec<&[u64]> {
    made.iter().map(|piece| piece.children.hashes.as_slice()).collect()
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
        room: Vec<Made<P::State>>,
    ) -> Vec<Made<P::State>> {
        let (puzzle, layer) = (self.puzzle, &self.layer);
        let each = self.children_each(shortlist);
        in_pieces(self.threads, parents, each, room, |range, made| {
            made.clear();
            let Made { children, order, goals } = made;
            children.reserve(range.len() * each);
            for i in range {
                let parent = Parent { id: i as NodeId, state: &layer.states[i], cost: layer.costs[i] };
                let moves = (0..puzzle.move_count() as Move).filter(|&action| shortlist.has(layer, i, action));
                children::make(puzzle, &self.hasher, parent, moves, None, |child| {
                    if puzzle.is_goal(&child.state) {
                        goals.push(children.len());
                    }
                    let prior = shortlist.prior(i, child.action).unwrap_or(0.0);
                    children.priors.push(super::PRIOR_WEIGHT * prior + super::PATH_WEIGHT * layer.ranks[i]);
                    children.states.push(child.state);
                    children.hashes.push(child.hash);
                    children.costs.push(child.cost);
                    children.parents.push(child.parent);
                    children.moves.push(child.action);
                    if !self.exchange.is_alone() {
                        order.push(self.key(i));
                    }
                });
            }
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
        Ok(arrived.sorted(self.threads))
    }

    /// Looks up children in the perimeter.
    pub(super) fn look_up(&mut self, made: &[Made<P::State>], fresh: &[Vec<u32>]) {
        let (puzzle, perimeter) = (self.puzzle, &self.settings.perimeter);
        if perimeter.is_empty() {
            return;
        }
        let known = on_each(self.threads, made.iter().zip(fresh).collect(), |(made, fresh)| {
            let known = perimeter.costs(puzzle, fresh.len(), |i| &made.children.states[fresh[i] as usize]);
            known.into_iter().map(|(i, rest)| (made, fresh[i] as usize, rest)).collect::<Vec<_>>()
        });
        for (made @ Made { children, order, .. }, i, rest) in known.into_iter().flatten() {
            let parent = made.parent(i);
            let order = order.get(i).copied().unwrap_or_else(|| self.key(parent.id as usize));
            self.take_found(Found {
                cost: children.costs[i] + rest,
                parent,
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
