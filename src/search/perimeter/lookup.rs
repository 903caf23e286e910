//! Many states that are looked up at once.

use super::Perimeter;
use crate::puzzle::{Cost, Puzzle, State};
use crate::workers::in_ranges;

/// States that a thread takes at least.
const LEAST: usize = 1 << 11;

/// States that are looked up at a time: while the table's lines come, the keys of the next are computed.
const AT_ONCE: usize = 32;

impl<S: State> Perimeter<S> {
    /// The states that are inside, and of classes, those of them that are on the rim: numbers below `count`, in order, with
    /// their exact costs. All were reached from states outside.
    pub(in crate::search) fn costs<'s, P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        threads: usize,
        count: usize,
        state: impl Fn(usize) -> &'s S + Sync,
    ) -> Vec<(usize, Cost)>
    where
        S: 's,
    {
        if self.is_empty() {
            return Vec::new();
        }
        let found = in_ranges(threads, count, LEAST, |range| {
            let (end, mut found, mut keys) = (range.end, Vec::new(), [0; AT_ONCE]);
            for first in range.step_by(AT_ONCE) {
                let some = first..end.min(first + AT_ONCE);
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
        });
        found.concat()
    }
}
