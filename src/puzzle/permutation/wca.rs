//! Scrambles of the Megaminx as the World Cube Association writes them: `R++ D-- … U'`.

use crate::puzzle::ParseError;
use crate::puzzle::notation::bail_parse;

/// Where a clockwise fifth of a turn of the whole puzzle takes the faces, each to the place of the next.
type Rotation = [[&'static str; 5]; 2];

/// About the axis of L, seen from the face opposite.
const R: Rotation = [["U", "BL", "DL", "FL", "F"], ["R", "BR", "B", "D", "FR"]];
/// About the axis of U, seen from D.
const D: Rotation = [["F", "R", "BR", "BL", "L"], ["B", "DL", "FL", "FR", "DR"]];

/// Whether a text is such a scramble.
pub(super) fn is_scramble(text: &str) -> bool {
    text.split_whitespace().any(|word| word.starts_with(['R', 'D']) && word.ends_with(['+', '-']))
}

/// The names of the moves, for the puzzle as it is held before the scramble: `R++` turns all layers but L by two fifths, which
/// is a turn of L and then of the whole puzzle.
///
/// # Errors
/// Names the word that is refused, and what was expected.
pub(super) fn moves(text: &str) -> Result<Vec<String>, ParseError> {
    // For each face, the one that was turned to another place.
    let mut faces: Vec<(&str, &str)> = R.into_iter().flatten().chain(["L", "DR"]).map(|place| (place, place)).collect();
    let mut names = Vec::new();
    for word in text.split_whitespace() {
        let (turned, rotation, fifths) = match word {
            "R++" => ("L", R, 2),
            "R--" => ("L", R, -2),
            "D++" => ("U", D, 2),
            "D--" => ("U", D, -2),
            "U" => ("U", D, 1),
            "U'" => ("U", D, -1),
            _ => bail_parse!("'{word}' is not a move of a WCA scramble: expected R++ R-- D++ D-- U U'"),
        };
        let at = |place: &str| faces.iter().find(|(_, other)| *other == place).map_or("", |(face, _)| face);
        let name = format!("M_{}{}", at(turned), if fifths > 0 { "_inv" } else { "" });
        names.extend(std::iter::repeat_n(name, i32::abs(fifths) as usize));
        if word.len() == 3 {
            for (_, place) in &mut faces {
                let step = |cycle: &[&'static str; 5]| {
                    let from = cycle.iter().position(|face| face == place)?;
                    Some(cycle[(from as i32 + fifths).rem_euclid(5) as usize])
                };
                *place = rotation.iter().find_map(step).unwrap_or(place);
            }
        }
    }
    Ok(names)
}
