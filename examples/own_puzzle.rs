//! A puzzle in one file, trained from scrambles and solved with the network: TopSpin, ten tokens on a ring with a turntable
//! that reverses the first four (Chen and Skiena 1996).
//!
//! `cargo run --release --example own_puzzle [SAMPLES] [FOLDER]`

use costar::neural::device::Device;
use costar::neural::network::NetworkKind;
use costar::puzzle::{Encode, Encoding, Instance, Move, Notation, ParseError, Rules, laws};
use costar::registry::Entry;
use costar::solver::{Request, Solver};
use costar::train::{Event, TrainOptions, Training};
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

const TOKENS: usize = 10;
const TURNTABLE: usize = 4;

/// The moves by name: the ring to the left, to the right, and the turntable.
const MOVES: [&str; 3] = ["L", "R", "T"];

struct TopSpin;

impl Rules for TopSpin {
    /// The tokens 0 to 9, clockwise from the turntable.
    type State = [u8; TOKENS];

    fn name(&self) -> String {
        "topspin10".into()
    }

    fn move_count(&self) -> usize {
        MOVES.len()
    }

    fn apply(&self, state: &Self::State, action: Move) -> Option<Self::State> {
        let mut next = *state;
        match action {
            0 => next.rotate_left(1),
            1 => next.rotate_right(1),
            _ => next[..TURNTABLE].reverse(),
        }
        Some(next)
    }

    fn is_goal(&self, state: &Self::State) -> bool {
        state.is_sorted()
    }

    fn goals(&self) -> Vec<Self::State> {
        vec![std::array::from_fn(|place| place as u8)]
    }

    fn inverse(&self, action: Move) -> Move {
        [1, 0, 2][usize::from(action)]
    }

    fn default_depth(&self) -> u32 {
        28
    }
}

impl Notation for TopSpin {
    fn notation(&self) -> &'static str {
        "the tokens clockwise from the turntable, such as 3210456789; moves L, R and T"
    }

    fn move_name(&self, action: Move) -> String {
        MOVES[usize::from(action)].into()
    }

    fn read(&self, text: &str) -> Result<Instance<Self::State>, ParseError> {
        let refuse = || ParseError(format!("'{text}': expected the ten tokens 0 to 9, such as 3210456789"));
        let digits: Vec<u8> = text.trim().bytes().map(|digit| digit.wrapping_sub(b'0')).collect();
        let state = Self::State::try_from(digits).map_err(|_| refuse())?;
        let mut sorted = state;
        sorted.sort_unstable();
        // Every order of the tokens can be reached: a turn of a ring of ten is an odd permutation.
        if sorted == self.goals()[0] { Ok(state.into()) } else { Err(refuse()) }
    }

    fn format(&self, state: &Self::State) -> String {
        state.iter().map(|token| char::from(b'0' + token)).collect()
    }
}

impl Encode for TopSpin {
    fn encoding(&self) -> Encoding {
        Encoding::row(TOKENS, TOKENS)
    }

    fn encode(&self, state: &Self::State, row: &mut [u8]) {
        row.copy_from_slice(state);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let samples: u64 = arguments.next().unwrap_or_else(|| "3000000".into()).parse()?;
    let folder = arguments.next().map_or_else(|| std::env::temp_dir().join("topspin10"), PathBuf::from);

    // The laws of every puzzle, and the number of states at each distance.
    laws::check(&TopSpin, &[1, 3, 6, 12, 24, 47]);

    let puzzle = Entry::new(TopSpin);
    let options = TrainOptions {
        net: Some(NetworkKind::Mlp),
        width: Some(256),
        blocks: Some(1),
        policy: Some(true),
        samples: Some(samples),
        out: Some(folder.clone()),
        resume: true,
        ..TrainOptions::default()
    };
    let stop = AtomicBool::new(false);
    let training = Training::open(&puzzle, &options, Device::CPU, &stop)?;
    training.run(&stop, &mut |event| {
        if let Event::Metrics(metrics) = event {
            println!("{} samples: loss {:.3}", metrics.samples, metrics.loss);
        }
    })?;

    let model = Some(folder.to_string_lossy().into());
    let request = Request { model, heuristic: "network".into(), ..Request::default() };
    let mut solver = Solver::builder(puzzle, request).build()?;
    for instance in ["3210456789", "9876543210", "0246813579"] {
        let solution = solver.solve(instance)?;
        let report = &solution.record;
        let length = report.length.unwrap_or_default();
        println!("{instance}: {solution}  ({length} moves, {} states evaluated)", report.nodes_evaluated);
    }
    Ok(())
}
