//! The number format of a network's matrix products.

use super::device::Device;
use crate::cpu_features::{Instructions, may_use};
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

    /// Multiply-adds a second of a core in dense layers, measured in beams of the cube: 8-bit products on a Zen 5 with AVX-512
    /// VNNI and on a Zen 3 with AVX2; bf16 on the former, where they take twice the time; f32 on the latter.
    pub(crate) fn core_rate(self) -> f64 {
        #[cfg(target_arch = "x86_64")]
        let has_vnni = may_use(Instructions::Avx512) && is_x86_feature_detected!("avx512vnni");
        #[cfg(not(target_arch = "x86_64"))]
        let has_vnni = false;
        match self {
            Precision::Int8 if has_vnni => 190e9,
            Precision::Int8 => 71e9,
            Precision::Bf16 => 95e9,
            Precision::F32 => 17e9,
        }
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
