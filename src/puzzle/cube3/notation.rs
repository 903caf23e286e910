//! Reads scrambles, as tolerantly as people paste them.

use crate::puzzle::{Move, ParseError};

/// Reads face turns: a letter of U R F D L B, then nothing, a prime, `2` or `2'` (two quarter turns) or `3` (the turn
/// back). Spaces, commas and parentheses between turns are passed over; a count behind a closing one repeats the group.
pub(super) fn parse(text: &str) -> Result<Vec<Move>, ParseError> {
    let mut moves = Vec::new();
    let mut groups = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            _ if is_space(character) => {}
            '(' => groups.push(moves.len()),
            ')' => {
                let Some(start) = groups.pop() else {
                    return Err(ParseError("')' closes a group that was never opened".into()));
                };
                repeat(&mut moves, start, &mut characters)?;
            }
            _ => {
                let Some(face) = super::FACES.iter().position(|&face| face == character) else {
                    return Err(refuse(character, characters));
                };
                turn(face as Move, &mut characters, &mut moves)?;
            }
        }
    }
    if groups.is_empty() { Ok(moves) } else { Err(ParseError("a '(' is never closed".into())) }
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn is_space(character: char) -> bool {
    // Pasted text may hold no-break and zero-width spaces, and a byte-order mark.
    character.is_whitespace()
        || matches!(character, ',' | ';' | '·' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}')
}

fn is_prime(character: char) -> bool {
    // Apostrophe, typographic quotes, primes, accents, the modifier letters that look like one, and the i of "Ri".
    matches!(character, '\'' | '’' | '‘' | '‛' | '′' | '‵' | '`' | '´' | 'ʹ' | 'ʼ' | 'ˈ' | '＇' | 'i')
}

/// What follows a face letter: a digit, a prime, both in either order, or nothing.
fn turn(face: Move, characters: &mut Characters<'_>, moves: &mut Vec<Move>) -> Result<(), ParseError> {
    let mut back = characters.next_if(|&c| is_prime(c)).is_some();
    let quarters = match characters.next_if(char::is_ascii_digit) {
        None => 1,
        Some(digit @ '1'..='3') if !characters.peek().is_some_and(char::is_ascii_digit) => {
            digit as usize - '0' as usize
        }
        Some(digit) => {
            let number: String = std::iter::once(digit).chain(characters.take_while(char::is_ascii_digit)).collect();
            let letter = super::FACES[usize::from(face)];
            return Err(ParseError(format!("'{letter}{number}' is not a turn: after a face, 2 or 3 quarter turns")));
        }
    };
    if let Some(prime) = characters.next_if(|&c| is_prime(c))
        && std::mem::replace(&mut back, true)
    {
        let letter = super::FACES[usize::from(face)];
        return Err(ParseError(format!("'{prime}' stands twice behind '{letter}': one is the turn back")));
    }
    let (quarters, back) = if quarters == 3 { (1, !back) } else { (quarters, back) };
    moves.extend(std::iter::repeat_n(2 * face + Move::from(back), quarters));
    Ok(())
}

/// Applies the count that may follow a closing parenthesis.
fn repeat(moves: &mut Vec<Move>, start: usize, characters: &mut Characters<'_>) -> Result<(), ParseError> {
    let marked = characters.next_if(|c| matches!(c, 'x' | '×' | '*')).is_some();
    let mut digits = String::new();
    while let Some(digit) = characters.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    if digits.is_empty() {
        return if marked { Err(ParseError("a count is missing after ')x'".into())) } else { Ok(()) };
    }
    let count = digits.parse::<usize>().ok().filter(|count| (1..=1000).contains(count));
    let Some(count) = count else {
        return Err(ParseError(format!("a group is repeated '{digits}' times: expected from 1 to 1000")));
    };
    let group = moves[start..].to_vec();
    for _ in 1..count {
        if moves.len() > 1_000_000 {
            return Err(ParseError("the scramble has more than a million turns".into()));
        }
        moves.extend_from_slice(&group);
    }
    Ok(())
}

fn refuse(character: char, rest: Characters<'_>) -> ParseError {
    let token: String = std::iter::once(character)
        .chain(rest.take_while(|&c| !is_space(c) && !matches!(c, '(' | ')')).take(15))
        .collect();
    let why = match character {
        '[' | ']' => "commutators are not read: write out their turns",
        'x' | 'y' | 'z' | 'X' | 'Y' | 'Z' => "turns of the whole cube are not moves here",
        'M' | 'E' | 'S' | 'm' | 'e' | 's' => "slice turns are not moves here",
        'u' | 'r' | 'f' | 'd' | 'l' | 'b' => "small letters mean wide turns, which are not moves here",
        _ => "it is not a turn",
    };
    ParseError(format!(
        "'{token}' is refused: {why}; a scramble is written in turns of the faces U R F D L B, \
         with ' for counter-clockwise and 2 for twice (U R' F2), or as 54 facelets without spaces"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(text: &str) -> Vec<Move> {
        parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
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
        ] {
            assert_eq!(moves(text), expected, "{text}");
        }
        assert_eq!(moves("U U F' R2"), [0, 0, 5, 2, 2]);
        assert_eq!(moves("R2'"), [3, 3]);
        assert_eq!(moves("R'2"), [3, 3]);
        assert!(moves("").is_empty());
    }

    #[test]
    fn groups_repeat() {
        assert_eq!(moves("(R U)2 F"), moves("R U R U F"));
        assert_eq!(moves("((R)2 U)x2"), moves("R R U R R U"));
        assert_eq!(moves("(R U R' U')6").len(), 24);
    }

    #[test]
    fn what_is_no_turn_is_refused_by_name() {
        for (text, token) in [
            ("U X", "'X'"),
            ("R Q2 F", "'Q2'"),
            ("Rw", "'w'"),
            ("r U", "'r'"),
            ("M2", "'M2'"),
            ("x U", "'x'"),
            ("U4", "'U4'"),
            ("U12", "'U12'"),
            ("U0", "'U0'"),
            ("U''", "twice"),
            ("U'2'", "twice"),
            ("[R, U]", "commutators"),
            ("(U", "'('"),
            ("U)", "')'"),
            ("(U)0", "'0'"),
            ("((((U)1000)1000)1000)", "million"),
            ("2", "'2'"),
            ("'", "'''"),
            ("(U)99999999999999999999", "'999"),
        ] {
            let refusal = parse(text).expect_err(text).to_string();
            assert!(refusal.contains(token), "{text}: {refusal}");
        }
    }
}
