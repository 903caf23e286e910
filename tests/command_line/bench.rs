//! `costar bench`.

use crate::program::{json, refused, run, run_with, temporary};
use serde_json::Value;
use std::fs;

#[test]
fn bench_sums_up_and_goes_on_where_it_stopped() {
    let (_folder, path) = temporary();
    let (file, out) = (path("cubes.tsv"), path("results.jsonl"));
    fs::write(&file, "# scramble\toptimal\nR U\t2\nR\t1\n\nF2 # by hand\nR U F\t3\n").expect("it can be written");
    let words = ["bench", &file, "--heuristic", "perimeter", "--n", "10", "--out", &out];
    let ran = run(&[&words[..], &["--limit", "2"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("2 moves (optimal 2)") && ran.out.contains("2 instances, 2 solved"), "{}", ran.out);
    let first = fs::read_to_string(&out).expect("results");
    assert_eq!(first.lines().count(), 2);
    // Another bench writes the file.
    let other = fs::File::open(&out).expect("results");
    other.lock().expect("nobody has it");
    let ran = run(&words);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("another bench"), "{}", ran.err);
    drop(other);
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
    // Parallel searches find the same, and go on from results in any order.
    let moves = |text: &str| -> Vec<(String, Value)> {
        let lines = text.lines().map(json).map(|line| (line["instance"].to_string(), line["moves"].clone()));
        let mut lines: Vec<_> = lines.collect();
        lines.sort_by_key(|(instance, _)| instance.clone());
        lines
    };
    let parallel_out = path("parallel.jsonl");
    fs::write(&parallel_out, format!("{}\n", all.lines().nth(2).expect("a result"))).expect("it can be written");
    let words =
        ["bench", &file, "--heuristic", "perimeter", "--n", "10", "--out", &parallel_out, "--parallel", "3", "--json"];
    let together = json(&run(&words).out);
    assert_eq!(together["mean_length"], summary["mean_length"]);
    assert_eq!(moves(&fs::read_to_string(&parallel_out).expect("results")), moves(&all));
    let words = ["bench", &file, "--heuristic", "perimeter", "--n", "10", "--out", &out];
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
    let skipped = json(&run(&["bench", &file, "--heuristic", "perimeter", "--skip", "3", "--json"]).out);
    assert_eq!((&skipped["instances"], &skipped["mean_length"]), (&1.into(), &3.0.into()));
    assert!(
        refused(&["bench", &file, "--heuristic", "perimeter", "--skip", "4"]).contains("no instance is left of the 4")
    );
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
    let difference = &against["optimal_difference"];
    let [value, low, high] = ["value", "low", "high"].map(|name| difference[name].as_f64().expect("a number"));
    assert!((value - 1.0 / 3.0).abs() < 1e-9 && low < value && value < high, "{difference}");
    assert_eq!(against["length_difference"]["value"], 0.0);
    let row = json(fs::read_to_string(path("b.jsonl")).expect("rows").lines().next().expect("a row"));
    assert_eq!(row["version"], env!("CARGO_PKG_VERSION"));
    assert!(row["date"].as_str().is_some_and(|date| date.ends_with('Z')), "{row}");
    assert!(row["processor"].as_str().is_some_and(|name| !name.is_empty()), "{row}");
    assert!(against["generated_ratio"].as_f64().expect("a number") > 0.0);
    let ran = bench("b.jsonl", &["--search", "astar", "--against", &path("a.jsonl")]);
    assert!(ran.out.contains("solved   3 here, 2 there") && ran.out.contains("the same on 2"), "{}", ran.out);
    assert!(ran.out.contains("difference +33.33 points (95 % "), "{}", ran.out);
    let words = ["bench", &path("boards.tsv"), "--puzzle", "puzzle8", "--against", &path("none.jsonl")];
    assert!(refused(&words).contains("none.jsonl"));
    // --against leaves its file as it is, and refuses results of another puzzle.
    let torn = fs::read_to_string(path("a.jsonl")).expect("rows") + "{\"puzzle";
    fs::write(path("torn.jsonl"), &torn).expect("a file");
    let against = |file: &str| {
        run(&["bench", &path("boards.tsv"), "--puzzle", "puzzle8", "--search", "astar", "--against", &path(file)])
    };
    assert!(against("torn.jsonl").out.contains("3 here, 2 there"));
    assert_eq!(fs::read_to_string(path("torn.jsonl")).expect("the file"), torn);
    fs::write(path("other.jsonl"), torn.replace("\"puzzle8\"", "\"puzzle15\"")).expect("a file");
    let ran = against("other.jsonl");
    assert!(ran.code == 2 && ran.err.contains("the puzzle is puzzle15 there, and puzzle8 here"), "{}", ran.err);
    // The names of a file's fields are no flags.
    fs::write(path("other.jsonl"), torn.replace("\"search\":", "\"other\":")).expect("a file");
    assert!(against("other.jsonl").err.contains("missing field \"search\""));
    let boards = fs::read_to_string(path("boards.tsv")).expect("a file");
    let ran = run_with(&["bench", "-", "--puzzle", "puzzle8", "--search", "astar"], &boards);
    assert!(ran.out.contains("3 instances, 3 solved"), "{}{}", ran.out, ran.err);
}

#[test]
fn results_of_other_costs_and_goals_are_kept_apart() {
    let (_folder, path) = temporary();
    let (cubes, boards) = (path("cubes.tsv"), path("boards.tsv"));
    fs::write(&cubes, "R\nU\n").expect("a file");
    fs::write(&boards, "1 2 3 4 5 6 7 0 8\n1 2 3 4 0 6 7 5 8\n").expect("a file");
    let goals = ["1 2 3 4 5 6 0 7 8", "1 2 3 4 0 6 7 5 8"];
    for (flag, field, file, puzzle, values) in
        [("--move-costs", "move_costs", &cubes, "cube3", ["U=2", "U=3"]), ("--goal", "goal", &boards, "puzzle8", goals)]
    {
        let out = path(&format!("{field}.jsonl"));
        let words = ["bench", file, "--puzzle", puzzle, "--search", "astar", "--heuristic", "zero", "--out", &out];
        let with = |value| [&words[..], &[flag, value]].concat();
        let ran = run(&[&with(values[0])[..], &["--limit", "1"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let first = fs::read_to_string(&out).expect("a row");
        assert_eq!(json(&first)[field], values[0]);
        let message = refused(&with(values[1]));
        let named = format!("{flag} is {} there, and {} here", values[0], values[1]);
        assert!(message.contains(&named) && message.contains("choose another --out"), "{message}");
        assert!(refused(&words).contains(&format!("{flag} is {} there, and none here", values[0])));
        assert_eq!(fs::read_to_string(&out).expect("a row"), first);
        let ran = run(&with(values[0]));
        assert!(ran.code == 0 && ran.err.contains("1 of 2 instances are in the file already"), "{}", ran.err);
        // Without the flag, the field is not written.
        let plain = path(&format!("plain-{field}.jsonl"));
        let words = ["bench", file, "--puzzle", puzzle, "--search", "bfs", "--limit", "1", "--out", &plain];
        assert_eq!(run(&words).code, 0);
        assert_eq!(json(&fs::read_to_string(&plain).expect("a row")).get(field), None);
    }
}

#[test]
fn costs_are_summed_up_and_compared_where_they_are_given() {
    let (_folder, path) = temporary();
    let (file, plain, costly) = (path("cubes.tsv"), path("plain.jsonl"), path("costly.jsonl"));
    fs::write(&file, "R U2\t3\n").expect("a file");
    let words = ["bench", &file, "--puzzle", "cube3"];
    let with_costs = [&words[..], &["--move-costs", "U=2"]].concat();
    assert_eq!(run(&[&words[..], &["--search", "bfs", "--out", &plain]].concat()).code, 0);
    let ran = run(&[&with_costs[..], &["--out", &costly]].concat());
    assert!(ran.out.contains("  cost 5, 3 moves, proven  ") && ran.out.contains("optimum unknown"), "{}", ran.out);
    assert!(ran.out.contains("cost     mean 5.00; length mean 3.00"), "{}", ran.out);
    assert_eq!(json(&fs::read_to_string(&costly).expect("a row"))["optimal_length"], Value::Null);
    let against = |more: &[&str]| run(&[&with_costs[..], &["--search", "astar", "--against"], more].concat());
    let summary = json(&against(&[costly.as_str(), "--json"]).out);
    assert_eq!((&summary["mean_cost"], &summary["optimal"]), (&5.0.into(), &Value::Null), "{summary}");
    let difference = serde_json::json!({ "value": 0.0, "low": null, "high": null });
    assert_eq!(summary["against"]["cost_difference"], difference, "{summary}");
    let ran = against(&[costly.as_str()]);
    let line =
        "cost     5.00 here, 5.00 there; cheaper on 0, the same on 1, dearer on 0; difference +0.00 (no interval";
    assert!(ran.out.contains(line) && !ran.out.contains("95 % -"), "{}", ran.out);
    // With other costs, only the numbers of moves are compared.
    let ran = against(&[plain.as_str()]);
    assert!(ran.out.contains("length   3.00 here, 3.00 there; shorter on 0, the same on 1"), "{}", ran.out);
    assert!(ran.out.contains("not compared: the other file is not of the same --move-costs"), "{}", ran.out);
}

#[test]
fn a_measured_search_does_not_use_the_scramble_that_was_typed() {
    let (_folder, path) = temporary();
    let (rules, file, scrambles) = (path("turn.json"), path("scrambles.tsv"), "L\nL'\n");
    let text = r#"{"name": "turn", "goal": "ABC", "symmetric": true, "moves": {"L": [1, 2, 0]}}"#;
    fs::write(&rules, text).expect("a file");
    fs::write(&file, scrambles).expect("a file");
    let flags = ["--puzzle", &rules, "--search", "random", "--json"];
    // The first move of the walk solves one of the two, so the other takes longer than its scramble.
    let measured = run(&[&["bench", &file][..], &flags].concat());
    let mean = json(&measured.out)["mean_length"].as_f64();
    assert!(mean.is_some_and(|mean| mean > 1.0), "{}{}", measured.out, measured.err);
    let solved = run_with(&[&["solve"][..], &flags, &["-"]].concat(), scrambles);
    let lengths: Vec<Value> = solved.out.lines().map(|line| json(line)["length"].clone()).collect();
    assert_eq!(lengths, [Value::from(1), Value::from(1)], "{}{}", solved.out, solved.err);
    for command in ["bench", "compare"] {
        let help = run(&[command, "--help"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("unlike solve, it does not use the inverse scramble as a bound"), "{help}");
    }
}

#[test]
fn a_bad_line_of_a_bench_file_is_named() {
    let (_folder, path) = temporary();
    let file = path("cubes.tsv");
    for (text, named) in [("R\nR Q\n", "line 2"), ("R\tten\n", "'ten'"), ("# nothing\n", "no instance")] {
        fs::write(&file, text).expect("it can be written");
        let message = refused(&["bench", &file, "--heuristic", "perimeter"]);
        assert!(message.contains(named), "{message}");
    }
}
