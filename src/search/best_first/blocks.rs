//! Many nodes that are expanded at once, on all cores.
//!
//! Children are made by ranges of their parents, and looked up among the stored states and in the perimeter. Then, one after
//! the other in the order of parents and moves: answers are taken, known states are opened again that are reached more
//! cheaply, and new ones get their numbers. Of several children with one state, the first is the new one: each thread has
//! some shards of the hashes. Nothing depends on the number of threads.

use super::{BestFirst, GoalTest, Run};
use crate::memory;
use crate::puzzle::{Cost, Move, Puzzle, State};
use crate::search::Control;
use crate::search::nodes::arena::{Arena, NO_PARENT, Node, NodeId};
use crate::search::nodes::closed::{AHEAD, Closed, SHARDS, id, shard_of, word};
use crate::search::nodes::table::Table;
use crate::workers::{in_ranges, in_shards, on_each};

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
    has_goals: bool,
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
        self.store_all(threads, &pieces);
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
    fn store_all(&mut self, threads: usize, pieces: &[Piece<P::State>]) {
        if self.settings.ends_with_first_batch()
            && (!self.goals.is_empty() || pieces.iter().any(|piece| piece.has_goals))
        {
            return self.store_goals(pieces);
        }
        let children = Numbered::new(pieces);
        let duplicates = duplicates(threads, &children);
        let parts = on_each(threads, (0..pieces.len()).collect(), |piece| sift(&children, piece, &duplicates));
        let (new, again): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let new = new.concat();
        let first = self.nodes.add_all(threads, new.len(), |i| {
            let &Child { state, hash, parent, cost: g, action, .. } = children.child(new[i]);
            (hash, Node { state, parent, g, h: f32::NAN, action, closed: false })
        });
        for (number, known) in again.into_iter().flatten() {
            let &Child { parent, action, cost, .. } = children.child(number);
            let id = match known {
                Known::Stored(id) => id,
                Known::Before(number) => first + new.partition_point(|&new| new < number) as NodeId,
            };
            self.nodes.reach_again(id, parent, action, cost);
        }
    }

    /// Stores children one after the other, of a batch that has a goal and is the last: after its first goal, nothing is worth
    /// an evaluation any more.
    fn store_goals(&mut self, pieces: &[Piece<P::State>]) {
        for child in pieces.iter().flat_map(|piece| &piece.children) {
            let is_evaluated = !child.is_goal && self.goals.is_empty();
            let stored = self.nodes.store(&child.state, child.parent, child.action, child.cost, is_evaluated);
            if child.is_goal {
                self.goals.extend(stored);
            }
        }
    }
}

/// The children of all pieces, numbered one after the other.
struct Numbered<'a, S> {
    pieces: &'a [Piece<S>],
    /// The number of the first of each piece.
    starts: Vec<u32>,
    count: u32,
}

impl<'a, S> Numbered<'a, S> {
    fn new(pieces: &'a [Piece<S>]) -> Self {
        let mut starts = Vec::with_capacity(pieces.len());
        let count = pieces.iter().fold(0, |count, piece| {
            starts.push(count);
            count + piece.children.len() as u32
        });
        Numbered { pieces, starts, count }
    }

    fn child(&self, number: u32) -> &Child<S> {
        let piece = self.starts.partition_point(|&start| start <= number) - 1;
        &self.pieces[piece].children[(number - self.starts[piece]) as usize]
    }

    fn of_piece(&self, piece: usize) -> impl Iterator<Item = (u32, &Child<S>)> {
        (self.starts[piece]..).zip(&self.pieces[piece].children)
    }
}

/// What a child is known as.
#[derive(Clone, Copy)]
enum Known {
    Stored(NodeId),
    /// The state of a new child before it.
    Before(u32),
}

/// The children of a piece whose states are new, and those that reach a known one more cheaply.
fn sift<S>(children: &Numbered<'_, S>, piece: usize, duplicates: &[(u32, u32)]) -> (Vec<u32>, Vec<(u32, Known)>) {
    let start = children.starts[piece];
    let mut duplicates = duplicates[duplicates.partition_point(|&(number, _)| number < start)..].iter().peekable();
    let (mut new, mut again) = (Vec::with_capacity(children.pieces[piece].children.len()), Vec::new());
    for (number, child) in children.of_piece(piece) {
        if let Some((_, first)) = duplicates.next_if(|(duplicate, _)| *duplicate == number) {
            again.push((number, Known::Before(*first)));
        } else if child.stays && child.known == NO_PARENT {
            new.push(number);
        } else if child.stays {
            again.push((number, Known::Stored(child.known)));
        }
    }
    (new, again)
}

/// Makes the children of nodes, and looks them up. Those whose states are stored, and not at a greater cost, are left out.
fn make<P: Puzzle>(
    puzzle: &P,
    settings: &BestFirst<P::State>,
    arena: &Arena<P::State>,
    closed: &Closed,
    block: &[(NodeId, Option<Move>)],
) -> Piece<P::State> {
    let moves = puzzle.move_count() as Move;
    let tests_goals = settings.goal_test == GoalTest::Generated;
    let mut piece =
        Piece { children: Vec::new(), known: Vec::new(), generated: 0, free_moves: false, has_goals: false };
    piece.children.reserve(if block.iter().any(|(_, action)| action.is_none()) {
        block.len() * usize::from(moves)
    } else {
        block.len()
    });
    for (i, &(parent, action)) in block.iter().enumerate() {
        if let Some(&(ahead, _)) = block.get(i + AHEAD) {
            memory::prefetch(&arena[ahead].state);
        }
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
            let is_goal = tests_goals && puzzle.is_goal(&child);
            piece.has_goals |= is_goal;
            let cost = g + step;
            piece.children.push(Child {
                state: child,
                hash,
                parent,
                cost,
                known: NO_PARENT,
                action,
                is_goal,
                stays: true,
            });
        }
    }
    let Piece { children, known, .. } = &mut piece;
    children.iter().take(AHEAD).for_each(|child| closed.prefetch(child.hash));
    for i in 0..children.len() {
        if let Some(ahead) = children.get(i + AHEAD) {
            closed.prefetch(ahead.hash);
        }
        let Child { state, hash, known, .. } = &mut children[i];
        *known = closed.find(arena, *hash, state).unwrap_or(NO_PARENT);
    }
    children.retain(|child| child.known == NO_PARENT || child.cost < arena[child.known].g);
    *known = settings.perimeter.costs(puzzle, 1, children.len(), |i| &children[i].state);
    piece
}

/// The children that stay, are not stored, and have the state of one before them, with the first that has it; in order.
fn duplicates<S: State>(threads: usize, children: &Numbered<'_, S>) -> Vec<(u32, u32)> {
    let mut tables: Vec<Table> = (0..SHARDS).map(|_| Table::default()).collect();
    let threads = threads.min(children.count as usize / LEAST_EACH);
    let found = in_shards(threads, &mut tables, |first_shard, shards| {
        let mut found = Vec::new();
        shards.iter_mut().for_each(|shard| shard.reserve(children.count as usize / SHARDS));
        for (number, own) in (0..children.pieces.len()).flat_map(|piece| children.of_piece(piece)) {
            if let Some(shard) = shards.get_mut(shard_of(own.hash).wrapping_sub(first_shard))
                && own.known == NO_PARENT
                && own.stays
            {
                let is_same = |word: u64| children.child(id(word)).state == own.state;
                let first = shard.find_or_insert(word(own.hash, number), is_same);
                found.extend(first.map(|word| (number, id(word))));
            }
        }
        found
    });
    let mut found = found.concat();
    found.sort_unstable();
    found
}
