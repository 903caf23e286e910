//! Your own heuristic for the 8-puzzle beside a built-in one: A* finds as short a solution with either, and stores fewer
//! states with the better one. `cargo run --release --example own_heuristic`.

use costar::heuristic::PerState;
use costar::puzzle::Rules;
use costar::puzzle::tiles::{Board as _, Puzzle8};
use costar::solver::{Request, SearchOptions, Solver};
use std::error::Error;

const BOARD: &str = "8 6 7 2 5 4 3 0 1";

fn main() -> Result<(), Box<dyn Error>> {
    let goal = Puzzle8::default().goal().tiles();
    // A move brings at most one tile to its place, so this is never above the true cost: it is admissible.
    let misplaced = PerState::new("misplaced", true, move |board: &<Puzzle8 as Rules>::State| {
        board.tiles().iter().zip(&goal).filter(|(tile, goal)| **tile != 0 && tile != goal).count() as f32
    });
    let options = SearchOptions::of("astar");
    let request = Request { options, heuristic: "manhattan".into(), ..Request::default() };
    let builder = || Solver::builder(Puzzle8::default(), request.clone());
    let mut solvers = [builder().own_heuristic(misplaced).build()?, builder().build()?];
    for solver in &mut solvers {
        let report = solver.solve(BOARD)?.record;
        let (name, length) = (solver.heuristic_name(), report.length.unwrap_or_default());
        println!("{name}: {length} moves, {} states stored", report.nodes_stored);
    }
    Ok(())
}
