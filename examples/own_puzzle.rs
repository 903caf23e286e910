//! A puzzle in one file, trained from scrambles and solved with the network: TopSpin with ten tokens on a ring, of which
//! a turntable turns the first four over (Chen and Skiena 1996).
//!
//! `cargo run --release --example own_puzzle [SAMPLES] [FOLDER]`

use costar::neural::device::Device;
use costar::neural::network::NetworkKind;
use costar::puzzle::{Encoding, Move, ParseError, Puzzle, Reversible, Style, laws};
use costar::registry::Entry;
use costar::solver::Solver;
use costar::train::config::TrainingConfig;
use costar::train::{Event, RunOptions, Training};
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

const TOKENS: usize = 10;
const TURNTABLE: usize = 4;

/// The moves by name: the ring to the left, to the right, and the turntable.
const MOVES: [&str; 3] = ["L", "R", "T"];

struct TopSpin;

impl Puzzle for TopSpin {
    /// The tokens 0 to 9, clockwise from the turntable.
    type State = [u8; TOKENS];

    fn name(&self) -> String {
        "topspin10".into()
    }

    fn move_count(&self) -> usize {
        MOVES.len()
    }

    fn move_name(&self, action: Move) -> String {
        MOVES[usize::from(action)].into()
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

    fn parse(&self, text: &str) -> Result<Self::State, ParseError> {
        let refuse = || ParseError(format!("'{text}': expected the ten tokens 0 to 9, such as 3210456789"));
        let digits: Vec<u8> = text.trim().bytes().map(|digit| digit.wrapping_sub(b'0')).collect();
        let state = Self::State::try_from(digits).map_err(|_| refuse())?;
        let mut sorted = state;
        sorted.sort_unstable();
        // Every order of the tokens can be reached: a turn of a ring of ten is an odd permutation.
        if self.is_goal(&sorted) && sorted.iter().zip(0..).all(|(token, place)| *token == place) {
            Ok(state)
        } else {
            Err(refuse())
        }
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let find = |word: &str| MOVES.iter().position(|name| *name == word).map(|place| place as Move);
        let refuse = |word: &str| ParseError(format!("'{word}' is not a move: expected L, R or T"));
        text.split_whitespace().map(|word| find(word).ok_or_else(|| refuse(word))).collect()
    }

    fn format(&self, state: &Self::State) -> String {
        state.iter().map(|token| char::from(b'0' + token)).collect()
    }

    fn draw(&self, state: &Self::State, _style: Style) -> String {
        let text = self.format(state);
        format!("({}) {}", &text[..TURNTABLE], &text[TURNTABLE..])
    }

    fn encoding(&self) -> Encoding {
        Encoding { version: 1, cells: TOKENS, symbols: TOKENS, fixed: Vec::new(), grid: None }
    }

    fn encode(&self, state: &Self::State, row: &mut [u8]) {
        row.copy_from_slice(state);
    }

    fn notation(&self) -> &'static str {
        "the tokens clockwise from the turntable, such as 3210456789; moves L, R and T"
    }
}

impl Reversible for TopSpin {
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

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let samples: u64 = arguments.next().unwrap_or_else(|| "3000000".into()).parse()?;
    let folder = arguments.next().map_or_else(|| std::env::temp_dir().join("topspin10"), PathBuf::from);

    // What every puzzle must keep, and how many states there are at each distance.
    laws::check(&TopSpin, &[1, 3, 6, 12, 24, 47]);

    let puzzle = Entry::reversible(TopSpin);
    let config = TrainingConfig {
        net: Some(NetworkKind::Mlp),
        width: Some(256),
        blocks: Some(1),
        policy: true,
        ..TrainingConfig::default()
    };
    let options = RunOptions { steps: Some(samples), resume: true, ..RunOptions::new(&folder) };
    let stop = AtomicBool::new(false);
    let training = Training::open(&puzzle, &config, &options, Device::CPU, &stop)?;
    training.run(&stop, &mut |event| {
        if let Event::Metrics(metrics) = event {
            println!("{} samples: loss {:.3}", metrics.samples, metrics.loss);
        }
    })?;

    let mut solver = Solver::builder(puzzle).model(folder.to_string_lossy()).heuristic("network").build()?;
    for instance in ["3210456789", "9876543210", "0246813579"] {
        let solution = solver.solve(instance)?;
        let report = &solution.record;
        let length = report.length.unwrap_or_default();
        println!("{instance}: {solution}  ({length} moves, {} states evaluated)", report.nodes_evaluated);
    }
    Ok(())
}
