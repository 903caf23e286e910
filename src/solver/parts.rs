//! What a search is built from, beside its settings: the puzzle and a perimeter.

use crate::puzzle::Puzzle;
use crate::registry::{Entry, Reverse};
use crate::search::perimeter::Perimeter;

/// What a search is built from, beside its settings.
pub(super) struct Parts<'a, P: Puzzle> {
    pub(super) entry: &'a Entry<P>,
    pub(super) perimeter: Perimeter<P::State>,
}

impl<P: Puzzle> Parts<'_, P> {
    /// What only reversible puzzles have; a resolved configuration needs it of no other puzzle.
    pub(super) fn reverse(&self) -> &'static dyn Reverse<P> {
        self.entry.reverse().expect("a search that needs inverses is refused where there are none")
    }
}
