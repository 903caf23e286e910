//! Batch-weighted A* with deferred evaluation, a perimeter, steps after the first solution, and little memory.

use crate::mocks::{Knowing, Misleading, scrambled, solve_with};
use crate::pancakes::Pancakes;
use costar::heuristic::zero;
use costar::puzzle::Rules as _;
use costar::puzzle::cube2::Cube2;
use costar::puzzle::laws::exact_distances;
use costar::puzzle::replay;
use costar::random::generator;
use costar::search::Search as _;
use costar::search::best_first::BestFirst;
use costar::search::perimeter::Perimeter;
use costar::search::{Control, End, Incumbent, Limits, SearchResult};
use std::sync::atomic::{AtomicBool, Ordering};

/// BWAS with two stale steps and a perimeter of `depth` moves, by full expansion or deferred evaluation.
pub(crate) fn patient(puzzle: Pancakes, n: usize, full: bool, depth: u32) -> BestFirst<[u8; 6]> {
    let perimeter = if depth > 0 { Perimeter::new(&puzzle, depth) } else { Perimeter::none() };
    BestFirst { deferred: deferred(full), max_stale_steps: Some(2), perimeter, ..BestFirst::bwas(n, 0.6) }
}

fn deferred(full: bool) -> Option<f32> {
    (!full).then_some(1.0)
}

#[test]
fn deferred_evaluation_evaluates_fewer_states() {
    let table = exact_distances(&Pancakes::ALL, 20);
    let (mut evaluated, mut generated) = (0, 0);
    for (start, &distance) in &table {
        for search in [(1, 0), (5, 0), (1, 3)].map(|(n, depth)| patient(Pancakes::ALL, n, false, depth)) {
            let result = solve_with(&search, Pancakes::ALL, start, &mut Knowing::new(), &Limits::default());
            assert_eq!(result.cost, Some(distance.into()), "{start:?}");
            evaluated += result.stats.evaluated;
        }
        let full = solve_with(
            &patient(Pancakes::ALL, 1, true, 0),
            Pancakes::ALL,
            start,
            &mut Knowing::new(),
            &Limits::default(),
        );
        assert_eq!(full.cost, Some(distance.into()), "{start:?}");
        generated += 3 * full.stats.evaluated;
    }
    assert!(4 * evaluated < 3 * generated, "{evaluated} evaluated, and {generated} by full expansion");
}

#[test]
fn a_deferred_solution_does_not_depend_on_the_chunks_either() {
    for start in [b"fedbca", b"ebdafc", b"cfadbe"] {
        for full in [false, true] {
            let search = patient(Pancakes::ALL, 30, full, 0);
            let results: Vec<SearchResult> = [1, 3, 4096]
                .map(|chunk| {
                    let mut result =
                        solve_with(&search, Pancakes::ALL, start, &mut Misleading::new(chunk), &Limits::default());
                    result.stats.seconds = 0.0;
                    result
                })
                .into();
            assert_eq!(results[0], results[1]);
            assert_eq!(results[0], results[2]);
        }
    }
}

#[test]
fn a_patient_search_gives_its_best_solution_and_reports_each() {
    let table = exact_distances(&Pancakes::ALL, 20);
    let mut reported = 0;
    for (start, &distance) in &table {
        // To the end: nothing better can exist.
        for perimeter in [0, 3] {
            let search = BestFirst { max_stale_steps: None, ..patient(Pancakes::ALL, 3, false, perimeter) };
            let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
            let mut costs = Vec::new();
            let mut answers = |answer: &Incumbent| {
                assert_eq!(replay(&Pancakes::ALL, start, &answer.moves).expect("legal").1, answer.cost);
                costs.push(answer.cost);
            };
            let mut control = Control::new(&limits, &stop, &mut watch).with_incumbents(&mut answers);
            let result = search.run(&Pancakes::ALL, start, &mut Misleading::new(64), &mut control).expect("no failure");
            assert_eq!((result.cost, result.proven_optimal), (Some(distance.into()), true), "{start:?}");
            drop(control);
            assert!(costs.windows(2).all(|pair| pair[0] > pair[1]), "each is better: {costs:?}");
            assert!(costs.is_empty() || costs.last() == result.cost.as_ref());
            reported += costs.len();
        }
    }
    assert!(reported > 2 * 720, "misleading estimates lead to worse solutions first: {reported}");
}

#[test]
fn a_solution_of_a_stopped_search_is_marked_as_such() {
    let (limits, start) = (Limits::default(), b"fedbca");
    for stops in [true, false] {
        let search = BestFirst { max_stale_steps: None, ..patient(Pancakes::ALL, 1, false, 0) };
        let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
        let mut answers = |_: &Incumbent| stop.store(stops, Ordering::Relaxed);
        let mut control = Control::new(&limits, &stop, &mut watch).with_incumbents(&mut answers);
        let result = search.run(&Pancakes::ALL, start, &mut Misleading::new(64), &mut control).expect("no failure");
        assert!(result.moves.is_some());
        assert_eq!((control.was_stopped(), result.proven_optimal), (stops, !stops));
    }
}

#[test]
fn without_memory_the_worst_nodes_are_pruned() {
    let puzzle = Cube2;
    let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
    let mut pruned = 0;
    for number in 0..4 {
        let start = scrambled(&puzzle, 12, &mut generator(3, number));
        for full in [false, true] {
            let search = BestFirst { deferred: deferred(full), ..BestFirst::bwas(2000, 1.0) };
            // Memory for some ten thousand nodes.
            let limits = Limits { memory: Some(3 << 20), nodes: Some(1_000_000), ..Limits::default() };
            let mut control = Control::new(&limits, &stop, &mut watch);
            let result = search.run(&puzzle, &start, &mut zero(), &mut control).expect("no failure");
            pruned += result.stats.pruned;
            if let Some(moves) = result.moves {
                let (end, cost) = replay(&puzzle, &start, &moves).expect("legal moves");
                assert!(puzzle.is_goal(&end) && Some(cost) == result.cost);
            } else {
                assert!(matches!(result.end, End::Limit(_)));
            }
        }
    }
    assert!(pruned > 100_000, "{pruned}");
}
