//! Several processes at one task, on one machine or many: the ranks that torchrun, Slurm or Kubernetes starts.
//!
//! The engine is torch.distributed (c10d) inside libtorch: a `TCPStore` where ranks meet and keep counters, and gloo for
//! collectives on the CPU. NCCL, which comes with libtorch's CUDA part, sums numbers and carries messages
//! on CUDA devices.
//!
//! | file | content |
//! | --- | --- |
//! | [`launcher`] | the launcher's variables: rank, number of ranks, rendezvous |
//! | [`rendezvous`] | how ranks find each other in the store, and leave it after a failure |
//! | [`group`] | the group: joining, agreement, collectives, counters, and the common end after a failure |
//! | `liveness` | heartbeats: signals, failures and deaths of other ranks |
//! | `c10d` | safe wrapper of `c10d.cpp`, the C interface of torch.distributed |
//! | `nccl` | sums and messages on CUDA devices |
//!
//! Without a launcher's variables nothing is started: see [`LauncherEnv::read`].

mod c10d;
pub mod group;
pub mod launcher;
mod liveness;
mod nccl;
pub mod rendezvous;

pub use group::Group;
pub use launcher::LauncherEnv;
