//! The summary of a benchmark.

use super::statistics::{average, median, quantile};
use super::{Comparison, Record};
use serde::{Deserialize, Serialize};

/// The output of `bench --json`: a summary of all instances, earlier runs with the same `--out` included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Instances that were searched.
    pub instances: usize,
    /// Instances that were solved.
    pub solved: usize,
    /// Instances that were solved at the known optimal cost; `null` if no optimum is known.
    pub optimal: Option<usize>,
    /// Solutions that are proven optimal.
    pub proven: usize,
    /// Solutions that are not.
    pub unproven: usize,
    /// Mean seconds of the proofs, which `mean_seconds` includes, over the instances that have one.
    pub mean_proof_seconds: Option<f64>,
    /// Mean length of the solutions.
    pub mean_length: Option<f64>,
    /// Mean cost of the solutions; `null` if all moves cost 1.
    pub mean_cost: Option<f64>,
    /// Mean known optimal cost of the solved instances that have one.
    pub mean_optimal: Option<f64>,
    /// Mean seconds over all instances, solved or not.
    pub mean_seconds: Option<f64>,
    /// Median of the same.
    pub median_seconds: Option<f64>,
    /// 95th percentile of the same.
    pub p95_seconds: Option<f64>,
    /// Maximum of the same.
    pub max_seconds: Option<f64>,
    /// Generated nodes a second of search time.
    pub nodes_generated_per_second: Option<f64>,
    /// Evaluated nodes a second of search time.
    pub nodes_evaluated_per_second: Option<f64>,
    /// Peak memory of this process in bytes.
    pub peak_memory_bytes: u64,
    /// The comparison with other results, if requested.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub against: Option<Comparison>,
}

impl Summary {
    /// Summarises results; `optima` holds the known optimal cost of each.
    ///
    /// # Panics
    /// If `results` and `optima` differ in length.
    pub fn new(results: &[Record], optima: &[Option<u32>], peak_memory_bytes: u64) -> Summary {
        assert_eq!(results.len(), optima.len());
        let know_optima = optima.iter().any(Option::is_some);
        let both =
            || results.iter().zip(optima).filter_map(|(result, optimum)| Some((result.cost?, f64::from((*optimum)?))));
        let has_costs = results.iter().any(Record::has_costs);
        let mut seconds: Vec<f64> = results.iter().map(|result| result.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let total: f64 = seconds.iter().sum();
        let rate =
            |count: fn(&Record) -> u64| (total > 0.0).then(|| results.iter().map(count).sum::<u64>() as f64 / total);
        Summary {
            instances: results.len(),
            solved: results.iter().filter(|result| result.solved).count(),
            optimal: know_optima.then(|| both().filter(|(cost, optimum)| cost <= optimum).count()),
            proven: results.iter().filter(|result| result.proven_optimal).count(),
            unproven: results.iter().filter(|result| result.solved && !result.proven_optimal).count(),
            mean_proof_seconds: average(results.iter().filter_map(|result| Some(result.proof?.seconds))),
            mean_length: average(results.iter().filter_map(|result| Some(result.length? as f64))),
            mean_cost: average(results.iter().filter_map(|result| result.cost)).filter(|_| has_costs),
            mean_optimal: average(both().map(|(_, optimum)| optimum)),
            mean_seconds: average(seconds.iter().copied()),
            median_seconds: median(&seconds),
            p95_seconds: quantile(&seconds, 0.95),
            max_seconds: seconds.last().copied(),
            nodes_generated_per_second: rate(|result| result.nodes_generated),
            nodes_evaluated_per_second: rate(|result| result.nodes_evaluated),
            peak_memory_bytes,
            against: None,
        }
    }
}
