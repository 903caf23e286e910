//! Children that travel to the ranks that their states belong to.

use super::Run;
use super::cut::Key;
use super::offspring::{Made, merged};
use crate::heuristic::HeuristicError;
use crate::puzzle::{Puzzle, StateBytes};
use crate::search::nodes::layer::Layer;
use crate::workers::{on_each, parts};
use std::hash::BuildHasher as _;

/// The bytes of a child that travels, beside those of its state.
const RECORD: usize = 12 + 1 + 4 + 4 + 4;

/// Children that a thread reads at least.
const LEAST_EACH: usize = 1 << 10;

impl<P: Puzzle> Run<'_, P> {
    /// Sends children, which are in their order, to the ranks that their states belong to; gives those that belong to this one.
    pub(super) fn exchanged(&self, made: Vec<Made<P::State>>) -> Result<Vec<Made<P::State>>, HeuristicError> {
        if self.exchange.is_alone() {
            return Ok(made);
        }
        let bytes = self.state_bytes()?;
        let written = on_each(self.threads, made, |made| self.written(&made, &bytes));
        let of_rank = |rank: usize| written.iter().map(|to| to[rank].as_slice()).collect::<Vec<&[u8]>>().concat();
        let to = on_each(self.threads, (0..self.exchange.size()).collect(), of_rank);
        drop(written);
        let from = self.exchange.all_to_all(to)?;
        let size = RECORD + bytes.size;
        let records = from.iter().enumerate().flat_map(|(rank, from)| {
            let count = from.len() / size;
            let each = count.div_ceil(parts(self.threads, count, LEAST_EACH)).max(1);
            from.chunks(each * size).map(move |records| (rank, records))
        });
        let arrived = on_each(self.threads, records.collect(), |(rank, records)| self.read(rank, records, &bytes));
        Ok(merged(self.threads, &arrived))
    }

    /// Children as they travel, to each rank.
    fn written(&self, Made { children, order, .. }: &Made<P::State>, bytes: &StateBytes<P::State>) -> Vec<Vec<u8>> {
        let mut to = vec![Vec::new(); self.exchange.size()];
        for (i, &hash) in children.hashes.iter().enumerate() {
            write(children, i, order[i], bytes, &mut to[self.exchange.owner(hash)]);
        }
        to
    }

    /// Children that have come from a rank.
    fn read(&self, rank: usize, records: &[u8], bytes: &StateBytes<P::State>) -> Made<P::State> {
        let mut made = Made::default();
        records.chunks_exact(RECORD + bytes.size).for_each(|record| read(record, bytes, &mut made));
        let children = &mut made.children;
        children.owners = vec![rank as u16; children.len()];
        children.hashes = children.states.iter().map(|state| self.hasher.hash_one(state)).collect();
        made
    }
}

fn write<S>(children: &Layer<S>, i: usize, order: Key, bytes: &StateBytes<S>, to: &mut Vec<u8>) {
    let start = to.len();
    to.extend_from_slice(&order.to_bytes());
    to.push(children.moves[i]);
    to.extend_from_slice(&children.parents[i].to_le_bytes());
    to.extend_from_slice(&children.costs[i].to_le_bytes());
    to.extend_from_slice(&children.priors[i].to_le_bytes());
    (bytes.write)(&children.states[i], to);
    debug_assert_eq!(to.len() - start, RECORD + bytes.size);
}

fn read<S>(record: &[u8], bytes: &StateBytes<S>, to: &mut Made<S>) {
    let word = |at: usize| [record[at], record[at + 1], record[at + 2], record[at + 3]];
    to.order.push(Key::from_bytes(&record[..12]));
    to.children.moves.push(record[12]);
    to.children.parents.push(u32::from_le_bytes(word(13)));
    to.children.costs.push(u32::from_le_bytes(word(17)));
    to.children.priors.push(f32::from_le_bytes(word(21)));
    to.children.states.push((bytes.read)(&record[RECORD..]));
}
