//! The 96 symmetric images of a cube: 48 rotations and reflections of the whole cube, and the inverse of each.
//!
//! A solution of one image gives a solution of every other: its moves are renamed, and for an inverse also reversed.
//! (Rokicki et al. 2014, "The diameter of the Rubik's Cube group is twenty", §3.)

use super::turns::face_and_quarters;
use super::{Cube3, CubeState, FACES, QUARTER_TURNS};
use crate::puzzle::{Move, Puzzle as _, SymmetricImage};

pub(super) type Vector = [i32; 3];

/// x to the right, y up, z towards the viewer: the outward direction of U R F D L B.
pub(super) const NORMALS: [Vector; 6] = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, -1, 0], [-1, 0, 0], [0, 0, -1]];
/// The direction of increasing column on each face, and of increasing row.
const COLUMNS: [Vector; 6] = [[1, 0, 0], [0, 0, -1], [1, 0, 0], [1, 0, 0], [0, 0, 1], [-1, 0, 0]];
const ROWS: [Vector; 6] = [[0, 0, 1], [0, -1, 0], [0, -1, 0], [0, 0, -1], [0, -1, 0], [0, -1, 0]];

/// A rotation or reflection of the whole cube: the axis that each axis is mapped to, and its sign.
pub(super) type Rotation = ([usize; 3], [i32; 3]);

/// All images of a state, with the first so many turns: the state itself, its inverse, then the same two under each other
/// rotation or reflection.
pub(super) fn images(state: &CubeState, turns: usize) -> Vec<SymmetricImage<CubeState>> {
    let inverse = inverse(state);
    let both =
        |rotation| [(state, false), (&inverse, true)].map(|(state, inverted)| image(state, turns, rotation, inverted));
    rotations().flat_map(both).collect()
}

pub(super) fn rotations() -> impl Iterator<Item = Rotation> {
    let axes = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0]];
    let signs = (0..8).map(|bits| [0, 1, 2].map(|axis| if bits >> axis & 1 == 1 { -1 } else { 1 }));
    signs.flat_map(move |signs| axes.map(|axes| (axes, signs)))
}

fn image(state: &CubeState, turns: usize, rotation: Rotation, inverted: bool) -> SymmetricImage<CubeState> {
    let (axes, signs) = rotation;
    let face = |from: usize| face_towards(rotated(rotation, NORMALS[from]));
    let stickers: Vec<usize> = Cube3.format(state).chars().filter_map(|c| FACES.iter().position(|&f| f == c)).collect();
    let mut text = ['?'; 54];
    for (facelet, &colour) in stickers.iter().enumerate() {
        text[facelet_at(rotated(rotation, place(facelet)), rotated(rotation, NORMALS[facelet / 9]))] =
            FACES[face(colour)];
    }
    // A reflection exchanges clockwise and counter-clockwise.
    let mirrored = (axes_are_odd(axes) != (signs.iter().product::<i32>() < 0)) as Move;
    let mut moves = vec![0; turns];
    (0..turns as Move).for_each(|action| {
        let (turned, quarters) = face_and_quarters(action);
        let (seen, original) = match quarters {
            2 => (QUARTER_TURNS as Move + face(turned) as Move, action),
            _ => (2 * face(turned) as Move + ((action % 2) ^ mirrored), action ^ Move::from(inverted)),
        };
        moves[usize::from(seen)] = original;
    });
    let text: String = text.iter().collect();
    let start = Cube3.parse(&text).expect("the image of a cube is a cube");
    SymmetricImage { start, moves, inverted }
}

/// Where a rotation brings a place or a direction.
pub(super) fn rotated((axes, signs): Rotation, v: Vector) -> Vector {
    let mut to = [0; 3];
    (0..3).for_each(|axis| to[axes[axis]] = signs[axis] * v[axis]);
    to
}

fn axes_are_odd(axes: [usize; 3]) -> bool {
    axes[(axes.iter().position(|&axis| axis == 0).unwrap_or(0) + 1) % 3] == 2
}

pub(super) fn face_towards(direction: Vector) -> usize {
    NORMALS.iter().position(|&normal| normal == direction).expect("an axis goes to an axis")
}

/// Where a facelet's cubie is.
pub(super) fn place(facelet: usize) -> Vector {
    let (face, row, column) = (facelet / 9, facelet as i32 % 9 / 3 - 1, facelet as i32 % 3 - 1);
    [0, 1, 2].map(|i| NORMALS[face][i] + row * ROWS[face][i] + column * COLUMNS[face][i])
}

pub(super) fn facelet_at(place: Vector, normal: Vector) -> usize {
    let face = face_towards(normal);
    let along = |direction: Vector| (0..3).map(|i| place[i] * direction[i]).sum::<i32>() + 1;
    9 * face + 3 * along(ROWS[face]) as usize + along(COLUMNS[face]) as usize
}

/// The inverse of a state: the state that the inverse of its scramble leads to.
pub(super) fn inverse(state: &CubeState) -> CubeState {
    // Without branches and arrays: what finds the class of a state may need it.
    let (mut corners, mut edges) = (0, 0);
    for place in 0..8 {
        let corner = state.corners >> (5 * place);
        // Twists 0, 1, 2 become 0, 2, 1: their two bits change places.
        let twist = corner >> 1 & 8 | corner << 1 & 16;
        corners |= (place as u64 | twist) << (5 * (corner & 7));
    }
    for place in 0..12 {
        let edge = state.edges >> (5 * place);
        edges |= (place as u64 | edge & 16) << (5 * (edge & 15));
    }
    CubeState { corners, edges }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Reversible as _;
    use crate::random::{below, generator};
    use std::collections::HashSet;

    #[test]
    fn a_solution_of_every_image_solves_the_cube() {
        let mut generator = generator(5, 5);
        let made: Vec<Move> = (0..31).map(|_| below(&mut generator, 12) as Move).collect();
        let state = made.iter().fold(CubeState::SOLVED, |state, &action| Cube3.turn(&state, action));
        let back: Vec<Move> = made.iter().rev().map(|&action| Cube3.inverse(action)).collect();
        let images = images(&state, QUARTER_TURNS);
        assert_eq!(images.len(), 96);
        assert_eq!(images[0].start, state);
        assert_eq!(
            images.iter().map(|image| image.start).collect::<HashSet<_>>().len(),
            96,
            "a random cube has no symmetry"
        );
        for image in images {
            // The solution of the cube, as moves of the image.
            let seen = |action: &Move| image.moves.iter().position(|to| to == action).expect("every move is seen");
            let mut way: Vec<Move> = back.iter().map(|action| seen(action) as Move).collect();
            if image.inverted {
                way.reverse();
            }
            let end = way.iter().fold(image.start, |state, &action| Cube3.turn(&state, action));
            assert_eq!(end, CubeState::SOLVED);
            assert_eq!(image.solution(&way), back);
        }
    }
}
