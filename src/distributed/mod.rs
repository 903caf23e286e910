//! Several processes at one task, on one machine or many: the ranks of torchrun, Slurm or Kubernetes.
//!
//! The engine is torch.distributed (c10d), which is inside libtorch: a `TCPStore`, where ranks meet and keep counters, and
//! gloo for sums and broadcasts over the CPU's memory. `c10d.cpp` gives both a C interface. Numbers on CUDA devices are
//! summed by NCCL, which comes with libtorch's CUDA part.
//!
//! | file | what is in it |
//! | --- | --- |
//! | [`place`] | which rank this process is, as its launcher's variables say |
//! | [`group`] | the group: meeting, agreeing, sums, counters, and the end of all when one fails |
//! | [`meeting`] | how ranks come to the store, and leave it when one has failed |
//! | [`liveness`] | what a rank hears while it works: signals, failures, and silence |
//! | `c10d` | the C interface |
//! | `nccl` | sums on CUDA devices |
//!
//! Nothing is started unless the variables are there: see [`place::Place::from_environment`].

mod c10d;
pub mod group;
pub mod liveness;
pub mod meeting;
mod nccl;
pub mod place;

pub use group::Group;
pub use place::Place;
