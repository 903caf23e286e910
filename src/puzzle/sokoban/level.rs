//! What of a level never changes: walls and goals, and what follows from them.

use super::Squares;
use crate::puzzle::{Move, ParseError};
use std::collections::VecDeque;

/// The most squares that the player can reach.
pub(crate) const MOST_SQUARES: usize = 255;

/// Beyond a wall.
pub(crate) const NOWHERE: u8 = 255;

/// How far a box is from a goal that it cannot be pushed to.
pub(crate) const UNREACHABLE: u16 = u16::MAX;

/// Up, down, right, left: rows and columns.
const STEPS: [(isize, isize); 4] = [(-1, 0), (1, 0), (0, 1), (0, -1)];

/// What a level's walls and goals are.
///
/// Squares are numbered, row by row: those that the player can reach when no box is in the way. All else counts as wall.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The letters of all places, row by row, as they are without player and boxes (those that nobody can reach stay).
    pub(crate) template: Vec<u8>,
    /// The place of each square.
    pub(crate) places: Vec<u16>,
    /// The square on each side of each square, or [`NOWHERE`].
    pub(crate) sides: Vec<[u8; 4]>,
    pub(crate) goals: Squares,
    /// Squares from which a box can be pushed to some goal.
    pub(crate) live: Squares,
    /// For each goal, how many pushes a box needs from each square if nothing else is in the way.
    pub(crate) pushes: Vec<Vec<u16>>,
}

/// A level and where everything stands at its start.
pub(crate) struct Setting {
    pub(crate) level: Level,
    pub(crate) boxes: Squares,
    pub(crate) player: u8,
}

impl Level {
    /// Reads a level in XSB: `#` wall, `@` player, `$` box, `.` goal, `+` player and `*` box on a goal; floor is a
    /// space, `-` or `_`.
    pub(crate) fn read(text: &str) -> Result<Setting, ParseError> {
        let rows = rows(text)?;
        let (height, width) = (rows.len(), rows.iter().map(Vec::len).max().unwrap_or(0));
        let mut letters = vec![b' '; width * height];
        for (row, line) in rows.iter().enumerate() {
            letters[row * width..][..line.len()].copy_from_slice(line);
        }
        let mut players = (0..letters.len()).filter(|&place| matches!(letters[place], b'@' | b'+'));
        let player =
            players.next().ok_or_else(|| refuse("the level has no player: one @ (or + on a goal) is needed"))?;
        if let Some(other) = players.next() {
            return Err(refuse(format!("the level has two players, the second {}", named(other, width))));
        }
        let places = reachable(&letters, width, height, player)?;
        if places.len() > MOST_SQUARES {
            let count = places.len();
            return Err(refuse(format!("the player can reach {count} squares: expected up to {MOST_SQUARES}")));
        }
        let (mut level, square) = Level::of_places(letters.clone(), width, height, places);
        let at = |wanted: &[u8]| {
            let mut squares = Squares::default();
            let there =
                level.places.iter().enumerate().filter(|(_, place)| wanted.contains(&letters[usize::from(**place)]));
            there.for_each(|(number, _)| squares.insert(number as u8));
            squares
        };
        let (goals, boxes) = (at(b".+*"), at(b"$*"));
        level.places.iter().for_each(|&place| level.template[usize::from(place)] = b' ');
        level.set_goals(goals);
        level.check(&letters, boxes)?;
        Ok(Setting { player: square[player], boxes, level })
    }

    /// Numbers the squares; gives the number at each place too.
    fn of_places(template: Vec<u8>, width: usize, height: usize, places: Vec<u16>) -> (Level, Vec<u8>) {
        let mut square = vec![NOWHERE; template.len()];
        places.iter().enumerate().for_each(|(number, &place)| square[usize::from(place)] = number as u8);
        let side = |place: u16, step| beside(usize::from(place), step, width, height).map_or(NOWHERE, |to| square[to]);
        let sides = places.iter().map(|&place| STEPS.map(|step| side(place, step))).collect();
        let (goals, live) = (Squares::default(), Squares::default());
        (Level { width, height, template, places, sides, goals, live, pushes: Vec::new() }, square)
    }

    /// Sets the goals, and finds out what follows from them by pulling a box back from each.
    fn set_goals(&mut self, goals: Squares) {
        self.goals = goals;
        goals.iter().for_each(|goal| {
            let place = usize::from(self.places[usize::from(goal)]);
            self.template[place] = b'.';
        });
        self.pushes = goals.iter().map(|goal| self.pushes_to(goal)).collect();
        for pushes in &self.pushes {
            for (square, _) in pushes.iter().enumerate().filter(|(_, pushes)| **pushes != UNREACHABLE) {
                self.live.insert(square as u8);
            }
        }
    }

    fn pushes_to(&self, goal: u8) -> Vec<u16> {
        let mut pushes = vec![UNREACHABLE; self.places.len()];
        pushes[usize::from(goal)] = 0;
        let mut queue = VecDeque::from([goal]);
        while let Some(square) = queue.pop_front() {
            for direction in 0..4 {
                // Pulled towards `direction`, the box comes to the next square, and the player to the one behind it.
                let to = self.side(square, direction);
                if to == NOWHERE || self.side(to, direction) == NOWHERE || pushes[usize::from(to)] != UNREACHABLE {
                    continue;
                }
                pushes[usize::from(to)] = pushes[usize::from(square)] + 1;
                queue.push_back(to);
            }
        }
        pushes
    }

    /// The square beside a square, or [`NOWHERE`].
    #[inline]
    pub(crate) fn side(&self, square: u8, direction: Move) -> u8 {
        self.sides[usize::from(square)][usize::from(direction)]
    }

    /// Whether a box on this square, that is not on a goal, can never be pushed to one, or stands in a block of two by two
    /// that nothing can move any more and that is not all on goals.
    #[inline]
    pub(crate) fn is_stuck(&self, boxes: &Squares, square: u8) -> bool {
        !self.live.contains(square) || self.is_frozen(boxes, square)
    }

    fn is_frozen(&self, boxes: &Squares, square: u8) -> bool {
        const CORNERS: [(Move, Move); 4] = [(0, 2), (0, 3), (1, 2), (1, 3)];
        let blocked = |square: u8| square == NOWHERE || boxes.contains(square);
        let off_goal = |square: u8| square != NOWHERE && !self.goals.contains(square);
        CORNERS.iter().any(|&(vertical, horizontal)| {
            let (above, beside) = (self.side(square, vertical), self.side(square, horizontal));
            if !blocked(above) || !blocked(beside) {
                return false;
            }
            let around = if above == NOWHERE { beside } else { above };
            let other = if above == NOWHERE { vertical } else { horizontal };
            // With walls on both sides the corner between them does not matter.
            let corner = if around == NOWHERE { NOWHERE } else { self.side(around, other) };
            blocked(corner) && (off_goal(square) || off_goal(above) || off_goal(beside) || off_goal(corner))
        })
    }

    /// Refuses what cannot be solved, where that is seen at once.
    fn check(&self, letters: &[u8], boxes: Squares) -> Result<(), ParseError> {
        if let Some(place) = (0..letters.len()).find(|&place| letters[place] == b'$' && !self.has_square(place)) {
            return Err(refuse(format!(
                "there is no solution: the player cannot come near the box {}",
                named(place, self.width)
            )));
        }
        let (boxes_count, goals_count) = (boxes.len(), self.goals.len());
        if boxes_count > goals_count {
            return Err(refuse(format!(
                "the level has {boxes_count} boxes and {goals_count} goals that can be reached: as many goals as boxes are needed"
            )));
        }
        match boxes.iter().find(|&square| self.is_stuck(&boxes, square)) {
            Some(square) => Err(refuse(format!(
                "there is no solution: the box {} cannot be pushed to any goal",
                named(usize::from(self.places[usize::from(square)]), self.width)
            ))),
            None => Ok(()),
        }
    }

    fn has_square(&self, place: usize) -> bool {
        self.places.iter().any(|&other| usize::from(other) == place)
    }
}

/// The rows of a level, without empty ones around it; `|` ends a row too.
fn rows(text: &str) -> Result<Vec<Vec<u8>>, ParseError> {
    let lines = text.split(['\n', '|']).filter(|line| !line.starts_with(';')).map(str::trim_end);
    let mut rows: Vec<Vec<u8>> = Vec::new();
    for line in lines {
        let row: Result<Vec<u8>, ParseError> = line.chars().map(letter).collect();
        rows.push(row?);
    }
    let first = rows.iter().position(|row| !row.is_empty());
    let last = rows.iter().rposition(|row| !row.is_empty());
    match (first, last) {
        (Some(first), Some(last)) => Ok(rows[first..=last].to_vec()),
        _ => Err(refuse("there is no level: expected rows of # $ . * @ + and spaces")),
    }
}

fn letter(letter: char) -> Result<u8, ParseError> {
    match letter {
        '#' | '$' | '.' | '*' | '@' | '+' => Ok(letter as u8),
        ' ' | '-' | '_' => Ok(b' '),
        _ => Err(refuse(format!(
            "'{letter}' is not a square: expected # (wall), @ (player), $ (box), . (goal), * (box on a goal), + (player on a goal) or \
             a space (floor)"
        ))),
    }
}

/// The places that the player can reach when no box is in the way, in order.
fn reachable(letters: &[u8], width: usize, height: usize, player: usize) -> Result<Vec<u16>, ParseError> {
    if letters.len() > usize::from(u16::MAX) {
        return Err(refuse(format!("the level has {} places: expected up to 65535", letters.len())));
    }
    let mut seen = vec![false; letters.len()];
    let mut stack = vec![player];
    seen[player] = true;
    while let Some(place) = stack.pop() {
        for step in STEPS {
            let Some(to) = beside(place, step, width, height) else {
                return Err(refuse(format!(
                    "the wall is open {}: a level is walled in on all sides",
                    named(place, width)
                )));
            };
            if letters[to] != b'#' && !std::mem::replace(&mut seen[to], true) {
                stack.push(to);
            }
        }
    }
    Ok((0..letters.len()).filter(|&place| seen[place]).map(|place| place as u16).collect())
}

/// The place one step on, or `None` beyond the border.
fn beside(place: usize, step: (isize, isize), width: usize, height: usize) -> Option<usize> {
    let row = (place / width).checked_add_signed(step.0).filter(|&row| row < height)?;
    let column = (place % width).checked_add_signed(step.1).filter(|&column| column < width)?;
    Some(row * width + column)
}

fn named(place: usize, width: usize) -> String {
    format!("in row {}, column {}", place / width + 1, place % width + 1)
}

fn refuse(reason: impl Into<String>) -> ParseError {
    ParseError(reason.into())
}
