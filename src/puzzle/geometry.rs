//! Where the positions of a puzzle are, for whoever draws it.

use serde::Serialize;

/// The shape of a puzzle whose moves permute positions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Geometry {
    /// Groups of positions that have a name. Every position is on one, or there are none.
    pub faces: Vec<Face>,
    /// For each position, the corners of its polygon in order: all with two coordinates (x to the right, y up), or all
    /// with three (z towards the viewer). The unit does not matter. Empty where only the faces are known.
    pub polygons: Vec<Vec<Vec<f64>>>,
    /// Each move, in the order of their numbers: what goes to position i comes from `from[i]`.
    pub moves: Vec<Permuting>,
}

/// Positions with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Face {
    /// What people call it.
    pub name: String,
    /// In the order in which they are read.
    pub positions: Vec<u8>,
}

/// What a move does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Permuting {
    /// The move's name.
    pub name: String,
    /// For each position, where its symbol comes from.
    pub from: Vec<u8>,
}
