//! The number format of a network's matrix products.

use super::device::Device;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tch::Kind;

/// The number format of matrix products; everything else is f32, the master weights too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats.
    F32,
    /// bfloat16.
    Bf16,
    /// 8-bit integers: for solving only, with dense networks on CPUs that have AVX-512 VNNI or AVX2.
    Int8,
}

impl Precision {
    /// bf16 if the device is fast at it, else f32.
    pub fn auto(device: Device) -> Precision {
        if device.has_fast_bf16() { Precision::Bf16 } else { Precision::F32 }
    }

    /// The kind of the tensors; bf16 also if 8-bit integers cannot be used.
    pub(super) fn kind(self) -> Kind {
        if self == Precision::F32 { Kind::Float } else { Kind::BFloat16 }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_value(text.into())
            .map_err(|_| format!("unknown precision '{text}': expected f32, bf16 or int8"))
    }
}
