//! Names to puzzles, and what is known of each puzzle from outside its rules: estimates made for it, the search that
//! measured best without a network, its training samples, and what the reversibility of its moves allows.
//!
//! CONTRIBUTING.md says how to add a puzzle. `reverse` has what only puzzles have whose moves can be undone.

use crate::error::{Error, Result, SettingError};
use crate::heuristic::tiles::BoardHeuristics;
use crate::heuristic::{Heuristic, PuzzleHeuristics, zero};
use crate::puzzle::costs::{MoveCosts, WithCosts};
use crate::puzzle::cube2::Cube2;
use crate::puzzle::cube3::{Cube3, Cube3HalfTurns};
use crate::puzzle::jugs::Jugs;
use crate::puzzle::lightsout::{self, LightsOut};
use crate::puzzle::permutation::{Description, Permutation};
use crate::puzzle::sokoban::Sokoban;
use crate::puzzle::tiles::{Bytes, Packed8, Packed15, Packed24, Tiles};
use crate::puzzle::{Move, ParseError, Puzzle, Reversible};
use crate::random::{Generator, below};
use crate::sampler::{ExactSamples, Labels, Source, random_level, sokoban};
use reverse::ByInverses;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

mod reverse;

pub use reverse::Reverse;

/// The names of all puzzles that come with costar.
pub const NAMES: &[&str] = &[
    "cube3",
    "cube3:htm",
    "cube2",
    "puzzle8",
    "puzzle15",
    "puzzle24",
    "puzzle35",
    "puzzle48",
    "lightsout7",
    "sokoban",
    "jugs:8,5,3",
];

/// A puzzle, and what is known of it from outside its rules.
///
/// Puzzles that come with costar convert into one ([`From`]). For a puzzle of one's own, [`Entry::reversible`] or
/// [`Entry::irreversible`] makes one.
pub struct Entry<P: Puzzle> {
    puzzle: Arc<P>,
    reverse: Option<&'static dyn Reverse<P>>,
    search: &'static str,
    prefers_network: bool,
    own: Option<OwnHeuristics<P>>,
    samples: Option<MakeSamples<P>>,
    random_state: Option<MakeState<P>>,
}

/// Makes a random state by so many moves, or by as many as there are by default.
type MakeState<P> = fn(&P, Option<u64>, &mut Generator) -> <P as Puzzle>::State;

/// Makes training samples of a puzzle's own.
type MakeSamples<P> = fn(&P) -> Result<Source, ParseError>;

/// Makes an estimate by name.
type MakeHeuristic<P> = fn(&P, &str) -> Option<Box<dyn Heuristic<<P as Puzzle>::State>>>;

/// The estimates that are made for one puzzle alone: their names, and one by name.
struct OwnHeuristics<P: Puzzle> {
    names: fn(&P) -> &'static [&'static str],
    make: MakeHeuristic<P>,
}

impl<P: Puzzle> Clone for OwnHeuristics<P> {
    fn clone(&self) -> Self {
        OwnHeuristics { ..*self }
    }
}

impl<P: Puzzle> Clone for Entry<P> {
    fn clone(&self) -> Self {
        Entry { puzzle: Arc::clone(&self.puzzle), own: self.own.clone(), ..*self }
    }
}

impl<P: Puzzle> Entry<P> {
    /// A puzzle whose moves can be undone; without a network, it is searched from both ends.
    pub fn reversible(puzzle: P) -> Self
    where
        P: Reversible,
    {
        Entry { reverse: Some(&ByInverses), search: "bidirectional", ..Self::irreversible(puzzle) }
    }

    /// A puzzle whose moves cannot be undone; without a network, it is searched breadth-first.
    pub fn irreversible(puzzle: P) -> Self {
        let puzzle = Arc::new(puzzle);
        Entry {
            puzzle,
            reverse: None,
            search: "bfs",
            prefers_network: true,
            own: None,
            samples: None,
            random_state: None,
        }
    }

    /// With the estimates that are made for this puzzle alone.
    pub fn with_heuristics(self) -> Self
    where
        P: PuzzleHeuristics,
    {
        Entry { own: Some(OwnHeuristics { names: P::heuristics, make: P::heuristic }), ..self }
    }

    /// With the search that measured best where there is no network.
    pub fn with_search(self, name: &'static str) -> Self {
        Entry { search: name, ..self }
    }

    /// Without a network by default, even where there is a model: the search above measured better.
    pub fn without_network(self) -> Self {
        Entry { prefers_network: false, ..self }
    }

    /// With random states of its own, for a puzzle that has no scrambles: its moves cannot be undone.
    pub fn with_random_states(self, random_state: MakeState<P>) -> Self {
        Entry { random_state: Some(random_state), ..self }
    }

    /// A random state that leads to a goal, by so many moves or as many as there are by default; `None` of a puzzle that has
    /// scrambles, or neither.
    pub fn random_state(&self, moves: Option<u64>, generator: &mut Generator) -> Option<P::State> {
        Some(self.random_state?(&self.puzzle, moves, generator))
    }

    /// With training samples of its own, for a puzzle that cannot be walked back from its goals.
    pub fn with_samples(self, samples: fn(&P) -> Result<Source, ParseError>) -> Self {
        Entry { samples: Some(samples), ..self }
    }

    /// The puzzle.
    pub fn puzzle(&self) -> &Arc<P> {
        &self.puzzle
    }

    /// What only puzzles have whose moves can be undone.
    pub fn reverse(&self) -> Option<&'static dyn Reverse<P>> {
        self.reverse
    }

    /// The states that count as solved, where they are known.
    pub fn goals(&self) -> Vec<P::State> {
        self.reverse.map_or_else(Vec::new, |reverse| reverse.goals(&self.puzzle))
    }

    /// The depth of the deepest perimeter in the cache whose file has at most so many bytes.
    pub fn kept_perimeter(&self, bytes: u64) -> Option<u32> {
        let shelf = self.reverse?.shelf(&self.puzzle)?;
        shelf.kept().into_iter().find(|kept| kept.bytes <= bytes).map(|kept| kept.depth)
    }

    /// The names of the estimates that need no model, the default last.
    pub fn heuristics(&self) -> Vec<&'static str> {
        let own = self.own.as_ref().map_or(&[][..], |own| (own.names)(&self.puzzle));
        let perimeter = self.reverse.map(|_| "perimeter");
        std::iter::once("zero").chain(perimeter).chain(own.iter().copied()).collect()
    }

    /// One of [`Entry::heuristics`]; `None` if there is none of that name.
    pub fn heuristic(&self, name: &str) -> Option<Box<dyn Heuristic<P::State>>> {
        match (name, self.reverse) {
            ("zero", _) => Some(Box::new(zero())),
            ("perimeter", reverse) => reverse.map(|reverse| reverse.perimeter_heuristic(&self.puzzle)),
            _ => (self.own.as_ref()?.make)(&self.puzzle, name),
        }
    }

    /// What a configuration is resolved by.
    pub fn facts(&self) -> PuzzleFacts {
        let goal = self.goals().first().copied();
        PuzzleFacts {
            name: self.puzzle.name(),
            is_reversible: self.reverse.is_some(),
            symmetries: goal.map_or(0, |goal| self.puzzle.symmetric_images(&goal).len()),
            has_classes: self.reverse.is_some() && self.puzzle.symmetries().is_some(),
            has_unit_costs: goal.is_some_and(|goal| has_unit_costs(&*self.puzzle, goal)),
            has_own_goal: self.puzzle.has_own_goal(),
            has_own_costs: self.puzzle.own_costs().is_some(),
            search: self.search,
            prefers_network: self.prefers_network,
            heuristics: self.heuristics(),
        }
    }

    /// Training samples, labelled as asked for, and how deep they go by default. `room` is the most bytes that are
    /// taken for exact labels; once `stop` is set, there are none.
    ///
    /// # Errors
    /// If the puzzle has no such samples.
    pub fn samples(&self, labels: Labels, sparse_states: f64, room: u64, stop: &AtomicBool) -> Result<Source> {
        let name = self.puzzle.name();
        if let Some(reverse) = self.reverse {
            return reverse.samples(Arc::clone(&self.puzzle), labels, sparse_states, room, stop);
        }
        let Some(samples) = self.samples else {
            let reason = format!("the moves of {name} cannot be undone, and training needs walks back from the goals");
            return Err(SettingError::new("puzzle", reason).into());
        };
        let own =
            |field: &str| SettingError::new(field, format!("{name} has training samples of its own; leave it out"));
        if labels != Labels::Walks {
            return Err(own("labels").into());
        }
        if sparse_states != 0.0 {
            return Err(own("sparse_states").into());
        }
        samples(&self.puzzle).map_err(|error| SettingError::new("puzzle", error.0).into())
    }
}

/// Whether moves cost 1, as seen on a walk from a goal that makes every move that is legal.
fn has_unit_costs<P: Puzzle>(puzzle: &P, goal: P::State) -> bool {
    const ROUNDS: usize = 8;
    let mut state = goal;
    (0..ROUNDS * puzzle.move_count()).all(|step| {
        let action = (step % puzzle.move_count()) as Move;
        let Some(next) = puzzle.apply(&state, action) else { return true };
        let cost = puzzle.move_cost(&state, action);
        state = next;
        cost == 1
    })
}

/// What a configuration is resolved by: all that matters of a puzzle, as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PuzzleFacts {
    /// The puzzle's name.
    pub name: String,
    /// Whether its moves can be undone.
    pub is_reversible: bool,
    /// How many symmetric images an instance has, itself included; 0 where the puzzle knows no symmetries.
    pub symmetries: usize,
    /// Whether a perimeter holds classes of states.
    pub has_classes: bool,
    /// Whether every move costs 1.
    pub has_unit_costs: bool,
    /// Whether the goal is the puzzle's own.
    pub has_own_goal: bool,
    /// Whether a user has said what moves cost.
    pub has_own_costs: bool,
    /// The search that measured best where there is no network.
    pub search: &'static str,
    /// Whether a network measured better than that.
    pub prefers_network: bool,
    /// The names of the estimates that need no model, the default last.
    pub heuristics: Vec<&'static str>,
}

/// A puzzle of one's own whose moves can be undone needs no more than [`Entry::reversible`]; those that come with costar
/// are known better.
impl From<Cube3> for Entry<Cube3> {
    fn from(puzzle: Cube3) -> Self {
        Entry::reversible(puzzle).with_search("bwas")
    }
}

impl From<Cube3HalfTurns> for Entry<Cube3HalfTurns> {
    fn from(puzzle: Cube3HalfTurns) -> Self {
        Entry::reversible(puzzle).with_search("bwas")
    }
}

impl<P: Reversible> From<WithCosts<P>> for Entry<WithCosts<P>> {
    fn from(puzzle: WithCosts<P>) -> Self {
        Entry::reversible(puzzle).with_search("nbs").without_network()
    }
}

impl From<Cube2> for Entry<Cube2> {
    fn from(puzzle: Cube2) -> Self {
        Entry::reversible(puzzle).with_heuristics().without_network()
    }
}

impl<B: BoardHeuristics> From<Tiles<B>> for Entry<Tiles<B>> {
    fn from(puzzle: Tiles<B>) -> Self {
        let entry = Entry::reversible(puzzle).with_heuristics();
        let entry = entry.with_search(if B::SIDE == 3 { "astar" } else { "idastar" });
        if B::SIDE > 4 { entry } else { entry.without_network() }
    }
}

impl<const WORDS: usize> From<LightsOut<WORDS>> for Entry<LightsOut<WORDS>> {
    fn from(puzzle: LightsOut<WORDS>) -> Self {
        Entry::reversible(puzzle).with_heuristics().with_search("astar")
    }
}

impl From<Sokoban> for Entry<Sokoban> {
    /// A* with the matching is optimal in a hundredth of a second on levels of 10 × 10 with four boxes.
    fn from(puzzle: Sokoban) -> Self {
        let entry = Entry::irreversible(puzzle).with_heuristics().with_search("astar").without_network();
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
        Entry::irreversible(puzzle)
            .with_heuristics()
            .without_network()
            .with_samples(|jugs| {
                let samples = ExactSamples::from(jugs, &jugs.start());
                let none = || ParseError(format!("{}: no state that needs a move leads to the goal", jugs.name()));
                let samples = samples.ok_or_else(none)?;
                Ok(Source { default_depth: samples.greatest(), samples: Arc::new(samples) })
            })
            .with_random_states(|jugs, moves, generator| {
                // All can be poured back: every state that is reached can be solved if the first can.
                random_walk(jugs, jugs.start(), moves, generator)
            })
    }
}

impl<const N: usize> From<Permutation<N>> for Entry<Permutation<N>> {
    fn from(puzzle: Permutation<N>) -> Self {
        if puzzle.is_reversible() {
            return Entry::reversible(puzzle);
        }
        // A move that is made again and again leads back to where it began: every state that is reached can be solved.
        Entry::irreversible(puzzle)
            .with_random_states(|puzzle, moves, generator| random_walk(puzzle, puzzle.goals()[0], moves, generator))
    }
}

/// Where so many random legal moves lead, 20 by default; fewer where none is legal any more.
fn random_walk<P: Puzzle>(puzzle: &P, start: P::State, moves: Option<u64>, generator: &mut Generator) -> P::State {
    const DEFAULT_MOVES: u64 = 20;
    /// More lead to no other states.
    const MOST_MOVES: u64 = 1_000_000;
    let mut state = start;
    for _ in 0..moves.unwrap_or(DEFAULT_MOVES).min(MOST_MOVES) {
        let next: Vec<_> = (0..puzzle.move_count() as Move).filter_map(|action| puzzle.apply(&state, action)).collect();
        if next.is_empty() {
            break;
        }
        state = next[below(generator, next.len())];
    }
    state
}

/// Work that is done for whichever puzzle a name stands for; inside, everything is statically dispatched.
pub trait Visitor: Sized {
    /// What the work gives.
    type Output;

    /// Does the work.
    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Self::Output;
}

/// Finds the puzzle of that name, or in that file, with its own goal or another one, and lets the visitor work on it.
///
/// # Errors
/// If there is no such puzzle (the message lists those that there are), or it has no such goal.
pub fn visit<V: Visitor>(name: &str, goal: Option<&str>, visitor: V) -> Result<V::Output> {
    if let Some(capacities) = name.strip_prefix("jugs:") {
        let jugs = Jugs::new(capacities).map_err(in_puzzle)?;
        let jugs = match goal {
            Some(goal) => jugs.with_goal(goal).map_err(in_goal)?,
            None => jugs,
        };
        return Ok(visitor.visit(jugs.into()));
    }
    match name {
        "puzzle8" => return visit_tiles::<Packed8, V>(goal, visitor),
        "puzzle15" => return visit_tiles::<Packed15, V>(goal, visitor),
        "puzzle24" => return visit_tiles::<Packed24, V>(goal, visitor),
        "puzzle35" => return visit_tiles::<Bytes<6, 36>, V>(goal, visitor),
        "puzzle48" => return visit_tiles::<Bytes<7, 49>, V>(goal, visitor),
        _ => {}
    }
    if goal.is_some() {
        return Err(
            SettingError::new("goal", format!("{name} has its own goal, and takes no other; leave it out")).into()
        );
    }
    Ok(match name {
        "cube2" => visitor.visit(Cube2.into()),
        "cube3" => visitor.visit(Cube3.into()),
        "cube3:htm" => visitor.visit(Cube3HalfTurns.into()),
        "sokoban" => visitor.visit(Sokoban::by_moves().into()),
        "sokoban:pushes" => visitor.visit(Sokoban::by_pushes().into()),
        _ if name.ends_with(".json") => return visit_file(Path::new(name), visitor),
        _ => return visit_lights(name, visitor),
    })
}

/// The same, with other costs of some moves: `U2=1.5,B=2` ([`MoveCosts::parse`]).
///
/// # Errors
/// If the puzzle is not one whose moves can be given costs, or the costs are refused.
pub fn visit_with_costs<V: Visitor>(name: &str, costs: &str, visitor: V) -> Result<V::Output> {
    fn with<P: Reversible>(puzzle: P, costs: &str) -> Result<Entry<WithCosts<P>>> {
        let costs = MoveCosts::parse(costs, &puzzle).map_err(|error| SettingError::new("move_costs", error.0))?;
        Ok(WithCosts::new(puzzle, costs).into())
    }
    match name {
        "cube3" => Ok(visitor.visit(with(Cube3, costs)?)),
        "cube3:htm" => Ok(visitor.visit(with(Cube3HalfTurns, costs)?)),
        _ => {
            let reason = format!("{name} takes no other costs of its moves: expected cube3 or cube3:htm as the puzzle");
            Err(SettingError::new("move_costs", reason).into())
        }
    }
}

/// Whether the puzzle of a name takes another goal than its own.
pub fn takes_goal(name: &str) -> bool {
    ["puzzle", "jugs:"].iter().any(|family| name.starts_with(family)) && !name.ends_with(".json")
}

fn visit_tiles<B: BoardHeuristics, V: Visitor>(goal: Option<&str>, visitor: V) -> Result<V::Output> {
    let puzzle = goal.map(Tiles::<B>::with_goal).transpose().map_err(in_goal)?;
    Ok(visitor.visit(puzzle.unwrap_or_default().into()))
}

fn visit_lights<V: Visitor>(name: &str, visitor: V) -> Result<V::Output> {
    let size = match name.strip_prefix("lightsout").map(str::parse::<usize>) {
        Some(Ok(size)) if (2..=lightsout::LARGEST).contains(&size) => size,
        Some(_) => {
            let expected = format!("unknown puzzle '{name}': expected lightsout2 to lightsout{}", lightsout::LARGEST);
            return Err(SettingError::new("puzzle", expected).into());
        }
        None => {
            let names = NAMES.join(", ");
            let expected = format!("unknown puzzle '{name}': expected {names}, or the file of a puzzle (….json)");
            return Err(SettingError::new("puzzle", expected).into());
        }
    };
    Ok(match size * size {
        0..=64 => visitor.visit(LightsOut::<1>::new(size).into()),
        _ => visitor.visit(LightsOut::<4>::new(size).into()),
    })
}

fn visit_file<V: Visitor>(path: &Path, visitor: V) -> Result<V::Output> {
    let description = Description::read(path).map_err(in_puzzle)?;
    let name = description.name();
    if has_own_rules(name) {
        let reason = format!("{}: there is a puzzle {name} already: give it another \"name\"", path.display());
        return Err(SettingError::new("puzzle", reason).into());
    }
    Ok(visit_description(description, visitor))
}

/// Lets the visitor work on a permutation puzzle.
pub fn visit_description<V: Visitor>(description: Description, visitor: V) -> V::Output {
    // Each size is compiled with all that works on it.
    match description.positions() {
        0..=32 => visitor.visit(Permutation::<32>::new(description).into()),
        33..=64 => visitor.visit(Permutation::<64>::new(description).into()),
        65..=128 => visitor.visit(Permutation::<128>::new(description).into()),
        _ => visitor.visit(Permutation::<256>::new(description).into()),
    }
}

/// Whether a name is that of a puzzle that comes with costar, and not that of a file.
pub fn has_own_rules(name: &str) -> bool {
    let has_family = ["lightsout", "sokoban"].iter().any(|family| name.starts_with(family));
    NAMES.contains(&name) || name.starts_with("jugs:") || has_family && !name.ends_with(".json")
}

fn in_puzzle(error: ParseError) -> Error {
    SettingError::new("puzzle", error.0).into()
}

fn in_goal(error: ParseError) -> Error {
    SettingError::new("goal", error.0).into()
}
