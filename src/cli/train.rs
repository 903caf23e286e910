//! `costar train`: opens a training, prints what it will do, and runs it.

use super::progress::{ProgressBar, note, note_above, training_bar};
use super::{DEFAULT_PUZZLE, Ending, OrInput as _, SUCCESS, ranks, signal};
use crate::distributed::Group;
use crate::distributed::rendezvous::Round;
use crate::error::{Result, SettingError};
use crate::neural::device::{Device, DeviceChoice};
use crate::neural::network::NetworkConfig;
use crate::puzzle::{Puzzle, counted, move_names};
use crate::quantity::{grouped, roughly};
use crate::random::generator;
use crate::registry::{Entry, find, with_entry};
use crate::report::run_folder::{MODEL, newest_checkpoint};
use crate::report::{Metrics, TensorBoard};
use crate::solver::models;
use crate::train::plan::{SamplerKind, TrainPlan, resolve};
use crate::train::targets::Labels;
use crate::train::{Ended, Event, TrainOptions, Trainable, Training, checkpoint, show_predictions};
use anyhow::Context as _;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Puzzle [default: that of the resumed run, or of --init, or cube3]
    #[arg(long, value_name = "NAME")]
    puzzle: Option<String>,
    /// Where to train: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    #[command(flatten)]
    options: TrainOptions,
}

pub(super) fn run(mut args: Args) -> Ending {
    let stop = signal::install()?;
    let group = ranks::join(&stop)?;
    args.options.init_folder = args.options.init.as_deref().map(find_init).transpose().or_input()?;
    let name = puzzle(&args).or_input()?;
    let entry = find(&name, None).or_input()?;
    with_entry!(&entry, entry => train((args, group, stop), entry, &|run| example(entry, run)))
}

fn find_init(name: &str) -> Result<PathBuf> {
    models::find(name).map_err(|error| match error.setting() {
        Some(refused) => SettingError::new("init", &*refused.reason).into(),
        None => error,
    })
}

/// Name of the puzzle: the given one, or else that of the resumed run or of the model to begin with.
fn puzzle(args: &Args) -> Result<String> {
    let TrainOptions { out, resume, init_folder, .. } = &args.options;
    if let Some(name) = &args.puzzle {
        return Ok(name.clone());
    }
    if let Some(run) = out.as_deref().filter(|_| *resume)
        && let Some(checkpoint) = newest_checkpoint(run)?
    {
        return models::puzzle_of(&checkpoint.join(MODEL)).or_else(|refusal| {
            checkpoint::read(&checkpoint)?; // names what is damaged
            Err(refusal)
        });
    }
    init_folder.as_deref().map_or_else(|| Ok(DEFAULT_PUZZLE.to_owned()), models::puzzle_of)
}

/// The command, the ranks that share it, and the flag that stops it.
type TrainCommand = (Args, Option<Arc<Group>>, Arc<AtomicBool>);

/// Trains; `example` is a command that solves an instance with the model of a run. Not generic: it is compiled once.
fn train(shared: TrainCommand, entry: &dyn Trainable, example: &dyn Fn(&str) -> String) -> Ending {
    let (Args { device: choice, mut options, .. }, group, stop) = shared;
    let out = options.folder(&entry.learnable().name()).or_input()?;
    options.out = Some(out.clone());
    let is_first = group.as_ref().is_none_or(|group| group.is_first());
    if options.resume && is_first && !out.is_dir() {
        let reason = format!("there is no run in {}: leave it out to start one", out.display());
        return Err(SettingError::new("resume", reason)).or_input();
    }
    // A launcher that starts the ranks again means the run to continue.
    let single = if group.is_none() { Round::of_single_rank() } else { None };
    let round = group.as_ref().map(|group| group.round()).or(single.as_ref());
    options.resume |= round.is_some_and(|round| round.was_opened(&out));
    let resumes = options.resume && newest_checkpoint(&out).or_input()?.is_some();
    if is_first && !resumes {
        // Refuses what no device takes: opening CUDA takes seconds.
        resolve(&options, &entry.train_facts(&options, Device::CPU).or_input()?).or_input()?;
    }
    let device = Device::resolve(choice).or_input()?;
    device.log_choice(choice);
    let training = match &group {
        None => Training::open(entry, &options, device, &stop),
        Some(group) => Training::open_together(entry, &options, device, Arc::clone(group), &stop),
    };
    let mut training = training.or_input()?;
    if !is_first {
        training.measure_speed(&stop)?;
        return training.run(&stop, &mut |_| ()).map(|_| SUCCESS).map_err(Into::into);
    }
    if let Some(round) = round {
        round.note_opened(&out);
    }
    if options.resume && !resumes {
        note!("costar: there is nothing to resume in {}: starting", out.display());
    }
    if training.is_finished() {
        describe(&training, resumes, device, entry.takes_walks());
        note!(
            "costar: the run in {} has seen {} samples already: nothing is left to do (a larger --samples or --for continues)",
            out.display(),
            grouped(training.samples())
        );
        return Ok(SUCCESS);
    }
    let board = training.tensorboard().map(|folder| TensorBoard::create(folder, training.samples()));
    let flag = match options.tensorboard {
        Some(_) => "--tensorboard",
        None => "--tensorboard of the run that is resumed: name another folder, or make this one writable",
    };
    let mut board = board.transpose().context(flag).or_input()?;
    training.save_start()?;
    let said = Once::new();
    let say = || said.call_once(|| note!("{STOPPING}"));
    let speed = while_watching(&stop, say, || training.measure_speed(&stop))?;
    let speed = speed.map(|speed| speed * training.ranks() as f64);
    let left =
        training.samples_left().or(training.seconds_left().zip(speed).map(|(time, speed)| (time * speed) as u64));
    if let Some((speed, left)) = speed.zip(left) {
        let time = roughly(left as f64 / speed);
        note!("costar: {} samples at about {}/s: about {time}", grouped(left), grouped(speed as u64));
    }
    describe(&training, resumes, device, entry.takes_walks());
    let total = training.samples() + left.unwrap_or(0);
    let bar = training_bar(total, training.samples(), training.ranks());
    let say = || said.call_once(|| note_above(&bar, STOPPING));
    let ended = while_watching(&stop, say, || {
        training.run(&stop, &mut |event| {
            if stop.load(Ordering::Relaxed) {
                say(); // before it says that it has saved
            }
            show(&bar, event);
            log_metrics(&mut board, event, &bar);
        })
    });
    drop(bar);
    match ended? {
        Ended::Stopped => note!("costar: stopped; the same command with --resume continues"),
        Ended::Finished | Ended::NothingLeft => {
            note!("costar: done; solve with it: {}", example(&quoted(&out)));
        }
    }
    Ok(SUCCESS)
}

const STOPPING: &str = "costar: stopping after this step, then saving";

/// Does some work, and calls `say` at once when a signal comes: an optimizer step may take seconds.
fn while_watching<T>(stop: &AtomicBool, say: impl Fn() + Send, work: impl FnOnce() -> T) -> T {
    const POLL: Duration = Duration::from_millis(20);
    let (working, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) && ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {}
            if stop.load(Ordering::Relaxed) {
                say();
            }
        });
        let _working = working; // dropped when the work ends, by a panic too
        work()
    })
}

/// Prints the settings and the size of the run.
fn describe(training: &Training, resumes: bool, device: Device, takes_walks: bool) {
    let (plan, ranks, samples) = (training.plan(), training.ranks(), grouped(training.samples()));
    let TrainPlan { puzzle, precision, max_depth, learning_rate, seed, walk_samples, .. } = plan;
    let NetworkConfig { kind, width, blocks, .. } = &plan.network;
    let head = if plan.network.policy.is_some() { " with a policy head" } else { "" };
    note!("costar: training {kind} for {puzzle}: {width} × {blocks}{head}, on {device} in {precision}");
    let (ends, labels) = match &plan.labels {
        Labels::Solutions(labels) => {
            ("ends of solutions", format!("labels from the solutions in {}", labels.solutions))
        }
        _ if !takes_walks => ("states", "samples of the puzzle's own".into()),
        _ => {
            let samples = counted(*walk_samples as usize, "sample");
            ("scrambles", format!("labels {}, {samples} of each walk", plan.labels.name()))
        }
    };
    let (batch, moves) = (grouped(plan.batch_size as u64), counted(*max_depth as usize, "move"));
    note!("costar: batches of {batch}, {ends} of up to {moves}, learning rate {learning_rate:e}, seed {seed}");
    let place = if plan.sampler == SamplerKind::Host { "host" } else { "device" };
    let schedule = json!(plan.schedule);
    note!("costar: {labels}, schedule {}, made on the {place}", schedule.as_str().unwrap_or_default());
    if ranks > 1 {
        let all = grouped(training.samples_per_step());
        note!("costar: {ranks} ranks, each with its own batches: {all} samples a step in all");
    }
    if resumes {
        note!("costar: resuming after {samples} samples");
    }
    if let Some(before) = training.ranks_before() {
        note!(
            "costar: the run had {before} ranks until sample {samples}, and has {ranks} from there on: its bits are not \
             those of a run with as many throughout"
        );
    }
    note!("costar: {} parameters", grouped(training.parameter_count()));
}

/// Shows what a training reports.
fn show(bar: &ProgressBar, event: &Event<'_>) {
    match event {
        Event::Step { samples } => bar.set_position(*samples),
        Event::Metrics(Metrics { samples_per_second, loss, absolute_error: error, learning_rate: rate, .. }) => {
            let speed = grouped(*samples_per_second as u64);
            bar.set_message(format!("{speed}/s  loss {loss:.4}  error {error:.2} moves  rate {rate:.1e}"));
        }
        Event::MetricsNotWritten(error) => note_above(bar, &format!("costar: the metrics are not written: {error}")),
        Event::Saved { folder, predictions } => {
            note_above(bar, &format!("{}\ncostar: saved in {}", show_predictions(predictions), folder.display()));
        }
        Event::NotSaved(error) => note_above(bar, &format!("costar: not saved: {error}; going on")),
    }
}

/// Writes the metrics for TensorBoard. A file that cannot be written is reported and left; the training goes on.
fn log_metrics(board: &mut Option<TensorBoard>, event: &Event<'_>, bar: &ProgressBar) {
    if let (Event::Metrics(metrics), Some(open)) = (event, &mut *board)
        && let Err(error) = open.write(metrics)
    {
        note_above(bar, &format!("costar: --tensorboard: {error}; no more is written there"));
        *board = None;
    }
}

/// A path as it is typed in a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// A command that solves an instance with the model of a run.
fn example<P: Puzzle>(entry: &Entry<P>, run: &str) -> String {
    /// Moves of a scramble that is soon solved.
    const MOVES: u64 = 8;
    let puzzle = &**entry.puzzle();
    match entry.scramble(Some(MOVES), &mut generator(1, 0)) {
        Some((moves, _)) => {
            format!("costar solve --model {run} \"{}\"", move_names(puzzle, &puzzle.in_hand("", &moves)).join(" "))
        }
        // Its states may take several lines.
        None => format!("costar scramble --model {run} --depth {MOVES} | costar solve --model {run} -"),
    }
}
