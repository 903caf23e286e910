//! Labels come from known solutions, such as those of a search with an earlier model.

use super::Target;
use crate::error::{Error, Result, SettingError, bail_setting, ensure_setting};
use crate::puzzle::{Cost, Puzzle};
use crate::report::{Record, parse_lines};
use crate::sampler::{Samples, SolutionStates, steps};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A label is the cost of the rest of a solution that the state lies on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solutions {
    /// The file: results of `bench --out`.
    pub solutions: String,
    /// CRC-32 of the file.
    pub solutions_crc32: u32,
}

impl Target for Solutions {}

/// Facts about a file of solutions.
#[derive(Debug, Clone, Copy)]
pub struct SolutionFacts {
    /// CRC-32 of the file.
    pub crc32: u32,
    /// A cost that at most 1 % of the solutions exceed.
    pub cost: Cost,
}

impl SolutionFacts {
    /// # Errors
    /// If the file cannot be read, or holds no solution.
    pub(in crate::train) fn read(file: &str) -> Result<SolutionFacts> {
        let (crc32, records) = read(file)?;
        let mut costs: Vec<f64> = records.iter().filter_map(|record| record.cost).collect();
        costs.sort_by(f64::total_cmp);
        let cost = costs[(costs.len() * 99).div_ceil(100) - 1];
        Ok(SolutionFacts { crc32, cost: cost as Cost })
    }
}

/// CRC-32 and solved instances of a file of results.
fn read(file: &str) -> Result<(u32, Vec<Record>)> {
    let refuse = |reason: String| SettingError::new("solutions", reason);
    let text = fs::read(file).map_err(|error| refuse(format!("cannot read {file}: {error}")))?;
    let expected = "expected results of costar bench";
    // Backticks are for names of settings; a reader of JSON has them around names of fields.
    let unreadable = |error: Error| refuse(format!("{}; {expected}", error.to_string().replace('`', "'")));
    let mut records: Vec<Record> = parse_lines(&text, Path::new(file)).map_err(unreadable)?;
    records.retain(|record| record.cost.is_some_and(|cost| cost > 0.0));
    ensure_setting!(!records.is_empty(), "solutions", "{file} holds no solution; {expected}");
    Ok((crc32fast::hash(&text), records))
}

impl Solutions {
    /// The states on the solutions.
    ///
    /// # Errors
    /// If the file cannot be read, has changed, or holds something that is not a solution of the puzzle.
    pub(super) fn samples<P: Puzzle>(&self, puzzle: &Arc<P>, max_cost: Cost) -> Result<Arc<dyn Samples>> {
        let file = &self.solutions;
        let (crc32, records) = read(file)?;
        if crc32 != self.solutions_crc32 {
            bail_setting!("solutions", "{file}: has changed since the run began: restore it, or start a new run");
        }
        let mut states = Vec::new();
        for record in records {
            let Record { puzzle: name, instance, moves, move_costs, .. } = record;
            let place = format!("{file}: the instance {instance} of {name}");
            let refuse = |reason: &str| SettingError::new("solutions", format!("{place}: {reason}"));
            if move_costs.is_some() {
                return Err(refuse("its moves have costs of their own, which a training does not know").into());
            }
            let expected = puzzle.name();
            ensure_setting!(name == expected, "solutions", "{place}: expected instances of {expected}");
            let start = puzzle.parse(&instance).map_err(|error| refuse(&error.0))?;
            let moves = moves.unwrap_or_default().join(" ");
            let moves = puzzle.parse_solution(&instance, &moves).map_err(|error| refuse(&error.0))?;
            let steps = steps(&**puzzle, start, &moves);
            states.extend(steps.ok_or_else(|| refuse("its moves do not solve it"))?);
        }
        let samples = SolutionStates::new(Arc::clone(puzzle), states, max_cost);
        let none = || SettingError::new("max_depth", format!("{max_cost}: no state of {file} is as near"));
        Ok(Arc::new(samples.ok_or_else(none)?))
    }
}
