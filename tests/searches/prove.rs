//! Perimeters by classes, and the proof against them.

use crate::mocks::scrambled;
use crate::pancakes::Pancakes;
use costar::heuristic::{Heuristic, PerState, zero};
use costar::puzzle::cube3::{Cube3, Cube3HalfTurns};
use costar::puzzle::laws::exact_distances;
use costar::puzzle::lightsout::LightsOut;
use costar::puzzle::permutation::{Description, Permutation};
use costar::puzzle::tiles::Puzzle8;
use costar::puzzle::{Move, Notation as _, Puzzle, Rules as _, laws, replay};
use costar::random::generator;
use costar::search::beam::Beam;
use costar::search::bidirectional::Bidirectional;
use costar::search::breadth_first::BreadthFirst;
use costar::search::perimeter::{Count, Extent, Perimeter, PerimeterFolder};
use costar::search::prove::Prove;
use costar::search::symmetric_images::ImageSearch;
use costar::search::{Control, End, Limit, Limits, Progress, Search, SearchResult, Task};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn permutation<const N: usize>(name: &str) -> Permutation<N> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/puzzles").join(name);
    Permutation::new(Description::read(&path).expect("a puzzle"))
}

fn extent(depth: u32) -> Extent {
    Extent { depth, bytes: 1 << 30, time: None, count_last: true }
}

fn classes<P: Puzzle>(puzzle: &P, depth: u32) -> Perimeter<P::State> {
    let symmetries = puzzle.symmetries().expect("it has symmetries");
    let stop = AtomicBool::new(false);
    Perimeter::of_classes(puzzle, symmetries, extent(depth), &stop, &mut |_| ()).expect("it was not stopped")
}

fn run<P: Puzzle>(
    search: &dyn Search<P>,
    puzzle: &P,
    start: &P::State,
    heuristic: &mut dyn Heuristic<P::State>,
    limits: &Limits,
) -> SearchResult {
    let stop = AtomicBool::new(false);
    let mut watch = |_: &Progress| ();
    let mut control = Control::new(limits, &stop, &mut watch);
    let mut result = search.run(puzzle, start, heuristic, &mut control).expect("no failure");
    result.stats.seconds = control.seconds();
    if let Some(moves) = &result.moves {
        let (end, cost) = replay(puzzle, start, moves).expect("legal moves");
        assert!(puzzle.is_goal(&end));
        assert_eq!(result.cost, Some(cost));
    }
    result
}

/// The orbits of the classes add up to the number of states.
fn orbits_add_up<P: Puzzle>(puzzle: &P, depth: u32) {
    let states = laws::states_by_depth(puzzle, depth as usize);
    let counts: Vec<_> = classes(puzzle, depth).counts().iter().map(|count| count.states).collect();
    let expected: Vec<_> = states.iter().map(|&states| Some(states as u64)).collect();
    assert_eq!(counts, expected, "{}", puzzle.name());
}

#[test]
fn orbits_add_up_to_the_known_counts() {
    // Classes and states of the cube by quarter turns, Rokicki 2014 for the states.
    let known = [
        (1, 1),
        (1, 12),
        (5, 114),
        (17, 1_068),
        (130, 10_011),
        (1_031, 93_840),
        (9_393, 878_880),
        (86_183, 8_221_632),
        (802_788, 76_843_595),
    ];
    let expected: Vec<Count> = known.iter().map(|&(classes, states)| Count { classes, states: Some(states) }).collect();
    let perimeter = classes(&Cube3, 8);
    assert_eq!(perimeter.counts(), expected);
    assert_eq!((perimeter.depth(), perimeter.step(), perimeter.is_whole()), (8, 2, false));
    orbits_add_up(&permutation::<64>("cube3-quarter-turns.json"), 5);
    orbits_add_up(&permutation::<64>("pyraminx.json"), 5);
    orbits_add_up(&permutation::<32>("cuboid223.json"), 7);
    orbits_add_up(&permutation::<32>("cube2.json"), 6);
    orbits_add_up(&permutation::<32>("topspin20.json"), 9);
    orbits_add_up(&permutation::<16>("lrx9.json"), 12);
}

#[test]
fn a_perimeter_of_any_extent_has_all_classes_within_it() {
    fn agrees<P: Puzzle>(puzzle: &P, depth: u32) {
        let stop = AtomicBool::new(false);
        let make = |extent| {
            let symmetries = puzzle.symmetries().expect("it has symmetries");
            Perimeter::of_classes(puzzle, symmetries, extent, &stop, &mut |_| ()).expect("it was not stopped")
        };
        let whole = classes(puzzle, depth);
        let (mut reached, exact) = (HashSet::new(), exact_distances(puzzle, depth));
        let depths = (1..=depth).map(|depth| Extent { count_last: false, ..extent(depth) });
        let budgets = (10..24).step_by(2).map(|bits| Extent { bytes: 1 << bits, ..extent(depth) });
        let times = (0..4).map(|k| Extent { time: Some(Duration::from_millis(1 << (2 * k))), ..extent(depth) });
        for extent in depths.chain(budgets).chain(times) {
            let made = make(extent);
            reached.insert(made.depth());
            for (made, expected) in made.counts().iter().zip(whole.counts()) {
                // With fingerprints alone, two classes may seem to be one.
                let is_near = (0.99..=1.0).contains(&(made.classes as f64 / expected.classes as f64));
                let is_right = made == expected || (made.states.is_none() && is_near);
                assert!(is_right, "{} {extent:?}: {made:?}", puzzle.name());
            }
            let within = exact.iter().filter(|(_, distance)| u32::from(**distance) <= made.depth());
            for (state, &distance) in within.step_by(7) {
                assert_eq!(made.cost(puzzle, state), Some(distance.into()), "{} {extent:?}", puzzle.name());
            }
        }
        assert!(reached.len() >= 3, "{}: {reached:?}", puzzle.name());
    }
    agrees(&Cube3, 5);
    agrees(&Cube3HalfTurns, 4);
    agrees(&permutation::<64>("pyraminx.json"), 5);
    agrees(&permutation::<32>("cube2.json"), 5);
    // With inversion, and moves within a layer from distance 4 on.
    agrees(&permutation::<16>("lrx9.json"), 9);
}

#[test]
fn a_perimeter_by_classes_knows_the_same_costs() {
    fn agrees<P: Puzzle>(puzzle: &P, depth: u32, far: u32) {
        let perimeter = classes(puzzle, depth);
        for (state, distance) in exact_distances(puzzle, depth + 1) {
            let inside = (u32::from(distance) <= depth).then_some(u32::from(distance));
            assert_eq!(perimeter.cost(puzzle, &state), inside, "{}: {state:?}", puzzle.name());
        }
        for number in 0..50 {
            let start = scrambled(puzzle, far, &mut generator(4, number));
            if let Some(path) = perimeter.path_to_goal(puzzle, &start) {
                assert!(puzzle.is_goal(&replay(puzzle, &start, &path).expect("legal moves").0));
                assert_eq!(perimeter.cost(puzzle, &start), Some(path.len() as u32));
            }
        }
    }
    agrees(&Cube3, 4, 7);
    agrees(&Cube3HalfTurns, 3, 5);
    agrees(&permutation::<64>("pyraminx.json"), 3, 5);
    agrees(&permutation::<16>("lrx9.json"), 8, 10);
    agrees(&permutation::<32>("cuboid223.json"), 4, 6);
}

#[test]
fn proven_solutions_are_shortest() {
    fn holds<P: Puzzle>(puzzle: &P, perimeter: &Perimeter<P::State>, depth: u32, count: u64) {
        for number in 0..count {
            let start = scrambled(puzzle, depth, &mut generator(5, number));
            let shortest = run(&Bidirectional::default(), puzzle, &start, &mut zero(), &Limits::default()).cost;
            let alone = Prove { search: None, perimeter: perimeter.clone(), budget: None, widen: None };
            let result = run(&alone, puzzle, &start, &mut zero(), &Limits::default());
            assert_eq!((result.cost, result.proven_optimal), (shortest, true), "{}: {start:?}", puzzle.name());
            // After a search with a long solution, in an order that misleads.
            let mut wild = PerState::new("wild", false, |state| (hash(state) % 97) as f32);
            let search = Some(Box::new(Long { start }) as Box<dyn Search<P>>);
            let result = run(&Prove { search, ..alone }, puzzle, &start, &mut wild, &Limits::default());
            assert_eq!((result.cost, result.proven_optimal), (shortest, true), "{}: {start:?}", puzzle.name());
        }
    }
    holds(&Cube3, &classes(&Cube3, 5), 11, 6);
    holds(&Cube3HalfTurns, &classes(&Cube3HalfTurns, 4), 8, 6);
    let file = permutation::<64>("cube3-quarter-turns.json");
    holds(&file, &classes(&file, 4), 9, 3);
    let pyraminx = permutation::<64>("pyraminx.json");
    holds(&pyraminx, &classes(&pyraminx, 5), 9, 6);
    let topspin = permutation::<16>("lrx9.json");
    holds(&topspin, &classes(&topspin, 10), 20, 6);
    // Without symmetries: by states.
    holds(&Puzzle8::default(), &Perimeter::new(&Puzzle8::default(), 8), 22, 10);
    holds(&LightsOut::<1>::new(4), &Perimeter::new(&LightsOut::<1>::new(4), 2), 6, 10);
    holds(&Pancakes::ALL, &Perimeter::new(&Pancakes::ALL, 2), 20, 30);
}

#[test]
fn a_proof_tries_every_length_unless_every_move_changes_a_parity() {
    // No two states within 3 moves of the goal are neighbours at equal distance, but others are.
    let lrx = permutation::<16>("lrx9.json");
    let perimeter = classes(&lrx, 3);
    assert_eq!(perimeter.step(), 1);
    let start = lrx.parse("X R X R R X L L L X R R X L L L X L X R").expect("a scramble");
    let beam = Beam { perimeter: perimeter.clone(), ..Beam::new(3) };
    let found = run(&beam, &lrx, &start, &mut zero(), &Limits::default());
    assert!(found.cost.is_some_and(|cost| cost % 2 == 1), "the shortest has an even number of moves");
    let prove = Prove { search: Some(Box::new(beam)), perimeter, budget: None, widen: None };
    let proven = run(&prove, &lrx, &start, &mut zero(), &Limits::default());
    assert_eq!((proven.cost, proven.proven_optimal), (Some(16), true));
}

/// A search that makes a shortest solution longer by moves to and fro.
struct Long<S> {
    start: S,
}

impl<P: Puzzle> Search<P> for Long<P::State> {
    fn solve(&self, task: Task<'_, '_, P>) -> costar::Result<SearchResult> {
        let Task { puzzle, start, .. } = task;
        assert_eq!(*start, self.start);
        let found = Bidirectional::default().solve(task)?;
        let moves = found.moves.map(|moves| {
            let legal = |&action: &Move| puzzle.apply(start, action).is_some();
            let action = (0..puzzle.move_count() as Move).find(legal).expect("a legal move");
            [&[action, puzzle.inverse(action), action, puzzle.inverse(action)], &moves[..]].concat()
        });
        let cost = found.cost.map(|cost| cost + 4);
        Ok(SearchResult { moves, cost, proven_optimal: false, ..found })
    }
}

fn hash<S: std::hash::Hash>(state: &S) -> u64 {
    use std::hash::BuildHasher as _;
    foldhash::fast::FixedState::default().hash_one(state)
}

#[test]
fn an_unfinished_proof_says_what_it_has_excluded() {
    let perimeter = classes(&Cube3, 6);
    let start = Cube3.parse("R U F' L D B' R' U F L' D' B R U' F' L B D R F").expect("a scramble");
    let prove = |budget| Prove::<Cube3> { search: None, perimeter: perimeter.clone(), budget, widen: None };
    let limits = Limits { nodes: Some(20_000_000), ..Limits::default() };
    let result = run(&prove(None), &Cube3, &start, &mut zero(), &limits);
    assert_eq!((result.end, result.proven_optimal), (End::Limit(Limit::Nodes), false));
    let proof = result.proof.expect("there was a proof");
    // A solution of 14 moves has 6 in the perimeter, and there are 80 million sequences of the 8 before; those for 12 were
    // all made. The parity of the corners excludes 13.
    assert_eq!((proof.excluded, proof.target), (Some(12), Some(14)));
    assert!(proof.share > 0.1 && proof.share < 1.0, "{proof:?}");
    for nodes in [1, 100, 1000, 100_000] {
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let result = run(&prove(None), &Cube3, &start, &mut zero(), &limits);
        assert_eq!((result.end, result.moves), (End::Limit(Limit::Nodes), None));
        assert!(result.stats.generated <= nodes, "{} of {nodes}", result.stats.generated);
    }
    let limits = Limits { time: Some(Duration::from_millis(300)), ..Limits::default() };
    let result = run(&prove(None), &Cube3, &start, &mut zero(), &limits);
    assert_eq!(result.end, End::Limit(Limit::Time));
    assert!(result.stats.seconds < 3.0, "{:?}", result.stats);
    // With a budget, the search ends by itself.
    let result = run(&prove(Some(100_000)), &Cube3, &start, &mut zero(), &Limits::default());
    assert!(!result.proven_optimal && result.proof.expect("a proof").sequences < 300_000);
}

#[test]
fn sequences_are_made_only_where_they_may_help() {
    let start = scrambled(&Cube3, 10, &mut generator(6, 2));
    let perimeter = classes(&Cube3, 6);
    let after = |budget| {
        let search = Some(Box::new(Long { start }) as Box<dyn Search<Cube3>>);
        let prove = Prove { search, perimeter: perimeter.clone(), budget: Some(budget), widen: None };
        let result = run(&prove, &Cube3, &start, &mut zero(), &Limits::default());
        (result.cost, result.proven_optimal, result.proof.map(|proof| proof.sequences))
    };
    // A solution of 14 moves, where the shortest has 10: for 12, there are about 800,000 sequences of 6 moves into the
    // perimeter.
    assert_eq!(after(0), (Some(14), false, None));
    assert_eq!(after(20_000), (Some(14), false, None));
    let (cost, proven, made) = after(200_000);
    assert_eq!((cost, proven), (Some(10), true));
    assert!(made.is_some_and(|made| made > 0), "{made:?}");
}

#[test]
fn a_beam_ends_with_a_solution_that_is_proven_soon() {
    let puzzle = permutation::<16>("lrx9.json");
    let start = scrambled(&puzzle, 60, &mut generator(6, 2));
    let perimeter = classes(&puzzle, 6);
    let distances = exact_distances(&puzzle, 60);
    let shortest = Some(u32::from(distances[&start]));
    let mut exact = PerState::new("exact", false, move |state| f32::from(distances[state]));
    let search = || {
        let beam = Beam { perimeter: perimeter.clone(), ..Beam::new(800) };
        Box::new(ImageSearch { search: Box::new(beam), count: 2 })
    };
    let alone = run(&*search(), &puzzle, &start, &mut exact, &Limits::default());
    assert_eq!((alone.cost, alone.proven_optimal), (shortest, false));
    let prove = |budget| Prove { search: Some(search()), perimeter: perimeter.clone(), budget, widen: None };
    for budget in [None, Some(10_000_000)] {
        let proven = run(&prove(budget), &puzzle, &start, &mut exact, &Limits::default());
        assert_eq!((proven.cost, proven.proven_optimal), (shortest, true));
        assert!(proven.stats.iterations < alone.stats.iterations, "{:?} {:?}", proven.stats, alone.stats);
        assert!(proven.stats.evaluated < alone.stats.evaluated, "{:?} {:?}", proven.stats, alone.stats);
    }
    let none = run(&prove(Some(0)), &puzzle, &start, &mut exact, &Limits::default());
    assert_eq!((none.proven_optimal, none.stats.iterations), (false, alone.stats.iterations));
}

#[test]
fn wider_searches_use_up_the_time_where_nothing_is_proven() {
    let puzzle = permutation::<16>("lrx9.json");
    let start = scrambled(&puzzle, 60, &mut generator(6, 2));
    let distances = exact_distances(&puzzle, 60);
    let shortest = u32::from(distances[&start]);
    // Wrong by up to four moves: a beam of one state goes astray.
    let mut rough =
        PerState::new("rough", false, move |state| f32::from(distances[state]) + (hash(state) % 1024) as f32 / 256.0);
    let prove = |budget: Option<u64>, perimeter: Perimeter<_>| Prove {
        search: Some(Box::new(Beam::new(1))),
        perimeter,
        budget,
        widen: Some(Box::new(|factor| Box::new(Beam::new(factor)))),
    };
    let without_proof = prove(Some(0), Perimeter::none());
    let narrow = run(&without_proof, &puzzle, &start, &mut rough, &Limits::default());
    assert!(narrow.cost.is_none_or(|cost| cost > shortest), "{narrow:?}");
    let limits = Limits { time: Some(Duration::from_millis(800)), ..Limits::default() };
    let wide = run(&without_proof, &puzzle, &start, &mut rough, &limits);
    assert!(wide.cost.is_some_and(|cost| narrow.cost.is_none_or(|narrow| cost < narrow)), "{wide:?}");
    assert!(wide.stats.seconds >= 0.8 && wide.stats.evaluated > narrow.stats.evaluated, "{wide:?}");
    // A solution that is proven ends the search at once.
    let proven = run(
        &prove(None, classes(&puzzle, 8)),
        &puzzle,
        &start,
        &mut rough,
        &Limits { time: Some(Duration::from_secs(600)), ..limits },
    );
    assert!(proven.proven_optimal && proven.cost == Some(shortest) && proven.stats.seconds < 300.0, "{proven:?}");
}

#[test]
fn a_solution_does_not_depend_on_how_many_sequences_are_made_at_once() {
    let perimeter = classes(&Cube3, 6);
    let start = scrambled(&Cube3, 13, &mut generator(6, 1));
    let prove = Prove::<Cube3> { search: None, perimeter, budget: None, widen: None };
    let first = run(&prove, &Cube3, &start, &mut zero(), &Limits::default());
    for _ in 0..5 {
        assert_eq!(run(&prove, &Cube3, &start, &mut zero(), &Limits::default()).moves, first.moves);
    }
}

#[test]
fn a_perimeter_is_kept_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = PerimeterFolder::new(&Cube3, Some(folder.path().to_owned())).expect("the cube has symmetries");
    let stop = AtomicBool::new(false);
    let make = |depth| store.make(extent(depth), &stop, &mut |_| ()).expect("it was not stopped");
    assert!(store.files().is_empty() && store.load(9, u64::MAX).is_none());
    assert!(store.make(extent(5), &AtomicBool::new(true), &mut |_| ()).is_none(), "it was stopped");
    assert!(store.files().is_empty());
    let (made, kept) = make(6);
    let path = kept.expect("it can be written");
    let same = |perimeter: &Perimeter<_>, depth: usize| {
        assert_eq!(perimeter.counts(), &made.counts()[..=depth]);
        assert_eq!(perimeter.depth() as usize, depth);
        for (state, distance) in exact_distances(&Cube3, 4) {
            let inside = (usize::from(distance) <= depth).then_some(distance.into());
            assert_eq!(perimeter.cost(&Cube3, &state), inside);
        }
    };
    same(&store.load(9, u64::MAX).expect("it is there"), 6);
    same(&store.load(3, u64::MAX).expect("a part of it"), 3);
    assert!(store.load(6, 1000).is_none(), "it does not fit");
    // If a copy would take much of the budget, the pages of the file itself are read.
    let budget = 2 * made.bytes();
    let shared = store.load(9, budget).expect("it fits");
    assert!(shared.is_shared() && !store.load(9, u64::MAX).expect("it fits").is_shared());
    same(&shared, 6);
    same(&store.load(5, budget / 2).expect("a part of it"), 5);
    drop(shared);
    // A saved one is not made again, and another puzzle's is not taken.
    assert_eq!(make(6).1.expect("it is there"), path);
    let other = permutation::<64>("pyraminx.json");
    let others = PerimeterFolder::new(&other, Some(folder.path().to_owned())).expect("it has symmetries");
    assert!(others.files().is_empty());
    // The names of the moves do not matter.
    others.make(extent(3), &stop, &mut |_| ()).expect("it was not stopped").1.expect("it can be written");
    let text = other.file().expect("it has a file").replace("\"U\":", "\"T\":");
    let renamed = Permutation::<64>::new(Description::parse(&text).expect("a puzzle"));
    let of_renamed = PerimeterFolder::new(&renamed, Some(folder.path().to_owned())).expect("it has symmetries");
    assert!(of_renamed.load(3, u64::MAX).is_some());
    let whole = std::fs::read(&path).expect("it is there");
    for (cut, flipped) in [(whole.len() - 1, 0), (5000, 0), (100, 0), (0, 0), (whole.len(), 60), (whole.len(), 9000)] {
        let mut wrong = whole[..cut].to_vec();
        if flipped > 0 {
            wrong[flipped] ^= 4;
        }
        std::fs::write(&path, wrong).expect("it can be written");
        for budget in [u64::MAX, budget] {
            assert!(store.load(9, budget).is_none(), "cut at {cut}, byte {flipped} changed");
        }
    }
    assert_eq!(make(6).1.expect("it is made again"), path);
    assert_eq!(std::fs::read(&path).expect("it is there"), whole);
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").expect("it can be written");
    let nowhere = PerimeterFolder::new(&Cube3, Some(file)).expect("the cube has symmetries");
    let (made, kept) = nowhere.make(extent(4), &stop, &mut |_| ()).expect("it was not stopped");
    assert_eq!(made.depth(), 4);
    assert!(kept.is_err());
}

#[test]
fn memory_and_time_bound_the_depth() {
    let symmetries = || Cube3.symmetries().expect("it has symmetries");
    let stop = AtomicBool::new(false);
    let reached = |extent| {
        let made = Perimeter::of_classes(&Cube3, symmetries(), extent, &stop, &mut |_| ()).expect("not stopped");
        (made.depth(), made.bytes())
    };
    let (depth, bytes) = reached(Extent { bytes: 3 << 20, ..extent(12) });
    assert!((6..=7).contains(&depth) && bytes < 3 << 20, "{depth}, {bytes} bytes");
    let (depth, _) = reached(Extent { time: Some(Duration::from_millis(200)), ..extent(12) });
    assert!((3..10).contains(&depth), "{depth}");
}

#[test]
fn symmetries_are_found() {
    fn count<P: Puzzle>(puzzle: &P) -> Option<u32> {
        puzzle.symmetries().map(|symmetries| symmetries.count())
    }
    assert_eq!(count(&Cube3), Some(96), "48, and the inverse of each");
    assert_eq!(count(&permutation::<64>("cube3-quarter-turns.json")), Some(48));
    assert_eq!(count(&permutation::<64>("pyraminx.json")), Some(24));
    assert_eq!(count(&permutation::<32>("cube2.json")), Some(6), "one corner stays where it is");
    assert_eq!(count(&permutation::<32>("cuboid223.json")), Some(16));
    assert_eq!(count(&permutation::<32>("topspin20.json")), Some(4), "the mirror image, and the inverse of each");
    // Images may be inverted if symbols are told apart by their pieces: not the centres of a 4×4×4.
    fn is_inverted<P: Puzzle>(puzzle: &P) -> bool {
        puzzle.symmetric_images(&puzzle.goals()[0]).any(|image| image.inverted)
    }
    assert!(is_inverted(&permutation::<128>("megaminx.json")) && is_inverted(&permutation::<64>("skewb.json")));
    assert!(
        !is_inverted(&permutation::<256>("cube4.json")) && !is_inverted(&permutation::<64>("hungarian-rings.json"))
    );
    // Twenty exchanged pairs have 20! · 2²⁰ symmetries: too many to list, so they are not used.
    let swap = |pair: usize| (0..40).map(|i| if i / 2 == pair { i ^ 1 } else { i }).collect::<Vec<usize>>();
    let moves: serde_json::Map<_, _> = (0..20).map(|pair| (format!("s{pair}"), swap(pair).into())).collect();
    let goal: Vec<usize> = (0..40).collect();
    let text = serde_json::json!({ "name": "swaps", "goal": goal, "moves": moves }).to_string();
    assert_eq!(count(&Permutation::<64>::new(Description::parse(&text).expect("a puzzle"))), None);
}

#[test]
fn breadth_first_searches_end_at_the_perimeter_with_a_shortest_solution() {
    fn holds<P: Puzzle>(puzzle: &P, perimeter: &Perimeter<P::State>, depth: u32, count: u64) {
        let limits = Limits::default();
        for number in 0..count {
            let start = scrambled(puzzle, depth, &mut generator(6, number));
            let alone = run(&Bidirectional::default(), puzzle, &start, &mut zero(), &limits);
            let forward = BreadthFirst { perimeter: perimeter.clone() };
            let result = run(&forward, puzzle, &start, &mut zero(), &limits);
            assert_eq!((result.cost, result.proven_optimal), (alone.cost, true), "{}: {start:?}", puzzle.name());
            let result = run(&Bidirectional { forward }, puzzle, &start, &mut zero(), &limits);
            assert_eq!((result.cost, result.proven_optimal), (alone.cost, true), "{}: {start:?}", puzzle.name());
            assert!(result.stats.stored <= alone.stats.stored, "{}: {start:?}", puzzle.name());
        }
    }
    holds(&Cube3, &classes(&Cube3, 5), 9, 6);
    let pyraminx = permutation::<64>("pyraminx.json");
    holds(&pyraminx, &classes(&pyraminx, 5), 9, 6);
    holds(&Puzzle8::default(), &Perimeter::new(&Puzzle8::default(), 20), 22, 10);
}
