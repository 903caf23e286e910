//! Searches on a small puzzle whose every distance is known: a breadth-first table stands in for a network.

use costar::heuristic::{Ask, Estimates, Heuristic, HeuristicError, PerState, ball, exact_distances, zero};
use costar::puzzle::cube2::Cube2;
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::lightsout::LightsOut;
use costar::puzzle::sokoban::Sokoban;
use costar::puzzle::tiles::{Puzzle8, Puzzle15, Puzzle24, Puzzle35};
use costar::puzzle::{Encoding, Move, ParseError, Puzzle, Reversible, Style, View, laws, replay};
use costar::sampler::{Generator, Walker, generator};
use costar::search::beam::Beam;
use costar::search::best_first::BestFirst;
use costar::search::bidirectional::Bidirectional;
use costar::search::breadth_first::BreadthFirst;
use costar::search::deferred::Deferred;
use costar::search::endgame::Endgame;
use costar::search::idastar::IterativeDeepening;
use costar::search::nbs::NearOptimalBidirectional;
use costar::search::random::RandomWalk;
use costar::search::views::Views;
use costar::search::{Answer, Control, End, Limit, Limits, Outcome, Search, Stats};
use foldhash::fast::FixedState;
use ndarray::Array2;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Pancakes: six of them in a stack; a move turns the top ones over. With `even`, only moves that keep the parity of
/// the permutation: half of the stacks cannot be sorted then.
#[derive(Debug, Clone, Copy)]
struct Pancakes {
    even: bool,
}

impl Pancakes {
    const ALL: Pancakes = Pancakes { even: false };

    /// How many pancakes a move turns over.
    fn size(self, action: Move) -> usize {
        if self.even { [4, 5][usize::from(action)] } else { usize::from(action) + 2 }
    }
}

impl Puzzle for Pancakes {
    type State = [u8; 6];

    fn name(&self) -> String {
        "pancakes".into()
    }

    fn move_count(&self) -> usize {
        if self.even { 2 } else { 5 }
    }

    fn move_name(&self, action: Move) -> String {
        self.size(action).to_string()
    }

    fn apply(&self, state: &[u8; 6], action: Move) -> Option<[u8; 6]> {
        let mut next = *state;
        next[..self.size(action)].reverse();
        Some(next)
    }

    fn is_goal(&self, state: &[u8; 6]) -> bool {
        state.is_sorted()
    }

    fn parse(&self, text: &str) -> Result<[u8; 6], ParseError> {
        let state: [u8; 6] = text.as_bytes().try_into().map_err(|_| ParseError("six letters".into()))?;
        let mut sorted = state;
        sorted.sort_unstable();
        if &sorted == b"abcdef" { Ok(state) } else { Err(ParseError("the letters a to f".into())) }
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let find = |word: &str| (0..self.move_count() as Move).find(|&action| self.move_name(action) == word);
        text.split_whitespace().map(|word| find(word).ok_or_else(|| ParseError(format!("{word}: 2 to 6")))).collect()
    }

    fn format(&self, state: &[u8; 6]) -> String {
        String::from_utf8_lossy(state).into_owned()
    }

    fn draw(&self, state: &[u8; 6], _style: Style) -> String {
        self.format(state)
    }

    fn encoding(&self) -> Encoding {
        Encoding { version: 1, cells: 6, symbols: 6, fixed: Vec::new(), grid: None }
    }

    fn encode(&self, state: &[u8; 6], row: &mut [u8]) {
        row.iter_mut().zip(state).for_each(|(cell, pancake)| *cell = pancake - b'a');
    }

    fn notation(&self) -> &'static str {
        "six letters"
    }
}

impl Reversible for Pancakes {
    fn goals(&self) -> Vec<[u8; 6]> {
        vec![*b"abcdef"]
    }

    fn inverse(&self, action: Move) -> Move {
        action
    }

    fn default_depth(&self) -> u32 {
        7
    }
}

fn solve_with(
    search: &dyn Search<Pancakes>,
    puzzle: Pancakes,
    start: &[u8; 6],
    heuristic: &mut dyn Heuristic<[u8; 6]>,
    limits: &Limits,
) -> Outcome {
    let stop = AtomicBool::new(false);
    let outcome = search.run(&puzzle, start, heuristic, &mut Control::new(limits, &stop, &mut |_| ()));
    let outcome = outcome.expect("these heuristics do not fail");
    if let Some(moves) = &outcome.moves {
        let (end, cost) = replay(&puzzle, start, moves).expect("legal moves");
        assert!(puzzle.is_goal(&end));
        assert_eq!(outcome.cost, Some(cost));
    }
    assert_eq!(outcome.moves.is_some(), outcome.end == End::Solved);
    outcome
}

fn solve(search: BestFirst, start: &[u8; 6], heuristic: &mut dyn Heuristic<[u8; 6]>) -> Outcome {
    solve_with(&search, Pancakes::ALL, start, heuristic, &Limits::default())
}

#[test]
fn the_test_puzzle_keeps_the_laws() {
    // https://oeis.org/A092113: stacks of six by the flips that they need.
    laws::check(&Pancakes::ALL, &[1, 5, 20, 79, 199, 281, 133, 2]);
}

#[test]
fn with_exact_estimates_every_answer_is_shortest() {
    let table = exact_distances(&Pancakes::ALL, 20);
    assert_eq!(table.len(), 720);
    for (start, &distance) in &table {
        for (expand, lambda) in [(1, 1.0), (1, 0.6), (1, 0.0)] {
            let outcome = solve(BestFirst::bwas(expand, lambda), start, &mut ball(&Pancakes::ALL, 20));
            assert_eq!(outcome.cost, Some(distance.into()), "{start:?} N = {expand} λ = {lambda}");
            assert!(outcome.stats.expanded <= u64::from(distance), "it walks straight to the goal");
        }
    }
}

#[test]
fn what_is_claimed_as_proven_is_optimal() {
    let table = exact_distances(&Pancakes::ALL, 20);
    let mut proven = 0;
    for (start, &distance) in &table {
        for (expand, depth) in [(1, 0), (1, 3), (7, 3), (50, 2), (1000, 4)] {
            let outcome = solve(BestFirst::bwas(expand, 1.0), start, &mut ball(&Pancakes::ALL, depth));
            assert!(outcome.cost >= Some(distance.into()));
            if outcome.proven_optimal {
                proven += 1;
                assert_eq!(outcome.cost, Some(distance.into()));
            }
            let weighted = solve(BestFirst::bwas(expand, 0.5), start, &mut ball(&Pancakes::ALL, depth));
            assert!(!weighted.proven_optimal || distance == 0, "nothing is proven for λ below 1");
        }
    }
    assert!(proven > 720, "{proven}");
}

#[test]
fn a_solved_start_needs_nothing() {
    let outcome = solve(BestFirst::bwas(10, 0.6), b"abcdef", &mut zero());
    assert_eq!((outcome.moves, outcome.cost, outcome.proven_optimal), (Some(vec![]), Some(0), true));
    assert_eq!((outcome.stats.evaluated, outcome.stats.generated, outcome.stats.stored), (0, 0, 1));
}

#[test]
fn an_unsolvable_start_is_said_to_be_so() {
    let puzzle = Pancakes { even: true };
    let outcome = solve_with(&BestFirst::bwas(10, 0.6), puzzle, b"bacdef", &mut zero(), &Limits::default());
    assert_eq!((outcome.end, outcome.proven_optimal), (End::NoSolution, false));
    assert_eq!(outcome.stats.stored, outcome.stats.expanded, "all that can be reached was expanded");
    assert_eq!(outcome.stats.generated, 2 * outcome.stats.expanded);
}

#[test]
fn the_statistics_are_exact() {
    // Without knowledge and at λ = 1 this is a search by layers: N = all of a layer.
    let outcome = solve(BestFirst::bwas(1000, 1.0), b"bacdfe", &mut zero());
    let stats = outcome.stats;
    let layers = [1, 5, 20, 79, 199, 281, 133, 2];
    let distance = outcome.cost.expect("solved") as usize;
    assert_eq!(stats.iterations as usize, distance);
    let expanded: usize = layers[..distance].iter().sum();
    assert_eq!(stats.expanded as usize, expanded);
    assert_eq!(stats.generated as usize, 5 * expanded);
    let stored: usize = layers[..=distance].iter().sum();
    assert_eq!(stats.stored as usize, stored);
    assert_eq!(stats.evaluated as usize, expanded, "the last layer holds the goal and is not scored");
}

#[test]
fn limits_end_a_search_cleanly() {
    let search = BestFirst::bwas(3, 1.0);
    let hard = b"ebdafc";
    for nodes in [1, 4, 5, 6, 37, 100] {
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let outcome = solve_with(&search, Pancakes::ALL, hard, &mut zero(), &limits);
        assert_eq!(outcome.end, End::Limit(Limit::Nodes));
        assert!(outcome.stats.generated <= nodes && outcome.stats.stored <= nodes + 1);
    }
    let limits = Limits { time: Some(Duration::ZERO), ..Limits::default() };
    assert_eq!(solve_with(&search, Pancakes::ALL, hard, &mut zero(), &limits).end, End::Limit(Limit::Time));
    let limits = Limits { memory: Some(1000), ..Limits::default() };
    assert_eq!(solve_with(&search, Pancakes::ALL, hard, &mut zero(), &limits).end, End::Limit(Limit::Memory));
    let stop = AtomicBool::new(false);
    let limits = Limits::default();
    let mut watch = |_: &_| stop.store(true, Ordering::Relaxed);
    let mut control = Control::new(&limits, &stop, &mut watch);
    let outcome = search.run(&Pancakes::ALL, hard, &mut zero(), &mut control).expect("no failure");
    assert_eq!((outcome.end, outcome.stats.iterations), (End::Limit(Limit::Stopped), 2), "stopped after one step");
}

/// Estimates that mislead, and come back in chunks of a given size.
struct Misleading {
    inner: PerState<[u8; 6]>,
    chunk: usize,
    out: usize,
    most_out: usize,
}

impl Misleading {
    fn new(chunk: usize) -> Self {
        let wild =
            |state: &[u8; 6]| state.iter().fold(7u32, |hash, &pancake| hash.wrapping_mul(31) ^ u32::from(pancake));
        Misleading {
            inner: PerState::new("wild", false, move |state| (wild(state) % 97) as f32 / 10.0),
            chunk,
            out: 0,
            most_out: 0,
        }
    }
}

impl Heuristic<[u8; 6]> for Misleading {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn chunk(&self) -> usize {
        self.chunk
    }

    fn overlap(&self) -> usize {
        self.chunk % 4
    }

    fn submit(&mut self, states: &[[u8; 6]], ask: Ask) -> Result<(), HeuristicError> {
        assert!(!states.is_empty() && states.len() <= self.chunk);
        self.out += 1;
        self.most_out = self.most_out.max(self.out);
        self.inner.submit(states, ask)
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.out -= 1;
        self.inner.collect()
    }
}

#[test]
fn the_answer_does_not_depend_on_how_the_batch_is_cut() {
    for start in [b"fedbca", b"ebdafc", b"cfadbe"] {
        for (expand, lambda) in [(1, 0.6), (8, 0.6), (100, 0.2), (8, 1.0)] {
            let search = BestFirst::bwas(expand, lambda);
            let outcomes: Vec<Outcome> = [1, 3, 4096]
                .map(|chunk| {
                    let mut heuristic = Misleading::new(chunk);
                    let mut outcome = solve(search, start, &mut heuristic);
                    assert_eq!(heuristic.out, 0, "every chunk was collected");
                    assert!(heuristic.most_out <= heuristic.overlap() + 1, "the heuristic is not flooded");
                    outcome.stats.seconds = 0.0;
                    outcome.stats.evaluated = 0; // at the last batch, what was not handed over is not scored
                    outcome
                })
                .into();
            assert_eq!(outcomes[0], outcomes[1]);
            assert_eq!(outcomes[0], outcomes[2]);
        }
    }
}

#[test]
fn states_reached_more_cheaply_are_opened_again() {
    // With wild estimates and λ = 1, A* still finds shortest paths if it runs on until nothing cheaper is open; here:
    // every stored path is at most as long as when the state was first reached, and the answers replay.
    let table = exact_distances(&Pancakes::ALL, 20);
    let mut longer = 0;
    for (start, &distance) in &table {
        let outcome = solve(BestFirst::bwas(2, 0.3), start, &mut Misleading::new(64));
        longer += u32::from(outcome.cost > Some(distance.into()));
        assert!(outcome.stats.expanded >= outcome.stats.iterations);
    }
    assert!(longer > 0, "estimates that mislead cost length somewhere");
}

#[test]
fn the_cost_is_that_of_the_path_even_where_an_ancestor_was_reached_more_cheaply_later() {
    // Large batches of a misleading heuristic reach states again whose descendants are stored already: `solve` checks
    // that the cost is that of the moves.
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
        fn submit(&mut self, _: &[[u8; 6]], _: Ask) -> Result<(), HeuristicError> {
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

/// Deferred BWAS, or its eager form, with what is known within `depth` moves of the goal, where it is known.
fn deferred(puzzle: Pancakes, expand: usize, eager: bool, depth: u32) -> Deferred<[u8; 6]> {
    let endgame = if depth > 0 { Endgame::new(&puzzle, depth) } else { Endgame::none() };
    Deferred { expand, lambda: 0.6, confidence: 3.0, eager, patience: Some(2), endgame }
}

/// Exact estimates, with preferences for the moves that lead nearer.
struct Knowing {
    table: Arc<HashMap<[u8; 6], u8>>,
    done: VecDeque<Estimates>,
}

impl Knowing {
    fn new() -> Self {
        let table = exact_distances(&Pancakes::ALL, 20).into_iter().collect();
        Knowing { table: Arc::new(table), done: VecDeque::new() }
    }
}

impl Heuristic<[u8; 6]> for Knowing {
    fn name(&self) -> &str {
        "knowing"
    }

    fn chunk(&self) -> usize {
        16
    }

    fn has_preferences(&self) -> bool {
        true
    }

    fn submit(&mut self, states: &[[u8; 6]], ask: Ask) -> Result<(), HeuristicError> {
        let values = states.iter().map(|state| f32::from(self.table[state])).collect();
        let nearer = |(i, action): (usize, usize)| {
            let child = Pancakes::ALL.apply(&states[i], action as Move).expect("every flip is legal");
            if self.table[&child] < self.table[&states[i]] { 0.9 } else { 0.1 / 5.0 }
        };
        let preferences = (ask == Ask::ValuesAndPreferences).then(|| Array2::from_shape_fn((states.len(), 5), nearer));
        self.done.push_back(Estimates { values, preferences });
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        Ok(self.done.pop_front().expect("a chunk was submitted"))
    }
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
fn a_beam_with_a_shortlist_scores_only_that() {
    let table = exact_distances(&Pancakes::ALL, 20);
    let beam = |shortlist, depth| Beam {
        width: 4,
        shortlist,
        confidence: 1.0,
        endgame: if depth > 0 { Endgame::new(&Pancakes::ALL, depth) } else { Endgame::none() },
    };
    let (mut all, mut few, mut known) = (0, 0, 0);
    for (start, &distance) in &table {
        let solved = |shortlist, depth| {
            let limits = Limits::default();
            let outcome = solve_with(&beam(shortlist, depth), Pancakes::ALL, start, &mut Knowing::new(), &limits);
            assert_eq!(outcome.cost, Some(distance.into()), "{start:?}");
            assert_eq!(outcome.proven_optimal, u32::from(distance) <= depth, "{start:?}");
            outcome.stats.evaluated
        };
        all += solved(0, 0);
        few += solved(2, 0);
        known += solved(2, 3);
    }
    assert!(3 * few < 2 * all, "{few} scored, and {all} without a shortlist");
    assert!(2 * known < few, "{known} scored, and {few} without an endgame");
}

#[test]
fn a_beam_that_runs_dry_does_not_say_that_there_is_no_solution() {
    // Half of the stacks cannot be sorted by even flips: a beam that keeps all of them sees that, a narrow one cannot.
    let even = Pancakes { even: true };
    let ended = |width| {
        let start = b"bacdef";
        solve_with(&Beam::new(width), even, start, &mut zero(), &Limits::default()).end
    };
    assert_eq!(ended(1000), End::NoSolution);
    assert_eq!(ended(1), End::Limit(Limit::Width));
}

/// A search that knows the way, and takes up to three detours before it, by the looks of the start.
struct Roundabout(Endgame<CubeState>);

impl Search<Cube3> for Roundabout {
    fn name(&self) -> &'static str {
        "roundabout"
    }

    fn run(
        &self,
        _: &Cube3,
        start: &CubeState,
        _: &mut dyn Heuristic<CubeState>,
        control: &mut Control<'_>,
    ) -> Result<Outcome, HeuristicError> {
        let detours = FixedState::default().hash_one(start) % 4;
        let mut moves: Vec<Move> = (0..detours).flat_map(|_| [0, Cube3.inverse(0)]).collect();
        moves.extend(self.0.way_home(|state, action| Cube3.apply(state, action), 12, start));
        let answer = Answer { cost: moves.len() as u32, moves };
        control.answer(&answer);
        let stats = Stats { generated: 10, ..Stats::default() };
        let (moves, cost) = (Some(answer.moves), Some(answer.cost));
        Ok(Outcome { end: End::Solved, moves, cost, proven_optimal: false, stats })
    }
}

#[test]
fn of_several_views_the_best_answer_counts() {
    let endgame = Endgame::new(&Cube3, 5);
    let stop = AtomicBool::new(false);
    let run = |search: &dyn Search<Cube3>, start: &CubeState, limits: &Limits, told: &mut dyn FnMut(&Answer)| {
        let mut watch = |_: &_| ();
        let mut control = Control::new(limits, &stop, &mut watch).with_answers(told);
        search.run(&Cube3, start, &mut zero(), &mut control).expect("no heuristic fails")
    };
    let mut better = 0;
    for number in 0..10 {
        let start = scrambled(&Cube3, 5, &mut generator(6, number));
        let unlimited = Limits::default();
        let one = Roundabout(endgame.clone());
        let of_view = |view: View<_>| run(&one, &view.start, &unlimited, &mut |_| ()).cost.expect("solved");
        let costs: Vec<u32> = Cube3.views(&start).into_iter().take(8).map(of_view).collect();
        let search = Views { search: Box::new(Roundabout(endgame.clone())), count: 8 };
        let mut told = Vec::new();
        let outcome = run(&search, &start, &unlimited, &mut |answer| told.push(answer.clone()));
        assert_eq!(outcome.cost, costs.iter().copied().min());
        assert_eq!(outcome.stats.generated, 80);
        better += u32::from(outcome.cost < Some(costs[0]));
        told.push(Answer { moves: outcome.moves.expect("solved"), cost: outcome.cost.expect("solved") });
        for answer in &told {
            let (end, cost) = replay(&Cube3, &start, &answer.moves).expect("legal moves");
            assert!(Cube3.is_goal(&end) && cost == answer.cost);
        }
        told.pop();
        assert!(told.windows(2).all(|pair| pair[1].cost < pair[0].cost), "only better answers are told");
        let limits = Limits { nodes: Some(25), ..Limits::default() };
        assert!(run(&search, &start, &limits, &mut |_| ()).stats.generated <= 30, "limits are of all views together");
    }
    assert!(better > 0, "some view has a shorter answer than the first");
}

fn scrambled<P: Reversible>(puzzle: &P, depth: u32, generator: &mut Generator) -> P::State {
    let mut walker = Walker::new(puzzle, puzzle.goals()[0]);
    for _ in 0..depth {
        walker.step(generator);
    }
    walker.state
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
                confidence: 3.0,
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

/// Every search, with the settings that it would have by default; which of them need no estimate to end.
fn all_searches(puzzle: Pancakes) -> Vec<Box<dyn Search<Pancakes>>> {
    vec![
        Box::new(BestFirst::bwas(20, 0.6)),
        Box::new(deferred(puzzle, 20, false, 0)),
        Box::new(deferred(puzzle, 20, false, 2)),
        Box::new(deferred(puzzle, 20, true, 0)),
        Box::new(BestFirst::a_star()),
        Box::new(BestFirst::one_by_one(0.0)),
        Box::new(BestFirst::one_by_one(1.0)),
        Box::new(Beam::new(1000)),
        Box::new(Beam::new(10)),
        Box::new(BreadthFirst),
        Box::new(Bidirectional),
        Box::new(NearOptimalBidirectional),
        Box::new(IterativeDeepening { bucket: 1.0 }),
        Box::new(RandomWalk { seed: 1, most_moves: 1_000_000 }),
    ]
}

#[test]
fn every_search_knows_a_solved_start() {
    for search in all_searches(Pancakes::ALL) {
        let limits = Limits::default();
        let outcome = solve_with(&*search, Pancakes::ALL, b"abcdef", &mut zero(), &limits);
        assert_eq!((outcome.moves, outcome.proven_optimal), (Some(vec![]), true), "{}", search.name());
    }
}

#[test]
fn every_search_that_remembers_says_that_there_is_no_solution() {
    let puzzle = Pancakes { even: true };
    for search in all_searches(puzzle) {
        let limits = Limits { nodes: Some(20_000), ..Limits::default() };
        let outcome = solve_with(&*search, puzzle, b"bacdef", &mut zero(), &limits);
        // A random walk and iterative deepening forget what they have seen.
        let forgets = matches!(search.name(), "random" | "idastar");
        let expected = if forgets { End::Limit(Limit::Nodes) } else { End::NoSolution };
        assert_eq!((outcome.end, outcome.moves), (expected, None), "{}", search.name());
    }
}

#[test]
fn every_search_ends_at_its_limits() {
    for search in all_searches(Pancakes::ALL) {
        let name = search.name();
        let hard = b"ebdafc";
        for nodes in [1, 4, 5, 17] {
            let limits = Limits { nodes: Some(nodes), ..Limits::default() };
            let outcome = solve_with(&*search, Pancakes::ALL, hard, &mut zero(), &limits);
            assert_eq!(outcome.end, End::Limit(Limit::Nodes), "{name}");
            assert!(outcome.stats.generated <= nodes, "{name}");
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
        for (search, admissible) in [
            (Box::new(BestFirst::a_star()) as Box<dyn Search<Pancakes>>, true),
            (Box::new(IterativeDeepening { bucket: 1.0 }), true),
            (Box::new(NearOptimalBidirectional), true),
            (Box::new(BreadthFirst), false),
            (Box::new(Bidirectional), false),
            (Box::new(Beam::new(1000)), false),
        ] {
            let depths: &[u32] = if admissible { &[2, 4] } else { &[0] };
            for &depth in depths {
                let outcome =
                    solve_with(&*search, Pancakes::ALL, start, &mut ball(&Pancakes::ALL, depth), &Limits::default());
                assert_eq!(outcome.cost, Some(distance.into()), "{} of {start:?}", search.name());
                let proves = search.name() != "beam" || distance == 0;
                assert_eq!(outcome.proven_optimal, proves, "{} of {start:?}", search.name());
            }
        }
    }
}

/// Whether A*, iterative deepening and both bidirectional searches cost what breadth-first search does, on random
/// walks of 1 to `depth` moves; `heuristic` names one of the puzzle's own.
fn agree<P: Reversible>(puzzle: &P, heuristic: Option<&str>, depth: u32, count: u64) {
    let estimate = || heuristic.and_then(|name| puzzle.heuristic(name)).unwrap_or_else(|| Box::new(zero()));
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let cost = |search: &dyn Search<P>, start: &P::State| {
        let mut watch = |_: &_| ();
        let mut control = Control::new(&limits, &stop, &mut watch);
        let outcome = search.run(puzzle, start, &mut *estimate(), &mut control).expect("no heuristic fails");
        let moves = outcome.moves.expect("solved");
        let (end, cost) = replay(puzzle, start, &moves).expect("legal moves");
        assert!(puzzle.is_goal(&end) && outcome.cost == Some(cost) && outcome.proven_optimal, "{}", search.name());
        cost
    };
    for number in 0..count {
        let mut generator = generator(17, number);
        let start = scrambled(puzzle, 1 + number as u32 % depth, &mut generator);
        let expected = cost(&BreadthFirst, &start);
        for search in [
            &BestFirst::a_star() as &dyn Search<P>,
            &IterativeDeepening { bucket: 1.0 },
            &Bidirectional,
            &NearOptimalBidirectional,
        ] {
            assert_eq!(cost(search, &start), expected, "{} from {}", search.name(), puzzle.format(&start));
        }
    }
}

#[test]
fn optimal_searches_agree_on_thousands_of_random_instances() {
    agree(&Puzzle8::default(), Some("manhattan"), 60, 300);
    agree(&Puzzle8::with_goal("3 1 2 0 4 5 6 7 8").expect("a board"), Some("linear-conflict"), 40, 200);
    agree(&Puzzle15::default(), Some("linear-conflict"), 14, 500);
    agree(&Puzzle24::default(), Some("manhattan"), 12, 200);
    agree(&Puzzle35::default(), Some("linear-conflict"), 10, 100);
    agree(&LightsOut::<1>::new(3), Some("lights"), 9, 300);
    agree(&LightsOut::<1>::new(4), Some("lights"), 4, 100);
    agree(&Cube2, None, 5, 300);
    agree(&Cube3, None, 3, 100);
    agree(&Pancakes::ALL, None, 7, 500);
}

#[test]
fn moves_that_cost_nothing_do_not_go_round_for_ever() {
    let level = "#######\n#@    #\n# $ . #\n#     #\n#######";
    let puzzle = Sokoban::by_pushes();
    let start = puzzle.parse(level).expect("a level");
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    for search in [
        &IterativeDeepening { bucket: 1.0 } as &dyn Search<Sokoban>,
        &BestFirst::a_star(),
        &BestFirst::one_by_one(0.0),
        &BreadthFirst,
    ] {
        let mut watch = |_: &_| ();
        let mut heuristic = puzzle.heuristic("matching").expect("it has it");
        let mut control = Control::new(&limits, &stop, &mut watch);
        let outcome = search.run(&puzzle, &start, &mut *heuristic, &mut control).expect("nothing fails");
        assert_eq!(outcome.cost, Some(2), "{}", search.name());
        let proves = matches!(search.name(), "idastar" | "astar");
        assert_eq!(outcome.proven_optimal, proves, "{}", search.name());
    }
}

#[test]
fn estimates_that_are_not_admissible_prove_nothing() {
    for search in
        [Box::new(BestFirst::a_star()) as Box<dyn Search<Pancakes>>, Box::new(IterativeDeepening { bucket: 1.0 })]
    {
        let outcome = solve_with(&*search, Pancakes::ALL, b"bacdef", &mut Misleading::new(8), &Limits::default());
        assert!(outcome.moves.is_some() && !outcome.proven_optimal, "{}", search.name());
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
