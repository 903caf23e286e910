//! Batch-weighted A*, as published.

use crate::mocks::{Misleading, scrambled, solve_with, within};
use crate::pancakes::Pancakes;
use costar::heuristic::{Estimates, Heuristic, HeuristicError, Query, zero};
use costar::puzzle::cube2::{Corners, Cube2};
use costar::puzzle::laws::exact_distances;
use costar::puzzle::{Rules as _, replay};
use costar::random::generator;
use costar::search::Search as _;
use costar::search::best_first::BestFirst;
use costar::search::{Control, End, Limit, Limits, SearchResult};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn solve(search: BestFirst<[u8; 6]>, start: &[u8; 6], heuristic: &mut dyn Heuristic<[u8; 6]>) -> SearchResult {
    solve_with(&search, Pancakes::ALL, start, heuristic, &Limits::default())
}

#[test]
fn with_exact_estimates_every_solution_is_shortest() {
    let table = exact_distances(&Pancakes::ALL, 20);
    assert_eq!(table.len(), 720);
    for (start, &distance) in &table {
        for (expand, lambda) in [(1, 1.0), (1, 0.6), (1, 0.0)] {
            let result = solve(BestFirst::bwas(expand, lambda), start, &mut within(Pancakes::ALL, 20));
            assert_eq!(result.cost, Some(distance.into()), "{start:?} N = {expand} λ = {lambda}");
            assert!(result.stats.expanded <= u64::from(distance), "it goes straight to the goal");
        }
    }
}

#[test]
fn a_solution_claimed_as_proven_is_optimal() {
    let table = exact_distances(&Pancakes::ALL, 20);
    let mut proven = 0;
    for (start, &distance) in &table {
        for (expand, depth) in [(1, 0), (1, 3), (7, 3), (50, 2), (1000, 4)] {
            let result = solve(BestFirst::bwas(expand, 1.0), start, &mut within(Pancakes::ALL, depth));
            assert!(result.cost >= Some(distance.into()));
            if result.proven_optimal {
                proven += 1;
                assert_eq!(result.cost, Some(distance.into()));
            }
            let weighted = solve(BestFirst::bwas(expand, 0.5), start, &mut within(Pancakes::ALL, depth));
            assert!(!weighted.proven_optimal || distance == 0, "nothing is proven for λ below 1");
        }
    }
    assert!(proven > 720, "{proven}");
}

#[test]
fn a_solved_start_needs_nothing() {
    let result = solve(BestFirst::bwas(10, 0.6), b"abcdef", &mut zero());
    assert_eq!((result.moves, result.cost, result.proven_optimal), (Some(vec![]), Some(0), true));
    assert_eq!((result.stats.evaluated, result.stats.generated, result.stats.stored), (0, 0, 1));
}

#[test]
fn an_unsolvable_start_is_reported_as_such() {
    let puzzle = Pancakes { even: true };
    let result = solve_with(&BestFirst::bwas(10, 0.6), puzzle, b"bacdef", &mut zero(), &Limits::default());
    assert_eq!((result.end, result.proven_optimal), (End::NoSolution, false));
    assert_eq!(result.stats.stored, result.stats.expanded, "all that can be reached was expanded");
    assert_eq!(result.stats.generated, 2 * result.stats.expanded);
}

#[test]
fn the_statistics_are_exact() {
    // With estimates of 0 and λ = 1 this is breadth-first search: a batch is a whole layer.
    let result = solve(BestFirst::bwas(1000, 1.0), b"bacdfe", &mut zero());
    let stats = result.stats;
    let layers = [1, 5, 20, 79, 199, 281, 133, 2];
    let distance = result.cost.expect("solved") as usize;
    assert_eq!(stats.iterations as usize, distance);
    let expanded: usize = layers[..distance].iter().sum();
    assert_eq!(stats.expanded as usize, expanded);
    assert_eq!(stats.generated as usize, 5 * expanded);
    let stored: usize = layers[..=distance].iter().sum();
    assert_eq!(stats.stored as usize, stored);
    assert_eq!(stats.evaluated as usize, expanded, "the last layer holds the goal and is not evaluated");
}

#[test]
fn limits_end_a_search_cleanly() {
    let search = BestFirst::bwas(3, 1.0);
    let hard = b"ebdafc";
    for nodes in [1, 4, 5, 6, 37, 100] {
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let result = solve_with(&search, Pancakes::ALL, hard, &mut zero(), &limits);
        assert_eq!(result.end, End::Limit(Limit::Nodes));
        assert!(result.stats.generated <= nodes && result.stats.stored <= nodes + 1);
    }
    let limits = Limits { time: Some(Duration::ZERO), ..Limits::default() };
    assert_eq!(solve_with(&search, Pancakes::ALL, hard, &mut zero(), &limits).end, End::Limit(Limit::Time));
    let limits = Limits { memory: Some(1000), ..Limits::default() };
    assert_eq!(solve_with(&search, Pancakes::ALL, hard, &mut zero(), &limits).end, End::Limit(Limit::Memory));
    let stop = AtomicBool::new(false);
    let limits = Limits::default();
    let mut watch = |_: &_| stop.store(true, Ordering::Relaxed);
    let mut control = Control::new(&limits, &stop, &mut watch);
    let result = search.run(&Pancakes::ALL, hard, &mut zero(), &mut control).expect("no failure");
    assert_eq!((result.end, result.stats.iterations), (End::Limit(Limit::Stopped), 2), "stopped after one step");
}

#[test]
fn without_memory_the_worst_nodes_are_pruned() {
    let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
    // Memory for some ten thousand nodes.
    let limits = Limits { memory: Some(3 << 20), nodes: Some(1_000_000), ..Limits::default() };
    let mut run = |search: &BestFirst<Corners>, start| {
        let mut control = Control::new(&limits, &stop, &mut watch);
        search.run(&Cube2, &start, &mut zero(), &mut control).expect("no failure")
    };
    let mut solved = 0;
    for number in 0..4 {
        let start = scrambled(&Cube2, 12, &mut generator(3, number));
        for search in [BestFirst::bwas(2000, 1.0), BestFirst::bwas(17, 0.6), BestFirst::one_by_one(1.0)] {
            let result = run(&search, start);
            assert!(result.stats.pruned > 10_000, "{search:?}: {:?}", result.stats);
            assert!(result.stats.stored - result.stats.pruned < 100_000, "{search:?}: {:?}", result.stats);
            assert!(!result.proven_optimal, "a shorter one may have been pruned");
            if let Some(moves) = result.moves {
                solved += 1;
                let (end, cost) = replay(&Cube2, &start, &moves).expect("legal moves");
                assert!(Cube2.is_goal(&end) && Some(cost) == result.cost);
            } else {
                assert_eq!(result.end, End::Limit(Limit::Nodes));
            }
        }
        let exact = run(&BestFirst::a_star(), start);
        assert_eq!(
            (exact.end, exact.stats.pruned),
            (End::Limit(Limit::Memory), 0),
            "it ends with the cheapest or none"
        );
    }
    assert!(solved > 0);
}

#[test]
fn the_solution_does_not_depend_on_the_chunks() {
    for start in [b"fedbca", b"ebdafc", b"cfadbe"] {
        for (expand, lambda) in [(1, 0.6), (8, 0.6), (100, 0.2), (8, 1.0)] {
            let search = BestFirst::bwas(expand, lambda);
            let results: Vec<SearchResult> = [1, 3, 4096]
                .map(|chunk| {
                    let mut heuristic = Misleading::new(chunk);
                    let mut result = solve(search.clone(), start, &mut heuristic);
                    assert_eq!(heuristic.in_flight, 0, "every chunk was collected");
                    assert!(heuristic.most_in_flight <= heuristic.max_in_flight() + 1, "the heuristic is not flooded");
                    // Many small chunks keep it busy.
                    assert!(
                        chunk > 1 || heuristic.most_in_flight == heuristic.max_in_flight() + 1,
                        "the search waits for each chunk"
                    );
                    result.stats.seconds = 0.0;
                    result.stats.evaluated = 0; // chunks of the last batch that were not submitted are not evaluated
                    result
                })
                .into();
            assert_eq!(results[0], results[1]);
            assert_eq!(results[0], results[2]);
        }
    }
}

#[test]
fn states_reached_more_cheaply_are_opened_again() {
    // With misleading estimates, states are reached again more cheaply, and `solve` replays every solution.
    let table = exact_distances(&Pancakes::ALL, 20);
    let mut longer = 0;
    for (start, &distance) in &table {
        let result = solve(BestFirst::bwas(2, 0.3), start, &mut Misleading::new(64));
        longer += u32::from(result.cost > Some(distance.into()));
        assert!(result.stats.expanded >= result.stats.iterations);
    }
    assert!(longer > 0, "estimates that mislead cost length somewhere");
}

#[test]
fn the_cost_is_that_of_the_path_even_where_an_ancestor_was_reached_more_cheaply_later() {
    // Large batches with a misleading heuristic reach states again after their descendants were stored. `solve` checks that the
    // cost is that of the moves.
    let table = exact_distances(&Pancakes::ALL, 20);
    for start in table.keys() {
        for (expand, lambda) in [(20, 0.6), (30, 0.6), (12, 0.3), (60, 1.0)] {
            solve(BestFirst::bwas(expand, lambda), start, &mut Misleading::new(64));
        }
    }
}

#[test]
fn a_failing_heuristic_ends_the_search_with_its_reason() {
    struct Broken;
    impl Heuristic<[u8; 6]> for Broken {
        fn name(&self) -> &str {
            "broken"
        }
        fn chunk(&self) -> usize {
            8
        }
        fn submit(&mut self, _: &[[u8; 6]], _: Query) -> Result<(), HeuristicError> {
            Ok(())
        }
        fn collect(&mut self) -> Result<Estimates, HeuristicError> {
            Err(HeuristicError("out of luck".into()))
        }
    }
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let mut watch = |_: &_| ();
    let mut control = Control::new(&limits, &stop, &mut watch);
    let search = BestFirst::bwas(3, 0.6);
    let error = search.run(&Pancakes::ALL, b"ebdafc", &mut Broken, &mut control).expect_err("it fails");
    assert!(error.to_string().contains("out of luck"));
}
