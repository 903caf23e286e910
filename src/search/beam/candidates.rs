//! The candidates of a layer: the children that are evaluated at all, by the move probabilities.

use super::BeamRun;
use super::cut::{Key, cut};
use crate::heuristic::{HeuristicError, Query};
use crate::puzzle::{Move, Puzzle};
use crate::search::nodes::layer::{Layer, MIN_CHUNK};
use crate::workers::extend;

/// Move probabilities below this count as this.
const MIN_PROBABILITY: f32 = 1e-4;

/// The candidates among the children of a layer.
pub(super) struct Candidates {
    moves: usize,
    /// The policy prior of each child, in moves: −c·ln p; empty without move probabilities.
    priors: Vec<f32>,
    /// The last candidate; `None`: all children are candidates.
    pub(super) last: Option<Key>,
}

impl Candidates {
    /// The place of a child in the order of promise; equals are ordered by parent and move alone.
    pub(super) fn key<S>(&self, layer: &Layer<S>, parent: usize, action: Move) -> Key {
        let tie = (layer.hashes[parent] ^ u64::from(action)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Key::new(layer.values[parent] + self.priors[parent * self.moves + usize::from(action)], tie)
    }

    pub(super) fn has<S>(&self, layer: &Layer<S>, parent: usize, action: Move) -> bool {
        self.last.is_none_or(|last| self.key(layer, parent, action) <= last)
    }

    /// The policy prior of a child.
    pub(super) fn prior(&self, parent: usize, action: Move) -> Option<f32> {
        self.priors.get(parent * self.moves + usize::from(action)).copied()
    }
}

impl<P: Puzzle> BeamRun<'_, P> {
    /// The most promising children of a layer, of all ranks together `count` times the width. All children without move
    /// probabilities.
    pub(super) fn candidates(&self, layer: &Layer<P::State>, count: usize) -> Result<Candidates, HeuristicError> {
        let prior = |p: f32| -self.settings.policy_weight * p.max(MIN_PROBABILITY).ln();
        let (moves, mut priors) = (self.puzzle.move_count(), Vec::new());
        extend(self.threads, &mut priors, layer.policy.len(), MIN_CHUNK, |i| prior(layer.policy[i]));
        let all = Candidates { moves, priors, last: None };
        if self.query == Query::Values {
            return Ok(all);
        }
        let count = count.saturating_mul(self.settings.n.max(1)) as u64;
        let key = |i: usize| all.key(layer, i / moves, (i % moves) as Move);
        let last = cut(self.exchange, self.threads, count, all.priors.len(), key)?;
        Ok(Candidates { last, ..all })
    }
}
