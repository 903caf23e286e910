//! `costar plot`: pictures of trainings, of predictions of models, and of results of bench.
//!
//! | file | content |
//! | --- | --- |
//! | `inputs` | runs, models or results, distinguished by their content |
//! | `predictions` | a model's predictions for fresh scrambles |

use super::{Ending, OrInput as _, SUCCESS, output_file};
use crate::cli::progress::note;
use crate::neural::device::{Device, DeviceChoice};
use crate::plot::{self, Canvas, DEFAULT_WIDTH, DepthKind, Format, MAX_SERIES};
use crate::quantity;
use crate::solver::models;
use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use inputs::PlotInputs;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

mod inputs;
mod predictions;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Inputs of one kind: folders of runs or their metrics.jsonl, models (folders or names), or files of bench --out
    #[arg(required = true, value_name = "RUN_OR_RESULTS")]
    inputs: Vec<String>,
    /// File of the picture, which ends with .png, .svg or .gif [default: costar-KIND.png; costar-KIND.gif for the
    /// snapshots of a run and for several models]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Picture to draw [default: training for runs; density for models; for one file of results lengths, or effort if no
    /// optimal length is known; settings for several]
    #[arg(long, value_name = "KIND")]
    kind: Option<PlotKind>,
    /// File of instances that bench read, for results without optimal lengths
    #[arg(long, value_name = "FILE")]
    instances: Option<PathBuf>,
    /// Width of the picture in pixels; the height is two thirds of it
    #[arg(long, default_value_t = DEFAULT_WIDTH, value_name = "PIXELS", value_parser = count_in(300..=4800))]
    width: u32,
    /// Density and exactness: the puzzle, if the model was trained for a puzzle from a file
    #[arg(long, value_name = "NAME")]
    puzzle: Option<String>,
    /// Density and exactness: number of fresh scrambles over all depths [default: 8000]
    #[arg(long, value_name = "N", value_parser = scrambles)]
    scrambles: Option<u64>,
    /// Density and exactness: the longest scramble [default: the longest of the model's training]
    #[arg(long, value_name = "D", value_parser = count_in(1..=10_000))]
    max_depth: Option<u32>,
    /// Density and exactness: seed of the scrambles [default: 1]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    seed: Option<u64>,
    /// Density and exactness: device of the network: auto, cpu, cuda or cuda:I [default: auto]
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceChoice>,
}

/// The reader of a count within a range.
fn count_in(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let count = u32::try_from(quantity::count(text)?).ok().filter(|count| range.contains(count));
        count.ok_or_else(|| format!("expected {} to {}", range.start(), range.end()))
    }
}

impl Args {
    fn scrambles(&self) -> u64 {
        self.scrambles.unwrap_or(8000)
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

/// More scrambles would not fit into memory.
const MAX_SCRAMBLES: u64 = 10_000_000;

fn scrambles(text: &str) -> Result<u64, String> {
    match quantity::positive_count(text)? {
        count if count <= MAX_SCRAMBLES => Ok(count),
        count => Err(format!("{count} is too large: expected at most {MAX_SCRAMBLES}")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlotKind {
    /// Runs: loss and error against samples
    Training,
    /// Models or runs: predictions by scramble depth; a .gif of a run shows its snapshots one after the other
    Density,
    /// Models or runs of puzzle8 and cube2: predictions by exact distance
    Exactness,
    /// Results: solution length against optimal length
    Lengths,
    /// Results: time and nodes per instance
    Effort,
    /// Several files of results: optimal share and mean length against mean time
    Settings,
    /// Several files of results: mean length against mean time, as for several widths of a beam
    Frontier,
}

impl PlotKind {
    fn is_of_models(self) -> bool {
        matches!(self, PlotKind::Density | PlotKind::Exactness)
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

pub(super) fn run(args: &Args) -> Ending {
    let out_format = args.out.as_deref().map(Format::of).transpose().context("--out").or_input()?;
    if let Some(out) = &args.out {
        output_file::check_writable("picture", out).or_input()?;
    }
    let as_models = args.kind.is_some_and(PlotKind::is_of_models);
    let inputs = inputs::read(&args.inputs, args.instances.as_deref(), as_models).or_input()?;
    let kind = kind(args, &inputs, out_format).or_input()?;
    let out = args.out.clone().unwrap_or_else(|| default_name(kind, &inputs));
    if args.out.is_none() {
        output_file::check_writable("picture", &out).or_input()?;
    }
    let format = Format::of(&out).or_input()?;
    let frames = draw(args, kind, inputs, format).or_input()?;
    let bytes = format.encode(&frames, args.width)?;
    output_file::write(&out, &bytes).or_input()?;
    let frames = if frames.len() > 1 { format!(" of {} frames", frames.len()) } else { String::new() };
    note!("costar: the picture{frames} is {}", out.display());
    Ok(SUCCESS)
}

/// The picture of `--kind`, or the default one for these inputs.
fn kind(args: &Args, inputs: &PlotInputs, format: Option<Format>) -> Result<PlotKind> {
    use PlotKind::{Density, Effort, Exactness, Frontier, Lengths, Settings, Training};
    let is_animated =
        |runs: &[inputs::RunInput]| format == Some(Format::Gif) && runs.iter().all(|run| !run.snapshots.is_empty());
    let possible = match inputs {
        PlotInputs::Runs(runs) if is_animated(runs) => vec![Density, Training, Exactness],
        PlotInputs::Runs(_) => vec![Training, Density, Exactness],
        PlotInputs::Models(_) => vec![Density, Exactness],
        PlotInputs::Results(all) if all.len() > 1 => vec![Settings, Frontier, Lengths, Effort],
        PlotInputs::Results(all) if !all[0].costs().is_empty() => vec![Lengths, Effort, Settings, Frontier],
        PlotInputs::Results(_) => vec![Effort, Lengths, Settings, Frontier],
    };
    let kind = args.kind.unwrap_or(possible[0]);
    let name = kind.name();
    let expected = possible.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    let (is_possible, of) = (possible.contains(&kind), inputs.kind());
    ensure!(is_possible, "--kind {name}: there is no such plot of {of}: expected {expected}");
    for (flag, is_given) in [
        ("--puzzle", args.puzzle.is_some()),
        ("--scrambles", args.scrambles.is_some()),
        ("--max-depth", args.max_depth.is_some()),
        ("--seed", args.seed.is_some()),
        ("--device", args.device.is_some()),
    ] {
        let is_used = !is_given || kind.is_of_models();
        ensure!(is_used, "{flag} applies to --kind density and exactness, and the picture is {name}");
    }
    let is_of_results = matches!(kind, Lengths | Effort | Settings | Frontier);
    ensure!(args.instances.is_none() || is_of_results, "--instances applies to results, and the picture is {name}");
    Ok(kind)
}

fn default_name(kind: PlotKind, inputs: &PlotInputs) -> PathBuf {
    let is_animated = match inputs {
        PlotInputs::Runs(runs) => runs.iter().any(|run| !run.snapshots.is_empty()),
        PlotInputs::Models(models) => models.len() > 1,
        PlotInputs::Results(_) => false,
    };
    let end = if kind.is_of_models() && is_animated { "gif" } else { "png" };
    PathBuf::from(format!("costar-{}.{end}", kind.name()))
}

fn draw(args: &Args, kind: PlotKind, inputs: PlotInputs, format: Format) -> Result<Vec<Canvas>> {
    let check_count = |count: usize, what: &str| {
        ensure!(count <= MAX_SERIES, "{count} {what} are too many for one plot: expected at most {MAX_SERIES}");
        Ok(())
    };
    match inputs {
        PlotInputs::Runs(runs) if kind.is_of_models() => {
            let models = runs.iter().map(|run| run.models(format == Format::Gif)).collect::<Result<Vec<_>>>()?;
            densities(args, kind, &models.concat(), format)
        }
        PlotInputs::Models(models) => densities(args, kind, &models, format),
        PlotInputs::Runs(runs) => {
            check_count(runs.len(), "runs")?;
            let runs = runs.into_iter().map(inputs::RunInput::into_run).collect::<Result<Vec<_>>>()?;
            Ok(vec![plot::training(&runs)])
        }
        PlotInputs::Results(all) => {
            let all: Vec<&plot::Results> = all.iter().collect();
            match kind {
                PlotKind::Settings => return Ok(vec![plot::settings(&all)]),
                PlotKind::Frontier => {
                    check_same_instances(&all)?;
                    let refusal = "no file has a solution of every instance: expected one at least";
                    return Ok(vec![plot::frontier(&all).context(refusal)?]);
                }
                _ => {}
            }
            check_count(all.len(), "files of results")?;
            if kind == PlotKind::Effort {
                return Ok(vec![plot::effort(&all)]);
            }
            if let Some(results) = all.iter().find(|results| results.costs().is_empty()) {
                let name = &results.name;
                ensure!(results.with_optimum() == 0, "{name}: no instance with a known optimal length is solved in it");
                bail!(
                    "{name}: no solution in it has a known optimal length: name the file of instances with --instances"
                );
            }
            Ok(vec![plot::lengths(&all)])
        }
    }
}

/// Refuses files of other instances than the first one has: their lengths cannot be compared.
fn check_same_instances(all: &[&plot::Results]) -> Result<()> {
    let instances =
        |results: &plot::Results| results.records.iter().map(|r| r.instance.clone()).collect::<HashSet<_>>();
    let first = instances(all[0]);
    if let Some(other) = all.iter().find(|results| instances(results) != first) {
        let (name, first) = (&other.name, &all[0].name);
        bail!(
            "{name} has other instances than {first}, whose lengths cannot be compared: expected the same in all files"
        );
    }
    Ok(())
}

fn densities(args: &Args, kind: PlotKind, models: &[PathBuf], format: Format) -> Result<Vec<Canvas>> {
    ensure!(
        models.len() == 1 || format == Format::Gif,
        "a plot shows one model, and {} are given: expected --out with a name that ends with .gif",
        models.len()
    );
    let depths = if kind == PlotKind::Exactness { DepthKind::Distance } else { DepthKind::ScrambleDepth };
    let choice = args.device.unwrap_or_default();
    let device = Device::resolve(choice)?;
    device.log_choice(choice);
    let density = |folder: &Path| predictions::density(folder, args, depths, device);
    let all = models.iter().map(|folder| models::read_newest(folder, density)).collect::<Result<Vec<_>>>()?;
    Ok(plot::densities(&all))
}
