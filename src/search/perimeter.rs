//! The perimeter: exact costs of all states near the goals, and a path to the goal from each (Dillenburg and Nelson,
//! "Perimeter search", Artificial Intelligence 65, 1994).

use crate::error::SettingError;
use crate::memory;
use crate::puzzle::{Cost, Move, Puzzle, Reversible, State};
use foldhash::quality::FixedState;
use std::hash::BuildHasher as _;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Bytes that a state takes, with what it takes to make the table.
const BYTES: u64 = 16;

/// All states within some moves of a goal, with their exact cost. Clones share the table.
///
/// An entry holds 56 bits of a state's hash and its cost: 13 bytes in all. About one lookup in 10⁹ of a state outside hits
/// an entry by mistake; [`Perimeter::path_to_goal`] finds that out. (And of 10⁸ states, two share an entry in one puzzle
/// of ten.)
#[derive(Debug, Clone)]
pub struct Perimeter<S> {
    table: Arc<Table>,
    depth: Cost,
    whole: bool,
    by_parity: bool,
    /// For each move, those that may follow it in ways of which no other is a copy; and last, all moves.
    follow: Arc<Vec<Vec<Move>>>,
    branching: f64,
    of: PhantomData<fn(S)>,
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
        let mut table = Table::default();
        let mut layer: Vec<S> = puzzle.goals();
        layer.retain(|goal| table.insert(Self::key(goal), 0));
        let mut perimeter = Perimeter { by_parity: true, ..Perimeter::none() };
        let mut growth = puzzle.move_count() as f64;
        for distance in 1..=depth.min(Table::MOST_COST) {
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
        perimeter.table = Arc::new(table);
        let (follow, branching) = following(puzzle, &layer);
        (perimeter.follow, perimeter.branching) = (Arc::new(follow), branching);
        perimeter
    }

    /// An empty perimeter.
    pub fn none() -> Self {
        Perimeter {
            table: Arc::default(),
            depth: 0,
            whole: false,
            by_parity: false,
            follow: Arc::default(),
            branching: 0.0,
            of: PhantomData,
        }
    }

    /// How many states it holds.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The greatest cost in it.
    pub fn depth(&self) -> Cost {
        self.depth
    }

    /// The moves that may follow a move without making a duplicate of another path (all, after none): not its inverse, and
    /// of two that commute, or of two whose squares are the same, only one order. This is observed near the goals, and no
    /// proof: do not rely on it where no path may be missed.
    pub fn following(&self, action: Option<Move>) -> &[Move] {
        &self.follow[action.map_or(self.follow.len() - 1, usize::from)]
    }

    /// How many moves may follow a move, on average.
    pub fn branching(&self) -> f64 {
        self.branching
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

    /// How many states a perimeter may have that takes at most half of this memory, in bytes; any number where the memory
    /// is not known.
    pub fn room_in(memory: Option<u64>) -> usize {
        (memory.unwrap_or(u64::MAX) / 2 / BYTES) as usize
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
    pub fn cost(&self, state: &S) -> Option<Cost> {
        self.table.find(Self::key(state)).map(Cost::from)
    }

    /// The key that a state has in the table.
    #[inline]
    pub fn key(state: &S) -> u64 {
        FixedState::default().hash_one(state)
    }

    /// The first of these keys that is in the table; faster than one after the other, for their places in memory are loaded
    /// together.
    #[inline]
    pub fn first_of(&self, keys: &[u64]) -> Option<usize> {
        load(&self.table.parts, 0, keys.iter().copied());
        keys.iter().position(|&key| self.table.find(key).is_some())
    }

    /// The least cost of a state outside.
    pub fn least_outside(&self) -> Cost {
        if self.is_empty() { 1 } else { self.depth + 1 }
    }

    /// A cheapest path to a goal; `None` from a state outside.
    pub fn path_to_goal<P: Puzzle<State = S>>(&self, puzzle: &P, state: &S) -> Option<Vec<Move>> {
        let mut path = Vec::new();
        let mut state = *state;
        while !puzzle.is_goal(&state) {
            let cost = self.cost(&state)?;
            let (action, next) = (0..puzzle.move_count() as Move).find_map(|action| {
                let next = puzzle.apply(&state, action)?;
                (self.cost(&next)? + 1 == cost).then_some((action, next))
            })?;
            path.push(action);
            state = next;
        }
        Some(path)
    }
}

/// See [`Perimeter::following`] and [`Perimeter::branching`]: tried on some states, spread over these.
fn following<P: Reversible>(puzzle: &P, states: &[P::State]) -> (Vec<Vec<Move>>, f64) {
    const TRIED: usize = 64;
    let moves = puzzle.move_count() as Move;
    let tried: Vec<_> = states.iter().step_by(states.len().div_ceil(TRIED).max(1)).collect();
    let same = |one: [Move; 2], other: [Move; 2]| {
        let end = |state: &P::State, path: [Move; 2]| {
            path.iter().try_fold(*state, |state, &action| puzzle.apply(&state, action))
        };
        let mut ends = tried.iter().map(|state| (end(state, one), end(state, other)));
        ends.clone().any(|(one, _)| one.is_some()) && ends.all(|(one, other)| one == other)
    };
    let may_follow = |action: Move, next: Move| {
        let back = puzzle.inverse(action);
        let copy = if next == action { [back; 2] } else { [next, action] };
        next != back && !(copy < [action, next] && same([action, next], copy))
    };
    let mut follow: Vec<Vec<Move>> =
        (0..moves).map(|action| (0..moves).filter(|&next| may_follow(action, next)).collect()).collect();
    let legal = |state: &P::State| (0..moves).filter(|&action| puzzle.apply(state, action).is_some()).count();
    let square = f64::from(moves).powi(2);
    let share = tried.iter().map(|state| legal(state)).sum::<usize>() as f64 / tried.len().max(1) as f64 / square;
    let branching = share * follow.iter().map(Vec::len).sum::<usize>() as f64;
    follow.push((0..moves).collect());
    (follow, branching)
}

/// What a layer has added.
struct Added<S> {
    states: Vec<S>,
    count: usize,
    /// Whether a state had a neighbour in the layer that it came from.
    met_its_own: bool,
}

/// A set of hashes with a cost each, in parts that can be filled side by side.
#[derive(Debug)]
struct Table {
    parts: Vec<Part>,
}

impl Default for Table {
    fn default() -> Self {
        Table { parts: (0..Table::PARTS).map(|_| Part::default()).collect() }
    }
}

impl Table {
    const PARTS: usize = 16;
    const MOST_COST: u32 = 254;

    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len).sum()
    }

    fn part(hash: u64) -> usize {
        (hash >> 60) as usize
    }

    fn find(&self, hash: u64) -> Option<u8> {
        self.parts[Self::part(hash)].find(hash)
    }

    fn insert(&mut self, hash: u64, cost: u8) -> bool {
        self.parts[Self::part(hash)].insert(hash, cost)
    }

    /// Adds what is one move away from a layer and new: each core makes all of it, and keeps what falls into its parts;
    /// less than all once `stop` is set.
    fn add_layer<P: Reversible>(
        &mut self,
        puzzle: &P,
        layer: &[P::State],
        cost: u8,
        expected: usize,
        last: bool,
        stop: &AtomicBool,
    ) -> Added<P::State> {
        let cores =
            if layer.len() < 1 << 12 { 1 } else { thread::available_parallelism().map_or(1, |cores| cores.get()) };
        let share = self.parts.len().div_ceil(cores);
        let each = expected / self.parts.len();
        let fill = |first: usize, parts: &mut [Part]| {
            let mut added = Added { states: Vec::new(), count: 0, met_its_own: false };
            parts.iter_mut().for_each(|part| part.reserve(each));
            let mut met = Vec::with_capacity(2 * Part::TOGETHER);
            let mut take_in = |met: &mut Vec<(P::State, u64)>| {
                let place = |hash: u64| Self::part(hash) - first;
                load(parts, first, met.iter().map(|&(_, hash)| hash));
                for (state, hash) in met.drain(..) {
                    let part = &mut parts[place(hash)];
                    if part.insert(hash, cost) {
                        added.count += 1;
                        if !last {
                            added.states.push(state);
                        }
                    } else if !added.met_its_own {
                        added.met_its_own = part.find(hash) == Some(cost - 1);
                    }
                }
            };
            let own = first..first + share;
            for state in layer {
                for action in 0..puzzle.move_count() as Move {
                    // Walking back from the goals: a state one move before this one.
                    let Some(before) = puzzle.apply(state, puzzle.inverse(action)) else { continue };
                    let hash = Perimeter::key(&before);
                    if own.contains(&Self::part(hash)) {
                        met.push((before, hash));
                    }
                }
                if met.len() >= Part::TOGETHER {
                    take_in(&mut met);
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            take_in(&mut met);
            added
        };
        let shares = self.parts.chunks_mut(share).enumerate();
        thread::scope(|scope| {
            let fill = &fill;
            let threads: Vec<_> = shares.map(|(i, parts)| scope.spawn(move || fill(i * share, parts))).collect();
            let mut whole = Added { states: Vec::new(), count: 0, met_its_own: false };
            for thread in threads {
                let added = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                whole.states.extend(added.states);
                whole.count += added.count;
                whole.met_its_own |= added.met_its_own;
            }
            whole
        })
    }
}

/// Has the memory at the places of hashes loaded, all at once, in parts that begin with the `first`.
fn load(parts: &[Part], first: usize, hashes: impl Iterator<Item = u64>) {
    let loaded = hashes.fold(0, |sum, hash| sum ^ parts[Table::part(hash) - first].peek(hash));
    std::hint::black_box(loaded);
}

/// Hashes whose first 4 bits are the same: a table of lines of the cache, in which a hash stands in the first line with
/// room from its own on.
#[derive(Debug, Default)]
struct Part {
    /// Entries: 56 bits of a hash, and the cost plus 1; 0 where there is none. Lines begin at `aligned`.
    slots: Vec<u64>,
    aligned: usize,
    lines: usize,
    len: usize,
}

impl Part {
    /// Hashes whose places are loaded together.
    const TOGETHER: usize = 64;
    /// Entries of a line.
    const LINE: usize = 8;

    /// Makes room for so many more, at five places of eight.
    fn reserve(&mut self, more: usize) {
        let lines = (self.len + more).div_ceil(5);
        if lines > self.lines {
            let slots = vec![0; Self::LINE * (lines + 1)];
            memory::use_large_pages(&slots);
            let aligned = slots.as_ptr().align_offset(64).min(Self::LINE);
            let old = std::mem::replace(self, Part { slots, aligned, lines, len: 0 });
            for entry in old.slots.into_iter().filter(|&entry| entry != 0) {
                self.insert(entry, entry as u8 - 1);
            }
        }
    }

    fn place(&self, hash: u64) -> usize {
        ((u128::from((hash & !0xff) << 4) * self.lines as u128) >> 64) as usize
    }

    fn line(&self, at: usize) -> &[u64; Self::LINE] {
        let slots = &self.slots[self.aligned + Self::LINE * at..][..Self::LINE];
        slots.try_into().expect("that many")
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.lines { 0 } else { at + 1 }
    }

    fn peek(&self, hash: u64) -> u64 {
        if self.lines == 0 { 0 } else { self.line(self.place(hash))[0] }
    }

    fn find(&self, hash: u64) -> Option<u8> {
        if self.lines == 0 {
            return None;
        }
        let mut at = self.place(hash);
        loop {
            let line = self.line(at);
            // No branch an entry: which one it would be cannot be foreseen.
            let entry = line.iter().fold(0, |found, &entry| if entry ^ hash < 256 { entry } else { found });
            if entry != 0 {
                return Some(entry as u8 - 1);
            }
            if line[Self::LINE - 1] == 0 {
                return None;
            }
            at = self.next(at);
        }
    }

    /// Whether it was new.
    fn insert(&mut self, hash: u64, cost: u8) -> bool {
        if self.len >= 7 * self.lines {
            self.reserve(self.len / 4 + Self::LINE);
        }
        let mut at = self.place(hash);
        loop {
            let first = self.aligned + Self::LINE * at;
            for entry in &mut self.slots[first..first + Self::LINE] {
                if *entry == 0 {
                    *entry = hash & !0xff | (u64::from(cost) + 1);
                    self.len += 1;
                    return true;
                }
                if (*entry ^ hash) < 256 {
                    return false;
                }
            }
            at = self.next(at);
        }
    }
}
