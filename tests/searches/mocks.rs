//! Heuristics that stand in for a network, and functions that run searches with them.

use crate::pancakes::Pancakes;
use costar::heuristic::{Estimates, Heuristic, HeuristicError, PerState, Query};
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::laws::exact_distances;
use costar::puzzle::{Move, Puzzle, Rules as _, replay};
use costar::random::Generator;
use costar::registry::perimeter_heuristic;
use costar::sampler::Walker;
use costar::search::perimeter::Perimeter;
use costar::search::{Control, End, Incumbent, Limits, Search, SearchResult, Stats};
use foldhash::fast::FixedState;
use ndarray::Array2;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) fn solve_with(
    search: &dyn Search<Pancakes>,
    puzzle: Pancakes,
    start: &[u8; 6],
    heuristic: &mut dyn Heuristic<[u8; 6]>,
    limits: &Limits,
) -> SearchResult {
    let stop = AtomicBool::new(false);
    let result = search.run(&puzzle, start, heuristic, &mut Control::new(limits, &stop, &mut |_| ()));
    let result = result.expect("these heuristics do not fail");
    if let Some(moves) = &result.moves {
        let (end, cost) = replay(&puzzle, start, moves).expect("legal moves");
        assert!(puzzle.is_goal(&end));
        assert_eq!(result.cost, Some(cost));
    }
    assert_eq!(result.moves.is_some(), result.end == End::Solved);
    result
}

/// The estimate `perimeter` to a depth.
pub(crate) fn within<P: Puzzle>(puzzle: P, depth: u32) -> PerState<P::State> {
    let perimeter = Perimeter::new(&puzzle, depth);
    perimeter_heuristic(&Arc::new(puzzle), perimeter)
}

/// Misleading estimates, in chunks of a given size.
pub(crate) struct Misleading {
    inner: PerState<[u8; 6]>,
    chunk: usize,
    pub(crate) in_flight: usize,
    pub(crate) most_in_flight: usize,
}

impl Misleading {
    pub(crate) fn new(chunk: usize) -> Self {
        let wild =
            |state: &[u8; 6]| state.iter().fold(7u32, |hash, &pancake| hash.wrapping_mul(31) ^ u32::from(pancake));
        Misleading {
            inner: PerState::new("wild", false, move |state| (wild(state) % 97) as f32 / 10.0),
            chunk,
            in_flight: 0,
            most_in_flight: 0,
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

    fn max_in_flight(&self) -> usize {
        self.chunk % 4
    }

    fn submit(&mut self, states: &[[u8; 6]], query: Query) -> Result<(), HeuristicError> {
        assert!(!states.is_empty() && states.len() <= self.chunk);
        self.in_flight += 1;
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        self.inner.submit(states, query)
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        self.in_flight -= 1;
        self.inner.collect()
    }
}

/// Exact estimates, with a policy for the moves that lead nearer to the goal.
pub(crate) struct Knowing {
    table: Arc<HashMap<[u8; 6], u8>>,
    done: VecDeque<Estimates>,
}

impl Knowing {
    pub(crate) fn new() -> Self {
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

    fn has_policy(&self) -> bool {
        true
    }

    fn submit(&mut self, states: &[[u8; 6]], query: Query) -> Result<(), HeuristicError> {
        let values = states.iter().map(|state| f32::from(self.table[state])).collect();
        let nearer = |(i, action): (usize, usize)| {
            let child = Pancakes::ALL.apply(&states[i], action as Move).expect("every flip is legal");
            if self.table[&child] < self.table[&states[i]] { 0.9 } else { 0.1 / 5.0 }
        };
        let policy = (query == Query::ValuesAndPolicy).then(|| Array2::from_shape_fn((states.len(), 5), nearer));
        self.done.push_back(Estimates { values, policy });
        Ok(())
    }

    fn collect(&mut self) -> Result<Estimates, HeuristicError> {
        Ok(self.done.pop_front().expect("a chunk was submitted"))
    }
}

pub(crate) fn scrambled<P: Puzzle>(puzzle: &P, depth: u32, generator: &mut Generator) -> P::State {
    let mut walker = Walker::new(puzzle, puzzle.goals()[0]);
    for _ in 0..depth {
        walker.step(generator);
    }
    walker.state
}

/// A search that knows the path to the goal, and makes up to three detours first, by the hash of the start.
pub(crate) struct Roundabout(pub(crate) Perimeter<CubeState>);

impl Roundabout {
    pub(crate) fn way(&self, start: &CubeState) -> Vec<Move> {
        let detours = FixedState::default().hash_one(start) % 4;
        let mut moves: Vec<Move> = (0..detours).flat_map(|_| [0, Cube3.inverse(0)]).collect();
        moves.extend(self.0.path_to_goal(&Cube3, start).expect("it is near"));
        moves
    }

    /// The result of a search that has found this path.
    pub(crate) fn answer(&self, start: &CubeState, stats: Stats, control: &mut Control<'_>) -> SearchResult {
        let moves = self.way(start);
        let answer = Incumbent { cost: moves.len() as u32, moves };
        control.report_incumbent(&answer);
        let (moves, cost) = (Some(answer.moves), Some(answer.cost));
        SearchResult { end: End::Solved, moves, cost, proven_optimal: false, stats, proof: None }
    }
}
