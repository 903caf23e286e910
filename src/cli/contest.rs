//! The files of contests: tables of instances with an id each, and submissions with the moves for each id.
//!
//! | contest | table | submission |
//! | --- | --- | --- |
//! | Santa 2023 | `puzzles.csv`: `id,puzzle_type,solution_state,initial_state,num_wildcards` | `id,moves` |
//! | CayleyPy's puzzles | `test.csv`: `initial_state_id,initial_state` | `initial_state_id,path` |
//! | CayleyPy's permutations | `test.csv`: `id,permutation` | `id,permutation,solution` |

use crate::puzzle::{Move, Notation, ParseError, Puzzle};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use std::collections::{HashMap, HashSet};

/// A row of a table: the number of its line, from 1, and its fields by the names of their columns.
pub(super) type Row = (u64, TableFields);

type TableFields = HashMap<String, String>;

/// The rows of a table in CSV with these columns, below a line of names; `None` for another text. Lines that
/// begin with `#` are comments above the line of names, and rows below it.
///
/// # Errors
/// If a required column is missing, a column is there twice, a row has more or fewer fields than there are names, or a quotation
/// mark is not closed.
pub(super) fn rows(text: &str, columns: &[&str], needed: &[&str]) -> Result<Option<Vec<Row>>> {
    let first = start_of_names(text);
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(&text.as_bytes()[first..]);
    let Ok(names) = reader.headers() else { return Ok(None) };
    let names: Vec<String> = names.iter().map(String::from).collect();
    let is_missing = |column: &&&str| !names.iter().any(|name| name == *column);
    if names.len() < 2 || columns.iter().any(|column| is_missing(&column)) {
        return Ok(None);
    }
    if let Some(column) = needed.iter().find(is_missing) {
        bail!("no column is named {column}");
    }
    let is_doubled = |column: &&&str| names.iter().filter(|name| name == *column).count() > 1;
    if let Some(column) = columns.iter().chain(needed).find(is_doubled) {
        bail!("two columns are named {column}");
    }
    let mut rows = Vec::new();
    // The reader counts a line less if lines end with CRLF.
    let (mut line, mut counted) = (1, 0);
    for row in reader.records() {
        let row = row.context("a row does not fit the line of names")?;
        let start = first + row.position().map_or(0, csv::Position::byte) as usize;
        let start = text.len() - text[start..].trim_start_matches(['\r', '\n']).len(); // after blank lines
        line += text[counted..start].replace("\r\n", "\n").matches(['\r', '\n']).count() as u64;
        counted = start;
        if row.len() == 1 && row[0].is_empty() {
            continue; // a line of spaces
        }
        let (fields, columns) = (row.len(), names.len());
        ensure!(fields == columns, "line {line}: expected {columns} fields, as the line of names has, not {fields}");
        rows.push((line, names.iter().cloned().zip(row.iter().map(String::from)).collect()));
    }
    // An open quotation mark takes in the rest of the file.
    let last = &text[counted..];
    let is_cut = !rows.is_empty() && last.contains(",\"") && !last.matches('"').count().is_multiple_of(2);
    ensure!(!is_cut, "line {line}: a quotation mark is not closed: the file may be cut off");
    Ok(Some(rows))
}

/// The start of the line of names, after blank lines and comments.
fn start_of_names(text: &str) -> usize {
    let mut byte = 0;
    loop {
        byte = text.len() - text[byte..].trim_start_matches(['\r', '\n']).len();
        match text[byte..].strip_prefix('#').and_then(|comment| comment.find(['\r', '\n'])) {
            Some(length) => byte += 1 + length,
            None => return byte,
        }
    }
}

/// The instances of a contest's table; `None` for another text.
///
/// # Errors
/// If a row has more or fewer fields than there are names, its id or state is missing, its id is there twice, or its number
/// of wildcards is not a number.
pub(super) fn instances(text: &str) -> Result<Option<(Vec<TableInstance>, &'static Contest)>> {
    for contest in &CONTESTS {
        let Some(rows) = rows(text, &[contest.id, contest.state], &[])? else { continue };
        let mut ids = HashSet::new();
        let instance = |(line, mut fields): Row| {
            let [id, text, number] = [contest.id, contest.state, WILDCARDS].map(|name| field(&mut fields, name));
            for (name, field) in [(contest.id, &id), (contest.state, &text)] {
                ensure!(!field.is_empty(), "line {line}: {name} is missing");
            }
            ensure!(ids.insert(id.clone()), "line {line}: the id {id} is there twice");
            // pandas writes 2.0.
            let wildcards =
                if number.is_empty() { Some(0) } else { number.strip_suffix(".0").unwrap_or(&number).parse().ok() };
            let refusal = || format!("line {line}: {WILDCARDS} is '{number}': expected a whole number of at least 0");
            let wildcards = wildcards.with_context(refusal)?;
            Ok(TableInstance { line, id, text, wildcards, others: fields })
        };
        return Ok(Some((rows.into_iter().map(instance).collect::<Result<_>>()?, contest)));
    }
    Ok(None)
}

/// [`instances`] of a table that import has written.
///
/// # Errors
/// As [`instances`], and for a submission, and a contest's own file, which may be of several puzzles.
pub(super) fn imported_instances(text: &str) -> Result<Option<(Vec<TableInstance>, &'static Contest)>> {
    let table = instances(text)?;
    let is_submission = table.is_none() && Contest::read_submission(text).is_ok();
    ensure!(!is_submission, "this is a submission: expected the contest's table of instances, as import writes it");
    let first = table.as_ref().and_then(|(instances, _)| instances.first());
    let column = |first: &TableInstance| {
        ["puzzle_type", "solution_state"].into_iter().find(|column| first.others.contains_key(*column))
    };
    if let Some(column) = first.and_then(column) {
        bail!(
            "the column {column} is that of a contest's own file: costar import makes a table for each of its puzzles"
        );
    }
    Ok(table)
}

/// Takes a field out of a row; empty if there is none.
fn field(fields: &mut TableFields, name: &str) -> String {
    fields.remove(name).unwrap_or_default()
}

/// An instance in a contest's table.
pub(super) struct TableInstance {
    pub(super) line: u64,
    pub(super) id: String,
    /// The state, as it is written.
    pub(super) text: String,
    /// The positions that a solution may leave wrong.
    pub(super) wildcards: usize,
    /// The fields of its other columns.
    pub(super) others: HashMap<String, String>,
}

/// How the contests of one host name the columns of their files.
pub(super) struct Contest {
    pub(super) id: &'static str,
    pub(super) state: &'static str,
    pub(super) solution: &'static str,
    /// Whether a submission repeats the states.
    pub(super) repeats_state: bool,
}

const CONTESTS: [Contest; 3] = [
    Contest { id: "id", state: "initial_state", solution: "moves", repeats_state: false },
    Contest { id: "initial_state_id", state: "initial_state", solution: "path", repeats_state: false },
    Contest { id: "id", state: "permutation", solution: "solution", repeats_state: true },
];

/// The column with the number of wildcards.
pub(super) const WILDCARDS: &str = "num_wildcards";

/// Whether a state differs from the goal at no more positions than it has wildcards.
pub(super) fn is_solved<P: Puzzle>(puzzle: &P, state: &P::State, goal: &P::State, wildcards: usize) -> bool {
    let wrong = || puzzle.row(state).iter().zip(puzzle.row(goal)).filter(|(one, other)| *one != other).count();
    state == goal || wildcards > 0 && wrong() <= wildcards
}

/// The shortest beginning of a solution that solves; `None` if none does.
pub(super) fn solving<'a, P: Puzzle>(
    puzzle: &P,
    start: &P::State,
    moves: &'a [Move],
    is_solved: impl Fn(&P::State) -> bool,
) -> Option<&'a [Move]> {
    let mut state = *start;
    let mut length = 0;
    while !is_solved(&state) {
        state = puzzle.apply(&state, *moves.get(length)?)?;
        length += 1;
    }
    Some(&moves[..length])
}

/// A solution of an instance as a submission has it: the names of the moves with dots between.
///
/// # Errors
/// If contests have no name for a move.
pub(super) fn path<P: Notation>(puzzle: &P, instance: &str, moves: &[Move]) -> Result<String> {
    let named = |&action: &Move| {
        let refusal = || {
            let (name, puzzle) = (puzzle.move_name(action), puzzle.name());
            format!(
                "contests have no name for the move {name} of {puzzle}: expected a cube as cube4:oriented, or an imported puzzle"
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

impl Contest {
    /// A submission: the id, the state and the moves of each instance.
    ///
    /// # Errors
    /// If a row cannot be written.
    pub(super) fn submission(&self, rows: &[[String; 3]]) -> Result<Vec<u8>> {
        let names = [self.id, self.state, self.solution];
        let rows = [names].into_iter().chain(rows.iter().map(|row| row.each_ref().map(|text| &**text)));
        written(rows.map(|[id, state, path]| [Some(id), self.repeats_state.then_some(state), Some(path)]))
    }

    /// Reads a submission and its contest: the id, the state if it is repeated, and the moves of each instance.
    ///
    /// # Errors
    /// If the file is not a submission.
    pub(super) fn read_submission(text: &str) -> Result<(&'static Contest, Vec<[String; 3]>)> {
        for contest in &CONTESTS {
            if let Some(rows) = rows(text, &[contest.solution], &[contest.id])? {
                let names = [contest.id, contest.state, contest.solution];
                let row = |(_, mut fields): Row| names.map(|name| field(&mut fields, name));
                return Ok((contest, rows.into_iter().map(row).collect()));
            }
        }
        let names = "id,moves or initial_state_id,path or id,permutation,solution";
        bail!("this is not a submission: expected the columns {names}")
    }
}

/// A text in CSV; a row has no field where there is `None`.
///
/// # Errors
/// If a row cannot be written.
pub(super) fn written<'a>(rows: impl IntoIterator<Item = [Option<&'a str>; 3]>) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.into_iter().try_for_each(|row| writer.write_record(row.into_iter().flatten()))?;
    writer.into_inner().map_err(|error| anyhow!("{error}"))
}
