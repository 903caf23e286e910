//! Scramble walks back from the goals.

use super::move_pruning::MovePruning;
use super::sparse_states::SparseStates;
use super::{Batch, Children, Samples};
use crate::error::SettingError;
use crate::puzzle::{Cost, Move, Reversible};
use crate::random::{Generator, below};
use crate::search::perimeter::Perimeter;
use ndarray::Array2;
use rand::RngCore;
use std::sync::Arc;

/// Samples of a puzzle whose moves can be undone: each is a walk of its own from a goal, of as many moves as its depth,
/// none of which only undoes or shortens what came before; its label is that number, an upper bound of the distance.
#[derive(Debug)]
pub struct Walks<P: Reversible> {
    puzzle: Arc<P>,
    goals: Vec<P::State>,
    pruning: MovePruning,
    /// Distances near the goals, and what is done with them.
    known: Option<(Perimeter<P::State>, Use)>,
    /// What looks nearly solved, and the share of a batch to learn from that is made of it.
    sparse_states: Option<(f64, SparseStates)>,
}

/// What known distances are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// They are the labels where they are known.
    Labels,
    /// What a walk costs is counted from its last state whose distance is known, too.
    WholeWalks,
    /// They are the labels where they are known, and children's costs.
    Children,
}

/// A state, the moves that led to it, and what is said to be its cost.
struct Sample<S> {
    state: S,
    made: Vec<Move>,
    cost: Cost,
}

impl<P: Reversible> Walks<P> {
    /// Walks from the puzzle's goals.
    ///
    /// # Panics
    /// If it has none.
    pub fn new(puzzle: Arc<P>) -> Self {
        let goals = puzzle.goals();
        assert!(!goals.is_empty(), "a puzzle has a goal");
        let pruning = MovePruning::of(&*puzzle, goals[0]);
        Walks { puzzle, goals, pruning, known: None, sparse_states: None }
    }

    /// Batches also have the children of their states, and exact labels near the goals, where the perimeter knows them.
    pub fn with_children(self, perimeter: Perimeter<P::State>) -> Self {
        Walks { known: Some((perimeter, Use::Children)), ..self }
    }

    /// Labels are exact near the goals, where the perimeter knows them. With `onward`, what a walk costs beyond is counted
    /// from the last of its states that the perimeter knows.
    pub fn with_exact_labels(self, perimeter: Perimeter<P::State>, onward: bool) -> Self {
        Walks { known: Some((perimeter, if onward { Use::WholeWalks } else { Use::Labels })), ..self }
    }

    /// Of batches to learn from, this share is not walks but states of which few cells differ from a goal, however far
    /// they are: where all moves commute, what is learned from them holds for all states, and from random states alone
    /// it is not learned.
    ///
    /// # Errors
    /// If not all moves commute: a walk that is to come near a goal's looks is then far longer than the way back.
    ///
    /// # Panics
    /// If the share is not from 0 to 1.
    pub fn with_sparse_states(self, share: f64) -> Result<Self, SettingError> {
        assert!((0.0..=1.0).contains(&share));
        if share > 0.0 && !self.pruning.all_commute() {
            let name = self.puzzle.name();
            let reason = format!(
                "{share}: the moves of {name} do not all commute, and the way back of other puzzles is not known; leave it \
                 out"
            );
            return Err(SettingError::new("sparse_states", reason));
        }
        let sparse_states =
            (share > 0.0).then(|| (share, SparseStates::collect(&*self.puzzle, &self.pruning, self.goals[0])));
        Ok(Walks { sparse_states, ..self })
    }

    fn children(&self, perimeter: &Perimeter<P::State>, states: &[P::State]) -> Children {
        let moves = self.puzzle.move_count();
        let mut costs = Array2::from_elem((states.len(), moves), f32::INFINITY);
        let (mut unknown, mut places) = (Vec::new(), Vec::new());
        let mut row = vec![0; self.puzzle.encoding().cells];
        for (i, state) in states.iter().enumerate() {
            for action in 0..moves {
                let Some(child) = self.puzzle.apply(state, action as Move) else { continue };
                let home = if self.puzzle.is_goal(&child) { Some(0) } else { perimeter.cost(&*self.puzzle, &child) };
                costs[[i, action]] = (self.puzzle.move_cost(state, action as Move) + home.unwrap_or(0)) as f32;
                if home.is_none() {
                    self.puzzle.encode(&child, &mut row);
                    unknown.extend_from_slice(&row);
                    places.push((i * moves + action) as u32);
                }
            }
        }
        let unknown = Array2::from_shape_vec((places.len(), row.len()), unknown).expect("a row a child");
        Children { costs, unknown, places, least_unknown: perimeter.least_outside() as f32 }
    }
}

impl<P: Reversible> Samples for Walks<P> {
    fn fill(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        let samples = depths.iter().map(|&depth| self.walk(depth, generator));
        self.fill_with(samples, batch);
    }

    fn fill_to_learn(&self, depths: &[u32], generator: &mut Generator, batch: &mut Batch) {
        let Some((share, sparse_states)) = &self.sparse_states else { return self.fill(depths, generator, batch) };
        let walks = depths.len() - (share * depths.len() as f64).round() as usize;
        let samples = depths.iter().enumerate().map(|(i, &depth)| {
            if i < walks {
                return self.walk(depth, generator);
            }
            let (state, made) = sparse_states.sample(&*self.puzzle, &self.pruning, self.goals[0], generator);
            Sample { state, cost: made.len() as Cost, made }
        });
        self.fill_with(samples, batch);
    }
}

impl<P: Reversible> Walks<P> {
    /// A walk of so many moves, fewer where it comes to an end.
    fn walk(&self, depth: u32, generator: &mut Generator) -> Sample<P::State> {
        let goal = self.goals[below(generator, self.goals.len())];
        let mut walker = Walker { pruning: Some(&self.pruning), ..Walker::new(&*self.puzzle, goal) };
        let onward = self.known.as_ref().filter(|(_, purpose)| *purpose == Use::WholeWalks);
        let mut cost = 0;
        for _ in 0..depth {
            if walker.step(generator).is_none() {
                break;
            }
            cost = onward.and_then(|(perimeter, _)| perimeter.cost(&*self.puzzle, &walker.state)).unwrap_or(cost + 1);
        }
        Sample { state: walker.state, made: walker.made, cost }
    }

    /// Writes samples into a batch.
    fn fill_with(&self, samples: impl Iterator<Item = Sample<P::State>>, batch: &mut Batch) {
        let children_of = self.known.as_ref().filter(|(_, purpose)| *purpose == Use::Children);
        let mut states = Vec::new();
        for (Sample { state, made, cost }, (mut row, label, mut back)) in samples.zip(batch.samples_mut()) {
            self.puzzle.encode(&state, row.as_slice_mut().expect("rows are contiguous"));
            let known = self.known.as_ref().and_then(|(perimeter, _)| perimeter.cost(&*self.puzzle, &state));
            *label = known.unwrap_or(cost) as f32;
            self.pruning.back(&made).for_each(|action| back[usize::from(action)] = 1);
            states.extend(children_of.map(|_| state));
        }
        batch.children = children_of.map(|(perimeter, _)| self.children(perimeter, &states));
    }
}

/// A random walk, move by move.
#[derive(Debug)]
pub struct Walker<'a, P: Reversible> {
    puzzle: &'a P,
    /// Where the walk is.
    pub state: P::State,
    made: Vec<Move>,
    /// Moves that only undo or shorten are left out where these are known, else those that undo the last.
    pruning: Option<&'a MovePruning>,
}

impl<'a, P: Reversible> Walker<'a, P> {
    /// A walk that begins at a state.
    pub fn new(puzzle: &'a P, state: P::State) -> Self {
        Walker { puzzle, state, made: Vec::new(), pruning: None }
    }

    fn allows(&self, action: Move) -> bool {
        match self.pruning {
            Some(pruning) => pruning.allow(&self.made, action),
            None => self.made.last().is_none_or(|&last| action != self.puzzle.inverse(last)),
        }
    }

    /// Makes a random legal move, not the one that undoes the last unless there is no other; `None` if there is none.
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
        let legal: Vec<(Move, P::State)> =
            (0..moves as Move).filter_map(|action| Some((action, self.puzzle.apply(&self.state, action)?))).collect();
        let others: Vec<_> = legal.iter().filter(|(action, _)| self.allows(*action)).collect();
        let pick = match (others.len(), legal.len()) {
            (0, count) if count == 0 || self.pruning.is_some() => return None,
            (0, count) => legal[below(generator, count)],
            (count, _) => *others[below(generator, count)],
        };
        Some(self.go(pick.0, pick.1))
    }

    #[inline]
    fn go(&mut self, action: Move, next: P::State) -> Move {
        self.state = next;
        self.made.push(action);
        action
    }
}
