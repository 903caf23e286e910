//! How the matrix products of a network are done.

use super::device::Device;
use super::int8;
use super::network::NetworkKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tch::Kind;

/// How the matrix products are done; everything else is f32, the master weights too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// In 32 bits.
    F32,
    /// In bfloat16.
    Bf16,
    /// In 8-bit integers: to solve with, not to train with, and only dense networks on CPUs with AVX-512 VNNI or AVX2.
    Int8,
}

impl Precision {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Precision); 3] =
        [("f32", Precision::F32), ("bf16", Precision::Bf16), ("int8", Precision::Int8)];

    /// bf16 where the device is fast at it, else f32.
    pub fn auto(device: Device) -> Precision {
        if device.has_fast_bf16() { Precision::Bf16 } else { Precision::F32 }
    }

    /// The default for solving: what is fastest.
    pub fn for_solving(device: Device, network: NetworkKind) -> Precision {
        if Precision::Int8.serves(device, network) { Precision::Int8 } else { Precision::auto(device) }
    }

    /// Whether networks of this kind can be solved with in this precision, on this device.
    pub fn serves(self, device: Device, network: NetworkKind) -> bool {
        self != Precision::Int8 || (!device.is_cuda() && network == NetworkKind::Mlp && int8::is_available())
    }

    /// The kind of the tensors.
    pub(super) fn kind(self) -> Kind {
        match self {
            Precision::F32 => Kind::Float,
            Precision::Bf16 | Precision::Int8 => Kind::BFloat16,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
            Precision::Int8 => "int8",
        })
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Precision::ALL.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, precision)| *precision)
            .ok_or_else(|| format!("unknown precision '{text}': expected f32, bf16 or int8"))
    }
}
