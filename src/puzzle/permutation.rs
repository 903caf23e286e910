//! Puzzles from a file, without any Rust: symbols at positions, and moves that permute the positions.
//!
//! ```json
//! { "name": "pyraminx", "goal": "AAABBB…", "moves": { "R": [0, 5, 2, …], "R'": [0, 7, 2, …] } }
//! ```
//!
//! `goal` is a string of symbols or an array of small integers; a move is a permutation p of positions,
//! `new[i] = old[p[i]]`. Inverses are found among the moves; with `"symmetric": true`, missing ones are derived (named with
//! a `'`). `faces` and `geometry` give its [shape](super::Geometry). An instance is a scramble from the goal, or the symbols of
//! a state.
//!
//! | file | content |
//! | --- | --- |
//! | `description` | reads the file |
//! | `geometry` | reads its shape: faces and polygons |
//! | `symmetry` | finds the symmetries |
//! | `state_count` | counts the states |
//! | `free_symbols` | symbols that may trade names |
//! | `group` | the group of the moves: its order, and whether a state belongs to it |
//! | `goal_positions` | where each sticker of a state stands in the goal: what inverses need |
//! | `classes` | images and classes of states under the symmetries |

use super::cube_n::CubeN;
use super::cube3::facelets;
use super::notation::{bail_parse, ensure_parse, members, unquoted};
use super::rules::is_odd;
use super::{
    Block, Encode, Encoding, Geometry, Move, MoveTable, Notation, ParseError, Picture, Reversible, Rules, Scramble,
    StateBytes, SymmetricImage, SymmetricImages, Symmetries, plain,
};
use crate::random::generator;
use classes::StateSymmetries;
pub use description::{Description, MAX_POSITIONS, inverted};
use free_symbols::FreeSymbols;
use group::PermutationGroup;
pub use group::orbits;
use rand::RngCore as _;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

mod classes;
mod description;
mod free_symbols;
mod geometry;
mod goal_positions;
mod group;
mod state_count;
mod symmetry;

/// The hash of a state is the sum of a number for each position and its symbol (Zobrist, "A new hashing method with
/// application for game playing", 1970): that of a child differs at the positions that the move changes.
#[derive(Debug)]
struct Hashing {
    symbols: usize,
    /// Random numbers, `positions × symbols`.
    numbers: Vec<u64>,
    /// The positions that each move changes, and where their symbols come from.
    changes: Vec<Vec<(u16, u16)>>,
}

impl Hashing {
    fn new(description: &Description) -> Self {
        let symbols = description.symbols.len();
        let mut generator = generator(0, 0);
        let numbers = (0..description.positions() * symbols).map(|_| generator.next_u64()).collect();
        let changed = |(_, permutation): &(String, Vec<u16>)| {
            (0..=u16::MAX).zip(permutation.iter().copied()).filter(|(to, from)| to != from).collect()
        };
        Hashing { symbols, numbers, changes: description.moves.iter().map(changed).collect() }
    }

    #[inline]
    fn number(&self, position: u16, symbol: u8) -> u64 {
        self.numbers[usize::from(position) * self.symbols + usize::from(symbol)]
    }
}

/// Symbols at the first positions, and 0 at the others.
fn filled<const N: usize>(symbols: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| symbols.get(i).copied().unwrap_or(0))
}

/// A permutation puzzle of at most `N` positions.
#[derive(Debug, Clone)]
pub struct Permutation<const N: usize> {
    description: Description,
    goal: [u8; N],
    /// The names and permutations of the moves, followed by those of other turns of a cube in the hand.
    names: Vec<String>,
    tables: Vec<[u16; N]>,
    hashing: Arc<Hashing>,
    free_symbols: Option<FreeSymbols>,
    /// Whether every move is an odd permutation, and no symbol stands twice in the goal.
    moves_are_odd: bool,
    /// Found when they are first needed.
    symmetries: OnceLock<Option<Arc<StateSymmetries<N>>>>,
    group: OnceLock<Arc<PermutationGroup>>,
}

impl<const N: usize> Permutation<N> {
    /// The puzzle of a description.
    ///
    /// # Panics
    /// If it has more than `N` positions.
    pub fn new(description: Description) -> Self {
        assert!(description.positions() <= N);
        // Positions beyond the last hold 0, and stay where they are.
        let goal = filled(&description.goal);
        let free_symbols = FreeSymbols::new(&description);
        let turns = match &description.cube {
            Some(cube) if !cube.is_stage() => cube.named_turns(),
            _ => description.moves.clone(),
        };
        let table = |permutation: Vec<u16>| std::array::from_fn(|i| permutation.get(i).copied().unwrap_or(i as u16));
        let (names, tables) = turns.into_iter().map(|(name, permutation)| (name, table(permutation))).unzip();
        let moves_are_odd = description.symbols.len() == description.positions()
            && description.moves.iter().all(|(_, permutation)| is_odd(permutation));
        let hashing = Arc::new(Hashing::new(&description));
        Permutation {
            description,
            goal,
            names,
            tables,
            hashing,
            free_symbols,
            moves_are_odd,
            symmetries: OnceLock::new(),
            group: OnceLock::new(),
        }
    }

    /// The symmetries, if there are others than the identity. The log says why they are not found.
    fn state_symmetries(&self) -> Option<&Arc<StateSymmetries<N>>> {
        let find = || {
            let say = |why: &String| log::info!("the symmetries of {} are not used: {why}", self.description.name);
            let found = symmetry::find(&self.description).inspect_err(say).ok()?;
            StateSymmetries::new(found, self).map(Arc::new)
        };
        self.symmetries.get_or_init(find).as_ref()
    }

    /// A state with free names in order.
    fn named(&self, mut state: [u8; N]) -> [u8; N] {
        if let Some(names) = &self.free_symbols {
            names.normalize(&mut state[..self.description.positions()]);
        }
        state
    }

    /// The state of a cube with some colours.
    fn of_colours(&self, cube: &CubeN, colours: &[u8]) -> [u8; N] {
        self.named(filled(&cube.symbols(colours)))
    }

    fn group(&self) -> &PermutationGroup {
        self.group.get_or_init(|| Arc::new(PermutationGroup::new(&self.description)))
    }

    /// Whether every move has an inverse among the moves.
    pub fn is_reversible(&self) -> bool {
        self.description.is_reversible()
    }

    /// Reads the normal form of a move's name; in another case, if no two moves differ in case alone.
    fn read_move(&self, word: &str) -> Result<Move, ParseError> {
        let names = || self.description.moves.iter().map(|(name, _)| name.as_str());
        let in_any_case = || {
            let mut same = names().enumerate().filter(|(_, name)| name.to_lowercase() == word.to_lowercase());
            same.next().filter(|_| same.next().is_none()).map(|(action, _)| action)
        };
        let in_contest = || names().position(|name| self.description.contest_name(name) == word);
        let found = names().position(|name| name == word).or_else(in_any_case).or_else(in_contest);
        let Some(action) = found else {
            let (count, names) = (self.description.positions(), names().collect::<Vec<_>>().join(" "));
            bail_parse!("'{word}' is neither a move nor the {count} symbols of a state: expected {names}");
        };
        Ok(action as Move)
    }

    /// Names the first word of a scramble that names a move as contests do, since people may mean another turn by it.
    fn renamed(&self, text: &str) -> Option<String> {
        let own = |word: &str| Some(&self.names[usize::from(self.read_move(word).ok()?)]);
        let text = description::normal_name(text);
        let words = text.split_whitespace().map(|word| word.trim_end_matches(['\'', '2']));
        let (word, own) =
            words.filter_map(|word| Some((word, own(word)?))).find(|(a, b)| !a.eq_ignore_ascii_case(b))?;
        Some(format!("moves with the names of contests: {word} is {own}"))
    }

    /// Reads a move, also followed by `'` for its inverse or `2` for twice, if no move has that name itself.
    fn read_word(&self, word: &str) -> Result<Vec<Move>, ParseError> {
        let refusal = match self.read_move(word) {
            Ok(action) => return Ok(vec![action]),
            Err(refusal) => refusal,
        };
        let inverse = |action: &Move| self.description.inverses[usize::from(*action)];
        let (bare, is_inverse) = word.strip_suffix('\'').map_or((word, false), |bare| (bare, true));
        let twice = || self.read_move(bare.strip_suffix('2')?).ok().map(|action| vec![action; 2]);
        let moves = self.read_move(bare).ok().map(|action| vec![action]).or_else(twice).ok_or(refusal.clone())?;
        if !is_inverse {
            return Ok(moves);
        }
        moves.iter().rev().map(inverse).collect::<Option<_>>().ok_or(refusal)
    }

    fn symbol(&self, index: u8) -> &str {
        &self.description.symbols[usize::from(index)]
    }

    /// Whether every symbol is one letter: states are then written without spaces.
    fn has_letters(&self) -> bool {
        self.description.symbols.iter().all(|symbol| symbol.chars().count() == 1)
    }

    /// Reads the symbols of a state, of any counts: without separators, with spaces, or as a list. `None` if the text is a
    /// scramble, or those of a whole cube: they are read as facelets.
    fn read_symbols(&self, text: &str) -> Option<[u8; N]> {
        if self.description.cube.as_ref().is_some_and(|cube| !cube.is_stage()) {
            return None;
        }
        let letters = text.split("").filter(|letter| !letter.trim().is_empty());
        let words = text.split_whitespace();
        let listed = members(text).map(unquoted);
        // A separator may be a symbol of the puzzle.
        let joined = self.has_letters().then(|| self.state_of(letters)).flatten();
        joined.or_else(|| self.state_of(words)).or_else(|| self.state_of(listed))
    }

    /// The state with these symbols, if there are as many as positions.
    fn state_of<'a>(&self, symbols: impl Iterator<Item = &'a str>) -> Option<[u8; N]> {
        let index = |word: &str| self.description.symbols.iter().position(|symbol| symbol == word).map(|i| i as u8);
        let read: Vec<u8> = symbols.map(index).collect::<Option<_>>()?;
        (read.len() == self.description.positions()).then(|| filled(&read))
    }

    /// Names the first word that is neither a symbol nor a move, of as many words as a state has; or the number of symbols
    /// that are too many or too few.
    fn wrong_symbol(&self, text: &str) -> Option<ParseError> {
        let (words, symbols) = (text.split_whitespace(), &self.description.symbols);
        let (count, positions) = (members(text).count(), self.description.positions());
        let mut known = members(text).map(unquoted).filter(|word| symbols.iter().any(|symbol| symbol == word));
        if count > 1 && count != positions && known.by_ref().count() == count {
            return Some(ParseError(format!("a state with {count} symbols: expected {positions}")));
        }
        let is_wrong = |word: &&str| !symbols.iter().any(|symbol| symbol == word) && self.read_word(word).is_err();
        let wrong = words.clone().find(is_wrong).filter(|_| words.count() == positions)?;
        Some(ParseError(format!("'{wrong}' is not a symbol of a state: expected {}", symbols.join(" "))))
    }

    /// A state that was read from its symbols, with free names in order.
    ///
    /// # Errors
    /// If no moves lead from it to the goal.
    fn checked(&self, state: [u8; N]) -> Result<[u8; N], ParseError> {
        let sorted = |mut symbols: [u8; N]| {
            symbols.sort_unstable();
            symbols
        };
        let has_symbols = sorted(state) == sorted(self.goal);
        ensure_parse!(has_symbols, "this state does not have the symbols of the goal, each as often");
        let positions = self.description.positions();
        if PermutationGroup::is_small(&self.description)
            && !self.group().reaches(&self.goal[..positions], &state[..positions])
        {
            bail_parse!(
                "no moves lead from this state to the goal: two pieces may be swapped, or one turned in its place"
            );
        }
        Ok(self.named(state))
    }
}

impl<const N: usize> Rules for Permutation<N> {
    type State = [u8; N];

    fn name(&self) -> String {
        self.description.name.clone()
    }

    fn move_count(&self) -> usize {
        self.description.moves.len()
    }

    #[inline]
    fn apply(&self, state: &[u8; N], action: Move) -> Option<[u8; N]> {
        let table = &self.tables[usize::from(action)];
        Some(self.named(std::array::from_fn(|i| state[usize::from(table[i])])))
    }

    fn state_hash(&self, state: &[u8; N]) -> u64 {
        let symbols = (0..=u16::MAX).zip(&state[..self.description.positions()]);
        symbols.fold(0, |sum, (i, &symbol)| sum.wrapping_add(self.hashing.number(i, symbol)))
    }

    fn child_hash(&self, state: &[u8; N], hash: u64, action: Move) -> Option<u64> {
        if self.free_symbols.is_some() {
            return self.apply(state, action).map(|child| self.state_hash(&child));
        }
        let change = |hash: u64, &(to, from): &(u16, u16)| {
            let [before, after] = [to, from].map(|position| self.hashing.number(to, state[usize::from(position)]));
            hash.wrapping_sub(before).wrapping_add(after)
        };
        Some(self.hashing.changes[usize::from(action)].iter().fold(hash, change))
    }

    #[inline]
    fn is_goal(&self, state: &[u8; N]) -> bool {
        *state == self.goal
    }

    fn reduction(&self) -> &'static [&'static str] {
        self.description.cube.as_ref().map_or(&[], |cube| cube.reduction_stages())
    }

    fn file(&self) -> Option<&str> {
        self.description.cube.is_none().then_some(&*self.description.text)
    }

    fn rules_crc32(&self) -> Option<u32> {
        Some(self.description.rules_crc32())
    }

    fn always_same(&self, one: &[Move], other: &[Move]) -> bool {
        let from = |moves: &[Move], place: usize| {
            moves.iter().rev().fold(place, |place, &action| self.tables[usize::from(action)][place].into())
        };
        (0..N).all(|place| from(one, place) == from(other, place))
    }

    fn length_parity(&self, state: &[u8; N]) -> Option<u32> {
        self.moves_are_odd.then(|| is_odd(&state[..self.description.positions()]).into())
    }

    fn symmetric_images(&self, state: &[u8; N]) -> SymmetricImages<'_, [u8; N]> {
        let state = *state;
        let images = self.state_symmetries().into_iter().flat_map(move |symmetries| symmetries.images(state));
        Box::new(images.map(|image| SymmetricImage { start: self.named(image.start), ..image }))
    }

    fn symmetries(&self) -> Option<Arc<dyn Symmetries<[u8; N]>>> {
        // Classes compare symbols by their names.
        if self.free_symbols.is_some() {
            return None;
        }
        Some(Arc::clone(self.state_symmetries()?) as Arc<dyn Symmetries<[u8; N]>>)
    }

    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        Some(StateBytes::plain())
    }
}

impl<const N: usize> Notation for Permutation<N> {
    fn notation(&self) -> &'static str {
        match &self.description.cube {
            None => "a scramble of the moves in the puzzle's file, with spaces between, or the symbols of a state",
            Some(cube) if cube.is_stage() => "a scramble from solved in turns, the facelets, or the symbols of a state",
            Some(_) => {
                "a scramble from solved in turns (R, Rw or r, 3Rw, 2R, M, x, with ' and 2, or f0 -r1.d2), or the facelets in the \
                        order U R F D L B"
            }
        }
    }

    fn move_name(&self, action: Move) -> String {
        self.names[usize::from(action)].clone()
    }

    fn contest_name(&self, action: Move) -> Option<String> {
        match &self.description.cube {
            Some(cube) => cube.contest_name(action),
            None => Some(self.description.contest_name(&self.names[usize::from(action)])),
        }
    }

    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        if let Some(cube) = &self.description.cube {
            return cube.read_moves(text);
        }
        let words: Vec<_> = description::normal_name(text)
            .split_whitespace()
            .map(|word| self.read_word(word))
            .collect::<Result<_, _>>()?;
        Ok(words.concat())
    }

    fn read(&self, text: &str) -> Result<[u8; N], ParseError> {
        match (self.read_symbols(text), &self.description.cube) {
            (Some(state), _) => self.checked(state),
            (None, Some(cube)) => Ok(self.of_colours(cube, &cube.held(&cube.hand(text)?.0).0)),
            (None, None) => {
                let moves = self.read_moves(text).map_err(|refusal| self.wrong_symbol(text).unwrap_or(refusal))?;
                Ok(Scramble::play(self, self.goal, &moves).end())
            }
        }
    }

    fn format(&self, state: &[u8; N]) -> String {
        let symbols: Vec<&str> = state[..self.description.positions()].iter().map(|&i| self.symbol(i)).collect();
        symbols.join(if self.has_letters() { "" } else { " " })
    }

    fn read_as(&self, text: &str) -> Option<String> {
        let text = plain(text);
        match &self.description.cube {
            Some(cube) => cube.read_as(&text),
            None if self.read_symbols(&text).is_some() => None,
            None => self.renamed(&text),
        }
    }

    fn block(&self, lines: &[&str]) -> Block {
        self.description.cube.as_ref().map_or(Block::Neither, |cube| facelets::block(lines, cube.size()))
    }

    fn normalized(&self, state: &[u8; N]) -> [u8; N] {
        let positions = self.description.positions();
        self.description.cube.as_ref().map_or(*state, |cube| filled(&cube.held(&state[..positions]).0))
    }

    fn read_in_hand(&self, text: &str) -> Result<[u8; N], ParseError> {
        match &self.description.cube {
            Some(cube) if !cube.is_stage() => Ok(self.of_colours(cube, &cube.hand(text)?.0)),
            _ => self.read(text),
        }
    }

    fn in_hand(&self, instance: &str, moves: &[Move]) -> Vec<Move> {
        let hand = self.description.cube.as_ref().and_then(|cube| Some((cube, cube.hand(&plain(instance)).ok()?.0)));
        hand.map_or_else(|| moves.to_vec(), |(cube, hand)| cube.in_hand(&hand, moves))
    }

    fn parse_solution(&self, instance: &str, solution: &str) -> Result<Vec<Move>, ParseError> {
        match &self.description.cube {
            Some(cube) if !cube.is_stage() => cube.parse_solution(&cube.hand(&plain(instance))?.0, &plain(solution)),
            _ => self.parse_moves(solution),
        }
    }

    fn read_scramble(&self, text: &str) -> Option<Scramble<[u8; N]>> {
        if self.read_symbols(text).is_some() {
            return None;
        }
        let (start, moves) = match &self.description.cube {
            Some(cube) => cube.scramble(text).map(|(start, moves)| (self.of_colours(cube, &start), moves))?,
            None => (self.goal, self.read_moves(text).ok()?),
        };
        Some(Scramble::play(self, start, &moves))
    }

    fn picture(&self, state: &[u8; N]) -> Picture {
        if let Some(cube) = self.description.cube.as_ref().filter(|cube| !cube.is_stage()) {
            return Picture::Cube { size: cube.size(), facelets: self.format(state) };
        }
        let symbols = state[..self.description.positions()].iter().map(|&index| self.symbol(index).to_owned());
        Picture::Row { symbols: symbols.collect() }
    }

    fn geometry(&self) -> Option<&Geometry> {
        self.description.geometry.as_ref()
    }
}

impl<const N: usize> Encode for Permutation<N> {
    /// A cell a position; positions that no move changes are fixed. A cube has the encoding of one that is held still, and so
    /// the same networks.
    fn encoding(&self) -> Encoding {
        let cells = self.description.positions();
        if let Some(names) = &self.free_symbols {
            let fixed = names.empty_cells(&self.description.goal).collect();
            return Encoding { fixed, ..Encoding::row(cells, names.values()) };
        }
        let stays = |&place: &usize| self.tables.iter().all(|table| usize::from(table[place]) == place);
        Encoding { fixed: (0..cells).filter(stays).collect(), ..Encoding::row(cells, self.description.symbols.len()) }
    }

    fn encode(&self, state: &[u8; N], row: &mut [u8]) {
        let symbols = &state[..self.description.positions()];
        match &self.free_symbols {
            Some(names) => names.encode(symbols, row),
            None => row.copy_from_slice(symbols),
        }
    }

    fn move_table(&self) -> Option<MoveTable> {
        if self.free_symbols.is_some() {
            return None;
        }
        let positions = self.description.positions();
        let tables = &self.tables[..self.move_count()];
        Some(MoveTable::Permutations(tables.iter().map(|table| table[..positions].to_vec()).collect()))
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

    /// From the number of states, and the growth of the first layers around the goal. Counted once for each puzzle of a
    /// process: many clients of a server may ask at the same time.
    fn default_depth(&self) -> u32 {
        static KNOWN: LazyLock<Mutex<HashMap<u32, Arc<OnceLock<u32>>>>> = LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let length = Arc::clone(known.entry(self.description.rules_crc32()).or_default());
        drop(known);
        *length.get_or_init(|| state_count::walk_length(self))
    }
}
