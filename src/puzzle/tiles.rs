//! Sliding tiles: the 8-, 15-, 24-, 35- and 48-puzzle. A move slides one tile into the blank and costs 1.
//!
//! A board is packed: 64 bits for the 8- and the 15-puzzle, 128 for the 24-puzzle, and bytes beyond. Moves name the way
//! the *blank* goes: U D L R, tried in the order up, down, right, left. `board` has the packed boards, `index` an index of
//! the 8-puzzle's boards.

use super::notation::{DIRECTIONS, bail_parse, ensure_parse, is_frame, letters, members, parse_directions, unquoted};
use super::rules::is_odd;
use super::{
    Block, Encode, Encoding, Indexed, Instance, Move, MoveTable, Notation, ParseError, Picture, Rules, StateBytes,
    SymmetricImage, SymmetricImages,
};

mod board;
mod index;

pub use board::{Board, Bytes, Packed8, Packed15, Packed24};

/// 3×3 cells.
pub type Puzzle8 = Tiles<Packed8>;
/// 4×4 cells.
pub type Puzzle15 = Tiles<Packed15>;
/// 5×5 cells.
pub type Puzzle24 = Tiles<Packed24>;
/// 6×6 cells, a byte each.
pub type Puzzle35 = Tiles<Bytes<6, 36>>;
/// 7×7 cells, a byte each.
pub type Puzzle48 = Tiles<Bytes<7, 49>>;

/// The cells of the largest board.
const MAX_CELLS: usize = 49;

/// A sliding-tile puzzle with a goal board.
#[derive(Debug, Clone)]
pub struct Tiles<B: Board> {
    goal: B,
}

impl<B: Board> Default for Tiles<B> {
    /// The goal is `1 2 … 0`.
    fn default() -> Self {
        let mut tiles: Vec<u8> = (1..B::CELLS as u8).collect();
        tiles.push(0);
        Tiles { goal: B::pack(&tiles) }
    }
}

impl<B: Board> Tiles<B> {
    /// The puzzle with another goal: the tiles row by row, `0` the blank.
    ///
    /// # Errors
    /// If the text is not a board.
    pub fn with_goal(text: &str) -> Result<Self, ParseError> {
        Ok(Tiles { goal: B::pack(&read_tiles::<B>(text)?) })
    }

    /// The puzzle with another goal.
    pub fn towards(goal: B) -> Self {
        Tiles { goal }
    }

    /// The solved board.
    pub fn goal(&self) -> B {
        self.goal
    }

    /// The board mirrored at its diagonal, and the tiles renamed so that the mirrored goal is the goal; `None` if the goal's
    /// blank is not on the diagonal.
    fn mirrored(&self, state: &B) -> Option<B> {
        let (mut goal, mut tiles, mut seen) = ([0; MAX_CELLS], [0; MAX_CELLS], [0; MAX_CELLS]);
        self.goal.write_tiles(&mut goal[..B::CELLS]);
        state.write_tiles(&mut tiles[..B::CELLS]);
        let across = |cell: usize| cell % B::SIDE * B::SIDE + cell / B::SIDE;
        let mut names = [0; MAX_CELLS];
        (0..B::CELLS).for_each(|cell| names[usize::from(goal[cell])] = goal[across(cell)]);
        (0..B::CELLS).for_each(|cell| seen[across(cell)] = names[usize::from(tiles[cell])]);
        (names[0] == 0).then(|| B::pack(&seen[..B::CELLS]))
    }
}

/// Whether a word stands for the blank: a dot, a line, a cross, a square, or a word.
fn is_blank(word: &str) -> bool {
    matches!(word, "." | "_" | "-" | "x" | "X" | "*" | "·" | "□" | "■" | "⬜" | "⬛" | "b" | "B")
        || ["blank", "empty", "null", "none"].contains(&word.to_lowercase().as_str())
}

/// The words of a board, one a cell. Frames, brackets and quotation marks are left out.
fn cells<B: Board>(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !is_frame(line));
    let words: Vec<&str> = lines.flat_map(members).map(unquoted).collect();
    // A digit a tile, beyond 9 as hexadecimal digits: of the whole board, or of each row.
    let are = |count, length| words.len() == count && words.iter().all(|word| word.chars().count() == length);
    if B::CELLS > 16 || !(are(1, B::CELLS) || are(1, B::SIDE) || are(B::SIDE, B::SIDE)) {
        return words;
    }
    words.iter().flat_map(|word| word.split("")).filter(|digit| !digit.is_empty()).collect()
}

fn read_tiles<B: Board>(text: &str) -> Result<Vec<u8>, ParseError> {
    let cells = cells::<B>(text);
    let is_joined = cells.len() == B::CELLS && members(text).count() <= B::SIDE;
    let number = |word: &str| u8::from_str_radix(word, if is_joined { 16 } else { 10 }).ok();
    // If no cell is 0 and none is written as blank, the greatest number is the blank: 16 of a 15-puzzle.
    let has_blank = cells.iter().any(|word| is_blank(word) && number(word).is_none() || number(word) == Some(0));
    let mut seen = vec![false; B::CELLS];
    let mut tiles = Vec::with_capacity(B::CELLS);
    for word in &cells {
        let tile = match number(word) {
            Some(number) if !has_blank && usize::from(number) == B::CELLS => Some(0),
            None if is_blank(word) => Some(0),
            number => number,
        };
        let Some(tile) = tile.filter(|&tile| usize::from(tile) < B::CELLS) else {
            let last = B::CELLS - 1;
            bail_parse!(
                "'{word}' is not a tile: expected the numbers 0 (the blank, also as . _ or x) to {last}, row by row"
            );
        };
        let is_new = !std::mem::replace(&mut seen[usize::from(tile)], true);
        ensure_parse!(is_new || tile != 0, "there are two blanks");
        ensure_parse!(is_new, "the tile {tile} is there twice");
        tiles.push(tile);
    }
    let (count, cells) = (tiles.len(), B::CELLS);
    ensure_parse!(count == cells, "{count} tiles are given, and the board has {cells} cells, the blank included");
    Ok(tiles)
}

/// Whether an instance is written as moves.
fn is_moves(text: &str) -> bool {
    letters(text).next().is_some_and(|first| DIRECTIONS.contains(&first.to_ascii_uppercase()))
}

/// The colour of the blank's cell on a chessboard: every move changes it.
fn colour_of_blank(tiles: &[u8], side: usize) -> usize {
    let blank = tiles.iter().position(|&tile| tile == 0).unwrap_or(0);
    (blank / side + blank % side) % 2
}

/// The parity that no move changes: of the permutation plus the blank's colour.
fn parity(tiles: &[u8], side: usize) -> usize {
    (usize::from(is_odd(tiles)) + colour_of_blank(tiles, side)) % 2
}

impl<B: Board> Rules for Tiles<B> {
    type State = B;

    fn name(&self) -> String {
        format!("puzzle{}", B::CELLS - 1)
    }

    fn move_count(&self) -> usize {
        4
    }

    #[inline]
    fn apply(&self, state: &B, action: Move) -> Option<B> {
        state.slide(action)
    }

    #[inline]
    fn is_goal(&self, state: &B) -> bool {
        *state == self.goal
    }

    fn goals(&self) -> Vec<B> {
        vec![self.goal]
    }

    #[inline]
    fn inverse(&self, action: Move) -> Move {
        action ^ 1
    }

    /// About twice the moves that the hardest boards of the 8- and the 15-puzzle need (31 and 80: Reinefeld 1993, Brüngger et
    /// al. 1999), or that random larger boards are expected to need: a random walk goes back and forth.
    fn default_depth(&self) -> u32 {
        match B::SIDE {
            3 => 60,
            4 => 200,
            5 => 500,
            6 => 1000,
            _ => 1500,
        }
    }

    /// Shorter than scrambles, which mostly go back and forth: see docs/experiments/outward-walks.md.
    fn default_walk(&self) -> u32 {
        match B::SIDE {
            4 => 80,
            5 | 6 => 300,
            _ => self.default_depth(),
        }
    }

    fn has_own_goal(&self) -> bool {
        self.goal == Self::default().goal
    }

    /// Every move takes the blank to a cell of the other colour of a chessboard.
    fn length_parity(&self, state: &B) -> Option<u32> {
        let [from, to] = [state, &self.goal].map(|board| colour_of_blank(&board.tiles(), B::SIDE));
        Some(u32::from(from != to))
    }

    /// The board, and the board mirrored at its diagonal.
    fn symmetric_images(&self, state: &B) -> SymmetricImages<'_, B> {
        let mirrored = self.mirrored(state);
        let image = |start, moves: [Move; 4]| SymmetricImage { start, moves: moves.to_vec(), inverted: false };
        let both = mirrored.map(|mirrored| [image(*state, [0, 1, 2, 3]), image(mirrored, [3, 2, 1, 0])]);
        Box::new(both.into_iter().flatten())
    }

    fn state_index(&self) -> Option<&dyn Indexed<State = B>> {
        B::state_index(self)
    }

    fn state_bytes(&self) -> Option<StateBytes<B>> {
        let write = |board: &B, bytes: &mut Vec<u8>| {
            let start = bytes.len();
            bytes.resize(start + B::CELLS, 0);
            board.write_tiles(&mut bytes[start..]);
        };
        Some(StateBytes { size: B::CELLS, write, read: B::pack })
    }
}

impl<B: Board> Notation for Tiles<B> {
    fn notation(&self) -> &'static str {
        "the tiles row by row, 0 the blank, or a scramble from the goal; moves U D L R, the way the blank goes"
    }

    fn move_name(&self, action: Move) -> String {
        DIRECTIONS[usize::from(action)].to_string()
    }

    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        parse_directions(text, "the blank")
    }

    /// The tiles row by row, or moves from the goal.
    fn read(&self, text: &str) -> Result<Instance<B>, ParseError> {
        if is_moves(text) {
            return Ok(Instance::scramble(self.goal, self.read_moves(text)?));
        }
        let tiles = read_tiles::<B>(text)?;
        if parity(&tiles, B::SIDE) != parity(&self.goal.tiles(), B::SIDE) {
            let blank_first: Vec<u8> = (0..B::CELLS as u8).collect();
            // The blank in the middle, and the tiles around it.
            let spiral = (B::SIDE == 3).then(|| vec![1, 2, 3, 8, 0, 4, 7, 6, 5]);
            let mut others = [Self::default().goal.tiles(), blank_first].into_iter().chain(spiral);
            let other = others.find(|other| parity(&tiles, B::SIDE) == parity(other, B::SIDE));
            let remedy = other.map_or_else(
                || "exchange any two tiles, and it can be solved".into(),
                |goal| format!("it can be solved for another `goal`: {}", self.format(&B::pack(&goal))),
            );
            bail_parse!(
                "no sequence of moves leads from this board to the goal: its parity is the other one ({remedy})"
            );
        }
        Ok(B::pack(&tiles).into())
    }

    /// The rows of a board.
    fn block(&self, lines: &[&str]) -> Block {
        let is_row = |line: &&str| {
            let words = cells::<B>(line);
            let is_tile = |word: &&str| is_blank(word) || u8::from_str_radix(word, 16).is_ok();
            words.len() == B::SIDE && words.iter().all(is_tile)
        };
        let rows = lines.iter().filter(|line| !is_frame(line)).count();
        match lines.iter().all(|line| is_frame(line) || is_row(line)) {
            true if rows == B::SIDE => Block::Whole,
            true if rows == 0 => Block::Part,
            true if rows < B::SIDE => Block::Drawn,
            _ => Block::Neither,
        }
    }

    fn format(&self, state: &B) -> String {
        let tiles: Vec<String> = state.tiles().iter().map(u8::to_string).collect();
        tiles.join(" ")
    }

    fn picture(&self, state: &B) -> Picture {
        Picture::Tiles { columns: B::SIDE, tiles: state.tiles(), goal: self.goal.tiles() }
    }
}

impl<B: Board> Encode for Tiles<B> {
    /// A cell for each cell of the board, its symbol the tile.
    fn encoding(&self) -> Encoding {
        Encoding::board(B::SIDE, B::SIDE, B::CELLS)
    }

    fn encode(&self, state: &B, row: &mut [u8]) {
        assert_eq!(row.len(), B::CELLS);
        state.write_tiles(row);
    }

    fn move_table(&self) -> Option<MoveTable> {
        let target = |blank: usize, action| {
            let mut tiles: Vec<u8> = (0..B::CELLS as u8).collect();
            tiles.swap(0, blank);
            let next = B::pack(&tiles).slide(action)?.tiles();
            next.iter().position(|&tile| tile == 0).map(|cell| cell as u16)
        };
        let targets = |blank| (0..4).map(|action| target(blank, action)).collect();
        Some(MoveTable::Slides((0..B::CELLS).map(targets).collect()))
    }
}
