//! Products by `vpmaddubsw` and `vpmaddwd` (AVX2): 16-bit sums of two products of bytes are added in pairs, then widened to
//! 32 bits.
//!
//! Activations are rounded to 7 bits, and an output's weights so that the four products of a 16-bit sum never exceed
//! `i16::MAX`: sums are exact, as with AVX-512. A block of registers is 4 rows by 16 outputs.

use super::{FirstLayer, Int8Layer, Kernel, PAD, TILE, largest, load_at, store_at};
use crate::cpu_features::{Instructions, may_use};
use std::arch::x86_64::*;

/// Rows of a block of registers: with 2 registers of outputs each, 8 sums, 4 registers of weights and the operands fill 16.
const ROWS: usize = 4;
const LANES: usize = 8;
/// Outputs of a block of registers.
const PANEL: usize = 16;
const GROUPS: usize = PANEL / LANES;
/// Inputs whose products are added in 16 bits, four per sum.
const NARROW: usize = 8;

pub(super) struct Avx2;

impl Kernel for Avx2 {
    const PANEL: usize = PANEL;
    const MAX_ACTIVATION: f32 = i8::MAX as f32;
    const CORE_RATE: f64 = 71e9; // on a Zen 3

    fn is_available() -> bool {
        may_use(Instructions::Avx2) && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    fn weight_scale(row: &[f32]) -> f32 {
        let sum = |eight: &[f32], first: usize| -> f32 {
            [0, 1, 4, 5].iter().filter_map(|i| eight.get(first + i)).map(|weight| weight.abs()).sum()
        };
        let together = row.chunks(NARROW).map(|eight| sum(eight, 0).max(sum(eight, 2))).fold(0f32, f32::max);
        // The largest sum of four weights; each is rounded by at most a half.
        let max_sum = (f32::from(i16::MAX) / Self::MAX_ACTIVATION).floor() - 2.0;
        (largest(row) / f32::from(i8::MAX)).max(together / max_sum)
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn first_layer(layer: &FirstLayer, rows: &[u8], cells: usize, out: &mut [f32]) {
        for (panel, addends) in layer.panels().enumerate() {
            let from = panel * PAD;
            for (row, out) in rows.chunks(cells).zip(out.chunks_mut(layer.outputs)) {
                let mut sums = [_mm256_setzero_si256(); PAD / 16];
                for (i, &cell) in layer.cells.iter().enumerate() {
                    let at = (i * layer.symbols + usize::from(row[cell])) * PAD;
                    let addends = addends[at..at + PAD].as_ptr();
                    // SAFETY: the slice holds four registers of 16 numbers.
                    let [a, b, c, d]: [__m256i; PAD / 16] = unsafe { load_at(addends.cast()) };
                    sums[0] = _mm256_add_epi16(sums[0], a);
                    sums[1] = _mm256_add_epi16(sums[1], b);
                    sums[2] = _mm256_add_epi16(sums[2], c);
                    sums[3] = _mm256_add_epi16(sums[3], d);
                }
                for (register, sum) in sums.into_iter().enumerate() {
                    for (half, sum) in
                        [_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum)].into_iter().enumerate()
                    {
                        let at = from + register * 16 + half * LANES;
                        let sum = _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(sum));
                        let sum = _mm256_fmadd_ps(sum, load(&layer.scales[at..]), load(&layer.biases[at..]));
                        store(&mut out[at..], _mm256_max_ps(sum, _mm256_setzero_ps()));
                    }
                }
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn quantize(from: &[f32], width: usize, bytes: &mut [u8], scales: &mut [f32; TILE]) {
        /// Packing works on halves of registers: this order undoes it.
        const ORDER: [i32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];
        // SAFETY: 8 numbers are read.
        let order = unsafe { load_at(ORDER.as_ptr().cast()) };
        for ((row, bytes), scale) in from.chunks_exact(width).zip(bytes.chunks_exact_mut(width)).zip(scales) {
            let mut max = [_mm256_setzero_ps(); 4];
            for part in row.chunks_exact(4 * LANES) {
                for (i, max) in max.iter_mut().enumerate() {
                    *max = _mm256_max_ps(*max, load(&part[i * LANES..]));
                }
            }
            let max = _mm256_max_ps(_mm256_max_ps(max[0], max[1]), _mm256_max_ps(max[2], max[3]));
            let mut lanes = [0f32; LANES];
            store(&mut lanes, max);
            let max = largest(&lanes).max(f32::MIN_POSITIVE);
            *scale = max / Self::MAX_ACTIVATION;
            let factor = _mm256_set1_ps(Self::MAX_ACTIVATION / max);
            for (part, bytes) in row.chunks_exact(4 * LANES).zip(bytes.chunks_exact_mut(4 * LANES)) {
                let rounded = |from: usize| _mm256_cvtps_epi32(_mm256_mul_ps(load(&part[from..]), factor));
                let low = _mm256_packs_epi32(rounded(0), rounded(LANES));
                let packed = _mm256_packus_epi16(low, _mm256_packs_epi32(rounded(2 * LANES), rounded(3 * LANES)));
                // SAFETY: the slice holds 32 bytes.
                unsafe { store_at(bytes.as_mut_ptr().cast(), _mm256_permutevar8x32_epi32(packed, order)) };
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn dense<const ADD: bool>(layer: &Int8Layer, bytes: &[u8], scales: &[f32; TILE], out: &mut [f32]) {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        assert!(bytes.len() >= TILE * inputs && out.len() >= TILE * outputs && TILE.is_multiple_of(ROWS));
        assert!(inputs.is_multiple_of(NARROW));
        for (panel, weights) in layer.weights.chunks_exact(inputs * PANEL).enumerate() {
            let from = panel * PANEL;
            for first in (0..TILE).step_by(ROWS) {
                let rows = &bytes[first * inputs..][..ROWS * inputs];
                // SAFETY: the processor has AVX2.
                let sums = unsafe { block(weights, rows, inputs) };
                for (row, sums) in (first..).zip(sums) {
                    let row_scale = _mm256_set1_ps(scales[row]);
                    for (group, sum) in sums.into_iter().enumerate() {
                        let at = from + group * LANES;
                        let out = &mut out[row * outputs + at..];
                        let scale = _mm256_mul_ps(row_scale, load(&layer.scales[at..]));
                        let mut sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, load(&layer.biases[at..]));
                        if ADD {
                            sum = _mm256_add_ps(sum, load(out));
                        }
                        store(out, _mm256_max_ps(sum, _mm256_setzero_ps()));
                    }
                }
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn dot(a: &[f32], b: &[f32]) -> f32 {
        let mut sums = [_mm256_setzero_ps(); 2];
        for (a, b) in a.chunks_exact(2 * LANES).zip(b.chunks_exact(2 * LANES)) {
            sums = [
                _mm256_fmadd_ps(load(a), load(b), sums[0]),
                _mm256_fmadd_ps(load(&a[LANES..]), load(&b[LANES..]), sums[1]),
            ];
        }
        let mut lanes = [0f32; LANES];
        store(&mut lanes, _mm256_add_ps(sums[0], sums[1]));
        lanes.iter().sum()
    }
}

/// The sums of a block of registers: the products of [`ROWS`] rows of `inputs` bytes and a panel of weights.
///
/// It has no loop over registers, and no iterator: builds without full optimization, which tests run, would keep the registers
/// in memory.
#[target_feature(enable = "avx2,fma")]
unsafe fn block(weights: &[i8], rows: &[u8], inputs: usize) -> [[__m256i; GROUPS]; ROWS] {
    assert!(weights.len() == inputs * PANEL && rows.len() == inputs * ROWS);
    let ones = _mm256_set1_epi16(1);
    let mut sums = [[_mm256_setzero_si256(); GROUPS]; ROWS];
    let (mut weights, mut rows) = (weights.as_ptr(), rows.as_ptr());
    for _ in 0..inputs / NARROW {
        // SAFETY: a panel has `inputs / 8` times 4 registers of weights, and a row `inputs` bytes.
        unsafe {
            let [a, b, c, d]: [__m256i; 2 * GROUPS] = load_at(weights.cast());
            macro_rules! add_row {
                ($row:literal) => {
                    let fours = rows.add($row * inputs).cast::<i32>();
                    let (one, other) = (_mm256_set1_epi32(load_at(fours)), _mm256_set1_epi32(load_at(fours.add(1))));
                    let narrow = _mm256_add_epi16(_mm256_maddubs_epi16(one, a), _mm256_maddubs_epi16(other, c));
                    sums[$row][0] = _mm256_add_epi32(sums[$row][0], _mm256_madd_epi16(narrow, ones));
                    let narrow = _mm256_add_epi16(_mm256_maddubs_epi16(one, b), _mm256_maddubs_epi16(other, d));
                    sums[$row][1] = _mm256_add_epi32(sums[$row][1], _mm256_madd_epi16(narrow, ones));
                };
            }
            add_row!(0);
            add_row!(1);
            add_row!(2);
            add_row!(3);
            (weights, rows) = (weights.add(NARROW * PANEL), rows.add(NARROW));
        }
    }
    sums
}

#[target_feature(enable = "avx2,fma")]
fn load(from: &[f32]) -> __m256 {
    let from = &from[..LANES];
    // SAFETY: the slice holds 8 numbers.
    unsafe { load_at(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma")]
fn store(to: &mut [f32], values: __m256) {
    let to = &mut to[..LANES];
    // SAFETY: the slice holds 8 numbers.
    unsafe { store_at(to.as_mut_ptr().cast(), values) }
}
