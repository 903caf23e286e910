//! costar learns, from nothing but a puzzle's rules, how far any state is from solved, and lets a batched best-first
//! search use that estimate to find short solutions. The name is the method: *cost*-to-go plus A*.
//!
//! ```text
//! solve:  text ─ Puzzle::parse ─► state ─► search: pop N, expand, drop duplicates ─► &[State]
//!                                            ▲                                          │ Heuristic::submit
//!                                            │ f = λ·g + h      rows of small integers  ▼
//!                                            └──── estimates ◄── one forward pass ◄── one-hot, on the device
//!         moves ─► replayed from the parsed input ─► printed
//!
//! train:  sampler threads ─► Batch { states, labels, back moves } ─► bounded channel ─► device ─► step
//!                                                                                         │
//!                                            metrics.jsonl, checkpoints ◄─────────────────┘
//! ```
//!
//! [`search`] knows no tensor, [`puzzle`]s know no network, [`report`], [`plot`] and [`view`] know no search: each end of an
//! arrow can be replaced. Only [`neural`] names the tensor library.

#![warn(missing_docs)]

pub mod cache;
pub mod cli;
pub mod exact;
pub mod files;
pub mod heuristic;
pub mod memory;
pub mod neural;
pub mod plot;
pub mod progress;
pub mod puzzle;
pub mod quantity;
pub mod report;
pub mod sampler;
pub mod search;
pub mod signal;
pub mod train;
pub mod view;
