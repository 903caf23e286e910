//! `costar import`, `costar bench --format submission` and `costar improve`: the files of contests.

use crate::program::{Ran, refused, run, temporary};
use costar::puzzle::cube_n::{CubeN, Metric};
use costar::puzzle::permutation::{Description, Permutation};
use costar::puzzle::{Move, Notation as _, Rules as _};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The moves of test-data's 4×4×4 as a dictionary of Python, without the inverses.
fn moves_of_cube() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/puzzles/cube4.json");
    let text: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).expect("a file")).expect("JSON");
    let moves = text["moves"].as_object().expect("moves").iter().filter(|(name, _)| !name.ends_with("_inv"));
    let listed: Vec<String> = moves.map(|(name, from)| format!("'{name}': {from}")).collect();
    format!("{{{}}}", listed.join(", "))
}

/// The state of a 4×4×4 in the notation of Santa 2023.
fn contest_state(scramble: &str) -> String {
    let cube = Permutation::<128>::new(Description::of_cube(CubeN::new(4, Metric::Oriented)));
    let state = cube.parse(scramble).expect("a scramble");
    let faces = [0, 2, 1, 5, 4, 3];
    let sticker = |i: usize| "ABCDEF"[..].as_bytes()[faces[usize::from(state[faces[i / 16] * 16 + i % 16])]] as char;
    (0..96).map(|i| sticker(i).to_string()).collect::<Vec<_>>().join(";")
}

/// Imports the puzzle and the instances of a contest of CayleyPy.
fn imported(path: &impl Fn(&str) -> String, info: &str, table: &str, name: &str) -> Ran {
    fs::write(path("puzzle_info.json"), info).expect("a file");
    fs::write(path("test.csv"), table).expect("a file");
    run(&["import", &path("test.csv"), "--name", name, "--out", &path("")])
}

#[test]
fn a_contest_of_santa_is_read_solved_and_submitted() {
    let (_folder, path) = temporary();
    let goal = "AAAAAAAAAAAAAAAABBBBBBBBBBBBBBBBCCCCCCCCCCCCCCCCDDDDDDDDDDDDDDDDEEEEEEEEEEEEEEEEFFFFFFFFFFFFFFFF";
    let goal = goal.chars().map(String::from).collect::<Vec<_>>().join(";");
    let toy = r#"{'l': [1, 2, 3, 0, 4, 5], "r'": [0, 1, 3, 4, 5, 2]}"#;
    let toy = toy.replace('"', "\"\"");
    let info = format!("puzzle_type,allowed_moves\ncube_4/4/4,\"{}\"\nwreath_2/2,\"{toy}\"\n", moves_of_cube());
    fs::write(path("puzzle_info.csv"), info).expect("a file");
    let mut puzzles = "id,puzzle_type,solution_state,initial_state,num_wildcards\n".to_owned();
    let scrambles = ["f0.-r2.d1", "r3 f1_inv"];
    for (id, scramble) in scrambles.iter().enumerate() {
        let _ = writeln!(puzzles, "{id},cube_4/4/4,{goal},{},0", contest_state(scramble));
    }
    puzzles += "7,wreath_2/2,A;A;B;B;C;C,B;C;C;A;B;A,2\n8,wreath_2/2,N0;N1;N2;N3;N4;N5,N1;N2;N3;N0;N4;N5,0\n";
    fs::write(path("puzzles.csv"), puzzles).expect("a file");
    let refusal = refused(&["bench", "--puzzle", "cube4:oriented", &path("puzzles.csv")]);
    assert!(refusal.contains("is that of a contest's own file: costar import makes"), "{refusal}");
    let out = path("out");
    let ran = run(&["import", &path("puzzles.csv"), "--out", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for said in ["cube_4_4_4 is the puzzle cube4:oriented", "(with wildcards: 1)", "wreath_2_2-2.csv"] {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    let bench = |puzzle: &str, table: &str| {
        let ran = run(&[
            "bench",
            "--puzzle",
            puzzle,
            &format!("{out}/{table}"),
            "--search",
            "bidirectional",
            "--format",
            "submission",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    assert_eq!(bench(&format!("{out}/wreath_2_2-2.json"), "wreath_2_2-2.csv"), "id,moves\n8,-l\n");
    // Two positions may stay wrong: this board is two moves from that.
    let wreath = format!("{out}/wreath_2_2.json");
    let found = bench(&wreath, "wreath_2_2.csv");
    let [known, better] = [path("wild.csv"), path("better-wild.csv")];
    fs::write(&known, format!("{found}9,f0.f0\n10,UNSOLVED\n")).expect("a file");
    // Found before, for another puzzle of the contest.
    fs::write(&better, "id,moves\n9,f0.f0.f0\n10,d0\n").expect("a file");
    let table = format!("{out}/wreath_2_2.csv");
    let words = ["improve", &known, "--instances", &table, "--puzzle", &wreath, "--out", &better];
    let ran = run(&[&words[..], &["--max-nodes", "1000"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(fs::read_to_string(&better).expect("a file"), "id,moves\n7,r'.l\n9,f0.f0\n10,d0\n");
    let submission = bench("cube4:oriented", "cube_4_4_4.csv");
    let lines: Vec<&str> = submission.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "id,moves"));
    let cube = Permutation::<128>::new(Description::of_cube(CubeN::new(4, Metric::Oriented)));
    for (line, scramble) in lines[1..].iter().zip(scrambles) {
        let (_, moves) = line.split_once(',').expect("two columns");
        assert!(moves.split('.').all(|name| name.trim_start_matches('-').len() == 2), "{moves}");
        let moves = cube.parse_moves(moves).expect("moves");
        let play = |state, &action: &Move| cube.apply(&state, action).expect("a move");
        assert!(cube.is_goal(&moves.iter().fold(cube.parse(scramble).expect("a scramble"), play)), "{line}");
        assert_eq!(moves.len(), scramble.split(['.', ' ']).count(), "{line}");
    }
    // Both solutions with a detour, which improve finds, and goes on from its own file.
    let longer = lines[1..].iter().map(|line| format!("{line}.d3.f0.-f0.-d3\n")).collect::<String>();
    fs::write(path("known.csv"), format!("id,moves\n{longer}")).expect("a file");
    let [better, known] = [path("better.csv"), path("known.csv")];
    let table = format!("{out}/cube_4_4_4.csv");
    let words = ["improve", &known, "--instances", &table, "--puzzle", "cube4:oriented", "--out", &better];
    let settings = ["--heuristic", "zero", "--search", "bidirectional", "--max-nodes", "1e4", "--states", "1000"];
    let words = [&words[..], &settings].concat();
    let ran = run(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("13 moves before, 5 now"), "{}{}", ran.out, ran.err);
    fs::write(&known, format!("id,moves\n{longer}")).expect("a file");
    let ran = run(&words);
    assert!(ran.out.contains("5 moves before, 5 now"), "it goes on from its file: {}", ran.out);
    assert_eq!(fs::read_to_string(&better).expect("a file").lines().count(), 3);
    fs::write(&known, "id,moves\n0,f0\n").expect("a file");
    fs::remove_file(&better).expect("a file");
    assert!(refused(&words).contains("the solution of 0 in"), "a wrong solution");
    assert!(!Path::new(&better).exists(), "no empty file is left");
}

#[test]
fn a_contest_of_cayleypy_is_read() {
    let (_folder, path) = temporary();
    let generators = r#""generators": [[1, 2, 0, 3], [1, 0, 2, 3], [2, 0, 1, 3]], "generator_names": ["L", "X", "-L"]"#;
    let info = format!(r#"{{"central_state": [0, 1, 2, 3], {generators}}}"#);
    let table = "initial_state_id,initial_state\n0,\"2,0,1,3\"\n1,\"1,0,2,3\"\n";
    let ran = imported(&path, &info, table, "toy");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let words = ["bench", "--puzzle", &path("toy.json"), &path("toy.csv"), "--search", "bfs", "--format", "submission"];
    let ran = run(&words);
    assert_eq!((ran.code, &*ran.out), (0, "initial_state_id,path\n0,L\n1,X\n"), "{}", ran.err);
    // No file may have the name of a puzzle in code.
    for (name, file) in [("cube2", "cube2-2.json"), ("jugs:3,4", "jugs_3_4.json")] {
        let ran = imported(&path, &format!("\u{feff}{info}"), table, name);
        assert!(ran.code == 0 && Path::new(&path(file)).exists(), "{}{}", ran.out, ran.err);
    }
    // The Megaminx of the contest numbers the stickers; costar's own has their colours, and a network.
    let own = costar::registry::included("megaminx").expect("it comes with costar");
    let moves: serde_json::Map<_, _> = own.contest_moves().map(|(name, from)| (name, from.into())).collect();
    let state: Vec<String> = own.contest_moves().next().expect("a move").1.iter().map(u16::to_string).collect();
    let info = serde_json::json!({"central_state": (0..120).collect::<Vec<_>>(), "generators": moves});
    fs::write(path("puzzle_info.json"), info.to_string()).expect("a file");
    fs::write(path("test.csv"), format!("initial_state_id,initial_state\n5,\"{}\"\n", state.join(",")))
        .expect("a file");
    let ran = run(&["import", &path("puzzle_info.json"), "--name", "mm", "--out", &path("")]);
    assert!(ran.out.contains("is the puzzle megaminx"), "{}{}", ran.out, ran.err);
    let words =
        ["bench", "--puzzle", "megaminx", &path("mm.csv"), "--search", "bidirectional", "--format", "submission"];
    let ran = run(&words);
    assert_eq!((ran.code, &*ran.out), (0, "initial_state_id,path\n5,-U\n"), "{}", ran.err);
    // People mean a clockwise turn by U.
    let ran = run(&["solve", "--puzzle", "megaminx", "--search", "bidirectional", "U2'"]);
    assert!(ran.err.contains("read moves with the names of contests: U is M_U"), "{}", ran.err);
}

#[test]
fn a_file_with_the_name_of_a_cube_has_no_network_of_the_cube() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/test-data/puzzles/cube4.json");
    assert!(refused(&["solve", "--puzzle", file, "--model", "cube4-oriented", "f0"]).contains("other rules"));
    let ran = run(&["solve", "--puzzle", "cube4", "--max-seconds", "20", "x R 2U'"]);
    assert!(ran.code == 0 && ran.out.contains("2 moves"), "{}{}", ran.out, ran.err);
}

#[test]
fn files_that_are_none_of_a_contest_are_refused() {
    let (_folder, path) = temporary();
    let [plain, table] = [path("plain.txt"), path("table.csv")];
    fs::write(&plain, "R U F\n").expect("a file");
    fs::write(&table, "initial_state_id,initial_state\n0,1 0\n").expect("a file");
    assert!(refused(&["import", &plain]).contains("expected moves"));
    assert!(refused(&["import", &table]).contains("no file has the moves"));
    assert!(refused(&["import", &path("nosuch")]).contains("nosuch"));
    let numbered = path("numbered.csv");
    fs::write(&numbered, "id,initial_state\n0,R U\n").expect("a file");
    let words = ["bench", "--puzzle", "cube4:htm", "--search", "bfs", "--format", "submission", &numbered];
    assert!(refused(&words).contains("contests have no name for the move"));
    let words = ["bench", "--heuristic", "zero", "--search", "bfs", "--format", "submission", &plain];
    assert!(refused(&words).contains("the instances have no ids"));
    fs::write(&numbered, "id,initial_state\n0,A;B\n").expect("a file");
    assert!(refused(&["bench", &numbered]).contains("read as cube3 (name another puzzle with --puzzle)"));
    fs::write(&numbered, "id,moves\n0,f0\n").expect("a file");
    assert!(refused(&["bench", &numbered]).contains("this is a submission"));
    for (text, reason) in [
        (r#"{"generators": {"a": [0, 0]}}"#, "not a permutation"),
        (r#"{"generators": {"a": [1, 0], "a": [0, 1]}}"#, "\"a\" is given twice"),
        (r#"{"actions": [[1, 0], [0, 1]], "names": ["a", "a"]}"#, "a name twice"),
        (r#"{"generators": {"a.b": [1, 0]}}"#, "has a dot"),
        (r#"{"generators": {"a": [1, 0]}, "solved_state": [1, 0]}"#, "\"solved_state\" is unknown"),
        (r#"{"generators": [[1, 0]], "generator_names": ["a", "b"]}"#, "expected \"generators\""),
        (r#"{"generators": [[1, 0], [0, 1]], "generator_names": ["a", "a"]}"#, "\"generator_names\" has a name twice"),
        (r#"{"generators": [[1, 0]], "generator_names": [0]}"#, "\"generator_names\" holds something else than texts"),
        (r#"{"generators": {"a": [2, 1]}}"#, "expected each integer from 0 once"),
    ] {
        fs::write(path("info.json"), text).expect("a file");
        let out = path("refused");
        assert!(refused(&["import", &path("info.json"), &table, "--out", &out]).contains(reason), "{text}");
    }
    fs::write(path("info.json"), r#"{"generators": {"a": [1, 2, 0]}}"#).expect("a file");
    let refusal = refused(&["import", &path("info.json"), &table, "--out", &path("refused")]);
    assert!(refusal.contains("none of these instances"), "{refusal}");
    assert!(!Path::new(&path("refused")).exists(), "nothing is written");
    for (text, reason) in [
        ("id,initial_state\r\n0,R\r\n1,\r\n", "line 3: initial_state is missing"),
        ("id,initial_state\n,R\n", "line 2: id is missing"),
        ("# a comment\n\nid,initial_state\n \n0,R\n0,U\n", "line 6: the id 0 is there twice"),
        ("id,initial_state\r0,R\r1,R,U\r", "line 3: expected 2 fields, as the line of names has, not 3"),
        ("id,initial_state,initial_state\n0,R,U\n", "two columns are named initial_state"),
        ("id,initial_state\n0,\"R\"\n1,\"R", "a quotation mark is not closed"),
        ("# a, b\r\n#\r\n\r\nid,initial_state\r\n0,R\r\n\r\n0,U\r\n", "line 7: the id 0 is there twice"),
        ("id,initial_state\n#1,R\n#1,U\n", "line 3: the id #1 is there twice"),
    ] {
        fs::write(&numbered, text).expect("a file");
        assert!(refused(&["bench", "--puzzle", "cube2", &numbered]).contains(reason), "{text:?}");
    }
    let [info, puzzles] = ["puzzle_info.csv", "puzzles.csv"].map(&path);
    let [l, r] = ["l", "r"].map(|name| format!("{name},\"{{'a': [1, 2, 0]}}\"\n"));
    fs::write(&info, format!("puzzle_type,allowed_moves\n{l}{r}")).expect("a file");
    assert!(refused(&["import", &info]).contains("no file has the solved states: name puzzles.csv"));
    for (kind, rows, reason) in [
        (&r, "puzzle_type,solution_state,initial_state,id\n", "puzzles.csv holds no instance"),
        (&r, "solution_state,initial_state,id\n0 1 2,1 2 0,0\n", "no column puzzle_type says which of 2 puzzles"),
        (&l, "", "line 3: the puzzle type l is there twice"),
    ] {
        fs::write(&info, format!("puzzle_type,allowed_moves\n{l}{kind}")).expect("a file");
        fs::write(&puzzles, rows).expect("a file");
        let first = if rows.is_empty() { &info } else { &puzzles };
        assert!(refused(&["import", first]).contains(reason), "{reason}");
    }
}

#[test]
fn import_reads_every_form_of_states_and_replaces_no_file() {
    let (_folder, path) = temporary();
    let info = r#"{"generators": {"L": [1, 2, 0], "X": [1, 0, 2]}}"#;
    let table = "initial_state_id,initial_state,why\n0,\"[1, 2, 0]\",a\n1,1 2 0,b\n2,1;2;0,c\n";
    let units = std::iter::once(0xfeff).chain(table.encode_utf16());
    let folder = path("test");
    fs::create_dir(&folder).expect("a folder");
    let [own, moves] = ["test.csv", "puzzle_info.json"].map(|name| format!("{folder}/{name}"));
    fs::write(&own, units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()).expect("a file");
    fs::write(&moves, info).expect("a file");
    let before = fs::read(&own).expect("a file");
    let refusal = refused(&["import", &own, "--out", &folder]);
    assert!(refusal.contains("test.csv is there already, with other content"), "{refusal}");
    assert_eq!(fs::read(&own).expect("a file"), before);
    assert!(!fs::exists(format!("{folder}/test.json")).expect("a folder"), "all is refused, or all is written");
    let named = path("named.json");
    fs::write(&named, r#"{"generators": {"X": [1, 0]}, "name": "own"}"#).expect("a file");
    let ran = run(&["import", &named, "--out", &path("named")]);
    assert!(ran.err.contains("the solved state of own is 0 1 2 …") && ran.out.contains("own.json"), "{}", ran.err);
    let words = ["import", &own, "--name", "toy", "--out", &folder];
    for _ in 0..2 {
        let ran = run(&words);
        assert!(ran.code == 0 && ran.out.contains("3 instances"), "{}{}", ran.out, ran.err);
    }
    let rows = fs::read_to_string(format!("{folder}/toy.csv")).expect("a file");
    assert_eq!(rows, "initial_state_id,initial_state\n0,1 2 0\n1,1 2 0\n2,1 2 0\n");
}

#[test]
fn improve_writes_what_a_link_names_and_nothing_that_another_writes() {
    let (_folder, path) = temporary();
    let [table, known, out, link] = ["table.csv", "known.csv", "out.csv", "link.csv"].map(&path);
    fs::write(&table, "id,initial_state\n0,-r0.-f0\n").expect("a file");
    fs::write(&known, "id,moves\n0,f0.r0.d0.-d0\n").expect("a file");
    std::os::unix::fs::symlink(&out, &link).expect("a link");
    let words = ["improve", &known, "--instances", &table, "--puzzle", "cube4:oriented", "--out", &link];
    let words = [&words[..], &["--search", "bfs", "--heuristic", "zero", "--max-nodes", "100"]].concat();
    fs::write(&known, "id,moves\n0,f0\n0,r0\n").expect("a file");
    assert!(refused(&words).contains("the id 0 is there twice"));
    fs::write(&known, "id,moves\n0,f0.r0.d0.-d0\n").expect("a file");
    let open = fs::File::create(&out).expect("a file");
    open.lock().expect("a lock");
    assert!(refused(&words).contains("another improve is writing"));
    drop(open);
    let ran = run(&words);
    assert!(ran.out.contains("4 moves before, 2 now"), "{}{}", ran.out, ran.err);
    assert_eq!(fs::read_to_string(&out).expect("a file"), "id,moves\n0,f0.r0\n");
    assert!(fs::symlink_metadata(&link).is_ok_and(|metadata| metadata.is_symlink()));
    // Of an instance that is not in the table, a known solution stays where the other file has none.
    fs::write(&known, "id,moves\n0,f0.r0\n7,\n").expect("a file");
    fs::write(&out, "id,moves\n0,f0.r0\n7,d0.f0\n").expect("a file");
    assert_eq!(run(&words).code, 0);
    assert_eq!(fs::read_to_string(&out).expect("a file"), "id,moves\n0,f0.r0\n7,d0.f0\n");
    // In improve's own file, an empty cell is a solution without moves: the shortest.
    fs::write(&known, "id,moves\n0,f0.r0\n7,f0\n8,\n").expect("a file");
    fs::write(&out, "id,moves\n0,f0.r0\n7,\n").expect("a file");
    assert_eq!(run(&words).code, 0);
    assert_eq!(fs::read_to_string(&out).expect("a file"), "id,moves\n0,f0.r0\n7,\n8,UNSOLVED\n");
    // An empty cell is no solution, and one move has no window: the end does not wait for --for.
    fs::write(&table, "id,initial_state\n0,-f0\n").expect("a file");
    fs::write(&known, "id,moves\n0,\n").expect("a file");
    fs::write(&out, "id,moves\n0,f0\n").expect("a file");
    let ran = run(&[&words[..], &["--for", "1h"]].concat());
    assert!(ran.out.contains("1 moves before, 1 now"), "{}{}", ran.out, ran.err);
    fs::write(&out, "initial_state_id,path\n0,f0.r0\n").expect("a file");
    assert!(refused(&words).contains("of another contest"));
    let words = [&words[..7], &["/dev/null"], &words[8..]].concat();
    assert!(refused(&words).contains("/dev/null is not a file"));
}

#[test]
fn numbers_of_positions_become_small_within_their_orbits() {
    let (_folder, path) = temporary();
    // Two rings of 150 positions, which never mix.
    let turn =
        |first: usize| (0..300).map(|at| if at / 150 == first { first * 150 + (at + 1) % 150 } else { at }).collect();
    let turns: [Vec<usize>; 2] = [turn(0), turn(1)];
    let [a, b] = turns.map(|turn| turn.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
    let info = format!(r#"{{"generators": {{"a": [{a}], "b": [{b}]}}}}"#);
    let instances = [&a, &b, &a.replacen("299", "1", 1), &a.replacen(",0,150,", ",150,0,", 1)];
    let rows = instances.iter().enumerate().map(|(id, state)| format!("{id},\"{state}\"\n")).collect::<String>();
    let ran = imported(&path, &info, &format!("initial_state_id,initial_state\n{rows}"), "rings");
    assert!(ran.code == 0 && ran.err.contains("left out instances 2:"), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("left out instances 3: no moves lead from them"), "{}", ran.err);
    let [puzzle, table] = [path("rings.json"), path("rings.csv")];
    let ran = run(&["bench", "--puzzle", &puzzle, &table, "--search", "bfs", "--format", "submission"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out, "initial_state_id,path\n0,-a\n1,-b\n");
    let numbers = fs::read_to_string(&table).expect("a file");
    assert!(numbers.contains("0,1 2 3 4") && numbers.ends_with(" 149 0\n"), "{numbers}");
}

#[test]
fn what_no_moves_solve_and_too_many_symbols_are_left_out() {
    let (_folder, path) = temporary();
    let table = "id,initial_state,num_wildcards\n0,1 0 2,2\n1,1 0 2,0\n2,1 2 0,0\n";
    let ran = imported(&path, r#"{"generators": {"a": [1, 2, 0]}}"#, table, "toy");
    let why = "no moves lead from them to the solved state";
    for said in [format!("instances 0: {why}, and wildcards"), format!("instances 1: {why}\n")] {
        assert!(ran.code == 0 && ran.err.contains(&said), "{said}: {}{}", ran.out, ran.err);
    }
    assert!(ran.out.contains("1 instance:") && !ran.out.contains("(with wildcards"), "{}", ran.out);
    let turn: Vec<usize> = (1..300).chain([0]).collect();
    let ran = imported(&path, &format!(r#"{{"generators": {{"a": {turn:?}}}}}"#), table, "ring");
    assert!(ran.code == 2 && ran.err.contains("it has 300 different symbols"), "{}{}", ran.out, ran.err);
}

#[test]
fn submissions_repeat_the_states_where_a_contest_wants_it() {
    let (_folder, path) = temporary();
    let info = r#"{"generators": {"a": [1, 2, 0, 3, 4], "b": [0, 1, 2, 4, 3]}}"#;
    let table = "id,n,permutation\n7,5,\"1,2,0,4,3\"\n";
    let ran = imported(&path, info, table, "two");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let words = ["bench", "--puzzle", &path("two.json"), &path("two.csv"), "--search", "bfs", "--format", "submission"];
    let ran = run(&words);
    assert!(ran.out.starts_with("id,permutation,solution\n7,\"1,2,0,4,3\","), "{}{}", ran.out, ran.err);
    assert!(["-a.b\n", "b.-a\n"].iter().any(|moves| ran.out.ends_with(moves)), "{}", ran.out);
    let ran = imported(&path, r#"{"central_state": [0, 1, 2], "generators": {"a": [1, 2, 3, 0]}}"#, table, "short");
    assert!(
        ran.code == 2 && ran.err.contains("the move 'a' has 4 positions, and the solved state 3"),
        "{}{}",
        ran.out,
        ran.err
    );
}
