//! The candidates of a layer: the children that are evaluated at all, by the move probabilities.

use super::cut::{Key, cut};
use super::{BeamLayer, BeamRun};
use crate::error::Result;
use crate::heuristic::Query;
use crate::puzzle::{Move, Puzzle};
use crate::workers::{GRAIN, extend};

/// Move probabilities below this count as this.
pub(super) const MIN_PROBABILITY: f32 = 1e-4;

/// The candidates among the children of a layer.
pub(super) struct Candidates {
    moves: usize,
    /// The expected number of a state's candidates.
    pub(super) each: usize,
    /// The policy prior of each child, in moves: −c·ln p, or infinity if the child is left out; empty without move
    /// probabilities.
    priors: Vec<f32>,
    /// The hash of each child, 0 for an illegal move; empty if no child is left out.
    hashes: Vec<u64>,
    /// The last candidate; `None`: all children are candidates.
    pub(super) last: Option<Key>,
}

impl Candidates {
    /// The memory taken in bytes while candidates are chosen among this many children with move probabilities: a prior, a hash,
    /// and whether it is known.
    pub(super) fn bytes_for(children: usize) -> u64 {
        (children * (size_of::<f32>() + size_of::<u64>() + size_of::<bool>())) as u64
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        (self.priors.capacity() * size_of::<f32>() + self.hashes.capacity() * size_of::<u64>()) as u64
    }

    /// The candidate score of a child; ties are ordered by parent and move alone.
    pub(super) fn key<S>(&self, layer: &BeamLayer<S>, parent: usize, action: Move) -> Key {
        let tie = (layer.hashes[parent] ^ u64::from(action)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Key::new(layer.values[parent] + self.priors[parent * self.moves + usize::from(action)], tie)
    }

    pub(super) fn has<S>(&self, layer: &BeamLayer<S>, parent: usize, action: Move) -> bool {
        let is_left_out = self.prior(parent, action) == Some(f32::INFINITY);
        !is_left_out && self.last.is_none_or(|last| self.key(layer, parent, action) <= last)
    }

    /// The policy prior of a child.
    pub(super) fn prior(&self, parent: usize, action: Move) -> Option<f32> {
        self.priors.get(parent * self.moves + usize::from(action)).copied()
    }

    /// The hash of a child, if it is known.
    pub(super) fn hash(&self, parent: usize, action: Move) -> Option<u64> {
        self.hashes.get(parent * self.moves + usize::from(action)).copied()
    }
}

impl<P: Puzzle> BeamRun<'_, P> {
    /// The most promising children of a layer, of all ranks together `count` times the width. All children without move
    /// probabilities.
    ///
    /// With `new_only`, states that were evaluated before are left out, so that they take no new state's place: on puzzles
    /// with long solutions they would take two places of five.
    pub(super) fn candidates(&self, layer: &BeamLayer<P::State>, count: usize, new_only: bool) -> Result<Candidates> {
        let moves = self.puzzle.move_count();
        let mut all = Candidates { moves, each: moves, priors: Vec::new(), hashes: Vec::new(), last: None };
        if self.queue.query == Query::Values {
            return Ok(all);
        }
        let prior = |i: usize| -self.settings.policy_weight * layer.policy[i].max(MIN_PROBABILITY).ln();
        let children = layer.policy.len();
        if new_only {
            let hash = |i: usize| {
                let parent = i / moves;
                self.puzzle.child_hash(&layer.states[parent], layer.hashes[parent], (i % moves) as Move).unwrap_or(0)
            };
            extend(self.threads, &mut all.hashes, children, GRAIN, hash);
            let known = self.known(&all.hashes)?;
            let prior = |i: usize| if known[i] { f32::INFINITY } else { prior(i) };
            extend(self.threads, &mut all.priors, children, GRAIN, prior);
        } else {
            extend(self.threads, &mut all.priors, children, GRAIN, prior);
        }
        let total = count.saturating_mul(self.settings.n.max(1)) as u64;
        let key = |i: usize| all.key(layer, i / moves, (i % moves) as Move);
        let last = cut(self.exchange, self.threads, total, children, key)?;
        let each = if last.is_some() { count.clamp(1, moves) } else { moves };
        Ok(Candidates { each, last, ..all })
    }
}
