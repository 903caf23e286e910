//! `costar import`: puzzles and instances from the files of contests.

use super::contest::{self, Contest, TableInstance, WILDCARDS, written};
use super::progress::note;
use super::{Ending, OrInput as _, SUCCESS, check_input, instances};
use crate::files::{read_if_there, write_whole};
use crate::json;
use crate::puzzle::cube_n::CubeN;
use crate::puzzle::permutation::{Description, MAX_POSITIONS, Permutation, inverted, orbits};
use crate::puzzle::{Notation as _, Rules as _, counted, members, unquoted};
use crate::registry::{included, is_own_name};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each puzzle becomes NAME.json, for --puzzle, and its instances NAME.csv, for bench and improve."
)]
pub(super) struct Args {
    /// puzzle_info.csv and puzzles.csv (Santa 2023), or puzzle_info.json and test.csv (the contests of CayleyPy). Given one
    /// file of a pair, import looks for the other beside it
    #[arg(required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// Folder for the files
    #[arg(long, default_value = ".", value_name = "DIR")]
    out: PathBuf,
    /// Name of a puzzle from JSON [default: the one in the file, or the name of the file's folder]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Moves by name, as permutations of positions.
type NamedMoves = Vec<(String, Vec<u16>)>;

/// A kind of puzzle, as a contest describes it.
struct Kind {
    name: String,
    moves: NamedMoves,
    /// The solved state, unless it is given with each instance.
    goal: Option<Vec<String>>,
}

/// An instance of a contest.
struct ContestInstance {
    id: String,
    kind: usize,
    goal: Vec<String>,
    state: Vec<String>,
    wildcards: usize,
}

pub(super) fn run(args: Args) -> Ending {
    let (kinds, rows, contest) = read(&args).or_input()?;
    let mut output = ImportedFiles { folder: &args.out, files: Vec::new(), said: Vec::new() };
    let (mut instances, mut names) = (0, HashSet::new());
    for (number, kind) in kinds.iter().enumerate() {
        let rows: Vec<&ContestInstance> = rows.iter().filter(|row| row.kind == number).collect();
        // Instances of one kind may have several goals: each is a puzzle of its own.
        let goals = kind.goal.iter().chain(rows.iter().map(|row| &row.goal));
        let mut seen = HashSet::new();
        let goals: Vec<&Vec<String>> = goals.filter(|goal| seen.insert(*goal)).collect();
        for goal in goals {
            let base = kind.name.replace(['/', '\\', ' ', ':', ','], "_");
            let numbered = (2..).map(|number| format!("{base}-{number}"));
            let mut free = std::iter::once(base.clone()).chain(numbered).filter(|name| {
                // A file with such a name would be refused.
                !is_own_name(name) && names.insert(name.clone())
            });
            let name = free.next().expect("there are numbers enough");
            let rows: Vec<&ContestInstance> = rows.iter().copied().filter(|row| row.goal == *goal).collect();
            let keeps = contest.is_some_and(|contest| contest.repeats_state);
            match puzzle(&name, kind, goal, keeps) {
                Ok(puzzle) => instances += output.add(&name, &puzzle, &rows, contest)?,
                Err(why) => note!("costar: {name}: left out: {why:#}"),
            }
        }
    }
    check_input(!output.said.is_empty(), || "none of these puzzles can be used".into())?;
    check_input(instances > 0 || rows.is_empty(), || "none of these instances can be used".into())?;
    output.write()
}

/// A puzzle of costar for a kind.
struct Imported {
    /// The text of its file, unless costar has a puzzle with these rules.
    file: Option<String>,
    rules: Permutation<MAX_POSITIONS>,
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
    /// The words of all symbols of a state.
    fn of(&self, state: &[String]) -> Option<Vec<&str>> {
        let word = |(&orbit, symbol): (&usize, &String)| Some(self.words.get(&(orbit, symbol.clone()))?.as_str());
        let words = self.orbits.iter().zip(state).map(word).collect::<Option<_>>()?;
        (state.len() == self.orbits.len()).then_some(words)
    }
}

/// Reads all files.
fn read(args: &Args) -> Result<(Vec<Kind>, Vec<ContestInstance>, Option<&'static Contest>)> {
    let mut kinds = None;
    let mut tables = None;
    let mut paths = args.files.clone();
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        let in_file = || path.display().to_string();
        let text = instances::read_file(&path)?;
        let other = if text.trim_start().starts_with('{') {
            let kind = kind_of_json(&text, args.name.as_deref(), &path).with_context(in_file)?;
            ensure!(kinds.replace(vec![kind]).is_none(), "{}: a second file with moves", path.display());
            "test.csv"
        } else if let Some(rows) = contest::rows(&text, &["allowed_moves"], &["puzzle_type"]).with_context(in_file)? {
            let mut names = HashSet::new();
            let of_rows = rows.into_iter().map(|row| kind_of_row(row, &mut names));
            let of_rows = of_rows.collect::<Result<_>>().with_context(in_file)?;
            ensure!(kinds.replace(of_rows).is_none(), "{}: a second file with moves", path.display());
            "puzzles.csv"
        } else if let Some((instances, contest)) = contest::instances(&text).with_context(in_file)? {
            ensure!(tables.is_none(), "{}: a second file with instances", path.display());
            let moves_in_csv = instances.iter().any(|instance| instance.others.contains_key("puzzle_type"))
                || !path.with_file_name("puzzle_info.json").is_file();
            tables = Some((instances, contest, path.clone()));
            if moves_in_csv { "puzzle_info.csv" } else { "puzzle_info.json" }
        } else {
            let instances = "instances (an id, and initial_state or permutation)";
            bail!("{}: expected moves (allowed_moves, or generators in JSON) or {instances}", path.display());
        };
        let other = path.with_file_name(other);
        paths.extend((args.files.len() == 1 && paths.len() == 1 && other.is_file()).then_some(other));
    }
    let kinds = kinds.context("no file has the moves: name puzzle_info.csv or puzzle_info.json as well")?;
    let has_goals = kinds.iter().any(|kind| kind.goal.is_some());
    let Some((instances, contest, path)) = tables else {
        ensure!(has_goals, "no file has the solved states: name puzzles.csv as well");
        return Ok((kinds, Vec::new(), None));
    };
    ensure!(has_goals || !instances.is_empty(), "{} holds no instance", path.display());
    let rows = rows(instances, &kinds).with_context(|| path.display().to_string())?;
    Ok((kinds, rows, Some(contest)))
}

/// A kind of Santa 2023: moves as a dictionary of Python.
fn kind_of_row((line, row): contest::Row, names: &mut HashSet<String>) -> Result<Kind> {
    let name = &row["puzzle_type"];
    ensure!(names.insert(name.clone()), "line {line}: the puzzle type {name} is there twice");
    // Python puts a name with a single quotation mark, such as R', into double ones.
    let mut is_double = false;
    let quoted = |character| {
        is_double ^= character == '"';
        if character == '\'' && !is_double { '"' } else { character }
    };
    let value = json::from_slice(row["allowed_moves"].chars().map(quoted).collect::<String>().as_bytes());
    let in_line = || format!("line {line}: allowed_moves is not a dictionary of lists");
    let value = value.with_context(in_line)?;
    let moves = moves_of(value.as_object().with_context(in_line)?)?;
    Ok(Kind { name: name.clone(), moves, goal: None })
}

/// The puzzle of a contest of CayleyPy: `generators` by name, or as a list with `generator_names`, or `actions` with `names`;
/// and the `central_state`.
fn kind_of_json(text: &str, name: Option<&str>, path: &Path) -> Result<Kind> {
    let value = json::from_slice(text.as_bytes())?;
    let object = value.as_object().context("expected an object")?;
    let listed = [("generators", "generator_names"), ("actions", "names")].into_iter().find_map(|(moves, names)| {
        let (moves, listed) = (object.get(moves)?.as_array()?, object.get(names)?.as_array()?);
        (moves.len() == listed.len()).then_some((moves, listed, names))
    });
    let moves = match (object.get("generators"), listed) {
        (Some(Value::Object(generators)), _) => moves_of(generators)?,
        (_, Some((moves, listed, key))) => {
            let names: Option<Vec<_>> = listed.iter().map(|name| name.as_str().map(String::from)).collect();
            let names = names.with_context(|| format!("\"{key}\" holds something else than texts"))?;
            let by_name: Map<String, Value> = names.into_iter().zip(moves.iter().cloned()).collect();
            ensure!(by_name.len() == moves.len(), "\"{key}\" has a name twice");
            moves_of(&by_name)?
        }
        _ => bail!(
            "expected \"generators\", an object of permutations or a list with \"generator_names\", or \"actions\" and \
             \"names\""
        ),
    };
    let positions = moves.first().map_or(0, |(_, from)| from.len());
    let own_name = || object.get("name").and_then(Value::as_str).map(String::from);
    let folder = || Some(fs::canonicalize(path).ok()?.parent()?.file_name()?.to_str()?.into());
    let name = name.map(String::from).or_else(own_name).or_else(folder).unwrap_or_else(|| "puzzle".into());
    let goal = match object.get("central_state") {
        Some(Value::Array(symbols)) => symbols.iter().map(|symbol| symbol.to_string().replace('"', "")).collect(),
        Some(_) => bail!("\"central_state\" is not an array"),
        None => {
            if let Some(key) =
                object.keys().find(|key| ["state", "goal", "solved"].iter().any(|word| key.contains(word)))
            {
                bail!("\"{key}\" is unknown: expected the solved state as \"central_state\"");
            }
            note!("costar: the solved state of {name} is 0 1 2 …, since the file has no \"central_state\"");
            (0..positions).map(|place| place.to_string()).collect()
        }
    };
    Ok(Kind { name, moves, goal: Some(goal) })
}

/// Moves, and the inverses that are not among them, with a `-` before the name.
fn moves_of(object: &Map<String, Value>) -> Result<NamedMoves> {
    let mut moves = NamedMoves::new();
    for (name, value) in object {
        let numbers = value.as_array().into_iter().flatten();
        let from: Option<Vec<u16>> = numbers.map(|number| number.as_u64()?.try_into().ok()).collect();
        let from = from.filter(|from| {
            let mut sorted = from.clone();
            sorted.sort_unstable();
            !from.is_empty() && sorted.into_iter().map(usize::from).eq(0..from.len())
        });
        ensure!(
            !name.contains('.'),
            "the move '{name}' has a dot in its name, which stands between moves in a submission"
        );
        let refusal = || format!("the move '{name}' is not a permutation: expected each integer from 0 once");
        moves.push((name.clone(), from.with_context(refusal)?));
    }
    for (name, from) in moves.clone() {
        let inverse = inverted(&from);
        if moves.iter().all(|(_, other)| *other != inverse) {
            moves.push((format!("-{name}"), inverse));
        }
    }
    ensure!(!moves.is_empty(), "there are no moves");
    Ok(moves)
}

/// The symbols of a state: `A;B`, `0,1`, `[0, 1]` or `0 1`.
fn symbols(text: &str) -> Vec<String> {
    members(text).map(|symbol| unquoted(symbol).to_owned()).collect()
}

/// The instances.
fn rows(instances: Vec<TableInstance>, kinds: &[Kind]) -> Result<Vec<ContestInstance>> {
    let row = |TableInstance { line, id, text, wildcards, others }| {
        let kind = match others.get("puzzle_type") {
            None if kinds.len() == 1 => 0,
            None => bail!("no column puzzle_type says which of {} puzzles this is", kinds.len()),
            Some(name) => {
                let found = kinds.iter().position(|kind| kind.name == *name);
                found.with_context(|| format!("line {line}: no moves are known of '{name}'"))?
            }
        };
        let goal = others.get("solution_state").map(|goal| symbols(goal)).or_else(|| kinds[kind].goal.clone());
        let goal = goal.with_context(|| format!("line {line}: no solved state is known"))?;
        Ok(ContestInstance { kind, goal, state: symbols(&text), id, wildcards })
    };
    instances.into_iter().map(row).collect()
}

/// The puzzle with these moves and this goal. `keeps`: states stay as the contest writes them, since submissions repeat them.
fn puzzle(name: &str, kind: &Kind, goal: &[String], keeps: bool) -> Result<Imported> {
    if let Some((name, from)) = kind.moves.iter().find(|(_, from)| from.len() != goal.len()) {
        let (moved, solved) = (from.len(), goal.len());
        bail!("the move '{name}' has {moved} positions, and the solved state {solved}: expected equal numbers");
    }
    ensure!(goal.len() <= MAX_POSITIONS, "it has {} positions: expected at most {MAX_POSITIONS}", goal.len());
    let same_words = |words: &dyn Fn(usize) -> String| Words {
        orbits: vec![0; goal.len()],
        words: goal.iter().enumerate().map(|(at, symbol)| ((0, symbol.clone()), words(at))).collect(),
    };
    if let Some(own) = own_cube(kind, goal) {
        let words = same_words(&|at| goal[at].clone());
        return Ok(Imported { file: None, rules: Permutation::new(Description::of_cube(own)), words });
    }
    if let Some(own) = own_pieces(kind, goal).filter(|_| !keeps) {
        let symbols: Vec<String> = own.goal().map(String::from).collect();
        let words = same_words(&|at| symbols[at].clone());
        return Ok(Imported { file: None, rules: Permutation::new(own), words });
    }
    let is_letters = goal.iter().all(|symbol| symbol.chars().count() == 1);
    let words = if is_letters {
        same_words(&|at| goal[at].clone())
    } else {
        let is_once = !keeps && goal.iter().collect::<HashSet<_>>().len() == goal.len();
        let moves = kind.moves.iter().map(|(_, from)| from.iter().copied().map(usize::from));
        numbered(goal, if is_once { orbits(moves, goal.len()) } else { vec![0; goal.len()] })
    };
    let symbols = words.words.values().collect::<HashSet<_>>().len();
    ensure!(symbols <= 256, "it has {symbols} different symbols: expected at most 256");
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
    let description = Description::parse(&text).with_context(|| format!("{name}.json would be refused"))?;
    Ok(Imported { file: Some(text), rules: Permutation::new(description), words })
}

/// Numbers the symbols of each orbit: keeps small integers; otherwise numbers by first appearance. Symbols that appear once
/// are numbered within their orbit, so that a network's input stays small.
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

/// Costar's own cube that turns the same stickers to the same goal, held still.
fn own_cube(kind: &Kind, goal: &[String]) -> Option<CubeN> {
    let size = (goal.len() / 6).isqrt();
    let name = format!("cube{size}:oriented");
    let (size, metric) = CubeN::parse_name(&name).filter(|_| goal.len() == 6 * size * size)?;
    let cube = CubeN::new(size, metric);
    let is_goal = goal.chunks(size * size).zip(["A", "B", "C", "D", "E", "F"]).all(|(face, letter)| {
        let number = (letter.as_bytes()[0] - b'A').to_string();
        face.iter().all(|symbol| *symbol == letter) || face.iter().all(|symbol| *symbol == number)
    });
    (is_goal && has_same_moves(kind, &cube.contest_turns_by_name())).then_some(cube)
}

fn has_same_moves(kind: &Kind, moves: &NamedMoves) -> bool {
    kind.moves.len() == moves.len() && kind.moves.iter().all(|named| moves.contains(named))
}

/// A puzzle that comes with costar, whose colours tell all pieces apart, for one that numbers the positions instead.
fn own_pieces(kind: &Kind, goal: &[String]) -> Option<Description> {
    let is_numbered = goal.iter().enumerate().all(|(i, symbol)| *symbol == i.to_string());
    ["megaminx", "professor-tetraminx"].into_iter().filter(|_| is_numbered).filter_map(included).find(|own| {
        let moves = own.contest_moves().map(|(name, from)| (name, from.to_vec())).collect();
        has_same_moves(kind, &moves)
    })
}

fn sorted(symbols: &[String]) -> Vec<&String> {
    let mut sorted: Vec<&String> = symbols.iter().collect();
    sorted.sort_unstable();
    sorted
}

/// The files to write and the lines to print, after all input has been read.
struct ImportedFiles<'a> {
    folder: &'a Path,
    files: Vec<(PathBuf, Vec<u8>)>,
    /// A line for each puzzle.
    said: Vec<String>,
}

impl ImportedFiles<'_> {
    /// Adds a puzzle and its instances, and returns the number of the instances.
    fn add(
        &mut self,
        name: &str,
        puzzle: &Imported,
        rows: &[&ContestInstance],
        contest: Option<&Contest>,
    ) -> anyhow::Result<usize> {
        let mut instances = 0;
        let mut said = match &puzzle.file {
            None => format!("{name} is the puzzle {} of costar", puzzle.rules.name()),
            Some(text) => self.add_file(&format!("{name}.json"), text.clone().into_bytes()),
        };
        if let Some(contest) = contest.filter(|_| !rows.is_empty()) {
            let (mut kept, mut refused) = (Vec::new(), BTreeMap::<_, Vec<&str>>::new());
            // A submission repeats the state as the contest writes it.
            let separator = if contest.repeats_state { "," } else { " " };
            for row in rows {
                let has_symbols = sorted(&row.state) == sorted(&row.goal);
                let state = puzzle.words.of(&row.state).map(|words| words.join(separator));
                if let Some(state) = state.filter(|state| has_symbols && puzzle.rules.parse(state).is_ok()) {
                    kept.push((*row, state));
                    continue;
                }
                let why = match (has_symbols, row.wildcards) {
                    (false, _) => "they do not have the symbols of the solved state, each as often",
                    (true, 0) => "no moves lead from them to the solved state",
                    (true, _) => "no moves lead from them to the solved state, and wildcards only shorten a solution",
                };
                refused.entry(why).or_default().push(&row.id);
            }
            for (why, ids) in refused {
                note!("costar: {name}: left out instances {}: {why}", ids.join(", "));
            }
            let wildcards = kept.iter().filter(|(row, _)| row.wildcards > 0).count();
            if !kept.is_empty() {
                let column = (wildcards > 0).then_some(WILDCARDS);
                let names = [Some(contest.id), Some(contest.state), column];
                let counts: Vec<String> = kept.iter().map(|(row, _)| row.wildcards.to_string()).collect();
                let fields = kept.iter().zip(&counts).map(|((row, state), count)| {
                    [Some(row.id.as_str()), Some(state.as_str()), column.map(|_| count.as_str())]
                });
                let path = self.add_file(&format!("{name}.csv"), written([names].into_iter().chain(fields))?);
                instances = kept.len();
                let _ = write!(said, "; {}: {path}", counted(instances, "instance"));
            }
            if wildcards > 0 {
                let _ = write!(said, " (with wildcards: {wildcards})");
            }
        }
        self.said.push(said);
        Ok(instances)
    }

    /// Adds a file, and returns its path.
    fn add_file(&mut self, name: &str, bytes: Vec<u8>) -> String {
        let path = self.folder.join(name);
        let shown = path.display().to_string();
        self.files.push((path, bytes));
        shown
    }

    /// Writes all files, or none if one is there with other content; prints a line for each puzzle.
    fn write(self) -> Ending {
        let mut missing = Vec::new();
        for (path, bytes) in self.files {
            match read_if_there(&path).or_input()? {
                None => missing.push((path, bytes)),
                Some(there) => check_input(there == bytes, || {
                    let path = path.display();
                    format!("{path} is there already, with other content: move it, or choose another --out")
                })?,
            }
        }
        fs::create_dir_all(self.folder)
            .with_context(|| format!("--out: cannot create the folder {}", self.folder.display()))
            .or_input()?;
        missing.into_iter().try_for_each(|(path, bytes)| write_whole(&path, &bytes))?;
        self.said.iter().try_for_each(|line| writeln!(io::stdout(), "{line}"))?;
        Ok(SUCCESS)
    }
}
