//! What a puzzle is: the traits that searches, samplers and networks know puzzles by, and the registry of names.
//!
//! A puzzle offers packed states, numbered moves, a goal test, texts in and out, and an [`Encoding`]: how a network
//! reads a state. It knows nothing of searches or networks. To add one: a file in `puzzle/`, a line in
//! [`visit`] and [`catalogue`], and a call of [`laws::check`] in its tests.

use crate::heuristic::Heuristic;
use crate::sampler::Source;
use std::fmt;
use std::hash::Hash;
use std::path::Path;

pub mod cube2;
pub mod cube3;
pub mod jugs;
pub mod laws;
pub mod lightsout;
pub mod permutation;
pub mod picture;
pub mod sokoban;
pub mod tiles;

pub use picture::Picture;

/// The number of a move: an index below [`Puzzle::move_count`].
pub type Move = u8;

/// What moves cost; path costs are sums of it. A plain move costs 1.
pub type Cost = u32;

/// A position, packed. Small and cheap to copy: a search stores tens of millions.
pub trait State: Copy + Eq + Hash + Send + Sync + fmt::Debug + 'static {}
impl<S: Copy + Eq + Hash + Send + Sync + fmt::Debug + 'static> State for S {}

/// Why a text was refused: what was wrong and what would be accepted, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub String);

/// How to draw a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Letters only.
    Plain,
    /// ANSI colours, for a terminal.
    Coloured,
}

/// How a network reads a state: a row of `cells` small integers, each below `symbols`.
///
/// The one-hot of that row is the network's business, on its device.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Encoding {
    /// Changes whenever the same state would give another row: a model remembers which it was trained on.
    pub version: u32,
    /// Length of a row.
    pub cells: usize,
    /// How many values a cell can take.
    pub symbols: usize,
    /// Cells that are the same in every state: a network without a grid leaves them out.
    pub fixed: Vec<usize>,
    /// Where there is one, the grid that the cells form.
    pub grid: Option<Grid>,
}

/// Cells in the order face, row, column: `faces × rows × columns` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Grid {
    /// How many faces (1 for a flat board).
    pub faces: usize,
    /// Rows of a face.
    pub rows: usize,
    /// Columns of a face.
    pub columns: usize,
}

/// The rules of a puzzle.
pub trait Puzzle: Send + Sync + 'static {
    /// A position.
    type State: State;

    /// The name that `--puzzle` takes.
    fn name(&self) -> String;

    /// How many moves there are, legal in a given state or not: at most 255.
    fn move_count(&self) -> usize;

    /// The name of a move, as people write it.
    ///
    /// # Panics
    /// If `action` is not below [`Puzzle::move_count`].
    fn move_name(&self, action: Move) -> String;

    /// The state after a move, or `None` where the move is not legal.
    fn apply(&self, state: &Self::State, action: Move) -> Option<Self::State>;

    /// What a legal move costs.
    fn move_cost(&self, _state: &Self::State, _action: Move) -> Cost {
        1
    }

    /// Whether a state counts as solved.
    fn is_goal(&self, state: &Self::State) -> bool;

    /// Reads an instance as people write it.
    ///
    /// # Errors
    /// Names the offending token and what would be accepted; refuses what cannot be solved, with the reason.
    fn parse(&self, text: &str) -> Result<Self::State, ParseError>;

    /// Reads moves by name.
    ///
    /// # Errors
    /// Names the offending token and what would be accepted.
    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError>;

    /// A text that [`Puzzle::parse`] reads back as the same state.
    fn format(&self, state: &Self::State) -> String;

    /// A drawing of a state, several lines without a final line break.
    fn draw(&self, state: &Self::State, style: Style) -> String;

    /// What a state looks like, as data. By default, the drawing in letters.
    fn picture(&self, state: &Self::State) -> Picture {
        Picture::Text { text: self.draw(state, Style::Plain) }
    }

    /// The moves that an instance is written as, for an instance that [`Puzzle::parse`] reads; `None` where it is
    /// written as a state.
    fn scramble(&self, _text: &str) -> Option<Scramble<Self::State>> {
        None
    }

    /// How a network reads a state.
    fn encoding(&self) -> Encoding;

    /// Writes a state's row, of [`Encoding::cells`] symbols.
    ///
    /// # Panics
    /// If `row` has another length.
    fn encode(&self, state: &Self::State, row: &mut [u8]);

    /// One line on how instances and moves are written.
    fn notation(&self) -> &'static str;

    /// The names of the estimates that the puzzle itself offers, the best last.
    fn heuristics(&self) -> &'static [&'static str] {
        &[]
    }

    /// One of [`Puzzle::heuristics`], by name.
    fn heuristic(&self, _name: &str) -> Option<Box<dyn Heuristic<Self::State>>> {
        None
    }

    /// The search that measured best where there is no network, by its name.
    fn best_search(&self) -> &'static str {
        "bfs"
    }

    /// The numbers of its states, where they are [numbered](Ranked).
    fn numbers(&self) -> Option<&dyn Numbers<Self::State>> {
        None
    }

    /// Whether a network, where there is a model, measured better than [`Puzzle::best_search`] without one.
    fn wants_network(&self) -> bool {
        true
    }

    /// Whether an instance takes several lines, so that blank lines separate instances.
    fn takes_lines(&self) -> bool {
        false
    }

    /// Whether the goal is the puzzle's own: networks are trained for no other.
    fn has_own_goal(&self) -> bool {
        true
    }

    /// Checks that a row can hold a state.
    ///
    /// # Errors
    /// Says what does not fit.
    fn check_encodes(&self, _state: &Self::State) -> Result<(), ParseError> {
        Ok(())
    }

    /// Equivalent instances, the state itself first, as many as there are: a solution of one solves all. Empty where the
    /// puzzle knows of none.
    fn views(&self, _state: &Self::State) -> Vec<View<Self::State>> {
        Vec::new()
    }

    /// One more equivalent state, made quickly: as far from solved as this one, so that a second estimate is to be had of
    /// it. All states have one, or none has.
    fn twin(&self, _state: &Self::State) -> Option<Self::State> {
        None
    }

    /// A way of its own to make training samples, for a puzzle that cannot be walked back from its goals.
    ///
    /// # Errors
    /// If it has none.
    fn samples(&self) -> Result<Source, ParseError> {
        let name = self.name();
        Err(ParseError(format!(
            "--puzzle {name}: its moves cannot be undone, and training needs walks back from the goals"
        )))
    }
}

/// An instance seen in another way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View<S> {
    /// What it looks like.
    pub start: S,
    /// What each move that is made there is on the puzzle itself.
    pub moves: Vec<Move>,
    /// Whether a solution is made backward there.
    pub backward: bool,
}

impl<S> View<S> {
    /// A solution of the view, as one of the puzzle itself.
    pub fn solution(&self, moves: &[Move]) -> Vec<Move> {
        let seen = moves.iter().map(|&action| self.moves[usize::from(action)]);
        if self.backward { seen.rev().collect() } else { seen.collect() }
    }
}

/// A puzzle whose goals are known and whose moves can be undone: it can be scrambled and searched from both ends.
///
/// Every move costs at least 1, and undoing it costs as much.
pub trait Reversible: Puzzle {
    /// Every state that counts as solved.
    fn goals(&self) -> Vec<Self::State>;

    /// The move that undoes a move.
    fn inverse(&self, action: Move) -> Move;

    /// How many moves a scramble has by default: about as many as the hardest state needs.
    fn default_depth(&self) -> u32;

    /// The same puzzle with another goal, where the puzzle's own estimates ([`Puzzle::heuristics`]) can be had for it.
    fn towards(&self, _goal: &Self::State) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// A puzzle whose states are numbered from 0 without a gap (a minimal perfect hash), so that a flat table can hold
/// something of each. Every inverse is itself a move: neighbours are neighbours both ways.
pub trait Ranked: Reversible {
    /// How many states there are.
    fn count(&self) -> usize;

    /// The number of a state, below [`Ranked::count`].
    ///
    /// A state from which no goal can be reached may get the number of another one.
    fn rank(&self, state: &Self::State) -> usize;

    /// The state with a number.
    ///
    /// # Panics
    /// May panic if the number is not below [`Ranked::count`].
    fn unrank(&self, rank: usize) -> Self::State;

    /// Visits the numbers of all states one move from the one with a number, in the order of the moves.
    #[inline]
    fn neighbours(&self, rank: usize, mut visit: impl FnMut(Move, usize)) {
        let state = self.unrank(rank);
        for action in 0..self.move_count() as Move {
            if let Some(child) = self.apply(&state, action) {
                visit(action, self.rank(&child));
            }
        }
    }
}

/// [`Ranked`], for those who know a puzzle only as a [`Puzzle`].
pub trait Numbers<S> {
    /// [`Ranked::count`].
    fn count(&self) -> usize;

    /// [`Ranked::rank`]; `None` of a state that has the number of another one.
    fn number(&self, state: &S) -> Option<usize>;

    /// [`Ranked::neighbours`].
    fn visit_neighbours(&self, number: usize, visit: &mut dyn FnMut(Move, usize));

    /// [`Reversible::inverse`].
    fn inverse(&self, action: Move) -> Move;

    /// The numbers of the goals.
    fn goals(&self) -> Vec<usize>;
}

impl<P: Ranked> Numbers<P::State> for P {
    fn count(&self) -> usize {
        Ranked::count(self)
    }

    fn number(&self, state: &P::State) -> Option<usize> {
        Some(self.rank(state)).filter(|&rank| self.unrank(rank) == *state)
    }

    fn visit_neighbours(&self, number: usize, visit: &mut dyn FnMut(Move, usize)) {
        self.neighbours(number, visit);
    }

    fn inverse(&self, action: Move) -> Move {
        Reversible::inverse(self, action)
    }

    fn goals(&self) -> Vec<usize> {
        Reversible::goals(self).iter().map(|goal| self.rank(goal)).collect()
    }
}

/// An instance that is written as moves, and all states on the way: the last is the instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scramble<S> {
    /// What the moves are made on: a goal.
    pub start: S,
    /// The name of each move, and the state after it.
    pub moves: Vec<(String, S)>,
}

impl<S: State> Scramble<S> {
    /// Plays moves from a state. One that is not legal there changes nothing.
    pub fn play<P: Puzzle<State = S>>(puzzle: &P, start: S, moves: &[Move]) -> Scramble<S> {
        let mut state = start;
        let step = |&action: &Move| {
            state = puzzle.apply(&state, action).unwrap_or(state);
            (puzzle.move_name(action), state)
        };
        Scramble { start, moves: moves.iter().map(step).collect() }
    }

    /// The state after all moves.
    pub fn end(&self) -> S {
        self.moves.last().map_or(self.start, |(_, state)| *state)
    }
}

/// Plays moves from a state and returns the state that they lead to, with the cost of all of them.
///
/// Every answer of a search goes through this before it is shown.
///
/// # Errors
/// Names the first move that is not legal.
pub fn replay<P: Puzzle>(puzzle: &P, start: &P::State, moves: &[Move]) -> Result<(P::State, Cost), ParseError> {
    let mut state = *start;
    let mut cost = 0;
    for (i, &action) in moves.iter().enumerate() {
        let step = if usize::from(action) < puzzle.move_count() { puzzle.apply(&state, action) } else { None };
        let Some(next) = step else {
            return Err(ParseError(format!("move {} is not legal where it is made", i + 1)));
        };
        cost += puzzle.move_cost(&state, action);
        state = next;
    }
    Ok((state, cost))
}

/// Moves as text, with a space between.
pub fn move_names<P: Puzzle>(puzzle: &P, moves: &[Move]) -> Vec<String> {
    moves.iter().map(|&action| puzzle.move_name(action)).collect()
}

/// Reads moves of one letter each, of either case, with spaces between or without.
fn parse_letters(text: &str, names: &[char], accepted: &str) -> Result<Vec<Move>, ParseError> {
    let letters = text.chars().filter(|c| !c.is_whitespace() && *c != ',');
    letters
        .map(|letter| {
            let action = names.iter().position(|&name| name == letter.to_ascii_uppercase());
            let refusal = || ParseError(format!("'{letter}' is not a move: {accepted}, would be accepted"));
            action.map(|action| action as Move).ok_or_else(refusal)
        })
        .collect()
}

/// Work that is done for whichever puzzle a name stands for; inside, everything is statically dispatched.
pub trait Visitor: Sized {
    /// What the work gives.
    type Output;
    /// Does the work for a puzzle that can be searched from both ends.
    fn visit<P: Reversible>(self, puzzle: P) -> Self::Output;
    /// Does the work for a puzzle whose moves cannot be undone.
    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Self::Output;
}

/// Finds the puzzle of that name, or in that file, with its own goal or another one, and lets the visitor work on it.
///
/// # Errors
/// If there is no such puzzle (the message lists those that there are), or it has no such goal.
pub fn visit<V: Visitor>(name: &str, goal: Option<&str>, visitor: V) -> Result<V::Output, ParseError> {
    if let Some(capacities) = name.strip_prefix("jugs:") {
        let jugs = jugs::Jugs::new(capacities)?;
        let jugs = match goal {
            Some(goal) => jugs.with_goal(goal).map_err(in_goal)?,
            None => jugs,
        };
        return Ok(visitor.visit_irreversible(jugs));
    }
    match name {
        "puzzle8" => return visit_tiles::<tiles::Packed8, V>(goal, visitor),
        "puzzle15" => return visit_tiles::<tiles::Packed15, V>(goal, visitor),
        "puzzle24" => return visit_tiles::<tiles::Packed24, V>(goal, visitor),
        "puzzle35" => return visit_tiles::<tiles::Bytes<6, 36>, V>(goal, visitor),
        "puzzle48" => return visit_tiles::<tiles::Bytes<7, 49>, V>(goal, visitor),
        _ => {}
    }
    if goal.is_some() {
        return Err(ParseError(format!("--goal: {name} has its own goal, and no other would be accepted")));
    }
    match name {
        "cube2" => Ok(visitor.visit(cube2::Cube2)),
        "cube3" => Ok(visitor.visit(cube3::Cube3)),
        "sokoban" => Ok(visitor.visit_irreversible(sokoban::Sokoban::by_moves())),
        "sokoban:pushes" => Ok(visitor.visit_irreversible(sokoban::Sokoban::by_pushes())),
        _ if name.ends_with(".json") => visit_file(Path::new(name), visitor),
        _ => match name.strip_prefix("lightsout").map(str::parse::<usize>) {
            Some(Ok(size)) if (2..=lightsout::LARGEST).contains(&size) => Ok(visit_lights(size, visitor)),
            Some(_) => Err(ParseError(format!(
                "there is no puzzle '{name}': lightsout2 to lightsout{} would be accepted",
                lightsout::LARGEST
            ))),
            None => Err(ParseError(format!(
                "there is no puzzle '{name}': {}, or a file of your own (….json) would be accepted",
                catalogue().join(", ")
            ))),
        },
    }
}

fn visit_tiles<B: tiles::Board, V: Visitor>(goal: Option<&str>, visitor: V) -> Result<V::Output, ParseError> {
    let puzzle = goal.map(tiles::Tiles::<B>::with_goal).transpose().map_err(in_goal)?;
    Ok(visitor.visit(puzzle.unwrap_or_default()))
}

fn visit_lights<V: Visitor>(size: usize, visitor: V) -> V::Output {
    match size * size {
        0..=64 => visitor.visit(lightsout::LightsOut::<1>::new(size)),
        65..=128 => visitor.visit(lightsout::LightsOut::<2>::new(size)),
        _ => visitor.visit(lightsout::LightsOut::<4>::new(size)),
    }
}

fn visit_file<V: Visitor>(path: &Path, visitor: V) -> Result<V::Output, ParseError> {
    fn with<const N: usize, V: Visitor>(description: permutation::Description, visitor: V) -> V::Output {
        let reversible = description.is_reversible();
        let puzzle = permutation::Permutation::<N>::new(description);
        if reversible { visitor.visit(puzzle) } else { visitor.visit_irreversible(puzzle) }
    }
    let description = permutation::Description::read(path)?;
    Ok(match description.positions() {
        0..=16 => with::<16, V>(description, visitor),
        17..=32 => with::<32, V>(description, visitor),
        33..=64 => with::<64, V>(description, visitor),
        65..=128 => with::<128, V>(description, visitor),
        _ => with::<256, V>(description, visitor),
    })
}

fn in_goal(refusal: ParseError) -> ParseError {
    ParseError(format!("--goal: {refusal}"))
}

/// The names of all puzzles.
pub fn catalogue() -> &'static [&'static str] {
    &[
        "cube3",
        "cube2",
        "puzzle8",
        "puzzle15",
        "puzzle24",
        "puzzle35",
        "puzzle48",
        "lightsout7",
        "sokoban",
        "jugs:8,5,3",
    ]
}
