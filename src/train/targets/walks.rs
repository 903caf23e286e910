//! Labels are the lengths of walks.

use super::Target;
use crate::puzzle::Puzzle;
use crate::sampler::Walks;
use crate::search::perimeter::Perimeter;

/// A label is the length of the walk that led to the state: an upper bound of its distance.
pub(super) struct WalkLengths;

impl<P: Puzzle> Target<P> for WalkLengths {
    fn samples(&self, walks: Walks<P>, _: Perimeter<P::State>) -> Walks<P> {
        walks
    }
}
