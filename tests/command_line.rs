//! The program as its users call it: the contract of the command line.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn costar() -> Command {
    let mut command = Command::cargo_bin("costar").expect("the program was built");
    // What was built once serves all runs of these tests, and is none of the user's.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command.env("OMP_NUM_THREADS", "1").env("COSTAR_CACHE", cache).env_remove("COSTAR_MODELS");
    command
}

fn run_with(words: &[&str], input: &str) -> Ran {
    let output = costar().args(words).write_stdin(input).timeout(Duration::from_secs(300)).output().expect("it runs");
    Ran {
        code: output.status.code().expect("it exits by itself"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

fn run(words: &[&str]) -> Ran {
    run_with(words, "")
}

/// Runs what must be refused, and gives the message.
fn refused(words: &[&str]) -> String {
    let ran = run(words);
    assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
    assert_eq!(ran.out, "", "{words:?}");
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran.err
}

const TINY: [&str; 10] = ["train", "--net", "mlp", "--width", "16", "--blocks", "1", "--batch-size", "64", "--heads"];

fn train(more: &[&str]) -> Ran {
    run(&[&TINY, more].concat())
}

/// A folder with a model that was trained for a moment, made once.
fn model() -> &'static str {
    static FOLDER: OnceLock<String> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("model-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let path = folder.to_str().expect("a plain path").to_owned();
        let ran = train(&["--steps", "1e4", "--device", "cpu", "--out", &path]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        path
    })
}

fn temporary() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_owned();
    (folder, move |name| root.join(name).to_str().expect("a plain path").to_owned())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const FIELDS: [&str; 20] = [
    "puzzle",
    "instance",
    "solved",
    "moves",
    "length",
    "cost",
    "proven_optimal",
    "nodes_generated",
    "nodes_stored",
    "nodes_expanded",
    "nodes_evaluated",
    "iterations",
    "seconds",
    "device",
    "model",
    "search",
    "n",
    "lambda",
    "heuristic",
    "ended_by",
];

#[test]
fn solve_prints_one_object_that_replays() {
    let ran =
        run(&["solve", "--model", model(), "--n", "1e2", "--lambda", "0.6", "--device", "cpu", "--json", "R U F'"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let object = json(&ran.out);
    for field in FIELDS {
        assert!(object.get(field).is_some(), "{field} is missing: {object}");
    }
    assert_eq!((&object["puzzle"], &object["instance"]), (&"cube3".into(), &"R U F'".into()));
    assert_eq!((&object["n"], &object["device"], &object["search"]), (&100.into(), &"cpu".into(), &"bwas".into()));
    let moves: Vec<&str> = object["moves"].as_array().expect("an array").iter().filter_map(Value::as_str).collect();
    assert_eq!(object["length"], moves.len());
    // The scramble and its solution lead to solved.
    let back = run(&["solve", "--heuristic", "zero", "--json", &format!("R U F' {}", moves.join(" "))]);
    assert_eq!(json(&back.out)["length"], 0, "{}", back.out);
}

#[test]
fn solve_shows_the_cube_and_groups_of_five() {
    let ran = run(&["solve", "--model", model(), "--n", "100", "--device", "cpu", "R", "U2"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("L L L") && !ran.out.contains('\x1b'), "a plain net when piped: {}", ran.out);
    assert!(ran.out.contains("3 moves") && ran.out.contains("U"), "{}", ran.out);
    let (_, after) = ran.out.split_once("U' U' R'").or_else(|| ran.out.split_once("U U R'")).expect("the solution");
    assert!(after.contains("L L L  F F F  R R R  B B B"), "the solved net: {}", ran.out);
    assert_eq!(ran.err, "", "no progress when piped");
}

#[test]
fn auto_says_which_device_it_took() {
    let ran = run(&["solve", "--model", model(), "--n", "100", "--json", "R"]);
    let device = json(&ran.out)["device"].as_str().expect("a device").to_owned();
    assert!(ran.err.contains(&format!("running on {device}")), "{}", ran.err);
}

#[test]
fn every_puzzle_is_solved_without_a_model() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/test-data/puzzles/pyraminx.json");
    for (puzzle, instance, search, length) in [
        ("cube2", "L U R'", "bidirectional", 3),
        (file, "U L' R b", "bidirectional", 4),
        ("puzzle8", "8 0 6 5 4 7 2 3 1", "astar", 27),
        ("puzzle15", "9 1 7 4 5 10 8 14 15 6 2 11 13 0 12 3", "idastar", 38),
        ("lightsout3", "100011010", "astar", 2),
        ("jugs:8,5,3", "8,0,0", "bfs", 6),
    ] {
        let ran = run(&["solve", "--puzzle", puzzle, "--json", instance]);
        assert_eq!(ran.code, 0, "{puzzle}: {}", ran.err);
        let object = json(&ran.out);
        assert_eq!((&object["search"], &object["length"]), (&search.into(), &length.into()), "{object}");
        assert_eq!((&object["proven_optimal"], &object["n"]), (&true.into(), &Value::Null));
    }
    let goal = ["solve", "--puzzle", "puzzle8", "--goal", "8 0 6 5 4 7 2 3 1", "--search", "bidirectional", "--json"];
    let object = json(&run(&[&goal[..], &["0 1 2 3 4 5 6 7 8"]].concat()).out);
    assert_eq!(
        (&object["length"], &object["nodes_stored"], &object["nodes_expanded"]),
        (&31.into(), &15841.into(), &9998.into())
    );
}

/// Two levels; the second is larger than a network reads.
const LEVELS: &str = "; 1\n#####\n# . #\n# $ #\n# @ #\n#####\n\n############\n#@ $  .    #\n############\n";

#[test]
fn sokoban_levels_come_from_a_file_from_standard_input_or_as_words() {
    let (_folder, path) = temporary();
    fs::write(path("two.xsb"), LEVELS).expect("a file");
    let results = path("results.jsonl");
    let words = ["bench", &path("two.xsb"), "--puzzle", "sokoban", "--json", "--out", &results];
    let summary = json(&run(&words).out);
    assert_eq!((&summary["solved"], &summary["mean_length"]), (&2.into(), &2.5.into()));
    assert_eq!(json(&run(&words).out)["solved"], 2, "it goes on with the results that are there");
    let broken = format!("{LEVELS}\n#####\n#@x.#\n#####\n\n; a title\n\n#####\n#@$.#\n#####");
    let ran = run_with(&["solve", "--puzzle", "sokoban", "--json", "-"], &broken);
    let objects: Vec<Value> = ran.out.lines().map(json).collect();
    assert_eq!((ran.code, objects.len()), (2, 4), "{}", ran.out);
    assert_eq!(objects[0]["moves"], serde_json::json!(["U"]));
    assert_eq!((&objects[1]["proven_optimal"], &objects[1]["search"]), (&true.into(), &"astar".into()));
    assert!(objects[2]["error"].as_str().expect("an error").contains("'x'"));
    assert_eq!(objects[3]["length"], 1);
    let ran = run(&["solve", "--puzzle", "sokoban:pushes", "--json", "#####|#@$.#|#####"]);
    assert_eq!((ran.code, &json(&ran.out)["cost"]), (0, &1.into()));
    for (search, code) in [("bfs", 0), ("bwas", 0), ("beam", 0), ("idastar", 0), ("best-first", 0)] {
        let words =
            ["solve", "--puzzle", "sokoban:pushes", "--search", search, "--heuristic", "matching", "#####|#@$.#|#####"];
        assert_eq!(run(&words).code, code, "{search}");
    }
    assert!(refused(&["solve", "--puzzle", "sokoban", "--search", "nbs", "#####|#@$.#|#####"]).contains("undone"));
    assert!(refused(&["solve", "--puzzle", "sokoban", "####"]).contains("no player"));
}

#[test]
fn puzzles_without_inverses_are_trained_by_their_own_samples() {
    let (_folder, path) = temporary();
    for (puzzle, instance) in [("jugs:8,5,3", "8,0,0"), ("sokoban", "#####|#@$.#|#####")] {
        let out = path(&puzzle[..4]);
        let ran = train(&["--puzzle", puzzle, "--steps", "2e4", "--device", "cpu", "--out", &out]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let ran = run(&["solve", "--puzzle", puzzle, "--model", &out, "--json", instance]);
        assert_eq!((ran.code, &json(&ran.out)["heuristic"]), (0, &"network".into()), "{}", ran.err);
    }
    let wide = "############|#@$.        #|############";
    assert!(refused(&["solve", "--puzzle", "sokoban", "--model", &path("soko"), wide]).contains("matching"));
    let other = refused(&["solve", "--puzzle", "jugs:8,5,3", "--goal", "5", "--model", &path("jugs"), "8,0,0"]);
    assert!(other.contains("--goal"), "{other}");
    let none = refused(&["train", "--puzzle", "jugs:7,5,3", "--out", &path("none")]);
    assert!(none.contains("no state"), "{none}");
}

#[test]
fn tables_that_cannot_be_kept_are_built_all_the_same() {
    let board = ["solve", "--puzzle", "puzzle15", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 0 15"];
    let output = costar().args(board).env("COSTAR_CACHE", "/dev/null/below").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("not kept") && said.contains("/dev/null/below"), "{said}");
    let output = costar().args(board).args(["--search", "bfs"]).env("COSTAR_CACHE", "/dev/null/below").output();
    assert_eq!(output.expect("it runs").stderr, b"", "a search that asks no heuristic builds no table");
}

#[test]
fn what_a_puzzle_or_search_cannot_do_is_refused_with_the_reason() {
    for (words, named) in [
        (vec!["--puzzle", "jugs:8,5,3", "--search", "bidirectional", "8,0,0"], "cannot be undone"),
        (vec!["--puzzle", "jugs:8,5,3", "--heuristic", "ball", "8,0,0"], "'ball'"),
        (vec!["--puzzle", "puzzle8", "--search", "bfs", "--n", "7", "1 2 3 4 5 6 7 8 0"], "--n"),
        (vec!["--puzzle", "puzzle8", "--search", "astar", "--lambda", "0.5", "1 2 3 4 5 6 7 8 0"], "--lambda"),
        (vec!["--puzzle", "puzzle8", "1 2 3 4 5 6 8 7 0"], "parity"),
        (vec!["--puzzle", "puzzle8", "--goal", "1 2", "1 2 3 4 5 6 7 8 0"], "--goal"),
        (vec!["--puzzle", "lightsout99", "1"], "lightsout15"),
        (vec!["--puzzle", "/nonexistent.json", "1"], "/nonexistent.json"),
    ] {
        let message = refused(&[&["solve"], &words[..]].concat());
        assert!(message.contains(named), "{words:?}: {message}");
    }
    let (_folder, path) = temporary();
    let one_way = r#"{ "name": "ring", "goal": "ABCD", "moves": { "L": [1, 2, 3, 0] } }"#;
    fs::write(path("ring.json"), one_way).expect("a file");
    let message = refused(&["train", "--puzzle", &path("ring.json"), "--net", "mlp"]);
    assert!(message.contains("cannot be undone"), "{message}");
}

#[test]
fn a_puzzle_of_ones_own_is_trained_and_solved() {
    let (_folder, path) = temporary();
    let (out, file) = (path("run"), path("toy.json"));
    fs::write(
        &file,
        r#"{"name": "toy", "goal": "ABCDE", "moves": {"L": [1,2,3,4,0], "X": [1,0,2,3,4]}, "symmetric": true}"#,
    )
    .expect("it can be written");
    let words = ["--puzzle", &file, "--steps", "20000", "--device", "cpu", "--out", &out];
    let ran = train(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = run(&["solve", "--puzzle", &file, "--model", &out, "--device", "cpu", "--json", "L X L L X"]);
    let object = json(&ran.out);
    assert_eq!((ran.code, &object["solved"], &object["puzzle"]), (0, &true.into(), &"toy".into()), "{}", ran.err);
    let refusal = refused(&["solve", "--model", &out, "U"]);
    assert!(refusal.contains("toy") && refusal.contains("cube3"), "{refusal}");
    fs::write(&file, "{\n\"name\": 7}").expect("it can be written");
    assert!(refused(&["solve", "--puzzle", &file, "L"]).contains("line 2"));
}

#[test]
fn a_solved_cube_needs_no_move() {
    for instance in ["", "R R'", "(R U R' U')6", &"URFDLB".chars().flat_map(|face| [face; 9]).collect::<String>()] {
        let ran = run(&["solve", "--heuristic", "ball", "--json", instance]);
        let object = json(&ran.out);
        assert_eq!(
            (ran.code, &object["length"], &object["proven_optimal"]),
            (0, &0.into(), &true.into()),
            "{instance}"
        );
        assert_eq!((&object["device"], &object["model"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let missing = "/nonexistent/model";
    for (words, named) in [
        (vec!["solve", "U X2"], "'X2'"),
        (vec!["solve", &"U".repeat(54)], "54 facelets are U"),
        (vec!["solve", "--puzzle", "cube4", "U"], "'cube4'"),
        (vec!["solve", "--search", "magic", "U"], "'magic'"),
        (vec!["solve", "--heuristic", "magic", "U"], "'magic'"),
        (vec!["solve", "--model", missing, "U"], missing),
        (vec!["solve", "--n", "0", "U"], "at least 1"),
        (vec!["solve", "--n", "-5", "U"], "-5"),
        (vec!["solve", "--lambda", "nan", "U"], "'nan'"),
        (vec!["solve", "--max-memory", "lots", "U"], "'lots'"),
        (vec!["solve", "--max-seconds", "0", "U"], "'0'"),
        (vec!["solve", "--device", "gpu", "U"], "'gpu'"),
        (vec!["solve", "--device", "cuda:77", "--model", model(), "U"], "--device cuda"),
        (vec!["solve", "--goal", "U", "U"], "--goal"),
        (vec!["solve", "--heuristic", "ball", "--device", "cuda:77", "U"], "--device cuda"),
        (vec!["solve", "--heuristic", "ball", "--model", model(), "U"], "--model"),
        (vec!["train", "--width", "65536", "--blocks", "1000", "--net", "mlp"], "memory"),
        (vec!["train", "--max-depth", "1e6"], "10000"),
        (vec!["train", "--batch-size", "1"], "--batch-size"),
        (vec!["solve"], "INSTANCE"),
        (vec!["bench", "/nonexistent.tsv"], "/nonexistent.tsv"),
        (vec!["train", "--net", "magic"], "magic"),
        (vec!["train", "--steps", "0"], "at least 1"),
        (vec!["train", "--lr", "-1"], "-1"),
        (vec!["train", "--device", "cuda:77"], "--device cuda"),
        (vec!["train", "--checkpoint-every", "soon"], "'soon'"),
        (vec!["scramble", "--puzzle", "x"], "'x'"),
        (vec!["dance"], "dance"),
    ] {
        let message = refused(&words);
        assert!(message.contains(named), "{words:?}: {message}");
    }
}

#[test]
fn limits_end_with_code_1_and_say_what_was_reached() {
    let hard = "U U F U U R' L F F U F' B' R L U U R U D' R L' D R' L' D D";
    for (flag, value, ended_by) in
        [("--max-nodes", "5000", "nodes"), ("--max-seconds", "0.3", "time"), ("--max-memory", "1M", "memory")]
    {
        let words = ["solve", "--heuristic", "ball", flag, value, hard];
        let ran = run(&words);
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains("not solved") && ran.err.contains(flag), "{}", ran.err);
        let ran = run(&[&words[..], &["--json"]].concat());
        let object = json(&ran.out);
        assert_eq!((ran.code, &object["solved"], &object["ended_by"]), (1, &false.into(), &ended_by.into()));
        assert_eq!(object["moves"], Value::Null);
    }
}

#[test]
fn standard_input_goes_on_after_a_bad_line() {
    let words = ["solve", "--heuristic", "ball", "-"];
    let ran = run_with(&words, "R U\n\nR Q\nF'\n");
    assert_eq!(ran.code, 2);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[2]), (3, "U' R'", "F"));
    assert!(lines[1].contains("'Q'"), "{}", lines[1]);
    let ran = run_with(&[&words[..], &["--json"]].concat(), "R U\nR Q\nF'");
    let objects: Vec<Value> = ran.out.lines().map(json).collect();
    assert_eq!((ran.code, objects.len()), (2, 3));
    assert!(objects[1]["error"].as_str().expect("an error").contains("'Q'"));
    assert_eq!((&objects[2]["solved"], &objects[1]["instance"]), (&true.into(), &"R Q".into()));
    let ran = run_with(&[&words[..], &["--max-nodes", "20"]].concat(), "R\nR U F L D B\nU\n");
    assert_eq!((ran.code, ran.out.lines().count()), (1, 3), "unsolved: 1");
    assert_eq!(run_with(&words, "").code, 0);
}

#[test]
fn bench_sums_up_and_goes_on_where_it_stopped() {
    let (_folder, path) = temporary();
    let (file, out) = (path("cubes.tsv"), path("results.jsonl"));
    fs::write(&file, "# scramble\toptimal\nR U\t2\nR\t1\n\nF2 # by hand\nR U F\t3\n").expect("it can be written");
    let words = ["bench", &file, "--heuristic", "ball", "--n", "10", "--out", &out];
    let ran = run(&[&words[..], &["--limit", "2"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("2 moves (optimal 2)") && ran.out.contains("2 instances, 2 solved"), "{}", ran.out);
    let first = fs::read_to_string(&out).expect("results");
    assert_eq!(first.lines().count(), 2);
    // A kill in the middle of a line.
    fs::write(&out, format!("{first}{{\"puzzle\": \"cu")).expect("it can be written");
    let ran = run(&[&words[..], &["--json"]].concat());
    let summary = json(&ran.out);
    for (field, value) in [
        ("instances", Value::from(4)),
        ("solved", Value::from(4)),
        ("optimal", Value::from(3)),
        ("mean_length", Value::from(2.0)),
        ("mean_optimal", Value::from(2.0)),
    ] {
        assert_eq!(summary[field], value, "{field}: {summary}");
    }
    for field in [
        "mean_seconds",
        "median_seconds",
        "p95_seconds",
        "max_seconds",
        "nodes_generated_per_second",
        "nodes_evaluated_per_second",
        "peak_memory_bytes",
    ] {
        assert!(summary[field].is_number(), "{field}: {summary}");
    }
    let all = fs::read_to_string(&out).expect("results");
    assert!(all.starts_with(&first) && all.lines().count() == 4, "what was known was not searched again");
    // Several at a time find the same, and go on from results in any order.
    let moves = |text: &str| -> Vec<(String, Value)> {
        let lines = text.lines().map(json).map(|line| (line["instance"].to_string(), line["moves"].clone()));
        let mut lines: Vec<_> = lines.collect();
        lines.sort_by_key(|(instance, _)| instance.clone());
        lines
    };
    let beside = path("parallel.jsonl");
    fs::write(&beside, format!("{}\n", all.lines().nth(2).expect("a result"))).expect("it can be written");
    let words = ["bench", &file, "--heuristic", "ball", "--n", "10", "--out", &beside, "--parallel", "3", "--json"];
    let together = json(&run(&words).out);
    assert_eq!(together["mean_length"], summary["mean_length"]);
    assert_eq!(moves(&fs::read_to_string(&beside).expect("results")), moves(&all));
    let words = ["bench", &file, "--heuristic", "ball", "--n", "10", "--out", &out];
    // Other settings and other instances are refused, and the file is kept.
    for other in [vec!["--lambda", "0.7"], vec!["--n", "11"], vec!["--max-nodes", "9999"], vec!["--skip", "1"]] {
        let mut words = words.to_vec();
        words.extend(&other);
        if other[0] == "--n" {
            words.retain(|word| *word != "10");
            words.remove(words.iter().position(|word| *word == "--n").expect("it is there"));
        }
        let message = refused(&words);
        assert!(message.contains("results.jsonl"), "{other:?}: {message}");
    }
    assert_eq!(fs::read_to_string(&out).expect("results"), all);
    let skipped = json(&run(&["bench", &file, "--heuristic", "ball", "--skip", "3", "--json"]).out);
    assert_eq!((&skipped["instances"], &skipped["mean_length"]), (&1.into(), &3.0.into()));
}

#[test]
fn two_files_of_results_are_compared() {
    let (_folder, path) = temporary();
    fs::write(path("boards.tsv"), "1 2 3 4 5 6 7 0 8\t1\n8 6 7 2 5 4 3 0 1\t31\n1 2 3 4 5 0 7 8 6\t1\n")
        .expect("a file");
    let bench = |out: &str, more: &[&str]| {
        run(&[&["bench", &path("boards.tsv"), "--puzzle", "puzzle8", "--out", &path(out)], more].concat())
    };
    assert_eq!(bench("a.jsonl", &["--search", "bfs", "--max-nodes", "1000"]).code, 0);
    let ran = bench("b.jsonl", &["--search", "astar", "--against", &path("a.jsonl"), "--json"]);
    let against = json(&ran.out)["against"].clone();
    assert_eq!((&against["instances"], &against["solved"]), (&3.into(), &serde_json::json!([3, 2])));
    assert_eq!(
        (&against["optimal"], &against["cheaper_same_dearer"]),
        (&serde_json::json!([3, 2]), &serde_json::json!([0, 2, 0]))
    );
    assert!(against["generated_ratio"].as_f64().expect("a number") > 0.0);
    let ran = bench("b.jsonl", &["--search", "astar", "--against", &path("a.jsonl")]);
    assert!(ran.out.contains("solved   3 here, 2 there") && ran.out.contains("the same on 2"), "{}", ran.out);
    let words = ["bench", &path("boards.tsv"), "--puzzle", "puzzle8", "--against", &path("none.jsonl")];
    assert!(refused(&words).contains("none.jsonl"));
}

#[test]
fn anytime_prints_each_better_answer() {
    let words =
        ["solve", "--puzzle", "puzzle8", "--heuristic", "manhattan", "--n", "20", "--lambda", "0.2", "--anytime"];
    let board = "8 6 7 2 5 4 3 0 1";
    let ran = run(&[&words[..], &[board]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lengths: Vec<u32> =
        ran.out.lines().filter_map(|line| line.split_once(" moves after ")?.0.parse().ok()).collect();
    assert!(lengths.len() > 1 && lengths.is_sorted_by(|a, b| a > b), "{}", ran.out);
    // To the end: nothing shorter exists.
    assert_eq!(lengths.last(), Some(&31));
    let ran = run(&[&words[..], &["--json", board]].concat());
    assert_eq!(
        (&json(&ran.out)["length"], &json(&ran.out)["proven_optimal"]),
        (&31.into(), &true.into()),
        "one object"
    );
    let limited = run(&[&words[..], &["--max-nodes", "400000", "--json", board]].concat());
    let limited = json(&limited.out);
    assert_eq!((&limited["solved"], &limited["proven_optimal"]), (&true.into(), &false.into()), "{limited}");
}

#[test]
fn a_bad_line_of_a_bench_file_is_named() {
    let (_folder, path) = temporary();
    let file = path("cubes.tsv");
    for (text, named) in [("R\nR Q\n", "line 2"), ("R\tten\n", "'ten'"), ("# nothing\n", "no instance")] {
        fs::write(&file, text).expect("it can be written");
        let message = refused(&["bench", &file, "--heuristic", "ball"]);
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn training_says_what_it_will_do_and_keeps_its_folder() {
    let (_folder, path) = temporary();
    let out = path("run");
    let ran = train(&["--steps", "2000", "--device", "cpu", "--resume", "--out", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for said in ["nothing to resume", "parameters", "on cpu", "samples at about", "/s: about", "scramble depth", "done"]
    {
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
    }
    let message = refused(&[&TINY[..], &["--steps", "2000", "--out", &out]].concat());
    assert!(message.contains("--resume"), "{message}");
    // A finished run says so; a flag that differs is refused by name; more steps go on.
    let ran = train(&["--steps", "2000", "--resume", "--out", &out]);
    assert!(ran.code == 0 && ran.err.contains("nothing is left"), "{}", ran.err);
    let ran = run(&["train", "--resume", "--out", &out]);
    assert!(ran.code == 0 && ran.err.contains("nothing is left"), "--steps is the run's own: {}", ran.err);
    let plain = ["train", "--resume", "--out", &out, "--steps", "3000"];
    for (flag, value) in [
        ("--width", "32"),
        ("--blocks", "2"),
        ("--net", "resnet"),
        ("--lr", "0.5"),
        ("--batch-size", "128"),
        ("--max-depth", "7"),
        ("--seed", "2"),
        ("--init", model()),
    ] {
        let message = refused(&[&plain[..], &[flag, value]].concat());
        assert!(message.contains(flag), "{flag}: {message}");
    }
    let ran = run(&[&plain[..], &["--device", "cpu"]].concat());
    assert!(ran.code == 0 && ran.err.contains("resuming after 2,048 samples"), "{}", ran.err);
    let lines = fs::read_to_string(Path::new(&out).join("metrics.jsonl")).expect("metrics");
    assert!(lines.lines().map(json).all(|line| line["loss"].is_number() && line["samples"].is_number()), "{lines}");
    assert_eq!(run(&["solve", "--model", &out, "R"]).code, 0, "a run's folder is a model");
}

#[test]
fn a_run_begins_with_another_models_weights() {
    let (_folder, path) = temporary();
    let out = path("run");
    let words = ["train", "--init", model(), "--steps", "640", "--batch-size", "64", "--device", "cpu", "--out", &out];
    let message = refused(&[&words[..], &["--width", "32"]].concat());
    assert!(message.contains("--width") && message.contains("--init"), "{message}");
    let ran = run(&words);
    assert!(ran.code == 0 && ran.err.contains("16 × 1 with two heads"), "{}", ran.err);
}

fn start_training(out: &str) -> Child {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(TINY)
        .args(["--steps", "1e9", "--checkpoint-every", "6400", "--device", "cpu", "--out", out])
        .env("OMP_NUM_THREADS", "1")
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stderr.take().expect("it was piped")).lines();
    let saved = lines.map_while(Result::ok).filter(|line| line.contains("saved in")).nth(1);
    assert!(saved.is_some(), "it saves now and then");
    child
}

fn checkpoints(out: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(out).expect("the run's folder").flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains("checkpoint-") && path.is_dir()).collect()
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
        let ran = run(&["train", "--resume", "--out", &out, "--steps", "64"]);
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
        let ran = run(&["train", "--resume", "--out", &out, "--steps", &more, "--device", "cpu"]);
        assert!(ran.code == 0 && ran.err.contains("resuming after"), "{}", ran.err);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_solve_says_what_is_known() {
    let begun = Instant::now();
    let hard = "U U F U U R' L F F U F' B' R L U U R U D' R L' D R' L' D D";
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(["solve", "--heuristic", "zero", "--json", "--max-memory", "2G", hard])
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
    while cfg!(target_os = "linux") && !catches() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    let output = child.wait_with_output().expect("it ends");
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(output.status.code(), Some(130));
    let object = json(&String::from_utf8(output.stdout).expect("text"));
    assert_eq!((&object["solved"], &object["ended_by"]), (&false.into(), &"stopped".into()));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_wait_for_input() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_costar"))
        .args(["solve", "--heuristic", "ball", "-"])
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

#[test]
fn scrambles_come_from_their_seed() {
    let words = ["scramble", "--depth", "20", "--count", "3", "--seed", "7"];
    let ran = run(&words);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 3));
    assert!(ran.out.lines().all(|line| line.split(' ').count() == 20));
    assert_eq!(run(&words).out, ran.out);
    assert_ne!(run(&["scramble"]).out, run(&["scramble"]).out);
    assert_eq!(run(&["scramble", "--depth", "0"]).out, "\n");
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

#[test]
fn puzzles_are_listed_with_their_models() {
    let (_folder, path) = temporary();
    let shelf = path("shelf");
    let newest = checkpoints(model()).into_iter().max().expect("a checkpoint");
    fs::create_dir_all(&shelf).expect("a folder");
    std::os::unix::fs::symlink(newest.join("model"), Path::new(&shelf).join("tiny")).expect("a link");
    let output = costar().arg("puzzles").env("COSTAR_MODELS", &shelf).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    for word in ["cube3", "notation", "searches: bwas", "tiny", "jugs:8,5,3", "manhattan"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let output = costar().args(["solve", "--model", "tiny", "R", "--json"]).env("COSTAR_MODELS", &shelf).output();
    assert_eq!(json(&String::from_utf8(output.expect("it runs").stdout).expect("text"))["model"], "tiny");
}

#[test]
fn a_page_is_written_where_it_is_asked_for() {
    let (folder, path) = temporary();
    let page = path("cube.html");
    let ran = run(&["view", "R U", "U' R'", "--out", &page]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains(&page), "{}", ran.err);
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.starts_with("<!doctype html>") && text.contains(r#""moves":["R","U","U'","R'"]"#));
    let output = costar().args(["view", "R", "R'"]).current_dir(folder.path()).output().expect("it runs");
    assert!(output.status.success() && folder.path().join("costar-view.html").is_file());
    // Wrong, and still a page.
    let ran = run(&["view", "R U", "R'", "--out", &page]);
    assert!(ran.code == 1 && ran.err.contains("wrong") && ran.err.contains(&page), "{}", ran.err);
    let solved = run(&["solve", "--heuristic", "ball", "R U", "--view", &page]);
    assert!(solved.code == 0 && solved.out.contains("U' R'") && solved.err.contains(&page), "{}", solved.err);
    assert!(fs::read_to_string(&page).expect("a page").contains(r#""solves":true"#));
    let before = fs::read_to_string(&page).expect("a page");
    let missing = path("missing/page.html");
    for (words, named) in [
        (vec!["view", "R Q", "R", "--out", &page], "'Q'"),
        (vec!["view", "R", "R Q2", "--out", &page], "'Q2'"),
        (vec!["view", "R"], "SOLUTION"),
        (vec!["view", "--puzzle", "cube9", "R", "R"], "'cube9'"),
        (vec!["view", "--puzzle", "puzzle8", "1 2 3 4 5 6 8 7 0", "U"], "parity"),
        (vec!["view", "--puzzle", "cube2", "R", "L"], "'L'"),
        (vec!["view", "(R)1000 ((R)1000)10", "R"], "11001 moves"),
        (vec!["view", "R", "R'", "--out", &missing], "missing"),
        (vec!["solve", "--view", &missing, "R"], "missing"),
        (vec!["solve", "--view", &page, "-"], "--view"),
        (vec!["solve", "--view", &page, "(R)1000 ((R)1000)10"], "11000 moves"),
    ] {
        let message = refused(&words);
        assert!(message.contains(named), "{words:?}: {message}");
    }
    assert_eq!(fs::read_to_string(&page).expect("a page"), before, "what is refused writes nothing");
}

#[test]
fn an_explanation_shows_what_the_search_thinks_of_each_state() {
    let ran = run(&["solve", "--puzzle", "puzzle8", "--explain", "1 2 3 4 0 6 7 5 8"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said: Vec<&str> = ran.out.lines().filter(|line| line.contains(": g ")).collect();
    let expected =
        ["the instance: g 0, h 2.00, f 2.00", "move 1, D: g 1, h 1.00, f 2.00", "move 2, R: g 2, h 0.00, f 2.00"];
    assert_eq!(said, expected);
    assert!(ran.out.contains("h is what linear-conflict estimates; g is the path cost; f = 1·g + h"), "{}", ran.out);
    let ran = run(&["solve", "--heuristic", "ball", "--n", "10", "--explain", "R U"]);
    assert!(ran.out.contains("f = 0.6·g + h") && ran.out.contains("move 2, R': g 2, h 0.00, f 1.20"), "{}", ran.out);
    let ran = run(&["solve", "--puzzle", "cube2", "--explain", "R"]);
    assert!(ran.out.contains("which the search did not ask"), "{}", ran.out);
    for words in [["solve", "--explain", "-"], ["solve", "--explain", "--json"]] {
        assert!(refused(&words).contains("--explain"), "{words:?}");
    }
}
