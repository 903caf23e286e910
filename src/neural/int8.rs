//! The dense network in 8-bit integers, for solving on a CPU: twice the rate of its bfloat16 products with AVX-512 VNNI,
//! and of its f32 products with AVX2.
//!
//! - Weights are rounded once, each output's by its own scale; activations, which are never negative, to bytes by the
//!   largest of their row. No statistics of activations are needed, and a state's estimate does not depend on what
//!   else is in the batch. Sums are exact integers; what is added to them (biases, the residual stream), and the output
//!   layers, stay f32.
//! - The first layer is no product: of a one-hot row, it is a sum of as many table rows as there are cells.
//! - A core takes tiles of rows through all layers at once, so that activations never leave its cache; the products are
//!   blocked in registers. What depends on the processor's instructions is a [`Kernel`].
//!
//! After Jacob et al. 2018 (integer arithmetic of networks), with dynamic scales.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::network::{Begun, Evaluation, Evaluator};
use ndarray::{Array2, ArrayView2};
use std::sync::Mutex;
use std::thread;

/// Rows that a core takes through the network at once.
const TILE: usize = 48;

/// Inputs and outputs of a layer are filled up with zeros to multiples of this. A kernel's panels divide it.
const PAD: usize = 64;

/// The instructions that products are done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Instructions {
    /// The fastest that this machine has.
    fn best() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            let found = [(avx512::Avx512::is_available(), Self::Avx512), (avx2::Avx2::is_available(), Self::Avx2)];
            found.into_iter().find_map(|(is_available, this)| is_available.then_some(this))
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }
}

/// Whether this machine can.
pub(super) fn is_available() -> bool {
    Instructions::best().is_some()
}

/// What depends on the processor's instructions.
///
/// The functions are unsafe to call where [`Kernel::is_available`] is `false`.
trait Kernel {
    /// Outputs that a block of registers holds of each row: the order of a product's weights.
    const PANEL: usize;
    /// What the largest activation of a row is rounded to.
    const MOST: f32;

    fn is_available() -> bool;

    /// The scale of an output's weights: the least at which no rounded weight exceeds 127 and no 16-bit sum overflows.
    fn weight_unit(row: &[f32]) -> f32;

    /// The first layer with its ReLU; `out` is `TILE × outputs`.
    unsafe fn look_up(table: &Table, rows: &[u8], cells: usize, out: &mut [f32]);

    /// Rounds a tile of rows that are not negative to bytes, each by its largest number.
    unsafe fn round(from: &[f32], width: usize, bytes: &mut [u8], units: &mut [f32; TILE]);

    /// A dense layer on a tile: `out` becomes ReLU of the product and the bias; with `ADD`, of these and itself.
    unsafe fn product<const ADD: bool>(layer: &Product, bytes: &[u8], units: &[f32; TILE], out: &mut [f32]);

    /// The product of two vectors, whose lengths are the same multiple of 16.
    unsafe fn dot(a: &[f32], b: &[f32]) -> f32;
}

/// A dense layer as it was trained, with what comes after its sums: `outputs × inputs` weights, a bias an output.
pub(super) struct Dense {
    pub(super) weights: Vec<f32>,
    pub(super) biases: Vec<f32>,
}

/// The output layers, and what makes moves of the value's output.
pub(super) struct Outputs {
    pub(super) value: Dense,
    pub(super) policy: Option<Dense>,
    pub(super) offset: f32,
    pub(super) scale: f32,
}

/// The dense residual network (`mlp`) in 8-bit integers.
pub(super) struct Int8Mlp {
    instructions: Instructions,
    input: Table,
    hidden: Product,
    blocks: Vec<[Product; 2]>,
    outputs: Outputs,
    threads: usize,
    operations: u64,
}

impl Int8Mlp {
    /// Rounds a network; `None` if the machine cannot ([`is_available`]). `cells` are those that its one-hot is made of,
    /// symbol by symbol.
    pub(super) fn new(
        cells: &[i64],
        input: &Dense,
        hidden: &Dense,
        blocks: impl Iterator<Item = [Dense; 2]>,
        outputs: Outputs,
        operations: u64,
    ) -> Option<Self> {
        let instructions = Instructions::best()?;
        let product = |layer: &Dense| Product::new(layer, instructions);
        Some(Int8Mlp {
            instructions,
            input: Table::new(cells.iter().map(|&cell| cell as usize).collect(), input),
            hidden: product(hidden),
            blocks: blocks.map(|block| block.each_ref().map(product)).collect(),
            outputs,
            threads: tch::get_num_threads() as usize,
            operations,
        })
    }
}

impl Evaluator for Int8Mlp {
    fn operations(&self) -> u64 {
        self.operations
    }

    fn begin(&self, rows: ArrayView2<'_, u8>, with_policy: bool) -> Box<dyn Begun> {
        let outputs = self.outputs.policy.as_ref().filter(|_| with_policy);
        let count = outputs.map_or(0, |moves| moves.biases.len());
        let (samples, cells) = rows.dim();
        let mut values = vec![0f32; samples];
        let mut probabilities = vec![0f32; samples * count];
        if samples > 0 {
            let rows = rows.as_slice().expect("rows are laid out one after the other");
            // An output of no moves still has a place to be written to.
            let places =
                probabilities.chunks_mut((TILE * count).max(1)).map(Some).chain(std::iter::repeat_with(|| None));
            let tiles = rows.chunks(TILE * cells).zip(values.chunks_mut(TILE)).zip(places);
            let tiles = Mutex::new(tiles);
            let work = || {
                let mut scratch = Scratch::new(self);
                loop {
                    let next = tiles.lock().expect("no tile panics").next();
                    let Some(((rows, values), policy)) = next else { break };
                    scratch.evaluate(self, rows, cells, values, policy.unwrap_or_default());
                }
            };
            let threads = self.threads.min(samples.div_ceil(TILE));
            thread::scope(|scope| {
                (1..threads).for_each(|_| drop(scope.spawn(work)));
                work();
            });
        }
        let policy = outputs
            .map(|_| Array2::from_shape_vec((samples, count), probabilities).expect("one row of moves a sample"));
        Box::new(Evaluation { values, policy })
    }
}

/// The first layer: for each cell and each symbol in it, what it adds to every output, in 16 bits.
struct Table {
    cells: Vec<usize>,
    symbols: usize,
    outputs: usize,
    /// `panels × cells × symbols × PAD`.
    sums: Vec<i16>,
    scales: Vec<f32>,
    biases: Vec<f32>,
}

impl Table {
    fn new(cells: Vec<usize>, layer: &Dense) -> Self {
        let outputs = layer.biases.len();
        let inputs = layer.weights.len() / outputs;
        let symbols = inputs / cells.len();
        let padded = outputs.next_multiple_of(PAD);
        let weight =
            |output: usize, cell: usize, symbol: usize| layer.weights[output * inputs + symbol * cells.len() + cell];
        let mut scales = vec![0f32; padded];
        let mut sums = vec![0i16; padded * inputs];
        for output in 0..outputs {
            let largest = |cell| (0..symbols).map(|symbol| weight(output, cell, symbol).abs()).fold(0f32, f32::max);
            // No sum overflows, roundings of half a unit a cell included.
            let most: f32 = (0..cells.len()).map(largest).sum();
            let scale = (most / (i16::MAX as f32 - cells.len() as f32)).max(f32::MIN_POSITIVE);
            scales[output] = scale;
            for cell in 0..cells.len() {
                for symbol in 0..symbols {
                    let row = (output / PAD * cells.len() + cell) * symbols + symbol;
                    sums[row * PAD + output % PAD] = (weight(output, cell, symbol) / scale).round() as i16;
                }
            }
        }
        let mut biases = layer.biases.clone();
        biases.resize(padded, 0.0);
        Table { cells, symbols, outputs: padded, sums, scales, biases }
    }

    /// What the cells add to each [`PAD`] outputs.
    fn panels(&self) -> impl Iterator<Item = &[i16]> {
        self.sums.chunks_exact(self.cells.len() * self.symbols * PAD)
    }
}

/// A dense layer in 8 bits.
struct Product {
    /// Both multiples of [`PAD`]; what was added is 0.
    inputs: usize,
    outputs: usize,
    /// `panels × inputs / 4 × panel × 4`, in panels of [`Kernel::PANEL`] outputs.
    weights: Vec<i8>,
    scales: Vec<f32>,
    biases: Vec<f32>,
}

impl Product {
    fn new(layer: &Dense, instructions: Instructions) -> Self {
        match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => Self::with::<avx512::Avx512>(layer),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => Self::with::<avx2::Avx2>(layer),
        }
    }

    fn with<K: Kernel>(layer: &Dense) -> Self {
        let (real_outputs, real_inputs) = (layer.biases.len(), layer.weights.len() / layer.biases.len());
        let (inputs, outputs) = (real_inputs.next_multiple_of(PAD), real_outputs.next_multiple_of(PAD));
        let mut weights = vec![0i8; inputs * outputs];
        let mut scales = vec![0f32; outputs];
        for (output, row) in layer.weights.chunks(real_inputs).enumerate() {
            let scale = K::weight_unit(row).max(f32::MIN_POSITIVE);
            scales[output] = scale;
            for (input, weight) in row.iter().enumerate() {
                let quad = (output / K::PANEL * (inputs / 4) + input / 4) * K::PANEL + output % K::PANEL;
                weights[quad * 4 + input % 4] = (weight / scale).round() as i8;
            }
        }
        let mut biases = layer.biases.clone();
        biases.resize(outputs, 0.0);
        Product { inputs, outputs, weights, scales, biases }
    }
}

/// The largest absolute value.
fn largest(numbers: &[f32]) -> f32 {
    numbers.iter().fold(0f32, |most, number| most.max(number.abs()))
}

/// What a core needs for one tile.
struct Scratch {
    /// Activations between the two layers of a block, and of the first layer.
    inner: Vec<f32>,
    /// The residual stream.
    stream: Vec<f32>,
    /// Rounded activations, and what one unit of each row is worth.
    bytes: Vec<u8>,
    units: [f32; TILE],
}

impl Scratch {
    fn new(network: &Int8Mlp) -> Self {
        let (wide, narrow) = (network.hidden.inputs, network.hidden.outputs);
        Scratch {
            inner: vec![0.0; TILE * wide.max(narrow)],
            stream: vec![0.0; TILE * narrow],
            bytes: vec![0; TILE * wide.max(narrow)],
            units: [0.0; TILE],
        }
    }

    /// Evaluates at most [`TILE`] rows.
    fn evaluate(&mut self, network: &Int8Mlp, rows: &[u8], cells: usize, values: &mut [f32], policy: &mut [f32]) {
        match network.instructions {
            // SAFETY: a network is only made where the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { self.with::<avx512::Avx512>(network, rows, cells, values, policy) },
            // SAFETY: see above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { self.with::<avx2::Avx2>(network, rows, cells, values, policy) },
        }
    }

    /// # Safety
    /// The machine must have the kernel's instructions.
    unsafe fn with<K: Kernel>(
        &mut self,
        network: &Int8Mlp,
        rows: &[u8],
        cells: usize,
        values: &mut [f32],
        policy: &mut [f32],
    ) {
        let Scratch { inner, stream, bytes, units } = self;
        let count = values.len();
        // SAFETY: as the caller says; so below.
        unsafe {
            K::look_up(&network.input, rows, cells, inner);
            K::round(inner, network.hidden.inputs, bytes, units);
            K::product::<false>(&network.hidden, bytes, units, stream);
            for [first, second] in &network.blocks {
                K::round(stream, first.inputs, bytes, units);
                K::product::<false>(first, bytes, units, inner);
                K::round(inner, second.inputs, bytes, units);
                K::product::<true>(second, bytes, units, stream);
            }
        }
        // One output of an output layer; features may be longer than its weights, by zeros.
        let output = |layer: &Dense, index: usize, features: &[f32]| {
            let inputs = layer.weights.len() / layer.biases.len();
            let weights = &layer.weights[index * inputs..][..inputs];
            let whole = inputs / 16 * 16;
            // SAFETY: see above.
            let sum = unsafe { K::dot(&weights[..whole], &features[..whole]) };
            let rest: f32 = weights[whole..].iter().zip(&features[whole..]).map(|(a, b)| a * b).sum();
            layer.biases[index] + sum + rest
        };
        let outputs = &network.outputs;
        let width = network.hidden.outputs;
        for (value, features) in values.iter_mut().zip(stream.chunks(width)) {
            *value = outputs.offset + outputs.scale * output(&outputs.value, 0, features);
        }
        if let Some(moves) = outputs.policy.as_ref().filter(|_| !policy.is_empty()) {
            for (row, features) in policy.chunks_mut(policy.len() / count).zip(stream.chunks(width)) {
                row.iter_mut().enumerate().for_each(|(i, logit)| *logit = output(moves, i, features));
                softmax(row);
            }
        }
    }
}

/// Logits to probabilities.
fn softmax(row: &mut [f32]) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|logit| *logit = (*logit - most).exp());
    let sum: f32 = row.iter().sum();
    row.iter_mut().for_each(|value| *value /= sum);
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;
    use crate::random::generator;
    use rand::Rng;

    /// A layer whose weights are as large as they get together: all the same, or random ones with a few outliers.
    fn layer(inputs: usize, outputs: usize, same: bool) -> Dense {
        let mut random = generator(1, 0);
        let mut weight = |_| match (same, random.random_range(0..40)) {
            (true, _) => 0.3f32,
            (false, 0) => random.random_range(-4.0..4.0),
            (false, _) => random.random_range(-1.0..1.0),
        };
        Dense {
            weights: (0..inputs * outputs).map(&mut weight).collect(),
            biases: (0..outputs).map(&mut weight).collect(),
        }
    }

    /// Compares the product of a tile of bytes, all the largest or random ones, with sums of exact integers.
    fn check_product<K: Kernel>(same: bool) {
        let (inputs, outputs) = (192, 128);
        let product = Product::with::<K>(&layer(inputs - 5, outputs - 3, same));
        let mut random = generator(2, 0);
        let most = K::MOST as u8;
        let bytes: Vec<u8> =
            (0..TILE * inputs).map(|_| if same { most } else { random.random_range(0..=most) }).collect();
        let units: [f32; TILE] = std::array::from_fn(|row| 0.01 + row as f32);
        let before: Vec<f32> = (0..TILE * outputs).map(|i| i as f32 % 7.0).collect();
        let mut out = before.clone();
        // SAFETY: the caller has checked.
        unsafe { K::product::<true>(&product, &bytes, &units, &mut out) };
        for row in 0..TILE {
            for output in 0..outputs {
                let sum: i32 = (0..inputs)
                    .map(|input| {
                        let quad = (output / K::PANEL * (inputs / 4) + input / 4) * K::PANEL + output % K::PANEL;
                        i32::from(product.weights[quad * 4 + input % 4]) * i32::from(bytes[row * inputs + input])
                    })
                    .sum();
                let value = (sum as f32).mul_add(units[row] * product.scales[output], product.biases[output]);
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
        check_product::<K>(false);
        check_product::<K>(true);
        let mut random = generator(3, 0);
        let numbers: Vec<f32> = (0..TILE * 64).map(|_| random.random_range(0.0..9.0)).collect();
        let (mut bytes, mut units) = (vec![0; TILE * 64], [0.0; TILE]);
        // SAFETY: it is available.
        unsafe { K::round(&numbers, 64, &mut bytes, &mut units) };
        for (i, (number, byte)) in numbers.iter().zip(&bytes).enumerate() {
            let error = (number - f32::from(*byte) * units[i / 64]).abs();
            assert!(error <= 0.501 * units[i / 64], "{number} is rounded to {byte} units of {}", units[i / 64]);
        }
        // SAFETY: it is available.
        let dot = unsafe { K::dot(&numbers[..48], &numbers[48..96]) };
        let expected: f32 = numbers[..48].iter().zip(&numbers[48..96]).map(|(a, b)| a * b).sum();
        assert!((dot - expected).abs() < 1e-3 * expected);
        let cells = vec![1, 0, 3];
        let dense = layer(12, 70, false);
        let table = Table::new(cells.clone(), &dense);
        let rows: Vec<u8> = (0..TILE * 4).map(|_| random.random_range(0..4)).collect();
        let mut out = vec![0.0; TILE * table.outputs];
        // SAFETY: it is available.
        unsafe { K::look_up(&table, &rows, 4, &mut out) };
        for (row, out) in rows.chunks(4).zip(out.chunks(table.outputs)) {
            for (output, &value) in out.iter().enumerate().take(70) {
                let weight = |(i, &cell): (usize, &usize)| dense.weights[output * 12 + usize::from(row[cell]) * 3 + i];
                let sum: f32 = cells.iter().enumerate().map(weight).sum();
                assert!((value - (sum + dense.biases[output]).max(0.0)).abs() < 2e-3);
            }
        }
    }

    #[test]
    fn kernels_agree_with_exact_sums() {
        check::<avx512::Avx512>("AVX-512 VNNI");
        check::<avx2::Avx2>("AVX2");
    }
}
