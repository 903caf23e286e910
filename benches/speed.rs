//! Measures each stage beside its limit, on this machine: `cargo bench --bench speed [-- FLAGS]`.
//!
//! Prints a table: the rate of bf16 products; samples per second of one core; training of a network with a policy head (by
//! default `--net mlp --width 1024 --blocks 3 --batch-size 8192`), in whole (fed by sampling threads, as in `costar train`)
//! and part by part; evaluation with it, encoding included; nodes that batch-weighted A* evaluates per second; bytes per
//! stored node. `--device` chooses the device, `--seconds` the time per figure and round; with `--pytorch PYTHON`, a Python
//! that has PyTorch and NumPy trains the same network (`benches/plain_pytorch.py`) in turn with costar.

use anyhow::{Context as _, anyhow, ensure};
use clap::Parser as _;
use costar::heuristic::{Heuristic, PerState, Query};
use costar::neural::benchmark::{StepTimes, product_rate};
use costar::neural::device::{Device, DeviceChoice};
use costar::neural::heuristic::NetworkHeuristic;
use costar::neural::learner::Learner;
use costar::neural::model::{Model, ModelConfig};
use costar::neural::network::{NetworkConfig, NetworkKind};
use costar::neural::precision::Precision;
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::{Encode as _, Encoding, Notation as _};
use costar::random::generator;
use costar::sampler::{Sampler, Walker, Walks};
use costar::search::best_first::BestFirst;
use costar::search::{Control, Limits, Search as _, SearchResult};
use std::hash::BuildHasher as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;

#[derive(clap::Parser)]
struct Flags {
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// Seconds per figure and round, about.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    #[arg(long, default_value = "mlp")]
    net: NetworkKind,
    #[arg(long, default_value_t = 1024)]
    width: usize,
    #[arg(long, default_value_t = 3)]
    blocks: usize,
    #[arg(long, default_value_t = 8192)]
    batch_size: usize,
    /// A Python that has PyTorch and NumPy.
    #[arg(long)]
    pytorch: Option<String>,
    /// Added by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let (batch_size, seconds) = (flags.batch_size, flags.seconds);
    let device = Device::resolve(flags.device)?;
    let precision = Precision::auto(device);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    println!("on {device} in {precision}, {cores} cores, about {seconds} s a figure and round\n");

    memory_of_nodes()?; // first, while the process is small

    let sampler = Sampler::new(Arc::new(Walks::new(Arc::new(Cube3))), (54, 12), 1, 26, batch_size);
    let config = NetworkConfig {
        kind: flags.net,
        width: flags.width,
        blocks: flags.blocks,
        policy: Some(12),
        offset: 13.0,
        scale: 10.0,
    };
    let mut learner = Learner::fresh(config.clone(), &Cube3.encoding(), device, precision, 1e-3, 1)?;
    let flops = operations(&config, &Cube3.encoding(), learner.parameter_count());
    let folder = tempfile::tempdir()?;
    learner
        .write_model(folder.path(), &ModelConfig::new("cube3".into(), Cube3.encoding(), config.clone(), precision))?;
    // The shipped model if it is the same network: a search depends on what its network has learned.
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/cube3");
    let is_shipped = ModelConfig::read(&shipped).is_ok_and(|model| model.network == config);
    let model = Model::read(if is_shipped { &shipped } else { folder.path() }, &Cube3, device, None)?;
    println!(
        "{} {} × {}, {} parameters, batches of {batch_size}; solving in {}\n",
        flags.net,
        flags.width,
        flags.blocks,
        learner.parameter_count(),
        model.precision
    );
    let mut heuristic = NetworkHeuristic::new(Arc::new(Cube3), model, device);
    heuristic.warm_up()?;
    let chunk = heuristic.chunk();
    let states = scrambled(chunk);
    let limits = Limits { time: Some(Duration::from_secs_f64(seconds)), ..Limits::default() };

    // In rounds, so that a drift of the machine's speed affects each figure and its limit alike.
    let mut stream = sampler.clone().stream(0, 1, device.sampler_threads());
    let batch = sampler.batch(0);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let products = product_rate(device, precision, seconds / 2.0);
        let sampling = rate(seconds / 2.0, batch_size, |k| drop(std::hint::black_box(sampler.batch(k))));
        let training = rate(seconds, batch_size, |k| {
            let batch = stream.next().expect("the sampling threads go on");
            learner.step(&batch, 1e-3).expect("a batch fits the device's memory");
            if k % 8 == 7 {
                learner.losses().expect("the device works");
            }
        });
        let step_times = learner.step_times(&batch, seconds / 5.0)?;
        let evaluation = rate(seconds, chunk, |_| {
            heuristic.submit(&states, Query::Values).and_then(|()| heuristic.collect()).expect("the device evaluates");
        });
        let started = Instant::now();
        let result = search(10_000, &mut heuristic, &limits)?;
        let searching = result.stats.evaluated as f64 / started.elapsed().as_secs_f64();
        let pytorch = flags.pytorch.as_ref().map(|python| plain_pytorch(python, &flags, device)).transpose()?;
        rounds.push(Round { products, sampling, training, step_times, evaluation, searching, pytorch });
    }
    print(&rounds, flops, batch_size, chunk);
    Ok(())
}

/// Floating-point operations of the products for one state: two per weight and cell that it meets.
fn operations(config: &NetworkConfig, encoding: &Encoding, parameters: u64) -> f64 {
    let width = config.width as f64;
    2.0 * match encoding.grid.filter(|_| config.kind == NetworkKind::Resnet) {
        None => parameters as f64,
        Some(grid) => {
            let met = (3 * grid.rows - 2) * (3 * grid.columns - 2);
            let planes = grid.rows * grid.columns * grid.faces * encoding.symbols;
            width * (planes as f64 + width * (2 * config.blocks * met) as f64)
        }
    }
}

/// Samples per second of the same training in plain PyTorch: in whole, and of the step alone.
fn plain_pytorch(python: &str, flags: &Flags, device: Device) -> anyhow::Result<[f64; 2]> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/plain_pytorch.py");
    let output = Command::new(python)
        .arg(script)
        .args(["--net", &flags.net.to_string(), "--device", &device.to_string()])
        .args(["--width", &flags.width.to_string(), "--blocks", &flags.blocks.to_string()])
        .args(["--batch-size", &flags.batch_size.to_string(), "--seconds", &flags.seconds.to_string()])
        .args(["--precision", &Precision::auto(device).to_string()])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{python} does not run"))?;
    ensure!(output.status.success(), "{python} has failed: does it have PyTorch and NumPy?");
    let text = String::from_utf8_lossy(&output.stdout);
    let rates: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    rates.try_into().map_err(|_| anyhow!("{python} printed '{}'", text.trim()))
}

/// Measurements of one round: floating-point operations, samples and states per second.
struct Round {
    products: f64,
    sampling: f64,
    training: f64,
    step_times: StepTimes,
    evaluation: f64,
    searching: f64,
    pytorch: Option<[f64; 2]>,
}

/// Prints medians, and each figure as a share of its limit; `flops` is for one state.
fn print(rounds: &[Round], flops: f64, batch_size: usize, chunk: usize) {
    let median = |of: &dyn Fn(&Round) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let percent = |of: &dyn Fn(&Round) -> f64| 100.0 * median(of);
    println!("medians of {ROUNDS} rounds");
    println!("products   {:>10.0} GFLOP/s", median(&|round| round.products) / 1e9);
    println!("sampling   {:>10.0} samples/s on one core", median(&|round| round.sampling));
    // Forward, gradients of the weights, gradients of the inputs (none for the first layer): about 3 products per weight.
    let share = percent(&|round| round.training * 3.0 * flops / round.products);
    println!("training   {:>10.0} samples/s, {share:.0} % of the product rate", median(&|round| round.training));
    for (part, (name, _)) in rounds[0].step_times.into_iter().enumerate() {
        let seconds = |round: &Round| round.step_times[part].1;
        let rate = median(&|round| batch_size as f64 / seconds(round));
        let share = percent(&|round| round.training * seconds(round) / batch_size as f64);
        println!("  {name:<9}{rate:>10.0} samples/s alone, {share:.1} % of the time");
    }
    let gaps = percent(&|round| {
        let parts: f64 = round.step_times.iter().map(|(_, seconds)| seconds).sum();
        1.0 - round.training * parts / batch_size as f64
    });
    println!("  between them (waiting for samples, launches, measures): {gaps:.1} % of the time");
    let passes = percent(&|round| {
        let [_, _, (_, forward), (_, backward), _] = round.step_times;
        round.training * (forward + backward) / batch_size as f64
    });
    println!("  in whole, {passes:.0} % of the rate of forward and backward alone");
    let share = percent(&|round| round.evaluation * flops / round.products);
    let rate = median(&|round| round.evaluation);
    println!("evaluation {rate:>10.0} states/s in chunks of {chunk}, {share:.0} % of the product rate");
    let share = percent(&|round| round.searching / round.evaluation);
    let rate = median(&|round| round.searching);
    println!("searching  {rate:>10.0} evaluated/s at N = 10000, {share:.0} % of the evaluation rate");
    if rounds.iter().all(|round| round.pytorch.is_some()) {
        for (part, name) in ["samples and all", "the step alone"].into_iter().enumerate() {
            let theirs = |round: &Round| round.pytorch.map_or(f64::NAN, |rates| rates[part]);
            let ratio = median(&|round| round.training / theirs(round));
            println!("PyTorch    {:>10.0} samples/s, {name}: costar trains {ratio:.2} times as fast", median(&theirs));
        }
    }
}

/// Items per second, over about `seconds`, after one run to warm up.
fn rate(seconds: f64, items: usize, mut run: impl FnMut(u64)) -> f64 {
    run(0);
    let started = Instant::now();
    let mut runs = 0;
    while started.elapsed().as_secs_f64() < seconds {
        runs += 1;
        run(runs);
    }
    runs as f64 * items as f64 / started.elapsed().as_secs_f64()
}

fn scrambled(count: usize) -> Vec<CubeState> {
    let mut generator = generator(5, 0);
    let mut walker = Walker::new(&Cube3, CubeState::SOLVED);
    (0..count).map(|_| walker.step(&mut generator).map(|_| walker.state).expect("a cube can be turned")).collect()
}

/// Searches the hardest position until the limit.
fn search(expand: usize, heuristic: &mut dyn Heuristic<CubeState>, limits: &Limits) -> anyhow::Result<SearchResult> {
    let hardest = include_str!("../test-data/cube3.hardest");
    let scramble = hardest.lines().find(|line| !line.starts_with('#')).expect("the file names a position");
    let start = Cube3.parse(scramble)?;
    let stop = AtomicBool::new(false);
    let mut watch = |_: &_| ();
    let search = BestFirst::bwas(expand, 0.6);
    Ok(search.run(&Cube3, &start, heuristic, &mut Control::new(limits, &stop, &mut watch))?)
}

/// Bytes per stored node, by the growth of the process: with a heuristic that costs nothing, until 50 million nodes are stored.
fn memory_of_nodes() -> anyhow::Result<()> {
    // The estimates spread like a network's: the open list has as many buckets.
    let mut spread = PerState::new("spread", false, |state: &CubeState| {
        10.0 + (foldhash::fast::FixedState::default().hash_one(state) >> 40) as f32 / (1u64 << 22) as f32
    });
    let before = costar::memory::resident();
    let limits = Limits { nodes: Some(57_000_000), ..Limits::default() };
    let started = Instant::now();
    let result = search(10_000, &mut spread, &limits)?;
    let seconds = started.elapsed().as_secs_f64();
    let stored = result.stats.stored as f64;
    println!(
        "memory     {:>10.1} bytes a stored node, {:.1} M stored",
        costar::memory::peak().saturating_sub(before) as f64 / stored,
        stored / 1e6
    );
    println!(
        "expanding  {:>10.0} generated/s on one core, with free estimates",
        result.stats.generated as f64 / seconds
    );
    Ok(())
}
