//! The flags that name a puzzle and a network: `solve`, `bench`, `compare` and `evaluate` share them; and those of
//! commands that need a puzzle alone.

use super::{Ending, OrInput as _, puzzle_name};
use crate::neural::device::DeviceChoice;
use crate::neural::model::ModelConfig;
use crate::neural::precision::Precision;
use crate::puzzle::Puzzle;
use crate::registry::{Entry, Visitor, visit, visit_with_costs};
use crate::solver::{Builder, Solver, models};

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
    pub(super) goal: Option<String>,
    /// What some moves of cube3 or cube3:htm cost, such as U=1.5,B=2 (of cube3:htm also U2=1.5, and then it is the default
    /// puzzle); a move and its inverse cost the same, all others 1. For searches without a network
    #[arg(long, value_name = "COSTS", conflicts_with = "goal")]
    pub(super) move_costs: Option<String>,
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
        let named = self.puzzle.as_deref().or(self.with_half_turns());
        let name = puzzle_name(named, self.model.as_deref()).or_input()?;
        match &self.move_costs {
            Some(costs) => visit_with_costs(&name, costs, command).or_input()?,
            None => visit(&name, self.goal.as_deref(), command).or_input()?,
        }
    }

    /// The cube whose moves are half turns too, where those have costs and nothing says which puzzle is meant.
    fn with_half_turns(&self) -> Option<&'static str> {
        let is_half_turn = |cost: &str| cost.split('=').next().is_some_and(|name| name.trim().ends_with('2'));
        let costs = self.move_costs.as_deref().filter(|_| self.model.is_none())?;
        costs.split(',').any(is_half_turn).then_some("cube3:htm")
    }

    /// A solver to be built, with the model that is named; without it where `with_model` is false.
    pub(super) fn builder<P: Puzzle>(&self, entry: Entry<P>, with_model: bool) -> Builder<P> {
        let builder = Solver::builder(entry).device(self.device);
        let model = self.model.iter().filter(|_| with_model);
        let builder = model.fold(builder, |builder, model| builder.model(model));
        self.precision.iter().fold(builder, |builder, &precision| builder.precision(precision))
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct OfPuzzle {
    /// The puzzle [default: the model's, or cube3]
    #[arg(long, value_name = "NAME")]
    puzzle: Option<String>,
    /// A model of the puzzle, which tells what puzzle it is: a folder, or a name under $COSTAR_MODELS, ./models or the
    /// checkout's models
    #[arg(long, value_name = "DIR")]
    model: Option<String>,
}

impl OfPuzzle {
    /// Lets a command work on the puzzle.
    pub(super) fn visit(&self, goal: Option<&str>, command: impl Visitor<Output = Ending>) -> Ending {
        visit_checked(self.puzzle.as_deref(), self.model.as_deref(), goal, command)
    }
}

/// Lets a command work on the puzzle that is named, or else on the model's; a model must be of the puzzle.
pub(super) fn visit_checked(
    puzzle: Option<&str>,
    model: Option<&str>,
    goal: Option<&str>,
    command: impl Visitor<Output = Ending>,
) -> Ending {
    let name = puzzle_name(puzzle, model).or_input()?;
    visit(&name, goal, Checked { model, command }).or_input()?
}

/// A command, after a look at the model that was named beside the puzzle.
struct Checked<'a, V> {
    model: Option<&'a str>,
    command: V,
}

impl<V: Visitor<Output = Ending>> Visitor for Checked<'_, V> {
    type Output = Ending;

    fn visit<P: Puzzle>(self, entry: Entry<P>) -> Ending {
        if let Some(model) = self.model {
            check_model(&**entry.puzzle(), model).or_input()?;
        }
        self.command.visit(entry)
    }
}

/// Refuses a model of another puzzle.
fn check_model<P: Puzzle>(puzzle: &P, model: &str) -> crate::Result<()> {
    let folder = models::find(model)?;
    ModelConfig::read(&folder)?.check_puzzle(puzzle, &folder)
}
