//! What the processes that share a search tell each other.
//!
//! Everything goes through one operation, [`Exchange::all_to_all`], which all of them come to together.

use crate::heuristic::HeuristicError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of what ranks tell each other, and of which rank a state belongs to: those of another version do not work
/// together.
pub const VERSION: u32 = 2;

/// The processes (ranks) that share a search, as one of them sees them.
pub trait Exchange: Send + Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Sends `to[r]` to each rank r, and gives what each rank has sent to this one. All ranks call it equally often.
    ///
    /// # Errors
    /// If a rank has failed or died.
    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, HeuristicError>;
}

/// The only process of a search.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Exchange for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, HeuristicError> {
        Ok(to)
    }
}

impl dyn Exchange + '_ {
    /// Whether no other rank shares the search.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// What each rank has.
    ///
    /// # Errors
    /// As [`Exchange::all_to_all`].
    pub fn gather<T: Serialize + DeserializeOwned>(&self, own: T) -> Result<Vec<T>, HeuristicError> {
        if self.is_alone() {
            return Ok(vec![own]);
        }
        let other_version =
            |error: serde_json::Error| HeuristicError(format!("another rank is not understood: {error}"));
        let text = serde_json::to_vec(&own).map_err(other_version)?;
        let said = self.all_to_all(vec![text; self.size()])?;
        said.iter().map(|text| serde_json::from_slice(text).map_err(other_version)).collect()
    }

    /// The rank that a state with this hash belongs to. [`VERSION`] says how. Tables take the hash's upper half and its lowest bits; these are others.
    pub fn owner(&self, hash: u64) -> usize {
        ((u64::from(hash as u32) * self.size() as u64) >> 32) as usize
    }
}
