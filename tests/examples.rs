//! The programs of `examples/`, run as a reader would.

use costar::report::{Record, append_line};
use std::path::PathBuf;
use std::process::Command;

/// The output of an example. `cargo test` builds all examples before it runs the tests.
fn output(name: &str, arguments: &[&str]) -> String {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_costar")).with_file_name("examples").join(name);
    assert!(program.exists(), "{} is not built: run cargo test --all-targets", program.display());
    let output = Command::new(program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("OMP_NUM_THREADS", "1")
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_cube_is_solved_in_a_few_lines() {
    assert_eq!(output("solve_cube", &["R U F'"]), "F U' R'\n");
}

#[test]
fn a_puzzle_in_one_file_is_trained_and_solved() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = output("own_puzzle", &["20000", folder.path().join("run").to_str().expect("a plain path")]);
    assert!(text.lines().any(|line| line.starts_with("3210456789: T  (1 moves")), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("states evaluated")).count(), 3, "{text}");
    assert!(!text.contains("not solved"), "{text}");
}

#[test]
fn a_better_heuristic_stores_fewer_states() {
    let text = output("own_heuristic", &[]);
    let stored = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a line for each heuristic");
        line.strip_prefix(": 31 moves, ").and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("31 moves")
    };
    assert!(stored("manhattan") < stored("misplaced"), "{text}");
}

#[test]
fn a_network_puts_a_shortest_solution_first_near_the_goal() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("results.jsonl");
    let names = |moves: &[&str]| Some(moves.iter().map(|name| (*name).to_owned()).collect());
    for (instance, moves) in [("R U F", ["F'", "U'", "R'"]), ("L D' B", ["B'", "D", "L'"])] {
        let (instance, moves) = (instance.to_owned(), names(&moves));
        let result = Record { instance, moves, solved: true, proven_optimal: true, ..Record::default() };
        append_line(&results, &result).expect("a file");
    }
    let text = output("early_layers", &["cube3", results.to_str().expect("a plain path"), "2", "2"]);
    let rows: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(rows.len(), 6, "{text}");
    assert!(rows.iter().all(|row| row.ends_with("100 %   100 %")), "among the first tenth: {text}");
    assert!(rows[0].contains("the cost-to-go") && rows[0].contains("0.0 %"), "{text}");
}
