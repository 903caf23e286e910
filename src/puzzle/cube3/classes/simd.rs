//! Classes of cubes by byte shuffles (AVX2), and by gathering and scattering bits (BMI2).

use super::*;
use crate::cpu_features::{Instructions, may_use};
use std::arch::x86_64::*;

/// Five bits of each corner, as bytes.
const CORNERS: u64 = 0x3737_3737_3737_3737;
/// Five bits of each edge, as bytes.
const EDGES: u64 = 0x1f1f_1f1f_1f1f_1f1f;

pub(super) fn is_available() -> bool {
    may_use(Instructions::Avx2) && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2")
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn unpack(state: &CubeState) -> __m256i {
    let (low, high) = (_pdep_u64(state.edges, EDGES), _pdep_u64(state.edges >> 40, EDGES));
    _mm256_set_epi64x(0, _pdep_u64(state.corners, CORNERS) as i64, high as i64, low as i64)
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn pack(bytes: __m256i) -> CubeState {
    let (edges, corners) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
    let low = _pext_u64(_mm_cvtsi128_si64(edges) as u64, EDGES);
    let high = _pext_u64(_mm_extract_epi64::<1>(edges) as u64, EDGES & 0xffff_ffff);
    CubeState { corners: _pext_u64(_mm_cvtsi128_si64(corners) as u64, CORNERS), edges: low | high << 40 }
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes are read, and no alignment is needed.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Orientations modulo 2 and modulo 3, times 16.
const MODULO: [u8; 32] = {
    let mut table = [0; 32];
    let mut i = 0;
    while i < 16 {
        table[i] = (i % 2 * 16) as u8;
        table[16 + i] = (i % 3 * 16) as u8;
        i += 1;
    }
    table
};

/// Reduces sums of orientations modulo 2 and modulo 3.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn reduce(sum: __m256i) -> __m256i {
    let low = _mm256_set1_epi8(0x0f);
    let orientation = _mm256_and_si256(_mm256_srli_epi16::<4>(sum), low);
    _mm256_or_si256(_mm256_and_si256(sum, low), _mm256_shuffle_epi8(load(&MODULO), orientation))
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn conjugate(bytes: __m256i, by: &RotationTable) -> __m256i {
    let low = _mm256_set1_epi8(0x0f);
    let moved = _mm256_shuffle_epi8(bytes, load(&by.places));
    let piece = _mm256_shuffle_epi8(load(&by.pieces), _mm256_and_si256(moved, low));
    let turned = _mm256_and_si256(_mm256_srli_epi16::<4>(moved), low);
    let turned = _mm256_add_epi8(_mm256_shuffle_epi8(load(&by.orientations), turned), load(&by.added));
    reduce(_mm256_add_epi8(piece, turned))
}

/// The composition of two states: the places of `then`, filled with the pieces of `first`; orientations add up.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn compose(first: __m256i, then: __m256i) -> __m256i {
    let low = _mm256_set1_epi8(0x0f);
    let moved = _mm256_shuffle_epi8(first, _mm256_and_si256(then, low));
    reduce(_mm256_add_epi8(moved, _mm256_andnot_si256(low, then)))
}

// Loops, not iterators: a closure is compiled without these instructions, and not inlined.

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn image(tables: &CubeSymmetries, both: &[__m256i; 2], symmetry: u8) -> CubeState {
    let inverted = usize::from(symmetry >= ROTATIONS as u8);
    pack(conjugate(both[inverted], &tables.rotations[usize::from(symmetry) - inverted * ROTATIONS]))
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn class(tables: &CubeSymmetries, state: &CubeState) -> Class<CubeState> {
    let (both, _) = unpack_both(state);
    let mut least = LeastImage::NONE;
    for &symmetry in tables.candidates(tables.corner_indices.corner_index(state.corners)) {
        least.add(image(tables, &both, symmetry));
    }
    least.class()
}

/// The corner index of a state in bytes.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn corner_index(tables: &CubeSymmetries, bytes: __m256i) -> usize {
    let corners = _mm_cvtsi128_si64(_mm256_extracti128_si256::<1>(bytes)) as u64;
    let pieces = _pext_u64(corners, 0x0707_0707_0707_0707) as usize;
    tables.corner_indices.index_of_halves(pieces, pieces >> 12)
}

/// The child of a state, and the child's inverse, in bytes.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn child(tables: &CubeSymmetries, both: &[__m256i; 2], action: Move) -> [__m256i; 2] {
    let (turn, back) = (&tables.turns[usize::from(action)], &tables.inverse_turns[usize::from(action)]);
    [compose(both[0], load(turn)), compose(load(back), both[1])]
}

/// A state and its inverse, in bytes, and whether they are the same.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn unpack_both(state: &CubeState) -> ([__m256i; 2], bool) {
    let inverse = symmetry::inverse(state);
    ([unpack(state), unpack(&inverse)], inverse == *state)
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn neighbours<T: ChildResult>(
    tables: &CubeSymmetries,
    state: &CubeState,
    moves: &[Move],
    found: &mut Vec<T>,
) {
    let (both, is_same) = unpack_both(state);
    let mut children = ChildBlock::new();
    for from in &[both, [both[1], both[0]]][..if is_same { 1 } else { 2 }] {
        for &action in moves {
            children.push(tables, child(tables, from, action), found);
        }
    }
    children.finish(tables, found);
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn around<T: ChildResult>(
    tables: &CubeSymmetries,
    state: &CubeState,
    [before, after]: [&[Move]; 2],
    found: &mut Vec<T>,
) {
    let (both, _) = unpack_both(state);
    let mut children = ChildBlock::new();
    for &first in before {
        // The state after the move from the inverse, and its inverse.
        let [inverse, state] = child(tables, &[both[1], both[0]], first);
        for &action in after {
            children.push(tables, child(tables, &[state, inverse], action), found);
        }
    }
    children.finish(tables, found);
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn keys_after_two(tables: &CubeSymmetries, state: &CubeState, pairs: &[[Move; 2]], keys: &mut Vec<u64>) {
    let (start, _) = unpack_both(state);
    let mut children = ChildBlock::new();
    let (mut last, mut between) = (None, start);
    for &[first, second] in pairs {
        if last != Some(first) {
            (last, between) = (Some(first), child(tables, &start, first));
        }
        children.push(tables, child(tables, &between, second), keys);
    }
    children.finish(tables, keys);
}

/// The result for a child: its key, or its class.
pub(super) trait ChildResult: Sized {
    /// Whether the result is more than the least key.
    const IS_CLASS: bool;

    /// The result, from the child and its inverse in bytes, and its least image.
    ///
    /// # Safety
    /// The processor must have AVX2 and BMI2.
    unsafe fn new(tables: &CubeSymmetries, both: &[__m256i; 2], least: LeastSymmetry) -> Self;
}

impl ChildResult for u64 {
    const IS_CLASS: bool = false;

    #[inline]
    unsafe fn new(_: &CubeSymmetries, _: &[__m256i; 2], least: LeastSymmetry) -> Self {
        spread(least.key)
    }
}

impl ChildResult for Class<CubeState> {
    const IS_CLASS: bool = true;

    #[inline]
    unsafe fn new(tables: &CubeSymmetries, both: &[__m256i; 2], least: LeastSymmetry) -> Self {
        // SAFETY: the caller knows that the processor has the instructions.
        let image = unsafe { image(tables, both, least.symmetry) };
        Class { state: image, key: spread(least.key), states: SYMMETRIES as u32 / u32::from(least.same.max(1)) }
    }
}

/// The least image of a child.
#[derive(Clone, Copy, Default)]
pub(super) struct LeastSymmetry {
    key: u64,
    /// A symmetry that leads to it.
    symmetry: u8,
    /// The number of such symmetries.
    same: u8,
}

impl LeastSymmetry {
    /// Takes in one more image. Without a branch, which could not be predicted.
    #[inline]
    fn add<T: ChildResult>(&mut self, key: u64, symmetry: u8) {
        if T::IS_CLASS {
            let (is_less, is_same) = (key < self.key, key == self.key);
            self.symmetry = if is_less { symmetry } else { self.symmetry };
            self.same = if is_less { 1 } else { self.same + u8::from(is_same) };
        }
        self.key = self.key.min(key);
    }
}

/// Children whose least images are found together. The number of images varies, and a loop over the images of one child would
/// wait for it each time. So the first image of every child comes first, and then the other images of all children.
struct ChildBlock {
    /// Each child and its inverse.
    both: [[__m256i; 2]; ChildBlock::CAPACITY],
    /// The index of each child's list.
    lists: [u16; ChildBlock::CAPACITY],
    count: usize,
}

impl ChildBlock {
    const CAPACITY: usize = 32;
    /// Images after the first that are noted for each child, whether it has them or not.
    const OTHERS: usize = INLINE - 1;

    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn new() -> Self {
        ChildBlock { both: [[_mm256_setzero_si256(); 2]; Self::CAPACITY], lists: [0; Self::CAPACITY], count: 0 }
    }

    /// Adds a child. When the buffer is full, appends the results of all its children.
    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn push<T: ChildResult>(&mut self, tables: &CubeSymmetries, both: [__m256i; 2], found: &mut Vec<T>) {
        self.both[self.count] = both;
        self.lists[self.count] = tables.list_of[corner_index(tables, both[0])];
        self.count += 1;
        if self.count == Self::CAPACITY {
            self.finish(tables, found);
        }
    }

    /// Appends the results of all children.
    #[target_feature(enable = "avx2,bmi2")]
    fn finish<T: ChildResult>(&mut self, tables: &CubeSymmetries, found: &mut Vec<T>) {
        let mut least = [LeastSymmetry::default(); Self::CAPACITY];
        // Child and symmetry of each image but the first. Entries that a child does not have are overwritten.
        let mut others = [[0u8; 2]; Self::OTHERS * (Self::CAPACITY + 1)];
        let mut end = 0;
        for (child, (least, both)) in least.iter_mut().zip(&self.both).take(self.count).enumerate() {
            let list = &tables.lists[usize::from(self.lists[child])];
            let symmetry = list.first[0];
            *least = LeastSymmetry { key: key(&image(tables, both, symmetry)), symmetry, same: 1 };
            for (other, &symmetry) in others[end..end + Self::OTHERS].iter_mut().zip(&list.first[1..]) {
                *other = [child as u8, symmetry];
            }
            end += usize::from(list.length - 1).min(Self::OTHERS);
            if usize::from(list.length) > INLINE {
                let SymmetryList { start, length, .. } = *list;
                for &symmetry in &tables.candidates[usize::from(start)..][INLINE..usize::from(length)] {
                    least.add::<T>(key(&image(tables, both, symmetry)), symmetry);
                }
            }
        }
        for &[child, symmetry] in &others[..end] {
            let child = usize::from(child) % Self::CAPACITY;
            least[child].add::<T>(key(&image(tables, &self.both[child], symmetry)), symmetry);
        }
        found.reserve(self.count);
        for (least, both) in least.iter().zip(&self.both).take(self.count) {
            // SAFETY: this function has the instructions.
            found.push(unsafe { T::new(tables, both, *least) });
        }
        self.count = 0;
    }
}
