//! The perimeter: exact costs of all states near the goals, and a path to the goal from each (Dillenburg and Nelson,
//! "Perimeter search", Artificial Intelligence 65, 1994).
//!
//! It has two forms. For a puzzle that knows its [symmetries](Symmetries), it holds one fingerprint per class of states,
//! 2.7 bytes: 2.01 GB for the cube's states within 11 moves. For any other puzzle, it holds 13 bytes per state.
//!
//! | file | content |
//! | --- | --- |
//! | `mod` | [`Perimeter`], the table of either form |
//! | `following_moves` | which moves may follow a move |
//! | `states` | the table by states |
//! | `classes`, `scramble_ends`, `filling` | the table by classes, and how its layers are made |
//! | `layer`, `cache_lines` | one layer: a set of fingerprints; its memory |
//! | `file` | [`PerimeterFolder`]: perimeters on the disk |

use crate::error::SettingError;
use crate::puzzle::{Cost, Move, Puzzle, State, Symmetries, assert_reversible};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

mod cache_lines;
mod classes;
mod file;
mod filling;
mod following_moves;
mod layer;
mod scramble_ends;
mod states;

use classes::ClassTable;
pub use classes::{Count, Extent, OnProgress, PerimeterProgress};
pub use file::{PerimeterFile, PerimeterFolder, SavedPerimeter};
use following_moves::Successors;
use states::StateTable;

/// States that are looked up at a time: while the table's lines are loaded, the keys of the next are computed.
const LOOKUPS_AT_ONCE: usize = 32;

/// The number of states of a perimeter by states that can be made in this many bytes.
pub fn states_in(bytes: u64) -> usize {
    usize::try_from(bytes / states::BYTES_WHILE_MADE).unwrap_or(usize::MAX)
}

/// All states within some moves of a goal, with their exact cost. Clones share the table.
#[derive(Clone)]
pub struct Perimeter<S> {
    table: PerimeterTable<S>,
    depth: Cost,
    whole: bool,
    by_parity: bool,
    successors: Arc<Successors>,
}

/// The two forms.
#[derive(Clone)]
enum PerimeterTable<S> {
    States(Arc<StateTable>),
    Classes(Arc<ClassTable>, Arc<dyn Symmetries<S>>),
}

impl<S> std::fmt::Debug for Perimeter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Perimeter {{ depth: {}, whole: {} }}", self.depth, self.whole)
    }
}

impl<S: State> Perimeter<S> {
    /// Every state within `depth` moves of the goals, by breadth-first search on all cores. Costs count moves.
    ///
    /// Takes time and memory in proportion to their number: 984,000 of the cube at depth 6, 9.2 million at 7, 86 million
    /// at 8.
    ///
    /// # Panics
    /// Unless the puzzle is [reversible](crate::puzzle::Rules::is_reversible).
    pub fn new<P: Puzzle<State = S>>(puzzle: &P, depth: u32) -> Self {
        Self::within(puzzle, depth, usize::MAX, &AtomicBool::new(false))
    }

    /// Like [`Perimeter::new`], but no deeper than about `capacity` states reach, as extrapolated from one depth to the
    /// next. Empty soon after `stop` is set.
    ///
    /// # Panics
    /// Unless the puzzle is [reversible](crate::puzzle::Rules::is_reversible).
    pub fn within<P: Puzzle<State = S>>(puzzle: &P, depth: u32, capacity: usize, stop: &AtomicBool) -> Self {
        assert_reversible(puzzle);
        let mut table = StateTable::default();
        let mut layer: Vec<S> = puzzle.goals();
        layer.retain(|goal| table.insert(states::key(goal), 0));
        let mut perimeter = Perimeter::none();
        let mut growth = puzzle.move_count() as f64;
        for distance in 1..=depth.min(StateTable::MAX_COST) {
            let expected = layer.len() as f64 * growth;
            if table.0.len().saturating_add(expected as u64) > capacity as u64 {
                break;
            }
            let last = distance == depth || expected * growth > capacity as f64;
            let (states, count) = table.add_layer(puzzle, &layer, distance as u8, expected as usize, last, stop);
            if stop.load(Ordering::Relaxed) {
                return Perimeter::none();
            }
            growth = count as f64 / layer.len() as f64;
            perimeter.whole = count == 0;
            if !perimeter.whole {
                perimeter.depth = distance;
            }
            if perimeter.whole || last {
                break;
            }
            layer = states;
        }
        Perimeter {
            table: PerimeterTable::States(Arc::new(table)),
            by_parity: puzzle.moves_change_parity(),
            successors: Arc::new(Successors::new(puzzle)),
            ..perimeter
        }
    }

    /// The classes of all states within some moves of the goals, made on all cores; for a puzzle that knows its symmetries,
    /// whose moves are legal everywhere and cost 1. `None` once `stop` is set.
    ///
    /// # Panics
    /// Unless the puzzle is [reversible](crate::puzzle::Rules::is_reversible).
    pub fn of_classes<P: Puzzle<State = S>>(
        puzzle: &P,
        symmetries: Arc<dyn Symmetries<S>>,
        extent: Extent,
        stop: &AtomicBool,
        on_progress: OnProgress<'_>,
    ) -> Option<Self> {
        let table = ClassTable::make(puzzle, &*symmetries, extent, stop, on_progress)?;
        Some(Self::from_classes(puzzle, symmetries, table))
    }

    fn from_classes<P: Puzzle<State = S>>(puzzle: &P, symmetries: Arc<dyn Symmetries<S>>, table: ClassTable) -> Self {
        Perimeter {
            depth: table.depth(),
            whole: table.whole,
            by_parity: puzzle.moves_change_parity(),
            table: PerimeterTable::Classes(Arc::new(table), symmetries),
            successors: Arc::new(Successors::new(puzzle)),
        }
    }

    /// An empty perimeter.
    pub fn none() -> Self {
        let (table, successors) = (PerimeterTable::States(Arc::default()), Arc::default());
        Perimeter { table, depth: 0, whole: false, by_parity: false, successors }
    }

    fn classes(&self) -> Option<&ClassTable> {
        match &self.table {
            PerimeterTable::States(_) => None,
            PerimeterTable::Classes(table, _) => Some(table),
        }
    }

    /// The number of entries: states, or classes.
    pub fn len(&self) -> usize {
        match &self.table {
            PerimeterTable::States(table) => table.0.len() as usize,
            PerimeterTable::Classes(table, _) => table.counts.iter().map(|count| count.classes as usize).sum(),
        }
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> u64 {
        match &self.table {
            PerimeterTable::States(table) => table.0.bytes(),
            PerimeterTable::Classes(table, _) => table.layers.iter().map(layer::ClassLayer::bytes).sum(),
        }
    }

    /// The number of classes and states at each distance; empty for the form by states.
    pub fn counts(&self) -> &[Count] {
        self.classes().map_or(&[], |table| &table.counts)
    }

    /// The greatest cost in it.
    pub fn depth(&self) -> Cost {
        self.depth
    }

    /// The moves that may follow a move (after `None`, all) without making a copy of another path: not its inverse, no move
    /// that joins it to one move (U2 after U), and of pairs of moves that always lead to the same state, only the first in
    /// the order of the moves. Every state keeps a shortest path to the goal: the first of all its shortest paths in that
    /// order.
    pub fn following(&self, action: Option<Move>) -> &[Move] {
        self.successors.moves(action)
    }

    /// The mean number of moves that may follow a move.
    pub fn branching(&self) -> f64 {
        self.successors.branching()
    }

    /// Refuses a perimeter that the memory budget kept from reaching the requested depth.
    ///
    /// # Errors
    /// Says which depth fits.
    pub fn check_depth(&self, depth: u32) -> Result<(), SettingError> {
        let reached = self.depth();
        if reached == depth || self.is_empty() || self.is_whole() {
            return Ok(());
        }
        let reason = format!("{depth} moves take more than half of the memory: expected at most {reached}");
        Err(SettingError::new("perimeter", reason))
    }

    /// Whether other processes that read the same file share its memory, through the page cache.
    pub fn is_shared(&self) -> bool {
        self.classes().is_some_and(|table| table.layers.iter().any(|layer| layer.lines.are_shared))
    }

    /// Whether a [time limit](Extent::time) decided its depth.
    pub fn is_time_limited(&self) -> bool {
        self.classes().is_some_and(|table| table.in_time)
    }

    /// The bytes that a perimeter may take: half of this memory; unlimited if the memory is not known.
    pub fn memory_budget(memory: Option<u64>) -> u64 {
        memory.map_or(u64::MAX, |memory| memory / 2)
    }

    /// Whether it holds every state from which a goal can be reached.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The least difference between the costs of two solutions of a state: 2 if every move
    /// [changes a parity](crate::puzzle::Rules::moves_change_parity), as on the cube in quarter turns and on tiles.
    pub fn step(&self) -> Cost {
        if self.by_parity { 2 } else { 1 }
    }

    /// The exact cost of a state inside, in moves; `None` for a state outside.
    #[inline]
    pub fn cost<P: Puzzle<State = S>>(&self, puzzle: &P, state: &S) -> Option<Cost> {
        match &self.table {
            PerimeterTable::States(table) => table.find(states::key(state)).map(Cost::from),
            PerimeterTable::Classes(..) => self.path_to_goal(puzzle, state).map(|path| path.len() as Cost),
        }
    }

    /// The states below `count` that are inside, in order, with their exact costs; all are neighbours of states outside.
    pub(in crate::search) fn costs_on_rim<'s, P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        count: usize,
        state: impl Fn(usize) -> &'s S,
    ) -> Vec<(usize, Cost)>
    where
        S: 's,
    {
        let (mut found, mut keys) = (Vec::new(), [0; LOOKUPS_AT_ONCE]);
        if self.is_empty() {
            return found;
        }
        for first in (0..count).step_by(LOOKUPS_AT_ONCE) {
            let chunk = first..count.min(first + LOOKUPS_AT_ONCE);
            for (key, i) in keys.iter_mut().zip(chunk.clone()) {
                *key = self.key(state(i));
                self.prefetch(*key);
            }
            for (&key, i) in keys.iter().zip(chunk) {
                if self.reaches(key)
                    && let Some(cost) = self.cost(puzzle, state(i))
                {
                    found.push((i, cost));
                }
            }
        }
        found
    }

    /// The least cost of a state outside.
    pub fn min_cost_outside(&self) -> Cost {
        if self.is_empty() { 1 } else { self.depth + 1 }
    }

    /// Appends to `keys` the keys of all states two moves later, and to `made` the moves; `last` is the move before. Entries
    /// with the same first move are adjacent.
    #[inline]
    pub(super) fn keys_after_two<P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        state: &S,
        last: Option<Move>,
        keys: &mut Vec<u64>,
        made: &mut Vec<[Move; 2]>,
    ) {
        let pairs = self.successors.pairs(last);
        match &self.table {
            PerimeterTable::Classes(_, symmetries) => {
                symmetries.keys_after_two(state, pairs, keys);
                made.extend_from_slice(pairs);
            }
            PerimeterTable::States(_) => {
                for same in pairs.chunk_by(|a, b| a[0] == b[0]) {
                    let Some(child) = puzzle.apply(state, same[0][0]) else { continue };
                    for &[first, second] in same {
                        let Some(end) = puzzle.apply(&child, second) else { continue };
                        keys.push(states::key(&end));
                        made.push([first, second]);
                    }
                }
            }
        }
    }

    /// Regions of the table: keys of a region stand near each other.
    pub(super) const REGIONS: usize = layer::PARTS;

    /// The region of a key.
    #[inline]
    pub(super) fn region(key: u64) -> usize {
        layer::part(key)
    }

    /// The key of a state.
    #[inline]
    pub(super) fn key(&self, state: &S) -> u64 {
        match &self.table {
            PerimeterTable::States(_) => states::key(state),
            PerimeterTable::Classes(_, symmetries) => symmetries.class(state).key,
        }
    }

    /// Loads the line of a key into the cache.
    #[inline]
    pub(super) fn prefetch(&self, key: u64) {
        match &self.table {
            PerimeterTable::States(table) => table.0.table(key).prefetch(key),
            PerimeterTable::Classes(table, _) => {
                if let Some(last) = table.layers.last() {
                    last.prefetch(key);
                }
            }
        }
    }

    /// Whether a state with this key seems to be inside, and in the form by classes, on the rim: as far from the goals as
    /// the perimeter is deep. Never misses one; [`Perimeter::path_to_goal`] tells for certain.
    #[inline]
    pub(super) fn reaches(&self, key: u64) -> bool {
        match &self.table {
            PerimeterTable::States(table) => table.find(key).is_some(),
            PerimeterTable::Classes(table, _) => table.layers.last().is_some_and(|last| last.holds(key)),
        }
    }

    /// Whether a state with this key seems to be at a distance.
    #[inline]
    fn is_at(&self, key: u64, distance: Cost) -> bool {
        match &self.table {
            PerimeterTable::States(table) => table.find(key) == Some(distance as u8),
            PerimeterTable::Classes(table, _) => table.layers[distance as usize].holds(key),
        }
    }

    /// A cheapest path to a goal; the empty one from a goal, even if the perimeter is empty; `None` from a state outside.
    pub fn path_to_goal<P: Puzzle<State = S>>(&self, puzzle: &P, state: &S) -> Option<Vec<Move>> {
        let mut path = Vec::new();
        if puzzle.is_goal(state) {
            return Some(path);
        }
        let key = self.key(state);
        let mut costs = 0..=self.depth;
        costs.find(|&cost| self.is_at(key, cost) && self.walk(puzzle, state, cost, &mut path))?;
        path.reverse();
        Some(path)
    }

    /// Appends a path of this cost to a goal, the last move first; gives whether there is one.
    fn walk<P: Puzzle<State = S>>(&self, puzzle: &P, state: &S, cost: Cost, path: &mut Vec<Move>) -> bool {
        let Some(next_cost) = cost.checked_sub(1) else { return puzzle.is_goal(state) };
        for (action, next) in puzzle.children(state) {
            if self.is_at(self.key(&next), next_cost) && self.walk(puzzle, &next, next_cost, path) {
                path.push(action);
                return true;
            }
        }
        false
    }
}
