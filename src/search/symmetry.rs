//! Any search on several symmetric images of an instance, one after the other: the best answer counts.
//!
//! A network is not exactly as symmetric as its puzzle: where it misleads a search on one image, it may not on another.
//! The limits hold for all images together. A later image is searched only for what is cheaper than the best answer so
//! far, which a beam makes use of.

use super::{Answer, Control, End, Outcome, Search, Stats};
use crate::heuristic::{Heuristic, HeuristicError};
use crate::puzzle::{Puzzle, SymmetricImage};

/// A search of the first `count` symmetric images of an instance; of a puzzle without symmetries, of the instance alone.
pub struct Symmetries<P: Puzzle> {
    /// The search that each image gets.
    pub search: Box<dyn Search<P>>,
    /// How many images, at least 1.
    pub count: usize,
}

impl<P: Puzzle> Search<P> for Symmetries<P> {
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
        let mut images = puzzle.symmetric_images(start).into_iter().take(self.count.max(1));
        let first = images.next().unwrap_or_else(|| SymmetricImage::identity(*start, puzzle.move_count()));
        let mut best = self.run_image(puzzle, &first, None, Stats::default(), heuristic, control)?;
        let mut stats = best.stats;
        for image in images {
            let decided = best.proven_optimal || best.end == End::NoSolution;
            if decided || control.too_many(stats.generated.saturating_add(1)) || control.agreed()?.is_some() {
                break;
            }
            let outcome = self.run_image(puzzle, &image, best.cost, stats, heuristic, control)?;
            stats = stats.and(&outcome.stats);
            let decides = outcome.proven_optimal || outcome.end == End::NoSolution;
            if is_better(&outcome, &best) {
                best = outcome;
            }
            if decides {
                break;
            }
        }
        Ok(Outcome { stats: Stats { seconds: control.seconds(), ..stats }, ..best })
    }
}

impl<P: Puzzle> Symmetries<P> {
    /// Searches one image for what costs less than `known`; `before` counts what the images before it took.
    fn run_image(
        &self,
        puzzle: &P,
        image: &SymmetricImage<P::State>,
        known: Option<u32>,
        before: Stats,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        let limits = control.limits().after(before.generated);
        let original = |answer: &Answer| {
            let is_better = known.is_none_or(|known| answer.cost < known);
            is_better.then(|| Answer { moves: image.solution(&answer.moves), cost: answer.cost })
        };
        let mut control = control.child(&limits, known, original);
        let mut outcome = self.search.run(puzzle, &image.start, heuristic, &mut control)?;
        outcome.moves = outcome.moves.map(|moves| image.solution(&moves));
        Ok(outcome)
    }
}

fn is_better(new: &Outcome, old: &Outcome) -> bool {
    match (new.cost, old.cost) {
        (Some(new), Some(old)) => new < old,
        (new, old) => new.is_some() && old.is_none(),
    }
}
