//! The dense network in 8-bit integers, for solving on a CPU: twice the rate of its bfloat16 products.
//!
//! - Weights are rounded once, each output's by its own scale; activations, which are never negative, to 0…255 by the
//!   largest of their row. No statistics of activations are needed, and a state's estimate does not depend on what
//!   else is in the batch. Sums are exact 32-bit integers; what is added to them (biases, the residual stream), and
//!   the output layers, stay f32.
//! - The first layer is no product: of a one-hot row, it is a sum of as many table rows as there are cells.
//! - A core takes tiles of rows through all layers at once, so that activations never leave its cache; the products are
//!   `vpdpbusd` (AVX-512 VNNI), blocked in registers, 6 rows by 64 outputs.
//!
//! After Jacob et al. 2018 (integer arithmetic of networks), with dynamic scales.

use super::network::{Evaluation, Evaluator};
use ndarray::{Array2, ArrayView2};
use std::sync::Mutex;
use std::thread;

/// Rows that a core takes through the network at once.
const TILE: usize = 48;

/// Outputs that a block of registers holds of each row.
const PANEL: usize = 64;

/// Whether this machine can.
pub(super) fn is_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
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
    input: Table,
    hidden: Product,
    blocks: Vec<[Product; 2]>,
    outputs: Outputs,
    threads: usize,
    operations: u64,
}

impl Int8Mlp {
    /// Rounds a network. `cells` are those that its one-hot is made of, symbol by symbol.
    ///
    /// # Panics
    /// If the machine cannot ([`is_available`]).
    pub(super) fn new(
        cells: &[i64],
        input: &Dense,
        hidden: &Dense,
        blocks: impl Iterator<Item = [Dense; 2]>,
        outputs: Outputs,
        operations: u64,
    ) -> Self {
        assert!(is_available(), "callers have checked");
        Int8Mlp {
            input: Table::new(cells.iter().map(|&cell| cell as usize).collect(), input),
            hidden: Product::new(hidden),
            blocks: blocks.map(|block| block.each_ref().map(Product::new)).collect(),
            outputs,
            threads: tch::get_num_threads() as usize,
            operations,
        }
    }
}

impl Evaluator for Int8Mlp {
    fn operations(&self) -> u64 {
        self.operations
    }

    fn evaluate(&self, rows: ArrayView2<'_, u8>, with_policy: bool) -> Evaluation {
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
        Evaluation { values, policy }
    }
}

/// The first layer: for each cell and each symbol in it, what it adds to every output, in 16 bits.
struct Table {
    cells: Vec<usize>,
    symbols: usize,
    outputs: usize,
    /// `panels × cells × symbols × PANEL`.
    sums: Vec<i16>,
    scales: Vec<f32>,
    biases: Vec<f32>,
}

impl Table {
    fn new(cells: Vec<usize>, layer: &Dense) -> Self {
        let outputs = layer.biases.len();
        let inputs = layer.weights.len() / outputs;
        let symbols = inputs / cells.len();
        let padded = outputs.next_multiple_of(PANEL);
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
                    let row = (output / PANEL * cells.len() + cell) * symbols + symbol;
                    sums[row * PANEL + output % PANEL] = (weight(output, cell, symbol) / scale).round() as i16;
                }
            }
        }
        let mut biases = layer.biases.clone();
        biases.resize(padded, 0.0);
        Table { cells, symbols, outputs: padded, sums, scales, biases }
    }
}

/// A dense layer in 8 bits.
struct Product {
    /// Both multiples of [`PANEL`]; what was added is 0.
    inputs: usize,
    outputs: usize,
    /// `panels × inputs / 4 × PANEL × 4`.
    weights: Vec<i8>,
    scales: Vec<f32>,
    biases: Vec<f32>,
}

impl Product {
    fn new(layer: &Dense) -> Self {
        let (real_outputs, real_inputs) = (layer.biases.len(), layer.weights.len() / layer.biases.len());
        let (inputs, outputs) = (real_inputs.next_multiple_of(PANEL), real_outputs.next_multiple_of(PANEL));
        let mut weights = vec![0i8; inputs * outputs];
        let mut scales = vec![0f32; outputs];
        for (output, row) in layer.weights.chunks(real_inputs).enumerate() {
            let largest = row.iter().fold(0f32, |most, weight| most.max(weight.abs()));
            let scale = (largest / i8::MAX as f32).max(f32::MIN_POSITIVE);
            scales[output] = scale;
            for (input, weight) in row.iter().enumerate() {
                let quad = (output / PANEL * (inputs / 4) + input / 4) * PANEL + output % PANEL;
                weights[quad * 4 + input % 4] = (weight / scale).round() as i8;
            }
        }
        let mut biases = layer.biases.clone();
        biases.resize(outputs, 0.0);
        Product { inputs, outputs, weights, scales, biases }
    }
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

    /// Evaluation at most [`TILE`] rows.
    fn evaluate(&mut self, network: &Int8Mlp, rows: &[u8], cells: usize, values: &mut [f32], policy: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a network is only made where the machine has the instructions.
        unsafe {
            kernel::evaluate(self, network, rows, cells, values, policy);
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("a network is only made where the machine has the instructions: {} {}", rows.len() * cells, {
            let _ = (network, values, policy);
            0
        });
    }
}

#[cfg(target_arch = "x86_64")]
mod kernel {
    use super::{Dense, Int8Mlp, PANEL, Product, Scratch, TILE, Table};
    use std::arch::x86_64::*;

    /// Rows of a block of registers; with 4 registers of outputs each, 24 sums and 5 operands fill 29 of 32.
    const ROWS: usize = 6;
    const LANES: usize = 16;
    const GROUPS: usize = PANEL / LANES;

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn evaluate(
        scratch: &mut Scratch,
        network: &Int8Mlp,
        rows: &[u8],
        cells: usize,
        values: &mut [f32],
        policy: &mut [f32],
    ) {
        let Scratch { inner, stream, bytes, units } = scratch;
        let count = values.len();
        look_up(&network.input, rows, cells, inner);
        round(inner, network.hidden.inputs, bytes, units);
        product::<false>(&network.hidden, bytes, units, stream);
        for [first, second] in &network.blocks {
            round(stream, first.inputs, bytes, units);
            product::<false>(first, bytes, units, inner);
            round(inner, second.inputs, bytes, units);
            product::<true>(second, bytes, units, stream);
        }
        let outputs = &network.outputs;
        let width = network.hidden.outputs;
        for (value, features) in values.iter_mut().zip(stream.chunks(width)) {
            *value = outputs.offset + outputs.scale * output(&outputs.value, 0, features);
        }
        if let Some(moves) = outputs.policy.as_ref().filter(|_| !policy.is_empty()) {
            for (row, features) in policy.chunks_mut(policy.len() / count).zip(stream.chunks(width)) {
                row.iter_mut().enumerate().for_each(|(i, logit)| *logit = output(moves, i, features));
                super::softmax(row);
            }
        }
    }

    /// The first layer with its ReLU; `inner` is `TILE × outputs`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn look_up(table: &Table, rows: &[u8], cells: usize, inner: &mut [f32]) {
        let span = table.cells.len() * table.symbols * PANEL;
        for (panel, sums) in table.sums.chunks_exact(span).enumerate() {
            let from = panel * PANEL;
            for (row, out) in rows.chunks(cells).zip(inner.chunks_mut(table.outputs)) {
                let mut sum = [_mm512_setzero_si512(); 2];
                for (i, &cell) in table.cells.iter().enumerate() {
                    let at = (i * table.symbols + usize::from(row[cell])) * PANEL;
                    let part = &sums[at..at + PANEL];
                    // SAFETY: the slice holds two registers of 32 numbers.
                    let parts = unsafe {
                        [_mm512_loadu_si512(part.as_ptr().cast()), _mm512_loadu_si512(part.as_ptr().add(32).cast())]
                    };
                    sum = [_mm512_add_epi16(sum[0], parts[0]), _mm512_add_epi16(sum[1], parts[1])];
                }
                let quarters = [
                    _mm512_castsi512_si256(sum[0]),
                    _mm512_extracti64x4_epi64(sum[0], 1),
                    _mm512_castsi512_si256(sum[1]),
                    _mm512_extracti64x4_epi64(sum[1], 1),
                ];
                for (group, quarter) in quarters.into_iter().enumerate() {
                    let at = from + group * LANES;
                    let sum = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(quarter));
                    let sum = _mm512_fmadd_ps(sum, load(&table.scales[at..]), load(&table.biases[at..]));
                    store(&mut out[at..], _mm512_max_ps(sum, _mm512_setzero_ps()));
                }
            }
        }
    }

    /// Rounds a tile of rows that are not negative to bytes, each by its largest number.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn round(from: &[f32], width: usize, bytes: &mut [u8], units: &mut [f32; TILE]) {
        for ((row, bytes), unit) in from.chunks_exact(width).zip(bytes.chunks_exact_mut(width)).zip(units) {
            let mut most = _mm512_setzero_ps();
            for part in row.chunks_exact(LANES) {
                most = _mm512_max_ps(most, load(part));
            }
            let most = _mm512_reduce_max_ps(most).max(f32::MIN_POSITIVE);
            *unit = most / 255.0;
            let factor = _mm512_set1_ps(255.0 / most);
            for (part, bytes) in row.chunks_exact(LANES).zip(bytes.chunks_exact_mut(LANES)) {
                let rounded = _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(load(part), factor)));
                // SAFETY: the slice holds 16 bytes.
                unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), rounded) };
            }
        }
    }

    /// A dense layer on a tile: `out` becomes ReLU of the product and the bias; with `ADD`, of these and itself.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn product<const ADD: bool>(layer: &Product, bytes: &[u8], units: &[f32; TILE], out: &mut [f32]) {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        assert!(bytes.len() >= TILE * inputs && out.len() >= TILE * outputs && TILE.is_multiple_of(ROWS));
        for (panel, weights) in layer.weights.chunks_exact(inputs * PANEL).enumerate() {
            let from = panel * PANEL;
            for first in (0..TILE).step_by(ROWS) {
                let mut sums = [[_mm512_setzero_si512(); GROUPS]; ROWS];
                let rows: [*const u8; ROWS] = std::array::from_fn(|row| bytes[(first + row) * inputs..].as_ptr());
                for quad in 0..inputs / 4 {
                    // SAFETY: a panel has `inputs / 4` times 4 registers of weights, and a row `inputs` bytes.
                    unsafe {
                        let at = weights.as_ptr().add(quad * PANEL * 4);
                        let weights: [__m512i; GROUPS] =
                            std::array::from_fn(|group| _mm512_loadu_si512(at.add(group * 64).cast()));
                        for (sums, row) in sums.iter_mut().zip(rows) {
                            let four = _mm512_set1_epi32(row.add(quad * 4).cast::<i32>().read_unaligned());
                            for (sum, weights) in sums.iter_mut().zip(weights) {
                                *sum = _mm512_dpbusd_epi32(*sum, four, weights);
                            }
                        }
                    }
                }
                for (row, sums) in (first..).zip(sums) {
                    let unit = _mm512_set1_ps(units[row]);
                    for (group, sum) in sums.into_iter().enumerate() {
                        let at = from + group * LANES;
                        let out = &mut out[row * outputs + at..];
                        let scale = _mm512_mul_ps(unit, load(&layer.scales[at..]));
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

    /// One output of an output layer; `features` may be longer than its weights, by zeros.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn output(layer: &Dense, index: usize, features: &[f32]) -> f32 {
        let inputs = layer.weights.len() / layer.biases.len();
        let weights = &layer.weights[index * inputs..][..inputs];
        let mut sum = _mm512_setzero_ps();
        let whole = inputs / LANES * LANES;
        for (weights, features) in weights[..whole].chunks_exact(LANES).zip(features.chunks_exact(LANES)) {
            sum = _mm512_fmadd_ps(load(weights), load(features), sum);
        }
        let rest: f32 = weights[whole..].iter().zip(&features[whole..]).map(|(a, b)| a * b).sum();
        layer.biases[index] + _mm512_reduce_add_ps(sum) + rest
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn load(from: &[f32]) -> __m512 {
        let from = &from[..LANES];
        // SAFETY: the slice holds 16 numbers.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn store(to: &mut [f32], values: __m512) {
        let to = &mut to[..LANES];
        // SAFETY: the slice holds 16 numbers.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), values) }
    }
}

/// Logits to probabilities.
fn softmax(row: &mut [f32]) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|logit| *logit = (*logit - most).exp());
    let sum: f32 = row.iter().sum();
    row.iter_mut().for_each(|value| *value /= sum);
}
