//! Beams whose layers lie on a device, here the CPU, beside beams on the host.

use costar::heuristic::zero;
use costar::puzzle::cube3::Cube3;
use costar::puzzle::lightsout::LightsOut;
use costar::puzzle::tiles::Puzzle8;
use costar::puzzle::{Move, Notation as _, Puzzle, Rules as _};
use costar::search::beam::{Beam, HashSlots};
use costar::search::best_first::BestFirst;
use costar::search::device::{DeviceEngine, RowNetwork};
use costar::search::perimeter::Perimeter;
use costar::search::{Control, End, Limit, Limits, Search, SearchResult};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tch::{Kind, Tensor};

/// The distance and the move probabilities of a state, by its row.
type Known = HashMap<Vec<u8>, (f32, Vec<f32>)>;

/// Knows every state. Moves that lead nearer are the likely ones.
struct Table {
    known: Arc<Known>,
    has_policy: bool,
}

impl RowNetwork for Table {
    fn device(&self) -> tch::Device {
        tch::Device::Cpu
    }

    fn has_policy(&self) -> bool {
        self.has_policy
    }

    fn chunk(&self) -> usize {
        1000
    }

    fn evaluate(&self, rows: &Tensor, with_policy: bool) -> (Tensor, Option<Tensor>) {
        let cells = rows.size()[1] as usize;
        let bytes: Vec<u8> = Vec::try_from(rows.flatten(0, 1)).expect("bytes");
        let known: Vec<&(f32, Vec<f32>)> = bytes.chunks(cells).map(|row| &self.known[row]).collect();
        let values: Vec<f32> = known.iter().map(|(distance, _)| *distance).collect();
        let policy: Vec<f32> = known.iter().flat_map(|(_, policy)| policy).copied().collect();
        let policy = Tensor::from_slice(&policy).view([rows.size()[0], -1]).to_kind(Kind::Float);
        (Tensor::from_slice(&values), with_policy.then(|| policy.log()))
    }
}

/// Every state with its distance from the goals, the nearest first.
fn distances<P: Puzzle>(puzzle: &P) -> Vec<(P::State, u32)> {
    let mut found: HashMap<P::State, u32> = puzzle.goals().into_iter().map(|goal| (goal, 0)).collect();
    let (mut queue, mut all) = (VecDeque::from(puzzle.goals()), Vec::new());
    while let Some(state) = queue.pop_front() {
        let distance = found[&state];
        all.push((state, distance));
        for action in 0..puzzle.move_count() as Move {
            if let Some(child) = puzzle.apply(&state, action).filter(|child| !found.contains_key(child)) {
                found.insert(child, distance + 1);
                queue.push_back(child);
            }
        }
    }
    all
}

struct Puzzles<P: Puzzle> {
    puzzle: P,
    all: Vec<(P::State, u32)>,
    known: Arc<Known>,
}

impl<P: Puzzle> Puzzles<P> {
    fn new(puzzle: P) -> Self {
        let all = distances(&puzzle);
        let by_state: HashMap<P::State, u32> = all.iter().copied().collect();
        let row = |(state, distance): &(P::State, u32)| {
            let mut row = vec![0; puzzle.encoding().cells];
            puzzle.encode(state, &mut row);
            let nearer = |action| puzzle.apply(state, action).is_some_and(|child| by_state[&child] < *distance);
            let policy = (0..puzzle.move_count() as Move).map(|action| if nearer(action) { 0.8 } else { 0.02 });
            (row, (*distance as f32, policy.collect()))
        };
        let known = Arc::new(all.iter().map(row).collect());
        Puzzles { puzzle, all, known }
    }

    fn perimeter(&self, depth: u32) -> Perimeter<P::State> {
        if depth == 0 { Perimeter::none() } else { Perimeter::new(&self.puzzle, depth) }
    }

    fn engine(&self, has_policy: bool, depth: u32) -> Option<Arc<DeviceEngine>> {
        let network = Table { known: Arc::clone(&self.known), has_policy };
        let engine = DeviceEngine::new(&self.puzzle, &self.puzzle.goals(), Box::new(network), depth, None);
        let device = engine.expect("the CPU works").map(Arc::new);
        assert!(device.is_some());
        device
    }

    fn bwas(&self, n: usize, lambda: f32, depth: u32) -> BestFirst<P::State> {
        let (perimeter, device) = (self.perimeter(depth), self.engine(false, depth));
        BestFirst { perimeter, device, ..BestFirst::bwas(n, lambda) }
    }

    fn beam(&self, n: usize, has_policy: bool, depth: u32) -> Beam<P::State> {
        let (perimeter, device) = (self.perimeter(depth), self.engine(has_policy, depth));
        let candidates = if has_policy { 2 } else { 0 };
        Beam { candidates, policy_weight: 1.0, perimeter, device, ..Beam::new(n) }
    }

    /// The same puzzle for a network that knows nothing.
    fn unknown(self) -> Self {
        let known = self.known.iter().map(|(row, (_, policy))| (row.clone(), (0.0, policy.clone())));
        Puzzles { known: Arc::new(known.collect()), ..self }
    }

    fn run(&self, beam: &impl Search<P>, start: &P::State, limits: &Limits, stop: bool) -> SearchResult {
        let (stop, mut watch) = (AtomicBool::new(stop), |_: &_| ());
        let mut control = Control::new(limits, &stop, &mut watch);
        beam.run(&self.puzzle, start, &mut zero(), &mut control).expect("the CPU works")
    }

    /// Solutions have the length that they must have, whether states are cut off or not.
    fn check(&self) {
        let every = self.all.len() / 4;
        for (n, has_policy, depth) in [(1 << 20, false, 0), (20, false, 0), (10, true, 0), (10, true, 4)] {
            let beam = self.beam(n, has_policy, depth);
            let host = Beam { device: None, candidates: 0, ..beam.clone() };
            for (start, distance) in self.all.iter().step_by(every) {
                let result = self.run(&beam, start, &Limits::default(), false);
                assert_eq!((result.end, result.cost), (End::Solved, Some(*distance)), "n {n}, depth {depth}");
                assert_eq!(
                    result,
                    SearchResult { stats: result.stats, ..self.run(&beam, start, &Limits::default(), false) }
                );
                if n > self.all.len() {
                    let on_host = self.run(&host, start, &Limits::default(), false);
                    assert_eq!((on_host.cost, on_host.proven_optimal), (result.cost, result.proven_optimal));
                }
            }
        }
    }
}

#[test]
fn a_beam_on_the_device_finds_shortest_solutions_with_exact_distances() {
    Puzzles::new(Puzzle8::default()).check();
    Puzzles::new(LightsOut::<1>::new(4)).check();
}

/// Each limit ends a search of a hardest board, the one of memory at this many bytes.
fn check_limits(run: &dyn Fn(Limits, bool) -> SearchResult, bytes: u64) {
    let nodes = run(Limits { nodes: Some(500), ..Limits::default() }, false);
    assert_eq!(nodes.end, End::Limit(Limit::Nodes));
    assert!(nodes.stats.generated <= 500 && nodes.stats.evaluated > 100, "{:?}", nodes.stats);
    let time = run(Limits { time: Some(Duration::ZERO), ..Limits::default() }, false);
    assert_eq!(time.end, End::Limit(Limit::Time));
    let memory = run(Limits { memory: Some(bytes), ..Limits::default() }, false);
    assert_eq!(memory.end, End::Limit(Limit::Memory));
    assert_eq!(run(Limits::default(), true).end, End::Limit(Limit::Stopped));
}

#[test]
fn limits_end_a_beam_on_the_device() {
    let puzzles = Puzzles::new(Puzzle8::default());
    let (start, distance) = *puzzles.all.last().expect("a hardest board");
    assert_eq!(distance, 31);
    let beam = puzzles.beam(100, true, 0);
    let run = |limits: Limits, stop| puzzles.run(&beam, &start, &limits, stop);
    check_limits(&run, 1000);
    let whole = run(Limits::default(), false);
    assert!(whole.stats.stored >= whole.stats.evaluated, "{:?}", whole.stats);
    assert!(whole.stats.generated + 1 >= whole.stats.evaluated && whole.stats.expanded > 1000, "{:?}", whole.stats);
    // If no child is cut off, the host makes the same children, and keeps the same states.
    let (near, _) = puzzles.all[3000];
    let count = |search: &Beam<_>| {
        let stats = puzzles.run(search, &near, &Limits::default(), false).stats;
        (stats.generated, stats.stored, stats.expanded, stats.iterations)
    };
    let on_device = puzzles.beam(1 << 18, false, 0);
    assert_eq!(count(&on_device), count(&Beam { device: None, ..on_device.clone() }));
}

/// Knows nothing.
struct Zero;

impl RowNetwork for Zero {
    fn device(&self) -> tch::Device {
        tch::Device::Cpu
    }

    fn has_policy(&self) -> bool {
        false
    }

    fn chunk(&self) -> usize {
        1 << 15
    }

    fn evaluate(&self, rows: &Tensor, _: bool) -> (Tensor, Option<Tensor>) {
        (Tensor::zeros([rows.size()[0]], (Kind::Float, tch::Device::Cpu)), None)
    }
}

#[test]
fn a_wide_layer_is_made_in_chunks() {
    let start = Cube3.parse("R U F L D B").expect("six moves");
    let engine = DeviceEngine::new(&Cube3, &Cube3.goals(), Box::new(Zero), 0, None).expect("the CPU works");
    let hash_slots = HashSlots::Exactly(1 << 24);
    let beam = Beam { device: engine.map(Arc::new), hash_slots, ..Beam::new(1 << 20) };
    let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
    let mut control = Control::new(&limits, &stop, &mut watch);
    let result = beam.run(&Cube3, &start, &mut zero(), &mut control).expect("the CPU works");
    assert_eq!(result.cost, Some(6));
    // The states within six moves, and a few that the table of hashes has lost.
    let states = 1 + 12 + 114 + 1068 + 10_011 + 93_840 + 878_880;
    assert!((states..states + 6000).contains(&result.stats.stored), "{:?}", result.stats);
}

#[test]
fn a_board_without_a_solution_ends() {
    let puzzles = Puzzles::new(LightsOut::<1>::new(4));
    let beam = puzzles.beam(1 << 16, false, 0);
    // One light alone: no presses put it out, and the table of distances has no row for it.
    let known: Known = (0..1u32 << 16)
        .map(|lights| ((0..16).map(|cell| (lights >> cell & 1) as u8).collect(), (3.0, vec![1.0 / 16.0; 16])))
        .collect();
    let network = Table { known: Arc::new(known), has_policy: false };
    let engine =
        DeviceEngine::new(&puzzles.puzzle, &puzzles.puzzle.goals(), Box::new(network), 0, None).expect("the CPU works");
    let beam = Beam { device: engine.map(Arc::new), ..beam };
    let result = puzzles.run(&beam, &[1], &Limits::default(), false);
    assert!(matches!(result.end, End::NoSolution | End::Limit(Limit::Width)), "{:?}", result.end);
    assert!(result.stats.evaluated >= 4096);
}

/// Batch-weighted A* finds shortest solutions with exact distances, and the same ones when it is run again.
fn check_bwas<P: Puzzle>(puzzles: &Puzzles<P>) {
    let every = puzzles.all.len() / 3;
    for (n, lambda, depth) in [(1, 1.0, 0), (30, 1.0, 0), (1000, 0.6, 0), (30, 0.6, 4)] {
        let search = puzzles.bwas(n, lambda, depth);
        for (start, distance) in puzzles.all.iter().step_by(every) {
            let result = puzzles.run(&search, start, &Limits::default(), false);
            assert_eq!((result.end, result.cost), (End::Solved, Some(*distance)), "n {n}, λ {lambda}, depth {depth}");
            if n == 30 {
                let again = puzzles.run(&search, start, &Limits::default(), false);
                assert_eq!(result, SearchResult { stats: result.stats, ..again });
            }
            assert!(result.stats.iterations >= u64::from(distance.saturating_sub(depth)), "{:?}", result.stats);
        }
    }
}

#[test]
fn bwas_on_the_device_finds_shortest_solutions_with_exact_distances() {
    check_bwas(&Puzzles::new(Puzzle8::default()));
    check_bwas(&Puzzles::new(LightsOut::<1>::new(4)));
}

#[test]
fn bwas_on_the_device_stores_what_it_stores_on_the_host() {
    // A network that knows nothing, and wide steps: each step is a layer.
    let puzzles = Puzzles::new(Puzzle8::default()).unknown();
    // The last step from the second start makes more children than are made at a time.
    let [(start, distance), (far, _)] = [3000, 120_000].map(|at| puzzles.all[at]);
    let run = |start, depth| {
        let search = puzzles.bwas(1 << 20, 1.0, depth);
        let on_host = BestFirst { device: None, ..search.clone() };
        let run = |search: &BestFirst<_>| puzzles.run(search, start, &Limits::default(), false);
        (run(&search), run(&on_host))
    };
    let count = |result: &SearchResult| {
        let stats = result.stats;
        (result.cost, stats.generated, stats.stored, stats.expanded, stats.iterations)
    };
    for start in [&start, &far] {
        let (result, on_host) = run(start, 0);
        assert_eq!(count(&result), count(&on_host));
    }
    // A solution through the perimeter makes all other states of its layer too costly; the host has stored some before it.
    let (result, on_host) = run(&start, 4);
    assert_eq!((result.cost, result.proven_optimal, on_host.cost), (Some(distance), true, Some(distance)));
    assert!(result.stats.stored <= on_host.stats.stored, "{:?}, {:?}", result.stats, on_host.stats);
}

#[test]
fn bwas_on_the_device_goes_on_until_nothing_better_exists() {
    // Greedy, with wrong estimates: paths become cheaper again and again, and stored states are opened again.
    let Puzzles { puzzle, all, known } = Puzzles::new(Puzzle8::default());
    let wrong = |(row, (distance, policy)): (&Vec<u8>, &(f32, Vec<f32>))| {
        (row.clone(), ((distance - 20.0).abs() + f32::from(row[0]), policy.clone()))
    };
    let known = Arc::new(known.iter().map(wrong).collect());
    let puzzles = Puzzles { puzzle, all, known };
    // The device knows fewer states near the goals than the perimeter.
    let device = puzzles.engine(false, 3);
    let search = BestFirst { max_stale_steps: None, device, ..puzzles.bwas(2000, 0.1, 6) };
    let (start, distance) = puzzles.all[puzzles.all.len() / 2];
    let result = puzzles.run(&search, &start, &Limits::default(), false);
    assert_eq!((result.cost, result.proven_optimal), (Some(distance), true), "{:?}", result.stats);
    assert!(result.stats.stored > 10_000 && result.stats.expanded > result.stats.stored, "{:?}", result.stats);
}

#[test]
fn limits_end_bwas_on_the_device() {
    let puzzles = Puzzles::new(Puzzle8::default()).unknown();
    let (start, _) = *puzzles.all.last().expect("a hardest board");
    let search = puzzles.bwas(2000, 1.0, 0);
    let run = |limits: Limits, stop| puzzles.run(&search, &start, &limits, stop);
    check_limits(&run, 10);
    // A fifth of all boards fit: the open list is pruned, and the search goes on.
    let memory = run(Limits { memory: Some(8 << 20), ..Limits::default() }, false);
    assert!(memory.stats.pruned > 1000, "{:?}", memory.stats);
    assert!(memory.cost.is_some_and(|cost| cost >= 31) || memory.end == End::Limit(Limit::Memory), "{:?}", memory.end);
    let whole = run(Limits::default(), false);
    assert_eq!((whole.end, whole.cost), (End::Solved, Some(31)));
    assert!(whole.stats.stored >= whole.stats.evaluated, "{:?}", whole.stats);
    // More nodes than are expanded at a time.
    let wide = puzzles.run(&puzzles.bwas(100_000, 1.0, 0), &start, &Limits::default(), false);
    assert_eq!((wide.end, wide.cost, wide.stats.iterations), (End::Solved, Some(31), 31), "{:?}", wide.stats);
}

#[test]
fn bwas_on_the_device_sees_that_there_is_no_solution() {
    let puzzles = Puzzles::new(LightsOut::<1>::new(4));
    let row = |lights: u32| (0..16).map(|cell| (lights >> cell & 1) as u8).collect();
    let known = (0..1u32 << 16).map(|lights| (row(lights), (3.0, vec![1.0 / 16.0; 16]))).collect();
    let puzzles = Puzzles { known: Arc::new(known), ..puzzles };
    let result = puzzles.run(&puzzles.bwas(1000, 1.0, 0), &[1], &Limits::default(), false);
    assert_eq!((result.end, result.stats.stored), (End::NoSolution, 4096), "every state once");
}
