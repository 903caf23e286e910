//! What the ranks that share a beam agree on, and fetch from each other.

use super::cut::{Key, first_after};
use super::{Place, Run, Shortlist};
use crate::heuristic::HeuristicError;
use crate::puzzle::{Cost, Move, Puzzle, StateBytes};
use crate::search::limits::Interrupt;
use crate::search::nodes::arena::NodeId;
use crate::search::{Control, Incumbent, Limit, Stats};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a rank knows once it has generated its part of a layer.
#[derive(Serialize, Deserialize)]
struct Known {
    limit: Option<Limit>,
    generated: u64,
    found: Option<FoundThere>,
}

/// The best answer of a rank: its cost, its place in the order of children, its state's parent, and the moves from its state
/// on.
#[derive(Serialize, Deserialize)]
struct FoundThere {
    cost: Cost,
    order: (Key, Move),
    parent: Place,
    rest: Vec<Move>,
}

impl<P: Puzzle> Run<'_, P> {
    /// The parents whose children are generated together, in the order of all ranks' parents: as many ranges on each rank,
    /// which need not be equally long.
    pub(super) fn blocks(&self, children: usize, shortlist: &Shortlist) -> Result<Vec<Range<usize>>, HeuristicError> {
        let count = self.layer.len();
        let each = (children / self.children_each(shortlist)).max(1);
        if self.exchange.is_alone() {
            return Ok((0..count.div_ceil(each)).map(|block| block * each..count.min((block + 1) * each)).collect());
        }
        // Hashes deal states out evenly: the first rank's blocks are as good as those of any other.
        let is_first = self.exchange.rank() == 0;
        let own: Vec<Key> =
            (1..).map(|block| block * each).take_while(|&i| is_first && i < count).map(|i| self.key(i)).collect();
        let bounds: Vec<Key> = self.exchange.gather(own)?.concat();
        let first_from = |&bound| first_after(self.layer.len(), |i| self.key(i) < bound);
        let mut starts: Vec<usize> = bounds.iter().map(first_from).collect();
        starts.insert(0, 0);
        starts.push(count);
        Ok(starts.windows(2).map(|ends| ends[0]..ends[1]).collect())
    }

    /// Has all ranks agree on the answer of this layer, or on the limit that one of them has reached. An answer that was
    /// found before the limit is one.
    pub(super) fn agree(&mut self, ended: Result<(), Interrupt>, control: &Control<'_>) -> Result<(), Interrupt> {
        let limit = match ended {
            Ok(()) => None,
            Err(Interrupt::Limit(limit)) => Some(limit),
            Err(failed) => return Err(failed),
        };
        let found = self.found.take().and_then(|found| {
            let rest = self.settings.perimeter.path_to_goal(self.puzzle, &found.state)?;
            Some(FoundThere { cost: found.cost, order: found.order, parent: found.parent, rest })
        });
        let known = self.exchange.gather(Known { limit, generated: self.stats.generated, found })?;
        let generated: u64 = known.iter().map(|known| known.generated).sum();
        let limit = known.iter().find_map(|known| known.limit);
        let found = known.into_iter().filter_map(|known| known.found).min_by_key(|found| (found.cost, found.order));
        if let Some(FoundThere { cost, order: (_, action), parent, rest }) = found {
            let mut moves = self.path_to(self.behind.len(), parent)?;
            moves.push(action);
            moves.extend(rest);
            self.best = Some(Incumbent { moves, cost });
            return Ok(());
        }
        match limit {
            Some(limit) => Err(limit.into()),
            None if control.too_many(generated) => Err(Limit::Nodes.into()),
            None => Ok(()),
        }
    }

    /// The moves from the start to a state of a layer; all ranks ask for the same one.
    pub(super) fn path_to(&self, layer: usize, mut at: Place) -> Result<Vec<Move>, HeuristicError> {
        let mut moves = Vec::with_capacity(layer);
        for behind in self.behind[..layer].iter().rev() {
            let is_own = usize::from(at.rank) == self.exchange.rank();
            let own = is_own.then(|| (behind.parent(at.id as usize), behind.moves[at.id as usize]));
            let step = self.exchange.gather(own)?.into_iter().flatten().next();
            let (parent, action) = step.ok_or_else(lost)?;
            moves.push(action);
            at = parent;
        }
        moves.reverse();
        Ok(moves)
    }

    /// The states of a layer that are this rank's, generated again.
    pub(super) fn states_of(&self, layer: usize) -> Result<Vec<P::State>, HeuristicError> {
        let mut states = vec![self.start];
        for (depth, behind) in self.behind[..layer].iter().enumerate() {
            // The start is known to all.
            let parents = if depth == 0 || self.exchange.is_alone() {
                behind.parents.iter().map(|&parent| states[parent as usize]).collect()
            } else {
                self.fetch(&states, &behind.owners, &behind.parents)?
            };
            let child = |(parent, &action): (&P::State, &Move)| {
                self.puzzle.apply(parent, action).expect("the move was legal before")
            };
            states = parents.iter().zip(&behind.moves).map(child).collect();
        }
        Ok(states)
    }

    /// States of a layer, of which `own` are this rank's: those at these numbers of these ranks.
    fn fetch(&self, own: &[P::State], owners: &[u16], ids: &[NodeId]) -> Result<Vec<P::State>, HeuristicError> {
        let bytes = self.state_bytes()?;
        let mut wanted = vec![Vec::new(); self.exchange.size()];
        for (&owner, id) in owners.iter().zip(ids) {
            wanted[usize::from(owner)].extend_from_slice(&id.to_le_bytes());
        }
        let answer = |wanted: Vec<u8>| {
            let mut answer = Vec::new();
            for id in wanted.chunks_exact(4) {
                (bytes.write)(&own[u32::from_le_bytes([id[0], id[1], id[2], id[3]]) as usize], &mut answer);
            }
            answer
        };
        let answers = self.exchange.all_to_all(wanted)?.into_iter().map(answer).collect();
        let sent = self.exchange.all_to_all(answers)?;
        let mut sent: Vec<_> = sent.iter().map(|states| states.chunks_exact(bytes.size).map(bytes.read)).collect();
        let next = |&owner: &u16| sent[usize::from(owner)].next();
        owners.iter().map(next).collect::<Option<_>>().ok_or_else(lost)
    }

    /// How states travel.
    pub(super) fn state_bytes(&self) -> Result<StateBytes<P::State>, HeuristicError> {
        self.puzzle.state_bytes().ok_or_else(|| {
            HeuristicError(format!("the states of {} cannot travel from one process to another", self.puzzle.name()))
        })
    }

    /// What all ranks have counted.
    pub(super) fn stats_of_all(&self) -> Result<Stats, HeuristicError> {
        let Stats { generated, expanded, evaluated, stored, .. } = self.stats;
        let sum = |sum: [u64; 4], counts: [u64; 4]| std::array::from_fn(|i| sum[i] + counts[i]);
        let counts = self.exchange.gather([generated, expanded, evaluated, stored])?;
        let [generated, expanded, evaluated, stored] = counts.into_iter().fold([0; 4], sum);
        Ok(Stats { generated, expanded, evaluated, stored, ..self.stats })
    }
}

fn lost() -> HeuristicError {
    HeuristicError("a rank has lost a state of its beam".into())
}

impl super::Behind {
    fn parent(&self, i: usize) -> Place {
        Place { rank: self.owners.get(i).copied().unwrap_or(0), id: self.parents[i] }
    }
}
