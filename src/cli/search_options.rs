//! The flags that `solve` and `bench` share, and what a request to `serve` is read into.

use crate::neural::device::DeviceChoice;
use crate::neural::learner::Precision;
use crate::quantity;

#[derive(Debug, clap::Args)]
pub(super) struct SearchOptions {
    /// The puzzle
    #[arg(long, default_value = "cube3", value_name = "NAME")]
    pub(super) puzzle: String,
    /// The model: a folder, or a name under $COSTAR_MODELS, ./models or the checkout's models [default: the puzzle's]
    #[arg(long, value_name = "DIR")]
    pub(super) model: Option<String>,
    /// The search: auto, bwas, beam, astar, idastar, nbs (bidirectional A*), best-first, bfs, bidirectional or random
    #[arg(long, default_value = "auto", value_name = "NAME")]
    pub(super) search: String,
    /// What estimates the cost-to-go: network, zero (nothing known), ball (exact within 5 moves of the goal), or one of
    /// the puzzle's own [auto: the network where there is a model, else the best of the puzzle's own]
    #[arg(long, default_value = "auto", value_name = "NAME")]
    pub(super) heuristic: String,
    /// Another goal than the puzzle's own
    #[arg(long, value_name = "STATE")]
    pub(super) goal: Option<String>,
    /// Nodes expanded a step, of beam the width: more of them find shorter solutions, later; without --search it means
    /// bwas [auto: 1000 on the CPU, 10000 on CUDA; with a model that has heads, beam 16000 and 100000 in all views,
    /// unless the model has a width of its own, --deferred 20000 and 100000]
    #[arg(long, value_name = "N", value_parser = auto_count)]
    pub(super) n: Option<AutoCount>,
    /// The weight λ of the path cost in f = λ·g + h: 1 is A*, 0 is greedy best-first; without --search it means bwas
    /// [default: 0.6; of best-first, 0]
    #[arg(long, value_name = "λ", value_parser = weight)]
    pub(super) lambda: Option<f32>,
    /// Score a child only when its turn comes, in the order of its parent's second head: a variant of bwas that needs a
    /// model with heads; --search auto takes it where there is one
    #[arg(long)]
    pub(super) deferred: bool,
    /// Of beam, with a model that has heads: score only the best K·N children, as their parents' second head ranks them;
    /// 0 for all [default: 3]
    #[arg(long, value_name = "K", value_parser = quantity::count)]
    pub(super) shortlist: Option<u64>,
    /// Of --deferred and --shortlist: how much the logarithm of a move's probability counts against the cost-to-go, in
    /// moves [default: 1.5, or the model's own; of --deferred, 1]
    #[arg(long, value_name = "C", value_parser = weight)]
    pub(super) confidence: Option<f32>,
    /// Of beam, where a state has a twin (a cube its inverse, a board of tiles its mirror image): score those within K·N
    /// places of the beam's edge a second time, as their twins, and take the mean; 0 for none [default: 0]
    #[arg(long, value_name = "K", value_parser = quantity::share::<f32>)]
    pub(super) twins: Option<f32>,
    /// Of bwas and beam: know all states within so many moves of the goals by heart; 0 for none [default with a
    /// shortlist: the model's own, or as deep as 1000·N states a view reach (the cube: 7); with --deferred, as a million]
    #[arg(long, value_name = "DEPTH", value_parser = quantity::count)]
    pub(super) endgame: Option<u64>,
    /// Search so many equivalent instances one after the other, and give the best answer: a cube has 96 (48 ways to hold
    /// or mirror it, and their inverses), a board of tiles 2 [default: 1; of beam, with a model that has heads, up to 4]
    #[arg(long, value_name = "K", value_parser = quantity::positive_count)]
    pub(super) views: Option<u64>,
    /// Of bwas: go on for so many steps after the first answer, and give the best [default: 4 with an endgame]
    #[arg(long, value_name = "STEPS", value_parser = quantity::count)]
    pub(super) patience: Option<u64>,
    /// Of bwas: go on after the first answer, print each better one, until a limit is reached or nothing better can
    /// exist
    #[arg(long, conflicts_with = "patience")]
    pub(super) anytime: bool,
    /// Of the search random
    #[arg(long, value_name = "N", default_value = "1", value_parser = quantity::count)]
    pub(super) seed: u64,
    /// Where the network runs: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub(super) device: DeviceChoice,
    /// Of the network's matrix products [default: what is fastest here: int8 for networks of dense layers on a CPU with
    /// AVX-512 VNNI, else bf16 where the device is fast at it, else f32]
    #[arg(long, value_name = "f32|bf16|int8")]
    pub(super) precision: Option<Precision>,
    /// Give up on an instance after so many seconds
    #[arg(long, value_name = "S", value_parser = quantity::seconds)]
    pub(super) max_seconds: Option<f64>,
    /// Give up on an instance after so many generated nodes
    #[arg(long, value_name = "N", value_parser = quantity::positive_count)]
    pub(super) max_nodes: Option<u64>,
    /// Give up on an instance when the process would hold more memory than this: 8G, 512M
    /// [default: 80 % of what is available]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub(super) max_memory: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// A count, or what measured best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoCount {
    Auto,
    Count(u64),
}

fn auto_count(text: &str) -> Result<AutoCount, String> {
    if text == "auto" { Ok(AutoCount::Auto) } else { quantity::positive_count(text).map(AutoCount::Count) }
}

fn weight(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => Err(format!("'{text}' is not a weight: a number from 0 (greedy) to 1 (A*) would be accepted")),
    }
}
