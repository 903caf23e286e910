//! A cube in the hand, however it is held: its scrambles, facelets and solutions.

use super::geometry::{Frame, Rotation, Turn, all, moved, stickers};
use super::{CubeN, Metric};
use crate::puzzle::cube3::FACES;
use crate::puzzle::cube3::facelets::{self, ReadColours};
use crate::puzzle::cube3::notation::{WrittenTurn, written_turns};
use crate::puzzle::notation::bail_parse;
use crate::puzzle::{Move, ParseError};
use std::collections::HashMap;

impl CubeN {
    /// The turn with fewer layers that is the same up to a turn of the whole cube, whose quarters follow.
    fn of_fewer_layers(&self, turn: Turn) -> (Turn, u8) {
        let is_most = 2 * turn.layers.count_ones() as usize > self.size;
        if is_most && !self.is_still() { (turn.of_others(self.size), turn.quarters) } else { (turn, 0) }
    }

    /// The frame after the whole cube is turned by quarters about the axis of U, R or F.
    fn rotated(&self, frame: Frame, face: usize, quarters: u8) -> Frame {
        // A quarter turn keeps its face, and takes one neighbour to the next.
        let [from, to] = [[2, 4], [2, 0], [0, 1]][face];
        let is_quarter = |rotation: &&Rotation| rotation.frame[face] == face && rotation.frame[from] == to;
        let rotation = self.rotations.iter().find(is_quarter).expect("every quarter turn is a way to turn the cube");
        (0..quarters).fold(frame, |frame, _| rotation.frame.map(|face| frame[face]))
    }

    /// Moves that make a turn of the held cube, if there are such, and the quarter turns of the whole cube after them.
    fn moves_of(&self, turn: Turn) -> (Option<Vec<Move>>, u8) {
        if self.metric == Metric::OuterBlock {
            // Each edge of a stretch of layers is a block from the face to there.
            let is_in = |layer: usize| layer < self.size && turn.layers >> layer & 1 == 1;
            let block = |end: usize| {
                let quarters = match (is_in(end - 1), is_in(end)) {
                    (true, false) => turn.quarters,
                    (false, true) => (4 - turn.quarters) % 4,
                    _ => return None,
                };
                self.index(Turn { layers: all(end), quarters, ..turn })
            };
            let rest = if is_in(self.size - 1) { turn.quarters } else { 0 };
            return (Some((1..self.size).filter_map(block).collect()), rest);
        }
        let (turn, mut rest) = self.of_fewer_layers(turn);
        let still = |turn: Turn| {
            let (turn, whole) = self.with_dbl_still(turn);
            rest += whole;
            self.index(turn)
        };
        (self.in_single_turns(turn).0.into_iter().map(still).collect(), rest % 4)
    }

    /// Reads the turns of a text: as people write them, or as contests do, `f0 -r1.d2` or `f0 r1_inv d2`.
    fn turns(&self, text: &str) -> Result<Vec<Turn>, ParseError> {
        let written = match self.contest_turns(text)? {
            Some(turns) => turns,
            None => written_turns(text, self.size)?,
        };
        let turn = |turn: &WrittenTurn| Turn::new(self.size, turn.face, turn.layers, turn.quarters);
        Ok(written.iter().map(turn).filter(|turn| turn.quarters > 0).collect())
    }

    /// Reads moves; `frame` gives the hand's face for each face of the held cube.
    fn read_in(&self, mut frame: Frame, text: &str) -> Result<Vec<Move>, ParseError> {
        let mut moves = Vec::new();
        for turn in self.turns(text)? {
            let face = frame.iter().position(|&face| face == turn.face).expect("a frame has every face");
            let held = Turn::new(self.size, face, turn.layers, turn.quarters as i8);
            let (Some(made), rest) = self.moves_of(held) else {
                let name = held.name(self.size);
                bail_parse!("'{name}' turns the middle layer, and that is not a move of this puzzle");
            };
            moves.extend(made);
            frame = self.rotated(frame, held.face, rest);
        }
        Ok(moves)
    }

    /// Reads moves by name, of a cube whose corner DBL is home.
    ///
    /// # Errors
    /// Names the word that is refused, and what was expected.
    pub(in crate::puzzle) fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        self.read_in(self.rotations[0].frame, text)
    }

    /// The cube in the hand: after a scramble from solved, or with the given facelets; and how facelets were read.
    ///
    /// # Errors
    /// If the text is neither, or no cube looks like this.
    pub(in crate::puzzle) fn hand(&self, text: &str) -> Result<ReadColours, ParseError> {
        if let Some(facelets) = self.read_facelets(text) {
            return facelets;
        }
        let places = stickers(self.size);
        let mut permutations: HashMap<Turn, Vec<u16>> = HashMap::new();
        let mut colours = self.goal();
        for turn in self.turns(text)? {
            let from = permutations.entry(turn).or_insert_with(|| turn.permutation(&places));
            colours = moved(&colours, from);
        }
        Ok((colours, None))
    }

    /// The cube before the moves of a scramble, and the moves, named for the cube as it is held in the end; `None` if the text
    /// is not a scramble.
    pub(in crate::puzzle) fn scramble(&self, text: &str) -> Option<(Vec<u8>, Vec<Move>)> {
        if self.read_facelets(text).is_some() {
            return None;
        }
        // For each face, the face that it is in the end.
        let mut frame = self.rotations[0].frame;
        let mut moves = Vec::new();
        for turn in self.turns(text).ok()?.into_iter().rev() {
            let (turns, rest) = self.in_single_turns(turn);
            frame = self.rotated(frame, turn.face, rest);
            for turn in turns.into_iter().rev() {
                moves.push(self.index(Turn::new(self.size, frame[turn.face], turn.layers, turn.quarters as i8))?);
            }
        }
        moves.reverse();
        let rotation = self.rotations.iter().find(|rotation| rotation.frame == frame)?;
        Some((moved(&self.goal(), &rotation.from), moves))
    }

    /// A turn of the cube in the hand as turns of the metric, and the quarters by which the whole cube is turned after them.
    fn in_single_turns(&self, turn: Turn) -> (Vec<Turn>, u8) {
        if self.metric == Metric::OuterBlock {
            let (moves, rest) = self.moves_of(turn);
            return (moves.iter().flatten().map(|&action| self.turns[usize::from(action)]).collect(), rest);
        }
        if turn.layers == all(self.size) && !self.is_still() {
            return (Vec::new(), turn.quarters);
        }
        let layers = (0..self.size).filter(|layer| turn.layers >> layer & 1 == 1);
        let each = |layer: usize| {
            let turn = Turn { layers: 1 << layer, ..turn };
            let is_counted = self.index(turn).is_some();
            let count = if is_counted { 1 } else { 2 };
            std::iter::repeat_n(if is_counted { turn } else { Turn { quarters: 1, ..turn } }, count)
        };
        (layers.flat_map(each).collect(), 0)
    }

    /// Reads facelets; `None` if the text has none.
    pub(in crate::puzzle) fn read_facelets(&self, text: &str) -> Option<Result<ReadColours, ParseError>> {
        let goal = self.goal();
        let check = |colours: &[u8]| {
            for kind in &self.kinds {
                let pieces = |colours: &[u8]| kind.iter().map(|stickers| moved(colours, stickers)).collect::<Vec<_>>();
                let (found, expected) = (pieces(colours), pieces(&goal));
                let count = |all: &[Vec<u8>], piece: &Vec<u8>| all.iter().filter(|other| *other == piece).count();
                let wrong = found.iter().filter(|piece| count(&found, piece) > count(&expected, piece));
                if let Some(wrong) = wrong.min() {
                    let name = ["centre", "edge", "corner"][wrong.len() - 1];
                    let letters: String = wrong.iter().map(|&colour| FACES[usize::from(colour)]).collect();
                    let why = if expected.contains(wrong) { "there too often" } else { "no real piece" };
                    return Err(format!("the {name} {letters} is {why}"));
                }
            }
            Ok(())
        };
        let contest = self.contest_facelets(text);
        if let Some(colours) = contest.clone().filter(|_| self.is_still()) {
            let letters: Vec<char> = colours.iter().map(|&colour| FACES[usize::from(colour)]).collect();
            let read = facelets::colours_of(&letters, self.size, true, check);
            return Some(read.map(|colours| (colours, None)).map_err(facelets::impossible));
        }
        let read = facelets::read_colours(text, self.size, self.is_still(), check)?;
        Some(read.map_err(|ParseError(refusal)| match contest.filter(|colours| check(colours).is_ok()) {
            Some(_) => {
                ParseError(format!("{refusal}. If it is a state of a contest, cube{}:oriented reads it", self.size))
            }
            None => ParseError(refusal),
        }))
    }

    /// The same cube held so that the corner DBL is home, and for each face of it the face of the hand.
    pub(in crate::puzzle) fn held(&self, hand: &[u8]) -> (Vec<u8>, Frame) {
        let identity = (hand.to_vec(), self.rotations[0].frame);
        if self.is_still() {
            return identity;
        }
        let each = self.size * self.size;
        // DBL has the sticker of D at the lower left, that of L there, too, and that of B at the lower right.
        let dbl = [3, 4, 5].map(|face| face * each + each - if face == 5 { 1 } else { self.size });
        let home = |rotation: &&Rotation| {
            dbl.iter().zip(3..).all(|(&sticker, face)| hand[usize::from(rotation.from[sticker])] == face)
        };
        let Some(rotation) = self.rotations.iter().find(home) else { return identity };
        let mut frame = [0; 6];
        (0..6).for_each(|face| frame[rotation.frame[face]] = face);
        (moved(hand, &rotation.from), frame)
    }

    /// How a text was read if there are several ways: the order of faces, or turns that people and contests mean differently.
    pub(in crate::puzzle) fn read_as(&self, text: &str) -> Option<String> {
        if let Some(facelets) = self.read_facelets(text) {
            return facelets.ok()?.1;
        }
        let [contest, people] = [self.contest_turns(text).ok()??, written_turns(text, self.size).ok()?];
        let (word, turn) = (text.split([' ', '.', ',']).next()?, contest.first().filter(|_| contest != people)?);
        let name = Turn::new(self.size, turn.face, turn.layers, turn.quarters).name(self.size);
        Some(format!("moves with the names of contests: {word} is {name}"))
    }

    /// Moves as turns of the cube in the hand, each of as few layers as possible.
    pub(in crate::puzzle) fn in_hand(&self, hand: &[u8], moves: &[Move]) -> Vec<Move> {
        let (_, mut frame) = self.held(hand);
        let named = |&action: &Move| {
            let (turn, rest) = self.of_fewer_layers(self.turns[usize::from(action)]);
            let in_hand = Turn::new(self.size, frame[turn.face], turn.layers, turn.quarters as i8);
            frame = self.rotated(frame, turn.face, (4 - rest) % 4);
            self.index(in_hand).unwrap_or(action)
        };
        moves.iter().map(named).collect()
    }

    /// Reads a solution that is written for the cube in the hand.
    ///
    /// # Errors
    /// Names the word that is refused, and what was expected.
    pub(in crate::puzzle) fn parse_solution(&self, hand: &[u8], text: &str) -> Result<Vec<Move>, ParseError> {
        self.read_in(self.held(hand).1, text)
    }
}
