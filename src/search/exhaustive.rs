//! Exhaustive search into the perimeter: from a state, every sequence of a given number of moves, each end looked up.
//!
//! The lookups are what takes the time, and of these, the waiting for memory. Of few moves, the ends of the last two are
//! made together, the lines of the table where they would stand are loaded, and while they come, the ends of the next two
//! are made. Of many moves, all ends are made first and sorted into regions of the table: lookups in one region after the
//! other find the pages of their memory in the processor's caches.

use super::perimeter::Perimeter;
use crate::puzzle::{Move, Puzzle, State};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An exhaustive search; kept from state to state for its memory.
pub(super) struct Exhaustive<'a, P: Puzzle> {
    puzzle: &'a P,
    perimeter: &'a Perimeter<P::State>,
    /// Searches from this number on are to end without an answer.
    until: &'a AtomicUsize,
    number: usize,
    /// The moves so far.
    path: Vec<Move>,
    /// Ends that are being made, and those that wait for their lookup.
    ends: [Ends<P::State>; 2],
    /// The ends of many moves, by regions of the table, and the nodes that they come from.
    regions: Vec<Vec<End>>,
    nodes: Vec<(P::State, Vec<Move>)>,
    /// Sequences that were looked up.
    pub(super) generated: u64,
}

/// The state at the end of two more moves from a node.
#[derive(Clone, Copy)]
struct End {
    key: u64,
    node: u32,
    moves: [Move; 2],
}

/// From so many moves on, ends are sorted by regions.
const MANY: usize = 4;

/// Lookups that are loaded ahead.
const AHEAD: usize = 32;

/// The states at the end of two more moves.
struct Ends<S> {
    /// The state that they come from, and the moves that led to it.
    from: Option<S>,
    path: Vec<Move>,
    moves: Vec<[Move; 2]>,
    keys: Vec<u64>,
}

impl<S> Default for Ends<S> {
    fn default() -> Self {
        Ends { from: None, path: Vec::new(), moves: Vec::new(), keys: Vec::new() }
    }
}

/// What is done where so few moves are left: with the state, the move before, and the number of moves.
type There<'a, P> = fn(&mut Exhaustive<'a, P>, &<P as Puzzle>::State, Option<Move>, usize) -> Option<Vec<Move>>;

impl<'a, P: Puzzle> Exhaustive<'a, P> {
    pub(super) fn new(puzzle: &'a P, perimeter: &'a Perimeter<P::State>, until: &'a AtomicUsize) -> Self {
        let regions = (0..Perimeter::<P::State>::REGIONS).map(|_| Vec::new()).collect();
        Exhaustive {
            puzzle,
            perimeter,
            until,
            number: 0,
            path: Vec::new(),
            ends: Default::default(),
            regions,
            nodes: Vec::new(),
            generated: 0,
        }
    }

    /// A path from a state to a goal that reaches the perimeter after exactly so many moves, of which the first may follow
    /// `last`; `None` if there is none, or once the search of this number is not needed any more.
    pub(super) fn search(
        &mut self,
        state: &P::State,
        last: Option<Move>,
        moves: usize,
        number: usize,
    ) -> Option<Vec<Move>> {
        self.path.clear();
        self.number = number;
        let found = match moves {
            0 | 1 => return self.descend(state, last, moves, 0, Self::look_up),
            MANY.. => return self.descend(state, last, moves, MANY + 1, Self::look_up_by_regions),
            _ => self.descend(state, last, moves, 2, Self::make_ends),
        };
        let found = found.or_else(|| self.look_up_in(1));
        self.ends.iter_mut().for_each(|ends| ends.keys.clear());
        found
    }

    /// Makes moves until at most `rest` are left, and there, does what is to be done; ends with the first path.
    fn descend(
        &mut self,
        state: &P::State,
        last: Option<Move>,
        moves: usize,
        rest: usize,
        there: There<'a, P>,
    ) -> Option<Vec<Move>> {
        if moves <= rest {
            return there(self, state, last, moves);
        }
        let perimeter = self.perimeter;
        perimeter.following(last).iter().find_map(|&action| {
            let child = self.puzzle.apply(state, action)?;
            self.path.push(action);
            let found = self.descend(&child, Some(action), moves - 1, rest, there);
            self.path.pop();
            found
        })
    }

    fn look_up(&mut self, state: &P::State, _last: Option<Move>, _moves: usize) -> Option<Vec<Move>> {
        self.generated += 1;
        let rest = self.perimeter.path_to_goal(self.puzzle, state)?;
        Some([&self.path[..], &rest].concat())
    }

    /// Makes all ends, sorts them by regions, and looks them up.
    fn look_up_by_regions(&mut self, state: &P::State, last: Option<Move>, moves: usize) -> Option<Vec<Move>> {
        if self.until.load(Ordering::Relaxed) <= self.number {
            return None;
        }
        self.nodes.clear();
        self.descend(state, last, moves, 2, Self::sort_ends);
        let mut found = None;
        for region in &mut self.regions {
            if found.is_none() {
                found = look_up_region(self.puzzle, self.perimeter, &self.nodes, region);
            }
            region.clear();
        }
        found
    }

    /// Makes the ends of the last two moves, and puts each into its region; none is looked up yet.
    fn sort_ends(&mut self, state: &P::State, last: Option<Move>, _moves: usize) -> Option<Vec<Move>> {
        let perimeter = self.perimeter;
        let node = self.nodes.len() as u32;
        self.nodes.push((*state, self.path.clone()));
        let Ends { keys, moves, .. } = &mut self.ends[0];
        perimeter.keys_after_two(self.puzzle, state, last, keys, moves);
        for (&key, &moves) in keys.iter().zip(&*moves) {
            self.regions[Perimeter::<P::State>::region(key)].push(End { key, node, moves });
        }
        self.generated += keys.len() as u64;
        keys.clear();
        moves.clear();
        None
    }

    /// Makes the ends of the last two moves, and then looks up those that were made before.
    fn make_ends(&mut self, state: &P::State, last: Option<Move>, _moves: usize) -> Option<Vec<Move>> {
        let ends = &mut self.ends[0];
        ends.from = Some(*state);
        ends.path.clone_from(&self.path);
        ends.moves.clear();
        ends.keys.clear();
        self.perimeter.keys_after_two(self.puzzle, state, last, &mut ends.keys, &mut ends.moves);
        ends.keys.iter().for_each(|&key| self.perimeter.prefetch(key));
        self.generated += ends.keys.len() as u64;
        self.ends.swap(0, 1);
        self.look_up_in(0)
    }

    fn look_up_in(&mut self, at: usize) -> Option<Vec<Move>> {
        let ends = &self.ends[at];
        let from = ends.from?;
        let mut hits = ends.keys.iter().enumerate().filter(|&(_, &key)| self.perimeter.reaches(key));
        hits.find_map(|(i, _)| self.path_through(&from, ends, i))
    }

    /// The path by way of an end to a goal; `None` if the lookup was mistaken.
    fn path_through(&self, from: &P::State, ends: &Ends<P::State>, i: usize) -> Option<Vec<Move>> {
        let end = ends.moves[i].iter().try_fold(*from, |state, &action| self.puzzle.apply(&state, action))?;
        let mut path = [&ends.path[..], &ends.moves[i]].concat();
        path.extend(self.perimeter.path_to_goal(self.puzzle, &end)?);
        Some(path)
    }
}

/// The first path to a goal by way of an end in a region.
fn look_up_region<P: Puzzle>(
    puzzle: &P,
    perimeter: &Perimeter<P::State>,
    nodes: &[(P::State, Vec<Move>)],
    region: &[End],
) -> Option<Vec<Move>> {
    for (i, end) in region.iter().enumerate() {
        if let Some(ahead) = region.get(i + AHEAD) {
            perimeter.prefetch(ahead.key);
        }
        if perimeter.reaches(end.key) {
            let (from, path) = &nodes[end.node as usize];
            let state = end.moves.iter().try_fold(*from, |state, &action| puzzle.apply(&state, action));
            if let Some(rest) = state.and_then(|state| perimeter.path_to_goal(puzzle, &state)) {
                return Some([path, &end.moves[..], &rest].concat());
            }
        }
    }
    None
}

/// How many sequences there are of a number of moves, by the move before them (the last entry: by none), where all moves
/// are legal.
pub(super) fn sequences<S: State>(perimeter: &Perimeter<S>, moves: usize, move_count: usize) -> Vec<u64> {
    let mut counts = vec![1u64; move_count + 1];
    for _ in 0..moves {
        let after = |action: Option<Move>| {
            let next = perimeter.following(action).iter().map(|&next| counts[usize::from(next)]);
            next.fold(0u64, u64::saturating_add)
        };
        let mut longer: Vec<u64> = (0..move_count as Move).map(|action| after(Some(action))).collect();
        longer.push(after(None));
        counts = longer;
    }
    counts
}
