//! The names of turns, and the order of stickers, as contests have them.

use super::CubeN;
use super::geometry::Turn;
use crate::puzzle::cube3::face_with_letter;
use crate::puzzle::cube3::notation::WrittenTurn;
use crate::puzzle::notation::{bail_parse, letters};
use crate::puzzle::{Move, ParseError};

/// The faces in the order of contests, as indices of [`FACES`](crate::puzzle::cube3::FACES); the same list is its own inverse.
const CONTEST_FACES: [usize; 6] = [0, 2, 1, 5, 4, 3];

impl CubeN {
    /// The moves as contests have them: their names, and permutations of stickers in the order of contests. None but those of
    /// a cube that is held still.
    pub fn contest_turns_by_name(&self) -> Vec<(String, Vec<u16>)> {
        let each = (self.size * self.size) as u16;
        let renumbered = |sticker: u16| CONTEST_FACES[usize::from(sticker / each)] as u16 * each + sticker % each;
        let turns = self.named_turns();
        let moved = |from: &[u16]| (0..6 * each).map(|i| renumbered(from[usize::from(renumbered(i))])).collect();
        let named = |action: usize| Some((self.contest_name(action as Move)?, moved(&turns[action].1)));
        (0..self.move_count).filter_map(named).collect()
    }

    /// Turns in the notation of contests: a face f, r or d, the layer from 0, and `-` or `_inv` for counter-clockwise. `r2`
    /// alone is a wide half turn elsewhere: it counts only for a cube that is held still, beside a word that is certain, or
    /// if dots join the words.
    ///
    /// # Errors
    /// Names a word that is not a turn, if another word certainly is.
    pub(super) fn contest_turns(&self, text: &str) -> Result<Option<Vec<WrittenTurn>>, ParseError> {
        let is_joined = |word: &str| word.trim_matches('.').contains('.');
        let mut is_certain = self.is_still() || text.split_whitespace().any(is_joined);
        let mut has_certain_word = false;
        let mut read = |word: &str| {
            let (bare, is_prefixed) = word.strip_prefix('-').map_or((word, false), |bare| (bare, true));
            let (bare, is_inverse) = bare.strip_suffix("_inv").map_or((bare, is_prefixed), |bare| (bare, true));
            let letter = bare.chars().next().filter(|&letter| "frd".contains(letter))?;
            let face = face_with_letter(letter.to_ascii_uppercase())?;
            let layer: usize = bare[1..].parse().ok().filter(|&layer| layer < self.size)?;
            has_certain_word |= layer == 0 || layer > 3 || is_inverse;
            Some(WrittenTurn { face, layers: 1 << layer, quarters: if is_inverse { -1 } else { 1 } })
        };
        let words = text.split(|c: char| c.is_whitespace() || matches!(c, '.' | ',')).filter(|word| !word.is_empty());
        let turns: Vec<_> = words.map(|word| read(word).ok_or(word)).collect();
        is_certain |= has_certain_word;
        match turns.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(turns) => Ok(Some(turns).filter(|turns| is_certain && !turns.is_empty())),
            Err(word) if has_certain_word => {
                let last = self.size - 1;
                bail_parse!(
                    "'{word}' is not a turn: expected f0 to f{last}, r0 to r{last} or d0 to d{last}, also with - before it"
                );
            }
            Err(_) => Ok(None),
        }
    }

    /// The name of a move as contests write it, `-f0`, for a cube that is held still.
    pub(in crate::puzzle) fn contest_name(&self, action: Move) -> Option<String> {
        let Turn { face, layers, quarters } = self.turns[usize::from(action)];
        let layer = layers.trailing_zeros() as usize;
        // Layers of d are counted from D.
        let (letter, layer, is_inverse) = match face {
            0 => ('d', self.size - 1 - layer, quarters == 1),
            1 => ('r', layer, quarters == 3),
            _ => ('f', layer, quarters == 3),
        };
        self.is_still().then(|| format!("{}{letter}{layer}", if is_inverse { "-" } else { "" }))
    }

    /// Stickers in the order of contests, U F R B L D with the symbols A to F or 0 to 5; `None` if the text is something else.
    pub(super) fn contest_facelets(&self, text: &str) -> Option<Vec<u8>> {
        let each = self.size * self.size;
        let colour = |symbol: char| match symbol {
            'A'..='F' => Some(symbol as u8 - b'A'),
            '0'..='5' => Some(symbol as u8 - b'0'),
            _ => None,
        };
        let symbols: Vec<u8> = letters(text).map(colour).collect::<Option<_>>()?;
        let is_one = (0..6).all(|face| symbols.iter().filter(|&&symbol| symbol == face).count() == each);
        let colour = |face: usize, i: usize| CONTEST_FACES[usize::from(symbols[CONTEST_FACES[face] * each + i])] as u8;
        is_one.then(|| (0..6 * each).map(|i| colour(i / each, i % each)).collect())
    }
}
