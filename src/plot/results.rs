//! Results of `costar bench`, as pictures need them.

use super::canvas::series_color;
use super::canvas::{Anchor, Canvas, TEXT};
use super::font;
use crate::report::Record;
use std::collections::BTreeSet;

/// The results of one run of `costar bench`: of the same settings all.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// What the file is called.
    pub name: String,
    /// At least one.
    pub records: Vec<Record>,
}

impl Results {
    /// Cost of the solution and the known optimal one, of each instance that has both.
    pub fn costs(&self) -> Vec<(u32, u32)> {
        // Where an optimum is known, costs are whole numbers.
        self.records.iter().filter_map(|record| Some((record.optimal_length?, record.cost? as u32))).collect()
    }

    /// How many instances have a known optimum.
    pub fn with_optimum(&self) -> usize {
        self.records.iter().filter(|record| record.optimal_length.is_some()).count()
    }

    /// How many instances were solved at the known optimal cost.
    pub fn optimal(&self) -> usize {
        self.costs().iter().filter(|(optimum, cost)| cost <= optimum).count()
    }

    /// How many instances were solved.
    pub fn solved(&self) -> usize {
        self.records.iter().filter(|record| record.solved).count()
    }
}

/// A setting by the name that a label gives it, and its value; without a value it is on or off.
type Setting = (String, String);

/// The settings of results, one by one.
fn settings(record: &Record) -> Vec<Setting> {
    let known = [
        ("", Some(record.search.clone())),
        ("", record.heuristic.clone().filter(|heuristic| heuristic != "network")),
        ("", record.model.clone()),
        ("on", record.device.clone()),
        ("λ", record.lambda.map(|lambda| lambda.to_string())),
        ("at most s", record.max_seconds.map(|seconds| seconds.to_string())),
        ("at most nodes", record.max_nodes.map(|nodes| nodes.to_string())),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let settings = record.config.as_object().into_iter().flatten();
    let others = settings.filter(|(name, _)| !matches!(name.as_str(), "search" | "n" | "lambda"));
    let others = others
        .map(|(name, value)| (name.replace('_', " "), if value == true { String::new() } else { value.to_string() }));
    known.chain(others).collect()
}

/// What tells results apart, N aside: the settings in which they differ; the search where others have settings and one
/// has none. A setting that one has and another has not counts where it has no value.
pub(super) fn group_names(all: &[&Results]) -> Vec<String> {
    let settings: Vec<Vec<Setting>> = all.iter().map(|results| settings(&results.records[0])).collect();
    let values =
        |name: &str| -> BTreeSet<&Setting> { settings.iter().flatten().filter(|(other, _)| other == name).collect() };
    let is_everywhere = |setting: &Setting| settings.iter().all(|settings| settings.contains(setting));
    let tells = |setting: &&Setting| {
        let (name, value) = setting;
        let is_flag = value.is_empty() || name.is_empty();
        if is_flag { !is_everywhere(setting) } else { values(name).len() > 1 }
    };
    let text = |(name, value): &Setting| [name.as_str(), value].join(" ").trim().to_owned();
    let name = |settings: &Vec<Setting>| settings.iter().filter(tells).map(text).collect::<Vec<_>>().join(", ");
    let names: Vec<String> = settings.iter().map(name).collect();
    let differ = names.iter().any(|name| !name.is_empty());
    let named = |(name, results): (String, &&Results)| match name.is_empty() && differ {
        true => results.records[0].search.clone(),
        false => name,
    };
    names.into_iter().zip(all).map(named).collect()
}

/// What each of some results is called: what tells it apart, N where that differs, and the file's name where two would
/// be called the same.
pub(super) fn names(all: &[&Results]) -> Vec<String> {
    let n = |results: &Results| results.records[0].n;
    let n_differs = all.iter().any(|results| n(results) != n(all[0]));
    let with_n = |(group, results): (String, &&Results)| {
        let n = n(results).filter(|_| n_differs).map(|n| format!("N = {}", super::axis::short(n as f64)));
        [Some(group).filter(|group| !group.is_empty()), n].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let names: Vec<String> = group_names(all).into_iter().zip(all).map(with_n).collect();
    let is_clear = |name: &String| !name.is_empty() && names.iter().filter(|other| *other == name).count() == 1;
    let clear = |(name, results): (&String, &&Results)| match name.as_str() {
        _ if is_clear(name) => name.clone(),
        "" => results.name.clone(),
        _ => format!("{name} ({})", results.name),
    };
    names.iter().zip(all).map(clear).collect()
}

/// What all results are of: the puzzle, the search and the model where there is but one.
pub(super) fn common(all: &[&Results]) -> String {
    let only = |value: fn(&Record) -> Option<String>| {
        let values: BTreeSet<Option<String>> = all.iter().map(|results| value(&results.records[0])).collect();
        if values.len() == 1 { values.into_iter().next().flatten() } else { None }
    };
    let parts = [
        only(|record| Some(record.puzzle.clone())),
        only(|record| Some(record.search.clone())),
        only(|record| record.model.clone().map(|model| format!("model {model}"))),
        only(|record| record.device.clone().map(|device| format!("on {device}"))),
    ];
    let instances: BTreeSet<usize> = all.iter().map(|results| results.records.len()).collect();
    let counts: Vec<String> = instances.iter().map(usize::to_string).collect();
    let counts = match counts.as_slice() {
        [few] => few.clone(),
        many => format!("{} to {}", many[0], many[many.len() - 1]),
    };
    let parts: Vec<String> = parts.into_iter().flatten().chain([format!("{counts} instances")]).collect();
    parts.join(" · ")
}

/// From one line of a key to the next.
pub(super) const KEY_PITCH: f64 = TEXT + 8.0;

/// Writes names in their colours, one below the other, from a place on down.
pub(super) fn key(canvas: &mut Canvas, (x, y): (f64, f64), room: f64, lines: &[String]) {
    for (i, line) in lines.iter().enumerate() {
        let y = y + i as f64 * KEY_PITCH;
        canvas.dot((x + 6.0, y), 7.0, series_color(i));
        canvas.text((x + 24.0, y), &font::fit(line, TEXT, room - 24.0), TEXT, Anchor::Left, series_color(i));
    }
}
