//! A small puzzle whose every distance is known.

use costar::puzzle::{Encode, Encoding, Instance, Move, Notation, ParseError, Rules, laws};

/// Six pancakes in a stack; a move turns the top ones over. With `even`, only moves that keep the parity of the permutation are
/// legal, so that half of the stacks cannot be sorted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pancakes {
    pub(crate) even: bool,
}

impl Pancakes {
    pub(crate) const ALL: Pancakes = Pancakes { even: false };

    /// The number of pancakes that a move turns over.
    fn size(self, action: Move) -> usize {
        if self.even { [4, 5][usize::from(action)] } else { usize::from(action) + 2 }
    }
}

impl Rules for Pancakes {
    type State = [u8; 6];

    fn name(&self) -> String {
        "pancakes".into()
    }

    fn move_count(&self) -> usize {
        if self.even { 2 } else { 5 }
    }

    fn apply(&self, state: &[u8; 6], action: Move) -> Option<[u8; 6]> {
        let mut next = *state;
        next[..self.size(action)].reverse();
        Some(next)
    }

    fn is_goal(&self, state: &[u8; 6]) -> bool {
        state.is_sorted()
    }

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

impl Notation for Pancakes {
    fn notation(&self) -> &'static str {
        "six letters"
    }

    fn move_name(&self, action: Move) -> String {
        self.size(action).to_string()
    }

    fn read(&self, text: &str) -> Result<Instance<[u8; 6]>, ParseError> {
        let state: [u8; 6] = text.as_bytes().try_into().map_err(|_| ParseError("six letters".into()))?;
        let mut sorted = state;
        sorted.sort_unstable();
        if &sorted == b"abcdef" { Ok(state.into()) } else { Err(ParseError("the letters a to f".into())) }
    }

    fn format(&self, state: &[u8; 6]) -> String {
        String::from_utf8_lossy(state).into_owned()
    }
}

impl Encode for Pancakes {
    fn encoding(&self) -> Encoding {
        Encoding::row(6, 6)
    }

    fn encode(&self, state: &[u8; 6], row: &mut [u8]) {
        row.iter_mut().zip(state).for_each(|(cell, pancake)| *cell = pancake - b'a');
    }
}

#[test]
fn the_test_puzzle_keeps_the_laws() {
    // https://oeis.org/A092113: stacks of six, by the number of flips.
    laws::check(&Pancakes::ALL, &[1, 5, 20, 79, 199, 281, 133, 2]);
}

impl From<Pancakes> for costar::registry::Entry<Pancakes> {
    fn from(puzzle: Pancakes) -> Self {
        costar::registry::Entry::new(puzzle)
    }
}
