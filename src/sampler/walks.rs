//! Scramble walks back from the goals.

use super::move_pruning::MovePruning;
use super::sparse_states::SparseStates;
use super::{Batch, Children, Samples};
use crate::error::SettingError;
use crate::puzzle::{Cost, Move, Puzzle, Reversible};
use crate::random::{Generator, below};
use crate::search::perimeter::Perimeter;
use ndarray::Array2;
use rand::RngCore;
use std::sync::Arc;

/// Samples of a puzzle whose moves can be undone: random walks from its goals, without detours. The label is the length of
/// the walk, an upper bound of the distance.
#[derive(Debug)]
pub struct Walks<P: Puzzle> {
    puzzle: Arc<P>,
    goals: Vec<P::State>,
    pruning: MovePruning,
    /// Distances near the goals: labels where they are known.
    exact: Option<Perimeter<P::State>>,
    with_children: bool,
    /// Share of a batch to learn from that consists of sparse states.
    sparse_states: Option<(f64, SparseStates)>,
}

/// A state, the moves that led to it, and their cost.
struct Walked<S> {
    state: S,
    made: Vec<Move>,
    cost: Cost,
}

impl<P: Puzzle> Walks<P> {
    /// Walks from the puzzle's goals.
    ///
    /// # Panics
    /// If it has none.
    pub fn new(puzzle: Arc<P>) -> Self
    where
        P: Reversible,
    {
        let goals = puzzle.goals();
        assert!(!goals.is_empty(), "a puzzle has a goal");
        let pruning = MovePruning::of(&*puzzle, goals[0]);
        Walks { puzzle, goals, pruning, exact: None, with_children: false, sparse_states: None }
    }

    /// Makes labels exact within the perimeter.
    pub fn with_exact_labels(self, perimeter: Perimeter<P::State>) -> Self {
        Walks { exact: Some(perimeter), ..self }
    }

    /// Adds the children of the states to each batch, and makes labels exact within the perimeter.
    pub fn with_children(self, perimeter: Perimeter<P::State>) -> Self {
        Walks { with_children: true, ..self.with_exact_labels(perimeter) }
    }

    /// Replaces this share of each batch to learn from by states that differ from a goal in few cells, however far they
    /// are. Where all moves commute, a network learns from them what holds for all states, and cannot learn it from random
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
        if !self.pruning.all_commute() {
            let name = self.puzzle.name();
            let reason = format!(
                "{share}: the moves of {name} do not all commute, and the way back of other puzzles is not known; leave it \
                 out"
            );
            return Err(SettingError::new("sparse_states", reason));
        }
        let states = SparseStates::collect(&*self.puzzle, &self.pruning, self.goals[0]);
        Ok(Walks { sparse_states: Some((share, states)), ..self })
    }

    /// Walks `depth` moves, fewer at a dead end.
    fn walk(&self, depth: u32, generator: &mut Generator) -> Walked<P::State> {
        let state = self.goals[below(generator, self.goals.len())];
        let excluded = Excluded::Detours(&self.pruning);
        let mut walker = Walker { puzzle: &*self.puzzle, state, made: Vec::new(), excluded };
        let cost = (0..depth).map_while(|_| walker.step(generator)).count() as Cost;
        Walked { state: walker.state, made: walker.made, cost }
    }

    /// Writes samples into a batch.
    fn fill_with(&self, samples: impl Iterator<Item = Walked<P::State>>, batch: &mut Batch) {
        let mut states = Vec::new();
        for (Walked { state, made, cost }, (mut row, label, mut back)) in samples.zip(batch.samples_mut()) {
            self.puzzle.encode(&state, row.as_slice_mut().expect("rows are contiguous"));
            let exact = self.exact.as_ref().and_then(|perimeter| perimeter.cost(&*self.puzzle, &state));
            *label = exact.unwrap_or(cost) as f32;
            self.pruning.back(&made).for_each(|action| back[usize::from(action)] = 1);
            if self.with_children {
                states.push(state);
            }
        }
        let perimeter = self.exact.as_ref().filter(|_| self.with_children);
        batch.children = perimeter.map(|perimeter| self.children(perimeter, &states));
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
        self.fill_with(depths.iter().map(|&depth| self.walk(depth, generator)), batch);
    }

    fn fill_to_learn(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        let Some((share, sparse_states)) = &self.sparse_states else { return self.fill(depths, generator, batch) };
        let walks = depths.len() - (share * depths.len() as f64).round() as usize;
        let samples = depths.iter().enumerate().map(|(i, &depth)| {
            if i < walks {
                return self.walk(depth, generator);
            }
            let (state, made) = sparse_states.sample(&*self.puzzle, &self.pruning, self.goals[0], generator);
            Walked { state, cost: made.len() as Cost, made }
        });
        self.fill_with(samples, batch);
    }
}

/// A random walk, move by move.
#[derive(Debug)]
pub struct Walker<'a, P: Puzzle> {
    puzzle: &'a P,
    /// Where the walk is.
    pub state: P::State,
    made: Vec<Move>,
    excluded: Excluded<'a, P>,
}

/// Moves that a walk does not make.
#[derive(Debug)]
enum Excluded<'a, P> {
    /// The inverse of the last move.
    Inverse(fn(&P, Move) -> Move),
    /// Moves that only undo or shorten earlier ones.
    Detours(&'a MovePruning),
}

impl<'a, P: Puzzle> Walker<'a, P> {
    /// A walk that begins at a state.
    pub fn new(puzzle: &'a P, state: P::State) -> Self
    where
        P: Reversible,
    {
        Walker { puzzle, state, made: Vec::new(), excluded: Excluded::Inverse(P::inverse) }
    }

    fn allows(&self, action: Move) -> bool {
        match self.excluded {
            Excluded::Detours(pruning) => pruning.allow(&self.made, action),
            Excluded::Inverse(inverse) => self.made.last().is_none_or(|&last| action != inverse(self.puzzle, last)),
        }
    }

    /// Makes a random legal move, the inverse of the last only where there is no other; `None` where there is none.
    #[inline]
    pub fn step(&mut self, generator: &mut impl RngCore) -> Option<Move> {
        let moves = self.puzzle.move_count();
        // A few random picks nearly always meet a legal move; only then is it worth listing them all.
        for _ in 0..32 {
            let action = below(generator, moves) as Move;
            if !self.allows(action) {
                continue;
            }
            if let Some(next) = self.puzzle.apply(&self.state, action) {
                return Some(self.go(action, next));
            }
        }
        let mut legal: Vec<(Move, P::State)> =
            (0..moves as Move).filter_map(|action| Some((action, self.puzzle.apply(&self.state, action)?))).collect();
        if matches!(self.excluded, Excluded::Detours(_)) || legal.iter().any(|(action, _)| self.allows(*action)) {
            legal.retain(|(action, _)| self.allows(*action));
        }
        if legal.is_empty() {
            return None;
        }
        let (action, next) = legal[below(generator, legal.len())];
        Some(self.go(action, next))
    }

    #[inline]
    fn go(&mut self, action: Move, next: P::State) -> Move {
        self.state = next;
        self.made.push(action);
        action
    }
}
