//! Judges learned estimates by the exact distance of every state of a puzzle:
//! `cargo bench --bench exact [-- --puzzle cube2 --model DIR] [--device cpu] [--every K]`.
//!
//! Without flags: each of `puzzle8` and `cube2` that has a model in `models/`. A folder of a run stands for its newest
//! checkpoint. `--every K` judges every K-th state by index, if evaluating all takes too long.
//!
//! Prints the mean error (bias), the mean absolute and the worst error, Spearman's rank correlation, and how often a greedy
//! step leads one move nearer by the exact table: to the child with the least estimate, and by the policy head's preferred
//! move, if there is one. Goals are left out. Then the same by exact distance.

use costar::heuristic::exact::Exact;
use costar::heuristic::{Heuristic as _, Query};
use costar::neural::device::{Device, DeviceChoice};
use costar::neural::heuristic::NetworkHeuristic;
use costar::neural::model::{CONFIG, Model};
use costar::neural::precision::Precision;
use costar::puzzle::cube2::Cube2;
use costar::puzzle::tiles::Puzzle8;
use costar::puzzle::{Indexed, Move};
use costar::report::run_folder::{MODEL, newest_checkpoint};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let after = |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let device = after("--device").map_or(Ok(DeviceChoice::Auto), |text| text.parse()).map_err(anyhow::Error::msg)?;
    let device = Device::resolve(device)?;
    let every: usize = after("--every").map_or(Ok(1), |text| text.parse())?;
    let named = after("--puzzle").map(String::as_str);
    anyhow::ensure!(
        named.is_some() || after("--model").is_none(),
        "--model: say --puzzle puzzle8 or --puzzle cube2 as well"
    );
    for name in ["puzzle8", "cube2"].into_iter().filter(|name| named.is_none_or(|named| named == *name)) {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(name);
        let folder = model_in(&after("--model").map_or(shipped, PathBuf::from))?;
        if named.is_none() && !folder.join(CONFIG).is_file() {
            println!("{name}: there is no model in {}", folder.display());
            continue;
        }
        match name {
            "puzzle8" => judge(Puzzle8::default(), &folder, device, every.max(1))?,
            _ => judge(Cube2, &folder, device, every.max(1))?,
        }
    }
    Ok(())
}

/// The folder itself if it holds a model, else the model of the newest checkpoint in it.
fn model_in(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.join(CONFIG).is_file() || !folder.is_dir() {
        return Ok(folder.to_owned());
    }
    Ok(newest_checkpoint(folder)?.map_or_else(|| folder.to_owned(), |newest| newest.join(MODEL)))
}

/// A model's evaluation of the states of a puzzle, by index.
struct Evaluations {
    /// NaN for states that were not evaluated.
    estimates: Vec<f32>,
    /// The preferred legal move, if the model has a policy head.
    preferred: Option<Vec<Move>>,
}

/// A judged state.
struct Judged {
    distance: u8,
    estimate: f32,
    least_child_is_nearer: bool,
    preferred_is_nearer: Option<bool>,
}

fn judge<P: Indexed + Clone>(puzzle: P, folder: &Path, device: Device, every: usize) -> anyhow::Result<()> {
    let started = Instant::now();
    let table = Exact::of(&puzzle);
    println!("{}: the exact distances of {} states in {:.2?}", puzzle.name(), puzzle.count(), started.elapsed());
    let precision = Precision::auto(device);
    let model = Model::read(folder, &puzzle, device, Some(precision))?;
    let mut heuristic = NetworkHeuristic::new(Arc::new(puzzle.clone()), model, device);
    let started = Instant::now();
    let evaluations = evaluate(&puzzle, &mut heuristic, every)?;
    println!("the model in {} on {device} in {precision}: evaluated in {:.1?}\n", folder.display(), started.elapsed());
    let judged: Vec<Judged> =
        (0..puzzle.count()).step_by(every).filter_map(|index| judged(&puzzle, &table, &evaluations, index)).collect();
    print_all(&puzzle, &judged);
    print_by_distance(&judged);
    Ok(())
}

/// Evaluates every `every`-th state and the neighbours of those.
fn evaluate<P: Indexed>(puzzle: &P, heuristic: &mut NetworkHeuristic<P>, every: usize) -> anyhow::Result<Evaluations> {
    let mut is_needed = vec![every == 1; puzzle.count()];
    for index in (0..puzzle.count()).step_by(every) {
        is_needed[index] = true;
        if every > 1 {
            puzzle.neighbours(index, &mut |_, neighbour| is_needed[neighbour] = true);
        }
    }
    let indices: Vec<usize> = (0..puzzle.count()).filter(|&index| is_needed[index]).collect();
    let mut evaluations = Evaluations {
        estimates: vec![f32::NAN; puzzle.count()],
        preferred: heuristic.has_policy().then(|| vec![0; puzzle.count()]),
    };
    for chunk in indices.chunks(heuristic.chunk()) {
        let states: Vec<P::State> = chunk.iter().map(|&index| puzzle.state_at(index)).collect();
        heuristic.submit(&states, Query::ValuesAndPolicy)?;
        let estimates = heuristic.collect()?;
        for (&index, &value) in chunk.iter().zip(&estimates.values) {
            evaluations.estimates[index] = value;
        }
        if let (Some(preferred), Some(rows)) = (&mut evaluations.preferred, &estimates.policy) {
            for ((&index, state), row) in chunk.iter().zip(&states).zip(rows.rows()) {
                let legal = (0..puzzle.move_count() as Move).filter(|&action| puzzle.apply(state, action).is_some());
                let best = legal.max_by(|&a, &b| row[usize::from(a)].total_cmp(&row[usize::from(b)]));
                preferred[index] = best.unwrap_or(0);
            }
        }
    }
    // A search tests for goals before it evaluates: a goal is the least of all.
    puzzle.goals().iter().for_each(|goal| evaluations.estimates[puzzle.index(goal)] = f32::NEG_INFINITY);
    Ok(evaluations)
}

/// Judges the state with an index; `None` for goals, and for states from which none can be reached.
fn judged<P: Indexed>(puzzle: &P, table: &Exact, evaluations: &Evaluations, index: usize) -> Option<Judged> {
    let distance = table.distance(index).filter(|&distance| distance > 0)?;
    let is_nearer = |index: usize| table.distance(index) == Some(distance - 1);
    let mut least = (f32::INFINITY, index);
    puzzle.neighbours(index, &mut |_, neighbour| {
        if evaluations.estimates[neighbour] < least.0 {
            least = (evaluations.estimates[neighbour], neighbour);
        }
    });
    let preferred_is_nearer = evaluations.preferred.as_ref().map(|preferred| {
        let child = puzzle.apply(&puzzle.state_at(index), preferred[index]);
        child.is_some_and(|child| is_nearer(puzzle.index(&child)))
    });
    Some(Judged {
        distance,
        estimate: evaluations.estimates[index],
        least_child_is_nearer: is_nearer(least.1),
        preferred_is_nearer,
    })
}

impl Judged {
    fn error(&self) -> f64 {
        f64::from(self.estimate) - f64::from(self.distance)
    }
}

/// The mean of a property over states.
fn mean(judged: &[&Judged], of: impl Fn(&Judged) -> f64) -> f64 {
    judged.iter().map(|state| of(state)).sum::<f64>() / judged.len() as f64
}

fn percent(is: bool) -> f64 {
    if is { 100.0 } else { 0.0 }
}

/// The share of states with a right preferred move; a dash for a model without a policy head.
fn preferred(judged: &[&Judged]) -> String {
    match judged.first().map(|state| state.preferred_is_nearer) {
        Some(Some(_)) => format!("{:.2} %", mean(judged, |state| percent(state.preferred_is_nearer == Some(true)))),
        _ => "-".into(),
    }
}

fn print_all<P: Indexed>(puzzle: &P, judged: &[Judged]) {
    let all: Vec<&Judged> = judged.iter().collect();
    let worst = judged.iter().map(Judged::error).max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
    println!("{} of {} states", all.len(), puzzle.count());
    println!("mean error           {:>9.3}", mean(&all, Judged::error));
    println!("mean absolute error  {:>9.3}", mean(&all, |state| state.error().abs()));
    println!("worst error          {worst:>9.3}");
    println!("rank correlation     {:>9.4}", rank_correlation(judged));
    println!("least child right    {:>9.2} %", mean(&all, |state| percent(state.least_child_is_nearer)));
    println!("preferred move right {:>11}\n", preferred(&all));
}

fn print_by_distance(judged: &[Judged]) {
    println!("distance     states  mean estimate  mean error  mean |error|  least child right  preferred right");
    for distance in 1..=u8::MAX {
        let at: Vec<&Judged> = judged.iter().filter(|state| state.distance == distance).collect();
        if at.is_empty() {
            continue;
        }
        println!(
            "{distance:>8} {:>10} {:>14.3} {:>11.3} {:>13.3} {:>16.2} % {:>16}",
            at.len(),
            mean(&at, |state| state.estimate.into()),
            mean(&at, Judged::error),
            mean(&at, |state| state.error().abs()),
            mean(&at, |state| percent(state.least_child_is_nearer)),
            preferred(&at)
        );
    }
    println!();
}

/// Spearman's coefficient between estimates and distances: the correlation of their ranks, where equals share one.
fn rank_correlation(judged: &[Judged]) -> f64 {
    let by_estimate = shared_ranks(judged.iter().map(|state| state.estimate).collect());
    let by_distance = shared_ranks(judged.iter().map(|state| state.distance.into()).collect());
    let middle = (judged.len() as f64 - 1.0) / 2.0;
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (a, b) in by_estimate.iter().zip(&by_distance) {
        let (a, b) = (a - middle, b - middle);
        (both, first, second) = (both + a * b, first + a * a, second + b * b);
    }
    both / (first * second).sqrt()
}

/// The rank of each value in sorted order; equal values get the mean of their ranks.
fn shared_ranks(values: Vec<f32>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equals in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let shared = first as f64 + (equals.len() as f64 - 1.0) / 2.0;
        equals.iter().for_each(|&i| ranks[i] = shared);
        first += equals.len();
    }
    ranks
}
