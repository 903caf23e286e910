//! Batch searches make children while a device evaluates those before.

use costar::heuristic::{Estimates, Heuristic, HeuristicError, Query};
use costar::puzzle::{Encoding, Move, ParseError, Puzzle, Style};
use costar::search::beam::Beam;
use costar::search::best_first::{BestFirst, Expansion};
use costar::search::{Control, End, Limits, Search};
use foldhash::fast::FixedState;
use ndarray::Array2;
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const MOVES: usize = 4;

/// No state is seen twice, and none is a goal; how many children were made is counted.
#[derive(Default)]
struct Tree {
    made: Arc<AtomicUsize>,
}

impl Puzzle for Tree {
    type State = u64;

    fn name(&self) -> String {
        "tree".into()
    }

    fn move_count(&self) -> usize {
        MOVES
    }

    fn move_name(&self, action: Move) -> String {
        action.to_string()
    }

    fn apply(&self, state: &u64, action: Move) -> Option<u64> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Some(FixedState::default().hash_one((state, action)))
    }

    fn is_goal(&self, _: &u64) -> bool {
        false
    }

    fn parse(&self, text: &str) -> Result<u64, ParseError> {
        text.parse().map_err(|_| ParseError(format!("'{text}': expected a number")))
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let action = |word: &str| word.parse().map_err(|_| ParseError(format!("'{word}': expected a number")));
        text.split_whitespace().map(action).collect()
    }

    fn format(&self, state: &u64) -> String {
        state.to_string()
    }

    fn draw(&self, state: &u64, _: Style) -> String {
        self.format(state)
    }

    fn encoding(&self) -> Encoding {
        Encoding { version: 1, cells: 8, symbols: 256, fixed: Vec::new(), grid: None }
    }

    fn encode(&self, state: &u64, row: &mut [u8]) {
        row.copy_from_slice(&state.to_le_bytes());
    }

    fn notation(&self) -> &'static str {
        "a number"
    }
}

/// Counts how often children were made between the submission of a chunk and its collection.
struct Device {
    made: Arc<AtomicUsize>,
    overlap: usize,
    with_policy: bool,
    /// Estimates, and how many children had been made when they were asked for.
    in_flight: VecDeque<(Estimates, usize)>,
    chunks: usize,
    overlapped: usize,
    /// The chunk that fails, as one of a device does whose memory is full for a while; none is 0.
    fails_at: usize,
}

impl Device {
    fn new(tree: &Tree, with_policy: bool, overlap: usize) -> Self {
        let (made, in_flight) = (Arc::clone(&tree.made), VecDeque::new());
        Device { made, overlap, with_policy, in_flight, chunks: 0, overlapped: 0, fails_at: 0 }
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

    fn overlap(&self) -> usize {
        self.overlap
    }

    fn has_policy(&self) -> bool {
        self.with_policy
    }

    fn submit(&mut self, states: &[u64], ask: Query) -> Result<(), HeuristicError> {
        let policy = Array2::from_elem((states.len(), MOVES), 1.0 / MOVES as f32);
        let policy = (ask == Query::ValuesAndPolicy).then_some(policy);
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

/// Of the chunks that a search has evaluated, how many there are, and how many while children were made.
fn chunks_of(search: &dyn Search<Tree>, with_policy: bool, overlap: usize) -> (usize, usize) {
    let tree = Tree::default();
    let mut device = Device::new(&tree, with_policy, overlap);
    let (stop, mut watch) = (AtomicBool::new(false), |_: &_| ());
    let limits = Limits { nodes: Some(1_500_000), ..Limits::default() };
    let outcome = search.run(&tree, &1, &mut device, &mut Control::new(&limits, &stop, &mut watch));
    assert!(matches!(outcome.expect("the device works").end, End::Limit(_)));
    assert!(device.in_flight.is_empty(), "every chunk was collected");
    (device.chunks, device.overlapped)
}

#[test]
fn children_are_made_while_chunks_are_evaluated() {
    let expansion = Expansion::Partial { policy_weight: 1.0 };
    let searches: [(&str, bool, Box<dyn Search<Tree>>); 4] = [
        ("beam", false, Box::new(Beam::new(100_000))),
        ("shortlist", true, Box::new(Beam { candidates: 2, policy_weight: 1.0, ..Beam::new(100_000) })),
        ("bwas", false, Box::new(BestFirst::bwas(50_000, 0.6))),
        ("deferred", true, Box::new(BestFirst { expansion, ..BestFirst::bwas(100_000, 0.6) })),
    ];
    for (name, with_policy, search) in &searches {
        // Children are made in blocks of a few chunks, of which the last are in flight while the next block is made.
        for overlap in [1, 2] {
            let (chunks, overlapped) = chunks_of(&**search, *with_policy, overlap);
            assert!(10 * overlapped > chunks * overlap, "{name}: {overlapped} of {chunks}, {overlap} in flight");
        }
        let (chunks, overlapped) = chunks_of(&**search, *with_policy, 0);
        assert!(chunks > 100 && overlapped == 0, "{name}: nothing overlaps with a heuristic that does not take it");
    }
}

#[test]
fn nothing_is_left_in_a_heuristic_that_has_failed() {
    let expansion = Expansion::Partial { policy_weight: 1.0 };
    let searches: [(bool, Box<dyn Search<Tree>>); 3] = [
        (true, Box::new(Beam { candidates: 2, policy_weight: 1.0, ..Beam::new(50_000) })),
        (false, Box::new(BestFirst::bwas(50_000, 0.6))),
        (true, Box::new(BestFirst { expansion, ..BestFirst::bwas(50_000, 0.6) })),
    ];
    for (with_policy, search) in searches {
        for fails_at in [1, 20, 40] {
            let tree = Tree::default();
            let mut device = Device { fails_at, ..Device::new(&tree, with_policy, 3) };
            let (stop, limits, mut watch) = (AtomicBool::new(false), Limits::default(), |_: &_| ());
            let failed = search.run(&tree, &1, &mut device, &mut Control::new(&limits, &stop, &mut watch));
            assert!(failed.is_err_and(|error| error.0 == "full"));
            assert!(device.in_flight.is_empty(), "the next search would take them for its own");
        }
    }
}
