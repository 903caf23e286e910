//! Many nodes that are expanded at once, on all cores.
//!
//! Children are made by ranges of their parents, and looked up among the stored states and in the perimeter. Then, one after
//! the other in the order of parents and moves: answers are taken, known states are opened again that are reached more
//! cheaply, and new ones get their numbers. Of several children with one state, the first is the new one: each thread has
//! some shards of the hashes. Nothing depends on the number of threads.

use super::{BestFirst, GoalTest, Run};
use crate::puzzle::{Cost, Move, Puzzle, State};
use crate::search::Control;
use crate::search::nodes::arena::{Arena, NO_PARENT, Node, NodeId};
use crate::search::nodes::closed::{Closed, SHARDS, shard_of};
use crate::workers::{in_ranges, in_shards};
use hashbrown::HashTable;
use std::sync::atomic::{AtomicU32, Ordering};

/// Nodes that are expanded at once, at most: evaluation begins after each block.
pub(super) const BLOCK: usize = 1 << 12;

/// Fewer are expanded one by one, which is sooner done.
pub(super) const LEAST: usize = 32;

/// Nodes that a thread takes at least.
const LEAST_EACH: usize = 128;

/// A child on its way to the stored nodes.
struct Child<S> {
    state: S,
    hash: u64,
    parent: NodeId,
    cost: Cost,
    /// The stored node of its state, or none.
    known: NodeId,
    action: Move,
    is_goal: bool,
    /// Whether it is to be stored.
    stays: bool,
}

/// The children that one thread has made.
struct Piece<S> {
    children: Vec<Child<S>>,
    /// Those that the perimeter knows, with the costs from there.
    known: Vec<(usize, Cost)>,
    generated: u64,
    /// Whether some move cost nothing.
    free_moves: bool,
}

impl<P: Puzzle> Run<'_, P> {
    /// Makes the children of nodes, by one move of each or by all, and takes them in.
    pub(super) fn expand_block(&mut self, block: &[(NodeId, Option<Move>)], control: &mut Control<'_>) {
        let (threads, puzzle, settings) = (control.threads(), self.puzzle, self.settings);
        let (arena, closed) = (&self.nodes.arena, &self.nodes.closed);
        let mut pieces =
            in_ranges(threads, block.len(), LEAST_EACH, |range| make(puzzle, settings, arena, closed, &block[range]));
        for piece in &mut pieces {
            self.nodes.stats.generated += piece.generated;
            self.free_moves |= piece.free_moves;
            self.take_answers(piece, control);
        }
        let firsts = first_of_each_state(threads, &pieces);
        self.store_all(threads, &pieces, &firsts);
    }

    /// Takes the answers among children; they are not stored, nor are those that cannot become better than the best.
    fn take_answers(&mut self, piece: &mut Piece<P::State>, control: &mut Control<'_>) {
        if self.settings.ends_with_first_batch() {
            return; // goals are stored
        }
        let mut known = piece.known.iter().copied().peekable();
        for i in 0..piece.children.len() {
            let child = &mut piece.children[i];
            let rest = known.next_if(|(at, _)| *at == i).map(|(_, rest)| rest);
            let rest = if child.is_goal { Some(0) } else { rest };
            child.stays = rest.is_none() && self.is_of_use(child.cost);
            if let Some(rest) = rest {
                let Child { parent, action, state, cost, .. } = *child;
                self.take_answer(parent, action, &state, cost + rest, control);
            }
        }
    }

    /// Stores children: new states, and known ones that are reached more cheaply.
    fn store_all(&mut self, threads: usize, pieces: &[Piece<P::State>], firsts: &[Vec<AtomicU32>]) {
        let mut new: Vec<(u64, NodeId)> = Vec::with_capacity(firsts.iter().map(Vec::len).sum());
        // Of each child, the node of its state, where that is new.
        let mut nodes: Vec<NodeId> = Vec::with_capacity(new.capacity());
        for (child, first) in pieces.iter().zip(firsts).flat_map(|(piece, firsts)| piece.children.iter().zip(firsts)) {
            let first = first.load(Ordering::Relaxed) as usize;
            let mut own = NO_PARENT;
            if child.stays {
                let Child { state, hash, parent, cost: g, action, .. } = *child;
                let known = if child.known != NO_PARENT { Some(child.known) } else { nodes.get(first).copied() };
                let stored = match known {
                    Some(id) => self.nodes.reach_again(id, parent, action, g),
                    None => {
                        let is_evaluated = !child.is_goal && self.goals.is_empty();
                        let node = Node { state, parent, g, h: f32::NAN, action, closed: false };
                        own = self.nodes.add(node, is_evaluated);
                        new.push((hash, own));
                        Some(own)
                    }
                };
                if child.is_goal {
                    // This batch is the last: after its first goal, nothing is worth an evaluation any more.
                    self.goals.extend(stored);
                }
            }
            nodes.push(own);
        }
        self.nodes.closed.insert_all(threads, &self.nodes.arena, &new);
    }
}

/// Makes the children of nodes, and looks them up.
fn make<P: Puzzle>(
    puzzle: &P,
    settings: &BestFirst<P::State>,
    arena: &Arena<P::State>,
    closed: &Closed,
    block: &[(NodeId, Option<Move>)],
) -> Piece<P::State> {
    let moves = puzzle.move_count() as Move;
    let tests_goals = settings.goal_test == GoalTest::Generated;
    let mut piece = Piece { children: Vec::new(), known: Vec::new(), generated: 0, free_moves: false };
    for &(parent, action) in block {
        let Node { state, g, parent: before, .. } = &arena[parent];
        let before = (*before != NO_PARENT).then(|| &arena[*before].state);
        for action in action.map_or(0..moves, |action| action..action + 1) {
            let Some(child) = puzzle.apply(state, action) else { continue };
            piece.generated += 1;
            if before == Some(&child) {
                continue; // stored already, and at no greater cost
            }
            let step = puzzle.move_cost(state, action);
            piece.free_moves |= step == 0;
            let hash = closed.hash(&child);
            let known = closed.find(arena, hash, &child).unwrap_or(NO_PARENT);
            let is_goal = tests_goals && puzzle.is_goal(&child);
            let cost = g + step;
            piece.children.push(Child { state: child, hash, parent, cost, known, action, is_goal, stays: true });
        }
    }
    let Piece { children, known, .. } = &mut piece;
    *known = settings.perimeter.costs(puzzle, 1, children.len(), |i| &children[i].state);
    piece
}

/// Of each child whose state is not stored, the number of the first one with that state, counted over all pieces; of the others,
/// any number.
fn first_of_each_state<S: State>(threads: usize, pieces: &[Piece<S>]) -> Vec<Vec<AtomicU32>> {
    let zeros = |piece: &Piece<S>| piece.children.iter().map(|_| AtomicU32::new(0)).collect();
    let firsts: Vec<Vec<AtomicU32>> = pieces.iter().map(zeros).collect();
    let all: usize = firsts.iter().map(Vec::len).sum();
    let mut tables: Vec<HashTable<(u32, u32, u32)>> = (0..SHARDS).map(|_| HashTable::new()).collect();
    let child = |piece: u32, i: u32| &pieces[piece as usize].children[i as usize];
    in_shards(threads.min(all / LEAST_EACH), &mut tables, |first_shard, shards| {
        let mut number = 0;
        for (p, (piece, firsts)) in (0..).zip(pieces.iter().zip(&firsts)) {
            for (i, (own, first)) in (0..).zip(piece.children.iter().zip(firsts)) {
                let shard = shard_of(own.hash).wrapping_sub(first_shard);
                if shard < shards.len() && own.known == NO_PARENT && own.stays {
                    let is_same = |&(p, i, _): &(u32, u32, u32)| child(p, i).state == own.state;
                    let entry = shards[shard].entry(own.hash, is_same, |&(p, i, _)| child(p, i).hash);
                    let (_, _, number) = *entry.or_insert((p, i, number)).get();
                    first.store(number, Ordering::Relaxed);
                }
                number += 1;
            }
        }
    });
    firsts
}
