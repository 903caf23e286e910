//! A perimeter by classes: one fingerprint for all symmetric images of a state, a table for each distance.
//!
//! Layers are made one from the other. A neighbour of the last layer is in the next one or in the one before (or, of some
//! puzzles, in the last itself). So a new layer begins with the classes two moves nearer to the goals: what is not there yet
//! is new, and no other layer need be asked. They stay in it. As each lookup asks for states at a distance of which
//! it is known that they are no nearer, none of these is met.

use super::filling::{Dealt, Filled, Filling, Keyed, Taker, room_for_things};
use super::layer::Layer;
use crate::puzzle::{Class, Move, Puzzle, Reversible, State, Symmetries};
use crate::workers::cores;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The share of the time that a layer takes of which no states are kept.
const WITHOUT_STATES: f64 = 0.75;

/// The classes within some moves of the goals.
#[derive(Debug, Default)]
pub(super) struct ClassTable {
    /// By distance.
    pub(super) layers: Vec<Layer>,
    /// By distance: how many classes there are, and how many states.
    pub(super) counts: Vec<Count>,
    /// Whether there are no others.
    pub(super) whole: bool,
    /// Whether no class of the layers has a neighbour at its own distance.
    pub(super) by_parity: bool,
    /// Whether it was made as deep as some time allowed.
    pub(super) in_time: bool,
}

/// What there is at one distance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Count {
    /// Classes.
    pub classes: u64,
    /// States, all classes together; `None` where they were not counted.
    pub states: Option<u64>,
}

/// How deep a table is made.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// At most so many moves.
    pub depth: u32,
    /// At most so many bytes, those that the making needs included.
    pub bytes: u64,
    /// No layer is begun that would end later, as extrapolated from those before.
    pub time: Option<Duration>,
    /// Whether the states of the last layer are counted too: that takes 5 bytes a class more while it is made.
    pub count_last: bool,
}

/// How far the making of a layer is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Making {
    /// The layer's distance.
    pub depth: u32,
    /// The share of it that is done.
    pub share: f64,
}

/// What a layer is made from.
struct Maker<'a, P: Puzzle> {
    puzzle: &'a P,
    symmetries: &'a dyn Symmetries<P::State>,
    stop: &'a AtomicBool,
    /// Whether a class has a neighbour at its own distance.
    has_own: bool,
    /// Whether that is known to be impossible: every move changes the parity of the distance.
    never_has_own: bool,
}

/// What the next layer is made from.
struct From<'a, S> {
    /// The last layer, and its states.
    last: &'a Layer,
    parents: &'a [S],
    /// The states of the layer before it.
    behind: &'a [S],
}

/// A new layer.
struct Made<S> {
    layer: Layer,
    count: Count,
    states: Vec<S>,
    met_its_own: bool,
}

impl ClassTable {
    /// Makes the layers, as deep as `extent` allows; `None` once `stop` is set.
    pub(super) fn make<P: Reversible>(
        puzzle: &P,
        symmetries: &dyn Symmetries<P::State>,
        extent: Extent,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(Making),
    ) -> Option<Self> {
        let begun = Instant::now();
        let never_has_own = puzzle.goals().iter().all(|goal| puzzle.length_parity(goal).is_some());
        let mut maker = Maker { puzzle, symmetries, stop, has_own: false, never_has_own };
        let mut table = ClassTable { by_parity: true, in_time: extent.time.is_some(), ..ClassTable::default() };
        let goals = maker.goals();
        let mut growth = puzzle.move_count() as f64;
        let mut states = goals.states;
        let mut behind = Vec::new();
        table.layers.push(goals.layer);
        table.counts.push(goals.count);
        let mut spent = Duration::ZERO;
        for depth in 1..=extent.depth {
            // The growth may still rise a little.
            let expected = |parents: f64| (1.02 * parents * growth + 64.0) as usize;
            let (here, next) = (expected(states.len() as f64), expected(expected(states.len() as f64) as f64));
            let too_late = |layers: f64| extent.time.is_some_and(|time| begun.elapsed() + spent.mul_f64(layers) > time);
            let too_large = |from: [usize; 2], expected, exact| {
                table.bytes() + maker.bytes(from.iter().sum(), expected, exact) > extent.bytes
            };
            let from = [behind.len(), states.len()];
            if too_late(WITHOUT_STATES * growth) || too_large(from, here, false) {
                break;
            }
            let is_last = depth == extent.depth
                || too_late(growth * (1.0 + WITHOUT_STATES * growth))
                || too_large([states.len(), here], next, false);
            let want = match (is_last, extent.count_last) {
                (false, _) => Want::States,
                (true, true) => Want::Count,
                (true, false) => Want::Fingerprints,
            };
            let started = Instant::now();
            let from = From { last: table.layers.last()?, parents: &states, behind: &behind };
            let mut made = maker.layer(&from, here, want, &mut |share| watch(Making { depth, share }))?;
            if made.met_its_own && !maker.has_own {
                // From now on, what the layer before has is left out first.
                maker.has_own = true;
                table.by_parity = false;
                made = maker.layer(&from, here, want, &mut |share| watch(Making { depth, share }))?;
            }
            spent = started.elapsed();
            table.whole = made.count.classes == 0;
            if table.whole {
                break;
            }
            growth = made.count.classes as f64 / table.counts.last()?.classes as f64;
            table.layers.last_mut()?.finish();
            table.layers.push(made.layer);
            table.counts.push(made.count);
            behind = std::mem::replace(&mut states, made.states);
            if is_last {
                break;
            }
        }
        table.layers.iter_mut().for_each(Layer::finish);
        Some(table)
    }

    /// The bytes that the table takes.
    pub(super) fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| size_of_val(layer.lines()) as u64).sum()
    }

    /// The greatest distance.
    pub(super) fn depth(&self) -> u32 {
        (self.layers.len() as u32).saturating_sub(1)
    }
}

impl<P: Reversible> Maker<'_, P> {
    /// The layer of the goals.
    fn goals(&self) -> Made<P::State> {
        let goals = self.puzzle.goals();
        let mut layer = Layer::with_room(goals.len(), true);
        let mut count = Count { classes: 0, states: Some(0) };
        let mut states = Vec::new();
        for share in &mut layer.shares(1) {
            for goal in &goals {
                let class = self.symmetries.class(goal);
                if share.insert(class.key) == Some(true) {
                    count.classes += 1;
                    count.states = count.states.map(|states| states + u64::from(class.states));
                    states.push(class.state);
                }
            }
        }
        Made { layer, count, states, met_its_own: false }
    }

    /// Bytes that the making of a layer takes: the states that it is made from, its own where the next is made from it,
    /// the table, and what waits to be taken in.
    fn bytes(&self, from: usize, expected: usize, exact: bool) -> u64 {
        let states = (from + if exact { expected } else { 0 }) as u64 * size_of::<P::State>() as u64;
        let things = room_for_things(Layer::bytes_for(expected, false) as usize);
        states + Layer::bytes_for(expected, exact) + things as u64
    }

    /// The layer behind the last one; with the states where the next is made from them, and counted where that is asked
    /// for.
    fn layer(
        &self,
        from: &From<'_, P::State>,
        expected: usize,
        want: Want,
        watch: &mut dyn FnMut(f64),
    ) -> Option<Made<P::State>> {
        let mut layer = Layer::with_room(from.behind.len() + expected, want != Want::Fingerprints);
        let filled = match want {
            Want::Fingerprints => self.fill::<u64>(&mut layer, from, 0, watch),
            Want::Count => self.fill::<Class<P::State>>(&mut layer, from, 0, watch),
            Want::States => self.fill::<Class<P::State>>(&mut layer, from, expected, watch),
        }?;
        let Some(filled) = filled else {
            // More than expected: once more, with more room.
            drop(layer);
            return self.layer(from, 2 * expected, want, watch);
        };
        let states = (want != Want::Fingerprints).then_some(filled.of_states);
        let count = Count { classes: filled.classes, states };
        Some(Made { layer, count, states: filled.states, met_its_own: filled.met_its_own })
    }

    /// Fills a layer, with room for so many states of which none is kept if that is 0. `Some(None)` if the layer is full.
    fn fill<C: Child<P::State>>(
        &self,
        layer: &mut Layer,
        from: &From<'_, P::State>,
        room: usize,
        watch: &mut dyn FnMut(f64),
    ) -> Option<Option<Filled<P::State>>> {
        let threads = if from.parents.len() < 64 { 1 } else { cores() };
        // Where classes at their own distance are left out before, or cannot be, none is looked for.
        let last = (!self.has_own && !self.never_has_own).then_some(from.last);
        let mut filling = Filling::new(layer, threads, room, last);
        let total = (from.behind.len() + from.parents.len()).max(1) as f64;
        let mut watch = |done: usize| watch((done as f64 / total).min(1.0));
        let key = |state: &P::State, dealt: &mut Dealt<u64>| {
            dealt.made.push(self.symmetries.class(state).key);
            dealt.deal();
        };
        let leave_out = |taker: &mut Taker<'_, P::State>, &key: &u64| taker.leave_out(key);
        filling.deal(from.behind, 1, key, leave_out, self.stop, &mut watch).then_some(())?;
        // Walking back from the goals: states one move before. With each move, its inverse is one.
        let moves: Vec<Move> = (0..self.puzzle.move_count() as Move).collect();
        let neighbours = |parent: &P::State, dealt: &mut Dealt<C>| {
            C::neighbours(self.symmetries, parent, &moves, &mut dealt.made);
            if self.has_own {
                dealt.made.iter().for_each(|child| from.last.prefetch(child.key()));
                dealt.made.retain(|child| !from.last.holds_exactly(child.key()));
            }
            dealt.deal();
        };
        let take_in = |taker: &mut Taker<'_, P::State>, child: &C| taker.take_in(child.key(), child.class(), room > 0);
        let mut watch = |done| watch(from.behind.len() + done);
        filling.deal(from.parents, 2 * moves.len(), neighbours, take_in, self.stop, &mut watch).then_some(())?;
        Some(filling.finish())
    }
}

/// What is wanted of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// Its states, for the next layer.
    States,
    /// The number of its states.
    Count,
    /// No more than the set.
    Fingerprints,
}

/// What is kept of a child until it is taken in.
trait Child<S>: Keyed {
    /// The neighbours of a class, behind those that are there.
    fn neighbours(symmetries: &dyn Symmetries<S>, state: &S, moves: &[Move], neighbours: &mut Vec<Self>);
    fn class(&self) -> Option<&Class<S>>;
}

impl<S> Child<S> for u64 {
    fn neighbours(symmetries: &dyn Symmetries<S>, state: &S, moves: &[Move], neighbours: &mut Vec<Self>) {
        symmetries.neighbour_keys(state, moves, neighbours);
    }

    fn class(&self) -> Option<&Class<S>> {
        None
    }
}

impl<S: State> Child<S> for Class<S> {
    fn neighbours(symmetries: &dyn Symmetries<S>, state: &S, moves: &[Move], neighbours: &mut Vec<Self>) {
        symmetries.neighbours(state, moves, neighbours);
    }

    fn class(&self) -> Option<&Class<S>> {
        Some(self)
    }
}
