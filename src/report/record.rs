//! The result of one instance.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The result of one instance, as `solve --json` prints it. Fields that do not apply are `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The puzzle's name.
    pub puzzle: String,
    /// The instance as it was given.
    pub instance: String,
    /// How the instance was read, if there are several ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_as: Option<String>,
    /// Whether a solution was found.
    pub solved: bool,
    /// The solution.
    pub moves: Option<Vec<String>>,
    /// The number of moves.
    pub length: Option<usize>,
    /// Length of the search's own solution, if the inverse scramble was returned instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_length: Option<usize>,
    /// Cost of the moves: a whole number, unless a user gave moves other costs.
    #[serde(serialize_with = "whole_cost")]
    pub cost: Option<f64>,
    /// The known optimal cost, from a file of instances.
    pub optimal_length: Option<u32>,
    /// Whether it is proven that no cheaper solution exists.
    pub proven_optimal: bool,
    /// The result of the proof after the search, if there was one.
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
    /// Stored states that were dropped for lack of memory.
    pub nodes_pruned: u64,
    /// Wall-clock time of the search.
    pub seconds: f64,
    /// The network's device.
    pub device: Option<String>,
    /// The precision of the network's matrix products.
    pub precision: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The search's name.
    pub search: String,
    /// The search's `n`.
    pub n: Option<usize>,
    /// The search's λ.
    pub lambda: Option<f64>,
    /// The search with all its settings.
    pub config: Value,
    /// The heuristic's name.
    pub heuristic: Option<String>,
    /// Why there is no solution: `no solution`, `time`, `nodes`, `memory`, `width` (a beam ran out of states), `moves` (a
    /// random walk reached its limit) or `stopped`.
    pub ended_by: Option<String>,
    /// CRC-32 of the rules of a puzzle from a file, which tells puzzles of the same name apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_crc32: Option<u32>,
    /// CRC-32 of the model's weights, which tells models of the same name apart.
    pub weights_crc32: Option<u32>,
    /// The time limit, if given.
    pub max_seconds: Option<f64>,
    /// The limit of generated nodes, if given.
    pub max_nodes: Option<u64>,
    /// The memory limit in bytes, if given.
    pub max_memory: Option<u64>,
    /// The version of costar.
    pub version: Option<String>,
    /// The end of the search: UTC, RFC 3339.
    pub date: Option<String>,
    /// The processor's name.
    pub processor: Option<String>,
    /// The number of processes that shared the search, if more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// The goal, if given (in files of results).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The costs of moves, if given (in files of results): `U=1.5,B=2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_costs: Option<String>,
}

impl Record {
    /// Whether its cost differs from its length, since not all moves cost 1.
    pub fn has_costs(&self) -> bool {
        self.move_costs.is_some() || self.cost.zip(self.length).is_some_and(|(cost, length)| cost != length as f64)
    }

    /// Whether this result shows that a known optimal cost is wrong, or is of another metric: a solution is cheaper, or it is
    /// proven that none is as cheap.
    pub fn contradicts(&self, optimum: u32) -> bool {
        let excluded = self.proof.and_then(|proof| proof.excluded).is_some_and(|excluded| excluded >= optimum);
        let differs = |cost: f64| cost < optimum.into() || (self.proven_optimal && cost > optimum.into());
        excluded || self.cost.is_some_and(differs)
    }

    /// Refuses to compare results of different puzzles.
    ///
    /// # Errors
    /// Names both puzzles, or the checksums of their rules.
    pub fn check_same_puzzle(&self, other: &Record) -> Result<(), String> {
        differs("the puzzle", self.puzzle.clone(), other.puzzle.clone())?;
        if self.rules_crc32.is_none() {
            return Ok(()); // earlier versions wrote none
        }
        differs("the checksum of the puzzle's rules", show(&self.rules_crc32), show(&other.rules_crc32))
    }

    /// Refuses to combine results of different settings.
    ///
    /// # Errors
    /// Names the first setting that differs.
    pub fn check_same_settings(&self, other: &Record) -> Result<(), String> {
        self.check_same_puzzle(other)?;
        differs("`goal`", show(&self.goal), show(&other.goal))?;
        differs("`move_costs`", show(&self.move_costs), show(&other.move_costs))?;
        differs("the search", self.search.clone(), other.search.clone())?;
        differs("the heuristic", show(&self.heuristic), show(&other.heuristic))?;
        differs("the model", show(&self.model), show(&other.model))?;
        differs("the checksum of the model's weights", show(&self.weights_crc32), show(&other.weights_crc32))?;
        differs("the device", show(&self.device), show(&other.device))?;
        differs("`precision`", show(&self.precision), show(&other.precision))?;
        // Earlier versions did not name the host's engine.
        let host = Value::from("host");
        for name in [self, other].iter().filter_map(|record| record.config.as_object()).flat_map(Map::keys) {
            let setting = |record: &Record| show(&record.config.get(name).or((name == "engine").then_some(&host)));
            differs(&format!("`{name}`"), setting(self), setting(other))?;
        }
        differs("`max_seconds`", show(&self.max_seconds), show(&other.max_seconds))?;
        differs("`max_nodes`", show(&self.max_nodes), show(&other.max_nodes))?;
        differs("`max_memory`", show(&self.max_memory), show(&other.max_memory))
    }
}

fn differs(name: &str, ours: String, theirs: String) -> Result<(), String> {
    if ours == theirs { Ok(()) } else { Err(format!("{name} is {ours} there, and {theirs} here")) }
}

/// The result of a proof.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProofRecord {
    /// No solution has this cost or less; `null` if nothing is known.
    pub excluded: Option<u32>,
    /// The cost that the proof was excluding when it ended early.
    pub target: Option<u32>,
    /// The share of that cost's move sequences that were looked up.
    pub target_share: Option<f64>,
    /// The number of move sequences that were looked up, over all costs.
    pub sequences: u64,
    /// Wall-clock time of the proof, which [`Record::seconds`] includes.
    pub seconds: f64,
}

/// A refused instance, as `solve --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The puzzle's name.
    pub puzzle: String,
    /// The instance as it was given.
    pub instance: String,
    /// The reason.
    pub error: String,
}

/// The processor's name, or its architecture if the system names none.
pub fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.into(), |(_, name)| name.trim().into())
}

/// The current date and time: UTC, RFC 3339.
pub fn utc_now() -> Option<String> {
    OffsetDateTime::now_utc().replace_nanosecond(0).ok()?.format(&Rfc3339).ok()
}

/// A number, without a decimal point if it is whole.
pub(crate) fn whole(number: f64) -> Value {
    if number.fract() == 0.0 { (number as u64).into() } else { number.into() }
}

fn whole_cost<S: serde::Serializer>(cost: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    cost.map(whole).serialize(serializer)
}

fn show<T: std::fmt::Display>(value: &Option<T>) -> String {
    value.as_ref().map_or("none".into(), T::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // A field that was not given is not written, and a row without it can be read.
        let text = serde_json::to_string(&plain).expect("JSON");
        assert!(!text.contains("goal") && !text.contains("move_costs"), "{text}");
        assert_eq!(serde_json::from_str::<Record>(&text).expect("a row"), plain);
    }

    #[test]
    fn a_result_of_an_earlier_version_is_of_the_hosts_engine() {
        let row = |config: Value| Record { config, ..Record::default() };
        let earlier = row(serde_json::json!({ "n": 400 }));
        let engine = |engine: &str| row(serde_json::json!({ "n": 400, "engine": engine }));
        assert_eq!(earlier.check_same_settings(&engine("host")), Ok(()));
        let refusal = earlier.check_same_settings(&engine("device")).expect_err("another engine");
        assert_eq!(refusal, r#"`engine` is "host" there, and "device" here"#);
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
    fn the_date_can_be_read_again() {
        let text = utc_now().expect("a date");
        let read = OffsetDateTime::parse(&text, &Rfc3339).expect("RFC 3339");
        assert!((OffsetDateTime::now_utc() - read).whole_seconds() < 60, "{text}");
        assert!(!processor().is_empty());
    }
}
