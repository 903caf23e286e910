//! The puzzles by name, and facts about each beyond its rules: its own estimates, the search that measured best
//! without a network, its training samples and its random states.
//!
//! | file | content |
//! | --- | --- |
//! | `registry` | the names, and the [`Entry`] of each puzzle; CONTRIBUTING.md says how to add one |
//! | `entry` | [`Entry`] and [`PuzzleFacts`] |
//! | `perimeter_heuristic` | the heuristic `perimeter` of reversible puzzles |

use crate::error::{Error, Result, SettingError, ensure_setting};
use crate::heuristic::tiles::{self, BoardHeuristics};
use crate::heuristic::{self, small_puzzles};
use crate::puzzle::cube_n::CubeN;
use crate::puzzle::cube_n::stages::edges::{self, Edges};
use crate::puzzle::cube2::Cube2;
use crate::puzzle::cube3::{Cube3, Cube3HalfTurns};
use crate::puzzle::jugs::Jugs;
use crate::puzzle::lightsout::{self, LightsOut};
use crate::puzzle::move_costs::MoveCosts;
use crate::puzzle::permutation::{Description, Permutation};
use crate::puzzle::sokoban::Sokoban;
use crate::puzzle::tiles::{Bytes, Packed8, Packed15, Packed24, Tiles};
use crate::puzzle::{Notation as _, ParseError, Puzzle, Rules};
use crate::random::{Generator, below};
use crate::sampler::{SolutionStates, Source, random_level, sokoban};
use std::path::Path;
use std::sync::Arc;

mod entry;
mod perimeter_heuristic;

#[cfg(feature = "cli")]
pub(crate) use entry::has_unit_costs;
pub use entry::{Entry, PuzzleFacts};
pub use perimeter_heuristic::perimeter_heuristic;

/// The puzzles beside [`NAMES`] and files.
pub const OTHERS: &str = "another size (lightsout2 to lightsout15), another cube (cube4 to cube11, with :htm, :obtm or :oriented), other jugs \
     (jugs:10,7,3)";

/// Defines [`NAMES`] and [`FILES`]: the puzzles in code, then the files in `test-data/puzzles`.
macro_rules! names {
    ($($own:literal)*; $($file:literal)*) => {
        /// The names of all puzzles that come with costar.
        pub const NAMES: &[&str] = &[$($own,)* $($file),*];

        /// The puzzles of [`NAMES`] that are files, with their texts.
        const FILES: &[(&str, &str)] =
            &[$(($file, include_str!(concat!("../test-data/puzzles/", $file, ".json")))),*];
    };
}

names!(
    "cube3" "cube3:htm" "cube2" "cube4" "cube4:oriented" "cube4:reduction" "cube5" "cube5:centres" "cube5:edges" "cube6"
    "cube7" "puzzle8" "puzzle15" "puzzle24" "puzzle35" "puzzle48" "lightsout7" "sokoban" "jugs:8,5,3";
    "pyraminx" "skewb" "megaminx" "professor-tetraminx" "supercube3" "hungarian-rings" "periodic15" "cuboid223" "topspin20"
    "lrx9"
);

/// The puzzle of a name, if it is a file that comes with costar.
pub fn included(name: &str) -> Option<Description> {
    let (_, text) = FILES.iter().find(|(other, _)| *other == name)?;
    let description = Description::parse(text).expect("the included files are puzzles: a test reads them all");
    Some(description.that_comes_with_costar())
}

/// A puzzle of your own needs no more than [`Entry::new`]; more is known of the built-in ones.
impl From<Cube3> for Entry<Cube3> {
    fn from(puzzle: Cube3) -> Self {
        if puzzle.own_costs().is_some() {
            return Entry::new(puzzle).with_search("nbs").without_network();
        }
        // With a policy head, `resolve` makes it a beam.
        Entry::new(puzzle).with_search("bwas")
    }
}

impl From<Cube2> for Entry<Cube2> {
    fn from(puzzle: Cube2) -> Self {
        Entry::new(puzzle).with_heuristics(small_puzzles::cube2).without_network()
    }
}

impl<B: BoardHeuristics> From<Tiles<B>> for Entry<Tiles<B>> {
    fn from(puzzle: Tiles<B>) -> Self {
        let entry = Entry::new(puzzle).with_heuristics(tiles::heuristics);
        let entry = entry.with_search(if B::SIDE == 3 { "astar" } else { "idastar" });
        if B::SIDE > 4 { entry } else { entry.without_network() }
    }
}

impl<const WORDS: usize> From<LightsOut<WORDS>> for Entry<LightsOut<WORDS>> {
    fn from(puzzle: LightsOut<WORDS>) -> Self {
        Entry::new(puzzle).with_heuristics(small_puzzles::lights).with_search("astar")
    }
}

impl From<Sokoban> for Entry<Sokoban> {
    /// A* with the matching solves levels of 10 × 10 with four boxes optimally in a hundredth of a second.
    fn from(puzzle: Sokoban) -> Self {
        let entry = Entry::new(puzzle).with_heuristics(heuristic::sokoban::heuristics);
        let entry = entry.with_search("astar").without_network();
        let entry = entry.with_samples(|puzzle| Ok(sokoban(puzzle.counts_pushes())));
        entry.with_random_states(|puzzle, moves, generator| {
            let level = random_level(moves, puzzle.counts_pushes(), generator);
            puzzle.parse(&level).expect("a room with boxes, goals and a player is a level")
        })
    }
}

impl From<Jugs> for Entry<Jugs> {
    /// Its samples are all states that can be reached from the start, with their exact costs.
    fn from(puzzle: Jugs) -> Self {
        let entry = Entry::new(puzzle).with_heuristics(small_puzzles::jugs).without_network();
        let entry = entry.with_samples(|jugs| {
            let samples = SolutionStates::exact(Arc::new(jugs.clone()), &jugs.start());
            let none = || ParseError(format!("{}: no state that needs a move leads to the goal", jugs.name()));
            let samples = samples.ok_or_else(none)?;
            Ok(Source { default_depth: samples.greatest(), samples: Arc::new(samples) })
        });
        // Everything can be poured back, so every reached state can be solved if the first can.
        entry.with_random_states(|jugs, moves, generator| random_walk(jugs, jugs.start(), moves, generator))
    }
}

impl<const N: usize> From<Permutation<N>> for Entry<Permutation<N>> {
    fn from(puzzle: Permutation<N>) -> Self {
        // A move that is repeated leads back to where it began, so every reached state can be solved.
        Entry::new(puzzle)
            .with_random_states(|puzzle, moves, generator| random_walk(puzzle, puzzle.goals()[0], moves, generator))
    }
}

/// The state after some random legal moves, by default 20; ends early in a state without legal moves.
fn random_walk<P: Puzzle>(puzzle: &P, start: P::State, moves: Option<u64>, generator: &mut Generator) -> P::State {
    const DEFAULT_MOVES: u64 = 20;
    /// More lead to no other states.
    const MAX_MOVES: u64 = 1_000_000;
    let mut state = start;
    for _ in 0..moves.unwrap_or(DEFAULT_MOVES).min(MAX_MOVES) {
        let next: Vec<_> = puzzle.children(&state).map(|(_, next)| next).collect();
        if next.is_empty() {
            break;
        }
        state = next[below(generator, next.len())];
    }
    state
}

/// The entry of any puzzle; [`with_entry`] works on it, statically dispatched.
#[derive(Clone)]
#[expect(missing_docs, reason = "a variant has the name of its puzzle")]
pub enum AnyEntry {
    Cube2(Entry<Cube2>),
    Cube3(Entry<Cube3>),
    Edges(Entry<Edges>),
    Puzzle8(Entry<Tiles<Packed8>>),
    Puzzle15(Entry<Tiles<Packed15>>),
    Puzzle24(Entry<Tiles<Packed24>>),
    Puzzle35(Entry<Tiles<Bytes<6, 36>>>),
    Puzzle48(Entry<Tiles<Bytes<7, 49>>>),
    Lights64(Entry<LightsOut<1>>),
    Lights256(Entry<LightsOut<4>>),
    Sokoban(Entry<Sokoban>),
    Jugs(Entry<Jugs>),
    Permutation64(Entry<Permutation<64>>),
    Permutation128(Entry<Permutation<128>>),
    Permutation256(Entry<Permutation<256>>),
    Permutation768(Entry<Permutation<768>>),
}

/// Evaluates an expression with the entry in an [`AnyEntry`], whatever its puzzle's type.
#[macro_export]
macro_rules! with_entry {
    ($any:expr, $entry:ident => $body:expr) => {
        $crate::with_entry! {
            Cube2 Cube3 Edges Puzzle8 Puzzle15 Puzzle24 Puzzle35 Puzzle48 Lights64 Lights256 Sokoban Jugs Permutation64
            Permutation128 Permutation256 Permutation768: $any, $entry => $body
        }
    };
    ($($variant:ident)*: $any:expr, $entry:ident => $body:expr) => {
        match $any {
            $($crate::registry::AnyEntry::$variant($entry) => $body,)*
        }
    };
}

pub use crate::with_entry;

impl AnyEntry {
    /// The puzzle's name.
    pub fn name(&self) -> String {
        with_entry!(self, entry => entry.puzzle().name())
    }
}

/// The puzzle with a name, or from a file, with its own goal or another one.
///
/// # Errors
/// If there is no such puzzle (the message lists the names), or it has no such goal.
pub fn find(name: &str, goal: Option<&str>) -> Result<AnyEntry> {
    if let Some(capacities) = name.strip_prefix("jugs:") {
        let jugs = Jugs::new(capacities).map_err(in_puzzle)?;
        let jugs = match goal {
            Some(goal) => jugs.with_goal(goal).map_err(in_goal)?,
            None => jugs,
        };
        return Ok(AnyEntry::Jugs(jugs.checked().map_err(in_goal)?.into()));
    }
    match name {
        "puzzle8" => return tiles::<Packed8>(goal).map(AnyEntry::Puzzle8),
        "puzzle15" => return tiles::<Packed15>(goal).map(AnyEntry::Puzzle15),
        "puzzle24" => return tiles::<Packed24>(goal).map(AnyEntry::Puzzle24),
        "puzzle35" => return tiles::<Bytes<6, 36>>(goal).map(AnyEntry::Puzzle35),
        "puzzle48" => return tiles::<Bytes<7, 49>>(goal).map(AnyEntry::Puzzle48),
        _ => {}
    }
    ensure_setting!(goal.is_none(), "goal", "{name} has its own goal, and takes no other; leave it out");
    Ok(match name {
        "cube2" => AnyEntry::Cube2(Cube2.into()),
        "cube3" => AnyEntry::Cube3(Cube3.into()),
        "cube3:htm" => AnyEntry::Cube3(Cube3HalfTurns.into()),
        edges::NAME => AnyEntry::Edges(Entry::new(Edges::default())),
        "sokoban" => AnyEntry::Sokoban(Sokoban::by_moves().into()),
        "sokoban:pushes" => AnyEntry::Sokoban(Sokoban::by_pushes().into()),
        _ if name.ends_with(".json") => return from_file(Path::new(name)),
        _ => match (included(name), CubeN::parse_name(name)) {
            (Some(description), _) => of_description(description),
            (None, Some((size, metric))) => of_description(Description::of_cube(CubeN::new(size, metric))),
            (None, None) => return lights(name),
        },
    })
}

/// Like [`find`], with other costs of some moves: `U2=1.5,B=2` ([`MoveCosts::parse`]).
///
/// # Errors
/// If the puzzle takes no costs of its moves, or the costs are refused.
pub fn find_with_costs(name: &str, costs: &str) -> Result<AnyEntry> {
    let is_cube = ["cube3", "cube3:htm"].contains(&name);
    let expected = "expected cube3 or cube3:htm as the puzzle";
    ensure_setting!(is_cube, "move_costs", "{name} takes no other costs of its moves: {expected}");
    let cube = if name == "cube3" { Cube3 } else { Cube3HalfTurns };
    let costs = MoveCosts::parse(costs, &cube).map_err(|error| SettingError::new("move_costs", error.0))?;
    Ok(AnyEntry::Cube3(cube.with_costs(costs).into()))
}

/// Whether the puzzle with a name takes another goal than its own.
pub fn takes_goal(name: &str) -> bool {
    ["puzzle", "jugs:"].iter().any(|family| name.starts_with(family)) && !name.ends_with(".json")
}

fn tiles<B: BoardHeuristics>(goal: Option<&str>) -> Result<Entry<Tiles<B>>> {
    let puzzle = goal.map(Tiles::<B>::with_goal).transpose().map_err(in_goal)?;
    Ok(puzzle.unwrap_or_default().into())
}

fn lights(name: &str) -> Result<AnyEntry> {
    let unknown = |rest: String| in_puzzle(ParseError(format!("unknown puzzle '{name}': {rest}")));
    let size = |size: &str| size.parse().ok().filter(|read: &usize| read.to_string() == size);
    match name.strip_prefix("lightsout").map(size) {
        Some(Some(size @ 2..=8)) => Ok(AnyEntry::Lights64(LightsOut::new(size).into())),
        Some(Some(size @ 9..=lightsout::LARGEST)) => Ok(AnyEntry::Lights256(LightsOut::new(size).into())),
        Some(_) => Err(unknown(format!("expected lightsout2 to lightsout{}", lightsout::LARGEST))),
        None => {
            let lower = name.to_lowercase();
            let likeness = |known: &&str| strsim::jaro_winkler(known, &lower);
            let nearest = NAMES.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            let is_lower = lower != name && find(&lower, None).is_ok();
            let meant = if is_lower { Some(&*lower) } else { nearest.filter(|known| likeness(known) > 0.85) };
            let meant =
                meant.map_or_else(|| "expected ".into(), |known| format!("did you mean {known}? All puzzles: "));
            Err(unknown(format!("{meant}{}, {OTHERS}, or the file of a puzzle (….json)", NAMES.join(", "))))
        }
    }
}

fn from_file(path: &Path) -> Result<AnyEntry> {
    let description = Description::read(path).map_err(in_puzzle)?;
    let name = description.name();
    let (is_new, path) = (!is_own_name(name), path.display());
    ensure_setting!(is_new, "puzzle", "{path}: there is a puzzle {name} already: give it another \"name\"");
    Ok(of_description(description))
}

/// Whether no file of a puzzle may have a name: a puzzle in code has it. A file may have the name of another permutation puzzle,
/// whose checksum is another one.
pub fn is_own_name(name: &str) -> bool {
    has_own_rules(name) && included(name).is_none() && CubeN::parse_name(name).is_none()
}

/// The entry of a permutation puzzle.
pub fn of_description(description: Description) -> AnyEntry {
    // All code for a puzzle is compiled for each of these sizes.
    match description.positions() {
        0..=64 => AnyEntry::Permutation64(Permutation::new(description).into()),
        65..=128 => AnyEntry::Permutation128(Permutation::new(description).into()),
        129..=256 => AnyEntry::Permutation256(Permutation::new(description).into()),
        _ => AnyEntry::Permutation768(Permutation::new(description).into()),
    }
}

/// Whether a name is that of a built-in puzzle, and not that of a file.
pub fn has_own_rules(name: &str) -> bool {
    let is_size = |size: &str| size.parse::<usize>().is_ok();
    NAMES.contains(&name)
        || CubeN::parse_name(name).is_some()
        || name.strip_prefix("lightsout").is_some_and(is_size)
        || name == "sokoban:pushes"
        || name.starts_with("jugs:")
}

fn in_puzzle(error: ParseError) -> Error {
    SettingError::new("puzzle", error.0).into()
}

fn in_goal(error: ParseError) -> Error {
    SettingError::new("goal", error.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files_are_puzzles_of_their_names() {
        for &(name, _) in FILES {
            let description = included(name).expect("it is included");
            assert_eq!(description.name(), name);
            assert!(NAMES.contains(&name) && has_own_rules(name) && !takes_goal(name));
        }
    }
}
