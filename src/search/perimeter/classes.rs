//! A perimeter by classes: one fingerprint for all symmetric images of a state, a table for each distance.
//!
//! Layers are made one from the other. Where classes merge inverses, the neighbours of a class are those of its canonical
//! image x and those of x⁻¹.

use super::layer::{Layer, PARTS, Share, part};
use crate::puzzle::{Class, Move, Puzzle, Reversible, State, Symmetries};
use crate::workers::{cores, on_each};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Parents whose children are made before they are taken in.
const AT_ONCE: usize = 1 << 12;

/// Parents whose children are looked up together.
const PARENTS: usize = 4;

/// Lines that are loaded ahead.
const AHEAD: usize = 32;

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
        table.layers.push(goals.layer);
        table.counts.push(goals.count);
        let mut spent = Duration::ZERO;
        for depth in 1..=extent.depth {
            // The growth may still rise a little.
            let expected = |parents: f64| (1.02 * parents * growth + 64.0) as usize;
            let (here, next) = (expected(states.len() as f64), expected(expected(states.len() as f64) as f64));
            let too_late = |layers: f64| extent.time.is_some_and(|time| begun.elapsed() + spent.mul_f64(layers) > time);
            let too_large =
                |before, expected, exact| table.bytes() + maker.bytes(before, expected, exact) > extent.bytes;
            if too_late(growth) || too_large(states.len(), here, false) {
                break;
            }
            let is_last = depth == extent.depth || too_late(growth * (1.0 + growth)) || too_large(here, next, false);
            let want = match (is_last, extent.count_last) {
                (false, _) => Want::States,
                (true, true) => Want::Count,
                (true, false) => Want::Fingerprints,
            };
            let started = Instant::now();
            let mut made =
                maker.layer(&table.layers, &states, here, want, &mut |share| watch(Making { depth, share }))?;
            if made.met_its_own && !maker.has_own {
                // From now on, what the layer before has is left out first.
                maker.has_own = true;
                table.by_parity = false;
                made = maker.layer(&table.layers, &states, here, want, &mut |share| watch(Making { depth, share }))?;
            }
            spent = started.elapsed();
            table.whole = made.count.classes == 0;
            if table.whole {
                break;
            }
            growth = made.count.classes as f64 / table.counts.last()?.classes as f64;
            if let Some(old) = table.layers.len().checked_sub(2) {
                table.layers[old].finish();
            }
            table.layers.push(made.layer);
            table.counts.push(made.count);
            states = made.states;
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

    /// Bytes that the making of a layer takes: the states of the layer before, of this one where the next is made from
    /// it, and the table.
    fn bytes(&self, before: usize, expected: usize, exact: bool) -> u64 {
        let states = (before + if exact { expected } else { 0 }) as u64 * size_of::<P::State>() as u64;
        states + Layer::bytes_for(expected, exact)
    }

    /// The layer behind the last one, made from its states; with the states where the next is made from them, and counted
    /// where that is asked for.
    fn layer(
        &self,
        layers: &[Layer],
        parents: &[P::State],
        expected: usize,
        want: Want,
        watch: &mut dyn FnMut(f64),
    ) -> Option<Made<P::State>> {
        let made = match want {
            Want::Fingerprints => self.fill::<u64>(layers, parents, expected, want, watch),
            _ => self.fill::<Class<P::State>>(layers, parents, expected, want, watch),
        }?;
        match made {
            Filled::Made(made) => Some(made),
            // More than expected: once more, with more room.
            Filled::TooMany => self.layer(layers, parents, 2 * expected, want, watch),
        }
    }

    fn fill<C: Child<P::State>>(
        &self,
        layers: &[Layer],
        parents: &[P::State],
        expected: usize,
        want: Want,
        watch: &mut dyn FnMut(f64),
    ) -> Option<Filled<P::State>> {
        let mut layer = Layer::with_room(expected, want != Want::Fingerprints);
        let threads = if parents.len() < 64 { 1 } else { cores() };
        let shares = layer.shares(threads);
        let threads = shares.len();
        let mut owner = [0; PARTS];
        shares.iter().enumerate().for_each(|(i, share)| owner[share.parts()].fill(i));
        let room = if want == Want::States { expected.div_ceil(threads) } else { 0 };
        // Where classes at their own distance are left out before, or cannot be, none is looked for.
        let last = (!self.has_own && !self.never_has_own).then(|| &layers[layers.len() - 1]);
        let taker = |share| Taker {
            share,
            last,
            classes: 0,
            of_states: 0,
            states: Vec::with_capacity(room),
            is_full: false,
            met_its_own: false,
        };
        let mut takers: Vec<Taker<'_, P::State>> = shares.into_iter().map(taker).collect();
        // Of each thread that makes children: for each thread that takes them in, those of its parts.
        let mut made: Vec<Vec<Vec<C>>> = (0..threads).map(|_| (0..threads).map(|_| Vec::new()).collect()).collect();
        for (chunk, parents_of_chunk) in parents.chunks(AT_ONCE * threads).enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            watch((chunk * AT_ONCE * threads) as f64 / parents.len() as f64);
            let each = parents_of_chunk.len().div_ceil(threads);
            let shares = made.iter_mut().zip(parents_of_chunk.chunks(each)).collect();
            on_each(threads, shares, |(made, parents)| self.children(layers, parents, &owner, made));
            on_each(threads, takers.iter_mut().enumerate().collect(), |(i, taker)| {
                made.iter().for_each(|made| taker.take_in(&made[i], want));
            });
            made.iter_mut().flatten().for_each(Vec::clear);
        }
        if takers.iter().any(|taker| taker.is_full) {
            return Some(Filled::TooMany);
        }
        let sum = |of: fn(&Taker<'_, P::State>) -> u64| takers.iter().map(of).sum::<u64>();
        let states = (want != Want::Fingerprints).then(|| sum(|taker| taker.of_states));
        let count = Count { classes: sum(|taker| taker.classes), states };
        let met_its_own = takers.iter().any(|taker| taker.met_its_own);
        let mut next = Vec::with_capacity(if want == Want::States { count.classes as usize } else { 0 });
        for taker in takers {
            next.extend(taker.states);
        }
        Some(Filled::Made(Made { layer, count, states: next, met_its_own }))
    }

    /// The children of some states that are not in the layer before the last, by the thread that takes them in.
    fn children<C: Child<P::State>>(
        &self,
        layers: &[Layer],
        parents: &[P::State],
        owner: &[usize; PARTS],
        made: &mut [Vec<C>],
    ) {
        let before = layers.len().checked_sub(2).map(|before| &layers[before]);
        let last = &layers[layers.len() - 1];
        // Walking back from the goals: states one move before. With each move, its inverse is one.
        let moves: Vec<Move> = (0..self.puzzle.move_count() as Move).collect();
        let mut children = Vec::new();
        for parents in parents.chunks(PARENTS) {
            children.clear();
            for parent in parents {
                C::of(self.symmetries, parent, &moves, &mut children);
                if let Some(inverse) = self.symmetries.inverse(parent).filter(|inverse| inverse != parent) {
                    C::of(self.symmetries, &inverse, &moves, &mut children);
                }
            }
            if let Some(before) = before {
                children.iter().for_each(|child| before.prefetch(child.key()));
            }
            if self.has_own {
                children.iter().for_each(|child| last.prefetch(child.key()));
            }
            for child in &children {
                let key = child.key();
                let is_known =
                    before.is_some_and(|before| before.holds_exactly(key)) || (self.has_own && last.holds_exactly(key));
                if !is_known {
                    made[owner[part(key)]].push(*child);
                }
            }
        }
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

/// What became of a layer.
enum Filled<S> {
    Made(Made<S>),
    TooMany,
}

/// What is kept of a child until it is taken in.
trait Child<S>: Copy + Send + Sync {
    fn of(symmetries: &dyn Symmetries<S>, parent: &S, moves: &[Move], children: &mut Vec<Self>);
    fn key(&self) -> u64;
    fn class(&self) -> Option<&Class<S>>;
}

impl<S> Child<S> for u64 {
    fn of(symmetries: &dyn Symmetries<S>, parent: &S, moves: &[Move], children: &mut Vec<Self>) {
        symmetries.child_keys(parent, moves, children);
    }

    fn key(&self) -> u64 {
        *self
    }

    fn class(&self) -> Option<&Class<S>> {
        None
    }
}

impl<S: State> Child<S> for Class<S> {
    fn of(symmetries: &dyn Symmetries<S>, parent: &S, moves: &[Move], children: &mut Vec<Self>) {
        symmetries.child_classes(parent, moves, children);
    }

    fn key(&self) -> u64 {
        self.key
    }

    fn class(&self) -> Option<&Class<S>> {
        Some(self)
    }
}

/// What takes children into some parts of a layer.
struct Taker<'a, S> {
    share: Share<'a>,
    /// The layer before, where it is to be known whether a class is in both.
    last: Option<&'a Layer>,
    classes: u64,
    of_states: u64,
    states: Vec<S>,
    is_full: bool,
    met_its_own: bool,
}

impl<S: State> Taker<'_, S> {
    fn take_in<C: Child<S>>(&mut self, children: &[C], want: Want) {
        let mut new = Vec::with_capacity(AHEAD);
        for (k, child) in children.iter().enumerate() {
            if let Some(ahead) = children.get(k + AHEAD) {
                self.share.prefetch(ahead.key());
            }
            match self.share.insert(child.key()) {
                Some(true) => {
                    self.classes += 1;
                    self.of_states += child.class().map_or(0, |class| u64::from(class.states));
                    if want == Want::States {
                        self.states.extend(child.class().map(|class| class.state));
                    }
                    if let Some(last) = self.last {
                        last.prefetch(child.key());
                        new.push(child.key());
                    }
                }
                Some(false) => {}
                None => self.is_full = true,
            }
            if new.len() == AHEAD {
                self.compare_with_last(&mut new);
            }
        }
        self.compare_with_last(&mut new);
    }

    fn compare_with_last(&mut self, new: &mut Vec<u64>) {
        self.met_its_own |= new.drain(..).any(|key| self.last.is_some_and(|last| last.holds_exactly(key)));
    }
}
