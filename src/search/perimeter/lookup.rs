//! Many states that are looked up at once.

use super::Perimeter;
use crate::puzzle::{Cost, Puzzle, State};

/// States that are looked up at a time: while the table's lines come, the keys of the next are computed.
const AT_ONCE: usize = 32;

impl<S: State> Perimeter<S> {
    /// The states that are inside, and of classes, those of them that are on the rim: numbers below `count`, in order, with
    /// their exact costs. All were reached from states outside.
    pub(in crate::search) fn costs<'s, P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        count: usize,
        state: impl Fn(usize) -> &'s S,
    ) -> Vec<(usize, Cost)>
    where
        S: 's,
    {
        if self.is_empty() {
            return Vec::new();
        }
        let (mut found, mut keys) = (Vec::new(), [0; AT_ONCE]);
        for first in (0..count).step_by(AT_ONCE) {
            let some = first..count.min(first + AT_ONCE);
            for (key, i) in keys.iter_mut().zip(some.clone()) {
                *key = self.key(state(i));
                self.prefetch(*key);
            }
            for (&key, i) in keys.iter().zip(some) {
                if self.reaches(key)
                    && let Some(rest) = self.cost(puzzle, state(i))
                {
                    found.push((i, rest));
                }
            }
        }
        found
    }
}
