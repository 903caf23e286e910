//! Symmetry averaging: states near the beam's edge are evaluated a second time.

use super::Run;
use super::cut::{Key, cut};
use crate::heuristic::{Heuristic, Query};
use crate::puzzle::Puzzle;
use crate::search::Control;
use crate::search::chunk_queue::ChunkQueue;
use crate::search::limits::Interrupt;
use crate::search::nodes::arena::NodeId;
use crate::search::nodes::layer::Layer;

impl<P: Puzzle> Run<'_, P> {
    /// Evaluates the children near the beam's edge again, as their symmetric state, and takes the means; what is beyond
    /// is cut off.
    pub(super) fn average_symmetric(
        &mut self,
        children: Layer<P::State>,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Layer<P::State>, Interrupt> {
        let width = self.settings.n.max(1) as u64;
        let aside = (width as f32 * self.settings.symmetry_averaging) as u64;
        let has_images = self.puzzle.symmetric_state(&self.start).is_some();
        if aside == 0 || !has_images || self.exchange.gather(children.len() as u64)?.iter().sum::<u64>() <= width {
            return Ok(children);
        }
        let key = |children: &Layer<P::State>, i: usize| Key::new(children.rank(i), children.hashes[i]);
        let edge = |count| cut(self.exchange, self.threads, count, children.len(), |i| key(&children, i));
        let last = edge(width.saturating_add(aside))?;
        let first = if aside < width { edge(width - aside)? } else { None };
        self.cut_off |= last.is_some();
        let within = |i: &NodeId| last.is_none_or(|last| key(&children, *i as usize) <= last);
        let within: Vec<NodeId> = (0..children.len() as NodeId).filter(within).collect();
        let mut chosen = children.pick(self.threads, &within);
        drop(children);
        let near = |&i: &usize| first.is_none_or(|first| key(&chosen, i) > first);
        let near: Vec<usize> = (0..chosen.len()).filter(near).collect();
        let mut values = Vec::with_capacity(near.len());
        let images: Vec<P::State> =
            near.iter().filter_map(|&i| self.puzzle.symmetric_state(&chosen.states[i])).collect();
        let mut queue = ChunkQueue::new(heuristic, Query::Values);
        let mut ended = Ok(());
        while queue.is_full(&images) {
            if let Some(limit) = self.reached(&chosen, control) {
                ended = Err(limit.into());
                break;
            }
            queue.advance(&images, &mut self.stats.evaluated, |estimates| values.extend(estimates.values))?;
        }
        match ended {
            Ok(()) => queue.finish(&images, &mut self.stats.evaluated, |estimates| values.extend(estimates.values))?,
            Err(_) => queue.discard(),
        }
        self.agree(ended, control)?;
        for (i, other) in near.into_iter().zip(values) {
            chosen.values[i] = 0.5 * (chosen.values[i] + other);
        }
        Ok(chosen)
    }
}
