//! Which search the flags name, with which settings: those that were given, and those that measured best.

use super::estimator::Estimator;
use super::reverse::Reverse;
use super::search_options::{AutoCount, SearchOptions};
use crate::memory;
use crate::neural::device::Device;
use crate::neural::model::{BeamSettings, ModelConfig};
use crate::puzzle::{Puzzle, State};
use crate::search::Search;
use crate::search::beam::Beam;
use crate::search::best_first::BestFirst;
use crate::search::breadth_first::BreadthFirst;
use crate::search::deferred::Deferred;
use crate::search::endgame::Endgame;
use crate::search::idastar::IterativeDeepening;
use crate::search::random::RandomWalk;
use crate::search::views::Views;
use anyhow::{bail, ensure};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

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
pub(super) struct Chosen<P: Puzzle> {
    pub(super) search: Box<dyn Search<P>>,
    pub(super) n: Option<usize>,
    pub(super) lambda: Option<f32>,
    /// The flags of a variant.
    pub(super) variant: String,
}

/// What scores states.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scorer {
    pub(super) is_network: bool,
    pub(super) has_heads: bool,
    pub(super) on_cuda: bool,
    /// What a beam does best with it, where its model says so.
    pub(super) beam: BeamSettings,
}

/// The search that the flags name, of as many views as they say.
pub(super) fn choose<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    scorer: Scorer,
    endgames: &mut Endgames<P::State>,
) -> anyhow::Result<Chosen<P>> {
    let has = count_views(puzzle, reverse);
    let asked = options.views.unwrap_or(1);
    ensure!(
        asked <= has.max(1) as u64,
        "--views {asked}: {} has {}; leave it out",
        puzzle.name(),
        if has == 0 {
            "no equivalent instances that it knows of".into()
        } else {
            format!("{has} equivalent instances")
        }
    );
    ensure!(
        asked == 1 || !options.anytime,
        "--views: the first view of an anytime search would have no end; leave out one of the two"
    );
    // Where only a cheaper answer is looked for, a few narrow beams find more than a wide one.
    let is_beam = name_and_turn(puzzle, options, &scorer).0 == "beam";
    let takes_several = is_beam && scorer.has_heads && options.shortlist != Some(0);
    let best = if takes_several { has.clamp(1, BEAM_VIEWS) } else { 1 };
    let views = options.views.map_or(best, |views| views as usize);
    let chosen = choose_one(puzzle, reverse, options, scorer, views, endgames)?;
    if views == 1 {
        return Ok(chosen);
    }
    let variant = format!("{} --views {views}", chosen.variant).trim_start().to_owned();
    Ok(Chosen { search: Box::new(Views { search: chosen.search, count: views }), variant, ..chosen })
}

/// How many equivalent instances there are of each; 0 where a puzzle knows of none.
fn count_views<P: Puzzle>(puzzle: &P, reverse: &Reverse<P>) -> usize {
    reverse.goals(puzzle).first().map_or(0, |goal| puzzle.views(goal).len())
}

fn choose_one<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    scorer: Scorer,
    views: usize,
    endgames: &mut Endgames<P::State>,
) -> anyhow::Result<Chosen<P>> {
    let (name, in_turn) = name_and_turn(puzzle, options, &scorer);
    if SEARCHES.contains(&name) {
        refuse_foreign(name, options)?;
    }
    ensure!(
        in_turn || name == "beam" || options.confidence.is_none(),
        "--confidence is a setting of --deferred and of beam: add one of these, or leave it out"
    );
    let search: Box<dyn Search<P>> = match name {
        "bwas" if in_turn || options.endgame.is_some() || options.patience.is_some() || options.anytime => {
            return variant(puzzle, reverse, options, in_turn, &scorer, endgames);
        }
        "bwas" => {
            let n = nodes_a_step(options, if scorer.on_cuda { 10_000 } else { 1_000 });
            let lambda = options.lambda.unwrap_or(LAMBDA);
            let search = Box::new(BestFirst::bwas(n, lambda));
            return Ok(Chosen { search, n: Some(n), lambda: Some(lambda), variant: String::new() });
        }
        "beam" => return beam(puzzle, reverse, options, &scorer, views, endgames),
        "best-first" => {
            let lambda = options.lambda.unwrap_or(0.0);
            let search = Box::new(BestFirst::one_by_one(lambda));
            return Ok(Chosen { search, n: None, lambda: Some(lambda), variant: String::new() });
        }
        "astar" => Box::new(BestFirst::a_star()),
        "idastar" => Box::new(IterativeDeepening { bucket: BUCKET }),
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
    Ok(Chosen { search, n: None, lambda: None, variant: String::new() })
}

/// The search that the flags mean, and whether it is the bwas that scores a child only when its turn comes.
fn name_and_turn<'a, P: Puzzle>(puzzle: &P, options: &'a SearchOptions, scorer: &Scorer) -> (&'a str, bool) {
    let name = search_name(puzzle, options, scorer.is_network);
    if name != "bwas" || !scorer.has_heads || options.search != "auto" {
        return (name, options.deferred);
    }
    // What measured best with a second head; --n or --lambda alone mean batch-weighted A* as it was published.
    let as_published = options.n.is_some() || options.lambda.is_some();
    let of_bwas = options.deferred || options.patience.is_some() || options.anytime;
    if options.shortlist.is_some() || options.twins.is_some() || (!as_published && !of_bwas) {
        return ("beam", options.deferred);
    }
    (name, options.deferred || !as_published)
}

/// Refuses settings of other searches.
fn refuse_foreign(name: &str, options: &SearchOptions) -> anyhow::Result<()> {
    let settings: [(&str, bool, &[&str]); 8] = [
        ("--n", options.n.is_some(), &["bwas", "beam"]),
        ("--lambda", options.lambda.is_some(), &["bwas", "best-first"]),
        ("--shortlist", options.shortlist.is_some(), &["beam"]),
        ("--twins", options.twins.is_some(), &["beam"]),
        ("--endgame", options.endgame.is_some(), &["bwas", "beam"]),
        ("--deferred", options.deferred, &["bwas"]),
        ("--patience", options.patience.is_some(), &["bwas"]),
        ("--anytime", options.anytime, &["bwas"]),
    ];
    for (flag, given, searches) in settings {
        ensure!(
            !given || searches.contains(&name),
            "{flag}: the search {name} has no such setting, {} would: leave it out, or choose another --search",
            searches.join(" and ")
        );
    }
    Ok(())
}

/// `--n`, or what measured best.
fn nodes_a_step(options: &SearchOptions, best: usize) -> usize {
    match options.n {
        Some(AutoCount::Count(count)) => usize::try_from(count).unwrap_or(usize::MAX),
        Some(AutoCount::Auto) | None => best,
    }
}

/// The weight of the path cost, as published.
const LAMBDA: f32 = 0.6;

/// States that the deferred search knows by heart: the cube's within 6 moves.
const ENDGAME: usize = 1_000_000;

/// States that a beam knows by heart, for each state of its width and each view: to learn one takes less than a
/// thousandth of the time that a state takes in all layers. The cube's within 7 moves for the width that is chosen by
/// itself, within 8 for widths of 90,000 in all views.
const BEAM_ENDGAME: usize = 1_000;

/// Bytes that a state of an endgame takes, with what it takes to make it.
const ENDGAME_BYTES: u64 = 16;

/// Steps after the first answer.
const PATIENCE: u64 = 4;

/// How much a move's probability counts, in moves, in a beam.
const BEAM_CONFIDENCE: f32 = 1.5;

/// And in the deferred search, which comes back to what it put off.
const DEFERRED_CONFIDENCE: f32 = 1.0;

/// Children of a beam that are scored, in widths.
const SHORTLIST: u64 = 3;

/// Views of an instance that a beam searches, where it has as many.
const BEAM_VIEWS: usize = 4;

/// A beam with the settings that were given, and those that measured best.
fn beam<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    scorer: &Scorer,
    views: usize,
    endgames: &mut Endgames<P::State>,
) -> anyhow::Result<Chosen<P>> {
    let shortlist = options.shortlist.unwrap_or(if scorer.has_heads { SHORTLIST } else { 0 });
    ensure!(
        shortlist == 0 || scorer.has_heads,
        "--shortlist: the heuristic has no second head: a model that was trained with --heads would be accepted"
    );
    ensure!(shortlist > 0 || options.confidence.is_none(), "--confidence: without a shortlist, it has no use");
    let confidence = options.confidence.or(scorer.beam.confidence).unwrap_or(BEAM_CONFIDENCE);
    let has_twins = reverse.goals(puzzle).first().is_some_and(|goal| puzzle.twin(goal).is_some());
    ensure!(
        has_twins || options.twins.is_none_or(|twins| twins == 0.0),
        "--twins: {}, with this goal, knows of no twins: 0 would be accepted",
        puzzle.name()
    );
    let twins = options.twins.unwrap_or(0.0);
    let best = match (shortlist > 0, scorer.on_cuda) {
        (true, true) => 100_000 / views.min(BEAM_VIEWS),
        (true, false) => 16_000 / views.min(BEAM_VIEWS),
        (false, true) => 10_000,
        (false, false) => 1_000,
    };
    let width = nodes_a_step(options, scorer.beam.n.map_or(best, NonZeroUsize::get));
    let wanted = match scorer.beam.endgame {
        _ if shortlist == 0 => Wanted::NONE,
        Some(depth) => Wanted { depth, states: usize::MAX },
        None => Wanted::states(BEAM_ENDGAME.saturating_mul(width).saturating_mul(views)),
    };
    let endgame = endgame(puzzle, reverse, options, wanted, endgames)?;
    let depth = endgame.depth();
    let mut variant = if depth > 0 { format!("--endgame {depth}") } else { String::new() };
    if twins > 0.0 {
        variant = format!("--twins {twins} {variant}").trim_end().to_owned();
    }
    if shortlist > 0 {
        variant = format!("--shortlist {shortlist} --confidence {confidence} {variant}").trim_end().to_owned();
    }
    let shortlist = usize::try_from(shortlist).unwrap_or(usize::MAX);
    let search = Box::new(Beam { width, shortlist, confidence, twins, endgame });
    Ok(Chosen { search, n: Some(width), lambda: None, variant })
}

/// The endgame that was asked for, or that measured best where moves can be undone.
fn endgame<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    wanted: Wanted,
    endgames: &mut Endgames<P::State>,
) -> anyhow::Result<Endgame<P::State>> {
    let depth = options.endgame.map(|depth| u32::try_from(depth).unwrap_or(u32::MAX));
    let wanted = depth.map_or(wanted, |depth| Wanted { depth, states: usize::MAX });
    let make = match reverse.endgame {
        _ if wanted.depth == 0 => return Ok(Endgame::none()),
        None if depth.is_some() => {
            bail!("--endgame: the moves of {} cannot be undone: 0 would be accepted", puzzle.name())
        }
        None => return Ok(Endgame::none()),
        Some(make) => make,
    };
    let room = endgame_room(options.max_memory.or_else(memory::available));
    let wanted = Wanted { states: wanted.states.min(roughly(room)), ..wanted };
    let endgame = match &endgames.last {
        Some((present, endgame)) if *present == wanted => endgame.clone(),
        _ => endgames.last.insert((wanted, make(puzzle, wanted.depth, wanted.states, endgames.stop))).1.clone(),
    };
    if let Some(depth) = depth {
        check_reached(&endgame, depth)?;
    }
    Ok(endgame)
}

/// How many states of an endgame half of the memory holds, where it is known.
pub(super) fn endgame_room(memory: Option<u64>) -> usize {
    (memory.unwrap_or(u64::MAX) / 2 / ENDGAME_BYTES) as usize
}

/// Refuses an endgame that memory has kept from the depth that was asked for.
pub(super) fn check_reached<S: State>(endgame: &Endgame<S>, depth: u32) -> anyhow::Result<()> {
    let reached = endgame.depth();
    ensure!(
        reached == depth || endgame.is_empty() || endgame.is_whole(),
        "--endgame {depth}: so many states do not fit into half of the memory: {reached} would be accepted"
    );
    Ok(())
}

/// A variant of BWAS with the settings that were given, and those that measured best.
fn variant<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
    in_turn: bool,
    scorer: &Scorer,
    endgames: &mut Endgames<P::State>,
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
    let lambda = options.lambda.unwrap_or(LAMBDA);
    let confidence = options.confidence.unwrap_or(DEFERRED_CONFIDENCE);
    let wanted = if in_turn { Wanted::states(ENDGAME) } else { Wanted::NONE };
    let endgame = endgame(puzzle, reverse, options, wanted, endgames)?;
    let depth = endgame.depth();
    // A goal that is met by itself is seldom beaten soon; one that is known by heart is met early.
    let patience = options.patience.unwrap_or(if depth > 0 { PATIENCE } else { 0 });
    let patience = (!options.anytime).then_some(patience);
    let how = if in_turn { format!("--deferred --confidence {confidence} ") } else { String::new() };
    let until = patience.map_or("--anytime".into(), |steps| format!("--patience {steps}"));
    let variant = format!("{how}--endgame {depth} {until}");
    let search = Box::new(Deferred { expand: n, lambda, confidence, eager: !in_turn, patience, endgame });
    Ok(Chosen { search, n: Some(n), lambda: Some(lambda), variant })
}

/// The number without its low bits, so that what is available now and in a moment is the same.
fn roughly(number: usize) -> usize {
    let low = number.checked_ilog2().unwrap_or(0).saturating_sub(2);
    number >> low << low
}

/// How much is to be known by heart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    depth: u32,
    states: usize,
}

impl Wanted {
    const NONE: Wanted = Wanted { depth: 0, states: 0 };

    fn states(states: usize) -> Self {
        Wanted { depth: u32::MAX, states }
    }
}

/// Makes endgames, and keeps the last: the next search may want the same.
#[derive(Debug, Clone)]
pub(super) struct Endgames<S> {
    last: Option<(Wanted, Endgame<S>)>,
    stop: &'static AtomicBool,
}

impl<S> Endgames<S> {
    /// None so far; once `stop` is set, none will know a state.
    pub(super) fn new(stop: &'static AtomicBool) -> Self {
        Endgames { last: None, stop }
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

/// Refuses settings that [`Solver::new`](super::solver::Solver::new) and [`Solver::set`](super::solver::Solver::set) would refuse, and loads and computes nothing for it.
///
/// # Errors
/// Names the setting, and what would be accepted.
pub(super) fn check_options<P: Puzzle>(
    puzzle: &P,
    reverse: &Reverse<P>,
    options: &SearchOptions,
) -> anyhow::Result<Estimator> {
    let estimator = Estimator::named(puzzle, reverse, options)?;
    let config = match &estimator {
        Estimator::Network { folder, .. } => Some(ModelConfig::read(folder)?),
        Estimator::Own(_) => None,
    };
    let scorer = Scorer {
        is_network: config.is_some(),
        has_heads: config.as_ref().is_some_and(|config| config.network.heads.is_some()),
        on_cuda: config.is_some() && Device::resolve(options.device)?.is_cuda(),
        beam: config.map(|config| config.beam).unwrap_or_default(),
    };
    static NEVER: AtomicBool = AtomicBool::new(false);
    choose(puzzle, &reverse.without_tables(), options, scorer, &mut Endgames::new(&NEVER))?;
    Ok(estimator)
}
