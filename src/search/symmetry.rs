//! Any search on several symmetric images of an instance: the best answer counts.
//!
//! A network is not exactly as symmetric as its puzzle: where it misleads a search on one image, it may not on another.
//!
//! - A later image is searched only for what is cheaper than the best answer so far, which a beam makes use of.
//! - One after the other, the limits hold for all images together.
//! - Together, each image is searched on a thread of its own; where the search has a quick [first
//!   answer](Search::first_answer), each looks for a cheaper one than that of the first image. What these searches ask at
//!   about the same time is evaluated in one pass, and a device is busy with one image while the children of another are
//!   made. Each has an equal share of the limits. The answer does not depend on which is faster, as long as an estimate does
//!   not depend on the states that are evaluated with it; last bits of a network's on a GPU may.

use super::{Control, End, Incumbent, Progress, Search, SearchResult, Stats};
use crate::heuristic::{Heuristic, HeuristicError, PATIENCE, split};
use crate::puzzle::{Puzzle, SymmetricImage};
use crate::workers::{Job, beside};
use std::sync::mpsc::channel;

/// A search of the first `count` symmetric images of an instance; of a puzzle without symmetries, of the instance alone.
pub struct Symmetries<P: Puzzle> {
    /// The search that each image gets.
    pub search: Box<dyn Search<P>>,
    /// How many images, at least 1.
    pub count: usize,
    /// Whether they are searched at the same time. A search that several processes share takes one after the other.
    pub together: bool,
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
    ) -> Result<SearchResult, HeuristicError> {
        let mut images = puzzle.symmetric_images(start);
        images.truncate(self.count.max(1));
        if images.is_empty() {
            images.push(SymmetricImage::identity(*start, puzzle.move_count()));
        }
        let at_once = if self.together && control.exchange().is_alone() { images.len() } else { 1 };
        let mut best: Option<SearchResult> = None;
        let mut stats = Stats::default();
        let mut is_decided = false;
        if at_once > 1 {
            let first = self.on_image(&images[0], None, stats, control, |start, control| {
                self.search.first_answer(puzzle, start, heuristic, control)
            })?;
            stats = first.as_ref().map_or(stats, |first| first.stats);
            is_decided = first.as_ref().is_some_and(decides);
            let is_over = is_over(&stats, control)?;
            best = first.filter(|first| is_decided || is_over || first.cost.is_some());
        }
        for images in images.chunks(at_once) {
            let known = best.as_ref().and_then(|best| best.cost);
            if best.is_some() && (is_decided || control.is_enough(known) || is_over(&stats, control)?) {
                break;
            }
            let outcomes = match images {
                [image] => vec![self.run_image(puzzle, image, known, stats, heuristic, control)?],
                _ => self.run_together(puzzle, images, known, stats, heuristic, control)?,
            };
            for outcome in outcomes {
                stats = stats.and(&outcome.stats);
                is_decided |= decides(&outcome);
                if best.as_ref().is_none_or(|best| is_better(&outcome, best)) {
                    best = Some(outcome);
                }
            }
        }
        let best = best.expect("an image was searched");
        Ok(SearchResult { stats: Stats { seconds: control.seconds(), ..stats }, ..best })
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
    ) -> Result<SearchResult, HeuristicError> {
        let outcome = self.on_image(image, known, before, control, |start, control| {
            self.search.run(puzzle, start, heuristic, control).map(Some)
        })?;
        Ok(outcome.expect("a search that is run has an outcome"))
    }

    /// What `search` says of an image, as it is of the instance itself.
    fn on_image(
        &self,
        image: &SymmetricImage<P::State>,
        known: Option<u32>,
        before: Stats,
        control: &mut Control<'_>,
        search: impl FnOnce(&P::State, &mut Control<'_>) -> Result<Option<SearchResult>, HeuristicError>,
    ) -> Result<Option<SearchResult>, HeuristicError> {
        let limits = control.limits().after(before.generated);
        let original = |answer: &Incumbent| {
            let is_better = known.is_none_or(|known| answer.cost < known);
            is_better.then(|| Incumbent { moves: image.solution(&answer.moves), cost: answer.cost })
        };
        let outcome = search(&image.start, &mut control.child(&limits, known, original))?;
        Ok(outcome.map(|outcome| SearchResult { moves: outcome.moves.map(|moves| image.solution(&moves)), ..outcome }))
    }
}

/// What the search of an image tells the thread that it was started from.
enum News {
    Progress(usize, Progress),
    Incumbent(Incumbent),
    Done(usize, Box<Result<SearchResult, HeuristicError>>, bool),
}

impl<P: Puzzle> Symmetries<P> {
    /// Searches several images at once for what costs less than `known`; `before` counts what the images before them took.
    fn run_together(
        &self,
        puzzle: &P,
        images: &[SymmetricImage<P::State>],
        known: Option<u32>,
        before: Stats,
        heuristic: &mut dyn Heuristic<P::State>,
        control: &mut Control<'_>,
    ) -> Result<Vec<SearchResult>, HeuristicError> {
        let limits = control.limits().after(before.generated).divided(images.len() as u64);
        let common = control.beside_others(images.len());
        let (sender, receiver) = channel();
        let (parts, service) = split(heuristic, images.len());
        let mut jobs: Vec<Job<'_>> = Vec::new();
        for ((number, image), mut part) in images.iter().enumerate().zip(parts) {
            let (limits, sender) = (&limits, sender.clone());
            jobs.push(Box::new(move || {
                // The receiver outlives the threads.
                let tell = |news: News| drop(sender.send(news));
                let mut watch = |progress: &Progress| tell(News::Progress(number, *progress));
                let mut answers = |answer: &Incumbent| tell(News::Incumbent(answer.clone()));
                let mut control = common.control(limits, &mut watch, &mut answers);
                let outcome = self.run_image(puzzle, image, known, Stats::default(), &mut part, &mut control);
                tell(News::Done(number, Box::new(outcome), control.was_stopped()));
            }));
        }
        drop(sender);
        let mut progress: Vec<Option<Progress>> = vec![None; images.len()];
        let mut outcomes: Vec<_> = images.iter().map(|_| None).collect();
        let mut least = known;
        let mut take_news = || {
            for news in receiver.try_iter() {
                match news {
                    News::Progress(number, of_image) => {
                        progress[number] = Some(of_image);
                        let all = together(progress.iter().flatten());
                        let stats = Stats { seconds: control.seconds(), ..before.and(&all.stats) };
                        control.report(&Progress { stats, ..all });
                    }
                    News::Incumbent(answer) if least.is_none_or(|least| answer.cost < least) => {
                        least = Some(answer.cost);
                        control.answer(&answer);
                    }
                    News::Incumbent(_) => {}
                    News::Done(number, outcome, was_stopped) => {
                        outcomes[number] = Some(*outcome);
                        if was_stopped {
                            control.note_stopped();
                        }
                    }
                }
            }
        };
        let take = &mut take_news;
        beside(jobs, Box::new(move |_| service.serve(heuristic, Some(PATIENCE), take)));
        take_news();
        outcomes.into_iter().flatten().collect()
    }
}

/// The progress of several searches as that of one.
fn together<'a>(parts: impl Iterator<Item = &'a Progress>) -> Progress {
    let nothing = Progress { stats: Stats::default(), best: None, least_f: None, proof: None };
    parts.fold(nothing, |all, part| Progress {
        stats: all.stats.and(&part.stats),
        best: all.best.into_iter().chain(part.best).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))),
        least_f: all.least_f.into_iter().chain(part.least_f).min_by(f32::total_cmp),
        proof: None,
    })
}

/// Whether a limit leaves nothing for another search.
fn is_over(stats: &Stats, control: &Control<'_>) -> Result<bool, HeuristicError> {
    Ok(control.too_many(stats.generated.saturating_add(1)) || control.agreed()?.is_some())
}

/// Whether an outcome says all that there is to know.
fn decides(outcome: &SearchResult) -> bool {
    outcome.proven_optimal || outcome.end == End::NoSolution
}

fn is_better(new: &SearchResult, old: &SearchResult) -> bool {
    match (new.cost, old.cost) {
        (Some(new), Some(old)) => new < old,
        (new, old) => new.is_some() && old.is_none(),
    }
}
