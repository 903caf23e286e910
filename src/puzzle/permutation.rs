//! Puzzles from a file, without any Rust: symbols at positions, and moves that permute the positions.
//!
//! ```json
//! { "name": "pyraminx", "goal": "AAABBB…", "moves": { "R": [0, 5, 2, …], "R'": [0, 7, 2, …] } }
//! ```
//!
//! `goal` is a string of symbols or an array of small integers; a move is a permutation p of positions,
//! `new[i] = old[p[i]]`. Inverses are found among the moves; with `"symmetric": true`, missing ones are derived (named with
//! a `'`). `faces` and `geometry` give its [shape](super::Geometry). An instance is a scramble from the goal, or the symbols of
//! a state.
//!
//! | file | content |
//! | --- | --- |
//! | `description` | reads the file |
//! | `notation` | moves, scrambles and states as texts |
//! | `wca` | reads scrambles of the Megaminx as the World Cube Association writes them |
//! | `geometry` | reads its shape: faces and polygons |
//! | `symmetry` | finds the symmetries |
//! | `state_count` | counts the states |
//! | `free_symbols` | symbols that may trade names |
//! | `group` | the group of the moves: its order, and whether a state belongs to it |
//! | `goal_positions` | where each sticker of a state stands in the goal: what inverses need |
//! | `classes` | images and classes of states under the symmetries |

use super::cube_n::CubeN;
use super::rules::is_odd;
use super::{Encode, Encoding, Move, MoveTable, Rules, StateBytes, SymmetricImage, SymmetricImages, Symmetries};
use crate::random::generator;
use classes::StateSymmetries;
pub use description::{Description, MAX_POSITIONS, inverted};
use free_symbols::FreeSymbols;
use group::PermutationGroup;
pub use group::orbits;
use rand::RngCore as _;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

mod classes;
mod description;
mod free_symbols;
mod geometry;
mod goal_positions;
mod group;
mod notation;
mod state_count;
mod symmetry;
mod wca;

/// The hash of a state is the sum of a number for each position and its symbol (Zobrist, "A new hashing method with
/// application for game playing", 1970): that of a child differs at the positions that the move changes.
#[derive(Debug)]
struct Hashing {
    symbols: usize,
    /// Random numbers, `positions × symbols`.
    numbers: Vec<u64>,
    /// The positions that each move changes, and where their symbols come from.
    changes: Vec<Vec<(u16, u16)>>,
}

impl Hashing {
    fn new(description: &Description) -> Self {
        let symbols = description.symbols.len();
        let mut generator = generator(0, 0);
        let numbers = (0..description.positions() * symbols).map(|_| generator.next_u64()).collect();
        let changed = |(_, permutation): &(String, Vec<u16>)| {
            (0..=u16::MAX).zip(permutation.iter().copied()).filter(|(to, from)| to != from).collect()
        };
        Hashing { symbols, numbers, changes: description.moves.iter().map(changed).collect() }
    }

    #[inline]
    fn number(&self, position: u16, symbol: u8) -> u64 {
        self.numbers[usize::from(position) * self.symbols + usize::from(symbol)]
    }
}

/// Symbols at the first positions, and 0 at the others.
fn filled<const N: usize>(symbols: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| symbols.get(i).copied().unwrap_or(0))
}

/// A permutation puzzle of at most `N` positions.
#[derive(Debug, Clone)]
pub struct Permutation<const N: usize> {
    description: Description,
    goal: [u8; N],
    /// The names and permutations of the moves, followed by those of other turns of a cube in the hand.
    names: Vec<String>,
    tables: Vec<[u16; N]>,
    /// Whether a name has a dot: dots do not join moves then.
    names_have_dots: bool,
    hashing: Arc<Hashing>,
    free_symbols: Option<FreeSymbols>,
    /// Whether every move is an odd permutation, and no symbol stands twice in the goal.
    moves_are_odd: bool,
    /// Found when they are first needed.
    symmetries: OnceLock<Option<Arc<StateSymmetries<N>>>>,
    group: OnceLock<Arc<PermutationGroup>>,
}

impl<const N: usize> Permutation<N> {
    /// The puzzle of a description.
    ///
    /// # Panics
    /// If it has more than `N` positions.
    pub fn new(description: Description) -> Self {
        assert!(description.positions() <= N);
        // Positions beyond the last hold 0, and stay where they are.
        let goal = filled(&description.goal);
        let free_symbols = FreeSymbols::new(&description);
        let turns = match &description.cube {
            Some(cube) if !cube.is_stage() => cube.named_turns(),
            _ => description.moves.clone(),
        };
        let table = |permutation: Vec<u16>| std::array::from_fn(|i| permutation.get(i).copied().unwrap_or(i as u16));
        let (names, tables): (Vec<String>, _) =
            turns.into_iter().map(|(name, permutation)| (name, table(permutation))).unzip();
        let moves_are_odd = description.symbols.len() == description.positions()
            && description.moves.iter().all(|(_, permutation)| is_odd(permutation));
        let hashing = Arc::new(Hashing::new(&description));
        Permutation {
            description,
            goal,
            names_have_dots: names.iter().any(|name| name.contains('.')),
            names,
            tables,
            hashing,
            free_symbols,
            moves_are_odd,
            symmetries: OnceLock::new(),
            group: OnceLock::new(),
        }
    }

    /// The symmetries, if there are others than the identity. The log says why they are not found.
    fn state_symmetries(&self) -> Option<&Arc<StateSymmetries<N>>> {
        let find = || {
            let say = |why: &String| log::info!("the symmetries of {} are not used: {why}", self.description.name);
            let found = symmetry::find(&self.description).inspect_err(say).ok()?;
            StateSymmetries::new(found, self).map(Arc::new)
        };
        self.symmetries.get_or_init(find).as_ref()
    }

    /// A state with free names in order.
    fn named(&self, mut state: [u8; N]) -> [u8; N] {
        if let Some(names) = &self.free_symbols {
            names.normalize(&mut state[..self.description.positions()]);
        }
        state
    }

    /// The state of a cube with some colours.
    fn of_colours(&self, cube: &CubeN, colours: &[u8]) -> [u8; N] {
        self.named(filled(&cube.symbols(colours)))
    }

    fn group(&self) -> &PermutationGroup {
        self.group.get_or_init(|| Arc::new(PermutationGroup::new(&self.description)))
    }
}

impl<const N: usize> Rules for Permutation<N> {
    type State = [u8; N];

    fn name(&self) -> String {
        self.description.name.clone()
    }

    fn move_count(&self) -> usize {
        self.description.moves.len()
    }

    #[inline]
    fn apply(&self, state: &[u8; N], action: Move) -> Option<[u8; N]> {
        let table = &self.tables[usize::from(action)];
        Some(self.named(std::array::from_fn(|i| state[usize::from(table[i])])))
    }

    fn state_hash(&self, state: &[u8; N]) -> u64 {
        let symbols = (0..=u16::MAX).zip(&state[..self.description.positions()]);
        symbols.fold(0, |sum, (i, &symbol)| sum.wrapping_add(self.hashing.number(i, symbol)))
    }

    fn child_hash(&self, state: &[u8; N], hash: u64, action: Move) -> Option<u64> {
        if self.free_symbols.is_some() {
            return self.apply(state, action).map(|child| self.state_hash(&child));
        }
        let change = |hash: u64, &(to, from): &(u16, u16)| {
            let [before, after] = [to, from].map(|position| self.hashing.number(to, state[usize::from(position)]));
            hash.wrapping_sub(before).wrapping_add(after)
        };
        Some(self.hashing.changes[usize::from(action)].iter().fold(hash, change))
    }

    #[inline]
    fn is_goal(&self, state: &[u8; N]) -> bool {
        *state == self.goal
    }

    /// Whether every move has an inverse among the moves.
    fn is_reversible(&self) -> bool {
        self.description.is_reversible()
    }

    /// The goal, also if moves have no inverses.
    fn goals(&self) -> Vec<[u8; N]> {
        vec![self.goal]
    }

    /// # Panics
    /// If the move has no inverse: see [`Description::is_reversible`].
    fn inverse(&self, action: Move) -> Move {
        self.description.inverses[usize::from(action)].expect("a reversible puzzle has all inverses")
    }

    /// From the number of states, and the growth of the first layers around the goal. Counted once for each puzzle of a
    /// process: many clients of a server may ask at the same time.
    fn default_depth(&self) -> u32 {
        static KNOWN: LazyLock<Mutex<HashMap<u32, Arc<OnceLock<u32>>>>> = LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let length = Arc::clone(known.entry(self.description.rules_crc32()).or_default());
        drop(known);
        *length.get_or_init(|| state_count::walk_length(self))
    }

    fn reduction(&self) -> &'static [&'static str] {
        self.description.cube.as_ref().map_or(&[], |cube| cube.reduction_stages())
    }

    fn file(&self) -> Option<&str> {
        self.description.cube.is_none().then_some(&*self.description.text)
    }

    fn rules_crc32(&self) -> Option<u32> {
        Some(self.description.rules_crc32())
    }

    /// The place that each symbol comes from.
    fn effect(&self, moves: &[Move]) -> Option<Vec<u8>> {
        let from = |place: u16| {
            moves.iter().rev().fold(place, |place, &action| self.tables[usize::from(action)][usize::from(place)])
        };
        let places: Vec<u16> = (0..self.description.positions() as u16).map(from).collect();
        Some(bytemuck::cast_slice(&places).to_vec())
    }

    fn length_parity(&self, state: &[u8; N]) -> Option<u32> {
        self.moves_are_odd.then(|| is_odd(&state[..self.description.positions()]).into())
    }

    fn moves_change_parity(&self) -> bool {
        self.moves_are_odd || self.description.cube.as_ref().is_some_and(|cube| cube.moves_change_parity())
    }

    fn symmetric_images(&self, state: &[u8; N]) -> SymmetricImages<'_, [u8; N]> {
        let state = *state;
        let images = self.state_symmetries().into_iter().flat_map(move |symmetries| symmetries.images(state));
        Box::new(images.map(|image| SymmetricImage { start: self.named(image.start), ..image }))
    }

    fn symmetries(&self) -> Option<Arc<dyn Symmetries<[u8; N]>>> {
        // Classes compare symbols by their names.
        if self.free_symbols.is_some() {
            return None;
        }
        Some(Arc::clone(self.state_symmetries()?) as Arc<dyn Symmetries<[u8; N]>>)
    }

    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        Some(StateBytes::plain())
    }
}

impl<const N: usize> Encode for Permutation<N> {
    /// A cell a position; positions that no move changes are fixed. A cube has the encoding of one that is held still, and so
    /// the same networks.
    fn encoding(&self) -> Encoding {
        let cells = self.description.positions();
        if let Some(names) = &self.free_symbols {
            let fixed = names.empty_cells(&self.description.goal).collect();
            return Encoding { fixed, ..Encoding::row(cells, names.values()) };
        }
        let stays = |&place: &usize| self.tables.iter().all(|table| usize::from(table[place]) == place);
        Encoding { fixed: (0..cells).filter(stays).collect(), ..Encoding::row(cells, self.description.symbols.len()) }
    }

    fn encode(&self, state: &[u8; N], row: &mut [u8]) {
        let symbols = &state[..self.description.positions()];
        match &self.free_symbols {
            Some(names) => names.encode(symbols, row),
            None => row.copy_from_slice(symbols),
        }
    }

    fn move_table(&self) -> Option<MoveTable> {
        if self.free_symbols.is_some() {
            return None;
        }
        let positions = self.description.positions();
        let tables = &self.tables[..self.move_count()];
        Some(MoveTable::Permutations(tables.iter().map(|table| table[..positions].to_vec()).collect()))
    }
}
