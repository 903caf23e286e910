//! A perimeter by classes: one fingerprint for all symmetric images of a state, a table for each distance.
//!
//! A neighbour of the last layer is in the next layer or in the one before (or, in some puzzles, in the last itself). So a
//! new layer begins with the classes two moves nearer to the goals: a class that is not among them is new, and no other
//! layer need be looked into. They stay in the layer; lookups only ask for states at least this far away.
//!
//! If inversion is a symmetry, a state of the new layer is found from the middle of one of its shortest scrambles: the
//! state two moves nearer, with one more move at each end, each of which leads to the last layer by itself. That meets each
//! new class less often than trying all neighbours of the last layer and of the inverses of its states, and the states of
//! the last layer need not be kept.

use super::filling::{Filled, ItemMaker, Keyed, LayerFilling, PartWriter, item_bytes};
use super::layer::ClassLayer;
use super::scramble_ends::{EndFinder, EndMoves};
use crate::puzzle::{Class, Move, Puzzle, Symmetries};
use crate::workers::cores;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The relative time of a layer whose states are not kept: made from neighbours, and from both ends of a scramble. If
/// they are counted, it is about the mean of this and 1.
const TIME_WITHOUT_STATES: [f64; 2] = [0.75, 0.42];

/// The states of a layer are kept if the next would end within this multiple of the time limit: the time of the last layer
/// predicts that of the next well, and that of the one after it badly.
const DOUBT: f64 = 1.5;

/// The classes within some moves of the goals.
#[derive(Debug, Default)]
pub(super) struct ClassTable {
    /// By distance.
    pub(super) layers: Vec<ClassLayer>,
    /// By distance.
    pub(super) counts: Vec<Count>,
    /// True if the table holds every class of the puzzle.
    pub(super) whole: bool,
    /// Whether a time limit decided the depth.
    pub(super) in_time: bool,
}

/// The size of a layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Count {
    /// Classes.
    pub classes: u64,
    /// States of all classes together; `None` if they were not counted.
    pub states: Option<u64>,
}

/// How deep a table is made.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The most moves.
    pub depth: u32,
    /// The most bytes, those for making it included.
    pub bytes: u64,
    /// No layer is started that would end later, as extrapolated from the layers before.
    pub time: Option<Duration>,
    /// Whether the states of the last layer are counted too: takes 5 more bytes per class while it is made.
    pub count_last: bool,
}

/// The progress of a perimeter that is being made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerimeterProgress {
    /// The distance of the layer.
    pub depth: u32,
    /// The share of the layer that is done.
    pub share: f64,
}

/// Receives the progress of a build.
pub type OnProgress<'a> = &'a mut dyn FnMut(PerimeterProgress);

/// Makes layers.
struct LayerMaker<'a, P: Puzzle> {
    puzzle: &'a P,
    symmetries: &'a dyn Symmetries<P::State>,
    moves: Vec<Move>,
    ends: EndFinder<'a, P::State>,
    stop: &'a AtomicBool,
    /// Whether a class with a neighbour at its own distance was met.
    has_level_moves: bool,
    /// True if every move changes the distance's parity, so that such neighbours are impossible.
    moves_change_parity: bool,
}

/// The layers and states that the next layer is made from.
struct EarlierLayers<'a, S> {
    /// The layers, up to the last.
    layers: &'a [ClassLayer],
    /// The states of the last, if they were kept.
    states: &'a [S],
    /// The states of the layer before it.
    states_before: &'a [S],
    /// Whether its states are made with moves at both ends, from those of the layer before the last.
    by_both_ends: bool,
}

impl ClassTable {
    /// Makes the layers, as deep as `extent` allows; `None` once `stop` is set.
    pub(super) fn make<P: Puzzle>(
        puzzle: &P,
        symmetries: &dyn Symmetries<P::State>,
        extent: Extent,
        stop: &AtomicBool,
        on_progress: OnProgress<'_>,
    ) -> Option<Self> {
        let started = Instant::now();
        let moves_change_parity = puzzle.moves_change_parity();
        let ends = EndFinder::new(puzzle, symmetries);
        let moves = (0..puzzle.move_count() as Move).collect();
        let has_level_moves = false;
        let mut maker = LayerMaker { puzzle, symmetries, moves, ends, stop, has_level_moves, moves_change_parity };
        let mut table = ClassTable::default();
        let (layer, goals) = maker.goals();
        let mut growth = puzzle.move_count() as f64;
        let mut states = goals.states;
        let mut states_before = Vec::new();
        table.layers.push(layer);
        table.counts.push(goals.count);
        // Seconds that the last layer took, or would have taken if its states were kept.
        let mut spent = 0.0;
        let mut kept_states = true;
        for depth in 1..=extent.depth {
            let by_both_ends = symmetries.has_inversion() && depth > 1;
            let last = table.counts.last()?.classes as f64;
            // The growth may still rise a little.
            let growing = |layers: i32| (1.02 * growth).powi(layers) * last;
            let too_late = |layers: f64, times: f64| {
                let end = started.elapsed().as_secs_f64() + layers * spent;
                extent.time.is_some_and(|time| end > times * time.as_secs_f64())
            };
            let present: u64 = table.layers.iter().map(ClassLayer::bytes).sum();
            let too_large = |states: f64, layers: i32| {
                let between = |layer| ClassLayer::bytes_for(growing(layer) as usize, !maker.moves_change_parity);
                let making = maker.bytes(states, growing(layers), extent.count_last);
                present + (1..layers).map(between).sum::<u64>() + making > extent.bytes
            };
            let expected = growing(1);
            let share = TIME_WITHOUT_STATES[usize::from(by_both_ends)];
            table.in_time = too_late(share * growth, 1.0);
            if table.in_time || too_large((states_before.len() + states.len()) as f64, 1) {
                break;
            }
            let states_for_next = states.len() as f64 + if by_both_ends { 0.0 } else { expected };
            table.in_time = too_late(growth, 1.0) || too_late(growth * (1.0 + share * growth), DOUBT);
            let is_last = depth == extent.depth || !kept_states || table.in_time || too_large(states_for_next, 2);
            // With moves at both ends, the states of the last layer but one are not needed.
            let is_last_but_one = depth + 1 == extent.depth || too_large(expected, 3);
            kept_states = !(is_last || by_both_ends && is_last_but_one);
            let detail = [!is_last || extent.count_last, kept_states];
            if is_last && maker.moves_change_parity {
                table.layers.last_mut()?.finish();
            }
            let layer_started = Instant::now();
            let source =
                EarlierLayers { layers: &table.layers, states: &states, states_before: &states_before, by_both_ends };
            let capacity = expected as usize + 64;
            let mut on_share = |share| on_progress(PerimeterProgress { depth, share });
            let (mut layer, mut new) = maker.layer(&source, capacity, detail, &mut on_share)?;
            if new.has_level_moves && !maker.has_level_moves {
                // From now on, the classes of the layer before are excluded first.
                maker.has_level_moves = true;
                (layer, new) = maker.layer(&source, capacity, detail, &mut on_share)?;
            }
            spent = layer_started.elapsed().as_secs_f64() / if kept_states { 1.0 } else { (1.0 + share) / 2.0 };
            table.whole = new.count.classes == 0;
            if table.whole {
                break;
            }
            growth = new.count.classes as f64 / table.counts.last()?.classes as f64;
            if maker.moves_change_parity && !kept_states {
                layer.finish();
            }
            // With moves at both ends, the two layers before the last are still looked into.
            if let Some(far) = table.layers.len().checked_sub(if symmetries.has_inversion() { 3 } else { 1 }) {
                table.layers[far].finish();
            }
            table.layers.push(layer);
            table.counts.push(new.count);
            states_before = std::mem::replace(&mut states, new.states);
            if is_last {
                break;
            }
        }
        table.layers.iter_mut().for_each(ClassLayer::finish);
        Some(table)
    }

    /// The greatest distance.
    pub(super) fn depth(&self) -> u32 {
        (self.layers.len() as u32).saturating_sub(1)
    }
}

impl<P: Puzzle> LayerMaker<'_, P> {
    /// The layer of the goals.
    fn goals(&self) -> (ClassLayer, Filled<P::State>) {
        let goals = self.puzzle.goals();
        let mut layer = ClassLayer::with_capacity(goals.len(), true);
        let mut classes: Vec<_> = goals.iter().map(|goal| self.symmetries.class(goal)).collect();
        for share in &mut layer.shares(1) {
            classes.retain(|class| share.insert(class.key) == Some(true));
        }
        let states = classes.iter().map(|class| u64::from(class.states)).sum();
        let count = Count { classes: classes.len() as u64, states: Some(states) };
        let states = classes.into_iter().map(|class| class.state).collect();
        (layer, Filled { count, states, has_level_moves: false })
    }

    /// Bytes for making a layer of `expected` classes: the states that it is made from, the table, with its extensions if
    /// `exact`, and the items that wait to be inserted.
    fn bytes(&self, states: f64, expected: f64, exact: bool) -> u64 {
        let (states, expected) = (states * size_of::<P::State>() as f64, expected as usize);
        let items = item_bytes(ClassLayer::bytes_for(expected, false) as usize);
        states as u64 + ClassLayer::bytes_for(expected, exact) + items as u64
    }

    /// The layer after the last one; `None` once `stop` is set. The states of its classes may be counted, and then their
    /// canonical images kept.
    fn layer(
        &self,
        source: &EarlierLayers<'_, P::State>,
        expected: usize,
        [is_counted, keeps_states]: [bool; 2],
        on_share: &mut dyn FnMut(f64),
    ) -> Option<(ClassLayer, Filled<P::State>)> {
        let mut layer = ClassLayer::with_capacity(source.states_before.len() + expected, is_counted);
        let symmetries = self.symmetries;
        let filled = if is_counted {
            let capacity = if keeps_states { expected } else { 0 };
            self.fill(&mut layer, source, capacity, on_share, |state, ends, classes: &mut Vec<Class<_>>| match ends {
                None => symmetries.neighbours(state, &self.moves, classes),
                Some(ends) => symmetries.around(state, &ends.before, &ends.after, classes),
            })
        } else {
            self.fill(&mut layer, source, 0, on_share, |state, ends, keys: &mut Vec<u64>| match ends {
                None => symmetries.neighbour_keys(state, &self.moves, keys),
                Some(ends) => symmetries.keys_around(state, &ends.before, &ends.after, keys),
            })
        }?;
        if let Some(filled) = filled {
            return Some((layer, filled));
        }
        // There are more classes than expected.
        drop(layer);
        self.layer(source, 2 * expected, [is_counted, keeps_states], on_share)
    }

    /// Fills a layer with what `add_children` appends for each state and the moves at the ends of its scramble, or all
    /// moves, and keeps up to `capacity` states, with 0 none. `Some(None)` if the layer is full.
    fn fill<C: Keyed<P::State>>(
        &self,
        layer: &mut ClassLayer,
        source: &EarlierLayers<'_, P::State>,
        capacity: usize,
        on_share: &mut dyn FnMut(f64),
        add_children: impl Fn(&P::State, Option<&EndMoves>, &mut Vec<C>) + Sync,
    ) -> Option<Option<Filled<P::State>>> {
        let parents = if source.by_both_ends { source.states_before } else { source.states };
        let threads = if parents.len() < 64 { 1 } else { cores() };
        // Classes of the last layer are excluded once level moves were met; before, they are looked for if they can exist.
        let last = source.layers.last().filter(|_| !self.moves_change_parity);
        let (excluded, compared) = if self.has_level_moves { (last, None) } else { (None, last) };
        let mut filling = LayerFilling::new(layer, threads, capacity, compared);
        let total = parents.len().max(1) as f64;
        let mut on_progress = |done: usize| on_share((done as f64 / total).min(1.0));
        let key = |state: &P::State, maker: &mut ItemMaker<u64>| maker.made.push(self.symmetries.class(state).key);
        let insert_uncounted = |writer: &mut PartWriter<'_, P::State>, &key: &u64| writer.insert_uncounted(key);
        filling.fill(source.states_before, 1, key, insert_uncounted, self.stop, &mut |_| ()).then_some(())?;
        // Walking back from the goals: states one move before. The inverse of each move is a move too.
        let make = |parent: &P::State, maker: &mut ItemMaker<C>| {
            let ItemMaker { made, ends, .. } = maker;
            if source.by_both_ends {
                self.ends.find(parent, source.layers, self.has_level_moves, ends);
            }
            add_children(parent, source.by_both_ends.then_some(&*ends), made);
            if let Some(excluded) = excluded {
                made.iter().for_each(|child| excluded.prefetch(child.key()));
                made.retain(|child| !excluded.holds_exactly(child.key()));
            }
        };
        let insert = |writer: &mut PartWriter<'_, P::State>, child: &C| writer.insert(child, capacity > 0);
        let moves = self.moves.len();
        let max_items = if source.by_both_ends { moves * moves } else { 2 * moves };
        filling.fill(parents, max_items, make, insert, self.stop, &mut on_progress).then_some(())?;
        Some(filling.finish())
    }
}
