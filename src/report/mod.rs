//! Records of solutions and trainings, as JSON lines: what `solve` and `bench` print, and `metrics.jsonl`.

use crate::error::{Context, Result, ensure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

mod comparison;
pub mod statistics;
mod tensorboard;

pub use comparison::Comparison;
pub use tensorboard::TensorBoard;

/// What `solve --json` prints of an instance. `null` where a field does not apply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The puzzle's name.
    pub puzzle: String,
    /// The instance as it was given.
    pub instance: String,
    /// Whether a solution was found.
    pub solved: bool,
    /// The solution.
    pub moves: Option<Vec<String>>,
    /// How many moves it has.
    pub length: Option<usize>,
    /// What it costs: a whole number, unless a user has said what moves cost.
    #[serde(serialize_with = "whole")]
    pub cost: Option<f64>,
    /// What it costs at least, where a file of instances says so.
    #[serde(default)]
    pub optimal_length: Option<u32>,
    /// Whether no cheaper one exists; `true` only where that is proven.
    pub proven_optimal: bool,
    /// What the proof after the search has excluded, where there was one.
    #[serde(default)]
    pub proof: Option<ProofRecord>,
    /// Every child made, duplicates included.
    pub nodes_generated: u64,
    /// Distinct states kept, the start included.
    pub nodes_stored: u64,
    /// Nodes taken from the open list.
    pub nodes_expanded: u64,
    /// States evaluated by the heuristic.
    pub nodes_evaluated: u64,
    /// Batches, layers, or rounds of iterative deepening.
    pub iterations: u64,
    /// Stored states that were pruned for lack of memory.
    pub nodes_pruned: u64,
    /// Wall-clock time of the search.
    pub seconds: f64,
    /// Where the network ran.
    pub device: Option<String>,
    /// How the network's matrix products were done.
    #[serde(default)]
    pub precision: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The search's name.
    pub search: String,
    /// The search's `n`, where it has one.
    pub n: Option<usize>,
    /// The search's λ, where it has one.
    pub lambda: Option<f32>,
    /// The search with all its settings, as it ran.
    pub config: Value,
    /// The heuristic's name.
    pub heuristic: Option<String>,
    /// Why there is no solution: `no solution`, `time`, `nodes`, `memory`, `width` (a beam without states left),
    /// `moves` (of a random walk) or `stopped`.
    pub ended_by: Option<String>,
    /// CRC-32 of the rules of a puzzle from a file: tells two of one name apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_crc32: Option<u32>,
    /// CRC-32 of the model's weights: tells two states of a model of the same name apart.
    pub weights_crc32: Option<u32>,
    /// The limit of time, where one was given.
    pub max_seconds: Option<f64>,
    /// The limit of generated nodes, where one was given.
    pub max_nodes: Option<u64>,
    /// The limit of memory in bytes, where one was given.
    pub max_memory: Option<u64>,
    /// The version of costar.
    #[serde(default)]
    pub version: Option<String>,
    /// When the search ended: UTC, as in RFC 3339.
    #[serde(default)]
    pub date: Option<String>,
    /// The processor that it ran on.
    #[serde(default)]
    pub processor: Option<String>,
    /// How many processes have shared the search, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// The goal, in a file of results, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// What some moves cost, in a file of results, where that was given: `U=1.5,B=2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_costs: Option<String>,
}

/// Writes a whole number without a point.
pub(crate) fn whole<S: serde::Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) if number.fract() == 0.0 => serializer.serialize_some(&(*number as u64)),
        number => serializer.serialize_some(number),
    }
}

impl Record {
    /// Whether its cost is no length: moves were given costs, or have other costs than 1.
    pub fn has_costs(&self) -> bool {
        self.move_costs.is_some() || self.cost.zip(self.length).is_some_and(|(cost, length)| cost != length as f64)
    }

    /// Refuses to put results of different settings together.
    ///
    /// # Errors
    /// Names the first setting that differs.
    pub fn check_same_settings(&self, other: &Record) -> Result<(), String> {
        let differs = |name: &str, ours: String, theirs: String| {
            if ours == theirs { Ok(()) } else { Err(format!("{name} is {ours} there, and {theirs} here")) }
        };
        differs("the puzzle", self.puzzle.clone(), other.puzzle.clone())?;
        if self.rules_crc32.is_some() {
            // Results of earlier versions have none.
            differs("the checksum of the puzzle's rules", show(&self.rules_crc32), show(&other.rules_crc32))?;
        }
        differs("`goal`", show(&self.goal), show(&other.goal))?;
        differs("`move_costs`", show(&self.move_costs), show(&other.move_costs))?;
        differs("the search", self.search.clone(), other.search.clone())?;
        differs("the heuristic", show(&self.heuristic), show(&other.heuristic))?;
        differs("the model", show(&self.model), show(&other.model))?;
        differs("the checksum of the model's weights", show(&self.weights_crc32), show(&other.weights_crc32))?;
        differs("the device", show(&self.device), show(&other.device))?;
        differs("`precision`", show(&self.precision), show(&other.precision))?;
        let settings = |record: &Record| record.config.as_object().cloned().unwrap_or_default();
        let (ours, theirs) = (settings(self), settings(other));
        for name in ours.keys().chain(theirs.keys()) {
            let value = |of: &serde_json::Map<String, Value>| of.get(name).map_or("none".into(), Value::to_string);
            differs(&format!("`{name}`"), value(&ours), value(&theirs))?;
        }
        differs("`max_seconds`", show(&self.max_seconds), show(&other.max_seconds))?;
        differs("`max_nodes`", show(&self.max_nodes), show(&other.max_nodes))?;
        differs("`max_memory`", show(&self.max_memory), show(&other.max_memory))
    }
}

fn show<T: std::fmt::Display>(value: &Option<T>) -> String {
    value.as_ref().map_or("none".into(), T::to_string)
}

/// What a proof has excluded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProofRecord {
    /// There is no solution of this cost or less; `null` where not even that is known.
    pub excluded: Option<u32>,
    /// The cost that was being excluded when the proof was ended early.
    pub target: Option<u32>,
    /// The share of the sequences of moves of that cost that were looked up.
    pub target_share: Option<f64>,
    /// Sequences of moves that were looked up, of all costs together.
    pub sequences: u64,
    /// Its part of the seconds.
    pub seconds: f64,
}

/// What `solve --json` prints of an instance that is refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The puzzle's name.
    pub puzzle: String,
    /// The instance as it was given.
    pub instance: String,
    /// Why.
    pub error: String,
}

/// What `bench --json` prints: over all instances, those of earlier runs with the same `--out` included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many instances were searched.
    pub instances: usize,
    /// How many were solved.
    pub solved: usize,
    /// How many were solved at the known optimal cost; `null` where no optimum is known.
    pub optimal: Option<usize>,
    /// How many solutions are proven to be shortest.
    pub proven: usize,
    /// How many solutions are not.
    pub unproven: usize,
    /// Mean seconds of the proofs, of the instances that have one; `mean_seconds` has them too.
    pub mean_proof_seconds: Option<f64>,
    /// Mean length of the solutions.
    pub mean_length: Option<f64>,
    /// Mean cost of the solutions; `null` where costs are lengths.
    #[serde(default)]
    pub mean_cost: Option<f64>,
    /// Mean known optimal length of the solved instances that have one.
    pub mean_optimal: Option<f64>,
    /// Over all instances, solved or not.
    pub mean_seconds: Option<f64>,
    /// The same.
    pub median_seconds: Option<f64>,
    /// The same: 95 of 100 took no longer.
    pub p95_seconds: Option<f64>,
    /// The same.
    pub max_seconds: Option<f64>,
    /// Over the time of all searches.
    pub nodes_generated_per_second: Option<f64>,
    /// The same.
    pub nodes_evaluated_per_second: Option<f64>,
    /// The most memory that this process ever held, in bytes.
    pub peak_memory_bytes: u64,
    /// The comparison with other results, where it is asked for.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub against: Option<Comparison>,
}

impl Summary {
    /// Sums up results; `optima` holds the known optimal length of each, where there is one.
    ///
    /// # Panics
    /// If there are not as many optima as results.
    pub fn new(results: &[Record], optima: &[Option<u32>], peak_memory_bytes: u64) -> Summary {
        assert_eq!(results.len(), optima.len());
        let both = || results.iter().zip(optima).filter_map(|(result, optimum)| Some((result.cost?, (*optimum)?)));
        let has_costs = results.iter().any(Record::has_costs);
        let mut seconds: Vec<f64> = results.iter().map(|result| result.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let total: f64 = seconds.iter().sum();
        let rate =
            |count: fn(&Record) -> u64| (total > 0.0).then(|| results.iter().map(count).sum::<u64>() as f64 / total);
        Summary {
            instances: results.len(),
            solved: results.iter().filter(|result| result.solved).count(),
            optimal: optima
                .iter()
                .any(Option::is_some)
                .then(|| both().filter(|(cost, optimum)| *cost <= f64::from(*optimum)).count()),
            proven: results.iter().filter(|result| result.proven_optimal).count(),
            unproven: results.iter().filter(|result| result.solved && !result.proven_optimal).count(),
            mean_proof_seconds: mean(results.iter().filter_map(|result| Some(result.proof?.seconds))),
            mean_length: mean(results.iter().filter_map(|result| Some(result.length? as f64))),
            mean_cost: mean(results.iter().filter_map(|result| result.cost)).filter(|_| has_costs),
            mean_optimal: mean(both().map(|(_, optimum)| f64::from(optimum))),
            mean_seconds: mean(seconds.iter().copied()),
            median_seconds: median(&seconds),
            p95_seconds: quantile(&seconds, 0.95),
            max_seconds: seconds.last().copied(),
            nodes_generated_per_second: rate(|result| result.nodes_generated),
            nodes_evaluated_per_second: rate(|result| result.nodes_evaluated),
            peak_memory_bytes,
            against: None,
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The least value that the given share of the values does not exceed (the nearest rank).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// A line of `metrics.jsonl`: means since the line before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Samples seen since the start of the run.
    pub samples: u64,
    /// Wall-clock time of training, over all resumed parts.
    pub seconds: f64,
    /// Since the line before.
    pub samples_per_second: f64,
    /// What is minimised.
    pub loss: f64,
    /// Squared error of the cost-to-go, in moves².
    pub squared_error: f64,
    /// Absolute error of the cost-to-go, in moves.
    pub absolute_error: f64,
    /// Cross-entropy of the policy head, in nats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_entropy: Option<f64>,
    /// The learning rate of the next step.
    pub learning_rate: f64,
    /// At checkpoints: the network's predictions for fresh scrambles, by depth (of deep ones, 64 depths).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Vec<Prediction>>,
}

/// A network's predictions for scrambles of one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The length of the walks.
    pub depth: u32,
    /// Mean of the predictions, in moves.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

/// Appends a record as one line of JSON; a line that does not fit on the disk leaves nothing behind.
///
/// # Errors
/// If the file cannot be written.
pub fn append_line(path: &Path, record: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_string(record).context("a record cannot be written as JSON")?;
    line.push('\n');
    let append = || {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        file.write_all(line.as_bytes()).inspect_err(|_| {
            // Fails in turn where it is no file, and then there is nothing to cut.
            let _ = file.set_len(length);
        })
    };
    append().with_context(|| format!("cannot append to {}", path.display()))
}

/// Reads the records of a file of JSON lines; a missing file has none, nor has what is no file (a terminal, say). A last
/// line that a kill has torn is cut off the file, so that what is appended next stands on a line of its own.
///
/// # Errors
/// If the file cannot be read or written, or a line that is not the last is no record: names the line.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(Vec::new());
    }
    let text = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    if whole < text.len() {
        let file = OpenOptions::new().write(true).open(path);
        file.and_then(|file| file.set_len(whole as u64)).with_context(|| format!("cannot cut {}", path.display()))?;
    }
    records(&text[..whole], path)
}

/// The records of a text of JSON lines, that of the file with this name; a last line that has no end and is no record,
/// for it was torn or is being written, is skipped.
///
/// # Errors
/// If there is no record, or a line is none: names the line.
pub fn parse_lines<T: DeserializeOwned>(text: &[u8], path: &Path) -> Result<Vec<T>> {
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut found = records(&text[..whole], path)?;
    found.extend(serde_json::from_slice(&text[whole..]).ok());
    ensure!(!found.is_empty(), "{} holds no record", path.display());
    Ok(found)
}

fn records<T: DeserializeOwned>(text: &[u8], path: &Path) -> Result<Vec<T>> {
    let lines = text.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let record = |(i, line): (usize, &[u8])| {
        serde_json::from_slice(line)
            .with_context(|| format!("line {} of {} is not a record of this kind", i + 1, path.display()))
    };
    lines.map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_cut_and_the_rest_is_read() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lines.jsonl");
        assert_eq!(read_lines::<u32>(&path)?.len(), 0);
        append_line(&path, &1)?;
        append_line(&path, &2)?;
        OpenOptions::new().append(true).open(&path)?.write_all(b"34")?;
        assert_eq!(read_lines::<u32>(&path)?, [1, 2]);
        append_line(&path, &5)?;
        assert_eq!(fs::read_to_string(&path)?, "1\n2\n5\n");
        fs::write(&path, "1\nx\n2\n")?;
        assert!(read_lines::<u32>(&path).expect_err("x is no number").to_string().contains("line 2"));
        Ok(())
    }

    #[test]
    fn results_of_other_goals_and_costs_are_told_apart() {
        let plain = Record { puzzle: "cube3".into(), ..Record::default() };
        let row = |goal: Option<&str>, move_costs: Option<&str>| Record {
            goal: goal.map(str::to_owned),
            move_costs: move_costs.map(str::to_owned),
            ..plain.clone()
        };
        let refusal = |one: &Record, other: &Record| one.check_same_settings(other).expect_err("they differ");
        let (two, three) = (row(None, Some("U=2")), row(None, Some("U=3")));
        assert_eq!(refusal(&two, &three), "`move_costs` is U=2 there, and U=3 here");
        assert_eq!(refusal(&plain, &two), "`move_costs` is none there, and U=2 here");
        assert_eq!(refusal(&row(Some("2"), None), &row(Some("3"), None)), "`goal` is 2 there, and 3 here");
        assert_eq!(two.check_same_settings(&two.clone()), Ok(()));
        // What was not given is not written, and rows without it are read.
        let text = serde_json::to_string(&plain).expect("JSON");
        assert!(!text.contains("goal") && !text.contains("move_costs"), "{text}");
        assert_eq!(serde_json::from_str::<Record>(&text).expect("a row"), plain);
    }

    #[test]
    fn the_document_names_every_field_of_a_row() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/http.md");
        let document = fs::read_to_string(path).expect("the document");
        let all =
            Record { ranks: Some(2), goal: Some("2".into()), move_costs: Some("U=2".into()), ..Record::default() };
        let row = serde_json::to_value(&all).expect("JSON");
        for name in row.as_object().expect("an object").keys() {
            let is_named = |line: &str| line.starts_with("| `") && line.contains(&format!("`{name}`"));
            assert!(document.lines().any(is_named), "{name}");
        }
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.95), Some(19.0));
        assert_eq!(quantile(&[3.0], 0.95), Some(3.0));
        assert_eq!((quantile(&[], 0.95), median(&[])), (None, None));
        assert_eq!((median(&[1.0, 2.0, 9.0]), median(&[1.0, 2.0])), (Some(2.0), Some(1.5)));
    }
}
