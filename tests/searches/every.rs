//! Laws of every search, and of every optimal one.

use crate::deferred::patient;
use crate::mocks::{Misleading, scrambled, solve_with, within};
use crate::pancakes::Pancakes;
use costar::heuristic::zero;
use costar::puzzle::cube2::Cube2;
use costar::puzzle::cube3::{Cube3, Cube3HalfTurns};
use costar::puzzle::laws::exact_distances;
use costar::puzzle::lightsout::LightsOut;
use costar::puzzle::move_costs::MoveCosts;
use costar::puzzle::sokoban::Sokoban;
use costar::puzzle::tiles::{Puzzle8, Puzzle15, Puzzle24, Puzzle35};
use costar::puzzle::{Notation as _, Puzzle, Rules as _, replay};
use costar::random::generator;
use costar::registry::Entry;
use costar::search::beam::Beam;
use costar::search::best_first::BestFirst;
use costar::search::bidirectional::Bidirectional;
use costar::search::breadth_first::BreadthFirst;
use costar::search::idastar::IterativeDeepening;
use costar::search::nbs::NearOptimalBidirectional;
use costar::search::random_walk::RandomWalk;
use costar::search::symmetric_images::ImageSearch;
use costar::search::{Control, End, Limit, Limits, Search};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Every search, with its name and small settings.
fn all_searches(puzzle: Pancakes) -> Vec<(&'static str, Box<dyn Search<Pancakes>>)> {
    vec![
        ("bwas", Box::new(BestFirst::bwas(20, 0.6))),
        ("bwas", Box::new(patient(puzzle, 20, false, 0))),
        ("bwas", Box::new(patient(puzzle, 20, false, 2))),
        ("bwas", Box::new(patient(puzzle, 20, true, 0))),
        ("astar", Box::new(BestFirst::a_star())),
        ("best-first", Box::new(BestFirst::one_by_one(0.0))),
        ("best-first", Box::new(BestFirst::one_by_one(1.0))),
        ("beam", Box::new(Beam::new(1000))),
        ("beam", Box::new(Beam::new(10))),
        ("bfs", Box::new(BreadthFirst::default())),
        ("bidirectional", Box::new(Bidirectional::default())),
        ("nbs", Box::new(NearOptimalBidirectional)),
        ("idastar", Box::new(IterativeDeepening)),
        ("random", Box::new(RandomWalk { seed: 1, most_moves: 1_000_000 })),
    ]
}

#[test]
fn every_search_knows_a_solved_start() {
    for (name, search) in all_searches(Pancakes::ALL) {
        let limits = Limits::default();
        let result = solve_with(&*search, Pancakes::ALL, b"abcdef", &mut zero(), &limits);
        assert_eq!((result.moves, result.proven_optimal), (Some(vec![]), true), "{name}");
    }
}

#[test]
fn every_search_that_stores_states_reports_that_there_is_no_solution() {
    let puzzle = Pancakes { even: true };
    for (name, search) in all_searches(puzzle) {
        let limits = Limits { nodes: Some(20_000), ..Limits::default() };
        let result = solve_with(&*search, puzzle, b"bacdef", &mut zero(), &limits);
        // A random walk and iterative deepening do not store states.
        let stores_nothing = matches!(name, "random" | "idastar");
        let expected = if stores_nothing { End::Limit(Limit::Nodes) } else { End::NoSolution };
        assert_eq!((result.end, result.moves), (expected, None), "{name}");
    }
}

#[test]
fn every_search_ends_at_its_limits() {
    for (name, search) in all_searches(Pancakes::ALL) {
        let hard = b"ebdafc";
        for nodes in [1, 4, 5, 17] {
            let limits = Limits { nodes: Some(nodes), ..Limits::default() };
            let result = solve_with(&*search, Pancakes::ALL, hard, &mut zero(), &limits);
            assert_eq!(result.end, End::Limit(Limit::Nodes), "{name}");
            assert!(result.stats.generated <= nodes, "{name}");
        }
        let limits = Limits { time: Some(Duration::ZERO), ..Limits::default() };
        assert_eq!(
            solve_with(&*search, Pancakes::ALL, hard, &mut zero(), &limits).end,
            End::Limit(Limit::Time),
            "{name}"
        );
    }
}

#[test]
fn optimal_searches_agree_with_breadth_first_search() {
    let table = exact_distances(&Pancakes::ALL, 20);
    for (start, &distance) in &table {
        for (name, search, admissible) in [
            ("astar", &BestFirst::a_star() as &dyn Search<Pancakes>, true),
            ("idastar", &IterativeDeepening, true),
            ("nbs", &NearOptimalBidirectional, true),
            ("bfs", &BreadthFirst::default(), false),
            ("bidirectional", &Bidirectional::default(), false),
            ("beam", &Beam::new(1000), false),
        ] {
            let depths: &[u32] = if admissible { &[2, 4] } else { &[0] };
            for &depth in depths {
                let result =
                    solve_with(search, Pancakes::ALL, start, &mut within(Pancakes::ALL, depth), &Limits::default());
                assert_eq!(result.cost, Some(distance.into()), "{name} of {start:?}");
                let proves = name != "beam" || distance == 0;
                assert_eq!(result.proven_optimal, proves, "{name} of {start:?}");
            }
        }
    }
}

/// Checks that A*, iterative deepening and both bidirectional searches find solutions of the same cost as breadth-first search,
/// on random walks of 1 to `depth` moves. `heuristic` names one of the puzzle's own.
fn agree<P: Puzzle>(puzzle: P, heuristic: Option<&str>, depth: u32, count: u64)
where
    Entry<P>: From<P>,
{
    let entry = Entry::from(puzzle);
    let puzzle = &**entry.puzzle();
    let estimate = || entry.heuristic(heuristic.unwrap_or("zero")).expect("it has it");
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let cost = |name: &str, search: &dyn Search<P>, start: &P::State| {
        let mut watch = |_: &_| ();
        let mut control = Control::new(&limits, &stop, &mut watch);
        let result = search.run(puzzle, start, &mut *estimate(), &mut control).expect("no heuristic fails");
        let moves = result.moves.expect("solved");
        let (end, cost) = replay(puzzle, start, &moves).expect("legal moves");
        assert!(puzzle.is_goal(&end) && result.cost == Some(cost) && result.proven_optimal, "{name}");
        cost
    };
    for number in 0..count {
        let mut generator = generator(17, number);
        let start = scrambled(puzzle, 1 + number as u32 % depth, &mut generator);
        let expected = cost("bfs", &BreadthFirst::default(), &start);
        for (name, search) in [
            ("astar", &BestFirst::a_star() as &dyn Search<P>),
            ("idastar", &IterativeDeepening),
            ("bidirectional", &Bidirectional::default()),
            ("nbs", &NearOptimalBidirectional),
        ] {
            assert_eq!(cost(name, search, &start), expected, "{name} from {}", puzzle.format(&start));
        }
    }
}

#[test]
fn optimal_searches_agree_on_thousands_of_random_instances() {
    agree(Puzzle8::default(), Some("manhattan"), 60, 300);
    agree(Puzzle8::with_goal("3 1 2 0 4 5 6 7 8").expect("a board"), Some("linear-conflict"), 40, 200);
    agree(Puzzle15::default(), Some("linear-conflict"), 14, 500);
    agree(Puzzle24::default(), Some("manhattan"), 12, 200);
    agree(Puzzle35::default(), Some("linear-conflict"), 10, 100);
    agree(LightsOut::<1>::new(3), Some("lights"), 9, 300);
    agree(LightsOut::<1>::new(4), Some("lights"), 4, 100);
    agree(Cube2, None, 5, 300);
    agree(Cube3, None, 3, 100);
    agree(Pancakes::ALL, None, 7, 500);
}

#[test]
fn costs_that_a_user_gives_are_minimized() {
    let costs = MoveCosts::parse("U=0.4,U2=1.5,R=2.5,F2=1.5,B=3", &Cube3HalfTurns).expect("costs");
    let puzzle = Cube3HalfTurns.with_costs(costs);
    let mut dearer = 0;
    for number in 0..40 {
        let start = scrambled(&puzzle, 1 + number % 3, &mut generator(8, number.into()));
        let solve = |search: &dyn Search<Cube3>, depth: u32| {
            let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
            let mut control = Control::new(&limits, &stop, &mut watch);
            search.run(&puzzle, &start, &mut within(puzzle.clone(), depth), &mut control).expect("nothing fails")
        };
        let least = solve(&BestFirst::a_star(), 0);
        assert!(least.proven_optimal, "{least:?} {start:?}");
        for (name, search, depth) in [
            ("astar", &BestFirst::a_star() as &dyn Search<_>, 2),
            ("idastar", &IterativeDeepening, 2),
            ("nbs", &NearOptimalBidirectional, 0),
            ("nbs", &NearOptimalBidirectional, 2),
        ] {
            let result = solve(search, depth);
            assert_eq!((result.cost, result.proven_optimal), (least.cost, true), "{name} of {start:?}");
        }
        // These searches count moves.
        for (name, search) in
            [("bfs", &BreadthFirst::default() as &dyn Search<_>), ("bidirectional", &Bidirectional::default())]
        {
            let result = solve(search, 0);
            assert!(result.cost >= least.cost, "{name} of {start:?}");
            assert!(!result.proven_optimal || result.cost == least.cost, "{name} of {start:?}");
            dearer += u32::from(result.cost > least.cost);
        }
    }
    assert!(dearer > 0, "the fewest moves are not always the cheapest");
}

#[test]
fn at_a_limit_a_bidirectional_search_gives_the_solution_that_it_knows() {
    let costs = MoveCosts::parse("U=0.4,U2=1.5,R=2.5,F2=1.5,B=3", &Cube3HalfTurns).expect("costs");
    let puzzle = Cube3HalfTurns.with_costs(costs);
    let mut known = 0;
    for number in 0..10 {
        let start = scrambled(&puzzle, 3, &mut generator(9, number));
        let solve = |nodes: Option<u64>| {
            let (stop, limits, mut watch) = (AtomicBool::new(false), Limits { nodes, ..Limits::default() }, |_: &_| ());
            let mut control = Control::new(&limits, &stop, &mut watch);
            NearOptimalBidirectional.run(&puzzle, &start, &mut zero(), &mut control).expect("nothing fails")
        };
        let whole = solve(None);
        assert!(whole.proven_optimal, "{whole:?}");
        for share in 1..20 {
            let result = solve(Some(whole.stats.generated * share / 20));
            assert!(!result.proven_optimal, "{result:?}");
            if let Some(moves) = result.moves {
                let (end, cost) = replay(&puzzle, &start, &moves).expect("legal moves");
                assert!(puzzle.is_goal(&end) && result.cost == Some(cost) && result.end == End::Solved);
                known += 1;
            }
        }
    }
    assert!(known > 0, "a solution is known before it is proven");
}

#[test]
fn free_moves_do_not_go_round_for_ever() {
    let level = "#######\n#@    #\n# $ . #\n#     #\n#######";
    let puzzle = Sokoban::by_pushes();
    let start = puzzle.parse(level).expect("a level");
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    for (name, search, proves) in [
        ("idastar", &IterativeDeepening as &dyn Search<Sokoban>, true),
        ("astar", &BestFirst::a_star(), true),
        ("best-first", &BestFirst::one_by_one(0.0), false),
        ("bfs", &BreadthFirst::default(), false),
    ] {
        let mut watch = |_: &_| ();
        let mut heuristic = Entry::from(puzzle.clone()).heuristic("matching").expect("it has it");
        let mut control = Control::new(&limits, &stop, &mut watch);
        let result = search.run(&puzzle, &start, &mut *heuristic, &mut control).expect("nothing fails");
        assert_eq!(result.cost, Some(2), "{name}");
        assert_eq!(result.proven_optimal, proves, "{name}");
    }
}

#[test]
fn estimates_that_are_not_admissible_prove_nothing() {
    for (name, search) in [("astar", &BestFirst::a_star() as &dyn Search<Pancakes>), ("idastar", &IterativeDeepening)] {
        let result = solve_with(search, Pancakes::ALL, b"bacdef", &mut Misleading::new(8), &Limits::default());
        assert!(result.moves.is_some() && !result.proven_optimal, "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_walk() {
    let walk = |seed| {
        let search = RandomWalk { seed, most_moves: 1_000_000 };
        solve_with(&search, Pancakes::ALL, b"fedbca", &mut zero(), &Limits::default()).moves
    };
    assert_eq!(walk(1), walk(1));
    assert_ne!(walk(1), walk(2));
}

#[test]
fn a_puzzle_without_symmetries_has_the_instance_as_its_only_image() {
    let puzzle = Cube2;
    let start = scrambled(&puzzle, 5, &mut generator(4, 0));
    assert!(puzzle.symmetric_images(&start).next().is_none());
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let mut watch = |_: &_| ();
    let mut run = |search: &dyn Search<Cube2>| {
        let result = search.run(&puzzle, &start, &mut zero(), &mut Control::new(&limits, &stop, &mut watch));
        result.map(|result| (result.moves, result.stats.stored)).expect("no heuristic fails")
    };
    let alone = run(&BreadthFirst::default());
    assert!(alone.0.is_some());
    assert_eq!(run(&ImageSearch { search: Box::new(BreadthFirst::default()), count: 4 }), alone);
}

#[test]
fn a_random_walk_into_a_dead_end_starts_again() {
    // A box in the upper left corner and one below it leave no push.
    let entry = Entry::from(Sokoban::by_pushes());
    let start = entry.puzzle().parse("######|#.  .#|# $  #|# $  #|#@   #|######").expect("a level");
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    for seed in 0..200 {
        let walk = RandomWalk { seed, most_moves: 100 };
        let result = walk.run(&**entry.puzzle(), &start, &mut zero(), &mut Control::new(&limits, &stop, &mut |_| ()));
        assert_ne!(result.expect("no heuristic fails").end, End::NoSolution, "seed {seed}");
    }
}
