//! `costar evaluate` and `costar compare`.

use crate::program::{json, model, refused, run, run_with, temporary};
use serde_json::Value;
use std::fs;

#[test]
fn compare_prints_a_line_for_every_search_and_heuristic_that_fits() {
    let ran = run(&["compare", "--puzzle", "puzzle8", "--max-seconds", "20", "1 2 3 4 0 6 7 5 8"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows: Vec<Vec<&str>> = ran.out.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    for (search, heuristic) in
        [("bfs", "-"), ("bidirectional", "-"), ("exhaustive", "-"), ("astar", "linear-conflict"), ("beam", "network")]
    {
        let row = rows.iter().find(|row| row[..2] == [search, heuristic]);
        assert!(row.is_some_and(|row| row[2] == "2"), "{search} {heuristic}: {}", ran.out);
    }
    let jugs = run(&["compare", "--puzzle", "jugs:8,5,3", "--json", "8,0,0"]);
    let objects: Vec<Value> = jugs.out.lines().map(json).collect();
    assert!(objects.iter().any(|object| object["search"] == "bfs" && object["length"] == 6), "{}", jugs.out);
    assert!(objects.iter().all(|object| object["search"] != "bidirectional"), "{}", jugs.out);
    assert!(refused(&["compare", "--model", "nowhere", "R"]).contains("nowhere"));
    assert!(refused(&["compare", "R Q"]).contains("'Q'"));
}

#[test]
fn evaluate_prints_estimates_and_move_probabilities() {
    let (_folder, path) = temporary();
    let file = path("cubes.txt");
    fs::write(&file, "# two cubes\nR\t1\n\nR U F'\n").expect("a file");
    let ran = run(&["evaluate", "--model", model(), "--device", "cpu", &file]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let objects: Vec<Value> = ran.out.lines().map(json).collect();
    assert_eq!((objects.len(), &objects[0]["instance"]), (2, &"R".into()), "{}", ran.out);
    for object in &objects {
        let moves = object["moves"].as_object().expect("a policy head");
        let sum: f64 = moves.values().filter_map(Value::as_f64).sum();
        assert!(moves.len() == 12 && (sum - 1.0).abs() < 1e-3 && object["h"].as_f64() >= Some(0.0), "{object}");
    }
    let again = run_with(&["evaluate", "--model", model(), "--device", "cpu", "-"], "R Q\nR\n");
    let lines: Vec<Value> = again.out.lines().map(json).collect();
    assert!(again.code == 2 && lines[0]["error"].as_str().is_some_and(|error| error.contains("'Q'")), "{}", again.out);
    let far = (lines[1]["h"].as_f64().expect("h") - objects[0]["h"].as_f64().expect("h")).abs();
    assert!(far < 1e-3, "{}", again.out);
    let own = run_with(&["evaluate", "--puzzle", "puzzle8", "--heuristic", "manhattan", "-"], "1 2 3 4 5 6 7 0 8\n");
    assert_eq!((&json(&own.out)["h"], &json(&own.out)["moves"]), (&1.0.into(), &Value::Null), "{}", own.out);
}

#[test]
fn without_a_model_of_the_puzzle_another_heuristic_is_advised() {
    for (puzzle, instance, heuristic) in
        [("jugs:8,5,3", "8,0,0", "nearest"), ("lightsout4", "1100100000000000", "lights")]
    {
        let message = refused(&["evaluate", "--puzzle", puzzle, "-"]);
        let advice = ["needs a model", "costar train", "--model", "another --heuristic", "costar puzzles"];
        assert!(advice.iter().all(|part| message.contains(part)) && !message.contains("perimeter"), "{message}");
        let ran = run_with(&["evaluate", "--puzzle", puzzle, "--heuristic", heuristic, "-"], instance);
        assert_eq!((ran.code, ran.out.lines().count()), (0, 1), "{puzzle}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn instances_that_cannot_be_read_are_bad_input() {
    let message = refused(&["evaluate", "--heuristic", "perimeter", "/"]);
    assert!(message.contains("cannot read /: "), "{message}");
}

#[test]
fn a_line_is_evaluated_whole() {
    let ran = run_with(&["evaluate", "--heuristic", "perimeter", "-"], "R\tU\tF\nR U F\t3\n1.\tR U\n");
    let estimates: Vec<_> = ran.out.lines().map(|line| json(line)["h"].clone()).collect();
    assert_eq!(estimates, [3.0, 3.0, 2.0], "{}", ran.out);
}
