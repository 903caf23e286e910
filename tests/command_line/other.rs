//! `costar scramble`, `costar puzzles`, `costar view`, and the puzzle of a model.

use crate::program::{checkpoints, costar, json, model, refused, run, run_in_shell, run_with, temporary};
use costar::puzzle::Notation as _;
use costar::puzzle::cube_n::{CubeN, Metric};
use costar::puzzle::permutation::{Description, Permutation};
use std::fs;
use std::path::Path;

#[test]
fn scrambles_come_from_their_seed() {
    let words = ["scramble", "--depth", "20", "--count", "3", "--seed", "7"];
    let ran = run(&words);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 3));
    assert!(ran.out.lines().all(|line| line.split(' ').count() == 20));
    assert_eq!(run(&words).out, ran.out);
    assert_ne!(run(&["scramble"]).out, run(&["scramble"]).out);
    assert_eq!(run(&["scramble", "--depth", "0"]).out, "\n");
    // A state is that of the cube in the hand after the moves.
    for (size, metric) in [(4, Metric::OuterBlock), (5, Metric::Quarter)] {
        let cube = CubeN::new(size, metric);
        let scramble = |form: &str| {
            let ran = run(&["scramble", "--puzzle", &cube.name(), "--seed", "7", "--as", form]);
            ran.out.trim().to_owned()
        };
        let [moves, state] = ["moves", "state"].map(scramble);
        let cube = Permutation::<256>::new(Description::of_cube(cube));
        assert_eq!(cube.state_in_hand(&moves).map(|hand| cube.format(&hand)), Ok(state.clone()), "{moves}");
        assert_eq!(cube.parse(&moves), cube.parse(&state), "{moves}");
    }
    let full = run_in_shell("costar scramble --count 1000 > /dev/full");
    assert!(
        full.code == 1 && full.err.contains("the standard output cannot be written"),
        "{}: {}",
        full.code,
        full.err
    );
}

#[test]
fn puzzles_without_inverses_have_random_states() {
    let (_folder, path) = temporary();
    let file = path("one-way.json");
    let text = r#"{"name": "one-way", "goal": "ABCDE", "moves": {"L": [1, 2, 3, 4, 0], "X": [1, 2, 0, 3, 4]}}"#;
    fs::write(&file, text).expect("a file");
    for (puzzle, instances) in [("jugs:8,5,3", 3), ("sokoban", 3), ("sokoban:pushes", 3), (&file, 3)] {
        let words = ["scramble", "--puzzle", puzzle, "--depth", "30", "--count", "3", "--seed", "5"];
        let ran = run(&words);
        assert_eq!((ran.code, run(&words).out == ran.out), (0, true), "{puzzle}: {}", ran.err);
        assert_eq!(run(&[&words[..], &["--as", "state"]].concat()).out, ran.out);
        assert_ne!(run(&["scramble", "--puzzle", puzzle, "--count", "3", "--seed", "6"]).out, ran.out, "{puzzle}");
        let solved = run_with(&["solve", "--puzzle", puzzle, "--json", "--max-seconds", "20", "-"], &ran.out);
        assert_eq!((solved.code, solved.out.lines().count()), (0, instances), "{puzzle}: {}{}", solved.out, solved.err);
        let message = refused(&["scramble", "--puzzle", puzzle, "--as", "moves"]);
        assert!(message.contains("--as moves") && message.contains("--as state"), "{message}");
    }
}

#[test]
fn the_puzzle_of_a_model_is_scrambled_viewed_and_listed() {
    let scramble = |words: &[&str]| {
        let ran = run(&[&["scramble", "--seed", "3", "--as", "state"], words].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    let of_puzzle = scramble(&["--puzzle", "puzzle8"]);
    assert_eq!(scramble(&["--model", "puzzle8"]), of_puzzle);
    assert_eq!(scramble(&["--puzzle", "puzzle8", "--model", "puzzle8"]), of_puzzle);
    let (folder, path) = temporary();
    let page = path("board.html");
    let ran = run(&["view", "--model", "puzzle8", "--out", &page, "1 2 3 4 5 6 7 0 8", "R"]);
    assert!(ran.code == 0 && fs::read_to_string(&page).is_ok_and(|text| text.contains("puzzle8")), "{}", ran.err);
    let listed = costar().env("COSTAR_CACHE", folder.path()).args(["perimeter", "--model", "cube3-htm"]).output();
    let listed = String::from_utf8(listed.expect("it runs").stdout).expect("text");
    assert!(listed.contains("no perimeter of cube3:htm") && listed.contains("--model cube3-htm --depth"), "{listed}");
    for (words, named) in [
        (vec!["scramble", "--puzzle", "cube2", "--model", "puzzle8"], "for puzzle8, not for cube2"),
        (vec!["perimeter", "cube3", "--model", "cube3-htm"], "for cube3:htm, not for cube3"),
        (vec!["view", "--puzzle", "cube2", "--model", "puzzle8", "R", "R'"], "for puzzle8, not for cube2"),
        (vec!["scramble", "--model", "/nonexistent/model"], "/nonexistent/model"),
        (vec!["perimeter", "--model", "puzzle15"], "no perimeter of puzzle15 is kept"),
    ] {
        let message = refused(&words);
        assert!(message.contains(named), "{words:?}: {message}");
    }
}

#[test]
fn comments_and_lengths_may_stand_behind_an_instance() {
    let lines = "# a comment\nU2 # trailing\nR U F'\t3\n// another\nScramble #3: R\n";
    let solved = run_with(&["solve", "--json", "--perimeter", "5", "-"], lines);
    let lengths: Vec<_> = solved.out.lines().map(|line| json(line)["length"].as_u64()).collect();
    assert_eq!((solved.code, lengths), (0, vec![Some(2), Some(3), Some(1)]), "{}{}", solved.out, solved.err);
    assert_eq!(json(solved.out.lines().nth(1).expect("three"))["optimal_length"], 3);
    let refused = run_with(&["solve", "--perimeter", "5", "-"], "R\nR Q\n");
    assert!(refused.code == 2 && refused.out.contains("error: line 2: 'Q'"), "{}", refused.out);
    let (_folder, path) = temporary();
    let file = path("signs.json");
    let text =
        r##"{"name": "signs", "goal": "#/ab", "symmetric": true, "moves": {"L": [1, 2, 3, 0], "X": [1, 0, 2, 3]}}"##;
    fs::write(&file, text).expect("a file");
    let solved = run_with(&["solve", "--puzzle", &file, "--json", "-"], "# a comment\n#/ba\t9\n/#ab # X\n");
    let read: Vec<_> = solved.out.lines().map(|line| json(line)["instance"].clone()).collect();
    assert_eq!(read, ["#/ba", "/#ab"], "{}{}", solved.out, solved.err);
}

#[test]
fn puzzles_are_listed_with_their_models() {
    let (_folder, path) = temporary();
    let folder = path("models");
    let newest = checkpoints(model()).into_iter().max().expect("a checkpoint");
    fs::create_dir_all(&folder).expect("a folder");
    std::os::unix::fs::symlink(newest.join("model"), Path::new(&folder).join("tiny")).expect("a link");
    let output = costar().arg("puzzles").env("COSTAR_MODELS", &folder).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    for word in ["cube3", "notation", "searches: bwas", "tiny", "jugs:8,5,3", "manhattan", "  moves: "] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let output = costar().args(["solve", "--model", "tiny", "R", "--json"]).env("COSTAR_MODELS", &folder).output();
    assert_eq!(json(&String::from_utf8(output.expect("it runs").stdout).expect("text"))["model"], "tiny");
}

#[test]
fn a_folder_named_as_the_puzzle_is_not_taken_for_its_model() {
    let (folder, _) = temporary();
    let newest = checkpoints(model()).into_iter().max().expect("a checkpoint");
    std::os::unix::fs::symlink(newest.join("model"), folder.path().join("cube3")).expect("a link");
    let weights = |words: &[&str]| {
        let output = costar().args([words, &["--json", "R U"]].concat()).current_dir(folder.path()).output();
        json(&String::from_utf8(output.expect("it runs").stdout).expect("text"))["weights_crc32"].clone()
    };
    let (own, named) = (weights(&["solve"]), weights(&["solve", "--model", "cube3"]));
    assert!(own.is_u64() && named.is_u64() && own != named, "{own} and {named}");
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
    // A wrong solution still gives a page.
    let ran = run(&["view", "R U", "R'", "--out", &page]);
    assert!(ran.code == 1 && ran.err.contains("wrong") && ran.err.contains(&page), "{}", ran.err);
    let solved = run(&["solve", "--heuristic", "perimeter", "R U", "--view", &page]);
    assert!(solved.code == 0 && solved.out.contains("U' R'") && solved.err.contains(&page), "{}", solved.err);
    assert!(fs::read_to_string(&page).expect("a page").contains(r#""solves":true"#));
    let before = fs::read_to_string(&page).expect("a page");
    let missing = path("missing/page.html");
    for (words, named) in [
        (vec!["view", "R Q", "R", "--out", &page], "'Q'"),
        (vec!["view", "R", "R Q2", "--out", &page], "'Q2'"),
        (vec!["view", "R"], "SOLUTION"),
        (vec!["view", "--puzzle", "cube99", "R", "R"], "'cube99'"),
        (vec!["view", "--puzzle", "puzzle8", "1 2 3 4 5 6 8 7 0", "U"], "parity"),
        (vec!["view", "--puzzle", "cube2", "R", "M"], "'M'"),
        (vec!["view", "(R)1000 ((R)1000)10", "R"], "11001 moves"),
        (vec!["view", "R", "R'", "--out", &missing], "missing"),
        (vec!["solve", "--view", &missing, "R"], "missing"),
        (vec!["solve", "--view", &page, "-"], "--view"),
        (vec!["solve", "--view", &page, "(R)1000 ((R)1000)10"], "11000 moves"),
    ] {
        let message = refused(&words);
        assert!(message.contains(named), "{words:?}: {message}");
    }
    let message = refused(&["view", "--puzzle", "cube4", &"U".repeat(96), "R"]);
    assert!(!message.contains("solution"), "the instance is to blame: {message}");
    assert_eq!(fs::read_to_string(&page).expect("a page"), before, "what is refused writes nothing");
}
