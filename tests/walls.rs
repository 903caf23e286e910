//! The walls of the design, checked in the source: who may name what.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the source").map(|entry| entry.expect("an entry").path());
    let is_text = |path: &PathBuf| path.extension().is_none_or(|end| end != "ttf");
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).filter(is_text).collect()
}

/// Whether a line has a text; one that names a room (`tch::`) not as the end of a longer name (`Batch::new`).
fn names(line: &str, text: &str) -> bool {
    let longer = |at: usize| text.ends_with("::") && line[..at].ends_with(char::is_alphanumeric);
    line.match_indices(text).any(|(at, _)| !longer(at))
}

/// The lines that name something, outside the files that may.
fn named_outside(word: &str, allowed: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let files = sources(&root);
    assert!(files.len() > 20, "the source was found");
    for path in files {
        let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        if allowed.iter().any(|allowed| name.starts_with(allowed)) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("source is text");
        let lines = text.lines().enumerate().filter(|(_, line)| names(line, word));
        found.extend(lines.map(|(i, line)| format!("{name}:{}: {line}", i + 1)));
    }
    found
}

#[test]
fn tensors_stay_in_their_rooms() {
    assert_eq!(named_outside("tch::", &["neural"]), Vec::<String>::new());
    assert!(!named_outside("tch::", &[]).is_empty(), "the test sees what it looks for");
}

#[test]
fn web_servers_stay_in_their_room() {
    for word in ["axum::", "hyper::", "tokio::"] {
        assert_eq!(named_outside(word, &["cli/serve"]), Vec::<String>::new());
    }
}

#[test]
fn progress_bars_stay_in_one_file() {
    assert_eq!(named_outside("indicatif::", &["progress.rs"]), Vec::<String>::new());
}

#[test]
fn drawing_libraries_stay_in_their_files() {
    for library in ["plotters::", "png::", "gif::"] {
        assert_eq!(named_outside(library, &["plot/render.rs", "plot/animation.rs"]), Vec::<String>::new());
    }
}

#[test]
fn searches_and_puzzles_know_no_network() {
    for room in ["search", "puzzle", "heuristic", "report", "plot", "view"] {
        let lines = named_outside("crate::neural", &["neural", "cli", "train"]);
        assert!(lines.iter().all(|line| !line.starts_with(room)), "{lines:?}");
    }
}

#[test]
fn records_know_no_search() {
    let lines = named_outside("crate::search", &["search", "cli", "sampler", "progress.rs"]);
    assert_eq!(lines, Vec::<String>::new());
}

#[test]
fn nothing_panics_where_a_user_could_cause_it() {
    // println! and eprintln! panic where nobody reads their output.
    for word in ["println!(", ".unwrap()", "todo!(", "unimplemented!(", "dbg!("] {
        assert_eq!(named_outside(word, &[]), Vec::<String>::new());
    }
}
