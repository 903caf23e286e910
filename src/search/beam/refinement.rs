//! The refinement of an answer: exhaustive search for a cheaper one, from a layer into the perimeter.

use super::cut::Key;
use super::offspring::{Made, hashes, merged};
use super::{
    ChunkQueue, Control, Cost, Heuristic, HeuristicError, Incumbent, Layer, Limit, Move, NodeId, Place, Puzzle, Run,
    replay,
};
use crate::heuristic::Query;
use crate::search::beam::shortlist::Shortlist;
use crate::search::children::{self, Hashes, Parent, in_pieces};
use crate::search::exhaustive::{Exhaustive, sequences};
use crate::search::perimeter::Perimeter;
use crate::workers::on_own_threads;
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// From one state, at most about so many are generated.
const MOST_STATES: f64 = 1000.0;

/// The most promising children that it begins with, in widths.
const CHILDREN: usize = 2;

/// Roots that a thread takes at a time.
const AT_ONCE: usize = 64;

/// Roots between two looks at the limits: as many, whatever the number of threads.
const ROUND: usize = 16 * AT_ONCE;

/// Where a refinement begins.
pub(super) struct Refinement {
    pub(super) layer: usize,
    /// Whether it begins with children of the layer, chosen by the move probabilities, or with its states.
    children: bool,
    /// The moves from there to the perimeter.
    moves: usize,
}

/// A state that the refinement begins with.
struct Root<S> {
    state: S,
    /// Its place among all: the most promising is searched first.
    order: Key,
    /// Where it comes from in its layer, and by which move, if it is a child.
    at: Place,
    last: Option<Move>,
}

/// What a rank has found so far.
#[derive(Serialize, Deserialize)]
struct Progress {
    limit: Option<Limit>,
    generated: u64,
    found: Option<Key>,
    /// The root that is searched next.
    next: Option<Key>,
}

impl<P: Puzzle> Run<'_, P> {
    /// Where the refinement for an answer that costs less than `bound` begins.
    pub(super) fn refinement_for(&self, bound: Cost) -> Option<Refinement> {
        let perimeter = &self.settings.perimeter;
        if perimeter.is_empty() {
            return None;
        }
        let before_perimeter = bound.checked_sub(perimeter.step() + perimeter.depth())? as usize;
        let most_moves = (MOST_STATES.ln() / perimeter.branching().max(1.5).ln()) as usize;
        let children = self.ask == Query::ValuesAndPolicy && before_perimeter > 0;
        let moves = (before_perimeter - usize::from(children)).min(most_moves);
        Some(Refinement { layer: before_perimeter - moves - usize::from(children), children, moves })
    }

    /// Refines the answer: looks for cheaper ones from the layers that are there, until there is none.
    pub(super) fn refine(
        &mut self,
        mut bound: Cost,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<(), HeuristicError> {
        while !control.is_enough(Some(bound))
            && let Some(from) = self.refinement_for(bound)
            && from.layer <= self.behind.len()
            && let Some(answer) = self.refine_from(&from, heuristic, control)?
            && answer.cost < bound
        {
            bound = answer.cost;
            control.answer(&answer);
            self.best = Some(answer);
        }
        Ok(())
    }

    /// The first path into the perimeter in exactly so many moves; `None` also at a limit.
    fn refine_from(
        &mut self,
        from: &Refinement,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Option<Incumbent>, HeuristicError> {
        self.room = Layer::default();
        let roots = self.roots(from, heuristic)?;
        let until = AtomicUsize::new(usize::MAX);
        let (puzzle, settings, threads) = (self.puzzle, self.settings, self.threads);
        let search = Rounds { puzzle, perimeter: &settings.perimeter, threads, until: &until, idle: Mutex::default() };
        let mut own: Option<(Key, Place, Vec<Move>)> = None;
        let mut best: Option<Key> = None;
        let (mut searched, mut generated) = (0, self.stats.generated);
        let sizes = sequences(&settings.perimeter, from.moves, puzzle.move_count());
        let size = |root: &Root<P::State>| sizes[root.last.map_or(sizes.len() - 1, usize::from)];
        loop {
            self.report(control);
            let mut limit = control.reached(&|| self.bytes()).or(control.too_many(generated).then_some(Limit::Nodes));
            // What comes after the first path of another rank is not needed.
            let needed = |root: &&Root<P::State>| own.is_none() && best.is_none_or(|best| root.order < best);
            let needed = roots[searched..].iter().take(ROUND).take_while(needed);
            let mut room = if self.exchange.is_alone() { control.nodes_left(generated) } else { u64::MAX };
            let fits = |root: &&Root<P::State>| {
                let fits = size(root) <= room;
                room = room.saturating_sub(size(root));
                fits
            };
            let left = needed.clone().take_while(fits).count();
            if left == 0 && needed.count() > 0 {
                limit = limit.or(Some(Limit::Nodes));
            }
            if limit.is_none() && left > 0 {
                let together = &roots[searched..searched + left];
                let (counted, found) = search.round(together, from.moves);
                own = found.map(|(i, path)| {
                    (together[i].order, together[i].at, together[i].last.into_iter().chain(path).collect())
                });
                searched += left;
                self.stats.generated += counted;
            }
            let next = if own.is_none() { roots.get(searched).map(|root| root.order) } else { None };
            let found = own.as_ref().map(|(order, ..)| *order);
            let ranks = self.exchange.gather(Progress { limit, generated: self.stats.generated, found, next })?;
            if ranks.iter().any(|rank| rank.limit.is_some()) {
                return Ok(None);
            }
            generated = ranks.iter().map(|rank| rank.generated).sum();
            best = ranks.iter().filter_map(|rank| rank.found).min();
            if ranks.iter().filter_map(|rank| rank.next).all(|next| best.is_some_and(|best| best < next)) {
                break;
            }
        }
        let own = own.filter(|(order, ..)| Some(*order) == best).map(|(_, at, path)| (at, path));
        let Some((at, path)) = self.exchange.gather(own)?.into_iter().flatten().next() else { return Ok(None) };
        let mut moves = self.path_to(from.layer, at)?;
        moves.extend(path);
        Ok(replay(self.puzzle, &self.start, &moves).ok().map(|(_, cost)| Incumbent { moves, cost }))
    }

    /// What the refinement begins with on this rank, the most promising first.
    fn roots(
        &mut self,
        from: &Refinement,
        heuristic: &mut dyn Heuristic<P::State>,
    ) -> Result<Vec<Root<P::State>>, HeuristicError> {
        if !from.children {
            let rank = self.exchange.rank() as u16;
            let root = |(id, state): (usize, P::State)| Root {
                state,
                order: Key::new(0.0, self.hasher.hash_one(state)),
                at: Place { rank, id: id as NodeId },
                last: None,
            };
            let mut roots: Vec<_> = self.states_of(from.layer)?.into_iter().enumerate().map(root).collect();
            roots.sort_unstable_by_key(|root| root.order);
            return Ok(roots);
        }
        let again = if from.layer == self.behind.len() { None } else { Some(self.layer_again(from.layer, heuristic)?) };
        let layer = again.as_ref().unwrap_or(&self.layer);
        let mut shortlist = Shortlist::new(self.puzzle, self.settings, self.threads, layer);
        let count = CHILDREN.saturating_mul(self.settings.n.max(1)) as u64;
        shortlist.last = shortlist.cut(self.exchange, self.threads, layer, count)?;
        let moves = self.puzzle.move_count() as Move;
        let made =
            in_pieces(self.threads, 0..layer.len(), CHILDREN, Vec::new(), |range, piece: &mut Made<P::State>| {
                for parent in range {
                    let of = Parent { id: parent as NodeId, state: &layer.states[parent], cost: 0 };
                    let moves = (0..moves).filter(|&action| shortlist.has(layer, parent, action));
                    children::make(self.puzzle, &self.hasher, of, moves, None, |child| {
                        piece.order.push(shortlist.key(layer, parent, child.action));
                        piece.push(child, 0.0);
                    });
                }
                *piece = std::mem::take(piece).sorted();
            });
        drop(again);
        let made = self.exchanged(merged(self.threads, &made))?;
        let fresh = Hashes::default().insert_all(self.threads, &hashes(&made));
        let root = |(made, i): (&Made<P::State>, usize)| Root {
            state: made.children.states[i],
            order: made.order[i],
            at: made.parent(i),
            last: Some(made.children.moves[i]),
        };
        let firsts = made.iter().zip(&fresh).flat_map(|(made, fresh)| fresh.iter().map(move |&i| (made, i as usize)));
        Ok(firsts.map(root).collect())
    }

    /// The states of a layer, generated and evaluated again.
    fn layer_again(
        &mut self,
        layer: usize,
        heuristic: &mut dyn Heuristic<P::State>,
    ) -> Result<Layer<P::State>, HeuristicError> {
        let states = self.states_of(layer)?;
        let mut again = Layer::default();
        let mut queue = ChunkQueue::new(heuristic, self.ask);
        queue.finish(&states, &mut self.stats.evaluated, |estimates| again.take_in(self.threads, estimates))?;
        let hashes = states.iter().map(|state| self.hasher.hash_one(state)).collect();
        Ok(Layer { states, hashes, ..again })
    }
}

/// Exhaustive searches of roots, by all threads.
struct Rounds<'a, P: Puzzle> {
    puzzle: &'a P,
    perimeter: &'a Perimeter<P::State>,
    threads: usize,
    /// The part of a round that has found a path: those behind it are not needed.
    until: &'a AtomicUsize,
    /// Searches that no thread is at work with: they keep their memory.
    idle: Mutex<Vec<Exhaustive<'a, P>>>,
}

impl<P: Puzzle> Rounds<'_, P> {
    /// Searches some roots; gives the first that has a path, with the path, and how many states were generated up to it, which
    /// depends on nothing else.
    fn round(&self, roots: &[Root<P::State>], moves: usize) -> (u64, Option<(usize, Vec<Move>)>) {
        self.until.store(usize::MAX, Ordering::Relaxed);
        let parts: Vec<_> = roots.chunks(AT_ONCE).enumerate().collect();
        let found = on_own_threads(self.threads, parts, |(part, roots)| self.part(part, roots, moves));
        let mut counted = 0;
        for (part, (generated, found)) in found.into_iter().enumerate() {
            counted += generated;
            if let Some((i, path)) = found {
                return (counted, Some((part * AT_ONCE + i, path)));
            }
        }
        (counted, None)
    }

    fn part(&self, part: usize, roots: &[Root<P::State>], moves: usize) -> (u64, Option<(usize, Vec<Move>)>) {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut search = kept.unwrap_or_else(|| Exhaustive::new(self.puzzle, self.perimeter, self.until));
        let mut needed = roots.iter().enumerate().take_while(|_| self.until.load(Ordering::Relaxed) > part);
        let found = needed.find_map(|(i, root)| Some((i, search.search(&root.state, root.last, moves, part)?)));
        if found.is_some() {
            self.until.fetch_min(part, Ordering::Relaxed);
        }
        let generated = std::mem::take(&mut search.generated);
        idle().push(search);
        (generated, found)
    }
}
