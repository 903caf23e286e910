//! Children that are sent to the ranks that own their states.

use super::cut::Key;
use super::offspring::{MIN_CHUNK, merged};
use super::{BeamLayer, BeamRun};
use crate::error::Result;
use crate::exchange::Exchange;
use crate::puzzle::{Puzzle, StateBytes};
use crate::workers::{on_each, parts};

/// The bytes of a child's record without its state: key and move (its place), parent, cost and prior.
const RECORD: usize = Key::BYTES + 1 + 4 + 4 + 4;

impl<P: Puzzle> BeamRun<'_, P> {
    /// Sends children, which are in order, to the owners of their states; returns the children of this rank.
    pub(super) fn exchanged(&self, made: Vec<BeamLayer<P::State>>) -> Result<Vec<BeamLayer<P::State>>> {
        if self.exchange.is_alone() {
            return Ok(made);
        }
        let bytes = self.state_bytes()?;
        let written = on_each(self.threads, made, |made| write(self.exchange, &made, &bytes));
        let of_rank = |rank: usize| written.iter().map(|to| to[rank].as_slice()).collect::<Vec<&[u8]>>().concat();
        let to = on_each(self.threads, (0..self.exchange.size()).collect(), of_rank);
        drop(written);
        let from = self.exchange.all_to_all(to)?;
        let size = RECORD + bytes.size;
        let records = from.iter().enumerate().flat_map(|(rank, from)| {
            let count = from.len() / size;
            let each = count.div_ceil(parts(self.threads, count, MIN_CHUNK)).max(1);
            from.chunks(each * size).map(move |records| (rank, records))
        });
        let received =
            on_each(self.threads, records.collect(), |(rank, records)| read(self.puzzle, rank, records, &bytes));
        Ok(merged(self.threads, &received))
    }
}

/// The records of children, for each rank.
fn write<S>(exchange: &dyn Exchange, children: &BeamLayer<S>, bytes: &StateBytes<S>) -> Vec<Vec<u8>> {
    let mut records = vec![Vec::new(); exchange.size()];
    for (i, &hash) in children.hashes.iter().enumerate() {
        let to = &mut records[exchange.owner(hash)];
        children.order[i].write(to);
        to.push(children.moves[i]);
        to.extend_from_slice(&children.parents[i].to_le_bytes());
        to.extend_from_slice(&children.costs[i].to_le_bytes());
        to.extend_from_slice(&children.priors[i].to_le_bytes());
        (bytes.write)(&children.states[i], to);
        debug_assert!(to.len().is_multiple_of(RECORD + bytes.size));
    }
    records
}

/// Children from the records of a rank.
fn read<P: Puzzle>(puzzle: &P, rank: usize, records: &[u8], bytes: &StateBytes<P::State>) -> BeamLayer<P::State> {
    let mut children = BeamLayer::default();
    for record in records.chunks_exact(RECORD + bytes.size) {
        let (key, record) = record.split_at(Key::BYTES);
        let word = |at: usize| [record[at], record[at + 1], record[at + 2], record[at + 3]];
        children.order.push(Key::read(key));
        children.moves.push(record[0]);
        children.parents.push(u32::from_le_bytes(word(1)));
        children.costs.push(u32::from_le_bytes(word(5)));
        children.priors.push(f32::from_le_bytes(word(9)));
        children.states.push((bytes.read)(&record[13..]));
    }
    children.owners = vec![rank as u16; children.len()];
    children.hashes = children.states.iter().map(|state| puzzle.state_hash(state)).collect();
    children
}
