//! costar learns, from nothing but a puzzle's rules, how far any state is from solved, and lets a beam search or
//! batch-weighted A* use that estimate to find short solutions. The name is the method: *cost*-to-go plus A*.
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
//! solve:  text ─ Notation::parse ─► state ─► search: pop N, expand, drop duplicates ─► &[State]
//!                                              ▲                                          │ Heuristic::submit
//!                                              │ f = λ·g + h      rows of small integers  ▼
//!                                              └──── estimates ◄── one forward pass ◄── one-hot, on the device
//!         a beam, the default: search: a layer's most promising children, looked up, evaluated, cut to the width
//!         moves ─► replayed from the parsed input ─► Solution
//!
//! train:  sampler threads ─► Batch { states, labels, policy targets } ─► bounded channel ─► device ─► step
//!                                                                                            │
//!                                               metrics.jsonl, checkpoints ◄─────────────────┘
//! ```
//!
//! CONTRIBUTING.md follows `costar solve` from the flags to the kernels.
//!
//! # Modules
//!
//! | module | content | it may use |
//! | --- | --- | --- |
//! | [`puzzle`] | rules of the puzzles, one puzzle per file | nothing |
//! | [`heuristic`] | estimates of the cost-to-go that need no network | puzzle |
//! | [`search`] | searches, one per file; the perimeter | puzzle, heuristic |
//! | [`sampler`] | training batches from random walks and other sources | puzzle, heuristic, search |
//! | [`registry`] | name → puzzle, with its heuristics and samplers | puzzle, heuristic, search, sampler |
//! | [`neural`] | networks, devices, models on disk | puzzle, heuristic, search, sampler |
//! | [`distributed`] | several processes at one task, through torch.distributed | nothing |
//! | [`report`] | records of solutions and trainings, as JSON lines | nothing |
//! | [`train`] | the training loop and its checkpoints | puzzle, search, sampler, registry, neural, distributed, report |
//! | [`solver`] | options → plan → solutions | puzzle, heuristic, search, registry, neural, report |
//! | `plot`, `view` | plots of records; the page that plays a solution | report; puzzle |
//! | `server`, `cli` | HTTP and the command line, thin layers over `solver` and `train` | everything |
//!
//! Small files that several modules share: `error`, `random`, [`files`] (atomic writes), [`cache`] (tables on disk),
//! [`memory`], `cpu_features`, [`quantity`] (numbers in texts), `json`, [`exchange`] (between processes), `waiting` (notices
//! of long waits), `workers` (threads), and `tensors` (calls of libtorch). Only `neural`, `sampler::device`,
//! `search::device` and `tensors` name the tensor library.
//!
//! # Cargo features
//!
//! All are on by default. A library needs none: `default-features = false`.
//!
//! - `cli`: the program `costar` (clap, indicatif).
//! - `serve`: the HTTP server (axum).
//! - `plot`: plots as PNG, SVG and GIF (tiny-skia, gif).

#![warn(missing_docs)]

pub mod cache;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "there is only portable code"))]
mod cpu_features;
pub mod distributed;
mod error;
pub mod exchange;
pub mod files;
pub mod heuristic;
mod json;
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
mod tensors;
pub mod train;
pub mod view;
mod waiting;
mod workers;

pub use error::{Error, Result, SettingError};
