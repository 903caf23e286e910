//! The 8-puzzle as the article on breadth-first search has it: every row of its table, exactly.

use costar::heuristic::{PuzzleHeuristics, zero};
use costar::puzzle::tiles::{Packed8, Puzzle8};
use costar::puzzle::{Puzzle as _, laws, replay};
use costar::search::best_first::BestFirst;
use costar::search::bidirectional::Bidirectional;
use costar::search::breadth_first::BreadthFirst;
use costar::search::idastar::IterativeDeepening;
use costar::search::{Control, Limits, Search, SearchResult};
use std::sync::atomic::AtomicBool;

const START: &str = "0 1 2 3 4 5 6 7 8";

fn rows() -> Vec<(String, [u64; 5])> {
    let lines = include_str!("../test-data/eight-puzzle.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (board, numbers) = line.split_once('\t').expect("a tab behind the board");
            let numbers: Vec<u64> = numbers.split('\t').map(|number| number.parse().expect("a number")).collect();
            (board.to_owned(), numbers.try_into().expect("five numbers"))
        })
        .collect()
}

fn solve(puzzle: &Puzzle8, search: &dyn Search<Puzzle8>, heuristic: &str) -> SearchResult {
    let start = puzzle.parse(START).expect("it can be solved");
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let mut watch = |_: &_| ();
    let mut heuristic = PuzzleHeuristics::heuristic(puzzle, heuristic).unwrap_or_else(|| Box::new(zero::<Packed8>()));
    let outcome = search.run(puzzle, &start, &mut *heuristic, &mut Control::new(&limits, &stop, &mut watch));
    let outcome = outcome.expect("no heuristic fails");
    let (end, cost) = replay(puzzle, &start, outcome.moves.as_deref().expect("solved")).expect("legal moves");
    assert!(puzzle.is_goal(&end));
    assert_eq!(outcome.cost, Some(cost));
    outcome
}

#[test]
fn the_table_is_reproduced() {
    let rows = rows();
    assert_eq!(rows.len(), 25);
    for (board, [moves, stored, expanded, both_stored, both_expanded]) in rows {
        let puzzle = Puzzle8::with_goal(&board).expect("a board");
        let outcome = solve(&puzzle, &BreadthFirst::default(), "zero");
        let stats = outcome.stats;
        assert_eq!(
            (outcome.cost, stats.stored, stats.expanded),
            (Some(moves as u32), stored, expanded),
            "bfs to {board}"
        );
        assert!(outcome.proven_optimal);
        let outcome = solve(&puzzle, &Bidirectional::default(), "zero");
        let stats = outcome.stats;
        let counted = (outcome.cost, stats.stored, stats.expanded);
        assert_eq!(counted, (Some(moves as u32), both_stored, both_expanded), "bidirectional to {board}");
        for heuristic in ["manhattan", "linear-conflict"] {
            for search in [&BestFirst::a_star() as &dyn Search<Puzzle8>, &IterativeDeepening { bucket: 1.0 }] {
                let outcome = solve(&puzzle, search, heuristic);
                assert_eq!(outcome.cost, Some(moves as u32), "{} with {heuristic} to {board}", search.name());
                assert!(outcome.proven_optimal);
            }
        }
    }
}

#[test]
fn there_are_as_many_boards_by_depth_as_there_are() {
    let counts = laws::states_by_depth(&Puzzle8::default(), 31);
    assert_eq!(counts.iter().sum::<usize>(), 181_440);
    assert_eq!((counts[31], counts[..6].to_vec()), (2, vec![1, 2, 4, 8, 16, 20]));
}
