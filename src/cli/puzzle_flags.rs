//! The flags that name a puzzle and a network: `solve`, `bench`, `compare` and `evaluate` share them.

use super::{Ending, OrInput as _, puzzle_name};
use crate::neural::device::DeviceChoice;
use crate::neural::precision::Precision;
use crate::puzzle::Puzzle;
use crate::registry::{Entry, Visitor, visit, visit_with_costs};
use crate::solver::{Builder, Solver};

#[derive(Debug, Clone, clap::Args)]
pub(super) struct PuzzleFlags {
    /// The puzzle [default: the model's, or cube3]
    #[arg(long, value_name = "NAME")]
    puzzle: Option<String>,
    /// The model: a folder, or a name under $COSTAR_MODELS, ./models or the checkout's models [default: the puzzle's]
    #[arg(long, value_name = "DIR")]
    pub(super) model: Option<String>,
    /// Another goal than the puzzle's own
    #[arg(long, value_name = "STATE")]
    goal: Option<String>,
    /// What some moves of cube3 or cube3:htm cost, such as U=1.5,B=2 (of cube3:htm also U2=1.5); a move and its inverse cost
    /// the same, all others 1. For searches without a network
    #[arg(long, value_name = "COSTS", conflicts_with = "goal")]
    move_costs: Option<String>,
    /// Where the network runs: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    /// Of the network's matrix products [default: what is fastest here: int8 for networks of dense layers on a CPU with
    /// AVX-512 VNNI or AVX2, else bf16 where the device is fast at it, else f32]
    #[arg(long, value_name = "f32|bf16|int8")]
    precision: Option<Precision>,
}

impl PuzzleFlags {
    /// Lets a command work on the puzzle.
    pub(super) fn visit(self, command: impl Visitor<Output = Ending>) -> Ending {
        let name = puzzle_name(self.puzzle.as_deref(), self.model.as_deref()).or_input()?;
        match &self.move_costs {
            Some(costs) => visit_with_costs(&name, costs, command).or_input()?,
            None => visit(&name, self.goal.as_deref(), command).or_input()?,
        }
    }

    /// A solver to be built, with the model that is named; without it where `with_model` is false.
    pub(super) fn builder<P: Puzzle>(&self, entry: Entry<P>, with_model: bool) -> Builder<P> {
        let builder = Solver::builder(entry).device(self.device);
        let model = self.model.iter().filter(|_| with_model);
        let builder = model.fold(builder, |builder, model| builder.model(model));
        self.precision.iter().fold(builder, |builder, &precision| builder.precision(precision))
    }
}
