//! Reads scrambles, as tolerantly as people paste them.
//!
//! Wide turns, slice turns and turns of the whole cube are turns of faces that leave the cube held another way. A scramble is
//! named for the cube as it is held in the end, so that a solution that follows it solves it; a solution for the cube as it
//! is held at its start.

use super::face_with_letter;
use super::turns::FaceTurn;
use crate::puzzle::notation::{bail_parse, ensure_parse};
use crate::puzzle::{Move, ParseError};
use pasted::without_comments;
pub(super) use pasted::{inside, is_space};

mod groups;
mod pasted;

/// The most turns of a scramble.
const MAX_TURNS: usize = 1_000_000;

/// The four neighbours of each face, clockwise.
const NEIGHBOURS: [[usize; 4]; 6] =
    [[2, 4, 5, 1], [2, 0, 5, 3], [0, 1, 3, 4], [2, 1, 5, 4], [0, 2, 3, 5], [0, 4, 3, 1]];

/// A written turn, of any layers.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::puzzle) struct WrittenTurn {
    /// The face in whose direction the layers turn.
    pub(in crate::puzzle) face: usize,
    /// A bit for each layer that turns, the face's own first.
    pub(in crate::puzzle) layers: u16,
    /// 1 to 3 clockwise, -1 to -3 counter-clockwise.
    pub(in crate::puzzle) quarters: i8,
}

/// Reads turns of a cube of `size` layers; one of 2 layers has no slices and no wide turns.
///
/// - A face U R F D L B; a wide turn `Rw` or `r`; a slice M E S (both middle layers if their number is even); the whole cube
///   x y z, also `[r] [u] [f]`. Then nothing, a prime, 2 or 3, or both, also after a space or as an exponent: `R 2`, `R^-1`.
/// - On a cube of more than 3 layers also `3Rw` and `3r`, that many layers, `2R`, the second layer alone, and `2-3Rw`.
/// - `(…)3`, `{…}3`, `(…)x3`, `(…)^3`, `(…) × 3`, `(…) x 3` and `3(…)` repeat a group, `(…)'` undoes it; `[A, B]` is
///   A B A' B', and `[A: B]` is A B A'.
/// - Spaces, commas, bars and dots between turns, quotation marks around all of them, comments from `//` or `#` to the end
///   of a line, `1.`, `[1]`, `#1:` and `Scramble:` at the beginning, and the length after a solution, `(21f)`, are passed
///   over.
///
/// # Errors
/// Names the word that is refused, and what was expected.
pub(in crate::puzzle) fn written_turns(text: &str, size: usize) -> Result<Vec<WrittenTurn>, ParseError> {
    let mut reader = ScrambleReader::new(text, size);
    if text.chars().any(|c| !is_space(c)) && reader.characters.iter().all(|&c| is_space(c)) {
        bail_parse!("'{}' is a comment: expected turns; the number of a scramble is written #1: or 1.", text.trim());
    }
    let turns = reader.sequence(None)?;
    debug_assert_eq!(reader.at, reader.characters.len());
    Ok(turns)
}

/// Reads turns of the faces of a cube of 2 or 3 layers: see [`written_turns`].
///
/// # Errors
/// As [`written_turns`].
pub(super) fn parse(text: &str, size: usize, held: Held) -> Result<Vec<FaceTurn>, ParseError> {
    Ok(turns_of_faces(&written_turns(text, size)?, size, held))
}

/// Reads turns as quarter turns: see [`parse`].
///
/// # Errors
/// As [`written_turns`].
pub(in crate::puzzle) fn quarter_turns(text: &str, size: usize, held: Held) -> Result<Vec<Move>, ParseError> {
    Ok(parse(text, size, held)?.into_iter().flat_map(FaceTurn::quarter_turns).collect())
}

/// How the cube is held, where turns are named: turns of the whole cube change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::puzzle) enum Held {
    /// As before the first turn: for a solution of a cube that is held so.
    AtTheStart,
    /// As after the last turn: for a scramble whose solution follows it.
    InTheEnd,
}

/// The turns of the faces.
fn turns_of_faces(written: &[WrittenTurn], size: usize, named: Held) -> Vec<FaceTurn> {
    // For each letter, the face that it stands for, by the face's name at the start.
    let mut held: [usize; 6] = std::array::from_fn(|face| face);
    let mut turns = Vec::new();
    for &WrittenTurn { face, layers, quarters } in written {
        // The layer in the middle, or the opposite one if there is none, turns with the whole cube.
        let [first, whole, last] = [0, 1, size - 1].map(|layer| (layers >> layer & 1) as i8);
        let (own, opposite) = (first - whole, whole - last);
        for (face, each) in [(face, own), ((face + 3) % 6, opposite)] {
            if each != 0 {
                turns.push(FaceTurn { face: held[face] as u8, quarters: each * quarters });
            }
        }
        for _ in 0..(whole * quarters).rem_euclid(4) {
            let before = held;
            let neighbours = NEIGHBOURS[face];
            (0..4).for_each(|i| held[neighbours[(i + 1) % 4]] = before[neighbours[i]]);
        }
    }
    let name = |face: u8| held.iter().position(|&first| first == usize::from(face)).expect("every face has a letter");
    match named {
        Held::AtTheStart => turns,
        Held::InTheEnd => turns.iter().map(|turn| FaceTurn { face: name(turn.face) as u8, ..*turn }).collect(),
    }
}

/// Whether a character is written for a prime; also the i of `Ri`.
fn is_prime(character: char) -> bool {
    character == 'i' || crate::puzzle::notation::is_prime(character)
}

/// The digits of a whole number.
struct Number(String);

impl Number {
    /// The value, or the greatest value of the type if the number is greater: it is then out of every range.
    fn value(&self) -> u64 {
        self.0.parse().unwrap_or(u64::MAX)
    }
}

/// A reader of a scramble's characters.
struct ScrambleReader {
    characters: Vec<char>,
    at: usize,
    /// The number of open groups.
    depth: usize,
    /// Layers of the cube.
    size: usize,
}

impl ScrambleReader {
    /// A reader after the title and the quotation mark of a text.
    fn new(text: &str, size: usize) -> Self {
        let mut reader = ScrambleReader { characters: without_comments(text), at: 0, depth: 0, size };
        reader.skip_title();
        if reader.skip_quotes() {
            reader.skip_title();
        }
        reader
    }

    /// All layers.
    fn whole(&self) -> u16 {
        (1 << self.size) - 1
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn take_if(&mut self, is_match: impl Fn(char) -> bool) -> Option<char> {
        let character = self.peek(0).filter(|&character| is_match(character))?;
        self.at += 1;
        Some(character)
    }

    /// Reads something; stays at this place if it is not there.
    fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        let found = read(self);
        if found.is_none() {
            self.at = start;
        }
        found
    }

    fn take_number(&mut self) -> Option<Number> {
        let mut digits = String::new();
        while let Some(digit) = self.take_if(|c| c.is_ascii_digit()) {
            digits.push(digit);
        }
        (!digits.is_empty()).then_some(Number(digits))
    }

    fn skip_spaces(&mut self) {
        while self.take_if(is_space).is_some() {}
    }

    /// Whether `text`, given in small letters, comes next in any case.
    fn has(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.peek(i).is_some_and(|other| other.to_ascii_lowercase() == c))
    }

    /// Reads turns to the end of the text, or of the part of a group that `open` begins.
    fn sequence(&mut self, open: Option<char>) -> Result<Vec<WrittenTurn>, ParseError> {
        let mut turns = Vec::new();
        while let Some(character) = self.peek(0) {
            match character {
                ')' | ']' | '}' | ':' if open.is_some() => return Ok(turns),
                ',' if open == Some('[') => return Ok(turns),
                ')' | ']' | '}' => bail_parse!("'{character}' closes a group that was never opened"),
                // A dot ends a sentence, and an asterisk marks a shortest solution.
                _ if is_space(character) || matches!(character, '.' | '*') => self.at += 1,
                '(' | '[' if self.skip_length(turns.len()) => {}
                '(' | '[' | '{' => match self.bracketed_rotation() {
                    Some(turn) => turns.push(turn),
                    None => turns.extend(self.group(None)?),
                },
                '0'..='9' => turns.extend(self.counted()?),
                _ => turns.push(self.turn()?),
            }
            ensure_parse!(turns.len() <= MAX_TURNS, "the scramble has more than a million turns");
        }
        // The caller refuses a group that is not closed.
        Ok(turns)
    }

    /// Reads one turn.
    fn turn(&mut self) -> Result<WrittenTurn, ParseError> {
        let start = self.at;
        let letter = self.characters[self.at];
        self.at += 1;
        let whole = self.whole();
        let middle = 1 << (self.size / 2) | 1 << ((self.size - 1) / 2);
        let (face, layers) = match letter {
            'M' | 'm' => (4, middle),
            'E' | 'e' => (3, middle),
            'S' | 's' => (2, middle),
            'x' => (1, whole),
            'y' => (0, whole),
            'z' => (2, whole),
            _ => match face_with_letter(letter.to_ascii_uppercase()) {
                Some(face) => {
                    let has_w = self.take_if(|c| c == 'w' || c == 'W').is_some();
                    (face, if has_w || letter.is_ascii_lowercase() { 0b11 } else { 1 })
                }
                None => {
                    self.at = start;
                    let slice = if self.size == 2 { "" } else { ", no slice (M E S)" };
                    return Err(self.refuse(&format!(
                        "'{letter}' is not a face (U R F D L B){slice}, and does not turn the whole cube (x y z)"
                    )));
                }
            },
        };
        if self.size == 2 && layers != 1 && !matches!(letter, 'x' | 'y' | 'z') {
            self.at = start;
            return Err(self.refuse("a 2×2×2 has no slice and no wide turn; x y z turn the whole cube"));
        }
        let has_exponent = self.take_if(|c| c == '^').is_some();
        let (number, back) = self.count_and_prime();
        ensure_parse!(!has_exponent || number.is_some() || back, "a count is missing after '^'");
        let clockwise = number.map_or(1, |number| number.value());
        if !(1..=3).contains(&clockwise) {
            let turn: String = self.characters[start..self.at].iter().collect();
            let why =
                "a number after a turn counts its quarter turns, and four of them change nothing: expected 2 or 3";
            return Err(self.refusal(&turn, why));
        }
        if let Some(prime) = self.take_if(is_prime) {
            let turn: String = self.characters[start..self.at - 1].iter().filter(|c| !c.is_whitespace()).collect();
            bail_parse!("{turn}{prime} has two primes: expected one");
        }
        let quarters = if back { -(clockwise as i8) } else { clockwise as i8 };
        Ok(WrittenTurn { face, layers, quarters })
    }

    /// Refuses the word at this place.
    fn refuse(&self, why: &str) -> ParseError {
        let is_of_word = |&&c: &&char| !is_space(c) && !"()[]{}".contains(c);
        let (before, rest) = self.characters.split_at(self.at);
        let start = self.at - before.iter().rev().take_while(is_of_word).take(16).count();
        let end = self.at + rest.iter().take_while(is_of_word).take(16).count();
        self.refusal(&self.characters[start..end].iter().collect::<String>(), why)
    }

    fn refusal(&self, token: &str, why: &str) -> ParseError {
        ParseError(format!(
            "'{token}' is refused: {why}. A scramble is turns of the faces U R F D L B, with ' for counter-clockwise and 2 \
             for twice (U R' F2), or the {} facelets",
            6 * self.size * self.size
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Move;

    fn moves(text: &str) -> Vec<Move> {
        let turns = parse(text, 3, Held::InTheEnd).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        turns.into_iter().flat_map(FaceTurn::quarter_turns).collect()
    }

    #[test]
    fn every_pasted_form_of_a_turn_is_read() {
        let expected = moves("U U' R R F'");
        for text in [
            "UU'R2F'",
            "U  U’ R2 F´",
            "U,U′,R2,F`",
            "U U3 R R F3",
            " U\tU'\nR2 F' ",
            "U Ui R2 Fi",
            "(U U') (R2) F'",
            "U\u{a0}U‘ RR F＇",
            "\u{feff}U1 U1' R2 F'",
            "U U1' R1 R3' F'1",
            "U U' R 2 F'",
            "1. U U' R2 F'",
            "12) U U' R2 F'",
            "Scramble: U U' R2 F'",
            "scramble #3: U U' R2 F'",
            "U U' // first\nR2 F' // (last)",
            "[12] U U ' R² F '",
            "#12: U U' R2 F'",
            "“U U' | R2 | F'”",
            "{U U'} R2 F'",
            "\"U U' R2 F'\"",
            "'U U' R2 F''",
            "‘Scramble: U U’ R2 F’’ ",
            "«U U' R2 F'»",
            "U U' # first, in 2 turns\nR2 F' #last // (last)",
        ] {
            assert_eq!(moves(text), expected, "{text}");
        }
        assert_eq!(moves("U U F' R2"), [0, 0, 5, 2, 2]);
        for (text, same) in [
            ("R^2 U^-1 F^{-1}", "R2 U' F'"),
            ("R⁻¹ U² F³", "R' U2 F'"),
            ("(R U)^-1", "U' R'"),
            ("(R U R' U') x6", "(R U R' U')6"),
            ("(R U) x12", "(R U)12"),
            ("R ʻ Uʻ F՚ Lˊ Dꞌ B᾿", "R' U' F' L' D' B'"),
            ("R U F (3f)", "R U F"),
            ("R U F (21f*)", "R U F"),
            ("R U (2f)", "R U"),
            ("R (2f)", "R f"),
            ("R U F [18 HTM]", "R U F"),
            ("R U. F . *", "R U F"),
            ("R' U' F [r] D", "R' U' F x D"),
            ("R [u2] F [f'] D [ l ]", "R y2 F z' D x'"),
        ] {
            assert_eq!(moves(text), moves(same), "{text}");
        }
        assert_eq!(moves("R2'"), [3, 3]);
        assert_eq!(moves("R'2"), [3, 3]);
        assert_eq!(moves("R 2'"), [3, 3]);
        assert!(moves("").is_empty());
    }

    #[test]
    fn groups_repeat() {
        assert_eq!(moves("(R U)2 F"), moves("R U R U F"));
        assert_eq!(moves("((R)2 U)x2"), moves("R R U R R U"));
        assert_eq!(moves("(R U R' U')6").len(), 24);
        for text in [
            "(R U) × 3",
            "(R U) x 3",
            "{R U}3",
            "{R U} * 3",
            "(R U)^3",
            "(R U)*3",
            "(R U)×3",
            "3(R U)",
            "3 (R U)",
            "(R U) 3",
            "[R U]3",
            "3x(R U)",
            "3 x (R U)",
            "3*(R U)",
            "3×{R U}",
        ] {
            assert_eq!(moves(text), moves("R U R U R U"), "{text}");
        }
        assert_eq!(moves("R 2(U F)"), moves("R U F U F"));
        assert_eq!(moves("(R U)x2F"), moves("R U R U F"));
        assert_eq!(moves("(R U) x2 F"), moves("(R U) x x F"), "the whole cube is turned");
        assert_eq!(moves("(R U) x 2(F L)"), moves("R U x F L F L"));
        assert_eq!(moves("R U x 3"), moves("R U x'"), "no group is repeated");
        assert_eq!(moves("(R U)'"), moves("U' R'"));
        assert_eq!(moves("(R U)' 2"), moves("U' R' U' R'"));
        assert_eq!(moves("R' 2 F"), moves("R' R' F"));
        assert_eq!(moves("(R U2)2'"), moves("U2' R' U2' R'"));
        assert_eq!(moves("[R, U]"), moves("R U R' U'"));
        assert_eq!(moves("[R: U]"), moves("R U R'"));
        assert_eq!(moves("[F: [R, U]]"), moves("F R U R' U' F'"));
    }

    #[test]
    fn slices_wide_turns_and_turns_of_the_whole_cube_are_turns_of_faces() {
        for (text, expected) in [
            ("x", ""),
            // After x, the face that was F is U.
            ("x U", "U"),
            ("F x", "U"),
            ("U x", "B"),
            ("F y", "L"),
            ("U z", "R"),
            ("U z'", "L"),
            ("U x2", "D"),
            ("Rw", "L"),
            ("r", "L"),
            ("Rw2", "L2"),
            ("2Rw'", "L'"),
            ("Uw U'", "D U'"),
            ("M", "L' R"),
            ("M' x", "L R' x"),
            ("E", "D' U"),
            ("S", "F' B"),
            ("M2 E2 S2", "R2 L2' U2 D2' F2' B2"),
            ("x y z z' y' x' R", "R"),
        ] {
            let net = |text| {
                moves(text)
                    .iter()
                    .fold(super::super::CubeState::SOLVED, |state, &action| super::super::Cube3.turn(&state, action))
            };
            assert_eq!(net(text), net(expected), "{text}");
        }
    }

    #[test]
    fn the_middle_layer_moves_as_its_name_says() {
        // M moves as L does, E as D, S as F: the centres of the faces between go to the next, which is how the cube is held.
        assert_eq!(moves("M U"), moves("L' R x' U"));
        assert_eq!(moves("E F"), moves("D' U y' F"));
        assert_eq!(moves("S U"), moves("F' B z U"));
        assert_eq!(moves("U M"), moves("F L' R"), "held as it is in the end");
    }

    #[test]
    fn what_is_no_turn_is_refused_by_name() {
        for (text, token) in [
            ("U A", "'A'"),
            ("U X2", "'X2'"),
            ("R Q2 F", "'Q2'"),
            ("U4", "'U4'"),
            ("U12", "'U12'"),
            ("R 22 F", "'R 22'"),
            ("R\" U", "'R\"'"),
            ("U''", "two primes"),
            ("U'2'", "two primes"),
            ("solved", "'solved'"),
            ("R U (solve)", "'solve'"),
            ("[R, U", "'['"),
            ("(R U]", "']'"),
            ("(U", "'('"),
            ("U)", "')'"),
            ("Solution: R U", "'Solution:'"),
            ("R U #2", "'#2'"),
            ("{R U", "a '{' is never closed"),
            ("{R U)", "'}', not by ')'"),
            ("R U}", "'}'"),
            ("'R U", "''R'"),
            ("''", "'''"),
            ("(U)0", "repeated 0 times: expected from 1 to 1000"),
            (" #1 R U", "'#1 R U' is a comment"),
            ("((((U)1000)1000)1000)", "million"),
            ("2", "'2'"),
            ("2R", "'2R'"),
            ("2x", "'2x'"),
            ("3Rw", "3 layers are the whole cube"),
            ("3R", "a number before a turn counts its layers"),
            ("R5", "four of them change nothing"),
            ("R^ U", "missing after '^'"),
            ("2y (R U)", "'2y'"),
            ("2m", "'2m'"),
            ("R U\n2. F", "'2.'"),
            ("'", "'''"),
            ("(U)^ R", "'^'"),
            ("[R, U, F]", "','"),
            ("2(U)2", "two counts"),
            ("(R U) × F", "missing after '×'"),
            ("(U)99999999999999999999", "99999999999999999999 times: expected from 1 to 1000"),
            ("99999999999999999999(U)", "99999999999999999999 times: expected from 1 to 1000"),
        ] {
            let refusal = parse(text, 3, Held::InTheEnd).map(drop).expect_err(text).to_string();
            assert!(refusal.contains(token), "{text}: {refusal}");
        }
        assert!(parse(&"(".repeat(100_000), 3, Held::InTheEnd).is_err());
        let refusal = parse("R M' U", 2, Held::InTheEnd).map(drop).expect_err("a slice of a 2×2×2").to_string();
        assert!(refusal.contains("'M''") && refusal.contains("24 facelets"), "{refusal}");
        let refusal = parse("R Q", 2, Held::InTheEnd).map(drop).expect_err("no turn").to_string();
        assert!(refusal.contains("'Q'") && !refusal.contains("M E S"), "a 2×2×2 has no slices: {refusal}");
    }
}
