//! Turns of faces: their names and numbers, and solutions as people write and count them: turns of a face, one after the
//! other, are one turn.

use super::{CubeState, FACES, QUARTER_TURNS};
use crate::puzzle::Move;

/// Some quarter turns of a face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// The place of the face in [`FACES`].
    pub(super) face: u8,
    /// Clockwise where it is positive, and from 1 to 3 turns either way.
    pub(super) quarters: i8,
}

impl Turn {
    /// The turn as one move, of a cube on which half turns are moves; `None` where it changes nothing.
    pub(super) fn one_move(self) -> Option<Move> {
        match self.quarters.rem_euclid(4) {
            1 => Some(2 * self.face),
            2 => Some(QUARTER_TURNS as Move + self.face),
            3 => Some(2 * self.face + 1),
            _ => None,
        }
    }

    /// The turn as quarter turns.
    pub(super) fn moves(self) -> impl Iterator<Item = Move> {
        // Three quarter turns are one the other way.
        let quarters = if self.quarters.abs() == 3 { -self.quarters.signum() } else { self.quarters };
        std::iter::repeat_n(2 * self.face + Move::from(quarters < 0), quarters.unsigned_abs().into())
    }
}

/// What some turns lead to from the solved cube.
pub(super) fn after(moves: &[Move]) -> CubeState {
    moves.iter().fold(CubeState::SOLVED, |state, &action| state.turned(action))
}

/// The face of a turn, and how many quarter turns clockwise it is, from 1 to 3.
pub(super) fn face_and_quarters(action: Move) -> (usize, u8) {
    match usize::from(action).checked_sub(QUARTER_TURNS) {
        Some(face) => (face, 2),
        None => (usize::from(action / 2), if action.is_multiple_of(2) { 1 } else { 3 }),
    }
}

/// The turns of each stretch of moves about one axis, in the order of their first moves: a face, and how many quarter turns
/// clockwise, from 1 to 3.
fn turns(moves: &[Move]) -> Vec<(usize, u8)> {
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

/// Quarter turns as turns of faces: `R2` for R R, and R' for three.
pub(in crate::puzzle) fn written(moves: &[Move]) -> Vec<String> {
    turns(moves).into_iter().map(name).collect()
}

/// The name of a turn of a face.
pub(super) fn name((face, quarters): (usize, u8)) -> String {
    format!("{}{}", FACES[face], ["", "", "2", "'"][usize::from(quarters)])
}

/// Both counts of a solution in quarter turns: of quarter turns, and of turns.
pub(in crate::puzzle) fn counted(moves: &[Move]) -> String {
    format!("{}, {}", counted_as(moves.len(), "quarter turn"), counted_as(turns(moves).len(), "turn"))
}

/// Both counts of a solution that may have half turns: of turns, and of quarter turns.
pub(super) fn counted_with_half_turns(moves: &[Move]) -> String {
    let quarters = moves.iter().map(|&action| if usize::from(action) < QUARTER_TURNS { 1 } else { 2 }).sum();
    format!("{}, {}", counted_as(moves.len(), "turn"), counted_as(quarters, "quarter turn"))
}

fn counted_as(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Puzzle as _;
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
