//! Pictures, checked by their data: counts, axes, intervals, points, refusals, and file formats.

use assert_cmd::Command;
use costar::plot::{
    Axis, Canvas, Density, DepthKind, Format, Histogram, MAX_SERIES, Results, TrainingRun, cumulative, densities,
    effort, frontier, lengths, mean, pairs, settings, settings_points, share, training,
};
use costar::report::{Metrics, Record};
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

// ---- data ----

fn line(samples: u64) -> Metrics {
    let done = samples as f64 / 1e6;
    Metrics {
        samples,
        seconds: done,
        samples_per_second: 1e6,
        loss: 2.0 - done,
        squared_error: 9.0,
        absolute_error: 3.0 - done,
        cross_entropy: Some(1.0),
        learning_rate: 1e-3,
        predictions: None,
    }
}

fn run(name: &str) -> TrainingRun {
    TrainingRun { name: name.into(), metrics: (1..=20).map(|i| line(i * 50_000)).collect() }
}

/// The published search; its `n` is filled in.
const PUBLISHED: &str = r#"{"search":"bwas","n":0,"lambda":0.6}"#;

/// A result of the optimal length 20; no length, no solution.
fn solved(instance: usize, length: Option<u32>, seconds: f64, n: usize, config: &str) -> Record {
    let config = config.replace("\"n\":0", &format!("\"n\":{n}"));
    let text = format!(
        r#"{{"puzzle":"cube3","instance":"{instance}","solved":{},"moves":null,"length":{length},"cost":{length},
        "optimal_length":20,"proven_optimal":false,"nodes_generated":{},"nodes_stored":1,"nodes_expanded":1,
        "nodes_evaluated":1,"iterations":1,"seconds":{seconds},"device":"cpu","model":"cube3","search":"bwas","n":{n},
        "nodes_pruned":0,"lambda":0.6,"config":{config},"heuristic":"network","ended_by":null,"weights_crc32":1,"max_seconds":null,
        "max_nodes":null,"max_memory":null}}"#,
        length.is_some(),
        instance * 100,
        length = length.map_or("null".into(), |length| length.to_string()),
    );
    serde_json::from_str(&text).expect("a record")
}

fn results(name: &str, found: &[Option<u32>], n: usize, config: &str) -> Results {
    let records = found.iter().enumerate().map(|(i, &length)| solved(i + 1, length, (i + 1) as f64, n, config));
    Results { name: name.into(), records: records.collect() }
}

#[test]
fn histograms_count_predictions_by_depth() {
    let said = [(1, 1.0), (1, 1.2), (2, 1.9), (2, 2.0), (3, 9.0), (3, -1.0), (4, 2.0), (0, 1.0)];
    let histogram = Histogram::new(&said, 3);
    assert_eq!((histogram.depths, histogram.bin), (1, 0.25));
    // Up to 3 moves and a quarter more, in quarters of a move, and what is beyond.
    assert_eq!(histogram.counts.dim(), (3, 16));
    let counted: Vec<_> = histogram.counts.indexed_iter().filter(|(_, count)| **count > 0).collect();
    assert_eq!(counted, [((0, 4), &2), ((1, 7), &1), ((1, 8), &1), ((2, 0), &1), ((2, 15), &1)]);
    let means: Vec<f64> = histogram.means.iter().map(|mean| mean.expect("every depth has scrambles")).collect();
    assert!(near(means[0], 1.1) && near(means[1], 1.95) && near(means[2], 4.0), "{means:?}");
    assert_eq!((histogram.column_total(1), histogram.share(1, 8)), (2, 0.5));
    let deep = Histogram::new(&[(1, 1.0), (4, 2.0), (5, 100.0), (200, 150.0)], 200);
    assert_eq!((deep.depths, deep.bin, deep.counts.dim().0), (4, 5.0, 50));
    assert_eq!((deep.column_total(0), deep.column_total(1), deep.column_total(49)), (2, 1, 1));
    assert_eq!(deep.means[2], None);
}

#[test]
fn axes_begin_and_end_at_their_steps() {
    let axis = |values: &[f64], most| Axis::linear(values.iter().copied(), most);
    assert_eq!(axis(&[0.0, 26.0], 6).ticks, [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
    let narrow = axis(&[1.785, 1.823], 4);
    assert_eq!(
        narrow.ticks.iter().map(|&tick| narrow.label(tick)).collect::<Vec<_>>(),
        ["1.78", "1.80", "1.82", "1.84"]
    );
    assert_eq!((axis(&[], 5).low, axis(&[], 5).high), (0.0, 1.0));
    assert_eq!((axis(&[7.0], 5).low, axis(&[7.0], 5).high), (2.0, 12.0));
    for values in [[1e300, -1e300], [f64::NAN, 1.0], [1e-300, 2e-300], [1e15, 1e15 + 1.0], [-5.0, -5.0]] {
        let axis = axis(&values, 5);
        assert!(axis.high > axis.low && axis.ticks.len() <= 6, "{values:?}: {axis:?}");
        assert!((0.0..=1.0).contains(&axis.share(values[0])), "{values:?}");
    }
    let log = |values: &[f64]| Axis::log(values.iter().copied(), 1e-4);
    assert_eq!(log(&[3.0, 30.0]).ticks, [2.0, 5.0, 10.0, 20.0, 50.0]);
    assert_eq!(log(&[0.02, 300.0]).ticks.len(), 6);
    assert_eq!((log(&[10.0]).low, log(&[10.0]).high), (10.0, 20.0));
    assert_eq!((log(&[0.0, 1.0]).low, log(&[0.0, 1.0]).share(0.0)), (1e-4, 0.0));
    assert!(near(log(&[1.0, 100.0]).share(10.0), 0.5));
    let wide = log(&[0.02, 3e6]);
    assert_eq!(wide.label(0.01) + &wide.label(1e3) + &wide.label(1e7), "0.011 k10 M");
}

#[test]
fn intervals_are_those_of_wilson_and_student() {
    let of = |hits, trials| share(hits, trials).map(|share| (share.low, share.value, share.high));
    let (low, value, high) = of(8, 10).expect("trials");
    assert!(near(low, 0.4902) && near(value, 0.8) && near(high, 0.9433), "{low} {high}");
    let (low, _, high) = of(0, 10).expect("trials");
    assert!(low == 0.0 && near(high, 0.2775), "{low} {high}");
    assert_eq!(of(0, 0), None);
    assert_eq!(of(5, 5).map(|share| share.2), Some(1.0));
    let five = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("values");
    assert!(near(five.value, 3.0) && near(five.high, 4.963) && near(five.low, 1.037), "{five:?}");
    let two = mean(&[1.0, 2.0]).expect("values");
    assert!(near(two.high, 1.5 + 12.7062 / 2.0), "{two:?}");
    assert_eq!(mean(&[4.0]).map(|one| (one.low, one.high)), Some((4.0, 4.0)));
    assert_eq!(mean(&[]), None);
}

#[test]
fn points_of_settings_come_from_the_results() {
    let deferred = r#"{"search":"bwas","n":0,"lambda":0.6,"deferred":true,"policy_weight":3.0,"max_stale_steps":4}"#;
    let few = results("few", &[Some(20), Some(22), None, Some(24)], 100, deferred);
    let many = results("many", &[Some(20), Some(20), Some(20), Some(22)], 1000, deferred);
    let published = results("published", &[Some(24); 4], 1000, PUBLISHED);
    let points = settings_points(&[&few, &many, &published]);
    let groups: Vec<(&str, &str)> = points.iter().map(|point| (point.group.as_str(), point.label.as_str())).collect();
    assert_eq!(groups, [("deferred", "N = 100"), ("deferred", "N = 1 k"), ("bwas", "N = 1 k")]);
    let optimal: Vec<f64> = points.iter().filter_map(|point| Some(point.optimal?.value)).collect();
    assert_eq!(optimal, [0.25, 0.75, 0.0]);
    assert_eq!(points[0].optimal, share(1, 4));
    assert_eq!(points[0].solved.value, 0.75);
    assert_eq!((points[0].seconds.value, points[0].length.map(|length| length.value)), (2.5, Some(22.0)));
    let canvas = settings(&[&few, &many, &published]);
    assert!(canvas.texts().contains(&"optimal: 20.00"), "{:?}", canvas.texts());
}

#[test]
fn lengths_and_efforts_come_from_the_results() {
    let few = results("few", &[Some(20), Some(22), None, Some(22)], 100, PUBLISHED);
    assert_eq!(pairs(&few).into_iter().collect::<Vec<_>>(), [((20, 20), 1), ((20, 22), 2)]);
    let seconds = cumulative(&few, |record| record.seconds);
    assert_eq!(seconds, [(1.0, 0.25), (2.0, 0.5), (4.0, 0.75)]);
    let texts = lengths(&[&few]);
    let said = "few: 1 of 4 optimal, mean +1.33, 1 not solved";
    assert!(texts.texts().contains(&said), "{:?}", texts.texts());
    let texts = effort(&[&few]);
    let said = "few: half within 2 s, and within 200 nodes; 1 not solved";
    assert!(texts.texts().contains(&said), "{:?}", texts.texts());
}

#[test]
fn a_training_has_a_panel_for_each_measure_and_a_name_for_each_run() {
    let one = training(&[run("alone")]);
    assert!(one.texts().contains(&"alone, 1,000,000 samples"), "{:?}", one.texts());
    assert!(one.texts().contains(&"cross-entropy of the policy (nats)"));
    assert!(one.texts().contains(&"grey: learning rate, from 0 to 1e-3"));
    let mut without = run("b");
    without.metrics.iter_mut().for_each(|line| line.cross_entropy = None);
    let two = training(&[TrainingRun { name: "a".into(), ..without.clone() }, without]);
    assert!(!two.texts().iter().any(|text| text.starts_with("cross")));
    assert_eq!(two.texts().iter().filter(|text| **text == "a").count(), 2);
}

// ---- files ----

fn frame(samples: u64) -> Density {
    let said: Vec<(u32, f32)> =
        (1..=8).flat_map(|depth| [(depth, depth as f32), (depth, 0.5 * samples as f32)]).collect();
    Density { name: "toy".into(), samples, histogram: Histogram::new(&said, 8), depths: DepthKind::default() }
}

fn frames(bytes: &[u8]) -> Vec<(u16, u16, u16)> {
    let mut decoder = gif::DecodeOptions::new().read_info(Cursor::new(bytes)).expect("a GIF");
    let mut frames = Vec::new();
    while let Some(frame) = decoder.read_next_frame().expect("a frame") {
        frames.push((frame.width, frame.height, frame.delay));
    }
    frames
}

#[test]
fn each_file_has_its_format() {
    let pictures: Vec<Canvas> = densities(&[frame(1), frame(4), frame(9)]);
    let png = Format::Png.encode(&pictures[..1], 600).expect("a PNG");
    let decoded = png::Decoder::new(Cursor::new(&png)).read_info().expect("a PNG");
    assert_eq!((decoded.info().width, decoded.info().height), (600, 400));
    let svg = String::from_utf8(Format::Svg.encode(&pictures[..1], 600).expect("an SVG")).expect("text");
    assert!(svg.starts_with("<svg width=\"600\" height=\"400\"") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(svg.contains("predicted cost-to-go (moves)"));
    let gif = Format::Gif.encode(&pictures, 300).expect("a GIF");
    assert_eq!(&gif[..6], b"GIF89a");
    assert_eq!(frames(&gif), [(300, 200, 60), (300, 200, 60), (300, 200, 250)]);
    assert!(Format::Png.encode(&pictures, 600).is_err() && Format::Svg.encode(&[], 600).is_err());
    // Drawn twice, it is the same.
    assert_eq!(Format::Gif.encode(&pictures, 300).expect("a GIF"), gif);
}

#[test]
fn odd_data_is_drawn_without_a_panic() {
    let nothing = results("nothing", &[None, None], 100, PUBLISHED);
    let long = results(&"long ".repeat(60), &[Some(1_000_000)], 100, PUBLISHED);
    let all: Vec<&Results> = std::iter::repeat_n(&long, MAX_SERIES).collect();
    let lone = TrainingRun {
        name: "<&\"> \u{1F600}".into(),
        metrics: vec![Metrics { loss: 1e308, learning_rate: 0.0, ..line(0) }],
    };
    for canvas in [
        settings(&[&nothing]),
        lengths(&[&nothing]),
        effort(&[&nothing, &long]),
        lengths(&all),
        effort(&all),
        settings(&all),
        frontier(&all).expect("all are solved"),
        training(&[lone]),
    ] {
        for format in [Format::Png, Format::Svg, Format::Gif] {
            assert!(!format.encode(std::slice::from_ref(&canvas), 300).expect("a picture").is_empty());
        }
    }
}

// ---- the command ----

fn costar(folder: &Path, words: &[&str]) -> (i32, String) {
    let mut command = Command::cargo_bin("costar").expect("the program was built");
    command.current_dir(folder).env("OMP_NUM_THREADS", "1").env_remove("COSTAR_MODELS");
    let output = command.args(words).timeout(Duration::from_secs(300)).output().expect("it runs");
    assert!(output.stdout.is_empty() || words[0] == "bench", "results of plot are files");
    (output.status.code().expect("it exits by itself"), String::from_utf8(output.stderr).expect("text"))
}

fn plot(folder: &TempDir, words: &[&str]) -> String {
    let (code, err) = costar(folder.path(), &[&["plot"], words].concat());
    assert_eq!(code, 0, "{words:?}: {err}");
    err
}

/// Runs a command that must be refused; returns the message.
fn refused(folder: &TempDir, words: &[&str]) -> String {
    let (code, err) = costar(folder.path(), &[&["plot"], words].concat());
    assert_eq!(code, 2, "{words:?}: {err}");
    assert!(!err.contains("panicked"), "{err}");
    err
}

fn write(folder: &TempDir, name: &str, lines: &[impl serde::Serialize]) -> String {
    let lines = lines.iter().map(|line| serde_json::to_string(line).expect("JSON") + "\n");
    let text: String = lines.collect();
    fs::write(folder.path().join(name), &text).expect("a file");
    text
}

#[test]
fn metrics_and_results_are_distinguished_and_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = write(&folder, "metrics.jsonl", &run("a").metrics);
    let said = plot(&folder, &["metrics.jsonl"]);
    assert!(said.contains("costar-training.png"), "{said}");
    assert!(fs::read(folder.path().join("costar-training.png")).expect("a picture").starts_with(b"\x89PNG"));
    // A line that is being written is skipped, and the file left as it is.
    let torn = text + "{\"samples\": 12";
    fs::write(folder.path().join("metrics.jsonl"), &torn).expect("a file");
    plot(&folder, &["metrics.jsonl", "--out", "a.svg"]);
    assert_eq!(fs::read_to_string(folder.path().join("metrics.jsonl")).expect("the file"), torn);
    write(&folder, "few.jsonl", &results("", &[Some(20), Some(22)], 100, PUBLISHED).records);
    write(&folder, "many.jsonl", &results("", &[Some(20), Some(20)], 1000, PUBLISHED).records);
    for (words, picture) in [
        (vec!["few.jsonl"], "costar-lengths.png"),
        (vec!["few.jsonl", "many.jsonl"], "costar-settings.png"),
        (vec!["few.jsonl", "many.jsonl", "--kind", "effort"], "costar-effort.png"),
        (vec!["few.jsonl", "many.jsonl", "--kind", "frontier"], "costar-frontier.png"),
    ] {
        let said = plot(&folder, &words);
        assert!(said.contains(picture) && folder.path().join(picture).is_file(), "{words:?}: {said}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let has = |words: &[&str], parts: &[&str]| {
        let err = refused(&folder, words);
        assert!(parts.iter().all(|part| err.contains(part)), "{words:?}: {err}");
    };
    let metrics = write(&folder, "metrics.jsonl", &run("a").metrics);
    let found = results("", &[Some(20), Some(22)], 100, PUBLISHED).records;
    write(&folder, "results.jsonl", &found);
    fs::write(folder.path().join("empty.jsonl"), "\n").expect("a file");
    fs::write(folder.path().join("broken.jsonl"), format!("{metrics}x\n{metrics}")).expect("a file");
    fs::write(folder.path().join("torn.jsonl"), &metrics[..40]).expect("a file");
    fs::write(folder.path().join("other.jsonl"), "{\"a\": 1}\n").expect("a file");
    fs::create_dir(folder.path().join("nothing")).expect("a folder");
    let mut mixed = found.clone();
    mixed.extend(results("", &[Some(20)], 1000, PUBLISHED).records);
    write(&folder, "mixed.jsonl", &mixed);
    let unknown: Vec<Record> = found.iter().map(|record| Record { optimal_length: None, ..record.clone() }).collect();
    write(&folder, "unknown.jsonl", &unknown);
    let others: Vec<Record> = found.iter().map(|record| Record { puzzle: "cube2".into(), ..record.clone() }).collect();
    write(&folder, "cube2.jsonl", &others);
    has(&["results.jsonl", "cube2.jsonl"], &["results of another puzzle", "the puzzle is cube2 there, and cube3 here"]);
    has(&["empty.jsonl"], &["empty.jsonl is empty"]);
    has(&["broken.jsonl"], &["line 21 of broken.jsonl"]);
    has(&["torn.jsonl"], &["line 1 of torn.jsonl", "not JSON"]);
    has(&["other.jsonl"], &["line 1 of other.jsonl", "not a record"]);
    has(&["mixed.jsonl"], &["line 3 of mixed.jsonl", "--n is 1000"]);
    has(&["nothing"], &["nothing is a folder without metrics.jsonl"]);
    has(&["absent.jsonl"], &["there is no file, folder or model 'absent.jsonl'"]);
    has(&["metrics.jsonl", "results.jsonl"], &["results.jsonl holds results of bench", "metrics.jsonl is a run"]);
    has(&["metrics.jsonl", "--kind", "lengths"], &["--kind lengths", "training, density"]);
    has(&["metrics.jsonl", "--kind", "density"], &["expected the folder of the run"]);
    has(&["metrics.jsonl", "--out", "a.jpg"], &["a.jpg", ".png, .svg or .gif"]);
    has(&["metrics.jsonl", "--out", "no/a.png"], &["there is no folder no"]);
    has(&["metrics.jsonl", "--instances", "metrics.jsonl"], &["--instances"]);
    let unsolved = Record { solved: false, length: None, cost: None, ..found[0].clone() };
    write(&folder, "unsolved.jsonl", &[unsolved]);
    plot(&folder, &["unsolved.jsonl"]);
    has(
        &["results.jsonl", "unsolved.jsonl", "--kind", "frontier"],
        &["unsolved has other instances than results", "expected the same in all files"],
    );
    has(&["unsolved.jsonl", "--kind", "frontier"], &["no file has a solution of every instance"]);
    has(&["unsolved.jsonl", "--kind", "lengths"], &["no instance with a known optimal length is solved"]);
    has(&["unknown.jsonl", "--kind", "lengths"], &["no solution in it has a known optimal length", "--instances"]);
    let many = ["metrics.jsonl"; MAX_SERIES + 1];
    has(&many, &["8 runs are too many", "expected at most 7"]);
    // The optimal lengths are known to the file of instances.
    fs::write(folder.path().join("all.tsv"), "# some\n1\t18\n2\t22 # a comment\n").expect("a file");
    plot(&folder, &["unknown.jsonl", "--instances", "all.tsv", "--out", "known.png"]);
    fs::write(folder.path().join("others.tsv"), "8\t18\n").expect("a file");
    has(&["unknown.jsonl", "--instances", "others.tsv"], &["--instances", "no instance of the results"]);
    fs::write(folder.path().join("all.tsv"), "1\t18\n2\tmany\n").expect("a file");
    has(&["unknown.jsonl", "--instances", "all.tsv"], &["line 2 of all.tsv", "'many'"]);
}

#[test]
fn bench_writes_the_known_optimum() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("all.tsv"), "1 2 3 4 5 6 0 7 8\t2\n1 2 3 4 5 6 7 0 8\n").expect("a file");
    let words = ["bench", "all.tsv", "--puzzle", "puzzle8", "--search", "bfs", "--out", "results.jsonl"];
    let (code, err) = costar(folder.path(), &words);
    assert_eq!(code, 0, "{err}");
    let text = fs::read_to_string(folder.path().join("results.jsonl")).expect("results");
    let known: Vec<Option<u32>> =
        text.lines().map(|line| serde_json::from_str::<Record>(line).expect("a record").optimal_length).collect();
    assert_eq!(known, [Some(2), None]);
    plot(&folder, &["results.jsonl", "--out", "a.png"]);
}

#[test]
fn a_run_s_snapshots_become_an_animation() {
    let folder = tempfile::tempdir().expect("a folder");
    let train = [
        "train",
        "--puzzle",
        "puzzle8",
        "--net",
        "mlp",
        "--width",
        "16",
        "--blocks",
        "1",
        "--batch-size",
        "64",
        "--samples",
        "192",
        "--snapshot-every",
        "64",
        "--device",
        "cpu",
        "--max-depth",
        "12",
        "--out",
        "run",
    ];
    let (code, err) = costar(folder.path(), &train);
    assert_eq!(code, 0, "{err}");
    let few = ["--scrambles", "100", "--width", "300", "--device", "cpu"];
    plot(&folder, &[&["run", "--out", "a.gif"], &few[..]].concat());
    let gif = fs::read(folder.path().join("a.gif")).expect("an animation");
    assert_eq!(frames(&gif).len(), 3);
    plot(&folder, &[&["run", "--kind", "density", "--out", "b.png"], &few[..]].concat());
    plot(&folder, &["run", "--out", "c.png"]);
    let models = ["run/snapshots/000000000000064", "run/snapshots/000000000000192"];
    plot(&folder, &[&models[..], &["--out", "d.gif"], &few[..]].concat());
    assert_eq!(frames(&fs::read(folder.path().join("d.gif")).expect("an animation")).len(), 2);
    let said = refused(&folder, &[&models[..], &["--out", "d.png"], &few[..]].concat());
    assert!(said.contains("2 are given") && said.contains(".gif"), "{said}");
    // A run beside a model, and what both say by exact distance.
    for kind in ["density", "exactness"] {
        plot(&folder, &[&["run", "puzzle8", "--kind", kind], &few[..]].concat());
        let gif = fs::read(folder.path().join(format!("costar-{kind}.gif"))).expect("an animation");
        assert_eq!(frames(&gif).len(), 2, "{kind}");
        plot(&folder, &[&["puzzle8", "--kind", kind, "--out", "e.svg"], &few[..]].concat());
    }
    let svg = fs::read_to_string(folder.path().join("e.svg")).expect("a picture");
    assert!(svg.contains("prediction by exact distance") && svg.contains("= distance"), "{svg}");
    let said = refused(&folder, &["cube3", "--kind", "exactness"]);
    assert!(said.contains("not of cube3"), "{said}");
}
