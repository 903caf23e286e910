//! Node storage: arena, open and closed list.
//!
//! | file | content |
//! | --- | --- |
//! | `arena` | all nodes, by index |
//! | `closed`, `hash_table` | the stored states: nodes by state, in sharded hash tables |
//! | `open` | the open list |
//! | `move_order` | the moves of each node by probability, for deferred evaluation |
//! | `bins` | entries sorted by bin, for threads that each take some bins |

use crate::puzzle::Move;

pub(super) mod arena;
pub(super) mod bins;
pub(super) mod closed;
pub(super) mod hash_table;
pub(super) mod move_order;
pub(super) mod open;

pub(super) use arena::{Arena, NO_PARENT, Node, NodeId};
pub(super) use bins::Bins;
pub(super) use closed::{PREFETCH_AHEAD, Stored, hash};
pub(super) use move_order::MoveOrder;
pub(super) use open::Open;
pub use open::Ties;

/// Parent and move of each state of a beam's layer.
pub(super) struct BackPointers {
    pub(super) parents: Vec<NodeId>,
    /// The rank of each parent; empty if no other rank shares the search.
    pub(super) owners: Vec<u16>,
    pub(super) moves: Vec<Move>,
}
