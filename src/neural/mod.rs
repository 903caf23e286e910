//! Everything about networks: the device they run on, their training step, their files, and the network as a
//! [`Heuristic`](crate::heuristic::Heuristic).
//!
//! A file uses only those above it:
//!
//! | file | content |
//! | --- | --- |
//! | `cuda` | loading of the CUDA libraries, and their errors explained |
//! | [`device`] | the CPU or a CUDA device |
//! | [`precision`] | the number format of matrix products |
//! | `parameters` | a network's numbers in three flat tensors |
//! | `tensor_file` | parameters in safetensors files |
//! | `one_hot` | rows of symbols as one-hot tensors |
//! | `evaluator` | the forward pass for solving, submitted now and collected later |
//! | [`network`] | the interface of all networks, and their description |
//! | `layers` | batch normalization and the heads |
//! | `int8` | the dense network in 8-bit integers, with AVX-512 or AVX2 |
//! | `mlp`, `resnet` | the two networks |
//! | `network_builder` | description → network, and its precision |
//! | [`model`] | a model's folder |
//! | `chunks` | evaluation in chunks that fit the device's memory |
//! | [`heuristic`] | a model as a heuristic, on a thread of its own |
//! | `optimizer` | AdamW |
//! | `cuda_graph_inputs` | the inputs of a recorded optimizer step |
//! | [`learner`] | a network in training: the optimizer step |
//! | `cuda_graph_step` | the optimizer step as a CUDA graph |
//! | [`learner_state`] | a learner's state as files |
//! | [`benchmark`] | rates of a device and of the parts of an optimizer step |

pub mod benchmark;
pub mod device;
pub mod heuristic;
pub mod learner;
pub mod learner_state;
pub mod model;
pub mod network;
pub mod precision;

mod chunks;
mod cuda;
mod cuda_graph_inputs;
mod cuda_graph_step;
mod evaluator;
// Without a kernel for the processor, nothing of it is used.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_variables, unused_imports))]
mod int8;
mod layers;
mod mlp;
mod network_builder;
mod one_hot;
mod optimizer;
mod parameters;
mod resnet;
mod tensor_file;
