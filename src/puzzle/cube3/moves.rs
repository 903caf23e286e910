//! Turns of a packed state, as tables that the compiler makes.

/// A move of a packed state: four corners and four edges go elsewhere, the rest is kept.
#[derive(Clone, Copy)]
pub(super) struct PackedMove {
    pub(super) kept_corners: u64,
    pub(super) kept_edges: u64,
    /// From shift, to shift, twist added.
    pub(super) corners: [(u8, u8, u8); 4],
    /// From shift, to shift.
    pub(super) edges: [(u8, u8); 4],
    /// 16 where the move flips edges, else 0.
    pub(super) flip: u64,
}

/// The corner that comes from adding a twist: `TWISTED[twist][corner]`.
pub(super) const TWISTED: [[u8; 32]; 3] = {
    let mut table = [[0; 32]; 3];
    let mut i = 0;
    while i < 72 {
        let (add, corner) = (i / 24, i % 24);
        table[add][corner] = ((corner & 7) + 8 * ((corner / 8 + add) % 3)) as u8;
        i += 1;
    }
    table
};

/// The number of quarter turns.
pub(super) const QUARTER_TURNS: usize = 12;
/// The number of turns by 90° or 180°.
pub(super) const ALL_TURNS: usize = 18;

/// The four corner places of each face, clockwise. A quarter turn of R, F, L or B twists the corners that arrive at the first
/// and third place by 1, and the others by 2; U and D twist none.
const CORNER_CYCLES: [[u8; 4]; 6] =
    [[0, 1, 2, 3], [3, 7, 4, 0], [0, 4, 5, 1], [4, 7, 6, 5], [1, 5, 6, 2], [2, 6, 7, 3]];
/// The four edge places of each face, clockwise. Quarter turns of F and B flip their edges.
const EDGE_CYCLES: [[u8; 4]; 6] =
    [[0, 1, 2, 3], [0, 11, 4, 8], [1, 8, 5, 9], [4, 7, 6, 5], [2, 9, 6, 10], [3, 10, 7, 11]];

/// Move `2k` turns face `k` clockwise, move `2k + 1` counter-clockwise, and move `12 + k` by half a turn.
pub(super) const PACKED_MOVES: [PackedMove; ALL_TURNS] = {
    let (kept_corners, kept_edges) = ((1 << 40) - 1, (1 << 60) - 1);
    let nothing = PackedMove { kept_corners, kept_edges, corners: [(0, 0, 0); 4], edges: [(0, 0); 4], flip: 0 };
    let mut moves = [nothing; ALL_TURNS];
    let mut action = 0;
    while action < ALL_TURNS {
        let is_half = action >= QUARTER_TURNS;
        let (face, quarters) = if is_half { (action - QUARTER_TURNS, 2) } else { (action / 2, 1 + 2 * (action % 2)) };
        let (corners, edges) = (CORNER_CYCLES[face], EDGE_CYCLES[face]);
        let packed = &mut moves[action];
        let mut from = 0;
        while from < 4 {
            let to = (from + quarters) % 4;
            let twist = if face % 3 == 0 || is_half { 0 } else { 1 + to as u8 % 2 };
            packed.corners[from] = (5 * corners[from], 5 * corners[to], twist);
            packed.edges[from] = (5 * edges[from], 5 * edges[to]);
            packed.kept_corners &= !(31 << (5 * corners[from]));
            packed.kept_edges &= !(31 << (5 * edges[from]));
            from += 1;
        }
        packed.flip = if face % 3 == 2 && !is_half { 16 } else { 0 };
        action += 1;
    }
    moves
};
