//! Symmetric images searched at the same time.

use crate::mocks::{Roundabout, scrambled};
use costar::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::{Cost, Rules as _, SymmetricImage, replay};
use costar::random::generator;
use costar::search::perimeter::Perimeter;
use costar::search::symmetric_images::ImageSearch;
use costar::search::{Control, End, Incumbent, Limit, Limits, Progress, Search, SearchResult, Stats, Task};
use foldhash::fast::FixedState;
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const IMAGES: usize = 4;

/// A device with misleading estimates that takes as long for any chunk. Those that share it count together.
#[derive(Default)]
struct Device {
    done: VecDeque<Estimates>,
    /// Chunks that it has evaluated, those that it evaluates now, and the most at once.
    chunks: Arc<AtomicUsize>,
    busy: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
    fails_after: Option<usize>,
}

fn guess(state: &CubeState) -> f32 {
    (FixedState::default().hash_one(state) % 16) as f32
}

impl Heuristic<CubeState> for Device {
    fn name(&self) -> &str {
        "device"
    }

    fn chunk(&self) -> usize {
        1 << 15
    }

    fn max_in_flight(&self) -> usize {
        4
    }

    fn submit(&mut self, states: &[CubeState], _: Query) -> Result<(), HeuristicError> {
        let chunks = self.chunks.fetch_add(1, Ordering::SeqCst);
        if self.fails_after.is_some_and(|most| chunks >= most) {
            return Err(HeuristicError("the device is gone".into()));
        }
        self.most_at_once.fetch_max(1 + self.busy.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        thread::sleep(Duration::from_millis(1));
        self.busy.fetch_sub(1, Ordering::SeqCst);
        self.done.push_back(Estimates { values: states.iter().map(guess).collect(), policy: None });
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        Ok(self.done.pop_front().expect("a chunk was submitted"))
    }

    fn share(&self) -> Option<Box<dyn Heuristic<CubeState>>> {
        let (chunks, busy) = (Arc::clone(&self.chunks), Arc::clone(&self.busy));
        let most_at_once = Arc::clone(&self.most_at_once);
        Some(Box::new(Device { done: VecDeque::new(), chunks, busy, most_at_once, ..*self }))
    }
}

/// A search that evaluates every state on a known path.
struct Asking(Roundabout);

fn way_within_five_moves() -> Asking {
    Asking(Roundabout(Perimeter::new(&Cube3, 5)))
}

impl Search<Cube3> for Asking {
    fn solve(&self, task: Task<'_, '_, Cube3>) -> Result<SearchResult, HeuristicError> {
        let Task { start, heuristic, control, .. } = task;
        let (mut state, mut stats) = (*start, Stats::default());
        for action in self.0.way(start) {
            heuristic.submit(&[state, *start], Query::Values)?;
            assert_eq!(heuristic.collect()?.values, [guess(&state), guess(start)]);
            state = Cube3.apply(&state, action).expect("a cube can be turned");
            stats.generated += 1;
            control.report_counts(&stats);
        }
        Ok(self.0.answer(start, stats, control))
    }
}

fn asking(together: bool) -> ImageSearch<Cube3> {
    ImageSearch { search: Box::new(way_within_five_moves()), count: IMAGES, together }
}

fn run(
    search: &dyn Search<Cube3>,
    start: &CubeState,
    device: &mut Device,
) -> (SearchResult, Vec<Incumbent>, Vec<Progress>) {
    let (mut incumbents, mut seen) = (Vec::new(), Vec::new());
    let (stop, limits) = (AtomicBool::new(false), Limits::default());
    let result = {
        let mut on_incumbent = |incumbent: &Incumbent| incumbents.push(incumbent.clone());
        let mut watch = |progress: &Progress| seen.push(*progress);
        let mut control = Control::new(&limits, &stop, &mut watch).with_incumbents(&mut on_incumbent);
        search.run(&Cube3, start, device, &mut control).expect("the device works")
    };
    (result, incumbents, seen)
}

#[test]
fn images_that_are_searched_together_share_the_heuristic() {
    let (mut device, mut other) = (Device::default(), Device::default());
    for number in 0..20 {
        let start = scrambled(&Cube3, 5, &mut generator(31, number));
        let of_image = |image: SymmetricImage<CubeState>| {
            let (result, ..) = run(&way_within_five_moves(), &image.start, &mut Device::default());
            (result.cost, result.moves.map(|moves| image.solution(&moves)), result.stats.generated)
        };
        let alone: Vec<_> = Cube3.symmetric_images(&start).take(IMAGES).map(of_image).collect();
        let (result, incumbents, seen) = run(&asking(true), &start, &mut device);
        let (one_by_one, ..) = run(&asking(false), &start, &mut other);
        assert_eq!((result.cost, &result.moves), (one_by_one.cost, &one_by_one.moves));
        assert_eq!(result.stats.generated, alone.iter().map(|(.., generated)| generated).sum::<u64>());
        // The solution is that of the first image with the best one, however fast each of them was.
        let best = alone.iter().filter_map(|(cost, ..)| *cost).min();
        let first = alone.into_iter().find(|(cost, ..)| *cost == best).expect("an image is solved");
        assert_eq!((result.cost, &result.moves), (first.0, &first.1));
        for incumbent in &incumbents {
            let (end, cost) = replay(&Cube3, &start, &incumbent.moves).expect("legal moves");
            assert!(Cube3.is_goal(&end) && cost == incumbent.cost);
        }
        assert!(incumbents.windows(2).all(|pair| pair[1].cost < pair[0].cost), "only better solutions are reported");
        assert_eq!(incumbents.last().map(|incumbent| incumbent.cost), result.cost);
        let most = seen.iter().map(|progress| progress.stats.generated).max().expect("progress");
        assert_eq!(most, result.stats.generated, "progress is that of all images");
        assert!(seen.windows(2).all(|pair| pair[1].stats.seconds >= pair[0].stats.seconds), "time only grows");
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    assert_eq!(count(&device.chunks), count(&other.chunks));
    assert_eq!(count(&device.most_at_once), IMAGES, "all images are searched at the same time, the first too");
    assert_eq!(count(&other.most_at_once), 1);
}

/// An image, and the bound that its search was given.
type Bounded = (CubeState, Option<Cost>);

/// A search with a quick first pass that remembers its arguments.
#[derive(Clone)]
struct Quick {
    way: Arc<Roundabout>,
    first: Arc<Mutex<Vec<CubeState>>>,
    bounds: Arc<Mutex<Vec<Bounded>>>,
}

impl Search<Cube3> for Quick {
    fn solve(&self, task: Task<'_, '_, Cube3>) -> Result<SearchResult, HeuristicError> {
        let Task { start, control, .. } = task;
        self.bounds.lock().unwrap().push((*start, control.bound()));
        if control.bound().is_some_and(|bound| self.way.way(start).len() as Cost >= bound) {
            let end = End::Limit(Limit::Width);
            return Ok(SearchResult {
                end,
                moves: None,
                cost: None,
                proven_optimal: false,
                stats: Stats::default(),
                proof: None,
            });
        }
        Ok(self.way.answer(start, Stats::default(), control))
    }

    fn first_pass(&self, task: Task<'_, '_, Cube3>) -> Result<Option<SearchResult>, HeuristicError> {
        self.first.lock().unwrap().push(*task.start);
        let stats = Stats { generated: 1000, ..Stats::default() };
        Ok(Some(self.way.answer(task.start, stats, task.control)))
    }
}

#[test]
fn images_that_are_searched_together_look_for_less_than_a_first_pass() {
    let way = Arc::new(way_within_five_moves().0);
    for number in 0..20 {
        let start = scrambled(&Cube3, 5, &mut generator(31, number));
        let quick = Quick { way: Arc::clone(&way), first: Arc::default(), bounds: Arc::default() };
        let mut device = Device::default();
        let (expected, ..) = run(&quick, &start, &mut device);
        quick.bounds.lock().unwrap().clear();
        let search = ImageSearch { search: Box::new(quick.clone()), count: IMAGES, together: true };
        let (result, incumbents, _) = run(&search, &start, &mut device);
        assert_eq!(*quick.first.lock().unwrap(), [start], "of the first image, once");
        let mut bounds = std::mem::take(&mut *quick.bounds.lock().unwrap());
        bounds.sort_by_key(|(image, _)| FixedState::default().hash_one(image));
        let mut images: Vec<_> = Cube3.symmetric_images(&start).take(IMAGES).collect();
        images.sort_by_key(|image| FixedState::default().hash_one(image.start));
        let expected_bounds: Vec<_> = images.iter().map(|image| (image.start, expected.cost)).collect();
        assert_eq!(bounds, expected_bounds, "every image is searched once, below the first pass");
        let ways = images.iter().map(|image| way.way(&image.start).len() as Cost);
        assert_eq!((result.cost, result.stats.generated), (ways.min(), 1000), "the shortest way of all images");
        let (end, cost) = replay(&Cube3, &start, &result.moves.expect("solved")).expect("legal moves");
        assert!(Cube3.is_goal(&end) && Some(cost) == result.cost);
        assert_eq!(
            incumbents.first().map(|first| (first.cost, &first.moves)),
            expected.cost.zip(expected.moves.as_ref())
        );
        // One by one, a search begins with its first pass by itself.
        let search = ImageSearch { search: Box::new(quick.clone()), count: IMAGES, together: false };
        run(&search, &start, &mut device);
        assert_eq!(quick.first.lock().unwrap().len(), 1);
    }
}

/// A search that solves one image at once, and never ends by itself on the others.
struct Endless {
    first: CubeState,
    asking: Asking,
}

impl Search<Cube3> for Endless {
    fn solve(&self, task: Task<'_, '_, Cube3>) -> Result<SearchResult, HeuristicError> {
        if *task.start == self.first {
            return self.asking.solve(task);
        }
        let Task { start, heuristic, control, .. } = task;
        let mut stats = Stats::default();
        let limit = loop {
            if control.too_many(stats.generated + 10) {
                break Limit::Nodes;
            }
            stats.generated += 10;
            control.report_counts(&stats);
            if let Some(limit) = control.reached(&|| 1 << 20) {
                break limit;
            }
            heuristic.submit(&[*start], Query::Values)?;
            heuristic.collect()?;
        };
        let end = End::Limit(limit);
        Ok(SearchResult { end, moves: None, cost: None, proven_optimal: false, stats, proof: None })
    }
}

#[test]
fn limits_and_failures_end_all_images() {
    let first = scrambled(&Cube3, 5, &mut generator(31, 0));
    let endless = Endless { first, asking: way_within_five_moves() };
    let search = ImageSearch { search: Box::new(endless), count: IMAGES, together: true };
    let stop = AtomicBool::new(false);
    // The solution of the first image stays, whatever ends the others.
    for (limits, most) in [
        (Limits { nodes: Some(400), ..Limits::default() }, 400),
        (Limits { time: Some(Duration::from_millis(50)), ..Limits::default() }, u64::MAX),
        (Limits { memory: Some(2 << 20), ..Limits::default() }, 100),
    ] {
        let mut watch = |_: &_| ();
        let mut control = Control::new(&limits, &stop, &mut watch);
        let result = search.run(&Cube3, &first, &mut Device::default(), &mut control).expect("the device works");
        assert!(result.end == End::Solved && !control.was_stopped(), "{limits:?}: {:?}", result.end);
        let generated = result.stats.generated;
        assert!((30..=most).contains(&generated), "{limits:?}: {generated} of all images");
        assert!(limits.nodes.is_none() || generated > 290, "each has its share: {generated}");
    }
    let limits = Limits::default();
    let mut watch = |progress: &Progress| {
        stop.fetch_or(progress.stats.generated > 200, Ordering::Relaxed);
    };
    let mut control = Control::new(&limits, &stop, &mut watch);
    let result = search.run(&Cube3, &first, &mut Device::default(), &mut control).expect("the device works");
    assert!(control.was_stopped() && result.end == End::Solved, "{:?}", result.end);
    // A device that fails, at the start or when several searches wait.
    let stop = AtomicBool::new(false);
    for passes in [0, 30] {
        let mut watch = |_: &_| ();
        let mut device = Device { fails_after: Some(passes), ..Device::default() };
        let failed = search.run(&Cube3, &first, &mut device, &mut Control::new(&limits, &stop, &mut watch));
        assert!(failed.is_err_and(|error| error.to_string().contains("the device is gone")));
    }
}
