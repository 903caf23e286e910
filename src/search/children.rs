//! Children that many threads make at once, and the duplicates among them.
//!
//! The nodes are cut into ranges, and one thread makes the children of a range, a piece. The order of children is that of the
//! pieces, however many there are. Duplicates are found by shards of the hash: a thread takes all children of its shards, in
//! order. So nothing depends on the number of threads.

use super::nodes::Bins;
use super::nodes::closed::{PREFETCH_AHEAD, id, shard_of, shards, visit, word};
use super::nodes::hash_table::HashTable;
use crate::puzzle::bits;
use crate::workers::{GRAIN, extend, on_each, ranges};
use std::ops::Range;

/// The fewest children worth a thread, roughly.
const MIN_CHILDREN: usize = 1 << 8;

/// Cuts nodes with about `each` children each into ranges for threads.
pub(super) fn parent_ranges(threads: usize, nodes: Range<usize>, each: usize) -> Vec<Range<usize>> {
    let ranges = ranges(threads, nodes.len(), MIN_CHILDREN.div_ceil(each.max(1))).into_iter();
    ranges.map(|range| range.start + nodes.start..range.end + nodes.start).collect()
}

/// A set of hashes, in shards.
pub(super) struct Hashes {
    shards: Vec<HashTable>,
}

impl Default for Hashes {
    fn default() -> Self {
        Hashes { shards: shards() }
    }
}

impl Hashes {
    /// Adds a hash and returns whether it is new.
    pub(super) fn insert(&mut self, hash: u64) -> bool {
        self.table_mut(hash).insert_hash(hash)
    }

    /// Adds the hashes of all pieces. Returns, for each piece, the indices of its new hashes, in order.
    pub(super) fn insert_all(&mut self, threads: usize, pieces: &[&[u64]]) -> Vec<Vec<u32>> {
        self.insert_all_by(threads, pieces, HashTable::insert_hash)
    }

    /// The same; `is_new` adds a hash to its table.
    pub(super) fn insert_all_by(
        &mut self,
        threads: usize,
        pieces: &[&[u64]],
        is_new: impl Fn(&mut HashTable, u64) -> bool + Sync,
    ) -> Vec<Vec<u32>> {
        let sorted = on_each(threads, pieces.to_vec(), |hashes| {
            Bins::new((0..).zip(hashes).map(|(child, &hash)| (shard_of(hash), IndexedHash { hash, child })))
        });
        let sorted: Vec<&Bins<IndexedHash>> = sorted.iter().collect();
        // A bit a child: whether it is new.
        let none = || pieces.iter().map(|hashes| vec![0; hashes.len().div_ceil(BITS)]).collect::<Vec<Vec<u64>>>();
        let insert = |table: &mut HashTable, piece: usize, IndexedHash { hash, child }, new: &mut Vec<Vec<u64>>| {
            let i = child as usize;
            new[piece][i / BITS] |= u64::from(is_new(table, hash)) << (i % BITS);
        };
        let new = visit(threads, &mut self.shards, &sorted, |indexed| indexed.hash, none, insert);
        let fresh = |piece: usize| {
            let words =
                (0..pieces[piece].len().div_ceil(BITS)).map(|at| new.iter().fold(0, |all, new| all | new[piece][at]));
            let bits = (0..).step_by(BITS).zip(words).flat_map(|(first, word)| bits(word).map(move |i| first + i));
            bits.collect()
        };
        on_each(threads, (0..pieces.len()).collect(), fresh)
    }

    /// Whether each of some hashes was added; 0 stands for no hash, and counts as added.
    pub(super) fn contains_all(&self, threads: usize, hashes: &[u64]) -> Vec<bool> {
        let mut found = Vec::new();
        extend(threads, &mut found, hashes.len(), GRAIN, |i| {
            if let Some(&next) = hashes.get(i + PREFETCH_AHEAD) {
                self.table(next).prefetch(next);
            }
            let hash = hashes[i];
            hash == 0 || self.table(hash).contains_hash(hash)
        });
        found
    }

    /// The table of a hash.
    pub(super) fn table(&self, hash: u64) -> &HashTable {
        &self.shards[shard_of(hash)]
    }

    pub(super) fn table_mut(&mut self, hash: u64) -> &mut HashTable {
        &mut self.shards[shard_of(hash)]
    }

    /// Reserves memory for `more` hashes, as many in each table.
    pub(super) fn reserve_exact(&mut self, more: usize) {
        let each = more / self.shards.len();
        self.shards.iter_mut().for_each(|shard| shard.reserve_exact(each));
    }

    pub(super) fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len() as u64).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes() as u64).sum()
    }
}

/// A hash and the index of its child, in the order of shards: to fetch each hash from its piece, which another core may have
/// written, takes longer than everything else.
#[derive(Clone, Copy, Default)]
#[repr(Rust, packed(4))]
struct IndexedHash {
    hash: u64,
    child: u32,
}

const BITS: usize = u64::BITS as usize;

/// The children with the state of an earlier child, each with the first of that state, in order. Children are numbered through
/// all pieces, and `starts` has the first number of each piece. `sorted` has the children to look at, by shard; those for which
/// `counts` is false are ignored. `is_same` compares the states of two children.
pub(super) fn duplicates(
    threads: usize,
    starts: &[u32],
    sorted: &[&Bins],
    counts: impl Fn(usize, u32) -> bool + Sync,
    is_same: impl Fn(u32, u32) -> bool + Sync,
) -> Vec<(u32, u32)> {
    let insert = |table: &mut HashTable, piece, entry, found: &mut Vec<(u32, u32)>| {
        if counts(piece, id(entry)) {
            let number = starts[piece] + id(entry);
            let first = table.find_or_insert(word(entry, number), |other| is_same(id(other), number));
            found.extend(first.map(|first| (number, id(first))));
        }
    };
    let mut found = visit(threads, &mut shards(), sorted, |word| word, Vec::new, insert).concat();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube2::Cube2;
    use crate::puzzle::{Notation as _, Rules};
    use crate::search::nodes::closed::by_shard;
    use crate::search::nodes::closed::hash as hash_of;
    use std::collections::HashMap;
    use std::collections::hash_map::Entry;

    const THREADS: [usize; 4] = [1, 2, 3, 16];

    type State = <Cube2 as Rules>::State;

    /// The children of a state, in the order of the moves.
    fn children(state: &State) -> impl Iterator<Item = State> {
        Cube2.children(state).map(|(_, child)| child)
    }

    /// Children of many states, some of them equal, in pieces.
    fn pieces(threads: usize) -> Vec<Vec<State>> {
        let mut states = vec![Cube2.parse("R U F").expect("three moves")];
        for i in 0..400 {
            states.extend(children(&states[i]).collect::<Vec<_>>());
        }
        let ranges = parent_ranges(threads, 7..states.len(), Cube2.move_count());
        on_each(threads, ranges, |range| states[range].iter().flat_map(children).collect())
    }

    #[test]
    fn children_come_in_one_order_on_any_number_of_threads() {
        let expected = pieces(1).concat();
        let moves = Cube2.move_count();
        assert_eq!(expected.len(), (1 + 400 * moves - 7) * moves);
        for threads in THREADS {
            assert_eq!(pieces(threads).concat(), expected, "{threads} threads");
        }
    }

    #[test]
    fn a_hash_is_new_once_at_its_first_child() {
        for threads in THREADS {
            let (mut hashes, mut one_by_one) = (Hashes::default(), Hashes::default());
            let pieces = pieces(threads);
            let columns: Vec<Vec<u64>> = pieces.iter().map(|piece| piece.iter().map(hash_of).collect()).collect();
            let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
            let (some, rest) = columns.split_at(columns.len() / 2);
            for part in [some, rest, rest] {
                let new = |hashes: &&[u64]| {
                    (0..hashes.len() as u32).filter(|&i| one_by_one.insert(hashes[i as usize])).collect()
                };
                let expected: Vec<Vec<u32>> = part.iter().map(new).collect();
                for (column, new) in part.iter().zip(&expected) {
                    let known = hashes.contains_all(threads, column);
                    assert!(new.iter().all(|&i| !known[i as usize]), "none of the new hashes was added before");
                }
                assert_eq!(hashes.insert_all(threads, part), expected, "{threads} threads");
                assert!(part.iter().all(|column| hashes.contains_all(threads, column).iter().all(|known| *known)));
                assert_eq!(hashes.len(), one_by_one.len());
            }
        }
    }

    #[test]
    fn a_duplicate_names_the_first_child_of_its_state_that_counts() {
        for threads in THREADS {
            let pieces = pieces(threads);
            let all = pieces.concat();
            let starts: Vec<u32> =
                (0..pieces.len()).map(|i| pieces[..i].iter().map(Vec::len).sum::<usize>() as u32).collect();
            let sorted: Vec<Bins> = pieces.iter().map(|piece| by_shard((0..).zip(piece.iter().map(hash_of)))).collect();
            let counts = |number: u32| !number.is_multiple_of(3);
            let (mut firsts, mut expected) = (HashMap::new(), Vec::new());
            for number in (0..all.len() as u32).filter(|&number| counts(number)) {
                match firsts.entry(all[number as usize]) {
                    Entry::Vacant(entry) => drop(entry.insert(number)),
                    Entry::Occupied(entry) => expected.push((number, *entry.get())),
                }
            }
            assert!(expected.len() > 100);
            let found = duplicates(
                threads,
                &starts,
                &sorted.iter().collect::<Vec<_>>(),
                |piece, i| counts(starts[piece] + i),
                |a, b| all[a as usize] == all[b as usize],
            );
            assert_eq!(found, expected, "{threads} threads");
        }
    }
}
