//! The 2×2×2 cube in quarter turns. The corner DBL stays in its place, so that U, R and F are all the moves.
//!
//! The other three turns differ from these only in how the whole cube is held. A scramble may have all twelve: it is played on
//! a cube in the hand, and its solution is named for that cube. The search holds the cube so that the corner DBL is home.

use super::cube3::notation::{self, Held};
use super::cube3::{Cube3, CubeState, FACES, facelets, turns};
use super::notation::bail_parse;
use super::{
    Block, Encode, Encoding, Grid, Indexed, Instance, Move, MoveTable, Notation, ParseError, Picture, Rules,
    StateBytes, plain,
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
const WHOLE_TURNS: [[Move; 2]; 4] = [[2, 9], [0, 7], [3, 8], [1, 6]];

/// The turns of all six faces.
const ALL_TURNS: std::ops::Range<Move> = 0..12;

impl Corners {
    const SOLVED: Corners = Corners(CubeState::SOLVED.corners());

    #[inline]
    fn turned(self, action: Move) -> Corners {
        Corners(CubeState::turn_corners(self.0, action))
    }

    /// The corner at a place: the piece, and its twist times 8.
    fn corner(self, place: usize) -> usize {
        (self.0 >> (5 * place)) as usize & 31
    }

    /// The same cube, held so that the corner DBL is home.
    fn held(self) -> Corners {
        // A search over the 24 ways to hold a cube.
        let mut ways = vec![self];
        for next in 0.. {
            if ways[next].corner(6) == 6 {
                return ways[next];
            }
            for layers in WHOLE_TURNS {
                let turned = layers.iter().fold(ways[next], |corners, &layer| corners.turned(layer));
                if !ways.contains(&turned) {
                    ways.push(turned);
                }
            }
        }
        unreachable!("in one of the 24 ways to hold a cube, a given corner is home")
    }

    /// The move of the held cube that a turn of this cube is.
    fn move_of(self, turn: Move) -> Move {
        let (before, after) = (self.held(), self.turned(turn).held());
        (0..6).find(|&action| before.turned(action) == after).expect("every turn is one of the six moves")
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

    fn effect(&self, moves: &[Move]) -> Option<Vec<u8>> {
        let after = moves.iter().fold(Corners::SOLVED, |corners, &action| corners.turned(action));
        Some(bytemuck::bytes_of(&after).to_vec())
    }

    fn length_parity(&self, state: &Corners) -> Option<u32> {
        Some(CubeState::from_corners(state.0).corner_parity())
    }

    fn state_index(&self) -> Option<&dyn Indexed<State = Corners>> {
        Some(self)
    }

    fn state_bytes(&self) -> Option<StateBytes<Corners>> {
        Some(StateBytes::plain())
    }
}

impl Notation for Cube2 {
    fn notation(&self) -> &'static str {
        "a scramble from solved in face turns (all twelve are read), or 24 facelets in the order U R F D L B, in any six letters; \
         moves U R F D L B, a ' for counter-clockwise"
    }

    fn move_name(&self, action: Move) -> String {
        Cube3.move_name(action)
    }

    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let moves = notation::quarter_turns(text, 2, Held::InTheEnd)?;
        if let Some(&action) = moves.iter().find(|&&action| action >= 6) {
            let name = Cube3.move_name(action);
            bail_parse!("'{name}' moves the corner that stays: solutions are written in turns of U, R and F");
        }
        Ok(moves)
    }

    /// A scramble from solved, or 24 facelets in the order U R F D L B.
    fn read(&self, text: &str) -> Result<Instance<Corners>, ParseError> {
        match facelets::read_corners(text) {
            Some(corners) => corners.map(|corners| Corners(corners).into()),
            None => Ok(Instance::scramble(Corners::SOLVED, notation::quarter_turns(text, 2, Held::InTheEnd)?)),
        }
    }

    fn block(&self, lines: &[&str]) -> Block {
        facelets::block(lines, 2)
    }

    fn format(&self, state: &Corners) -> String {
        self.row(state).iter().map(|&colour| FACES[usize::from(colour)]).collect()
    }

    fn normalized(&self, state: &Corners) -> Corners {
        state.held()
    }

    /// The turns that leave the corner piece DBL where it is.
    fn in_hand(&self, instance: &str, moves: &[Move]) -> Vec<Move> {
        let Ok(hand) = self.state_in_hand(instance) else { return moves.to_vec() };
        let dbl = |corners: Corners| (0..8).find(|&place| corners.corner(place) % 8 == 6);
        let keeps = |turn: &Move| dbl(hand.turned(*turn)) == dbl(hand);
        let named = |&action: &Move| ALL_TURNS.filter(keeps).find(|&turn| hand.move_of(turn) == action);
        moves.iter().map(|action| named(action).unwrap_or(*action)).collect()
    }

    fn parse_solution(&self, instance: &str, solution: &str) -> Result<Vec<Move>, ParseError> {
        let mut hand = self.state_in_hand(instance)?;
        let turns = notation::quarter_turns(&plain(solution), 2, Held::AtTheStart)?;
        let step = |turn| {
            let action = hand.move_of(turn);
            hand = hand.turned(turn);
            action
        };
        Ok(turns.into_iter().map(step).collect())
    }

    fn written(&self, moves: &[Move]) -> Vec<String> {
        turns::written(moves)
    }

    fn counted(&self, moves: &[Move]) -> String {
        turns::counted(moves)
    }

    fn picture(&self, state: &Corners) -> Picture {
        Picture::Cube { size: 2, facelets: self.format(state) }
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
        Some(turns::move_table(2, self.move_count()))
    }
}
