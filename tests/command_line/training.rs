//! `costar train`.

use crate::program::{TINY, checkpoints, json, model, refused, run, run_in_shell, temporary, train};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The command that a training prints at its end.
fn solve_command(said: &str) -> &str {
    said.lines().find_map(|line| line.split_once("solve with it: ")).expect("a command").1
}

/// How many entries a folder has.
fn count(folder: &str) -> usize {
    fs::read_dir(folder).expect("a folder").count()
}

#[test]
fn puzzles_without_inverses_are_trained_by_their_own_samples() {
    let (_folder, path) = temporary();
    for (puzzle, instance) in [("jugs:8,5,3", "8,0,0"), ("sokoban", "#####|#@$.#|#####")] {
        let out = path(&puzzle[..4]);
        let ran = train(&["--puzzle", puzzle, "--samples", "2e4", "--device", "cpu", "--out", &out]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let command = solve_command(&ran.err);
        let solved = run_in_shell(command);
        assert_eq!((solved.code, solved.out.lines().count()), (0, 1), "{command}: {}{}", solved.out, solved.err);
        let ran = run(&["solve", "--puzzle", puzzle, "--model", &out, "--json", instance]);
        assert_eq!((ran.code, &json(&ran.out)["heuristic"]), (0, &"network".into()), "{}", ran.err);
    }
    let wide = "############|#@$.        #|############";
    assert!(refused(&["solve", "--puzzle", "sokoban", "--model", &path("soko"), wide]).contains("matching"));
    let other = refused(&["solve", "--puzzle", "jugs:8,5,3", "--goal", "5", "--model", &path("jugs"), "8,0,0"]);
    assert!(other.contains("--goal"), "{other}");
    let none = refused(&["train", "--puzzle", "jugs:7,5,3", "--out", &path("none")]);
    assert!(none.contains("--goal") && none.contains("half of the first jug's 7"), "{none}");
}

#[test]
fn a_puzzle_from_a_file_is_trained_and_solved() {
    let (_folder, path) = temporary();
    let (out, file) = (path("run"), path("toy.json"));
    fs::write(
        &file,
        r#"{"name": "toy", "goal": "ABCDE", "moves": {"L": [1,2,3,4,0], "X": [1,0,2,3,4]}, "symmetric": true}"#,
    )
    .expect("it can be written");
    let words = ["--puzzle", &file, "--samples", "20000", "--device", "cpu", "--out", &out];
    let ran = train(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let trained = ran.err;
    let ran = run(&["solve", "--puzzle", &file, "--model", &out, "--device", "cpu", "--json", "L X L L X"]);
    let object = json(&ran.out);
    assert_eq!((ran.code, &object["solved"], &object["puzzle"]), (0, &true.into(), &"toy".into()), "{}", ran.err);
    let refusal = refused(&["solve", "--puzzle", "cube3", "--model", &out, "U"]);
    assert!(refusal.contains("toy") && refusal.contains("cube3"), "{refusal}");
    // The model keeps its puzzle's file; a run is resumed with its folder alone.
    fs::remove_file(&file).expect("it was there");
    let inferred = json(&run(&["solve", "--model", &out, "--device", "cpu", "--json", "L X L L X"]).out);
    assert_eq!((&inferred["solved"], &inferred["puzzle"]), (&true.into(), &"toy".into()), "{inferred}");
    let said = solve_command(&trained);
    let ran = run_in_shell(said);
    assert_eq!(ran.code, 0, "{said}: {}", ran.err);
    let ran = run(&["scramble", "--model", &out, "--depth", "5", "--seed", "1"]);
    assert_eq!((ran.code, ran.out.split_whitespace().count()), (0, 5), "{}{}", ran.out, ran.err);
    let page = path("toy.html");
    let ran = run(&["view", "--model", &out, "--out", &page, "L X", "X L'"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = run(&["perimeter", "--model", &out]);
    assert!(format!("{}{}", said.out, said.err).contains("toy"), "{}{}", said.out, said.err);
    let ran = run(&["train", "--resume", "--out", &out, "--samples", "25000", "--device", "cpu"]);
    assert!(ran.code == 0 && ran.err.contains("for toy"), "{}", ran.err);
    let model = checkpoints(&out)[0].join("model");
    fs::remove_file(model.join("puzzle.json")).expect("it was there");
    let refusal = refused(&["solve", "--model", model.to_str().expect("a plain path"), "L"]);
    assert!(refusal.contains("toy") && refusal.contains("no puzzle.json"), "{refusal}");
    let unsaved = path("unsaved");
    fs::create_dir(&unsaved).and_then(|()| fs::write(path("unsaved/metrics.jsonl"), "")).expect("a folder");
    assert!(refused(&["solve", "--model", &unsaved, "U"]).contains("no checkpoint yet"));
    let taken = r#"{"name": "puzzle8", "goal": "AB", "moves": {"a": [1,0]}}"#;
    fs::write(&file, taken).expect("it can be written");
    assert!(refused(&["solve", "--puzzle", &file, "a"]).contains("there is a puzzle puzzle8 already"));
    fs::write(&file, "{\n\"name\": 7}").expect("it can be written");
    assert!(refused(&["solve", "--puzzle", &file, "L"]).contains("line 2"));
}

#[test]
fn training_says_what_it_will_do_and_keeps_its_folder() {
    let (_folder, path) = temporary();
    let out = path("run");
    let words = ["--samples", "2000", "--device", "cpu", "--resume", "--out", &out];
    let message = refused(&[&TINY[..], &words].concat());
    assert!(message.contains("there is no run in"), "{message}");
    fs::create_dir(&out).expect("a folder");
    let ran = train(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for said in ["nothing to resume", "parameters", "on cpu", "samples at about", "/s: about", "scramble depth", "done"]
    {
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
    }
    let message = refused(&[&TINY[..], &["--samples", "2000", "--out", &out]].concat());
    assert!(message.contains("--resume"), "{message}");
    // A finished run says so; a flag that differs is refused by name; more samples go on. --steps is an alias of --samples.
    let ran = train(&["--steps", "2000", "--resume", "--out", &out]);
    assert!(ran.code == 0 && ran.err.contains("nothing is left"), "{}", ran.err);
    let ran = run(&["train", "--resume", "--out", &out]);
    assert!(ran.code == 0 && ran.err.contains("nothing is left"), "--samples is the run's own: {}", ran.err);
    let plain = ["train", "--resume", "--out", &out, "--samples", "3000"];
    for (flag, value) in [
        ("--width", "32"),
        ("--blocks", "2"),
        ("--net", "resnet"),
        ("--lr", "0.5"),
        ("--batch-size", "128"),
        ("--max-depth", "7"),
        ("--seed", "2"),
        ("--init", model()),
        ("--sparse-states", "0.5"),
        ("--schedule", "linear"),
        ("--ema", "0.9"),
        ("--labels", "exact"),
        ("--perimeter", "3"),
        ("--sampler", "device"),
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
fn nothing_is_resumed_or_written_where_there_is_no_run() {
    let (_folder, path) = temporary();
    let out = path("shipped");
    let newest = checkpoints(model()).into_iter().max().expect("a checkpoint");
    fs::create_dir(&out).expect("a folder");
    for file in ["config.json", "model.safetensors", "README.md"] {
        fs::copy(newest.join("model").join(file), Path::new(&out).join(file)).expect("a file of a model");
    }
    for words in [&["train", "--resume", "--out", &out][..], &["train", "--out", &out]] {
        let message = refused(words);
        assert!(message.contains(&out) && message.contains("no run") && message.contains("--out"), "{message}");
    }
    assert_eq!(count(&out), 3, "nothing was written there");
    // Files of a run that was killed before it saved.
    let out = path("unsaved");
    fs::create_dir_all(Path::new(&out).join("checkpoint-000000000000640.tmp")).expect("a folder");
    for file in ["lock", "metrics.jsonl", "events.out.tfevents.1.costar.1"] {
        fs::write(Path::new(&out).join(file), "").expect("a file");
    }
    let ran = train(&["--resume", "--samples", "640", "--device", "cpu", "--out", &out]);
    assert!(ran.code == 0 && ran.err.contains("nothing to resume"), "{}", ran.err);
}

#[test]
fn a_resumed_run_keeps_its_snapshots_checkpoints_and_events() {
    let (_folder, path) = temporary();
    let (out, board, other) = (path("run"), path("run/board"), path("other"));
    let words = ["--samples", "640", "--device", "cpu", "--out", &out, "--tensorboard", &board];
    let ran = train(&[&words[..], &["--snapshot-every", "320", "--checkpoint-every", "128"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The run may be moved.
    let moved = path("moved");
    fs::rename(&out, &moved).expect("it can be moved");
    let inside = |name: &str| Path::new(&moved).join(name).to_str().expect("a plain path").to_owned();
    let saved = || -> Vec<u64> {
        let lines = fs::read_to_string(inside("metrics.jsonl")).expect("metrics");
        let saved = lines.lines().map(json).filter(|line| line["predictions"] != Value::Null);
        saved.filter_map(|line| line["samples"].as_u64()).collect()
    };
    let resume = |steps: &str, more: &[&str]| {
        let ran = run(&[&["train", "--resume", "--device", "cpu", "--out", &moved, "--samples", steps], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
    };
    resume("1280", &[]);
    assert_eq!((count(&inside("snapshots")), count(&inside("board"))), (4, 2));
    assert_eq!(saved(), [128, 256, 320, 448, 576, 640, 768, 896, 960, 1088, 1216, 1280]);
    assert!(!Path::new(&out).exists(), "the folder of events has moved with the run");
    resume("1920", &["--snapshot-every", "0", "--checkpoint-every", "320", "--tensorboard", &other]);
    resume("2560", &[]);
    assert_eq!((count(&inside("snapshots")), count(&inside("board")), count(&other)), (4, 2, 2));
    assert_eq!(saved()[12..], [1600, 1920, 2240, 2560]);
    fs::remove_dir_all(&other).expect("it was there");
    fs::write(&other, "").expect("a file");
    let message = refused(&["train", "--resume", "--device", "cpu", "--out", &moved, "--samples", "2624"]);
    assert!(message.contains("--tensorboard") && message.contains(&other), "{message}");
}

#[test]
fn metrics_go_to_tensorboard_too() {
    let (_folder, path) = temporary();
    let (out, board) = (path("run"), path("board"));
    let words = ["--device", "cpu", "--out", &out, "--tensorboard", &board];
    assert_eq!(train(&[&["--samples", "640"], &words[..]].concat()).code, 0);
    let files = || fs::read_dir(&board).expect("a folder").flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let bytes = fs::read(&files()[0]).expect("events");
    let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    for tag in ["brain.Event:2", "loss", "absolute_error", "learning_rate", "cross_entropy"] {
        assert!(has(tag), "{tag}");
    }
    let ran = run(&[&["train", "--resume", "--samples", "1280"], &words[..]].concat());
    assert!(ran.code == 0 && files().len() == 2, "{}", ran.err);
    fs::write(path("file"), "").expect("a file");
    let message = refused(&[&TINY[..], &["--out", &path("other"), "--tensorboard", &path("file")]].concat());
    assert!(message.contains("--tensorboard"), "{message}");
}

#[test]
fn labels_schedules_and_averages_are_the_runs_own() {
    let (_folder, path) = temporary();
    let out = path("run");
    let chosen = ["--labels", "exact", "--perimeter", "3", "--schedule", "wsd", "--ema", "0.9"];
    let ran = train(&[&["--samples", "640", "--device", "cpu", "--out", &out], &chosen[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let config = fs::read_to_string(Path::new(&out).join("checkpoint-000000000000640/model/config.json"));
    let training = json(&config.expect("a model's settings"))["training"].clone();
    assert_eq!(training["labels"]["exact"]["perimeter"], 3, "{training}");
    assert_eq!((&training["schedule"], &training["ema"]), (&"wsd".into(), &0.9.into()), "{training}");
    let resume = ["train", "--resume", "--device", "cpu", "--out", &out, "--samples", "1280"];
    for flags in [["--perimeter", "4"], ["--target-every", "5"], ["--labels", "walks"], ["--schedule", "constant"]] {
        let message = refused(&[&resume[..], &flags].concat());
        assert!(message.contains(flags[0]), "{flags:?}: {message}");
    }
    let ran = run(&[&resume[..], &chosen].concat());
    assert!(ran.code == 0 && ran.err.contains("resuming after 640 samples"), "{}", ran.err);
    // A setting of other labels, labels that are gone, and an average that never takes anything in.
    for flags in [["--perimeter", "4"], ["--target-every", "5"], ["--labels", "tightened"], ["--ema", "1"]] {
        let message = refused(&[&["train", "--out", &path("other")], &flags[..]].concat());
        assert!(message.contains(flags[0]), "{flags:?}: {message}");
    }
    assert!(!Path::new(&path("other")).exists(), "nothing is left of what is refused");
}

#[test]
fn a_network_learns_from_solutions() {
    let (_folder, path) = temporary();
    let (boards, solutions, out) = (path("boards.txt"), path("solutions.jsonl"), path("run"));
    let scrambles = run(&["scramble", "--puzzle", "puzzle8", "--as", "state", "--count", "40", "--seed", "3"]);
    fs::write(&boards, scrambles.out).expect("it can be written");
    let search = ["--puzzle", "puzzle8", "--search", "astar", "--heuristic", "manhattan", "--out", &solutions];
    let ran = run(&[&["bench", &boards], &search[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let learn = ["--puzzle", "puzzle8", "--device", "cpu", "--samples", "19200"];
    let ran = train(&[&learn[..], &["--solutions", &solutions, "--out", &out]].concat());
    assert!(ran.code == 0 && ran.err.contains("solutions.jsonl"), "{}", ran.err);
    let (folder, resume) = (&format!("{out}/checkpoint-000000000019200"), ["train", "--resume", "--out", &out]);
    let config = fs::read_to_string(Path::new(folder).join("model/config.json")).expect("a model's settings");
    let training = json(&config)["training"].clone();
    assert_eq!(training["labels"]["solutions"]["solutions"], solutions.as_str(), "{training}");
    // A distance, not the length of a walk: 60 moves by default, where no board is farther than 31.
    let depth = training["max_depth"].as_u64().expect("a depth");
    assert!((20..=31).contains(&depth) && training["network"]["offset"] == depth as f64 / 2.0, "{training}");
    let predictions = fs::read_to_string(Path::new(&out).join("metrics.jsonl")).expect("metrics");
    let last = json(predictions.lines().last().expect("a line"));
    let errors = last["predictions"].as_array().expect("predictions").iter().map(|prediction| {
        (prediction["mean"].as_f64().expect("a mean") - prediction["depth"].as_f64().expect("a depth")).abs()
    });
    assert!(errors.sum::<f64>() / (depth as f64) < 3.0, "{last}");

    let ran = run(&[&resume[..], &["--samples", "19264", "--device", "cpu"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let other = path("other.jsonl");
    let text = fs::read_to_string(&solutions).expect("results");
    let refusals = [
        ("puzzle8", text.lines().take(2).collect::<Vec<_>>().join("\n").replace("\"U\"", "\"D\""), "solve"),
        ("puzzle15", text.clone(), "puzzle15"),
        ("puzzle8", "{}\n{\"solved\": 1}\n".into(), "other.jsonl"),
        ("puzzle8", text.replace("true", "false").replace("\"cost\":", "\"cost\":null,\"was\":"), "no solution"),
    ];
    for (puzzle, text, named) in refusals {
        fs::write(&other, text).expect("it can be written");
        let message = refused(&["train", "--puzzle", puzzle, "--solutions", &other, "--out", &path("none")]);
        assert!(message.contains(named), "{named}: {message}");
    }
    for flags in [
        &["--solutions", &path("none.jsonl")][..],
        &["--labels", "solutions"],
        &["--solutions", &solutions, "--labels", "exact"],
        &["--solutions", &solutions, "--walk-samples", "2"],
        &["--solutions", &solutions, "--sparse-states", "0.5"],
        &["--solutions", &solutions, "--sampler", "device"],
    ] {
        let message = refused(&[&["train", "--out", &path("none")], &learn[..4], flags].concat());
        assert!(message.contains(flags[flags.len() - 2].trim_start_matches('-')), "{flags:?}: {message}");
    }
    assert!(!Path::new(&path("none")).exists(), "nothing is left of what is refused");
    fs::write(&solutions, text.lines().take(20).map(|line| format!("{line}\n")).collect::<String>()).expect("cut");
    let message = refused(&[&resume[..], &["--samples", "19328"]].concat());
    assert!(message.contains("has changed"), "{message}");
}

#[test]
fn samples_are_made_on_the_device_where_it_can() {
    let (_folder, path) = temporary();
    let out = path("run");
    let ran =
        train(&["--samples", "640", "--device", "cpu", "--sampler", "device", "--max-depth", "20", "--out", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let config = fs::read_to_string(Path::new(&out).join("checkpoint-000000000000640/model/config.json"));
    let training = json(&config.expect("a model's settings"))["training"].clone();
    assert_eq!((&training["sampler"], &training["walk_samples"]), (&"device".into(), &5.into()), "{training}");
    let resume = ["train", "--resume", "--device", "cpu", "--out", &out, "--samples", "1280"];
    assert!(refused(&[&resume[..], &["--sampler", "host"]].concat()).contains("--sampler"));
    assert_eq!(run(&[&resume[..], &["--sampler", "device"]].concat()).code, 0);
    for flags in
        [&["--puzzle", "sokoban"][..], &["--labels", "exact"], &["--sparse-states", "0.5"], &["--sampler", "gpu"]]
    {
        let command = ["train", "--device", "cpu", "--out", &path("other"), "--sampler", "device"];
        let command = if flags[0] == "--sampler" { &command[..5] } else { &command[..] };
        let message = refused(&[command, flags].concat());
        assert!(message.contains("--sampler") && message.contains("host"), "{flags:?}: {message}");
    }
}

#[test]
fn a_run_begins_with_another_models_weights() {
    let (_folder, path) = temporary();
    let out = path("run");
    let words =
        ["train", "--init", model(), "--samples", "640", "--batch-size", "64", "--device", "cpu", "--out", &out];
    let message = refused(&[&words[..], &["--width", "32"]].concat());
    assert!(message.contains("--width") && message.contains("--init"), "{message}");
    let message = refused(&["train", "--init", "nosuch", "--out", &out]);
    assert!(message.contains("--init: there is no model 'nosuch'"), "{message}");
    let ran = run(&words);
    assert!(ran.code == 0 && ran.err.contains("16 × 1 with a policy head"), "{}", ran.err);
    // A puzzle with the same encoding takes all but the policy head.
    let other = path("half-turns");
    let init = |puzzle| ["train", "--init", model(), "--puzzle", puzzle, "--samples", "64", "--batch-size", "64"];
    let ran = run(&[&init("cube3:htm")[..], &["--device", "cpu", "--out", &other]].concat());
    assert!(ran.code == 0 && ran.err.contains("16 × 1 with a policy head"), "{}", ran.err);
    let solve = ["solve", "--model", &other, "--n", "100", "--perimeter", "0", "--json", "R2"];
    let solved = json(&run(&solve).out);
    assert_eq!((&solved["puzzle"], &solved["moves"]), (&"cube3:htm".into(), &serde_json::json!(["R2"])));
    let message = refused(&[&init("cube2")[..], &["--device", "cpu", "--out", &path("none")]].concat());
    assert!(message.contains("--init: the model in") && message.contains("encodings"), "{message}");
    assert!(!Path::new(&path("none")).exists(), "nothing is left of what is refused");
}
