//! Classes of cubes with byte shuffles (AVX2), and with bits gathered and scattered (BMI2).

use super::*;
use std::arch::x86_64::*;

/// Five bits of each corner, as bytes.
const CORNERS: u64 = 0x3737_3737_3737_3737;
/// Five bits of each edge, as bytes.
const EDGES: u64 = 0x1f1f_1f1f_1f1f_1f1f;

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2")
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

/// Orientations in place of sums of them, modulo 2 and modulo 3.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn reduce(sum: __m256i) -> __m256i {
    let low = _mm256_set1_epi8(0x0f);
    let orientation = _mm256_and_si256(_mm256_srli_epi16::<4>(sum), low);
    _mm256_or_si256(_mm256_and_si256(sum, low), _mm256_shuffle_epi8(load(&MODULO), orientation))
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn conjugate(bytes: __m256i, by: &Conjugation) -> __m256i {
    let low = _mm256_set1_epi8(0x0f);
    let moved = _mm256_shuffle_epi8(bytes, load(&by.places));
    let piece = _mm256_shuffle_epi8(load(&by.pieces), _mm256_and_si256(moved, low));
    let turned = _mm256_and_si256(_mm256_srli_epi16::<4>(moved), low);
    let turned = _mm256_add_epi8(_mm256_shuffle_epi8(load(&by.orientations), turned), load(&by.added));
    reduce(_mm256_add_epi8(piece, turned))
}

/// The state that has the pieces of `first` at the places that `then` says, and both orientations.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn compose(first: __m256i, then: __m256i) -> __m256i {
    let low = _mm256_set1_epi8(0x0f);
    let moved = _mm256_shuffle_epi8(first, _mm256_and_si256(then, low));
    reduce(_mm256_add_epi8(moved, _mm256_andnot_si256(low, then)))
}

// Loops, not iterators: what an adapter calls is compiled without these instructions, and not inlined.

/// The class of a state, of which its bytes, those of its inverse, and its rank are given.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn class_of(of: &CubeSymmetries, both: [__m256i; 2], rank: usize) -> Class<CubeState> {
    let mut least = Least::NONE;
    for &symmetry in of.candidates_of(rank) {
        least.add(image(of, &both, symmetry));
    }
    least.class()
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn image(of: &CubeSymmetries, both: &[__m256i; 2], symmetry: u8) -> CubeState {
    let inverted = usize::from(symmetry >= ROTATIONS as u8);
    pack(conjugate(both[inverted], &of.conjugations[usize::from(symmetry) - inverted * ROTATIONS]))
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn class(of: &CubeSymmetries, state: &CubeState) -> Class<CubeState> {
    let (both, _) = unpack_both(state);
    class_of(of, both, of.ranks.rank(state.corners))
}

/// The rank of a state in bytes.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn rank(of: &CubeSymmetries, bytes: __m256i) -> usize {
    let corners = _mm_cvtsi128_si64(_mm256_extracti128_si256::<1>(bytes)) as u64;
    let pieces = _pext_u64(corners, 0x0707_0707_0707_0707) as usize;
    of.ranks.rank_of(pieces, pieces >> 12)
}

/// The child of a state, and the child's inverse, in bytes.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn child(of: &CubeSymmetries, both: &[__m256i; 2], action: Move) -> [__m256i; 2] {
    let (turn, back) = (&of.turns[usize::from(action)], &of.inverse_turns[usize::from(action)]);
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
pub(super) fn neighbours<T: Found>(of: &CubeSymmetries, state: &CubeState, moves: &[Move], found: &mut Vec<T>) {
    let (both, is_same) = unpack_both(state);
    let mut children = Children::new();
    for from in &[both, [both[1], both[0]]][..if is_same { 1 } else { 2 }] {
        for &action in moves {
            children.push(of, child(of, from, action), found);
        }
    }
    children.finish(of, found);
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn around<T: Found>(
    of: &CubeSymmetries,
    state: &CubeState,
    [before, after]: [&[Move]; 2],
    found: &mut Vec<T>,
) {
    let (both, _) = unpack_both(state);
    let mut children = Children::new();
    for &first in before {
        // The inverse of where the move leads from the inverse, and that one.
        let [inverse, state] = child(of, &[both[1], both[0]], first);
        for &action in after {
            children.push(of, child(of, &[state, inverse], action), found);
        }
    }
    children.finish(of, found);
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn keys_after_two(of: &CubeSymmetries, state: &CubeState, pairs: &[[Move; 2]], keys: &mut Vec<u64>) {
    let (start, _) = unpack_both(state);
    let mut children = Children::new();
    let (mut last, mut between) = (None, start);
    for &[first, second] in pairs {
        if last != Some(first) {
            (last, between) = (Some(first), child(of, &start, first));
        }
        children.push(of, child(of, &between, second), keys);
    }
    children.finish(of, keys);
}

/// What is to be found of a child.
pub(super) trait Found: Sized {
    /// Whether that is more than the least key.
    const IS_CLASS: bool;

    /// From the child and its inverse, in bytes, and its least image.
    ///
    /// # Safety
    /// The processor must have AVX2 and BMI2.
    unsafe fn new(of: &CubeSymmetries, both: &[__m256i; 2], least: LeastOf) -> Self;
}

impl Found for u64 {
    const IS_CLASS: bool = false;

    #[inline]
    unsafe fn new(_: &CubeSymmetries, _: &[__m256i; 2], least: LeastOf) -> Self {
        spread(least.key)
    }
}

impl Found for Class<CubeState> {
    const IS_CLASS: bool = true;

    #[inline]
    unsafe fn new(of: &CubeSymmetries, both: &[__m256i; 2], least: LeastOf) -> Self {
        // SAFETY: the caller knows that the processor has the instructions.
        let image = unsafe { image(of, both, least.symmetry) };
        Class { state: image, key: spread(least.key), states: SYMMETRIES as u32 / u32::from(least.same.max(1)) }
    }
}

/// The least image of a child.
#[derive(Clone, Copy, Default)]
pub(super) struct LeastOf {
    key: u64,
    /// A symmetry that leads to it.
    symmetry: u8,
    /// How many do.
    same: u8,
}

impl LeastOf {
    #[inline]
    fn first(key: u64, symmetry: u8) -> Self {
        LeastOf { key, symmetry, same: 1 }
    }

    /// Takes in one image more. Without a branch: which is less cannot be foreseen.
    #[inline]
    fn add<T: Found>(&mut self, key: u64, symmetry: u8) {
        if T::IS_CLASS {
            let (is_less, is_same) = (key < self.key, key == self.key);
            self.symmetry = if is_less { symmetry } else { self.symmetry };
            self.same = if is_less { 1 } else { self.same + u8::from(is_same) };
        }
        self.key = self.key.min(key);
    }
}

/// Children whose least images are to be found together: how many images each has varies, and a loop over the images of
/// one child would wait for its number each time. So the first image of every child comes first, and then the others of
/// all children.
struct Children {
    /// Each child and its inverse.
    both: [[__m256i; 2]; Children::ROOM],
    /// The number of each child's list.
    lists: [u16; Children::ROOM],
    count: usize,
}

impl Children {
    const ROOM: usize = 32;
    /// Images after the first that are written down for each child, whether it has them or not.
    const OTHERS: usize = FIRST - 1;

    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn new() -> Self {
        Children { both: [[_mm256_setzero_si256(); 2]; Self::ROOM], lists: [0; Self::ROOM], count: 0 }
    }

    /// Adds a child; if there is no more room, what is found of all is put behind the others.
    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn push<T: Found>(&mut self, of: &CubeSymmetries, both: [__m256i; 2], found: &mut Vec<T>) {
        self.both[self.count] = both;
        self.lists[self.count] = of.list_of[rank(of, both[0])];
        self.count += 1;
        if self.count == Self::ROOM {
            self.finish(of, found);
        }
    }

    /// Puts what is found of all children behind the others.
    #[target_feature(enable = "avx2,bmi2")]
    fn finish<T: Found>(&mut self, of: &CubeSymmetries, found: &mut Vec<T>) {
        let mut least = [LeastOf::default(); Self::ROOM];
        // Of each image but the first, the child and the symmetry. Those that a child does not have are written over.
        let mut others = [[0u8; 2]; Self::OTHERS * (Self::ROOM + 1)];
        let mut end = 0;
        for (child, (least, both)) in least.iter_mut().zip(&self.both).take(self.count).enumerate() {
            let list = &of.lists[usize::from(self.lists[child])];
            *least = LeastOf::first(key(&image(of, both, list.first[0])), list.first[0]);
            for (other, &symmetry) in others[end..end + Self::OTHERS].iter_mut().zip(&list.first[1..]) {
                *other = [child as u8, symmetry];
            }
            end += usize::from(list.length - 1).min(Self::OTHERS);
            if usize::from(list.length) > FIRST {
                let List { start, length, .. } = *list;
                for &symmetry in &of.candidates[usize::from(start)..][FIRST..usize::from(length)] {
                    least.add::<T>(key(&image(of, both, symmetry)), symmetry);
                }
            }
        }
        for &[child, symmetry] in &others[..end] {
            let child = usize::from(child) % Self::ROOM;
            least[child].add::<T>(key(&image(of, &self.both[child], symmetry)), symmetry);
        }
        found.reserve(self.count);
        for (least, both) in least.iter().zip(&self.both).take(self.count) {
            // SAFETY: this function has the instructions.
            found.push(unsafe { T::new(of, both, *least) });
        }
        self.count = 0;
    }
}
