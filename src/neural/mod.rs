//! The only module that uses tensors: networks, the device they run on, their training step, their files, and the
//! network as a [`Heuristic`](crate::heuristic::Heuristic).

pub mod device;
pub mod heuristic;
pub mod learner;
pub mod model;
pub mod network;
pub mod precision;
pub mod state;

mod encode;
mod int8;
mod mlp;
mod operations;
mod optimizer;
mod parameters;
mod resnet;
