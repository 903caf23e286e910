//! `costar serve`: the API over plain TCP, and the page in a browser.

mod address;
#[path = "../browser/mod.rs"]
mod browser;
mod page;

use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::{Notation as _, replay};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Too far from solved for a search to end within a test.
const HARD: &str = "D' R' D R U F' L D' B U' L' F R' B' D R U2 F L' B U F' L D R' B2 U' L";

/// A running server; it ends when this is dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(flags: &[&str]) -> Server {
        Server::start_with(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"), flags)
    }

    fn start_with(cache: &Path, flags: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_costar"))
            .args(["serve", "--port", "0"])
            .args(flags)
            .env("OMP_NUM_THREADS", "1")
            .env("COSTAR_CACHE", cache)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it was piped")).lines().map_while(Result::ok);
        let port = lines.find_map(|line| line.split_once("http://127.0.0.1:")?.1.split('/').next()?.parse().ok());
        thread::spawn(move || lines.for_each(drop));
        Server { child, port: port.expect("it says where it listens") }
    }

    /// Sends a request, and leaves the connection open.
    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout can be set");
        let host = if headers.contains("Host:") { "" } else { "Host: localhost\r\n" };
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        stream
    }

    /// The status and the body of the answer.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut text = String::new();
        self.send(method, path, headers, body).read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) = self.ask("GET", path, "", "");
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, body) = self.ask("POST", path, JSON, &body.to_string());
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// Starts a search, and reads its events up to one of this name.
    fn watch(&self, request: &Value, until: &str) -> (BufReader<TcpStream>, Value) {
        let headers = format!("{JSON}Accept: text/event-stream\r\n");
        let mut events = BufReader::new(self.send("POST", "/solve", &headers, &request.to_string()));
        let data = next_event(&mut events, until);
        (events, data)
    }

    fn wait_for(&self, running: u64, waiting: u64) {
        let started = Instant::now();
        loop {
            let (_, status) = self.get("/status");
            if (&status["running"], &status["waiting"]) == (&running.into(), &waiting.into()) {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "{status}, but not {running} and {waiting}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().expect("kill runs").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const JSON: &str = "Content-Type: application/json\r\n";

/// The data of the next event of that name.
fn next_event(events: &mut BufReader<TcpStream>, name: &str) -> Value {
    let mut line = String::new();
    let mut seen = String::new();
    loop {
        line.clear();
        assert!(events.read_line(&mut line).expect("events") > 0, "the events end without '{name}': {seen}");
        if line.trim_end() == format!("event: {name}") {
            line.clear();
            events.read_line(&mut line).expect("data");
            return serde_json::from_str(line.trim().strip_prefix("data:").expect("data")).expect("JSON");
        }
        seen.extend(line.chars().take(100));
    }
}

fn solves(instance: &str, report: &Value) -> bool {
    let moves: Vec<&str> = report["moves"].as_array().expect("moves").iter().filter_map(Value::as_str).collect();
    let start = Cube3.parse(instance).expect("an instance");
    let moves = Cube3.parse_moves(&moves.join(" ")).expect("moves");
    replay(&Cube3, &start, &moves).expect("legal").0 == CubeState::SOLVED
}

#[test]
fn a_scramble_is_solved_and_its_playback_solves() {
    let server = Server::start(&[]);
    let (status, scramble) = server.get("/scramble?depth=6&seed=4");
    assert_eq!((status, &scramble["puzzle"]), (200, &"cube3".into()), "{scramble}");
    let instance = scramble["instance"].as_str().expect("text");
    let (status, report) = server.post("/solve", &json!({ "instance": instance, "max_seconds": 60 }));
    assert_eq!((status, &report["solved"], &report["model"]), (200, &true.into(), &"cube3".into()), "{report}");
    assert!(solves(instance, &report));
    assert_eq!(report["playback"]["solves"], true);
    assert_eq!(report["playback"]["scramble"], 6);
    // The same again, as events, with other settings: the model is loaded.
    let request = json!({ "instance": instance, "n": 100, "lambda": 0.8 });
    let (mut events, queued) = server.watch(&request, "queued");
    assert_eq!((&queued["ahead"], queued["search"].as_str().map(str::len)), (&0.into(), Some(16)));
    let done = next_event(&mut events, "done");
    assert_eq!(
        (&done["n"], &done["search"], &done["config"]["lambda"]),
        (&100.into(), &"bwas".into(), &0.8.into()),
        "{done}"
    );
    assert!(solves(instance, &done) && done["playback"]["solves"] == true);
    // A puzzle without a model.
    let tiles =
        json!({ "puzzle": "puzzle8", "instance": "8 0 6 5 4 7 2 3 1", "heuristic": "manhattan", "search": "astar" });
    let (status, report) = server.post("/solve", &tiles);
    assert_eq!(
        (status, &report["proven_optimal"], &report["heuristic"]),
        (200, &true.into(), &"manhattan".into()),
        "{report}"
    );
    let limit = json!({ "instance": HARD, "heuristic": "perimeter", "search": "astar", "max_nodes": 1000 });
    let (status, report) = server.post("/solve", &limit);
    assert_eq!((status, &report["solved"], &report["ended_by"]), (200, &false.into(), &"nodes".into()), "{report}");
    assert_eq!(report["playback"], Value::Null);
    let (_, puzzles) = server.get("/puzzles");
    let cube = &puzzles[0];
    assert_eq!((&cube["puzzle"], &cube["models"][0]["policy"]), (&"cube3".into(), &true.into()), "{puzzles}");
    let own = json!([{ "model": "cube3", "policy": true }, { "model": "cube3-htm", "policy": true }]);
    assert_eq!(json!([cube["own_model"], puzzles[1]["own_model"]]), own, "{puzzles}");
    let (_, other) = server.get("/puzzles?puzzle=cube8:obtm");
    assert_eq!((&other[0]["puzzle"], other.as_array().map(Vec::len)), (&"cube8:obtm".into(), Some(1)), "{other}");
    let (status, refusal) = server.get("/puzzles?puzzle=cube12");
    assert!(status == 422 && refusal["error"].as_str().is_some_and(|why| why.contains("cube4 to cube11")), "{refusal}");
}

#[test]
fn a_model_of_a_puzzle_from_a_file_brings_its_puzzle() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let (file, run) = (path("toy.json"), path("run"));
    let rules = r#"{"name": "toy", "goal": "ABCDE", "moves": {"L": [1,2,3,4,0], "X": [1,0,2,3,4]}, "symmetric": true}"#;
    std::fs::write(&file, rules).expect("a file");
    let train = Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(["train", "--net", "mlp", "--width", "16", "--blocks", "1", "--batch-size", "64", "--samples", "2000"])
        .args(["--device", "cpu", "--puzzle", &file, "--out", &run])
        .stderr(Stdio::null())
        .status();
    assert!(train.expect("it runs").success());
    let offered = |flags: &[&str]| {
        let server = Server::start(flags);
        let (_, puzzles) = server.get("/puzzles");
        let own = puzzles.as_array().expect("puzzles").iter().filter(|offer| !offer["models"][0].is_null());
        let own: Vec<Value> = own.filter(|offer| offer["models"][0]["model"] == run.as_str()).cloned().collect();
        assert_eq!(own.len(), 1, "{puzzles}");
        let request = json!({ "puzzle": own[0]["puzzle"], "instance": "L X L", "model": run, "search": "bwas" });
        let (status, report) = server.post("/solve", &request);
        assert_eq!((status, &report["solved"], &report["puzzle"]), (200, &true.into(), &"toy".into()), "{report}");
        own[0]["puzzle"].as_str().expect("a name").to_owned()
    };
    assert_eq!(offered(&["--puzzle", &file, "--model", &run]), file, "the file that was given is the one");
    std::fs::remove_file(&file).expect("it was there");
    assert_eq!(offered(&["--model", &run]), "toy", "the file that is kept beside the model has no lasting name");
    // A checkpoint takes the place of the one before.
    let server = Server::start(&["--model", &run]);
    let mut files = std::fs::read_dir(&run).expect("a run").map(|entry| entry.expect("an entry").path());
    let checkpoint = files.find(|path| path.is_dir()).expect("a checkpoint");
    let next = checkpoint.with_file_name("checkpoint-000000009999999");
    std::fs::rename(&checkpoint, &next).expect("it is renamed");
    let (status, scramble) = server.get("/scramble?puzzle=toy&depth=3");
    assert_eq!((status, &scramble["puzzle"]), (200, &"toy".into()), "{scramble}");
    let mut request =
        json!({ "puzzle": "toy", "instance": scramble["instance"], "model": run, "search": "bwas", "n": 10 });
    let (status, report) = server.post("/solve", &request);
    assert_eq!((status, &report["solved"], &report["puzzle"]), (200, &true.into(), &"toy".into()), "{report}");
    request["puzzle"] = next.join("model/puzzle.json").to_str().into();
    let (status, refusal) = server.post("/solve", &request);
    assert_eq!((status, &refusal["field"]), (422, &"puzzle".into()), "{refusal}");
}

#[test]
fn refusals_have_a_reason() {
    let server = Server::start(&["--max-body", "4k", "--max-seconds", "5"]);
    for (path, body, status, field, reason) in [
        ("/solve", json!({ "instance": "R U Q" }), 422, "instance", "'Q'"),
        ("/solve", json!({ "instance": "U".repeat(54) }), 422, "instance", "54 facelets are U"),
        ("/solve", json!({ "instance": "(R)1000 ((U)1000)10" }), 422, "instance", "11000"),
        ("/solve", json!({}), 422, "instance", "missing"),
        ("/solve", json!({ "instance": "R", "lambda": "much" }), 422, "lambda", "\"much\""),
        ("/solve", json!({ "instance": "R", "n": -1 }), 422, "n", "-1"),
        ("/solve", json!({ "instance": "R", "max_seconds": 6 }), 422, "max_seconds", "to 5"),
        ("/solve", json!({ "instance": "R", "depth": 6 }), 422, "depth", "unknown field"),
        ("/solve", json!({ "instance": "R", "puzzle": "cube99" }), 422, "puzzle", "cube9"),
        ("/solve", json!({ "instance": "R", "puzzle": "/etc/passwd.json" }), 422, "puzzle", "not offered"),
        ("/solve", json!({ "instance": "R", "model": "../models/cube3" }), 422, "model", "expected cube3"),
        ("/solve", json!({ "instance": "R", "search": "dfs" }), 422, "search", "'dfs'"),
        ("/solve", json!({ "instance": "R", "search": "bfs", "n": 5 }), 422, "n", "no such setting"),
        ("/solve", json!({ "instance": "R", "heuristic": "guess" }), 422, "heuristic", "'guess'"),
        ("/solve", json!({ "instance": "R", "goal": "R" }), 422, "goal", "own goal"),
        ("/check", json!({ "instance": 7 }), 422, "instance", "7"),
        ("/stop", json!({ "search": "1234" }), 404, "search", "no such search"),
    ] {
        let (given, answer) = server.post(path, &body);
        assert_eq!((given, &answer["field"]), (status, &field.into()), "{body}: {answer}");
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(reason)), "{body}: {answer}");
    }
    for (method, path, headers, body, status, reason) in [
        ("POST", "/solve", JSON, "{\"instance\": ", 400, "line 1"),
        ("POST", "/solve", JSON, "[]", 400, "object"),
        ("POST", "/solve", JSON, "\u{0}\u{fffd}", 400, "not JSON"),
        ("POST", "/solve", "", "{}", 415, "application/json"),
        ("POST", "/solve", "Content-Type: application/json5\r\n", "{}", 415, "application/json"),
        ("POST", "/solve", "Content-Type: Application/JSON; charset=utf-8\r\n", "[]", 400, "object"),
        ("POST", "/solve", JSON, &"x".repeat(100_000), 413, "4096"),
        ("GET", "/solve", "", "", 405, "GET"),
        ("GET", "/elsewhere", "", "", 404, "/elsewhere"),
        ("GET", "/scramble?depth=x", "", "", 422, "'x'"),
        ("GET", "/scramble?depth=99999", "", "", 422, "1000"),
        ("GET", "/scramble?puzzle=puzzle48&depth=1501", "", "", 422, "1500"),
        ("GET", "/scramble?length=3", "", "", 422, "length"),
        ("GET", "/scramble?depth=3&depth=3", "", "", 422, "given twice"),
        ("GET", "/puzzles", "Host: example.org\r\n", "", 403, "example.org"),
        ("GET", "/puzzles", "Origin: http://example.org\r\n", "", 403, "example.org"),
    ] {
        let (given, answer) = server.ask(method, path, headers, body);
        assert_eq!(given, status, "{method} {path}: {answer}");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(reason)), "{method} {path}: {answer}");
    }
    // Bytes that are not HTTP do no harm.
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    stream.write_all(b"\x16\x03\x01 hello\r\n\r\n").expect("it reads");
    assert_eq!(server.get("/status").0, 200);
}

#[test]
fn an_impossible_cube_is_distinguished_from_a_possible_one() {
    let server = Server::start(&[]);
    let facelets = Cube3.format(&Cube3.parse("R U").expect("a scramble"));
    let (status, result) = server.post("/check", &json!({ "instance": facelets }));
    assert_eq!((status, &result["possible"], &result["solved"]), (200, &true.into(), &false.into()), "{result}");
    assert_eq!((&result["state"], &result["playback"]["scramble"]), (&facelets.as_str().into(), &0.into()));
    let mut twisted: Vec<char> = Cube3.format(&CubeState::SOLVED).chars().collect();
    (twisted[8], twisted[9], twisted[20]) = ('R', 'F', 'U');
    let (status, result) = server.post("/check", &json!({ "instance": String::from_iter(twisted) }));
    assert_eq!((status, &result["possible"]), (200, &false.into()), "{result}");
    assert!(result["reason"].as_str().is_some_and(|reason| reason.contains("a corner is twisted")), "{result}");
}

#[test]
fn one_search_a_model_then_the_queue_then_no_more() {
    let server = Server::start(&["--searches", "2", "--queue", "1"]);
    let hard = json!({ "instance": HARD, "n": 100, "lambda": 1 });
    let (mut first, queued) = server.watch(&hard, "queued");
    next_event(&mut first, "progress");
    server.wait_for(1, 0);
    // The model is busy: the second search waits, although the server could run another.
    let (second, _) = server.watch(&hard, "queued");
    server.wait_for(1, 1);
    // A search with another model, or without one, does not wait.
    let other = json!({ "instance": HARD, "heuristic": "perimeter", "search": "astar" });
    let (mut third, _) = server.watch(&other, "started");
    server.wait_for(2, 1);
    let (status, refusal) = server.post("/solve", &hard);
    assert_eq!(status, 503, "{refusal}");
    assert!(refusal["error"].as_str().is_some_and(|error| error.contains("try again")), "{refusal}");
    // A client that goes away while it waits gives up its place.
    drop(second);
    server.wait_for(2, 0);
    // A stopped search returns what it has.
    let (status, _) = server.post("/stop", &json!({ "search": queued["search"] }));
    assert_eq!(status, 200);
    let done = next_event(&mut first, "done");
    assert_eq!((&done["solved"], &done["ended_by"]), (&false.into(), &"stopped".into()), "{done}");
    assert!(done["nodes_generated"].as_u64() > Some(0));
    next_event(&mut third, "progress");
    drop(third);
    server.wait_for(0, 0);
}

#[test]
fn four_models_stay_after_many_requests() {
    let server = Server::start(&["--searches", "1", "--queue", "8"]);
    let (hard, _) = server.watch(&json!({ "instance": HARD, "n": 100, "lambda": 1 }), "progress");
    let waiting: Vec<TcpStream> = (0..8)
        .map(|first| {
            let tiles: Vec<String> = (0..8).map(|i| (1 + (first + i) % 8).to_string()).collect();
            let (rest, last) = (tiles[..7].join(" "), &tiles[7]);
            let (goal, instance) = (format!("{rest} {last} 0"), format!("{rest} 0 {last}"));
            let request = json!({ "puzzle": "puzzle8", "goal": goal, "instance": instance, "search": "bfs" });
            server.send("POST", "/solve", JSON, &request.to_string())
        })
        .collect();
    server.wait_for(1, 8);
    drop(hard);
    for mut answer in waiting {
        let mut text = String::new();
        answer.read_to_string(&mut text).expect("an answer");
        assert!(text.contains("\"solved\":true"), "{text}");
    }
    let models = || {
        let threads = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).expect("threads").flatten();
        let names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
        names.filter(|name| name.starts_with("search ")).count()
    };
    let started = Instant::now();
    while models() != 4 {
        assert!(started.elapsed() < Duration::from_secs(30), "{} models", models());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_request_stopped_before_its_turn_answers_like_one_stopped_later() {
    let mut server = Server::start(&["--searches", "1"]);
    let hard = json!({ "instance": HARD, "n": 100, "lambda": 1 });
    let (mut running, _) = server.watch(&hard, "progress");
    let (mut waiting, queued) = server.watch(&hard, "queued");
    server.wait_for(1, 1);
    assert_eq!(server.post("/stop", &json!({ "search": queued["search"] })).0, 200);
    let early = next_event(&mut waiting, "done");
    assert_eq!((&early["solved"], &early["ended_by"]), (&false.into(), &"stopped".into()), "{early}");
    server.wait_for(1, 0);
    // Without events, too; a signal stops all.
    let mut connection = server.send("POST", "/solve", JSON, &hard.to_string());
    server.wait_for(1, 1);
    server.signal("-INT");
    let late = next_event(&mut running, "done");
    let mut text = String::new();
    connection.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let answer: Value = serde_json::from_str(body).expect("JSON");
    for field in ["puzzle", "instance", "solved", "moves", "search", "model", "ended_by", "max_seconds", "playback"] {
        assert_eq!((&answer[field], &early[field]), (&late[field], &late[field]), "{field}");
    }
    assert!(server.child.wait().expect("it ends").code() == Some(130));
}

#[test]
fn a_closed_connection_ends_its_search() {
    let server = Server::start(&["--searches", "1"]);
    let hard = json!({ "instance": HARD, "n": 100, "lambda": 1 });
    // Also while its perimeter is made.
    let large = json!({ "instance": "R U F", "puzzle": "cube6", "perimeter": 7 });
    for request in [hard, large] {
        for headers in [JSON.to_owned(), format!("{JSON}Accept: text/event-stream\r\n")] {
            let connection = server.send("POST", "/solve", &headers, &request.to_string());
            server.wait_for(1, 0);
            drop(connection);
            server.wait_for(0, 0);
        }
    }
    let (status, report) = server.post("/solve", &json!({ "instance": "R U F" }));
    assert_eq!((status, &report["length"]), (200, &3.into()), "{report}");
}

#[test]
fn better_solutions_arrive_before_the_time_limit() {
    let server = Server::start(&["--max-seconds", "8"]);
    // Too far for a perimeter that is built in seconds, near enough for a solution at once.
    let instance = "R U F' L D B' U R' F L' D' B R";
    let mut request =
        json!({ "instance": instance, "perimeter": 6, "anytime": true, "deferred": true, "max_seconds": 8 });
    request["n"] = 500.into(); // small steps: a solution comes soon on a busy machine too
    let (mut events, answer) = server.watch(&request, "incumbent");
    assert_eq!((&answer["playback"]["solves"], &answer["length"]), (&true.into(), &answer["cost"]), "{answer}");
    let done = next_event(&mut events, "done");
    assert!(done["length"].as_u64() <= answer["length"].as_u64() && done["max_seconds"] == 8.0, "{done}");
    let (_, done) = server.watch(&json!({ "instance": HARD, "n": 100, "lambda": 1, "max_seconds": 0.5 }), "done");
    assert_eq!((&done["solved"], &done["ended_by"]), (&false.into(), &"time".into()), "{done}");
}

#[test]
fn a_request_may_use_the_deepest_perimeter_in_the_cache() {
    let cache = tempfile::tempdir().expect("a folder");
    let ask = |server: &Server, depth: u32| {
        server.post("/solve", &json!({ "instance": "R U F' L D B' U R' F L'", "perimeter": depth, "n": 100 }))
    };
    let server = Server::start_with(cache.path(), &[]);
    let (status, refusal) = ask(&server, 8);
    assert_eq!((status, &refusal["field"]), (422, &"perimeter".into()), "{refusal}");
    assert!(refusal["error"].as_str().is_some_and(|error| error.contains("at most 7")), "{refusal}");
    let made = Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(["perimeter", "cube3", "--depth", "8"])
        .env("COSTAR_CACHE", cache.path())
        .output()
        .expect("it runs");
    assert!(made.status.success(), "{made:?}");
    let (status, report) = ask(&server, 8);
    assert_eq!((status, &report["config"]["perimeter"]), (200, &8.into()), "{report}");
    assert_eq!(ask(&server, 9).0, 422);
}

#[test]
fn a_signal_ends_the_server_and_its_searches() {
    let mut server = Server::start(&[]);
    let (mut events, _) = server.watch(&json!({ "instance": HARD, "n": 100, "lambda": 1 }), "progress");
    server.signal("-INT");
    assert_eq!(next_event(&mut events, "done")["ended_by"], "stopped");
    let started = Instant::now();
    let status = server.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert!(started.elapsed() < Duration::from_secs(5));
}
