//! `costar perimeter`, and proofs.

use crate::program::{Ran, costar, refused, run};
use costar::puzzle::cube3::Cube3;
use costar::search::perimeter::{Extent, PerimeterFolder};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The program with a cache of its own.
fn in_cache(folder: &Path, words: &[&str]) -> Ran {
    let output = costar().env("COSTAR_CACHE", folder).args(words).output().expect("it runs");
    Ran {
        code: output.status.code().expect("it exits by itself"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

#[test]
fn a_perimeter_is_made_once_and_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = in_cache(folder.path(), &["perimeter", "cube3"]);
    assert!(ran.code == 0 && ran.out.contains("no perimeter of cube3"), "{}{}", ran.out, ran.err);
    let ran = in_cache(folder.path(), &["perimeter", "cube3", "--depth", "6"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("93,840") && ran.out.contains("kept in"), "{}", ran.out);
    let ran = in_cache(folder.path(), &["perimeter", "cube3", "--depth", "3"]);
    assert!(ran.code == 0 && ran.out.contains("part of the perimeter to depth 6, kept in"), "{}{}", ran.out, ran.err);
    let ran = in_cache(folder.path(), &["perimeter"]);
    assert!(ran.out.starts_with("depth  6"), "{}", ran.out);
    let prove = ["solve", "--search", "exhaustive", "--perimeter", "6", "--json", "R U F' L D B' R' U F"];
    let ran = in_cache(folder.path(), &prove);
    let solved: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(solved["proven_optimal"], true, "{}", ran.out);
    assert_eq!(solved["config"]["perimeter"], 6);
    let length = solved["length"].as_u64().expect("a length");
    // The parity of the length is known: every other one is excluded.
    assert_eq!(solved["proof"]["excluded"].as_u64().expect("a length"), length - 2);
    for search in ["bfs", "bidirectional"] {
        let words = ["solve", "--search", search, "--perimeter", "6", "--json", "R U F' L D B' R' U F"];
        let found: Value = serde_json::from_str(&in_cache(folder.path(), &words).out).expect("JSON");
        assert_eq!((&found["length"], &found["proven_optimal"]), (&length.into(), &true.into()), "{found}");
        assert!(found["nodes_stored"].as_u64() < Some(2000), "three moves are searched: {found}");
    }
    let mut file = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.path());
    let file = file.find(|path| path.extension().is_some_and(|end| end == "bin")).expect("a perimeter");
    let whole = std::fs::read(&file).expect("it is there");
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("it can be written");
    let ran = in_cache(folder.path(), &["perimeter", "cube3", "--depth", "6"]);
    assert!(ran.code == 0 && ran.err.contains(&*file.to_string_lossy()), "the file is named: {}", ran.err);
    assert_eq!(std::fs::read(&file).expect("it is there"), whole);
}

#[test]
fn older_processors_give_the_same_results() {
    let results = ["portable", "avx2", "avx512"].map(|newest| {
        let folder = tempfile::tempdir().expect("a folder");
        let run = |words: &[&str]| {
            let mut program = costar();
            program.env("COSTAR_CACHE", folder.path()).env("COSTAR_CPU", newest);
            if newest == "portable" {
                program.env("ATEN_CPU_CAPABILITY", "default"); // of libtorch
            }
            program.args(words).output().expect("it runs").stdout
        };
        run(&["perimeter", "cube3", "--depth", "6"]);
        let file = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.path());
        let perimeter = file.map(|path| std::fs::read(path).expect("it is there")).next().expect("a perimeter");
        let solve = ["solve", "--json", "--n", "500", "--perimeter", "6", "R U2 F' L D B' R' U F L2"];
        let solved: Value = serde_json::from_slice(&run(&solve)).expect("JSON");
        assert!(newest != "portable" || solved["precision"] == "f32", "{solved}");
        let figures = ["solved", "length", "proven_optimal"].map(|key| solved[key].clone());
        (perimeter, figures)
    });
    assert_eq!(results[0].1[0], true, "{:?}", results[0].1);
    assert!(results[0] == results[1] && results[1] == results[2], "{:?}", results.map(|(_, figures)| figures));
    let refused = costar().env("COSTAR_CPU", "old").args(["solve", "R"]).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("expected portable, avx2 or avx512"));
}

#[test]
fn proofs_are_made_or_refused_with_the_reason() {
    let puzzle = ["--puzzle", "test-data/puzzles/pyraminx.json"];
    let ran = run(&[&["solve", "--prove", "--search", "bidirectional"], &puzzle[..], &["R U L B"]].concat());
    assert!(ran.out.contains("no solution is shorter"), "{}{}", ran.out, ran.err);
    let board = ["solve", "--puzzle", "puzzle8", "--prove", "--search", "best-first", "8 6 7 2 5 4 3 0 1"];
    let ran = run(&board);
    assert!(ran.out.contains("31 moves (no solution is shorter)"), "{}{}", ran.out, ran.err);
    for (words, named) in [
        (&["--puzzle", "jugs:8,5,3", "8,0,0"][..], "cannot be undone"),
        (&["--puzzle", "sokoban", "#####\n#@$.#\n#####"], "cannot be undone"),
        (&["--perimeter", "0", "--search", "exhaustive", "R"], "expected at least 1"),
    ] {
        let message = refused(&[&["solve", "--prove"], words].concat());
        assert!(message.contains("--prove") || message.contains("--perimeter"), "{message}");
        assert!(message.contains(named), "{message}");
    }
    let message = refused(&["solve", "--search", "exhaustive", "--proof-budget", "1000", "R"]);
    assert!(message.contains("--proof-budget") && message.contains("--max-nodes"), "{message}");
    let message = refused(&["solve", "--search", "astar", "--perimeter", "3", "R"]);
    assert!(message.contains("--perimeter") && message.contains("--prove"), "{message}");
    let message = refused(&["perimeter", "puzzle15", "--depth", "3"]);
    assert!(message.contains("no symmetries"), "{message}");
    let message = refused(&["perimeter", "cube3", "--depth", "3", "--max-memory", "1M"]);
    assert!(message.contains("--max-memory") && message.contains("the program itself takes"), "{message}");
    for depth in ["40", "4000000000"] {
        let message = refused(&["perimeter", "cube3", "--depth", depth]);
        assert!(message.contains("far too large for any memory: expected at most 1"), "{message}");
    }
}

#[test]
fn a_shallow_perimeter_in_the_cache_is_not_the_default() {
    let folder = tempfile::tempdir().expect("a folder");
    let depth = |more: &[&str]| {
        let solve = ["solve", "--search", "exhaustive", "--json", "R U F' L D B' R' U F"];
        let ran = in_cache(folder.path(), &[&solve, more].concat());
        let solved: Value = serde_json::from_str(&ran.out).expect("JSON");
        (solved["config"]["perimeter"].as_u64().expect("a depth"), ran.err)
    };
    assert_eq!(depth(&["--perimeter", "4"]).0, 4);
    let (deep, said) = depth(&[]);
    assert!(deep > 4 && said.contains("costar perimeter"), "{deep}: {said}");
    let (again, said) = depth(&[]);
    assert!(again == deep && !said.contains("made the perimeter"), "it says so once: {said}");
}

#[test]
fn a_perimeter_that_memory_cut_short_is_not_the_default() {
    let folder = tempfile::tempdir().expect("a folder");
    let solve = ["solve", "--search", "exhaustive", "--json", "R U F'"];
    let depth = |more: &[&str]| {
        let solved: Value = serde_json::from_str(&in_cache(folder.path(), &[&solve, more].concat()).out).expect("JSON");
        solved["config"]["perimeter"].as_u64().unwrap_or(0)
    };
    let shallow = depth(&["--max-memory", "1M"]);
    assert!(shallow < 3 && depth(&[]) > 6, "{shallow}");
}

#[test]
fn a_perimeter_built_at_a_slow_first_use_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = PerimeterFolder::new(&Cube3, Some(folder.path().to_owned())).expect("the cube has symmetries");
    let hasty = Extent { depth: u32::MAX, bytes: u64::MAX, time: Some(Duration::from_millis(30)), count_last: false };
    let (made, kept) = store.make(hasty, &AtomicBool::new(false), &mut |_| ()).expect("nothing stops it");
    kept.expect("it is kept");
    assert!(0 < made.depth() && made.depth() < 8, "{}: too few classes to be kept otherwise", made.depth());
    let solve = ["solve", "--search", "exhaustive", "--json", "R U F'"];
    let ran = in_cache(folder.path(), &solve);
    let solved: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(solved["config"]["perimeter"], made.depth(), "{}", ran.err);
    assert!(!ran.err.contains("made the perimeter"), "{}", ran.err);
}
