//! The program, as these tests run it.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn costar() -> Command {
    isolated(Command::cargo_bin("costar").expect("the program was built"))
}

/// Uses a cache of these tests, not the user's.
fn isolated(mut command: Command) -> Command {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command.env("OMP_NUM_THREADS", "1").env("COSTAR_CACHE", cache).env_remove("COSTAR_MODELS");
    command
}

pub(crate) fn run_with(words: &[&str], input: &str) -> Ran {
    ran(costar().args(words).write_stdin(input))
}

/// Runs a line in a shell, with the program on the path.
pub(crate) fn run_in_shell(line: &str) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_costar")).parent().expect("a folder").display();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
    ran(isolated(Command::new("sh")).args(["-c", line]).env("PATH", path))
}

fn ran(command: &mut Command) -> Ran {
    let output = command.timeout(Duration::from_secs(300)).output().expect("it runs");
    Ran {
        code: output.status.code().expect("it exits by itself"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

pub(crate) fn run(words: &[&str]) -> Ran {
    run_with(words, "")
}

/// Runs a command that must be refused; returns the message.
pub(crate) fn refused(words: &[&str]) -> String {
    let ran = run(words);
    assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
    assert_eq!(ran.out, "", "{words:?}");
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran.err
}

pub(crate) const TINY: [&str; 10] =
    ["train", "--net", "mlp", "--width", "16", "--blocks", "1", "--batch-size", "64", "--policy"];

pub(crate) fn train(more: &[&str]) -> Ran {
    run(&[&TINY, more].concat())
}

/// A folder with a model, trained briefly once.
pub(crate) fn model() -> &'static str {
    static FOLDER: OnceLock<String> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("model-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let path = folder.to_str().expect("a plain path").to_owned();
        let ran = train(&["--samples", "1e4", "--device", "cpu", "--out", &path]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        path
    })
}

pub(crate) fn temporary() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_owned();
    (folder, move |name| root.join(name).to_str().expect("a plain path").to_owned())
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) fn start_training(out: &str) -> Child {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(TINY)
        .args(["--samples", "1e9", "--checkpoint-every", "6400", "--device", "cpu", "--out", out])
        .env("OMP_NUM_THREADS", "1")
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stderr.take().expect("it was piped")).lines();
    let saved = lines.map_while(Result::ok).filter(|line| line.contains("saved in")).nth(1);
    assert!(saved.is_some(), "it saves now and then");
    child
}

pub(crate) fn checkpoints(out: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(out).expect("the run's folder").flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains("checkpoint-") && path.is_dir()).collect()
}
