//! Inputs of `costar plot`: runs, models or results, distinguished by their content.

use crate::cli::instances::{self, Written};
use crate::files::read_if_there;
use crate::neural::model::CONFIG;
use crate::plot::{Results, TrainingRun};
use crate::puzzle::cube3::Cube3;
use crate::report::run_folder::{METRICS, MODEL, SNAPSHOTS, entries, newest_checkpoint};
use crate::report::{Metrics, Record, parse_lines};
use crate::solver::models;
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// All inputs, of one kind.
#[derive(Debug)]
pub(super) enum PlotInputs {
    Runs(Vec<RunInput>),
    /// Folders of models.
    Models(Vec<PathBuf>),
    Results(Vec<Results>),
}

impl PlotInputs {
    /// The kind, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            PlotInputs::Runs(_) => "runs",
            PlotInputs::Models(_) => "models",
            PlotInputs::Results(_) => "results of bench",
        }
    }

    /// The rest of a sentence that begins with the name of an input.
    fn said(&self) -> &'static str {
        match self {
            PlotInputs::Runs(_) => "is a run",
            PlotInputs::Models(_) => "is a model",
            PlotInputs::Results(_) => "holds results of bench",
        }
    }
}

/// A run, or its metrics without the folder.
#[derive(Debug)]
pub(super) struct RunInput {
    name: String,
    /// The folder, or the file of metrics.
    path: PathBuf,
    /// Empty if the run has written none yet.
    metrics: Vec<Metrics>,
    /// Models kept during the run, by the samples that they have seen.
    pub(super) snapshots: Vec<PathBuf>,
}

impl RunInput {
    fn of_folder(folder: &Path) -> Result<RunInput> {
        let file = folder.join(METRICS);
        let metrics = read_if_there(&file)?.map_or(Ok(Vec::new()), |text| parse_lines(&text, &file))?;
        let mut snapshots = entries(&folder.join(SNAPSHOTS))?;
        snapshots.retain(|path| path.join(CONFIG).is_file());
        snapshots.sort();
        Ok(RunInput { name: name_of(folder), path: folder.to_owned(), metrics, snapshots })
    }

    fn of_metrics(path: &Path, metrics: Vec<Metrics>) -> RunInput {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && path.ends_with(METRICS));
        RunInput { name: name_of(folder.unwrap_or(path)), path: path.to_owned(), metrics, snapshots: Vec::new() }
    }

    /// The models to draw: all snapshots if `all`, else the newest model.
    ///
    /// # Errors
    /// If there is no model.
    pub(super) fn models(&self, all: bool) -> Result<Vec<PathBuf>> {
        if all && !self.snapshots.is_empty() {
            return Ok(self.snapshots.clone());
        }
        let name = self.path.display();
        ensure!(self.path.is_dir(), "{name}: metrics hold no model: expected the folder of the run");
        let newest = newest_checkpoint(&self.path)?.map(|checkpoint| checkpoint.join(MODEL));
        let newest = newest.or_else(|| self.snapshots.last().cloned());
        newest.map(|model| vec![model]).with_context(|| format!("{name} holds no checkpoint yet"))
    }

    /// The metrics.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn into_run(self) -> Result<TrainingRun> {
        ensure!(!self.metrics.is_empty(), "{} holds no metrics yet", self.path.display());
        Ok(TrainingRun { name: self.name, metrics: self.metrics })
    }
}

/// Reads the inputs. `optima` is a file of instances with the optimal lengths that results lack. With `as_models`, a run
/// among models stands for its newest model.
///
/// # Errors
/// If an input is not a run, model or file of results, or if they are not of one kind.
pub(super) fn read(names: &[String], optima: Option<&Path>, as_models: bool) -> Result<PlotInputs> {
    use PlotInputs::{Models, Results, Runs};
    let optima = optima.map(known_optima).transpose().context("--instances")?;
    let mut each = names.iter().map(|name| read_one(name)).collect::<Result<Vec<_>>>()?;
    if as_models && each.iter().any(|input| matches!(input, Models(_))) {
        for input in &mut each {
            if let Runs(runs) = input {
                let newest = runs.iter().map(|run| run.models(false)).collect::<Result<Vec<_>>>()?;
                *input = Models(newest.concat());
            }
        }
    }
    let mut each = each.into_iter();
    let mut inputs = each.next().context("nothing is named")?;
    for (next, name) in each.zip(&names[1..]) {
        match (&mut inputs, next) {
            (Runs(all), Runs(more)) => all.extend(more),
            (Models(all), Models(more)) => all.extend(more),
            (Results(all), Results(more)) => {
                let refuse = |why| anyhow!("{name} holds results of another puzzle than {}: {why}", names[0]);
                more[0].records[0].check_same_puzzle(&all[0].records[0]).map_err(refuse)?;
                all.extend(more);
            }
            (first, next) => {
                let (first, next) = (first.said(), next.said());
                bail!("{name} {next}, and {} {first}: a picture takes inputs of one kind", names[0]);
            }
        }
    }
    if let (Results(all), Some(optima)) = (&mut inputs, optima) {
        let records = all.iter_mut().flat_map(|results| &mut results.records);
        let known = records.filter_map(|record| Some((*optima.get(&record.instance)?, record))).collect::<Vec<_>>();
        ensure!(!known.is_empty(), "--instances: no instance of the results has an optimal length there");
        for (optimum, record) in known {
            // An optimum is a number of moves, not a cost.
            if record.optimal_length.is_none() && record.move_costs.is_none() && !record.contradicts(optimum) {
                record.optimal_length = Some(optimum);
            }
        }
    }
    number_equal_names(&mut inputs);
    Ok(inputs)
}

fn read_one(name: &str) -> Result<PlotInputs> {
    let path = Path::new(name);
    if path.is_dir() {
        if path.join(CONFIG).is_file() {
            return Ok(PlotInputs::Models(vec![path.to_owned()]));
        }
        let is_run = path.join(METRICS).is_file() || newest_checkpoint(path)?.is_some();
        let expected = "expected the folder of a run or of a model";
        ensure!(is_run, "{name} is a folder without {METRICS} and without a model: {expected}");
        return Ok(PlotInputs::Runs(vec![RunInput::of_folder(path)?]));
    }
    if path.exists() {
        return read_file(path);
    }
    let is_path = name.contains(['/', '.']);
    match models::find(name) {
        Ok(model) if !is_path => Ok(PlotInputs::Models(vec![model])),
        _ => bail!("there is no file, folder or model '{name}'"),
    }
}

/// Reads a file of metrics or of results; its first line decides.
fn read_file(path: &Path) -> Result<PlotInputs> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !is_results(&text, path)? {
        return Ok(PlotInputs::Runs(vec![RunInput::of_metrics(path, parse_lines(&text, path)?)]));
    }
    let records = parse_lines::<Record>(&text, path)?;
    for (i, record) in records.iter().enumerate() {
        let refuse = |why| anyhow!("line {} of {} has other settings: {why}", i + 1, path.display());
        record.check_same_settings(&records[0]).map_err(refuse)?;
    }
    Ok(PlotInputs::Results(vec![Results { name: name_of(path), records }]))
}

/// Whether the first line is a result; `false` if it is metrics.
fn is_results(text: &[u8], path: &Path) -> Result<bool> {
    let name = path.display();
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    let mut written = lines.filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace));
    let Some((i, line)) = written.next() else { bail!("{name} is empty: it holds no metrics and no results") };
    let line_name = format!("line {} of {name}", i + 1);
    let expected = "expected metrics of a training run, or results of bench --out";
    let Ok(value) = serde_json::from_slice::<Value>(line) else { bail!("{line_name} is not JSON: {expected}") };
    let is_results = value.get("instance").is_some();
    ensure!(is_results || value.get("samples").is_some(), "{line_name} is not a record of costar: {expected}");
    Ok(is_results)
}

/// The name of a folder, or of a file without its extension.
fn name_of(path: &Path) -> String {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = if absolute.is_dir() { absolute.file_name() } else { absolute.file_stem() };
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Adds a number to a name that came before.
fn number_equal_names(inputs: &mut PlotInputs) {
    let names: Vec<&mut String> = match inputs {
        PlotInputs::Runs(runs) => runs.iter_mut().map(|run| &mut run.name).collect(),
        PlotInputs::Results(all) => all.iter_mut().map(|results| &mut results.name).collect(),
        PlotInputs::Models(_) => return,
    };
    let mut seen: HashMap<String, usize> = HashMap::new();
    for name in names {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *name += &format!(" ({count})");
        }
    }
}

/// The known optimal lengths in a file with one instance per line, by the text of the instance.
///
/// # Errors
/// If the file cannot be read, or a length is not a number: names the line.
fn known_optima(path: &Path) -> Result<HashMap<String, u32>> {
    let text = instances::read_file(path)?;
    let mut optima = HashMap::new();
    // The facelets of a cube are the only instances of several lines that have a length.
    for Written { line, text } in instances::all(&text, &Cube3) {
        let (instance, optimum) =
            instances::with_optimum(&Cube3, &text).with_context(|| format!("line {line} of {}", path.display()))?;
        optima.extend(optimum.map(|optimum| (instance.to_owned(), optimum)));
    }
    Ok(optima)
}
