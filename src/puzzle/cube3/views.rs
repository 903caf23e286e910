//! The 96 equivalent cubes: as seen in the 48 ways in which a cube can be held or mirrored, and the inverse of each.
//!
//! A solution of one is one of all others: move by move under the names that the faces have then, and backward for an
//! inverse. (Rokicki et al. 2014, §3: The Diameter of the Rubik's Cube Group Is Twenty.)

use super::{Cube3, CubeState, FACES};
use crate::puzzle::{Move, Puzzle as _, View};

type Vector = [i32; 3];

/// x to the right, y up, z towards the viewer: the outward direction of U R F D L B.
const NORMALS: [Vector; 6] = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, -1, 0], [-1, 0, 0], [0, 0, -1]];
/// The direction of increasing column on each face, and of increasing row.
const COLUMNS: [Vector; 6] = [[1, 0, 0], [0, 0, -1], [1, 0, 0], [1, 0, 0], [0, 0, 1], [-1, 0, 0]];
const ROWS: [Vector; 6] = [[0, 0, 1], [0, -1, 0], [0, -1, 0], [0, 0, -1], [0, -1, 0], [0, -1, 0]];

/// A way to hold the cube: where each axis goes, and whether it is turned round.
type Hold = ([usize; 3], [i32; 3]);

/// All views of a state: the state itself, then by turns an inverse and another hold.
pub(super) fn views(state: &CubeState) -> Vec<View<CubeState>> {
    let inverse = inverse(state);
    let both = |hold| [(state, false), (&inverse, true)].map(|(state, backward)| view(state, hold, backward));
    holds().flat_map(both).collect()
}

fn holds() -> impl Iterator<Item = Hold> {
    let axes = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0]];
    let signs = (0..8).map(|bits| [0, 1, 2].map(|axis| if bits >> axis & 1 == 1 { -1 } else { 1 }));
    signs.flat_map(move |signs| axes.map(|axes| (axes, signs)))
}

fn view(state: &CubeState, hold: Hold, backward: bool) -> View<CubeState> {
    let (axes, signs) = hold;
    let held = |v: Vector| {
        let mut to = [0; 3];
        (0..3).for_each(|axis| to[axes[axis]] = signs[axis] * v[axis]);
        to
    };
    let face = |from: usize| face_towards(held(NORMALS[from]));
    let stickers: Vec<usize> = Cube3.format(state).chars().filter_map(|c| FACES.iter().position(|&f| f == c)).collect();
    let mut text = ['?'; 54];
    for (facelet, &colour) in stickers.iter().enumerate() {
        text[facelet_at(held(place(facelet)), held(NORMALS[facelet / 9]))] = FACES[face(colour)];
    }
    // What is clockwise is counter-clockwise in a mirror.
    let mirrored = (axes_are_odd(axes) != (signs.iter().product::<i32>() < 0)) as Move;
    let mut moves = [0; 12];
    (0..12).for_each(|action: Move| {
        let seen = 2 * face(usize::from(action / 2)) as Move + ((action % 2) ^ mirrored);
        moves[usize::from(seen)] = if backward { action ^ 1 } else { action };
    });
    let text: String = text.iter().collect();
    let start = Cube3.parse(&text).expect("a cube that is held in another way is a cube");
    View { start, moves: moves.to_vec(), backward }
}

fn axes_are_odd(axes: [usize; 3]) -> bool {
    axes[(axes.iter().position(|&axis| axis == 0).unwrap_or(0) + 1) % 3] == 2
}

fn face_towards(direction: Vector) -> usize {
    NORMALS.iter().position(|&normal| normal == direction).expect("an axis goes to an axis")
}

/// Where a facelet's cubie is.
fn place(facelet: usize) -> Vector {
    let (face, row, column) = (facelet / 9, facelet as i32 % 9 / 3 - 1, facelet as i32 % 3 - 1);
    [0, 1, 2].map(|i| NORMALS[face][i] + row * ROWS[face][i] + column * COLUMNS[face][i])
}

fn facelet_at(place: Vector, normal: Vector) -> usize {
    let face = face_towards(normal);
    let along = |direction: Vector| (0..3).map(|i| place[i] * direction[i]).sum::<i32>() + 1;
    9 * face + 3 * along(ROWS[face]) as usize + along(COLUMNS[face]) as usize
}

/// The cube that undoes the way from solved to this one.
pub(super) fn inverse(state: &CubeState) -> CubeState {
    let (mut corners, mut edges) = ([0; 8], [0; 12]);
    for place in 0..8 {
        let (piece, twist) = (state.corner(place) % 8, state.corner(place) / 8);
        corners[piece] = (place + 8 * ((3 - twist) % 3)) as u8;
    }
    for place in 0..12 {
        let (piece, flip) = (state.edge(place) % 16, state.edge(place) / 16);
        edges[piece] = (place + 16 * flip) as u8;
    }
    CubeState::pack(corners, edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Reversible as _;
    use crate::sampler::{Walker, generator};
    use std::collections::HashSet;

    #[test]
    fn a_solution_of_every_view_solves_the_cube() {
        let mut walker = Walker::new(&Cube3, CubeState::SOLVED);
        let mut generator = generator(5, 5);
        let made: Vec<Move> = (0..30).map(|_| walker.step(&mut generator).expect("a cube can be turned")).collect();
        let state = walker.state;
        let back: Vec<Move> = made.iter().rev().map(|&action| Cube3.inverse(action)).collect();
        let views = views(&state);
        assert_eq!(views.len(), 96);
        assert_eq!(views[0].start, state);
        assert_eq!(
            views.iter().map(|view| view.start).collect::<HashSet<_>>().len(),
            96,
            "a random cube has no symmetry"
        );
        for view in views {
            // The solution of the cube, as it is seen there.
            let seen = |action: &Move| view.moves.iter().position(|to| to == action).expect("every move is seen");
            let mut way: Vec<Move> = back.iter().map(|action| seen(action) as Move).collect();
            if view.backward {
                way.reverse();
            }
            let end = way.iter().fold(view.start, |state, &action| Cube3.turn(&state, action));
            assert_eq!(end, CubeState::SOLVED);
            assert_eq!(view.solution(&way), back);
        }
    }
}
