//! The dense network in 8-bit integers, for solving on a CPU: twice the rate of its bfloat16 products with AVX-512 VNNI,
//! and of its f32 products with AVX2.
//!
//! - Weights are rounded once, with one scale per output; activations, which are never negative, to bytes, with one scale per
//!   row. No statistics of activations are needed, and a state's estimate does not depend on the rest of the batch. Sums are
//!   exact integers; biases, the residual stream and the heads stay f32.
//! - The first layer is not a matrix product: for a one-hot row, it is a sum of one table row per cell.
//! - A core takes tiles of rows through all layers, so that activations never leave its cache; the products are blocked in
//!   registers. The [`Kernel`] holds all that depends on the processor's instructions.
//!
//! After Jacob et al. 2018 (integer arithmetic of networks), with dynamic scales.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::evaluator::{Evaluator, PassInFlight};
use super::layers::Heads;
use crate::heuristic::Estimates;
use crate::tensors::host_values;
use crate::workers::on_each;
use ndarray::{Array2, ArrayView2};
use std::marker::PhantomData;
use std::sync::Mutex;
use tch::Tensor;

/// Rows that a core takes through the network at once.
const TILE: usize = 48;

/// Inputs and outputs of a layer are padded with zeros to multiples of this. A kernel's panels divide it.
const PAD: usize = 64;

/// Rounds networks for a kernel.
pub(super) struct Rounding {
    /// Rounds a network.
    pub(super) round: fn(FloatMlp) -> Box<dyn Evaluator>,
    /// See [`Kernel::CORE_RATE`].
    pub(super) core_rate: f64,
}

impl Rounding {
    fn of<K: Kernel + 'static>() -> Self {
        Rounding { round: |network| Box::new(Int8Mlp::<K>::new(network)), core_rate: K::CORE_RATE }
    }
}

/// For the fastest kernel of this machine; `None` if it has none.
pub(super) fn rounding() -> Option<Rounding> {
    #[cfg(target_arch = "x86_64")]
    if avx512::Avx512::is_available() {
        return Some(Rounding::of::<avx512::Avx512>());
    } else if avx2::Avx2::is_available() {
        return Some(Rounding::of::<avx2::Avx2>());
    }
    None
}

/// Functions that depend on the processor's instructions. Unsafe to call if [`Kernel::is_available`] is `false`.
trait Kernel: Send + Sync {
    /// Outputs of a block of registers: the weights of a layer are stored in panels of these.
    const PANEL: usize;
    /// The largest rounded activation.
    const MAX_ACTIVATION: f32;
    /// Multiply-adds a second of a core in dense layers, measured in beams of the cube.
    const CORE_RATE: f64;

    fn is_available() -> bool;

    /// The scale of an output's weights: the least at which no rounded weight exceeds 127 and no 16-bit sum overflows.
    fn weight_scale(row: &[f32]) -> f32;

    /// The first layer with its ReLU; `out` is `TILE × outputs`.
    unsafe fn first_layer(layer: &FirstLayer, rows: &[u8], cells: usize, out: &mut [f32]);

    /// Rounds a tile of rows that are not negative to bytes, with one scale per row.
    unsafe fn quantize(from: &[f32], width: usize, bytes: &mut [u8], scales: &mut [f32; TILE]);

    /// A dense layer on a tile: `out` becomes ReLU of the product and the bias, with `ADD` plus its old value.
    unsafe fn dense<const ADD: bool>(layer: &Int8Layer, bytes: &[u8], scales: &[f32; TILE], out: &mut [f32]);

    /// The product of two vectors, whose lengths are the same multiple of 16.
    unsafe fn dot(a: &[f32], b: &[f32]) -> f32;
}

/// A dense layer before rounding: weights `outputs × inputs`, one bias per output.
pub(super) struct FloatLayer {
    weights: Vec<f32>,
    biases: Vec<f32>,
}

impl FloatLayer {
    pub(super) fn new(weights: &Tensor, biases: Option<&Tensor>) -> Self {
        let biases = biases.map_or_else(|| vec![0.0; weights.size()[0] as usize], host_values);
        FloatLayer { weights: host_values(weights), biases }
    }

    fn inputs(&self) -> usize {
        self.weights.len() / self.biases.len()
    }

    /// The biases, padded with zeros.
    fn padded_biases(&self) -> Vec<f32> {
        let mut biases = self.biases.clone();
        biases.resize(biases.len().next_multiple_of(PAD), 0.0);
        biases
    }
}

/// The network `mlp` before rounding.
pub(super) struct FloatMlp {
    /// The cells of its one-hot, which is ordered by symbol first.
    pub(super) cells: Vec<usize>,
    pub(super) input: FloatLayer,
    pub(super) hidden: FloatLayer,
    pub(super) blocks: Vec<[FloatLayer; 2]>,
    /// Not rounded.
    pub(super) heads: Heads<FloatLayer>,
    pub(super) operations: u64,
}

/// The network `mlp` in 8-bit integers. Made only if its kernel is available.
struct Int8Mlp<K> {
    input: FirstLayer,
    hidden: Int8Layer,
    blocks: Vec<[Int8Layer; 2]>,
    heads: Heads<FloatLayer>,
    threads: usize,
    operations: u64,
    kernel: PhantomData<K>,
}

impl<K: Kernel> Int8Mlp<K> {
    fn new(network: FloatMlp) -> Self {
        let FloatMlp { cells, input, hidden, blocks, heads, operations } = network;
        Int8Mlp {
            input: FirstLayer::new(cells, &input),
            hidden: Int8Layer::new::<K>(&hidden),
            blocks: blocks.iter().map(|block| block.each_ref().map(Int8Layer::new::<K>)).collect(),
            heads,
            threads: tch::get_num_threads() as usize,
            operations,
            kernel: PhantomData,
        }
    }

    /// Evaluates at most [`TILE`] rows.
    fn evaluate(&self, rows: &[u8], cells: usize, policy: Option<&FloatLayer>, scratch: &mut Scratch) -> Estimates {
        let Scratch { inner, stream, bytes, scales } = scratch;
        // SAFETY: the kernel is available; so below.
        unsafe {
            K::first_layer(&self.input, rows, cells, inner);
            K::quantize(inner, self.hidden.inputs, bytes, scales);
            K::dense::<false>(&self.hidden, bytes, scales, stream);
            for [first, second] in &self.blocks {
                K::quantize(stream, first.inputs, bytes, scales);
                K::dense::<false>(first, bytes, scales, inner);
                K::quantize(inner, second.inputs, bytes, scales);
                K::dense::<true>(second, bytes, scales, stream);
            }
        }
        let (count, width) = (rows.len() / cells, self.hidden.outputs);
        // Features are longer than the weights of a head by padding.
        let output = |layer: &FloatLayer, index: usize, row: usize| {
            let (inputs, features) = (layer.inputs(), &stream[row * width..]);
            let weights = &layer.weights[index * inputs..][..inputs];
            let whole = inputs / 16 * 16;
            // SAFETY: see above.
            let sum = unsafe { K::dot(&weights[..whole], &features[..whole]) };
            let rest: f32 = weights[whole..].iter().zip(&features[whole..]).map(|(a, b)| a * b).sum();
            layer.biases[index] + sum + rest
        };
        let Heads { value, offset, scale, .. } = &self.heads;
        let (offset, scale) = (*offset as f32, *scale as f32);
        let values = (0..count).map(|row| offset + scale * output(value, 0, row)).collect();
        let policy = policy.map(|policy| {
            let mut logits =
                Array2::from_shape_fn((count, policy.biases.len()), |(row, index)| output(policy, index, row));
            for mut row in logits.rows_mut() {
                let largest = row.fold(f32::NEG_INFINITY, |largest, &logit| largest.max(logit));
                row.mapv_inplace(|logit| (logit - largest).exp());
                let sum: f32 = row.iter().sum();
                row /= sum;
            }
            logits
        });
        Estimates { values, policy }
    }
}

impl<K: Kernel> Evaluator for Int8Mlp<K> {
    fn operations(&self) -> u64 {
        self.operations
    }

    fn begin(&self, rows: ArrayView2<'_, u8>, with_policy: bool) -> Box<dyn PassInFlight> {
        let policy = self.heads.policy.as_ref().filter(|_| with_policy);
        let cells = rows.ncols();
        let tiles = rows.to_slice().expect("rows are contiguous").chunks(TILE * cells).collect();
        let (narrow, widest) = (self.hidden.outputs, self.hidden.inputs.max(self.hidden.outputs));
        let new = || Scratch {
            inner: vec![0.0; TILE * widest],
            stream: vec![0.0; TILE * narrow],
            bytes: vec![0; TILE * widest],
            scales: [0.0; TILE],
        };
        let unused = Mutex::new(Vec::new());
        let parts = on_each(self.threads, tiles, |tile| {
            let mut scratch = unused.lock().expect("no holder panics").pop().unwrap_or_else(new);
            let estimates = self.evaluate(tile, cells, policy, &mut scratch);
            unused.lock().expect("no holder panics").push(scratch);
            estimates
        });
        let policy = policy.map(|policy| Array2::zeros((0, policy.biases.len())));
        let mut all = Estimates { values: Vec::new(), policy };
        parts.into_iter().for_each(|part| all.append(part));
        Box::new(all)
    }
}

/// The first layer: for each cell and each symbol in it, its addend to every output, in 16 bits.
struct FirstLayer {
    cells: Vec<usize>,
    symbols: usize,
    outputs: usize,
    /// `panels × cells × symbols × PAD`.
    sums: Vec<i16>,
    scales: Vec<f32>,
    biases: Vec<f32>,
}

impl FirstLayer {
    fn new(cells: Vec<usize>, layer: &FloatLayer) -> Self {
        let inputs = layer.inputs();
        let symbols = inputs / cells.len();
        let biases = layer.padded_biases();
        let outputs = biases.len();
        let (mut scales, mut sums) = (vec![0f32; outputs], vec![0i16; outputs * inputs]);
        for (output, weights) in layer.weights.chunks(inputs).enumerate() {
            let weight = |cell: usize, symbol: usize| weights[symbol * cells.len() + cell];
            let largest = |cell| (0..symbols).map(|symbol| weight(cell, symbol).abs()).fold(0f32, f32::max);
            // No sum overflows, roundings of half a unit per cell included.
            let largest_sum: f32 = (0..cells.len()).map(largest).sum();
            scales[output] = (largest_sum / (i16::MAX as f32 - cells.len() as f32)).max(f32::MIN_POSITIVE);
            for cell in 0..cells.len() {
                for symbol in 0..symbols {
                    let row = (output / PAD * cells.len() + cell) * symbols + symbol;
                    sums[row * PAD + output % PAD] = (weight(cell, symbol) / scales[output]).round() as i16;
                }
            }
        }
        FirstLayer { cells, symbols, outputs, sums, scales, biases }
    }

    /// The addends to each [`PAD`] outputs.
    fn panels(&self) -> impl Iterator<Item = &[i16]> {
        self.sums.chunks_exact(self.cells.len() * self.symbols * PAD)
    }
}

/// A dense layer in 8 bits.
struct Int8Layer {
    /// Both padded to multiples of [`PAD`].
    inputs: usize,
    outputs: usize,
    /// `panels × inputs / 4 × panel × 4`, in panels of [`Kernel::PANEL`] outputs.
    weights: Vec<i8>,
    scales: Vec<f32>,
    biases: Vec<f32>,
}

impl Int8Layer {
    fn new<K: Kernel>(layer: &FloatLayer) -> Self {
        let inputs = layer.inputs().next_multiple_of(PAD);
        let biases = layer.padded_biases();
        let outputs = biases.len();
        let (mut weights, mut scales) = (vec![0i8; inputs * outputs], vec![0f32; outputs]);
        for (output, row) in layer.weights.chunks(layer.inputs()).enumerate() {
            scales[output] = K::weight_scale(row).max(f32::MIN_POSITIVE);
            for (input, weight) in row.iter().enumerate() {
                let quad = (output / K::PANEL * (inputs / 4) + input / 4) * K::PANEL + output % K::PANEL;
                weights[quad * 4 + input % 4] = (weight / scales[output]).round() as i8;
            }
        }
        Int8Layer { inputs, outputs, weights, scales, biases }
    }
}

/// The largest absolute value.
fn largest(numbers: &[f32]) -> f32 {
    numbers.iter().fold(0f32, |largest, number| largest.max(number.abs()))
}

/// A value at any address. The loads of the standard library are checked in builds with debug assertions, and take most of a
/// network's time there.
#[repr(C, packed)]
struct Unaligned<T>(T);

/// Loads a value from any address. Unsafe unless one lies there.
#[inline(always)]
unsafe fn load_at<T: Copy>(at: *const T) -> T {
    // SAFETY: see above.
    unsafe { (*at.cast::<Unaligned<T>>()).0 }
}

/// Stores a value at any address. Unsafe unless it may be written there.
#[inline(always)]
unsafe fn store_at<T: Copy>(at: *mut T, value: T) {
    // SAFETY: see above.
    unsafe { (*at.cast::<Unaligned<T>>()).0 = value };
}

/// The memory of a core for one tile.
struct Scratch {
    /// Activations of the first layer, and between the two layers of a block.
    inner: Vec<f32>,
    /// The residual stream.
    stream: Vec<f32>,
    /// Rounded activations, and the scale of each row.
    bytes: Vec<u8>,
    scales: [f32; TILE],
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;
    use crate::random::generator;
    use rand::Rng;

    /// A layer of equal weights, whose sums are as large as possible, or of random ones with a few outliers.
    fn layer(inputs: usize, outputs: usize, same: bool) -> FloatLayer {
        let mut random = generator(1, 0);
        let mut weight = |_| match (same, random.random_range(0..40)) {
            (true, _) => 0.3f32,
            (false, 0) => random.random_range(-4.0..4.0),
            (false, _) => random.random_range(-1.0..1.0),
        };
        FloatLayer {
            weights: (0..inputs * outputs).map(&mut weight).collect(),
            biases: (0..outputs).map(&mut weight).collect(),
        }
    }

    /// Compares a layer on a tile of bytes, all the largest or random ones, with exact integer sums.
    fn check_dense<K: Kernel>(same: bool) {
        let (inputs, outputs) = (192, 128);
        let dense = Int8Layer::new::<K>(&layer(inputs - 5, outputs - 3, same));
        let mut random = generator(2, 0);
        let largest = K::MAX_ACTIVATION as u8;
        let bytes: Vec<u8> =
            (0..TILE * inputs).map(|_| if same { largest } else { random.random_range(0..=largest) }).collect();
        let scales: [f32; TILE] = std::array::from_fn(|row| 0.01 + row as f32);
        let before: Vec<f32> = (0..TILE * outputs).map(|i| i as f32 % 7.0).collect();
        let mut out = before.clone();
        // SAFETY: the caller has checked that it is available.
        unsafe { K::dense::<true>(&dense, &bytes, &scales, &mut out) };
        for row in 0..TILE {
            for output in 0..outputs {
                let sum: i32 = (0..inputs)
                    .map(|input| {
                        let quad = (output / K::PANEL * (inputs / 4) + input / 4) * K::PANEL + output % K::PANEL;
                        i32::from(dense.weights[quad * 4 + input % 4]) * i32::from(bytes[row * inputs + input])
                    })
                    .sum();
                let value = (sum as f32).mul_add(scales[row] * dense.scales[output], dense.biases[output]);
                let expected = (value + before[row * outputs + output]).max(0.0);
                assert_eq!(out[row * outputs + output], expected, "row {row}, output {output}");
            }
        }
    }

    fn check<K: Kernel>(name: &str) {
        if !K::is_available() {
            eprintln!("SKIPPED: this machine has no {name}");
            return;
        }
        check_dense::<K>(false);
        check_dense::<K>(true);
        let mut random = generator(3, 0);
        let numbers: Vec<f32> = (0..TILE * 64).map(|_| random.random_range(0.0..9.0)).collect();
        let (mut bytes, mut scales) = (vec![0; TILE * 64], [0.0; TILE]);
        // SAFETY: it is available.
        unsafe { K::quantize(&numbers, 64, &mut bytes, &mut scales) };
        for (i, (number, byte)) in numbers.iter().zip(&bytes).enumerate() {
            let error = (number - f32::from(*byte) * scales[i / 64]).abs();
            assert!(error <= 0.501 * scales[i / 64], "{number} is rounded to {byte} units of {}", scales[i / 64]);
        }
        // SAFETY: it is available.
        let dot = unsafe { K::dot(&numbers[..48], &numbers[48..96]) };
        let expected: f32 = numbers[..48].iter().zip(&numbers[48..96]).map(|(a, b)| a * b).sum();
        assert!((dot - expected).abs() < 1e-3 * expected);
        let cells = vec![1, 0, 3];
        let float = layer(12, 70, false);
        let first = FirstLayer::new(cells.clone(), &float);
        let rows: Vec<u8> = (0..TILE * 4).map(|_| random.random_range(0..4)).collect();
        let mut out = vec![0.0; TILE * first.outputs];
        // SAFETY: it is available.
        unsafe { K::first_layer(&first, &rows, 4, &mut out) };
        for (row, out) in rows.chunks(4).zip(out.chunks(first.outputs)) {
            for (output, &value) in out.iter().enumerate().take(70) {
                let weight = |(i, &cell): (usize, &usize)| float.weights[output * 12 + usize::from(row[cell]) * 3 + i];
                let sum: f32 = cells.iter().enumerate().map(weight).sum();
                assert!((value - (sum + float.biases[output]).max(0.0)).abs() < 2e-3);
            }
        }
    }

    #[test]
    fn kernels_agree_with_exact_sums() {
        check::<avx512::Avx512>("AVX-512 VNNI");
        check::<avx2::Avx2>("AVX2");
    }
}
