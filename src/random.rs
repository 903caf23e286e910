//! Seeded random numbers: every random choice in costar comes from a generator that is passed in.

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
pub type Generator = Xoshiro256PlusPlus;

/// The generator of a numbered stream of a seed.
pub fn generator(seed: u64, stream: u64) -> Generator {
    let mut mixer = rand_xoshiro::SplitMix64::seed_from_u64(seed);
    Xoshiro256PlusPlus::seed_from_u64(mixer.next_u64() ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A number below `count`: the high half of a product (Lemire 2019, without the rejection: the bias is below
/// `count` in 2³²).
#[inline]
pub fn below(generator: &mut impl RngCore, count: usize) -> usize {
    ((u64::from(generator.next_u32()) * count as u64) >> 32) as usize
}
