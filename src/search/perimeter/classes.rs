//! A perimeter by classes: one fingerprint for all symmetric images of a state, a table for each distance.
//!
//! Layers are made from those before. A neighbour of the last layer is in the next one or in the one before (or, of some
//! puzzles, in the last itself). So a new layer begins with the classes two moves nearer to the goals: what is not there yet
//! is new, and no other layer need be asked. They stay in it. As each lookup asks for states at a distance of which
//! it is known that they are no nearer, none of these is met.
//!
//! Where inversion is a symmetry, a state of the new layer is found from the middle of a shortest scramble of it: the
//! state two moves nearer, with one move more at each end, each of which leads to the last layer by itself. That meets each
//! new class less often than trying all neighbours of the last layer and of the inverses of its states, and the states of
//! the last layer need not be kept.

use super::ends::Ends;
use super::filling::{Dealt, Filled, Filling, Keyed, Taker, room_for_things};
use super::layer::Layer;
use crate::puzzle::{Class, Move, Puzzle, Reversible, State, Symmetries};
use crate::workers::cores;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The share of the time that a layer takes of which no states are kept: where states are found from their neighbours, and
/// from both ends of a scramble. Where they are counted, it is about the mean of this and 1.
const WITHOUT_STATES: [f64; 2] = [0.75, 0.42];

/// The states of a layer are kept if the next would end within so many times the time that there is: how long the last one
/// took tells little about the one after the next, and much about the next.
const DOUBT: f64 = 1.5;

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
    ends: Ends<'a, P::State>,
    stop: &'a AtomicBool,
    /// Whether a class has a neighbour at its own distance.
    has_own: bool,
    /// Whether that is known to be impossible: every move changes the parity of the distance.
    never_has_own: bool,
}

/// What the next layer is made from.
struct From<'a, S> {
    /// The layers, up to the last.
    layers: &'a [Layer],
    /// The states of the last, where they were kept.
    states: &'a [S],
    /// The states of the layer before it.
    behind: &'a [S],
    /// Whether its states are made with moves at both ends, from those of the layer before the last.
    by_both_ends: bool,
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
        let ends = Ends::new(puzzle, symmetries);
        let mut maker = Maker { puzzle, symmetries, ends, stop, has_own: false, never_has_own };
        let mut table = ClassTable { by_parity: true, in_time: extent.time.is_some(), ..ClassTable::default() };
        let goals = maker.goals();
        let mut growth = puzzle.move_count() as f64;
        let mut states = goals.states;
        let mut behind = Vec::new();
        table.layers.push(goals.layer);
        table.counts.push(goals.count);
        // Seconds that the last layer took, or would have taken with its states.
        let mut spent = 0.0;
        // Whether the states of the last layer were kept.
        let mut kept_states = true;
        for depth in 1..=extent.depth {
            let by_both_ends = symmetries.has_inversion() && depth > 1;
            let last = table.counts.last()?.classes as f64;
            // The growth may still rise a little.
            let growing = |layers: i32| (1.02 * growth).powi(layers) * last;
            let too_late = |layers: f64, times: f64| {
                let end = begun.elapsed().as_secs_f64() + layers * spent;
                extent.time.is_some_and(|time| end > times * time.as_secs_f64())
            };
            // Layers are made from the states of one or two others.
            let there: u64 = table.layers.iter().map(Layer::bytes).sum();
            let too_large = |states: f64, layers: i32| {
                let between = |layer| Layer::bytes_for(growing(layer) as usize, !maker.never_has_own);
                let making = maker.bytes(states, growing(layers), extent.count_last);
                there + (1..layers).map(between).sum::<u64>() + making > extent.bytes
            };
            let here = growing(1);
            let share = WITHOUT_STATES[usize::from(by_both_ends)];
            if too_late(share * growth, 1.0) || too_large((behind.len() + states.len()) as f64, 1) {
                break;
            }
            let states_for_next = if by_both_ends { states.len() as f64 } else { states.len() as f64 + here };
            let is_last = depth == extent.depth
                || !kept_states
                || too_late(growth, 1.0)
                || too_late(growth * (1.0 + share * growth), DOUBT)
                || too_large(states_for_next, 2);
            // Of the last but one, with moves at both ends, the states are not needed.
            let is_last_but_one = depth + 1 == extent.depth || too_large(here, 3);
            let want = match (is_last, extent.count_last) {
                (false, _) if by_both_ends && is_last_but_one => Want::Count,
                (false, _) => Want::States,
                (true, true) => Want::Count,
                (true, false) => Want::Fingerprints,
            };
            if is_last && maker.never_has_own {
                table.layers.last_mut()?.finish();
            }
            let started = Instant::now();
            let from = From { layers: &table.layers, states: &states, behind: &behind, by_both_ends };
            let here = here as usize + 64;
            let mut made = maker.layer(&from, here, want, &mut |share| watch(Making { depth, share }))?;
            if made.met_its_own && !maker.has_own {
                // From now on, what the layer before has is left out first.
                maker.has_own = true;
                table.by_parity = false;
                made = maker.layer(&from, here, want, &mut |share| watch(Making { depth, share }))?;
            }
            kept_states = want == Want::States;
            spent = started.elapsed().as_secs_f64() / if kept_states { 1.0 } else { (1.0 + share) / 2.0 };
            table.whole = made.count.classes == 0;
            if table.whole {
                break;
            }
            growth = made.count.classes as f64 / table.counts.last()?.classes as f64;
            if maker.never_has_own && !kept_states {
                made.layer.finish();
            }
            // From both ends, the two layers before the last are still looked into.
            if let Some(far) = table.layers.len().checked_sub(if symmetries.has_inversion() { 3 } else { 1 }) {
                table.layers[far].finish();
            }
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

    /// Bytes that the making of a layer of so many classes takes: the states that it is made from, the table, what tells its
    /// classes apart for certain, and what waits to be taken in.
    fn bytes(&self, states: f64, expected: f64, exact: bool) -> u64 {
        let (states, expected) = (states * size_of::<P::State>() as f64, expected as usize);
        let things = room_for_things(Layer::bytes_for(expected, false) as usize);
        states as u64 + Layer::bytes_for(expected, exact) + things as u64
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
        let sources = if from.by_both_ends { from.behind } else { from.states };
        let threads = if sources.len() < 64 { 1 } else { cores() };
        // Where classes at their own distance are left out before, or cannot be, none is looked for.
        let last = from.layers.last().filter(|_| !self.never_has_own);
        let unmet = last.filter(|_| !self.has_own);
        let own = last.filter(|_| self.has_own);
        let mut filling = Filling::new(layer, threads, room, unmet);
        let total = sources.len().max(1) as f64;
        let mut watch = |done: usize| watch((done as f64 / total).min(1.0));
        let key = |state: &P::State, dealt: &mut Dealt<u64>| {
            dealt.made.push(self.symmetries.class(state).key);
            dealt.deal();
        };
        let leave_out = |taker: &mut Taker<'_, P::State>, &key: &u64| taker.leave_out(key);
        filling.deal(from.behind, 1, key, leave_out, self.stop, &mut |_| ()).then_some(())?;
        // Walking back from the goals: states one move before. With each move, its inverse is one.
        let moves: Vec<Move> = (0..self.puzzle.move_count() as Move).collect();
        let make = |source: &P::State, dealt: &mut Dealt<C>| {
            if from.by_both_ends {
                let Dealt { made, found, .. } = dealt;
                self.ends.find(source, from.layers, self.has_own, found);
                C::around(self.symmetries, source, [&found.before, &found.after], made);
            } else {
                C::neighbours(self.symmetries, source, &moves, &mut dealt.made);
            }
            if let Some(own) = own {
                dealt.made.iter().for_each(|child| own.prefetch(child.key()));
                dealt.made.retain(|child| !own.holds_exactly(child.key()));
            }
            dealt.deal();
        };
        let take_in = |taker: &mut Taker<'_, P::State>, child: &C| taker.take_in(child.key(), child.class(), room > 0);
        let most = if from.by_both_ends { moves.len() * moves.len() } else { 2 * moves.len() };
        filling.deal(sources, most, make, take_in, self.stop, &mut watch).then_some(())?;
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
    /// The classes with one move more at each end of a scramble, behind those that are there.
    fn around(symmetries: &dyn Symmetries<S>, state: &S, ends: [&[Move]; 2], around: &mut Vec<Self>);
    fn class(&self) -> Option<&Class<S>>;
}

impl<S> Child<S> for u64 {
    fn neighbours(symmetries: &dyn Symmetries<S>, state: &S, moves: &[Move], neighbours: &mut Vec<Self>) {
        symmetries.neighbour_keys(state, moves, neighbours);
    }

    fn around(symmetries: &dyn Symmetries<S>, state: &S, [before, after]: [&[Move]; 2], around: &mut Vec<Self>) {
        symmetries.keys_around(state, before, after, around);
    }

    fn class(&self) -> Option<&Class<S>> {
        None
    }
}

impl<S: State> Child<S> for Class<S> {
    fn neighbours(symmetries: &dyn Symmetries<S>, state: &S, moves: &[Move], neighbours: &mut Vec<Self>) {
        symmetries.neighbours(state, moves, neighbours);
    }

    fn around(symmetries: &dyn Symmetries<S>, state: &S, [before, after]: [&[Move]; 2], around: &mut Vec<Self>) {
        symmetries.around(state, before, after, around);
    }

    fn class(&self) -> Option<&Class<S>> {
        Some(self)
    }
}
