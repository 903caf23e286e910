//! Which children of a layer are worth an evaluation, by the move probabilities.

use super::Beam;
use super::cut::{Key, cut};
use crate::heuristic::HeuristicError;
use crate::puzzle::{Move, Puzzle, State};
use crate::search::exchange::Exchange;
use crate::search::nodes::layer::Layer;
use crate::workers::extend;

/// Move probabilities below this count as this.
const LEAST_PROBABILITY: f32 = 1e-4;

/// Move probabilities that a thread takes at least.
const AT_LEAST: usize = 1 << 12;

/// Which children of a layer are worth an evaluation.
pub(super) struct Shortlist {
    moves: usize,
    /// The policy prior of each child, in moves: −c·ln p; none without move probabilities.
    priors: Vec<f32>,
    /// The last child that is: all are where this is missing.
    pub(super) last: Option<Key>,
}

impl Shortlist {
    /// All children.
    pub(super) fn new<P: Puzzle>(
        puzzle: &P,
        settings: &Beam<P::State>,
        threads: usize,
        layer: &Layer<P::State>,
    ) -> Self {
        let prior = |p: f32| -settings.policy_weight * p.max(LEAST_PROBABILITY).ln();
        let mut priors = Vec::new();
        extend(threads, &mut priors, layer.policy.len(), AT_LEAST, |i| prior(layer.policy[i]));
        Shortlist { moves: puzzle.move_count(), priors, last: None }
    }

    /// How promising a child is, less for more, and of equals, an order that depends on nothing else.
    pub(super) fn key<S>(&self, layer: &Layer<S>, parent: usize, action: Move) -> Key {
        let tie = (layer.hashes[parent] ^ u64::from(action)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Key::new(layer.values[parent] + self.priors[parent * self.moves + usize::from(action)], tie)
    }

    /// The last of the most promising children of all ranks; `None` where there are not more.
    pub(super) fn cut<S: State>(
        &self,
        exchange: &dyn Exchange,
        threads: usize,
        layer: &Layer<S>,
        count: u64,
    ) -> Result<Option<Key>, HeuristicError> {
        let key = |i: usize| self.key(layer, i / self.moves, (i % self.moves) as Move);
        cut(exchange, threads, count, self.priors.len(), key)
    }

    pub(super) fn has<S>(&self, layer: &Layer<S>, parent: usize, action: Move) -> bool {
        self.last.is_none_or(|last| self.key(layer, parent, action) <= last)
    }

    /// The policy prior of a child.
    pub(super) fn prior(&self, parent: usize, action: Move) -> Option<f32> {
        self.priors.get(parent * self.moves + usize::from(action)).copied()
    }
}
