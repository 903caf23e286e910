//! Reads a cube from its 54 facelets, and says why an impossible one is impossible.

use super::{CORNER_FACELETS, CubeState, EDGE_FACELETS, FACES};
use crate::puzzle::ParseError;

/// The colours of a corner's three facelets, in the order of [`CORNER_FACELETS`], by corner (piece and twist).
pub(super) const CORNER_COLOURS: [[u8; 3]; 32] = {
    let mut table = [[0; 3]; 32];
    let mut corner = 0;
    while corner < 24 {
        let mut k = 0;
        while k < 3 {
            table[corner][(k + corner / 8) % 3] = (CORNER_FACELETS[corner % 8][k] / 9) as u8;
            k += 1;
        }
        corner += 1;
    }
    table
};

/// The colours of an edge's two facelets, by edge (piece and flip).
pub(super) const EDGE_COLOURS: [[u8; 2]; 32] = {
    let mut table = [[0; 2]; 32];
    let mut edge = 0;
    while edge < 32 {
        if edge % 16 < 12 {
            let mut k = 0;
            while k < 2 {
                table[edge][(k + edge / 16) % 2] = (EDGE_FACELETS[edge % 16][k] / 9) as u8;
                k += 1;
            }
        }
        edge += 1;
    }
    table
};

const CORNER_NAMES: [&str; 8] = ["URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DBL", "DRB"];
const EDGE_NAMES: [&str; 12] = ["UR", "UF", "UL", "UB", "DR", "DF", "DL", "DB", "FR", "FL", "BL", "BR"];

/// 54 letters of U R F D L B are facelets; everything else is a scramble.
pub(super) fn looks_like(text: &str) -> bool {
    text.len() == 54 && text.chars().all(|letter| FACES.contains(&letter))
}

/// Reads what [`looks_like`] facelets.
pub(super) fn parse(text: &str) -> Result<CubeState, ParseError> {
    let colours = colours(text);
    check_counts(&colours)?;
    let corners = corners(&colours)?;
    let edges = edges(&colours)?;
    check_laws(&corners, &edges)?;
    Ok(CubeState::pack(corners, edges))
}

/// Reads the corners alone: the edges may be anything.
pub(super) fn parse_corners(text: &str) -> Result<u64, ParseError> {
    let colours = colours(text);
    let corners = corners(&colours)?;
    check_twists(&corners)?;
    Ok(CubeState::pack(corners, [0; 12]).corners)
}

fn impossible(why: String) -> ParseError {
    ParseError(format!("no cube looks like this: {why}"))
}

fn colours(text: &str) -> Vec<u8> {
    let colour = |letter| FACES.iter().position(|&face| face == letter).expect("callers have seen each letter") as u8;
    text.chars().map(colour).collect()
}

fn check_counts(colours: &[u8]) -> Result<(), ParseError> {
    for (face, letter) in FACES.iter().enumerate() {
        let count = colours.iter().filter(|&&colour| usize::from(colour) == face).count();
        if count != 9 {
            return Err(impossible(format!("{count} facelets are {letter}, and 9 of each letter are needed")));
        }
    }
    for (face, letter) in FACES.iter().enumerate() {
        let centre = FACES[usize::from(colours[9 * face + 4])];
        if centre != *letter {
            return Err(impossible(format!(
                "the centre of face {letter} is {centre}, and centres do not move: name each colour by its centre, \
                 and give the faces in the order U R F D L B"
            )));
        }
    }
    Ok(())
}

/// The piece at each corner place, with its twist.
fn corners(colours: &[u8]) -> Result<[u8; 8], ParseError> {
    let mut found = [0; 8];
    for (place, facelets) in CORNER_FACELETS.iter().enumerate() {
        let seen = facelets.map(|facelet| colours[facelet]);
        let corner = (0..24).find(|&corner| CORNER_COLOURS[corner] == seen);
        let Some(corner) = corner else {
            return Err(impossible(no_such_piece("corner", CORNER_NAMES[place], &seen)));
        };
        found[place] = corner as u8;
    }
    check_distinct("corner", &CORNER_NAMES, &found.map(|corner| usize::from(corner % 8)))?;
    Ok(found)
}

/// The piece at each edge place, with its flip.
fn edges(colours: &[u8]) -> Result<[u8; 12], ParseError> {
    let mut found = [0; 12];
    for (place, facelets) in EDGE_FACELETS.iter().enumerate() {
        let seen = facelets.map(|facelet| colours[facelet]);
        let edge = (0..28).filter(|edge| edge % 16 < 12).find(|&edge| EDGE_COLOURS[edge] == seen);
        let Some(edge) = edge else {
            return Err(impossible(no_such_piece("edge", EDGE_NAMES[place], &seen)));
        };
        found[place] = edge as u8;
    }
    check_distinct("edge", &EDGE_NAMES, &found.map(|edge| usize::from(edge % 16)))?;
    Ok(found)
}

fn no_such_piece(kind: &str, place: &str, seen: &[u8]) -> String {
    let letters: String = seen.iter().map(|&colour| FACES[usize::from(colour)]).collect();
    let mut sorted = letters.clone().into_bytes();
    sorted.sort_unstable();
    let mirrored = kind == "corner"
        && CORNER_NAMES.iter().any(|name| {
            let mut name = name.as_bytes().to_vec();
            name.sort_unstable();
            name == sorted
        });
    if mirrored {
        format!("the {kind} at {place} reads {letters}, the mirror image of a real one")
    } else {
        format!("the {kind} at {place} reads {letters}, and there is no such piece")
    }
}

fn check_distinct(kind: &str, names: &[&str], pieces: &[usize]) -> Result<(), ParseError> {
    for (place, piece) in pieces.iter().enumerate() {
        if let Some(first) = pieces[..place].iter().position(|earlier| earlier == piece) {
            return Err(impossible(format!(
                "the {kind} {} is there twice, at {} and at {}",
                names[*piece], names[first], names[place]
            )));
        }
    }
    Ok(())
}

/// The three laws of what turns can reach: twists add up to 0 mod 3, flips to 0 mod 2, and the parities agree.
fn check_laws(corners: &[u8; 8], edges: &[u8; 12]) -> Result<(), ParseError> {
    check_twists(corners)?;
    if edges.iter().map(|edge| edge / 16).sum::<u8>() % 2 != 0 {
        return Err(impossible("an edge is flipped in its place".into()));
    }
    if odd(&corners.map(|corner| corner % 8)) != odd(&edges.map(|edge| edge % 16)) {
        return Err(impossible("the permutation is odd: two pieces are swapped".into()));
    }
    Ok(())
}

fn check_twists(corners: &[u8; 8]) -> Result<(), ParseError> {
    let twists: u8 = corners.iter().map(|corner| corner / 8).sum();
    if twists.is_multiple_of(3) { Ok(()) } else { Err(impossible("a corner is twisted in its place".into())) }
}

fn odd(permutation: &[u8]) -> bool {
    let inversions = (0..permutation.len())
        .flat_map(|j| (0..j).map(move |i| (i, j)))
        .filter(|&(i, j)| permutation[i] > permutation[j])
        .count();
    inversions % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::{Puzzle as _, cube3::Cube3};

    fn refusal(corners: [u8; 8], edges: [u8; 12]) -> String {
        let text = Cube3.format(&CubeState::pack(corners, edges));
        parse(&text).expect_err("an impossible cube").to_string()
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
        let mut rotated: Vec<char> = solved.chars().collect();
        rotated.swap(4, 13);
        assert!(parse(&rotated.iter().collect::<String>()).expect_err("centres").to_string().contains("centre"));
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
    fn only_54_letters_are_facelets() {
        let solved = Cube3.format(&CubeState::SOLVED);
        assert!(looks_like(&solved));
        assert!(!looks_like(&solved[1..]));
        assert!(!looks_like("U U F' R2"));
    }
}
