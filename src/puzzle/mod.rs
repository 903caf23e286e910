//! Puzzles: the traits that everything else knows a puzzle by, and one puzzle per file.
//!
//! A puzzle is the sum of three traits: [`Rules`], [`Notation`] and [`Encode`]. It knows no search, no heuristic and no
//! network. CONTRIBUTING.md says how to add one.
//!
//! | file | content |
//! | --- | --- |
//! | `rules` | [`Rules`]: states, moves, costs, goals, inverses, facts for searches; [`replay`] |
//! | `notation` | [`Notation`]: text in and out, and pictures; [`Scramble`], [`ParseError`] |
//! | `encoding` | [`Encode`]: states as rows for a network; [`Encoding`] |
//! | `move_table` | [`MoveTable`]: the moves as changes of rows, for a device |
//! | `picture` | [`Picture`]: pictures of states; [`Geometry`]: the shape of a puzzle |
//! | `symmetry` | images of instances, classes of states |
//! | `state_index` | [`Indexed`]: a minimal perfect hash of all states |
//! | `laws` | the laws of every puzzle, as checks for tests |
//! | `move_costs` | costs of moves that a user gives |
//! | `cube2`, `cube3` | the 2×2×2 and the 3×3×3 |
//! | `tiles` | sliding tiles |
//! | `lightsout`, `jugs`, `sokoban` | Lights Out, water jugs, Sokoban |
//! | `permutation` | puzzles from a file: moves that permute positions |
//! | `cube_n` | cubes of other sizes, as such puzzles: their turns, notation and stages |
//!
//! # Example: a puzzle in a few lines
//!
//! ```
//! use costar::puzzle::{Encode, Encoding, Instance, Move, Notation, ParseError, Rules};
//!
//! /// A dial with twelve positions; solved at 0.
//! #[derive(Debug, Clone)]
//! struct Dial;
//!
//! impl Rules for Dial {
//!     type State = u8;
//!
//!     fn name(&self) -> String {
//!         "dial".into()
//!     }
//!     fn move_count(&self) -> usize {
//!         2
//!     }
//!     fn apply(&self, state: &u8, action: Move) -> Option<u8> {
//!         Some((state + [1, 11][usize::from(action)]) % 12)
//!     }
//!     fn is_goal(&self, state: &u8) -> bool {
//!         *state == 0
//!     }
//! }
//!
//! impl Notation for Dial {
//!     fn notation(&self) -> &'static str {
//!         "the position from 0 to 11; moves + and -"
//!     }
//!     fn move_name(&self, action: Move) -> String {
//!         ["+", "-"][usize::from(action)].into()
//!     }
//!     fn read(&self, text: &str) -> Result<Instance<u8>, ParseError> {
//!         let number = text.trim().parse::<u8>().ok().filter(|&number| number < 12);
//!         number.map(Instance::from).ok_or_else(|| ParseError(format!("'{text}': expected a number from 0 to 11")))
//!     }
//!     fn format(&self, state: &u8) -> String {
//!         state.to_string()
//!     }
//! }
//!
//! impl Encode for Dial {
//!     fn encoding(&self) -> Encoding {
//!         Encoding::row(1, 12)
//!     }
//!     fn encode(&self, state: &u8, row: &mut [u8]) {
//!         row[0] = *state;
//!     }
//! }
//!
//! assert_eq!(Dial.apply(&11, 0), Some(0));
//! assert_eq!(Dial.parse_moves("+ -"), Ok(vec![0, 1]));
//! ```

pub mod cube2;
pub mod cube3;
pub mod cube_n;
mod encoding;
pub mod jugs;
pub mod laws;
pub mod lightsout;
pub mod move_costs;
mod move_table;
mod notation;
pub mod permutation;
mod picture;
mod rules;
pub mod sokoban;
mod state_index;
mod symmetry;
pub mod tiles;

pub use encoding::{Encode, Encoding, Grid};
pub use move_table::MoveTable;
pub(crate) use notation::counted;
pub use notation::{Block, Instance, Notation, ParseError, Scramble, move_names};
#[cfg(feature = "cli")]
pub(crate) use notation::{is_frame, members, unquoted, visible};
pub(crate) use notation::{plain, without_comment};
pub use picture::{Face, Geometry, GeometryMove, Picture, Style};
pub use rules::{Cost, Move, Rules, State, StateBytes, replay};
pub(crate) use rules::{assert_reversible, bits, distinct};
pub use state_index::Indexed;
pub use symmetry::{Class, SymmetricImage, SymmetricImages, Symmetries};

/// A puzzle: rules, notation and encoding.
pub trait Puzzle: Rules + Notation + Encode {}
impl<P: Rules + Notation + Encode> Puzzle for P {}
