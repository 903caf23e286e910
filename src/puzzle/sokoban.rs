//! Sokoban: push every box onto a goal. Levels are written in XSB; a move is a step of the player, `U D R L`.
//!
//! A step into a box pushes it, if the square behind is free; nothing can be pulled back, so the puzzle is not reversible.
//! Two kinds of pushes that end every solution are not legal: onto a square from which a box can be pushed to no goal (a
//! deadlock square), and into a block of two by two boxes and walls. A move costs 1; with `sokoban:pushes`, a push costs 1 and
//! a plain step nothing.
//!
//! The fixed parts of a level are kept once (`Levels`); a state holds the level's index, the boxes, and the player. `level`
//! reads levels and finds their deadlock squares.

use super::notation::{DIRECTIONS, ensure_parse, parse_directions};
use super::{Block, Cost, Encode, Encoding, Instance, Move, Notation, ParseError, Picture, Rules, bits};
use hashbrown::HashMap;
use level::{Level, NOWHERE};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) mod level;

/// Rows and columns of the board of an encoding.
pub const SIDE: usize = 10;

/// A set of a level's squares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Squares([u64; 4]);

impl Squares {
    #[inline]
    pub(crate) fn contains(&self, square: u8) -> bool {
        self.0[usize::from(square >> 6)] >> (square & 63) & 1 == 1
    }

    #[inline]
    pub(crate) fn insert(&mut self, square: u8) {
        self.0[usize::from(square >> 6)] |= 1 << (square & 63);
    }

    #[inline]
    fn remove(&mut self, square: u8) {
        self.0[usize::from(square >> 6)] &= !(1 << (square & 63));
    }

    #[inline]
    pub(crate) fn is_subset(&self, other: &Squares) -> bool {
        self.0.iter().zip(other.0).all(|(mine, others)| mine & !others == 0)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let of_word = |(index, word): (u8, u64)| bits(word).map(move |bit| 64 * index + bit as u8);
        (0..).zip(self.0).flat_map(of_word)
    }
}

/// The places of boxes and player, in a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    pub(crate) boxes: Squares,
    pub(crate) level: u32,
    pub(crate) player: u8,
}

/// All levels that were read. None is ever removed: states name levels by index.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    all: boxcar::Vec<Level>,
    /// The index of a level by its template and width.
    indices: Mutex<HashMap<(Vec<u8>, usize), u32>>,
}

impl Levels {
    fn index(&self, level: Level) -> u32 {
        // The map is whole even after a panic: an entry is made in one step.
        let mut indices = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (level.template.clone(), level.width);
        *indices.entry(key).or_insert_with(|| self.all.push(level) as u32)
    }

    #[inline]
    pub(crate) fn of(&self, position: &Position) -> &Level {
        &self.all[position.level as usize]
    }
}

/// The puzzle `sokoban`.
#[derive(Debug, Clone, Default)]
pub struct Sokoban {
    pub(crate) levels: Arc<Levels>,
    /// Whether only pushes cost.
    pub(crate) pushes: bool,
}

impl Sokoban {
    /// Sokoban in which every move costs 1.
    pub fn by_moves() -> Self {
        Sokoban::default()
    }

    /// Whether only pushes cost.
    pub fn counts_pushes(&self) -> bool {
        self.pushes
    }

    /// Sokoban in which a push costs 1 and a step nothing.
    pub fn by_pushes() -> Self {
        Sokoban { pushes: true, ..Sokoban::default() }
    }
}

impl Rules for Sokoban {
    type State = Position;

    fn name(&self) -> String {
        if self.pushes { "sokoban:pushes" } else { "sokoban" }.into()
    }

    fn move_count(&self) -> usize {
        4
    }

    #[inline]
    fn apply(&self, state: &Position, action: Move) -> Option<Position> {
        let level = self.levels.of(state);
        let to = level.side(state.player, action);
        if to == NOWHERE {
            return None;
        }
        let mut next = Position { player: to, ..*state };
        if state.boxes.contains(to) {
            let beyond = level.side(to, action);
            if beyond == NOWHERE || state.boxes.contains(beyond) {
                return None;
            }
            next.boxes.remove(to);
            next.boxes.insert(beyond);
            if level.is_stuck(&next.boxes, beyond) {
                return None;
            }
        }
        Some(next)
    }

    fn move_cost(&self, state: &Position, action: Move) -> Cost {
        let level = self.levels.of(state);
        Cost::from(!self.pushes || state.boxes.contains(level.side(state.player, action)))
    }

    #[inline]
    fn is_goal(&self, state: &Position) -> bool {
        state.boxes.is_subset(&self.levels.of(state).goals)
    }
}

impl Notation for Sokoban {
    fn notation(&self) -> &'static str {
        "a level in XSB (# wall, @ player, $ box, . goal, * + on a goal), blank lines between levels; moves U D L R, \
         the way the player goes; sokoban:pushes counts pushes alone"
    }

    fn move_name(&self, action: Move) -> String {
        DIRECTIONS[usize::from(action)].to_string()
    }

    /// Letters of either case, with spaces between or without.
    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        parse_directions(text, "the player")
    }

    /// A level in XSB, of several lines (a `|` ends a line too).
    fn read(&self, text: &str) -> Result<Instance<Position>, ParseError> {
        let (level, boxes, player) = Level::read(text)?;
        Ok(Position { boxes, level: self.levels.index(level), player }.into())
    }

    fn format(&self, state: &Position) -> String {
        let level = self.levels.of(state);
        let mut letters = level.template.clone();
        for (square, &place) in level.places.iter().enumerate() {
            letters[usize::from(place)] = LETTERS[usize::from(symbol(level, state, square as u8))];
        }
        let rows: Vec<String> =
            letters.chunks(level.width).map(|row| String::from_utf8_lossy(row).trim_end().to_owned()).collect();
        rows.join("\n")
    }

    fn takes_lines(&self) -> bool {
        true
    }

    /// Rows follow one another until another text; a line with `|` between rows is a whole level.
    fn block(&self, lines: &[&str]) -> Block {
        let has_rows = |line: &&str| line.trim().trim_matches('|').contains('|');
        match lines {
            [line] if level::is_row(line) && has_rows(line) => Block::Whole,
            lines if lines.iter().all(|line| level::is_row(line) && !has_rows(line)) => Block::Part,
            _ => Block::Neither,
        }
    }

    fn picture(&self, state: &Position) -> Picture {
        Picture::Sokoban { rows: self.format(state).lines().map(str::to_owned).collect() }
    }
}

impl Encode for Sokoban {
    /// A cell for each place of a board of 10 × 10; its symbol says what stands there.
    fn encoding(&self) -> Encoding {
        Encoding::board(SIDE, SIDE, LETTERS.len())
    }

    /// The level in the upper left corner of the board, with walls around it. Squares beyond the board are left out
    /// ([`Encode::check_encodes`] refuses such levels).
    fn encode(&self, state: &Position, row: &mut [u8]) {
        assert_eq!(row.len(), SIDE * SIDE);
        row.fill(WALL);
        let level = self.levels.of(state);
        for (square, &place) in level.places.iter().enumerate() {
            let (line, column) = (usize::from(place) / level.width, usize::from(place) % level.width);
            if line < SIDE && column < SIDE {
                row[SIDE * line + column] = symbol(level, state, square as u8);
            }
        }
    }

    fn check_encodes(&self, state: &Position) -> Result<(), ParseError> {
        let Level { width, height, .. } = *self.levels.of(state);
        ensure_parse!(
            width <= SIDE && height <= SIDE,
            "the level has {height} rows and {width} columns, and a network reads up to {SIDE} × {SIDE}: \
             the heuristic `matching` has no such limit"
        );
        Ok(())
    }
}

/// The letters of squares in XSB; a network reads their indices: wall, floor, goal, box, box on a goal, player, player on a
/// goal.
pub(crate) const LETTERS: &[u8; 7] = b"# .$*@+";

/// The symbol of a wall.
pub(crate) const WALL: u8 = 0;

/// The symbol of a square inside the walls.
pub(crate) fn symbol_of(is_goal: bool, has_box: bool, has_player: bool) -> u8 {
    let content = match (has_box, has_player) {
        (true, _) => 3,
        (false, true) => 5,
        (false, false) => 1,
    };
    content + u8::from(is_goal)
}

fn symbol(level: &Level, state: &Position, square: u8) -> u8 {
    symbol_of(level.goals.contains(square), state.boxes.contains(square), state.player == square)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::{laws, replay};

    /// One push up solves it; 3 × 3 squares.
    const SMALL: &str = "#####\n# . #\n# $ #\n# @ #\n#####";

    #[test]
    fn the_laws_hold() {
        let puzzle = Sokoban::by_moves();
        let start = puzzle.parse(SMALL).expect("a level");
        // Counted by hand: the push up, left, right; then three steps beside the solved box, and up on either side.
        laws::check_from(&puzzle, &[start], &[1, 3, 5]);
        assert_eq!(puzzle.format(&start), SMALL);
        assert!(puzzle.is_goal(&replay(&puzzle, &start, &[0]).expect("a legal push").0));
    }

    #[test]
    fn levels_of_other_forms_are_read() {
        let puzzle = Sokoban::by_moves();
        let start = puzzle.parse(SMALL).expect("a level");
        for text in [
            "; a title\n\n#####\n#-.-#\n#_$_#\n#-@-#\n#####\n\n",
            "#####|# . #|# $ #|# @ #|#####",
            "5#|#-.-#|#-$-#|#-@-#|5#",
            "2(#)3#|#-.-#|#1-$_#|#-@-#|(#)##2#",
            "Level 1\n#####\n#\u{a0}. #\n# $ #\n#\u{a0}@\u{a0}#\n#####\nTitle: Push\nAuthor: #1",
            "█████\n█ . █\n█ $ █\n█ @ █\n█████",
            "#####\r\n# . #  \r\n# $ #\r\n# @ #\r\n#####\r\n",
        ] {
            assert_eq!(puzzle.parse(text), Ok(start), "{text}");
        }
        // Squares that nobody can reach stay as they are, and do not matter.
        let apart = "########\n# .#.*$.#\n# $######\n# @#\n####";
        assert!(puzzle.parse(apart).expect_err("a box apart").to_string().contains("row 2, column 7"));
        let apart = "#######\n# .#.*#\n# $####\n# @#\n####";
        let state = puzzle.parse(apart).expect("boxes on goals may be apart");
        assert_eq!(puzzle.format(&state), apart);
        assert!(puzzle.is_goal(&replay(&puzzle, &state, &[0]).expect("a legal push").0));
    }

    #[test]
    fn broken_levels_are_refused_by_name() {
        let puzzle = Sokoban::by_moves();
        for (text, named) in [
            ("", "no level"),
            ("5#|#@$.#|5", "repeats nothing"),
            ("5#|(#@$.#|5#", "never closed"),
            ("99999999999#", "more than 65535 squares"),
            ("#####\n# x@#\n#####", "'x'"),
            ("####\n# .#\n####", "no player"),
            ("#####\n#@.@#\n#####", "two players, the second in row 2, column 4"),
            ("### #\n#@ $.\n#####", "open in row 2, column 5"),
            ("######\n#@$ $#\n#  . #\n######", "2 boxes and 1 goals"),
            ("#######\n#@   $#\n#  .  #\n#######", "box in row 2, column 6"),
            ("#######\n#@  $ #\n#  .  #\n#     #\n#######", "box in row 2, column 5"),
            ("########\n#@   . #\n# $$ . #\n# $$ . #\n#    . #\n########", "box in row 3, column 3"),
        ] {
            let refusal = puzzle.parse(text).expect_err(text).to_string();
            assert!(refusal.contains(named), "{text}: {refusal}");
        }
    }

    #[test]
    fn pushes_that_cannot_be_made_good_are_not_legal() {
        let puzzle = Sokoban::by_moves();
        let start = puzzle.parse("#######\n#     #\n#@ $ .#\n#     #\n#######").expect("a level");
        let right = puzzle.parse_moves("RR").expect("moves");
        let (there, cost) = replay(&puzzle, &start, &right).expect("along the row");
        assert_eq!((puzzle.format(&there).lines().nth(2), cost), (Some("#  @$.#"), 2));
        // Up into the row below the wall, where no goal is.
        let moves = |text: &str| puzzle.parse_moves(text).expect("moves");
        assert!(replay(&puzzle, &start, &moves("drR")).is_ok(), "below the box");
        assert!(replay(&puzzle, &start, &moves("drRu")).is_err());
        let pushes = Sokoban::by_pushes();
        let start = pushes.parse("#######\n#     #\n#@ $ .#\n#     #\n#######").expect("a level");
        assert_eq!(replay(&pushes, &start, &pushes.parse_moves("RRR").expect("moves")).map(|(_, cost)| cost), Ok(2));
    }

    #[test]
    fn a_network_reads_boards_of_ten_by_ten() {
        let puzzle = Sokoban::by_moves();
        let small = puzzle.parse(SMALL).expect("a level");
        assert_eq!(puzzle.check_encodes(&small), Ok(()));
        let wide = format!("{}\n#@$.{}#\n{}", "#".repeat(12), " ".repeat(7), "#".repeat(12));
        let wide = puzzle.parse(&wide).expect("a level");
        assert!(puzzle.check_encodes(&wide).expect_err("too wide").to_string().contains("12 columns"));
    }
}
