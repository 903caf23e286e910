//! What estimates the cost-to-go: found by name, then loaded.

use super::choice::{is_blind, search_name};
use super::models;
use super::reverse::Reverse;
use super::search_options::SearchOptions;
use crate::heuristic::{Heuristic, zero};
use crate::neural::device::Device;
use crate::neural::estimator::NetworkHeuristic;
use crate::neural::learner::Precision;
use crate::neural::model::{BeamSettings, Model};
use crate::progress::note;
use crate::puzzle::Puzzle;
use anyhow::{Context as _, ensure};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What estimates the cost-to-go, by name: nothing is loaded yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Estimator {
    /// The network in a folder.
    Network { folder: PathBuf, model: String },
    /// One that needs no model.
    Own(String),
}

impl Estimator {
    /// The one that the flags name, or that `auto` stands for.
    ///
    /// # Errors
    /// If there is no such one, or no such model.
    pub(super) fn named<P: Puzzle>(puzzle: &P, reverse: &Reverse<P>, options: &SearchOptions) -> anyhow::Result<Self> {
        let own = reverse.heuristics(puzzle);
        let name = match options.heuristic.as_str() {
            "auto" if wants_network(puzzle, options) => "network",
            "auto" => match own[own.len() - 1] {
                // With nothing better, an error is better that says how to get a model.
                "ball" if !is_blind(search_name(puzzle, options, false)) => "network",
                best => best,
            },
            name => name,
        };
        if name == "network" {
            ensure!(
                puzzle.has_own_goal(),
                "--goal: a network knows the way to the goal that it was trained for, and to no other; \
                 --heuristic {} would be accepted",
                own.join(" or ")
            );
            let folder = match &options.model {
                Some(name) => models::find(name),
                None => models::find_for(&puzzle.name()),
            }?;
            let model = model_name(&folder, options);
            return Ok(Estimator::Network { folder, model });
        }
        Device::resolve(options.device)?;
        ensure!(options.model.is_none(), "--model: the heuristic '{name}' needs none; leave out one of the two");
        ensure!(
            own.contains(&name),
            "--heuristic: {} has no heuristic '{name}': auto, network, {} would be accepted",
            puzzle.name(),
            own.join(", ")
        );
        Ok(Estimator::Own(name.into()))
    }

    /// Loads it.
    ///
    /// # Errors
    /// If a model cannot be read, or is of another puzzle.
    pub(super) fn load<P: Puzzle>(
        self,
        puzzle: &Arc<P>,
        reverse: &Reverse<P>,
        options: &SearchOptions,
    ) -> anyhow::Result<Found<P::State>> {
        match (self, reverse.ball) {
            (Estimator::Network { folder, model: name }, _) => {
                let (device, said) = Device::resolve_aloud(options.device)?;
                if let Some(said) = said {
                    note!("costar: {said}");
                }
                let model = Model::read(&folder, &**puzzle, device, options.precision)?;
                let place = Place {
                    device,
                    precision: model.precision,
                    model: name,
                    weights_crc32: model.weights_crc32,
                    beam: model.config.beam,
                };
                Ok((Box::new(NetworkHeuristic::new(Arc::clone(puzzle), model, device)), Some(place)))
            }
            (Estimator::Own(name), _) if name == "zero" => Ok((Box::new(zero()), None)),
            (Estimator::Own(name), Some(make)) if name == "ball" => Ok((make(puzzle), None)),
            (Estimator::Own(name), _) => {
                let missing = || format!("{} has no heuristic '{name}' after all", puzzle.name());
                Ok((puzzle.heuristic(&name).with_context(missing)?, None))
            }
        }
    }
}

/// Where a network runs.
pub(super) struct Place {
    pub(super) device: Device,
    pub(super) precision: Precision,
    pub(super) model: String,
    pub(super) weights_crc32: u32,
    pub(super) beam: BeamSettings,
}

/// A heuristic, and where it runs if it is a network.
type Found<S> = (Box<dyn Heuristic<S>>, Option<Place>);

/// Whether `--heuristic auto` is a network: where a model was named, or there is one that would be asked and that is
/// better than what the puzzle has, or that the search was made for.
fn wants_network<P: Puzzle>(puzzle: &P, options: &SearchOptions) -> bool {
    let asked = match search_name(puzzle, options, puzzle.wants_network()) {
        "bwas" | "beam" => true,
        name => puzzle.wants_network() && !is_blind(name),
    };
    options.model.is_some() || (asked && puzzle.has_own_goal() && models::find_for(&puzzle.name()).is_ok())
}

/// The name that a result gives its model: as it was asked for, or the folder's own.
fn model_name(folder: &Path, options: &SearchOptions) -> String {
    let own = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    options.model.clone().or(own).unwrap_or_else(|| folder.display().to_string())
}
