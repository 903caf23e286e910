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
    let both = [unpack(state), unpack(&symmetry::inverse(state))];
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

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn child_classes(
    of: &CubeSymmetries,
    state: &CubeState,
    moves: &[Move],
    classes: &mut Vec<Class<CubeState>>,
) {
    let both = [unpack(state), unpack(&symmetry::inverse(state))];
    for &action in moves {
        let both = child(of, &both, action);
        classes.push(class_of(of, both, rank(of, both[0])));
    }
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn child_keys(of: &CubeSymmetries, state: &CubeState, moves: &[Move], keys: &mut Vec<u64>) {
    let both = [unpack(state), unpack(&symmetry::inverse(state))];
    let mut children = Children::new();
    for &action in moves {
        children.push(of, child(of, &both, action), keys);
    }
    children.finish(of, keys);
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn keys_after_two(of: &CubeSymmetries, state: &CubeState, pairs: &[[Move; 2]], keys: &mut Vec<u64>) {
    let start = [unpack(state), unpack(&symmetry::inverse(state))];
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

/// Children whose keys are to be found together: how many images each has varies, and a loop over the images of one child
/// would wait for its number each time. Over those of all children, it need not.
struct Children {
    /// Each child and its inverse.
    both: [[__m256i; 2]; Children::ROOM],
    ranks: [u32; Children::ROOM],
    count: usize,
}

impl Children {
    const ROOM: usize = 16;
    /// The images of all children, and what is written beyond those of the last.
    const IMAGES: usize = Children::ROOM * Children::FEW + Children::FEW;
    /// Children with more images are done by themselves: they are rare.
    const FEW: usize = BEYOND;

    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn new() -> Self {
        Children { both: [[_mm256_setzero_si256(); 2]; Self::ROOM], ranks: [0; Self::ROOM], count: 0 }
    }

    /// Adds a child; if there is no more room, the keys of all are put behind the others.
    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn push(&mut self, of: &CubeSymmetries, both: [__m256i; 2], keys: &mut Vec<u64>) {
        self.both[self.count] = both;
        self.ranks[self.count] = rank(of, both[0]) as u32;
        self.count += 1;
        if self.count == Self::ROOM {
            self.finish(of, keys);
        }
    }

    /// Puts the keys of all children behind the others.
    #[target_feature(enable = "avx2,bmi2")]
    fn finish(&mut self, of: &CubeSymmetries, keys: &mut Vec<u64>) {
        let mut lists = [(0, 0); Self::ROOM];
        for (list, &rank) in lists.iter_mut().zip(&self.ranks[..self.count]) {
            *list = of.lists[usize::from(of.list_of[rank as usize])];
        }
        // Of each image, the child and the symmetry. Some more are written than a child has, and then written over.
        let mut images = [(0u8, 0u8); Self::IMAGES];
        let mut starts = [0u8; Self::ROOM];
        let mut end = 0;
        for (child, &(start, length)) in lists[..self.count].iter().enumerate() {
            starts[child] = end as u8;
            let symmetries = &of.candidates[usize::from(start)..][..Self::FEW];
            for (image, &symmetry) in images[end..end + Self::FEW].iter_mut().zip(symmetries) {
                *image = (child as u8, symmetry);
            }
            end += if usize::from(length) <= Self::FEW { usize::from(length) } else { 0 };
        }
        let mut hashes = [0; Self::IMAGES];
        for (hash, &(child, symmetry)) in hashes.iter_mut().zip(&images[..end]) {
            *hash = key(&image(of, &self.both[usize::from(child) % Self::ROOM], symmetry));
        }
        for (child, &(_, length)) in lists[..self.count].iter().enumerate() {
            let mut least = u64::MAX;
            if usize::from(length) > Self::FEW {
                for &symmetry in of.candidates_of(self.ranks[child] as usize) {
                    least = least.min(key(&image(of, &self.both[child], symmetry)));
                }
            } else {
                let hashes = &hashes[usize::from(starts[child])..][..Self::FEW];
                for (i, &hash) in hashes.iter().enumerate() {
                    least = least.min(if i < usize::from(length) { hash } else { u64::MAX });
                }
            }
            keys.push(spread(least));
        }
        self.count = 0;
    }
}
