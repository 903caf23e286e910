//! Two files of results beside each other.

use super::statistics::{Difference, difference};
use super::{Record, mean};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;

/// What `bench --against` says of the instances that both files have: `[here, there]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How many instances both files have.
    pub instances: usize,
    /// How many are solved.
    pub solved: [usize; 2],
    /// Whether both files were given the same costs of moves; where not, costs and optima are not compared.
    pub same_move_costs: bool,
    /// How many are solved at the known optimal cost; `null` where no optimum is known.
    pub optimal: Option<[usize; 2]>,
    /// Mean length over those that both solve.
    pub mean_length: Option<[f64; 2]>,
    /// Mean cost over those that both solve; `null` where costs are lengths.
    pub mean_cost: Option<[f64; 2]>,
    /// Mean seconds over all.
    pub mean_seconds: Option<[f64; 2]>,
    /// Mean of the differences of length, here less there, over those that both solve.
    pub length_difference: Option<Difference>,
    /// The same of cost; `null` where costs are lengths.
    pub cost_difference: Option<Difference>,
    /// Mean of the differences of seconds, here less there, over all.
    pub seconds_difference: Option<Difference>,
    /// The share solved at the known optimal cost, here less there, over those whose optimum is known.
    pub optimal_difference: Option<Difference>,
    /// On how many of those that both solve the cost here is less, the same, and more; the length, where costs are not
    /// compared.
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
    pub fn new(here: &[Record], optima: &[Option<u32>], there: &[Record]) -> Comparison {
        let others: HashMap<&str, &Record> = there.iter().map(|result| (result.instance.as_str(), result)).collect();
        let mut pairs: Vec<([&Record; 2], Option<u32>)> = here
            .iter()
            .zip(optima)
            .filter_map(|(result, optimum)| Some(([result, *others.get(result.instance.as_str())?], *optimum)))
            .filter(|([here, there], _)| here.goal == there.goal)
            .collect();
        let same_move_costs = pairs.iter().all(|([here, there], _)| here.move_costs == there.move_costs);
        if !same_move_costs {
            pairs.iter_mut().for_each(|(_, optimum)| *optimum = None);
        }
        let has_costs = same_move_costs && pairs.iter().any(|(pair, _)| pair.iter().any(|result| result.has_costs()));
        let both = |of: &dyn Fn(&Record) -> f64| {
            let side = |side: usize| mean(pairs.iter().map(|(pair, _)| of(pair[side])));
            side(0).zip(side(1)).map(|(here, there)| [here, there])
        };
        let ratio =
            |of: &dyn Fn(&Record) -> f64| both(of).filter(|[_, there]| *there > 0.0).map(|[here, there]| here / there);
        let count = |holds: &dyn Fn(&Record, Option<u32>) -> bool| {
            [0, 1].map(|side| pairs.iter().filter(|(pair, optimum)| holds(pair[side], *optimum)).count())
        };
        let costs: Vec<[f64; 2]> =
            pairs.iter().filter_map(|([here, there], _)| Some([here.cost?, there.cost?])).collect();
        let lengths: Vec<[f64; 2]> =
            pairs.iter().filter_map(|([here, there], _)| Some([here.length? as f64, there.length? as f64])).collect();
        let means = |pairs: &[[f64; 2]]| {
            let side = |side: usize| mean(pairs.iter().map(|pair| pair[side]));
            side(0).zip(side(1)).map(|(here, there)| [here, there])
        };
        let compared = if same_move_costs { &costs } else { &lengths };
        let compare = |order: Ordering| compared.iter().filter(|[here, there]| here.total_cmp(there) == order).count();
        let seconds: Vec<[f64; 2]> = pairs.iter().map(|([here, there], _)| [here.seconds, there.seconds]).collect();
        let is_optimal =
            |result: &Record, optimum: u32| f64::from(result.cost.is_some_and(|cost| cost <= optimum.into()));
        let optimal = pairs.iter().filter_map(|([here, there], optimum)| {
            Some([is_optimal(here, (*optimum)?), is_optimal(there, (*optimum)?)])
        });
        let optimal: Vec<[f64; 2]> = optimal.collect();
        Comparison {
            instances: pairs.len(),
            same_move_costs,
            solved: count(&|result, _| result.solved),
            optimal: pairs.iter().any(|(_, optimum)| optimum.is_some()).then(|| {
                count(&|result, optimum| result.cost.zip(optimum).is_some_and(|(cost, optimum)| cost <= optimum.into()))
            }),
            mean_length: means(&lengths),
            mean_cost: means(&costs).filter(|_| has_costs),
            mean_seconds: means(&seconds),
            length_difference: difference(&lengths),
            cost_difference: difference(&costs).filter(|_| has_costs),
            seconds_difference: difference(&seconds),
            optimal_difference: difference(&optimal),
            cheaper_same_dearer: [Ordering::Less, Ordering::Equal, Ordering::Greater].map(compare),
            faster: pairs.iter().filter(|([here, there], _)| here.seconds < there.seconds).count(),
            seconds_ratio: ratio(&|result| result.seconds),
            generated_ratio: ratio(&|result| result.nodes_generated as f64),
            evaluated_ratio: ratio(&|result| result.nodes_evaluated as f64),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [less, same, more] = self.cheaper_same_dearer;
        let means = |pair: Option<[f64; 2]>| {
            pair.map_or("-".into(), |[here, there]| format!("{here:.2} here, {there:.2} there"))
        };
        let ratio = |ratio: Option<f64>| ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
        writeln!(f, "against  {} instances that both have", self.instances)?;
        writeln!(f, "solved   {} here, {} there", self.solved[0], self.solved[1])?;
        let interval = |difference: &Option<Difference>, scale: f64, unit: &str| {
            difference.map_or(String::new(), |Difference { value, low, high }| {
                let interval = match low.zip(high) {
                    Some((low, high)) => format!("95 % {:+.2} to {:+.2}", scale * low, scale * high),
                    None => "no interval from one pair".into(),
                };
                format!("; difference {:+.2}{unit} ({interval})", scale * value)
            })
        };
        if let Some([here, there]) = self.optimal {
            writeln!(f, "optimal  {here} here, {there} there{}", interval(&self.optimal_difference, 100.0, " points"))?;
        }
        let length = (means(self.mean_length), interval(&self.length_difference, 1.0, ""));
        if self.mean_cost.is_some() {
            writeln!(
                f,
                "cost     {}; cheaper on {less}, the same on {same}, dearer on {more}{}",
                means(self.mean_cost),
                interval(&self.cost_difference, 1.0, "")
            )?;
            writeln!(f, "length   {}{}", length.0, length.1)?;
        } else {
            writeln!(f, "length   {}; shorter on {less}, the same on {same}, longer on {more}{}", length.0, length.1)?;
        }
        if !self.same_move_costs {
            writeln!(f, "cost     not compared: the other file is not of the same `move_costs`")?;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(instance: &str, length: usize, cost: f64, move_costs: Option<&str>) -> Record {
        Record {
            instance: instance.into(),
            solved: true,
            length: Some(length),
            cost: Some(cost),
            move_costs: move_costs.map(str::to_owned),
            ..Record::default()
        }
    }

    #[test]
    fn costs_are_compared_where_they_are_no_lengths() {
        let costs = Some("U=2");
        let here = [row("a", 3, 3.0, costs), row("b", 5, 5.0, costs)];
        let there = [row("b", 4, 7.0, costs), row("a", 3, 4.0, costs)];
        let comparison = Comparison::new(&here, &[None; 2], &there);
        assert_eq!((comparison.mean_length, comparison.mean_cost), (Some([4.0, 3.5]), Some([4.0, 5.5])));
        assert_eq!(comparison.cheaper_same_dearer, [2, 0, 0]);
        let text = comparison.to_string();
        let line = "cost     4.00 here, 5.50 there; cheaper on 2, the same on 0, dearer on 0; difference -1.50 (95 % ";
        assert!(text.contains(line) && !text.contains("shorter"), "{text}");
        // Costs of other moves say nothing of these, nor does an optimum: lengths are left.
        let others = [row("b", 4, 4.0, None), row("a", 3, 3.0, None)];
        let comparison = Comparison::new(&here, &[Some(3); 2], &others);
        assert_eq!((comparison.mean_cost, comparison.optimal, comparison.optimal_difference), (None, None, None));
        assert_eq!((comparison.same_move_costs, comparison.cheaper_same_dearer), (false, [0, 1, 1]));
        assert!(comparison.to_string().contains("not compared"), "{comparison}");
    }

    #[test]
    fn one_pair_gives_no_interval() {
        let comparison = Comparison::new(&[row("a", 3, 3.0, None)], &[Some(3)], &[row("a", 5, 5.0, None)]);
        let text = comparison.to_string();
        assert!(text.contains("longer on 0; difference -2.00 (no interval from one pair)"), "{text}");
        assert!(text.contains("difference +100.00 points (no interval from one pair)"), "{text}");
        assert!(!text.contains("95 %") && !text.contains("cost"), "{text}");
    }
}
