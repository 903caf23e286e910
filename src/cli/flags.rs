//! Flags that several subcommands share: for a puzzle, for its network, and for a solver.

use super::{DEFAULT_PUZZLE, Failure, OrInput as _, puzzle_name};
use crate::neural::device::DeviceChoice;
use crate::neural::model::ModelConfig;
use crate::neural::precision::Precision;
use crate::puzzle::Puzzle;
use crate::quantity;
use crate::registry::{AnyEntry, find, find_with_costs};
use crate::search::Limits;
use crate::solver::{Request, SearchOptions, models};
use std::time::Duration;

/// The flags of `solve`, `bench`, `compare` and `evaluate`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PuzzleFlags {
    /// The puzzle [default: the model's, or cube3]
    #[arg(long, value_name = "NAME")]
    puzzle: Option<String>,
    /// The model: a folder, or a name under $COSTAR_MODELS, ./models or the checkout's models [default: the puzzle's]
    #[arg(long, value_name = "DIR")]
    pub(super) model: Option<String>,
    /// A goal that replaces the puzzle's own
    #[arg(long, value_name = "STATE")]
    pub(super) goal: Option<String>,
    /// Costs of some moves of cube3 or cube3:htm, such as U=1.5,B=2, from 0.001 to 100 (with a half turn, such as U2=1.5, cube3:htm is the
    /// default puzzle); a move and its inverse cost the same, all others 1; for searches without a network
    #[arg(long, value_name = "COSTS", conflicts_with = "goal")]
    pub(super) move_costs: Option<String>,
    /// Device for the network: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    /// Precision of the network's matrix products [default: the fastest here: int8 for networks of dense layers on a CPU
    /// with AVX-512 VNNI or AVX2, else bf16 if the device is fast at it, else f32]
    #[arg(long, value_name = "f32|bf16|int8")]
    precision: Option<Precision>,
}

impl PuzzleFlags {
    /// The puzzle.
    pub(super) fn entry(&self) -> Result<AnyEntry, Failure> {
        let named = self.puzzle.as_deref().or(self.with_half_turns());
        let name = puzzle_name(named, self.model.as_deref()).or_input()?;
        let costs = self.move_costs.as_deref();
        costs.map_or_else(|| find(&name, self.goal.as_deref()), |costs| find_with_costs(&name, costs)).or_input()
    }

    /// `cube3:htm`, if half turns have costs and no model names a puzzle.
    fn with_half_turns(&self) -> Option<&'static str> {
        let is_half_turn = |cost: &str| cost.split('=').next().is_some_and(|name| name.trim().ends_with('2'));
        let costs = self.move_costs.as_deref().filter(|_| self.model.is_none())?;
        costs.split(',').any(is_half_turn).then_some("cube3:htm")
    }

    /// The default puzzle, in words for the refusal of an instance; empty if a flag names one.
    pub(super) fn unless_named(&self) -> String {
        let default = self.with_half_turns().unwrap_or(DEFAULT_PUZZLE);
        let is_named = self.puzzle.is_some() || self.model.is_some();
        if is_named { String::new() } else { format!(", read as {default} (name another puzzle with --puzzle)") }
    }

    /// The request of a solver with these flags, with the named model if `with_model`.
    pub(super) fn request(&self, with_model: bool) -> Request {
        let model = self.model.clone().filter(|_| with_model);
        Request { model, device: self.device, precision: self.precision, ..Request::default() }
    }
}

/// The flags of `solve`, `bench` and `improve`.
#[derive(Debug, clap::Args)]
pub(super) struct SolverFlags {
    #[command(flatten)]
    pub(super) puzzle: PuzzleFlags,
    /// The estimate of the cost-to-go: network, zero (nothing known), perimeter (exact near the goal), or one
    /// of the puzzle's own; auto takes the one that measured best for the puzzle
    #[arg(long, default_value = "auto", value_name = "NAME")]
    heuristic: String,
    #[command(flatten)]
    pub(super) search: SearchOptions,
    /// Give up on an instance after this many seconds; without --search and --n, use all of them to look for a shorter
    /// solution, unless one is proven
    #[arg(long, value_name = "S", value_parser = quantity::seconds)]
    max_seconds: Option<f64>,
    /// Give up on an instance after this many generated nodes
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    max_nodes: Option<u64>,
    /// Give up on an instance when the process would hold more memory than this: 8G, 512M
    /// [default: 80 % of what is available, for the nodes of a search]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    max_memory: Option<u64>,
}

impl SolverFlags {
    /// The request of a solver with these flags.
    pub(super) fn request(&self) -> Request {
        Request {
            options: self.search.clone(),
            heuristic: self.heuristic.as_str().into(),
            limits: Limits {
                time: self.max_seconds.map(Duration::from_secs_f64),
                nodes: self.max_nodes,
                memory: self.max_memory,
                spend_time: true,
            },
            ..self.puzzle.request(true)
        }
    }
}

/// The flags of a command that needs a puzzle alone.
#[derive(Debug, clap::Args)]
pub(super) struct PuzzleOrModel {
    /// The puzzle [default: the model's, or cube3]
    #[arg(long, value_name = "NAME")]
    puzzle: Option<String>,
    /// A model, which names its puzzle: a folder, or a name under $COSTAR_MODELS, ./models or the checkout's models
    #[arg(long, value_name = "DIR")]
    pub(super) model: Option<String>,
}

impl PuzzleOrModel {
    /// The puzzle. The command [checks](check_model) that the model is of it.
    pub(super) fn entry(&self, goal: Option<&str>) -> Result<AnyEntry, Failure> {
        let name = puzzle_name(self.puzzle.as_deref(), self.model.as_deref()).or_input()?;
        find(&name, goal).or_input()
    }
}

/// Refuses a model of another puzzle.
pub(super) fn check_model<P: Puzzle>(puzzle: &P, model: Option<&str>) -> crate::Result<()> {
    let Some(model) = model else { return Ok(()) };
    let folder = models::find(model)?;
    ModelConfig::read(&folder)?.check_puzzle(puzzle, &folder)
}
