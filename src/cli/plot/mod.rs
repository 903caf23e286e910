//! `costar plot`: pictures of trainings, of what models say, and of results of bench.

use super::{Ending, OrInput as _, SUCCESS};
use crate::cli::progress::note;
use crate::files;
use crate::neural::device::DeviceChoice;
use crate::plot::{self, Canvas, DEFAULT_WIDTH, Format, MOST_SERIES};
use crate::quantity;
use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use inputs::Given;
use std::fs;
use std::path::{Path, PathBuf};

mod inputs;
mod predictions;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folders of runs, their metrics.jsonl, models (folders or names), or files of results of bench --out: of one sort
    #[arg(required = true, value_name = "RUN_OR_RESULTS")]
    inputs: Vec<String>,
    /// Where the picture goes; its end says in which form: .png, .svg or .gif [default: costar-KIND.png;
    /// costar-KIND.gif for the snapshots of a run and for several models]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What is drawn, where there is more than one picture of what is given [default: of runs, training; of models,
    /// density; of one file of results, lengths, or effort where no optimal length is known; of several, settings]
    #[arg(long, value_name = "KIND")]
    kind: Option<Kind>,
    /// The file that bench was given, for results that lack the optimal lengths
    #[arg(long, value_name = "FILE")]
    instances: Option<PathBuf>,
    /// The width of the picture in pixels; its height is two thirds of it
    #[arg(long, default_value_t = DEFAULT_WIDTH, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(300..=4800))]
    width: u32,
    /// Of density: the puzzle, where the model was trained for a puzzle from a file
    #[arg(long, value_name = "NAME")]
    puzzle: Option<String>,
    /// Of density: how many fresh scrambles, over all depths
    #[arg(long, default_value = "8000", value_name = "N", value_parser = scrambles)]
    scrambles: u64,
    /// Of density: the longest scramble [default: the longest that the model was trained on]
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_depth: Option<u32>,
    /// Of density: the same seed gives the same scrambles
    #[arg(long, default_value = "1", value_name = "N", value_parser = quantity::count)]
    seed: u64,
    /// Of density: where the network runs: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
}

/// More would not fit into memory, and tell no more.
const MOST_SCRAMBLES: u64 = 10_000_000;

fn scrambles(text: &str) -> Result<u64, String> {
    match quantity::positive_count(text)? {
        count if count <= MOST_SCRAMBLES => Ok(count),
        count => Err(format!("{count} is too large: expected at most {MOST_SCRAMBLES}")),
    }
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Loss and error against samples, of runs
    Training,
    /// What a model says by scramble depth, of models or runs; a .gif of a run shows its snapshots one after the other
    Density,
    /// What a model says by exact distance, of models or runs for puzzle8 and cube2
    Exactness,
    /// Solution length against the optimal one, of results
    Lengths,
    /// The time and the nodes that instances take, of results
    Effort,
    /// Optimal share and mean length against mean time, of several files of results
    Settings,
}

impl Kind {
    fn is_of_models(self) -> bool {
        matches!(self, Kind::Density | Kind::Exactness)
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

pub(super) fn run(args: &Args) -> Ending {
    let asked = args.out.as_deref().map(Format::of).transpose().context("--out").or_input()?;
    if let Some(out) = &args.out {
        check_place(out).or_input()?;
    }
    let as_models = args.kind.is_some_and(Kind::is_of_models);
    let given = inputs::read(&args.inputs, args.instances.as_deref(), as_models).or_input()?;
    let kind = kind(args, &given, asked).or_input()?;
    let default = default_name(kind, &given);
    let out = args.out.clone().unwrap_or(default);
    check_place(&out).or_input()?;
    let format = Format::of(&out).or_input()?;
    let frames = draw(args, kind, given, format).or_input()?;
    let bytes = format.encode(&frames, args.width)?;
    write(&out, &bytes).or_input()?;
    let frames = if frames.len() > 1 { format!(" of {} frames", frames.len()) } else { String::new() };
    note!("costar: the picture{frames} is {}", out.display());
    Ok(SUCCESS)
}

/// The picture that is asked for, or the first that can be made of what is given.
fn kind(args: &Args, given: &Given, format: Option<Format>) -> Result<Kind> {
    let possible = match given {
        Given::Runs(runs) => {
            let animated = format == Some(Format::Gif) && runs.iter().all(|run| !run.snapshots.is_empty());
            let [first, second] =
                if animated { [Kind::Density, Kind::Training] } else { [Kind::Training, Kind::Density] };
            vec![first, second, Kind::Exactness]
        }
        Given::Models(_) => vec![Kind::Density, Kind::Exactness],
        Given::Results(all) if all.len() > 1 => vec![Kind::Settings, Kind::Lengths, Kind::Effort],
        Given::Results(all) if all[0].with_optimum() > 0 => vec![Kind::Lengths, Kind::Effort, Kind::Settings],
        Given::Results(_) => vec![Kind::Effort, Kind::Lengths, Kind::Settings],
    };
    let kind = args.kind.unwrap_or(possible[0]);
    ensure!(
        possible.contains(&kind),
        "--kind {}: there is no such plot of {}: expected {}",
        kind.name(),
        given.sort(),
        possible.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
    );
    refuse_idle_flags(args, kind)?;
    Ok(kind)
}

/// Refuses flags that the picture has no use for.
fn refuse_idle_flags(args: &Args, kind: Kind) -> Result<()> {
    let of_density = [("--puzzle", args.puzzle.is_some()), ("--max-depth", args.max_depth.is_some())];
    for (flag, given) in of_density {
        ensure!(!given || kind.is_of_models(), "{flag} is of --kind density, and the picture is {}", kind.name());
    }
    let of_results = matches!(kind, Kind::Lengths | Kind::Effort | Kind::Settings);
    ensure!(args.instances.is_none() || of_results, "--instances is of results, and the picture is {}", kind.name());
    Ok(())
}

fn default_name(kind: Kind, given: &Given) -> PathBuf {
    let animated = match given {
        Given::Runs(runs) => runs.iter().any(|run| !run.snapshots.is_empty()),
        Given::Models(models) => models.len() > 1,
        Given::Results(_) => false,
    };
    let end = if kind.is_of_models() && animated { "gif" } else { "png" };
    PathBuf::from(format!("costar-{}.{end}", kind.name()))
}

fn draw(args: &Args, kind: Kind, given: Given, format: Format) -> Result<Vec<Canvas>> {
    let few = |count: usize, what: &str| {
        ensure!(count <= MOST_SERIES, "{count} {what} are too many for one plot: expected at most {MOST_SERIES}");
        Ok(())
    };
    match (kind, given) {
        (Kind::Density | Kind::Exactness, Given::Runs(runs)) => {
            let models = runs.iter().map(|run| run.models(format == Format::Gif)).collect::<Result<Vec<_>>>()?;
            densities(args, kind, &models.concat(), format)
        }
        (Kind::Density | Kind::Exactness, Given::Models(models)) => densities(args, kind, &models, format),
        (_, Given::Runs(runs)) => {
            few(runs.len(), "runs")?;
            let runs = runs.into_iter().map(inputs::Folder::into_run).collect::<Result<Vec<_>>>()?;
            Ok(vec![plot::training(&runs)])
        }
        (_, Given::Models(_)) => bail!("of models there is no such picture"),
        (kind, Given::Results(all)) => {
            let all: Vec<&plot::Results> = all.iter().collect();
            if kind == Kind::Settings {
                return Ok(vec![plot::settings(&all)]);
            }
            few(all.len(), "files of results")?;
            if kind == Kind::Effort {
                return Ok(vec![plot::effort(&all)]);
            }
            let unknown = all.iter().find(|results| results.costs().is_empty());
            if let Some(results) = unknown {
                bail!(
                    "{}: no solution in it has a known optimal length: name the file that bench was given with --instances",
                    results.name
                );
            }
            Ok(vec![plot::lengths(&all)])
        }
    }
}

fn densities(args: &Args, kind: Kind, models: &[PathBuf], format: Format) -> Result<Vec<Canvas>> {
    ensure!(
        models.len() == 1 || format == Format::Gif,
        "a plot shows one model, and {} are given: expected --out with a name that ends with .gif",
        models.len()
    );
    let question = predictions::Question {
        puzzle: args.puzzle.as_deref(),
        scrambles: args.scrambles,
        max_depth: args.max_depth,
        seed: args.seed,
        by: if kind == Kind::Exactness { plot::By::Distance } else { plot::By::ScrambleDepth },
    };
    let device = predictions::device(args.device)?;
    let all =
        models.iter().map(|folder| predictions::density(folder, &question, device)).collect::<Result<Vec<_>>>()?;
    Ok(plot::densities(&all))
}

/// Refuses a place that no picture can be written to, before any work is done for it.
fn check_place(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.display();
    ensure!(folder.is_dir(), "the picture {name} cannot be written: there is no folder {}", folder.display());
    ensure!(!path.is_dir(), "the picture {name} cannot be written: it is a folder");
    Ok(())
}

/// Writes a file whole; what is no file (a pipe, a device) is written to, and not replaced.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()));
    }
    Ok(files::write_whole(path, bytes)?)
}
