//! Training runs: exact resumption, checkpoints that survive, and clear ends.

use costar::neural::device::{Device, set_cpu_threads};
use costar::neural::learner::Learner;
use costar::neural::model::Model;
use costar::neural::network::{NetworkConfig, NetworkKind};
use costar::neural::precision::Precision;
use costar::puzzle::cube3::Cube3;
use costar::puzzle::{Encode as _, Notation as _};
use costar::quantity::Interval;
use costar::report::run_folder::{METRICS, SNAPSHOTS, newest_checkpoint};
use costar::report::{Metrics, read_lines};
use costar::sampler::{GENERATOR, Sampler, Samples, SolutionStates, Walks, steps};
use costar::search::perimeter::Perimeter;
use costar::train::checkpoint::RunPosition;
use costar::train::plan::{SamplerKind, TrainPlan};
use costar::train::schedule::Schedule;
use costar::train::targets::{Bellman, Labels, Solutions};
use costar::train::{Ended, Event, TrainOptions, Training, checkpoint, claim};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

mod labels;

fn walks() -> Arc<dyn Samples> {
    Arc::new(Walks::new(Arc::new(Cube3)))
}

fn plan(learning_rate: f64) -> TrainPlan {
    TrainPlan {
        puzzle: "cube3".into(),
        network: NetworkConfig {
            kind: NetworkKind::Mlp,
            width: 32,
            blocks: 1,
            policy: Some(12),
            offset: 13.0,
            scale: 10.0,
        },
        batch_size: 64,
        max_depth: 26,
        learning_rate,
        weight_decay: 1e-3,
        precision: Precision::F32,
        seed: 5,
        generator: GENERATOR.into(),
        init: None,
        labels: Labels::Walks,
        schedule: Schedule::Cosine,
        ema: 0.0,
        sparse_states: 0.0,
        walk_samples: 1,
        sampler: SamplerKind::Host,
    }
}

fn options(out: &Path, samples: u64) -> TrainOptions {
    TrainOptions { samples: Some(samples), out: Some(out.to_owned()), ..TrainOptions::default() }
}

fn start(plan: TrainPlan, options: &TrainOptions) -> costar::Result<Training> {
    Training::at(RunPosition::start(plan), None, Arc::new(Cube3), walks(), options, Device::CPU)
}

fn fresh(out: &Path, samples: u64, rate: f64) -> Training {
    set_cpu_threads(1); // the tests run in parallel
    start(plan(rate), &options(out, samples)).expect("a training")
}

fn newest(out: &Path) -> PathBuf {
    newest_checkpoint(out).expect("the folder can be read").expect("there is a checkpoint")
}

fn resume_at(position: RunPosition, folder: &Path, options: &TrainOptions) -> costar::Result<Training> {
    Training::at(position, Some(folder), Arc::new(Cube3), walks(), options, Device::CPU)
}

fn resume(out: &Path, samples: u64) -> costar::Result<Training> {
    let folder = newest(out);
    resume_at(checkpoint::read(&folder)?, &folder, &options(out, samples))
}

/// Runs a training for a number of optimizer steps, then stops it.
fn run_for(training: Training, steps: u64) -> Ended {
    let stop = AtomicBool::new(false);
    let mut left = steps;
    let mut watch = |event: &Event<'_>| {
        if let Event::Step { .. } = event {
            left -= 1;
            stop.store(left == 0, Ordering::Relaxed);
        }
    };
    training.run(&stop, &mut watch).expect("it runs")
}

fn state(out: &Path) -> [Vec<u8>; 3] {
    ["weights.safetensors", "optimizer.safetensors", "model/model.safetensors"]
        .map(|file| fs::read(newest(out).join(file)).expect("a file of a checkpoint"))
}

#[test]
fn an_interrupted_run_ends_with_the_same_bits() {
    const SAMPLES: u64 = 64 * 500 + 7;
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    for out in [&whole, &parts] {
        fs::create_dir(out).expect("a folder");
    }
    let never = AtomicBool::new(false);
    assert_eq!(fresh(&whole, SAMPLES, 1e-3).run(&never, &mut |_| ()).expect("it runs"), Ended::Finished);

    let mut training = fresh(&parts, SAMPLES, 1e-3);
    let mut stops = 0;
    for steps in [1, 120, 37, u64::MAX] {
        let ended = run_for(training, steps);
        stops += u32::from(ended == Ended::Stopped);
        // A kill may leave a half-written checkpoint.
        fs::create_dir_all(parts.join("checkpoint-000000000000001.tmp/model")).expect("a folder");
        training = resume(&parts, SAMPLES).expect("it can be resumed");
    }
    assert_eq!(stops, 3, "it was interrupted");
    assert_eq!(training.run(&never, &mut |_| ()).expect("nothing to do"), Ended::NothingLeft);
    assert_eq!(state(&whole), state(&parts));

    let metrics: Vec<Metrics> = read_lines(&parts.join(METRICS)).expect("metrics");
    assert!(metrics.iter().all(|line| line.loss.is_finite()));
    assert!(metrics.is_sorted_by(|a, b| a.samples < b.samples), "no line stands twice");
    assert_eq!(metrics.last().map(|line| line.samples), Some(64 * 501));
    let predictions = metrics.last().and_then(|line| line.predictions.clone()).expect("predictions at a checkpoint");
    assert_eq!(predictions.len(), 26);
    let left: Vec<_> = fs::read_dir(&parts).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "one checkpoint and the metrics: {left:?}");
}

#[test]
fn a_run_without_a_checkpoint_starts_with_clean_metrics() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(METRICS);
    fs::write(&path, "{\"samples\": 7, torn\nnothing\n").expect("it can be written");
    fresh(folder.path(), 64 * 5, 1e-3).run(&AtomicBool::new(false), &mut |_| ()).expect("it runs");
    let metrics: Vec<Metrics> = read_lines(&path).expect("metrics");
    assert_eq!(metrics.iter().map(|line| line.samples).collect::<Vec<_>>(), [320]);
    // A run is resumed although a full disk has torn a line in the middle.
    let whole = fs::read_to_string(&path).expect("metrics");
    fs::write(&path, format!("{whole}{{\"sam{whole}")).expect("it can be written");
    resume(folder.path(), 64 * 10).expect("it resumes");
    assert_eq!(fs::read_to_string(&path).expect("metrics"), whole);
}

#[test]
fn more_samples_go_on_with_the_longer_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    let never = AtomicBool::new(false);
    fresh(folder.path(), 64 * 20, 1e-3).run(&never, &mut |_| ()).expect("it runs");
    let before = state(folder.path());
    assert_eq!(
        resume(folder.path(), 64 * 40).expect("it resumes").run(&never, &mut |_| ()).expect("it runs"),
        Ended::Finished
    );
    assert_ne!(before, state(folder.path()));
    assert_eq!(checkpoint::read(&newest(folder.path())).expect("a position").samples, 64 * 40);
}

#[test]
fn a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let never = AtomicBool::new(false);
    fresh(folder.path(), 64 * 20, 1e-3).run(&never, &mut |_| ()).expect("it runs");
    let before = state(folder.path());
    // The same run with a rate that makes it diverge.
    let path = newest(folder.path());
    let mut position = checkpoint::read(&path).expect("a position");
    position.plan.learning_rate = 1e30;
    let training = resume_at(position, &path, &options(folder.path(), 64 * 2000));
    let error = training.expect("it resumes").run(&never, &mut |_| ()).expect_err("it diverges").to_string();
    assert!(error.contains("finite") || error.contains("NaN") || error.contains("inf"), "{error}");
    assert!(error.contains("`lr`"), "{error}");
    assert_eq!(before, state(folder.path()));
}

#[test]
fn a_damaged_checkpoint_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    fresh(folder.path(), 64 * 5, 1e-3).run(&AtomicBool::new(false), &mut |_| ()).expect("it runs");
    let checkpoint = newest(folder.path());
    for file in ["weights.safetensors", "optimizer.safetensors", "model/config.json"] {
        let path = checkpoint.join(file);
        let whole = fs::read(&path).expect("a file");
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        for bytes in [&damaged[..], &whole[..middle]] {
            fs::write(&path, bytes).expect("it can be written");
            let error = resume(folder.path(), 640).err().expect("it is refused").to_string();
            assert!(error.contains(file) && error.contains("damaged") && error.contains("`init`"), "{error}");
        }
        fs::remove_file(&path).expect("it is there");
        let error = resume(folder.path(), 640).err().expect("it is refused").to_string();
        assert!(error.contains(file) && error.contains("missing"), "{error}");
        fs::write(&path, whole).expect("it can be written");
    }
    resume(folder.path(), 640).expect("whole again");
    let path = checkpoint.join("progress.json");
    let position = fs::read_to_string(&path).expect("a position");
    for (from, to) in [("\"samples\": 320", "\"samples\": 384"), ("\"seed\": 5", "\"seed\": 6"), ("0.001", "0.002")] {
        assert!(position.contains(from), "{position}");
        fs::write(&path, position.replacen(from, to, 1)).expect("it can be written");
        let error = resume(folder.path(), 640).err().expect("it is refused").to_string();
        assert!(error.contains("progress.json") && error.contains("damaged"), "{error}");
    }
    let newer = position.replacen("\"format\": 1", "\"format\": 2", 1);
    let newer = newer.replacen(env!("CARGO_PKG_VERSION"), "9.8.7", 1);
    fs::write(&path, newer).expect("it can be written");
    let error = resume(folder.path(), 640).err().expect("it is of a newer version").to_string();
    for part in ["format 2, from costar 9.8.7", concat!("costar ", env!("CARGO_PKG_VERSION"), ", which reads format 1")]
    {
        assert!(error.contains(part), "{error}");
    }
    fs::write(checkpoint.join("progress.json"), "{\"hello\": 1}").expect("it can be written");
    let error = resume(folder.path(), 640).err().expect("it is foreign").to_string();
    assert!(error.contains("progress.json"), "{error}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_leaves_the_one_before() {
    let folder = tempfile::tempdir().expect("a folder");
    fresh(folder.path(), 64 * 5, 1e-3).run(&AtomicBool::new(false), &mut |_| ()).expect("it runs");
    let before = state(folder.path());
    let mut position = checkpoint::read(&newest(folder.path())).expect("a position");
    position.samples += 64;
    let full = checkpoint::write(folder.path(), &mut position, |temporary| {
        fs::write(temporary.join("weights.safetensors"), "half").expect("it can be written");
        let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
        Err(costar::Error::Io { action: "cannot write: No space left on device".into(), cause })
    });
    assert!(full.expect_err("the disk is full").to_string().contains("No space"));
    assert_eq!(before, state(folder.path()));
    assert!(
        fs::read_dir(folder.path())
            .expect("the folder")
            .flatten()
            .all(|entry| { !entry.file_name().to_string_lossy().ends_with(".tmp") })
    );
}

#[test]
fn a_run_whose_last_checkpoint_cannot_be_written_is_not_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(SNAPSHOTS), "in the way").expect("a file");
    let options = TrainOptions { snapshot_every: Some(64 * 5), ..options(folder.path(), 64 * 5) };
    let mut not_saved = 0;
    let mut watch = |event: &Event<'_>| not_saved += u32::from(matches!(event, Event::NotSaved(_)));
    let ended = start(plan(1e-3), &options).expect("a training").run(&AtomicBool::new(false), &mut watch);
    assert!(ended.is_err_and(|error| error.is_io()));
    assert_eq!(not_saved, 1, "it went on after the snapshot, and tried again at the end");
    assert_eq!(checkpoint::read(&newest(folder.path())).expect("a position").samples, 0);
}

#[test]
fn the_time_before_the_first_step_counts_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let begin = Instant::now();
    let mut training = fresh(folder.path(), 64 * 5, 1e-3);
    std::thread::sleep(Duration::from_millis(300));
    training.save_start().expect("it can be written");
    training.run(&AtomicBool::new(false), &mut |_| ()).expect("it runs");
    let seconds = checkpoint::read(&newest(folder.path())).expect("a position").seconds;
    assert!((0.3..begin.elapsed().as_secs_f64()).contains(&seconds), "{seconds}");
}

#[test]
fn a_folder_belongs_to_one_training() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("runs/a");
    let lock = claim(&out, false).expect("an empty folder");
    assert!(claim(&out, true).expect_err("it is at work").to_string().contains("another training"));
    drop(lock);
    drop(claim(&out, false).expect("the lock alone does not fill it"));
    fs::write(out.join(METRICS), "").expect("it can be written");
    let refusal = claim(&out, false).expect_err("it is not empty").to_string();
    assert!(refusal.contains(METRICS) && refusal.contains("`resume`"), "{refusal}");
    drop(claim(&out, true).expect("it is resumed"));
    fs::remove_file(out.join("lock")).expect("it was locked");
    fs::write(out.join("notes.txt"), "mine").expect("it can be written");
    for resume in [false, true] {
        let refusal = claim(&out, resume).expect_err("it is not a run's").to_string();
        assert!(refusal.contains("notes.txt") && refusal.contains("`out`"), "{refusal}");
        assert!(!out.join("lock").exists(), "nothing is written there");
    }
}

#[test]
fn snapshots_are_kept_beside_the_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    set_cpu_threads(1);
    let options = TrainOptions { snapshot_every: Some(64 * 100), ..options(folder.path(), 64 * 250) };
    let training = start(plan(1e-3), &options);
    training.expect("a training").run(&AtomicBool::new(false), &mut |_| ()).expect("it trains");
    let mut kept: Vec<PathBuf> = fs::read_dir(folder.path().join(SNAPSHOTS))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    kept.sort();
    let names: Vec<String> =
        kept.iter().map(|path| path.file_name().expect("a name").to_string_lossy().into()).collect();
    assert_eq!(names, ["000000000006400", "000000000012800"]);
    for path in kept {
        Model::read(&path, &Cube3, Device::CPU, Some(Precision::F32)).expect("a whole model");
    }
}

#[test]
fn a_run_keeps_what_may_change_until_it_is_changed() {
    set_cpu_threads(1);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path();
    let kept = || {
        let position = checkpoint::read(&newest(out)).expect("a position");
        (position.checkpoint_every, position.snapshot_every, position.tensorboard)
    };
    let train = |training: costar::Result<Training>| {
        training.expect("a training").run(&AtomicBool::new(false), &mut |_| ()).expect("it trains")
    };
    let (every, board) = (Interval::Samples(640), out.join("board"));
    let asked = TrainOptions {
        checkpoint_every: Some(every),
        snapshot_every: Some(320),
        tensorboard: Some(board.clone()),
        ..options(out, 320)
    };
    train(start(plan(1e-3), &asked));
    assert_eq!(kept(), (every, Some(320), Some("board".into())));
    let resumed = resume(out, 640).expect("it resumes");
    assert_eq!(resumed.tensorboard(), Some(&*board));
    train(Ok(resumed));
    assert_eq!(kept(), (every, Some(320), Some("board".into())));
    assert_eq!(fs::read_dir(out.join(SNAPSHOTS)).expect("snapshots").count(), 2);
    let (every, path) = (Interval::Time(Duration::from_secs(7)), newest(out));
    let asked = TrainOptions { checkpoint_every: Some(every), snapshot_every: Some(0), ..options(out, 960) };
    let position = checkpoint::read(&path).expect("a position");
    train(resume_at(position, &path, &asked));
    assert_eq!(kept(), (every, None, Some("board".into())));
    assert_eq!(fs::read_dir(out.join(SNAPSHOTS)).expect("snapshots").count(), 2);
}

#[test]
fn a_run_for_a_time_ends_by_the_clock_and_goes_on_with_what_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path();
    set_cpu_threads(1);
    let timed = |seconds| TrainOptions { samples: None, seconds: Some(seconds), ..options(out, 0) };
    let never = AtomicBool::new(false);
    let training = start(plan(1e-3), &timed(1.5)).expect("a training");
    assert_eq!((training.samples_left(), training.seconds_left(), training.is_finished()), (None, Some(1.5), false));
    assert_eq!(run_for(training, 20), Ended::Stopped);
    // The run keeps the time that it was given; the time that was used counts.
    let path = newest(out);
    let position = checkpoint::read(&path).expect("a position");
    assert!(position.total_seconds == Some(1.5) && position.seconds > 0.0 && position.seconds < 1.5, "{position:?}");
    let used = position.seconds;
    let resumed = resume_at(position, &path, &TrainOptions { samples: None, ..options(out, 0) }).expect("it resumes");
    assert!((resumed.seconds_left().expect("a time") - (1.5 - used)).abs() < 1e-6);
    assert_eq!(resumed.run(&never, &mut |_| ()).expect("it trains"), Ended::Finished);
    let position = checkpoint::read(&newest(out)).expect("a position");
    assert!((1.5..6.0).contains(&position.seconds), "{}", position.seconds);
    let metrics: Vec<Metrics> = read_lines(&out.join(METRICS)).expect("metrics");
    assert_eq!(metrics.last().map(|line| line.learning_rate), Some(0.0), "the rate follows the clock to its end");
}

#[test]
fn a_stopped_run_is_finished_with_a_short_decay() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path();
    assert_eq!(run_for(fresh(out, 64 * 10_000, 1e-3), 200), Ended::Stopped);
    let path = newest(out);
    let finish = TrainOptions { samples: None, decay: Some(0.05), ..options(out, 0) };
    let training = resume_at(checkpoint::read(&path).expect("a position"), &path, &finish).expect("it resumes");
    assert_eq!(training.samples_left(), Some(64 * 10));
    assert_eq!(run_for(training, 4), Ended::Stopped);
    // The decay is the run's own from then on.
    let path = newest(out);
    let position = checkpoint::read(&path).expect("a position");
    assert!(position.decay.is_some_and(|decay| decay.from == 64 * 200 && decay.rate > 0.0), "{position:?}");
    let resumed = resume_at(position, &path, &TrainOptions { samples: None, ..options(out, 0) }).expect("it resumes");
    assert_eq!(resumed.run(&AtomicBool::new(false), &mut |_| ()).expect("it trains"), Ended::Finished);
    let metrics: Vec<Metrics> = read_lines(&out.join(METRICS)).expect("metrics");
    let rates: Vec<f64> = metrics.iter().map(|line| line.learning_rate).collect();
    assert!(rates.is_sorted_by(|a, b| a > b) && rates.last() == Some(&0.0), "{rates:?}");
    assert_eq!(metrics.last().map(|line| line.samples), Some(64 * 210));
    // Another share moves the end.
    let path = newest(out);
    let longer = TrainOptions { decay: Some(0.1), ..finish };
    let training = resume_at(checkpoint::read(&path).expect("a position"), &path, &longer).expect("it resumes");
    assert_eq!(training.samples_left(), Some(64 * 10));
}

/// Checks that a run of 100 batches ends with the same bits whether it is stopped or not; `begin` opens it, fresh or from
/// a checkpoint.
fn resumes_to_the_same_bits(begin: impl Fn(&Path, Option<&Path>) -> Training) {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    for out in [&whole, &parts] {
        fs::create_dir(out).expect("a folder");
    }
    let never = AtomicBool::new(false);
    assert_eq!(begin(&whole, None).run(&never, &mut |_| ()).expect("it runs"), Ended::Finished);
    // Stopped between two updates of the target network.
    let ended = run_for(begin(&parts, None), 43);
    let again = begin(&parts, Some(&newest(&parts))).run(&never, &mut |_| ()).expect("it runs");
    assert_eq!((ended, again), (Ended::Stopped, Ended::Finished));
    assert_eq!(state(&whole), state(&parts));
}

/// A training of 100 batches, fresh or from a checkpoint with the same plan.
fn begin(samples: Arc<dyn Samples>, plan: TrainPlan, out: &Path, from: Option<&Path>) -> Training {
    set_cpu_threads(1);
    let position = match from {
        None => RunPosition::start(plan),
        Some(folder) => {
            let position = checkpoint::read(folder).expect("a checkpoint");
            assert_eq!(position.plan, plan);
            position
        }
    };
    let options = options(out, 64 * 100);
    Training::at(position, from, Arc::new(Cube3), samples, &options, Device::CPU).expect("a training")
}

#[test]
fn value_iteration_resumes_to_the_same_bits() {
    resumes_to_the_same_bits(|out, from| {
        let samples = Arc::new(Walks::new(Arc::new(Cube3)).with_children(Perimeter::new(&Cube3, 2)));
        let labels = Labels::Bellman(Bellman { target_every: 7, perimeter: 2 });
        begin(samples, TrainPlan { labels, ..plan(1e-3) }, out, from)
    });
}

#[test]
fn samples_of_solutions_resume_to_the_same_bits() {
    resumes_to_the_same_bits(|out, from| {
        let start = Cube3.parse("U R F D").expect("a scramble");
        let solution = Cube3.parse_moves("D' F' R' U'").expect("moves");
        let states = steps(&Cube3, start, &solution).expect("a solution");
        let samples = SolutionStates::new(Arc::new(Cube3), states, 26).expect("states");
        let labels = Labels::Solutions(Solutions { solutions: "solutions.jsonl".into(), solutions_crc32: 0 });
        begin(Arc::new(samples), TrainPlan { labels, ..plan(1e-3) }, out, from)
    });
}

#[test]
fn averaged_weights_resume_to_the_same_bits() {
    resumes_to_the_same_bits(|out, from| {
        let plan = TrainPlan { ema: 0.95, schedule: Schedule::Constant, ..plan(1e-3) };
        begin(walks(), plan, out, from)
    });
}

#[test]
fn samples_made_on_the_device_resume_to_the_same_bits() {
    resumes_to_the_same_bits(|out, from| {
        let samples = Arc::new(Walks::new(Arc::new(Cube3)).with_walk_samples(6));
        let plan = TrainPlan { sampler: SamplerKind::Device, walk_samples: 6, ..plan(1e-3) };
        begin(samples, plan, out, from)
    });
}

#[test]
fn averages_are_of_all_steps_first_and_then_of_the_last() {
    set_cpu_threads(1);
    let TrainPlan { network, .. } = plan(1e-3);
    let learner = Learner::fresh(network, &Cube3.encoding(), Device::CPU, Precision::F32, 0.0, 1).expect("a network");
    let mut learner = learner.with_ema(0.5);
    let folder = tempfile::tempdir().expect("a folder");
    let sampler = Sampler::new(walks(), (54, 12), 3, 26, 52);
    let weights: Vec<[Vec<f32>; 2]> = (0..3)
        .map(|k| {
            learner.step(&sampler.batch(k), 1e-2).expect("it learns");
            learner.write_state(folder.path()).expect("it can be written");
            ["weights.safetensors", "ema.safetensors"].map(|file| {
                let bytes = fs::read(folder.path().join(file)).expect("a file of the state");
                let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("tensors");
                let tensor = tensors.tensor("input.weight").expect("the first layer");
                tensor.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            })
        })
        .collect();
    for (k, shares) in [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]].into_iter().enumerate() {
        for (i, average) in weights[k][1].iter().enumerate() {
            let expected: f32 = weights.iter().zip(shares).map(|(step, share)| step[0][i] * share).sum();
            assert!((average - expected).abs() < 1e-5, "{average} {expected}");
        }
    }
    assert_ne!(weights[2][0], weights[2][1]);
}
