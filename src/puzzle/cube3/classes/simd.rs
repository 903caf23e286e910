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
    let (turn, back) = (&of.turns[usize::from(action)], &of.turns[usize::from(action ^ 1)]);
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
    for &action in moves {
        let both = child(of, &both, action);
        let mut least = u64::MAX;
        for &symmetry in of.candidates_of(rank(of, both[0])) {
            least = least.min(key(&image(of, &both, symmetry)));
        }
        keys.push(spread(least));
    }
}
