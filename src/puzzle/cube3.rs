//! Rubik's Cube, 3×3×3. In quarter turns ([`Cube3`](const@Cube3)), a move turns one face by 90° and costs 1; with half turns
//! ([`Cube3HalfTurns`]), a move turns one face by 90° or 180° and costs 1.
//!
//! A state is the places and twists of the 8 corners and 12 edges, 5 bits a piece, in 16 bytes. Pieces and facelets are
//! numbered as in Kociemba's two-phase algorithm: corners URF UFL ULB UBR DFR DLF DBL DRB, edges UR UF UL UB DR DF DL DB FR
//! FL BL BR, faces U R F D L B, the facelets of a face row by row.
//!
//! | file | content |
//! | --- | --- |
//! | `moves` | turns of packed states, as tables |
//! | `turns` | turns of faces: names, the move table, and solutions as people write and count them |
//! | `notation` | reads scrambles |
//! | `facelets` | reads facelets |
//! | `symmetry` | the 96 symmetric images |
//! | `classes` | classes of states under the symmetries |

use super::move_costs::MoveCosts;
use super::{
    Block, Cost, Encode, Encoding, Grid, Instance, Move, MoveTable, Notation, ParseError, Picture, Rules, StateBytes,
    SymmetricImages, Symmetries, move_names, plain, rules::is_odd,
};
use facelets::{CORNER_COLOURS, EDGE_COLOURS};
use moves::{ALL_TURNS, PACKED_MOVES, QUARTER_TURNS, TWISTED};
use notation::Held;
use std::sync::Arc;

mod classes;
pub(super) mod facelets;
mod moves;
pub(super) mod notation;
pub(super) mod symmetry;
pub(super) mod turns;

/// The 3×3×3 with 12 moves, the quarter turns, or with 18 moves, the half turns added; each costs 1, or what its user says.
#[derive(Debug, Clone, PartialEq)]
pub struct Cube3 {
    has_half_turns: bool,
    costs: Option<MoveCosts>,
}

/// The puzzle `cube3`: a turn of a face by 90° costs 1 (the quarter-turn metric).
#[allow(non_upper_case_globals, reason = "it is named like a type")]
pub const Cube3: Cube3 = Cube3 { has_half_turns: false, costs: None };

/// The puzzle `cube3:htm`: a turn of a face by 90° or 180° costs 1 (the half-turn metric).
#[allow(non_upper_case_globals, reason = "it is named like a type")]
pub const Cube3HalfTurns: Cube3 = Cube3 { has_half_turns: true, costs: None };

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

    /// The state after a turn: see [`PACKED_MOVES`].
    #[inline]
    fn turned(&self, action: Move) -> CubeState {
        let packed = &PACKED_MOVES[usize::from(action)];
        let mut edges = self.edges & packed.kept_edges;
        for (from, to) in packed.edges {
            edges |= ((self.edges >> from & 31) ^ packed.flip) << to;
        }
        CubeState { corners: CubeState::turn_corners(self.corners, action), edges }
    }

    /// The corners after a turn.
    #[inline]
    pub(super) fn turn_corners(before: u64, action: Move) -> u64 {
        let packed = &PACKED_MOVES[usize::from(action)];
        let mut corners = before & packed.kept_corners;
        for (from, to, twist) in packed.corners {
            let corner = (before >> from) as usize & 31;
            corners |= u64::from(TWISTED[usize::from(twist)][corner]) << to;
        }
        corners
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

/// The index of a face in [`FACES`].
pub(super) fn face_with_letter(letter: char) -> Option<usize> {
    FACES.iter().position(|&face| face == letter)
}

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

impl Cube3 {
    /// The cube with other costs of its moves. It has no symmetries: one may map a move to a move of another cost.
    pub fn with_costs(self, costs: MoveCosts) -> Cube3 {
        Cube3 { costs: Some(costs), ..self }
    }

    /// Reads turns of faces.
    fn turns(&self, text: &str, held: Held) -> Result<Vec<Move>, ParseError> {
        if !self.has_half_turns {
            return notation::quarter_turns(text, 3, held);
        }
        Ok(notation::parse(text, 3, held)?.into_iter().filter_map(turns::FaceTurn::one_move).collect())
    }

    /// The state after a turn: on a cube every move is legal.
    #[inline]
    pub fn turn(&self, state: &CubeState, action: Move) -> CubeState {
        state.turned(action)
    }
}

impl Rules for Cube3 {
    type State = CubeState;

    fn name(&self) -> String {
        if self.has_half_turns { "cube3:htm" } else { "cube3" }.into()
    }

    #[inline]
    fn move_count(&self) -> usize {
        if self.has_half_turns { ALL_TURNS } else { QUARTER_TURNS }
    }

    #[inline]
    fn apply(&self, state: &CubeState, action: Move) -> Option<CubeState> {
        Some(state.turned(action))
    }

    #[inline]
    fn is_goal(&self, state: &CubeState) -> bool {
        *state == CubeState::SOLVED
    }

    fn goals(&self) -> Vec<CubeState> {
        vec![CubeState::SOLVED]
    }

    #[inline]
    fn inverse(&self, action: Move) -> Move {
        if usize::from(action) < QUARTER_TURNS { action ^ 1 } else { action }
    }

    /// 26 quarter turns, or 20 turns: no position needs more (Rokicki and Davidson, 2014; Rokicki, Kociemba, Davidson and
    /// Dethridge, 2013).
    fn default_depth(&self) -> u32 {
        if self.has_half_turns { 20 } else { 26 }
    }

    #[inline]
    fn move_cost(&self, _: &CubeState, action: Move) -> Cost {
        self.costs.as_ref().map_or(1, |costs| costs.of(&[action]))
    }

    fn own_costs(&self) -> Option<&MoveCosts> {
        self.costs.as_ref()
    }

    /// Turns of one face add up, and turns of opposite faces commute.
    fn effect(&self, moves: &[Move]) -> Option<Vec<u8>> {
        self.costs.is_none().then(|| bytemuck::bytes_of(&turns::after(moves)).to_vec())
    }

    /// A quarter turn exchanges an odd number of pairs of corners.
    fn length_parity(&self, state: &CubeState) -> Option<u32> {
        (!self.has_half_turns && self.costs.is_none()).then(|| state.corner_parity())
    }

    fn symmetric_images(&self, state: &CubeState) -> SymmetricImages<'_, CubeState> {
        match self.costs {
            None => Box::new(symmetry::images(*state, self.move_count())),
            Some(_) => Box::new(std::iter::empty()),
        }
    }

    fn symmetries(&self) -> Option<Arc<dyn Symmetries<CubeState>>> {
        self.costs.is_none().then(|| classes::symmetries() as _)
    }

    fn state_bytes(&self) -> Option<StateBytes<CubeState>> {
        Some(StateBytes::plain())
    }
}

impl Notation for Cube3 {
    fn notation(&self) -> &'static str {
        if self.has_half_turns {
            "a scramble from solved in face turns (U2 F' R), or 54 facelets in the order U R F D L B; \
             turns U R F D L B, a ' for counter-clockwise, a 2 for a half turn"
        } else {
            "a scramble from solved in face turns (U U F' R2), or 54 facelets in the order U R F D L B; \
             quarter turns U R F D L B, a ' for counter-clockwise"
        }
    }

    fn move_name(&self, action: Move) -> String {
        turns::name(turns::face_and_quarters(action))
    }

    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        self.turns(text, Held::InTheEnd)
    }

    /// A scramble from solved, or 54 facelets in the order U R F D L B.
    fn read(&self, text: &str) -> Result<Instance<CubeState>, ParseError> {
        match facelets::read(text) {
            Some(read) => read.map(|(start, read_as)| Instance { start, moves: None, read_as }),
            None => Ok(Instance::scramble(CubeState::SOLVED, self.read_moves(text)?)),
        }
    }

    fn block(&self, lines: &[&str]) -> Block {
        facelets::block(lines, 3)
    }

    /// Turns of the whole cube within a solution change what its later letters mean.
    fn parse_solution(&self, _instance: &str, solution: &str) -> Result<Vec<Move>, ParseError> {
        self.turns(&plain(solution), Held::AtTheStart)
    }

    /// 54 facelets in the order U R F D L B.
    fn format(&self, state: &CubeState) -> String {
        self.row(state).iter().map(|&colour| FACES[usize::from(colour)]).collect()
    }

    fn written(&self, moves: &[Move]) -> Vec<String> {
        if self.has_half_turns { move_names(self, moves) } else { turns::written(moves) }
    }

    fn counted(&self, moves: &[Move]) -> String {
        let counted = if self.has_half_turns { turns::counted_with_half_turns } else { turns::counted }(moves);
        let cost = |costs: &MoveCosts| format!("cost {}, {counted}", costs.shown(costs.of(moves)));
        self.costs.as_ref().map(cost).unwrap_or(counted)
    }

    fn picture(&self, state: &CubeState) -> Picture {
        Picture::Cube { size: 3, facelets: self.format(state) }
    }
}

impl Encode for Cube3 {
    /// 54 stickers, each one of 6 colours; the six centres never change.
    fn encoding(&self) -> Encoding {
        let fixed = (0..6).map(|face| 9 * face + 4).collect();
        Encoding { fixed, grid: Some(Grid { faces: 6, rows: 3, columns: 3 }), ..Encoding::row(54, 6) }
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

    fn move_table(&self) -> Option<MoveTable> {
        self.costs.is_none().then(|| turns::move_table(3, self.move_count()))
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

    /// States at each distance (Rokicki et al. 2013, table 1).
    const STATES: [usize; 6] = [1, 18, 243, 3240, 43_239, 574_908];

    #[test]
    fn the_laws_hold_with_half_turns() {
        laws::check(&Cube3HalfTurns, &STATES[..4]);
    }

    #[test]
    fn states_by_depth_are_known_with_half_turns() {
        assert_eq!(laws::states_by_depth(&Cube3HalfTurns, 5), STATES);
    }

    #[test]
    fn a_turn_of_any_angle_is_one_move() {
        let moves = Cube3HalfTurns.parse_moves("U2 R' F3 B2' L2").expect("turns");
        assert_eq!(moves.len(), 5);
        assert_eq!(move_names(&Cube3HalfTurns, &moves).join(" "), "U2 R' F' B2 L2");
        assert_eq!(Cube3HalfTurns.counted(&moves), "5 turns, 8 quarter turns");
        let quarters = Cube3.parse_moves("U2 R' F3 B2' L2").expect("turns");
        assert_eq!(turns::after(&quarters), turns::after(&moves));
    }
}
