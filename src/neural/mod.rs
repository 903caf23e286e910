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
mod heads;
// Elsewhere there is no kernel, and nothing of it is used.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_variables, unused_imports))]
mod int8;
mod mlp;
mod operations;
mod optimizer;
mod parameters;
mod resnet;
mod stages;
mod worker;
