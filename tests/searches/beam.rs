//! Beam search, and several symmetric images of one instance.

use crate::mocks::{Knowing, Roundabout, scrambled, solve_with};
use crate::pancakes::Pancakes;
use costar::heuristic::{Estimates, Heuristic, HeuristicError, PerState, Query, zero};
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::laws::exact_distances;
use costar::puzzle::permutation::{Description, Permutation};
use costar::puzzle::tiles::Puzzle8;
use costar::puzzle::{Notation as _, Rules};
use costar::puzzle::{SymmetricImage, replay};
use costar::random::generator;
use costar::search::beam::Beam;
use costar::search::perimeter::Perimeter;
use costar::search::symmetric_images::ImageSearch;
use costar::search::{Control, End, Incumbent, Limit, Limits, Search, SearchResult, Stats, Task};
use foldhash::fast::FixedState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_beam_with_candidates_evaluates_only_these() {
    let table = exact_distances(&Pancakes::ALL, 20);
    let beam = |candidates, depth| Beam {
        candidates,
        policy_weight: 1.0,
        perimeter: if depth > 0 { Perimeter::new(&Pancakes::ALL, depth) } else { Perimeter::none() },
        ..Beam::new(4)
    };
    let (mut all, mut few, mut known) = (0, 0, 0);
    for (start, &distance) in &table {
        let solved = |candidates, depth| {
            let limits = Limits::default();
            let result = solve_with(&beam(candidates, depth), Pancakes::ALL, start, &mut Knowing::new(), &limits);
            assert_eq!(result.cost, Some(distance.into()), "{start:?}");
            assert_eq!(result.proven_optimal, u32::from(distance) <= depth, "{start:?}");
            result.stats.evaluated
        };
        all += solved(0, 0);
        few += solved(2, 0);
        known += solved(2, 3);
    }
    assert!(3 * few < 2 * all, "{few} evaluated, and {all} without candidates");
    assert!(2 * known < few, "{known} evaluated, and {few} without a perimeter");
}

/// Gives every state the same estimate, and prefers the moves that lead nearer to the goal.
struct Pointing(Knowing);

impl Heuristic<[u8; 6]> for Pointing {
    fn name(&self) -> &str {
        "pointing"
    }

    fn chunk(&self) -> usize {
        self.0.chunk()
    }

    fn has_policy(&self) -> bool {
        true
    }

    fn submit(&mut self, states: &[[u8; 6]], query: Query) -> Result<(), HeuristicError> {
        self.0.submit(states, query)
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        let estimates = self.0.collect()?;
        Ok(Estimates { values: vec![5.0; estimates.values.len()], ..estimates })
    }
}

#[test]
fn the_policy_prior_decides_between_children_of_the_same_estimate() {
    let cost = |candidates, policy_weight, start| {
        let search = Beam { candidates, policy_weight, ..Beam::new(1) };
        solve_with(&search, Pancakes::ALL, start, &mut Pointing(Knowing::new()), &Limits::default()).cost
    };
    let mut without = 0;
    for (start, &distance) in &exact_distances(&Pancakes::ALL, 20) {
        for candidates in [1, 3, 5] {
            assert_eq!(cost(candidates, 1.5, start), Some(distance.into()), "{start:?}, {candidates}");
        }
        without += u32::from(cost(5, 0.0, start) != Some(distance.into()));
    }
    assert!(without > 300, "{without} of 720 take a longer path, or none, without the policy prior");
}

#[test]
fn a_narrow_beam_that_runs_dry_does_not_claim_that_there_is_no_solution() {
    // Half of the stacks cannot be sorted by even flips. A beam that keeps all states proves it; a narrow one cannot.
    let even = Pancakes { even: true };
    let ended = |width| {
        let start = b"bacdef";
        solve_with(&Beam::new(width), even, start, &mut zero(), &Limits::default()).end
    };
    assert_eq!(ended(1000), End::NoSolution);
    assert_eq!(ended(1), End::Limit(Limit::Width));
}

#[test]
fn a_narrow_beam_without_progress_gives_up() {
    let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
    let start = scrambled(&Cube3, 100, &mut generator(5, 0));
    let mut control = Control::new(&limits, &stop, &mut watch);
    let result = Beam::new(1).run(&Cube3, &start, &mut zero(), &mut control).expect("no heuristic fails");
    assert_eq!(result.end, End::Limit(Limit::Width));
    assert!((1000..1100).contains(&result.stats.iterations), "{} layers", result.stats.iterations);
}

#[test]
fn a_beam_that_cuts_nothing_off_goes_on_without_progress() {
    // One move, which turns cycles of 5, 7, 9 and 11 cells: 3465 states in a row, one a layer.
    let mut next = Vec::new();
    for length in [5, 7, 9, 11] {
        let first = next.len();
        next.extend((0..length).map(|i| first + (i + 1) % length));
    }
    let goal: Vec<usize> = (0..next.len()).collect();
    let rules = format!(r#"{{"name": "cycles", "goal": {goal:?}, "moves": {{"turn": {next:?}}}}}"#);
    let puzzle = Permutation::<64>::new(Description::parse(&rules).expect("a puzzle"));
    let start =
        (0..1500).fold(puzzle.parse("").expect("no moves"), |state, _| puzzle.apply(&state, 0).expect("a legal move"));
    let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
    let mut control = Control::new(&limits, &stop, &mut watch);
    let result = Beam::new(10).run(&puzzle, &start, &mut zero(), &mut control).expect("no heuristic fails");
    assert_eq!(result.cost, Some(3465 - 1500));
}

impl Search<Cube3> for Roundabout {
    fn solve(&self, task: Task<'_, '_, Cube3>) -> costar::Result<SearchResult> {
        Ok(self.answer(task.start, Stats { generated: 10, ..Stats::default() }, task.control))
    }
}

#[test]
fn the_best_solution_of_several_images_counts() {
    let perimeter = Perimeter::new(&Cube3, 5);
    let stop = AtomicBool::new(false);
    let run = |search: &dyn Search<Cube3>, start: &CubeState, limits: &Limits, watcher: &mut dyn FnMut(&Incumbent)| {
        let mut watch = |_: &_| ();
        let mut control = Control::new(limits, &stop, &mut watch).with_incumbents(watcher);
        search.run(&Cube3, start, &mut zero(), &mut control).expect("no heuristic fails")
    };
    let mut better = 0;
    for number in 0..10 {
        let start = scrambled(&Cube3, 5, &mut generator(6, number));
        let unlimited = Limits::default();
        let one = Roundabout(perimeter.clone());
        let of_image =
            |image: SymmetricImage<_>| run(&one, &image.start, &unlimited, &mut |_| ()).cost.expect("solved");
        let costs: Vec<u32> = Cube3.symmetric_images(&start).take(8).map(of_image).collect();
        let search = ImageSearch { search: Box::new(Roundabout(perimeter.clone())), count: 8 };
        let mut reported = Vec::new();
        let result = run(&search, &start, &unlimited, &mut |answer| reported.push(answer.clone()));
        assert_eq!(result.cost, costs.iter().copied().min());
        assert_eq!(result.stats.generated, 80);
        better += u32::from(result.cost < Some(costs[0]));
        reported.push(Incumbent { moves: result.moves.expect("solved"), cost: result.cost.expect("solved") });
        for answer in &reported {
            let (end, cost) = replay(&Cube3, &start, &answer.moves).expect("legal moves");
            assert!(Cube3.is_goal(&end) && cost == answer.cost);
        }
        reported.pop();
        assert!(reported.windows(2).all(|pair| pair[1].cost < pair[0].cost), "only better solutions are reported");
        let limits = Limits { nodes: Some(25), ..Limits::default() };
        assert!(
            run(&search, &start, &limits, &mut |_| ()).stats.generated <= 30,
            "limits hold for all images together"
        );
    }
    assert!(better > 0, "some image has a shorter solution than the first");
}

#[test]
fn an_image_that_was_not_searched_is_no_solution() {
    let search = ImageSearch { search: Box::new(Roundabout(Perimeter::new(&Cube3, 5))), count: 8 };
    let start = scrambled(&Cube3, 5, &mut generator(6, 0));
    let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
    let mut tell = |_: &Incumbent| stop.store(true, Ordering::Relaxed);
    let mut control = Control::new(&limits, &stop, &mut watch).with_incumbents(&mut tell);
    let result = search.run(&Cube3, &start, &mut zero(), &mut control).expect("no heuristic fails");
    assert_eq!((result.stats.generated, result.moves.is_some(), control.was_stopped()), (10, true, true));
}

#[test]
fn a_perimeter_holds_the_near_states_and_no_others() {
    let perimeter = Perimeter::new(&Cube3, 5);
    assert_eq!((perimeter.len(), perimeter.depth(), perimeter.step()), (105_046, 5, 2));
    let table = exact_distances(&Cube3, 4);
    for (state, &distance) in &table {
        assert_eq!(perimeter.cost(&Cube3, state), Some(distance.into()));
    }
    for number in 0..200 {
        let start = scrambled(&Cube3, 5, &mut generator(9, number));
        let way = perimeter.path_to_goal(&Cube3, &start).expect("it is near");
        assert_eq!(Some(way.len() as u32), perimeter.cost(&Cube3, &start));
        assert!(Cube3.is_goal(&replay(&Cube3, &start, &way).expect("legal moves").0));
        let far = scrambled(&Cube3, 40, &mut generator(10, number));
        assert_eq!((perimeter.cost(&Cube3, &far), perimeter.path_to_goal(&Cube3, &far)), (None, None), "{far:?}");
    }
    // One of the 12 · 12 sequences of two moves is left for each state at distance two.
    assert_eq!((0..12).map(|action| perimeter.following(Some(action)).len()).sum::<usize>(), 114);
    let pancakes = Perimeter::new(&Pancakes::ALL, 50);
    assert_eq!((pancakes.len(), pancakes.is_whole(), pancakes.step()), (720, true, 1));
    assert_eq!(u8::try_from(pancakes.depth()).ok(), exact_distances(&Pancakes::ALL, 50).values().max().copied());
    for (capacity, depth) in [(105_000, 4), (110_000, 5)] {
        assert_eq!(
            Perimeter::within(&Cube3, 50, capacity, &AtomicBool::new(false)).depth(),
            depth,
            "{capacity} states"
        );
    }
    assert!(Perimeter::within(&Cube3, 50, usize::MAX, &AtomicBool::new(true)).is_empty(), "it was stopped");
}

/// Estimates that are too high by up to eight moves.
fn wrong(puzzle: &Puzzle8) -> PerState<<Puzzle8 as Rules>::State> {
    let table = exact_distances(puzzle, 31);
    PerState::new("wrong", false, move |state| {
        f32::from(table[state]) + (FixedState::default().hash_one(state) % 9) as f32
    })
}

#[test]
fn the_refinement_finds_what_the_beam_has_lost() {
    let puzzle = Puzzle8::default();
    let table = exact_distances(&puzzle, 31);
    let mut heuristic = wrong(&puzzle);
    // The beam holds all states within ten moves of a board; refinement and perimeter cover the rest of any solution.
    let search = Beam { perimeter: Perimeter::new(&puzzle, 13), ..Beam::new(1000) };
    let (blind, narrow) = (Beam::new(2), Beam { perimeter: search.perimeter.clone(), ..Beam::new(2) });
    let (mut lost, mut shorter) = (0, 0);
    for number in 0..40 {
        let start = scrambled(&puzzle, 60, &mut generator(11, number));
        let mut solved = |search: &Beam<_>| {
            let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
            let mut control = Control::new(&limits, &stop, &mut watch);
            let result = search.run(&puzzle, &start, &mut heuristic, &mut control).expect("no heuristic fails");
            let (end, cost) = replay(&puzzle, &start, &result.moves.expect("solved")).expect("legal moves");
            assert!(puzzle.is_goal(&end) && Some(cost) == result.cost);
            cost
        };
        let distance = u32::from(table[&start]);
        assert_eq!(solved(&search), distance, "{start:?}");
        let (without, with) = (solved(&blind), solved(&narrow));
        lost += u32::from(without > distance);
        shorter += u32::from(with < without);
    }
    assert!(lost > 5, "a narrow beam has lost {lost} shortest solutions");
    assert!(2 * shorter > lost, "the refinement shortens {shorter} of {lost}");
}

#[test]
fn a_narrow_beam_that_gives_up_proves_nothing() {
    let puzzle = Puzzle8::default();
    let mut heuristic = PerState::new("flat", false, |_: &<Puzzle8 as Rules>::State| 1.0);
    // No layer is cut, and none comes nearer: the beam of the first solution gives up long before the goal.
    let search = Beam { perimeter: Perimeter::new(&puzzle, 4), ..Beam::new(1 << 20) };
    let start = puzzle.parse("8 6 7 2 5 4 3 0 1").expect("a board");
    let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
    let result = search.run(&puzzle, &start, &mut heuristic, &mut Control::new(&limits, &stop, &mut watch));
    assert_eq!(result.expect("no heuristic fails").cost, Some(31));
}

#[test]
fn the_refinement_does_not_depend_on_the_number_of_threads() {
    let puzzle = Puzzle8::default();
    let mut heuristic = wrong(&puzzle);
    // The beam loses many states, and the perimeter is far from the start: of thousands of roots, few have a path.
    let search = Beam { perimeter: Perimeter::new(&puzzle, 4), ..Beam::new(2000) };
    let (mut cut_off, mut refined) = (0, 0);
    for number in 0..8 {
        let start = scrambled(&puzzle, 60, &mut generator(13, number));
        let mut run = |nodes: Option<u64>, threads| {
            let (stop, limits, mut watch) = (AtomicBool::new(false), Limits { nodes, ..Limits::default() }, |_: &_| ());
            let mut control = Control::new(&limits, &stop, &mut watch).with_threads(threads);
            let result = search.run(&puzzle, &start, &mut heuristic, &mut control).expect("no heuristic fails");
            SearchResult { stats: Stats { seconds: 0.0, ..result.stats }, ..result }
        };
        let whole = run(None, 1);
        // States generated without an expansion come from a refinement.
        refined += whole.stats.generated.saturating_sub(4 * whole.stats.expanded);
        let limits = (1..8).map(|eighths| Some(whole.stats.generated * eighths / 8));
        for nodes in limits.chain([None]) {
            let alone = run(nodes, 1);
            cut_off += u32::from(alone.cost != whole.cost || alone.stats.generated != whole.stats.generated);
            for threads in [2, 3, 16] {
                assert_eq!(run(nodes, threads), alone, "{nodes:?} nodes, {threads} threads");
            }
        }
    }
    assert!(refined > 50_000, "refinements generated {refined} states");
    assert!(cut_off > 10, "{cut_off} limits were reached");
}

#[test]
fn later_images_look_only_for_better_solutions() {
    let perimeter = Perimeter::new(&Cube3, 3);
    let near = exact_distances(&Cube3, 5);
    let mut heuristic = PerState::new("near", false, move |state: &CubeState| {
        f32::from(*near.get(state).unwrap_or(&6)) + (FixedState::default().hash_one(state) % 4) as f32
    });
    let beam = || Beam { perimeter: perimeter.clone(), ..Beam::new(1200) };
    let (mut together, mut alone) = (0, 0);
    for number in 0..10 {
        let start = scrambled(&Cube3, 8, &mut generator(12, number));
        let mut solved = |search: &dyn Search<Cube3>, start: &CubeState| {
            let limits = Limits { nodes: Some(3_000_000), ..Limits::default() };
            let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
            let mut control = Control::new(&limits, &stop, &mut watch);
            search.run(&Cube3, start, &mut heuristic, &mut control).expect("no heuristic fails")
        };
        let results: Vec<SearchResult> =
            Cube3.symmetric_images(&start).take(4).map(|image| solved(&beam(), &image.start)).collect();
        let result = solved(&ImageSearch { search: Box::new(beam()), count: 4 }, &start);
        let least = results.iter().filter_map(|result| result.cost).min();
        assert!(result.cost.is_some() && result.cost <= least, "{:?}, alone {least:?}", result.cost);
        let (end, cost) = replay(&Cube3, &start, &result.moves.expect("solved")).expect("legal moves");
        assert!(Cube3.is_goal(&end) && Some(cost) == result.cost);
        together += result.stats.evaluated;
        alone += results.iter().map(|result| result.stats.evaluated).sum::<u64>();
    }
    assert!(4 * together < 3 * alone, "{together} evaluated, and {alone} one image after another without a bound");
}
