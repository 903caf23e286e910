//! Your own puzzle, without writing Rust: symbols at positions, and moves that permute the positions.
//!
//! ```json
//! { "name": "pyraminx", "goal": "AAABBB…", "moves": { "R": [0, 5, 2, …], "R'": [0, 7, 2, …] } }
//! ```
//!
//! `goal` is a string of symbols or an array of small integers; a move is a permutation p of positions,
//! `new[i] = old[p[i]]`. Inverses are found among the moves, and derived (named with a `'`) where they are missing and
//! `"symmetric": true` is given. `faces` and `geometry` say how to [draw](super::Geometry) it. An instance is a scramble
//! from the goal, or the symbols of a state.

use super::{
    Encoding, Geometry, Move, ParseError, Picture, Puzzle, Reversible, Scramble, StateBytes, Style, SymmetricImage,
    Symmetries, is_odd,
};
use crate::json;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::{Arc, OnceLock};

mod drawing;
mod symmetry;

/// The most positions.
pub const LARGEST: usize = 256;

/// A puzzle as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    name: String,
    /// As it was written.
    text: String,
    /// The symbols in the order of their numbers, as they are written.
    symbols: Vec<String>,
    goal: Vec<u8>,
    moves: Vec<(String, Vec<u8>)>,
    /// The inverse of each move, where it is among the moves.
    inverses: Vec<Option<Move>>,
    geometry: Option<Geometry>,
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
        const KEYS: [&str; 6] = ["name", "goal", "moves", "symmetric", "faces", "geometry"];
        if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(refuse(key, format!("'{key}' is unknown: expected {}", KEYS.join(", "))));
        }
        let name = object.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
        let name = name.ok_or_else(|| refuse("name", "\"name\" must be a text that is not empty".into()))?;
        let (symbols, goal) = goal(object).map_err(|why| refuse("goal", why))?;
        let symmetric = match object.get("symmetric") {
            None => false,
            Some(Value::Bool(symmetric)) => *symmetric,
            Some(_) => return Err(refuse("symmetric", "\"symmetric\" must be true or false".into())),
        };
        let moves = object.get("moves").and_then(Value::as_object).filter(|moves| !moves.is_empty());
        let moves = moves.ok_or_else(|| refuse("moves", "\"moves\" must be an object of named permutations".into()))?;
        let read = moves.iter().map(|(name, value)| {
            let permutation =
                permutation(value, goal.len()).map_err(|why| refuse(name, format!("the move '{name}' {why}")))?;
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err(refuse(name, format!("the move '{name}' needs a name without spaces")));
            }
            Ok((name.clone(), permutation))
        });
        let mut moves: Vec<(String, Vec<u8>)> = read.collect::<Result<_, _>>()?;
        if symmetric {
            derive_inverses(&mut moves).map_err(|why| refuse("symmetric", why))?;
        }
        if moves.len() > 255 {
            return Err(refuse("moves", format!("{} moves are too many: expected at most 255", moves.len())));
        }
        let inverses = moves.iter().map(|(_, p)| position(&moves, &inverted(p))).collect();
        let geometry = drawing::read(object, goal.len(), &moves).map_err(|refusal| refuse(refusal.key, refusal.why))?;
        Ok(Description { name: name.to_owned(), text: text.to_owned(), symbols, goal, moves, inverses, geometry })
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
        self.moves.iter().map(|(_, permutation)| permutation).chain([&self.goal]).for_each(|bytes| sum.update(bytes));
        sum.finalize()
    }

    /// How many positions there are.
    pub fn positions(&self) -> usize {
        self.goal.len()
    }

    /// Whether every move has an inverse among the moves.
    pub fn is_reversible(&self) -> bool {
        self.inverses.iter().all(Option::is_some)
    }
}

fn position(moves: &[(String, Vec<u8>)], permutation: &[u8]) -> Option<Move> {
    moves.iter().position(|(_, other)| other == permutation).map(|action| action as Move)
}

fn inverted(permutation: &[u8]) -> Vec<u8> {
    let mut inverse = vec![0; permutation.len()];
    for (to, &from) in permutation.iter().enumerate() {
        inverse[usize::from(from)] = to as u8;
    }
    inverse
}

/// Adds, behind each move whose inverse is missing, that inverse; refuses where its name is taken.
fn derive_inverses(moves: &mut Vec<(String, Vec<u8>)>) -> Result<(), String> {
    let given = std::mem::take(moves);
    for (name, permutation) in &given {
        moves.push((name.clone(), permutation.clone()));
        let inverse = inverted(permutation);
        if position(&given, &inverse).is_none() && position(moves, &inverse).is_none() {
            let name_back = format!("{name}'");
            if given.iter().any(|(other, _)| *other == name_back) {
                return Err(format!(
                    "the inverse of '{name}' would be named '{name_back}', as another move is: rename that"
                ));
            }
            moves.push((name_back, inverse));
        }
    }
    Ok(())
}

/// The symbols in the order of their first appearance, and the goal in their numbers.
fn goal(object: &Map<String, Value>) -> Result<(Vec<String>, Vec<u8>), String> {
    let written: Vec<String> = match object.get("goal") {
        Some(Value::String(text)) => text.chars().map(String::from).collect(),
        Some(Value::Array(numbers)) => {
            let number = |value: &Value| value.as_u64().filter(|number| *number < 256).map(|number| number.to_string());
            let numbers: Option<Vec<String>> = numbers.iter().map(number).collect();
            numbers.ok_or("\"goal\" holds something else than integers from 0 to 255")?
        }
        _ => return Err("\"goal\" must be a text or an array of small integers".into()),
    };
    if !(2..=LARGEST).contains(&written.len()) {
        return Err(format!("\"goal\" has {} positions: expected 2 to {LARGEST}", written.len()));
    }
    if let Some(space) = written.iter().find(|symbol| symbol.trim().is_empty()) {
        return Err(format!("\"goal\" holds the symbol {space:?}: a space cannot be one"));
    }
    let mut symbols: Vec<String> = Vec::new();
    let goal = written.iter().map(|symbol| {
        let known = symbols.iter().position(|other| other == symbol);
        known.unwrap_or_else(|| {
            symbols.push(symbol.clone());
            symbols.len() - 1
        }) as u8
    });
    let goal = goal.collect();
    Ok((symbols, goal))
}

fn permutation(value: &Value, positions: usize) -> Result<Vec<u8>, String> {
    let numbers = value.as_array().ok_or("is not an array of positions")?;
    if numbers.len() != positions {
        return Err(format!("has {} positions, and the goal has {positions}", numbers.len()));
    }
    let mut seen = vec![false; positions];
    let mut permutation = Vec::with_capacity(positions);
    for number in numbers {
        let place = number.as_u64().and_then(|place| usize::try_from(place).ok()).filter(|&place| place < positions);
        let place = place.ok_or_else(|| format!("holds {number}: expected positions from 0 to {}", positions - 1))?;
        if std::mem::replace(&mut seen[place], true) {
            return Err(format!("is no permutation: position {place} is there twice"));
        }
        permutation.push(place as u8);
    }
    Ok(permutation)
}

/// The line where a key stands, from 1; the first if it does not.
fn line_of(text: &str, key: &str) -> usize {
    let quoted = Value::String(key.to_owned()).to_string();
    let at = text.find(&quoted).unwrap_or(0);
    text[..at].matches('\n').count() + 1
}

/// A permutation puzzle of at most `N` positions.
#[derive(Debug, Clone)]
pub struct Permutation<const N: usize> {
    description: Description,
    goal: [u8; N],
    tables: Vec<[u8; N]>,
    /// Whether every move is an odd permutation, and no symbol stands twice in the goal.
    moves_are_odd: bool,
    /// Found when they are first asked for.
    symmetries: OnceLock<Option<Arc<symmetry::Found<N>>>>,
}

impl<const N: usize> Permutation<N> {
    /// Makes the tables of a puzzle.
    ///
    /// # Panics
    /// If it has more than `N` positions.
    pub fn new(description: Description) -> Self {
        let fill = |values: &[u8], rest: fn(usize) -> u8| {
            assert!(values.len() <= N);
            std::array::from_fn(|i| values.get(i).copied().unwrap_or_else(|| rest(i)))
        };
        // Positions beyond the last hold 0, and stay where they are.
        let goal = fill(&description.goal, |_| 0);
        let tables = description.moves.iter().map(|(_, permutation)| fill(permutation, |i| i as u8)).collect();
        let moves_are_odd = description.symbols.len() == description.positions()
            && description.moves.iter().all(|(_, permutation)| is_odd(permutation));
        Permutation { description, goal, tables, moves_are_odd, symmetries: OnceLock::new() }
    }

    /// The symmetries, where there are others than the identity; says in the log why they are not found.
    fn found(&self) -> Option<&Arc<symmetry::Found<N>>> {
        let find = || {
            let Description { name, symbols, goal, moves, inverses, .. } = &self.description;
            let moves = moves.iter().map(|(_, table)| &table[..]).collect();
            let rules = symmetry::Rules { goal, symbols: symbols.len(), moves };
            match symmetry::find(&rules) {
                Ok(maps) => symmetry::Found::new(maps, self.goal, goal.len(), &self.tables, inverses).map(Arc::new),
                Err(why) => {
                    log::info!("the symmetries of {name} are not used: {why}");
                    None
                }
            }
        };
        self.symmetries.get_or_init(find).as_ref()
    }

    /// Whether every move has an inverse among the moves.
    pub fn is_reversible(&self) -> bool {
        self.description.is_reversible()
    }

    /// The state whose symbols these are, each as often as in the goal or not; `None` if it is a scramble instead.
    fn read_symbols(&self, text: &str) -> Option<[u8; N]> {
        let letters = self.description.symbols.iter().all(|symbol| symbol.chars().count() == 1);
        let words: Vec<String> = match letters && !text.trim().contains(char::is_whitespace) {
            true => text.trim().chars().map(String::from).collect(),
            false => text.split_whitespace().map(str::to_owned).collect(),
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        (words.len() == self.description.positions()).then(|| self.read_state(&words)).flatten()
    }

    fn read_state(&self, words: &[&str]) -> Option<[u8; N]> {
        let symbols = &self.description.symbols;
        let mut state = [0; N];
        for (place, word) in state.iter_mut().zip(words) {
            *place = symbols.iter().position(|symbol| symbol == word)? as u8;
        }
        Some(state)
    }
}

impl<const N: usize> Puzzle for Permutation<N> {
    type State = [u8; N];

    fn name(&self) -> String {
        self.description.name.clone()
    }

    fn move_count(&self) -> usize {
        self.tables.len()
    }

    fn move_name(&self, action: Move) -> String {
        self.description.moves[usize::from(action)].0.clone()
    }

    #[inline]
    fn apply(&self, state: &[u8; N], action: Move) -> Option<[u8; N]> {
        let table = &self.tables[usize::from(action)];
        Some(std::array::from_fn(|i| state[usize::from(table[i])]))
    }

    #[inline]
    fn is_goal(&self, state: &[u8; N]) -> bool {
        *state == self.goal
    }

    fn parse(&self, text: &str) -> Result<[u8; N], ParseError> {
        if let Some(state) = self.read_symbols(text) {
            let sorted = |mut symbols: [u8; N]| {
                symbols.sort_unstable();
                symbols
            };
            if sorted(state) != sorted(self.goal) {
                return Err(ParseError("this state does not have the symbols of the goal, each as often".into()));
            }
            return Ok(state);
        }
        let moves = self.parse_moves(text)?;
        let play = |state, &action: &Move| self.apply(&state, action).unwrap_or(state);
        Ok(moves.iter().fold(self.goal, play))
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        words
            .map(|word| {
                let plain = word.replace(['’', '′', '`', '´'], "'");
                let action = self.description.moves.iter().position(|(name, _)| *name == plain);
                action.map(|action| action as Move).ok_or_else(|| {
                    let names: Vec<&str> = self.description.moves.iter().map(|(name, _)| name.as_str()).collect();
                    ParseError(format!(
                        "'{word}' is neither a move nor the {} symbols of a state: expected {}",
                        self.description.positions(),
                        names.join(" ")
                    ))
                })
            })
            .collect()
    }

    fn format(&self, state: &[u8; N]) -> String {
        let symbols = &self.description.symbols;
        let words: Vec<&str> =
            state[..self.description.positions()].iter().map(|&symbol| symbols[usize::from(symbol)].as_str()).collect();
        let letters = symbols.iter().all(|symbol| symbol.chars().count() == 1);
        words.join(if letters { "" } else { " " })
    }

    fn draw(&self, state: &[u8; N], _style: Style) -> String {
        self.format(state)
    }

    fn picture(&self, state: &[u8; N]) -> Picture {
        let symbol = |&number: &u8| self.description.symbols[usize::from(number)].clone();
        Picture::Row { symbols: state[..self.description.positions()].iter().map(symbol).collect() }
    }

    fn geometry(&self) -> Option<&Geometry> {
        self.description.geometry.as_ref()
    }

    fn scramble(&self, text: &str) -> Option<Scramble<[u8; N]>> {
        let moves = if self.read_symbols(text).is_some() { return None } else { self.parse_moves(text).ok()? };
        Some(Scramble::play(self, self.goal, &moves))
    }

    fn file(&self) -> Option<&str> {
        Some(&self.description.text)
    }

    fn rules_crc32(&self) -> Option<u32> {
        Some(self.description.rules_crc32())
    }

    /// A cell a position; positions that no move changes are fixed.
    fn encoding(&self) -> Encoding {
        let cells = self.description.positions();
        let stays = |&place: &usize| self.tables.iter().all(|table| usize::from(table[place]) == place);
        let fixed = (0..cells).filter(stays).collect();
        Encoding { version: 1, cells, symbols: self.description.symbols.len(), fixed, grid: None }
    }

    fn encode(&self, state: &[u8; N], row: &mut [u8]) {
        row.copy_from_slice(&state[..self.description.positions()]);
    }

    fn symmetric_images(&self, state: &[u8; N]) -> Vec<SymmetricImage<[u8; N]>> {
        self.found().map_or_else(Vec::new, |found| found.images(state))
    }

    fn symmetries(&self) -> Option<Arc<dyn Symmetries<[u8; N]>>> {
        Some(Arc::clone(self.found()?) as Arc<dyn Symmetries<[u8; N]>>)
    }

    fn length_parity(&self, state: &[u8; N]) -> Option<u32> {
        self.moves_are_odd.then(|| is_odd(&state[..self.description.positions()]).into())
    }

    fn always_same(&self, one: &[Move], other: &[Move]) -> bool {
        let from = |moves: &[Move], place: usize| {
            moves.iter().rev().fold(place, |place, &action| self.tables[usize::from(action)][place].into())
        };
        (0..N).all(|place| from(one, place) == from(other, place))
    }

    fn notation(&self) -> &'static str {
        "a scramble of the moves in the puzzle's file, with spaces between, or the symbols of a state"
    }

    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        Some(StateBytes::plain())
    }
}

impl<const N: usize> Reversible for Permutation<N> {
    fn goals(&self) -> Vec<[u8; N]> {
        vec![self.goal]
    }

    /// # Panics
    /// If the move has no inverse: see [`Description::is_reversible`].
    fn inverse(&self, action: Move) -> Move {
        self.description.inverses[usize::from(action)].expect("a reversible puzzle has all inverses")
    }

    /// As many as positions, but 20 at least: nothing is known of the puzzle.
    fn default_depth(&self) -> u32 {
        self.description.positions().max(20) as u32
    }
}
