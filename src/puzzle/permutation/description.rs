//! The file of a permutation puzzle.

use super::{geometry, orbits};
use crate::json;
use crate::puzzle::cube_n::CubeN;
use crate::puzzle::notation::{bail_parse, ensure_parse, is_prime, plain, visible};
use crate::puzzle::rules::distinct;
use crate::puzzle::{Geometry, Move, ParseError};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// The version of the file's format, which a file may name.
const FORMAT: u32 = 1;

/// The most positions.
pub const MAX_POSITIONS: usize = 768;

/// A puzzle as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    pub(super) name: String,
    /// The text of the file.
    pub(super) text: String,
    /// The symbols, as they are written; states hold their indices.
    pub(super) symbols: Vec<String>,
    pub(super) goal: Vec<u8>,
    pub(super) moves: Vec<(String, Vec<u16>)>,
    /// The inverse of each move, if it is among the moves.
    pub(super) inverses: Vec<Option<Move>>,
    pub(super) geometry: Option<Geometry>,
    /// The notation of a cube that no file describes.
    pub(super) cube: Option<Arc<CubeN>>,
    /// For each symbol, whether it may trade names with the others of this kind, by even permutations; `None`: none may.
    pub(super) free_symbols: Option<Vec<bool>>,
    renames_moves: bool,
}

impl Description {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is malformed: names the line and the reason.
    pub fn read(path: &Path) -> Result<Description, ParseError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ParseError(format!("the puzzle {} cannot be read: {error}", path.display())))?;
        Description::parse(&text).map_err(|refusal| ParseError(format!("{}: {refusal}", path.display())))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is malformed: names the line and the reason.
    pub fn parse(text: &str) -> Result<Description, ParseError> {
        let value = json::from_slice(text.as_bytes()).map_err(|error| {
            let what = if error.is_data() { "" } else { "this is not JSON: " };
            ParseError(format!("line {}: {what}{error}", error.line()))
        })?;
        let refuse = |key: &str, why: String| ParseError(format!("line {}: {why}", line_of(text, key)));
        let object = value.as_object().ok_or_else(|| ParseError("line 1: a puzzle is an object { … }".into()))?;
        const KEYS: [&str; 7] = ["format", "name", "goal", "moves", "symmetric", "faces", "geometry"];
        if let Some(format) = object.get("format").filter(|&format| *format != FORMAT) {
            let why = format!("the puzzle has format {format}, and this version of costar reads format {FORMAT}");
            return Err(refuse("format", why));
        }
        if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(refuse(key, format!("'{key}' is unknown: expected {}", KEYS.join(", "))));
        }
        let name = name(object).map_err(|why| refuse("name", why))?;
        let (symbols, goal) = goal(object).map_err(|why| refuse("goal", why))?;
        let symmetric = object.get("symmetric").map_or(Some(false), Value::as_bool);
        let symmetric = symmetric.ok_or_else(|| refuse("symmetric", "\"symmetric\" must be true or false".into()))?;
        let given = object.get("moves").and_then(Value::as_object).filter(|moves| !moves.is_empty());
        let given = given
            .ok_or_else(|| refuse("moves", "\"moves\" must be an object of named permutations, one at least".into()))?;
        let mut moves: Vec<(String, Vec<u16>)> = Vec::new();
        for (written, value) in given {
            let read = named_move(written, value, goal.len());
            let read = read.map_err(|why| refuse(written, format!("the move '{}' {why}", visible(written))))?;
            if moves.iter().any(|(other, _)| *other == read.0) {
                return Err(refuse(written, format!("the move '{}' is there twice, in two spellings", read.0)));
            }
            moves.push(read);
        }
        if symmetric {
            derive_inverses(&mut moves).map_err(|why| refuse("symmetric", why))?;
        }
        if moves.len() > 255 {
            return Err(refuse("moves", format!("{} moves are too many: expected at most 255", moves.len())));
        }
        let geometry = geometry::read(object, goal.len(), &moves, refuse)?;
        Ok(Description { text: text.to_owned(), geometry, ..Description::new(name, symbols, goal, moves) })
    }

    /// A cube of any size.
    pub fn of_cube(cube: CubeN) -> Description {
        let (symbols, is_free): (Vec<String>, Vec<bool>) = cube.symbol_names().into_iter().unzip();
        let puzzle = Description::new(cube.name(), symbols, cube.symbols(&cube.goal()), cube.permutations());
        let free_symbols = is_free.contains(&true).then_some(is_free);
        Description { free_symbols, cube: Some(Arc::new(cube)), ..puzzle }
    }

    /// A puzzle without a file and without a shape.
    fn new(name: String, symbols: Vec<String>, goal: Vec<u8>, moves: Vec<(String, Vec<u16>)>) -> Description {
        Description {
            name,
            text: String::new(),
            symbols,
            goal,
            inverses: moves.iter().map(|(_, p)| find_move(&moves, &inverted(p))).collect(),
            moves,
            geometry: None,
            cube: None,
            free_symbols: None,
            renames_moves: false,
        }
    }

    /// The puzzle's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A checksum of the symbols, the goal and the moves with their names.
    pub fn rules_crc32(&self) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        let names = self.moves.iter().map(|(name, _)| name);
        names.chain(&self.symbols).for_each(|text| sum.update(format!("{text}\n").as_bytes()));
        for (_, permutation) in &self.moves {
            let bytes = permutation.iter().flat_map(|position| position.to_le_bytes());
            // One byte for each position of a puzzle with at most 256.
            let step = if self.goal.len() > 256 { 1 } else { 2 };
            sum.update(&bytes.step_by(step).collect::<Vec<_>>());
        }
        sum.update(&self.goal);
        if let Some(free) = &self.free_symbols {
            sum.update(&free.iter().map(|&free| free.into()).collect::<Vec<u8>>());
        }
        sum.finalize()
    }

    /// The same puzzle, whose names of moves differ from those of contests.
    pub fn that_comes_with_costar(self) -> Description {
        Description { renames_moves: true, ..self }
    }

    /// Whether this is the Megaminx that comes with costar.
    pub(super) fn is_megaminx(&self) -> bool {
        self.renames_moves && self.name == "megaminx"
    }

    /// The name of a move in the files of contests: `-U` for `U'` and `M_U_inv` of a puzzle that comes with costar.
    pub(super) fn contest_name(&self, name: &str) -> String {
        let bare = name.strip_prefix("M_").unwrap_or(name);
        match bare.strip_suffix("_inv").or_else(|| bare.strip_suffix('\'')) {
            _ if !self.renames_moves => name.to_owned(),
            Some(bare) => format!("-{bare}"),
            None => bare.to_owned(),
        }
    }

    /// The symbol at each position of the goal.
    pub fn goal(&self) -> impl Iterator<Item = &str> {
        self.goal.iter().map(|&symbol| self.symbols[usize::from(symbol)].as_str())
    }

    /// The moves as contests have them: names and permutations.
    pub fn contest_moves(&self) -> impl Iterator<Item = (String, &[u16])> {
        self.moves.iter().map(|(name, from)| (self.contest_name(name), &from[..]))
    }

    /// The number of positions.
    pub fn positions(&self) -> usize {
        self.goal.len()
    }

    /// The [orbits] of all positions.
    pub(super) fn orbits(&self) -> Vec<usize> {
        let tables = self.moves.iter().map(|(_, table)| table.iter().copied().map(usize::from));
        orbits(tables, self.positions())
    }

    /// Whether every move has an inverse among the moves.
    pub fn is_reversible(&self) -> bool {
        self.inverses.iter().all(Option::is_some)
    }
}

/// The move that is a permutation.
fn find_move(moves: &[(String, Vec<u16>)], permutation: &[u16]) -> Option<Move> {
    moves.iter().position(|(_, other)| other == permutation).map(|action| action as Move)
}

/// The inverse of a permutation.
///
/// # Panics
/// If a number is not below the length.
pub fn inverted(permutation: &[u16]) -> Vec<u16> {
    let mut inverse = vec![0; permutation.len()];
    for (to, &from) in permutation.iter().enumerate() {
        inverse[usize::from(from)] = to as u16;
    }
    inverse
}

/// Adds each missing inverse after its move; refuses an inverse with the name of another move.
fn derive_inverses(moves: &mut Vec<(String, Vec<u16>)>) -> Result<(), String> {
    let given = std::mem::take(moves);
    for (name, permutation) in &given {
        moves.push((name.clone(), permutation.clone()));
        let inverse = inverted(permutation);
        if find_move(&given, &inverse).is_none() && find_move(moves, &inverse).is_none() {
            let back = format!("{name}'");
            let is_new = given.iter().all(|(other, _)| *other != back);
            ensure_parse!(is_new, "the inverse of '{name}' would be named '{back}', as another move is: rename that");
            moves.push((back, inverse));
        }
    }
    Ok(())
}

/// The normal form of names of moves: any character for a prime is `'`, also after a space.
pub(super) fn normal_name(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for character in plain(text).chars() {
        if is_prime(character) {
            normal.truncate(normal.trim_end().len());
            normal.push('\'');
        } else {
            normal.push(if character == ',' { ' ' } else { character });
        }
    }
    normal
}

fn name(object: &Map<String, Value>) -> Result<String, String> {
    let name = object.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
    let name = plain(name.ok_or("\"name\" must be a text that is not empty")?);
    let is_shown = !name.trim().is_empty() && !name.contains(char::is_control);
    ensure_parse!(is_shown, "\"name\" is {:?}: expected letters that can be shown", visible(&name));
    Ok(name)
}

/// The symbols in the order of their first appearance, and the goal as their indices.
fn goal(object: &Map<String, Value>) -> Result<(Vec<String>, Vec<u8>), String> {
    let written: Vec<String> = match object.get("goal") {
        Some(Value::String(text)) => plain(text).chars().map(String::from).collect(),
        Some(Value::Array(numbers)) => {
            let number = |value: &Value| value.as_u64().filter(|number| *number < 256).map(|number| number.to_string());
            let numbers: Option<Vec<String>> = numbers.iter().map(number).collect();
            numbers.ok_or("\"goal\" holds something else than integers from 0 to 255")?
        }
        None => bail_parse!("\"goal\" is missing: expected the symbols of the solved state"),
        _ => bail_parse!("\"goal\" must be a text or an array of small integers"),
    };
    let count = written.len();
    ensure_parse!(
        (2..=MAX_POSITIONS).contains(&count),
        "\"goal\" has {count} positions: expected 2 to {MAX_POSITIONS}"
    );
    if let Some(space) = written.iter().find(|symbol| symbol.trim().is_empty() || symbol.contains(char::is_control)) {
        let space = visible(space);
        bail_parse!("\"goal\" holds the symbol {space:?}: a space or a control character cannot be one");
    }
    let symbols = distinct(written.iter().cloned());
    let count = symbols.len();
    ensure_parse!(count <= 256, "\"goal\" has {count} different symbols: expected at most 256");
    let index = |symbol: &String| symbols.iter().position(|other| other == symbol).unwrap_or(0) as u8;
    let goal = written.iter().map(index).collect();
    Ok((symbols, goal))
}

/// The normal form of a move's name, and its permutation.
fn named_move(name: &str, value: &Value, positions: usize) -> Result<(String, Vec<u16>), String> {
    let numbers = value.as_array().ok_or("is not an array of positions")?;
    let count = numbers.len();
    ensure_parse!(count == positions, "has {count} positions, and the goal has {positions}");
    let mut seen = vec![false; positions];
    let mut permutation = Vec::with_capacity(positions);
    for number in numbers {
        let place = position(number, positions)?;
        let is_new = !std::mem::replace(&mut seen[place], true);
        ensure_parse!(is_new, "is not a permutation: position {place} is there twice");
        permutation.push(place as u16);
    }
    let name = normal_name(name).trim().to_owned();
    let is_typed = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
    ensure_parse!(is_typed, "cannot be typed: expected a name without spaces, commas and control characters");
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    ensure_parse!(!is_number, "looks like a symbol or a count: expected a name that is not a number");
    Ok((name, permutation))
}

/// Reads a position.
pub(super) fn position(number: &Value, positions: usize) -> Result<usize, String> {
    let place = number.as_u64().and_then(|place| usize::try_from(place).ok()).filter(|&place| place < positions);
    place.ok_or_else(|| format!("holds {number}: expected positions from 0 to {}", positions - 1))
}

/// The line of a key, from 1; the first if the key is not there.
fn line_of(text: &str, key: &str) -> usize {
    let quoted = Value::String(key.to_owned()).to_string();
    let escape = |unit: u16| if unit < 128 { char::from(unit as u8).to_string() } else { format!("\\u{unit:04x}") };
    let escaped: String = quoted.encode_utf16().map(escape).collect();
    // A colon follows: the same text may be a value elsewhere.
    let is_key = |&(at, found): &(usize, &str)| text[at + found.len()..].trim_start().starts_with(':');
    let first = |quoted: &str| Some(text.match_indices(quoted).find(is_key)?.0);
    let at = first(&quoted).or_else(|| first(&escaped)).unwrap_or(0);
    text[..at].matches('\n').count() + 1
}
