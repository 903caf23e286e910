//! What `solve`, `bench` and `serve` do with one instance, after the flags are resolved.

use super::estimator::{Estimator, Place};
use super::reverse::Reverse;
use super::search_options::{AutoCount, SearchOptions};
use super::{Failure, OrInput as _};
use crate::heuristic::{Heuristic, share};
use crate::memory;
use crate::neural::device::Device;
use crate::neural::model::ModelConfig;
use crate::progress::SearchLine;
use crate::puzzle::{Move, ParseError, Puzzle, State, move_names, replay};
use crate::report::Solved;
use crate::search::beam::Beam;
use crate::search::best_first::BestFirst;
use crate::search::breadth_first::BreadthFirst;
use crate::search::deferred::Deferred;
use crate::search::endgame::Endgame;
use crate::search::idastar::IterativeDeepening;
use crate::search::random::RandomWalk;
use crate::search::views::Views;
use crate::search::{Answer, Control, End, Limit, Limits, Outcome, Progress, Search};
use anyhow::{Context as _, bail, ensure};
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
    endgame: Known<P::State>,
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
        let scorer = Scorer { is_network: place.is_some(), has_heads: heuristic.has_preferences(), on_cuda };
        let mut endgame = None;
        let chosen = choose(&*puzzle, reverse, options, scorer, &mut endgame).or_input()?;
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
            endgame,
            template,
        })
    }

    /// Takes up other settings of the search and other limits; the heuristic stays as it is loaded.
    ///
    /// # Errors
    /// If the search has no such settings.
    pub(super) fn set(&mut self, reverse: &Reverse<P>, options: &SearchOptions) -> anyhow::Result<()> {
        let chosen = choose(&*self.puzzle, reverse, options, self.scorer, &mut self.endgame)?;
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
            endgame: self.endgame.clone(),
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
        if let Some(moves) = &outcome.moves {
            self.check_answer(&start, moves, outcome.cost)?;
        }
        let report = self.report(text, &outcome);
        Ok(Solution { start, moves: outcome.moves, end: outcome.end, report })
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

/// The names of all searches.
pub(super) const SEARCHES: [&str; 9] =
    ["bwas", "beam", "astar", "idastar", "nbs", "best-first", "bfs", "bidirectional", "random"];

/// Moves of a random walk before it gives up, unless --max-nodes says otherwise.
const RANDOM_MOVES: u64 = 10_000;

/// Real-valued estimates make nearly every f of IDA* distinct: bounds rise by at least this much.
const BUCKET: f32 = 1.0;

/// Whether a search asks no heuristic.
pub(super) fn is_blind(search: &str) -> bool {
    matches!(search, "bfs" | "bidirectional" | "random")
}

/// A search, with the settings that it uses.
struct Chosen<P: Puzzle> {
    search: Box<dyn Search<P>>,
    n: Option<usize>,
    lambda: Option<f32>,
    /// The flags of a variant.
    variant: String,
}

/// What scores states.
#[derive(Debug, Clone, Copy)]
struct Scorer {
    is_network: bool,
    has_heads: bool,
    on_cuda: bool,
}

/// The search that the flags name, of as many views as they say.
fn choose<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    scorer: Scorer,
    known: &mut Known<P::State>,
) -> anyhow::Result<Chosen<P>> {
    let chosen = choose_one(puzzle, reverse, options, scorer, known)?;
    let Some(views) = options.views.filter(|&views| views > 1) else { return Ok(chosen) };
    let has = reverse.goals(puzzle).first().map_or(0, |goal| puzzle.views(goal).len());
    ensure!(
        views <= has as u64,
        "--views {views}: {} has {}; leave it out",
        puzzle.name(),
        if has == 0 {
            "no equivalent instances that it knows of".into()
        } else {
            format!("{has} equivalent instances")
        }
    );
    ensure!(
        !options.anytime,
        "--views: the first view of an anytime search would have no end; leave out one of the two"
    );
    let variant = format!("{} --views {views}", chosen.variant).trim_start().to_owned();
    Ok(Chosen { search: Box::new(Views { search: chosen.search, count: views as usize }), variant, ..chosen })
}

fn choose_one<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    scorer: Scorer,
    known: &mut Known<P::State>,
) -> anyhow::Result<Chosen<P>> {
    let mut name = search_name(puzzle, options, scorer.is_network);
    let as_published = options.search != "auto" || options.n.is_some() || options.lambda.is_some();
    let of_bwas = options.deferred || options.patience.is_some() || options.anytime;
    if name == "bwas" && options.search == "auto" && (options.shortlist.is_some() || (!as_published && !of_bwas)) {
        // What measured best with a second head; --n or --lambda alone mean batch-weighted A* as it was published.
        name = if scorer.has_heads { "beam" } else { name };
    }
    let in_turn = options.deferred || (!as_published && name == "bwas" && scorer.has_heads);
    ensure!(
        in_turn || name == "beam" || options.confidence.is_none(),
        "--confidence is a setting of --deferred and of beam: add one of these, or leave it out"
    );
    ensure!(
        name == "beam" || options.shortlist.is_none(),
        "--shortlist is a setting of the search beam, and the search is {name}"
    );
    for (flag, given, of_beam) in [
        ("--deferred", options.deferred, false),
        ("--endgame", options.endgame.is_some(), true),
        ("--patience", options.patience.is_some(), false),
        ("--anytime", options.anytime, false),
    ] {
        let fits = name == "bwas" || (of_beam && name == "beam");
        ensure!(!given || fits, "{flag} is no setting of the search {name}: leave it out");
        if (given && name == "bwas") || in_turn {
            return variant(puzzle, reverse, options, in_turn, &scorer, known);
        }
    }
    let n = nodes_a_step(options, if scorer.on_cuda { 10_000 } else { 1_000 });
    let refuse = |flag: &str, given: bool| {
        ensure!(!given, "{flag}: the search {name} has no such setting; leave it out, or choose another --search");
        Ok(())
    };
    let uses_n = matches!(name, "bwas" | "beam");
    let uses_lambda = matches!(name, "bwas" | "best-first");
    if SEARCHES.contains(&name) {
        refuse("--n", options.n.is_some() && !uses_n)?;
        refuse("--lambda", options.lambda.is_some() && !uses_lambda)?;
    }
    let lambda = options.lambda.unwrap_or(if name == "best-first" { 0.0 } else { 0.6 });
    let search: Box<dyn Search<P>> = match name {
        "bwas" => Box::new(BestFirst::bwas(n, lambda)),
        "best-first" => Box::new(BestFirst::one_by_one(lambda)),
        "astar" => Box::new(BestFirst::a_star()),
        "idastar" => Box::new(IterativeDeepening { bucket: BUCKET }),
        "beam" => return beam(puzzle, reverse, options, &scorer, known),
        "bfs" => Box::new(BreadthFirst),
        "random" => Box::new(RandomWalk { seed: options.seed, most_moves: RANDOM_MOVES }),
        "bidirectional" | "nbs" => match if name == "nbs" { reverse.nbs } else { reverse.bidirectional } {
            Some(make) => make(),
            None => bail!(
                "--search {name}: the moves of {} cannot be undone, so that it cannot be searched from its goals; \
                 {} would be accepted",
                puzzle.name(),
                reverse.searches().join(", ")
            ),
        },
        _ => bail!("--search: there is no search '{name}': auto, {} would be accepted", reverse.searches().join(", ")),
    };
    let variant = String::new();
    Ok(Chosen { search, n: uses_n.then_some(n), lambda: uses_lambda.then_some(lambda), variant })
}

/// `--n`, or what measured best.
fn nodes_a_step(options: &SearchOptions, best: usize) -> usize {
    match options.n {
        Some(AutoCount::Count(count)) => usize::try_from(count).unwrap_or(usize::MAX),
        Some(AutoCount::Auto) | None => best,
    }
}

/// Exact costs of the cube within this many moves take a third of a second: 984,000 states.
const ENDGAME_DEPTH: u64 = 6;

/// Steps after the first answer.
const PATIENCE: u64 = 4;

/// How much a move's probability counts, in moves.
const CONFIDENCE: f32 = 3.0;

/// Children of a beam that are scored, in widths.
const SHORTLIST: u64 = 3;

/// A beam with the settings that were given, and those that measured best.
fn beam<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    scorer: &Scorer,
    known: &mut Known<P::State>,
) -> anyhow::Result<Chosen<P>> {
    ensure!(options.lambda.is_none(), "--lambda: the search beam has no such setting; leave it out");
    let shortlist = options.shortlist.unwrap_or(if scorer.has_heads { SHORTLIST } else { 0 });
    ensure!(
        shortlist == 0 || scorer.has_heads,
        "--shortlist: the heuristic has no second head: a model that was trained with --heads would be accepted"
    );
    ensure!(shortlist > 0 || options.confidence.is_none(), "--confidence: without a shortlist, it has no use");
    let confidence = options.confidence.unwrap_or(CONFIDENCE);
    let width = nodes_a_step(
        options,
        match (shortlist > 0, scorer.on_cuda) {
            (true, true) => 100_000,
            (true, false) => 25_000,
            (false, true) => 10_000,
            (false, false) => 1_000,
        },
    );
    let (depth, endgame) = endgame(puzzle, reverse, options, shortlist > 0, known)?;
    let mut variant = if depth > 0 { format!("--endgame {depth}") } else { String::new() };
    if shortlist > 0 {
        variant = format!("--shortlist {shortlist} --confidence {confidence} {variant}").trim_end().to_owned();
    }
    let shortlist = usize::try_from(shortlist).unwrap_or(usize::MAX);
    let search = Box::new(Beam { width, shortlist, confidence, endgame });
    Ok(Chosen { search, n: Some(width), lambda: None, variant })
}

/// The endgame that was asked for, or that measured best; and its depth, 0 for none.
fn endgame<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    wanted: bool,
    known: &mut Known<P::State>,
) -> anyhow::Result<(u32, Endgame<P::State>)> {
    let default_depth = if wanted && reverse.endgame.is_some() { ENDGAME_DEPTH } else { 0 };
    let depth = u32::try_from(options.endgame.unwrap_or(default_depth)).unwrap_or(u32::MAX);
    let endgame = match reverse.endgame {
        _ if depth == 0 => Endgame::none(),
        Some(make) => endgame_of(known, depth, || make(puzzle, depth)),
        None => bail!("--endgame: the moves of {} cannot be undone: 0 would be accepted", puzzle.name()),
    };
    Ok((depth, endgame))
}

/// A variant of BWAS with the settings that were given, and those that measured best.
fn variant<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    in_turn: bool,
    scorer: &Scorer,
    known: &mut Known<P::State>,
) -> anyhow::Result<Chosen<P>> {
    ensure!(
        scorer.has_heads || !in_turn,
        "--deferred: the heuristic has no second head: a model that was trained with --heads would be accepted"
    );
    let best = match (in_turn, scorer.on_cuda) {
        (true, true) => 100_000,
        (true, false) => 20_000,
        (false, true) => 10_000,
        (false, false) => 1_000,
    };
    let n = nodes_a_step(options, best);
    let lambda = options.lambda.unwrap_or(0.6);
    let confidence = options.confidence.unwrap_or(CONFIDENCE);
    let (depth, endgame) = endgame(puzzle, reverse, options, in_turn, known)?;
    // A goal that is met by itself is seldom beaten soon; one that is known by heart is met early.
    let patience = options.patience.unwrap_or(if depth > 0 { PATIENCE } else { 0 });
    let patience = (!options.anytime).then_some(patience);
    let how = if in_turn { format!("--deferred --confidence {confidence} ") } else { String::new() };
    let until = patience.map_or("--anytime".into(), |steps| format!("--patience {steps}"));
    let variant = format!("{how}--endgame {depth} {until}");
    let search = Box::new(Deferred { expand: n, lambda, confidence, eager: !in_turn, patience, endgame });
    Ok(Chosen { search, n: Some(n), lambda: Some(lambda), variant })
}

/// The endgame that was made last, by its depth: the next search may want the same.
type Known<S> = Option<(u32, Endgame<S>)>;

fn endgame_of<S: State>(known: &mut Known<S>, depth: u32, make: impl FnOnce() -> Endgame<S>) -> Endgame<S> {
    match known {
        Some((present, endgame)) if *present == depth => endgame.clone(),
        _ => known.insert((depth, make())).1.clone(),
    }
}

/// The search that `--search` names; `auto` is the one as published where its settings are given or a network is used.
pub(super) fn search_name<'a, P: Puzzle>(puzzle: &P, options: &'a SearchOptions, with_network: bool) -> &'a str {
    match options.search.as_str() {
        "auto" if options.n.is_some() || options.lambda.is_some() || with_network => "bwas",
        "auto" => puzzle.best_search(),
        name => name,
    }
}

/// Refuses settings that [`Solver::new`] and [`Solver::set`] would refuse, and loads and computes nothing for it.
///
/// # Errors
/// Names the setting, and what would be accepted.
pub(super) fn check_options<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
) -> anyhow::Result<Estimator> {
    let estimator = Estimator::named(puzzle, reverse, options)?;
    let has_heads = match &estimator {
        Estimator::Network { folder, .. } => ModelConfig::read(folder)?.network.heads.is_some(),
        Estimator::Own(_) => false,
    };
    let is_network = matches!(estimator, Estimator::Network { .. });
    let on_cuda = is_network && Device::resolve(options.device)?.is_cuda();
    choose(puzzle, &reverse.without_tables(), options, Scorer { is_network, has_heads, on_cuda }, &mut None)?;
    Ok(estimator)
}
