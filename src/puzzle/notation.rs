//! Text in and out: instances, moves and solutions as people write them.

use super::{Move, Rules, State};

/// The reason why a text is refused: what is wrong and what was expected, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub String);

impl From<ParseError> for crate::Error {
    fn from(ParseError(message): ParseError) -> Self {
        crate::Error::Parse(message)
    }
}

/// How a puzzle is written.
pub trait Notation: Rules {
    /// One line on how instances and moves are written.
    fn notation(&self) -> &'static str;

    /// The name of a move, as people write it.
    ///
    /// # Panics
    /// If `action` is not below [`Rules::move_count`].
    fn move_name(&self, action: Move) -> String;

    /// Reads moves by name. By default, names are separated by white space.
    ///
    /// # Errors
    /// Names the offending token and what was expected.
    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let names = move_names(self, &(0..self.move_count() as Move).collect::<Vec<_>>());
        let read = |word: &str| {
            let action = names.iter().position(|name| name == word);
            let refusal = || ParseError(format!("'{word}' is not a move: expected {}", names.join(" ")));
            action.map(|action| action as Move).ok_or_else(refusal)
        };
        text.split_whitespace().map(read).collect()
    }

    /// Reads an instance.
    ///
    /// # Errors
    /// Names the offending token and what was expected; refuses an instance that cannot be solved, with the reason.
    fn parse(&self, text: &str) -> Result<Self::State, ParseError>;

    /// A text that [`Notation::parse`] reads back as the same state.
    fn format(&self, state: &Self::State) -> String;

    /// The moves that an instance is written as, for a text that [`Notation::parse`] reads; `None` if it is written as a
    /// state.
    fn scramble(&self, _text: &str) -> Option<Scramble<Self::State>> {
        None
    }

    /// The form in which [`Notation::parse`] returns a state of a [scramble](Notation::scramble): a cube in the hand may
    /// be held in several ways.
    fn as_held(&self, state: &Self::State) -> Self::State {
        *state
    }

    /// Whether an instance takes several lines: blank lines then separate instances.
    fn takes_lines(&self) -> bool {
        false
    }

    /// A solution, word by word; one word may stand for several moves. By default, the names of the moves.
    fn written(&self, moves: &[Move]) -> Vec<String> {
        move_names(self, moves)
    }

    /// The length of a solution, in words.
    fn counted(&self, moves: &[Move]) -> String {
        counted(moves.len(), "move")
    }
}

/// An instance that is written as moves, and all states on the way: the last is the instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scramble<S> {
    /// A goal: the state before the moves.
    pub start: S,
    /// The name of each move, and the state after it.
    pub moves: Vec<(String, S)>,
}

impl<S: State> Scramble<S> {
    /// Plays moves from a state. A move that is not legal there changes nothing.
    pub fn play<P: Notation<State = S>>(puzzle: &P, start: S, moves: &[Move]) -> Scramble<S> {
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

/// The names of moves.
pub fn move_names<P: Notation + ?Sized>(puzzle: &P, moves: &[Move]) -> Vec<String> {
    moves.iter().map(|&action| puzzle.move_name(action)).collect()
}

/// A count with its noun: `1 move`, `2 moves`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A line without its comment. A `#` begins one at the start of the line, unless it numbers a scramble (`#1: R U`), or behind
/// white space, unless a number follows it or `Scramble` precedes it (`Scramble #3`).
pub(crate) fn without_comment(line: &str) -> &str {
    let begins = |&(at, _): &(usize, &str)| {
        let (before, behind) = (&line[..at], &line[at + 1..]);
        let unnumbered = behind.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = unnumbered.len() < behind.len();
        match before.trim() {
            "" => !is_number || !unnumbered.starts_with([':', '.', ')']),
            title => before.ends_with(char::is_whitespace) && !is_number && !title.to_lowercase().ends_with("scramble"),
        }
    };
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

/// The words of a text, separated by white space or commas.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty())
}

/// The names of moves up, down, right and left.
pub(super) const DIRECTIONS: [char; 4] = ['U', 'D', 'R', 'L'];

/// Reads [`DIRECTIONS`], of either case, with or without spaces between them. `goer` is the thing that goes this way.
pub(super) fn parse_directions(text: &str, goer: &str) -> Result<Vec<Move>, ParseError> {
    let letters = text.chars().filter(|c| !c.is_whitespace() && *c != ',');
    letters
        .map(|letter| {
            let action = DIRECTIONS.iter().position(|&name| name == letter.to_ascii_uppercase());
            let refusal =
                || ParseError(format!("'{letter}' is not a move: expected U, D, L and R, the way {goer} goes"));
            action.map(|action| action as Move).ok_or_else(refusal)
        })
        .collect()
}
