//! Turns of faces: their names, the move table, and solutions as people write and count them. Adjacent turns of a face are
//! one turn.

use super::{CubeState, FACES, QUARTER_TURNS};
use crate::puzzle::cube_n::geometry::{Turn, stickers};
use crate::puzzle::notation::counted as counted_as;
use crate::puzzle::{Move, MoveTable};

/// A turn of a face by one to three quarters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FaceTurn {
    /// The index of the face in [`FACES`].
    pub(super) face: u8,
    /// 1 to 3 clockwise, -1 to -3 counter-clockwise.
    pub(super) quarters: i8,
}

impl FaceTurn {
    /// The turn as one move, if half turns are moves; `None` if it changes nothing.
    pub(super) fn one_move(self) -> Option<Move> {
        match self.quarters.rem_euclid(4) {
            1 => Some(2 * self.face),
            2 => Some(QUARTER_TURNS as Move + self.face),
            3 => Some(2 * self.face + 1),
            _ => None,
        }
    }

    /// The turn as quarter turns.
    pub(super) fn quarter_turns(self) -> impl Iterator<Item = Move> {
        // Three quarter turns are one the other way.
        let quarters = if self.quarters.abs() == 3 { -self.quarters.signum() } else { self.quarters };
        std::iter::repeat_n(2 * self.face + Move::from(quarters < 0), quarters.unsigned_abs().into())
    }
}

/// The state after turns of the solved cube.
pub(super) fn after(moves: &[Move]) -> CubeState {
    moves.iter().fold(CubeState::SOLVED, |state, &action| state.turned(action))
}

/// The face of a move, and its quarter turns clockwise, from 1 to 3.
pub(super) fn face_and_quarters(action: Move) -> (usize, u8) {
    match usize::from(action).checked_sub(QUARTER_TURNS) {
        Some(face) => (face, 2),
        None => (usize::from(action / 2), if action.is_multiple_of(2) { 1 } else { 3 }),
    }
}

/// The moves of a cube of two or three layers, as permutations of its stickers.
pub(in crate::puzzle) fn move_table(size: usize, moves: usize) -> MoveTable {
    let places = stickers(size);
    let permutation = |action| {
        let (face, quarters) = face_and_quarters(action);
        Turn::new(size, face, 1, quarters as i8).permutation(&places)
    };
    MoveTable::Permutations((0..moves as Move).map(permutation).collect())
}

/// Moves as turns, each a face and its quarter turns clockwise, from 1 to 3. Moves about one axis commute, so those of one
/// face are added up.
fn merged(moves: &[Move]) -> Vec<(usize, u8)> {
    let face = |action: Move| face_and_quarters(action).0;
    let mut turns = Vec::new();
    for stretch in moves.chunk_by(|one, other| face(*one) % 3 == face(*other) % 3) {
        let mut faces: Vec<(usize, u8)> = Vec::with_capacity(2);
        for &action in stretch {
            let (face, quarters) = face_and_quarters(action);
            match faces.iter_mut().find(|(known, _)| *known == face) {
                Some((_, sum)) => *sum = (*sum + quarters) % 4,
                None => faces.push((face, quarters)),
            }
        }
        turns.extend(faces.into_iter().filter(|(_, quarters)| *quarters > 0));
    }
    turns
}

/// Quarter turns as turns of faces: `R2` for R R, `R'` for R R R.
pub(in crate::puzzle) fn written(moves: &[Move]) -> Vec<String> {
    merged(moves).into_iter().map(name).collect()
}

/// The name of a turn of a face.
pub(super) fn name((face, quarters): (usize, u8)) -> String {
    format!("{}{}", FACES[face], ["", "", "2", "'"][usize::from(quarters)])
}

/// The length of a solution in quarter turns, and in turns.
pub(in crate::puzzle) fn counted(moves: &[Move]) -> String {
    format!("{}, {}", counted_as(moves.len(), "quarter turn"), counted_as(merged(moves).len(), "turn"))
}

/// The length of a solution that may have half turns: in turns, and in quarter turns.
pub(super) fn counted_with_half_turns(moves: &[Move]) -> String {
    let quarters = moves.iter().map(|&action| if usize::from(action) < QUARTER_TURNS { 1 } else { 2 }).sum();
    format!("{}, {}", counted_as(moves.len(), "turn"), counted_as(quarters, "quarter turn"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Notation as _;
    use crate::puzzle::cube3::Cube3;

    #[test]
    fn turns_of_a_face_are_one_turn_and_both_are_counted() {
        for (moves, text, count) in [
            ("R R", "R2", "2 quarter turns, 1 turn"),
            ("U' U' R'", "U2 R'", "3 quarter turns, 2 turns"),
            ("R L R", "R2 L", "3 quarter turns, 2 turns"),
            ("R R R", "R'", "3 quarter turns, 1 turn"),
            ("F D", "F D", "2 quarter turns, 2 turns"),
            ("", "", "0 quarter turns, 0 turns"),
        ] {
            let moves = Cube3.parse_moves(moves).expect("moves");
            assert_eq!((written(&moves).join(" "), counted(&moves)), (text.to_owned(), count.to_owned()));
        }
    }
}
