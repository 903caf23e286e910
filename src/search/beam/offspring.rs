//! The [`children`] of a layer, and which of them are answers.
//!
//! Children are taken in one order, which depends neither on the number of threads nor on that of ranks: that of their
//! parents (by rank, and of equal rank, by hash), and of one parent's, that of the moves. Of several with the same state,
//! the first counts.

use super::cut::{Key, first_after};
use super::{Place, Run, Shortlist};
use crate::puzzle::{Cost, Move, Puzzle};
use crate::search::children::{self, Child, Parent, in_pieces};
use crate::search::nodes::arena::NodeId;
use crate::search::nodes::layer::Layer;
use crate::workers::{on_each, parts};
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
    /// Drops all children, and makes room for so many.
    fn make_room(&mut self, count: usize) {
        self.children.make_room(count);
        self.order.clear();
        self.goals.clear();
    }

    /// Adds a child, with its prior.
    #[inline(always)]
    pub(super) fn push(&mut self, child: Child<S>, prior: f32) {
        self.children.states.push(child.state);
        self.children.hashes.push(child.hash);
        self.children.costs.push(child.cost);
        self.children.parents.push(child.parent);
        self.children.moves.push(child.action);
        self.children.priors.push(prior);
    }

    /// Whose child one is, among those of all ranks.
    pub(super) fn parent(&self, i: usize) -> Place {
        Place { rank: self.children.owners.get(i).copied().unwrap_or(0), id: self.children.parents[i] }
    }

    /// The place of one in the order of children.
    fn place(&self, i: usize) -> (Key, Move) {
        (self.order[i], self.children.moves[i])
    }

    /// The children in their order.
    pub(super) fn sorted(self) -> Self {
        let mut ids: Vec<(usize, usize)> = (0..self.children.len()).map(|i| (0, i)).collect();
        ids.sort_unstable_by_key(|&(_, i)| self.place(i));
        Made::collected(&[self], &ids)
    }

    /// Children of other pieces: the piece and the number there of each.
    fn collected(pieces: &[Self], ids: &[(usize, usize)]) -> Self {
        let order = ids.iter().map(|&(piece, i)| pieces[piece].order[i]).collect();
        Made { children: Layer::collected(ids, |piece| &pieces[piece].children), order, goals: Vec::new() }
    }
}

/// Children that a thread merges at least.
const MERGED: usize = 1 << 10;

/// The children of pieces that are each in order, in pieces that follow one another in it. They are no longer marked as goals.
pub(super) fn merged<S: Copy + Send + Sync>(threads: usize, pieces: &[Made<S>]) -> Vec<Made<S>> {
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.children.len()).collect();
    let parts = parts(threads, lengths.iter().sum(), MERGED);
    let Some(longest) = pieces.iter().max_by_key(|piece| piece.children.len()) else { return Vec::new() };
    // Where each part begins in each piece: the longest tells about where others are.
    let start = |piece: &Made<S>, part: usize| {
        let first = longest.place(part * longest.children.len() / parts);
        first_after(piece.children.len(), |i| piece.place(i) < first)
    };
    let mut starts = vec![vec![0; pieces.len()]];
    starts.extend((1..parts).map(|part| pieces.iter().map(|piece| start(piece, part)).collect()));
    starts.push(lengths);
    on_each(threads, starts.windows(2).collect(), |ends: &[Vec<usize>]| {
        let of_piece = |piece: usize| (ends[0][piece]..ends[1][piece]).map(move |i| (piece, i));
        let mut ids: Vec<(usize, usize)> = (0..pieces.len()).flat_map(of_piece).collect();
        // Stable, and so soon done where sorted parts follow one another.
        ids.sort_by_key(|&(piece, i)| pieces[piece].place(i));
        Made::collected(pieces, &ids)
    })
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
            made.make_room(range.len() * each);
            for i in range {
                let parent = Parent { id: i as NodeId, state: &layer.states[i], cost: layer.costs[i] };
                let moves = (0..puzzle.move_count() as Move).filter(|&action| shortlist.has(layer, i, action));
                children::make(puzzle, &self.hasher, parent, moves, None, |child| {
                    if puzzle.is_goal(&child.state) {
                        made.goals.push(made.children.len());
                    }
                    if !self.exchange.is_alone() {
                        made.order.push(self.key(i));
                    }
                    let prior = shortlist.prior(i, child.action).unwrap_or(0.0);
                    made.push(child, super::PRIOR_WEIGHT * prior + super::PATH_WEIGHT * layer.ranks[i]);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Children in any order, each with a state that tells its place.
    fn piece(places: impl Iterator<Item = u64>) -> Made<u64> {
        let mut made = Made::default();
        for place in places {
            made.order.push(Key::new((place / 100) as f32, place / 10));
            made.children.moves.push((place % 10) as Move);
            made.children.states.push(place);
            made.children.hashes.push(!place);
            made.children.costs.push(3);
            made.children.parents.push(place as NodeId / 2);
            made.children.priors.push(place as f32);
        }
        made
    }

    #[test]
    fn sorted_pieces_are_merged_on_any_number_of_threads() {
        let scattered = |from: u64, count: u64| piece((from..from + count).map(|i| i * 7919 % 100_003));
        let lengths: [&[u64]; 4] = [&[], &[0, 0], &[9000, 0, 400, 1], &[3000; 6]];
        for lengths in lengths {
            let starts = (0..lengths.len()).map(|i| lengths[..i].iter().sum());
            let pieces: Vec<Made<u64>> =
                starts.zip(lengths).map(|(start, &count)| scattered(start, count).sorted()).collect();
            let mut expected: Vec<u64> = pieces.iter().flat_map(|piece| piece.children.states.clone()).collect();
            expected.sort_unstable();
            assert_eq!(expected.len() as u64, lengths.iter().sum::<u64>());
            for threads in [1, 2, 3, 16] {
                let merged = merged(threads, &pieces);
                assert!(merged.len() <= 1 || threads > 1);
                let states: Vec<u64> = merged.iter().flat_map(|piece| piece.children.states.clone()).collect();
                assert!(states == expected, "{threads} threads");
                for Made { children, order, .. } in &merged {
                    assert_eq!((order.len(), children.owners.len()), (children.len(), 0));
                    for (i, &state) in children.states.iter().enumerate() {
                        let facts = (children.hashes[i], children.parents[i], children.priors[i]);
                        assert_eq!(facts, (!state, state as NodeId / 2, state as f32));
                        let place = (order[i], children.moves[i]);
                        assert_eq!(place, (Key::new((state / 100) as f32, state / 10), (state % 10) as Move));
                    }
                }
            }
        }
    }
}
