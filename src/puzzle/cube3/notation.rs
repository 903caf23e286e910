//! Reads scrambles, as tolerantly as people paste them.
//!
//! Wide turns, slice turns and turns of the whole cube are turns of faces, and then the cube is held another way. What comes
//! out is written for the cube as it is held in the end: a solution that follows a scramble solves it.

use super::FACES;
use super::turns::Turn;
use crate::puzzle::ParseError;
use surroundings::without_comments;
pub(super) use surroundings::{inside, is_space};

mod groups;
mod surroundings;

/// The most turns of a scramble.
const MOST_TURNS: usize = 1_000_000;

/// For each face, those around it, in the order in which a clockwise turn brings one to the place of the next.
const AROUND: [[usize; 4]; 6] = [[2, 4, 5, 1], [2, 0, 5, 3], [0, 1, 3, 4], [2, 1, 5, 4], [0, 2, 3, 5], [0, 4, 3, 1]];

/// What a letter stands for: turns of the face whose direction it has, and of the face opposite, and of the whole cube.
#[derive(Clone, Copy)]
struct Step {
    face: usize,
    /// For each quarter turn: those of the face, those of the opposite face, those of the whole cube.
    each: [i8; 3],
    quarters: i8,
}

/// A turn of a face alone, of a face and the layer behind it, of the layer between, and of all three.
const FACE: [i8; 3] = [1, 0, 0];
const WIDE: [i8; 3] = [0, 1, 1];
const SLICE: [i8; 3] = [-1, 1, 1];
const WHOLE: [i8; 3] = [0, 0, 1];

/// Reads turns of a cube of `size` layers: 3, or 2, which has no slices and no wide turns.
///
/// - A face U R F D L B; a wide turn `Rw` or `r`; a slice M E S; the whole cube x y z. Then nothing, a prime, 2 or 3, or
///   both, also behind a space: `R 2`.
/// - `(…)3`, `{…}3`, `(…)x3`, `(…)^3`, `(…) × 3`, `(…) x 3` and `3(…)` repeat a group, `(…)'` undoes it; `[A, B]` is
///   A B A' B', and `[A: B]` is A B A'.
/// - Spaces, commas and bars between turns, quotation marks around all of them, comments from `//` or `#` to the end of a
///   line, and `1.`, `[1]`, `#1:` and `Scramble:` at the beginning are passed over.
pub(super) fn parse(text: &str, size: usize) -> Result<Vec<Turn>, ParseError> {
    let mut reader = Reader::new(text, size);
    let steps = reader.sequence(None)?;
    debug_assert_eq!(reader.at, reader.characters.len());
    Ok(as_held_in_the_end(&steps))
}

/// The turns of the faces, named as the cube is held after the last step.
fn as_held_in_the_end(steps: &[Step]) -> Vec<Turn> {
    // For each letter, the face that it stands for, by the name that it has at first.
    let mut held: [usize; 6] = std::array::from_fn(|face| face);
    let mut turns = Vec::new();
    for step in steps {
        let [own, opposite, whole] = step.each;
        for (face, each) in [(step.face, own), ((step.face + 3) % 6, opposite)] {
            if each != 0 {
                turns.push(Turn { face: held[face] as u8, quarters: each * step.quarters });
            }
        }
        for _ in 0..(whole * step.quarters).rem_euclid(4) {
            let before = held;
            let around = AROUND[step.face];
            (0..4).for_each(|i| held[around[(i + 1) % 4]] = before[around[i]]);
        }
    }
    let name = |face: u8| held.iter().position(|&first| first == usize::from(face)).expect("every face has a letter");
    turns.iter().map(|turn| Turn { face: name(turn.face) as u8, ..*turn }).collect()
}

fn is_prime(character: char) -> bool {
    // Apostrophe, typographic quotes, primes, accents, the modifier letters that look like one, and the i of "Ri".
    matches!(character, '\'' | '’' | '‘' | '‛' | '′' | '‵' | '`' | '´' | 'ʹ' | 'ʼ' | 'ˈ' | '＇' | 'i')
}

/// Quarter turns of a step, from what is written behind its letter.
fn quarters(number: Option<u64>, back: bool) -> Option<i8> {
    let clockwise = match number {
        None | Some(1) => 1,
        Some(2) => 2,
        Some(3) => 3,
        Some(_) => return None,
    };
    Some(if back { -clockwise } else { clockwise })
}

/// The part of a group that is being read.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// `(…)` or `{…}`
    Round,
    /// `[…`, which may be the first part of a commutator.
    Square,
    /// The second part of a commutator.
    Second,
}

/// A whole number: its value, or the greatest there is where it is greater, and its digits.
struct Number {
    value: u64,
    digits: String,
}

struct Reader {
    characters: Vec<char>,
    at: usize,
    /// How many groups are open.
    depth: usize,
    /// Layers of the cube.
    size: usize,
}

impl Reader {
    /// Behind the title and the quotation mark that a text begins with.
    fn new(text: &str, size: usize) -> Self {
        let mut reader = Reader { characters: without_comments(text), at: 0, depth: 0, size };
        reader.skip_title();
        if reader.skip_quotes() {
            reader.skip_title();
        }
        reader
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn take_if(&mut self, is_wanted: impl Fn(char) -> bool) -> Option<char> {
        let character = self.peek(0).filter(|&character| is_wanted(character))?;
        self.at += 1;
        Some(character)
    }

    fn take_number(&mut self) -> Option<Number> {
        let mut digits = String::new();
        while let Some(digit) = self.take_if(|c| c.is_ascii_digit()) {
            digits.push(digit);
        }
        // A number that is too large is out of every range.
        (!digits.is_empty()).then(|| Number { value: digits.parse().unwrap_or(u64::MAX), digits })
    }

    fn skip_spaces(&mut self) {
        while self.take_if(is_space).is_some() {}
    }

    /// Whether `text`, in small letters, comes next, whatever its case.
    fn has(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.peek(i).is_some_and(|other| other.to_ascii_lowercase() == c))
    }

    /// Reads steps to the end of the text, or of the part of a group.
    fn sequence(&mut self, part: Option<Part>) -> Result<Vec<Step>, ParseError> {
        let mut steps: Vec<Step> = Vec::new();
        while let Some(character) = self.peek(0) {
            match character {
                ')' | ']' | '}' | ':' if part.is_some() => return Ok(steps),
                ',' if matches!(part, Some(Part::Square | Part::Second)) => return Ok(steps),
                ')' | ']' | '}' => {
                    return Err(ParseError(format!("'{character}' closes a group that was never opened")));
                }
                _ if is_space(character) => self.at += 1,
                '(' | '[' | '{' => {
                    let made = self.group(None)?;
                    steps.extend(made);
                }
                '0'..='9' => {
                    let made = self.counted()?;
                    steps.extend(made);
                }
                _ => {
                    let step = self.step()?;
                    steps.push(step);
                }
            }
            if steps.len() > MOST_TURNS {
                return Err(ParseError("the scramble has more than a million turns".into()));
            }
        }
        // A group says itself that it is not closed.
        Ok(steps)
    }

    /// One turn.
    fn step(&mut self) -> Result<Step, ParseError> {
        let start = self.at;
        let letter = self.characters[self.at];
        self.at += 1;
        let face = |letter: char| FACES.iter().position(|&face| face == letter);
        let (face, each) = match letter {
            'M' | 'm' => (4, SLICE),
            'E' | 'e' => (3, SLICE),
            'S' | 's' => (2, SLICE),
            'x' => (1, WHOLE),
            'y' => (0, WHOLE),
            'z' => (2, WHOLE),
            _ => match (face(letter), face(letter.to_ascii_uppercase())) {
                (Some(face), _) if self.take_if(|c| c == 'w' || c == 'W').is_some() => (face, WIDE),
                (Some(face), _) => (face, FACE),
                (None, Some(face)) => {
                    self.take_if(|c| c == 'w' || c == 'W');
                    (face, WIDE)
                }
                (None, None) => {
                    self.at = start;
                    let slice = if self.size == 2 { "" } else { ", no slice (M E S)" };
                    return Err(self.refuse(&format!(
                        "'{letter}' is no face (U R F D L B){slice}, and does not turn the whole cube (x y z)"
                    )));
                }
            },
        };
        if self.size == 2 && (each == SLICE || each == WIDE) {
            self.at = start;
            return Err(self.refuse("a 2×2×2 has no slice and no wide turn; x y z turn the whole cube"));
        }
        let (number, back) = self.count_and_prime();
        let Some(quarters) = quarters(number.map(|number| number.value), back) else {
            let turn: String = self.characters[start..self.at].iter().collect();
            return Err(self.refusal(&turn, "behind a turn, 2 or 3 count its quarter turns"));
        };
        if let Some(prime) = self.take_if(is_prime) {
            let turn: String = self.characters[start..self.at - 1].iter().filter(|c| !c.is_whitespace()).collect();
            let reason = format!("{turn}{prime} has two primes: expected one");
            return Err(ParseError(reason));
        }
        Ok(Step { face, each, quarters })
    }

    /// Refuses the word that this place is in.
    fn refuse(&self, why: &str) -> ParseError {
        let is_of_word = |&&c: &&char| !is_space(c) && !"()[]{}".contains(c);
        let (before, rest) = self.characters.split_at(self.at);
        let before = before.iter().rev().take_while(is_of_word).take(16).count();
        let token: String = self.characters[self.at - before..self.at]
            .iter()
            .chain(rest.iter().take_while(is_of_word).take(16))
            .collect();
        self.refusal(&token, why)
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
        let turns = parse(text, 3).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        turns.into_iter().flat_map(Turn::moves).collect()
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
            ("((((U)1000)1000)1000)", "million"),
            ("2", "'2'"),
            ("2R", "'2R'"),
            ("2x", "'2x'"),
            ("2y (R U)", "'2y'"),
            ("2m", "'2m'"),
            ("R U\n2. F", "'2.'"),
            ("'", "'''"),
            ("(U)^ R", "'^'"),
            ("[R, U, F]", "','"),
            ("2(U)2", "two counts"),
            ("(R U) × F", "missing behind '×'"),
            ("(U)99999999999999999999", "99999999999999999999 times: expected from 1 to 1000"),
            ("99999999999999999999(U)", "99999999999999999999 times: expected from 1 to 1000"),
        ] {
            let refusal = parse(text, 3).map(drop).expect_err(text).to_string();
            assert!(refusal.contains(token), "{text}: {refusal}");
        }
        assert!(parse(&"(".repeat(100_000), 3).is_err());
        let refusal = parse("R M' U", 2).map(drop).expect_err("a slice of a 2×2×2").to_string();
        assert!(refusal.contains("'M''") && refusal.contains("24 facelets"), "{refusal}");
        let refusal = parse("R Q", 2).map(drop).expect_err("no turn").to_string();
        assert!(refusal.contains("'Q'") && !refusal.contains("M E S"), "a 2×2×2 has no slices: {refusal}");
    }
}
