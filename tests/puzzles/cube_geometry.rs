//! The cube against a second, slow implementation: stickers at points in space, turned by rotation matrices.

use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::{Move, Notation as _, Rules as _};
use proptest::prelude::*;

type Vector = [i32; 3];

/// x to the right, y up, z towards the viewer: the outward direction of U R F D L B.
const NORMALS: [Vector; 6] = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, -1, 0], [-1, 0, 0], [0, 0, -1]];
/// The direction of increasing column on each face, as it is read in the net.
const COLUMNS: [Vector; 6] = [[1, 0, 0], [0, 0, -1], [1, 0, 0], [1, 0, 0], [0, 0, 1], [-1, 0, 0]];
/// The direction of increasing row.
const ROWS: [Vector; 6] = [[0, 0, 1], [0, -1, 0], [0, -1, 0], [0, 0, -1], [0, -1, 0], [0, -1, 0]];

/// A sticker: where its cubie is, which way it looks, and its colour.
#[derive(Clone, Copy)]
struct Sticker {
    place: Vector,
    normal: Vector,
    colour: usize,
}

fn combine(a: Vector, b: Vector, factor: i32) -> Vector {
    [0, 1, 2].map(|i| a[i] + factor * b[i])
}

fn dot(a: Vector, b: Vector) -> i32 {
    (0..3).map(|i| a[i] * b[i]).sum()
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// By 90° about an axis, clockwise as seen from its tip (Rodrigues' formula with cos = 0, sin = -1).
fn rotate(v: Vector, axis: Vector) -> Vector {
    let along = axis.map(|x| x * dot(axis, v));
    combine(along, cross(axis, v), -1)
}

struct Geometry(Vec<Sticker>);

impl Geometry {
    fn solved() -> Self {
        let stickers = (0..54).map(|facelet| {
            let (face, row, column) = (facelet / 9, facelet as i32 % 9 / 3, facelet as i32 % 3);
            let place = combine(combine(NORMALS[face], ROWS[face], row - 1), COLUMNS[face], column - 1);
            Sticker { place, normal: NORMALS[face], colour: face }
        });
        Geometry(stickers.collect())
    }

    fn turn(&mut self, action: Move) {
        let axis = NORMALS[usize::from(action / 2)];
        for _ in 0..if action.is_multiple_of(2) { 1 } else { 3 } {
            for sticker in self.0.iter_mut().filter(|sticker| dot(sticker.place, axis) == 1) {
                sticker.place = rotate(sticker.place, axis);
                sticker.normal = rotate(sticker.normal, axis);
            }
        }
    }

    fn facelets(&self) -> String {
        let at = |facelet: usize| {
            let solved = &Geometry::solved().0[facelet];
            let here = |sticker: &&Sticker| sticker.place == solved.place && sticker.normal == solved.normal;
            b"URFDLB"[self.0.iter().find(here).expect("every place has a sticker").colour] as char
        };
        (0..54).map(at).collect()
    }
}

#[test]
fn every_turn_moves_the_stickers_that_it_should() {
    for action in 0..12 {
        let mut geometry = Geometry::solved();
        geometry.turn(action);
        assert_eq!(Cube3.format(&Cube3.turn(&CubeState::SOLVED, action)), geometry.facelets(), "move {action}");
    }
}

proptest! {
    #[test]
    fn scrambles_lead_where_geometry_leads(moves in prop::collection::vec(0..12u8, 0..60)) {
        let mut geometry = Geometry::solved();
        let mut state = CubeState::SOLVED;
        for &action in &moves {
            geometry.turn(action);
            state = Cube3.turn(&state, action);
        }
        prop_assert_eq!(Cube3.format(&state), geometry.facelets());
        // The same from text, and back from the facelets.
        let scramble: Vec<String> = moves.iter().map(|&action| Cube3.move_name(action)).collect();
        prop_assert_eq!(Cube3.parse(&scramble.join(" ")), Ok(state));
        prop_assert_eq!(Cube3.parse(&geometry.facelets()), Ok(state));
        // Undone move by move.
        let solved = moves.iter().rev().fold(state, |state, &action| Cube3.turn(&state, Cube3.inverse(action)));
        prop_assert!(Cube3.is_goal(&solved));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        if let Ok(state) = Cube3.parse(&text) {
            prop_assert_eq!(Cube3.parse(&Cube3.format(&state)), Ok(state));
        }
    }

    #[test]
    fn any_text_of_turns_is_read_or_refused(text in "[URFDLBurx2'’()0-9 ]{0,40}") {
        if let Ok(state) = Cube3.parse(&text) {
            prop_assert_eq!(Cube3.parse(&Cube3.format(&state)), Ok(state));
        }
    }

    #[test]
    fn any_54_facelets_are_read_or_refused(text in "[URFDLB]{54}", swaps in prop::collection::vec((0..54usize, 0..54usize), 0..4)) {
        let _ = Cube3.parse(&text);
        let mut facelets: Vec<char> = Cube3.format(&CubeState::SOLVED).chars().collect();
        swaps.iter().for_each(|&(a, b)| facelets.swap(a, b));
        let text: String = facelets.iter().collect();
        if let Ok(state) = Cube3.parse(&text) {
            prop_assert_eq!(Cube3.format(&state), text);
        }
    }
}
