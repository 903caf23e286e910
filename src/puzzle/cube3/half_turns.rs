//! The cube with half turns as moves.

use super::{ALL_TURNS, Cube3, CubeState, Facelets, QUARTER_TURNS, notation, symmetry, turns};
use crate::puzzle::{
    Encoding, Move, ParseError, Picture, Puzzle, Reversible, Scramble, StateBytes, Style, SymmetricImage, Symmetries,
};
use std::sync::Arc;

/// The puzzle `cube3:htm`: the same cube, and a turn of a face by 90° or 180° costs 1 (the half-turn metric).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cube3HalfTurns;

impl Puzzle for Cube3HalfTurns {
    type State = CubeState;

    fn name(&self) -> String {
        "cube3:htm".into()
    }

    fn move_count(&self) -> usize {
        ALL_TURNS
    }

    fn move_name(&self, action: Move) -> String {
        turns::name(turns::face_and_quarters(action))
    }

    #[inline]
    fn apply(&self, state: &CubeState, action: Move) -> Option<CubeState> {
        Some(state.turned(action))
    }

    #[inline]
    fn is_goal(&self, state: &CubeState) -> bool {
        Cube3.is_goal(state)
    }

    /// A scramble from solved, or 54 facelets in the order U R F D L B.
    fn parse(&self, text: &str) -> Result<CubeState, ParseError> {
        Cube3.parse(text)
    }

    fn parse_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        Ok(notation::parse(text, 3)?.into_iter().filter_map(turns::Turn::one_move).collect())
    }

    fn format(&self, state: &CubeState) -> String {
        Cube3.format(state)
    }

    fn draw(&self, state: &CubeState, style: Style) -> String {
        Cube3.draw(state, style)
    }

    fn picture(&self, state: &CubeState) -> Picture {
        Cube3.picture(state)
    }

    fn scramble(&self, text: &str) -> Option<Scramble<CubeState>> {
        let moves = if Facelets::read(text).is_some() { return None } else { self.parse_moves(text).ok()? };
        Some(Scramble::play(self, CubeState::SOLVED, &moves))
    }

    fn encoding(&self) -> Encoding {
        Cube3.encoding()
    }

    #[inline]
    fn encode(&self, state: &CubeState, row: &mut [u8]) {
        Cube3.encode(state, row);
    }

    fn notation(&self) -> &'static str {
        "a scramble from solved in face turns (U2 F' R), or 54 facelets in the order U R F D L B; \
         turns U R F D L B, a ' for counter-clockwise, a 2 for a half turn"
    }

    fn symmetric_images(&self, state: &CubeState) -> Vec<SymmetricImage<CubeState>> {
        symmetry::images(state, ALL_TURNS)
    }

    fn symmetries(&self) -> Option<Arc<dyn Symmetries<CubeState>>> {
        Cube3.symmetries()
    }

    /// Turns of a face make one turn, and turns of opposite faces are the same in either order.
    fn always_same(&self, one: &[Move], other: &[Move]) -> bool {
        turns::after(one) == turns::after(other)
    }

    fn counted(&self, moves: &[Move]) -> String {
        turns::counted_with_half_turns(moves)
    }

    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        Some(StateBytes::plain())
    }
}

impl Reversible for Cube3HalfTurns {
    fn goals(&self) -> Vec<CubeState> {
        Cube3.goals()
    }

    #[inline]
    fn inverse(&self, action: Move) -> Move {
        if usize::from(action) < QUARTER_TURNS { action ^ 1 } else { action }
    }

    /// 20: no position needs more turns (Rokicki, Kociemba, Davidson and Dethridge, 2013).
    fn default_depth(&self) -> u32 {
        20
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::laws;

    /// States at each distance (Rokicki et al. 2013, table 1).
    const STATES: [usize; 6] = [1, 18, 243, 3240, 43_239, 574_908];

    #[test]
    fn the_laws_hold() {
        laws::check(&Cube3HalfTurns, &STATES[..4]);
    }

    #[test]
    fn states_by_depth_are_known() {
        assert_eq!(laws::states_by_depth(&Cube3HalfTurns, 5), STATES);
    }

    #[test]
    fn a_turn_of_any_angle_is_one_move() {
        let moves = Cube3HalfTurns.parse_moves("U2 R' F3 B2' L2").expect("turns");
        assert_eq!(moves.len(), 5);
        assert_eq!(crate::puzzle::move_names(&Cube3HalfTurns, &moves).join(" "), "U2 R' F' B2 L2");
        assert_eq!(Cube3HalfTurns.counted(&moves), "5 turns, 8 quarter turns");
        let quarters = Cube3.parse_moves("U2 R' F3 B2' L2").expect("turns");
        assert_eq!(turns::after(&quarters), turns::after(&moves));
    }
}
