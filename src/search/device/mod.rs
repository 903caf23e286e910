//! Searches whose states lie on a device, as tensors: every step is an operation of libtorch, so that a GPU is never idle,
//! and the CPU runs the same code. A beam:
//!
//! - A layer is a tensor of bytes, `width × cells`, with a value, a score and the move probabilities of each state.
//! - The 64-bit hashes of all children come from the rows of their parents, before any child is made: see `tensors::moves`.
//!   Illegal moves, and children that were evaluated before, are left out.
//! - One top-k chooses the children of least candidate score; of equal states, that of the least stays. Only these are made and
//!   evaluated, in chunks, and another top-k keeps the next layer.
//! - Evaluated states are recognized by a direct-mapped table of hashes. A new hash overwrites another one in its slot:
//!   the loss of an entry may cost an evaluation, never a state.
//! - Children near a goal are recognized by the sorted hashes of all states within some moves: see `near_goals`. The
//!   host replays a hit and looks it up in its perimeter before it counts.
//! - Several ranks may share a beam. Each owns the states whose hash falls to it. The hashes of children travel to their
//!   owners, which choose among them, and fetch the parents' rows of the children that they make: see `ranks`.
//! - The host keeps parents and moves of all layers, which reach it while the device hashes the next children, and runs
//!   refinement and proof, which follow.
//!
//! | file | content |
//! | --- | --- |
//! | `mod` | [`DeviceEngine`]; [`RowNetwork`], the network that it asks |
//! | `layers` | the layers of one search |
//! | `layers/memory` | the memory of a step on the CPU |
//! | `timings` | the time of each part, for the log |
//! | `near_goals` | the states near the goals, by hash |
//! | `ranks` | what ranks that share a beam send each other |
//! | `nodes` | the open list and the stored states of a best-first search |

use crate::error::{Error, Result};
use crate::exchange::Alone;
use crate::heuristic::HeuristicError;
use crate::puzzle::Puzzle;
use crate::quantity::grouped;
use crate::search::limits::unless_failed;
use crate::tensors::moves::DeviceMoves;
use crate::tensors::{caught, host_numbers, is_out_of_memory, no_grad};
use layers::BeamWeights;
use near_goals::NearGoals;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use tch::{Kind, Tensor};

pub(super) mod layers;
mod near_goals;
pub(super) mod nodes;
mod ranks;
mod timings;

/// States near the goals, at most, on the CPU and on CUDA: more would take seconds to find.
const MAX_NEAR_GOALS: [u64; 2] = [1 << 20, 1 << 25];

/// Finding them may take the device's memory divided by this.
const NEAR_GOALS_DIVISOR: u64 = 4;

/// The limit of states near the goals, for a search that may take `memory` bytes on the device.
fn most_near_goals(cells: usize, on_cuda: bool, memory: Option<u64>) -> u64 {
    let fits = memory.map_or(u64::MAX, |bytes| bytes / (NEAR_GOALS_DIVISOR * NearGoals::bytes_each(cells)));
    MAX_NEAR_GOALS[usize::from(on_cuda)].min(fits)
}

/// A network that reads rows where they lie.
pub trait RowNetwork: Send {
    /// The device on which the rows must lie.
    fn device(&self) -> tch::Device;

    /// Whether it has move probabilities.
    fn has_policy(&self) -> bool;

    /// The number of rows that should be evaluated at once.
    fn chunk(&self) -> usize;

    /// Evaluates rows of symbols, `states × cells` bytes: the cost-to-go of each, f32, which may be negative; and the
    /// natural logarithms of the move probabilities, f32, `states × moves`, if they are asked for.
    ///
    /// # Panics
    /// As libtorch does, if the device fails.
    fn evaluate(&self, rows: &Tensor, with_policy: bool) -> (Tensor, Option<Tensor>);
}

/// A puzzle's moves and a network on one device, for searches one after the other.
pub struct DeviceEngine {
    parts: Mutex<EngineParts>,
}

struct EngineParts {
    network: Box<dyn RowNetwork>,
    moves: DeviceMoves,
    near_goals: NearGoals,
    /// The bytes that a search may take on the device, if they are known.
    memory: Option<u64>,
}

impl DeviceEngine {
    /// The moves of a puzzle, and its goals, at least one, on the network's device; `None` if the puzzle has no
    /// [`MoveTable`](crate::puzzle::MoveTable).
    ///
    /// `perimeter_depth` is the depth of the perimeter that the searches use: states near the goals are known to this depth, or
    /// to a lower one if they would be too many, or would take more than a quarter of `memory`, the bytes that a search may
    /// take on the device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn new<P: Puzzle>(
        puzzle: &P,
        goals: &[P::State],
        network: Box<dyn RowNetwork>,
        perimeter_depth: u32,
        memory: Option<u64>,
    ) -> Result<Option<Self>> {
        let Some(table) = puzzle.move_table() else { return Ok(None) };
        let encoding = puzzle.encoding();
        let rows: Vec<u8> = goals.iter().flat_map(|goal| puzzle.row(goal)).collect();
        on_device(|| {
            let device = network.device();
            if device == tch::Device::Cpu {
                let_threads_sleep();
            }
            let moves = DeviceMoves::new(&table, &encoding, device);
            let goals = Tensor::from_slice(&rows).view([-1, encoding.cells as i64]).to_device(device);
            let most = most_near_goals(encoding.cells, device.is_cuda(), memory);
            let near_goals = NearGoals::new(&moves, &goals, perimeter_depth, most as usize);
            let engine = DeviceEngine { parts: Mutex::new(EngineParts { network, moves, near_goals, memory }) };
            engine.warm_up(&rows[..encoding.cells]).map(|()| Some(engine))
        })?
    }

    /// Evaluates chunks of several sizes, and makes two small layers, so that no search loads the device's code.
    fn warm_up(&self, goal: &[u8]) -> Result<()> {
        let n = self.parts().network.chunk();
        let candidates = usize::from(self.parts().network.has_policy());
        on_device(|| {
            let network = &self.parts().network;
            let sizes = if network.device().is_cuda() { vec![n, 3 * n / 4, n / 2, n / 4, n / 8] } else { Vec::new() };
            for size in sizes {
                let rows = Tensor::from_slice(goal).to_device(network.device()).repeat([size as i64, 1]);
                drop(network.evaluate(&rows, candidates > 0));
            }
        })?;
        let mut layers = self.layers(goal, BeamWeights { n, candidates, ..BeamWeights::default() }, &Alone)?;
        layers.timings.stop();
        for _ in 0..2 {
            layers.choose(&mut Vec::new(), u64::MAX, &|| false)?;
            let _ = unless_failed(layers.evaluate(&mut 0, |_| None))?;
            let _ = unless_failed(layers.keep(|| None))?;
        }
        Ok(())
    }

    fn parts(&self) -> MutexGuard<'_, EngineParts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for DeviceEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceEngine({:?})", self.parts().network.device())
    }
}

/// How many of the flags are set. Waits for the device.
fn count_of(flags: &Tensor) -> i64 {
    host_numbers::<i64>(&flags.sum(Kind::Int64))[0]
}

/// Makes libgomp's threads sleep soon after each CPU operation, in the whole process from now on. By default they spin for
/// milliseconds, on the cores that the network needs, unless there are more threads than cores. A second team, which always
/// sleeps, makes them more if an operation uses more than half of the cores.
fn let_threads_sleep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let sleep = || {
            drop(Tensor::zeros([1 << 20], (Kind::Float, tch::Device::Cpu)).sum(Kind::Float));
            loop {
                thread::park();
            }
        };
        // Without it, the search is slower.
        let _ = thread::Builder::new().spawn(sleep);
    });
}

/// Runs operations of libtorch, whose errors come as panics.
fn on_device<T>(run: impl FnOnce() -> T) -> Result<T, HeuristicError> {
    caught(|| no_grad(run)).map_err(failed)
}

/// The error of an operation of libtorch; if memory is short, with the remedy.
fn failed(message: String) -> HeuristicError {
    const SHORT: &str =
        "the device has too little memory for this search: expected a smaller `n` or fewer `hash_slots`";
    HeuristicError(if is_out_of_memory(&message) { format!("{SHORT} ({message})") } else { message })
}

/// Rows that are evaluated at once.
#[derive(Debug, Clone, Copy)]
struct Chunk(i64);

impl Chunk {
    /// The fewest rows that are evaluated at once if memory is short.
    const MIN: i64 = 1 << 10;

    /// Halves the chunk after `length` rows were too many for the device's memory.
    ///
    /// # Errors
    /// If that was not the reason of the failure, or the chunk is small already.
    fn halve(&mut self, length: i64, message: String) -> Result<(), HeuristicError> {
        if !is_out_of_memory(&message) || length <= Chunk::MIN {
            return Err(failed(message));
        }
        self.0 = length / 2;
        log::warn!("the device is out of memory: it evaluates {} states at a time from now on", self.0);
        Ok(())
    }
}

/// Adds a width that fits to an out-of-memory error: the first of a half, a quarter and so on.
fn too_wide(error: Error, width: i64, fits: impl Fn(&i64) -> bool) -> Error {
    let mut halves = std::iter::successors(Some(width / 2), |width| Some(width / 2)).take_while(|&width| width > 0);
    let text = error.to_string();
    match is_out_of_memory(&text).then(|| halves.find(fits)).flatten() {
        Some(fitting) => Error::Heuristic(format!("{text}; `n` of {} would fit", grouped(fitting as u64))),
        None => error,
    }
}

/// Refuses estimates of which one, or whose sum, is not finite.
fn check_estimate(estimate: f32) -> Result<(), HeuristicError> {
    match estimate.is_finite() {
        true => Ok(()),
        false => Err(HeuristicError(format!("the network's estimate is {estimate}: its weights are damaged"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_without_memory_is_refused_with_a_width_that_fits() {
        let short = || Error::Heuristic("too little memory (CUDA out of memory. Tried to allocate 20.00 GiB)".into());
        let refusal = too_wide(short(), 1 << 20, |&width| width <= 300_000).to_string();
        assert!(refusal.ends_with("GiB); `n` of 262,144 would fit"), "{refusal}");
        assert_eq!(too_wide(short(), 1 << 20, |_| false).to_string(), short().to_string());
        let other = || Error::Heuristic("CUDA error: device-side assert triggered".into());
        assert_eq!(too_wide(other(), 1 << 20, |_| true).to_string(), other().to_string());
    }

    #[test]
    fn states_near_the_goals_take_a_quarter_of_the_memory() {
        assert_eq!(most_near_goals(54, false, None), 1 << 20);
        assert_eq!(most_near_goals(54, true, Some(u64::MAX)), 1 << 25);
        let most = most_near_goals(54, false, Some(300 << 20));
        assert!((1 << 16..1 << 17).contains(&most), "{most}");
    }
}
