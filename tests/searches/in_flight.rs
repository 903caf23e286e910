//! Batch searches generate children while a device evaluates earlier ones.

use costar::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use costar::puzzle::{Encode, Encoding, Instance, Move, Notation, ParseError, Rules};
use costar::search::beam::Beam;
use costar::search::best_first::BestFirst;
use costar::search::{Control, End, Limits, Search};
use foldhash::fast::FixedState;
use ndarray::Array2;
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const MOVES: usize = 4;

/// A puzzle without goals in which no state is reached twice. Counts the children generated.
#[derive(Default)]
struct Tree {
    made: Arc<AtomicUsize>,
}

impl Rules for Tree {
    type State = u64;

    fn name(&self) -> String {
        "tree".into()
    }

    fn move_count(&self) -> usize {
        MOVES
    }

    fn apply(&self, state: &u64, action: Move) -> Option<u64> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Some(FixedState::default().hash_one((state, action)))
    }

    fn is_goal(&self, _: &u64) -> bool {
        false
    }
}

impl Notation for Tree {
    fn notation(&self) -> &'static str {
        "a number"
    }

    fn move_name(&self, action: Move) -> String {
        action.to_string()
    }

    fn read(&self, text: &str) -> Result<Instance<u64>, ParseError> {
        text.parse().map(u64::into).map_err(|_| ParseError(format!("'{text}': expected a number")))
    }

    fn format(&self, state: &u64) -> String {
        state.to_string()
    }
}

impl Encode for Tree {
    fn encoding(&self) -> Encoding {
        Encoding::row(8, 256)
    }

    fn encode(&self, state: &u64, row: &mut [u8]) {
        row.copy_from_slice(&state.to_le_bytes());
    }
}

/// Counts the chunks during whose evaluation children were generated.
struct Device {
    made: Arc<AtomicUsize>,
    max_in_flight: usize,
    with_policy: bool,
    /// Estimates, and the number of children generated when they were submitted.
    in_flight: VecDeque<(Estimates, usize)>,
    chunks: usize,
    overlapped: usize,
    /// The chunk that fails, as one does when the memory of a device is full for a while; 0: none.
    fails_at: usize,
}

impl Device {
    fn new(tree: &Tree, with_policy: bool, max_in_flight: usize) -> Self {
        let (made, in_flight) = (Arc::clone(&tree.made), VecDeque::new());
        Device { made, max_in_flight, with_policy, in_flight, chunks: 0, overlapped: 0, fails_at: 0 }
    }
}

const CHUNK: usize = 1 << 13;

impl Heuristic<u64> for Device {
    fn name(&self) -> &str {
        "device"
    }

    fn chunk(&self) -> usize {
        CHUNK
    }

    fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    fn has_policy(&self) -> bool {
        self.with_policy
    }

    fn submit(&mut self, states: &[u64], query: Query) -> Result<(), HeuristicError> {
        let policy = Array2::from_elem((states.len(), MOVES), 1.0 / MOVES as f32);
        let policy = (query == Query::ValuesAndPolicy).then_some(policy);
        let values = states.iter().map(|state| (state % 64) as f32).collect();
        self.in_flight.push_back((Estimates { values, policy }, self.made.load(Ordering::SeqCst)));
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        let (estimates, made) = self.in_flight.pop_front().expect("a chunk was submitted");
        self.chunks += 1;
        self.overlapped += usize::from(self.made.load(Ordering::SeqCst) > made);
        if self.chunks == self.fails_at { Err(HeuristicError("full".into())) } else { Ok(estimates) }
    }
}

/// The number of chunks that a search has evaluated, and of those during which it generated children.
fn chunks_of(search: &dyn Search<Tree>, with_policy: bool, max_in_flight: usize) -> (usize, usize) {
    let tree = Tree::default();
    let mut device = Device::new(&tree, with_policy, max_in_flight);
    let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
    let limits = Limits { nodes: Some(1_500_000), ..Limits::default() };
    let result = search.run(&tree, &1, &mut device, &mut Control::new(&limits, &stop, &mut watch));
    assert!(matches!(result.expect("the device works").end, End::Limit(_)));
    assert!(device.in_flight.is_empty(), "every chunk was collected");
    (device.chunks, device.overlapped)
}

#[test]
fn children_are_generated_while_chunks_are_evaluated() {
    let searches: [(&str, bool, Box<dyn Search<Tree>>); 4] = [
        ("beam", false, Box::new(Beam::new(100_000))),
        ("candidates", true, Box::new(Beam { candidates: 2, policy_weight: 1.0, ..Beam::new(100_000) })),
        ("bwas", false, Box::new(BestFirst::bwas(50_000, 0.6))),
        ("deferred", true, Box::new(BestFirst { deferred: Some(1.0), ..BestFirst::bwas(100_000, 0.6) })),
    ];
    for (name, with_policy, search) in &searches {
        // Children are generated in blocks of a few chunks; the last of these are in flight during the next block.
        for max_in_flight in [1, 2] {
            let (chunks, overlapped) = chunks_of(&**search, *with_policy, max_in_flight);
            assert!(
                10 * overlapped > chunks * max_in_flight,
                "{name}: {overlapped} of {chunks}, {max_in_flight} in flight"
            );
        }
        let (chunks, overlapped) = chunks_of(&**search, *with_policy, 0);
        assert!(
            chunks > 100 && overlapped == 0,
            "{name}: nothing overlaps with a heuristic that allows nothing in flight"
        );
    }
}

#[test]
fn nothing_stays_in_flight_after_a_failure() {
    let searches: [(bool, Box<dyn Search<Tree>>); 3] = [
        (true, Box::new(Beam { candidates: 2, policy_weight: 1.0, ..Beam::new(50_000) })),
        (false, Box::new(BestFirst::bwas(50_000, 0.6))),
        (true, Box::new(BestFirst { deferred: Some(1.0), ..BestFirst::bwas(50_000, 0.6) })),
    ];
    for (with_policy, search) in searches {
        for fails_at in [1, 20, 40] {
            let tree = Tree::default();
            let mut device = Device { fails_at, ..Device::new(&tree, with_policy, 3) };
            let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
            let failed = search.run(&tree, &1, &mut device, &mut Control::new(&limits, &stop, &mut watch));
            assert!(failed.is_err_and(|error| error.to_string() == "the heuristic failed: full"));
            assert!(device.in_flight.is_empty(), "the next search would collect it");
        }
    }
}
