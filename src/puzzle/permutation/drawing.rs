//! The keys of a puzzle's file that say how to draw it: `faces` and `geometry`.

use super::super::geometry::{Face, Geometry, Permuting};
use serde_json::{Map, Value};

/// The greatest coordinate.
const FARTHEST: f64 = 1e6;
/// The most corners of a polygon.
const MOST_CORNERS: usize = 64;

/// Why a key is refused.
pub(super) struct Refusal {
    pub(super) key: &'static str,
    pub(super) why: String,
}

/// What the file of a puzzle with these moves says of its shape; `None` if it says nothing.
pub(super) fn read(
    object: &Map<String, Value>,
    positions: usize,
    moves: &[(String, Vec<u8>)],
) -> Result<Option<Geometry>, Refusal> {
    let in_key = |key| move |why| Refusal { key, why };
    let faces = object.get("faces").map(|value| faces(value, positions)).transpose().map_err(in_key("faces"))?;
    let polygons =
        object.get("geometry").map(|value| polygons(value, positions)).transpose().map_err(in_key("geometry"))?;
    if faces.is_none() && polygons.is_none() {
        return Ok(None);
    }
    let moves = moves.iter().map(|(name, from)| Permuting { name: name.clone(), from: from.clone() }).collect();
    Ok(Some(Geometry { faces: faces.unwrap_or_default(), polygons: polygons.unwrap_or_default(), moves }))
}

fn faces(value: &Value, positions: usize) -> Result<Vec<Face>, String> {
    let object = value.as_object().filter(|faces| !faces.is_empty());
    let object = object.ok_or("\"faces\" must be an object of named lists of positions")?;
    let mut on = vec![None; positions];
    let mut faces = Vec::new();
    for (name, value) in object {
        let list = value.as_array().filter(|list| !list.is_empty() && !name.trim().is_empty());
        let list = list.ok_or_else(|| format!("the face '{name}' must have a name and a list of positions"))?;
        let mut face = Face { name: name.clone(), positions: Vec::with_capacity(list.len()) };
        for number in list {
            let place =
                number.as_u64().and_then(|place| usize::try_from(place).ok()).filter(|&place| place < positions);
            let place = place.ok_or_else(|| {
                format!("the face '{name}' holds {number}: expected positions from 0 to {}", positions - 1)
            })?;
            if let Some(other) = on[place].replace(name) {
                return Err(format!("position {place} is on '{other}' and on '{name}'"));
            }
            face.positions.push(place as u8);
        }
        faces.push(face);
    }
    match on.iter().position(Option::is_none) {
        Some(place) => Err(format!("position {place} is on no face")),
        None => Ok(faces),
    }
}

fn polygons(value: &Value, positions: usize) -> Result<Vec<Vec<Vec<f64>>>, String> {
    let list = value.as_array().ok_or("\"geometry\" must be an array: for each position, its corners")?;
    if list.len() != positions {
        return Err(format!("\"geometry\" has {} polygons, and the goal has {positions} positions", list.len()));
    }
    let mut coordinates = None;
    let mut polygons = Vec::with_capacity(positions);
    for (place, value) in list.iter().enumerate() {
        let refuse = |why: String| format!("the polygon of position {place} {why}");
        let corners = value.as_array().filter(|corners| (3..=MOST_CORNERS).contains(&corners.len()));
        let corners = corners.ok_or_else(|| refuse(format!("must be an array of 3 to {MOST_CORNERS} points")))?;
        let mut polygon = Vec::with_capacity(corners.len());
        for corner in corners {
            let point = corner.as_array().and_then(|numbers| {
                let numbers: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
                numbers.filter(|numbers| (2..=3).contains(&numbers.len()))
            });
            let point = point.ok_or_else(|| refuse(format!("holds {corner}: expected [x, y] or [x, y, z]")))?;
            if point.iter().any(|number| !(-FARTHEST..=FARTHEST).contains(number)) {
                return Err(refuse(format!("holds {corner}: expected coordinates up to {FARTHEST:e}")));
            }
            if *coordinates.get_or_insert(point.len()) != point.len() {
                return Err(refuse("mixes points of two and of three coordinates".into()));
            }
            polygon.push(point);
        }
        if polygon.iter().all(|point| *point == polygon[0]) {
            return Err(refuse("is a single point".into()));
        }
        polygons.push(polygon);
    }
    Ok(polygons)
}

#[cfg(test)]
mod tests {
    use super::super::Description;
    use crate::puzzle::geometry::Geometry;

    fn read(keys: &str) -> Result<Option<Geometry>, String> {
        let text = format!("{{ \"name\": \"toy\", \"goal\": \"ABC\", \"moves\": {{ \"m\": [1, 2, 0] }},\n{keys} }}");
        Description::parse(&text).map(|puzzle| puzzle.geometry).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn faces_and_polygons_are_read() {
        let square = "[[0, 0], [1, 0], [1, 1], [0, 1]]";
        let geometry =
            read(&format!("\"faces\": {{\"x\": [2], \"y\": [0, 1]}}, \"geometry\": [{square},{square},{square}]"));
        let geometry = geometry.expect("a puzzle").expect("a shape");
        assert_eq!(geometry.polygons[2][2], [1.0, 1.0]);
        let faces: Vec<_> = geometry.faces.iter().map(|face| (&face.name[..], &face.positions[..])).collect();
        assert!(faces.contains(&("x", &[2])) && faces.contains(&("y", &[0, 1])), "{faces:?}");
        assert_eq!((&geometry.moves[0].name[..], &geometry.moves[0].from[..]), ("m", &[1, 2, 0][..]));
        assert_eq!(read("\"symmetric\": true"), Ok(None));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_with_line_and_reason() {
        let points = |second: &str| format!("\"geometry\": [[[0,0],[1,0],[0,1]], [{second}], [[0,0],[1,0],[0,1]]]");
        for (keys, reason) in [
            ("\"faces\": []".into(), "must be an object of named lists"),
            ("\"faces\": {\"x\": [0, 1]}".into(), "position 2 is on no face"),
            ("\"faces\": {\"x\": [0, 1, 2, 3]}".into(), "holds 3: expected positions from 0 to 2"),
            ("\"faces\": {\"x\": [0, 1], \"y\": [1, 2]}".into(), "position 1 is on 'x' and on 'y'"),
            ("\"faces\": {\"x\": []}".into(), "the face 'x' must have"),
            ("\"geometry\": [[]]".into(), "has 1 polygons, and the goal has 3 positions"),
            (points("[0,0],[1,0]"), "position 1 must be an array of 3 to 64 points"),
            (points("[0,0],[1,0],[0,1,2]"), "position 1 mixes"),
            (points("[0,0],[1,0],[0]"), "holds [0]: expected [x, y] or [x, y, z]"),
            (points("[0,0],[1,0],[0,1e9]"), "expected coordinates up to 1e6"),
            (points("[1,1],[1,1],[1,1]"), "is a single point"),
        ] {
            let refusal = read(&keys).expect_err(&keys);
            assert!(refusal.starts_with("line 2: ") && refusal.contains(reason), "{refusal}");
        }
    }
}
