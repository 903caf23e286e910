//! The 96 symmetric images of a cube: 48 rotations and reflections of the whole cube, and the inverse of each.
//!
//! A solution of one image gives a solution of every other: its moves are renamed, and for an inverse also reversed.
//! (Rokicki et al. 2013, "The diameter of the Rubik's Cube group is twenty", §3.)

use super::{CORNER_FACELETS, Cube3, CubeState, EDGE_FACELETS, classes};
use crate::puzzle::cube_n::geometry::{Point, stickers};
use crate::puzzle::{Rules as _, SymmetricImage};

/// Rotations and reflections of the whole cube.
pub(super) const ROTATIONS: usize = 48;

/// A rotation or reflection of the whole cube: the image of each axis, and its sign.
pub(super) type SignedPermutation = ([usize; 3], [i32; 3]);

/// All images of a state, of a cube with `moves` moves: the state itself, its inverse, then the same two under each other
/// rotation or reflection.
pub(super) fn images(state: CubeState, moves: usize) -> impl Iterator<Item = SymmetricImage<CubeState>> {
    let tables = classes::symmetries();
    (0..ROTATIONS).flat_map(move |rotation| {
        let originals = &tables.original_moves[rotation][..moves];
        [false, true].map(|inverted| SymmetricImage {
            start: tables.image(&state, rotation + ROTATIONS * usize::from(inverted)),
            moves: originals.iter().map(|&action| if inverted { Cube3.inverse(action) } else { action }).collect(),
            inverted,
        })
    })
}

/// All rotations and reflections, the identity first.
pub(super) fn rotations() -> impl Iterator<Item = SignedPermutation> {
    let axes = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0]];
    let signs = (0..8).map(|bits| [0, 1, 2].map(|axis| if bits >> axis & 1 == 1 { -1 } else { 1 }));
    signs.flat_map(move |signs| axes.map(|axes| (axes, signs)))
}

/// The index of each rotation's inverse.
pub(super) fn inverse_rotations() -> Vec<usize> {
    let all: Vec<SignedPermutation> = rotations().collect();
    // Only the identity leaves this point where it is.
    let point = [1, 2, 3];
    let undoes = |one, other| rotated(other, rotated(one, point)) == point;
    let inverse = |&one: &SignedPermutation| all.iter().position(|&other| undoes(one, other));
    all.iter().map(|one| inverse(one).expect("rotations form a group")).collect()
}

/// A rotation or reflection as byte tables: edges in bytes 0 to 11, corners in bytes 16 to 23. A byte is a piece plus 16 times
/// its flip or twist.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct RotationTable {
    /// For each place of the image, the place that it comes from.
    pub(super) places: [u8; 32],
    /// For each place of the image, 16 times the addend of the orientation.
    pub(super) added: [u8; 32],
    /// For each piece, its image, plus 16 times another addend of the orientation.
    pub(super) pieces: [u8; 32],
    /// For each orientation, 16 times its image: a reflection exchanges the two twists of a corner.
    pub(super) orientations: [u8; 32],
}

impl RotationTable {
    pub(super) fn new(rotation: SignedPermutation) -> Self {
        let mut this = RotationTable { places: [0x80; 32], added: [0; 32], pieces: [0; 32], orientations: [0; 32] };
        let places = stickers(3);
        let image = |&place| places.iter().position(|&other| other == rotated(rotation, place));
        let images: Vec<usize> =
            places.iter().map(|place| image(place).expect("a facelet goes to a facelet")).collect();
        this.add_pieces(&images, &EDGE_FACELETS, 0);
        let is_mirrored = this.add_pieces(&images, &CORNER_FACELETS, 16);
        for orientation in 0..3 {
            this.orientations[orientation] = 16 * orientation as u8;
            let image = if is_mirrored { (3 - orientation) % 3 } else { orientation };
            this.orientations[16 + orientation] = 16 * image as u8;
        }
        this
    }

    /// Adds the pieces of one kind, whose entries begin at `first`, by the image of every facelet. Returns whether the order
    /// of their facelets is reversed.
    fn add_pieces<const N: usize>(&mut self, images: &[usize], facelets: &[[usize; N]], first: usize) -> bool {
        let mut is_reversed = false;
        for (piece, own) in facelets.iter().enumerate() {
            let images = own.map(|facelet| images[facelet]);
            let is_home = |place: &[usize; N]| place.contains(&images[0]);
            let to = facelets.iter().position(is_home).expect("a cubie goes to a place of its kind");
            let index =
                |image| facelets[to].iter().position(|&facelet| facelet == image).expect("with all its facelets");
            let turned = index(images[0]);
            is_reversed = index(images[1]) != (turned + 1) % N;
            self.places[first + to] = piece as u8;
            self.added[first + to] = 16 * turned as u8;
            self.pieces[first + piece] = (to + 16 * ((N - turned) % N)) as u8;
        }
        is_reversed
    }

    /// The image of a state.
    pub(super) fn image(&self, from: CubeState) -> CubeState {
        let (mut corners, mut edges) = (0, 0);
        for place in 0..12 {
            let edge = from.edge(usize::from(self.places[place]));
            let image = self.pieces[edge & 15] ^ self.added[place] ^ (edge as u8 & 16);
            edges |= u64::from(image) << (5 * place);
        }
        for place in 0..8 {
            let corner = from.corner(usize::from(self.places[16 + place]));
            let image = self.pieces[16 + (corner & 7)];
            let twist = (image + self.added[16 + place] + self.orientations[16 + corner / 8]) / 16 % 3;
            corners |= u64::from(image & 7 | twist << 3) << (5 * place);
        }
        CubeState { corners, edges }
    }
}

/// The image of a place.
fn rotated((axes, signs): SignedPermutation, place: Point) -> Point {
    let mut to = [0; 3];
    (0..3).for_each(|axis| to[axes[axis]] = signs[axis] * place[axis]);
    to
}

/// The inverse of a state: the end of its inverse scramble.
pub(super) fn inverse(state: &CubeState) -> CubeState {
    // Without branches and arrays: the class of a state may need it.
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
    use crate::puzzle::Move;
    use crate::puzzle::cube3::QUARTER_TURNS;
    use crate::random::{below, generator};
    use std::collections::HashSet;

    #[test]
    fn a_solution_of_every_image_solves_the_cube() {
        let mut generator = generator(5, 5);
        let made: Vec<Move> = (0..31).map(|_| below(&mut generator, 12) as Move).collect();
        let state = made.iter().fold(CubeState::SOLVED, |state, &action| Cube3.turn(&state, action));
        let back: Vec<Move> = made.iter().rev().map(|&action| Cube3.inverse(action)).collect();
        let images: Vec<_> = images(state, QUARTER_TURNS).collect();
        assert_eq!(images.len(), 96);
        assert_eq!(images[0].start, state);
        assert_eq!(
            images.iter().map(|image| image.start).collect::<HashSet<_>>().len(),
            96,
            "a random cube has no symmetry"
        );
        for image in images {
            // The solution of the cube, as moves of the image.
            let image_of =
                |action: &Move| image.moves.iter().position(|to| to == action).expect("every move has an image");
            let mut way: Vec<Move> = back.iter().map(|action| image_of(action) as Move).collect();
            if image.inverted {
                way.reverse();
            }
            let end = way.iter().fold(image.start, |state, &action| Cube3.turn(&state, action));
            assert_eq!(end, CubeState::SOLVED);
            assert_eq!(image.solution(&way), back);
        }
    }
}
