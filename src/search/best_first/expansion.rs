//! Expansion: the children of nodes are made and taken in.
//!
//! [Children](crate::search::children) are generated in pieces, on all cores, and looked up among the stored states and in the
//! perimeter. Then solutions are taken, stored states are opened again that are reached more cheaply, and new states get their
//! indices, all in the order of the children. The first of several children with one state is the new one. Nothing depends on
//! the number of threads. The children of few nodes are one piece, and are stored one by one.

use super::{BestFirst, BestFirstRun, GoalTest};
use crate::memory;
use crate::puzzle::{Cost, Move, Puzzle};
use crate::search::Control;
use crate::search::children::{duplicates, parent_ranges};
use crate::search::nodes::closed::by_shard;
use crate::search::nodes::{Bins, NO_PARENT, Node, NodeId, PREFETCH_AHEAD, Stored, hash};
use crate::workers::on_each;

/// Nodes that are expanded at once, at most: evaluation begins after each block.
pub(super) const MAX_NODES: usize = 1 << 12;

/// The same if each node makes one move.
pub(super) const MAX_MOVES: usize = 1 << 15;

/// The children of fewer nodes are stored one by one, which is faster.
pub(super) const MIN_PARALLEL: usize = 32;

/// A child that may be stored.
struct NewChild<S> {
    state: S,
    hash: u64,
    parent: NodeId,
    cost: Cost,
    /// The stored node of its state, or [`NO_PARENT`].
    known: NodeId,
    action: Move,
    is_goal: bool,
    /// Whether it is to be stored.
    stays: bool,
}

/// The children that one thread has made.
struct ExpandedPart<S> {
    children: Vec<NewChild<S>>,
    /// Children to store whose states are new, by shard; `None` if they are not looked up.
    unknown: Option<Bins>,
    /// The children that are goals or in the perimeter, with the costs from there.
    solved: Vec<(usize, Cost)>,
    generated: u64,
    /// Whether some move cost nothing.
    free_moves: bool,
    has_goals: bool,
    /// True if a child in `unknown` was discarded after it was made; if false, no thread reads another's children again.
    some_discarded: bool,
}

impl<P: Puzzle> BestFirstRun<'_, P> {
    /// Generates the children of nodes, by one move of each or by all, and takes them in.
    pub(super) fn expand(&mut self, block: &[(NodeId, Option<Move>)], control: &mut Control<'_>) {
        let threads = control.threads;
        let too_costly = self.too_costly();
        let each = if block.iter().any(|(_, action)| action.is_none()) { self.puzzle.move_count() } else { 1 };
        let one_by_one = block.len() < MIN_PARALLEL;
        let (puzzle, settings, stored) = (self.puzzle, self.settings, &self.nodes.stored);
        let mut pieces = if one_by_one {
            vec![make(puzzle, settings, (stored, false), block, too_costly, each)]
        } else {
            on_each(threads, parent_ranges(threads, 0..block.len(), each), |range| {
                make(puzzle, settings, (stored, true), &block[range], too_costly, each)
            })
        };
        self.nodes.stats.generated += pieces.iter().map(|piece| piece.generated).sum::<u64>();
        self.free_moves |= pieces.iter().any(|piece| piece.free_moves);
        self.take_solutions(&mut pieces, too_costly, control);
        let has_goals = !self.goals.is_empty() || pieces.iter().any(|piece| piece.has_goals);
        if one_by_one || settings.ends_with_first_batch() && has_goals {
            self.store_each(&pieces);
        } else {
            self.store_all(threads, &pieces);
        }
    }

    /// Takes the solutions among children. Drops these, and later children that cannot improve the solution.
    fn take_solutions(&mut self, pieces: &mut [ExpandedPart<P::State>], before: Cost, control: &mut Control<'_>) {
        if self.settings.ends_with_first_batch() {
            return; // goals are stored
        }
        let mut too_costly = before;
        for ExpandedPart { children, solved, some_discarded, .. } in pieces {
            *some_discarded = !solved.is_empty() || too_costly < before;
            if !*some_discarded {
                continue;
            }
            let mut solved = solved.iter().peekable();
            for (i, child) in children.iter_mut().enumerate() {
                if let Some(&(_, rest)) = solved.next_if(|(at, _)| *at == i) {
                    self.take_solution(child.parent, child.action, &child.state, child.cost + rest, control);
                    too_costly = self.too_costly();
                    child.stays = false;
                } else {
                    child.stays &= child.cost < too_costly;
                }
            }
        }
    }

    /// Stores children: new states, and stored ones that are reached more cheaply.
    fn store_all(&mut self, threads: usize, pieces: &[ExpandedPart<P::State>]) {
        let children = NumberedChildren { pieces, starts: starts(0, pieces.iter().map(|piece| piece.children.len())) };
        let unknown: Vec<&Bins> = pieces.iter().filter_map(|piece| piece.unknown.as_ref()).collect();
        let stays = |piece: usize, i: u32| !pieces[piece].some_discarded || pieces[piece].children[i as usize].stays;
        let is_same = |a: u32, b: u32| children.child(a).state == children.child(b).state;
        let duplicates = duplicates(threads, &children.starts, &unknown, stays, is_same);
        let sifted = on_each(threads, (0..pieces.len()).collect(), |piece| sift(&children, piece, &duplicates));
        let firsts = starts(self.nodes.stored.arena.len() as NodeId, sifted.iter().map(|piece| piece.new.len()));
        let id_of = |piece: usize, i: u32| match sifted[piece].positions[i as usize] {
            NOT_NEW => None,
            position => Some(firsts[piece] + position),
        };
        let new = sifted.iter().map(|piece| piece.new.as_slice()).collect::<Vec<_>>().concat();
        let node = |i: usize| {
            let (piece, i) = new[i];
            let &NewChild { state, parent, cost, action, .. } = &pieces[piece as usize].children[i as usize];
            Node::new(state, parent, action, cost)
        };
        self.nodes.store_new(new.len(), node, &unknown, id_of);
        for (piece, i, known) in sifted.iter().flat_map(|piece| &piece.again).copied() {
            let &NewChild { parent, action, cost, .. } = &pieces[piece as usize].children[i as usize];
            let id = match known {
                KnownAs::Stored(id) => id,
                KnownAs::Earlier(number) => {
                    let (piece, i) = children.place(number);
                    id_of(piece, i).expect("the first child of a state is new")
                }
            };
            self.nodes.reach_again(id, parent, action, cost);
        }
    }

    /// Stores children one by one. A batch that reaches a goal is the last: after its first goal, nothing is worth an
    /// evaluation.
    fn store_each(&mut self, pieces: &[ExpandedPart<P::State>]) {
        for child in pieces.iter().flat_map(|piece| &piece.children).filter(|child| child.stays) {
            let is_evaluated = !child.is_goal && self.goals.is_empty();
            let stored = self.nodes.store(&child.state, child.parent, child.action, child.cost, is_evaluated);
            if child.is_goal {
                self.goals.extend(stored);
            }
        }
    }
}

/// The first number of each piece, where all are numbered one after the other.
fn starts(first: u32, lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    lengths.scan(first, |next, length| Some(std::mem::replace(next, *next + length as u32))).collect()
}

/// The children of all pieces, numbered one after the other.
struct NumberedChildren<'a, S> {
    pieces: &'a [ExpandedPart<S>],
    starts: Vec<u32>,
}

impl<S> NumberedChildren<'_, S> {
    /// The piece of a child, and its index there.
    fn place(&self, number: u32) -> (usize, u32) {
        let piece = self.starts.partition_point(|&start| start <= number) - 1;
        (piece, number - self.starts[piece])
    }

    fn child(&self, number: u32) -> &NewChild<S> {
        let (piece, i) = self.place(number);
        &self.pieces[piece].children[i as usize]
    }
}

/// The source of a child's state.
#[derive(Clone, Copy)]
enum KnownAs {
    Stored(NodeId),
    /// A new child before it, by number.
    Earlier(u32),
}

/// The position of a child whose state is not new.
const NOT_NEW: u32 = u32::MAX;

/// The children of a piece, sifted: which are new, and which reach a known state more cheaply. Each is given by its piece and
/// its index there.
struct SiftedPiece {
    new: Vec<(u32, u32)>,
    /// The position of each child in `new`, or [`NOT_NEW`].
    positions: Vec<u32>,
    again: Vec<(u32, u32, KnownAs)>,
}

fn sift<S>(children: &NumberedChildren<'_, S>, piece: usize, duplicates: &[(u32, u32)]) -> SiftedPiece {
    let (start, own) = (children.starts[piece], &children.pieces[piece].children);
    let mut duplicates = duplicates[duplicates.partition_point(|&(number, _)| number < start)..].iter().peekable();
    let (mut new, mut positions, mut again) =
        (Vec::with_capacity(own.len()), Vec::with_capacity(own.len()), Vec::new());
    for (i, child) in (0..).zip(own) {
        let mut position = NOT_NEW;
        if let Some(&(_, first)) = duplicates.next_if(|(duplicate, _)| *duplicate == start + i) {
            again.push((piece as u32, i, KnownAs::Earlier(first)));
        } else if child.stays && child.known == NO_PARENT {
            position = new.len() as u32;
            new.push((piece as u32, i));
        } else if child.stays {
            again.push((piece as u32, i, KnownAs::Stored(child.known)));
        }
        positions.push(position);
    }
    SiftedPiece { new, positions, again }
}

/// Generates the children of nodes, `each` or fewer of a node. If it `looks_up`, children whose states are stored at no
/// greater cost are left out.
fn make<P: Puzzle>(
    puzzle: &P,
    settings: &BestFirst<P::State>,
    (stored, looks_up): (&Stored<P::State>, bool),
    block: &[(NodeId, Option<Move>)],
    too_costly: Cost,
    each: usize,
) -> ExpandedPart<P::State> {
    let arena = &stored.arena;
    let mut children = Vec::with_capacity(block.len() * each);
    let moves = puzzle.move_count() as Move;
    let tests_goals = settings.goal_test == GoalTest::Generated;
    let (mut generated, mut free_moves, mut has_goals) = (0, false, false);
    for (i, &(id, action)) in block.iter().enumerate() {
        if let Some(&(next, _)) = block.get(i + PREFETCH_AHEAD) {
            memory::prefetch(&arena[next].state);
        }
        let Node { state, g, parent: before, .. } = &arena[id];
        // The parent's state is stored already, at no greater cost.
        let before = (*before != NO_PARENT).then(|| &arena[*before].state);
        for action in action.map_or(0..moves, |action| action..action + 1) {
            let Some(child) = puzzle.apply(state, action) else { continue };
            generated += 1;
            if before == Some(&child) {
                continue;
            }
            let cost = g + puzzle.move_cost(state, action);
            free_moves |= cost == *g;
            let hash = if looks_up { hash(&child) } else { 0 };
            let is_goal = tests_goals && puzzle.is_goal(&child);
            has_goals |= is_goal;
            let stays = settings.ends_with_first_batch() || cost < too_costly;
            children.push(NewChild { state: child, hash, parent: id, cost, known: NO_PARENT, action, is_goal, stays });
        }
    }
    if looks_up {
        children.iter().take(PREFETCH_AHEAD).for_each(|child| stored.prefetch(child.hash));
        for i in 0..children.len() {
            if let Some(next) = children.get(i + PREFETCH_AHEAD) {
                stored.prefetch(next.hash);
            }
            let NewChild { state, hash, known, .. } = &mut children[i];
            *known = stored.find(*hash, state).unwrap_or(NO_PARENT);
        }
        children.retain(|child| child.known == NO_PARENT || child.cost < arena[child.known].g);
    }
    let mut solved = settings.perimeter.costs_on_rim(puzzle, children.len(), |i| &children[i].state);
    if has_goals {
        solved.retain(|&(i, _)| !children[i].is_goal);
        solved.extend((0..children.len()).filter(|&i| children[i].is_goal).map(|i| (i, 0)));
        solved.sort_unstable();
    }
    let unknown = (0..).zip(&children).filter(|(_, child)| child.known == NO_PARENT && child.stays);
    let unknown = looks_up.then(|| by_shard(unknown.map(|(i, child)| (i, child.hash))));
    ExpandedPart { children, unknown, solved, generated, free_moves, has_goals, some_discarded: false }
}
