//! Sliding tiles: the 8-, 15-, 24-, 35- and 48-puzzle. A move slides one tile into the blank and costs 1.
//!
//! A board is packed: 32 bits for the 8-puzzle (eight tiles of 4 bits; the ninth follows from the sum), 64 for the
//! 15-puzzle, 128 for the 24-puzzle, and bytes beyond. Moves name the way the *blank* goes: U D L R, tried in the
//! order up, down, right, left.

use super::{
    Encoding, Grid, Move, Numbers, ParseError, Picture, Puzzle, Reversible, Scramble, StateBytes, Style,
    SymmetricImage, is_odd, replay,
};
use std::fmt::Write as _;

mod board;
mod rank;

pub use board::{Board, Bytes, Packed8, Packed15, Packed24};

/// The 8-puzzle.
pub type Puzzle8 = Tiles<Packed8>;
/// The 15-puzzle.
pub type Puzzle15 = Tiles<Packed15>;
/// The 24-puzzle.
pub type Puzzle24 = Tiles<Packed24>;
/// The 35-puzzle.
pub type Puzzle35 = Tiles<Bytes<6, 36>>;
/// The 48-puzzle.
pub type Puzzle48 = Tiles<Bytes<7, 49>>;

const NAMES: [char; 4] = ['U', 'D', 'R', 'L'];

/// The cells of the largest board.
const LARGEST: usize = 49;

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
    /// With another goal: the tiles row by row, `0` the blank.
    ///
    /// # Errors
    /// If the text is not a board.
    pub fn with_goal(text: &str) -> Result<Self, ParseError> {
        Ok(Tiles { goal: B::pack(&read_tiles::<B>(text)?) })
    }

    /// With another goal.
    pub fn towards(goal: B) -> Self {
        Tiles { goal }
    }

    /// The goal.
    pub fn goal(&self) -> B {
        self.goal
    }

    /// The board mirrored at its diagonal, each tile as the one whose home is then where its own was; `None` if the
    /// goal's blank is not on the diagonal.
    fn mirrored(&self, state: &B) -> Option<B> {
        let (mut goal, mut tiles, mut seen) = ([0; LARGEST], [0; LARGEST], [0; LARGEST]);
        self.goal.write_tiles(&mut goal[..B::CELLS]);
        state.write_tiles(&mut tiles[..B::CELLS]);
        let across = |cell: usize| cell % B::SIDE * B::SIDE + cell / B::SIDE;
        let mut names = [0; LARGEST];
        (0..B::CELLS).for_each(|cell| names[usize::from(goal[cell])] = goal[across(cell)]);
        (0..B::CELLS).for_each(|cell| seen[across(cell)] = names[usize::from(tiles[cell])]);
        (names[0] == 0).then(|| B::pack(&seen[..B::CELLS]))
    }
}

fn read_tiles<B: Board>(text: &str) -> Result<Vec<u8>, ParseError> {
    let cells = B::CELLS;
    let words = || text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let mut seen = vec![false; cells];
    let mut tiles = Vec::with_capacity(cells);
    for word in words() {
        let tile = word.parse::<usize>().ok().filter(|&tile| tile < cells);
        let Some(tile) = tile else {
            return Err(ParseError(format!(
                "'{word}' is not a tile: expected the numbers 0 (the blank) to {}, row by row",
                cells - 1
            )));
        };
        if std::mem::replace(&mut seen[tile], true) {
            return Err(ParseError(format!("the tile {tile} is there twice")));
        }
        tiles.push(tile as u8);
    }
    match tiles.len() {
        count if count == cells => Ok(tiles),
        count => {
            Err(ParseError(format!("{count} tiles are given, and the board has {cells} cells, the blank included")))
        }
    }
}

/// Whether an instance is written as moves.
fn is_moves(text: &str) -> bool {
    text.trim().starts_with(|first: char| NAMES.contains(&first.to_ascii_uppercase()))
}

/// The colour of the blank's cell on a chessboard: every move changes it.
fn colour_of_blank(tiles: &[u8], side: usize) -> usize {
    let blank = tiles.iter().position(|&tile| tile == 0).unwrap_or(0);
    (blank / side + blank % side) % 2
}

/// The parity that no move changes: of the permutation, and of the blank's way.
fn parity(tiles: &[u8], side: usize) -> usize {
    (usize::from(is_odd(tiles)) + colour_of_blank(tiles, side)) % 2
}

impl<B: Board> Puzzle for Tiles<B> {
    type State = B;

    fn name(&self) -> String {
        format!("puzzle{}", B::CELLS - 1)
    }

    fn move_count(&self) -> usize {
        4
    }

    fn move_name(&self, action: Move) -> String {
        NAMES[usize::from(action)].to_string()
    }

    #[inline]
    fn apply(&self, state: &B, action: Move) -> Option<B> {
        state.slide(action)
    }

    #[inline]
    fn is_goal(&self, state: &B) -> bool {
        *state == self.goal
    }

    /// The tiles row by row, or moves from the goal.
    fn parse(&self, text: &str) -> Result<B, ParseError> {
        if is_moves(text) {
            return Ok(replay(self, &self.goal, &self.parse_moves(text)?)?.0);
        }
        let tiles = read_tiles::<B>(text)?;
        if parity(&tiles, B::SIDE) != parity(&self.goal.tiles(), B::SIDE) {
            return Err(ParseError(
                "no sequence of moves leads from this board to the goal: its parity is the other one \
                 (exchange any two tiles, and it can be solved)"
                    .into(),
            ));
        }
        Ok(B::pack(&tiles))
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        super::parse_letters(text, &NAMES, "U, D, L and R, the way the blank goes")
    }

    fn format(&self, state: &B) -> String {
        let tiles: Vec<String> = state.tiles().iter().map(u8::to_string).collect();
        tiles.join(" ")
    }

    fn draw(&self, state: &B, style: Style) -> String {
        let goal = self.goal.tiles();
        let tiles = state.tiles();
        let mut text = String::new();
        for (cell, &tile) in tiles.iter().enumerate() {
            let written = match (tile, style) {
                (0, _) => write!(text, "  ."),
                (_, Style::Coloured) if goal[cell] == tile => write!(text, "\x1b[32m{tile:>3}\x1b[0m"),
                _ => write!(text, "{tile:>3}"),
            };
            written.expect("writing to a string does not fail");
            if cell % B::SIDE + 1 == B::SIDE && cell + 1 < B::CELLS {
                text.push('\n');
            }
        }
        text
    }

    fn picture(&self, state: &B) -> Picture {
        Picture::Tiles { columns: B::SIDE, tiles: state.tiles() }
    }

    fn scramble(&self, text: &str) -> Option<Scramble<B>> {
        let moves = if is_moves(text) { self.parse_moves(text).ok()? } else { return None };
        Some(Scramble::play(self, self.goal, &moves))
    }

    /// A cell for each cell of the board, its symbol the tile.
    fn encoding(&self) -> Encoding {
        let grid = Grid { faces: 1, rows: B::SIDE, columns: B::SIDE };
        Encoding { version: 1, cells: B::CELLS, symbols: B::CELLS, fixed: Vec::new(), grid: Some(grid) }
    }

    fn encode(&self, state: &B, row: &mut [u8]) {
        assert_eq!(row.len(), B::CELLS);
        state.write_tiles(row);
    }

    fn notation(&self) -> &'static str {
        "the tiles row by row, 0 the blank, or a scramble from the goal; moves U D L R, the way the blank goes"
    }

    fn numbers(&self) -> Option<&dyn Numbers<B>> {
        B::numbers(self)
    }

    /// Every move takes the blank to a cell of the other colour of a chessboard.
    fn length_parity(&self, state: &B) -> Option<u32> {
        let [here, there] = [state, &self.goal].map(|board| colour_of_blank(&board.tiles(), B::SIDE));
        Some(u32::from(here != there))
    }

    fn has_own_goal(&self) -> bool {
        self.goal == Self::default().goal
    }

    /// The board, and the board mirrored at its diagonal.
    fn symmetric_images(&self, state: &B) -> Vec<SymmetricImage<B>> {
        let Some(mirrored) = self.mirrored(state) else { return Vec::new() };
        let image = |start, moves: [Move; 4]| SymmetricImage { start, moves: moves.to_vec(), inverted: false };
        vec![image(*state, [0, 1, 2, 3]), image(mirrored, [3, 2, 1, 0])]
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

impl<B: Board> Reversible for Tiles<B> {
    fn goals(&self) -> Vec<B> {
        vec![self.goal]
    }

    #[inline]
    fn inverse(&self, action: Move) -> Move {
        action ^ 1
    }

    /// 31 and 80 moves solve the hardest boards of the 8- and the 15-puzzle (Reinefeld 1993; Brüngger et al. 1999);
    /// beyond, about twice what is known or expected of a random board. A random walk is far less efficient than that.
    fn default_depth(&self) -> u32 {
        match B::SIDE {
            3 => 60,
            4 => 200,
            5 => 500,
            6 => 1000,
            _ => 1500,
        }
    }
}
