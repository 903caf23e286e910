//! The centres of a 5×5×5: the first stage of its reduction.
//!
//! A state is solved when each face has centres of one colour, and inner layers made an even number of quarter turns:
//! otherwise the [second stage](super::edges) could not pair the wings. 10⁴³ cubes are one solved state.
//!
//! It has 48 positions for the centres, which hold the face of their colour, and two for that parity: `01` if it is even, `10`
//! if it is odd. Middle layers do not turn: that is a turn of the other layers, with the whole cube turned.

use super::origins;
use crate::puzzle::cube_n::CubeN;
use crate::puzzle::cube_n::geometry::Turn;
use crate::puzzle::cube3::FACES;
use crate::puzzle::rules::is_odd;

/// The name of the puzzle.
pub const NAME: &str = "cube5:centres";

/// The size of the cube.
pub(in crate::puzzle::cube_n) const SIZE: usize = 5;

/// The symbol `0` of the parity; `1` follows.
const EVEN: u8 = FACES.len() as u8;

impl CubeN {
    /// The positions after a turn that moves stickers, for each the one that its symbol comes from.
    pub(super) fn centres_move(&self, turn: Turn, from: &[u16]) -> Vec<u16> {
        let mut positions = origins(&moving_centres(), from);
        let parity = positions.len() as u16;
        positions.extend(if turn.is_outer(SIZE) { [parity, parity + 1] } else { [parity + 1, parity] });
        positions
    }

    /// The symbols of a cube with some colours, as the centres in the middle name them.
    pub(super) fn centres(&self, colours: &[u8]) -> Vec<u8> {
        let middle = SIZE * SIZE / 2;
        let face = |centre: Vec<u16>| {
            let colour = colours[usize::from(centre[0])];
            (0..FACES.len()).find(|face| colours[face * SIZE * SIZE + middle] == colour).unwrap_or(0) as u8
        };
        let mut symbols: Vec<u8> = moving_centres().into_iter().map(face).collect();
        let is_odd = is_odd(&self.homes(self.wings(), colours));
        symbols.extend(if is_odd { [EVEN + 1, EVEN] } else { [EVEN, EVEN + 1] });
        symbols
    }
}

/// The centres that inner layers move, a sticker each.
fn moving_centres() -> Vec<Vec<u16>> {
    let lines = 1..SIZE - 1;
    let places = lines.clone().flat_map(|row| lines.clone().map(move |column| row * SIZE + column));
    let places: Vec<usize> = places.filter(|&place| place != SIZE * SIZE / 2).collect();
    let of_face = |face: usize| places.iter().map(move |place| vec![(face * SIZE * SIZE + place) as u16]);
    (0..FACES.len()).flat_map(of_face).collect()
}
