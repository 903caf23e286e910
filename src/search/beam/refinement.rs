//! The refinement of a solution: an exhaustive search for a cheaper one, from a layer into the perimeter.

use super::cut::Key;
use super::offspring::{hashes, merged};
use super::ranks::StateId;
use super::{BeamLayer, BeamRun, Control, Cost, Incumbent, Limit, NodeId, Puzzle};
use crate::error::Result;
use crate::heuristic::Query;
use crate::puzzle::{Move, replay};
use crate::search::children::Hashes;
use crate::search::exhaustive::{Exhaustive, sequences};
use crate::workers::{on_each, on_own_threads};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};

/// States generated from one root at most, roughly.
const MAX_STATES_PER_ROOT: f64 = 1000.0;

/// The number of roots, as a multiple of the width.
const ROOTS_PER_WIDTH: usize = 2;

/// Roots between two checks of the limits, whatever the number of threads.
const ROOTS_PER_ROUND: usize = 1024;

/// The fewest roots worth a thread.
const MIN_ROOTS: usize = 64;

/// Where a refinement begins.
pub(super) struct Refinement {
    pub(super) layer: usize,
    /// True if the roots are children of the layer, chosen by the move probabilities; false if they are its states.
    children: bool,
    /// Moves from the roots to the perimeter.
    moves: usize,
}

/// A state from which the refinement searches.
struct RefinementRoot<S> {
    state: S,
    /// Its place among all roots, the most promising first.
    order: Key,
    /// The state of the layer that it is or comes from.
    origin: StateId,
    /// The move from there, if it is a child.
    last: Option<Move>,
}

/// The results of a rank so far.
#[derive(Serialize, Deserialize)]
struct RefinementReport {
    limit: Option<Limit>,
    generated: u64,
    /// The first root with a path.
    found: Option<Key>,
    /// The next root.
    next: Option<Key>,
}

impl<P: Puzzle> BeamRun<'_, P> {
    /// Where the refinement begins that looks for a solution cheaper than `bound`.
    pub(super) fn refinement_for(&self, bound: Cost) -> Option<Refinement> {
        let perimeter = &self.settings.perimeter;
        if perimeter.is_empty() {
            return None;
        }
        let before_perimeter = bound.checked_sub(perimeter.step() + perimeter.depth())? as usize;
        let max_moves = (MAX_STATES_PER_ROOT.ln() / perimeter.branching().max(1.5).ln()) as usize;
        let children = self.queue.query == Query::ValuesAndPolicy && before_perimeter > 0;
        let moves = (before_perimeter - usize::from(children)).min(max_moves);
        Some(Refinement { layer: before_perimeter - moves - usize::from(children), children, moves })
    }

    /// Looks for cheaper and cheaper solutions from the layers that exist, until there is none.
    pub(super) fn refine(&mut self, mut bound: Cost, control: &mut Control<'_>) -> Result<()> {
        while !control.is_good_enough(Some(bound))
            && let Some(from) = self.refinement_for(bound)
            && from.layer <= self.back_pointers.len()
            && let Some(incumbent) = self.refine_from(&from, control)?
            && incumbent.cost < bound
        {
            bound = incumbent.cost;
            control.report_incumbent(&incumbent);
            self.best = Some(incumbent);
        }
        Ok(())
    }

    /// The solution by the first root with a path into the perimeter; `None` also at a limit.
    fn refine_from(&mut self, from: &Refinement, control: &mut Control<'_>) -> Result<Option<Incumbent>> {
        self.layer_buffer = BeamLayer::default();
        let roots = self.roots(from)?;
        let (puzzle, perimeter, until) = (self.puzzle, &self.settings.perimeter, AtomicUsize::new(0));
        let mut searches: Vec<_> = (0..self.threads).map(|_| Exhaustive::new(puzzle, perimeter, &until)).collect();
        let mut own: Option<(Key, StateId, Vec<Move>)> = None;
        let mut best: Option<Key> = None;
        let (mut searched, mut generated) = (0, self.stats.generated);
        let sizes = sequences(perimeter, from.moves, puzzle.move_count());
        let size = |root: &RefinementRoot<P::State>| sizes[root.last.map_or(sizes.len() - 1, usize::from)];
        loop {
            self.report(control);
            let mut limit = control.reached(&|| self.bytes()).or(control.too_many(generated).then_some(Limit::Nodes));
            // Roots after the first one with a path, of any rank, are not needed.
            let needed = |root: &&RefinementRoot<P::State>| own.is_none() && best.is_none_or(|best| root.order < best);
            let needed = roots[searched..].iter().take(ROOTS_PER_ROUND).take_while(needed);
            let mut budget = if self.exchange.is_alone() { control.nodes_left(generated) } else { u64::MAX };
            let fits = |root: &&RefinementRoot<P::State>| {
                let fits = size(root) <= budget;
                budget = budget.saturating_sub(size(root));
                fits
            };
            let count = needed.clone().take_while(fits).count();
            if count == 0 && needed.count() > 0 {
                limit = limit.or(Some(Limit::Nodes));
            }
            if limit.is_none() && count > 0 {
                let round = &roots[searched..searched + count];
                let (generated, found) = search_round(&mut searches, &until, round, from.moves);
                own = found.map(|(i, path)| {
                    let RefinementRoot { order, origin, last, .. } = round[i];
                    (order, origin, last.into_iter().chain(path).collect())
                });
                searched += count;
                self.stats.generated += generated;
            }
            let next = if own.is_none() { roots.get(searched).map(|root| root.order) } else { None };
            let found = own.as_ref().map(|(order, ..)| *order);
            let report = RefinementReport { limit, generated: self.stats.generated, found, next };
            let ranks = self.exchange.gather(report)?;
            if ranks.iter().any(|rank| rank.limit.is_some()) {
                return Ok(None);
            }
            generated = ranks.iter().map(|rank| rank.generated).sum();
            best = ranks.iter().filter_map(|rank| rank.found).min();
            if ranks.iter().filter_map(|rank| rank.next).all(|next| best.is_some_and(|best| best < next)) {
                break;
            }
        }
        let own = own.filter(|(order, ..)| Some(*order) == best).map(|(_, origin, path)| (origin, path));
        let Some((origin, path)) = self.exchange.gather(own)?.into_iter().flatten().next() else { return Ok(None) };
        let mut moves = self.path_to(from.layer, origin)?;
        moves.extend(path);
        Ok(replay(self.puzzle, &self.start, &moves).ok().map(|(_, cost)| Incumbent { moves, cost }))
    }

    /// The roots on this rank, the most promising first.
    fn roots(&mut self, from: &Refinement) -> Result<Vec<RefinementRoot<P::State>>> {
        if !from.children {
            let rank = self.exchange.rank() as u16;
            let root = |(index, state): (NodeId, P::State)| {
                let order = Key::new(0.0, self.puzzle.state_hash(&state));
                RefinementRoot { state, order, origin: StateId { rank, index }, last: None }
            };
            let mut roots: Vec<_> = (0..).zip(self.states_of(from.layer)?).map(root).collect();
            roots.sort_unstable_by_key(|root| root.order);
            return Ok(roots);
        }
        let is_current = from.layer == self.back_pointers.len() && self.settings.device.is_none();
        // `make` reads costs and scores, but the roots do not depend on them.
        let evaluated = if is_current { None } else { Some(self.layer_of(self.states_of(from.layer)?)?) };
        let layer = evaluated.as_ref().unwrap_or(&self.layer);
        let candidates = self.candidates(layer, ROOTS_PER_WIDTH, false)?;
        let key = |i, action| Some(candidates.key(layer, i, action));
        let made = self.make(layer, 0..layer.len(), &candidates, Vec::new(), key);
        let made = on_each(self.threads, made, BeamLayer::sorted);
        drop(evaluated);
        let made = self.exchanged(merged(self.threads, &made))?;
        let fresh = Hashes::default().insert_all(self.threads, &hashes(&made));
        let root = |(made, i): (&BeamLayer<P::State>, usize)| RefinementRoot {
            state: made.states[i],
            order: made.order[i],
            origin: made.parent(i),
            last: Some(made.moves[i]),
        };
        let firsts = made.iter().zip(&fresh).flat_map(|(made, fresh)| fresh.iter().map(move |&i| (made, i as usize)));
        Ok(firsts.map(root).collect())
    }
}

/// Searches roots, one thread for each of `searches`, which share `until`. Returns the number of sequences looked up until the
/// first root with a path, and that root with its path; neither depends on the number of threads.
fn search_round<P: Puzzle>(
    searches: &mut [Exhaustive<'_, P>],
    until: &AtomicUsize,
    roots: &[RefinementRoot<P::State>],
    moves: usize,
) -> (u64, Option<(usize, Vec<Move>)>) {
    let (next, threads) = (AtomicUsize::new(0), searches.len().min(roots.len().div_ceil(MIN_ROOTS)));
    until.store(roots.len(), Ordering::Relaxed);
    let root = |i: usize| (&roots[i].state, roots[i].last);
    let done = on_own_threads(threads, searches[..threads].iter_mut().collect(), |search| {
        let mut done = Vec::new();
        search.search_roots(&next, root, moves, |i, generated, path| done.push((i, generated, path)));
        done
    });
    let last = until.load(Ordering::Relaxed); // the first root with a path, or the number of roots
    let needed: Vec<_> = done.into_iter().flatten().filter(|(i, ..)| *i <= last).collect();
    let generated = needed.iter().map(|(_, generated, _)| generated).sum();
    (generated, needed.into_iter().find_map(|(i, _, path)| Some((i, path?))))
}
