//! Groups of turns: how often they are made, backwards, and commutators; and the counts behind turns.

use super::super::FACES;
use super::{MOST_TURNS, Number, Part, Reader, Step, is_prime, is_space};
use crate::puzzle::ParseError;

/// How often a group may be repeated.
const MOST_REPEATS: u64 = 1000;
/// How deep groups may be nested.
const MOST_GROUPS: usize = 100;

fn opens_group(character: char) -> bool {
    matches!(character, '(' | '[' | '{')
}

fn inverse(steps: &[Step]) -> Vec<Step> {
    steps.iter().rev().map(|step| Step { quarters: -step.quarters, ..*step }).collect()
}

impl Reader {
    /// What begins with a number: a group that is repeated, or a wide turn of two layers.
    pub(super) fn counted(&mut self) -> Result<Vec<Step>, ParseError> {
        let start = self.at;
        let number = self.take_number();
        let after_number = self.at;
        self.skip_spaces();
        if self.peek(0).is_some_and(opens_group) {
            return self.group(number);
        }
        if self.take_if(|c| matches!(c, 'x' | '*' | '×')).is_some() {
            self.skip_spaces();
            if self.peek(0).is_some_and(opens_group) {
                return self.group(number);
            }
        }
        self.at = after_number;
        let is_face = |c: char| FACES.contains(&c.to_ascii_uppercase());
        let is_wide = self.peek(0).is_some_and(is_face)
            && (self.peek(1).is_some_and(|c| matches!(c, 'w' | 'W'))
                || self.peek(0).is_some_and(|c| c.is_ascii_lowercase()));
        if number.is_some_and(|number| number.value == 2) && is_wide {
            return Ok(vec![self.step()?]);
        }
        self.at = start;
        Err(self.refuse(match self.characters[after_number..].first() {
            Some('.') => "a number and a dot stand before a scramble, and this one has begun: give one at a time",
            _ => "a number stands behind a turn (R2), or before a group that it repeats: 3(R U)",
        }))
    }

    /// A group, how often it is made, and whether backwards.
    pub(super) fn group(&mut self, count_before: Option<Number>) -> Result<Vec<Step>, ParseError> {
        let open = self.characters[self.at];
        self.at += 1;
        self.depth += 1;
        if self.depth > MOST_GROUPS {
            return Err(ParseError(format!("groups are nested more than {MOST_GROUPS} deep")));
        }
        let mut steps = self.sequence(Some(if open == '[' { Part::Square } else { Part::Round }))?;
        if let Some(mark) = self.take_if(|c| open == '[' && (c == ',' || c == ':')) {
            let other = self.sequence(Some(Part::Second))?;
            let (undone, other_undone) = (inverse(&steps), inverse(&other));
            steps.extend(other);
            steps.extend(undone);
            if mark == ',' {
                steps.extend(other_undone);
            }
        }
        self.close_group(open)?;
        self.depth -= 1;
        let (count, back) = self.repeats(count_before)?;
        if steps.len().saturating_mul(count) > MOST_TURNS {
            return Err(ParseError("the scramble has more than a million turns".into()));
        }
        let once = if back { inverse(&steps) } else { steps };
        Ok(once.repeat(count))
    }

    /// How often a group is made, by the count before it or the one behind it, and whether backwards.
    fn repeats(&mut self, before: Option<Number>) -> Result<(usize, bool), ParseError> {
        let mark = self.take_count_mark();
        let (behind, back) = self.count_and_prime();
        if let (Some(mark), None) = (mark, &behind) {
            return Err(ParseError(format!("a count is missing behind '{mark}'")));
        }
        if let (Some(before), Some(behind)) = (&before, &behind) {
            let (before, behind) = (&before.digits, &behind.digits);
            return Err(ParseError(format!("a group has two counts, {before} and {behind}: write one of them")));
        }
        match before.or(behind) {
            None => Ok((1, back)),
            Some(Number { value, .. }) if (1..=MOST_REPEATS).contains(&value) => Ok((value as usize, back)),
            Some(Number { digits, .. }) => {
                Err(ParseError(format!("a group is repeated {digits} times: expected from 1 to {MOST_REPEATS}")))
            }
        }
    }

    /// The end of a group that begins with `open`.
    fn close_group(&mut self, open: char) -> Result<(), ParseError> {
        let close = match open {
            '(' => ')',
            '{' => '}',
            _ => ']',
        };
        match self.peek(0) {
            Some(found) if found == close => {
                self.at += 1;
                Ok(())
            }
            Some(found) => Err(ParseError(format!("a '{open}' is closed by '{close}', not by '{found}'"))),
            None => Err(ParseError(format!("a '{open}' is never closed: expected '{close}'"))),
        }
    }

    /// Passes over the mark before the count of a group, as in `(…)^3` and `(…) x 3`. An `x` that no number follows turns the
    /// whole cube, and so does one behind a space that has its number beside it: `(…) x2`.
    fn take_count_mark(&mut self) -> Option<char> {
        let blanks =
            |from: usize| self.characters[from..].iter().take_while(|&&c| c.is_whitespace() && c != '\n').count();
        let at = self.at + blanks(self.at);
        let mark = *self.characters.get(at)?;
        let number = at + 1 + blanks(at + 1);
        let is_mark = match mark {
            '^' | '*' | '×' => true,
            'x' => {
                let is_number = self.characters.get(number).is_some_and(char::is_ascii_digit);
                let (spaced_before, spaced_behind) = (at > self.at, number > at + 1);
                is_number && spaced_before == spaced_behind && !(spaced_before && self.counts_what_follows(number))
            }
            _ => false,
        };
        self.at = if is_mark { at + 1 } else { self.at };
        is_mark.then_some(mark)
    }

    /// Whether the number at a place counts the group that follows, or the layers of a wide turn, or the scrambles.
    fn counts_what_follows(&self, number: usize) -> bool {
        let behind = self.characters[number..].iter().skip_while(|c| c.is_ascii_digit());
        let beside = behind.clone().next();
        beside.is_some_and(|&c| c == '.' || c.is_ascii_alphabetic())
            || behind.copied().find(|&c| !is_space(c)).is_some_and(opens_group)
    }

    /// What follows a turn or a group: a number, a prime, both in either order, or nothing.
    pub(super) fn count_and_prime(&mut self) -> (Option<Number>, bool) {
        let spaces = self.characters[self.at..].iter().take_while(|c| c.is_whitespace()).count();
        // The i of "Ri" stands behind its letter.
        if self.peek(spaces).is_some_and(|c| is_prime(c) && (spaces == 0 || c != 'i')) {
            self.at += spaces + 1;
            return (self.number_behind(), true);
        }
        let number = self.number_behind();
        let back = number.is_some() && self.take_if(is_prime).is_some();
        (number, back)
    }

    /// The number that follows; behind a space, only one that counts no group and no scramble which follows it.
    fn number_behind(&mut self) -> Option<Number> {
        let start = self.at;
        let spaced = self.peek(0).is_some_and(char::is_whitespace);
        if spaced {
            self.skip_spaces();
        }
        if spaced && self.counts_what_follows(self.at) {
            self.at = start;
            return None;
        }
        let number = self.take_number();
        if number.is_none() {
            self.at = start;
        }
        number
    }
}
