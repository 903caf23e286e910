//! Partial expansion: the moves that come first of all that wait, many at once.
//!
//! Of a node, only the best move that was not taken waits in the open list. Many nodes are taken from it together; of each,
//! all moves are looked at, on all cores, that come before the last of these nodes. The moves that are taken are the same as
//! one after the other; those of a node follow one another.

use super::{Expansion, Frontier, priority_of_move};
use crate::memory;
use crate::puzzle::{Move, Puzzle};
use crate::search::nodes::arena::{Arena, NodeId};
use crate::search::nodes::closed::AHEAD;
use crate::search::nodes::move_order::MoveOrder;
use crate::search::nodes::open::Open;
use crate::workers::{in_ranges, on_each};

/// Nodes whose moves a thread looks at, at least.
const LEAST_EACH: usize = 1 << 6;

/// About so many nodes, the last that were looked at, tell how many candidates the next ones have.
const TELLING: f32 = 1024.0;

/// So many times the nodes are taken that are likely to have enough candidates: what is too many goes back, and what is missing
/// takes another round.
const SLACK: f32 = 1.1;

/// What stands for no entry: no priority has these bits.
const NONE: u64 = u64::MAX;

/// A move that may be taken. Those of a node follow one another.
#[derive(Clone, Copy)]
struct Candidate {
    /// Its place among all moves: its entry of the open list, or that of a move of the same node that comes before it.
    key: u64,
    action: Move,
    entry: u64,
    /// The entry of the next move of its node, if that is no candidate.
    next: u64,
}

impl<P: Puzzle> Frontier<'_, P> {
    /// Takes the moves that come first, so many if there are; the next move of each node waits.
    pub(in crate::search) fn take_moves(&mut self, count: usize, taken: &mut Vec<(NodeId, Option<Move>)>) {
        let Expansion::Partial { policy_weight } = self.expansion else { return };
        let (mut waiting, mut back) = (Vec::new(), Vec::new());
        taken.reserve(count.min(self.open.len()));
        while taken.len() < count {
            let wanted = count - taken.len();
            let likely = (SLACK * wanted as f32 / self.moves_each.mean()).ceil() as usize;
            waiting.clear();
            waiting.reserve(likely.min(self.open.len()));
            self.open.take(likely, &mut waiting);
            let Some(&last) = waiting.last() else { return };
            waiting.dedup(); // a node may wait twice
            let nodes = Nodes {
                puzzle: self.puzzle,
                arena: &self.arena,
                order: &self.order,
                open: &self.open,
                weights: (self.lambda, policy_weight),
            };
            let candidates =
                in_ranges(self.threads, waiting.len(), LEAST_EACH, |range| nodes.candidates(&waiting[range], last));
            let keys = candidates.iter().map(|(_, keys)| keys.as_slice()).collect::<Vec<_>>().concat();
            self.moves_each.add(waiting.len(), keys.len());
            let (last, with_last) = last_of(wanted, keys);
            let chosen =
                on_each(self.threads, candidates, |(candidates, _)| nodes.choose(&candidates, last, with_last));
            back.clear();
            back.reserve(chosen.iter().map(|chosen| chosen.left.len()).sum());
            for Chosen { moves, left, begun } in &chosen {
                taken.extend(moves);
                back.extend(left);
                self.stats.expanded += begun;
            }
            self.open.add_all(self.threads, &back);
        }
    }
}

/// How many moves of a node are candidates.
#[derive(Default)]
pub(super) struct MovesEach {
    nodes: f32,
    moves: f32,
}

impl MovesEach {
    fn add(&mut self, nodes: usize, moves: usize) {
        (self.nodes, self.moves) = (self.nodes + nodes as f32, self.moves + moves as f32);
        let share = (TELLING / self.nodes).min(1.0);
        (self.nodes, self.moves) = (share * self.nodes, share * self.moves);
    }

    /// The mean, at least 1.
    fn mean(&self) -> f32 {
        if self.nodes > 0.0 { (self.moves / self.nodes).max(1.0) } else { 1.0 }
    }
}

/// Of some keys, the last of the `count` least, and how many of those are that one.
fn last_of(count: usize, mut keys: Vec<u64>) -> (u64, usize) {
    if keys.len() <= count {
        return (NONE, 0); // all come before that
    }
    // Only moves of one node may have the same key.
    let (_, &mut last, _) = keys.select_nth_unstable(count - 1);
    (last, keys[..count].iter().filter(|&&key| key == last).count())
}

/// The candidates of some nodes that are taken.
struct Chosen {
    moves: Vec<(NodeId, Option<Move>)>,
    /// The entries of the moves that wait next.
    left: Vec<u64>,
    /// Of how many nodes the first move is taken.
    begun: u64,
}

/// The nodes of a search, as several threads look at them.
struct Nodes<'a, P: Puzzle> {
    puzzle: &'a P,
    arena: &'a Arena<P::State>,
    order: &'a MoveOrder,
    open: &'a Open,
    /// λ and the policy weight.
    weights: (f32, f32),
}

impl<P: Puzzle> Nodes<'_, P> {
    /// The moves of some nodes that come no later than `last`, and their keys; entries that are outdated have none.
    fn candidates(&self, entries: &[u64], last: u64) -> (Vec<Candidate>, Vec<u64>) {
        let mut candidates = Vec::with_capacity(entries.len() + entries.len() / 2);
        for (i, &waiting) in entries.iter().enumerate() {
            if let Some(&ahead) = entries.get(i + AHEAD) {
                memory::prefetch(&self.arena[self.open.id(ahead)]);
                self.order.prefetch(self.open.id(ahead));
            }
            let id = self.open.id(waiting);
            let node = &self.arena[id];
            let at = |place: u8| {
                let next = self.order.at(id, place)?;
                Some((next.0, self.open.entry(priority_of_move(self.puzzle, node, self.weights, next), id)))
            };
            let mut place = self.order.taken(id);
            let mut following = at(place).filter(|(_, entry)| *entry == waiting);
            let mut key = waiting;
            while let Some((action, entry)) = following {
                following = at(place + 1);
                let key_of_next = following.map_or(NONE, |(_, entry)| entry.max(key));
                let is_candidate = following.is_some() && key_of_next <= last;
                let next = if is_candidate { NONE } else { following.map_or(NONE, |(_, entry)| entry) };
                candidates.push(Candidate { key, action, entry, next });
                if !is_candidate {
                    break;
                }
                (key, place) = (key_of_next, place + 1);
            }
        }
        let keys = candidates.iter().map(|candidate| candidate.key).collect();
        (candidates, keys)
    }
}

impl<P: Puzzle> Nodes<'_, P> {
    /// Takes the candidates of some nodes that come before the last one, and so many of those that have its key: those are of one
    /// node.
    fn choose(&self, candidates: &[Candidate], last: u64, mut with_last: usize) -> Chosen {
        let mut chosen = Chosen { moves: Vec::with_capacity(candidates.len()), left: Vec::new(), begun: 0 };
        let mut before = None;
        for &Candidate { key, action, entry, next } in candidates {
            let id = self.open.id(entry);
            let is_chosen = key < last || key == last && with_last > 0;
            if is_chosen {
                with_last -= usize::from(key == last);
                chosen.begun += u64::from(self.order.advance(id) == 1);
                chosen.moves.push((id, Some(action)));
                chosen.left.extend((next != NONE).then_some(next));
            } else if before != Some((id, false)) {
                chosen.left.push(entry); // of a node, the first that is left waits again
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
    use crate::search::nodes::arena::NO_PARENT;
    use crate::search::nodes::open::Ties;
    use foldhash::fast::FixedState;
    use ndarray::Array2;
    use std::hash::BuildHasher as _;

    /// Estimates and move probabilities by the hashes of states: many are the same.
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

    /// A frontier of the states of a walk, all of which wait.
    fn filled(heuristic: &mut Hashed, threads: usize) -> Frontier<'_, Cube2> {
        let expansion = Expansion::Partial { policy_weight: 1.0 };
        let mut nodes = Frontier::new(&Cube2, heuristic, 0.6, expansion, Ties::NewestFirst);
        nodes.threads = threads;
        let mut state = Cube2.parse("R U").expect("two moves");
        for i in 0..4000u64 {
            let action = FixedState::default().hash_one(i) % Cube2.move_count() as u64;
            state = Cube2.apply(&state, action as Move).expect("every move is legal");
            nodes.store(&state, NO_PARENT, 0, (i % 5) as u32, true);
        }
        nodes.evaluate_rest().expect("it does not fail");
        nodes
    }

    #[test]
    fn many_moves_are_taken_as_one_after_the_other() {
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
