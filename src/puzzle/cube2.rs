//! The 2×2×2 cube in quarter turns. The corner DBL stays where it is, so that U, R and F are all the moves there are.
//!
//! The other three turns are the same as these but for how the whole cube is held. A scramble may have all twelve: it
//! is played on a cube in the hand, which is then held so that the corner DBL is home again.

use super::cube3::{Cube3, CubeState, FACES, draw_facelet, turns};
use super::{Encoding, Grid, Move, Numbers, ParseError, Picture, Puzzle, Reversible, Scramble, StateBytes, Style};

mod rank;

/// The puzzle `cube2`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cube2;

/// The corners of a cube that is held so that DBL is home, 5 bits each as on the 3×3×3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Corners(u64);

/// The facelets of the 3×3×3 that a 2×2×2 has: the corners of each face, row by row.
const FACELETS: [usize; 24] = {
    let mut facelets = [0; 24];
    let mut i = 0;
    while i < 24 {
        facelets[i] = 9 * (i / 4) + [0, 2, 6, 8][i % 4];
        i += 1;
    }
    facelets
};

/// The facelets of the corner DBL, which never change: D bottom left, B bottom right, L bottom left.
const FIXED: [usize; 3] = [14, 18, 23];

/// Turning the whole cube, by its names: as R does, as U does, and back, is turning two opposite layers at once.
const HOLDS: [(&str, [Move; 2]); 4] = [("x", [2, 9]), ("y", [0, 7]), ("x'", [3, 8]), ("y'", [1, 6])];

/// Holds a cube so that the corner DBL is home.
fn hold(corners: u64) -> Corners {
    Corners(ways_to_hold(corners).last().map_or(corners, |(_, turned)| *turned))
}

/// The fewest turns of the whole cube that bring the corner DBL home: the name of each, and the corners after it.
fn ways_to_hold(corners: u64) -> Vec<(&'static str, u64)> {
    // All ways to hold a cube come from these turns by breadth-first search; there are 24.
    let mut ways = vec![(corners, Vec::new())];
    let mut next = 0;
    while next < ways.len() {
        let (corners, turns) = ways[next].clone();
        if CubeState::from_corners(corners).keeps_dbl() {
            return turns;
        }
        for (name, layers) in HOLDS {
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
    fn state(self) -> CubeState {
        CubeState::from_corners(self.0)
    }
}

impl Puzzle for Cube2 {
    type State = Corners;

    fn name(&self) -> String {
        "cube2".into()
    }

    fn move_count(&self) -> usize {
        6
    }

    fn move_name(&self, action: Move) -> String {
        Cube3.move_name(action)
    }

    #[inline]
    fn apply(&self, state: &Corners, action: Move) -> Option<Corners> {
        // Moves 0 to 5 of the 3×3×3 are U U' R R' F F'.
        Some(Corners(CubeState::turn_corners(state.0, action)))
    }

    #[inline]
    fn is_goal(&self, state: &Corners) -> bool {
        *state == Corners(CubeState::SOLVED.corners())
    }

    /// A scramble from solved, or 24 facelets in the order U R F D L B.
    fn parse(&self, text: &str) -> Result<Corners, ParseError> {
        if let Some(corners) = CubeState::corners_of_facelets(text) {
            return Ok(Corners(corners?));
        }
        let moves = CubeState::moves_of_small(text)?;
        let end = moves.iter().fold(CubeState::SOLVED, |state, &action| Cube3.turn(&state, action));
        Ok(hold(end.corners()))
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let moves = CubeState::moves_of_small(text)?;
        match moves.iter().find(|&&action| action >= 6) {
            Some(&action) => Err(ParseError(format!(
                "'{}' moves the corner that stays: solutions are written in turns of U, R and F",
                Cube3.move_name(action)
            ))),
            None => Ok(moves),
        }
    }

    fn format(&self, state: &Corners) -> String {
        let mut row = [0; 24];
        self.encode(state, &mut row);
        row.iter().map(|&colour| FACES[usize::from(colour)]).collect()
    }

    /// The net: U on top, then L F R B, then D.
    fn draw(&self, state: &Corners, style: Style) -> String {
        let mut row = [0; 24];
        self.encode(state, &mut row);
        let mut lines = Vec::new();
        for faces in [&[0][..], &[4, 2, 1, 5], &[3]] {
            for line in 0..2 {
                let mut text = String::from(if faces.len() == 1 { "     " } else { "" });
                for &face in faces {
                    row[4 * face + 2 * line..][..2]
                        .iter()
                        .for_each(|&colour| draw_facelet(&mut text, colour.into(), style));
                    text.push(' ');
                }
                lines.push(text.trim_end().to_owned());
            }
        }
        lines.join("\n")
    }

    fn picture(&self, state: &Corners) -> Picture {
        Picture::Cube { size: 2, facelets: self.format(state) }
    }

    /// The moves as they are written, and then turns of the whole cube, where they are needed to bring DBL home.
    fn scramble(&self, text: &str) -> Option<Scramble<Corners>> {
        if CubeState::corners_of_facelets(text).is_some() {
            return None;
        }
        let moves = CubeState::moves_of_small(text).ok()?;
        let mut corners = CubeState::SOLVED.corners();
        let played = moves.iter().map(|&action| {
            corners = CubeState::turn_corners(corners, action);
            (Cube3.move_name(action), Corners(corners))
        });
        let mut moves: Vec<(String, Corners)> = played.collect();
        moves.extend(ways_to_hold(corners).into_iter().map(|(name, turned)| (name.to_owned(), Corners(turned))));
        Some(Scramble { start: Corners(CubeState::SOLVED.corners()), moves })
    }

    fn as_held(&self, state: &Corners) -> Corners {
        hold(state.0)
    }

    /// 24 stickers, each one of 6 colours; the three of DBL never change.
    fn encoding(&self) -> Encoding {
        let grid = Grid { faces: 6, rows: 2, columns: 2 };
        Encoding { version: 1, cells: 24, symbols: 6, fixed: FIXED.to_vec(), grid: Some(grid) }
    }

    fn encode(&self, state: &Corners, row: &mut [u8]) {
        let mut whole = [0; 54];
        Cube3.encode(&state.state(), &mut whole);
        assert_eq!(row.len(), 24);
        row.iter_mut().zip(FACELETS).for_each(|(cell, facelet)| *cell = whole[facelet]);
    }

    fn always_same(&self, one: &[Move], other: &[Move]) -> bool {
        let after = |moves: &[Move]| {
            moves.iter().fold(CubeState::SOLVED.corners(), |corners, &action| CubeState::turn_corners(corners, action))
        };
        after(one) == after(other)
    }

    fn written(&self, moves: &[Move]) -> Vec<String> {
        turns::written(moves)
    }

    fn counted(&self, moves: &[Move]) -> String {
        turns::counted(moves)
    }

    fn length_parity(&self, state: &Corners) -> Option<u32> {
        Some(state.state().corner_parity())
    }

    fn notation(&self) -> &'static str {
        "a scramble from solved in face turns (all twelve are read), or 24 facelets in the order U R F D L B, in any six letters; \
         moves U R F, a ' for counter-clockwise"
    }

    fn numbers(&self) -> Option<&dyn Numbers<Corners>> {
        Some(self)
    }

    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        Some(StateBytes::plain())
    }
}

impl Reversible for Cube2 {
    fn goals(&self) -> Vec<Corners> {
        vec![Corners(CubeState::SOLVED.corners())]
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
