//! What `costar plot` is given: runs, models or results, told apart by what is in them.

use super::super::instances::{self, Written};
use crate::neural::model::CONFIG;
use crate::plot::{Results, Run};
use crate::report::{Metrics, Record, parse_lines};
use crate::solver::models;
use crate::train::checkpoint::{self, MODEL};
use crate::train::{METRICS, SNAPSHOTS};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// All inputs, of one sort.
#[derive(Debug)]
pub(super) enum Given {
    Runs(Vec<Folder>),
    /// Folders of models.
    Models(Vec<PathBuf>),
    Results(Vec<Results>),
}

impl Given {
    /// What they are, in words.
    pub(super) fn sort(&self) -> &'static str {
        match self {
            Given::Runs(_) => "runs",
            Given::Models(_) => "models",
            Given::Results(_) => "results of bench",
        }
    }
}

/// A run: its folder, or its metrics alone.
#[derive(Debug)]
pub(super) struct Folder {
    name: String,
    /// The folder, or the file of metrics.
    path: PathBuf,
    /// Its metrics; none where it has not written any.
    metrics: Vec<Metrics>,
    /// The models that were kept, by the samples that they have seen.
    pub(super) snapshots: Vec<PathBuf>,
}

impl Folder {
    fn of_run(folder: &Path) -> Result<Folder> {
        let file = folder.join(METRICS);
        let metrics = match fs::read(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            text => {
                let text = text.with_context(|| format!("cannot read {}", file.display()))?;
                parse_lines(&text, &file)?
            }
        };
        let snapshots = snapshots(&folder.join(SNAPSHOTS))?;
        Ok(Folder { name: name_of(folder), path: folder.to_owned(), metrics, snapshots })
    }

    fn of_metrics(path: &Path, metrics: Vec<Metrics>) -> Folder {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let name = match folder {
            Some(folder) if path.file_name().is_some_and(|name| name == METRICS) => name_of(folder),
            _ => name_of(path),
        };
        Folder { name, path: path.to_owned(), metrics, snapshots: Vec::new() }
    }

    /// The models to be shown: those that were kept, one after the other, or the newest one alone.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn models(&self, all: bool) -> Result<Vec<PathBuf>> {
        if all && !self.snapshots.is_empty() {
            return Ok(self.snapshots.clone());
        }
        let name = self.path.display();
        ensure!(self.path.is_dir(), "{name}: metrics hold no model: expected the folder of the run");
        let newest = checkpoint::newest(&self.path)?.map(|checkpoint| checkpoint.join(MODEL));
        let newest = newest.or_else(|| self.snapshots.last().cloned());
        newest.map(|model| vec![model]).with_context(|| format!("{name} holds no checkpoint yet"))
    }

    /// Its metrics.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn into_run(self) -> Result<Run> {
        ensure!(!self.metrics.is_empty(), "{} holds no metrics yet", self.path.display());
        Ok(Run { name: self.name, metrics: self.metrics })
    }
}

/// Reads what is named; `optima` is a file of instances with the optimal lengths that results lack. With `as_models`, a run
/// beside a model stands for its newest one.
///
/// # Errors
/// If something is neither a run nor a model nor results, or they are not of one sort.
pub(super) fn read(names: &[String], optima: Option<&Path>, as_models: bool) -> Result<Given> {
    let optima = optima.map(known_optima).transpose().context("--instances")?;
    let mut first: Option<Given> = None;
    for name in names {
        let next = read_one(name)?;
        first = Some(match (first, next) {
            (None, next) => next,
            (Some(Given::Runs(all)), Given::Runs(more)) => Given::Runs(joined(all, more)),
            (Some(Given::Models(all)), Given::Models(more)) => Given::Models(joined(all, more)),
            (Some(Given::Results(all)), Given::Results(more)) => Given::Results(joined(all, more)),
            (Some(Given::Models(all)), Given::Runs(more)) if as_models => Given::Models(joined(all, newest(&more)?)),
            (Some(Given::Runs(all)), Given::Models(more)) if as_models => Given::Models(joined(newest(&all)?, more)),
            (Some(first), next) => bail!(
                "{name} is one of {}, and {} one of {}: expected inputs of one kind",
                next.sort(),
                names[0],
                first.sort()
            ),
        });
    }
    let mut given = first.context("nothing is named")?;
    if let (Given::Results(all), Some(optima)) = (&mut given, optima) {
        all.iter_mut().for_each(|results| add_optima(results, &optima));
    }
    tell_apart(&mut given);
    Ok(given)
}

/// The newest model of each run.
fn newest(runs: &[Folder]) -> Result<Vec<PathBuf>> {
    let models = runs.iter().map(|run| run.models(false)).collect::<Result<Vec<_>>>()?;
    Ok(models.concat())
}

fn joined<T>(mut all: Vec<T>, more: Vec<T>) -> Vec<T> {
    all.extend(more);
    all
}

fn read_one(name: &str) -> Result<Given> {
    let path = Path::new(name);
    if path.is_dir() {
        if path.join(CONFIG).is_file() {
            return Ok(Given::Models(vec![path.to_owned()]));
        }
        let is_run = path.join(METRICS).is_file() || checkpoint::newest(path)?.is_some();
        ensure!(
            is_run,
            "{name} is a folder without {METRICS} and without a model: the folder of a run or of a model would be \
             accepted"
        );
        return Ok(Given::Runs(vec![Folder::of_run(path)?]));
    }
    if path.exists() {
        return read_file(path);
    }
    let is_path = name.contains(['/', '.']);
    match models::find(name) {
        Ok(model) if !is_path => Ok(Given::Models(vec![model])),
        _ => bail!("there is no file, folder or model {name}"),
    }
}

/// A file is metrics or results: its first line says.
fn read_file(path: &Path) -> Result<Given> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    match sort_of(&text, path)? {
        Sort::Metrics => Ok(Given::Runs(vec![Folder::of_metrics(path, parse_lines(&text, path)?)])),
        Sort::Results => {
            let records = parse_lines::<Record>(&text, path)?;
            for (i, record) in records.iter().enumerate() {
                let refuse = |why| anyhow::anyhow!("line {} of {} has other settings: {why}", i + 1, path.display());
                record.check_same_settings(&records[0]).map_err(refuse)?;
            }
            Ok(Given::Results(vec![Results { name: name_of(path), records }]))
        }
    }
}

enum Sort {
    Metrics,
    Results,
}

fn sort_of(text: &[u8], path: &Path) -> Result<Sort> {
    let name = path.display();
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    let mut written = lines.filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace));
    let Some((i, line)) = written.next() else { bail!("{name} is empty: it holds no metrics and no results") };
    let place = format!("line {} of {name}", i + 1);
    let what = "expected metrics of a training run, or results of bench --out";
    let Ok(value) = serde_json::from_slice::<Value>(line) else { bail!("{place} is not JSON: {what}") };
    match (value.get("instance"), value.get("samples")) {
        (Some(_), _) => Ok(Sort::Results),
        (None, Some(_)) => Ok(Sort::Metrics),
        (None, None) => bail!("{place} is no record of costar's: {what}"),
    }
}

fn add_optima(results: &mut Results, optima: &HashMap<String, u32>) {
    for record in results.records.iter_mut().filter(|record| record.optimal_length.is_none()) {
        record.optimal_length = optima.get(&record.instance).copied();
    }
}

/// The name of a file without its end, or of a folder.
fn name_of(path: &Path) -> String {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = if absolute.is_dir() { absolute.file_name() } else { absolute.file_stem() };
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Gives what has the same name its number behind it.
fn tell_apart(given: &mut Given) {
    let names: Vec<&mut String> = match given {
        Given::Runs(runs) => runs.iter_mut().map(|run| &mut run.name).collect(),
        Given::Results(all) => all.iter_mut().map(|results| &mut results.name).collect(),
        Given::Models(_) => return,
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

/// The models in a folder of snapshots, by the samples that they have seen; none where there is no such folder.
fn snapshots(folder: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>();
    let paths = paths.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut models: Vec<PathBuf> = paths.into_iter().filter(|path| path.join(CONFIG).is_file()).collect();
    models.sort();
    Ok(models)
}

/// The known optimal lengths of a file with one instance a line, by the instance as it is written.
///
/// # Errors
/// If the file cannot be read, or a length is none: names the line.
fn known_optima(path: &Path) -> Result<HashMap<String, u32>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut optima = HashMap::new();
    for Written { line, text } in instances::all(&text, false) {
        let (instance, optimum) =
            instances::with_optimum(&text, false).with_context(|| format!("line {line} of {}", path.display()))?;
        optima.extend(optimum.map(|optimum| (instance.to_owned(), optimum)));
    }
    Ok(optima)
}
