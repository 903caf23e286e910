//! Lights Out on an n × n board: a press turns a light and its neighbours over; the goal is all off.
//!
//! A press undoes itself, and presses commute. A state has one bit per light.

use super::notation::{bail_parse, ensure_parse, letters};
use super::{Block, Encode, Encoding, Instance, Move, MoveTable, Notation, ParseError, Picture, Rules, StateBytes};

/// The side of the largest board: a move is a number below 255.
pub const LARGEST: usize = 15;

/// A board with its lights in `WORDS` words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LightsOut<const WORDS: usize> {
    size: usize,
    /// The lights that each press turns over.
    presses: Vec<[u64; WORDS]>,
    /// A basis of the patterns that presses can make, in echelon form: each with its leading light.
    basis: Vec<(usize, [u64; WORDS])>,
}

impl<const WORDS: usize> LightsOut<WORDS> {
    /// A board of `size` rows and columns.
    ///
    /// # Panics
    /// If the lights do not fit the words, or `size` is below 2 or above [`LARGEST`].
    pub fn new(size: usize) -> Self {
        assert!((2..=LARGEST).contains(&size) && size * size <= 64 * WORDS);
        let presses: Vec<[u64; WORDS]> = (0..size * size).map(|cell| press(size, cell)).collect();
        let mut basis: Vec<(usize, [u64; WORDS])> = Vec::new();
        for pattern in &presses {
            let rest = reduce(&basis, *pattern);
            if let Some(leading) = (0..64 * WORDS).find(|&cell| is_lit(&rest, cell)) {
                basis.push((leading, rest));
            }
        }
        LightsOut { size, presses, basis }
    }

    /// Whether a text is meant as presses, some of them `row,column`. A board may have commas too, but only the numbers 0 and
    /// 1.
    fn are_presses(&self, text: &str) -> bool {
        let mut pairs = text.split_whitespace().map(|word| word.matches(',').count() == 1);
        let lights = letters(text);
        match lights.clone().all(|c| light(c).is_some()) {
            true => lights.count() != self.presses.len() && !text.trim().is_empty() && pairs.all(|is_pair| is_pair),
            false => pairs.any(|is_pair| is_pair),
        }
    }

    fn parse_press(&self, word: &str) -> Result<Move, ParseError> {
        let size = self.size;
        let number = |text: &str| text.parse::<usize>().ok();
        let press = word.split_once(',').and_then(|(row, column)| Some((number(row)?, number(column)?)));
        let Some((row, column)) = press else {
            bail_parse!("'{word}' is not a press: expected row,column, both from 1 to {size}");
        };
        for (line, number) in [("row", row), ("column", column)] {
            if !(1..=size).contains(&number) {
                bail_parse!(
                    "'{word}' is a press off the board: {line} {number}, and the board has {line}s 1 to {size}"
                );
            }
        }
        Ok(((row - 1) * size + column - 1) as Move)
    }
}

/// Whether a character stands for a light that is on (1) or off (0), in text or in a drawing.
fn light(letter: char) -> Option<u64> {
    match letter {
        '1' | '#' | '●' | '■' | '*' | 'x' | 'X' | '🟨' | '🟡' | '💡' => Some(1),
        '0' | '·' | '.' | '○' | '□' | '_' | '-' | 'o' | 'O' | '⬛' | '⚫' => Some(0),
        _ => None,
    }
}

/// The light of a cell and of its neighbours.
fn press<const WORDS: usize>(size: usize, cell: usize) -> [u64; WORDS] {
    let distance = |other: usize| (cell / size).abs_diff(other / size) + (cell % size).abs_diff(other % size);
    let mut pattern = [0; WORDS];
    (0..size * size).filter(|&other| distance(other) <= 1).for_each(|other| pattern[other / 64] |= 1 << (other % 64));
    pattern
}

fn is_lit<const WORDS: usize>(state: &[u64; WORDS], cell: usize) -> bool {
    state[cell / 64] >> (cell % 64) & 1 == 1
}

/// Removes from a pattern the part that the basis makes (Gaussian elimination over two elements).
fn reduce<const WORDS: usize>(basis: &[(usize, [u64; WORDS])], mut pattern: [u64; WORDS]) -> [u64; WORDS] {
    for (leading, vector) in basis {
        if is_lit(&pattern, *leading) {
            pattern.iter_mut().zip(vector).for_each(|(word, other)| *word ^= other);
        }
    }
    pattern
}

impl<const WORDS: usize> Rules for LightsOut<WORDS> {
    type State = [u64; WORDS];

    fn name(&self) -> String {
        format!("lightsout{}", self.size)
    }

    fn move_count(&self) -> usize {
        self.presses.len()
    }

    #[inline]
    fn apply(&self, state: &[u64; WORDS], action: Move) -> Option<[u64; WORDS]> {
        let mut next = *state;
        next.iter_mut().zip(&self.presses[usize::from(action)]).for_each(|(word, other)| *word ^= other);
        Some(next)
    }

    #[inline]
    fn is_goal(&self, state: &[u64; WORDS]) -> bool {
        state.iter().all(|&word| word == 0)
    }

    fn goals(&self) -> Vec<[u64; WORDS]> {
        vec![[0; WORDS]]
    }

    fn inverse(&self, action: Move) -> Move {
        action
    }

    /// A press of a light twice changes nothing.
    fn default_depth(&self) -> u32 {
        self.presses.len() as u32
    }

    /// The cells that are pressed an odd number of times, in order: neither the order of presses nor pressing twice matters.
    fn effect(&self, moves: &[Move]) -> Option<Vec<u8>> {
        let is_odd = |press: &Move| !moves.iter().filter(|&same| same == press).count().is_multiple_of(2);
        let mut pressed: Vec<Move> = moves.iter().copied().filter(is_odd).collect();
        pressed.sort_unstable();
        pressed.dedup();
        Some(pressed)
    }

    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        Some(StateBytes::plain())
    }
}

impl<const WORDS: usize> Notation for LightsOut<WORDS> {
    fn notation(&self) -> &'static str {
        "the lights row by row, 1 on, or a scramble from the dark board; a move is a press row,column, both from 1"
    }

    /// Row and column, from 1.
    fn move_name(&self, action: Move) -> String {
        let cell = usize::from(action);
        format!("{},{}", cell / self.size + 1, cell % self.size + 1)
    }

    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        text.split_whitespace().map(|word| self.parse_press(word)).collect()
    }

    /// The lights row by row, or presses from the dark board.
    fn read(&self, text: &str) -> Result<Instance<[u64; WORDS]>, ParseError> {
        if self.are_presses(text) {
            return Ok(Instance::scramble([0; WORDS], self.read_moves(text)?));
        }
        let (size, count) = (self.size, self.presses.len());
        let mut lights = Vec::with_capacity(count);
        for letter in letters(text) {
            let Some(light) = light(letter) else {
                let presses = format!("presses as row,column from 1,1 to {size},{size}");
                bail_parse!("'{letter}' is not a light: expected 1 (on) and 0 (off), row by row, or {presses}");
            };
            lights.push(light);
        }
        let given = lights.len();
        ensure_parse!(given == count, "{given} lights are given, and a board of {size} × {size} has {count}");
        let mut state = [0; WORDS];
        lights.iter().enumerate().for_each(|(cell, lit)| state[cell / 64] |= lit << (cell % 64));
        let is_reached = self.is_goal(&reduce(&self.basis, state));
        ensure_parse!(is_reached, "no presses turn these lights off");
        Ok(state.into())
    }

    /// The rows of a board.
    fn block(&self, lines: &[&str]) -> Block {
        let is_row = |line: &&str| letters(line).all(|c| light(c).is_some()) && letters(line).count() == self.size;
        match lines.iter().all(is_row) && !lines.iter().any(|line| self.are_presses(line)) {
            true if lines.len() == self.size => Block::Whole,
            true => Block::Drawn,
            false => Block::Neither,
        }
    }

    fn format(&self, state: &[u64; WORDS]) -> String {
        (0..self.presses.len()).map(|cell| if is_lit(state, cell) { '1' } else { '0' }).collect()
    }

    fn picture(&self, state: &[u64; WORDS]) -> Picture {
        let lit = (0..self.presses.len()).map(|cell| is_lit(state, cell)).collect();
        Picture::Lights { columns: self.size, lit }
    }
}

impl<const WORDS: usize> Encode for LightsOut<WORDS> {
    /// A cell a light: 0 off, 1 on.
    fn encoding(&self) -> Encoding {
        Encoding::board(self.size, self.size, 2)
    }

    fn encode(&self, state: &[u64; WORDS], row: &mut [u8]) {
        assert_eq!(row.len(), self.presses.len());
        row.iter_mut().enumerate().for_each(|(cell, symbol)| *symbol = u8::from(is_lit(state, cell)));
    }

    fn move_table(&self) -> Option<MoveTable> {
        let lights = |press| (0..self.presses.len()).map(|cell| u8::from(is_lit(press, cell))).collect();
        Some(MoveTable::Toggles(self.presses.iter().map(lights).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::laws;

    #[test]
    fn the_laws_hold() {
        // If presses are independent, depth d has as many boards as there are sets of d presses.
        laws::check(&LightsOut::<1>::new(3), &[1, 9, 36, 84, 126, 126, 84, 36, 9, 1]);
        laws::check(&LightsOut::<1>::new(7), &[1, 49, 49 * 48 / 2]);
        laws::check(&LightsOut::<4>::new(15), &[1, 225]);
    }

    #[test]
    fn sizes_have_the_known_numbers_of_patterns() {
        // https://oeis.org/A159257: the dimension of the sets of presses that change nothing.
        let nothing = [0, 0, 4, 2, 0, 0, 0, 8, 0, 6, 0, 0, 4, 0];
        for (size, expected) in (2..=LARGEST).zip(nothing) {
            assert_eq!(size * size - LightsOut::<4>::new(size).basis.len(), expected, "{size}");
        }
    }

    #[test]
    fn boards_that_no_presses_make_are_refused() {
        let board = LightsOut::<1>::new(5);
        let mut text = "0".repeat(25);
        assert!(board.parse(&text).is_ok());
        text.replace_range(0..1, "1");
        assert!(board.parse(&text).expect_err("one light").to_string().contains("no presses"));
        let board = LightsOut::<1>::new(7);
        assert!(board.parse(&format!("1{}", "0".repeat(48))).is_ok(), "7 × 7: every board can be turned off");
        for (text, named) in [
            ("01", "2 lights"),
            ("0,1,1", "3 lights"),
            ("2", "'2' is not a light"),
            ("", "0 lights"),
            ("8,1", "'8,1' is a press off the board: row 8, and the board has rows 1 to 7"),
            ("1,1 7,9", "'7,9' is a press off the board: column 9, and the board has columns 1 to 7"),
            ("0,1", "row 0"),
            ("1,2 x", "'x' is not a press"),
            ("1,2 3,4,5", "'3,4,5' is not a press"),
        ] {
            let refusal = board.parse(text).expect_err(text).to_string();
            assert!(refusal.contains(named), "{text}: {refusal}");
        }
    }
}
