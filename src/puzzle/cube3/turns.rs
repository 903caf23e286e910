//! Solutions as people write and count them: turns of a face, one after the other, are one turn.

use super::FACES;
use crate::puzzle::Move;

/// The turns of each stretch of moves about one axis, in the order of their first moves: a face, and how many quarter turns
/// clockwise, from 1 to 3.
fn turns(moves: &[Move]) -> Vec<(usize, u8)> {
    let face = |action: Move| usize::from(action / 2);
    let mut turns = Vec::new();
    for stretch in moves.chunk_by(|one, other| face(*one) % 3 == face(*other) % 3) {
        let mut faces: Vec<(usize, u8)> = Vec::with_capacity(2);
        for &action in stretch {
            let quarters = if action % 2 == 0 { 1 } else { 3 };
            match faces.iter_mut().find(|(known, _)| *known == face(action)) {
                Some((_, sum)) => *sum = (*sum + quarters) % 4,
                None => faces.push((face(action), quarters)),
            }
        }
        turns.extend(faces.into_iter().filter(|(_, quarters)| *quarters > 0));
    }
    turns
}

/// Quarter turns as turns of faces: `R2` for R R, and R' for three.
pub(in crate::puzzle) fn written(moves: &[Move]) -> Vec<String> {
    let write = |(face, quarters): (usize, u8)| format!("{}{}", FACES[face], ["", "", "2", "'"][usize::from(quarters)]);
    turns(moves).into_iter().map(write).collect()
}

/// Both counts of a solution: of quarter turns, and of turns.
pub(in crate::puzzle) fn counted(moves: &[Move]) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let (quarters, turns) = (moves.len(), turns(moves).len());
    format!("{quarters} quarter turn{}, {turns} turn{}", plural(quarters), plural(turns))
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
