//! Solves a scrambled cube with the model in `models/cube3`:
//! `cargo run --release --example solve_cube "R U F' L D2 B"`.

use costar::puzzle::cube3::Cube3;
use costar::solver::{SearchOptions, Solver};

fn main() -> Result<(), costar::Error> {
    let scramble = std::env::args().nth(1).unwrap_or_else(|| "R U F' L D2 B".to_owned());
    let solution = Solver::new(Cube3, SearchOptions::default())?.solve(&scramble)?;
    println!("{solution}");
    Ok(())
}
