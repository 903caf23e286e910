//! The fixed parts of a level: walls, goals, and the deadlock squares and distances that follow from them.

use super::Squares;
use crate::puzzle::notation::{bail_parse, ensure_parse};
use crate::puzzle::{Move, ParseError};
use std::collections::VecDeque;
use std::iter::Peekable;
use std::str::Chars;

/// The most squares that the player can reach.
pub(crate) const MAX_SQUARES: usize = 255;

/// The square beyond a wall.
pub(crate) const NOWHERE: u8 = 255;

/// The distance of a box from a goal that it cannot be pushed to.
pub(crate) const UNREACHABLE: u16 = u16::MAX;

/// Up, down, right, left: rows and columns.
const STEPS: [(isize, isize); 4] = [(-1, 0), (1, 0), (0, 1), (0, -1)];

/// A level without player and boxes.
///
/// Its squares are the places that the player can reach when no box is in the way, row by row. All other places count as walls.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The letters of all places, row by row, without player and boxes. Places that nobody can reach keep their letters.
    pub(crate) template: Vec<u8>,
    /// The place of each square.
    pub(crate) places: Vec<u16>,
    /// The square on each side of each square, or [`NOWHERE`].
    pub(crate) sides: Vec<[u8; 4]>,
    pub(crate) goals: Squares,
    /// Squares from which a box can be pushed to some goal.
    pub(crate) live: Squares,
    /// For each goal, the pushes that a box needs from each square if nothing else is in the way.
    pub(crate) pushes: Vec<Vec<u16>>,
}

impl Level {
    /// Reads a level in XSB: `#` wall, `@` player, `$` box, `.` goal, `+` player and `*` box on a goal; floor is a
    /// space, `-` or `_`. Returns the level, its boxes and its player.
    pub(crate) fn read(text: &str) -> Result<(Level, Squares, u8), ParseError> {
        let rows = rows(text)?;
        let (height, width) = (rows.len(), rows.iter().map(Vec::len).max().unwrap_or(0));
        let (count, most) = (width * height, usize::from(u16::MAX));
        ensure_parse!(count <= most, "the level has {count} places: expected up to {most}");
        let mut letters = vec![b' '; width * height];
        for (row, line) in rows.iter().enumerate() {
            letters[row * width..][..line.len()].copy_from_slice(line);
        }
        let mut players = (0..letters.len()).filter(|&place| matches!(letters[place], b'@' | b'+'));
        let Some(player) = players.next() else {
            bail_parse!("the level has no player: one @ (or + on a goal) is needed");
        };
        if let Some(other) = players.next() {
            bail_parse!("the level has two players, the second {}", named(other, width));
        }
        let places = reachable(&letters, width, height, player)?;
        let count = places.len();
        ensure_parse!(count <= MAX_SQUARES, "the player can reach {count} squares: expected up to {MAX_SQUARES}");
        let at = |kinds: &[u8]| {
            let mut squares = Squares::default();
            let is_kind = |place: u16| kinds.contains(&letters[usize::from(place)]);
            (0..places.len()).filter(|&i| is_kind(places[i])).for_each(|i| squares.insert(i as u8));
            squares
        };
        let (goals, boxes) = (at(b".+*"), at(b"$*"));
        let player = places.iter().position(|&place| usize::from(place) == player);
        let player = player.expect("the player can reach its own square") as u8;
        let level = Level::new(letters.clone(), width, height, places, goals);
        level.check(&letters, boxes)?;
        Ok((level, boxes, player))
    }

    /// A level with these squares and goals. Pulls a box back from each goal to find pushes and live squares.
    fn new(mut template: Vec<u8>, width: usize, height: usize, places: Vec<u16>, goals: Squares) -> Level {
        let mut square = vec![NOWHERE; template.len()];
        for (i, &place) in places.iter().enumerate() {
            square[usize::from(place)] = i as u8;
            template[usize::from(place)] = if goals.contains(i as u8) { b'.' } else { b' ' };
        }
        let side = |place: u16, step| beside(usize::from(place), step, width, height).map_or(NOWHERE, |to| square[to]);
        let sides = places.iter().map(|&place| STEPS.map(|step| side(place, step))).collect();
        let live = Squares::default();
        let mut level = Level { width, height, template, places, sides, goals, live, pushes: Vec::new() };
        level.pushes = goals.iter().map(|goal| level.pushes_to(goal)).collect();
        let is_live = |&square: &usize| level.pushes.iter().any(|pushes| pushes[square] != UNREACHABLE);
        (0..level.places.len()).filter(is_live).for_each(|square| level.live.insert(square as u8));
        level
    }

    /// The pushes that a box needs from each square to a goal.
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

    /// Whether a box on this square can never be pushed to a goal, or stands in a frozen block of two by two that is not all on
    /// goals.
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
            // With walls on both sides the corner between them does not matter.
            let corner = match (above, beside) {
                (NOWHERE, NOWHERE) => NOWHERE,
                (NOWHERE, _) => self.side(beside, vertical),
                _ => self.side(above, horizontal),
            };
            blocked(corner) && (off_goal(square) || off_goal(above) || off_goal(beside) || off_goal(corner))
        })
    }

    /// Refuses a level that is plainly unsolvable.
    fn check(&self, letters: &[u8], boxes: Squares) -> Result<(), ParseError> {
        let has_square = |place: usize| self.places.iter().any(|&other| usize::from(other) == place);
        if let Some(place) = (0..letters.len()).find(|&place| letters[place] == b'$' && !has_square(place)) {
            let place = named(place, self.width);
            bail_parse!("there is no solution: the player cannot come near the box {place}");
        }
        let (boxes_count, goals_count) = (boxes.len(), self.goals.len());
        let has_box = letters.iter().any(|letter| b"$*".contains(letter));
        ensure_parse!(has_box, "the level has no box ($, or * on a goal)");
        ensure_parse!(
            boxes_count <= goals_count,
            "the level has {boxes_count} boxes and {goals_count} goals that can be reached: as many goals as boxes are needed"
        );
        if let Some(square) = boxes.iter().find(|&square| self.is_stuck(&boxes, square)) {
            let place = named(self.places[usize::from(square)].into(), self.width);
            bail_parse!("there is no solution: the box {place} cannot be pushed to any goal");
        }
        Ok(())
    }
}

/// Whether a line is a row of a level, also of one that holds a wrong square: not a comment, a name, or another text.
pub(super) fn is_row(line: &str) -> bool {
    let mut letters = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '(').chars();
    letters.next().is_some_and(|first| letter(first).is_ok()) && line.contains(['#', '█'])
}

/// The rows of a level, without empty rows around it. `|` ends a row too, and a number repeats the square or the group in
/// brackets after it: `4#|#.@#` is run-length encoding. Lines that are not rows, as names are, are passed over.
fn rows(text: &str) -> Result<Vec<Vec<u8>>, ParseError> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(';')).collect();
    let is_named = lines.iter().any(|line| is_row(line));
    let lines = lines.into_iter().filter(|line| !is_named || is_row(line) || line.trim().is_empty());
    let rows: Vec<Vec<u8>> = lines.flat_map(|line| line.split('|')).map(row).collect::<Result<_, _>>()?;
    let first = rows.iter().position(|row| !row.is_empty());
    let last = rows.iter().rposition(|row| !row.is_empty());
    match (first, last) {
        (Some(first), Some(last)) => Ok(rows[first..=last].to_vec()),
        _ => bail_parse!("there is no level: expected rows of # $ . * @ + and spaces"),
    }
}

/// The squares of a row, without trailing spaces.
fn row(text: &str) -> Result<Vec<u8>, ParseError> {
    let mut row = squares(&mut text.trim_end().chars().peekable(), 0)?;
    row.truncate(row.iter().rposition(|&square| square != b' ').map_or(0, |last| last + 1));
    Ok(row)
}

/// Reads squares to the end of the text, or of the group of this depth.
fn squares(text: &mut Peekable<Chars<'_>>, depth: usize) -> Result<Vec<u8>, ParseError> {
    let mut squares_of_row = Vec::new();
    while let Some(next) = text.next() {
        let mut count = next.to_digit(10).map(|digit| digit as usize);
        while let (Some(tens), Some(digit)) = (count, text.peek().and_then(|c| c.to_digit(10))) {
            count = Some((10 * tens + digit as usize).min(usize::from(u16::MAX) + 1));
            text.next();
        }
        let repeated = match if count.is_some() { text.next() } else { Some(next) } {
            Some('(') if depth < 10 => squares(text, depth + 1)?,
            Some(')') if depth > 0 && count.is_none() => return Ok(squares_of_row),
            Some(square) => vec![letter(square)?],
            None => bail_parse!("a number at the end of a row repeats nothing"),
        };
        let (count, most) = (count.unwrap_or(1), usize::from(u16::MAX));
        let has_room = squares_of_row.len() + repeated.len() * count <= most;
        ensure_parse!(has_room, "a row has more than {most} squares");
        squares_of_row.extend(repeated.repeat(count));
    }
    ensure_parse!(depth == 0, "a '(' in a row is never closed");
    Ok(squares_of_row)
}

fn letter(letter: char) -> Result<u8, ParseError> {
    match letter {
        '#' | '$' | '.' | '*' | '@' | '+' => Ok(letter as u8),
        '█' => Ok(b'#'),
        ' ' | '\u{a0}' | '\u{3000}' | '-' | '_' => Ok(b' '),
        _ => bail_parse!(
            "'{letter}' is not a square: expected # (wall), @ (player), $ (box), . (goal), * (box on a goal), + (player on a goal) or \
             a space (floor)"
        ),
    }
}

/// The places that the player can reach when no box is in the way, in order.
fn reachable(letters: &[u8], width: usize, height: usize, player: usize) -> Result<Vec<u16>, ParseError> {
    let mut seen = vec![false; letters.len()];
    let mut stack = vec![player];
    seen[player] = true;
    while let Some(place) = stack.pop() {
        for step in STEPS {
            let Some(to) = beside(place, step, width, height) else {
                bail_parse!("the wall is open {}: a level is walled in on all sides", named(place, width));
            };
            if letters[to] != b'#' && !std::mem::replace(&mut seen[to], true) {
                stack.push(to);
            }
        }
    }
    Ok((0..letters.len()).filter(|&place| seen[place]).map(|place| place as u16).collect())
}

/// The place one step away, or `None` beyond the border.
fn beside(place: usize, step: (isize, isize), width: usize, height: usize) -> Option<usize> {
    let row = (place / width).checked_add_signed(step.0).filter(|&row| row < height)?;
    let column = (place % width).checked_add_signed(step.1).filter(|&column| column < width)?;
    Some(row * width + column)
}

fn named(place: usize, width: usize) -> String {
    format!("in row {}, column {}", place / width + 1, place % width + 1)
}
