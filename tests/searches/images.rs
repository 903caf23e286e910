//! Limits and failures of a search on several symmetric images.

use crate::mocks::{Roundabout, scrambled};
use costar::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::random::generator;
use costar::search::perimeter::Perimeter;
use costar::search::symmetric_images::ImageSearch;
use costar::search::{Control, End, Limit, Limits, Progress, Search, SearchResult, Stats, Task};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const IMAGES: usize = 4;

/// A device that may fail after some chunks.
#[derive(Default)]
struct Device {
    done: VecDeque<Estimates>,
    chunks: usize,
    fails_after: Option<usize>,
}

impl Heuristic<CubeState> for Device {
    fn name(&self) -> &str {
        "device"
    }

    fn chunk(&self) -> usize {
        1
    }

    fn submit(&mut self, states: &[CubeState], _: Query) -> Result<(), HeuristicError> {
        if self.fails_after.is_some_and(|most| self.chunks >= most) {
            return Err(HeuristicError("the device is gone".into()));
        }
        self.chunks += 1;
        self.done.push_back(Estimates { values: vec![1.0; states.len()], policy: None });
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        Ok(self.done.pop_front().expect("a chunk was submitted"))
    }
}

/// A search that solves one image at once, and never ends by itself on the others.
struct Endless {
    first: CubeState,
    way: Roundabout,
}

impl Search<Cube3> for Endless {
    fn solve(&self, task: Task<'_, '_, Cube3>) -> costar::Result<SearchResult> {
        let Task { start, heuristic, control, .. } = task;
        let mut stats = Stats::default();
        let limit = loop {
            heuristic.submit(&[*start], Query::Values)?;
            heuristic.collect()?;
            if *start == self.first {
                return Ok(self.way.answer(start, stats, control));
            }
            if control.too_many(stats.generated + 10) {
                break Limit::Nodes;
            }
            stats.generated += 10;
            control.report_counts(&stats);
            if let Some(limit) = control.reached(&|| 1 << 20) {
                break limit;
            }
        };
        let end = End::Limit(limit);
        Ok(SearchResult { end, moves: None, cost: None, proven_optimal: false, stats, proof: None })
    }
}

#[test]
fn limits_and_failures_end_all_images() {
    let first = scrambled(&Cube3, 5, &mut generator(31, 0));
    let endless = Endless { first, way: Roundabout(Perimeter::new(&Cube3, 5)) };
    let search = ImageSearch { search: Box::new(endless), count: IMAGES };
    let stop = AtomicBool::new(false);
    // The solution of the first image stays, whatever ends the others.
    for (limits, least, most) in [
        (Limits { nodes: Some(400), ..Limits::default() }, 390, 400),
        (Limits { time: Some(Duration::from_millis(50)), ..Limits::default() }, 10, u64::MAX),
        (Limits { memory: Some(1 << 20), ..Limits::default() }, 30, 30),
    ] {
        let mut watch = |_: &_| ();
        let mut control = Control::new(&limits, &stop, &mut watch);
        let result = search.run(&Cube3, &first, &mut Device::default(), &mut control).expect("the device works");
        assert!(result.end == End::Solved && !control.was_stopped(), "{limits:?}: {:?}", result.end);
        let generated = result.stats.generated;
        assert!((least..=most).contains(&generated), "{limits:?}: {generated} of all images");
    }
    let limits = Limits::default();
    let mut watch = |progress: &Progress| {
        stop.fetch_or(progress.stats.generated > 200, Ordering::Relaxed);
    };
    let mut control = Control::new(&limits, &stop, &mut watch);
    let result = search.run(&Cube3, &first, &mut Device::default(), &mut control).expect("the device works");
    assert!(control.was_stopped() && result.end == End::Solved, "{:?}", result.end);
    // A device that fails, on the first image or on a later one.
    let stop = AtomicBool::new(false);
    for passes in [0, 30] {
        let mut watch = |_: &_| ();
        let mut device = Device { fails_after: Some(passes), ..Device::default() };
        let failed = search.run(&Cube3, &first, &mut device, &mut Control::new(&limits, &stop, &mut watch));
        assert!(failed.is_err_and(|error| error.to_string().contains("the device is gone")));
    }
}
