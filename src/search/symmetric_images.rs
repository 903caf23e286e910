//! Any search on several symmetric images of an instance; the best solution counts.
//!
//! A network is not exactly as symmetric as its puzzle: where it misleads a search on one image, it may not on another.
//!
//! - A later image is searched only for solutions cheaper than the best so far, which helps a beam.
//! - When searched one after the other, images share one set of limits.
//! - When searched together, each image is searched on its own thread with an equal share of the limits; if the search has a
//!   quick [first pass](Search::first_pass), all look for a cheaper solution than that of the first image. States of theirs
//!   that wait while the network is busy are evaluated in one pass, and a device works on one image while the children of
//!   another are made. The solution does not depend on the speed of the threads, as long as an estimate does not depend on the
//!   states evaluated with it; the last bits of a network's estimate on a GPU may.

use super::{Control, End, Incumbent, Progress, Search, SearchResult, Stats, Task};
use crate::heuristic::HeuristicError;
use crate::puzzle::{Cost, Puzzle, SymmetricImage};
use crate::workers::{Work, beside};
use std::sync::mpsc::channel;

/// A search of the first `count` symmetric images of an instance; of the instance alone if the puzzle has no symmetries.
pub struct ImageSearch<P: Puzzle> {
    /// The search of each image.
    pub search: Box<dyn Search<P>>,
    /// The number of images, at least 1.
    pub count: usize,
    /// Whether they are searched at the same time. A search that several processes share, or with a heuristic that serves one
    /// search at a time, takes one after the other.
    pub together: bool,
}

impl<P: Puzzle> Search<P> for ImageSearch<P> {
    fn solve(&self, mut task: Task<'_, '_, P>) -> Result<SearchResult, HeuristicError> {
        let Task { puzzle, start, .. } = task;
        let mut images: Vec<_> = puzzle.symmetric_images(start).take(self.count.max(1)).collect();
        if images.is_empty() {
            images.push(SymmetricImage::identity(*start, puzzle.move_count()));
        }
        let may_share = self.together && task.control.exchange().is_alone() && task.heuristic.share().is_some();
        let at_once = if may_share { images.len() } else { 1 };
        let mut best: Option<SearchResult> = None;
        let mut stats = Stats::default();
        let mut is_decided = false;
        if at_once > 1 {
            let first = on_image(&images[0], None, stats, task.again(), |task| self.search.first_pass(task))?;
            stats = first.as_ref().map_or(stats, |first| first.stats);
            is_decided = first.as_ref().is_some_and(is_final);
            let is_over = is_over(&stats, task.control)?;
            best = first.filter(|first| is_decided || is_over || first.cost.is_some());
        }
        for images in images.chunks(at_once) {
            let bound = best.as_ref().and_then(|best| best.cost);
            if best.is_some() && (is_decided || task.control.is_good_enough(bound) || is_over(&stats, task.control)?) {
                break;
            }
            let results = match images {
                [image] => Vec::from_iter(on_image(image, bound, stats, task.again(), |task| {
                    self.search.solve(task).map(Some)
                })?),
                _ => self.run_together(images, bound, stats, task.again())?,
            };
            for result in results {
                stats = stats.and(&result.stats);
                is_decided |= is_final(&result);
                if best.as_ref().is_none_or(|best| is_better(&result, best)) {
                    best = Some(result);
                }
            }
        }
        let best = best.expect("an image was searched");
        Ok(SearchResult { stats, ..best })
    }
}

/// A message of the thread that searches an image.
enum ImageEvent {
    Progress(usize, Progress),
    Incumbent(Incumbent),
}

impl<P: Puzzle> ImageSearch<P> {
    /// Searches several images at once for solutions below `bound`; `before` counts the searches of the images before them.
    fn run_together(
        &self,
        images: &[SymmetricImage<P::State>],
        bound: Option<Cost>,
        before: Stats,
        Task { puzzle, heuristic, control, .. }: Task<'_, '_, P>,
    ) -> Result<Vec<SearchResult>, HeuristicError> {
        let heuristics: Vec<_> = images.iter().map_while(|_| heuristic.share()).collect();
        let limits = control.limits().after(before.generated).divided(images.len() as u64);
        let shared = control.shared_by(images.len());
        let (sender, receiver) = channel();
        let mut results: Vec<_> = images.iter().map(|_| None).collect();
        let mut jobs: Vec<Work<'_>> = Vec::new();
        for (((index, image), mut heuristic), done) in images.iter().enumerate().zip(heuristics).zip(&mut results) {
            let (limits, sender, shared) = (&limits, sender.clone(), shared.clone());
            jobs.push(Box::new(move || {
                // The receiver outlives the threads.
                let send = |event| drop(sender.send(event));
                let mut on_progress = |progress: &Progress| send(ImageEvent::Progress(index, *progress));
                let mut on_incumbent = |incumbent: &Incumbent| send(ImageEvent::Incumbent(incumbent.clone()));
                let mut control = shared.control(limits, &mut on_progress, &mut on_incumbent);
                let task = Task { puzzle, start: &image.start, heuristic: &mut *heuristic, control: &mut control };
                *done = Some(on_image(image, bound, Stats::default(), task, |task| self.search.solve(task).map(Some)));
            }));
        }
        drop(sender);
        let mut progress: Vec<Option<Progress>> = vec![None; images.len()];
        let mut least = bound;
        let follow = || {
            for event in receiver {
                match event {
                    ImageEvent::Progress(index, of_image) => {
                        progress[index] = Some(of_image);
                        let all = combined(progress.iter().flatten());
                        control.report(&Progress { stats: before.and(&all.stats), ..all });
                    }
                    ImageEvent::Incumbent(incumbent) if least.is_none_or(|least| incumbent.cost < least) => {
                        least = Some(incumbent.cost);
                        control.report_incumbent(&incumbent);
                    }
                    ImageEvent::Incumbent(_) => {}
                }
            }
        };
        beside(jobs, Box::new(|_| follow()));
        results.into_iter().flatten().filter_map(Result::transpose).collect()
    }
}

/// Runs `search` on an image, for solutions below `bound`. Earlier searches have used the counts `before` of the limits.
/// Translates its solutions to the instance.
fn on_image<P: Puzzle>(
    image: &SymmetricImage<P::State>,
    bound: Option<Cost>,
    before: Stats,
    Task { puzzle, heuristic, control, .. }: Task<'_, '_, P>,
    search: impl FnOnce(Task<'_, '_, P>) -> Result<Option<SearchResult>, HeuristicError>,
) -> Result<Option<SearchResult>, HeuristicError> {
    let limits = control.limits().after(before.generated);
    let translate =
        |incumbent: &Incumbent| Some(Incumbent { moves: image.solution(&incumbent.moves), cost: incumbent.cost });
    let control = &mut control.child(&limits, bound, translate);
    let result = search(Task { puzzle, start: &image.start, heuristic, control })?;
    Ok(result.map(|result| SearchResult { moves: result.moves.map(|moves| image.solution(&moves)), ..result }))
}

/// The progress of several searches as that of one.
fn combined<'a>(parts: impl Iterator<Item = &'a Progress>) -> Progress {
    let nothing = Progress { stats: Stats::default(), best: None, least_f: None, proof: None };
    parts.fold(nothing, |all, part| Progress {
        stats: all.stats.and(&part.stats),
        best: all.best.into_iter().chain(part.best).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))),
        least_f: all.least_f.into_iter().chain(part.least_f).min_by(f32::total_cmp),
        proof: None,
    })
}

/// True if a limit leaves nothing for another search.
fn is_over(stats: &Stats, control: &Control<'_>) -> Result<bool, HeuristicError> {
    Ok(control.too_many(stats.generated.saturating_add(1)) || control.agreed()?.is_some())
}

/// True if no other image can have a better result.
fn is_final(result: &SearchResult) -> bool {
    result.proven_optimal || result.end == End::NoSolution
}

fn is_better(new: &SearchResult, old: &SearchResult) -> bool {
    new.cost.is_some_and(|new| old.cost.is_none_or(|old| new < old))
}
