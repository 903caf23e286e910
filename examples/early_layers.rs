//! How well a network orders the states of an early layer, a few moves from the start: where in that order the state on a
//! shortest solution stands. The proof searches the subtrees below such a layer in this order.
//!
//! ```sh
//! costar bench instances/cube3.tsv --limit 100 --prove --out proven.jsonl
//! cargo run --release --example early_layers -- cube3 proven.jsonl 100 4      # model, results, how many, the last layer
//! cargo run --release --example early_layers -- cube3 proven.jsonl 30 4 16    # also over 16 symmetric images
//! ```

use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::{Move, Notation as _, Rules as _};
use costar::report::{Record, read_lines, statistics};
use costar::solver::{Request, SearchOptions, Solver};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::path::Path;

/// The weight of a move's surprisal, −ln p, beside the cost-to-go, as in the beam.
const POLICY_WEIGHT: f32 = 1.5;

/// The orders of the states.
const ORDERS: [&str; 5] = [
    "the cost-to-go",
    "the policy along the path",
    "the cost-to-go and the policy",
    "the mean cost-to-go of images",
    "the least cost-to-go of images",
];

/// A state of a layer, and the surprisal of the moves to it: the sum of −ln p.
type Reached = (CubeState, f32);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (model, results, count, deepest, images) = match arguments.as_slice() {
        [model, results, count, deepest] => (model, results, count, deepest, 0),
        [model, results, count, deepest, images] => (model, results, count, deepest, images.parse()?),
        _ => return Err("expected a model, a file of proven results, how many of them, and the last layer".into()),
    };
    let (count, deepest): (usize, usize) = (count.parse()?, deepest.parse()?);
    let results: Vec<Record> = read_lines(Path::new(results))?;
    let proven: Vec<&Record> = results.iter().filter(|result| result.proven_optimal).take(count).collect();
    let options = SearchOptions { perimeter: Some(0), ..SearchOptions::of("beam") };
    let request = Request { options, model: Some(model.clone()), ..Request::default() };
    let mut solver = Solver::builder(Cube3, request).build()?;
    let mut shares: Vec<[Vec<f64>; ORDERS.len()]> = vec![Default::default(); deepest];
    for result in &proven {
        for (layer, values) in shares_of(&mut solver, result, deepest, images)?.into_iter().enumerate() {
            for (order, share) in values.into_iter().enumerate() {
                shares[layer][order].push(share);
            }
        }
    }
    println!("{} instances, {model}: the share of a layer before a state on a shortest solution", proven.len());
    println!(
        "{:<6} {:<30} {:>7} {:>17} {:>7} {:>7} {:>7}",
        "layer", "order", "median", "mean", "< 3 %", "< 10 %", "< 25 %"
    );
    for (layer, orders) in (1..).zip(&mut shares) {
        for (order, shares) in ORDERS.iter().zip(orders).filter(|(_, shares)| !shares.is_empty()) {
            shares.sort_by(f64::total_cmp);
            let within = |most: f64| 100.0 * shares.partition_point(|&share| share < most) as f64 / shares.len() as f64;
            let mean = statistics::mean(shares).ok_or("no proven result")?;
            let (median, mean, half) =
                (100.0 * shares[shares.len() / 2], 100.0 * mean.value, 50.0 * (mean.high - mean.low));
            let (least, few, some) = (within(0.03), within(0.1), within(0.25));
            println!(
                "{layer:<6} {order:<30} {median:>5.1} % {mean:>7.1} % ± {half:>4.1} {least:>5.0} % {few:>5.0} % {some:>5.0} %"
            );
        }
    }
    Ok(())
}

/// For each layer and each order: the share of its states before the one on the solution.
fn shares_of(
    solver: &mut Solver<Cube3>,
    result: &Record,
    deepest: usize,
    images: usize,
) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let start = solver.parse(&result.instance)?;
    let names = result.moves.as_ref().ok_or("a proven result without moves")?;
    let mut on_path = start;
    let mut layer: Vec<Reached> = vec![(start, 0.0)];
    let mut seen = HashSet::from([start]);
    let mut all = Vec::new();
    for name in names.iter().take(deepest) {
        let mut actions = 0..Cube3.move_count() as Move;
        let action = actions.find(|&action| Cube3.move_name(action) == *name).ok_or("an unknown move")?;
        on_path = Cube3.apply(&on_path, action).ok_or("an illegal move")?;
        layer = next_layer(solver, &layer, &mut seen)?;
        let states: Vec<CubeState> = layer.iter().map(|(state, _)| *state).collect();
        let at = states.iter().position(|state| *state == on_path).ok_or("a shortest solution visits each layer")?;
        let values = values_of(solver, &states)?;
        let path: Vec<f32> = layer.iter().map(|(_, surprisal)| *surprisal).collect();
        let both: Vec<f32> = values.iter().zip(&path).map(|(value, path)| value + POLICY_WEIGHT * path).collect();
        let mut orders = vec![values, path, both];
        if images > 0 {
            let of_images = values_of_images(solver, &states, images)?;
            let mean = |values: &Vec<f32>| values.iter().sum::<f32>() / values.len() as f32;
            orders.push(of_images.iter().map(mean).collect());
            orders.push(of_images.iter().map(|values| values.iter().copied().fold(f32::INFINITY, f32::min)).collect());
        }
        all.push(orders.iter().map(|keys| share_before(keys, at)).collect());
    }
    Ok(all)
}

/// The states one move further that are in no earlier layer.
fn next_layer(
    solver: &mut Solver<Cube3>,
    layer: &[Reached],
    seen: &mut HashSet<CubeState>,
) -> Result<Vec<Reached>, Box<dyn Error>> {
    let mut next: Vec<Reached> = Vec::new();
    let mut indices: HashMap<CubeState, usize> = HashMap::new();
    for parents in layer.chunks(solver.chunk()) {
        let states: Vec<CubeState> = parents.iter().map(|(state, _)| *state).collect();
        let policy = solver.evaluate(&states)?.policy.ok_or("a model without a policy head")?;
        for ((state, surprisal), policy) in parents.iter().zip(policy.rows()) {
            for (action, probability) in policy.iter().enumerate() {
                let Some(child) = Cube3.apply(state, action as Move) else { continue };
                let surprisal = surprisal - probability.max(f32::MIN_POSITIVE).ln();
                match indices.get(&child) {
                    Some(&index) => next[index].1 = next[index].1.min(surprisal),
                    None if seen.insert(child) => {
                        indices.insert(child, next.len());
                        next.push((child, surprisal));
                    }
                    None => {}
                }
            }
        }
    }
    Ok(next)
}

/// The cost-to-go of each state.
fn values_of(solver: &mut Solver<Cube3>, states: &[CubeState]) -> Result<Vec<f32>, costar::Error> {
    let mut values = Vec::with_capacity(states.len());
    for chunk in states.chunks(solver.chunk()) {
        values.extend(solver.evaluate(chunk)?.values);
    }
    Ok(values)
}

/// The cost-to-go of `count` symmetric images of each state.
fn values_of_images(
    solver: &mut Solver<Cube3>,
    states: &[CubeState],
    count: usize,
) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
    let images = |state: &CubeState| Cube3.symmetric_images(state).take(count).map(|image| image.start);
    let images: Vec<CubeState> = states.iter().flat_map(images).collect();
    let values = values_of(solver, &images)?;
    Ok(values.chunks(images.len() / states.len()).map(<[f32]>::to_vec).collect())
}

/// The share of keys before the one at `at`; half of the equal ones count.
fn share_before(keys: &[f32], at: usize) -> f64 {
    let before = keys.iter().filter(|&&key| key < keys[at]).count();
    let equal = keys.iter().filter(|&&key| key == keys[at]).count() - 1;
    (before as f64 + equal as f64 / 2.0) / keys.len() as f64
}
