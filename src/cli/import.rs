//! `costar import`: puzzles and instances from the files of contests.

use super::contest::{Contest, Table, TableInstance, WILDCARDS};
use super::{Ending, OrInput as _, SUCCESS};
use crate::files::write_whole;
use crate::json;
use crate::puzzle::cube_n::CubeN;
use crate::puzzle::permutation::{Description, orbits};
use crate::registry::included;
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each puzzle becomes NAME.json, for --puzzle, and its instances NAME.csv, for bench and improve."
)]
pub(super) struct Args {
    /// puzzle_info.csv and puzzles.csv (Santa 2023), or puzzle_info.json and test.csv (the contests of CayleyPy). Given one file
    /// of a pair, import looks for the other beside it
    #[arg(required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// Folder for the files
    #[arg(long, default_value = ".", value_name = "DIR")]
    out: PathBuf,
    /// Name of a puzzle whose file gives none [default: the name of the file's folder]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Moves by name, as permutations of positions.
type Moves = Vec<(String, Vec<usize>)>;

/// A kind of puzzle, as a contest describes it.
struct Kind {
    name: String,
    moves: Moves,
    /// The solved state, unless it is given with each instance.
    goal: Option<Vec<String>>,
}

/// An instance of a contest.
struct Row {
    id: String,
    kind: usize,
    goal: Vec<String>,
    state: Vec<String>,
    wildcards: usize,
}

pub(super) fn run(args: Args) -> Ending {
    let (kinds, rows, contest) = read(&args).or_input()?;
    fs::create_dir_all(&args.out)
        .with_context(|| format!("--out: cannot create the folder {}", args.out.display()))
        .or_input()?;
    let (mut written, mut names) = (0, Vec::new());
    for (number, kind) in kinds.iter().enumerate() {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.kind == number).collect();
        // Instances of one kind may have several goals: each is a puzzle of its own.
        let mut goals: Vec<&Vec<String>> = kind.goal.iter().collect();
        for row in &rows {
            if !goals.contains(&&row.goal) {
                goals.push(&row.goal);
            }
        }
        for (i, goal) in goals.iter().enumerate() {
            let suffix = if i == 0 { String::new() } else { format!("-{}", i + 1) };
            let name = kind.name.replace(['/', '\\', ' '], "_") + &suffix;
            if names.contains(&name) {
                return Err(anyhow!("two puzzles would be written to {name}.json")).or_input();
            }
            names.push(name.clone());
            let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.goal == **goal).collect();
            let keeps = contest.is_some_and(|contest| contest.repeats_state);
            match puzzle(&name, kind, goal, keeps) {
                Ok(puzzle) => {
                    write(&args.out, &name, &puzzle, &rows, contest)?;
                    written += 1;
                }
                Err(why) => writeln!(io::stdout(), "{name}: left out: {why:#}")?,
            }
        }
    }
    if written == 0 {
        Err(anyhow!("none of these puzzles can be used")).or_input()?;
    }
    Ok(SUCCESS)
}

/// A puzzle of costar for a kind.
struct Imported {
    /// The name of a puzzle of costar that has these rules, or the text of a file.
    rules: Result<String, String>,
    words: Words,
}

/// The words for the symbols of a contest.
struct Words {
    /// The orbit of each position: symbols of several orbits never mix.
    orbits: Vec<usize>,
    /// The word for each symbol of an orbit.
    words: HashMap<(usize, String), String>,
}

impl Words {
    fn word(&self, position: usize, symbol: &str) -> Option<&str> {
        Some(self.words.get(&(*self.orbits.get(position)?, symbol.to_owned()))?)
    }

    /// The words of all symbols of a state.
    fn of(&self, state: &[String]) -> Option<Vec<&str>> {
        let words =
            state.iter().enumerate().map(|(position, symbol)| self.word(position, symbol)).collect::<Option<_>>()?;
        (state.len() == self.orbits.len()).then_some(words)
    }
}

/// Reads all files.
fn read(args: &Args) -> Result<(Vec<Kind>, Vec<Row>, Option<&'static Contest>)> {
    let mut kinds = None;
    let mut tables = None;
    let mut paths = args.files.clone();
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        let in_file = || path.display().to_string();
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let other = if bytes.trim_ascii_start().starts_with(b"{") {
            let stem = args
                .name
                .clone()
                .or_else(|| Some(fs::canonicalize(&path).ok()?.parent()?.file_name()?.to_str()?.into()));
            let kind = kind_of_json(&bytes, stem.unwrap_or_else(|| "puzzle".into())).with_context(in_file)?;
            ensure!(kinds.replace(vec![kind]).is_none(), "{}: a second file with moves", path.display());
            "test.csv"
        } else if let Some(table) = Table::read(&bytes, "allowed_moves").with_context(in_file)? {
            let of_table = kinds_of_table(&table).with_context(in_file)?;
            ensure!(kinds.replace(of_table).is_none(), "{}: a second file with moves", path.display());
            "puzzles.csv"
        } else if let Some((table, contest)) = Table::of_instances(&bytes).with_context(in_file)? {
            ensure!(tables.is_none(), "{}: a second file with instances", path.display());
            let is_of_kinds = table.column("puzzle_type").is_ok();
            tables = Some((table, contest, path.clone()));
            if is_of_kinds { "puzzle_info.csv" } else { "puzzle_info.json" }
        } else {
            let instances = "instances (an id, and initial_state or permutation)";
            bail!("{}: expected moves (allowed_moves, or generators in JSON) or {instances}", path.display());
        };
        let other = path.with_file_name(other);
        paths.extend((args.files.len() == 1 && paths.len() == 1 && other.is_file()).then_some(other));
    }
    let kinds = kinds.context("no file has the moves: name puzzle_info.csv or puzzle_info.json as well")?;
    let Some((table, contest, path)) = tables else { return Ok((kinds, Vec::new(), None)) };
    let rows = rows(&table, contest, &kinds).with_context(|| path.display().to_string())?;
    Ok((kinds, rows, Some(contest)))
}

/// The kinds of Santa 2023: moves as dictionaries of Python.
fn kinds_of_table(table: &Table) -> Result<Vec<Kind>> {
    let [name, moves] = [table.column("puzzle_type")?, table.column("allowed_moves")?];
    let kind = |(line, row): &(u64, Vec<String>)| {
        let value = json::from_slice(row[moves].replace('\'', "\"").as_bytes());
        let in_line = || format!("line {line}: allowed_moves is no dictionary of lists");
        let value = value.with_context(in_line)?;
        Ok(Kind { name: row[name].clone(), moves: moves_of(value.as_object().with_context(in_line)?)?, goal: None })
    };
    table.rows.iter().map(kind).collect()
}

/// The puzzle of a contest of CayleyPy: `generators` by name, or `actions` with `names`, and the `central_state`.
fn kind_of_json(bytes: &[u8], name: String) -> Result<Kind> {
    let value = json::from_slice(bytes)?;
    let object = value.as_object().context("expected an object")?;
    let moves = match (object.get("generators"), object.get("actions"), object.get("names")) {
        (Some(Value::Object(generators)), ..) => moves_of(generators)?,
        (_, Some(Value::Array(actions)), Some(Value::Array(names))) if actions.len() == names.len() => {
            let names = names.iter().map(|name| name.as_str().unwrap_or_default().to_owned());
            let moves: Map<String, Value> = names.zip(actions.iter().cloned()).collect();
            ensure!(moves.len() == actions.len(), "\"names\" has a name twice");
            moves_of(&moves)?
        }
        _ => bail!("expected \"generators\", an object of permutations, or \"actions\" and \"names\""),
    };
    let positions = moves.first().map_or(0, |(_, from)| from.len());
    let goal = match object.get("central_state") {
        Some(Value::Array(symbols)) => symbols.iter().map(|symbol| symbol.to_string().replace('"', "")).collect(),
        Some(_) => bail!("\"central_state\" is no array"),
        None => (0..positions).map(|place| place.to_string()).collect(),
    };
    Ok(Kind { name, moves, goal: Some(goal) })
}

/// Moves, and the inverses that are not among them, with a `-` before the name.
fn moves_of(object: &Map<String, Value>) -> Result<Moves> {
    let mut moves = Moves::new();
    for (name, value) in object {
        let numbers =
            value.as_array().into_iter().flatten().map(|number| number.as_u64().map(|number| number as usize));
        let from: Option<Vec<usize>> = numbers.collect();
        let from = from.filter(|from| {
            let mut sorted = from.clone();
            sorted.sort_unstable();
            !from.is_empty() && sorted.into_iter().eq(0..from.len())
        });
        moves.push((name.clone(), from.with_context(|| format!("the move '{name}' is no permutation"))?));
    }
    for (name, from) in moves.clone() {
        let mut inverse = vec![0; from.len()];
        from.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
        if moves.iter().all(|(_, other)| *other != inverse) {
            moves.push((format!("-{name}"), inverse));
        }
    }
    ensure!(!moves.is_empty(), "there are no moves");
    Ok(moves)
}

/// The symbols of a state.
fn symbols(text: &str) -> Vec<String> {
    text.split([';', ',']).map(|symbol| symbol.trim().to_owned()).collect()
}

/// The instances.
fn rows(table: &Table, contest: &Contest, kinds: &[Kind]) -> Result<Vec<Row>> {
    let [types, goals] = ["puzzle_type", "solution_state"].map(|name| table.column(name).ok());
    let row = |(instance, (line, row)): (TableInstance, &(u64, Vec<String>))| {
        let kind = match types {
            None if kinds.len() == 1 => 0,
            None => bail!("no column puzzle_type says which of {} puzzles this is", kinds.len()),
            Some(types) => {
                let found = kinds.iter().position(|kind| kind.name == row[types]);
                found.with_context(|| format!("line {line}: no moves are known of '{}'", row[types]))?
            }
        };
        let goal = goals.map(|goals| symbols(&row[goals])).or_else(|| kinds[kind].goal.clone());
        Ok(Row {
            kind,
            goal: goal.with_context(|| format!("line {line}: no solved state is known"))?,
            state: symbols(&instance.text),
            id: instance.id,
            wildcards: instance.wildcards,
        })
    };
    table.instances(contest)?.into_iter().zip(&table.rows).map(row).collect()
}

/// The puzzle with these moves and this goal. `keeps`: states stay as the contest writes them, since submissions repeat them.
fn puzzle(name: &str, kind: &Kind, goal: &[String], keeps: bool) -> Result<Imported> {
    let is_as_long = |(_, from): &(String, Vec<usize>)| from.len() == goal.len();
    ensure!(kind.moves.iter().all(is_as_long), "a move and the solved state have different numbers of positions");
    let same_words = |words: &dyn Fn(usize) -> String| Words {
        orbits: vec![0; goal.len()],
        words: goal.iter().enumerate().map(|(at, symbol)| ((0, symbol.clone()), words(at))).collect(),
    };
    if let Some(name) = own_cube(kind, goal) {
        return Ok(Imported { rules: Ok(name), words: same_words(&|at| goal[at].clone()) });
    }
    if let Some((name, own)) = own_pieces(kind, goal).filter(|_| !keeps) {
        let own: Vec<String> = own.goal().map(String::from).collect();
        return Ok(Imported { rules: Ok(name.into()), words: same_words(&|at| own[at].clone()) });
    }
    let is_letters = goal.iter().all(|symbol| symbol.chars().count() == 1);
    let words = if is_letters {
        same_words(&|at| goal[at].clone())
    } else {
        let is_once = !keeps && goal.iter().collect::<HashSet<_>>().len() == goal.len();
        numbered(
            goal,
            if is_once {
                orbits(kind.moves.iter().map(|(_, from)| from.iter().copied()), goal.len())
            } else {
                vec![0; goal.len()]
            },
        )
    };
    let goal = words.of(goal).context("a symbol of the solved state has no word")?;
    let goal = if is_letters {
        json!(goal.concat())
    } else {
        json!(goal.iter().map(|word| word.parse::<u64>()).collect::<Result<Vec<_>, _>>()?)
    };
    let mut text = format!("{{ \"name\": {}, \"goal\": {goal},\n  \"moves\": {{\n", json!(name));
    for (i, (name, from)) in kind.moves.iter().enumerate() {
        let end = if i + 1 == kind.moves.len() { "} }" } else { "," };
        let _ = writeln!(text, "    {}: {}{end}", json!(name), json!(from)); // a String takes everything
    }
    Description::parse(&text)?;
    Ok(Imported { rules: Err(text), words })
}

/// Numbers the symbols of each orbit: as they are, if they are small numbers, and else as they come. Symbols that stand once
/// are numbered within their orbit, which keeps the numbers, and the input of a network, small.
fn numbered(goal: &[String], orbits: Vec<usize>) -> Words {
    let keeps = orbits.iter().all(|&orbit| orbit == 0) && goal.iter().all(|symbol| symbol.parse::<u8>().is_ok());
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let mut words = HashMap::new();
    for (symbol, &orbit) in goal.iter().zip(&orbits) {
        words.entry((orbit, symbol.clone())).or_insert_with(|| {
            let next = counts.entry(orbit).or_default();
            *next += 1;
            if keeps { symbol.clone() } else { (*next - 1).to_string() }
        });
    }
    Words { orbits, words }
}

/// The name of costar's own cube that turns the same stickers to the same goal, held still.
fn own_cube(kind: &Kind, goal: &[String]) -> Option<String> {
    let size = (goal.len() / 6).isqrt();
    let name = format!("cube{size}:oriented");
    let (size, metric) = CubeN::parse_name(&name).filter(|_| goal.len() == 6 * size * size)?;
    let cube = CubeN::new(size, metric);
    let is_goal = goal.chunks(size * size).zip(["A", "B", "C", "D", "E", "F"]).all(|(face, letter)| {
        let number = (letter.as_bytes()[0] - b'A').to_string();
        face.iter().all(|symbol| *symbol == letter) || face.iter().all(|symbol| *symbol == number)
    });
    let named = cube.contest_turns_by_name();
    let has_turn = |(name, from): &(String, Vec<usize>)| {
        named
            .iter()
            .any(|(other, turn)| other == name && turn.iter().map(|&from| usize::from(from)).eq(from.iter().copied()))
    };
    (is_goal && kind.moves.len() == named.len() && kind.moves.iter().all(has_turn)).then_some(name)
}

/// A puzzle that comes with costar, whose colours tell all pieces apart, for one that numbers the positions instead.
fn own_pieces(kind: &Kind, goal: &[String]) -> Option<(&'static str, Description)> {
    let is_numbered = goal.iter().enumerate().all(|(i, symbol)| *symbol == i.to_string());
    ["megaminx", "professor-tetraminx"].into_iter().filter(|_| is_numbered).find_map(|name| {
        let own = included(name)?;
        let has_move = |(name, from): &(String, Vec<usize>)| {
            let is_same = |other: &[u16]| other.iter().map(|&from| usize::from(from)).eq(from.iter().copied());
            own.contest_moves().any(|(other, turn)| other == *name && is_same(turn))
        };
        let is_own = kind.moves.len() == own.contest_moves().count() && kind.moves.iter().all(has_move);
        is_own.then_some((name, own))
    })
}

/// Writes a puzzle and its instances, and says so.
fn write(folder: &Path, name: &str, puzzle: &Imported, rows: &[&Row], contest: Option<&Contest>) -> Result<()> {
    let mut said = match &puzzle.rules {
        Ok(own) => format!("{name} is the puzzle {own} of costar"),
        Err(text) => {
            let path = folder.join(format!("{name}.json"));
            write_whole(&path, text.as_bytes())?;
            path.display().to_string()
        }
    };
    if let Some(contest) = contest.filter(|_| !rows.is_empty()) {
        let wildcards = rows.iter().filter(|row| row.wildcards > 0).count();
        let column = (wildcards > 0).then_some(WILDCARDS);
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record([contest.id, contest.state].into_iter().chain(column))?;
        let mut refused = Vec::new();
        for row in rows {
            let Some(words) = puzzle.words.of(&row.state) else {
                refused.push(&*row.id);
                continue;
            };
            // A submission repeats the state as the contest writes it.
            let state = words.join(if contest.repeats_state { "," } else { " " });
            let wildcards = column.map(|_| row.wildcards.to_string());
            writer.write_record([&*row.id, &state].into_iter().chain(wildcards.as_deref()))?;
        }
        if !refused.is_empty() {
            let ids = refused.join(", ");
            writeln!(io::stdout(), "{name}: left out, since they do not have the symbols of the solved state: {ids}")?;
        }
        let count = rows.len() - refused.len();
        if count > 0 {
            let path = folder.join(format!("{name}.csv"));
            write_whole(&path, &writer.into_inner().map_err(|error| anyhow!("{error}"))?)?;
            let _ = write!(said, "; {count} instances: {}", path.display());
        }
        if wildcards > 0 {
            let _ = write!(said, " ({wildcards} have wildcards)");
        }
    }
    Ok(writeln!(io::stdout(), "{said}")?)
}
