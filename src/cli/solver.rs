//! What `solve`, `bench` and `serve` do with one instance, after the flags are resolved.

use super::choice::{Chosen, Endgames, Scorer, choose, is_blind};
use super::estimator::{Estimator, Place};
use super::reverse::Reverse;
use super::search_options::SearchOptions;
use super::{Failure, OrInput as _};
use crate::heuristic::{Heuristic, share};
use crate::memory;
use crate::progress::SearchLine;
use crate::puzzle::{Move, ParseError, Puzzle, move_names, replay};
use crate::quantity::grouped;
use crate::report::Solved;
use crate::search::{Answer, Control, End, Limit, Limits, Outcome, Progress, Search};
use anyhow::{Context as _, ensure};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The share of the available memory that a search takes at most.
const MEMORY_SHARE: f64 = 0.8;

/// A puzzle, a heuristic and a search, ready for instances.
pub(super) struct Solver<P: Puzzle> {
    pub(super) puzzle: Arc<P>,
    pub(super) heuristic: Box<dyn Heuristic<P::State>>,
    search: Arc<dyn Search<P>>,
    pub(super) limits: Limits,
    stop: &'static AtomicBool,
    scorer: Scorer,
    endgames: Endgames<P::State>,
    /// What all results have in common.
    template: Solved,
}

/// An instance after its search.
pub(super) struct Solution<S> {
    pub(super) start: S,
    pub(super) moves: Option<Vec<Move>>,
    pub(super) end: End,
    /// Whether the search was told to stop before its end: the answer, if there is one, need not be the one that it would
    /// have given.
    pub(super) stopped: bool,
    pub(super) report: Solved,
}

/// Who watches a search, and what stops it.
pub(super) struct Watch<'a> {
    pub(super) stop: &'a AtomicBool,
    pub(super) progress: &'a mut dyn FnMut(&Progress),
    /// Is told of each answer that is better than those before, by searches that go on after the first.
    pub(super) answers: &'a mut dyn FnMut(&Answer),
}

impl<P: Puzzle> Solver<P> {
    /// Loads what the flags name.
    pub(super) fn new(
        puzzle: impl Into<Arc<P>>,
        reverse: &Reverse<P>,
        options: &SearchOptions,
        stop: &'static AtomicBool,
    ) -> Result<Self, Failure> {
        let puzzle = puzzle.into();
        let estimator = Estimator::named(&*puzzle, reverse, options).or_input()?;
        let (mut heuristic, place) = estimator.load(&puzzle, reverse, options).or_input()?;
        let on_cuda = place.as_ref().is_some_and(|place| place.device.is_cuda());
        let scorer = Scorer {
            is_network: place.is_some(),
            has_heads: heuristic.has_preferences(),
            on_cuda,
            beam: place.as_ref().map(|place| place.beam).unwrap_or_default(),
        };
        let mut endgames = Endgames::new(stop);
        let chosen = choose(&*puzzle, reverse, options, scorer, &mut endgames).or_input()?;
        if !is_blind(chosen.search.name()) {
            // What the first estimate sets up is neither the search's time nor its memory.
            heuristic.warm_up()?;
        }
        let template = template(puzzle.name(), heuristic.name(), place, options, &chosen);
        Ok(Solver {
            puzzle,
            heuristic,
            search: Arc::from(chosen.search),
            limits: limits(options),
            stop,
            scorer,
            endgames,
            template,
        })
    }

    /// Takes up other settings of the search and other limits; the heuristic stays as it is loaded.
    ///
    /// # Errors
    /// If the search has no such settings.
    pub(super) fn set(&mut self, reverse: &Reverse<P>, options: &SearchOptions) -> anyhow::Result<()> {
        let chosen = choose(&*self.puzzle, reverse, options, self.scorer, &mut self.endgames)?;
        self.template = with_settings(self.template.clone(), self.heuristic.name(), options, &chosen);
        self.search = Arc::from(chosen.search);
        self.limits = limits(options);
        Ok(())
    }

    /// The same solver several times, to search at the same time: they share the heuristic, and the memory.
    pub(super) fn split(self, count: usize) -> Vec<Self> {
        let memory = self.limits.memory.map(|memory| memory / count as u64);
        let parts = share(self.heuristic, count).into_iter();
        let solver = |heuristic| Solver {
            puzzle: Arc::clone(&self.puzzle),
            heuristic: Box::new(heuristic) as Box<dyn Heuristic<P::State>>,
            search: Arc::clone(&self.search),
            limits: Limits { memory, ..self.limits.clone() },
            stop: self.stop,
            scorer: self.scorer,
            endgames: self.endgames.clone(),
            template: self.template.clone(),
        };
        parts.map(solver).collect()
    }

    /// What results will have in common.
    pub(super) fn template(&self) -> &Solved {
        &self.template
    }

    /// Reads an instance that the heuristic can be asked about.
    pub(super) fn parse(&self, text: &str) -> Result<P::State, ParseError> {
        let start = self.puzzle.parse(text)?;
        self.check(&start)?;
        Ok(start)
    }

    /// Refuses what the network cannot read, where one is used.
    pub(super) fn check(&self, start: &P::State) -> Result<(), ParseError> {
        if self.template.model.is_some() { self.puzzle.check_encodes(start) } else { Ok(()) }
    }

    /// Searches one instance, and replays the answer from its start.
    pub(super) fn solve(
        &mut self,
        text: &str,
        start: P::State,
        line: &mut SearchLine,
    ) -> anyhow::Result<Solution<P::State>> {
        let watch = Watch { stop: self.stop, progress: &mut |progress| line.show(progress), answers: &mut |_| () };
        let solution = self.solve_watched(text, start, watch);
        line.clear();
        solution
    }

    /// The same, under other eyes, and with another flag that stops it.
    pub(super) fn solve_watched(
        &mut self,
        text: &str,
        start: P::State,
        watch: Watch<'_>,
    ) -> anyhow::Result<Solution<P::State>> {
        let mut control = Control::new(&self.limits, watch.stop, watch.progress).with_answers(watch.answers);
        let outcome = self.search.run(&*self.puzzle, &start, &mut *self.heuristic, &mut control)?;
        let stopped = control.was_stopped();
        if let Some(moves) = &outcome.moves {
            self.check_answer(&start, moves, outcome.cost)?;
        }
        let report = self.report(text, &outcome);
        Ok(Solution { start, moves: outcome.moves, end: outcome.end, stopped, report })
    }

    /// No answer is shown that does not solve.
    fn check_answer(&self, start: &P::State, moves: &[Move], cost: Option<u32>) -> anyhow::Result<()> {
        let wrong = "a search gave a wrong answer, which is not shown: this is a bug in costar";
        let (end, replayed) = replay(&*self.puzzle, start, moves).context(wrong)?;
        ensure!(self.puzzle.is_goal(&end) && Some(replayed) == cost, "{wrong}");
        Ok(())
    }

    fn report(&self, text: &str, outcome: &Outcome) -> Solved {
        let stats = &outcome.stats;
        let moves = outcome.moves.as_deref();
        Solved {
            instance: text.into(),
            solved: moves.is_some(),
            moves: moves.map(|moves| move_names(&*self.puzzle, moves)),
            length: moves.map(<[Move]>::len),
            cost: outcome.cost,
            proven_optimal: outcome.proven_optimal,
            nodes_generated: stats.generated,
            nodes_stored: stats.stored,
            nodes_expanded: stats.expanded,
            nodes_evaluated: stats.evaluated,
            iterations: stats.iterations,
            nodes_dropped: stats.dropped,
            seconds: stats.seconds,
            ended_by: ended_by(outcome.end).map(str::to_owned),
            ..self.template.clone()
        }
    }
}

/// What the results of a solver have in common.
fn template<P: Puzzle>(
    puzzle: String,
    heuristic: &str,
    place: Option<Place>,
    options: &SearchOptions,
    chosen: &Chosen<P>,
) -> Solved {
    let loaded = Solved {
        puzzle,
        instance: String::new(),
        solved: false,
        moves: None,
        length: None,
        cost: None,
        optimal_length: None,
        proven_optimal: false,
        nodes_generated: 0,
        nodes_stored: 0,
        nodes_expanded: 0,
        nodes_evaluated: 0,
        iterations: 0,
        nodes_dropped: 0,
        seconds: 0.0,
        device: place.as_ref().map(|place| place.device.to_string()),
        precision: place.as_ref().map(|place| place.precision.to_string()),
        weights_crc32: place.as_ref().map(|place| place.weights_crc32),
        model: place.map(|place| place.model),
        search: String::new(),
        n: None,
        lambda: None,
        variant: String::new(),
        heuristic: None,
        ended_by: None,
        max_seconds: None,
        max_nodes: None,
        max_memory: None,
    };
    with_settings(loaded, heuristic, options, chosen)
}

/// The same for the settings of a search.
fn with_settings<P: Puzzle>(loaded: Solved, heuristic: &str, options: &SearchOptions, chosen: &Chosen<P>) -> Solved {
    Solved {
        search: chosen.search.name().into(),
        n: chosen.n,
        lambda: chosen.lambda,
        variant: chosen.variant.clone(),
        heuristic: (!is_blind(chosen.search.name())).then(|| heuristic.into()),
        max_seconds: options.max_seconds,
        max_nodes: options.max_nodes,
        max_memory: options.max_memory,
        ..loaded
    }
}

fn ended_by(end: End) -> Option<&'static str> {
    match end {
        End::Solved => None,
        End::NoSolution => Some("no solution"),
        End::Limit(Limit::Time) => Some("time"),
        End::Limit(Limit::Nodes) => Some("nodes"),
        End::Limit(Limit::Memory) => Some("memory"),
        End::Limit(Limit::Width) => Some("width"),
        End::Limit(Limit::Stopped) => Some("stopped"),
    }
}

/// That nodes were dropped, in words, if some were.
pub(super) fn forgotten(report: &Solved) -> Option<String> {
    let dropped = report.nodes_dropped;
    (dropped > 0).then(|| format!("the {} worst forgotten again for want of memory (--max-memory)", grouped(dropped)))
}

/// Why there is no answer, in words.
pub(super) fn why_not_solved(report: &Solved, end: End) -> String {
    let counted = format!(
        "{} nodes generated, {} stored{}, {:.1} s",
        grouped(report.nodes_generated),
        grouped(report.nodes_stored),
        forgotten(report).map(|said| format!(", {said}")).unwrap_or_default(),
        report.seconds
    );
    match end {
        End::NoSolution => format!("there is no solution: every state that can be reached was seen ({counted})"),
        End::Limit(Limit::Time) => format!("not solved: the time (--max-seconds) is up ({counted})"),
        End::Limit(Limit::Nodes) => format!("not solved: the nodes (--max-nodes) are used up ({counted})"),
        End::Limit(Limit::Width) => format!("not solved: the beam ran dry, a larger --n would go further ({counted})"),
        End::Limit(Limit::Memory) => format!("not solved: the memory (--max-memory) is used up ({counted})"),
        End::Limit(Limit::Stopped) | End::Solved => format!("not solved: stopped ({counted})"),
    }
}

fn limits(options: &SearchOptions) -> Limits {
    let memory = match options.max_memory {
        Some(cap) => Some(cap.saturating_sub(memory::resident())),
        None => memory::available().map(|available| (available as f64 * MEMORY_SHARE) as u64),
    };
    Limits { time: options.max_seconds.map(Duration::from_secs_f64), nodes: options.max_nodes, memory }
}
