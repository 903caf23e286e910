//! An index of the positions of the 2×2×2 cube: 7! orders of the moving corners × 3⁶ twists of six of them.
//!
//! The seventh corner's twist follows, for all add up to a multiple of 3. A turn changes the order whatever the twists, and
//! the twists whatever the order, so that two small tables give the index of every neighbour (coordinates and their move
//! tables, as in Kociemba's two-phase algorithm).

use super::{Corners, Cube2};
use crate::puzzle::{Indexed, Move};
use std::sync::LazyLock;

const ORDERS: usize = 5040;
const TWISTS: usize = 729;
/// Bits of a corner.
const BITS: usize = 5;
/// The places that decide: DBL, at place 6, stays, and the corner at place 7 follows.
const PLACES: usize = 6;

/// The index of an order: for each corner, the count of smaller corners after it, as digits of falling base.
fn order(state: Corners) -> usize {
    let mut smaller: u32 = 0x0654_3210;
    (0..PLACES).fold(0, |order, place| {
        // DBL is at no other place, so that DRB can be called 6.
        let shift = 4 * (state.corner(place) & 7).min(6);
        let count = smaller >> shift & 15;
        smaller = smaller.wrapping_sub(0x1111_1110 << shift);
        order * (7 - place) + count as usize
    })
}

/// The index of the twists.
fn twist(state: Corners) -> usize {
    (0..PLACES).fold(0, |twist, place| 3 * twist + state.corner(place) / 8)
}

/// The order and the twist after each move, by order and by twist.
static TURN_TABLES: LazyLock<[Vec<[u16; 6]>; 2]> = LazyLock::new(|| {
    let turned = |index, coordinate: fn(Corners) -> usize| {
        let state = Cube2.state_at(index);
        std::array::from_fn(|action| coordinate(state.turned(action as Move)) as u16)
    };
    let orders = (0..ORDERS).map(|index| turned(index * TWISTS, order));
    [orders.collect(), (0..TWISTS).map(|index| turned(index, twist)).collect()]
});

impl Indexed for Cube2 {
    fn count(&self) -> usize {
        ORDERS * TWISTS
    }

    fn index(&self, state: &Corners) -> usize {
        order(*state) * TWISTS + twist(*state)
    }

    fn state_at(&self, index: usize) -> Corners {
        let (mut order, mut twist) = (index / TWISTS, index % TWISTS);
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
    fn neighbours(&self, index: usize, visit: &mut dyn FnMut(Move, usize)) {
        let [orders, twists] = &*TURN_TABLES;
        let coordinates = orders[index / TWISTS].iter().zip(&twists[index % TWISTS]);
        let indices = coordinates.map(|(&order, &twist)| usize::from(order) * TWISTS + usize::from(twist));
        indices.enumerate().for_each(|(action, index)| visit(action as Move, index));
    }
}
