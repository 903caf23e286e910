//! What a state looks like, as data: whoever shows states to people draws it.

use serde::Serialize;

/// A picture of a state. Serialised, it is an object whose `kind` says which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Picture {
    /// A cube, turned in layers; moves are named as people name turns: U R F D L B, and x y z for the whole cube.
    Cube {
        /// Cubies along an edge.
        size: usize,
        /// The letter of each facelet's colour: the faces U R F D L B, each row by row.
        facelets: String,
    },
    /// Sliding tiles; a move names the way that the blank goes: U D L R.
    Tiles {
        /// Cells of a row.
        columns: usize,
        /// The tiles row by row, 0 the blank.
        tiles: Vec<u8>,
    },
    /// Lights Out; a move is a press `row,column`, both from 1. Solved with all lights off.
    Lights {
        /// Lights of a row.
        columns: usize,
        /// Row by row, whether a light is on.
        lit: Vec<bool>,
    },
    /// Water jugs; the move `(0,1)` pours from jug 0 into jug 1.
    Jugs {
        /// What each jug holds at most.
        capacities: Vec<u8>,
        /// What it holds now.
        volumes: Vec<u8>,
        /// The volume of each jug that is the goal; empty where there is no goal.
        marks: Vec<u8>,
        /// Whether every jug must stand at its mark, or any one of them.
        every: bool,
    },
    /// Symbols at positions.
    Row {
        /// The symbol at each position.
        symbols: Vec<String>,
    },
    /// A Sokoban level; a move names the way that the player goes: U D L R. Solved when no box is off the goals.
    Sokoban {
        /// The level's rows in XSB: `#` wall, `.` goal, `$` box, `*` box on a goal, `@` player, `+` player on a goal.
        rows: Vec<String>,
    },
    /// Any other puzzle: its drawing in letters.
    Text {
        /// Several lines.
        text: String,
    },
}
