//! Two files of results beside each other.

use super::statistics::{self, Estimate};
use super::{Solved, mean};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// What `bench --against` says of the instances that both files have: `[here, there]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How many instances both files have.
    pub instances: usize,
    /// How many are solved.
    pub solved: [usize; 2],
    /// How many are solved at the known optimal cost; `null` where no optimum is known.
    pub optimal: Option<[usize; 2]>,
    /// Mean length over those that both solve.
    pub mean_length: Option<[f64; 2]>,
    /// Mean seconds over all.
    pub mean_seconds: Option<[f64; 2]>,
    /// Mean of the differences of length, here less there, over those that both solve.
    pub length_difference: Option<Estimate>,
    /// Mean of the differences of seconds, here less there, over all.
    pub seconds_difference: Option<Estimate>,
    /// The share solved at the known optimal cost, here less there, over those whose optimum is known.
    pub optimal_difference: Option<Estimate>,
    /// On how many of those that both solve the cost here is less, the same, and more.
    pub cheaper_same_dearer: [usize; 3],
    /// On how many instances the search took less time here.
    pub faster: usize,
    /// Seconds here over seconds there.
    pub seconds_ratio: Option<f64>,
    /// Generated nodes here over those there.
    pub generated_ratio: Option<f64>,
    /// Evaluated nodes here over those there.
    pub evaluated_ratio: Option<f64>,
}

impl Comparison {
    /// Compares results instance by instance; `optima` are the known optimal costs of those here, in their order.
    pub fn new(here: &[Solved], optima: &[Option<u32>], there: &[Solved]) -> Comparison {
        let others: HashMap<&str, &Solved> = there.iter().map(|result| (result.instance.as_str(), result)).collect();
        let pairs: Vec<([&Solved; 2], Option<u32>)> = here
            .iter()
            .zip(optima)
            .filter_map(|(result, optimum)| Some(([result, *others.get(result.instance.as_str())?], *optimum)))
            .collect();
        let both = |of: &dyn Fn(&Solved) -> f64| {
            let side = |side: usize| mean(pairs.iter().map(|(pair, _)| of(pair[side])));
            side(0).zip(side(1)).map(|(here, there)| [here, there])
        };
        let ratio =
            |of: &dyn Fn(&Solved) -> f64| both(of).filter(|[_, there]| *there > 0.0).map(|[here, there]| here / there);
        let count = |holds: &dyn Fn(&Solved, Option<u32>) -> bool| {
            [0, 1].map(|side| pairs.iter().filter(|(pair, optimum)| holds(pair[side], *optimum)).count())
        };
        let costs: Vec<(f64, f64)> = pairs.iter().filter_map(|([here, there], _)| here.cost.zip(there.cost)).collect();
        let lengths: Vec<[f64; 2]> =
            pairs.iter().filter_map(|([here, there], _)| Some([here.length? as f64, there.length? as f64])).collect();
        let length = |side: usize| mean(lengths.iter().map(|pair| pair[side]));
        // Differences of pairs: what is hard for both sides does not widen the interval.
        let difference = |pairs: Vec<[f64; 2]>| {
            let differences: Vec<f64> = pairs.iter().map(|[here, there]| here - there).collect();
            statistics::mean(&differences)
        };
        let is_optimal =
            |result: &Solved, optimum: u32| f64::from(result.cost.is_some_and(|cost| cost <= optimum.into()));
        let optimal = pairs.iter().filter_map(|([here, there], optimum)| {
            Some([is_optimal(here, (*optimum)?), is_optimal(there, (*optimum)?)])
        });
        Comparison {
            instances: pairs.len(),
            solved: count(&|result, _| result.solved),
            optimal: pairs.iter().any(|(_, optimum)| optimum.is_some()).then(|| {
                count(&|result, optimum| result.cost.zip(optimum).is_some_and(|(cost, optimum)| cost <= optimum.into()))
            }),
            mean_length: length(0).zip(length(1)).map(|(here, there)| [here, there]),
            seconds_difference: difference(
                pairs.iter().map(|([here, there], _)| [here.seconds, there.seconds]).collect(),
            ),
            optimal_difference: difference(optimal.collect()),
            length_difference: difference(lengths),
            mean_seconds: both(&|result| result.seconds),
            cheaper_same_dearer: [
                costs.iter().filter(|(here, there)| here < there).count(),
                costs.iter().filter(|(here, there)| here == there).count(),
                costs.iter().filter(|(here, there)| here > there).count(),
            ],
            faster: pairs.iter().filter(|([here, there], _)| here.seconds < there.seconds).count(),
            seconds_ratio: ratio(&|result| result.seconds),
            generated_ratio: ratio(&|result| result.nodes_generated as f64),
            evaluated_ratio: ratio(&|result| result.nodes_evaluated as f64),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cheaper, same, dearer] = self.cheaper_same_dearer;
        let means = |pair: Option<[f64; 2]>| {
            pair.map_or("-".into(), |[here, there]| format!("{here:.2} here, {there:.2} there"))
        };
        let ratio = |ratio: Option<f64>| ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
        writeln!(f, "against  {} instances that both have", self.instances)?;
        writeln!(f, "solved   {} here, {} there", self.solved[0], self.solved[1])?;
        let interval = |difference: &Option<Estimate>, scale: f64, unit: &str| {
            difference.map_or(String::new(), |Estimate { value, low, high }| {
                let [value, low, high] = [value, low, high].map(|number| scale * number);
                format!("; difference {value:+.2}{unit} (95 % {low:+.2} to {high:+.2})")
            })
        };
        if let Some([here, there]) = self.optimal {
            writeln!(f, "optimal  {here} here, {there} there{}", interval(&self.optimal_difference, 100.0, " points"))?;
        }
        writeln!(
            f,
            "length   {}; shorter on {cheaper}, the same on {same}, longer on {dearer}{}",
            means(self.mean_length),
            interval(&self.length_difference, 1.0, "")
        )?;
        writeln!(
            f,
            "seconds  {}; faster on {}{}",
            means(self.mean_seconds),
            self.faster,
            interval(&self.seconds_difference, 1.0, " s")
        )?;
        write!(
            f,
            "ratios   seconds {}, generated {}, evaluated {}",
            ratio(self.seconds_ratio),
            ratio(self.generated_ratio),
            ratio(self.evaluated_ratio)
        )
    }
}
