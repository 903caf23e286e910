//! The stickers of a cube, what a turn does to them, and the ways to hold it.

use crate::puzzle::cube3::FACES;
use std::collections::HashMap;

/// A turn of layers by name of its face U, R or F: layers counted from that face, quarters clockwise as seen from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::puzzle) struct Turn {
    /// The index of the face: 0 to 2.
    pub(super) face: usize,
    /// A bit for each layer.
    pub(super) layers: u16,
    /// 1 to 3.
    pub(super) quarters: u8,
}

/// For each face of a cube, the face that it becomes.
pub(super) type Frame = [usize; 6];

/// A way to turn the whole cube.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rotation {
    pub(super) frame: Frame,
    /// For each sticker, the one that its colour comes from.
    pub(super) from: Vec<u16>,
}

/// A place in the cube, whose layers are 2 apart; the stickers lie on ±size. x to the right, y up, z towards the viewer.
pub(in crate::puzzle) type Point = [i32; 3];

/// The outward direction of U R F D L B.
const NORMALS: [Point; 6] = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, -1, 0], [-1, 0, 0], [0, 0, -1]];
/// The direction of increasing column on each face, and of increasing row.
const COLUMNS: [Point; 6] = [[1, 0, 0], [0, 0, -1], [1, 0, 0], [1, 0, 0], [0, 0, 1], [-1, 0, 0]];
const ROWS: [Point; 6] = [[0, 0, 1], [0, -1, 0], [0, -1, 0], [0, 0, -1], [0, -1, 0], [0, -1, 0]];

/// The places of the stickers, in the order of the faces, each row by row.
pub(in crate::puzzle) fn stickers(size: usize) -> Vec<Point> {
    let across = |line: usize| 2 * line as i32 + 1 - size as i32;
    let face = |face: usize| {
        let place = move |i: usize| {
            let (row, column) = (across(i / size), across(i % size));
            std::array::from_fn(|k| NORMALS[face][k] * size as i32 + ROWS[face][k] * row + COLUMNS[face][k] * column)
        };
        (0..size * size).map(place)
    };
    (0..6).flat_map(face).collect()
}

/// The axis of U, R or F.
fn axis(face: usize) -> usize {
    [1, 0, 2][face]
}

/// A place after a quarter turn clockwise about the axis of U, R or F.
fn turned(mut point: Point, face: usize) -> Point {
    let (one, other) = ((axis(face) + 1) % 3, (axis(face) + 2) % 3);
    (point[one], point[other]) = (point[other], -point[one]);
    point
}

impl Turn {
    /// A turn named by any face.
    pub(in crate::puzzle) fn new(size: usize, face: usize, layers: u16, quarters: i8) -> Turn {
        let quarters = quarters.rem_euclid(4) as u8;
        if face < 3 {
            return Turn { face, layers, quarters };
        }
        Turn { face: face - 3, layers: layers.reverse_bits() >> (16 - size), quarters: (4 - quarters) % 4 }
    }

    /// Whether it turns an outer layer.
    pub(super) fn is_outer(self, size: usize) -> bool {
        self.layers & (1 | 1 << (size - 1)) != 0
    }

    /// All other layers turned the other way: the same, with the whole cube turned.
    pub(super) fn of_others(self, size: usize) -> Turn {
        Turn { layers: !self.layers & all(size), quarters: (4 - self.quarters) % 4, ..self }
    }

    /// The turn as a permutation of stickers: for each sticker, the one that its colour comes from.
    pub(in crate::puzzle) fn permutation(self, places: &[Point]) -> Vec<u16> {
        let size = places.iter().map(|place| place[0]).max().unwrap_or(0);
        let index: HashMap<&Point, u16> = places.iter().zip(0..).collect();
        let mut from: Vec<u16> = (0..).take(places.len()).collect();
        for (place, sticker) in places.iter().zip(0..) {
            let depth = (size - 1 - place[axis(self.face)].clamp(1 - size, size - 1)) / 2;
            if self.layers >> depth & 1 == 1 {
                let to = (0..self.quarters).fold(*place, |place, _| turned(place, self.face));
                from[usize::from(index[&to])] = sticker;
            }
        }
        from
    }

    /// The name, by the face that is nearer to the layers: `R`, `2R'`, `3Rw2`, `2-3Rw`.
    pub(super) fn name(self, size: usize) -> String {
        let distance = |layers: u16| (layers.trailing_zeros(), u16::BITS - layers.leading_zeros());
        let mirrored = self.layers.reverse_bits() >> (16 - size);
        let is_far = distance(mirrored) < distance(self.layers);
        let (face, layers) = if is_far { (self.face + 3, mirrored) } else { (self.face, self.layers) };
        let (first, last) = (layers.trailing_zeros() + 1, u16::BITS - layers.leading_zeros());
        let letter = FACES[face];
        let quarters = ["", "", "2", "'"][usize::from(if is_far { 4 - self.quarters } else { self.quarters })];
        match (first, last) {
            (1, 1) => format!("{letter}{quarters}"),
            (1, 2) => format!("{letter}w{quarters}"),
            (1, _) => format!("{last}{letter}w{quarters}"),
            _ if first == last => format!("{first}{letter}{quarters}"),
            _ => format!("{first}-{last}{letter}w{quarters}"),
        }
    }
}

/// A bit for each layer.
pub(super) fn all(size: usize) -> u16 {
    (1 << size) - 1
}

/// Colours, or another permutation, after a permutation of stickers.
pub(super) fn moved<T: Copy>(values: &[T], from: &[u16]) -> Vec<T> {
    from.iter().map(|&from| values[usize::from(from)]).collect()
}

/// The 24 ways to turn the whole cube, the identity first.
pub(super) fn rotations(size: usize, places: &[Point]) -> Vec<Rotation> {
    let quarter = [0, 1, 2].map(|face| {
        let from = Turn { face, layers: all(size), quarters: 1 }.permutation(places);
        let mut frame = [0; 6];
        // Every sticker of a face comes from one face.
        (0..6).for_each(|to| frame[usize::from(from[to * size * size]) / (size * size)] = to);
        Rotation { frame, from }
    });
    let mut found = vec![Rotation { frame: [0, 1, 2, 3, 4, 5], from: (0..).take(places.len()).collect() }];
    let mut next = 0;
    while let Some(rotation) = found.get(next).cloned() {
        for one in &quarter {
            let frame = rotation.frame.map(|face| one.frame[face]);
            if found.iter().all(|other| other.frame != frame) {
                found.push(Rotation { frame, from: moved(&rotation.from, &one.from) });
            }
        }
        next += 1;
    }
    found
}

/// The pieces by kind: the stickers of a piece, for each way that a piece of this kind can be placed.
pub(super) fn kinds(size: usize, places: &[Point], rotations: &[Rotation]) -> Vec<Vec<Vec<u16>>> {
    let within = size as i32 - 1;
    let cubie = |sticker: u16| places[usize::from(sticker)].map(|value| value.clamp(-within, within));
    let stickers = 0..places.len() as u16;
    let mut kinds: Vec<Vec<Vec<u16>>> = Vec::new();
    for sticker in stickers.clone() {
        if kinds.iter().flatten().all(|piece| !piece.contains(&sticker)) {
            let piece: Vec<u16> = stickers.clone().filter(|&other| cubie(other) == cubie(sticker)).collect();
            let placed = |rotation: &Rotation| piece.iter().map(|&from| rotation.from[usize::from(from)]).collect();
            kinds.push(rotations.iter().map(placed).collect());
        }
    }
    kinds
}
