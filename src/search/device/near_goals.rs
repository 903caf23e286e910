//! All states within some moves of the goals, by hash, found breadth-first on the device.

use crate::tensors::moves::DeviceMoves;
use tch::{Kind, Tensor};

/// The states near the goals.
pub(super) struct NearGoals {
    /// Their hashes, in ascending order, then `i64::MAX`, the sentinel of the binary search.
    hashes: Tensor,
    /// The number of moves to the nearest goal, of each.
    pub(super) depths: Tensor,
    /// All states within this many moves are known.
    pub(super) depth: u32,
}

impl NearGoals {
    /// The states within `max_depth` moves of the goals, or fewer, so that there are at most `most`. Moves must have inverses
    /// among the moves, so that a state is as far from a goal as the goal is from it.
    pub(super) fn new(moves: &DeviceMoves, goals: &Tensor, max_depth: u32, most: usize) -> Self {
        let (mut rows, mut layer) = unique(goals, &moves.hashes(goals));
        let end = layer.new_full([1], i64::MAX, (Kind::Int64, layer.device()));
        let depths = layer.zeros_like().pad([0, 1], "constant", f64::from(u8::MAX));
        let mut found = NearGoals { hashes: Tensor::cat(&[&layer, &end], 0), depths, depth: 0 };
        while found.depth < max_depth && layer.size()[0] > 0 {
            // About half of a layer's children are new.
            if layer.numel() * moves.count as usize / 2 > most {
                break;
            }
            let (hashes, legal) = moves.child_hashes(&rows, Some(&layer));
            let is_new = found.find(&hashes).0.logical_not();
            let children = both(is_new, legal.as_ref()).nonzero().flatten(0, 1);
            let (children, next) = unique(&children, &hashes.index_select(0, &children));
            if found.hashes.numel() + next.numel() > most {
                break;
            }
            found.depth += 1;
            let parents = children.divide_scalar_mode(moves.count, "floor");
            rows = moves.children(&rows.index_select(0, &parents), &children.remainder(moves.count));
            let (hashes, order) = Tensor::cat(&[&found.hashes, &next], 0).sort(0, false);
            let depths = Tensor::cat(&[found.depths, Tensor::full_like(&next, i64::from(found.depth))], 0);
            (found.hashes, found.depths) = (hashes, depths.index_select(0, &order));
            layer = next;
        }
        found.depths = found.depths.to_kind(Kind::Uint8);
        found
    }

    /// Memory for each state while they are found, in bytes, counted: two hashed children, or the row, its parent's and the
    /// cells that it comes from.
    pub(super) fn bytes_each(cells: usize) -> u64 {
        100 + 10 * cells as u64
    }

    /// Whether states with these hashes are near the goals, and their places in the table (undefined for misses).
    pub(super) fn find(&self, hashes: &Tensor) -> (Tensor, Tensor) {
        let places = hashes.searchsorted(&self.hashes, false, false, "left", None::<&Tensor>);
        (self.hashes.index_select(0, &places).eq_tensor(hashes), places)
    }

    /// Whether states with these hashes are near the goals, and the number of moves to the nearest (undefined for misses).
    pub(super) fn depths(&self, hashes: &Tensor) -> (Tensor, Tensor) {
        let (is_near, places) = self.find(hashes);
        (is_near, self.depths.index_select(0, &places))
    }
}

/// The indices of the states near the goals, those of least cost first, at most `most`; `costs` gives those of some indices.
/// Waits for the device, and launches nothing more if no state is near, as in most layers.
pub(super) fn nearest(is_near: &Tensor, costs: impl FnOnce(&Tensor) -> Tensor, most: i64) -> Tensor {
    let near = is_near.nonzero().flatten(0, 1);
    if near.numel() == 0 {
        return near;
    }
    let order = costs(&near).argsort_stable(true, 0, false);
    near.index_select(0, &order.narrow(0, 0, near.size()[0].min(most)))
}

/// The children for which a mask holds and whose moves are legal, `rows × moves`; `None`: all moves are legal.
pub(super) fn both(mask: Tensor, legal: Option<&Tensor>) -> Tensor {
    match legal {
        Some(legal) => mask.view_as(legal).logical_and(legal).flatten(0, 1),
        None => mask,
    }
}

/// The first item with each hash, and the hash, in the order of the hashes. Waits for the device.
pub(super) fn unique(things: &Tensor, hashes: &Tensor) -> (Tensor, Tensor) {
    let firsts = firsts(hashes);
    (things.index_select(0, &firsts), hashes.index_select(0, &firsts))
}

/// The index of the first of each hash, in the order of the hashes. Waits for the device.
pub(super) fn firsts(hashes: &Tensor) -> Tensor {
    let (hashes, order) = hashes.sort_stable(true, 0, false);
    let count = hashes.size()[0];
    if count < 2 {
        return order;
    }
    let differs = hashes.narrow(0, 1, count - 1).not_equal_tensor(&hashes.narrow(0, 0, count - 1));
    let firsts = differs.pad([1, 0], "constant", 1.0).nonzero().flatten(0, 1);
    order.index_select(0, &firsts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::tiles::Puzzle8;
    use crate::puzzle::{Puzzle, laws};
    use crate::tensors::host_numbers;
    use tch::Device;

    fn near<P: Puzzle>(puzzle: &P, depth: u32, most: usize) -> NearGoals {
        let (encoding, goal) = (puzzle.encoding(), puzzle.goals()[0]);
        let moves = DeviceMoves::new(&puzzle.move_table().expect("a table"), &encoding, Device::Cpu);
        let row = puzzle.row(&goal);
        NearGoals::new(&moves, &Tensor::from_slice(&row).view([1, -1]), depth, most)
    }

    fn counts(found: &NearGoals) -> Vec<usize> {
        let depths: Vec<u8> = host_numbers(&found.depths);
        (0..=found.depth).map(|depth| depths.iter().filter(|&&other| u32::from(other) == depth).count()).collect()
    }

    #[test]
    fn there_are_as_many_states_at_each_depth_as_on_the_host() {
        assert_eq!(counts(&near(&Cube3, 4, usize::MAX)), laws::states_by_depth(&Cube3, 4));
        assert_eq!(counts(&near(&Puzzle8::default(), 12, usize::MAX)), laws::states_by_depth(&Puzzle8::default(), 12));
        assert_eq!(near(&Cube3, 0, usize::MAX).depth, 0);
    }

    #[test]
    fn the_depth_follows_the_limit() {
        let found = near(&Cube3, 9, 2000);
        assert_eq!((found.depth, found.hashes.size()[0]), (3, 1 + 12 + 114 + 1068 + 1));
    }
}
