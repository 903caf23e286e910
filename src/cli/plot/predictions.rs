//! What a model says of fresh scrambles: the data of the picture of density.

use crate::neural::device::{Device, DeviceChoice};
use crate::neural::estimator::predict;
use crate::neural::learner::Precision;
use crate::neural::model::{Model, ModelConfig};
use crate::plot::{Density, Histogram};
use crate::progress::note;
use crate::puzzle::{Puzzle, Reversible, Visitor, visit};
use crate::sampler::{Sampler, Samples, Source, Walks};
use anyhow::{Context as _, Result};
use ndarray::{Axis, concatenate};
use std::path::Path;
use std::sync::Arc;

/// What is asked of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish<'a> {
    /// Another puzzle's name than the model gives.
    pub(super) puzzle: Option<&'a str>,
    /// Scrambles, over all depths.
    pub(super) scrambles: u64,
    /// The longest scramble, or that of the model's training.
    pub(super) max_depth: Option<u32>,
    pub(super) seed: u64,
}

/// The device, which is said where it was to be chosen.
///
/// # Errors
/// If the device that was asked for is not there.
pub(super) fn device(choice: DeviceChoice) -> Result<Device> {
    let (device, said) = Device::resolve_aloud(choice)?;
    if let Some(said) = said {
        note!("costar: {said}");
    }
    Ok(device)
}

/// What the model in a folder says.
///
/// # Errors
/// If the model cannot be read, or its puzzle is not known.
pub(super) fn density(folder: &Path, wish: &Wish<'_>, device: Device) -> Result<Density> {
    let config = ModelConfig::read(folder)?;
    let puzzle = wish.puzzle.unwrap_or(&config.puzzle).to_owned();
    let ask = AskModel { folder, config, wish, device };
    let known = visit(&puzzle, None, ask);
    known.with_context(|| format!("the model in {}: --puzzle names its puzzle", folder.display()))?
}

struct AskModel<'a> {
    folder: &'a Path,
    config: ModelConfig,
    wish: &'a Wish<'a>,
    device: Device,
}

impl Visitor for AskModel<'_> {
    type Output = Result<Density>;

    fn visit<P: Reversible>(self, puzzle: P) -> Result<Density> {
        let default_depth = puzzle.default_depth();
        let puzzle = Arc::new(puzzle);
        let samples = Arc::new(Walks::new(Arc::clone(&puzzle)));
        self.with(&*puzzle, samples, default_depth)
    }

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Result<Density> {
        let Source { samples, default_depth } = puzzle.samples()?;
        self.with(&puzzle, samples, default_depth)
    }
}

impl AskModel<'_> {
    fn with<P: Puzzle>(self, puzzle: &P, samples: Arc<dyn Samples>, default_depth: u32) -> Result<Density> {
        let AskModel { folder, config, wish, device } = self;
        let model = Model::read(folder, puzzle, device, Some(Precision::auto(device)))?;
        let trained = config.training["max_depth"].as_u64().and_then(|depth| u32::try_from(depth).ok());
        let max_depth = wish.max_depth.or(trained).unwrap_or(default_depth).clamp(1, 10_000);
        let each = usize::try_from(wish.scrambles.div_ceil(max_depth.into())).unwrap_or(usize::MAX);
        let sampler = Sampler::new(samples, (config.encoding.cells, puzzle.move_count()), wish.seed, max_depth, each);
        let rows: Vec<_> = (1..=max_depth).map(|depth| sampler.at_depth(depth)).collect();
        let views: Vec<_> = rows.iter().map(|rows| rows.view()).collect();
        let rows = concatenate(Axis(0), &views).context("rows of a puzzle are of one length")?;
        let values = predict(model, device, &rows)?;
        let depths = (1..=max_depth).flat_map(|depth| std::iter::repeat_n(depth, each));
        let predictions: Vec<(u32, f32)> = depths.zip(values).collect();
        Ok(Density { name: config.puzzle, samples: config.samples, histogram: Histogram::new(&predictions, max_depth) })
    }
}
