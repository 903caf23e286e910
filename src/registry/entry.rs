//! A puzzle with the facts about it beyond its rules.

use super::perimeter_heuristic::default_heuristic;
use crate::error::{Result, SettingError};
use crate::heuristic::{Heuristic, PerState, zero};
use crate::puzzle::{Move, ParseError, Puzzle, Rules};
use crate::random::Generator;
use crate::sampler::{Source, Walker, Walks};
use crate::search::perimeter::PerimeterFolder;
use std::sync::Arc;

/// A puzzle, and the facts about it beyond its rules.
///
/// Built-in puzzles convert into one ([`From`]); [`Entry::new`] makes one of any other.
pub struct Entry<P: Puzzle> {
    puzzle: Arc<P>,
    search: &'static str,
    prefers_network: bool,
    own_heuristics: fn(&P) -> Vec<PerState<P::State>>,
    samples: Option<MakeSamples<P>>,
    random_state: Option<MakeState<P>>,
}

/// Makes a random state by some moves, or by the default number of them.
type MakeState<P> = fn(&P, Option<u64>, &mut Generator) -> <P as Rules>::State;

/// Makes a puzzle's own training samples.
type MakeSamples<P> = fn(&P) -> Result<Source, ParseError>;

impl<P: Puzzle> Clone for Entry<P> {
    fn clone(&self) -> Self {
        Entry { puzzle: Arc::clone(&self.puzzle), ..*self }
    }
}

impl<P: Puzzle> Entry<P> {
    /// A puzzle; without a network, it is searched from both ends if it is [reversible](Rules::is_reversible), and
    /// breadth-first if it is not.
    pub fn new(puzzle: P) -> Self {
        Entry {
            search: if puzzle.is_reversible() { "bidirectional" } else { "bfs" },
            puzzle: Arc::new(puzzle),
            prefers_network: true,
            own_heuristics: |_| Vec::new(),
            samples: None,
            random_state: None,
        }
    }

    /// Adds the puzzle's own heuristics, the default last. A table is made at the first query, by [`PerState::deferred`].
    pub fn with_heuristics(self, own: fn(&P) -> Vec<PerState<P::State>>) -> Self {
        Entry { own_heuristics: own, ..self }
    }

    /// Sets the search that measured best without a network.
    pub fn with_search(self, name: &'static str) -> Self {
        Entry { search: name, ..self }
    }

    /// Prefers that search even if there is a model: it measured better.
    pub fn without_network(self) -> Self {
        Entry { prefers_network: false, ..self }
    }

    /// Adds random states, for a puzzle without scrambles because its moves cannot be undone.
    pub fn with_random_states(self, random_state: MakeState<P>) -> Self {
        Entry { random_state: Some(random_state), ..self }
    }

    /// A random state that leads to a goal, by some moves or the default number of them; `None` for a puzzle with scrambles,
    /// or with neither.
    pub fn random_state(&self, moves: Option<u64>, generator: &mut Generator) -> Option<P::State> {
        let random_state = self.random_state.filter(|_| !self.puzzle.is_reversible())?;
        Some(random_state(&self.puzzle, moves, generator))
    }

    /// Adds training samples, for a puzzle that cannot be walked back from its goals.
    pub fn with_samples(self, samples: MakeSamples<P>) -> Self {
        Entry { samples: Some(samples), ..self }
    }

    /// The puzzle's rules, shared.
    pub fn puzzle(&self) -> &Arc<P> {
        &self.puzzle
    }

    /// The states that count as solved; empty for a puzzle whose moves cannot be undone.
    pub fn goals(&self) -> Vec<P::State> {
        if self.puzzle.is_reversible() { self.puzzle.goals() } else { Vec::new() }
    }

    /// A random walk from a goal, of some moves or the default number of them: its moves and its last state. A dead end makes
    /// it shorter. `None` for a puzzle whose moves cannot be undone.
    pub fn scramble(&self, moves: Option<u64>, generator: &mut Generator) -> Option<(Vec<Move>, P::State)> {
        let mut walker = Walker::new(&*self.puzzle, *self.goals().first()?);
        let depth = moves.unwrap_or_else(|| self.puzzle.default_depth().into());
        let moves = (0..depth).map_while(|_| walker.step(generator)).collect();
        Some((moves, walker.state))
    }

    /// The depth of the deepest perimeter in the cache with a file of at most this many bytes.
    pub fn cached_perimeter(&self, bytes: u64) -> Option<u32> {
        let files = PerimeterFolder::new(&*self.puzzle, None)?.files();
        files.into_iter().find(|file| file.bytes <= bytes).map(|file| file.depth)
    }

    /// The names of the heuristics that need no model, the default last.
    pub fn heuristics(&self) -> Vec<&'static str> {
        let own = (self.own_heuristics)(&self.puzzle).into_iter().map(|heuristic| heuristic.name);
        ["zero"].into_iter().chain(self.puzzle.is_reversible().then_some("perimeter")).chain(own).collect()
    }

    /// One of [`Entry::heuristics`]; `None` if there is none of that name.
    pub fn heuristic(&self, name: &str) -> Option<Box<dyn Heuristic<P::State>>> {
        if name == "perimeter" {
            let heuristic = self.puzzle.is_reversible().then(|| default_heuristic(&self.puzzle))?;
            return Some(Box::new(heuristic));
        }
        let mut all = [zero()].into_iter().chain((self.own_heuristics)(&self.puzzle));
        Some(Box::new(all.find(|heuristic| heuristic.name == name)?))
    }

    /// The facts that a configuration is resolved by.
    pub fn facts(&self) -> PuzzleFacts {
        let (is_reversible, goal) = (self.puzzle.is_reversible(), self.goals().first().copied());
        PuzzleFacts {
            name: self.puzzle.name(),
            is_reversible,
            symmetries: goal.map_or(0, |goal| self.puzzle.symmetric_images(&goal).count()),
            has_classes: is_reversible && self.puzzle.symmetries().is_some(),
            has_unit_costs: goal.is_some_and(|goal| has_unit_costs(&*self.puzzle, goal)),
            has_own_goal: self.puzzle.has_own_goal(),
            has_own_costs: self.puzzle.own_costs().is_some(),
            has_move_table: self.puzzle.move_table().is_some(),
            reduction: self.puzzle.reduction(),
            search: self.search,
            prefers_network: self.prefers_network,
            heuristics: self.heuristics(),
        }
    }

    /// Training samples: walks from the goals, or the puzzle's own.
    ///
    /// # Errors
    /// If the puzzle has neither.
    pub fn samples(&self) -> Result<Source> {
        let source = match self.samples {
            _ if self.puzzle.is_reversible() => {
                let samples = Arc::new(Walks::new(Arc::clone(&self.puzzle)));
                Ok(Source { samples, default_depth: self.puzzle.default_walk() })
            }
            Some(samples) => samples(&self.puzzle),
            None => Err(ParseError(format!(
                "the moves of {} cannot be undone, and training needs walks back from the goals",
                self.puzzle.name()
            ))),
        };
        source.map_err(|ParseError(reason)| SettingError::new("puzzle", reason).into())
    }
}

/// Whether moves cost 1, judged on a walk that makes every legal move.
pub(crate) fn has_unit_costs<P: Puzzle>(puzzle: &P, start: P::State) -> bool {
    const ROUNDS: usize = 8;
    let mut state = start;
    (0..ROUNDS * puzzle.move_count()).all(|step| {
        let action = (step % puzzle.move_count()) as Move;
        let Some(next) = puzzle.apply(&state, action) else { return true };
        let cost = puzzle.move_cost(&state, action);
        state = next;
        cost == 1
    })
}

/// The facts about a puzzle that a configuration is resolved by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PuzzleFacts {
    /// The puzzle's name.
    pub name: String,
    /// Whether its moves can be undone.
    pub is_reversible: bool,
    /// The number of symmetric images of an instance, itself included; 0 if the puzzle knows no symmetries.
    pub symmetries: usize,
    /// Whether a perimeter holds classes of states.
    pub has_classes: bool,
    /// Whether every move costs 1.
    pub has_unit_costs: bool,
    /// Whether the goal is the puzzle's own.
    pub has_own_goal: bool,
    /// Whether the user gave the costs of moves.
    pub has_own_costs: bool,
    /// Whether it has a [`MoveTable`](crate::puzzle::MoveTable): a device can make its moves.
    pub has_move_table: bool,
    /// The stages of the search `reduction`: [`Rules::reduction`].
    pub reduction: &'static [&'static str],
    /// The search that measured best without a network.
    pub search: &'static str,
    /// Whether a network measured better than that search.
    pub prefers_network: bool,
    /// The names of the heuristics that need no model, the default last.
    pub heuristics: Vec<&'static str>,
}
