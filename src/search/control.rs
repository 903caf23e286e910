//! What a search runs under: its limits, the flag that stops it, and who watches it.

use super::exchange::{Alone, Exchange};
use super::limits::{Limit, Limits};
use super::result::{Incumbent, Progress, Stats};
use crate::heuristic::HeuristicError;
use crate::puzzle::Cost;
use crate::workers;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A callback for better answers.
type OnIncumbent<'a> = Box<dyn FnMut(&Incumbent) + 'a>;

/// What a search runs under: limits, the flag that stops it, and the callbacks that watch it.
pub struct Control<'a> {
    limits: &'a Limits,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(&Progress),
    answers: Option<OnIncumbent<'a>>,
    begun: Instant,
    /// An answer is of use only if it costs less than this.
    bound: Option<Cost>,
    /// An answer that costs no more than this need not be improved.
    enough: Option<Cost>,
    /// Whether the search has seen the stop flag; shared with the controls of searches within this one.
    stopped: Rc<Cell<bool>>,
    exchange: &'a dyn Exchange,
    threads: usize,
}

/// What searches on several threads have in common.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a> {
    stop: &'a AtomicBool,
    begun: Instant,
    bound: Option<Cost>,
    enough: Option<Cost>,
    threads: usize,
}

impl<'a> Beside<'a> {
    /// The control of one of them, with limits and callbacks of its own.
    pub(super) fn control<'b>(
        self,
        limits: &'b Limits,
        watch: &'b mut dyn FnMut(&Progress),
        answers: &'b mut dyn FnMut(&Incumbent),
    ) -> Control<'b>
    where
        'a: 'b,
    {
        let Beside { stop, begun, bound, enough, threads } = self;
        Control { begun, bound, enough, threads, ..Control::new(limits, stop, watch) }.with_incumbents(answers)
    }
}

impl<'a> Control<'a> {
    /// Limits, the stop flag and a progress callback; the clock starts now.
    pub fn new(limits: &'a Limits, stop: &'a AtomicBool, watch: &'a mut dyn FnMut(&Progress)) -> Self {
        Control {
            limits,
            stop,
            watch,
            answers: None,
            begun: Instant::now(),
            bound: None,
            enough: None,
            stopped: Rc::default(),
            exchange: &Alone,
            threads: workers::cores(),
        }
    }

    /// Also reports every answer that is better than those before, as soon as it is found.
    pub fn with_incumbents(self, answers: &'a mut dyn FnMut(&Incumbent)) -> Self {
        Control { answers: Some(Box::new(answers)), ..self }
    }

    /// Several processes share the search; only a beam can be shared.
    pub fn with_exchange(self, exchange: &'a dyn Exchange) -> Self {
        Control { exchange, ..self }
    }

    /// A beam or `bwas` works with so many threads, in place of one for each core. The answer does not depend on it.
    pub fn with_threads(self, threads: usize) -> Self {
        Control { threads: threads.max(1), ..self }
    }

    /// An answer that costs no more than this need not be improved: what follows the search does that.
    pub(super) fn with_enough(self, enough: Option<Cost>) -> Self {
        Control { enough, ..self }
    }

    /// The control of a search within this one, with limits of its own: the same clock, stop flag and progress callback.
    /// Its answers are reported as `translate` gives them; those for which it gives `None` are not.
    pub fn child<'b>(
        &'b mut self,
        limits: &'b Limits,
        bound: Option<Cost>,
        translate: impl Fn(&Incumbent) -> Option<Incumbent> + 'b,
    ) -> Control<'b> {
        let answers = self.answers.as_mut().map(|answers| {
            let report = move |answer: &Incumbent| {
                if let Some(answer) = translate(answer) {
                    answers(&answer);
                }
            };
            Box::new(report) as Box<dyn FnMut(&Incumbent) + 'b>
        });
        Control {
            limits,
            stop: self.stop,
            watch: &mut *self.watch,
            answers,
            begun: self.begun,
            bound: bound.or(self.bound),
            enough: self.enough,
            stopped: Rc::clone(&self.stopped),
            exchange: self.exchange,
            threads: self.threads,
        }
    }

    /// What the control of a search on another thread, beside others, has of this one.
    pub(super) fn beside_others(&self, searches: usize) -> Beside<'a> {
        let Control { stop, begun, bound, enough, .. } = *self;
        Beside { stop, begun, bound, enough, threads: self.threads.div_ceil(searches.max(1)) }
    }

    /// Notes that a search within this one has seen the stop flag.
    pub(super) fn note_stopped(&self) {
        self.stopped.set(true);
    }

    /// The processes that share the search.
    pub fn exchange(&self) -> &'a dyn Exchange {
        self.exchange
    }

    /// How many threads a search works with.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The limits.
    pub fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// The cost that an answer must stay below to be of use; `None`: any answer is.
    pub fn bound(&self) -> Option<Cost> {
        self.bound
    }

    /// Whether an answer of this cost need not be improved.
    pub fn is_enough(&self, cost: Option<Cost>) -> bool {
        cost.zip(self.enough).is_some_and(|(cost, enough)| cost <= enough)
    }

    /// Reports an answer that is better than those before.
    pub fn answer(&mut self, answer: &Incumbent) {
        if let Some(answers) = &mut self.answers {
            answers(answer);
        }
    }

    /// Seconds since the search began.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Reports progress.
    pub fn report(&mut self, progress: &Progress) {
        (self.watch)(progress);
    }

    /// Reports the progress of a search that has counts and no estimates.
    pub fn report_counts(&mut self, stats: &Stats) {
        let stats = Stats { seconds: self.seconds(), ..*stats };
        self.report(&Progress { stats, best: None, least_f: None, proof: None });
    }

    /// The limit that is reached, if any: by the stop flag, the clock, and the bytes in use.
    pub fn reached(&self, bytes: &dyn Fn() -> u64) -> Option<Limit> {
        if self.stop.load(Ordering::Relaxed) {
            self.stopped.set(true);
            Some(Limit::Stopped)
        } else if self.limits.time.is_some_and(|time| self.begun.elapsed() >= time) {
            Some(Limit::Time)
        } else if self.limits.memory.is_some_and(|memory| bytes() >= memory) {
            Some(Limit::Memory)
        } else {
            None
        }
    }

    /// The limit that this process has reached, or another that shares the search; all ask at the same point.
    ///
    /// # Errors
    /// If a process has failed.
    pub fn agreed(&self) -> Result<Option<Limit>, HeuristicError> {
        let limits = self.exchange.gather(self.reached(&|| 0))?;
        Ok(limits.into_iter().flatten().next())
    }

    /// Whether the search has seen the stop flag: its answer need not be the one that it would have given.
    pub fn was_stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Whether this many generated nodes are more than allowed.
    pub fn too_many(&self, generated: u64) -> bool {
        self.limits.nodes.is_some_and(|nodes| generated > nodes)
    }

    /// How many more nodes may be generated.
    pub fn nodes_left(&self, generated: u64) -> u64 {
        self.limits.nodes.map_or(u64::MAX, |nodes| nodes.saturating_sub(generated))
    }
}
