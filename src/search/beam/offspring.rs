//! The children of a layer, and the solutions among them.
//!
//! Children have one order, whatever the number of threads and ranks: by the score of their parent, then by its hash, then by
//! move. The first of several children with one state counts.

use super::cut::Key;
use super::ranks::{LayerSolution, StateId};
use super::{BeamLayer, BeamRun, Candidates};
use crate::puzzle::{Cost, Move, Puzzle};
use crate::search::children::parent_ranges;
use crate::search::nodes::NodeId;
use crate::workers::{on_each, parts};
use std::ops::Range;

/// A layer is likely to have the children of the layer before, in proportion, and one part in this many more.
const LIKELY_GROWTH_DIVISOR: usize = 8;

/// The fewest children worth a thread to merge, or to read from a message.
pub(super) const MIN_CHUNK: usize = 1 << 10;

/// Merges pieces that are each in order, into pieces that follow one another in order. The goals are not marked any more.
pub(super) fn merged<S: Copy + Send + Sync>(threads: usize, pieces: &[BeamLayer<S>]) -> Vec<BeamLayer<S>> {
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
    let parts = parts(threads, lengths.iter().sum(), MIN_CHUNK);
    let Some(longest) = pieces.iter().max_by_key(|piece| piece.len()) else { return Vec::new() };
    // Where each part starts in each piece, about evenly by the longest one; a parent's children stay together.
    let start = |piece: &BeamLayer<S>, part: usize| {
        let first = longest.order[part * longest.len() / parts];
        piece.order.partition_point(|&key| key < first)
    };
    let mut starts = vec![vec![0; pieces.len()]];
    starts.extend((1..parts).map(|part| pieces.iter().map(|piece| start(piece, part)).collect()));
    starts.push(lengths);
    on_each(threads, starts.windows(2).collect(), |ends: &[Vec<usize>]| {
        let of_piece = |piece: usize| (ends[0][piece]..ends[1][piece]).map(move |i| (piece, i));
        let mut ids: Vec<(usize, usize)> = (0..pieces.len()).flat_map(of_piece).collect();
        // A stable sort is fast on sorted runs.
        ids.sort_by_key(|&(piece, i)| pieces[piece].place(i));
        BeamLayer::collected(&ids, |piece| &pieces[piece])
    })
}

/// The hashes of children, piece by piece.
pub(super) fn hashes<S>(made: &[BeamLayer<S>]) -> Vec<&[u64]> {
    made.iter().map(|piece| piece.hashes.as_slice()).collect()
}

impl<P: Puzzle> BeamRun<'_, P> {
    /// Generates the candidates among the children of some states of a layer, into the memory of earlier pieces. `key` gives
    /// the key of a parent and a move, if it is needed.
    pub(super) fn make(
        &self,
        layer: &BeamLayer<P::State>,
        parents: Range<usize>,
        candidates: &Candidates,
        mut buffers: Vec<BeamLayer<P::State>>,
        key: impl Fn(usize, Move) -> Option<Key> + Sync,
    ) -> Vec<BeamLayer<P::State>> {
        let puzzle = self.puzzle;
        let ranges = parent_ranges(self.threads, parents, candidates.each);
        buffers.resize_with(ranges.len(), BeamLayer::default);
        on_each(self.threads, ranges.into_iter().zip(buffers).collect(), |(range, mut made)| {
            made.reset(range.len() * candidates.each);
            for i in range {
                for action in (0..puzzle.move_count() as Move).filter(|&action| candidates.has(layer, i, action)) {
                    let Some(child) = puzzle.apply(&layer.states[i], action) else { continue };
                    if puzzle.is_goal(&child) {
                        made.goals.push(made.len());
                    }
                    made.order.extend(key(i, action));
                    let prior = candidates.prior(i, action).unwrap_or(0.0);
                    let hash = candidates.hash(i, action).unwrap_or_else(|| puzzle.state_hash(&child));
                    made.states.push(child);
                    made.hashes.push(hash);
                    made.costs.push(layer.costs[i] + puzzle.move_cost(&layer.states[i], action));
                    made.parents.push(i as NodeId);
                    made.moves.push(action);
                    made.priors.push(super::PRIOR_WEIGHT * prior + super::PATH_WEIGHT * layer.scores[i]);
                }
            }
            made
        })
    }

    /// The expected number of new children of the layer.
    pub(super) fn likely_children(&self, candidates: &Candidates) -> usize {
        let all = self.layer.len() * candidates.each;
        let (parents, children) = self.last_yield;
        let as_before = self.layer.len() * children / parents.max(1);
        all.min(as_before + as_before / LIKELY_GROWTH_DIVISOR)
    }

    /// Takes the goals among children of this rank's layer.
    pub(super) fn take_goals(&mut self, made: &[BeamLayer<P::State>]) {
        for children in made {
            for &i in &children.goals {
                let parent = StateId { rank: self.exchange.rank() as u16, index: children.parents[i] };
                let order = (self.layer.key(parent.index as usize), children.moves[i]);
                self.take_solution(children.costs[i], order, parent, &children.states[i]);
            }
        }
    }

    /// Looks up new children in the perimeter.
    pub(super) fn look_up(&mut self, made: &[BeamLayer<P::State>], fresh: &[Vec<u32>]) {
        let (puzzle, perimeter) = (self.puzzle, &self.settings.perimeter);
        if perimeter.is_empty() {
            return;
        }
        let known = on_each(self.threads, made.iter().zip(fresh).collect(), |(made, fresh)| {
            let known = perimeter.costs_on_rim(puzzle, fresh.len(), |i| &made.states[fresh[i] as usize]);
            known.into_iter().map(|(i, rest)| (made, fresh[i] as usize, rest)).collect::<Vec<_>>()
        });
        for (children, i, rest) in known.into_iter().flatten() {
            let parent = children.parent(i);
            let key = children.order.get(i).copied().unwrap_or_else(|| self.layer.key(parent.index as usize));
            self.take_solution(children.costs[i] + rest, (key, children.moves[i]), parent, &children.states[i]);
        }
    }

    /// Takes a solution through a child that is a goal or in the perimeter, if it is the cheapest so far; ties go to the first.
    fn take_solution(&mut self, cost: Cost, order: (Key, Move), parent: StateId, child: &P::State) {
        if self.solution.as_ref().is_none_or(|best| (cost, order) < (best.cost, best.order))
            && let Some(rest) = self.settings.perimeter.path_to_goal(self.puzzle, child)
        {
            self.solution = Some(LayerSolution { cost, order, parent, rest });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Children in any order; the state of each gives its place.
    fn piece(places: impl Iterator<Item = u64>) -> BeamLayer<u64> {
        let mut made = BeamLayer::default();
        for place in places {
            made.order.push(Key::new((place / 100) as f32, place / 10));
            made.moves.push((place % 10) as Move);
            made.states.push(place);
            made.hashes.push(!place);
            made.costs.push(3);
            made.parents.push(place as NodeId / 2);
            made.priors.push(place as f32);
        }
        made
    }

    #[test]
    fn sorted_pieces_are_merged_on_any_number_of_threads() {
        let scattered = |from: u64, count: u64| piece((from..from + count).map(|i| i * 7919 % 100_003));
        let lengths: [&[u64]; 4] = [&[], &[0, 0], &[9000, 0, 400, 1], &[3000; 6]];
        for lengths in lengths {
            let starts = (0..lengths.len()).map(|i| lengths[..i].iter().sum());
            let pieces: Vec<BeamLayer<u64>> =
                starts.zip(lengths).map(|(start, &count)| scattered(start, count).sorted()).collect();
            let mut expected: Vec<u64> = pieces.iter().flat_map(|piece| piece.states.clone()).collect();
            expected.sort_unstable();
            assert_eq!(expected.len() as u64, lengths.iter().sum::<u64>());
            for threads in [1, 2, 3, 16] {
                let merged = merged(threads, &pieces);
                assert!(merged.len() <= 1 || threads > 1);
                let states: Vec<u64> = merged.iter().flat_map(|piece| piece.states.clone()).collect();
                assert!(states == expected, "{threads} threads");
                for children in &merged {
                    assert_eq!((children.order.len(), children.owners.len()), (children.len(), 0));
                    for (i, &state) in children.states.iter().enumerate() {
                        let facts = (children.hashes[i], children.parents[i], children.priors[i]);
                        assert_eq!(facts, (!state, state as NodeId / 2, state as f32));
                        assert_eq!(
                            children.place(i),
                            (Key::new((state / 100) as f32, state / 10), (state % 10) as Move)
                        );
                    }
                }
            }
        }
    }
}
