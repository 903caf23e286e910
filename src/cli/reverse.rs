//! What only puzzles can offer whose moves can be undone.

use super::choice::SEARCHES;
use crate::heuristic::{Heuristic, ball};
use crate::puzzle::{Puzzle, Reversible};
use crate::search::Search;
use crate::search::bidirectional::Bidirectional;
use crate::search::endgame::Endgame;
use crate::search::nbs::NearOptimalBidirectional;
use std::sync::atomic::AtomicBool;

/// Exact distances of the heuristic `ball`: 100,000 states of the cube.
const BALL_DEPTH: u32 = 5;

/// What only puzzles can offer whose moves can be undone.
pub(super) struct Reverse<P: Puzzle> {
    pub(super) bidirectional: Option<MakeSearch<P>>,
    pub(super) nbs: Option<MakeSearch<P>>,
    pub(super) endgame: Option<MakeEndgame<P>>,
    pub(super) ball: Option<MakeHeuristic<P>>,
    goals: fn(&P) -> Vec<P::State>,
}

pub(super) type MakeSearch<P> = fn() -> Box<dyn Search<P>>;
/// Of a depth, but of no more states than about so many; of none, if it is stopped.
pub(super) type MakeEndgame<P> = fn(&P, u32, usize, &AtomicBool) -> Endgame<<P as Puzzle>::State>;
pub(super) type MakeHeuristic<P> = fn(&P) -> Box<dyn Heuristic<<P as Puzzle>::State>>;

impl<P: Puzzle> Reverse<P> {
    /// Nothing: moves cannot be undone.
    pub(super) fn none() -> Self {
        Reverse { bidirectional: None, nbs: None, endgame: None, ball: None, goals: |_| Vec::new() }
    }

    /// All of it.
    pub(super) fn all() -> Self
    where
        P: Reversible,
    {
        Reverse {
            bidirectional: Some(|| Box::new(Bidirectional)),
            nbs: Some(|| Box::new(NearOptimalBidirectional)),
            endgame: Some(Endgame::within),
            ball: Some(|puzzle| Box::new(ball(puzzle, BALL_DEPTH))),
            goals: P::goals,
        }
    }

    /// The same, with an endgame that knows nothing: what makes one takes time.
    pub(super) fn without_tables(&self) -> Self {
        Reverse { endgame: self.endgame.map(|_| (|_, _, _, _| Endgame::none()) as MakeEndgame<P>), ..*self }
    }

    /// The states that count as solved, where they are known.
    pub(super) fn goals(&self, puzzle: &P) -> Vec<P::State> {
        (self.goals)(puzzle)
    }

    /// The names of the searches that the puzzle allows.
    pub(super) fn searches(&self) -> Vec<&'static str> {
        let is_allowed = |name: &&str| match *name {
            "bidirectional" => self.bidirectional.is_some(),
            "nbs" => self.nbs.is_some(),
            _ => true,
        };
        SEARCHES.iter().copied().filter(is_allowed).collect()
    }

    /// The names of the heuristics that need no model, the best last.
    pub(super) fn heuristics(&self, puzzle: &P) -> Vec<&'static str> {
        let ball = self.ball.map(|_| "ball");
        std::iter::once("zero").chain(ball).chain(puzzle.heuristics().iter().copied()).collect()
    }
}
