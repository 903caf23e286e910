//! `costar train`: flags to a configuration, and what the run will be, before it begins.

use super::progress::{TrainingBar, note};
use super::signal;
use super::{Ending, OrInput as _, SUCCESS, puzzle_name, ranks};
use crate::distributed::Group;
use crate::distributed::meeting::Attempt;
use crate::error::{Result, SettingError};
use crate::neural::device::{Device, DeviceChoice};
use crate::neural::network::NetworkKind;
use crate::neural::precision::Precision;
use crate::puzzle::{Puzzle, move_names};
use crate::quantity::{self, Interval, Roughly, grouped};
use crate::random::generator;
use crate::registry::{Entry, Visitor, visit};
use crate::report::TensorBoard;
use crate::solver::models;
use crate::train::config::{Init, LabelKind, TrainingConfig};
use crate::train::settings::{Schedule, Settings};
use crate::train::{Ended, Event, RunOptions, Training, checkpoint, show_predictions};
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The puzzle [default: that of the run that is resumed, or of --init, or cube3]
    #[arg(long, value_name = "NAME")]
    puzzle: Option<String>,
    /// The network [default: resnet]
    #[arg(long, value_name = "KIND")]
    net: Option<NetworkKind>,
    /// Channels of the convolutions, or units of the first dense layer (the others have half as many) [default: 1024]
    #[arg(long, value_name = "W", value_parser = quantity::positive_count)]
    width: Option<u64>,
    /// Residual blocks [default: 4]
    #[arg(long, value_name = "B", value_parser = quantity::count)]
    blocks: Option<u64>,
    /// Add a policy head, which learns the moves that lead back towards the goal
    #[arg(long)]
    policy: bool,
    /// Samples in all, that is scrambled states, not optimizer steps [default: 1e9; of a resumed run, what it was begun with]
    #[arg(long, visible_alias = "samples", value_name = "N", value_parser = quantity::positive_count)]
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
    /// The schedule of the learning rate, after a warm-up over the first 2 % of the samples: half a cosine to 0, linear to
    /// 0, wsd (warmup-stable-decay: constant, and linear to 0 in the last fifth) or constant [default: cosine]
    #[arg(long, value_name = "cosine|linear|wsd|constant")]
    schedule: Option<Schedule>,
    /// Make the model an exponential moving average (EMA) of the weights with decay D, such as 0.999 [default: 0, which is
    /// the last step's weights]
    #[arg(long, value_name = "D", value_parser = decay)]
    ema: Option<f64>,
    /// Where to train: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    /// The precision of the matrix products; all else is f32 [default: auto, which is bf16 where the device is fast at it]
    #[arg(long, value_name = "auto|f32|bf16")]
    precision: Option<PrecisionChoice>,
    /// The seed of the scrambles and of the initial weights [default: 1]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    seed: Option<u64>,
    /// The run's folder [default: runs/PUZZLE-NET]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the run in that folder; start one if the folder is empty, or holds a run that has not saved yet
    #[arg(long)]
    resume: bool,
    /// Begin with the weights of this model, of the same puzzle or of one with the same encoding, as cube3 and
    /// cube3:htm have
    #[arg(long, value_name = "MODEL")]
    init: Option<String>,
    /// How often the run is saved: a time (30s, 10m, 2h) or a count of samples [default: 10m; of a resumed run, what it
    /// had]
    #[arg(long, value_name = "INTERVAL")]
    checkpoint_every: Option<Interval>,
    /// The labels: walks (the length of the walk to a state), exact (the same, but the distance near the goals), tightened
    /// (exact, and beyond that the length of the walk from there) or bellman (the best of its children by the network
    /// itself: value iteration; with --init, a second phase) [default: walks]
    #[arg(long, value_name = "walks|exact|tightened|bellman")]
    labels: Option<LabelKind>,
    /// Of --labels bellman: steps that a target network is kept for [default: 100]
    #[arg(long, value_name = "STEPS", value_parser = quantity::positive_count)]
    target_every: Option<u64>,
    /// Of --labels exact, tightened and bellman: depth of the perimeter with exact labels [default: the
    /// deepest in the cache, or 4]
    #[arg(long, value_name = "DEPTH", value_parser = quantity::count)]
    perimeter: Option<u64>,
    /// The share of samples from the sparse-state curriculum, for puzzles whose moves all commute, as Lights Out: states
    /// that differ from the goal in few cells, however far they are [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = quantity::share::<f64>)]
    sparse_states: Option<f64>,
    /// Also write the metrics to this folder as TensorBoard reads them [default: of a resumed run, the one it had]
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
    /// Keep the model as it is after every N samples, in the run's snapshots/; 0 for never [default: 0; of a resumed
    /// run, what it had]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    snapshot_every: Option<u64>,
}

/// A precision to train in, or what is fastest.
#[derive(Debug, Clone, Copy)]
struct PrecisionChoice(Option<Precision>);

impl FromStr for PrecisionChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(PrecisionChoice(None)),
            "f32" => Ok(PrecisionChoice(Some(Precision::F32))),
            "bf16" => Ok(PrecisionChoice(Some(Precision::Bf16))),
            _ => Err(format!("unknown precision '{text}': expected auto, f32 or bf16")),
        }
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err(format!("'{text}' is not a learning rate: expected a number above 0, such as 2e-3")),
    }
}

fn decay(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(decay) if (0.0..1.0).contains(&decay) => Ok(decay),
        _ => Err(format!("'{text}': expected a number from 0 to less than 1, such as 0.999")),
    }
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install().context("no handler of signals can be installed")?;
    let group = ranks::join(&stop)?;
    let name = puzzle(&args).or_input()?;
    visit(&name, None, Train { args, name: name.clone(), group, stop }).or_input()?
}

/// The puzzle's name: what is given, or else that of the run or the model that it goes on with.
fn puzzle(args: &Args) -> Result<String> {
    let run = args.out.as_deref().filter(|_| args.resume && args.puzzle.is_none());
    if let Some(run) = run
        && let Some(checkpoint) = checkpoint::newest(run)?
    {
        return models::puzzle_of(&checkpoint.join(checkpoint::MODEL)).or_else(|refusal| {
            checkpoint::read(&checkpoint)?; // it says what is damaged
            Err(refusal)
        });
    }
    puzzle_name(args.puzzle.as_deref(), args.init.as_deref())
}

struct Train {
    args: Args,
    name: String,
    group: Option<Arc<Group>>,
    stop: Arc<AtomicBool>,
}

impl Visitor for Train {
    type Output = Ending;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Ending {
        let Train { mut args, name, group, stop } = self;
        let device = Device::resolve(args.device).or_input()?;
        device.log_choice(args.device);
        let config = config(&args).or_input()?;
        let mut options = options(&args, &name, &config).or_input()?;
        let asked_to_resume = args.resume;
        // A launcher that starts the ranks again means the run to go on.
        let alone = if group.is_none() { Attempt::alone() } else { None };
        let attempt = group.as_ref().map(|group| group.attempt()).or(alone.as_ref());
        args.resume |= attempt.is_some_and(|attempt| attempt.was_opened(&options.out));
        options.resume = args.resume;
        let resumes = args.resume && checkpoint::newest(&options.out).or_input()?.is_some();
        let may_say = group.as_ref().is_none_or(|group| group.is_first());
        if asked_to_resume && may_say && !options.out.is_dir() {
            let reason = format!("there is no run in {}: leave it out to start one", options.out.display());
            return Err(SettingError::new("resume", reason)).or_input();
        }
        let training = match &group {
            None => Training::open(&entry, &config, &options, device, &stop),
            Some(group) => Training::open_together(&entry, &config, &options, device, Arc::clone(group), &stop),
        };
        let training = training.or_input()?;
        if let Some(attempt) = attempt.filter(|_| may_say) {
            attempt.note_opened(&options.out);
        }
        if !may_say {
            training.measure_speed(&stop)?;
            return training.run(&stop, &mut |_| ()).map(|_| SUCCESS).map_err(Into::into);
        }
        if args.resume && !resumes {
            note!("costar: there is nothing to resume in {}: starting", options.out.display());
        }
        describe(training.settings(), device);
        if training.ranks() > 1 {
            let (ranks, all) = (training.ranks(), grouped(training.samples_a_step()));
            note!("costar: {ranks} ranks, each with its own batches: {all} samples a step in all");
        }
        if resumes {
            note!("costar: resuming after {} samples", grouped(training.samples()));
        }
        if let Some(before) = training.ranks_before() {
            let (ranks, samples) = (training.ranks(), grouped(training.samples()));
            note!(
                "costar: the run had {before} ranks until sample {samples}, and has {ranks} from there on: its bits are \
                 not those of a run with as many throughout"
            );
        }
        note!("costar: {} parameters", grouped(training.parameter_count()));
        let left = training.samples_left();
        if left == 0 {
            note!(
                "costar: the run in {} has seen {} samples already: nothing is left to do (a larger --steps goes on)",
                options.out.display(),
                grouped(training.samples())
            );
            return Ok(SUCCESS);
        }
        let measured = AtomicBool::new(false);
        let speed = thread::scope(|scope| {
            scope.spawn(|| when_stopped(&stop, &measured, || note!("{STOPPING}")));
            let _ends = Ends(&measured);
            training.measure_speed(&stop)
        })?;
        if let Some(speed) = speed.map(|speed| speed * training.ranks() as f64) {
            let time = Roughly(left as f64 / speed);
            note!("costar: {} samples at about {}/s: about {time}", grouped(left), grouped(speed as u64));
        }
        let board = training.tensorboard().map(|folder| TensorBoard::create(&folder, training.samples()));
        let whose = match args.tensorboard {
            Some(_) => "--tensorboard",
            None => "--tensorboard of the run that is resumed: name another folder, or make this one writable",
        };
        let mut board = board.transpose().context(whose).or_input()?;
        let bar = TrainingBar::new(training.steps(), training.samples(), training.ranks());
        let (ended, told) = (AtomicBool::new(false), Once::new());
        let tell = || told.call_once(|| bar.note(STOPPING));
        if stop.load(Ordering::Relaxed) {
            told.call_once(|| ()); // while the speed was measured
        }
        let ended = thread::scope(|scope| {
            scope.spawn(|| when_stopped(&stop, &ended, tell));
            let _ends = Ends(&ended);
            training.run(&stop, &mut |event| {
                if stop.load(Ordering::Relaxed) {
                    tell(); // before it says that it has saved
                }
                show(&bar, event);
                log_metrics(&mut board, event, &bar);
            })
        });
        drop(bar);
        match ended? {
            Ended::Stopped => note!("costar: stopped; the same command with --resume goes on"),
            Ended::Finished | Ended::NothingLeft => {
                note!("costar: done; solve with it: {}", example(&entry, &quoted(&options.out)));
            }
        }
        Ok(SUCCESS)
    }
}

/// Writes the metrics for TensorBoard. A file that cannot be written is reported and left; the training goes on.
fn log_metrics(board: &mut Option<TensorBoard>, event: &Event<'_>, bar: &TrainingBar) {
    if let (Event::Metrics(metrics), Some(open)) = (event, &mut *board)
        && let Err(error) = open.write(metrics)
    {
        bar.note(&format!("costar: --tensorboard: {error}; no more is written there"));
        *board = None;
    }
}

const STOPPING: &str = "costar: stopping after this step, then saving";

/// Answers a signal at once: a step may take seconds.
fn when_stopped(stop: &AtomicBool, ended: &AtomicBool, say: impl Fn()) {
    while !ended.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
    }
    if stop.load(Ordering::Relaxed) {
        say();
    }
}

/// Sets a flag at its end, however that comes: nobody waits for it in vain.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A path as it is typed in a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// A command that solves an instance with the model of a run. A state may take several lines, which no one types.
fn example<P: Puzzle>(entry: &Entry<P>, run: &str) -> String {
    /// Moves of a scramble that is soon solved.
    const MOVES: u64 = 8;
    let puzzle = &**entry.puzzle();
    match entry.reverse() {
        Some(reverse) => {
            let (moves, _) = reverse.scramble(puzzle, MOVES, &mut generator(1, 0));
            format!("costar solve --model {run} \"{}\"", move_names(puzzle, &moves).join(" "))
        }
        None => format!("costar scramble --model {run} --depth {MOVES} | costar solve --model {run} -"),
    }
}

/// The flags as typed, as a configuration.
fn config(args: &Args) -> Result<TrainingConfig> {
    let init = match &args.init {
        Some(name) => Some(Init { folder: models::find(name)?, name: name.clone() }),
        None => None,
    };
    Ok(TrainingConfig {
        net: args.net,
        width: args.width,
        blocks: args.blocks,
        policy: args.policy,
        batch_size: args.batch_size,
        max_depth: args.max_depth,
        lr: args.lr,
        schedule: args.schedule,
        ema: args.ema,
        precision: args.precision.and_then(|choice| choice.0),
        seed: args.seed,
        init,
        labels: args.labels,
        target_every: args.target_every,
        perimeter: args.perimeter,
        sparse_states: args.sparse_states,
    })
}

/// Where the run is, and how often it is saved.
fn options(args: &Args, puzzle: &str, config: &TrainingConfig) -> Result<RunOptions> {
    let out = match &args.out {
        Some(out) => out.clone(),
        None => Path::new("runs").join(format!("{puzzle}-{}", config.network_kind()?)),
    };
    Ok(RunOptions {
        out,
        steps: args.steps,
        resume: args.resume,
        checkpoint_every: args.checkpoint_every,
        snapshot_every: args.snapshot_every,
        tensorboard: args.tensorboard.clone(),
    })
}

/// Shows what a training reports.
fn show(bar: &TrainingBar, event: &Event<'_>) {
    match event {
        Event::Step { samples, .. } => bar.seen(*samples),
        Event::Metrics(metrics) => bar.say(format!(
            "{}/s  loss {:.4}  error {:.2} moves  rate {:.1e}",
            grouped(metrics.samples_per_second as u64),
            metrics.loss,
            metrics.absolute_error,
            metrics.learning_rate
        )),
        Event::MetricsNotWritten(error) => bar.note(&format!("costar: the metrics are not written: {error}")),
        Event::Saved { folder, predictions } => {
            bar.note(&format!("{}\ncostar: saved in {}", show_predictions(predictions), folder.display()));
        }
        Event::NotSaved(error) => bar.note(&format!("costar: not saved: {error}; going on")),
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
        if network.policy.is_some() { " with a policy head" } else { "" },
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
