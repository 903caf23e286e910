//! The edges of a 5×5×5 whose centres are solved: the second stage of its reduction.
//!
//! A state is solved when each edge has both of its wings: outer turns alone then solve the cube, as a 3×3×3. People pair
//! wings by turning inner layers of one axis, exchanging wings with outer turns, and turning the inner layers back. Only
//! these moves are legal, so that the centres are never lost:
//!
//! - An inner layer turns while all centres are solved but for inner layers of its own axis.
//! - Where inner layers of another axis are turned, a face has to be turned back before another such face or an inner layer
//!   turns.
//!
//! A state has 24 cells for the wings: the placement, of 24, that the wing's midge (the middle of its edge) would have beside
//! it. Then, for each layer, the quarters by which it is turned. Where the edges are, and what the corners do, is left to the
//! 3×3×3.

use super::centres::SIZE;
use super::origins;
use crate::puzzle::cube_n::geometry::{Turn, moved};
use crate::puzzle::cube_n::{CubeN, Metric};
use crate::puzzle::cube3::facelets;
use crate::puzzle::notation::{bail_parse, ensure_parse};
use crate::puzzle::rules::is_odd;
use crate::puzzle::{Block, Encode, Encoding, Instance, Move, Notation, ParseError, Rules, StateBytes, replay};

/// The name of the puzzle.
pub const NAME: &str = "cube5:edges";

/// Places of wings, and ways to place a midge.
const WINGS: usize = 24;

/// Layers that turn: three axes for each of the layers 1, 2, 4 and 5.
const LAYERS: usize = 12;
const AXES: usize = 3;

/// The inner layers.
const INNER: std::ops::Range<usize> = 3..9;

/// For each wing its midge, then the quarters of each layer.
pub type EdgeState = [u8; WINGS + LAYERS];

/// The effect of a move.
#[derive(Debug, Clone)]
struct EdgeTurn {
    layer: usize,
    quarters: u8,
    /// For each place of a wing, the place from which its wing comes.
    wings: [u8; WINGS],
    /// For each placement of a midge, the one after the move.
    midges: [u8; WINGS],
}

/// The edges of the 5×5×5.
#[derive(Debug, Clone)]
pub struct Edges {
    cube: CubeN,
    /// The stickers of each wing, and of the midge beside it.
    wings: Vec<Vec<u16>>,
    midges: Vec<Vec<u16>>,
    turns: Vec<EdgeTurn>,
}

impl Default for Edges {
    fn default() -> Self {
        let cube = CubeN::new(SIZE, Metric::Centres);
        let wings = cube.wings().to_vec();
        let faces = |piece: &[u16]| -> Vec<usize> {
            piece.iter().map(|&sticker| usize::from(sticker) / (SIZE * SIZE)).collect()
        };
        let others = || cube.kinds.iter().filter(|kind| kind[0].len() == 2 && **kind != wings).flatten();
        let beside =
            |wing: &Vec<u16>| others().find(|midge| faces(midge) == faces(wing)).expect("an edge has one").clone();
        let midges: Vec<_> = wings.iter().map(beside).collect();
        let turn = |(turn, (_, from)): (&Turn, (String, Vec<u16>))| {
            let layer = turn.layers.trailing_zeros() as usize;
            let layer = AXES * (layer - usize::from(2 * layer > SIZE)) + turn.face;
            let wings = origins(&wings, &from);
            let mut to = [0; WINGS];
            origins(&midges, &from).iter().zip(0..).for_each(|(&from, place)| to[usize::from(from)] = place);
            EdgeTurn { layer, quarters: turn.quarters, wings: std::array::from_fn(|i| wings[i] as u8), midges: to }
        };
        let turns = cube.turns.iter().zip(cube.named_turns()).take(cube.move_count).map(turn).collect();
        Edges { cube, wings, midges, turns }
    }
}

impl Edges {
    /// The solved state.
    const GOAL: EdgeState = {
        let mut goal = [0; WINGS + LAYERS];
        let mut wing = 0;
        while wing < WINGS {
            goal[wing] = wing as u8;
            wing += 1;
        }
        goal
    };

    /// The state of a cube with some colours, whose centres are solved.
    fn of_colours(&self, colours: &[u8]) -> Result<EdgeState, ParseError> {
        let centres = self.cube.centres(colours);
        let goal = self.cube.symbols(&self.cube.goal());
        let are_solved = centres[..goal.len() - 2] == goal[..goal.len() - 2];
        ensure_parse!(are_solved, "the centres of this cube are not solved: expected faces with centres of one colour");
        let mut state = Self::GOAL;
        for (cell, wing) in state.iter_mut().zip(&self.wings) {
            let midge = self.midges.iter().position(|midge| moved(colours, midge) == moved(colours, wing));
            *cell = midge.unwrap_or(0) as u8;
        }
        Self::checked(state)
    }

    /// A state, if it can be reached.
    fn checked(state: EdgeState) -> Result<EdgeState, ParseError> {
        let (wings, quarters) = state.split_at(WINGS);
        let has_each = (0..WINGS as u8).all(|wing| wings.contains(&wing));
        ensure_parse!(has_each, "this state does not have each of the letters a to x once");
        let turned = || (0..LAYERS).filter(|&layer| quarters[layer] > 0);
        let axis = turned().find(|layer| INNER.contains(layer)).map(|layer| layer % AXES);
        let is_on_axis = |layer: usize| axis == Some(layer % AXES);
        let faces = turned().filter(|layer| !INNER.contains(layer)).count();
        let is_kept =
            faces <= usize::from(axis.is_some()) && turned().all(|layer| INNER.contains(&layer) == is_on_axis(layer));
        ensure_parse!(is_kept, "no legal moves leave the layers turned like this");
        if quarters[INNER].iter().sum::<u8>() % 2 != u8::from(is_odd(wings)) {
            bail_parse!(
                "the wings of this cube cannot be paired: inner layers have to turn by an odd number of quarters"
            );
        }
        Ok(state)
    }

    /// Reads 24 letters from `a` to `x` and 12 quarters from 0 to 3; `None` if the text is something else.
    fn read_symbols(text: &str) -> Option<EdgeState> {
        let cells: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let state: EdgeState = cells.try_into().ok()?;
        let (wings, quarters) = state.split_at(WINGS);
        let are_symbols = wings.iter().all(|cell| (b'a'..=b'x').contains(cell))
            && quarters.iter().all(|cell| (b'0'..=b'3').contains(cell));
        are_symbols.then(|| std::array::from_fn(|i| state[i] - if i < WINGS { b'a' } else { b'0' }))
    }
}

impl Rules for Edges {
    type State = EdgeState;

    fn name(&self) -> String {
        NAME.into()
    }

    fn move_count(&self) -> usize {
        self.turns.len()
    }

    #[inline]
    fn apply(&self, state: &EdgeState, action: Move) -> Option<EdgeState> {
        let turn = &self.turns[usize::from(action)];
        let quarters = &state[WINGS..];
        let is_inner = INNER.contains(&turn.layer);
        let is_mixed = INNER.into_iter().any(|layer| layer % AXES != turn.layer % AXES && quarters[layer] > 0);
        let mut outer = (0..INNER.start).chain(INNER.end..LAYERS);
        let waits = outer.any(|layer| layer != turn.layer && quarters[layer] > 0);
        if is_inner && is_mixed || (is_inner || is_mixed) && waits {
            return None;
        }
        let mut next = *state;
        for (cell, &from) in next.iter_mut().zip(&turn.wings) {
            *cell = turn.midges[usize::from(state[usize::from(from)])];
        }
        if is_inner || is_mixed {
            let quarters = &mut next[WINGS + turn.layer];
            *quarters = (*quarters + turn.quarters) % 4;
        }
        Some(next)
    }

    #[inline]
    fn is_goal(&self, state: &EdgeState) -> bool {
        *state == Self::GOAL
    }

    fn goals(&self) -> Vec<EdgeState> {
        vec![Self::GOAL]
    }

    fn inverse(&self, action: Move) -> Move {
        action ^ 1
    }

    /// Twice the moves that most states need.
    fn default_depth(&self) -> u32 {
        60
    }

    /// The quarter turns of each layer, for turns about one axis of which at most one is outer; of two outer ones, only one
    /// order may be legal.
    fn effect(&self, moves: &[Move]) -> Option<Vec<u8>> {
        let turns = || moves.iter().map(|&action| &self.turns[usize::from(action)]);
        let are_near = |layer, other: usize| {
            layer % AXES == other % AXES && (layer == other || [layer, other].iter().any(|layer| INNER.contains(layer)))
        };
        let mut quarters = vec![0; LAYERS];
        for turn in turns() {
            // From 4 to 7 for a layer that turns at all.
            quarters[turn.layer] = 4 + (quarters[turn.layer] + turn.quarters) % 4;
        }
        turns().all(|one| turns().all(|other| are_near(one.layer, other.layer))).then_some(quarters)
    }

    fn state_bytes(&self) -> Option<StateBytes<EdgeState>> {
        Some(StateBytes::plain())
    }
}

impl Notation for Edges {
    fn notation(&self) -> &'static str {
        "a scramble from solved in turns that keep the centres, the facelets of a 5×5×5 with solved centres, or the 36 symbols of \
         a state"
    }

    fn move_name(&self, action: Move) -> String {
        self.cube.turns[usize::from(action)].name(SIZE)
    }

    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        self.cube.read_moves(text)
    }

    fn read(&self, text: &str) -> Result<Instance<EdgeState>, ParseError> {
        if let Some(state) = Self::read_symbols(text) {
            return Self::checked(state).map(Instance::from);
        }
        let moves = self.read_moves(text).ok().filter(|moves| replay(self, &Self::GOAL, moves).is_ok());
        if let Some(moves) = moves.filter(|_| self.cube.read_facelets(text).is_none()) {
            return Ok(Instance::scramble(Self::GOAL, moves));
        }
        let (colours, read_as) = self.cube.hand(text)?;
        Ok(Instance { start: self.of_colours(&colours)?, moves: None, read_as })
    }

    fn block(&self, lines: &[&str]) -> Block {
        facelets::block(lines, SIZE)
    }

    fn format(&self, state: &EdgeState) -> String {
        let symbol = |(place, &cell): (usize, &u8)| char::from(cell + if place < WINGS { b'a' } else { b'0' });
        state.iter().enumerate().map(symbol).collect()
    }
}

impl Encode for Edges {
    /// A cell for the midge of each wing; then one for each two layers that are as far from the middle, with four times the
    /// quarters of the first and those of the second.
    fn encoding(&self) -> Encoding {
        Encoding::row(WINGS + LAYERS / 2, WINGS)
    }

    fn encode(&self, state: &EdgeState, row: &mut [u8]) {
        let (wings, quarters) = state.split_at(WINGS);
        row[..WINGS].copy_from_slice(wings);
        for (layer, cell) in row[WINGS..].iter_mut().enumerate() {
            let opposite = LAYERS - AXES * (1 + layer / AXES) + layer % AXES;
            *cell = 4 * quarters[layer] + quarters[opposite];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::permutation::{Description, Permutation};
    use crate::random::{below, generator};

    #[test]
    fn states_are_those_of_the_cube() {
        let edges = Edges::default();
        let cube = Permutation::<256>::new(Description::of_cube(CubeN::new(SIZE, Metric::Oriented)));
        let centres = Permutation::<64>::new(Description::of_cube(CubeN::new(SIZE, Metric::Centres)));
        let mut generator = generator(5, 0);
        let mut compared = 0;
        for _ in 0..40 {
            let (mut state, mut moves) = (Edges::GOAL, Vec::new());
            for _ in 0..60 {
                // Half of the moves turn layers back, if they can.
                let mut legal: Vec<_> = edges.children(&state).collect();
                let turned = |state: &EdgeState| state[WINGS..].iter().filter(|&&quarters| quarters > 0).count();
                if below(&mut generator, 2) == 0 {
                    let least = legal.iter().map(|(_, child)| turned(child)).min();
                    legal.retain(|(_, child)| Some(turned(child)) == least);
                }
                let (action, next) = legal[below(&mut generator, legal.len())];
                assert_eq!(edges.apply(&next, edges.inverse(action)), Some(state));
                moves.push(action);
                state = next;
                let names = crate::puzzle::move_names(&edges, &moves).join(" ");
                let facelets = cube.format(&cube.parse(&names).expect("a scramble"));
                assert_eq!(edges.parse(&names), Ok(state), "{names}");
                assert_eq!(edges.parse(&edges.format(&state)), Ok(state));
                // Between two stages, the facelets are read.
                let is_between = state[WINGS..].iter().all(|&quarters| quarters == 0);
                assert_eq!(centres.is_goal(&centres.parse(&facelets).expect("a cube")), is_between, "{names}");
                if is_between {
                    assert_eq!(edges.parse(&facelets), Ok(state), "{names}");
                    compared += usize::from(!edges.is_goal(&state));
                } else {
                    assert!(edges.parse(&facelets).is_err());
                }
            }
        }
        assert!(compared > 100, "{compared}");
    }

    #[test]
    fn moves_that_lose_the_centres_are_refused() {
        let edges = Edges::default();
        for (scramble, is_solved) in [
            ("", true),
            ("R U2 F' L D B", true),
            ("2R U R U' 2R'", false),
            ("2R 2R 2R 2R", true),
            ("2U R U R' F' U' F 2U'", false),
        ] {
            let state = edges.parse(scramble).expect(scramble);
            assert_eq!(edges.is_goal(&state), is_solved, "{scramble}");
        }
        for scramble in ["2R 2U", "2U R 2D", "2U R F", "M"] {
            assert!(edges.scramble(scramble).is_none(), "{scramble}");
            assert!(edges.parse(scramble).is_err(), "{scramble}");
        }
        let same = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|names| edges.parse_moves(names).expect(names));
            edges.effect(&one).is_some_and(|effect| edges.effect(&other) == Some(effect))
        };
        assert!(same("R 2R", "2R R") && same("R R", "R' R'") && same("2R 2L", "2L 2R"));
        // After `2F R`, `R' L` is legal and `L R'` is not.
        assert!(!same("R L", "L R") && !same("R 2R", "R") && !same("R F", "F R"));
        for (state, reason) in [
            ("bacdefghijklmnopqrstuvwx000000000000", "odd"),
            ("aacdefghijklmnopqrstuvwx000000000000", "once"),
            ("abcdefghijklmnopqrstuvwx010000000000", "legal"),
            ("abcdefghijklmnopqrstuvwx000110000000", "legal"),
        ] {
            assert!(edges.parse(state).is_err_and(|error| error.0.contains(reason)), "{state}");
        }
    }
}
