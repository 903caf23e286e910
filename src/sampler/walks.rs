//! Scramble walks back from the goals.

use super::move_pruning::MovePruning;
use super::sparse_states::SparseStates;
use super::{Batch, Children, Samples, WalkRules};
use crate::error::{SettingError, ensure_setting};
use crate::puzzle::{Cost, Move, Puzzle, assert_reversible};
use crate::random::{Generator, below};
use crate::search::perimeter::Perimeter;
use ndarray::Array2;
use rand::RngCore;
use std::sync::Arc;

/// Samples of a puzzle whose moves can be undone: random walks from its goals, without detours. The label is the length of
/// the walk, an upper bound of the distance.
#[derive(Debug)]
pub struct Walks<P: Puzzle> {
    pub(super) puzzle: Arc<P>,
    pub(super) goals: Vec<P::State>,
    pub(super) pruning: MovePruning,
    /// Distances near the goals: labels if they are known.
    pub(super) exact: Option<Perimeter<P::State>>,
    with_children: bool,
    /// Samples of each walk, at most.
    pub(super) walk_samples: usize,
    /// Share of a batch to learn from that consists of sparse states.
    pub(super) sparse_states: Option<(f64, SparseStates)>,
}

/// The fewest moves between two samples of a walk: nearer ones are nearly the same.
pub(crate) const MIN_APART: u32 = 4;

impl<P: Puzzle> Walks<P> {
    /// Walks from the puzzle's goals.
    ///
    /// # Panics
    /// Unless the puzzle is [reversible](crate::puzzle::Rules::is_reversible).
    pub fn new(puzzle: Arc<P>) -> Self {
        let goals = puzzle.goals();
        assert_reversible(&*puzzle);
        let pruning = MovePruning::of(&*puzzle, goals[0]);
        Walks { puzzle, goals, pruning, exact: None, with_children: false, walk_samples: 1, sparse_states: None }
    }

    /// Makes labels exact within the perimeter.
    pub fn with_exact_labels(self, perimeter: Perimeter<P::State>) -> Self {
        Walks { exact: Some(perimeter), ..self }
    }

    /// Adds the children of the states to each batch, and makes labels exact within the perimeter.
    pub fn with_children(self, perimeter: Perimeter<P::State>) -> Self {
        Walks { with_children: true, ..self.with_exact_labels(perimeter) }
    }

    /// Takes several samples from each walk, at least 4 moves apart: a sample then costs a few moves, not a whole walk.
    pub fn with_walk_samples(self, samples: u64) -> Self {
        Walks { walk_samples: usize::try_from(samples.max(1)).unwrap_or(usize::MAX), ..self }
    }

    /// Replaces this share of each batch to learn from by states that differ from a goal in few cells, however far they
    /// are. If all moves commute, a network learns from them what holds for all states, and cannot learn it from random
    /// states alone.
    ///
    /// # Errors
    /// If the share is above 0 and not all moves commute: the way back is then unknown.
    ///
    /// # Panics
    /// If the share is not from 0 to 1.
    pub fn with_sparse_states(self, share: f64) -> Result<Self, SettingError> {
        assert!((0.0..=1.0).contains(&share));
        if share == 0.0 {
            return Ok(Walks { sparse_states: None, ..self });
        }
        ensure_setting!(
            self.pruning.all_commute(),
            "sparse_states",
            "{share}: only puzzles whose moves all commute, such as Lights Out, take it, and those of {} do not; leave it out",
            self.puzzle.name()
        );
        let states = SparseStates::collect(&*self.puzzle, &self.pruning, self.goals[0]);
        Ok(Walks { sparse_states: Some((share, states)), ..self })
    }

    /// Writes one sample per depth. The depths are dealt in order to as few walks as the limits allow, so that those of a
    /// walk are far apart; a walk that ends early at a dead end gives the rest of its samples there.
    fn fill_with(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch, states: &mut [P::State]) {
        let mut order: Vec<(u32, usize)> = depths.iter().copied().zip(0..).collect();
        let walks = if self.walk_samples == 1 {
            depths.len() // in the order of the depths
        } else {
            order.sort_unstable();
            let is_apart = |walks: &usize| order.windows(walks + 1).all(|w| w[*walks].0 - w[0].0 >= MIN_APART);
            (depths.len().div_ceil(self.walk_samples)..depths.len()).find(is_apart).unwrap_or(depths.len())
        };
        for first in 0..walks {
            let state = self.goals[below(generator, self.goals.len())];
            let excluded = Excluded::Detours(&self.pruning);
            let mut walker = Walker { puzzle: &*self.puzzle, state, made: Vec::new(), excluded };
            for &(depth, i) in order[first..].iter().step_by(walks) {
                while walker.made.len() < depth as usize && walker.step(generator).is_some() {}
                self.write(i, walker.state, &walker.made, batch);
                states[i] = walker.state;
            }
        }
    }

    /// Writes a sample into a batch: a state, and the moves that led to it.
    fn write(&self, i: usize, state: P::State, made: &[Move], batch: &mut Batch) {
        self.puzzle.encode(&state, batch.states.row_mut(i).as_slice_mut().expect("rows are contiguous"));
        let exact = self.exact.as_ref().and_then(|perimeter| perimeter.cost(&*self.puzzle, &state));
        batch.labels[i] = exact.unwrap_or(made.len() as Cost) as f32;
        self.pruning.back(made).for_each(|action| batch.policy_targets[[i, usize::from(action)]] = 1);
    }

    /// Adds the children of the states, if they are asked for.
    fn finish(&self, states: &[P::State], batch: &mut Batch) {
        let perimeter = self.exact.as_ref().filter(|_| self.with_children);
        batch.children = perimeter.map(|perimeter| self.children(perimeter, states));
    }

    fn children(&self, perimeter: &Perimeter<P::State>, states: &[P::State]) -> Children {
        let moves = self.puzzle.move_count();
        let mut costs = Array2::from_elem((states.len(), moves), f32::INFINITY);
        let (mut unknown, mut places) = (Vec::new(), Vec::new());
        let mut row = vec![0; self.puzzle.encoding().cells];
        for (i, state) in states.iter().enumerate() {
            for action in 0..moves {
                let Some(child) = self.puzzle.apply(state, action as Move) else { continue };
                let exact = if self.puzzle.is_goal(&child) { Some(0) } else { perimeter.cost(&*self.puzzle, &child) };
                costs[[i, action]] = (self.puzzle.move_cost(state, action as Move) + exact.unwrap_or(0)) as f32;
                if exact.is_none() {
                    self.puzzle.encode(&child, &mut row);
                    unknown.extend_from_slice(&row);
                    places.push((i * moves + action) as u32);
                }
            }
        }
        let unknown = Array2::from_shape_vec((places.len(), row.len()), unknown).expect("a row a child");
        Children { costs, unknown, places, least_unknown: perimeter.min_cost_outside() as f32 }
    }
}

impl<P: Puzzle> Samples for Walks<P> {
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        let mut states = vec![self.goals[0]; depths.len()];
        self.fill_with(depths, generator, batch, &mut states);
        self.finish(&states, batch);
    }

    fn fill_to_learn(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        let Some((share, sparse_states)) = &self.sparse_states else { return self.fill(depths, generator, batch) };
        let walks = depths.len() - (share * depths.len() as f64).round() as usize;
        let mut states = vec![self.goals[0]; depths.len()];
        self.fill_with(&depths[..walks], generator, batch, &mut states);
        for (i, place) in states.iter_mut().enumerate().skip(walks) {
            let (state, made) = sparse_states.sample(self, generator);
            self.write(i, state, &made, batch);
            *place = state;
        }
        self.finish(&states, batch);
    }

    fn rules(&self) -> Option<WalkRules> {
        WalkRules::of(self)
    }
}

/// A random walk, move by move, in which no two moves in a row do as much as one move or none.
#[derive(Debug)]
pub struct Walker<'a, P: Puzzle> {
    puzzle: &'a P,
    /// Where the walk is.
    pub state: P::State,
    made: Vec<Move>,
    excluded: Excluded<'a, P::State>,
}

/// Moves that a walk does not make.
#[derive(Debug)]
enum Excluded<'a, S> {
    /// Moves to what the state before the last move is, or is one move from.
    Shortcuts(Option<S>),
    /// Moves that only undo or shorten earlier ones.
    Detours(&'a MovePruning),
}

impl<'a, P: Puzzle> Walker<'a, P> {
    /// A walk that begins at a state.
    pub fn new(puzzle: &'a P, state: P::State) -> Self {
        Walker { puzzle, state, made: Vec::new(), excluded: Excluded::Shortcuts(None) }
    }

    fn allows(&self, action: Move, next: &P::State) -> bool {
        match &self.excluded {
            Excluded::Detours(pruning) => pruning.allow(&self.made, action),
            Excluded::Shortcuts(None) => true,
            Excluded::Shortcuts(Some(before)) => {
                next != before && self.puzzle.children(before).all(|(_, other)| other != *next)
            }
        }
    }

    /// Makes a random legal move; one that undoes the last one or merges with it only if no other is legal. `None` if no
    /// move is legal.
    #[inline]
    pub fn step(&mut self, generator: &mut impl RngCore) -> Option<Move> {
        let moves = self.puzzle.move_count();
        // A few random picks nearly always meet a legal move; only then is it worth listing them all.
        for _ in 0..32 {
            let action = below(generator, moves) as Move;
            if let Some(next) = self.puzzle.apply(&self.state, action)
                && self.allows(action, &next)
            {
                return Some(self.go(action, next));
            }
        }
        let mut legal: Vec<(Move, P::State)> = self.puzzle.children(&self.state).collect();
        let is_allowed = |(action, next): &(Move, P::State)| self.allows(*action, next);
        if matches!(self.excluded, Excluded::Detours(_)) || legal.iter().any(is_allowed) {
            legal.retain(is_allowed);
        }
        if legal.is_empty() {
            return None;
        }
        let (action, next) = legal[below(generator, legal.len())];
        Some(self.go(action, next))
    }

    #[inline]
    fn go(&mut self, action: Move, next: P::State) -> Move {
        let before = std::mem::replace(&mut self.state, next);
        if let Excluded::Shortcuts(last) = &mut self.excluded {
            *last = Some(before);
        }
        self.made.push(action);
        action
    }
}
