//! A small puzzle whose every distance is known.

use costar::puzzle::{Encoding, Move, ParseError, Puzzle, Reversible, Style, laws};

/// Pancakes: six of them in a stack; a move turns the top ones over. With `even`, only moves that keep the parity of
/// the permutation: half of the stacks cannot be sorted then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pancakes {
    pub(crate) even: bool,
}

impl Pancakes {
    pub(crate) const ALL: Pancakes = Pancakes { even: false };

    /// How many pancakes a move turns over.
    fn size(self, action: Move) -> usize {
        if self.even { [4, 5][usize::from(action)] } else { usize::from(action) + 2 }
    }
}

impl Puzzle for Pancakes {
    type State = [u8; 6];

    fn name(&self) -> String {
        "pancakes".into()
    }

    fn move_count(&self) -> usize {
        if self.even { 2 } else { 5 }
    }

    fn move_name(&self, action: Move) -> String {
        self.size(action).to_string()
    }

    fn apply(&self, state: &[u8; 6], action: Move) -> Option<[u8; 6]> {
        let mut next = *state;
        next[..self.size(action)].reverse();
        Some(next)
    }

    fn is_goal(&self, state: &[u8; 6]) -> bool {
        state.is_sorted()
    }

    fn parse(&self, text: &str) -> Result<[u8; 6], ParseError> {
        let state: [u8; 6] = text.as_bytes().try_into().map_err(|_| ParseError("six letters".into()))?;
        let mut sorted = state;
        sorted.sort_unstable();
        if &sorted == b"abcdef" { Ok(state) } else { Err(ParseError("the letters a to f".into())) }
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let find = |word: &str| (0..self.move_count() as Move).find(|&action| self.move_name(action) == word);
        text.split_whitespace().map(|word| find(word).ok_or_else(|| ParseError(format!("{word}: 2 to 6")))).collect()
    }

    fn format(&self, state: &[u8; 6]) -> String {
        String::from_utf8_lossy(state).into_owned()
    }

    fn draw(&self, state: &[u8; 6], _style: Style) -> String {
        self.format(state)
    }

    fn encoding(&self) -> Encoding {
        Encoding { version: 1, cells: 6, symbols: 6, fixed: Vec::new(), grid: None }
    }

    fn encode(&self, state: &[u8; 6], row: &mut [u8]) {
        row.iter_mut().zip(state).for_each(|(cell, pancake)| *cell = pancake - b'a');
    }

    fn notation(&self) -> &'static str {
        "six letters"
    }
}

impl Reversible for Pancakes {
    fn goals(&self) -> Vec<[u8; 6]> {
        vec![*b"abcdef"]
    }

    fn inverse(&self, action: Move) -> Move {
        action
    }

    fn default_depth(&self) -> u32 {
        7
    }
}

#[test]
fn the_test_puzzle_keeps_the_laws() {
    // https://oeis.org/A092113: stacks of six by the flips that they need.
    laws::check(&Pancakes::ALL, &[1, 5, 20, 79, 199, 281, 133, 2]);
}

impl From<Pancakes> for costar::registry::Entry<Pancakes> {
    fn from(puzzle: Pancakes) -> Self {
        costar::registry::Entry::reversible(puzzle)
    }
}
