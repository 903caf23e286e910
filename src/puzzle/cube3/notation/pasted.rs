//! Text around a scramble that people paste with it: titles, quotation marks, comments, brackets and spaces.

use super::ScrambleReader;
use crate::puzzle::without_comment;

/// A text without comments, title, and quotation marks and brackets around all of it.
pub(in crate::puzzle::cube3) fn inside(text: &str) -> String {
    let reader = ScrambleReader::new(text, 3);
    let mut inside = reader.characters[reader.at..].iter().collect::<String>();
    loop {
        let bare = inside.trim_matches(is_space);
        let pairs = [('(', ')'), ('[', ']'), ('{', '}')];
        match pairs.iter().find_map(|&(open, close)| bare.strip_prefix(open)?.strip_suffix(close)) {
            Some(bracketed) => inside = bracketed.into(),
            None => return bare.into(),
        }
    }
}

/// The characters of a text without comments, with plain digits.
pub(super) fn without_comments(text: &str) -> Vec<char> {
    let raised = || "⁰¹²³⁴⁵⁶⁷⁸⁹⁻".chars().zip("0123456789−".chars());
    let plain = |c| raised().find(|(raised, _)| *raised == c).map_or(c, |(_, plain)| plain);
    let code = |line| without_comment(line).split("//").next().unwrap_or_default();
    text.lines().flat_map(|line| code(line).chars().map(plain).chain(['\n'])).collect()
}

/// Whether a character between turns has no meaning.
pub(in crate::puzzle::cube3) fn is_space(character: char) -> bool {
    // Pasted text may hold no-break and zero-width spaces, and a byte-order mark.
    character.is_whitespace()
        || matches!(character, ',' | ';' | '|' | '·' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}')
}

impl ScrambleReader {
    /// Passes over quotation marks around the rest of the text.
    pub(super) fn skip_quotes(&mut self) -> bool {
        let is_quote = |&c: &char| matches!(c, '\'' | '‘' | '’' | '‚' | '"' | '“' | '”' | '„' | '«' | '»');
        let inside = self.characters.iter().rposition(|&c| !is_space(c)).unwrap_or(0);
        let quoted = inside > self.at + 1
            && self.peek(0).is_some_and(|c| is_quote(&c))
            && self.characters.get(inside).is_some_and(is_quote);
        if quoted {
            self.characters.truncate(inside);
            self.at += 1;
        }
        quoted
    }

    /// Passes over `1.`, `2)`, `[3]`, `#3:`, `Scramble:` and `Scramble #3:`.
    pub(super) fn skip_title(&mut self) {
        let skip_one = |reader: &mut Self| {
            let named = reader.has("scramble");
            if named {
                reader.at += "scramble".len();
                reader.skip_spaces();
            }
            let is_bracketed = !named && reader.take_if(|c| c == '[').is_some();
            reader.take_if(|c| c == '#');
            let number = reader.take_number();
            let ends = |c| if is_bracketed { c == ']' } else { matches!(c, '.' | ':' | ')') };
            let marked = reader.take_if(ends).is_some();
            (named || number.is_some() && marked).then_some(())
        };
        self.skip_spaces();
        while self.attempt(skip_one).is_some() {
            self.skip_spaces();
        }
    }
}
