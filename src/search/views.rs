//! Any search, on several equivalent instances, one after the other: the best answer counts.
//!
//! A network is not quite as symmetric as its puzzle: where it leads one way of holding a cube astray, it may know
//! another. Limits are of all views together, and a beam looks only for what is cheaper than what was found before.

use super::{Answer, Control, End, Limits, Outcome, Search, Stats};
use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::Puzzle;
use std::cell::Cell;

/// A search of the first `count` views of an instance.
pub struct Views<P: Puzzle> {
    /// The search of each view.
    pub search: Box<dyn Search<P>>,
    /// How many views, at least 1.
    pub count: usize,
}

impl<P: Puzzle> Search<P> for Views<P> {
    fn name(&self) -> &'static str {
        self.search.name()
    }

    fn run(
        &self,
        puzzle: &P,
        start: &P::State,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        let mut best: Option<Outcome> = None;
        let mut stats = Stats::default();
        for view in puzzle.views(start).into_iter().take(self.count.max(1)) {
            if best.is_some() && control.reached(|| 0).is_some() {
                break;
            }
            let nodes = control.limits.nodes.map(|nodes| nodes.saturating_sub(stats.generated));
            let limits = Limits { nodes, ..*control.limits };
            let known = best.as_ref().and_then(|best| best.cost);
            let answers = &mut control.answers;
            let mut tell = |answer: &Answer| {
                if let Some(answers) = answers
                    && known.is_none_or(|known| answer.cost < known)
                {
                    answers(&Answer { moves: view.solution(&answer.moves), cost: answer.cost });
                }
            };
            let mut inner = Control {
                limits: &limits,
                stop: control.stop,
                watch: &mut *control.watch,
                answers: Some(&mut tell),
                begun: control.begun,
                bound: known.or(control.bound),
                told: Cell::new(false),
            };
            let mut outcome = self.search.run(puzzle, &view.start, heuristic, &mut inner)?;
            let stopped = inner.was_stopped();
            control.told.set(control.told.get() || stopped);
            outcome.moves = outcome.moves.map(|moves| view.solution(&moves));
            stats = stats.and(&outcome.stats);
            let decides = outcome.proven_optimal || outcome.end == End::NoSolution;
            if best.as_ref().is_none_or(|best| is_better(&outcome, best)) {
                best = Some(outcome);
            }
            if decides || control.too_many(stats.generated.saturating_add(1)) {
                break;
            }
        }
        let best = best.expect("a puzzle with views has the state itself among them");
        Ok(Outcome { stats: Stats { seconds: control.seconds(), ..stats }, ..best })
    }
}

fn is_better(new: &Outcome, old: &Outcome) -> bool {
    match (new.cost, old.cost) {
        (Some(new), Some(old)) => new < old,
        (new, old) => new.is_some() && old.is_none(),
    }
}
