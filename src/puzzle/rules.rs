//! The rules of a puzzle: states, moves, costs and goals, and the facts that a search may use.

use super::move_costs::MoveCosts;
use super::{Indexed, Notation, ParseError, SymmetricImages, Symmetries, move_names};
use foldhash::fast::FixedState;
use std::fmt;
use std::hash::{BuildHasher as _, Hash};
use std::sync::Arc;

/// The index of a move, below [`Rules::move_count`].
pub type Move = u8;

/// The cost of a move, or of several. A plain move costs 1.
pub type Cost = u32;

/// A position, packed. Small and cheap to copy: a search stores tens of millions.
pub trait State: Copy + Eq + Hash + Send + Sync + fmt::Debug + 'static {}
impl<S: Copy + Eq + Hash + Send + Sync + fmt::Debug + 'static> State for S {}

/// The rules of a puzzle.
pub trait Rules: Send + Sync + 'static {
    /// A position.
    type State: State;

    /// The name that `--puzzle` takes.
    fn name(&self) -> String;

    /// The number of moves, legal in a given state or not: at most 255.
    fn move_count(&self) -> usize;

    /// The state after a move, or `None` if the move is not legal.
    fn apply(&self, state: &Self::State, action: Move) -> Option<Self::State>;

    /// The legal moves in a state, in order, and the states after them.
    #[inline]
    fn children(&self, state: &Self::State) -> impl Iterator<Item = (Move, Self::State)>
    where
        Self: Sized,
    {
        let state = *state;
        (0..self.move_count() as Move).filter_map(move |action| Some((action, self.apply(&state, action)?)))
    }

    /// The first move that leads from a state to another; `None` if none does.
    fn move_between(&self, from: &Self::State, to: &Self::State) -> Option<Move> {
        (0..self.move_count() as Move).find(|&action| self.apply(from, action).as_ref() == Some(to))
    }

    /// A hash of a state, the same in every process.
    #[inline]
    fn state_hash(&self, state: &Self::State) -> u64 {
        FixedState::default().hash_one(state)
    }

    /// The [hash](Rules::state_hash) of the state after a move, from the hash of the state before; `None` if the move is
    /// not legal. A puzzle with large states need not make the child for it.
    #[inline]
    fn child_hash(&self, state: &Self::State, _hash: u64, action: Move) -> Option<u64> {
        self.apply(state, action).map(|child| self.state_hash(&child))
    }

    /// The cost of a legal move.
    fn move_cost(&self, _state: &Self::State, _action: Move) -> Cost {
        1
    }

    /// Whether a state counts as solved.
    fn is_goal(&self, state: &Self::State) -> bool;

    /// Whether every move can be undone: the puzzle can then be scrambled from its goals, and searched from both ends. Every
    /// move must cost at least 1, and its inverse the same. By default, true if the puzzle lists its [goals](Rules::goals).
    fn is_reversible(&self) -> bool {
        !self.goals().is_empty()
    }

    /// Every state that counts as solved. Empty by default, for a puzzle whose moves cannot be undone; any other puzzle also
    /// needs [`Rules::inverse`], and should give its [`Rules::default_depth`].
    fn goals(&self) -> Vec<Self::State> {
        Vec::new()
    }

    /// The move that undoes a move.
    ///
    /// # Panics
    /// Unless the puzzle is [reversible](Rules::is_reversible).
    fn inverse(&self, _action: Move) -> Move {
        panic!("the moves of {} cannot be undone", self.name())
    }

    /// The default number of moves of a scramble: about as many as the hardest state needs. 20 if a puzzle gives none.
    fn default_depth(&self) -> u32 {
        20
    }

    /// The longest walk of a training by default: that of a scramble if a puzzle gives none.
    fn default_walk(&self) -> u32 {
        self.default_depth()
    }

    /// The stages of the search `reduction`, by the names of their puzzles: each starts at a goal of the one before, and the
    /// last is a 3×3×3. Empty if there are none.
    fn reduction(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the goal is the puzzle's own: networks are trained for no other.
    fn has_own_goal(&self) -> bool {
        true
    }

    /// The costs that a user has given to the moves. Networks, perimeters and known optima are for the puzzle's own costs.
    fn own_costs(&self) -> Option<&MoveCosts> {
        None
    }

    /// The text of the file that describes the puzzle, if it comes from one.
    fn file(&self) -> Option<&str> {
        None
    }

    /// A checksum of the rules of a puzzle from a file: tells apart two puzzles of one name.
    fn rules_crc32(&self) -> Option<u32> {
        None
    }

    /// The effect of one or two moves on every state, as bytes. Two sequences with equal effects lead from any state to the
    /// same one, so a search tries only one of them. `None` is always allowed, and costs time.
    fn effect(&self, _moves: &[Move]) -> Option<Vec<u8>> {
        None
    }

    /// 0 if every solution of a state has an even number of moves, 1 if every one has an odd number, `None` if unknown.
    fn length_parity(&self, _state: &Self::State) -> Option<u32> {
        None
    }

    /// Whether every move changes a parity: the numbers of moves of all solutions of a state are then even, or all are odd.
    fn moves_change_parity(&self) -> bool {
        let goals = self.goals();
        !goals.is_empty() && goals.iter().all(|goal| self.length_parity(goal).is_some())
    }

    /// The symmetric images of an instance, the instance itself first: a solution of one gives a solution of each.
    /// Empty if the puzzle has no known symmetries.
    fn symmetric_images(&self, _state: &Self::State) -> SymmetricImages<'_, Self::State> {
        Box::new(std::iter::empty())
    }

    /// The symmetries, if known: a [perimeter](crate::search::perimeter) then holds classes of states.
    fn symmetries(&self) -> Option<Arc<dyn Symmetries<Self::State>>> {
        None
    }

    /// The index of all states, for a puzzle that is [`Indexed`].
    fn state_index(&self) -> Option<&dyn Indexed<State = Self::State>> {
        None
    }

    /// The form in which states travel between processes that share a search: most often [`StateBytes::plain`].
    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        None
    }
}

/// Refuses a puzzle whose moves cannot be undone.
///
/// # Panics
/// Unless the puzzle is [reversible](Rules::is_reversible).
#[track_caller]
pub(crate) fn assert_reversible(puzzle: &impl Rules) {
    assert!(puzzle.is_reversible(), "the moves of {} cannot be undone", puzzle.name());
}

/// States as bytes, the same in every process of a program.
#[derive(Debug, Clone, Copy)]
pub struct StateBytes<S> {
    /// Bytes of a state.
    pub size: usize,
    /// Appends a state.
    pub write: fn(&S, &mut Vec<u8>),
    /// Reads a state.
    ///
    /// # Panics
    /// Unless `size` bytes are given.
    pub read: fn(&[u8]) -> S,
}

impl<S: State + bytemuck::Pod> StateBytes<S> {
    /// The bytes of a state in memory, for a number, an array of numbers, or a struct that derives [`bytemuck::Pod`].
    ///
    /// ```
    /// use costar::puzzle::StateBytes;
    ///
    /// let (bytes, mut written) = (StateBytes::<[u8; 4]>::plain(), Vec::new());
    /// (bytes.write)(&[3, 1, 4, 1], &mut written);
    /// assert_eq!((bytes.size, (bytes.read)(&written)), (4, [3, 1, 4, 1]));
    /// ```
    pub fn plain() -> Self {
        StateBytes {
            size: size_of::<S>(),
            write: |state, bytes| bytes.extend_from_slice(bytemuck::bytes_of(state)),
            read: |bytes| bytemuck::pod_read_unaligned(bytes),
        }
    }
}

/// Plays moves from a state. Returns the last state and the cost of all moves.
///
/// Every solution goes through this before it is shown.
///
/// # Errors
/// Names the first move that is not legal.
pub fn replay<P: Notation>(puzzle: &P, start: &P::State, moves: &[Move]) -> Result<(P::State, Cost), ParseError> {
    let mut state = *start;
    let mut cost = 0;
    for (i, &action) in moves.iter().enumerate() {
        let is_move = usize::from(action) < puzzle.move_count();
        let Some(next) = is_move.then(|| puzzle.apply(&state, action)).flatten() else {
            return Err(not_legal(puzzle, &state, i + 1, action));
        };
        cost += puzzle.move_cost(&state, action);
        state = next;
    }
    Ok((state, cost))
}

/// Refuses a move, and names the legal ones.
pub(super) fn not_legal<P: Notation + ?Sized>(puzzle: &P, state: &P::State, number: usize, action: Move) -> ParseError {
    /// The most moves that are named.
    const NAMED: usize = 12;
    let moves = 0..puzzle.move_count() as Move;
    let name = if moves.contains(&action) { format!(", '{}',", puzzle.move_name(action)) } else { String::new() };
    let legal: Vec<Move> = moves.filter(|&action| puzzle.apply(state, action).is_some()).take(NAMED).collect();
    let expected = match legal[..] {
        [] => ", and no move is".into(),
        _ => format!(": expected one of {}", move_names(puzzle, &legal).join(" ")),
    };
    ParseError(format!("move {number}{name} is not legal there{expected}"))
}

/// The values in the order of their first appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// The indices of the bits that are set.
#[inline]
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit)
    })
}

/// Whether a permutation is odd.
pub(super) fn is_odd<T: PartialOrd>(permutation: &[T]) -> bool {
    let pairs = (0..permutation.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.filter(|&(first, second)| permutation[first] > permutation[second]).count() % 2 == 1
}
