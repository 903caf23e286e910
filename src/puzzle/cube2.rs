//! The 2×2×2 cube in quarter turns. The corner DBL stays in its place, so that U, R and F are all the moves.
//!
//! The other three turns differ from these only in how the whole cube is held. A scramble may have all twelve: it is played on
//! a cube in the hand, which is then held so that the corner DBL is home again.

use super::cube3::{Cube3, CubeState, FACES, facelets, notation, turns};
use super::{
    Draw, Encode, Encoding, Grid, Move, MoveTable, Notation, ParseError, Picture, Reversible, Rules, Scramble,
    StateBytes, StateIndex,
};

mod index;

/// The puzzle `cube2`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cube2;

/// The corners of a cube that is held so that DBL is home, 5 bits each as on the 3×3×3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Corners(u64);

/// The facelets of the 3×3×3 that a 2×2×2 has: the corners of each face, row by row.
const FACELETS: [usize; 24] =
    [0, 2, 6, 8, 9, 11, 15, 17, 18, 20, 24, 26, 27, 29, 33, 35, 36, 38, 42, 44, 45, 47, 51, 53];

/// The facelets of the corner DBL, which never change: D bottom left, B bottom right, L bottom left.
const FIXED: [usize; 3] = [14, 18, 23];

/// Turns of the whole cube, each as turns of two opposite layers: as R, as U, and back.
const WHOLE_TURNS: [(&str, [Move; 2]); 4] = [("x", [2, 9]), ("y", [0, 7]), ("x'", [3, 8]), ("y'", [1, 6])];

/// The fewest turns of the whole cube that bring the corner DBL home: the name of each, and the corners after it.
fn turns_to_hold(corners: u64) -> Vec<(&'static str, u64)> {
    // A breadth-first search over the 24 ways to hold a cube.
    let mut ways = vec![(corners, Vec::new())];
    let mut next = 0;
    while next < ways.len() {
        let (corners, turns) = ways[next].clone();
        if CubeState::from_corners(corners).keeps_dbl() {
            return turns;
        }
        for (name, layers) in WHOLE_TURNS {
            let turned = layers.iter().fold(corners, |corners, &layer| CubeState::turn_corners(corners, layer));
            if ways.iter().all(|(known, _)| *known != turned) {
                ways.push((turned, [&turns[..], &[(name, turned)]].concat()));
            }
        }
        next += 1;
    }
    unreachable!("in one of the 24 ways to hold a cube, a given corner is home")
}

impl Corners {
    const SOLVED: Corners = Corners(CubeState::SOLVED.corners());

    #[inline]
    fn turned(self, action: Move) -> Corners {
        Corners(CubeState::turn_corners(self.0, action))
    }
}

impl Cube2 {
    /// Plays a scramble of all twelve turns, and then the turns of the whole cube that bring DBL home.
    fn play(text: &str) -> Result<Scramble<Corners>, ParseError> {
        let mut corners = Corners::SOLVED;
        let turn = |action| {
            corners = corners.turned(action);
            (Cube3.move_name(action), corners)
        };
        let mut moves: Vec<_> = notation::quarter_turns(text, 2)?.into_iter().map(turn).collect();
        let whole_turns = turns_to_hold(corners.0).into_iter();
        moves.extend(whole_turns.map(|(name, turned)| (name.to_owned(), Corners(turned))));
        Ok(Scramble { start: Corners::SOLVED, moves })
    }
}

impl Rules for Cube2 {
    type State = Corners;

    fn name(&self) -> String {
        "cube2".into()
    }

    fn move_count(&self) -> usize {
        6
    }

    #[inline]
    fn apply(&self, state: &Corners, action: Move) -> Option<Corners> {
        // Moves 0 to 5 of the 3×3×3 are U U' R R' F F'.
        Some(state.turned(action))
    }

    #[inline]
    fn is_goal(&self, state: &Corners) -> bool {
        *state == Corners::SOLVED
    }

    fn always_same(&self, one: &[Move], other: &[Move]) -> bool {
        let after = |moves: &[Move]| moves.iter().fold(Corners::SOLVED, |corners, &action| corners.turned(action));
        after(one) == after(other)
    }

    fn length_parity(&self, state: &Corners) -> Option<u32> {
        Some(CubeState::from_corners(state.0).corner_parity())
    }

    fn state_index(&self) -> Option<&dyn StateIndex<Corners>> {
        Some(self)
    }

    fn state_bytes(&self) -> Option<StateBytes<Corners>> {
        Some(StateBytes::plain())
    }
}

impl Notation for Cube2 {
    fn notation(&self) -> &'static str {
        "a scramble from solved in face turns (all twelve are read), or 24 facelets in the order U R F D L B, in any six letters; \
         moves U R F, a ' for counter-clockwise"
    }

    fn move_name(&self, action: Move) -> String {
        Cube3.move_name(action)
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let moves = notation::quarter_turns(text, 2)?;
        match moves.iter().find(|&&action| action >= 6) {
            Some(&action) => Err(ParseError(format!(
                "'{}' moves the corner that stays: solutions are written in turns of U, R and F",
                Cube3.move_name(action)
            ))),
            None => Ok(moves),
        }
    }

    /// A scramble from solved, or 24 facelets in the order U R F D L B.
    fn parse(&self, text: &str) -> Result<Corners, ParseError> {
        match facelets::read_corners(text) {
            Some(corners) => Ok(Corners(corners?)),
            None => Ok(Cube2::play(text)?.end()),
        }
    }

    fn format(&self, state: &Corners) -> String {
        let mut row = [0; 24];
        self.encode(state, &mut row);
        row.iter().map(|&colour| FACES[usize::from(colour)]).collect()
    }

    /// The moves as they are written, and turns of the whole cube if they are needed to bring DBL home.
    fn scramble(&self, text: &str) -> Option<Scramble<Corners>> {
        if facelets::read_corners(text).is_some() { None } else { Cube2::play(text).ok() }
    }

    fn as_held(&self, state: &Corners) -> Corners {
        Corners(turns_to_hold(state.0).last().map_or(state.0, |(_, turned)| *turned))
    }

    fn written(&self, moves: &[Move]) -> Vec<String> {
        turns::written(moves)
    }

    fn counted(&self, moves: &[Move]) -> String {
        turns::counted(moves)
    }
}

impl Encode for Cube2 {
    /// 24 stickers, each one of 6 colours; the three of DBL never change.
    fn encoding(&self) -> Encoding {
        let grid = Some(Grid { faces: 6, rows: 2, columns: 2 });
        Encoding { fixed: FIXED.to_vec(), grid, ..Encoding::row(24, 6) }
    }

    fn encode(&self, state: &Corners, row: &mut [u8]) {
        let mut whole = [0; 54];
        Cube3.encode(&CubeState::from_corners(state.0), &mut whole);
        assert_eq!(row.len(), 24);
        row.iter_mut().zip(FACELETS).for_each(|(cell, facelet)| *cell = whole[facelet]);
    }

    fn move_table(&self) -> Option<MoveTable> {
        Some(MoveTable::permutations_of(self, Corners::SOLVED))
    }
}

impl Draw for Cube2 {
    fn picture(&self, state: &Corners) -> Picture {
        Picture::Cube { size: 2, facelets: self.format(state) }
    }
}

impl Reversible for Cube2 {
    fn goals(&self) -> Vec<Corners> {
        vec![Corners::SOLVED]
    }

    #[inline]
    fn inverse(&self, action: Move) -> Move {
        action ^ 1
    }

    /// 14: no position needs more quarter turns.
    fn default_depth(&self) -> u32 {
        14
    }
}
