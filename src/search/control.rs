//! The control of a search: its limits, its stop flag, and the callbacks that watch it.

use super::CHECK_EVERY;
use super::limits::{Limit, Limits};
use super::result::{Incumbent, Progress, Stats};
use crate::error::Result;
use crate::exchange::{Alone, Exchange};
use crate::puzzle::Cost;
use crate::workers;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A callback for each better solution.
type OnIncumbent<'a> = Box<dyn FnMut(&Incumbent) + 'a>;

/// The limits, the stop flag and the callbacks of a search.
pub struct Control<'a> {
    /// The limits of time, nodes and memory.
    pub limits: &'a Limits,
    on_progress: &'a mut dyn FnMut(&Progress),
    on_incumbent: Option<OnIncumbent<'a>>,
    /// The processes that share the search.
    pub exchange: &'a dyn Exchange,
    /// The flag that stops the search.
    pub stop: &'a AtomicBool,
    /// Whether the search, or an inner one, has seen the stop flag.
    stopped: Arc<AtomicBool>,
    started: Instant,
    /// Only a solution that costs less is of use; `None`: any solution.
    pub bound: Option<Cost>,
    /// A solution of at most this cost need not be improved.
    pub(crate) good_enough: Option<Cost>,
    /// The number of threads of the search, at least 1.
    pub threads: usize,
}

impl<'a> Control<'a> {
    /// A control with limits, a stop flag and a progress callback; the clock starts now.
    pub fn new(limits: &'a Limits, stop: &'a AtomicBool, on_progress: &'a mut dyn FnMut(&Progress)) -> Self {
        Control {
            limits,
            on_progress,
            on_incumbent: None,
            exchange: &Alone,
            stop,
            stopped: Arc::default(),
            started: Instant::now(),
            bound: None,
            good_enough: None,
            threads: workers::cores(),
        }
    }

    /// Also reports every better solution as soon as it is found.
    pub fn with_incumbents(self, on_incumbent: &'a mut dyn FnMut(&Incumbent)) -> Self {
        Control { on_incumbent: Some(Box::new(on_incumbent)), ..self }
    }

    /// Shares the search between several processes; only a beam can be shared.
    pub fn with_exchange(self, exchange: &'a dyn Exchange) -> Self {
        Control { exchange, ..self }
    }

    /// Sets the number of threads of a beam or `bwas`, by default one per core. The solution does not depend on it.
    pub fn with_threads(self, threads: usize) -> Self {
        Control { threads: threads.max(1), ..self }
    }

    /// The control of an inner search with its own limits: same clock, stop flag and progress callback. Passes on each solution
    /// that costs less than the bound, as `translate` changes it, unless that gives `None`.
    pub fn child<'b>(
        &'b mut self,
        limits: &'b Limits,
        bound: Option<Cost>,
        translate: impl Fn(&Incumbent) -> Option<Incumbent> + 'b,
    ) -> Control<'b> {
        let bound = bound.or(self.bound);
        let on_incumbent = self.on_incumbent.as_mut().map(|on_incumbent| -> OnIncumbent<'b> {
            Box::new(move |incumbent| {
                // Some searches report solutions that are not below the bound.
                if bound.is_none_or(|bound| incumbent.cost < bound)
                    && let Some(incumbent) = translate(incumbent)
                {
                    on_incumbent(&incumbent);
                }
            })
        });
        Control {
            limits,
            on_progress: &mut *self.on_progress,
            on_incumbent,
            exchange: self.exchange,
            stop: self.stop,
            stopped: Arc::clone(&self.stopped),
            started: self.started,
            bound,
            good_enough: self.good_enough,
            threads: self.threads,
        }
    }

    /// Whether a solution of this cost need not be improved.
    pub fn is_good_enough(&self, cost: Option<Cost>) -> bool {
        cost.zip(self.good_enough).is_some_and(|(cost, enough)| cost <= enough)
    }

    /// Reports a better solution.
    pub fn report_incumbent(&mut self, incumbent: &Incumbent) {
        if let Some(on_incumbent) = &mut self.on_incumbent {
            on_incumbent(incumbent);
        }
    }

    /// Seconds since the search began.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Reports progress, with the time.
    pub fn report(&mut self, progress: &Progress) {
        let stats = Stats { seconds: self.seconds(), ..progress.stats };
        (self.on_progress)(&Progress { stats, ..*progress });
    }

    /// Reports the progress of a search without estimates.
    pub fn report_counts(&mut self, stats: &Stats) {
        self.report(&Progress { stats: *stats, best: None, least_f: None, proof: None });
    }

    /// The limit that a search without estimates has reached before it expands a node, which has up to `moves` children.
    /// Reports the counts and asks [`Control::reached`] every [`CHECK_EVERY`] nodes.
    #[inline]
    pub(super) fn limit_at(&mut self, stats: &Stats, moves: usize, bytes: &dyn Fn() -> u64) -> Option<Limit> {
        if stats.expanded.is_multiple_of(CHECK_EVERY) {
            self.report_counts(stats);
            if let Some(limit) = self.reached(bytes) {
                return Some(limit);
            }
        }
        self.too_many(stats.generated + moves as u64).then_some(Limit::Nodes)
    }

    /// The limit that the stop flag, the clock or the bytes in use have reached.
    pub fn reached(&self, bytes: &dyn Fn() -> u64) -> Option<Limit> {
        if self.stop.load(Ordering::Relaxed) {
            self.stopped.store(true, Ordering::Relaxed);
            Some(Limit::Stopped)
        } else if self.limits.time.is_some_and(|time| self.started.elapsed() >= time) {
            Some(Limit::Time)
        } else if self.limits.memory.is_some_and(|memory| bytes() >= memory) {
            Some(Limit::Memory)
        } else {
            None
        }
    }

    /// The limit that any process of the search has reached; all of them call this at the same point.
    ///
    /// # Errors
    /// If a process has failed.
    pub fn agreed(&self) -> Result<Option<Limit>> {
        let limits = self.exchange.gather(self.reached(&|| 0))?;
        Ok(limits.into_iter().flatten().next())
    }

    /// Whether the search has seen the stop flag: without it, the result might be another.
    pub fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Whether `generated` nodes exceed the limit.
    pub fn too_many(&self, generated: u64) -> bool {
        self.limits.nodes.is_some_and(|nodes| generated > nodes)
    }

    /// How many more nodes may be generated.
    pub fn nodes_left(&self, generated: u64) -> u64 {
        self.limits.nodes.map_or(u64::MAX, |nodes| nodes.saturating_sub(generated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_search_reports_only_solutions_below_its_bound() {
        let (limits, stop, mut reported) = (Limits::default(), AtomicBool::new(false), Vec::new());
        let (mut on_progress, mut on_incumbent) = (|_: &_| (), |incumbent: &Incumbent| reported.push(incumbent.cost));
        let mut control = Control::new(&limits, &stop, &mut on_progress).with_incumbents(&mut on_incumbent);
        let incumbent = |cost| Incumbent { moves: Vec::new(), cost };
        for bound in [None, Some(24), Some(22)] {
            let mut inner = control.child(&limits, bound, |incumbent| Some(incumbent.clone()));
            let mut innermost = inner.child(&limits, None, |incumbent| Some(incumbent.clone()));
            [26, 22, 21].into_iter().for_each(|cost| innermost.report_incumbent(&incumbent(cost)));
        }
        drop(control);
        assert_eq!(reported, [26, 22, 21, 22, 21, 21]);
    }
}
