//! The reduction of the 4×4×4: the states from which it is solved as a 3×3×3, with turns of its outer layers alone.
//!
//! There, each face has centres of one colour, the two wings of every edge are alike, and both parities are even. If the
//! pairs and the corners are does not matter, so that all these 4·10¹⁹ states are one. What matters is held in 52 positions:
//!
//! | positions | symbols |
//! | --- | --- |
//! | 24 wings | `a` to `l`, one for each pair of colours; pairs may trade names, since none has to be in a certain place |
//! | 24 centres | their colours |
//! | 2 | `01`, or `10` after an odd number of turns of inner layers: an odd number of pairs would be flipped |
//! | 2 | `+-`, or `-+` after an odd number of turns of outer layers |
//!
//! `+` and `-` also trade names, and all trades together are even: on a 3×3×3, two edges alone cannot be swapped. A network
//! does not see them.
//!
//! Reducing a 4×4×4 is how people solve it; Shuang Chen's solver for the 4×4×4 (TPR-4x4x4-Solver) does it with tables.

use super::origins;
use crate::puzzle::cube_n::CubeN;
use crate::puzzle::cube_n::geometry::{Turn, moved};
use crate::puzzle::cube3::FACES;
use crate::puzzle::rules::{distinct, is_odd};

/// The name of the puzzle.
pub const NAME: &str = "cube4:reduction";

/// The size that has a reduction.
pub(in crate::puzzle::cube_n) const SIZE: usize = 4;

/// The positions of wings and of centres each.
const EACH: usize = 24;

/// The first position of each pair that shows a parity.
const INNER_PARITY: usize = 2 * EACH;
const OUTER_PARITY: usize = INNER_PARITY + 2;

/// Symbols that stand for pairs of colours, and the symbols before those of the parities.
const PAIRS: usize = 12;
const BEFORE_PARITIES: u8 = (PAIRS + FACES.len()) as u8;

/// The symbols, and whether each may trade its name with others.
pub(super) fn symbol_names() -> Vec<(String, bool)> {
    let fixed = FACES.into_iter().chain(['0', '1']).map(|symbol| (symbol, false));
    let free = |symbol| (symbol, true);
    let all = ('a'..='l').map(free).chain(fixed).chain(['+', '-'].map(free));
    all.map(|(symbol, is_free)| (symbol.to_string(), is_free)).collect()
}

impl CubeN {
    /// The positions after a turn that moves stickers, for each the one that its symbol comes from.
    pub(super) fn reduced_move(&self, turn: Turn, from: &[u16]) -> Vec<u16> {
        let [centres, wings, _] = [1, 2, 3].map(|stickers| self.pieces(stickers));
        let mut positions = origins(wings, from);
        positions.extend(origins(centres, from).iter().map(|place| place + EACH as u16));
        positions.extend(INNER_PARITY as u16..OUTER_PARITY as u16 + 2);
        let parity = if turn.is_outer(SIZE) { OUTER_PARITY } else { INNER_PARITY };
        positions.swap(parity, parity + 1);
        positions
    }

    /// The symbols of the reduction of a cube with some colours. Names that may be traded are not put in order.
    pub(super) fn reduction(&self, colours: &[u8]) -> Vec<u8> {
        let [centres, wings, corners] = [1, 2, 3].map(|stickers| self.pieces(stickers));
        let goal = self.goal();
        let homes = self.homes(wings, colours);
        // A pair is named by the order in which the solved cube shows them.
        let pair = |wing: usize| {
            let mut colours = moved(&goal, &wings[wing]);
            colours.sort_unstable();
            colours
        };
        let pairs = distinct((0..EACH).map(pair));
        let name = |wing: &usize| pairs.iter().position(|other| *other == pair(*wing)).unwrap_or(0) as u8;
        let mut symbols: Vec<u8> = homes.iter().map(name).collect();
        symbols.extend(centres.iter().map(|centre| PAIRS as u8 + colours[usize::from(centre[0])]));
        // Each corner can be placed in three ways: a twist is even, and a swap of two corners odd.
        let corners = self.homes(corners, colours);
        for (is_odd, first) in [(is_odd(&homes), BEFORE_PARITIES), (is_odd(&corners), BEFORE_PARITIES + 2)] {
            symbols.extend(if is_odd { [first + 1, first] } else { [first, first + 1] });
        }
        symbols
    }
}

#[cfg(test)]
mod tests {
    use super::super::facelets_of_cube3;
    use super::*;
    use crate::puzzle::cube_n::Metric;
    use crate::puzzle::cube3::Cube3;
    use crate::puzzle::permutation::{Description, Permutation};
    use crate::puzzle::{Encode as _, Move, Notation as _, Rules as _, SymmetricImage, replay};
    use crate::random::{below, generator};

    fn puzzles() -> (Permutation<64>, Permutation<128>) {
        let of = |metric| Description::of_cube(CubeN::new(SIZE, metric));
        (Permutation::new(of(Metric::Reduction)), Permutation::new(of(Metric::Oriented)))
    }

    #[test]
    fn moves_of_the_reduction_are_those_of_the_cube() {
        let (reduction, cube) = puzzles();
        let mut generator = generator(3, 0);
        for _ in 0..20 {
            let moves: Vec<Move> = (0..60).map(|_| below(&mut generator, 24) as Move).collect();
            let (facelets, _) = replay(&cube, &cube.goals()[0], &moves).expect("all moves are legal");
            let (state, _) = replay(&reduction, &reduction.goals()[0], &moves).expect("all moves are legal");
            assert_eq!(reduction.parse(&cube.format(&facelets)), Ok(state));
            assert_eq!(reduction.parse(&reduction.format(&state)), Ok(state));
        }
    }

    #[test]
    fn outer_turns_keep_the_goal_and_parities_do_not_pass() {
        let (reduction, _) = puzzles();
        let is_goal = |text: &str| reduction.is_goal(&reduction.parse(text).expect(text));
        assert!(is_goal("R U2 F' L D B2 R' U F2 D' L2 B"));
        assert!(!is_goal("R 2U F"));
        // One pair flipped, and two pairs swapped: the usual remedies of each.
        let flipped = "r2 B2 U2 l U2 r' U2 r U2 F2 r F2 l' B2 r2";
        let swapped = "2R2 U2 2R2 Uw2 2R2 2U2";
        assert!(!is_goal(flipped) && !is_goal(swapped));
        assert!(is_goal(&format!("{flipped} {flipped}")) && is_goal(&format!("{swapped} {swapped}")));
    }

    #[test]
    fn a_reduced_cube_has_the_facelets_of_a_3x3x3() {
        let (_, cube) = puzzles();
        for scramble in ["", "R U F' L2 D B'", "R U2 F B' L D2 R' U"] {
            let facelets = |text: &str| facelets_of_cube3(&cube.format(&cube.parse(text).expect(text)));
            let small = Cube3.parse(scramble).expect(scramble);
            assert_eq!(Cube3.parse(&facelets(scramble)), Ok(small));
            // A turn of the whole cube moves the centres, which name the faces.
            assert_eq!(Cube3.parse(&facelets(&format!("{scramble} x y"))), Cube3.parse(&format!("{scramble} x y")));
        }
    }

    #[test]
    fn rows_name_no_pair() {
        let (reduction, _) = puzzles();
        let start = reduction.parse("2R U 2F' L 2D2 B").expect("a scramble");
        let row = reduction.row(&start);
        // A wing's partner has it as its own partner.
        assert!(
            (0..EACH).all(|wing| usize::from(row[usize::from(row[wing])]) == wing && usize::from(row[wing]) != wing)
        );
        assert!(reduction.row(&reduction.goals()[0]).iter().all(|&cell| usize::from(cell) < EACH));
        let images: Vec<SymmetricImage<_>> = reduction.symmetric_images(&start).collect();
        // 48, and inner layers that trade places; none is a copy.
        let starts: std::collections::HashSet<_> = images.iter().map(|image| image.start).collect();
        assert_eq!((images.len(), starts.len()), (96, 96));
    }
}
