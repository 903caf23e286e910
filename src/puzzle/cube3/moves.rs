//! What the turns of the faces do to a packed state, as tables made by the compiler.

/// A clockwise quarter turn, as in Kociemba's tables: which corner comes to each place, how it is twisted, which edge
/// comes to each place, and whether the turn flips edges (then all four that move).
struct Turn {
    corners: [u8; 8],
    twists: [u8; 8],
    edges: [u8; 12],
    flips: bool,
}

const TURNS: [Turn; 6] = [
    Turn {
        corners: [3, 0, 1, 2, 4, 5, 6, 7],
        twists: [0; 8],
        edges: [3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11],
        flips: false,
    },
    Turn {
        corners: [4, 1, 2, 0, 7, 5, 6, 3],
        twists: [2, 0, 0, 1, 1, 0, 0, 2],
        edges: [8, 1, 2, 3, 11, 5, 6, 7, 4, 9, 10, 0],
        flips: false,
    },
    Turn {
        corners: [1, 5, 2, 3, 0, 4, 6, 7],
        twists: [1, 2, 0, 0, 2, 1, 0, 0],
        edges: [0, 9, 2, 3, 4, 8, 6, 7, 1, 5, 10, 11],
        flips: true,
    },
    Turn {
        corners: [0, 1, 2, 3, 5, 6, 7, 4],
        twists: [0; 8],
        edges: [0, 1, 2, 3, 5, 6, 7, 4, 8, 9, 10, 11],
        flips: false,
    },
    Turn {
        corners: [0, 2, 6, 3, 4, 1, 5, 7],
        twists: [0, 1, 2, 0, 0, 2, 1, 0],
        edges: [0, 1, 10, 3, 4, 5, 9, 7, 8, 2, 6, 11],
        flips: false,
    },
    Turn {
        corners: [0, 1, 3, 7, 4, 5, 2, 6],
        twists: [0, 0, 1, 2, 0, 0, 2, 1],
        edges: [0, 1, 2, 11, 4, 5, 6, 10, 8, 9, 3, 7],
        flips: true,
    },
];

/// What one move does to a packed state: four corners and four edges go elsewhere, the rest is kept.
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
    let mut add = 0;
    while add < 3 {
        let mut corner = 0;
        while corner < 24 {
            table[add][corner] = ((corner & 7) + 8 * ((corner / 8 + add) % 3)) as u8;
            corner += 1;
        }
        add += 1;
    }
    table
};

/// How many quarter turns there are.
pub(super) const QUARTER_TURNS: usize = 12;
/// How many turns there are, by 90° or 180°.
pub(super) const ALL_TURNS: usize = 18;

/// A face turned by 180°.
const fn twice(turn: &Turn) -> Turn {
    let mut both = Turn { corners: [0; 8], twists: [0; 8], edges: [0; 12], flips: false };
    let mut place = 0;
    while place < 12 {
        if place < 8 {
            let between = turn.corners[place] as usize;
            both.corners[place] = turn.corners[between];
            both.twists[place] = (turn.twists[place] + turn.twists[between]) % 3;
        }
        both.edges[place] = turn.edges[turn.edges[place] as usize];
        place += 1;
    }
    both
}

/// Move `2k` turns face `k` clockwise, move `2k + 1` counter-clockwise, and move `12 + k` by half a turn.
pub(super) const MOVES: [PackedMove; ALL_TURNS] = {
    let nothing = PackedMove { kept_corners: 0, kept_edges: 0, corners: [(0, 0, 0); 4], edges: [(0, 0); 4], flip: 0 };
    let mut moves = [nothing; ALL_TURNS];
    let mut action = 0;
    while action < ALL_TURNS {
        let half = twice(&TURNS[action % 6]);
        let turn = if action < QUARTER_TURNS { &TURNS[action / 2] } else { &half };
        let forward = action % 2 == 0;
        let mut packed = nothing;
        packed.flip = if turn.flips { 16 } else { 0 };
        let (mut place, mut corners, mut edges) = (0, 0, 0);
        while place < 12 {
            if place < 8 {
                let source = turn.corners[place] as usize;
                if source == place {
                    packed.kept_corners |= 31 << (5 * place);
                } else {
                    let (from, to) = if forward { (source, place) } else { (place, source) };
                    let twist = if forward { turn.twists[place] } else { (3 - turn.twists[place]) % 3 };
                    packed.corners[corners] = (5 * from as u8, 5 * to as u8, twist);
                    corners += 1;
                }
            }
            let source = turn.edges[place] as usize;
            if source == place {
                packed.kept_edges |= 31 << (5 * place);
            } else {
                let (from, to) = if forward { (source, place) } else { (place, source) };
                packed.edges[edges] = (5 * from as u8, 5 * to as u8);
                edges += 1;
            }
            place += 1;
        }
        moves[action] = packed;
        action += 1;
    }
    moves
};
