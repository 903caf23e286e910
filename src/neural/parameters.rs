//! The numbers of a network, held so that a training step touches few tensors.
//!
//! All matrices lie in one flat f32 tensor, all vectors (normalization, biases, the output layer) in another, the running
//! statistics in a third. A step casts all matrices to the precision of the products at once and takes views; gradients
//! come back as two flat tensors, which the optimizer works on.

use crate::tensors::{host_values, no_grad};
use rand::Rng;
use rand_distr::StandardNormal;
use tch::{Kind, Tensor};

/// The end of the names of running variances in files.
pub(super) const VARIANCE: &str = "running_var";

/// The flat tensor that a parameter lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterGroup {
    /// Weights of products: trained, decayed, cast to the precision of the products.
    Matrix,
    /// All other trained parameters: always f32.
    Vector,
    /// Running means and variances: not trained.
    Statistic,
}

const GROUPS: [ParameterGroup; 3] = [ParameterGroup::Matrix, ParameterGroup::Vector, ParameterGroup::Statistic];

/// Initialization of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Init {
    /// Normal with variance 2 / fan-in, the inputs of one output (He et al. 2015).
    He(i64),
    /// One number everywhere.
    Constant(f32),
}

/// A parameter: its name in files, shape, group and start.
#[derive(Debug, Clone)]
pub(super) struct ParameterEntry {
    pub(super) name: String,
    pub(super) shape: Vec<i64>,
    pub(super) group: ParameterGroup,
    init: Init,
}

impl ParameterEntry {
    pub(super) fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    fn fresh_values(&self, generator: &mut impl Rng) -> Vec<f32> {
        let count = self.len() as usize;
        match self.init {
            Init::Constant(value) => vec![value; count],
            Init::He(fan_in) => {
                let deviation = (2.0 / fan_in as f64).sqrt();
                generator.sample_iter(StandardNormal).take(count).map(|x: f64| (deviation * x) as f32).collect()
            }
        }
    }
}

/// The index of a parameter in its layout, and in its [`Weights`].
pub(super) type Slot = usize;

/// All parameters of a network as tensors in their shapes, by [`Slot`].
pub(super) type Weights = [Tensor];

/// The parameters of a network, in order, without their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) entries: Vec<ParameterEntry>,
}

impl Layout {
    pub(super) fn add(&mut self, name: String, shape: &[i64], group: ParameterGroup, init: Init) -> Slot {
        self.entries.push(ParameterEntry { name, shape: shape.to_vec(), group, init });
        self.entries.len() - 1
    }

    /// How many numbers are trained.
    pub(super) fn trained(&self) -> i64 {
        self.entries.iter().filter(|entry| entry.group != ParameterGroup::Statistic).map(ParameterEntry::len).sum()
    }
}

/// The parameters of a network with their numbers.
pub(super) struct Parameters {
    pub(super) layout: Layout,
    /// Matrices, vectors and statistics.
    pub(super) flat: [Tensor; 3],
}

impl Parameters {
    /// Fresh parameters from a seeded generator.
    pub(super) fn fresh(layout: Layout, generator: &mut impl Rng, device: tch::Device) -> Self {
        let values = layout.entries.iter().map(|entry| entry.fresh_values(generator)).collect();
        Self::from_values(layout, values, device)
    }

    /// Parameters of given values, one vector per layout entry.
    ///
    /// # Panics
    /// If a vector has another length than its entry.
    pub(super) fn from_values(layout: Layout, values: Vec<Vec<f32>>, device: tch::Device) -> Self {
        assert_eq!(values.len(), layout.entries.len());
        let flat = GROUPS.map(|group| {
            let mut flat = Vec::new();
            for (entry, values) in layout.entries.iter().zip(&values).filter(|(entry, _)| entry.group == group) {
                assert_eq!(values.len() as i64, entry.len(), "{}", entry.name);
                flat.extend_from_slice(values);
            }
            Tensor::from_slice(&flat).to_device(device).set_requires_grad(group != ParameterGroup::Statistic)
        });
        Parameters { layout, flat }
    }

    /// A copy that is not trained.
    pub(super) fn copy(&self) -> Self {
        Parameters { layout: self.layout.clone(), flat: self.flat.each_ref().map(|tensor| tensor.detach().copy()) }
    }

    /// Moves the numbers of a copy towards others: a share of 0 changes nothing, 1 copies them.
    pub(super) fn approach(&self, others: &Parameters, share: f64) {
        for (own, other) in self.flat.iter().zip(&others.flat) {
            let _ = own.shallow_clone().lerp_(&other.detach(), share);
        }
    }

    /// The two trained tensors: matrices and vectors.
    pub(super) fn trained(&self) -> [&Tensor; 2] {
        [&self.flat[0], &self.flat[1]]
    }

    pub(super) fn statistics(&self) -> &Tensor {
        &self.flat[2]
    }

    /// The numbers of each entry, on the host.
    pub(super) fn values(&self) -> Vec<Vec<f32>> {
        no_grad(|| self.weights(Kind::Float)).iter().map(host_values).collect()
    }

    /// Views of all parameters in their shapes; matrices in `kind`, the rest in f32.
    pub(super) fn weights(&self, kind: Kind) -> Vec<Tensor> {
        let matrices = self.flat[0].to_kind(kind);
        let mut pieces = GROUPS.map(|group| {
            let entries = self.layout.entries.iter().filter(|entry| entry.group == group);
            let lengths: Vec<i64> = entries.map(ParameterEntry::len).collect();
            let flat = if group == ParameterGroup::Matrix { &matrices } else { &self.flat[group as usize] };
            if lengths.is_empty() { Vec::new() } else { flat.split_with_sizes(lengths, 0) }.into_iter()
        });
        let views = self.layout.entries.iter().map(|entry| {
            let flat = pieces[entry.group as usize].next().expect("the split has one piece per entry");
            // Without a view of each vector, training has one backward node less.
            if entry.shape.len() == 1 { flat } else { flat.view(&entry.shape[..]) }
        });
        views.collect()
    }
}
