//! Rubik's Cube, 3×3×3. In quarter turns ([`Cube3`]), a move turns one face by 90° and costs 1; with half turns
//! ([`Cube3HalfTurns`]), a move turns one face by 90° or 180° and costs 1.
//!
//! A state is where the 8 corners and 12 edges are and how they are twisted, 5 bits a piece, in 16 bytes. Pieces and
//! facelets are numbered as in Kociemba's two-phase algorithm: corners URF UFL ULB UBR DFR DLF DBL DRB, edges
//! UR UF UL UB DR DF DL DB FR FL BL BR, faces U R F D L B, the facelets of a face row by row.

use super::{
    Encoding, Grid, Move, ParseError, Picture, Puzzle, Reversible, Scramble, StateBytes, Style, SymmetricImage,
    Symmetries, is_odd,
};
use facelets::{CORNER_COLOURS, EDGE_COLOURS, Facelets};
use moves::{ALL_TURNS, MOVES, QUARTER_TURNS, TWISTED};
use std::fmt::Write as _;
use std::sync::Arc;

mod classes;
mod facelets;
mod half_turns;
mod moves;
mod notation;
mod symmetry;
pub(super) mod turns;

pub use half_turns::Cube3HalfTurns;

/// The puzzle `cube3`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cube3;

/// A position of the cube.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CubeState {
    /// 8 × 5 bits, the corner at place `i` in bits `5i..5i+5`: the piece, and its twist (0 to 2) times 8.
    corners: u64,
    /// 12 × 5 bits: the piece, and its flip (0 or 1) times 16.
    edges: u64,
}

impl CubeState {
    /// The solved cube.
    pub const SOLVED: CubeState = CubeState::pack([0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);

    const fn pack(corners: [u8; 8], edges: [u8; 12]) -> CubeState {
        let mut packed = CubeState { corners: 0, edges: 0 };
        let mut i = 0;
        while i < 12 {
            if i < 8 {
                packed.corners |= (corners[i] as u64) << (5 * i);
            }
            packed.edges |= (edges[i] as u64) << (5 * i);
            i += 1;
        }
        packed
    }

    /// The corners alone, 5 bits each.
    pub(super) const fn corners(&self) -> u64 {
        self.corners
    }

    /// A cube with these corners, and solved edges.
    pub(super) const fn from_corners(corners: u64) -> CubeState {
        CubeState { corners, edges: CubeState::SOLVED.edges }
    }

    /// Whether the corner DBL is home.
    pub(super) fn keeps_dbl(&self) -> bool {
        self.corner(6) == 6
    }

    /// The state after a turn: see [`MOVES`].
    #[inline]
    fn turned(&self, action: Move) -> CubeState {
        let packed = &MOVES[usize::from(action)];
        let mut edges = self.edges & packed.kept_edges;
        for (from, to) in packed.edges {
            edges |= ((self.edges >> from & 31) ^ packed.flip) << to;
        }
        CubeState { corners: CubeState::turn_corners(self.corners, action), edges }
    }

    /// What a move does to the corners alone.
    #[inline]
    pub(super) fn turn_corners(before: u64, action: Move) -> u64 {
        let packed = &MOVES[usize::from(action)];
        let mut corners = before & packed.kept_corners;
        for (from, to, twist) in packed.corners {
            let corner = (before >> from) as usize & 31;
            corners |= u64::from(TWISTED[usize::from(twist)][corner]) << to;
        }
        corners
    }

    /// The corners of the 24 facelets of a 2×2×2, held so that DBL is home; `None` of a text that is none.
    pub(super) fn corners_of_facelets(text: &str) -> Option<Result<u64, ParseError>> {
        Some(Facelets::read_small(text)?.and_then(|facelets| facelets.corners_alone()))
    }

    /// The moves of a scramble of a 2×2×2.
    pub(super) fn moves_of_small(text: &str) -> Result<Vec<Move>, ParseError> {
        Ok(notation::parse(text, 2)?.into_iter().flat_map(turns::Turn::moves).collect())
    }

    /// The parity of the permutation of the corners.
    pub(super) fn corner_parity(&self) -> u32 {
        is_odd(&std::array::from_fn::<u8, 8, _>(|place| self.corner(place) as u8 % 8)).into()
    }

    fn corner(&self, place: usize) -> usize {
        (self.corners >> (5 * place)) as usize & 31
    }

    fn edge(&self, place: usize) -> usize {
        (self.edges >> (5 * place)) as usize & 31
    }
}

impl std::fmt::Debug for CubeState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Cube3.format(self))
    }
}

/// The letters of the faces, in their order everywhere.
pub(super) const FACES: [char; 6] = ['U', 'R', 'F', 'D', 'L', 'B'];

/// The three facelets of each corner place, clockwise from the one on U or D.
const CORNER_FACELETS: [[usize; 3]; 8] =
    [[8, 9, 20], [6, 18, 38], [0, 36, 47], [2, 45, 11], [29, 26, 15], [27, 44, 24], [33, 53, 42], [35, 17, 51]];

/// The two facelets of each edge place; the first decides the flip.
const EDGE_FACELETS: [[usize; 2]; 12] = [
    [5, 10],
    [7, 19],
    [3, 37],
    [1, 46],
    [32, 16],
    [28, 25],
    [30, 43],
    [34, 52],
    [23, 12],
    [21, 41],
    [50, 39],
    [48, 14],
];

impl Puzzle for Cube3 {
    type State = CubeState;

    fn name(&self) -> String {
        "cube3".into()
    }

    fn move_count(&self) -> usize {
        QUARTER_TURNS
    }

    fn move_name(&self, action: Move) -> String {
        let face = FACES[usize::from(action / 2)];
        if action.is_multiple_of(2) { face.to_string() } else { format!("{face}'") }
    }

    #[inline]
    fn apply(&self, state: &CubeState, action: Move) -> Option<CubeState> {
        Some(state.turned(action))
    }

    #[inline]
    fn is_goal(&self, state: &CubeState) -> bool {
        *state == CubeState::SOLVED
    }

    /// A scramble from solved, or 54 facelets in the order U R F D L B.
    fn parse(&self, text: &str) -> Result<CubeState, ParseError> {
        match Facelets::read(text) {
            Some(facelets) => facelets?.state(),
            None => {
                Ok(self.parse_moves(text)?.iter().fold(CubeState::SOLVED, |state, &action| self.turn(&state, action)))
            }
        }
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        Ok(notation::parse(text, 3)?.into_iter().flat_map(turns::Turn::moves).collect())
    }

    /// 54 facelets in the order U R F D L B.
    fn format(&self, state: &CubeState) -> String {
        let mut row = [0; 54];
        self.encode(state, &mut row);
        row.iter().map(|&colour| FACES[usize::from(colour)]).collect()
    }

    /// The net: U on top, then L F R B, then D.
    fn draw(&self, state: &CubeState, style: Style) -> String {
        let mut row = [0; 54];
        self.encode(state, &mut row);
        let mut net = String::new();
        let bands: [&[usize]; 3] = [&[0], &[4, 2, 1, 5], &[3]];
        for faces in bands {
            for line in 0..3 {
                let mut text = String::from(if faces.len() == 1 { "       " } else { "" });
                for &face in faces {
                    for colour in &row[9 * face + 3 * line..][..3] {
                        draw_facelet(&mut text, usize::from(*colour), style);
                    }
                    text.push(' ');
                }
                net.push_str(text.trim_end());
                net.push('\n');
            }
        }
        net.pop();
        net
    }

    fn picture(&self, state: &CubeState) -> Picture {
        Picture::Cube { size: 3, facelets: self.format(state) }
    }

    fn scramble(&self, text: &str) -> Option<Scramble<CubeState>> {
        let moves = if Facelets::read(text).is_some() { return None } else { self.parse_moves(text).ok()? };
        Some(Scramble::play(self, CubeState::SOLVED, &moves))
    }

    /// 54 stickers, each one of 6 colours; the six centres never change.
    fn encoding(&self) -> Encoding {
        Encoding {
            version: 1,
            cells: 54,
            symbols: 6,
            fixed: (0..6).map(|face| 9 * face + 4).collect(),
            grid: Some(Grid { faces: 6, rows: 3, columns: 3 }),
        }
    }

    #[inline]
    fn encode(&self, state: &CubeState, row: &mut [u8]) {
        let row: &mut [u8; 54] = row.try_into().expect("a row of the cube has 54 cells");
        for face in 0..6 {
            row[9 * face + 4] = face as u8;
        }
        for (place, facelets) in CORNER_FACELETS.iter().enumerate() {
            let colours = CORNER_COLOURS[state.corner(place)];
            for (&facelet, colour) in facelets.iter().zip(colours) {
                row[facelet] = colour;
            }
        }
        for (place, facelets) in EDGE_FACELETS.iter().enumerate() {
            let colours = EDGE_COLOURS[state.edge(place)];
            for (&facelet, colour) in facelets.iter().zip(colours) {
                row[facelet] = colour;
            }
        }
    }

    fn notation(&self) -> &'static str {
        "a scramble from solved in face turns (U U F' R2), or 54 facelets in the order U R F D L B; \
         quarter turns U R F D L B, a ' for counter-clockwise"
    }

    fn symmetric_images(&self, state: &CubeState) -> Vec<SymmetricImage<CubeState>> {
        symmetry::images(state, QUARTER_TURNS)
    }

    fn symmetries(&self) -> Option<Arc<dyn Symmetries<CubeState>>> {
        Some(classes::symmetries())
    }

    /// Half turns are the same either way, and turns of opposite faces in either order.
    fn always_same(&self, one: &[Move], other: &[Move]) -> bool {
        turns::after(one) == turns::after(other)
    }

    fn written(&self, moves: &[Move]) -> Vec<String> {
        turns::written(moves)
    }

    fn counted(&self, moves: &[Move]) -> String {
        turns::counted(moves)
    }

    /// A quarter turn exchanges an odd number of pairs of corners.
    fn length_parity(&self, state: &CubeState) -> Option<u32> {
        Some(state.corner_parity())
    }

    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        Some(StateBytes::plain())
    }
}

/// Writes a facelet, two characters wide.
pub(super) fn draw_facelet(text: &mut String, colour: usize, style: Style) {
    // White, red, green, yellow, orange, blue: the colours that most cubes have on U R F D L B.
    const BACKGROUNDS: [u8; 6] = [231, 160, 34, 226, 208, 27];
    const LETTERS: [u8; 6] = [16, 231, 231, 16, 16, 231];
    let letter = FACES[colour];
    let written = match style {
        Style::Plain => write!(text, "{letter} "),
        Style::Coloured => {
            write!(text, "\x1b[48;5;{};38;5;{}m{letter} \x1b[0m", BACKGROUNDS[colour], LETTERS[colour])
        }
    };
    written.expect("writing to a string does not fail");
}

impl Cube3 {
    /// The state after a quarter turn: on a cube every move is legal.
    #[inline]
    pub fn turn(&self, state: &CubeState, action: Move) -> CubeState {
        self.apply(state, action).expect("every turn is legal")
    }
}

impl Reversible for Cube3 {
    fn goals(&self) -> Vec<CubeState> {
        vec![CubeState::SOLVED]
    }

    #[inline]
    fn inverse(&self, action: Move) -> Move {
        action ^ 1
    }

    /// 26: no position needs more quarter turns (Rokicki and Davidson, 2014).
    fn default_depth(&self) -> u32 {
        26
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::laws;

    /// The counts of a table in `test-data`, `depth count` a line.
    fn table() -> Vec<usize> {
        let lines = include_str!("../../test-data/cube3.depths").lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split_whitespace().nth(1).expect("a count").parse().expect("a number")).collect()
    }

    fn order(scramble: &str) -> usize {
        let moves = Cube3.parse_moves(scramble).expect("a scramble");
        let mut state = CubeState::SOLVED;
        for count in 1.. {
            state = moves.iter().fold(state, |state, &action| Cube3.turn(&state, action));
            if state == CubeState::SOLVED {
                return count;
            }
        }
        unreachable!("every scramble has an order")
    }

    #[test]
    fn the_laws_hold() {
        laws::check(&Cube3, &table()[..5]);
    }

    #[test]
    fn states_by_depth_are_those_of_the_table() {
        assert_eq!(laws::states_by_depth(&Cube3, 6), table());
    }

    #[test]
    fn scrambles_have_their_orders() {
        assert_eq!(order("R U"), 105);
        assert_eq!(order("R U R' U'"), 6);
        assert_eq!(order("R"), 4);
        assert_eq!(order("R U2 D' B D'"), 1260, "no scramble has a higher order");
    }

    #[test]
    fn a_state_is_small() {
        assert!(size_of::<CubeState>() <= 20);
    }

    #[test]
    fn the_net_is_drawn_in_letters_or_colours() {
        let plain = Cube3.draw(&CubeState::SOLVED, Style::Plain);
        assert_eq!(plain.lines().count(), 9);
        assert_eq!(plain.lines().nth(3), Some("L L L  F F F  R R R  B B B"));
        assert!(!plain.contains('\x1b'));
        let coloured = Cube3.draw(&CubeState::SOLVED, Style::Coloured);
        let mut letters = String::new();
        let mut rest = coloured.as_str();
        while let Some(at) = rest.find('\x1b') {
            letters += &rest[..at];
            rest = &rest[at + rest[at..].find('m').expect("an escape ends with m") + 1..];
        }
        letters += rest;
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(squeezed(&letters), squeezed(&plain));
    }
}
