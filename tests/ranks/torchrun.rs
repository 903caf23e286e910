//! Training under torchrun, where a PyTorch is installed: `python3`, or what `PYTHON` names.

use super::{all_said, checkpoint, ends, port, text, training, wait_for_checkpoint, without_launcher};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// torchrun, without the variables of another launcher; `None` where there is no PyTorch.
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

/// The process of a rank that writes to `out`, which is no child of this one.
fn process_of(out: &Path, rank: usize) -> libc::pid_t {
    let begun = Instant::now();
    let holds = |file: std::path::PathBuf, what: &str| {
        fs::read(file).is_ok_and(|bytes| bytes.split(|&byte| byte == 0).any(|word| word == what.as_bytes()))
    };
    loop {
        let processes = fs::read_dir("/proc").expect("processes").flatten();
        let found = processes.filter_map(|entry| {
            let number = entry.file_name().to_string_lossy().parse().ok()?;
            let is_it = holds(entry.path().join("environ"), &format!("RANK={rank}"))
                && holds(entry.path().join("cmdline"), text(out));
            is_it.then_some(number)
        });
        if let Some(number) = found.last() {
            return number;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "rank {rank} has begun");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Kills a rank of a training on so many machines, each with so many ranks; torchrun starts all again, and they finish.
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
    // SAFETY: it sends a signal to a process that belongs to this test.
    assert_eq!(unsafe { libc::kill(process_of(&out, killed), libc::SIGKILL) }, 0);
    let outputs = ends(agents);
    let all = all_said(&outputs);
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
