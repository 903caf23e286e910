//! Agreement of the ranks that share a beam, and the states that they fetch from each other.

use super::cut::Key;
use super::{BeamRun, Candidates};
use crate::error::{Error, Result};
use crate::puzzle::{Cost, Move, Puzzle, StateBytes};
use crate::search::limits::{Interrupt, stop_at};
use crate::search::nodes::{BackPointers, NodeId};
use crate::search::{Control, Incumbent, Limit, Stats};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A state of a layer: the rank that owns it, and its index there.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct StateId {
    pub(super) rank: u16,
    pub(super) index: NodeId,
}

impl StateId {
    /// From columns of a layer; `owners` is empty if no other rank shares the search.
    pub(super) fn of_parent(owners: &[u16], parents: &[NodeId], i: usize) -> Self {
        StateId { rank: owners.get(i).copied().unwrap_or(0), index: parents[i] }
    }
}

/// The report of a rank that has generated its part of a layer.
#[derive(Serialize, Deserialize)]
struct LayerReport {
    limit: Option<Limit>,
    generated: u64,
    solution: Option<LayerSolution>,
}

/// A solution through a child that is a goal or in the perimeter.
#[derive(Serialize, Deserialize)]
pub(super) struct LayerSolution {
    pub(super) cost: Cost,
    /// The place of the child in the order of children: the key of its parent, and the move.
    pub(super) order: (Key, Move),
    pub(super) parent: StateId,
    /// The moves from the child on.
    pub(super) rest: Vec<Move>,
}

impl<P: Puzzle> BeamRun<'_, P> {
    /// Cuts the layer into blocks of parents with about this many children. All ranks have the same number of blocks, with the
    /// same bounds in the order of all ranks' parents.
    pub(super) fn blocks(&self, children: usize, candidates: &Candidates) -> Result<Vec<Range<usize>>> {
        let count = self.layer.len();
        let each = (children / candidates.each).max(1);
        if self.exchange.is_alone() {
            return Ok((0..count.div_ceil(each)).map(|block| block * each..count.min((block + 1) * each)).collect());
        }
        // Hashes spread states evenly: the first rank's bounds serve all.
        let is_first = self.exchange.rank() == 0;
        let own: Vec<Key> =
            (1..).map(|block| block * each).take_while(|&i| is_first && i < count).map(|i| self.layer.key(i)).collect();
        let bounds: Vec<Key> = self.exchange.gather(own)?.concat();
        let mut starts = vec![0];
        for bound in bounds {
            let start = starts[starts.len() - 1];
            starts.push(start + (start..count).take_while(|&i| self.layer.key(i) < bound).count());
        }
        starts.push(count);
        Ok(starts.windows(2).map(|ends| ends[0]..ends[1]).collect())
    }

    /// Agrees with all ranks on the solution of this layer, or on a limit that one of them has reached. A solution found
    /// before the limit counts.
    pub(super) fn agree(&mut self, limit: Option<Limit>, control: &Control<'_>) -> Result<(), Interrupt> {
        let (generated, solution) = (self.stats.generated, self.solution.take());
        let ranks = self.exchange.gather(LayerReport { limit, generated, solution })?;
        let generated: u64 = ranks.iter().map(|rank| rank.generated).sum();
        let limit = ranks.iter().find_map(|rank| rank.limit);
        let solutions = ranks.into_iter().filter_map(|rank| rank.solution);
        let best = solutions.min_by_key(|solution| (solution.cost, solution.order));
        if let Some(LayerSolution { cost, order: (_, action), parent, rest }) = best {
            let mut moves = self.path_to(self.back_pointers.len(), parent)?;
            moves.push(action);
            moves.extend(rest);
            self.best = Some(Incumbent { moves, cost });
            return Ok(());
        }
        stop_at(limit.or(control.too_many(generated).then_some(Limit::Nodes)))
    }

    /// The moves from the start to a state of a layer. All ranks must ask for the same state.
    pub(super) fn path_to(&self, layer: usize, mut at: StateId) -> Result<Vec<Move>> {
        let mut moves = Vec::with_capacity(layer);
        for BackPointers { parents, owners, moves: actions } in self.back_pointers[..layer].iter().rev() {
            let (is_own, i) = (usize::from(at.rank) == self.exchange.rank(), at.index as usize);
            let own = is_own.then(|| (StateId::of_parent(owners, parents, i), actions[i]));
            let step = self.exchange.gather(own)?.into_iter().flatten().next();
            let (parent, action) = step.ok_or_else(lost)?;
            moves.push(action);
            at = parent;
        }
        moves.reverse();
        Ok(moves)
    }

    /// Generates the states of a layer that this rank owns once more.
    pub(super) fn states_of(&self, layer: usize) -> Result<Vec<P::State>> {
        let mut states = vec![self.start];
        for (depth, BackPointers { parents, owners, moves }) in self.back_pointers[..layer].iter().enumerate() {
            // All ranks have the start.
            let parents = if depth == 0 || self.exchange.is_alone() {
                parents.iter().map(|&parent| states[parent as usize]).collect()
            } else {
                self.fetch(&states, owners, parents)?
            };
            let child = |(parent, &action): (&P::State, &Move)| {
                self.puzzle.apply(parent, action).expect("the move was legal before")
            };
            states = parents.iter().zip(moves).map(child).collect();
        }
        Ok(states)
    }

    /// Asks the owning ranks which hashes were evaluated; 0 stands for no state, and counts as evaluated.
    pub(super) fn known(&self, hashes: &[u64]) -> Result<Vec<bool>> {
        if self.exchange.is_alone() {
            return Ok(self.evaluated.contains_all(self.threads, hashes));
        }
        let mut requests = vec![Vec::new(); self.exchange.size()];
        for hash in hashes {
            requests[self.exchange.owner(*hash)].extend_from_slice(&hash.to_le_bytes());
        }
        let reply = |request: Vec<u8>| {
            let hashes: Vec<u64> = request.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
            self.evaluated.contains_all(self.threads, &hashes).into_iter().map(u8::from).collect()
        };
        let replies = self.exchange.all_to_all(requests)?.into_iter().map(reply).collect();
        let mut replies: Vec<_> = self.exchange.all_to_all(replies)?.into_iter().map(Vec::into_iter).collect();
        let next = |&hash: &u64| Some(replies[self.exchange.owner(hash)].next()? == 1);
        hashes.iter().map(next).collect::<Option<_>>().ok_or_else(lost)
    }

    /// Fetches states of a layer by rank and index; `own` are those of this rank.
    fn fetch(&self, own: &[P::State], owners: &[u16], ids: &[NodeId]) -> Result<Vec<P::State>> {
        let bytes = self.state_bytes()?;
        let mut requests = vec![Vec::new(); self.exchange.size()];
        for (&owner, id) in owners.iter().zip(ids) {
            requests[usize::from(owner)].extend_from_slice(&id.to_le_bytes());
        }
        let reply = |request: Vec<u8>| {
            let mut states = Vec::new();
            for id in request.chunks_exact(4) {
                (bytes.write)(&own[u32::from_le_bytes([id[0], id[1], id[2], id[3]]) as usize], &mut states);
            }
            states
        };
        let replies = self.exchange.all_to_all(requests)?.into_iter().map(reply).collect();
        let replies = self.exchange.all_to_all(replies)?;
        let mut states: Vec<_> = replies.iter().map(|states| states.chunks_exact(bytes.size).map(bytes.read)).collect();
        let next = |&owner: &u16| states[usize::from(owner)].next();
        owners.iter().map(next).collect::<Option<_>>().ok_or_else(lost)
    }

    /// The bytes of a state in a message.
    pub(super) fn state_bytes(&self) -> Result<StateBytes<P::State>> {
        self.puzzle.state_bytes().ok_or_else(|| {
            Error::Data(format!("the states of {} cannot travel from one process to another", self.puzzle.name()))
        })
    }

    /// The sums of all ranks' counts.
    pub(super) fn stats_of_all(&self) -> Result<Stats> {
        let Stats { generated, expanded, evaluated, stored, .. } = self.stats;
        let sum = |sum: [u64; 4], counts: [u64; 4]| std::array::from_fn(|i| sum[i] + counts[i]);
        let counts = self.exchange.gather([generated, expanded, evaluated, stored])?;
        let [generated, expanded, evaluated, stored] = counts.into_iter().fold([0; 4], sum);
        Ok(Stats { generated, expanded, evaluated, stored, ..self.stats })
    }
}

fn lost() -> Error {
    Error::Bug("a rank has lost a state of its beam".into())
}
