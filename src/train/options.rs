//! Options of a training: one field per setting, whose documentation is the help text of its flag.

use super::schedule::Schedule;
use crate::error::Result;
use crate::neural::model::ModelConfig;
use crate::neural::network::{NetworkConfig, NetworkKind};
use crate::quantity::Interval;
#[cfg(feature = "cli")]
use crate::quantity::{count, duration, number, percentage, positive_count};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Network by default. Convolutions need a grid, which a puzzle from a file lacks, and pay off on the cube only.
pub(super) fn default_net(puzzle: &str) -> NetworkKind {
    if matches!(puzzle, "cube3" | "cube3:htm") { NetworkKind::Resnet } else { NetworkKind::Mlp }
}

/// All that a user may say of a training; [`resolve`](super::plan::resolve) decides the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct TrainOptions {
    /// Network: resnet or mlp [default: resnet for cube3 and cube3:htm, else mlp]
    #[serde(alias = "kind")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "KIND"))]
    pub net: Option<NetworkKind>,
    /// Channels of the convolutions, or units of the first dense layer (the others have half as many) [default: 1024;
    /// 512 or 256 for mlp on a small puzzle]
    #[cfg_attr(feature = "cli", arg(long, value_name = "W", value_parser = positive_count))]
    pub width: Option<u64>,
    /// Residual blocks [default: 4 for resnet, 2 for mlp]
    #[cfg_attr(feature = "cli", arg(long, value_name = "B", value_parser = count))]
    pub blocks: Option<u64>,
    /// Add a policy head, which learns the moves that lead back towards the goal [default: true for mlp, false for resnet]
    #[cfg_attr(feature = "cli", arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true"))]
    pub policy: Option<bool>,
    /// Samples in all: scrambled states, not optimizer steps [default: 1e9; a resumed run keeps its own]
    #[serde(alias = "steps")]
    #[cfg_attr(feature = "cli", arg(long, visible_alias = "steps", value_name = "N", value_parser = positive_count))]
    pub samples: Option<u64>,
    /// Train for this long, in place of --samples: 10m, 2h; the learning rate follows the clock [default: --samples
    /// decides; a resumed run keeps its own]
    #[serde(rename = "for")]
    #[cfg_attr(feature = "cli", arg(long = "for", value_name = "TIME", value_parser = duration, conflicts_with = "samples"))]
    pub seconds: Option<f64>,
    /// With --resume, finish early: train on further samples (this share of those seen, such as 5%) while the learning
    /// rate falls to 0
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", value_parser = percentage, requires = "resume", conflicts_with_all = ["samples", "seconds"]))]
    pub decay: Option<f64>,
    /// Samples per optimizer step: small batches learn more per sample, large ones keep a GPU busy [default: 2048 for
    /// mlp on the CPU, 8192 on CUDA; 1024 for resnet]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = positive_count))]
    pub batch_size: Option<u64>,
    /// Longest scramble, in moves; with --solutions, the greatest remaining cost of a sample [default: the puzzle's;
    /// cube3: 26; with --solutions, the cost that 99 % of them do not exceed]
    #[cfg_attr(feature = "cli", arg(long, value_name = "D", value_parser = positive_count))]
    pub max_depth: Option<u64>,
    /// Samples taken from each random walk; more are faster, but batches share walks [default: 1 for walks up to 39
    /// moves, else one per 7 moves, at most 16; with --sampler device one per 4 moves]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = positive_count))]
    pub walk_samples: Option<u64>,
    /// Where samples are made: host (by the processor's cores), device (as tensors, with --labels walks, on puzzles with
    /// a move table) or auto [default: auto, which is device on CUDA if possible, else host]
    #[cfg_attr(feature = "cli", arg(long, value_name = "auto|host|device"))]
    pub sampler: Option<String>,
    /// Highest learning rate [default: 4e-3 for mlp, 1e-3 for resnet]
    #[serde(alias = "learning_rate")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", value_parser = number))]
    pub lr: Option<f64>,
    /// Schedule of the learning rate after a warm-up over the first 2 % of the samples: cosine (half a cosine to 0), linear
    /// (to 0), wsd (warmup-stable-decay: constant, then linear to 0 over the last fifth) or constant [default: cosine]
    #[cfg_attr(feature = "cli", arg(long, value_name = "cosine|linear|wsd|constant", value_parser = schedule))]
    pub schedule: Option<Schedule>,
    /// Make the model an exponential moving average (EMA) of the weights with decay D, such as 0.999 [default: 0, the
    /// weights of the last optimizer step]
    #[cfg_attr(feature = "cli", arg(long, value_name = "D", value_parser = number))]
    pub ema: Option<f64>,
    /// Precision of the matrix products; all else is f32 [default: auto, which is bf16 if the device is fast at it]
    #[cfg_attr(feature = "cli", arg(long, value_name = "auto|f32|bf16"))]
    pub precision: Option<String>,
    /// Seed of the scrambles and of the initial weights [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = count))]
    pub seed: Option<u64>,
    /// Folder of the run [default: runs/PUZZLE-NET]
    #[cfg_attr(feature = "cli", arg(long, value_name = "DIR"))]
    pub out: Option<PathBuf>,
    /// Continue the run in that folder; start one if the folder is empty, or holds a run without a checkpoint
    #[cfg_attr(feature = "cli", arg(long))]
    pub resume: bool,
    /// Begin with the weights of this model, of the same puzzle or of one with the same encoding, such as cube3 and
    /// cube3:htm
    #[cfg_attr(feature = "cli", arg(long, value_name = "MODEL"))]
    pub init: Option<String>,
    /// Folder of the model `init`, if that is only its name.
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub init_folder: Option<PathBuf>,
    /// How often the run is saved: a time (30s, 10m, 2h) or a count of samples [default: 10m; a resumed run
    /// keeps its own]
    #[cfg_attr(feature = "cli", arg(long, value_name = "INTERVAL"))]
    pub checkpoint_every: Option<Interval>,
    /// Labels: walks (length of the walk to a state), exact (the same, but the distance near the goals), bellman (best
    /// child by the network itself: value iteration; with --init, a second phase) or solutions (rest of a known solution;
    /// with --init, a second phase) [default: walks; with --solutions, solutions]
    #[cfg_attr(feature = "cli", arg(long, value_name = "walks|exact|bellman|solutions"))]
    pub labels: Option<String>,
    /// Learn from the solutions in this file, the --out of costar bench, in place of scrambles: their states in all
    /// symmetric images, the moves left, and the next move
    #[cfg_attr(feature = "cli", arg(long, value_name = "results.jsonl"))]
    pub solutions: Option<String>,
    /// With --labels bellman: optimizer steps between updates of the target network [default: 100]
    #[cfg_attr(feature = "cli", arg(long, value_name = "STEPS", value_parser = positive_count))]
    pub target_every: Option<u64>,
    /// With --labels exact and bellman: depth of the perimeter with exact labels [default: the deepest in the cache, or 4]
    #[cfg_attr(feature = "cli", arg(long, value_name = "DEPTH", value_parser = count))]
    pub perimeter: Option<u64>,
    /// Share of samples from the sparse-state curriculum, for puzzles whose moves all commute, such as Lights Out: states
    /// that differ from the goal in few cells, however far they are [default: 0]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", value_parser = number))]
    pub sparse_states: Option<f64>,
    /// Also write the metrics to this folder, in TensorBoard's format [default: none; a resumed run keeps its own]
    #[cfg_attr(feature = "cli", arg(long, value_name = "DIR"))]
    pub tensorboard: Option<PathBuf>,
    /// Keep a copy of the model after every N samples, in the run's snapshots/; 0 for never [default: 0; a resumed run
    /// keeps its own]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = count))]
    pub snapshot_every: Option<u64>,
}

impl TrainOptions {
    /// Folder of the run: `out`, or else `runs/PUZZLE-NET`, with a `-` for each character of the puzzle's name that a path
    /// should not hold.
    ///
    /// # Errors
    /// If the model to begin with cannot be read.
    pub fn folder(&self, puzzle: &str) -> Result<PathBuf> {
        if let Some(out) = &self.out {
            return Ok(out.clone());
        }
        let net = self.init_network()?.map(|network| network.kind).or(self.net).unwrap_or_else(|| default_net(puzzle));
        let is_safe = |c: char| c.is_alphanumeric() || "._-+:,".contains(c);
        let name: String = puzzle.chars().map(|c| if is_safe(c) { c } else { '-' }).collect();
        Ok(Path::new("runs").join(format!("{}-{net}", name.trim_start_matches('.'))))
    }

    /// Folder of the model to begin with.
    pub(super) fn init_folder(&self) -> Option<&Path> {
        self.init_folder.as_deref().or(self.init.as_deref().map(Path::new))
    }

    pub(super) fn init_network(&self) -> Result<Option<NetworkConfig>> {
        self.init_folder().map(|folder| Ok(ModelConfig::read(folder)?.network)).transpose()
    }
}

/// Parses a schedule, named as in JSON.
#[cfg(feature = "cli")]
fn schedule(text: &str) -> Result<Schedule, &'static str> {
    serde_json::from_value(text.into()).map_err(|_| "expected cosine, linear, wsd or constant")
}
