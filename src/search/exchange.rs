//! Messages between the processes that share a search.
//!
//! Everything goes through one collective operation, [`Exchange::all_to_all`].

use crate::heuristic::HeuristicError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of the messages, and of the rule which rank owns a state. Ranks of different versions cannot work together.
pub const VERSION: u32 = 3;

/// The processes (ranks) that share a search, as seen by one of them.
pub trait Exchange: Send + Sync {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sends `to[r]` to each rank r, and returns what each rank has sent to this one. All ranks must call it equally often.
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

    /// Collects a value of each rank on all ranks.
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
        let texts = self.all_to_all(vec![text; self.size()])?;
        texts.iter().map(|text| serde_json::from_slice(text).map_err(other_version)).collect()
    }

    /// The rank that owns a state, by the lower half of its hash; tables take the upper half and the lowest bits. A change of
    /// this rule is a new [`VERSION`].
    pub fn owner(&self, hash: u64) -> usize {
        ((u64::from(hash as u32) * self.size() as u64) >> 32) as usize
    }
}
