//! Results of `costar bench`, their names and the key of a picture.

use super::canvas::{Anchor, Canvas, TEXT, series_color};
use super::font;
use crate::report::Record;
use std::collections::BTreeSet;

/// The results of one run of `costar bench`, all with the same settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The name of the file.
    pub name: String,
    /// At least one record.
    pub records: Vec<Record>,
}

impl Results {
    /// Known optimal cost and cost of the solution, for each instance that has both.
    pub fn costs(&self) -> Vec<(u32, u32)> {
        // Costs with a known optimum are whole numbers.
        self.records.iter().filter_map(|record| Some((record.optimal_length?, record.cost? as u32))).collect()
    }

    /// Instances with a known optimum.
    pub fn with_optimum(&self) -> usize {
        self.records.iter().filter(|record| record.optimal_length.is_some()).count()
    }

    /// Instances solved at the known optimal cost.
    pub fn optimal(&self) -> usize {
        self.costs().iter().filter(|(optimum, cost)| cost <= optimum).count()
    }

    /// Instances solved.
    pub fn solved(&self) -> usize {
        self.records.iter().filter(|record| record.solved).count()
    }
}

/// The name of a setting in labels, and its value; empty for a switch.
type LabelledSetting = (String, String);

fn settings(record: &Record) -> Vec<LabelledSetting> {
    let known = [
        ("", Some(record.search.clone())),
        ("", record.heuristic.clone().filter(|heuristic| heuristic != "network")),
        ("", record.model.clone()),
        ("on", record.device.clone()),
        ("λ", record.lambda.map(|lambda| lambda.to_string())),
        ("max seconds", record.max_seconds.map(|seconds| seconds.to_string())),
        ("max nodes", record.max_nodes.map(|nodes| nodes.to_string())),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let settings = record.config.as_object().into_iter().flatten();
    let others = settings.filter(|(name, _)| !matches!(name.as_str(), "search" | "n" | "lambda"));
    let others = others
        .map(|(name, value)| (name.replace('_', " "), if value == true { String::new() } else { value.to_string() }));
    known.chain(others).collect()
}

/// The settings except N in which results differ, or the search for results with none. A setting that others lack counts
/// only if it is a switch.
pub(super) fn group_names(all: &[&Results]) -> Vec<String> {
    let settings: Vec<Vec<LabelledSetting>> = all.iter().map(|results| settings(&results.records[0])).collect();
    let count_values = |name: &str| {
        let with_name = settings.iter().flatten().filter(|(other, _)| other == name);
        with_name.collect::<BTreeSet<_>>().len()
    };
    let differs = |setting: &&LabelledSetting| {
        let (name, value) = setting;
        let is_switch = value.is_empty() || name.is_empty();
        let is_everywhere = || settings.iter().all(|settings| settings.contains(setting));
        if is_switch { !is_everywhere() } else { count_values(name) > 1 }
    };
    let text = |(name, value): &LabelledSetting| [name.as_str(), value].join(" ").trim().to_owned();
    let name = |settings: &Vec<_>| settings.iter().filter(differs).map(text).collect::<Vec<_>>().join(", ");
    let names: Vec<String> = settings.iter().map(name).collect();
    let differ = names.iter().any(|name| !name.is_empty());
    let named = |(name, results): (String, &&Results)| match name.is_empty() && differ {
        true => results.records[0].search.clone(),
        false => name,
    };
    names.into_iter().zip(all).map(named).collect()
}

/// The name of each file of results: its group, N if it differs, and the name of the file if two names are the same.
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

/// The puzzle, search, model and device that all results share, and the number of instances.
pub(super) fn common(all: &[&Results]) -> String {
    let shared = |value: fn(&Record) -> Option<String>| {
        let first = value(&all[0].records[0]);
        first.filter(|first| all.iter().all(|results| value(&results.records[0]).as_ref() == Some(first)))
    };
    let parts = [
        shared(|record| Some(record.puzzle.clone())),
        shared(|record| Some(record.search.clone())),
        shared(|record| record.model.clone().map(|model| format!("model {model}"))),
        shared(|record| record.device.clone().map(|device| format!("on {device}"))),
    ];
    let counts = || all.iter().map(|results| results.records.len());
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let counts = if least == most { most.to_string() } else { format!("{least} to {most}") };
    parts.into_iter().flatten().chain([format!("{counts} instances")]).collect::<Vec<_>>().join(" · ")
}

/// Distance between the lines of a key.
pub(super) const KEY_PITCH: f64 = TEXT + 8.0;

/// Writes names in the colours of their series, one below the other.
pub(super) fn key(canvas: &mut Canvas, (x, y): (f64, f64), width: f64, lines: &[String]) {
    for (i, line) in lines.iter().enumerate() {
        let y = y + i as f64 * KEY_PITCH;
        canvas.dot((x + 6.0, y), 7.0, series_color(i));
        canvas.text((x + 24.0, y), &font::fit(line, TEXT, width - 24.0), TEXT, Anchor::Left, series_color(i));
    }
}
