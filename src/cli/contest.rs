//! The files of contests: tables of instances with an id each, and submissions with the moves for each id.
//!
//! | contest | table | submission |
//! | --- | --- | --- |
//! | Santa 2023 | `puzzles.csv`: `id,puzzle_type,solution_state,initial_state,num_wildcards` | `id,moves` |
//! | CayleyPy's puzzles | `test.csv`: `initial_state_id,initial_state` | `initial_state_id,path` |
//! | CayleyPy's permutations | `test.csv`: `id,permutation` | `id,permutation,solution` |

use crate::puzzle::{Move, Notation, ParseError, Puzzle};
use anyhow::{Context as _, Result, anyhow, bail};

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

    /// The table of a contest's instances; `None` for another text.
    ///
    /// # Errors
    /// If a row has more or fewer fields than there are names.
    pub(super) fn of_instances(bytes: &[u8]) -> Result<Option<(Table, &'static Contest)>> {
        for contest in &CONTESTS {
            if let Some(table) = Table::read(bytes, contest.state)?.filter(|table| table.column(contest.id).is_ok()) {
                return Ok(Some((table, contest)));
            }
        }
        Ok(None)
    }

    /// The place of a column.
    ///
    /// # Errors
    /// If there is none of this name.
    pub(super) fn column(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|other| other == name).with_context(|| format!("no column is named {name}"))
    }

    /// The instances of a table of `of_instances`.
    ///
    /// # Errors
    /// If a number of wildcards is none.
    pub(super) fn instances(&self, contest: &Contest) -> Result<Vec<TableInstance>> {
        let place = |name| self.names.iter().position(|other| other == name);
        let [id, text, wildcards] = [contest.id, contest.state, WILDCARDS].map(place);
        let field = |row: &[String], at: Option<usize>| at.map(|at| row[at].clone()).unwrap_or_default();
        let instance = |(line, row): &(u64, Vec<String>)| {
            let number = field(row, wildcards);
            // pandas writes 2.0.
            let wildcards =
                if number.is_empty() { Ok(0) } else { number.strip_suffix(".0").unwrap_or(&number).parse() };
            let wildcards = wildcards.with_context(|| format!("line {line}: {WILDCARDS} is '{number}'"))?;
            Ok(TableInstance { line: *line, id: field(row, id), text: field(row, text), wildcards })
        };
        self.rows.iter().map(instance).collect()
    }
}

/// An instance in a contest's table.
pub(super) struct TableInstance {
    pub(super) line: u64,
    pub(super) id: String,
    /// The state, as it is written.
    pub(super) text: String,
    /// The positions that a solution may leave wrong.
    pub(super) wildcards: usize,
}

/// How the contests of one host name the columns of their files.
pub(super) struct Contest {
    pub(super) id: &'static str,
    pub(super) state: &'static str,
    solution: &'static str,
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

impl Contest {
    /// A submission: the id, the state and the moves of each instance.
    ///
    /// # Errors
    /// If a row cannot be written.
    pub(super) fn submission(&self, rows: &[[String; 3]]) -> Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names = [self.id, self.state, self.solution];
        for [id, state, path] in [names].into_iter().chain(rows.iter().map(|row| row.each_ref().map(|text| &**text))) {
            writer.write_record([id].into_iter().chain(self.repeats_state.then_some(state)).chain([path]))?;
        }
        writer.into_inner().map_err(|error| anyhow!("{error}"))
    }

    /// Reads a submission: the id, the state if it is repeated, and the moves of each instance.
    ///
    /// # Errors
    /// If the file is no submission.
    pub(super) fn read_submission(bytes: &[u8]) -> Result<Vec<[String; 3]>> {
        for contest in &CONTESTS {
            if let Some(table) = Table::read(bytes, contest.solution)? {
                let [id, path] = [table.column(contest.id)?, table.column(contest.solution)?];
                let state = table.column(contest.state).ok();
                let row = |(_, row): (_, Vec<String>)| {
                    [row[id].clone(), state.map(|at| row[at].clone()).unwrap_or_default(), row[path].clone()]
                };
                return Ok(table.rows.into_iter().map(row).collect());
            }
        }
        let names = ["id,moves", "initial_state_id,path", "id,permutation,solution"];
        bail!("this is no submission: expected the columns {}", names.join(" or "))
    }
}
