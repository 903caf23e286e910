//! Whether `auto` takes a GPU or the CPU, from measured rates.

use super::plan::{HeuristicPlan, Plan, SearchPlan};
use super::resolve::CANDIDATES;
use crate::neural::device::Device;
use crate::neural::model::WEIGHTS;
use crate::neural::network::NetworkKind;
use crate::neural::precision::Precision;
use crate::workers::cores;

/// True if `auto` looks for a GPU: if a network is asked for many states at once. A GPU takes as long for a few as for
/// thousands.
pub(super) fn gains_from_cuda(plan: &Plan) -> bool {
    plan.info.in_batches && matches!(plan.heuristic, HeuristicPlan::Network { .. })
}

/// Whether a search, planned for either device, evaluates states faster on the GPU; logs why. By default, a search is wider
/// there: one of its steps takes longer, and is worth more. The CPU computes in a precision, by default the fastest.
pub(super) fn is_faster_on_cuda(on_cpu: &Plan, on_cuda: &Plan, moves: usize, precision: Option<Precision>) -> bool {
    let precision = precision.unwrap_or_else(|| NetworkKind::Mlp.fastest_precision(Device::CPU));
    let [cpu, cuda] = [(on_cpu, false), (on_cuda, true)]
        .map(|(plan, is_cuda)| seconds_a_state(plan, is_cuda, moves, cores(), precision.core_rate()));
    let taken = if cuda < cpu { "CUDA" } else { "the CPU" };
    let [on_cores, on_gpu] = [cpu, cuda].map(|seconds| 1e6 * seconds);
    log::debug!(
        "`device` auto takes {taken}: a state takes the cores about {on_cores:.2} µs, and a GPU at least {on_gpu:.2} µs"
    );
    cuda < cpu
}

/// Estimated seconds that a search takes for each state that it evaluates, from measured rates: of a core, in multiply-adds
/// a second, and of an H100 (docs/experiments/device-beam.md).
fn seconds_a_state(plan: &Plan, on_cuda: bool, moves: usize, cores: usize, core_rate: f64) -> f64 {
    /// Multiply-adds a second in a network of dense layers.
    const GPU: f64 = 90e12;
    /// Launching the operations of a layer.
    const LAUNCHES: f64 = 4e-3;
    /// Children a second that a core makes and takes in for a GPU.
    const CHILDREN: f64 = 400e3;
    // In a step: a layer, or a batch.
    let (states, on_device) = match plan.search {
        SearchPlan::Beam { n, candidates: 0, on_device, .. } => (n as f64 * moves as f64, on_device),
        SearchPlan::Beam { n, candidates, on_device, .. } => (n as f64 * candidates as f64, on_device),
        SearchPlan::Bwas { n, deferred: true, .. } => (n as f64, false),
        SearchPlan::Bwas { n, on_device, .. } => (n as f64 * moves as f64, on_device),
        SearchPlan::Reduction { n } => (n as f64 * CANDIDATES as f64, false),
        _ => return 0.0,
    };
    let HeuristicPlan::Network { folder, .. } = &plan.heuristic else { return 0.0 };
    // In a network of dense layers, each weight is used once, and takes two bytes of the file.
    let operations = std::fs::metadata(folder.join(WEIGHTS)).map_or(0.0, |file| file.len() as f64 / 2.0);
    let (images, cores) = (plan.symmetries as f64, cores as f64);
    match on_cuda {
        false => operations / (core_rate * cores),
        // One image after the other.
        true if on_device => LAUNCHES / states + operations / GPU,
        true => LAUNCHES / (states * images) + operations / GPU + 1.0 / (CHILDREN * cores),
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::SearchInfo;
    use super::super::plan::PerimeterPlan;
    use super::*;
    use crate::search::beam::HashSlots;

    #[test]
    fn auto_takes_cuda_for_wide_searches() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("models/cube3");
        let beam = |n, symmetries, on_device| Plan {
            search: SearchPlan::Beam {
                n,
                candidates: 2,
                policy_weight: 1.5,
                on_device,
                hash_slots: HashSlots::UpTo(1),
            },
            symmetries,
            ..plan("beam", SearchPlan::AStar, HeuristicPlan::Network { folder: folder.clone(), name: "cube3".into() })
        };
        let seconds = |plan: &Plan, on_cuda, cores| seconds_a_state(plan, on_cuda, 12, cores, 190e9);
        let (cpu, cuda) = (false, true);
        // The defaults of the cube.
        let [host, device] = [beam(6_000, 4, false), beam(25_000, 4, true)];
        assert!(seconds(&host, cpu, 2) > seconds(&device, cuda, 2));
        assert!(seconds(&host, cpu, 16) > seconds(&device, cuda, 16));
        // A narrow beam is over before its operations are launched.
        assert!(seconds(&beam(500, 1, false), cpu, 16) < seconds(&beam(500, 1, true), cuda, 16));
        assert!(seconds(&beam(100, 1, false), cpu, 2) < seconds(&beam(100, 1, true), cuda, 2));
        let slow = seconds_a_state(&beam(100, 1, false), cpu, 12, 2, Precision::F32.core_rate());
        assert!(slow > seconds(&beam(100, 1, true), cuda, 2), "in f32, the same cores take longer");
        assert!(seconds(&beam(1 << 18, 1, false), cpu, 64) > seconds(&beam(1 << 18, 1, true), cuda, 64));
        // A wider search is not slower because its steps are longer.
        assert!(seconds(&beam(2_500, 1, false), cpu, 64) > seconds(&beam(25_000, 1, true), cuda, 64));
    }

    fn plan(name: &str, search: SearchPlan, heuristic: HeuristicPlan) -> Plan {
        Plan {
            info: SearchInfo::find(name).expect("a search"),
            search,
            heuristic,
            perimeter: PerimeterPlan::None,
            search_uses_perimeter: false,
            leaves_out_whole_perimeter: false,
            symmetries: 1,
            proof_budget: Some(0),
            widens: false,
        }
    }

    #[test]
    fn auto_takes_the_cpu_for_a_few_states_at_a_time() {
        let network = HeuristicPlan::Network { folder: "models/cube3".into(), name: "cube3".into() };
        let bwas = SearchPlan::Bwas {
            n: 1,
            lambda: 1.0,
            deferred: false,
            policy_weight: 0.0,
            max_stale_steps: 0,
            anytime: false,
            on_device: false,
        };
        let (policy_weight, hash_slots) = (0.0, HashSlots::UpTo(1));
        let beam = SearchPlan::Beam { n: 1, candidates: 0, policy_weight, on_device: false, hash_slots };
        for (name, search, is_gpu) in [
            ("beam", beam, true),
            ("bwas", bwas, true),
            ("astar", SearchPlan::AStar, false),
            ("idastar", SearchPlan::IdaStar, false),
            ("nbs", SearchPlan::Nbs, false),
        ] {
            assert_eq!(gains_from_cuda(&plan(name, search, network.clone())), is_gpu, "{name}");
            let without = plan(name, search, HeuristicPlan::Named("zero".into()));
            assert!(!gains_from_cuda(&without), "{name} without a network");
        }
    }
}
