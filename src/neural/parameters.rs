//! The numbers of a network, held so that a training step touches few tensors.
//!
//! All matrices lie in one flat f32 tensor, all vectors (normalisation, biases, the output layer) in another, the
//! running statistics in a third. A step casts the matrices to the precision of the products at once and takes views;
//! gradients come back as two flat tensors, and the optimizer works on those.

use rand::RngCore;
use std::ops::Index;
use tch::{Kind, Tensor};

/// Which flat tensor a parameter lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Weights of products: trained, decayed, cast to the precision of the products.
    Matrix,
    /// Everything else that is trained: stays f32.
    Vector,
    /// Running means and variances: not trained.
    Statistic,
}

/// What a parameter is before training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Init {
    /// Normal with variance 2 / fan-in (He et al. 2015).
    He {
        /// How many inputs an output has.
        fan_in: i64,
    },
    /// One number everywhere.
    Constant(f32),
}

/// A parameter: its name in files, shape, group and start.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) shape: Vec<i64>,
    pub(super) group: Group,
    init: Init,
}

impl Entry {
    pub(super) fn len(&self) -> i64 {
        self.shape.iter().product()
    }
}

/// The handle of a parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot(usize);

/// The parameters of a network, in order, without their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    entries: Vec<Entry>,
}

impl Layout {
    pub(super) fn add(&mut self, name: String, shape: &[i64], group: Group, init: Init) -> Slot {
        self.entries.push(Entry { name, shape: shape.to_vec(), group, init });
        Slot(self.entries.len() - 1)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn group(&self, group: Group) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.group == group)
    }

    /// How many numbers are trained.
    pub(super) fn trained(&self) -> i64 {
        self.entries.iter().filter(|entry| entry.group != Group::Statistic).map(Entry::len).sum()
    }
}

/// The parameters of a network with their numbers.
#[derive(Debug)]
pub(super) struct Parameters {
    layout: Layout,
    matrices: Tensor,
    vectors: Tensor,
    statistics: Tensor,
}

impl Parameters {
    /// Fresh ones, from a seeded generator.
    pub(super) fn fresh(layout: Layout, generator: &mut impl RngCore, device: tch::Device) -> Self {
        let values = layout.entries.iter().map(|entry| fresh_values(entry, generator)).collect();
        Self::from_values(layout, values, device)
    }

    /// The given ones, one slice a layout entry.
    ///
    /// # Panics
    /// If a slice has another length than its entry: callers have checked shapes.
    pub(super) fn from_values(layout: Layout, values: Vec<Vec<f32>>, device: tch::Device) -> Self {
        assert_eq!(values.len(), layout.entries.len());
        let flat = |group| {
            let mut flat = Vec::new();
            for (entry, values) in layout.entries.iter().zip(&values).filter(|(entry, _)| entry.group == group) {
                assert_eq!(values.len() as i64, entry.len(), "{}", entry.name);
                flat.extend_from_slice(values);
            }
            Tensor::from_slice(&flat).to_device(device)
        };
        let matrices = flat(Group::Matrix).set_requires_grad(true);
        let vectors = flat(Group::Vector).set_requires_grad(true);
        let statistics = flat(Group::Statistic);
        Parameters { layout, matrices, vectors, statistics }
    }

    /// A copy that is not trained.
    pub(super) fn copy(&self) -> Self {
        let [matrices, vectors, statistics] = self.flat().map(|tensor| tensor.detach().copy());
        Parameters { layout: self.layout.clone(), matrices, vectors, statistics }
    }

    /// Moves the numbers of a copy towards others: 0 leaves them where they are, 1 makes them the same.
    pub(super) fn approach(&self, others: &Parameters, share: f64) {
        for (own, other) in self.flat().into_iter().zip(others.flat()) {
            let _ = own.shallow_clone().lerp_(&other.detach(), share);
        }
    }

    /// The numbers of all, on the host: matrices, vectors, statistics.
    pub(super) fn flat_values(&self) -> Vec<f32> {
        self.flat().into_iter().flat_map(host_values).collect()
    }

    /// Takes such numbers from the front of `values`, in place.
    ///
    /// # Panics
    /// If there are too few.
    pub(super) fn take_values(&self, values: &mut &[f32]) {
        for tensor in self.flat() {
            let (own, rest) = values.split_at(tensor.numel());
            tensor.detach().copy_(&Tensor::from_slice(own));
            *values = rest;
        }
    }

    fn flat(&self) -> [&Tensor; 3] {
        [&self.matrices, &self.vectors, &self.statistics]
    }

    /// The numbers of each entry, on the host.
    pub(super) fn values(&self) -> Vec<Vec<f32>> {
        let weights = super::device::no_grad(|| self.weights(Kind::Float));
        weights.tensors.iter().map(host_values).collect()
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The two trained tensors: matrices and vectors.
    pub(super) fn trained(&self) -> [&Tensor; 2] {
        [&self.matrices, &self.vectors]
    }

    pub(super) fn statistics(&self) -> &Tensor {
        &self.statistics
    }

    /// Views of all parameters in their shapes; matrices in `kind`, the rest in f32.
    pub(super) fn weights(&self, kind: Kind) -> Weights {
        let split = |flat: &Tensor, group| {
            let lengths: Vec<i64> = self.layout.group(group).map(Entry::len).collect();
            if lengths.is_empty() { Vec::new() } else { flat.split_with_sizes(lengths, 0) }.into_iter()
        };
        let mut matrices = split(&self.matrices.to_kind(kind), Group::Matrix);
        let mut vectors = split(&self.vectors, Group::Vector);
        let mut statistics = split(&self.statistics, Group::Statistic);
        let tensors = self.layout.entries.iter().map(|entry| {
            let next = match entry.group {
                Group::Matrix => matrices.next(),
                Group::Vector => vectors.next(),
                Group::Statistic => statistics.next(),
            };
            let flat = next.expect("the split has a piece an entry");
            // A view less for each vector, and in training its backward.
            if entry.shape.len() == 1 { flat } else { flat.view(&entry.shape[..]) }
        });
        Weights { tensors: tensors.collect() }
    }
}

/// All parameters of a network as tensors in their shapes, by [`Slot`].
#[derive(Debug)]
pub(super) struct Weights {
    tensors: Vec<Tensor>,
}

impl Index<Slot> for Weights {
    type Output = Tensor;

    fn index(&self, slot: Slot) -> &Tensor {
        &self.tensors[slot.0]
    }
}

/// The numbers of a tensor, as f32 on the host, which waits for the device.
pub(super) fn host_values(tensor: &Tensor) -> Vec<f32> {
    #[cfg(test)]
    tests::count_read();
    let tensor = tensor.detach().to_device(tch::Device::Cpu).to_kind(Kind::Float).contiguous();
    let mut values = vec![0f32; tensor.numel()];
    let count = values.len();
    tensor.copy_data(&mut values, count);
    values
}

fn fresh_values(entry: &Entry, generator: &mut impl RngCore) -> Vec<f32> {
    let count = entry.len() as usize;
    match entry.init {
        Init::Constant(value) => vec![value; count],
        Init::He { fan_in } => {
            let deviation = (2.0 / fan_in as f64).sqrt();
            let mut normal = Normal { generator, spare: None };
            (0..count).map(|_| (deviation * normal.next()) as f32).collect()
        }
    }
}

/// Normal numbers, by the polar method (Marsaglia 1964).
struct Normal<'a, R: RngCore> {
    generator: &'a mut R,
    spare: Option<f64>,
}

impl<R: RngCore> Normal<'_, R> {
    fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (self.signed(), self.signed());
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    fn signed(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        static READS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count_read() {
        READS.set(READS.get() + 1);
    }

    /// How often this thread has read a tensor's numbers.
    pub(in crate::neural) fn reads() -> usize {
        READS.get()
    }
}
