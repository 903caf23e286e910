//! Text in and out: instances, moves and solutions as people write them, and pictures of states.

use super::rules::not_legal;
use super::{Geometry, Move, Picture, Rules, State, Style};

/// The reason why a text is refused: what is wrong and what was expected, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub String);

impl From<ParseError> for crate::Error {
    fn from(ParseError(message): ParseError) -> Self {
        crate::Error::Parse(message)
    }
}

impl From<String> for ParseError {
    fn from(reason: String) -> Self {
        ParseError(reason)
    }
}

/// Returns a [`ParseError`], or its reason from a function whose caller adds to it.
macro_rules! bail_parse {
    ($($reason:tt)+) => {
        return Err(format!($($reason)+).into())
    };
}
pub(super) use bail_parse;

/// Does the same unless a condition holds.
macro_rules! ensure_parse {
    ($holds:expr, $($reason:tt)+) => {
        if !$holds {
            $crate::puzzle::notation::bail_parse!($($reason)+);
        }
    };
}
pub(super) use ensure_parse;

/// Whether lines are one instance of several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// They are an instance.
    Whole,
    /// They are the beginning of one, or instances of their own.
    Part,
    /// They are the beginning of one, and certainly not instances of their own.
    Drawn,
    /// They are not: each line is an instance of its own.
    Neither,
}

/// How a puzzle is written, and how it looks.
///
/// Implement `read` and `read_moves`, which get text without invisible characters. Call `parse`,
/// `parse_moves` and `scramble`, which remove them.
pub trait Notation: Rules {
    /// One line on how instances and moves are written.
    fn notation(&self) -> &'static str;

    /// The name of a move, as people write it.
    ///
    /// # Panics
    /// If `action` is not below [`Rules::move_count`].
    fn move_name(&self, action: Move) -> String;

    /// The name of a move in the files of contests; `None` if they have no such move.
    fn contest_name(&self, action: Move) -> Option<String> {
        Some(self.move_name(action))
    }

    /// Reads moves by name.
    ///
    /// # Errors
    /// Names the offending token and what was expected.
    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        self.read_moves(&plain(text))
    }

    /// [`Notation::parse_moves`] of plain text. By default, names are separated by white space.
    ///
    /// # Errors
    /// Names the offending token and what was expected.
    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let names = move_names(self, &(0..self.move_count() as Move).collect::<Vec<_>>());
        let read = |word: &str| match names.iter().position(|name| name == word) {
            Some(action) => Ok(action as Move),
            None => bail_parse!("'{word}' is not a move: expected {}", names.join(" ")),
        };
        text.split_whitespace().map(read).collect()
    }

    /// Reads an instance.
    ///
    /// # Errors
    /// Names the offending token and what was expected; refuses an instance that cannot be solved, with the reason.
    fn parse(&self, text: &str) -> Result<Self::State, ParseError> {
        Ok(self.normalized(&self.state_in_hand(text)?))
    }

    /// Reads plain text: a state (`state.into()`), or moves ([`Instance::scramble`]).
    ///
    /// # Errors
    /// See [`Notation::parse`].
    fn read(&self, text: &str) -> Result<Instance<Self::State>, ParseError>;

    /// How an instance was read if there are several ways, as in `the faces in the order U L F R B D`.
    fn read_as(&self, text: &str) -> Option<String> {
        self.read(&plain(text)).ok()?.read_as
    }

    /// Whether lines are one instance, as the rows of a board are.
    fn block(&self, _lines: &[&str]) -> Block {
        Block::Neither
    }

    /// A text that [`Notation::parse`] reads back as the same state.
    fn format(&self, state: &Self::State) -> String;

    /// The moves that an instance is written as, for a text that [`Notation::parse`] reads; `None` if it is written as a
    /// state.
    fn scramble(&self, text: &str) -> Option<Scramble<Self::State>> {
        let Instance { start, moves, .. } = self.read(&plain(text)).ok()?;
        Some(Scramble::play(self, start, &moves?))
    }

    /// The form in which [`Notation::parse`] returns a state of a [scramble](Notation::scramble): a cube in the hand may
    /// be held in several ways.
    fn normalized(&self, state: &Self::State) -> Self::State {
        *state
    }

    /// The state of an instance as the puzzle is held in the hand: after the moves of a scramble, or as it is drawn.
    ///
    /// # Errors
    /// See [`Notation::parse`].
    fn state_in_hand(&self, text: &str) -> Result<Self::State, ParseError> {
        self.read(&plain(text))?.end(self)
    }

    /// The moves of a solution as they are named on the puzzle in the hand: see [`Notation::state_in_hand`].
    fn in_hand(&self, _instance: &str, moves: &[Move]) -> Vec<Move> {
        moves.to_vec()
    }

    /// Reads a solution that is written for the puzzle in the hand: undoes [`Notation::in_hand`].
    ///
    /// # Errors
    /// See [`Notation::parse_moves`].
    fn parse_solution(&self, _instance: &str, solution: &str) -> Result<Vec<Move>, ParseError> {
        self.parse_moves(solution)
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

    /// A picture of a state. By default, its text.
    fn picture(&self, state: &Self::State) -> Picture {
        Picture::Text { text: self.format(state) }
    }

    /// The places of the positions of a [picture](Notation::picture), if known.
    fn geometry(&self) -> Option<&Geometry> {
        None
    }

    /// A drawing of a state: several lines, without a final line break.
    fn draw(&self, state: &Self::State, style: Style) -> String {
        self.picture(state).draw(style)
    }
}

/// An instance as it is written.
#[derive(Debug, Clone)]
pub struct Instance<S> {
    /// The state, or the goal from which the moves start; of a cube in the hand, as it is held.
    pub start: S,
    /// The moves, unless it is written as a state.
    pub moves: Option<Vec<Move>>,
    /// How it was read if there are several ways.
    pub read_as: Option<String>,
}

impl<S: State> Instance<S> {
    /// Moves from a goal.
    pub fn scramble(start: S, moves: Vec<Move>) -> Self {
        Instance { start, moves: Some(moves), read_as: None }
    }

    /// The state after the moves.
    fn end<P: Notation<State = S> + ?Sized>(&self, puzzle: &P) -> Result<S, ParseError> {
        let mut moves = self.moves.iter().flatten().zip(1..);
        moves.try_fold(self.start, |state, (&action, number)| {
            puzzle.apply(&state, action).ok_or_else(|| not_legal(puzzle, &state, number, action))
        })
    }
}

impl<S> From<S> for Instance<S> {
    fn from(start: S) -> Self {
        Instance { start, moves: None, read_as: None }
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
    pub fn play<P: Notation<State = S> + ?Sized>(puzzle: &P, start: S, moves: &[Move]) -> Scramble<S> {
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
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Whether a character is invisible: format characters, variation selectors, and other characters without a width.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A text without invisible characters and colours of a terminal, and with `\n` at the end of each line. The words of a JSON
/// array, as records have moves, are separated by spaces.
pub(crate) fn plain(text: &str) -> String {
    if text.trim_start().starts_with('[')
        && let Ok(words) = serde_json::from_str::<Vec<String>>(text)
        && !words.iter().any(|word| word.contains(char::is_whitespace))
    {
        return plain(&words.join(" "));
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => plain.push('\n'),
            // A colour is `ESC [ numbers m`.
            '\u{1b}' if characters.peek() == Some(&'[') => {
                characters.by_ref().find(|end| end.is_ascii_alphabetic());
            }
            _ if is_invisible(character) => {}
            _ => plain.push(character),
        }
    }
    plain
}

/// A text that is safe in a terminal: control characters and invisible characters are named by their codes.
pub(crate) fn visible(text: &str) -> String {
    let is_named = |c: char| is_invisible(c) || c.is_control() && !matches!(c, '\n' | '\t');
    let shown = |c: char| if is_named(c) { format!("U+{:04X}", u32::from(c)) } else { c.into() };
    text.chars().map(shown).collect()
}

/// Whether a character is written for a prime: apostrophes, quotes, accents and letters that look like one.
pub(super) fn is_prime(character: char) -> bool {
    "'`´ʹʻʼʽʾʿˈˊˋ΄՚՛׳ߴߵ᾽᾿῾‘’‚‛′‵❛❜Ꞌꞌ＇｀".contains(character)
}

/// A line without its comment. A `#` begins one at the start of the line, unless it numbers a scramble (`#1: R U`), or after
/// white space, unless a number follows it or `Scramble` precedes it (`Scramble #3`).
pub(crate) fn without_comment(line: &str) -> &str {
    let begins = |&(at, _): &(usize, &str)| {
        let (before, after) = (&line[..at], &line[at + 1..]);
        let unnumbered = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = unnumbered.len() < after.len();
        match before.trim() {
            "" => !is_number || !unnumbered.starts_with([':', '.', ')']),
            title => before.ends_with(char::is_whitespace) && !is_number && !title.to_lowercase().ends_with("scramble"),
        }
    };
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

/// Whether a line is part of a frame around a board.
pub(crate) fn is_frame(line: &str) -> bool {
    let is_rule = |c: char| matches!(c, '+' | '-' | '=' | '|' | '─'..='╿') || c.is_whitespace();
    line.contains(['-', '=', '─', '═', '━']) && line.chars().all(is_rule) && line.trim().chars().count() > 1
}

/// Whether a character separates the members of a list, or stands around it: `[[1, 2], [3, 0]]`, `| 1 | 2 |`.
pub(super) fn is_separator(character: char) -> bool {
    ",;|/[](){}│┃║\"“”„«»".contains(character)
}

/// A word without a pair of quotation marks around it.
pub(crate) fn unquoted(word: &str) -> &str {
    let inside = word.strip_prefix(is_prime).and_then(|word| word.strip_suffix(is_prime));
    inside.filter(|inside| !inside.is_empty()).unwrap_or(word)
}

/// The members of a list, with any separators and brackets.
pub(crate) fn members(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || is_separator(c)).filter(|word| !word.is_empty())
}

/// The characters of a text that neither separate nor stand around others.
pub(super) fn letters(text: &str) -> impl Iterator<Item = char> + Clone {
    text.chars().filter(|&c| !c.is_whitespace() && !is_separator(c))
}

/// The names of moves up, down, right and left.
pub(super) const DIRECTIONS: [char; 4] = ['U', 'D', 'R', 'L'];

/// Reads [`DIRECTIONS`], of either case, with or without spaces between them. `goer` is the thing that goes this way.
pub(super) fn parse_directions(text: &str, goer: &str) -> Result<Vec<Move>, ParseError> {
    let read = |letter: char| match DIRECTIONS.iter().position(|&name| name == letter.to_ascii_uppercase()) {
        Some(action) => Ok(action as Move),
        None => bail_parse!("'{letter}' is not a move: expected U, D, L and R, the way {goer} goes"),
    };
    letters(text).map(read).collect()
}
