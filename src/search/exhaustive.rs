//! Exhaustive search into the perimeter: looks up the end of every sequence of a given number of moves from a state.
//!
//! The lookups dominate the time, and mostly wait for memory. So the ends of many sequences are made first and sorted
//! into regions of the table: lookups in one region after the other find its pages in the processor's caches, and the
//! table's lines are loaded some lookups ahead.

use super::perimeter::Perimeter;
use crate::puzzle::{Move, Puzzle, State};
use std::sync::atomic::{AtomicUsize, Ordering};

/// From this many moves on, the ends are sorted into regions.
const SORTED_MOVES: usize = 4;
/// The most moves whose ends are made at once: 73,000 sequences on the cube.
const MAX_MOVES_AT_ONCE: usize = 5;

/// Lookups whose lines are loaded ahead.
const PREFETCHED: usize = 32;

/// An exhaustive search; reused from state to state for its buffers.
pub(super) struct Exhaustive<'a, P: Puzzle> {
    puzzle: &'a P,
    perimeter: &'a Perimeter<P::State>,
    /// Roots from this index on are not needed; their searches stop.
    until: &'a AtomicUsize,
    /// Index of the current root.
    index: usize,
    /// The moves so far.
    path: Vec<Move>,
    /// Ends by region of the table, and the nodes that they come from.
    regions: Vec<Vec<SequenceEnd>>,
    nodes: Vec<(P::State, Vec<Move>)>,
    keys: Vec<u64>,
    pairs: Vec<[Move; 2]>,
    /// Sequences looked up from the current root.
    generated: u64,
}

/// The key of the state at the end of a sequence: the last two moves from a node, or the node itself.
#[derive(Clone, Copy)]
struct SequenceEnd {
    key: u64,
    node: u32,
    moves: Option<[Move; 2]>,
}

impl<'a, P: Puzzle> Exhaustive<'a, P> {
    pub(super) fn new(puzzle: &'a P, perimeter: &'a Perimeter<P::State>, until: &'a AtomicUsize) -> Self {
        Exhaustive {
            puzzle,
            perimeter,
            until,
            index: 0,
            path: Vec::new(),
            regions: vec![Vec::new(); Perimeter::<P::State>::REGIONS],
            nodes: Vec::new(),
            keys: Vec::new(),
            pairs: Vec::new(),
            generated: 0,
        }
    }

    /// Takes roots by the counter `next`, which threads may share, and searches each for a path to a goal that reaches the rim
    /// of the perimeter after exactly `moves` moves. Ends after the first root with a path. `root` gives a state and the move
    /// that led to it; `done` gets the root's index, the number of sequences looked up, and the path, if any.
    pub(super) fn search_roots<'r>(
        &mut self,
        next: &AtomicUsize,
        root: impl Fn(usize) -> (&'r P::State, Option<Move>),
        moves: usize,
        mut done: impl FnMut(usize, u64, Option<Vec<Move>>),
    ) where
        P::State: 'r,
    {
        loop {
            self.index = next.fetch_add(1, Ordering::Relaxed);
            if self.index >= self.until.load(Ordering::Relaxed) {
                break;
            }
            let (state, last) = root(self.index);
            self.path.clear();
            let path = self.descend(state, last, moves);
            if path.is_some() {
                self.until.fetch_min(self.index, Ordering::Relaxed);
            }
            done(self.index, std::mem::take(&mut self.generated), path);
        }
    }

    /// Makes moves until few are left, and looks up the ends of those.
    fn descend(&mut self, state: &P::State, last: Option<Move>, moves: usize) -> Option<Vec<Move>> {
        if moves > MAX_MOVES_AT_ONCE {
            let perimeter = self.perimeter;
            return perimeter.following(last).iter().find_map(|&action| {
                let child = self.puzzle.apply(state, action)?;
                self.path.push(action);
                let found = self.descend(&child, Some(action), moves - 1);
                self.path.pop();
                found
            });
        }
        if self.until.load(Ordering::Relaxed) <= self.index {
            return None;
        }
        self.nodes.clear();
        let sorts = moves >= SORTED_MOVES;
        self.make_ends(state, last, moves, sorts);
        let mut found = None;
        for region in &mut self.regions[..if sorts { Perimeter::<P::State>::REGIONS } else { 1 }] {
            found = found.or_else(|| look_up(self.puzzle, self.perimeter, &self.nodes, region));
            region.clear();
        }
        found
    }

    /// Makes the ends of all sequences; sorts them into regions, or loads their lines at once.
    fn make_ends(&mut self, state: &P::State, last: Option<Move>, moves: usize, sorts: bool) {
        let node = self.nodes.len() as u32;
        match moves {
            0 => {
                self.nodes.push((*state, self.path.clone()));
                self.regions[0].push(SequenceEnd { key: self.perimeter.key(state), node, moves: None });
                self.generated += 1;
            }
            2 => {
                self.nodes.push((*state, self.path.clone()));
                self.keys.clear();
                self.pairs.clear();
                self.perimeter.keys_after_two(self.puzzle, state, last, &mut self.keys, &mut self.pairs);
                for (&key, &moves) in self.keys.iter().zip(&self.pairs) {
                    let region = if sorts { Perimeter::<P::State>::region(key) } else { 0 };
                    self.regions[region].push(SequenceEnd { key, node, moves: Some(moves) });
                }
                if !sorts {
                    self.keys.iter().for_each(|&key| self.perimeter.prefetch(key));
                }
                self.generated += self.keys.len() as u64;
            }
            _ => {
                let perimeter = self.perimeter;
                for &action in perimeter.following(last) {
                    let Some(child) = self.puzzle.apply(state, action) else { continue };
                    self.path.push(action);
                    self.make_ends(&child, Some(action), moves - 1, sorts);
                    self.path.pop();
                }
            }
        }
    }
}

/// The first path to a goal through an end in a region.
fn look_up<P: Puzzle>(
    puzzle: &P,
    perimeter: &Perimeter<P::State>,
    nodes: &[(P::State, Vec<Move>)],
    region: &[SequenceEnd],
) -> Option<Vec<Move>> {
    for (i, end) in region.iter().enumerate() {
        if let Some(ahead) = region.get(i + PREFETCHED) {
            perimeter.prefetch(ahead.key);
        }
        if perimeter.reaches(end.key) {
            let (node, path) = &nodes[end.node as usize];
            let moves = end.moves.as_ref().map_or(&[][..], |moves| moves);
            let state = moves.iter().try_fold(*node, |state, &action| puzzle.apply(&state, action));
            if let Some(rest) = state.and_then(|state| perimeter.path_to_goal(puzzle, &state)) {
                return Some([path, moves, &rest].concat());
            }
        }
    }
    None
}

/// The number of sequences of `moves` moves by the move before them, where all moves are legal; the last entry counts
/// those after no move.
pub(super) fn sequences<S: State>(perimeter: &Perimeter<S>, moves: usize, move_count: usize) -> Vec<u64> {
    let mut counts = vec![1u64; move_count + 1];
    for _ in 0..moves {
        let after = |action: Option<Move>| {
            let next = perimeter.following(action).iter().map(|&next| counts[usize::from(next)]);
            next.fold(0u64, u64::saturating_add)
        };
        counts = (0..move_count as Move).map(Some).chain([None]).map(after).collect();
    }
    counts
}
