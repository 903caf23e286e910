//! Training under torchrun, if `python3` (or `$PYTHON`) has PyTorch.

use super::{all_stderr, checkpoint, port, text, training, wait_all, wait_for_checkpoint, without_launcher};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// torchrun, without the variables of another launcher; `None` without PyTorch.
fn torchrun() -> Option<Command> {
    let python = std::env::var("PYTHON").unwrap_or("python3".into());
    let found = Command::new(&python).args(["-c", "import torch.distributed.run"]).output();
    if !found.is_ok_and(|found| found.status.success()) {
        eprintln!("SKIPPED: {python} has no PyTorch, whose torchrun this test starts");
        return None;
    }
    let mut torchrun = Command::new(python);
    without_launcher(&mut torchrun);
    torchrun.args(["-m", "torch.distributed.run", "--no-python", "--local-addr", "127.0.0.1", "--max-restarts", "2"]);
    Some(torchrun)
}

/// The id of the process that trains as `rank` with `--out out`.
fn process_of(out: &Path, rank: usize) -> libc::pid_t {
    let started = Instant::now();
    let contains = |file: std::path::PathBuf, expected: &str| {
        fs::read(file).is_ok_and(|bytes| bytes.split(|&byte| byte == 0).any(|word| word == expected.as_bytes()))
    };
    loop {
        let processes = fs::read_dir("/proc").expect("processes").flatten();
        let found = processes.filter_map(|entry| {
            let id = entry.file_name().to_string_lossy().parse().ok()?;
            let is_rank = contains(entry.path().join("environ"), &format!("RANK={rank}"))
                && contains(entry.path().join("cmdline"), text(out));
            is_rank.then_some(id)
        });
        if let Some(id) = found.last() {
            return id;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "rank {rank} has started");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Kills a rank of a training on `machines` machines with `ranks` ranks each; torchrun restarts all, and they finish.
fn restarts(machines: usize, ranks: usize, killed: usize) {
    let Some(_) = torchrun() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let endpoint = format!("127.0.0.1:{}", port());
    let agents: Vec<Child> = (0..machines)
        .map(|_| {
            let mut agent = torchrun().expect("it was there a moment ago");
            agent.args(["--nnodes", &machines.to_string(), "--nproc-per-node", &ranks.to_string()]);
            agent.args(["--rdzv-backend", "c10d", "--rdzv-id", "test", "--rdzv-endpoint", &endpoint]);
            agent.args(["--", env!("CARGO_BIN_EXE_costar")]);
            agent.args(training(text(&out), "300000", &["--checkpoint-every", "1e4"]));
            agent.spawn().expect("it starts")
        })
        .collect();
    wait_for_checkpoint(&out, 0);
    // SAFETY: the process belongs to this test.
    assert_eq!(unsafe { libc::kill(process_of(&out, killed), libc::SIGKILL) }, 0);
    let outputs = wait_all(agents);
    let all = all_stderr(&outputs);
    assert!(outputs.iter().all(|output| output.status.success()), "{all}");
    assert!(all.contains("resuming after"), "{all}");
    let samples = checkpoint(&out).0.trim_start_matches("checkpoint-").parse::<u64>();
    assert!(samples.is_ok_and(|samples| samples >= 300_000), "{all}");
}

#[test]
fn one_machine_restarts_its_ranks() {
    for killed in [0, 1] {
        restarts(1, 2, killed);
    }
}

#[test]
fn two_machines_restart_together() {
    for killed in [0, 1] {
        restarts(2, 1, killed);
    }
}
