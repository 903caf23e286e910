//! The walls of the design, checked in the source: which module may name what.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the source, as text, without comments, strings' contents kept.
struct Source {
    /// Relative to `src`, with `/`.
    name: String,
    /// The lines with their numbers, without comments and without the module of unit tests.
    lines: Vec<(usize, String)>,
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the source").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let rust = files(&root).into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let read = rust.map(|path| {
        let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).expect("source is text");
        Source { name, lines: code(&text) }
    });
    let found: Vec<Source> = read.collect();
    assert!(found.len() > 80, "the source was found");
    found
}

/// The lines of code: no line comments, and nothing from the module of unit tests on, which ends a file.
fn code(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").enumerate();
    lines.filter(|(_, line)| !line.trim_start().starts_with("//")).map(|(i, line)| (i + 1, line.to_owned())).collect()
}

/// Whether a line holds a text that is not the end of a longer name: `tch::`, but not `Batch::new`.
fn names(line: &str, text: &str) -> bool {
    let longer = |at: usize| line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(text).any(|(at, _)| !(text.starts_with(char::is_alphabetic) && longer(at)))
}

/// The lines that name something, outside the files and folders that may.
fn named_outside(word: &str, allowed: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources() {
        if !allowed.iter().any(|allowed| source.name.starts_with(allowed)) {
            let lines = source.lines.iter().filter(|(_, line)| names(line, word));
            found.extend(lines.map(|(number, line)| format!("{}:{number}: {line}", source.name)));
        }
    }
    found
}

const NOWHERE: &[String] = &[];

/// Waits for a device are counted there, so that tests see who waits.
#[test]
fn the_numbers_of_tensors_are_read_in_one_place() {
    let types = ["bool", "i64", "f32", "f64", "Vec::<bool>", "Vec::<i64>", "Vec::<f32>", "Vec::<f64>"];
    let conversions = types.map(|to| format!("{to}::try_from(&"));
    let reads = ["double_value", "int64_value", "copy_data", "bool::try_from", "Vec::<f32>::try_from"];
    let reads = reads.into_iter().chain(["to_device(tch::Device::Cpu)"]).map(str::to_owned);
    for word in reads.chain(conversions) {
        assert_eq!(named_outside(&word, &["tensors/mod.rs"]), NOWHERE, "{word}");
    }
}

#[test]
fn only_the_command_line_parses_flags_prints_and_spells_them() {
    for word in ["println!", "eprintln!", "print!", "eprint!", "note!", "stdout()", "stderr()", "anyhow", "\"--"] {
        assert_eq!(named_outside(word, &["cli/"]), NOWHERE, "{word}");
    }
    // The structs of options, whose documentation is the help text.
    assert_eq!(named_outside("clap", &["cli/", "server/options.rs", "solver/options.rs", "train/options.rs"]), NOWHERE);
    assert!(!named_outside("clap", &[]).is_empty(), "the test sees what it looks for");
    assert!(!named_outside("\"--", &[]).is_empty(), "the test sees what it looks for");
}

#[test]
fn a_library_belongs_to_one_module() {
    for (library, module) in [
        ("tch::", &["neural/", "sampler/device.rs", "search/device/", "tensors/"][..]),
        ("axum::", &["server/"]),
        ("hyper::", &["server/"]),
        ("tokio::", &["server/"]),
        ("indicatif::", &["cli/progress.rs"]),
        ("tiny_skia::", &["plot/render.rs", "plot/font.rs"]),
        ("gif::", &["plot/animation.rs"]),
        ("prost::", &["report/tensorboard.rs"]),
    ] {
        assert_eq!(named_outside(library, module), NOWHERE, "{library}");
    }
    assert!(!named_outside("tch::", &[]).is_empty(), "the test sees what it looks for");
}

/// The modules that each module of the library may use; `cli` and `server` may use all.
const MAY_USE: [(&str, &[&str]); 13] = [
    ("error", &[]),
    ("puzzle", &["random", "json", "cpu_features"]),
    ("heuristic", &["puzzle", "random", "cache", "files", "memory", "quantity"]),
    (
        "search",
        &["puzzle", "heuristic", "exchange", "tensors", "random", "cache", "files", "memory", "quantity", "workers"],
    ),
    ("sampler", &["puzzle", "heuristic", "search", "tensors", "random", "memory"]),
    ("registry", &["puzzle", "heuristic", "search", "sampler", "random", "memory"]),
    (
        "neural",
        &[
            "puzzle",
            "heuristic",
            "search",
            "sampler",
            "exchange",
            "tensors",
            "random",
            "files",
            "memory",
            "cpu_features",
            "quantity",
            "waiting",
            "workers",
        ],
    ),
    (
        "train",
        &[
            "puzzle",
            "search",
            "sampler",
            "registry",
            "neural",
            "distributed",
            "exchange",
            "report",
            "files",
            "memory",
            "quantity",
            "waiting",
        ],
    ),
    ("distributed", &["exchange"]),
    (
        "solver",
        &[
            "puzzle",
            "heuristic",
            "exchange",
            "search",
            "registry",
            "neural",
            "report",
            "memory",
            "quantity",
            "waiting",
            "workers",
        ],
    ),
    ("report", &["files"]),
    ("plot", &["report", "quantity"]),
    ("view", &["puzzle"]),
];

#[test]
fn modules_use_only_what_lies_below_them() {
    let sources = sources();
    for (module, allowed) in MAY_USE {
        let mut uses = BTreeSet::new();
        for source in sources.iter().filter(|source| module_of(&source.name) == module) {
            let targets = uses_of(source, &sources);
            uses.extend(targets.into_iter().filter(|target| module_of(target) != module && *target != "error.rs"));
        }
        let wrong: Vec<_> = uses.iter().filter(|target| !allowed.contains(&module_of(target))).collect();
        assert!(wrong.is_empty(), "{module} uses {wrong:?}");
    }
}

#[test]
fn no_circle_of_files_goes_through_two_modules_or_lies_in_neural() {
    let sources = sources();
    let arrows: BTreeMap<&str, BTreeSet<String>> =
        sources.iter().map(|source| (source.name.as_str(), uses_of(source, &sources))).collect();
    assert!(arrows.values().map(BTreeSet::len).sum::<usize>() > 200, "the arrows were found");
    let reached = |from: &str| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(file) = left.pop() {
            let next = arrows[file.as_str()].iter().filter(|target| seen.insert((*target).clone()));
            left.extend(next.cloned());
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<String>> = arrows.keys().map(|file| (*file, reached(file))).collect();
    for (file, targets) in &all {
        assert!(module_of(file) != "neural" || !targets.contains(*file), "{file} is in a circle of files");
        for target in targets.iter().filter(|target| module_of(target) != module_of(file)) {
            assert!(!all[target.as_str()].contains(*file), "{file} and {target} use each other");
        }
    }
}

#[test]
fn the_functions_of_the_guide_to_a_solve_are_where_it_says() {
    let guide = include_str!("../CONTRIBUTING.md").split("## Follow a solve").nth(1).expect("a section");
    let rows =
        guide.split("## ").next().into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("| `src/"));
    let (sources, mut count) = (sources(), 0);
    for row in rows {
        let [file, functions] = row.split('|').take(2).collect::<Vec<_>>()[..] else { panic!("{row}") };
        let name = file.trim_end().trim_end_matches('`');
        let source = sources.iter().find(|source| source.name == name);
        let source = source.unwrap_or_else(|| panic!("no file {name}"));
        for function in functions.split(',').map(|function| function.trim().trim_matches('`')) {
            let is_there = source.lines.iter().any(|(_, line)| {
                line.split_once(&format!("fn {function}")).is_some_and(|(_, rest)| rest.starts_with(['(', '<']))
            });
            assert!(is_there, "{name} has no function {function}");
        }
        count += 1;
    }
    assert_eq!(count, 14);
}

#[test]
fn nothing_panics_where_a_user_could_cause_it() {
    for word in [".unwrap()", "todo!(", "unimplemented!(", "dbg!("] {
        assert_eq!(named_outside(word, &[]), NOWHERE);
    }
    // They panic where nobody reads their output.
    for word in ["println!(", "eprintln!("] {
        assert_eq!(named_outside(word, &[]), NOWHERE);
    }
}

/// The module at the top that a file belongs to.
fn module_of(file: &str) -> &str {
    file.split_once('/').map_or_else(|| file.trim_end_matches(".rs"), |(room, _)| room)
}

/// The files that a file names by `crate::…` or `super::…`.
fn uses_of(source: &Source, sources: &[Source]) -> BTreeSet<String> {
    let text: String = source.lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    let mut own: Vec<&str> = source.name.trim_end_matches(".rs").split('/').collect();
    own.retain(|part| !matches!(*part, "mod" | "lib" | "main"));
    let mut found = BTreeSet::new();
    for root in ["crate::", "super::"] {
        for (at, _) in text.match_indices(root) {
            if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue; // $crate:: counts, my_crate:: does not; super::super:: is read from its first
            }
            let mut rest = &text[at..];
            let mut path: Vec<String> = Vec::new();
            if let Some(after) = rest.strip_prefix("crate::") {
                rest = after;
            } else {
                path = own.iter().map(|&part| part.to_owned()).collect();
                while let Some(after) = rest.strip_prefix("super::") {
                    path.pop();
                    rest = after;
                }
            }
            for path in paths(rest, &path) {
                // The root of the crate passes these on from `error`.
                let passed_on = matches!(path[0].as_str(), "Error" | "Result" | "SettingError");
                found.extend(if passed_on { Some("error.rs".into()) } else { file_of(&path, sources) });
            }
        }
    }
    found.remove(&source.name);
    found
}

/// The paths that a text begins with, braces resolved: `a::{b::C, d}` below `x` gives `x::a::b::C` and `x::a::d`.
fn paths(text: &str, below: &[String]) -> Vec<Vec<String>> {
    let mut path = below.to_vec();
    let mut rest = text;
    loop {
        if let Some(inside) = rest.strip_prefix('{') {
            return items(inside).into_iter().flat_map(|item| paths(item, &path)).collect();
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        path.push(rest[..end].to_owned());
        match rest[end..].strip_prefix("::") {
            Some(after) => rest = after,
            None => return vec![path],
        }
    }
}

/// The items of a list in braces, up to the brace that closes it.
fn items(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' => {
                found.push(text[from..at].trim());
                break;
            }
            ',' if depth == 0 => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => (),
        }
    }
    found.retain(|item| !item.is_empty());
    found
}

/// The file of a path: the longest beginning that is one.
fn file_of(path: &[String], sources: &[Source]) -> Option<String> {
    (1..=path.len()).rev().find_map(|length| {
        let joined = path[..length].join("/");
        let names = [format!("{joined}.rs"), format!("{joined}/mod.rs")];
        names.into_iter().find(|name| sources.iter().any(|source| source.name == *name))
    })
}

#[test]
fn paths_are_read_as_the_language_reads_them() {
    let source = |name: &str, text: &str| Source { name: name.into(), lines: code(text) };
    let all = [
        source("a/mod.rs", "use super::c::{d::{E, F}, G};\nfn x() { crate::b::y() }\n// crate::c::h\n"),
        source("b.rs", ""),
        source("c/mod.rs", ""),
        source("c/d.rs", "use super::super::b::y;\n#[cfg(test)]\nuse crate::a;"),
    ];
    let found = |i: usize| uses_of(&all[i], &all).into_iter().collect::<Vec<_>>();
    assert_eq!(found(0), ["b.rs", "c/d.rs", "c/mod.rs"]);
    assert_eq!(found(3), ["b.rs"]);
}
