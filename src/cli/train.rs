//! `costar train`: flags to settings, and what the run will be, before it begins.

use super::choice::{check_reached, endgame_room};
use super::{Ending, OrInput as _, SUCCESS, models};
use crate::neural::device::{Device, DeviceChoice};
use crate::neural::learner::Precision;
use crate::neural::model::ModelConfig;
use crate::neural::network::{NetworkConfig, NetworkKind};
use crate::progress::note;
use crate::puzzle::{Encoding, Puzzle, Reversible, Visitor, visit};
use crate::quantity::{self, Interval, Roughly, grouped};
use crate::sampler::{GENERATOR, Samples, Source, Walks};
use crate::search::endgame::Endgame;
use crate::train::checkpoint::{self, Position};
use crate::train::settings::{Labels, Plan, Schedule, Settings};
use crate::train::{Ended, Training, claim};
use crate::{memory, signal};
use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The puzzle
    #[arg(long, default_value = "cube3", value_name = "NAME")]
    puzzle: String,
    /// The network [default: resnet]
    #[arg(long, value_name = "KIND")]
    net: Option<NetworkKind>,
    /// Channels of the convolutions, or units of the first dense layer (the others have half as many) [default: 1024]
    #[arg(long, value_name = "W", value_parser = quantity::positive_count)]
    width: Option<u64>,
    /// Residual blocks [default: 4]
    #[arg(long, value_name = "B", value_parser = quantity::count)]
    blocks: Option<u64>,
    /// Add a second head, which learns the move that leads back
    #[arg(long)]
    heads: bool,
    /// Samples in all: scrambled states [default: 1e9; of a resumed run, what it was begun with]
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    steps: Option<u64>,
    /// Samples a step: few learn more from as many samples, many keep a GPU busy [default: 2048 for mlp on the CPU, 8192
    /// on CUDA; 1024 for resnet]
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    batch_size: Option<u64>,
    /// The longest scramble [default: the puzzle's; cube3: 26]
    #[arg(long, value_name = "D", value_parser = quantity::positive_count)]
    max_depth: Option<u64>,
    /// The highest learning rate [default: 4e-3 for mlp, 1e-3 for resnet]
    #[arg(long, value_name = "X", value_parser = rate)]
    lr: Option<f64>,
    /// How the learning rate goes, once it has risen over the first 2 % of the samples: it falls to 0 at the last as half a
    /// cosine or in a straight line (linear), stays until the last fifth and falls to 0 in it (late), or stays (constant)
    /// [default: cosine]
    #[arg(long, value_name = "cosine|linear|late|constant", hide_possible_values = true)]
    schedule: Option<Schedule>,
    /// Let the model's weights be averages over steps, in which each step counts D times what the next does, as 0.999
    /// [default: 0, which is the last step's]
    #[arg(long, value_name = "D", value_parser = decay)]
    average: Option<f64>,
    /// Where to train: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    /// Of the matrix products; all else is f32 [default: auto, which is bf16 where the device is fast at it]
    #[arg(long, value_name = "auto|f32|bf16")]
    precision: Option<PrecisionChoice>,
    /// Of the scrambles and the network's start [default: 1]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    seed: Option<u64>,
    /// The run's folder [default: runs/PUZZLE-NET]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the run in that folder; start one if there is none
    #[arg(long)]
    resume: bool,
    /// Begin with the weights of this model
    #[arg(long, value_name = "MODEL")]
    init: Option<String>,
    /// How often the run is saved: a time (30s, 10m, 2h) or a count of samples
    #[arg(long, default_value = "10m", value_name = "INTERVAL")]
    checkpoint_every: Interval,
    /// What samples are labelled with: walks (the moves that led to a state), exact (the same, but the distance near the
    /// goals), tightened (exact, and beyond that what the walk adds to it) or bellman (the best of its children, by the
    /// network itself: value iteration; with --init, a second phase) [default: walks]
    #[arg(long, value_name = "walks|exact|tightened|bellman", hide_possible_values = true)]
    labels: Option<LabelsChoice>,
    /// Of --labels bellman: steps that the network which gives the labels is kept for [default: 100]
    #[arg(long, value_name = "STEPS", value_parser = quantity::positive_count)]
    target_every: Option<u64>,
    /// Of --labels exact, tightened and bellman: exact labels within so many moves of the goals [default: 4]
    #[arg(long, value_name = "DEPTH", value_parser = quantity::count)]
    endgame: Option<u64>,
    /// The share of samples that look nearly solved, however far they are, for puzzles whose moves all commute: what
    /// Lights Out is learned from [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = quantity::share::<f64>)]
    lookalikes: Option<f64>,
    /// Keep the model as it is after every N samples, in the run's snapshots/
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    snapshot_every: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PrecisionChoice {
    Auto,
    F32,
    Bf16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LabelsChoice {
    Walks,
    Exact,
    Tightened,
    Bellman,
}

impl From<Labels> for LabelsChoice {
    fn from(labels: Labels) -> Self {
        match labels {
            Labels::Walks => LabelsChoice::Walks,
            Labels::Exact { .. } => LabelsChoice::Exact,
            Labels::Tightened { .. } => LabelsChoice::Tightened,
            Labels::Bellman { .. } => LabelsChoice::Bellman,
        }
    }
}

impl Display for LabelsChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LabelsChoice::Walks => "walks",
            LabelsChoice::Exact => "exact",
            LabelsChoice::Tightened => "tightened",
            LabelsChoice::Bellman => "bellman",
        })
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err(format!("'{text}' is not a learning rate: a number above 0, as 2e-3, would be accepted")),
    }
}

fn decay(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(decay) if (0.0..1.0).contains(&decay) => Ok(decay),
        _ => Err(format!("'{text}': a number from 0 to less than 1, as 0.999, would be accepted")),
    }
}

const WEIGHT_DECAY: f64 = 1e-3;
const DEFAULT_STEPS: u64 = 1_000_000_000;
/// Deeper scrambles cost time and tell a network no more.
const DEEPEST: u32 = 10_000;

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install().context("no handler of signals can be installed")?;
    let name = args.puzzle.clone();
    visit(&name, None, Train { args, stop }).or_input()?
}

struct Train {
    args: Args,
    stop: &'static AtomicBool,
}

impl Visitor for Train {
    type Output = Ending;

    fn visit_irreversible<P: Puzzle>(self, puzzle: P) -> Ending {
        let Source { samples, default_depth } = puzzle.samples().or_input()?;
        let name = puzzle.name();
        self.with(Arc::new(puzzle), default_depth, |settings| {
            let own = |flag: &str| format!("{flag}: samples of {name} are made in a way of its own; leave it out");
            let labels = LabelsChoice::from(settings.labels);
            ensure!(labels == LabelsChoice::Walks, own(&format!("--labels {labels}")));
            ensure!(settings.lookalikes == 0.0, own("--lookalikes"));
            Ok(Arc::clone(&samples))
        })
    }

    fn visit<P: Reversible>(self, puzzle: P) -> Ending {
        let puzzle = Arc::new(puzzle);
        let stop = self.stop;
        self.with(Arc::clone(&puzzle), puzzle.default_depth(), |settings| {
            let walks = Walks::new(Arc::clone(&puzzle)).with_lookalikes(settings.lookalikes)?;
            let Some(depth) = settings.labels.endgame() else { return Ok(Arc::new(walks)) };
            let endgame = Endgame::within(&*puzzle, depth, endgame_room(memory::available()), stop);
            check_reached(&endgame, depth)?;
            Ok(Arc::new(match settings.labels {
                Labels::Bellman { .. } => walks.with_children(endgame),
                labels => walks.with_exact_labels(endgame, matches!(labels, Labels::Tightened { .. })),
            }))
        })
    }
}

impl Train {
    /// Trains on the samples that there are for such settings.
    fn with<P: Puzzle>(
        self,
        puzzle: Arc<P>,
        default_depth: u32,
        samples: impl Fn(&Settings) -> Result<Arc<dyn Samples>>,
    ) -> Ending {
        let Train { args, stop } = self;
        let (device, said) = Device::resolve_aloud(args.device).or_input()?;
        if let Some(said) = said {
            note!("costar: {said}");
        }
        let init = args.init.as_deref().map(models::find).transpose().or_input()?;
        let fresh = settings(&*puzzle, default_depth, &args, device, init.as_deref());
        let out = args.out.clone().unwrap_or_else(|| {
            // What is refused below has no network; then the folder does not matter.
            let kind = fresh.as_ref().map_or(NetworkKind::Resnet, |settings| settings.network.kind);
            Path::new("runs").join(format!("{}-{kind}", args.puzzle))
        });
        let resumes = args.resume && checkpoint::newest(&out).or_input()?.is_some();
        let fresh = if resumes {
            None
        } else {
            let settings = fresh.or_input()?;
            check_memory(&settings, &puzzle.encoding(), device).or_input()?;
            Some((samples(&settings).or_input()?, settings))
        };
        let _lock = claim(&out, args.resume).or_input()?;
        let plan = |steps| Plan {
            steps,
            checkpoint_every: args.checkpoint_every,
            snapshot_every: args.snapshot_every,
            sampler_threads: device.sampler_threads(),
            out: out.clone(),
        };
        let training = match fresh {
            Some((samples, settings)) => {
                if args.resume {
                    note!("costar: there is nothing to resume in {}: starting", out.display());
                }
                describe(&settings, device);
                let plan = plan(args.steps.unwrap_or(DEFAULT_STEPS));
                Training::fresh(puzzle, samples, settings, plan, device, init.as_deref()).or_input()?
            }
            None => {
                let folder = checkpoint::newest(&out).or_input()?.context("the checkpoint is gone").or_input()?;
                let position = checkpoint::read(&folder).or_input()?;
                check_same_run(&*puzzle, &args, &position).or_input()?;
                describe(&position.settings, device);
                note!("costar: resuming after {} samples", grouped(position.samples));
                let plan = plan(args.steps.unwrap_or(position.steps));
                let samples = samples(&position.settings).or_input()?;
                Training::resumed(puzzle, samples, &folder, position, plan, device).or_input()?
            }
        };
        note!("costar: {} parameters", grouped(training.parameter_count()));
        let left = training.samples_left();
        if left == 0 {
            note!(
                "costar: the run in {} has seen {} samples already: nothing is left to do (a larger --steps goes on)",
                out.display(),
                grouped(training.samples())
            );
            return Ok(SUCCESS);
        }
        let speed = training.measure_speed(stop)?;
        let time = Roughly(left as f64 / speed);
        note!("costar: {} samples at about {}/s: about {time}", grouped(left), grouped(speed as u64));
        match training.run(stop)? {
            Ended::Stopped => note!("costar: stopped; the same command with --resume goes on"),
            Ended::Finished | Ended::NothingLeft => {
                note!("costar: done: costar solve --model {} solves with it", out.display());
            }
        }
        Ok(SUCCESS)
    }
}

/// Refuses what cannot fit, before anything is allocated; on CUDA the device itself says so.
fn check_memory(settings: &Settings, encoding: &Encoding, device: Device) -> Result<()> {
    let parameters = settings.network.parameter_count(encoding)?;
    // Weights, gradients, two moments and the average, in f32; and once more while the speed is measured.
    let held = 2 * 4 * (4 + u64::from(settings.average > 0.0)) * parameters;
    let layers = 2 + 2 * settings.network.blocks as u64;
    let positions = match settings.network.kind {
        NetworkKind::Mlp => 1,
        NetworkKind::Resnet => encoding.grid.map_or(1, |grid| (grid.rows * grid.columns) as u64),
    };
    // A layer keeps its product and what comes out of the normalisation for the backward pass.
    let kept = 2 * 2 * layers * positions * settings.network.width as u64 * settings.batch_size as u64;
    let needed = held.saturating_add(kept);
    match memory::available() {
        Some(available) if !device.is_cuda() && needed > available => bail!(
            "training {} parameters in batches of {} takes about {} of memory, and {} are available: \
             a smaller --width, --blocks or --batch-size would be accepted",
            grouped(parameters),
            grouped(settings.batch_size as u64),
            quantity::bytes(needed),
            quantity::bytes(available)
        ),
        _ => Ok(()),
    }
}

/// The settings of a new run: flags as typed, then defaults; a model to begin with brings its network.
fn settings<P: Puzzle>(
    puzzle: &P,
    default_depth: u32,
    args: &Args,
    device: Device,
    init: Option<&Path>,
) -> Result<Settings> {
    let max_depth = narrow("--max-depth", args.max_depth.unwrap_or(default_depth.into()))?;
    let network = match init {
        Some(folder) => {
            let model = ModelConfig::read(folder)?;
            let kept = Kept { of: "the network of --init is", remedy: "leave it out" };
            check_network(args, &model.network, &kept)?;
            model.network
        }
        None => NetworkConfig {
            kind: args.net.unwrap_or(NetworkKind::Resnet),
            width: narrow("--width", args.width.unwrap_or(1024))?,
            blocks: narrow("--blocks", args.blocks.unwrap_or(4))?,
            heads: args.heads.then(|| puzzle.move_count()),
            // The middle of the labels, and a third of their range: outputs begin near 0 and stay of the order of 1.
            offset: f64::from(max_depth) / 2.0,
            scale: f64::from(max_depth) / 2.6,
        },
    };
    let dense = network.kind == NetworkKind::Mlp;
    let best_batch = match (dense, device.is_cuda()) {
        (true, true) => 8192,
        (true, false) => 2048,
        (false, _) => 1024,
    };
    let batch_size = narrow("--batch-size", args.batch_size.unwrap_or(best_batch))?;
    ensure!((2..=1 << 24).contains(&batch_size), "--batch-size {batch_size}: from 2 to 16777216 would be accepted");
    ensure!(max_depth <= DEEPEST, "--max-depth {max_depth}: at most {DEEPEST} would be accepted");
    Ok(Settings {
        labels: labels(args)?,
        puzzle: puzzle.name(),
        network,
        batch_size,
        max_depth,
        learning_rate: args.lr.unwrap_or(if dense { 4e-3 } else { 1e-3 }),
        schedule: args.schedule.unwrap_or_default(),
        average: args.average.unwrap_or(0.0),
        weight_decay: WEIGHT_DECAY,
        precision: precision(args).unwrap_or(Precision::auto(device)),
        seed: args.seed.unwrap_or(1),
        generator: GENERATOR.into(),
        init: args.init.clone(),
        lookalikes: args.lookalikes.unwrap_or(0.0),
    })
}

/// Labels as the flags have them.
fn labels(args: &Args) -> Result<Labels> {
    let choice = args.labels.unwrap_or(LabelsChoice::Walks);
    ensure!(
        args.target_every.is_none() || choice == LabelsChoice::Bellman,
        "--target-every is a setting of --labels bellman: add that, or leave it out"
    );
    ensure!(
        args.endgame.is_none() || choice != LabelsChoice::Walks,
        "--endgame is a setting of --labels exact, tightened and bellman: add one of them, or leave it out"
    );
    let endgame = narrow("--endgame", args.endgame.unwrap_or(4))?;
    Ok(match choice {
        LabelsChoice::Walks => Labels::Walks,
        LabelsChoice::Exact => Labels::Exact { endgame },
        LabelsChoice::Tightened => Labels::Tightened { endgame },
        LabelsChoice::Bellman => Labels::Bellman { target_every: args.target_every.unwrap_or(100), endgame },
    })
}

fn narrow<T: TryFrom<u64>>(flag: &str, number: u64) -> Result<T> {
    T::try_from(number).ok().with_context(|| format!("{flag} {number} is too large"))
}

fn precision(args: &Args) -> Option<Precision> {
    match args.precision? {
        PrecisionChoice::Auto => None,
        PrecisionChoice::F32 => Some(Precision::F32),
        PrecisionChoice::Bf16 => Some(Precision::Bf16),
    }
}

/// Settings come from the checkpoint: a flag that says otherwise is refused by name.
fn check_same_run<P: Puzzle>(puzzle: &P, args: &Args, position: &Position) -> Result<()> {
    let settings = &position.settings;
    let kept = Kept { of: "the run's is", remedy: "leave it out, or start a new run with another --out" };
    ensure!(
        settings.puzzle == puzzle.name(),
        "--puzzle {}: {} {}; {}",
        puzzle.name(),
        kept.of,
        settings.puzzle,
        kept.remedy
    );
    ensure!(
        settings.generator == GENERATOR,
        "the run was sampled with the generator {}, and this version of costar has {GENERATOR}: it cannot be resumed",
        settings.generator
    );
    check_network(args, &settings.network, &kept)?;
    kept.check("--batch-size", args.batch_size, settings.batch_size as u64)?;
    kept.check("--max-depth", args.max_depth, u64::from(settings.max_depth))?;
    kept.check("--lr", args.lr, settings.learning_rate)?;
    kept.check("--schedule", args.schedule, settings.schedule)?;
    kept.check("--average", args.average, settings.average)?;
    kept.check("--precision", precision(args), settings.precision)?;
    kept.check("--seed", args.seed, settings.seed)?;
    check_labels(args, settings.labels, &kept)?;
    kept.check("--lookalikes", args.lookalikes, settings.lookalikes)?;
    if let Some(init) = &args.init {
        ensure!(
            settings.init.as_ref() == Some(init),
            "--init {init}: the run began with {}; {}",
            settings.init.as_deref().unwrap_or("fresh weights"),
            kept.remedy
        );
    }
    Ok(())
}

fn check_labels(args: &Args, labels: Labels, kept: &Kept) -> Result<()> {
    let kind = LabelsChoice::from(labels);
    kept.check("--labels", args.labels, kind)?;
    let target_every = if let Labels::Bellman { target_every, .. } = labels { Some(target_every) } else { None };
    let endgame = labels.endgame().map(u64::from);
    for (flag, typed, kept_value) in
        [("--target-every", args.target_every, target_every), ("--endgame", args.endgame, endgame)]
    {
        match kept_value {
            Some(value) => kept.check(flag, typed, value)?,
            None => ensure!(typed.is_none(), "{flag}: the run has --labels {kind}, without it; {}", kept.remedy),
        }
    }
    Ok(())
}

fn check_network(args: &Args, network: &NetworkConfig, kept: &Kept) -> Result<()> {
    kept.check("--net", args.net, network.kind)?;
    kept.check("--width", args.width, network.width as u64)?;
    kept.check("--blocks", args.blocks, network.blocks as u64)?;
    if args.heads && network.heads.is_none() {
        bail!("--heads: {} without it; {}", kept.of, kept.remedy);
    }
    Ok(())
}

/// Settings that a flag cannot change.
struct Kept {
    of: &'static str,
    remedy: &'static str,
}

impl Kept {
    fn check<T: PartialEq + Display>(&self, flag: &str, typed: Option<T>, kept: T) -> Result<()> {
        match typed {
            Some(typed) if typed != kept => bail!("{flag} {typed}: {} {kept}; {}", self.of, self.remedy),
            _ => Ok(()),
        }
    }
}

fn describe(settings: &Settings, device: Device) {
    let network = &settings.network;
    note!(
        "costar: training {} for {}: {} × {}{}, on {device} in {}",
        network.kind,
        settings.puzzle,
        network.width,
        network.blocks,
        if network.heads.is_some() { " with two heads" } else { "" },
        settings.precision
    );
    note!(
        "costar: batches of {}, scrambles of 1 to {} moves, learning rate {:e}, seed {}",
        grouped(settings.batch_size as u64),
        settings.max_depth,
        settings.learning_rate,
        settings.seed
    );
}
