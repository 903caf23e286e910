//! The files of contests: tables of instances with an id each, and submissions with the moves for each id.
//!
//! | contest | table | submission |
//! | --- | --- | --- |
//! | Santa 2023 | `puzzles.csv`: `id,puzzle_type,solution_state,initial_state,num_wildcards` | `id,moves` |
//! | those of CayleyPy | `test.csv`: `initial_state_id,initial_state` | `initial_state_id,path` |

use crate::puzzle::{Move, Notation, ParseError};
use anyhow::{Context as _, Result, anyhow, bail};
use std::collections::HashMap;

/// A table with a line of names above it.
pub(super) struct Table {
    names: Vec<String>,
    /// The number of each row's line, from 1, and its fields.
    pub(super) rows: Vec<(u64, Vec<String>)>,
}

impl Table {
    /// A table in CSV with a column of this name; `None` for another text.
    ///
    /// # Errors
    /// If a row has more or fewer fields than there are names.
    pub(super) fn read(bytes: &[u8], column: &str) -> Result<Option<Table>> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
        let Ok(names) = reader.headers() else { return Ok(None) };
        let names: Vec<String> = names.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
        if names.len() < 2 || !names.iter().any(|name| name == column) {
            return Ok(None);
        }
        let mut rows = Vec::new();
        for row in reader.records() {
            let row = row.context("a row does not fit the line of names")?;
            let line = row.position().map_or(0, csv::Position::line);
            rows.push((line, row.iter().map(String::from).collect()));
        }
        Ok(Some(Table { names, rows }))
    }

    /// The place of a column.
    ///
    /// # Errors
    /// If there is none of these names.
    pub(super) fn column(&self, names: &[&str]) -> Result<usize> {
        let found = self.names.iter().position(|name| names.contains(&name.as_str()));
        found.with_context(|| format!("no column is named {}", names.join(" or ")))
    }

    /// The place of the column of ids.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn ids(&self) -> Result<usize> {
        self.column(&[SANTA[0], CAYLEY[0]])
    }

    /// The line, the id and the state of each instance.
    ///
    /// # Errors
    /// If there is no such column.
    pub(super) fn instances(&self) -> Result<Vec<(u64, String, String)>> {
        let [id, state] = [self.ids()?, self.column(&[STATES])?];
        Ok(self.rows.iter().map(|(line, row)| (*line, row[id].clone(), row[state].clone())).collect())
    }

    /// The names of the columns of a submission for these instances.
    pub(super) fn submission_columns(&self) -> [&'static str; 2] {
        if self.names.iter().any(|name| name == CAYLEY[0]) { CAYLEY } else { SANTA }
    }
}

/// The column of states.
pub(super) const STATES: &str = "initial_state";
const SANTA: [&str; 2] = ["id", "moves"];
const CAYLEY: [&str; 2] = ["initial_state_id", "path"];

/// A solution of an instance as a submission has it: the names of the moves with dots between.
///
/// # Errors
/// If contests have no name for a move.
pub(super) fn path<P: Notation>(puzzle: &P, instance: &str, moves: &[Move]) -> Result<String> {
    let named = |&action: &Move| {
        let refusal = || {
            let (name, puzzle) = (puzzle.move_name(action), puzzle.name());
            format!(
                "contests have no name for the move {name} of {puzzle}: expected a cube as {puzzle}:oriented, or an imported puzzle"
            )
        };
        puzzle.contest_name(action).with_context(refusal)
    };
    Ok(puzzle.in_hand(instance, moves).iter().map(named).collect::<Result<Vec<_>>>()?.join("."))
}

/// Refuses a puzzle whose moves have no names in contests.
///
/// # Errors
/// Names a move.
pub(super) fn check_names<P: Notation>(puzzle: &P) -> Result<()> {
    (0..puzzle.move_count() as Move).try_for_each(|action| path(puzzle, "", &[action]).map(drop))
}

/// Reads a solution of an instance as a submission has it.
///
/// # Errors
/// Names the word that is refused, and what was expected.
pub(super) fn parse_path<P: Notation>(puzzle: &P, instance: &str, path: &str) -> Result<Vec<Move>, ParseError> {
    puzzle.parse_solution(instance, &path.replace('.', " "))
}

/// A submission: the names of its columns, then the moves of each id.
///
/// # Errors
/// If a row cannot be written.
pub(super) fn submission(columns: [&str; 2], rows: impl IntoIterator<Item = (String, String)>) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns)?;
    for (id, path) in rows {
        writer.write_record([id, path])?;
    }
    writer.into_inner().map_err(|error| anyhow!("{error}"))
}

/// The moves of each id of a submission, as they are written.
///
/// # Errors
/// If the file is no submission.
pub(super) fn read_submission(bytes: &[u8]) -> Result<HashMap<String, String>> {
    for columns in [SANTA, CAYLEY] {
        if let Some(table) = Table::read(bytes, columns[1])? {
            let [id, path] = [table.column(&columns[..1])?, table.column(&columns[1..])?];
            let paths = table.rows.into_iter().map(|(_, row)| (row[id].clone(), row[path].clone()));
            return Ok(paths.collect());
        }
    }
    bail!("this is no submission: expected the columns {} or {}", SANTA.join(","), CAYLEY.join(","))
}
