//! Deferred evaluation: taking the first moves of the open list, many at once.
//!
//! Only the best move of each node, of those not taken yet, waits in the open list. Many nodes are popped together, and all of
//! their moves are examined, on all cores, that come before the last of these nodes. The moves taken are the same as one by
//! one, but those of a node follow one another.

use super::{Frontier, Priority};
use crate::memory;
use crate::puzzle::{Move, Puzzle};
use crate::search::nodes::{Arena, MoveOrder, NodeId, PREFETCH_AHEAD, Ties};
use crate::workers::{in_ranges, on_each};

/// The fewest nodes worth a thread.
const MIN_NODES: usize = 1 << 6;

/// The mean number of candidates a node is taken over about this many nodes, the last ones.
const MEAN_OVER: f32 = 1024.0;

/// Nodes popped, as a multiple of the nodes that probably have enough candidates: surplus nodes go back, and missing moves take
/// another round.
const SLACK: f32 = 1.1;

/// No entry: no priority has these bits.
const NONE: u64 = u64::MAX;

/// A move that may be taken. Those of a node follow one another.
#[derive(Clone, Copy)]
struct Candidate {
    /// Its place among all moves: its own entry, or a later one of a move before it of the same node.
    key: u64,
    action: Move,
    entry: u64,
    /// The entry of the node's next move, unless that is a candidate, too.
    next: u64,
}

impl<P: Puzzle> Frontier<'_, P> {
    /// Takes the first moves until there are `count`; the next move of each node enters the open list.
    pub(in crate::search) fn take_moves(&mut self, count: usize, taken: &mut Vec<(NodeId, Option<Move>)>) {
        let Some(policy_weight) = self.priority.deferred else { return };
        let (mut popped, mut back) = (Vec::new(), Vec::new());
        taken.reserve(count.min(self.open.len()));
        while taken.len() < count {
            let missing = count - taken.len();
            let likely = (SLACK * missing as f32 / self.moves_per_node.mean()).ceil() as usize;
            popped.clear();
            popped.reserve(likely.min(self.open.len()));
            self.open.take(likely, &mut popped);
            let Some(&last) = popped.last() else { return };
            popped.dedup(); // a node may have two entries
            let nodes = PoppedNodes {
                priority: &self.priority,
                policy_weight,
                arena: &self.stored.arena,
                order: &self.order,
                ties: self.open.ties,
            };
            let candidates =
                in_ranges(self.threads, popped.len(), MIN_NODES, |range| nodes.candidates(&popped[range], last));
            let keys = candidates.iter().map(|(_, keys)| keys.as_slice()).collect::<Vec<_>>().concat();
            self.moves_per_node.add(popped.len(), keys.len());
            let (last, with_last) = last_of(missing, keys);
            let chosen =
                on_each(self.threads, candidates, |(candidates, _)| nodes.choose(&candidates, last, with_last));
            back.clear();
            back.reserve(chosen.iter().map(|chosen| chosen.waiting.len()).sum());
            for ChosenMoves { moves, waiting, expanded } in &chosen {
                taken.extend(moves);
                back.extend(waiting);
                self.stats.expanded += expanded;
            }
            self.open.extend(self.threads, back.len(), |i| Some(back[i]));
        }
    }
}

/// A running mean of the number of a node's candidates.
#[derive(Default)]
pub(super) struct MovesPerNode {
    nodes: f32,
    moves: f32,
}

impl MovesPerNode {
    fn add(&mut self, nodes: usize, moves: usize) {
        (self.nodes, self.moves) = (self.nodes + nodes as f32, self.moves + moves as f32);
        let share = (MEAN_OVER / self.nodes).min(1.0);
        (self.nodes, self.moves) = (share * self.nodes, share * self.moves);
    }

    /// The mean, at least 1.
    fn mean(&self) -> f32 {
        if self.nodes > 0.0 { (self.moves / self.nodes).max(1.0) } else { 1.0 }
    }
}

/// The last of the `count` least keys, and how many of those equal it.
fn last_of(count: usize, mut keys: Vec<u64>) -> (u64, usize) {
    if keys.len() <= count {
        return (NONE, 0); // all keys are less
    }
    // Only moves of one node can have equal keys.
    let (_, &mut last, _) = keys.select_nth_unstable(count - 1);
    (last, keys[..count].iter().filter(|&&key| key == last).count())
}

/// The candidates that are taken, of some nodes.
struct ChosenMoves {
    moves: Vec<(NodeId, Option<Move>)>,
    /// The entries of the moves that wait next.
    waiting: Vec<u64>,
    /// The number of nodes whose first move is taken.
    expanded: u64,
}

/// Nodes that were popped from the open list, as threads share them.
struct PoppedNodes<'a, P: Puzzle> {
    priority: &'a Priority<'a, P>,
    policy_weight: f32,
    arena: &'a Arena<P::State>,
    order: &'a MoveOrder,
    ties: Ties,
}

impl<P: Puzzle> PoppedNodes<'_, P> {
    /// The moves of some nodes that come no later than `last`, and their keys. Outdated entries have none.
    fn candidates(&self, entries: &[u64], last: u64) -> (Vec<Candidate>, Vec<u64>) {
        let mut candidates = Vec::with_capacity(entries.len() + entries.len() / 2);
        for (i, &popped) in entries.iter().enumerate() {
            if let Some(&next) = entries.get(i + PREFETCH_AHEAD) {
                memory::prefetch(&self.arena[self.ties.id(next)]);
                self.order.prefetch(self.ties.id(next));
            }
            let id = self.ties.id(popped);
            let node = &self.arena[id];
            let at = |position: u8| {
                let next = self.order.at(id, position)?;
                let f = self.priority.of_move(node, self.policy_weight, next);
                Some((next.0, self.ties.entry(f, id)))
            };
            let mut position = self.order.taken(id);
            let mut following = at(position).filter(|(_, entry)| *entry == popped);
            let mut key = popped;
            while let Some((action, entry)) = following {
                following = at(position + 1);
                let key_of_next = following.map_or(NONE, |(_, entry)| entry.max(key));
                let is_candidate = following.is_some() && key_of_next <= last;
                let next = if is_candidate { NONE } else { following.map_or(NONE, |(_, entry)| entry) };
                candidates.push(Candidate { key, action, entry, next });
                if !is_candidate {
                    break;
                }
                (key, position) = (key_of_next, position + 1);
            }
        }
        let keys = candidates.iter().map(|candidate| candidate.key).collect();
        (candidates, keys)
    }

    /// Takes the candidates before `last`, and `with_last` candidates of this key, all of one node.
    fn choose(&self, candidates: &[Candidate], last: u64, mut with_last: usize) -> ChosenMoves {
        let mut chosen = ChosenMoves { moves: Vec::with_capacity(candidates.len()), waiting: Vec::new(), expanded: 0 };
        let mut before = None;
        for &Candidate { key, action, entry, next } in candidates {
            let id = self.ties.id(entry);
            let is_chosen = key < last || key == last && with_last > 0;
            if is_chosen {
                with_last -= usize::from(key == last);
                chosen.expanded += u64::from(self.order.advance(id) == 1);
                chosen.moves.push((id, Some(action)));
                chosen.waiting.extend((next != NONE).then_some(next));
            } else if before != Some((id, false)) {
                chosen.waiting.push(entry); // the first move of the node that is not taken
            }
            before = Some((id, is_chosen));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heuristic::{Estimates, Heuristic, HeuristicError, Query};
    use crate::puzzle::cube2::{Corners, Cube2};
    use crate::puzzle::{Notation as _, Rules as _};
    use crate::search::nodes::NO_PARENT;
    use foldhash::fast::FixedState;
    use ndarray::Array2;
    use std::hash::BuildHasher as _;

    /// Estimates and move probabilities by the hashes of states; many are equal.
    struct Hashed(Option<Estimates>);

    impl Heuristic<Corners> for Hashed {
        fn name(&self) -> &str {
            "hashed"
        }

        fn chunk(&self) -> usize {
            1 << 14
        }

        fn has_policy(&self) -> bool {
            true
        }

        fn submit(&mut self, states: &[Corners], _: Query) -> Result<(), HeuristicError> {
            let hash = |i: usize, salt: usize| FixedState::default().hash_one((states[i], salt));
            let values = (0..states.len()).map(|i| (hash(i, 99) % 9) as f32 / 2.0).collect();
            let probability = |(i, action)| [0.6, 0.2, 0.02][(hash(i, action) % 3) as usize];
            let policy = Array2::from_shape_fn((states.len(), Cube2.move_count()), probability);
            self.0 = Some(Estimates { values, policy: Some(policy) });
            Ok(())
        }

        fn collect(&mut self) -> Result<Estimates, HeuristicError> {
            Ok(self.0.take().expect("states were submitted"))
        }
    }

    /// A frontier with the states of a walk in its open list.
    fn filled(heuristic: &mut Hashed, threads: usize) -> Frontier<'_, Cube2> {
        let mut nodes = Frontier::new(&Cube2, heuristic, 0.6, Some(1.0), Ties::NewestFirst, threads);
        let mut state = Cube2.parse("R U").expect("two moves");
        for i in 0..4000u64 {
            let action = FixedState::default().hash_one(i) % Cube2.move_count() as u64;
            state = Cube2.apply(&state, action as Move).expect("every move is legal");
            nodes.store(&state, NO_PARENT, 0, (i % 5) as u32, true);
        }
        nodes.end_step().expect("it does not fail");
        nodes
    }

    #[test]
    fn many_moves_are_taken_as_if_one_by_one() {
        for (threads, count) in [(1, 1), (1, 7), (1, 300), (3, 3000), (2, 100_000)] {
            let (mut for_one, mut for_many) = (Hashed(None), Hashed(None));
            let (mut one, mut many) = (filled(&mut for_one, 1), filled(&mut for_many, threads));
            for _ in 0..5 {
                let mut expected = Vec::new();
                while expected.len() < count
                    && let Some(id) = one.take()
                {
                    let (action, _) = one.order.next(id).expect("it waits");
                    one.stats.expanded += u64::from(one.order.advance(id) == 1);
                    one.enter(id);
                    expected.push((id, Some(action)));
                }
                let mut taken = Vec::new();
                many.take_moves(count, &mut taken);
                taken.sort_unstable();
                expected.sort_unstable();
                assert_eq!(taken, expected, "{count} at once");
                assert_eq!((many.open.len(), many.stats.expanded), (one.open.len(), one.stats.expanded));
            }
        }
    }
}
