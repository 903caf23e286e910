//! Measures each stage beside what limits it, on this machine: `cargo bench --bench speed [-- --seconds S]`.
//!
//! Prints a table: the rate of bf16 products; samples made a second by one core; training of the network 1024/512/3
//! at batch 8192, in whole (fed by sampling threads, as `costar train` is) and part by part; scoring with it, encoding
//! included; nodes that batch-weighted A* scores a second; bytes a stored node.

use costar::heuristic::{Ask, Heuristic, PerState};
use costar::neural::device::{Device, DeviceChoice, product_rate};
use costar::neural::estimator::NetworkHeuristic;
use costar::neural::learner::{Learner, Precision, Stages};
use costar::neural::model::{Model, ModelConfig};
use costar::neural::network::{NetworkConfig, NetworkKind};
use costar::puzzle::Puzzle as _;
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::sampler::{Sampler, Walker, Walks, generator};
use costar::search::best_first::BestFirst;
use costar::search::{Control, Limits, Outcome, Search as _};
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const BATCH: usize = 8192;
const ROUNDS: usize = 5;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let after = |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let seconds: f64 = after("--seconds").map_or(Ok(3.0), |text| text.parse())?;
    let device = Device::resolve(
        after("--device").map_or(Ok(DeviceChoice::Auto), |text| text.parse()).map_err(anyhow::Error::msg)?,
    )?;
    let precision = Precision::auto(device);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    println!("on {device} in {precision}, {cores} cores, about {seconds} s a figure and round\n");

    memory_of_nodes()?; // first, while the process is small

    let sampler = Sampler::new(Arc::new(Walks::new(Arc::new(Cube3))), (54, 12), 1, 26, BATCH);
    let config =
        NetworkConfig { kind: NetworkKind::Mlp, width: 1024, blocks: 3, heads: Some(12), offset: 13.0, scale: 10.0 };
    let mut learner = Learner::fresh(config.clone(), &Cube3.encoding(), device, precision, 1e-3, 1)?;
    let flops = 2.0 * learner.parameter_count() as f64;
    let folder = tempfile::tempdir()?;
    learner.write_model(folder.path(), &ModelConfig::new("cube3".into(), Cube3.encoding(), config, precision))?;
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/cube3");
    let model = if shipped.join("config.json").exists() { shipped } else { folder.path().to_owned() };
    let model = Model::read(&model, &Cube3, device, None)?;
    println!("solving in {}\n", model.precision);
    let mut heuristic = NetworkHeuristic::new(Arc::new(Cube3), model, device);
    heuristic.warm_up()?;
    let chunk = heuristic.chunk();
    let states = scrambled(chunk);
    let limits = Limits { time: Some(Duration::from_secs_f64(seconds)), ..Limits::default() };

    // In rounds, so that a machine whose speed drifts is as fast for each figure as for its limit.
    let mut stream = sampler.clone().stream(0, device.sampler_threads());
    let batch = sampler.batch(0);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let products = product_rate(device, precision, seconds / 2.0);
        let sampling = rate(seconds / 2.0, BATCH, |k| drop(std::hint::black_box(sampler.batch(k))));
        let training = rate(seconds, BATCH, |k| {
            let batch = stream.next().expect("the sampling threads go on");
            learner.step(&batch, 1e-3).expect("the device has room for a batch");
            if k % 8 == 7 {
                learner.losses();
            }
        });
        let stages = learner.stages(&batch, seconds / 5.0)?;
        let scoring = rate(seconds, chunk, |_| {
            heuristic.submit(&states, Ask::Values).and_then(|()| heuristic.collect()).expect("the device scores");
        });
        let outcome = search(10_000, &mut heuristic, &limits)?;
        let searching = outcome.stats.evaluated as f64 / outcome.stats.seconds;
        rounds.push(Round { products, sampling, training, stages, scoring, searching });
    }
    print(&rounds, flops, chunk);
    Ok(())
}

/// What one round measured: floating-point operations, samples and states a second.
struct Round {
    products: f64,
    sampling: f64,
    training: f64,
    stages: Stages,
    scoring: f64,
    searching: f64,
}

/// Prints medians, and each figure as a share of what limits it; `flops` are those of scoring one state.
fn print(rounds: &[Round], flops: f64, chunk: usize) {
    let median = |of: &dyn Fn(&Round) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let percent = |of: &dyn Fn(&Round) -> f64| 100.0 * median(of);
    println!("medians of {ROUNDS} rounds");
    println!("products   {:>10.0} GFLOP/s", median(&|round| round.products) / 1e9);
    println!("sampling   {:>10.0} samples/s on one core", median(&|round| round.sampling));
    // Forward, gradients of the weights, gradients of the inputs (none for the first layer): about 3 products a weight.
    let share = percent(&|round| round.training * 3.0 * flops / round.products);
    println!("training   {:>10.0} samples/s, {share:.0} % of the product rate", median(&|round| round.training));
    for (part, (name, _)) in rounds[0].stages.named().into_iter().enumerate() {
        let seconds = |round: &Round| round.stages.named()[part].1;
        let rate = median(&|round| BATCH as f64 / seconds(round));
        let share = percent(&|round| round.training * seconds(round) / BATCH as f64);
        println!("  {name:<9}{rate:>10.0} samples/s alone, {share:.1} % of the time");
    }
    let passes = percent(&|round| round.training * (round.stages.forward + round.stages.backward) / BATCH as f64);
    println!("  in whole, {passes:.0} % of the rate of forward and backward alone");
    let share = percent(&|round| round.scoring * flops / round.products);
    let rate = median(&|round| round.scoring);
    println!("scoring    {rate:>10.0} states/s in chunks of {chunk}, {share:.0} % of the product rate");
    let share = percent(&|round| round.searching / round.scoring);
    let rate = median(&|round| round.searching);
    println!("searching  {rate:>10.0} evaluated/s at N = 10000, {share:.0} % of the scoring rate");
}

/// Runs for about so many seconds, after one run to warm up, and gives items a second.
fn rate(seconds: f64, items: usize, mut run: impl FnMut(u64)) -> f64 {
    run(0);
    let begun = Instant::now();
    let mut runs = 0;
    while begun.elapsed().as_secs_f64() < seconds {
        runs += 1;
        run(runs);
    }
    runs as f64 * items as f64 / begun.elapsed().as_secs_f64()
}

fn scrambled(count: usize) -> Vec<CubeState> {
    let mut generator = generator(5, 0);
    let mut walker = Walker::new(&Cube3, CubeState::SOLVED);
    (0..count).map(|_| walker.step(&mut generator).map(|_| walker.state).expect("a cube can be turned")).collect()
}

/// The hardest position: a search that goes on until its limit.
fn search(expand: usize, heuristic: &mut dyn Heuristic<CubeState>, limits: &Limits) -> anyhow::Result<Outcome> {
    let hardest = include_str!("../test-data/cube3.hardest");
    let scramble = hardest.lines().find(|line| !line.starts_with('#')).expect("the file names a position");
    let start = Cube3.parse(scramble)?;
    let stop = AtomicBool::new(false);
    let mut watch = |_: &_| ();
    let search = BestFirst::bwas(expand, 0.6);
    Ok(search.run(&Cube3, &start, heuristic, &mut Control::new(limits, &stop, &mut watch))?)
}

/// Bytes a stored node, as the process grows: with a heuristic that costs nothing, until 50 million nodes are stored.
fn memory_of_nodes() -> anyhow::Result<()> {
    // Estimates spread as a network's are: the open list has as many buckets.
    let mut spread = PerState::new("spread", false, |state: &CubeState| {
        10.0 + (foldhash::fast::FixedState::default().hash_one(state) >> 40) as f32 / (1u64 << 22) as f32
    });
    let before = costar::memory::resident();
    let limits = Limits { nodes: Some(57_000_000), ..Limits::default() };
    let outcome = search(10_000, &mut spread, &limits)?;
    let stored = outcome.stats.stored as f64;
    println!(
        "memory     {:>10.1} bytes a stored node, {:.1} M stored",
        costar::memory::peak().saturating_sub(before) as f64 / stored,
        stored / 1e6
    );
    println!(
        "expanding  {:>10.0} generated/s on one core, where estimates cost nothing",
        outcome.stats.generated as f64 / outcome.stats.seconds
    );
    Ok(())
}
