//! Any search on several symmetric images of an instance, one after the other; the best solution counts.
//!
//! A network is not exactly as symmetric as its puzzle: where it misleads a search on one image, it may not on another. A
//! later image is searched only for solutions cheaper than the best so far, which helps a beam. All images share one set of
//! limits.

use super::{Control, End, Incumbent, Search, SearchResult, Stats, Task};
use crate::error::Result;
use crate::puzzle::{Cost, Puzzle, SymmetricImage};

/// A search of the first `count` symmetric images of an instance; of the instance alone if the puzzle has no symmetries.
pub struct ImageSearch<P: Puzzle> {
    /// The search of each image.
    pub search: Box<dyn Search<P>>,
    /// The number of images, at least 1.
    pub count: usize,
}

impl<P: Puzzle> Search<P> for ImageSearch<P> {
    fn solve(&self, mut task: Task<'_, '_, P>) -> Result<SearchResult> {
        let Task { puzzle, start, .. } = task;
        let mut images: Vec<_> = puzzle.symmetric_images(start).take(self.count.max(1)).collect();
        if images.is_empty() {
            images.push(SymmetricImage::identity(*start, puzzle.move_count()));
        }
        let mut best: Option<SearchResult> = None;
        let mut stats = Stats::default();
        let mut is_decided = false;
        for image in &images {
            let bound = best.as_ref().and_then(|best| best.cost);
            if best.is_some() && (is_decided || task.control.is_good_enough(bound) || is_over(&stats, task.control)?) {
                break;
            }
            let result = self.on_image(image, bound, stats, task.again())?;
            stats = stats.and(&result.stats);
            // No other image can have a better result.
            is_decided |= result.proven_optimal || result.end == End::NoSolution;
            if best.as_ref().is_none_or(|best| is_better(&result, best)) {
                best = Some(result);
            }
        }
        let best = best.expect("an image was searched");
        Ok(SearchResult { stats, ..best })
    }
}

impl<P: Puzzle> ImageSearch<P> {
    /// Searches an image for solutions below `bound`. Earlier searches have used the counts `before` of the limits.
    /// Translates its solutions to the instance.
    fn on_image(
        &self,
        image: &SymmetricImage<P::State>,
        bound: Option<Cost>,
        before: Stats,
        Task { puzzle, heuristic, control, .. }: Task<'_, '_, P>,
    ) -> Result<SearchResult> {
        let limits = control.limits.after(before.generated);
        let translate =
            |incumbent: &Incumbent| Some(Incumbent { moves: image.solution(&incumbent.moves), cost: incumbent.cost });
        let control = &mut control.child(&limits, bound, translate);
        let result = self.search.solve(Task { puzzle, start: &image.start, heuristic, control })?;
        Ok(SearchResult { moves: result.moves.map(|moves| image.solution(&moves)), ..result })
    }
}

/// True if a limit leaves nothing for another search.
fn is_over(stats: &Stats, control: &Control<'_>) -> Result<bool> {
    Ok(control.too_many(stats.generated.saturating_add(1)) || control.agreed()?.is_some())
}

fn is_better(new: &SearchResult, old: &SearchResult) -> bool {
    new.cost.is_some_and(|new| old.cost.is_none_or(|old| new < old))
}
