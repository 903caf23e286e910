//! The rules of puzzles: the traits that everything else knows a puzzle by, and one puzzle per file.
//!
//! A puzzle has packed states, numbered moves, a goal test, texts in and out, and an [`Encoding`]: how a network reads a
//! state. It knows no search, no heuristic and no network. CONTRIBUTING.md says how to add
//! one.
//!
//! # Example: a puzzle in a few lines
//!
//! ```
//! use costar::puzzle::{Encoding, Move, ParseError, Puzzle, Style};
//!
//! /// A dial with twelve positions; solved at 0.
//! #[derive(Debug, Clone)]
//! struct Dial;
//!
//! impl Puzzle for Dial {
//!     type State = u8;
//!
//!     fn name(&self) -> String {
//!         "dial".into()
//!     }
//!     fn move_count(&self) -> usize {
//!         2
//!     }
//!     fn move_name(&self, action: Move) -> String {
//!         ["+", "-"][usize::from(action)].into()
//!     }
//!     fn apply(&self, state: &u8, action: Move) -> Option<u8> {
//!         Some((state + [1, 11][usize::from(action)]) % 12)
//!     }
//!     fn is_goal(&self, state: &u8) -> bool {
//!         *state == 0
//!     }
//!     fn parse(&self, text: &str) -> Result<u8, ParseError> {
//!         let number = text.trim().parse().ok().filter(|&number| number < 12);
//!         number.ok_or_else(|| ParseError(format!("'{text}': expected a number from 0 to 11")))
//!     }
//!     fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
//!         text.split_whitespace()
//!             .map(|word| match word {
//!                 "+" => Ok(0),
//!                 "-" => Ok(1),
//!                 _ => Err(ParseError(format!("'{word}' is not a move: expected + or -"))),
//!             })
//!             .collect()
//!     }
//!     fn format(&self, state: &u8) -> String {
//!         state.to_string()
//!     }
//!     fn draw(&self, state: &u8, _: Style) -> String {
//!         format!("({state})")
//!     }
//!     fn encoding(&self) -> Encoding {
//!         Encoding { version: 1, cells: 1, symbols: 12, fixed: Vec::new(), grid: None }
//!     }
//!     fn encode(&self, state: &u8, row: &mut [u8]) {
//!         row[0] = *state;
//!     }
//!     fn notation(&self) -> &'static str {
//!         "the position from 0 to 11; moves + and -"
//!     }
//! }
//!
//! assert_eq!(Dial.apply(&11, 0), Some(0));
//! ```

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

pub mod costs;
pub mod cube2;
pub mod cube3;
pub mod geometry;
pub mod jugs;
pub mod laws;
pub mod lightsout;
pub mod permutation;
pub mod picture;
pub mod sokoban;
mod state_bytes;
pub mod symmetry;
pub mod tiles;

pub use geometry::Geometry;
pub use picture::Picture;
pub use state_bytes::StateBytes;
pub use symmetry::{Class, Symmetries};

/// The number of a move: an index below [`Puzzle::move_count`].
pub type Move = u8;

/// What moves cost; path costs are sums of it. A plain move costs 1.
pub type Cost = u32;

/// A position, packed. Small and cheap to copy: a search stores tens of millions.
pub trait State: Copy + Eq + Hash + Send + Sync + fmt::Debug + 'static {}
impl<S: Copy + Eq + Hash + Send + Sync + fmt::Debug + 'static> State for S {}

/// Why a text is refused: what is wrong and what was expected, in one sentence.
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

    /// What moves cost, where a user has given them other costs than the puzzle's own: a network, a perimeter and an optimum
    /// from elsewhere are for others.
    fn own_costs(&self) -> Option<&costs::MoveCosts> {
        None
    }

    /// Whether a state counts as solved.
    fn is_goal(&self, state: &Self::State) -> bool;

    /// Reads an instance as people write it.
    ///
    /// # Errors
    /// Names the offending token and what was expected; refuses what cannot be solved, with the reason.
    fn parse(&self, text: &str) -> Result<Self::State, ParseError>;

    /// Reads moves by name.
    ///
    /// # Errors
    /// Names the offending token and what was expected.
    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError>;

    /// A text that [`Puzzle::parse`] reads back as the same state.
    fn format(&self, state: &Self::State) -> String;

    /// A drawing of a state, several lines without a final line break.
    fn draw(&self, state: &Self::State, style: Style) -> String;

    /// What a state looks like, as data. By default, the drawing in letters.
    fn picture(&self, state: &Self::State) -> Picture {
        Picture::Text { text: self.draw(state, Style::Plain) }
    }

    /// A state of a [scramble](Puzzle::scramble) as [`Puzzle::parse`] holds it, where it may be held in several ways.
    fn as_held(&self, state: &Self::State) -> Self::State {
        *state
    }

    /// Where the positions are that a [picture](Puzzle::picture) has symbols at, where that is known.
    fn geometry(&self) -> Option<&Geometry> {
        None
    }

    /// The moves that an instance is written as, for an instance that [`Puzzle::parse`] reads; `None` where it is
    /// written as a state.
    fn scramble(&self, _text: &str) -> Option<Scramble<Self::State>> {
        None
    }

    /// A solution as people write it, word by word: several moves may be one word. By default, the names of the moves.
    fn written(&self, moves: &[Move]) -> Vec<String> {
        move_names(self, moves)
    }

    /// How long a solution is, in words.
    fn counted(&self, moves: &[Move]) -> String {
        let plural = if moves.len() == 1 { "" } else { "s" };
        format!("{} move{plural}", moves.len())
    }

    /// The text of the file that it was read from, for a puzzle from a file.
    fn file(&self) -> Option<&str> {
        None
    }

    /// A checksum of its rules, for a puzzle from a file: it tells two of one name apart.
    fn rules_crc32(&self) -> Option<u32> {
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

    /// The numbers of its states, where they are [numbered](Ranked).
    fn numbers(&self) -> Option<&dyn Numbers<Self::State>> {
        None
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

    /// The symmetric images of an instance, the instance itself first: a solution of one gives a solution of each.
    /// Empty where the puzzle knows no symmetries.
    fn symmetric_images(&self, _state: &Self::State) -> Vec<SymmetricImage<Self::State>> {
        Vec::new()
    }

    /// Its symmetries, where it knows them: a [perimeter](crate::search::perimeter) then holds classes of states.
    fn symmetries(&self) -> Option<Arc<dyn Symmetries<Self::State>>> {
        None
    }

    /// Whether one or two moves, one after the other, always lead to the same state as other moves do, from wherever they
    /// are made. A search then needs only one of the two ways; where this is not known, `false` only costs time.
    fn always_same(&self, _one: &[Move], _other: &[Move]) -> bool {
        false
    }

    /// 0 where every solution of a state has an even number of moves, 1 where every one has an odd number; `None` where
    /// the state does not tell.
    fn length_parity(&self, _state: &Self::State) -> Option<u32> {
        None
    }

    /// How states travel between processes, for a search that several of them share: most often [`StateBytes::plain`].
    /// `None` where they cannot.
    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        None
    }
}

/// An image of an instance under a symmetry of the puzzle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymmetricImage<S> {
    /// The image of the instance.
    pub start: S,
    /// For each move of the image, the move of the original that it stands for.
    pub moves: Vec<Move>,
    /// Whether the symmetry is an inversion: a solution of the image, reversed, solves the original.
    pub inverted: bool,
}

impl<S> SymmetricImage<S> {
    /// The image of an instance under the identity, of a puzzle with so many moves.
    pub fn identity(start: S, move_count: usize) -> Self {
        SymmetricImage { start, moves: (0..move_count as Move).collect(), inverted: false }
    }

    /// A solution of the image, as a solution of the original.
    pub fn solution(&self, moves: &[Move]) -> Vec<Move> {
        let seen = moves.iter().map(|&action| self.moves[usize::from(action)]);
        if self.inverted { seen.rev().collect() } else { seen.collect() }
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
            return Err(ParseError(not_legal(puzzle, &state, i + 1, action)));
        };
        cost += puzzle.move_cost(&state, action);
        state = next;
    }
    Ok((state, cost))
}

/// Why a move is refused, and which would be legal there.
fn not_legal<P: Puzzle>(puzzle: &P, state: &P::State, number: usize, action: Move) -> String {
    /// The most moves that are named.
    const NAMED: usize = 12;
    let moves = 0..puzzle.move_count() as Move;
    let name = if moves.contains(&action) { format!(", '{}',", puzzle.move_name(action)) } else { String::new() };
    let legal: Vec<Move> = moves.filter(|&action| puzzle.apply(state, action).is_some()).take(NAMED).collect();
    match legal[..] {
        [] => format!("move {number}{name} is not legal there, and no move is"),
        _ => {
            format!("move {number}{name} is not legal there: expected one of {}", move_names(puzzle, &legal).join(" "))
        }
    }
}

/// Moves as text, with a space between.
pub fn move_names<P: Puzzle + ?Sized>(puzzle: &P, moves: &[Move]) -> Vec<String> {
    moves.iter().map(|&action| puzzle.move_name(action)).collect()
}

/// Whether a permutation is odd.
fn is_odd(permutation: &[u8]) -> bool {
    let pairs = (0..permutation.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.filter(|&(first, second)| permutation[first] > permutation[second]).count() % 2 == 1
}

/// Reads moves of one letter each, of either case, with spaces between or without.
fn parse_letters(text: &str, names: &[char], accepted: &str) -> Result<Vec<Move>, ParseError> {
    let letters = text.chars().filter(|c| !c.is_whitespace() && *c != ',');
    letters
        .map(|letter| {
            let action = names.iter().position(|&name| name == letter.to_ascii_uppercase());
            let refusal = || ParseError(format!("'{letter}' is not a move: expected {accepted}"));
            action.map(|action| action as Move).ok_or_else(refusal)
        })
        .collect()
}
