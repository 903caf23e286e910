//! What `solve` and `bench` do with one instance, after the flags are resolved.

use super::search_options::{AutoCount, SearchOptions};
use super::{Failure, OrInput as _, models};
use crate::heuristic::{Ask, Heuristic, ball, zero};
use crate::memory;
use crate::neural::device::Device;
use crate::neural::estimator::NetworkHeuristic;
use crate::neural::learner::Precision;
use crate::neural::model::Model;
use crate::progress::{SearchLine, note};
use crate::puzzle::{Move, Reversible, move_names, replay};
use crate::report::Solved;
use crate::search::bwas::Bwas;
use crate::search::{Control, End, Limit, Limits, Outcome, Search};
use anyhow::{Context as _, anyhow, bail, ensure};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Exact distances of the heuristic `ball`: 100,000 states of the cube.
const BALL_DEPTH: u32 = 5;

/// The share of the available memory that a search takes at most.
const MEMORY_SHARE: f64 = 0.8;

/// A puzzle, a heuristic and a search, ready for instances.
pub(super) struct Solver<P: Reversible> {
    pub(super) puzzle: Arc<P>,
    heuristic: Box<dyn Heuristic<P::State>>,
    search: Box<dyn Search<P>>,
    limits: Limits,
    stop: &'static AtomicBool,
    /// What all results have in common.
    template: Solved,
}

/// An instance after its search.
pub(super) struct Solution<S> {
    pub(super) start: S,
    pub(super) moves: Option<Vec<Move>>,
    pub(super) end: End,
    pub(super) report: Solved,
}

impl<P: Reversible> Solver<P> {
    /// Loads what the flags name.
    pub(super) fn new(puzzle: P, options: &SearchOptions, stop: &'static AtomicBool) -> Result<Self, Failure> {
        if options.goal.is_some() {
            return Err(anyhow!("--goal: {} has its own goal, and no other would be accepted", puzzle.name()))
                .or_input();
        }
        if !matches!(options.search.as_str(), "auto" | "bwas") {
            return Err(anyhow!("--search: there is no search '{}': auto or bwas would be accepted", options.search))
                .or_input();
        }
        let puzzle = Arc::new(puzzle);
        let (mut heuristic, place) = heuristic(&puzzle, options).or_input()?;
        if place.is_some() {
            // What the first pass sets up is neither the search's time nor its memory.
            let states = vec![puzzle.goals()[0]; heuristic.chunk()];
            heuristic.submit(&states, Ask::Values)?;
            heuristic.collect()?;
        }
        let expand = match options.n {
            AutoCount::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            AutoCount::Auto if place.as_ref().is_some_and(|place| place.device.is_cuda()) => 10_000,
            AutoCount::Auto => 1_000,
        };
        let search: Box<dyn Search<P>> = Box::new(Bwas { expand, lambda: options.lambda });
        let template = Solved {
            puzzle: puzzle.name(),
            instance: String::new(),
            solved: false,
            moves: None,
            length: None,
            cost: None,
            proven_optimal: false,
            nodes_generated: 0,
            nodes_stored: 0,
            nodes_expanded: 0,
            nodes_evaluated: 0,
            iterations: 0,
            seconds: 0.0,
            device: place.as_ref().map(|place| place.device.to_string()),
            weights_crc32: place.as_ref().map(|place| place.weights_crc32),
            model: place.map(|place| place.model),
            search: search.name().into(),
            n: Some(expand),
            lambda: Some(options.lambda),
            heuristic: heuristic.name().into(),
            ended_by: None,
            max_seconds: options.max_seconds,
            max_nodes: options.max_nodes,
            max_memory: options.max_memory,
        };
        Ok(Solver { puzzle, heuristic, search, limits: limits(options), stop, template })
    }

    /// What results will have in common.
    pub(super) fn template(&self) -> &Solved {
        &self.template
    }

    /// Searches one instance, and replays the answer from its start.
    pub(super) fn solve(
        &mut self,
        text: &str,
        start: P::State,
        line: &mut SearchLine,
    ) -> anyhow::Result<Solution<P::State>> {
        let mut watch = |progress: &_| line.show(progress);
        let mut control = Control::new(&self.limits, self.stop, &mut watch);
        let outcome = self.search.run(&*self.puzzle, &start, &mut *self.heuristic, &mut control)?;
        line.clear();
        if let Some(moves) = &outcome.moves {
            self.check(&start, moves, outcome.cost)?;
        }
        let report = self.report(text, &outcome);
        Ok(Solution { start, moves: outcome.moves, end: outcome.end, report })
    }

    /// No answer is shown that does not solve.
    fn check(&self, start: &P::State, moves: &[Move], cost: Option<u32>) -> anyhow::Result<()> {
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
            seconds: stats.seconds,
            ended_by: ended_by(outcome.end).map(str::to_owned),
            ..self.template.clone()
        }
    }
}

fn ended_by(end: End) -> Option<&'static str> {
    match end {
        End::Solved => None,
        End::NoSolution => Some("no solution"),
        End::Limit(Limit::Time) => Some("time"),
        End::Limit(Limit::Nodes) => Some("nodes"),
        End::Limit(Limit::Memory) => Some("memory"),
        End::Limit(Limit::Stopped) => Some("stopped"),
    }
}

/// Why there is no answer, in words.
pub(super) fn why_not_solved(report: &Solved, end: End) -> String {
    let counted = format!(
        "{} nodes generated, {} stored, {:.1} s",
        crate::quantity::grouped(report.nodes_generated),
        crate::quantity::grouped(report.nodes_stored),
        report.seconds
    );
    match end {
        End::NoSolution => format!("there is no solution: every state that can be reached was seen ({counted})"),
        End::Limit(Limit::Time) => format!("not solved: the time (--max-seconds) is up ({counted})"),
        End::Limit(Limit::Nodes) => format!("not solved: the nodes (--max-nodes) are used up ({counted})"),
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

/// Where a network runs.
struct Place {
    device: Device,
    model: String,
    weights_crc32: u32,
}

type Found<S> = (Box<dyn Heuristic<S>>, Option<Place>);

fn heuristic<P: Reversible>(puzzle: &Arc<P>, options: &SearchOptions) -> anyhow::Result<Found<P::State>> {
    match options.heuristic.as_str() {
        "network" => {
            let folder = models::find(options.model.as_deref().unwrap_or(&puzzle.name()))?;
            let (device, said) = Device::resolve_aloud(options.device)?;
            if let Some(said) = said {
                note!("costar: {said}");
            }
            let model = Model::read(&folder, &**puzzle, device, Precision::auto(device))?;
            let weights_crc32 = model.weights_crc32;
            let place = Place { device, model: model_name(&folder, options), weights_crc32 };
            Ok((Box::new(NetworkHeuristic::new(Arc::clone(puzzle), model, device)), Some(place)))
        }
        name @ ("zero" | "ball") => {
            Device::resolve(options.device)?;
            ensure!(options.model.is_none(), "--model: the heuristic '{name}' needs none; leave out one of the two");
            Ok((if name == "zero" { Box::new(zero()) } else { Box::new(ball(&**puzzle, BALL_DEPTH)) }, None))
        }
        other => bail!("--heuristic: there is no heuristic '{other}': network, zero or ball would be accepted"),
    }
}

/// The name that a result gives its model: as it was asked for, or the folder's own.
fn model_name(folder: &Path, options: &SearchOptions) -> String {
    let own = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    options.model.clone().or(own).unwrap_or_else(|| folder.display().to_string())
}
