//! The shape of a puzzle: the keys `faces` and `geometry` of its file.

use super::description::position;
use crate::puzzle::notation::{bail_parse, ensure_parse};
use crate::puzzle::{Face, Geometry, GeometryMove, ParseError};
use serde_json::{Map, Value};

/// The greatest coordinate.
const MAX_COORDINATE: f64 = 1e6;
/// The most corners of a polygon.
const MAX_CORNERS: usize = 64;

/// Reads the shape of a puzzle with these moves; `None` if its file has none. `refuse` makes an error of a key and a reason.
pub(super) fn read(
    object: &Map<String, Value>,
    positions: usize,
    moves: &[(String, Vec<u16>)],
    refuse: impl Fn(&str, String) -> ParseError,
) -> Result<Option<Geometry>, ParseError> {
    let faces = object.get("faces").map(|value| faces(value, positions)).transpose();
    let faces = faces.map_err(|why| refuse("faces", why))?;
    let polygons = object.get("geometry").map(|value| polygons(value, positions)).transpose();
    let polygons = polygons.map_err(|why| refuse("geometry", why))?;
    if faces.is_none() && polygons.is_none() {
        return Ok(None);
    }
    let moves = moves.iter().map(|(name, from)| GeometryMove { name: name.clone(), from: from.clone() }).collect();
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
            let place = position(number, positions).map_err(|why| format!("the face '{name}' {why}"))?;
            if let Some(other) = on[place].replace(name) {
                bail_parse!("position {place} is on '{other}' and on '{name}'");
            }
            face.positions.push(place as u16);
        }
        faces.push(face);
    }
    match on.iter().position(Option::is_none) {
        Some(place) => bail_parse!("position {place} is on no face"),
        None => Ok(faces),
    }
}

fn polygons(value: &Value, positions: usize) -> Result<Vec<Vec<Vec<f64>>>, String> {
    let list = value.as_array().ok_or("\"geometry\" must be an array: for each position, its corners")?;
    let count = list.len();
    ensure_parse!(count == positions, "\"geometry\" has {count} polygons, and the goal has {positions} positions");
    let mut coordinates = None;
    let read = |(place, value)| {
        polygon(value, &mut coordinates).map_err(|why| format!("the polygon of position {place} {why}"))
    };
    list.iter().enumerate().map(read).collect()
}

/// Reads a polygon, whose points have as many coordinates as those of the other polygons.
fn polygon(value: &Value, coordinates: &mut Option<usize>) -> Result<Vec<Vec<f64>>, String> {
    let corners = value.as_array().filter(|corners| (3..=MAX_CORNERS).contains(&corners.len()));
    let corners = corners.ok_or_else(|| format!("must be an array of 3 to {MAX_CORNERS} points"))?;
    let mut polygon: Vec<Vec<f64>> = Vec::with_capacity(corners.len());
    for corner in corners {
        let point = corner.as_array().and_then(|numbers| numbers.iter().map(Value::as_f64).collect());
        let point = point.filter(|point: &Vec<f64>| (2..=3).contains(&point.len()));
        let point = point.ok_or_else(|| format!("holds {corner}: expected [x, y] or [x, y, z]"))?;
        let is_near = point.iter().all(|number| number.abs() <= MAX_COORDINATE);
        ensure_parse!(is_near, "holds {corner}: expected coordinates up to {MAX_COORDINATE:e}");
        let is_alike = *coordinates.get_or_insert(point.len()) == point.len();
        ensure_parse!(is_alike, "mixes points of two and of three coordinates");
        polygon.push(point);
    }
    ensure_parse!(polygon.iter().any(|point| *point != polygon[0]), "is a single point");
    Ok(polygon)
}

#[cfg(test)]
mod tests {
    use super::super::Description;
    use crate::puzzle::Geometry;

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
