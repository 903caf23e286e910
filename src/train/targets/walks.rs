//! Labels are the lengths of walks.

use super::Target;

/// A label is the length of the walk that led to the state: an upper bound of its distance.
pub(super) struct WalkLengths;

impl Target for WalkLengths {}
