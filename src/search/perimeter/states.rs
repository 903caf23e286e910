//! A perimeter by states: 62 bits of a hash and the cost of each, 13 bytes in all.
//!
//! About one lookup in 10¹⁰ of a state outside hits an entry by mistake; a walk to the goal finds that out. (With 10⁸
//! states, two share an entry in one puzzle of nine hundred.)

use crate::puzzle::{Move, Puzzle, State};
use crate::search::children::{Hashes, parent_ranges};
use crate::search::nodes::hash_table::HashTable;
use crate::workers::{cores, on_each};
use foldhash::quality::FixedState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes per state while the table is made.
pub(super) const BYTES_WHILE_MADE: u64 = 16;

#[inline]
pub(super) fn key<S: State>(state: &S) -> u64 {
    FixedState::default().hash_one(state)
}

/// Children that are made together.
const CHILDREN_AT_ONCE: usize = 1 << 15;

/// Hashes with their costs.
#[derive(Default)]
pub(super) struct StateTable(pub(super) Hashes);

/// The word of a hash: its upper 56 bits, and the cost plus 1.
fn word(hash: u64, cost: u8) -> u64 {
    hash & !0xff | (u64::from(cost) + 1)
}

/// The cost of a hash in its table; adds the hash with this cost if it is not there.
fn find_or_insert(table: &mut HashTable, hash: u64, cost: u8) -> Option<u8> {
    let word = word(hash, cost);
    table.find_or_insert(word, |other| other ^ word < 256).map(|found| found as u8 - 1)
}

impl StateTable {
    pub(super) const MAX_COST: u32 = 254;

    pub(super) fn find(&self, hash: u64) -> Option<u8> {
        let word = word(hash, 0);
        self.0.table(hash).find(word, |other| other ^ word < 256).map(|found| found as u8 - 1)
    }

    pub(super) fn insert(&mut self, hash: u64, cost: u8) -> bool {
        find_or_insert(self.0.table_mut(hash), hash, cost).is_none()
    }

    /// Adds the new states one move from a layer; returns them, unless they are the last, and their number. Ends early,
    /// incomplete, once `stop` is set.
    pub(super) fn add_layer<P: Puzzle>(
        &mut self,
        puzzle: &P,
        layer: &[P::State],
        cost: u8,
        expected: usize,
        last: bool,
        stop: &AtomicBool,
    ) -> (Vec<P::State>, usize) {
        let (threads, moves) = (cores(), puzzle.move_count());
        let is_new = |table: &mut HashTable, hash: u64| find_or_insert(table, hash, cost).is_none();
        let (mut states, mut count) = (Vec::new(), 0);
        self.0.reserve_exact(expected);
        for parents in layer.chunks((CHILDREN_AT_ONCE / moves.max(1)).max(1)) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let made = on_each(threads, parent_ranges(threads, 0..parents.len(), moves), |range| {
                let moves = (0..moves as Move).map(|action| puzzle.inverse(action));
                let children =
                    parents[range].iter().flat_map(|state| moves.clone().filter_map(|back| puzzle.apply(state, back)));
                children.map(|child| (child, key(&child))).unzip::<_, _, Vec<_>, Vec<_>>()
            });
            let hashes: Vec<&[u64]> = made.iter().map(|(_, hashes)| &hashes[..]).collect();
            for ((children, _), new) in made.iter().zip(self.0.insert_all_by(threads, &hashes, is_new)) {
                count += new.len();
                states.extend(new.iter().filter(|_| !last).map(|&i| children[i as usize]));
            }
        }
        (states, count)
    }
}
