//! The perimeter: exact costs of all states near the goals, and a path to the goal from each (Dillenburg and Nelson,
//! "Perimeter search", Artificial Intelligence 65, 1994).
//!
//! There are two forms. Of a puzzle that knows its [symmetries](Symmetries), one fingerprint for each class of states is
//! held, 2.7 bytes: of the cube's states within 11 moves, 2.01 GB. Of any other, 13 bytes for each state.

use crate::error::SettingError;
use crate::puzzle::{Cost, Move, Puzzle, Reversible, State, Symmetries};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

mod classes;
mod ends;
mod file;
mod filling;
mod layer;
mod lines;
mod lookup;
mod states;

use classes::ClassTable;
pub use classes::{Count, Extent, Making};
pub use file::{Kept, Made, PerimeterShelf, Shelf};
use layer::Layer;

/// How many states a perimeter by states has that takes so many bytes, with what it takes to make it.
pub fn states_in(bytes: u64) -> usize {
    usize::try_from(bytes / states::BYTES).unwrap_or(usize::MAX)
}

/// All states within some moves of a goal, with their exact cost. Clones share the table.
#[derive(Clone)]
pub struct Perimeter<S> {
    table: Table<S>,
    depth: Cost,
    whole: bool,
    by_parity: bool,
    follow: Arc<Follow>,
}

/// What may follow each move, and last, what may follow none: see [`Perimeter::following`].
#[derive(Default)]
struct Follow {
    moves: Vec<Vec<Move>>,
    /// Two moves, those with the same first next to each other.
    pairs: Vec<Vec<[Move; 2]>>,
}

/// The two forms.
#[derive(Clone)]
enum Table<S> {
    States(Arc<states::Table>),
    Classes(Arc<ClassTable>, Arc<dyn Symmetries<S>>),
}

impl<S> std::fmt::Debug for Perimeter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Perimeter {{ depth: {}, whole: {} }}", self.depth, self.whole)
    }
}

impl<S: State> Perimeter<S> {
    /// Every state within `depth` moves of the goals of a puzzle whose moves cost 1, by breadth-first search, on all
    /// cores.
    ///
    /// Takes time and memory in proportion to their number: 984,000 of the cube at depth 6, 9.2 million at 7, 86 million
    /// at 8.
    pub fn new<P: Reversible<State = S>>(puzzle: &P, depth: u32) -> Self {
        Self::within(puzzle, depth, usize::MAX, &AtomicBool::new(false))
    }

    /// The same, but no deeper than about so many states reach, as extrapolated from one depth to the next. Empty, soon,
    /// once `stop` is set.
    pub fn within<P: Reversible<State = S>>(puzzle: &P, depth: u32, room: usize, stop: &AtomicBool) -> Self {
        let mut table = states::Table::default();
        let mut layer: Vec<S> = puzzle.goals();
        layer.retain(|goal| table.insert(states::key(goal), 0));
        let mut perimeter = Perimeter { by_parity: true, ..Perimeter::none() };
        let mut growth = puzzle.move_count() as f64;
        for distance in 1..=depth.min(states::Table::MOST_COST) {
            let expected = layer.len() as f64 * growth;
            if table.len().saturating_add(expected as usize) > room {
                break;
            }
            let last = distance == depth || expected * growth > room as f64;
            let added = table.add_layer(puzzle, &layer, distance as u8, expected as usize, last, stop);
            if stop.load(Ordering::Relaxed) {
                return Perimeter::none();
            }
            growth = added.count as f64 / layer.len() as f64;
            perimeter.by_parity &= !added.met_its_own;
            perimeter.whole = added.count == 0;
            if !perimeter.whole {
                perimeter.depth = distance;
            }
            if perimeter.whole || last {
                break;
            }
            layer = added.states;
        }
        Perimeter { table: Table::States(Arc::new(table)), follow: Arc::new(Follow::new(puzzle)), ..perimeter }
    }

    /// The classes of all states within some moves of the goals of a puzzle that knows its symmetries and whose moves are
    /// legal everywhere and cost 1, on all cores; `None` once `stop` is set.
    pub fn of_classes<P: Reversible<State = S>>(
        puzzle: &P,
        symmetries: Arc<dyn Symmetries<S>>,
        extent: Extent,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(Making),
    ) -> Option<Self> {
        let table = ClassTable::make(puzzle, &*symmetries, extent, stop, watch)?;
        Some(Self::from_classes(puzzle, symmetries, table))
    }

    fn from_classes<P: Reversible<State = S>>(
        puzzle: &P,
        symmetries: Arc<dyn Symmetries<S>>,
        table: ClassTable,
    ) -> Self {
        Perimeter {
            depth: table.depth(),
            whole: table.whole,
            by_parity: table.by_parity,
            table: Table::Classes(Arc::new(table), symmetries),
            follow: Arc::new(Follow::new(puzzle)),
        }
    }

    /// An empty perimeter.
    pub fn none() -> Self {
        Perimeter {
            table: Table::States(Arc::default()),
            depth: 0,
            whole: false,
            by_parity: false,
            follow: Arc::default(),
        }
    }

    fn classes(&self) -> Option<&ClassTable> {
        match &self.table {
            Table::States(_) => None,
            Table::Classes(table, _) => Some(table),
        }
    }

    /// How many entries it has: one a state, or one a class.
    pub fn len(&self) -> usize {
        match &self.table {
            Table::States(table) => table.len(),
            Table::Classes(table, _) => table.counts.iter().map(|count| count.classes as usize).sum(),
        }
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> u64 {
        match &self.table {
            Table::States(table) => table.bytes(),
            Table::Classes(table, _) => table.bytes(),
        }
    }

    /// By distance, how many classes and states it holds; empty for the form by states.
    pub fn counts(&self) -> &[Count] {
        match &self.table {
            Table::States(_) => &[],
            Table::Classes(table, _) => &table.counts,
        }
    }

    /// The greatest cost in it.
    pub fn depth(&self) -> Cost {
        self.depth
    }

    /// The moves that may follow a move without making a copy of another path (all, after none): not its inverse, none
    /// that makes one move of the two (U2 after U), and of pairs of moves that always lead to the same state, only the
    /// first in the order of their numbers. Every state has a shortest path to the goal without the others: the first of
    /// all its shortest paths in that order.
    pub fn following(&self, action: Option<Move>) -> &[Move] {
        &self.follow.moves[self.follow.place(action)]
    }

    /// How many moves may follow a move, on average.
    pub fn branching(&self) -> f64 {
        let moves = self.follow.moves.len().saturating_sub(1);
        self.follow.moves.iter().take(moves).map(Vec::len).sum::<usize>() as f64 / moves.max(1) as f64
    }

    /// Refuses a perimeter that the room for it has kept from the depth that was asked for.
    ///
    /// # Errors
    /// Says which depth fits.
    pub fn check_reached(&self, depth: u32) -> Result<(), SettingError> {
        let reached = self.depth();
        if reached == depth || self.is_empty() || self.is_whole() {
            return Ok(());
        }
        let reason = format!("{depth} moves take more than half of the memory: expected at most {reached}");
        Err(SettingError::new("perimeter", reason))
    }

    /// Whether other processes that read the same file share its memory, through the page cache.
    pub fn is_shared(&self) -> bool {
        self.classes().is_some_and(|table| table.layers.iter().any(Layer::is_shared))
    }

    /// Whether it was made as deep as some [time](Extent::time) allowed.
    pub fn was_made_in_time(&self) -> bool {
        self.classes().is_some_and(|table| table.in_time)
    }

    /// How many bytes a perimeter may take: half of this memory; any number where the memory is not known.
    pub fn room_in(memory: Option<u64>) -> u64 {
        memory.map_or(u64::MAX, |memory| memory / 2)
    }

    /// Whether there are no other states.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// How much cheaper the next cheaper solution is, at least: 2 where no state near the goals has a neighbour of its own
    /// cost, as on the cube in quarter turns and on tiles, where a state's solutions are all odd or all even.
    pub fn step(&self) -> Cost {
        if self.by_parity { 2 } else { 1 }
    }

    /// The exact cost of a state inside; `None` of a state outside.
    #[inline]
    pub fn cost<P: Puzzle<State = S>>(&self, puzzle: &P, state: &S) -> Option<Cost> {
        match &self.table {
            Table::States(table) => table.find(states::key(state)).map(Cost::from),
            Table::Classes(..) => self.path_to_goal(puzzle, state).map(|path| path.len() as Cost),
        }
    }

    /// The exact cost of a state inside that is a neighbour of a state outside; `None` of a state outside. Sooner than
    /// [`Perimeter::cost`], which need not know where the state comes from.
    #[inline]
    pub fn cost_on_rim<P: Puzzle<State = S>>(&self, puzzle: &P, state: &S) -> Option<Cost> {
        match &self.table {
            Table::States(table) => table.find(states::key(state)).map(Cost::from),
            Table::Classes(_, symmetries) => {
                if self.reaches(symmetries.class(state).key) {
                    self.cost(puzzle, state)
                } else {
                    None
                }
            }
        }
    }

    /// The least cost of a state outside.
    pub fn least_outside(&self) -> Cost {
        if self.is_empty() { 1 } else { self.depth + 1 }
    }

    /// The keys of the states two moves on, where the move before is given, behind those that `keys` holds; behind those
    /// that `made` holds, the moves, those with the same first next to each other.
    #[inline]
    pub(super) fn keys_after_two<P: Puzzle<State = S>>(
        &self,
        puzzle: &P,
        state: &S,
        last: Option<Move>,
        keys: &mut Vec<u64>,
        made: &mut Vec<[Move; 2]>,
    ) {
        let pairs = &self.follow.pairs[self.follow.place(last)];
        match &self.table {
            Table::Classes(_, symmetries) => {
                symmetries.keys_after_two(state, pairs, keys);
                made.extend_from_slice(pairs);
            }
            Table::States(_) => {
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
            Table::States(_) => states::key(state),
            Table::Classes(_, symmetries) => symmetries.class(state).key,
        }
    }

    /// Has the place of a key loaded into the cache.
    #[inline]
    pub(super) fn prefetch(&self, key: u64) {
        match &self.table {
            Table::States(table) => table.prefetch(key),
            Table::Classes(table, _) => {
                if let Some(last) = table.layers.last() {
                    last.prefetch(key);
                }
            }
        }
    }

    /// Whether a state of this key seems to be inside, and of classes, on the rim: as far from the goals as the perimeter
    /// is deep. It is never missed if it is; [`Perimeter::path_to_goal`] tells whether it is.
    #[inline]
    pub(super) fn reaches(&self, key: u64) -> bool {
        match &self.table {
            Table::States(table) => table.find(key).is_some(),
            Table::Classes(table, _) => table.layers.last().is_some_and(|last| last.holds(key)),
        }
    }

    /// A cheapest path to a goal: none of a goal, whatever the perimeter holds; `None` from a state outside.
    pub fn path_to_goal<P: Puzzle<State = S>>(&self, puzzle: &P, state: &S) -> Option<Vec<Move>> {
        let mut path = Vec::new();
        if puzzle.is_goal(state) {
            return Some(path);
        }
        match &self.table {
            Table::States(table) => {
                let cost = table.find(states::key(state))?;
                self.walk(puzzle, state, u32::from(cost), &mut path).then_some(())?;
            }
            Table::Classes(table, symmetries) => {
                let key = symmetries.class(state).key;
                let walks = |distance: usize, path: &mut Vec<Move>| {
                    table.layers[distance].holds(key) && self.walk(puzzle, state, distance as Cost, path)
                };
                (0..table.layers.len()).find(|&distance| walks(distance, &mut path))?;
            }
        }
        path.reverse();
        Some(path)
    }

    /// The moves of a path of this cost to a goal, the last first; whether there is one.
    fn walk<P: Puzzle<State = S>>(&self, puzzle: &P, state: &S, cost: Cost, path: &mut Vec<Move>) -> bool {
        let Some(next_cost) = cost.checked_sub(1) else { return puzzle.is_goal(state) };
        for action in 0..puzzle.move_count() as Move {
            let Some(next) = puzzle.apply(state, action) else { continue };
            let is_nearer = match &self.table {
                Table::States(table) => table.find(states::key(&next)) == Some(next_cost as u8),
                Table::Classes(table, symmetries) => {
                    table.layers[next_cost as usize].holds(symmetries.class(&next).key)
                }
            };
            if is_nearer && self.walk(puzzle, &next, next_cost, path) {
                path.push(action);
                return true;
            }
        }
        false
    }
}

impl Follow {
    fn new<P: Reversible>(puzzle: &P) -> Self {
        let moves = puzzle.move_count() as Move;
        let has_copy = |action: Move, next: Move| {
            let earlier = (0..=action).flat_map(|first| (0..moves).map(move |second| [first, second]));
            let mut earlier = earlier.take_while(|pair| *pair < [action, next]);
            earlier.any(|pair| puzzle.always_same(&pair, &[action, next]))
        };
        let is_one_move = |both: &[Move]| (0..moves).any(|single| puzzle.always_same(&[single], both));
        let may_follow = |action: Move, next: Move| {
            next != puzzle.inverse(action) && !is_one_move(&[action, next]) && !has_copy(action, next)
        };
        let mut follow: Vec<Vec<Move>> =
            (0..moves).map(|action| (0..moves).filter(|&next| may_follow(action, next)).collect()).collect();
        follow.push((0..moves).collect());
        let two = |&first: &Move| follow[usize::from(first)].iter().map(move |&second| [first, second]);
        let pairs = follow.iter().map(|firsts| firsts.iter().flat_map(two).collect()).collect();
        Follow { moves: follow, pairs }
    }

    /// Where a move stands.
    fn place(&self, action: Option<Move>) -> usize {
        action.map_or(self.moves.len() - 1, usize::from)
    }
}
