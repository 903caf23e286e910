//! `costar solve` refuses what it cannot do, and says why.

use crate::program::{model, refused, temporary};
use std::fs;

#[test]
fn what_a_puzzle_or_search_cannot_do_is_refused_with_the_reason() {
    for (words, named) in [
        (vec!["--puzzle", "jugs:8,5,3", "--search", "bidirectional", "8,0,0"], "cannot be undone"),
        (vec!["--puzzle", "jugs:8,5,3", "--heuristic", "perimeter", "8,0,0"], "'perimeter'"),
        (vec!["--puzzle", "puzzle8", "--search", "bfs", "--n", "7", "1 2 3 4 5 6 7 8 0"], "--n"),
        (vec!["--puzzle", "puzzle8", "--search", "astar", "--lambda", "0.5", "1 2 3 4 5 6 7 8 0"], "--lambda"),
        (vec!["--puzzle", "puzzle8", "--search", "astar", "--candidates", "2", "1 2 3 4 5 6 7 8 0"], "--candidates"),
        (vec!["--search", "astar", "--engine", "device", "R"], "--engine"),
        (vec!["--search", "beam", "--heuristic", "zero", "--engine", "device", "R"], "asks a network"),
        (vec!["--search", "beam", "--move-costs", "U=2", "--engine", "device", "R"], "--move-costs sets other costs"),
        (vec!["--puzzle", "jugs:8,5,3", "--search", "beam", "--engine", "device", "8,0,0"], "moves of jugs:8,5,3"),
        (vec!["--puzzle", "jugs:8,5,3", "--search", "bfs", "--engine", "device", "8,0,0"], "moves of jugs:8,5,3"),
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
    let message = refused(&["solve", "--puzzle", &path("ring.json"), "--search", "beam", "--engine", "device", "BCDA"]);
    assert!(message.contains("moves of ring cannot be undone"), "{message}");
}

#[test]
fn bad_input_is_refused_by_name() {
    let missing = "/nonexistent/model";
    for (words, named) in [
        (vec!["solve", "U X2"], "'X2'"),
        (vec!["solve", &"U".repeat(54)], "54 facelets are U"),
        (vec!["solve", "--puzzle", "cube12", "U"], "'cube12'"),
        (vec!["solve", "--puzzle", "cube4:HTM", "U"], "did you mean cube4:htm? All puzzles: cube3, "),
        (vec!["solve", "--puzzle", "cube12:HTM", "U"], "did you mean cube3:htm? All puzzles: cube3, "),
        (vec!["solve", "--search", "magic", "U"], "'magic'"),
        (vec!["solve", "--heuristic", "magic", "U"], "'magic'"),
        (vec!["solve", "--model", missing, "U"], missing),
        (vec!["solve", "--n", "0", "U"], "at least 1"),
        (vec!["solve", "--n", "-5", "U"], "-5"),
        (vec!["solve", "--lambda", "nan", "U"], "'nan'"),
        (vec!["solve", "--lambda", "-1", "U"], "at least 0"),
        (vec!["solve", "--max-memory", "lots", "U"], "'lots'"),
        (vec!["solve", "--max-seconds", "0", "U"], "'0'"),
        (vec!["solve", "--device", "gpu", "U"], "'gpu'"),
        (vec!["solve", "--device", "cuda:77", "--model", model(), "U"], "--device cuda"),
        (vec!["solve", "--goal", "U", "U"], "--goal"),
        (vec!["solve", "--heuristic", "perimeter", "--device", "cuda:77", "U"], "--device cuda"),
        (vec!["solve", "--heuristic", "perimeter", "--model", model(), "U"], "--model"),
        (vec!["train", "--width", "65536", "--blocks", "1000", "--net", "mlp"], "memory"),
        (vec!["train", "--max-depth", "1e6"], "10000"),
        (vec!["train", "--batch-size", "1"], "--batch-size"),
        (vec!["solve"], "INSTANCE"),
        (vec!["bench", "/nonexistent.tsv"], "error: cannot read /nonexistent.tsv"),
        (vec!["train", "--net", "magic"], "magic"),
        (vec!["train", "--samples", "0"], "at least 1"),
        (vec!["train", "--lr", "-1"], "-1"),
        (vec!["train", "--lr", "abc"], "'abc' is not a number"),
        (vec!["train", "--sparse-states", "2"], "'2'"),
        (vec!["train", "--sparse-states", "0.5", "--samples", "1"], "moves all commute"),
        (vec!["train", "--puzzle", "sokoban", "--sparse-states", "0.5", "--samples", "1"], "--sparse-states"),
        (vec!["train", "--device", "cuda:77"], "--device cuda"),
        (vec!["train", "--labels", "magic", "--device", "cuda:77"], "'magic'"),
        (vec!["train", "--checkpoint-every", "soon"], "'soon'"),
        (vec!["scramble", "--puzzle", "x"], "'x'"),
        (vec!["scramble", "--puzzle", "lightsout05"], "lightsout15"),
        (vec!["scramble", "--count", "0"], "at least 1"),
        (vec!["dance"], "dance"),
    ] {
        let message = refused(&words);
        assert!(message.contains(named), "{words:?}: {message}");
    }
}
