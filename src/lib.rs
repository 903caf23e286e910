//! costar learns, from nothing but a puzzle's rules, how far any state is from solved, and lets a batched best-first
//! search use that estimate to find short solutions. The name is the method: *cost*-to-go plus A*.
//!
//! # Example: solve a cube
//!
//! ```
//! use costar::puzzle::cube3::Cube3;
//! use costar::solver::{SearchOptions, Solver};
//!
//! let solution = Solver::new(Cube3, SearchOptions::default())?.solve("R U F'")?;
//! assert_eq!(solution.to_string(), "F U' R'");
//! # Ok::<(), costar::Error>(())
//! ```
//!
//! # Data flow
//!
//! ```text
//! solve:  text ─ Puzzle::parse ─► state ─► search: pop N, expand, drop duplicates ─► &[State]
//!                                            ▲                                          │ Heuristic::submit
//!                                            │ f = λ·g + h      rows of small integers  ▼
//!                                            └──── estimates ◄── one forward pass ◄── one-hot, on the device
//!         moves ─► replayed from the parsed input ─► Solution
//!
//! train:  sampler threads ─► Batch { states, labels, policy targets } ─► bounded channel ─► device ─► step
//!                                                                                            │
//!                                               metrics.jsonl, checkpoints ◄─────────────────┘
//! ```
//!
//! # Modules
//!
//! | module | what is in it | it may use |
//! | --- | --- | --- |
//! | [`puzzle`] | the rules: traits, one puzzle per file | nothing |
//! | [`heuristic`] | estimates of the cost-to-go | puzzle |
//! | [`search`] | searches | puzzle, heuristic |
//! | [`sampler`] | training batches from random walks and other sources | puzzle, heuristic, search |
//! | [`registry`] | name → puzzle, and what is known of each from outside its rules | puzzle, heuristic, search, sampler |
//! | [`neural`] | networks, devices, models on disk: the only module that names the tensor library | puzzle, heuristic, sampler |
//! | [`distributed`] | several processes at one task: torch.distributed | nothing |
//! | [`report`] | records of solutions and trainings, as JSON lines | nothing |
//! | [`train`] | the training loop and its checkpoints | puzzle, search, sampler, registry, neural, distributed, report |
//! | [`solver`] | a configuration → a plan → solutions | puzzle, heuristic, search, registry, neural, report, train |
//! | `plot`, `view` | pictures of records; the page that plays a solution | report; puzzle |
//! | `server`, `cli` | HTTP and the command line: thin layers over `solver` and `train` | everything |
//!
//! # Cargo features
//!
//! All are on by default. A library needs none: `default-features = false`.
//!
//! - `cli`: the program `costar` (clap, indicatif).
//! - `serve`: the HTTP server (axum).
//! - `plot`: pictures as PNG, SVG and GIF (plotters).
//! - `view`: the page that plays a solution.

#![warn(missing_docs)]

pub mod cache;
#[cfg(feature = "cli")]
pub mod cli;
pub mod distributed;
mod error;
pub mod files;
mod guarded;
pub mod heuristic;
mod json;
mod machine;
pub mod memory;
pub mod neural;
#[cfg(feature = "plot")]
pub mod plot;
pub mod puzzle;
pub mod quantity;
pub mod random;
pub mod registry;
pub mod report;
pub mod sampler;
pub mod search;
#[cfg(feature = "serve")]
pub mod server;
pub mod solver;
pub mod train;
#[cfg(feature = "view")]
pub mod view;
mod workers;

pub use error::{Error, Result, SettingError};
