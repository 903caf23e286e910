//! Puzzles: their laws, a second implementation of the cube, and the tables of the source documents.

mod cube_geometry;
mod eight_puzzle;
mod jugs;
mod laws;
mod texts;
