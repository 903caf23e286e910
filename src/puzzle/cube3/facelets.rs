//! Reads a cube from its facelets, and explains why an impossible cube is impossible.

use super::notation::{inside, is_space};
use super::{CORNER_FACELETS, CubeState, EDGE_FACELETS, FACES};
use crate::puzzle::notation::{is_prime, is_separator};
use crate::puzzle::{Block, ParseError, rules::is_odd};

/// The colours of a corner's three facelets, in the order of [`CORNER_FACELETS`], by corner (piece and twist).
pub(super) const CORNER_COLOURS: [[u8; 3]; 32] = colours(&CORNER_FACELETS, 8);

/// The colours of an edge's two facelets, by edge (piece and flip).
pub(super) const EDGE_COLOURS: [[u8; 2]; 32] = colours(&EDGE_FACELETS, 16);

/// The colours of the facelets of each piece in each orientation: `table[piece + orientation * turned]`.
const fn colours<const N: usize, const PIECES: usize>(
    facelets: &[[usize; N]; PIECES],
    orientation: usize,
) -> [[u8; N]; 32] {
    let mut table = [[0; N]; 32];
    let mut i = 0;
    while i < PIECES * N * N {
        let (piece, turned, k) = (i / (N * N), i / N % N, i % N);
        table[piece + orientation * turned][(k + turned) % N] = (facelets[piece][k] / 9) as u8;
        i += 1;
    }
    table
}

/// The corner of a 2×2×2 that never moves.
const DBL: usize = 6;
const CORNER_NAMES: [&str; 8] = ["URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DBL", "DRB"];
const EDGE_NAMES: [&str; 12] = ["UR", "UF", "UL", "UB", "DR", "DF", "DL", "DB", "FR", "FL", "BL", "BR"];

/// A text of at least this many facelets of a 3×3×3, and nothing else, is meant as facelets: a scramble of 40 turns has
/// counter-clockwise turns, which are not letters alone. A cube of another size needs the same share of its facelets.
const MIN_FACELETS: usize = 40;

/// Orders of faces that people and programs write, as indices of [`FACES`]; the first is costar's.
const ORDERS: [[usize; 6]; 9] = [
    [0, 1, 2, 3, 4, 5], // U R F D L B
    [0, 4, 2, 1, 5, 3], // U L F R B D
    [0, 2, 1, 5, 4, 3], // U F R B L D
    [0, 2, 4, 5, 1, 3], // U F L B R D
    [2, 1, 5, 4, 0, 3], // F R B L U D
    [4, 2, 1, 5, 0, 3], // L F R B U D
    [0, 3, 4, 1, 2, 5], // U D L R F B
    [0, 3, 2, 5, 4, 1], // U D F B L R
    [2, 5, 0, 3, 4, 1], // F B U D L R
];

/// A 3×3×3 from its facelets, and how they were read if they are not in the order U R F D L B; `None` if the text has no
/// facelets.
///
/// # Errors
/// If the facelets are no cube, or may be several: names the order that is expected, and the order that they seem to have.
pub(super) fn read(text: &str) -> Option<Result<(CubeState, Option<String>), ParseError>> {
    let sheet = Sheet::read(text, 3)?;
    Some(sheet.and_then(|sheet| sheet.cube(|facelets| Facelets::new(facelets)?.state())))
}

/// Reads the corners of a 2×2×2 from its 24 facelets, held so that DBL is home; `None` if the text has no facelets.
///
/// # Errors
/// If the facelets are no cube.
pub(in crate::puzzle) fn read_corners(text: &str) -> Option<Result<u64, ParseError>> {
    let corners = |facelets: &[char]| {
        let corners = Facelets::of_small(facelets)?.corners()?;
        check_twists(&corners)?;
        Ok(CubeState::pack(corners, [0; 12]).corners)
    };
    Some(Sheet::read(text, 2)?.and_then(|sheet| sheet.cube(corners)).map(|(corners, _)| corners))
}

/// The colour of each facelet, and how the facelets were read if they were not in the order U R F D L B.
pub(in crate::puzzle) type ReadColours = (Vec<u8>, Option<String>);

/// The colours of a cube of any size from its facelets, as indices of [`FACES`], and how they were read if they are not in
/// the order U R F D L B; `None` if the text has no facelets. The letters are those of the faces; unless the cube is held
/// `still`, they may be others, and the centres name the faces, or, without centres, the corner DBL. `check` looks at all
/// pieces; the laws of corners, and of the edges in the middle, are checked here.
///
/// # Errors
/// If the facelets are no cube.
pub(in crate::puzzle) fn read_colours(
    text: &str,
    size: usize,
    still: bool,
    check: impl Fn(&[u8]) -> Result<(), String>,
) -> Option<Result<ReadColours, ParseError>> {
    let colours = |facelets: &[char]| {
        let at = |face: usize, row: usize, column: usize| facelets[size * (size * face + row) + column];
        let corners: Vec<char> = (0..24).map(|i| at(i / 4, i % 4 / 2 * (size - 1), i % 2 * (size - 1))).collect();
        let has_centres = size % 2 == 1;
        let mut letters = if has_centres { FACES } else { colours_of_small(&corners)? };
        let whole: Vec<char> = (0..54)
            .map(|i| match [i / 3 % 3, i % 3] {
                [row, column] if has_centres => at(i / 9, row * (size - 1) / 2, column * (size - 1) / 2),
                [0 | 2, 0 | 2] => corners[small(i)],
                _ => letters[i / 9],
            })
            .collect();
        let reduced = Facelets::new(&whole)?;
        if has_centres {
            reduced.state()?;
            letters = reduced.letters;
        } else {
            check_twists(&reduced.corners()?)?;
        }
        let named = |letters: [char; 6]| {
            let colour = |letter: &char| {
                let face = letters.iter().position(|other| other == letter).map(|face| face as u8);
                face.ok_or_else(|| format!("a facelet is {letter}: expected {}", String::from_iter(letters)))
            };
            let colours = facelets.iter().map(colour).collect::<Result<Vec<u8>, _>>()?;
            check(&colours).map(|()| colours)
        };
        let colours = named(FACES);
        if still { colours } else { colours.or_else(|_| named(letters)) }.map_err(impossible)
    };
    Some(Sheet::read(text, size)?.and_then(|sheet| sheet.cube(colours)))
}

/// Whether lines are the faces of a cube of `size` layers, one a line, or the rows of its net.
pub(in crate::puzzle) fn block(lines: &[&str], size: usize) -> Block {
    let each = size * size;
    let patterns = [vec![each; 6], net_rows(size)];
    let facelets_of = |line: &&str| {
        let (facelets, is_labelled) = match line.split_once([':', '=']) {
            Some((label, facelets)) if face_named(label).is_some() => (facelets, true),
            _ => (*line, false),
        };
        let all: Vec<char> = facelets.chars().filter(|&c| !is_filler(c)).map(facelet).collect::<Option<_>>()?;
        let is_mixed = all.iter().any(char::is_ascii_digit) && !all.iter().all(char::is_ascii_digit);
        // Turns of a scramble have spaces between them; the rows of a drawn net are indented, or long.
        let is_spaced = facelets.contains(char::is_whitespace) && !line.starts_with(' ') && all.len() != 4 * size;
        let is_scramble = !is_labelled && (is_spaced || facelets.contains(is_prime) || facelets.contains('\t'));
        (!is_mixed && !is_scramble).then_some(all)
    };
    let Some(rows) = lines.iter().map(facelets_of).collect::<Option<Vec<_>>>() else { return Block::Neither };
    let counts: Vec<usize> = rows.iter().map(Vec::len).collect();
    let mut all: Vec<char> = rows.concat().iter().map(char::to_ascii_uppercase).collect();
    all.sort_unstable();
    match patterns.iter().any(|pattern| pattern.starts_with(&counts)) {
        false => Block::Neither,
        true if !patterns.contains(&counts) => Block::Part,
        // Six colours, each as often.
        true if all.chunks(each).all(|colour| colour[0] == colour[each - 1]) => Block::Whole,
        true => Block::Neither,
    }
}

/// The facelets in each row of a net: U, then L F R B side by side, then D.
fn net_rows(size: usize) -> Vec<usize> {
    [vec![size; size], vec![4 * size; size], vec![size; size]].concat()
}

/// Whether a character between facelets has no meaning.
fn is_filler(character: char) -> bool {
    is_space(character) || is_separator(character) || is_prime(character)
}

/// A character that stands for a facelet: a letter, a digit, or a square, circle or heart of a colour.
fn facelet(character: char) -> Option<char> {
    let is_coloured = matches!(
        character,
        '🟥' | '🟧'
            | '🟨'
            | '🟩'
            | '🟦'
            | '🟪'
            | '🟫'
            | '⬛'
            | '⬜'
            | '🔴'
            | '🟠'
            | '🟡'
            | '🟢'
            | '🔵'
            | '🟣'
            | '🟤'
            | '⚫'
            | '⚪'
            | '◻'
            | '◼'
            | '□'
            | '■'
            | '❤'
            | '🧡'
            | '💛'
            | '💚'
            | '💙'
            | '💜'
            | '🤍'
            | '🖤'
    );
    (character.is_ascii_alphanumeric() || is_coloured).then_some(character)
}

/// The index of a face by its letter or its name.
fn face_named(name: &str) -> Option<usize> {
    let word = name.rsplit(is_filler).find(|word| !word.is_empty())?.to_ascii_lowercase();
    let names = ["up", "right", "front", "down", "left", "back"];
    let letters = FACES.iter().position(|face| word == face.to_ascii_lowercase().to_string());
    letters.or_else(|| names.iter().position(|name| word == *name)).or(match &*word {
        "top" | "upper" => Some(0),
        "bottom" | "lower" => Some(3),
        _ => None,
    })
}

/// All orders of six faces, the usual ones first.
fn all_orders() -> impl Iterator<Item = [usize; 6]> {
    let number = |code: usize| std::array::from_fn(|i| code / 6usize.pow(i as u32) % 6);
    let is_order = |order: &[usize; 6]| (0..6).all(|face| order.contains(&face));
    ORDERS.into_iter().chain((0..6usize.pow(6)).map(number).filter(is_order))
}

/// The letters of faces in an order.
fn in_words(order: &[usize; 6]) -> String {
    order.map(|face| FACES[face].to_string()).join(" ")
}

/// Facelets as they are written.
struct Sheet {
    /// Face after face in the order that is written, each row by row.
    facelets: Vec<char>,
    /// Facelets of a face.
    each: usize,
    /// The order of the faces, if a net or labels tell it.
    order: Option<[usize; 6]>,
}

impl Sheet {
    /// The facelets of a text, in upper case; `None` if the text is no facelets. A text with the i of `Ri` or `Rwi` is none.
    ///
    /// # Errors
    /// If there are more or fewer than six times `size²`, or a letter does not stand on as many facelets as a face has.
    fn read(text: &str, size: usize) -> Option<Result<Sheet, ParseError>> {
        let text = inside(text);
        let (labels, parts) = labelled(&text);
        let facelets: Vec<char> = parts.chars().filter(|&c| !is_filler(c)).map(facelet).collect::<Option<_>>()?;
        let has = |kind: fn(&char) -> bool| facelets.iter().any(kind);
        let has_primes = has_primes(&text);
        let least = (MIN_FACELETS * size * size).div_ceil(9);
        let is_mixed = has(char::is_ascii_digit) && !facelets.iter().all(char::is_ascii_digit);
        if facelets.len() < least || has_primes || is_mixed || has_written_i(&facelets) {
            return None;
        }
        let distinct = |letters: &[char]| letters.iter().collect::<std::collections::HashSet<_>>().len();
        let upper: Vec<char> = facelets.iter().map(char::to_ascii_uppercase).collect();
        // Two colours may differ in case alone.
        let facelets = if distinct(&facelets) == 6 && distinct(&upper) < 6 { facelets } else { upper };
        let rows = |separated: &dyn Fn(char) -> bool| {
            let counts = parts.split(separated).map(|part| part.chars().filter(|&c| !is_filler(c)).count());
            counts.filter(|&count| count > 0).collect::<Vec<_>>()
        };
        let wide = [vec![size * size], vec![4 * size; size], vec![size * size]].concat();
        let each = size * size;
        // The faces of a 4×4×4, one a line, have as many facelets as the rows of a wide net.
        let is_net = [rows(&|c| c == '\n'), rows(&char::is_whitespace)]
            .iter()
            .any(|rows| *rows == net_rows(size) || *rows == wide && wide != [each; 6]);
        let sheet = match (is_net && labels.is_none(), labels) {
            (true, _) => Sheet { facelets: from_net(&facelets, size), each, order: Some(ORDERS[0]) },
            (false, order) => Sheet { facelets, each, order },
        };
        let cube = if size == 3 { "a cube".into() } else { format!("a {size}×{size}×{size}") };
        Some(check_counts(&sheet.facelets, &cube, each).map(|()| sheet))
    }

    /// The facelets in the order U R F D L B, if they are written in another one.
    fn reordered(&self, order: &[usize; 6]) -> Vec<char> {
        let block = |face| order.iter().position(|&other| other == face).expect("an order has every face");
        (0..6).flat_map(|face| &self.facelets[self.each * block(face)..][..self.each]).copied().collect()
    }

    /// The order that centres tell which are letters of faces. Those of larger cubes move.
    fn order_of_centres(&self) -> Option<[usize; 6]> {
        if self.each != 9 {
            return None;
        }
        let mut order = [0; 6];
        for (face, place) in order.iter_mut().enumerate() {
            *place = FACES.iter().position(|&letter| letter == self.facelets[self.each * face + self.each / 2])?;
        }
        (0..6).all(|face| order.contains(&face)).then_some(order)
    }

    /// The cube in the one order of faces that is certain, and that order if it is not U R F D L B.
    fn cube<C: PartialEq>(
        &self,
        make: impl Fn(&[char]) -> Result<C, ParseError>,
    ) -> Result<(C, Option<String>), ParseError> {
        let usual = ORDERS[0];
        let said =
            |order: &[usize; 6]| (*order != usual).then(|| format!("the faces in the order {}", in_words(order)));
        if let Some(order) = self.order {
            let in_order = |ParseError(why)| {
                let order = in_words(&order);
                ParseError(format!("{why}. The faces were read in the order {order}, which the net or the labels tell"))
            };
            return Ok((make(&self.reordered(&order)).map_err(in_order)?, said(&order)));
        }
        let as_usual = make(&self.facelets);
        let by_centres = self.order_of_centres().filter(|order| *order != usual);
        let in_their_order = by_centres.map(|order| (order, make(&self.reordered(&order))));
        match (as_usual, in_their_order) {
            (Ok(cube), Some((order, Ok(other)))) if cube != other => Err(ParseError(format!(
                "these facelets are one cube in the order U R F D L B, held another way, and another cube in the order {} that the \
                 centres name: write the faces in the order U R F D L B",
                in_words(&order)
            ))),
            (Ok(cube), _) => Ok((cube, None)),
            (Err(_), Some((order, Ok(cube)))) => Ok((cube, said(&order))),
            (Err(ParseError(why)), _) => {
                let seems = all_orders().find(|order| make(&self.reordered(order)).is_ok());
                let seems = seems.map_or_else(String::new, |order| {
                    format!("; they are a cube in the order {}, which they seem to have", in_words(&order))
                });
                Err(ParseError(format!("{why}. The faces are expected in the order U R F D L B{seems}")))
            }
        }
    }
}

/// The order that six labels tell, as in `U: …`, and the text without them.
fn labelled(text: &str) -> (Option<[usize; 6]>, String) {
    let none = || (None, text.to_owned());
    let parts: Vec<&str> = text.split([':', '=']).collect();
    if parts.len() != 7 {
        return none();
    }
    let (mut order, mut rest) = ([0; 6], String::new());
    for (i, part) in parts.iter().enumerate() {
        let mut facelets = *part;
        if let Some(place) = order.get_mut(i) {
            let Some(face) = face_named(part) else { return none() };
            *place = face;
            let bare = part.trim_end_matches(is_filler);
            facelets = bare.rfind(is_filler).map_or("", |at| &bare[..at]);
        }
        rest += facelets;
        rest.push('\n');
    }
    if (0..6).all(|face| order.contains(&face)) { (Some(order), rest) } else { none() }
}

/// The facelets of a net, row by row, as faces in the order U R F D L B.
fn from_net(net: &[char], size: usize) -> Vec<char> {
    let each = size * size;
    let side = |column: usize| (0..each).map(move |i| net[each + i / size * 4 * size + column * size + i % size]);
    let (up, down) = (&net[..each], &net[5 * each..]);
    // Beside each other are L F R B.
    let [left, front, right, back] = [0, 1, 2, 3].map(side);
    up.iter().copied().chain(right).chain(front).chain(down.iter().copied()).chain(left).chain(back).collect()
}

/// Whether a text has primes that are not pairs of quotation marks around facelets.
fn has_primes(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let is_outside = |at: Option<usize>| at.and_then(|at| characters.get(at)).is_none_or(|&c| facelet(c).is_none());
    let marks = (0..characters.len()).filter(|&at| is_prime(characters[at]));
    let beside = marks.enumerate().map(|(i, at)| if i % 2 == 0 { at.checked_sub(1) } else { Some(at + 1) });
    beside.clone().count() % 2 == 1 || !beside.into_iter().all(is_outside)
}

/// Whether letters have the i of `Ri` or `Rwi`, which is written for a prime.
fn has_written_i(letters: &[char]) -> bool {
    let is_face = |letter: Option<&char>| letter.is_some_and(|letter| FACES.contains(letter));
    (0..letters.len()).any(|at| {
        let wide = usize::from(letters[..at].last() == Some(&'w'));
        letters[at] == 'i' && is_face(letters[..at - wide].last())
    })
}

/// The facelets of a cube.
pub(super) struct Facelets {
    /// The colour of each facelet, as the face whose centre has it.
    colours: Vec<u8>,
    /// The letters of the centres.
    letters: [char; 6],
}

impl Facelets {
    /// The corners of a 3×3×3 from the 24 letters of a 2×2×2. The corner at DBL is home and names the colours of three faces.
    ///
    /// # Errors
    /// If two colours of that corner are the same.
    fn of_small(letters: &[char]) -> Result<Facelets, ParseError> {
        let colours = colours_of_small(letters)?;
        let mut whole: Vec<char> = (0..54).map(|facelet| colours[facelet / 9]).collect();
        for facelet in CORNER_FACELETS.into_iter().flatten() {
            whole[facelet] = letters[small(facelet)];
        }
        Facelets::new(&whole)
    }

    /// The facelets of 54 letters, each letter any number of times.
    ///
    /// # Errors
    /// If the centres do not name six colours, or a letter is on no centre.
    fn new(facelets: &[char]) -> Result<Facelets, ParseError> {
        let letters: [char; 6] = std::array::from_fn(|face| facelets[9 * face + 4]);
        for (face, letter) in letters.iter().enumerate() {
            if let Some(other) = letters[..face].iter().position(|earlier| earlier == letter) {
                return Err(impossible(format!(
                    "the centres of the faces {} and {} are both {letter}",
                    FACES[other], FACES[face]
                )));
            }
        }
        let face_of = |letter: &char| {
            let face = letters.iter().position(|centre| centre == letter);
            face.map(|face| face as u8).ok_or_else(|| {
                let centres: String = letters.iter().collect();
                impossible(format!("a facelet is {letter}, and no centre is; the centres are {centres}"))
            })
        };
        let colours = facelets.iter().map(face_of).collect::<Result<Vec<u8>, _>>()?;
        Ok(Facelets { colours, letters })
    }

    /// The cube with these facelets.
    pub(super) fn state(&self) -> Result<CubeState, ParseError> {
        let (corners, edges) = (self.corners()?, self.edges()?);
        check_laws(&corners, &edges)?;
        Ok(CubeState::pack(corners, edges))
    }

    /// The piece at each corner place, with its twist.
    fn corners(&self) -> Result<[u8; 8], ParseError> {
        self.pieces("corner", &CORNER_FACELETS, &CORNER_COLOURS, 8, &CORNER_NAMES)
    }

    /// The piece at each edge place, with its flip.
    fn edges(&self) -> Result<[u8; 12], ParseError> {
        self.pieces("edge", &EDGE_FACELETS, &EDGE_COLOURS, 16, &EDGE_NAMES)
    }

    /// The piece at each place, with `orientation` added for each turn.
    fn pieces<const N: usize, const PIECES: usize>(
        &self,
        kind: &str,
        facelets: &[[usize; N]; PIECES],
        colours: &[[u8; N]; 32],
        orientation: usize,
        names: &[&str; PIECES],
    ) -> Result<[u8; PIECES], ParseError> {
        let mut found = [0; PIECES];
        for place in 0..PIECES {
            let seen = facelets[place].map(|facelet| self.colours[facelet]);
            let mut pieces = (0..orientation * N).filter(|piece| piece % orientation < PIECES);
            let Some(piece) = pieces.find(|&piece| colours[piece] == seen) else {
                return Err(self.no_such_piece(kind, names[place], &seen));
            };
            found[place] = piece as u8;
        }
        let pieces = found.map(|piece| usize::from(piece) % orientation);
        for (place, piece) in pieces.iter().enumerate() {
            if let Some(first) = pieces[..place].iter().position(|earlier| earlier == piece) {
                let (piece, first, second) = (names[*piece], names[first], names[place]);
                return Err(impossible(format!("the {kind} {piece} is there twice, at {first} and at {second}")));
            }
        }
        Ok(found)
    }

    fn no_such_piece(&self, kind: &str, place: &str, seen: &[u8]) -> ParseError {
        let letters: String = seen.iter().map(|&colour| self.letters[usize::from(colour)]).collect();
        let is_mirrored = matches!(*seen, [a, b, c] if CORNER_COLOURS[..24].contains(&[a, c, b]));
        let why = if is_mirrored { "the mirror image of a real one" } else { "and there is no such piece" };
        impossible(format!("the {kind} at {place} reads {letters}, {why}"))
    }
}

/// The index of a corner's facelet among the 24 of a 2×2×2.
fn small(facelet: usize) -> usize {
    let (row, column) = (facelet % 9 / 3, facelet % 3);
    4 * (facelet / 9) + row / 2 * 2 + column / 2
}

/// The colour of each face of a 2×2×2 with six colours of four facelets each. The corner at DBL has the colours of three
/// faces. The colour opposite to one of them meets it at no corner, or, if a facelet is wrong, at the fewest.
fn colours_of_small(letters: &[char]) -> Result<[char; 6], ParseError> {
    let corners = CORNER_FACELETS.map(|facelets| facelets.map(|facelet| letters[small(facelet)]));
    let home = corners[DBL];
    if home[0] == home[1] || home[1] == home[2] || home[2] == home[0] {
        let (name, seen) = (CORNER_NAMES[DBL], home.iter().collect::<String>());
        return Err(impossible(format!("the corner at {name} reads {seen}, and there is no such piece")));
    }
    let mut others: Vec<char> = letters.iter().copied().filter(|letter| !home.contains(letter)).collect();
    others.sort_unstable();
    others.dedup();
    if others.len() != 3 {
        return Err(impossible("the corners have no six colours".into()));
    }
    let mut colours = [' '; 6];
    for (letter, facelet) in home.into_iter().zip(CORNER_FACELETS[DBL]) {
        let meetings =
            |other: char| corners.iter().filter(|corner| corner.contains(&letter) && corner.contains(&other)).count();
        let opposite = (0..others.len()).min_by_key(|&i| meetings(others[i])).expect("three colours are not at DBL");
        (colours[facelet / 9], colours[(facelet / 9 + 3) % 6]) = (letter, others.remove(opposite));
    }
    Ok(colours)
}

/// Refuses more or fewer facelets than a cube has, and letters that do not occur once per facelet of a face. The letters of
/// the faces are checked first.
fn check_counts(facelets: &[char], cube: &str, each: usize) -> Result<(), ParseError> {
    if facelets.len() != 6 * each {
        return Err(ParseError(format!("{} facelets, {cube} has {}", facelets.len(), 6 * each)));
    }
    let mut others = facelets.to_vec();
    others.sort_unstable();
    others.dedup();
    for letter in FACES.into_iter().chain(others) {
        let count = facelets.iter().filter(|&&facelet| facelet == letter).count();
        if count != 0 && count != each {
            return Err(impossible(format!("{count} facelets are {letter}, and {each} of each letter are needed")));
        }
    }
    Ok(())
}

fn impossible(why: String) -> ParseError {
    ParseError(format!("no cube looks like this: {why}"))
}

/// The three laws of cubes that turns can reach: twists add up to 0 mod 3, flips to 0 mod 2, and the parities agree.
fn check_laws(corners: &[u8; 8], edges: &[u8; 12]) -> Result<(), ParseError> {
    check_twists(corners)?;
    if edges.iter().map(|edge| edge / 16).sum::<u8>() % 2 != 0 {
        return Err(impossible("an edge is flipped in its place".into()));
    }
    if is_odd(&corners.map(|corner| corner % 8)) != is_odd(&edges.map(|edge| edge % 16)) {
        return Err(impossible("the permutation is odd: two pieces are swapped".into()));
    }
    Ok(())
}

fn check_twists(corners: &[u8; 8]) -> Result<(), ParseError> {
    let twists: u8 = corners.iter().map(|corner| corner / 8).sum();
    if twists.is_multiple_of(3) { Ok(()) } else { Err(impossible("a corner is twisted in its place".into())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::{Notation as _, cube3::Cube3};

    fn refusal(corners: [u8; 8], edges: [u8; 12]) -> String {
        let text = Cube3.format(&CubeState::pack(corners, edges));
        parse(&text).expect_err("an impossible cube").to_string()
    }

    fn parse(text: &str) -> Result<CubeState, ParseError> {
        Ok(read(text).expect("facelets")?.0)
    }

    const C: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
    const E: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

    #[test]
    fn impossible_cubes_are_refused_with_the_reason() {
        assert!(refusal([8, 1, 2, 3, 4, 5, 6, 7], E).contains("corner is twisted"));
        assert!(refusal(C, [16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).contains("edge is flipped"));
        assert!(refusal([1, 0, 2, 3, 4, 5, 6, 7], E).contains("odd"));
        assert!(refusal(C, [1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).contains("odd"));
        let solved = Cube3.format(&CubeState::SOLVED);
        assert!(parse(&solved.replacen('U', "R", 1)).expect_err("8 U").to_string().contains("8 facelets are U"));
        let refused = |text: String| parse(&text).expect_err("an impossible cube").to_string();
        let with_centre = |letter: char| solved.chars().enumerate().map(move |(i, c)| if i == 4 { letter } else { c });
        assert!(refused(with_centre('X').collect()).contains("8 facelets are U"));
        let mut centres: Vec<char> = solved.chars().collect();
        centres.swap(4, 10);
        assert!(refused(centres.iter().collect()).contains("U and R are both R"));
    }

    #[test]
    fn repeated_and_unreal_pieces_are_refused() {
        // Edges UR and UF exchanged for two of UR and two of ... keeps the counts: swap single facelets instead.
        let solved: Vec<char> = Cube3.format(&CubeState::SOLVED).chars().collect();
        let swapped = |a: usize, b: usize| {
            let mut facelets = solved.clone();
            facelets.swap(a, b);
            parse(&facelets.iter().collect::<String>()).expect_err("impossible").to_string()
        };
        // F of edge UF <-> R of edge UR: the pieces UF and UR become UR and UF, in each other's place: odd.
        assert!(swapped(19, 10).contains("odd"));
        // F of edge UF <-> B of edge UB gives UB and UF; F of DF <-> R of UR gives DR and UF: both there twice.
        assert!(swapped(25, 10).contains("twice"), "{}", swapped(25, 10));
        // U of edge UF <-> B of edge DB: edges BF and DU, which no cube has.
        assert!(swapped(7, 52).contains("no such piece"));
        // Two facelets of the corner URF exchanged: its mirror image.
        assert!(swapped(9, 20).contains("mirror image"));
    }

    #[test]
    fn facelets_are_counted_and_named_by_their_centres() {
        let state = Cube3.parse("R U2 F' L D B2").expect("a scramble");
        let text = Cube3.format(&state);
        let renamed = |names: [char; 6]| -> String {
            let name = |letter| FACES.iter().position(|&face| face == letter).expect("a face");
            text.chars().map(|letter| names[name(letter)]).collect()
        };
        let spaced: String = text.chars().flat_map(|letter| [letter, ' ']).collect();
        let lines: Vec<&str> =
            text.as_bytes().chunks(9).map(|face| std::str::from_utf8(face).expect("letters")).collect();
        let held_another_way = renamed(['F', 'R', 'D', 'B', 'L', 'U']);
        for same in
            [text.to_lowercase(), spaced, lines.join("\n"), renamed(['W', 'R', 'G', 'Y', 'O', 'B']), held_another_way]
        {
            assert_eq!(Cube3.parse(&same), Ok(state), "{same}");
        }
        for same in [
            format!("1. {text}"),
            format!("#1: {text} # mine"),
            format!("[1] \"{text}\""),
            format!("Scramble: {text} // mine"),
            format!("({text})"),
            format!("{{ [{text}] }}"),
            renamed(['w', 'r', 'g', 'y', 'o', 'i']),
        ] {
            assert_eq!(Cube3.parse(&same), Ok(state), "{same}");
        }
        let mistyped = text.to_lowercase().replacen('u', "i", 1);
        assert!(Cube3.parse(&mistyped).expect_err("one I").to_string().contains("8 facelets are U"));
        assert!(read(&"R U Ri Uwi ".repeat(14)).is_none(), "a scramble with the i of counter-clockwise turns");
        for (some, count) in [
            (&*format!("Scramble: {}", &text[1..]), 53),
            (&text[1..], 53),
            (&text[..40], 40),
            (&format!("{text}U"), 55),
        ] {
            let refusal = Cube3.parse(some).expect_err("too many or too few").to_string();
            assert!(refusal.contains(&format!("{count} facelets, a cube has 54")), "{refusal}");
        }
        assert!(read("U U F' R2").is_none());
        assert!(read(&"U R F ".repeat(13)).is_none(), "a scramble of 39 turns");
    }
}
