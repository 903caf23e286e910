//! Several processes that share a training or a benchmark, started as a launcher starts them, or by torchrun itself.

mod torchrun;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A free port.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 21_000 + (std::process::id() % 400) as u16 * 20;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 4000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// One rank of `size`, with the variables that torchrun sets.
fn rank(number: usize, size: usize, port: u16) -> Command {
    let mut command = alone();
    command
        .env("RANK", number.to_string())
        .env("WORLD_SIZE", size.to_string())
        .env("LOCAL_RANK", number.to_string())
        .env("MASTER_ADDR", "127.0.0.1")
        .env("MASTER_PORT", port.to_string());
    command
}

/// A process without a launcher's variables, with one thread so that several run side by side.
fn alone() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_costar"));
    without_launcher(&mut command);
    command
}

fn without_launcher(command: &mut Command) {
    for name in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"] {
        command.env_remove(name);
    }
    for name in ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID", "TORCHELASTIC_RESTART_COUNT"] {
        command.env_remove(name);
    }
    command.env("OMP_NUM_THREADS", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

fn start(mut command: Command, words: &[&str]) -> Child {
    command.args(words).spawn().expect("it starts")
}

fn start_all(size: usize, words: &[&str]) -> Vec<Child> {
    let port = port();
    (0..size).map(|number| start(rank(number, size, port), words)).collect()
}

fn wait_all(children: Vec<Child>) -> Vec<Output> {
    children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect()
}

fn codes(outputs: &[Output]) -> Vec<Option<i32>> {
    outputs.iter().map(|output| output.status.code()).collect()
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a rank has said no more than that it waits for the others, as each does on a busy machine.
fn is_silent(output: &Output) -> bool {
    stderr_of(output).lines().all(|line| line.contains("waiting for the other ranks"))
}

fn all_stderr(outputs: &[Output]) -> String {
    outputs.iter().map(stderr_of).collect()
}

fn run(size: usize, words: &[&str]) -> Vec<Output> {
    let outputs = wait_all(start_all(size, words));
    assert!(outputs.iter().all(|output| output.status.success()), "{}", all_stderr(&outputs));
    outputs
}

/// The flags of a small training; `more` are further flags.
fn training<'a>(out: &'a str, steps: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["train", "--puzzle", "puzzle8", "--net", "mlp", "--width", "32", "--blocks", "1", "--policy"];
    let sizes = ["--batch-size", "64", "--max-depth", "20", "--samples", steps, "--out", out];
    [&words[..], &sizes, more].concat()
}

/// The checkpoint of a run: the name of its folder, and the content of its files of numbers.
fn checkpoint(run: &Path) -> (String, Vec<Vec<u8>>) {
    let names: Vec<PathBuf> = fs::read_dir(run)
        .expect("a run")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("checkpoint-")))
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let files = ["weights.safetensors", "optimizer.safetensors", "model/model.safetensors"];
    let name = names[0].file_name().expect("a name").to_string_lossy().into_owned();
    (name, files.map(|file| fs::read(names[0].join(file)).expect("a file")).into())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Waits until a run has a checkpoint of more than `after` samples; returns its samples.
fn wait_for_checkpoint(run: &Path, after: u64) -> u64 {
    let started = Instant::now();
    loop {
        let names = fs::read_dir(run).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let samples = names.filter_map(|name| name.to_string_lossy().strip_prefix("checkpoint-")?.parse().ok()).max();
        if let Some(samples) = samples.filter(|&samples: &u64| samples > after) {
            return samples;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint in {}", run.display());
        thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: this test started the process and has not waited for it.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn a_training_stopped_on_any_rank_resumes_to_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    run(2, &training(text(&whole), "20000", &[]));
    for stopped in [1, 0] {
        let more = ["--resume", "--checkpoint-every", "1e3"];
        fs::create_dir_all(&parts).expect("a folder");
        let after = newest_samples(&parts);
        let ranks = start_all(2, &training(text(&parts), "20000", &more));
        wait_for_checkpoint(&parts, after);
        signal(&ranks[stopped], libc::SIGINT);
        let outputs = wait_all(ranks);
        let expected = [0, 1].map(|number| Some(if number == stopped { 130 } else { 0 }));
        assert_eq!(codes(&outputs), expected, "{}", all_stderr(&outputs));
        assert!(is_silent(&outputs[1]), "only rank 0 prints: {}", stderr_of(&outputs[1]));
    }
    let (stopped, _) = checkpoint(&parts);
    assert!(stopped < checkpoint(&whole).0, "it was stopped in the middle");
    run(2, &["train", "--resume", "--out", text(&parts)]);
    assert_eq!(checkpoint(&parts), checkpoint(&whole));
    // Another number of ranks resumes, with a note that the bits differ.
    let outputs = run(1, &["train", "--resume", "--samples", "21000", "--out", text(&parts)]);
    let samples = checkpoint(&whole).0.trim_start_matches("checkpoint-").trim_start_matches('0').len();
    assert!(samples > 0 && stderr_of(&outputs[0]).contains("had 2 ranks until sample"), "{}", stderr_of(&outputs[0]));
    let model = fs::read_dir(&parts).expect("a run").flatten().find(|e| e.file_name() != "lock" && e.path().is_dir());
    let config = fs::read_to_string(model.expect("a checkpoint").path().join("model/config.json")).expect("a model");
    let config: Value = serde_json::from_str(&config).expect("JSON");
    let spans = config["training"]["ranks"].as_array().expect("spans");
    assert_eq!((spans[0]["ranks"].as_u64(), spans[1]["ranks"].as_u64()), (Some(2), Some(1)), "{spans:?}");
}

/// The samples of the newest checkpoint; 0 if there is none.
fn newest_samples(run: &Path) -> u64 {
    let names = fs::read_dir(run).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_string_lossy().strip_prefix("checkpoint-")?.parse().ok()).max().unwrap_or(0)
}

#[test]
fn two_ranks_learn_as_one_process_does_with_twice_the_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let (two, value) = (folder.path().join("two"), folder.path().join("value"));
    let outputs = run(2, &training(text(&two), "60000", &["--ema", "0.99"]));
    assert!(
        stderr_of(&outputs[0]).contains("2 ranks, each with its own batches: 128 samples a step"),
        "{}",
        stderr_of(&outputs[0])
    );
    let metrics = fs::read_to_string(two.join("metrics.jsonl")).expect("metrics");
    let last: Value = serde_json::from_str(metrics.lines().last().expect("a line")).expect("JSON");
    let first = 400.0 / 12.0; // the variance of the labels 1 to 20
    assert!(last["squared_error"].as_f64().is_some_and(|error| error < 0.6 * first), "{last}");
    // Labels from the network itself, and snapshots.
    let more = ["--labels", "bellman", "--target-every", "7", "--snapshot-every", "4000"];
    run(2, &training(text(&value), "10000", &more));
    assert_eq!(fs::read_dir(value.join("snapshots")).expect("snapshots").count(), 2);
}

#[test]
fn a_killed_rank_ends_the_others_and_nothing_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let run_folder = folder.path().join("run");
    fs::create_dir_all(&run_folder).expect("a folder");
    // COSTAR_KILLS=20 kills 20 ranks.
    let kills = std::env::var("COSTAR_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    for killed in (0..kills).map(|kill| kill % 3) {
        let more = ["--resume", "--checkpoint-every", "2e3"];
        let before = newest_samples(&run_folder);
        let mut ranks = start_all(3, &training(text(&run_folder), "1e9", &more));
        wait_for_checkpoint(&run_folder, before);
        // A random delay, so that the kill hits any moment of a step or of a checkpoint.
        let nanoseconds =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").subsec_nanos();
        thread::sleep(Duration::from_millis(u64::from(nanoseconds % 400)));
        signal(&ranks[killed], libc::SIGKILL);
        let killed_at = Instant::now();
        ranks[killed].wait().expect("it is dead");
        let outputs = wait_all(ranks);
        assert!(killed_at.elapsed() < Duration::from_secs(15), "{:?}", killed_at.elapsed());
        for (number, output) in outputs.iter().enumerate().filter(|(number, _)| *number != killed) {
            assert_eq!(output.status.code(), Some(1), "rank {number}: {}", stderr_of(output));
        }
        let errors: Vec<String> =
            all_stderr(&outputs).lines().filter(|line| line.starts_with("error")).map(String::from).collect();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains(&format!("rank {killed} of 3 has ended")), "{errors:?}");
    }
}

/// Checks that all ranks end with exit code 2 within 30 s, and that one of them prints why.
fn refused(started: Instant, outputs: &[Output], named: &str) {
    assert!(started.elapsed() < Duration::from_secs(30), "{named}: {:?}", started.elapsed());
    assert!(
        outputs.iter().all(|output| output.status.code() == Some(2)),
        "{named}: {:?}\n{}",
        codes(outputs),
        all_stderr(outputs)
    );
    let text = all_stderr(outputs);
    assert_eq!(text.matches("error:").count(), 1, "{named}: {text}");
    assert!(text.contains(named), "{named}: {text}");
}

#[test]
fn ranks_with_different_settings_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let words = training(text(&out), "1000", &[]);
    let now = Instant::now;
    // Different flags; an unknown flag; a device that does not exist.
    for (more, named) in [
        (&["--seed", "2"][..], "rank 1 has '--seed 2' where rank 0 has nothing"),
        (&["--sed", "2"], "unexpected argument '--sed'"),
    ] {
        let (started, port) = (now(), port());
        let ranks = vec![start(rank(0, 2, port), &words), start(rank(1, 2, port), &[&words[..], more].concat())];
        refused(started, &wait_all(ranks), named);
    }
    let (started, here, words_of) = (now(), port(), |last| ["solve", "--puzzle", "puzzle8", "--json", "L", last]);
    let ranks = vec![start(rank(0, 2, here), &words_of("U")), start(rank(1, 2, here), &words_of("D"))];
    refused(started, &wait_all(ranks), "rank 1 has 'L D' where rank 0 has 'L U'");
    let (started, device) = (now(), [&words[..], &["--device", "cuda:4096"]].concat());
    refused(started, &wait_all(start_all(2, &device)), "--device cuda");
    // Two processes with the same rank.
    let (started, here) = (now(), port());
    let ranks = [0, 1, 1].map(|number| start(rank(number, 3, here), &words));
    refused(started, &wait_all(ranks.into()), "two processes have the rank 1 of 3");
    // Cases with a timeout: the port is taken; a rank is missing; a variable of either rank is missing or not a number.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = listener.local_addr().expect("an address").port();
    let by_agent = |number| {
        let mut command = rank(number, 2, taken);
        command.env("TORCHELASTIC_USE_AGENT_STORE", "True");
        command
    };
    let mut waiting = vec![
        (vec![rank(0, 2, taken), rank(1, 2, taken)], "MASTER_PORT names another port"),
        (vec![by_agent(0), by_agent(1)], "not as the store where the ranks meet"),
        (vec![rank(0, 2, port())], "rank 1 of 2 has not come"),
        (vec![rank(0, 1000, port())], "ranks 1, 2, 3, 4, 5, 6, 7, 8 and of 991 more of 1000 has not come"),
        (vec![rank(1, 2, port())], "where rank 0 should be"),
    ];
    for number in [0, 1] {
        for (name, value, named) in [("WORLD_SIZE", "", "WORLD_SIZE is missing"), ("RANK", "x", "RANK is 'x'")] {
            let here = port();
            let mut ranks: Vec<Command> = (0..2).map(|number| rank(number, 2, here)).collect();
            if value.is_empty() {
                ranks[number].env_remove(name)
            } else {
                ranks[number].env(name, value)
            };
            // An invalid RANK of rank 0 hides that this process hosts the store: both ranks print.
            waiting.push((ranks, if number == 0 && name == "RANK" { "" } else { named }));
        }
    }
    let waiting = Mutex::new(waiting);
    let wait = || {
        loop {
            let next = waiting.lock().expect("no case has failed").pop();
            let Some((ranks, named)) = next else { return };
            let started = now();
            let outputs = wait_all(ranks.into_iter().map(|command| start(command, &words)).collect());
            if named.is_empty() {
                assert!(codes(&outputs).iter().all(|code| *code == Some(2)), "{}", all_stderr(&outputs));
            } else {
                refused(started, &outputs, named);
            }
        }
    };
    thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(wait))));
    assert!(!out.exists(), "no training was started");
}

#[test]
fn ranks_started_by_slurm_meet() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let here = port().to_string();
    let words = training(text(&out), "1000", &[]);
    let ranks = ["0", "1"].map(|number| {
        let mut command = alone();
        command.env("SLURM_PROCID", number).env("SLURM_NTASKS", "2").env("SLURM_LOCALID", number);
        command.env("MASTER_ADDR", "localhost").env("MASTER_PORT", &here);
        start(command, &words)
    });
    let outputs = wait_all(ranks.into());
    assert_eq!(codes(&outputs), [Some(0), Some(0)], "{}", all_stderr(&outputs));
    assert!(stderr_of(&outputs[0]).contains("2 ranks"), "{}", stderr_of(&outputs[0]));
}

#[test]
fn ranks_share_a_beam_on_their_devices() {
    let board = "8 6 7 2 5 4 3 0 1";
    let flags =
        "--puzzle puzzle8 --search beam --engine device --device cpu --n 50 --hash-slots 1e6 --perimeter 0 --json";
    let words: Vec<&str> = ["solve"].into_iter().chain(flags.split(' ')).chain([board]).collect();
    let single = alone().args(&words).output().expect("it runs");
    // The instance may be several words, and only one rank may log more.
    let in_words: Vec<&str> = words[..words.len() - 1].iter().copied().chain(board.split(' ')).chain(["-v"]).collect();
    let here = port();
    let outputs = wait_all(vec![start(rank(0, 2, here), &words), start(rank(1, 2, here), &in_words)]);
    assert_eq!(codes(&outputs), [Some(0), Some(0)], "{}", all_stderr(&outputs));
    let solution = |output: &Output| -> Value { serde_json::from_slice(&output.stdout).expect("a solution") };
    let (single, shared) = (solution(&single), solution(&outputs[0]));
    assert_eq!((&shared["length"], &shared["ranks"]), (&31.into(), &2.into()), "{shared}");
    assert_eq!(shared["config"]["engine"], "device");
    assert_eq!(single["length"], shared["length"]);
}

/// Writes a file of random boards.
fn boards(folder: &Path) -> PathBuf {
    let file = folder.join("boards.txt");
    let scrambled = alone()
        .args(["scramble", "--puzzle", "puzzle8", "--depth", "40", "--count", "40", "--seed", "1", "--as", "state"])
        .output()
        .expect("it runs");
    fs::write(&file, scrambled.stdout).expect("boards");
    file
}

fn bench<'a>(file: &'a str, out: &'a str) -> Vec<&'a str> {
    vec!["bench", "--puzzle", "puzzle8", "--search", "astar", "--heuristic", "manhattan", "--out", out, "--json", file]
}

/// The instances of a file of results; checks that every line is whole and that no instance appears twice.
fn instances(out: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(out).unwrap_or_default();
    let lines: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a whole line")["instance"].to_string())
        .collect();
    let distinct: BTreeSet<String> = lines.iter().cloned().collect();
    assert_eq!(distinct.len(), lines.len());
    distinct
}

#[test]
fn a_shared_benchmark_has_the_summary_of_a_single_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = boards(folder.path());
    let (one, three) = (folder.path().join("one.jsonl"), folder.path().join("three.jsonl"));
    let single = alone().args(bench(text(&file), text(&one))).output().expect("it runs");
    let outputs = run(3, &bench(text(&file), text(&three)));
    assert_eq!(instances(&one), instances(&three));
    let summary = |output: &Output| -> Value { serde_json::from_slice(&output.stdout).expect("a summary") };
    let (of_one, of_three) = (summary(&single), summary(&outputs[0]));
    for key in ["instances", "solved", "mean_length", "optimal", "mean_optimal"] {
        assert_eq!(of_one[key], of_three[key], "{key}");
    }
    assert!(outputs[1..].iter().all(|output| output.stdout.is_empty() && is_silent(output)));
    // Half of the results removed, and another number of ranks.
    let half: Vec<String> = fs::read_to_string(&three).expect("results").lines().take(20).map(String::from).collect();
    fs::write(&three, half.join("\n") + "\n").expect("half");
    let outputs = run(2, &bench(text(&file), text(&three)));
    assert_eq!(instances(&one), instances(&three));
    assert_eq!(summary(&outputs[0])["mean_length"], of_one["mean_length"]);
    assert!(
        stderr_of(&outputs[0]).contains("20 of 40 instances are in the file already"),
        "{}",
        stderr_of(&outputs[0])
    );
    // Different instances on one rank.
    let other = folder.path().join("other");
    fs::create_dir(&other).expect("a folder");
    fs::write(other.join("boards.txt"), "1 2 3 4 5 6 7 0 8\n").expect("boards");
    let (here, started) = (port(), Instant::now());
    let ranks = [(0, folder.path()), (1, other.as_path())].map(|(number, at)| {
        let mut command = rank(number, 2, here);
        command.current_dir(at);
        start(command, &bench("boards.txt", "out.jsonl"))
    });
    refused(started, &wait_all(ranks.into()), "rank 1 has '1 instances");
}

#[test]
fn a_benchmark_resumes_after_a_kill_of_any_rank() {
    thread::scope(|scope| {
        for killed in [0, 1] {
            scope.spawn(move || results_resume_after_kill_of(killed));
        }
    });
}

/// Number of boards in a benchmark. Each takes a tenth of a second, so that the kill comes in the middle.
const BOARDS: usize = 100;

/// Kills one of two ranks; three ranks then finish the benchmark.
fn results_resume_after_kill_of(killed: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("boards.txt");
    let board = |i: usize| format!("{}\n", ["8 6 7 2 5 4 3 0 1", "6 4 7 8 5 0 3 2 1"][i % 2]);
    fs::write(&file, (0..BOARDS).map(board).collect::<String>()).expect("boards");
    let out = folder.path().join("out.jsonl");
    let words = ["bench", "--puzzle", "puzzle8", "--search", "astar", "--heuristic", "manhattan", "--out", text(&out)];
    let words = [&words[..], &[text(&file)]].concat();
    let lines = || fs::read_to_string(&out).unwrap_or_default().matches('\n').count();
    let ranks = start_all(2, &words);
    let started = Instant::now();
    while lines() < 5 {
        assert!(started.elapsed() < Duration::from_secs(60), "results come");
        thread::sleep(Duration::from_millis(5));
    }
    signal(&ranks[killed], libc::SIGKILL);
    let outputs = wait_all(ranks);
    let other = &outputs[1 - killed];
    assert_eq!(other.status.code(), Some(1), "{}", all_stderr(&outputs));
    assert!(stderr_of(other).contains(&format!("rank {killed} of 2 has ended")), "{}", all_stderr(&outputs));
    let text = fs::read_to_string(&out).expect("results");
    assert!(text.ends_with('\n') && text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    run(3, &words);
    assert_eq!(lines(), BOARDS);
}
