//! x
pub mod files;
pub mod neural;
pub mod puzzle;
pub mod sampler;
pub mod train;
