//! The positions of the 2×2×2 cube, numbered: 7! orders of the corners that move × 3⁶ twists of six of them.
//!
//! The seventh corner's twist follows, for all add up to a multiple of 3. What a turn does to the order does not depend
//! on the twists, nor the other way round, so that two small tables give the number of every neighbour (coordinates
//! and their move tables, as in Kociemba's two-phase algorithm).

use super::{Corners, Cube2};
use crate::puzzle::{Move, Puzzle as _, Ranked};
use std::sync::LazyLock;

const ORDERS: usize = 5040;
const TWISTS: usize = 729;
/// Bits of a corner.
const BITS: usize = 5;
/// The places that decide; DBL, at place 6, stays, and what is at place 7 follows.
const PLACES: usize = 6;

fn corner(state: Corners, place: usize) -> usize {
    (state.0 >> (BITS * place)) as usize & 31
}

/// The number of an order: for each corner, how many behind it have a smaller number, as digits of falling base.
fn order(state: Corners) -> usize {
    let mut smaller: u32 = 0x0654_3210;
    (0..PLACES).fold(0, |order, place| {
        // DBL is at no other place, so that DRB can be called 6.
        let shift = 4 * (corner(state, place) & 7).min(6);
        let count = smaller >> shift & 15;
        smaller = smaller.wrapping_sub(0x1111_1110 << shift);
        order * (7 - place) + count as usize
    })
}

fn twist(state: Corners) -> usize {
    (0..PLACES).fold(0, |twist, place| 3 * twist + corner(state, place) / 8)
}

/// Where each move leads, for orders and for twists.
struct Turns {
    orders: Vec<[u16; 6]>,
    twists: Vec<[u16; 6]>,
}

static TURNS: LazyLock<Turns> = LazyLock::new(|| {
    let turned = |rank, of: fn(Corners) -> usize| {
        let state = Cube2.unrank(rank);
        std::array::from_fn(|action| of(Cube2.apply(&state, action as u8).expect("a cube can be turned")) as u16)
    };
    Turns {
        orders: (0..ORDERS).map(|rank| turned(rank * TWISTS, order)).collect(),
        twists: (0..TWISTS).map(|rank| turned(rank, twist)).collect(),
    }
});

impl Ranked for Cube2 {
    fn count(&self) -> usize {
        ORDERS * TWISTS
    }

    fn rank(&self, state: &Corners) -> usize {
        order(*state) * TWISTS + twist(*state)
    }

    fn unrank(&self, rank: usize) -> Corners {
        let (mut order, mut twist) = (rank / TWISTS, rank % TWISTS);
        let (mut counts, mut twists) = ([0; PLACES], [0; PLACES]);
        for place in (0..PLACES).rev() {
            (counts[place], order) = (order % (7 - place), order / (7 - place));
            (twists[place], twist) = (twist % 3, twist / 3);
        }
        let mut left = vec![0, 1, 2, 3, 4, 5, 7];
        let mut corners = 6 << (BITS * 6);
        for place in 0..PLACES {
            corners |= (left.remove(counts[place]) + 8 * twists[place] as u64) << (BITS * place);
        }
        let last = (18 - twists.iter().sum::<usize>()) % 3;
        Corners(corners | (left[0] + 8 * last as u64) << (BITS * 7))
    }

    #[inline]
    fn neighbours(&self, rank: usize, mut visit: impl FnMut(Move, usize)) {
        let turns = &*TURNS;
        let (orders, twists) = (&turns.orders[rank / TWISTS], &turns.twists[rank % TWISTS]);
        let ranks = orders.iter().zip(twists).map(|(&order, &twist)| usize::from(order) * TWISTS + usize::from(twist));
        ranks.enumerate().for_each(|(action, rank)| visit(action as Move, rank));
    }
}
