//! A model's predictions for fresh scrambles.

use super::Args;
use crate::heuristic::Query;
use crate::neural::device::Device;
use crate::neural::heuristic::RowEvaluator;
use crate::neural::model::{Model, ModelConfig};
use crate::neural::precision::Precision;
use crate::plot::{Density, DepthKind, Histogram};
use crate::puzzle::Puzzle;
use crate::random::generator;
use crate::registry::{Entry, find, with_entry};
use crate::sampler::{Sampler, Source};
use crate::solver::models;
use anyhow::{Context as _, Result, anyhow};
use ndarray::{Array2, Axis, concatenate};
use std::path::Path;

/// The predictions of the model in a folder.
///
/// # Errors
/// If the model cannot be read, or its puzzle is not known.
pub(super) fn density(folder: &Path, args: &Args, depths: DepthKind, device: Device) -> Result<Density> {
    let config = ModelConfig::read(folder)?;
    let puzzle = args.puzzle.clone().map_or_else(|| models::puzzle_of(folder), Ok)?;
    let entry = find(&puzzle, None);
    let entry = entry.with_context(|| format!("the model in {}: --puzzle names its puzzle", folder.display()))?;
    with_entry!(entry, entry => predict(&entry, folder, config, args, depths, device))
}

fn predict<P: Puzzle>(
    entry: &Entry<P>,
    folder: &Path,
    config: ModelConfig,
    args: &Args,
    kind: DepthKind,
    device: Device,
) -> Result<Density> {
    let puzzle = &**entry.puzzle();
    let Source { samples, default_depth } = entry.samples()?;
    let model = Model::read(folder, puzzle, device, Some(Precision::auto(device)))?;
    let trained = config.training["max_depth"].as_u64().and_then(|depth| u32::try_from(depth).ok());
    let max_depth = args.max_depth.or(trained).unwrap_or(default_depth).clamp(1, 10_000);
    let cells = config.encoding.cells;
    let (rows, depths) = if kind == DepthKind::Distance {
        let (states, distances) = exact_distances(entry, args, max_depth)?;
        let mut rows = Array2::zeros((states.len(), cells));
        for (state, mut row) in states.iter().zip(rows.outer_iter_mut()) {
            puzzle.encode(state, row.as_slice_mut().context("rows are contiguous")?);
        }
        (rows, distances)
    } else {
        let each = usize::try_from(args.scrambles().div_ceil(max_depth.into())).unwrap_or(usize::MAX);
        let sampler = Sampler::new(samples, (cells, puzzle.move_count()), args.seed(), max_depth, each);
        let rows: Vec<_> = (1..=max_depth).map(|depth| sampler.at_depth(depth)).collect();
        let views: Vec<_> = rows.iter().map(|rows| rows.view()).collect();
        let rows = concatenate(Axis(0), &views).context("rows of a puzzle are of one length")?;
        (rows, (1..=max_depth).flat_map(|depth| std::iter::repeat_n(depth, each)).collect())
    };
    let values = RowEvaluator::new(model, device).evaluate(rows.view(), Query::Values)?.values;
    let deepest = depths.iter().copied().max().unwrap_or(1).max(1);
    let predictions: Vec<(u32, f32)> = depths.into_iter().zip(values).collect();
    let histogram = Histogram::new(&predictions, deepest);
    Ok(Density { name: config.puzzle, samples: config.samples, histogram, depths: kind })
}

/// States of fresh scrambles of all depths, and their distances from the goal.
///
/// # Errors
/// If the exact distances of the puzzle are not known.
fn exact_distances<P: Puzzle>(entry: &Entry<P>, args: &Args, max_depth: u32) -> Result<(Vec<P::State>, Vec<u32>)> {
    let name = entry.puzzle().name();
    let unknown = || anyhow!("--kind exactness: exact distances are known of puzzle8 and cube2, not of {name}");
    let mut exact = entry.heuristic("exact").with_context(unknown)?;
    let state = |number: u64| {
        let depth = 1 + number % u64::from(max_depth);
        Some(entry.scramble(Some(depth), &mut generator(args.seed(), number))?.1)
    };
    let states = (0..args.scrambles()).map(state).collect::<Option<Vec<P::State>>>().with_context(unknown)?;
    let mut distances = Vec::new();
    exact.estimate_all(&states, &mut distances)?;
    Ok((states, distances.into_iter().map(|distance| distance as u32).collect()))
}
