//! The memory of a step from one layer to the next on the CPU: how much it is, and what is made in chunks to take less.

use super::{DeviceLayers, joined};
use crate::search::limits::Interrupt;
use tch::Tensor;

/// Children that are hashed at a time on the CPU: while they are, no limit is checked, and each takes about 80 bytes.
const CHILDREN_AT_ONCE: i64 = 1 << 19;

/// Memory for each child of a layer while children are chosen, counted: hash, scores and the heap of a top-k, or the sort of
/// all.
const BYTES_PER_CHILD: u64 = 60;

/// Memory for each chosen child while the best are kept, counted: index, hash, scores, and its place in the heap of a top-k.
/// Its move probabilities come twice: in chunks, and together.
const BYTES_PER_CHOSEN: u64 = 48;

/// Memory for each state that is kept: index, hash, value and score. Its row comes twice: in chunks, and together.
const BYTES_PER_KEPT: u64 = 32;

/// The sizes that decide how much memory a step takes.
#[derive(Clone, Copy)]
struct LayerSize {
    width: u64,
    cells: u64,
    moves: u64,
    /// Whether each state has move probabilities.
    has_policy: bool,
    /// Children that are evaluated, at most.
    most_chosen: u64,
    /// States that are kept, at most.
    n: u64,
}

impl LayerSize {
    /// The memory of a layer in bytes, with what the step to the next one takes at most: while children are chosen, or while
    /// the best of them are kept. Left out is what the network takes for a chunk.
    fn step_bytes(self) -> u64 {
        let LayerSize { width, cells, moves, has_policy, most_chosen, n } = self;
        let (children, policy) = (width * moves, if has_policy { 4 * moves } else { 0 });
        let chosen = children.min(most_chosen);
        let choosing = BYTES_PER_CHILD * children;
        let keeping = (BYTES_PER_CHOSEN + 2 * policy) * chosen + (BYTES_PER_KEPT + 2 * cells + policy) * chosen.min(n);
        (BYTES_PER_KEPT + cells + policy) * width + choosing.max(keeping)
    }
}

impl DeviceLayers<'_> {
    /// Approximate memory on the host, in bytes, with what the step to the next layer takes.
    pub(in crate::search) fn host_bytes(&self) -> u64 {
        if self.rows.device().is_cuda() {
            return 0;
        }
        let size = LayerSize {
            width: self.width(),
            cells: self.rows.size()[1] as u64,
            moves: self.parts.moves.count as u64,
            has_policy: self.policies.is_some(),
            most_chosen: self.most_chosen(),
            n: self.weights.n as u64,
        };
        8 * self.known.numel() as u64 + size.step_bytes()
    }

    /// Rows whose children are hashed, or that are made, at a time. On CUDA all: a step there is short.
    fn rows_at_once(&self) -> i64 {
        if self.rows.device().is_cuda() { i64::MAX } else { (CHILDREN_AT_ONCE / self.parts.moves.count.max(1)).max(1) }
    }

    /// The hashes of all children of the layer, and which moves are legal, as `DeviceMoves::child_hashes` gives them; `None`
    /// once `is_over` holds.
    pub(super) fn child_hashes(&self, is_over: &dyn Fn() -> bool) -> Option<(Tensor, Option<Tensor>)> {
        let (width, at_once) = (self.rows.size()[0], self.rows_at_once());
        if width <= at_once {
            return Some(self.parts.moves.child_hashes(&self.rows, self.hashes.as_ref()));
        }
        let (mut all, mut all_legal) = (Vec::new(), Vec::new());
        for first in (0..width).step_by(at_once as usize) {
            if is_over() {
                return None;
            }
            let part = |column: &Tensor| column.narrow(0, first, at_once.min(width - first));
            let hashes = self.hashes.as_ref().map(part);
            let (hashes, legal) = self.parts.moves.child_hashes(&part(&self.rows), hashes.as_ref());
            all.push(hashes);
            // A copy: it is a part of three times as many numbers.
            all_legal.extend(legal.map(|legal| legal.copy()));
        }
        let legal = (!all_legal.is_empty()).then(|| Tensor::cat(&all_legal, 0));
        Some((Tensor::cat(&all, 0), legal))
    }

    /// Makes the chosen children with these indices, in chunks. `check` comes before each.
    ///
    /// # Errors
    /// That of `check`.
    pub(super) fn kept_rows(
        &self,
        kept: &Tensor,
        check: impl Fn() -> Result<(), Interrupt>,
    ) -> Result<Tensor, Interrupt> {
        let (count, at_once) = (kept.size()[0], self.rows_at_once());
        let mut rows = Vec::new();
        for first in (0..count).step_by(at_once as usize) {
            check()?;
            let part = kept.narrow(0, first, at_once.min(count - first));
            rows.push(self.chosen_rows(|column| column.index_select(0, &part)));
        }
        Ok(joined(rows, &self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_counts_the_next_layer_before_it_is_there() {
        let cube =
            LayerSize { width: 90_000, cells: 54, moves: 12, has_policy: true, most_chosen: 2_000_000, n: 1_000_000 };
        // A million chosen children with their probabilities twice, and nearly as many rows.
        assert!((300e6..400e6).contains(&(cube.step_bytes() as f64)), "{}", cube.step_bytes());
        // In a wide layer, there are many more children than are chosen.
        let wide = LayerSize { width: 1_000_000, ..cube };
        assert!(wide.step_bytes() > 720_000_000, "{}", wide.step_bytes());
        let narrow = LayerSize { most_chosen: 2000, n: 1000, ..wide };
        assert!(narrow.step_bytes() > 720_000_000, "its children are as many");
    }
}
