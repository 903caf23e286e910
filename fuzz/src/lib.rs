//! The texts and files that costar reads from strangers, as functions of bytes that panic where costar is wrong.
//!
//! `cargo fuzz run TARGET` looks for such bytes. `tests/fuzz.rs` tries the bytes stored in `corpus/TARGET`, and mutations of
//! them. Bytes that were once wrong are stored there, too.

use costar::neural::device::{Device, DeviceChoice};
use costar::neural::model::{CONFIG, Model, WEIGHTS};
use costar::puzzle::cube2::Cube2;
use costar::puzzle::cube3::Cube3;
use costar::puzzle::move_costs::MoveCosts;
use costar::puzzle::permutation::{Description, Permutation};
use costar::puzzle::{Notation as _, Puzzle, Rules as _};
use costar::registry::{NAMES, find, with_entry};
use costar::report::{Metrics, Record, parse_lines};
use costar::search::perimeter::{Extent, PerimeterFolder};
use costar::server::ServerConfig;
use costar::{quantity, train};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A reader of bytes.
pub type Target = fn(&[u8]);

/// All targets, by the names of their corpora.
pub const TARGETS: [(&str, Target); 8] = [
    ("instance", instance),
    ("puzzle_file", puzzle_file),
    ("request", request),
    ("results", results),
    ("flags", flags),
    ("checkpoint", checkpoint),
    ("model", model),
    ("perimeter", perimeter),
];

/// The number of a puzzle, and a text: an instance, moves, or a solution.
pub fn instance(bytes: &[u8]) {
    let Some((&number, text)) = bytes.split_first() else { return };
    let name = NAMES[usize::from(number) % NAMES.len()];
    let text = String::from_utf8_lossy(text);
    with_entry!(find(name, None).expect("it is a puzzle"), entry => read_instance(&**entry.puzzle(), &text));
}

fn read_instance<P: Puzzle>(puzzle: &P, text: &str) {
    if let Ok(state) = puzzle.parse(text) {
        let written = puzzle.format(&state);
        let again = puzzle.parse(&written);
        assert_eq!(again.ok(), Some(puzzle.normalized(&state)), "{text:?} is written as {written:?}");
        if let Ok(moves) = puzzle.parse_solution(text, "") {
            assert!(moves.is_empty());
        }
    }
    if let Ok(moves) = puzzle.parse_moves(text) {
        let written = puzzle.written(&moves).join(" ");
        assert!(written.is_empty() || puzzle.parse_moves(&written).is_ok(), "{text:?} is written as {written:?}");
    }
    if let (Some(scramble), Ok(state)) = (puzzle.scramble(text), puzzle.parse(text)) {
        assert_eq!(puzzle.normalized(&scramble.end()), puzzle.normalized(&state), "{text:?} ends there");
    }
    let _ = puzzle.read_as(text);
    let _ = puzzle.block(&text.lines().collect::<Vec<_>>());
}

/// A puzzle's file. Whatever is a puzzle has moves that can be made.
pub fn puzzle_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(description) = Description::parse(text) else { return };
    if description.positions() <= 64 {
        let puzzle = Permutation::<64>::new(description);
        let goal = puzzle.goals()[0];
        let written = puzzle.format(&goal);
        assert_eq!(puzzle.parse(&written), Ok(goal), "{written:?}");
    }
}

/// The body of a request to the server.
pub fn request(bytes: &[u8]) {
    static CONFIG: LazyLock<ServerConfig> = LazyLock::new(|| ServerConfig {
        port: 0,
        host: std::net::Ipv4Addr::LOCALHOST.into(),
        puzzles: Vec::new(),
        models: Vec::new(),
        device: DeviceChoice::Cpu,
        searches: 1,
        queue: 1,
        max_seconds: 60.0,
        max_memory: Some(1 << 30),
        max_body: 1 << 16,
    });
    if let Err(refusal) = CONFIG.check_request(bytes) {
        assert!(!refusal.is_empty());
    }
}

/// A file of results, and one of a training's metrics.
pub fn results(bytes: &[u8]) {
    let file = Path::new("results.jsonl");
    if let Ok(records) = parse_lines::<Record>(bytes, file) {
        for record in &records {
            let written = serde_json::to_vec(record).expect("it was JSON");
            assert_eq!(&serde_json::from_slice::<Record>(&written).expect("it is a record"), record);
            let _ = record.check_same_settings(&records[0]);
        }
    }
    let _ = parse_lines::<Metrics>(bytes, file);
}

/// The value of a flag.
pub fn flags(bytes: &[u8]) {
    let text = &String::from_utf8_lossy(bytes);
    let _ = (quantity::count(text), quantity::positive_count(text), quantity::depth(text), quantity::number(text));
    let _ = (quantity::size(text), quantity::seconds(text), quantity::duration(text), quantity::percentage(text));
    let _ = MoveCosts::parse(text, &Cube3);
}

/// A folder of this process, which is removed at its end.
fn scratch(name: &str) -> PathBuf {
    static SCRATCH: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a folder"));
    let folder = SCRATCH.path().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The `progress.json` of a checkpoint.
pub fn checkpoint(bytes: &[u8]) {
    let folder = scratch("run/checkpoint-000000000020224");
    fs::write(folder.join("progress.json"), bytes).expect("it can be written");
    assert!(train::checkpoint::read(&folder).is_err(), "its weights are missing");
}

/// A model: the length of its configuration in four bytes, its configuration, and its weights.
pub fn model(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk() else { return };
    let Some((config, weights)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else { return };
    let folder = scratch("model");
    fs::write(folder.join(CONFIG), config).expect("it can be written");
    fs::write(folder.join(WEIGHTS), weights).expect("it can be written");
    let _ = Model::read(&folder, &Cube2, Device::CPU, None);
}

/// A perimeter of the cube. What is read has right distances.
pub fn perimeter(bytes: &[u8]) {
    static FILE: LazyLock<(PathBuf, PathBuf)> = LazyLock::new(|| {
        let folder = scratch("cache");
        let store = PerimeterFolder::new(&Cube3, Some(folder.clone())).expect("it has symmetries");
        let extent = Extent { depth: 3, bytes: 1 << 20, time: None, count_last: false };
        let made = store.make(extent, &AtomicBool::new(false), &mut |_| ()).expect("it was not stopped");
        (folder, made.1.expect("it was written"))
    });
    let (folder, file) = &*FILE;
    fs::write(file, bytes).expect("it can be written");
    let store = PerimeterFolder::new(&Cube3, Some(folder.clone())).expect("it has symmetries");
    if let Some(perimeter) = store.load(3, 1 << 20) {
        for (text, cost) in [("R", 1), ("R U", 2), ("R U F'", 3)] {
            let state = Cube3.parse(text).expect("a scramble");
            assert_eq!(perimeter.cost(&Cube3, &state), Some(cost).filter(|_| cost <= perimeter.depth()), "{text}");
        }
    }
}
