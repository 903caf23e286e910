//! Batch-weighted A* that scores children in their turn, with an endgame, with patience, and without room.

use crate::mocks::{Knowing, Misleading, scrambled, solve_with};
use crate::pancakes::Pancakes;
use costar::heuristic::{exact_distances, zero};
use costar::puzzle::Puzzle as _;
use costar::puzzle::cube2::Cube2;
use costar::puzzle::replay;
use costar::sampler::generator;
use costar::search::Search as _;
use costar::search::deferred::Deferred;
use costar::search::endgame::Endgame;
use costar::search::{Answer, Control, End, Limits, Outcome};
use std::sync::atomic::{AtomicBool, Ordering};

/// Deferred BWAS, or its eager form, with what is known within `depth` moves of the goal, where it is known.
pub(crate) fn deferred(puzzle: Pancakes, expand: usize, eager: bool, depth: u32) -> Deferred<[u8; 6]> {
    let endgame = if depth > 0 { Endgame::new(&puzzle, depth) } else { Endgame::none() };
    Deferred { expand, lambda: 0.6, confidence: 1.0, eager, patience: Some(2), endgame }
}

#[test]
fn deferred_search_scores_little_of_what_it_could() {
    let table = exact_distances(&Pancakes::ALL, 20);
    let (mut scored, mut generated) = (0, 0);
    for (start, &distance) in &table {
        for search in [(1, 0), (5, 0), (1, 3)].map(|(n, depth)| deferred(Pancakes::ALL, n, false, depth)) {
            let outcome = solve_with(&search, Pancakes::ALL, start, &mut Knowing::new(), &Limits::default());
            assert_eq!(outcome.cost, Some(distance.into()), "{start:?}");
            scored += outcome.stats.evaluated;
        }
        let eager = solve_with(
            &deferred(Pancakes::ALL, 1, true, 0),
            Pancakes::ALL,
            start,
            &mut Knowing::new(),
            &Limits::default(),
        );
        assert_eq!(eager.cost, Some(distance.into()), "{start:?}");
        generated += 3 * eager.stats.evaluated;
    }
    assert!(4 * scored < 3 * generated, "{scored} scored, and {generated} by the eager form");
}

#[test]
fn a_deferred_answer_does_not_depend_on_how_the_batch_is_cut_either() {
    for start in [b"fedbca", b"ebdafc", b"cfadbe"] {
        for eager in [false, true] {
            let search = deferred(Pancakes::ALL, 30, eager, 0);
            let outcomes: Vec<Outcome> = [1, 3, 4096]
                .map(|chunk| {
                    let mut outcome =
                        solve_with(&search, Pancakes::ALL, start, &mut Misleading::new(chunk), &Limits::default());
                    outcome.stats.seconds = 0.0;
                    outcome
                })
                .into();
            assert_eq!(outcomes[0], outcomes[1]);
            assert_eq!(outcomes[0], outcomes[2]);
        }
    }
}

#[test]
fn a_patient_search_gives_its_best_answer_and_tells_of_each() {
    let table = exact_distances(&Pancakes::ALL, 20);
    let mut told = 0;
    for (start, &distance) in &table {
        // To the end: nothing better can exist.
        for endgame in [0, 3] {
            let search = Deferred { patience: None, ..deferred(Pancakes::ALL, 3, false, endgame) };
            let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
            let mut costs = Vec::new();
            let mut answers = |answer: &Answer| {
                assert_eq!(replay(&Pancakes::ALL, start, &answer.moves).expect("legal").1, answer.cost);
                costs.push(answer.cost);
            };
            let mut control = Control::new(&limits, &stop, &mut watch).with_answers(&mut answers);
            let outcome =
                search.run(&Pancakes::ALL, start, &mut Misleading::new(64), &mut control).expect("no failure");
            assert_eq!((outcome.cost, outcome.proven_optimal), (Some(distance.into()), true), "{start:?}");
            assert!(costs.windows(2).all(|pair| pair[0] > pair[1]), "each is better: {costs:?}");
            assert!(costs.is_empty() || costs.last() == outcome.cost.as_ref());
            told += costs.len();
        }
    }
    assert!(told > 2 * 720, "misleading estimates lead to worse answers first: {told}");
}

#[test]
fn an_answer_of_a_search_that_was_stopped_is_known_as_such() {
    let (limits, start) = (Limits::default(), b"fedbca");
    for stops in [true, false] {
        let search = Deferred { patience: None, ..deferred(Pancakes::ALL, 1, false, 0) };
        let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
        let mut answers = |_: &Answer| stop.store(stops, Ordering::Relaxed);
        let mut control = Control::new(&limits, &stop, &mut watch).with_answers(&mut answers);
        let outcome = search.run(&Pancakes::ALL, start, &mut Misleading::new(64), &mut control).expect("no failure");
        assert!(outcome.moves.is_some());
        assert_eq!((control.was_stopped(), outcome.proven_optimal), (stops, !stops));
    }
}

#[test]
fn without_room_the_worst_nodes_are_forgotten() {
    let puzzle = Cube2;
    let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
    let mut dropped = 0;
    for number in 0..4 {
        let start = scrambled(&puzzle, 12, &mut generator(3, number));
        for eager in [false, true] {
            let search = Deferred {
                expand: 2000,
                lambda: 1.0,
                confidence: 1.0,
                eager,
                patience: Some(0),
                endgame: Endgame::none(),
            };
            // Room for some ten thousand nodes.
            let limits = Limits { memory: Some(3 << 20), nodes: Some(1_000_000), ..Limits::default() };
            let mut control = Control::new(&limits, &stop, &mut watch);
            let outcome = search.run(&puzzle, &start, &mut zero(), &mut control).expect("no failure");
            dropped += outcome.stats.dropped;
            if let Some(moves) = outcome.moves {
                let (end, cost) = replay(&puzzle, &start, &moves).expect("legal moves");
                assert!(puzzle.is_goal(&end) && Some(cost) == outcome.cost);
            } else {
                assert!(matches!(outcome.end, End::Limit(_)));
            }
        }
    }
    assert!(dropped > 100_000, "{dropped}");
}
