//! Searches shared by several ranks or threads give the same solution.

use costar::exchange::Exchange;
use costar::heuristic::{Estimates, Heuristic, HeuristicError, Query, zero};
use costar::puzzle::cube3::Cube3;
use costar::puzzle::{Notation as _, Puzzle, Rules as _, replay};
use costar::random::generator;
use costar::registry::{Entry, find, with_entry};
use costar::search::beam::{Beam, HashSlots};
use costar::search::best_first::BestFirst;
use costar::search::device::{DeviceEngine, RowNetwork};
use costar::search::perimeter::{Extent, Perimeter};
use costar::search::symmetric_images::ImageSearch;
use costar::search::{Control, End, Limit, Limits, Search, SearchResult, Stats};
use foldhash::fast::FixedState;
use ndarray::Array2;
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;
use tch::Tensor;

/// The messages of ranks that are threads of one process.
struct Mailboxes {
    size: usize,
    /// By receiver and sender.
    messages: Mutex<Vec<Vec<Vec<u8>>>>,
    barrier: Barrier,
}

impl Mailboxes {
    fn new(size: usize) -> Self {
        let messages = Mutex::new(vec![vec![Vec::new(); size]; size]);
        Mailboxes { size, messages, barrier: Barrier::new(size) }
    }
}

struct Rank<'a> {
    rank: usize,
    mailboxes: &'a Mailboxes,
}

impl Exchange for Rank<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.mailboxes.size
    }

    fn all_to_all(&self, to: Vec<Vec<u8>>) -> costar::Result<Vec<Vec<u8>>> {
        assert_eq!(to.len(), self.mailboxes.size);
        for (message, received) in to.into_iter().zip(&mut *self.mailboxes.messages.lock().expect("no rank panics")) {
            received[self.rank] = message;
        }
        self.mailboxes.barrier.wait();
        let own = self.mailboxes.messages.lock().expect("no rank panics")[self.rank].clone();
        self.mailboxes.barrier.wait();
        Ok(own)
    }

    fn sum(&self, _: Vec<f32>) -> costar::Result<Vec<f32>> {
        panic!("a search sums nothing")
    }
}

/// Counts the cells that differ from the goal, and errs by up to one and a half moves. Its move probabilities are arbitrary.
struct Erring<'a, P: Puzzle> {
    puzzle: &'a P,
    goal: Vec<u8>,
    has_policy: bool,
    done: VecDeque<Estimates>,
}

impl<'a, P: Puzzle> Erring<'a, P> {
    fn new(puzzle: &'a P, goal: &P::State, has_policy: bool) -> Self {
        Erring { puzzle, goal: row(puzzle, goal), has_policy, done: VecDeque::new() }
    }

    fn guess(&self, state: &P::State) -> f32 {
        let differ = row(self.puzzle, state).iter().zip(&self.goal).filter(|(a, b)| a != b).count();
        differ as f32 / 2.0 + (FixedState::default().hash_one(state) % 64) as f32 / 42.0
    }
}

/// The same, from rows.
struct ErringRows {
    goal: Vec<u8>,
    moves: usize,
}

impl RowNetwork for ErringRows {
    fn device(&self) -> tch::Device {
        tch::Device::Cpu
    }

    fn has_policy(&self) -> bool {
        true
    }

    fn chunk(&self) -> usize {
        50
    }

    fn evaluate(&self, rows: &Tensor, with_policy: bool) -> (Tensor, Option<Tensor>) {
        let cells = self.goal.len();
        let bytes: Vec<u8> = Vec::try_from(rows.flatten(0, 1)).expect("bytes");
        let share = |hash: u64| (hash >> 40) as f32 / (1 << 24) as f32;
        let guess = |row: &[u8]| {
            let differ = row.iter().zip(&self.goal).filter(|(a, b)| a != b).count();
            differ as f32 / 2.0 + 1.5 * share(FixedState::default().hash_one(row))
        };
        let probability = |row: &[u8], action: usize| share(FixedState::default().hash_one((row, action)));
        let values: Vec<f32> = bytes.chunks(cells).map(guess).collect();
        let policy: Vec<f32> =
            bytes.chunks(cells).flat_map(|row| (0..self.moves).map(move |action| probability(row, action))).collect();
        let policy = Tensor::from_slice(&policy).view([rows.size()[0], self.moves as i64]);
        (Tensor::from_slice(&values), with_policy.then(|| policy.log()))
    }
}

fn row<P: Puzzle>(puzzle: &P, state: &P::State) -> Vec<u8> {
    let mut row = vec![0; puzzle.encoding().cells];
    puzzle.encode(state, &mut row);
    row
}

impl<P: Puzzle> Heuristic<P::State> for Erring<'_, P> {
    fn name(&self) -> &str {
        "erring"
    }

    fn chunk(&self) -> usize {
        50
    }

    fn max_in_flight(&self) -> usize {
        1
    }

    fn has_policy(&self) -> bool {
        self.has_policy
    }

    fn submit(&mut self, states: &[P::State], query: Query) -> Result<(), HeuristicError> {
        let values = states.iter().map(|state| self.guess(state)).collect();
        let probability =
            |(i, action): (usize, usize)| (FixedState::default().hash_one((&states[i], action)) % 1000) as f32 / 1000.0;
        let policy = (self.has_policy && query == Query::ValuesAndPolicy)
            .then(|| Array2::from_shape_fn((states.len(), self.puzzle.move_count()), probability));
        self.done.push_back(Estimates { values, policy });
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        Ok(self.done.pop_front().expect("a chunk was submitted"))
    }
}

/// Runs a search on several ranks, each with several threads; returns the result of each rank. Ranks take the searches in turn.
fn shared<P: Puzzle>(
    puzzle: &P,
    searches: &[&dyn Search<P>],
    start: &P::State,
    goal: &P::State,
    limits: &Limits,
    (ranks, threads): (usize, usize),
) -> Vec<SearchResult> {
    let mailboxes = Mailboxes::new(ranks);
    let run = |rank: usize| {
        let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
        let exchange = Rank { rank, mailboxes: &mailboxes };
        let mut control = Control::new(limits, &stop, &mut watch).with_exchange(&exchange).with_threads(threads);
        let mut heuristic = Erring::new(puzzle, goal, true);
        searches[rank % searches.len()].run(puzzle, start, &mut heuristic, &mut control).expect("no rank fails")
    };
    thread::scope(|scope| {
        let ranks: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || run(rank))).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no rank panics")).collect()
    })
}

fn beams<P: Puzzle>(n: usize, perimeter: &Perimeter<P::State>) -> [Beam<P::State>; 3] {
    let wide = Beam { candidates: 2, policy_weight: 0.5, ..Beam::new(n) };
    [Beam::new(n / 2), wide.clone(), Beam { perimeter: perimeter.clone(), ..wide }]
}

/// Solves instances of a puzzle with one, two and three ranks; counts the solved ones, and those that were refined.
fn compare<P: Puzzle>(entry: &Entry<P>, n: usize, instances: u64, on_device: bool) -> (usize, usize) {
    let puzzle = &**entry.puzzle();
    let goal = entry.goals()[0];
    let perimeter = Perimeter::within(puzzle, 3, 200_000, &AtomicBool::new(false));
    let (mut solved, mut refined) = (0, 0);
    for number in 0..instances {
        let scramble = entry.scramble(Some(4 + 3 * number), &mut generator(29, number));
        let (_, start) = scramble.expect("the puzzle can be scrambled");
        for (kind, beam) in beams::<P>(n, &perimeter).into_iter().enumerate() {
            // A refinement that the limit ends is not the same on several ranks.
            let nodes = if on_device && kind == 2 { 400_000 } else { 100 * n as u64 };
            let limits = Limits { nodes: Some(nodes), ..Limits::default() };
            let device = || on_device.then(|| engine(puzzle, &goal, kind));
            let beam = || Beam { device: device(), hash_slots: HashSlots::Exactly(1 << 20), ..beam.clone() };
            let beams = [beam(), beam(), beam()];
            let searches = beams.each_ref().map(|beam| beam as &dyn Search<P>);
            let run = |ranks, threads| shared(puzzle, &searches, &start, &goal, &limits, (ranks, threads));
            let alone = run(1, 1).remove(0);
            let about = format!("{}, instance {number}, beam {kind}", puzzle.name());
            if let Some(moves) = &alone.moves {
                let (end, cost) = replay(puzzle, &start, moves).expect("legal moves");
                assert!(puzzle.is_goal(&end) && Some(cost) == alone.cost, "{about}");
                solved += 1;
                refined += usize::from(kind == 2 && alone.stats.iterations > 0);
            }
            for ranks in [2, 3] {
                for result in run(ranks, 1) {
                    // Several ranks check the limit of nodes once a layer.
                    if alone.end != End::Limit(Limit::Nodes) {
                        let expected = (alone.end, &alone.moves, alone.cost);
                        assert_eq!((result.end, &result.moves, result.cost), expected, "{about}, {ranks} ranks");
                    }
                }
            }
        }
    }
    (solved, refined)
}

/// A device for one rank of a kind of beam.
fn engine<P: Puzzle>(puzzle: &P, goal: &P::State, kind: usize) -> Arc<DeviceEngine> {
    let network = ErringRows { goal: row(puzzle, goal), moves: puzzle.move_count() };
    let depth = if kind == 2 { 3 } else { 0 };
    let engine = DeviceEngine::new(puzzle, &[*goal], Box::new(network), depth, None).expect("the CPU works");
    Arc::new(engine.expect("a table of moves"))
}

#[test]
fn a_beam_on_devices_gives_the_same_solution_on_any_number_of_ranks() {
    let (mut solved, mut refined) = (0, 0);
    for name in ["cube2", "cube3", "puzzle8", "puzzle15", "lightsout3", "pyraminx", "lrx9"] {
        let any = find(name, None).expect("there is such a puzzle");
        let found = with_entry!(any, entry => compare(&entry, 60, 2, true));
        assert!(found.0 > 0, "{name} is never solved");
        solved += found.0;
        refined += found.1;
    }
    assert!(solved > 20 && refined > 3, "{solved} solved, {refined} of them through a layer and a perimeter");
}

#[test]
fn a_beam_gives_the_same_solution_on_any_number_of_ranks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/puzzles");
    let files = ["cube2", "cube3-quarter-turns", "cuboid223", "lrx9", "pyraminx", "skewb", "topspin20"];
    let files = files.map(|name| folder.join(name).with_extension("json").to_str().expect("a plain path").to_owned());
    let rules = [
        "cube2",
        "cube3",
        "cube3:htm",
        "puzzle8",
        "puzzle15",
        "puzzle24",
        "puzzle35",
        "puzzle48",
        "lightsout3",
        "lightsout9",
        "lightsout12",
    ];
    let (mut solved, mut refined) = (0, 0);
    for name in rules.map(str::to_owned).iter().chain(&files) {
        let any = find(name, None).expect("there is such a puzzle");
        let found = with_entry!(any, entry => compare(&entry, 60, 2, false));
        assert!(found.0 > 0, "{name} is never solved");
        solved += found.0;
        refined += found.1;
    }
    assert!(solved > 60 && refined > 15, "{solved} solved, {refined} of them through a layer and a perimeter");
}

#[test]
fn a_beam_gives_the_same_solution_on_any_number_of_threads() {
    let (goal, perimeter) = (Cube3.parse("").expect("solved"), Perimeter::new(&Cube3, 3));
    let start = Cube3.parse("R U F2 L' D B2 R2 U'").expect("a scramble");
    for (kind, beam) in beams::<Cube3>(6000, &perimeter).into_iter().enumerate() {
        let run = |nodes, threads| {
            let limits = Limits { nodes: Some(nodes), ..Limits::default() };
            shared(&Cube3, &[&beam], &start, &goal, &limits, (1, threads)).remove(0)
        };
        for nodes in [60_001, 150_000] {
            let run = |threads| run(nodes, threads);
            let alone = run(1);
            assert!(alone.stats.generated > 60_000, "{} generated", alone.stats.generated);
            for threads in [2, 3, 16] {
                let result = run(threads);
                let about = format!("beam {kind}, {nodes} nodes, {threads} threads");
                assert_eq!((result.end, &result.moves), (alone.end, &alone.moves), "{about}");
                let stats = Stats { seconds: alone.stats.seconds, ..result.stats };
                assert_eq!(stats, alone.stats, "{about}");
            }
        }
    }
}

#[test]
fn ranks_agree_where_a_layer_is_generated_in_blocks() {
    let goal = Cube3.parse("").expect("solved");
    let start = Cube3.parse("R U F2 L' D B2 R2 U' F").expect("a scramble");
    // The children of 10,922 states are generated at a time; a rank of three has some 12,000.
    let beam = Beam { perimeter: Perimeter::new(&Cube3, 3), ..Beam::new(36_000) };
    let run = |ranks| shared(&Cube3, &[&beam], &start, &goal, &Limits::default(), (ranks, 1));
    let alone = run(1).remove(0);
    assert!(alone.moves.is_some() && alone.stats.generated > 1_000_000, "{:?}", alone.stats);
    for result in [run(2), run(3)].concat() {
        assert_eq!((result.end, &result.moves), (alone.end, &alone.moves));
    }
}

#[test]
fn a_batch_search_gives_the_same_solution_on_any_number_of_threads() {
    let goal = Cube3.parse("").expect("solved");
    let start = Cube3.parse("R U F2 L' D B2 R2 U' F L2 B D'").expect("a scramble");
    let full = BestFirst { max_stale_steps: Some(2), ..BestFirst::bwas(3000, 0.6) };
    let searches = [
        BestFirst::bwas(3000, 0.6),
        BestFirst { perimeter: Perimeter::new(&Cube3, 4), ..full.clone() },
        BestFirst { deferred: Some(1.0), ..full.clone() },
        BestFirst { max_stale_steps: None, lambda: 1.0, ..full },
    ];
    for (kind, search) in searches.into_iter().enumerate() {
        let limits = Limits { nodes: Some(200_000), ..Limits::default() };
        let run = |threads| {
            let result = shared(&Cube3, &[&search], &start, &goal, &limits, (1, threads)).remove(0);
            SearchResult { stats: Stats { seconds: 0.0, ..result.stats }, ..result }
        };
        let alone = run(1);
        assert!(alone.stats.generated > 100_000, "kind {kind}: {} generated", alone.stats.generated);
        for threads in [2, 3, 16] {
            assert_eq!(run(threads), alone, "kind {kind}, {threads} threads");
        }
    }
}

#[test]
fn a_batch_search_stores_each_state_once() {
    let start = Cube3.parse("R U F2 L' D B2 R2 U' F L2 B D'").expect("a scramble");
    // The states within 5 moves, and the children of those within 4.
    let (states, children) = (105_046, 12 * 11_206);
    for threads in [1, 2, 3, 16] {
        let limits = Limits { nodes: Some(children), ..Limits::default() };
        let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
        let mut control = Control::new(&limits, &stop, &mut watch).with_threads(threads);
        let search = BestFirst::bwas(1 << 20, 1.0);
        let result = search.run(&Cube3, &start, &mut zero(), &mut control).expect("no estimate fails");
        assert_eq!((result.end, result.stats.generated), (End::Limit(Limit::Nodes), children), "{threads} threads");
        assert_eq!(result.stats.stored, states, "{threads} threads");
    }
}

#[test]
fn ranks_share_images_and_a_perimeter_of_classes() {
    let symmetries = Cube3.symmetries().expect("the cube knows its symmetries");
    let (stop, extent) = (AtomicBool::new(false), Extent { depth: 4, bytes: u64::MAX, time: None, count_last: false });
    let perimeter = Perimeter::of_classes(&Cube3, symmetries, extent, &stop, &mut |_| ()).expect("it was not stopped");
    let goal = Cube3.parse("").expect("the solved cube");
    let mut solved = 0;
    for scramble in ["R U F2 L' D", "F D2 R' B U2"] {
        let start = Cube3.parse(scramble).expect("a scramble");
        let beam = Beam { candidates: 3, policy_weight: 0.5, perimeter: perimeter.clone(), ..Beam::new(500) };
        let search = ImageSearch { search: Box::new(beam), count: 3 };
        let run = |ranks| shared(&Cube3, &[&search], &start, &goal, &Limits::default(), (ranks, 2));
        let alone = run(1).remove(0);
        for result in run(3) {
            assert_eq!((result.end, &result.moves), (alone.end, &alone.moves), "{scramble}");
        }
        solved += usize::from(alone.cost.is_some());
    }
    assert!(solved > 0, "{solved} solved");
}

#[test]
fn a_limit_of_one_rank_ends_all() {
    let (goal, start) =
        (Cube3.parse("").expect("solved"), Cube3.parse("R U F2 L' D B2 R2 U' F L2 B D' R F").expect("a scramble"));
    let search = ImageSearch { search: Box::new(Beam::new(3000)), count: 4 };
    let mailboxes = Mailboxes::new(2);
    let run = |rank: usize| {
        // Only the second rank reaches its limit of time.
        let limits =
            Limits { time: Some(Duration::from_millis(if rank == 0 { 3_600_000 } else { 300 })), ..Limits::default() };
        let (stop, mut watch, exchange) = (AtomicBool::new(false), |_: &_| (), Rank { rank, mailboxes: &mailboxes });
        let mut control = Control::new(&limits, &stop, &mut watch).with_exchange(&exchange);
        search.run(&Cube3, &start, &mut Erring::new(&Cube3, &goal, false), &mut control).expect("no rank fails").end
    };
    let ends = thread::scope(|scope| {
        let ranks: Vec<_> = (0..2).map(|rank| scope.spawn(move || run(rank))).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no rank panics")).collect::<Vec<_>>()
    });
    assert_eq!(ends, [End::Limit(Limit::Time); 2]);
}
