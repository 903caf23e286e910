//! The filling of a layer on several threads.
//!
//! Each thread makes things with keys from some states and deals them out by the parts of the layer that their keys belong
//! to. Then each thread takes in what was dealt to some parts, one after the other: no two write to the same line, and of
//! a part that is not too large, most lines are still in the cache when the next key comes to them.

use super::ends::Found;
use super::layer::{Layer, PARTS, Share, part};
use crate::puzzle::{Class, State};
use crate::workers::on_own_threads;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of things that are made before they are taken in: a share of what the layer takes, but at least and at most so
/// many.
const SHARE_OF_LAYER: usize = 4;
const LEAST_BYTES: usize = 1 << 20;
const MOST_BYTES: usize = 64 << 20;

/// Lines that are loaded ahead.
const AHEAD: usize = 32;

/// What has a key of a layer.
pub(super) trait Keyed: Copy + Send + Sync {
    fn key(&self) -> u64;
}

impl Keyed for u64 {
    fn key(&self) -> u64 {
        *self
    }
}

impl<S: State> Keyed for Class<S> {
    fn key(&self) -> u64 {
        self.key
    }
}

/// A layer that is being filled.
pub(super) struct Filling<'a, S> {
    takers: Vec<Taker<'a, S>>,
    /// Bytes of things that are made before they are taken in.
    bytes: usize,
}

/// Things for each part.
pub(super) struct Dealt<C> {
    things: [Vec<C>; PARTS],
    /// What was made, and is still to be dealt out.
    pub(super) made: Vec<C>,
    /// Moves that it is made with.
    pub(super) found: Found,
}

/// Bytes of things that are made before they are taken into a layer of so many bytes.
pub(super) fn room_for_things(layer: usize) -> usize {
    (layer / SHARE_OF_LAYER).clamp(LEAST_BYTES, MOST_BYTES)
}

/// What one thread takes into its parts of the layer.
pub(super) struct Taker<'a, S> {
    share: Share<'a>,
    /// The layer before, where it is to be known whether a class is in both.
    last: Option<&'a Layer>,
    /// Keys that are still to be looked up there.
    compared: Vec<u64>,
    filled: Filled<S>,
    is_full: bool,
}

/// What a layer was filled with.
#[derive(Debug)]
pub(super) struct Filled<S> {
    pub(super) classes: u64,
    /// States of all classes, where they were counted.
    pub(super) of_states: u64,
    /// The canonical images, where they were kept.
    pub(super) states: Vec<S>,
    /// Whether a class is in the layer before, too.
    pub(super) met_its_own: bool,
}

impl<C: Keyed> Dealt<C> {
    /// Deals out what was made.
    #[inline]
    pub(super) fn deal(&mut self) {
        for thing in self.made.drain(..) {
            self.things[part(thing.key())].push(thing);
        }
    }
}

impl<'a, S: State> Filling<'a, S> {
    /// Begins to fill a layer; with room for so many states. `last` is the layer before, where it is to be known whether a
    /// class is in both.
    pub(super) fn new(layer: &'a mut Layer, threads: usize, room: usize, last: Option<&'a Layer>) -> Self {
        let bytes = room_for_things(size_of_val(layer.lines()));
        let shares = layer.shares(threads);
        let each = room.div_ceil(shares.len());
        let taker = |share| Taker {
            share,
            last,
            compared: Vec::with_capacity(AHEAD),
            filled: Filled { classes: 0, of_states: 0, states: Vec::with_capacity(each), met_its_own: false },
            is_full: false,
        };
        Filling { takers: shares.into_iter().map(taker).collect(), bytes }
    }

    /// Makes things of each state, at most `most` of one, and has each taken in; `false`, soon, once `stop` is set. `watch` is
    /// given the number of states that are done.
    pub(super) fn deal<C: Keyed>(
        &mut self,
        states: &[S],
        most: usize,
        make: impl Fn(&S, &mut Dealt<C>) + Sync,
        take: impl Fn(&mut Taker<'a, S>, &C) + Sync,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(usize),
    ) -> bool {
        let threads = self.takers.len();
        let each = (self.bytes / (threads * most * size_of::<C>())).max(1);
        let things = || std::array::from_fn(|_| Vec::new());
        let nothing = |_| Dealt { things: things(), made: Vec::with_capacity(most), found: Found::default() };
        let mut dealt: Vec<Dealt<C>> = (0..threads).map(nothing).collect();
        for (chunk, states) in states.chunks(each * threads).enumerate() {
            watch(chunk * each * threads);
            let shares = dealt.iter_mut().zip(states.chunks(states.len().div_ceil(threads))).collect();
            on_own_threads(threads, shares, |(dealt, states): (&mut Dealt<C>, &[S])| {
                states.iter().take_while(|_| !stop.load(Ordering::Relaxed)).for_each(|state| make(state, dealt));
            });
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            on_own_threads(threads, self.takers.iter_mut().collect(), |taker: &mut Taker<'a, S>| {
                let of_part = |part| dealt.iter().map(move |dealt| &dealt.things[part]);
                for things in taker.share.parts().flat_map(of_part) {
                    for (k, thing) in things.iter().enumerate() {
                        if let Some(ahead) = things.get(k + AHEAD) {
                            taker.share.prefetch(ahead.key());
                        }
                        take(taker, thing);
                    }
                }
            });
            dealt.iter_mut().flat_map(|dealt| &mut dealt.things).for_each(Vec::clear);
        }
        true
    }

    /// What was taken in; `None` if a part of the layer was full.
    pub(super) fn finish(mut self) -> Option<Filled<S>> {
        self.takers.iter_mut().for_each(Taker::compare);
        if self.takers.iter().any(|taker| taker.is_full) {
            return None;
        }
        let states: usize = self.takers.iter().map(|taker| taker.filled.states.len()).sum();
        let mut parts = self.takers.into_iter().map(|taker| taker.filled);
        let mut all = parts.next()?;
        all.states.reserve_exact(states - all.states.len());
        for part in parts {
            all.classes += part.classes;
            all.of_states += part.of_states;
            all.states.extend(part.states);
            all.met_its_own |= part.met_its_own;
        }
        Some(all)
    }
}

impl<S: State> Taker<'_, S> {
    /// Takes in a class that is not counted.
    #[inline]
    pub(super) fn leave_out(&mut self, key: u64) {
        self.is_full |= self.share.insert(key).is_none();
    }

    /// Takes in a class, unless it is there.
    #[inline]
    pub(super) fn take_in(&mut self, key: u64, class: Option<&Class<S>>, keeps: bool) {
        match self.share.insert(key) {
            Some(true) => {
                self.filled.classes += 1;
                if let Some(class) = class {
                    self.filled.of_states += u64::from(class.states);
                    self.filled.states.extend(keeps.then_some(class.state));
                }
                if let Some(last) = self.last {
                    last.prefetch(key);
                    self.compared.push(key);
                    if self.compared.len() == AHEAD {
                        self.compare();
                    }
                }
            }
            Some(false) => {}
            None => self.is_full = true,
        }
    }

    fn compare(&mut self) {
        let last = self.last;
        self.filled.met_its_own |= self.compared.drain(..).any(|key| last.is_some_and(|last| last.holds_exactly(key)));
    }
}
