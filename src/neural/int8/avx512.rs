//! Products by `vpdpbusd` (AVX-512 VNNI): four products of bytes and their sum for each 32-bit lane, blocked in registers, 6
//! rows by 64 outputs.

use super::{FirstLayer, Int8Layer, Kernel, PAD, TILE, largest, load_at, store_at};
use crate::cpu_features::{Instructions, may_use};
use std::arch::x86_64::*;

/// Rows of a block of registers: with 4 registers of outputs each, 24 sums and 5 operands fill 29 of 32.
const ROWS: usize = 6;
const LANES: usize = 16;
/// Outputs of a block of registers.
const PANEL: usize = 64;
const GROUPS: usize = PANEL / LANES;

pub(super) struct Avx512;

impl Kernel for Avx512 {
    const PANEL: usize = PANEL;
    const MAX_ACTIVATION: f32 = u8::MAX as f32;
    const CORE_RATE: f64 = 190e9; // on a Zen 5

    fn is_available() -> bool {
        may_use(Instructions::Avx512)
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni")
    }

    fn weight_scale(row: &[f32]) -> f32 {
        largest(row) / f32::from(i8::MAX)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn first_layer(layer: &FirstLayer, rows: &[u8], cells: usize, out: &mut [f32]) {
        for (panel, addends) in layer.panels().enumerate() {
            let from = panel * PAD;
            for (row, out) in rows.chunks(cells).zip(out.chunks_mut(layer.outputs)) {
                let mut sums = [_mm512_setzero_si512(); PAD / 32];
                for (i, &cell) in layer.cells.iter().enumerate() {
                    let at = (i * layer.symbols + usize::from(row[cell])) * PAD;
                    let addends = addends[at..at + PAD].as_ptr();
                    for (register, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: the slice holds two registers of 32 numbers.
                        *sum = _mm512_add_epi16(*sum, unsafe { load_at(addends.add(32 * register).cast()) });
                    }
                }
                let halves = [
                    _mm512_castsi512_si256(sums[0]),
                    _mm512_extracti64x4_epi64(sums[0], 1),
                    _mm512_castsi512_si256(sums[1]),
                    _mm512_extracti64x4_epi64(sums[1], 1),
                ];
                for (group, half) in halves.into_iter().enumerate() {
                    let at = from + group * LANES;
                    let sum = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(half));
                    let sum = _mm512_fmadd_ps(sum, load(&layer.scales[at..]), load(&layer.biases[at..]));
                    store(&mut out[at..], _mm512_max_ps(sum, _mm512_setzero_ps()));
                }
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn quantize(from: &[f32], width: usize, bytes: &mut [u8], scales: &mut [f32; TILE]) {
        for ((row, bytes), scale) in from.chunks_exact(width).zip(bytes.chunks_exact_mut(width)).zip(scales) {
            let mut max = _mm512_setzero_ps();
            for part in row.chunks_exact(LANES) {
                max = _mm512_max_ps(max, load(part));
            }
            let max = _mm512_reduce_max_ps(max).max(f32::MIN_POSITIVE);
            *scale = max / Self::MAX_ACTIVATION;
            let factor = _mm512_set1_ps(Self::MAX_ACTIVATION / max);
            for (part, bytes) in row.chunks_exact(LANES).zip(bytes.chunks_exact_mut(LANES)) {
                let rounded = _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(load(part), factor)));
                // SAFETY: the slice holds 16 bytes.
                unsafe { store_at(bytes.as_mut_ptr().cast(), rounded) };
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn dense<const ADD: bool>(layer: &Int8Layer, bytes: &[u8], scales: &[f32; TILE], out: &mut [f32]) {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        assert!(bytes.len() >= TILE * inputs && out.len() >= TILE * outputs && TILE.is_multiple_of(ROWS));
        for (panel, weights) in layer.weights.chunks_exact(inputs * PANEL).enumerate() {
            let from = panel * PANEL;
            for first in (0..TILE).step_by(ROWS) {
                let rows = &bytes[first * inputs..][..ROWS * inputs];
                // SAFETY: the processor has AVX-512 VNNI.
                let sums = unsafe { block(weights, rows, inputs) };
                for (row, sums) in (first..).zip(sums) {
                    let row_scale = _mm512_set1_ps(scales[row]);
                    for (group, sum) in sums.into_iter().enumerate() {
                        let at = from + group * LANES;
                        let out = &mut out[row * outputs + at..];
                        let scale = _mm512_mul_ps(row_scale, load(&layer.scales[at..]));
                        let mut sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, load(&layer.biases[at..]));
                        if ADD {
                            sum = _mm512_add_ps(sum, load(out));
                        }
                        store(out, _mm512_max_ps(sum, _mm512_setzero_ps()));
                    }
                }
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn dot(a: &[f32], b: &[f32]) -> f32 {
        let mut sum = _mm512_setzero_ps();
        for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
            sum = _mm512_fmadd_ps(load(a), load(b), sum);
        }
        _mm512_reduce_add_ps(sum)
    }
}

/// The sums of a block of registers: the products of [`ROWS`] rows of `inputs` bytes and a panel of weights.
///
/// It has no loop over registers, and no iterator: builds without full optimization, which tests run, would keep the registers
/// in memory.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn block(weights: &[i8], rows: &[u8], inputs: usize) -> [[__m512i; GROUPS]; ROWS] {
    assert!(weights.len() == inputs * PANEL && rows.len() == inputs * ROWS);
    let mut sums = [[_mm512_setzero_si512(); GROUPS]; ROWS];
    let (mut weights, mut rows) = (weights.as_ptr(), rows.as_ptr());
    for _ in 0..inputs / 4 {
        // SAFETY: a panel has `inputs / 4` times 4 registers of weights, and a row `inputs` bytes.
        unsafe {
            let [a, b, c, d]: [__m512i; GROUPS] = load_at(weights.cast());
            macro_rules! add_row {
                ($row:literal) => {
                    let four = _mm512_set1_epi32(load_at(rows.add($row * inputs).cast::<i32>()));
                    sums[$row][0] = _mm512_dpbusd_epi32(sums[$row][0], four, a);
                    sums[$row][1] = _mm512_dpbusd_epi32(sums[$row][1], four, b);
                    sums[$row][2] = _mm512_dpbusd_epi32(sums[$row][2], four, c);
                    sums[$row][3] = _mm512_dpbusd_epi32(sums[$row][3], four, d);
                };
            }
            add_row!(0);
            add_row!(1);
            add_row!(2);
            add_row!(3);
            add_row!(4);
            add_row!(5);
            (weights, rows) = (weights.add(4 * PANEL), rows.add(4));
        }
    }
    sums
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn load(from: &[f32]) -> __m512 {
    let from = &from[..LANES];
    // SAFETY: the slice holds 16 numbers.
    unsafe { load_at(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn store(to: &mut [f32], values: __m512) {
    let to = &mut to[..LANES];
    // SAFETY: the slice holds 16 numbers.
    unsafe { store_at(to.as_mut_ptr().cast(), values) }
}
