//! Reads a cube from its facelets, and explains why an impossible cube is impossible.

use super::{CORNER_FACELETS, CubeState, EDGE_FACELETS, FACES};
use crate::puzzle::notation::{bail_parse, ensure_parse};
use crate::puzzle::{ParseError, rules::is_odd};
use text::Sheet;

mod text;

pub(in crate::puzzle) use text::block;

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

/// A 3×3×3 from its facelets, and how they were read if they are not in the order U R F D L B; `None` if the text has no
/// facelets.
///
/// # Errors
/// If the facelets are not a cube, or may be several: names the order that is expected, and the order that they seem to have.
pub(super) fn read(text: &str) -> Option<Result<(CubeState, Option<String>), ParseError>> {
    let sheet = Sheet::read(text, 3)?;
    Some(sheet.and_then(|sheet| sheet.cube(|facelets| Facelets::new(facelets)?.state())))
}

/// Reads the corners of a 2×2×2 from its 24 facelets, held so that DBL is home; `None` if the text has no facelets.
///
/// # Errors
/// If the facelets are not a cube.
pub(in crate::puzzle) fn read_corners(text: &str) -> Option<Result<u64, ParseError>> {
    let corners = |facelets: &[char]| Ok(CubeState::pack(Facelets::of_small(facelets)?.1, [0; 12]).corners);
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
/// If the facelets are not a cube.
pub(in crate::puzzle) fn read_colours(
    text: &str,
    size: usize,
    still: bool,
    check: impl Fn(&[u8]) -> Result<(), String>,
) -> Option<Result<ReadColours, ParseError>> {
    Some(Sheet::read(text, size)?.and_then(|sheet| {
        if still {
            sheet.check_faces()?;
        }
        sheet.cube(|facelets| colours_of(facelets, size, still, &check))
    }))
}

/// The colours that [`read_colours`] gives for facelets in the order U R F D L B.
///
/// # Errors
/// If the facelets are not a cube.
pub(in crate::puzzle) fn colours_of(
    facelets: &[char],
    size: usize,
    still: bool,
    check: impl Fn(&[u8]) -> Result<(), String>,
) -> Result<Vec<u8>, String> {
    let reduced = if size % 2 == 1 {
        let reduced = Facelets::new(&reduced(facelets, size, 3))?;
        reduced.state()?;
        reduced
    } else {
        Facelets::of_small(&reduced(facelets, size, 2))?.0
    };
    let named = |letters: [char; 6]| {
        let other = |letter| format!("a facelet is {letter}: expected {}", String::from_iter(letters));
        let colours = faces_of(facelets, letters).map_err(other)?;
        check(&colours).map(|()| colours)
    };
    let colours = named(FACES);
    if still { colours } else { colours.or_else(|_| named(reduced.letters)) }
}

/// The facelets of a cube with `lines` rows a face: those of a larger cube on its outer and its middle lines.
pub(in crate::puzzle) fn reduced(facelets: &[char], size: usize, lines: usize) -> Vec<char> {
    let line = |line: usize| line * (size - 1) / (lines - 1);
    let facelet = |face: usize, row: usize, column: usize| facelets[size * (size * face + line(row)) + line(column)];
    let each = |face| (0..lines * lines).map(move |i| (face, i / lines, i % lines));
    (0..6).flat_map(each).map(|(face, row, column)| facelet(face, row, column)).collect()
}

/// The facelets of a cube.
struct Facelets {
    /// The colour of each facelet, as the face whose centre has it.
    colours: Vec<u8>,
    /// The letters of the centres.
    letters: [char; 6],
}

impl Facelets {
    /// A 3×3×3 with the corners of a 2×2×2 from its 24 letters, and these corners. The corner at DBL is home and names the
    /// colours of three faces.
    ///
    /// # Errors
    /// If two colours of that corner are the same, or no turns lead to these corners.
    fn of_small(letters: &[char]) -> Result<(Facelets, [u8; 8]), String> {
        let colours = colours_of_small(letters)?;
        let mut whole: Vec<char> = (0..54).map(|facelet| colours[facelet / 9]).collect();
        for facelet in CORNER_FACELETS.into_iter().flatten() {
            whole[facelet] = letters[small(facelet)];
        }
        let facelets = Facelets::new(&whole)?;
        let corners = facelets.corners()?;
        check_twists(&corners)?;
        Ok((facelets, corners))
    }

    /// The facelets of 54 letters, each letter any number of times.
    ///
    /// # Errors
    /// If the centres do not name six colours, or a letter is on no centre.
    fn new(facelets: &[char]) -> Result<Facelets, String> {
        let letters: [char; 6] = std::array::from_fn(|face| facelets[9 * face + 4]);
        for (face, letter) in letters.iter().enumerate() {
            if let Some(other) = letters[..face].iter().position(|earlier| earlier == letter) {
                bail_parse!("the centres of the faces {} and {} are both {letter}", FACES[other], FACES[face]);
            }
        }
        let centres = String::from_iter(letters);
        let other = |letter| format!("a facelet is {letter}, and no centre is; the centres are {centres}");
        Ok(Facelets { colours: faces_of(facelets, letters).map_err(other)?, letters })
    }

    /// The cube with these facelets.
    ///
    /// # Errors
    /// If turns cannot reach it: twists add up to 0 mod 3, flips to 0 mod 2, and the parities agree.
    fn state(&self) -> Result<CubeState, String> {
        let corners = self.corners()?;
        let edges = self.pieces("edge", &EDGE_FACELETS, &EDGE_COLOURS, 16, &EDGE_NAMES)?;
        check_twists(&corners)?;
        let flips: u8 = edges.iter().map(|edge| edge / 16).sum();
        ensure_parse!(flips.is_multiple_of(2), "an edge is flipped in its place");
        let is_even = is_odd(&corners.map(|corner| corner % 8)) == is_odd(&edges.map(|edge| edge % 16));
        ensure_parse!(is_even, "the permutation is odd: two pieces are swapped");
        Ok(CubeState::pack(corners, edges))
    }

    /// The piece at each corner place, with its twist.
    fn corners(&self) -> Result<[u8; 8], String> {
        self.pieces("corner", &CORNER_FACELETS, &CORNER_COLOURS, 8, &CORNER_NAMES)
    }

    /// The piece at each place, with `orientation` added for each turn.
    fn pieces<const N: usize, const PIECES: usize>(
        &self,
        kind: &str,
        facelets: &[[usize; N]; PIECES],
        colours: &[[u8; N]; 32],
        orientation: usize,
        names: &[&str; PIECES],
    ) -> Result<[u8; PIECES], String> {
        let mut found = [0; PIECES];
        for place in 0..PIECES {
            let seen = facelets[place].map(|facelet| self.colours[facelet]);
            let mut pieces = (0..orientation * N).filter(|piece| piece % orientation < PIECES);
            let Some(piece) = pieces.find(|&piece| colours[piece] == seen) else {
                let letters = String::from_iter(seen.map(|colour| self.letters[usize::from(colour)]));
                let is_mirrored = matches!(seen[..], [a, b, c] if CORNER_COLOURS[..24].contains(&[a, c, b]));
                let why = if is_mirrored { "the mirror image of a real one" } else { "and there is no such piece" };
                bail_parse!("the {kind} at {} reads {letters}, {why}", names[place]);
            };
            found[place] = piece as u8;
        }
        let pieces = found.map(|piece| usize::from(piece) % orientation);
        for (place, piece) in pieces.iter().enumerate() {
            if let Some(first) = pieces[..place].iter().position(|earlier| earlier == piece) {
                let (piece, first, second) = (names[*piece], names[first], names[place]);
                bail_parse!("the {kind} {piece} is there twice, at {first} and at {second}");
            }
        }
        Ok(found)
    }
}

/// The index of each letter among six, or the letter that is none of them.
fn faces_of(facelets: &[char], letters: [char; 6]) -> Result<Vec<u8>, char> {
    let index = |letter: &char| letters.iter().position(|other| other == letter);
    facelets.iter().map(|letter| index(letter).map(|face| face as u8).ok_or(*letter)).collect()
}

/// The index of a corner's facelet among the 24 of a 2×2×2.
fn small(facelet: usize) -> usize {
    let (row, column) = (facelet % 9 / 3, facelet % 3);
    4 * (facelet / 9) + row / 2 * 2 + column / 2
}

/// The colour of each face of a 2×2×2 with six colours of four facelets each. The corner at DBL has the colours of three
/// faces. The colour opposite to one of them meets it at no corner, or, if a facelet is wrong, at the fewest.
fn colours_of_small(letters: &[char]) -> Result<[char; 6], String> {
    let corners = CORNER_FACELETS.map(|facelets| facelets.map(|facelet| letters[small(facelet)]));
    let home = corners[DBL];
    if home[0] == home[1] || home[1] == home[2] || home[2] == home[0] {
        let (name, seen) = (CORNER_NAMES[DBL], String::from_iter(home));
        bail_parse!("the corner at {name} reads {seen}, and there is no such piece");
    }
    let mut others: Vec<char> = letters.iter().copied().filter(|letter| !home.contains(letter)).collect();
    others.sort_unstable();
    others.dedup();
    ensure_parse!(others.len() == 3, "the corners have no six colours");
    let mut colours = [' '; 6];
    for (letter, facelet) in home.into_iter().zip(CORNER_FACELETS[DBL]) {
        let meetings =
            |other: char| corners.iter().filter(|corner| corner.contains(&letter) && corner.contains(&other)).count();
        let opposite = (0..others.len()).min_by_key(|&i| meetings(others[i])).expect("three colours are not at DBL");
        (colours[facelet / 9], colours[(facelet / 9 + 3) % 6]) = (letter, others.remove(opposite));
    }
    Ok(colours)
}

fn check_twists(corners: &[u8; 8]) -> Result<(), String> {
    let twists: u8 = corners.iter().map(|corner| corner / 8).sum();
    ensure_parse!(twists.is_multiple_of(3), "a corner is twisted in its place");
    Ok(())
}

/// Says that facelets are not a cube, and why.
pub(in crate::puzzle) fn impossible(why: String) -> ParseError {
    ParseError(format!("no cube looks like this: {why}"))
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
