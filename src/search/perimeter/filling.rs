//! Filling a layer on several threads.
//!
//! Each thread makes items with keys from some states and sorts them by the parts of the layer that their keys belong to.
//! Then each thread inserts the items of some parts, one after the other: no two threads write to the same line, and in a
//! part that is not too large, most lines are still in the cache when the next key comes to them.

use super::classes::Count;
use super::layer::{ClassLayer, LayerShare, PARTS, part};
use super::scramble_ends::EndMoves;
use crate::puzzle::{Class, State};
use crate::workers::on_own_threads;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of a batch of items in bytes: this fraction of the layer, clamped to these bounds.
const SHARE_OF_LAYER: usize = 4;
const MIN_BYTES: usize = 1 << 20;
const MAX_BYTES: usize = 64 << 20;

/// Lines that are loaded ahead.
const PREFETCHED: usize = 32;

/// An item with a key of a layer: the key alone, or a class.
pub(super) trait Keyed<S>: Copy + Send + Sync {
    fn key(&self) -> u64;

    fn class(&self) -> Option<&Class<S>> {
        None
    }
}

impl<S> Keyed<S> for u64 {
    fn key(&self) -> u64 {
        *self
    }
}

impl<S: State> Keyed<S> for Class<S> {
    fn key(&self) -> u64 {
        self.key
    }

    fn class(&self) -> Option<&Class<S>> {
        Some(self)
    }
}

/// Bytes of items that are made before they are inserted into a layer of this many bytes.
pub(super) fn item_bytes(layer: usize) -> usize {
    (layer / SHARE_OF_LAYER).clamp(MIN_BYTES, MAX_BYTES)
}

/// A layer that is being filled.
pub(super) struct LayerFilling<'a, S> {
    writers: Vec<PartWriter<'a, S>>,
    item_bytes: usize,
}

/// The items that one thread makes, and its buffers.
pub(super) struct ItemMaker<C> {
    /// Made, and not sorted yet.
    pub(super) made: Vec<C>,
    by_part: [Vec<C>; PARTS],
    pub(super) ends: EndMoves,
}

/// Writes the items of one thread's parts into a layer.
pub(super) struct PartWriter<'a, S> {
    share: LayerShare<'a>,
    /// The layer before, if classes that are in both are looked for.
    last: Option<&'a ClassLayer>,
    filled: Filled<S>,
    is_full: bool,
}

/// The content of a filled layer.
#[derive(Debug)]
pub(super) struct Filled<S> {
    pub(super) count: Count,
    /// The canonical images, if they were kept.
    pub(super) states: Vec<S>,
    /// Whether a class is in the layer before, too.
    pub(super) has_level_moves: bool,
}

impl<'a, S: State> LayerFilling<'a, S> {
    /// Begins to fill a layer, keeping up to `capacity` states. With the layer before as `last`, classes that are in both
    /// are looked for.
    pub(super) fn new(
        layer: &'a mut ClassLayer,
        threads: usize,
        capacity: usize,
        last: Option<&'a ClassLayer>,
    ) -> Self {
        let item_bytes = item_bytes(size_of_val(&layer.lines[..]));
        let shares = layer.shares(threads);
        let each = capacity.div_ceil(shares.len());
        let writer = |share| PartWriter {
            share,
            last,
            filled: Filled { count: Count::default(), states: Vec::with_capacity(each), has_level_moves: false },
            is_full: false,
        };
        LayerFilling { writers: shares.into_iter().map(writer).collect(), item_bytes }
    }

    /// Makes the items of each state, at most `max_items`, and writes them; `false` soon after `stop` is set. `on_progress`
    /// receives the number of states done.
    pub(super) fn fill<C: Keyed<S>>(
        &mut self,
        states: &[S],
        max_items: usize,
        make: impl Fn(&S, &mut ItemMaker<C>) + Sync,
        write: impl Fn(&mut PartWriter<'a, S>, &C) + Sync,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(usize),
    ) -> bool {
        let threads = self.writers.len();
        let each = (self.item_bytes / (threads * max_items * size_of::<C>())).max(1);
        let maker = |_| ItemMaker {
            made: Vec::with_capacity(max_items),
            by_part: std::array::from_fn(|_| Vec::new()),
            ends: EndMoves::default(),
        };
        let mut makers: Vec<ItemMaker<C>> = (0..threads).map(maker).collect();
        for (chunk, states) in states.chunks(each * threads).enumerate() {
            on_progress(chunk * each * threads);
            let shares = makers.iter_mut().zip(states.chunks(states.len().div_ceil(threads))).collect();
            on_own_threads(threads, shares, |(maker, states): (&mut ItemMaker<C>, &[S])| {
                for state in states.iter().take_while(|_| !stop.load(Ordering::Relaxed)) {
                    make(state, maker);
                    maker.made.drain(..).for_each(|item| maker.by_part[part(item.key())].push(item));
                }
            });
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            on_own_threads(threads, self.writers.iter_mut().collect(), |writer: &mut PartWriter<'a, S>| {
                let of_part = |part| makers.iter().map(move |maker| &maker.by_part[part]);
                for items in writer.share.parts().flat_map(of_part) {
                    for (i, item) in items.iter().enumerate() {
                        if let Some(ahead) = items.get(i + PREFETCHED) {
                            writer.share.prefetch(ahead.key());
                        }
                        write(writer, item);
                    }
                }
            });
            makers.iter_mut().flat_map(|maker| &mut maker.by_part).for_each(Vec::clear);
        }
        true
    }

    /// The content of all parts; `None` if a part of the layer was full.
    pub(super) fn finish(self) -> Option<Filled<S>> {
        if self.writers.iter().any(|writer| writer.is_full) {
            return None;
        }
        let states: usize = self.writers.iter().map(|writer| writer.filled.states.len()).sum();
        let mut parts = self.writers.into_iter().map(|writer| writer.filled);
        let mut all = parts.next()?;
        all.states.reserve_exact(states - all.states.len());
        for part in parts {
            all.count.classes += part.count.classes;
            all.count.states = all.count.states.into_iter().chain(part.count.states).reduce(|a, b| a + b);
            all.states.extend(part.states);
            all.has_level_moves |= part.has_level_moves;
        }
        Some(all)
    }
}

impl<S: State> PartWriter<'_, S> {
    /// Inserts a class without counting it.
    #[inline]
    pub(super) fn insert_uncounted(&mut self, key: u64) {
        self.is_full |= self.share.insert(key).is_none();
    }

    /// Inserts and counts a class, unless it is there.
    #[inline]
    pub(super) fn insert(&mut self, item: &impl Keyed<S>, keeps_state: bool) {
        let key = item.key();
        match self.share.insert(key) {
            Some(true) => {
                self.filled.count.classes += 1;
                if let Some(class) = item.class() {
                    *self.filled.count.states.get_or_insert(0) += u64::from(class.states);
                    self.filled.states.extend(keeps_state.then_some(class.state));
                }
                if let Some(last) = self.last.filter(|_| !self.filled.has_level_moves) {
                    self.filled.has_level_moves = last.holds_exactly(key);
                }
            }
            Some(false) => {}
            None => self.is_full = true,
        }
    }
}
