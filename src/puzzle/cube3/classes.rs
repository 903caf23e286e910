//! Classes of cubes under the 96 symmetries: 48 rotations and reflections of the whole cube, with and without inversion.
//!
//! The canonical image of a cube is found without trying all 96: its corner permutation (of 40,320) says which symmetries
//! bring it to the representative of its class of corner permutations (one of 654): 1.56 on average. Of the images under
//! those, the one of the least hash is canonical.

use super::symmetry::{self, Rotation, facelet_at, place, rotated, rotations};
use super::{ALL_TURNS, CORNER_FACELETS, CubeState, EDGE_FACELETS, QUARTER_TURNS};
use crate::puzzle::{Class, Move, Symmetries};
use std::sync::{Arc, OnceLock};

#[cfg(target_arch = "x86_64")]
mod simd;

/// Rotations and reflections of the whole cube.
const ROTATIONS: usize = 48;
/// The same, with and without inversion.
const SYMMETRIES: usize = 2 * ROTATIONS;
/// Symmetries that stand in the list itself.
const FIRST: usize = 4;
/// Permutations of eight corners.
const CORNER_PERMUTATIONS: usize = 40_320;

/// A rotation or reflection, as it acts on a cube in bytes: edges in bytes 0 to 11, corners in bytes 16 to 23; a byte is a
/// piece, and 16 times its flip or twist.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Conjugation {
    /// For each place of the image, the place that it comes from.
    places: [u8; 32],
    /// For each place of the image, what is added to the orientation, times 16.
    added: [u8; 32],
    /// For each piece, its image, and what that adds to the orientation, times 16.
    pieces: [u8; 32],
    /// For each orientation, its image, times 16: a reflection exchanges the two ways to twist a corner.
    orientations: [u8; 32],
}

/// A list of symmetries.
#[derive(Clone, Copy)]
struct List {
    /// The first of them.
    first: [u8; FIRST],
    /// Where it begins among the candidates, and its length.
    start: u16,
    length: u16,
}

/// A cube in bytes.
type Turn = [u8; 32];

/// The symmetries of the cube.
pub(super) struct CubeSymmetries {
    conjugations: Vec<Conjugation>,
    /// What each turn does to the solved cube, in bytes.
    turns: [Turn; ALL_TURNS],
    /// What the inverse of each turn does.
    inverse_turns: [Turn; ALL_TURNS],
    /// For each permutation of the corners, by rank: the number of its list. Small, to stay in the cache.
    list_of: Vec<u16>,
    lists: Vec<List>,
    /// The symmetries of all lists: a number below 48 is a conjugation, one from 48 on an inversion and a conjugation.
    candidates: Vec<u8>,
    ranks: Ranks,
}

/// The symmetries of the cube; the tables are made when they are first asked for.
pub(super) fn symmetries() -> Arc<CubeSymmetries> {
    static TABLES: OnceLock<Arc<CubeSymmetries>> = OnceLock::new();
    Arc::clone(TABLES.get_or_init(|| Arc::new(CubeSymmetries::new())))
}

impl Conjugation {
    fn new(rotation: Rotation) -> Self {
        let facelet = |facelet: usize| {
            facelet_at(rotated(rotation, place(facelet)), rotated(rotation, symmetry::NORMALS[facelet / 9]))
        };
        let mut this = Conjugation { places: [0x80; 32], added: [0; 32], pieces: [0; 32], orientations: [0; 32] };
        let mut mirrored = false;
        for piece in 0..12 {
            let (to, turned, _) = image(&EDGE_FACELETS, piece, facelet);
            this.places[to] = piece as u8;
            this.added[to] = 16 * turned as u8;
            this.pieces[piece] = (to + 16 * turned) as u8;
        }
        for piece in 0..8 {
            let (to, turned, reversed) = image(&CORNER_FACELETS, piece, facelet);
            mirrored = reversed;
            this.places[16 + to] = piece as u8;
            this.added[16 + to] = 16 * turned as u8;
            this.pieces[16 + piece] = (to + 16 * ((3 - turned) % 3)) as u8;
        }
        for orientation in 0..3 {
            this.orientations[orientation] = 16 * orientation as u8;
            this.orientations[16 + orientation] =
                16 * (if mirrored { (3 - orientation) % 3 } else { orientation }) as u8;
        }
        this
    }
}

/// Where a rotation brings the cubie at a place: the place, the index of the first facelet there, and whether the order of
/// its facelets is reversed.
fn image<const N: usize>(
    facelets: &[[usize; N]],
    from: usize,
    facelet: impl Fn(usize) -> usize,
) -> (usize, usize, bool) {
    let images = facelets[from].map(facelet);
    let to = facelets.iter().position(|place| place.contains(&images[0])).expect("a cubie goes to a place of its kind");
    let index =
        |k: usize| facelets[to].iter().position(|&facelet| facelet == images[k]).expect("with all its facelets");
    (to, index(0), index(1) != (index(0) + 1) % N)
}

/// A state in bytes: see [`Conjugation`].
fn bytes(state: &CubeState) -> [u8; 32] {
    let orientation = |piece: usize, of: usize| (piece % of + 16 * (piece / of)) as u8;
    std::array::from_fn(|i| match i {
        0..12 => orientation(state.edge(i), 16),
        16..24 => orientation(state.corner(i - 16), 8),
        _ => 0,
    })
}

/// Ranks of permutations of the eight corners.
struct Ranks {
    /// By the first four corners, 3 bits each.
    first: Box<[u16; 4096]>,
    /// By the last four.
    last: Box<[u8; 4096]>,
}

impl Ranks {
    fn new() -> Self {
        let (mut first, mut last) = (Box::new([0; 4096]), Box::new([0; 4096]));
        let mut count = 0;
        for bits in 0..4096usize {
            let pieces = [0, 1, 2, 3].map(|i| bits >> (3 * i) & 7);
            if (0..4).any(|i| pieces[..i].contains(&pieces[i])) {
                continue;
            }
            first[bits] = 24 * count;
            count += 1;
            // The rank of four pieces in their order alone.
            let below = |i: usize| pieces[i + 1..].iter().filter(|&&piece| piece < pieces[i]).count();
            last[bits] = (6 * below(0) + 2 * below(1) + below(2)) as u8;
        }
        Ranks { first, last }
    }

    #[inline]
    fn rank(&self, corners: u64) -> usize {
        let pieces = |bits: u64| (bits & 7 | bits >> 2 & 0o70 | bits >> 4 & 0o700 | bits >> 6 & 0o7000) as usize;
        self.rank_of(pieces(corners), pieces(corners >> 20))
    }

    /// The rank of the first four corners, 3 bits each, and the last four.
    #[inline]
    fn rank_of(&self, first: usize, last: usize) -> usize {
        usize::from(self.first[first & 4095]) + usize::from(self.last[last & 4095])
    }
}

impl CubeSymmetries {
    fn new() -> Self {
        let conjugations: Vec<Conjugation> = rotations().map(Conjugation::new).collect();
        let inverse_of = |of: usize| {
            let undoes = |other: &Conjugation| {
                (0..8).all(|i| usize::from(other.places[16 + usize::from(conjugations[of].places[16 + i])]) == i)
                    && (0..12).all(|i| usize::from(other.places[usize::from(conjugations[of].places[i])]) == i)
            };
            conjugations.iter().position(undoes).expect("rotations form a group")
        };
        let inverses: Vec<usize> = (0..ROTATIONS).map(inverse_of).collect();
        let turn = |action: usize| bytes(&CubeState::SOLVED.turned(action as Move));
        let mut this = CubeSymmetries {
            turns: std::array::from_fn(turn),
            inverse_turns: std::array::from_fn(|action| turn(if action < QUARTER_TURNS { action ^ 1 } else { action })),
            conjugations: conjugations.clone(),
            list_of: Vec::with_capacity(CORNER_PERMUTATIONS),
            lists: Vec::new(),
            candidates: Vec::new(),
            ranks: Ranks::new(),
        };
        let mut found: Vec<Vec<u8>> = vec![Vec::new(); CORNER_PERMUTATIONS];
        let mut permutation = [0, 1, 2, 3, 4, 5, 6, 7];
        loop {
            let corners = packed_corners(permutation);
            if found[this.ranks.rank(corners)].is_empty() {
                // A new class: what maps this one to another, backwards, maps the other to this one.
                let state = CubeState { corners, ..CubeState::SOLVED };
                for symmetry in 0..SYMMETRIES {
                    let image = this.image(&state, symmetry);
                    let back = inverses[symmetry % ROTATIONS] + symmetry / ROTATIONS * ROTATIONS;
                    found[this.ranks.rank(image.corners)].push(back as u8);
                }
            }
            if !next_permutation(&mut permutation) {
                break;
            }
        }
        // The same few lists come again and again.
        let mut numbers = std::collections::HashMap::new();
        for mut symmetries in found {
            symmetries.sort_unstable();
            let number = *numbers.entry(symmetries).or_insert_with_key(|symmetries| {
                let first = std::array::from_fn(|i| symmetries.get(i).copied().unwrap_or(0));
                let (start, length) = (this.candidates.len() as u16, symmetries.len() as u16);
                this.lists.push(List { first, start, length });
                this.candidates.extend(symmetries);
                this.lists.len() - 1
            });
            this.list_of.push(number as u16);
        }
        this
    }

    /// The image of a state under a symmetry.
    fn image(&self, state: &CubeState, symmetry: usize) -> CubeState {
        let from = if symmetry < ROTATIONS { *state } else { symmetry::inverse(state) };
        let conjugation = &self.conjugations[symmetry % ROTATIONS];
        let (mut corners, mut edges) = (0, 0);
        for place in 0..12 {
            let edge = from.edge(usize::from(conjugation.places[place]));
            let image = conjugation.pieces[edge & 15] ^ conjugation.added[place] ^ (edge as u8 & 16);
            edges |= u64::from(image) << (5 * place);
        }
        for place in 0..8 {
            let corner = from.corner(usize::from(conjugation.places[16 + place]));
            let image = conjugation.pieces[16 + (corner & 7)];
            let twist = (image + conjugation.added[16 + place] + conjugation.orientations[16 + corner / 8]) / 16 % 3;
            corners |= u64::from(image & 7 | twist << 3) << (5 * place);
        }
        CubeState { corners, edges }
    }

    fn candidates(&self, state: &CubeState) -> &[u8] {
        self.candidates_of(self.ranks.rank(state.corners))
    }

    #[inline]
    fn candidates_of(&self, rank: usize) -> &[u8] {
        let List { start, length, .. } = self.lists[usize::from(self.list_of[rank])];
        &self.candidates[usize::from(start)..][..usize::from(length)]
    }

    fn class_portable(&self, state: &CubeState) -> Class<CubeState> {
        let mut least = Least::NONE;
        self.candidates(state).iter().for_each(|&symmetry| least.add(self.image(state, usize::from(symmetry))));
        least.class()
    }

    fn around_portable<'a>(
        &'a self,
        state: &CubeState,
        before: &'a [Move],
        after: &'a [Move],
    ) -> impl Iterator<Item = Class<CubeState>> + 'a {
        let inverse = symmetry::inverse(state);
        before.iter().flat_map(move |&first| {
            let from = symmetry::inverse(&inverse.turned(first));
            after.iter().map(move |&action| self.class_portable(&from.turned(action)))
        })
    }

    fn neighbours_portable(&self, state: &CubeState, moves: &[Move]) -> impl Iterator<Item = Class<CubeState>> {
        with_inverse(state)
            .flat_map(move |from| moves.iter().map(move |&action| self.class_portable(&from.turned(action))))
    }
}

/// A state and its inverse, or the state alone where that is the same.
fn with_inverse(state: &CubeState) -> impl Iterator<Item = CubeState> {
    let inverse = symmetry::inverse(state);
    [Some(*state), (inverse != *state).then_some(inverse)].into_iter().flatten()
}

/// The image of the least key so far: in the end, the canonical one.
struct Least {
    image: CubeState,
    key: u64,
    /// How many images were the same.
    same: u32,
}

impl Least {
    const NONE: Least = Least { image: CubeState::SOLVED, key: u64::MAX, same: 0 };

    #[inline]
    fn add(&mut self, image: CubeState) {
        let key = key(&image);
        if self.same == 0 || key < self.key {
            *self = Least { image, key, same: 0 };
        }
        self.same += u32::from(image == self.image);
    }

    #[inline]
    fn class(self) -> Class<CubeState> {
        Class { state: self.image, key: spread(self.key), states: SYMMETRIES as u32 / self.same.max(1) }
    }
}

/// A least hash is small more often than large: spreads it over all numbers, one to one.
#[inline]
fn spread(least: u64) -> u64 {
    let product = least.wrapping_mul(0x9FB2_1C65_1E98_DF25);
    product ^ product >> 32
}

/// A hash of a state.
#[inline]
fn key(state: &CubeState) -> u64 {
    let product = u128::from(state.corners ^ 0x9E37_79B9_7F4A_7C15) * u128::from(state.edges ^ 0xD1B5_4A32_D192_ED03);
    (product as u64) ^ (product >> 64) as u64
}

fn packed_corners(permutation: [u8; 8]) -> u64 {
    permutation.iter().rev().fold(0, |packed, &piece| packed << 5 | u64::from(piece))
}

/// The next permutation in lexicographic order; `false` after the last.
fn next_permutation(permutation: &mut [u8]) -> bool {
    let Some(at) = permutation.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let other = permutation.iter().rposition(|&piece| piece > permutation[at]).expect("the one behind it is greater");
    permutation.swap(at, other);
    permutation[at + 1..].reverse();
    true
}

impl Symmetries<CubeState> for CubeSymmetries {
    fn version(&self) -> u32 {
        1
    }

    fn count(&self) -> u32 {
        SYMMETRIES as u32
    }

    fn has_inversion(&self) -> bool {
        true
    }

    fn inverse(&self, state: &CubeState) -> Option<CubeState> {
        Some(symmetry::inverse(state))
    }

    #[inline]
    fn class(&self, state: &CubeState) -> Class<CubeState> {
        #[cfg(target_arch = "x86_64")]
        if simd::is_available() {
            // SAFETY: the processor has the instructions.
            return unsafe { simd::class(self, state) };
        }
        self.class_portable(state)
    }

    fn neighbours(&self, state: &CubeState, moves: &[Move], classes: &mut Vec<Class<CubeState>>) {
        #[cfg(target_arch = "x86_64")]
        if simd::is_available() {
            // SAFETY: the processor has the instructions.
            return unsafe { simd::neighbours(self, state, moves, classes) };
        }
        classes.extend(self.neighbours_portable(state, moves));
    }

    fn neighbour_keys(&self, state: &CubeState, moves: &[Move], keys: &mut Vec<u64>) {
        #[cfg(target_arch = "x86_64")]
        if simd::is_available() {
            // SAFETY: the processor has the instructions.
            return unsafe { simd::neighbours(self, state, moves, keys) };
        }
        keys.extend(self.neighbours_portable(state, moves).map(|class| class.key));
    }

    fn around(&self, state: &CubeState, before: &[Move], after: &[Move], classes: &mut Vec<Class<CubeState>>) {
        #[cfg(target_arch = "x86_64")]
        if simd::is_available() {
            // SAFETY: the processor has the instructions.
            return unsafe { simd::around(self, state, [before, after], classes) };
        }
        classes.extend(self.around_portable(state, before, after));
    }

    fn keys_around(&self, state: &CubeState, before: &[Move], after: &[Move], keys: &mut Vec<u64>) {
        #[cfg(target_arch = "x86_64")]
        if simd::is_available() {
            // SAFETY: the processor has the instructions.
            return unsafe { simd::around(self, state, [before, after], keys) };
        }
        keys.extend(self.around_portable(state, before, after).map(|class| class.key));
    }

    fn keys_after_two(&self, state: &CubeState, sequences: &[[Move; 2]], keys: &mut Vec<u64>) {
        #[cfg(target_arch = "x86_64")]
        if simd::is_available() {
            // SAFETY: the processor has the instructions.
            return unsafe { simd::keys_after_two(self, state, sequences, keys) };
        }
        let after = |&[first, second]: &[Move; 2]| state.turned(first).turned(second);
        keys.extend(sequences.iter().map(|sequence| self.class_portable(&after(sequence)).key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Move;
    use crate::random::{below, generator};
    use std::collections::HashSet;

    #[test]
    fn all_images_of_a_cube_have_one_class() {
        let mut generator = generator(3, 3);
        let tables = symmetries();
        let solved = CubeState::SOLVED;
        for length in 0..40 {
            let made = (0..length).map(|_| below(&mut generator, ALL_TURNS) as Move);
            let state = made.fold(solved, |state, action| state.turned(action));
            let class = tables.class(&state);
            assert_eq!(class, tables.class_portable(&state));
            let images = symmetry::images(&state, ALL_TURNS);
            let distinct: HashSet<CubeState> = images.iter().map(|image| image.start).collect();
            assert_eq!(class.states as usize, distinct.len());
            assert!(distinct.contains(&class.state));
            assert!(images.iter().all(|image| tables.class(&image.start) == class));
            let moves: Vec<Move> = (0..ALL_TURNS as Move).collect();
            let mut from = vec![state, symmetry::inverse(&state)];
            from.dedup();
            let expected = from.iter().flat_map(|from| moves.iter().map(|&action| from.turned(action)));
            let expected: Vec<_> = expected.map(|child| tables.class_portable(&child)).collect();
            let (mut classes, mut keys) = (Vec::new(), Vec::new());
            tables.neighbours(&state, &moves, &mut classes);
            tables.neighbour_keys(&state, &moves, &mut keys);
            assert_eq!(classes, expected);
            assert_eq!(keys, expected.iter().map(|class| class.key).collect::<Vec<_>>());
            let (before, after) = (&moves[3..9], &moves[1..11]);
            let lead = |first: Move| symmetry::inverse(&symmetry::inverse(&state).turned(first));
            let ends = before.iter().flat_map(|&first| after.iter().map(move |&last| lead(first).turned(last)));
            let expected: Vec<_> = ends.map(|end| tables.class_portable(&end)).collect();
            classes.clear();
            keys.clear();
            tables.around(&state, before, after, &mut classes);
            tables.keys_around(&state, before, after, &mut keys);
            assert_eq!(classes, expected);
            assert_eq!(classes, tables.around_portable(&state, before, after).collect::<Vec<_>>());
            assert_eq!(keys, expected.iter().map(|class| class.key).collect::<Vec<_>>());
            let pairs: Vec<[Move; 2]> =
                moves.iter().flat_map(|&first| moves.iter().map(move |&second| [first, second])).collect();
            let after = |&[first, second]: &[Move; 2]| state.turned(first).turned(second);
            keys.clear();
            tables.keys_after_two(&state, &pairs, &mut keys);
            let expected: Vec<u64> = pairs.iter().map(|pair| tables.class_portable(&after(pair)).key).collect();
            assert_eq!(keys, expected);
        }
        assert_eq!(tables.class(&solved).states, 1);
    }

    #[test]
    fn corner_permutations_have_654_classes() {
        let tables = symmetries();
        let lengths = || tables.list_of.iter().map(|&list| f64::from(tables.lists[usize::from(list)].length));
        let total: f64 = lengths().sum();
        let classes: f64 = lengths().map(|length| length / SYMMETRIES as f64).sum();
        assert_eq!(classes.round(), 654.0);
        assert!((total / CORNER_PERMUTATIONS as f64 - 1.56).abs() < 0.01);
    }
}
