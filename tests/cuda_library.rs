//! CUDA's part of libtorch is opened before any call that would switch CUDA off for the process.
//!
//! A stand-in for it registers hooks that report one GPU. A program that asks libtorch about CUDA too early misses them, and
//! reports that no GPU was found; a program that opens it first gets as far as a product on that GPU, which fails.

use costar::neural::device::{Device, DeviceChoice};
use costar::neural::learner::Learner;
use costar::neural::network::{NetworkConfig, NetworkKind};
use costar::neural::precision::Precision;
use costar::puzzle::Encode as _;
use costar::puzzle::cube3::Cube3;
use costar::sampler::{Sampler, Samples as _, Stream, Walks};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

fn libtorch() -> PathBuf {
    PathBuf::from(std::env::var("LIBTORCH").expect("cargo sets LIBTORCH"))
}

/// Compiles a library that uses libtorch.
fn compile(out: &Path, source: &Path, flags: &[&str]) {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let mut command = Command::new(compiler);
    command.args(["-w", "-std=c++17", "-shared", "-fPIC", "-I"]).arg(libtorch().join("include"));
    let status = command.arg("-o").arg(out).arg(source).args(flags).status();
    assert!(status.expect("a C++ compiler").success());
}

/// The folder of the stand-ins for `libtorch_cuda.so` and for the driver, whose functions are never called.
fn stand_ins(folder: &Path) -> PathBuf {
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/cuda-hooks.cpp");
    compile(&folder.join("libtorch_cuda.so"), &hooks, &[]);
    let driver = folder.join("driver.cpp");
    std::fs::write(&driver, "extern \"C\" int cuInit(unsigned) { return 0; }\n").expect("the folder can be written");
    compile(&folder.join("libcuda.so.1"), &driver, &[]);
    folder.to_owned()
}

/// A library that counts the operations with a kernel of their own.
fn counter(folder: &Path) -> PathBuf {
    let counter = folder.join("libcount.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/count-operations.cpp");
    let libraries = libtorch().join("lib").display().to_string();
    let flags = [format!("-L{libraries}"), format!("-Wl,-rpath,{libraries}"), "-lc10".into(), "-ltorch_cpu".into()];
    compile(&counter, &source, &flags.each_ref().map(String::as_str));
    counter
}

/// Runs a command; returns its operations, and its output.
fn count(counter: &Path, command: &mut Command) -> (u64, String) {
    let counts = counter.with_file_name("counts");
    std::fs::write(&counts, "").expect("it can be written");
    let output = command
        .env("LD_PRELOAD", counter)
        .env("COUNT_OPERATIONS", &counts)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let count = std::fs::read_to_string(&counts).expect("a count");
    (count.trim().parse().expect("a number"), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// On a GPU, a narrow layer takes as long as its launches.
#[test]
fn a_layer_on_the_device_takes_few_launches() {
    let folder = tempfile::tempdir().expect("a folder");
    let counter = counter(folder.path());
    let beam = ["--search", "beam", "--n", "500", "--perimeter", "0", "--proof-budget", "0", "--symmetries", "1"];
    let device = ["--engine", "device", "--device", "cpu", "--precision", "f32", "--json"];
    // The launches and the layers of a search.
    let search = |puzzle: &str, instance: &str| -> (u64, u64) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_costar"));
        let (operations, json) =
            count(&counter, command.args(["solve", "--puzzle", puzzle, instance]).args(beam).args(device));
        let solved: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(solved["solved"], true, "{json}");
        (operations, solved["iterations"].as_u64().expect("a number"))
    };
    // At most, of a layer with one chunk.
    for (puzzle, near, far) in [
        ("cube3", "R U F", "R U F L D B R U F L D B R U2 L2 F"),
        ("puzzle15", "1 2 3 4 5 6 7 8 9 10 11 12 0 13 14 15", "2 15 1 12 8 5 6 11 4 9 10 7 3 14 13 0"),
        ("lightsout7", "1,1 1,2", "1,1 1,4 2,2 2,5 3,4 4,1 4,6 5,5 6,2 7,7"),
    ] {
        let (near, far) = (search(puzzle, near), search(puzzle, far));
        assert!(far.1 > near.1, "{puzzle}: {near:?}, {far:?}");
        let a_layer = (far.0 - near.0) / (far.1 - near.1);
        assert!((10..=58).contains(&a_layer), "{puzzle}: {a_layer}");
    }
}

/// Makes as many optimizer steps as COUNTED_STEPS says, as a process of its own; the samples come from the host or, with
/// COUNTED_WALKS, from walks on the device.
#[test]
fn counted_steps() {
    let Some(steps) = std::env::var("COUNTED_STEPS").ok().and_then(|steps| steps.parse::<u64>().ok()) else { return };
    let network =
        NetworkConfig { kind: NetworkKind::Mlp, width: 32, blocks: 2, policy: Some(12), offset: 9.0, scale: 3.0 };
    let cube = Arc::new(Cube3);
    let learner = Learner::fresh(network, &cube.encoding(), Device::CPU, Precision::F32, 1e-3, 1);
    let mut learner = learner.expect("a network");
    let samples = Walks::new(cube).with_walk_samples(6);
    let rules = samples.rules().expect("walks that a device can make");
    let stream = Stream { seed: 1, max_depth: 26, batch_size: 64, first: 0, stride: 1 };
    let mut walks = std::env::var_os("COUNTED_WALKS").map(|_| learner.walks(&rules, stream).expect("the CPU works"));
    let sampler = Sampler::new(Arc::new(samples), (54, 12), 1, 26, 64);
    for k in 0..steps {
        let batch = match &mut walks {
            Some(walks) => learner.next_batch(walks),
            None => learner.upload(&sampler.batch(k)),
        };
        learner.learn(&batch.expect("the CPU works"), 1e-3).expect("the CPU works");
    }
}

/// If the step is not one launch, its launches are the limit of a GPU with small batches.
#[test]
fn an_optimizer_step_takes_few_launches() {
    let folder = tempfile::tempdir().expect("a folder");
    let counter = counter(folder.path());
    let program = std::env::current_exe().expect("this program");
    let steps = |steps: u64, walks: bool| {
        let mut command = Command::new(&program);
        command.args(["--exact", "counted_steps"]).env("COUNTED_STEPS", steps.to_string());
        count(&counter, if walks { command.env("COUNTED_WALKS", "") } else { &mut command }).0
    };
    let host = (steps(30, false) - steps(10, false)) / 20;
    // With walks on the device, 64 further steps have one further round of 64 batches.
    let device = (steps(128, true) - steps(64, true)) / 64;
    assert!((50..=100).contains(&host), "{host}");
    assert!((host..=host + 5).contains(&device), "{host}, {device}");
}

#[test]
fn every_command_opens_it_in_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let libraries = stand_ins(folder.path());
    let file = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let (instances, run, results) = (file("cubes.txt"), file("run"), file("results.jsonl"));
    std::fs::write(&instances, "R U F\n").expect("the folder can be written");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = root.join("models/cube3").to_str().expect("a plain path").to_owned();
    let picture = file("picture.png");
    let commands: [&[&str]; 8] = [
        &["train", "--puzzle", "puzzle8", "--net", "mlp", "--width", "64", "--samples", "1000", "--out", &run],
        &["train", "--puzzle", "cube3", "--width", "64", "--samples", "1000", "--out", &run],
        &["train", "--puzzle", "cube3", "--net", "mlp", "--init", &model, "--samples", "1000", "--out", &run],
        &["solve", "--puzzle", "cube3", "--model", &model, "R U F"],
        &["bench", "--puzzle", "cube3", "--model", &model, "--out", &results, &instances],
        &["evaluate", "--model", &model, &instances],
        &["compare", "--puzzle", "cube3", "--model", &model, "R U F"],
        &["plot", "--kind", "density", "--out", &picture, &model],
    ];
    for command in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_costar"))
            .args(command)
            .args(["--device", "cuda"])
            .env("LD_LIBRARY_PATH", &libraries)
            .current_dir(root)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cuda:0 does not work"), "{command:?}: {said}");
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
    }
}

/// A process that is killed when it is dropped.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn a_server_opens_it_in_time_also_after_a_request_without_a_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = KilledOnDrop(
        Command::new(env!("CARGO_BIN_EXE_costar"))
            .args(["-v", "serve", "--port", "0", "--device", "auto"])
            .env("LD_LIBRARY_PATH", stand_ins(folder.path()))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts"),
    );
    let mut lines = BufReader::new(server.0.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    let port = lines.find_map(|line| line.split_once("http://127.0.0.1:")?.1.split('/').next()?.parse().ok());
    let port: u16 = port.expect("it says where it listens");
    let solve = |request: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout can be set");
        let length = request.len();
        write!(
            stream,
            "POST /solve HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{request}"
        )
        .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it answers");
        response
    };
    let without =
        solve(r#"{"puzzle": "puzzle8", "instance": "1 2 3 4 5 6 7 0 8", "search": "astar", "heuristic": "manhattan"}"#);
    let with = solve(r#"{"puzzle": "cube3", "instance": "R U F", "search": "beam", "perimeter": 0}"#);
    drop(server);
    assert!(without.contains("\"solved\":true") && with.contains("\"solved\":true"), "{without}\n{with}");
    let said: Vec<String> = lines.collect();
    assert!(said.iter().any(|line| line.contains("auto takes the CPU: cuda:0 does not work")), "{said:?}");
}

#[test]
fn auto_goes_on_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let libraries = stand_ins(folder.path());
    let solve = |flags: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_costar"))
            .args(["-v", "solve", "--puzzle", "cube3", "--device", "auto", "--perimeter", "0", "R U F"])
            .args(flags)
            .env("LD_LIBRARY_PATH", &libraries)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = solve(&["--model", "models/cube3"]);
    assert!(said.contains("auto takes the CPU: cuda:0 does not work: Could not run"), "{said}");
    assert!(said.len() < 1500, "no more than the first line of libtorch's message: {said}");
    let said = solve(&["--search", "astar", "--heuristic", "perimeter"]);
    assert!(!said.contains("cuda:0"), "nothing is evaluated on a GPU: {said}");
}

#[test]
fn a_call_before_it_switches_cuda_off() {
    const CHILD: &str = "COSTAR_TEST_ASKS_EARLY";
    if let Ok(asks) = std::env::var(CHILD) {
        if asks == "yes" {
            assert!(!tch::Cuda::is_available(), "no library is open yet");
        }
        let refused = Device::resolve(DeviceChoice::Cuda(0)).expect_err("there is no GPU");
        println!("refused: {refused}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let libraries = stand_ins(folder.path());
    for (asks, expected) in [("no", "cuda:0 does not work"), ("yes", "finds no usable GPU")] {
        let output = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["--exact", "a_call_before_it_switches_cuda_off", "--nocapture"])
            .env(CHILD, asks)
            .env("LD_LIBRARY_PATH", &libraries)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(expected), "asked early: {asks}; {said}");
    }
}
