//! Where searches keep their nodes: the arena, the open list, the closed list, and what is built from them.

pub mod arena;
pub(super) mod bins;
pub mod closed;
pub(super) mod layer;
pub(super) mod move_order;
pub mod open;
pub(super) mod table;
pub mod tree;
