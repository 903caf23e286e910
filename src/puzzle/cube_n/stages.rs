//! Code that all stages of the search `reduction` use: their puzzles by name, and the positions and symbols of their states.
//!
//! | file | stage |
//! | --- | --- |
//! | `reduction` | `cube4:reduction`: to a 4×4×4 that turns like a 3×3×3 |
//! | `centres` | `cube5:centres`: the centres of a 5×5×5 |
//! | `edges` | `cube5:edges`: its edges, as a puzzle of its own |

use super::geometry::{Turn, moved};
use super::{CubeN, Metric, ln_centres, ln_factorial};
use crate::puzzle::cube3::{FACES, facelets};

pub mod centres;
pub mod edges;
pub mod reduction;

impl CubeN {
    /// The puzzles of the stages of the search `reduction`, the last a 3×3×3.
    pub(in crate::puzzle) fn reduction_stages(&self) -> &'static [&'static str] {
        let has_half_turns = matches!(self.metric, Metric::HalfTurn | Metric::OuterBlock);
        match (self.size, has_half_turns) {
            _ if self.is_stage() => &[],
            (reduction::SIZE, false) => &[reduction::NAME, "cube3"],
            (reduction::SIZE, true) => &[reduction::NAME, "cube3:htm"],
            (centres::SIZE, false) => &[centres::NAME, edges::NAME, "cube3"],
            (centres::SIZE, true) => &[centres::NAME, edges::NAME, "cube3:htm"],
            _ => &[],
        }
    }

    /// Whether it is a stage of the search `reduction`: its states are symbols for a part of the cube.
    pub(in crate::puzzle) fn is_stage(&self) -> bool {
        matches!(self.metric, Metric::Reduction | Metric::Centres)
    }

    /// The symbols at the positions of a state, and whether each may trade its name with others.
    pub(in crate::puzzle) fn symbol_names(&self) -> Vec<(String, bool)> {
        let fixed = |symbol: char| (symbol.to_string(), false);
        match self.metric {
            Metric::Reduction => reduction::symbol_names(),
            Metric::Centres => FACES.into_iter().chain(['0', '1']).map(fixed).collect(),
            _ => FACES.map(fixed).to_vec(),
        }
    }

    /// The names of the moves, and their permutations of the positions.
    pub(in crate::puzzle) fn permutations(&self) -> Vec<(String, Vec<u16>)> {
        let permutation = |(turn, (name, from)): (&Turn, (String, Vec<u16>))| match self.metric {
            Metric::Reduction => (name, self.reduced_move(*turn, &from)),
            Metric::Centres => (name, self.centres_move(*turn, &from)),
            _ => (name, from),
        };
        self.turns.iter().zip(self.named_turns()).take(self.move_count).map(permutation).collect()
    }

    /// The symbols at the positions of a cube with some colours. Names that may be traded are not put in order.
    pub(in crate::puzzle) fn symbols(&self, colours: &[u8]) -> Vec<u8> {
        match self.metric {
            Metric::Reduction => self.reduction(colours),
            Metric::Centres => self.centres(colours),
            _ => colours.to_vec(),
        }
    }

    /// The logarithm of the number of states; for a stage, only of the pieces that its goal fixes.
    pub(in crate::puzzle) fn ln_states(&self) -> f64 {
        match self.metric {
            Metric::Reduction => ln_factorial(24) - 12.0 * 2f64.ln() - ln_factorial(12) + ln_centres() + 4f64.ln(),
            Metric::Centres => 2.0 * ln_centres() + 2f64.ln(),
            _ => self.ln_states_of_whole(),
        }
    }

    /// The first kind of wings: edges that cannot be placed with their stickers exchanged.
    pub(super) fn wings(&self) -> &[Vec<u16>] {
        let is_wing = |kind: &&Vec<Vec<u16>>| kind[0].len() == 2 && !kind.contains(&vec![kind[0][1], kind[0][0]]);
        self.kinds.iter().find(is_wing).expect("a cube of four layers and more has wings")
    }

    /// For each way to place a piece of one kind, the way in which the piece that shows these colours is placed on the solved
    /// cube.
    pub(super) fn homes(&self, pieces: &[Vec<u16>], colours: &[u8]) -> Vec<usize> {
        let goal = self.goal();
        let home = |piece: &Vec<u16>| pieces.iter().position(|other| moved(&goal, other) == moved(colours, piece));
        pieces.iter().filter_map(home).collect()
    }
}

/// The facelets of the 3×3×3 that a reduced cube with some facelets turns like: centres give the faces their names.
pub fn facelets_of_cube3(facelets: &str) -> String {
    let letters: Vec<char> = facelets.chars().collect();
    let whole = facelets::reduced(&letters, (letters.len() / FACES.len()).isqrt(), 3);
    let face = |letter: char| (0..FACES.len()).find(|face| whole[9 * face + 4] == letter);
    whole.iter().map(|&letter| face(letter).map_or(letter, |face| FACES[face])).collect()
}

/// For each way to place a piece of one kind, the index of the one that a turn brings there.
pub(super) fn origins(pieces: &[Vec<u16>], from: &[u16]) -> Vec<u16> {
    let place = |piece: &Vec<u16>| pieces.iter().position(|other| *other == moved(from, piece));
    pieces.iter().map(|piece| place(piece).expect("a turn moves pieces to places of their kind") as u16).collect()
}
