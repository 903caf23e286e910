//! `costar solve`.

use crate::program::{costar, json, model, refused, run, run_with, temporary, train};
use serde_json::Value;
use std::fs;

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
    assert!(ran.out.contains("3 quarter turns, 2 turns"), "{}", ran.out);
    let (_, after) = ran.out.split_once("U2 R'").expect("the solution");
    assert!(after.contains("L L L  F F F  R R R  B B B"), "the solved net: {}", ran.out);
    assert_eq!(ran.err, "", "no progress when piped");
}

#[test]
fn auto_says_which_device_it_took_and_why_when_it_is_asked() {
    let words = ["solve", "--model", model(), "--n", "100", "--json", "R"];
    let ran = run(&words);
    let device = json(&ran.out)["device"].as_str().expect("a device").to_owned();
    assert_eq!(ran.err, format!("costar: running on {device}\n"));
    let ran = run(&[&words[..], &["-v"]].concat());
    assert!(device != "cpu" || ran.err.contains("--device auto takes the CPU: "), "{}", ran.err);
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
fn tables_that_cannot_be_kept_are_built_all_the_same() {
    let board = ["solve", "--puzzle", "puzzle15", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 0 15"];
    let output = costar().args(board).env("COSTAR_CACHE", "/dev/null/below").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("not kept") && said.contains("/dev/null/below"), "{said}");
    let output = costar().args(board).args(["--search", "bfs"]).env("COSTAR_CACHE", "/dev/null/below").output();
    assert_eq!(output.expect("it runs").stderr, b"", "a search that asks no heuristic builds no table");
}

#[test]
fn searches_on_the_device_solve_as_those_on_the_host() {
    let solve = |search: &[&str], engine| {
        let words = ["--n", "100", "--symmetries", "1", "--perimeter", "0", "--engine", engine, "--json"];
        let ran = run(&[&["solve", "--device", "cpu", "--search"], search, &words, &["R U2 F' L D B2 R' U"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        json(&ran.out)
    };
    for search in [&["beam"][..], &["bwas", "--lambda", "0.6"]] {
        let [host, device] = ["host", "device"].map(|engine| solve(search, engine));
        assert_eq!((&host["config"]["engine"], &device["config"]["engine"]), (&"host".into(), &"device".into()));
        assert_eq!((&host["length"], &device["length"]), (&10.into(), &10.into()), "{search:?}");
        assert!(device["nodes_evaluated"].as_u64() > Some(1000), "{device}");
    }
    let refused = refused(&["solve", "--search", "bwas", "--deferred", "--engine", "device", "R"]);
    assert!(refused.contains("--engine") && refused.contains("host"), "{refused}");
}

#[test]
fn a_solved_cube_needs_no_move() {
    for instance in ["", "R R'", "(R U R' U')6", &"URFDLB".chars().flat_map(|face| [face; 9]).collect::<String>()] {
        let ran = run(&["solve", "--heuristic", "perimeter", "--json", instance]);
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
fn limits_end_with_code_1_and_say_what_was_reached() {
    let hard = "U U F U U R' L F F U F' B' R L U U R U D' R L' D R' L' D D";
    for (flag, value, ended_by) in
        [("--max-nodes", "5000", "nodes"), ("--max-seconds", "0.3", "time"), ("--max-memory", "1M", "memory")]
    {
        let words = ["solve", "--heuristic", "perimeter", flag, value, hard];
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
    let words = ["solve", "--heuristic", "perimeter", "-"];
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
    let nothing = run_with(&words, "");
    assert!(nothing.code == 2 && nothing.err.contains("standard input holds no instance"), "{}", nothing.err);
    let ran = run_with(&words, "# two cubes\nScramble #1: R U // first\n1. M2 (U)^3\n");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!((ran.code, lines.len(), lines[0]), (0, 2, "U' R'"), "{}", ran.err);
    assert!(lines[1].starts_with("U ") && lines[1].split_whitespace().count() == 3, "{}", ran.out);
}

#[test]
fn no_solution_is_longer_than_the_inverse_scramble() {
    let (_folder, path) = temporary();
    let (puzzle, file) = (path("swaps.json"), path("swaps.txt"));
    let rules = r#"{"name": "swaps", "goal": "ABCDE",
        "moves": {"a": [1,0,2,3,4], "b": [0,2,1,3,4], "c": [0,1,3,2,4], "d": [0,1,2,4,3]}}"#;
    fs::write(&puzzle, rules).expect("a file");
    fs::write(&file, "a b d d c\n").expect("a file");
    let mut longest = 0;
    for seed in ["1", "2", "3", "4", "5"] {
        let words = ["--puzzle", &puzzle, "--search", "random", "--seed", seed, "--json"];
        let solved = run(&[&["solve"], &words[..], &["a b d d c"]].concat());
        let object = json(&solved.out);
        let length = object["length"].as_u64().expect("solved");
        assert!(length <= 3 && object["moves"].as_array().expect("moves").len() as u64 == length, "{object}");
        let out = path(&format!("{seed}.jsonl"));
        let measured = run(&[&["bench", &file, "--out", &out], &words[..]].concat());
        assert_eq!(measured.code, 0, "{}", measured.err);
        let row = json(fs::read_to_string(&out).expect("rows").trim());
        longest = longest.max(row["length"].as_u64().expect("solved"));
    }
    assert!(longest > 3, "a measurement makes no use of the scramble: {longest}");
}

#[test]
fn scrambles_of_every_puzzle_are_instances() {
    let skewb = concat!(env!("CARGO_MANIFEST_DIR"), "/test-data/puzzles/skewb.json");
    for puzzle in ["cube3", "cube2", "puzzle8", "puzzle15", "puzzle24", "lightsout2", "lightsout7", skewb] {
        let scramble = |form: &str| {
            let words = ["scramble", "--puzzle", puzzle, "--depth", "3", "--count", "4", "--seed", "5", "--as", form];
            let ran = run(&words);
            assert_eq!((ran.code, ran.out.lines().count()), (0, 4), "{puzzle}: {}", ran.err);
            ran.out
        };
        let lengths = |instances: &str| -> Vec<Value> {
            let ran = run_with(&["solve", "--puzzle", puzzle, "--search", "bidirectional", "--json", "-"], instances);
            assert_eq!(ran.code, 0, "{puzzle}: {}{}", ran.out, ran.err);
            ran.out.lines().map(|line| json(line)["length"].clone()).collect()
        };
        assert_eq!(lengths(&scramble("moves")), lengths(&scramble("state")), "{puzzle}");
    }
    let edge = refused(&["solve", "--puzzle", "puzzle8", "U D D"]);
    assert!(edge.contains("move 3, 'D', is not legal there: expected one of U L"), "{edge}");
    assert_eq!(run(&["solve", "--puzzle", "puzzle8", "u l l"]).code, 0);
}

#[test]
fn a_random_walk_says_what_has_ended_it() {
    let words = ["solve", "--search", "random", "R U F L D B R U F"];
    assert!(run(&words).err.contains("made all its 10,000 moves"));
    let ran = run(&[&words[..], &["--json"]].concat());
    assert_eq!(json(&ran.out)["ended_by"], "moves");
    assert!(run(&[&words[..], &["--max-nodes", "500"]].concat()).err.contains("--max-nodes"));
}

#[test]
fn iterative_deepening_with_a_network_keeps_its_time() {
    let words =
        ["solve", "--model", model(), "--search", "idastar", "--device", "cpu", "--max-seconds", "0.5", "--json"];
    let scramble = run(&["scramble", "--depth", "60", "--seed", "4"]).out;
    let ran = run(&[&words[..], &[scramble.trim()]].concat());
    let object = json(&ran.out);
    assert_eq!((ran.code, &object["ended_by"]), (1, &"time".into()), "{object}");
}

#[test]
fn a_network_that_is_named_is_asked_where_the_perimeter_holds_the_whole_puzzle() {
    let (_folder, path) = temporary();
    let (file, out) = (path("small.json"), path("run"));
    let rules = r#"{"name": "small", "goal": "ABCDE", "moves": {"a": [1,0,2,3,4], "b": [0,2,1,3,4], "c": [0,1,3,2,4], "d": [0,1,2,4,3]}}"#;
    fs::write(&file, rules).expect("a file");
    let ran = train(&["--puzzle", &file, "--samples", "5000", "--max-depth", "8", "--device", "cpu", "--out", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = run(&["solve", "--model", &out, "--json", "a b c d a b"]);
    let object = json(&ran.out);
    assert!(object["nodes_evaluated"].as_u64() > Some(0), "{object}");
    assert!(ran.err.contains("whole puzzle") && ran.err.contains("--perimeter"), "{}", ran.err);
    let ran = run(&["solve", "--model", &out, "--perimeter", "10", "--json", "a b c d a b"]);
    assert_eq!(json(&ran.out)["nodes_evaluated"], 0, "{}", ran.err);
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
    // With λ = 1 and an admissible heuristic, the least f tells when nothing shorter exists.
    let ran = run(&[&words[..7], &["--lambda", "1", "--anytime", "--json", "1 2 3 4 0 6 7 5 8"]].concat());
    let near = json(&ran.out);
    assert!(near["proven_optimal"] == true && near["nodes_generated"].as_u64() < Some(1000), "{near}");
    let limited = run(&[&words[..], &["--max-nodes", "400000", "--json", board]].concat());
    let limited = json(&limited.out);
    assert_eq!((&limited["solved"], &limited["proven_optimal"]), (&true.into(), &false.into()), "{limited}");
}

#[test]
fn an_explanation_shows_what_the_search_thinks_of_each_state() {
    let ran = run(&["solve", "--puzzle", "puzzle8", "--explain", "1 2 3 4 0 6 7 5 8"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said: Vec<&str> = ran.out.lines().filter(|line| line.contains(": g ")).collect();
    let expected =
        ["the instance: g 0, h 2.00, f 2.00", "move 1, D: g 1, h 1.00, f 2.00", "move 2, R: g 2, h 0.00, f 2.00"];
    assert_eq!(said, expected);
    assert!(
        ran.out.contains("h is the estimate of the heuristic linear-conflict; g is the path cost; f = 1·g + h"),
        "{}",
        ran.out
    );
    let ran = run(&["solve", "--heuristic", "perimeter", "--n", "10", "--explain", "R U"]);
    assert!(ran.out.contains("f = 0.6·g + h") && ran.out.contains("move 2, R': g 2, h 0.00, f 1.20"), "{}", ran.out);
    let ran = run(&["solve", "--puzzle", "cube2", "--explain", "R"]);
    assert!(ran.out.contains("which the search did not ask"), "{}", ran.out);
    assert!(refused(&["solve", "--explain", "-"]).contains("--explain"));
    let ran = run(&["solve", "--puzzle", "puzzle8", "--explain", "--json", "1 2 3 4 0 6 7 5 8"]);
    let (object, steps) = (json(&ran.out), json(&ran.out)["steps"].clone());
    assert_eq!((&object["length"], steps.as_array().map(Vec::len)), (&2.into(), Some(3)), "{object}");
    let second = serde_json::json!({ "state": "1 2 3 4 5 6 7 0 8", "g": 1, "h": 1.0, "f": 2.0 });
    assert_eq!(steps[1], second);
    // If there is no solution, the instance alone.
    let ran = run(&["solve", "--puzzle", "puzzle8", "--explain", "--json", "--max-nodes", "1", "8 6 7 2 5 4 3 0 1"]);
    let object = json(&ran.out);
    assert_eq!((ran.code, &object["length"]), (1, &Value::Null), "{object}");
    let steps = object["steps"].as_array().expect("the instance");
    assert_eq!((steps.len(), &steps[0]["state"], &steps[0]["g"]), (1, &"8 6 7 2 5 4 3 0 1".into(), &0.into()));
}

#[test]
fn a_model_has_defaults_of_its_search() {
    let (folder, path) = temporary();
    let checkpoint = fs::read_dir(model()).expect("a run").flatten().find(|entry| entry.path().join("model").is_dir());
    let trained = checkpoint.expect("a checkpoint").path().join("model");
    for file in ["config.json", "model.safetensors"] {
        fs::copy(trained.join(file), folder.path().join(file)).expect("a copy");
    }
    let config = path("config.json");
    let plain = json(&fs::read_to_string(&config).expect("a configuration"));
    assert!(plain.get("search").is_none(), "a run says nothing: {plain}");
    let with = |search: Value| {
        let mut changed = plain.clone();
        changed["search"] = search;
        fs::write(&config, changed.to_string()).expect("it is written");
    };
    let solve = |more: &[&str]| {
        let words = ["solve", "--model", &path(""), "--device", "cpu", "--json", "R U F'"];
        json(&run(&[&words[..], more].concat()).out)
    };
    with(serde_json::json!({ "search": "beam", "n": 40, "policy_weight": 2.5, "perimeter": 2 }));
    let own = solve(&[]);
    assert_eq!((&own["search"], &own["n"]), (&"beam".into(), &40.into()));
    let beam = |n: u64, policy_weight: f64, perimeter: u64| {
        serde_json::json!({
            "search": "beam", "n": n, "engine": "host", "candidates": 2, "policy_weight": policy_weight,
            "perimeter": perimeter, "symmetries": 4, "proof_budget": 100_000_000,
        })
    };
    assert_eq!(own["config"], beam(40, 2.5, 2));
    let given = solve(&["--search", "beam", "--n", "50", "--policy-weight", "1.5", "--perimeter", "3"]);
    assert_eq!((&given["n"], &given["config"]), (&50.into(), &beam(50, 1.5, 3)));
    assert_eq!(solve(&["--n", "60", "--lambda", "0.6"])["search"], "bwas", "the published search has its own");
    for wrong in [
        serde_json::json!({ "search": "beam", "n": 0 }),
        serde_json::json!({ "search": "beam", "policy_weight": -1 }),
        serde_json::json!({ "search": "beam", "width": 5 }),
        serde_json::json!({ "search": "magic" }),
    ] {
        with(wrong.clone());
        let message = refused(&["solve", "--model", &path(""), "--device", "cpu", "R"]);
        assert!(message.contains("config.json"), "{wrong}: {message}");
    }
}

#[test]
fn what_stands_around_facelets_is_passed_over() {
    let facelets = "DUUDUUDRRBBBDRRDRRBDDBFFLFFULLUDBUDBFLLFLLFFFLLRUBRUBR";
    let solve = |text: &str| json(&run(&["solve", "--search", "bfs", "--json", text]).out)["length"].clone();
    assert_eq!(solve(facelets), 5);
    for text in [format!("1. {facelets}"), format!("\"{facelets}\" // mine"), format!("Scramble: [{facelets}]")] {
        assert_eq!(solve(&text), 5, "{text}");
    }
    let lines: String = facelets.as_bytes().chunks(9).flat_map(|face| [face, b"\n"].concat()).map(char::from).collect();
    let ran = run_with(&["solve", "--search", "bfs", "--json", "-"], &lines);
    assert_eq!((ran.out.lines().count(), &json(&ran.out)["length"]), (1, &5.into()), "{}", ran.out);
}

#[test]
fn no_solution_of_a_small_cube_is_longer_than_its_scramble() {
    let words = ["solve", "--puzzle", "cube2", "--search", "best-first", "--lambda", "0", "--heuristic", "network"];
    for scramble in ["F' L B' U' F' U' L' U' L'", "D L2 B D' R L B2", "B D L B D L B D L"] {
        let solved = json(&run(&[&words[..], &["--json", scramble]].concat()).out);
        let turns = scramble.split(' ').map(|turn| if turn.ends_with('2') { 2 } else { 1 }).sum();
        assert!(solved["length"].as_u64().is_some_and(|length| length <= turns), "{scramble}: {solved}");
    }
}

#[test]
fn a_4x4x4_is_solved_by_way_of_a_3x3x3() {
    let scramble = "Rw U2 2F' L 2D R' Fw2 U B2 R 2U F L' 2R D 2B R U F 2D R2 B L U' 2L F2 D' 2B";
    let solve = |puzzle: &str, instance: &str| {
        // libtorch is as fast as ever if this program is not optimized, unlike the 8-bit kernels. Few processors have bf16.
        let narrow = ["--precision", "f32", "--n", "500", "--symmetries", "1", "--perimeter", "0", "--json", instance];
        json(&run(&[&["solve", "--puzzle", puzzle, "--search", "reduction"], &narrow[..]].concat()).out)
    };
    // Nine moves from solved, the network of the whole cube finds the way.
    let near = "BLRUUUFURUFLFDLDRDRLFBBUFRFULRRFRLUBRLRRBDDLFLFBDUDDFDLBFDLBRFLRURDDDLFDDBBLBUULFFFLBURBBURBUBDU";
    assert_eq!(solve("cube4", near)["length"], 9);
    let found = solve("cube4:obtm", scramble);
    assert_eq!(
        (&found["solved"], &found["search"], &found["model"]),
        (&true.into(), &"reduction".into(), &"cube4-reduction".into())
    );
    assert!(found["length"].as_u64() > Some(30), "{found}");
    let moves: Vec<&str> = found["moves"].as_array().expect("moves").iter().filter_map(Value::as_str).collect();
    let solved = format!("{scramble} {}", moves.join(" "));
    let back = run(&["solve", "--puzzle", "cube4:obtm", "--heuristic", "zero", "--search", "bfs", "--json", &solved]);
    assert_eq!(json(&back.out)["length"], 0, "{}", back.out);
    // A 5×5×5 is first held as it is solved: that takes one turn of its middle layers.
    let held = solve("cube5:oriented", "3U R F'");
    assert_eq!((&held["solved"], held["length"].as_u64() < Some(10)), (&true.into(), true), "{held}");
    let faces = "ABCDEF".chars().map(|colour| colour.to_string().repeat(25)).collect::<String>();
    let swapped = format!("{}B{}A{}", &faces[..12], &faces[13..37], &faces[38..]);
    let message = refused(&["solve", "--puzzle", "cube5:oriented", "--perimeter", "0", &swapped]);
    assert!(message.contains("no cube looks like this"), "{message}");
    // Another model is for another puzzle, and other puzzles have no reduction.
    assert!(
        refused(&["solve", "--puzzle", "cube4", "--search", "reduction", "--model", "cube4-oriented", "R"])
            .contains("not for cube4:reduction")
    );
    assert!(refused(&["solve", "--search", "reduction", "R"]).contains("expected cube4"));
}
