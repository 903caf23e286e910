//! Two files of results, compared instance by instance.

use super::Record;
use super::statistics::{Difference, average, difference};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;

/// The output of `bench --against` for the instances that both files have. Pairs are `[here, there]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Instances that both files have.
    pub instances: usize,
    /// Instances that are solved.
    pub solved: [usize; 2],
    /// Whether both files have the same move costs; otherwise costs and optima are not compared.
    pub same_move_costs: bool,
    /// Instances that are solved at the known optimal cost; `null` if no optimum is known.
    pub optimal: Option<[usize; 2]>,
    /// Mean length over the instances that both solve.
    pub mean_length: Option<[f64; 2]>,
    /// Mean cost over the instances that both solve; `null` if all moves cost 1.
    pub mean_cost: Option<[f64; 2]>,
    /// Mean seconds over all instances.
    pub mean_seconds: Option<[f64; 2]>,
    /// Mean difference of length, here minus there, over the instances that both solve.
    pub length_difference: Option<Difference>,
    /// Mean difference of cost likewise; `null` if all moves cost 1.
    pub cost_difference: Option<Difference>,
    /// Mean difference of seconds, here minus there, over all instances.
    pub seconds_difference: Option<Difference>,
    /// Difference of the shares solved at the known optimal cost, here minus there, over the instances with a known optimum.
    pub optimal_difference: Option<Difference>,
    /// The numbers of instances that both solve with a lower, the same and a higher cost here; lengths are compared if
    /// costs are not.
    pub cheaper_same_dearer: [usize; 3],
    /// Instances on which the search took less time here.
    pub faster: usize,
    /// Seconds here over seconds there.
    pub seconds_ratio: Option<f64>,
    /// Generated nodes here over generated nodes there.
    pub generated_ratio: Option<f64>,
    /// Evaluated nodes here over evaluated nodes there.
    pub evaluated_ratio: Option<f64>,
}

impl Comparison {
    /// Compares results instance by instance; `optima` are the known optimal costs of the instances of `here`.
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
        let values = |of: fn(&Record) -> Option<f64>| -> Vec<[f64; 2]> {
            pairs.iter().filter_map(|([here, there], _)| Some([of(here)?, of(there)?])).collect()
        };
        let lengths = values(|result| Some(result.length? as f64));
        let costs = values(|result| result.cost);
        let seconds = values(|result| Some(result.seconds));
        let is_optimal = |result: &Record, optimum| f64::from(result.cost.is_some_and(|cost| cost <= optimum));
        let optimal: Vec<[f64; 2]> = pairs
            .iter()
            .filter_map(|(pair, optimum)| optimum.map(|optimum| pair.map(|result| is_optimal(result, optimum.into()))))
            .collect();
        let compared = if same_move_costs { &costs } else { &lengths };
        let count = |order: Ordering| compared.iter().filter(|[here, there]| here.total_cmp(there) == order).count();
        Comparison {
            instances: pairs.len(),
            same_move_costs,
            solved: [0, 1].map(|side| pairs.iter().filter(|(pair, _)| pair[side].solved).count()),
            optimal: (!optimal.is_empty())
                .then(|| [0, 1].map(|side| optimal.iter().filter(|pair| pair[side] > 0.0).count())),
            mean_length: means(&lengths),
            mean_cost: means(&costs).filter(|_| has_costs),
            mean_seconds: means(&seconds),
            length_difference: difference(&lengths),
            cost_difference: difference(&costs).filter(|_| has_costs),
            seconds_difference: difference(&seconds),
            optimal_difference: difference(&optimal),
            cheaper_same_dearer: [Ordering::Less, Ordering::Equal, Ordering::Greater].map(count),
            faster: seconds.iter().filter(|[here, there]| here < there).count(),
            seconds_ratio: ratio(&seconds),
            generated_ratio: ratio(&values(|result| Some(result.nodes_generated as f64))),
            evaluated_ratio: ratio(&values(|result| Some(result.nodes_evaluated as f64))),
        }
    }
}

/// The means of both sides.
fn means(pairs: &[[f64; 2]]) -> Option<[f64; 2]> {
    let side = |side: usize| average(pairs.iter().map(|pair| pair[side]));
    Some([side(0)?, side(1)?])
}

/// The mean of the first side over that of the second.
fn ratio(pairs: &[[f64; 2]]) -> Option<f64> {
    means(pairs).filter(|[_, there]| *there > 0.0).map(|[here, there]| here / there)
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
        let (length, difference) = (means(self.mean_length), interval(&self.length_difference, 1.0, ""));
        if self.mean_cost.is_some() {
            let (cost, of_cost) = (means(self.mean_cost), interval(&self.cost_difference, 1.0, ""));
            writeln!(f, "cost     {cost}; cheaper on {less}, the same on {same}, dearer on {more}{of_cost}")?;
            writeln!(f, "length   {length}{difference}")?;
        } else {
            writeln!(f, "length   {length}; shorter on {less}, the same on {same}, longer on {more}{difference}")?;
        }
        if !self.same_move_costs {
            writeln!(f, "cost     not compared: the other file is not of the same `move_costs`")?;
        }
        let (seconds, difference) = (means(self.mean_seconds), interval(&self.seconds_difference, 1.0, " s"));
        writeln!(f, "seconds  {seconds}; faster on {}{difference}", self.faster)?;
        let ratios = [self.seconds_ratio, self.generated_ratio, self.evaluated_ratio];
        let [seconds, generated, evaluated] = ratios.map(ratio);
        write!(f, "ratios   seconds {seconds}, generated {generated}, evaluated {evaluated}")
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
        // With different move costs, only lengths are compared.
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
