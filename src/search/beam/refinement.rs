//! The refinement of an answer: exhaustive search for a cheaper one, from a layer into the perimeter.

use super::super::exhaustive::Exhaustive;
use super::{
    Answer, ChunkQueue, Control, Cost, Heuristic, HeuristicError, Layer, Move, NodeId, Promising, Puzzle, Run,
    by_promise, replay,
};
use hashbrown::HashSet;
use std::sync::atomic::AtomicUsize;
use std::thread;

/// From one state, at most about so many are generated.
const MOST_STATES: f64 = 1000.0;

/// The most promising children that it begins with, in widths.
const CHILDREN: usize = 2;

/// Roots that a core takes at a time.
const AT_ONCE: usize = 256;

/// Where a refinement begins.
pub(super) struct Refinement {
    pub(super) layer: usize,
    /// Whether it begins with children of the layer, chosen by the move probabilities, or with its states.
    children: bool,
    /// The moves from there to the perimeter.
    moves: usize,
}

/// A state that the refinement begins with: where it comes from in its layer, and by which move, if it is a child.
struct Root<S> {
    state: S,
    at: NodeId,
    last: Option<Move>,
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
        let children = !self.layer.policy.is_empty() && before_perimeter > 0;
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
        while let Some(from) = self.refinement_for(bound)
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
    ) -> Result<Option<Answer>, HeuristicError> {
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        let roots = self.roots(from, heuristic)?;
        let (puzzle, perimeter) = (self.puzzle, &self.settings.perimeter);
        let until = AtomicUsize::new(usize::MAX);
        let search = || Exhaustive::new(puzzle, perimeter, &until);
        let mut searches: Vec<Exhaustive<'_, P>> = (0..cores).map(|_| search()).collect();
        for (batch, together) in roots.chunks(AT_ONCE * cores).enumerate() {
            self.report(control);
            if control.reached(|| self.bytes()).is_some() || control.too_many(self.stats.generated) {
                return Ok(None);
            }
            let found: Vec<_> = thread::scope(|scope| {
                let threads = together.chunks(AT_ONCE).zip(&mut searches).map(|(roots, search)| {
                    let path = |(i, root): (usize, &Root<P::State>)| {
                        Some((i, search.search(&root.state, root.last, from.moves, 0)?))
                    };
                    scope.spawn(move || roots.iter().enumerate().find_map(path))
                });
                let threads: Vec<_> = threads.collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                    .collect()
            });
            self.stats.generated +=
                searches.iter_mut().map(|search| std::mem::take(&mut search.generated)).sum::<u64>();
            if let Some((share, (i, path))) = found.into_iter().enumerate().find_map(|(i, found)| Some((i, found?))) {
                let root = &roots[(batch * cores + share) * AT_ONCE + i];
                let mut moves = self.path_to(from.layer, root.at as usize);
                moves.extend(root.last.into_iter().chain(path));
                return Ok(replay(puzzle, &self.start, &moves).ok().map(|(_, cost)| Answer { moves, cost }));
            }
        }
        Ok(None)
    }

    /// What the refinement begins with, the most promising first.
    fn roots(
        &mut self,
        from: &Refinement,
        heuristic: &mut dyn Heuristic<P::State>,
    ) -> Result<Vec<Root<P::State>>, HeuristicError> {
        if !from.children {
            let states = self.states_of(from.layer).into_iter().enumerate();
            return Ok(states.map(|(at, state)| Root { state, at: at as NodeId, last: None }).collect());
        }
        let again = if from.layer == self.behind.len() { None } else { Some(self.layer_again(from.layer, heuristic)?) };
        let layer = again.as_ref().unwrap_or(&self.layer);
        let mut promising = self.promising(layer, CHILDREN.saturating_mul(self.settings.n.max(1)));
        promising.sort_unstable_by(by_promise);
        let mut seen: HashSet<P::State, foldhash::fast::FixedState> = HashSet::default();
        let root = |(_, (at, action)): Promising| {
            let state = self.puzzle.apply(&layer.states[at as usize], action)?;
            seen.insert(state).then_some(Root { state, at, last: Some(action) })
        };
        Ok(promising.into_iter().filter_map(root).collect())
    }

    /// The states of a layer, generated and evaluated again.
    fn layer_again(
        &mut self,
        layer: usize,
        heuristic: &mut dyn Heuristic<P::State>,
    ) -> Result<Layer<P::State>, HeuristicError> {
        let states = self.states_of(layer);
        let mut again = Layer::default();
        let mut queue = ChunkQueue::new(heuristic, self.ask);
        for (i, state) in states.iter().enumerate() {
            queue.add(i as NodeId, state);
            queue.advance(&mut self.stats.evaluated, |estimates| again.take_in(estimates))?;
        }
        queue.finish(&mut self.stats.evaluated, |estimates| again.take_in(estimates))?;
        Ok(Layer { states, ..again })
    }

    /// The states of a layer, generated again.
    fn states_of(&self, layer: usize) -> Vec<P::State> {
        let mut states = vec![self.start];
        for (parents, actions) in &self.behind[..layer] {
            let child = |(&parent, &action): (&NodeId, &Move)| {
                self.puzzle.apply(&states[parent as usize], action).expect("the move was legal before")
            };
            states = parents.iter().zip(actions).map(child).collect();
        }
        states
    }
}
