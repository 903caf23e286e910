//! Messages and sums between the processes that share a search or a training.
//!
//! In a search, everything goes through one collective operation, [`Exchange::all_to_all`].

use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of the messages, and of the rule which rank owns a state. Ranks of different versions cannot work together.
pub const VERSION: u32 = 5;

/// Bits of a key that a round of histograms tells apart.
pub(crate) const DIGIT: u32 = 12;

/// The processes (ranks) that share a search or a training, as seen by one of them.
pub trait Exchange: Send + Sync {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sends `to[r]` to each rank r, and returns what each rank has sent to this one. All ranks must call it equally often.
    ///
    /// # Errors
    /// If a rank has failed or died.
    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>>;

    /// As [`Exchange::all_to_all`], from memory of a CUDA device to that of the other ranks' devices: sends the bytes `to[r]`
    /// to each rank r, and receives those of each rank s in `from[s]`, after all earlier work of the device. `false`, with
    /// nothing done, if a rank cannot do it.
    ///
    /// # Errors
    /// As [`Exchange::all_to_all`].
    ///
    /// # Safety
    /// The bytes lie on the CUDA device until its work is done, and each rank s sends as many as `from[s]` has.
    unsafe fn all_to_all_on_device(&self, _device: usize, _to: &[DeviceBytes], _from: &[DeviceBytes]) -> Result<bool> {
        Ok(false)
    }

    /// The sums of numbers over all ranks: the same bits on every rank.
    ///
    /// # Errors
    /// As [`Exchange::all_to_all`].
    fn sum(&self, numbers: Vec<f32>) -> Result<Vec<f32>>;

    /// As [`Exchange::sum`], in place on a CUDA device, after all earlier work of the device. `false`, with nothing done, if a
    /// rank cannot do it.
    ///
    /// # Errors
    /// As [`Exchange::all_to_all`]. If a rank dies later, the sums are undefined.
    ///
    /// # Safety
    /// There are `count` numbers at `address` on the CUDA device, until its work is done.
    unsafe fn sum_on_device(&self, _device: usize, _address: *mut f32, _count: usize) -> Result<bool> {
        Ok(false)
    }
}

/// Bytes on a device: where they begin, and their number.
pub type DeviceBytes = (*mut u8, usize);

/// The only process of a search or a training.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Exchange for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        Ok(to)
    }

    fn sum(&self, numbers: Vec<f32>) -> Result<Vec<f32>> {
        Ok(numbers)
    }
}

impl dyn Exchange + '_ {
    /// True if no other rank shares the search.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// Collects a value of each rank on all ranks.
    ///
    /// # Errors
    /// As [`Exchange::all_to_all`].
    pub fn gather<T: Serialize + DeserializeOwned>(&self, own: T) -> Result<Vec<T>> {
        if self.is_alone() {
            return Ok(vec![own]);
        }
        let other_version = |error: serde_json::Error| Error::Data(format!("another rank is not understood: {error}"));
        let text = serde_json::to_vec(&own).map_err(other_version)?;
        let texts = self.all_to_all(vec![text; self.size()])?;
        texts.iter().map(|text| serde_json::from_slice(text).map_err(other_version)).collect()
    }

    /// Splits the keys of all ranks: exactly `count` keys are at most the result, or a few more if keys are equal. `count` is
    /// at least 1, and less than the number of keys.
    ///
    /// `histogram(from, digit)` counts this rank's keys by their [`DIGIT`] bits starting at bit `from`, highest bits first;
    /// after the first round, only the keys counted in the round before whose digit was `digit`. Keys have `bits` bits.
    ///
    /// # Errors
    /// As [`Exchange::all_to_all`].
    pub(super) fn split(
        &self,
        count: u64,
        bits: u32,
        mut histogram: impl FnMut(u32, Option<usize>) -> Vec<u64>,
    ) -> Result<u128> {
        let (mut rest, mut prefix, mut from, mut before) = (count, 0, bits - DIGIT, None);
        loop {
            let ranks = self.gather(histogram(from, before))?;
            let bin = |i: usize| ranks.iter().map(|bins| bins[i]).sum::<u64>();
            let mut digit = 0;
            while bin(digit) < rest {
                rest -= bin(digit);
                digit += 1;
            }
            prefix = prefix << DIGIT | digit as u128;
            if bin(digit) == rest || from == 0 {
                return Ok(((prefix + 1) << from) - 1);
            }
            (from, before) = (from - DIGIT, Some(digit));
        }
    }

    /// The rank that owns a state, by the lower half of its hash; tables take the upper half and the lowest bits. Layers on a
    /// device have a rule of their own: see `search::device`. A change of either rule is a new [`VERSION`].
    pub fn owner(&self, hash: u64) -> usize {
        ((u64::from(hash as u32) * self.size() as u64) >> 32) as usize
    }
}
