//! Many nodes that are expanded at once, on all cores.
//!
//! [Children](children) are made in pieces, and looked up among the stored states and in the perimeter. Then, one
//! after the other in their order: answers are taken, known states are opened again that are reached more cheaply, and new ones
//! get their numbers. Of several children with one state, the first is the new one. Nothing depends on the number of threads.

use super::{BestFirst, GoalTest, Run};
use crate::memory;
use crate::puzzle::{Cost, Move, Puzzle};
use crate::search::Control;
use crate::search::children::{self, Parent, duplicates, in_pieces};
use crate::search::nodes::arena::{Arena, NO_PARENT, Node, NodeId};
use crate::search::nodes::bins::Bins;
use crate::search::nodes::closed::{AHEAD, Closed, by_shard};
use crate::workers::on_each;

/// Nodes that are expanded at once, at most: evaluation begins after each block.
pub(super) const BLOCK: usize = 1 << 12;

/// Moves that are made at once, at most.
pub(super) const MOVES: usize = 1 << 15;

/// Fewer are expanded one by one, which is sooner done.
pub(super) const LEAST: usize = 32;

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
    /// Those that are to be stored, and whose states are not.
    unknown: Bins,
    /// Those that are goals, or that the perimeter knows, with the costs from there.
    answers: Vec<(usize, Cost)>,
    generated: u64,
    /// Whether some move cost nothing.
    free_moves: bool,
    has_goals: bool,
    /// Whether some no longer stay that did when they were made. Otherwise, `unknown` has none to leave out, and no thread need
    /// look at children that another has written.
    some_left_out: bool,
}

impl<S> Default for Piece<S> {
    fn default() -> Self {
        Piece {
            children: Vec::new(),
            unknown: Bins::default(),
            answers: Vec::new(),
            generated: 0,
            free_moves: false,
            has_goals: false,
            some_left_out: false,
        }
    }
}

impl<P: Puzzle> Run<'_, P> {
    /// Makes the children of nodes, by one move of each or by all, and takes them in.
    pub(super) fn expand_block(&mut self, block: &[(NodeId, Option<Move>)], control: &mut Control<'_>) {
        let (threads, puzzle, settings) = (control.threads(), self.puzzle, self.settings);
        let (arena, closed) = (&self.nodes.arena, &self.nodes.closed);
        let too_costly = self.too_costly();
        let each = if block.iter().any(|(_, action)| action.is_none()) { puzzle.move_count() } else { 1 };
        let mut pieces = in_pieces(threads, 0..block.len(), each, Vec::new(), |range, piece: &mut Piece<P::State>| {
            piece.children.reserve(range.len() * each);
            make(puzzle, settings, arena, closed, &block[range], too_costly, piece)
        });
        self.nodes.stats.generated += pieces.iter().map(|piece| piece.generated).sum::<u64>();
        self.free_moves |= pieces.iter().any(|piece| piece.free_moves);
        self.take_answers(&mut pieces, too_costly, control);
        self.store_all(threads, &pieces);
    }

    /// Takes the answers among children; they are not stored, nor are those behind them that cannot become better any more.
    /// What was too costly `before` is left out already.
    fn take_answers(&mut self, pieces: &mut [Piece<P::State>], before: Cost, control: &mut Control<'_>) {
        if self.settings.ends_with_first_batch() {
            return; // goals are stored
        }
        for Piece { children, answers, some_left_out, .. } in pieces {
            let mut from = 0;
            for &(i, rest) in &*answers {
                if self.too_costly() < before {
                    self.leave_out(&mut children[from..i]);
                }
                let Child { parent, action, state, cost, .. } = children[i];
                self.take_answer(parent, action, &state, cost + rest, control);
                children[i].stays = false;
                from = i + 1;
            }
            if self.too_costly() < before {
                self.leave_out(&mut children[from..]);
            }
            *some_left_out = !answers.is_empty() || self.too_costly() < before;
        }
    }

    /// Does not store those of some children that are of no use.
    fn leave_out(&self, children: &mut [Child<P::State>]) {
        let too_costly = self.too_costly();
        children.iter_mut().for_each(|child| child.stays &= child.cost < too_costly);
    }

    /// Stores children: new states, and known ones that are reached more cheaply.
    fn store_all(&mut self, threads: usize, pieces: &[Piece<P::State>]) {
        if self.settings.ends_with_first_batch()
            && (!self.goals.is_empty() || pieces.iter().any(|piece| piece.has_goals))
        {
            return self.store_goals(pieces);
        }
        let children = Numbered::new(pieces);
        let unknown: Vec<&Bins> = pieces.iter().map(|piece| &piece.unknown).collect();
        let stays = |piece: usize, i: u32| !pieces[piece].some_left_out || pieces[piece].children[i as usize].stays;
        let is_same = |a: u32, b: u32| children.child(a).state == children.child(b).state;
        let duplicates = duplicates(threads, &children.starts, &unknown, stays, is_same);
        let sifted = on_each(threads, (0..pieces.len()).collect(), |piece| sift(&children, piece, &duplicates));
        let mut next = self.nodes.arena.len() as NodeId;
        let mut firsts = Vec::with_capacity(sifted.len());
        for piece in &sifted {
            firsts.push(next);
            next += piece.new.len() as NodeId;
        }
        let id_of = |piece: usize, i: u32| match sifted[piece].ranks[i as usize] {
            NO_RANK => None,
            rank => Some(firsts[piece] + rank),
        };
        let new = sifted.iter().map(|piece| piece.new.as_slice()).collect::<Vec<_>>().concat();
        let node = |i: usize| {
            let (piece, i) = new[i];
            let &Child { state, parent, cost: g, action, .. } = &pieces[piece as usize].children[i as usize];
            Node { state, parent, g, h: f32::NAN, action, closed: false }
        };
        self.nodes.add_all(threads, new.len(), node, &unknown, id_of);
        for (piece, i, known) in sifted.iter().flat_map(|piece| &piece.again).copied() {
            let &Child { parent, action, cost, .. } = &pieces[piece as usize].children[i as usize];
            let id = match known {
                Known::Stored(id) => id,
                Known::Before(number) => {
                    let (piece, i) = children.place(number);
                    id_of(piece, i).expect("the first child of a state is new")
                }
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
}

impl<'a, S> Numbered<'a, S> {
    fn new(pieces: &'a [Piece<S>]) -> Self {
        let mut count = 0;
        let start = |piece: &Piece<S>| {
            count += piece.children.len() as u32;
            count - piece.children.len() as u32
        };
        let starts = pieces.iter().map(start).collect();
        Numbered { pieces, starts }
    }

    /// The piece of a child, and its number there.
    fn place(&self, number: u32) -> (usize, u32) {
        let piece = self.starts.partition_point(|&start| start <= number) - 1;
        (piece, number - self.starts[piece])
    }

    fn child(&self, number: u32) -> &Child<S> {
        let (piece, i) = self.place(number);
        &self.pieces[piece].children[i as usize]
    }
}

/// What a child is known as.
#[derive(Clone, Copy)]
enum Known {
    Stored(NodeId),
    /// The state of a new child before it, which has this number.
    Before(u32),
}

/// The rank of a child whose state is not new.
const NO_RANK: u32 = u32::MAX;

/// What is to be done with the children of a piece.
struct Sifted {
    /// Those whose states are new: the piece, and their numbers there.
    new: Vec<(u32, u32)>,
    /// The place of each child among the new ones; [`NO_RANK`] for the others.
    ranks: Vec<u32>,
    /// Those that reach a known state more cheaply.
    again: Vec<(u32, u32, Known)>,
}

/// Tells the children of a piece apart.
fn sift<S>(children: &Numbered<'_, S>, piece: usize, duplicates: &[(u32, u32)]) -> Sifted {
    let (start, own) = (children.starts[piece], &children.pieces[piece].children);
    let mut duplicates = duplicates[duplicates.partition_point(|&(number, _)| number < start)..].iter().peekable();
    let (mut new, mut ranks, mut again) = (Vec::with_capacity(own.len()), Vec::with_capacity(own.len()), Vec::new());
    for (i, child) in (0..).zip(own) {
        let mut rank = NO_RANK;
        if let Some(&(_, first)) = duplicates.next_if(|(duplicate, _)| *duplicate == start + i) {
            again.push((piece as u32, i, Known::Before(first)));
        } else if child.stays && child.known == NO_PARENT {
            rank = new.len() as u32;
            new.push((piece as u32, i));
        } else if child.stays {
            again.push((piece as u32, i, Known::Stored(child.known)));
        }
        ranks.push(rank);
    }
    Sifted { new, ranks, again }
}

/// Makes the children of nodes, and looks them up. Those whose states are stored, and not at a greater cost, are left out.
fn make<P: Puzzle>(
    puzzle: &P,
    settings: &BestFirst<P::State>,
    arena: &Arena<P::State>,
    closed: &Closed,
    block: &[(NodeId, Option<Move>)],
    too_costly: Cost,
    piece: &mut Piece<P::State>,
) {
    let moves = puzzle.move_count() as Move;
    let tests_goals = settings.goal_test == GoalTest::Generated;
    let children = &mut piece.children;
    for (i, &(id, action)) in block.iter().enumerate() {
        if let Some(&(ahead, _)) = block.get(i + AHEAD) {
            memory::prefetch(&arena[ahead].state);
        }
        let Node { state, g, parent: before, .. } = &arena[id];
        // It is stored already, and at no greater cost.
        let before = (*before != NO_PARENT).then(|| &arena[*before].state);
        let parent = Parent { id, state, cost: *g };
        let moves = action.map_or(0..moves, |action| action..action + 1);
        piece.generated += children::make(puzzle, closed.hasher(), parent, moves, before, |child| {
            piece.free_moves |= child.cost == *g;
            let is_goal = tests_goals && puzzle.is_goal(&child.state);
            piece.has_goals |= is_goal;
            let stays = settings.ends_with_first_batch() || child.cost < too_costly;
            let children::Child { state, hash, parent, action, cost } = child;
            children.push(Child { state, hash, parent, cost, known: NO_PARENT, action, is_goal, stays });
        });
    }
    children.iter().take(AHEAD).for_each(|child| closed.prefetch(child.hash));
    for i in 0..children.len() {
        if let Some(ahead) = children.get(i + AHEAD) {
            closed.prefetch(ahead.hash);
        }
        let Child { state, hash, known, .. } = &mut children[i];
        *known = closed.find(arena, *hash, state).unwrap_or(NO_PARENT);
    }
    children.retain(|child| child.known == NO_PARENT || child.cost < arena[child.known].g);
    piece.answers = settings.perimeter.costs(puzzle, children.len(), |i| &children[i].state);
    if piece.has_goals {
        piece.answers.retain(|&(i, _)| !children[i].is_goal);
        piece.answers.extend((0..children.len()).filter(|&i| children[i].is_goal).map(|i| (i, 0)));
        piece.answers.sort_unstable();
    }
    let unknown = (0..).zip(&*children).filter(|(_, child)| child.known == NO_PARENT && child.stays);
    piece.unknown = by_shard(unknown.map(|(i, child)| (i, child.hash)));
}
