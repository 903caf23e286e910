//! The cost of several ranks on one machine: the sum of gradients, and a training by two ranks with one thread each against
//! one by a single process with two threads.
//!
//! ```sh
//! cargo bench --bench ranks
//! ```

use anyhow::{Context as _, Result, ensure};
use costar::distributed::{Group, LauncherEnv};
use costar::exchange::Exchange as _;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Parameters of the default network of kind `mlp` for the cube.
const NUMBERS: usize = 2_411_027;

fn main() -> Result<()> {
    if std::env::var_os("RANK").is_some() {
        return sums();
    }
    let program = std::env::current_exe().context("this program has a path")?;
    let ranks: Vec<Child> = (0..2)
        .map(|rank| as_rank(Command::new(&program), rank).spawn())
        .collect::<Result<_, _>>()
        .context("two ranks start")?;
    for mut rank in ranks {
        ensure!(rank.wait()?.success(), "a rank has failed");
    }
    let folder = tempfile::tempdir()?;
    for round in 1..=3 {
        let alone = training(&folder.path().join(format!("alone{round}")), 1, "2048")?;
        let two = training(&folder.path().join(format!("two{round}")), 2, "1024")?;
        println!(
            "round {round}: {alone:.0} samples/s by one process with two threads, {two:.0} by two ranks with one: {:.2} times",
            two / alone
        );
    }
    Ok(())
}

/// Sets the variables of one of two ranks.
fn as_rank(mut command: Command, rank: usize) -> Command {
    command.envs([
        ("WORLD_SIZE", "2"),
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", "29517"),
        ("OMP_NUM_THREADS", "1"),
    ]);
    command.env("RANK", rank.to_string()).env("LOCAL_RANK", rank.to_string());
    command
}

/// Times sums of as many numbers as a training step exchanges.
fn sums() -> Result<()> {
    let env = LauncherEnv::read().map_err(|invalid| invalid.error)?.context("there are two ranks")?;
    let group = Group::open(env, Arc::new(AtomicBool::new(false)))?;
    ensure!(group.join("sums")?, "rank 0 was restarted");
    let mut numbers = vec![1.0; NUMBERS];
    numbers = group.sum(numbers)?;
    let mut milliseconds = Vec::new();
    for _ in 0..30 {
        let started = Instant::now();
        numbers = group.sum(numbers)?;
        milliseconds.push(started.elapsed().as_secs_f64() * 1e3);
    }
    milliseconds.sort_by(f64::total_cmp);
    if group.is_first() {
        println!(
            "a sum of {NUMBERS} numbers over 2 ranks: median {:.1} ms, least {:.1} ms",
            milliseconds[15], milliseconds[0]
        );
    }
    Ok(())
}

/// Samples a second of a training on the cube.
fn training(out: &Path, ranks: usize, batch_size: &str) -> Result<f64> {
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_costar"));
        command.args([
            "train",
            "--net",
            "mlp",
            "--policy",
            "--device",
            "cpu",
            "--samples",
            "2e5",
            "--batch-size",
            batch_size,
        ]);
        command.arg("--out").arg(out).stderr(Stdio::null());
        command
    };
    let children: std::io::Result<Vec<Child>> = match ranks {
        1 => command().env("OMP_NUM_THREADS", "2").spawn().map(|child| vec![child]),
        _ => (0..ranks).map(|rank| as_rank(command(), rank).spawn()).collect(),
    };
    for mut child in children? {
        ensure!(child.wait()?.success(), "a training has failed");
    }
    let text = std::fs::read_to_string(out.join("metrics.jsonl"))?;
    let last: Value = serde_json::from_str(text.lines().last().context("there are metrics")?)?;
    let (samples, seconds) = (last["samples"].as_f64(), last["seconds"].as_f64());
    Ok(samples.context("samples")? / seconds.context("seconds")?)
}
