//! CUDA's part of libtorch is opened before any call that would switch CUDA off for the process.
//!
//! A stand-in for it registers hooks that report one GPU. A program that asks libtorch about CUDA too early misses them, and
//! reports that no GPU was found; a program that opens it first gets as far as a product on that GPU, which fails.

use costar::neural::device::{Device, DeviceChoice};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The folder of the stand-ins for `libtorch_cuda.so` and for the driver, whose functions are never called.
fn stand_ins(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libtorch = std::env::var("LIBTORCH").expect("cargo sets LIBTORCH");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let compile = |out: &str, source: &Path| {
        let status = Command::new(&compiler)
            .args(["-std=c++17", "-shared", "-fPIC", "-I"])
            .arg(Path::new(&libtorch).join("include"))
            .arg("-o")
            .arg(folder.join(out))
            .arg(source)
            .status();
        assert!(status.expect("a C++ compiler").success());
    };
    compile("libtorch_cuda.so", &root.join("test-data/cuda-hooks.cpp"));
    let driver = folder.join("driver.cpp");
    std::fs::write(&driver, "extern \"C\" int cuInit(unsigned) { return 0; }\n").expect("the folder can be written");
    compile("libcuda.so.1", &driver);
    folder.to_owned()
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
        &["train", "--puzzle", "puzzle8", "--net", "mlp", "--width", "64", "--steps", "1000", "--out", &run],
        &["train", "--puzzle", "cube3", "--width", "64", "--steps", "1000", "--out", &run],
        &["train", "--puzzle", "cube3", "--net", "mlp", "--init", &model, "--steps", "1000", "--out", &run],
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
