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
/// Figures of a round.
const FIGURES: usize = 10;

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

    let sampler = Sampler::new(Arc::new(Walks::new(Arc::new(Cube3))), 54, 1, 26, BATCH);
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
    let mut rounds: Vec<[f64; FIGURES]> = Vec::new();
    let mut stream = sampler.clone().stream(0, device.sampler_threads());
    let batch = sampler.batch(0);
    for _ in 0..ROUNDS {
        let products = product_rate(device, precision, seconds / 2.0);
        let sampled = rate(seconds / 2.0, BATCH, |k| drop(std::hint::black_box(sampler.batch(k))));
        let trained = rate(seconds, BATCH, |k| {
            let batch = stream.next().expect("the sampling threads go on");
            learner.step(&batch, 1e-3).expect("the device has room for a batch");
            if k % 8 == 7 {
                learner.losses();
            }
        });
        let stages = learner.stages(&batch, seconds / 5.0)?;
        let scored = rate(seconds, chunk, |_| {
            heuristic.submit(&states, Ask::Values).and_then(|()| heuristic.collect()).expect("the device scores");
        });
        let outcome = search(10_000, &mut heuristic, &limits)?;
        let searched = outcome.stats.evaluated as f64 / outcome.stats.seconds;
        let Stages { transfer, encoding, forward, backward, optimizer } = stages;
        let parts = [transfer, encoding, forward, backward, optimizer].map(|part| BATCH as f64 / part);
        rounds.push([products, sampled, trained, scored, searched, parts[0], parts[1], parts[2], parts[3], parts[4]]);
    }
    let median = |of: &dyn Fn(&[f64; FIGURES]) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[ROUNDS / 2]
    };
    // Forward, gradients of the weights, gradients of the inputs (none for the first layer): about 3 products a weight.
    let training = 100.0 * median(&|round| round[2] * 3.0 * flops / round[0]);
    let scoring = 100.0 * median(&|round| round[3] * flops / round[0]);
    let searching = 100.0 * median(&|round| round[4] / round[3]);
    println!("medians of {ROUNDS} rounds");
    println!("products   {:>10.0} GFLOP/s", median(&|round| round[0]) / 1e9);
    println!("sampling   {:>10.0} samples/s on one core", median(&|round| round[1]));
    println!("training   {:>10.0} samples/s, {training:.0} % of the product rate", median(&|round| round[2]));
    let parts = ["transfer", "encoding", "forward", "backward", "optimizer"];
    for (part, name) in parts.iter().enumerate() {
        let share = 100.0 * median(&|round| round[2] / round[5 + part]);
        println!("  {name:<10} {:>10.0} samples/s alone, {share:.1} % of the time", median(&|round| round[5 + part]));
    }
    let passes = 100.0 * median(&|round| round[2] * (1.0 / round[7] + 1.0 / round[8]));
    let all = 100.0 * median(&|round| round[2] * round[5..].iter().map(|rate| 1.0 / rate).sum::<f64>());
    println!(
        "  in whole, {passes:.0} % of the rate of forward and backward alone; all parts are {all:.0} % of the time"
    );
    println!(
        "scoring    {:>10.0} states/s in chunks of {chunk}, {scoring:.0} % of the product rate",
        median(&|round| round[3])
    );
    println!(
        "searching  {:>10.0} evaluated/s at N = 10000, {searching:.0} % of the scoring rate",
        median(&|round| round[4])
    );
    Ok(())
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
