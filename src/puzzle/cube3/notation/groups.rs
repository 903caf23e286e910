//! Groups of turns: repeated, inverted, and commutators; and the counts after turns.

use super::super::face_with_letter;
use super::{MAX_TURNS, Number, ScrambleReader, WrittenTurn, is_prime, is_space};
use crate::puzzle::ParseError;
use crate::puzzle::notation::{bail_parse, ensure_parse};

/// The most repeats of a group.
const MAX_REPEATS: u64 = 1000;
/// The deepest nesting of groups.
const MAX_DEPTH: usize = 100;

fn opens_group(character: char) -> bool {
    matches!(character, '(' | '[' | '{')
}

fn inverse(turns: &[WrittenTurn]) -> Vec<WrittenTurn> {
    turns.iter().rev().map(|turn| WrittenTurn { quarters: -turn.quarters, ..*turn }).collect()
}

impl ScrambleReader {
    /// Reads a repeated group or a wide turn of two layers, which begin with a number.
    pub(super) fn counted(&mut self) -> Result<Vec<WrittenTurn>, ParseError> {
        let start = self.at;
        let number = self.take_number();
        let after_number = self.at;
        self.skip_spaces();
        if self.take_if(|c| matches!(c, 'x' | '*' | '×')).is_some() {
            self.skip_spaces();
        }
        if self.peek(0).is_some_and(opens_group) {
            return self.group(number);
        }
        self.at = after_number;
        // The last layer of several, as in `2-3Rw`.
        let last = self.attempt(|reader| reader.take_if(|c| c == '-').and_then(|_| reader.take_number()));
        let last = last.map(|number| number.value());
        let is_face = self.peek(0).is_some_and(|c| face_with_letter(c.to_ascii_uppercase()).is_some());
        let is_wide = is_face
            && (self.peek(1).is_some_and(|c| matches!(c, 'w' | 'W'))
                || self.peek(0).is_some_and(|c| c.is_ascii_lowercase()));
        let layers = number.map_or(0, |number| number.value());
        let size = self.size as u64;
        let first = if is_wide && last.is_none() { 1 } else { layers };
        let end = last.unwrap_or(layers);
        if self.size > 3 && is_face {
            if first >= 1 && first <= end && end <= size && end - first + 1 < size {
                let turn = self.turn()?;
                if self.peek(0) != Some('-') {
                    return Ok(vec![WrittenTurn { layers: (1 << end) - (1 << (first - 1)), ..turn }]);
                }
            }
        } else if layers == 2 && is_wide && last.is_none() {
            return Ok(vec![self.turn()?]);
        }
        self.at = start;
        let why = match self.characters[after_number..].first() {
            Some('.') => {
                "a number and a dot stand before a scramble, and this one has begun: give one at a time".into()
            }
            _ if is_face && first == 1 && end == size => {
                format!("{size} layers are the whole cube, which x, y and z turn")
            }
            _ if is_face && size > 3 => format!(
                "this cube has {size} layers: 2R turns the second one alone, 3Rw the first three, 2-3Rw the second and the third"
            ),
            _ if is_face => format!(
                "a number before a turn counts its layers, and this cube has {size}; a number after it (R2) counts its quarter turns"
            ),
            _ => "a number stands after a turn (R2), or before a group that it repeats: 3(R U)".into(),
        };
        Err(self.refuse(&why))
    }

    /// Reads a turn of the whole cube as solutions with the fewest moves have it: `[r]` for x, `[u2]` for y2, `[f']` for z'.
    pub(super) fn bracketed_rotation(&mut self) -> Option<WrittenTurn> {
        let whole = self.whole();
        self.attempt(|reader| {
            reader.take_if(|c| c == '[')?;
            reader.skip_spaces();
            let letter = reader.take_if(|c| c.is_ascii_lowercase())?;
            let face = face_with_letter(letter.to_ascii_uppercase())?;
            let (number, back) = reader.count_and_prime();
            let quarters = number.map_or(1, |number| number.value());
            reader.skip_spaces();
            reader.take_if(|c| c == ']')?;
            let quarters = i8::try_from(quarters).ok().filter(|quarters| (1..=3).contains(quarters))?;
            Some(WrittenTurn { face, layers: whole, quarters: if back { -quarters } else { quarters } })
        })
    }

    /// Passes over the length of a solution that stands at the end of its line: `(21f)`, `(18q*)`, `(22 HTM)`. `(2f)` is one
    /// only after two turns: it may be a wide turn.
    pub(super) fn skip_length(&mut self, turns: usize) -> bool {
        const METRICS: [&str; 16] =
            ["", "f", "q", "s", "h", "e", "ftm", "htm", "qtm", "stm", "etm", "hstm", "qstm", "obtm", "moves", "turns"];
        let before = self.at.checked_sub(1).map(|before| self.characters[before]);
        let is_count = before.is_some_and(|before| matches!(before, ')' | ']' | '}'));
        let length = self.attempt(|reader| {
            reader.at += 1;
            reader.skip_spaces();
            let number = reader.take_number()?.value();
            reader.skip_spaces();
            let mut metric = String::new();
            while let Some(letter) = reader.take_if(|c| c.is_ascii_alphabetic()) {
                metric.push(letter.to_ascii_lowercase());
            }
            reader.skip_spaces();
            reader.take_if(|c| c == '*');
            reader.take_if(|c| matches!(c, ')' | ']'))?;
            let mut rest = reader.characters[reader.at..].iter().take_while(|&&c| c != '\n');
            let is_last = rest.all(|&c| is_space(c) || matches!(c, '.' | '*'));
            let is_certain = number != 2 || metric.is_empty() || turns == 2;
            (is_last && METRICS.contains(&&*metric) && is_certain && !is_count).then_some(number)
        });
        length.is_some()
    }

    /// Reads a group, with its count and prime.
    pub(super) fn group(&mut self, count_before: Option<Number>) -> Result<Vec<WrittenTurn>, ParseError> {
        let open = self.characters[self.at];
        self.at += 1;
        self.depth += 1;
        ensure_parse!(self.depth <= MAX_DEPTH, "groups are nested more than {MAX_DEPTH} deep");
        let mut turns = self.sequence(Some(open))?;
        if let Some(mark) = self.take_if(|c| open == '[' && (c == ',' || c == ':')) {
            let other = self.sequence(Some(open))?;
            let other_undone = if mark == ',' { inverse(&other) } else { Vec::new() };
            turns = [&turns[..], &other, &inverse(&turns), &other_undone].concat();
        }
        self.close_group(open)?;
        self.depth -= 1;
        let (count, back) = self.repeats(count_before)?;
        let is_short = turns.len().saturating_mul(count) <= MAX_TURNS;
        ensure_parse!(is_short, "the scramble has more than a million turns");
        let once = if back { inverse(&turns) } else { turns };
        Ok(once.repeat(count))
    }

    /// The repeats of a group, by the count before or after it, and whether it is inverted.
    fn repeats(&mut self, before: Option<Number>) -> Result<(usize, bool), ParseError> {
        let mark = self.take_count_mark();
        let (after, back) = self.count_and_prime();
        if let (Some(mark), None) = (mark, &after) {
            bail_parse!("a count is missing after '{mark}'");
        }
        if let (Some(Number(before)), Some(Number(after))) = (&before, &after) {
            bail_parse!("a group has two counts, {before} and {after}: write one of them");
        }
        let Some(count) = before.or(after) else { return Ok((1, back)) };
        let is_in_range = (1..=MAX_REPEATS).contains(&count.value());
        ensure_parse!(is_in_range, "a group is repeated {} times: expected from 1 to {MAX_REPEATS}", count.0);
        Ok((count.value() as usize, back))
    }

    /// Passes over the end of a group that begins with `open`.
    fn close_group(&mut self, open: char) -> Result<(), ParseError> {
        let close = match open {
            '(' => ')',
            '{' => '}',
            _ => ']',
        };
        match self.peek(0) {
            Some(found) if found == close => self.at += 1,
            Some(found) => bail_parse!("a '{open}' is closed by '{close}', not by '{found}'"),
            None => bail_parse!("a '{open}' is never closed: expected '{close}'"),
        }
        Ok(())
    }

    /// Passes over the mark before the count of a group, as in `(…)^3` and `(…) x 3`. An `x` without a number turns the whole
    /// cube, and so does an `x` after a space and beside its number: `(…) x2`.
    fn take_count_mark(&mut self) -> Option<char> {
        let blanks =
            |from: usize| self.characters[from..].iter().take_while(|&&c| c.is_whitespace() && c != '\n').count();
        let at = self.at + blanks(self.at);
        let mark = *self.characters.get(at)?;
        let number = at + 1 + blanks(at + 1);
        let is_mark = match mark {
            '^' | '×' => true,
            '*' => self.characters.get(number).is_some_and(char::is_ascii_digit),
            'x' => {
                let is_number = self.characters.get(number).is_some_and(char::is_ascii_digit);
                let (spaced_before, spaced_behind) = (at > self.at, number > at + 1);
                // No turn of the whole cube has more than three quarters.
                let digits = self.characters[number..].iter().take_while(|c| c.is_ascii_digit());
                let is_count = digits.clone().count() > 1 || digits.copied().any(|digit| digit > '3');
                let is_meant = spaced_before == spaced_behind || is_count;
                is_number && is_meant && !(spaced_before && self.counts_what_follows(number))
            }
            _ => false,
        };
        self.at = if is_mark { at + 1 } else { self.at };
        is_mark.then_some(mark)
    }

    /// Whether the number at a place counts the following group, the layers of a wide turn, or scrambles.
    fn counts_what_follows(&self, number: usize) -> bool {
        let after = self.characters[number..].iter().skip_while(|c| c.is_ascii_digit());
        let beside = after.clone().next();
        beside.is_some_and(|&c| matches!(c, '.' | '-') || c.is_ascii_alphabetic())
            || after.copied().find(|&c| !is_space(c)).is_some_and(opens_group)
    }

    /// Reads the exponent after a turn or a group, as in `R^-1` and `R^{2}`, or [`Self::plain_count_and_prime`].
    pub(super) fn count_and_prime(&mut self) -> (Option<Number>, bool) {
        let is_exponent = self.at.checked_sub(1).is_some_and(|before| self.characters[before] == '^');
        let is_braced = is_exponent && self.take_if(|c| c == '{').is_some();
        // `2R-3R` is not `2R-3 R`, but `R-1U` is `R' U`.
        let is_range = matches!((is_exponent, self.peek(0), self.peek(1)), (false, Some('-'), Some('2'..='9')))
            && self.peek(2).is_some_and(|c| c.is_ascii_alphabetic());
        let is_negative = !is_range
            && self.peek(1).is_some_and(|c| c.is_ascii_digit())
            && self.take_if(|c| matches!(c, '-' | '−')).is_some();
        let (number, back) = self.plain_count_and_prime();
        if is_braced {
            self.take_if(|c| c == '}');
        }
        (number, back != is_negative)
    }

    /// Reads the number and the prime after a turn or a group: both in either order, one, or none.
    fn plain_count_and_prime(&mut self) -> (Option<Number>, bool) {
        let spaces = self.characters[self.at..].iter().take_while(|c| c.is_whitespace()).count();
        // The i of "Ri" stands after its letter.
        if self.peek(spaces).is_some_and(|c| is_prime(c) && (spaces == 0 || c != 'i')) {
            self.at += spaces + 1;
            return (self.number_behind(), true);
        }
        let number = self.number_behind();
        let back = number.is_some() && self.take_if(is_prime).is_some();
        (number, back)
    }

    /// Reads the number that follows. After a space, a number that counts a following group or scramble is left.
    fn number_behind(&mut self) -> Option<Number> {
        self.attempt(|reader| {
            if reader.peek(0).is_some_and(char::is_whitespace) {
                reader.skip_spaces();
                if reader.counts_what_follows(reader.at) {
                    return None;
                }
            }
            reader.take_number()
        })
    }
}
