//! Signals, kills, and readers that go away.

use crate::program::{TINY, checkpoints, json, model, run, start_training, temporary};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

#[cfg(unix)]
#[test]
fn a_training_that_measures_its_first_step_answers_a_signal_at_once() {
    let (_folder, path) = temporary();
    let words =
        ["train", "--puzzle", "cube3", "--net", "resnet", "--width", "128", "--samples", "1e6", "--device", "cpu"];
    let program = env!("CARGO_BIN_EXE_costar");
    let mut child = std::process::Command::new(program)
        .args(words)
        .args(["--out", &path("run")])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut lines = BufReader::new(child.stderr.take().expect("it was piped")).lines().map_while(Result::ok);
    lines.find(|line| line.contains("parameters")).expect("it says how large the network is");
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let said: Vec<String> = lines.collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let at = |text: &str| said.iter().position(|line| line.contains(text));
    assert_eq!((at("stopping after this step"), at("samples at about")), (Some(0), None), "{said:?}");
}

#[cfg(unix)]
#[test]
fn signals_save_and_exit_with_their_codes() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let (_folder, path) = temporary();
        let out = path("run");
        let mut child = start_training(&out);
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
        assert_eq!(checkpoints(&out).len(), 1);
        let ran = run(&["train", "--resume", "--out", &out, "--samples", "64"]);
        assert!(ran.code == 0 && ran.err.contains("nothing is left"), "{}", ran.err);
    }
}

#[cfg(unix)]
#[test]
fn a_kill_at_any_moment_leaves_a_checkpoint() {
    let (_folder, path) = temporary();
    let out = path("run");
    for _ in 0..3 {
        let _ = fs::remove_dir_all(&out);
        let mut child = start_training(&out);
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let whole = checkpoints(&out).into_iter().filter(|path| path.extension().is_none()).max().expect("one");
        let samples: u64 = whole.to_string_lossy().rsplit('-').next().expect("a number").parse().expect("a number");
        let more = (samples + 640).to_string();
        let ran = run(&["train", "--resume", "--out", &out, "--samples", &more, "--device", "cpu"]);
        assert!(ran.code == 0 && ran.err.contains("resuming after"), "{}", ran.err);
    }
}

/// The output of a run that gets SIGINT some time after it can catch it.
#[cfg(unix)]
fn interrupted(words: &[&str], after: Duration) -> std::process::Output {
    let started = Instant::now();
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Until the program catches SIGINT: bit 1 of the mask.
    let catches = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mask =
            status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim).unwrap_or("0").to_owned();
        u64::from_str_radix(&mask, 16).is_ok_and(|mask| mask & 2 != 0)
    };
    while cfg!(target_os = "linux") && !catches() && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(after);
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    let output = child.wait_with_output().expect("it ends");
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(output.status.code(), Some(130));
    output
}

#[cfg(unix)]
#[test]
fn an_interrupted_solve_says_what_is_known() {
    let hard = "U U F U U R' L F F U F' B' R L U U R U D' R L' D R' L' D D";
    let words = ["solve", "--heuristic", "zero", "--json", "--max-memory", "2G", hard];
    let output = interrupted(&words, Duration::from_secs(1));
    let object = json(&String::from_utf8(output.stdout).expect("text"));
    assert_eq!((&object["solved"], &object["ended_by"]), (&false.into(), &"stopped".into()));
}

#[cfg(unix)]
#[test]
fn an_interrupted_training_says_at_once_what_it_will_do() {
    let (_folder, path) = temporary();
    let words = ["--samples", "1e9", "--device", "cpu", "--out", &path("run")];
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_costar"))
        .args([&TINY[..], &words].concat())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut lines = BufReader::new(child.stderr.take().expect("it was piped")).lines().map_while(Result::ok);
    lines.find(|line| line.contains("parameters")).expect("it says how large the network is");
    std::thread::sleep(Duration::from_secs(2)); // some steps
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    let said = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let place = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text} is not in {said}"));
    assert!(place("stopping after this step, then saving") < place("saved in"), "{said}");
    assert!(place("saved in") < place("--resume continues"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_bench_keeps_what_was_finished_and_no_more() {
    let (_folder, path) = temporary();
    let (file, out) = (path("cubes.tsv"), path("results.jsonl"));
    // The second has a solution at once, and the search for a better one takes a minute.
    fs::write(&file, "R\nR U F L' D B U R'\n").expect("it can be written");
    let words = ["bench", &file, "--model", model(), "--device", "cpu", "--n", "100", "--anytime", "--out", &out];
    let words = [&words[..], &["--max-memory", "2G"]].concat();
    let output = interrupted(&words, Duration::from_secs(5));
    let results = fs::read_to_string(&out).expect("results");
    assert_eq!(results.lines().count(), 1, "{}", String::from_utf8_lossy(&output.stdout));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_wait_for_input() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(["solve", "--heuristic", "perimeter", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("it was piped");
    input.write_all(b"R\n").expect("it reads");
    let mut answer = String::new();
    BufReader::new(child.stdout.take().expect("it was piped")).read_line(&mut answer).expect("it answers");
    assert_eq!(answer, "R'\n", "at once, with the input still open");
    std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(["scramble", "--count", "1e6"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
