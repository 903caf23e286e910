//! Seeded random numbers: every random choice of costar uses a generator that the caller passes.

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The random number generator.
pub type Generator = Xoshiro256PlusPlus;

/// The generator of a stream of a seed: streams of one seed are independent.
pub fn generator(seed: u64, stream: u64) -> Generator {
    let mut mixer = rand_xoshiro::SplitMix64::seed_from_u64(seed);
    Xoshiro256PlusPlus::seed_from_u64(mixer.next_u64() ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A uniform number below `count`: the high half of a product (Lemire 2019, without rejection; the bias is below
/// `count` / 2³²).
#[inline]
pub fn below(generator: &mut impl RngCore, count: usize) -> usize {
    ((u64::from(generator.next_u32()) * count as u64) >> 32) as usize
}
