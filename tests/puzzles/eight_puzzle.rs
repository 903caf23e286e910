//! The 8-puzzle of the article on breadth-first search: every row of its table, exactly.

use costar::puzzle::tiles::Puzzle8;
use costar::puzzle::{Notation as _, Rules as _, laws, replay};
use costar::registry::Entry;
use costar::search::best_first::BestFirst;
use costar::search::bidirectional::Bidirectional;
use costar::search::breadth_first::BreadthFirst;
use costar::search::idastar::IterativeDeepening;
use costar::search::{Control, Limits, Search, SearchResult};
use std::sync::atomic::AtomicBool;

const START: &str = "0 1 2 3 4 5 6 7 8";

fn rows() -> Vec<(String, [u64; 5])> {
    let lines = include_str!("../../test-data/eight-puzzle.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (board, numbers) = line.split_once('\t').expect("a tab after the board");
            let numbers: Vec<u64> = numbers.split('\t').map(|number| number.parse().expect("a number")).collect();
            (board.to_owned(), numbers.try_into().expect("five numbers"))
        })
        .collect()
}

fn solve(puzzle: &Puzzle8, search: &dyn Search<Puzzle8>, heuristic: &str) -> SearchResult {
    let start = puzzle.parse(START).expect("it can be solved");
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let mut watch = |_: &_| ();
    let mut heuristic = Entry::from(puzzle.clone()).heuristic(heuristic).expect("it has it");
    let result = search.run(puzzle, &start, &mut *heuristic, &mut Control::new(&limits, &stop, &mut watch));
    let result = result.expect("no heuristic fails");
    let (end, cost) = replay(puzzle, &start, result.moves.as_deref().expect("solved")).expect("legal moves");
    assert!(puzzle.is_goal(&end));
    assert_eq!(result.cost, Some(cost));
    result
}

#[test]
fn the_table_is_reproduced() {
    let rows = rows();
    assert_eq!(rows.len(), 25);
    for (board, [moves, stored, expanded, both_stored, both_expanded]) in rows {
        let puzzle = Puzzle8::with_goal(&board).expect("a board");
        let result = solve(&puzzle, &BreadthFirst::default(), "zero");
        let stats = result.stats;
        assert_eq!(
            (result.cost, stats.stored, stats.expanded),
            (Some(moves as u32), stored, expanded),
            "bfs to {board}"
        );
        assert!(result.proven_optimal);
        let result = solve(&puzzle, &Bidirectional::default(), "zero");
        let stats = result.stats;
        let counted = (result.cost, stats.stored, stats.expanded);
        assert_eq!(counted, (Some(moves as u32), both_stored, both_expanded), "bidirectional to {board}");
        for heuristic in ["manhattan", "linear-conflict"] {
            let (a_star, deepening) = (BestFirst::a_star(), IterativeDeepening);
            for (name, search) in [("astar", &a_star as &dyn Search<Puzzle8>), ("idastar", &deepening)] {
                let result = solve(&puzzle, search, heuristic);
                assert_eq!(result.cost, Some(moves as u32), "{name} with {heuristic} to {board}");
                assert!(result.proven_optimal);
            }
        }
    }
}

#[test]
fn the_boards_by_depth_are_the_known_ones() {
    let counts = laws::states_by_depth(&Puzzle8::default(), 31);
    assert_eq!(counts.iter().sum::<usize>(), 181_440);
    assert_eq!((counts[31], counts[..6].to_vec()), (2, vec![1, 2, 4, 8, 16, 20]));
}
