//! Checkpoints: one folder `checkpoint-SAMPLES` in a run's folder, written whole and switched to by one rename.
//!
//! It holds `progress.json` (plan, position, a checksum of every other file), `weights.safetensors` and
//! `optimizer.safetensors` (all in f32, exactly), and `model/`, the model for solving.

use super::data_parallel::RankSpan;
use super::folder;
use super::options::TrainOptions;
use super::plan::TrainPlan;
use crate::error::{Context, Result, bail, ensure};
use crate::files::{self, create_folder_whole, write_synced};
use crate::neural::learner_state::{STATE_OPTIMIZER, STATE_WEIGHTS};
use crate::quantity::Interval;
use crate::report::run_folder::{CHECKPOINT, MODEL, checkpoints, entries};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const POSITION: &str = "progress.json";

/// Samples of a run by default.
pub const DEFAULT_SAMPLES: u64 = 1_000_000_000;

/// How often a run is saved by default.
pub const DEFAULT_CHECKPOINT_EVERY: Interval = Interval::Time(Duration::from_secs(600));

/// Files that every checkpoint holds.
const REQUIRED: [&str; 3] = [STATE_WEIGHTS, STATE_OPTIMIZER, "model/model.safetensors"];

/// Progress of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPosition {
    /// Settings of the run.
    #[serde(rename = "settings")]
    pub plan: TrainPlan,
    /// Samples in all, as last set.
    #[serde(rename = "steps")]
    pub total_samples: u64,
    /// Total training time in seconds; `None` if the run ends by samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_seconds: Option<f64>,
    /// The end of a run that is finished early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decay: Option<Decay>,
    /// How often the run is saved, as last set; left out if it is [`DEFAULT_CHECKPOINT_EVERY`].
    #[serde(default = "default_interval", skip_serializing_if = "is_default_interval")]
    pub checkpoint_every: Interval,
    /// Samples between snapshots of the model, as last set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_every: Option<u64>,
    /// Folder of TensorBoard's metrics, relative to the run's folder, as last set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensorboard: Option<PathBuf>,
    /// Samples seen.
    pub samples: u64,
    /// Batches seen, which is the number of the next one.
    pub batches: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// Number of ranks from each sample on; empty if there was only ever one process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankSpan>,
    /// CRC-32 of the other files.
    pub checksums: BTreeMap<String, u32>,
}

fn default_interval() -> Interval {
    DEFAULT_CHECKPOINT_EVERY
}

fn is_default_interval(every: &Interval) -> bool {
    *every == DEFAULT_CHECKPOINT_EVERY
}

impl RunPosition {
    /// The start of a run.
    pub fn start(plan: TrainPlan) -> RunPosition {
        RunPosition {
            plan,
            total_samples: DEFAULT_SAMPLES,
            total_seconds: None,
            decay: None,
            checkpoint_every: DEFAULT_CHECKPOINT_EVERY,
            snapshot_every: None,
            tensorboard: None,
            samples: 0,
            batches: 0,
            seconds: 0.0,
            ranks: vec![],
            checksums: BTreeMap::new(),
        }
    }

    /// The same position with the options that a run may change, in a run's folder.
    pub(super) fn with_options(mut self, options: &TrainOptions, out: &Path) -> RunPosition {
        if options.samples.is_some() || options.seconds.is_some() {
            (self.total_seconds, self.decay) = (options.seconds, None);
        }
        self.total_samples = options.samples.unwrap_or(self.total_samples);
        // The same command again continues the decay that it began; another share moves its end.
        if let Some(share) = options.decay {
            let decay = self.decay.unwrap_or(Decay { from: self.samples, rate: self.learning_rate() });
            (self.decay, self.total_samples, self.total_seconds) = (Some(decay), decay.end(share), None);
        }
        self.checkpoint_every = options.checkpoint_every.unwrap_or(self.checkpoint_every);
        self.snapshot_every = options.snapshot_every.or(self.snapshot_every).filter(|&every| every > 0);
        if let Some(folder) = &options.tensorboard {
            self.tensorboard = folder::relative_to(out, folder);
        }
        self
    }

    /// The share of the run that is done: of its samples, or of its time.
    fn progress(&self) -> f64 {
        match self.total_seconds {
            Some(total) => self.seconds / total,
            None => self.samples as f64 / self.total_samples as f64,
        }
    }

    /// Whether all samples are seen, or the time is over.
    pub(super) fn is_finished(&self) -> bool {
        self.progress() >= 1.0
    }

    /// The learning rate of the next step.
    pub(super) fn learning_rate(&self) -> f64 {
        match self.decay {
            Some(Decay { from, rate }) => {
                rate * self.total_samples.saturating_sub(self.samples) as f64
                    / (self.total_samples - from).max(1) as f64
            }
            None => self.plan.schedule.learning_rate(self.plan.learning_rate, self.progress()),
        }
    }
}

/// A straight fall of the learning rate to 0 at the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decay {
    /// Samples seen at its beginning.
    pub from: u64,
    /// The rate there.
    pub rate: f64,
}

impl Decay {
    /// Samples seen at its end, after this share more.
    pub(super) fn end(&self, share: f64) -> u64 {
        self.from + (share * self.from as f64).ceil().max(1.0) as u64
    }
}

/// The version of a checkpoint's format. The first ones do not name it.
const FORMAT: u32 = 1;

/// Contents of `progress.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    format: Option<u32>,
    /// The version of the crate that wrote it.
    crate_version: Option<String>,
    position: RunPosition,
    /// CRC-32 of the position as compact JSON.
    crc32: u32,
}

fn seal(position: &RunPosition) -> Result<u32> {
    let text = serde_json::to_vec(position).context("the position cannot be written as JSON")?;
    Ok(crc32fast::hash(&text))
}

/// Writes a checkpoint, then removes the ones before it.
///
/// # Errors
/// If it cannot be written; the ones before it stay then.
pub fn write(run: &Path, position: &mut RunPosition, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let older = checkpoints(run)?;
    let folder = folder_of(run, position.samples);
    if older.contains(&folder) {
        return Ok(folder); // nothing was learned since
    }
    create_folder_whole(&folder, |temporary| {
        fill(temporary)?;
        position.checksums = checksums(temporary)?;
        let sealed = Sealed {
            format: Some(FORMAT),
            crate_version: Some(env!("CARGO_PKG_VERSION").into()),
            position: position.clone(),
            crc32: seal(position)?,
        };
        let text = serde_json::to_string_pretty(&sealed).context("the position cannot be written as JSON")?;
        write_synced(&temporary.join(POSITION), (text + "\n").as_bytes())
    })?;
    older.iter().try_for_each(|old| remove(old))?;
    Ok(folder)
}

fn folder_of(run: &Path, samples: u64) -> PathBuf {
    run.join(format!("{CHECKPOINT}{samples:015}"))
}

fn remove(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Reads the position of a checkpoint, and checks that each of its files is as it was written.
///
/// # Errors
/// If a file is missing, damaged or foreign: names it.
pub fn read(checkpoint: &Path) -> Result<RunPosition> {
    let (path, model) = (checkpoint.join(POSITION), checkpoint.join(MODEL));
    let (file, folder, model) = (path.display(), checkpoint.display(), model.display());
    let remedy = format!("put a copy of it back, or start another run with `init` {model}, if that is whole");
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{folder} is not a checkpoint of costar ({remedy}): {POSITION} cannot be read"))?;
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let (format, writer) = (&value["format"], value["crate_version"].as_str().unwrap_or("of an unknown version"));
    ensure!(
        format.as_u64().is_none_or(|format| format == u64::from(FORMAT)),
        "{file} has format {format}, from costar {writer}, and this is costar {}, which reads format {FORMAT}: resume with \
         that version, or start another run with `init` {model}",
        env!("CARGO_PKG_VERSION")
    );
    ensure!(
        !text.contains("\"tightened\": {"),
        "{file}: the run has `labels` tightened, which this version of costar does not have: start another run with `init` \
         {model}"
    );
    let Sealed { position, crc32, .. } = serde_json::from_str(&text)
        .with_context(|| format!("{file} is damaged ({remedy}), or of another version of costar"))?;
    let expected_batches = position.samples.checked_div(position.plan.batch_size as u64);
    ensure!(
        seal(&position)? == crc32
            && Some(position.batches) == expected_batches
            && folder_of(checkpoint.parent().unwrap_or(Path::new("")), position.samples) == checkpoint
            && REQUIRED.iter().all(|name| position.checksums.contains_key(*name)),
        "{file} is damaged: it is not as it was written: {remedy}"
    );
    let found = checksums(checkpoint)?;
    for (name, expected) in &position.checksums {
        match found.get(name) {
            None => bail!("the checkpoint {folder} is not whole: {name} is missing: {remedy}"),
            Some(actual) => ensure!(
                actual == expected,
                "the checkpoint {folder} is damaged: {name} is not as it was written (checksum {actual:08x}, not \
                 {expected:08x}): {remedy}"
            ),
        }
    }
    Ok(position)
}

/// Removes checkpoints that a kill has left half-written.
///
/// # Errors
/// If the folder cannot be read or written.
pub fn sweep(run: &Path) -> Result<()> {
    entries(run)?.iter().filter(|entry| is_half_written(entry)).try_for_each(|entry| remove(entry))
}

/// Whether a folder's name is that of a half-written checkpoint.
pub(super) fn is_half_written(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.starts_with(CHECKPOINT) && name.ends_with(".tmp")
}

/// CRC-32 of every file below a folder but `progress.json`, by its path in there.
fn checksums(folder: &Path) -> Result<BTreeMap<String, u32>> {
    let mut found = BTreeMap::new();
    let mut paths = entries(folder)?;
    while let Some(path) = paths.pop() {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        if path.is_dir() {
            paths.extend(entries(&path)?);
        } else if name != POSITION {
            found.insert(name, crc32fast::hash(&files::read(&path)?));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A position as an earlier version wrote it.
    fn older() -> Value {
        json!({
            "settings": {
                "puzzle": "cube3",
                "network": {
                    "kind": "mlp", "width": 16, "blocks": 1, "policy": 12, "offset": 13.0, "scale": 10.0
                },
                "batch_size": 64,
                "max_depth": 26,
                "learning_rate": 0.004,
                "weight_decay": 0.001,
                "precision": "f32",
                "seed": 1,
                "generator": "walks-1",
                "init": null,
                "labels": "walks",
                "schedule": "cosine",
                "ema": 0.0,
                "sparse_states": 0.0
            },
            "steps": 1280,
            "samples": 640,
            "batches": 10,
            "seconds": 1.5,
            "checksums": {}
        })
    }

    #[test]
    fn a_position_without_what_was_added_later_is_read_and_sealed_as_before() {
        let position: RunPosition = serde_json::from_value(older()).expect("a position");
        assert_eq!(position.checkpoint_every, DEFAULT_CHECKPOINT_EVERY);
        assert_eq!((position.snapshot_every, &position.tensorboard), (None, &None));
        let written = serde_json::to_string(&position).expect("JSON");
        assert_eq!(written, older().to_string(), "the text that its checksum covers");
    }

    #[test]
    fn what_was_asked_for_is_kept() {
        let mut position: RunPosition = serde_json::from_value(older()).expect("a position");
        position.snapshot_every = Some(6400);
        position.tensorboard = Some("board".into());
        for every in [Interval::Time(Duration::from_millis(1500)), Interval::Samples(640)] {
            position.checkpoint_every = every;
            let written = serde_json::to_string(&position).expect("JSON");
            assert_eq!(serde_json::from_str::<RunPosition>(&written).expect("a position"), position);
        }
    }
}
