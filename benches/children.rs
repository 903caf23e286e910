//! Children that the batch searches generate a second, on one thread and on all cores, with a heuristic that costs next to
//! nothing: the host's work where a GPU does the rest. For comparison, what the machine allows: as many independent searches
//! side by side, with a thread each, and the time of a cache line from one thread to another and back, for cores that share no
//! cache are slower together.
//!
//! ```sh
//! cargo bench --bench children             # or some: -- candidates
//! ```

use anyhow::{Result, anyhow};
use costar::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use costar::puzzle::Notation as _;
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::search::beam::Beam;
use costar::search::best_first::BestFirst;
use costar::search::perimeter::Perimeter;
use costar::search::{Control, Limits, Search};
use foldhash::fast::FixedState;
use ndarray::{Array2, s};
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

const ROUNDS: usize = 5;

const CHUNK: usize = 1 << 15;

/// Searches side by side at most: the estimates of each take 0.6 GB.
const MAX_SIDE_BY_SIDE: usize = 8;

/// Children that a search generates in a round.
const CHILDREN: u64 = 6_000_000;

/// Gives the estimates of a chunk by position, whatever the states are. They are made before the search.
struct FreeHeuristic {
    done: VecDeque<Estimates>,
    ready: Vec<Estimates>,
    values: Vec<f32>,
    policy: Array2<f32>,
}

impl Default for FreeHeuristic {
    fn default() -> Self {
        let probability = |(i, action): (usize, usize)| [0.2, 0.025, 0.025][(i + action) % 3];
        let values = (0..CHUNK).map(|i| (FixedState::default().hash_one(i) % 64) as f32 / 4.0).collect();
        FreeHeuristic {
            done: VecDeque::new(),
            ready: Vec::new(),
            values,
            policy: Array2::from_shape_fn((CHUNK, 12), probability),
        }
    }
}

impl FreeHeuristic {
    /// With estimates for this many chunks.
    fn with_ready(chunks: usize, query: Query) -> Self {
        let mut free = FreeHeuristic::default();
        free.ready = (0..chunks).map(|_| free.of(CHUNK, query)).collect();
        free
    }

    fn of(&self, count: usize, query: Query) -> Estimates {
        let policy = (query == Query::ValuesAndPolicy).then(|| self.policy.slice(s![..count, ..]).to_owned());
        Estimates { values: self.values[..count].to_vec(), policy }
    }
}

impl Heuristic<CubeState> for FreeHeuristic {
    fn name(&self) -> &str {
        "free"
    }

    fn chunk(&self) -> usize {
        CHUNK
    }

    fn max_in_flight(&self) -> usize {
        1
    }

    fn has_policy(&self) -> bool {
        true
    }

    fn submit(&mut self, states: &[CubeState], query: Query) -> Result<(), HeuristicError> {
        let part = |Estimates { mut values, policy }| {
            values.truncate(states.len());
            Estimates { values, policy: policy.map(|rows| rows.slice_move(s![..states.len(), ..])) }
        };
        let ready = self.ready.pop().map(part);
        self.done.push_back(ready.unwrap_or_else(|| self.of(states.len(), query)));
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        Ok(self.done.pop_front().expect("a chunk was submitted"))
    }
}

/// Children a second of one of several searches that begin together.
fn rate(search: &dyn Search<Cube3>, query: Query, threads: usize, begin: &Barrier) -> Result<f64> {
    let mut free = FreeHeuristic::with_ready(2 * CHILDREN as usize / CHUNK, query);
    let start = Cube3.parse("U U F U U R' L F F U F' B' R L U U R U D' R L' D R' L' D D")?;
    let limits = Limits { nodes: Some(CHILDREN), ..Limits::default() };
    let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
    begin.wait();
    let mut control = Control::new(&limits, &stop, &mut watch).with_threads(threads);
    let started = Instant::now();
    let result = search.run(&Cube3, &start, &mut free, &mut control).map_err(|error| anyhow!("{error}"))?;
    Ok(result.stats.generated as f64 / started.elapsed().as_secs_f64())
}

/// Children a second of one search.
fn rate_alone(search: &dyn Search<Cube3>, query: Query, threads: usize) -> Result<f64> {
    rate(search, query, threads, &Barrier::new(1))
}

/// Children a second of this many searches side by side, with a thread each, extrapolated from those that are measured.
fn rate_side_by_side(search: &dyn Search<Cube3>, query: Query, searches: usize) -> Result<f64> {
    let measured = searches.min(MAX_SIDE_BY_SIDE);
    let begin = Barrier::new(measured);
    let rates: Result<Vec<f64>> = thread::scope(|scope| {
        let running: Vec<_> = (0..measured).map(|_| scope.spawn(|| rate(search, query, 1, &begin))).collect();
        running.into_iter().map(|search| search.join().map_err(|_| anyhow!("a search has panicked"))?).collect()
    });
    Ok(rates?.iter().sum::<f64>() * searches as f64 / measured as f64)
}

fn main() -> Result<()> {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    let perimeter = Perimeter::new(&Cube3, 6);
    let candidates = Beam { candidates: 2, policy_weight: 1.5, ..Beam::new(100_000) };
    let (values, policy) = (Query::Values, Query::ValuesAndPolicy);
    let searches: [(&str, Query, Box<dyn Search<Cube3>>); 5] = [
        ("beam, all children", values, Box::new(Beam::new(100_000))),
        ("beam, candidates", policy, Box::new(candidates.clone())),
        ("beam, candidates, perimeter", policy, Box::new(Beam { perimeter, ..candidates })),
        ("bwas", values, Box::new(BestFirst::bwas(10_000, 0.6))),
        ("bwas, deferred", policy, Box::new(BestFirst { deferred: Some(1.0), ..BestFirst::bwas(20_000, 0.6) })),
    ];
    println!(
        "medians of {ROUNDS} rounds: million children a second on one thread and on all cores, their ratio, and the ratio"
    );
    println!("for {cores} searches with a thread each; the time of a cache line to another thread and back\n");
    let threads = format!("{cores} threads");
    println!("{:<28} {:>10} {threads:>12} {:>6} {:>12} {:>9}", "search", "1 thread", "times", "side by side", "line");
    let named = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    for (name, query, search) in searches.iter().filter(|(name, ..)| name.contains(&named)) {
        let (mut one, mut all, mut times, mut side_by_side, mut trips) = (vec![], vec![], vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            let (search, query) = (&**search, *query);
            let (single, together) = (rate_alone(search, query, 1)?, rate_alone(search, query, cores)?);
            one.push(single / 1e6);
            all.push(together / 1e6);
            times.push(together / single);
            side_by_side.push(rate_side_by_side(search, query, cores)? / single);
            trips.push(if cores > 1 { nanoseconds_there_and_back() } else { 0.0 });
        }
        let [one, all, times, side_by_side, trip] = [one, all, times, side_by_side, trips].map(median);
        println!("{name:<28} {one:>10.2} {all:>12.2} {times:>6.2} {side_by_side:>12.2} {trip:>6.0} ns");
    }
    Ok(())
}

/// The time of a cache line from one thread to another and back, at best: less than 100 ns between cores that share a cache,
/// 300 ns between others. A virtual machine may have either at any time.
fn nanoseconds_there_and_back() -> f64 {
    const TRIPS: usize = 20_000;
    let turn = AtomicUsize::new(0);
    let take_turns = |mine: usize| {
        for own in (mine..).step_by(2).take(TRIPS) {
            let mut looks = 0u64;
            while turn.load(Ordering::Acquire) != own {
                looks += 1;
                if looks.is_multiple_of(4096) {
                    thread::yield_now(); // both threads may share a core
                }
            }
            turn.store(own + 1, Ordering::Release);
        }
    };
    let trial = |_| {
        turn.store(0, Ordering::Release);
        let started = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| take_turns(1));
            take_turns(0);
        });
        started.elapsed().as_nanos() as f64 / TRIPS as f64
    };
    (0..5).map(trial).fold(f64::INFINITY, f64::min)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
