//! States and puzzles as pictures: data for the page, and drawings in letters or colours for a terminal.

use serde::Serialize;

/// The style of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Letters only.
    Plain,
    /// ANSI colours, for a terminal.
    Coloured,
}

/// A picture of a state, as data. Serialised, it is an object; its `kind` names the variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Picture {
    /// A cube, turned in layers; moves have the usual names of turns: U R F D L B, and x y z for the whole cube.
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
        /// The tiles of the goal: a drawing colours the tiles that are home.
        #[serde(skip)]
        goal: Vec<u8>,
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
        /// The capacity of each jug.
        capacities: Vec<u8>,
        /// The volume in each jug.
        volumes: Vec<u8>,
        /// The volume of each jug that is the goal; empty if there is no goal.
        marks: Vec<u8>,
        /// Whether the goal needs every jug at its mark, or any one of them.
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
    /// Any other puzzle: a drawing in letters.
    Text {
        /// Several lines.
        text: String,
    },
}

impl Picture {
    /// Draws the picture in letters or colours.
    pub fn draw(&self, style: Style) -> String {
        match self {
            Picture::Cube { size, facelets } => draw_net(*size, facelets, style),
            Picture::Tiles { columns, tiles, goal } => {
                let draw = |(tile, home): (&u8, &u8)| match style {
                    _ if *tile == 0 => "  .".into(),
                    Style::Coloured if tile == home => format!("\x1b[32m{tile:>3}\x1b[0m"),
                    _ => format!("{tile:>3}"),
                };
                in_rows(*columns, tiles.iter().zip(goal).map(draw))
            }
            Picture::Lights { columns, lit } => {
                let draw = |lit: &bool| match style {
                    Style::Plain if *lit => "# ",
                    Style::Coloured if *lit => "\x1b[33m● \x1b[0m",
                    _ => "· ",
                };
                in_rows(*columns, lit.iter().map(|lit| draw(lit).into()))
            }
            Picture::Jugs { capacities, volumes, .. } => {
                let jugs = capacities.iter().zip(volumes).enumerate().map(|(jug, (&capacity, &volume))| {
                    let (full, empty) = ("█".repeat(volume.into()), "·".repeat((capacity - volume).into()));
                    format!("{jug}: {full}{empty} {volume} of {capacity}")
                });
                in_rows(1, jugs)
            }
            Picture::Row { symbols } => {
                let letters = symbols.iter().all(|symbol| symbol.chars().count() == 1);
                symbols.join(if letters { "" } else { " " })
            }
            Picture::Sokoban { rows } => match style {
                Style::Plain => rows.join("\n"),
                Style::Coloured => rows.join("\n").chars().map(coloured_square).collect(),
            },
            Picture::Text { text } => text.clone(),
        }
    }
}

/// Joins cells to rows, and rows to lines.
fn in_rows(columns: usize, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    cells.chunks(columns).map(<[String]>::concat).collect::<Vec<_>>().join("\n")
}

/// The net of a cube: U on top, then L F R B, then D.
fn draw_net(size: usize, facelets: &str, style: Style) -> String {
    let facelets: Vec<String> = facelets.chars().map(|letter| draw_facelet(letter, style)).collect();
    let mut lines = Vec::new();
    for faces in [&[0][..], &[4, 2, 1, 5], &[3]] {
        let indent = if faces.len() == 1 { 2 * size + 1 } else { 0 };
        for row in 0..size {
            let faces: Vec<String> =
                faces.iter().map(|face| facelets[size * (size * face + row)..][..size].concat()).collect();
            lines.push(format!("{:indent$}{}", "", faces.join(" ").trim_end()));
        }
    }
    lines.join("\n")
}

/// A facelet, two characters wide.
fn draw_facelet(letter: char, style: Style) -> String {
    /// Face, background and foreground: white, red, green, yellow, orange, blue, as on most cubes.
    const COLOURS: [(char, u8, u8); 6] =
        [('U', 231, 16), ('R', 160, 231), ('F', 34, 231), ('D', 226, 16), ('L', 208, 16), ('B', 27, 231)];
    match COLOURS.iter().find(|(face, ..)| style == Style::Coloured && *face == letter) {
        Some((_, background, foreground)) => format!("\x1b[48;5;{background};38;5;{foreground}m{letter} \x1b[0m"),
        None => format!("{letter} "),
    }
}

/// A square of a Sokoban level, in colour.
fn coloured_square(letter: char) -> String {
    match letter {
        '#' => "\x1b[90m█\x1b[0m".into(),
        '$' => "\x1b[33m$\x1b[0m".into(),
        '*' => "\x1b[32m*\x1b[0m".into(),
        '@' | '+' => format!("\x1b[1m{letter}\x1b[0m"),
        _ => letter.to_string(),
    }
}

/// The shape of a puzzle whose moves permute positions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Geometry {
    /// Named groups of positions. Every position is on one, or there are none.
    pub faces: Vec<Face>,
    /// For each position, the corners of its polygon in order: all with two coordinates (x to the right, y up), or all
    /// with three (z towards the viewer), in any unit. Empty if only the faces are known.
    pub polygons: Vec<Vec<Vec<f64>>>,
    /// The moves, in the order of their indices.
    pub moves: Vec<GeometryMove>,
}

/// A face: positions with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Face {
    /// The usual name of the face.
    pub name: String,
    /// The positions, in reading order.
    pub positions: Vec<u16>,
}

/// A move as a permutation of positions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GeometryMove {
    /// The move's name.
    pub name: String,
    /// For each position, the position that its symbol comes from.
    pub from: Vec<u16>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Notation as _;
    use crate::puzzle::cube3::{Cube3, CubeState};

    #[test]
    fn a_net_is_drawn_in_letters_or_colours() {
        let plain = Cube3.draw(&CubeState::SOLVED, Style::Plain);
        assert_eq!(plain.lines().count(), 9);
        assert_eq!(plain.lines().nth(3), Some("L L L  F F F  R R R  B B B"));
        assert!(!plain.contains('\x1b'));
        let coloured = Cube3.draw(&CubeState::SOLVED, Style::Coloured);
        let mut letters = String::new();
        let mut rest = coloured.as_str();
        while let Some(at) = rest.find('\x1b') {
            letters += &rest[..at];
            rest = &rest[at + rest[at..].find('m').expect("an escape ends with m") + 1..];
        }
        letters += rest;
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(squeezed(&letters), squeezed(&plain));
    }
}
