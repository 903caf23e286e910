//! A model's predictions for fresh scrambles: the data of the picture of density.

use crate::heuristic::Query;
use crate::neural::device::{Device, DeviceChoice};
use crate::neural::heuristic::RowEvaluator;
use crate::neural::model::{Model, ModelConfig};
use crate::neural::precision::Precision;
use crate::plot::{By, Density, Histogram};
use crate::puzzle::Puzzle;
use crate::random::generator;
use crate::registry::{Entry, Visitor, visit};
use crate::sampler::{Labels, Sampler, Source};
use crate::solver::models;
use anyhow::{Context as _, Result, anyhow};
use ndarray::{Array2, Axis, concatenate};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What is asked of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    /// Another puzzle's name than the model gives.
    pub(super) puzzle: Option<&'a str>,
    /// Scrambles, over all depths.
    pub(super) scrambles: u64,
    /// The longest scramble, or that of the model's training.
    pub(super) max_depth: Option<u32>,
    pub(super) seed: u64,
    /// By what its answers are drawn.
    pub(super) by: By,
}

/// The device, which is logged where it was to be chosen.
///
/// # Errors
/// If the device that was asked for is not there.
pub(super) fn device(choice: DeviceChoice) -> Result<Device> {
    let device = Device::resolve(choice)?;
    device.log_choice(choice);
    Ok(device)
}

/// The predictions of the model in a folder.
///
/// # Errors
/// If the model cannot be read, or its puzzle is not known.
pub(super) fn density(folder: &Path, question: &Question<'_>, device: Device) -> Result<Density> {
    let config = ModelConfig::read(folder)?;
    let puzzle = question.puzzle.map_or_else(|| models::puzzle_of(folder), |name| Ok(name.to_owned()))?;
    let ask = AskModel { folder, config, question, device };
    let known = visit(&puzzle, None, ask);
    known.with_context(|| format!("the model in {}: --puzzle names its puzzle", folder.display()))?
}

struct AskModel<'a> {
    folder: &'a Path,
    config: ModelConfig,
    question: &'a Question<'a>,
    device: Device,
}

impl Visitor for AskModel<'_> {
    type Output = Result<Density>;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Result<Density> {
        let puzzle = &**entry.puzzle();
        let Source { samples, default_depth } = entry.samples(Labels::Walks, 0.0, 0, &AtomicBool::new(false))?;
        let AskModel { folder, config, question, device } = self;
        let model = Model::read(folder, puzzle, device, Some(Precision::auto(device)))?;
        let trained = config.training["max_depth"].as_u64().and_then(|depth| u32::try_from(depth).ok());
        let max_depth = question.max_depth.or(trained).unwrap_or(default_depth).clamp(1, 10_000);
        let (name, samples_seen) = (config.puzzle.clone(), config.samples);
        let picture = |predictions: &[(u32, f32)], deepest: u32| Density {
            name: name.clone(),
            samples: samples_seen,
            histogram: Histogram::new(predictions, deepest),
            by: question.by,
        };
        if question.by == By::Distance {
            let (states, distances) = exact_distances(&entry, question, max_depth)?;
            let mut rows = Array2::zeros((states.len(), config.encoding.cells));
            for (state, mut row) in states.iter().zip(rows.outer_iter_mut()) {
                puzzle.encode(state, row.as_slice_mut().context("rows are contiguous")?);
            }
            let values = RowEvaluator::new(model, device).evaluate(rows.view(), Query::Values)?.values;
            let deepest = distances.iter().copied().max().unwrap_or(1).max(1);
            let predictions: Vec<(u32, f32)> = distances.into_iter().zip(values).collect();
            return Ok(picture(&predictions, deepest));
        }
        let each = usize::try_from(question.scrambles.div_ceil(max_depth.into())).unwrap_or(usize::MAX);
        let sampler =
            Sampler::new(samples, (config.encoding.cells, puzzle.move_count()), question.seed, max_depth, each);
        let rows: Vec<_> = (1..=max_depth).map(|depth| sampler.at_depth(depth)).collect();
        let views: Vec<_> = rows.iter().map(|rows| rows.view()).collect();
        let rows = concatenate(Axis(0), &views).context("rows of a puzzle are of one length")?;
        let values = RowEvaluator::new(model, device).evaluate(rows.view(), Query::Values)?.values;
        let depths = (1..=max_depth).flat_map(|depth| std::iter::repeat_n(depth, each));
        let predictions: Vec<(u32, f32)> = depths.zip(values).collect();
        Ok(picture(&predictions, max_depth))
    }
}

/// States of fresh scrambles of all depths, and how far each is from the goal.
///
/// # Errors
/// If that is not known of the puzzle.
fn exact_distances<P: Puzzle>(
    entry: &Entry<P>,
    question: &Question<'_>,
    max_depth: u32,
) -> Result<(Vec<P::State>, Vec<u32>)> {
    let name = entry.puzzle().name();
    let unknown = || anyhow!("--kind exactness: exact distances are known of puzzle8 and cube2, and not of {name}");
    let mut exact = entry.heuristic("exact").with_context(unknown)?;
    let reverse = entry.reverse().with_context(unknown)?;
    let state = |number: u64| {
        let depth = 1 + number % u64::from(max_depth);
        reverse.scramble(entry.puzzle(), depth, &mut generator(question.seed, number)).1
    };
    let states: Vec<P::State> = (0..question.scrambles).map(state).collect();
    let mut distances = Vec::new();
    exact.estimate_all(&states, &mut distances)?;
    Ok((states, distances.into_iter().map(|distance| distance as u32).collect()))
}
