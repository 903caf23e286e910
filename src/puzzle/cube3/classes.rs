//! Classes of cubes under the 96 symmetries: 48 rotations and reflections of the whole cube, with and without inversion.
//!
//! The canonical image of a cube is found without trying all 96. Its corner permutation (of 40,320) determines the symmetries
//! that bring it to the representative of its class of corner permutations (one of 654): 1.56 on average. The canonical image
//! is the image under these with the least hash.

use super::symmetry::{self, ROTATIONS, RotationTable, inverse_rotations, rotations};
use super::{ALL_TURNS, CubeState};
use crate::puzzle::symmetry::{states_around, states_near};
use crate::puzzle::{Class, Move, Symmetries};
use std::sync::{Arc, OnceLock};

#[cfg(target_arch = "x86_64")]
mod simd;

/// All symmetries: rotations and reflections, with and without inversion.
const SYMMETRIES: usize = 2 * ROTATIONS;
/// Symmetries that are stored in the list itself.
const INLINE: usize = 4;
/// Permutations of eight corners.
const CORNER_PERMUTATIONS: usize = 40_320;

/// A list of symmetries, as a range of the candidates.
#[derive(Clone, Copy)]
struct SymmetryList {
    /// The first symmetries.
    first: [u8; INLINE],
    start: u16,
    length: u16,
}

/// A cube in bytes: see [`RotationTable`].
type CubeBytes = [u8; 32];

/// The symmetries of the cube.
pub(super) struct CubeSymmetries {
    rotations: Vec<RotationTable>,
    /// For each rotation and each move of the image, the move of the original that it stands for.
    pub(super) original_moves: Vec<[Move; ALL_TURNS]>,
    /// The solved cube after each turn.
    turns: [CubeBytes; ALL_TURNS],
    /// The solved cube after the inverse of each turn.
    inverse_turns: [CubeBytes; ALL_TURNS],
    /// The index of each corner permutation's list, by corner index. Small, to stay in the cache.
    list_of: Vec<u16>,
    lists: Vec<SymmetryList>,
    /// The symmetries of all lists. Below 48: a rotation; from 48 on: an inversion, and then a rotation.
    candidates: Vec<u8>,
    corner_indices: CornerIndices,
}

/// The symmetries of the cube. The first call makes the tables.
pub(super) fn symmetries() -> Arc<CubeSymmetries> {
    static TABLES: OnceLock<Arc<CubeSymmetries>> = OnceLock::new();
    Arc::clone(TABLES.get_or_init(|| Arc::new(CubeSymmetries::new())))
}

/// A state in bytes.
fn bytes(state: &CubeState) -> CubeBytes {
    let byte = |piece: usize, pieces: usize| (piece % pieces + 16 * (piece / pieces)) as u8;
    std::array::from_fn(|i| match i {
        0..12 => byte(state.edge(i), 16),
        16..24 => byte(state.corner(i - 16), 8),
        _ => 0,
    })
}

/// The index of every permutation of the eight corners.
struct CornerIndices {
    /// By the first four corners, 3 bits each.
    first: Box<[u16; 4096]>,
    /// By the last four.
    last: Box<[u8; 4096]>,
}

impl CornerIndices {
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
            // The index of the order of four pieces.
            let below = |i: usize| pieces[i + 1..].iter().filter(|&&piece| piece < pieces[i]).count();
            last[bits] = (6 * below(0) + 2 * below(1) + below(2)) as u8;
        }
        CornerIndices { first, last }
    }

    #[inline]
    fn corner_index(&self, corners: u64) -> usize {
        let pieces = |bits: u64| (bits & 7 | bits >> 2 & 0o70 | bits >> 4 & 0o700 | bits >> 6 & 0o7000) as usize;
        self.index_of_halves(pieces(corners), pieces(corners >> 20))
    }

    /// The index for the first four corners, 3 bits each, and the last four.
    #[inline]
    fn index_of_halves(&self, first: usize, last: usize) -> usize {
        usize::from(self.first[first & 4095]) + usize::from(self.last[last & 4095])
    }
}

impl CubeSymmetries {
    fn new() -> Self {
        let inverses = inverse_rotations();
        let turns: [CubeState; ALL_TURNS] = std::array::from_fn(|action| CubeState::SOLVED.turned(action as Move));
        let rotations: Vec<RotationTable> = rotations().map(RotationTable::new).collect();
        let original_moves = |rotation: &RotationTable| {
            let images = turns.map(|turn| rotation.image(turn));
            let original =
                |turn| images.iter().position(|image| *image == turn).expect("a turn is the image of a turn");
            turns.map(|turn| original(turn) as Move)
        };
        let mut this = CubeSymmetries {
            original_moves: rotations.iter().map(original_moves).collect(),
            turns: turns.map(|turn| bytes(&turn)),
            inverse_turns: turns.map(|turn| bytes(&symmetry::inverse(&turn))),
            rotations,
            list_of: Vec::with_capacity(CORNER_PERMUTATIONS),
            lists: Vec::new(),
            candidates: Vec::new(),
            corner_indices: CornerIndices::new(),
        };
        let mut found: Vec<Vec<u8>> = vec![Vec::new(); CORNER_PERMUTATIONS];
        let mut permutation = [0, 1, 2, 3, 4, 5, 6, 7];
        loop {
            let state = CubeState { edges: CubeState::SOLVED.edges, ..CubeState::pack(permutation, [0; 12]) };
            if found[this.corner_indices.corner_index(state.corners)].is_empty() {
                // A new class: the inverse of a symmetry that maps this permutation to another maps the other to this one.
                for symmetry in 0..SYMMETRIES {
                    let image = this.image(&state, symmetry);
                    let back = inverses[symmetry % ROTATIONS] + symmetry / ROTATIONS * ROTATIONS;
                    found[this.corner_indices.corner_index(image.corners)].push(back as u8);
                }
            }
            if !next_permutation(&mut permutation) {
                break;
            }
        }
        // There are few different lists.
        let mut list_indices = std::collections::HashMap::new();
        for mut symmetries in found {
            symmetries.sort_unstable();
            let list = *list_indices.entry(symmetries).or_insert_with_key(|symmetries| {
                let first = std::array::from_fn(|i| symmetries.get(i).copied().unwrap_or(0));
                let (start, length) = (this.candidates.len() as u16, symmetries.len() as u16);
                this.lists.push(SymmetryList { first, start, length });
                this.candidates.extend(symmetries);
                this.lists.len() - 1
            });
            this.list_of.push(list as u16);
        }
        this
    }

    /// The image of a state under a symmetry.
    pub(super) fn image(&self, state: &CubeState, symmetry: usize) -> CubeState {
        let rotation = &self.rotations[symmetry % ROTATIONS];
        rotation.image(if symmetry < ROTATIONS { *state } else { symmetry::inverse(state) })
    }

    #[inline]
    fn candidates(&self, corner_index: usize) -> &[u8] {
        let SymmetryList { start, length, .. } = self.lists[usize::from(self.list_of[corner_index])];
        &self.candidates[usize::from(start)..][..usize::from(length)]
    }

    fn class_portable(&self, state: &CubeState) -> Class<CubeState> {
        let mut least = LeastImage::NONE;
        let candidates = self.candidates(self.corner_indices.corner_index(state.corners));
        candidates.iter().for_each(|&symmetry| least.add(self.image(state, symmetry.into())));
        least.class()
    }
}

/// The image with the least key so far: in the end, the canonical image.
struct LeastImage {
    image: CubeState,
    key: u64,
    /// The number of equal images.
    same: u32,
}

impl LeastImage {
    const NONE: LeastImage = LeastImage { image: CubeState::SOLVED, key: u64::MAX, same: 0 };

    #[inline]
    fn add(&mut self, image: CubeState) {
        let key = key(&image);
        if self.same == 0 || key < self.key {
            *self = LeastImage { image, key, same: 0 };
        }
        self.same += u32::from(image == self.image);
    }

    #[inline]
    fn class(self) -> Class<CubeState> {
        Class { state: self.image, key: spread(self.key), states: SYMMETRIES as u32 / self.same.max(1) }
    }
}

/// Spreads a least hash, which is small more often than large, over all numbers, one to one.
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

/// The next permutation in lexicographic order; `false` after the last.
fn next_permutation(permutation: &mut [u8]) -> bool {
    let Some(at) = permutation.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let other = permutation.iter().rposition(|&piece| piece > permutation[at]).expect("the one after it is greater");
    permutation.swap(at, other);
    permutation[at + 1..].reverse();
    true
}

/// Returns the result of a function of [`simd`], if the processor has the instructions.
macro_rules! try_simd {
    ($function:ident($($argument:expr),*)) => {
        #[cfg(target_arch = "x86_64")]
        if simd::is_available() {
            // SAFETY: the processor has the instructions.
            return unsafe { simd::$function($($argument),*) };
        }
    };
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

    fn child(&self, state: &CubeState, action: Move) -> CubeState {
        state.turned(action)
    }

    #[inline]
    fn class(&self, state: &CubeState) -> Class<CubeState> {
        try_simd!(class(self, state));
        self.class_portable(state)
    }

    fn neighbours(&self, state: &CubeState, moves: &[Move], classes: &mut Vec<Class<CubeState>>) {
        try_simd!(neighbours(self, state, moves, classes));
        classes.extend(states_near(self, state, moves).map(|child| self.class_portable(&child)));
    }

    fn neighbour_keys(&self, state: &CubeState, moves: &[Move], keys: &mut Vec<u64>) {
        try_simd!(neighbours(self, state, moves, keys));
        keys.extend(states_near(self, state, moves).map(|child| self.class_portable(&child).key));
    }

    fn around(&self, state: &CubeState, before: &[Move], after: &[Move], classes: &mut Vec<Class<CubeState>>) {
        try_simd!(around(self, state, [before, after], classes));
        classes.extend(states_around(self, state, before, after).map(|end| self.class_portable(&end)));
    }

    fn keys_around(&self, state: &CubeState, before: &[Move], after: &[Move], keys: &mut Vec<u64>) {
        try_simd!(around(self, state, [before, after], keys));
        keys.extend(states_around(self, state, before, after).map(|end| self.class_portable(&end).key));
    }

    fn keys_after_two(&self, state: &CubeState, sequences: &[[Move; 2]], keys: &mut Vec<u64>) {
        try_simd!(keys_after_two(self, state, sequences, keys));
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
            let images: Vec<_> = symmetry::images(state, ALL_TURNS).collect();
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
            let around = states_around(&*tables, &state, before, after);
            assert_eq!(classes, around.map(|end| tables.class_portable(&end)).collect::<Vec<_>>());
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
